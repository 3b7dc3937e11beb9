"""`WorldBatch`: many copies of one world, stepped together."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, finite_array, whole_array
from thud._core.threads import check_threads
from thud.constants import MANIFOLD_POINTS
from thud.dynamics import joint_types as at
from thud.dynamics.joints import Motor, put_motor
from thud.errors import InvalidInputError, ThudError, UnsupportedQueryError
from thud.gates import as_max_points, as_positive, as_vector
from thud.results import WorldContacts
from thud.rotations import quaternion_from_rotation
from thud.world.batch.batch_results import BatchContacts, BatchEvents, BatchStepContacts, step_contacts_of
from thud.world.batch.crowd import Crowd
from thud.world.batch.crowd_parts import gather, put, world_of
from thud.world.batch.crowd_step import step_crowd
from thud.world.contact_records import ContactRecords
from thud.world.events import events_between
from thud.world.find_contacts import find_contacts
from thud.world.world import World

#: `hook(contacts, generators)`: contacts of all copies, and a random generator for each copy.
ContactHook = Callable[[BatchStepContacts, list[np.random.Generator]], None]

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

    def __init__(self, crowd: Crowd, streams: list[dict[str, Any]]) -> None:
        self._crowd, self._streams = crowd, streams

    def __len__(self) -> int:
        return self._crowd.copies


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
        self._crowd = Crowd.of(self._world, int(copies))
        self._crowd.threads = self._world.threads if threads is None else threads
        self._first = Crowd.of(self._world, 1)
        self._hook: ContactHook | None = None
        self._rows = self._world._bodies.living()
        self._joint_handles = self._world.joints()
        self.generators: list[np.random.Generator] = []
        """A random generator for each copy, for hooks and whoever else draws."""
        self._seed(np.arange(len(self)), np.arange(len(self)) if seeds is None else seeds)

    def __len__(self) -> int:
        return self._crowd.copies

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

    def _where(self, copies: npt.ArrayLike | None, handles: npt.ArrayLike | None) -> tuple[Ints, Ints, Ints]:
        """(copies, rows within a copy, (M * K,) rows of the crowd)."""
        chosen, rows = self._copies(copies), self._local_rows(handles)
        return chosen, rows, (chosen[:, None] * self._crowd.size + rows).ravel()

    def _whole(self, value: npt.ArrayLike, name: str, copies: int, bodies: int, shape: tuple[int, ...]) -> Floats:
        """The gate of numbers: (copies * bodies, *shape) of one for all, one a body, or one a body of each copy."""
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
        return np.ascontiguousarray(found).reshape(copies * bodies, *shape)

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
        chosen, rows, flat = self._where(copies, handles)
        found = self._crowd._bodies.poses[flat]
        poses = np.concatenate([found[:, 9:], quaternion_from_rotation(found[:, :9].reshape(-1, 3, 3))], axis=1)
        return poses.reshape(len(chosen), len(rows), 7)

    def set_poses(
        self, poses: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Move bodies: (N, bodies, 7) [x y z qw qx qy qz], or (bodies, 7) for all copies; of some copies and bodies only,
        where they are named."""
        chosen, rows, flat = self._where(copies, handles)
        fresh = self._whole(poses, "poses", len(chosen), len(rows), (7,))
        with self._named(chosen, len(rows)):
            self._crowd.set_poses(self._crowd._bodies.handles(flat), fresh)

    def velocities(self, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(N, bodies, 3) m/s and (N, bodies, 3) rad/s, world frame."""
        chosen, rows, flat = self._where(copies, handles)
        shape = (len(chosen), len(rows), 3)
        return self._crowd._bodies.velocity[flat].reshape(shape), self._crowd._bodies.angular_velocity[flat].reshape(shape)

    def set_velocities(
        self,
        velocity: npt.ArrayLike,
        angular_velocity: npt.ArrayLike | None = None,
        copies: npt.ArrayLike | None = None,
        handles: npt.ArrayLike | None = None,
    ) -> None:
        """Velocities, (N, bodies, 3), (bodies, 3) or (3,) m/s, and rad/s unless None, world frame."""
        chosen, rows, flat = self._where(copies, handles)
        linear = self._whole(velocity, "velocity", len(chosen), len(rows), (3,))
        angular = None
        if angular_velocity is not None:
            angular = self._whole(angular_velocity, "angular_velocity", len(chosen), len(rows), (3,))
        with self._named(chosen, len(rows)):
            self._crowd.set_velocities(self._crowd._bodies.handles(flat), linear, angular)

    @property
    def time(self) -> Floats:
        """(N,) seconds that `step` has gone on by."""
        return self._crowd.times.copy()

    @property
    def gravity(self) -> Floats:
        """(3,) m / s^2, of all copies."""
        return self._crowd.gravity

    @gravity.setter
    def gravity(self, value: npt.ArrayLike) -> None:
        self._crowd.gravity = as_vector(value, "gravity")

    @property
    def threads(self) -> int | None:
        """How many are used; None for all cores."""
        return self._crowd.threads

    @threads.setter
    def threads(self, value: int | None) -> None:
        check_threads(value)
        self._crowd.threads = value

    def asleep(self) -> Bools:
        """(N, bodies) bodies that the last step left at rest and out of the next one, until something disturbs them."""
        return self._crowd.by_copy(self._crowd._bodies.asleep)[:, self._rows]

    def wake(self, copies: npt.ArrayLike | None = None) -> None:
        """Let all bodies of copies take part in the next step."""
        chosen, _, flat = self._where(copies, None)
        self._crowd._bodies.asleep[flat], self._crowd._bodies.calm[flat] = False, 0.0
        self._crowd.resting[chosen] = False

    @property
    def lost(self) -> Ints:
        """(K, 2) copy and handle of bodies that the last step would have moved beyond the limits of poses: they stay where they
        were, at rest."""
        lost = self._crowd.lost
        return np.stack([self._crowd.copy_of(lost), self._crowd.local(lost)], axis=1)

    # Masses and surfaces, which may differ from copy to copy

    def _column(self, name: str) -> Any:
        return self._crowd.by_copy(getattr(self._crowd._bodies, name))[:, self._rows]

    def _set_column(
        self, method: str, name: str, value: npt.ArrayLike, copies: npt.ArrayLike | None, handles: npt.ArrayLike | None
    ) -> None:
        chosen, rows, flat = self._where(copies, handles)
        fresh = self._whole(value, name, len(chosen), len(rows), ())
        with self._named(chosen, len(rows)):
            getattr(self._crowd, method)(self._crowd._bodies.handles(flat), fresh)

    def mass(self) -> Floats:
        """(N, bodies) kg; NaN where none is known."""
        return np.asarray(self._column("mass"))

    def set_mass(self, mass: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None) -> None:
        """Give bodies other masses, (N, bodies), (bodies,) or one, kg; as `World.set_mass`."""
        self._set_column("set_mass", "mass", mass, copies, handles)

    def friction(self) -> Floats:
        """(N, bodies) coefficients."""
        return np.asarray(self._column("friction"))

    def set_friction(
        self, friction: npt.ArrayLike, copies: npt.ArrayLike | None = None, handles: npt.ArrayLike | None = None
    ) -> None:
        """Give bodies other coefficients of friction, (N, bodies), (bodies,) or one."""
        self._set_column("set_friction", "friction", friction, copies, handles)

    def restitution(self) -> Floats:
        """(N, bodies) coefficients."""
        return np.asarray(self._column("restitution"))

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
        chosen, rows, flat = self._where(copies, handles)
        found = self._whole(value, name, len(chosen), len(rows), (3,))
        # Bodies that nothing pushes may have a 0 in the array.
        acts = np.flatnonzero(found.any(axis=1))
        given = {} if points is None else {"points": self._whole(points, "points", len(chosen), len(rows), (3,))[acts]}
        bodies = self._crowd._bodies
        wrong = (self._crowd.static(bodies.handles(flat[acts])) | bodies.kinematic[flat[acts]]).nonzero()[0]
        if len(wrong):
            copy, body = divmod(int(acts[wrong[0]]), len(rows))
            raise InvalidInputError(
                f"{name}: copy {int(chosen[copy])}, body {body}: acts on a static or kinematic body, which nothing pushes; "
                "expected 0"
            )
        getattr(self._crowd, method)(bodies.handles(flat[acts]), found[acts], **given)

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

    def _joint_places(self) -> tuple[Ints, Ints]:
        """(J,) copy and column of each joint that is there."""
        return self._crowd.joint_copies(), np.searchsorted(self._joint_handles, self._crowd._joints.handle)

    def _by_joint(self, column: Floats) -> Floats:
        """(N, joints, ...) of rows of joints; NaN of those that broke."""
        found = np.full((len(self), len(self._joint_handles), *column.shape[1:]), np.nan)
        found[self._joint_places()] = column
        return found

    def joint_values(self) -> Floats:
        """(N, joints) as of the last step: a hinge's angle, turns counted, and a ball's twist (radians), a slider's
        displacement, a distance (metres); 0 of a fixed joint; NaN of one that broke."""
        return self._by_joint(self._crowd._joints.value)

    def joint_loads(self) -> tuple[Floats, Floats]:
        """(N, joints, 3) force, N, and (N, joints, 3) torque about the joint's point, N m, of joints on their `body`: means
        over the last step, world frame; NaN of joints that broke."""
        found = self._by_joint(self._crowd._joints.load)
        return found[:, :, :3], found[:, :, 3:]

    @property
    def broken(self) -> Ints:
        """(K, 2) copy and handle of joints that broke in the last step."""
        return self._crowd.broken

    def _joint_table_rows(self, joints: npt.ArrayLike | None, copies: Ints) -> tuple[Ints, Ints]:
        """((M, K) rows of the crowd's joints, -1 for those that broke; columns of the joints named)."""
        columns = np.arange(len(self._joint_handles)) if joints is None else self._world._joints.rows(joints)
        table = np.full((len(self), len(self._joint_handles)), -1)
        table[self._joint_places()] = np.arange(len(self._crowd._joints))
        return table[copies][:, columns], columns

    def set_targets(
        self, targets: npt.ArrayLike, joints: npt.ArrayLike | None = None, copies: npt.ArrayLike | None = None
    ) -> None:
        """Give motors other targets: (N, joints), (joints,) or one speed or position, as the motors are. Joints that broke are
        passed over."""
        chosen = self._copies(copies)
        rows, columns = self._joint_table_rows(joints, chosen)
        fresh = self._whole_joints(targets, len(chosen), len(columns))
        there = rows >= 0
        bare = there & (self._crowd._joints.reals[np.where(there, rows, 0), at.MOTOR] == at.NO_MOTOR) if rows.size else there
        if bare.any():
            copy, joint = np.argwhere(bare)[0]
            raise InvalidInputError(
                f"targets: joint {int(self._joint_handles[columns[joint]])} of copy {int(chosen[copy])} has no motor; name the "
                "joints that have one, or set_motor first"
            )
        changed = self._crowd._put_targets(rows[there], fresh[there])
        self._crowd.resting[self._crowd.joint_copies()[changed]] = False

    def _whole_joints(self, targets: npt.ArrayLike, copies: int, joints: int) -> Floats:
        array = finite_array(targets, "targets")
        if array.ndim > 2 or any(
            have not in (1, want) for have, want in zip(array.shape[::-1], (joints, copies), strict=False)
        ):
            raise InvalidInputError(f"targets: expected shape ({copies}, {joints}), ({joints},) or (), got {array.shape}")
        return np.broadcast_to(array, (copies, joints))

    def set_motor(self, joints: npt.ArrayLike, motor: Motor | None, copies: npt.ArrayLike | None = None) -> None:
        """Drive one or more joints of copies by another motor, or by none."""
        chosen = self._copies(copies)
        rows, columns = self._joint_table_rows(joints, chosen)
        reals = np.zeros(at.REALS)
        put_motor(reals, motor)
        table = self._crowd._joints
        if motor is not None and (self._world._joints.kind[columns, 0] == at.FIXED).any():
            raise InvalidInputError("joints: a fixed joint takes no motor")
        flat = rows[rows >= 0]
        part = slice(at.MOTOR, at.MOTOR_DAMPING + 1)
        table.reals[flat, part] = reals[part]
        table.impulses[flat, at.DRIVEN] = 0.0
        self._crowd._wake_jointed(flat)
        self._crowd.resting[chosen] = False

    # Contacts

    @property
    def contact_hook(self) -> ContactHook | None:
        """`hook(contacts, generators)` is called in each step with the contacts that were found, before they are solved: all
        copies at once, or those that take part. It may write over `keep`, `normal`, `depth`, `friction`, `restitution` and
        `surface_velocity`; `contacts.copy` says whose each one is, and generators[k] is the random generator of copy k."""
        return self._hook

    @contact_hook.setter
    def contact_hook(self, hook: ContactHook | None) -> None:
        if hook is not None and not callable(hook):
            raise InvalidInputError(f"contact_hook: expected a function of contacts and generators, got {type(hook).__name__}")
        self._hook = hook
        self._crowd.set_hook(None if hook is None else lambda contacts: hook(contacts, self.generators))

    def contacts(self, *, margin: float = 0.0, max_points: int = MANIFOLD_POINTS) -> BatchContacts:
        """Contact points of all copies as they are now, as `World.contacts` finds them. Steps and events do not notice."""
        margin, max_points = as_positive(margin, "margin", zero=True), as_max_points(max_points)
        crowd = self._crowd
        crowd._begin("contacts")
        kept, crowd._records = crowd._records, ContactRecords()
        try:
            found = find_contacts(crowd, margin, max_points)
        finally:
            crowd._records = kept
        columns = {field.name: getattr(found, field.name) for field in fields(WorldContacts)}
        copy, pair_copy = crowd.copy_of(found.handle_a), crowd.copy_of(found.pairs[:, 0])
        for name in ("handle_a", "handle_b", "pairs", "rows"):
            columns[name] = crowd.local(columns[name])
        return BatchContacts(**columns, copy=copy, pair_copy=pair_copy)

    def step_contacts(self) -> BatchStepContacts:
        """The contacts of the last step, as they were solved, with the impulses that they gave."""
        found, crowd = self._crowd._step_contacts, self._crowd
        a, b = found.handle_a, found.handle_b
        return step_contacts_of(found, crowd.local(a), crowd.local(b), crowd.copy_of(a))

    def events(self) -> BatchEvents:
        """Pairs of bodies that began to touch, still touch, or no longer do: the last step against the one before."""
        records, crowd = self._crowd._records, self._crowd
        found = events_between(records.touches_before, records.touches)
        columns = {name: getattr(found, name) for name in found.__dataclass_fields__}
        copy = crowd.copy_of(found.handle_a)
        columns["handle_a"], columns["handle_b"] = crowd.local(found.handle_a), crowd.local(found.handle_b)
        return BatchEvents(**columns, copy=copy)

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
        step_crowd(self._crowd, as_positive(dt, "dt"), int(substeps))

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
        if len(copies):
            put(self._crowd, copies, gather(self._first, np.zeros(len(copies), np.int64)))

    def world(self, k: int) -> World:
        """A `World` equal to copy k: it goes on as the copy does, to the last bit. Hooks and generators are not in it."""
        if isinstance(k, bool) or not isinstance(k, (int, np.integer)):
            raise InvalidInputError(f"k: expected the number of a copy, got {k!r}")
        return world_of(self._crowd, int(self._copies(k)[0]), self._world)

    def state(self, copies: npt.ArrayLike | None = None) -> BatchState:
        """Copies, by default all, as they are now, with their generators, for `restore`."""
        chosen = self._copies(copies)
        return BatchState(gather(self._crowd, chosen), [self.generators[k].bit_generator.state for k in chosen.tolist()])

    def restore(self, state: BatchState, copies: npt.ArrayLike | None = None) -> None:
        """Put the copies of a `state` of this batch, in their order, over as many copies."""
        chosen = self._copies(copies)
        if not isinstance(state, BatchState) or state._crowd._shapes is not self._crowd._shapes:
            raise InvalidInputError("state: expected what WorldBatch.state gave, of this batch")
        if len(state) != len(chosen):
            raise InvalidInputError(f"copies: expected as many as the state has, {len(state)}, got {len(chosen)}")
        if len(chosen):
            put(self._crowd, chosen, state._crowd)
            for k, stream in zip(chosen.tolist(), state._streams, strict=True):
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
