"""Polynomials in the tetrahedra of a grid that agree with a field at their control points."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import as_size, as_vector
from thud.particles.colliders import bernstein

#: Most tetrahedra (a count): their control values of degree 2 take 335 MB.
_MOST = 2**22


def patches_of_field(
    field: Any, lower: npt.ArrayLike, upper: npt.ArrayLike, cell: float, degree: int
) -> tuple[Floats, Ints, Floats]:
    """(vertices, tetrahedra, control values): each cell of a grid in six tetrahedra round its diagonal (Freudenthal's), which
    fit together from cell to cell."""
    from thud.terrain.making.fields import evaluate

    low, high, side = as_vector(lower, "lower"), as_vector(upper, "upper"), as_size(cell, "cell")
    if not callable(field):
        raise InvalidInputError(f"field: expected a callable from points (N, 3) to (N,), got {type(field).__name__}")
    if not (high > low).all():
        raise InvalidInputError(f"upper: expected more than lower along each axis, got {high.tolist()} and {low.tolist()}")
    # A domain of whole cells has no more of them for roundoff.
    count = np.maximum(np.ceil((high - low) / side - 1e-9), 1.0)
    if 6.0 * float(np.prod(count)) > _MOST:
        raise InvalidInputError(
            f"cell: {side:g} m makes {6.0 * np.prod(count):g} tetrahedra, more than {_MOST}; use larger cells"
        )
    cells = count.astype(np.int64)
    # Corners of the six: from (0, 0, 0) along one axis after the other to (1, 1, 1).
    six = np.zeros((6, 4, 3), np.int64)
    for k, axes in enumerate(permutations(range(3))):
        for step, axis in enumerate(axes):
            six[k, step + 1 :, axis] = 1
    at = np.stack(np.meshgrid(*(np.arange(n) for n in cells), indexing="ij"), axis=-1).reshape(-1, 1, 1, 3)
    corners = (at + six).reshape(-1, 4, 3)
    nodes = cells + 1
    tetrahedra = np.asarray(np.ravel_multi_index(np.moveaxis(corners, -1, 0), tuple(nodes)), dtype=np.int64)
    vertices = low + side * np.stack(np.meshgrid(*(np.arange(n) for n in nodes), indexing="ij"), axis=-1).reshape(-1, 3)
    # Control points lie on a grid, too: the field is asked once at each.
    fine = degree * cells + 1
    grid = np.stack(np.meshgrid(*(np.arange(n) for n in fine), indexing="ij"), axis=-1).reshape(-1, 3)
    sampled = np.asarray(evaluate(field, low + (side / degree) * grid), dtype=np.float64)
    place = np.einsum("ki,tix->tkx", bernstein.indices(degree), corners)
    values = sampled[np.ravel_multi_index(np.moveaxis(place, -1, 0), tuple(fine))]
    return vertices, tetrahedra, np.ascontiguousarray(values @ bernstein.interpolation(degree).T)
