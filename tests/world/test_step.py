"""`World.step` against closed forms: falling, sliding, bouncing, pushing, resting."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from thud.dynamics.tolerances import TEAM_WORK
from thud.errors import InvalidInputError, InvalidShapeError

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
G = 9.81
DT = 1.0 / 60.0
CUBE = thud.Box((0.5, 0.5, 0.5))
FLOOR = thud.HalfSpace((0, 0, 1))


def world(**options: object) -> thud.World:
    """With a floor; nothing sleeps."""
    made = thud.World(sleep_after=None, **{name: value for name, value in options.items() if name != "floor"})
    made.add(FLOOR, static=True, **options.get("floor", {}))
    return made


def go(made: thud.World, seconds: float, substeps: int = 4) -> None:
    for _ in range(round(seconds / DT)):
        made.step(DT, substeps)


def test_free_fall_is_a_parabola() -> None:
    made = thud.World()
    spin = (0.3, -0.2, 0.5)
    ball = made.add(CUBE, thud.Pose((0, 0, 100.0)), velocity=(1.0, 2.0, 3.0), angular_velocity=spin)
    go(made, 2.0)
    x = made.poses(ball)[0, :3]
    np.testing.assert_allclose(x, (2.0, 4.0, 100.0 + 6.0 - 0.5 * G * 4.0), rtol=1e-12)
    np.testing.assert_allclose(made.velocities(ball)[0][0], (1.0, 2.0, 3.0 - 2.0 * G), rtol=1e-12)
    # A cube has three equal moments: its spin stays.
    np.testing.assert_allclose(made.velocities(ball)[1][0], spin, atol=1e-12)
    assert made.time == pytest.approx(2.0)


@pytest.mark.parametrize("friction", [0.3, 0.8])
def test_a_block_rests_and_slides_at_the_friction_angle(friction: float) -> None:
    # In 36 directions, half a degree below the angle and half a degree above. With an effective mass matrix a point, as many
    # solvers have it, friction was a twentieth too small and depended on the direction.
    angle = np.arctan(friction)
    for k in range(0, 36, 9 if SMALL else 2):
        way = np.array([np.cos(np.pi * k / 18), np.sin(np.pi * k / 18)])
        for lean in (-np.radians(0.5), np.radians(0.5), 0.2):
            steep = angle + lean
            gravity = G * np.array([*(np.sin(steep) * way), -np.cos(steep)])
            made = world(gravity=gravity, floor={"friction": friction})
            block = made.add(thud.Box((0.5, 0.4, 0.2)), thud.Pose((0, 0, 0.2)), friction=friction)
            go(made, 0.25)
            before = made.velocities(block)[0][0]
            go(made, 0.5)
            got = (made.velocities(block)[0][0] - before) / 0.5
            expected = max(0.0, G * (np.sin(steep) - friction * np.cos(steep)))
            np.testing.assert_allclose(got[:2], expected * way, atol=0.01 * max(expected, 0.05))
            if lean < 0:
                assert np.linalg.norm(made.velocities(block)[0]) < 1e-3


@pytest.mark.parametrize("restitution", [0.5, 0.8, 1.0])
@pytest.mark.parametrize("height", [0.7, 1.0, 2.3])
def test_a_ball_bounces_to_e_squared_h(restitution: float, height: float) -> None:
    made = world()
    ball = made.add(thud.Sphere(0.1), thud.Pose((0, 0, 0.1 + height)), restitution=restitution)
    top, up = 0.0, False
    for _ in range(round(2.5 * np.sqrt(2 * height / G) / DT)):
        made.step(DT)
        speed = made.velocities(ball)[0][0, 2]
        up = up or speed > 0.0
        if up and speed < 0.0:
            break
        top = max(top, made.poses(ball)[0, 2] - 0.1) if up else 0.0
        assert made.poses(ball)[0, 2] > 0.1 - 1e-3
    # The apex lies between two steps: by v dt / 2 at most, which is v^2 / 2 g off by g dt^2 / 8.
    assert top == pytest.approx(restitution**2 * height, rel=0.01, abs=G * DT**2)


def test_bodies_that_roll_over_each_other_keep_angular_momentum() -> None:
    # Long and pointed bodies that turn where they meet. Where the two points that touched parted by more than half the arm,
    # each body was pushed at a place of its own: up to a sixth of the angular momentum came from nowhere in a step.
    rng = np.random.default_rng(5)
    arms = thud.Compound([thud.Box((0.3, 0.08, 0.08)), thud.Sphere(0.15)], thud.Pose([[0, 0, 0], [0.3, 0, 0.1]]))
    shapes = [thud.Cone(0.2, 0.2), thud.Ellipsoid((0.1, 0.2, 0.4)), arms]
    for k in range(6 if SMALL else 24):
        made = thud.World(gravity=(0, 0, 0), sleep_after=None)
        turn, speed = rng.normal(size=(2, 4)), 2.0 * rng.uniform(0.5, 2.0)
        poses = np.column_stack([[[0, 0, 0], [1.0, 0.1 * rng.normal(), 0]], turn / np.linalg.norm(turn, axis=1, keepdims=True)])
        both = [
            made.add(
                shapes[(k + side * (k // 3)) % 3], poses[side], velocity=(speed * (1 - 2 * side), 0, 0),
                angular_velocity=3.0 * rng.normal(size=3), friction=0.8, density=1000.0,
            )
            for side in range(2)
        ]  # fmt: skip
        first = angular_momentum(made, both)
        for _ in range(40):
            made.step(DT)
        assert angular_momentum(made, both) == pytest.approx(first, abs=1e-10)


def angular_momentum(made: thud.World, handles: list[int]) -> np.ndarray:
    """About the origin."""
    whole = np.zeros(3)
    linear, angular = made.velocities(handles)
    for k, handle in enumerate(handles):
        pose = thud.Pose.from_array(made.poses(handle)[0])
        turn, mass = pose.rotation, float(made.mass(handle)[0])
        arm = turn @ made.center_of_mass(handle)[0]
        whole += np.cross(pose.position + arm, mass * (linear[k] + np.cross(angular[k], arm)))
        whole += turn @ made.inertia(handle)[0] @ turn.T @ angular[k]
    return whole


def test_two_body_impacts_keep_momentum() -> None:
    rng = np.random.default_rng(1)
    for _ in range(3 if SMALL else 10):
        made = thud.World(gravity=(0, 0, 0))
        mass = rng.uniform(0.5, 50.0, 2)
        turn = rng.normal(size=(2, 4))
        poses = np.column_stack([[(-1.2, 0.1, 0.05), (1.2, 0, 0)], turn / np.linalg.norm(turn, axis=1, keepdims=True)])
        both = made.add_many(
            CUBE, poses, mass=mass, velocity=[(3.0, 0, 0), (-2.0, 0.3, 0.1)], angular_velocity=rng.normal(size=(2, 3)),
            restitution=0.5,
        )  # fmt: skip

        def momentum(made: thud.World = made, both: np.ndarray = both, mass: np.ndarray = mass) -> np.ndarray:
            v, w = made.velocities(both)
            x, inertia = made.poses(both)[:, :3], made.inertia(both)
            turn = thud.Pose.from_array(made.poses(both)).rows[:, :9].reshape(-1, 3, 3)
            spin = np.einsum("nij,njk,nlk,nl->ni", turn, inertia, turn, w)
            angular = (np.cross(x, mass[:, None] * v) + spin).sum(axis=0)
            return np.concatenate([(mass[:, None] * v).sum(axis=0), angular])

        before, kinetic, met = momentum(), made.energy()[0], False
        for _ in range(60):
            made.step(DT)
            met = met or (len(made._records.columns) > 0 and bool((made._records.columns[:, 0] > 0).any()))
        assert met
        after = momentum()
        np.testing.assert_allclose(after[:3], before[:3], atol=1e-12 * np.abs(mass).sum() * 5)
        # About the origin: both are pushed at one and the same place.
        np.testing.assert_allclose(after[3:], before[3:], atol=1e-12 * np.abs(mass).sum() * 10)
        assert made.energy()[0] <= kinetic * (1.0 + 1e-9)


def test_a_stack_stands_still() -> None:
    made = world()
    boxes = made.add_many(CUBE, thud.Pose([(0, 0, 0.5 + k) for k in range(5 if SMALL else 10)]))
    go(made, 10.0 if SMALL else 20.0)
    x = made.poses(boxes)[:, :3]
    gaps = np.diff(np.concatenate([[-0.5], x[:, 2]])) - 1.0
    # At rest each contact is within the slop of a ten-thousandth, under ten boxes as under one.
    assert np.abs(gaps).max() < 3e-4
    assert np.abs(x[:, :2]).max() < 0.01
    assert np.abs(made.velocities(boxes)[0]).max() < 1e-3


@pytest.mark.parametrize(("ratio", "substeps"), [(100.0, 4), (1000.0, 16)])
def test_much_on_little(ratio: float, substeps: int) -> None:
    made = world()
    light = made.add(CUBE, thud.Pose((0, 0, 0.5)), mass=1.0)
    heavy = made.add(CUBE, thud.Pose((0, 0, 1.5)), mass=ratio)
    for _ in range(round((2.0 if SMALL else 20.0) / DT)):
        made.step(DT, substeps)
        z = made.poses([light, heavy])[:, 2]
        assert z[0] > 0.46
        assert z[1] - z[0] > 0.96
    if not SMALL and substeps == 16:
        assert z[1] - z[0] > 0.999


def test_a_kinematic_body_carries_and_is_not_moved() -> None:
    made = thud.World()
    belt = made.add(thud.Box((5, 5, 0.1)), thud.Pose((0, 0, -0.1)), kinematic=True, velocity=(1.0, 0, 0))
    crate = made.add(CUBE, thud.Pose((0, 0, 0.5)))
    go(made, 2.0)
    np.testing.assert_allclose(made.poses(belt)[0, :3], (2.0, 0, -0.1), atol=1e-12)
    np.testing.assert_allclose(made.velocities(crate)[0][0], (1.0, 0, 0), atol=1e-3)
    # It slipped until it was as fast: v^2 / (2 mu g).
    assert made.poses(crate)[0, 0] == pytest.approx(2.0 - 1.0 / (2 * 0.5 * G), abs=0.03)


def test_sensors_and_layers_push_nothing() -> None:
    made = world()
    made.add(thud.Box((1, 1, 1)), thud.Pose((0, 0, 2.0)), sensor=True, static=True)
    made.add(thud.Box((1, 1, 0.1)), thud.Pose((0, 0, 1.0)), static=True, layer=1, mask=1 << 1)
    ball = made.add(thud.Sphere(0.1), thud.Pose((0, 0, 3.5)))
    go(made, 2.0)
    assert made.poses(ball)[0, 2] == pytest.approx(0.1, abs=1e-3)


def test_forces_impulses_damping_and_gravity_scale() -> None:
    made = thud.World(gravity=(0, 0, -10.0))
    a, b, c, d = (made.add(CUBE, thud.Pose((5.0 * k, 0, 0)), mass=2.0) for k in range(4))
    made.set_gravity_scale([a, b, c], 0.0)
    made.set_gravity_scale(d, 0.5)
    made.set_damping(c, linear=2.0, angular=1.0)
    made.apply_impulse(b, (4.0, 0, 0), (5.0, 0, 0.5))
    made.apply_impulse(c, (4.0, 0, 0))
    inertia = 2.0 / 6.0
    np.testing.assert_allclose(made.velocities(b)[0][0], (2.0, 0, 0))
    np.testing.assert_allclose(made.velocities(b)[1][0], (0.0, 4.0 * 0.5 / inertia, 0.0))
    for _ in range(60):
        made.apply_force(a, (0, 3.0, 0))
        made.apply_torque(a, (0, 0, inertia))
        made.step(DT)
    np.testing.assert_allclose(made.velocities(a)[0][0], (0, 1.5, 0), rtol=1e-12)
    np.testing.assert_allclose(made.velocities(a)[1][0], (0, 0, 1.0), rtol=1e-9)
    assert made.poses(a)[0, 1] == pytest.approx(0.75, rel=1e-12)
    assert made.velocities(c)[0][0, 0] == pytest.approx(2.0 * np.exp(-2.0), rel=0.01)
    assert made.velocities(d)[0][0, 2] == pytest.approx(-5.0, rel=1e-12)
    # A force ends with its step.
    before = made.velocities(a)[0]
    made.step(DT)
    np.testing.assert_allclose(made.velocities(a)[0], before, atol=1e-12)
    for call in (made.apply_force, made.apply_impulse, made.apply_torque):
        still = made.add(CUBE, thud.Pose((50, 0, 0)), static=True)
        with pytest.raises(InvalidInputError, match="static or kinematic"):
            call(still, (0, 0, 1.0))


def test_a_centre_of_mass_that_is_not_the_origin() -> None:
    # Thrown, it turns about its centre of mass, which flies along a parabola.
    made = thud.World()
    shape = thud.Compound([CUBE], thud.Pose([(2.0, 0, 0)]))
    body = made.add(shape, thud.Pose((0, 0, 50.0)), velocity=(0, 0, 0), angular_velocity=(0, 0, 3.0))
    go(made, 1.0)
    pose = thud.Pose.from_array(made.poses(body))
    center = pose.rows[:, :9].reshape(3, 3) @ (2.0, 0, 0) + pose.rows[0, 9:]
    # The origin was at rest, so the centre moved at omega x r.
    np.testing.assert_allclose(center, (2.0, 6.0, 50.0 - 0.5 * G), atol=1e-9)


def test_rules_masses_and_errors() -> None:
    made = world(friction_rule="minimum", floor={"friction": 0.0})
    block = made.add(CUBE, thud.Pose((0, 0, 0.5)), velocity=(1.0, 0, 0), friction=1.0)
    go(made, 1.0)
    assert made.velocities(block)[0][0, 0] == pytest.approx(1.0, abs=1e-6)
    assert made.mass(block)[0] == pytest.approx(1000.0)
    with pytest.raises(InvalidInputError, match="friction_rule"):
        thud.World(friction_rule="magic")
    with pytest.raises(InvalidInputError, match="gravity"):
        thud.World(gravity=(0, 0))
    for arguments in ((0.0,), (DT, 0), (DT, 1.5), (np.nan,)):
        with pytest.raises(InvalidInputError, match=r"dt|substeps"):
            made.step(*arguments)
    sheet = thud.TriangleMesh(np.eye(3), [[0, 1, 2]])
    made.add(sheet, thud.Pose((0, 0, 5.0)), name="sheet")
    with pytest.raises(InvalidShapeError, match="body sheet"):
        made.step(DT)
    empty = thud.World()
    empty.step(DT)
    assert empty.time == DT


def test_the_same_bytes_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    at = np.column_stack([rng.uniform(-3, 3, (120, 2)), 1.0 + 0.9 * np.arange(120) / 6])
    turn = rng.normal(size=(120, 4))
    poses = np.column_stack([at, turn / np.linalg.norm(turn, axis=1, keepdims=True)])
    found = []
    for threads in (1, 2, 3):
        made = world(threads=threads)
        bodies = made.add_many([CUBE if k % 2 else thud.Sphere(0.4) for k in range(120)], poses)
        for _ in range(30 if SMALL else 120):
            made.step(DT)
        found.append(made.poses(bodies).tobytes() + made.velocities(bodies)[0].tobytes())
        assert np.isfinite(made.poses(bodies)).all()
    assert found[0] == found[1] == found[2]


def test_what_leaves_the_world_is_stopped_and_reported() -> None:
    made = thud.World(gravity=(0, 0, 0))
    far = made.add(CUBE, thud.Pose((9e29, 0, 0)), velocity=(9e29, 0, 0))
    near = made.add(CUBE, thud.Pose((0, 0, 0)), velocity=(1.0, 0, 0))
    made.step(1.0)
    np.testing.assert_array_equal(made.lost, [far])
    np.testing.assert_array_equal(made.poses(far)[0, :3], (9e29, 0, 0))
    assert not made.velocities(far)[0].any()
    assert made.poses(near)[0, 0] == pytest.approx(1.0)


def test_a_saved_world_goes_on_to_the_same_bytes() -> None:
    made = world(friction_rule="average")
    boxes = made.add_many(CUBE, thud.Pose([(0.1 * k, 0, 0.5 + 1.02 * k) for k in range(5)]))
    made.set_damping(boxes[:2], 0.1, 0.2)
    go(made, 0.5)
    made.apply_force(boxes[4], (100.0, 0, 0))
    again = thud.World.from_state(made.state())
    assert again.time == made.time
    for one in (made, again):
        go(one, 1.0)
    for a, b in ((made.poses(), again.poses()), *zip(made.velocities(), again.velocities(), strict=True)):
        assert a.tobytes() == b.tobytes()


def heap(threads: int | None, count: int) -> thud.World:
    """Boxes and capsules that fall into a bin, some of them joined."""
    rng = np.random.default_rng(5)
    made = thud.World(threads=threads, sleep_after=None)
    for normal, offset in (((0, 0, 1), 0.0), ((1, 0, 0), -2.0), ((-1, 0, 0), -2.0), ((0, 1, 0), -2.0), ((0, -1, 0), -2.0)):
        made.add(thud.HalfSpace(normal, offset), static=True)
    q = rng.normal(size=(count, 4))
    at = np.column_stack([rng.uniform(-1.5, 1.5, (count, 2)), 0.5 + 0.05 * np.arange(count)])
    shapes = [thud.Box((0.2, 0.2, 0.2)) if k % 3 else thud.Capsule(0.15, 0.2) for k in range(count)]
    bodies = made.add_many(shapes, np.column_stack([at, q / np.linalg.norm(q, axis=1, keepdims=True)]))
    for k in range(0, count - 1, 10):
        made.add_joint(thud.dynamics.Ball(at[k]), bodies[k], bodies[k + 1])
    return made


def test_a_heap_is_the_same_to_the_last_bit_on_any_number_of_threads() -> None:
    count, steps = (150, 20) if SMALL else (400, 150)
    worlds = [heap(threads, count) for threads in (1, 2, 3)]
    for _ in range(steps):
        for made in worlds:
            made.step(DT)
            assert len(made.lost) == 0
    assert SMALL or len(worlds[0].contacts(margin=0.01).rows) > TEAM_WORK
    for made in worlds[1:]:
        np.testing.assert_array_equal(made.poses(), worlds[0].poses())
        np.testing.assert_array_equal(made.velocities()[0], worlds[0].velocities()[0])
        np.testing.assert_array_equal(made.joint_loads()[0], worlds[0].joint_loads()[0])


def test_a_heap_saved_on_the_way_goes_on_to_the_same_bytes() -> None:
    made = heap(None, 100 if SMALL else 200)
    go(made, 0.5)
    copy = thud.World.from_state(made.state())
    go(made, 0.5)
    go(copy, 0.5)
    np.testing.assert_array_equal(made.poses(), copy.poses())
    np.testing.assert_array_equal(made.joint_values(), copy.joint_values())


def test_a_world_with_lost_bodies_can_be_saved() -> None:
    # The greatest spins that are taken.
    made = world()
    bodies = made.add_many(CUBE, thud.Pose([[0, 0, 0.5], [0, 0, 1.5], [5.0, 0, 0.5]]), angular_velocity=(1e30, 1e29, 0))
    made.add_joint(thud.dynamics.Ball((0, 0, 1.0)), bodies[0], bodies[1])
    for _ in range(5):
        made.step(DT)
    assert np.isfinite(made.poses()).all()
    thud.World.from_state(made.state())
