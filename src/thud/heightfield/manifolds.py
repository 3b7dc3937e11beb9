"""Contacts of a field and a convex shape: the triangles whose ground it meets, with the walls and the underside below them, are
facets of `mesh/manifolds`."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.sort_range import sort_numbers
from thud.convex.own_parts import own_parts
from thud.convex.rows.contacts import longest_loop
from thud.heightfield.facets import load_near_facets
from thud.heightfield.objects import SHAPE, new_field_space
from thud.heightfield.prism import part_box, widened
from thud.heightfield.walk import meets_part
from thud.math.pose import load_rotation, load_translation
from thud.mesh.box_tree import tree_pose
from thud.mesh.manifolds.convex_contacts import convex_contacts
from thud.mesh.manifolds.rows import new_facet_space, own_packed
from thud.mesh.manifolds.tolerances import TOUCHING
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, RADIUS


@device
def near_triangles(grid, parts, r, t, box, reach, space, found):
    """How many triangles there are whose ground part 0, rounded off by `reach`, meets; fills `found` as far as it goes."""
    radius = parts.reals[SHAPE, RADIUS]
    parts.reals[SHAPE, RADIUS] = radius + reach
    _status, count = meets_part(grid, parts, r, t, widened(box, reach), space.stack, np.int64(1), found)
    parts.reals[SHAPE, RADIUS] = radius
    return count


@kernel("i8, i8, height_grid, parts, packed, f8[:,::1], f8[:,::1], f8, i8, i8, manifold_rows")
def field_convex_contact_rows(start, stop, grid, parts, packed, poses_f, poses_o, margin, limit, room, out):
    """Contacts of each row, world frame, normal from the ground to the shape."""
    parts, packed, walk, zero = own_parts(parts), own_packed(packed), new_field_space(), np.zeros(3)
    space = new_facet_space(room, longest_loop(packed.loop_starts))
    size = parts.reals[SHAPE, BOUND]
    for row in range(start, stop):
        row_o = row_of(poses_o, row)
        r, t = tree_pose(poses_f, row_of(poses_f, row), poses_o, row_o, grid.origin, zero)
        box = part_box(parts, r, t)
        reach = max(margin, TOUCHING * (size + abs(t[0]) + abs(t[1]) + abs(t[2])))
        out.needed[row], out.counts[row] = 0, 0
        status, _count = meets_part(grid, parts, r, t, box, walk.stack, np.int64(0), walk.none)
        out.status[row] = status
        ro, to = load_rotation(poses_o, row_o), load_translation(poses_o, row_o)
        look, again = 0.0, True
        while again:
            again, wide = False, max(reach, look)
            found = near_triangles(grid, parts, r, t, box, wide, walk, space.keys)
            out.needed[row], out.counts[row] = max(out.needed[row], found), 0
            if found > space.keys.shape[0]:
                break
            sort_numbers(space.keys, np.int64(0), found)
            many = load_near_facets(grid, space.keys, found, widened(box, wide), r, t, space.facets, space.ints)
            out.needed[row] = max(out.needed[row], many)
            if many > space.facets.shape[0]:
                break
            _status, look, again = convex_contacts(packed, many, reach, look, size, margin, limit, ro, to, row, space, out)
