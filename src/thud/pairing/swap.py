"""Answers of (B, A) as answers of (A, B)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.pairing.contact_points import feature_ids, features_of
from thud.results import Contacts, Distances, Impacts


def _turned(normal: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The other way, and no negative zeros."""
    return 0.0 - normal


def swapped_intersects(found: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """It is the same."""
    return found


def swapped_distances(found: Distances) -> Distances:
    """Points change sides."""
    return replace(found, point_a=found.point_b, point_b=found.point_a, normal=_turned(found.normal))


def swapped_contacts(found: Contacts) -> Contacts:
    """Points lie midway and stay; the halves of their ids and their triangles change sides."""
    feature_a, feature_b = features_of(found.feature)
    return replace(
        found, normal=_turned(found.normal), feature=feature_ids(feature_b, feature_a), triangle_a=found.triangle_b,
        triangle_b=found.triangle_a,
    )  # fmt: skip


def swapped_impacts(found: Impacts) -> Impacts:
    """Points are common to both."""
    return replace(found, normal=_turned(found.normal))


#: By query. Pairs of triangles are asked of two meshes, which need no swapping.
SWAPPED: dict[str, Callable[[Any], Any]] = {
    "intersects": swapped_intersects,
    "distance": swapped_distances,
    "signed_distance": swapped_distances,
    "contacts": swapped_contacts,
    "overlap_patches": swapped_contacts,
    "cast": swapped_impacts,
    "turning_cast": swapped_impacts,
}
