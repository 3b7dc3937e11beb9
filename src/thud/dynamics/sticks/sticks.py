"""`Sticks`: point masses joined by sticks or springs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.simd_corridors import ROW
from thud._core.threads import check_threads, core_count
from thud.dynamics.sticks.elements import Elements, least_size
from thud.dynamics.sticks.gates import Asked, as_each, as_indices, check_world, colour_order, gate
from thud.dynamics.sticks.near_pairs import NearPairs
from thud.dynamics.sticks.obstacles import CollisionQueries, Gatherer, Obstacles, PoseMemory
from thud.dynamics.sticks.pushing import push_bodies
from thud.dynamics.sticks.stepping import step_sticks, stick_errors
from thud.dynamics.sticks.tolerances import AROUND, CALM_PART, DRIFT_PART, FLOOR, MOST_DRIFT, SLACK, THICKEST, WATCHED
from thud.dynamics.sticks.types import (
    BODY_GAP,
    CALM,
    CONTACTS,
    COUNTS,
    CROSSED,
    DONE,
    DRIFT,
    FADE,
    HELD,
    LOOKS,
    MOST,
    NEED,
    ORIGIN,
    OWN_FRICTION,
    OWN_GAP,
    PULL,
    PUSH,
    RULES,
    WATCH,
    H,
    Net,
    Points,
    Triangles,
)
from thud.dynamics.team import run_team
from thud.errors import InvalidInputError
from thud.gates import as_flag, as_points, as_positive, as_vector, one_or

#: Points for which a second thread is worth its waits: a colour of sticks takes a thread a microsecond.
_FEW_POINTS = 1000

#: A mean length of edges of what has none, in thicknesses.
_BARE = 10.0


class StickStatus(IntEnum):
    """How a step went, the worst of it."""

    DONE = 0
    UNCONVERGED = 1
    """Sticks miss their lengths by more than the tolerance."""
    PINCHED = 2
    """There was no room between bodies that move: pairs passed each other."""


@dataclass(frozen=True, slots=True)
class StickStep:
    """What a step did."""

    error: float
    """Greatest miss of a stick, in rest lengths: of its length, of a compliant one of its law (excess = compliance times
    force)."""
    mean_error: float
    worst: int
    """The stick of the greatest miss; -1 for none."""
    torn: Ints
    """(T,) sticks that broke."""
    contacts: int
    """Pairs that pressed at the end of the step."""
    held: int
    """Pairs that were held back from passing each other, over all sub-steps: 0 in calm motion."""
    crossed: int
    """Pairs that bodies moved through, as there was no room."""
    searches: int
    """How many times near pairs were looked for."""
    status: StickStatus


class Sticks:
    """N point masses joined by K sticks or springs, alone or as the corners of F faces of cloth. They are in no world, and may
    move through any.

    Parameters
    ----------
    points : (N, 3) metres, world frame
    sticks : (K, 2) indices of points
    faces : (F, 3) indices of points: surfaces between the points, which meet things. None: a net
    mass : kg a point, one or (N,)
    rest : metres, one or (K,); None for the distances of the points as they are
    compliance : metres a newton, one or (K,): 0 for a stick, 1 / stiffness for a spring
    mode : one or (K,): 0 a stick resists being longer and shorter; 1 only longer, as a string; -1 only shorter, as a prop
    tear : strain (excess over rest length) at which a stick breaks, one or (K,); inf for never
    thickness : metres; surfaces of cloth, and sticks that meet each other, keep this far apart, and half of it from bodies
    friction : coefficient; with a body the geometric mean of both
    self_collision : whether it meets itself
    collide : (K,) which sticks meet things; None: all if there are no faces, else those along a face's side
    pinned : indices of points that nothing moves but `pin`
    velocity : (3,) or (N, 3) m/s
    gravity : (3,) m/s^2; None for the world's, (0, 0, -9.81) without one
    damping : 1/s; a velocity falls to 1/e in 1 / damping seconds
    method : "xpbd", or "slides": Verlet steps and relaxation; see docs/sticks.md
    substeps, iterations : of a step and of a sub-step; None for 8 and 1 ("xpbd"), 1 and 16 ("slides")
    tolerance : a greater error of a stick, in rest lengths, is UNCONVERGED
    mask, ignore : bits of the layers that they meet; handles that they pass
    threads : how many to use; None for all cores
    """

    def __init__(
        self,
        points: npt.ArrayLike,
        sticks: npt.ArrayLike,
        *,
        faces: npt.ArrayLike | None = None,
        mass: npt.ArrayLike = 0.1,
        rest: npt.ArrayLike | None = None,
        compliance: npt.ArrayLike = 0.0,
        mode: npt.ArrayLike = 0,
        tear: npt.ArrayLike = np.inf,
        thickness: float = 0.01,
        friction: float = 0.5,
        self_collision: bool = True,
        collide: npt.ArrayLike | None = None,
        pinned: npt.ArrayLike | None = None,
        velocity: npt.ArrayLike | None = None,
        gravity: npt.ArrayLike | None = None,
        damping: float = 0.0,
        method: str = "xpbd",
        substeps: int | None = None,
        iterations: int | None = None,
        tolerance: float = 0.01,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
        threads: int | None = None,
    ) -> None:
        asked = gate(
            Asked(points, sticks, faces, mass, rest, compliance, mode, tear, collide, pinned, velocity, gravity, method,
                  substeps, iterations, mask, ignore)
        )  # fmt: skip
        self.position, self.velocity, self.mass = asked.position, asked.velocity, asked.mass
        self.sticks, self.rest, self.compliance = asked.sticks, asked.rest, asked.compliance
        self.mode, self.tear, self.collide = asked.mode, asked.tear, asked.collide
        self.gravity = asked.gravity
        self.method, self.substeps, self.iterations = asked.method, asked.substeps, asked.iterations
        self.mask, self.ignore = asked.mask, asked.ignore
        self.thickness, self.friction = as_positive(thickness, "thickness"), as_positive(friction, "friction", zero=True)
        self.self_collision = as_flag(self_collision, "self_collision")
        self.damping, self.tolerance = as_positive(damping, "damping", zero=True), as_positive(tolerance, "tolerance")
        check_threads(threads)
        self.threads = threads
        self._elements = Elements(self.position, self.sticks, asked.faces, self.collide)
        least = least_size(self.position, asked.faces, self._elements.edges)
        if self.self_collision and self.thickness > THICKEST * least:
            raise InvalidInputError(
                f"thickness: {self.thickness:g} m is more than half the least height of a face or length of an edge,"
                f" {least:g} m; neighbours would push each other. Give a smaller one, or self_collision=False"
            )
        self._alive = np.ones(len(self.sticks), np.uint8)
        self._pinned: Bools = np.zeros(len(self), np.bool_)
        self._target: Floats = self.position.copy()
        self._pinned[asked.pinned] = True
        self._order, colours = colour_order(self.sticks, len(self))
        order = self._order
        self._net = Net(
            np.ascontiguousarray(self.sticks[order], dtype=np.int32), self.rest[order], self.compliance[order],
            self.mode[order].astype(np.int8), self._alive[order], np.zeros(len(order)), colours,
        )  # fmt: skip
        self._near, self._gatherer, self._memory = NearPairs(len(self)), Gatherer(), PoseMemory()
        self._edge_length, self._drift = self._mean_edge(), np.zeros(len(self))

    def __len__(self) -> int:
        return len(self.position)

    def __repr__(self) -> str:
        return f"Sticks({len(self)} points, {int(self._alive.sum())} sticks, {len(self.faces)} faces, method={self.method!r})"

    # What it is

    @property
    def faces(self) -> Ints:
        """(F, 3) faces that are there: those that have lost a stick are not."""
        return self._elements.faces[self._elements.alive_faces]

    @property
    def alive(self) -> Bools:
        """(K,) which sticks have not broken."""
        return self._alive != 0

    @property
    def order(self) -> Ints:
        """(K,) sticks in the order in which they are solved: by colours, so that threads can share them."""
        return self._order.copy()

    @property
    def pinned(self) -> Ints:
        """Points that are pinned."""
        return np.flatnonzero(self._pinned)

    def strain(self) -> Floats:
        """(K,) length over rest length, less 1."""
        ends = self.position[self.sticks]
        return np.linalg.norm(ends[:, 1] - ends[:, 0], axis=1) / self.rest - 1.0

    def forces(self) -> Floats:
        """(K,) newtons with which sticks pull in the last sub-step, "xpbd" only; negative where they push."""
        if self.method != "xpbd":
            raise InvalidInputError('method: relaxation knows no forces; "xpbd" does')
        found = np.empty(len(self.sticks))
        found[self._order] = -self._net.tension / self._substep**2 if self._substep else 0.0
        return found

    def energy(self, gravity: npt.ArrayLike = (0.0, 0.0, -9.81)) -> tuple[float, float]:
        """Kinetic and potential energy, joules: of height above 0 along gravity, and of springs."""
        pull = as_vector(gravity, "gravity")
        moving = 0.5 * float((self.mass * (self.velocity**2).sum(axis=1)).sum())
        high = -float((self.mass[:, None] * self.position).sum(axis=0) @ pull)
        soft = self.alive & (self.compliance > 0.0)
        excess = (self.strain() * self.rest)[soft]
        excess = np.where(self.mode[soft] == 0, excess, np.where(self.mode[soft] * excess > 0.0, excess, 0.0))
        return moving, high + 0.5 * float((excess**2 / self.compliance[soft]).sum())

    def momentum(self) -> Floats:
        """(3,) N s."""
        found: Floats = (self.mass[:, None] * self.velocity).sum(axis=0)
        return found

    # What is done to it

    def pin(self, indices: npt.ArrayLike, positions: npt.ArrayLike | None = None) -> None:
        """Hold points, where they are or at (3,) or (M, 3) positions, which they reach at the end of the next step along
        straight lines; nothing stops them. Call it before each step to lead them along."""
        rows = as_indices(indices, "indices", len(self))
        self._pinned[rows] = True
        if positions is None:
            self._target[rows] = self.position[rows]
            return
        where = as_points(positions, "positions")
        if len(where) not in (1, len(rows)):
            raise InvalidInputError(f"positions: expected {one_or(len(rows))}, got {len(where)}")
        self._target[rows] = where

    def unpin(self, indices: npt.ArrayLike) -> None:
        """Let points go."""
        self._pinned[as_indices(indices, "indices", len(self))] = False

    def cut(self, sticks: npt.ArrayLike) -> None:
        """Break sticks; faces that lose one go."""
        self._alive[as_indices(sticks, "sticks", len(self.sticks))] = 0
        self._net.alive[:] = self._alive[self._order]
        self._elements.update(self.alive)

    def apply_impulse(self, indices: npt.ArrayLike, impulse: npt.ArrayLike) -> None:
        """Change the velocities of points: (3,) or (M, 3) newton seconds. A point that is named twice is pushed twice."""
        rows = as_indices(indices, "indices", len(self))
        given = as_points(impulse, "impulse")
        if len(given) not in (1, len(rows)):
            raise InvalidInputError(f"impulse: expected {one_or(len(rows))}, got {len(given)}")
        np.add.at(self.velocity, rows, given / self.mass[rows, None])

    def step(self, world: CollisionQueries | None, dt: float) -> StickStep:
        """Move by `dt` seconds, through what a world holds. Bodies that moved since the last call are met on their ways;
        impulses are handed to those that can be pushed, and show when the world steps. None: through nothing.

        A first step takes bodies to have been where they are.
        """
        check_world(world)
        seconds = as_positive(dt, "dt")
        pull = self.gravity if self.gravity is not None else np.array([0.0, 0.0, -9.81]) if world is None else world.gravity
        rules = np.zeros(RULES)
        self._substep = rules[H] = seconds / self.substeps
        rules[PULL : PULL + 3] = pull
        rules[FADE] = np.exp(-self.damping * rules[H])
        rules[OWN_GAP], rules[BODY_GAP], rules[OWN_FRICTION] = self.thickness, 0.5 * self.thickness, self.friction
        seen = self._memory.look(world) if world is not None else None
        begin = self.position.copy()
        # What is in reach of contacts is looked at in any case.
        rules[DRIFT] = max(DRIFT_PART * self._edge_length, 0.5 * (1.0 + SLACK - FLOOR) * self.thickness)
        rules[MOST] = max(MOST_DRIFT * self._edge_length, rules[DRIFT])
        rules[WATCH], rules[CALM] = 0.5 * WATCHED * self._edge_length, CALM_PART * self._edge_length
        rules[ORIGIN : ORIGIN + 3] = begin.mean(axis=0)
        counts = np.zeros(COUNTS, np.int64)
        members = 1 if len(self) < _FEW_POINTS else self.threads or core_count()
        votes = np.zeros(members, np.int64)
        felt: list[tuple[Obstacles, Floats]] = []
        tree = self._near.tree(self._elements, self.position)
        points, triangles = self._look(world, seen, begin, 0, seconds, rules, felt)
        while True:
            run_team(
                step_sticks, members, points, self._net, tree, self._near.room, triangles, rules,
                int(self.method == "slides"), int(self.self_collision), self.substeps, self.iterations, votes, counts,
            )  # fmt: skip
            self.position[:] = points.x[: len(self)]
            if counts[DONE] == self.substeps:
                break
            if counts[NEED] > 0:
                # There was no room for what was found.
                self._near.grow(int(counts[NEED]))
                counts[NEED] = 0
            else:
                # Points have left the boxes in which triangles are known.
                points, triangles = self._look(world, seen, begin, int(counts[DONE]), seconds, rules, felt)
        self._near.keep(self.position)
        if not np.isfinite(self.position).all():
            raise InvalidInputError(
                "dt: the points flew apart; springs of `method='slides'` need shorter steps, see docs/sticks.md"
            )
        if world is not None and felt:
            push_bodies(world, felt)
        return self._ended(counts, float(rules[H]), points)

    def _look(
        self, world: CollisionQueries | None, seen: tuple[Ints, Floats, Floats] | None, begin: Floats, done: int,
        seconds: float, rules: Floats, felt: list[tuple[Obstacles, Floats]],
    ) -> tuple[Points, Triangles]:  # fmt: skip
        """Points, and the triangles of bodies that may be near them in the rest of the step."""
        give = np.where(self._pinned, 0.0, 1.0 / self.mass)
        after = np.where(self._pinned[:, None], self._target, self.position)
        left = seconds * (self.substeps - done) / self.substeps
        x = self.position.copy()
        end = np.where(self._pinned[:, None], after, x + left * (self.velocity + 0.5 * left * rules[PULL : PULL + 3]))
        around = (AROUND * self._edge_length + self.substeps * self._drift)[:, None]
        low, high = np.minimum(x, end) - around, np.maximum(x, end) + around
        obstacles = None
        if world is not None and seen is not None:
            reach = (1.0 + SLACK) * float(rules[BODY_GAP])
            items = self._elements.ordered
            obstacles = self._gatherer.gather(world, low, high, items, reach, self.mask, self.ignore, seen)
        before, friction, pushes = begin, np.zeros(1), np.zeros((1, PUSH))
        body, owns = np.empty(0, np.int32), np.empty(0, np.uint8)
        if obstacles is not None and len(obstacles.handles):
            friction = np.sqrt(self.friction * obstacles.friction)
            pushes = np.zeros((len(friction), PUSH))
            felt.append((obstacles, pushes))
            body, owns = obstacles.body, obstacles.owns
            was, now = obstacles.before.reshape(-1, 3), obstacles.after.reshape(-1, 3)
            x = np.concatenate([x, was + done / self.substeps * (now - was)])
            before, after = np.concatenate([begin, was]), np.concatenate([after, now])
            give = np.concatenate([give, np.zeros(len(was))])
        total = len(x)
        points = Points(
            x, np.empty((total, 3)), before, after, self.velocity, give, np.empty((total, 3)), np.empty(total),
            np.empty(total, np.float32), np.empty(total, np.float32), self._drift, low, high,
            np.empty((total, ROW), np.float32), np.empty(total, np.uint8),
        )  # fmt: skip
        return points, Triangles(body, owns, friction, pushes, np.empty((len(body), ROW), np.float32))

    def _ended(self, counts: Ints, h: float, points: Points) -> StickStep:
        """What happened."""
        error = np.zeros(3)
        tear = self.tear[self._order]
        torn = int(stick_errors(points, self._net, int(self.method == "slides"), h, tear, error))
        broken = np.empty(0, np.int64)
        if torn:
            before = self._alive.copy()
            self._alive[self._order] = self._net.alive
            broken = np.flatnonzero(before != self._alive)
            self._elements.update(self.alive)
        worst = int(error[2])
        status = StickStatus.DONE
        if counts[CROSSED]:
            status = StickStatus.PINCHED
        elif error[0] > self.tolerance:
            status = StickStatus.UNCONVERGED
        return StickStep(
            float(error[0]), float(error[1]), int(self._order[worst]) if worst >= 0 else -1, broken, int(counts[CONTACTS]),
            int(counts[HELD]), int(counts[CROSSED]), int(counts[LOOKS]), status,
        )  # fmt: skip

    def _mean_edge(self) -> float:
        """Mean length of the edges that meet things, metres; the thickness if there are none."""
        edges = self._elements.edges
        if not len(edges):
            return _BARE * self.thickness
        mean = float(np.linalg.norm(self.position[edges[:, 0]] - self.position[edges[:, 1]], axis=1).mean())
        return max(mean, self.thickness)

    # Saving

    def state(self) -> dict[str, Any]:
        """All that makes it, as arrays and plain values; `from_state` goes on from there to the same bytes."""
        handles, poses = self._memory.state()
        return {
            "points": self.position.copy(), "start": self._elements.start.copy(),
            "velocity": self.velocity.copy(), "mass": self.mass.copy(),
            "sticks": self.sticks.copy(), "rest": self.rest.copy(), "compliance": self.compliance.copy(),
            "mode": self.mode.copy(), "tear": self.tear.copy(), "collide": self.collide.copy(),
            "faces": self._elements.faces.copy(), "alive": self.alive, "pinned": self.pinned, "target": self._target.copy(),
            "drift": self._drift.copy(), "thickness": self.thickness,
            "friction": self.friction,
            "self_collision": self.self_collision, "gravity": None if self.gravity is None else self.gravity.copy(),
            "damping": self.damping, "method": self.method, "substeps": self.substeps, "iterations": self.iterations,
            "tolerance": self.tolerance, "mask": self.mask, "ignore": self.ignore.copy(), "threads": self.threads,
            "seen_handles": handles.copy(), "seen_poses": poses.copy(),
        }  # fmt: skip

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Sticks:
        """The sticks of a `state()`; whatever is wrong with it is an `InvalidInputError`."""
        given = dict(state)
        kept = {}
        for name in ("start", "points", "alive", "target", "drift", "seen_handles", "seen_poses"):
            if name not in given:
                raise InvalidInputError(f"state: {name!r} is missing")
            kept[name] = given.pop(name)
        try:
            made = cls(kept["start"], **given)
        except TypeError as error:
            raise InvalidInputError(f"state: {error}") from None
        position = as_points(kept["points"], "points")
        if len(position) != len(made):
            raise InvalidInputError(f"points: expected {len(made)} rows, got {len(position)}")
        made.position[:] = position
        made._alive = as_each(kept["alive"], "alive", len(made.sticks)).astype(np.uint8)
        made._net.alive[:] = made._alive[made._order]
        made._elements.update(made.alive)
        target = as_points(kept["target"], "target")
        if len(target) != len(made):
            raise InvalidInputError(f"target: expected {len(made)} rows, got {len(target)}")
        made._target = target.copy()
        made._drift = as_each(kept["drift"], "drift", len(made))
        poses = as_points(kept["seen_poses"], "seen_poses", width=12)
        made._memory.restore(np.asarray(kept["seen_handles"], np.int64).copy(), poses.copy())
        return made

    _substep = 0.0
