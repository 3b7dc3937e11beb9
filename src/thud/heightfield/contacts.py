"""Contacts of a field and a convex shape or a mesh.

The triangles whose ground a part meets are its contact; neighbours among them whose normals differ little are a patch. The
normal of a patch is the mean normal of its triangles, never that of a wall between two of them; its depth is how far the part
must move along it to clear them. Where the ground ends, at the border, at a hole or at the underside of a layer, the way out
through a wall or downwards is taken instead if it is clearly shorter. Points are where each triangle is left last, and corners
of the part below the triangles, measured along the normal. Everything is in the grid's frame; (R, t) is the part in it.
"""

from __future__ import annotations

import math
from dataclasses import fields, replace
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.status import CAST_UNCONVERGED, MISS, SEPARATED
from thud._core.threads import run_rows
from thud.bvh.height_tree import DEPTH, SPACING_X, SPACING_Y, cell_corners, slopes
from thud.bvh.sort_range import find_key, sort_numbers
from thud.convex.casts.linear_cast import cast_pair
from thud.heightfield import half_space
from thud.heightfield.depth import signed_distance
from thud.heightfield.facets import at_border, triangle_of
from thud.heightfield.half_space import is_half_space
from thud.heightfield.objects import PRISM, SHAPE, field_object, new_field_space, own_object
from thud.heightfield.prism import (
    floor_below,
    heights_of,
    lowest_point,
    part_box,
    set_prism,
    set_sheet,
    triangle_box,
    triangle_points,
    widened,
)
from thud.heightfield.queries import ROWS, distance
from thud.heightfield.rows import is_filled, is_mesh, meets_object, slot_box
from thud.heightfield.tolerances import (
    CLEAR_ROOM,
    CONTACT_ALL,
    CONTACT_BEND,
    CONTACT_OTHER,
    CONTACT_SPAN,
    RIM_POINTS,
)
from thud.heightfield.walk import box_may_meet, meets_part, nearest_part
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.math.vec3 import cross, dot, norm2, sub
from thud.mesh.box_tree import U, tree_pose
from thud.mesh.manifolds.contacts import collect, packed_with_triangle, shows_overlap
from thud.mesh.manifolds.rows import AGAIN, ManifoldRows
from thud.mesh.manifolds.tolerances import PATCH_POINTS
from thud.mesh.mesh_convex import set_triangle
from thud.pairing.contact_points import feature_ids, spread_points
from thud.pairing.families import MESH
from thud.pairing.join import joined_contacts
from thud.pairing.leaves import some_rows
from thud.pairing.rows import row_of
from thud.results import Contacts, Status
from thud.shapes.height_field import HeightField
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.packed import KIND, P0, P1, RADIUS, VERTEX_COUNT, VERTEX_START
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, HULL, Shape
from thud.shapes.triangle_mesh import TriangleMesh

# Columns of a contact: depth, unit normal, point midway, number of its patch, triangle of the field, tree position of the
# mesh's.
HOW_DEEP, ALONG, AT, PATCH, TRIANGLE, LEAF = 0, 1, 4, 7, 8, 9
CONTACT = 10

#: Room for triangles and for contacts of a row at first (counts): a row that needs more is done again.
_TRIANGLES, _CONTACTS = 256, 32

#: Rows that are worked on at once (a count): it bounds the memory.
_BLOCK = 1024

_A, _B = np.int64(PRISM), np.int64(SHAPE)


# Triangles in contact, as patches -----------------------------------------------------------------------------------------


@device
def root_of(parent, k):
    """The first of the group that k is in."""
    while parent[k] != k:
        parent[k] = parent[parent[k]]
        k = parent[k]
    return k


@device
def unit_normal(grid, number):
    """Unit normal of a triangle, upwards."""
    j, i, k = triangle_of(grid, number)
    gx, gy = slopes(grid, cell_corners(grid, j, i), k)
    length = math.sqrt(1.0 + gx * gx + gy * gy)
    return -gx / length, -gy / length, 1.0 / length


@kernel(inner="height_grid, i8[::1], i8, i8[::1]")
def group_triangles(grid, found, count, parent_out):
    """Sort the triangles found, and join neighbours with like normals: parent_out[k] becomes the first of the group of k."""
    sort_numbers(found, np.int64(0), count)
    for k in range(count):
        parent_out[k] = k
    for k in range(count):
        j, i, _k = triangle_of(grid, found[k])
        n = unit_normal(grid, found[k])
        # The other one of the cell, and those of the cells before it.
        for y in range(j - 1, j + 1):
            for x in range(i - 1, i + 2):
                if x < 0 or y < 0 or x >= grid.columns or (y == j and x > i):
                    continue
                for half in range(2):
                    other = find_key(found, count, 2 * (y * grid.columns + x) + half)
                    if other >= 0 and other != k and dot(n, unit_normal(grid, found[other])) >= CONTACT_BEND:
                        a, b = root_of(parent_out, k), root_of(parent_out, other)
                        parent_out[max(a, b)] = min(a, b)
    for k in range(count):
        parent_out[k] = root_of(parent_out, k)


# How deep, along a direction ----------------------------------------------------------------------------------------------


@device
def load_ground(grid, parts, number, whole, low):
    """Write a triangle, or the whole ground below it (down to below `low`), over the placeholder. Returns its corners."""
    j, i, k = triangle_of(grid, number)
    corners = cell_corners(grid, j, i)
    points = triangle_points(grid, corners, j, i, k)
    if whole:
        set_prism(parts, grid, points, floor_below(grid, min(low, heights_of(corners, k)[0])))
    else:
        set_sheet(parts, points)
    return points


@device
def highest(grid, points, n, whole, floor):
    """How far a triangle, or the ground below it, reaches along n."""
    top = max(dot(n, points[0]), max(dot(n, points[1]), dot(n, points[2])))
    if whole and n[2] < 0.0:
        deep = grid.numbers[DEPTH]
        top -= n[2] * (deep if deep < math.inf else max(points[0][2], max(points[1][2], points[2][2])) - floor)
    return top


@device
def way_out(grid, parts, r, t, box, number, n, margin, whole):
    """(found, depth, point of the ground, normal there): how far the part must move along the unit vector n to clear a
    triangle, or the ground below it; negative if it could go the other way by so much, up to `margin`, before it touches."""
    points = load_ground(grid, parts, number, whole, box[4])
    low = dot(n, lowest_point(parts, r, t, n))
    reach = max(highest(grid, points, n, whole, floor_below(grid, box[4])) - low, 0.0)
    reach += CLEAR_ROOM * (reach + abs(low) + abs(t[0]) + abs(t[1]) + abs(t[2]))
    back = reach + margin
    moved = (t[0] + reach * n[0], t[1] + reach * n[1], t[2] + reach * n[2])
    status, time, p, m = cast_pair(parts, _A, _B, r, moved, (-back * n[0], -back * n[1], -back * n[2]), 1.0)
    if status in (MISS, CAST_UNCONVERGED):
        return False, 0.0, p, m
    return True, reach - time * back, p, m


@device
def add_contact(contacts, count, depth, n, p, patch, triangle, leaf):
    """Note a contact whose point p is on the ground, if there is room. Returns their number."""
    if count < contacts.shape[0]:
        contacts[count, HOW_DEEP], contacts[count, PATCH] = depth, np.float64(patch)
        contacts[count, TRIANGLE], contacts[count, LEAF] = np.float64(triangle), np.float64(leaf)
        contacts[count, ALONG], contacts[count, ALONG + 1], contacts[count, ALONG + 2] = n
        contacts[count, AT] = p[0] - 0.5 * depth * n[0]
        contacts[count, AT + 1] = p[1] - 0.5 * depth * n[1]
        contacts[count, AT + 2] = p[2] - 0.5 * depth * n[2]
    return count + 1


# Corners of the part ------------------------------------------------------------------------------------------------------


@device
def corner_count(parts):
    """How many points of part 0 may be contact points of their own."""
    kind = parts.ints[SHAPE, KIND]
    if kind == HULL:
        return parts.ints[SHAPE, VERTEX_COUNT]
    if kind == BOX:
        return 8
    if kind == CAPSULE:
        return 2
    if kind == CYLINDER:
        return 2 * RIM_POINTS
    return RIM_POINTS if kind == CONE else 0


@device
def corner_of(parts, r, t, n, c):
    """Corner c of part 0, in the grid's frame; of a rounded part the point of its ball that is lowest along n."""
    kind = parts.ints[SHAPE, KIND]
    if kind == HULL:
        column = parts.ints[SHAPE, VERTEX_START] + c
        p = (parts.vertices[0, column], parts.vertices[1, column], parts.vertices[2, column])
    elif kind == BOX:
        x, y, z = parts.reals[SHAPE, P0], parts.reals[SHAPE, P0 + 1], parts.reals[SHAPE, P0 + 2]
        p = (x if c & 1 else -x, y if c & 2 else -y, z if c & 4 else -z)
    elif kind == CAPSULE:
        p = (0.0, 0.0, parts.reals[SHAPE, P1] if c else -parts.reals[SHAPE, P1])
    else:
        angle = 2.0 * math.pi * (c % RIM_POINTS) / RIM_POINTS
        end = -1.0 if c < RIM_POINTS else 1.0
        p = (parts.reals[SHAPE, P0] * math.cos(angle), parts.reals[SHAPE, P0] * math.sin(angle), end * parts.reals[SHAPE, P1])
    p = transform(r, t, p)
    s = parts.reals[SHAPE, RADIUS]
    return p[0] - s * n[0], p[1] - s * n[1], p[2] - s * n[2]


@device
def height_below(p, n, points):
    """How far along n from p the triangle is; inf if p is not below or above it, seen along n."""
    a, b, c = points
    e, f = sub(b, a), sub(c, a)
    m = cross(e, f)
    slope = dot(m, n)
    if not slope > 0.0:
        return math.inf
    s = dot(m, sub(a, p)) / slope
    q = (p[0] + s * n[0], p[1] + s * n[1], p[2] + s * n[2])
    u, v, w = dot(cross(e, sub(q, a)), m), dot(cross(sub(c, b), sub(q, b)), m), dot(cross(sub(a, c), sub(q, c)), m)
    slack = -CONTACT_SPAN * norm2(m)
    return s if u >= slack and v >= slack and w >= slack else math.inf


# The patches of one part --------------------------------------------------------------------------------------------------


@device
def other_way(grid, way, n):
    """Direction number `way` out through a wall (0 to 5) or the underside (6)."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    length = math.sqrt(x * x + y * y)
    s = 1.0 if way % 2 == 0 else -1.0
    if way < 2:
        return s, 0.0, 0.0
    if way < 4:
        return 0.0, s, 0.0
    if way < 6:
        return s * y / length, -s * x / length, 0.0
    return -n[0], -n[1], -n[2]


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), i8[::1], i8[::1], i8, i8, vec3, f8, i8, f8")
def patch_depth(grid, parts, r, t, box, found, group, count, first, n, margin, whole, enough):
    """(depth along n, its point of the ground, its triangle, normal there) of the group of triangles `first`, or of the whole
    ground below them; -inf and -1 if
    none is met along n. Ends when it is more than `enough`."""
    best, point, at, normal = -math.inf, (0.0, 0.0, 0.0), np.int64(-1), n
    low = dot(n, lowest_point(parts, r, t, n))
    for k in range(count):
        if group[k] != first:
            continue
        # Only what may be deeper than the deepest so far.
        points = load_ground(grid, parts, found[k], False, box[4])
        if highest(grid, points, n, whole, floor_below(grid, box[4])) - low <= best:
            continue
        hit, depth, p, m = way_out(grid, parts, r, t, box, found[k], n, margin, whole)
        if hit and depth > best:
            best, point, at, normal = depth, p, found[k], m
            if best > enough:
                break
    return best, point, at, normal


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), i8[::1], i8[::1], i8, f8, i8, i8, f8[:,::1]")
def patch_contacts(grid, parts, r, t, box, found, group, count, margin, contacts, leaf, out):
    """Contacts of part 0 and the triangles found, `contacts` of which are noted already. Returns how many there are then."""
    for first in range(count):
        if group[first] != first:
            continue
        # The mean normal, by area; how many triangles, and whether any has a wall.
        n, size, walls = (0.0, 0.0, 0.0), 0, False
        for k in range(count):
            if group[k] == first:
                u = unit_normal(grid, found[k])
                n = (n[0] + u[0] / u[2], n[1] + u[1] / u[2], n[2] + 1.0)
                size += 1
                walls = walls or at_border(grid, found[k])
        length = math.sqrt(norm2(n))
        n = (n[0] / length, n[1] / length, n[2] / length)
        best, at, triangle, m = patch_depth(
            grid, parts, r, t, box, found, group, count, first, n, margin, np.int64(0), math.inf
        )
        if triangle < 0:
            continue
        whole = False
        if best > 0.0:
            # Along the normal of where the two part, if that is clearly shorter: a peak below a plate is left across the plate.
            length = norm2(m)
            if length > 0.5 and dot(m, n) > 0.0:
                depth, p, number, _m = patch_depth(
                    grid, parts, r, t, box, found, group, count, first, m, margin, np.int64(0), CONTACT_OTHER * best
                )
                if number >= 0 and depth < CONTACT_OTHER * best:
                    n, best, at, triangle = m, depth, p, number
            # Out through a wall or downwards, likewise.
            down = n
            for way in range(0 if walls else 6, 7 if grid.numbers[DEPTH] < math.inf else 6):
                m = other_way(grid, way, down)
                depth, p, number, _m = patch_depth(
                    grid, parts, r, t, box, found, group, count, first, m, 0.0, np.int64(1), CONTACT_OTHER * best
                )
                if number >= 0 and depth < CONTACT_OTHER * best:
                    n, best, at, triangle, whole = m, depth, p, number, True
        contacts = add_contact(out, contacts, best, n, at, first, triangle, leaf)
        if whole:
            continue
        for k in range(count):
            if group[k] == first and size <= CONTACT_ALL and found[k] != triangle:
                hit, depth, p, _m = way_out(grid, parts, r, t, box, found[k], n, margin, False)
                if hit:
                    contacts = add_contact(out, contacts, depth, n, p, first, found[k], leaf)
        for c in range(corner_count(parts)):
            p = corner_of(parts, r, t, n, c)
            above, number = math.inf, np.int64(-1)
            for k in range(count):
                if group[k] == first:
                    j, i, half = triangle_of(grid, found[k])
                    s = height_below(p, n, triangle_points(grid, cell_corners(grid, j, i), j, i, half))
                    if s < above:
                        above, number = s, found[k]
            if number >= 0 and above >= -margin and above <= best + CONTACT_SPAN * (abs(best) + box[5] - box[4]):
                top = (p[0] + above * n[0], p[1] + above * n[1], p[2] + above * n[2])
                contacts = add_contact(out, contacts, above, n, top, first, number, leaf)
    return contacts


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), f8, field_space, i8[::1], i8, i8, i8, f8[:,::1]")
def near_contacts(grid, parts, r, t, box, margin, space, found, count, contacts, leaf, out):
    """Contacts of part 0 and ground that it does not meet, within the margin: the nearest point, and corners over the triangles
    found, along the same normal."""
    _status, d, p, n, at = nearest_part(grid, parts, r, t, box, margin, space)
    if at < 0:
        return contacts
    contacts = add_contact(out, contacts, -d, n, p, 0, at, leaf)
    for c in range(corner_count(parts)):
        p = corner_of(parts, r, t, n, c)
        above, number = math.inf, np.int64(-1)
        for k in range(count):
            j, i, half = triangle_of(grid, found[k])
            s = height_below(p, n, triangle_points(grid, cell_corners(grid, j, i), j, i, half))
            if s < above:
                above, number = s, found[k]
        if number >= 0 and above >= -margin and above <= -d:
            top = (p[0] + above * n[0], p[1] + above * n[1], p[2] + above * n[2])
            contacts = add_contact(out, contacts, above, n, top, 0, number, leaf)
    return contacts


@kernel(inner="height_grid, parts, mat3, vec3, UniTuple(f8, 6), f8, field_space, i8[::1], i8[::1], i8, i8, f8[:,::1]")
def part_contacts(grid, parts, r, t, box, margin, space, found, group, contacts, leaf, out):
    """(contacts noted, triangles that there must be room for) after those of part 0 and the ground."""
    status, count = meets_part(grid, parts, r, t, box, space.stack, np.int64(1), found)
    if status == SEPARATED and margin > 0.0:
        # Rounded off by the margin, the part meets all that is so near.
        radius = parts.reals[SHAPE, RADIUS]
        parts.reals[SHAPE, RADIUS] = radius + margin
        _status, count = meets_part(grid, parts, r, t, widened(box, margin), space.stack, np.int64(1), found)
        parts.reals[SHAPE, RADIUS] = radius
    if count > found.shape[0]:
        return contacts, count
    if status == SEPARATED:
        if margin > 0.0:
            contacts = near_contacts(grid, parts, r, t, box, margin, space, found, count, contacts, leaf, out)
        return contacts, count
    group_triangles(grid, found, count, group)
    return patch_contacts(grid, parts, r, t, box, found, group, count, margin, contacts, leaf, out), count


@kernel("i8, i8, height_grid, field_object, f8[:,::1], f8[:,::1], f8, i8, f8[:,:,::1], i8[::1], i8[::1], u1[::1]")
def field_contacts_rows(
    start, stop, grid, other, poses_f, poses_o, margin, room, contacts_out, count_out, needed_out, status_out
):
    """Contacts of each row, world frame, normal from the ground to the object, as far as they fit: count_out says how many
    there are, needed_out how many triangles there must be room for."""
    other, space = own_object(other), new_field_space()
    found, group, local = np.empty(room, np.int64), np.empty(room, np.int64), np.empty((contacts_out.shape[1], CONTACT))
    parts, tree = other.parts, other.tree
    for row in range(start, stop):
        row_f = row_of(poses_f, row)
        r, t = tree_pose(poses_f, row_f, poses_o, row_of(poses_o, row), grid.origin, tree.origin)
        count, needed = np.int64(0), np.int64(0)
        status = meets_object(grid, other, r, t, space)
        if status != SEPARATED or margin > 0.0:
            if not is_mesh(tree):
                box = part_box(parts, r, t)
                count, needed = part_contacts(grid, parts, r, t, box, margin, space, found, group, count, np.int64(0), local)
            else:
                space.slots[0], depth = U(0), U(1)
                while depth > U(0):
                    depth -= U(1)
                    down = tree.child[space.slots[depth]]
                    if down < 0:
                        box = triangle_box(tree.corners, U(-1 - down), r, t)
                        set_triangle(parts, _B, tree.corners, U(-1 - down))
                        count, many = part_contacts(
                            grid, parts, r, t, box, margin, space, found, group, count, -1 - down, local
                        )
                        needed = max(needed, many)
                        continue
                    for lane in range(8):
                        child = U(8) * U(down) + U(lane)
                        if is_filled(tree, child) and box_may_meet(grid, widened(slot_box(tree, child, r, t), margin)):
                            space.slots[depth] = child
                            depth += U(1)
        rf, tf = load_rotation(poses_f, row_f), load_translation(poses_f, row_f)
        o = grid.origin
        for k in range(min(count, local.shape[0])):
            n = rotate(rf, (local[k, ALONG], local[k, ALONG + 1], local[k, ALONG + 2]))
            p = transform(rf, tf, (local[k, AT] + o[0], local[k, AT + 1] + o[1], local[k, AT + 2] + o[2]))
            for column in range(CONTACT):
                contacts_out[row, k, column] = local[k, column]
            for axis in range(3):
                contacts_out[row, k, ALONG + axis], contacts_out[row, k, AT + axis] = n[axis], p[axis]
        count_out[row], needed_out[row], status_out[row] = count, needed, status


# From checked arguments to kernels ----------------------------------------------------------------------------------------


def contacts(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, *, margin: float, max_points: int,
    threads: int | None,
) -> Contacts:  # fmt: skip
    """Contact points of a field and a convex shape or a mesh."""
    if is_half_space(other):
        return half_space.contacts(field, other, rows_f, rows_o, count, margin=margin, max_points=max_points)
    limit, left = min(max_points, PATCH_POINTS), np.zeros(count, dtype=bool)

    def block(poses_f: Floats, poses_o: Floats, _former: Any, room: int, out: ManifoldRows) -> np.ndarray:
        marks = np.zeros(len(out.counts), dtype=bool)
        rows, bodies = _rows_and_bodies(other)
        arguments = (field.grid, *bodies, poses_f, poses_o, margin, limit, room, out, marks)
        run_rows(rows, len(marks), threads, *arguments, rows_per_chunk=ROWS)
        return marks

    found = collect(block, rows_f, rows_o, None, None, count, left)
    if other.family == MESH and field.thickness is not None:
        # Ground inside a closed mesh shows at no triangle.
        left |= found.status == Status.SEPARATED
    left |= (found.status == Status.OVERLAPPING) & ~shows_overlap(found, field, other, count)
    rows = np.flatnonzero(left)
    if len(rows) == 0:
        return found
    poses = some_rows(rows_f, rows, count), some_rows(rows_o, rows, count)
    own = _with_walls(field, other, *poses, len(rows), margin, max_points, threads)
    found.status[rows] = own.status
    kept = ~left[found.row]
    inner = replace(found, **{f.name: getattr(found, f.name)[kept] for f in fields(found) if f.name != "status"})
    return joined_contacts([inner, replace(own, row=rows[own.row])], found.status)


def _rows_and_bodies(other: Any) -> tuple[Any, tuple[Any, ...]]:
    """The kernel for a convex shape or a mesh, and what it takes of it."""
    from thud.heightfield import manifolds

    if other.family == MESH:
        return manifolds.field_mesh_contact_rows, (field_object(other), other.edges_beyond)
    return manifolds.field_convex_contact_rows, (field_object(other).parts, packed_with_triangle(other))


def _with_walls(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, margin: float, max_points: int,
    threads: int | None,
) -> Contacts:  # fmt: skip
    """The same where the ground has walls and an underside."""
    tables, status = [], np.zeros(count, dtype=np.uint8)
    for start in range(0, max(count, 1), _BLOCK):
        rows = np.arange(start, min(start + _BLOCK, count))
        poses = some_rows(rows_f, rows, count), some_rows(rows_o, rows, count)
        table, many, status[rows] = _block(field, other, *poses, len(rows), margin, threads)
        tables.append((np.repeat(rows, many), table[np.arange(table.shape[1]) < many[:, None]]))
    row, table = np.concatenate([one[0] for one in tables]), np.concatenate([one[1] for one in tables])
    if other.family == MESH and field.thickness is not None:
        # Ground inside a closed mesh shows at no triangle.
        apart = np.flatnonzero(status == Status.SEPARATED)
        gap = distance(
            field,
            other,
            some_rows(rows_f, apart, count),
            some_rows(rows_o, apart, count),
            len(apart),
            reach=0.0,
            threads=threads,
        )
        status[apart] = gap.status
    found = _spread(row, table, other, max_points, status)
    return _with_lost(found, field, other, rows_f, rows_o, count, threads)


def _block(
    field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, margin: float, threads: int | None
) -> tuple[Floats, Ints, np.ndarray]:
    room, space = _TRIANGLES, _CONTACTS
    while True:
        table = np.empty((count, space, CONTACT))
        many, needed = np.zeros(count, dtype=np.int64), np.zeros(count, dtype=np.int64)
        status = np.zeros(count, dtype=np.uint8)
        arguments = (field.grid, field_object(other), rows_f, rows_o, margin, room, table, many, needed, status)
        run_rows(field_contacts_rows, count, threads, *arguments, rows_per_chunk=ROWS)
        if not count or (needed.max() <= room and many.max() <= space):
            return table, many, status
        room, space = max(room, int(needed.max())), max(space, int(many.max()))


def _spread(row: Ints, table: Floats, other: Any, max_points: int, status: np.ndarray) -> Contacts:
    """Patches of each row numbered on; of each the deepest point, and those that are farthest from each other."""
    depth, normal, point = table[:, HOW_DEEP], table[:, ALONG : ALONG + 3], table[:, AT : AT + 3]
    triangle, leaf, patch = (table[:, k].astype(np.int64) for k in (TRIANGLE, LEAF, PATCH))
    chosen: list[int] = []
    numbers: list[int] = []
    starts = np.flatnonzero(np.diff(row, prepend=-1))
    for rows in np.split(np.arange(len(row)), starts[1:]) if len(row) else []:
        if other.family == MESH:
            labels = _mesh_patches(other, leaf[rows], normal[rows])
        else:
            labels = np.unique(patch[rows], return_inverse=True)[1].reshape(-1)
        for number in range(int(labels.max()) + 1):
            own = rows[labels == number]
            kept = own[spread_points(point[own], depth[own], normal[own[0]], max_points)]
            chosen += kept.tolist()
            numbers += [number] * len(kept)
    k = np.array(chosen, dtype=np.int64)
    touching = other.tree.order[leaf[k]] if other.family == MESH else np.zeros(len(k), dtype=np.int64)
    feature = _unique_ids(row[k], feature_ids(triangle[k], touching))
    point, normal, depth = (np.ascontiguousarray(array) for array in (point[k], normal[k], depth[k]))
    faces = touching if other.family == MESH else np.full(len(k), -1, dtype=np.int64)
    return Contacts(row[k], point, normal, depth, feature, np.array(numbers, dtype=np.int64), status, triangle[k], faces)


def _unique_ids(row: Ints, feature: Ints) -> Ints:
    """The ids, those that a row has several times marked as `mesh/manifolds` marks them."""
    order = np.lexsort((np.arange(len(row)), feature, row))
    again = (np.diff(row[order], prepend=-1) == 0) & (np.diff(feature[order], prepend=-1) == 0)
    starts = np.maximum.accumulate(np.where(again, 0, np.arange(len(row))))
    times = np.empty(len(row), dtype=np.int64)
    times[order] = np.minimum(np.arange(len(row)) - starts, 3)
    mark = int(AGAIN)
    return feature + np.where(times & 1, mark << 32, 0) + np.where(times & 2, mark, 0)


def _mesh_patches(mesh: TriangleMesh, leaf: Ints, normal: Floats) -> Ints:
    """Contacts of one row by connected runs of the mesh's triangles with the same normal."""
    welded = mesh.places[np.asarray(mesh.faces)]
    _, same = np.unique(np.round(normal, 9), axis=0, return_inverse=True)
    labels, first = np.empty(len(leaf), dtype=np.int64), 0
    for one in range(int(same.max()) + 1):
        own = np.flatnonzero(same.reshape(-1) == one)
        touching, which = np.unique(mesh.tree.order[leaf[own]], return_inverse=True)
        label = connected_parts(welded[touching])[which.reshape(-1)]
        labels[own] = first + label
        first += int(label.max()) + 1
    return labels


def _with_lost(
    found: Contacts, field: HeightField, other: Shape, rows_f: Floats, rows_o: Floats, count: int, threads: int | None
) -> Contacts:
    """Overlaps without a contact get the end of their way out: where casts did not converge, and ground inside a closed
    mesh."""
    has = np.zeros(count, dtype=bool)
    has[found.row[found.depth >= 0.0]] = True
    lost = np.flatnonzero((found.status == Status.OVERLAPPING) & ~has)
    if len(lost) == 0:
        return found
    poses = some_rows(rows_f, lost, count), some_rows(rows_o, lost, count)
    gap = signed_distance(field, other, *poses, len(lost), threads=threads)
    middle = 0.5 * (gap.point_a + gap.point_b)
    zero = np.zeros(len(lost), dtype=np.int64)
    patches = np.zeros(count, dtype=np.int64)
    np.maximum.at(patches, found.row, found.patch + 1)
    more = Contacts(lost, middle, gap.normal, np.maximum(-gap.distance, 0.0), zero, patches[lost], found.status)
    return joined_contacts([found, more], found.status)
