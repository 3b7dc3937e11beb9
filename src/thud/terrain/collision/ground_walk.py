"""A convex part against the ground below the sheet: its bottom, its sides, and its inside.

The ground ends at the sheet, at the bottom and at the sides, all of them bilinear patches. So a part that touches none of
them is in the ground as a whole or not at all, and any of its points tells: its centre. What `walk.py` does for the sheet is
done here for the other faces, with the boxes of the sheet grown by the way to the ends of the columns.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import UNCONVERGED
from thud.math.pose import transform
from thud.math.vec3 import dot
from thud.shapes.packed import CENTER, KIND
from thud.shapes.shape import HALF_SPACE
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.column import BOTTOM, FACES, drop_heights, has_face, in_column, load_column, quad_drop, set_face
from thud.terrain.collision.outline import in_outline, outline, push_coarsest, push_finer
from thud.terrain.collision.patch_query import CAST, DISTANCE, GATHER, MEET, patch_query
from thud.terrain.collision.volumes import box_of, boxes_apart, load_cell
from thud.terrain.collision.walk import box_out_of_reach, heights, placed_node
from thud.terrain.collision.work_space import AWAY, BEST, FACE, POINT, STATUS, UNSURE, new_work_space
from thud.terrain.surface_arrays import LOWER, NORMAL, OFFSET, QUAD, UPPER

_I = np.int64


@device
def normal_of(surface, k):
    """Unit normal of a primitive's planes."""
    return surface.planes[k, NORMAL], surface.planes[k, NORMAL + 1], surface.planes[k, NORMAL + 2]


@device
def grown(box, drop):
    """A box with the ways in another box added, or none."""
    return (
        box[0] + min(drop[0], 0.0), box[1] + min(drop[1], 0.0), box[2] + min(drop[2], 0.0),
        box[3] + max(drop[3], 0.0), box[4] + max(drop[4], 0.0), box[5] + max(drop[5], 0.0),
    )  # fmt: skip


@device
def grown_node(surface, k):
    """Box of node k of the surface's tree with the ground below what it holds."""
    b = surface.node_boxes
    box = (
        np.float64(b[k, 0]), np.float64(b[k, 1]), np.float64(b[k, 2]), np.float64(b[k, 3]), np.float64(b[k, 4]),
        np.float64(b[k, 5]),
    )  # fmt: skip
    return grown(box, surface.drop)


@device
def dropped(box, drop):
    """A box moved by the ways in another box."""
    return (
        box[0] + drop[0], box[1] + drop[1], box[2] + drop[2], box[3] + drop[3], box[4] + drop[4], box[5] + drop[5],
    )  # fmt: skip


@kernel(inner="surface, vec3, work_space")
def in_ground(surface, p, space):
    """(whether a point is in the ground, quad, x, y, a, b of the sheet above it, part of the column's length)."""
    cells, points = space.cells, space.points
    none = (False, _I(-1), _I(0), _I(0), 0.0, 0.0, 0.0)
    space.counter[0] += 1
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = grown_node(surface, k)
        if not (lx <= p[0] <= ux and ly <= p[1] <= uy and lz <= p[2] <= uz):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        n, quad = normal_of(surface, item), _I(surface.primitives[item, QUAD])
        height = dot(n, p) - surface.planes[item, OFFSET]
        if height > surface.planes[item, UPPER] or height < surface.planes[item, LOWER] + drop_heights(surface, quad, n)[0]:
            continue
        drop = quad_drop(surface, quad)
        shape = outline(surface, item)
        depth = push_coarsest(surface, quad, shape, cells)
        while depth > 0:
            depth -= 1
            step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
            finer = step // 2
            if step > 1:
                code, flat = load_cell(surface, quad, step, x, y, points)
                if code != EXTREME:
                    lx, ly, lz, ux, uy, uz = grown(box_of(points, 8), drop)
                    if not (lx <= p[0] <= ux and ly <= p[1] <= uy and lz <= p[2] <= uz):
                        continue
                finer >>= flat
            if finer >= 2:
                depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
                continue
            pace = step * surface.ratio
            for j in range(y * pace, (y + 1) * pace):
                for i in range(x * pace, (x + 1) * pace):
                    if not in_outline(shape, i, j, i + 1, j + 1):
                        continue
                    load_column(surface, quad, i, j, space.tops, space.ends)
                    inside, a, b, part = in_column(surface, p, space)
                    if inside:
                        return True, quad, _I(i), _I(j), a, b, part
    return none


@kernel(inner="surface, parts, part_query, work_space, i8, i8, i8, i8, i8")
def column_faces(surface, parts, query, space, quad, x, y, rims, count):
    """Ask bottom and sides of one patch's columns. Returns how many faces have been found."""
    mode, result, found = query.mode, space.result, space.found
    load_column(surface, quad, x, y, space.tops, space.ends)
    for face in range(BOTTOM, FACES if rims != 0 else BOTTOM + 1):
        if not has_face(surface, quad, x, y, face):
            continue
        set_face(_I(face), space.tops, space.ends, space.corners, space.above)
        lx, ly, lz, ux, uy, uz = box_of(space.corners, 4)
        if box_out_of_reach(query, space.box, result[BEST], lx, ly, lz, ux, uy, uz):
            continue
        hit, status, value, p, n = patch_query(surface, parts, query, space, _I(face), result[BEST])
        if not hit:
            if status == UNCONVERGED:
                result[UNSURE] = 1.0
            continue
        if mode == GATHER:
            if count < found.shape[0]:
                found[count, 0], found[count, 1], found[count, 2], found[count, 3] = face, quad, x, y
            count += 1
            continue
        found[0, 0], found[0, 1], found[0, 2], found[0, 3] = query.b, quad, x, y
        result[STATUS], result[FACE] = status, face
        count = 1
        if mode != MEET:
            result[BEST] = value
        result[POINT], result[POINT + 1], result[POINT + 2] = p
        result[AWAY], result[AWAY + 1], result[AWAY + 2] = n
        if mode == MEET:
            return count
    return count


@device
def beyond_ground(surface, k, quad, low, high, rise, reach):
    """Whether heights along a primitive's normal, rising by `rise`, miss its bottom, and its sides if its quad has any, by more
    than `reach`."""
    least, most = drop_heights(surface, quad, normal_of(surface, k))
    offset = surface.planes[k, OFFSET]
    top = surface.planes[k, UPPER] + (max(most, 0.0) if surface.rim[quad] != 0 else most)
    return low + min(rise, 0.0) - offset > top + reach or high + max(rise, 0.0) - offset < (
        surface.planes[k, LOWER] + min(least, 0.0) - reach
    )


@kernel(inner="surface, parts, part_query, work_space, i8")
def walk_ground(surface, parts, query, space, count):
    """`walk_part` for bottom and sides: continues from result[BEST] and from what was found before."""
    _a, b, r, t, m, mode = query
    box, cells, points, result = space.box, space.cells, space.points, space.result
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = grown_node(surface, k)
        if box_out_of_reach(query, box, result[BEST], lx, ly, lz, ux, uy, uz):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        n, quad = normal_of(surface, item), _I(surface.primitives[item, QUAD])
        rims = _I(surface.rim[quad])
        low, high = heights(parts, b, r, t, n)
        rise = dot(n, m) * result[BEST] if mode == CAST else 0.0
        if beyond_ground(surface, item, quad, low, high, rise, result[BEST] if mode == DISTANCE else 0.0):
            continue
        drop = quad_drop(surface, quad)
        shape = outline(surface, item)
        depth = push_coarsest(surface, quad, shape, cells)
        while depth > 0:
            depth -= 1
            step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
            finer = step // 2
            if step > 1:
                code, flat = load_cell(surface, quad, step, x, y, points)
                if code != EXTREME:
                    own = box_of(points, 8)
                    lx, ly, lz, ux, uy, uz = grown(own, drop) if rims != 0 else dropped(own, drop)
                    if box_out_of_reach(query, box, result[BEST], lx, ly, lz, ux, uy, uz):
                        continue
                finer >>= flat
            if finer >= 2:
                depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
                continue
            pace = step * surface.ratio
            for j in range(y * pace, (y + 1) * pace):
                for i in range(x * pace, (x + 1) * pace):
                    if in_outline(shape, i, j, i + 1, j + 1):
                        count = column_faces(surface, parts, query, space, quad, _I(i), _I(j), rims, count)
                        if mode == MEET and count > 0:
                            return count
    return count


@kernel(inner="surface, f8[::1]")
def box_near_ground(surface, box):
    """Whether a box meets the box of any primitive's ground and comes between its planes."""
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = grown_node(surface, k)
        if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        n, middle, half = normal_of(surface, item), 0.0, 0.0
        for axis in range(3):
            middle += 0.5 * n[axis] * (box[axis] + box[axis + 3])
            half += 0.5 * abs(n[axis]) * (box[axis + 3] - box[axis])
        least, most = drop_heights(surface, _I(surface.primitives[item, QUAD]), n)
        height = middle - surface.planes[item, OFFSET]
        if height - half <= surface.planes[item, UPPER] + max(most, 0.0) and (
            height + half >= surface.planes[item, LOWER] + min(least, 0.0)
        ):
            return True
    return False


@kernel(inner="surface, query_object, mat3, vec3, f8, f8[::1], i8[::1]")
def near_ground_parts(surface, shape, r, t, margin, box, parts_out):
    """Parts of a compound at (r, t) that may meet the ground or come within `margin`, by the tree over them. Returns how
    many."""
    node_boxes, node_ints = shape.node_boxes, shape.node_ints
    count = 0
    k = _I(0)
    while k < node_ints.shape[0]:
        if not placed_node(node_boxes, k, r, t, margin, box) or box_near_ground(surface, box):
            if node_ints[k, 1] >= 0:
                parts_out[count] = node_ints[k, 1]
                count += 1
            k += 1
        else:
            k = node_ints[k, 0]
    if node_ints.shape[0] == 0:
        parts_out[0] = 0
        count = 1
    return count


@device
def part_center(parts, b, r, t):
    """Where the middle of a part is."""
    return transform(r, t, (parts.reals[b, CENTER], parts.reals[b, CENTER + 1], parts.reals[b, CENTER + 2]))


@kernel(inner="surface, parts, part_query, work_space")
def part_in_ground(surface, parts, query, space):
    """(whether a part that touches no patch of the sheet meets the ground, quad, x, y of a patch above, a point of the
    ground). The part's box is in `space`."""
    b, r, t = query.b, query.r, query.t
    result, found = space.result, space.found
    none = (False, _I(-1), _I(0), _I(0), t)
    if parts.ints[b, KIND] != HALF_SPACE:
        if not box_near_ground(surface, space.box):
            return none
        p = part_center(parts, b, r, t)
        inside, quad, x, y, _a, _b, _part = in_ground(surface, p, space)
        if inside:
            return True, quad, x, y, p
    result[BEST] = 0.0
    if walk_ground(surface, parts, query, space, _I(0)) > 0:
        return True, found[0, 1], found[0, 2], found[0, 3], (result[POINT], result[POINT + 1], result[POINT + 2])
    return none


@kernel("i8, i8, surface, f8[:,::1], u1[::1]")
def in_ground_rows(start, stop, surface, points, inside_out):
    """Whether each point is in the ground."""
    space = new_work_space(_I(1))
    for row in range(start, stop):
        inside_out[row] = in_ground(surface, (points[row, 0], points[row, 1], points[row, 2]), space)[0]
