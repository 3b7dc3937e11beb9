"""Drawing by Numba: which pixels a triangle or an edge covers, and at what depth.

Rules of coverage. Vertices are rounded to 1/256 of a pixel. A triangle covers a pixel if it holds its centre; a centre on
the side that two triangles share belongs to just one of them (that of which it is a left or a top side), so closed meshes
are counted without gaps or doubles. An edge covers one pixel in each column of centres that it crosses (in each row, if it
is steeper): the one it passes through there. Each end of an edge covers the pixel it lies in, so that no edge is lost
between pixels.
"""

from __future__ import annotations

import math

import numpy as np

from thud._jit import exact_device, exact_kernel

#: Parts of a pixel to which vertices are rounded; a power of two.
SUBPIXEL = 256
_HALF = SUBPIXEL // 2


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1]")
def snap_rows(start, stop, points, fixed_out):
    """Pixel coordinates in units of 1 / SUBPIXEL."""
    for k in range(start, stop):
        fixed_out[k, 0] = np.int64(math.floor(points[k, 0] * SUBPIXEL + 0.5))
        fixed_out[k, 1] = np.int64(math.floor(points[k, 1] * SUBPIXEL + 0.5))


@exact_device
def first_center(x):
    """First pixel whose centre is not before x."""
    return -((_HALF - x) // SUBPIXEL)


@exact_device
def last_center(x):
    """Last pixel whose centre is not beyond x."""
    return (x - _HALF) // SUBPIXEL


@exact_device
def owns_side(dx, dy):
    """Whether a centre on a side of a counter-clockwise triangle belongs to it: left sides go down, top sides to the left."""
    return dy < 0 or (dy == 0 and dx < 0)


@exact_device
def put_edge_pixel(x, y, z, edge, width, height, behind, depth, owner):
    """The nearest edge wins; at one depth the first. Only behind the last layer, where there is one."""
    if 0 <= x < width and 0 <= y < height:
        k = y * width + x
        if z > behind[k] and (z < depth[k] or (z == depth[k] and edge < owner[k])):
            depth[k], owner[k] = z, edge


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], f8[::1], i8[::1]")
def draw_edges(start, stop, fixed, points, edges, width, height, behind, depth, owner):
    """Pass 1: depth and number of the nearest edge of each pixel (beyond `behind`). Returns how many fragments were drawn."""
    fragments = 0
    for edge in range(start, stop):
        i, j = edges[edge, 0], edges[edge, 1]
        x0, y0, x1, y1 = fixed[i, 0], fixed[i, 1], fixed[j, 0], fixed[j, 1]
        z0, z1 = points[i, 2], points[j, 2]
        put_edge_pixel(x0 // SUBPIXEL, y0 // SUBPIXEL, z0, edge, width, height, behind, depth, owner)
        put_edge_pixel(x1 // SUBPIXEL, y1 // SUBPIXEL, z1, edge, width, height, behind, depth, owner)
        fragments += 2
        steep = abs(y1 - y0) > abs(x1 - x0)
        if steep:
            x0, y0, x1, y1 = y0, x0, y1, x1
        if x0 > x1:
            x0, y0, x1, y1, z0, z1 = x1, y1, x0, y0, z1, z0
        if x0 == x1:
            continue
        across = height if steep else width
        slope, fall = (y1 - y0) / (x1 - x0), (z1 - z0) / (x1 - x0)
        for x in range(max(first_center(x0), 0), min(last_center(x1), across - 1) + 1):
            run = x * SUBPIXEL + _HALF - x0
            y = np.int64(math.floor((y0 + run * slope) / SUBPIXEL))
            z = z0 + run * fall
            fragments += 1
            if steep:
                put_edge_pixel(y, x, z, edge, width, height, behind, depth, owner)
            else:
                put_edge_pixel(x, y, z, edge, width, height, behind, depth, owner)
    return fragments


@exact_device
def draw_triangle(
    fixed, points, i, j, k, x_low, y_low, x_high, y_high, width, depth, owner, front, back, stencil, mark, marks, touched,
    count,
):  # fmt: skip
    """Passes 2 and 3 of one triangle: where it covers a pixel of [x_low, x_high) x [y_low, y_high) in front of its edge,
    `front` or `back` is added to the stencil. touched: pixels that were written under this `mark`, `count` of them so far;
    without room they are not kept. Returns (count, fragments)."""
    x0, y0, x1, y1, x2, y2 = fixed[i, 0], fixed[i, 1], fixed[j, 0], fixed[j, 1], fixed[k, 0], fixed[k, 1]
    z0, z1, z2 = points[i, 2], points[j, 2], points[k, 2]
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area == 0:
        return count, 0
    add = front
    if area < 0:
        x1, y1, z1, x2, y2, z2 = x2, y2, z2, x1, y1, z1
        area, add = -area, back
    left, right = max(first_center(min(x0, x1, x2)), x_low), min(last_center(max(x0, x1, x2)), x_high - 1)
    low, high = max(first_center(min(y0, y1, y2)), y_low), min(last_center(max(y0, y1, y2)), y_high - 1)
    if left > right or low > high or add == 0:
        return count, 0
    # Twice the areas that a centre makes with the sides, less 1 where a centre on the side is not ours: then all are >= 0
    # inside.
    px, py = left * SUBPIXEL + _HALF, low * SUBPIXEL + _HALF
    ax, ay, bx, by, cx, cy = x1 - x0, y1 - y0, x2 - x1, y2 - y1, x0 - x2, y0 - y2
    row_a = ax * (py - y0) - ay * (px - x0) - (0 if owns_side(ax, ay) else 1)
    row_b = bx * (py - y1) - by * (px - x1) - (0 if owns_side(bx, by) else 1)
    row_c = cx * (py - y2) - cy * (px - x2) - (0 if owns_side(cx, cy) else 1)
    slope_x = ((z1 - z0) * (y2 - y0) - (z2 - z0) * (y1 - y0)) / area
    slope_y = ((z2 - z0) * (x1 - x0) - (z1 - z0) * (x2 - x0)) / area
    fragments = 0
    for y in range(low, high + 1):
        a, b, c = row_a, row_b, row_c
        base = z0 + slope_y * (y * SUBPIXEL + _HALF - y0)
        for x in range(left, right + 1):
            if (a | b | c) >= 0:
                at = y * width + x
                fragments += 1
                if owner[at] >= 0 and base + slope_x * (x * SUBPIXEL + _HALF - x0) < depth[at]:
                    if touched.shape[0] > 0 and marks[at] != mark:
                        marks[at], touched[count] = mark, at
                        count += 1
                    stencil[at] += add
            a, b, c = a - ay * SUBPIXEL, b - by * SUBPIXEL, c - cy * SUBPIXEL
        row_a, row_b, row_c = row_a + ax * SUBPIXEL, row_b + bx * SUBPIXEL, row_c + cx * SUBPIXEL
    return count, fragments


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], i8[::1], i8, i8, i4[::1]")
def count_faces(start, stop, fixed, points, triangles, width, height, depth, owner, front, back, stencil):
    """Passes 2 and 3 of triangles [start, stop) over the whole image. Returns how many fragments were drawn."""
    none = np.empty(0, np.int64)
    fragments = 0
    for t in range(start, stop):
        _, drawn = draw_triangle(
            fixed, points, triangles[t, 0], triangles[t, 1], triangles[t, 2], 0, 0, width, height, width,
            depth, owner, front, back, stencil, 0, none, none, 0,
        )  # fmt: skip
        fragments += drawn
    return fragments


@exact_kernel("i8[:,::1], i8[:,::1], i8, i8, i8, i8, i8[::1], i8[::1]")
def bin_triangles(fixed, triangles, tile, across, up, fill, starts, items_out):
    """Tiles that each triangle's box overlaps. fill 0: count them into starts[t + 1]; 1: write them behind starts[t]."""
    for t in range(triangles.shape[0]):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        left = max(first_center(min(fixed[i, 0], fixed[j, 0], fixed[k, 0])), 0) // tile
        right = min(last_center(max(fixed[i, 0], fixed[j, 0], fixed[k, 0])) // tile, across - 1)
        low = max(first_center(min(fixed[i, 1], fixed[j, 1], fixed[k, 1])), 0) // tile
        high = min(last_center(max(fixed[i, 1], fixed[j, 1], fixed[k, 1])) // tile, up - 1)
        for y in range(low, high + 1):
            for x in range(left, right + 1):
                at = y * across + x
                if fill == 0:
                    starts[at + 1] += 1
                else:
                    items_out[starts[at]] = t
                    starts[at] += 1


@exact_kernel(
    "i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8[::1], i8, i8, i8, i8[::1], i8[::1], f8[::1], i8[::1], i4[::1], i8[::1], i8, "
    "i8[:,:,::1], i8[::1], i8[::1]"
)
def contained_rows(
    start, stop, fixed, points, triangles, object_of, width, height, tile, starts, items, depth, owner, stencil, marks, room,
    found_out, count_out, fragments_out,
):  # fmt: skip
    """Passes 5 to 7 for every object at once, tile by tile: which objects hold the edge of a pixel.

    Triangles of a tile come object by object; after each one the pixels that it touched are looked at and reset. found_out:
    pixel, object, count (negative: more back than front faces, the object is not closed). count_out may exceed `room`.
    """
    across = (width + tile - 1) // tile
    touched = np.empty(tile * tile, np.int64)
    for at in range(start, stop):
        x_low, y_low = (at % across) * tile, (at // across) * tile
        x_high, y_high = min(x_low + tile, width), min(y_low + tile, height)
        found, many, drawn = 0, 0, 0
        begin = starts[at - 1] if at > 0 else 0
        for n in range(begin, starts[at]):
            t = items[n]
            many, more = draw_triangle(
                fixed, points, triangles[t, 0], triangles[t, 1], triangles[t, 2], x_low, y_low, x_high, y_high, width,
                depth, owner, 1, -1, stencil, object_of[t], marks, touched, many,
            )  # fmt: skip
            drawn += more
            if n + 1 == starts[at] or object_of[items[n + 1]] != object_of[t]:
                for m in range(many):
                    pixel = touched[m]
                    if stencil[pixel] != 0:
                        if found < room:
                            found_out[at, found, 0], found_out[at, found, 1] = pixel, object_of[t]
                            found_out[at, found, 2] = stencil[pixel]
                        found += 1
                        stencil[pixel] = 0
                many = 0
        count_out[at], fragments_out[at] = found, drawn


@exact_kernel("i8[::1], i4[::1], i8[::1], i8, i8, i8[:,::1], i8[::1]")
def pass_edges(owner, stencil, object_of, reset, write, colour, counts_out):
    """Pass 4: the edge whose depth is that of the buffer is the one that wrote it."""
    for k in range(owner.shape[0]):
        if owner[k] >= 0 and stencil[k] > 0:
            counts_out[object_of[owner[k]]] += 1
            if write != 0:
                colour[0, k] = owner[k]
            if reset != 0:
                stencil[k] = 0


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], i8[::1], i8, i4[::1], i8[:,::1], i8")
def pass_faces(start, stop, fixed, points, triangles, width, height, depth, owner, number, stencil, colour, write):
    """Pass 7 of an object's triangles: pixels in front of their edge whose stencil is at least 1. Returns (pixels,
    fragments)."""
    passed, fragments = 0, 0
    probe, touched = np.zeros(width * height, np.int32), np.empty(width * height, np.int64)
    marks = np.full(width * height, -1, np.int64)
    many = 0
    for t in range(start, stop):
        many, drawn = draw_triangle(
            fixed, points, triangles[t, 0], triangles[t, 1], triangles[t, 2], 0, 0, width, height, width,
            depth, owner, 1, 1, probe, 0, marks, touched, many,
        )  # fmt: skip
        fragments += drawn
    for m in range(many):
        k = touched[m]
        if stencil[k] >= 1:
            passed += 1
            stencil[k] = 0
            if write != 0:
                colour[1, k] = number
    return passed, fragments
