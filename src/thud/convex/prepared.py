"""One pair of convex shapes at one pose each, checked and packed once: the least that a Python call can cost."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud.constants import MANIFOLD_POINTS
from thud.convex import dispatch
from thud.convex.queries import PAIR
from thud.convex.rows.single_pair import contacts_single, distance_single, flat_arrays, intersects_single, signed_single
from thud.gates import as_flag, as_positive, one_row
from thud.pairing.families import CONVEX
from thud.pose import PoseLike, one_pose
from thud.results import Contacts, Distances, no_triangles
from thud.shapes.packed import as_packed, pack
from thud.shapes.shape import Shape

#: One read-only row of each status, shared by all results.
_STATUS = tuple(np.array([status], dtype=np.uint8) for status in range(3))
for _row in _STATUS:
    _row.flags.writeable = False

#: What `intersects` answers by status: meeting and undecided are yes.
_MET = tuple(np.array([status != 0]) for status in range(3))

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
    distance = property(lambda self: self._rows[9:])
    point_a = property(lambda self: self._rows[None, :3])
    point_b = property(lambda self: self._rows[None, 3:6])
    normal = property(lambda self: self._rows[None, 6:9])
    status = property(lambda self: _STATUS[self._code])


class SingleContacts(Contacts):
    """A `Contacts` of one pose row and one patch, likewise."""

    __slots__ = ("_code", "_ints", "_rows")

    def __new__(cls, *arrays: Any, **named: Any) -> Any:
        """Of arrays: a plain `Contacts`."""
        return Contacts(*arrays, **named)

    def __reduce__(self) -> tuple[Any, ...]:
        return Contacts, (
            self.row, self.point, self.normal, self.depth, self.feature, self.patch, self.status, self.triangle_a,
            self.triangle_b,
        )  # fmt: skip

    row = property(lambda self: self._ints[:, 0])
    point = property(lambda self: self._rows[:, :3])
    normal = property(lambda self: self._rows[:, 3:6])
    depth = property(lambda self: self._rows[:, 6])
    feature = property(lambda self: self._ints[:, 1])
    patch = property(lambda self: self._ints[:, 2])
    status = property(lambda self: _STATUS[self._code])
    triangle_a = triangle_b = property(lambda self: no_triangles(len(self._ints)))


_set_rows, _set_code = (getattr(SingleDistance, name).__set__ for name in ("_rows", "_code"))
_set_points, _set_status, _set_ints = (getattr(SingleContacts, name).__set__ for name in ("_rows", "_code", "_ints"))


class PlainPair:
    """Two convex shapes, neither of them compound. Its queries take one pose each as the caller has it, and answer None where
    these have to go through the gate: many, of other types, or no poses at all."""

    __slots__ = ("_arrays", "shapes")

    def __init__(self, a: Shape, b: Shape) -> None:
        self.shapes = a, b  # which their ids stand for
        self._arrays = flat_arrays(pack((a, b)))

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> npt.NDArray[np.bool_] | None:
        """(1,) whether they meet."""
        one, other = one_pose(pose_a), one_pose(pose_b)
        if one is None or other is None:
            return None
        met = intersects_single(*self._arrays, one, other)
        return _MET[met].copy() if met >= 0 else None

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, signed: bool) -> Distances | None:
        """Of one row."""
        one, other = one_pose(pose_a), one_pose(pose_b)
        if one is None or other is None:
            return None
        rows = _empty(10)
        status = (signed_single if signed else distance_single)(*self._arrays, one, other, rows)
        if status < 0:
            return None
        result = _new(SingleDistance)  # and past the frozen class's own constructor and setters
        _set_rows(result, rows)
        _set_code(result, status)
        return result

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, margin: float, max_points: int) -> Contacts | None:
        """Of one row."""
        one, other = one_pose(pose_a), one_pose(pose_b)
        if one is None or other is None:
            return None
        reals, ints = _empty((max_points, 7)), _empty((max_points, 3), np.int64)
        found = contacts_single(*self._arrays, one, other, margin, max_points, reals, ints)
        if found < 0:
            return None
        count = found & 255
        result = _new(SingleContacts)
        _set_points(result, reals[:count])
        _set_ints(result, ints[:count])
        _set_status(result, found >> 8)
        return result


#: The last pairs, by the ids of their shapes, which are frozen. Those that are not convex must not get in: a mesh would stay,
#: with its trees.
_kept: dict[tuple[int, int], PlainPair] = {}
_MOST_KEPT = 256


def plain_pair(a: Shape, b: Shape) -> PlainPair | None:
    """Of two shapes, None unless both are convex and not compound. Anything may be asked for: what is no shape is in none."""
    pair = _kept.get((id(a), id(b)))
    if pair is None and isinstance(a, Shape) and isinstance(b, Shape) and a.family == b.family == CONVEX:
        pair = PlainPair(a, b)
        while len(_kept) >= _MOST_KEPT:
            _kept.pop(next(iter(_kept), (0, 0)), None)  # the oldest; another thread may have taken it
        _kept[id(a), id(b)] = pair
    return pair


class PreparedPair:
    """Two convex shapes or compounds of such, ready for many single queries. Make one with `thud.prepare(a, b)`; safe to share
    among threads.

    Poses are best given as `thud.Pose` objects, which are checked when made; everything else a pose argument takes
    works too and is checked at each call.
    """

    __slots__ = ("_packed", "_plain", "a", "b")

    def __init__(self, a: Shape, b: Shape) -> None:
        self.a, self.b = a, b
        self._packed = as_packed((a, b), "a, b")
        self._plain = plain_pair(a, b)

    def intersects(self, pose_a: PoseLike, pose_b: PoseLike) -> npt.NDArray[np.bool_]:
        """(1,) whether the two meet, at one pose each."""
        if self._plain is not None:
            found = self._plain.intersects(pose_a, pose_b)
            if found is not None:
                return found
        rows_a, rows_b = one_row(pose_a, "pose_a"), one_row(pose_b, "pose_b")
        return dispatch.intersects(self._packed, PAIR, rows_a, rows_b, 0, 1, threads=1)

    def distance(self, pose_a: PoseLike, pose_b: PoseLike, *, signed: bool = False) -> Distances:
        """Distance with witness points: a `Distances` of one row."""
        signed = as_flag(signed, "signed")
        if self._plain is not None:
            found = self._plain.distance(pose_a, pose_b, signed)
            if found is not None:
                return found
        rows_a, rows_b = one_row(pose_a, "pose_a"), one_row(pose_b, "pose_b")
        return dispatch.distance(self._packed, PAIR, rows_a, rows_b, 0, 1, signed=signed, threads=1)

    def contacts(self, pose_a: PoseLike, pose_b: PoseLike, *, margin: float = 0.0) -> Contacts:
        """Contact points; rows are all 0."""
        margin = as_positive(margin, "margin", zero=True)
        if self._plain is not None:
            found = self._plain.contacts(pose_a, pose_b, margin, MANIFOLD_POINTS)
            if found is not None:
                return found
        rows_a, rows_b = one_row(pose_a, "pose_a"), one_row(pose_b, "pose_b")
        return dispatch.contacts(self._packed, PAIR, rows_a, rows_b, 0, 1, margin=margin, threads=1)
