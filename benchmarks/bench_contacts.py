"""`World.contacts` of a settled heap of boxes on a floor, frame after frame, beside coal, pybullet and rapier3d. One thread.

The poses are recorded from pybullet (`tools/record_heap.py`): a calm heap that stirs. In one race every box has moved a little
since the last frame, in the other none has. coal is given the pairs whose boxes overlap and asked one by one; pybullet looks for
them itself and gives its points as tuples. What rapier3d is timed on is its whole step, contacts and solver, of the same heap:
it gives contacts by no other call that finds them all.
"""

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

Floats = npt.NDArray[np.float64]

#: (numbers of boxes, frames, rounds)
_SIZES = {"ci": ([40], 3, 2), "standard": ([600, 3_000], 20, 9), "full": ([600, 3_000, 10_000], 50, 15)}

#: A heap for those who have no pybullet.
_KEPT = Path(__file__).parents[1] / "tests" / "world" / "data" / "heap_600.npz"

_OURS, _OURS_IN, _COAL, _BULLET = "thud, moved before", "thud, poses in", "coal, pairs given", "pybullet, moved before"
_RAPIER = "rapier3d, whole step"


def heap(count: int, frames: int) -> tuple[Floats, Floats]:
    """(half extents (N, 3), poses (F, N, 7))."""
    if installed("pybullet"):
        from tools.record_heap import record

        half, poses = record(count, frames)
    else:
        with np.load(_KEPT) as file:
            half, poses = file["half"][:count], file["poses"][:frames, :count]
    turned = poses.astype(float)
    turned[..., 3:] /= np.linalg.norm(turned[..., 3:], axis=-1, keepdims=True)
    return half.astype(float), turned


def _world(half: Floats) -> tuple[thud.World, npt.NDArray[np.int64]]:
    world = thud.World(threads=1)
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    return world, world.add_many([thud.Box(size) for size in half], mass=1.0)


def _ours(half: Floats, frames: Floats, poses_in: bool, margin: float) -> Callable[[], Timed]:
    """To and fro through the frames; putting the poses in is timed or not."""
    world, boxes = _world(half)
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


def _still(half: Floats, frame: Floats, count: int) -> Callable[[], None]:
    """The same frame again and again."""
    world, boxes = _world(half)
    world.set_poses(boxes, frame)

    def run() -> None:
        for _ in range(count):
            world.contacts()

    return run


def _coal(half: Floats, frames: Floats) -> Callable[[], Timed]:
    """The first frame's pairs among the boxes, which are all but those of the others."""
    world, boxes = _world(half)
    world.set_poses(boxes, frames[0])
    pairs = world.pairs()
    pairs = pairs[pairs[:, 0] > 0] - 1
    other = Coal([thud.Box(size) for size in half], pairs, as_poses(frames[0], "poses"))

    def run() -> Timed:
        begin = time.perf_counter()
        for _ in frames:
            other.contacts()
        return Timed(time.perf_counter() - begin)

    return run


class BulletHeap:
    """pybullet with the same boxes on the same floor."""

    def __init__(self, half: Floats, frames: Floats) -> None:
        import pybullet

        self.bullet, self.client = pybullet, pybullet.connect(pybullet.DIRECT)
        here = {"physicsClientId": self.client}
        pybullet.createMultiBody(0, pybullet.createCollisionShape(pybullet.GEOM_PLANE, **here), **here)
        self.frames = [(frame[:, :3].tolist(), np.roll(frame[:, 3:], -1, axis=1).tolist()) for frame in frames]
        self.bodies = [
            pybullet.createMultiBody(
                1.0, pybullet.createCollisionShape(pybullet.GEOM_BOX, halfExtents=size, **here), basePosition=at,
                baseOrientation=turn, useMaximalCoordinates=1, **here,
            )
            for size, at, turn in zip(half.tolist(), *self.frames[0], strict=True)
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


def _rapier(half: Floats, frame: Floats, count: int) -> Callable[[], None]:
    """So many steps of 1/120 s from this frame on; no body sleeps."""
    import rapier3d as rapier

    world = rapier.PhysicsWorld(gravity=(0.0, 0.0, -9.81))
    world.set_num_threads(1)
    world.integration_parameters.dt = 1.0 / 120.0
    top = rapier.Collider.cuboid(1e3, 1e3, 1.0).translation((0.0, 0.0, -1.0))
    world.add_collider(top)
    for size, at in zip(half.tolist(), frame.tolist(), strict=True):
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
            half, frames = heap(number, count)
            bullet = BulletHeap(half, frames) if installed("pybullet") else None
            try:
                _race(report, half, frames, rounds, bullet)
            finally:
                if bullet is not None:
                    bullet.close()
    report.save()


def _race(report: Report, half: Floats, frames: Floats, rounds: int, bullet: BulletHeap | None) -> None:
    scene, count = f"settled heap of {len(half):,} boxes", len(frames)
    found = [
        Contestant(_OURS, _ours(half, frames, False, 0.0), count),
        Contestant(_OURS_IN, _ours(half, frames, True, 0.0), count),
        Contestant(f"{_OURS}, margin 1 cm", _ours(half, frames, False, 0.01), count),
    ]
    if installed("coal"):
        found.append(Contestant(_COAL, _coal(half, frames), count))
    if bullet is not None:
        found.append(Contestant(_BULLET, bullet.run(True), count))
    if installed("rapier3d"):
        found.append(Contestant(_RAPIER, _rapier(half, frames[0], count), count))
    report.race(scene, "contacts of a frame, all moved a little", _BULLET if bullet is not None else _OURS, found, rounds)
    world, boxes = _world(half)
    world.set_poses(boxes, frames[0])
    answer = world.contacts()
    text = f"{world.stats.broad_pairs} pairs of boxes overlap, {len(answer.pairs)} touch at {len(answer.point)} points"
    report.note(scene, "contacts of a frame, all moved a little", text)
    found = [Contestant("thud", _still(half, frames[0], count), count)]
    if bullet is not None:
        found.append(Contestant("pybullet", bullet.run(False), count))
    report.race(scene, "contacts of a frame, nothing moved", "pybullet" if bullet is not None else "thud", found, rounds)
