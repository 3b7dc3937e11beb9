"""Temporal coherence of the narrow phase: an axis that parted two bodies a frame ago most likely still does.

The axis is only ever used to prove two shapes apart, with room to spare; all else is decided as without it. So answers are
the same.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud.constants import TOUCH
from thud.convex.support import load_part, support
from thud.math.pose import load_rotation, load_translation, transform, unrotate
from thud.math.vec3 import dot, load3
from thud.shapes.packed import BOUND, CENTER, KIND, PART_COUNT, PART_START, RADIUS
from thud.shapes.shape import HALF_SPACE
from thud.world.plane_gate import PlaneGate


@device
def farthest(packed, s, poses, i, d):
    """(largest coordinate along the world direction d of shape s at pose row i, what its coordinates reach to)."""
    r, t = load_rotation(poses, i), load_translation(poses, i)
    local = unrotate(r, d)
    best, reach = -math.inf, 0.0
    for p in range(packed.shape_ints[s, PART_START], packed.shape_ints[s, PART_START] + packed.shape_ints[s, PART_COUNT]):
        if packed.parts.ints[p, KIND] == HALF_SPACE:
            return math.inf, 0.0
        rp, tp = load_rotation(packed.part_poses, p), load_translation(packed.part_poses, p)
        along = unrotate(rp, local)
        part = load_part(packed.parts, p)
        point = transform(rp, tp, support(packed.parts, part, along))
        best = max(best, dot(local, point) + packed.parts.reals[p, RADIUS])
        center = transform(rp, tp, load3(packed.parts.reals, p, CENTER))
        reach = max(reach, abs(center[0]) + abs(center[1]) + abs(center[2]) + packed.parts.reals[p, BOUND])
    return best + dot(d, t), reach + abs(t[0]) + abs(t[1]) + abs(t[2])


@kernel("i8, i8, packed, i8[::1], i8[::1], f8[:,::1], i8[:,::1], f8[:,::1], u1[::1]")
def axis_parts_rows(start, stop, packed, shape_rows, shape, poses, pairs, axes, apart_out):
    """Whether each pair is proved apart by its axis (world, unit or 0, from the first to the second)."""
    for k in range(start, stop):
        apart_out[k] = 0
        n = load3(axes, k, 0)
        if n[0] == 0.0 and n[1] == 0.0 and n[2] == 0.0:
            continue
        i, j = pairs[k, 0], pairs[k, 1]
        top, reach_a = farthest(packed, shape_rows[shape[i]], poses, i, n)
        below, reach_b = farthest(packed, shape_rows[shape[j]], poses, j, (-n[0], -n[1], -n[2]))
        # Far more than what counts as touching.
        apart_out[k] = np.uint8(-below - top > 8.0 * TOUCH * (reach_a + reach_b))


@kernel("u8[::1], f8[:,::1], i8[:,::1], f8[:,::1]")
def carry_axes(old_keys, old_axes, pairs, axes_out):
    """Axes of the pairs that were there a frame ago, 0 for the others. Both are sorted."""
    at = 0
    for k in range(pairs.shape[0]):
        key = (np.uint64(pairs[k, 0]) << np.uint64(32)) | np.uint64(pairs[k, 1])
        while at < old_keys.shape[0] and old_keys[at] < key:
            at += 1
        known = at < old_keys.shape[0] and old_keys[at] == key
        for c in range(3):
            axes_out[k, c] = old_axes[at, c] if known else 0.0


def pair_keys(pairs: Ints) -> npt.NDArray[np.uint64]:
    """(M,) one number for each pair, rising as sorted pairs do."""
    return (pairs[:, 0].astype(np.uint64) << np.uint64(32)) | pairs[:, 1].astype(np.uint64)


class PairAxes:
    """Axes of the last frame's pairs, and which of those with meshes met: their covers meet too, and most likely still do."""

    def __init__(self) -> None:
        self._keys: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self._axes: Floats = np.empty((0, 3))
        self._met: npt.NDArray[np.uint64] = np.empty(0, np.uint64)
        self.gate = PlaneGate()
        """Which pairs of meshes to try support planes on."""

    def recall(self, pairs: Ints) -> Floats:
        """(M, 3) the pairs' axes, 0 where none is known."""
        axes = np.empty((len(pairs), 3))
        carry_axes(self._keys, self._axes, pairs, axes)
        return axes

    def keep(self, pairs: Ints, axes: Floats) -> None:
        """Remember these, for sorted pairs."""
        self._keys, self._axes = pair_keys(pairs), axes

    def met(self, pairs: Ints) -> Bools:
        """(M,) which of the pairs met a frame ago."""
        if len(self._met) == 0:
            return np.zeros(len(pairs), np.bool_)
        keys = pair_keys(pairs)
        return self._met[np.minimum(np.searchsorted(self._met, keys), len(self._met) - 1)] == keys

    def keep_met(self, pairs: Ints) -> None:
        """Remember these sorted pairs as those that met."""
        self._met = pair_keys(pairs)

    def forget(self) -> None:
        """Know nothing."""
        self.__init__()  # type: ignore[misc]
