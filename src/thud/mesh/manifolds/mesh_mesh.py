"""Rows of contacts of two meshes. Everything is in the frame of A's tree; (R, t) is B's tree in it."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, lowest_bit
from thud._core.status import OVERLAPPING, SEPARATED
from thud.bvh.sort_range import find_key, sort_numbers
from thud.constants import TOUCH
from thud.math.pose import load_rotation, load_translation, rotate, transform, untransform
from thud.math.vec3 import cross, dot, norm2, sub
from thud.mesh.box_tree import F, U, box_query, load_slot, load_triangle, pair_frames, pair_size, place_triangle, tree_pose
from thud.mesh.manifolds.directions import by_depth, direction
from thud.mesh.manifolds.facet_pairs import (
    add_directions,
    area_normal,
    clear_table,
    exit_ray,
    find_pieces,
    give_directions,
    name_pair_points,
    nearest_pair_point,
    pair_points,
    settle_pairs,
    settle_rivals,
    sunk_corners,
    takes_only,
)
from thud.mesh.manifolds.facets import WAY_OUT, WITNESSED, turn_facet
from thud.mesh.manifolds.mesh_convex import is_behind, load_facet
from thud.mesh.manifolds.mesh_side import own_side
from thud.mesh.manifolds.pair_columns import CROSSES, GAP, GAP_MIDDLE, GAP_NORMAL, OF_A, OF_B, PAIR_INTS, PAIR_REALS
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
from thud.mesh.manifolds.spread import HOW_DEEP, points_apart, spread_points
from thud.mesh.manifolds.tolerances import AMPLE, BEHIND, CLOSER, DEEPER, FEW_PAIRS, NEAR_FEATURE, TOUCHING
from thud.mesh.tolerances import BOX_SLACK
from thud.mesh.trees import new_walk_space
from thud.mesh.triangle_distance import triangle_gap
from thud.mesh.triangle_triangle import triangles_meet
from thud.pairing.rows import row_of

_UNTURNED = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@device
def plane_parts(a0, a1, a2, b0, b1, b2, reach):
    """Whether triangle b is farther than `reach` from triangle a, along the normal of a, whatever roundoff makes of that."""
    e1, e2 = sub(a1, a0), sub(a2, a0)
    n = cross(e1, e2)
    h0, h1, h2 = dot(n, sub(b0, a0)), dot(n, sub(b1, a0)), dot(n, sub(b2, a0))
    near = min(abs(h0), min(abs(h1), abs(h2))) - max(abs(dot(n, e1)), abs(dot(n, e2)))
    one_side = (h0 > 0.0) == (h1 > 0.0) and (h1 > 0.0) == (h2 > 0.0)
    return one_side and near > 0.0 and near * near > (1.0 + 1e-12) * reach * reach * norm2(n)


@device
def drop_farther(pairs, gaps, number, reach):
    """How many pairs are left within a smaller reach."""
    kept = np.int64(0)
    for k in range(number):
        if gaps[k, GAP] <= reach:
            for c in range(PAIR_INTS):
                pairs[kept, c] = pairs[k, c]
            for c in range(PAIR_REALS):
                gaps[kept, c] = gaps[k, c]
            kept += 1
    return kept


@kernel(inner="box_tree, box_tree, mat3, vec3, f8, i8, walk_space, i8[:,::1], f8[:,::1]")
def reached_pairs(tree_a, tree_b, r, t, reach, most, space, pairs_out, gaps_out):
    """How many pairs of triangles meet or come within `reach` of each other; their tree positions and closest points, as far as
    they fit. Where they are more than `most`, the reach is made smaller, but not below what is nearest: the walk goes on with
    it, and those found that are farther are dropped. Where that helps little, more are taken."""
    stack, metric = space.stack, space.lanes
    size = pair_size(tree_a, tree_b, t)
    touch, slack = TOUCH * size, F(BOX_SLACK * size + reach)
    b_in_a, a_in_b = pair_frames(r, t)
    found, nearest = np.int64(0), math.inf
    stack[0], stack[1], depth = U(0), U(0), U(2)
    while depth > U(0):
        depth -= U(2)
        i, j = stack[depth], stack[depth + U(1)]
        down_a, down_b = tree_a.child[i], tree_b.child[j]
        if down_a < 0 and down_b < 0:
            a0, a1, a2 = load_triangle(tree_a.corners, U(-1 - down_a))
            b0, b1, b2 = place_triangle(r, t, load_triangle(tree_b.corners, U(-1 - down_b)))
            crosses = triangles_meet(a0, a1, a2, b0, b1, b2, touch)
            gap, p, q = 0.0, a0, a0
            if not crosses:
                # Most that do not meet are apart along a normal: that is cheaper to see than how near they are.
                if plane_parts(a0, a1, a2, b0, b1, b2, reach) or plane_parts(b0, b1, b2, a0, a1, a2, reach):
                    continue
                limit = reach * reach * (1.0 + 1e-12)
                gap2, p, q = triangle_gap(a0, a1, a2, b0, b1, b2, limit)
                if not gap2 < limit:
                    continue
                gap = math.sqrt(gap2)
            if found < pairs_out.shape[0]:
                pairs_out[found, OF_A], pairs_out[found, OF_B] = -1 - down_a, -1 - down_b
                pairs_out[found, CROSSES] = 1 if crosses else 0
                gaps_out[found, GAP] = gap
                d = sub(q, p)
                for c in range(3):
                    gaps_out[found, GAP_NORMAL + c] = d[c] / gap if gap > 0.0 else 0.0
                    gaps_out[found, GAP_MIDDLE + c] = 0.5 * (p[c] + q[c])
            nearest = min(nearest, gap)
            found += 1
            if found > most and found <= pairs_out.shape[0]:
                reach = min(reach, max(CLOSER * reach, nearest + touch))
                slack = F(BOX_SLACK * size + reach)
                found = drop_farther(pairs_out, gaps_out, found, reach)
                most = 2 * most if 2 * found > most else most
            continue
        a, b = load_slot(tree_a.boxes, i), load_slot(tree_b.boxes, j)
        open_a = down_b < 0 or (down_a >= 0 and a[3] + a[4] + a[5] >= b[3] + b[4] + b[5])
        if open_a:
            meet = boxes_meet8(tree_a.boxes, U(48) * U(down_a), box_query(a_in_b, b, slack), metric)
            base = U(8) * U(down_a)
        else:
            meet = boxes_meet8(tree_b.boxes, U(48) * U(down_b), box_query(b_in_a, a, slack), metric)
            base = U(8) * U(down_b)
        while meet != 0:
            lane = lowest_bit(meet)
            meet &= meet - np.uint32(1)
            stack[depth], stack[depth + U(1)] = (base + lane, j) if open_a else (i, base + lane)
            depth += U(2)
    return found


@device
def sort_unique(keys, count):
    """How many different numbers there are, sorted in front."""
    sort_numbers(keys, np.int64(0), count)
    many = np.int64(0)
    for k in range(count):
        if many == 0 or keys[k] != keys[many - 1]:
            keys[many] = keys[k]
            many += 1
    return many


@device
def note(seen, mask, number):
    """Put a number into the table; False if it was there."""
    place = (number * 2654435761) & mask
    while seen[place] >= 0:
        if seen[place] == number:
            return False
        place = (place + 1) & mask
    seen[place] = number
    return True


@device
def is_noted(seen, mask, number):
    """Whether a number is in the table."""
    place = (number * 2654435761) & mask
    while seen[place] >= 0:
        if seen[place] == number:
            return True
        place = (place + 1) & mask
    return False


@device
def different(pairs, number, column, keys_out, seen):
    """How many different triangles there are in a column of the pairs, sorted."""
    mask, many = clear_table(seen, number), np.int64(0)
    for k in range(number):
        if note(seen, mask, pairs[k, column]):
            keys_out[many] = pairs[k, column]
            many += 1
    sort_numbers(keys_out, np.int64(0), many)
    return many


@kernel(inner="i8[:,::1], f8[:,::1], i8, i8[::1], i8, i8[::1], i8, i8[:,::1], i8[:,::1]")
def number_facets(pairs, gaps, number, keys_a, many_a, keys_b, many_b, ints_a, ints_b):
    """How many pairs are of two facets, which are marked; triangles in them become numbers of facets."""
    kept, a, b, of_a, of_b = np.int64(0), np.int64(-1), np.int64(-1), np.int64(-1), np.int64(-1)
    for k in range(number):
        # A walk finds the pairs of one triangle in a row.
        if pairs[k, OF_A] != of_a:
            of_a = pairs[k, OF_A]
            a = find_key(keys_a, many_a, of_a)
        if pairs[k, OF_B] != of_b:
            of_b = pairs[k, OF_B]
            b = find_key(keys_b, many_b, of_b)
        if a >= 0 and b >= 0:
            pairs[kept, OF_A], pairs[kept, OF_B], pairs[kept, CROSSES] = a, b, pairs[k, CROSSES]
            for c in range(PAIR_REALS):
                gaps[kept, c] = gaps[k, c]
            ints_a[a, WITNESSED], ints_b[b, WITNESSED] = 1, 1
            kept += 1
    return kept


@device
def swap_pairs(pairs, gaps, i, j):
    """Let two pairs change places."""
    for c in range(PAIR_INTS):
        pairs[i, c], pairs[j, c] = pairs[j, c], pairs[i, c]
    for c in range(PAIR_REALS):
        gaps[i, c], gaps[j, c] = gaps[j, c], gaps[i, c]


@kernel(inner="i8[:,::1], f8[:,::1], i8, f8[:,::1], i8, f8[:,::1], i8, f8")
def nearest_first(pairs, gaps, number, facets_a, many_a, facets_b, many_b, size):
    """Pairs that cross and those that are the nearest of a facet, with all that are as near, to the front; returns how many."""
    for k in range(many_a):
        facets_a[k, WAY_OUT] = math.inf
    for k in range(many_b):
        facets_b[k, WAY_OUT] = math.inf
    for k in range(number):
        a, b = pairs[k, OF_A], pairs[k, OF_B]
        facets_a[a, WAY_OUT] = min(facets_a[a, WAY_OUT], gaps[k, GAP])
        facets_b[b, WAY_OUT] = min(facets_b[b, WAY_OUT], gaps[k, GAP])
    front = np.int64(0)
    for k in range(number):
        a, b = pairs[k, OF_A], pairs[k, OF_B]
        if gaps[k, GAP] <= max(facets_a[a, WAY_OUT], facets_b[b, WAY_OUT]) + DEEPER * size:
            swap_pairs(pairs, gaps, front, k)
            front += 1
    return front


@device
def within_first(pairs, gaps, front, number, reach):
    """Pairs within reach to those in front; returns how many there are now."""
    for k in range(front, number):
        if gaps[k, GAP] <= reach:
            swap_pairs(pairs, gaps, front, k)
            front += 1
    return front


@device
def middle_of(tree, position):
    """The middle of a triangle, in its tree's frame."""
    a, b, c = load_triangle(tree.corners, U(position))
    return (a[0] + b[0] + c[0]) / 3.0, (a[1] + b[1] + c[1]) / 3.0, (a[2] + b[2] + c[2]) / 3.0


@device
def tree_extent(tree):
    """Sum of the half extents of a mesh's box."""
    root = load_slot(tree.boxes, U(0))
    return np.float64(root[3] + root[4] + root[5])


@kernel(inner="box_tree, mesh_edges, i8[::1], i8, i8[:,::1], i8, i8, mesh_side, mat3, vec3, i8[::1], i8[::1], i8")
def flood(tree, edges, keys, many, pairs, number, column, other, r, t, queue, seen, slots):
    """Number of facets after those that the crossing ones, of column `column` of the pairs, cut off inside the other body,
    which is closed; -1 if there is no room, -2 if the table of `slots` numbers is too small. keys: tree positions. (R, t):
    this tree's frame in the other mesh's."""
    mask = slots - 1
    for k in range(slots):
        seen[k] = -1
    first = many
    # The crossing ones bound the flood, those near do not.
    for k in range(number):
        if pairs[k, CROSSES] == 1:
            note(seen, mask, pairs[k, column])
    skew = rotate(r, (0.36, 0.48, 0.8))
    farthest = math.inf if other.closed == 1 else 2.0 * tree_extent(tree)
    for start in range(number):
        if pairs[start, CROSSES] == 0:
            continue
        # Of a closed body any ray tells what is inside. Of an open one what lies below the triangle that is crossed, along its
        # normal.
        a, b, c = load_triangle(other.tree.corners, U(pairs[start, 1 - column]))
        m = cross(sub(b, a), sub(c, a))
        length = math.sqrt(norm2(m))
        if not length > 0.0:
            continue
        up = skew if other.closed == 1 else (m[0] / length, m[1] / length, m[2] / length)
        o = (other.tree.origin[0], other.tree.origin[1], other.tree.origin[2])
        for e in range(3):
            beyond = np.int64(edges.beyond[pairs[start, column], e])
            if beyond < 0 or is_noted(seen, mask, beyond):
                continue
            middle = transform(r, t, middle_of(tree, beyond))
            if other.closed == 0 and dot(up, sub(middle, (a[0] + o[0], a[1] + o[1], a[2] + o[2]))) >= 0.0:
                continue
            note(seen, mask, beyond)
            if 2 * (many + number) > slots:
                return np.int64(-2)
            deep, _face = exit_ray(other.wide, other.turned, middle, up, farthest, other.rays)
            if not deep > 0.0:
                continue
            queue[0], waiting = beyond, np.int64(1)
            while waiting > 0:
                waiting -= 1
                at = queue[waiting]
                if many >= keys.shape[0]:
                    return np.int64(-1)
                keys[many] = at
                many += 1
                for f in range(3):
                    after = np.int64(edges.beyond[at, f])
                    if after < 0 or not note(seen, mask, after):
                        continue
                    if 2 * (many + number + waiting) > slots:
                        return np.int64(-2)
                    if other.closed == 0:
                        middle = transform(r, t, middle_of(tree, after))
                        deep, _face = exit_ray(other.wide, other.turned, middle, up, farthest, other.rays)
                        if not deep > 0.0:
                            continue
                    if waiting >= queue.shape[0]:
                        return np.int64(-1)
                    queue[waiting] = after
                    waiting += 1
    # Some of those near are among them.
    return sort_unique(keys, many) if many > first else many


@device
def add_sunk(tree, edges, keys, many, pairs, number, column, other, r, t, queue, seen):
    """The same with as large a table as it takes; -1 if there is no room."""
    slots = np.int64(256)
    while slots < 8 * number and 2 * slots <= seen.shape[0]:
        slots *= 2
    while True:
        found = flood(tree, edges, keys, many, pairs, number, column, other, r, t, queue, seen, slots)
        if found != -2 or 8 * slots > seen.shape[0]:
            return found if found >= 0 else np.int64(-1)
        slots *= 8


@device
def mean_extent(facets_a, many_a, facets_b, many_b):
    """Length that a triangle of the two surfaces has on the average."""
    total = 0.0
    for k in range(many_a):
        total += math.sqrt(math.sqrt(norm2(area_normal(facets_a, k))))
    for k in range(many_b):
        total += math.sqrt(math.sqrt(norm2(area_normal(facets_b, k))))
    return total / max(many_a + many_b, 1)


@device
def load_facets(tree, edges, keys, many, r, t, facets, ints):
    """How many of the triangles have a normal: those are the facets, their keys in front."""
    kept = np.int64(0)
    for k in range(many):
        if load_facet(tree, edges, keys[k], r, t, facets, ints, kept, edges.turned[0] == 1):
            keys[kept] = keys[k]
            kept += 1
    return kept


@device
def facets_beyond(edges, keys, many, beyond_out):
    """Which facet is beyond each edge of each facet, -1 for none."""
    for k in range(many):
        for e in range(3):
            at = np.int64(edges.beyond[keys[k], e])
            beyond_out[k, e] = find_key(keys, many, at) if at >= 0 else np.int64(-1)


@device
def turn_open(side_a, side_b, former_a, former_b, row, space, many_a, more, many_b):
    """Facets of open meshes face the middle of where the other body was."""
    row_a, row_b = row_of(former_a, row), row_of(former_b, row)
    tree_a, tree_b = side_a.tree, side_b.tree
    r, t = tree_pose(former_a, row_a, former_b, row_b, tree_a.origin, tree_b.origin)
    if side_a.closed == 0:
        for k in range(many_a):
            if is_behind(tree_a, space.keys[k], t):
                turn_facet(space.facets, space.ints, k)
    if side_b.closed == 0:
        middle = untransform(r, t, (0.0, 0.0, 0.0))
        for k in range(many_b):
            if is_behind(tree_b, more.keys[k], middle):
                turn_facet(more.facets, more.ints, k)


@kernel(
    inner="i8, mesh_side, mesh_side, mat3, vec3, vec3, mat3, vec3, i8, i8, i8, f8, f8, f8, f8, i8, b1, b1, i8, facet_space,"
    " pair_space, manifold_rows"
)
def put_patches(
    row, side_a, side_b, r, t, b_in_a, ra, ta, many_a, many_b, kept, reach, margin, size, near, limit, sinks_a, sinks_b, before,
    space, more, out,
):  # fmt: skip
    """(number of contacts, greatest depth) of a row, from the first `kept` pairs of facets and the corners that are inside of
    the other body. (ra, ta): the frame of A's tree in the world. before: contacts that the row has already, of what overlaps;
    then those of what is apart are added."""
    pairs, gaps = more.pairs, more.gaps
    o_a = (side_a.tree.origin[0], side_a.tree.origin[1], side_a.tree.origin[2])
    count = add_directions(space.facets, many_a, 1.0, space.directions, np.int64(0))
    settle_rivals(space.facets, many_a, more.facets, many_b, size, space.directions, count)
    count = add_directions(more.facets, many_b, -1.0, space.directions, count)
    count = settle_pairs(space.facets, many_a, more.facets, many_b, pairs, gaps, kept, size, space.directions, count)
    give_directions(space.facets, space.ints, many_a, space.directions, count, 1.0)
    give_directions(more.facets, more.ints, many_b, space.directions, count, -1.0)
    mask = clear_table(more.seen, many_a + many_b)
    filled, patch, deepest = before, np.int64(0), -math.inf
    for k in range(before):
        patch = max(patch, np.int64(out.contacts[row, k, PATCH]) + 1)
    for place in range(count):
        # In an order that is the same with the two bodies swapped.
        d = by_depth(space.directions, count, place)
        n = direction(space.directions, d)
        points = pair_points(
            space.facets, space.ints, more.facets, more.ints, pairs, gaps, kept, np.int64(d), n, reach, size,
            space.polygons, space.points,
        )  # fmt: skip
        if before > 0:
            points = points_apart(space.points, points, TOUCHING * size)
        elif (points > 0 or takes_only(space.directions, d)) and out.status[row] == OVERLAPPING:
            if sinks_a:
                away = (-o_a[0], -o_a[1], -o_a[2])
                points = sunk_corners(
                    more.facets, more.ints, many_b, np.int64(d), n, 1.0, side_a, _UNTURNED, away, size, more.seen, mask,
                    space.points, points,
                )  # fmt: skip
            if sinks_b:
                points = sunk_corners(
                    space.facets, space.ints, many_a, np.int64(d), n, -1.0, side_b, r, b_in_a, size, more.seen, mask,
                    space.points, points,
                )  # fmt: skip
        points = spread_points(space.points, points, n, limit, size)
        name_pair_points(space.facets, space.ints, more.facets, more.ints, space.points, points, n, near)
        for k in range(points):
            deepest = max(deepest, space.points[k, HOW_DEEP])
        own, behind, there = patch_along(out.contacts, row, filled, rotate(ra, n)) if before > 0 else (-1.0, filled, 0)
        points = min(points, limit - there)
        if points > 0:
            filled = put_contacts(out, row, filled, space, d, points, patch, ra, ta, margin, more.ints, True)
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
        filled = put_contacts(out, row, filled, space, 0, points, patch, ra, ta, margin, more.ints, True)
    return filled, deepest


@kernel(
    inner="i8, mesh_side, mesh_side, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, i8, f8, i8, walk_space,"
    " facet_space, pair_space, manifold_rows"
)
def row_contacts(
    row, side_a, side_b, poses_a, poses_b, former_a, former_b, margin, limit, enough, look, before, walk, space, more, out,
):  # fmt: skip
    """Contacts of one row, world frame, normal from A to B. Returns (0, or how many facets there must be room for; how far
    apart pairs are worth looking at: triangles that lie behind each other by no more than they are deep). enough: where there
    are more pairs within the margin it is made smaller. look: how far pairs are looked at in any case. before: contacts that
    the row has already, of what overlaps; then those of what is apart are added."""
    tree_a, tree_b, edges_a, edges_b = side_a.tree, side_b.tree, side_a.edges, side_b.edges
    row_a, row_b = row_of(poses_a, row), row_of(poses_b, row)
    r, t = tree_pose(poses_a, row_a, poses_b, row_b, tree_a.origin, tree_b.origin)
    size = pair_size(tree_a, tree_b, t)
    reach = max(margin, TOUCHING * size)
    o_a = (tree_a.origin[0], tree_a.origin[1], tree_a.origin[2])
    o_b = (tree_b.origin[0], tree_b.origin[1], tree_b.origin[2])
    pairs, gaps = more.pairs, more.gaps
    near = NEAR_FEATURE * min(tree_extent(tree_a), tree_extent(tree_b))
    number = reached_pairs(tree_a, tree_b, r, t, max(reach, look), enough, walk, pairs, gaps)
    out.counts[row] = before
    if before == 0:
        out.status[row] = SEPARATED
    if number > pairs.shape[0] or number == 0:
        return number, 0.0
    for k in range(number):
        if pairs[k, CROSSES] == 1:
            out.status[row] = OVERLAPPING
    many_a = different(pairs, number, OF_A, space.keys, more.seen)
    many_b = different(pairs, number, OF_B, more.keys, more.seen)
    # B's mesh in the frame of A's tree, and A's tree in B's mesh.
    shift = rotate(r, o_b)
    b_in_a = (t[0] - shift[0], t[1] - shift[1], t[2] - shift[2])
    # What a closed body lets in, and what of a closed one is behind an open one.
    known = former_a.shape[0] == 0
    sinks_b = before == 0 and (side_b.closed == 1 or (side_a.closed == 1 and known))
    sinks_a = before == 0 and (side_a.closed == 1 or (side_b.closed == 1 and known))
    if sinks_b and out.status[row] == OVERLAPPING:
        rt = (r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8])
        back = rotate(rt, (-b_in_a[0], -b_in_a[1], -b_in_a[2]))
        many_a = add_sunk(
            tree_a, edges_a, space.keys, many_a, pairs, number, np.int64(OF_A), side_b, rt, back, more.queue, more.seen
        )
    if sinks_a and out.status[row] == OVERLAPPING and many_a >= 0:
        b_in_mesh = (t[0] + o_a[0], t[1] + o_a[1], t[2] + o_a[2])
        many_b = add_sunk(
            tree_b, edges_b, more.keys, many_b, pairs, number, np.int64(OF_B), side_a, r, b_in_mesh, more.queue, more.seen
        )
    if many_a < 0 or many_b < 0:
        # How many there are is not known: the next try has room for much more.
        return np.int64(8 * space.keys.shape[0]), 0.0
    # Former poses say on which side of an open mesh's triangles the other was.
    many_a = load_facets(tree_a, edges_a, space.keys, many_a, _UNTURNED, (0.0, 0.0, 0.0), space.facets, space.ints)
    many_b = load_facets(tree_b, edges_b, more.keys, many_b, r, t, more.facets, more.ints)
    if former_a.shape[0] > 0:
        turn_open(side_a, side_b, former_a, former_b, row, space, many_a, more, many_b)
    kept = number_facets(pairs, gaps, number, space.keys, many_a, more.keys, many_b, space.ints, more.ints)
    ra, ta = load_rotation(poses_a, row_a), load_translation(poses_a, row_a)
    ta = transform(ra, ta, o_a)
    # Of many pairs the nearest of each triangle show the patches; but of those that lie behind each other none may be missed.
    used = nearest_first(pairs, gaps, kept, space.facets, many_a, more.facets, many_b, size) if kept > FEW_PAIRS else kept
    pieces = more.queue
    facets_beyond(edges_a, space.keys, many_a, more.beyond)
    find_pieces(space.facets, more.beyond, many_a, pieces)
    facets_beyond(edges_b, more.keys, many_b, more.beyond)
    find_pieces(more.facets, more.beyond, many_b, pieces)
    while True:
        filled, deepest = put_patches(
            row, side_a, side_b, r, t, b_in_a, ra, ta, many_a, many_b, used, reach, margin, size, near, limit, sinks_a, sinks_b,
            before, space, more, out,
        )  # fmt: skip
        enough_used = used
        if deepest > 0.0:
            used = within_first(pairs, gaps, used, kept, (1.0 + AMPLE) * deepest)
        if used == enough_used:
            break
    out.counts[row] = filled
    coarse = number <= FEW_PAIRS and deepest <= mean_extent(space.facets, many_a, more.facets, many_b)
    return np.int64(0), deepest if coarse else 0.0


@kernel("i8, i8, mesh_side, mesh_side, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, f8, i8, i8, i8, manifold_rows")
def mesh_contact_rows(
    start, stop, side_a, side_b, poses_a, poses_b, former_a, former_b, margin, sure, limit, enough, room, out
):  # fmt: skip
    """Contacts of each row; one that needs more room is done again with it. What is near must not change how deep bodies
    overlap: where they do so by more than `sure` it is compared with what they say without a margin; and if that is another
    depth, the row has these contacts, and after them those of what is apart."""
    walk, space, more = new_walk_space(), new_facet_space(room, np.int64(8)), new_pair_space(room)
    side_a, side_b = own_side(side_a), own_side(side_b)
    spare = np.empty((out.contacts.shape[1], CONTACT))
    for row in range(start, stop):
        out.needed[row], reach, look, before = 0, margin, margin, np.int64(0)
        kept, deep = np.int64(0), 0.0
        while True:
            needed, deepest = row_contacts(
                row, side_a, side_b, poses_a, poses_b, former_a, former_b, reach, limit, enough, look, before, walk, space,
                more, out,
            )  # fmt: skip
            if needed > space.keys.shape[0]:
                space, more = new_facet_space(needed, np.int64(8)), new_pair_space(needed)
            elif deepest > look:
                look = deepest * (1.0 + BEHIND)
            elif before > 0 or margin == 0.0:
                break
            elif reach > 0.0:
                deep = deepest_contact(out, row)
                if not deep > sure:
                    break
                # The same without a margin.
                kept, reach, look = out.counts[row], 0.0, 0.0
                keep_contacts(out.contacts, row, kept, spare)
            elif out.counts[row] == 0 or is_as_deep(deep, deepest_contact(out, row)):
                put_back(spare, kept, out, row)
                break
            else:
                reach, look, before = margin, margin, out.counts[row]
