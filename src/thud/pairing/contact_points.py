"""Ids of contact points, and few points of many: those that say most of a contact patch."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.pairing.tolerances import SPREAD_LEAST

#: An id is A's feature times this, and B's. Both are below half of it.
_HALF = 2**32


def feature_ids(feature_a: Ints, feature_b: Ints) -> Ints:
    """Ids from the numbers of the features of A and B that touch."""
    return feature_a % (_HALF // 2) * _HALF + feature_b % (_HALF // 2)


def features_of(ids: Ints) -> tuple[Ints, Ints]:
    """The features of A and B."""
    return ids // _HALF, ids % _HALF


def spread_points(points: Floats, depths: Floats, normal: Floats, limit: int) -> npt.NDArray[np.int64]:
    """At most `limit` of the points: the deepest, then whichever is farthest, across the normal, from those taken."""
    flat = points - np.outer(points @ normal, normal)
    chosen = [int(np.argmax(depths))]
    distance = np.linalg.norm(flat - flat[chosen[0]], axis=1)
    size = float(distance.max(initial=0.0))
    while len(chosen) < limit:
        k = int(np.argmax(distance))
        if not distance[k] > SPREAD_LEAST * size or distance[k] == 0.0:
            break
        chosen.append(k)
        distance = np.minimum(distance, np.linalg.norm(flat - flat[k], axis=1))
    return np.array(chosen, dtype=np.int64)
