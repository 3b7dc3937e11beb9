"""Closest points of points, segments, triangles and boxes in all combinations, row by row; one row broadcasts against N.

World frame, metres. Where a pair intersects, the distance is 0 and both points are one common point; so it may be where
a segment pierces a triangle but for a gap of `thud.constants.TOUCH` of the lengths. Triangles have no thickness, boxes
are solid: a point inside a box is at distance 0. Segments and triangles may be degenerate. Distances are right to about
1e-14 of the lengths involved, also for needles and for directions close to parallel.

Point against segment, triangle and box, segment against segment: Ericson 2005 (5.1), with the changes named in the
devices. The other pairs are composed of these.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.geometry import box, segment, triangle
from thud.geometry._gates import Array, as_points, as_rotations, as_sizes, as_triangles, rows
from thud.geometry.intersections import segment_segment, segment_triangle, triangle_triangle
from thud.geometry.results import ClosestPairs, Intersections
from thud.geometry.rows import row
from thud.math.pose import load_rotation, relative_rotation, transform, unrotate, untransform
from thud.math.vec3 import load3, sub

# The devices of `segment`, `triangle` and `box` have the names of the public functions below.
_point_segment, _segment_segment = segment.closest_point_segment, segment.closest_segment_segment
_point_triangle, _segment_triangle = triangle.point_triangle_called, triangle.closest_segment_triangle
_triangle_triangle = triangle.closest_triangle_triangle
_point_box, _segment_box = box.closest_point_box, box.closest_segment_box
_triangle_box, _box_box = box.closest_triangle_box, box.closest_box_box

#: Which pair of things two rows of floats describe: a point is 3 floats, a segment 6, a triangle 9, a box 15 (rotation
#: row-major, centre, half extents).
_POINT_SEGMENT, _POINT_TRIANGLE, _SEGMENT_SEGMENT, _SEGMENT_TRIANGLE, _TRIANGLE_TRIANGLE = range(5)
_BOX_PAIRS = range(5, 9)
_POINT_BOX, _SEGMENT_BOX, _TRIANGLE_BOX, _BOX_BOX = _BOX_PAIRS


@kernel
def _closest_to_box(pair, a_in, i, b_in, k):
    """(distance2, on_a, on_b) in the world, for a point, segment or triangle against a box: in the box's frame and back."""
    r, t, half_extents = load_rotation(b_in, k), load3(b_in, k, 9), load3(b_in, k, 12)
    p = untransform(r, t, load3(a_in, i, 0))
    if pair == _POINT_BOX:
        distance2, x = _point_box(p, half_extents)
        if distance2 == 0.0:
            return distance2, load3(a_in, i, 0), load3(a_in, i, 0)
        return distance2, load3(a_in, i, 0), transform(r, t, x)
    q = untransform(r, t, load3(a_in, i, 3))
    if pair == _SEGMENT_BOX:
        distance2, x, y = _segment_box(p, q, half_extents)
    else:
        distance2, x, y = _triangle_box(p, q, untransform(r, t, load3(a_in, i, 6)), half_extents)
    return distance2, transform(r, t, x), transform(r, t, y)


@kernel
def _closest_boxes(a_in, i, b_in, k):
    """(distance2, on_a, on_b) in the world for two boxes: in A's frame and back."""
    ra, ta, rb, tb = load_rotation(a_in, i), load3(a_in, i, 9), load_rotation(b_in, k), load3(b_in, k, 9)
    distance2, x, y = _box_box(load3(a_in, i, 12), relative_rotation(ra, rb), unrotate(ra, sub(tb, ta)), load3(b_in, k, 12))
    return distance2, transform(ra, ta, x), transform(ra, ta, y)


@kernel("i8, i8, i8, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1]")
def _closest_rows(start, stop, pair, a_in, b_in, distance_out, point_a_out, point_b_out):
    for n in range(start, stop):
        i, k = row(n, a_in), row(n, b_in)
        if pair == _POINT_SEGMENT:
            x = load3(a_in, i, 0)
            distance2, _, y = _point_segment(x, load3(b_in, k, 0), load3(b_in, k, 3))
        elif pair == _POINT_TRIANGLE:
            x = load3(a_in, i, 0)
            distance2, y = _point_triangle(x, load3(b_in, k, 0), load3(b_in, k, 3), load3(b_in, k, 6))
        elif pair == _SEGMENT_SEGMENT:
            distance2, x, y = _segment_segment(load3(a_in, i, 0), load3(a_in, i, 3), load3(b_in, k, 0), load3(b_in, k, 3))
        elif pair == _SEGMENT_TRIANGLE:
            p, q = load3(a_in, i, 0), load3(a_in, i, 3)
            distance2, x, y = _segment_triangle(p, q, load3(b_in, k, 0), load3(b_in, k, 3), load3(b_in, k, 6))
        else:
            a, b, c = load3(a_in, i, 0), load3(a_in, i, 3), load3(a_in, i, 6)
            distance2, x, y = _triangle_triangle(a, b, c, load3(b_in, k, 0), load3(b_in, k, 3), load3(b_in, k, 6))
        distance_out[n] = math.sqrt(distance2)
        for axis in range(3):
            point_a_out[n, axis], point_b_out[n, axis] = x[axis], y[axis]


@kernel("i8, i8, i8, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1]")
def _closest_box_rows(start, stop, pair, a_in, b_in, distance_out, point_a_out, point_b_out):
    for n in range(start, stop):
        i, k = row(n, a_in), row(n, b_in)
        if pair == _BOX_BOX:
            distance2, x, y = _closest_boxes(a_in, i, b_in, k)
        else:
            distance2, x, y = _closest_to_box(pair, a_in, i, b_in, k)
        distance_out[n] = math.sqrt(distance2)
        for axis in range(3):
            point_a_out[n, axis], point_b_out[n, axis] = x[axis], y[axis]


def _closest(names: str, pair: int, a: Array, b: Array, threads: int | None) -> ClosestPairs:
    count = rows(names, a, b)
    distance, point_a, point_b = np.empty(count), np.empty((count, 3)), np.empty((count, 3))
    rows_kernel = _closest_box_rows if pair in _BOX_PAIRS else _closest_rows
    run_rows(rows_kernel, count, threads, pair, a, b, distance, point_a, point_b)
    return ClosestPairs(distance, point_a, point_b)


def _with_exact_contact(pairs: ClosestPairs, exact: Intersections) -> ClosestPairs:
    """Distance 0 and a common point, the middle of what they share, where the exact test says that they meet.

    Rounding leaves 1e-17 between things that touch; the exact test tells them from those that do not.
    """
    meets = exact.intersects
    point = np.where(exact.start == exact.end, exact.start, 0.5 * exact.start + 0.5 * exact.end)
    pairs.distance[meets], pairs.point_a[meets], pairs.point_b[meets] = 0.0, point[meets], point[meets]
    return pairs


def _joined(names: str, *columns: Array) -> Array:
    """Columns of equal numbers of rows, or one, side by side."""
    count = rows(names, *columns)
    return np.concatenate([np.broadcast_to(c, (count, c.shape[1])) for c in columns], axis=1)


def _as_segments(starts: npt.ArrayLike, ends: npt.ArrayLike, suffix: str = "") -> Array:
    names = f"starts{suffix}", f"ends{suffix}"
    return _joined(", ".join(names), as_points(starts, names[0]), as_points(ends, names[1]))


def _as_boxes(centers: npt.ArrayLike, half_extents: npt.ArrayLike, rotations: npt.ArrayLike | None, suffix: str = "") -> Array:
    names = f"rotations{suffix}", f"centers{suffix}", f"half_extents{suffix}"
    rotation = as_rotations(rotations, names[0])[:, :9]
    return _joined(", ".join(names), rotation, as_points(centers, names[1]), as_sizes(half_extents, names[2], zero=True))


def _as_triangle_rows(triangles: npt.ArrayLike, name: str) -> Array:
    return as_triangles(triangles, name).reshape(-1, 9)


def closest_point_segment(
    points: npt.ArrayLike, starts: npt.ArrayLike, ends: npt.ArrayLike, *, threads: int | None = None
) -> ClosestPairs:
    """Closest points of points and segments.

    Parameters
    ----------
    points : (3,) or (N, 3), metres
    starts, ends : (3,) or (N, 3), metres, of the segments
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows; `point_a` is the point itself
    """
    return _closest("points, segments", _POINT_SEGMENT, as_points(points, "points"), _as_segments(starts, ends), threads)


def closest_point_triangle(points: npt.ArrayLike, triangles: npt.ArrayLike, *, threads: int | None = None) -> ClosestPairs:
    """Closest points of points and triangles.

    Parameters
    ----------
    points : (3,) or (N, 3), metres
    triangles : (3, 3) or (N, 3, 3), corner by corner, metres
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows; `point_a` is the point itself
    """
    p, q = as_points(points, "points"), _as_triangle_rows(triangles, "triangles")
    return _closest("points, triangles", _POINT_TRIANGLE, p, q, threads)


def closest_point_box(
    points: npt.ArrayLike,
    centers: npt.ArrayLike,
    half_extents: npt.ArrayLike,
    rotations: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> ClosestPairs:
    """Closest points of points and solid boxes.

    Parameters
    ----------
    points, centers : (3,) or (N, 3), metres
    half_extents : (3,) or (N, 3), metres, along the box's own axes
    rotations : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows; `point_a` is the point itself
    """
    p, q = as_points(points, "points"), _as_boxes(centers, half_extents, rotations)
    return _closest("points, boxes", _POINT_BOX, p, q, threads)


def closest_segment_segment(
    starts_a: npt.ArrayLike,
    ends_a: npt.ArrayLike,
    starts_b: npt.ArrayLike,
    ends_b: npt.ArrayLike,
    *,
    threads: int | None = None,
) -> ClosestPairs:
    """Closest points of two segments.

    Parameters
    ----------
    starts_a, ends_a, starts_b, ends_b : (3,) or (N, 3), metres
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows; of parallel segments one of the closest pairs
    """
    a, b = _as_segments(starts_a, ends_a, "_a"), _as_segments(starts_b, ends_b, "_b")
    pairs = _closest("segments a, segments b", _SEGMENT_SEGMENT, a, b, threads)
    return _with_exact_contact(pairs, segment_segment(a[:, :3], a[:, 3:], b[:, :3], b[:, 3:], threads=threads))


def closest_segment_triangle(
    starts: npt.ArrayLike, ends: npt.ArrayLike, triangles: npt.ArrayLike, *, threads: int | None = None
) -> ClosestPairs:
    """Closest points of segments and triangles.

    Parameters
    ----------
    starts, ends : (3,) or (N, 3), metres, of the segments
    triangles : (3, 3) or (N, 3, 3), corner by corner, metres
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows
    """
    a, b = _as_segments(starts, ends), _as_triangle_rows(triangles, "triangles")
    pairs = _closest("segments, triangles", _SEGMENT_TRIANGLE, a, b, threads)
    return _with_exact_contact(pairs, segment_triangle(a[:, :3], a[:, 3:], triangles, threads=threads))


def closest_segment_box(
    starts: npt.ArrayLike,
    ends: npt.ArrayLike,
    centers: npt.ArrayLike,
    half_extents: npt.ArrayLike,
    rotations: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> ClosestPairs:
    """Closest points of segments and solid boxes.

    Parameters
    ----------
    starts, ends : (3,) or (N, 3), metres, of the segments
    centers : (3,) or (N, 3), metres
    half_extents : (3,) or (N, 3), metres, along the box's own axes
    rotations : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows
    """
    a, b = _as_segments(starts, ends), _as_boxes(centers, half_extents, rotations)
    return _closest("segments, boxes", _SEGMENT_BOX, a, b, threads)


def closest_triangle_triangle(
    triangles_a: npt.ArrayLike, triangles_b: npt.ArrayLike, *, threads: int | None = None
) -> ClosestPairs:
    """Closest points of two triangles.

    Parameters
    ----------
    triangles_a, triangles_b : (3, 3) or (N, 3, 3), corner by corner, metres
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows; of parallel triangles one of the closest pairs
    """
    a, b = _as_triangle_rows(triangles_a, "triangles_a"), _as_triangle_rows(triangles_b, "triangles_b")
    pairs = _closest("triangles_a, triangles_b", _TRIANGLE_TRIANGLE, a, b, threads)
    return _with_exact_contact(pairs, triangle_triangle(triangles_a, triangles_b, threads=threads))


def closest_triangle_box(
    triangles: npt.ArrayLike,
    centers: npt.ArrayLike,
    half_extents: npt.ArrayLike,
    rotations: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> ClosestPairs:
    """Closest points of triangles and solid boxes.

    Parameters
    ----------
    triangles : (3, 3) or (N, 3, 3), corner by corner, metres
    centers : (3,) or (N, 3), metres
    half_extents : (3,) or (N, 3), metres, along the box's own axes
    rotations : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows
    """
    a, b = _as_triangle_rows(triangles, "triangles"), _as_boxes(centers, half_extents, rotations)
    return _closest("triangles, boxes", _TRIANGLE_BOX, a, b, threads)


def closest_box_box(
    centers_a: npt.ArrayLike,
    half_extents_a: npt.ArrayLike,
    rotations_a: npt.ArrayLike | None,
    centers_b: npt.ArrayLike,
    half_extents_b: npt.ArrayLike,
    rotations_b: npt.ArrayLike | None,
    *,
    threads: int | None = None,
) -> ClosestPairs:
    """Closest points of two solid boxes.

    Parameters
    ----------
    centers_a, centers_b : (3,) or (N, 3), metres
    half_extents_a, half_extents_b : (3,) or (N, 3), metres, along each box's own axes
    rotations_a, rotations_b : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    ClosestPairs of N rows
    """
    a = _as_boxes(centers_a, half_extents_a, rotations_a, "_a")
    b = _as_boxes(centers_b, half_extents_b, rotations_b, "_b")
    return _closest("boxes a, boxes b", _BOX_BOX, a, b, threads)
