"""Scenes of rigid bodies for pictures: a heap, an arch, dominoes, a wall that is shot at, rag dolls on a staircase."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial.transform import Rotation

import thud
from thud.dynamics import Ball, Hinge
from thud.report.camera import Camera

Floats = npt.NDArray[np.float64]

_GROUND = (0.72, 0.74, 0.70)
_PALETTE = np.array(
    [(0.88, 0.45, 0.30), (0.45, 0.62, 0.80), (0.93, 0.75, 0.35), (0.50, 0.70, 0.50), (0.70, 0.55, 0.75), (0.85, 0.85, 0.82)]
)


@dataclass
class Scene:
    """A world, how it is looked at, and when."""

    world: thud.World
    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    times: tuple[float, ...]
    """Seconds of the pictures."""

    def camera(self, width: int, height: int) -> Camera:
        """For pictures of so many pixels."""
        return Camera(self.eye, self.target, 0.9, width, height)

    def colors(self) -> Floats:
        """Of the bodies: grey for what stands still, else one after the other."""
        handles = self.world.handles()
        found = _PALETTE[np.arange(len(handles)) % len(_PALETTE)]
        found[self.world.static(handles)] = _GROUND
        return found


def _floor(friction: float = 0.6) -> thud.World:
    world = thud.World(threads=1)
    world.add(thud.Box((30, 30, 0.5)), thud.Pose([0, 0, -0.5]), static=True, friction=friction)
    return world


def heap() -> Scene:
    """250 bodies of all kinds fall on one another."""
    world, rng = _floor(), np.random.default_rng(0)
    hull = thud.ConvexHull(rng.normal(size=(24, 3)) * 0.17)
    cross = thud.Compound([thud.Box((0.32, 0.08, 0.08)), thud.Box((0.08, 0.32, 0.08)), thud.Box((0.08, 0.08, 0.32))])
    shapes = [thud.Box((0.25, 0.2, 0.15)), thud.Sphere(0.2), thud.Capsule(0.12, 0.25), hull, thud.Cylinder(0.2, 0.15), cross]
    turns = Rotation.random(250, random_state=1)
    for k in range(250):
        layer, place = divmod(k, 9)
        at = [0.75 * (place % 3 - 1), 0.75 * (place // 3 - 1), 0.6 + 0.75 * layer]
        pose = thud.Pose.from_scipy(np.array(at) + rng.uniform(-0.05, 0.05, 3), turns[k])
        world.add(shapes[k % len(shapes)], pose, friction=0.5)
    return Scene(world, (7.0, -9.0, 5.0), (0.0, 0.0, 0.9), (0.6, 1.4, 2.4, 6.0))


def arch() -> Scene:
    """21 stones, held by friction; then a ball hits them."""
    world, inner, thick, stones = _floor(0.7), 5.0, 1.0, 21
    for k in range(stones):
        angles = (math.pi * k / stones, math.pi * (k + 1) / stones)
        corners = [[r * math.cos(a), y, r * math.sin(a)] for r in (inner, inner + thick) for a in angles for y in (-0.5, 0.5)]
        middle = np.mean(corners, axis=0)
        world.add(thud.ConvexHull(np.array(corners) - middle), thud.Pose(middle), friction=0.7)
    # From far enough to arrive after three seconds.
    world.add(thud.Sphere(0.5), thud.Pose([0.5, -25.0, 5.5]), velocity=(0.0, 8.0, 14.7), density=3000.0)
    return Scene(world, (9.0, -14.0, 6.0), (0.0, 0.0, 3.0), (0.1, 2.9, 3.4, 5.0))


def dominoes() -> Scene:
    """A row that bends."""
    world = _floor()
    turn = np.concatenate([np.zeros(14), np.full(18, math.pi / 18), np.zeros(14)])
    heading, at = 0.0, np.array([-4.0, -1.7])
    for k, bend in enumerate(turn):
        heading += bend
        at = at + 0.3 * np.array([math.cos(heading), math.sin(heading)])
        pose = thud.Pose.from_rotation_vector([*at, 0.4], [0.0, 0.0, heading])
        push = (0.0, 2.5, 0.0) if k == 0 else (0.0, 0.0, 0.0)
        world.add(thud.Box((0.04, 0.2, 0.4)), pose, friction=0.4, angular_velocity=push)
    return Scene(world, (1.0, -7.5, 4.5), (-0.6, 0.0, 0.2), (0.3, 1.3, 2.4, 4.0))


def wall() -> Scene:
    """Bricks in a bond, and a heavy ball."""
    world, brick = _floor(0.7), thud.Box((0.25, 0.12, 0.1))
    for row in range(10):
        for k in range(12):
            world.add(brick, thud.Pose([0.5 * (k - 5.5) + 0.25 * (row % 2), 0.0, 0.1 + 0.2 * row]), friction=0.7)
    world.add(thud.Sphere(0.35), thud.Pose([0.6, -9.5, 1.0]), velocity=(0.0, 12.0, 3.0), density=4000.0)
    return Scene(world, (-4.5, -6.5, 3.0), (0.2, 0.3, 0.7), (0.5, 0.9, 1.3, 3.0))


def _doll(world: thud.World, at: Floats, spin: Floats) -> None:
    """Trunk, head, and limbs of two parts each; ball joints with limits, hinges at elbows and knees."""

    def part(shape: thud.Shape, where: tuple[float, float, float], lying: bool = False) -> int:
        turn = [0.0, math.pi / 2, 0.0] if lying else [0.0, 0.0, 0.0]
        return world.add(
            shape,
            thud.Pose.from_rotation_vector(at + where, turn),
            friction=0.6,
            velocity=(0.0, 2.0, 0.0),
            angular_velocity=spin,
        )

    trunk = part(thud.Box((0.18, 0.11, 0.28)), (0.0, 0.0, 0.0))
    head = part(thud.Sphere(0.13), (0.0, 0.0, 0.45))
    world.add_joint(Ball(at + [0, 0, 0.3], swing=0.6, twist=(-0.8, 0.8)), head, trunk)
    for side in (-1.0, 1.0):
        arm, fore = thud.Capsule(0.05, 0.11), thud.Capsule(0.045, 0.11)
        upper = part(arm, (side * 0.36, 0.0, 0.22), True)
        lower = part(fore, (side * 0.68, 0.0, 0.22), True)
        world.add_joint(Ball(at + [side * 0.2, 0, 0.22], axis=(side, 0, 0), swing=1.4, twist=(-1.0, 1.0)), upper, trunk)
        world.add_joint(Hinge(at + [side * 0.52, 0, 0.22], (0, 0, side), limits=(-2.2, 0.05)), lower, upper)
        thigh = part(thud.Capsule(0.075, 0.14), (side * 0.1, 0.0, -0.52))
        shin = part(thud.Capsule(0.06, 0.15), (side * 0.1, 0.0, -0.95))
        world.add_joint(Ball(at + [side * 0.1, 0, -0.3], axis=(0, 0, -1), swing=1.2, twist=(-0.5, 0.5)), thigh, trunk)
        world.add_joint(Hinge(at + [side * 0.1, 0, -0.74], (1, 0, 0), limits=(-0.05, 2.2)), shin, thigh)


def rag_dolls() -> Scene:
    """Five of them fall down a staircase."""
    world = _floor()
    for k in range(10):
        half = 0.15 * (10 - k)
        world.add(thud.Box((3.0, 0.25, half)), thud.Pose([0.0, 0.5 * (k - 5), half]), static=True, friction=0.6)
    rng = np.random.default_rng(2)
    for k in range(5):
        _doll(
            world,
            np.array([1.1 * (k - 2), -2.0 + 0.3 * (k % 2), 4.6 + 0.2 * k]),
            np.append(rng.normal(size=2), 0.0),
        )
    return Scene(world, (8.0, 8.0, 4.5), (0.0, 0.8, 1.0), (0.3, 0.9, 1.6, 4.0))


def staircase_doll(at: Floats) -> thud.World:
    """One of them on the same staircase."""
    world = _floor()
    for k in range(10):
        half = 0.15 * (10 - k)
        world.add(thud.Box((3.0, 0.25, half)), thud.Pose([0.0, 0.5 * (k - 5), half]), static=True, friction=0.6)
    _doll(world, at, np.zeros(3))
    return world


SCENES: dict[str, Callable[[], Scene]] = {
    "heap": heap, "arch": arch, "dominoes": dominoes, "wall": wall, "rag dolls": rag_dolls,
}  # fmt: skip
