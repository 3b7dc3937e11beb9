"""`BoxGrid`: a regular grid of boxes that one can hold and walk: each cell lists the boxes that it overlaps."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.partitions.box_sets import as_box, as_boxes, boxes_meet, pairs_within
from thud.partitions.numbers import as_number

#: Most cells that a box may lie in: one that is larger is a sign of a cell that is too small.
_MOST = 1_000_000

#: With the cell of its own choice a grid lists a box in so many cells on average, and `_MOST` in all beside, at most.
_EACH = 64


class BoxGrid:
    """Cells of N boxes; only cells that hold some are kept.

    Attributes
    ----------
    cell : side of a cell, metres
    cells : (C, 3) numbers of the cells that hold boxes, sorted; cell (i, j, k) begins at (i, j, k) * cell
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, *, cell: float | None = None) -> None:
        """
        Parameters
        ----------
        lower, upper : (N, 3) corners, metres, such as `world.bounds()` gives
        cell : side of a cell, metres; by default twice the mean of the boxes' longest sides, or more where large boxes would
            lie in too many cells
        """
        self.bounds = as_boxes(lower, upper)
        longest = (self.bounds[:, 3:] - self.bounds[:, :3]).max(axis=1)
        usual = 2.0 * float(longest.mean())
        self.cell = as_positive(cell, "cell") if cell is not None else usual if usual > 0.0 else 1.0
        begin, end, many = self._span()
        while cell is None and (many.max() > _MOST or many.sum() > _MOST + _EACH * len(many)):
            self.cell *= 2.0
            begin, end, many = self._span()
        if not np.abs([begin, end]).max() < 2.0**53:
            raise InvalidInputError(
                f"cell: {self.cell:g} m is too small to number the cells of these boxes; expected a larger one"
            )
        first, last = begin.astype(np.int64), end.astype(np.int64)
        if many.max() > _MOST:
            row = int(many.argmax())
            raise InvalidInputError(
                f"cell: box {row} would lie in {many[row]:,.0f} cells; expected a cell of more than {self.cell:g} m"
            )
        places, owners = [], []
        for row in range(len(self.bounds)):
            axes = [np.arange(first[row, c], last[row, c] + 1) for c in range(3)]
            places.append(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3))
            owners.append(np.full(int(many[row]), row))
        place, owner = np.concatenate(places), np.concatenate(owners)
        self.cells, which = np.unique(place, axis=0, return_inverse=True)
        order = np.argsort(which.reshape(-1), kind="stable")
        starts = np.searchsorted(which.reshape(-1)[order], np.arange(len(self.cells) + 1))
        self._members = np.split(owner[order], starts[1:-1])

    def _span(self) -> tuple[Floats, Floats, Floats]:
        """(N, 3) first and (N, 3) last cell of each box, and (N,) how many it lies in."""
        with np.errstate(over="ignore"):
            begin, end = np.floor(self.bounds[:, :3] / self.cell), np.floor(self.bounds[:, 3:] / self.cell)
            return begin, end, np.asarray((end - begin + 1.0).prod(axis=1))

    def __repr__(self) -> str:
        return f"BoxGrid({len(self.bounds)} boxes in {len(self.cells)} cells of {self.cell:.3g} m)"

    def regions(self) -> Floats:
        """(C, 6) lower and upper corners of the cells that hold boxes."""
        return np.column_stack([self.cells * self.cell, (self.cells + 1) * self.cell])

    def members(self, cell: int) -> Ints:
        """The boxes of a cell, by its row of `cells`."""
        return self._members[as_number(cell, "cell", len(self.cells))].copy()

    def pairs(self) -> Ints:
        """(M, 2) pairs of boxes that overlap, touching included, the lower first, sorted."""
        return pairs_within(self.bounds, [own for own in self._members if len(own) > 1])

    def overlapping(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> Ints:
        """Boxes that overlap the box between two corners, (3,) each, sorted."""
        asked = as_box(lower, upper)
        low, high = np.floor(asked[0, :3] / self.cell), np.floor(asked[0, 3:] / self.cell)
        near = np.flatnonzero(((self.cells >= low) & (self.cells <= high)).all(axis=1))
        own = np.unique(np.concatenate([np.empty(0, np.int64), *(self._members[k] for k in near.tolist())]))
        return np.asarray(own[boxes_meet(self.bounds[own], asked)])
