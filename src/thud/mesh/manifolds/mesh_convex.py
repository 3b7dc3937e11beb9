"""Rows of contacts of a mesh and a convex shape. Everything is in the shape's frame; (R, t) is the mesh's tree in it."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.simd_boxes import boxes_meet8, lowest_bit
from thud._core.status import SEPARATED
from thud.bvh.sort_range import sort_numbers
from thud.convex.rows.contacts import longest_loop
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.math.vec3 import cross, dot, sub
from thud.mesh.box_tree import F, U, load_triangle, place_triangle, tree_pose
from thud.mesh.manifolds.convex_contacts import convex_contacts
from thud.mesh.manifolds.facets import set_facet, turn_facet
from thud.mesh.manifolds.rows import new_facet_space, own_packed
from thud.mesh.manifolds.tolerances import TOUCHING
from thud.mesh.mesh_convex import box_extent, query_size, shape_query, walk_convex
from thud.mesh.tolerances import BOX_SLACK
from thud.mesh.trees import new_walk_space
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, CENTER

#: Keys of facets: face row times this, and the tree position.
_POSITIONS = np.int64(2**31)


@kernel(inner="box_tree, mesh_edges, parts, f8[::1], mat3, vec3, walk_space, i8[::1]")
def reached_triangles(tree, edges, parts, box, r, t, space, keys_out):
    """How many triangles' boxes meet the box of part 0; keys_out: their face rows and tree positions, sorted, as far as they
    fit."""
    stack, metric = space.stack, space.lanes
    size = query_size(parts, box, box_extent(tree.boxes), t)
    _axes, _rotation, query = shape_query(parts, box, r, t, size, F(BOX_SLACK * size))
    found = np.int64(0)
    stack[0], depth = U(0), U(1)
    while depth > U(0):
        depth -= U(1)
        down = tree.child[stack[depth]]
        if down < 0:
            if found < keys_out.shape[0]:
                keys_out[found] = edges.face[-1 - down] * _POSITIONS - 1 - down
            found += 1
            continue
        meet = boxes_meet8(tree.boxes, U(48) * U(down), query, metric)
        while meet != 0:
            lane = lowest_bit(meet)
            meet &= meet - np.uint32(1)
            stack[depth] = U(8) * U(down) + lane
            depth += U(1)
    if found <= keys_out.shape[0]:
        sort_numbers(keys_out, np.int64(0), found)
    return found


@device
def load_facet(tree, edges, position, r, t, facets, ints, k, turned):
    """Triangle of a mesh as facet k of the frame that its tree is at (R, t) in; False if it has no normal."""
    p = np.int64(position)
    good = set_facet(
        facets, ints, k, place_triangle(r, t, load_triangle(tree.corners, U(p))),
        (np.float64(edges.bend[p, 0]), np.float64(edges.bend[p, 1]), np.float64(edges.bend[p, 2])),
        edges.face[p],
        edges.face[p],
        (np.int64(edges.corner[p, 0]), np.int64(edges.corner[p, 1]), np.int64(edges.corner[p, 2])),
        (np.int64(edges.side[p, 0]), np.int64(edges.side[p, 1]), np.int64(edges.side[p, 2])),
    )  # fmt: skip
    if good and turned:
        turn_facet(facets, ints, k)
    return good


@device
def is_behind(tree, position, p):
    """Whether p, in the tree's frame, was behind a triangle."""
    a, b, c = load_triangle(tree.corners, U(position))
    return dot(cross(sub(b, a), sub(c, a)), sub(p, a)) < 0.0


@device
def former_center(parts, former_m, former_s, row, origin):
    """Where the middle of part 0 was, in the frame of the mesh's tree."""
    row_m, row_s = row_of(former_m, row), row_of(former_s, row)
    c = (parts.reals[0, CENTER], parts.reals[0, CENTER + 1], parts.reals[0, CENTER + 2])
    p = transform(load_rotation(former_s, row_s), load_translation(former_s, row_s), c)
    p = untransform(load_rotation(former_m, row_m), load_translation(former_m, row_m), p)
    return p[0] - origin[0], p[1] - origin[1], p[2] - origin[2]


@kernel("i8, i8, box_tree, mesh_edges, packed, f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, i8, manifold_rows")
def mesh_convex_contact_rows(
    start, stop, tree, edges, packed, box, poses_m, poses_s, former_m, former_s, margin, limit, room, out
):
    """Contacts of each row, world frame, normal from the mesh to the shape. former_m, former_s: poses of an earlier frame,
    which say on which side of an open mesh's triangles the shape was, or none."""
    packed, walk, zero, none = own_packed(packed), new_walk_space(), np.zeros(3), np.empty(0, np.int64)
    space = new_facet_space(room, longest_loop(packed.loop_starts))
    parts, wide = packed.parts, box.copy()
    size = parts.reals[0, BOUND]
    no = np.int64(0)
    for row in range(start, stop):
        row_s = row_of(poses_s, row)
        r, t = tree_pose(poses_s, row_s, poses_m, row_of(poses_m, row), zero, tree.origin)
        # What touches by roundoff alone counts.
        reach = max(margin, TOUCHING * (size + abs(t[0]) + abs(t[1]) + abs(t[2])))
        was = (0.0, 0.0, 0.0)
        if former_m.shape[0] > 0:
            was = former_center(parts, former_m, former_s, row, tree.origin)
        rs, ts = load_rotation(poses_s, row_s), load_translation(poses_s, row_s)
        look, status, found, again = 0.0, SEPARATED, np.int64(0), True
        while again:
            for k in range(3, 6):
                wide[k] = box[k] + max(reach, look)
            found = reached_triangles(tree, edges, parts, wide, r, t, walk, space.keys)
            out.needed[row], out.counts[row], again = found, 0, False
            if found <= space.keys.shape[0]:
                many = np.int64(0)
                for k in range(found):
                    position = space.keys[k] % _POSITIONS
                    turned = edges.turned[0] == 1
                    if former_m.shape[0] > 0:
                        turned = is_behind(tree, position, was)
                    if load_facet(tree, edges, position, r, t, space.facets, space.ints, many, turned):
                        many += 1
                status, look, again = convex_contacts(packed, many, reach, look, size, margin, limit, rs, ts, row, space, out)
        if status == SEPARATED and found > 0:
            # What the facets did not tell, the boolean walk does.
            status = walk_convex(tree, parts, box, r, t, walk, no, none)[0]
        out.status[row] = status
