"""A world by the definition: a list of bodies, every pair asked by itself."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

import thud


@dataclass
class Body:
    shape: thud.shapes.shape.Shape
    pose: np.ndarray
    layer: int = 0
    mask: int = ~0
    static: bool = False


@dataclass
class Model:
    bodies: dict[int, Body] = field(default_factory=dict)

    def allowed(self) -> list[tuple[int, int]]:
        """Handles of the pairs that the rules allow, the lower row first, sorted by rows."""
        order = sorted(self.bodies, key=lambda handle: handle & 0xFFFFFFFF)
        found = []
        for a, b in combinations(order, 2):
            x, y = self.bodies[a], self.bodies[b]
            if x.mask >> y.layer & 1 and y.mask >> x.layer & 1 and not (x.static and y.static):
                found.append((a, b))
        return found

    def intersecting(self) -> list[tuple[int, int]]:
        """Those of them that meet."""
        return [
            (a, b)
            for a, b in self.allowed()
            if thud.intersects(self.bodies[a].shape, self.bodies[b].shape, self.bodies[a].pose, self.bodies[b].pose)[0]
        ]


def random_pose(rng: np.random.Generator, space: float) -> np.ndarray:
    """(7,) somewhere in a cube, turned at random."""
    q = rng.normal(size=4)
    return np.concatenate([rng.uniform(-space, space, 3), q / np.linalg.norm(q)])


def some_shapes() -> list[thud.shapes.shape.Shape]:
    """One of every kind, about 1 m large."""
    rng = np.random.default_rng(1)
    hull = thud.ConvexHull(rng.normal(size=(20, 3)) * 0.4)
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]]) - 0.25
    mesh = thud.TriangleMesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    sheet = thud.TriangleMesh(corners[:3], np.array([[0, 1, 2]]))
    pair = thud.Compound([thud.Sphere(0.3), thud.Box((0.1, 0.2, 0.4))], [thud.Pose((0.5, 0, 0)), thud.Pose((-0.4, 0, 0.1))])
    mixed = thud.Compound([mesh, thud.Sphere(0.2)], [thud.Pose((0.4, 0, 0)), thud.Pose((-0.4, 0, 0))])
    return [
        thud.Box((0.3, 0.4, 0.5)), thud.Sphere(0.5), thud.Capsule(0.2, 0.4), hull, thud.Cone(0.3, 0.4), thud.Cylinder(0.3, 0.4),
        thud.Ellipsoid((0.2, 0.3, 0.5)), mesh, sheet, pair, mixed, thud.HalfSpace((0, 0, 1), -1.5),
    ]  # fmt: skip
