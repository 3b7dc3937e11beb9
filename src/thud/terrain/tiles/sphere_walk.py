"""Walks of a tile's sphere tree: forward through the rows, past what is out of reach ([EUVE] 3.2), triangles from the leaves.

A triangle's number: in `triangles` its row; in `heights` as in a `HeightField`, 2 (j columns + i), then the one towards +y; in
`displaced` 2 (1024 (1024 quad + y) + x) and the next, for the two triangles that bound patch (x, y) from above.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.height_tree import SPACING_X, SPACING_Y, cell_corners, is_there
from thud.geometry.triangle import area_vector, point_triangle_called
from thud.math.vec3 import cross, dot, load3, norm, sub
from thud.terrain.collision.patch import load_patch
from thud.terrain.tiles.record import DISPLACED, HEIGHTS, TRIANGLES
from thud.terrain.tiles.tile_arrays import (
    BLOCK_HIGH,
    BLOCK_QUAD,
    BLOCK_WIDE,
    BLOCK_X,
    BLOCK_Y,
    CHILDREN,
    COUNT,
    NEXT,
    OFFSET,
    RADIUS,
)
from thud.terrain.tiles.tolerances import BESIDE_SLACK, PLANE_REACH, QUAD_SAMPLES, REACH_SLACK


@device
def node_in_reach(tile, k, p, reach):
    """The global motion test: whether the sphere of node k and that about p, both in the tile's frame, overlap. By squares."""
    nodes = tile.nodes
    dx, dy, dz = p[0] - nodes[k, 0], p[1] - nodes[k, 1], p[2] - nodes[k, 2]
    far = nodes[k, RADIUS] + reach
    return dx * dx + dy * dy + dz * dz <= far * far * (1.0 + REACH_SLACK)


@device
def plane_of(a, b, c):
    """(unit normal, D) of the plane of a triangle, as [EUVE] 3.1.2: n . x + D = 0. 0 for one without area."""
    n = area_vector(sub(b, a), sub(c, b), sub(a, c))
    length = norm(n)
    if not length > 0.0:
        return (0.0, 0.0, 0.0), 0.0
    n = (n[0] / length, n[1] / length, n[2] / length)
    return n, -dot(n, a)


@device
def _write_triangle(found, room, number, a, b, c, n, d, number_out, corners_out, planes_out):
    """Row `found`, if there is room for it."""
    if found < room:
        number_out[found] = number
        for k in range(3):
            corners_out[found, k], corners_out[found, 3 + k], corners_out[found, 6 + k] = a[k], b[k], c[k]
            planes_out[found, k] = n[k]
        planes_out[found, 3] = d


@device
def _beside(corners, row, axis, p, reach):
    """Whether a stored triangle lies wholly on one side of the sphere along an axis, by more than float32 rounds off."""
    a, b, c = corners[row, axis], corners[row, 3 + axis], corners[row, 6 + axis]
    slack = reach + BESIDE_SLACK * (reach + abs(p[axis]))
    return min(a, min(b, c)) - p[axis] > slack or p[axis] - max(a, max(b, c)) > slack


@kernel(inner="f4[:,::1], f8[:,::1], i8, i8, vec3, f8, i8, i8[::1], f8[:,::1], f8[:,::1]")
def rows_in_reach(corners, planes, begin, end, p, reach, found, number_out, corners_out, planes_out):
    """Write the stored triangles from row `begin` to `end` that are in reach of p; returns how many there are then."""
    size = norm(p)
    for row in range(begin, end):
        # The box first, then the plane: few triangles of a leaf pass.
        if _beside(corners, row, 0, p, reach) or _beside(corners, row, 1, p, reach) or _beside(corners, row, 2, p, reach):
            continue
        n, d = load3(planes, row, 0), planes[row, 3]
        if abs(dot(n, p) + d) > reach + PLANE_REACH * (abs(d) + size):
            continue
        a = (np.float64(corners[row, 0]), np.float64(corners[row, 1]), np.float64(corners[row, 2]))
        b = (np.float64(corners[row, 3]), np.float64(corners[row, 4]), np.float64(corners[row, 5]))
        c = (np.float64(corners[row, 6]), np.float64(corners[row, 7]), np.float64(corners[row, 8]))
        distance2, _ = point_triangle_called(p, a, b, c)
        if distance2 <= reach * reach:
            _write_triangle(found, number_out.shape[0], row, a, b, c, n, d, number_out, corners_out, planes_out)
            found += 1
    return found


@kernel(inner="i8, vec3, vec3, vec3, vec3, f8, i8, i8[::1], f8[:,::1], f8[:,::1]")
def _made_in_reach(number, a, b, c, p, reach, found, number_out, corners_out, planes_out):
    """Write a triangle made on the walk if it is in reach of p; its plane is made only then."""
    distance2, _ = point_triangle_called(p, a, b, c)
    if distance2 <= reach * reach:
        n, d = plane_of(a, b, c)
        _write_triangle(found, number_out.shape[0], number, a, b, c, n, d, number_out, corners_out, planes_out)
        found += 1
    return found


@kernel(inner="height_grid, i4[:,::1], i8, vec3, f8, i8, i8[::1], f8[:,::1], f8[:,::1]")
def _height_block(grid, blocks, block, p, reach, found, number_out, corners_out, planes_out):
    """Triangles of a block of cells."""
    x, y = grid.numbers[SPACING_X], grid.numbers[SPACING_Y]
    i0, j0 = np.int64(blocks[block, BLOCK_X]), np.int64(blocks[block, BLOCK_Y])
    i1, j1 = i0 + np.int64(blocks[block, BLOCK_WIDE]), j0 + np.int64(blocks[block, BLOCK_HIGH])
    for j in range(j0, j1):
        # A row or cell beside the sphere; a whole cell to spare.
        if (j + 2) * y < p[1] - reach or (j - 1) * y > p[1] + reach:
            continue
        for i in range(i0, i1):
            if (i + 2) * x < p[0] - reach or (i - 1) * x > p[0] + reach:
                continue
            corners = cell_corners(grid, j, i)
            number = 2 * (j * grid.columns + i)
            a, b = (i * x, j * y, corners[0]), ((i + 1) * x, j * y, corners[1])
            c, d = (i * x, (j + 1) * y, corners[2]), ((i + 1) * x, (j + 1) * y, corners[3])
            if is_there(corners, 0):
                found = _made_in_reach(number, a, b, d, p, reach, found, number_out, corners_out, planes_out)
            if is_there(corners, 1):
                found = _made_in_reach(number + 1, a, d, c, p, reach, found, number_out, corners_out, planes_out)
    return found


@kernel(inner="tile_arrays, i8, vec3, f8, f8[:,::1], i8, i8[::1], f8[:,::1], f8[:,::1]")
def _surface_block(tile, block, p, reach, patch, found, number_out, corners_out, planes_out):
    """Triangles of a block of patches: of each the pair that bounds it from above, so that what stays above the triangles stays
    above the patch."""
    blocks, o = tile.blocks, tile.origin
    quad = np.int64(blocks[block, BLOCK_QUAD])
    x0, y0 = np.int64(blocks[block, BLOCK_X]), np.int64(blocks[block, BLOCK_Y])
    for y in range(y0, y0 + np.int64(blocks[block, BLOCK_HIGH])):
        for x in range(x0, x0 + np.int64(blocks[block, BLOCK_WIDE])):
            load_patch(tile.surface, quad, x, y, patch)
            p00 = (patch[0, 0] - o[0], patch[0, 1] - o[1], patch[0, 2] - o[2])
            p10 = (patch[1, 0] - o[0], patch[1, 1] - o[1], patch[1, 2] - o[2])
            p01 = (patch[2, 0] - o[0], patch[2, 1] - o[1], patch[2, 2] - o[2])
            p11 = (patch[3, 0] - o[0], patch[3, 1] - o[1], patch[3, 2] - o[2])
            number = 2 * ((quad * QUAD_SAMPLES + y) * QUAD_SAMPLES + x)
            # The facing rule of [Yang] 3.4.2, as `terrain/tessellate.py` has it.
            if dot(cross(sub(p10, p00), sub(p01, p00)), sub(p11, p00)) > 0.0:
                found = _made_in_reach(number, p00, p10, p11, p, reach, found, number_out, corners_out, planes_out)
                found = _made_in_reach(number + 1, p00, p11, p01, p, reach, found, number_out, corners_out, planes_out)
            else:
                found = _made_in_reach(number, p00, p10, p01, p, reach, found, number_out, corners_out, planes_out)
                found = _made_in_reach(number + 1, p10, p11, p01, p, reach, found, number_out, corners_out, planes_out)
    return found


@kernel(inner="tile_arrays, i8, vec3, f8, f8[:,::1], i8, i8[::1], f8[:,::1], f8[:,::1]")
def leaf_in_reach(tile, k, p, reach, patch, found, number_out, corners_out, planes_out):
    """Write the triangles of leaf k in reach of p, from row `found` on; returns how many there are then, written or not."""
    begin = np.int64(tile.links[k, OFFSET])
    end = begin + np.int64(tile.links[k, COUNT])
    if tile.kind == TRIANGLES:
        return rows_in_reach(tile.corners, tile.planes, begin, end, p, reach, found, number_out, corners_out, planes_out)
    for item in range(begin, end):
        if tile.kind == HEIGHTS:
            found = _height_block(tile.grid, tile.blocks, item, p, reach, found, number_out, corners_out, planes_out)
        elif tile.kind == DISPLACED:
            found = _surface_block(tile, item, p, reach, patch, found, number_out, corners_out, planes_out)
    return found


@kernel(inner="tile_arrays, vec3, f8, f8[:,::1], i8, i8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def collect_in_reach(tile, p, reach, patch, found, number_out, corners_out, planes_out, visited_out):
    """All triangles of a tile whose distance from p, in the tile's frame, is at most `reach`, in the tile's frame, from row
    `found` on.

    Returns how many there are then; more than there are rows means that some were not written. `patch` is scratch, (4, 3).
    visited_out: nodes tested and leaves opened, added to.
    """
    k, count = np.int64(0), np.int64(tile.links.shape[0])
    while k < count:
        visited_out[0] += 1
        if not node_in_reach(tile, k, p, reach):
            k = np.int64(tile.links[k, NEXT])
        elif tile.links[k, CHILDREN] > 0:
            k += 1
        else:
            visited_out[1] += 1
            if tile.kind == TRIANGLES:
                # Straight there: handing over a whole tile takes longer than its triangles.
                begin = np.int64(tile.links[k, OFFSET])
                end = begin + np.int64(tile.links[k, COUNT])
                found = rows_in_reach(
                    tile.corners, tile.planes, begin, end, p, reach, found, number_out, corners_out, planes_out
                )
            else:
                found = leaf_in_reach(tile, k, p, reach, patch, found, number_out, corners_out, planes_out)
            k = np.int64(tile.links[k, NEXT])
    return found


@kernel("tile_arrays, f8[::1], f8, i8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def triangles_in_reach(tile, center, reach, number_out, corners_out, planes_out, visited_out):
    """`collect_in_reach` about a point of the terrain's frame; corners and planes are written in that frame."""
    o = tile.origin
    p = (center[0] - o[0], center[1] - o[1], center[2] - o[2])
    patch = np.empty((4, 3))
    found = collect_in_reach(tile, p, reach, patch, 0, number_out, corners_out, planes_out, visited_out)
    for row in range(min(found, number_out.shape[0])):
        shift = 0.0
        for axis in range(3):
            shift += planes_out[row, axis] * o[axis]
            for corner in range(3):
                corners_out[row, 3 * corner + axis] += o[axis]
        planes_out[row, 3] -= shift
    return found


@kernel("tile_arrays, f8[::1], f8, i8, i8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def gather_in_reach(tile, center, reach, found, number_out, corners_out, planes_out, visited_out):
    """`collect_in_reach` about a point of the terrain's frame, from row `found` on; corners are written from that point on, in
    which frame planes have no use and are left as they are."""
    o = tile.origin
    p = (center[0] - o[0], center[1] - o[1], center[2] - o[2])
    patch = np.empty((4, 3))
    total = collect_in_reach(tile, p, reach, patch, found, number_out, corners_out, planes_out, visited_out)
    for row in range(found, min(total, number_out.shape[0])):
        for axis in range(3):
            for corner in range(3):
                corners_out[row, 3 * corner + axis] -= p[axis]
    return total


@kernel("tile_arrays")
def count_triangles(tile):
    """How many triangles a tile has."""
    if tile.kind == TRIANGLES:
        return np.int64(tile.corners.shape[0])
    total = np.int64(0)
    for block in range(tile.blocks.shape[0]):
        if tile.kind == DISPLACED:
            total += 2 * np.int64(tile.blocks[block, BLOCK_WIDE]) * np.int64(tile.blocks[block, BLOCK_HIGH])
            continue
        i0, j0 = np.int64(tile.blocks[block, BLOCK_X]), np.int64(tile.blocks[block, BLOCK_Y])
        for j in range(j0, j0 + np.int64(tile.blocks[block, BLOCK_HIGH])):
            for i in range(i0, i0 + np.int64(tile.blocks[block, BLOCK_WIDE])):
                corners = cell_corners(tile.grid, j, i)
                total += np.int64(is_there(corners, 0)) + np.int64(is_there(corners, 1))
    return total


#: A reach that everything is in, and whose square is a number.
EVERYTHING = math.sqrt(1e300)
