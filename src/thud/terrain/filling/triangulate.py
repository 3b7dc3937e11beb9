"""Irregular triangles over a window of heights, none farther from any sample than an error bound.

Greedy insertion (Garland and Heckbert 1995): of each triangle the worst sample becomes a vertex, until none is off by more
than the bound; the triangles are those of Delaunay. What lies on the border of a tile is chosen first, from the samples along
that border alone, so that neighbours have the same vertices there: each line by the farthest sample from its chord (Douglas
and Peucker 1973).

At holes every sample stays. Neighbours in the grid are always joined by an edge of Delaunay's triangles (no other sample lies
in the circle over it), so that triangles end where holes begin.
"""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import exact_kernel
from thud.errors import InvalidShapeError


def triangulate(wide: Floats, place: tuple[int, int, int, int], error: float) -> tuple[Ints, Ints]:
    """Vertices (V, 2) as column and row of `wide`, and faces (T, 3), counter-clockwise seen from above.

    Parameters
    ----------
    wide : (rows, columns) heights of the tile and up to one sample around it; NaN is a hole
    place : of the tile in it: first row and column, rows and columns of cells
    error : metres; vertical distance of any sample from the triangles
    """
    row, column, rows, columns = place
    there = ~np.isnan(wide)
    heights = np.ascontiguousarray(np.where(there, wide, 0.0)[row : row + rows + 1, column : column + columns + 1])
    # Squares that are not there, also beyond the tile: both sides of a border must see the same rim.
    gone = ~(there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:])
    beside = np.pad(gone, 1)
    rim = beside[:-1, :-1] | beside[1:, :-1] | beside[:-1, 1:] | beside[1:, 1:]
    window = (slice(row, row + rows + 1), slice(column, column + columns + 1))
    used = (rim & there)[window].copy()
    own = np.ascontiguousarray(gone[row : row + rows, column : column + columns])
    kept = there[window]
    for line in (np.s_[0, :], np.s_[rows, :], np.s_[:, 0], np.s_[:, columns]):
        used[line] |= border_vertices(heights[line], used[line], kept[line], error)
    # A sample that no square has is no vertex.
    used &= _of_squares(own)
    used[np.ix_([0, rows], [0, columns])] = True
    points, faces = _refined(heights, own, used, error)
    whole = ~own[np.ix_(np.arange(rows), np.arange(columns))]
    middle = points[faces].sum(axis=1) // 3
    x, y = np.minimum(middle[:, 0], columns - 1), np.minimum(middle[:, 1], rows - 1)
    faces = faces[whole[y, x]]
    names, faces = np.unique(faces, return_inverse=True)
    return points[names] + [column, row], faces.reshape(-1, 3)


def _of_squares(gone: Bools) -> Bools:
    """Samples that are corners of squares that are there."""
    whole = np.pad(~gone, 1)
    return np.asarray(whole[:-1, :-1] | whole[1:, :-1] | whole[:-1, 1:] | whole[1:, 1:])


def border_vertices(heights: Floats, fixed: Bools, there: Bools, error: float) -> Bools:
    """(N,) which samples of a line stay: its ends, what is fixed, and so many that none is off by more than the error. It is a
    function of the line alone, whichever way it is walked."""
    keep = fixed.copy()
    keep[[0, -1]] = True
    ends = np.flatnonzero(keep)
    stack = list(pairwise(ends.tolist()))
    while stack:
        a, b = stack.pop()
        if b - a < 2 or not there[a : b + 1].all():
            continue
        k = np.arange(a + 1, b)
        off = np.abs(heights[k] - (heights[a] * (b - k) + heights[b] * (k - a)) / (b - a))
        worst = off.max()
        if worst <= error:
            continue
        # Of several that are as far off the one nearest to the middle, seen from either end.
        far = k[off == worst]
        side = np.abs(2 * far - a - b)
        middle = far[side == side.min()]
        for at in middle.tolist():
            keep[at] = True
        cut = [a, *middle.tolist(), b]
        stack += pairwise(cut)
    return keep


def _refined(heights: Floats, gone: Bools, used: Bools, error: float) -> tuple[Ints, Ints]:
    """Vertices in order of rows, and triangles."""
    from scipy.spatial import Delaunay

    rows, columns = gone.shape
    while True:
        y, x = np.nonzero(used)
        points = np.column_stack([x, y]).astype(np.int64)
        faces = Delaunay(points.astype(np.float64)).simplices.astype(np.int64)
        a, b, c = points[faces[:, 0]], points[faces[:, 1]], points[faces[:, 2]]
        area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
        faces[area < 0] = faces[area < 0][:, ::-1]
        faces = faces[area != 0]
        if int(np.abs(area).sum()) != 2 * rows * columns:
            raise InvalidShapeError("heights: their triangles do not cover the tile")
        worst = np.full((len(faces), 2), -1, np.int64)
        worst_samples(points, faces, heights, gone, error, worst)
        new = worst[worst[:, 0] >= 0]
        if len(new) == 0:
            return points, faces
        used[new[:, 1], new[:, 0]] = True


@exact_kernel("i8[:,::1], i8[:,::1], f8[:,::1], b1[:,::1], f8, i8[:,::1]")
def worst_samples(points, faces, heights, gone, error, worst_out):
    """Column and row of the sample inside of each triangle that is farthest from it, if by more than the error. Samples on its
    edges are its own too. Of equal ones the first by rows."""
    rows, columns = heights.shape
    for t in range(faces.shape[0]):
        ax, ay = points[faces[t, 0], 0], points[faces[t, 0], 1]
        bx, by = points[faces[t, 1], 0], points[faces[t, 1], 1]
        cx, cy = points[faces[t, 2], 0], points[faces[t, 2], 1]
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        za, zb, zc = heights[ay, ax], heights[by, bx], heights[cy, cx]
        largest = error
        for y in range(min(ay, by, cy), max(ay, by, cy) + 1):
            for x in range(min(ax, bx, cx), max(ax, bx, cx) + 1):
                wa = (bx - x) * (cy - y) - (by - y) * (cx - x)
                wb = (cx - x) * (ay - y) - (cy - y) * (ax - x)
                wc = area - wa - wb
                if wa < 0 or wb < 0 or wc < 0:
                    continue
                # Borders were chosen before; a sample without a square has no say.
                if x == 0 or y == 0 or x == columns - 1 or y == rows - 1:
                    continue
                if gone[y - 1, x - 1] and gone[y - 1, x] and gone[y, x - 1] and gone[y, x]:
                    continue
                off = math.fabs(heights[y, x] - (wa * za + wb * zb + wc * zc) / area)
                if off > largest:
                    largest = off
                    worst_out[t, 0], worst_out[t, 1] = x, y
