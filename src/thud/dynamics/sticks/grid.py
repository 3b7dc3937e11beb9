"""Pairs that may come near each other, by a grid of cells in a hash table: kernels.

An item is in every cell that its box touches. A pair is written in one of the cells that both are in: the highest of their
lowest ones, so that none is written twice.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.sticks.types import EDGES, FACE

#: Fibonacci hashing: 2^64 over the golden ratio.
_SPREAD = np.uint64(0x9E3779B97F4A7C15)


@device
def table_place(key, bits):
    """Place of a cell in the table."""
    return np.int64((np.uint64(key) * _SPREAD) >> np.uint64(64 - bits))


@kernel("i8, i8, stick_points, f8, f8, f8[::1]")
def way_boxes(start, stop, points, left, margin, pull):
    """Boxes of the ways of points in the `left` seconds that are left of a step, and a margin about them. What nothing pushes
    goes where it must."""
    own = points.velocity.shape[0]
    for i in range(start, stop):
        for axis in range(3):
            a = points.x[i, axis]
            if i < own and points.give[i] > 0.0:
                b = a + left * (points.velocity[i, axis] + left * pull[axis])
                points.boxes[i, axis], points.boxes[i, 3 + axis] = min(a, b) - margin, max(a, b) + margin
            else:
                b = points.after[i, axis]
                points.boxes[i, axis], points.boxes[i, 3 + axis] = min(a, b), max(a, b)


@kernel("i8, i8, f8[:,::1], i4[:,::1], f8, f8[:,::1]")
def item_boxes(start, stop, boxes, items, reach, boxes_out):
    """Boxes of items, larger by a reach."""
    for i in range(start, stop):
        a, b, c = items[i, 0], items[i, 1], items[i, 2]
        for axis in range(3):
            boxes_out[i, axis] = min(boxes[a, axis], min(boxes[b, axis], boxes[c, axis])) - reach
            boxes_out[i, 3 + axis] = max(boxes[a, 3 + axis], max(boxes[b, 3 + axis], boxes[c, 3 + axis])) + reach


@kernel("i8, i8, stick_grid, f8[::1], f8, i8[::1]")
def item_cells(start, stop, grid, within, size, count_out):
    """Cells of the items' boxes and their number. `within` (6,): the box about all cloth; bodies have no cells beyond it."""
    for i in range(start, stop):
        count = 1
        for axis in range(3):
            low, high = grid.boxes[i, axis], grid.boxes[i, 3 + axis]
            if high < within[axis] or low > within[3 + axis]:
                first, last = 0, -1
            else:
                first = np.int64(math.floor((max(low, within[axis]) - within[axis]) / size))
                last = np.int64(math.floor((min(high, within[3 + axis]) - within[axis]) / size))
            grid.cells[i, axis], grid.cells[i, 3 + axis] = first, last
            count *= last - first + 1
        count_out[i] = count


@kernel("stick_grid, i8")
def fill_table(grid, bits):
    """Entries by place, then by item."""
    starts, cells, sides = grid.starts, grid.cells, grid.sides
    starts[:] = 0
    for i in range(cells.shape[0]):
        for z in range(cells[i, 2], cells[i, 5] + 1):
            for y in range(cells[i, 1], cells[i, 4] + 1):
                for x in range(cells[i, 0], cells[i, 3] + 1):
                    starts[table_place((z * sides[1] + y) * sides[0] + x, bits) + 1] += 1
    for k in range(starts.shape[0] - 1):
        starts[k + 1] += starts[k]
    for i in range(cells.shape[0]):
        for z in range(cells[i, 2], cells[i, 5] + 1):
            for y in range(cells[i, 1], cells[i, 4] + 1):
                for x in range(cells[i, 0], cells[i, 3] + 1):
                    key = (z * sides[1] + y) * sides[0] + x
                    place = table_place(key, bits)
                    at = starts[place]
                    grid.entry[at], grid.key[at] = i, key
                    starts[place] = at + 1
    # The starts have moved to the ends.
    for k in range(starts.shape[0] - 1, 0, -1):
        starts[k] = starts[k - 1]
    starts[0] = 0


@device
def boxes_meet(boxes, i, j):
    """Whether two boxes overlap."""
    return (
        boxes[i, 0] <= boxes[j, 3] and boxes[j, 0] <= boxes[i, 3]
        and boxes[i, 1] <= boxes[j, 4] and boxes[j, 1] <= boxes[i, 4]
        and boxes[i, 2] <= boxes[j, 5] and boxes[j, 2] <= boxes[i, 5]
    )  # fmt: skip


@device
def written_here(grid, i, j, key):
    """Whether this is the cell in which the pair is written."""
    x = max(grid.cells[i, 0], grid.cells[j, 0])
    y = max(grid.cells[i, 1], grid.cells[j, 1])
    z = max(grid.cells[i, 2], grid.cells[j, 2])
    return (z * grid.sides[1] + y) * grid.sides[0] + x == key


@device
def may_meet(grid, i, j, own, itself):
    """Whether a pair is to be looked at: not two of bodies, not two of cloth unless it meets itself, none that share a point."""
    a, b = grid.items[i], grid.items[j]
    if a[0] >= own and b[0] >= own:
        return False
    if a[0] < own and b[0] < own:
        if itself == 0:
            return False
        for k in range(3):
            if a[k] == b[0] or a[k] == b[1] or a[k] == b[2]:
                return False
    return True


@device
def body_of(a, b, own, bodies):
    """The body of a pair's corner; -1 for none."""
    if a >= own:
        return bodies[(a - own) // 3]
    if b >= own:
        return bodies[(b - own) // 3]
    return np.int32(-1)


@kernel("i8, i8, stick_grid, i8, i4[::1], i8, i8[::1], i4[:,:,::1], u1[:,::1], i4[:,::1]")
def grid_pairs(start, stop, grid, itself, bodies, parts, count_out, points_out, kind_out, body_out):
    """Pairs of the parts [start, stop) of the table, each in its own room. What does not fit is counted."""
    own, first_edge, first_face = grid.kinds[3], grid.kinds[0], grid.kinds[1]
    places, room = grid.starts.shape[0] - 1, points_out.shape[1]
    for part in range(start, stop):
        found = 0
        for place in range(places * part // parts, places * (part + 1) // parts):
            first, last = grid.starts[place], grid.starts[place + 1]
            edges = first
            while edges < last and grid.entry[edges] < first_edge:
                edges += 1
            faces = edges
            while faces < last and grid.entry[faces] < first_face:
                faces += 1
            # Points with faces.
            for u in range(first, edges):
                i, key = grid.entry[u], grid.key[u]
                for v in range(faces, last):
                    j = grid.entry[v]
                    if grid.key[v] != key or not boxes_meet(grid.boxes, i, j) or not may_meet(grid, i, j, own, itself):
                        continue
                    if not written_here(grid, i, j, key):
                        continue
                    if found < room:
                        points_out[part, found, 0] = grid.items[i, 0]
                        for k in range(3):
                            points_out[part, found, 1 + k] = grid.items[j, k]
                        kind_out[part, found] = FACE
                        body_out[part, found] = body_of(grid.items[i, 0], grid.items[j, 0], own, bodies)
                    found += 1
            # Edges with edges. Of bodies' edges none meets another, and they are the last.
            for u in range(edges, faces):
                i, key = grid.entry[u], grid.key[u]
                if grid.items[i, 0] >= own:
                    break
                for v in range(u + 1, faces):
                    j = grid.entry[v]
                    if grid.key[v] != key or not boxes_meet(grid.boxes, i, j) or not may_meet(grid, i, j, own, itself):
                        continue
                    if not written_here(grid, i, j, key):
                        continue
                    if found < room:
                        points_out[part, found, 0], points_out[part, found, 1] = grid.items[i, 0], grid.items[i, 1]
                        points_out[part, found, 2], points_out[part, found, 3] = grid.items[j, 0], grid.items[j, 1]
                        kind_out[part, found] = EDGES
                        body_out[part, found] = body_of(grid.items[i, 0], grid.items[j, 0], own, bodies)
                    found += 1
        count_out[part] = found


@kernel("i8[::1], i4[:,:,::1], u1[:,::1], i4[:,::1], stick_pairs")
def gather_pairs(count, points, kind, body, pairs):
    """The parts' pairs one after the other."""
    at = 0
    for part in range(count.shape[0]):
        for k in range(count[part]):
            for c in range(4):
                pairs.points[at, c] = points[part, k, c]
            pairs.kind[at], pairs.body[at] = kind[part, k], body[part, k]
            at += 1
