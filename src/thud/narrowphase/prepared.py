"""One pair of shapes at a time, checked and packed once: the least that a Python call can cost."""

from __future__ import annotations

import numpy as np

from thud.gates import as_positive
from thud.narrowphase import dispatch
from thud.narrowphase.distance import distance_one
from thud.narrowphase.intersects import intersects_one
from thud.pose import Pose, PoseLike, as_poses
from thud.results import Contacts, Distances
from thud.shapes.packed import NODE_COUNT, as_packed
from thud.shapes.shape import Shape

_PAIR = np.array([[0, 1]], dtype=np.int64)

#: One read-only row of each status, shared by all results.
_STATUS = tuple(np.array([status], dtype=np.uint8) for status in range(3))
for _row in _STATUS:
    _row.flags.writeable = False

_ROWS = (3, 1, 3)
_empty = np.empty
_new = object.__new__
_set_distance, _set_point_a, _set_point_b, _set_normal, _set_status = (
    getattr(Distances, name).__set__ for name in ("distance", "point_a", "point_b", "normal", "status")
)


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
        arrays = (packed.part_ints, packed.part_reals, packed.vertices, packed.link_starts, packed.links)
        self._arrays = arrays if plain else None

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> bool:
        """Whether the two meet, at one pose each."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        if self._arrays is None:
            return bool(dispatch.intersects(self._packed, _PAIR, rows_a, rows_b, False, 1, threads=1)[0])
        return intersects_one(*self._arrays, rows_a, rows_b) != 0

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, *, signed: bool = False) -> Distances:
        """Distance with witness points: a `Distances` of one row."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        if signed or self._arrays is None:
            return dispatch.distance(self._packed, _PAIR, rows_a, rows_b, False, 1, signed=signed, threads=1)
        distance, rows = _empty(1), _empty(_ROWS)
        status = distance_one(*self._arrays, rows_a, rows_b, distance, rows)
        # A `Distances`, filled through its slots: half the cost of the frozen class's own constructor.
        result = _new(Distances)
        _set_distance(result, distance)
        _set_point_a(result, rows[0])
        _set_point_b(result, rows[1])
        _set_normal(result, rows[2])
        _set_status(result, _STATUS[status])
        return result

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, *, margin: float = 0.0) -> Contacts:
        """Contact points; rows are all 0."""
        rows_a = pose_a._rows if type(pose_a) is Pose else as_poses(pose_a, "pose_a")
        rows_b = pose_b._rows if type(pose_b) is Pose else as_poses(pose_b, "pose_b")
        margin = as_positive(margin, "margin", zero=True)
        return dispatch.contacts(self._packed, _PAIR, rows_a, rows_b, False, 1, margin=margin, threads=1)
