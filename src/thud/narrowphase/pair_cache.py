"""Temporal coherence: where in the trees the answers of the last frame were found."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from thud.constants import FRONT_CAPACITY
from thud.errors import InvalidInputError

if TYPE_CHECKING:
    from thud.narrowphase.tree_front import TreeFronts


class PairCache:
    """Give the same one to the same query frame after frame: `thud.distance(a, b, pose_a, pose_b, cache=cache)`.

    It keeps, for each row, the two triangles that decided the last answer, and for pairs of meshes where in the two trees the
    walk ended, with how near it was there (`narrowphase/tree_front.py`). The triangles are asked first; then the walk goes on
    where it ended, and passes over all that cannot have come near enough since. The answers are the same as without
    it, to the last bit. One cache serves one pair of shapes and one number of rows; when they change it starts anew.
    Convex pairs have `axes=` instead.

    Parameters
    ----------
    front : most node pairs to keep a row, 32 bytes each; a front that needs more is kept as far as it fits and walked in full
        below that. 0: keep the triangles alone.
    """

    def __init__(self, front: int = FRONT_CAPACITY) -> None:
        if isinstance(front, bool) or not isinstance(front, (int, np.integer)) or not 0 <= front < 2**31:
            raise InvalidInputError(f"front: expected a whole number of at least 0, got {front!r}")
        self.front = int(front)
        self.box_tests = 0
        """Times that eight boxes were tested in the last query, all rows together; counted for two meshes and a front."""
        self._found: dict[Hashable, npt.NDArray[np.int64]] = {}
        self._places: npt.NDArray[np.int64] | None = None
        self._fronts: dict[Hashable, TreeFronts] = {}
        self._shapes: tuple[object, object] | None = None

    def start(self, a: object, b: object) -> None:
        """Forget all unless the shapes are those of the last call."""
        self.box_tests = 0
        if self._shapes is None or self._shapes[0] is not a or self._shapes[1] is not b:
            self._found.clear()
            self._fronts.clear()
            self._places = None
            self._shapes = (a, b)

    def rows(self, key: Hashable, count: int) -> npt.NDArray[np.int64]:
        """(count, 2) tree positions, -1 where nothing is known; written to by the query."""
        kept = self._found.get(key)
        if kept is None or len(kept) != count:
            kept = np.full((count, 2), -1, dtype=np.int64)
            self._found[key] = kept
        return kept

    def places(self, count: int) -> npt.NDArray[np.int64]:
        """(count, 4) part and patch of a displaced surface that met last, -1 where none did; written to by the query."""
        if self._places is None or len(self._places) != count:
            self._places = np.full((count, 4), -1, dtype=np.int64)
        return self._places

    def carry(self, order: npt.NDArray[np.int64]) -> None:
        """Other rows from now on: row k is what row order[k] was, new where that is -1."""
        from thud.narrowphase.tree_front import empty_fronts

        new, old = np.flatnonzero(order >= 0), order[order >= 0]
        for key, kept in self._found.items():
            self._found[key] = np.full((len(order), 2), -1, dtype=np.int64)
            self._found[key][new] = kept[old]
        if self._places is not None:
            places, self._places = self._places, np.full((len(order), 4), -1, dtype=np.int64)
            self._places[new] = places[old]
        for key, front in self._fronts.items():
            self._fronts[key] = empty_fronts(len(order), self.front)
            fresh = self._fronts[key]
            fresh.entries[new], fresh.bounds[new] = front.entries[old], front.bounds[old]
            fresh.state[new], fresh.length[new] = front.state[old], front.length[old]

    def fronts(self, key: Hashable, count: int) -> TreeFronts:
        """The fronts of `count` rows, empty where nothing is known; written to by the query."""
        from thud.narrowphase.tree_front import empty_fronts

        kept = self._fronts.get(key)
        if kept is None or len(kept.length) != count:
            kept = empty_fronts(count, self.front)
            self._fronts[key] = kept
        return kept
