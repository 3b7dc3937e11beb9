"""Edges and places of a mesh, against NumPy's `unique`, which shares nothing with the kernels."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.bvh.edge_table import edge_table, weld
from thud.shapes.mesh_connectivity import closed_by_places, same_places
from thud.shapes.mesh_problems import find_problems


def expected(faces: np.ndarray) -> tuple[np.ndarray, bool, bool]:
    directed = faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2)
    edges, which, uses = np.unique(np.sort(directed, axis=1), axis=0, return_inverse=True, return_counts=True)
    balance = np.bincount(which.reshape(-1), np.where(directed[:, 0] < directed[:, 1], 1.0, -1.0))
    return edges, bool((balance == 0).all()), bool((uses % 2 == 0).all())


def sphere(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """A closed grid over a sphere: a pole is one vertex of many triangles."""
    u, v = np.meshgrid(
        np.linspace(0, np.pi, rows + 1)[1:-1], np.linspace(0, 2 * np.pi, 2 * rows, endpoint=False), indexing="ij"
    )
    points = np.stack([np.sin(u) * np.cos(v), np.sin(u) * np.sin(v), np.cos(u)], axis=-1).reshape(-1, 3)
    points = np.concatenate([points, [[0, 0, 1.0], [0, 0, -1.0]]])
    n, faces = 2 * rows, []
    top, bottom = len(points) - 2, len(points) - 1
    for j in range(n):
        k = (j + 1) % n
        faces += [[top, j, k], [bottom, (rows - 2) * n + k, (rows - 2) * n + j]]
        for i in range(rows - 2):
            a, b, c, d = i * n + j, i * n + k, (i + 1) * n + j, (i + 1) * n + k
            faces += [[a, c, b], [b, c, d]]
    return points, np.array(faces)


@pytest.mark.parametrize("seed", range(8))
def test_edges_of_random_triangles(seed: int) -> None:
    rng = np.random.default_rng(seed)
    vertices = int(rng.choice([3, 5, 40, 1000]))
    # Among them degenerate and repeated triangles.
    faces = rng.integers(0, vertices, (int(rng.choice([1, 7, 60, 3000])), 3))
    faces = np.concatenate([faces, faces[::3], faces[::4, ::-1]])
    found = edge_table(np.ascontiguousarray(faces), vertices)
    edges, balanced, even = expected(faces)
    np.testing.assert_array_equal(found[0], edges)
    assert found[1:] == (balanced, even)


def test_edges_of_a_closed_mesh_and_of_a_fan() -> None:
    points, faces = sphere(40)
    edges, balanced, even = edge_table(faces, len(points))
    np.testing.assert_array_equal(edges, expected(faces)[0])
    assert balanced
    assert even
    assert not any(edge_table(faces[1:], len(points))[1:])
    # One vertex of very many triangles.
    rim = np.arange(1, 20_001)
    fan = np.stack([np.zeros_like(rim), rim, np.roll(rim, -1)], axis=1)
    np.testing.assert_array_equal(edge_table(fan, 20_001)[0], expected(fan)[0])


def test_places() -> None:
    rng = np.random.default_rng(3)
    for points in (
        rng.integers(-2, 3, (500, 3)).astype(np.float64),
        np.repeat(rng.normal(size=(300, 3)), 3, axis=0)[rng.permutation(900)],
        np.zeros((50, 3)) * np.where(np.arange(50) % 2, -1.0, 1.0)[:, None],
        np.array([[1e300, -1e300, 5e-324], [1e300, -1e300, 0.0], [1e300, -1e300, 5e-324]]),
        rng.normal(size=(1, 3)),
    ):
        first = weld(points)
        np.testing.assert_array_equal(points[first] + 0.0, points + 0.0)
        number = same_places(points)
        # The first of each place, and one for each place.
        np.testing.assert_array_equal(first, np.array([np.flatnonzero(number == k)[0] for k in number]))


@pytest.mark.parametrize("kind", ["closed", "soup", "open", "soup, open", "with slivers", "twice", "flipped"])
def test_closed_by_places_as_problems_say(kind: str) -> None:
    points, faces = sphere(12)
    if "open" in kind:
        faces = faces[:-1]
    if kind == "with slivers":
        faces = np.concatenate([faces, [[0, 0, 1], [2, 3, 2]]])
    if kind == "twice":
        faces = np.concatenate([faces, faces[:5]])
    if kind == "flipped":
        faces = np.concatenate([faces[:3, ::-1], faces[3:]])
    if "soup" in kind:
        points, faces = points[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
    problems = find_problems(points, faces, same_places(points))
    assert closed_by_places(points, faces) == problems.closed == (kind not in ("open", "soup, open", "twice"))
    assert thud.TriangleMesh(points, faces).is_closed == problems.closed
