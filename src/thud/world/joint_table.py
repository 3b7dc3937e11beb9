"""The joints of a world: rows in the order in which they were made, and handles that are never given twice."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, whole_array
from thud.dynamics import joint_types as at
from thud.dynamics.colouring import colour_pairs, sort_colours
from thud.dynamics.joint_types import JointRows
from thud.dynamics.joints import JointNumbers
from thud.errors import InvalidInputError, StaleHandleError
from thud.world.body_rows import ROW_MASK

#: `bodies` of a joint to the world itself.
WORLD = -1


class JointTable:
    """Arrays of J rows."""

    def __init__(self) -> None:
        self.next = 0
        """The next handle."""
        self.changes = 0
        """Counts how often joints or their motors have changed."""
        self.handle: Ints = np.empty(0, np.int64)
        self.bodies: Ints = np.empty((0, 2), np.int64)
        """(J, 2) handles of `to` and `body`; WORLD for none."""
        self.kind: Ints = np.empty((0, 2), np.int64)
        self.frames: Floats = np.empty((0, 24))
        """(J, 24) frame in `to` and in `body`: rotation and origin, body frames."""
        self.reals: Floats = np.empty((0, at.REALS))
        self.impulses: Floats = np.empty((0, at.IMPULSES))
        self.value: Floats = np.empty(0)
        self.load: Floats = np.empty((0, 6))
        """(J, 6) mean force and torque on `body` over the last step, world frame."""
        self.breaks: Floats = np.empty((0, 2))
        self.collide: Bools = np.empty(0, np.bool_)

    def __len__(self) -> int:
        return len(self.handle)

    def add(self, numbers: JointNumbers, bodies: tuple[int, int], poses: list[Floats]) -> int:
        """Poses (12,) of `to` and `body`."""
        frame = np.empty(24)
        for side, (pose, origin) in enumerate(zip(poses, (numbers.origin_to, numbers.origin), strict=True)):
            turn = pose[:9].reshape(3, 3)
            frame[12 * side : 12 * side + 9] = (turn.T @ numbers.frame).ravel()
            frame[12 * side + 9 : 12 * side + 12] = turn.T @ (origin - pose[9:])
        handle = self.next
        self.next += 1
        row = {
            "handle": handle, "bodies": bodies, "kind": (numbers.kind, numbers.equations), "frames": frame,
            "reals": numbers.reals, "impulses": np.zeros(at.IMPULSES), "value": 0.0, "load": np.zeros(6),
            "breaks": numbers.breaks, "collide": numbers.collide,
        }  # fmt: skip
        for name, value in row.items():
            column = getattr(self, name)
            setattr(self, name, np.concatenate([column, np.asarray([value], column.dtype)]))
        return handle

    def rows(self, handles: npt.ArrayLike) -> Ints:
        """The gate of joint handles."""
        given = np.atleast_1d(whole_array(handles, "joints"))
        if given.ndim != 1:
            raise InvalidInputError(f"joints: expected a joint or (N,) joints, got shape {given.shape}")
        rows = np.searchsorted(self.handle, given)
        wrong = rows == len(self.handle)
        wrong |= self.handle[np.where(wrong, 0, rows)] != given if len(self.handle) else True
        if wrong.any():
            k = int(np.argmax(wrong))
            raise StaleHandleError(
                f"joints: row {k} is {int(given[k])}, no joint of this world by now; use what add_joint returned"
            )
        return rows

    def keep(self, chosen: Bools) -> None:
        """Only these rows."""
        for name in ("handle", "bodies", "kind", "frames", "reals", "impulses", "value", "load", "breaks", "collide"):
            setattr(self, name, np.ascontiguousarray(getattr(self, name)[chosen]))

    def release(self, handles: Ints) -> None:
        """Bodies are gone: so are their joints."""
        if len(self):
            self.keep(np.asarray(~np.isin(self.bodies, handles).any(axis=1)))

    def parted_pairs(self) -> Ints:
        """(K,) keys of the pairs of rows that do not collide, sorted: lower row * 2^32 + higher row."""
        chosen = ~self.collide & (self.bodies != WORLD).all(axis=1)
        rows = np.sort(self.bodies[chosen] & ROW_MASK, axis=1)
        return np.unique((rows[:, 0] << 32) | rows[:, 1])

    def solver_rows(
        self, moves: Floats, centers: Floats, locked: Ints, bits: Ints, held: Floats
    ) -> tuple[JointRows, Ints, Ints]:
        """(joints in the order of their colours, first of each colour, which row each one is). `moves` (N + 1,) inverse masses,
        the last of the world; `centers` (N, 3) of mass, body frames. Joints of which nothing moves are left out.

        Behind the joints come the bodies of which axes are locked: rows, bits of the axes, and where they are held.
        """
        if not len(self) and not len(locked):
            return _NO_JOINTS, _NO_COLOURS, _NO_COLOURS[:0]
        ends = np.where(self.bodies == WORLD, len(moves) - 1, self.bodies & ROW_MASK)
        if len(locked):
            return self._with_locks(ends, moves, centers, locked, bits, held)
        return self._solver_rows(self, ends, moves, centers)

    def _with_locks(
        self, ends: Ints, moves: Floats, centers: Floats, locked: Ints, bits: Ints, held: Floats
    ) -> tuple[JointRows, Ints, Ints]:
        """Joints and locked axes as one table."""
        count = len(locked)
        whole = JointTable()
        frames, reals = np.zeros((count, 24)), np.zeros((count, at.REALS))
        frames[:, [0, 4, 8, 12, 16, 20]], frames[:, 9:12] = 1.0, held
        # From the centre of mass, as the solver has them.
        frames[:, 21:24] = centers[locked]
        reals[:, at.LENGTH], reals[:, at.LOWER], reals[:, at.UPPER] = bits, -np.inf, np.inf
        many = np.array([int(k).bit_count() for k in bits.tolist()])
        whole.kind = np.concatenate([self.kind, np.stack([np.full(count, at.LOCKED), many], axis=1)])
        whole.frames, whole.reals = np.concatenate([self.frames, frames]), np.concatenate([self.reals, reals])
        whole.impulses = np.concatenate([self.impulses, np.zeros((count, at.IMPULSES))])
        whole.value = np.concatenate([self.value, np.zeros(count)])
        both = np.concatenate([ends, np.stack([np.full(count, len(moves) - 1), locked], axis=1)])
        return self._solver_rows(whole, both, moves, centers)

    @staticmethod
    def _solver_rows(table: JointTable, ends: Ints, moves: Floats, centers: Floats) -> tuple[JointRows, Ints, Ints]:
        active = np.flatnonzero((moves[ends] > 0.0).any(axis=1))
        ends = np.ascontiguousarray(ends[active])
        colour, weight = np.empty(len(active), np.int64), np.zeros(len(active), np.int64)
        many = int(colour_pairs(ends, moves, np.empty(len(moves), np.uint64), colour))
        order, starts = np.empty(len(active), np.int64), np.empty(many + 1, np.int64)
        sort_colours(colour, weight, many, 1, np.empty(many + 1, np.int64), order, starts)
        rows = active[order]
        frames = table.frames[rows]
        padded = np.vstack([centers, np.zeros((1, 3))])
        frames[:, 9:12] -= padded[ends[order, 0]]
        frames[:, 21:24] -= padded[ends[order, 1]]
        found = JointRows(
            np.ascontiguousarray(ends[order]), table.kind[rows], frames, table.reals[rows], table.impulses[rows],
            table.value[rows], np.zeros((len(rows), 6)), np.empty((len(rows), at.WORK)),
        )  # fmt: skip
        return found, starts, rows

    def keep_step(self, rows: Ints, joints: JointRows, dt: float) -> tuple[Ints, Ints]:
        """What a step left. Returns the handles of joints that broke, which are gone, and rows of their bodies."""
        own = rows < len(self)
        rows = rows[own]
        self.impulses[rows], self.value[rows] = joints.impulses[own], joints.value[own]
        self.load[...] = 0.0
        self.load[rows] = joints.wrench[own] / dt
        broken, ends = self.broken()
        gone = self.handle[broken]
        if len(gone):
            self.keep(~broken)
            self.changes += 1
        return gone, ends[ends != WORLD] & ROW_MASK

    def broken(self) -> tuple[Bools, Ints]:
        """(J,) joints whose load is more than they bear, and (K, 2) handles of their bodies."""
        size = np.stack([np.linalg.norm(self.load[:, :3], axis=1), np.linalg.norm(self.load[:, 3:], axis=1)], axis=1)
        found: Bools = np.asarray((size > self.breaks).any(axis=1))
        return found, self.bodies[found]


_NO_JOINTS = JointRows(
    np.empty((0, 2), np.int64), np.empty((0, 2), np.int64), np.empty((0, 24)), np.empty((0, at.REALS)),
    np.empty((0, at.IMPULSES)), np.empty(0), np.empty((0, 6)), np.empty((0, at.WORK)),
)  # fmt: skip
_NO_COLOURS = np.zeros(1, np.int64)
