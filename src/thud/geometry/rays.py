"""Rays against planes, triangles, solids and meshes, row by row; one row broadcasts against N. World frame, metres.

A ray starts at its origin and has no end. Directions may have any length and are normalised, so that distances are in
metres. A miss is inf with point and normal 0. Solids are closed: an origin inside or on one gives the distance 0, the
origin as the point and the normal 0.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_kernel, kernel
from thud._core.threads import run_rows
from thud.geometry._gates import (
    Array,
    as_lengths,
    as_mesh,
    as_plane_sets,
    as_planes,
    as_points,
    as_rotations,
    as_sizes,
    as_triangles,
    as_unit,
    in_range,
    rows,
)
from thud.geometry.contains import check_order, point_in_mesh
from thud.geometry.exact_vec3 import load3 as exact_load3
from thud.geometry.mesh import ray_crossing, ray_triangle_exact
from thud.geometry.mesh import ray_mesh as mesh_hit
from thud.geometry.plane import ray_convex as convex_hit
from thud.geometry.plane import ray_plane as plane_hit
from thud.geometry.ray_local import ray_aabb as aabb_hit
from thud.geometry.ray_local import (
    ray_box_local,
    ray_capsule_local,
    ray_cone_local,
    ray_cylinder_local,
    ray_ellipsoid_local,
    ray_sphere_local,
)
from thud.geometry.rows import exact_row, row
from thud.math.pose import load_rotation, load_translation, rotate, unrotate, untransform
from thud.math.vec3 import load3
from thud.pose import PoseLike, as_poses
from thud.results import RayCrossings, RayHits

#: Which solid a row of sizes describes.
_SPHERE, _BOX, _CAPSULE, _CYLINDER, _CONE, _ELLIPSOID = range(6)


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def _ray_plane_rows(start, stop, origins_in, directions_in, planes_in, distance_out):
    for i in range(start, stop):
        o, d = load3(origins_in, row(i, origins_in), 0), load3(directions_in, row(i, directions_in), 0)
        k = row(i, planes_in)
        distance_out[i] = plane_hit(o, d, (planes_in[k, 0], planes_in[k, 1], planes_in[k, 2], planes_in[k, 3]))


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1]")
def _ray_aabb_rows(start, stop, origins_in, directions_in, lower_in, upper_in, distance_out, normal_out):
    for i in range(start, stop):
        o, d = load3(origins_in, row(i, origins_in), 0), load3(directions_in, row(i, directions_in), 0)
        lower, upper = load3(lower_in, row(i, lower_in), 0), load3(upper_in, row(i, upper_in), 0)
        distance_out[i], normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = aabb_hit(o, d, lower, upper)


@kernel("i8, i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1]")
def _ray_solid_rows(start, stop, solid, origins_in, directions_in, poses_in, sizes_in, distance_out, normal_out):
    for i in range(start, stop):
        # Into the solid's frame.
        r, t = load_rotation(poses_in, row(i, poses_in)), load_translation(poses_in, row(i, poses_in))
        o = untransform(r, t, load3(origins_in, row(i, origins_in), 0))
        d = unrotate(r, load3(directions_in, row(i, directions_in), 0))
        size = load3(sizes_in, row(i, sizes_in), 0)
        if solid == _SPHERE:
            hit = ray_sphere_local(o, d, size[0])
        elif solid == _BOX:
            hit = ray_box_local(o, d, size)
        elif solid == _CAPSULE:
            hit = ray_capsule_local(o, d, size[0], size[1])
        elif solid == _CYLINDER:
            hit = ray_cylinder_local(o, d, size[0], size[1])
        elif solid == _CONE:
            hit = ray_cone_local(o, d, size[0], size[1])
        else:
            hit = ray_ellipsoid_local(o, d, size)
        # The normal back into the world.
        n = rotate(r, (hit[1], hit[2], hit[3]))
        distance_out[i], normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = hit[0], n[0], n[1], n[2]


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,:,::1], f8[::1], i8[::1]")
def _ray_convex_rows(start, stop, origins_in, directions_in, planes_in, distance_out, face_out):
    for i in range(start, stop):
        o, d = load3(origins_in, row(i, origins_in), 0), load3(directions_in, row(i, directions_in), 0)
        distance_out[i], face_out[i] = convex_hit(o, d, planes_in, row(i, planes_in))


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def _ray_triangle_rows(start, stop, origins_in, directions_in, triangles_in, distance_out):
    for i in range(start, stop):
        o = exact_load3(origins_in, exact_row(i, origins_in), 0)
        d = exact_load3(directions_in, exact_row(i, directions_in), 0)
        k = exact_row(i, triangles_in)
        a, b, c = exact_load3(triangles_in, k, 0), exact_load3(triangles_in, k, 3), exact_load3(triangles_in, k, 6)
        distance_out[i] = ray_triangle_exact(o, d, a, b, c)


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], f8[::1], i8[::1]")
def _ray_mesh_rows(start, stop, origins_in, directions_in, vertices_in, faces_in, distance_out, triangle_out):
    for i in range(start, stop):
        o = exact_load3(origins_in, exact_row(i, origins_in), 0)
        d = exact_load3(directions_in, exact_row(i, directions_in), 0)
        distance_out[i], triangle_out[i] = mesh_hit(o, d, vertices_in, faces_in)


@exact_kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1], i8[::1], f8[::1], i8[::1]")
def _ray_mesh_all_rows(start, stop, origins_in, directions_in, vertices_in, faces_in, end_out, distance_out, triangle_out):
    """Count the crossings of ray i into end_out[i]; or, once distance_out has room, write them before end_out[i]."""
    fill = distance_out.shape[0] > 0
    for i in range(start, stop):
        o = exact_load3(origins_in, exact_row(i, origins_in), 0)
        d = exact_load3(directions_in, exact_row(i, directions_in), 0)
        first = end_out[i - 1] if fill and i > 0 else 0
        count = 0
        for f in range(faces_in.shape[0]):
            a, b = exact_load3(vertices_in, faces_in[f, 0], 0), exact_load3(vertices_in, faces_in[f, 1], 0)
            t = ray_crossing(o, d, a, b, exact_load3(vertices_in, faces_in[f, 2], 0))
            if t == math.inf:
                continue
            if fill:
                # Keep the ray's crossings sorted; faces come in order, so equal distances stay in it.
                at = first + count
                while at > first and distance_out[at - 1] > t:
                    distance_out[at], triangle_out[at] = distance_out[at - 1], triangle_out[at - 1]
                    at -= 1
                distance_out[at], triangle_out[at] = t, f
            count += 1
        if not fill:
            end_out[i] = count


def _as_rays(origins: npt.ArrayLike, directions: npt.ArrayLike) -> tuple[Array, Array]:
    return as_points(origins, "origins"), as_unit(directions, "directions")


def _hits(o: Array, d: Array, distance: Array, normal: Array, triangle: npt.NDArray[np.int64] | None = None) -> RayHits:
    """RayHits with the points computed; no NaN where the distance is inf."""
    hit = np.isfinite(distance)
    point = np.where(hit[:, None], o + np.where(hit, distance, 0.0)[:, None] * d, 0.0)
    if triangle is None:
        triangle = np.full(len(distance), -1, dtype=np.int64)
    return RayHits(distance=distance, point=point, normal=np.where(hit[:, None], normal, 0.0), triangle=triangle)


def triangle_normals(triangles: Array) -> Array:
    """(N, 3) unit normals of (N, 3, 3) triangles by their winding; 0 for a triangle without area."""
    n = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    largest = np.abs(n).max(axis=1, keepdims=True)
    n = n / np.where(largest > 0.0, largest, 1.0)
    length = np.sqrt(np.einsum("ij,ij->i", n, n))[:, None]
    return n / np.where(length > 0.0, length, 1.0)


def ray_plane(
    origins: npt.ArrayLike, directions: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None
) -> RayHits:
    """First hits of rays with planes, from either side ([Slides]: t = -(n . org + D) / (n . dir)).

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    planes : (4,) or (N, 4) [A B C D]
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows; the normal is the plane's. A ray that starts on the plane hits it at 0, also if it lies in it.
    """
    o, d = _as_rays(origins, directions)
    q = as_planes(planes, "planes")
    count = rows("origins, directions, planes", o, d, q)
    distance = np.empty(count)
    run_rows(_ray_plane_rows, count, threads, o, d, q, distance)
    return _hits(o, d, distance, q[:, :3])


def ray_triangle(
    origins: npt.ArrayLike, directions: npt.ArrayLike, triangles: npt.ArrayLike, *, threads: int | None = None
) -> RayHits:
    """First hits of rays with triangles, from either side; exact on edges, at corners and for rays in the plane.

    [Slides] compose it of ray-plane and point-in-polygon. Here the sides on which the ray's line passes the edges
    decide (Moeller and Trumbore 1997 in symmetric form, with exact signs).

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    triangles : (3, 3) or (N, 3, 3), corner by corner, metres
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows; the normal follows the winding and does not turn towards the ray
    """
    o, d = _as_rays(origins, directions)
    q = as_triangles(triangles, "triangles")
    count = rows("origins, directions, triangles", o, d, q)
    distance = np.empty(count)
    run_rows(_ray_triangle_rows, count, threads, o, d, q.reshape(-1, 9), distance)
    return _hits(o, d, distance, triangle_normals(q))


def ray_aabb(
    origins: npt.ArrayLike, directions: npt.ArrayLike, lower: npt.ArrayLike, upper: npt.ArrayLike, *, threads: int | None = None
) -> RayHits:
    """First hits of rays with axis-aligned boxes lower <= x <= upper.

    [Slides]: of the faces that look towards the ray, the one reached last is hit if the point is in the box; by
    intervals, so that no ray slips through an edge (Kay and Kajiya 1986).

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    lower, upper : (3,) or (N, 3), metres
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    o, d = _as_rays(origins, directions)
    low, high = as_points(lower, "lower"), as_points(upper, "upper")
    count = rows("origins, directions, lower, upper", o, d, low, high)
    check_order(low, high)
    distance, normal = np.empty(count), np.empty((count, 3))
    run_rows(_ray_aabb_rows, count, threads, o, d, low, high, distance, normal)
    return _hits(o, d, distance, normal)


def _ray_solid(
    solid: int, origins: npt.ArrayLike, directions: npt.ArrayLike, poses: Array, sizes: Array, threads: int | None
) -> RayHits:
    """Rays against one kind of solid at poses (N, 12), with sizes (N, 3) as the device takes them."""
    o, d = _as_rays(origins, directions)
    in_range(poses, "pose")
    count = rows("origins, directions, pose, sizes", o, d, poses, sizes)
    distance, normal = np.empty(count), np.empty((count, 3))
    run_rows(_ray_solid_rows, count, threads, solid, o, d, poses, sizes, distance, normal)
    return _hits(o, d, distance, normal)


def _round_sizes(radius: npt.ArrayLike, half_length: npt.ArrayLike) -> Array:
    """(N, 3) rows [radius, half_length, 0]."""
    r, h = as_lengths(radius, "radius"), as_lengths(half_length, "half_length")
    sizes = np.zeros((rows("radius, half_length", r, h), 3))
    sizes[:, 0], sizes[:, 1] = r, h
    return sizes


def _at(centers: Array, rotations: Array) -> Array:
    """(N, 12) poses of centres and rotation rows."""
    poses = np.empty((rows("centers, rotations", centers, rotations), 12))
    poses[:, :9], poses[:, 9:] = rotations[:, :9], centers
    return poses


def ray_obb(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    centers: npt.ArrayLike,
    half_extents: npt.ArrayLike,
    rotations: npt.ArrayLike | None = None,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with oriented boxes: `ray_aabb` in the box's frame.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    centers, half_extents : (3,) or (N, 3), metres
    rotations : (3, 3) or (N, 3, 3); the columns are the box's axes in the world. None: the world's axes
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    poses = _at(as_points(centers, "centers"), as_rotations(rotations, "rotations"))
    return _ray_solid(_BOX, origins, directions, poses, as_sizes(half_extents, "half_extents", zero=True), threads)


def ray_sphere(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    centers: npt.ArrayLike,
    radii: npt.ArrayLike,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with spheres.

    [Slides] solve A t^2 + B t + C = 0. Here the discriminant comes from the distance of closest approach, which keeps
    its digits when the origin is far away.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    centers : (3,) or (N, 3), metres
    radii : a number or (N,), metres
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    r = as_lengths(radii, "radii", zero=True)
    sizes = np.zeros((len(r), 3))
    sizes[:, 0] = r
    return _ray_solid(_SPHERE, origins, directions, _at(as_points(centers, "centers"), as_rotations(None, "")), sizes, threads)


def ray_capsule(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    radius: npt.ArrayLike,
    half_length: npt.ArrayLike,
    pose: PoseLike = None,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with capsules: the points within `radius` of the segment |z| <= half_length.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    radius, half_length : a number or (N,), metres
    pose : of the capsule in the world, one or N; None: the identity
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    return _ray_solid(_CAPSULE, origins, directions, as_poses(pose, "pose"), _round_sizes(radius, half_length), threads)


def ray_cylinder(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    radius: npt.ArrayLike,
    half_length: npt.ArrayLike,
    pose: PoseLike = None,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with solid cylinders: hypot(x, y) <= radius, |z| <= half_length.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    radius, half_length : a number or (N,), metres
    pose : of the cylinder in the world, one or N; None: the identity
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    return _ray_solid(_CYLINDER, origins, directions, as_poses(pose, "pose"), _round_sizes(radius, half_length), threads)


def ray_cone(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    radius: npt.ArrayLike,
    half_length: npt.ArrayLike,
    pose: PoseLike = None,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with solid cones: apex at z = half_length, base disc of `radius` at z = -half_length.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    radius, half_length : a number or (N,), metres
    pose : of the cone in the world, one or N; None: the identity
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows; the normal at the apex is the axis, or for a ray from below that of the side it comes from
    """
    return _ray_solid(_CONE, origins, directions, as_poses(pose, "pose"), _round_sizes(radius, half_length), threads)


def ray_ellipsoid(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    radii: npt.ArrayLike,
    pose: PoseLike = None,
    *,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with ellipsoids: (x / a)^2 + (y / b)^2 + (z / c)^2 <= 1.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    radii : (3,) or (N, 3) a, b, c, metres
    pose : of the ellipsoid in the world, one or N; None: the identity
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows
    """
    return _ray_solid(_ELLIPSOID, origins, directions, as_poses(pose, "pose"), as_sizes(radii, "radii"), threads)


def ray_convex(
    origins: npt.ArrayLike, directions: npt.ArrayLike, planes: npt.ArrayLike, *, threads: int | None = None
) -> RayHits:
    """First hits of rays with convex solids given by their planes.

    [Slides]: loop through all the planes of the hull; here each plane cuts the ray to what lies behind it (Cyrus and
    Beck 1978), which needs no test of the point at the end.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    planes : (F, 4), one solid for all, or (N, F, 4); [A B C D], normals outwards, A x + B y + C z + D <= 0 inside
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows; `triangle` is the index of the plane that was hit, -1 for a miss or an origin inside
    """
    o, d = _as_rays(origins, directions)
    q = as_plane_sets(planes, "planes")
    count = rows("origins, directions, planes", o, d, q)
    distance, face = np.empty(count), np.empty(count, dtype=np.int64)
    run_rows(_ray_convex_rows, count, threads, o, d, q, distance, face)
    sets = np.arange(count) if len(q) > 1 else np.zeros(count, dtype=np.int64)
    normal = np.where((face >= 0)[:, None], q[sets, np.maximum(face, 0), :3], 0.0)
    return _hits(o, d, distance, normal, face)


def ray_mesh(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    vertices: npt.ArrayLike,
    faces: npt.ArrayLike,
    *,
    solid: bool = False,
    threads: int | None = None,
) -> RayHits:
    """First hits of rays with a triangle mesh, every triangle tried; exact, so no ray slips through an edge or a vertex.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    vertices : (V, 3), metres
    faces : (F, 3) indices of vertices
    solid : False: the mesh is a surface. True: it is closed and solid, and an origin inside gives the distance 0
    threads : most threads to use; None for all cores

    Returns
    -------
    RayHits of N rows; of two triangles hit at one distance, the first. The normal follows the winding
    """
    o, d = _as_rays(origins, directions)
    v, f = as_mesh(vertices, faces)
    count = rows("origins, directions", o, d)
    distance, triangle = np.empty(count), np.empty(count, dtype=np.int64)
    run_rows(_ray_mesh_rows, count, threads, o, d, v, f, distance, triangle)
    normal = triangle_normals(v[f[np.maximum(triangle, 0)]])
    if solid:
        inside = np.broadcast_to(point_in_mesh(o, v, f, threads=threads), count)
        distance[inside], triangle[inside], normal[inside] = 0.0, -1, 0.0
    return _hits(o, d, distance, normal, triangle)


def ray_mesh_all(
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    vertices: npt.ArrayLike,
    faces: npt.ArrayLike,
    *,
    threads: int | None = None,
) -> RayCrossings:
    """All crossings of rays with a triangle mesh, sorted; exact.

    On a closed mesh a ray through an edge or a vertex crosses one triangle there, not all that share it, so that
    inside and outside alternate; where it only grazes the surface, it crosses none or two. A ray that lies in the plane
    of a triangle does not cross it. A triangle that holds the origin is crossed at 0.

    Parameters
    ----------
    origins : (3,) or (N, 3), metres
    directions : (3,) or (N, 3), any length but 0
    vertices : (V, 3), metres
    faces : (F, 3) indices of vertices
    threads : most threads to use; None for all cores

    Returns
    -------
    RayCrossings of M rows
    """
    o, d = _as_rays(origins, directions)
    v, f = as_mesh(vertices, faces)
    count = rows("origins, directions", o, d)
    # Count, then fill.
    end = np.empty(count, dtype=np.int64)
    run_rows(_ray_mesh_all_rows, count, threads, o, d, v, f, end, np.empty(0), np.empty(0, dtype=np.int64))
    ray = np.repeat(np.arange(count), end)
    end = np.cumsum(end)
    distance, triangle = np.empty(end[-1]), np.empty(end[-1], dtype=np.int64)
    if end[-1] > 0:
        run_rows(_ray_mesh_all_rows, count, threads, o, d, v, f, end, distance, triangle)
    point = o[ray if len(o) > 1 else 0] + distance[:, None] * d[ray if len(d) > 1 else 0]
    return RayCrossings(ray, distance, point.reshape(-1, 3), triangle_normals(v[f[triangle]]), triangle)
