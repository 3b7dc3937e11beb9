"""Contacts of a field and a mesh: pairs of a facet of the ground and a triangle of the mesh, for `mesh/manifolds`.

A triangle of the mesh makes pairs with the facets of the prisms that it meets: what is in the ground lies behind them. Corners
deep in the other body are as deep as a ray along the direction says, which may leave through another prism. Everything is in
the grid's frame; (R, t) is the mesh's tree in it.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.bvh.height_tree import DEPTH
from thud.bvh.sort_range import find_key, sort_numbers
from thud.convex.manifold import CORNER
from thud.convex.manifold import FACE as A_FACE
from thud.heightfield.cells import in_ground
from thud.heightfield.facets import (
    FACETS,
    LOWER,
    TOP,
    UNDER,
    at_border,
    beyond_edge,
    edge_ends,
    face_name,
    facet_beyond,
    facet_points,
    facet_there,
    load_field_facet,
    points_of,
    reaches_box,
    wall_normal,
)
from thud.heightfield.manifolds import near_triangles
from thud.heightfield.objects import SHAPE, new_field_space, own_object
from thud.heightfield.prism import triangle_box, widened
from thud.heightfield.rays import ALONG, CROSSING, OUTWARD, TRIANGLE, ray_crossings
from thud.heightfield.rows import is_filled, meets_object, slot_box
from thud.heightfield.walk import box_may_meet, meets_part
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.math.vec3 import sub
from thud.mesh.box_tree import U, load_triangle, place_triangle, tree_pose
from thud.mesh.manifolds.directions import direction
from thud.mesh.manifolds.facet_pairs import (
    add_directions,
    clear_table,
    exit_ray,
    find_pieces,
    give_directions,
    is_first_seen,
    name_pair_points,
    nearest_pair_point,
    pair_points,
    settle_pairs,
    settle_rivals,
    sinks_along,
    sunk_corners,
    takes_only,
)
from thud.mesh.manifolds.facets import VERTICES, facet_corner
from thud.mesh.manifolds.mesh_mesh import facets_beyond, load_facets, note, sort_unique, tree_extent
from thud.mesh.manifolds.mesh_side import own_side
from thud.mesh.manifolds.pair_columns import CROSSES, GAP, GAP_MIDDLE, GAP_NORMAL, OF_A, OF_B, PAIR_REALS
from thud.mesh.manifolds.rows import (
    CONTACT,
    PATCH,
    deepest_contact,
    is_as_deep,
    keep_contacts,
    move_last,
    new_facet_space,
    new_pair_space,
    patch_along,
    put_back,
    put_contacts,
)
from thud.mesh.manifolds.spread import HOW_DEEP, points_apart, put_point, spread_points, thin_points
from thud.mesh.manifolds.tolerances import NEAR_FEATURE, TOUCHING
from thud.mesh.mesh_convex import set_triangle
from thud.mesh.triangle_distance import triangle_gap
from thud.pairing.rows import row_of

_UNTURNED = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)

#: A direction that is along no edge of a grid: whether a point is inside of a closed mesh is asked along it.
_SKEW = (0.36, 0.48, 0.8)


# Pairs --------------------------------------------------------------------------------------------------------------------


@kernel(inner="height_grid, i8, UniTuple(f8, 6), mat3, vec3, field_object, i8, i8, f8, i8, i8[:,::1], f8[:,::1]")
def put_pair(grid, code, box, r, t, other, position, crosses, reach, count, pairs_out, gaps_out):
    """How many pairs there are after that of a facet and a triangle of the mesh, which is left out if it is farther than
    `reach` and not in the ground. box: of the whole mesh; facets out of its reach are left out too."""
    a0, a1, a2 = facet_points(grid, code, box[4])
    if not reaches_box((a0, a1, a2), box):
        return count
    b0, b1, b2 = place_triangle(r, t, load_triangle(other.tree.corners, U(position)))
    gap2, p, q = triangle_gap(a0, a1, a2, b0, b1, b2, math.inf)
    gap = math.sqrt(gap2)
    if crosses == 0 and gap > reach:
        return count
    if count < pairs_out.shape[0]:
        pairs_out[count, OF_A], pairs_out[count, OF_B] = code, position
        # Above the ground, and apart from it.
        pairs_out[count, CROSSES] = 1 if crosses == 1 or gap == 0.0 else 0
        gaps_out[count, GAP] = gap
        d = sub(q, p)
        for c in range(3):
            gaps_out[count, GAP_NORMAL + c] = d[c] / gap if gap > 0.0 else 0.0
            gaps_out[count, GAP_MIDDLE + c] = 0.5 * (p[c] + q[c])
    return count + 1


@kernel(inner="height_grid, field_object, mat3, vec3, UniTuple(f8, 6), f8, field_space, i8[::1], i8[::1], i8[:,::1], f8[:,::1]")
def field_pairs(grid, other, r, t, whole, reach, walk, found, near_out, pairs_out, gaps_out):
    """(How many pairs there are of a facet of the field and a triangle of the mesh that its ground meets, or that comes within
    `reach` of it; how many triangles of the mesh are in the ground, or have a pair); their numbers and closest points, as far
    as they fit. The most that one triangle of the mesh meets may be more than `found` holds: then so many and more. whole: the
    box of the mesh."""
    parts, tree = other.parts, other.tree
    count, triangles = np.int64(0), np.int64(0)
    walk.slots[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        down = tree.child[walk.slots[depth]]
        if down >= 0:
            for lane in range(8):
                child = U(8) * U(down) + U(lane)
                if is_filled(tree, child) and box_may_meet(grid, widened(slot_box(tree, child, r, t), reach)):
                    walk.slots[depth] = child
                    depth += U(1)
            continue
        position = np.int64(-1 - down)
        box = triangle_box(tree.corners, U(position), r, t)
        set_triangle(parts, np.int64(SHAPE), tree.corners, U(position))
        status, _inside = meets_part(grid, parts, r, t, box, walk.stack, np.int64(0), walk.none)
        near = near_triangles(grid, parts, r, t, box, reach, walk, found)
        if near > found.shape[0]:
            return count + near, triangles
        crosses, before = np.int64(0 if status == SEPARATED else 1), count
        for k in range(near):
            end = np.int64(FACETS if at_border(grid, found[k]) else LOWER)
            for s in range(end):
                if facet_there(grid, found[k], s):
                    code = FACETS * found[k] + s
                    count = put_pair(grid, code, whole, r, t, other, position, crosses, reach, count, pairs_out, gaps_out)
        if crosses == 1 or count > before:
            if triangles < near_out.shape[0]:
                near_out[triangles] = position
            triangles += 1
    return count, triangles


# Ground in a closed mesh, and the mesh in the ground -------------------------------------------------------------------------


@kernel(inner="height_grid, i8[::1], i8, mesh_side, mat3, vec3, i8[::1], i8[::1]")
def add_ground_inside(grid, keys, many, side, r, t, queue, seen):
    """Number of facets after those of a layer that lie inside of a closed mesh as a whole; -1 if there is no room. keys: facets
    of the prisms that the mesh crosses, sorted, which are the way in. (R, t): the grid's frame in the mesh's."""
    mask = np.int64(seen.shape[0] - 1)
    for k in range(seen.shape[0]):
        seen[k] = -1
    first, noted, waiting = many, np.int64(0), np.int64(0)
    for k in range(first):
        if k == 0 or keys[k] // FACETS != keys[k - 1] // FACETS:
            note(seen, mask, keys[k] // FACETS)
            noted += 1
            if waiting >= queue.shape[0]:
                return np.int64(-1)
            queue[waiting] = keys[k] // FACETS
            waiting += 1
    skew = rotate(r, _SKEW)
    while waiting > 0:
        waiting -= 1
        at = queue[waiting]
        for e in range(3):
            beyond, _place = beyond_edge(grid, at, e)
            if beyond < 0 or not note(seen, mask, beyond):
                continue
            noted += 1
            if 2 * noted > seen.shape[0] or waiting >= queue.shape[0]:
                return np.int64(-1)
            p, q, o = points_of(grid, beyond)
            middle = ((p[0] + q[0] + o[0]) / 3.0, (p[1] + q[1] + o[1]) / 3.0, (p[2] + q[2] + o[2]) / 3.0)
            deep, _face = exit_ray(side.wide, side.turned, transform(r, t, middle), skew, math.inf, side.rays)
            if not deep > 0.0:
                continue
            for s in range(FACETS):
                if facet_there(grid, beyond, s):
                    if many >= keys.shape[0]:
                        return np.int64(-1)
                    keys[many] = FACETS * beyond + s
                    many += 1
            queue[waiting] = beyond
            waiting += 1
    return sort_unique(keys, many) if many > first else many


@device
def left_facet(grid, events):
    """The facet of the ground that a ray leaves it through."""
    number, z = np.int64(events[0, TRIANGLE]), events[0, OUTWARD + 2]
    if z != 0.0:
        return FACETS * number + (TOP if z > 0.0 else UNDER)
    best, at = -math.inf, 0
    for e in range(3):
        tail, head = edge_ends(points_of(grid, number), e)
        m = wall_normal(tail, head)
        along = (m[0] * events[0, OUTWARD] + m[1] * events[0, OUTWARD + 1]) / math.sqrt(m[0] * m[0] + m[1] * m[1])
        if along > best:
            best, at = along, e
    return FACETS * number + LOWER + 2 * at


@kernel(inner="height_grid, f8[:,::1], i8[:,::1], i8, i8, vec3, f8, i8[::1], i8, f8[:,::1], f8[:,::1], i8")
def corners_in_ground(grid, facets, ints, many, d, n, size, seen, mask, events, points, count):
    """Points noted after the corners of the mesh's facets that belong to direction d and lie in the ground, as deep as that is
    above them along n. seen: table of the corners of this row that were looked at, for one direction each."""
    for k in range(many):
        if not sinks_along(facets, ints, k, d, n):
            continue
        for c in range(3):
            vertex = ints[k, VERTICES + c]
            p = facet_corner(facets, k, c)
            if not is_first_seen(seen, mask, 2 * vertex + 1) or not in_ground(grid, p):
                continue
            if ray_crossings(grid, p, n, math.inf, np.int64(1), events) == 0:
                continue
            deep, code = events[0, ALONG], left_facet(grid, events)
            if deep > 0.0:
                middle = (p[0] + 0.5 * deep * n[0], p[1] + 0.5 * deep * n[1], p[2] + 0.5 * deep * n[2])
                ground, own = A_FACE + np.float64(face_name(code)), CORNER + np.float64(vertex)
                count = put_point(points, count, middle, deep, ground, own, -1 - code // FACETS, k)
                if count == points.shape[0]:
                    count = thin_points(points, count, n, size)
    return count


# Rows ---------------------------------------------------------------------------------------------------------------------


@device
def load_ground_facets(grid, keys, many, low, facets, ints):
    """How many of the facets have a normal: those are loaded, their keys in front."""
    kept = np.int64(0)
    for k in range(many):
        if load_field_facet(grid, keys[k], low, _UNTURNED, (0.0, 0.0, 0.0), facets, ints, kept):
            keys[kept] = keys[k]
            kept += 1
    return kept


@kernel(
    inner="i8, height_grid, field_object, mesh_side, f8[:,::1], f8[:,::1], f8, i8, i8, field_space, f8[:,::1], facet_space,"
    " pair_space, manifold_rows"
)
def field_row_contacts(row, grid, other, side, poses_f, poses_o, margin, limit, before, walk, events, space, more, out):
    """Contacts of one row. Returns how many facets there must be room for. before: contacts that the row has already, of what
    overlaps; then those of what is apart are added."""
    tree, edges, pairs, gaps = other.tree, side.edges, more.pairs, more.gaps
    size, o = tree_extent(tree), (tree.origin[0], tree.origin[1], tree.origin[2])
    row_f = row_of(poses_f, row)
    r, t = tree_pose(poses_f, row_f, poses_o, row_of(poses_o, row), grid.origin, tree.origin)
    reach = max(margin, TOUCHING * (size + abs(t[0]) + abs(t[1]) + abs(t[2])))
    whole = widened(slot_box(tree, U(0), r, t), reach)
    out.counts[row] = before
    status = meets_object(grid, other, r, t, walk)
    if before == 0:
        out.status[row] = status
    number, many_b = field_pairs(grid, other, r, t, whole, reach, walk, more.queue, more.keys, pairs, gaps)
    needed = max(number, many_b)
    if needed > pairs.shape[0] or number == 0:
        return needed
    for k in range(number):
        space.keys[k] = pairs[k, OF_A]
    sort_numbers(more.keys, np.int64(0), many_b)
    many_a = sort_unique(space.keys, number)
    # The mesh's frame in the grid's, and the other way round.
    shift = rotate(r, o)
    mesh_in = (t[0] - shift[0], t[1] - shift[1], t[2] - shift[2])
    sinks = status == OVERLAPPING and before == 0
    holds = side.closed == 1 and sinks
    if holds and grid.numbers[DEPTH] < math.inf:
        # Ground without end leaves the mesh downwards: it is crossed.
        rt = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
        back = rotate(rt, (-mesh_in[0], -mesh_in[1], -mesh_in[2]))
        many_a = add_ground_inside(grid, space.keys, many_a, side, rt, back, more.queue, more.seen)
        if many_a < 0:
            # How many there are is not known: the next try has room for much more.
            return np.int64(8 * space.keys.shape[0])
    many_a = load_ground_facets(grid, space.keys, many_a, whole[4], space.facets, space.ints)
    many_b = load_facets(tree, edges, more.keys, many_b, r, t, more.facets, more.ints)
    kept = np.int64(0)
    for k in range(number):
        a, b = find_key(space.keys, many_a, pairs[k, OF_A]), find_key(more.keys, many_b, pairs[k, OF_B])
        if a >= 0 and b >= 0:
            pairs[kept, OF_A], pairs[kept, OF_B], pairs[kept, CROSSES] = a, b, pairs[k, CROSSES]
            for c in range(PAIR_REALS):
                gaps[kept, c] = gaps[k, c]
            kept += 1
    for k in range(many_a):
        for e in range(3):
            at = facet_beyond(grid, space.keys[k], e)
            more.beyond[k, e] = find_key(space.keys, many_a, at) if at >= 0 else np.int64(-1)
    find_pieces(space.facets, more.beyond, many_a, more.queue)
    facets_beyond(edges, more.keys, many_b, more.beyond)
    find_pieces(more.facets, more.beyond, many_b, more.queue)
    count = add_directions(space.facets, many_a, 1.0, space.directions, np.int64(0))
    settle_rivals(space.facets, many_a, more.facets, many_b, size, space.directions, count)
    count = add_directions(more.facets, many_b, -1.0, space.directions, count)
    count = settle_pairs(space.facets, many_a, more.facets, many_b, pairs, gaps, kept, size, space.directions, count)
    mask = np.int64(0)
    if sinks:
        give_directions(space.facets, space.ints, many_a, space.directions, count, 1.0)
        give_directions(more.facets, more.ints, many_b, space.directions, count, -1.0)
        mask = clear_table(more.seen, many_a + many_b)
    rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
    tf = transform(rf, tf, (grid.origin[0], grid.origin[1], grid.origin[2]))
    filled, patch, deepest = before, np.int64(0), -math.inf
    for k in range(before):
        patch = max(patch, np.int64(out.contacts[row, k, PATCH]) + 1)
    for d in range(count):
        n = direction(space.directions, d)
        points = pair_points(
            space.facets, space.ints, more.facets, more.ints, pairs, gaps, kept, np.int64(d), n, reach, size,
            space.polygons, space.points,
        )  # fmt: skip
        if before > 0:
            points = points_apart(space.points, points, TOUCHING * size)
        elif sinks and (points > 0 or takes_only(space.directions, d)):
            points = corners_in_ground(
                grid, more.facets, more.ints, many_b, np.int64(d), n, size, more.seen, mask, events, space.points, points
            )
            if holds:
                points = sunk_corners(
                    space.facets, space.ints, many_a, np.int64(d), n, -1.0, side, r, mesh_in, size, more.seen, mask,
                    space.points, points,
                )  # fmt: skip
        points = spread_points(space.points, points, n, limit, size)
        name_pair_points(space.facets, space.ints, more.facets, more.ints, space.points, points, n, NEAR_FEATURE * size)
        for k in range(points):
            deepest = max(deepest, space.points[k, HOW_DEEP])
        own, behind, there = patch_along(out.contacts, row, filled, rotate(rf, n)) if before > 0 else (-1.0, filled, 0)
        points = min(points, limit - there)
        if points > 0:
            filled = put_contacts(out, row, filled, space, d, points, patch, rf, tf, margin, more.ints, True)
            if own >= 0.0:
                move_last(out.contacts, row, filled, points, behind)
            else:
                patch += 1
    if deepest < 0.0 and before == 0:
        points = nearest_pair_point(
            space.facets, space.ints, more.facets, more.ints, pairs, gaps, kept, deepest, reach, space.directions,
            space.points,
            size,
        )  # fmt: skip
        filled = put_contacts(out, row, filled, space, 0, points, patch, rf, tf, margin, more.ints, True)
    out.counts[row] = filled
    return needed


@kernel("i8, i8, height_grid, field_object, mesh_side, f8[:,::1], f8[:,::1], f8, f8, i8, i8, manifold_rows")
def field_mesh_contact_rows(start, stop, grid, other, side, poses_f, poses_o, margin, sure, limit, room, out):
    """Contacts of each row of a field and a mesh, world frame, normal from the ground to the mesh. What is near must not change
    how deep they overlap: as in `mesh_contact_rows`."""
    other, side, walk = own_object(other), own_side(side), new_field_space()
    space, more, events = new_facet_space(room, np.int64(8)), new_pair_space(room), np.empty((1, CROSSING))
    spare = np.empty((out.contacts.shape[1], CONTACT))
    for row in range(start, stop):
        out.needed[row], reach, before, kept, deep = 0, margin, np.int64(0), np.int64(0), 0.0
        while True:
            needed = field_row_contacts(
                row, grid, other, side, poses_f, poses_o, reach, limit, before, walk, events, space, more, out
            )
            out.needed[row] = max(out.needed[row], needed)
            if needed > more.pairs.shape[0] or before > 0 or margin == 0.0:
                break
            if reach > 0.0:
                deep = deepest_contact(out, row)
                if not deep > sure:
                    break
                # The same without a margin.
                kept, reach = out.counts[row], 0.0
                keep_contacts(out.contacts, row, kept, spare)
            elif out.counts[row] == 0 or is_as_deep(deep, deepest_contact(out, row)):
                put_back(spare, kept, out, row)
                break
            else:
                reach, before = margin, out.counts[row]
