"""Three closed, concave models of about 17,000 faces each, in place of the scans that the papers use.

Sizes are those of [Vogiannou] Figure 6: 17,296 (armadillo), 17,490 -> 17,496 (bunny) and 16,380 (dragon) faces.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Mesh = tuple[npt.NDArray[np.float64], npt.NDArray[np.int64]]


def _sphere(vertices: int) -> Mesh:
    """`vertices` points spread evenly over the unit sphere, and 2 vertices - 4 triangles, counter-clockwise from outside."""
    from scipy.spatial import ConvexHull

    k = np.arange(vertices) + 0.5
    z, phi = 1 - 2 * k / vertices, np.pi * (1 + 5**0.5) * k
    points = np.stack([np.sqrt(1 - z * z) * np.cos(phi), np.sqrt(1 - z * z) * np.sin(phi), z], axis=1)
    faces = ConvexHull(points).simplices.astype(np.int64)
    a, b, c = (points[faces[:, i]] for i in range(3))
    inward = np.einsum("ij,ij->i", np.cross(b - a, c - a), a) < 0
    faces[inward] = faces[inward][:, ::-1]
    return points, faces


def tentacles(vertices: int = 8650) -> Mesh:
    """A body with eight arms of several lengths: the figure with limbs."""
    points, faces = _sphere(vertices)
    rng = np.random.default_rng(11)
    axes = rng.normal(size=(8, 3))
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    lengths = rng.uniform(0.6, 1.5, 8)
    radius = 0.45 + (lengths * np.exp(18 * (points @ axes.T - 1))).sum(axis=1)
    return points * radius[:, None], faces


def bumpy(vertices: int = 8750) -> Mesh:
    """A body with broad bumps, dents and two ears: the least concave of the three."""
    points, faces = _sphere(vertices)
    rng = np.random.default_rng(5)
    waves, phases = rng.normal(0, 2.5, (8, 3)), rng.uniform(0, 6, 8)
    radius = np.exp(0.5 * np.sin(points @ waves.T + phases).mean(axis=1))
    for ear in ([0.35, 0.1, 0.93], [-0.35, 0.1, 0.93]):
        radius += 0.8 * np.exp(40 * (points @ ear / np.linalg.norm(ear) - 1))
    return points * radius[:, None] * [1.0, 0.8, 0.9], faces


def knot(along: int = 390, around: int = 21) -> Mesh:
    """A tube in a trefoil knot, thicker at one end: the winding body."""
    t = 2 * np.pi * np.arange(along) / along
    center = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    tangent = np.roll(center, -1, axis=0) - np.roll(center, 1, axis=0)
    tangent /= np.linalg.norm(tangent, axis=1)[:, None]
    side = np.cross(tangent, [0.0, 0.0, 1.0])
    side /= np.linalg.norm(side, axis=1)[:, None]
    up = np.cross(side, tangent)
    s = 2 * np.pi * np.arange(around) / around
    thick = (0.42 + 0.12 * np.cos(t) + 0.05 * np.cos(9 * t))[:, None, None]
    ring = np.cos(s)[None, :, None] * side[:, None] + np.sin(s)[None, :, None] * up[:, None]
    points = (center[:, None] + thick * ring).reshape(-1, 3)
    i, j = (x.ravel() for x in np.meshgrid(np.arange(along), np.arange(around), indexing="ij"))
    a, b = i * around + j, i * around + (j + 1) % around
    c, d = (i + 1) % along * around + j, (i + 1) % along * around + (j + 1) % around
    faces = np.concatenate([np.stack([a, d, b], axis=1), np.stack([a, c, d], axis=1)])
    return points / 3.0, faces


def small_models() -> dict[str, Mesh]:
    """Coarse ones, for smoke tests."""
    return {"tentacles": tentacles(500), "bumpy": bumpy(500), "knot": knot(60, 9)}


def models() -> dict[str, Mesh]:
    """Name -> vertices, faces."""
    return {"tentacles": tentacles(), "bumpy": bumpy(), "knot": knot()}
