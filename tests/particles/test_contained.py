"""Particles that bounce inside a closed mesh, inside blobs or above terrain never get out, however often they bounce."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh
from tests.oracles.patches import patches_of
from thud.particles import Blobs, Mesh, ParticleSystem, Surface
from thud.terrain import from_heights

COUNT = 20 if os.environ.get("THUD_TEST_SIZE") == "small" else 150

#: Points are rounded, and so may be this far outside, metres.
ROUNDED = 1e-13


def bounce(collider: Any, position: Any, velocity: Any, acceleration: Any, end: float) -> tuple[np.ndarray, int]:
    """(points of all impacts and places halfway and at the end, most bounces)."""
    system = ParticleSystem(position, velocity, acceleration, lifetime=end, response="bounce", bounces=10_000)
    impacts = system.impacts([collider], 0.0, end)
    places = [system.states(t, [collider]).position for t in (0.5 * end, 0.999 * end)]
    return np.concatenate([impacts.point, *places]), int(impacts.bounce.max())


@pytest.mark.parametrize("restitution", [1.0, 0.8])
@pytest.mark.parametrize("kind", ["box", "lattice", "blob"])
def test_in_a_mesh(kind: str, restitution: float) -> None:
    rng = np.random.default_rng(1)
    q = rng.normal(size=4)
    pose = thud.Pose([10.0, -5.0, 3.0], q / np.linalg.norm(q)) if kind != "lattice" else thud.Pose()
    mesh = thud.TriangleMesh(*(blob_mesh(10, 3, 0.3) if kind == "blob" else box_mesh(1.0)))
    middle = pose.position
    if kind == "lattice":
        # Along diagonals: into edges and corners, exactly.
        position, velocity = np.tile(middle, (COUNT, 1)), rng.integers(-2, 3, size=(COUNT, 3)).astype(float)
        acceleration = np.zeros(3)
    else:
        position, velocity = middle + rng.uniform(-0.1, 0.1, size=(COUNT, 3)), rng.normal(size=(COUNT, 3)) * 3.0
        acceleration = np.array([0.0, 0.0, -9.81])
    points, most = bounce(Mesh(mesh, pose, restitution=restitution), position, velocity, acceleration, 10.0)
    assert most > 10
    outside = points[~thud.contains(mesh, points, pose=pose)]
    if len(outside):
        assert thud.closest_point(mesh, outside, pose=pose).distance.max() < ROUNDED


def test_in_blobs() -> None:
    rng = np.random.default_rng(2)
    blobs = Blobs(rng.normal(size=(8, 3)) * 0.4, 1.3, 1.0, 0.3, restitution=1.0)
    position, velocity = rng.uniform(-0.1, 0.1, size=(COUNT, 3)), rng.normal(size=(COUNT, 3)) * 3.0
    points, most = bounce(blobs, position, velocity, np.array([0.0, 0.0, -9.81]), 5.0)
    assert most > 10
    assert blobs.value(points).min() > -1e-12


@pytest.mark.parametrize("restitution", [1.0, 0.7])
def test_above_terrain(restitution: float) -> None:
    rng = np.random.default_rng(3)
    z = rng.normal(size=(17, 17)) * 0.3
    # A basin.
    z[[0, -1]], z[:, [0, -1]] = 8.0, 8.0
    surface = from_heights(z, 1.0, samples=4).surface
    ground = np.empty(z.shape)
    for p in patches_of(surface)[0].reshape(-1, 3):
        ground[round(p[1]), round(p[0])] = p[2]
    position = np.column_stack([rng.uniform(5, 11, size=(COUNT, 2)), rng.uniform(2, 3, size=COUNT)])
    collider = Surface(surface, restitution=restitution)
    points, most = bounce(collider, position, rng.normal(size=(COUNT, 3)), np.array([0.0, 0.0, -9.81]), 5.0)
    assert most > 5
    x, y = points[:, 0], points[:, 1]
    assert ((x > 0) & (x < 16) & (y > 0) & (y < 16)).all()
    i, j = x.astype(int), y.astype(int)
    a, b = x - i, y - j
    below = (1 - a) * (1 - b) * ground[j, i] + a * (1 - b) * ground[j, i + 1]
    below += (1 - a) * b * ground[j + 1, i] + a * b * ground[j + 1, i + 1]
    assert (points[:, 2] - below).min() > -1e-12
