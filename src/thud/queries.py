"""The public pair and shape queries. Each checks its arguments, then routes to narrowphase or continuous by kind."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from thud._threads import run_rows
from thud.constants import MANIFOLD_POINTS, MESH_COORDINATE
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.gates import as_directions, as_points, as_poses, as_positive, broadcast_rows, pair_count
from thud.narrowphase import dispatch, mesh_dispatch
from thud.narrowphase.dispatch import as_axes, as_reach
from thud.narrowphase.pair_cache import PairCache
from thud.narrowphase.prepared import PreparedPair
from thud.pose import Pose, PoseLike
from thud.results import ClosestPoints, Contacts, Distances, Impacts, RayCrossings, RayHits, TrianglePairs
from thud.shapes.compound import Compound
from thud.shapes.packed import Packed, as_packed
from thud.shapes.shape import SPHERE, Part, Shape
from thud.shapes.sphere import Sphere
from thud.shapes.triangle_mesh import TriangleMesh
from thud.terrain.surface import DisplacedSurface

_PAIR = np.array([[0, 1]], dtype=np.int64)


def _pair_arguments(
    a: Shape, b: Shape, pose_a: PoseLike, pose_b: PoseLike
) -> tuple[Packed, npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    packed = as_packed((a, b), "a, b")
    rows_a, rows_b = as_poses(pose_a, "pose_a"), as_poses(pose_b, "pose_b")
    return packed, rows_a, rows_b, pair_count(rows_a, rows_b)


def _is_mesh_pair(a: Shape, b: Shape) -> bool:
    """Whether a mesh takes part; the gate of both shape arguments."""
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, Shape):
            raise InvalidInputError(f"{name}: expected a thud shape, got a {type(shape).__name__}")
    return mesh_dispatch.has_mesh(a) or mesh_dispatch.has_mesh(b)


def _mesh_arguments(pose_a: PoseLike, pose_b: PoseLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    rows_a, rows_b = as_poses(pose_a, "pose_a"), as_poses(pose_b, "pose_b")
    return rows_a, rows_b, pair_count(rows_a, rows_b)


def _surface_first(a: Shape, b: Shape) -> bool | None:
    """Whether the displaced surface of a pair is A; None if there is none. Two have no common query."""
    for name, shape in (("a", a), ("b", b)):
        if not isinstance(shape, Shape):
            raise InvalidInputError(f"{name}: expected a thud shape, got a {type(shape).__name__}")
    if isinstance(a, DisplacedSurface):
        if isinstance(b, DisplacedSurface):
            raise UnsupportedQueryError("a, b: two DisplacedSurfaces; give one of them as its to_mesh()")
        return True
    return False if isinstance(b, DisplacedSurface) else None


def _surface_arguments(pose_a: PoseLike, pose_b: PoseLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
    mesh_dispatch.check_reach(rows_a, "pose_a")
    mesh_dispatch.check_reach(rows_b, "pose_b")
    return rows_a, rows_b, count


def _surface_points(points: npt.ArrayLike, pose: PoseLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    where, rows = as_points(points, "points"), as_poses(pose, "pose")
    mesh_dispatch.check_reach(rows, "pose")
    far = np.abs(where).max(axis=1) > MESH_COORDINATE
    if far.any():
        raise InvalidInputError(f"points: row {int(np.argmax(far))} is beyond {MESH_COORDINATE:g}, the limit of surfaces")
    return where, rows, broadcast_rows("points, pose", where, rows)


def _refuse_method(method: str, query: str) -> None:
    if method != "gjk":
        raise UnsupportedQueryError(f"{query}: method {method!r} is for ConvexHull and Box, not for meshes and surfaces")


def intersects(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    method: str = "gjk",
    axes: npt.ArrayLike | None = None,
    cache: PairCache | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """Whether two shapes meet, for one or N poses each. Touching counts; so does what stays undecided.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    method : "gjk"; for hulls and boxes also "chung_wang" ([Yang] Algorithm 2) and "v_clip" ([Yang] 2.8.1)
    axes : (N, 3) normals of an earlier, similar query to start from
    cache : `thud.PairCache` that was given to this query in the last frame: faster for meshes, the same answers
    threads : how many to use; default all cores

    Returns
    -------
    (N,) bool
    """
    first = _surface_first(a, b)
    if first is not None:
        from thud.terrain import surface_queries

        _refuse_method(method, "intersects")
        rows_a, rows_b, count = _surface_arguments(pose_a, pose_b)
        pair = (a, b, rows_a, rows_b) if first else (b, a, rows_b, rows_a)
        return surface_queries.intersects(*pair, count, threads, cache)  # type: ignore[arg-type]
    if _is_mesh_pair(a, b):
        _refuse_method(method, "intersects")
        rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
        return mesh_dispatch.intersects(a, b, rows_a, rows_b, count, threads, cache)
    packed, rows_a, rows_b, count = _pair_arguments(a, b, pose_a, pose_b)
    start = as_axes(axes, count)
    return dispatch.intersects(packed, _PAIR, rows_a, rows_b, False, count, axes=start, method=method, threads=threads)


def distance(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    signed: bool = False,
    max_distance: float = np.inf,
    method: str = "gjk",
    axes: npt.ArrayLike | None = None,
    cache: PairCache | None = None,
    threads: int | None = None,
) -> Distances:
    """Distance of two shapes with witness points and normal, for one or N poses each.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    signed : in an overlap the negative penetration depth (B moved by depth * normal is free of A); else 0, with one
        common point as both points and normal 0. For compounds: the deepest pair of their convex parts.
    max_distance : metres; rows beyond it get distance inf, points and normal 0
    method : "gjk"; for hulls and boxes also "v_clip", which hands overlaps over to EPA
    axes : (N, 3) normals of an earlier, similar query (`result.normal`) to start from
    cache : `thud.PairCache` that was given to this query in the last frame: faster for meshes, the same answers
    threads : how many to use; default all cores
    """
    first = _surface_first(a, b)
    if first is not None:
        from thud.terrain import surface_queries

        _refuse_method(method, "distance")
        rows_a, rows_b, count = _surface_arguments(pose_a, pose_b)
        pair = (a, b, rows_a, rows_b) if first else (b, a, rows_b, rows_a)
        apart = surface_queries.distance(*pair, count, signed=signed, reach=as_reach(max_distance), threads=threads)  # type: ignore[arg-type]
        return apart if first else replace(apart, point_a=apart.point_b, point_b=apart.point_a, normal=-apart.normal)
    if _is_mesh_pair(a, b):
        _refuse_method(method, "distance")
        rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
        if signed:
            from thud.continuous.mesh_depth import signed_distance

            return signed_distance(a, b, rows_a, rows_b, count, reach=as_reach(max_distance), threads=threads)
        return mesh_dispatch.distance(a, b, rows_a, rows_b, count, reach=as_reach(max_distance), threads=threads, cache=cache)
    packed, rows_a, rows_b, count = _pair_arguments(a, b, pose_a, pose_b)
    return dispatch.distance(
        packed, _PAIR, rows_a, rows_b, False, count,
        signed=signed, max_distance=as_reach(max_distance), axes=as_axes(axes, count), method=method, threads=threads,
    )  # fmt: skip


def triangle_pairs(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    cache: PairCache | None = None,
    threads: int | None = None,
) -> TrianglePairs:
    """All pairs of triangles of two meshes that meet, for one or N poses each. Touching counts; a mesh inside another that
    does not touch it has none.

    Parameters
    ----------
    a, b : meshes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    cache : `thud.PairCache` that was given to this query in the last frame: the same answers
    threads : how many to use; default all cores
    """
    rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
    return mesh_dispatch.triangle_pairs(a, b, rows_a, rows_b, count, threads, cache)


def prepare(a: Shape, b: Shape) -> PreparedPair | PreparedMeshPair:
    """One pair for many single queries: everything checked and packed once."""
    for row, shape in enumerate((a, b)):
        if not isinstance(shape, Shape):
            raise InvalidInputError(f"a, b: row {row} is a {type(shape).__name__}; expected a thud shape")
    if _surface_first(a, b) is not None or mesh_dispatch.has_mesh(a) or mesh_dispatch.has_mesh(b):
        return PreparedMeshPair(a, b)
    return PreparedPair(a, b)


class PreparedMeshPair:
    """A pair in which a mesh or a displaced surface takes part, ready for many single queries; it remembers where it found the
    last answers."""

    def __init__(self, a: Shape, b: Shape) -> None:
        self.a, self.b = a, b
        self._cache = PairCache()

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> bool:
        """Whether the two meet, at one pose each."""
        return bool(intersects(self.a, self.b, pose_a, pose_b, threads=1, cache=self._cache)[0])

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, *, signed: bool = False) -> Distances:
        """Distance with witness points: a `Distances` of one row."""
        return distance(self.a, self.b, pose_a, pose_b, signed=signed, threads=1, cache=self._cache)

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, *, margin: float = 0.0) -> Contacts:
        """Contact points; rows are all 0."""
        return contacts(self.a, self.b, pose_a, pose_b, margin=margin, threads=1)


def contacts(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """Contact points of two shapes, for one or N poses each.

    Faces that meet give up to 8 points, edges and curved surfaces 1 or 2; each pair of convex parts of a compound is a
    patch of its own. Two overlapping half-spaces have status OVERLAPPING and no points.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    margin : metres; also report points that are apart by up to this much, with negative depth
    max_points : 1 to 8 points a patch; 4 keep the deepest and the extent
    threads : how many to use; default all cores
    """
    margin = as_positive(margin, "margin", zero=True)
    first = _surface_first(a, b)
    if first is not None:
        from thud.terrain import surface_queries

        rows_a, rows_b, count = _surface_arguments(pose_a, pose_b)
        dispatch.check_max_points(max_points)
        pair = (a, b, rows_a, rows_b) if first else (b, a, rows_b, rows_a)
        found = surface_queries.contacts(*pair, count, margin=margin, max_points=max_points, threads=threads)  # type: ignore[arg-type]
        return found if first else replace(found, normal=-found.normal)
    if _is_mesh_pair(a, b):
        from thud.continuous import mesh_contacts

        rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
        dispatch.check_max_points(max_points)
        return mesh_contacts.contacts(a, b, rows_a, rows_b, count, margin=margin, max_points=max_points, threads=threads)
    packed, rows_a, rows_b, count = _pair_arguments(a, b, pose_a, pose_b)
    return dispatch.contacts(packed, _PAIR, rows_a, rows_b, False, count, margin=margin, max_points=max_points, threads=threads)


def cast(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    motion_a: npt.ArrayLike = 0.0,
    motion_b: npt.ArrayLike = 0.0,
    *,
    threads: int | None = None,
) -> Impacts:
    """When two shapes in motion first touch.

    The time is never later than that of the true first contact, and before it by at most what it takes to close a gap of 1e-9
    of the shapes' size (4e-8 with a cylinder, cone or ellipsoid). UNCONVERGED: an iteration limit was reached; there is no
    contact before the time given.

    A motion has constant rates over the step. With displacement v and rotation vector w (an angle in radians times a unit
    axis; full turns count), both in the world frame, a shape at (R, t) is at (exp(s w) R, t + s v) at time s: it turns about
    the origin of its own frame, which moves along a straight line.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : poses at time 0
    motion_a, motion_b : (3,) or (N, 3) displacement over the step, metres, world frame; or (6,) or (N, 6) displacement and
        rotation vector; 0 for at rest. Rotation vectors of zero give the bytes of a cast without them.
    threads : how many to use; default all cores
    """
    from thud.continuous import convex_dispatch

    move_a = convex_dispatch.as_motion(motion_a, "motion_a")
    move_b = convex_dispatch.as_motion(motion_b, "motion_b")
    first = _surface_first(a, b)
    if first is not None:
        from thud.terrain import surface_queries

        rows_a, rows_b, count = _surface_arguments(pose_a, pose_b)
        count = broadcast_rows("pose_a, pose_b, motion_a, motion_b", rows_a, rows_b, move_a, move_b)
        pair = (a, b, rows_a, rows_b, move_a, move_b) if first else (b, a, rows_b, rows_a, move_b, move_a)
        found = surface_queries.cast(*pair, count, threads)  # type: ignore[arg-type]
        return found if first else replace(found, normal=-found.normal)
    if _is_mesh_pair(a, b):
        from thud.continuous import mesh_dispatch as mesh_casts

        rows_a, rows_b, count = _mesh_arguments(pose_a, pose_b)
        count = broadcast_rows("pose_a, pose_b, motion_a, motion_b", rows_a, rows_b, move_a, move_b)
        return mesh_casts.cast(a, b, rows_a, rows_b, move_a, move_b, count, threads)
    packed, rows_a, rows_b, count = _pair_arguments(a, b, pose_a, pose_b)
    count = broadcast_rows("pose_a, pose_b, motion_a, motion_b", rows_a, rows_b, move_a, move_b)
    return convex_dispatch.cast(packed, _PAIR, rows_a, rows_b, move_a, move_b, count, threads)


def _is_compound_with_mesh(shape: Shape) -> bool:
    return isinstance(shape, Compound) and mesh_dispatch.has_mesh(shape)


def _placed_leaves(shape: Shape, pose: PoseLike) -> list[tuple[Shape, Pose]]:
    """The meshes and convex shapes of a compound with their poses in the world."""
    rows = as_poses(pose, "pose")
    return [(leaf, Pose.from_rows(mesh_dispatch.placed(rows, inner))) for leaf, inner in mesh_dispatch.leaves(shape)]


_Found = TypeVar("_Found", RayHits, ClosestPoints)


def _nearest(found: list[_Found], distances: list[npt.NDArray[np.float64]]) -> _Found:
    """Row by row the answer of the leaf at the smallest distance; `triangle` becomes the number of that leaf, -1 for a miss."""
    best = np.argmin(distances, axis=0)
    rows = np.arange(len(best))
    columns = {field.name: np.stack([getattr(one, field.name) for one in found])[best, rows] for field in fields(found[0])}
    columns["triangle"] = np.where(np.isinf(columns["distance"]), -1, best)
    return type(found[0])(**columns)


def raycast(
    shape: Shape,
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    *,
    pose: PoseLike = None,
    max_distance: float = np.inf,
    any_hit: bool = False,
    threads: int | None = None,
) -> RayHits:
    """First hit of rays on a shape. A ray that starts inside hits at distance 0, with normal 0.

    A mesh is hit on its surface, from either side: a ray that starts inside a closed one hits where it leaves. The
    normal is that of the triangle by its winding; of equal distances the smallest row of the mesh's faces counts. No ray slips
    through an edge or a vertex.

    Parameters
    ----------
    shape : the shape
    origins, directions : (3,) or (N, 3) world frame; directions are normalised
    pose : of the shape; one or N
    max_distance : metres; hits beyond it are misses
    any_hit : the hit may be any, not the first: faster for compounds
    threads : how many to use; default all cores
    """
    if isinstance(shape, DisplacedSurface):
        from thud.terrain import surface_queries

        start, along, rows, count = _ray_arguments(origins, directions, pose)
        reach = as_reach(max_distance)
        return surface_queries.raycast(shape, start, unit(along), rows, count, reach, any_hit, threads)
    if isinstance(shape, TriangleMesh):
        from thud.narrowphase.mesh_raycast import raycast_mesh

        arguments = _ray_arguments(origins, directions, pose)
        return raycast_mesh(shape, *arguments, as_reach(max_distance), any_hit, threads)
    if _is_compound_with_mesh(shape):
        hits = [
            raycast(leaf, origins, directions, pose=at, max_distance=max_distance, any_hit=any_hit, threads=threads)
            for leaf, at in _placed_leaves(shape, pose)
        ]
        return _nearest(hits, [hit.distance for hit in hits])
    from thud.narrowphase.raycast import raycast_rows

    packed = as_packed((shape,), "shape")
    start, along, rows, count = _ray_arguments(origins, directions, pose)
    along = unit(along)
    out = RayHits(np.empty(count), np.empty((count, 3)), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    fields = (out.distance, out.point, out.normal, out.triangle)
    run_rows(raycast_rows, count, threads, packed, start, along, rows, as_reach(max_distance), int(any_hit), *fields)
    return out


def _ray_arguments(
    origins: npt.ArrayLike, directions: npt.ArrayLike, pose: PoseLike
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    start, along, rows = as_points(origins, "origins"), as_directions(directions, "directions"), as_poses(pose, "pose")
    return start, along, rows, broadcast_rows("origins, directions, pose", start, along, rows)


def unit(directions: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of length 1; by the largest component first, so that no square over- or underflows."""
    along = directions / np.abs(directions).max(axis=1, keepdims=True)
    return along / np.linalg.norm(along, axis=1, keepdims=True)


def raycast_all(
    shape: Shape,
    origins: npt.ArrayLike,
    directions: npt.ArrayLike,
    *,
    pose: PoseLike = None,
    max_distance: float = np.inf,
    threads: int | None = None,
) -> RayCrossings:
    """All crossings of rays with a shape's surface, where they enter and where they leave.

    On a closed mesh a ray through an edge or a vertex crosses exactly one of the triangles there (or, where it only grazes
    the surface, none or two): from inside there is an odd number of crossings, from outside an even one. A convex shape is
    crossed twice from outside, once from inside or on its surface, and a half-space once; `triangle` is -1. A compound
    answers for each part by itself, also where it lies inside another; `triangle` is then the number of the part.

    Parameters
    ----------
    shape : the shape
    origins, directions : (3,) or (N, 3) world frame; directions are normalised
    pose : of the shape; one or N
    max_distance : metres; crossings beyond it are left out
    threads : how many to use; default all cores
    """
    if isinstance(shape, TriangleMesh):
        from thud.narrowphase.mesh_raycast import raycast_all_mesh

        return raycast_all_mesh(shape, *_ray_arguments(origins, directions, pose), as_reach(max_distance), threads)
    if _is_compound_with_mesh(shape):
        found = [
            raycast_all(leaf, origins, directions, pose=at, max_distance=max_distance, threads=threads)
            for leaf, at in _placed_leaves(shape, pose)
        ]
        columns = {field.name: np.concatenate([getattr(one, field.name) for one in found]) for field in fields(RayCrossings)}
        columns["triangle"] = np.repeat(np.arange(len(found)), [len(one.row) for one in found])
        order = np.lexsort((columns["triangle"], columns["distance"], columns["row"]))
        return RayCrossings(**{name: column[order] for name, column in columns.items()})
    from thud.narrowphase.raycast_all import raycast_all_convex

    packed = as_packed((shape,), "shape")
    start, along, rows, count = _ray_arguments(origins, directions, pose)
    return raycast_all_convex(packed, start, unit(along), rows, count, as_reach(max_distance), threads)


def contains(
    shape: Shape, points: npt.ArrayLike, *, pose: PoseLike = None, method: str | None = None, threads: int | None = None
) -> npt.NDArray[np.bool_]:
    """(N,) whether points lie in a shape, its surface included.

    A closed mesh is a solid. The methods for meshes: "ray" (the default) is exact, surface points included: the parity of the
    crossings of a ray, never fooled by an edge or a vertex. "grid" answers the same from cells marked inside, outside or
    unknown ([Slides]); it pays where one mesh is asked many times. "winding" is the generalised winding number, which is
    also defined for open meshes (inside where it exceeds one half) and for overlapping ones; on the surface itself it may
    say either. "parts" decomposes the mesh (`thud.decompose`) and is as good as
    that: in any of the convex parts. Other shapes take "parts" alone.

    Parameters
    ----------
    shape : the shape
    points : (3,) or (N, 3) world frame
    pose : of the shape; one or N
    method : "ray", "winding", "grid" or "parts"
    threads : how many to use; default all cores
    """
    if isinstance(shape, DisplacedSurface) and method is None:
        from thud.terrain import surface_queries

        where, rows, count = _surface_points(points, pose)
        return surface_queries.contains(shape, where, rows, count, threads)
    if isinstance(shape, TriangleMesh):
        from thud.narrowphase.mesh_contains import contains_mesh

        where, rows = as_points(points, "points"), as_poses(pose, "pose")
        count = broadcast_rows("points, pose", where, rows)
        return contains_mesh(shape, where, rows, count, method or "ray", threads)
    if _is_compound_with_mesh(shape):
        ways = [(leaf, at, method if isinstance(leaf, TriangleMesh) else None) for leaf, at in _placed_leaves(shape, pose)]
        found = [contains(leaf, points, pose=at, method=way, threads=threads) for leaf, at, way in ways]
        return np.logical_or.reduce(found)
    if method not in (None, "parts"):
        raise UnsupportedQueryError(f"contains: method {method!r} is for TriangleMesh, not {type(shape).__name__}")
    from thud.narrowphase.closest_point import contains_rows

    packed, where, rows = as_packed((shape,), "shape"), as_points(points, "points"), as_poses(pose, "pose")
    count = broadcast_rows("points, pose", where, rows)
    inside = np.empty(count, dtype=np.bool_)
    run_rows(contains_rows, count, threads, packed, where, rows, inside)
    return inside


class _Point(Sphere):
    """A single point as a part: what closest_point compares a hull with."""

    def __init__(self) -> None:
        """A sphere of radius 0, which users cannot make."""

    def parts(self) -> list[Part]:
        """One point."""
        return [Part(SPHERE, (), 0.0, np.zeros(3), 0.0)]


_POINT = _Point()


def closest_point(
    shape: Shape, points: npt.ArrayLike, *, pose: PoseLike = None, signed: bool = False, threads: int | None = None
) -> ClosestPoints:
    """Closest point of a shape's surface to each point.

    For a compound: the closest over its parts' surfaces; a point inside where parts overlap is answered by the part it
    is deepest in, whose surface may lie inside another part. For a mesh: of triangles at the same distance that with the
    smallest row in the mesh's faces; signed distances need a closed mesh.

    Parameters
    ----------
    shape : the shape
    points : (3,) or (N, 3) world frame
    pose : of the shape; one or N
    signed : negative distance inside
    threads : how many to use; default all cores
    """
    if isinstance(shape, DisplacedSurface):
        from thud.terrain import surface_queries

        where, rows, count = _surface_points(points, pose)
        return surface_queries.closest_point(shape, where, rows, count, signed, threads)
    if isinstance(shape, TriangleMesh):
        from thud.narrowphase.mesh_closest import closest_point_mesh

        where, rows = as_points(points, "points"), as_poses(pose, "pose")
        return closest_point_mesh(shape, where, rows, broadcast_rows("points, pose", where, rows), signed, threads)
    if _is_compound_with_mesh(shape):
        inner = [
            closest_point(
                leaf, points, pose=at, signed=signed or not isinstance(leaf, TriangleMesh) or leaf.is_closed, threads=threads
            )
            for leaf, at in _placed_leaves(shape, pose)
        ]
        nearest = _nearest(inner, [found.distance for found in inner])
        return nearest if signed else replace(nearest, distance=np.abs(nearest.distance))
    from thud.narrowphase.closest_point import closest_rows

    packed, where, rows = as_packed((shape, _POINT), "shape"), as_points(points, "points"), as_poses(pose, "pose")
    count = broadcast_rows("points, pose", where, rows)
    out = ClosestPoints(np.empty(count), np.empty((count, 3)), np.empty(count, dtype=np.int64))
    run_rows(closest_rows, count, threads, packed, where, rows, int(signed), out.distance, out.point, out.triangle)
    return out
