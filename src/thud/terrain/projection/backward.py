"""Backward projection: from a point in space to (u, v) of a base primitive and the displacement; the choice of the method."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import finite_array
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.gates import broadcast_rows
from thud.geometry._gates import Array, as_points
from thud.results import Projections
from thud.terrain.projection.primitives import as_primitives

__all__ = ["backward_project"]

#: Where each method's row kernel is. The last is for quadrilaterals, the others are for triangles.
METHODS = {
    "aligned_plane": ("thud.terrain.projection.aligned_plane", "aligned_plane_rows"),
    "aligned_direction": ("thud.terrain.projection.aligned_direction", "aligned_direction_rows"),
    "alpha_plane": ("thud.terrain.projection.alpha_plane", "alpha_plane_rows"),
    "cubic": ("thud.terrain.projection.alpha_cubic", "cubic_rows"),
    "bilinear_inverse": ("thud.terrain.projection.bilinear_inverse", "bilinear_rows"),
}


def backward_project(
    points: npt.ArrayLike,
    positions: npt.ArrayLike,
    directions: npt.ArrayLike,
    *,
    method: str = "cubic",
    start: npt.ArrayLike | None = None,
    length_range: npt.ArrayLike = (-np.inf, np.inf),
    threads: int | None = None,
) -> Projections:
    """Which (u, v) of a base primitive, and which displacement, a point is the forward projection of.

    A point p is sought as P(u, v) + length * N(u, v), positions P and directions N interpolated between the corners. There may
    be none, one or several such (u, v, length).

    Parameters
    ----------
    points : (3,) or (N, 3) metres, in the frame of the positions
    positions, directions : (3, 3) or (N, 3, 3), corners of triangles and their projection directions; the length of a direction
        is the unit of displacement. Or (4, 3) or (N, 4, 3), quadrilaterals with the corners (u, v) = (0, 0), (1, 0), (1, 1),
        (0, 1) in cyclic order.
    method : for triangles
        "cubic": all roots of the cubic (3.4), exact; the default.
        "alpha_plane": Newton's method on (3.4); finds one root, that may not be the one in the primitive.
        "aligned_direction": BFGS on (3.1); finds one minimum.
        "aligned_plane": one formula, exact for parallel directions only.
        Quadrilaterals are always projected by "bilinear_inverse", which finds all solutions.
    start : of "alpha_plane" the length to start from, a number or (N,) (default: the upper end of `length_range`, or the size
        of the primitive over that of its directions if that is infinite); of "aligned_direction" (u, v), (2,) or (N, 2)
        (default: the centroid). Other methods take none.
    length_range : (2,) or (N, 2), lengths to look for, both ends included; may be infinite. "cubic" and "bilinear_inverse"
        are faster with a narrow range.
    threads : how many to use; default all cores

    Returns
    -------
    Projections. INSIDE: (u, v) lies in the closed primitive and the length in the range. OUTSIDE: it does not; (u, v, length)
    is what was found nearest to the primitive, inf if nothing was ("cubic": no root in the range; quadrilaterals: always).
    AMBIGUOUS ("cubic", "bilinear_inverse"): two solutions or more lie in the primitive and in the range; the one of largest
    length is given. UNCONVERGED: the method did not arrive at a solution; (u, v, length) is where it ended.
    """
    query = as_points(points, "points")
    corners, normals = as_primitives(positions, directions)
    if method not in METHODS:
        raise InvalidInputError(f"method: expected one of {', '.join(map(repr, METHODS))}, got {method!r}")
    if corners.shape[1] == 4:
        if method not in ("cubic", "bilinear_inverse"):
            raise InvalidInputError(f"method: {method!r} is for triangles; quadrilaterals take 'bilinear_inverse'")
        method = "bilinear_inverse"
    elif method == "bilinear_inverse":
        raise InvalidInputError("method: 'bilinear_inverse' is for quadrilaterals; triangles take 'cubic'")
    starts = _as_starts(start, method)
    ranges = _as_ranges(length_range)
    count = broadcast_rows("points, positions, directions, start, length_range", query, corners, normals, starts, ranges)
    out = Projections(np.empty(count), np.empty(count), np.empty(count), np.empty(count, np.int64), np.empty(count, np.uint8))
    module, name = METHODS[method]
    kernel: Any = getattr(importlib.import_module(module), name)
    fields = (out.u, out.v, out.length, out.iterations, out.status)
    run_rows(kernel, count, threads, query, corners, normals, ranges, starts, *fields)
    return out


def _as_starts(start: npt.ArrayLike | None, method: str) -> Array:
    """(N or 1, 1 or 2) starts: NaN for the default length."""
    if method == "aligned_direction":
        return np.full((1, 2), 1.0 / 3.0) if start is None else as_points(start, "start", width=2)
    if start is None:
        return np.full((1, 1), np.nan)
    if method != "alpha_plane":
        raise InvalidInputError(f"start: method {method!r} takes none; expected None")
    array = np.atleast_1d(finite_array(start, "start"))
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(f"start: expected a length or shape (N,), got {array.shape}")
    return np.ascontiguousarray(array[:, None]).copy()


def _as_ranges(length_range: npt.ArrayLike) -> Array:
    """(N or 1, 2) lower and upper ends; infinite ends are allowed."""
    try:
        array = np.array(length_range, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"length_range: expected numbers, got {length_range!r}") from error
    if array.ndim == 1:
        array = array[None]
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise InvalidInputError(f"length_range: expected shape (2,) or (N, 2), got {np.shape(length_range)}")
    wrong = ~(array[:, 0] <= array[:, 1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(
            f"length_range: row {row} is {array[row]}; expected a lower end that is not above the upper one"
        )
    return np.ascontiguousarray(array)
