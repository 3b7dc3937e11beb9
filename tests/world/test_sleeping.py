"""Bodies at rest fall asleep by islands, and wake when something happens to them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import thud
from thud.dynamics import Ball, Hinge, Motor, Slider

DT = 1.0 / 60.0
CUBE = thud.Box((0.5, 0.5, 0.5))


def two_stacks(**options: object) -> tuple[thud.World, np.ndarray]:
    """A floor and two stacks of three, asleep."""
    world = thud.World(**options)
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    stacks = world.add_many(CUBE, thud.Pose([[4.0 * s, 0, 0.5 + k] for s in range(2) for k in range(3)]))
    for _ in range(150):
        world.step(DT)
    return world, stacks


def test_islands_fall_asleep_and_time_goes_on() -> None:
    world, stacks = two_stacks()
    assert world.asleep(stacks).all()
    islands = world.islands()
    assert islands[0] == -1
    assert len(set(islands[1:4])) == 1
    assert len(set(islands[4:])) == 1
    assert islands[1] != islands[4]
    before, time = world.poses(stacks).copy(), world.time
    for _ in range(100):
        world.step(DT)
    np.testing.assert_array_equal(world.poses(stacks), before)
    assert world.time == pytest.approx(time + 100 * DT)
    assert len(world.contacts().pairs) == 6


def test_nothing_sleeps_unless_asked() -> None:
    world, _ = two_stacks(sleep_after=None)
    assert not world.asleep().any()


@pytest.mark.parametrize(
    ("act", "first", "second"),
    [
        (lambda w, s: w.apply_force(s[2], (0, 0, 1.0)), True, False),
        (lambda w, s: w.apply_torque(s[2], (0, 0, 1.0)), True, False),
        (lambda w, s: w.apply_impulse(s[0], (1.0, 0, 0)), True, False),
        (lambda w, s: w.set_velocities(s[1], (0.1, 0, 0)), True, False),
        (lambda w, s: w.set_poses(s[2], thud.Pose([0.01, 0, 2.5])), True, False),
        (lambda w, s: w.remove(s[0]), True, False),
        (lambda w, s: w.set_enabled(s[0], False), True, False),
        (lambda w, s: w.set_friction(s[0], 0.0), True, False),
        (lambda w, s: w.wake(s[1]), True, False),
        (lambda w, s: w.add(CUBE, thud.Pose([0, 0, 3.49])), True, False),
        (lambda w, s: w.add_joint(Hinge((0, 0, 5), (0, 1, 0)), s[2]), True, False),
        (lambda w, s: setattr(w, "gravity", np.array([0.0, 0, -5.0])), True, True),
        (lambda w, s: w.set_poses(w.handles()[0], thud.Pose([0, 0, -0.3])), True, True),
        (lambda w, s: w.add(CUBE, thud.Pose([4.0, 0, 9.0])), False, False),
        (lambda w, s: w.add(thud.Sphere(0.2), thud.Pose([0, 0.6, 0.5]), sensor=True), False, False),
        (lambda w, s: None, False, False),
    ],
)  # fmt: skip
def test_what_wakes_whom(act: Callable[[thud.World, np.ndarray], object], first: bool, second: bool) -> None:
    world, stacks = two_stacks()
    act(world, stacks)
    left = np.array([h for h in stacks if h in world.handles() and world.enabled(h)[0]])
    world.step(DT)
    awake = ~world.asleep(left)
    for expected, stack in ((first, stacks[:3]), (second, stacks[3:])):
        own = awake[np.isin(left, stack)]
        assert own.all() == expected
        assert own.any() == expected


def test_what_loses_its_support_falls() -> None:
    world, stacks = two_stacks()
    world.remove(stacks[0])
    for _ in range(120):
        world.step(DT)
    assert world.poses(stacks[1:3])[:, 2] == pytest.approx([0.5, 1.5], abs=0.01)


@pytest.mark.parametrize("driven", [False, True])
def test_what_a_joint_lets_go_falls_also_in_short_steps(driven: bool) -> None:
    # In a step of 2 ms what falls is still slower than 5 cm/s. The half second for which it had been calm still counted, so
    # that it fell asleep again, in the air, for good.
    world = thud.World()
    body, dt = world.add(thud.Sphere(0.1), thud.Pose([0, 0, -1.0])), 0.002
    held = Slider((0, 0, -1.0), (0, 0, 1), motor=Motor(speed=0.0)) if driven else Ball((0, 0, 0))
    joint = world.add_joint(held, body)
    for _ in range(400):
        world.step(dt)
    assert world.asleep(body).all()
    if driven:
        world.set_motor(joint, None)
    else:
        world.remove_joint(joint)
    for _ in range(100):
        world.step(dt)
    assert world.poses(body)[0, 2] < -1.1


def test_a_thrown_ball_wakes_the_stack_that_it_hits() -> None:
    world, stacks = two_stacks()
    world.add(thud.Sphere(0.3), thud.Pose([-3.0, 0, 1.5]), velocity=(8.0, 0, 0))
    woken = False
    for _ in range(60):
        world.step(DT)
        woken |= not world.asleep(stacks[:3]).any()
        assert world.asleep(stacks[3:]).all() or woken
    assert woken


def test_a_kinematic_body_wakes_what_it_pushes() -> None:
    world, stacks = two_stacks()
    pusher = world.add(CUBE, thud.Pose([-1.5, 0, 0.5]), kinematic=True, velocity=(1.0, 0, 0))
    for _ in range(60):
        world.step(DT)
    assert world.poses(pusher)[0, 0] == pytest.approx(-0.5)
    assert world.poses(stacks[0])[0, 0] > 0.4


def test_a_sleeping_world_goes_on_to_the_same_bytes() -> None:
    world, stacks = two_stacks()
    world.apply_impulse(stacks[5], (300.0, 0, 0))
    world.step(DT)
    copy = thud.World.from_state(world.state())
    for _ in range(120):
        world.step(DT)
        copy.step(DT)
    np.testing.assert_array_equal(world.poses(stacks), copy.poses(stacks))
    np.testing.assert_array_equal(world.asleep(stacks), copy.asleep(stacks))


def test_a_heap_comes_to_rest() -> None:
    """Heaps crept, with slides now and then, and never slept: of six points of a patch four were solved, others from step to
    step; the load of an impact pushed for seconds; edges that parted by a hair lost their impulses."""
    rng = np.random.default_rng(3)
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    for x, y, half in ((2.0, 0, (0.5, 3, 5)), (-2.0, 0, (0.5, 3, 5)), (0, 2.0, (3, 0.5, 5)), (0, -2.0, (3, 0.5, 5))):
        world.add(thud.Box(half), thud.Pose((x, y, 5.0)), static=True)
    turn = rng.normal(size=(60, 4))
    place = np.stack([rng.uniform(-0.9, 0.9, 60), rng.uniform(-0.9, 0.9, 60), 1.0 + 0.9 * np.arange(60)], axis=1)
    boxes = world.add_many(
        thud.Box((0.25, 0.25, 0.25)), np.concatenate([place, turn / np.linalg.norm(turn, axis=1)[:, None]], axis=1)
    )
    for _ in range(1_500):
        world.step(DT)
    assert world.asleep(boxes).all()
    assert world.contacts().depth.max() < 0.005
