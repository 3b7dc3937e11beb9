"""Two objects at random poses in a bounded space, sized so that 60 % collide (section 5.2)."""

from __future__ import annotations

import numpy as np

import thud
from thud.gates import as_poses
from thud.mesh.volumes import surfaces_meet

COLLIDING = 0.6
IDENTITY = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])


def random_poses(count: int, space: float, seed: int) -> np.ndarray:
    """(count, 12) the second object's poses: anywhere in a cube of half size `space` about the first, turned at random."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    q /= np.linalg.norm(q, axis=1)[:, None]
    return as_poses(np.concatenate([rng.uniform(-space, space, (count, 3)), q], axis=1), "poses")


def colliding(mesh: thud.TriangleMesh, rows: np.ndarray) -> np.ndarray:
    """(N,) whether two of the mesh collide."""
    return surfaces_meet(mesh, mesh, IDENTITY, rows, bounding="obb", mappings=(None, None))[0]


def space_for(mesh: thud.TriangleMesh, count: int) -> float:
    """The half size at which COLLIDING of the configurations collide, by bisection on `count` of them."""
    low, high = 0.0, 4.0 * float(mesh.spheres[0, 3])
    for _ in range(12):
        middle = 0.5 * (low + high)
        if colliding(mesh, random_poses(count, middle, 1)).mean() > COLLIDING:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)
