"""The trees of a mesh as kernels take them, and what the walks over two of them write to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import view_device
from thud.constants import TREE_LEVELS
from thud.shapes.triangle_mesh import TriangleMesh

#: Pairs of slots that wait: at most eight a level of both trees.
STACK = 16 * TREE_LEVELS


class BoxTree(NamedTuple):
    """The 8-wide tree with axis-aligned boxes: a slot is one of the eight children of a node."""

    boxes: npt.NDArray[np.float32]
    """48 numbers a node: centre x of eight children, y, z, then half extents."""
    child: Ints
    """Of a slot: the node it stands for, or -1 - tree position of its triangle."""
    corners: Floats
    """Nine numbers a triangle, in the order of the tree, relative to `origin`."""
    origin: Floats
    """(3,) of the tree's frame, in the mesh's."""


class ObbTree(NamedTuple):
    """The same with oriented boxes."""

    obbs: npt.NDArray[np.float32]
    """120 numbers a node: three axes of eight children, centres, half extents."""
    child: Ints
    corners: Floats
    origin: Floats


class TurningTree(NamedTuple):
    """Both, and how the mesh stands in the shape that turns."""

    tree: BoxTree
    obbs: ObbTree
    inner: Floats
    """(1, 12) the trees' frame in the shape's."""
    far: float
    """How far the mesh reaches from the shape's origin."""


class WalkSpace(NamedTuple):
    """What a walk writes. Each thread has its own."""

    stack: npt.NDArray[np.uint64]
    """Slots that wait, of two trees in pairs."""
    waiting: npt.NDArray[np.float32]
    """Their bounds."""
    lanes: npt.NDArray[np.float32]
    """(8,) what was measured of eight children."""


class FrontSpace(NamedTuple):
    """What a walk from a front writes. Each thread has its own."""

    entries: npt.NDArray[np.int32]
    """(capacity, 4) of the new front, columns as in `tree_front.py`."""
    bounds: Floats
    """(capacity, 2) their bounds."""
    waiting: Ints
    """(WAITING, 4) entry of the old front or -1, two slots, the parent's new entry."""
    gap: npt.NDArray[np.float32]
    """Their distances."""
    lanes: npt.NDArray[np.float32]
    """(8,) squared distances of eight children."""
    kid: Ints
    """(8,) their entries in the old front, or -1."""


@view_device
def new_walk_space():
    """Empty."""
    return WalkSpace(np.empty(2 * STACK, np.uint64), np.empty(STACK, np.float32), np.empty(8, np.float32))


def box_tree(mesh: TriangleMesh) -> BoxTree:
    """Of a mesh."""
    return BoxTree(mesh.pair_tree.boxes, mesh.pair_tree.child, mesh.corners.ravel(), mesh.origin)


def obb_tree(mesh: TriangleMesh) -> ObbTree:
    """Of a mesh."""
    return ObbTree(mesh.pair_obbs, mesh.pair_tree.child, mesh.corners.ravel(), mesh.origin)
