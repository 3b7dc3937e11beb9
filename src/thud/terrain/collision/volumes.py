"""Bounding volumes of the cells of a quad, as points in arrays that GJK reads, and boxes about them."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, exact_device, exact_kernel
from thud.math.vec3 import norm2, sub
from thud.shapes.packed import BOUND, CENTER, SCAN_COUNT, VERTEX_START
from thud.terrain.bounding.volume import EXTREME, grow_four, growth_of_code
from thud.terrain.sampling import along, node_base
from thud.terrain.surface_arrays import CELLS, LENGTHS, SIDE, STEP

_I = np.int64


@exact_device
def level_starts(surface, quad, step):
    """(first length, first cell) of a level of a quad: coarser levels come before it, of each the upper, then the lower
    lengths."""
    side, at = _I(surface.quads[quad, SIDE]), surface.map_ints[quad, STEP]
    lengths, cells = surface.map_ints[quad, LENGTHS], surface.map_ints[quad, CELLS]
    while at > step:
        m = side // at
        lengths += 2 * (m + 1) * (m + 1)
        cells += m * m
        at //= 2
    return lengths, cells


@exact_device
def read_cell(surface, quad, step, x, y, points_out):
    """The eight points of cell (x, y), counted in cells of `step` map samples: upper 0 to 3, lower 4 to 7, grown so that
    they hold the surface. Returns (code, levels to skip); EXTREME has no points."""
    m = _I(surface.quads[quad, SIDE]) // step
    lengths, cells = level_starts(surface, quad, step)
    code = surface.codes[cells + y * m + x]
    flat = _I(surface.flat[cells + y * m + x])
    if code == EXTREME:
        return code, flat
    lower = lengths + (m + 1) * (m + 1)
    pace = step * surface.ratio
    for k in range(4):
        i, j = x + (k & 1), y + (k >> 1)
        p, n = node_base(surface, quad, i * pace, j * pace)
        high = along(p, n, np.float64(surface.lengths[lengths + j * (m + 1) + i]))
        low = along(p, n, np.float64(surface.lengths[lower + j * (m + 1) + i]))
        points_out[k, 0], points_out[k, 1], points_out[k, 2] = high
        points_out[k + 4, 0], points_out[k + 4, 1], points_out[k + 4, 2] = low
    grow_four(points_out, 0, growth_of_code(code))
    grow_four(points_out, 4, growth_of_code(code))
    return code, flat


@exact_kernel(inner="surface, i8, i8, i8, i8, f8[:,::1]")
def load_cell(surface, quad, step, x, y, points_out):
    """`read_cell`, not inlined."""
    return read_cell(surface, quad, step, x, y, points_out)


@device
def box_of(points, count):
    """Lower and upper corner of the first points."""
    lx, ly, lz = points[0, 0], points[0, 1], points[0, 2]
    ux, uy, uz = lx, ly, lz
    for k in range(1, count):
        lx, ly, lz = min(lx, points[k, 0]), min(ly, points[k, 1]), min(lz, points[k, 2])
        ux, uy, uz = max(ux, points[k, 0]), max(uy, points[k, 1]), max(uz, points[k, 2])
    return lx, ly, lz, ux, uy, uz


@device
def boxes_apart(box, lx, ly, lz, ux, uy, uz, reach):
    """Whether two boxes are more than `reach` apart along an axis."""
    return (
        box[0] > ux + reach
        or box[3] < lx - reach
        or box[1] > uy + reach
        or box[4] < ly - reach
        or box[2] > uz + reach
        or box[5] < lz - reach
    )


@device
def boxes_gap2(box, lx, ly, lz, ux, uy, uz):
    """Squared distance of two boxes."""
    x = max(0.0, max(box[0] - ux, lx - box[3]))
    y = max(0.0, max(box[1] - uy, ly - box[4]))
    z = max(0.0, max(box[2] - uz, lz - box[5]))
    return x * x + y * y + z * z


@device
def set_points(parts, part, points, count):
    """Write points over a placeholder part, relative to the first, which is returned: coordinates of terrain may be large."""
    origin = (points[0, 0], points[0, 1], points[0, 2])
    start = parts.ints[part, VERTEX_START]
    mx, my, mz = 0.0, 0.0, 0.0
    for i in range(parts.ints[part, SCAN_COUNT]):
        k = i if i < count else 0
        x, y, z = points[k, 0] - origin[0], points[k, 1] - origin[1], points[k, 2] - origin[2]
        parts.vertices[0, start + i], parts.vertices[1, start + i], parts.vertices[2, start + i] = x, y, z
        if i < count:
            mx, my, mz = mx + x, my + y, mz + z
    m = (mx / count, my / count, mz / count)
    most = 0.0
    for i in range(count):
        most = max(
            most, norm2(sub((parts.vertices[0, start + i], parts.vertices[1, start + i], parts.vertices[2, start + i]), m))
        )
    parts.reals[part, CENTER], parts.reals[part, CENTER + 1], parts.reals[part, CENTER + 2] = m
    parts.reals[part, BOUND] = math.sqrt(most)
    return origin
