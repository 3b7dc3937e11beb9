"""A mesh as contacts with another mesh see it: its tree, what is beyond its edges, and rays from inside."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import view_device
from thud.bvh.mesh_edges import MeshEdges
from thud.bvh.wide import LEAF, STACK, WideTree
from thud.mesh.trees import BoxTree, box_tree
from thud.shapes.triangle_mesh import TriangleMesh


class RaySpace(NamedTuple):
    """What a ray's walk writes to."""

    stack: Ints
    stack_t: npt.NDArray[np.float32]
    t_box: npt.NDArray[np.float32]
    t_triangle: Floats


class MeshSide(NamedTuple):
    """One of two meshes."""

    tree: BoxTree
    edges: MeshEdges
    wide: WideTree
    """For rays."""
    closed: int
    turned: int
    """1 if the triangles face inward."""
    rays: RaySpace
    """Work space of a thread."""


_NO_SPACE = RaySpace(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32), np.empty(0))


def mesh_side(mesh: TriangleMesh) -> MeshSide:
    """Of a mesh."""
    edges = mesh.edges_beyond
    return MeshSide(box_tree(mesh), edges, mesh.wide, int(mesh.is_closed), int(edges.turned[0]), _NO_SPACE)


@view_device
def own_side(side):
    """The same with work space of its own."""
    rays = RaySpace(np.empty(STACK, np.int64), np.empty(STACK, np.float32), np.empty(8, np.float32), np.empty(LEAF))
    return MeshSide(side.tree, side.edges, side.wide, side.closed, side.turned, rays)
