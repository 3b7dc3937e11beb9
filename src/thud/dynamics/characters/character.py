"""`Character`: one or N ellipsoids that walk through a world."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, whole_array
from thud._core.columns import Columns
from thud._core.threads import run_rows
from thud.constants import LARGEST_SIZE, LEAST_SIZE
from thud.dynamics.characters import types
from thud.dynamics.characters.obstacles import CollisionQueries, NearBodies, Store, bodies_near, gathered
from thud.dynamics.characters.pushing import push_bodies
from thud.dynamics.characters.slides import slide_rows
from thud.dynamics.characters.tolerances import PUSH_MOST, SKIN
from thud.dynamics.characters.types import DT, GRAVITY, STEEPEST, STEP_HEIGHT, Moved, Movers, new_moved
from thud.dynamics.characters.walking import room_rows, walk_rows
from thud.errors import InvalidInputError, StaleHandleError
from thud.gates import as_points, as_poses, as_positive, finite_array, one_or

Bytes = npt.NDArray[np.uint8]

METHODS = ("walk", "slides")

#: Characters that are worth a hand-over to another thread: one takes some microseconds.
_CHUNK = 64


class HitKind(IntEnum):
    """By what a character met something."""

    WALK = types.WALK
    STEP = types.STEP
    FALL = types.FALL
    CARRY = types.CARRY
    PUSH = types.PUSH


class MoveStatus(IntEnum):
    """How a move ended."""

    DONE = types.DONE
    LIMITED = types.LIMITED
    OVERLAPPING = types.OVERLAPPING


@dataclass(frozen=True, slots=True, repr=False)
class CharacterHits(Columns):
    """What N characters met in a move: M hits, by character, then in the order in which they came."""

    row: Ints
    """(M,) which character."""
    handle: Ints
    """(M,) the body."""
    point: Floats
    """(M, 3) where it was met, world frame."""
    normal: Floats
    """(M, 3) unit vector from there towards the character: of the ellipsoid's surface, turned inward."""
    kind: Bytes
    """(M,) `HitKind`."""

    _unit = "hit"
    _words = (("kind", HitKind),)


@dataclass(frozen=True, slots=True, repr=False)
class CharacterMoves(Columns):
    """N characters after a move."""

    position: Floats
    """(N, 3) centres, world frame."""
    grounded: Bools
    """(N,) whether it stands on ground no steeper than the limit."""
    ground_normal: Floats
    """(N, 3) of the contact; 0 in the air."""
    ground_handle: Ints
    """(N,) the body that it stands on; -1 in the air."""
    turn: Floats
    """(N,) radians about +z by which that body has turned it."""
    hits: CharacterHits
    status: Bytes
    """(N,) `MoveStatus`: DONE; LIMITED: part of the motion was dropped, as it met too much; OVERLAPPING: it is still inside
    something and was pushed out as far as one move may."""

    _unit = "character"
    _beside = (("hits", ""),)
    _words = (("status", MoveStatus),)

    def _say(self) -> list[str]:
        return [f"{self.grounded.sum():,} grounded", f"{len(self.hits):,} hits"]


class Character:
    """One or N characters: ellipsoids whose axes are those of the world, with +z up. They are in no world, and may move
    through any.

    Parameters
    ----------
    radii : (3,) or (N, 3) metres along x, y and z
    position : (3,) or (N, 3) centres, world frame
    step_height : metres; what is no higher is stepped on, and ground no lower is walked down to
    slope : radians; ground up to this angle is walked on
    method : "walk", or "slides": as [Slides] have it, with no steps, no slope limit and no platforms; see docs/characters.md
    mass : kg; its weight on what it stands on, and in what it pushes
    strength : newtons; the greatest force with which it pushes
    gravity : m / s^2 along z, negative down; None for the world's
    mask : bits of the layers that it meets
    ignore : handles that it passes: one for all, (N,) one a character, or (N, K); -1 for none
    """

    def __init__(
        self,
        radii: npt.ArrayLike,
        position: npt.ArrayLike,
        *,
        step_height: float = 0.3,
        slope: float = math.radians(50.0),
        method: str = "walk",
        mass: float = 70.0,
        strength: float = 500.0,
        gravity: float | None = None,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
    ) -> None:
        self.position = as_points(position, "position").copy()
        count = len(self.position)
        self.radii = _as_radii(radii, count)
        self.step_height = as_positive(step_height, "step_height", zero=True)
        self.slope = as_positive(slope, "slope", zero=True)
        if not self.slope < 0.5 * math.pi:
            raise InvalidInputError(f"slope: expected radians below a right angle, 1.57, got {slope!r}; see math.radians")
        if method not in METHODS:
            raise InvalidInputError(f"method: expected one of {', '.join(METHODS)}, got {method!r}")
        self.method = method
        self.mass, self.strength = as_positive(mass, "mass"), as_positive(strength, "strength", zero=True)
        self.gravity = None if gravity is None else float(_number(gravity, "gravity"))
        if isinstance(mask, bool) or not isinstance(mask, (int, np.integer)):
            raise InvalidInputError(f"mask: expected a whole number, the bits of layers, got {mask!r}")
        self.mask = int(mask)
        self.ignore = _as_ignore(ignore, count)
        self.fall = np.zeros(count)
        """(N,) m/s upward: what gravity and jumps have made of it."""
        self.grounded = np.zeros(count, dtype=np.bool_)
        self.ground_normal = np.zeros((count, 3))
        self.ground_handle = np.full(count, -1)
        # The pose that the body had on which it stands.
        self._ground_pose = np.zeros((count, 12))
        self._store, self._moved = Store(), new_moved(count)

    def __len__(self) -> int:
        return len(self.position)

    def __repr__(self) -> str:
        return f"Character({len(self)} of method {self.method!r})"

    def place(self, position: npt.ArrayLike) -> None:
        """Put all characters somewhere else: (3,) or (N, 3). They are in the air, at rest."""
        where = as_points(position, "position")
        if len(where) not in (1, len(self)):
            raise InvalidInputError(f"position: expected {one_or(len(self))}, got {len(where)}")
        self.position[:] = where
        self.fall[:], self.grounded[:], self.ground_normal[:], self.ground_handle[:] = 0.0, False, 0.0, -1

    def jump(self, speed: npt.ArrayLike) -> None:
        """Give characters that stand on ground one or N speeds upward, m/s; 0 for those that stay."""
        given = np.broadcast_to(finite_array(speed, "speed"), (len(self),)) if np.ndim(speed) == 0 else _each(speed, len(self))
        leaps = self.grounded & (given > 0.0)
        self.fall[leaps], self.grounded[leaps] = given[leaps], False

    def move(self, world: CollisionQueries, motion: npt.ArrayLike, dt: float) -> CharacterMoves:
        """Walk by a motion, fall by gravity, in `dt` seconds.

        Parameters
        ----------
        world : what they are among; pushed bodies get impulses, and nothing else of it changes
        motion : (3,) or (N, 3) metres; what is upward or downward in it is added to the fall
        dt : seconds
        """
        _check_world(world)
        way, seconds = as_points(motion, "motion"), as_positive(dt, "dt")
        if len(way) not in (1, len(self)):
            raise InvalidInputError(f"motion: expected {one_or(len(self))}, got {len(way)}")
        way = np.array(np.broadcast_to(way, (len(self), 3)), order="C")
        pull = float(world.gravity[2]) if self.gravity is None else self.gravity
        rules = np.zeros(4)
        rules[DT], rules[GRAVITY], rules[STEP_HEIGHT], rules[STEEPEST] = seconds, pull, self.step_height, math.cos(self.slope)
        rooms = self._rooms(way, seconds, pull)
        near = bodies_near(world, self.position, rooms, self.mask, self.ignore)
        carry, turn = self._carried(world, near)
        if carry.any():
            rooms += np.linalg.norm(carry, axis=1)[:, None] * [-1.0, -1.0, -1.0, 1.0, 1.0, 1.0]
            near = bodies_near(world, self.position, rooms, self.mask, self.ignore)
        obstacles, parts = gathered(near, self.position, self.radii, rooms, world.threads, self._store)
        movers = Movers(
            self.position, self.radii, way, carry, _places(near.handles, self.ground_handle), self.fall,
            self.grounded.astype(np.uint8), self.ground_normal,
        )  # fmt: skip
        moved = self._moved
        kernel = walk_rows if self.method == "walk" else slide_rows
        run_rows(kernel, len(self), world.threads, obstacles, parts, movers, rules, moved, rows_per_chunk=_CHUNK)
        if self.method == "walk":
            weight = self.mass * abs(pull) * seconds
            push_bodies(world, near, moved, way / seconds, self.fall, self.mass, self.strength * seconds, weight)
        return self._ended(moved, near, turn)

    def resize(self, world: CollisionQueries, radii: npt.ArrayLike) -> Bools:
        """Give characters another shape where there is room for it: (3,) or (N, 3) radii, to crouch and to stand up. The feet
        stay where they are.

        Returns
        -------
        (N,) which of them have it now
        """
        _check_world(world)
        fresh = _as_radii(radii, len(self))
        position = self.position.copy()
        position[:, 2] += (1.0 + SKIN) * (fresh[:, 2] - self.radii[:, 2])
        room = fresh * (1.0 + SKIN)
        rooms = np.concatenate([-room, room], axis=1)
        near = bodies_near(world, position, rooms, self.mask, self.ignore)
        obstacles, parts = gathered(near, position, fresh, rooms, world.threads, self._store)
        free = np.empty(len(self), np.uint8)
        run_rows(room_rows, len(self), world.threads, obstacles, parts, fresh, free, rows_per_chunk=_CHUNK)
        done = free != 0
        self.radii[done], self.position[done] = fresh[done], position[done]
        return done

    def _rooms(self, way: Floats, dt: float, pull: float) -> Floats:
        """(N, 6) boxes about the characters that hold all that a move may touch, if nothing carries them."""
        # A fall may be turned aside, and a way may rise or fall with the ground.
        level = np.sqrt(way[:, 0] ** 2 + way[:, 1] ** 2)
        room = self.radii * (1.0 + SKIN + PUSH_MOST)
        room += (level + np.abs(dt * (self.fall + dt * pull) + way[:, 2]))[:, None]
        room[:, 2] += self.step_height + level * max(math.tan(self.slope) - 1.0, 0.0)
        return np.concatenate([-room, room], axis=1)

    def _carried(self, world: CollisionQueries, near: NearBodies) -> tuple[Floats, Floats]:
        """(N, 3) by what, and (N,) by what angle about z, the bodies that they stand on have moved them since."""
        carry, turn = np.zeros((len(self), 3)), np.zeros(len(self))
        rows = np.flatnonzero(self.grounded & (self.ground_handle >= 0))
        if self.method != "walk" or not len(rows):
            return carry, turn
        place = _places(near.handles, self.ground_handle[rows])
        now = near.poses[place] if len(near.poses) else np.empty((len(rows), 12))
        for k in np.flatnonzero(place < 0).tolist():
            # It has gone out of reach, or is gone: then it carries nobody.
            try:
                now[k] = as_poses(world.poses(self.ground_handle[rows[k]]), "poses")[0]
            except StaleHandleError:
                now[k] = self._ground_pose[rows[k]]
        before = self._ground_pose[rows]
        moved = np.flatnonzero((now != before).any(axis=1))
        if not len(moved):
            return carry, turn
        rows, now, before = rows[moved], now[moved], before[moved]
        turned = now[:, :9].reshape(-1, 3, 3) @ np.swapaxes(before[:, :9].reshape(-1, 3, 3), 1, 2)
        arm = self.position[rows] - before[:, 9:]
        carry[rows] = np.einsum("nij,nj->ni", turned, arm) - arm + now[:, 9:] - before[:, 9:]
        turn[rows] = np.arctan2(turned[:, 1, 0] - turned[:, 0, 1], turned[:, 0, 0] + turned[:, 1, 1])
        return carry, turn

    def _ended(self, moved: Moved, near: NearBodies, turn: Floats) -> CharacterMoves:
        """Keep what the next move needs, and say what happened."""
        # The kernel has read all of these: from now on they are what it wrote.
        self.position[:], self.fall[:], self.ground_normal[:] = moved.position, moved.fall, moved.ground_normal
        self.grounded = moved.grounded != 0
        bodies, rows = near.handles, np.flatnonzero(moved.ground_body >= 0)
        self.ground_handle = np.full(len(self), -1)
        self.ground_handle[rows] = bodies[moved.ground_body[rows]]
        self._ground_pose[rows] = near.poses[moved.ground_body[rows]]
        kept = np.arange(moved.hit_ints.shape[1]) < moved.hit_count[:, None]
        row, _place = np.nonzero(kept)
        ints, reals = moved.hit_ints[kept], moved.hit_reals[kept]
        handle = bodies[ints[:, 0]]
        hits = CharacterHits(row, handle, reals[:, :3], reals[:, 3:], ints[:, 1].astype(np.uint8))
        return CharacterMoves(
            self.position.copy(), self.grounded.copy(), self.ground_normal.copy(), self.ground_handle.copy(), turn, hits,
            moved.status.copy(),
        )  # fmt: skip


def _check_world(world: object) -> None:
    """Named error unless it can be asked what is where."""
    if not hasattr(world, "near"):
        raise InvalidInputError(f"world: expected a thud.World, got a {type(world).__name__}")


def _number(value: npt.ArrayLike, name: str) -> Floats:
    array = finite_array(value, name)
    if array.ndim != 0:
        raise InvalidInputError(f"{name}: expected one number, got shape {array.shape}")
    return array


def _each(value: npt.ArrayLike, count: int) -> Floats:
    array = finite_array(value, "speed")
    if array.shape != (count,):
        raise InvalidInputError(f"speed: expected one number or ({count},), got shape {array.shape}")
    return array


def _as_radii(radii: npt.ArrayLike, count: int) -> Floats:
    """The gate of radii: (N, 3)."""
    found = as_points(radii, "radii", least=1)
    if len(found) not in (1, count):
        raise InvalidInputError(f"radii: expected (3,) or ({count}, 3) metres, one row a position, got {len(found)} rows")
    wrong = np.flatnonzero(((found < LEAST_SIZE) | (found > LARGEST_SIZE)).any(axis=1))
    if len(wrong):
        raise InvalidInputError(
            f"radii: row {wrong[0]} is {found[wrong[0]].tolist()}; expected lengths from {LEAST_SIZE:g} to {LARGEST_SIZE:g} m"
        )
    return np.array(np.broadcast_to(found, (count, 3)), order="C")


def _as_ignore(ignore: npt.ArrayLike | None, count: int) -> Ints:
    """The gate of handles that are passed: (1, K) or (N, K)."""
    given = whole_array([] if ignore is None else ignore, "ignore")
    if given.size == 0:
        return np.empty((1, 0), np.int64)
    if given.ndim > 2 or (given.ndim and len(given) not in (1, count)):
        raise InvalidInputError(
            f"ignore: expected a handle, ({count},) handles or ({count}, K), -1 for none; got shape {given.shape}"
        )
    return given.reshape(len(given) if given.ndim else 1, -1).astype(np.int64)


def _places(bodies: Ints, handles: Ints) -> Ints:
    """(N,) place of each handle among bodies; -1 for none."""
    if not len(bodies):
        return np.full(len(handles), -1)
    order = np.argsort(bodies)
    at = order[np.minimum(np.searchsorted(bodies, handles, sorter=order), len(bodies) - 1)]
    return np.where(bodies[at] == handles, at, -1)
