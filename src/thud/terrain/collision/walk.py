"""One convex part against a displaced surface: down the tree over the primitives, through bounding planes and bounding volumes
from the coarsest to the finest, to the bilinear patches.

The same walk serves all queries, which differ in what they ask of a patch (`mode`):

- MEET: does the part touch any patch? Ends with the first.
- GATHER: which patches does it touch?
- DISTANCE: how near is the nearest?
- NEARBY: within what distance is there one? A bound that the search for the nearest begins with.
- CAST: when does it first touch one while it moves by m?

Everything is in the surface's frame; (r, t) is the part in it. `patch_query.py` asks a patch, `ground_walk.py` the other
faces of the ground.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import SEPARATED, UNCONVERGED
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis, part_size
from thud.convex.support import load_part, support
from thud.math.pose import rotate, unrotate
from thud.math.vec3 import dot
from thud.shapes.packed import KIND, P0, P1, P2, P3, RADIUS
from thud.shapes.shape import HALF_SPACE
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.column import SHEET
from thud.terrain.collision.outline import in_outline, outline, push_coarsest, push_finer
from thud.terrain.collision.patch import read_patch
from thud.terrain.collision.patch_query import CAST, DISTANCE, GATHER, MEET, NEARBY, patch_bound, patch_query
from thud.terrain.collision.tolerances import HALF_SPACE_ROOM, HEIGHT_SLACK, NEARBY_ROOM
from thud.terrain.collision.volumes import box_of, boxes_apart, boxes_gap2, read_cell, set_points
from thud.terrain.collision.work_space import AWAY, AXIS, BEST, FACE, NEAR, POINT, STATUS, UNSURE, PartQuery
from thud.terrain.surface_arrays import LOWER, NORMAL, OFFSET, QUAD, UPPER

_I = np.int64


@device
def sheet_node(surface, k):
    """Box of node k of the surface's tree over the sheet."""
    b = surface.node_boxes
    return (
        np.float64(b[k, 0]), np.float64(b[k, 1]), np.float64(b[k, 2]), np.float64(b[k, 3]), np.float64(b[k, 4]),
        np.float64(b[k, 5]),
    )  # fmt: skip


@device
def heights_apart(points, count, n, low, high, reach):
    """Whether points lie more than `reach` above `high` or below `low` along n: most volumes that are not met, at the cost of
    some products."""
    least, most = math.inf, -math.inf
    for k in range(count):
        height = n[0] * points[k, 0] + n[1] * points[k, 1] + n[2] * points[k, 2]
        least, most = min(least, height), max(most, height)
    reach += HEIGHT_SLACK * (abs(least) + abs(most))
    return low > most + reach or high < least - reach


@device
def moved_box(box, m, time):
    """The box of all that moves by m up to `time`."""
    x, y, z = m[0] * time, m[1] * time, m[2] * time
    return (
        box[0] + min(0.0, x),
        box[1] + min(0.0, y),
        box[2] + min(0.0, z),
        box[3] + max(0.0, x),
        box[4] + max(0.0, y),
        box[5] + max(0.0, z),
    )


@device
def heights(parts, b, r, t, n):
    """Least and greatest n . x of a part; n of unit length."""
    if parts.ints[b, KIND] == HALF_SPACE:
        return -math.inf, math.inf
    part = load_part(parts, b)
    d = unrotate(r, n)
    low = rotate(r, support(parts, part, (-d[0], -d[1], -d[2])))
    high = rotate(r, support(parts, part, d))
    at, radius = dot(n, t), parts.reals[b, RADIUS]
    return dot(n, low) + at - radius, dot(n, high) + at + radius


@device
def beyond_planes(surface, k, low, high, rise, reach):
    """Whether heights (along the primitive's normal, from the origin) from low to high, rising by `rise`, miss its planes
    by more than `reach`."""
    offset = surface.planes[k, OFFSET]
    return (
        low + min(rise, 0.0) - offset > surface.planes[k, UPPER] + reach
        or high + max(rise, 0.0) - offset < surface.planes[k, LOWER] - reach
    )


@device
def box_beyond_planes(surface, k, box):
    """Whether a box does not come between the primitive's planes."""
    middle, half = 0.0, 0.0
    for axis in range(3):
        n = surface.planes[k, NORMAL + axis]
        middle += 0.5 * n * (box[axis] + box[axis + 3])
        half += 0.5 * abs(n) * (box[axis + 3] - box[axis])
    return beyond_planes(surface, k, middle - half, middle + half, 0.0, 0.0)


@device
def box_out_of_reach(query, box, best, lx, ly, lz, ux, uy, uz):
    """Whether nothing within the given bounds can be nearer to the part in `box` than the distance `best`, or be touched by it
    on its way m before the time `best`."""
    if query.mode >= DISTANCE:
        return boxes_gap2(box, lx, ly, lz, ux, uy, uz) > best * best
    return boxes_apart(moved_box(box, query.m, best), lx, ly, lz, ux, uy, uz, 0.0)


@device
def out_of_reach(query, space, points, count, slab):
    """The same of what the first points enclose, by their box and by their heights; `slab` is (up, low, high): the heights of
    the part along `up`, those of its way included."""
    best = space.result[BEST]
    lx, ly, lz, ux, uy, uz = box_of(points, count)
    if box_out_of_reach(query, space.box, best, lx, ly, lz, ux, uy, uz):
        return True
    return heights_apart(points, count, slab[0], slab[1], slab[2], best if query.mode >= DISTANCE else 0.0)


@kernel(inner="surface, parts, part_query, work_space, i8, UniTuple(i8, 4), Tuple((vec3, f8, f8)), i8")
def walk_patches(surface, parts, query, space, k, patches, slab, count):
    """The patches of primitive k that overlap [x0, x1) x [y0, y1) of its quad; `slab` as in `out_of_reach`. Returns how many
    have been found."""
    quad = _I(surface.primitives[k, QUAD])
    x0, y0, x1, y1 = patches
    mode, result, found = query.mode, space.result, space.found
    shape = outline(surface, k)
    for y in range(y0, y1):
        for x in range(x0, x1):
            if not in_outline(shape, x, y, x + 1, y + 1):
                continue
            read_patch(surface, quad, x, y, space.corners)
            if out_of_reach(query, space, space.corners, 4, slab):
                continue
            if mode == NEARBY:
                result[BEST] = patch_bound(parts, query, space, result[BEST])
                continue
            hit, status, value, p, n = patch_query(parts, query, space, result[BEST])
            if not hit:
                if status == UNCONVERGED:
                    result[UNSURE] = 1.0
                continue
            if mode <= GATHER:
                if count < found.shape[0]:
                    found[count, 0], found[count, 1], found[count, 2], found[count, 3] = query.b, quad, x, y
                    if mode == GATHER:
                        found[count, 0] = SHEET
                count += 1
                if mode == MEET:
                    result[STATUS] = status
                    return count
                continue
            count = 1
            result[BEST], result[STATUS], result[FACE] = value, status, SHEET
            result[POINT], result[POINT + 1], result[POINT + 2] = p
            result[AWAY], result[AWAY + 1], result[AWAY + 2] = n
            found[0, 0], found[0, 1], found[0, 2], found[0, 3] = query.b, quad, x, y
    return count


@kernel(inner="surface, parts, part_query, work_space, i8, Tuple((vec3, f8, f8)), i8")
def walk_primitive(surface, parts, query, space, k, slab, count):
    """The cells of primitive k, from the coarsest down; `slab` as in `out_of_reach`, along the primitive's normal. Returns how
    many patches have been found."""
    a, b, r, t, _m, mode = query
    points, cells, result = space.points, space.cells, space.result
    quad = _I(surface.primitives[k, QUAD])
    shape = outline(surface, k)
    depth = push_coarsest(surface, quad, shape, cells)
    while depth > 0:
        depth -= 1
        step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
        finer = step // 2
        if step > 1:
            code, flat = read_cell(surface, quad, step, x, y, points)
            if code != EXTREME:
                if out_of_reach(query, space, points, 8, slab):
                    continue
                if mode <= GATHER:
                    o = set_points(parts, a, points, 8)
                    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
                    # What separated the part from the last cell is likely to separate it from this one.
                    axis = (result[AXIS], result[AXIS + 1], result[AXIS + 2])
                    if axis[0] == 0.0 and axis[1] == 0.0 and axis[2] == 0.0:
                        axis = center_axis(parts, a, b, r, at)
                    status, axis = pair_intersects(parts, a, b, r, at, axis)
                    if status == SEPARATED:
                        result[AXIS], result[AXIS + 1], result[AXIS + 2] = axis
                        continue
            finer >>= flat
        if finer >= 2:
            depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
            continue
        pace = step * surface.ratio
        patches = (x * pace, y * pace, (x + 1) * pace, (y + 1) * pace)
        count = walk_patches(surface, parts, query, space, k, patches, slab, count)
        if mode == MEET and count > 0:
            return count
    return count


@device
def walk_leaf(surface, parts, query, space, item, count):
    """A part against one primitive, whose box is in reach; returns how many patches have been found."""
    _a, b, r, t, m, mode = query
    best = space.result[BEST]
    n = (surface.planes[item, NORMAL], surface.planes[item, NORMAL + 1], surface.planes[item, NORMAL + 2])
    low, high = heights(parts, b, r, t, n)
    rise, reach = 0.0, 0.0
    if mode == CAST:
        rise = dot(n, m) * best
    elif mode >= DISTANCE:
        reach = best
    if beyond_planes(surface, item, low, high, rise, reach):
        return count
    space.result[NEAR] = 1.0
    slab = (n, low + min(rise, 0.0), high + max(rise, 0.0))
    return walk_primitive(surface, parts, query, space, item, slab, count)


@kernel(inner="surface, parts, part_query, work_space, i8")
def walk_part(surface, parts, query, space, count):
    """A part against the whole surface. result[BEST] bounds the search: a distance, a time, or 0. Returns how many patches have
    been found, `count` and those before it included; space.found keeps them as far as it reaches."""
    mode = query.mode
    box, nodes, result = space.box, space.nodes, space.result
    nodes[0], depth = _I(0), 1
    result[AXIS], result[AXIS + 1], result[AXIS + 2] = 0.0, 0.0, 0.0
    b6 = surface.node_boxes
    while depth > 0:
        depth -= 1
        k = nodes[depth]
        lx, ly, lz, ux, uy, uz = sheet_node(surface, k)
        if box_out_of_reach(query, box, result[BEST], lx, ly, lz, ux, uy, uz):
            continue
        item = _I(surface.node_ints[k, 1])
        if item < 0:
            # Children, of which the first to be looked at goes on top: for distances the nearer one.
            left, end = k + 1, _I(surface.node_ints[k, 0])
            right = _I(surface.node_ints[left, 0])
            if right < end:
                if mode >= DISTANCE:
                    near_left = boxes_gap2(
                        box, np.float64(b6[left, 0]), np.float64(b6[left, 1]), np.float64(b6[left, 2]),
                        np.float64(b6[left, 3]), np.float64(b6[left, 4]), np.float64(b6[left, 5]),
                    )  # fmt: skip
                    near_right = boxes_gap2(
                        box, np.float64(b6[right, 0]), np.float64(b6[right, 1]), np.float64(b6[right, 2]),
                        np.float64(b6[right, 3]), np.float64(b6[right, 4]), np.float64(b6[right, 5]),
                    )  # fmt: skip
                    if near_right < near_left:
                        left, right = right, left
                nodes[depth] = right
                depth += 1
            nodes[depth] = left
            depth += 1
            continue
        count = walk_leaf(surface, parts, query, space, item, count)
        if mode == MEET and count > 0:
            return count
    return count


@kernel(inner="surface, parts, part_query, work_space, i8[::1], i8, i8")
def walk_leaves(surface, parts, query, space, leaves, first, end):
    """The same over leaves [first, end) of a list of leaves of the surface's tree."""
    count, result = _I(0), space.result
    result[AXIS], result[AXIS + 1], result[AXIS + 2] = 0.0, 0.0, 0.0
    for i in range(first, end):
        lx, ly, lz, ux, uy, uz = sheet_node(surface, leaves[i])
        if not box_out_of_reach(query, space.box, result[BEST], lx, ly, lz, ux, uy, uz):
            count = walk_leaf(surface, parts, query, space, _I(surface.node_ints[leaves[i], 1]), count)
            if query.mode == MEET and count > 0:
                break
    return count


@kernel(inner="surface, parts, part_query, work_space")
def walk_nearest(surface, parts, query, space):
    """`walk_part` for distances, when little is known of them: first a bound, which few patches come below."""
    a, b, r, t, m, _mode = query
    result = space.result
    reach = result[BEST]
    walk_part(surface, parts, PartQuery(a, b, r, t, m, _I(NEARBY)), space, _I(0))
    # With room for what a distance depends on where its search begins.
    bound = result[BEST] + NEARBY_ROOM * (result[BEST] + part_size(parts, a, b))
    if bound < reach:
        result[BEST] = bound
        count = walk_part(surface, parts, query, space, _I(0))
        if count > 0:
            return count
    result[BEST] = reach
    return walk_part(surface, parts, query, space, _I(0))


@kernel(inner="parts, i8, mat3, vec3, f8[::1]")
def part_box(parts, b, r, t, box_out):
    """Tight box of a part; of a half-space all of space, or up to its plane where that follows an axis."""
    if parts.ints[b, KIND] == HALF_SPACE:
        for axis in range(3):
            box_out[axis], box_out[axis + 3] = -math.inf, math.inf
            n = (parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2])
            up = rotate(r, n)
            if up[axis] == 1.0:
                at = dot(up, t)
                box_out[axis + 3] = parts.reals[b, P3] + at + HALF_SPACE_ROOM * (abs(parts.reals[b, P3]) + abs(at))
        return
    for axis in range(3):
        n = (1.0 if axis == 0 else 0.0, 1.0 if axis == 1 else 0.0, 1.0 if axis == 2 else 0.0)
        low, high = heights(parts, b, r, t, n)
        box_out[axis], box_out[axis + 3] = low, high


@kernel(inner="surface, f8[::1]")
def box_near(surface, box):
    """Whether a box meets the box of any primitive and comes between its planes."""
    k = _I(0)
    b6 = surface.node_boxes
    while k < surface.node_ints.shape[0]:
        lx, ly, lz = np.float64(b6[k, 0]), np.float64(b6[k, 1]), np.float64(b6[k, 2])
        if boxes_apart(box, lx, ly, lz, np.float64(b6[k, 3]), np.float64(b6[k, 4]), np.float64(b6[k, 5]), 0.0):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        if item >= 0 and not box_beyond_planes(surface, item, box):
            return True
        k += 1
    return False


@device
def placed_node(node_boxes, k, r, t, margin, box_out):
    """Box, in the surface's frame, of a node of the tree of a compound at (r, t); False if it has none to speak of, as a
    half-space."""
    for axis in range(3):
        middle, half = t[axis], margin
        for j in range(3):
            low, high = node_boxes[k, j], node_boxes[k, j + 3]
            middle += r[3 * axis + j] * 0.5 * (low + high)
            half += abs(r[3 * axis + j]) * 0.5 * (high - low)
        box_out[axis], box_out[axis + 3] = middle - half, middle + half
    return box_out[0] <= box_out[3] and box_out[1] <= box_out[4] and box_out[2] <= box_out[5]


@kernel(inner="surface, query_object, mat3, vec3, f8, f8[::1], i8[::1]")
def near_parts(surface, shape, r, t, margin, box, parts_out):
    """Parts of a compound at (r, t) that may meet the sheet or come within `margin`, by the tree over them. Returns how
    many."""
    node_boxes, node_ints = shape.node_boxes, shape.node_ints
    count = 0
    k = _I(0)
    while k < node_ints.shape[0]:
        if not placed_node(node_boxes, k, r, t, margin, box) or box_near(surface, box):
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
