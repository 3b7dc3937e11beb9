"""Meshes for the tests of bounding volumes: ordinary, flat, thin, far away, tiny, huge, of one triangle, of many alike."""

from __future__ import annotations

import numpy as np

import thud


def soup(count: int, seed: int, size: float = 0.3) -> tuple[np.ndarray, np.ndarray]:
    """`count` unconnected triangles in a unit cube."""
    rng = np.random.default_rng(seed)
    corners = rng.uniform(-1, 1, (count, 1, 3)) + rng.normal(0, size, (count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def blob(rings: int, seed: int, bumps: float = 0.4) -> tuple[np.ndarray, np.ndarray]:
    """A closed star-shaped surface of 2 * rings * (2 rings - 1) triangles, concave for bumps > 0."""
    rng = np.random.default_rng(seed)
    segments = 2 * rings
    theta = np.linspace(0, np.pi, rings + 1)[1:-1]
    phi = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    grid = np.stack(np.meshgrid(theta, phi, indexing="ij"), -1).reshape(-1, 2)
    points = np.stack(
        [np.sin(grid[:, 0]) * np.cos(grid[:, 1]), np.sin(grid[:, 0]) * np.sin(grid[:, 1]), np.cos(grid[:, 0])], axis=1
    )
    points = np.concatenate([points, [[0, 0, 1.0], [0, 0, -1.0]]])
    waves, phases = rng.normal(0, 3, (6, 3)), rng.uniform(0, 6, 6)
    points *= np.exp(bumps * np.sin(points @ waves.T + phases).mean(axis=1))[:, None]
    north, south = len(grid), len(grid) + 1
    faces = []
    for j in range(segments):
        k = (j + 1) % segments
        faces.append((north, j, k))
        faces.append((south, (rings - 2) * segments + k, (rings - 2) * segments + j))
        for i in range(rings - 2):
            a, b, c, d = i * segments + j, i * segments + k, (i + 1) * segments + j, (i + 1) * segments + k
            faces += [(a, c, d), (a, d, b)]
    return points, np.array(faces)


def odd_meshes() -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """Name -> vertices, faces."""
    vertices, faces = soup(60, 1)
    flat = vertices * [1, 1, 0]
    line = np.array([[i * 0.1, 0, 0] for i in range(30)] + [[0, 1e-3, 0]])
    line_faces = np.array([[i, i + 1, i + 2] for i in range(28)] + [[0, 1, 30]])
    same = np.tile([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], (9, 1))
    point = np.concatenate([np.full((15, 3), 0.25), [[0, 0, 0.0], [1, 0, 0], [0, 1, 0]]])
    return {
        "soup": (vertices, faces),
        "blob": blob(8, 2),
        "one": (np.array([[0, 0, 0], [1.0, 0.2, 0.1], [0.3, 0.9, -0.2]]), np.array([[0, 1, 2]])),
        "two": soup(2, 3),
        "flat": (flat, faces),
        "tilted": (flat @ np.linalg.qr(np.random.default_rng(4).normal(size=(3, 3)))[0].T, faces),
        "line": (line, line_faces),
        "all the same": (same, np.arange(27).reshape(-1, 3)),
        "points": (point, np.arange(18).reshape(-1, 3)),
        "far": (vertices + [1e6, -2e6, 3e6], faces),
        "tiny": (vertices * 1e-20, faces),
        "huge": (vertices * 1e13, faces),
        "needle": (vertices * [1, 1e-7, 1e-9], faces),
    }


def odd_mesh(name: str, **options: object) -> thud.TriangleMesh:
    return thud.TriangleMesh(*odd_meshes()[name], **options)  # type: ignore[arg-type]
