"""Defects of a mesh: found once, reported, and given a meaning where they have one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.shapes.mesh_connectivity import equal_rows


@dataclass(frozen=True, slots=True)
class MeshProblems:
    """Everything that keeps a mesh from being a clean, closed, outward-oriented solid. Rows are those of the faces."""

    degenerate: Ints
    """Triangles without an area: segments and points. They take part in all queries as such."""
    duplicate: Ints
    """Triangles with the same three points as an earlier one. They take part twice; two of them leave a closed mesh's
    inside as it was, one turns it."""
    open_edges: Ints
    """(E, 2) edges, as vertex rows, of an odd number of triangles. With any of them the mesh is a surface, not a solid."""
    nonmanifold_edges: Ints
    """(E, 2) edges of more than two triangles. The inside is decided by the parity of crossings."""
    flipped_edges: Ints
    """(E, 2) edges whose triangles do not run against each other: some face the other way than their neighbours. The
    inside is decided by the parity of crossings; volume, centroid and inertia count such triangles wrongly."""
    unused_vertices: Ints
    """Vertices of no triangle; ignored."""
    inverted: bool
    """A closed mesh whose triangles face inward. It is solid all the same; normals of its triangles point inward."""

    @property
    def closed(self) -> bool:
        """Whether the mesh is a solid."""
        return len(self.open_edges) == 0

    def __str__(self) -> str:
        lines = [
            f"{len(rows)} {name}"
            for name, rows in (
                ("degenerate triangles", self.degenerate),
                ("duplicate triangles", self.duplicate),
                ("open edges", self.open_edges),
                ("non-manifold edges", self.nonmanifold_edges),
                ("edges where the orientation flips", self.flipped_edges),
                ("unused vertices", self.unused_vertices),
            )
            if len(rows)
        ]
        if self.inverted:
            lines.append("triangles face inward")
        return "; ".join(lines) or "no problems"


def find_problems(vertices: Floats, faces: Ints, place: Ints) -> MeshProblems:
    """Look at topology by position: vertices with the same `place` count as one."""
    welded = place[faces]
    a, b, c = (vertices[faces[:, k]] for k in range(3))
    twice_area = np.cross(b - a, c - a)
    flat = ~twice_area.any(axis=1)
    _, original = np.unique(equal_rows(np.sort(welded, axis=1)), return_index=True)
    duplicate = np.setdiff1d(np.arange(len(faces)), original)
    proper = welded[(welded[:, 0] != welded[:, 1]) & (welded[:, 1] != welded[:, 2]) & (welded[:, 2] != welded[:, 0])]
    directed = proper[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    low, high = directed.min(axis=1), directed.max(axis=1)
    many = int(place.max()) + 1
    keys, which, uses = np.unique(low * many + high, return_inverse=True, return_counts=True)
    edges = np.stack([keys // many, keys % many], axis=1)
    balance = np.bincount(which.reshape(-1), weights=np.where(directed[:, 0] == low, 1.0, -1.0), minlength=len(edges))
    first_at = np.full(place.max() + 1, -1)
    first_at[place[::-1]] = np.arange(len(vertices))[::-1]
    used = np.zeros(len(vertices), dtype=bool)
    used[faces.ravel()] = True
    # In even numbers of triangles, however oriented, a ray parity is the same all around the edge.
    odd = uses % 2 == 1
    closed = not odd.any()
    origin = vertices[faces[:, 0]].mean(axis=0)
    volume = np.einsum("ij,ij->", a - origin, np.cross(b - origin, c - origin))
    return MeshProblems(
        degenerate=np.flatnonzero(flat),
        duplicate=duplicate,
        open_edges=first_at[edges[odd]],
        nonmanifold_edges=first_at[edges[uses > 2]],
        flipped_edges=first_at[edges[~odd & (balance != 0.0)]],
        unused_vertices=np.flatnonzero(~used),
        inverted=bool(closed and volume < 0.0),
    )
