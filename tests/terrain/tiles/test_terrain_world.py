"""A terrain as ground of a world: bodies at borders rest as on one tile, slide over them, and characters walk over them."""

from __future__ import annotations

import sys

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.terrain.tiles.grounds import CELL, CELLS, hilly, open_terrain, whole_shape
from tests.terrain.tiles.scenes import QUANTUM
from thud.errors import InvalidInputError

#: Bodies that are dropped; steps; borders that a box slides across.
BODIES, STEPS, BORDERS = 10, 60, 2
KINDS = ("heights", "triangles", "displaced")
SIZE = CELLS * CELL


def dropped(ground, height_of, tiles, bodies, steps, kind, seed=0):
    """Poses and speeds of boxes, spheres and cylinders dropped at borders and corners of tiles."""
    rng = np.random.default_rng(seed)
    lines = SIZE * np.arange(1, tiles)
    xy = rng.choice(lines, (bodies, 2)) + rng.normal(size=(bodies, 2)) * 0.4
    free = rng.uniform(3.0, tiles * SIZE - 3.0, (bodies, 2))
    xy = np.where(rng.integers(0, 3, bodies)[:, None] == [[0, 1]], free, xy)
    # One a square of 1.5 m, so that none lies on another.
    _, first = np.unique(np.floor(xy / 1.5), axis=0, return_index=True)
    xy = xy[np.sort(first)]
    world = thud.World(gravity=(0, 0, -9.81))
    world.add(ground, static=True)
    shapes = [thud.Box((0.3, 0.25, 0.2)), thud.Sphere(0.3), thud.Cylinder(0.3, 0.2)]
    height = height_of(xy)
    handles = [
        world.add(shapes[k % 3], thud.Pose((*xy[k], height[k] + 0.5)), mass=2.0, friction=0.9) for k in range(len(xy))
    ]  # fmt: skip
    for _ in range(steps):
        world.step(1 / 100)
    return np.asarray(world.poses(handles)), world.velocities(handles)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_bodies_at_borders_rest_as_on_one_tile(tmp_path, kind):
    heights = np.round(0.08 * hilly(3) / QUANTUM) * QUANTUM
    with open_terrain(tmp_path / "t", heights, kind) as terrain:
        apart = dropped(terrain, terrain.height, 3, BODIES, STEPS, kind)
        whole = dropped(whole_shape(heights, kind), terrain.height, 3, BODIES, STEPS, kind)
        # Bodies that roll amplify last bits; the others lie where they lie on one tile.
        still = np.linalg.norm(whole[1], axis=1) < 0.05
        assert still.sum() > BODIES // 4
        gap = np.abs(apart[0] - whole[0]).max(axis=1)
        assert gap[still].max() < (1e-5 if kind == "heights" else 0.05)
        # None fell through.
        assert (apart[0][:, 2] > terrain.height(apart[0][:, :2]) + 0.1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_a_box_that_slides_across_borders_never_feels_one(tmp_path, kind):
    tiles = BORDERS + 1
    heights = np.zeros((CELLS + 1, tiles * CELLS + 1))
    with open_terrain(tmp_path / "t", heights, kind) as terrain:
        # Straight along, over every border: all normals upright.
        box = thud.Box((0.5, 0.4, 0.3))
        for angle in (0.0, 0.3):
            turn = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
            x = np.linspace(2.0, tiles * SIZE - 2.0, 40 * tiles)
            poses = thud.Pose(
                np.column_stack([x, np.full(len(x), 11.9), np.full(len(x), 0.3 - 1e-4)]), np.tile(turn, (len(x), 1))
            )
            found = terrain.contacts(box, poses, margin=0.01)
            assert np.allclose(found.normal, [0.0, 0.0, 1.0], atol=1e-12)
            assert np.array_equal(np.unique(found.row), np.arange(len(x)))
            assert np.allclose(found.depth, 1e-4, atol=1e-9)
        # And in a world: it keeps its height, its direction and what friction leaves of its speed.
        world = thud.World(gravity=(0, 0, -9.81))
        world.add(terrain)
        body = world.add(box, thud.Pose((2.0, 11.9, 0.3)), mass=1.0, friction=0.0, velocity=(30.0, 0.0, 0.0))
        for _ in range(int(60 * (tiles * SIZE - 6.0) / 30.0)):
            world.step(1 / 60)
        pose, speed = np.asarray(world.poses([body]))[0], world.velocities([body])[0][0]
        assert pose[0] > (tiles - 1) * SIZE
        assert abs(pose[2] - 0.3) < 0.01
        assert np.allclose(speed, [30.0, 0.0, 0.0], atol=1e-3)
        assert np.allclose(np.abs(pose[3:]), [1.0, 0.0, 0.0, 0.0], atol=1e-3)


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


if __name__ == "__main__":
    # On demand: python -m tests.terrain.tiles.test_terrain_world 1000 drops so many bodies on 12 x 12 tiles of each kind, and
    # slides a box across 50 borders.
    import tempfile
    from pathlib import Path

    many = int(sys.argv[1])
    for name in KINDS:
        folder = Path(tempfile.mkdtemp())
        ground = np.round(0.08 * hilly(12) / QUANTUM) * QUANTUM
        with open_terrain(folder / "t", ground, name) as land:
            first = dropped(land, land.height, 12, many, 300, name)
            second = dropped(whole_shape(ground, name), land.height, 12, many, 300, name)
            rest = np.linalg.norm(second[1], axis=1) < 0.02
            below = (first[0][:, 2] < land.height(first[0][:, :2])).sum()
            print(f"{name}: {len(rest)} bodies, {rest.sum()} at rest, {below} below the ground")
            grounds = {"tiles": first}
            if name == "triangles":
                # Which of several contacts that are as good are kept depends on the order of the faces: by how much bodies then
                # come to rest elsewhere, without any border.
                mesh = whole_shape(ground, name)
                mixed = thud.TriangleMesh(mesh.vertices, mesh.faces[np.random.default_rng(1).permutation(len(mesh.faces))])
                grounds["the whole, its faces in another order"] = dropped(mixed, land.height, 12, many, 300, name)
            for what, found in grounds.items():
                still = rest & (np.linalg.norm(found[1], axis=1) < 0.02)
                off = np.abs(found[0] - second[0]).max(axis=1)[still]
                print(f"  {what}: off by {np.median(off):.3g} m (median), {np.quantile(off, 0.9):.3g} m (nine of ten), "
                      f"{off.max():.3g} m (worst)")  # fmt: skip
        BORDERS = 50
        test_a_box_that_slides_across_borders_never_feels_one(folder / "slid", name)
        print(f"{name}: slid across {BORDERS} borders")
