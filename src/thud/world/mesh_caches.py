"""Temporal coherence of meshes: the fronts in their trees, kept for each pair of bodies (`mesh/tree_front.py`)."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Ints
from thud.pairing.pair_cache import PairCache
from thud.shapes.shape import Shape

#: Node pairs kept a pair of bodies: 4 KiB each.
FRONT = 128


class MeshCaches:
    """A `PairCache` for each two shapes; its rows are the pairs of bodies that have them."""

    def __init__(self) -> None:
        self._caches: dict[tuple[int, int], tuple[PairCache, Ints, Shape, Shape]] = {}
        self._used: set[tuple[int, int]] = set()

    def begin(self) -> None:
        """A new frame."""
        self._used.clear()

    def cache(self, a: Shape, b: Shape, pairs: Ints) -> PairCache:
        """The cache of two shapes with one row for each of the (M, 2) pairs of bodies, sorted."""
        key, keys = (id(a), id(b)), (pairs[:, 0] << 32) | pairs[:, 1]
        self._used.add(key)
        kept = self._caches.get(key)
        if kept is None:
            cache = PairCache(front=FRONT)
        else:
            cache, before = kept[0], kept[1]
            if not np.array_equal(before, keys):
                at = np.minimum(np.searchsorted(before, keys), max(len(before) - 1, 0))
                cache.carry(np.where(before[at] == keys, at, -1) if len(before) else np.full(len(keys), -1))
        # The shapes are kept too, so that no other can get their ids.
        self._caches[key] = (cache, keys, a, b)
        return cache

    def end(self) -> None:
        """Forget the shapes that had no pair in this frame."""
        for key in [key for key in self._caches if key not in self._used]:
            del self._caches[key]
