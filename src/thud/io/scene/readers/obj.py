"""OBJ: vertices, polygons, objects and groups; other files that it names (materials) are never opened."""

from __future__ import annotations

import os
import re
import warnings
from typing import Any

import numpy as np

from thud.errors import SceneFileError
from thud.io.scene.readers.polygons import triangulated
from thud.io.scene.readers.raw import RawScene

_EXTRA = re.compile(rb"/[^\s]*")

#: Lines of faces: (words, vertices before it), with the key of what they belong to.
_Faces = dict[tuple[bytes, bytes], list[tuple[bytes, int]]]


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; OBJ states neither unit nor up axis. An object is a level, its groups are below it."""
    with open(path, "rb") as file:
        data = file.read()
    if b"\0" in data[:4096]:
        raise SceneFileError("OBJ: it has zero bytes; expected text")
    vertices, faces = _lines(data.replace(b"\\\r\n", b" ").replace(b"\\\n", b" "))
    points = _numbers(vertices)
    stem = os.path.splitext(os.path.basename(path))[0]
    levels: dict[bytes, int] = {}
    for (thing, group), lines in faces.items():
        triangles = _triangles(points, lines)
        used = np.unique(triangles)
        renamed = np.searchsorted(used, triangles)
        where = f"OBJ: object {thing.decode('utf-8', 'replace')!r}, group {group.decode('utf-8', 'replace')!r}"
        mesh = raw.add_mesh(points[used], renamed, where)
        if not group:
            levels[thing] = raw.add_node(thing or stem, -1, mesh)
        else:
            if thing and thing not in levels:
                levels[thing] = raw.add_node(thing)
            raw.add_node(group, levels.get(thing, -1) if thing else -1, mesh)


def _lines(data: bytes) -> tuple[list[bytes], _Faces]:
    """Lines of vertices, and those of faces by object and group."""
    vertices: list[bytes] = []
    faces: _Faces = {}
    thing = group = b""
    mine: list[tuple[bytes, int]] | None = None
    for line in data.splitlines():
        word, _, rest = line.lstrip().replace(b"\t", b" ").partition(b" ")
        if word == b"v":
            vertices.append(rest)
        elif word in (b"f", b"fo"):
            if mine is None:
                mine = faces.setdefault((thing, group), [])
            mine.append((rest, len(vertices)))
        elif word == b"o":
            thing, group, mine = b" ".join(rest.split()), b"", None
        elif word == b"g":
            group, mine = b" ".join(rest.split()), None
            group = b"" if group == b"default" else group
    return vertices, faces


def _flat(lines: list[bytes], kind: Any) -> np.ndarray:
    """Numbers of lines up to the first thing that is none."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return np.fromstring(b" ".join(lines), dtype=kind, sep=" ")
        except (ValueError, TypeError):
            # What later versions of NumPy say to text that ends early.
            return np.empty(0, dtype=kind)


def _numbers(lines: list[bytes]) -> np.ndarray:
    """(V, 3) coordinates; a fourth number (weight) or a colour is left out."""
    if not lines:
        return np.empty((0, 3))
    # All at once, where that gives as many numbers as there should be; else line by line, which finds the wrong one.
    width = len(lines[0].split())
    flat = _flat(lines, np.float64)
    if width >= 3 and len(flat) == width * len(lines) and all(len(line.split()) == width for line in lines):
        return np.ascontiguousarray(flat.reshape(-1, width)[:, :3])
    words = [line.split() for line in lines]
    short = next((k for k, row in enumerate(words) if len(row) < 3), None)
    if short is not None:
        raise SceneFileError(f"OBJ: vertex {short + 1} has {len(words[short])} numbers; expected 3")
    try:
        return np.array([row[:3] for row in words], dtype=np.float64)
    except ValueError as error:
        raise SceneFileError(f"OBJ: a vertex has something that is no number ({error})") from None


def _triangles(points: np.ndarray, lines: list[tuple[bytes, int]]) -> np.ndarray:
    """Of the polygons of one part; their corners count from 1, or back from the last vertex before the line."""
    counts = np.array([len(line.split()) for line, _ in lines], dtype=np.int64)
    corners = _flat([_EXTRA.sub(b"", line) if b"/" in line else line for line, _ in lines], np.int64)
    if len(corners) != counts.sum():
        raise SceneFileError(f"OBJ: a face has something that is no number, after {len(corners)} corners of its group")
    before = np.repeat(np.array([count for _, count in lines], dtype=np.int64), counts)
    rows = np.where(corners < 0, before + corners, corners - 1)
    if len(rows) and (rows.min() < 0 or rows.max() >= len(points)):
        wrong = int(np.argmax((rows < 0) | (rows >= len(points))))
        raise SceneFileError(f"OBJ: a face names vertex {int(corners[wrong])}; there are {len(points)}")
    if not np.isfinite(points[rows]).all():
        raise SceneFileError("OBJ: a vertex is not finite")
    return triangulated(points, counts, rows)
