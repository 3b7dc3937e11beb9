"""Defects of a mesh: found once, reported, and given a meaning where they have one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.shapes.mesh_connectivity import proper_faces


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
    unmerged: bool
    """No two of several triangles share an edge, as in a file that writes the corners of each one anew (STL) and rounds them.
    Equal corners count as one; those that differ by rounding must be merged, by `trimesh`'s `merge_vertices` for example."""
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
        if self.unmerged:
            lines.append("no two triangles share an edge: unmerged, as from an STL file? Merge its vertices")
        if self.inverted:
            lines.append("triangles face inward")
        return "; ".join(lines) or "no problems"


def find_problems(vertices: Floats, faces: Ints, place: Ints) -> MeshProblems:
    """Look at topology by position: vertices with the same `place`, the first vertex there, count as one."""
    from thud.bvh.edge_table import edge_table, repeated_faces
    from thud.bvh.face_areas import flat_and_volume

    welded = place[faces]
    flat, volume = flat_and_volume(vertices, faces)
    edges = edge_table(proper_faces(welded), len(vertices))
    # In even numbers of triangles, however oriented, a ray's parity is the same all around the edge.
    odd = edges.uses % 2 == 1
    used = np.zeros(len(vertices), dtype=bool)
    used[faces.ravel()] = True
    return MeshProblems(
        degenerate=np.flatnonzero(flat),
        duplicate=repeated_faces(welded),
        open_edges=edges.ends[odd],
        nonmanifold_edges=edges.ends[edges.uses > 2],
        flipped_edges=edges.ends[~odd & (edges.balance != 0)],
        unused_vertices=np.flatnonzero(~used),
        unmerged=bool(len(faces) > 3 and len(edges.uses) > 0 and (edges.uses == 1).all()),
        inverted=bool(volume < 0.0 and not odd.any()),
    )
