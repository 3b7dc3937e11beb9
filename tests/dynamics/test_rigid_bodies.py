"""The slides' simulator against its formulas written out, closed forms and an independent solution of Euler's equations."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import polar
from scipy.spatial.transform import Rotation

import thud
from thud.dynamics import INTEGRATORS, RigidBodies, inertia_of_points, inertia_of_shape, world_inertia
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError

#: A body with three different principal moments, along axes that are not its own.
TURN = Rotation.from_euler("xyz", [0.4, -0.7, 1.1]).as_matrix()
INERTIA = TURN @ np.diag([1.0, 2.0, 2.6]) @ TURN.T


def skew(w: np.ndarray) -> np.ndarray:
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def random_bodies(count: int, seed: int = 0) -> RigidBodies:
    rng = np.random.default_rng(seed)
    poses = np.column_stack([rng.normal(size=(count, 3)), Rotation.random(count, random_state=seed).as_quat()[:, [3, 0, 1, 2]]])
    velocity, spin = rng.normal(size=(2, count, 3))
    return RigidBodies(rng.uniform(0.5, 3.0, count), INERTIA, poses, velocity=velocity, angular_velocity=spin)


# Inertia


def test_inertia_of_points_is_the_sum_of_the_slides_with_its_minus_sign() -> None:
    rng = np.random.default_rng(1)
    m, p = rng.uniform(0.1, 2.0, 30), rng.normal(size=(30, 3)) + (5.0, -2.0, 1.0)
    found = inertia_of_points(m, p)
    center = (m[:, None] * p).sum(axis=0) / m.sum()
    printed = sum(mass * skew(r) @ skew(r) for mass, r in zip(m, p - center, strict=True))
    np.testing.assert_allclose(found.center_of_mass, center, atol=1e-12)
    np.testing.assert_allclose(found.inertia, -printed, atol=1e-11)
    # As printed on "Similarity Transform (2)", without the sign, no moment would be positive.
    assert np.linalg.eigvalsh(printed).max() < 0.0
    # L = sum r x m (omega x r) = I omega.
    omega = rng.normal(size=3)
    momentum = (m[:, None] * np.cross(p - center, np.cross(omega, p - center))).sum(axis=0)
    np.testing.assert_allclose(found.inertia @ omega, momentum, atol=1e-11)


def test_inertia_of_shapes_and_in_the_world() -> None:
    box = inertia_of_shape(thud.Box((0.5, 1.0, 2.0)), 250.0)
    assert box.mass == pytest.approx(8.0 * 250.0)
    expected = box.mass / 3.0 * np.array([1.0 + 4.0, 0.25 + 4.0, 0.25 + 1.0])
    np.testing.assert_allclose(np.diag(box.inertia), expected, rtol=1e-12)
    # By similarity transform, and inverse likewise: I^-1 = A Ibody^-1 A^T.
    np.testing.assert_allclose(np.linalg.inv(world_inertia(box.inertia, TURN)), world_inertia(np.linalg.inv(box.inertia), TURN))
    # Many small masses in place of the solid.
    grid = np.stack(np.meshgrid(*[np.linspace(-1, 1, 41)[:-1] + 1 / 40] * 3), axis=-1).reshape(-1, 3) * (0.5, 1.0, 2.0)
    points = inertia_of_points(np.full(len(grid), box.mass / len(grid)), grid)
    np.testing.assert_allclose(points.inertia, box.inertia, rtol=2e-3, atol=1e-6)
    with pytest.raises(UnboundedShapeError):
        inertia_of_shape(thud.HalfSpace((0, 0, 1)))
    with pytest.raises(InvalidShapeError):
        inertia_of_shape(thud.TriangleMesh(np.eye(3), [[0, 1, 2]]))


# Integrators


def test_a_step_of_the_slides_is_theirs() -> None:
    bodies = random_bodies(5)
    rng = np.random.default_rng(2)
    force, torque, h = rng.normal(size=(5, 3)), rng.normal(size=(5, 3)), 0.03
    r, v, a, momentum = (np.array(x) for x in (bodies.r, bodies.v, bodies.A, bodies.L))
    bodies.step(h, force, torque, integrator="slides")
    for k in range(5):
        inverse = a[k] @ np.linalg.inv(INERTIA) @ a[k].T
        omega = inverse @ momentum[k]
        np.testing.assert_allclose(bodies.r[k], r[k] + h * v[k], rtol=1e-14)
        np.testing.assert_allclose(bodies.v[k], v[k] + h * force[k] / bodies.mass[k], rtol=1e-13)
        np.testing.assert_allclose(bodies.L[k], momentum[k] + h * torque[k], rtol=1e-13)
        nearest, _ = polar(a[k] + h * skew(omega) @ a[k])
        np.testing.assert_allclose(bodies.A[k], nearest, atol=1e-14)
    assert bodies.time == h


def test_free_fall_beside_half_g_t_squared() -> None:
    g, h, n = 9.81, 0.01, 200
    t = n * h
    fallen = {}
    for name in INTEGRATORS:
        body = RigidBodies(2.0, INERTIA)
        body.step(h, gravity=(0, 0, -g), integrator=name, steps=n)
        fallen[name] = -float(body.r[0, 2])
        assert body.v[0, 2] == pytest.approx(-g * t, rel=1e-12)
    # Explicit Euler lags by g h t / 2, the semi-implicit ones lead by as much, Runge and Kutta are exact.
    assert fallen["slides"] == pytest.approx(0.5 * g * t * t - 0.5 * g * h * t, rel=1e-12)
    assert fallen["semi_implicit"] == pytest.approx(0.5 * g * t * t + 0.5 * g * h * t, rel=1e-12)
    assert fallen["implicit_gyroscopic"] == pytest.approx(fallen["semi_implicit"], rel=1e-14)
    assert fallen["rk4"] == pytest.approx(0.5 * g * t * t, rel=1e-12)


def eulers_equations(spin: np.ndarray, time: float) -> np.ndarray:
    """omega in the body's frame of the torque-free body, by another road: I omega' = I omega x omega, to 1e-12."""
    inverse = np.linalg.inv(INERTIA)
    found = solve_ivp(
        lambda _t, w: inverse @ np.cross(INERTIA @ w, w), (0, time), spin, method="DOP853", rtol=1e-12, atol=1e-13
    )
    return found.y[:, -1]


@pytest.mark.parametrize("name", list(INTEGRATORS))
def test_order_of_convergence(name: str) -> None:
    spin, time = np.array([1.0, -0.6, 0.8]), 2.0
    truth = eulers_equations(spin, time)
    errors = []
    for steps in (200, 400):
        body = RigidBodies(1.0, INERTIA, angular_velocity=spin)
        body.step(time / steps, integrator=name, steps=steps)
        errors.append(np.linalg.norm(body.A[0].T @ body.angular_velocity()[0] - truth))
    order = np.log2(errors[0] / errors[1])
    assert order == pytest.approx({"rk4": 4.0, "semi_implicit": 2.0}.get(name, 1.0), abs=0.3)
    assert errors[1] < {"rk4": 1e-7, "semi_implicit": 1e-4}.get(name, 0.05)


def test_what_each_integrator_keeps() -> None:
    # Free of torque: angular momentum by all but the implicit one, energy gained by none that should not.
    start = random_bodies(4, 3)
    momentum, energy = start.L.copy(), start.energy() - 0.5 * start.mass * (start.v**2).sum(axis=1)
    for name in INTEGRATORS:
        bodies = random_bodies(4, 3)
        bodies.step(0.005, integrator=name, steps=4000)
        turning = bodies.energy() - 0.5 * bodies.mass * (bodies.v**2).sum(axis=1)
        np.testing.assert_allclose(bodies.A @ np.swapaxes(bodies.A, 1, 2), np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-14)
        if name == "implicit_gyroscopic":
            assert (turning <= energy * (1.0 + 1e-12)).all()
        else:
            np.testing.assert_allclose(bodies.L, momentum, rtol=1e-12, atol=1e-13)
        if name in ("rk4", "semi_implicit"):
            np.testing.assert_allclose(turning, energy, rtol=1e-6 if name == "rk4" else 1e-3)


def test_a_symmetric_top_precesses_at_its_rate() -> None:
    # omega turns about L at |L| / I1, in the world's frame.
    body = RigidBodies(1.0, np.diag([1.0, 1.0, 0.4]), angular_velocity=(0.3, 0.0, 2.0))
    momentum, omega = body.L[0].copy(), body.angular_velocity()[0]
    time = 3.0
    body.step(1e-3, integrator="rk4", steps=3000)
    turn = Rotation.from_rotvec(momentum / 1.0 * time).as_matrix()
    np.testing.assert_allclose(body.angular_velocity()[0], turn @ omega, atol=1e-9)


def test_torque_spins_up_and_forces_may_depend_on_the_state() -> None:
    body = RigidBodies(1.0, np.diag([1.0, 2.0, 2.5]))
    body.step(0.01, torque=(0.0, 0.0, 5.0), steps=100)
    np.testing.assert_allclose(body.angular_velocity()[0], (0.0, 0.0, 5.0 * 1.0 / 2.5), rtol=1e-12)
    # A spring: cos(omega t). By Runge and Kutta with the force at each stage, of order 4.
    errors = []
    for steps in (50, 100):
        one = RigidBodies(2.0, INERTIA, thud.Pose((1.0, 0, 0)))
        one.step(2.0 / steps, lambda _t, b: (-8.0 * b.r, (0.0, 0, 0)), integrator="rk4", steps=steps)
        errors.append(abs(one.r[0, 0] - np.cos(2.0 * 2.0)))
        assert one.time == pytest.approx(2.0)
    assert np.log2(errors[0] / errors[1]) == pytest.approx(4.0, abs=0.3)
    # The same as a kernel's where nothing depends on the state.
    a, b = random_bodies(3, 5), random_bodies(3, 5)
    a.step(0.01, (1.0, 2, 3), (0.1, 0.2, 0.3), integrator="rk4", steps=20)
    b.step(0.01, lambda _t, _b: ((1.0, 2, 3), (0.1, 0.2, 0.3)), integrator="rk4", steps=20)
    for x, y in ((a.r, b.r), (a.v, b.v), (a.A, b.A), (a.L, b.L)):
        np.testing.assert_allclose(x, y, atol=1e-12)
    seen: list[float] = []
    a.step(0.5, lambda t, _b: (seen.append(t) or (0.0, 0, 0), (0.0, 0, 0)), steps=2)
    assert np.diff(seen) == pytest.approx(0.5)


def test_velocity_and_acceleration_of_a_point() -> None:
    bodies = random_bodies(3, 6)
    points, force, torque = np.random.default_rng(7).normal(size=(3, 3)), (0.4, -1.0, 0.2), (0.3, 0.1, -0.5)
    velocity, acceleration = bodies.point_motion([0, 1, 2], points, force, torque)
    omega = bodies.angular_velocity()
    arm = np.einsum("nij,nj->ni", bodies.A, points)
    np.testing.assert_allclose(velocity, bodies.v + np.cross(omega, arm), atol=1e-13)
    # Against differences of where the points are, by small steps of Runge and Kutta either way.
    h = 1e-3
    places = []
    for back in (True, False):
        moved = random_bodies(3, 6)
        if back:
            # Back in time: the same with velocities turned round.
            moved.v[...] *= -1.0
            moved.L[...] *= -1.0
        moved.step(h, force, torque, integrator="rk4")
        places.append(moved.r + np.einsum("nij,nj->ni", moved.A, points))
    here = bodies.r + arm
    np.testing.assert_allclose((places[1] - places[0]) / (2 * h), velocity, atol=1e-5)
    np.testing.assert_allclose((places[1] - 2 * here + places[0]) / h**2, acceleration, atol=1e-4)


def test_bodies_of_shapes_and_points() -> None:
    # A compound whose centre of mass is not its frame's origin turns about it.
    shape = thud.Compound([thud.Box((0.5, 0.5, 0.5))], thud.Pose([(2.0, 0, 0)]))
    bodies = RigidBodies.of_shapes(shape, thud.Pose([(0, 0, 0), (0, 5.0, 0)]), angular_velocity=(0, 0, 1.0))
    assert len(bodies) == 2
    np.testing.assert_allclose(bodies.r, [(2.0, 0, 0), (2.0, 5.0, 0)], atol=1e-12)
    bodies.step(0.1, steps=10)
    np.testing.assert_allclose(bodies.r, [(2.0, 0, 0), (2.0, 5.0, 0)], atol=1e-12)
    cube = np.array([(x, y, z) for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    points = RigidBodies.of_points(np.ones(8), cube + (1.0, 0, 0), thud.Pose((0, 0, 3.0)))
    np.testing.assert_allclose(points.r, [(1.0, 0, 3.0)])
    np.testing.assert_allclose(points.inertia[0], 16.0 * np.eye(3), atol=1e-12)
    np.testing.assert_allclose(points.poses().position, [(1.0, 0, 3.0)])


def test_the_same_bytes_for_any_number_of_threads() -> None:
    found = []
    for threads in (1, 2, 3):
        bodies = random_bodies(3000, 8)
        bodies.step(0.01, torque=(0.1, 0.2, 0.3), integrator="implicit_gyroscopic", steps=5, threads=threads)
        found.append(b"".join(np.ascontiguousarray(x).tobytes() for x in (bodies.r, bodies.v, bodies.A, bodies.L)))
    assert found[0] == found[1] == found[2]


def test_clear_errors() -> None:
    for arguments, match in (
        (((1.0, 0.0), INERTIA), "mass: row 1"),
        ((1.0, np.zeros((3, 3))), "inertia: row 0 has a principal moment"),
        ((1.0, np.diag([1.0, 1.0, 3.0])), "sum of the two others"),
        ((1.0, [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]), "not symmetric"),
        ((1.0, np.eye(4)), "inertia: expected shape"),
        ((1.0, np.full((3, 3), np.nan)), "inertia"),
    ):
        with pytest.raises(InvalidInputError, match=match):
            RigidBodies(*arguments)
    with pytest.raises(InvalidInputError, match="mass: expected 1 or 3 rows, got 2"):
        RigidBodies((1.0, 2.0), INERTIA, velocity=np.zeros((3, 3)))
    body = RigidBodies(1.0, INERTIA)
    for arguments, match in (
        ({"h": 0.0}, "h: "), ({"h": 0.1, "integrator": "magic"}, "integrator"), ({"h": 0.1, "steps": -1}, "steps"),
        ({"h": 0.1, "force": np.zeros((2, 3))}, "force: expected 1 row, got"), ({"h": np.nan}, "h"),
    ):  # fmt: skip
        with pytest.raises(InvalidInputError, match=match):
            body.step(**arguments)
    with pytest.raises(InvalidInputError, match="masses"):
        inertia_of_points([1.0, -1.0], np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="inertia: row 0 has a principal moment"):
        RigidBodies.of_points([1.0, 1.0], [(0, 0, 0), (1, 0, 0)])
    with pytest.raises(InvalidInputError, match="body"):
        body.point_motion(1, (0, 0, 0))


def test_bodies_print_in_one_line() -> None:
    bodies = RigidBodies.of_shapes(thud.Box((0.1, 0.2, 0.5)))
    bodies.step(0.25, steps=2)
    assert repr(bodies) == "RigidBodies(1 body after 0.5 s)"
    assert repr(RigidBodies([1.0, 2.0], np.eye(3))) == "RigidBodies(2 bodies after 0 s)"
