"""Making displaced surfaces: from fields, meshes and height maps; close to the original, without cracks."""

from __future__ import annotations

import itertools
import re

import numpy as np
import pytest

import thud
from reproductions.terrains import CAVE_DOMAIN, ROAD_DOMAIN, cave_field, road_field, sphere_field, torus_field
from reproductions.warship import warship
from thud.errors import InvalidInputError, InvalidShapeError
from thud.terrain import GridField, from_field, from_heights, from_mesh
from thud.terrain.making.aligned_plane_error import (
    _objective,
    _shortfall,
    aligned_plane_errors,
    aligned_plane_weights,
    optimised_directions,
)
from thud.terrain.making.atlas import Atlas, SharedNodes
from thud.terrain.making.fields import MeshField
from thud.terrain.making.surface_nets import sheets, surface_nets
from thud.terrain.making.trace import trace
from thud.terrain.tessellate import tessellate


def tilted(points):
    return (points[:, 2] - 0.3 * points[:, 0] - 0.1 * points[:, 1] - 0.1) / np.sqrt(1.1)


def two_balls(points):
    """Two bodies nearer to each other than a cell."""
    return np.minimum(np.linalg.norm(points - [1.9, 0.1, 0.2], axis=1), np.linalg.norm(points + [1.9, 0.2, 0.1], axis=1)) - 1.6


FIELDS = {
    "sphere": (sphere_field(3.0), [-4.0] * 3, [4.0] * 3, 1.0),
    "torus": (torus_field(), [-5.0] * 3, [5.0] * 3, 1.0),
    "plane": (tilted, [-5.0] * 3, [5.0] * 3, 1.0),
    "two balls": (two_balls, [-4.5] * 3, [4.5] * 3, 0.9),
    "road": (road_field(), *ROAD_DOMAIN, 4.0),
    "cave": (cave_field(0), *CAVE_DOMAIN, 6.0),
}
CLOSED = ("sphere", "torus", "two balls")


@pytest.fixture(
    params=[(name, four) for name in FIELDS for four in (False, True)], ids=lambda p: f"{p[0]}-{'34'[p[1]]}", name="made"
)
def _made(request):
    name, four = request.param
    field, lower, upper, cell = FIELDS[name]
    return name, field, cell, from_field(field, lower, upper, cell, samples=4, quadrilaterals=four)


def edge_uses(faces):
    edges = np.sort(faces[:, [0, 1, 1, 2, 2, 0]].reshape(-1, 2), axis=1)
    return np.unique(edges, axis=0, return_counts=True)


def test_there_is_no_crack(made):
    name, _, _, result = made
    vertices, faces = tessellate(result.surface)
    edges, used = edge_uses(faces)
    assert used.max() == 2
    # Border edges form closed loops near the domain's border: every vertex on them has two.
    border = edges[used == 1]
    if name in CLOSED:
        assert len(border) == 0
        return
    assert (np.unique(border, return_counts=True)[1] == 2).all()
    _, lower, upper, cell = FIELDS[name]
    points = vertices[np.unique(border)]
    gap = np.minimum(points - lower, np.array(upper) + cell - points).min(axis=1)
    assert gap.max() < 2.0 * cell


def test_closed_bodies_run_outward_and_have_their_volume(made):
    name, _, _, result = made
    if name not in CLOSED:
        return
    volume = {"sphere": 4 / 3 * np.pi * 27, "torus": 2 * np.pi**2 * 3 * 1.44, "two balls": 2 * 4 / 3 * np.pi * 1.6**3}[name]
    assert result.surface.to_mesh().volume == pytest.approx(volume, rel=0.03)


def test_traced_samples_lie_on_the_original(made):
    name, field, cell, result = made
    points = result.surface.quad_samples(np.arange(len(result.surface.quads))).point.reshape(-1, 3)
    off = np.abs(field(points)) > 1e-6 * cell
    # Nodes whose line misses count; each is in up to four quads or more.
    assert off.sum() <= 6 * result.failed
    assert result.failed <= 0.01 * result.traced
    if name != "cave":
        assert result.failed == 0
    assert str(result) == result.report
    assert f"{result.traced} nodes traced" in result.report
    assert "ground down to" in result.report


def test_neighbours_hold_the_same_lengths_bit_for_bit(made):
    _, _, _, result = made
    surface = result.surface
    found = surface.quad_samples(np.arange(len(surface.quads)))
    sides = [(slice(None), 0), (slice(None), -1), (0, slice(None)), (-1, slice(None))]
    seen: dict[bytes, bytes] = {}
    for q in range(len(surface.quads)):
        for t, s in sides:
            ends = found.position[q, t, s][[0, -1]]
            order = slice(None) if tuple(ends[0]) < tuple(ends[1]) else slice(None, None, -1)
            key = found.position[q, t, s][order].tobytes()
            value = found.length[q, t, s][order].tobytes() + found.point[q, t, s][order].tobytes()
            assert seen.setdefault(key, value) == value
    assert len(seen) < 4 * len(surface.quads)


@pytest.mark.parametrize("name", ["sphere", "torus", "road"])
def test_error_falls_with_samples_by_their_square(name):
    field, lower, upper, cell = FIELDS[name]
    errors = [from_field(field, lower, upper, cell, samples=n) for n in (2, 4, 8, 16)]
    for coarse, fine in itertools.pairwise(errors):
        assert fine.error_max < 0.4 * coarse.error_max
        assert fine.error_mean < 0.4 * coarse.error_mean


def test_reported_error_is_the_distance():
    result = from_field(sphere_field(3.0), [-4.0] * 3, [4.0] * 3, 1.0, samples=4)
    points = result.surface.quad_samples(np.arange(len(result.surface.quads))).point
    middle = 0.25 * (points[:, :-1, :-1] + points[:, 1:, :-1] + points[:, :-1, 1:] + points[:, 1:, 1:])
    off = [np.abs(np.linalg.norm(p.reshape(-1, 3), axis=1) - 3.0) for p in (points, middle)]
    assert result.error_max == pytest.approx(np.concatenate(off).max(), rel=1e-3)
    assert result.error_mean == pytest.approx(np.concatenate(off).mean(), rel=1e-3)


def test_a_field_need_not_be_a_distance():
    # Ten times steeper: the same surface and the same reported distances.
    one = from_field(torus_field(), [-5.0] * 3, [5.0] * 3, 1.0, samples=4)
    ten = from_field(lambda p: 10.0 * torus_field()(p), [-5.0] * 3, [5.0] * 3, 1.0, samples=4)
    np.testing.assert_allclose(ten.surface.to_mesh().vertices, one.surface.to_mesh().vertices, atol=1e-6)
    assert ten.error_max == pytest.approx(one.error_max, rel=1e-3)


def test_an_array_is_as_good_as_the_callable_it_was_sampled_from():
    spacing = np.array([0.5, 0.4, 0.25])
    grid = np.stack(np.meshgrid(*(np.arange(n) * h - 2.0 for n, h in zip((9, 11, 17), spacing)), indexing="ij"), axis=-1)
    values = (grid @ [0.2, -0.1, 1.0]) + 0.13
    field = GridField(values, [-2.0] * 3, spacing)
    points = np.random.default_rng(0).uniform(-2.0, 2.0, (500, 3))
    # Trilinear interpolation keeps a linear field.
    np.testing.assert_allclose(field(points), points @ [0.2, -0.1, 1.0] + 0.13, atol=1e-12)
    one = from_field(field, cell=0.5, samples=4)
    two = from_field(lambda p: p @ [0.2, -0.1, 1.0] + 0.13, *field.bounds, 0.5, samples=4)
    np.testing.assert_allclose(one.surface.to_mesh().vertices, two.surface.to_mesh().vertices, atol=1e-7)
    # Curved: the array's own surface is met exactly, the callable's within the array's resolution.
    n = np.arange(41) * 0.2 - 4.0
    ball = GridField(
        sphere_field(3.0)(np.stack(np.meshgrid(n, n, n, indexing="ij"), axis=-1).reshape(-1, 3)).reshape(41, 41, 41),
        [-4.0] * 3,
        0.2,
    )
    made = from_field(ball, cell=1.0, samples=8)
    radius = np.linalg.norm(made.surface.to_mesh().vertices, axis=1)
    assert made.failed == 0
    np.testing.assert_allclose(radius, 3.0, atol=0.005)


def test_sheets_of_a_cell():
    counts, table, twice = sheets()
    assert counts[0] == counts[255] == 0
    assert counts[1] == 1
    # Opposite corners: two sheets; all that alternate: four.
    assert counts[0b10000001] == 2
    assert counts[0b01101001] == 4
    assert counts.max() == 4
    assert (table.max(axis=1) + 1 == counts).all()
    # Each sheet is crossed by three edges or more.
    for case in range(512):
        for sheet in range(counts[case]):
            assert (table[case] == sheet).sum() >= 3
    # Only where one face alternates can a sheet pass through it twice.
    assert twice.sum(axis=1).max() == 1


@pytest.mark.parametrize("seed", range(4))
def test_nets_of_noise_are_manifold(seed):
    # Random signs have every ambiguous case; edges of four quads were where two cells each joined both arcs of a face.
    rng = np.random.default_rng(seed)
    field = GridField(rng.normal(size=(9, 10, 11)), [0.0] * 3, 1.0)
    net = surface_nets(field, np.zeros(3), np.array([8, 9, 10]), 1.0, np.zeros(3, int))
    _, used = np.unique(
        np.sort(np.stack([net.quads, np.roll(net.quads, -1, axis=1)], axis=2).reshape(-1, 2), axis=1),
        axis=0,
        return_counts=True,
    )
    assert used.max() == 2
    # Neighbours run against each other.
    ends = np.stack([net.quads, np.roll(net.quads, -1, axis=1)], axis=2).reshape(-1, 2)
    assert len(np.unique(ends, axis=0)) == len(ends)
    assert (np.abs(net.positions - net.centers) <= 0.5 + 1e-12).all()


def test_a_net_does_not_depend_on_how_the_grid_is_cut_into_blocks(monkeypatch):
    whole = surface_nets(torus_field(), np.full(3, -5.0), np.full(3, 10), 1.0, np.zeros(3, int))
    monkeypatch.setattr("thud.terrain.making.surface_nets.FIELD_BLOCK", 200)
    cut = surface_nets(torus_field(), np.full(3, -5.0), np.full(3, 10), 1.0, np.zeros(3, int))
    assert whole.positions.tobytes() == cut.positions.tobytes()
    np.testing.assert_array_equal(whole.quads, cut.quads)
    one = from_field(torus_field(), [-5.0] * 3, [5.0] * 3, 1.0, samples=4)
    monkeypatch.setattr("thud.terrain.making.make.FIELD_BLOCK", 100)
    monkeypatch.setattr("thud.terrain.making.fields.FIELD_BLOCK", 77)
    two = from_field(torus_field(), [-5.0] * 3, [5.0] * 3, 1.0, samples=4)
    assert np.asarray(one.surface.displacements).tobytes() == np.asarray(two.surface.displacements).tobytes()


def test_trace_finds_the_first_surface_that_the_direction_leaves():
    field = sphere_field(3.0)
    position = np.array([[0.0, 0.0, 2.5], [0.0, 0.0, 3.4], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [2.9, 0.0, 2.9], [0.0, 0.0, 2.5]])
    direction = np.array(
        [[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, -1.0, 0.0], [0.0, 0.0, -1.0]]
    )
    length = trace(field, position, direction, 1.0, 1.0)
    np.testing.assert_allclose(length[:3], [0.5, -0.2, 0.0], atol=1e-8)
    # Too far; beside the ball; out of it through the bottom, too far.
    assert np.isnan(length[3:]).all()
    np.testing.assert_allclose(trace(field, position[3:4], direction[3:4], 4.0, 1.0), 3.0, atol=1e-8)


def test_lengths_that_are_not_found_come_from_their_neighbours():
    # A deep narrow shaft: no surface within reach at its bottom.
    def field(points):
        shaft = np.hypot(points[:, 0] - 4.1, points[:, 1] - 4.2) < 0.15
        return np.where(shaft, 6.0 + points[:, 2], points[:, 2] - 0.2)

    made = from_field(field, [0.0, 0.0, -3.0], [8.0, 8.0, 3.0], 1.0, samples=8)
    assert made.failed > 0
    assert made.error_max < 7.0
    heights = made.surface.to_mesh().vertices[:, 2]
    np.testing.assert_allclose(heights, 0.2, atol=1e-6)
    assert f"{made.failed} without a surface" in made.report


def test_atlas_and_shared_nodes():
    atlas = Atlas.pack(7, 4)
    assert atlas.shape == (15, 15)
    whole = atlas.fill(np.arange(7 * 25, dtype=np.float32).reshape(7, 5, 5))
    for q, (s, t, side) in enumerate(atlas.quads.tolist()):
        np.testing.assert_array_equal(whole[t : t + side + 1, s : s + side + 1], np.arange(25).reshape(5, 5) + 25 * q)
    # Two quads that share the edge 1-2, once forwards and once backwards.
    names = SharedNodes(np.array([[0, 1, 2, 3], [1, 4, 5, 2]]), 4).names(np.array([0, 1]))
    np.testing.assert_array_equal(names[0][:, -1], names[1][:, 0])
    assert (names[:, 1:-1, 1:-1] == -1).all()
    assert len(np.unique(names)) == 6 + 7 * 3 + 1


# --- height maps --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(33, 49), (40, 75), (2, 2), (100, 3), (65, 65)])
@pytest.mark.parametrize("spacing", [1.0, 0.1, (0.3, 7.7)])
def test_heights_are_met_at_every_node(shape, spacing):
    rng = np.random.default_rng(3)
    heights = 1200.0 + np.cumsum(np.cumsum(rng.normal(size=shape), axis=0), axis=1)
    made = from_heights(heights, spacing, samples=16)
    mesh = made.surface.to_mesh()
    # One vertex a height: neighbours agree bit for bit, also where quads of different sides meet.
    assert len(mesh.vertices) == heights.size
    order = np.lexsort((mesh.vertices[:, 0], mesh.vertices[:, 1]))
    dx, dy = np.broadcast_to(spacing, 2)
    y, x = np.mgrid[: shape[0], : shape[1]]
    wanted = np.column_stack([x.reshape(-1) * dx, y.reshape(-1) * dy, heights.reshape(-1)])
    quantum = 2.0 ** (np.floor(np.log2(min(dx, dy))) - 16)
    np.testing.assert_allclose(mesh.vertices[order, :2], wanted[:, :2], rtol=1e-9)
    # Nothing rounds but the height itself.
    np.testing.assert_array_equal(mesh.vertices[order, 2], np.round(wanted[:, 2] / quantum) * quantum)
    assert made.error_max <= 0.5 * quantum
    _, used = edge_uses(np.asarray(mesh.faces))
    assert (used == 1).sum() == 2 * (shape[0] + shape[1] - 2)
    assert used.max() == 2


def test_flat_heights_have_no_displacement():
    made = from_heights(np.full((17, 17), 5.0), 1.0, samples=8, thickness=2.0)
    assert not np.asarray(made.surface.displacements).any()
    assert made.error_max == 0.0
    # Thickness is in metres here, in units of displacement there.
    depth = made.surface.thickness * np.linalg.norm(made.surface.directions[0])
    assert "ground down to 2 m below the surface" in made.report
    assert depth == pytest.approx(2.0)


# --- meshes -------------------------------------------------------------------------------------------------------------------


def torus_mesh(around=96, across=48):
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2 * np.pi * u / around, 2 * np.pi * v / across
    reach = 3.0 + 1.2 * np.cos(b)
    vertices = np.stack([reach * np.cos(a), reach * np.sin(a), 1.2 * np.sin(b)], axis=-1).reshape(-1, 3)
    here, right = u * across + v, (u + 1) % around * across + v
    up, both = u * across + (v + 1) % across, (u + 1) % around * across + (v + 1) % across
    return thud.TriangleMesh(vertices, np.stack([here, right, both, here, both, up], axis=-1).reshape(-1, 3))


def sheet_mesh(n=40, height=0.5):
    x, y = np.meshgrid(np.linspace(-4, 4, n), np.linspace(-4, 4, n), indexing="ij")
    vertices = np.stack([x, y, height * np.sin(x) * np.cos(y)], axis=-1).reshape(-1, 3)
    i = np.arange(n * n).reshape(n, n)
    a, b, c, d = i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]
    faces = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)
    return thud.TriangleMesh(vertices, faces)


@pytest.mark.parametrize("turned", [False, True])
def test_from_a_closed_mesh(turned):
    mesh = torus_mesh()
    if turned:
        mesh = thud.TriangleMesh(mesh.vertices, mesh.faces[:, ::-1])
    made = from_mesh(mesh, 1.0, samples=8)
    assert made.failed == 0
    back = made.surface.to_mesh()
    assert back.is_closed
    assert back.volume == pytest.approx(abs(torus_mesh().volume), rel=0.01)
    middle = back.vertices[back.faces].mean(axis=1)
    assert thud.closest_point(mesh, middle).distance.max() < 2.0 * made.error_max
    assert made.error_max < 0.02


def test_from_an_open_mesh():
    mesh = sheet_mesh()
    made = from_mesh(mesh, 0.8, samples=8)
    assert made.failed == 0
    assert made.error_max < 0.01
    vertices = made.surface.to_mesh().vertices
    assert thud.closest_point(mesh, vertices).distance.max() < 1e-5
    # It covers the sheet but for two cells at its border, and nothing beyond.
    assert (np.abs(vertices[:, :2]) <= 4.0 + 1e-6).all()
    assert (vertices[:, :2].max(axis=0) > 4.0 - 1.6).all()
    # The ground is behind the triangles.
    assert (np.asarray(made.surface.directions)[:, 2] > 0.0).all()


def test_side_of_an_open_mesh_by_the_normal_where_the_closest_point_is():
    mesh = sheet_mesh(height=1.5)
    field = MeshField(mesh)
    points = np.random.default_rng(2).uniform([-3, -3, -2], [3, 3, 2], (2000, 3))
    down = thud.raycast(mesh, points, np.tile([0.0, 0.0, -1.0], (2000, 1))).distance
    np.testing.assert_array_equal(field(points) > 0.0, np.isfinite(down))
    with pytest.raises(InvalidShapeError, match="opposite ways"):
        from_mesh(thud.TriangleMesh(mesh.vertices, np.concatenate([mesh.faces[:1, ::-1], mesh.faces[1:]])), 0.8)


# --- the aligned plane --------------------------------------------------------------------------------------------------------


def test_aligned_plane_weights_are_the_papers_table_4_1_in_kind():
    # Directions of equal heights above the triangle, or parallel ones: exact. Otherwise not.
    position = np.array([[[0.0, 0, 0], [10, 0, 0], [0, 10, 0]]])
    weights = np.array([0.5, 0.3, 0.2])
    tilted_alike = np.array([[[0.3, 0, 1], [-0.2, 0.4, 1], [0.0, -0.5, 1]]])
    parallel = np.array([[[0.3, 0.1, 1], [0.6, 0.2, 2], [0.15, 0.05, 0.5]]])
    both = tilted_alike * np.array([1.0, 2.0, 0.5])[:, None]
    for direction, exact in ((tilted_alike, True), (parallel, True), (both, False)):
        point = weights @ position[0] + 1.3 * (weights @ direction[0])
        found = aligned_plane_weights(point[None, None], position, direction)[0][0, 0]
        assert np.allclose(found, weights, atol=1e-12) is exact


def test_aligned_plane_weights_are_those_of_the_backward_projection():
    rng = np.random.default_rng(6)
    position = rng.normal(size=(50, 3, 3)) * 4.0
    normal = np.cross(position[:, 1] - position[:, 0], position[:, 2] - position[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    direction = normal[:, None] + 0.2 * rng.normal(size=(50, 3, 3))
    points = position.mean(axis=1) + 0.7 * normal
    ours = aligned_plane_weights(points[:, None], position, direction)[0][:, 0]
    theirs = thud.terrain.backward_project(points, position, direction, method="aligned_plane")
    np.testing.assert_allclose(ours[:, 1:], np.column_stack([theirs.u, theirs.v]), rtol=1e-9, atol=1e-9)


def test_gradient_of_the_aligned_plane_error():
    rng = np.random.default_rng(4)
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    normal = np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]])
    direction = np.array([0.0, 0.3, 1.0]) + 0.3 * rng.normal(size=(4, 3))
    weight = np.array([1.0, 2.5])
    value, slope = _objective(direction, triangles, normal, weight)
    assert value > 0.0
    for i in range(4):
        for k in range(3):
            step = np.zeros((4, 3))
            step[i, k] = 1e-6
            ahead, behind = (_objective(direction + s * step, triangles, normal, weight)[0] for s in (1, -1))
            assert slope[i, k] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-8)


def test_gradient_of_what_short_areas_and_cosines_cost():
    rng = np.random.default_rng(6)
    positions = np.array([[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.2], [0.0, 1.0, 0.0]])
    triangles = np.array([[0, 1, 2], [0, 2, 3]])
    corners = positions[triangles]
    normal = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    normal /= np.linalg.norm(normal, axis=1)[:, None]
    # Directions that meet at a height of 1: the area is least within the reach, at its end, and below zero; one direction falls
    # short of its cosine, another has turned to the lower side.
    meeting = np.array([0.5, 0.5, 1.0]) - positions + 0.1 * rng.normal(size=(4, 3))
    leaning, turned = meeting.copy(), meeting.copy()
    leaning[1], turned[3, 2] = [1.0, -0.2, 0.05], -0.01
    least = np.full((2, 3), 0.1)
    for direction, height in itertools.product((meeting, leaning, turned), (0.6, 1.3, 2.5)):
        reach = np.array([[-0.4, height], [-height, 0.3]])
        value, slope = _shortfall(direction, triangles, normal, corners, reach, least)
        assert value > 0.0
        for i, k in itertools.product(range(4), range(3)):
            step = np.zeros((4, 3))
            step[i, k] = 1e-6
            ahead, behind = (_shortfall(direction + s * step, triangles, normal, corners, reach, least)[0] for s in (1, -1))
            # Differences of second order: their rounding is some 1e-16 / 1e-6 of the value.
            assert slope[i, k] == pytest.approx((ahead - behind) / 2e-6, rel=1e-4, abs=1e-8 * value)


@pytest.mark.parametrize("height", [0.7, 1.0, 2.0])
def test_optimised_directions_open_triangles_that_meet(height):
    # All directions meet at a height of 1, and all have the same height over the plane: the miss on the aligned plane is 0
    # everywhere, but at a height of 1 it has no area, and at 2 it is turned round. Nothing of that was seen by the optimiser.
    x, y = np.meshgrid(np.linspace(-1.0, 1.0, 5), np.linspace(-1.0, 1.0, 5), indexing="ij")
    positions = np.stack([x, y, np.zeros_like(x)], axis=-1).reshape(-1, 3)
    directions = np.array([0.0, 0.0, 1.0]) - positions
    i = np.arange(25).reshape(5, 5)
    a, b, c, d = i[:-1, :-1], i[1:, :-1], i[1:, 1:], i[:-1, 1:]
    triangles = np.concatenate([np.stack([a, b, c], axis=-1), np.stack([a, c, d], axis=-1)]).reshape(-1, 3)
    heights = np.broadcast_to([0.5 * height, 0.0, height], (len(triangles), 3))
    found = optimised_directions(positions, directions, triangles, heights, 0.5)
    assert found.before == pytest.approx(0.0, abs=1e-20)
    points = positions[triangles].mean(axis=1)[:, None] + np.linspace(0.0, height, 9)[:, None] * [0.0, 0.0, 1.0]
    _, before = aligned_plane_weights(points, positions[triangles], directions[triangles])
    _, after = aligned_plane_weights(points, positions[triangles], found.directions[triangles])
    assert before.min() == pytest.approx(min((1.0 - h) ** 2 for h in np.linspace(0.0, height, 9)), abs=1e-12)
    # It asks for half the area, against wishes to change little.
    assert after.min() > 0.4


@pytest.mark.parametrize("name", ["torus", "two balls", "cave"])
def test_optimised_directions_lower_the_error_of_the_aligned_plane(name):
    field, lower, upper, cell = FIELDS[name]
    plain = from_field(field, lower, upper, cell, samples=4)
    best = from_field(field, lower, upper, cell, samples=4, optimise_directions=True)
    before, after = aligned_plane_errors(plain.surface), aligned_plane_errors(best.surface)
    # One sample of the cave was off by 21 m or by 198 m, as the last bits of NumPy's sums on the processor had it: at its
    # height the aligned triangle had a part of 1e-3 or -1e-4 of its area left, and (u, v) are divided by that. The optimiser
    # lessened the miss on the aligned plane and did not see that area. Now aligned triangles keep it (0.37 here).
    assert after.area.min() > 0.2
    assert np.isfinite(after.distance).all()
    # A base point that is off by more than a cell is no answer, however far it is: none decides the mean. A tenth is left of
    # the torus, a thirteenth of the cave, and far less of the balls.
    assert (after.distance < cell).all()
    capped = np.minimum(before.distance, cell)
    assert np.sqrt((after.distance**2).mean()) < 0.25 * np.sqrt((capped**2).mean())
    assert np.quantile(after.distance, 0.99) < 0.5 * np.quantile(before.distance, 0.99)
    assert after.uv.mean() < 0.5 * before.uv[before.distance < cell].mean()
    assert "aligned plane" in best.report
    assert f"{(before.area <= 0.0).sum()} -> 0 of {len(after.area)} samples" in best.report
    # It is still the same surface without cracks.
    assert edge_uses(tessellate(best.surface)[1])[1].max() == 2
    assert best.error_mean < 2.0 * plain.error_mean


# --- what is wrong is named ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"field": 3}, "field: expected a callable"),
        ({"field": np.zeros((3, 3, 3))}, "use GridField"),
        ({"field": lambda p: p}, r"field: expected values of shape"),
        ({"field": lambda p: np.where(p[:, 0] > 1, np.nan, p[:, 2])}, "field: nan at point"),
        ({"field": lambda p: np.ones(len(p))}, "passes through no cell"),
        ({"lower": [np.nan, 0, 0]}, "lower"),
        ({"upper": [-4.0, 4.0, 4.0]}, "at least two cells"),
        ({"cell": 0.0}, "cell: expected a positive number"),
        ({"cell": 1e-4}, "use larger cells"),
        ({"cell": 1e-300}, "too small"),
        ({"cell": None}, "needed for a callable"),
        ({"samples": 3}, "power of two"),
        ({"samples": 128}, "power of two"),
        ({"samples": 4.0}, "power of two"),
        ({"smoothing": -1}, "smoothing"),
        ({"smoothing": 0.5}, "smoothing"),
        ({"thickness": 0.0}, "thickness"),
        ({"thickness": "a"}, "thickness: expected numbers"),
        ({"cell": 1e-200}, "cell: 1e-200 m is too small"),
        ({"field": lambda p: p[:, 0] * 1j}, "field: expected"),
        ({"field": lambda p: np.ma.masked_less(p[:, 2], 0.5)}, "field: .*masked"),
        ({"quadrilaterals": True, "optimise_directions": True}, "method for triangles"),
    ],
)
def test_bad_input_of_a_field(arguments, message):
    given = {"field": sphere_field(3.0), "lower": [-4.0] * 3, "upper": [4.0] * 3, "cell": 1.0} | arguments
    with pytest.raises(InvalidInputError, match=message):
        from_field(**given)


def test_bad_input_of_arrays_heights_and_meshes():
    for values in (np.zeros((3, 3)), np.zeros((3, 1, 3)), np.full((3, 3, 3), np.inf), np.array([[["a"] * 2] * 2] * 2)):
        with pytest.raises(InvalidInputError, match="values"):
            GridField(values, [0, 0, 0], 1.0)
    for values in (np.ma.masked_equal(np.eye(3)[None].repeat(3, 0), 1.0), np.ones((3, 3, 3)) * 1j):
        with pytest.raises(InvalidInputError, match=r"values: .*(masked|complex)"):
            GridField(values, [0, 0, 0], 1.0)
    for spacing in (-1.0, [1.0, 2.0], np.nan):
        with pytest.raises(InvalidInputError, match="spacing"):
            GridField(np.zeros((3, 3, 3)), [0, 0, 0], spacing)
    for heights in (np.zeros(5), np.zeros((1, 5)), np.full((3, 3), np.nan)):
        with pytest.raises(InvalidInputError, match="heights"):
            from_heights(heights, 1.0)
    for spacing in (0.0, [1.0, 2.0, 3.0], np.inf):
        with pytest.raises(InvalidInputError, match="spacing"):
            from_heights(np.zeros((3, 3)), spacing)
    with pytest.raises(InvalidInputError, match="mesh: expected a TriangleMesh"):
        from_mesh(thud.Sphere(1.0), 0.5)
    with pytest.raises(InvalidInputError, match="too small"):
        from_mesh(torus_mesh(), 1e-200)


@pytest.mark.parametrize("scale", [1e-6, 1e6])
@pytest.mark.parametrize("center", [0.0, 1e3])
def test_scale_and_offset_do_not_matter(scale, center):
    plain = from_field(torus_field(), [-5.0] * 3, [5.0] * 3, 1.0, samples=4)
    lower, upper = (scale * (center + np.full(3, x)) for x in (-5.0, 5.0))
    moved = from_field(lambda p: scale * torus_field()(p / scale - center), lower, upper, scale, samples=4)
    assert moved.failed == plain.failed
    assert moved.error_max == pytest.approx(scale * plain.error_max, rel=1e-3)
    ours, theirs = moved.surface.to_mesh().vertices / scale - center, plain.surface.to_mesh().vertices
    np.testing.assert_allclose(ours, theirs, atol=1e-5)


def test_a_field_may_write_to_its_points():
    def spoils(points):
        value = torus_field()(points)
        points[:] = np.nan
        return value

    one = from_field(torus_field(), [-5.0] * 3, [5.0] * 3, 1.0, samples=2)
    two = from_field(spoils, [-5.0] * 3, [5.0] * 3, 1.0, samples=2)
    assert np.asarray(one.surface.displacements).tobytes() == np.asarray(two.surface.displacements).tobytes()


@pytest.mark.parametrize("heights", [np.full((5, 5), 1e-320), np.eye(5) * 1e-200, np.eye(5) * 1e8, np.zeros((5, 5))])
def test_heights_of_any_size(heights):
    # Slopes of 1e8: quads of one sample, whose base follows.
    made = from_heights(heights, 1.0, samples=4)
    assert made.error_max <= 2.0**-17
    fine = from_heights(heights, 1.0, samples=4, quantum=1e-12 * max(np.abs(heights).max(), 1e-200))
    assert fine.error_max <= max(1e-12 * np.abs(heights).max(), 1e-212)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heights": np.eye(5) * 1e14}, r"heights: 1e\+14 m is beyond 2\^52 of the quantum"),
        ({"heights": np.eye(5) * 1e17, "quantum": 1e3}, "limit of surfaces"),
        ({"heights": np.eye(5) * 1j}, "heights: expected numbers, got complex"),
        ({"heights": np.array([["a"] * 3] * 3)}, "heights: expected numbers"),
        ({"heights": np.ma.masked_all((5, 5))}, "heights: no square of four heights is left"),
        ({"spacing": 1e-200}, "spacing: 1e-200 m is too small"),
        ({"spacing": 1e200}, "beyond the limit"),
        ({"thickness": "a"}, "thickness: expected numbers"),
        ({"thickness": np.ma.masked}, "thickness"),
        ({"quantum": 0.0}, "quantum: expected a positive number"),
        ({"quantum": "a"}, "quantum: expected numbers"),
        ({"first": (3, 0)}, "first: expected two whole numbers that are multiples of samples"),
        ({"first": (0.5, 0)}, "first: expected whole numbers"),
        ({"first": 16}, "first: expected two whole numbers"),
        ({"first": (2**40, 0), "spacing": 0.1}, r"first: sample \d+ is too far along x"),
    ],
)
def test_bad_input_of_heights(arguments, message):
    given = {"heights": np.zeros((5, 5)), "spacing": 1.0, "samples": 4} | arguments
    with pytest.raises(InvalidInputError, match=message):
        from_heights(**given)


def test_masked_heights_leave_holes():
    # A no-data value of -9999 under the mask became terrain.
    rng = np.random.default_rng(5)
    data = rng.normal(size=(40, 52))
    mask = np.zeros(data.shape, dtype=bool)
    mask[7, 9] = mask[20:30, 30:41] = mask[:, 51] = True
    data[mask] = -9999.0
    made = from_heights(np.ma.array(data, mask=mask), 2.0, samples=16, quantum=0.5)
    mesh = made.surface.to_mesh()
    x, y = (mesh.vertices[:, :2] / 2.0).astype(int).T
    assert not mask[y, x].any()
    np.testing.assert_array_equal(mesh.vertices[:, 2], np.round(data[y, x] * 2.0) / 2.0)
    square = ~(mask[:-1, :-1] | mask[1:, :-1] | mask[:-1, 1:] | mask[1:, 1:])
    assert len(mesh.faces) == 2 * square.sum()
    assert f"{(~square).sum()} left out as holes" in made.report
    _, used = edge_uses(np.asarray(mesh.faces))
    assert used.max() == 2
    # An NaN is no hole; where it is and how to make it one is said.
    row, column = np.argwhere(mask)[0]
    with pytest.raises(InvalidInputError, match=rf"heights: row {row}, column {column} is not finite \(nan\).*masked_invalid"):
        from_heights(np.where(mask, np.nan, data), 2.0)


def test_heights_that_are_too_steep_are_named_and_not_their_base():
    heights = np.random.default_rng(0).uniform(size=(9, 9))
    with pytest.raises(InvalidInputError, match=r"heights: they differ by .* at row \d+, column \d+, steeper than 1e\+09 : 1"):
        from_heights(1e12 * heights, 1.0, quantum=1.0)
    assert from_heights(1e8 * heights, 1.0, quantum=1.0).surface.sample_count == 64


def test_a_field_of_truth_values_is_refused():
    with pytest.raises(InvalidInputError, match="field: expected signed distances, got True and False"):
        from_field(lambda points: points[:, 2] < 0.1, [-4] * 3, [4] * 3, 1.0)
    with pytest.raises(InvalidInputError, match="values: expected signed distances, got True and False"):
        GridField(np.zeros((4, 4, 4), bool), [0.0] * 3, 1.0)


def test_noise_is_made_or_refused_by_name():
    # Far below what cells can hold: whatever happens must be named.
    made = 0
    for seed in range(8):
        noise = np.random.default_rng(seed).normal(size=(12, 12, 8))
        field = GridField(np.arange(8.0) - 3.5 + (0.5 + 0.2 * seed) * noise, [0.0] * 3, 1.0)
        try:
            surface = from_field(field, cell=1.0, samples=2).surface
        except InvalidShapeError as error:
            assert re.search("(folds|surface) in the cell at", str(error))  # noqa: PT017
        else:
            made += 1
            assert edge_uses(tessellate(surface)[1])[1].max() == 2
    assert made > 2


# --- the generated body -------------------------------------------------------------------------------------------------------


def test_the_warship_is_what_it_should_be():
    ship = warship()
    assert len(ship.shapes) == 120
    points = [np.asarray(shape.points) for shape in ship.shapes]
    assert sum(map(len, points)) >= 1000
    every = np.concatenate(points)
    size = np.ptp(every, axis=0)
    assert 55 < size[0] < 65
    assert 8 < size[1] < 12
    assert every[:, 2].min() < -3.0
    again = warship()
    assert np.concatenate([np.asarray(s.points) for s in again.shapes]).tobytes() == every.tobytes()
    # Symmetric about its keel but for lockers: as heavy to port as to starboard.
    assert abs(ship.centroid[1]) < 0.05
    assert len(warship(150).shapes) == 150
    with pytest.raises(ValueError, match="at least 100"):
        warship(50)
