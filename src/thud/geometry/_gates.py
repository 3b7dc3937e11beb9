"""The gates of the geometry functions, beside those of `thud.gates`: arrays of one dtype and layout, or a named error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud import gates
from thud._core.arrays import finite_array
from thud.errors import InvalidInputError
from thud.pose import as_poses

Array = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]

#: Coordinates and sizes up to this (metres): the formulas take fourth powers of lengths, which must not overflow.
LARGEST = 1e75


def in_range(array: Array, name: str) -> Array:
    """The array, if no magnitude exceeds LARGEST."""
    wrong = np.abs(array) > LARGEST
    if wrong.any():
        row = int(np.argwhere(wrong)[0][0])
        raise InvalidInputError(f"{name}: row {row} is out of range ({array[row]}); expected magnitudes of at most {LARGEST:g}")
    return array


def as_points(points: npt.ArrayLike, name: str, *, width: int = 3) -> Array:
    """(N, width) points whose coordinates are in range."""
    return in_range(gates.as_points(points, name, width=width), name)


def as_unit(directions: npt.ArrayLike, name: str) -> Array:
    """(N, 3) directions, normalised."""
    array = gates.as_directions(directions, name)
    # By the largest component first, so that no square over- or underflows.
    array = array / np.abs(array).max(axis=1, keepdims=True)
    return array / np.sqrt(np.einsum("ij,ij->i", array, array))[:, None]


def as_lengths(value: npt.ArrayLike, name: str, *, zero: bool = False) -> Array:
    """(N,) numbers above 0 (or from 0 on, with `zero=True`); one number becomes one row."""
    array = np.atleast_1d(finite_array(value, name))
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(f"{name}: expected a number or shape (N,), got {array.shape}")
    _check_sizes(array[:, None], name, zero)
    return _own(array)


def as_sizes(value: npt.ArrayLike, name: str, *, zero: bool = False) -> Array:
    """(N, 3) sizes above 0 (or from 0 on, with `zero=True`)."""
    array = gates.as_points(value, name)
    _check_sizes(array, name, zero)
    return array


def _check_sizes(array: Array, name: str, zero: bool) -> None:
    wrong = (array < 0.0).any(axis=1) if zero else (array < 1.0 / LARGEST).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        expected = "at least 0" if zero else f"positive sizes of at least {1.0 / LARGEST:g}"
        raise InvalidInputError(f"{name}: row {row} is {array[row].tolist()}; expected {expected}")
    in_range(array, name)


def as_stack(value: npt.ArrayLike, name: str, *, width: int, least: int, exactly: bool = False) -> Array:
    """(M, K, width) rows of K points each, K at least (or exactly) `least`; one row may come as (K, width)."""
    array = finite_array(value, name)
    if array.ndim == 2:
        array = array[None]
    wrong_count = array.ndim == 3 and (array.shape[1] != least if exactly else array.shape[1] < least)
    if array.ndim != 3 or array.shape[2] != width or wrong_count or len(array) == 0:
        count = f"{least}" if exactly else "K"
        more = "" if exactly else f" with K of at least {least}"
        raise InvalidInputError(
            f"{name}: expected shape ({count}, {width}) or (N, {count}, {width}){more}, got {np.shape(value)}"
        )
    return in_range(_own(array), name)


def as_triangles(value: npt.ArrayLike, name: str, *, width: int = 3) -> Array:
    """(N, 3, width) triangles, corner by corner."""
    return as_stack(value, name, width=width, least=3, exactly=True)


def as_planes(value: npt.ArrayLike, name: str) -> Array:
    """(N, 4) planes [A B C D], scaled to unit normals."""
    return unit_planes(gates.as_points(value, name, width=4), name)


def as_plane_sets(value: npt.ArrayLike, name: str) -> Array:
    """(M, K, 4) sets of K planes, scaled to unit normals; one set may come as (K, 4)."""
    array = as_stack(value, name, width=4, least=1)
    return unit_planes(array.reshape(-1, 4), name).reshape(array.shape)


def unit_planes(planes: Array, name: str) -> Array:
    """Rows [A B C D] divided by |(A, B, C)|."""
    in_range(planes, name)
    largest = np.abs(planes[:, :3]).max(axis=1, keepdims=True)
    if not largest.all():
        raise InvalidInputError(
            f"{name}: plane {int(np.argmin(largest))} has the normal 0; expected [A B C D] with a direction"
        )
    normal = planes[:, :3] / largest
    length = np.sqrt(np.einsum("ij,ij->i", normal, normal))[:, None]
    return np.concatenate([normal / length, planes[:, 3:] / largest / length], axis=1)


def as_rotations(value: npt.ArrayLike | None, name: str) -> Array:
    """(N, 12) rows of which the first 9 are the rotations `(3,3)` or `(N,3,3)`; None is the identity."""
    if value is None:
        return as_poses(None, name)
    array = finite_array(value, name)
    if array.ndim == 2:
        array = array[None]
    if array.ndim != 3 or array.shape[1:] != (3, 3):
        raise InvalidInputError(f"{name}: expected shape (3, 3) or (N, 3, 3), got {np.shape(value)}")
    matrices = np.zeros((len(array), 4, 4))
    matrices[:, :3, :3] = array
    matrices[:, 3, 3] = 1.0
    return as_poses(matrices, name)


def as_mesh(vertices: npt.ArrayLike, faces: npt.ArrayLike) -> tuple[Array, IntArray]:
    """(V, 3) vertices and (F, 3) faces whose indices exist."""
    points = as_points(vertices, "vertices")
    given = np.asarray(faces)
    if given.ndim != 2 or given.shape[1] != 3 or len(given) == 0:
        raise InvalidInputError(f"faces: expected shape (F, 3) with at least one face, got {given.shape}")
    if not np.issubdtype(given.dtype, np.integer):
        raise InvalidInputError(f"faces: expected whole numbers, got {given.dtype}")
    wrong = ((given < 0) | (given >= len(points))).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"faces: row {row} is {given[row].tolist()}; expected indices from 0 to {len(points) - 1}")
    indices = np.ascontiguousarray(given, dtype=np.int64)
    return points, indices if indices.flags.writeable else indices.copy()


def require_closed(vertices: Array, faces: IntArray) -> None:
    """Raise unless every edge, by the coordinates of its ends, belongs to an even number of faces."""
    _, same = np.unique(vertices, axis=0, return_inverse=True)
    corners = same.reshape(-1)[faces]
    edges = np.sort(np.concatenate([corners[:, [0, 1]], corners[:, [1, 2]], corners[:, [2, 0]]]), axis=1)
    # A face with two equal corners has one edge without length, which bounds nothing.
    kept = edges[:, 0] != edges[:, 1]
    unique, first, count = np.unique(edges[kept], axis=0, return_index=True, return_counts=True)
    open_edges = count % 2 == 1
    if open_edges.any():
        face = int(np.flatnonzero(kept)[first[open_edges]].min() % len(faces))
        raise InvalidInputError(
            f"faces: the mesh is not closed, {int(open_edges.sum())} of {len(unique)} edges belong to an odd number of faces "
            f"(one is of face {face}); inside and outside need a surface without holes"
        )


def rows(names: str, *arrays: Any) -> int:
    """Number of rows when each array has that many or one."""
    return gates.broadcast_rows(names, *arrays)


def _own(array: Array) -> Array:
    """C-contiguous and writable, as the kernels' one specialisation wants it."""
    array = np.ascontiguousarray(array)
    return array if array.flags.writeable else array.copy()
