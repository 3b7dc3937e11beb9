"""Points and spheres against planes, row by row; one row broadcasts against N. World frame, metres.

A plane is [A B C D] with A x + B y + C z + D = 0; its normal (A, B, C) may have any length.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats
from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.geometry._gates import Array, as_lengths, as_plane_sets, as_planes, as_points, rows
from thud.geometry.plane import box_in_frustum, signed_distance_plane, sphere_in_frustum
from thud.geometry.rows import row
from thud.math.vec3 import load3


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[::1]")
def _point_plane_rows(start, stop, points_in, planes_in, distance_out):
    for i in range(start, stop):
        k = row(i, planes_in)
        plane = (planes_in[k, 0], planes_in[k, 1], planes_in[k, 2], planes_in[k, 3])
        distance_out[i] = signed_distance_plane(load3(points_in, row(i, points_in), 0), plane)


@kernel("i8, i8, f8[:,::1], f8[::1], f8[:,:,::1], b1[::1]")
def _sphere_frustum_rows(start, stop, centers_in, radii_in, planes_in, inside_out):
    for i in range(start, stop):
        center, radius = load3(centers_in, row(i, centers_in), 0), radii_in[row(i, radii_in)]
        inside_out[i] = sphere_in_frustum(center, radius, planes_in, row(i, planes_in))


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,:,::1], b1[::1]")
def _box_frustum_rows(start, stop, lower_in, upper_in, planes_in, inside_out):
    for i in range(start, stop):
        lower, upper = load3(lower_in, row(i, lower_in), 0), load3(upper_in, row(i, upper_in), 0)
        inside_out[i] = box_in_frustum(lower, upper, planes_in, row(i, planes_in))


def point_plane(points: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None) -> Floats:
    """Signed distance of points from planes.

    Parameters
    ----------
    points : (3,) or (N, 3), metres
    planes : (4,) or (N, 4) [A B C D]
    threads : most threads to use; None for all cores

    Returns
    -------
    (N,) metres; positive on the side the normal points to ([Slides]: the point is behind the plane where it is negative)
    """
    return _heights(as_points(points, "points"), "points", planes, threads)


def _heights(points: Array, name: str, planes: npt.ArrayLike, threads: int | None) -> Floats:
    """Signed distances of points, which the caller calls `name`, from planes."""
    q = as_planes(planes, "planes")
    count = rows(f"{name}, planes", points, q)
    distance = np.empty(count)
    run_rows(_point_plane_rows, count, threads, points, q, distance)
    return distance


def sphere_plane_distance(
    centers: npt.ArrayLike, radii: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None
) -> Floats:
    """Signed distance of spheres from the half-spaces behind planes (opposite the normal).

    Parameters
    ----------
    centers : (3,) or (N, 3), metres
    radii : a number or (N,), metres
    planes : (4,) or (N, 4) [A B C D]
    threads : most threads to use; None for all cores

    Returns
    -------
    (N,) metres; positive where the sphere is in front of the plane and apart from it, negative by the depth to which it
    reaches behind it, -2 * radius where it lies behind it and touches the plane from there.
    """
    r = as_lengths(radii, "radii", zero=True)
    height = _heights(as_points(centers, "centers"), "centers", planes, threads)
    rows("centers or planes, radii", height, r)
    return height - r


def sphere_plane(centers: npt.ArrayLike, radii: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether spheres lie completely in the half-space opposite the plane's normal.

    The test of [Slides]: A cx + B cy + C cz + D < -R, for a normal of unit length. A sphere that touches the plane
    from behind is not completely behind it.

    Parameters
    ----------
    centers : (3,) or (N, 3), metres
    radii : a number or (N,), metres
    planes : (4,) or (N, 4) [A B C D]
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    r = as_lengths(radii, "radii", zero=True)
    height = _heights(as_points(centers, "centers"), "centers", planes, threads)
    rows("centers or planes, radii", height, r)
    return height < -r


def sphere_frustum(centers: npt.ArrayLike, radii: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether spheres may be seen in a frustum: False where one lies completely behind one of its planes.

    [Slides]: clipping against the viewing frustum, plane by plane. As there, the normals point into the frustum. True
    does not prove an overlap: a sphere near an edge can be outside and yet not behind any single plane.

    Parameters
    ----------
    centers : (3,) or (N, 3), metres
    radii : a number or (N,), metres
    planes : (P, 4), one frustum for all, or (N, P, 4); [A B C D], normals inwards
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    c, r, q = as_points(centers, "centers"), as_lengths(radii, "radii", zero=True), as_plane_sets(planes, "planes")
    count = rows("centers, radii, planes", c, r, q)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_sphere_frustum_rows, count, threads, c, r, q, inside)
    return inside


def box_frustum(lower: npt.ArrayLike, upper: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether axis-aligned boxes may be seen in a frustum: False where one lies completely behind one of its planes.

    The test of `sphere_frustum` for boxes: of each plane the corner farthest along its normal is asked. True does not prove an
    overlap.

    Parameters
    ----------
    lower, upper : (3,) or (N, 3) corners, metres
    planes : (P, 4), one frustum for all, or (N, P, 4); [A B C D], normals inwards (`frustum_planes` makes them)
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    low, high, q = as_points(lower, "lower"), as_points(upper, "upper"), as_plane_sets(planes, "planes")
    count = rows("lower, upper, planes", low, high, q)
    wrong = (low > high).any(axis=1)
    if wrong.any():
        raise InvalidInputError(f"lower: row {int(wrong.argmax())} lies above `upper`; expected lower <= upper along each axis")
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_box_frustum_rows, count, threads, low, high, q, inside)
    return inside
