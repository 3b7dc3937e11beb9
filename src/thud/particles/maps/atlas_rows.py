"""Kernels of the atlas of a mesh: faces grown into charts, charts packed, faces found by place, areas of pixels."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.maps.tolerances import FLAT_OVERLAP

_I = np.int64


@exact_device
def _beyond(flat, a, b, slack):
    """Whether an edge of triangle a has all of triangle b on its outer side, or within slack of it."""
    turn = (flat[a, 1, 0] - flat[a, 0, 0]) * (flat[a, 2, 1] - flat[a, 0, 1])
    turn -= (flat[a, 1, 1] - flat[a, 0, 1]) * (flat[a, 2, 0] - flat[a, 0, 0])
    for i in range(3):
        j = (i + 1) % 3
        ex, ey = flat[a, j, 0] - flat[a, i, 0], flat[a, j, 1] - flat[a, i, 1]
        if turn < 0.0:
            ex, ey = -ex, -ey
        most = -math.inf
        for k in range(3):
            most = max(most, ex * (flat[b, k, 1] - flat[a, i, 1]) - ey * (flat[b, k, 0] - flat[a, i, 0]))
        if most <= slack * math.hypot(ex, ey):
            return True
    return False


@exact_device
def _cell(value, low, size, count):
    """Cell of a coordinate in a row of cells."""
    return min(max(_I((value - low) / size), _I(0)), count - 1) if size > 0.0 else _I(0)


@exact_device
def _cells(flat, f, low_x, low_y, size, side):
    """Columns and rows of cells that a triangle's box covers: first and last."""
    x0 = _cell(min(flat[f, 0, 0], flat[f, 1, 0], flat[f, 2, 0]), low_x, size, side)
    x1 = _cell(max(flat[f, 0, 0], flat[f, 1, 0], flat[f, 2, 0]), low_x, size, side)
    y0 = _cell(min(flat[f, 0, 1], flat[f, 1, 1], flat[f, 2, 1]), low_y, size, side)
    y1 = _cell(max(flat[f, 0, 1], flat[f, 1, 1], flat[f, 2, 1]), low_y, size, side)
    return x0, x1, y0, y1


@exact_kernel(inner="f8[:,:,::1], i8[::1], i8, i8")
def flat_grid(flat, rows, count, side):
    """(lowest x and y, size of a cell, greatest coordinate, entries of all cells) of a grid over flat[rows[:count]]."""
    lx, ly, hx, hy = math.inf, math.inf, -math.inf, -math.inf
    for j in range(count):
        for k in range(3):
            x, y = flat[rows[j], k, 0], flat[rows[j], k, 1]
            lx, ly, hx, hy = min(lx, x), min(ly, y), max(hx, x), max(hy, y)
    size, need = max(hx - lx, hy - ly) / side, _I(0)
    for j in range(count):
        x0, x1, y0, y1 = _cells(flat, rows[j], lx, ly, size, side)
        need += (y1 - y0 + 1) * (x1 - x0 + 1)
    return lx, ly, size, max(abs(lx), abs(ly), abs(hx), abs(hy)), need


@exact_kernel(inner="f8[:,:,::1], i8[::1], i8, i8, f8, f8, f8, f8, i8[::1], i8[:,::1], b1[::1]")
def keep_apart(flat, rows, count, side, low_x, low_y, size, slack, heads, entries, kept_out):
    """Of triangles flat[rows[0]], flat[rows[1]], ... keep each that lies over none that was kept before. heads: (side^2,), all
    -1; entries: a triangle and the next entry of its cell."""
    used = _I(0)
    for j in range(count):
        f = rows[j]
        x0, x1, y0, y1 = _cells(flat, f, low_x, low_y, size, side)
        free = True
        for y in range(y0, y1 + 1):
            for x in range(x0, x1 + 1):
                entry = heads[y * side + x]
                while free and entry >= 0:
                    other = entries[entry, 0]
                    free = _beyond(flat, f, other, slack) or _beyond(flat, other, f, slack)
                    entry = entries[entry, 1]
        kept_out[f] = free
        if free:
            for y in range(y0, y1 + 1):
                for x in range(x0, x1 + 1):
                    entries[used, 0], entries[used, 1] = f, heads[y * side + x]
                    heads[y * side + x] = used
                    used += 1


@exact_kernel("f8[:,:,::1], i8[::1], b1[::1]")
def apart_rows(flat, rows, kept_out):
    """`keep_apart` of triangles flat[rows]."""
    count = rows.shape[0]
    side = max(_I(1), _I(math.ceil(math.sqrt(count))))
    low_x, low_y, size, most, need = flat_grid(flat, rows, count, side)
    heads, entries = np.full(side * side, -1, np.int64), np.empty((need, 2), np.int64)
    keep_apart(flat, rows, count, side, low_x, low_y, size, FLAT_OVERLAP * (most + size * side), heads, entries, kept_out)


@exact_kernel("f8[:,:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], f8, i8[::1], f8[:,::1]")
def grow_charts(corners, normals, first, neighbour, seeds, least, chart_out, axis_out):
    """How many charts: each grows from the first seed that has none, over neighbours whose normals are within the cosine
    `least` of the seed's, and keeps those that do not lie over one another in its plane. Faces without a normal: -1."""
    faces = corners.shape[0]
    queue, seen, kept = np.empty(faces, np.int64), np.full(faces, -1, np.int64), np.empty(faces, np.bool_)
    flat = np.empty((faces, 3, 2))
    chart_out[:] = -1
    charts = _I(0)
    for s in seeds:
        if chart_out[s] >= 0:
            continue
        nx, ny, nz = normals[s, 0], normals[s, 1], normals[s, 2]
        queue[0], seen[s], count, j = s, charts, 1, 0
        while j < count:
            f = queue[j]
            j += 1
            for k in range(first[f], first[f + 1]):
                g = neighbour[k]
                if seen[g] == charts or chart_out[g] >= 0:
                    continue
                if normals[g, 0] * nx + normals[g, 1] * ny + normals[g, 2] * nz >= least:
                    queue[count], seen[g] = g, charts
                    count += 1
        # Two axes of the plane: any will do to find what overlaps.
        if abs(nx) <= abs(ny) and abs(nx) <= abs(nz):
            ux, uy, uz = 0.0, nz, -ny
        elif abs(ny) <= abs(nz):
            ux, uy, uz = -nz, 0.0, nx
        else:
            ux, uy, uz = ny, -nx, 0.0
        length = math.sqrt(ux * ux + uy * uy + uz * uz)
        ux, uy, uz = ux / length, uy / length, uz / length
        vx, vy, vz = ny * uz - nz * uy, nz * ux - nx * uz, nx * uy - ny * ux
        for j in range(count):
            f = queue[j]
            for k in range(3):
                dx = corners[f, k, 0] - corners[s, 0, 0]
                dy = corners[f, k, 1] - corners[s, 0, 1]
                dz = corners[f, k, 2] - corners[s, 0, 2]
                flat[f, k, 0], flat[f, k, 1] = ux * dx + uy * dy + uz * dz, vx * dx + vy * dy + vz * dz
        side = _I(math.ceil(math.sqrt(count)))
        low_x, low_y, size, most, need = flat_grid(flat, queue, count, side)
        heads, entries = np.full(side * side, -1, np.int64), np.empty((need, 2), np.int64)
        keep_apart(flat, queue, count, side, low_x, low_y, size, FLAT_OVERLAP * (most + size * side), heads, entries, kept)
        for j in range(count):
            if kept[queue[j]]:
                chart_out[queue[j]] = charts
        axis_out[charts, 0], axis_out[charts, 1], axis_out[charts, 2] = nx, ny, nz
        charts += 1
    return charts


@exact_kernel("f8[:,::1], i8[::1], f8, f8, f8[:,::1]")
def pack_shelves(sizes, order, gap, wide, corner_out):
    """Height of shelves as wide as said: rectangles (C, 2) in the order given, a gap about each."""
    x, y, shelf = gap, gap, 0.0
    for c in order:
        if x > gap and x + sizes[c, 0] + gap > wide:
            x, y, shelf = gap, y + shelf + gap, 0.0
        corner_out[c, 0], corner_out[c, 1] = x, y
        x, shelf = x + sizes[c, 0] + gap, max(shelf, sizes[c, 1])
    return y + shelf + gap


@exact_device
def _on_edge(ax, ay, bx, by, x, y):
    """(nearest point of an edge, its part from a to b)."""
    ex, ey = bx - ax, by - ay
    square = ex * ex + ey * ey
    s = min(1.0, max(0.0, ((x - ax) * ex + (y - ay) * ey) / square)) if square > 0.0 else 0.0
    return ax + s * ex, ay + s * ey, s


@exact_kernel("i8, i8, f8[:,:,::1], i8[::1], i8[::1], i8, f8[:,::1], f8, f8, i8[::1], f8[:,::1]")
def find_faces(start, stop, flat, first, listed, side, places, reach_u, reach_v, face_out, part_out):
    """The face that holds each place (M, 2) of the atlas, or the nearest one within reach along u and v; -1: none. Its place in
    it: b1, b2, parts of the edges from its first corner. first, listed: faces of each of side^2 cells."""
    for m in range(start, stop):
        x, y = places[m, 0], places[m, 1]
        best, face_out[m] = math.inf, -1
        x0, x1 = _cell(x - reach_u, 0.0, 1.0 / side, side), _cell(x + reach_u, 0.0, 1.0 / side, side)
        y0, y1 = _cell(y - reach_v, 0.0, 1.0 / side, side), _cell(y + reach_v, 0.0, 1.0 / side, side)
        for row in range(y0, y1 + 1):
            for column in range(x0, x1 + 1):
                for k in range(first[row * side + column], first[row * side + column + 1]):
                    f = listed[k]
                    ax, ay = flat[f, 0, 0], flat[f, 0, 1]
                    bx, by, cx, cy = flat[f, 1, 0], flat[f, 1, 1], flat[f, 2, 0], flat[f, 2, 1]
                    det = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
                    if det == 0.0:
                        continue
                    b1 = ((x - ax) * (cy - ay) - (y - ay) * (cx - ax)) / det
                    b2 = ((bx - ax) * (y - ay) - (by - ay) * (x - ax)) / det
                    off = 0.0
                    if not (b1 >= 0.0 and b2 >= 0.0 and b1 + b2 <= 1.0):
                        off = math.inf
                        for edge in range(3):
                            if edge == 0:
                                px, py, s = _on_edge(ax, ay, bx, by, x, y)
                                s1, s2 = s, 0.0
                            elif edge == 1:
                                px, py, s = _on_edge(bx, by, cx, cy, x, y)
                                s1, s2 = 1.0 - s, s
                            else:
                                px, py, s = _on_edge(ax, ay, cx, cy, x, y)
                                s1, s2 = 0.0, s
                            square = (px - x) ** 2 + (py - y) ** 2
                            if square < off and abs(px - x) <= reach_u and abs(py - y) <= reach_v:
                                off, b1, b2 = square, s1, s2
                    if off < best or (off == best and off < math.inf and f < face_out[m]):
                        best, face_out[m], part_out[m, 0], part_out[m, 1] = off, f, b1, b2


@exact_device
def _cut(source, count, axis, at, sign, out):
    """Corners left of a polygon where sign (coordinate - at) >= 0."""
    kept = 0
    for k in range(count):
        j = (k + 1) % count
        a, b = sign * (source[k, axis] - at), sign * (source[j, axis] - at)
        if a >= 0.0:
            out[kept, 0], out[kept, 1] = source[k, 0], source[k, 1]
            kept += 1
        if (a > 0.0 and b < 0.0) or (a < 0.0 and b > 0.0):
            s = a / (a - b)
            out[kept, 0] = source[k, 0] + s * (source[j, 0] - source[k, 0])
            out[kept, 1] = source[k, 1] + s * (source[j, 1] - source[k, 1])
            out[kept, axis] = at
            kept += 1
    return kept


@exact_kernel("f8[:,:,::1], f8[::1], f8[:,::1]")
def face_areas(flat, areas, out):
    """Add to each pixel of out (q, p) what it holds of faces' areas, by cutting faces at the pixels' borders."""
    q, p = out.shape
    strip, left, right, piece = np.empty((16, 2)), np.empty((16, 2)), np.empty((16, 2)), np.empty((16, 2))
    for f in range(flat.shape[0]):
        det = (flat[f, 1, 0] - flat[f, 0, 0]) * (flat[f, 2, 1] - flat[f, 0, 1])
        det -= (flat[f, 1, 1] - flat[f, 0, 1]) * (flat[f, 2, 0] - flat[f, 0, 0])
        if det == 0.0:
            continue
        scale = abs(areas[f] / (0.5 * det * p * q))
        for k in range(3):
            strip[k, 0], strip[k, 1] = flat[f, k, 0] * p, flat[f, k, 1] * q
        low, high = min(strip[0, 1], strip[1, 1], strip[2, 1]), max(strip[0, 1], strip[1, 1], strip[2, 1])
        for y in range(min(_I(low), q - 1), min(_I(high), q - 1) + 1):
            count = _cut(strip, 3, 1, np.float64(y), 1.0, left)
            count = _cut(left, count, 1, np.float64(y + 1), -1.0, right)
            if count < 3:
                continue
            begin, end = right[0, 0], right[0, 0]
            for k in range(count):
                begin, end = min(begin, right[k, 0]), max(end, right[k, 0])
            for x in range(min(_I(begin), p - 1), min(_I(end), p - 1) + 1):
                most = _cut(right, count, 0, np.float64(x), 1.0, left)
                most = _cut(left, most, 0, np.float64(x + 1), -1.0, piece)
                double = 0.0
                for k in range(2, most):
                    double += (piece[k - 1, 0] - piece[0, 0]) * (piece[k, 1] - piece[0, 1])
                    double -= (piece[k - 1, 1] - piece[0, 1]) * (piece[k, 0] - piece[0, 0])
                out[y, x] += 0.5 * abs(double) * scale
