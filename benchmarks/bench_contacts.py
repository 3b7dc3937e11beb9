"""`World.contacts` of a settled heap of boxes on a floor, frame after frame, beside coal, pybullet and rapier3d. One thread.

The poses are recorded from pybullet (`tools/record_heap.py`): a calm heap that stirs. In one race every box has moved a little
since the last frame, in the other none has. coal is given the pairs whose boxes overlap and asked one by one; pybullet looks
for them itself and gives its points as tuples. What rapier3d is timed on is its whole step, contacts and solver, of the same
heap: it gives contacts by no other call that finds them all.

Then 100 boxes on hills, as a mesh and as a height field; coal's contacts are all pairs of triangles and boxes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report, Timed, one_core
from benchmarks.peers import Coal, installed
from thud.gates import as_poses
from tools.record_heap import Heap, record

Floats = npt.NDArray[np.float64]

#: (numbers of boxes, frames, rounds)
_SIZES = {"ci": ([40], 3, 2), "standard": ([600, 3_000], 20, 9), "full": ([600, 3_000, 10_000], 50, 15)}

#: Cells of the hills a side.
_HILLS = {"ci": 10, "standard": 80, "full": 80}

_BOX = thud.Box([0.5, 0.5, 0.5])

#: Steps until a heap lies, more or less: enough for a race.
_CALM = 600

#: A heap for those who have no pybullet.
_KEPT = Path(__file__).parents[1] / "tests" / "world" / "data" / "heap_600.npz"

_OURS, _OURS_IN, _COAL, _BULLET = "thud, moved before", "thud, poses in", "coal, pairs given", "pybullet, moved before"
_RAPIER = "rapier3d, whole step"


def heap(count: int, frames: int) -> tuple[Heap, Floats]:
    """The boxes, and their poses (F, N, 7)."""
    if installed("pybullet"):
        found = record(count, frames, calm=_CALM)
    else:
        found = Heap.load(_KEPT)
        found = Heap(found.half[:count], found.poses[:frames, :count], found.planes)
    return found, found.exact_poses()


def _world(made: Heap) -> tuple[thud.World, npt.NDArray[np.int64]]:
    world = thud.World(threads=1)
    for plane in made.planes.astype(float):
        world.add(thud.HalfSpace(plane[:3], plane[3]), static=True)
    return world, world.add_many([thud.Box(size) for size in made.half.astype(float)], mass=1.0)


def _ours(made: Heap, frames: Floats, poses_in: bool, margin: float) -> Callable[[], Timed]:
    """To and fro through the frames; putting the poses in is timed or not."""
    world, boxes = _world(made)
    ways = [frames, frames[::-1]]

    def run() -> Timed:
        used = 0.0
        for frame in ways[0]:
            begin = time.perf_counter()
            world.set_poses(boxes, frame)
            moved = time.perf_counter()
            world.contacts(margin=margin)
            used += time.perf_counter() - (begin if poses_in else moved)
        ways.reverse()
        return Timed(used)

    return run


def _still(made: Heap, frame: Floats, count: int) -> Callable[[], None]:
    """The same frame again and again."""
    world, boxes = _world(made)
    world.set_poses(boxes, frame)

    def run() -> None:
        for _ in range(count):
            world.contacts()

    return run


def _coal(made: Heap, frames: Floats) -> Callable[[], Timed]:
    """The first frame's pairs among the boxes, which are all but those of the others."""
    world, boxes = _world(made)
    world.set_poses(boxes, frames[0])
    pairs = world.pairs()
    planes = len(made.planes)
    pairs = pairs[pairs[:, 0] >= planes] - planes
    other = Coal([thud.Box(size) for size in made.half.astype(float)], pairs, as_poses(frames[0], "poses"))

    def run() -> Timed:
        begin = time.perf_counter()
        for _ in frames:
            other.contacts()
        return Timed(time.perf_counter() - begin)

    return run


class BulletHeap:
    """pybullet with the same boxes on the same floor."""

    def __init__(self, made: Heap, frames: Floats) -> None:
        import pybullet

        self.bullet, self.client = pybullet, pybullet.connect(pybullet.DIRECT)
        here = {"physicsClientId": self.client}
        for x, y, z, offset in made.planes.tolist():
            plane = pybullet.createCollisionShape(pybullet.GEOM_PLANE, planeNormal=(x, y, z), **here)
            pybullet.createMultiBody(0, plane, basePosition=(offset * x, offset * y, offset * z), **here)
        self.frames = [(frame[:, :3].tolist(), np.roll(frame[:, 3:], -1, axis=1).tolist()) for frame in frames]
        self.bodies = [
            pybullet.createMultiBody(
                1.0, pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=size, **here), basePosition=at,
                baseOrientation=turn, useMaximalCoordinates=1, **here,
            )
            for size, at, turn in zip(made.half.tolist(), *self.frames[0], strict=True)
        ]  # fmt: skip

    def run(self, moves: bool) -> Callable[[], Timed]:
        """Frames; what moves the bodies is not timed."""

        def run() -> Timed:
            used = 0.0
            for frame in self.frames:
                if moves:
                    for body, at, turn in zip(self.bodies, *frame, strict=True):
                        self.bullet.resetBasePositionAndOrientation(body, at, turn, physicsClientId=self.client)
                begin = time.perf_counter()
                self.bullet.performCollisionDetection(physicsClientId=self.client)
                self.bullet.getContactPoints(physicsClientId=self.client)
                used += time.perf_counter() - begin
            self.frames.reverse()
            return Timed(used)

        return run

    def close(self) -> None:
        self.bullet.disconnect(self.client)


def _rapier(made: Heap, frame: Floats, count: int) -> Callable[[], None]:
    """So many steps of 1/120 s from this frame on; no body sleeps."""
    import rapier3d as rapier

    world = rapier.PhysicsWorld(gravity=(0.0, 0.0, -9.81))
    world.set_num_threads(1)
    world.integration_parameters.dt = 1.0 / 120.0
    for x, y, z, offset in made.planes.tolist():
        half_space = rapier.Collider.halfspace((x, y, z)).translation((offset * x, offset * y, offset * z))
        world.add_collider(half_space.friction(0.9))
    for size, at in zip(made.half.tolist(), frame.tolist(), strict=True):
        place: Any = rapier.Isometry3(tuple(at[:3]), rapier.Rotation3.from_quaternion(*at[3:]))
        body = rapier.RigidBody.dynamic().position(place).can_sleep(False)
        world.add_body(body, [rapier.Collider.cuboid(*size).friction(0.9)])

    def run() -> None:
        for _ in range(count):
            world.step()

    return run


def run(size: str) -> None:
    """Heaps of each size, moved and not."""
    numbers, count, rounds = _SIZES[size]
    report = Report("contacts")
    with one_core():
        for number in numbers:
            made, frames = heap(number, count)
            bullet = BulletHeap(made, frames) if installed("pybullet") else None
            try:
                _race(report, made, frames, rounds, bullet)
            finally:
                if bullet is not None:
                    bullet.close()
        _on_terrain(report, _HILLS[size], 100, rounds)
    report.save()


def terrain(side: int, boxes: int, seed: int = 0) -> tuple[thud.TriangleMesh, thud.HeightField, Floats]:
    """Rough hills of `side` cells of a metre a side as a mesh and as a field, and the poses of boxes of a metre that lie on
    them, 5 mm deep."""
    rng = np.random.default_rng(seed)
    x, y = np.meshgrid(np.arange(side + 1.0), np.arange(side + 1.0), indexing="ij")
    heights = 0.8 * np.sin(0.35 * x) * np.cos(0.27 * y) + 0.1 * rng.normal(size=x.shape)
    at = np.arange(x.size).reshape(x.shape)
    low = np.stack([at[:-1, :-1], at[1:, :-1], at[1:, 1:]], axis=-1).reshape(-1, 3)
    high = np.stack([at[:-1, :-1], at[1:, 1:], at[:-1, 1:]], axis=-1).reshape(-1, 3)
    mesh = thud.TriangleMesh(np.stack([x, y, heights], axis=-1).reshape(-1, 3), np.concatenate([low, high]))
    field = thud.HeightField(np.ascontiguousarray(heights.T), 1.0)
    poses = np.zeros((boxes, 7))
    poses[:, :2], poses[:, 2], poses[:, 3] = rng.uniform(2.0, side - 2.0, (boxes, 2)), 10.0, 1.0
    fall = thud.cast(mesh, _BOX, None, poses, motion_b=[0.0, 0.0, -20.0])
    poses[:, 2] -= 20.0 * fall.time + 0.005
    return mesh, field, poses


def _on_terrain(report: Report, side: int, boxes: int, rounds: int) -> None:
    """Boxes that stir on hills, in a world; coal is given the same pairs, with its terrain as a mesh of OBBRSS."""
    mesh, field, poses = terrain(side, boxes)
    rng = np.random.default_rng(1)
    frames = poses + rng.normal(size=(10, boxes, 7)) * ([1e-4] * 3 + [0.0] * 4)
    found = []
    for name, ground in (("thud, mesh", mesh), ("thud, height field", field)):
        world = thud.World(threads=1)
        world.add(ground, static=True)
        handles = world.add_many(_BOX, poses)

        def run(world: thud.World = world, handles: Any = handles) -> Timed:
            used = 0.0
            for frame in frames:
                world.set_poses(handles, frame)
                begin = time.perf_counter()
                world.contacts()
                used += time.perf_counter() - begin
            return Timed(used)

        found.append(Contestant(name, run, len(frames)))
    if installed("coal"):
        pairs = np.stack([np.zeros(boxes, np.int64), 1 + np.arange(boxes)], axis=1)
        still = np.concatenate([[[0.0, 0, 0, 1, 0, 0, 0]], poses])
        other = Coal([mesh, *[_BOX] * boxes], pairs, as_poses(still, "poses"))
        found.append(Contestant(_COAL, other.contacts, 1))
    scene = f"{boxes} boxes on hills of {len(np.asarray(mesh.faces)):,} triangles"
    report.race(scene, "contacts of a frame, all moved a little", _COAL if installed("coal") else "thud, mesh", found, rounds)


def _race(report: Report, made: Heap, frames: Floats, rounds: int, bullet: BulletHeap | None) -> None:
    scene, count = f"settled heap of {len(made.half):,} boxes", len(frames)
    found = [
        Contestant(_OURS, _ours(made, frames, False, 0.0), count),
        Contestant(_OURS_IN, _ours(made, frames, True, 0.0), count),
        Contestant(f"{_OURS}, margin 1 cm", _ours(made, frames, False, 0.01), count),
    ]
    if installed("coal"):
        found.append(Contestant(_COAL, _coal(made, frames), count))
    if bullet is not None:
        found.append(Contestant(_BULLET, bullet.run(True), count))
    if installed("rapier3d"):
        found.append(Contestant(_RAPIER, _rapier(made, frames[0], count), count))
    report.race(scene, "contacts of a frame, all moved a little", _BULLET if bullet is not None else _OURS, found, rounds)
    world, boxes = _world(made)
    world.set_poses(boxes, frames[0])
    answer = world.contacts()
    text = f"{world.stats.broad_pairs} pairs of boxes overlap, {len(answer.pairs)} touch at {len(answer.point)} points"
    report.note(scene, "contacts of a frame, all moved a little", text)
    found = [Contestant("thud", _still(made, frames[0], count), count)]
    if bullet is not None:
        found.append(Contestant("pybullet", bullet.run(False), count))
    report.race(scene, "contacts of a frame, nothing moved", "pybullet" if bullet is not None else "thud", found, rounds)
