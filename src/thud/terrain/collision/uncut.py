"""Whether no sheet crosses a column between a point and its own sheet point: a short ray up the column.

Where it crosses the sheet of a triangle can be told from where its ends lie, by backward projection, in two cases:

- All directions of the triangle are the column's own. Then its sheet has one point over each place of the triangle. If that is
  so of all of the column's own quad, no column of it is cut by it.
- The triangle is of the column's own quad, and does not turn over down to the point. Its directions are the column's, up to the
  second order, so that both ends are projected to all but the same place, and what lies between them too.

Patches are bilinear in the samples, so the place is theirs to within a part of a sample. Else the ray goes down the cells.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.collision.ground import project, turned_over
from thud.terrain.collision.patch import load_patch
from thud.terrain.collision.rays import next_primitive, ray_patch_crossings, ray_primitive
from thud.terrain.collision.tolerances import BESIDE, OWN_SHEET, SAME_NORMAL
from thud.terrain.projection.alpha_triangle import INSIDE, OUTSIDE
from thud.terrain.sampling import map_place
from thud.terrain.surface_arrays import COUNT, FIRST, LEAST, MOST, NORMAL, QUAD, SIDE, V3, S, T

_I = np.int64


@exact_device
def runs_along(surface, k, d):
    """Whether all directions of a triangle are the same, and run along d, which is of length 1."""
    v = surface.vertices
    a, b, c = surface.primitives[k, 0], surface.primitives[k, 1], surface.primitives[k, 2]
    x, y, z = v[a, 3], v[a, 4], v[a, 5]
    if v[b, 3] != x or v[b, 4] != y or v[b, 5] != z or v[c, 3] != x or v[c, 4] != y or v[c, 5] != z:
        return False
    off = abs(y * d[2] - z * d[1]) + abs(z * d[0] - x * d[2]) + abs(x * d[1] - y * d[0])
    return off <= SAME_NORMAL * (abs(x) + abs(y) + abs(z))


@exact_device
def place_on(surface, k, p, upright):
    """(known, margin, s, t) of a point on a triangle by backward projection: how far inside it is, negative outside, in (u, v);
    in samples of its quad. upright: not known where the triangle, moved to the point, shows its back."""
    quad = _I(surface.primitives[k, QUAD])
    least, most = surface.planes[k, LEAST] - surface.thickness, surface.planes[k, MOST]
    status, u, v, length = project(surface, k, p, least, most)
    margin = min(u, min(v, 1.0 - u - v))
    if status not in (INSIDE, OUTSIDE) or not (margin > -math.inf and max(u, v) < math.inf):
        return False, 0.0, 0.0, 0.0
    if upright and turned_over(surface, k, u, v, length):
        return False, 0.0, 0.0, 0.0
    s, t = map_place(surface, k, 1.0 - u - v, u, v, 0.0)
    return True, margin, s - surface.ratio * surface.quads[quad, S], t - surface.ratio * surface.quads[quad, T]


@exact_kernel(inner="surface, i8, i8, vec3, vec3, vec3")
def crossing_window(surface, k, own, x, top, d):
    """(known, x0, y0, x1, y1): patches of triangle k, [x0, x1) x [y0, y1) of its quad, that the way from x along d to `top` may
    cross, if that can be told; `own` is the column's quad."""
    none = (False, _I(0), _I(0), _I(0), _I(0))
    if surface.primitives[k, V3] >= 0:
        return none
    quad = _I(surface.primitives[k, QUAD])
    along = runs_along(surface, k, d)
    if not along and quad != own:
        return none
    known, margin, s, t = place_on(surface, k, x, not along)
    if not known:
        return none
    s1, t1 = s, t
    if not along:
        known, other, s1, t1 = place_on(surface, k, top, True)
        if not known or abs(s1 - s) > BESIDE or abs(t1 - t) > BESIDE:
            return none
        margin = max(margin, other)
    if margin < -BESIDE:
        return True, _I(0), _I(0), _I(0), _I(0)
    most = surface.ratio * _I(surface.quads[quad, SIDE])
    x0, y0 = _I(math.floor(min(s, s1) - BESIDE)), _I(math.floor(min(t, t1) - BESIDE))
    x1, y1 = _I(math.floor(max(s, s1) + BESIDE)) + 1, _I(math.floor(max(t, t1) + BESIDE)) + 1
    return True, max(x0, _I(0)), max(y0, _I(0)), min(x1, most), min(y1, most)


@exact_device
def is_heights(surface, quad, d):
    """Whether a quad is of two triangles that face d, along which all of their directions run. Its sheet is heights over a
    plane across d then, and cuts none of its own columns."""
    first = _I(surface.quads[quad, FIRST])
    if surface.quads[quad, COUNT] != 2:
        return False
    for k in range(first, first + 2):
        n = surface.planes
        if surface.primitives[k, V3] >= 0 or not runs_along(surface, k, d):
            return False
        if not n[k, NORMAL] * d[0] + n[k, NORMAL + 1] * d[1] + n[k, NORMAL + 2] * d[2] > SAME_NORMAL:
            return False
    return True


@exact_kernel(inner="surface, i8, vec3, vec3, f8, work_space")
def is_uncut(surface, quad, x, top, length, space):
    """Whether no sheet crosses the column between x and its own sheet point, of this quad; `length` of the whole column,
    metres."""
    d = (top[0] - x[0], top[1] - x[1], top[2] - x[2])
    way = math.sqrt(d[0] * d[0] + d[1] * d[1] + d[2] * d[2])
    farthest = way - OWN_SHEET * length
    if not farthest > 0.0:
        return True
    d = (d[0] / way, d[1] / way, d[2] / way)
    heights = is_heights(surface, quad, d)
    k = _I(0)
    while True:
        item, k = next_primitive(surface, x, d, farthest, k)
        if item < 0:
            return True
        if heights and surface.primitives[item, QUAD] == quad:
            continue
        known, x0, y0, x1, y1 = crossing_window(surface, item, quad, x, top, d)
        if known:
            for j in range(y0, y1):
                for i in range(x0, x1):
                    load_patch(surface, _I(surface.primitives[item, QUAD]), i, j, space.ray_corners)
                    if ray_patch_crossings(space.ray_corners, x, d, farthest, space.ray_crossings) > 0:
                        return False
            continue
        hit, _distance = ray_primitive(
            surface, item, x, d, farthest, False, _I(1), space.ray_corners, space.ray_points, space.ray_cells,
            space.ray_place,
        )  # fmt: skip
        if hit:
            return False
