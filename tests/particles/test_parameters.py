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


def box_mesh(half: Any) -> thud.TriangleMesh:
    """A box of twelve faces."""
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float) * half
    quads = [[0, 1, 3, 2], [4, 6, 7, 5], [0, 4, 5, 1], [2, 3, 7, 6], [0, 2, 6, 4], [1, 5, 7, 3]]
    return thud.TriangleMesh(corners, [face for a, b, c, d in quads for face in ([a, b, c], [a, c, d])])


def wavy_mesh(seed: int = 3) -> thud.TriangleMesh:
    """A bumpy torus: normals of every direction."""
    a, b = np.meshgrid(np.arange(20) * 2 * np.pi / 20, np.arange(12) * 2 * np.pi / 12, indexing="ij")
    r = 0.3 + 0.04 * np.random.default_rng(seed).normal(size=a.shape)
    at = np.stack([(0.8 + r * np.cos(b)) * np.cos(a), (0.8 + r * np.cos(b)) * np.sin(a), r * np.sin(b)], axis=-1)
    i, j = np.meshgrid(np.arange(20), np.arange(12), indexing="ij")
    c = [((i + di) % 20 * 12 + (j + dj) % 12).ravel() for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1))]
    return thud.TriangleMesh(
        at.reshape(-1, 3), np.concatenate([np.column_stack([c[0], c[1], c[2]]), np.column_stack([c[0], c[2], c[3]])])
    )


def ramp_mesh() -> thud.TriangleMesh:
    """Two turns of a spiral ramp: one smooth surface that lies over itself when seen from above."""
    turn = np.linspace(0.0, 4.0 * np.pi, 49)
    rim = [np.column_stack([r * np.cos(turn), r * np.sin(turn), 0.05 * turn]) for r in (1.0, 2.0)]
    k = np.arange(48)
    faces = np.concatenate([np.column_stack([k, 49 + k, 50 + k]), np.column_stack([k, 50 + k, k + 1])])
    return thud.TriangleMesh(np.concatenate(rim), faces)


@pytest.mark.parametrize("make", [lambda: box_mesh([1, 2, 3]), wavy_mesh, ramp_mesh], ids=["box", "torus", "ramp"])
def test_places_on_meshes_there_and_back(make: Any) -> None:
    mesh = make()
    pose = thud.Pose([1, 2, 3], [0.5, 0.5, 0.5, 0.5])
    collider = particles.Mesh(mesh, pose)
    rng = np.random.default_rng(6)
    part = rng.integers(0, len(mesh.faces), 1000)
    b = rng.dirichlet([1.0, 1.0, 1.0], 1000)
    local = np.einsum("mi,mik->mk", b, np.asarray(mesh.vertices)[np.asarray(mesh.faces)[part]])
    points = local @ np.array([[0, 1, 0], [0, 0, 1], [1, 0, 0]]) + [1, 2, 3]
    uv = particles.impact_coordinates(impact(0, part, points), [collider])
    assert ((uv >= 0) & (uv <= 1)).all()
    # Each place has one meaning: it leads back to its own point, however many lie below it in the chart's plane.
    np.testing.assert_allclose(particles.surface_points([collider], 0, uv), points, atol=1e-9)
    # Twice the same.
    np.testing.assert_array_equal(uv, particles.impact_coordinates(impact(0, part, points), [particles.Mesh(make(), pose)]))
    assert np.isnan(particles.surface_points([collider], 0, [[0.0, 0.0]])).all()


def test_charts_hold_neighbours_and_keep_lengths() -> None:
    atlas = MapCharts(particles.ColliderSet([particles.Mesh(box_mesh([1, 2, 3]))]), 10.0).charts[0].atlas
    assert len(np.unique(atlas.chart)) == 6
    assert (atlas.chart[0::2] == atlas.chart[1::2]).all()
    # Flat charts have one scale all over: edges of 2, 4 and 6 m.
    length = np.linalg.norm(np.diff(atlas.flat[:, [0, 1, 2, 0]], axis=1), axis=2)
    corners = np.asarray(box_mesh([1, 2, 3]).vertices)[np.asarray(box_mesh([1, 2, 3]).faces)]
    real = np.linalg.norm(np.diff(corners[:, [0, 1, 2, 0]], axis=1), axis=2)
    np.testing.assert_allclose(length / real, length[0, 0] / real[0, 0])
    # Charts fill most of the square.
    assert 88.0 * (length[0, 0] / real[0, 0]) ** 2 > 0.5
    wavy = MapCharts(particles.ColliderSet([particles.Mesh(wavy_mesh())]), 10.0).charts[0].atlas
    assert len(np.unique(wavy.chart)) < 480 / 6


def test_a_mesh_may_bring_its_texture_coordinates() -> None:
    mesh = thud.TriangleMesh([[0, 0, 0], [2, 0, 0], [2, 1, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 3]])
    given = np.array([[0.1, 0.2], [0.9, 0.2], [0.9, 0.6], [0.1, 0.6]])
    at = np.array([[0.5, 0.1, 0.0], [0.5, 0.9, 0.0]])
    for texture in (given, given[np.asarray(mesh.faces)]):
        collider = particles.Mesh(mesh, texture_coordinates=texture)
        uv = particles.impact_coordinates(impact(0, np.array([0, 1]), at), [collider])
        np.testing.assert_allclose(uv, [[0.3, 0.24], [0.3, 0.56]])
        np.testing.assert_allclose(particles.surface_points([collider], 0, uv), at, atol=1e-12)
    with pytest.raises(InvalidInputError, match="texture_coordinates: expected"):
        particles.Mesh(mesh, texture_coordinates=given[:3])
    with pytest.raises(InvalidInputError, match="texture_coordinates: row 2"):
        particles.Mesh(mesh, texture_coordinates=given + [[0.0, 0.0], [0, 0], [0.2, 0], [0, 0]])
    folded = particles.Mesh(mesh, texture_coordinates=given[[0, 1, 2, 1]] * [1.0, 0.5] + [[0, 0], [0, 0], [0, 0], [-0.1, 0.1]])
    with pytest.raises(InvalidInputError, match="lies over another face"):
        particles.impact_coordinates(impact(0, np.array([0]), at[:1]), [folded])


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
    np.testing.assert_allclose(uv, [[0.5, 0.25], [0.25, 0.25], [0.75, 0.5], [1.0, 0.5]], atol=1e-11)


def test_places_on_blobs_there_and_back() -> None:
    blobs = particles.Blobs([[0, 0, 0], [0.9, 0.2, 0], [5, 0, 0]], [1.0, 1.1, 0.8], 1.0, 0.4)
    rng = np.random.default_rng(3)
    start = rng.normal(size=(300, 3)) * 4.0
    aim = np.array([[0, 0, 0], [0.9, 0.2, 0], [5, 0, 0]])[rng.integers(0, 3, 300)]
    found = particles.ParticleSystem(start, aim - start, lifetime=2.0, generations=1).impacts([blobs], 0.0, 2.0)
    back = particles.surface_points([blobs], 0, particles.impact_coordinates(found, [blobs]))
    assert len(found) > 250
    np.testing.assert_allclose(back, found.point, atol=1e-9)


def test_errors_name_the_argument() -> None:
    with pytest.raises(InvalidInputError, match="extent"):
        particles.impact_coordinates(impact(0, np.zeros(1, int), np.zeros((1, 3))), [COLLIDERS["disc"]], extent=0)
    with pytest.raises(InvalidInputError, match="colliders"):
        particles.impact_coordinates(impact(1, np.zeros(1, int), np.zeros((1, 3))), [COLLIDERS["disc"]])
    with pytest.raises(InvalidInputError, match="coordinates"):
        particles.surface_points([COLLIDERS["disc"]], 0, [[0.5, 1.5]])
    with pytest.raises(InvalidInputError, match="collider"):
        particles.surface_points([COLLIDERS["disc"]], 1, [[0.5, 0.5]])
