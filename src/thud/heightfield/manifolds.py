"""Contacts of a field away from its borders: the triangles whose ground the other body meets are facets of `mesh/manifolds`.

Rows in which one of them stands at a border or a hole, or in which a layer may be left downwards, are marked, and answered
with the walls and the underside of the ground (`contacts.py`).
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import SEPARATED
from thud.bvh.height_tree import DEPTH
from thud.bvh.sort_range import find_key, sort_numbers
from thud.convex.own_parts import own_parts
from thud.convex.rows.contacts import longest_loop
from thud.heightfield.facets import at_border, beyond_edge, load_field_facet, points_of
from thud.heightfield.objects import SHAPE, new_field_space, own_object
from thud.heightfield.prism import part_box, triangle_box, widened
from thud.heightfield.rows import is_filled, meets_object, nearest_object, slot_box
from thud.heightfield.walk import box_may_meet, meets_part, nearest_part
from thud.math.pose import load_rotation, load_translation, transform
from thud.math.vec3 import sub
from thud.mesh.box_tree import U, load_triangle, place_triangle, tree_pose
from thud.mesh.manifolds.convex_contacts import convex_contacts
from thud.mesh.manifolds.directions import direction
from thud.mesh.manifolds.facet_pairs import (
    add_pieces,
    name_pair_points,
    nearest_pair_point,
    pair_points,
    settle_pairs,
)
from thud.mesh.manifolds.mesh_mesh import facets_beyond, load_facets, sort_unique, tree_extent
from thud.mesh.manifolds.pair_columns import CROSSES, GAP, GAP_MIDDLE, GAP_NORMAL, OF_A, OF_B, PAIR_REALS
from thud.mesh.manifolds.rows import new_facet_space, new_pair_space, own_packed, put_contacts
from thud.mesh.manifolds.spread import HOW_DEEP, spread_points
from thud.mesh.manifolds.tolerances import DEEPER, LOOK_AGAIN, NEAR_FEATURE, TOUCHING
from thud.mesh.mesh_convex import set_triangle
from thud.mesh.triangle_distance import triangle_gap
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, RADIUS

_UNTURNED = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)


@device
def near_triangles(grid, parts, r, t, box, reach, space, found):
    """How many triangles there are whose ground part 0, rounded off by `reach`, meets; fills `found` as far as it goes."""
    radius = parts.reals[SHAPE, RADIUS]
    parts.reals[SHAPE, RADIUS] = radius + reach
    _status, count = meets_part(grid, parts, r, t, widened(box, reach), space.stack, np.int64(1), found)
    parts.reals[SHAPE, RADIUS] = radius
    return count


@kernel("i8, i8, height_grid, parts, packed, f8[:,::1], f8[:,::1], f8, i8, i8, manifold_rows, b1[::1]")
def field_convex_contact_rows(start, stop, grid, parts, packed, poses_f, poses_o, margin, limit, room, out, border_out):
    """Contacts of each row, world frame, normal from the ground to the shape; rows at a border are marked and left."""
    parts, packed, walk, zero = own_parts(parts), own_packed(packed), new_field_space(), np.zeros(3)
    space = new_facet_space(room, longest_loop(packed.loop_starts))
    size = parts.reals[SHAPE, BOUND]
    for row in range(start, stop):
        row_o = row_of(poses_o, row)
        r, t = tree_pose(poses_f, row_of(poses_f, row), poses_o, row_o, grid.origin, zero)
        box = part_box(parts, r, t)
        reach = max(margin, TOUCHING * (size + abs(t[0]) + abs(t[1]) + abs(t[2])))
        out.needed[row], out.counts[row], border_out[row] = 0, 0, False
        status, _count = meets_part(grid, parts, r, t, box, walk.stack, np.int64(0), walk.none)
        out.status[row] = status
        ro, to = load_rotation(poses_o, row_o), load_translation(poses_o, row_o)
        look, deepest, again = 0.0, -math.inf, True
        while again:
            again = False
            found = near_triangles(grid, parts, r, t, box, max(reach, look), walk, space.keys)
            out.needed[row] = found
            if found <= space.keys.shape[0] and found > 0:
                sort_numbers(space.keys, np.int64(0), found)
                many = np.int64(0)
                for k in range(found):
                    border_out[row] = border_out[row] or at_border(grid, space.keys[k])
                    if load_field_facet(grid, space.keys[k], r, t, space.facets, space.ints, many):
                        many += 1
                _status, deepest = convex_contacts(packed, many, reach, look, size, margin, limit, ro, to, row, space, out)
                # What lies above the shape along its way out, beside it, shows in a wider look.
                again = look == 0.0 and deepest > LOOK_AGAIN * size and not border_out[row]
                look = deepest
        if out.needed[row] == 0 or border_out[row]:
            continue
        filled = out.counts[row]
        # What shows at no facet is below the ground, or deep in it.
        border_out[row] = filled == 0 or deepest > 0.5 * grid.numbers[DEPTH]
        if grid.numbers[DEPTH] < math.inf and deepest < 0.0 and not border_out[row]:
            # A layer may be nearer at its underside.
            border_out[row] = nearest_part(grid, parts, r, t, box, reach, walk)[1] < -deepest - DEEPER * size


@kernel(inner="height_grid, field_object, mat3, vec3, f8, field_space, i8[::1], i8[:,::1], f8[:,::1]")
def field_pairs(grid, other, r, t, reach, walk, found, pairs_out, gaps_out):
    """How many pairs there are of a triangle of the field and one of the mesh that its ground meets, or that comes within
    `reach` of it; their numbers and closest points, as far as they fit. The most that one triangle of the mesh meets may be
    more than `found` holds: then so many and more."""
    parts, tree = other.parts, other.tree
    count = np.int64(0)
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
        status, inside = meets_part(grid, parts, r, t, box, walk.stack, np.int64(1), found)
        near = near_triangles(grid, parts, r, t, box, reach, walk, found) if reach > 0.0 else inside
        if near > found.shape[0]:
            return count + near
        b0, b1, b2 = place_triangle(r, t, load_triangle(tree.corners, U(position)))
        for k in range(near):
            if count < pairs_out.shape[0]:
                a0, a1, a2 = points_of(grid, found[k])
                gap2, p, q = triangle_gap(a0, a1, a2, b0, b1, b2, math.inf)
                pairs_out[count, OF_A], pairs_out[count, OF_B] = found[k], position
                # Above the ground, and apart from it.
                crosses = status != SEPARATED
                gap = math.sqrt(gap2)
                pairs_out[count, CROSSES] = 1 if crosses or gap == 0.0 else 0
                gaps_out[count, GAP] = gap
                d = sub(q, p)
                for c in range(3):
                    gaps_out[count, GAP_NORMAL + c] = d[c] / gap if gap > 0.0 else 0.0
                    gaps_out[count, GAP_MIDDLE + c] = 0.5 * (p[c] + q[c])
            count += 1
    return count


@kernel("i8, i8, height_grid, field_object, mesh_edges, f8[:,::1], f8[:,::1], f8, i8, i8, manifold_rows, b1[::1]")
def field_mesh_contact_rows(start, stop, grid, other, edges, poses_f, poses_o, margin, limit, room, out, border_out):
    """Contacts of each row of a field and a mesh, world frame, normal from the ground to the mesh; rows at a border are marked
    and left."""
    other, walk = own_object(other), new_field_space()
    space, more = new_facet_space(room, np.int64(8)), new_pair_space(room)
    tree, pairs, gaps = other.tree, more.pairs, more.gaps
    size = tree_extent(tree)
    for row in range(start, stop):
        row_f = row_of(poses_f, row)
        r, t = tree_pose(poses_f, row_f, poses_o, row_of(poses_o, row), grid.origin, tree.origin)
        reach = max(margin, TOUCHING * (size + abs(t[0]) + abs(t[1]) + abs(t[2])))
        border_out[row], out.counts[row] = False, 0
        out.status[row] = meets_object(grid, other, r, t, walk)
        number = field_pairs(grid, other, r, t, reach, walk, more.queue, pairs, gaps)
        out.needed[row] = number
        if number > pairs.shape[0] or number == 0:
            continue
        for k in range(number):
            space.keys[k], more.keys[k] = pairs[k, OF_A], pairs[k, OF_B]
        many_a, many_b = sort_unique(space.keys, number), sort_unique(more.keys, number)
        zero, kept = (0.0, 0.0, 0.0), np.int64(0)
        for k in range(many_a):
            border_out[row] = border_out[row] or at_border(grid, space.keys[k])
            if load_field_facet(grid, space.keys[k], _UNTURNED, zero, space.facets, space.ints, kept):
                space.keys[kept] = space.keys[k]
                kept += 1
        if border_out[row]:
            continue
        many_a = kept
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
                at, _place = beyond_edge(grid, space.keys[k], e)
                more.beyond[k, e] = find_key(space.keys, many_a, at) if at >= 0 else np.int64(-1)
        count = add_pieces(space.facets, more.beyond, many_a, more.queue, 1.0, space.directions, np.int64(0))
        facets_beyond(edges, more.keys, many_b, more.beyond)
        count = add_pieces(more.facets, more.beyond, many_b, more.queue, -1.0, space.directions, count)
        count = settle_pairs(space.facets, more.facets, pairs, gaps, kept, size, space.directions, count)
        rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
        tf = transform(rf, tf, (grid.origin[0], grid.origin[1], grid.origin[2]))
        filled, patch, deepest = np.int64(0), np.int64(0), -math.inf
        for d in range(count):
            n = direction(space.directions, d)
            points = pair_points(
                space.facets, space.ints, more.facets, more.ints, pairs, gaps, kept, np.int64(d), n, reach, size,
                space.polygons, space.points,
            )  # fmt: skip
            points = spread_points(space.points, points, n, limit, size)
            name_pair_points(space.facets, space.ints, more.facets, more.ints, space.points, points, n, NEAR_FEATURE * size)
            for k in range(points):
                deepest = max(deepest, space.points[k, HOW_DEEP])
            if points > 0:
                filled = put_contacts(out, row, filled, space, d, points, patch, rf, tf, margin, more.ints, True)
                patch += 1
        if deepest < 0.0:
            points = nearest_pair_point(
                space.facets, space.ints, more.facets, more.ints, pairs, gaps, kept, deepest, reach, space.directions,
                space.points,
                size,
            )  # fmt: skip
            if points > 0:
                deepest = space.points[0, HOW_DEEP]
            filled = put_contacts(out, row, filled, space, 0, points, patch, rf, tf, margin, more.ints, True)
        out.counts[row] = filled
        # What shows at no facet is below the ground, or deep in it.
        border_out[row] = filled == 0 or deepest > 0.5 * grid.numbers[DEPTH]
        if grid.numbers[DEPTH] < math.inf and deepest < 0.0 and not border_out[row]:
            border_out[row] = nearest_object(grid, other, r, t, reach, walk)[1] < -deepest - DEEPER * size
