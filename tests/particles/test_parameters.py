"""Coordinates of impacts on colliders: by hand, and there and back."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.charts import chart_coordinates
from tests.oracles.displaced import grid_surface
from thud import particles
from thud.errors import InvalidInputError
from thud.particles import Disc, Plane, Polygon, Quadric, Rectangle, Solid
from thud.particles.maps.parameters import MapCharts

TURN = np.linalg.qr(np.random.default_rng(3).normal(size=(3, 3)))[0]
TURN *= np.sign(np.linalg.det(TURN))
AT = np.array([1.0, -2.0, 0.5])
L_SHAPE = np.array([[0, 0, 1], [4, 0, 1], [4, 1, 1], [1, 1, 1], [1, 3, 1], [0, 3, 1]], float)

COLLIDERS: dict[str, Any] = {
    "rectangle": Rectangle([1, 2, 3], [4, 0, 0.5], [0, 3, 0]),
    "parallelogram": Rectangle([1, 2, 3], [4, 0, 0.5], [1, 3, 0]),
    "plane": Plane([1, 2, 3], [1, 2, -1]),
    "disc": Disc(AT, [1, 1, 1], 2.5),
    "polygon": Polygon(L_SHAPE),
    "ellipsoid": Quadric.ellipsoid(AT, [1, 2, 3], rotation=TURN),
    "cylinder": Quadric.cylinder(AT, [1, 2], 1.5, rotation=TURN),
    "endless cylinder": Quadric.cylinder(AT, [1, 2], rotation=TURN),
    "cone": Quadric.cone(AT, [0.5, 0.7], 2.0, rotation=TURN),
    "double cone": Quadric.cone(AT, [0.5, 0.7], rotation=TURN),
    "paraboloid": Quadric.paraboloid(AT, [1, 2], 3.0, rotation=TURN),
    "endless paraboloid": Quadric.paraboloid(AT, [1, 2], rotation=TURN),
    "saddle": Quadric.paraboloid(AT, [1, 2], 3.0, hyperbolic=True, rotation=TURN),
    "one sheet": Quadric.hyperboloid(AT, [1, 2, 1], 1, 2.0, rotation=TURN),
    "two sheets": Quadric.hyperboloid(AT, [1, 2, 1], 2, 3.0, rotation=TURN),
    "box": Solid(thud.Box([1, 2, 3]), thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])),
    "capsule": Solid(thud.Capsule(0.5, 1.0), thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])),
    "cylinder solid": Solid(thud.Cylinder(0.5, 1.0)),
    "cone solid": Solid(thud.Cone(0.5, 1.0)),
    "hull": Solid(thud.ConvexHull(np.random.default_rng(1).normal(size=(12, 3)))),
}


def impact(collider: int, part: np.ndarray, point: np.ndarray) -> SimpleNamespace:
    return SimpleNamespace(collider=np.full(len(point), collider), part=part, point=point)


def parts_of(collider: Any, uv: np.ndarray) -> np.ndarray:
    """Tile of coordinates in an atlas, by the rule of the docs."""
    count = len(collider.pieces) if isinstance(collider, Solid) else 1
    side = int(np.ceil(np.sqrt(count)))
    column, row = np.minimum(np.floor(uv * side), side - 1).T
    return (column + side * row).astype(int)


@pytest.mark.parametrize("name", COLLIDERS)
def test_there_and_back(name: str) -> None:
    collider = COLLIDERS[name]
    uv = np.random.default_rng(7).uniform(0.001, 0.999, (400, 2))
    points = particles.surface_points([collider], 0, uv)
    part = parts_of(collider, uv)
    there = np.isfinite(points).all(axis=1)
    pieces = len(collider.pieces) if isinstance(collider, Solid) else 1
    np.testing.assert_array_equal(there, part < pieces)
    back = particles.impact_coordinates(impact(0, part[there], points[there]), [collider])
    np.testing.assert_allclose(back, uv[there], atol=1e-12)
    # The points lie on the element's surface.
    elements = collider.elements()
    for k in np.unique(part[there]):
        element, at = elements[k], points[there][part[there] == k]
        d = at - element.origin
        if len(element.numbers) == 9:
            off = d @ element.numbers[:3]
        else:
            a00, a01, a02, a11, a12, a22, *g, j = element.numbers
            a = np.array([[a00, a01, a02], [a01, a11, a12], [a02, a12, a22]])
            off = np.einsum("mi,ij,mj->m", d, a, d) + 2 * d @ np.array(g) + j
            off = off / (1 + (d * d).sum(axis=1))
        np.testing.assert_allclose(off, 0.0, atol=1e-12)


def test_rectangle_is_its_own_edges() -> None:
    points = np.array([[1, 2, 3], [3, 2, 3.25], [1, 5, 3], [5, 3.5, 3.5]])
    uv = particles.impact_coordinates(impact(0, np.zeros(4, int), points), [COLLIDERS["rectangle"]])
    np.testing.assert_allclose(uv, [[0, 0], [0.5, 0], [0, 1], [1, 0.5]], atol=1e-15)


def test_plane_is_seen_through_a_window() -> None:
    plane = Plane([1, 2, 3], [0, 0, 1])
    points = np.array([[1, 2, 3], [6, 2, 3], [1, 6.9, 3], [1, 7.1, 3]])
    uv = particles.impact_coordinates(impact(0, np.zeros(4, int), points), [plane], extent=5.0)
    np.testing.assert_allclose(uv[0], [0.5, 0.5])
    assert sorted(uv[1]) == [0.5, 1.0]
    assert np.isfinite(uv[2]).all()
    assert np.isnan(uv[3]).all()
    assert np.isfinite(particles.impact_coordinates(impact(0, np.zeros(4, int), points), [plane])).all()


def test_window_of_endless_quadrics() -> None:
    pipe = Quadric.cylinder([0, 0, 0], 1.0)
    points = np.array([[1, 0, 0], [0, 1, 9.0], [-1, 0, 10.5]])
    uv = particles.impact_coordinates(impact(0, np.zeros(3, int), points), [pipe])
    np.testing.assert_allclose(uv[:2], [[0, 0.5], [0.25, 0.95]], atol=1e-12)
    assert np.isnan(uv[2]).all()


def test_sphere_is_equal_in_area() -> None:
    v = np.random.default_rng(5).normal(size=(200_000, 3))
    points = v / np.linalg.norm(v, axis=1, keepdims=True)
    uv = particles.impact_coordinates(impact(0, np.zeros(len(v), int), points), [Quadric.ellipsoid([0, 0, 0], 1.0)])
    counts = np.histogram2d(uv[:, 0], uv[:, 1], bins=8, range=[[0, 1], [0, 1]])[0]
    # 3125 a bin, standard deviation 55.
    assert np.abs(counts - len(v) / 64).max() < 300


def test_caps_fill_their_tiles() -> None:
    capsule = Solid(thud.Capsule(1.0, 2.0))
    points = np.array([[1, 0, 2.0], [0, 0, 3.0]])
    uv = particles.impact_coordinates(impact(0, np.ones(2, int), points), [capsule])
    # Two tiles a side; part 1 is the upper cap: from its rim to its pole.
    np.testing.assert_allclose(uv[:, 1], [0.0, 0.5], atol=1e-11)
    assert (uv[:, 1] < 0.5).all()


def test_tiles_do_not_touch() -> None:
    box = Solid(thud.Box([1, 1, 1]))
    for k, piece in enumerate(box.pieces):
        assert isinstance(piece, Rectangle)
        o, u, v = (np.asarray(x) for x in (piece.origin, piece.edge_u, piece.edge_v))
        corners = np.array([o, o + u, o + v, o + u + v])
        uv = particles.impact_coordinates(impact(0, np.full(4, k), corners), [box])
        pixel = np.floor(uv * 30)
        assert (pixel // 10 == [k % 3, k // 3]).all()


def test_sheets_have_a_half_each() -> None:
    points = np.array([[0, 0, 1.0], [0, 0, -1.0]])
    uv = particles.impact_coordinates(impact(0, np.zeros(2, int), points), [Quadric.hyperboloid([0, 0, 0], 1.0, 2, 3.0)])
    np.testing.assert_allclose(uv, [[0.75, 0.5], [0.25, 0.5]], atol=1e-12)


def test_a_general_matrix_finds_its_kind() -> None:
    named = COLLIDERS["ellipsoid"]
    plain = Quadric(named.matrix, named.origin)
    uv = np.random.default_rng(2).uniform(size=(50, 2))
    points = particles.surface_points([plain], 0, uv)
    back = particles.impact_coordinates(impact(0, np.zeros(50, int), points), [plain])
    np.testing.assert_allclose(back, uv, atol=1e-9)


def test_what_has_no_kind_is_seen_in_plan_and_has_no_way_back() -> None:
    # z = x^2: a parabolic cylinder.
    matrix = np.zeros((4, 4))
    matrix[0, 0], matrix[2, 3], matrix[3, 2] = 1.0, -0.5, -0.5
    trough = Quadric(matrix)
    uv = particles.impact_coordinates(impact(0, np.zeros(1, int), np.array([[2.0, 5.0, 4.0]])), [trough])
    np.testing.assert_allclose(uv, [[0.6, 0.75]])
    assert np.isnan(particles.surface_points([trough], 0, uv)).all()


def test_of_real_impacts() -> None:
    colliders = list(COLLIDERS.values())
    system = particles.ParticleSystem(
        [2.0, 0.0, 8.0], [0, 0, -4.0], [0, 0, -9.8], 3.0, position_spread=[4, 4, 0], velocity_spread=2.0, seed=4,
        response="bounce",
    )  # fmt: skip
    impacts = system.impacts(colliders, 0.0, 300.0)
    assert len(impacts) > 200
    uv = particles.impact_coordinates(impacts, colliders)
    seen = np.isfinite(uv).all(axis=1)
    assert seen.mean() > 0.9
    assert ((uv[seen] >= 0) & (uv[seen] <= 1)).all()
    charts = MapCharts(particles.ColliderSet(colliders), 10.0)
    np.testing.assert_allclose(uv, chart_coordinates(charts.rows[charts.first[impacts.collider] + impacts.part], impacts.point))
    back = np.full((len(uv), 3), np.nan)
    for k in range(len(colliders)):
        here = seen & (impacts.collider == k)
        if here.any():
            back[here] = particles.surface_points(colliders, k, uv[here])
    np.testing.assert_allclose(back[seen], impacts.point[seen], atol=1e-6)


def test_mesh_cells_hold_two_triangles() -> None:
    box = thud.Box([1, 2, 3])
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-2, 2) for z in (-3, 3)], float)
    hull = thud.ConvexHull(corners).topology
    faces = np.array([
        [loop[0], loop[k], loop[k + 1]]
        for a, b in zip(hull.loop_starts[:-1], hull.loop_starts[1:])
        for loop in [hull.loops[a:b]]
        for k in range(1, len(loop) - 1)
    ])  # fmt: skip
    mesh = thud.TriangleMesh(hull.vertices, faces[:11])
    pose = thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])
    collider = particles.Mesh(mesh, pose)
    uv = np.random.default_rng(6).uniform(size=(500, 2))
    points = particles.surface_points([collider], 0, uv)
    cell = (np.floor(uv * 3) @ [1, 3]).astype(int)
    part = 2 * cell + ((uv * 3) % 1).sum(axis=1).__gt__(1.0)
    there = part < 11
    np.testing.assert_array_equal(np.isfinite(points).all(axis=1), there)
    back = particles.impact_coordinates(impact(0, part[there], points[there]), [collider])
    np.testing.assert_allclose(back, uv[there], atol=1e-10)
    assert np.abs(thud.closest_point(box, points[there], pose=pose).distance).max() < 1e-12
    # Corners of a triangle stay in its cell, whatever the resolution.
    for face in range(11):
        at = (np.asarray(mesh.vertices)[np.asarray(mesh.faces)[face]]) @ np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]) + [1, 2, 3]
        corner = particles.impact_coordinates(impact(0, np.full(3, face), at), [collider])
        assert (np.floor(corner * 3) @ [1, 3] == face // 2).all()


def test_a_degenerate_triangle_is_its_corner() -> None:
    mesh = thud.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [2, 0, 0]], [[0, 1, 2], [0, 1, 3]])
    uv = particles.impact_coordinates(impact(0, np.array([1]), np.array([[0.5, 0, 0]])), [particles.Mesh(mesh)])
    assert ((uv >= 0) & (uv <= 1)).all()


DETAILS = {"details": np.random.default_rng(5).normal(size=(2, 8, 8)) * 0.05, "detail_ratio": 2, "materials": [0, 1, -1, 0]}


@pytest.mark.parametrize(
    "options",
    [{}, {"apart": True, "overhang": 3.0, "side": 4}, {"side": 4, "quads": (2, 1), **DETAILS}],
    ids=["plain", "apart", "details"],
)
def test_displaced_surfaces_have_their_map(options: dict[str, Any]) -> None:
    rng = np.random.default_rng(8)
    surface = grid_surface(rng, **options)
    pose = thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])
    collider = particles.Surface(surface, pose)
    uv = rng.uniform(size=(300, 2))
    points = particles.surface_points([collider], 0, uv)
    there = np.isfinite(points).all(axis=1)
    assert there.sum() > 100
    # The part of a place: its quad and the patch within.
    size = np.array(np.shape(surface.displacements))[::-1] - 1
    part = []
    for place in uv[there] * size:
        quads = np.asarray(surface.quads)
        (k, *_) = np.flatnonzero(((place >= quads[:, :2]) & (place < quads[:, :2] + quads[:, 2:])).all(axis=1))
        x, y = ((place - quads[k, :2]) * surface.detail_ratio).astype(int)
        part.append(int(k) * 2**32 + int(y) * 2**16 + int(x))
    back = particles.impact_coordinates(impact(0, np.array(part), points[there]), [collider])
    np.testing.assert_allclose(back, uv[there], atol=1e-9)


def test_blobs_have_a_tile_a_ball() -> None:
    blobs = particles.Blobs([[0, 0, 0], [5, 0, 0]], 1.0)
    points = np.array([[0.3, 0, 0], [0, 0, 0.4], [5, 0.2, 0], [5, 0, -0.2]])
    uv = particles.impact_coordinates(impact(0, np.array([0, 0, 1, 1]), points), [blobs])
    np.testing.assert_allclose(uv[[0, 2]], [[0, 0.25], [0.625, 0.25]])
    np.testing.assert_allclose(uv[[1, 3], 1], [0.5, 0.0])
    assert np.isnan(particles.surface_points([blobs], 0, uv)).all()


def test_errors_name_the_argument() -> None:
    with pytest.raises(InvalidInputError, match="extent"):
        particles.impact_coordinates(impact(0, np.zeros(1, int), np.zeros((1, 3))), [COLLIDERS["disc"]], extent=0)
    with pytest.raises(InvalidInputError, match="colliders"):
        particles.impact_coordinates(impact(1, np.zeros(1, int), np.zeros((1, 3))), [COLLIDERS["disc"]])
    with pytest.raises(InvalidInputError, match="coordinates"):
        particles.surface_points([COLLIDERS["disc"]], 0, [[0.5, 1.5]])
    with pytest.raises(InvalidInputError, match="collider"):
        particles.surface_points([COLLIDERS["disc"]], 1, [[0.5, 0.5]])
