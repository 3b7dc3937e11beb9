"""Turning friction, conveyors, locked axes, driven bodies, hooks and impulses of `World.step`, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError
from thud.world.batch.batch_results import BatchStepContacts
from thud.world.step_contacts import StepContacts

G = 9.81
DT = 1.0 / 60.0
CUBE = thud.Box((0.5, 0.5, 0.5))


def floor_world(**options: object) -> tuple[thud.World, int]:
    """A floor, and its handle."""
    world = thud.World(sleep_after=None, **options)
    return world, world.add(thud.HalfSpace((0, 0, 1)), static=True, friction=0.5)


def go(world: thud.World, seconds: float) -> None:
    for _ in range(round(seconds / DT)):
        world.step(DT)


def test_rolling_friction_slows_a_rolling_ball() -> None:
    # A solid ball of radius r that rolls: m a r = -c m g + friction's part; a = -c g / (r (1 + 2 / 5)).
    radius, length = 0.5, 0.01
    world, floor = floor_world()
    ball = world.add(
        thud.Sphere(radius), thud.Pose([0, 0, radius]), velocity=(4, 0, 0), angular_velocity=(0, 8, 0), friction=0.5
    )
    world.set_turning_friction([floor, ball], rolling=length)
    go(world, 0.5)
    before = world.velocities(ball)[0][0, 0]
    go(world, 1.0)
    assert before - world.velocities(ball)[0][0, 0] == pytest.approx(length * G / (radius * 1.4), rel=0.01)
    go(world, 60.0)
    assert np.abs(world.velocities(ball)[0]).max() < 1e-6


def test_torsional_friction_slows_a_spin() -> None:
    radius, length = 0.5, 0.02
    world, floor = floor_world()
    ball = world.add(thud.Sphere(radius), thud.Pose([0, 0, radius]), angular_velocity=(0, 0, 20.0), mass=3.0)
    world.set_turning_friction([floor, ball], torsional=length)
    go(world, 0.5)
    before = world.velocities(ball)[1][0, 2]
    go(world, 1.0)
    assert before - world.velocities(ball)[1][0, 2] == pytest.approx(length * G / (0.4 * radius**2), rel=0.01)
    assert world.turning_friction(ball)[0] == pytest.approx([length])


def test_a_conveyor_drags_what_lies_on_it() -> None:
    world, floor = floor_world()
    crate = world.add(CUBE, thud.Pose([0, 0, 0.5]), friction=0.5)
    world.set_surface_velocity(floor, (2.0, 0, 0))
    go(world, 0.2)
    before = world.velocities(crate)[0][0, 0]
    go(world, 0.1)
    assert world.velocities(crate)[0][0, 0] - before == pytest.approx(0.5 * G * 0.1, rel=0.01)
    go(world, 2.0)
    assert world.velocities(crate)[0][0] == pytest.approx([2.0, 0, 0], abs=1e-3)


def test_locked_axes_stay() -> None:
    world, _ = floor_world()
    rng = np.random.default_rng(2)
    crates = world.add_many(CUBE, thud.Pose([[0.3 * k, 0.1 * (k % 3), 0.6 + 1.1 * k] for k in range(6)]))
    world.set_locked(crates, along=(False, True, False), about=(True, False, True))
    before = world.poses(crates)[:, 1].copy()
    for _ in range(240):
        world.apply_force(crates, rng.normal(size=(6, 3)) * 2000.0)
        world.apply_torque(crates, rng.normal(size=(6, 3)) * 500.0)
        world.step(DT)
    assert world.poses(crates)[:, 1] == pytest.approx(before, abs=1e-9)
    turns = thud.Pose.from_array(world.poses(crates)).rotation.reshape(-1, 3, 3)
    # They turn about y alone.
    assert turns[:, 1, 1] == pytest.approx(np.ones(6), abs=1e-12)
    along, about = world.locked(crates[0])
    assert along.tolist() == [[False, True, False]]
    assert about.tolist() == [[True, False, True]]
    assert np.ptp(world.poses(crates)[:, 0]) > 0.01
    world.set_poses(crates[0], thud.Pose([0, 5.0, 9.0]))
    go(world, 0.5)
    assert world.poses(crates[0])[0, 1] == pytest.approx(5.0, abs=1e-6)


def test_a_driven_body_reaches_its_pose() -> None:
    world = thud.World()
    lift = world.add(thud.Box((1.0, 0.2, 0.1)), kinematic=True)
    target = thud.Pose.from_rotation_vector([0.3, -0.1, 0.2], [0.1, 0.4, -0.2])
    world.drive_to(lift, target, DT)
    world.step(DT)
    thud_rows = thud.Pose.from_array(world.poses(lift))
    np.testing.assert_allclose(thud_rows.position.reshape(3), target.position.reshape(3), atol=1e-12)
    np.testing.assert_allclose(thud_rows.rotation.reshape(3, 3), target.rotation.reshape(3, 3), atol=1e-12)
    free = world.add(thud.Sphere(1.0), thud.Pose([9, 9, 9]))
    with pytest.raises(InvalidInputError, match="not kinematic"):
        world.drive_to(free, target, DT)


def test_impulses_bear_the_weight() -> None:
    world, _ = floor_world()
    crate = world.add(CUBE, thud.Pose([0, 0, 0.5]), mass=7.0)
    go(world, 2.0)
    found = world.step_contacts()
    assert set(found.handle_b.tolist()) == {crate}
    assert found.impulse.sum(axis=0) == pytest.approx([0, 0, 7.0 * G * DT], rel=1e-3, abs=1e-6)


def test_an_impact_is_one_impulse() -> None:
    world = thud.World(gravity=(0, 0, 0), sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1)), static=True, restitution=0.5)
    ball = world.add(thud.Sphere(0.5), thud.Pose([0, 0, 0.6]), velocity=(0, 0, -4.0), mass=2.0, restitution=0.5)
    whole = np.zeros(3)
    for _ in range(20):
        world.step(DT)
        whole += world.step_contacts().impulse.sum(axis=0)
    assert world.velocities(ball)[0][0, 2] == pytest.approx(2.0, rel=1e-6)
    assert whole == pytest.approx([0, 0, 2.0 * 6.0], rel=1e-6)


def test_a_hook_drops_and_changes_contacts() -> None:
    seen = []

    def one_way(contacts: StepContacts) -> None:
        seen.append(len(contacts.keep))
        # A platform that lets bodies pass from below: only normals that point up count.
        contacts.keep &= contacts.normal[:, 2] * np.where(contacts.handle_a == platform, 1.0, -1.0) > 0.5
        contacts.friction[:] = 0.0

    world = thud.World(sleep_after=None)
    platform = world.add(thud.Box((2.0, 2.0, 0.05)), static=True)
    ball = world.add(thud.Sphere(0.2), thud.Pose([0, 0, -1.0]), velocity=(1.0, 0, 6.5))
    world.contact_hook = one_way
    go(world, 2.0)
    assert world.poses(ball)[0, 2] == pytest.approx(0.25, abs=2e-3)
    # No friction: it goes on as it came.
    assert world.velocities(ball)[0][0, 0] == pytest.approx(1.0)
    assert max(seen) > 0


@pytest.mark.parametrize("speed", [3.0, 8.0, 40.0, 900.0])
def test_fast_bodies_pass_what_a_hook_lets_them_pass(speed: float) -> None:
    # Casts of fast bodies did not ask the hook: a ball hung below the platform for good, as fast as it came.
    def one_way(contacts: StepContacts) -> None:
        contacts.keep &= contacts.normal[:, 2] * np.where(contacts.handle_a == platform, 1.0, -1.0) > 0.5

    world = thud.World(sleep_after=None)
    platform = world.add(thud.Box((2.0, 2.0, 0.05)), static=True)
    ball = world.add(thud.Sphere(0.1), thud.Pose([0, 0, -0.5]), velocity=(0, 0, speed))
    down = world.add(thud.Sphere(0.1), thud.Pose([1, 0, 0.5]), velocity=(0, 0, -speed))
    world.contact_hook = one_way
    steps = 12
    go(world, steps * DT)
    # The one goes on as if nothing were there; what moves by more than its size in a step loses the rest of one. The other one
    # is stopped.
    free = -0.5 + speed * steps * DT - G * (steps * DT) ** 2 / 2
    assert free - (speed * DT if speed * DT > 0.2 else 0.0) - 0.02 < world.poses(ball)[0, 2] < free + 0.02
    assert world.poses(down)[0, 2] > 0.14


def test_a_batch_lets_fast_bodies_pass_too() -> None:
    world = thud.World(sleep_after=None, gravity=(0, 0, 0))
    world.add(thud.Box((2.0, 2.0, 0.05)), static=True)
    ball = world.add(thud.Sphere(0.1), thud.Pose([0, 0, -0.5]), velocity=(0, 0, 20.0))
    batch = thud.world.WorldBatch(world, 3)

    def pass_one(contacts: BatchStepContacts, generators: object) -> None:
        contacts.keep &= contacts.copy != 1

    batch.contact_hook = pass_one
    for _ in range(6):
        batch.step(DT)
    high = batch.poses(handles=ball)[:, 0, 2]
    assert -0.5 + 5 * DT * 20.0 < high[1] < -0.5 + 6 * DT * 20.0 + 1e-9
    assert (high[[0, 2]] < -0.14).all()


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("gravity", -9.81, r"gravity: expected shape \(3,\)"),
        ("gravity", (0, 0, np.nan), "gravity"),
        ("contact_hook", 3, "contact_hook: expected a function of contacts"),
        ("friction_rule", "none", "friction_rule: expected one of geometric"),
        ("bounce_threshold", -1, "bounce_threshold: expected a number of at least 0"),
        ("sleep_after", 0, "sleep_after: expected a positive number"),
    ],
)
def test_what_is_set_later_goes_through_the_same_gate(name: str, value: object, message: str) -> None:
    # A list for gravity was kept as it was and ended the next step in an error of the compiler.
    world = thud.World()
    before = getattr(world, name)
    with pytest.raises(InvalidInputError, match=message):
        setattr(world, name, value)
    assert np.array_equal(getattr(world, name), before)


def test_gravity_may_be_set_as_a_list() -> None:
    world = thud.World()
    ball = world.add(thud.Sphere(0.5))
    world.gravity = [1, 0, 0]  # type: ignore[assignment]
    world.step(DT)
    assert world.velocities(ball)[0][0] == pytest.approx([DT, 0, 0])
    assert world.state()["options"]["gravity"] == [1.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda c: setattr(c, "normal", c.normal * 2.0), "unit length"),
        (lambda c: setattr(c, "depth", c.depth[:, None]), "depth"),
        (lambda c: setattr(c, "friction", c.friction - 5.0), "at least 0"),
        (lambda c: setattr(c, "friction", c.friction * np.nan), "friction"),
        (lambda c: setattr(c, "keep", c.keep.astype(int)), "keep"),
    ],
)  # fmt: skip
def test_hooks_that_break_the_arrays_are_refused(change: object, message: str) -> None:
    world, _ = floor_world()
    world.add(CUBE, thud.Pose([0, 0, 0.5]))
    world.contact_hook = change  # type: ignore[assignment]
    with pytest.raises(InvalidInputError, match=message):
        world.step(DT)
