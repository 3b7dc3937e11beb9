"""Edges and places of a mesh, against NumPy's `unique`, which shares nothing with the kernels."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles import connectivity
from thud.bvh.edge_table import edge_table, edges_closed, part_vertices, weld


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
    check(np.ascontiguousarray(faces), vertices)
    assert len(part_vertices(np.ascontiguousarray(faces), vertices)) == connectivity.part_count(faces)


def check(faces: np.ndarray, vertices: int) -> None:
    found, expected = edge_table(faces, vertices), connectivity.edges(faces)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(ours, theirs)
    assert edges_closed(faces, vertices) == (bool((expected[2] == 0).all()), bool((expected[1] % 2 == 0).all()))


def test_edges_of_a_closed_mesh_and_of_a_fan() -> None:
    points, faces = sphere(40)
    check(faces, len(points))
    assert edges_closed(faces, len(points)) == (True, True)
    assert edges_closed(np.ascontiguousarray(faces[1:]), len(points)) == (False, False)
    # One vertex of very many triangles.
    rim = np.arange(1, 20_001)
    check(np.stack([np.zeros_like(rim), rim, np.roll(rim, -1)], axis=1), 20_001)


def test_a_vertex_of_each_part() -> None:
    points, faces = sphere(10)
    rng = np.random.default_rng(8)
    many = np.concatenate([faces + k * len(points) for k in range(7)])[rng.permutation(7 * len(faces))]
    chosen = part_vertices(np.ascontiguousarray(many), 7 * len(points))
    assert sorted((chosen // len(points)).tolist()) == list(range(7))
    # In the order in which the parts appear.
    _, first = np.unique(many[:, 0] // len(points), return_index=True)
    np.testing.assert_array_equal(chosen, many[np.sort(first), 0])


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
        np.testing.assert_array_equal(first, connectivity.same_places(points))


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
    mesh = thud.TriangleMesh(points, faces)
    assert mesh.is_closed == mesh.problems().closed == (kind not in ("open", "soup, open", "twice"))
    assert len(mesh.component_points) == 1


@pytest.mark.parametrize("seed", range(12))
def test_problems_of_random_meshes(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, faces = sphere(int(rng.integers(3, 9)))
    points = np.concatenate([points, points[rng.integers(0, len(points), 6)], rng.normal(size=(3, 3))])
    # Vertices of other numbers in the same place, turned, repeated, missing and random triangles.
    faces = (
        np.where(rng.random(faces.shape) < 0.1, rng.integers(0, len(points), faces.shape), faces) if seed % 3 == 0 else faces
    )
    turned = rng.random(len(faces)) < (0.1 if seed % 2 else 1.0)
    faces = np.where(turned[:, None], faces[:, ::-1], faces)
    again = faces[rng.integers(0, len(faces), seed % 4)]
    faces = np.concatenate(
        [faces[seed % 5 :], again, np.roll(again, 1, axis=1), np.array([[0, 0, 1], [2, 3, 2], [4, 4, 4]])[: seed % 4]]
    )
    found = thud.TriangleMesh(points, faces).problems()
    for name, expected in connectivity.problems(points, faces.astype(np.int64)).items():
        np.testing.assert_array_equal(getattr(found, name), expected, err_msg=name)
