"""Rays against triangles and meshes: exact decisions at edges, vertices and in the plane."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.geometry.strategies import coordinate, points, steady, whole
from tests.geometry.test_contains import CORNERS_TOUCH, HOLLOW, L_SHAPE, RING
from tests.oracles import geometry as oracle
from thud import geometry
from thud._core.decorators import kernel
from thud.geometry import triangle

SHAPES = {"L": L_SHAPE, "ring": RING, "hollow": HOLLOW, "touching corners": CORNERS_TOUCH}

#: Directions whose components differ by powers of two keep their direction exactly when normalised.
EXACT = [(1, 0, 0), (0, -1, 0), (0, 0, 1), (1, 1, 0), (0, 1, -1), (1, 1, 1), (-1, 1, 1), (1, 2, 0), (-1, 2, -4), (1, -1, 2)]


@kernel
def _fast_ray_triangle(o, d, a, b, c):
    return triangle.ray_triangle(o, d, a, b, c)


@steady
@given(points(3, 3, whole), st.tuples(coordinate, coordinate, coordinate), st.sampled_from(EXACT))
def test_ray_triangle_is_exact(corners, origin, direction):
    # As a segment long enough to pass the triangle, a ray is a case for the oracle.
    far = np.array(origin) + 16.0 * np.array(direction)
    hit = geometry.ray_triangle(origin, direction, corners)
    expected = oracle.hulls_intersect([origin, far], corners)
    if expected != np.isfinite(hit.distance[0]):
        # far is rounded where the origin has many digits: then ask about the true end.
        o = oracle.rational(origin)
        exact_far = [x + 16 * y for x, y in zip(o, direction)]
        assert [float(x) for x in exact_far] != exact_far
        return
    if expected:
        d = np.array(direction) / np.linalg.norm(direction)
        assert (hit.point[0] == np.array(origin) + hit.distance[0] * d).all()
        assert oracle.outside_simplex(hit.point, np.array([corners]))[0] <= 1e-14
        # Nothing of the triangle lies before: the first half of the way is free.
        if hit.distance[0] > 0:
            assert not oracle.hulls_intersect([origin, np.array(origin) + 0.999 * hit.distance[0] * d], corners)


def test_ray_triangle_distance_on_random_rays():
    rng = np.random.default_rng(20)
    corners = rng.normal(size=(3000, 3, 3))
    weights = rng.dirichlet([1, 1, 1], 3000)
    target = np.einsum("nk,nki->ni", weights, corners)
    origins = target + rng.normal(size=(3000, 3)) * 5
    hits = geometry.ray_triangle(origins, target - origins, corners)
    assert np.allclose(hits.distance, np.linalg.norm(target - origins, axis=1), rtol=1e-9)
    assert np.isinf(geometry.ray_triangle(origins, origins - target, corners).distance).all()
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert np.allclose(np.cross(hits.normal, normal), 0, atol=1e-12)
    # The fast device says the same.
    d = (target - origins) / np.linalg.norm(target - origins, axis=1, keepdims=True)
    steep = np.abs((hits.normal * d).sum(axis=1)) > 0.1
    for i in np.flatnonzero(steep)[:200]:
        t, u, v = _fast_ray_triangle(tuple(origins[i]), tuple(d[i]), *(tuple(p) for p in corners[i]))
        assert t == pytest.approx(hits.distance[i], rel=1e-12)
        assert (u, v) == pytest.approx(tuple(weights[i, 1:]), abs=1e-9)


def test_fast_ray_triangle_misses():
    a, b, c = (0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0)
    assert _fast_ray_triangle((0.25, 0.25, 2.0), (0.0, 0.0, -1.0), a, b, c) == (2.0, 0.25, 0.25)
    assert _fast_ray_triangle((0.25, 0.25, 2.0), (0.0, 0.0, 1.0), a, b, c)[0] == np.inf
    assert _fast_ray_triangle((1.0, 1.0, 2.0), (0.0, 0.0, -1.0), a, b, c)[0] == np.inf
    assert _fast_ray_triangle((-1.0, 0.25, 0.0), (1.0, 0.0, 0.0), a, b, c)[0] == np.inf
    # Corners and edges belong to it.
    assert _fast_ray_triangle((0.0, 0.0, 2.0), (0.0, 0.0, -1.0), a, b, c)[0] == 2.0
    assert _fast_ray_triangle((0.5, 0.5, 2.0), (0.0, 0.0, -1.0), a, b, c)[0] == 2.0


def test_ray_in_the_plane_of_a_triangle():
    corners = [[0, 0, 0], [2, 0, 0], [0, 2, 0]]
    origins = [[-1, 1, 0], [-1, 0, 0], [-1, 2, 0], [-1, 3, 0], [0.5, 0.5, 0], [3, 0, 0], [5, 0, 0]]
    directions = [[1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [1, 0, 0], [-1, 0, 0]]
    assert geometry.ray_triangle(origins, directions, corners).distance.tolist() == [1, 1, 1, np.inf, 0, np.inf, 3]
    # A needle without area is a segment; a triangle in one point is a point.
    needle = [[0, 0, 0], [2, 0, 0], [1, 0, 0]]
    assert geometry.ray_triangle([1.5, 0, 3], [0, 0, -1], needle).distance[0] == 3
    assert np.isinf(geometry.ray_triangle([2.5, 0, 3], [0, 0, -1], needle).distance[0])
    assert geometry.ray_triangle([1, 1, 4], [0, 0, -1], [[1, 1, 1]] * 3).distance[0] == 3


@pytest.mark.parametrize("name", SHAPES)
def test_first_hit_through_edges_and_vertices(name):
    cells = SHAPES[name]
    rng = np.random.default_rng(21)
    vertices, faces = oracle.voxel_mesh(cells, rng)
    # Grid points outside, in directions that run through edges, vertices and along faces.
    grid = np.stack(np.meshgrid(*[np.arange(-2, 6, 0.5)] * 3), axis=-1).reshape(-1, 3)
    outside = np.array([not oracle.point_in_voxels(p, cells) for p in grid])
    grid = rng.permutation(grid[outside])[:60]
    for direction in EXACT:
        hits = geometry.ray_mesh(grid, direction, vertices, faces)
        length = np.linalg.norm(direction)
        for p, t in zip(grid, hits.distance):
            expected = oracle.ray_voxels(p, direction, cells)
            assert t == (np.inf if expected is None else pytest.approx(float(expected) * length, rel=1e-14))


@pytest.mark.parametrize("name", SHAPES)
def test_crossings_alternate(name):
    cells = SHAPES[name]
    rng = np.random.default_rng(22)
    vertices, faces = oracle.voxel_mesh(cells, rng)
    grid = np.stack(np.meshgrid(*[np.arange(-0.75, 4, 0.25)] * 3), axis=-1).reshape(-1, 3)
    grid = rng.permutation(grid)[:150]
    strictly = np.array([oracle.point_in_voxels(p, cells) for p in grid])
    on_surface = np.array([geometry.closest_point_triangle(p, vertices[faces]).distance.min() == 0 for p in grid])
    grid, strictly = grid[~on_surface], strictly[~on_surface]
    for direction in EXACT:
        crossings = geometry.ray_mesh_all(grid, direction, vertices, faces)
        # From inside an odd number of them, from outside an even one, also through edges and vertices.
        counts = np.bincount(crossings.row, minlength=len(grid))
        assert (counts % 2 == strictly).all()
        # Sorted by row, then distance, and each a point of its triangle.
        same = np.diff(crossings.row) == 0
        assert (np.diff(crossings.row) >= 0).all()
        assert (np.diff(crossings.distance)[same] >= 0).all()
        if len(crossings.row):
            assert oracle.outside_simplex(crossings.point, vertices[faces[crossings.triangle]]).max() < 1e-13


def test_no_ray_slips_out_of_a_closed_mesh():
    # From inside towards every vertex and points of every edge, on rough numbers.
    rng = np.random.default_rng(23)
    vertices, faces = oracle.voxel_mesh(RING, rng)
    vertices = vertices @ oracle.random_rotations(rng, 1)[0].T + 10
    center = vertices[faces].mean(axis=1)
    normal = np.cross(vertices[faces[:, 1]] - vertices[faces[:, 0]], vertices[faces[:, 2]] - vertices[faces[:, 0]])
    inside = center[0] - 0.3 * normal[0]
    assert geometry.point_in_mesh(inside, vertices, faces)[0]
    s = rng.random((len(faces), 1))
    targets = np.concatenate([vertices] + [vertices[faces[:, k]] * s + vertices[faces[:, k - 1]] * (1 - s) for k in range(3)])
    hits = geometry.ray_mesh(inside, targets - inside, vertices, faces)
    assert np.isfinite(hits.distance).all()
    crossings = geometry.ray_mesh_all(inside, targets - inside, vertices, faces)
    assert (np.bincount(crossings.row, minlength=len(targets)) % 2 == 1).all()


def test_solid_mesh():
    vertices, faces = oracle.voxel_mesh([(0, 0, 0)], np.random.default_rng(24))
    surface = geometry.ray_mesh([0.5, 0.5, 0.5], [1, 0, 0], vertices, faces)
    solid = geometry.ray_mesh([[0.5, 0.5, 0.5], [-1, 0.3, 0.6]], [1, 0, 0], vertices, faces, solid=True)
    assert surface.distance.tolist() == [0.5]
    assert solid.distance.tolist() == [0, 1]
    assert solid.triangle[0] == -1
    assert solid.normal.tolist() == [[0, 0, 0], [-1, 0, 0]]


def test_no_crossings_at_all():
    vertices, faces = oracle.voxel_mesh([(0, 0, 0)], np.random.default_rng(25))
    crossings = geometry.ray_mesh_all([[5, 5, 5], [6, 6, 6]], [1, 0, 0], vertices, faces)
    assert crossings.row.shape == (0,)
    assert crossings.point.shape == (0, 3)
    assert crossings.normal.shape == (0, 3)
