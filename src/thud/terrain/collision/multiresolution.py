"""Multiresolution bounding volumes against one convex part ([Yang] 3.6, Algorithms 10 to 12).

A part is tested against the coarsest bounding volumes of a primitive, then one level down at a time, then against the
tetrahedra of single patches. As printed, a later volume that is not met removes a part that an earlier one kept, and a part in
the map is skipped though no tetrahedron confirmed it: collisions are lost. Here a part stays once a finest volume has
confirmed it, and is skipped only then; "remove" means "not confirmed by this volume".

5.2 hopes for levels that adapt to the terrain: a cell whose volume is as tight as those of the next levels says how many of
them are skipped (`flat`).
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.counts import COARSEST, COARSEST_LEVEL, FINER, FINEST, FINEST_LEVEL, VOLUMES_APART
from thud.terrain.collision.outline import in_outline, outline
from thud.terrain.collision.patch import load_patch
from thud.terrain.collision.volumes import box_of, boxes_apart, load_cell, set_points
from thud.terrain.surface_arrays import QUAD, SIDE, STEP

_I = np.int64

SEPARATED = 0


@device
def volume_meets(parts, query, points, count):
    """GJK of a bounding volume and a part."""
    a, b, r, t, _m, _mode = query
    o = set_points(parts, a, points, count)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    axis = center_axis(parts, a, b, r, at)
    return pair_intersects(parts, a, b, r, at, axis)[0] != SEPARATED


@kernel(inner="surface, parts, part_query, work_space, i8, i8, i8, i8[::1]")
def patch_confirms(surface, parts, query, space, quad, x, y, counts):
    """Algorithm 12, one volume: whether the part meets the tetrahedron of a patch."""
    load_patch(surface, quad, x, y, space.corners)
    lx, ly, lz, ux, uy, uz = box_of(space.corners, 4)
    if boxes_apart(space.box, lx, ly, lz, ux, uy, uz, 0.0):
        counts[VOLUMES_APART] += 1
        return False
    counts[FINEST] += 1
    return volume_meets(parts, query, space.corners, 4)


@kernel(inner="surface, parts, part_query, work_space, i8, i8, i8, i8, i8, i8, i8[::1], i8[::1]")
def one_level_down(surface, parts, query, space, k, step, x, y, flat, stage, last_out, counts):
    """Algorithms 11 and 12: whether a finest volume in cell (x, y) of the given step, which the part meets, confirms it.
    `flat`: levels to skip. last_out: quad, x and y of the patch that does."""
    quad, points, cells = _I(surface.primitives[k, QUAD]), space.points, space.cells
    ratio = surface.ratio
    shape = outline(surface, k)
    cells[0, 0], cells[0, 1], cells[0, 2], cells[0, 3] = step, x, y, flat
    depth = 1
    while depth > 0:
        depth -= 1
        step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
        finer = (step // 2) >> cells[depth, 3]
        if finer < 2:
            # Algorithm 12: tetrahedra from the displacement map itself.
            if stage < FINEST_LEVEL:
                continue
            pace = step * ratio
            for j in range(y * pace, (y + 1) * pace):
                for i in range(x * pace, (x + 1) * pace):
                    if in_outline(shape, i, j, i + 1, j + 1) and patch_confirms(
                        surface, parts, query, space, quad, i, j, counts
                    ):
                        last_out[0], last_out[1], last_out[2] = quad, i, j
                        return True
            continue
        many = step // finer
        for j in range(many):
            for i in range(many):
                cx, cy, pace = many * x + i, many * y + j, finer * ratio
                if not in_outline(shape, cx * pace, cy * pace, (cx + 1) * pace, (cy + 1) * pace):
                    continue
                code, flat = load_cell(surface, quad, finer, cx, cy, points)
                if code != EXTREME:
                    lx, ly, lz, ux, uy, uz = box_of(points, 8)
                    if boxes_apart(space.box, lx, ly, lz, ux, uy, uz, 0.0):
                        counts[VOLUMES_APART] += 1
                        continue
                    counts[FINER] += 1
                    if not volume_meets(parts, query, points, 8):
                        continue
                cells[depth, 0], cells[depth, 1], cells[depth, 2], cells[depth, 3] = finer, cx, cy, flat
                depth += 1
    return False


@kernel(inner="surface, parts, part_query, work_space, i8, i8, i8[::1], i8[::1]")
def coarsest_level(surface, parts, query, space, k, stage, last_out, counts):
    """Algorithm 10 for one part: whether a finest volume of primitive k confirms it, from the coarsest ones down. space.box is
    the part's."""
    points, quad = space.points, _I(surface.primitives[k, QUAD])
    coarsest = surface.map_ints[quad, STEP]
    pace, many = coarsest * surface.ratio, _I(surface.quads[quad, SIDE]) // coarsest
    shape = outline(surface, k)
    for y in range(many):
        for x in range(many):
            if not in_outline(shape, x * pace, y * pace, (x + 1) * pace, (y + 1) * pace):
                continue
            flat = _I(0)
            if coarsest > 1:
                code, flat = load_cell(surface, quad, coarsest, x, y, points)
                if code != EXTREME:
                    lx, ly, lz, ux, uy, uz = box_of(points, 8)
                    if boxes_apart(space.box, lx, ly, lz, ux, uy, uz, 0.0):
                        counts[VOLUMES_APART] += 1
                        continue
                    counts[COARSEST] += 1
                    if not volume_meets(parts, query, points, 8):
                        continue
            if stage > COARSEST_LEVEL and one_level_down(
                surface, parts, query, space, k, coarsest, x, y, flat, stage, last_out, counts
            ):
                return True
    return False
