"""Paths against displaced surfaces: down the tree over the primitives and their bounding volumes to the bilinear patches."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.frame import ROTATION
from thud.particles.crossings.patch_path import CELLS, patch_time
from thud.particles.crossings.path_box import (
    LOCAL,
    TURNS,
    narrow_box,
    path_exactly,
    path_into_frame,
    path_pieces,
    piece_begin,
    write_hit,
)
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.patch import line_meets_patch, load_patch, patch_normal
from thud.terrain.collision.volumes import box_of, load_cell
from thud.terrain.collision.walk import in_outline, outline, push_coarsest, push_finer
from thud.terrain.collision.work_space import CELL_STACK
from thud.terrain.surface_arrays import QUAD, S, T

_I = np.int64

#: Bits of a patch's x and y in its part; the quad is above them.
PART_BITS = 16

# What is found: time, a, b, status; as whole numbers: part, or -1.
TIME, PLACE_A, PLACE_B, DOUBT = range(4)


@exact_device
def pack_part(quad, x, y):
    """One number for a patch."""
    return (quad << 2 * PART_BITS) | (y << PART_BITS) | x


@exact_device
def part_quad(part):
    """Quad of a packed patch."""
    return part >> 2 * PART_BITS


@exact_device
def part_x(part):
    """x of a packed patch, in samples of its quad."""
    return part & (2**PART_BITS - 1)


@exact_device
def part_y(part):
    """y of a packed patch, in samples of its quad."""
    return (part >> PART_BITS) & (2**PART_BITS - 1)


@exact_kernel(inner="surface, i8, i8, i8, f8[::1], f8, f8, i8, i8, f8[:,::1], f8[:,::1], f8[::1], i8")
def path_patch(surface, quad, x, y, local, begin, end, same, last, corners, boxes, found, part):
    """One patch: the part of the best crossing so far, in `found`. At equal times the lower part wins."""
    load_patch(surface, quad, x, y, corners)
    lx, ly, lz, ux, uy, uz = box_of(corners, 4)
    begin, end = narrow_box(local, lx, ly, lz, ux, uy, uz, begin, min(end, found[TIME]))
    if begin > end:
        return part
    this = pack_part(quad, x, y)
    tau, a, b, doubt = patch_time(corners, local, begin, end, found[TIME], same, _I(same and this == last), boxes)
    if tau < found[TIME] or (tau == found[TIME] and tau < math.inf and (part < 0 or this < part)):
        found[TIME], found[PLACE_A], found[PLACE_B], found[DOUBT] = tau, a, b, doubt
        return this
    return part


@exact_kernel(inner="surface, i8, f8[::1], f8, f8, i8, i8, f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1], f8[::1], i8")
def path_primitive(surface, k, local, begin, end, same, last, corners, points, cells, boxes, found, part):
    """The patches of primitive k and one monotone piece of a path; returns the part of the best crossing so far."""
    quad = _I(surface.primitives[k, QUAD])
    shape = outline(surface, k)
    depth = push_coarsest(surface, quad, shape, cells)
    while depth > 0:
        depth -= 1
        step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
        finer = step // 2
        b, e = begin, min(end, found[TIME])
        if step > 1:
            code, flat = load_cell(surface, quad, step, x, y, points)
            if code != EXTREME:
                lx, ly, lz, ux, uy, uz = box_of(points, 8)
                b, e = narrow_box(local, lx, ly, lz, ux, uy, uz, b, e)
                if b > e:
                    continue
            finer >>= flat
        if finer >= 2:
            depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
            continue
        pace = step * surface.ratio
        for j in range(y * pace, (y + 1) * pace):
            for i in range(x * pace, (x + 1) * pace):
                if in_outline(shape, i, j, i + 1, j + 1):
                    part = path_patch(surface, quad, i, j, local, b, e, same, last, corners, boxes, found, part)
    return part


@exact_kernel(inner="surface, f8[::1], i8, i8, i8, f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1], f8[::1]")
def path_surface(surface, local, pieces, same, last, corners, points, cells, boxes, found):
    """The part of the first crossing up to found[TIME], or -1."""
    part, b6 = _I(-1), surface.node_boxes
    for piece in range(pieces):
        begin, end = piece_begin(local, piece), local[TURNS + piece]
        if begin > found[TIME]:
            break
        k = _I(0)
        while k < surface.node_ints.shape[0]:
            b, e = narrow_box(
                local, np.float64(b6[k, 0]), np.float64(b6[k, 1]), np.float64(b6[k, 2]),
                np.float64(b6[k, 3]), np.float64(b6[k, 4]), np.float64(b6[k, 5]),
                begin, min(end, found[TIME]),
            )  # fmt: skip
            if b > e:
                k = _I(surface.node_ints[k, 0])
                continue
            item = _I(surface.node_ints[k, 1])
            if item >= 0:
                part = path_primitive(surface, item, local, b, e, same, last, corners, points, cells, boxes, found, part)
            k += 1
    return part


@exact_kernel("i8, i8, surface, f8[::1], i8, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[:,::1], f8[:,::1], u1[::1]")
def surface_path_rows(start, stop, surface, frame, collider, paths, came, last, time, hit, normal, status):
    """Earliest crossing of each path with a displaced surface. Parts are patches (`pack_part`), normals of the upper side.

    status is set to 1 where the search came to its limit: the time is then a lower bound.
    """
    local, found = np.zeros(LOCAL), np.zeros(4)
    corners, points, cells, boxes = (
        np.empty((4, 3)),
        np.empty((8, 3)),
        np.empty((CELL_STACK, 3), np.int64),
        np.empty((CELLS, 6)),
    )
    b6 = surface.node_boxes
    # `float` would leave them as they are, of 32 bits.
    low = np.float64(b6[0, 0]), np.float64(b6[0, 1]), np.float64(b6[0, 2])
    high = np.float64(b6[0, 3]), np.float64(b6[0, 4]), np.float64(b6[0, 5])
    for row in range(start, stop):
        path_into_frame(frame, paths, row, local)
        pieces = path_pieces(local, time[row], low, high)
        if pieces == 0:
            continue
        path_exactly(frame, paths, came, row, local)
        same = _I(last[row, 0] == collider)
        found[TIME] = time[row]
        part = path_surface(surface, local, pieces, same, last[row, 1], corners, points, cells, boxes, found)
        # A crossing at the very time of an earlier collider's does not count.
        if part >= 0 and (found[TIME] < time[row] or (hit[row, 0] >= 0 and collider < hit[row, 0])):
            load_patch(surface, part_quad(part), part_x(part), part_y(part), corners)
            n = patch_normal(corners, found[PLACE_A], found[PLACE_B])
            write_hit(frame, ROTATION, row, found[TIME], collider, part, n, time, hit, normal)
            status[row] = _I(found[DOUBT])


@exact_kernel("i8, i8, surface, f8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1]")
def patch_place_rows(start, stop, surface, frame, parts, points, place_out, local_out):
    """Places (s, t) in the map of points on patches, world frame. local_out is work space: (N, LOCAL)."""
    corners = np.empty((4, 3))
    for row in range(start, stop):
        quad, x, y = part_quad(parts[row]), part_x(parts[row]), part_y(parts[row])
        local = local_out[row]
        path_into_frame(frame, points, row, local)
        p = (local[0], local[1], local[2])
        load_patch(surface, quad, x, y, corners)
        for k in range(4):
            for axis in range(3):
                corners[k, axis] -= p[axis]
        a, b = 0.5, 0.5
        # Along the normal of the place found: twice, since the first is that of the middle.
        for _ in range(4):
            n = patch_normal(corners, a, b)
            _done, a, b, _length = line_meets_patch(corners, (0.0, 0.0, 0.0), n, a, b, 0.0)
            a, b = min(max(a, 0.0), 1.0), min(max(b, 0.0), 1.0)
        place_out[row, 0] = (x + a) / surface.ratio + surface.quads[quad, S]
        place_out[row, 1] = (y + b) / surface.ratio + surface.quads[quad, T]
