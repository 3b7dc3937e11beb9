"""The public pair and shape queries. Each checks its arguments, then routes to narrowphase or continuous by kind."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud.gates import as_poses, pair_count
from thud.narrowphase import dispatch
from thud.narrowphase.dispatch import as_axes, as_reach
from thud.narrowphase.prepared import PreparedPair
from thud.pose import PoseLike
from thud.results import Distances
from thud.shapes.packed import Packed, as_packed
from thud.shapes.shape import Shape

_PAIR = np.array([[0, 1]], dtype=np.int64)


def _pair_arguments(
    a: Shape, b: Shape, pose_a: PoseLike, pose_b: PoseLike
) -> tuple[Packed, npt.NDArray[np.float64], npt.NDArray[np.float64], int]:
    packed = as_packed((a, b), "a, b")
    rows_a, rows_b = as_poses(pose_a, "pose_a"), as_poses(pose_b, "pose_b")
    return packed, rows_a, rows_b, pair_count(rows_a, rows_b)


def intersects(
    a: Shape,
    b: Shape,
    pose_a: PoseLike = None,
    pose_b: PoseLike = None,
    *,
    method: str = "gjk",
    axes: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> npt.NDArray[np.bool_]:
    """Whether two shapes meet, for one or N poses each. Touching counts; so does what stays undecided.

    Parameters
    ----------
    a, b : shapes
    pose_a, pose_b : `Pose`, (4,4), (N,4,4), (7,) or (N,7); one broadcasts against N
    method : "gjk"; for hulls and boxes also "chung_wang" ([Yang] Algorithm 2) and "v_clip" ([Yang] 2.8.1)
    axes : (N, 3) normals of an earlier, similar query to start from
    threads : how many to use; default all cores

    Returns
    -------
    (N,) bool
    """
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
    threads : how many to use; default all cores
    """
    packed, rows_a, rows_b, count = _pair_arguments(a, b, pose_a, pose_b)
    return dispatch.distance(
        packed, _PAIR, rows_a, rows_b, False, count,
        signed=signed, max_distance=as_reach(max_distance), axes=as_axes(axes, count), method=method, threads=threads,
    )  # fmt: skip


def prepare(a: Shape, b: Shape) -> PreparedPair:
    """One pair for many single queries: everything checked and packed once."""
    return PreparedPair(a, b)
