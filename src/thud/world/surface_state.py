"""A displaced surface as one run of reals and one of whole numbers, and back, to the last bit.

Whole numbers: ten sizes (below), then coordinates, primitives, quads, materials, and the maps, two float32 in each number.
Reals: positions, directions, thickness. Planes, tree and bounding maps are made anew when they are first asked for.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.terrain.surface import DisplacedSurface

#: Sizes: vertices, primitives, quads, rows and columns of the map; number, rows and columns of detail maps, samples of them to
#: one of the map, and 1 if there is a thickness.
_SIZES = 10


def surface_numbers(surface: DisplacedSurface) -> tuple[Floats, Ints]:
    """(reals, whole numbers) of a surface."""
    displacements, details = np.asarray(surface.displacements), np.asarray(surface.details)
    counts = (len(np.asarray(array)) for array in (surface.positions, surface.primitives, surface.quads))
    has_thickness = surface.thickness is not None
    sizes = (*counts, *displacements.shape, *details.shape, surface.detail_ratio, int(has_thickness))
    tables = (surface.coordinates, surface.primitives, surface.quads, surface.materials)
    whole = [np.ravel(np.asarray(array)).astype(np.int64) for array in tables]
    ints = np.concatenate([np.array(sizes, np.int64), *whole, _paired(displacements), _paired(details)])
    thickness = np.array([surface.thickness] if has_thickness else [], np.float64)
    return np.concatenate([np.ravel(surface.positions), np.ravel(surface.directions), thickness]), ints


def surface_from(reals: Floats, ints: Ints) -> DisplacedSurface:
    """The surface of these numbers; what is wrong is a named error. No array is larger than what was given."""
    if len(ints) < _SIZES or (ints[:_SIZES] < 0).any():
        raise InvalidInputError(f"a surface: expected {_SIZES} sizes of at least 0")
    # Numbers of Python do not overflow.
    v, p, q, h, w, m, dh, dw, ratio, has_thickness = ints[:_SIZES].tolist()
    lengths = (2 * v, 4 * p, 3 * q, p, (h * w + 1) // 2, (m * dh * dw + 1) // 2)
    if has_thickness > 1 or len(ints) != _SIZES + sum(lengths) or len(reals) != 6 * v + has_thickness:
        raise InvalidInputError(
            f"a surface of {v} vertices, {p} primitives, {q} quads and maps of {h} x {w} and {m} x {dh} x {dw}: got "
            f"{len(reals)} reals and {len(ints)} whole numbers"
        )
    tables = np.split(ints[_SIZES:], np.cumsum(lengths)[:-1])
    coordinates, primitives, quads, materials = (
        table.reshape(-1, width) for table, width in zip(tables[:4], (2, 4, 3, 1), strict=True)
    )
    displacements, details = _singles(tables[4], (h, w)), _singles(tables[5], (m, dh, dw))
    return DisplacedSurface(
        reals[: 3 * v].reshape(-1, 3), reals[3 * v : 6 * v].reshape(-1, 3), coordinates, primitives, quads, displacements,
        materials[:, 0], details if m else None, ratio, float(reals[-1]) if has_thickness else None,
    )  # fmt: skip


def _paired(array: npt.NDArray[np.float32]) -> Ints:
    """Two float32 in each whole number, the last one filled up with 0."""
    flat = np.zeros(array.size + array.size % 2, "<f4")
    flat[: array.size] = array.reshape(-1)
    return flat.view("<i8").astype(np.int64)


def _singles(pairs: Ints, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    return pairs.astype("<i8").view("<f4")[: math.prod(shape)].reshape(shape).astype(np.float32)
