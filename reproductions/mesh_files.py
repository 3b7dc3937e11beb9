"""Triangles from OBJ and PLY files (ASCII and binary), polygons cut into fans. Enough for the models of the papers."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt

Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]

_PLY_TYPES = {
    "char": "i1", "int8": "i1", "uchar": "u1", "uint8": "u1", "short": "i2", "int16": "i2", "ushort": "u2", "uint16": "u2",
    "int": "i4", "int32": "i4", "uint": "u4", "uint32": "u4", "float": "f4", "float32": "f4", "double": "f8", "float64": "f8",
}  # fmt: skip


def read_mesh(path: Path) -> Mesh:
    """Vertices (V, 3) and faces (T, 3) of an .obj or .ply file."""
    if path.suffix.lower() == ".obj":
        return read_obj(path)
    if path.suffix.lower() == ".ply":
        return read_ply(path)
    raise ValueError(f"{path}: expected a file that ends in .obj or .ply")


def _fans(polygons: list[list[int]]) -> npt.NDArray[np.int64]:
    return np.array([(p[0], p[k], p[k + 1]) for p in polygons for k in range(1, len(p) - 1)], dtype=np.int64)


def fill_holes(vertices: npt.NDArray[np.float64], faces: npt.NDArray[np.int64]) -> tuple[Mesh, int]:
    """(the mesh closed, how many holes it had): each rim gets a fan about its middle. Scans have holes, and no volume before.

    The rim is what is left of the triangles' directed edges when those that run both ways are taken out. As many of its edges
    come to a vertex as leave it, so that the fans close it whatever it looks like. Vertices in one place are one."""
    _, first, place = np.unique(vertices + 0.0, axis=0, return_index=True, return_inverse=True)
    given, faces = faces, first[place.reshape(-1)][faces]
    faces = faces[(faces[:, 0] != faces[:, 1]) & (faces[:, 1] != faces[:, 2]) & (faces[:, 2] != faces[:, 0])]
    edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
    there, number = np.unique(np.sort(edges, axis=1), axis=0, return_inverse=True)
    surplus = np.bincount(number.reshape(-1), np.where(edges[:, 0] < edges[:, 1], 1.0, -1.0), len(there)).astype(np.int64)
    rim = np.where(surplus[:, None] > 0, there, there[:, ::-1]).repeat(np.abs(surplus), axis=0)
    if len(rim) == 0:
        return (vertices, given), 0
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    used, at = np.unique(rim, return_inverse=True)
    at = at.reshape(-1, 2)
    count, of_vertex = connected_components(coo_array((np.ones(len(at)), at.T), (len(used), len(used))), directed=False)
    middles = np.stack([vertices[used[of_vertex == k]].mean(axis=0) for k in range(count)])
    fans = np.column_stack([rim[:, ::-1], len(vertices) + of_vertex[at[:, 0]]])
    return (np.concatenate([vertices, middles]), np.concatenate([faces, fans])), int(count)


def read_obj(path: Path) -> Mesh:
    """Positions and faces; normals, textures, groups and materials are skipped. Indices may count back from the end."""
    vertices: list[list[float]] = []
    polygons: list[list[int]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if words[:1] == ["v"]:
            vertices.append([float(word) for word in words[1:4]])
        elif words[:1] == ["f"]:
            rows = [int(word.split("/")[0]) for word in words[1:]]
            polygons.append([row - 1 if row > 0 else len(vertices) + row for row in rows])
    if not vertices or not polygons:
        raise ValueError(f"{path}: expected vertices and faces, found {len(vertices)} and {len(polygons)}")
    return np.array(vertices), _fans(polygons)


def read_ply(path: Path) -> Mesh:
    """The elements `vertex` (x, y, z) and `face` (vertex_indices or vertex_index)."""
    data = path.read_bytes()
    end = data.index(b"end_header")
    body = data[data.index(b"\n", end) + 1 :]
    header = data[:end].decode("ascii").splitlines()
    if not header or header[0].strip() != "ply":
        raise ValueError(f"{path}: not a PLY file")
    form = next(line.split()[1] for line in header if line.startswith("format"))
    elements: list[tuple[str, int, list[list[str]]]] = []
    for line in header:
        words = line.split()
        if words[:1] == ["element"]:
            elements.append((words[1], int(words[2]), []))
        elif words[:1] == ["property"]:
            elements[-1][2].append(words[1:])
    rows = _ascii_rows(body, elements) if form == "ascii" else _binary_rows(body, elements, "<" if "little" in form else ">")
    names = [p[-1] for p in next(e for e in elements if e[0] == "vertex")[2]]
    vertices = np.array([[row[names.index(axis)] for axis in "xyz"] for row in rows["vertex"]], dtype=np.float64)
    names = [p[-1] for p in next(e for e in elements if e[0] == "face")[2]]
    column = names.index("vertex_indices" if "vertex_indices" in names else "vertex_index")
    return vertices, _fans([[int(k) for k in row[column]] for row in rows["face"]])


def _ascii_rows(body: bytes, elements: list[tuple[str, int, list[list[str]]]]) -> dict[str, list[list]]:
    words = iter(body.split())
    rows: dict[str, list[list]] = {}
    for name, count, properties in elements:
        rows[name] = []
        for _ in range(count):
            row: list = []
            for kind in properties:
                row.append([float(next(words)) for _ in range(int(next(words)))] if kind[0] == "list" else float(next(words)))
            rows[name].append(row)
    return rows


def _binary_rows(body: bytes, elements: list[tuple[str, int, list[list[str]]]], order: str) -> dict[str, list[list]]:
    rows: dict[str, list[list]] = {}
    at = 0
    for name, count, properties in elements:
        if all(kind[0] != "list" for kind in properties):
            dtype = np.dtype([(kind[-1], order + _PLY_TYPES[kind[0]]) for kind in properties])
            rows[name] = [list(row) for row in np.frombuffer(body, dtype, count, at).tolist()]
            at += dtype.itemsize * count
            continue
        rows[name] = []
        for _ in range(count):
            row = []
            for kind in properties:
                if kind[0] == "list":
                    length_type, item_type = (np.dtype(order + _PLY_TYPES[k]) for k in kind[1:3])
                    length = int(np.frombuffer(body, length_type, 1, at)[0])
                    row.append(np.frombuffer(body, item_type, length, at + length_type.itemsize).tolist())
                    at += length_type.itemsize + item_type.itemsize * length
                else:
                    item = np.dtype(order + _PLY_TYPES[kind[0]])
                    row.append(np.frombuffer(body, item, 1, at)[0])
                    at += item.itemsize
            rows[name].append(row)
    return rows
