"""The displaced surface: sampling without cracks, bounding planes that hold, validation that names what is wrong."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import thud
from tests.oracles.displaced import grid_surface
from thud.terrain.tessellate import tessellate

RNG = np.random.default_rng(7)
TILES = RNG.normal(size=(2, 16, 16)) * 0.05

KINDS = {
    "one map": {},
    "apart": {"apart": True},
    "quadrilaterals": {"quadrilaterals": True},
    "free edges": {"free": True},
    "overhang": {"apart": True, "overhang": 4.0},
    "details, apart": {"apart": True, "free": True, "details": TILES, "detail_ratio": 4, "materials": np.zeros(24, int)},
    "details, two materials": {"details": TILES, "detail_ratio": 2, "materials": RNG.integers(-1, 2, 12)},
    "details, quadrilaterals": {"quadrilaterals": True, "details": TILES, "detail_ratio": 2, "materials": [0, 1, 1, 0, 0, 1]},
    "thick": {"thickness": 0.7},
}


@pytest.fixture(params=list(KINDS), name="surface")
def _surface(request):
    return grid_surface(np.random.default_rng(1), **KINDS[request.param])


def place_on_patches(surface, quad, st):
    """Points of the bilinear patches (3.5) at (s, t) samples from the quad's lowest corner."""
    points = surface.samples(quad).point
    corner = np.clip(st.astype(int), 0, points.shape[0] - 2)
    (x, y), (a, b) = corner.T, (st - corner).T[..., None]
    near = (1 - a) * (1 - b) * points[y, x] + a * (1 - b) * points[y, x + 1]
    return near + (1 - a) * b * points[y + 1, x] + a * b * points[y + 1, x + 1]


def random_places(surface, k, count, rng):
    """(weights of the primitive's vertices, (s, t) samples from its quad's corner)."""
    vertices = surface.primitives[k][surface.primitives[k] >= 0]
    weights = rng.dirichlet(np.ones(3), count)
    if len(vertices) == 4:
        u, v = rng.random((2, count))
        weights = np.column_stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
    st = weights @ surface.coordinates[vertices] - surface.quads[surface._primitive_quads[k], :2]
    return weights, st * surface.detail_ratio


def test_neighbours_share_border_samples_bit_for_bit(surface):
    quads = [surface.samples(q) for q in range(6)]
    for j in range(2):
        for i in range(2):
            assert quads[3 * j + i].point[:, -1].tobytes() == quads[3 * j + i + 1].point[:, 0].tobytes()
    for i in range(3):
        assert quads[i].point[-1].tobytes() == quads[3 + i].point[0].tobytes()


def test_no_crack_in_the_tessellation(surface):
    mesh = surface.to_mesh()
    edges = np.sort(mesh.faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
    _, counts = np.unique(edges, axis=0, return_counts=True)
    # 3 x 2 quads: the rim is 10 sides long.
    assert (counts == 1).sum() == 10 * surface.samples(0).length.shape[0] - 10
    assert counts.max() == 2


def test_nodes_follow_the_formulas(surface):
    """(2.1), (2.2) straight from the text, at every node of a primitive."""
    k = 0
    quad = surface._primitive_quads[k]
    samples = surface.samples(quad)
    vertices = surface.primitives[k][surface.primitives[k] >= 0]
    corners = (surface.coordinates[vertices] - surface.quads[quad, :2]) * surface.detail_ratio
    m = samples.length.shape[0]
    y, x = np.mgrid[:m, :m]
    if len(vertices) == 4:
        low, high = corners[0], corners[2]
        u, v = (x - low[0]) / (high[0] - low[0]), (y - low[1]) / (high[1] - low[1])
        weights = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=-1)
    else:
        solve = np.linalg.inv(np.stack([corners[1] - corners[0], corners[2] - corners[0]], axis=1))
        uv = np.stack([x - corners[0, 0], y - corners[0, 1]], axis=-1) @ solve.T
        weights = np.concatenate([1 - uv.sum(axis=-1, keepdims=True), uv], axis=-1)
    inside = (weights >= -1e-12).all(axis=-1)
    assert inside.sum() > 9
    np.testing.assert_allclose(samples.position[inside], (weights @ surface.positions[vertices])[inside], atol=1e-12)
    np.testing.assert_allclose(samples.direction[inside], (weights @ surface.directions[vertices])[inside], atol=1e-12)
    np.testing.assert_array_equal(samples.point, samples.position + samples.length[..., None] * samples.direction)


def test_without_details_lengths_are_those_of_the_map():
    surface = grid_surface(np.random.default_rng(3), apart=True)
    for quad, (s, t, side) in enumerate(surface.quads):
        expected = surface.displacements[t : t + side + 1, s : s + side + 1]
        np.testing.assert_array_equal(surface.samples(quad).length, expected.astype(float))


def test_details_are_added_inside_and_fade_at_seams():
    options = {
        "apart": True,
        "details": TILES[:1],
        "detail_ratio": 4,
        "materials": np.zeros(12, int),
        "height": 0.0,
        "rough": 0.0,
    }
    surface = grid_surface(np.random.default_rng(3), **options)
    lengths = surface.samples(0).length
    assert not lengths[0].any()
    assert not lengths[:, -1].any()
    # Two samples in from the corner of the triangle: deep inside details count in full.
    assert lengths[10, 8] == pytest.approx(float(np.float32(TILES[0, 10 % 16, 8 % 16])))
    joined = grid_surface(np.random.default_rng(3), **{**options, "apart": False})
    assert joined.samples(0).length[:, -1].any()


def test_bounding_planes_and_boxes_hold_the_surface(surface):
    rng = np.random.default_rng(5)
    planes, boxes = surface._bounded
    for k in range(len(planes)):
        _, st = random_places(surface, k, 500, rng)
        points = place_on_patches(surface, surface._primitive_quads[k], st)
        heights = points @ planes[k, :3] - planes[k, 3]
        assert heights.min() >= planes[k, 4] - 1e-12
        assert heights.max() <= planes[k, 5] + 1e-12
        assert (points >= boxes[k, :3] - 1e-12).all()
        assert (points <= boxes[k, 3:] + 1e-12).all()


def test_bounding_planes_are_tight():
    surface = grid_surface(np.random.default_rng(1), free=True, height=1.0)
    rng = np.random.default_rng(5)
    for k in range(len(surface.bounding_planes)):
        plane = surface.bounding_planes[k]
        _, st = random_places(surface, k, 20_000, rng)
        heights = place_on_patches(surface, surface._primitive_quads[k], st) @ plane[:3] - plane[3]
        assert plane[5] - heights.max() < 0.1
        assert heights.min() - plane[4] < 0.1


def test_a_cliff_beside_the_primitive_counts():
    """A spike one sample beyond a free edge lifts the surface inside: samples inside alone give a plane that is too low."""
    positions = np.array([[0.0, 0, 0], [8, 0, 0], [8, 8, 0], [0, 8, 0]])
    lengths = np.zeros((9, 9), dtype=np.float32)
    lengths[4, 5] = 10.0
    surface = thud.terrain.DisplacedSurface(
        positions, np.tile([0.0, 0, 1], (4, 1)), positions[:, :2].astype(int), [(0, 1, 3), (1, 2, 3)], [(0, 0, 8)], lengths
    )
    # (5, 4) lies beyond the diagonal s + t = 8 of primitive 0, whose samples are all 0; on the diagonal the patch rises to 2.5.
    assert surface.bounding_planes[0, 5] == pytest.approx(2.5)
    assert surface.bounding_planes[1, 5] == pytest.approx(10.0)


def test_the_ground_is_in_the_box(surface):
    """The columns below all samples, which the boxes of the primitives leave out."""
    bounds = surface.bounds()
    for quad in range(len(surface.quads)):
        nodes = surface.samples(quad)
        ends = nodes.point - surface.ground_thickness * nodes.direction
        for points in (nodes.point, ends):
            assert (points >= bounds.lower - 1e-9).all()
            assert (points <= bounds.upper + 1e-9).all()


@pytest.mark.parametrize("unit", [1.0, 0.25, 64.0])
def test_flat_land_is_solid_by_itself(unit):
    # Without a thickness the ground ended at the lower bounding plane: on flat land at the surface itself.
    surface = thud.terrain.DisplacedSurface(**{**SQUARE, "directions": unit * np.array(SQUARE["directions"])})
    longest = np.hypot(4.0, 4.0)
    deep = surface.ground_thickness * unit
    assert 0.5 * longest <= deep <= longest
    points = [[1.3, 2.1, 0.01], [1.3, 2.1, -0.01], [1.3, 2.1, -0.99 * deep], [1.3, 2.1, -1.01 * deep]]
    np.testing.assert_array_equal(thud.contains(surface, points), [False, True, True, False])


def test_forward_meets_the_samples(surface):
    corners = surface.forward(np.arange(len(surface.primitives)), 0.0, 0.0)
    for k in range(len(surface.primitives)):
        quad = surface._primitive_quads[k]
        s, t = (surface.coordinates[surface.primitives[k, 0]] - surface.quads[quad, :2]) * surface.detail_ratio
        np.testing.assert_allclose(corners.point[k], surface.samples(quad).point[t, s], atol=1e-12)


def test_tessellation_split_follows_the_patches():
    surface = grid_surface(np.random.default_rng(1), quads=(1, 1), side=2)
    vertices, faces = tessellate(surface, split=4)
    assert len(faces) == 2 * 4 * 16
    st = np.random.default_rng(0).integers(0, 9, (50, 2)) / 4.0
    points = place_on_patches(surface, 0, st)
    assert max(np.abs(vertices - p).max(axis=1).min() for p in points) < 1e-12


def test_pickles(surface):
    again = pickle.loads(pickle.dumps(surface))
    assert again.samples(0).point.tobytes() == surface.samples(0).point.tobytes()


SQUARE = {
    "positions": [[0.0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]],
    "directions": [[0.0, 0, 1]] * 4,
    "coordinates": [[0, 0], [4, 0], [4, 4], [0, 4]],
    "primitives": [[0, 1, 2], [0, 2, 3]],
    "quads": [[0, 0, 4]],
    "displacements": np.zeros((5, 5)),
}

WRONG = [
    ({"quads": [[0, 0, 3]]}, "quads: row 0 has side 3"),
    ({"quads": [[1, 0, 4]]}, "quads: row 0.*needs samples up to"),
    ({"quads": [[0, 0, 2]]}, "primitives: row 0 crosses the border of quad 0"),
    ({"quads": [[0, 0, 4], [0, 0, 2]]}, "quads: rows 0 and 1 overlap"),
    ({"primitives": [[0, 1, 2]]}, "quads: row 0 of 16 squares is covered by primitives of 8"),
    ({"primitives": [[0, 1, 2], [0, 1, 2]]}, "its primitives overlap or leave gaps"),
    # They have four corners between them and the area of the quad.
    ({"primitives": [[0, 1, 2], [0, 1, 3]]}, "its primitives overlap or leave gaps"),
    ({"primitives": [[0, 2, 1], [0, 2, 3]]}, "primitives: row 0 runs clockwise"),
    ({"primitives": [[0, 1, 4], [0, 2, 3]]}, "primitives: row 0 names a vertex outside"),
    ({"primitives": [[0, 1, 1], [0, 2, 3]]}, "primitives: row 0 has no area"),
    ({"coordinates": [[0, 0], [4, 0], [5, 4], [0, 4]]}, "coordinates: row 2.*outside the displacement map"),
    ({"coordinates": [[0, 0], [4, 0], [3.5, 4], [0, 4]]}, "coordinates: row 2.*whole numbers"),
    ({"directions": [[0.0, 0, 1], [0, 0, 1], [0, 0, -1], [0, 0, 1]]}, "the direction of vertex 2 does not point"),
    ({"directions": [[0.0, 0, 1]] * 3}, "directions: expected one row a vertex"),
    ({"displacements": np.full((5, 5), np.nan)}, "displacements: not finite"),
    ({"displacements": np.full((5, 5), 1e300)}, "displacements: not finite"),
    ({"positions": [[0.0, 0, 0], [4, 0, 0], [8, 0, 0], [0, 4, 0]]}, "primitives: row 0 has no area in space"),
    ({"detail_ratio": 3}, "detail_ratio"),
    ({"materials": [0, 0]}, "materials: row 0 is 0; there are 0 detail maps"),
    ({"materials": [-1]}, "materials: expected one a primitive"),
    ({"thickness": 0.0}, "thickness"),
    ({"thickness": 1e300}, "thickness"),
    ({"thickness": "a"}, "thickness: expected numbers"),
    ({"displacements": np.ma.masked_equal(np.eye(5), 1.0)}, "displacements: row 0 is masked"),
    ({"displacements": np.zeros((5, 5)) * 1j}, "displacements: expected numbers, got complex"),
    ({"primitives": np.ma.masked_equal([[0, 1, 2], [0, 2, 3]], 3)}, "primitives: row 1 is masked"),
    # Inward by as much as up: they cross at length 2, the surface is beyond.
    (
        {"directions": [[1.0, 0, 1], [-1, 0, 1], [-1, 0, 1], [1, 0, 1]], "displacements": np.full((5, 5), 3.0)},
        "directions: those of primitive 0 cross before they reach the surface",
    ),
    ({"directions": [[0.0, 0, 1], [0, 0, 1], [1, 0, 1e-12], [0, 0, 1]]}, "the direction of vertex 2 does not point"),
]


@pytest.mark.parametrize(("change", "message"), WRONG)
def test_validation_names_what_is_wrong(change, message):
    with (
        np.errstate(over="ignore"),
        pytest.raises(thud.ThudError, match=message),
    ):
        thud.terrain.DisplacedSurface(**{**SQUARE, **change})


def test_quads_adjacent_in_the_map_may_be_far_apart_in_space():
    positions = np.array(SQUARE["positions"])
    surface = thud.terrain.DisplacedSurface(
        np.concatenate([positions, positions + 100.0]),
        SQUARE["directions"] * 2,
        np.concatenate([SQUARE["coordinates"], np.array(SQUARE["coordinates"]) + [4, 0]]),
        np.concatenate([SQUARE["primitives"], np.array(SQUARE["primitives"]) + 4]),
        [[0, 0, 4], [4, 0, 4]],
        np.zeros((5, 9)),
    )
    assert surface.samples(0).point.max() == 4.0
    assert surface.samples(1).point.min() == 100.0


def test_what_lies_on_any_column_is_ground():
    """Directions that lean outward cross at length -2, within the ground; beyond the crossing the columns have changed sides,
    and still are ground."""
    positions = np.array([[0.0, 0, 0], [4, 0, 0], [4, 4, 0], [0, 4, 0]])
    outward = np.array([[-1.0, 0, 1], [1, 0, 1], [1, 0, 1], [-1, 0, 1]])
    lengths = np.zeros((5, 5), dtype=np.float32)
    coordinates = [[0, 0], [4, 0], [4, 4], [0, 4]]
    for primitives in ([(0, 1, 2), (0, 2, 3)], [(0, 1, 2, 3)]):
        arrays = (positions, outward, coordinates, primitives, [(0, 0, 4)], lengths)
        surface = thud.terrain.DisplacedSurface(*arrays, thickness=10.0)
        points = [[2.2, 2.1, -3.0], [2.2, 2.1, -1.0], [3.2, 2.1, -3.0], [2.5, 2.1, -2.0]]
        # Columns at depth z are 2 |1 - z / 2| wide from the middle.
        np.testing.assert_array_equal(thud.contains(surface, points), [True, True, False, False])


def test_the_callers_arrays_stay_the_callers():
    positions = np.array(SQUARE["positions"])
    surface = thud.terrain.DisplacedSurface(**{**SQUARE, "positions": positions})
    positions[0] = 7.0
    assert surface.positions[0, 0] == 0.0


def test_details_without_a_ratio_of_their_own_are_added():
    options = {"details": np.full((1, 1, 1), 0.25), "materials": [0, 0]}
    surface = thud.terrain.DisplacedSurface(**SQUARE, **options)
    assert surface.samples(0).length.max() == 0.25
    assert surface.samples(0).length[0].max() == 0.0
