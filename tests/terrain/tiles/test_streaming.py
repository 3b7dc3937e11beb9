"""Tiles that stream in: the budget holds, what is ahead is there, threads and views."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.terrain.tiles.grounds import CELL, CELLS, hilly, open_terrain
from thud.errors import InvalidInputError
from thud.geometry import frustum_planes, sphere_frustum

#: Tiles a side, frames of a flight.
TILES, FRAMES = 6, 150
SIZE = CELLS * CELL


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("stream") / "t"
    open_terrain(path, hilly(TILES), "heights").close()
    return path


def fly(terrain, frames=FRAMES):
    """Across the whole terrain, low; where the camera was at the end."""
    position, side = np.array([3.0, 3.0, 20.0]), TILES * SIZE
    for _ in range(frames):
        motion = np.array([side, side, -8.0]) / frames * 0.95
        position = terrain.slide(position, motion, 0.5).position[0]
    return position


def test_the_budget_holds_and_does_not_change_the_flight(folder):
    with thud.Terrain.open(folder) as terrain:
        free = fly(terrain)
        assert terrain.stats.dropped == 0
        tile = max(place.size for place in terrain.places.values())
    for budget in (3 * tile, 0):
        with thud.Terrain.open(folder, memory=budget) as terrain:
            end = fly(terrain)
            assert end.tobytes() == free.tobytes()
            assert terrain.stats.most_bytes <= budget
            assert terrain.stats.dropped > 0
            # Queries that need windows of four tiles, with room for none.
            found = terrain.contacts(thud.Box((1, 1, 1)), thud.Pose((SIZE, SIZE, terrain.height([[SIZE, SIZE]])[0])))
            assert len(found.row) > 0
            assert terrain.stats.bytes <= budget


def test_the_oldest_goes_first(folder):
    with thud.Terrain.open(folder) as terrain:
        size = max(place.size for place in terrain.places.values())
    with thud.Terrain.open(folder, memory=2 * size) as terrain:
        for key in ((0, 0), (1, 0), (0, 0), (2, 0)):
            terrain.tile(key)
        assert terrain.stats.misses == 3
        assert terrain.stats.hits == 1
        terrain.tile((0, 0))
        assert terrain.stats.hits == 2
        terrain.tile((1, 0))
        assert terrain.stats.misses == 4
        assert terrain.stats.dropped == 2


def test_pages_of_a_tile_that_went_are_given_back_and_come_again(folder):
    with thud.Terrain.open(folder, memory=0) as terrain:
        tile = terrain.tile((1, 1))
        heights = tile.shape.heights.copy()
        terrain.tile((2, 2))
        # Its pages went when it did; who holds it reads them from the file again.
        assert np.array_equal(tile.shape.heights, heights)


def wait_for(terrain, count):
    for _ in range(500):
        if terrain.stats.prefetched >= count:
            return
        time.sleep(0.01)
    raise AssertionError(f"{terrain.stats}")


def test_what_is_ahead_is_read_before_it_is_needed(folder):
    with thud.Terrain.open(folder) as terrain:
        terrain.stream((12.0, 12.0, 10.0), (2.0, 0.0, 0.0))
        wait_for(terrain, 2)
        ready = [key for key in ((0, 0, 0), (1, 0, 0)) if key in terrain.loader._kept]
        before = terrain.stats.misses
        for key in ((0, 0), (1, 0)):
            terrain.tile(key)
        assert terrain.stats.misses == before
        assert terrain.stats.hits >= len(ready)
        # What is not there in time is read at once.
        assert terrain.tile((5, 5)).key == (5, 5, 0)
        assert terrain.stats.misses == before + 1
        assert terrain.stats.stalls >= 1


def test_a_flight_that_reads_ahead_hardly_stalls(folder):
    with thud.Terrain.open(folder) as terrain:
        position = np.array([3.0, 12.0, 20.0])
        for _ in range(40):
            position = terrain.slide(position, (3.0, 0.0, -0.1), 0.5).position[0]
            # A frame of 5 ms.
            time.sleep(0.005)
        assert terrain.stats.prefetched > 3
        assert terrain.stats.misses < 6


def test_the_frustum_tells_what_is_read(folder):
    eye = np.array([SIZE / 2, SIZE / 2, 10.0])
    with thud.Terrain.open(folder) as terrain:
        terrain.look(frustum_planes(eye, (0.0, 1.0, -0.1), (0, 0, 1), (0.6, 0.6), 1.0, 1000.0))
        terrain.stream(eye)
        wait_for(terrain, 4)
        time.sleep(0.05)
        along_y = sum(terrain.loader.is_ready((0, j, 0)) for j in range(5))
        along_x = sum(terrain.loader.is_ready((i, 0, 0)) for i in range(2, 6))
        assert along_y >= 4
        assert along_x == 0


def test_planes_of_a_view():
    rng = np.random.default_rng(0)
    for _ in range(20):
        eye, way, up = rng.normal(size=3) * 10, rng.normal(size=3), rng.normal(size=3)
        angles, near, far = rng.uniform(0.3, 2.0, 2), 0.5, 20.0
        planes = frustum_planes(eye, way, up, angles, near, far)
        assert planes.shape == (6, 4)
        assert np.allclose(np.linalg.norm(planes[:, :3], axis=1), 1.0)
        # Points of the picture, made from a camera's axes by themselves.
        z = way / np.linalg.norm(way)
        x = np.cross(z, up)
        x /= np.linalg.norm(x)
        y = np.cross(x, z)
        depth, u, v = rng.uniform(0.0, 25.0, 300), rng.uniform(-1.3, 1.3, 300), rng.uniform(-1.3, 1.3, 300)
        tan = np.tan(0.5 * angles)
        points = eye + depth[:, None] * (z + (u * tan[0])[:, None] * x + (v * tan[1])[:, None] * y)
        seen = (np.abs(u) <= 1) & (np.abs(v) <= 1) & (depth >= near) & (depth <= far)
        sure = (np.abs(np.abs(u) - 1) > 1e-6) & (np.abs(np.abs(v) - 1) > 1e-6)
        assert np.array_equal(sphere_frustum(points, 0.0, planes)[sure], seen[sure])
    assert np.allclose(frustum_planes((0, 0, 0), (1, 0, 0), (0, 0, 1), np.pi / 2, 1, 2)[0], [1, 0, 0, -1])
    for arguments, name in (
        (((0, 0, 0), (0, 0, 0), (0, 0, 1), 1.0, 1, 2), "direction"), (((0, 0, 0), (0, 0, 2), (0, 0, 1), 1.0, 1, 2), "up"),
        (((0, 0, 0), (1, 0, 0), (0, 0, 1), 4.0, 1, 2), "angles"), (((0, 0, 0), (1, 0, 0), (0, 0, 1), 1.0, 2, 1), "far"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=name):
            frustum_planes(*arguments)


def test_many_threads_ask_one_terrain(folder):
    with thud.Terrain.open(folder) as terrain:
        size = max(place.size for place in terrain.places.values())
    rng = np.random.default_rng(1)
    places = rng.uniform(2.0, TILES * SIZE - 2.0, (4, 60, 2))
    with thud.Terrain.open(folder, memory=4 * size) as terrain:
        wanted = [terrain.height(part) for part in places]
        found: list = [None] * 4

        def ask(k):
            heights = [terrain.height(part[None])[0] for part in places[k]]
            poses = thud.Pose(np.column_stack([places[k], heights]))
            found[k] = np.array(heights), terrain.contacts(thud.Sphere(0.4), poses, threads=1).depth.tobytes()
            terrain.stream(poses.position[0], (1.0, 0.0, 0.0))

        threads = [threading.Thread(target=ask, args=(k,)) for k in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        for k in range(4):
            poses = thud.Pose(np.column_stack([places[k], wanted[k]]))
            assert np.array_equal(found[k][0], wanted[k])
            assert found[k][1] == terrain.contacts(thud.Sphere(0.4), poses).depth.tobytes()
        assert terrain.stats.bytes <= 4 * size


def test_close_while_tiles_are_read_ahead(folder):
    for _ in range(5):
        terrain = thud.Terrain.open(folder)
        terrain.stream((30.0, 30.0, 5.0), (5.0, 5.0, 0.0))
        terrain.close()
        assert terrain.closed
