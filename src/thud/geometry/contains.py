"""Is a point inside: row by row; one row broadcasts against N. World frame, metres, closed sets: on the surface is inside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools
from thud._core.decorators import exact_kernel, kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.geometry._gates import (
    Array,
    as_lengths,
    as_mesh,
    as_plane_sets,
    as_points,
    as_rotations,
    as_sizes,
    as_stack,
    as_unit,
    require_closed,
    rows,
)
from thud.geometry.exact_vec3 import load2
from thud.geometry.exact_vec3 import load3 as exact_load3
from thud.geometry.mesh import point_in_mesh as mesh_contains
from thud.geometry.plane import point_in_convex as planes_contain
from thud.geometry.point import point_in_aabb as aabb_contains
from thud.geometry.point import point_in_box
from thud.geometry.point import point_in_sphere as sphere_contains
from thud.geometry.polygon import point_in_convex_polygon_2d, point_in_convex_polygon_3d, point_in_polygon_2d
from thud.geometry.rows import exact_row, row
from thud.math.pose import load_rotation, untransform
from thud.math.vec3 import load3


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[::1], b1[::1]")
def _point_sphere_rows(start, stop, points_in, centers_in, radii_in, inside_out):
    for i in range(start, stop):
        p, center = load3(points_in, row(i, points_in), 0), load3(centers_in, row(i, centers_in), 0)
        inside_out[i] = sphere_contains(p, center, radii_in[row(i, radii_in)])


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], b1[::1]")
def _point_aabb_rows(start, stop, points_in, lower_in, upper_in, inside_out):
    for i in range(start, stop):
        lower, upper = load3(lower_in, row(i, lower_in), 0), load3(upper_in, row(i, upper_in), 0)
        inside_out[i] = aabb_contains(load3(points_in, row(i, points_in), 0), lower, upper)


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], b1[::1]")
def _point_obb_rows(start, stop, points_in, centers_in, half_extents_in, rotations_in, inside_out):
    for i in range(start, stop):
        r, t = load_rotation(rotations_in, row(i, rotations_in)), load3(centers_in, row(i, centers_in), 0)
        p_box = untransform(r, t, load3(points_in, row(i, points_in), 0))
        inside_out[i] = point_in_box(p_box, load3(half_extents_in, row(i, half_extents_in), 0))


@kernel("i8, i8, f8[:,::1], f8[:,:,::1], b1[::1]")
def _point_convex_rows(start, stop, points_in, planes_in, inside_out):
    for i in range(start, stop):
        inside_out[i] = planes_contain(load3(points_in, row(i, points_in), 0), planes_in, row(i, planes_in))


@exact_kernel("i8, i8, f8[:,::1], f8[:,:,::1], b1, b1[::1]")
def _point_polygon_2d_rows(start, stop, points_in, polygons_in, convex, inside_out):
    for i in range(start, stop):
        p, m = load2(points_in, exact_row(i, points_in), 0), exact_row(i, polygons_in)
        if convex:
            inside_out[i] = point_in_convex_polygon_2d(p, polygons_in, m)
        else:
            inside_out[i] = point_in_polygon_2d(p, polygons_in, m)


@exact_kernel("i8, i8, f8[:,::1], f8[:,:,::1], f8[:,::1], b1[::1]")
def _point_convex_polygon_rows(start, stop, points_in, polygons_in, normals_in, inside_out):
    for i in range(start, stop):
        p, n = exact_load3(points_in, exact_row(i, points_in), 0), exact_load3(normals_in, exact_row(i, normals_in), 0)
        inside_out[i] = point_in_convex_polygon_3d(p, n, polygons_in, exact_row(i, polygons_in))


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], i8[:,::1], b1[::1]")
def point_mesh_rows(start, stop, points_in, vertices_in, faces_in, inside_out):
    """Whether points lie in a mesh that is known to be closed: every triangle is tried."""
    for i in range(start, stop):
        inside_out[i] = mesh_contains(exact_load3(points_in, i, 0), vertices_in, faces_in)


def point_in_sphere(
    points: npt.ArrayLike, centers: npt.ArrayLike, radii: npt.ArrayLike, *, threads: int | None = None
) -> Bools:
    """Whether points lie in closed balls.

    [Slides] compare the squares; here <= takes the place of <, as a sphere is a closed set.

    Parameters
    ----------
    points, centers : (3,) or (N, 3), metres
    radii : a number or (N,), metres
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    p, c, r = as_points(points, "points"), as_points(centers, "centers"), as_lengths(radii, "radii", zero=True)
    count = rows("points, centers, radii", p, c, r)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_sphere_rows, count, threads, p, c, r, inside)
    return inside


def point_in_aabb(points: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether points lie in axis-aligned boxes lower <= x <= upper ([Slides]).

    Parameters
    ----------
    points, lower, upper : (3,) or (N, 3), metres
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    p, low, high = as_points(points, "points"), as_points(lower, "lower"), as_points(upper, "upper")
    count = rows("points, lower, upper", p, low, high)
    check_order(low, high)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_aabb_rows, count, threads, p, low, high, inside)
    return inside


def check_order(lower: Array, upper: Array) -> None:
    """Raise unless lower <= upper in every row."""
    wrong = np.broadcast_to((lower > upper).any(axis=1), max(len(lower), len(upper)))
    if wrong.any():
        k = int(np.argmax(wrong))
        raise InvalidInputError(f"lower, upper: row {k} has a lower corner above the upper one; expected lower <= upper")


def point_in_obb(
    points: npt.ArrayLike,
    centers: npt.ArrayLike,
    half_extents: npt.ArrayLike,
    rotations: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> Bools:
    """Whether points lie in oriented boxes.

    Parameters
    ----------
    points, centers : (3,) or (N, 3), metres
    half_extents : (3,) or (N, 3), metres, along the box's own axes
    rotations : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    p, c = as_points(points, "points"), as_points(centers, "centers")
    h, r = as_sizes(half_extents, "half_extents", zero=True), as_rotations(rotations, "rotations")
    count = rows("points, centers, half_extents, rotations", p, c, h, r)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_obb_rows, count, threads, p, c, h, r, inside)
    return inside


def _width(points: npt.ArrayLike) -> int:
    """2 for points of the plane, else 3."""
    shape = np.shape(points)
    return 2 if shape and shape[-1] == 2 else 3


def polygon_normals(polygons: Array) -> Array:
    """(M, 3) normals of (M, K, 3) polygons, not of unit length: the areas seen along each axis (Newell)."""
    around = np.roll(polygons, -1, axis=1)
    # Relative to the first vertex, so that an offset costs no digits.
    here, there = polygons - polygons[:, :1], around - polygons[:, :1]
    return np.cross(here, there).sum(axis=1)


def _as_normals(normals: npt.ArrayLike | None, polygons: Array) -> Array:
    if normals is not None:
        return as_unit(normals, "normals")
    computed = polygon_normals(polygons)
    if not computed.any(axis=1).all():
        k = int(np.argmin(computed.any(axis=1)))
        raise InvalidInputError(f"polygons: row {k} has no area; expected a polygon that shows its normal, or normals=")
    return computed / np.abs(computed).max(axis=1, keepdims=True)


def point_in_convex_polygon(
    points: npt.ArrayLike,
    polygons: npt.ArrayLike,
    normals: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> Bools:
    """Whether points lie in convex polygons, in the plane or in space; exact, edges included.

    [Slides]: the point lies on one side of all the planes spanned by an edge and the normal. In space that is the prism
    over the polygon along its normal: the distance of the point from the polygon's plane does not count.

    Parameters
    ----------
    points : (2,), (N, 2), (3,) or (N, 3), metres
    polygons : (K, 2) or (N, K, 2), or with 3 coordinates as the points have; in order around, either winding
    normals : (3,) or (N, 3), in space only; None: computed from the polygon (Newell)
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,). A polygon in space without any area as seen along its normal contains no point.
    """
    width = _width(points)
    p, q = as_points(points, "points", width=width), as_stack(polygons, "polygons", width=width, least=3)
    if width == 2:
        if normals is not None:
            raise InvalidInputError("normals: given for polygons of the plane; expected None")
        count = rows("points, polygons", p, q)
        inside = np.empty(count, dtype=np.bool_)
        run_rows(_point_polygon_2d_rows, count, threads, p, q, True, inside)
        return inside
    n = _as_normals(normals, q)
    count = rows("points, polygons, normals", p, q, n)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_convex_polygon_rows, count, threads, p, q, n, inside)
    return inside


def point_in_polygon(
    points: npt.ArrayLike,
    polygons: npt.ArrayLike,
    normals: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> Bools:
    """Whether points lie in any closed polygons, by the Jordan curve theorem; exact, edges and vertices included.

    [Slides]: inside is where a ray crosses the polygon's edges an odd number of times. A polygon may be concave, and may
    cross itself: then the parity decides.

    Parameters
    ----------
    points : (2,), (N, 2), (3,) or (N, 3), metres; in space they are taken to lie in the polygon's plane
    polygons : (K, 2) or (N, K, 2), or with 3 coordinates as the points have; in order around, either winding
    normals : (3,) or (N, 3), in space only; None: computed from the polygon (Newell). Points and polygon are looked at
        along the coordinate axis closest to the normal
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    width = _width(points)
    p, q = as_points(points, "points", width=width), as_stack(polygons, "polygons", width=width, least=3)
    if width == 2:
        if normals is not None:
            raise InvalidInputError("normals: given for polygons of the plane; expected None")
    else:
        n = _as_normals(normals, q)
        count = rows("points, polygons, normals", p, q, n)
        # Leave out the axis along which the polygon is seen best: exact, and one to one for points of its plane.
        axis = np.abs(n).argmax(axis=1)
        kept = np.array([[1, 2], [2, 0], [0, 1]])[axis]
        q = np.take_along_axis(q, kept[:, None, :], axis=2)
        p = np.take_along_axis(p, kept, axis=1)
    count = rows("points, polygons", p, q)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_polygon_2d_rows, count, threads, np.ascontiguousarray(p), np.ascontiguousarray(q), False, inside)
    return inside


def point_in_convex(points: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether points lie in convex objects given by their planes of support.

    [Slides] ask for one sign at all planes, whichever; here the normals point outwards, so that touching counts.

    Parameters
    ----------
    points : (3,) or (N, 3), metres
    planes : (F, 4), one object for all, or (N, F, 4); [A B C D], A x + B y + C z + D <= 0 inside
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    p, q = as_points(points, "points"), as_plane_sets(planes, "planes")
    count = rows("points, planes", p, q)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(_point_convex_rows, count, threads, p, q, inside)
    return inside


def point_in_mesh(points: npt.ArrayLike, vertices: npt.ArrayLike, faces: npt.ArrayLike, *, threads: int | None = None) -> Bools:
    """Whether points lie in or on a closed triangle mesh, convex or not; exact.

    The Jordan curve theorem in space ([Slides], point in polygon): inside is where a ray crosses the surface an odd
    number of times. Every decision is exact, and a ray through an edge or a vertex is moved by an infinitely small step
    (Edelsbrunner and Muecke 1990), so no point is ever judged wrong. Every triangle is tried for every point; the tree
    of a shape (`thud.contains`) is faster on large meshes.

    Parameters
    ----------
    points : (3,) or (N, 3), metres
    vertices : (V, 3), metres
    faces : (F, 3) indices of vertices, either winding; every edge, by the coordinates of its ends, in an even number of faces
    threads : most threads to use; None for all cores

    Returns
    -------
    bool (N,)
    """
    p = as_points(points, "points")
    v, f = as_mesh(vertices, faces)
    require_closed(v, f)
    inside = np.empty(len(p), dtype=np.bool_)
    run_rows(point_mesh_rows, len(p), threads, p, v, f, inside)
    return inside
