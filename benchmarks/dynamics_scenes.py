"""Scenes for engines of rigid bodies: heaps in a bin, a wall of bricks, rag dolls. What each engine is given is the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

import thud
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

FRICTION, DENSITY = 0.5, 1_000.0

#: Half of a box's side, metres.
HALF = 0.25

#: Layers of a heap before it falls: heaps of all sizes are about as deep.
_LAYERS = 10

#: Half the thickness of floor and walls.
_THICK = 0.5

#: A body of a scene that stands has fallen when it has moved by this, the height of a brick.
_FALLEN = 0.2


@dataclass
class Joint:
    """A ball joint: a point of body a is one of body b."""

    a: int
    b: int
    at_a: Floats
    at_b: Floats


@dataclass
class Scene:
    """Bodies between static boxes, at rest."""

    name: str
    shapes: list[Shape]
    """Those that differ, each with its centre of mass at the origin."""
    which: Ints
    """(N,) the shape of each body."""
    poses: Floats
    """(N, 7)"""
    walls: list[tuple[Floats, Floats]]
    """(half extents, centre)"""
    parts: list[list[Floats]] = field(default_factory=list)
    """Convex parts of each shape, as points: for engines that have no moving meshes."""
    joints: list[Joint] = field(default_factory=list)
    stands: bool = False
    """Bodies are to stay where they begin."""

    def masses(self) -> Floats:
        """Of each shape, kg."""
        return np.array([thud.mass_properties(shape, DENSITY).mass for shape in self.shapes])

    def world(self, poses: Floats) -> tuple[thud.World, Ints]:
        """Ours of it, one thread, nothing sleeps."""
        world = thud.World(threads=1, sleep_after=None)
        for half, center in self.walls:
            world.add(thud.Box(half), thud.Pose(center), static=True, friction=FRICTION)
        shapes = [self.shapes[k] for k in self.which.tolist()]
        handles = world.add_many(shapes, poses, friction=FRICTION, density=DENSITY)
        for joint in self.joints:
            point = _points(poses[joint.a], joint.at_a)
            world.add_joint(thud.dynamics.Ball(point), int(handles[joint.b]), int(handles[joint.a]))
        return world, handles

    def penetrations(self, poses: Floats) -> Floats:
        """Depths of the contact points of bodies that overlap at these poses, metres: one judge for all engines."""
        depth = self.world(poses)[0].contacts().depth
        return depth[depth > 0.0]

    def moved(self, poses: Floats) -> float:
        """How far the body that moved most is from where it began, metres."""
        return float(np.linalg.norm(poses[:, :3] - self.poses[:, :3], axis=1).max())

    def fell(self, poses: Floats) -> bool:
        """Whether it was to stand, and does not."""
        return self.stands and self.moved(poses) > _FALLEN

    def gaps(self, poses: Floats) -> Floats:
        """How far apart the two points of each joint are, metres."""
        apart = [_points(poses[joint.a], joint.at_a) - _points(poses[joint.b], joint.at_b) for joint in self.joints]
        return np.linalg.norm(np.reshape(apart, (-1, 3)), axis=1)


def _points(pose: Floats, points: Floats) -> Floats:
    at = thud.Pose.from_array(pose)
    return at.position + points @ at.rotation.reshape(3, 3).T


def _bin(side: float, height: float) -> list[tuple[Floats, Floats]]:
    """A floor whose top is z = 0, and four walls that keep a square free."""
    wide, far = 0.5 * side + 2.0 * _THICK, 0.5 * side + _THICK
    made = [(np.array([wide, wide, _THICK]), np.array([0.0, 0.0, -_THICK]))]
    for x, y in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        half = np.array([_THICK if x else wide, _THICK if y else wide, 0.5 * height])
        made.append((half, np.array([x * far, y * far, 0.5 * height])))
    return made


def _places(rng: np.random.Generator, count: int, spacing: float, layers: int = _LAYERS) -> tuple[Floats, float]:
    """(N, 7) on a grid, turned at random, and the side of the bin they fall in."""
    across = max(2, int(np.ceil(np.sqrt(count / layers))))
    k = np.arange(count)
    poses = np.zeros((count, 7))
    grid = np.stack([k % across - 0.5 * (across - 1), k // across % across - 0.5 * (across - 1), k // across**2 + 0.5], axis=1)
    poses[:, :3] = spacing * grid
    turn = rng.normal(size=(count, 4))
    poses[:, 3:] = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    return poses, across * spacing


def _heap(name: str, shapes: list[Shape], radius: float, count: int, parts: list[list[Floats]] | None = None) -> Scene:
    """Shapes by turns, none larger than a sphere of this radius, above a bin."""
    poses, side = _places(np.random.default_rng(0), count, 2.02 * radius)
    return Scene(name, shapes, np.arange(count) % len(shapes), poses, _bin(side, poses[-1, 2] + side), parts or [])


def boxes(count: int) -> Scene:
    """A heap of cubes."""
    return _heap(f"heap of {count:,} boxes", [thud.Box([HALF] * 3)], HALF * 3**0.5, count)


def capsules(count: int) -> Scene:
    """A heap of capsules."""
    return _heap(f"heap of {count:,} capsules", [thud.Capsule(0.2, 0.25)], 0.45, count)


def hulls(count: int) -> Scene:
    """A heap of 30 kinds of hulls of 16 random points of a sphere."""
    rng = np.random.default_rng(1)
    made: list[Shape] = []
    radius = 0.0
    for _ in range(min(30, count)):
        points = rng.normal(size=(16, 3))
        points *= rng.uniform(0.7, 1.2, 3) * 0.35 / np.linalg.norm(points, axis=1, keepdims=True)
        center = thud.mass_properties(thud.ConvexHull(points), 1.0).center_of_mass
        made.append(thud.ConvexHull(points - center))
        radius = max(radius, float(np.linalg.norm(points - center, axis=1).max()))
    return _heap(f"heap of {count:,} hulls", made, radius, count)


def rings(count: int) -> Scene:
    """A heap of concave meshes: rings of 12 blocks. Their convex parts are exact."""
    sides, inner, outer, half = 12, 0.3, 0.5, 0.1
    angle = 2.0 * np.pi * np.arange(sides) / sides
    corners = [(inner, -half), (outer, -half), (outer, half), (inner, half)]
    points = np.array([[r * np.cos(a), r * np.sin(a), z] for a in angle for r, z in corners])
    faces = []
    for k in range(sides):
        for i in range(4):
            a, b = 4 * k + i, 4 * k + (i + 1) % 4
            c, d = (4 * k + 4 + i) % len(points), (4 * k + 4 + (i + 1) % 4) % len(points)
            faces += [[a, c, b], [b, c, d]]
    parts = [np.concatenate([points[4 * k : 4 * k + 4], np.roll(points, -4, axis=0)[4 * k : 4 * k + 4]]) for k in range(sides)]
    return _heap(
        f"heap of {count:,} concave meshes", [thud.TriangleMesh(points, np.array(faces))], np.hypot(outer, half), count, [parts]
    )


def wall(count: int) -> Scene:
    """20 layers of bricks, every other one shifted by a quarter of a brick: by half, those at the ends would tip."""
    half = np.array([0.25, 0.125, 0.1])
    layers = min(20, count)
    row = -(-count // layers)
    k = np.arange(count)
    poses = np.zeros((count, 7))
    poses[:, 0] = 2.0 * half[0] * (k % row - 0.5 * row + 0.25 * (k // row % 2))
    poses[:, 2], poses[:, 3] = half[2] * (2.0 * (k // row) + 1.0), 1.0
    floor = [(np.array([half[0] * row + 5.0, 5.0, _THICK]), np.array([0.0, 0.0, -_THICK]))]
    return Scene(f"wall of {count:,} bricks", [thud.Box(half)], np.zeros(count, np.int64), poses, floor, stands=True)


#: Capsules of a doll that stands: radius, half length, centre; all upright. Pelvis, chest, head, arms, legs.
_DOLL: list[tuple[float, float, tuple[float, float, float]]] = [
    (0.11, 0.04, (0.0, 0.0, 0.97)),
    (0.13, 0.10, (0.0, 0.0, 1.28)),
    (0.09, 0.03, (0.0, 0.0, 1.68)),
    *((0.05, 0.11, (side * 0.22, 0.0, 1.30)) for side in (-1.0, 1.0)),
    *((0.045, 0.11, (side * 0.22, 0.0, 1.00)) for side in (-1.0, 1.0)),
    *((0.07, 0.14, (side * 0.10, 0.0, 0.66)) for side in (-1.0, 1.0)),
    *((0.06, 0.15, (side * 0.10, 0.0, 0.23)) for side in (-1.0, 1.0)),
]  # fmt: skip

#: Ball joints of a doll: the two capsules and the point.
_DOLL_JOINTS: list[tuple[int, int, tuple[float, float, float]]] = [
    (0, 1, (0.0, 0.0, 1.10)),
    (1, 2, (0.0, 0.0, 1.53)),
    *((1, 3 + k, (side * 0.22, 0.0, 1.43)) for k, side in enumerate((-1.0, 1.0))),
    *((3 + k, 5 + k, (side * 0.22, 0.0, 1.15)) for k, side in enumerate((-1.0, 1.0))),
    *((0, 7 + k, (side * 0.10, 0.0, 0.87)) for k, side in enumerate((-1.0, 1.0))),
    *((7 + k, 9 + k, (side * 0.10, 0.0, 0.45)) for k, side in enumerate((-1.0, 1.0))),
]  # fmt: skip

#: Middle of a doll, and how far apart dolls begin.
_DOLL_MIDDLE, _DOLL_SPACING = np.array([0.0, 0.0, 0.9]), 1.9


def dolls(count: int) -> Scene:
    """Rag dolls of 11 capsules and 10 ball joints that fall into a bin."""
    rng = np.random.default_rng(2)
    places, side = _places(rng, count, _DOLL_SPACING, 6)
    shapes: list[Shape] = [thud.Capsule(radius, half) for radius, half, _ in _DOLL]
    centers = np.array([center for _, _, center in _DOLL]) - _DOLL_MIDDLE
    poses = np.concatenate([np.concatenate([_points(at, centers), np.tile(at[3:], (len(_DOLL), 1))], axis=1) for at in places])
    joints = []
    for first in range(0, len(poses), len(_DOLL)):
        for a, b, point in _DOLL_JOINTS:
            at = np.asarray(point) - _DOLL_MIDDLE
            joints.append(Joint(first + a, first + b, at - centers[a], at - centers[b]))
    which = np.arange(len(poses)) % len(_DOLL)
    walls = _bin(side, float(poses[:, 2].max()) + side)
    return Scene(f"{count:,} rag dolls", shapes, which, poses, walls, joints=joints)


SCENES: dict[str, Callable[[int], Scene]] = {
    "boxes": boxes, "hulls": hulls, "capsules": capsules, "rings": rings, "wall": wall, "dolls": dolls,
}  # fmt: skip
