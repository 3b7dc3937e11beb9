"""Chords: the pieces of a pixel's ray that two objects share, by where the ray enters and leaves each.

All crossings of a ray are kept, not only the nearest (a layered depth image), so that nothing is hidden, and nothing is moved
outward as edges are: two equal meshes in one place share every chord. Coverage is as in `raster.py`: a closed mesh has
neither gaps nor doubles, and a point of a shared chord lies within 1/180 pixel of both objects. Depths are those of the
triangles as they are, not as they are rounded, so that sheets thinner than that keep their two sides apart.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import load3
from thud.geometry.mesh import point_in_mesh
from thud.imagespace.raster import SUBPIXEL, first_center, last_center, owns_side

_HALF = SUBPIXEL // 2

# What a crossing is: of which object, and whether the ray enters or leaves it there.
ENTERS_A, LEAVES_A, ENTERS_B, LEAVES_B = 0, 1, 2, 3


@exact_kernel
def project_vertices(row, first, last, vertices, rotations, lowers, pixels, at, fixed_out, place_out):
    """Vertices [first, last) of the world in the view of a row, written from `at` on: snapped pixels; pixels and depth."""
    r, low, pixel = rotations[row], lowers[row], pixels[row]
    for v in range(first, last):
        x, y, z = vertices[v, 0], vertices[v, 1], vertices[v, 2]
        k = at + v - first
        px = (x * r[0, 0] + y * r[0, 1] + z * r[0, 2] - low[0]) / pixel
        py = (x * r[1, 0] + y * r[1, 1] + z * r[1, 2] - low[1]) / pixel
        fixed_out[k, 0] = np.int64(math.floor(px * SUBPIXEL + 0.5))
        fixed_out[k, 1] = np.int64(math.floor(py * SUBPIXEL + 0.5))
        place_out[k, 0], place_out[k, 1] = px, py
        place_out[k, 2] = x * r[2, 0] + y * r[2, 1] + z * r[2, 2] - low[2]


@exact_device
def depth_inside(px, py, place, i, j, k, otherwise):
    """Depth of the triangle of the rows i, j, k of `place` at a pixel's centre, if it holds that; else `otherwise`."""
    ax, ay, bx, by = place[i, 0] - px, place[i, 1] - py, place[j, 0] - px, place[j, 1] - py
    cx, cy = place[k, 0] - px, place[k, 1] - py
    u, v, w = bx * cy - by * cx, cx * ay - cy * ax, ax * by - ay * bx
    if (u >= 0.0 and v >= 0.0 and w >= 0.0) or (u <= 0.0 and v <= 0.0 and w <= 0.0):
        total = u + v + w
        if total != 0.0:
            return (u * place[i, 2] + v * place[j, 2] + w * place[k, 2]) / total
    return otherwise


@exact_kernel
def cross_triangles(
    first, last, shift, triangles, fixed, place, enters, width, height, fill, places, depths_out, kinds_out, faces_out
):  # fmt: skip
    """Rays through triangles [first, last), whose vertices are `shift` rows up in `fixed` and `place`. fill 0: count
    crossings into `places`; 1: write them there, and on; pixels whose place is negative are left out."""
    crossed = 0
    for t in range(first, last):
        i, j, k = triangles[t, 0] + shift, triangles[t, 1] + shift, triangles[t, 2] + shift
        x0, y0, x1, y1, x2, y2 = fixed[i, 0], fixed[i, 1], fixed[j, 0], fixed[j, 1], fixed[k, 0], fixed[k, 1]
        left, right = max(first_center(min(x0, x1, x2)), 0), min(last_center(max(x0, x1, x2)), width - 1)
        low, high = max(first_center(min(y0, y1, y2)), 0), min(last_center(max(y0, y1, y2)), height - 1)
        area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
        if area == 0 or left > right or low > high:
            continue
        z0, z1, z2 = place[i, 2], place[j, 2], place[k, 2]
        kind = enters
        if area < 0:
            x1, y1, z1, x2, y2, z2 = x2, y2, z2, x1, y1, z1
            area, kind = -area, enters + 1
        ax, ay, bx, by, cx, cy = x1 - x0, y1 - y0, x2 - x1, y2 - y1, x0 - x2, y0 - y2
        px, py = left * SUBPIXEL + _HALF, low * SUBPIXEL + _HALF
        row_a = ax * (py - y0) - ay * (px - x0) - (0 if owns_side(ax, ay) else 1)
        row_b = bx * (py - y1) - by * (px - x1) - (0 if owns_side(bx, by) else 1)
        row_c = cx * (py - y2) - cy * (px - x2) - (0 if owns_side(cx, cy) else 1)
        slope_x = ((z1 - z0) * (y2 - y0) - (z2 - z0) * (y1 - y0)) / area
        slope_y = ((z2 - z0) * (x1 - x0) - (z1 - z0) * (x2 - x0)) / area
        for y in range(low, high + 1):
            a, b, c = row_a, row_b, row_c
            base = z0 + slope_y * (y * SUBPIXEL + _HALF - y0)
            for x in range(left, right + 1):
                if (a | b | c) >= 0:
                    at = y * width + x
                    if fill == 0:
                        places[at] += 1
                        crossed += 1
                    elif places[at] >= 0:
                        rounded = base + slope_x * (x * SUBPIXEL + _HALF - x0)
                        depths_out[places[at]] = depth_inside(x + 0.5, y + 0.5, place, i, j, k, rounded)
                        kinds_out[places[at]], faces_out[places[at]] = kind, t
                        places[at] += 1
                a, b, c = a - ay * SUBPIXEL, b - by * SUBPIXEL, c - cy * SUBPIXEL
            row_a, row_b, row_c = row_a + ax * SUBPIXEL, row_b + bx * SUBPIXEL, row_c + cx * SUBPIXEL
    return crossed


@exact_kernel
def sort_crossings(first, last, depths, kinds, faces):
    """By depth, in place; few of them."""
    for k in range(first + 1, last):
        z, kind, face = depths[k], kinds[k], faces[k]
        m = k
        while m > first and depths[m - 1] > z:
            depths[m], kinds[m], faces[m] = depths[m - 1], kinds[m - 1], faces[m - 1]
            m -= 1
        depths[m], kinds[m], faces[m] = z, kind, face


@exact_kernel
def shared_chord(first, last, depths, kinds, faces, near, far):
    """Of a ray's sorted crossings, and of what both objects share between the depths near and far: (length and middle of the
    longest chord; where the ray leaves A and enters B, for that piece of A from which B must be moved farthest along the
    ray; the triangles it passes there). Length 0 if there is none."""
    in_a, in_b = 0, 0
    begin, enter_b, face_b = 0.0, 0.0, -1
    length, middle, leave, enter, left, entered = 0.0, 0.0, 0.0, 0.0, -1, -1
    farthest, first_b, first_face = 0.0, math.inf, -1
    for k in range(first, last):
        z, kind = depths[k], kinds[k]
        before = in_a > 0 and in_b > 0
        if kind == ENTERS_A:
            in_a += 1
            if in_a == 1:
                first_b = math.inf
        elif kind == LEAVES_A:
            in_a -= 1
        elif kind == ENTERS_B:
            in_b += 1
            if in_b == 1:
                enter_b, face_b = z, faces[k]
        else:
            in_b -= 1
        now = in_a > 0 and in_b > 0
        if now and not before:
            begin = z
        elif before and not now and min(z, far) > max(begin, near):
            if enter_b < first_b:
                first_b, first_face = enter_b, face_b
            if z - begin > length:
                length, middle = z - begin, 0.5 * (z + begin)
        if kind == LEAVES_A and in_a == 0 and z - first_b > farthest:
            farthest, leave, enter, left, entered = z - first_b, z, first_b, faces[k], first_face
    return length, middle, leave, enter, left, entered


@exact_device
def pixels_of_both(count_a, count_b, starts_out):
    """Where the crossings of each pixel begin that has some of both objects; -1 elsewhere. Returns how many there are."""
    total = 0
    for k in range(count_a.shape[0]):
        if count_a[k] > 0 and count_b[k] > 0:
            starts_out[k] = total
            total += count_a[k] + count_b[k]
        else:
            starts_out[k] = -1
    return total


@exact_kernel(
    "i8, i8, i8[:,::1], f8[:,::1], i8[::1], i8[:,::1], i8[::1], f8[:,:,::1], f8[:,::1], f8[::1], f8[:,::1], i8, i8, i8[::1], "
    "i8[::1], f8[:,:,::1], i8[:,:,::1]"
)
def chord_rows(
    start, stop, pairs, vertices, vertex_starts, triangles, triangle_starts, rotations, lowers, pixels, ranges, width, height,
    count_out, work_out, map_out, face_out,
):  # fmt: skip
    """In how many pixels the objects of pairs [start, stop) share a chord, each pair in a view of its own, between the depths
    `ranges` of its row. work_out: pixels that its triangles covered. map_out[row, pixel], if it has rows: length and middle
    of the longest shared chord (length 0: none), where the ray leaves A, and where it enters B; face_out: the triangles
    there, -1 where there is none."""
    size = width * height
    count_a, count_b, places = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    no_depths, no_kinds, no_faces = np.empty(0), np.empty(0, np.int8), np.empty(0, np.int64)
    for row in range(start, stop):
        a, b = pairs[row, 0], pairs[row, 1]
        first_a, last_a, first_b, last_b = vertex_starts[a], vertex_starts[a + 1], vertex_starts[b], vertex_starts[b + 1]
        many, at_b = last_a - first_a + last_b - first_b, last_a - first_a
        fixed, place = np.empty((many, 2), np.int64), np.empty((many, 3))
        project_vertices(row, first_a, last_a, vertices, rotations, lowers, pixels, 0, fixed, place)
        project_vertices(row, first_b, last_b, vertices, rotations, lowers, pixels, at_b, fixed, place)
        count_a[:], count_b[:] = 0, 0
        ta, tb, end_a, end_b = triangle_starts[a], triangle_starts[b], triangle_starts[a + 1], triangle_starts[b + 1]
        up_a, up_b = -first_a, at_b - first_b
        work = cross_triangles(
            ta, end_a, up_a, triangles, fixed, place, ENTERS_A, width, height, 0, count_a, no_depths, no_kinds, no_faces
        )  # fmt: skip
        work += cross_triangles(
            tb, end_b, up_b, triangles, fixed, place, ENTERS_B, width, height, 0, count_b, no_depths, no_kinds, no_faces
        )  # fmt: skip
        total, shared = pixels_of_both(count_a, count_b, places), 0
        depths, kinds, faces = np.empty(total), np.empty(total, np.int8), np.empty(total, np.int64)
        if total > 0:
            cross_triangles(
                ta, end_a, up_a, triangles, fixed, place, ENTERS_A, width, height, 1, places, depths, kinds, faces
            )  # fmt: skip
            cross_triangles(
                tb, end_b, up_b, triangles, fixed, place, ENTERS_B, width, height, 1, places, depths, kinds, faces
            )  # fmt: skip
        for k in range(size):
            length, middle, leave, enter, left, entered = 0.0, 0.0, 0.0, 0.0, -1, -1
            if places[k] >= 0:
                first = places[k] - count_a[k] - count_b[k]
                sort_crossings(first, places[k], depths, kinds, faces)
                length, middle, leave, enter, left, entered = shared_chord(
                    first, places[k], depths, kinds, faces, ranges[row, 0], ranges[row, 1]
                )  # fmt: skip
                shared += length > 0.0
            if map_out.shape[0] > 0:
                map_out[row, k, 0], map_out[row, k, 1] = length, middle
                map_out[row, k, 2], map_out[row, k, 3] = leave, enter
                face_out[row, k, 0], face_out[row, k, 1] = left, entered
        count_out[row], work_out[row] = shared, work


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[:,::1], i8[::1], i8[::1], i8[::1]")
def held_rows(start, stop, pairs, vertices, triangles, triangle_starts, boxes, chosen, chosen_starts, vertex_out):
    """Which of the `chosen` vertices of one object of a pair lies in or on the other, exactly; -1 if none does."""
    for row in range(start, stop):
        vertex_out[row] = -1
        for side in range(2):
            inner, outer = pairs[row, side], pairs[row, 1 - side]
            faces = triangles[triangle_starts[outer] : triangle_starts[outer + 1]]
            for n in range(chosen_starts[inner], chosen_starts[inner + 1]):
                p = load3(vertices, chosen[n], 0)
                near = True
                for axis in range(3):
                    near = near and boxes[outer, axis] <= p[axis] <= boxes[outer, 3 + axis]
                if near and vertex_out[row] < 0 and point_in_mesh(p, vertices, faces):
                    vertex_out[row] = chosen[n]
