"""The generated world: a function of seed and place alone, with cliffs and tunnels in it."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lmdb")

import lmdb

import thud
from thud.errors import InvalidInputError
from thud.terrain import build, generated_world
from thud.terrain.filling.generated import HIGHEST, LOWEST
from thud.terrain.making.trace import trace

#: Metres; samples a tile.
SIDE, TILE = 256.0, 64


def records(path):
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return {key: value for key, value in transaction.cursor() if key != b"manifest"}


def test_a_field_has_the_same_bits_in_any_company():
    world = generated_world(7, 4096.0)
    rng = np.random.default_rng(0)
    points = rng.uniform([0, 0, LOWEST], [32768, 32768, HIGHEST], (3000, 3))
    whole = world(points)
    assert np.isfinite(whole).all()
    np.testing.assert_array_equal(world(points[::7]), whole[::7])
    np.testing.assert_array_equal(world(points[::-1].copy()), whole[::-1])
    assert (generated_world(8, 4096.0)(points) != whole).mean() > 0.9
    # Below all ground, above all ground.
    low, high = points.copy(), points.copy()
    low[:, 2], high[:, 2] = LOWEST, HIGHEST
    assert (world(low) < 0.0).all()
    assert (world(high) > 0.0).all()


def test_the_kernel_traces_as_the_plain_way_does():
    world = generated_world(7, 4096.0)
    rng = np.random.default_rng(1)
    points = rng.uniform([0, 0, -100], [8192, 8192, 500], (4000, 3))
    directions = rng.normal(size=(4000, 3))
    found = world.trace(points, directions, 32.0, 32.0)
    plain = trace(lambda p: world(p), points, directions, 32.0, 32.0)
    np.testing.assert_array_equal(np.isnan(found), np.isnan(plain))
    there = ~np.isnan(found)
    assert there.sum() > 100
    np.testing.assert_allclose(found[there], plain[there], atol=1e-4)


@pytest.fixture(scope="module")
def world(tmp_path_factory):
    # A square of the world with the mouth of a tunnel in it.
    path = tmp_path_factory.mktemp("world") / "small"
    return path, build(generated_world(7, SIDE), path, tile=TILE, progress=False)


def test_a_small_world_is_a_part_of_a_large_one(world, tmp_path):
    path, done = world
    larger = tmp_path / "larger"
    build(generated_world(7, (2 * SIDE, SIDE)), larger, tile=TILE, progress=False)
    small, large = records(path), records(larger)
    assert len(small) == 4
    assert len(large) == 8
    assert small == {key: large[key] for key in small}
    assert thud.terrain.verify(path).content_hash == done.content_hash


def test_tiles_lie_on_the_field(world):
    path, _ = world
    field = generated_world(7, SIDE)
    with thud.Terrain.open(path) as terrain:
        for key in sorted(terrain.keys()):
            points = terrain.tile(key).shape.quad_samples(np.arange(4)).point.reshape(-1, 3)
            assert np.quantile(np.abs(field(points)), 0.99) < 0.05


def test_there_are_tunnels_and_cliffs():
    field = generated_world(7, 32768.0)
    # Columns over a large part: where the field changes its sign more than once there is a ceiling.
    x, y = (grid.reshape(-1) for grid in np.meshgrid(np.arange(0.0, 8192.0, 32.0), np.arange(0.0, 8192.0, 32.0)))
    z = np.arange(-400.0, 800.0, 16.0)
    points = np.stack(
        [np.broadcast_to(a[:, None], (len(x), len(z))) for a in (x, y)] + [np.broadcast_to(z, (len(x), len(z)))], axis=2
    )
    inside = (field(points.reshape(-1, 3)) < 0.0).reshape(len(x), len(z))
    crossings = (inside[:, 1:] != inside[:, :-1]).sum(axis=1)
    assert (crossings >= 1).all()
    assert (crossings >= 3).sum() > 200


@pytest.mark.parametrize(
    ("options", "match"),
    [
        ({"seed": -1}, "seed: expected"),
        ({"seed": 1.5}, "seed: expected"),
        ({"seed": True}, "seed: expected"),
        ({"size": 10.0}, "size: expected"),
        ({"size": np.inf}, "size: "),
        ({"size": 1e30}, "size: expected"),
        ({"spacing": 4.0}, "spacing: quads of 16 x 16"),
        ({"samples": 5}, "samples: expected"),
    ],
)
def test_worlds_that_are_refused(options, match):
    with pytest.raises(InvalidInputError, match=match):
        generated_world(**{"seed": 1, "size": 512.0} | options)
