"""Which cells of a quad overlap a primitive, and stacks of them.

It is told in whole numbers, the same in fast and in exact code: both use what follows.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.bounding.planes import corner
from thud.terrain.collision.rectangle_triangle import triangle_overlaps_rectangle
from thud.terrain.surface_arrays import QUAD, SIDE, STEP, V3

_I = np.int64


@exact_device
def outline(surface, k):
    """A primitive in samples of its quad: whether it is a triangle, and three corners; of a rectangle two that are opposite."""
    quad = _I(surface.primitives[k, QUAD])
    ax, ay = corner(surface, k, 0, quad)
    bx, by = corner(surface, k, 1, quad)
    cx, cy = corner(surface, k, 2, quad)
    if surface.primitives[k, V3] >= 0:
        return False, min(ax, cx), min(ay, cy), max(ax, cx), max(ay, cy), _I(0), _I(0)
    return True, ax, ay, bx, by, cx, cy


@exact_device
def in_outline(shape, x0, y0, x1, y1):
    """Whether a rectangle of the quad, in samples, overlaps the primitive."""
    triangle, ax, ay, bx, by, cx, cy = shape
    if triangle:
        return triangle_overlaps_rectangle(ax, ay, bx, by, cx, cy, x0, y0, x1, y1)
    return ax < x1 and x0 < bx and ay < y1 and y0 < by


@exact_kernel
def push_cells(shape, ratio, step, x0, y0, many, cells_out, depth):
    """Put cells [x0, x0 + many) x [y0, y0 + many) of `step` map samples on a stack, those that overlap the primitive. Returns
    its new depth."""
    pace = step * ratio
    for y in range(y0, y0 + many):
        for x in range(x0, x0 + many):
            if in_outline(shape, x * pace, y * pace, (x + 1) * pace, (y + 1) * pace):
                cells_out[depth, 0], cells_out[depth, 1], cells_out[depth, 2] = step, x, y
                depth += 1
    return depth


@exact_device
def push_coarsest(surface, quad, shape, cells_out):
    """Begin a stack with the coarsest cells of a primitive. Returns its depth."""
    coarsest = surface.map_ints[quad, STEP]
    many = _I(surface.quads[quad, SIDE]) // coarsest
    return push_cells(shape, surface.ratio, coarsest, _I(0), _I(0), many, cells_out, _I(0))


@exact_device
def push_finer(surface, shape, step, x, y, finer, cells_out, depth):
    """Put the cells of `finer` map samples that cell (x, y) of `step` consists of on the stack. Returns its new depth."""
    many = step // finer
    return push_cells(shape, surface.ratio, finer, x * many, y * many, many, cells_out, depth)
