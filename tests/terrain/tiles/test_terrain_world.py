"""A terrain as ground of a world: bodies at borders rest as on one tile, slide over them, and characters walk over them."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.terrain.tiles.at_borders import KINDS, SIZES, rested, slid
from tests.terrain.tiles.grounds import hilly, open_terrain, whole_shape
from tests.terrain.tiles.scenes import QUANTUM
from thud.errors import InvalidInputError

BODIES, STEPS, TILES, BORDERS = SIZES["ci"]


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_at_borders_rest_as_on_one_tile(tmp_path, kind):
    # On demand 1,000 of them: python -m tests.terrain.tiles.at_borders.
    found = rested(tmp_path / "t", kind, BODIES, STEPS, TILES)
    assert len(found.gaps) > BODIES // 4
    assert found.holds(), found


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_that_slides_across_borders_never_feels_one(tmp_path, kind):
    found = slid(tmp_path / "t", kind, BORDERS)
    assert found.holds(), found


@pytest.mark.parametrize("kind", KINDS)
def test_characters_walk_over_borders(tmp_path, kind):
    heights = np.round(0.05 * hilly(3) / QUANTUM) * QUANTUM
    with open_terrain(tmp_path / "t", heights, kind) as terrain:
        found = []
        for ground in (terrain, whole_shape(heights, kind)):
            world = thud.World()
            world.add(ground, static=True)
            starts = np.array([[18.0, 18.0], [30.0, 47.0], [47.0, 22.0]])
            position = np.column_stack([starts, terrain.height(starts) + 1.0])
            walker = thud.dynamics.Character((0.4, 0.4, 0.9), position)
            motion = np.array([[0.1, 0.1, 0.0], [0.1, 0.05, 0.0], [-0.1, 0.08, 0.0]])
            for _ in range(70):
                moved = walker.move(world, motion, 1 / 60)
            found.append(moved.position.copy())
            assert moved.grounded.all()
        assert np.allclose(found[0], found[1], atol=1e-3)
        assert np.allclose(np.abs(found[0] - position)[:, 0], 7.0, atol=0.5)


def test_it_is_static_ground(tmp_path):
    with open_terrain(tmp_path / "t", hilly(2), "heights") as terrain:
        world = thud.World()
        with pytest.raises(InvalidInputError, match="static"):
            world.add(terrain, mass=1.0)
        body = world.add(terrain)
        hit = world.raycast([[20.0, 20.0, 100.0]], [[0.0, 0.0, -1.0]])
        assert np.isclose(100.0 - hit.distance[0], terrain.height([[20.0, 20.0]])[0])
        rows, bodies = world.overlap(thud.Sphere(1.0), thud.Pose(hit.point[0]))
        assert len(rows) == 1
        assert int(bodies[0]) == int(body)
        place = terrain.height([[24.0, 24.0]])[0]
        ball = world.add(thud.Sphere(0.5), thud.Pose((24.0, 24.0, place + 0.4)), mass=1.0)
        touching = world.contacts()
        assert len(touching.handle_a) > 0
        assert {int(touching.handle_a[0]), int(touching.handle_b[0])} == {int(body), int(ball)}
        with pytest.raises(InvalidInputError, match="store of its own"):
            thud.io.save_world(world, tmp_path / "world.thud")
        # Moved, as other ground is.
        world.set_poses([body], thud.Pose((0.0, 0.0, -10.0)))
        assert len(world.contacts().handle_a) == 0
