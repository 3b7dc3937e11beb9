"""Joints of `World.step` against closed forms."""

from __future__ import annotations

import math
import os

import numpy as np
import pytest
from scipy.special import ellipk

import thud
from thud.dynamics import Ball, Distance, Fixed, Hinge, Motor, Slider
from thud.errors import InvalidInputError, StaleHandleError

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
G = 9.81


def place(world: thud.World, body: int) -> np.ndarray:
    """(3,) where a body's origin is."""
    return world.poses(body)[0, :3]


def rotation(world: thud.World, body: int) -> np.ndarray:
    """(3, 3)"""
    return thud.Pose.from_array(world.poses(body)).rotation.reshape(3, 3)


def velocity(world: thud.World, body: int) -> np.ndarray:
    """(3,)"""
    return world.velocities(body)[0][0]


def spin(world: thud.World, body: int) -> np.ndarray:
    """(3,)"""
    return world.velocities(body)[1][0]


def still_world() -> thud.World:
    """No weight."""
    return thud.World(gravity=(0, 0, 0))


def test_a_pendulum_keeps_the_period_of_the_elliptic_integral() -> None:
    # Three boxes, 1 m below their joints, let go at 60 degrees and at 20.
    world, length, swings = thud.World(), 1.0, 10 if SMALL else 100
    box = thud.Box((0.1, 0.15, 0.2))
    properties = thud.mass_properties(box, 1000.0)
    inertia = properties.inertia[1, 1] + properties.mass * length**2
    small = 2.0 * math.pi * math.sqrt(inertia / (properties.mass * G * length))
    angles, bodies = np.radians([60.0, 60.0, 20.0]), []
    for k, angle in enumerate(angles):
        pivot = (0.0, 2.0 * k, 0.0)
        start = (-length * math.sin(angle), 2.0 * k, -length * math.cos(angle))
        bodies.append(world.add(box, thud.Pose.from_rotation_vector(start, [0, angle, 0])))
        world.add_joint(Ball(pivot) if k == 1 else Hinge(pivot, (0, 1, 0)), bodies[-1])
    expected = small * 2.0 / math.pi * ellipk(np.sin(0.5 * angles) ** 2)
    dt, before = 1.0 / 60.0, world.poses(bodies)[:, 0]
    crossings: list[list[float]] = [[], [], []]
    while world.time < (swings + 1) * expected.max():
        world.step(dt)
        now = world.poses(bodies)[:, 0]
        for k in np.flatnonzero(np.sign(now) != np.sign(before)).tolist():
            crossings[k].append(world.time - dt * now[k] / (now[k] - before[k]))
        before = now
    for k in range(3):
        measured = (crossings[k][2 * swings] - crossings[k][0]) / swings
        assert measured == pytest.approx(expected[k], rel=1e-3)


def test_a_top_precesses_at_the_textbook_rate() -> None:
    # A fast top, upright by 30 degrees: the slow regular precession of a heavy symmetric top, the quadratic's exact root.
    disc, mass = thud.Cylinder(0.5, 0.05), 10.0
    properties = thud.mass_properties(disc, 1000.0)
    tilt, arm, fast = math.radians(30.0), 0.6, 120.0
    share = mass / properties.mass
    along, across = properties.inertia[2, 2] * share, properties.inertia[0, 0] * share + mass * arm**2
    # across cos(tilt) p^2 - along w3 p + m g arm = 0, w3 the angular velocity along the axis (Goldstein, 5.7).
    a, b, c = across * math.cos(tilt), -along * fast, mass * G * arm
    rate = (-b - math.sqrt(b * b - 4.0 * a * c)) / (2.0 * a)
    axis = np.array([math.sin(tilt), 0.0, math.cos(tilt)])
    # w = p z + s axis with w . axis = fast.
    w = rate * np.array([0, 0, 1.0]) + (fast - rate * math.cos(tilt)) * axis
    world = thud.World()
    pose = thud.Pose.from_rotation_vector(arm * axis, [0, tilt, 0])
    body = world.add(disc, pose, mass=mass, angular_velocity=w, velocity=np.cross(w, arm * axis))
    world.add_joint(Ball((0, 0, 0)), body)
    steps = 600
    turned, before = 0.0, math.atan2(axis[1], axis[0])
    for _ in range(steps):
        world.step(1.0 / 240.0)
        x, y, _ = place(world, body)
        now = math.atan2(y, x)
        turned += (now - before + math.pi) % (2.0 * math.pi) - math.pi
        before = now
    assert turned / world.time == pytest.approx(rate, rel=0.01)
    x, y, _ = place(world, body)
    assert math.hypot(x, y) == pytest.approx(arm * math.sin(tilt), rel=0.02)


def test_a_motor_holds_its_torque() -> None:
    # A lever of 2 kg, 1.5 m from its hinge: 2 * 9.81 * 1.5 N m. A motor with a little more holds it; with a little less it
    # falls.
    need = 2.0 * G * 1.5
    for force, holds in ((1.02 * need, True), (0.98 * need, False)):
        world = thud.World()
        body = world.add(thud.Box((0.1, 0.1, 0.1)), thud.Pose([1.5, 0, 0]), mass=2.0)
        hinge = world.add_joint(Hinge((0, 0, 0), (0, 1, 0), motor=Motor(speed=0.0, force=force)), body)
        for _ in range(120):
            world.step(1.0 / 60.0)
        angle = float(world.joint_values(hinge)[0])
        assert (abs(angle) < 1e-3) is holds
        if holds:
            assert world.joint_loads(hinge)[1][0, 1] == pytest.approx(-need, rel=1e-3)
            assert world.joint_loads(hinge)[0][0, 2] == pytest.approx(2.0 * G, rel=1e-3)


def test_a_motor_turns_at_its_speed_and_counts_turns() -> None:
    world = still_world()
    wheel = world.add(thud.Cylinder(0.5, 0.1), mass=3.0)
    hinge = world.add_joint(Hinge((0, 0, 0), (0, 0, 1), motor=Motor(speed=4.0)), wheel)
    for _ in range(300):
        world.step(1.0 / 60.0)
    assert spin(world, wheel) == pytest.approx([0, 0, 4.0], abs=1e-9)
    assert world.joint_values(hinge)[0] == pytest.approx(20.0, rel=1e-3)


def test_a_position_motor_is_a_spring() -> None:
    world = still_world()
    body = world.add(thud.Box((0.2, 0.2, 0.2)), mass=2.0)
    slider = world.add_joint(
        Slider((0, 0, 0), (1, 0, 0), motor=Motor(position=0.3, stiffness=200.0, damping=2.0 * math.sqrt(400.0))), body
    )
    for _ in range(180):
        world.step(1.0 / 60.0)
    assert world.joint_values(slider)[0] == pytest.approx(0.3, abs=1e-3)
    world.set_motor(slider, None)
    world.apply_impulse(body, (2.0, 5.0, 7.0), points=(0.3, 0.1, 0.1))
    for _ in range(60):
        world.step(1.0 / 60.0)
    # Free along its axis alone.
    assert place(world, body) == pytest.approx([1.3, 0, 0], abs=2e-3)
    assert rotation(world, body) == pytest.approx(np.eye(3), abs=1e-6)


def test_limits_hold() -> None:
    world = thud.World()
    door = world.add(thud.Box((0.5, 0.05, 1.0)), thud.Pose([0.5, 0, 0]), mass=20.0, angular_velocity=(0, 0, 0))
    hinge = world.add_joint(Hinge((0, 0, 0), (0, 0, 1), limits=(-0.2, math.radians(90.0))), door)
    world.apply_impulse(door, (0, 60.0, 0), points=(1.0, 0, 0))
    angles = []
    for _ in range(240):
        world.step(1.0 / 60.0)
        angles.append(float(world.joint_values(hinge)[0]))
    assert max(angles) == pytest.approx(math.radians(90.0), abs=2e-3)
    assert min(angles) > -0.202
    assert place(world, door)[2] == pytest.approx(0.0, abs=1e-3)


def test_swing_and_twist_of_a_ball_are_bounded() -> None:
    world = thud.World()
    arm = world.add(thud.Capsule(0.05, 0.5), thud.Pose([0, 0, 0.5]), mass=1.0)
    joint = world.add_joint(Ball((0, 0, 0), (0, 0, 1), swing=math.radians(50.0), twist=(-0.3, 0.4)), arm)
    world.apply_impulse(arm, (0.4, 0.1, 0.0), points=(0, 0, 0.6))
    for k in range(300):
        world.apply_torque(arm, rotation(world, arm) @ [0, 0, 0.05 if k < 150 else -0.05])
        world.step(1.0 / 60.0)
        axis = rotation(world, arm) @ [0, 0, 1.0]
        assert math.acos(min(axis[2], 1.0)) < math.radians(51.0)
        assert -0.32 < world.joint_values(joint)[0] < 0.42
    axis = rotation(world, arm) @ [0, 0, 1.0]
    assert math.acos(axis[2]) == pytest.approx(math.radians(50.0), abs=0.01)


def test_a_spring_swings_at_its_frequency() -> None:
    world = still_world()
    body = world.add(thud.Sphere(0.1), thud.Pose([1.5, 0, 0]), mass=2.0)
    world.add_joint(Distance((1.5, 0, 0), (0, 0, 0), length=1.0, stiffness=200.0), body)
    dt, crossings, before = 1.0 / 60.0, [], 0.5
    for _ in range(600):
        world.step(dt, substeps=16)
        now = float(place(world, body)[0]) - 1.0
        if before < 0.0 <= now:
            crossings.append(world.time - dt * now / (now - before))
        before = now
    assert np.diff(crossings).mean() == pytest.approx(2.0 * math.pi * math.sqrt(2.0 / 200.0), rel=0.01)


def test_a_rope_is_slack_and_then_holds() -> None:
    world = thud.World()
    body = world.add(thud.Sphere(0.1), thud.Pose([0, 0, -0.5]), mass=1.0)
    rope = world.add_joint(Distance((0, 0, -0.5), (0, 0, 0), limits=(0.0, 1.0)), body)
    world.step(1.0 / 60.0)
    assert velocity(world, body)[2] == pytest.approx(-G / 60.0)
    for _ in range(200):
        world.step(1.0 / 60.0)
    assert place(world, body)[2] == pytest.approx(-1.0, abs=1e-3)
    assert world.joint_loads(rope)[0][0, 2] == pytest.approx(G, rel=1e-3)


def test_momentum_is_kept_by_all_kinds_of_joints() -> None:
    rng = np.random.default_rng(3)
    kinds = [
        Distance((0.4, 0, 0.1), (1.2, 0.1, 0)), Ball((0.7, 0.1, 0), swing=0.3),
        Hinge((0.8, 0, 0), (0.3, 1, 0.2), limits=(-0.4, 0.2)),
        Slider((0.6, 0, 0), (1, 0.2, 0)), Fixed((0.7, 0, 0)),
    ]  # fmt: skip
    for joint in kinds:
        world = still_world()
        a = world.add(thud.Box((0.2, 0.3, 0.1)), mass=1.5, velocity=rng.normal(size=3), angular_velocity=rng.normal(size=3))
        b = world.add(
            thud.Box((0.1, 0.2, 0.4)), thud.Pose([1.5, 0.1, 0]), mass=0.7, velocity=rng.normal(size=3),
            angular_velocity=2.0 * rng.normal(size=3),
        )  # fmt: skip
        handle = world.add_joint(joint, a, b)
        before = momenta(world, [a, b])
        for _ in range(100):
            world.step(1.0 / 60.0)
        after = momenta(world, [a, b])
        assert after[0] == pytest.approx(before[0], abs=1e-12)
        assert after[1] == pytest.approx(before[1], abs=1e-10)
        assert np.isfinite(world.joint_values(handle)).all()


def momenta(world: thud.World, bodies: list[int]) -> tuple[np.ndarray, np.ndarray]:
    """Linear and angular momentum about the origin."""
    linear, angular = np.zeros(3), np.zeros(3)
    for body in bodies:
        m, r = float(world.mass(body)[0]), rotation(world, body)
        x, v, w = place(world, body), velocity(world, body), spin(world, body)
        linear += m * v
        angular += m * np.cross(x, v) + r @ world.inertia(body)[0] @ r.T @ w
    return linear, angular


@pytest.mark.parametrize("kind", ["ball", "hinge", "slider", "fixed", "limited"])
@pytest.mark.parametrize("far", [0.6, 2.0, 4.0])
def test_joints_far_from_light_bodies_make_no_energy(kind: str, far: float) -> None:
    # Four boxes of 20 cm, joined half way between them. Where the arms are long one pass reaches little of what the joints are
    # off by. As a part of the impulses that the next sub-step began with, what led errors back came back as speed, and more of
    # it each time: chains gained up to 1e73 times their energy.
    world, count = still_world(), 4
    bodies = world.add_many(thud.Box((0.1, 0.1, 0.1)), thud.Pose([[far * k, 0, 0] for k in range(count)]), mass=1.0, mask=0)
    for k in range(count - 1):
        point = (far * (k + 0.5), 0, 0)
        joint = {
            "ball": Ball(point), "hinge": Hinge(point, (0, 1, 0.3) if k % 2 else (0, 0.2, 1)),
            "slider": Slider(point, (1, 0, 0)), "fixed": Fixed(point),
            "limited": Slider(point, (1, 0, 0), limits=(-0.25 * far, 0.25 * far)),
        }[kind]  # fmt: skip
        world.add_joint(joint, bodies[k], bodies[k + 1])
    world.apply_impulse(bodies[0], (0, 3, 1), points=(0.1, 0.05, 0))
    world.apply_impulse(bodies[-1], (1, -2, 1))
    before, most = momenta(world, bodies.tolist()), world.energy()[0]
    for _ in range(300):
        world.step(1.0 / 60.0, substeps=16)
        assert world.energy()[0] < 1.05 * most
    after = momenta(world, bodies.tolist())
    assert after[0] == pytest.approx(before[0], abs=1e-10)
    assert after[1] == pytest.approx(before[1], abs=1e-9)


@pytest.mark.parametrize("kind", ["ball", "hinge", "fixed"])
@pytest.mark.parametrize(("spokes", "hub", "substeps"), [(6, 0.2, 4), (6, 20.0, 4), (24, 2.0, 4), (24, 0.2, 16)])
def test_a_wheel_of_many_spokes_keeps_its_energy(kind: str, spokes: int, hub: float, substeps: int) -> None:
    # All joints act on one light body. Two passes in the same order turned what was left of the errors, and the impulses that
    # each sub-step began with amplified it: up to 1e137 times the energy.
    world, w = still_world(), np.array([0.0, 0.0, 5.0])
    middle, bodies = world.add(thud.Sphere(0.1), mass=hub, angular_velocity=w), []
    for angle in 2.0 * np.pi * np.arange(spokes) / spokes:
        way = np.array([np.cos(angle), np.sin(angle), 0.0])
        pose = thud.Pose.from_rotation_vector(0.5 * way, 0.5 * np.pi * np.array([-way[1], way[0], 0.0]))
        spoke = world.add(thud.Capsule(0.03, 0.3), pose, mass=1.0, velocity=np.cross(w, 0.5 * way), angular_velocity=w, mask=0)
        point = 0.1 * way
        world.add_joint({"ball": Ball(point), "hinge": Hinge(point, (0, 0, 1)), "fixed": Fixed(point)}[kind], spoke, middle)
        bodies.append(spoke)
    before = world.energy()[0]
    for _ in range(300):
        world.step(1.0 / 60.0, substeps)
        assert world.energy()[0] == pytest.approx(before, rel=0.01)


def test_a_fixed_joint_of_two_is_one_body() -> None:
    world = thud.World()
    a = world.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose([0, 0, 1]), angular_velocity=(1, 2, 3))
    b = world.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose([1.0, 0, 1]), angular_velocity=(1, 2, 3), velocity=(0, 3, -2))
    world.add_joint(Fixed((0.5, 0, 1)), b, a)
    for _ in range(120):
        world.step(1.0 / 60.0)
    assert rotation(world, a) == pytest.approx(rotation(world, b), abs=1e-4)
    assert rotation(world, a).T @ (place(world, b) - place(world, a)) == pytest.approx([1, 0, 0], abs=1e-4)


def test_joints_break_by_their_load() -> None:
    world = thud.World()
    body = world.add(thud.Sphere(0.1), thud.Pose([0, 0, -1.0]), mass=1.0)
    joint = world.add_joint(Ball((0, 0, 0), break_force=15.0), body)
    for _ in range(30):
        world.step(1.0 / 60.0)
    assert world.joints().tolist() == [joint]
    assert len(world.broken) == 0
    world.apply_force(body, (0, 0, -10.0))
    world.step(1.0 / 60.0)
    assert world.broken.tolist() == [joint]
    assert len(world.joints()) == 0
    with pytest.raises(StaleHandleError, match="no joint"):
        world.joint_values(joint)
    world.step(1.0 / 60.0)
    assert len(world.broken) == 0
    assert velocity(world, body)[2] < 0.0


def test_jointed_bodies_do_not_collide_unless_asked() -> None:
    for collide in (False, True):
        world = thud.World(gravity=(0, 0, 0))
        a, b = world.add(thud.Sphere(1.0)), world.add(thud.Sphere(1.0), thud.Pose([1.0, 0, 0]))
        joint = world.add_joint(Hinge((0.5, 0, 0), (0, 0, 1), collide=collide), a, b)
        assert len(world.pairs()) == int(collide)
        world.remove_joint(joint)
        assert len(world.pairs()) == 1
        world.add_joint(Hinge((0.5, 0, 0), (0, 0, 1)), a, b)
        world.remove(a)
        assert len(world.joints()) == 0


def test_a_chain_hangs_at_its_length() -> None:
    world, n = thud.World(), 20
    links = world.add_many(thud.Capsule(0.03, 0.07), thud.Pose([[0, 0, -0.1 - 0.2 * k] for k in range(n)]), mass=0.1)
    heavy = world.add(thud.Sphere(0.2), thud.Pose([0, 0, -0.2 * n - 0.2]), mass=1.0)
    for k in range(n):
        world.add_joint(Ball((0, 0, -0.2 * k)), links[k], None if k == 0 else links[k - 1])
    last = world.add_joint(Ball((0, 0, -0.2 * n)), heavy, links[-1])
    world.apply_impulse(heavy, (1.0, 0, 0))
    for _ in range(300):
        world.step(1.0 / 60.0, substeps=8)
    poses = thud.Pose.from_array(world.poses(links))
    along = 0.1 * poses.rotation[:, :, 2]
    ends, starts = poses.position - along, poses.position + along
    gaps = np.linalg.norm(ends[:-1] - starts[1:], axis=1)
    assert gaps.max() < 2e-3
    assert np.linalg.norm(starts[0]) < 2e-3
    assert np.isfinite(world.joint_loads(last)[0]).all()


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Motor().numbers(), "a speed or a position"),
        (lambda: Motor(position=1.0).numbers(), "stiffness"),
        (lambda: add(Hinge((0, 0, 0), (0, 0, 0))), "axis"),
        (lambda: add(Hinge((0, 0, np.nan), (0, 0, 1))), "point"),
        (lambda: add(Hinge((0, 0, 0), (0, 0, 1), limits=(1.0, -1.0))), "limits"),
        (lambda: add(Distance((0, 0, 0), (1, 0, 0), limits=(0, 1), length=2.0)), "limits"),
        (lambda: add(Ball((0, 0, 0), swing=-1.0)), "swing"),
        (lambda: add(Ball((0, 0, 0), swing=45.0)), "swing: expected radians, .* got 45.0; see math.radians"),
        (lambda: add(Fixed((0, 0, 0), break_force=0.0)), "break_force"),
        (lambda: add("hinge"), "joint"),
    ],
)
def test_joints_that_make_no_sense_are_refused(make: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()  # type: ignore[operator]


def add(joint: object) -> None:
    """Join a ball to the world."""
    world = thud.World()
    world.add_joint(joint, world.add(thud.Sphere(1.0)))  # type: ignore[arg-type]


def test_bodies_that_cannot_be_joined_are_refused() -> None:
    world = thud.World()
    a, still = world.add(thud.Sphere(1.0)), world.add(thud.Sphere(1.0), static=True)
    with pytest.raises(InvalidInputError, match="same body"):
        world.add_joint(Fixed((0, 0, 0)), a, a)
    with pytest.raises(InvalidInputError, match="neither moves"):
        world.add_joint(Fixed((0, 0, 0)), still)
