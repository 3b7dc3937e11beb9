"""STL and PLY by trimesh: one set of triangles without names."""

from __future__ import annotations

import os
from typing import Any

from thud.errors import SceneFileError, SceneLimitError
from thud.io.scene.readers.raw import RawScene


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; neither format states units."""
    import trimesh

    ending = os.path.splitext(path)[1].lower().lstrip(".")
    (_look_at_stl if ending == "stl" else _look_at_ply)(path, raw)
    stem = os.path.splitext(os.path.basename(path))[0]
    with open(path, "rb") as file:
        loaded = trimesh.load_scene(file, file_type=ending, process=False, resolver=None)
    for name, geometry in loaded.geometry.items():
        if not isinstance(geometry, trimesh.Trimesh):
            raw.note("skipped", f"{ending.upper()}: points or lines are not read")
            continue
        mesh = raw.add_mesh(geometry.vertices, geometry.faces, ending.upper())
        if mesh >= 0:
            raw.add_node(stem if len(loaded.geometry) == 1 else name, mesh=mesh)


def _look_at_stl(path: str, raw: RawScene) -> None:
    """What the header of a binary file promises, against its size."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(4096)
    if head.lstrip()[:5].lower() == b"solid" and b"facet" in head.lower():
        return
    if size < 84:
        raise SceneFileError(f"STL: {size} bytes; expected at least 84")
    count = int.from_bytes(head[80:84], "little")
    if size < 84 + 50 * count:
        raise SceneFileError(f"STL: its header promises {count} triangles, the file has room for {(size - 84) // 50}")
    if count > raw.limits.triangles:
        raise SceneLimitError(f"STL: {count} triangles; more than limits.triangles = {raw.limits.triangles}")


def _look_at_ply(path: str, raw: RawScene) -> None:
    """What the header promises, against the size of the file, before anything is allocated."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(2**16)
    if b"end_header" not in head:
        raise SceneFileError("PLY: its header has no end")
    for line in head.split(b"end_header")[0].splitlines():
        words = line.split()
        if len(words) >= 3 and words[0] == b"element":
            # Every entry takes a byte at least.
            count = int(words[2]) if words[2].isdigit() and len(words[2]) < 20 else -1
            if not 0 <= count <= size:
                shown = line[:80].decode("ascii", "replace")
                raise SceneFileError(f"PLY: {shown!r} promises more than the {size} bytes of the file hold")
