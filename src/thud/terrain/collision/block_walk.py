"""First hits of many rays with a displaced surface, by the boxes of `ray_blocks.py`.

The tree over the quads is walked nearest first, eight boxes at once, then the pyramid of a quad alike. In a block the nine
samples are computed and seen along the ray; patches that it passes by there are culled, the others solved as in `rays.py`: both
ways have the same answers.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud._core.simd import prefetch, ray_box8, trailing_zeros
from thud.bvh.wide import NODE_STRIDE, REFERENCES, STACK, WIDTH
from thud.constants import UNIT_ROUNDOFF
from thud.geometry.exact_vec3 import load3
from thud.mesh.raycast import box_limit, box_ray, inverse, pick, row_of, sort_rays
from thud.mesh.tolerances import RAY_SORT_BLOCK
from thud.terrain.collision.outline import in_outline, outline
from thud.terrain.collision.ray_blocks import BLOCK_NODE, FIRST_NODE, PATCHES, WHOLE, finest_nodes, gather_bits
from thud.terrain.collision.rays import earlier, ray_patch, world_ray, write_hit
from thud.terrain.collision.tolerances import PATCH_RAY_EDGE, RAY_TIE
from thud.terrain.sampling import node_point
from thud.terrain.surface_arrays import COUNT, FIRST, MATERIAL, V3, S, T

_I = np.int64
_F = np.float32

#: Rooms for what waits of a pyramid: 7 for each of its levels, and the number of these (counts).
_WAITING, _LEVELS = 96, 12


@exact_device
def covered(surface, quad, i, j):
    """Whether some primitive of the quad has a part of patch (i, j)."""
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        if in_outline(outline(surface, k), i, j, i + 1, j + 1):
            return True
    return False


@exact_device
def triangle_points(surface, quad, x0, y0, across, up, points_out):
    """The samples of a block that lies in one triangle of its quad, without details: to the bit those of `node_point`, whose
    whole numbers grow from node to node by the same amounts. Returns whether there is such a triangle."""
    gx, gy = x0 + _I(surface.quads[quad, S]), y0 + _I(surface.quads[quad, T])
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        if surface.primitives[k, V3] >= 0 or surface.primitives[k, MATERIAL] >= 0:
            return False
        a, b, c = surface.primitives[k, 0], surface.primitives[k, 1], surface.primitives[k, 2]
        s0, t0 = _I(surface.coordinates[a, 0]), _I(surface.coordinates[a, 1])
        s1, t1 = _I(surface.coordinates[b, 0]) - s0, _I(surface.coordinates[b, 1]) - t0
        s2, t2 = _I(surface.coordinates[c, 0]) - s0, _I(surface.coordinates[c, 1]) - t0
        whole = s1 * t2 - s2 * t1
        w1, w2 = (gx - s0) * t2 - s2 * (gy - t0), s1 * (gy - t0) - (gx - s0) * t1
        # At the corners of the block, where they are least.
        least1 = w1 + min(0, across * t2) + min(0, -up * s2)
        least2 = w2 + min(0, -across * t1) + min(0, up * s1)
        most = w1 + w2 + max(0, across * (t2 - t1)) + max(0, up * (s1 - s2))
        if least1 < 0 or least2 < 0 or most > whole:
            continue
        # In registers: what is written might else be what is read next.
        v, lengths = surface.vertices, surface.displacements
        ax, ay, az, dax, day, daz = v[a, 0], v[a, 1], v[a, 2], v[a, 3], v[a, 4], v[a, 5]
        bx, by, bz, dbx, dby, dbz = v[b, 0], v[b, 1], v[b, 2], v[b, 3], v[b, 4], v[b, 5]
        cx, cy, cz, dcx, dcy, dcz = v[c, 0], v[c, 1], v[c, 2], v[c, 3], v[c, 4], v[c, 5]
        # Of a power of two a product with its inverse has the quotient's bits. Whole numbers are the same as floats.
        power, full, part = whole & (whole - 1) == 0, np.float64(whole), 1.0 / whole
        f1, f2, along1, along2 = np.float64(w1), np.float64(w2), np.float64(t2), np.float64(-t1)
        upward1, upward2 = np.float64(-s2), np.float64(s1)
        for y in range(up + 1):
            for x in range(across + 1):
                u1, u2 = f1 + x * along1 + y * upward1, f2 + x * along2 + y * upward2
                if power:
                    l0, l1, l2 = (full - u1 - u2) * part, u1 * part, u2 * part
                else:
                    l0, l1, l2 = (full - u1 - u2) / full, u1 / full, u2 / full
                length = np.float64(lengths[gy + y, gx + x])
                # A sum of zeros may have either sign.
                px, qx = l0 * ax + l1 * bx + l2 * cx + 0.0, l0 * dax + l1 * dbx + l2 * dcx + 0.0
                py, qy = l0 * ay + l1 * by + l2 * cy + 0.0, l0 * day + l1 * dby + l2 * dcy + 0.0
                pz, qz = l0 * az + l1 * bz + l2 * cz + 0.0, l0 * daz + l1 * dbz + l2 * dcz + 0.0
                points_out[y, x, 0], points_out[y, x, 1], points_out[y, x, 2] = (
                    px + length * qx,
                    py + length * qy,
                    pz + length * qz,
                )
        return True
    return False


@exact_device
def four_range(seen, y, x, c):
    """Least and greatest of coordinate c across the ray of the corners of patch (x, y) of a block."""
    p, q, r, s = seen[y, x, c], seen[y, x + 1, c], seen[y + 1, x, c], seen[y + 1, x + 1, c]
    return min(min(p, q), min(r, s)), max(max(p, q), max(r, s))


@exact_kernel(inner="surface, i8, i8, i8, i8, i8, vec3, vec3, f8, b1, i8, f8[:,:,::1], f8[:,:,::1], f8[::1], f8[:,::1]")
def ray_leaf(
    surface, quad, n, whole, bx, by, o, d, best, found, any_hit, points, seen, place_out, struck_out
):  # fmt: skip
    """(hit, distance) of a ray and the up to four patches of a block, if before `best`; place_out: quad, x, y, a, b;
    struck_out: the corners of the patch."""
    across, up = min(2, n - 2 * bx), min(2, n - 2 * by)
    if surface.ratio > 1 or not triangle_points(surface, quad, 2 * bx, 2 * by, across, up, points):
        for y in range(up + 1):
            for x in range(across + 1):
                p = node_point(surface, quad, 2 * bx + x, 2 * by + y)
                points[y, x, 0], points[y, x, 1], points[y, x, 2] = p
    # Seen along the ray, which is the origin there: a patch lies in the hull of its corners.
    wx, wy, wz = abs(d[0]), abs(d[1]), abs(d[2])
    kz = 0 if wx >= wy and wx >= wz else (1 if wy >= wz else 2)
    kx = kz + 1 if kz < 2 else 0
    ky = kx + 1 if kx < 2 else 0
    ox, oy, oz, reach = pick(o, kx), pick(o, ky), pick(o, kz), 0.0
    sx, sy = pick(d, kx) / pick(d, kz), pick(d, ky) / pick(d, kz)
    for y in range(up + 1):
        for x in range(across + 1):
            z = points[y, x, kz] - oz
            seen[y, x, 0], seen[y, x, 1] = points[y, x, kx] - ox - sx * z, points[y, x, ky] - oy - sy * z
            reach = max(reach, abs(z))
    for y in range(up):
        for x in range(across):
            lx, ux = four_range(seen, y, x, 0)
            ly, uy = four_range(seen, y, x, 1)
            # Patches are met a little beyond their borders, and coordinates have a roundoff.
            slack = 8.0 * PATCH_RAY_EDGE * ((ux - lx) + (uy - ly)) + 64.0 * UNIT_ROUNDOFF * reach
            if lx > slack or ux < -slack or ly > slack or uy < -slack:
                continue
            i, j = 2 * bx + x, 2 * by + y
            if whole == 0 and not covered(surface, quad, i, j):
                continue
            p00, p10 = load3(points[y], x, 0), load3(points[y], x + 1, 0)
            p01, p11 = load3(points[y + 1], x, 0), load3(points[y + 1], x + 1, 0)
            hit, distance, u, v = ray_patch(p00, p10, p01, p11, o, d, best)
            if hit and (not found or distance < best or earlier(quad, i, j, place_out)):
                found, best = True, distance
                place_out[0], place_out[1], place_out[2], place_out[3], place_out[4] = quad, i, j, u, v
                struck_out[0, 0], struck_out[0, 1], struck_out[0, 2] = p00
                struck_out[1, 0], struck_out[1, 1], struck_out[1, 2] = p10
                struck_out[2, 0], struck_out[2, 1], struck_out[2, 2] = p01
                struck_out[3, 0], struck_out[3, 1], struck_out[3, 2] = p11
                if any_hit:
                    return found, best
    return found, best


@exact_device
def push_nearest(stack, times, depth, begin, item, time):
    """Put an item on the stack, below those of its siblings, from `begin` on, that are nearer. Returns the new depth."""
    at = depth
    while at > begin and times[at - 1] < time:
        stack[at], times[at] = stack[at - 1], times[at - 1]
        at -= 1
    stack[at], times[at] = item, time
    return depth + 1


@exact_device
def quad_ray(o, d, begin, frames, quad):
    """What `ray_box8` needs of a ray in a quad's pyramid: (row offsets), (1 / d), (near), (far), and the unit of distance, m.
    The ray begins at `begin`, in 255ths of the quad; distances are in units of the largest of these."""
    unit = max(frames[quad, 3], max(frames[quad, 4], frames[quad, 5]))
    ix, iy, iz = (
        inverse(unit * d[0] / frames[quad, 3]), inverse(unit * d[1] / frames[quad, 4]), inverse(unit * d[2] / frames[quad, 5])
    )  # fmt: skip
    px, sx = quad_start(o[0], d[0], begin, frames[quad, 0], frames[quad, 3])
    py, sy = quad_start(o[1], d[1], begin, frames[quad, 1], frames[quad, 4])
    pz, sz = quad_start(o[2], d[2], begin, frames[quad, 2], frames[quad, 5])
    sx, sy, sz = sx * abs(ix), sy * abs(iy), sz * abs(iz)
    cx, cy, cz = px * ix, py * iy, pz * iz
    rows = (0 if ix >= 0.0 else 24, 8 if iy >= 0.0 else 32, 16 if iz >= 0.0 else 40)
    near = (_F(cx + sx), _F(cy + sy), _F(cz + sz))
    far = (_F(cx - sx), _F(cy - sy), _F(cz - sz))
    return rows, (_F(ix), _F(iy), _F(iz)), near, far, unit


@exact_device
def quad_start(o, d, begin, lower, step):
    """(place, slack) along an axis where a ray enters a quad, in 255ths of it: roundoff of the place itself, and what a test in
    float32 needs (`box_ray` of meshes)."""
    place = (o + begin * d - lower) / step
    error = 8.0 * UNIT_ROUNDOFF * (abs(o) + abs(begin * d) + abs(lower)) / step
    return place, error + 8.0 * 2.0**-24 * (256.0 + abs(place))


@exact_kernel(
    "i8, i8, surface, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, f4[::1], i4[::1], f8[::1], i8[:,::1], f8[:,::1], u1[::1], "
    "f8[::1], f8[:,::1], f8[:,::1], i8[::1]"
)
def block_ray_rows(
    start, stop, surface, origins, directions, poses, reach, any_hit, nodes, references, frame, quads, frames, boxes,
    distance_out, point_out, normal_out, quad_out,
):  # fmt: skip
    """First hits, from either side; normals to the upper side; world frame. Rays are taken in an order in which neighbours pass
    through the same nodes; each is computed alone."""
    struck, points, seen, place = np.zeros((4, 3)), np.empty((3, 3, 3)), np.empty((3, 3, 2)), np.zeros(5)
    stack, stack_t = np.empty(STACK, np.int64), np.empty(STACK, np.float32)
    waiting, waiting_t, levels = np.empty(_WAITING, np.int64), np.empty(_WAITING, np.float32), np.empty(_LEVELS, np.int64)
    t_box = np.empty(8, np.float32)
    block = min(stop - start, RAY_SORT_BLOCK)
    keys, bins, order = np.empty(block, np.int32), np.empty(2**15, np.int32), np.empty(block, np.int32)
    for first in range(start, stop, block):
        count = min(block, stop - first)
        sort_rays(first, count, origins, directions, poses, frame, keys, bins, order)
        for index in range(count):
            row = first + order[index]
            soon = first + order[min(index + 6, count - 1)]
            prefetch(origins, 3 * row_of(origins, soon))
            prefetch(directions, 3 * row_of(directions, soon))
            o_world, d_world, o, d, skip = world_ray(surface, origins, directions, poses, row)
            best, found = reach - skip, False
            (nx, ny, nz), (ix, iy, iz), near, far, skipped, slack = box_ray(o, d, frame)
            limit = box_limit(best, skipped, slack, frame[3])
            stack[0], stack_t[0], depth = 0, 0.0, 1
            while depth > 0:
                depth -= 1
                if stack_t[depth] > limit:
                    continue
                reference = stack[depth]
                if reference >= 0:
                    base, begin = reference * NODE_STRIDE, depth
                    mask = ray_box8(
                        nodes, base, nx, ny, nz, ix, iy, iz, near[0], near[1], near[2], far[0], far[1], far[2], limit, t_box
                    )
                    while mask != 0:
                        lane = trailing_zeros(mask)
                        mask &= mask - np.uint32(1)
                        child = _I(references[base + REFERENCES + lane])
                        depth = push_nearest(stack, stack_t, depth, begin, child, t_box[lane])
                    continue
                quad, enter = ~reference, (np.float64(stack_t[depth]) + skipped) * frame[3]
                # The pyramid: first nodes of its levels, the finest first.
                level, size = 0, finest_nodes(quads[quad, PATCHES])
                levels[0] = quads[quad, FIRST_NODE]
                while size > 1:
                    levels[level + 1], size = levels[level] + size, (size + WIDTH - 1) // WIDTH
                    level += 1
                (mx, my, mz), (jx, jy, jz), close, away, unit = quad_ray(o, d, enter, frames, quad)
                end = quad_limit(best, enter, unit)
                # An item: its level, counted from 1, and its number there; level 0 is a block.
                waiting[0], waiting_t[0], left = _I(level + 1) << 32, 0.0, 1
                while left > 0:
                    left -= 1
                    if waiting_t[left] > end:
                        continue
                    level, number = waiting[left] >> 32, waiting[left] & 0xFFFFFFFF
                    if level > 0:
                        base, begin = (levels[level - 1] + number) * BLOCK_NODE, left
                        mask = ray_box8(
                            boxes, base, mx, my, mz, jx, jy, jz, close[0], close[1], close[2], away[0], away[1], away[2], end,
                            t_box,
                        )  # fmt: skip
                        while mask != 0:
                            lane = trailing_zeros(mask)
                            mask &= mask - np.uint32(1)
                            child = ((level - 1) << 32) | (number * WIDTH + lane)
                            left = push_nearest(waiting, waiting_t, left, begin, child, t_box[lane])
                        continue
                    bx, by = gather_bits(number), gather_bits(number >> 1)
                    if 2 * bx >= quads[quad, PATCHES] or 2 * by >= quads[quad, PATCHES]:
                        # A lane without a block, in a quad so flat that its box is as good as any.
                        continue
                    before = best
                    found, best = ray_leaf(
                        surface, quad, quads[quad, PATCHES], quads[quad, WHOLE], bx, by, o, d, best, found, any_hit, points,
                        seen, place, struck,
                    )  # fmt: skip
                    if found and any_hit:
                        break
                    if best < before:
                        end = quad_limit(best, enter, unit)
                limit = box_limit(best, skipped, slack, frame[3])
                if found and any_hit:
                    break
            write_hit(
                o_world, d_world, poses, row, found, skip + best, struck, place, distance_out, point_out, normal_out, quad_out
            )


@exact_device
def quad_limit(best, enter, unit):
    """A distance in a quad's units, from where the ray enters it; no box with a hit at up to `best` metres begins behind it."""
    t = (RAY_TIE * best - enter) / unit
    return _F(t + 2.0**-10 + 2.0**-20 * abs(t))
