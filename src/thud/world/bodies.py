"""The table of bodies: rows that are reused, and handles that know whether their row still is what it was."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, whole_array
from thud.errors import InvalidInputError, StaleHandleError
from thud.world.body_rows import ROW_BITS, ROW_MASK, SHAPE, find_rows, put_poses

_ABSENT = np.array([np.inf] * 3 + [-np.inf] * 3)


class Bodies:
    """Rows of arrays, grown by doubling. Row k is alive or free; `used` rows have ever been in use."""

    def __init__(self) -> None:
        self.used = 0
        self.clock = 0
        """Counts how often boxes were made anew: while it stands, no body has moved or changed."""
        self.free: list[int] = []
        self.names: dict[int, str] = {}
        self._allocate(64)

    def _allocate(self, capacity: int) -> None:
        """Arrays of this many rows, the old ones copied."""
        fresh: dict[str, npt.NDArray[Any]] = {
            "poses": np.zeros((capacity, 12)),
            "bounds": np.tile(_ABSENT, (capacity, 1)),
            "velocity": np.zeros((capacity, 3)),
            "angular_velocity": np.zeros((capacity, 3)),
            "mass": np.full(capacity, np.nan),
            "inertia": np.full((capacity, 3, 3), np.nan),
            "center_of_mass": np.full((capacity, 3), np.nan),
            "friction": np.zeros(capacity),
            "restitution": np.zeros(capacity),
            "force": np.zeros((capacity, 3)),
            "torque": np.zeros((capacity, 3)),
            "damping": np.zeros((capacity, 2)),
            "gravity_scale": np.ones(capacity),
            "turning_friction": np.zeros((capacity, 2)),
            "surface_velocity": np.zeros((capacity, 3)),
            "locked": np.zeros(capacity, dtype=np.int64),
            "held": np.zeros((capacity, 3)),
            "calm": np.zeros(capacity),
            "asleep": np.zeros(capacity, dtype=bool),
            "slept": np.zeros((capacity, 2), dtype=np.int64),
            "shape": np.full(capacity, -1, dtype=np.int64),
            "rules": np.zeros((capacity, 3), dtype=np.uint64),
            "generation": np.zeros(capacity, dtype=np.int64),
            "alive": np.zeros(capacity, dtype=bool),
            "bullet": np.zeros(capacity, dtype=bool),
            "kinematic": np.zeros(capacity, dtype=bool),
            "sensor": np.zeros(capacity, dtype=bool),
            "enabled": np.zeros(capacity, dtype=bool),
            "revision": np.zeros((capacity, 2), dtype=np.int64),
            "moved": np.zeros(capacity, dtype=bool),
        }
        for name, array in fresh.items():
            if self.used:
                array[: self.used] = getattr(self, name)[: self.used]
            setattr(self, name, array)

    poses: Floats
    """(C, 12)"""
    bounds: Floats
    """(C, 6) world boxes; rows marked in `moved` are out of date, free ones absent (`broadphase.Boxes`)."""
    velocity: Floats
    """(C, 3) m/s, world frame."""
    angular_velocity: Floats
    """(C, 3) rad/s, world frame, about the origin of the body's frame."""
    mass: Floats
    """(C,) kg; NaN where none was given."""
    inertia: Floats
    """(C, 3, 3) kg m^2 about the centre of mass, body axes; NaN where none is known."""
    center_of_mass: Floats
    """(C, 3) body frame, metres; NaN where none is known."""
    friction: Floats
    restitution: Floats
    """(C,) coefficients."""
    force: Floats
    torque: Floats
    """(C, 3) N and N m about the centre of mass, world frame, through the next step."""
    damping: Floats
    """(C, 2) linear and angular, 1/s."""
    gravity_scale: Floats
    """(C,) by how much gravity acts."""
    turning_friction: Floats
    """(C, 2) torsional and rolling, metres."""
    surface_velocity: Floats
    """(C, 3) of its surface past the body, m/s, world frame."""
    locked: Ints
    """(C,) bits of axes of the world along (1, 2, 4) and about (8, 16, 32) which it does not move."""
    held: Floats
    """(C, 3) where its centre of mass is held along locked axes."""
    calm: Floats
    """(C,) seconds for which a body has been slow."""
    asleep: npt.NDArray[np.bool_]
    """(C,) left out of `step` until something disturbs it."""
    slept: Ints
    """(C, 2) `revision` as it was in the last step."""
    shape: Ints
    """(C,) index into the shape set."""
    rules: npt.NDArray[np.uint64]
    """(C, 3) layer bit, mask, static (`broadphase.Boxes`)."""
    generation: Ints
    """(C,) how many bodies this row has held."""
    alive: npt.NDArray[np.bool_]
    bullet: npt.NDArray[np.bool_]
    """(C,) fast movers, whose impacts are found by ray casts."""
    kinematic: npt.NDArray[np.bool_]
    """(C,) moved by their velocities whatever pushes them."""
    sensor: npt.NDArray[np.bool_]
    """(C,) reports contacts and never responds."""
    enabled: npt.NDArray[np.bool_]
    """(C,) false: takes part in nothing."""
    moved: npt.NDArray[np.bool_]
    """(C,) pose, shape or `enabled` changed since the box was made."""
    revision: Ints
    """(C, 2) how often the row's shape and pose have changed; never the same again, whatever body the row holds."""

    def take_row(self) -> int:
        """A free row, alive from now on, of a new generation."""
        if self.free:
            row = self.free.pop()
        else:
            if self.used == len(self.alive):
                self._allocate(2 * self.used)
            row = self.used
            self.used += 1
        self.alive[row] = self.moved[row] = self.enabled[row] = True
        self.force[row] = self.torque[row] = self.damping[row] = 0.0
        self.gravity_scale[row] = 1.0
        self._forget(row)
        self.generation[row] += 1
        self.revision[row] += 1
        return row

    def _forget(self, rows: Any) -> None:
        """What only `step` knows of the body that a row held before."""
        self.calm[rows], self.asleep[rows], self.slept[rows] = 0.0, False, 0
        self.turning_friction[rows], self.surface_velocity[rows], self.locked[rows], self.held[rows] = 0.0, 0.0, 0, 0.0

    def take_rows(self, count: int) -> Ints:
        """(count,) rows, the same as from so many calls of `take_row`."""
        reused = min(count, len(self.free))
        rows = np.empty(count, np.int64)
        rows[:reused] = self.free[len(self.free) - reused :][::-1]
        del self.free[len(self.free) - reused :]
        fresh = count - reused
        if self.used + fresh > len(self.alive):
            self._allocate(max(2 * self.used, self.used + fresh))
        rows[reused:] = self.used + np.arange(fresh)
        self.used += fresh
        self.alive[rows] = self.moved[rows] = self.enabled[rows] = True
        self.force[rows] = self.torque[rows] = self.damping[rows] = 0.0
        self.gravity_scale[rows] = 1.0
        self._forget(rows)
        self.generation[rows] += 1
        self.revision[rows] += 1
        return rows

    def release_rows(self, rows: Ints) -> None:
        """The rows are free; handles to them are stale."""
        self.alive[rows] = self.moved[rows] = self.enabled[rows] = self.sensor[rows] = False
        self.bounds[rows] = _ABSENT
        freed = rows.tolist()
        if self.names:
            for row in freed:
                self.names.pop(row, None)
        self.free += freed

    def handles(self, rows: Ints) -> Ints:
        """Handles of rows that are alive."""
        return (self.generation[rows] << ROW_BITS) | rows

    def rows(self, handles: npt.ArrayLike, name: str = "handles", numbers: Ints | None = None) -> Ints:
        """The gate of every handle argument: rows of one or N handles. `numbers`: by which errors name them; default: their
        place."""
        given = np.atleast_1d(whole_array(handles, name))
        if given.ndim != 1:
            raise InvalidInputError(f"{name}: expected a handle or (N,) handles, got shape {given.shape}")
        rows = np.empty(len(given), np.int64)
        at = int(find_rows(given, self.alive, self.generation, self.used, rows))
        if at >= 0:
            shown = at if numbers is None else int(numbers[at])
            row = int(given[at]) & ROW_MASK
            was = row < self.used and 0 < int(given[at]) >> ROW_BITS <= int(self.generation[row])
            why = "its body was removed from this world" if was else "this world never gave it out"
            raise StaleHandleError(f"{name}: row {shown} is handle {int(given[at])}: {why}; use what World.add returned")
        return rows

    def one_row(self, handle: npt.ArrayLike, name: str = "handle") -> int:
        """The gate of one handle."""
        rows = self.rows(handle, name)
        if len(rows) != 1:
            raise InvalidInputError(f"{name}: expected one handle, got {len(rows)}")
        return int(rows[0])

    def living_rows(self, given: npt.ArrayLike, name: str) -> Ints:
        """The gate of rows, of any shape: each must hold a living body."""
        rows = whole_array(given, name)
        flat = rows.ravel()
        wrong = (flat < 0) | (flat >= self.used)
        wrong |= ~self.alive[np.where(wrong, 0, flat)]
        if wrong.any():
            at = int(np.argmax(wrong))
            raise InvalidInputError(f"{name}: number {at} is {int(flat[at])}, no row of a living body; see World.index")
        return rows

    def put_physics(self, rows: Any, physics: Any) -> None:
        """The columns of `body_gates.Physics` of one row or N."""
        for name, column in zip(physics._fields, physics, strict=True):
            getattr(self, name)[rows] = column

    def place(self, rows: Ints, poses: Floats) -> None:
        """One or N poses (12 numbers each) of N rows."""
        put_poses(rows, poses.view(np.int64), self.poses.view(np.int64), self.moved, self.revision)

    def reshape(self, row: int, index: int) -> None:
        """Another shape of a row."""
        self.shape[row], self.moved[row] = index, True
        self.revision[row, SHAPE] += 1

    def enable(self, rows: Ints, flags: npt.NDArray[np.bool_]) -> None:
        """Whether rows take part in anything."""
        changed = self.enabled[rows] != flags
        self.enabled[rows] = flags
        self.moved[rows[changed]] = True

    def hide(self, rows: Ints) -> None:
        """Of these rows the disabled ones have no box."""
        off = rows[~self.enabled[rows]]
        if len(off):
            self.bounds[off] = _ABSENT

    def present(self) -> npt.NDArray[np.bool_]:
        """(used,) rows that are alive and enabled."""
        return self.alive[: self.used] & self.enabled[: self.used]

    def living(self) -> Ints:
        """Rows that are alive, in order."""
        return np.flatnonzero(self.alive[: self.used])
