"""Rays and points against the same ground as a closed mesh, and a plain NumPy answer for heights."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.heightfield.fields import KINDS, PLACE, make, mesh_of

COUNT = 200 if os.environ.get("THUD_TEST_SIZE") == "small" else 1500


def rays_about(field, seed):
    """Origins and directions about a field: any, straight down, along the axes, nearly level."""
    rng = np.random.default_rng(seed)
    box = field.bounds()
    origins = rng.uniform(box.lower[0] - 1.0, box.upper[0] + 1.0, (COUNT, 3))
    directions = rng.normal(size=(COUNT, 3))
    some = np.array_split(np.arange(COUNT), 8)
    directions[some[0], :2] = 0.0
    directions[some[1], 0] = 0.0
    directions[some[2], 1] = 0.0
    directions[some[3], 2] = 0.0
    directions[some[4], 2] *= 1e-3
    directions[some[5], :2] *= 1e-6
    return origins, directions


@pytest.mark.parametrize("kind", KINDS)
def test_rays_are_those_of_the_mesh(kind):
    """First hits and all crossings, from outside and from inside, with their normals."""
    field = make(kind, seed=3)
    mesh, (origins, directions) = mesh_of(field), rays_about(make(kind, seed=3), 1)
    tight = 1e-9 if kind != "far" else 1e-5
    found, known = thud.raycast(field, origins, directions), thud.raycast(mesh, origins, directions)
    np.testing.assert_allclose(found.distance, known.distance, rtol=1e-9, atol=tight)
    hit = np.isfinite(found.distance)
    assert 0.02 < hit.mean() < 0.98
    wrong = np.abs(found.normal[hit] - known.normal[hit]).max(axis=1) > 1e-6
    # On an edge either triangle's normal is right.
    assert wrong.mean() < 0.01
    np.testing.assert_allclose(found.point[~hit], 0.0)
    assert (found.triangle[~hit] == -1).all()
    every, known_all = thud.raycast_all(field, origins, directions), thud.raycast_all(mesh, origins, directions)
    np.testing.assert_array_equal(every.row, known_all.row)
    np.testing.assert_allclose(every.distance, known_all.distance, rtol=1e-9, atol=tight)
    short = thud.raycast(field, origins, directions, max_distance=1.0)
    np.testing.assert_array_equal(np.isfinite(short.distance), found.distance <= 1.0)
    placed = PLACE.matrix.reshape(4, 4)
    turned = thud.raycast(field, origins @ placed[:3, :3].T + placed[:3, 3], directions @ placed[:3, :3].T, pose=PLACE)
    np.testing.assert_allclose(turned.distance, found.distance, rtol=1e-7, atol=1e-7 if kind != "far" else 1e-3)


@pytest.mark.parametrize("kind", ["rough", "holes", "int16"])
def test_rays_into_ground_without_end(kind):
    """As into a mesh of great depth, but for its underside."""
    field = make(kind, thickness=None)
    mesh, (origins, directions) = mesh_of(field, 60.0), rays_about(make(kind), 2)
    found, known = thud.raycast(field, origins, directions), thud.raycast(mesh, origins, directions)
    underside = np.isfinite(known.distance) & (known.normal[:, 2] < -0.1)
    # Walls go on below the mesh's.
    deeper = np.isinf(known.distance) & (found.distance > 50.0)
    same = ~underside & ~deeper
    np.testing.assert_allclose(found.distance[same], known.distance[same], rtol=1e-9, atol=1e-9)
    assert (found.distance[underside] > 50.0).all()


@pytest.mark.parametrize("size", [2, 5, 9, 33, 130])
def test_no_ray_slips_through_edges_or_vertices(size):
    """Rays aimed at samples, edges, diagonals and lines of blocks: each hits once, from above and from below."""
    rng = np.random.default_rng(size)
    field = thud.HeightField(rng.uniform(-0.1, 0.1, (size, size)).round(2), 0.5, thickness=0.3)
    j, i = (rng.integers(0, size - 1, 400) for _ in range(2))
    part = rng.choice([0.0, 0.5, 1.0], (400, 2))
    part[::3, 1] = part[::3, 0]
    x, y = 0.5 * (i + part[:, 0]), 0.5 * (j + part[:, 1])
    down = thud.raycast(field, np.stack([x, y, np.full(400, 20.0)], axis=1), [0.0, 0.0, -1.0])
    assert np.isfinite(down.distance).all()
    up = thud.raycast(field, np.stack([x, y, np.full(400, -20.0)], axis=1), [0.0, 0.0, 1.0])
    np.testing.assert_allclose(up.point[:, 2], down.point[:, 2] - 0.3, atol=1e-12)
    # Aslant through the same points, but steeper than the ground is anywhere: no ray only grazes it.
    slant = rng.uniform(-0.5, 0.5, (400, 3)) * [1.0, 1.0, 0.1] + [0.0, 0.0, -1.0]
    every = thud.raycast_all(field, down.point - 40.0 * slant, slant)
    counts = np.bincount(every.row, minlength=400)
    near = np.zeros(400, dtype=bool)
    reach = 40.0 * np.linalg.norm(slant, axis=1)
    near[every.row[np.abs(every.distance - reach[every.row]) < 1e-6]] = True
    inner = (x > 0.0) & (x < 0.5 * (size - 1)) & (y > 0.0) & (y < 0.5 * (size - 1))
    assert near[inner].all()
    assert (counts[inner] == 2).all()


@pytest.mark.parametrize(("spacing", "at"), [(1.0, 0.0), (0.1, 0.0), (30.0, 500_000.3)])
def test_rays_at_nodes_meet_the_ground_on_either_side_of_a_hole(spacing, at):
    """A ray down on a line of the grid was in the cell beyond it alone: with a hole there it missed."""
    rng = np.random.default_rng(5)
    for draw in range(20):
        heights = rng.normal(size=(7, 8))
        heights[rng.random(heights.shape) < 0.3] = np.nan
        there = np.isfinite(heights)
        lower = there[:-1, :-1] & there[:-1, 1:] & there[1:, 1:]
        upper = there[:-1, :-1] & there[1:, :-1] & there[1:, 1:]
        has, side, up = np.zeros((3, *heights.shape), dtype=bool)
        for j, i in np.argwhere(lower):
            has[j, i] = has[j, i + 1] = has[j + 1, i + 1] = side[j, i] = True
            up[j, i + 1] = True
        for j, i in np.argwhere(upper):
            has[j, i] = has[j + 1, i] = has[j + 1, i + 1] = side[j + 1, i] = True
            up[j, i] = True
        field = thud.HeightField(heights, spacing, (at, at, 0.0), thickness=0.5 if draw % 2 else None)
        j, i = np.indices(heights.shape)
        nodes = np.stack([at + i * spacing, at + j * spacing, np.full(heights.shape, 9.0)], axis=-1)
        # At nodes; in the middle of the edges along x and along y.
        for ground, offset in ((has, (0.0, 0.0)), (side, (0.5, 0.0)), (up, (0.0, 0.5))):
            places = (nodes + spacing * np.array([*offset, 0.0]))[: 7 if offset[1] == 0 else 6, : 8 if offset[0] == 0 else 7]
            found = thud.raycast(field, places.reshape(-1, 3), [[0.0, 0.0, -1.0]])
            np.testing.assert_array_equal(np.isfinite(found.distance), ground[: places.shape[0], : places.shape[1]].ravel())
            every = thud.raycast_all(field, places.reshape(-1, 3), [[0.0, 0.0, -1.0]])
            assert (np.bincount(every.row, minlength=len(found.distance)) > 0).tolist() == np.isfinite(found.distance).tolist()
        met = thud.raycast(field, nodes.reshape(-1, 3), [[0.0, 0.0, -1.0]]).distance.reshape(heights.shape)
        np.testing.assert_allclose(9.0 - met[has], heights[has], atol=1e-6)


def test_masked_heights_are_holes():
    heights = np.random.default_rng(2).normal(size=(6, 7))
    mask = np.zeros(heights.shape, dtype=bool)
    mask[2, 3] = mask[5, 0] = True
    masked = thud.HeightField(np.ma.masked_array(heights, mask), 1.0)
    np.testing.assert_array_equal(masked.heights, thud.HeightField(np.where(mask, np.nan, heights), 1.0).heights)


def test_rays_along_the_wall_of_a_hole_meet_it():
    """Aslant in the plane of a line of the grid: as what is on either side of it has them, the nearer one."""
    heights = np.zeros((9, 9))
    heights[:, 5:] = np.nan
    for field, along in ((thud.HeightField(heights, 1.0), 1), (thud.HeightField(heights.T, 1.0), 0)):
        o, d = np.zeros(3), np.zeros(3)
        o[1 - along], o[along], o[2] = 4.0, 2.0, 3.0
        d[along], d[2] = 1.0, -1.0
        found = thud.raycast(field, [o], [d])
        assert found.distance[0] == pytest.approx(3.0 * np.sqrt(2.0))
        assert found.normal[0] @ [0.0, 0.0, 1.0] == pytest.approx(1.0)
        assert len(thud.raycast_all(field, [o], [d])) >= 1


def test_a_ray_on_level_ground_hits_where_it_starts():
    """Origins on the surface, and rays that run along its top."""
    field = thud.HeightField(np.zeros((6, 6)), 1.0, thickness=1.0)
    found = thud.raycast(
        field, [[2.3, 2.2, 0.0], [-3.0, 2.2, 0.0], [2.0, 3.0, 4.0]], [[0.3, 0.1, -1.0], [1.0, 0, 0], [0, 0, -1.0]]
    )
    np.testing.assert_allclose(found.distance, [0.0, 3.0, 4.0])


@pytest.mark.parametrize("kind", KINDS)
def test_points_are_those_of_the_mesh(kind):
    """In the ground or not, the nearest point of its surface, and on which side."""
    field = make(kind, seed=5)
    mesh, rng = mesh_of(field), np.random.default_rng(3)
    box = field.bounds()
    points = rng.uniform(box.lower[0] - 0.7, box.upper[0] + 0.7, (COUNT, 3))
    loose = 1e-9 if kind != "far" else 1e-6
    np.testing.assert_array_equal(thud.contains(field, points), thud.contains(mesh, points))
    found, known = thud.closest_point(field, points, signed=True), thud.closest_point(mesh, points, signed=True)
    np.testing.assert_allclose(found.distance, known.distance, atol=loose)
    np.testing.assert_allclose(np.linalg.norm(points - found.point, axis=1), np.abs(found.distance), atol=loose)
    plain = thud.closest_point(field, points)
    np.testing.assert_array_equal(plain.distance, np.abs(found.distance))
    vertices, _faces, numbers = field.surface()
    assert np.isin(plain.triangle, numbers).all()
    # Vertices are in the ground, and their own nearest points.
    assert thud.closest_point(field, vertices).distance.max() < loose


def test_points_below_ground_without_end():
    """However deep: inside, and as far from the surface as from that of a deep mesh."""
    field = make("rough", thickness=None)
    mesh, rng = mesh_of(field, 80.0), np.random.default_rng(4)
    box = mesh.bounds()
    points = rng.uniform(box.lower[0] + [-1, -1, 50], box.upper[0] + 1.0, (COUNT, 3))
    np.testing.assert_array_equal(thud.contains(field, points), thud.contains(mesh, points))
    found, known = thud.closest_point(field, points, signed=True), thud.closest_point(mesh, points, signed=True)
    np.testing.assert_allclose(found.distance, known.distance, atol=1e-9)


def test_heights_by_interpolation():
    """Straight down, a ray hits the height that the two corners of its triangle's legs and the diagonal's give."""
    rng = np.random.default_rng(7)
    for kind, scale in ((np.float64, 1.0), (np.float32, 2.0), (np.int16, 0.01)):
        heights = (100.0 * rng.normal(size=(19, 31))).astype(kind)
        field = thud.HeightField(heights, (0.5, 0.25), (3.0, -2.0, 1.0), scale=scale)
        u, v = rng.uniform(0.0, 30.0, 2000), rng.uniform(0.0, 18.0, 2000)
        i, j = u.astype(int), v.astype(int)
        s, t = u - i, v - j
        h = scale * heights.astype(float)
        lower = h[j, i] + s * (h[j, i + 1] - h[j, i]) + t * (h[j + 1, i + 1] - h[j, i + 1])
        upper = h[j, i] + t * (h[j + 1, i] - h[j, i]) + s * (h[j + 1, i + 1] - h[j + 1, i])
        known = 1.0 + np.where(s > t, lower, upper)
        origins = np.stack([3.0 + 0.5 * u, -2.0 + 0.25 * v, np.full(2000, 1e4)], axis=1)
        found = thud.raycast(field, origins, [0.0, 0.0, -1.0])
        np.testing.assert_allclose(found.point[:, 2], known, atol=1e-8)
        np.testing.assert_array_equal(found.triangle, 2 * (j * 30 + i) + (s <= t))
