"""Temporal coherence: where in the trees the answers of the last frame were found."""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt


class PairCache:
    """Give the same one to the same query frame after frame: `thud.distance(a, b, pose_a, pose_b, cache=cache)`.

    It keeps, for each row, the two triangles that decided the last answer. They are asked first: a pair that still collides
    is known at once, and a distance begins with a bound that is nearly right. The answers are the same as without it. One
    cache serves one pair of shapes and one number of rows; when they change it starts anew. Convex pairs have `axes=` instead.
    """

    def __init__(self) -> None:
        self._found: dict[Hashable, npt.NDArray[np.int64]] = {}
        self._shapes: tuple[object, object] | None = None

    def start(self, a: object, b: object) -> None:
        """Forget all unless the shapes are those of the last call."""
        if self._shapes is None or self._shapes[0] is not a or self._shapes[1] is not b:
            self._found.clear()
            self._shapes = (a, b)

    def rows(self, key: Hashable, count: int) -> npt.NDArray[np.int64]:
        """(count, 2) tree positions, -1 where nothing is known; written to by the query."""
        kept = self._found.get(key)
        if kept is None or len(kept) != count:
            kept = np.full((count, 2), -1, dtype=np.int64)
            self._found[key] = kept
        return kept
