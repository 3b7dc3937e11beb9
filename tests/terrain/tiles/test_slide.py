"""Cameras that slide: never nearer to any triangle than the radius, and where the printed method lets them through."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.oracles.point_triangle import point_triangles
from tests.terrain.tiles.scenes import QUANTUM, hills, triangles_of
from thud.errors import InvalidInputError
from thud.results import CastStatus
from thud.terrain import Manifest, displaced_record, height_record, triangle_record, write_tiles
from thud.terrain.tiles import slide as sliding

#: Tiles a side, cells a side of one, metres a cell.
TILES, CELLS, CELL = 3, 12, 2.0


@pytest.fixture(scope="module")
def whole():
    """Heights of the whole terrain."""
    heights = hills(TILES * CELLS + 1, TILES * CELLS + 1, seed=3)
    y, x = np.mgrid[: TILES * CELLS + 1, : TILES * CELLS + 1]
    # A canyon with steep walls.
    return heights - 20.0 * (np.abs(x - 15 - 4 * np.sin(0.3 * y)) < 3)


def open_heights(path, whole, kind="heights"):
    """The same ground as tiles of a kind."""
    step, tiles = CELLS, {}
    for i, j in np.ndindex(TILES, TILES):
        part = whole[j * step : (j + 1) * step + 1, i * step : (i + 1) * step + 1]
        field = thud.HeightField(part, CELL, (i * step * CELL, j * step * CELL, 0.0))
        if kind == "heights":
            tiles[i, j] = height_record((i, j), field)
        elif kind == "triangles":
            vertices, faces, _ = field.surface()
            tiles[i, j] = triangle_record((i, j), vertices, faces, quantum=QUANTUM)
        else:
            made = thud.terrain.from_heights(part, CELL, samples=4, thickness=4.0, first=(i * step, j * step))
            tiles[i, j] = displaced_record((i, j), made.surface)
    size = step * CELL
    bounds = (0.0, 0.0, -60.0, TILES * size, TILES * size, 60.0)
    overhang = 1.0 if kind == "displaced" else 0.0
    write_tiles(path, Manifest(kind, bounds, (size, size, 0.0), (TILES, TILES), overhang=overhang), tiles.items())
    return thud.Terrain.open(path)


@pytest.fixture(scope="module", params=["heights", "triangles", "displaced"])
def terrain(request, tmp_path_factory, whole):
    with open_heights(tmp_path_factory.mktemp("slide") / request.param, whole, request.param) as found:
        yield found


def one_mesh(tmp_path, vertices, faces, name="one"):
    """A terrain of one tile of triangles."""
    manifest = Manifest("triangles", (-500,) * 3 + (500,) * 3, (1000.0, 1000.0, 0.0), (1, 1), corner=(-500.0, -500.0, 0.0))
    write_tiles(tmp_path / name, manifest, [((0, 0), triangle_record((0, 0), vertices, faces, quantum=QUANTUM))])
    return thud.Terrain.open(tmp_path / name)


def test_no_camera_comes_nearer_than_its_radius(terrain):
    every = np.concatenate([triangles_of(terrain.tile(key)) for key in terrain.keys()])  # noqa: SIM118
    rng = np.random.default_rng(2)
    radius, least, hits, moved = 0.8, np.inf, 0, 0.0
    for _ in range(12):
        position = np.array([rng.uniform(10, 60), rng.uniform(10, 60), 25.0])
        heading = rng.uniform(0, 2 * np.pi)
        for _ in range(60):
            heading += rng.normal() * 0.3
            motion = np.array([np.cos(heading), np.sin(heading), rng.uniform(-1.6, 0.4)]) * rng.choice([0.05, 0.7, 4.0])
            result = terrain.slide(position, motion, radius)
            moved += np.linalg.norm(result.position[0] - position)
            # No way is longer than the motion, and no status is a limit.
            assert np.linalg.norm(result.position[0] - position) <= np.linalg.norm(motion) * (1 + 1e-9)
            assert result.status[0] in (CastStatus.MISS, CastStatus.HIT)
            assert (result.hits[0] > 0) == (result.status[0] == CastStatus.HIT)
            position = result.position[0]
            least = min(least, point_triangles(position, every).min())
            hits += result.hits[0]
            # Back before the border.
            heading = heading if (np.abs(position[:2] - 36) < 28).all() else np.arctan2(*(36 - position[1::-1]))
    assert least >= radius
    # They did touch, and did get somewhere.
    assert least < radius * 1.00001
    assert hits > 300
    assert moved > 300.0


def test_the_way_between_is_free_too(terrain):
    # A camera dropped fast on the canyon's rim must not be on the other side of the ground.
    every = np.concatenate([triangles_of(terrain.tile(key)) for key in terrain.keys()])  # noqa: SIM118
    rng = np.random.default_rng(7)
    for _ in range(60):
        start = np.array([rng.uniform(8, 64), rng.uniform(8, 64), 40.0])
        end = terrain.slide(start, [rng.normal() * 10, rng.normal() * 10, -300.0], 0.5).position[0]
        assert point_triangles(end, every).min() >= 0.5
        inside = (end[:2] > 0.5).all() and (end[:2] < TILES * CELLS * CELL - 0.5).all()
        if inside:
            # Above the ground right below it.
            x, y = end[:2]
            below = every[(every[:, :, 0].min(1) <= x) & (every[:, :, 0].max(1) >= x) & (every[:, :, 1].min(1) <= y) & (every[:, :, 1].max(1) >= y)]  # fmt: skip # noqa: E501
            assert end[2] > below[:, :, 2].min()


def test_many_cameras_at_once(terrain):
    rng = np.random.default_rng(4)
    starts, motions = rng.uniform([5, 5, 12], [65, 65, 30], (40, 3)), rng.normal(size=(40, 3)) * 12
    together = terrain.slide(starts, motions, 0.7)
    for row in range(40):
        one = terrain.slide(starts[row], motions[row], 0.7)
        np.testing.assert_array_equal(one.position[0], together.position[row])
        assert one.hits[0] == together.hits[row]
    assert len(terrain.slide(starts, [0.0, 0, 0], 0.7).position) == 40
    assert terrain.slide(np.zeros((0, 3)), np.zeros((0, 3)), 1.0).position.shape == (0, 3)


def test_tile_borders_are_not_felt(tmp_path, whole):
    # Along flat ground over all tiles, at the height where it touches.
    with open_heights(tmp_path / "flat", np.zeros_like(whole)) as terrain:
        position = np.array([4.0, 30.0, 3.0])
        position = terrain.slide(position, [0, 0, -5.0], 1.0).position[0]
        assert 1.0 < position[2] < 1.000001
        for _ in range(100):
            result = terrain.slide(position, [0.6, 0.2, -0.5], 1.0)
            np.testing.assert_allclose(result.position[0] - position, [0.6, 0.2, 0.0], atol=1e-6)
            np.testing.assert_allclose(result.normal[0], [0, 0, 1], atol=1e-9)
            assert result.hits[0] == 1
            position = result.position[0]


def test_sliding_into_a_corner_stops_and_along_a_crease_goes_on(tmp_path):
    # Floor z = 0, walls x = 5 and y = 5.
    vertices = np.array([[-9, -9, 0], [5, -9, 0], [5, 5, 0], [-9, 5, 0], [5, -9, 9], [5, 5, 9], [-9, 5, 9]], float)
    faces = [[0, 1, 2], [0, 2, 3], [1, 4, 5], [1, 5, 2], [2, 5, 6], [2, 6, 3]]
    with one_mesh(tmp_path, vertices, faces) as terrain:
        crease = terrain.slide([0.0, 0, 3], [20.0, 1.5, -20.0], 1.0)
        np.testing.assert_allclose(crease.position[0], [4, 1.5, 1], atol=1e-5)
        corner = terrain.slide([0.0, 0, 3], [20.0, 20.0, -20.0], 1.0)
        np.testing.assert_allclose(corner.position[0], [4, 4, 1], atol=1e-5)
        # Out of it again, and not through.
        back = terrain.slide(corner.position[0], [-3.0, -2.0, 4.0], 1.0)
        np.testing.assert_allclose(back.position[0] - corner.position[0], [-3, -2, 4], atol=1e-12)
        assert back.hits[0] == 0


def test_a_camera_that_begins_too_near_says_so_and_goes_no_deeper(tmp_path):
    vertices, faces = np.array([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], float), [[0, 1, 2]]
    with one_mesh(tmp_path, vertices, faces) as terrain:
        result = terrain.slide([0.0, 0, 0.4], [0.5, 0, -3.0], 1.0)
        assert result.status[0] == CastStatus.OVERLAPPING_AT_START
        np.testing.assert_allclose(result.position[0], [0.5, 0, 0.4], atol=1e-6)
        out = terrain.slide([0.0, 0, 0.4], [0, 0, 3.0], 1.0)
        np.testing.assert_allclose(out.position[0], [0, 0, 3.4], atol=1e-12)


# What [EUVE] prints, and what it lets through --------------------------------------------------------------------------------


def test_euve_slides_on_faces(tmp_path):
    vertices, faces = np.array([[-90, -90, 0], [90, -90, 0], [0, 90, 0]], float), [[0, 1, 2]]
    with one_mesh(tmp_path, vertices, faces) as terrain:
        result = terrain.slide([0.0, 0, 3], [2.0, 1.0, -4.0], 1.0, method="euve")
        np.testing.assert_allclose(result.position[0], [2, 1, 1], atol=1e-12)
        assert result.hits[0] == 1
        free = terrain.slide([0.0, 0, 3], [2.0, 1.0, -1.0], 1.0, method="euve")
        np.testing.assert_allclose(free.position[0], [2, 1, 2], atol=1e-12)
        assert free.hits[0] == 0


def test_euve_passes_a_ridge_between_two_faces(tmp_path):
    # A sharp ridge along y: the sphere comes down on its edge, where no face has the point that its plane is met at.
    vertices = np.array([[0, -9, 5], [0, 9, 5], [-1, -9, -9], [-1, 9, -9], [1, -9, -9], [1, 9, -9]], float)
    faces = [[0, 1, 2], [1, 3, 2], [0, 4, 1], [1, 4, 5]]
    with one_mesh(tmp_path, vertices, faces) as terrain:
        start, motion = [0.0, 0, 7.0], [0.0, 0, -2.5]
        through = terrain.slide(start, motion, 1.0, method="euve")
        assert through.hits[0] == 0
        assert through.position[0][2] < 5.0
        stopped = terrain.slide(start, motion, 1.0)
        assert stopped.hits[0] >= 1
        assert stopped.position[0][2] >= 6.0


def test_euve_flying_backwards_meets_nothing(tmp_path):
    vertices, faces = np.array([[-100, -20, -20], [-100, 20, -20], [-100, 0, 20]], float), [[0, 1, 2]]
    with one_mesh(tmp_path, vertices, faces) as terrain:
        # Looks along +x, flies along -x.
        start, motion = [-45.0, 0, 0], [-70.0, 0, 0]
        terrain.look([[1.0, 0, 0, 45.0]])
        through = terrain.slide(start, motion, 1.0, method="euve")
        assert through.position[0][0] == -115.0
        stopped = terrain.slide(start, motion, 1.0)
        np.testing.assert_allclose(stopped.position[0], [-99, 0, 0], atol=1e-5)
        terrain.look(None)
        assert terrain.slide(start, motion, 1.0, method="euve").hits[0] == 1


def test_euve_slides_back_into_what_was_tested_before(tmp_path):
    # Two walls that meet at 60 degrees: the second hit moves the future position into the first wall.
    vertices, faces = [], []
    for angle in (60.0, 120.0):
        c, s = np.cos(np.deg2rad(angle)), np.sin(np.deg2rad(angle))
        along, base = np.array([c, s, 0.0]), len(vertices)
        vertices += [np.array([0, 0, -9.0]), np.array([0, 0, 9.0]), 60 * along + [0, 0, 9.0], 60 * along + [0, 0, -9.0]]
        quad = [[base, base + 1, base + 2], [base, base + 2, base + 3]]
        # Fronts into the wedge.
        faces += quad if angle == 60.0 else [row[::-1] for row in quad]
    with one_mesh(tmp_path, np.array(vertices), faces) as terrain:
        every = triangles_of(terrain.tile((0, 0)))
        start, motion = [0.0, 20.0, 0.0], [1.0, -20.0, 0.0]
        wrong = terrain.slide(start, motion, 1.0, method="euve").position[0]
        assert point_triangles(wrong, every).min() < 0.9
        right = terrain.slide(start, motion, 1.0).position[0]
        assert point_triangles(right, every).min() >= 1.0


def test_wrong_arguments_are_named(terrain):
    with pytest.raises(InvalidInputError, match="method"):
        terrain.slide([0, 0, 50.0], [0, 0, 1.0], 1.0, method="other")
    with pytest.raises(InvalidInputError, match="near plane"):
        terrain.slide([0, 0, 50.0], [0, 0, 1.0], 1.0, near=1.5)
    with pytest.raises(InvalidInputError, match="radius"):
        terrain.slide([0, 0, 50.0], [0, 0, 1.0], 0.0)
    with pytest.raises(InvalidInputError, match="motion"):
        terrain.slide([0, 0, 50.0], [0, np.nan, 1.0], 1.0)
    with pytest.raises(InvalidInputError, match="position, motion"):
        terrain.slide(np.zeros((2, 3)), np.zeros((3, 3)), 1.0)
    with pytest.raises(InvalidInputError, match="planes"):
        terrain.look([[1.0, 0.0]])
    assert terrain.slide([0, 0, 50.0], [0, 0, 1.0], 1.0, near=0.5).hits[0] == 0


def test_a_tile_out_of_its_place_is_refused(tmp_path):
    vertices, faces = np.array([[-9, -9, 0], [9, -9, 0], [0, 9, 0]], float), [[0, 1, 2]]
    manifest = Manifest("triangles", (0, 0, 0, 10, 10, 10), (10.0, 10.0, 0.0), (1, 1))
    tile = triangle_record((0, 0), vertices, faces, quantum=QUANTUM)
    with pytest.raises(InvalidInputError, match="overhang"):
        write_tiles(tmp_path / "out", manifest, [((0, 0), tile)])


def test_tiles_near_a_box_are_all_that_reach_into_it(terrain):
    rng = np.random.default_rng(9)
    tiles = [terrain.tile(key) for key in terrain.keys()]  # noqa: SIM118
    for _ in range(100):
        lower = rng.uniform(-20, 80, 3).round(0) * [1, 1, 0.1]
        upper = lower + rng.uniform(0, 30, 3).round(0)
        near = {tile.key for tile in terrain.tiles_near(lower, upper)}
        for tile in tiles:
            low, high = tile.bounds
            if (low <= upper).all() and (high >= lower).all():
                assert tile.key in near


def test_what_runs_almost_along_a_face_does_not_sink(tmp_path):
    # A motion that approaches by less than 1e-12 of its length was taken to run along the face. Where it is 200,000 radii long
    # it sank by more than the room a camera keeps, nearer than its radius, met the edges ahead and turned at each.
    whole, radius = np.zeros((41, 41)), 0.05
    thud.terrain.build(whole, tmp_path / "plain", spacing=256.0, tile=8, progress=False)
    with thud.Terrain.open(tmp_path / "plain") as terrain:
        for step in ([9000.0, 0.0, -8e-9], [9000.0, 40.0, -8e-10], [8000.0, -3.0, -1e-9]):
            position = terrain.slide([500.0, 500.0, 1.0], [0.0, 0.0, -2.0], radius).position[0]
            for way in (1.0, -1.0, 1.0, -1.0):
                moved = terrain.slide(position, np.array(step) * [way, way, 1.0], radius)
                assert moved.status[0] in (CastStatus.MISS, CastStatus.HIT)
                assert moved.hits[0] <= 2
                np.testing.assert_allclose(moved.position[0, :2], position[:2] + np.array(step[:2]) * way, rtol=0.0, atol=1e-6)
                position = moved.position[0]
                assert radius <= position[2] <= radius * (1.0 + 2.0**-24)


def test_a_long_motion_takes_no_more_memory_than_a_short_one(tmp_path, monkeypatch):
    # All triangles within the motion's length were collected at once: of a motion through a world of 32 km 60 GB.
    rng = np.random.default_rng(5)
    thud.terrain.build(3.0 * rng.random((129, 129)), tmp_path / "wide", spacing=2.0, tile=16, progress=False)
    rows = []
    grow = sliding._Room.grow
    monkeypatch.setattr(sliding._Room, "grow", lambda room, size: (rows.append(size), grow(room, size))[1])
    with thud.Terrain.open(tmp_path / "wide") as terrain:
        whole = np.concatenate([triangles_of(terrain.tile(key)) for key in terrain.keys()])  # noqa: SIM118
        ends = rng.uniform([20.0, 20.0, -30.0], [236.0, 236.0, 0.0], (20, 3))
        starts = rng.uniform([20.0, 20.0, 8.0], [236.0, 236.0, 20.0], (20, 3))
        moved = terrain.slide(starts, ends - starts, 0.5)
        # From far outside, past it and away: nothing to collect there.
        far = terrain.slide([[-1e7, 60.0, 8.0], [60.0, 60.0, 8.0]], [[2e7, 0.0, 0.0], [1e9, 3e8, 1e9]], 0.5)
    assert max(rows) < 0.2 * 2 * 128 * 128
    assert (np.asarray(moved.status) == CastStatus.HIT).sum() >= 15
    for start, end, position in zip(starts, ends, moved.position):
        assert point_triangles(position, whole).min() >= 0.5
        assert 0.0 < np.linalg.norm(position - start) <= np.linalg.norm(end - start) * (1.0 + 1e-9)
    np.testing.assert_allclose(far.position, [[1e7, 60.0, 8.0], [1e9 + 60.0, 3e8 + 60.0, 1e9 + 8.0]], rtol=1e-12)


def test_a_long_motion_is_used_up_as_in_one_piece(tmp_path):
    # A wall beyond many tiles, met and slid along to the end.
    vertices = [[-400, -400, 0], [400, -400, 0], [400, 400, 0], [-400, 400, 0], [300, -400, 0], [300, 400, 0], [300, 400, 90],
                [300, -400, 90]]  # fmt: skip
    faces = [[0, 1, 2], [0, 2, 3], [4, 6, 5], [4, 7, 6]]
    thud.terrain.build(thud.TriangleMesh(vertices, faces), tmp_path / "small", tile=20.0, progress=False)
    with thud.Terrain.open(tmp_path / "small") as terrain, one_mesh(tmp_path, vertices, faces) as one:
        # With tiles of 1,000 m in one piece, with tiles of 20 m in many.
        for motion in ([600.0, 300.0, -50.0], [600.0, -300.0, 3.0], [-100.0, 300.0, -80.0]):
            start = [-300.0, -20.0, 40.0]
            found, wanted = terrain.slide(start, motion, 2.0), one.slide(start, motion, 2.0)
            np.testing.assert_allclose(found.position, wanted.position, atol=1e-5)
            np.testing.assert_allclose(found.normal, wanted.normal, atol=1e-6)
            assert found.status[0] == wanted.status[0]


def test_no_camera_meets_the_same_for_ever(tmp_path):
    # Normals that are almost the same counted as one, and what led into the other one met it again and again: at the vertex of
    # a steep pit, from below; and at the ridge of a large roof, where a normal comes out otherwise by roundoff each time.
    y, x = np.mgrid[:65, :65]
    thud.terrain.build(20.0 * (np.abs(x - 32) + np.abs(y - 32)), tmp_path / "pit", spacing=2.0, tile=16, progress=False)
    with thud.Terrain.open(tmp_path / "pit") as terrain:
        start, motion = [63.7883963, 64.2116037, -0.0211603688], [0.1321617, 0.02750538, 0.08041748]
        moved = terrain.slide(start, motion, 0.3)
        assert moved.status[0] == CastStatus.HIT
        assert moved.hits[0] < 8
        assert np.linalg.norm(moved.position[0] - start) > 0.1
    along = np.array([0.5249459666, 0.8511358, 0.0])
    across = np.array([-along[1], along[0], 0.0])
    vertices = np.round(3000.0 * np.array([along, -along, across, -across]) * 1024.0) / 1024.0
    rng = np.random.default_rng(0)
    for steep in (3000.0, 15000.0):
        vertices[2:, 2] = -steep
        roof = thud.TriangleMesh(vertices, [[0, 2, 1], [0, 1, 3]])
        thud.terrain.build(roof, tmp_path / str(steep), tile=12_000.0, progress=False)
        with thud.Terrain.open(tmp_path / str(steep)) as terrain:
            position = vertices[0] * rng.uniform(-0.6, 0.6, (200, 1)) + [0, 0, 1] + rng.normal(size=(200, 3)) * 0.05
            for _ in range(8):
                motion = [0, 0, -1.2] + rng.normal(size=(200, 3)) * [0.5, 0.5, 0.1] + along * rng.choice([0.0, 1.0, 50.0])
                moved = terrain.slide(position, motion, 0.05)
                position = moved.position
                assert moved.hits.max() < 8
