"""A mesh as the search for contact patches takes it, and what that writes to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, writable
from thud.shapes.triangle_mesh import TriangleMesh


class PatchMesh(NamedTuple):
    """One mesh."""

    vertices: Floats
    """(V, 3)"""
    welded: Ints
    """(T, 3) faces by the places of their corners."""
    fan_start: Ints
    fan_face: Ints
    """The triangles about each place, see `VertexFans`."""
    face_slot: Ints
    up: Ints
    """The way up in the tree, see `SlotLinks`."""
    closed: int
    inverted: int


class PatchSpace(NamedTuple):
    """What is written of one mesh. The first five are 0 before and after."""

    face_label: npt.NDArray[np.int32]
    """(T,) -1 - number of a crossing triangle; or the region of one that is cut off, from 1."""
    place_label: npt.NDArray[np.int32]
    """(V,) the region of a place inside the other mesh, from 1."""
    inside: npt.NDArray[np.int32]
    """(V,) 1: a crossing triangle's corner is outside the other mesh, 2: inside."""
    taken: npt.NDArray[np.int32]
    """(V,) the last patch that has the place as a candidate, from 1."""
    mark: npt.NDArray[np.int32]
    """By slot of the tree, see `PartTree`; numbers are used once."""
    waiting: Ints
    """(V,) places whose fans are still to be looked at."""
    crossing: Ints
    """(T,) crossing triangles."""
    region: Ints
    """(T,) triangles that are cut off."""
    listed: Ints
    """(T,) the triangles of all patches, patch by patch."""
    places: Ints
    """(V,) their places inside the other mesh, patch by patch."""


def patch_mesh(mesh: TriangleMesh) -> PatchMesh:
    """Of a mesh."""
    vertices, fans, links = writable(np.asarray(mesh.vertices)), mesh.fans, mesh.slot_links
    inverted = int(mesh.is_closed and mesh.problems().inverted)
    return PatchMesh(vertices, mesh.welded, *fans, *links, int(mesh.is_closed), inverted)


def patch_space(mesh: TriangleMesh) -> PatchSpace:
    """Empty."""
    triangles, vertices, slots = len(mesh.welded), len(mesh.places), len(mesh.pair_tree.child)

    def zeros(count: int) -> npt.NDArray[np.int32]:
        return np.zeros(count, dtype=np.int32)

    def room(count: int) -> Ints:
        return np.empty(count, dtype=np.int64)

    labels = zeros(triangles), zeros(vertices), zeros(vertices), zeros(vertices), zeros(slots)
    # A place is listed once a patch, and those of no region by each patch that it borders on.
    return PatchSpace(*labels, room(vertices), room(triangles), room(triangles), room(triangles), room(3 * triangles))
