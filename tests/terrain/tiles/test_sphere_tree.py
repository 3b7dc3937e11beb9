"""Sphere trees: the shape that [EUVE] gives them, and walks beside brute force."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.oracles.point_triangle import point_triangles
from tests.terrain.tiles.scenes import KINDS, QUANTUM, record, soup, triangles_of
from thud.errors import InvalidInputError
from thud.terrain.tiles.sphere_tree import build_sphere_tree
from thud.terrain.tiles.sphere_walk import triangles_in_reach
from thud.terrain.tiles.tile import Tile
from thud.terrain.tiles.triangle_tile import triangle_record

CHILDREN, COUNT, OFFSET, NEXT = 4, 5, 6, 7


@pytest.fixture(scope="module")
def tiles():
    return {kind: Tile(record(kind)) for kind in KINDS}


def same_set(found, wanted):
    """Whether two sets of triangles (N, 3, 3) are equal, whatever their order, up to rounding of the frames."""
    found, wanted = (np.sort(np.round(rows.reshape(-1, 9), 6).view([("", float)] * 9), axis=0) for rows in (found, wanted))
    return len(found) == len(wanted) and np.allclose(found.view(float), wanted.view(float), atol=2e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_finds_what_brute_force_finds(tiles, kind):
    tile, rng = tiles[kind], np.random.default_rng(5)
    every = triangles_of(tile)
    center, radius = tile.sphere
    hits = 0
    for _ in range(150):
        p = center + rng.normal(size=3) * radius * [0.5, 0.5, 0.15]
        reach = float(rng.choice([0.0, 0.3, 2.0, 8.0, 2.5 * radius])) * rng.uniform(0.5, 1.0)
        distance = point_triangles(p, every)
        found = tile.in_reach(p, reach)
        slack = 1e-9 * (1.0 + reach)
        assert (distance <= reach - slack).sum() <= len(found.number) <= (distance <= reach + slack).sum()
        if not ((distance > reach - slack) & (distance <= reach + slack)).any():
            assert same_set(found.corners, every[distance <= reach])
        hits += len(found.number)
        assert len(np.unique(found.number)) == len(found.number)
        # The planes are those of the triangles, from the side from which they run counter-clockwise.
        flat = ~found.planes[:, :3].any(axis=1)
        normal = np.cross(found.corners[:, 1] - found.corners[:, 0], found.corners[:, 2] - found.corners[:, 0])
        away = np.einsum("nci,ni->nc", found.corners, found.planes[:, :3]) + found.planes[:, 3:]
        assert np.abs(away[~flat]).max(initial=0.0) < 1e-8
        assert (np.einsum("ni,ni->n", normal, found.planes[:, :3])[~flat] > 0.0).all()
    assert hits > 1000


@pytest.mark.parametrize("kind", KINDS)
def test_all_triangles_are_there_once(tiles, kind):
    tile = tiles[kind]
    every = tile.triangles()
    assert len(every.number) == len(np.unique(every.number)) == tile.triangle_count
    assert same_set(every.corners, triangles_of(tile))


def test_numbers_of_heights_are_those_of_the_field(tiles):
    tile = tiles["heights"]
    vertices, faces, numbers = tile.shape.surface()
    found = tile.triangles()
    order = np.argsort(found.number)
    np.testing.assert_array_equal(found.number[order], numbers)
    np.testing.assert_allclose(found.corners[order], vertices[faces], atol=1e-12)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**31),
    st.integers(1, 60),
    st.integers(0, 40),
    st.integers(0, 8),
    st.floats(-30.0, 30.0),
    st.floats(0.0, 60.0),
)
def test_any_triangles_any_parameters(seed, count, leaf, levels, x, reach):
    vertices, faces = soup(seed, count)
    tile = Tile(triangle_record((3, -4), vertices, faces, quantum=QUANTUM, leaf=leaf, levels=levels))
    tile.verify()
    assert tile.depth <= levels
    p = np.array([x, -x, 0.1 * x])
    distance = point_triangles(p, triangles_of(tile))
    found = len(tile.in_reach(p, reach).number)
    slack = 1e-9 * (1.0 + reach)
    assert (distance <= reach - slack).sum() <= found <= (distance <= reach + slack).sum()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("leaf", "levels"), [(20, 20), (200, 20), (20, 3), (1, 20), (20, 0)])
def test_a_node_is_a_leaf_below_n_triangles_or_at_level_m(kind, leaf, levels):
    tile = Tile(record(kind, leaf=leaf, levels=levels))
    links, nodes = tile.arrays.links, tile.arrays.nodes
    every, numbers = tile.triangles(), 0
    level, ends = -1, []
    for k, row in enumerate(links.tolist()):
        while ends and ends[-1] <= k:
            ends.pop()
        level = len(ends)
        ends.append(row[NEXT])
        assert row[NEXT] > k
        assert level <= levels
        # Triangles below this node, by its leaves.
        below = links[k : row[NEXT]]
        items = int(below[below[:, CHILDREN] == 0, COUNT].sum())
        triangles = items if kind == "triangles" else None
        if row[CHILDREN] == 0:
            assert row[NEXT] == k + 1
            assert row[OFFSET] == numbers
            numbers += row[COUNT]
            if triangles is not None and level < levels and row[COUNT] > 1:
                assert triangles < leaf
            if kind != "triangles" and level < levels:
                assert row[COUNT] == 1 or leaf > 2
        else:
            assert 2 <= row[CHILDREN] <= 4
            assert (row[COUNT], row[OFFSET]) == (0, -1)
            assert triangles is None or triangles >= leaf
            child, count = k + 1, 0
            while child < row[NEXT]:
                child, count = int(links[child, NEXT]), count + 1
            assert (child, count) == (row[NEXT], row[CHILDREN])
    assert links[0, NEXT] == len(links)
    assert (nodes[:, 3] > 0).all()
    assert len(every.number) == tile.triangle_count


@pytest.mark.parametrize("kind", KINDS)
def test_a_walk_visits_few_nodes(kind, tiles):
    tile = tiles[kind]
    if kind == "triangles":
        tile = Tile(triangle_record((0, 0), *soup(2, count=1000, size=0.5), quantum=QUANTUM))
    every = tile.triangles()
    p, visited = every.corners[17].mean(axis=0), np.zeros(2, np.int64)
    room = np.empty(4096, np.int64), np.empty((4096, 9)), np.empty((4096, 4))
    triangles_in_reach(tile.arrays, np.ascontiguousarray(p), 0.5, *room, visited)
    assert 0 < visited[1] < visited[0] < len(tile.arrays.links) // 2
    far = np.zeros(2, np.int64)
    triangles_in_reach(tile.arrays, np.ascontiguousarray(p + 1e4), 0.5, *room, far)
    assert far.tolist() == [1, 0]


def test_the_same_tile_is_the_same_bytes():
    for kind in KINDS:
        assert record(kind) == record(kind)
        assert record(kind) != record(kind, seed=1)


def test_shared_vertices_are_in_one_place_in_both_tiles():
    # Each tile has its corners from its own origin in float32: without a common quantum neighbours differed by 1e-6 m.
    rng = np.random.default_rng(1)
    left, border, right = rng.uniform(0, 50, (30, 3)), rng.uniform(49, 51, (20, 3)), rng.uniform(50, 100, (30, 3))
    faces = rng.integers(0, 50, (80, 3))
    one = Tile(triangle_record((0, 0), np.concatenate([border, left]), faces, quantum=QUANTUM)).shape
    two = Tile(triangle_record((1, 0), np.concatenate([border, right]), faces, quantum=QUANTUM)).shape
    wanted = {tuple(row) for row in np.round(border[np.unique(faces[faces < 20])] / QUANTUM) * QUANTUM}
    assert wanted <= {tuple(row) for row in one.vertices} & {tuple(row) for row in two.vertices}


def test_wrong_arguments_are_named():
    vertices, faces = soup(0)
    with pytest.raises(InvalidInputError, match="power of two"):
        triangle_record((0, 0), vertices, faces, quantum=0.001)
    with pytest.raises(InvalidInputError, match="larger quantum"):
        triangle_record((0, 0), vertices * 1e4, faces, quantum=QUANTUM)
    with pytest.raises(InvalidInputError, match="row 3 names a vertex"):
        triangle_record((0, 0), vertices, np.where(np.arange(len(faces))[:, None] == 3, 10**6, faces), quantum=QUANTUM)
    with pytest.raises(InvalidInputError, match="key"):
        triangle_record((0.5, 0), vertices, faces, quantum=QUANTUM)
    with pytest.raises(InvalidInputError, match="levels"):
        build_sphere_tree(np.zeros((3, 3)), np.array([0, 3]), np.array([1]), levels=1000)
