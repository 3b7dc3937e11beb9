"""A convex part against the ground below the sheet: its bottom, its sides, and its inside.

The ground ends at the sheet, at the bottom and at the sides, all of them bilinear patches. So a part that touches none of
them is in the ground as a whole or not at all, and any of its points tells: its centre. What `walk.py` does for the sheet is
done here for the other faces, with the boxes of the sheet grown by the way to the ends of the columns.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, exact_kernel, kernel
from thud._core.status import SEPARATED, UNCONVERGED
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis
from thud.math.pose import rotate, transform
from thud.math.vec3 import dot, norm2, sub
from thud.shapes.packed import KIND, P0, P1, P2, RADIUS
from thud.shapes.shape import HALF_SPACE
from thud.terrain.bounding.planes import corner
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.column import (
    BOTTOM,
    FACES,
    beside_cell,
    drop_cell,
    face_is_ground,
    has_face,
    in_column,
    load_column,
    quad_drop,
    set_face,
)
from thud.terrain.collision.ground import project
from thud.terrain.collision.nearest import foot_on_patch
from thud.terrain.collision.outline import in_outline, outline, push_coarsest, push_finer
from thud.terrain.collision.patch_query import CAST, DISTANCE, GATHER, MEET, middle_of, patch_query
from thud.terrain.collision.tolerances import BESIDE, HEIGHT_SLACK, OWN_SHEET
from thud.terrain.collision.volumes import box_of, boxes_apart, load_cell, set_points
from thud.terrain.collision.walk import box_out_of_reach, heights, heights_apart, placed_node
from thud.terrain.collision.work_space import AWAY, BEST, FACE, PLACE, POINT, STATUS, UNSURE, PartQuery, new_work_space
from thud.terrain.projection.alpha_triangle import INSIDE, OUTSIDE
from thud.terrain.sampling import map_place
from thud.terrain.surface_arrays import COUNT, FIRST, LEAST, LOWER, MOST, NORMAL, OFFSET, QUAD, SIDE, UPPER, V3, S, T

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
def face_node(surface, k):
    """Box of node k of the surface's tree over bottom and sides."""
    b = surface.face_boxes
    return (
        np.float64(b[k, 0]), np.float64(b[k, 1]), np.float64(b[k, 2]), np.float64(b[k, 3]), np.float64(b[k, 4]),
        np.float64(b[k, 5]),
    )  # fmt: skip


@device
def ground_node(surface, k):
    """Box of node k of the surface's tree over the ground: what lies between sheet and bottom."""
    b, c = surface.node_boxes, surface.face_boxes
    return (
        np.float64(min(b[k, 0], c[k, 0])), np.float64(min(b[k, 1], c[k, 1])), np.float64(min(b[k, 2], c[k, 2])),
        np.float64(max(b[k, 3], c[k, 3])), np.float64(max(b[k, 4], c[k, 4])), np.float64(max(b[k, 5], c[k, 5])),
    )  # fmt: skip


@exact_kernel(inner="surface, i8, vec3")
def place_below(surface, k, p):
    """(known, beside, s, t): where in its quad, in samples, a point lies below a triangle, by backward projection; beside: it
    lies below none of its patches. The patches are bilinear in samples, so the place is theirs to within a part of a sample."""
    quad = _I(surface.primitives[k, QUAD])
    if surface.primitives[k, V3] >= 0:
        return False, False, 0.0, 0.0
    least, most = surface.planes[k, LEAST] - surface.thickness, surface.planes[k, MOST]
    status, u, v, length = project(surface, k, p, least, most)
    if status not in (INSIDE, OUTSIDE):
        return False, False, 0.0, 0.0
    if status == OUTSIDE and not min(u, min(v, 1.0 - u - v)) > -BESIDE:
        return True, True, 0.0, 0.0
    s, t = map_place(surface, k, 1.0 - u - v, u, v, 0.0)
    if surface.details.shape[0] == 0 and surface.ratio == 1:
        # Far above the samples around it there is no ground of theirs: the surface leaves their lengths by the second order
        # alone.
        low, high = math.inf, -math.inf
        x, y, side = _I(surface.quads[quad, S]), _I(surface.quads[quad, T]), _I(surface.quads[quad, SIDE])
        for j in range(max(_I(math.floor(t - 0.5)), y), min(_I(math.floor(t + 0.5)) + 1, y + side) + 1):
            for i in range(max(_I(math.floor(s - 0.5)), x), min(_I(math.floor(s + 0.5)) + 1, x + side) + 1):
                low = min(low, np.float64(surface.displacements[j, i]))
                high = max(high, np.float64(surface.displacements[j, i]))
        if length > high + (high - low) + BESIDE * OWN_SHEET * surface.thickness:
            return True, True, 0.0, 0.0
    return True, False, s - surface.ratio * surface.quads[quad, S], t - surface.ratio * surface.quads[quad, T]


@exact_kernel(inner="surface, vec3, work_space, i8, i8, i8, i8, i8, i8")
def in_columns(surface, p, space, item, quad, x0, y0, x1, y1):
    """(whether a point is ground of any of the patches [x0, x1) x [y0, y1) of a primitive, x, y, a, b, part of the length)."""
    shape = outline(surface, item)
    for j in range(y0, y1):
        for i in range(x0, x1):
            if in_outline(shape, i, j, i + 1, j + 1):
                load_column(surface, quad, i, j, space.tops, space.ends)
                inside, a, b, part = in_column(surface, quad, p, space)
                if inside:
                    return True, _I(i), _I(j), a, b, part
    return False, _I(0), _I(0), 0.0, 0.0, 0.0


@kernel(inner="surface, vec3, work_space, i8, i8")
def in_cells(surface, p, space, item, quad):
    """The same of all patches of a primitive, from the coarsest cells down."""
    cells, points = space.cells, space.points
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
                if beside_cell(surface, quad, p, drop, points):
                    continue
            finer >>= flat
        if finer >= 2:
            depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
            continue
        pace = step * surface.ratio
        found = in_columns(surface, p, space, item, quad, x * pace, y * pace, (x + 1) * pace, (y + 1) * pace)
        if found[0]:
            return found
    return False, _I(0), _I(0), 0.0, 0.0, 0.0


@kernel(inner="surface, vec3, work_space")
def in_ground(surface, p, space):
    """(whether a point is in the ground, quad, x, y, a, b of the sheet above it, part of the column's length)."""
    space.counter[0] += 1
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = ground_node(surface, k)
        if not (lx <= p[0] <= ux and ly <= p[1] <= uy and lz <= p[2] <= uz):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        n, quad = normal_of(surface, item), _I(surface.primitives[item, QUAD])
        height = dot(n, p) - surface.planes[item, OFFSET]
        if height > surface.planes[item, UPPER] or height < surface.planes[item, LOWER] + surface.fall[item, 0]:
            continue
        known, beside, s, t = place_below(surface, item, p)
        if beside:
            continue
        if known:
            most = surface.ratio * _I(surface.quads[quad, SIDE])
            x0, y0 = max(_I(math.floor(s - 0.5)), 0), max(_I(math.floor(t - 0.5)), 0)
            x1, y1 = min(_I(math.floor(s + 0.5)) + 1, most), min(_I(math.floor(t + 0.5)) + 1, most)
            inside, x, y, a, b, part = in_columns(surface, p, space, item, quad, x0, y0, x1, y1)
        else:
            inside, x, y, a, b, part = in_cells(surface, p, space, item, quad)
        if inside:
            return True, quad, x, y, a, b, part
    return False, _I(-1), _I(0), _I(0), 0.0, 0.0, 0.0


@kernel(inner="parts, part_query, work_space, vec3")
def met_place(parts, query, space, p):
    """(a, b) of a place where a part meets the face in `space`, or is nearest to it; p: that place, where it is a distance or a
    time that was asked for. Unless a sheet cuts part and face, all that they share is ground, or nothing of it."""
    a, b, r, t, m, mode = query
    u, v = space.result[PLACE], space.result[PLACE + 1]
    if mode <= GATHER:
        if parts.ints[b, KIND] == HALF_SPACE:
            # Its deepest corner.
            up = rotate(r, (parts.reals[b, P0], parts.reals[b, P1], parts.reals[b, P2]))
            least = math.inf
            for k in range(4):
                x = (space.corners[k, 0], space.corners[k, 1], space.corners[k, 2])
                if dot(up, x) < least:
                    least, u, v = dot(up, x), np.float64(k & 1), np.float64(k >> 1)
            return u, v
        # What is rounded, and the margin of contacts: the place that is nearest to the core.
        radius = parts.reals[b, RADIUS]
        parts.reals[b, RADIUS] = 0.0
        hit, _status, _d, q, _n = patch_query(parts, PartQuery(a, b, r, t, m, _I(DISTANCE)), space, math.inf)
        parts.reals[b, RADIUS] = radius
        p = q if hit else middle_of(parts, query)
        u, v = space.result[PLACE], space.result[PLACE + 1]
    return foot_on_patch(space.corners, p, u, v)


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
        hit, status, value, p, n = patch_query(parts, query, space, result[BEST])
        if not hit:
            if status == UNCONVERGED:
                result[UNSURE] = 1.0
            continue
        # Where it is met the face must be ground.
        u, v = met_place(parts, query, space, p)
        if not face_is_ground(surface, quad, space.corners, space.above, u, v, space):
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
def beyond_ground(surface, k, rims, low, high, rise, reach):
    """Whether heights along a primitive's normal, rising by `rise`, miss its bottom, and its sides if it has any, by more
    than `reach`."""
    least, most = surface.fall[k, 0], surface.fall[k, 1]
    offset = surface.planes[k, OFFSET]
    top = surface.planes[k, UPPER] + (max(most, 0.0) if rims != 0 else most)
    return low + min(rise, 0.0) - offset > top + reach or high + max(rise, 0.0) - offset < (
        surface.planes[k, LOWER] + min(least, 0.0) - reach
    )


@device
def sides_in_reach(surface, query, box, best, k, quad):
    """Which sides of its quad's ground a part may come to at primitive k, as bits. What lies at length l over an edge of the
    primitive is between its two vertices, moved by l."""
    rims, kept = _I(surface.rim[quad]), _I(0)
    if rims == 0:
        return kept
    far = surface.ratio * _I(surface.quads[quad, SIDE])
    least, most = surface.planes[k, LEAST] - surface.thickness, surface.planes[k, MOST]
    for bit in range(4):
        if (rims >> bit) & 1 == 0:
            continue
        lx, ly, lz, ux, uy, uz = math.inf, math.inf, math.inf, -math.inf, -math.inf, -math.inf
        ends = 0
        for i in range(3 if surface.primitives[k, V3] < 0 else 4):
            x, y = corner(surface, k, i, quad)
            if (x if bit & 1 else y) != (far if bit == 1 or bit == 2 else 0):
                continue
            ends += 1
            v = surface.primitives[k, i]
            px, py, pz = surface.vertices[v, 0], surface.vertices[v, 1], surface.vertices[v, 2]
            nx, ny, nz = surface.vertices[v, 3], surface.vertices[v, 4], surface.vertices[v, 5]
            lx, ux = min(lx, px + min(least * nx, most * nx)), max(ux, px + max(least * nx, most * nx))
            ly, uy = min(ly, py + min(least * ny, most * ny)), max(uy, py + max(least * ny, most * ny))
            lz, uz = min(lz, pz + min(least * nz, most * nz)), max(uz, pz + max(least * nz, most * nz))
        if ends < 2:
            continue
        x, y, z = HEIGHT_SLACK * (abs(lx) + abs(ux)), HEIGHT_SLACK * (abs(ly) + abs(uy)), HEIGHT_SLACK * (abs(lz) + abs(uz))
        if not box_out_of_reach(query, box, best, lx - x, ly - y, lz - z, ux + x, uy + y, uz + z):
            kept |= 1 << bit
    return kept


@device
def sides_of_cell(surface, quad, pace, x, y, rims):
    """Those sides of a quad that cell (x, y) of `pace` samples is at."""
    far = surface.ratio * _I(surface.quads[quad, SIDE])
    bits = _I(1) if y == 0 else _I(0)
    bits |= _I(2) if (x + 1) * pace == far else _I(0)
    bits |= _I(4) if (y + 1) * pace == far else _I(0)
    bits |= _I(8) if x == 0 else _I(0)
    return bits & rims


@device
def beside_box(parts, query, lx, ly, lz, ux, uy, uz):
    """Whether a part is parted from a box by a plane across the line between their middles."""
    b, r, t = query.b, query.r, query.t
    if parts.ints[b, KIND] == HALF_SPACE:
        return False
    c, p = (0.5 * (lx + ux), 0.5 * (ly + uy), 0.5 * (lz + uz)), middle_of(parts, query)
    d = sub(p, c)
    length = math.sqrt(norm2(d))
    if not length > 0.0:
        return False
    n = (d[0] / length, d[1] / length, d[2] / length)
    reach = 0.5 * (abs(n[0]) * (ux - lx) + abs(n[1]) * (uy - ly) + abs(n[2]) * (uz - lz))
    low, _high = heights(parts, b, r, t, n)
    return low - dot(n, c) > reach + HEIGHT_SLACK * (abs(low) + reach)


@device
def out_of_reach_by(query, space, points, slab, more):
    """`out_of_reach` for eight points whose hull holds all but `more`."""
    best = space.result[BEST]
    lx, ly, lz, ux, uy, uz = box_of(points, 8)
    if box_out_of_reach(query, space.box, best, lx - more, ly - more, lz - more, ux + more, uy + more, uz + more):
        return True
    return heights_apart(points, 8, slab[0], slab[1], slab[2], more + (best if query.mode == DISTANCE else 0.0))


@device
def volume_met(parts, query, space, more):
    """(whether a part, rounded off by `more`, meets the hull of eight points, the direction that parts it from them)."""
    a, b, r, t, _m, _mode = query
    o = set_points(parts, a, space.points, 8)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    parts.reals[a, RADIUS] = more
    status, v = pair_intersects(parts, a, b, r, at, center_axis(parts, a, b, r, at))
    parts.reals[a, RADIUS] = 0.0
    length = math.sqrt(norm2(v))
    if status != SEPARATED or not length > 0.0:
        return True, (0.0, 0.0, 0.0)
    return False, (-v[0] / length, -v[1] / length, -v[2] / length)


@device
def bottom_along(surface, quad, rims, d):
    """How far the ways to the ends of a quad's columns lead along d at most; where it has sides they begin at the sheet."""
    most = 0.0 if rims != 0 else -math.inf
    first, deep = _I(surface.quads[quad, FIRST]), -surface.thickness
    for k in range(first, first + _I(surface.quads[quad, COUNT])):
        for i in range(3 if surface.primitives[k, V3] < 0 else 4):
            v = surface.primitives[k, i]
            most = max(
                most, deep * (d[0] * surface.vertices[v, 3] + d[1] * surface.vertices[v, 4] + d[2] * surface.vertices[v, 5])
            )
    return most


@device
def primitive_below(surface, k, rims, d, low):
    """Whether the bottom of a primitive's ground, and its sides, stay below height `low` along d. What lies at length l over
    the primitive is in the hull of its vertices moved by l."""
    deep = surface.thickness
    most = -math.inf
    for i in range(3 if surface.primitives[k, V3] < 0 else 4):
        v = surface.primitives[k, i]
        p = d[0] * surface.vertices[v, 0] + d[1] * surface.vertices[v, 1] + d[2] * surface.vertices[v, 2]
        n = d[0] * surface.vertices[v, 3] + d[1] * surface.vertices[v, 4] + d[2] * surface.vertices[v, 5]
        least, longest = surface.planes[k, LEAST] - deep, surface.planes[k, MOST] - (0.0 if rims != 0 else deep)
        most = max(most, p + max(least * n, longest * n))
    return low > most + HEIGHT_SLACK * (abs(most) + abs(low))


@device
def below_part(points, d, fall, low):
    """Whether what lies below eight points, by ways that lead along d by at most `fall`, stays below height `low` along d."""
    most = -math.inf
    for k in range(8):
        most = max(most, d[0] * points[k, 0] + d[1] * points[k, 1] + d[2] * points[k, 2])
    return low > most + fall + HEIGHT_SLACK * (abs(most) + abs(fall) + abs(low))


@kernel(inner="surface, parts, part_query, work_space, i8")
def walk_ground(surface, parts, query, space, count):
    """`walk_part` for bottom and sides: continues from result[BEST] and from what was found before."""
    _a, b, r, t, m, mode = query
    box, cells, points, result = space.box, space.cells, space.points, space.result
    # The direction that parted the part from the last cell, and how low it reaches along it: likely to part it from the next.
    axis, axis_low = (0.0, 0.0, 0.0), -math.inf
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = face_node(surface, k)
        if box_out_of_reach(query, box, result[BEST], lx, ly, lz, ux, uy, uz):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        n, quad = normal_of(surface, item), _I(surface.primitives[item, QUAD])
        rims = sides_in_reach(surface, query, box, result[BEST], item, quad)
        low, high = heights(parts, b, r, t, n)
        rise = dot(n, m) * result[BEST] if mode == CAST else 0.0
        reach = result[BEST] if mode == DISTANCE else 0.0
        if beyond_ground(surface, item, rims, low, high, rise, reach):
            continue
        sides_alone = beyond_ground(surface, item, _I(0), low, high, rise, reach)
        if mode <= GATHER and (
            primitive_below(surface, item, rims, axis, axis_low) or beside_box(parts, query, lx, ly, lz, ux, uy, uz)
        ):
            continue
        shape = outline(surface, item)
        fall = bottom_along(surface, quad, rims, axis)
        depth = push_coarsest(surface, quad, shape, cells)
        while depth > 0:
            depth -= 1
            step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
            finer, pace = step // 2, step * surface.ratio
            sides = sides_of_cell(surface, quad, pace, x, y, rims)
            if sides_alone and sides == 0:
                continue
            if step > 1:
                code, flat = load_cell(surface, quad, step, x, y, points)
                if code != EXTREME:
                    if mode <= GATHER and below_part(points, axis, fall, axis_low):
                        continue
                    more = drop_cell(surface, quad, step, x, y, sides, points)
                    if out_of_reach_by(query, space, points, (n, low + min(rise, 0.0), high + max(rise, 0.0)), more):
                        continue
                    if mode <= GATHER:
                        met, away = volume_met(parts, query, space, more)
                        if not met:
                            axis, axis_low = away, heights(parts, b, r, t, away)[0]
                            fall = bottom_along(surface, quad, rims, axis)
                            continue
                finer >>= flat
            if finer >= 2:
                depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
                continue
            for j in range(y * pace, (y + 1) * pace):
                for i in range(x * pace, (x + 1) * pace):
                    if in_outline(shape, i, j, i + 1, j + 1):
                        count = column_faces(surface, parts, query, space, quad, _I(i), _I(j), sides, count)
                        if mode == MEET and count > 0:
                            return count
    return count


@device
def beside_oriented(r, c, h, lx, ly, lz, ux, uy, uz):
    """Whether a box with axes r, middle c and half sizes h is parted from another by one of its own faces."""
    x, y, z = 0.5 * (lx + ux) - c[0], 0.5 * (ly + uy) - c[1], 0.5 * (lz + uz) - c[2]
    hx, hy, hz = 0.5 * (ux - lx), 0.5 * (uy - ly), 0.5 * (uz - lz)
    for j in range(3):
        off = abs(x * r[j] + y * r[3 + j] + z * r[6 + j])
        reach = h[j] + hx * abs(r[j]) + hy * abs(r[3 + j]) + hz * abs(r[6 + j])
        if off > reach + HEIGHT_SLACK * (off + reach):
            return True
    return False


@device
def node_middle(node_boxes, k):
    """Middle of a node of the tree of a compound."""
    return (
        0.5 * (node_boxes[k, 0] + node_boxes[k, 3]), 0.5 * (node_boxes[k, 1] + node_boxes[k, 4]),
        0.5 * (node_boxes[k, 2] + node_boxes[k, 5]),
    )  # fmt: skip


@device
def heights_of_box(surface, k, r, c, h):
    """Least and greatest height of a box with axes r, middle c and half sizes h along a primitive's normal."""
    n = normal_of(surface, k)
    middle, half = dot(n, c), 0.0
    for j in range(3):
        half += h[j] * abs(n[0] * r[j] + n[1] * r[3 + j] + n[2] * r[6 + j])
    return middle - half, middle + half


@device
def face_near_box(surface, k, r, c, h):
    """Whether a box may come between the planes of bottom and sides of a primitive's ground."""
    low, high = heights_of_box(surface, k, r, c, h)
    return not beyond_ground(surface, k, _I(surface.rim[_I(surface.primitives[k, QUAD])]), low, high, 0.0, 0.0)


@kernel(inner="surface, mat3, vec3, vec3, f8[::1], i8")
def box_near_ground(surface, r, c, h, box, inside):
    """Whether a box with axes r, middle c and half sizes h, and `box` about it, may touch bottom or sides of any primitive's
    ground, or, with `inside`, come near any of it."""
    k = _I(0)
    while k < surface.node_ints.shape[0]:
        lx, ly, lz, ux, uy, uz = ground_node(surface, k) if inside != 0 else face_node(surface, k)
        if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0) or beside_oriented(r, c, h, lx, ly, lz, ux, uy, uz):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        k += 1
        if item < 0:
            continue
        if inside != 0:
            low, high = heights_of_box(surface, item, r, c, h)
            offset = surface.planes[item, OFFSET]
            if low - offset <= surface.planes[item, UPPER] + max(surface.fall[item, 1], 0.0) and (
                high - offset >= surface.planes[item, LOWER] + min(surface.fall[item, 0], 0.0)
            ):
                return True
        elif face_near_box(surface, item, r, c, h):
            return True
    return False


@kernel(inner="surface, query_object, mat3, vec3, f8, i8, f8[::1], i8[::1]")
def near_ground_parts(surface, shape, r, t, margin, inside, box, parts_out):
    """Parts of a compound at (r, t) that may touch bottom or sides or come within `margin`, by the tree over them; with
    `inside` all that may be in the ground. Returns how many."""
    node_boxes, node_ints = shape.node_boxes, shape.node_ints
    count = 0
    k = _I(0)
    while k < node_ints.shape[0]:
        c = node_middle(node_boxes, k)
        h = (node_boxes[k, 3] - c[0] + margin, node_boxes[k, 4] - c[1] + margin, node_boxes[k, 5] - c[2] + margin)
        if not placed_node(node_boxes, k, r, t, margin, box) or box_near_ground(surface, r, transform(r, t, c), h, box, inside):
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


@kernel(inner="surface, parts, part_query, work_space")
def part_inside(surface, parts, query, space):
    """(whether the middle of a part is in the ground, quad, x, y of the patch above, the middle). A part that touches no face
    of the ground is inside as a whole or not at all."""
    p = middle_of(parts, query)
    if parts.ints[query.b, KIND] == HALF_SPACE:
        return False, _I(-1), _I(0), _I(0), p
    inside, quad, x, y, _a, _b, _part = in_ground(surface, p, space)
    return inside, quad, x, y, p


@kernel(inner="surface, parts, part_query, work_space")
def part_in_ground(surface, parts, query, space):
    """Whether a part that touches no patch of the sheet meets the ground. Its box is in `space`."""
    if part_inside(surface, parts, query, space)[0]:
        return True
    space.result[BEST] = 0.0
    return walk_ground(surface, parts, query, space, _I(0)) > 0


@kernel("i8, i8, surface, f8[:,::1], u1[::1]")
def in_ground_rows(start, stop, surface, points, inside_out):
    """Whether each point is in the ground."""
    space = new_work_space(_I(1))
    for row in range(start, stop):
        inside_out[row] = in_ground(surface, (points[row, 0], points[row, 1], points[row, 2]), space)[0]
