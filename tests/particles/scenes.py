"""Random particles and colliders of every elementary kind."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from scipy.spatial import Delaunay

import thud
from thud import particles as p


def random_rotation(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return q / np.linalg.norm(q)


def random_collider(rng: np.random.Generator, kind: int, scale: float = 1.0, far: float = 0.0):
    """Kind 0 to 15, about 2 x scale in size, within a scale of the point (far, far, far)."""
    at = far + scale * rng.uniform(-1, 1, size=3)
    normal = rng.normal(size=3)
    turn = random_rotation(rng)
    response = {"restitution": float(rng.uniform(0.2, 1.0)), "friction": float(rng.choice([0.0, 0.4]))}
    r = scale * rng.uniform(0.5, 2.0, size=3)
    if kind == 0:
        return p.Plane(at, normal, **response)
    if kind == 1:
        u, v = 3.0 * scale * rng.normal(size=(2, 3))
        return p.Rectangle(at - 0.5 * (u + v), u, v, **response)
    if kind == 2:
        return p.Disc(at, normal, scale * rng.uniform(0.5, 2.0), **response)
    if kind == 3:
        count = int(rng.integers(3, 9))
        angle = np.sort(rng.uniform(0, 2 * np.pi, size=count) * 0.02 + np.arange(count) * 2 * np.pi / count)
        ring = np.column_stack([np.cos(angle), np.sin(angle)]) * scale * rng.uniform(0.7, 2.0, size=(count, 1))
        u = np.cross(normal, [1.0, 0, 0])
        u /= np.linalg.norm(u)
        v = np.cross(normal / np.linalg.norm(normal), u)
        outline, hole = at + ring @ np.array([u, v]), at + 0.3 * ring @ np.array([u, v])
        return p.Polygon(outline, holes=[hole] if rng.random() < 0.5 else [], **response)
    if kind == 4:
        return p.Quadric.ellipsoid(at, r, rotation=turn, **response)
    if kind == 5:
        return p.Quadric.cylinder(at, r[:2], float(r[2]) if rng.random() < 0.7 else None, rotation=turn, **response)
    if kind == 6:
        return p.Quadric.cone(
            at, rng.uniform(0.3, 2.0, size=2), float(r[2]) if rng.random() < 0.7 else None, rotation=turn, **response
        )
    if kind == 7:
        shape = r[:2] / np.sqrt(scale)
        return p.Quadric.paraboloid(at, shape, float(r[2]) if rng.random() < 0.7 else None, rotation=turn, **response)
    if kind == 8:
        return p.Quadric.paraboloid(at, r[:2] / np.sqrt(scale), float(r[2]), hyperbolic=True, rotation=turn, **response)
    if kind in (9, 10):
        half = float(2.0 * r[2]) if rng.random() < 0.7 else None
        return p.Quadric.hyperboloid(at, r, kind - 8, half, rotation=turn, **response)
    if kind == 11:
        matrix = rng.normal(size=(4, 4))
        matrix = matrix + matrix.T
        matrix[:3, :3] /= scale * scale
        matrix[:3, 3] /= scale
        matrix[3, :3] /= scale
        return p.Quadric(matrix, at, **response)
    pose = thud.Pose(at, turn)
    shapes = (
        thud.Box(r),
        thud.Capsule(float(r[0]), float(r[1])),
        thud.Cylinder(float(r[0]), float(r[1])),
        thud.Cone(float(r[0]), float(r[1])),
        thud.ConvexHull(scale * rng.normal(size=(12, 3))),
    )
    return p.Solid(shapes[kind - 12], pose, **response)


KINDS = 17


def random_paths(rng: np.random.Generator, count: int, scale: float = 1.0, far: float = 0.0, curved: bool = True):
    """Starts, velocities and accelerations of paths that come through the middle within a second or so."""
    x = far + scale * rng.uniform(-5, 5, size=(count, 3))
    a = scale * rng.normal(size=(count, 3)) * 5.0 if curved else np.zeros((count, 3))
    target, when = far + scale * rng.uniform(-2, 2, size=(count, 3)), rng.uniform(0.3, 1.5, size=(count, 1))
    v = (target - x) / when - 0.5 * when * a
    return x, v, a


def some_patches(rng: np.random.Generator, at: Any, degree: int | None = None, size: float = 1.0) -> tuple[Any, Any, Any, int]:
    """(vertices, tetrahedra, control values, degree) about a point: Delaunay's tetrahedra of few points, with a bumpy ball."""
    degree = int(rng.integers(1, 4)) if degree is None else degree
    vertices = np.concatenate([rng.normal(size=(3, 3)), 2.5 * (np.arange(8)[:, None] // [1, 2, 4] % 2) - 1.25])
    tetrahedra = Delaunay(vertices).simplices.astype(np.int64)
    corners = vertices[tetrahedra]
    edges = corners[:, 1:] - corners[:, :1]
    tetrahedra = tetrahedra[np.abs(np.linalg.det(edges)) > 1e-3]
    powers = sorted((p for p in itertools.product(range(degree + 1), repeat=4) if sum(p) == degree), reverse=True)
    known: dict[Any, float] = {}
    control = np.empty((len(tetrahedra), len(powers)))
    for row, corner in enumerate(tetrahedra):
        for k, power in enumerate(powers):
            # What stands on a face is known by the vertices that it belongs to, whichever tetrahedron asks.
            name = tuple(sorted((int(v), p) for v, p in zip(corner, power) if p))
            if name not in known:
                where = np.array(power) @ vertices[corner] / degree
                known[name] = float(where @ where - 2.5 + 0.3 * rng.normal())
            control[row, k] = known[name]
    return at + size * vertices, tetrahedra, control, degree
