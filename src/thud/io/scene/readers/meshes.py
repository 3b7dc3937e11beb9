"""OBJ, STL and PLY by trimesh: triangles and the names of objects and groups; nothing of materials."""

from __future__ import annotations

import os
import re
from typing import Any

from thud.errors import SceneFileError, SceneLimitError
from thud.io.scene.readers.raw import RawScene


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; none of these formats states units."""
    ending = os.path.splitext(path)[1].lower().lstrip(".")
    for name, vertices, faces in triangles(path, ending, raw):
        mesh = raw.add_mesh(vertices, faces, name)
        if mesh >= 0:
            raw.add_node(name, mesh=mesh)


def triangles(path: str, ending: str, raw: RawScene) -> list[tuple[str, Any, Any]]:
    """(name, vertices, faces) of each object of a file."""
    import trimesh

    _look(path, ending, raw)
    stem = os.path.splitext(os.path.basename(path))[0]
    extra: dict[str, Any] = {}
    if ending == "obj":
        # Without its materials no other file is opened.
        extra = {"skip_materials": True, "group_material": False, "split_objects": True, "split_groups": True}
    with open(path, "rb") as file:
        loaded = trimesh.load_scene(file, file_type=ending, process=False, resolver=None, maintain_order=True, **extra)
    found, other = [], 0
    for name, geometry in loaded.geometry.items():
        if not isinstance(geometry, trimesh.Trimesh):
            other += 1
        elif len(geometry.faces):
            shown = stem if len(loaded.geometry) == 1 and (ending != "obj" or name.startswith("geometry_")) else name
            found.append((shown or stem, geometry.vertices, geometry.faces))
    if other:
        raw.note("skipped", f"{other} sets of points or lines are not read")
    # What trimesh takes from a dictionary comes in another order than in the file.
    return found if ending != "obj" else _in_file_order(found, path)


def _look(path: str, ending: str, raw: RawScene) -> None:
    """What a header promises, against the size of the file, before anything is allocated."""
    size = os.path.getsize(path)
    with open(path, "rb") as file:
        head = file.read(4096)
    if ending == "stl":
        ascii_text = head.lstrip()[:5].lower() == b"solid" and b"facet" in head.lower()
        if not ascii_text:
            if size < 84:
                raise SceneFileError(f"STL: {size} bytes; expected at least 84")
            count = int.from_bytes(head[80:84], "little")
            if count != (size - 84) // 50 or size < 84 + 50 * count:
                raise SceneFileError(f"STL: its header promises {count} triangles, the file has room for {(size - 84) // 50}")
            if count > raw.limits.triangles:
                raise SceneLimitError(f"STL: {count} triangles; more than limits.triangles = {raw.limits.triangles}")
    elif ending == "ply":
        if b"end_header" not in head and size < 2**16:
            raise SceneFileError("PLY: its header has no end")
        for line in head.split(b"end_header")[0].splitlines():
            words = line.split()
            if len(words) >= 3 and words[0] == b"element":
                count = int(words[2]) if words[2].isdigit() else -1
                # Every entry takes a byte at least.
                if count < 0 or count > size:
                    shown = line[:80].decode("ascii", "replace")
                    raise SceneFileError(f"PLY: {shown!r} promises more than the {size} bytes of the file hold")
    elif ending == "obj" and b"\0" in head:
        raise SceneFileError("OBJ: it has zero bytes; expected text")


def _in_file_order(found: list[tuple[str, Any, Any]], path: str) -> list[tuple[str, Any, Any]]:
    with open(path, encoding="utf-8", errors="replace") as file:
        names = [" ".join(m.group(1).split()) for m in (re.match(r"\s*[og]\s+(.*)", line) for line in file) if m]
    first = {name: k for k, name in reversed(list(enumerate(names)))}
    return sorted(found, key=lambda item: first.get(item[0], len(first)))
