"""Meshes as files of the wild hold them: each with one kind of defect, or several. For the tests of meshes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tests.oracles.meshes import Floats, Ints, blob_mesh, box_mesh, soup_mesh

Arrays = tuple[Floats, Ints]


def _joined(*meshes: Arrays) -> Arrays:
    """Several meshes as one."""
    counts = np.cumsum([0] + [len(v) for v, _ in meshes[:-1]])
    return np.concatenate([v for v, _ in meshes]), np.concatenate([f + n for (_, f), n in zip(meshes, counts, strict=True)])


def _duplicates(rng: np.random.Generator) -> Arrays:
    """Some triangles two or three times over, in another order of corners, some the other way around."""
    v, f = blob_mesh(4, 1)
    some = f[rng.integers(len(f), size=8)]
    return v, np.concatenate([f, some[:, [1, 2, 0]], some[:4], some[4:, ::-1]])


def _duplicated_once(_rng: np.random.Generator) -> Arrays:
    """One triangle twice: its edges have three triangles, which opens the mesh."""
    v, f = box_mesh()
    return v, np.concatenate([f, f[:1]])


def _degenerate(rng: np.random.Generator) -> Arrays:
    """Triangles with two and three equal corners among good ones; the mesh stays closed."""
    v, f = blob_mesh(4, 2)
    some = f[rng.integers(len(f), size=6)]
    return v, np.concatenate([f, some[:, [0, 0, 1]], some[:, [2, 1, 2]], some[:, [1, 1, 1]]])


def _collinear(rng: np.random.Generator) -> Arrays:
    """Triangles whose corners lie on a line, exactly and but for roundoff, sticking out of a box."""
    v, f = box_mesh()
    way = rng.normal(size=3)
    lines = np.array([[1.5, 0, 0], [2.0, 0, 0], [2.5, 0, 0]])
    blurred = 1.2 * v[7] + np.outer([0.0, 1.0 / 3.0, 1.0], way)
    return _joined((v, f), (lines, np.array([[0, 1, 2]])), (blurred, np.array([[2, 0, 1]])))


def _slivers(rng: np.random.Generator) -> Arrays:
    """Needles and caps: one height a millionth to a 1e-15th of the length, anywhere."""
    count = 30
    a, along, across = rng.uniform(-1, 1, (count, 3)), rng.normal(size=(count, 3)), rng.normal(size=(count, 3))
    thin = 10.0 ** -rng.uniform(6, 15, (count, 1))
    at = np.where(rng.random((count, 1)) < 0.5, rng.random((count, 1)), 0.0)
    corners = np.stack([a, a + along, a + at * along + thin * across], axis=1)
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def _unwelded(_rng: np.random.Generator) -> Arrays:
    """A closed mesh in which no two triangles share a vertex row."""
    v, f = blob_mesh(4, 3)
    return v[f].reshape(-1, 3), np.arange(3 * len(f)).reshape(-1, 3)


def _nearly_welded(rng: np.random.Generator) -> Arrays:
    """The same with corners off by a few roundoffs: gaps that no one sees, and an open mesh."""
    v, f = _unwelded(rng)
    return v + 1e-15 * rng.normal(size=v.shape), f


def _holes(rng: np.random.Generator) -> Arrays:
    v, f = blob_mesh(4, 4)
    return v, f[np.sort(rng.permutation(len(f))[: 3 * len(f) // 4])]


def _fins(_rng: np.random.Generator) -> Arrays:
    """Three faces on an edge (a fin, so the mesh is open), and four on another (two boxes that share an edge)."""
    v, f = box_mesh()
    fin = (np.array([v[0], v[1], [-2.0, -2.0, 0.0]]), np.array([[0, 1, 2]]))
    return _joined((v, f), fin, (v + [2.0, 2.0, 0.0], f))


def _edge_of_four(_rng: np.random.Generator) -> Arrays:
    """Two boxes with a common edge, closed."""
    v, f = box_mesh(0.5)
    return _joined((v, f), (v + [1.0, 1.0, 0.0], f))


def _inverted(_rng: np.random.Generator) -> Arrays:
    v, f = blob_mesh(4, 5)
    return v, f[:, ::-1]


def _partly_inverted(rng: np.random.Generator) -> Arrays:
    v, f = blob_mesh(4, 6)
    return v, np.where(rng.random((len(f), 1)) < 0.3, f[:, ::-1], f)


def _self_crossing(_rng: np.random.Generator) -> Arrays:
    """Two closed bodies that cross: by parity their common part is outside."""
    v, f = blob_mesh(4, 7)
    return _joined((v, f), box_mesh(0.8))


def _parts(_rng: np.random.Generator) -> Arrays:
    v, f = box_mesh(0.3)
    return _joined((v - [1.5, 0, 0], f), (v + [1.5, 0, 0], f), (0.3 * v + [0, 1.2, 0], f))


def _nested(_rng: np.random.Generator) -> Arrays:
    """Shell in shell in shell, all facing outward: solid, hollow, solid."""
    return _joined(box_mesh(1.0), box_mesh(0.7), box_mesh(0.3))


def _t_junction(_rng: np.random.Generator) -> Arrays:
    """A box one of whose top edges is split in its one face and not in the other: open by its edges, watertight by eye."""
    v, f = box_mesh()
    v = np.concatenate([v, [[1.0, 0.0, 1.0]]])
    # The face x = 1 is (4, 6, 7), (4, 7, 5): cut the second at the middle of its edge 7-5.
    return v, np.concatenate([f[:3], [[4, 7, 8], [4, 8, 5]], f[4:]])


def _t_junction_closed(rng: np.random.Generator) -> Arrays:
    """The same with a triangle without area in the gap, as careful exporters write it."""
    v, f = _t_junction(rng)
    return v, np.concatenate([f, [[5, 8, 7]]])


def _one_triangle(_rng: np.random.Generator) -> Arrays:
    return np.array([[-1.0, -1, 0], [1, -1, 0], [0, 1, 0]]), np.array([[0, 1, 2]])


def _coplanar(_rng: np.random.Generator) -> Arrays:
    """Flat: triangles in one plane that overlap each other, one of them twice."""
    v = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0], [0, 0, 0], [2, 0, 0], [0, 2, 0]])
    return v, np.array([[0, 1, 2], [0, 2, 3], [4, 5, 6], [0, 1, 3], [0, 1, 2]])


def _folded(_rng: np.random.Generator) -> Arrays:
    """Closed and without volume: a square and its back."""
    v = np.array([[-1.0, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]])
    return v, np.array([[0, 1, 2], [0, 2, 3], [2, 1, 0], [3, 2, 0]])


def _unused(rng: np.random.Generator) -> Arrays:
    """Vertices of no triangle, far away."""
    v, f = blob_mesh(4, 8)
    return np.concatenate([1e3 * rng.normal(size=(5, 3)), v]), f + 5


def _many_kinds(rng: np.random.Generator) -> Arrays:
    return _joined(_slivers(rng), _degenerate(rng), _holes(rng), _coplanar(rng), soup_mesh(10, 5))


BROKEN: dict[str, Callable[[np.random.Generator], Arrays]] = {
    "duplicates": _duplicates,
    "duplicated once": _duplicated_once,
    "degenerate": _degenerate,
    "collinear": _collinear,
    "slivers": _slivers,
    "unwelded": _unwelded,
    "nearly welded": _nearly_welded,
    "holes": _holes,
    "fins": _fins,
    "edge of four": _edge_of_four,
    "inverted": _inverted,
    "partly inverted": _partly_inverted,
    "self-crossing": _self_crossing,
    "parts": _parts,
    "nested": _nested,
    "T-junction": _t_junction,
    "T-junction closed": _t_junction_closed,
    "one triangle": _one_triangle,
    "coplanar": _coplanar,
    "folded": _folded,
    "unused vertices": _unused,
    "many kinds": _many_kinds,
}
