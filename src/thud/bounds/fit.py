"""Bounding volumes of points and triangles, for one set or many at once: [Slides], "Bounding Volumes".

A set is `(P, 3)` points; many are `(S, P, 3)`, or a list of `(P_k, 3)`. With `faces`, `(F, 3)` rows of the points, only those
that a triangle uses count: what bounds the corners bounds the triangles. Every volume holds its points as they are, in float64.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.bounds.kdop import directions
from thud.bounds.sphere import fit_spheres
from thud.bounds.tight_box import tight_box
from thud.bounds.tolerances import FIT_ROUNDOFF
from thud.bounds.volumes import Aabb, BoundingSphere, Kdop, Obb
from thud.errors import InvalidInputError
from thud.gates import as_points, whole_array

METHODS = ("pca", "pca_area", "tight")

Points = npt.ArrayLike | Sequence[npt.ArrayLike]


def _sets(points: Points, faces: npt.ArrayLike | None) -> tuple[Floats, Ints, bool]:
    """(points of all sets, where each begins and the end, whether it is one set alone)."""
    ragged = isinstance(points, (list, tuple)) and len(points) > 0 and np.ndim(points[0]) == 2
    stacked = not ragged and np.ndim(points) == 3  # type: ignore[arg-type]
    if ragged or stacked:
        if faces is not None:
            raise InvalidInputError("faces: expected None for many sets; give each its own points, or fit one set a call")
        parts = [as_points(part, f"points: set {k}", least=1) for k, part in enumerate(points)]  # type: ignore[arg-type]
        if not parts:
            return np.empty((0, 3)), np.zeros(1, np.int64), False
        return np.concatenate(parts), np.cumsum([0, *map(len, parts)]), False
    whole = as_points(points, "points", least=1)  # type: ignore[arg-type]
    if faces is not None:
        whole = np.ascontiguousarray(whole[np.unique(_as_faces(faces, len(whole)))])
    return whole, np.array([0, len(whole)]), True


def _as_faces(faces: npt.ArrayLike, count: int) -> Ints:
    """(F, 3) rows of points."""
    array = whole_array(faces, "faces")
    if array.ndim != 2 or array.shape[1] != 3 or not len(array):
        raise InvalidInputError(f"faces: expected (F, 3) with at least one row, got {array.shape}")
    wrong = np.flatnonzero(((array < 0) | (array >= count)).any(axis=1))
    if len(wrong):
        raise InvalidInputError(f"faces: row {wrong[0]} is {array[wrong[0]].tolist()}; expected rows of the {count} points")
    return array


def _least_and_most(values: Floats, starts: Ints) -> tuple[Floats, Floats]:
    return np.minimum.reduceat(values, starts[:-1]), np.maximum.reduceat(values, starts[:-1])


def _picked(one: bool, *arrays: Floats) -> tuple[Any, ...]:
    return tuple(array[0] for array in arrays) if one else arrays


def fit_aabb(points: Points, *, faces: npt.ArrayLike | None = None) -> Aabb:
    """The box along the axes.

    Parameters
    ----------
    points : (P, 3), (S, P, 3), or a list of S sets; metres
    faces : (F, 3) rows of one set of points: only the corners of these triangles
    """
    x, starts, one = _sets(points, faces)
    if len(starts) == 1:
        return Aabb(np.empty((0, 3)), np.empty((0, 3)))
    return Aabb(*_picked(one, *_least_and_most(x, starts)))


def fit_sphere(points: Points, *, faces: npt.ArrayLike | None = None) -> BoundingSphere:
    """The smallest sphere (Gaertner's pivoting), to roundoff.

    Parameters
    ----------
    points : (P, 3), (S, P, 3), or a list of S sets; metres
    faces : (F, 3) rows of one set of points: only the corners of these triangles
    """
    x, starts, one = _sets(points, faces)
    found = np.empty((len(starts) - 1, 4))
    # The kernel reads triangles: three points each, the last one again where they do not go up.
    many = -(-np.diff(starts) // 3)
    firsts = np.concatenate([[0], np.cumsum(many)])
    place = np.arange(3 * firsts[-1]) - np.repeat(3 * firsts[:-1], 3 * many)
    rows = np.repeat(starts[:-1], 3 * many) + np.minimum(place, np.repeat(np.diff(starts) - 1, 3 * many))
    if not len(found):
        return BoundingSphere(found[:, :3], found[:, 3])
    # Each set about its own middle and of size one: far away from the origin, and in sixth powers of very large and very small
    # lengths, the search would go astray.
    low, high = _least_and_most(x, starts)
    middle, unit = 0.5 * low + 0.5 * high, (high - low).max(axis=1)
    unit = np.where(unit > 0.0, np.exp2(np.round(np.log2(np.where(unit > 0.0, unit, 1.0)))), 1.0)
    own = (x - np.repeat(middle, np.diff(starts), axis=0)) / np.repeat(unit, np.diff(starts))[:, None]
    corners = np.ascontiguousarray(own[rows].reshape(-1, 9))
    run_rows(fit_spheres, len(found), None, firsts, corners, found, rows_per_chunk=64)
    center, radius = middle + unit[:, None] * found[:, :3], unit * found[:, 3]
    size = np.maximum.reduceat(np.abs(x).max(axis=1), starts[:-1])
    return BoundingSphere(*_picked(one, center, radius + FIT_ROUNDOFF * (radius + size)))


def fit_obb(points: Points, *, faces: npt.ArrayLike | None = None, method: str = "pca") -> Obb:
    """An oriented box.

    Parameters
    ----------
    points : (P, 3), (S, P, 3), or a list of S sets; metres
    faces : (F, 3) rows of one set of points: only the corners of these triangles
    method : "pca": along the eigenvectors of the covariance of the points, or of the triangles' corners as the slides have it.
        "pca_area": of the surface of `faces`,
        which does not depend on how it is cut into triangles. "tight": the smallest box with a side on a face of the convex
        hull; never larger than "pca", slower (some ms for a hull of 100 faces)
    """
    if method not in METHODS:
        raise InvalidInputError(f"method: expected one of {METHODS}, got {method!r}")
    x, starts, one = _sets(points, faces)
    counts = np.diff(starts)
    if not len(counts):
        return Obb(np.empty((0, 3)), np.empty((0, 3, 3)), np.empty((0, 3)))
    if method == "pca_area":
        if faces is None:
            raise InvalidInputError('faces: expected (F, 3) for method="pca_area"')
        whole = as_points(points, "points")  # type: ignore[arg-type]
        spread = _surface_covariance(whole[_as_faces(faces, len(whole))])[None]
    else:
        y, begins = x, starts
        if faces is not None:
            # A corner counts once for each triangle, as on the slides.
            whole = as_points(points, "points")  # type: ignore[arg-type]
            y = whole[_as_faces(faces, len(whole))].reshape(-1, 3)
            begins = np.array([0, len(y)])
        counts = np.diff(begins)
        mean = np.add.reduceat(y, begins[:-1]) / counts[:, None]
        away = y - np.repeat(mean, counts, axis=0)
        spread = np.add.reduceat(away[:, :, None] * away[:, None, :], begins[:-1]) / counts[:, None, None]
    scale = np.abs(spread).max(axis=(1, 2), keepdims=True)
    # Ascending; the rows of the box go from the longest side on.
    axes = np.swapaxes(np.linalg.eigh(spread / np.where(scale > 0.0, scale, 1.0))[1], 1, 2)[:, ::-1]
    boxes = [_boxed(x[a:b], frame) for a, b, frame in zip(starts[:-1], starts[1:], axes, strict=True)]
    if method == "tight":
        # Of two boxes that differ by rounding alone, as of points in a plane, the smaller one.
        boxes = [
            min(box, _boxed(x[a:b], tight_box(x[a:b], box[1])), key=lambda one: float(np.prod(one[2])))
            for a, b, box in zip(starts[:-1], starts[1:], boxes, strict=True)
        ]
    return Obb(*_picked(one, *(np.stack(values) for values in zip(*boxes, strict=True))))


def _boxed(points: Floats, axes: Floats) -> tuple[Floats, Floats, Floats]:
    """(centre, axes, half extents) of the box about points along axes: the longest side first, right-handed."""
    along = points @ axes.T
    low, high = along.min(axis=0), along.max(axis=0)
    order = np.argsort(low - high, kind="stable")
    frame, low, high = axes[order], low[order], high[order]
    if np.linalg.det(frame) < 0.0:
        frame[2], low[2], high[2] = -frame[2], -high[2], -low[2]
    middle, half = 0.5 * (low + high), 0.5 * (high - low)
    # What is lost by rounding is of the size of the coordinates.
    return middle @ frame, frame, half + FIT_ROUNDOFF * (np.abs(along).max() + np.abs(points).max())


def _surface_covariance(triangles: Floats) -> Floats:
    """Of points spread evenly over triangles (F, 3, 3)."""
    a, b, c = np.swapaxes(triangles, 0, 1)
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1)
    if not area.sum() > 0.0:
        area = np.ones(len(area))
    share = area / area.sum()
    mean = share @ (a + b + c) / 3.0
    own = [corner - mean for corner in (a, b, c)]
    total = own[0] + own[1] + own[2]
    # The integral of x x^T over a triangle: (sum of corners' x x^T + that of their sum) / 12 of its area.
    each = sum(np.einsum("n,ni,nj->ij", share, p, p) for p in (*own, total))
    return np.asarray(each) / 12.0


def fit_kdop(points: Points, k: int = 18, *, faces: npt.ArrayLike | None = None) -> Kdop:
    """A k-DOP.

    Parameters
    ----------
    points : (P, 3), (S, P, 3), or a list of S sets; metres
    k : 6, 14, 18 or 26 half-spaces
    faces : (F, 3) rows of one set of points: only the corners of these triangles
    """
    x, starts, one = _sets(points, faces)
    along = x @ directions(k).T
    if len(starts) == 1:
        return Kdop(np.empty((0, k // 2)), np.empty((0, k // 2)))
    return Kdop(*_picked(one, *_least_and_most(along, starts)))
