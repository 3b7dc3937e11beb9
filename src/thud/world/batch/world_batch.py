"""`WorldBatch`: many copies of one world, stepped together."""

from __future__ import annotations

import itertools
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array, whole_array
from thud._core.threads import check_threads, core_count, executor
from thud.broadphase.boxes import STATIC
from thud.constants import MANIFOLD_POINTS
from thud.dynamics import joint_types as at
from thud.dynamics.joints import Motor, put_motor
from thud.errors import InvalidInputError, ThudError, UnsupportedQueryError
from thud.gates import as_max_points, as_positive, as_vector
from thud.results import WorldContacts
from thud.rotations import quaternion_from_rotation
from thud.world.batch.batch_results import BatchContacts, BatchEvents, BatchStepContacts
from thud.world.batch.crowd import Crowd
from thud.world.batch.crowd_parts import gather, put, world_of
from thud.world.batch.crowd_step import step_crowd
from thud.world.batch.quick_turns import quick_turns
from thud.world.contact_records import ContactRecords
from thud.world.events import events_between
from thud.world.find_contacts import find_contacts
from thud.world.step_contacts import StepContacts
from thud.world.world import World

#: `hook(contacts, generators)`: contacts of all copies, and a random generator for each copy.
ContactHook = Callable[[BatchStepContacts, list[np.random.Generator]], None]

#: Copies of a crowd: at least so many, since a step of a crowd costs as much Python as one of a world; and at most, so that
#: what it works on stays in the caches.
FEWEST, MOST = 4, 512

#: As many if nobody said how many threads there are to be: with fewer a second thread brings less than it costs.
WORTHWHILE = 32

#: What a world can do and a batch cannot, and what to do instead.
_ONLY_WORLDS = {
    **dict.fromkeys(
        ("add", "add_many", "remove", "add_joint", "remove_joint", "set_shape", "set_enabled", "set_static", "set_layer",
         "set_mask", "set_sensor", "set_kinematic"),
        "all copies have the bodies, joints and rules of their world; change the world and make another WorldBatch of it",
    ),
    **dict.fromkeys(
        ("raycast", "raycast_all", "cast", "overlap", "closest", "in_boxes", "distances", "impacts", "pairs", "intersecting",
         "islands", "energy"),
        "ask a copy: batch.world(k) is a World equal to copy k",
    ),
}  # fmt: skip


class BatchState:
    """What `WorldBatch.state` gives: copies as they were, for `restore`."""

    def __init__(self, batch: WorldBatch, pieces: list[tuple[Ints, Crowd]], streams: list[dict[str, Any]]) -> None:
        self._batch, self._pieces, self._streams = batch, pieces, streams

    def __len__(self) -> int:
        return len(self._streams)


def _flat(column: Floats) -> Floats:
    """(M * K, ...) of (M, K, ...)."""
    return np.ascontiguousarray(column).reshape(-1, *column.shape[2:])


def _joined(parts: list[dict[str, Any]]) -> dict[str, Any]:
    """Columns one behind the other."""
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}


class WorldBatch:
    """N copies of a world, stepped together: arrays in and out have the shape (N, bodies, ...).

    Copy k does what the world would do alone, to the last bit, whatever the other copies do and however many threads there
    are. All copies have the bodies, shapes, joints and rules of the world; poses, velocities, masses, coefficients, motors and
    contacts are each copy's own.

    Parameters
    ----------
    world : as it is now; later changes of it are not seen
    copies : N, how many
    seeds : (N,) whole numbers of at least 0, one a copy, for `generators`. Default: 0, 1, 2, ...
    threads : how many to use; default: as the world
    """

    def __init__(self, world: World, copies: int, seeds: npt.ArrayLike | None = None, *, threads: int | None = None) -> None:
        if not isinstance(world, World) or isinstance(world, Crowd):
            raise InvalidInputError(f"world: expected a World, got a {type(world).__name__}")
        if isinstance(copies, bool) or not isinstance(copies, (int, np.integer)) or copies < 1:
            raise InvalidInputError(f"copies: expected a whole number of at least 1, got {copies!r}")
        check_threads(threads)
        if world.contact_hook is not None:
            raise InvalidInputError(
                "world: has a contact_hook, which knows of one world; set it to None, and give the batch a hook for all copies"
            )
        self._world = world_of(Crowd.of(world, 1), 0, world)
        """As it was: names, filter, and what `reset` goes back to."""
        self._first = Crowd.of(self._world, 1)
        self._first.threads = 1
        # Made once, before threads ask for them.
        self._first._shapes.packed()
        self._first._shapes.inner_radii()
        self._first._shapes.turning_reaches()
        self._count = int(copies)
        self._threads = world.threads if threads is None else threads
        self._crowds: list[Crowd] = []
        """Runs of copies, each stepped by one thread."""
        self._lock = threading.Lock()
        self._part()
        self._hook: ContactHook | None = None
        self._rows = self._world._bodies.living()
        self._joint_handles = self._world.joints()
        self.generators: list[np.random.Generator] = []
        """A random generator for each copy, for hooks and whoever else draws."""
        self._seed(np.arange(len(self)), np.arange(len(self)) if seeds is None else seeds)

    def _part(self) -> None:
        """Divide the copies among crowds: a few for each thread, none too large for the caches."""
        threads = core_count() if self._threads is None else self._threads
        fewest = WORTHWHILE if self._threads is None else FEWEST
        many = max(min(threads, self._count // fewest), -(-self._count // MOST), 1)
        # As many for each thread.
        many = -(-many // threads) * threads if many > threads else many
        edges = np.arange(many + 1) * self._count // many
        if [int(crowd.numbers[0]) for crowd in self._crowds] == edges[:-1].tolist():
            return
        before, self._crowds = self._crowds, []
        for low, high in itertools.pairwise(edges.tolist()):
            crowd = gather(self._first, np.zeros(high - low, np.int64))
            crowd.numbers = np.arange(low, high)
            for old in before:
                there = np.flatnonzero((crowd.numbers >= old.numbers[0]) & (crowd.numbers <= old.numbers[-1]))
                if len(there):
                    crowd.gravity, crowd._gravity_before = old.gravity, old._gravity_before
                    put(crowd, there, gather(old, crowd.numbers[there] - old.numbers[0]))
            if self._world.filter is not None:
                crowd.user_filter = self._asked_alone(self._world.filter)
            crowd.set_hook(before[0].hook if before else None)
            self._crowds.append(crowd)

    def _asked_alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """A user's function, which crowds call one after the other."""

        def call(*arguments: Any) -> Any:
            with self._lock:
                return function(*arguments)

        return call

    def __len__(self) -> int:
        return self._count

    def __repr__(self) -> str:
        return f"WorldBatch({len(self)} copies of {len(self._rows)} bodies)"

    def __getattr__(self, name: str) -> Any:
        if name in _ONLY_WORLDS:
            raise UnsupportedQueryError(f"WorldBatch.{name}: {_ONLY_WORLDS[name]}")
        raise AttributeError(f"'WorldBatch' object has no attribute {name!r}")

    # Who

    def handles(self) -> Ints:
        """(bodies,) the world's handles; arrays of bodies are in their order."""
        return self._world.handles()

    def joints(self) -> Ints:
        """(joints,) the world's joints; arrays of joints are in their order."""
        return self._joint_handles.copy()

    def _copies(self, copies: npt.ArrayLike | None) -> Ints:
        """The gate of copies."""
        if copies is None:
            return np.arange(len(self))
        given = np.asarray(copies)
        if given.dtype == np.bool_:
            if given.shape != (len(self),):
                raise InvalidInputError(f"copies: expected ({len(self)},) bools or numbers of copies, got shape {given.shape}")
            return np.flatnonzero(given)
        given = np.atleast_1d(whole_array(copies, "copies")) if given.size else np.empty(0, np.int64)
        if given.ndim != 1:
            raise InvalidInputError(f"copies: expected a copy or (M,) copies, got shape {given.shape}")
        wrong = (given < 0) | (given >= len(self))
        if wrong.any():
            row = int(np.argmax(wrong))
            raise InvalidInputError(f"copies: row {row} is {int(given[row])}; expected numbers from 0 to {len(self) - 1}")
        if len(np.unique(given)) != len(given):
            raise InvalidInputError("copies: the same copy is named twice")
        return given

    def _local_rows(self, handles: npt.ArrayLike | None) -> Ints:
        return self._rows if handles is None else self._world._bodies.rows(handles)

    def _split(self, chosen: Ints) -> Iterator[tuple[Crowd, Ints, Ints]]:
        """(crowd, places in `chosen` of its copies, these copies as it numbers them)."""
        for crowd in self._crowds:
            mine = np.flatnonzero((chosen >= crowd.numbers[0]) & (chosen <= crowd.numbers[-1]))
            if len(mine):
                yield crowd, mine, chosen[mine] - crowd.numbers[0]

    def _call(self, method: str, chosen: Ints, rows: Ints, *columns: Floats | None) -> None:
        """A method of a world with the handles of bodies of copies, and columns of (M, K, ...) numbers, None for none."""
        for crowd, mine, copies in self._split(chosen):
            flat = (copies[:, None] * crowd.size + rows).ravel()
            given = [None if column is None else _flat(column[mine]) for column in columns]
            with self._named(chosen[mine], len(rows)):
                getattr(crowd, method)(crowd._bodies.handles(flat), *given)

    def _bodies(self, name: str, copies: npt.ArrayLike | None, handles: npt.ArrayLike | None) -> Any:
        """(M, K, ...) a column of the bodies."""
        whole = np.concatenate([crowd.by_copy(getattr(crowd._bodies, name)) for crowd in self._crowds])
        return whole[self._copies(copies)][:, self._local_rows(handles)]

    def _who(self, copies: npt.ArrayLike | None, handles: npt.ArrayLike | None) -> tuple[Ints, Ints]:
        return self._copies(copies), self._local_rows(handles)

    def _whole(self, value: npt.ArrayLike, name: str, copies: int, bodies: int, shape: tuple[int, ...]) -> Floats:
        """The gate of numbers: (copies, bodies, *shape) of one for all, one a body, or one a body of each copy."""
        array = np.asarray(value, dtype=np.float64)
        full = (copies, bodies, *shape)
        axes = array.ndim - len(shape)
        fits = axes in (0, 1, 2) and array.shape[axes:] == shape
        fits = fits and all(have in (1, want) for have, want in zip(array.shape[:axes], full[2 - axes : 2], strict=True))
        if not fits:
            expected = [str(full[2 - k :]) for k in (2, 1, 0)]
            raise InvalidInputError(f"{name}: expected shape {expected[0]}, {expected[1]} or {expected[2]}, got {array.shape}")
        found = np.broadcast_to(array, full)
        wrong = ~np.isfinite(found).reshape(copies, bodies, -1).all(axis=2)
        if wrong.any():
            copy, body = np.argwhere(wrong)[0]
            raise InvalidInputError(f"{name}: copy {copy}, body {body}: is not finite")
        return found

    @contextmanager
    def _named(self, copies: Ints, bodies: int) -> Iterator[None]:
        """Rows of the crowd in messages as copy and body."""

        def place(match: re.Match[str]) -> str:
            copy, body = divmod(int(match[1]), max(bodies, 1))
            return f"copy {int(copies[copy])}, body {body}"

        try:
            yield
        except ThudError as error:
            raise type(error)(re.sub(r"row (\d+)", place, str(error))) from None

    # State

    def poses(self, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None) -> Floats:
        """(N, bodies, 7) poses [x y z qw qx qy qz]."""
        whole = self._bodies("poses", copies, handles)
        found = whole.reshape(-1, 12)
        poses = np.concatenate([found[:, 9:], quaternion_from_rotation(found[:, :9].reshape(-1, 3, 3))], axis=1)
        return poses.reshape(*whole.shape[:2], 7)

    def set_poses(
        self, poses: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Move bodies: (N, bodies, 7) [x y z qw qx qy qz], or (bodies, 7) for all copies; of some copies and bodies only,
        where they are named."""
        chosen, rows = self._who(copies, handles)
        self._call("set_poses", chosen, rows, self._whole(poses, "poses", len(chosen), len(rows), (7,)))

    def velocities(self, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(N, bodies, 3) m/s and (N, bodies, 3) rad/s, world frame."""
        return self._bodies("velocity", copies, handles), self._bodies("angular_velocity", copies, handles)

    def set_velocities(
        self,
        velocity: npt.ArrayLike,
        angular_velocity: npt.ArrayLike | None = None,
        copies: npt.ArrayLike | None = None,
        handles: npt.ArrayLike | None = None,
    ) -> None:
        """Velocities, (N, bodies, 3), (bodies, 3) or (3,) m/s, and rad/s unless None, world frame."""
        chosen, rows = self._who(copies, handles)
        linear = self._whole(velocity, "velocity", len(chosen), len(rows), (3,))
        angular = None
        if angular_velocity is not None:
            angular = self._whole(angular_velocity, "angular_velocity", len(chosen), len(rows), (3,))
        self._call("set_velocities", chosen, rows, linear, angular)

    @property
    def time(self) -> Floats:
        """(N,) seconds that `step` has gone on by."""
        return np.concatenate([crowd.times for crowd in self._crowds])

    @property
    def gravity(self) -> Floats:
        """(3,) m / s^2, of all copies."""
        return self._crowds[0].gravity.copy()

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        for crowd in self._crowds:
            crowd.gravity = as_vector(value, "gravity")

    @property
    def threads(self) -> int | None:
        """How many are used; None for all cores."""
        return self._threads

    @threads.setter
    def threads(self, value: int | None) -> None:
        check_threads(value)
        self._threads = value
        self._part()

    def asleep(self) -> Bools:
        """(N, bodies) bodies that the last step left at rest and out of the next one, until something disturbs them."""
        return np.asarray(self._bodies("asleep", None, None))

    def wake(self, copies: npt.ArrayLike | None = None) -> None:
        """Let all bodies of copies take part in the next step."""
        for crowd, _, own in self._split(self._copies(copies)):
            flat = (own[:, None] * crowd.size + self._rows).ravel()
            crowd._bodies.asleep[flat], crowd._bodies.calm[flat] = False, 0.0
            crowd.resting[own] = False

    @property
    def lost(self) -> Ints:
        """(K, 2) copy and handle of bodies that the last step would have moved beyond the limits of poses: they stay where they
        were, at rest."""
        return np.concatenate(
            [np.stack([crowd.numbers[crowd.copy_of(crowd.lost)], crowd.local(crowd.lost)], axis=1) for crowd in self._crowds]
        )

    # Masses and surfaces, which may differ from copy to copy

    def _set_column(
        self, method: str, name: str, value: npt.ArrayLike, copies: npt.ArrayLike | None, handles: npt.ArrayLike | None
    ) -> None:
        chosen, rows = self._who(copies, handles)
        self._call(method, chosen, rows, self._whole(value, name, len(chosen), len(rows), ()))

    def mass(self) -> Floats:
        """(N, bodies) kg; NaN where none is known."""
        return np.asarray(self._bodies("mass", None, None))

    def set_mass(self, mass: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None) -> None:
        """Give bodies other masses, (N, bodies), (bodies,) or one, kg; as `World.set_mass`."""
        self._set_column("set_mass", "mass", mass, copies, handles)

    def friction(self) -> Floats:
        """(N, bodies) coefficients."""
        return np.asarray(self._bodies("friction", None, None))

    def set_friction(
        self, friction: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Give bodies other coefficients of friction, (N, bodies), (bodies,) or one."""
        self._set_column("set_friction", "friction", friction, copies, handles)

    def restitution(self) -> Floats:
        """(N, bodies) coefficients."""
        return np.asarray(self._bodies("restitution", None, None))

    def set_restitution(
        self, restitution: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Give bodies other coefficients of restitution, (N, bodies), (bodies,) or one."""
        self._set_column("set_restitution", "restitution", restitution, copies, handles)

    def set_gravity_scale(
        self, scale: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Let gravity act on bodies more or less: (N, bodies), (bodies,) or one number."""
        self._set_column("set_gravity_scale", "scale", scale, copies, handles)

    # Forces

    def _push(
        self,
        method: str,
        name: str,
        value: npt.ArrayLike,
        points: npt.ArrayLike | None,
        copies: npt.ArrayLike | None,
        handles: npt.ArrayLike | None,
    ) -> None:
        chosen, rows = self._who(copies, handles)
        found = self._whole(value, name, len(chosen), len(rows), (3,))
        where = None if points is None else self._whole(points, "points", len(chosen), len(rows), (3,))
        # Bodies that nothing pushes may have a 0 in the array.
        acts: Bools = np.asarray(found.any(axis=2))
        table = self._world._bodies
        wrong = acts & ((table.rules[rows, STATIC] != 0) | table.kinematic[rows])
        if wrong.any():
            copy, body = np.argwhere(wrong)[0]
            raise InvalidInputError(
                f"{name}: copy {int(chosen[copy])}, body {body}: acts on a static or kinematic body, which nothing pushes; "
                "expected 0"
            )
        for crowd, mine, own in self._split(chosen):
            some = acts[mine]
            handles_of = crowd._bodies.handles((own[:, None] * crowd.size + rows)[some])
            given = {} if where is None else {"points": where[mine][some]}
            getattr(crowd, method)(handles_of, found[mine][some], **given)

    def apply_force(
        self,
        force: npt.ArrayLike,
        points: npt.ArrayLike | None = None,
        copies: npt.ArrayLike | None = None,
        handles: npt.ArrayLike | None = None,
    ) -> None:
        """Push bodies through the next step: (N, bodies, 3), (bodies, 3) or (3,) newtons, world frame, at the centres of mass
        or at points of the world. Forces add up, and end with the step."""
        self._push("apply_force", "force", force, points, copies, handles)

    def apply_torque(
        self, torque: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Turn bodies through the next step: (N, bodies, 3), (bodies, 3) or (3,) newton metres about their centres of mass,
        world frame."""
        self._push("apply_torque", "torque", torque, None, copies, handles)

    def apply_impulse(
        self,
        impulse: npt.ArrayLike,
        points: npt.ArrayLike | None = None,
        copies: npt.ArrayLike | None = None,
        handles: npt.ArrayLike | None = None,
    ) -> None:
        """Change velocities now: (N, bodies, 3), (bodies, 3) or (3,) newton seconds, world frame, at the centres of mass or at
        points of the world."""
        self._push("apply_impulse", "impulse", impulse, points, copies, handles)

    # Joints

    def _joint_places(self, crowd: Crowd) -> tuple[Ints, Ints]:
        """(J,) copy and column of each joint that is there."""
        return crowd.joint_copies(), np.searchsorted(self._joint_handles, crowd._joints.handle)

    def _by_joint(self, name: str) -> Floats:
        """(N, joints, ...) of a column of joints; NaN of those that broke."""
        parts = []
        for crowd in self._crowds:
            column = getattr(crowd._joints, name)
            found = np.full((crowd.copies, len(self._joint_handles), *column.shape[1:]), np.nan)
            found[self._joint_places(crowd)] = column
            parts.append(found)
        return np.concatenate(parts)

    def joint_values(self) -> Floats:
        """(N, joints) as of the last step: a hinge's angle, turns counted, and a ball's twist (radians), a slider's
        displacement, a distance (metres); 0 of a fixed joint; NaN of one that broke."""
        return self._by_joint("value")

    def joint_loads(self) -> tuple[Floats, Floats]:
        """(N, joints, 3) force, N, and (N, joints, 3) torque about the joint's point, N m, of joints on their `body`: means
        over the last step, world frame; NaN of joints that broke."""
        found = self._by_joint("load")
        return found[:, :, :3], found[:, :, 3:]

    @property
    def broken(self) -> Ints:
        """(K, 2) copy and handle of joints that broke in the last step."""
        found = [np.stack([crowd.numbers[crowd.broken[:, 0]], crowd.broken[:, 1]], axis=1) for crowd in self._crowds]
        return np.concatenate(found)

    def _joint_columns(self, joints: npt.ArrayLike | None) -> Ints:
        return np.arange(len(self._joint_handles)) if joints is None else self._world._joints.rows(joints)

    def _joint_table_rows(self, crowd: Crowd, columns: Ints, copies: Ints) -> Ints:
        """(M, K) rows of a crowd's joints, -1 for those that broke."""
        table = np.full((crowd.copies, len(self._joint_handles)), -1)
        table[self._joint_places(crowd)] = np.arange(len(crowd._joints))
        return table[copies][:, columns]

    def set_targets(
        self, targets: npt.ArrayLike, joints: npt.ArrayLike | None = None, copies: npt.ArrayLike | None = None
    ) -> None:
        """Give motors other targets: (N, joints), (joints,) or one speed or position, as the motors are. Joints that broke are
        passed over."""
        chosen, columns = self._copies(copies), self._joint_columns(joints)
        fresh = self._whole_joints(targets, len(chosen), len(columns))
        found = [(*part, self._joint_table_rows(part[0], columns, part[2])) for part in self._split(chosen)]
        for crowd, mine, _, rows in found:
            there = rows >= 0
            bare = there.copy()
            bare[there] = crowd._joints.reals[rows[there], at.MOTOR] == at.NO_MOTOR
            if bare.any():
                copy, joint = np.argwhere(bare)[0]
                handle, number = int(self._joint_handles[columns[joint]]), int(chosen[mine[copy]])
                raise InvalidInputError(
                    f"targets: joint {handle} of copy {number} has no motor; name the joints that have one, or set_motor first"
                )
        for crowd, mine, _, rows in found:
            there = rows >= 0
            changed = crowd._put_targets(rows[there], fresh[mine][there])
            crowd.resting[crowd.joint_copies()[changed]] = False

    def _whole_joints(self, targets: npt.ArrayLike, copies: int, joints: int) -> Floats:
        array = finite_array(targets, "targets")
        if array.ndim > 2 or any(
            have not in (1, want) for have, want in zip(array.shape[::-1], (joints, copies), strict=False)
        ):
            raise InvalidInputError(f"targets: expected shape ({copies}, {joints}), ({joints},) or (), got {array.shape}")
        return np.broadcast_to(array, (copies, joints))

    def set_motor(self, joints: npt.ArrayLike, motor: Motor | None, copies: npt.ArrayLike | None = None) -> None:
        """Drive one or more joints of copies by another motor, or by none."""
        chosen, columns = self._copies(copies), self._joint_columns(joints)
        reals = np.zeros(at.REALS)
        put_motor(reals, motor)
        if motor is not None and (self._world._joints.kind[columns, 0] == at.FIXED).any():
            raise InvalidInputError("joints: a fixed joint takes no motor")
        part = slice(at.MOTOR, at.MOTOR_DAMPING + 1)
        for crowd, _, own in self._split(chosen):
            rows = self._joint_table_rows(crowd, columns, own)
            flat = rows[rows >= 0]
            crowd._joints.reals[flat, part] = reals[part]
            crowd._joints.impulses[flat, at.DRIVEN] = 0.0
            crowd._wake_jointed(flat)
            crowd.resting[own] = False

    # Contacts

    @property
    def contact_hook(self) -> ContactHook | None:
        """`hook(contacts, generators)` is called in each step with the contacts that were found, before they are solved: of
        some copies at a time, of each once a step or part of it. It may write over `keep`, `normal`, `depth`, `friction`,
        `restitution` and `surface_velocity`; `contacts.copy` says whose each one is, and generators[k] is the random generator
        of copy k."""
        return self._hook

    @contact_hook.setter
    def contact_hook(self, hook: ContactHook | None) -> None:
        if hook is not None and not callable(hook):
            raise InvalidInputError(f"contact_hook: expected a function of contacts and generators, got {type(hook).__name__}")
        self._hook = hook
        called = None if hook is None else self._asked_alone(lambda contacts: hook(contacts, self.generators))
        for crowd in self._crowds:
            crowd.set_hook(called)

    def contacts(self, *, margin: float = 0.0, max_points: int = MANIFOLD_POINTS) -> BatchContacts:
        """Contact points of all copies as they are now, as `World.contacts` finds them. Steps and events do not notice."""
        margin, max_points = as_positive(margin, "margin", zero=True), as_max_points(max_points)
        parts, total = [], 0
        for crowd in self._crowds:
            crowd._begin("contacts")
            kept, crowd._records = crowd._records, ContactRecords()
            try:
                found = find_contacts(crowd, margin, max_points)
            finally:
                crowd._records = kept
            columns = {field.name: getattr(found, field.name) for field in fields(WorldContacts)}
            columns["copy"] = crowd.numbers[crowd.copy_of(found.handle_a)]
            columns["pair_copy"] = crowd.numbers[crowd.copy_of(found.pairs[:, 0])]
            for name in ("handle_a", "handle_b", "pairs", "rows"):
                columns[name] = crowd.local(columns[name])
            columns["start"] = columns["start"] + total
            total += len(found.depth)
            parts.append(columns)
        return BatchContacts(**_joined(parts))

    def step_contacts(self) -> BatchStepContacts:
        """The contacts of the last step, as they were solved, with the impulses that they gave."""
        parts = []
        for crowd in self._crowds:
            found = crowd._step_contacts
            columns = {field.name: getattr(found, field.name) for field in fields(StepContacts)}
            columns["copy"] = crowd.numbers[crowd.copy_of(found.handle_a)]
            columns["handle_a"], columns["handle_b"] = crowd.local(found.handle_a), crowd.local(found.handle_b)
            parts.append(columns)
        return BatchStepContacts(**_joined(parts))

    def events(self) -> BatchEvents:
        """Pairs of bodies that began to touch, still touch, or no longer do: the last step against the one before."""
        parts = []
        for crowd in self._crowds:
            found = events_between(crowd._records.touches_before, crowd._records.touches)
            columns = {name: getattr(found, name) for name in found.__dataclass_fields__}
            columns["copy"] = crowd.numbers[crowd.copy_of(found.handle_a)]
            columns["handle_a"], columns["handle_b"] = crowd.local(found.handle_a), crowd.local(found.handle_b)
            parts.append(columns)
        return BatchEvents(**_joined(parts))

    # Time

    def step(self, dt: float, substeps: int = 4) -> None:
        """Go on by dt seconds, each copy as `World.step` does it alone.

        Parameters
        ----------
        dt : seconds; 1/60 is usual
        substeps : how often the solver divides it: more are stiffer, and cost as much more
        """
        if isinstance(substeps, bool) or not isinstance(substeps, (int, np.integer)) or substeps < 1:
            raise InvalidInputError(f"substeps: expected a whole number of at least 1, got {substeps!r}")
        seconds = as_positive(dt, "dt")
        threads = min(len(self._crowds), core_count() if self._threads is None else self._threads)
        waiting = iter(self._crowds)

        def work() -> None:
            # `next` of a list's iterator is one step under the GIL, so that no crowd is taken twice.
            for crowd in waiting:
                step_crowd(crowd, seconds, int(substeps))

        if threads == 1:
            work()
            return
        with quick_turns():
            others = [executor(threads - 1).submit(work) for _ in range(threads - 1)]
            try:
                work()
            finally:
                for other in others:
                    other.result()

    def reset(self, indices: npt.ArrayLike | None = None, seeds: npt.ArrayLike | None = None) -> None:
        """Put copies, by default all, back to the world as it was when the batch was made, to the last bit.

        Parameters
        ----------
        indices : (M,) copies, or (N,) bools
        seeds : (M,) for the generators of these copies; None: they go on
        """
        copies = self._copies(indices)
        if seeds is not None:
            self._seed(copies, seeds)
        for crowd, _, own in self._split(copies):
            put(crowd, own, gather(self._first, np.zeros(len(own), np.int64)))

    def world(self, k: int) -> World:
        """A `World` equal to copy k: it goes on as the copy does, to the last bit. Hooks and generators are not in it."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise InvalidInputError(f"k: expected the number of a copy, got {k!r}")
        crowd, _, own = next(self._split(self._copies(k)))
        return world_of(crowd, int(own[0]), self._world)

    def state(self, copies: npt.ArrayLike | None = None) -> BatchState:
        """Copies, by default all, as they are now, with their generators, for `restore`."""
        chosen = self._copies(copies)
        pieces = [(mine, gather(crowd, own)) for crowd, mine, own in self._split(chosen)]
        return BatchState(self, pieces, [self.generators[k].bit_generator.state for k in chosen.tolist()])

    def restore(self, state: BatchState, copies: npt.ArrayLike | None = None) -> None:
        """Put the copies of a `state` of this batch, in their order, over as many copies, or one copy over any number of them;
        their generators go on as those of the kept ones would have."""
        chosen = self._copies(copies)
        if not isinstance(state, BatchState) or state._batch is not self:
            raise InvalidInputError("state: expected what WorldBatch.state gave, of this batch")
        if len(state) not in (1, len(chosen)):
            raise InvalidInputError(f"copies: expected as many as the state has, {len(state)}, got {len(chosen)}")
        one = len(state) == 1
        for places, kept in state._pieces:
            for crowd, mine, own in self._split(chosen if one else chosen[places]):
                put(crowd, own, gather(kept, np.zeros_like(mine) if one else mine))
        for k, stream in zip(chosen.tolist(), state._streams * len(chosen) if one else state._streams, strict=True):
            self.generators[k].bit_generator.state = stream

    def _seed(self, copies: Ints, seeds: npt.ArrayLike) -> None:
        given = np.atleast_1d(whole_array(seeds, "seeds"))
        if given.shape != (len(copies),):
            raise InvalidInputError(f"seeds: expected {len(copies)} whole numbers, one a copy, got shape {given.shape}")
        if (given < 0).any():
            row = int(np.argmax(given < 0))
            raise InvalidInputError(f"seeds: row {row} is {int(given[row])}; expected whole numbers of at least 0")
        if not self.generators:
            self.generators = [np.random.default_rng(seed) for seed in given.tolist()]
            return
        for k, seed in zip(copies.tolist(), given.tolist(), strict=True):
            self.generators[k] = np.random.default_rng(seed)
