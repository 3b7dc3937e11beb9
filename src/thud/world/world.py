"""`World`: what a simulation or a planner holds."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, check_finite
from thud._core.threads import check_threads, run_rows
from thud.broadphase.boxes import LAYER, MASK, STATIC, Boxes, as_boxes, as_rules
from thud.broadphase.choose import broad_phase
from thud.bvh.morton_tree import boxes_in_tree
from thud.constants import FARTHEST_POSE, MANIFOLD_POINTS
from thud.errors import InvalidInputError
from thud.gates import (
    as_directions,
    as_flag,
    as_flags,
    as_max_points,
    as_points,
    as_poses,
    as_positive,
    as_reach,
    as_reaches,
    broadcast_rows,
    one_or,
    unit,
)
from thud.imagespace.options import ImageOptions
from thud.pairing.families import as_shape, as_shapes
from thud.pairing.motions import as_motion
from thud.pose import PoseLike
from thud.results import (
    WorldCasts,
    WorldClosestPoints,
    WorldContacts,
    WorldDistances,
    WorldEvents,
    WorldImpacts,
    WorldRayCrossings,
    WorldRayHits,
)
from thud.rotations import quaternion_from_rotation
from thud.shapes.mass_properties import own_moments
from thud.shapes.shape import Shape
from thud.world import narrow, shape_queries
from thud.world.bodies import Bodies
from thud.world.body_boxes import body_boxes, grown_boxes, swept_boxes
from thud.world.body_gates import (
    FRICTION,
    RESTITUTION,
    Physics,
    as_mask,
    as_physics,
    as_velocities,
    as_velocity,
    each,
    refuse_moving_surface,
)
from thud.world.contact_records import ContactRecords
from thud.world.events import events_between
from thud.world.find_contacts import find_contacts
from thud.world.mesh_caches import MeshCaches
from thud.world.near import NearBodies, near_bodies
from thud.world.pair_axes import PairAxes
from thud.world.physics import WorldPhysics
from thud.world.rays import BodyTree, first_hits
from thud.world.shape_queries import Asked
from thud.world.shape_set import ShapeSet
from thud.world.stats import WorldStats

Filter = Callable[[Ints, Ints], npt.ArrayLike]

MIDPHASES = ("auto", "none", "hull", "spm", "image")

#: Most pairs that `distances` looks at with no limit of distance.
_ALL_PAIRS = 2_000_000


class World(WorldPhysics):
    """Thousands of shapes that move.

    Parameters
    ----------
    broadphase : "auto", "brute", "sap", "grid", "tree", "octree" or "bsp": the same pairs at different speeds
    midphase : for pairs with meshes: "hull" (their convex hulls by GJK), "spm" (two meshes: support planes of [Vogiannou] on
        the first seven levels of their trees, in one batch; others as "hull"), "image" (closed meshes that change shape: only
        those seen to overlap in images go on, so that an overlap smaller than a pixel may be missed, but no mesh in the place
        of another or inside it; others as "hull", but with boxes), or "none". "auto" takes "hull", but boxes of `deformed`
        meshes: a hull for one frame costs more than it saves. It never takes "image": refitted trees are about as fast, and
        miss nothing; nor "spm", which gains less than a fifth.
    image : for "image": resolution, views, layers, precision, backend
    filter : `filter(handles_a, handles_b)` gives (M,) bool, which pairs of those whose boxes overlap to keep
    caches : keep axes, contacts and fronts from frame to frame; the answers are the same without
    threads : how many to use; default all cores
    gravity : (3,) m / s^2, of `step`
    friction_rule, restitution_rule : how the coefficients of two bodies become that of their contact: "geometric" mean,
        "average", "minimum", "maximum" or "product"
    bounce_threshold : m/s; slower impacts do not bounce. Default: 1
    sleep_after : seconds; bodies that have been slow for so long, with all that they touch, are left out of `step` until
        something disturbs them. None: never

    A handle is a whole number that names a body for good: once the body is removed, the handle is stale, and using it is a
    `StaleHandleError`. Static bodies never meet static bodies. Ground (a `Terrain`, a `DisplacedSurface`, a `HeightField`
    without a thickness, or a compound that holds one) is always static.
    """

    def __init__(
        self,
        broadphase: str = "auto",
        midphase: str = "auto",
        *,
        image: ImageOptions | None = None,
        filter: Filter | None = None,  # noqa: A002
        caches: bool = True,
        threads: int | None = None,
        gravity: npt.ArrayLike = (0.0, 0.0, -9.81),
        friction_rule: str = "geometric",
        restitution_rule: str = "maximum",
        bounce_threshold: float | None = None,
        sleep_after: float | None = 0.5,
    ) -> None:
        self._begin_joints()
        self._begin_physics(gravity, friction_rule, restitution_rule, bounce_threshold, sleep_after)
        if not isinstance(midphase, str) or midphase not in MIDPHASES:
            raise InvalidInputError(f"midphase: expected one of {', '.join(MIDPHASES)}, got {midphase!r}")
        if filter is not None and not callable(filter):
            raise InvalidInputError(f"filter: expected a function of two arrays of handles, got a {type(filter).__name__}")
        caches = as_flag(caches, "caches")
        check_threads(threads)
        if image is not None and (midphase != "image" or not isinstance(image, ImageOptions)):
            raise InvalidInputError("image: expected thud.imagespace.ImageOptions, together with midphase='image'")
        self.image = ImageOptions() if midphase == "image" and image is None else image
        self.broadphase, self.midphase, self.threads = broadphase, midphase, threads
        self.filter = filter
        self.caches = caches
        self.stats = WorldStats()
        self._bodies, self._shapes = Bodies(), ShapeSet({"image": "box", "auto": "auto"}.get(midphase, "hull"))
        self._phase, self._near_phase, self._swept_phase = (broad_phase(broadphase) for _ in range(3))
        self._axes = PairAxes() if caches else None
        self._mesh_caches = MeshCaches() if caches else None
        self._records = ContactRecords()
        self._tree: BodyTree | None = None
        self._rules: npt.NDArray[np.uint64] | None = None

    def __len__(self) -> int:
        return self._bodies.used - len(self._bodies.free)

    def __repr__(self) -> str:
        return f"World({len(self)} bodies, broadphase={self.broadphase!r}, midphase={self.midphase!r})"

    # Bodies

    def add(
        self,
        shape: Shape,
        pose: PoseLike = None,
        *,
        name: str | None = None,
        static: bool | None = None,
        mass: float | None = None,
        layer: int = 0,
        mask: int = ~0,
        velocity: npt.ArrayLike | None = None,
        angular_velocity: npt.ArrayLike | None = None,
        bullet: bool = False,
        kinematic: bool = False,
        friction: float = FRICTION,
        restitution: float = RESTITUTION,
        density: float | None = None,
        inertia: npt.ArrayLike | None = None,
        center_of_mass: npt.ArrayLike | None = None,
        sensor: bool = False,
    ) -> int:
        """Put a body in; returns its handle.

        Parameters
        ----------
        shape : any shape; equal ones are stored once
        pose : one pose, world frame
        name : for reports; need not be unique
        static : never meets another static body. Default: False, but True for a `Terrain`, a `DisplacedSurface` and a
            `HeightField` without a thickness, which can be nothing else and take no mass, velocity or bullet
        mass : kg; moments of inertia and centre of mass are then those of the shape with uniform density, of an open mesh
            those of a thin shell
        layer, mask : the body's layer, 0 to 63, and the bits of the layers that it meets; both bodies must agree
        velocity, angular_velocity : (3,) m/s and rad/s, world frame; what `impacts` moves it by
        bullet : so fast and small that its impacts are found by a ray cast from its origin
        kinematic : moves by its velocity whatever pushes it; not together with static
        friction, restitution : coefficients, at least 0 and 0 to 1
        density : kg / m^3, instead of a mass: `thud.mass_properties` has mass, centre and moments of inertia
        inertia : (3, 3), or (3,) along the body's axes: moments of inertia about the centre of mass, kg m^2, instead of the
            shape's
        center_of_mass : (3,) in the body's frame, metres, instead of the shape's
        sensor : it reports its contacts, marked as such, and never responds
        """
        row_pose = as_poses(pose, "pose")
        if len(row_pose) != 1:
            raise InvalidInputError(f"pose: expected one pose, got {len(row_pose)}")
        if isinstance(layer, bool) or not isinstance(layer, (int, np.integer)) or not 0 <= layer < 64:
            raise InvalidInputError(f"layer: expected a whole number from 0 to 63, got {layer!r}")
        mask = as_mask(mask)
        static, bullet = None if static is None else as_flag(static, "static"), as_flag(bullet, "bullet")
        sensor = as_flag(sensor, "sensor")
        if mass is not None:
            mass = as_positive(mass, "mass")
        linear = as_velocity(velocity, "velocity")
        angular = as_velocity(angular_velocity, "angular_velocity")
        if as_shape(shape, "shape").is_ground:
            static = True if static is None else static
            moves = bool(linear.any() or angular.any())
            refuse_moving_surface(static, mass is not None, moves, bullet, kinematic=as_flag(kinematic, "kinematic"))
        physics = _PLAIN
        told = not (density is None and inertia is None and center_of_mass is None)
        if not told and kinematic is False and friction is FRICTION and restitution is RESTITUTION:
            if mass is not None:
                center, unit_inertia = own_moments(shape)
                physics = Physics(mass=mass, inertia=unit_inertia * mass, center_of_mass=center)
        else:
            physics = as_physics(
                (shape,), 1, np.array([bool(static)]), kinematic=as_flag(kinematic, "kinematic"), mass=mass, density=density,
                inertia=inertia, center_of_mass=center_of_mass, friction=friction, restitution=restitution, one=True,
            )  # fmt: skip
        index = self._shapes.add(shape)
        bodies = self._bodies
        row = bodies.take_row()
        bodies.poses[row], bodies.shape[row] = row_pose[0], index
        bodies.velocity[row], bodies.angular_velocity[row] = linear, angular
        bodies.bullet[row], bodies.sensor[row] = bullet, sensor
        bodies.put_physics(slice(row, row + 1), physics)
        bodies.rules[row, LAYER], bodies.rules[row, STATIC] = 1 << int(layer), int(bool(static))
        bodies.rules[row, MASK] = int(mask) & (2**64 - 1)
        if name is not None:
            bodies.names[row] = str(name)
        self._rules = None
        return int(bodies.handles(np.array([row]))[0])

    def add_many(
        self,
        shapes: Shape | Sequence[Shape],
        poses: PoseLike = None,
        *,
        names: Sequence[str | None] | None = None,
        static: npt.ArrayLike | None = None,
        mass: npt.ArrayLike | None = None,
        layer: npt.ArrayLike = 0,
        mask: npt.ArrayLike = ~0,
        velocity: npt.ArrayLike | None = None,
        angular_velocity: npt.ArrayLike | None = None,
        bullet: npt.ArrayLike = False,
        kinematic: npt.ArrayLike = False,
        friction: npt.ArrayLike = FRICTION,
        restitution: npt.ArrayLike = RESTITUTION,
        density: npt.ArrayLike | None = None,
        inertia: npt.ArrayLike | None = None,
        center_of_mass: npt.ArrayLike | None = None,
        sensor: npt.ArrayLike = False,
    ) -> Ints:
        """Put N bodies in; returns their (N,) handles, the same as from N calls of `add`, many times faster.

        Each argument is as for `add`, one for all or one a body; `names` one a body; `inertia` (N, 3), (N, 3, 3) or (1, 3, 3).
        """
        given = (shapes,) if isinstance(shapes, Shape) else as_shapes(shapes, "shapes")
        rows_pose = as_poses(poses, "poses")
        count = len(rows_pose) if len(given) == 1 else len(given)
        if not given or len(rows_pose) not in (1, count):
            raise InvalidInputError(f"shapes, poses: expected equal numbers or one, got {len(given)} and {len(rows_pose)}")
        if names is not None and (isinstance(names, str) or not isinstance(names, Sequence) or len(names) != count):
            raise InvalidInputError(f"names: expected a list of {count} names, got {names!r}")
        is_ground = np.broadcast_to([shape.is_ground for shape in given], (count,))
        still = is_ground if static is None else each(as_flags(static, "static"), count, "static")
        rules = as_rules(count, still, each(layer, count, "layer"), each(mask, count, "mask"))
        linear, angular = (
            np.zeros((count, 3)) if value is None else each(as_velocities(value, name), count, name, 2)
            for value, name in ((velocity, "velocity"), (angular_velocity, "angular_velocity"))
        )
        bullets = each(as_flags(bullet, "bullet"), count, "bullet")
        sensors = each(as_flags(sensor, "sensor"), count, "sensor")
        own = each(as_flags(kinematic, "kinematic"), count, "kinematic")
        for row in np.flatnonzero(is_ground).tolist():
            moves = linear[row].any() or angular[row].any()
            given_to = (bool(still[row]), mass is not None, moves, bool(bullets[row]))
            refuse_moving_surface(*given_to, f"row {row}", kinematic=bool(own[row]))
        physics = as_physics(
            given, count, still, kinematic=own, mass=mass, density=density, inertia=inertia, center_of_mass=center_of_mass,
            friction=friction, restitution=restitution,
        )  # fmt: skip
        bodies = self._bodies
        index = self._shapes.add_many(given, count)
        rows = bodies.take_rows(count)
        bodies.poses[rows], bodies.shape[rows] = rows_pose, index
        bodies.velocity[rows], bodies.angular_velocity[rows] = linear, angular
        bodies.bullet[rows], bodies.sensor[rows], bodies.rules[rows] = bullets, sensors, rules
        bodies.put_physics(rows, physics)
        if names is not None:
            bodies.names |= {row: str(name) for row, name in zip(rows.tolist(), names, strict=True) if name is not None}
        self._rules = None
        return bodies.handles(rows)

    def remove(self, handle: npt.ArrayLike) -> None:
        """Take one or N bodies out; their handles are stale from now on."""
        rows = self._bodies.rows(handle, "handle")
        if len(np.unique(rows)) != len(rows):
            raise InvalidInputError("handle: the same body is named twice")
        indices, users = np.unique(self._bodies.shape[rows], return_counts=True)
        for index, count in zip(indices.tolist(), users.tolist(), strict=True):
            self._shapes.release(index, count)
        self._disturb(rows)
        if len(self._joints):
            self._joints.release(self._bodies.handles(rows))
            self._joints_changed()
        self._bodies.release_rows(rows)
        self._rules = self._tree = None

    def handles(self) -> Ints:
        """(N,) handles of all bodies, by their rows."""
        return self._bodies.handles(self._bodies.living())

    def index(self, handles: npt.ArrayLike) -> Ints:
        """(N,) rows of the handles, as `pairs` has them."""
        return self._bodies.rows(handles)

    def handle_of(self, indices: npt.ArrayLike) -> Ints:
        """Handles of rows of living bodies, of any shape: `world.handle_of(world.pairs())`."""
        return self._bodies.handles(self._bodies.living_rows(indices, "indices"))

    def name(self, handle: int) -> str | None:
        """The body's name; None if it has none, and for -1, the handle of nobody (a ray that misses)."""
        if isinstance(handle, (int, np.integer)) and handle == -1:
            return None
        return self._bodies.names.get(self._bodies.one_row(handle))

    def find(self, name: str) -> Ints:
        """(N,) handles of the bodies of that name, by their rows; none if nobody has it."""
        if not isinstance(name, str):
            raise InvalidInputError(f"name: expected a string, got a {type(name).__name__}")
        rows = sorted(row for row, own in self._bodies.names.items() if own == name)
        return self._bodies.handles(np.array(rows, dtype=np.int64))

    def shape(self, handle: int) -> Shape:
        """The body's shape."""
        return self._shapes.shape(int(self._bodies.shape[self._bodies.one_row(handle)]))

    def set_shape(self, handle: int, shape: Shape) -> None:
        """Give a body another shape, such as `mesh.deformed(vertices)`. Its mass, centre of mass and moments of inertia stay as
        they are."""
        row = self._bodies.one_row(handle)
        bodies = self._bodies
        if as_shape(shape, "shape").is_ground:
            moves = bodies.velocity[row].any() or bodies.angular_velocity[row].any()
            has = (bool(bodies.rules[row, STATIC]), not np.isnan(bodies.mass[row]), moves, bool(bodies.bullet[row]))
            refuse_moving_surface(*has, "handle", kinematic=bool(bodies.kinematic[row]))
        index = self._shapes.add(shape)
        self._shapes.release(int(bodies.shape[row]))
        bodies.reshape(row, index)

    def set_poses(self, handles: npt.ArrayLike, poses: PoseLike) -> None:
        """Move bodies: N handles and one or N poses."""
        rows, fresh = self._bodies.rows(handles), as_poses(poses, "poses")
        if len(fresh) not in (1, len(rows)):
            raise InvalidInputError(f"poses: expected {one_or(len(rows), 'poses')}, got {len(fresh)}")
        self._bodies.place(rows, fresh)

    def poses(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N, 7) poses [x y z qw qx qy qz] of some or all bodies (in the order of `handles()`): what `set_poses`, every query
        and `Pose.from_array` take."""
        rows = self._bodies.living() if handles is None else self._bodies.rows(handles)
        found = self._bodies.poses[rows]
        return np.concatenate([found[:, 9:], quaternion_from_rotation(found[:, :9].reshape(-1, 3, 3))], axis=1)

    def set_enabled(self, handles: npt.ArrayLike, flags: npt.ArrayLike) -> None:
        """Switch bodies off and on: one or N bools. A disabled body takes part in nothing and keeps its handle."""
        rows = self._bodies.rows(handles)
        self._disturb(rows)
        self._bodies.enable(rows, each(as_flags(flags, "flags"), len(rows), "flags"))

    def enabled(self, handles: npt.ArrayLike | None = None) -> npt.NDArray[np.bool_]:
        """(N,) which of some or all bodies are switched on."""
        return self._bodies.enabled[self._bodies.living() if handles is None else self._bodies.rows(handles)]

    def bounds(self, handles: npt.ArrayLike | None = None, *, swept: float = 0.0) -> tuple[Floats, Floats]:
        """Lower and upper corners (N, 3) of the boxes of some or all bodies, world frame; inf and -inf of disabled ones.

        swept : seconds; the boxes then hold all that the bodies sweep in that time by their velocities, as in `impacts`
        """
        swept = as_positive(swept, "swept", zero=True)
        rows = self._bodies.living() if handles is None else self._bodies.rows(handles)
        self._update()
        bounds = self._bodies.bounds if swept == 0.0 else self._swept_bounds(swept)
        return bounds[rows, :3], bounds[rows, 3:]

    # Saving (to a file: `thud.io.save_world`)

    def state(self) -> dict[str, Any]:
        """All that makes this world, but for its filter and its caches: arrays, and values that JSON has.

        A world made of it by `from_state` gives the same answers to the last bit, knows the same handles and will give out the
        same ones.
        """
        from thud.world.world_state import state_of

        return state_of(self)

    @classmethod
    def from_state(cls, state: Mapping[str, Any], *, filter: Filter | None = None) -> World:  # noqa: A002
        """The world of a `state()`; whatever is wrong with it is an `InvalidInputError`."""
        from thud.world.world_state import restore

        return restore(cls, state, filter)

    # Phases

    def _begin(self, query: str) -> WorldStats:
        self.stats = WorldStats(query=query, bodies=len(self))
        return self.stats

    def _update(self) -> None:
        """Boxes of the bodies that moved."""
        bodies = self._bodies
        rows = np.flatnonzero(bodies.moved[: bodies.used])
        if not len(rows):
            return
        with self.stats.phase("boxes"):
            packed, shape_rows = self._shapes.packed()
            run_rows(body_boxes, len(rows), self.threads, packed, shape_rows, bodies.shape, bodies.poses, rows, bodies.bounds)
            bodies.hide(rows)
            bodies.moved[rows] = False
        bodies.clock += 1
        self._tree = None
        self.stats.boxes_updated += len(rows)

    def _current_rules(self) -> npt.NDArray[np.uint64]:
        """The rules of all rows; the same object until they change, so that broad phases know."""
        if self._rules is None:
            rules = self._bodies.rules[: self._bodies.used]
            alive = self._bodies.alive[: self._bodies.used]
            everyone = (rules[alive, MASK] == 2**64 - 1).all() and not rules[alive, STATIC].any()
            self._rules = np.empty((0, 3), np.uint64) if everyone else rules.copy()
        return self._rules

    def _boxes(self) -> Boxes:
        """Boxes of all rows as they are now; a copy, which broad phases keep."""
        self._update()
        return Boxes(self._bodies.bounds[: self._bodies.used].copy(), self._current_rules())

    def _filtered(self, pairs: Ints) -> Ints:
        """What joints and the user's filter let through."""
        collide = self._collide(pairs)
        if collide is not None and not collide.all():
            pairs = np.ascontiguousarray(pairs[collide])
        if self.filter is None or not len(pairs):
            return pairs
        keep = np.asarray(self.filter(self._bodies.handles(pairs[:, 0]), self._bodies.handles(pairs[:, 1])))
        if keep.shape != (len(pairs),) or keep.dtype != np.bool_:
            raise InvalidInputError(
                f"filter: expected it to return ({len(pairs)},) bool, got {keep.dtype} of shape {keep.shape}"
            )
        return np.ascontiguousarray(pairs[keep])

    def _scene(self) -> narrow.Scene:
        packed, shape_rows = self._shapes.packed()
        assert packed is not None
        used = self._bodies.used
        return narrow.Scene(
            self._shapes, packed, shape_rows, self._bodies.shape[:used], self._bodies.poses[:used], self.threads, self.stats,
            self.image,
        )  # fmt: skip

    def _broad_pairs(self) -> Ints:
        boxes = self._boxes()
        with self.stats.phase("broad"):
            found = self._filtered(self._phase.pairs(boxes, threads=self.threads))
        self.stats.broad_pairs = len(found)
        return found

    def _swept_pairs(self, bounds: Floats) -> Ints:
        """(M, 2) rows whose boxes, (used, 6) of what they sweep, overlap."""
        return self._filtered(self._swept_phase.pairs(Boxes(bounds, self._current_rules()), threads=self.threads))

    def _copies_of(self, rows: Ints) -> Ints:
        """Which copy of a world rows are of: a world that is alone is one."""
        return np.zeros(len(rows), np.int64)

    def _in_copies_of(self, rows: Ints) -> Bools:
        """(used,) rows of the copies that some rows are of."""
        return np.ones(self._bodies.used, np.bool_)

    def _with_sleepers(self) -> Bools:
        """(used,) rows of worlds in which a body sleeps: a world that is alone is one."""
        return np.full(self._bodies.used, self._bodies.asleep[: self._bodies.used].any())

    # Queries

    def pairs(self) -> Ints:
        """The broad phase: (M, 2) rows of bodies whose boxes overlap and that the rules and the filter let meet, sorted."""
        self._begin("pairs")
        return self._broad_pairs()

    def intersecting(self) -> Ints:
        """(M, 2) handles of the pairs of bodies that meet, sorted by their rows. Touching counts; so does what is undecided."""
        self._begin("intersecting")
        found = self._broad_pairs()
        if len(found):
            found = found[narrow.meeting(self._scene(), found, self._axes, self._mesh_caches, self.midphase)]
        return self._bodies.handles(found)

    def contacts(self, *, margin: float = 0.0, max_points: int = MANIFOLD_POINTS) -> WorldContacts:
        """Contact points of all bodies that meet.

        Parameters
        ----------
        margin : metres; also points of bodies that are apart by no more, with negative depth
        max_points : most points of a contact patch
        """
        margin, max_points = as_positive(margin, "margin", zero=True), as_max_points(max_points)
        self._begin("contacts")
        return find_contacts(self, margin, max_points)

    def events(self) -> WorldEvents:
        """Pairs of bodies that began to touch, still touch, or no longer do: the last call of `contacts` against the one
        before.

        Bodies within the margin of each other do not touch. A pair whose body was removed has ended; its handle is stale.
        """
        return events_between(self._records.touches_before, self._records.touches)

    def _pairs_within(self, reach: float | Floats) -> Ints:
        """Pairs whose boxes come within the sum of the reaches of each other: one of all bodies, or one of each."""
        self._update()
        bodies, more = self._bodies, np.atleast_1d(np.asarray(reach, dtype=np.float64))
        with self.stats.phase("broad"):
            bounds = np.empty((bodies.used, 6))
            grown_boxes(bodies.bounds, bodies.alive, bodies.enabled, more, bounds)
            boxes = Boxes(bounds, self._current_rules())
            found = self._filtered(self._near_phase.pairs(boxes, threads=self.threads))
        self.stats.broad_pairs = len(found)
        return found

    def distances(self, max_distance: float = np.inf, *, signed: bool = False) -> WorldDistances:
        """Distances of all pairs of bodies within `max_distance` of each other, the closest pair first.

        Parameters
        ----------
        max_distance : metres; inf only for worlds of at most 2,000 bodies or so
        signed : in an overlap the negative depth instead of 0; then the deepest comes first
        """
        reach = as_reach(max_distance)
        count = len(self)
        signed = as_flag(signed, "signed")
        if reach == np.inf and count * (count - 1) // 2 > _ALL_PAIRS:
            raise InvalidInputError(
                f"max_distance: with {count} bodies there are {count * (count - 1) // 2} pairs; give a distance limit"
            )
        self._begin("distances")
        pairs = self._pairs_within(0.5 * reach)
        if not len(pairs):
            whole, real = np.empty(0, np.int64), np.empty((0, 3))
            return WorldDistances(whole, whole, np.empty(0), real, real, real, np.empty(0, np.uint8))
        with self.stats.phase("narrow"):
            found = narrow.distances(self._scene(), pairs, reach, signed, self.midphase)
        near = np.flatnonzero(found.distance <= reach)
        order = near[np.argsort(found.distance[near], kind="stable")]
        self.stats.hits = len(order)
        a, b = self._bodies.handles(pairs[order, 0]), self._bodies.handles(pairs[order, 1])
        return WorldDistances(
            a, b, found.distance[order], found.point_a[order], found.point_b[order], found.normal[order], found.status[order]
        )

    def _body_tree(self) -> BodyTree:
        """The tree over the boxes, made anew after a body moved."""
        self._update()
        if self._tree is None:
            with self.stats.phase("broad"):
                self._tree = BodyTree.of(self._bodies.bounds[: self._bodies.used])
        return self._tree

    def raycast(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        max_distance: npt.ArrayLike = np.inf,
        any_hit: bool = False,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
    ) -> WorldRayHits:
        """First hits of rays on the bodies; each shape is hit as `thud.raycast` says. Of equal distances the lowest row counts.

        Parameters
        ----------
        origins, directions : (3,) or (N, 3) world frame; directions are normalised
        max_distance : metres; hits beyond it are misses; one for all or one a ray
        any_hit : the hit may be any, not the first: faster
        mask : bits of the layers that are hit
        ignore : handles that each ray passes: one for all, (N,) one a ray, or (N, K); -1 for none
        """
        start, along, reach, asked = self._rays("raycast", origins, directions, max_distance, mask, ignore)
        count = len(start)
        if not len(self):
            none = np.full(count, -1)
            return WorldRayHits(none, np.full(count, np.inf), np.zeros((count, 3)), np.zeros((count, 3)), none.copy())
        tree = self._body_tree()
        with self.stats.phase("narrow"):
            found = first_hits(self._scene(), tree, asked.seen, asked.ignored, start, along, reach, any_hit)
        hit = found.handle >= 0
        found.handle[hit] = self._bodies.handles(found.handle[hit])
        self.stats.hits = int(hit.sum())
        return found

    def _asked(self, query: str, mask: int, ignore: npt.ArrayLike | None, count: int) -> Asked:
        """The gate of who is asked, and the beginning of a query of `count` rows."""
        mask, ignored = as_mask(mask), shape_queries.as_ignored(self._bodies, ignore, count)
        self._begin(query)
        return Asked(shape_queries.seen_bodies(self._bodies.rules[: self._bodies.used], mask), ignored)

    def _rays(
        self, query: str, origins: npt.ArrayLike, directions: npt.ArrayLike, max_distance: npt.ArrayLike, mask: int,
        ignore: npt.ArrayLike | None,
    ) -> tuple[Floats, Floats, Floats, Asked]:  # fmt: skip
        """The gate of rays: origins, unit directions, how far each goes, who is asked."""
        start, along = as_points(origins, "origins"), unit(as_directions(directions, "directions"))
        limit = as_reaches(max_distance)
        count = broadcast_rows("origins, directions, max_distance", start, along, limit)
        asked = self._asked(query, mask, ignore, count)
        start, along = (np.array(np.broadcast_to(x, (count, 3)), order="C") for x in (start, along))
        return start, along, np.array(np.broadcast_to(limit, (count,))), asked

    def raycast_all(
        self,
        origins: npt.ArrayLike,
        directions: npt.ArrayLike,
        *,
        max_distance: npt.ArrayLike = np.inf,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
    ) -> WorldRayCrossings:
        """All crossings of rays with the bodies' surfaces, as `thud.raycast_all` says of each; by ray, then by distance.

        Parameters are those of `raycast`.
        """
        start, along, reach, asked = self._rays("raycast_all", origins, directions, max_distance, mask, ignore)
        if not len(self):
            return shape_queries.no_crossings()
        tree = self._body_tree()
        with self.stats.phase("narrow"):
            found = shape_queries.all_crossings(self._scene(), tree, asked, start, along, reach)
        found.handle[:] = self._bodies.handles(found.handle)
        self.stats.hits = len(found.row)
        return found

    def cast(
        self,
        shape: Shape,
        poses: PoseLike = None,
        motions: npt.ArrayLike = 0.0,
        *,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
    ) -> WorldCasts:
        """The first body that a moving shape meets, for N poses and motions. Bodies stay where they are.

        Each body is met as `thud.cast(shape, body)` says: the normal points from the shape to the body. Of equal times the
        lowest row counts. A shape that overlaps bodies at the start has time 0, and normal and depth of the lowest row's.

        Parameters
        ----------
        shape : any shape; it need not be in the world
        poses : one or N poses at time 0, world frame
        motions : (3,) or (N, 3) displacements, or (6,) or (N, 6) with a rotation vector, as for `thud.cast`
        mask : bits of the layers that are met
        ignore : handles that each row passes: one for all, (N,) one a row, or (N, K); -1 for none
        """
        as_shape(shape, "shape")
        rows, moves = as_poses(poses, "poses"), as_motion(motions, "motions")
        count = broadcast_rows("poses, motions", rows, moves)
        asked = self._asked("cast", mask, ignore, count)
        out = shape_queries.no_casts(count)
        if len(self) and count:
            tree = self._body_tree()
            with self.stats.phase("narrow"):
                shape_queries.first_impacts(self._scene(), tree, asked, shape, rows, moves, out)
        return self._with_handles(out)

    def overlap(
        self, shape: Shape, poses: PoseLike = None, *, mask: int = ~0, ignore: npt.ArrayLike | None = None
    ) -> tuple[Ints, Ints]:
        """All bodies that a shape meets at each of N poses: (M,) which pose, (M,) handles; sorted by pose, then row. Touching
        counts; so does what is undecided.

        Parameters
        ----------
        shape : any shape; it need not be in the world
        poses : one or N poses, world frame
        mask : bits of the layers that are met
        ignore : handles that are left out: one for all, (N,) one a row, or (N, K); -1 for none
        """
        as_shape(shape, "shape")
        rows = as_poses(poses, "poses")
        asked = self._asked("overlap", mask, ignore, len(rows))
        if not len(self):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        tree = self._body_tree()
        with self.stats.phase("narrow"):
            row, body = shape_queries.overlapping(self._scene(), tree, asked, shape, rows)
        self.stats.hits = len(row)
        return row, self._bodies.handles(body)

    def closest(
        self,
        points: npt.ArrayLike,
        *,
        max_distance: npt.ArrayLike = np.inf,
        signed: bool = True,
        mask: int = ~0,
        ignore: npt.ArrayLike | None = None,
    ) -> WorldClosestPoints:
        """The nearest point of any body's surface to each point, as `thud.closest_point` says of each body. Of equal distances
        the lowest row counts.

        Parameters
        ----------
        points : (3,) or (N, 3) world frame
        max_distance : metres; what is farther away is a miss; one for all or one a point
        signed : inside a solid the distance is negative, and the body that a point lies deepest in counts; open meshes have no
            inside. Without it, the distance to the surface, inside as outside
        mask : bits of the layers that are asked
        ignore : handles that are left out: one for all, (N,) one a row, or (N, K); -1 for none
        """
        where, limit, signed = as_points(points, "points"), as_reaches(max_distance), as_flag(signed, "signed")
        count = broadcast_rows("points, max_distance", where, limit)
        asked = self._asked("closest", mask, ignore, count)
        out = shape_queries.no_closest(count)
        if len(self) and count:
            where = np.array(np.broadcast_to(where, (count, 3)), order="C")
            tree = self._body_tree()
            with self.stats.phase("narrow"):
                reach = np.array(np.broadcast_to(limit, (count,)))
                shape_queries.nearest(self._scene(), tree, asked, where, reach, signed, out)
        return self._with_handles(out)

    def _with_handles(self, out: Any) -> Any:
        """Rows of bodies in `handle` as handles."""
        hit: Bools = out.handle >= 0
        out.handle[hit] = self._bodies.handles(out.handle[hit])
        self.stats.hits = int(hit.sum())
        return out

    def in_boxes(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> tuple[Ints, Ints]:
        """Bodies whose boxes overlap each of N boxes, touching included: (M,) which box, (M,) handles; sorted by both.

        Parameters
        ----------
        lower, upper : (3,) or (N, 3) corners, metres, world frame
        """
        boxes = as_boxes(np.atleast_2d(lower), np.atleast_2d(upper))
        self._begin("in_boxes")
        if not len(self):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        places, items = boxes_in_tree(self._body_tree().arrays, boxes.bounds, self.threads)
        box = np.repeat(np.arange(len(boxes.bounds)), np.diff(places))
        order = np.lexsort([items, box])
        return box[order], self._bodies.handles(items[order])

    def near(self, boxes: Floats, mask: int) -> NearBodies:
        """What characters ask: bodies whose boxes overlap each of (N, 6) boxes, on layers of the mask, with poses and shapes.
        Arguments are not checked; others take `in_boxes`."""
        return near_bodies(self, boxes, mask)

    def _motion(self, seconds: float, name: str) -> Floats:
        """(used, 6) displacements and rotation vectors by the velocities."""
        bodies, used = self._bodies, self._bodies.used
        with np.errstate(over="ignore"):
            motion = seconds * np.concatenate([bodies.velocity[:used], bodies.angular_velocity[:used]], axis=1)
        check_finite(motion[:, :3], f"{name} times velocity", FARTHEST_POSE)
        return motion

    def _swept_bounds(self, seconds: float) -> Floats:
        """(used, 6) boxes of all that bodies sweep."""
        bodies, rows = self._bodies, self._bodies.living()
        self._motion(seconds, "swept")
        packed, shape_rows = self._shapes.packed()
        bounds = bodies.bounds[: bodies.used].copy()
        if len(rows):
            run_rows(
                swept_boxes, len(rows), self.threads, packed, shape_rows, bodies.shape, bodies.poses, bodies.velocity,
                bodies.angular_velocity, seconds, bodies.bounds, rows, bounds,
            )  # fmt: skip
        return bounds

    def impacts(self, dt: float) -> WorldImpacts:
        """First contacts of all pairs of bodies within the next `dt` seconds, moved by their velocities; the earliest first.

        Each pair is looked at by itself, as if no other impact came before. Bodies move as in `thud.cast`, turning about the
        origins of their frames at constant rates. The boxes of the broad phase hold all that a body sweeps ([Yang] 2.7.3).
        Times are fractions of the step, 0 at its begin and 1 at its end; `found.seconds(dt)` are seconds.
        The impacts of bullets are found by a ray from the bullet's origin along its displacement relative to the other body,
        whose rotation is left out; of two bullets the one of the lower row is the ray.
        """
        dt = as_positive(dt, "dt")
        self._begin("impacts")
        self._update()
        bodies = self._bodies
        used, rows = bodies.used, bodies.living()
        if not len(rows):
            return _no_impacts()
        motion = self._motion(dt, "dt")
        with self.stats.phase("boxes"):
            bounds = self._swept_bounds(dt)
        with self.stats.phase("broad"):
            pairs = self._swept_pairs(bounds)
        self.stats.broad_pairs = len(pairs)
        if not len(pairs):
            return _no_impacts()
        with self.stats.phase("narrow"):
            found = narrow.impacts(self._scene(), pairs, motion, bodies.bullet[:used])
        hit = np.flatnonzero(found.time <= 1.0)
        order = hit[np.argsort(found.time[hit], kind="stable")]
        self.stats.hits = len(order)
        a, b = self._bodies.handles(pairs[order, 0]), self._bodies.handles(pairs[order, 1])
        fields = (found.time[order], found.point[order], found.normal[order], found.status[order], found.depth[order])
        return WorldImpacts(a, b, *fields)


#: What `add` gives a body that it is told nothing about.
_PLAIN = Physics()


def _no_impacts() -> WorldImpacts:
    whole, real = np.empty(0, np.int64), np.empty((0, 3))
    return WorldImpacts(whole, whole, np.empty(0), real, real, np.empty(0, np.uint8), np.empty(0))
