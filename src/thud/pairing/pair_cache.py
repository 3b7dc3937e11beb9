"""Temporal coherence: where in the trees the answers of the last frame were found."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud.constants import FRONT_CAPACITY
from thud.errors import InvalidInputError


class TreeFronts(NamedTuple):
    """Fronts of N rows, each of at most `capacity` entries."""

    entries: npt.NDArray[np.int32]
    """(N, capacity, 4) see SLOT_A in `tree_front.py`."""
    bounds: npt.NDArray[np.float64]
    """(N, capacity, 2) see OWN there."""
    state: npt.NDArray[np.float64]
    """(N, 13) see TRAVELLED there."""
    length: npt.NDArray[np.int64]
    """(N,) entries in use; 0: to be made by the next walk; -n: n frames are to be asked from the root before that."""


def empty_fronts(count: int, capacity: int) -> TreeFronts:
    """No front yet. The memory is not touched before a front needs it."""
    return TreeFronts(
        np.empty((count, capacity, 4), dtype=np.int32),
        np.empty((count, capacity, 2)),
        np.zeros((count, 13)),
        np.full(count, -1, dtype=np.int64),
    )


class PairCache:
    """Give the same one to the same query frame after frame: `thud.distance(a, b, pose_a, pose_b, cache=cache)`.

    It keeps, for each row, the two triangles that decided the last answer (with a displaced surface the part and patch), and
    for two meshes the front: where in the two trees the walk ended, and how near it was there. The triangles are tested first;
    then the walk continues at the front, and skips all that cannot have come near enough since. The answers are the same as
    without it, to the last bit. One cache serves one query, one pair of shapes and one number of rows; when shapes or rows
    change it starts anew. Convex pairs have `axes=` instead; with `method="v_clip"` a cache keeps the features where each
    row's walk ended, and the next walk starts there. Its distances are then the same up to roundoff.

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
        self.steps = 0
        """Steps that V-Clip walked in the last query, all rows together."""
        self._found: dict[Hashable, Ints] = {}
        self._fronts: dict[Hashable, TreeFronts] = {}
        self._shapes: tuple[object, object] | None = None

    def start(self, a: object, b: object) -> None:
        """Forget all unless the shapes are those of the last call."""
        self.box_tests = self.steps = 0
        if self._shapes is None or self._shapes[0] is not a or self._shapes[1] is not b:
            self._found.clear()
            self._fronts.clear()
            self._shapes = (a, b)

    def leaf(self, i: int, j: int, rows: Ints, count: int) -> LeafCache:
        """What is kept of one pair of leaves, for some of `count` rows."""
        return LeafCache(self, (i, j), rows, count)

    def found(self, key: Hashable, count: int, width: int) -> Ints:
        """(count, width) numbers of the last frame, -1 where nothing is known; written to by the query."""
        kept = self._found.get(key)
        if kept is None or len(kept) != count:
            kept = np.full((count, width), -1, dtype=np.int64)
            self._found[key] = kept
        return kept

    def fronts(self, key: Hashable, count: int) -> TreeFronts:
        """The fronts of `count` rows, empty where nothing is known; written to by the query."""
        kept = self._fronts.get(key)
        if kept is None or len(kept.length) != count:
            kept = empty_fronts(count, self.front)
            self._fronts[key] = kept
        return kept

    def carry(self, order: Ints) -> None:
        """Other rows from now on: row k is what row order[k] was, new where that is -1."""
        new, old = np.flatnonzero(order >= 0), order[order >= 0]
        for key, kept in self._found.items():
            self._found[key] = np.full((len(order), kept.shape[1]), -1, dtype=np.int64)
            self._found[key][new] = kept[old]
        for key, front in self._fronts.items():
            self._fronts[key] = empty_fronts(len(order), self.front)
            fresh = self._fronts[key]
            fresh.entries[new], fresh.bounds[new] = front.entries[old], front.bounds[old]
            fresh.state[new], fresh.length[new] = front.state[old], front.length[old]


@dataclass(frozen=True, slots=True)
class LeafCache:
    """A cache as the query of one pair of leaves sees it."""

    cache: PairCache
    pair: tuple[int, int]
    rows: Ints
    """Row of the cache for each row of the query."""
    count: int
    """Rows of the cache."""

    @property
    def has_fronts(self) -> bool:
        """Whether fronts are kept beside the last answers."""
        return self.cache.front > 0

    def found(self, query: str, width: int) -> Ints:
        """(count, width) numbers, for all rows of the cache."""
        return self.cache.found((query, *self.pair), self.count, width)

    def fronts(self, query: str) -> TreeFronts:
        """For all rows of the cache."""
        return self.cache.fronts((query, *self.pair), self.count)

    def add_box_tests(self, tests: Ints) -> None:
        """Count them."""
        self.cache.box_tests += int(tests.sum())

    def add_steps(self, steps: Ints) -> None:
        """Likewise."""
        self.cache.steps += int(steps.sum())
