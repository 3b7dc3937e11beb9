"""Is a point inside: closed sets, exact where promised."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.geometry.strategies import coordinate, points, steady, whole
from tests.oracles import geometry as oracle
from thud import geometry
from thud.errors import InvalidInputError

L_SHAPE = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1), (2, 0, 0), (2, 1, 0)]
RING = [(x, y, z) for x in range(3) for y in range(3) for z in range(2) if (x, y) != (1, 1)]
HOLLOW = [(x, y, z) for x in range(3) for y in range(3) for z in range(3) if (x, y, z) != (1, 1, 1)]
CORNERS_TOUCH = [(0, 0, 0), (1, 1, 1), (2, 2, 0), (1, 0, 1)]


def test_point_in_sphere():
    assert geometry.point_in_sphere([[0, 0, 3], [0, 0, 3.0000001], [1, 2, 2]], [0, 0, 0], 3).tolist() == [True, False, True]
    assert geometry.point_in_sphere([1, 1, 1], [1, 1, 1], 0.0)[0]


def test_point_in_aabb():
    p = [[0, 0, 0], [1, 2, 3], [1, 2, 3.0000001], [-1e-300, 0, 0]]
    assert geometry.point_in_aabb(p, [0, 0, 0], [1, 2, 3]).tolist() == [True, True, False, False]


def test_point_in_obb_moves_with_its_frame():
    rng = np.random.default_rng(3)
    n = 500
    local, half = rng.uniform(-2, 2, (n, 3)), rng.uniform(0.5, 1.5, (n, 3))
    r, c = oracle.random_rotations(rng, n), rng.normal(size=(n, 3))
    world = c + np.einsum("nij,nj->ni", r, local)
    assert (geometry.point_in_obb(world, c, half, r) == (np.abs(local) <= half).all(axis=1)).all()
    assert (geometry.point_in_obb(local, [0, 0, 0], half) == (np.abs(local) <= half).all(axis=1)).all()


@steady
@given(st.lists(st.tuples(whole, whole), min_size=3, max_size=7), st.tuples(coordinate, coordinate))
def test_point_in_any_polygon(polygon, point):
    assert geometry.point_in_polygon(point, polygon)[0] == oracle.point_in_polygon(point, polygon)


@steady
@given(st.lists(st.tuples(coordinate, coordinate), min_size=3, max_size=6), st.integers(0, 5), st.floats(0, 1))
def test_points_on_edges_are_inside(polygon, k, s):
    # Vertices exactly; points of an edge as far as the oracle says that rounding left them there.
    a, b = np.array(polygon[k % len(polygon)]), np.array(polygon[(k + 1) % len(polygon)])
    assert geometry.point_in_polygon(a, polygon)[0]
    p = a + s * (b - a)
    assert geometry.point_in_polygon(p, polygon)[0] == oracle.point_in_polygon(p, polygon)


def test_polygon_with_ray_through_vertices():
    # A star and a comb: rays along +x run through vertices, along edges, and past spikes.
    comb = [(0, 0), (6, 0), (6, 2), (5, 1), (4, 2), (3, 1), (2, 2), (1, 1), (0, 2)]
    grid = [(x / 2, y / 2) for x in range(-1, 14) for y in range(-1, 6)]
    expected = [oracle.point_in_polygon(p, comb) for p in grid]
    assert geometry.point_in_polygon(grid, comb).tolist() == expected
    assert geometry.point_in_polygon(grid, comb[::-1]).tolist() == expected


def convex_polygon(rng, k):
    """k points of a circle, rounded, in order."""
    angle = np.sort(rng.uniform(0, 2 * np.pi, k))
    return np.stack([np.cos(angle), np.sin(angle)], axis=1)


def test_point_in_convex_polygon_of_the_plane():
    rng = np.random.default_rng(4)
    for k in (3, 4, 9):
        polygon = convex_polygon(rng, k)
        p = np.concatenate([rng.uniform(-1, 1, (200, 2)), polygon, 0.5 * (polygon + np.roll(polygon, 1, axis=0))])
        inside = geometry.point_in_convex_polygon(p, polygon)
        assert inside.tolist() == [oracle.point_in_polygon(q, polygon) for q in p]
        assert (inside == geometry.point_in_convex_polygon(p, polygon[::-1])).all()
        assert (inside == geometry.point_in_polygon(p, polygon)).all()
    # Without an area, a polygon is a segment.
    flat = [(0, 0), (1, 1), (3, 3)]
    assert geometry.point_in_convex_polygon([(2, 2), (4, 4), (2, 2.5), (-1, -1)], flat).tolist() == [True, False, False, False]


def lift(points, axis, height):
    """Points of the plane in space, at a height along the axis."""
    return np.insert(points, axis, height, axis=1)


def test_polygons_in_space():
    rng = np.random.default_rng(5)
    polygon, p = convex_polygon(rng, 6), rng.uniform(-1.2, 1.2, (300, 2))
    p = np.concatenate([p, polygon])
    expected = geometry.point_in_convex_polygon(p, polygon)
    for axis in range(3):
        # In a coordinate plane all stays exact.
        normal = np.eye(3)[axis]
        for n in (None, normal, -normal):
            assert (geometry.point_in_convex_polygon(lift(p, axis, 0.3), lift(polygon, axis, 0.3), n) == expected).all()
            assert (geometry.point_in_polygon(lift(p, axis, 0.3), lift(polygon, axis, 0.3), n) == expected).all()
        # The prism: the height over the plane does not count.
        assert (geometry.point_in_convex_polygon(lift(p, axis, 7.0), lift(polygon, axis, 0.3)) == expected).all()
    r = oracle.random_rotations(rng, 1)[0]
    lifted, corners = np.insert(p[:300], 2, 0.0, axis=1) @ r.T, np.insert(polygon, 2, 0.0, axis=1) @ r.T
    assert (geometry.point_in_convex_polygon(lifted, corners) == expected[:300]).all()
    assert (geometry.point_in_polygon(lifted, corners) == expected[:300]).all()


def test_point_in_convex():
    planes = [[1, 0, 0, -1], [-1, 0, 0, -1], [0, 1, 0, -1], [0, -1, 0, -1], [0, 0, 1, -1], [0, 0, -1, -1]]
    p = [[0, 0, 0], [1, 1, 1], [1, 1, 1.0000001], [0, -2, 0]]
    assert geometry.point_in_convex(p, planes).tolist() == [True, True, False, False]


@pytest.mark.parametrize("cells", [L_SHAPE, RING, HOLLOW, CORNERS_TOUCH], ids=["L", "ring", "hollow", "touching corners"])
def test_point_in_mesh_on_a_grid(cells):
    # All grid points send their ray through edges and vertices, and along faces; half of them lie on the surface.
    vertices, faces = oracle.voxel_mesh(cells, np.random.default_rng(6))
    grid = np.stack(np.meshgrid(*[np.arange(-0.5, 4, 0.5)] * 3), axis=-1).reshape(-1, 3)
    expected = [oracle.point_in_voxels(p, cells) for p in grid]
    assert geometry.point_in_mesh(grid, vertices, faces).tolist() == expected
    # Turned about an axis by 90 degrees and shifted, all numbers stay exact and the ray runs elsewhere.
    turn = np.array([[0, 0, 1], [1, 0, 0], [0, 1, 0]])
    assert geometry.point_in_mesh(grid @ turn.T + 5, vertices @ turn.T + 5, faces).tolist() == expected


def test_point_in_mesh_on_rough_numbers():
    rng = np.random.default_rng(7)
    vertices, faces = oracle.voxel_mesh(RING, rng)
    r = oracle.random_rotations(rng, 1)[0]
    local = rng.uniform(-0.5, 3.5, (1000, 3))
    expected = [oracle.point_in_voxels(p, RING) for p in local]
    assert geometry.point_in_mesh(local @ r.T + 3, vertices @ r.T + 3, faces).tolist() == expected
    # Vertices are inside, whatever their digits.
    assert geometry.point_in_mesh(vertices @ r.T + 3, vertices @ r.T + 3, faces).all()


@steady
@given(points(3, 4, whole), st.tuples(coordinate, coordinate, coordinate))
def test_point_in_tetrahedron(corners, point):
    # Flat ones too: then only its own points are inside.
    faces = [[0, 1, 2], [0, 3, 1], [1, 3, 2], [2, 3, 0]]
    assert geometry.point_in_mesh(point, corners, faces)[0] == oracle.hulls_intersect([point], corners)


def test_mesh_must_be_closed():
    vertices, faces = oracle.voxel_mesh([(0, 0, 0)], np.random.default_rng(8))
    with pytest.raises(InvalidInputError, match=r"faces: the mesh is not closed, 3 of 18 edges .* odd number of faces"):
        geometry.point_in_mesh([0, 0, 0], vertices, faces[:-1])
    # Doubled vertices, as STL files have them, are one point.
    assert geometry.point_in_mesh([0.5, 0.5, 0.5], vertices[faces].reshape(-1, 3), np.arange(36).reshape(-1, 3))[0]
