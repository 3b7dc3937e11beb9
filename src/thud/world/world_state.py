"""A world as plain arrays and values, and back. Files of it: `thud.io`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud.broadphase.boxes import LAYER, STATIC
from thud.dynamics.solver_types import KEPT
from thud.errors import InvalidInputError
from thud.imagespace.options import ImageOptions
from thud.shapes.shape import Shape
from thud.world.body_gates import as_frictions, as_inertias, as_restitutions, refuse_rows
from thud.world.body_rows import ROW_MASK
from thud.world.contact_records import NO_POINTS, PointList
from thud.world.joint_state import JOINT_ARRAYS, check_joints, joints_of, put_joints
from thud.world.record_state import RECORD_ARRAYS, check_records, put_records, records_of
from thud.world.shape_state import check_rigid, flatten, unflatten
from thud.world.tolerances import SAVED_BODIES

if TYPE_CHECKING:
    from thud.world.world import World

VERSION = 5

#: Arrays of a state: type, and shape with -1 for "any number of rows". `used` rows where it says N.
N = -2
ARRAYS: dict[str, tuple[str, tuple[int, ...]]] = {
    "poses": ("<f8", (N, 12)),
    "velocity": ("<f8", (N, 3)),
    "angular_velocity": ("<f8", (N, 3)),
    "mass": ("<f8", (N,)),
    "inertia": ("<f8", (N, 3, 3)),
    "center_of_mass": ("<f8", (N, 3)),
    "friction": ("<f8", (N,)),
    "restitution": ("<f8", (N,)),
    "force": ("<f8", (N, 3)),
    "torque": ("<f8", (N, 3)),
    "damping": ("<f8", (N, 2)),
    "gravity_scale": ("<f8", (N,)),
    "turning_friction": ("<f8", (N, 2)),
    "surface_velocity": ("<f8", (N, 3)),
    "locked": ("<i8", (N,)),
    "held": ("<f8", (N, 3)),
    "calm": ("<f8", (N,)),
    "asleep": ("|b1", (N,)),
    "shape": ("<i8", (N,)),
    "rules": ("<u8", (N, 3)),
    "generation": ("<i8", (N,)),
    "alive": ("|b1", (N,)),
    "bullet": ("|b1", (N,)),
    "kinematic": ("|b1", (N,)),
    "sensor": ("|b1", (N,)),
    "enabled": ("|b1", (N,)),
    "free_rows": ("<i8", (-1,)),
    "free_shapes": ("<i8", (-1,)),
    "shape_roots": ("<i8", (-1,)),
    "shape_kinds": ("<i8", (-1,)),
    "shape_real_starts": ("<i8", (-1,)),
    "shape_int_starts": ("<i8", (-1,)),
    "shape_reals": ("<f8", (-1,)),
    "shape_ints": ("<i8", (-1,)),
    "contact_pairs": ("<i8", (-1, 2)),
    "contact_counts": ("<i8", (-1,)),
    "contact_feature": ("<i8", (-1,)),
    "contact_columns": ("<f8", (-1, KEPT)),
    **RECORD_ARRAYS,
    **JOINT_ARRAYS,
}

#: Columns of `Bodies` that are saved; its `bounds` are made anew, and all bodies count as moved.
COLUMNS = tuple(name for name, (_, shape) in ARRAYS.items() if shape[0] == N)

#: What an unused row holds.
_EMPTY = {"mass": np.nan, "inertia": np.nan, "center_of_mass": np.nan, "shape": -1, "gravity_scale": 1.0}

#: What else a state has.
VALUES = ("version", "options", "names", "meshes")


def state_of(world: World) -> dict[str, Any]:
    """See `World.state`."""
    bodies, shapes = world._bodies, world._shapes
    used = bodies.used
    state: dict[str, Any] = {
        "version": VERSION,
        "options": {
            "broadphase": world.broadphase,
            "midphase": world.midphase,
            "caches": bool(world.caches),
            "threads": world.threads,
            "gravity": world.gravity.tolist(),
            "friction_rule": world.friction_rule,
            "restitution_rule": world.restitution_rule,
            "bounce_threshold": world.bounce_threshold,
            "sleep_after": world.sleep_after,
            "time": world.time,
            "substep": world._substep,
            "next_joint": world._joints.next,
        }
        | ({} if world.image is None else {"image": asdict(world.image)}),
        "names": [[row, name] for row, name in sorted(bodies.names.items())],
        "free_rows": np.array(bodies.free, np.int64),
        "free_shapes": np.array(shapes.free_indices(), np.int64),
    }
    unused = ~bodies.alive[:used]
    for name in COLUMNS:
        column = getattr(bodies, name)[:used].copy()
        if name not in ("generation", "alive"):
            column[unused] = _EMPTY.get(name, 0)
        state[name] = column
    check_rigid(state["poses"][~unused], "poses")
    return state | _contacts_of(world) | records_of(world) | joints_of(world._joints) | flatten(shapes.shapes)


def _contacts_of(world: World) -> dict[str, Any]:
    """What the last step left of each point of contact: the next one starts from it."""
    records = world._records
    points = records.points if records.width == KEPT else NO_POINTS
    columns = records.columns if records.width == KEPT else np.empty((0, KEPT))
    return {
        "contact_pairs": points.pairs.copy(),
        "contact_counts": points.length.copy(),
        "contact_feature": points.feature.copy(),
        "contact_columns": columns.copy(),
    }


def _put_contacts(world: World, state: Mapping[str, Any]) -> None:
    """The other way."""
    counts = state["contact_counts"]
    if len(counts):
        starts = np.cumsum(counts) - counts
        world._records.points = PointList(state["contact_pairs"].copy(), starts, counts.copy(), state["contact_feature"].copy())
        world._records.width, world._records.columns = KEPT, state["contact_columns"].copy()


def _check_contacts(state: Mapping[str, Any]) -> None:
    pairs, counts, columns = state["contact_pairs"], state["contact_counts"], state["contact_columns"]
    if len(counts) != len(pairs) or (counts < 0).any() or (counts > len(columns)).any() or counts.sum() != len(columns):
        raise InvalidInputError("contact_counts: expected one a pair, and so many points in all")
    if len(state["contact_feature"]) != len(columns) or not np.isfinite(columns).all():
        raise InvalidInputError("contact_columns: expected finite numbers, a row a point")
    rows = pairs & ROW_MASK
    if (pairs < 0).any() or (np.diff(rows[:, 0] * 2**32 + rows[:, 1]) <= 0).any():
        raise InvalidInputError("contact_pairs: expected handles, sorted by their rows")


def restore(make: type[World], state: Mapping[str, Any], filter: Callable[..., Any] | None) -> World:  # noqa: A002
    """See `World.from_state`."""
    _check_layout(state)
    _check_bodies(state)
    _check_contacts(state)
    check_records(state)
    options = _checked_options(state["options"])
    time, substep, following = (options.pop(name) for name in ("time", "substep", "next_joint"))
    check_joints(state, state["alive"], state["generation"], following)
    shapes = unflatten(state)
    users = _users(state, len(shapes))
    _check_surfaces(state, shapes)
    alive, used = state["alive"], len(state["alive"])
    names = _checked_names(state["names"], alive)
    world = make(filter=filter, **options)
    bodies = world._bodies
    if used:
        bodies.take_rows(used)
    for name in COLUMNS:
        getattr(bodies, name)[:used] = state[name]
    bodies.shape[:used][~alive] = -1
    bodies.moved[:used], bodies.slept[:used] = alive, bodies.revision[:used]
    bodies.names, bodies.free = names, state["free_rows"].tolist()
    world._shapes.restore(shapes, users, state["free_shapes"].tolist())
    _put_contacts(world, state)
    put_records(world, state)
    put_joints(world._joints, state, following)
    world.time, world._substep, world._gravity_before = time, substep, world.gravity.copy()
    return world


def _check_layout(state: Mapping[str, Any]) -> None:
    """Every entry is there, every array of its type and shape."""
    if not isinstance(state, Mapping):
        raise InvalidInputError(f"state: expected what World.state() gives, got a {type(state).__name__}")
    version = state.get("version")
    if type(version) is not int or version != VERSION:
        raise InvalidInputError(f"version {version!r}: this thud reads version {VERSION}")
    missing = [name for name in (*VALUES, *ARRAYS) if name not in state]
    if missing or len(state) != len(VALUES) + len(ARRAYS):
        unknown = sorted(str(name) for name in set(state) - {*VALUES, *ARRAYS})
        raise InvalidInputError(f"state: {missing or 'nothing'} is missing and {unknown or 'nothing'} is unknown")
    used = len(state["alive"]) if np.ndim(state["alive"]) == 1 else 0
    if used > SAVED_BODIES:
        raise InvalidInputError(f"alive: expected at most {SAVED_BODIES} rows, got {used}")
    for name, (kind, shape) in ARRAYS.items():
        array = state[name]
        expected = tuple(used if side == N else side for side in shape)
        if not isinstance(array, np.ndarray) or array.dtype != np.dtype(kind):
            raise InvalidInputError(f"{name}: expected an array of {kind}, got {getattr(array, 'dtype', type(array).__name__)}")
        if array.ndim != len(shape) or any(want not in (-1, have) for want, have in zip(expected, array.shape, strict=True)):
            raise InvalidInputError(f"{name}: expected shape {expected}, got {array.shape}")


def _check_bodies(state: Mapping[str, Any]) -> None:
    alive, generation = state["alive"], state["generation"]
    if any((state[name].view(np.uint8) > 1).any() for name in ("alive", "bullet", "kinematic", "sensor", "enabled", "asleep")):
        raise InvalidInputError("alive, bullet, kinematic, sensor, enabled, asleep: expected bytes 0 and 1")
    if ((generation < 1) | (generation >= 2**31)).any():
        raise InvalidInputError("generation: expected numbers from 1 to 2**31 - 1")
    if not np.array_equal(np.sort(state["free_rows"]), np.flatnonzero(~alive)):
        raise InvalidInputError("free_rows: expected each row that is not alive once")
    check_rigid(state["poses"][alive], "poses")
    for name in ("velocity", "angular_velocity"):
        if not np.isfinite(state[name][alive]).all():
            raise InvalidInputError(f"{name}: expected finite numbers")
    mass = state["mass"][alive]
    if not (np.isnan(mass) | ((mass > 0.0) & np.isfinite(mass))).all():
        raise InvalidInputError("mass: expected positive numbers, or NaN for none")
    _check_physics(state, alive, mass)
    rules = state["rules"][alive]
    layer = rules[:, LAYER]
    if ((layer == 0) | (layer & (layer - np.uint64(1)) != 0)).any() or (rules[:, STATIC] > 1).any():
        raise InvalidInputError("rules: expected one bit for the layer and 0 or 1 for static")
    refuse_rows(state["kinematic"][alive] & (rules[:, STATIC] == 1), "kinematic", "is static too; expected one of the two")


def _check_physics(state: Mapping[str, Any], alive: npt.NDArray[np.bool_], mass: npt.NDArray[np.float64]) -> None:
    """What a simulation needs; moments of inertia and centres may be unknown, NaN."""
    inertia, center = state["inertia"][alive], state["center_of_mass"][alive]
    none = np.isnan(inertia).all(axis=(1, 2))
    refuse_rows(np.isnan(mass) & ~none, "inertia", "is of a body without mass; expected NaN")
    as_inertias(inertia[~none], int((~none).sum()))
    known, unknown = np.isfinite(center).all(axis=1), np.isnan(center).all(axis=1)
    refuse_rows(~(known | unknown), "center_of_mass", "is neither finite nor all NaN")
    as_frictions(state["friction"][alive], int(alive.sum()))
    as_restitutions(state["restitution"][alive], int(alive.sum()))
    if ((state["locked"] < 0) | (state["locked"] > 63)).any():
        raise InvalidInputError("locked: expected bits from 0 to 63")
    for name in ("force", "torque", "damping", "gravity_scale", "calm", "turning_friction", "surface_velocity", "held"):
        least = 0.0 if name in ("damping", "calm", "turning_friction") else -np.inf
        if not np.isfinite(state[name][alive]).all() or (state[name][alive] < least).any():
            raise InvalidInputError(f"{name}: expected finite numbers" + (" of at least 0" if least == 0.0 else ""))


def _checked_options(options: Any) -> dict[str, Any]:
    """Types only: the world looks at the rest itself."""
    types: dict[str, tuple[type, ...]] = {
        "broadphase": (str,),
        "midphase": (str,),
        "caches": (bool,),
        "threads": (int, type(None)),
        "gravity": (list,),
        "friction_rule": (str,),
        "restitution_rule": (str,),
        "bounce_threshold": (float,),
        "sleep_after": (float, type(None)),
        "time": (float,),
        "substep": (float,),
        "next_joint": (int,),
    }
    if isinstance(options, dict) and "image" in options:
        # Only where the mid phase is "image".
        options = dict(options)
        image = _checked_image(options.pop("image"))
        return _checked_options(options) | {"image": image}
    if not isinstance(options, dict) or set(options) != set(types):
        raise InvalidInputError(f"options: expected {', '.join(types)}")
    for name, allowed in types.items():
        if type(options[name]) not in allowed:
            raise InvalidInputError(f"{name}: expected {' or '.join(t.__name__ for t in allowed)}, got {options[name]!r}")
    if options["threads"] is not None and options["threads"] < 1:
        raise InvalidInputError(f"threads: expected at least 1, got {options['threads']}")
    if [type(value) for value in options["gravity"]] != [float] * 3 or not np.isfinite(options["time"]):
        raise InvalidInputError("gravity, time: expected three numbers, and a finite one")
    if not 0.0 <= options["substep"] < np.inf or options["next_joint"] < 0:
        raise InvalidInputError("substep, next_joint: expected numbers of at least 0")
    return dict(options)


def _checked_image(given: Any) -> ImageOptions:
    """The values themselves are looked at when they are put together."""
    names = {field.name for field in fields(ImageOptions)}
    if not isinstance(given, dict) or set(given) != names:
        raise InvalidInputError(f"image: expected {', '.join(sorted(names))}")
    return ImageOptions(**given)


def _checked_names(names: Any, alive: npt.NDArray[np.bool_]) -> dict[int, str]:
    found: dict[int, str] = {}
    entries: list[Any] = names if isinstance(names, list) else [names]
    for entry in entries:
        row, name = entry if isinstance(entry, list) and len(entry) == 2 else (-1, None)
        if type(row) is not int or not 0 <= row < len(alive) or not alive[row] or row in found or type(name) is not str:
            raise InvalidInputError("names: expected a list of [row, name], each row one of a body that is there")
        found[row] = name
    return found


def _check_surfaces(state: Mapping[str, Any], shapes: list[Shape | None]) -> None:
    """Displaced surfaces and fields without end are static, without mass and velocity."""
    surfaces = [index for index, shape in enumerate(shapes) if shape is not None and shape.is_ground]
    rows = state["alive"] & np.isin(state["shape"], surfaces)
    flags = state["bullet"][rows].any() or state["kinematic"][rows].any()
    moves = state["velocity"][rows].any() or state["angular_velocity"][rows].any() or flags
    if moves or not np.isnan(state["mass"][rows]).all() or not (state["rules"][rows, STATIC] == 1).all():
        raise InvalidInputError(
            "shape: a DisplacedSurface or HeightField without end of a body that is not static, or has a mass or a velocity"
        )


def _users(state: Mapping[str, Any], shapes: int) -> list[int]:
    """How many bodies have each shape."""
    used = state["shape"][state["alive"]]
    if ((used < 0) | (used >= shapes)).any():
        raise InvalidInputError(f"shape: expected numbers from 0 to {shapes - 1}")
    users = np.bincount(used, minlength=shapes)
    there = state["shape_roots"] >= 0
    if not np.array_equal(there, users > 0):
        raise InvalidInputError("shape_roots: expected a shape exactly where a body has it")
    if not np.array_equal(np.sort(state["free_shapes"]), np.flatnonzero(~there)):
        raise InvalidInputError("free_shapes: expected each index without a shape once")
    return users.tolist()
