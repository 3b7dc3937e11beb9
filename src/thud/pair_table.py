"""A table of pairs among many shapes, at one pose each or in many configurations: gates, then packed pairs as one batch, the
others two shapes at a time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, number_array
from thud._core.threads import check_threads
from thud.constants import MANIFOLD_POINTS
from thud.convex import dispatch
from thud.errors import InvalidInputError
from thud.gates import as_axes, as_flag, as_max_points, as_pairs, as_poses, as_positive, as_reach
from thud.pairing.ask import check_reach
from thud.pairing.families import NAMES, PACKED, as_shapes
from thud.pairing.groups import ContactList, ask_groups, put_distances, unpacked_rows
from thud.pairing.plans import all_entries, check_option, pair_entries
from thud.pose import Pose, PoseLike, configuration_rows, is_pose_list
from thud.results import Contacts, Distances
from thud.shapes.packed import pack
from thud.shapes.shape import Shape

#: Rows of contacts that are asked for at a time (a count), as whole configurations: it bounds the memory of the candidates.
_CONTACT_ROWS = 16384


class PairTable:
    """M pairs among S shapes, ready for many poses. Make one with `thud.prepare(shapes, pairs)`; safe to share among threads.

    Poses are S poses, or C configurations of S bodies as (C, S, 7) or (C, S, 4, 4) arrays; the answers' rows are then (C, M).
    """

    def __init__(self, shapes: Sequence[Shape], pairs: npt.ArrayLike) -> None:
        self.shapes = as_shapes(shapes, "shapes")
        """S shapes."""
        if not self.shapes:
            raise InvalidInputError("shapes: expected at least one shape, got none")
        self.pairs = as_pairs(pairs, len(self.shapes))
        """(M, 2) indices of shapes."""
        unpacked = unpacked_rows(self.shapes, self.pairs)
        self._packed_rows, self._other_rows = np.flatnonzero(~unpacked), np.flatnonzero(unpacked)
        # Shapes that packed arrays describe, and the packed pairs among them.
        self._kept = np.array([k for k, shape in enumerate(self.shapes) if shape.family in PACKED], dtype=np.int64)
        number = np.full(len(self.shapes), -1)
        number[self._kept] = np.arange(len(self._kept))
        self._packed_pairs = np.ascontiguousarray(number[self.pairs[self._packed_rows]])
        self._packed = pack(tuple(self.shapes[k] for k in self._kept)) if len(self._packed_rows) else None

    def intersects(
        self, poses: PoseLike, *, axes: npt.ArrayLike | None = None, method: str = "gjk", threads: int | None = None
    ) -> npt.NDArray[np.bool_]:
        """(M,) or (C, M) whether each pair meets. Arguments as for `distance_pairs`."""
        rows, given, count = self._gates("intersects", poses, axes, method, threads)
        hit = np.zeros(count, dtype=bool)
        self._ask("intersects", dispatch.intersects, rows, count, hit.__setitem__, {}, given | {"threads": threads})
        return self._shaped(hit, rows, poses)

    def distance(
        self,
        poses: PoseLike,
        *,
        signed: bool = False,
        max_distance: float = np.inf,
        axes: npt.ArrayLike | None = None,
        method: str = "gjk",
        threads: int | None = None,
    ) -> Distances:
        """Distances of each pair, rows (M,) or (C, M). Arguments as for `distance_pairs`."""
        signed, reach = as_flag(signed, "signed"), as_reach(max_distance)
        query = "signed_distance" if signed else "distance"
        rows, given, count = self._gates(query, poses, axes, method, threads)
        packed = given | {"signed": signed, "max_distance": reach, "threads": threads}
        if len(self._packed_rows) == len(self.pairs) and self._packed is not None:
            out = dispatch.distance(*self._batch(rows, count), **packed)
        else:
            out = dispatch.empty_distances(count)
            self._ask(query, dispatch.distance, rows, count, put_distances(out), {"reach": reach, "threads": threads}, packed)
        fields = {name: self._shaped(getattr(out, name), rows, poses) for name in out.__dataclass_fields__}
        return replace(out, **fields)

    def contacts(
        self, poses: PoseLike, *, margin: float = 0.0, max_points: int = MANIFOLD_POINTS, threads: int | None = None
    ) -> Contacts:
        """Contact points of each pair; `row` is that of the pair, c * M + m in configuration c. Arguments as for
        `contacts_pairs`."""
        options: dict[str, Any] = {"margin": as_positive(margin, "margin", zero=True), "max_points": as_max_points(max_points)}
        options["threads"] = threads
        rows, _given, count = self._gates("contacts", poses, None, "gjk", threads)
        found = ContactList(count)
        size = len(self.shapes)
        step = max(1, _CONTACT_ROWS // max(len(self.pairs), 1))
        for first in range(0, len(rows) // size, step):
            part = rows[first * size : (first + step) * size]
            put = partial(_put_shifted, found, first * len(self.pairs))
            self._ask("contacts", dispatch.contacts, part, len(part) // size * len(self.pairs), put, options, options)
        joined = found.joined()
        return replace(joined, status=self._shaped(joined.status, rows, poses))

    def _gates(
        self, query: str, poses: PoseLike, axes: npt.ArrayLike | None, method: str, threads: int | None
    ) -> tuple[Floats, dict[str, Any], int]:
        """(pose rows of all configurations, options that were given, number of answers)."""
        check_threads(threads)
        rows = _table_rows(poses, len(self.shapes))
        count = len(rows) // len(self.shapes) * len(self.pairs)
        given: dict[str, Any] = {}
        if method != "gjk":
            given["method"] = method
        if axes is not None:
            array = number_array(axes, "axes")
            if array.ndim == 3 and _is_table(poses):
                expected = (len(rows) // len(self.shapes), len(self.pairs), 3)
                if array.shape != expected:
                    raise InvalidInputError(f"axes: expected {expected} as the answer has, got {array.shape}")
                array = array.reshape(-1, 3)
            given["axes"] = as_axes(array, count)
        # Each must be of use to every pair: to the packed ones, and to the others, of which none has any.
        samples = [*self._packed_rows[:1], *self._other_rows[:1]] if given else []
        for option, value in given.items() if not len(self.pairs) else ():
            check_option(query, option, value, all_entries(query), "no pairs")
        for row in samples:
            a, b = (self.shapes[k] for k in self.pairs[row])
            for option, value in given.items():
                entries, who = pair_entries(query, a, b), f"pairs row {row}, a {NAMES[a.family]} and a {NAMES[b.family]}"
                if entries:
                    check_option(query, option, value, entries, who)
        if len(self._other_rows):
            check_reach(rows, "poses")
        return rows, given, count

    def _batch(self, rows: Floats, count: int) -> tuple[Any, ...]:
        """The packed pairs as `convex/dispatch.py` takes them."""
        configurations = len(rows) // len(self.shapes)
        if len(self._kept) < len(self.shapes):
            rows = np.ascontiguousarray(rows.reshape(configurations, len(self.shapes), 12)[:, self._kept]).reshape(-1, 12)
        many = configurations * len(self._packed_pairs)
        return self._packed, self._packed_pairs, rows, rows, max(len(self._kept), 1), many

    def _ask(
        self, query: str, packed_query: Callable[..., Any], rows: Floats, count: int, put: Callable[[Ints, Any], None],
        given: dict[str, Any], packed_given: dict[str, Any],
    ) -> None:  # fmt: skip
        """All pairs in all configurations."""
        configurations = np.arange(len(rows) // len(self.shapes))[:, None]
        if len(self._packed_rows):
            answers = (len(self.pairs) * configurations + self._packed_rows).ravel()
            put(answers, packed_query(*self._batch(rows, count), **packed_given))
        if len(self._other_rows):
            ask_groups(
                query, self.shapes, self.pairs, rows, self._other_rows, put, **given | {"threads": packed_given["threads"]}
            )

    def _shaped(self, array: npt.NDArray[Any], rows: Floats, poses: PoseLike) -> npt.NDArray[Any]:
        """(M, ...) or (C, M, ...)."""
        if not _is_table(poses):
            return array
        return array.reshape(len(rows) // len(self.shapes), len(self.pairs), *array.shape[1:])


def _put_shifted(found: ContactList, shift: int, rows: Ints, answer: Contacts) -> None:
    found.put(rows + shift, answer)


def _is_table(poses: PoseLike) -> bool:
    """Whether poses are of many configurations."""
    shape = () if poses is None or isinstance(poses, Pose) or is_pose_list(poses) else number_array(poses, "poses").shape
    return len(shape) == 4 or (len(shape) == 3 and shape[-1] == 7)


def _table_rows(poses: PoseLike, count: int) -> Floats:
    """The gate of S poses, or of (C, S, 7) or (C, S, 4, 4): (S, 12) or (C * S, 12) rows."""
    if not _is_table(poses):
        rows = as_poses(poses, "poses")
        if len(rows) != count:
            raise InvalidInputError(f"poses: expected one pose a shape ({count}), got {len(rows)}")
        return rows
    array = number_array(poses, "poses")
    each = array.shape[2:]
    if array.shape[1] != count or each not in ((7,), (4, 4)):
        raise InvalidInputError(f"poses: expected (C, {count}, 7) or (C, {count}, 4, 4), got {array.shape}")
    return configuration_rows(array, "poses")
