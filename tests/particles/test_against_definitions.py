"""Impacts of every class of collider against an oracle that knows the definitions alone: times within 1e-9 s."""

from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles import particle_impacts as oracle
from tests.particles.scenes import random_rotation, some_patches
from thud import particles as p
from thud.rotations import rotation_from_quaternion

#: Paths of each collider.
COUNT = 25

QUADRICS = ("ellipsoid", "cylinder", "cone", "paraboloid", "saddle", "hyperboloid1", "hyperboloid2")
SOLIDS = ("sphere", "ellipsoid", "box", "capsule", "cylinder", "cone", "half space", "hull", "compound")
KINDS = (
    "plane", "rectangle", "disc", "polygon", *QUADRICS, *(f"solid {kind}" for kind in SOLIDS), "mesh", "blobs", "skeleton",
    "terrain", "patches",
)  # fmt: skip


def make(kind: str, rng: np.random.Generator) -> tuple[Any, list[oracle.Sheet]]:
    """A collider within some 3 m of (2, 2, 0), and what the oracle has of it."""
    at, q = np.array([2.0, 2.0, 0.0]) + rng.uniform(-0.5, 0.5, 3), random_rotation(rng)
    turn = rotation_from_quaternion(q[None], "q")[0].reshape(3, 3)
    r = rng.uniform(0.6, 1.6, 3)
    u, v = turn[:, 0], turn[:, 1]
    if kind == "plane":
        return p.Plane(at, turn[:, 2]), oracle.plane(at, turn[:, 2])
    if kind == "rectangle":
        edges = 3.0 * u, 2.0 * v + u
        return p.Rectangle(at - 1.5 * u, *edges), oracle.rectangle(at - 1.5 * u, *edges)
    if kind == "disc":
        return p.Disc(at, turn[:, 2], 1.7), oracle.disc(at, turn[:, 2], 1.7)
    if kind == "polygon":
        outline = at + np.array([[-2, -2], [2, -2], [2, 2], [0.3, 0.2], [-2, 2]]) @ np.array([u, v])
        hole = at + np.array([[-1, -1], [1, -1], [0.5, -0.2]]) @ np.array([u, v])
        return p.Polygon(outline, [hole]), oracle.polygon(outline, [hole], u, v)
    if kind in QUADRICS:
        half = 1.8
        made = {
            "ellipsoid": lambda: (p.Quadric.ellipsoid(at, r, rotation=q), (-np.inf, np.inf)),
            "cylinder": lambda: (p.Quadric.cylinder(at, r[:2], half, rotation=q), (-half, half)),
            "cone": lambda: (p.Quadric.cone(at, r[:2], half, rotation=q), (-half, 0.0)),
            "paraboloid": lambda: (p.Quadric.paraboloid(at, r[:2], half, rotation=q), (0.0, half)),
            "saddle": lambda: (p.Quadric.paraboloid(at, r[:2], half, hyperbolic=True, rotation=q), (-half, half)),
            "hyperboloid1": lambda: (p.Quadric.hyperboloid(at, r, 1, half, rotation=q), (-half, half)),
            "hyperboloid2": lambda: (p.Quadric.hyperboloid(at, r, 2, half, rotation=q), (-half, half)),
        }[kind]()
        return made[0], oracle.quadric(kind, at, turn, r, *made[1])
    pose = thud.Pose(at, q)
    points = rng.normal(size=(14, 3)) * 1.2
    shapes: dict[str, tuple[Any, Any]] = {
        "sphere": (thud.Sphere(float(r[0])), r[0]),
        "ellipsoid": (thud.Ellipsoid(r), r),
        "box": (thud.Box(r), r),
        "capsule": (thud.Capsule(float(r[0]), float(r[1])), r),
        "cylinder": (thud.Cylinder(float(r[0]), float(r[1])), r),
        "cone": (thud.Cone(float(r[0]), float(r[1])), r),
        "half space": (thud.HalfSpace([0.6, 0.0, 0.8], 0.3), [0.6, 0.0, 0.8, 0.3]),
        "hull": (thud.ConvexHull(points), oracle.hull_of(points)),
    }
    if kind == "solid compound":
        parts = [shapes["box"], shapes["capsule"]]
        apart = np.array([[-1.2, 0, 0], [1.2, 0.3, 0]])
        shape = thud.Compound([part[0] for part in parts], [thud.Pose(d) for d in apart])
        sheets = [
            *oracle.solid("box", at + turn @ apart[0], turn, r),
            *oracle.solid("capsule", at + turn @ apart[1], turn, r),
        ]
        return p.Solid(shape, pose), sheets
    if kind.startswith("solid"):
        name = kind.removeprefix("solid ")
        return p.Solid(shapes[name][0], pose), oracle.solid(name, at, turn, shapes[name][1])
    if kind == "mesh":
        hull = oracle.hull_of(points)
        shape = thud.TriangleMesh(points, hull.simplices)
        return p.Mesh(shape, pose), oracle.mesh((points @ turn.T + at)[hull.simplices])
    if kind == "blobs":
        centers, radii = at + rng.uniform(-1, 1, (7, 3)), rng.uniform(0.8, 1.6, 7)
        strengths = np.where(np.arange(7) < 5, 1.0, -0.6)
        return p.Blobs(centers, radii, strengths, 0.4), oracle.blobs(centers, radii, strengths, 0.4)
    if kind == "skeleton":
        ends, radii = at + rng.normal(size=(5, 2, 3)), rng.uniform(0.8, 1.6, 5)
        strengths = np.where(np.arange(5) < 4, 1.0, -0.6)
        return p.Skeleton(ends, radii, strengths, 0.4), oracle.skeleton(ends, radii, strengths, 0.4)
    if kind == "patches":
        vertices, tetrahedra, control, degree = some_patches(rng, at, size=1.4)
        return p.ImplicitPatches(vertices, tetrahedra, control), oracle.patches(vertices[tetrahedra], control, degree)
    # Displacements are kept in 32 bits: heights that these hold.
    z = np.round(rng.normal(size=(9, 9)) * 0.4 * 64.0) / 64.0
    surface = thud.terrain.from_heights(z, 0.5, samples=2).surface
    return p.Surface(surface), oracle.terrain(z, 0.5)


def compare(kind: str, motion: str, seed: int) -> tuple[int, int]:
    """Three colliders of a kind, COUNT paths each: how many are sure, and how many of them hit."""
    rng = np.random.default_rng(seed)
    hits = sure = 0
    for _ in range(3):
        collider, sheets = make(kind, rng)
        goal = [2.0, 2.0, 0.0] + rng.uniform(-1.5, 1.5, (COUNT, 3))
        x = goal + 6.0 * _directions(rng)
        a = np.zeros((COUNT, 3)) if motion == "straight" else rng.normal(size=(COUNT, 3)) * 4.0
        v, given = (goal - x) - 0.5 * a, {}
        if motion == "drag":
            # Rates from hardly any to a stop within a hundredth of the way; through the goal after a second or never.
            rate, wind = 10.0 ** rng.uniform(-3.0, 2.0, COUNT), rng.normal(size=(COUNT, 3)) * 3.0
            mass = rng.uniform(0.1, 2.0, COUNT)
            given = {"drag": rate * mass, "mass": mass, "wind": wind}
            last = wind + a / rate[:, None]
            v = (goal - x - last) * (rate / -np.expm1(-rate))[:, None] + last
        got = p.ParticleSystem(x, v, a if a.any() else None, lifetime=2.0, **given).impacts([collider], 0.0, 2.0)
        time = np.full(COUNT, np.inf)
        time[got.particle] = got.time
        for k in range(COUNT):
            path = oracle.straight(x[k], v[k])
            if motion == "curved":
                path = oracle.curved(x[k], v[k], a[k])
            elif motion == "drag":
                path = oracle.dragged(x[k], v[k], a[k], rate[k], wind[k])
            want, doubt = oracle.first_impact(sheets, path, 2.0)
            if doubt < (1e-3 if motion == "drag" else 1e-5):
                # Samples cannot tell a corner or a graze from a miss; the 50 digits of `test_accuracy.py` do.
                continue
            sure += 1
            hits += want < np.inf
            assert (time[k] < np.inf) == (want < np.inf), (kind, motion, seed, k, want, time[k])
            if want < np.inf:
                assert abs(time[k] - want) < 1e-9, (kind, motion, seed, k, want, time[k])
    return sure, hits


@pytest.mark.parametrize("motion", ["straight", "curved", "drag"])
@pytest.mark.parametrize("kind", KINDS)
def test_first_impacts(kind: str, motion: str) -> None:
    sure, hits = compare(kind, motion, KINDS.index(kind))
    assert sure > COUNT
    assert hits > 10


def _directions(rng: np.random.Generator) -> np.ndarray:
    d = rng.normal(size=(COUNT, 3))
    d[:, 2] = np.abs(d[:, 2])
    return d / np.linalg.norm(d, axis=1, keepdims=True)


if __name__ == "__main__":
    # More draws on demand: python -m tests.particles.test_against_definitions 20
    for draw in range(int(sys.argv[1])):
        for one in KINDS:
            print(draw, one, compare(one, "drag", 1000 + 100 * draw + KINDS.index(one)), flush=True)
