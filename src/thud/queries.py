"""The public pair and shape queries: gates, then the pair table (`pairing/`), which knows who answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud._core.threads import check_threads
from thud.constants import MANIFOLD_POINTS
from thud.convex.prepared import PreparedPair, plain_pair
from thud.errors import InvalidInputError
from thud.gates import (
    as_axes,
    as_directions,
    as_flag,
    as_max_points,
    as_points,
    as_poses,
    as_positive,
    as_reach,
    broadcast_rows,
    one_or,
    pair_count,
)
from thud.pair_table import PairTable
from thud.pairing.advance import predicted_rows
from thud.pairing.ask import ask_cast, ask_pair, ask_shape, shape_triangles
from thud.pairing.families import NAMES, PACKED, as_shape
from thud.pairing.leaves import some_rows
from thud.pairing.motions import as_motion
from thud.pairing.pair_cache import PairCache
from thud.pairing.plans import check_option, pair_entries, shape_entries
from thud.pairing.prepared import PreparedQueries
from thud.pose import PoseLike
from thud.results import (
    ClosestPoints,
    Contacts,
    Distances,
    FormerDistances,
    Impacts,
    RayCrossings,
    RayHits,
    Status,
    TrianglePairs,
)
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh

#: The default of `max_distance`, known by identity.
_NO_LIMIT = np.inf


def _pair(
    a: Shape, b: Shape, pose_a: PoseLike, pose_b: PoseLike, threads: int | None
) -> tuple[Shape, Shape, Floats, Floats, int]:
    """The gate of two shapes and their poses, and of threads."""
    check_threads(threads)
    as_shape(a, "a"), as_shape(b, "b")
    rows_a, rows_b = as_poses(pose_a, "pose_a"), as_poses(pose_b, "pose_b")
    return a, b, rows_a, rows_b, pair_count(rows_a, rows_b)


def _options(
    query: str, a: Shape, b: Shape, count: int, method: str, axes: npt.ArrayLike | None, cache: PairCache | None
) -> dict[str, Any]:
    """The options that were given, checked: each must be of use to the two shapes."""
    given: dict[str, Any] = {}
    if method != "gjk":
        given["method"] = method
    if axes is not None:
        given["axes"] = as_axes(axes, count)
    if cache is not None:
        if not isinstance(cache, PairCache):
            raise InvalidInputError(f"cache: expected a thud.PairCache, got a {type(cache).__name__}")
        given["features" if method == "v_clip" else "cache"] = cache
    if given:
        entries = pair_entries(query, a, b)
        for option, value in given.items():
            if entries:
                check_option(query, option, value, entries, f"a {NAMES[a.family]} and a {NAMES[b.family]}")
    return given


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
    method : "gjk"; for hulls and boxes also "sat" (separating axes, [Slides]), "chung_wang" ([Yang] Algorithm 2) and "v_clip"
        ([Yang] 2.8.1)
    axes : (N, 3) normals of an earlier, similar query to start from
    cache : `thud.PairCache` that was given to this query in the last frame: faster for two meshes and for surfaces, the same
        answers. With "v_clip" the walk starts where the last one ended
    threads : how many to use; default all cores

    An option that is of no use to the two shapes is an `UnsupportedQueryError`.

    Returns
    -------
    (N,) bool
    """
    if axes is None and cache is None and method == "gjk" and threads is None:
        plain = plain_pair(a, b)
        if plain is not None:
            found = plain.intersects(pose_a, pose_b)
            if found is not None:
                return found
    pair = _pair(a, b, pose_a, pose_b, threads)
    options = _options("intersects", a, b, pair[-1], method, axes, cache)
    return ask_pair("intersects", *pair, threads=threads, **options)


def distance(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    signed: bool = False,
    max_distance: float = _NO_LIMIT,
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
        common point as both points and normal 0. For compounds of convex shapes: the deepest pair of their parts.
    max_distance : metres; rows beyond it get distance inf, points and normal 0
    method : "gjk"; for hulls and boxes also "v_clip", which hands overlaps over to EPA
    axes : (N, 3) normals of an earlier, similar query (`result.normal`) to start from
    cache : `thud.PairCache` that was given to this query in the last frame: faster for meshes, the same answers. With "v_clip"
        the walk starts at the features where the last one ended: the same distance up to roundoff, and of points that are
        equally close perhaps others
    threads : how many to use; default all cores
    """
    signed = as_flag(signed, "signed")
    if axes is None and cache is None and method == "gjk" and threads is None and max_distance is _NO_LIMIT:
        plain = plain_pair(a, b)
        if plain is not None:
            found = plain.distance(pose_a, pose_b, signed)
            if found is not None:
                return found
    pair, query = _pair(a, b, pose_a, pose_b, threads), "signed_distance" if signed else "distance"
    reach = as_reach(max_distance)
    options = _options(query, a, b, pair[-1], method, axes, cache)
    return ask_pair(query, *pair, reach=reach, threads=threads, **options)


def triangle_pairs(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    cache: PairCache | None = None,
    threads: int | None = None,
) -> TrianglePairs:
    """All pairs of triangles of two meshes or height fields that meet, for one or N poses each. Touching counts; a mesh inside
    another that does not touch it has none.

    Parameters
    ----------
    a, b : meshes or height fields
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    cache : `thud.PairCache` that was given to this query in the last frame: the same answers
    threads : how many to use; default all cores
    """
    pair = _pair(a, b, pose_a, pose_b, threads)
    options = _options("triangle_pairs", a, b, pair[-1], "gjk", None, cache)
    return ask_pair("triangle_pairs", *pair, threads=threads, **options)


@overload
def prepare(a: Sequence[Shape], b: npt.ArrayLike) -> PairTable: ...
@overload
def prepare(a: Shape, b: Shape) -> PreparedPair | PreparedQueries: ...
def prepare(a: Any, b: Any) -> PreparedPair | PreparedQueries | PairTable:
    """One pair of shapes for many single queries, or a table of pairs for many configurations: everything checked and packed
    once.

    `prepare(a, b)` has `intersects`, `distance` and `contacts` of one pose each. `prepare(shapes, pairs)`, with S shapes and
    (M, 2) indices into them, has the same of S poses or of C configurations, (C, S, 7) or (C, S, 4, 4), as `distance_pairs`.
    """
    if not isinstance(a, Shape) and isinstance(a, Sequence):
        return PairTable(a, b)
    as_shape(a, "a"), as_shape(b, "b")
    return PreparedPair(a, b) if a.family in PACKED and b.family in PACKED else PreparedQueries(a, b)


def contacts(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    former_a: PoseLike = None,
    former_b: PoseLike = None,
    threads: int | None = None,
) -> Contacts:
    """Contact points of two shapes, for one or N poses each.

    Faces that meet give up to 8 points, edges and curved surfaces 1 or 2; each pair of convex parts of a compound is a
    patch of its own. Two overlapping half-spaces have status OVERLAPPING and no points. With a mesh or a height field a patch
    is what touches along one normal, at most 4 points of it; the normal is one of the surface, never one of an edge inside a
    flat floor. The outside of an open mesh is where its triangles face, or where the other shape was, if `former_a` or
    `former_b` says so.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    margin : metres; also report points that are apart by up to this much, with negative depth
    max_points : 1 to 8 points a patch; 4 keep the deepest and the extent
    former_a, former_b : poses of an earlier frame, of one side or both, for open meshes: the outside of a triangle is then
        where the middle of the other shape was
    threads : how many to use; default all cores
    """
    margin, max_points = as_positive(margin, "margin", zero=True), as_max_points(max_points)
    if former_a is None and former_b is None and threads is None:
        plain = plain_pair(a, b)
        if plain is not None:
            found = plain.contacts(pose_a, pose_b, margin, max_points)
            if found is not None:
                return found
    pair = _pair(a, b, pose_a, pose_b, threads)
    if former_a is not None or former_b is not None:
        who = f"a {NAMES[a.family]} and a {NAMES[b.family]}"
        check_option("contacts", "former", np.empty(0), pair_entries("contacts", a, b), who)
        former = [
            rows if given is None else as_poses(given, name)
            for given, rows, name in ((former_a, pair[2], "former_a"), (former_b, pair[3], "former_b"))
        ]
        for rows, name in zip(former, ("former_a", "former_b"), strict=True):
            if len(rows) not in (1, pair[-1]):
                raise InvalidInputError(f"{name}: expected {one_or(pair[-1], 'poses')}, got {len(rows)}")
        options: dict[str, Any] = {"former_a": former[0], "former_b": former[1], "margin": margin, "max_points": max_points}
        return ask_pair("contacts", *pair, threads=threads, **options)
    return ask_pair("contacts", *pair, margin=margin, max_points=max_points, threads=threads)


def overlap_patches(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """How deep, and along what, two shapes overlap, for one or N poses each: a patch for each connected run of the curve where
    the surfaces of two meshes cross, with what it cuts off of either inside the other.

    B moved along a patch's normal by its largest depth clears the patch's triangles of each other. The normal is the mean of
    theirs unless another direction clears them in a 5 % shorter way. Points are corners of one surface below the other,
    measured along the normal, and where the patch separates last. For two shapes without a mesh: their `contacts`.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    max_points : 1 to 8 points a patch; the first is the deepest
    threads : how many to use; default all cores
    """
    pair = _pair(a, b, pose_a, pose_b, threads)
    return ask_pair("overlap_patches", *pair, max_points=as_max_points(max_points), threads=threads)


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
    of the shapes' size (4e-8 with a cylinder, cone or ellipsoid; 1e-7 of the smaller one for ground and rotation).
    UNCONVERGED: an iteration limit was reached; there is no contact before the time given.

    Where the two overlap at the start the time is 0, and normal, depth and point are those of the signed distance: B moved by
    depth * normal is free of A. Where there is none the normal is 0 and the depth NaN.

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
    a, b, rows_a, rows_b, _count = _pair(a, b, pose_a, pose_b, threads)
    move_a, move_b = as_motion(motion_a, "motion_a"), as_motion(motion_b, "motion_b")
    count = broadcast_rows("pose_a, pose_b, motion_a, motion_b", rows_a, rows_b, move_a, move_b)
    return ask_cast(a, b, rows_a, rows_b, move_a, move_b, count, threads)


def former_distance(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    motion_a: npt.ArrayLike = 0.0,
    motion_b: npt.ArrayLike = 0.0,
    *,
    method: str = "gjk",
    threads: int | None = None,
) -> FormerDistances:
    """Closest distance and direction in the former frame of what collides in the predicted one ([Yang] 1.1 and 2.8): the
    constraint of a solver that stops bodies before they penetrate.

    The former frame is the poses given, the predicted one is where the motions lead. Rows that do not meet there have distance
    inf, points and normal 0. The motion between the two is not looked at: `cast` does that.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : poses in the former frame
    motion_a, motion_b : (3,) or (N, 3) displacement to the predicted frame, metres, world frame; or (6,) or (N, 6) displacement
        and rotation vector, as for `cast`; 0 for at rest
    method : "gjk"; for hulls and boxes also "v_clip" ([Yang] 2.8.1)
    threads : how many to use; default all cores
    """
    a, b, rows_a, rows_b, _count = _pair(a, b, pose_a, pose_b, threads)
    moves = [as_motion(motion_a, "motion_a"), as_motion(motion_b, "motion_b")]
    count = broadcast_rows("pose_a, pose_b, motion_a, motion_b", rows_a, rows_b, *moves)
    options = _options("distance", a, b, count, method, None, None)
    predicted_a, predicted_b = predicted_rows(rows_a, moves[0]), predicted_rows(rows_b, moves[1])
    met = ask_pair("intersects", a, b, predicted_a, predicted_b, count, threads=threads)
    rows = np.flatnonzero(met)
    out = FormerDistances(
        np.full(count, np.inf), np.zeros((count, 3)), np.zeros((count, 3)), np.zeros((count, 3)),
        np.full(count, Status.SEPARATED, np.uint8), met,
    )  # fmt: skip
    if len(rows):
        former_a, former_b = some_rows(rows_a, rows, count), some_rows(rows_b, rows, count)
        found = ask_pair("distance", a, b, former_a, former_b, len(rows), reach=np.inf, threads=threads, **options)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            getattr(out, name)[rows] = getattr(found, name)
    return out


# Pairs of a list ----------------------------------------------------------------------------------------------------------


def intersects_pairs(
    shapes: Sequence[Shape],
    pairs: npt.ArrayLike,
    poses: PoseLike,
    *,
    axes: npt.ArrayLike | None = None,
    method: str = "gjk",
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """(M,) whether each of M pairs among S shapes at S poses meets; (C, M) in C configurations. Arguments as for
    `distance_pairs`."""
    return PairTable(shapes, pairs).intersects(poses, axes=axes, method=method, threads=threads)


def distance_pairs(
    shapes: Sequence[Shape],
    pairs: npt.ArrayLike,
    poses: PoseLike,
    *,
    signed: bool = False,
    max_distance: float = np.inf,
    axes: npt.ArrayLike | None = None,
    method: str = "gjk",
    threads: int | None = None,
) -> Distances:
    """Distances of M pairs among S shapes at S poses, or in C configurations of them: the answer's rows are then (C, M).

    Parameters
    ----------
    shapes : S shapes
    pairs : (M, 2) indices into shapes
    poses : S poses, world frame; or (C, S, 7) or (C, S, 4, 4)
    signed : negative depth in an overlap instead of 0
    max_distance : metres; rows beyond it get inf
    axes : (M, 3) or (C, M, 3) normals of an earlier, similar query, to start from (`result.normal`); changes the time, and the
        answer only within its tolerance. For convex shapes and compounds of them
    method : "gjk", or "v_clip" for hulls and boxes
    threads : how many to use; default all cores
    """
    options: dict[str, Any] = {"axes": axes, "method": method, "threads": threads}
    return PairTable(shapes, pairs).distance(poses, signed=signed, max_distance=max_distance, **options)


def contacts_pairs(
    shapes: Sequence[Shape],
    pairs: npt.ArrayLike,
    poses: PoseLike,
    *,
    margin: float = 0.0,
    max_points: int = MANIFOLD_POINTS,
    threads: int | None = None,
) -> Contacts:
    """Contact points of M pairs among S shapes at S poses, or in C configurations of them. `row` is that of `pairs`; of pair m
    in configuration c it is c * M + m, and `status` is (C, M).

    Parameters
    ----------
    shapes : S shapes
    pairs : (M, 2) indices into shapes
    poses : S poses, world frame; or (C, S, 7) or (C, S, 4, 4)
    margin, max_points, threads : as for `contacts`
    """
    return PairTable(shapes, pairs).contacts(poses, margin=margin, max_points=max_points, threads=threads)


# One shape ----------------------------------------------------------------------------------------------------------------


def _rays(
    shape: Shape, origins: npt.ArrayLike, directions: npt.ArrayLike, pose: PoseLike, threads: int | None
) -> tuple[Shape, Floats, Floats, Floats, int]:
    """The gate of a shape and rays, and of threads."""
    check_threads(threads)
    as_shape(shape, "shape")
    start, along, rows = as_points(origins, "origins"), as_directions(directions, "directions"), as_poses(pose, "pose")
    return shape, start, along, rows, broadcast_rows("origins, directions, pose", start, along, rows)


def _points(shape: Shape, points: npt.ArrayLike, pose: PoseLike, threads: int | None) -> tuple[Shape, Floats, Floats, int]:
    """The gate of a shape and points, and of threads."""
    check_threads(threads)
    as_shape(shape, "shape")
    where, rows = as_points(points, "points"), as_poses(pose, "pose")
    return shape, where, rows, broadcast_rows("points, pose", where, rows)


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
    """First hit of rays on a shape. A ray that starts inside a convex shape hits at distance 0, with normal 0; meshes and
    height fields and displaced surfaces are hit where the ray next crosses them.

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
    shape, start, along, rows, count = _rays(shape, origins, directions, pose, threads)
    options = {"reach": as_reach(max_distance), "any_hit": any_hit, "threads": threads}
    return ask_shape("raycast", shape, start, along, rows=rows, count=count, **options)


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
    shape, start, along, rows, count = _rays(shape, origins, directions, pose, threads)
    options = {"reach": as_reach(max_distance), "threads": threads}
    return ask_shape("raycast_all", shape, start, along, rows=rows, count=count, **options)


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
    shape, where, rows, count = _points(shape, points, pose, threads)
    options: dict[str, Any] = {"threads": threads}
    if method is not None:
        check_option("contains", "method", method, shape_entries("contains", shape), f"a {NAMES[shape.family]}")
        options["method"] = method
    return ask_shape("contains", shape, where, rows=rows, count=count, **options)


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
    shape, where, rows, count = _points(shape, points, pose, threads)
    options = {"signed": as_flag(signed, "signed"), "threads": threads}
    return ask_shape("closest_point", shape, where, rows=rows, count=count, **options)


def to_mesh(shape: Shape, *, segments: int = 32) -> TriangleMesh:
    """Any shape as triangles, for drawing and for other programs; the shapes of a compound one after the other.

    Curved shapes are approximated from inside. A `HalfSpace` is unbounded: an `UnboundedShapeError`.

    Parameters
    ----------
    shape : the shape
    segments : sides of a circle, at least 4
    """
    as_shape(shape, "shape")
    if isinstance(segments, bool) or not isinstance(segments, (int, np.integer)) or segments < 4:
        raise InvalidInputError(f"segments: expected a whole number of at least 4, got {segments!r}")
    vertices, faces = shape_triangles(shape, int(segments))
    return TriangleMesh(vertices, faces)
