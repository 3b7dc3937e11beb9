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

from thud._core.decorators import exact_device, exact_kernel

#: Parts of a pixel to which vertices are rounded: 2 ** SHIFT. (x >> SHIFT is the pixel of x, also below 0.)
SHIFT = 8
SUBPIXEL = 1 << SHIFT
_HALF = SUBPIXEL // 2

#: Side of the blocks of pixels whose farthest edge is kept: 2 ** BLOCK_SHIFT pixels.
BLOCK_SHIFT = 3
BLOCK = 1 << BLOCK_SHIFT


@exact_kernel("i8, i8, f8[:,::1], i8[:,::1]")
def snap_rows(start, stop, points, fixed_out):
    """Pixel coordinates in units of 1 / SUBPIXEL."""
    for k in range(start, stop):
        fixed_out[k, 0] = np.int64(math.floor(points[k, 0] * SUBPIXEL + 0.5))
        fixed_out[k, 1] = np.int64(math.floor(points[k, 1] * SUBPIXEL + 0.5))


@exact_device
def first_center(x):
    """First pixel whose centre is not before x."""
    return (x + _HALF - 1) >> SHIFT


@exact_device
def last_center(x):
    """Last pixel whose centre is not beyond x."""
    return (x - _HALF) >> SHIFT


@exact_device
def owns_side(dx, dy):
    """Whether a centre on a side of a counter-clockwise triangle belongs to it: left sides go down, top sides to the left."""
    return dy < 0 or (dy == 0 and dx < 0)


@exact_device
def put_edge_pixel(x, y, z, edge, width, low, high, behind, depth, owner):
    """The nearest edge wins; at one depth the first, since edges come in order. Only behind the last layer, where there is
    one. Only in the rows [low, high). Returns how many pixels that covered."""
    if x < 0 or x >= width or y < low or y >= high:
        return 0
    k = y * width + x
    # Without branches: which edge is nearer is hard to foresee.
    nearer = (z > behind[k]) & (z < depth[k])
    depth[k] = z if nearer else depth[k]
    owner[k] = edge if nearer else owner[k]
    return 1


@exact_kernel("i8, i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], f8[::1], i8[::1], i8[::1]")
def draw_edges(start, stop, rows, fixed, points, edges, width, height, behind, depth, owner, fragments_out):
    """Pass 1 in the bands [start, stop) of `rows` rows each: depth and number of the nearest edge of each pixel (beyond
    `behind`). fragments_out: how many pixels were covered in each band."""
    for band in range(start, stop):
        low, high = band * rows, min((band + 1) * rows, height)
        fragments = 0
        for edge in range(edges.shape[0]):
            i, j = edges[edge, 0], edges[edge, 1]
            x0, y0, x1, y1 = fixed[i, 0], fixed[i, 1], fixed[j, 0], fixed[j, 1]
            bottom, top = min(y0, y1) >> SHIFT, max(y0, y1) >> SHIFT
            left, right = min(x0, x1) >> SHIFT, max(x0, x1) >> SHIFT
            if bottom >= high or top < low or left >= width or right < 0:
                continue
            z0, z1 = points[i, 2], points[j, 2]
            fragments += put_edge_pixel(x0 >> SHIFT, y0 >> SHIFT, z0, edge, width, low, high, behind, depth, owner)
            fragments += put_edge_pixel(x1 >> SHIFT, y1 >> SHIFT, z1, edge, width, low, high, behind, depth, owner)
            dx, dy = x1 - x0, y1 - y0
            if abs(dy) > abs(dx):
                if dy < 0:
                    x0, y0, z0, dx, dy, z1 = x1, y1, z1, -dx, -dy, z0
                slope, fall = dx / dy, (z1 - z0) / dy
                for y in range(max(first_center(y0), low), min(last_center(y0 + dy), high - 1) + 1):
                    run = y * SUBPIXEL + _HALF - y0
                    x = min(max(np.int64(math.floor((x0 + run * slope) / SUBPIXEL)), left), right)
                    fragments += put_edge_pixel(x, y, z0 + run * fall, edge, width, low, high, behind, depth, owner)
            elif dx != 0:
                if dx < 0:
                    x0, y0, z0, dx, dy, z1 = x1, y1, z1, -dx, -dy, z0
                slope, fall = dy / dx, (z1 - z0) / dx
                for x in range(max(first_center(x0), 0), min(last_center(x0 + dx), width - 1) + 1):
                    run = x * SUBPIXEL + _HALF - x0
                    y = min(max(np.int64(math.floor((y0 + run * slope) / SUBPIXEL)), bottom), top)
                    fragments += put_edge_pixel(x, y, z0 + run * fall, edge, width, low, high, behind, depth, owner)
        fragments_out[band] = fragments


@exact_kernel("f8, f8[::1], i8[::1], f8[::1]")
def finish_edges(far, depth, owner, limit_out):
    """Edges beyond `far` are not seen. limit_out: faces nearer than this are in front of a pixel's edge; -inf without one.
    Returns how many pixels have an edge."""
    count = 0
    for k in range(depth.shape[0]):
        if depth[k] > far:
            depth[k], owner[k] = math.inf, -1
        limit_out[k] = depth[k] if owner[k] >= 0 else -math.inf
        count += owner[k] >= 0
    return count


@exact_device
def pixel_box(fixed, i, j, k, x_low, y_low, x_high, y_high):
    """First and last column, first and last row of the centres of [x_low, x_high) x [y_low, y_high) in a triangle's box."""
    x0, x1, x2, y0, y1, y2 = fixed[i, 0], fixed[j, 0], fixed[k, 0], fixed[i, 1], fixed[j, 1], fixed[k, 1]
    left, right = max(first_center(min(x0, x1, x2)), x_low), min(last_center(max(x0, x1, x2)), x_high - 1)
    low, high = max(first_center(min(y0, y1, y2)), y_low), min(last_center(max(y0, y1, y2)), y_high - 1)
    return left, right, low, high


@exact_device
def draw_triangle(fixed, points, i, j, k, left, right, low, high, width, limit, front, back, stencil):
    """Passes 2 and 3 of one triangle in columns left..right and rows low..high: where it covers a pixel in front of its edge,
    `front` or `back` is added to the stencil. Returns how many pixels it covers."""
    x0, y0, x1, y1, x2, y2 = fixed[i, 0], fixed[i, 1], fixed[j, 0], fixed[j, 1], fixed[k, 0], fixed[k, 1]
    z0, z1, z2 = points[i, 2], points[j, 2], points[k, 2]
    area = (x1 - x0) * (y2 - y0) - (x2 - x0) * (y1 - y0)
    if area == 0 or left > right or low > high:
        return 0
    add = np.int32(front)
    if area < 0:
        x1, y1, z1, x2, y2, z2 = x2, y2, z2, x1, y1, z1
        area, add = -area, np.int32(back)
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
            # Without branches: which pixels pass is hard to foresee.
            at = y * width + x
            covered = (a | b | c) >= 0
            passes = covered & (base + slope_x * (x * SUBPIXEL + _HALF - x0) < limit[at])
            fragments += covered
            stencil[at] += add if passes else np.int32(0)
            a, b, c = a - ay * SUBPIXEL, b - by * SUBPIXEL, c - cy * SUBPIXEL
        row_a, row_b, row_c = row_a + ax * SUBPIXEL, row_b + bx * SUBPIXEL, row_c + cx * SUBPIXEL
    return fragments


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], i8, i8, i4[::1]")
def count_faces(start, stop, fixed, points, triangles, width, height, limit, front, back, stencil):
    """Passes 2 and 3 of triangles [start, stop) over the whole image. Returns how many fragments were drawn."""
    fragments = 0
    for t in range(start, stop):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        left, right, low, high = pixel_box(fixed, i, j, k, 0, 0, width, height)
        fragments += draw_triangle(fixed, points, i, j, k, left, right, low, high, width, limit, front, back, stencil)
    return fragments


@exact_kernel("i8, i8, i8, i8[:,::1], i8[:,::1], i8, i8, i8, i8, i8[:,::1], i8[::1]")
def bin_triangles(start, stop, size, fixed, triangles, tile, across, up, fill, places, items_out):
    """Tiles that each triangle's box overlaps, for chunks [start, stop) of `size` triangles. fill 0: count them into
    places[chunk, tile]; 1: write them there, and on."""
    for chunk in range(start, stop):
        for t in range(chunk * size, min((chunk + 1) * size, triangles.shape[0])):
            i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            # A triangle between the centres of pixels covers none.
            x0, x1, x2, y0, y1, y2 = fixed[i, 0], fixed[j, 0], fixed[k, 0], fixed[i, 1], fixed[j, 1], fixed[k, 1]
            left, right = first_center(min(x0, x1, x2)), last_center(max(x0, x1, x2))
            low, high = first_center(min(y0, y1, y2)), last_center(max(y0, y1, y2))
            if left > right or low > high:
                continue
            left, right = max(left, 0) // tile, min(right // tile, across - 1)
            low, high = max(low, 0) // tile, min(high // tile, up - 1)
            for y in range(low, high + 1):
                for x in range(left, right + 1):
                    at = y * across + x
                    if fill != 0:
                        items_out[places[chunk, at]] = t
                    places[chunk, at] += 1


@exact_device
def farthest_edges(limit, width, x_low, y_low, x_high, y_high, blocks):
    """The farthest edge of each block of BLOCK x BLOCK pixels of a tile; -inf without any. Returns blocks a row."""
    across = (x_high - x_low + BLOCK - 1) >> BLOCK_SHIFT
    for b in range(blocks.shape[0]):
        blocks[b] = -math.inf
    for y in range(y_low, y_high):
        row = ((y - y_low) >> BLOCK_SHIFT) * across
        for x in range(x_low, x_high):
            b = row + ((x - x_low) >> BLOCK_SHIFT)
            blocks[b] = max(blocks[b], limit[y * width + x])
    return across


@exact_device
def is_behind(nearest, left, right, low, high, across, blocks):
    """Whether a triangle is behind all edges of the blocks of a tile that its box (columns and rows in the tile) overlaps."""
    for y in range(low >> BLOCK_SHIFT, (high >> BLOCK_SHIFT) + 1):
        for x in range(left >> BLOCK_SHIFT, (right >> BLOCK_SHIFT) + 1):
            if nearest <= blocks[y * across + x]:
                return False
    return True


@exact_kernel(
    "i8, i8, i8[::1], i8[:,::1], f8[:,::1], i8[:,::1], i8[::1], i8, i8, i8, i8[::1], i8[::1], f8[::1], i4[::1], "
    "i8[:,:,::1], i8[::1], i8[::1]"
)
def contained_rows(
    start, stop, tiles, fixed, points, triangles, object_of, width, height, tile, starts, items, limit, stencil, found_out,
    count_out, fragments_out,
):  # fmt: skip
    """Passes 5 to 7 for every object at once, tile by tile: which objects hold the edge of a pixel.

    Triangles of a tile come object by object; after each one the pixels of its box are looked at and reset. Those that
    are behind all edges around them count nowhere and are left out. found_out: pixel, object, count (negative: more back than
    front faces, the object is not closed), as far as there is room; count_out: how many there are.
    """
    room = found_out.shape[1]
    across = (width + tile - 1) // tile
    blocks = np.empty((tile // BLOCK) ** 2)
    for row in range(start, stop):
        at = tiles[row]
        x_low, y_low = (at % across) * tile, (at // across) * tile
        x_high, y_high = min(x_low + tile, width), min(y_low + tile, height)
        blocks_across = farthest_edges(limit, width, x_low, y_low, x_high, y_high, blocks)
        found, drawn = 0, 0
        # Columns and rows that the object's triangles have touched.
        x_first, x_last, y_first, y_last = x_high, x_low - 1, y_high, y_low - 1
        for n in range(starts[at], starts[at + 1]):
            t = items[n]
            i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
            left, right, low, high = pixel_box(fixed, i, j, k, x_low, y_low, x_high, y_high)
            nearest = min(points[i, 2], points[j, 2], points[k, 2])
            if not is_behind(nearest, left - x_low, right - x_low, low - y_low, high - y_low, blocks_across, blocks):
                drawn += draw_triangle(fixed, points, i, j, k, left, right, low, high, width, limit, 1, -1, stencil)
                x_first, x_last, y_first, y_last = min(x_first, left), max(x_last, right), min(y_first, low), max(y_last, high)
            if n + 1 == starts[at + 1] or object_of[items[n + 1]] != object_of[t]:
                for y in range(y_first, y_last + 1):
                    for pixel in range(y * width + x_first, y * width + x_last + 1):
                        if stencil[pixel] != 0:
                            if found < room:
                                found_out[row, found, 0], found_out[row, found, 1] = pixel, object_of[t]
                                found_out[row, found, 2] = stencil[pixel]
                            found += 1
                            stencil[pixel] = 0
                x_first, x_last, y_first, y_last = x_high, x_low - 1, y_high, y_low - 1
        count_out[row], fragments_out[row] = found, drawn


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


@exact_kernel("i8, i8, i8[:,::1], f8[:,::1], i8[:,::1], i8, i8, f8[::1], i8, i4[::1], i8[:,::1], i8")
def pass_faces(start, stop, fixed, points, triangles, width, height, limit, number, stencil, colour, write):
    """Pass 7 of an object's triangles: pixels in front of their edge whose stencil is at least 1. Returns (pixels,
    fragments)."""
    passed, fragments = 0, 0
    probe = np.zeros(width * height, np.int32)
    for t in range(start, stop):
        i, j, k = triangles[t, 0], triangles[t, 1], triangles[t, 2]
        left, right, low, high = pixel_box(fixed, i, j, k, 0, 0, width, height)
        fragments += draw_triangle(fixed, points, i, j, k, left, right, low, high, width, limit, 1, 1, probe)
    for k in range(width * height):
        if probe[k] > 0 and stencil[k] >= 1:
            passed += 1
            stencil[k] = 0
            if write != 0:
                colour[1, k] = number
    return passed, fragments
