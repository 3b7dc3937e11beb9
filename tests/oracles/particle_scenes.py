"""Random systems and colliders of every elementary kind."""

from __future__ import annotations

from typing import Any

import numpy as np

import thud
from thud import particles
from thud.particles import Disc, ParticleSystem, Plane, Polygon, Quadric, Rectangle, Solid

KINDS = (
    "plane", "rectangle", "disc", "polygon", "ellipsoid", "cylinder", "cone", "paraboloid", "saddle", "hyperboloid1",
    "hyperboloid2", "matrix", "box", "capsule", "cylinder solid", "cone solid", "hull",
)  # fmt: skip


def turn(rng: np.random.Generator) -> np.ndarray:
    """A random rotation matrix."""
    q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return q * np.sign(np.linalg.det(q))


def random_collider(rng: np.random.Generator, kind: str) -> Any:
    """One collider within some 5 m of the origin."""
    rest = {"restitution": float(rng.uniform(0.2, 1.0)), "friction": float(rng.choice([0.0, rng.uniform(0.0, 0.5)]))}
    at, r = rng.uniform(-4, 4, 3), rng.uniform(0.5, 2.0, 3)
    u, v, n = turn(rng).T
    rotation = turn(rng)
    pose = thud.Pose(at, [1.0, 0.0, 0.0, 0.0])
    if kind == "plane":
        return Plane([0, 0, rng.uniform(-6, -4)], [rng.normal() * 0.2, rng.normal() * 0.2, 1], **rest)
    if kind == "rectangle":
        return Rectangle(at, 4 * u, 3 * v + u, **rest)
    if kind == "disc":
        return Disc(at, n, r[0] + 1, **rest)
    if kind == "polygon":
        outline = np.array([[0, 0], [4, 0], [4, 1], [1, 1], [1, 3], [0, 3]]) + rng.uniform(-0.2, 0.2, (6, 2))
        hole = np.array([[2, 0.3], [3, 0.3], [3, 0.7], [2, 0.7]])
        return Polygon(at + outline @ [u, v], holes=[at + hole @ [u, v]], **rest)
    if kind == "ellipsoid":
        return Quadric.ellipsoid(at, r, rotation=rotation, **rest)
    if kind == "cylinder":
        return Quadric.cylinder(at, r[:2], rng.choice([None, 2.0]), rotation=rotation, **rest)
    if kind == "cone":
        return Quadric.cone(at, r[:2], rng.choice([None, 3.0]), rotation=rotation, **rest)
    if kind in ("paraboloid", "saddle"):
        return Quadric.paraboloid(at, r[:2], rng.choice([None, 3.0]), hyperbolic=kind == "saddle", rotation=rotation, **rest)
    if kind in ("hyperboloid1", "hyperboloid2"):
        return Quadric.hyperboloid(at, r, int(kind[-1]), 3.0, rotation=rotation, **rest)
    if kind == "matrix":
        matrix = np.diag([*r, -1.0])
        matrix[:3, :3] = rotation @ matrix[:3, :3] @ rotation.T
        return Quadric(0.5 * (matrix + matrix.T), at, **rest)
    shape = {
        "box": lambda: thud.Box(r),
        "capsule": lambda: thud.Capsule(r[0], r[1]),
        "cylinder solid": lambda: thud.Cylinder(r[0], r[1]),
        "cone solid": lambda: thud.Cone(r[0], r[1]),
        "hull": lambda: thud.ConvexHull(rng.normal(size=(12, 3)) * 1.5),
    }[kind]()
    return Solid(shape, pose, **rest)


def random_system(rng: np.random.Generator, count: int, *, second_order: bool, bounces: int | None) -> ParticleSystem:
    """Particles that rain on those colliders, with spreads, lifetimes and births; None: removed at the first impact."""
    position = rng.uniform(-5, 5, (count, 3)) + [0, 0, 6]
    velocity = rng.normal(size=(count, 3)) * [2, 2, 1] + [0, 0, -5]
    response: dict[str, Any] = (
        {"response": "remove"} if bounces is None else {"response": "bounce", "bounces": bounces, "rest": "stop"}
    )
    return particles.ParticleSystem(
        position, velocity, [0.3, 0, -9.8] if second_order else None, rng.uniform(1.0, 3.0, count), rng.uniform(0, 1, count),
        seed=int(rng.integers(2**63)), position_spread=rng.uniform(0, 1, 3), velocity_spread=rng.uniform(0, 1, 3), **response,
    )  # fmt: skip


def random_scene(seed: int, count: int = 400) -> tuple[ParticleSystem, list[Any]]:
    """A system and three to twelve colliders."""
    rng = np.random.default_rng(seed)
    kinds = rng.choice(KINDS, int(rng.integers(3, 13)))
    colliders = [random_collider(rng, str(kind)) for kind in kinds]
    bounces = rng.choice([None, 0, 1, 3])
    return random_system(rng, count, second_order=bool(seed % 2), bounces=bounces), colliders
