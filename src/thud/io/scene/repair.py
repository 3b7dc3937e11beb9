"""Repairs that cannot make a mesh worse, and words for what is left."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.bvh.edge_table import weld
from thud.errors import SceneFileError
from thud.io.scene.tolerances import FARTHEST_RAW, FLAT_VOLUME
from thud.shapes.mesh_problems import MeshProblems, find_problems


@dataclass
class Repaired:
    """A mesh after its repairs; `notes` are (severity, text)."""

    vertices: Floats
    faces: Ints
    notes: list[tuple[str, str]] = field(default_factory=list)

    @property
    def empty(self) -> bool:
        """Whether nothing with an area is left."""
        return len(self.faces) == 0


def repair_mesh(vertices: Floats, faces: Ints, *, repair: bool = True) -> Repaired:
    """Merge vertices in one place, drop triangles without area and doubled ones, turn a closed mesh that faces inward.

    A repair that would open a closed mesh is left out and told instead.
    """
    mesh = _merged(Repaired(vertices, faces))
    if mesh.empty:
        return mesh
    farthest = float(np.abs(mesh.vertices).max())
    if farthest > FARTHEST_RAW:
        raise SceneFileError(f"a vertex has the coordinate {farthest:g}; expected at most {FARTHEST_RAW:g} of its unit")
    found = find_problems(mesh.vertices, mesh.faces, np.arange(len(mesh.vertices)))
    if repair:
        found = _drop(mesh, found.degenerate, found, "without area")
        if mesh.empty:
            return mesh
        found = _drop(mesh, _same_way_round(mesh.faces), found, "doubled")
        if found.inverted and len(found.flipped_edges) == 0:
            mesh.faces = np.ascontiguousarray(mesh.faces[:, ::-1])
            mesh.notes.append(("repaired", "closed, but all triangles faced inward: turned outside out"))
            found = find_problems(mesh.vertices, mesh.faces, np.arange(len(mesh.vertices)))
    _tell(mesh, found)
    return mesh


def _merged(mesh: Repaired) -> Repaired:
    """Without vertices that are in one place with another, that no triangle has, and triangles that have one vertex twice.

    Merging says nothing new (places count, not vertex numbers), so it is not told: nearly every format repeats vertices. A
    triangle with a vertex twice has only one edge, there and back: no neighbour misses it.
    """
    faces = weld(np.ascontiguousarray(mesh.vertices))[mesh.faces]
    a, b, c = faces.T
    proper = (a != b) & (b != c) & (c != a)
    dropped = int(len(faces) - np.count_nonzero(proper))
    faces = faces[proper]
    used = np.zeros(len(mesh.vertices), dtype=bool)
    used[faces.ravel()] = True
    numbers = np.cumsum(used) - 1
    notes = list(mesh.notes)
    if dropped:
        notes.append(("repaired", f"{dropped} triangles with two corners in one place: dropped"))
    return Repaired(np.ascontiguousarray(mesh.vertices[used] + 0.0), np.ascontiguousarray(numbers[faces]), notes)


def _drop(mesh: Repaired, rows: Ints, found: MeshProblems, what: str) -> MeshProblems:
    """Drop these triangles unless that opens a closed mesh."""
    if len(rows) == 0:
        return found
    kept = np.delete(mesh.faces, rows, axis=0)
    if len(kept) == 0:
        mesh.faces = kept
        return found
    after = find_problems(mesh.vertices, kept, np.arange(len(mesh.vertices)))
    if found.closed and not after.closed and _has_volume(mesh):
        return found
    mesh.faces = kept
    mesh.notes.append(("repaired", f"{len(rows)} triangles {what}: dropped"))
    return after


def _has_volume(mesh: Repaired) -> bool:
    """Whether it encloses something: a sheet whose triangles are all there twice is closed by their numbers alone."""
    corners = mesh.vertices[mesh.faces] - mesh.vertices[mesh.faces[0, 0]]
    volume = np.einsum("ti,ti->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2])) / 6.0
    return bool(abs(volume) > FLAT_VOLUME * float(np.ptp(mesh.vertices, axis=0).max()) ** 3)


def _same_way_round(faces: Ints) -> Ints:
    """Triangles with the corners of an earlier one in the same turn."""
    first = np.argmin(faces, axis=1)
    rows = np.arange(len(faces))
    turned = np.stack([faces[rows, (first + k) % 3] for k in range(3)], axis=1)
    order = np.lexsort(turned.T[::-1])
    # lexsort keeps the order of equals, so the first of a run is the earliest.
    again = (turned[order][1:] == turned[order][:-1]).all(axis=1)
    return np.sort(order[1:][again])


def _tell(mesh: Repaired, found: MeshProblems) -> None:
    left = (
        (found.degenerate, "triangles without area, kept since the mesh would be open without them"),
        (found.duplicate, "triangles doubled (the other way round, or needed to stay closed)"),
        (found.open_edges, "open edges: a surface, not a solid, so nothing can lie inside it"),
        (found.nonmanifold_edges, "edges of more than two triangles"),
        (found.flipped_edges, "edges where the orientation flips: volume and side are not certain"),
    )
    for rows, text in left:
        if len(rows):
            mesh.notes.append(("left", f"{len(rows)} {text}"))
    if found.inverted:
        mesh.notes.append(("left", "closed, but its triangles face inward"))
