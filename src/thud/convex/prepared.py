"""One pair of shapes at a time, checked and packed once: the least that a Python call can cost."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud.convex import dispatch
from thud.convex.queries import PAIR
from thud.convex.rows.single_pair import distance_single, flat_arrays, intersects_single
from thud.gates import as_positive
from thud.pose import Pose, PoseLike, as_poses
from thud.results import Contacts, Distances
from thud.shapes.packed import NODE_COUNT, as_packed
from thud.shapes.shape import Shape

#: One read-only row of each status, shared by all results.
_STATUS = tuple(np.array([status], dtype=np.uint8) for status in range(3))
for _row in _STATUS:
    _row.flags.writeable = False

_ROWS = (4, 1, 3)
_DISTANCE = (3, 0, slice(0, 1))
_empty = np.empty
_new = object.__new__


class SingleDistance(Distances):
    """A `Distances` of one row whose arrays are made when they are read: making all five costs as much as the query."""

    __slots__ = ("_code", "_rows")

    def __new__(cls, *arrays: Any, **named: Any) -> Any:
        """Of arrays, as `dataclasses.replace` and `copy` give them: a plain `Distances`."""
        return Distances(*arrays, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return Distances, (self.distance, self.point_a, self.point_b, self.normal, self.status)

    # The fields' slots of the base class stay empty: these properties stand before them.
    distance = property(lambda self: self._rows[_DISTANCE])
    point_a = property(lambda self: self._rows[0])
    point_b = property(lambda self: self._rows[1])
    normal = property(lambda self: self._rows[2])
    status = property(lambda self: _STATUS[self._code])


_set_rows, _set_code = (getattr(SingleDistance, name).__set__ for name in ("_rows", "_code"))


class PreparedPair:
    """Two shapes ready for many single queries. Make one with `thud.prepare(a, b)`; safe to share among threads.

    Poses are best given as `thud.Pose` objects, which are checked when made; everything else a pose argument takes
    works too and is checked at each call.
    """

    __slots__ = ("_arrays", "_packed", "a", "b")

    def __init__(self, a: Shape, b: Shape) -> None:
        self.a, self.b = a, b
        packed = as_packed((a, b), "a, b")
        self._packed = packed
        plain = not packed.shape_ints[:, NODE_COUNT].any()
        self._arrays = flat_arrays(packed.parts) if plain else None

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> bool:
        """Whether the two meet, at one pose each."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        if self._arrays is None:
            return bool(dispatch.intersects(self._packed, PAIR, rows_a, rows_b, False, 1, threads=1)[0])
        return intersects_single(*self._arrays, rows_a, rows_b) != 0

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, *, signed: bool = False) -> Distances:
        """Distance with witness points: a `Distances` of one row."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        if signed or self._arrays is None:
            return dispatch.distance(self._packed, PAIR, rows_a, rows_b, False, 1, signed=signed, threads=1)
        rows = _empty(_ROWS)
        status = distance_single(*self._arrays, rows_a, rows_b, rows)
        result = _new(SingleDistance)  # and past the frozen class's own constructor and setters
        _set_rows(result, rows)
        _set_code(result, status)
        return result

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, *, margin: float = 0.0) -> Contacts:
        """Contact points; rows are all 0."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        margin = as_positive(margin, "margin", zero=True)
        return dispatch.contacts(self._packed, PAIR, rows_a, rows_b, False, 1, margin=margin, threads=1)
