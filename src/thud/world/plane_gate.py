"""Which pairs the lower levels of the mid phase "spm" are worth trying on, by what they gained in the last frames.

A pair that no level parted will most likely not be parted in the next frame either: it is left alone for up to PLANE_REST
frames. And where fewer than PLANE_SHARE of the pairs tried in a frame were parted, as in a crowd that collides and whose pairs
are new in every frame, no pair is tried for as many frames. It decides about time only; the answers are the same.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud._core.decorators import kernel
from thud.world.plane_trees import LEVELS_PART, NOT_PARTED
from thud.world.tolerances import PLANE_FEW, PLANE_REST, PLANE_SHARE


@kernel("u8[::1], u1[::1], i8[:,::1], u8[::1], u1[::1]")
def carry_rests(old_keys, old_rests, pairs, keys_out, rests_out):
    """Frames that each pair is still to be left alone, one less than a frame ago; both sorted."""
    at = 0
    for k in range(pairs.shape[0]):
        key = (np.uint64(pairs[k, 0]) << np.uint64(32)) | np.uint64(pairs[k, 1])
        while at < old_keys.shape[0] and old_keys[at] < key:
            at += 1
        known = at < old_keys.shape[0] and old_keys[at] == key and old_rests[at] > 0
        keys_out[k], rests_out[k] = key, old_rests[at] - np.uint8(1) if known else np.uint8(0)


class PlaneGate:
    """What is remembered of the last frames' pairs."""

    def __init__(self) -> None:
        self._keys: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._rests: npt.NDArray[np.uint8] = np.empty(0, np.uint8)
        self._pause = 0

    def choose(self, pairs: Ints) -> npt.NDArray[np.uint8]:
        """(M,) which of the sorted pairs are to be tried."""
        keys, rests = np.empty(len(pairs), np.uint64), np.empty(len(pairs), np.uint8)
        carry_rests(self._keys, self._rests, pairs, keys, rests)
        self._keys, self._rests = keys, rests
        if self._pause > 0:
            self._pause -= 1
            return np.zeros(len(pairs), np.uint8)
        return (rests == 0).astype(np.uint8)

    def learn(self, tried: npt.NDArray[np.uint8], found: npt.NDArray[np.uint8]) -> None:
        """What came of the pairs that were chosen, as `plane_trees.part_pairs_rows` says it."""
        failed = np.flatnonzero((found == NOT_PARTED) & (tried != 0))
        # Not all of them again in the same frame.
        self._rests[failed] = PLANE_REST - failed % (PLANE_REST // 2)
        parted = int(np.count_nonzero(found == LEVELS_PART))
        if len(failed) >= PLANE_FEW and parted < PLANE_SHARE * (parted + len(failed)):
            self._pause = PLANE_REST
