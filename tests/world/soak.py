"""A heap for an hour: bodies come (never into others) and go, are pushed and woken, are joined and break apart.

    python -m tests.world.soak --seconds 3600

All is seeded. Three things are watched: that every number is one, that memory does not grow, and that no energy comes from
nowhere. What is done to the heap puts energy in or takes it out by as much as `world.energy()` says before and after; what
steps add of themselves is summed up, gains only, and may come to 1 % of what was put in. Soft joints hold energy that `energy`
does not count, so all joints here are rigid; they let their bodies collide, so that none of them lie in each other when a joint
breaks.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial.transform import Rotation

import thud
from tests.oracles.meshes import box_mesh
from tests.world.endurance import GROWTH, resident
from thud.dynamics import Ball, Distance, Fixed, Hinge, Slider

DT = 1.0 / 60.0

#: Bodies, about; half the side of the bin, metres.
BODIES, SIDE = 60, 1.8

#: Energy that steps may make, as a part of what was put in.
GAIN = 0.01


def shapes(rng: np.random.Generator) -> list[thud.Shape]:
    """Some of each kind, of a size of about 0.4 m: convex, compound, concave meshes."""
    cross = thud.Compound([thud.Box((0.3, 0.08, 0.08)), thud.Box((0.08, 0.3, 0.08))])
    vertices, faces = box_mesh((0.2, 0.15, 0.1))
    return [
        thud.Box((0.2, 0.15, 0.1)), thud.Box((0.3, 0.06, 0.06)), thud.Sphere(0.18), thud.Capsule(0.1, 0.2),
        thud.Cylinder(0.15, 0.12), thud.ConvexHull(rng.normal(size=(16, 3)) * 0.12), cross,
        thud.TriangleMesh(vertices, faces), thud.Ellipsoid((0.22, 0.15, 0.12)),
    ]  # fmt: skip


@dataclass
class Soak:
    """A run, and what it has measured."""

    seed: int = 0
    world: thud.World = field(init=False)
    put_in: float = 0.0
    made: float = 0.0
    broken: int = 0
    added: int = 0
    removed: int = 0
    asleep: int = 0
    memory: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.rng = np.random.default_rng(self.seed)
        self.shapes = shapes(self.rng)
        self.world = thud.World(sleep_after=0.5)
        self.world.add(thud.HalfSpace((0.0, 0.0, 1.0)), static=True, friction=0.6)
        for normal in ((1, 0, 0), (-1, 0, 0), (0, 1, 0), (0, -1, 0)):
            self.world.add(thud.HalfSpace(normal, -SIDE), static=True, friction=0.3)
        self.bodies: list[int] = []

    def total(self) -> float:
        """Joules."""
        self.world._fill_masses()
        kinetic, potential = self.world.energy()
        return kinetic + potential

    def add(self) -> None:
        """A body above the heap, where there is room."""
        shape = self.shapes[self.rng.integers(len(self.shapes))]
        place = np.append(self.rng.uniform(-SIDE + 0.5, SIDE - 0.5, 2), self.rng.uniform(1.0, 3.0))
        pose = thud.Pose.from_scipy(place, Rotation.random(random_state=int(self.rng.integers(2**31))))
        if len(self.world.overlap(shape, pose)[0]):
            return
        velocity = self.rng.normal(size=3) * (10.0 if self.rng.random() < 0.1 else 1.0)
        velocity[2] = -abs(velocity[2])
        handle = self.world.add(
            shape, pose, velocity=velocity, angular_velocity=self.rng.normal(size=3) * 3.0,
            friction=float(self.rng.uniform(0.0, 1.0)), restitution=float(self.rng.choice([0.0, 0.0, 0.5, 0.9])),
        )  # fmt: skip
        self.bodies.append(handle)
        self.added += 1

    def disturb(self) -> None:
        """One of the things that happen to a heap."""
        world, rng = self.world, self.rng
        what = rng.integers(6)
        if len(self.bodies) < BODIES or what == 0:
            self.add()
        if len(self.bodies) < 4:
            return
        one, two = (self.bodies[k] for k in rng.choice(len(self.bodies), 2, replace=False))
        if what == 1 or len(self.bodies) > 1.2 * BODIES:
            world.remove(one)
            self.bodies.remove(one)
            self.removed += 1
        elif what == 2:
            world.apply_impulse(one, rng.normal(size=3) * 20.0, world.poses([one])[:, :3] + rng.normal(size=(1, 3)) * 0.1)
        elif what == 3:
            world.wake()
        elif what == 4 and len(world.joints()) < 20:
            self.join(one, two)
        elif what == 5 and len(world.joints()):
            world.remove_joint([rng.choice(world.joints())])

    def join(self, one: int, two: int) -> None:
        """Two bodies by a joint of any kind that breaks under some load."""
        a, b = self.world.poses([one, two])[:, :3]
        middle, axis = 0.5 * (a + b), self.rng.normal(size=3)
        settings = {"break_force": 10.0 ** self.rng.uniform(2.0, 4.0), "collide": True}
        joint = [
            Ball(middle, **settings), Hinge(middle, axis, **settings), Slider(middle, axis, **settings),
            Fixed(middle, **settings), Distance(a, b, limits=(0.0, float(np.linalg.norm(a - b))), **settings),
        ][self.rng.integers(5)]  # fmt: skip
        if np.linalg.norm(a - b) < 1.5:
            self.world.add_joint(joint, one, two)

    def step(self) -> None:
        """Perhaps something happens; then time goes on."""
        before = self.total()
        if self.rng.random() < 0.1:
            self.disturb()
        start = self.total()
        self.put_in += max(start - before, 0.0)
        self.world.step(DT)
        end = self.total()
        assert np.isfinite(end), f"energy {end} at {self.world.time:.2f} s"
        assert not len(self.world.lost), f"lost {self.world.lost} at {self.world.time:.2f} s"
        self.made += max(end - start, 0.0)
        self.broken += len(self.world.broken)
        self.asleep += int(self.world.asleep(self.bodies).sum()) if self.bodies else 0

    def run(self, seconds: float, say: bool = False) -> None:
        """So long, as the world's time goes."""
        begin, steps = time.perf_counter(), round(seconds / DT)
        for k in range(steps):
            self.step()
            if k % max(1, steps // 50) == 0:
                gc.collect()
                self.memory.append(resident())
                if say:
                    print(
                        f"{self.world.time:7.0f} s, {time.perf_counter() - begin:5.0f} s of work: {len(self.bodies)} bodies,"
                        f" {len(self.world.joints())} joints, {self.broken} broken; put in {self.put_in:.0f} J, made"
                        f" {self.made:.2f} J; {self.memory[-1] / 2**20:.0f} MB",
                        flush=True,
                    )  # fmt: skip

    def check(self) -> None:
        """What must hold after it."""
        poses = self.world.poses(self.bodies)
        assert np.isfinite(poses).all()
        low = poses[:, 2].min()
        assert low > -0.05, f"a body is below the floor, at {low}"
        assert (np.abs(poses[:, :2]) < SIDE + 0.05).all()
        assert self.made <= GAIN * self.put_in, f"steps made {self.made:.3f} J of {self.put_in:.1f} J that were put in"
        fifth = len(self.memory) // 5
        if fifth and self.memory[0]:
            first, last = max(self.memory[fifth : 2 * fifth]), max(self.memory[-fifth:])
            assert last <= (1.0 + GROWTH) * first, f"memory grew from {first} to {last} bytes"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=3600.0)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    soak = Soak(arguments.seed)
    soak.run(arguments.seconds, say=True)
    soak.check()
    print("holds")


if __name__ == "__main__":
    sys.exit(main())
