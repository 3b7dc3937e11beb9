"""`World`: bodies added, moved by plain arrays, and asked for pairs, contacts, impacts and rays, beside coal's dynamic tree,
pybullet, python-fcl and embreex. One thread. (Broad phases by themselves: `bench_broadphase`.)

A frame is what a user does in one: poses in, answers out. coal's objects are placed one by one from Python; its frame is timed
with that ("poses in") and without it ("moved before", the reference), as are pybullet's.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import decades
from benchmarks.bench_cast import Casts, FclCasts
from benchmarks.families import FORMS
from benchmarks.harness import Contestant, Report, Timed, one_core
from benchmarks.mesh_crowds import colliding_crowd, paper_crowd
from benchmarks.peers import Bullet, Coal, Fcl, embree_scene, installed
from tests.oracles.meshes import box_mesh
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: (numbers of boxes of the frames, frames, rounds, bodies of a family's member, rays, bodies added one by one, boxes added at
#: once, most bodies of the growth of contacts and rays)
_SIZES: dict[str, tuple[list[int], int, int, int, int, int, int, int]] = {
    "ci": ([100], 3, 2, 60, 100, 50, 300, 300),
    "standard": ([1_000, 10_000, 100_000], 10, 5, 2_000, 10_000, 2_000, 100_000, 30_000),
    "full": ([1_000, 10_000, 100_000, 1_000_000], 20, 9, 10_000, 100_000, 10_000, 1_000_000, 100_000),
}

_COAL, _COAL_IN = "coal DynamicAABBTree, moved before", "coal DynamicAABBTree, poses in"
_BULLET, _FCL, _EMBREE = "pybullet, moved before", "python-fcl, pairs given", "embreex, boxes as one mesh"


@dataclass
class Scene:
    """Bodies, their poses frame after frame, and their velocities."""

    name: str
    shapes: list[Shape]
    frames: list[Floats]
    """(N, 7) each"""
    velocity: Floats
    """(N, 3), metres a frame"""
    angular: Floats
    static: npt.NDArray[np.bool_]

    def world(self) -> tuple[thud.World, Ints]:
        """All bodies at the first frame."""
        world = thud.World(threads=1)
        handles = world.add_many(
            self.shapes, self.frames[0], velocity=self.velocity, angular_velocity=self.angular, static=self.static
        )
        return world, handles


def scene(
    name: str, kind: str, count: int, frames: int, *, speed: float = 0.01, density: float = 1.0, turned: bool = True,
    flat: bool = False, static: float = 0.0, sizes: float = 1.0, seed: int = 0,
) -> Scene:  # fmt: skip
    """Bodies of size about 1 in a cube (or a square) with `density` of them a cubic metre; they fly straight. `sizes`: the
    largest over the smallest, evenly in the logarithm."""
    rng = np.random.default_rng(seed)
    kinds = ("box", "sphere", "capsule", "hull") if kind == "mixed" else (kind,)
    if kind == "box":  # all different
        scale = sizes ** rng.uniform(-0.5, 0.5, (count, 1))
        shapes: list[Shape] = [thud.Box(half) for half in scale * rng.uniform(0.2, 0.5, (count, 3))]
    else:
        models = [families.primitive(rng, kinds[k % len(kinds)]) for k in range(min(count, 100))]
        shapes = [models[k] for k in rng.integers(0, len(models), count)]
    side = np.full(3, (count / density) ** (1 / 3))
    if flat:
        side = np.array([(count / density) ** 0.5] * 2 + [1.0])
    at, way = rng.uniform(0.0, side, (count, 3)), families.unit(rng.normal(size=(count, 3)))
    velocity = way * speed * rng.uniform(0.35, 1.05, (count, 1))
    still = rng.uniform(size=count) < static
    velocity[still] = 0.0
    turn = families.unit(rng.normal(size=(count, 4))) if turned else np.tile([1.0, 0, 0, 0], (count, 1))
    angular = np.where(still[:, None], 0.0, speed * rng.normal(size=(count, 3))) if turned else np.zeros((count, 3))
    poses = [np.concatenate([at + k * velocity, turn], axis=1) for k in range(frames)]
    return Scene(name, shapes, poses, velocity, angular, still)


def _to_and_fro(frames: list[Any]) -> Iterator[list[Any]]:
    """The frames forwards, then backwards: no jump between rounds."""
    return itertools.cycle([frames, frames[::-1]])


def _ours(made: Scene, form: Callable[[Floats], Any], ask: Callable[[thud.World], object]) -> Callable[[], None]:
    """Frames of a world: poses in, answers out."""
    world, handles = made.world()
    ways = _to_and_fro([form(poses) for poses in made.frames])

    def run() -> None:
        for poses in next(ways):
            world.set_poses(handles, poses)
            ask(world)

    return run


class CoalWorld:
    """coal's dynamic tree with its collecting callbacks, all in C++."""

    def __init__(self, made: Scene) -> None:
        import coal

        self.coal = coal
        self.objects = [coal.CollisionObject(Coal.geometry(shape)) for shape in made.shapes]
        rows = [families.pose_rows(poses) for poses in made.frames]
        frames = [[coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in frame] for frame in rows]
        self.ways = _to_and_fro(frames)
        self.manager = coal.DynamicAABBTreeCollisionManager()
        self.move(frames[0])
        for one in self.objects:
            self.manager.registerObject(one)
        self.manager.setup()
        self.collect = coal.CollisionCallBackCollect(60 * len(self.objects))
        self.contact = coal.CollisionCallBackDefault()
        self.contact.data.request.enable_contact = True
        self.contact.data.request.num_max_contacts = 10**8

    def move(self, frame: list[Any]) -> None:
        for one, at in zip(self.objects, frame, strict=True):
            one.setTransform(at)
            one.computeAABB()

    def pairs(self) -> int:
        self.manager.update()
        self.collect.init()
        self.manager.collide(self.collect)
        return self.collect.numCollisionPairs()

    def contacts(self) -> int:
        self.manager.update()
        self.contact.init()
        self.manager.collide(self.contact)
        return self.contact.data.result.numContacts()

    def run(self, ask: Callable[[], object], poses_in: bool) -> Callable[[], object]:
        """Frames; what moves the objects is timed or not."""

        def go() -> object:
            used = 0.0
            for frame in next(self.ways):
                begin = time.perf_counter()
                self.move(frame)
                moved = time.perf_counter()
                ask()
                used += time.perf_counter() - (begin if poses_in else moved)
            return Timed(used)

        return go


class BulletWorld:
    """pybullet: bodies that are moved before; its own broad and narrow phase; rays in batches, on one thread."""

    def __init__(self, made: Scene) -> None:
        import pybullet

        self.bullet = pybullet
        self.client = pybullet.connect(pybullet.DIRECT)
        shapes = Bullet.__new__(Bullet)
        shapes.bullet, shapes.client = pybullet, self.client
        cached: dict[int, int] = {}
        self.bodies = []
        for shape, at in zip(made.shapes, made.frames[0].tolist(), strict=True):
            if id(shape) not in cached:
                cached[id(shape)] = shapes.geometry(shape)
            # At its place from the start: its tree remembers pairs that once were near.
            self.bodies.append(
                pybullet.createMultiBody(
                    1.0, cached[id(shape)], basePosition=at[:3], useMaximalCoordinates=1, physicsClientId=self.client
                )
            )
        self.frames = [(poses[:, :3].tolist(), np.roll(poses[:, 3:], -1, axis=1).tolist()) for poses in made.frames]
        self.ways = _to_and_fro(self.frames)
        self.move(self.frames[0])

    def move(self, frame: tuple[list[Any], list[Any]]) -> None:
        for body, at, turn in zip(self.bodies, *frame, strict=True):
            self.bullet.resetBasePositionAndOrientation(body, at, turn, physicsClientId=self.client)

    def contacts(self) -> Timed:
        """Frames."""
        used = 0.0
        for frame in next(self.ways):
            self.move(frame)
            begin = time.perf_counter()
            self.bullet.performCollisionDetection(physicsClientId=self.client)
            self.bullet.getContactPoints(physicsClientId=self.client)
            used += time.perf_counter() - begin
        return Timed(used)

    def rays(self, origins: Floats, directions: Floats, reach: float) -> Callable[[], list[Any]]:
        self.bullet.performCollisionDetection(physicsClientId=self.client)
        most = self.bullet.MAX_RAY_INTERSECTION_BATCH_SIZE
        ends = origins + reach * directions
        batches = [(origins[k : k + most].tolist(), ends[k : k + most].tolist()) for k in range(0, len(origins), most)]

        def run() -> list[Any]:
            found: list[Any] = []
            for start, end in batches:
                found += self.bullet.rayTestBatch(start, end, numThreads=1, physicsClientId=self.client)
            return found

        return run

    def close(self) -> None:
        self.bullet.disconnect(self.client)


# Adding ---------------------------------------------------------------------------------------------------------------------


def _adding(report: Report, singles: int, many: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    halves = rng.uniform(0.2, 0.5, (singles, 3))
    poses = families.random_poses(rng, singles, 20.0)
    boxes = [thud.Box(half) for half in halves]

    def one_by_one(shapes: list[Any], at: Any) -> Callable[[], None]:
        def run() -> None:
            world = thud.World()
            for shape, pose in zip(shapes, at, strict=True):
                world.add(shape, pose)

        return run

    contestants = [
        Contestant("thud, different boxes, (7,)", one_by_one(boxes, list(poses)), singles),
        Contestant("thud, different boxes, (4, 4)", one_by_one(boxes, list(families.matrices(poses))), singles),
        Contestant("thud, different boxes, Pose", one_by_one(boxes, [families.as_pose(p) for p in poses]), singles),
        Contestant("thud, one box, (7,)", one_by_one([boxes[0]] * singles, list(poses)), singles),
    ]
    rows = families.pose_rows(poses)
    if installed("coal"):
        import coal

        geometries = [coal.Box(*(2.0 * half)) for half in halves]
        transforms = [coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in rows]

        def register() -> None:
            manager, kept = coal.DynamicAABBTreeCollisionManager(), []
            for geometry, at in zip(geometries, transforms, strict=True):
                one = coal.CollisionObject(geometry, at)
                one.computeAABB()
                manager.registerObject(one)
                kept.append(one)

        contestants.append(Contestant("coal, registerObject", register, singles))
    if installed("pybullet"):
        import pybullet

        def create() -> None:
            client = pybullet.connect(pybullet.DIRECT)
            for half, at in zip(halves.tolist(), poses.tolist(), strict=True):
                made = pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=half, physicsClientId=client)
                pybullet.createMultiBody(1.0, made, basePosition=at[:3], useMaximalCoordinates=1, physicsClientId=client)
            pybullet.disconnect(client)

        contestants.append(Contestant("pybullet, createMultiBody", create, singles))
    report.race(f"{singles:,} bodies, one by one", "World.add", "coal, registerObject", contestants, rounds)
    _at_once(report, rng, many, rounds)


def _at_once(report: Report, rng: np.random.Generator, many: int, rounds: int) -> None:
    """`add_many` of different boxes, then the first pairs: first calls, kernels warm."""
    made = scene("boxes", "box", many, 1, turned=False)
    halves, poses = np.array([shape.half_extents for shape in made.shapes]), made.frames[0]  # type: ignore[attr-defined]

    def ours(shapes: Callable[[], list[Shape]]) -> Callable[[], object]:
        def run() -> object:
            world = thud.World(threads=1)
            world.add_many(shapes(), poses)
            return world.pairs()

        return run

    contestants = [
        Contestant("thud, shapes made before", ours(lambda: made.shapes), 1),
        Contestant("thud, shapes made too", ours(lambda: [thud.Box(half) for half in halves]), 1),
        Contestant("thud, one box for all", ours(lambda: [made.shapes[0]] * many), 1),
    ]
    if installed("coal"):
        import coal

        def theirs() -> object:
            objects = [coal.CollisionObject(coal.Box(*edge)) for edge in 2.0 * halves]
            for one, at in zip(objects, poses[:, :3], strict=True):
                one.setTranslation(at)
                one.computeAABB()
            manager = coal.DynamicAABBTreeCollisionManager()
            for one in objects:
                manager.registerObject(one)
            manager.setup()
            callback = coal.CollisionCallBackCollect(60 * many)
            callback.init()
            manager.collide(callback)
            return objects, manager, callback

        contestants.append(Contestant("coal, shapes made too", theirs, 1))
    name = f"{many:,} different boxes"
    report.race(name, "first call: World.add_many, first pairs", "coal, shapes made too", contestants, max(2, rounds // 2))


# Frames ---------------------------------------------------------------------------------------------------------------------


def _frame_contestants(made: Scene) -> list[Contestant]:
    frames = len(made.frames)
    found = [Contestant(f"thud, {name}", _ours(made, form, thud.World.pairs), frames) for name, form in FORMS.items()]
    if installed("coal"):
        other = CoalWorld(made)
        found.append(Contestant(_COAL, other.run(other.pairs, False), frames))
        found.append(Contestant(_COAL_IN, other.run(other.pairs, True), frames))
    return found


def _frames(report: Report, numbers: list[int], frames: int, rounds: int) -> None:
    """Poses in, pairs out."""
    for count in numbers:
        few = max(2, frames // 3) if count > 10_000 else frames
        made = scene(f"{count:,} boxes", "box", count, few, turned=False)
        contestants = _frame_contestants(made)
        report.race(made.name, "a frame: poses in, pairs out", _COAL, contestants, rounds)
        if installed("coal"):
            world, _ = made.world()
            report.note(
                made.name, "a frame: poses in, pairs out", f"{len(world.pairs())} pairs; coal: {CoalWorld(made).pairs()}"
            )
    size, few = numbers[min(1, len(numbers) - 1)], max(2, frames // 2)
    members = [
        scene("slow, 0.3 % of a metre a frame", "box", size, few, speed=0.003, turned=False),
        scene("1 %", "box", size, few, turned=False),
        scene("fast, 10 %", "box", size, few, speed=0.1, turned=False),
        scene("dense, 5 a cubic metre", "box", size, few, density=5.0, turned=False),
        scene("sparse, 1 in 20 cubic metres", "box", size, few, density=0.05, turned=False),
        scene("flat, on a square", "box", size, few, flat=True, turned=False),
        scene("half of them static", "box", size, few, static=0.5, turned=False),
        scene("sizes 30 : 1", "box", size, few, sizes=30.0, turned=False),
        scene("turned boxes, for which coal has larger boxes", "box", size, few),
        scene("spheres of 100 kinds", "sphere", size, few, turned=False),
    ]
    races = ((made.name, _frame_contestants(made)) for made in members)
    report.family(f"family of {size:,} bodies", "a frame: poses in, pairs out", _COAL, races, rounds)
    sizes = decades(max(10, numbers[-1] // 1000), numbers[-1])
    report.growth(
        "boxes at constant density", "a frame: poses in, pairs out", "boxes", _COAL, sizes,
        lambda count: _frame_contestants(scene("boxes", "box", count, 3, turned=False)), max(2, rounds // 2),
    )  # fmt: skip


# Contacts, impacts, rays ----------------------------------------------------------------------------------------------------


def _members(count: int, frames: int) -> list[Scene]:
    return [
        scene("boxes", "box", count, frames),
        scene("boxes, dense", "box", count, frames, density=4.0),
        scene("boxes, sparse", "box", count, frames, density=0.1),
        scene("spheres", "sphere", count, frames, density=0.2),
        scene("capsules", "capsule", count, frames, density=0.2),
        scene("hulls of 30-60 vertices", "hull", count, frames, density=0.1),
        scene("mixed", "mixed", count, frames, density=0.2),
    ]


def _contact_contestants(made: Scene, bullets: list[BulletWorld]) -> list[Contestant]:
    frames = len(made.frames)
    found = [Contestant(f"thud, {name}", _ours(made, form, thud.World.contacts), frames) for name, form in FORMS.items()]
    if installed("coal"):
        other = CoalWorld(made)
        found.append(Contestant(_COAL, other.run(other.contacts, False), frames))
        found.append(Contestant(_COAL_IN, other.run(other.contacts, True), frames))
    if installed("pybullet"):
        bullets.append(BulletWorld(made))
        found.append(Contestant(_BULLET, bullets[-1].contacts, frames))
    return found


def _contacts(report: Report, count: int, frames: int, most: int, rounds: int) -> None:
    name, query = f"family of {count:,} bodies", "a frame: poses in, World.contacts out"

    def races() -> Iterator[tuple[str, list[Contestant]]]:
        for made in _members(count, frames):
            bullets: list[BulletWorld] = []
            yield made.name, _contact_contestants(made, bullets)
            found = made.world()[0].contacts()
            pairs = len(np.unique(np.stack([found.handle_a, found.handle_b], axis=1), axis=0)) if len(found.handle_a) else 0
            text = f"{made.name}: {pairs} pairs touch, {len(found.handle_a)} points"
            if installed("coal"):
                text += f"; coal: {CoalWorld(made).contacts()} points"
            report.note(name, query, text)
            for one in bullets:
                one.close()

    report.family(name, query, _COAL, races(), rounds)

    def grow(number: int) -> list[Contestant]:
        contestants = _contact_contestants(scene("boxes", "box", number, 2), bullets := [])
        kept.extend(bullets)
        return contestants

    kept: list[BulletWorld] = []
    sizes = decades(max(10, most // 300), most)
    report.growth("boxes at constant density", query, "boxes", _COAL, sizes, grow, max(2, rounds // 2))
    for one in kept:
        one.close()


class FclImpacts:
    """python-fcl's conservative advancement of the pairs whose swept boxes overlap, which it is given."""

    def __init__(self, made: Scene, pairs: Ints) -> None:
        motion = np.concatenate([made.velocity, made.angular], axis=1)
        poses, (a, b) = made.frames[0], pairs.T
        # Its way to build transforms; the shapes are our own.
        self.one = FclCasts(Casts("", made.shapes[0], made.shapes[0], (poses[a], poses[b]), (motion[a], motion[b])))
        geometries: dict[int, Any] = {}
        for shape in made.shapes:
            geometries.setdefault(id(shape), Fcl.geometry(shape))
        self.shapes = [(geometries[id(made.shapes[a])], geometries[id(made.shapes[b])]) for a, b in pairs.tolist()]

    def run(self) -> int:
        fcl, request, hits = self.one.fcl, self.one.request, 0
        for (a, b), a0, b0, a1, b1 in zip(self.shapes, *self.one.start, *self.one.end, strict=True):
            result = fcl.ContinuousCollisionResult()
            fcl.continuousCollide(fcl.CollisionObject(a, a0), a1, fcl.CollisionObject(b, b0), b1, request, result)
            hits += result.is_collide
        return hits


def _swept_pairs(made: Scene) -> Ints:
    """Pairs whose boxes, swept over a frame, overlap; boxes that hold the body at any rotation."""
    from thud.broadphase import as_boxes
    from thud.broadphase.choose import broad_phase

    reach = np.array([families.radius(shape) for shape in made.shapes])[:, None]
    start, end = made.frames[0][:, :3], made.frames[0][:, :3] + made.velocity
    boxes = as_boxes(np.minimum(start, end) - reach, np.maximum(start, end) + reach)
    return np.asarray(broad_phase("auto").pairs(boxes))


def _impact_contestants(made: Scene, fcl: bool) -> list[Contestant]:
    found = []
    for name in ("(N, 7)", "Pose"):
        run = _ours(made, FORMS[name], lambda world: world.impacts(1.0))
        found.append(Contestant(f"thud, {name}", run, len(made.frames)))
    if fcl:
        found.append(Contestant(_FCL, FclImpacts(made, _swept_pairs(made)).run, 1))
    return found


def _impacts(report: Report, count: int, frames: int, most: int, rounds: int) -> None:
    name, query = f"family of {count:,} bodies", "a frame: poses in, World.impacts out"
    fcl = installed("fcl")

    def races() -> Iterator[tuple[str, list[Contestant]]]:
        for speed in (0.05, 0.5):
            for made in (
                scene(f"boxes, {speed:g} m a frame", "box", count, frames, speed=speed, density=0.3),
                scene(f"spheres, {speed:g} m a frame", "sphere", count, frames, speed=speed, density=0.1),
                scene(f"capsules, {speed:g} m a frame", "capsule", count, frames, speed=speed, density=0.1),
                scene(f"hulls of 30-60 vertices, {speed:g} m a frame", "hull", count, frames, speed=speed, density=0.05),
            ):
                # python-fcl has no continuous collision of hulls.
                yield made.name, _impact_contestants(made, fcl and "hulls" not in made.name)
                world, _ = made.world()
                found = world.impacts(1.0)
                apart = int((found.time > 0).sum())
                report.note(name, query, f"{made.name}: {len(found.time)} pairs meet, {apart} of them not at the start")

    report.family(name, query, _FCL, races(), rounds)
    sizes = decades(max(10, most // 300), most)
    report.growth(
        "boxes at constant density", query, "boxes", _FCL, sizes,
        lambda number: _impact_contestants(scene("boxes", "box", number, 2, speed=0.1, density=0.3), fcl and number <= 3_000),
        max(2, rounds // 2),
    )  # fmt: skip


# Mid phases of meshes -------------------------------------------------------------------------------------------------------


def _mid_phases(report: Report, count: int, frames: int, small: bool, rounds: int) -> None:
    """Crowds of concave meshes by each mid phase: which pairs meet, and which are within 0.1 m."""
    crowds = [paper_crowd(name, count, frames, small) for name in ("torus", "plane")]
    crowds.append(colliding_crowd(count, frames, small))
    crowds += [made.unrelated() for made in list(crowds)]
    asks: dict[str, Callable[[thud.World], object]] = {
        "World.intersecting": thud.World.intersecting,
        "World.distances(0.1)": lambda world: world.distances(0.1),
    }
    for query, ask in asks.items():
        name, text = f"crowds of {count} meshes by mid phase", f"a frame: poses in, {query} out"

        def races(ask: Callable[[thud.World], object] = ask, name: str = name, text: str = text) -> Iterator[Any]:
            for made in crowds:
                contestants, worlds = [], {}
                for midphase in ("none", "hull", "spm"):
                    world = thud.World(midphase=midphase, threads=1)
                    handles, ways = world.add_many(made.meshes, made.frames[0]), _to_and_fro(made.frames)
                    worlds[midphase] = world

                    def run(world: thud.World = world, handles: Any = handles, ways: Any = ways) -> None:
                        for poses in next(ways):
                            world.set_poses(handles, poses)
                            ask(world)

                    contestants.append(Contestant(f"thud, {midphase}", run, frames))
                yield made.name, contestants
                stats = {key: world.stats for key, world in worlds.items()}
                parts = ", ".join(f"{key} {one.mid_rejected}" for key, one in stats.items())
                many = f"{stats['hull'].broad_pairs} pairs, {stats['hull'].hits} found"
                report.note(name, text, f"{made.name}: {many}; parted before the triangles: {parts}")

        report.family(name, text, "thud, hull", races(), rounds)


def _scene_rays(made: Scene, count: int) -> tuple[Floats, Floats, float]:
    """From anywhere in the scene to anywhere."""
    rng = np.random.default_rng(1)
    at = made.frames[0][:, :3]
    low, high = at.min(axis=0), at.max(axis=0)
    return rng.uniform(low, high, (count, 3)), families.unit(rng.normal(size=(count, 3))), float(np.linalg.norm(high - low))


def _boxes_as_mesh(made: Scene) -> tuple[Floats, Ints]:
    """All boxes' triangles in the world."""
    corners, faces = box_mesh(1.0)
    halves = np.array([shape.half_extents for shape in made.shapes])  # type: ignore[attr-defined]
    rows = families.pose_rows(made.frames[0])
    local = corners[None] * halves[:, None]
    vertices = np.einsum("nij,nkj->nki", rows[:, :9].reshape(-1, 3, 3), local) + rows[:, None, 9:]
    return vertices.reshape(-1, 3), (faces[None] + 8 * np.arange(len(halves))[:, None, None]).reshape(-1, 3)


def _ray_contestants(made: Scene, count: int, bullets: list[BulletWorld]) -> list[Contestant]:
    origins, directions, reach = _scene_rays(made, count)
    world, _ = made.world()
    found = [Contestant("thud, (N, 3)", lambda: world.raycast(origins, directions, max_distance=reach), count)]
    if installed("pybullet"):
        bullets.append(BulletWorld(made))
        found.append(Contestant("pybullet", bullets[-1].rays(origins, directions, reach), count))
    if installed("embreex") and all(isinstance(shape, thud.Box) for shape in made.shapes):
        tree, single = embree_scene(*_boxes_as_mesh(made)), (origins.astype(np.float32), directions.astype(np.float32))
        found.append(Contestant(_EMBREE, lambda: tree.run(*single, output=True), count))
    return found


def _raycasts(report: Report, count: int, rays: int, most: int, rounds: int) -> None:
    name, query = f"family of {count:,} bodies", f"World.raycast, {rays:,} rays"

    def races() -> Iterator[tuple[str, list[Contestant]]]:
        for made in _members(count, 1):
            bullets: list[BulletWorld] = []
            contestants = _ray_contestants(made, rays, bullets)
            yield made.name, contestants
            origins, directions, reach = _scene_rays(made, rays)
            mine = made.world()[0].raycast(origins, directions, max_distance=reach)
            text = f"{made.name}: {np.isfinite(mine.distance).mean():.1%} of rays hit"
            for one in contestants[1:]:
                theirs = one.run()
                hit = np.array([row[0] >= 0 for row in theirs]) if one.name == "pybullet" else theirs["primID"] >= 0  # type: ignore[attr-defined, index]
                text += f"; {one.name}: {(hit == np.isfinite(mine.distance)).mean():.3%} alike"
            report.note(name, query, text)
            for one_world in bullets:
                one_world.close()

    report.family(name, query, "pybullet", races(), rounds)

    def singles() -> Iterator[tuple[str, list[Contestant]]]:
        for made in _members(count, 1):
            origins, directions, reach = _scene_rays(made, 100)
            world, _ = made.world()

            def ours(world: thud.World = world, o: Floats = origins, d: Floats = directions, far: float = reach) -> None:
                for a, b in zip(o, d, strict=True):
                    world.raycast(a, b, max_distance=far)

            contestants = [Contestant("thud, (3,)", ours, len(origins))]
            if not installed("pybullet"):
                yield made.name, contestants
                continue
            other = BulletWorld(made)
            other.bullet.performCollisionDetection(physicsClientId=other.client)
            ends = list(zip(origins.tolist(), (origins + reach * directions).tolist(), strict=True))

            def theirs(other: BulletWorld = other, ends: list[Any] = ends) -> None:
                for a, b in ends:
                    other.bullet.rayTest(a, b, physicsClientId=other.client)

            yield made.name, [*contestants, Contestant("pybullet", theirs, len(ends))]
            other.close()

    report.family(name, "World.raycast, single calls", "pybullet", singles(), rounds)
    kept: list[BulletWorld] = []
    sizes = decades(max(10, most // 300), most)
    report.growth(
        f"{rays:,} rays among boxes at constant density", "World.raycast", "boxes", "pybullet", sizes,
        lambda number: [Contestant(c.name, c.run, 1) for c in _ray_contestants(scene("boxes", "box", number, 1), rays, kept)],
        max(2, rounds // 2),
    )  # fmt: skip
    for one in kept:
        one.close()


def run(size: str) -> None:
    numbers, frames, rounds, bodies, rays, singles, many, most = _SIZES[size]
    report = Report("world")
    with one_core():
        _adding(report, singles, many, rounds)
        _frames(report, numbers, frames, rounds)
        few = max(2, frames // 3)
        _contacts(report, bodies, few, most, rounds)
        _impacts(report, bodies, few, most, rounds)
        _raycasts(report, bodies, rays, most, rounds)
        _mid_phases(report, 40 if size == "ci" else 600, few, size == "ci", rounds)
    report.save()
