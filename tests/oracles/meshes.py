"""Meshes to test with, and slow answers about pairs of them: every triangle against every other."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import thud
from thud import geometry

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def box_mesh(half: float | tuple[float, float, float] = 1.0) -> tuple[Floats, Ints]:
    """A closed box of 12 triangles."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    faces = [t for a, b, c, d in quads for t in ((a, b, c), (a, c, d))]
    return corners * half, np.array(faces)


def blob_mesh(rings: int, seed: int, roughness: float = 0.5) -> tuple[Floats, Ints]:
    """A closed, concave, bumpy ball with 4 rings (rings - 1) triangles, radius about 1."""
    rng = np.random.default_rng(seed)
    around = 2 * rings
    phi = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    theta = np.linspace(0.0, np.pi, rings + 1)[1:-1]
    ring = [[np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)] for t in theta for p in phi]
    unit = np.array([[0.0, 0.0, 1.0], *ring, [0.0, 0.0, -1.0]])
    waves, phase = 2.0 * rng.normal(size=(6, 3)), rng.uniform(0.0, 6.0, 6)
    radius = 1.0 + 0.5 * roughness * np.sin(unit @ waves.T + phase).sum(axis=1)
    radius = np.maximum(radius, 0.15)
    faces = [[0, 1 + j, 1 + (j + 1) % around] for j in range(around)]
    for i in range(rings - 2):
        for j in range(around):
            a, b = 1 + i * around + j, 1 + i * around + (j + 1) % around
            faces += [[a, a + around, b], [b, a + around, b + around]]
    last, first = len(unit) - 1, 1 + (rings - 2) * around
    faces += [[last, first + (j + 1) % around, first + j] for j in range(around)]
    return unit * radius[:, None], np.array(faces)


def soup_mesh(count: int, seed: int, size: float = 0.4) -> tuple[Floats, Ints]:
    """Triangles at random, none connected to another."""
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-1.0, 1.0, (count, 1, 3))
    corners = middle + size * rng.normal(size=(count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def placed_corners(mesh: thud.TriangleMesh, row: Floats) -> Floats:
    """(T, 3, 3) corners in the world for a pose row of 12."""
    return (np.asarray(mesh.vertices) @ row[:9].reshape(3, 3).T + row[9:])[np.asarray(mesh.faces)]


def meeting_triangles(a: Floats, b: Floats) -> Ints:
    """(M, 2) pairs of (T, 3, 3) triangles that meet, exactly, sorted."""
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij"))
    near = ((a.min(axis=1)[i] <= b.max(axis=1)[j]) & (a.max(axis=1)[i] >= b.min(axis=1)[j])).all(axis=1)
    i, j = i[near], j[near]
    if len(i) == 0:
        return np.empty((0, 2), dtype=np.int64)
    hit = geometry.triangle_triangle(a[i], b[j]).intersects
    return np.stack([i[hit], j[hit]], axis=1)


def surface_distance(a: Floats, b: Floats) -> float:
    """Smallest distance of (T, 3, 3) triangles."""
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(a)), np.arange(len(b)), indexing="ij"))
    return float(geometry.closest_triangle_triangle(a[i], b[j]).distance.min())


def convex_distance(shape: thud.shapes.Shape, pose: thud.Pose, corners: Floats, thickness: float = 1e-7) -> float:
    """Smallest distance of a convex shape to triangles, each thickened by an octahedron, since it may have no area; right
    to about the thickness."""
    best = np.inf
    pins = thickness * np.concatenate([np.eye(3), -np.eye(3)])
    for triangle in corners:
        thick = thud.ConvexHull((triangle[:, None] + pins).reshape(-1, 3))
        best = min(best, float(thud.distance(shape, thick, pose).distance[0]))
        if best == 0.0:
            break
    return best
