"""Rays against a displaced surface: down the tree and the bounding volumes to the bilinear patches.

A ray meets a bilinear patch where it meets a line of constant u: a quadratic in u (Ramsey, Potter and Hansen 2004, "Ray
bilinear patch intersections"; solved as by Reshetov 2019, "Cool patches").
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import RAY_BOX_SLACK
from thud.geometry.exact_vec3 import cross, dot, load3, sub
from thud.mesh.raycast import into_frame, out_of_frame, row_of, unit
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.outline import in_outline, outline, push_coarsest, push_finer
from thud.terrain.collision.patch import load_patch, patch_normal
from thud.terrain.collision.tolerances import PATCH_RAY_EDGE, RAY_TIE
from thud.terrain.collision.volumes import box_of, load_cell
from thud.terrain.collision.work_space import CELL_STACK
from thud.terrain.surface_arrays import QUAD

_I = np.int64


@exact_device
def at_u(q00, q10, e00, e11, d, u, nearest, farthest):
    """(hit, distance, v) on the line of constant u."""
    pa = (q00[0] + u * (q10[0] - q00[0]), q00[1] + u * (q10[1] - q00[1]), q00[2] + u * (q10[2] - q00[2]))
    pb = (e00[0] + u * (e11[0] - e00[0]), e00[1] + u * (e11[1] - e00[1]), e00[2] + u * (e11[2] - e00[2]))
    n = cross(d, pb)
    whole = dot(n, n)
    if not whole > 0.0:
        return False, 0.0, 0.0
    n = cross(n, pa)
    distance, v = dot(n, pb) / whole, dot(n, d) / whole
    inside = -PATCH_RAY_EDGE <= v <= 1.0 + PATCH_RAY_EDGE and nearest <= distance <= farthest
    return inside, distance, v


@exact_device
def patch_roots(p00, p10, p01, p11, o, d, farthest):
    """(hit, distance, u, v) twice: where a ray from o along d meets a patch up to `farthest`. Edges belong to both sides."""
    q00, q10 = sub(p00, o), sub(p10, o)
    e00, e11 = sub(p01, p00), sub(p11, p10)
    # a + b u + c u^2 = 0: the ray and the line of constant u lie in one plane.
    a = dot(cross(q00, d), e00)
    whole = dot(cross(q10, d), e11)
    c = dot(cross(sub(q10, q00), sub(e00, e11)), d)
    b = whole - a - c
    hit0, distance0, u0, v0 = False, 0.0, 0.0, 0.0
    hit1, distance1, u1, v1 = False, 0.0, 0.0, 0.0
    under = b * b - 4.0 * a * c
    if under >= 0.0:
        root = -0.5 * (b + math.copysign(math.sqrt(under), b))
        if c != 0.0:
            u0 = root / c
            if -PATCH_RAY_EDGE <= u0 <= 1.0 + PATCH_RAY_EDGE:
                hit0, distance0, v0 = at_u(q00, q10, e00, e11, d, u0, 0.0, farthest)
        # Both roots at 0, or all coefficients but c vanish.
        u1 = a / root if root != 0.0 else 0.0
        if -PATCH_RAY_EDGE <= u1 <= 1.0 + PATCH_RAY_EDGE:
            hit1, distance1, v1 = at_u(q00, q10, e00, e11, d, u1, 0.0, farthest)
    return hit0, distance0, u0, v0, hit1, distance1, u1, v1


@exact_kernel(inner="f8[:,::1], vec3, vec3, f8, f8[:,::1]")
def ray_patch_crossings(corners, o, d, farthest, out):
    """Number of times, 0 to 2, that a ray from o along d meets a patch up to `farthest`; out rows: distance, u, v."""
    p00, p10, p01, p11 = load3(corners, 0, 0), load3(corners, 1, 0), load3(corners, 2, 0), load3(corners, 3, 0)
    hit0, distance0, u0, v0, hit1, distance1, u1, v1 = patch_roots(p00, p10, p01, p11, o, d, farthest)
    count = _I(0)
    if hit0:
        out[count, 0], out[count, 1], out[count, 2] = distance0, u0, v0
        count += 1
    if hit1:
        out[count, 0], out[count, 1], out[count, 2] = distance1, u1, v1
        count += 1
    return count


@exact_device
def ray_patch(p00, p10, p01, p11, o, d, farthest):
    """(hit, distance, u, v): the first meeting of the two."""
    hit0, distance0, u0, v0, hit1, distance1, u1, v1 = patch_roots(p00, p10, p01, p11, o, d, farthest)
    if hit1 and (not hit0 or distance1 <= distance0):
        return True, distance1, u1, v1
    return hit0, distance0 if hit0 else farthest, u0, v0


@exact_device
def ray_box(o, d, lx, ly, lz, ux, uy, uz, farthest):
    """Whether a ray enters a box of patches before `farthest`; never missed by rounding, nor where it meets a patch beyond its
    border."""
    enter, leave = 0.0, RAY_TIE * farthest
    slack = 4.0 * PATCH_RAY_EDGE * ((ux - lx) + (uy - ly) + (uz - lz))
    for axis in range(3):
        low = (lx if axis == 0 else (ly if axis == 1 else lz)) - slack
        high = (ux if axis == 0 else (uy if axis == 1 else uz)) + slack
        if d[axis] == 0.0:
            if o[axis] < low or o[axis] > high:
                return False
            continue
        x, y = (low - o[axis]) / d[axis], (high - o[axis]) / d[axis]
        enter, leave = max(enter, min(x, y)), min(leave, max(x, y) * RAY_BOX_SLACK)
    return enter <= leave


@exact_device
def way_to_box(o, d, boxes):
    """How far a ray may go before it can be in the first of the boxes, less than a box before it; 0 from nearby."""
    gap2, size2 = 0.0, 0.0
    for axis in range(3):
        gap = max(0.0, max(np.float64(boxes[0, axis]) - o[axis], o[axis] - np.float64(boxes[0, axis + 3])))
        size = np.float64(boxes[0, axis + 3]) - np.float64(boxes[0, axis])
        gap2, size2 = gap2 + gap * gap, size2 + size * size
    # Not before it is farther away than the box is wide.
    return math.sqrt(gap2) if gap2 > size2 else 0.0


# The descent -----------------------------------------------------------------------------------------------------------------


@exact_device
def near_surface(surface, o, d):
    """(o, d, skip): a ray's origin, moved along it by `skip` to where it comes near the surface, and its direction. From far
    away digits are lost, and a ray slips between patches."""
    skip = way_to_box(o, d, surface.node_boxes)
    return (o[0] + skip * d[0], o[1] + skip * d[1], o[2] + skip * d[2]), d, skip


@exact_device
def world_ray(surface, origins, directions, poses, row):
    """(origin, unit direction) in the world, then as `near_surface` has them in the surface's frame."""
    o = load3(origins, row_of(origins, row), 0)
    d = unit(load3(directions, row_of(directions, row), 0))
    at = row_of(poses, row)
    start, along, skip = near_surface(surface, into_frame(poses, at, o, True), into_frame(poses, at, d, False))
    return o, d, start, along, skip


@exact_device
def next_primitive(surface, o, d, farthest, k):
    """(primitive, node to continue from): from node k on, the next primitive whose box a ray enters before `farthest`; -1 where
    there is none."""
    b6 = surface.node_boxes
    item = _I(-1)
    while item < 0 and k < surface.node_ints.shape[0]:
        lx, ly, lz = np.float64(b6[k, 0]), np.float64(b6[k, 1]), np.float64(b6[k, 2])
        ux, uy, uz = np.float64(b6[k, 3]), np.float64(b6[k, 4]), np.float64(b6[k, 5])
        if ray_box(o, d, lx, ly, lz, ux, uy, uz, farthest):
            item = _I(surface.node_ints[k, 1])
            k += 1
        else:
            k = _I(surface.node_ints[k, 0])
    return item, k


@exact_device
def next_cell(surface, quad, shape, o, d, farthest, points, cells, depth):
    """(cells left on the stack, step, x, y): the next cell of a primitive that a ray may meet before `farthest` and that is
    looked at patch by patch; step is 0 where there is none."""
    while depth > 0:
        depth -= 1
        step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
        finer = step // 2
        if step > 1:
            code, flat = load_cell(surface, quad, step, x, y, points)
            if code != EXTREME:
                lx, ly, lz, ux, uy, uz = box_of(points, 8)
                if not ray_box(o, d, lx, ly, lz, ux, uy, uz, farthest):
                    continue
            finer >>= flat
        if finer < 2:
            return depth, step, x, y
        depth = push_finer(surface, shape, step, x, y, finer, cells, depth)
    return depth, _I(0), _I(0), _I(0)


# The first hit ---------------------------------------------------------------------------------------------------------------


@exact_device
def earlier(quad, i, j, place):
    """Whether a patch comes before the one that was found: of hits at one distance, on an edge, the first counts, so that the
    order of the walk does not."""
    return quad < place[0] or (quad == place[0] and (j < place[2] or (j == place[2] and i < place[1])))


@exact_kernel(inner="surface, i8, vec3, vec3, f8, b1, i8, f8[:,::1], f8[:,::1], i8[:,::1], f8[::1]")
def ray_primitive(surface, k, o, d, best, found, any_hit, corners, points, cells, place_out):
    """(hit, distance) of a ray and the patches of primitive k, and of those before if `found`; place_out: quad, x, y, a, b."""
    quad = _I(surface.primitives[k, QUAD])
    shape = outline(surface, k)
    depth = push_coarsest(surface, quad, shape, cells)
    while True:
        depth, step, x, y = next_cell(surface, quad, shape, o, d, best, points, cells, depth)
        if step == 0:
            break
        pace = step * surface.ratio
        for j in range(y * pace, (y + 1) * pace):
            for i in range(x * pace, (x + 1) * pace):
                if not in_outline(shape, i, j, i + 1, j + 1):
                    continue
                load_patch(surface, quad, i, j, corners)
                p00, p10, p01, p11 = load3(corners, 0, 0), load3(corners, 1, 0), load3(corners, 2, 0), load3(corners, 3, 0)
                hit, distance, u, v = ray_patch(p00, p10, p01, p11, o, d, best)
                if hit and (not found or distance < best or earlier(quad, i, j, place_out)):
                    found, best = True, distance
                    place_out[0], place_out[1], place_out[2], place_out[3], place_out[4] = quad, i, j, u, v
                    if any_hit:
                        return found, best
    return found, best


@exact_device
def write_hit(o, d, poses, row, found, best, struck, place, distance_out, point_out, normal_out, quad_out):
    """The first hit of a ray, or none, in the world; struck: the corners of its patch."""
    if not found:
        distance_out[row], quad_out[row] = math.inf, -1
        for axis in range(3):
            point_out[row, axis], normal_out[row, axis] = 0.0, 0.0
        return
    distance_out[row], quad_out[row] = best, _I(place[0])
    point_out[row, 0], point_out[row, 1], point_out[row, 2] = o[0] + best * d[0], o[1] + best * d[1], o[2] + best * d[2]
    n = out_of_frame(poses, row_of(poses, row), patch_normal(struck, place[3], place[4]))
    normal_out[row, 0], normal_out[row, 1], normal_out[row, 2] = n


@exact_kernel("i8, i8, surface, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, f8[::1], f8[:,::1], f8[:,::1], i8[::1], f8[:,::1]")
def surface_ray_rows(
    start, stop, surface, origins, directions, poses, reach, any_hit, distance_out, point_out, normal_out, quad_out, place_out
):
    """First hits, from either side; normals to the upper side; world frame. place_out: s, t of the map."""
    corners, points, cells = np.empty((4, 3)), np.empty((8, 3)), np.empty((CELL_STACK, 3), np.int64)
    place = np.zeros(5)
    for row in range(start, stop):
        o_world, d_world, o, d, skip = world_ray(surface, origins, directions, poses, row)
        best, found, k = reach - skip, False, _I(0)
        while True:
            item, k = next_primitive(surface, o, d, best, k)
            if item < 0:
                break
            found, best = ray_primitive(surface, item, o, d, best, found, any_hit, corners, points, cells, place)
            if found and any_hit:
                break
        place_out[row, 0], place_out[row, 1] = 0.0, 0.0
        if found:
            quad = _I(place[0])
            load_patch(surface, quad, _I(place[1]), _I(place[2]), corners)
            place_out[row, 0] = (place[1] + place[3]) / surface.ratio + surface.quads[quad, 0]
            place_out[row, 1] = (place[2] + place[4]) / surface.ratio + surface.quads[quad, 1]
        write_hit(
            o_world, d_world, poses, row, found, skip + best, corners, place, distance_out, point_out, normal_out, quad_out
        )


# All crossings ---------------------------------------------------------------------------------------------------------------

#: Columns of a crossing: distance, normal (3), quad, x and y of the patch, 1 at an edge of the patch.
ALONG, UPWARD, WHERE, AT_EDGE, CROSSING = 0, 1, 4, 7, 8


@exact_device
def at_edge(u, v):
    """Whether a neighbour of the patch may see the same crossing."""
    near = 4.0 * PATCH_RAY_EDGE
    return u <= near or u >= 1.0 - near or v <= near or v >= 1.0 - near


@exact_kernel(inner="surface, i8, vec3, vec3, f8, f8[:,::1], f8[:,::1], i8[:,::1], f8[:,::1], f8[:,::1], i8")
def primitive_crossings(surface, k, o, d, reach, corners, points, cells, crossings, table_out, count):
    """Append the crossings of a ray with the patches of primitive k, as far as there is room; the number with those before."""
    quad = _I(surface.primitives[k, QUAD])
    shape = outline(surface, k)
    depth = push_coarsest(surface, quad, shape, cells)
    while True:
        depth, step, x, y = next_cell(surface, quad, shape, o, d, reach, points, cells, depth)
        if step == 0:
            break
        pace = step * surface.ratio
        for j in range(y * pace, (y + 1) * pace):
            for i in range(x * pace, (x + 1) * pace):
                if not in_outline(shape, i, j, i + 1, j + 1):
                    continue
                load_patch(surface, quad, i, j, corners)
                for c in range(ray_patch_crossings(corners, o, d, reach, crossings)):
                    if count < table_out.shape[0]:
                        u, v = crossings[c, 1], crossings[c, 2]
                        n = patch_normal(corners, u, v)
                        table_out[count, ALONG] = crossings[c, 0]
                        for axis in range(3):
                            table_out[count, UPWARD + axis] = n[axis]
                        table_out[count, WHERE], table_out[count, WHERE + 1], table_out[count, WHERE + 2] = quad, i, j
                        table_out[count, AT_EDGE] = 1.0 if at_edge(u, v) else 0.0
                    count += 1
    return count


@exact_kernel("i8, i8, surface, f8[:,::1], f8[:,::1], f8, i8[::1], f8[:,:,::1]")
def surface_crossing_rows(start, stop, surface, origins, directions, reach, count_out, table_out):
    """All crossings of each ray with patches, in the surface's frame and in no order; one at an edge is there for each patch,
    one in a patch that two primitives share twice. count_out may be more than there was room for."""
    corners, points, cells = np.empty((4, 3)), np.empty((8, 3)), np.empty((CELL_STACK, 3), np.int64)
    crossings = np.empty((2, 3))
    for row in range(start, stop):
        o, d, skip = near_surface(surface, load3(origins, row, 0), load3(directions, row, 0))
        left, count, k = reach - skip, _I(0), _I(0)
        while True:
            item, k = next_primitive(surface, o, d, left, k)
            if item < 0:
                break
            count = primitive_crossings(surface, item, o, d, left, corners, points, cells, crossings, table_out[row], count)
        for c in range(min(count, table_out.shape[1])):
            table_out[row, c, ALONG] += skip
        count_out[row] = count
