"""Multiresolution bounding maps of a surface's quads ([Yang] 3.5): bounding lengths every 8, 4 and 2 map samples.

Stored as in 3.5.5: per quad its coarsest size and an offset, then all lengths in one float32 array, per quad from the coarsest
size to the finest, upper lengths then lower. Beside them one byte a cell: the growth that makes its volume hold every sample
(`volume.py`), and one that says how many finer levels to skip because they would exclude nothing (5.2).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.terrain.bounding.batch import UNCONVERGED, quad_arrays, solve_quads
from thud.terrain.bounding.fallback import bound_extremes
from thud.terrain.bounding.tolerances import FLAT_THIN, FLAT_VOLUME
from thud.terrain.bounding.volume import EXTREME, cell_growth, holding_rows, volume_points

Array = npt.NDArray[np.float64]
Samples = tuple[Array, Array, Array]

#: Sizes of the coarsest and the finest level, in map samples.
COARSEST, FINEST = 8, 2

#: Samples of one batch of quads (a count): 64 bytes each.
_BATCH_SAMPLES = 1 << 15


@exact_device
def lengths_before(side, coarsest, size):
    """Where, after a quad's offset, the upper lengths of a level begin; the lower ones follow after (side / size + 1)^2."""
    before = 0
    level = coarsest
    while level > size:
        before += 2 * (side // level + 1) ** 2
        level //= 2
    return before


@exact_device
def cells_before(side, coarsest, size):
    """Where, after a quad's cell offset, the cells of a level begin."""
    before = 0
    level = coarsest
    while level > size:
        before += (side // level) ** 2
        level //= 2
    return before


def coarsest_size(side: int) -> int:
    """Size of the coarsest level of a quad, in map samples; 1 for quads of side 1, which have none."""
    return min(side, COARSEST)


@dataclass(frozen=True)
class BoundingMaps:
    """Bounding maps of Q quads. Levels are named by their size: 8, 4 or 2 map samples a cell."""

    sides: npt.NDArray[np.int64]
    """(Q,) map samples along a side of the quad."""
    ratio: int
    """Detail samples per map sample: nodes of a cell are size * ratio + 1 a side."""
    quads: npt.NDArray[np.int64]
    """(Q, 3) where in `lengths` and where in `codes` each quad begins, and the size of its coarsest level (the resolution of
    3.5.5); 1: no level. Finer ones follow down to 2."""
    lengths: npt.NDArray[np.float32]
    """Per quad and level the upper lengths [t, s], then the lower, (side / size + 1)^2 each."""
    codes: npt.NDArray[np.uint8]
    """Per quad and level a growth code a cell [t, s]; 255: the cell is EXTREME and has no volume at this level."""
    flat: npt.NDArray[np.uint8]
    """Likewise: how many finer levels may be skipped within this cell. After 8, 4, 2 come the patches themselves."""
    unconverged: npt.NDArray[np.int64]
    """Quads whose lengths hold but may not be the tightest, at some level."""

    def sizes(self, quad: int) -> list[int]:
        """Sizes of the levels of a quad, coarsest first."""
        size, found = int(self.quads[quad, 2]), []
        while size >= FINEST:
            found.append(size)
            size //= 2
        return found

    def upper(self, quad: int, size: int) -> npt.NDArray[np.float32]:
        """(n + 1, n + 1) upper lengths of a level, indexed [t, s]."""
        return self._lengths(quad, size, 0)

    def lower(self, quad: int, size: int) -> npt.NDArray[np.float32]:
        """(n + 1, n + 1) lower lengths of a level, indexed [t, s]."""
        return self._lengths(quad, size, 1)

    def growth_codes(self, quad: int, size: int) -> npt.NDArray[np.uint8]:
        """(n, n) growth codes of a level, indexed [t, s]."""
        return self._cells(self.codes, quad, size)

    def skipped(self, quad: int, size: int) -> npt.NDArray[np.uint8]:
        """(n, n) how many finer levels may be skipped, indexed [t, s]: the size to test next is size >> (1 + skipped)."""
        return self._cells(self.flat, quad, size)

    def volumes(self, quad: int, size: int, p: npt.ArrayLike, r: npt.ArrayLike) -> Array:
        """(n, n, 8, 3) points whose hulls are the volumes of a level's cells, [t, s]; NaN where EXTREME.

        p, r: (m, m, 3) base positions and directions of the quad's nodes.
        """
        return volume_points(p, r, self.upper(quad, size), self.lower(quad, size), self.growth_codes(quad, size))

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(array.nbytes for array in (self.quads, self.lengths, self.codes, self.flat))

    def _check(self, quad: int, size: int) -> None:
        if size not in self.sizes(quad):
            raise InvalidInputError(f"size: expected one of {self.sizes(quad)} for quad {quad}, got {size}")

    def _lengths(self, quad: int, size: int, which: int) -> npt.NDArray[np.float32]:
        self._check(quad, size)
        side, coarsest = int(self.sides[quad]), int(self.quads[quad, 2])
        points = side // size + 1
        begin = int(self.quads[quad, 0]) + level_offsets(side, coarsest, size)[0] + which * points * points
        return self.lengths[begin : begin + points * points].reshape(points, points)

    def _cells(self, values: npt.NDArray[np.uint8], quad: int, size: int) -> npt.NDArray[np.uint8]:
        self._check(quad, size)
        side, coarsest = int(self.sides[quad]), int(self.quads[quad, 2])
        cells = side // size
        begin = int(self.quads[quad, 1]) + level_offsets(side, coarsest, size)[1]
        return values[begin : begin + cells * cells].reshape(cells, cells)


def level_offsets(side: int, coarsest: int, size: int) -> tuple[int, int]:
    """Lengths and cells of a quad before those of a level; down to size 1: all of them."""
    lengths = cells = 0
    while coarsest > size:
        lengths += 2 * (side // coarsest + 1) ** 2
        cells += (side // coarsest) ** 2
        coarsest //= 2
    return lengths, cells


def quad_offsets(sides: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.int64], int, int]:
    """(Q, 3) where the lengths and the cells of each quad begin and its coarsest size; how many there are of both."""
    coarsest = np.minimum(sides, COARSEST)
    totals = np.zeros((len(sides), 2), np.int64)
    for side in np.unique(sides).tolist():
        totals[sides == side] = level_offsets(side, coarsest_size(side), 1)
    lengths, cells = totals.sum(axis=0).tolist()
    return np.column_stack([np.cumsum(totals, axis=0) - totals, coarsest]), lengths, cells


def bounding_maps(
    sides: npt.ArrayLike,
    get_samples: Callable[[npt.NDArray[np.int64]], Samples],
    *,
    ratio: int = 1,
    threads: int | None = None,
    progress: bool = True,
) -> BoundingMaps:
    """Bounding maps of quads.

    Parameters
    ----------
    sides : (Q,) map samples along a side of each quad: powers of two from 1 to 64
    get_samples : called with rows of quads of one side, gives their base positions and directions (B, m, m, 3) and lengths
        (B, m, m) with m = side * ratio + 1, indexed [t, s]
    ratio : detail samples per map sample. Bounding points lie on map samples; all nodes are bounded
    threads : most threads, None for all cores
    progress : say on stderr how far it is, every two seconds

    Returns
    -------
    BoundingMaps. Every sample of a cell lies in the cell's volume, at every level, unless the cell is EXTREME there.
    """
    sides = np.array(sides, dtype=np.int64)
    wrong = (sides < 1) | (sides > 64) | (sides & (sides - 1) != 0)
    if sides.ndim != 1:
        raise InvalidInputError(f"sides: expected shape (Q,), got {sides.shape}")
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"sides: expected powers of two from 1 to 64, got {sides[row]} in row {row}")
    if ratio < 1:
        raise InvalidInputError(f"ratio: expected at least 1, got {ratio}")
    quads, length_count, cell_count = quad_offsets(sides)
    lengths = np.empty(length_count, np.float32)
    codes, flat = np.empty(cell_count, np.uint8), np.empty(cell_count, np.uint8)
    unconverged = np.zeros(len(sides), bool)
    for rows in _batches(sides, ratio, progress):
        side, size = int(sides[rows[0]]), int(quads[rows[0], 2])
        samples = get_samples(rows)
        nodes = side * ratio + 1
        if np.shape(samples[2]) != (len(rows), nodes, nodes):
            raise InvalidInputError(
                f"get_samples: expected {len(rows)} quads of {nodes} nodes a side, got {np.shape(samples[2])}"
            )
        p, r, l = quad_arrays(*samples, side * ratio)
        found, volumes, sizes = [], [], []
        while size >= FINEST:
            step = size * ratio
            solved = solve_quads(p, r, l, step, 1, threads)
            code, volume = cell_growth(solved.upper, solved.lower, p, r, l, step, True, threads)
            bound_extremes(p, r, l, step, solved.upper, solved.lower, code, volume, threads)
            begin = quads[rows, 0] + level_offsets(side, int(quads[rows[0], 2]), size)[0]
            _put(lengths, begin, np.stack([solved.upper, solved.lower], axis=1))
            unconverged[rows] |= (solved.status == UNCONVERGED).any(axis=1)
            found.append(code)
            volumes.append(volume)
            sizes.append(size)
            size //= 2
        for level, size in enumerate(sizes):
            begin = quads[rows, 1] + level_offsets(side, sizes[0], size)[1]
            _put(codes, begin, found[level])
            _put(flat, begin, _skipped(volumes, sizes, level))
    return BoundingMaps(sides, ratio, quads, lengths, codes, flat, np.flatnonzero(unconverged))


def loose_quad(maps: BoundingMaps, get_samples: Callable[[npt.NDArray[np.int64]], Samples], slack: float) -> int:
    """A quad with a volume that does not hold its samples even when it grows by `slack` more than its code says; -1: none.

    get_samples : as for `bounding_maps`
    """
    begins = maps.quads.astype(np.int64)
    for rows in _batches(maps.sides.astype(np.int64), maps.ratio, False):
        side, coarsest = int(maps.sides[rows[0]]), int(begins[rows[0], 2])
        p, r, l = quad_arrays(*get_samples(rows), side * maps.ratio)
        size = coarsest
        while size >= FINEST:
            points, cells = (side // size + 1) ** 2, (side // size) ** 2
            lengths, codes = level_offsets(side, coarsest, size)
            at = (begins[rows, 0] + lengths)[:, None] + np.arange(2 * points)
            pairs = np.ascontiguousarray(maps.lengths[at].reshape(len(rows), 2, side // size + 1, -1).swapaxes(0, 1))
            at = (begins[rows, 1] + codes)[:, None] + np.arange(cells)
            code = np.ascontiguousarray(maps.codes[at].reshape(len(rows), side // size, -1))
            holds = np.empty(len(rows), np.uint8)
            run_rows(holding_rows, len(rows), 1, p, r, l, size * maps.ratio, pairs[0], pairs[1], code, slack, holds)
            if not holds.all():
                return int(rows[np.argmin(holds)])
            size //= 2
    return -1


def _put(flat: npt.NDArray[np.generic], begin: npt.NDArray[np.int64], values: npt.NDArray[np.generic]) -> None:
    """Each row of `values` to where it begins in `flat`."""
    rows = values.reshape(len(values), -1)
    flat[begin[:, None] + np.arange(rows.shape[1])] = rows


def _skipped(volumes: list[Array], sizes: list[int], level: int) -> npt.NDArray[np.uint8]:
    """(B, n, n) finer levels before the first whose volumes together are smaller than a cell's own by more than FLAT_VOLUME.

    Below a cell that is thinner than FLAT_THIN of its width there is none such. An EXTREME cell's volume is infinite: it goes
    on with the next level, and one with EXTREME children skips theirs.
    """
    own, cube = volumes[level][..., 0], volumes[level][..., 1]
    found = np.full(own.shape, len(sizes) - 1 - level, np.uint8)
    count, cells = own.shape[0], own.shape[1]
    for finer in range(len(sizes) - 1, level, -1):
        part = sizes[level] // sizes[finer]
        together = volumes[finer][..., 0].reshape(count, cells, part, cells, part).sum(axis=(2, 4))
        worth = np.isinf(own) if finer == level + 1 else np.zeros(own.shape, bool)
        worth |= (own > FLAT_VOLUME * together) & (own > FLAT_THIN * cube)
        found[worth] = finer - level - 1
    return found


def _batches(sides: npt.NDArray[np.int64], ratio: int, progress: bool) -> Iterator[npt.NDArray[np.int64]]:
    """Rows of quads of one side that have levels, some at a time, with a progress line when it takes long."""
    begin = last = time.monotonic()
    total = int(((sides * ratio + 1) ** 2)[sides >= FINEST].sum())
    done, said = 0, False
    for side in np.unique(sides[sides >= FINEST]):
        rows = np.flatnonzero(sides == side)
        samples = (int(side) * ratio + 1) ** 2
        batch = max(1, _BATCH_SAMPLES // samples)
        for first in range(0, len(rows), batch):
            now = time.monotonic()
            if progress and now - last > 2.0 and done:
                last, said = now, True
                rest = (now - begin) / done * (total - done)
                print(
                    f"\rbounding maps: {100 * done // total} %, about {rest:.0f} s left ", end="", file=sys.stderr, flush=True
                )
            yield rows[first : first + batch]
            done += len(rows[first : first + batch]) * samples
    if said:
        print(f"\rbounding maps: {time.monotonic() - begin:.0f} s                    ", file=sys.stderr, flush=True)


__all__ = ["EXTREME", "BoundingMaps", "bounding_maps", "cells_before", "coarsest_size", "lengths_before", "loose_quad"]
