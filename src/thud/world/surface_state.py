"""A displaced surface as one run of reals and one of whole numbers, and back, to the last bit.

Whole numbers: ten sizes (below), then coordinates, primitives, quads, materials, the maps, two float32 in each number, and,
if it is there, the index (`DisplacedSurface.index_bytes`), eight bytes in each. Reals: positions, directions, thickness. An
index that is not there is made anew when it is first asked for.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import FileFormatError, InvalidInputError
from thud.terrain.surface import DisplacedSurface

#: Sizes: vertices, primitives, quads, rows and columns of the map; number, rows and columns of detail maps, samples of them to
#: one of the map, and what else there is: _THICKNESS, _INDEX, their sum or 0.
_SIZES = 10
_THICKNESS, _INDEX = 1, 2


def surface_numbers(surface: DisplacedSurface) -> tuple[Floats, Ints]:
    """(reals, whole numbers) of a surface."""
    displacements, details = np.asarray(surface.displacements), np.asarray(surface.details)
    counts = (len(np.asarray(array)) for array in (surface.positions, surface.primitives, surface.quads))
    has_thickness = surface.thickness is not None
    has = (_THICKNESS if has_thickness else 0) + (_INDEX if surface.has_index else 0)
    sizes = (*counts, *displacements.shape, *details.shape, surface.detail_ratio, has)
    tables = (surface.coordinates, surface.primitives, surface.quads, surface.materials)
    whole = [np.ravel(np.asarray(array)).astype(np.int64) for array in tables]
    index = np.frombuffer(surface.index_bytes(), "<i8") if surface.has_index else np.zeros(0, np.int64)
    ints = np.concatenate([np.array(sizes, np.int64), *whole, _paired(displacements), _paired(details), index])
    thickness = np.array([surface.thickness] if has_thickness else [], np.float64)
    return np.concatenate([np.ravel(surface.positions), np.ravel(surface.directions), thickness]), ints


def surface_from(reals: Floats, ints: Ints) -> DisplacedSurface:
    """The surface of these numbers; what is wrong is a named error. No array is larger than what was given."""
    if len(ints) < _SIZES or (ints[:_SIZES] < 0).any():
        raise InvalidInputError(f"a surface: expected {_SIZES} sizes of at least 0")
    # Numbers of Python do not overflow.
    v, p, q, h, w, m, dh, dw, ratio, has = ints[:_SIZES].tolist()
    has_thickness = has & _THICKNESS
    lengths = (2 * v, 4 * p, 3 * q, p, (h * w + 1) // 2, (m * dh * dw + 1) // 2)
    rest = len(ints) - _SIZES - sum(lengths)
    if has > _THICKNESS + _INDEX or (rest > 0) != bool(has & _INDEX) or rest < 0 or len(reals) != 6 * v + has_thickness:
        raise InvalidInputError(
            f"a surface of {v} vertices, {p} primitives, {q} quads and maps of {h} x {w} and {m} x {dh} x {dw}: got "
            f"{len(reals)} reals and {len(ints)} whole numbers"
        )
    tables = np.split(ints[_SIZES:], np.cumsum(lengths))
    coordinates, primitives, quads, materials = (
        table.reshape(-1, width) for table, width in zip(tables[:4], (2, 4, 3, 1), strict=True)
    )
    displacements, details = _singles(tables[4], (h, w)), _singles(tables[5], (m, dh, dw))
    surface = DisplacedSurface(
        reals[: 3 * v].reshape(-1, 3), reals[3 * v : 6 * v].reshape(-1, 3), coordinates, primitives, quads, displacements,
        materials[:, 0], details if m else None, ratio, float(reals[-1]) if has_thickness else None,
    )  # fmt: skip
    if not has & _INDEX:
        return surface
    try:
        return surface.with_index(tables[6].astype("<i8").view(np.uint8))
    except FileFormatError as error:
        raise InvalidInputError(str(error)) from None


def _paired(array: npt.NDArray[np.float32]) -> Ints:
    """Two float32 in each whole number, the last one filled up with 0."""
    flat = np.zeros(array.size + array.size % 2, "<f4")
    flat[: array.size] = array.reshape(-1)
    return flat.view("<i8").astype(np.int64)


def _singles(pairs: Ints, shape: tuple[int, ...]) -> npt.NDArray[np.float32]:
    return pairs.astype("<i8").view("<f4")[: math.prod(shape)].reshape(shape).astype(np.float32)
