"""Do two things meet, where and when: row by row; one row broadcasts against N. World frame, metres, closed sets."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools
from thud._core.decorators import exact_kernel, kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.geometry import moving_sphere, segment_exact, triangle_exact
from thud.geometry._gates import Array, as_lengths, as_points, as_triangles, rows
from thud.geometry.contains import check_order
from thud.geometry.exact_vec3 import load2, load3
from thud.geometry.rectangle import intersected_tri_rect, rectangle_triangle_sat
from thud.geometry.results import Intersections
from thud.geometry.rows import exact_row, row
from thud.geometry.segment_exact import NOTHING
from thud.math.vec3 import load3 as fast_load3
from thud.math.vec3 import sub
from thud.results import CastStatus, Impacts

# The devices have the names of the public functions below.
_spheres, _segments = moving_sphere.moving_sphere_sphere, segment_exact.segment_segment
_segment_triangle, _triangles = triangle_exact.segment_triangle, triangle_exact.triangle_triangle


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1]")
def _moving_sphere_rows(start, stop, centers_a, motions_a, radii_a, centers_b, motions_b, radii_b, time_out):
    for i in range(start, stop):
        offset = sub(fast_load3(centers_b, row(i, centers_b), 0), fast_load3(centers_a, row(i, centers_a), 0))
        motion = sub(fast_load3(motions_b, row(i, motions_b), 0), fast_load3(motions_a, row(i, motions_a), 0))
        time_out[i] = _spheres(offset, motion, radii_a[row(i, radii_a)] + radii_b[row(i, radii_b)])


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], u1[::1], f8[:,::1], f8[:,::1]")
def _segment_segment_rows(start, stop, a_in, b_in, kind_out, start_out, end_out):
    for n in range(start, stop):
        i, k = exact_row(n, a_in), exact_row(n, b_in)
        kind, x, y = _segments(load3(a_in, i, 0), load3(a_in, i, 3), load3(b_in, k, 0), load3(b_in, k, 3))
        kind_out[n] = kind
        for axis in range(3):
            start_out[n, axis], end_out[n, axis] = x[axis], y[axis]


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], u1[::1], f8[:,::1], f8[:,::1]")
def _segment_triangle_rows(start, stop, a_in, b_in, kind_out, start_out, end_out):
    for n in range(start, stop):
        i, k = exact_row(n, a_in), exact_row(n, b_in)
        p, q = load3(a_in, i, 0), load3(a_in, i, 3)
        kind, x, y = _segment_triangle(p, q, load3(b_in, k, 0), load3(b_in, k, 3), load3(b_in, k, 6))
        kind_out[n] = kind
        for axis in range(3):
            start_out[n, axis], end_out[n, axis] = x[axis], y[axis]


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], u1[::1], b1[::1], f8[:,::1], f8[:,::1]")
def _triangle_triangle_rows(start, stop, a_in, b_in, kind_out, coplanar_out, start_out, end_out):
    for n in range(start, stop):
        i, k = exact_row(n, a_in), exact_row(n, b_in)
        a, b, c = load3(a_in, i, 0), load3(a_in, i, 3), load3(a_in, i, 6)
        kind, coplanar, x, y = _triangles(a, b, c, load3(b_in, k, 0), load3(b_in, k, 3), load3(b_in, k, 6))
        kind_out[n], coplanar_out[n] = kind, coplanar
        for axis in range(3):
            start_out[n, axis], end_out[n, axis] = x[axis], y[axis]


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], b1, b1[::1]")
def _rectangle_triangle_rows(start, stop, lower_in, upper_in, triangles_in, sat, meets_out):
    for i in range(start, stop):
        k = exact_row(i, triangles_in)
        a, b, c = load2(triangles_in, k, 0), load2(triangles_in, k, 2), load2(triangles_in, k, 4)
        lower, upper = load2(lower_in, exact_row(i, lower_in), 0), load2(upper_in, exact_row(i, upper_in), 0)
        if sat:
            meets_out[i] = rectangle_triangle_sat(a, b, c, lower, upper)
        else:
            meets_out[i] = intersected_tri_rect(a, b, c, lower, upper)


def moving_sphere_sphere(
    center_a: npt.ArrayLike,
    radius_a: npt.ArrayLike,
    center_b: npt.ArrayLike,
    radius_b: npt.ArrayLike,
    motion_a: npt.ArrayLike,
    motion_b: npt.ArrayLike = 0.0,
    *,
    threads: int | None = None,
) -> Impacts:
    """When two spheres in uniform motion first touch: what `thud.continuous.sphere_sphere` is in kernels, in NumPy but for the
    time.

    [Slides], moving tests. Their inequality lacks two conditions that are added here: the spheres must approach each
    other, and the time must lie in [0, 1]. Touching counts.

    Parameters
    ----------
    center_a, center_b : (3,) or (N, 3), metres, at time 0
    radius_a, radius_b : a number or (N,), metres
    motion_a, motion_b : (3,) or (N, 3), metres, displacements from time 0 to 1; 0 for at rest
    threads : most threads to use; None for all cores

    Returns
    -------
    Impacts: time in [0, 1], 0 where they overlap at the start, inf where they do not meet. The normal points from A to B. Where
    they overlap at the start, B moved by depth * normal is free of A; of spheres with one centre the normal is +z.
    """
    a, b = as_points(center_a, "center_a"), as_points(center_b, "center_b")
    ma, mb = (
        as_points(np.zeros(3) if isinstance(motion, (int, float)) and motion == 0.0 else motion, name)
        for motion, name in ((motion_a, "motion_a"), (motion_b, "motion_b"))
    )
    ra, rb = as_lengths(radius_a, "radius_a", zero=True), as_lengths(radius_b, "radius_b", zero=True)
    count = rows("center_a, radius_a, center_b, radius_b, motion_a, motion_b", a, ra, b, rb, ma, mb)
    time = np.empty(count)
    run_rows(_moving_sphere_rows, count, threads, a, ma, ra, b, mb, rb, time)
    met, start = np.isfinite(time), np.einsum("ij,ij->i", b - a, b - a) <= (ra + rb) ** 2
    d = (b - a) + np.where(met, time, 0.0)[:, None] * (mb - ma)
    away = np.linalg.norm(d, axis=1)
    # In an overlap a point of both, on the line of the centres: as deep in A as in B if it can be.
    share = np.where(start, np.clip(0.5 * (ra + away - rb), -ra, ra), ra)
    unit = d / np.where(away > 0.0, away, 1.0)[:, None]
    point = a + np.where(met, time, 0.0)[:, None] * ma + share[:, None] * unit
    status = np.where(start, CastStatus.OVERLAPPING_AT_START, np.where(met, CastStatus.HIT, CastStatus.MISS)).astype(np.uint8)
    point, normal, depth = np.where(met[:, None], point, 0.0), np.where(met[:, None], unit, 0.0), np.zeros(count)
    start, status = np.broadcast_to(start, count), np.broadcast_to(status, count).copy()
    spheres = (np.broadcast_to(x, (count, *x.shape[1:]))[start] for x in (a, ra, b, rb))
    normal[start], depth[start] = sphere_way_out(*spheres)
    return Impacts(time, point, normal, status, depth)


def sphere_way_out(a: Array, radius_a: Array, b: Array, radius_b: Array) -> tuple[Array, Array]:
    """(normal, depth) of spheres that overlap: B moved by depth * normal touches A."""
    d = b - a
    away = np.linalg.norm(d, axis=1)
    normal = np.where((away > 0.0)[:, None], d / np.where(away > 0.0, away, 1.0)[:, None], [0.0, 0.0, 1.0])
    return normal, radius_a + radius_b - away


def _segment_rows(starts: npt.ArrayLike, ends: npt.ArrayLike, suffix: str, width: int) -> Array:
    """(N, 6) rows; segments of the plane get z = 0."""
    p, q = as_points(starts, f"starts{suffix}", width=width), as_points(ends, f"ends{suffix}", width=width)
    joined = np.zeros((rows(f"starts{suffix}, ends{suffix}", p, q), 6))
    joined[:, :width], joined[:, 3 : 3 + width] = p, q
    return joined


def _intersections(kind: npt.NDArray[np.uint8], coplanar: Bools, start: Array, end: Array, width: int) -> Intersections:
    meets = kind != NOTHING
    start, end = np.where(meets[:, None], start, 0.0), np.where(meets[:, None], end, 0.0)
    return Intersections(meets, coplanar, start[:, :width].copy(), end[:, :width].copy())


def segment_segment(
    starts_a: npt.ArrayLike,
    ends_a: npt.ArrayLike,
    starts_b: npt.ArrayLike,
    ends_b: npt.ArrayLike,
    *,
    threads: int | None = None,
) -> Intersections:
    """Intersections of two segments, in the plane or in space; exact.

    Parameters
    ----------
    starts_a, ends_a, starts_b, ends_b : (2,), (N, 2), (3,) or (N, 3), metres; all of one width
    threads : most threads to use; None for all cores

    Returns
    -------
    Intersections of N rows. `coplanar` is True where they overlap along a line; then start and end bound the overlap.
    """
    shape = np.shape(starts_a)
    width = 2 if shape and shape[-1] == 2 else 3
    a, b = _segment_rows(starts_a, ends_a, "_a", width), _segment_rows(starts_b, ends_b, "_b", width)
    count = rows("segments a, segments b", a, b)
    kind, start, end = np.empty(count, dtype=np.uint8), np.empty((count, 3)), np.empty((count, 3))
    run_rows(_segment_segment_rows, count, threads, a, b, kind, start, end)
    return _intersections(kind, kind == segment_exact.SEGMENT, start, end, width)


def segment_triangle(
    starts: npt.ArrayLike, ends: npt.ArrayLike, triangles: npt.ArrayLike, *, threads: int | None = None
) -> Intersections:
    """Intersections of segments and triangles; exact.

    Parameters
    ----------
    starts, ends : (3,) or (N, 3), metres, of the segments
    triangles : (3, 3) or (N, 3, 3), corner by corner, metres
    threads : most threads to use; None for all cores

    Returns
    -------
    Intersections of N rows. `coplanar` is True where they share a segment, which lies in the triangle's plane.
    """
    a, b = _segment_rows(starts, ends, "", 3), as_triangles(triangles, "triangles").reshape(-1, 9)
    count = rows("segments, triangles", a, b)
    kind, start, end = np.empty(count, dtype=np.uint8), np.empty((count, 3)), np.empty((count, 3))
    run_rows(_segment_triangle_rows, count, threads, a, b, kind, start, end)
    return _intersections(kind, kind == segment_exact.SEGMENT, start, end, 3)


def triangle_triangle(triangles_a: npt.ArrayLike, triangles_b: npt.ArrayLike, *, threads: int | None = None) -> Intersections:
    """Intersections of two triangles; exact, touching and coplanar ones included (after Guigue and Devillers 2003).

    Parameters
    ----------
    triangles_a, triangles_b : (3, 3) or (N, 3, 3), corner by corner, metres; they may be degenerate
    threads : most threads to use; None for all cores

    Returns
    -------
    Intersections of N rows. `coplanar` is True where all six corners lie in one plane, whether they meet or not. Two
    coplanar triangles share an area: start and end are then two points of it, the ends of a segment inside.
    """
    a, b = as_triangles(triangles_a, "triangles_a").reshape(-1, 9), as_triangles(triangles_b, "triangles_b").reshape(-1, 9)
    count = rows("triangles_a, triangles_b", a, b)
    kind, start, end = np.empty(count, dtype=np.uint8), np.empty((count, 3)), np.empty((count, 3))
    coplanar = np.empty(count, dtype=np.bool_)
    run_rows(_triangle_triangle_rows, count, threads, a, b, kind, coplanar, start, end)
    return _intersections(kind, coplanar, start, end, 3)


def rectangle_triangle(
    lower: npt.ArrayLike, upper: npt.ArrayLike, triangles: npt.ArrayLike, *, method: str = "yang", threads: int | None = None
) -> Bools:
    """Whether axis-aligned rectangles and triangles of the plane intersect; exact, touching counts.

    Parameters
    ----------
    lower, upper : (2,) or (N, 2), metres: the rectangles' corners
    triangles : (3, 2) or (N, 3, 2), corner by corner, metres; they may be degenerate
    method : "yang": vertices, then edges ([Yang] Algorithm 9, IntersectedTriRect). "sat": the separating axis theorem,
        which [Yang] 3.6.1 names as the alternative. Both give the same answers.
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    if method not in ("yang", "sat"):
        raise InvalidInputError(f'method: expected "yang" or "sat", got {method!r}')
    low, high = as_points(lower, "lower", width=2), as_points(upper, "upper", width=2)
    q = as_triangles(triangles, "triangles", width=2).reshape(-1, 6)
    count = rows("lower, upper, triangles", low, high, q)
    check_order(low, high)
    meets = np.empty(count, dtype=np.bool_)
    run_rows(_rectangle_triangle_rows, count, threads, low, high, q, method == "sat", meets)
    return meets
