"""The grid of a mesh: rays from cell to cell against the tree's, walks, states."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.mesh_points import bumpy_sphere
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.partitions import BoxGrid, BoxOctree, MeshBsp, MeshGrid


def rays(rng: np.random.Generator, count: int) -> tuple[np.ndarray, np.ndarray]:
    """At the mesh, from outside and inside; some along axes, through cells' borders."""
    o, target = rng.normal(size=(count, 3)) * 1.5, rng.normal(size=(count, 3)) * 0.6
    d = target - o
    d[: count // 5] = np.eye(3)[rng.integers(3, size=count // 5)] * rng.choice([-1.0, 1.0], (count // 5, 1))
    return o, d


@pytest.mark.parametrize("closed", [True, False])
@pytest.mark.parametrize("cells", [None, 1, 40_000])
def test_rays_hit_as_those_of_the_tree(closed: bool, cells: int | None) -> None:
    vertices, faces = bumpy_sphere(20, 30)
    mesh = thud.TriangleMesh(vertices, faces if closed else faces[: len(faces) // 2])
    grid = MeshGrid(mesh, cells=cells)
    o, d = rays(np.random.default_rng(0), 3000)
    found, truth = grid.raycast(o, d), thud.raycast(mesh, o, d)
    np.testing.assert_array_equal(np.isfinite(found.distance), np.isfinite(truth.distance))
    hit = np.isfinite(found.distance)
    assert 0.1 < hit.mean() < 0.95
    np.testing.assert_allclose(found.distance[hit], truth.distance[hit], atol=1e-12)
    np.testing.assert_allclose(found.point[hit], truth.point[hit], atol=1e-12)
    np.testing.assert_allclose(found.normal[hit], truth.normal[hit], atol=1e-9)
    near = grid.raycast(o, d, max_distance=1.0)
    np.testing.assert_array_equal(np.isfinite(near.distance), found.distance <= 1.0)
    assert found.distance.tobytes() == grid.raycast(o, d, threads=1).distance.tobytes()


def test_cells_of_a_walk_are_those_that_the_ray_meets() -> None:
    grid = MeshGrid(thud.TriangleMesh(*bumpy_sphere(10, 14)), cells=300)
    regions = grid.regions()
    low, high = regions[:, :3], regions[:, 3:]
    o, d = rays(np.random.default_rng(1), 60)
    for k in range(len(o)):
        way = grid.walk(o[k], d[k])
        with np.errstate(divide="ignore", invalid="ignore"):
            near, far = (low - o[k]) / d[k], (high - o[k]) / d[k]
        enter, leave = np.fmax.reduce(np.minimum(near, far), axis=1), np.fmin.reduce(np.maximum(near, far), axis=1)
        inside = ((o[k] > low) & (o[k] < high)) | (d[k] != 0.0)
        long_in = (leave - np.maximum(enter, 0.0) > 1e-9) & inside.all(axis=1)
        assert set(np.flatnonzero(long_in)) <= set(way.tolist())
        brief = (leave - np.maximum(enter, 0.0) > -1e-9) & (leave >= -1e-9)
        assert brief[way].all()
        # In order, and each next to the one before.
        assert (np.diff(enter[way]) >= -1e-9).all()


def test_states_and_points() -> None:
    mesh = thud.TriangleMesh(*bumpy_sphere(20, 30))
    grid = MeshGrid(mesh)
    assert {"OUT", "IN", "UNKNOWN"} <= set(repr(grid).replace(",", " ").replace(")", " ").split())
    points = np.random.default_rng(2).uniform(-1.4, 1.4, (3000, 3))
    truth = thud.contains(mesh, points)
    np.testing.assert_array_equal(grid.contains(points), truth)
    cell = grid.locate(points)
    known = (cell >= 0) & (grid.state[cell] != MeshGrid.UNKNOWN)
    np.testing.assert_array_equal(grid.state[cell[known]] == MeshGrid.IN, truth[known])
    for k in np.flatnonzero(~known & (cell >= 0))[:20]:
        assert len(grid.triangles(int(cell[k])))
    assert (grid.locate([[99.0, 0, 0]]) == -1).all()


def test_an_open_mesh_has_no_inside() -> None:
    vertices, faces = bumpy_sphere(10, 14)
    grid = MeshGrid(thud.TriangleMesh(vertices, faces[5:]))
    assert not (grid.state == MeshGrid.IN).any()
    with pytest.raises(UnsupportedQueryError, match="open"):
        grid.contains([0, 0, 0])


def test_errors() -> None:
    mesh = thud.TriangleMesh(*bumpy_sphere(6, 8))
    with pytest.raises(InvalidInputError, match="TriangleMesh"):
        MeshGrid(thud.Box((1, 1, 1)))
    for cells in (0, 2.5, True):
        with pytest.raises(InvalidInputError, match="cells"):
            MeshGrid(mesh, cells=cells)
    with pytest.raises(InvalidInputError, match="cell"):
        MeshGrid(mesh).triangles(-1)
    with pytest.raises(InvalidInputError, match="one ray"):
        MeshGrid(mesh).walk(np.zeros((2, 3)), [1, 0, 0])


def test_rays_along_faces_and_from_them_hit_as_those_of_the_tree() -> None:
    """Plain division lost hits at the origin and let rays in a face's plane pass: a box and an L stand on borders of cells."""
    box = thud.to_mesh(thud.Box((1, 1, 1)))
    ends = np.array([[0, 0, 0], [3, 0, 0], [3, 1, 0], [1, 1, 0], [1, 3, 0], [0, 3, 0]], dtype=float)
    sheet = thud.TriangleMesh(ends, [[0, 1, 2], [0, 2, 3], [0, 3, 4], [0, 4, 5], [0, 1, 1]])
    rng = np.random.default_rng(4)
    for mesh in (box, sheet):
        grid = MeshGrid(mesh)
        o = grid.origin + rng.integers(0, grid.shape + 1, (800, 3)) * grid.cell
        d = np.eye(3)[rng.integers(3, size=800)] * rng.choice([-1.0, 1.0], (800, 1))
        d[:300] += np.roll(d[:300], 1, axis=1)
        found, truth = grid.raycast(o, d), thud.raycast(mesh, o, d)
        assert (truth.distance == 0.0).sum() > 10
        np.testing.assert_array_equal(np.isfinite(found.distance), np.isfinite(truth.distance))
        np.testing.assert_array_equal(found.triangle, truth.triangle)
        hit = np.isfinite(found.distance)
        np.testing.assert_allclose(found.distance[hit], truth.distance[hit], atol=1e-12)
        np.testing.assert_allclose(found.normal, truth.normal, atol=1e-12)


def test_no_rays_and_points_from_afar() -> None:
    grid = MeshGrid(thud.to_mesh(thud.Box((1, 1, 1))))
    assert len(grid.raycast(np.empty((0, 3)), np.empty((0, 3)))) == 0
    assert len(grid.raycast(np.empty((0, 3)), [0, 0, 1])) == 0
    np.testing.assert_array_equal(grid.locate([[1e30, 0, 0], [-1e30, 0, 0]]), -1)


@pytest.mark.parametrize("limit", [np.nan, -1.0, "far"])
def test_a_limit_that_is_none_is_named(limit: object) -> None:
    grid = MeshGrid(thud.to_mesh(thud.Box((1, 1, 1))))
    with pytest.raises(InvalidInputError, match="max_distance"):
        grid.raycast([0, 0, 5], [0, 0, -1], max_distance=limit)  # type: ignore[arg-type]


@pytest.mark.parametrize("number", [-1, 10**6, 0.5, "first", None])
def test_a_number_of_no_cell_is_named(number: object) -> None:
    mesh = thud.to_mesh(thud.Box((1, 1, 1)))
    grid, boxes = MeshGrid(mesh), ([[0, 0, 0]], [[1, 1, 1]])
    if number is not None:
        with pytest.raises(InvalidInputError, match="cells"):
            grid.regions([number])  # type: ignore[list-item]
    for ask in (grid.triangles, MeshBsp(mesh).cell_planes, BoxGrid(*boxes).members, BoxOctree(*boxes).members):
        with pytest.raises(InvalidInputError, match=r"(cell|region): expected a whole number"):
            ask(number)  # type: ignore[arg-type]
