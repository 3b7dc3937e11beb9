"""A closed mesh as rays from inside see it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import view_device
from thud.bvh.wide import LEAF, STACK, WideTree
from thud.shapes.triangle_mesh import TriangleMesh


class RaySpace(NamedTuple):
    """What a ray's walk writes to."""

    stack: Ints
    stack_t: npt.NDArray[np.float32]
    t_box: npt.NDArray[np.float32]
    t_triangle: Floats


class RaySide(NamedTuple):
    """The mesh's wide tree, whether it is closed, whether its triangles face inward, and the work space of a thread."""

    wide: WideTree
    closed: int
    turned: int
    rays: RaySpace


_NONE = WideTree(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
_NO_SPACE = RaySpace(np.empty(0, np.int64), np.empty(0, np.float32), np.empty(0, np.float32), np.empty(0))


def ray_side(mesh: TriangleMesh) -> RaySide:
    """Of a mesh; an open one has no inside, and no tree is made."""
    closed = mesh.is_closed
    return RaySide(mesh.wide if closed else _NONE, int(closed), int(mesh.edges_beyond.turned[0]), _NO_SPACE)


@view_device
def own_ray_side(side):
    """The same with work space of its own."""
    rays = RaySpace(np.empty(STACK, np.int64), np.empty(STACK, np.float32), np.empty(8, np.float32), np.empty(LEAF))
    return RaySide(side.wide, side.closed, side.turned, rays)
