"""Nothing passes through anything, however fast."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.world import tunnelling
from thud.world.continuous import hold_apart

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
DT = 1.0 / 60.0
WALL = thud.Box((0.005, 2.0, 2.0))


@pytest.mark.parametrize("speed", [5.0, 60.0, 300.0, 5000.0])
@pytest.mark.parametrize("shape", [thud.Sphere(0.02), thud.Box((0.02, 0.03, 0.02)), thud.Capsule(0.01, 0.05)])
def test_a_bullet_stops_at_a_thin_wall(shape: thud.Shape, speed: float) -> None:
    world = thud.World(gravity=(0, 0, 0))
    world.add(WALL, static=True)
    bullet = world.add(shape, thud.Pose([-1.37, 0.1, 0.2]), velocity=(speed, 0, 0), angular_velocity=(3, 5, 7))
    for _ in range(60):
        world.step(DT)
        assert world.poses(bullet)[0, 0] < 0.0


@pytest.mark.parametrize("angle", [0.0, 0.5, 2.0, 3.1])
def test_a_ball_that_spins_is_held_back_by_its_way_alone(angle: float) -> None:
    # A ball in touch with a wall at its +x side goes 10 cm into it and turns in the step. The point of it that touched the wall
    # turned away, so that the ball was not taken back: one of 10,000 bodies went through its wall.
    poses = thud.Pose(position=[[0.0, 0, 0], [-0.05, 0, 0]]).rows.copy()
    turned = thud.Pose.from_rotation_vector([[0.0, 0, 0], [0.05, 0, 0]], [[0, 0, 0], [0, 0, angle]])
    after = turned.rows.copy()
    hold_apart(
        np.array([[1, 0]]), np.array([[1.0, 0, 0]]), np.zeros((1, 3)), np.array([0.01]), np.array([0.0, 1.0]), np.zeros(2),
        poses, 32, after,
    )  # fmt: skip
    assert after[1, 9] == pytest.approx(-0.04)


def test_two_bullets_meet() -> None:
    world = thud.World(gravity=(0, 0, 0))
    a = world.add(thud.Sphere(0.02), thud.Pose([-1.1, 0, 0]), velocity=(400, 0, 0))
    b = world.add(thud.Sphere(0.02), thud.Pose([1.6, 0, 0]), velocity=(-400, 0, 0))
    for _ in range(30):
        world.step(DT)
        x = world.poses([a, b])[:, 0]
        assert x[1] > x[0]


def test_a_spinning_bar_does_not_pass_a_post() -> None:
    world = thud.World(gravity=(0, 0, 0))
    bar = world.add(thud.Box((1.0, 0.01, 0.05)), angular_velocity=(0, 0, 80.0))
    world.add_joint(thud.dynamics.Hinge((0, 0, 0), (0, 0, 1)), bar)
    world.add(thud.Box((0.005, 0.05, 0.5)), thud.Pose([0, 0.8, 0]), static=True)
    angles = []
    for _ in range(60):
        world.step(DT)
        r = thud.Pose.from_array(world.poses(bar)).rotation.reshape(3, 3)
        angles.append(np.arctan2(r[1, 0], r[0, 0]))
    # The post is at 90 degrees, 270 for the other end: the bar stays on one side of it.
    turned = np.unwrap(angles)
    assert np.abs(turned).max() < np.pi / 2 + 0.05


def test_a_fast_body_that_meets_nothing_flies_on() -> None:
    world = thud.World(gravity=(0, 0, 0))
    world.add(WALL, static=True)
    free = world.add(thud.Sphere(0.02), thud.Pose([-1.0, 5.0, 0]), velocity=(300, 0, 0))
    for _ in range(10):
        world.step(DT)
    assert world.poses(free)[0, 0] == pytest.approx(-1.0 + 50.0)


@pytest.mark.parametrize("ground", ["mesh", "field", "surface"])
def test_bullets_stop_at_ground_without_thickness(ground: str) -> None:
    world = thud.World(gravity=(0, 0, 0))
    heights = np.zeros((9, 9))
    if ground == "mesh":
        x, y = np.meshgrid(np.linspace(0, 8, 9), np.linspace(0, 8, 9), indexing="ij")
        k = np.arange(8)[:, None] * 9 + np.arange(8)
        faces = np.concatenate([np.stack(c, -1).reshape(-1, 3) for c in ((k, k + 9, k + 10), (k, k + 10, k + 1))])
        world.add(thud.TriangleMesh(np.stack([x, y, heights], -1).reshape(-1, 3), faces), static=True)
    elif ground == "field":
        world.add(thud.HeightField(heights, 1.0, thickness=0.01), thud.Pose([4.0, 4.0, 0]), static=True)
    else:
        world.add(thud.terrain.from_heights(heights, 1.0).surface)
    low, high = world.bounds()
    middle = 0.5 * (low[0] + high[0])
    bullet = world.add(thud.Sphere(0.05), thud.Pose([middle[0], middle[1], 3.1]), velocity=(0, 0, -700.0))
    for _ in range(20):
        world.step(DT)
        assert world.poses(bullet)[0, 2] > -0.01


def test_random_fast_bodies_stay_in_their_cells() -> None:
    # A body that is stopped on its way was taken back, and what it turned by was not: thin bodies gained energy at each stop,
    # up to 1e28 m/s, and left.
    assert tunnelling.escaped(40 if SMALL else 200, seed=1, steps=30) == ([], [])


@pytest.mark.parametrize("threads", [1, 2])
def test_a_stick_that_is_stopped_on_its_way_keeps_its_energy(threads: int) -> None:
    # Stopped after a part of a turn by several radians.
    world = thud.World(gravity=(0, 0, 0), sleep_after=None, threads=threads)
    stick = thud.Box((0.15, 0.01, 0.02))
    world.add(WALL, static=True)
    rng = np.random.default_rng(3)
    bodies = world.add_many(
        stick, thud.Pose(np.column_stack([np.full(20, -1.5), np.linspace(-1.5, 1.5, 20), np.zeros(20)])),
        velocity=[200.0, 0, 0], angular_velocity=rng.normal(size=(20, 3)) * 400.0,
    )  # fmt: skip
    before = tunnelling.kinetic(world, bodies).sum()
    for _ in range(30):
        world.step(DT)
        after = tunnelling.kinetic(world, bodies).sum()
        assert after <= 1.02 * before
        before = min(before, after)
        place = world.poses(bodies)[:, :3]
        # What has slid past the wall's edge may go on.
        past = (place[:, 0] >= 0.0) & (np.abs(place[:, 1:]) < 2.0).all(axis=1)
        assert not past.any()


def test_a_copy_in_a_batch_has_the_bytes_of_the_world_in_violent_steps() -> None:
    world = thud.World(gravity=(0, 0, 0), sleep_after=None)
    world.add(WALL, static=True)
    world.add(
        thud.Box((0.15, 0.01, 0.02)), thud.Pose([-0.4, 0, 0]), velocity=[200.0, 0, 0], angular_velocity=[90.0, 400.0, 50.0]
    )
    world.add(
        thud.Box((0.05, 0.03, 0.02)), thud.Pose([-0.9, 0, 0]), velocity=[300.0, 0, 0], angular_velocity=[0.0, 30.0, 500.0]
    )
    batch = thud.world.WorldBatch(world, 3)
    for _ in range(20):
        world.step(DT)
        batch.step(DT)
    assert batch.poses()[1].tobytes() == world.poses().tobytes()


def test_fast_against_fast_on_a_rail() -> None:
    # Beads of several kinds on one line, each at its own speed: their order never changes.
    rng = np.random.default_rng(4)
    for _ in range(4 if SMALL else 40):
        world, count = thud.World(gravity=(0, 0, 0), sleep_after=None), 5
        shapes = [thud.Sphere(0.02) if k % 2 else thud.Box((0.004, 0.05, 0.05)) for k in range(count)]
        at = np.zeros((count, 3))
        at[:, 0] = np.cumsum(rng.uniform(0.1, 0.6, count))
        velocity = np.zeros((count, 3))
        velocity[:, 0] = rng.normal(size=count) * 10.0 ** rng.uniform(0.0, 3.0, count)
        beads = world.add_many(shapes, thud.Pose(at), velocity=velocity, mass=10.0 ** rng.uniform(-0.5, 0.5, count))
        world.set_locked(beads, along=(False, True, True), about=True)
        for _ in range(20):
            world.step(DT)
            assert (np.diff(world.poses(beads)[:, 0]) > 0.0).all()


@pytest.mark.parametrize("ground", ["field", "mesh"])
@pytest.mark.parametrize("shape", [thud.Box((0.15, 0.1, 0.12)), thud.Box((0.2, 0.12, 0.1)).to_mesh()], ids=["box", "mesh"])
def test_what_tumbles_over_an_edge_is_not_stopped(ground, shape):
    # The cast of a step takes the chord of the arc on which a body goes that turns about an edge that touches. So the edge met
    # the ground at once, step after step: the body stood still in the air, and gravity made it faster all the time.
    x = np.linspace(-3.0, 3.0, 25)
    field = thud.HeightField(0.25 * np.sin(1.3 * x)[:, None] * np.cos(1.1 * x), 0.25, origin=(-3.0, -3.0, 0.0))
    world = thud.World()
    world.add(field if ground == "field" else field.to_mesh(), static=True, friction=0.8)
    at = np.array([[1.2 * i - 1.2, 1.2 * j - 1.2, 1.0] for j in range(3) for i in range(3)])
    bodies = world.add_many(shape, thud.Pose(at), friction=0.8)
    energy = [sum(world.energy())]
    for _ in range(150):
        world.step(1.0 / 60.0)
        energy.append(sum(world.energy()))
    change = np.diff(energy)
    assert energy[0] - energy[-1] > 900.0
    assert change[change > 0.0].sum() < 0.01 * (energy[0] - energy[-1])
    assert np.linalg.norm(world.velocities(bodies)[0], axis=1).max() < 3.0
