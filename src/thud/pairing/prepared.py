"""Two shapes of any families, ready for many single queries."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud.constants import MANIFOLD_POINTS
from thud.gates import as_flag, as_positive, one_row
from thud.pairing.ask import ask_pair
from thud.pairing.pair_cache import PairCache
from thud.pairing.plans import pair_entries, takes
from thud.pose import PoseLike
from thud.results import Contacts, Distances
from thud.shapes.shape import Shape


class PreparedQueries:
    """A pair in which a mesh or a displaced surface takes part; it remembers where it found the last answers. Make one with
    `thud.prepare(a, b)`."""

    def __init__(self, a: Shape, b: Shape) -> None:
        self.a, self.b = a, b
        self._caches: dict[str, dict[str, Any]] = {
            query: {"cache": PairCache()} if any(takes(entry, "cache") for entry in pair_entries(query, a, b)) else {}
            for query in ("intersects", "distance")
        }

    def _ask(self, query: str, pose_a: PoseLike, pose_b: PoseLike, **given: Any) -> Any:
        given |= {"threads": 1, **self._caches.get(query, {})}
        return ask_pair(query, self.a, self.b, one_row(pose_a, "pose_a"), one_row(pose_b, "pose_b"), 1, **given)

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> npt.NDArray[np.bool_]:
        """(1,) whether the two meet, at one pose each."""
        return self._ask("intersects", pose_a, pose_b)

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, *, signed: bool = False) -> Distances:
        """Distance with witness points: a `Distances` of one row."""
        return self._ask("signed_distance" if as_flag(signed, "signed") else "distance", pose_a, pose_b, reach=np.inf)

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, *, margin: float = 0.0) -> Contacts:
        """Contact points; rows are all 0."""
        margin = as_positive(margin, "margin", zero=True)
        return self._ask("contacts", pose_a, pose_b, margin=margin, max_points=MANIFOLD_POINTS)
