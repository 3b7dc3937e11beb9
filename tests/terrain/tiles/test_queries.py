"""Queries through tiles: the answers are those of the whole ground as one shape, at borders and corners above all."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.terrain.tiles.grounds import CELL, CELLS, hilly, open_terrain, whole_shape
from tests.terrain.tiles.scenes import QUANTUM
from thud.errors import ClosedTerrainError, DamagedStoreError, InvalidInputError, UnsupportedQueryError
from thud.terrain import Manifest, height_record, triangle_record, write_tiles
from thud.terrain.tiles.queries import pairs
from thud.terrain.tiles.queries import rays as ray_queries

#: Tiles a side; shapes at random poses, rays and points of each test.
TILES, DRAWS, DEPTHS, RAYS = 3, 24, 6, 800
KINDS = ("heights", "triangles", "displaced")
SIZE = CELLS * CELL

SHAPES = {
    "box": thud.Box((0.8, 0.5, 0.6)),
    "sphere": thud.Sphere(0.7),
    "compound": thud.Compound([thud.Box((0.5, 0.5, 0.5)), thud.Sphere(0.4)], thud.Pose([[0, 0, 0], [0.8, 0, 0]])),
    "mesh": thud.to_mesh(thud.Cylinder(0.5, 0.7), segments=7),
}


@pytest.fixture(scope="module", params=KINDS)
def grounds(request, tmp_path_factory):
    """(terrain, the same as one shape)."""
    heights = hilly(TILES)
    with open_terrain(tmp_path_factory.mktemp("grounds") / "t", heights, request.param) as terrain:
        yield terrain, whole_shape(heights, request.param)


def at_borders(terrain, seed, lift=0.0):
    """Poses about borders and corners of tiles, some in the ground."""
    rng = np.random.default_rng(seed)
    lines = SIZE * np.arange(1, TILES)
    xy = rng.uniform(4.0, TILES * SIZE - 4.0, (DRAWS, 2))
    near = rng.choice(lines, (DRAWS, 2)) + rng.normal(size=(DRAWS, 2)) * 0.7
    # On a border along x, along y, at a corner.
    xy = np.where(rng.integers(0, 3, DRAWS)[:, None] == [[0, 1]], xy, near)
    z = terrain.height(xy) + rng.normal(size=DRAWS) * 0.7 + lift
    q = rng.normal(size=(DRAWS, 4))
    return thud.Pose(np.column_stack([xy, z]), q / np.linalg.norm(q, axis=1)[:, None])


@pytest.mark.parametrize("name", SHAPES)
def test_meets_and_distances_are_those_of_the_whole(grounds, name):
    terrain, whole = grounds
    shape, poses = SHAPES[name], at_borders(grounds[0], 1)
    met = terrain.intersects(shape, poses)
    assert met.sum() > 5
    assert np.array_equal(met, thud.intersects(whole, shape, None, poses))
    assert np.array_equal(met, thud.intersects(shape, terrain, poses, None))
    for lift in (0.0, 2.0, 4.0):
        poses = at_borders(terrain, 2, lift)
        found, wanted = terrain.distance(shape, poses), thud.distance(whole, shape, None, poses)
        assert np.allclose(found.distance, wanted.distance, rtol=0, atol=1e-9)
        assert np.array_equal(found.status, wanted.status)
        apart = wanted.distance > 1e-6
        assert np.allclose(found.normal[apart], wanted.normal[apart], atol=1e-5)
        points = found.point_a + found.distance[:, None] * found.normal
        assert np.allclose(found.point_b, points, atol=1e-9)


@pytest.mark.parametrize("name", SHAPES)
def test_depths_are_those_of_the_whole(grounds, name):
    terrain, whole = grounds
    poses = at_borders(terrain, 3)[:DEPTHS]
    found = terrain.distance(SHAPES[name], poses, signed=True)
    wanted = thud.distance(whole, SHAPES[name], None, poses, signed=True)
    assert (wanted.distance < 0).sum() > DEPTHS // 3
    # Depths are found by a search, to about 1e-5 of them.
    assert np.allclose(found.distance, wanted.distance, rtol=1e-4, atol=1e-4)


def test_a_body_deep_in_the_ground_does_not_leave_through_a_border(tmp_path):
    heights = np.round(hilly(TILES))
    with open_terrain(tmp_path / "t", heights, "heights") as terrain:
        whole = whole_shape(heights, "heights")
        rng = np.random.default_rng(4)
        places = np.column_stack([rng.uniform(20, 52, (12, 2)), rng.uniform(-40, -25, 12)])
        places[:4, 0] = SIZE + np.array([0.0, 0.3, -0.3, 1.0])
        found = terrain.distance(thud.Sphere(0.5), thud.Pose(places), signed=True)
        wanted = thud.distance(whole, thud.Sphere(0.5), None, thud.Pose(places), signed=True)
        assert np.allclose(found.distance, wanted.distance, rtol=1e-6)
        near = terrain.closest_point(places, signed=True)
        exact = thud.closest_point(whole, places, signed=True)
        assert np.allclose(near.distance, exact.distance, atol=1e-9)
        assert (near.distance < -5).all()
        touch = terrain.contacts(thud.Sphere(0.5), thud.Pose(places))
        apart = thud.contacts(whole, thud.Sphere(0.5), None, thud.Pose(places))
        assert np.array_equal(touch.row, apart.row)
        assert np.allclose(touch.normal, apart.normal, atol=1e-6)
        assert np.allclose(touch.depth, apart.depth, rtol=1e-6)


@pytest.mark.parametrize("name", SHAPES)
def test_contacts_are_those_of_the_whole(grounds, name):
    terrain, whole = grounds
    shape, poses = SHAPES[name], at_borders(grounds[0], 5, 0.4)
    found = terrain.contacts(shape, poses, margin=0.02)
    wanted = thud.contacts(whole, shape, None, poses, margin=0.02)
    assert np.array_equal(found.status, wanted.status)
    assert len(wanted.row) > 10
    count, exact = (np.bincount(one.row, minlength=DRAWS) for one in (found, wanted))
    different = 0
    for row in range(DRAWS):
        a, b = found.row == row, wanted.row == row
        same = count[row] == exact[row]
        if same and exact[row]:
            # The same points, in whatever order.
            table = [np.column_stack([one.point[c], one.normal[c], one.depth[c]]) for one, c in ((found, a), (wanted, b))]
            gap = np.abs(table[0][:, None] - table[1][None]).max(axis=2)
            same = gap.min(axis=0).max() < 1e-6 and gap.min(axis=1).max() < 1e-6
        different += not same
        # Ids are unique within a row, where those of the whole are.
        if len(np.unique(wanted.feature[b])) == b.sum():
            assert len(np.unique(found.feature[a])) == a.sum()
    # Which points of many a mesh keeps may depend on the order of its triangles. On other ground there is one answer.
    assert different <= (DRAWS // 10 if terrain.manifest.kind == "triangles" else 1)


def test_ids_stay_while_a_body_goes_over_windows(grounds):
    terrain, _ = grounds
    # The same pose asked with other margins gets other windows: tiles by themselves, and blocks of all sizes.
    box, pose = thud.Box((0.6, 0.6, 0.6)), thud.Pose((SIZE - 2.1, SIZE - 2.2, 0.0))
    pose = thud.Pose((SIZE - 2.1, SIZE - 2.2, float(terrain.height([[SIZE - 2.1, SIZE - 2.2]])[0]) + 0.3))
    first = terrain.contacts(box, pose)
    for margin in (0.5, 3.0, 9.0):
        more = terrain.contacts(box, pose, margin=margin)
        deep = more.depth > 0
        if len(first.row) == deep.sum():
            assert set(first.feature.tolist()) == set(more.feature[deep].tolist())
    alone = terrain.triangle_of(first.triangle_a)
    if terrain.manifest.kind != "displaced":
        assert all(key is not None and key[0] in terrain.places for key in alone)


@pytest.mark.parametrize("name", SHAPES)
def test_casts_are_those_of_the_whole(grounds, name):
    terrain, whole = grounds
    rng, shape = np.random.default_rng(6), SHAPES[name]
    poses = at_borders(terrain, 6, 3.0)
    for motion in (
        rng.normal(size=(DRAWS, 3)) * 6,
        np.column_stack([rng.normal(size=(DRAWS, 3)) * 6, rng.normal(size=(DRAWS, 3))]),
    ):
        found, wanted = terrain.cast(shape, poses, motion), thud.cast(whole, shape, None, poses, 0.0, motion)
        assert np.array_equal(found.status, wanted.status)
        hit = np.isfinite(wanted.time)
        assert hit.sum() > 4
        # Turning casts end where the gap is some 1e-7 of the shapes.
        assert np.allclose(found.time[hit], wanted.time[hit], atol=1e-9 if motion.shape[1] == 3 else 1e-5)
        still = hit & (wanted.status == 1)
        if motion.shape[1] == 3:
            assert np.allclose(found.normal[still], wanted.normal[still], atol=5e-3)


def test_a_long_cast_goes_through_all_tiles(grounds):
    terrain, whole = grounds
    starts = np.array([[2.0, y, 30.0] for y in np.linspace(5.0, 65.0, 8)])
    motion = np.tile([68.0, 3.0, -34.0], (8, 1))
    found = terrain.cast(thud.Sphere(0.5), thud.Pose(starts), motion)
    wanted = thud.cast(whole, thud.Sphere(0.5), None, thud.Pose(starts), 0.0, motion)
    assert np.isfinite(wanted.time).any()
    assert np.array_equal(found.status, wanted.status)
    hit = np.isfinite(wanted.time)
    assert np.allclose(found.time[hit], wanted.time[hit], atol=1e-8)


def test_contacts_after_a_motion(grounds):
    terrain, _ = grounds
    starts = np.array([[SIZE, SIZE, 30.0], [2 * SIZE + 0.1, 20.0, 30.0], [30.0, 30.0, 300.0]])
    found = terrain.contacts(thud.Sphere(0.5), thud.Pose(starts), motion=(0.0, 0.0, -60.0))
    assert set(found.row.tolist()) == {0, 1}
    assert (found.normal[:, 2] > 0.2).all()
    assert np.abs(found.depth).max() < 1e-4


def rays(seed):
    rng = np.random.default_rng(seed)
    side = TILES * SIZE
    start = np.column_stack([rng.uniform(-10, side + 10, (RAYS, 2)), rng.uniform(-30, 20, RAYS)])
    way = rng.normal(size=(RAYS, 3))
    # Through corners of tiles, along borders, nearly level.
    start[: RAYS // 4] = np.round(start[: RAYS // 4] / SIZE) * SIZE
    way[RAYS // 8 : RAYS // 3, 0] = 0.0
    way[RAYS // 3 : RAYS // 2] *= [1.0, 1.0, 0.05]
    way[RAYS // 2 : RAYS // 2 + 50] = [0.0, 0.0, -1.0]
    return start, way


def test_rays_meet_what_they_meet_on_the_whole(grounds):
    terrain, whole = grounds
    start, way = rays(7)
    found, wanted = terrain.raycast(start, way), thud.raycast(whole, start, way)
    assert np.array_equal(np.isfinite(found.distance), np.isfinite(wanted.distance))
    hit = np.isfinite(wanted.distance)
    assert hit.sum() > 100
    assert np.allclose(found.distance[hit], wanted.distance[hit], atol=1e-9)
    assert np.allclose(found.point[hit], wanted.point[hit], atol=1e-9)
    # Where a ray passes through an edge, either triangle's normal will do.
    other = np.abs(found.normal - wanted.normal).max(axis=1) > 1e-9
    assert not other[RAYS // 2 + 50 :].any()
    assert other.sum() < 0.2 * hit.sum()
    assert (np.abs(found.normal[other, 2]) > 0).all()
    short = terrain.raycast(start, way, max_distance=3.0)
    assert np.array_equal(np.isfinite(short.distance), wanted.distance <= 3.0)
    every, exact = terrain.raycast_all(start, way), thud.raycast_all(whole, start, way)
    assert np.array_equal(every.row, exact.row)
    assert np.allclose(every.distance, exact.distance, atol=1e-9)


def test_points(grounds):
    terrain, whole = grounds
    rng = np.random.default_rng(8)
    side = TILES * SIZE
    points = np.column_stack([rng.uniform(0, side, (RAYS, 2)), rng.uniform(-30, 20, RAYS)])
    points[:100, 0] = SIZE
    points[50:150, 1] = 2 * SIZE
    solid = terrain.manifest.kind != "triangles"
    height = terrain.height(points[:, :2])
    if solid:
        assert np.array_equal(terrain.contains(points), thud.contains(whole, points))
    else:
        # Ground behind the triangles.
        assert np.array_equal(terrain.contains(points), points[:, 2] <= height)
    found, wanted = terrain.closest_point(points, signed=solid), thud.closest_point(whole, points, signed=solid)
    assert np.allclose(found.distance, wanted.distance, atol=1e-9)
    outside = points + [side + 50.0, 0.0, 0.0]
    assert np.isnan(terrain.height(outside[:, :2])).all()
    assert not terrain.contains(outside).any()
    far = terrain.closest_point(outside[:40])
    assert np.allclose(far.distance, thud.closest_point(whole, outside[:40]).distance, atol=1e-9)


def test_a_pose_of_the_terrain_moves_everything(grounds):
    terrain, whole = grounds
    rng = np.random.default_rng(9)
    pose = thud.Pose((3.0, -2.0, 5.0), np.array([0.9, 0.1, -0.2, 0.374]) / np.linalg.norm([0.9, 0.1, -0.2, 0.374]))
    poses = pose @ at_borders(terrain, 9)
    shape = SHAPES["box"]
    assert np.array_equal(thud.intersects(terrain, shape, pose, poses), thud.intersects(whole, shape, pose, poses))
    found, wanted = thud.distance(terrain, shape, pose, poses), thud.distance(whole, shape, pose, poses)
    assert np.allclose(found.distance, wanted.distance, atol=1e-9)
    start, way = poses.position + [0.0, 0.0, 10.0], rng.normal(size=(DRAWS, 3))
    a, b = thud.raycast(terrain, start, way, pose=pose), thud.raycast(whole, start, way, pose=pose)
    assert np.array_equal(np.isfinite(a.distance), np.isfinite(b.distance))
    assert np.allclose(a.point, b.point, atol=1e-8)


def test_a_half_space_meets_all_tiles(grounds):
    terrain, whole = grounds
    plane = thud.HalfSpace((0.1, 0.0, -1.0), 5.0)
    for z in (0.0, 12.0, 40.0):
        pose = thud.Pose((0.0, 0.0, z))
        assert thud.intersects(terrain, plane, None, pose) == thud.intersects(whole, plane, None, pose)
        found, wanted = thud.distance(terrain, plane, None, pose), thud.distance(whole, plane, None, pose)
        assert np.allclose(found.distance, wanted.distance)


def test_the_answers_do_not_depend_on_company_or_history(grounds):
    terrain, _ = grounds
    poses = at_borders(terrain, 10)
    box = SHAPES["box"]
    together = terrain.contacts(box, poses, margin=0.01)
    with thud.Terrain.open(terrain.folder, memory=0) as other:
        for row in (3, 0, 17):
            one = other.contacts(box, poses[row], margin=0.01, threads=1)
            same = together.row == row
            for name in ("point", "normal", "depth", "feature"):
                assert getattr(one, name).tobytes() == getattr(together, name)[same].tobytes()
    for threads in (1, 2):
        again = terrain.distance(box, poses, threads=threads)
        assert again.distance.tobytes() == terrain.distance(box, poses).distance.tobytes()


# Ground with holes, tiles that are missing, and tiles that do not fit --------------------------------------------------------


@pytest.mark.parametrize("thickness", [None, 3.0])
def test_holes_and_missing_tiles_end_in_walls(tmp_path, thickness):
    heights = np.round(0.3 * hilly(TILES))
    heights[8:15, 20:30] = np.nan
    with open_terrain(tmp_path / "t", heights, "heights", thickness) as terrain:
        whole = whole_shape(heights, "heights", thickness)
        start, way = rays(11)
        found, wanted = terrain.raycast(start, way), thud.raycast(whole, start, way)
        assert np.array_equal(np.isfinite(found.distance), np.isfinite(wanted.distance))
        hit = np.isfinite(wanted.distance)
        assert np.allclose(found.distance[hit], wanted.distance[hit], atol=1e-9)
        walls = wanted.normal[:, 2] == 0.0
        assert walls.sum() > 20
        poses = thud.Pose(np.column_stack([np.random.default_rng(1).uniform(30, 62, (60, 2)), np.zeros(60)]))
        shape = thud.Sphere(2.0)
        a, b = terrain.contacts(shape, poses), thud.contacts(whole, shape, None, poses)
        assert np.array_equal(a.row, b.row)
        assert np.allclose(a.normal, b.normal, atol=1e-9)
        assert np.allclose(a.depth, b.depth, atol=1e-9)


def test_integer_heights_with_other_scales_are_stitched(tmp_path):
    raw = np.round(4 * hilly(2)).astype(np.int16)
    tiles = []
    for i, j in np.ndindex(2, 2):
        part = raw[j * CELLS : (j + 1) * CELLS + 1, i * CELLS : (i + 1) * CELLS + 1]
        where = (i * SIZE, j * SIZE, 0.0)
        field = thud.HeightField(part, CELL, where, scale=0.25)
        if (i, j) == (1, 0):
            field = thud.HeightField(part.astype(np.float32) * 0.25, CELL, where)
        tiles.append(((i, j), height_record((i, j), field)))
    bounds = (0, 0, float(raw.min()) * 0.25, 2 * SIZE, 2 * SIZE, float(raw.max()) * 0.25)
    write_tiles(tmp_path / "t", Manifest("heights", bounds, (SIZE, SIZE, 0.0), (2, 2)), tiles)
    whole = thud.HeightField(raw * 0.25, CELL)
    with thud.Terrain.open(tmp_path / "t") as terrain:
        poses = thud.Pose(np.column_stack([np.random.default_rng(0).uniform(20, 28, (40, 2)), np.zeros(40)]))
        poses = thud.Pose(poses.position + np.array([0, 0, 1]) * terrain.height(poses.position[:, :2])[:, None])
        a, b = terrain.contacts(thud.Sphere(0.5), poses), thud.contacts(whole, thud.Sphere(0.5), None, poses)
        assert np.array_equal(a.row, b.row)
        assert np.allclose(a.depth, b.depth, atol=1e-9)
        assert len(a.row) > 30


def test_tiles_that_do_not_fit_are_taken_side_by_side(tmp_path):
    fields = {(0, 0): thud.HeightField(np.zeros((5, 5)), 2.0), (1, 0): thud.HeightField(np.ones((6, 6)), 1.6, (8.0, 0.0, 0.0))}
    tiles = [(key, height_record(key, field)) for key, field in fields.items()]
    write_tiles(tmp_path / "t", Manifest("heights", (0, 0, 0, 16, 8, 1), (8.0, 8.0, 0.0), (2, 1)), tiles)
    with thud.Terrain.open(tmp_path / "t") as terrain:
        sphere, pose = thud.Sphere(0.5), thud.Pose([[7.8, 4.0, 0.45], [8.4, 4.0, 1.45]])
        found = terrain.contacts(sphere, pose)
        wanted = thud.contacts(thud.Compound(list(fields.values())), sphere, None, pose)
        assert np.array_equal(found.row, wanted.row)
        assert np.allclose(found.normal, wanted.normal)
        assert terrain.intersects(sphere, pose).all()


def test_a_closed_building_is_a_surface_from_every_window(tmp_path):
    # A house across a border: its walls are met, its inside is in the ground by `contains`.
    house = thud.to_mesh(thud.Box((2.0, 2.0, 3.0)))
    vertices, faces = np.asarray(house.vertices) + [8.0, 4.0, 1.0], np.asarray(house.faces)
    middle = vertices[faces].mean(axis=1)[:, 0] < 8.0
    ground = np.array([[0, 0, 0], [8, 0, 0], [8, 8, 0], [0, 8, 0]], float)
    tiles = []
    for i, own in ((0, middle), (1, ~middle)):
        points = np.concatenate([vertices, ground + [8.0 * i, 0, 0]])
        rows = np.concatenate([faces[own], np.array([[0, 1, 2], [0, 2, 3]]) + len(vertices)])
        tiles.append(((i, 0), triangle_record((i, 0), points, rows, quantum=2.0**-10)))
    write_tiles(tmp_path / "t", Manifest("triangles", (0, 0, -2, 16, 8, 4), (8.0, 8.0, 0.0), (2, 1), overhang=4.0), tiles)
    with thud.Terrain.open(tmp_path / "t") as terrain:
        small = thud.Sphere(0.2)
        assert terrain.intersects(small, thud.Pose([[8.0, 4.0, 4.1], [8.0, 4.0, 1.0], [5.9, 4.0, 1.0]])).tolist() == [
            True,
            False,
            True,
        ]
        points = [[8.0, 4.0, 1.0], [8.0, 4.0, 5.0], [1.0, 1.0, 1.0], [1.0, 1.0, -1.0], [8.0, 4.0, -1.0]]
        assert terrain.contains(points).tolist() == [True, False, False, True, True]
        found = terrain.contacts(small, thud.Pose([[8.0, 4.0, 4.1]]))
        assert np.allclose(found.normal, [[0, 0, 1]])


def test_layers_of_tiles_and_triangles_that_reach_over(tmp_path):
    # Triangles anywhere in a cube, each in the tile of its first corner, in two layers.
    rng = np.random.default_rng(12)
    corners = rng.uniform(0.0, 16.0, (300, 1, 3)) + rng.normal(size=(300, 3, 3)) * 0.7
    corners = np.round(corners / QUANTUM) * QUANTUM
    place = np.clip(np.floor(corners[:, 0] / 8.0), 0, 1).astype(int)
    tiles = []
    for key in np.ndindex(2, 2, 2):
        own = corners[(place == key).all(axis=1)]
        record = triangle_record(key, own.reshape(-1, 3), np.arange(3 * len(own)).reshape(-1, 3), quantum=QUANTUM)
        tiles.append((key, record))
    manifest = Manifest("triangles", (-5.0,) * 3 + (21.0,) * 3, (8.0, 8.0, 8.0), (2, 2, 2), overhang=4.0)
    write_tiles(tmp_path / "t", manifest, tiles)
    whole = thud.TriangleMesh(corners.reshape(-1, 3), np.arange(900).reshape(-1, 3))
    q = rng.normal(size=(DRAWS, 4))
    poses = thud.Pose(rng.uniform(0.0, 16.0, (DRAWS, 3)), q / np.linalg.norm(q, axis=1)[:, None])
    box = thud.Box((0.7, 0.5, 0.4))
    with thud.Terrain.open(tmp_path / "t") as terrain:
        assert np.array_equal(terrain.intersects(box, poses), thud.intersects(whole, box, None, poses))
        found, wanted = terrain.distance(box, poses), thud.distance(whole, box, None, poses)
        assert np.allclose(found.distance, wanted.distance, atol=1e-9)
        motion = rng.normal(size=(DRAWS, 3)) * 5.0
        a, b = terrain.cast(box, poses, motion), thud.cast(whole, box, None, poses, 0.0, motion)
        assert np.array_equal(a.status, b.status)
        hit = np.isfinite(b.time)
        assert np.allclose(a.time[hit], b.time[hit], atol=1e-8)
        start, way = rng.uniform(-4.0, 20.0, (RAYS, 3)), rng.normal(size=(RAYS, 3))
        c, d = terrain.raycast(start, way), thud.raycast(whole, start, way)
        assert np.array_equal(np.isfinite(c.distance), np.isfinite(d.distance))
        assert np.allclose(c.point, d.point, atol=1e-9)
        e, f = terrain.closest_point(start), thud.closest_point(whole, start)
        assert np.allclose(e.distance, f.distance, atol=1e-9)
        touch, exact = terrain.contacts(box, poses, margin=0.05), thud.contacts(whole, box, None, poses, margin=0.05)
        assert np.array_equal(touch.status, exact.status)
        assert np.array_equal(np.unique(touch.row), np.unique(exact.row))
        # What was hit is what the tile says it is.
        key, number = terrain.triangle_of(c.triangle[np.isfinite(c.distance)][:1])[0]
        assert len(terrain.tile(key).shape.faces) > number


def test_prepared_pairs_and_lists_of_pairs(grounds):
    terrain, whole = grounds
    poses = at_borders(terrain, 13)
    box = SHAPES["box"]
    pair = thud.prepare(terrain, box)
    for row in range(4):
        assert pair.intersects(None, poses[row])[0] == thud.intersects(whole, box, None, poses[row])[0]
    several = thud.Pose(np.concatenate([np.zeros((1, 3)), poses.position[:3]]))
    listed = thud.distance_pairs([terrain, box, box, SHAPES["sphere"]], [[0, 1], [2, 0], [0, 3]], several)
    single = [
        thud.distance(whole, shape, None, several[k]).distance[0] for k, shape in ((1, box), (2, box), (3, SHAPES["sphere"]))
    ]
    assert np.allclose(listed.distance, single, atol=1e-9)


def test_a_tile_beyond_the_bounds_is_a_named_error(tmp_path):
    field = thud.HeightField(np.full((5, 5), 50.0), 2.0)
    write_tiles(
        tmp_path / "t",
        Manifest("heights", (0, 0, 0, 8, 8, 1), (8.0, 8.0, 0.0), (1, 1)),
        [((0, 0), height_record((0, 0), field))],
    )
    with thud.Terrain.open(tmp_path / "t") as terrain, pytest.raises(DamagedStoreError, match="beyond the manifest's bounds"):
        terrain.intersects(thud.Sphere(1.0), thud.Pose((4, 4, 0.5)))


def test_wrong_arguments_are_named(grounds):
    terrain, _ = grounds
    with pytest.raises(InvalidInputError, match="shape"):
        terrain.intersects("box")
    with pytest.raises(InvalidInputError, match="xy"):
        terrain.height([[1.0, 2.0, 3.0]])
    with pytest.raises(InvalidInputError, match="margin"):
        terrain.contacts(thud.Sphere(1.0), margin=-1.0)
    with pytest.raises(UnsupportedQueryError, match="both ground"):
        thud.intersects(terrain, thud.HeightField(np.zeros((2, 2)), 1.0))
    with pytest.raises(UnsupportedQueryError, match="larger than memory"):
        thud.to_mesh(terrain)
    with pytest.raises(UnsupportedQueryError, match="volume"):
        _ = terrain.volume


def test_no_rows_give_no_rows(grounds):
    terrain, _ = grounds
    none = thud.Pose(np.empty((0, 3)), np.empty((0, 4)))
    box = SHAPES["box"]
    assert len(terrain.intersects(box, none)) == len(terrain.distance(box, none).distance) == 0
    assert len(terrain.contacts(box, none).row) == len(terrain.cast(box, none, (0, 0, -1.0)).time) == 0
    assert len(terrain.raycast(np.empty((0, 3)), np.empty((0, 3))).distance) == len(terrain.height(np.empty((0, 2)))) == 0


def test_closed_and_forked(grounds, tmp_path):
    terrain = thud.Terrain.open(grounds[0].folder)
    height = float(terrain.height([[30.0, 30.0]])[0])
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = 0 if float(terrain.height([[30.0, 30.0]])[0]) == height else 2
        finally:
            os._exit(code)
    assert os.waitpid(child, 0)[1] == 0
    terrain.close()
    for ask in (
        lambda: terrain.intersects(thud.Sphere(1.0)), lambda: terrain.height([[1.0, 1.0]]),
        lambda: thud.distance(terrain, thud.Sphere(1.0)), lambda: terrain.raycast([0.0, 0, 0], [1.0, 0, 0]),
    ):  # fmt: skip
        with pytest.raises(ClosedTerrainError):
            ask()


def test_a_motion_from_far_away_is_asked_where_the_ground_is(tmp_path, monkeypatch):
    # Every piece of two tiles was asked, also those far outside: a motion of 10,000 km took minutes.
    heights = np.round(np.random.default_rng(4).random((65, 65)) * 2**12) * 2.0**-10
    thud.terrain.build(heights, tmp_path / "far", spacing=1.0, tile=16, progress=False)
    asked = []
    piece = pairs._cast_piece
    monkeypatch.setattr(pairs, "_cast_piece", lambda *given: (asked.append(1), piece(*given))[1])
    rng = np.random.default_rng(5)
    goals = np.column_stack([rng.uniform(5.0, 60.0, (12, 2)), rng.uniform(0.0, 4.0, 12)])
    ways = rng.normal(size=(12, 3)) * [1.0, 1.0, 0.02]
    ways[:, 2] = -np.abs(ways[:, 2])
    ways *= 1e7 / np.linalg.norm(ways, axis=1)[:, None]
    starts = thud.Pose(goals - 0.5 * ways)
    with thud.Terrain.open(tmp_path / "far") as terrain:
        found = terrain.cast(thud.Sphere(0.5), starts, ways)
        # Away from it, and beside it.
        assert not np.isfinite(
            terrain.cast(thud.Sphere(0.5), thud.Pose([[0, 0, 9.0]]), [[0, 0, 1e9], [1e9, 1e9, 1]]).time
        ).any()
    wanted = thud.cast(thud.HeightField(heights, 1.0), thud.Sphere(0.5), None, starts, 0.0, ways)
    assert np.isfinite(wanted.time).sum() > 6
    np.testing.assert_array_equal(found.status, wanted.status)
    np.testing.assert_allclose(found.time, wanted.time, rtol=0.0, atol=1e-9)
    assert len(asked) < 100


def test_a_ray_through_a_wide_overhang_takes_few_steps(tmp_path, monkeypatch):
    # Rays were followed by the tile through all that tiles might reach: a million steps where large triangles lie in tiles of a
    # metre.
    vertices = [[0, 0, 0], [1e6, 0, 0], [1e6, 1e6, 0], [0, 1e6, 0], [3, 3, 1], [4, 3, 1], [3, 4, 1]]
    faces = [[0, 1, 2], [0, 2, 3], [4, 5, 6]]
    files = {}
    for key, row in (((0, 0), 2), ((1, 0), 0), ((0, 1), 1)):
        files[key] = triangle_record(key, vertices, [faces[row]], quantum=2.0**-2)
    manifest = Manifest("triangles", (0, 0, 0, 1e6, 1e6, 1), (1.0, 1.0, 0.0), (2, 2), overhang=1e6, quantum=2.0**-2)
    write_tiles(tmp_path / "few", manifest, files.items())
    steps = []
    ranges = ray_queries.tile_ranges
    monkeypatch.setattr(ray_queries, "tile_ranges", lambda *given: (steps.append(1), ranges(*given))[1])
    with thud.Terrain.open(tmp_path / "few") as terrain:
        found = terrain.raycast([[-5e5, 3.25, 0.5], [3.25, 3.25, 9.0], [7e5, 3e5, 2.0]], [[1, 0, 0], [0, 0, -1], [0, 0, -1.0]])
    np.testing.assert_allclose(found.distance, [np.inf, 8.0, 2.0])
    assert len(steps) < 30
