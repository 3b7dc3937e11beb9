"""Particles with linear drag in wind: closed form, invariants, slides, and what is refused. Impacts on every class of collider
are in `test_against_definitions.py`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mpmath import exp, mp, mpf

import thud
from thud.constants import UNIT_ROUNDOFF
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles import (
    Blobs,
    Disc,
    ImplicitPatches,
    Mesh,
    ParticleSystem,
    Plane,
    Quadric,
    Rectangle,
    Skeleton,
    Solid,
    Surface,
    impact_map,
)
from thud.particles.crossings.drag_cell import dragged_cell
from thud.particles.crossings.drag_time import exact_phi_psi, phi_psi
from thud.particles.crossings.path_columns import DRAG, LOCAL, A, V
from thud.results import ParticleState

FLOOR = Plane([0, 0, 0], [0, 0, 1])
GRAVITY = [0, 0, -9.81]


def scene() -> list[Any]:
    """One of each kind of collider."""
    z = np.round(np.random.default_rng(3).normal(size=(9, 9)) * 16.0) / 64.0
    return [
        Rectangle([-3, -3, -1], [8, 0, 0], [0, 8, 0]),
        Disc([1, 1, 2], [0.2, 0, 1], 0.8),
        Quadric.ellipsoid([2, 0, 0.5], [0.7, 0.5, 0.4]),
        Solid(thud.Cone(0.5, 0.6), thud.Pose([0, 2, 0.5])),
        Mesh(thud.to_mesh(thud.Sphere(0.7)), thud.Pose([-1, 0, 1])),
        Blobs([[0, 0, 0.5], [0.5, 0.3, 0.6]], 0.8),
        Skeleton([[[2.0, 2.0, 0.5], [1.5, 2.5, 1.0]]], 0.6),
        ImplicitPatches.from_field(lambda p: ((p - [-1, 2, 1]) ** 2).sum(axis=1) - 0.25, [-2, 1, 0], [0, 3, 2], 0.5),
        Surface(thud.terrain.from_heights(z, 0.5, samples=2).surface),
    ]


def rain(count: int = 60, **given: Any) -> ParticleSystem:
    rng = np.random.default_rng(5)
    x = rng.uniform(-2, 3, (count, 3)) + [0, 0, 5.0]
    return ParticleSystem(x, rng.normal(size=(count, 3)), GRAVITY, lifetime=4.0, **given)


def same(one: Any, other: Any) -> bool:
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("particle", "time", "point", "velocity"))


def test_functions_of_time() -> None:
    mp.dps = 60
    for rate in (1e-300, 1e-12, 1e-3, 0.7, 30.0, 1e8):
        for t in (1e-9, 0.1, 0.4, 3.0, 1e4):
            k, s = mpf(rate), mpf(t)
            if k * s < mpf(10) ** -18:
                slow, twice = s, s * s / 2
            else:
                slow = (1 - exp(-k * s)) / k
                twice = (s - slow) / k
            low, high = phi_psi(rate, t)
            assert abs(low / slow - 1) < 1e-15
            assert abs(high / twice - 1) < 2e-15
            if k * s > mpf(10) ** -18:
                low, high = exact_phi_psi(rate, t)
                assert abs((mpf(low[0]) + mpf(low[1])) / slow - 1) < 1e-29
                assert abs((mpf(high[0]) + mpf(high[1])) / twice - 1) < 1e-29


@pytest.mark.parametrize("rate", [1e-6, 0.3, 8.0, 500.0])
def test_states_solve_the_equation_of_motion(rate: float) -> None:
    x, v, g, u = np.array([1.0, 2, 3]), np.array([4.0, -5, 6]), np.array([0.5, 0, -9.81]), np.array([3.0, 1, -1])
    system = ParticleSystem(x, v, g, drag=2.0 * rate, mass=2.0, wind=u)
    for t in (0.01, 0.5, 2.0):
        now = system.states(t)
        k, s = mpf(rate), mpf(t)
        for axis in range(3):
            last = mpf(float(u[axis])) + mpf(float(g[axis])) / k
            fade = (1 - exp(-k * s)) / k
            place = mpf(float(x[axis])) + last * s + (mpf(float(v[axis])) - last) * fade
            assert abs(now.position[0, axis] - float(place)) < 1e-12
            speed = last + (mpf(float(v[axis])) - last) * exp(-k * s)
            assert abs(now.velocity[0, axis] - float(speed)) < 1e-12


def test_little_drag_tends_to_the_parabola() -> None:
    colliders = scene()
    without = rain().impacts(colliders, 0.0, 4.0)
    little = rain(mass=1.0, drag=1e-13, wind=[1, 0, 0]).impacts(colliders, 0.0, 4.0)
    assert len(without) > 40
    np.testing.assert_array_equal(without.particle, little.particle)
    np.testing.assert_array_equal(without.collider, little.collider)
    np.testing.assert_allclose(little.time, without.time, rtol=0, atol=1e-10)


def test_without_drag_nothing_changes_by_a_byte() -> None:
    colliders = scene()
    plain = rain(response="bounce").impacts(colliders, 0.0, 4.0)
    assert same(plain, rain(response="bounce", mass=1.0, drag=0.0, wind=[5, 5, 5]).impacts(colliders, 0.0, 4.0))
    # Nor for those without drag among others.
    some = np.where(np.arange(60) % 2 == 0, 0.0, 0.7)
    mixed = rain(response="bounce", mass=1.0, drag=some).impacts(colliders, 0.0, 4.0)
    assert same(plain[plain.particle % 2 == 0], mixed[mixed.particle % 2 == 0])


def test_with_the_wind_and_no_gravity_paths_are_straight() -> None:
    x, v = np.random.default_rng(1).uniform(-1, 1, (30, 3)) + [0, 0, 5], np.array([0.3, -0.2, -2.0])
    colliders = scene()
    straight = ParticleSystem(x, v, lifetime=4.0).impacts(colliders, 0.0, 4.0)
    blown = ParticleSystem(x, v, lifetime=4.0, mass=1.0, drag=3.0, wind=v).impacts(colliders, 0.0, 4.0)
    np.testing.assert_array_equal(straight.particle, blown.particle)
    np.testing.assert_allclose(blown.time, straight.time, rtol=0, atol=1e-12)


@pytest.mark.parametrize("response", ["remove", "bounce"])
def test_partitions_threads_and_checkpoints(response: Any) -> None:
    colliders, given = scene(), {"drag": 0.4, "mass": 1.0, "wind": [1.0, 0.5, 0], "response": response, "bounces": 20}
    whole = rain(**given).impacts(colliders, 0.0, 4.0)
    assert len(whole) > 40
    assert same(whole, rain(**given).impacts(colliders, 0.0, 4.0, threads=1))
    system = rain(**given)
    parts = [system.impacts(colliders, a, b) for a, b in ((0.0, 0.7), (0.7, 1.5), (1.5, 1.5), (1.5, 4.0))]
    assert np.array_equal(np.concatenate([one.time for one in parts]), whole.time)
    assert np.array_equal(np.concatenate([one.point for one in parts]), whole.point)


def test_energy_falls_in_still_air() -> None:
    box = Solid(thud.Box([2, 2, 2]))
    v = np.random.default_rng(2).normal(size=(20, 3)) * 5.0
    system = ParticleSystem([0, 0, 0], v, mass=1.0, drag=0.3, lifetime=20.0, response="bounce", bounces=200)
    found = system.impacts([box], 0.0, 20.0)
    assert len(found) > 50
    for k in range(20):
        assert (np.diff(found.energy[found.particle == k]) < 0.0).all()
    speeds = [np.linalg.norm(system.states(t, [box]).velocity, axis=1) for t in np.linspace(0, 19.5, 40)]
    assert (np.diff(np.array(speeds), axis=0) <= 1e-12).all()


def test_a_long_life_without_end() -> None:
    # It stops in the air for ever, or falls at its last speed, after a very long time too.
    system = ParticleSystem([[0, 0, 1.0], [0, 0, 1e6]], [[0, 0, -0.5], [0, 0, 0]], [[0, 0, 0], GRAVITY], mass=1.0, drag=1.0)
    found = system.impacts(scene() + [Plane([0, 0, -50], [0, 0, 1])], 0.0, 1e9)
    assert 1 in found.particle
    falls = ParticleSystem([0, 0, 1e6], [0, 0, 0], GRAVITY, mass=1.0, drag=1.0).impacts([FLOOR], 0.0, 1e9)
    assert falls.time[0] == pytest.approx(1e6 / 9.81 + 1.0, rel=1e-12)
    assert falls.velocity[0] == pytest.approx([0, 0, -9.81])


def test_nothing_enters_a_closed_cone_by_its_apex() -> None:
    cone = Solid(thud.Cone(0.5, 1.0))
    system = ParticleSystem([0, 0, 4.0], [0, 0, -1.0], GRAVITY, mass=1.0, drag=0.8, lifetime=5.0)
    found = system.impacts([cone], 0.0, 5.0)
    assert found.point[0] == pytest.approx([0, 0, 1.0], abs=1e-9)


def test_a_slide_takes_its_last_speed() -> None:
    # Down a frictionless slope of 30 degrees: v' = g / 2 - rate v.
    slope = Plane([0, 0, 0], [-0.5, 0, np.sqrt(0.75)], restitution=0.0)
    system = ParticleSystem([0, 0, 0.01], [0, 0, 0], GRAVITY, mass=1.0, drag=0.5, response="bounce", bounces=0)
    begin = system.impacts([slope], 0.0, 1.0).time[0]
    now = system.states(30.0, [slope])
    assert now.state[0] == ParticleState.SLIDING
    assert np.linalg.norm(now.velocity[0]) == pytest.approx(9.81, rel=1e-6)
    soon = system.states(begin + 1.0, [slope])
    start = 0.5 * np.linalg.norm(system.states(begin - 1e-9, [slope]).velocity[0])
    want = 9.81 + (start - 9.81) * np.exp(-0.5)
    assert np.linalg.norm(soon.velocity[0]) == pytest.approx(want, rel=1e-6)


@pytest.mark.parametrize("table", [Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0]), Disc([0, 0, 0], [0, 0, 1], 1.0)])
def test_wind_blows_over_the_edge(table: Any) -> None:
    # Pulled along by the wind alone: x' = 2 (1 - exp(-t)), over the edge, and down.
    system = ParticleSystem(
        [0, 0, 1e-3], [0, 0, 0], GRAVITY, mass=1.0, drag=1.0, wind=[2.0, 0, 0], response="bounce", bounces=0
    )
    edge = 1.1978  # 2 (t - 1 + exp(-t)) = 1 at t = 1.1978
    before, after = system.states(edge - 0.1, [table]), system.states(edge + 0.3, [table])
    assert before.state[0] == ParticleState.SLIDING
    assert before.position[0, 0] < 1.0
    assert abs(before.position[0, 2]) < 1e-4
    assert after.position[0, 0] > 1.0
    assert after.position[0, 2] < -0.1


def test_friction_stops_a_slide() -> None:
    floor = Plane([0, 0, 0], [0, 0, 1], friction=0.2, restitution=0.0)
    system = ParticleSystem([0, 0, 1e-5], [3.0, 0, 0], GRAVITY, mass=1.0, drag=0.5, response="bounce", bounces=0)
    # speed' = -f g - k speed: at rest after log(1 + k v / (f g)) / k.
    stop = np.log1p(0.5 * 3.0 / (0.2 * 9.81)) / 0.5
    assert system.states(stop - 0.02, [floor]).state[0] == ParticleState.SLIDING
    assert system.states(stop + 0.02, [floor]).state[0] == ParticleState.RESTING


def test_maps_by_numba_and_not_by_opengl() -> None:
    table = Rectangle([-3, -3, 0], [6, 0, 0], [0, 6, 0])
    assert impact_map(rain(mass=1.0, drag=0.3), [table], 0.0, 4.0, resolution=16) is not None
    with pytest.raises(UnsupportedQueryError, match="drag"):
        impact_map(rain(mass=1.0, drag=0.3), [table], 0.0, 4.0, resolution=16, backend="gl")


@pytest.mark.parametrize(
    ("given", "word"),
    [
        ({"drag": -1.0}, "drag"),
        ({"drag": np.nan}, "drag"),
        ({"drag": np.inf}, "drag"),
        ({"drag": [[1.0]]}, "drag"),
        ({"drag": [1.0, 2.0]}, "drag"),
        ({"drag": "much"}, "drag"),
        ({"drag": 1e20, "mass": 1.0}, "drag"),
        ({"drag": 1.0}, "mass"),
        ({"drag": 1.0, "mass": 1e-12}, "drag"),
        ({"wind": [0.0, np.nan, 0.0]}, "wind"),
        ({"wind": [1e31, 0.0, 0.0]}, "wind"),
        ({"wind": 3.0}, "wind"),
        ({"size": -0.1}, "size"),
        ({"size": np.nan}, "size"),
    ],
)
def test_what_is_refused(given: dict[str, Any], word: str) -> None:
    with pytest.raises(InvalidInputError, match=word):
        ParticleSystem([[0, 0, 1.0]] * 3, [0, 0, -1.0], **given)


def test_size_is_a_column() -> None:
    found = ParticleSystem([[0, 0, 1.0]] * 2, [0, 0, -1.0], size=[0.01, 0.02]).impacts([FLOOR], 0.0, 2.0)
    assert found.radius.tolist() == [0.01, 0.02]
    # The centre meets the floor.
    assert found.time.tolist() == [1.0, 1.0]


@pytest.mark.parametrize("rate", [1e-12, 1e-3, 1.0, 17.0])
def test_particles_that_stop_in_the_air_and_live_for_ever_hit_what_they_reach(rate: float) -> None:
    """Without gravity and wind the last velocity is 0. In the far future, until which a path without end was looked at, its
    place is nothing but roundoff, whose sign hid the crossings of planes; with digits lost there a first step from there came
    out before the start, and so whole boxes were left out."""
    rng = np.random.default_rng(0)
    x = rng.uniform(-0.3, 0.3, (200, 3)) + [0, 0, 1.5]
    v = (rng.normal(size=(200, 3)) * 0.3 - [0, 0, 1.0]) * 10.0 ** rng.uniform(0.0, 1.5, (200, 1)) * max(rate, 1.0)
    hits = ParticleSystem(x, v, mass=1.0, drag=rate).impacts([FLOOR], 0.0, 5.0)
    with np.errstate(invalid="ignore"):
        # x + v (1 - exp(-r t)) / r = 0
        due = -np.log1p(rate * x[:, 2] / v[:, 2]) / rate
    reaches = (due >= 0.0) & (due < 5.0)
    assert reaches.sum() > 100
    found = np.full(200, np.nan)
    found[hits.particle] = hits.time
    np.testing.assert_array_equal(np.isfinite(found), reaches)
    np.testing.assert_allclose(found[reaches], due[reaches], rtol=1e-12)


@pytest.mark.parametrize("wind", [[0, 0, 0], [0.1, 0.2, -0.3], [0, 0, 1.0], [0, 0, -1e-13], [0, 0, -1e-14]])
@pytest.mark.parametrize("rate", [1e-9, 1.0, 30.0])
def test_a_life_without_end_changes_no_impact(rate: float, wind: list[float]) -> None:
    """See above: within a window it is of no account when a particle dies long after."""
    rng = np.random.default_rng(1)
    x = rng.uniform(-2, 3, (60, 3)) + [0, 0, 1.5]
    v = rng.normal(size=(60, 3)) * 3.0 * max(rate, 1.0) - [0, 0, 4.0 * max(rate, 1.0)]
    for collider in scene():
        mortal, immortal = (
            ParticleSystem(x, v, lifetime=lifetime, mass=1.0, drag=rate, wind=wind).impacts([collider], 0.0, 5.0)
            for lifetime in (1e3, np.inf)
        )
        np.testing.assert_array_equal(immortal.particle, mortal.particle)
        np.testing.assert_allclose(immortal.time, mortal.time, rtol=1e-9, atol=1e-9)


def test_a_cell_of_time_does_not_begin_before_the_path() -> None:
    """Outward rounding of a cell of 1e20 s is some 1e4 s: of minus as many the exponential was infinite, and its bounds NaN."""
    out = long_cell(1.0, 5e19, 5e19)
    assert np.isfinite(out).all()


def long_cell(rate: float, middle: float, half: float) -> np.ndarray:
    """`off` and `off_speed` of a cell as `barycentric_cell` widens it."""
    local = np.zeros(LOCAL)
    local[V], local[A], local[DRAG] = 1.0, -rate, rate
    _g, _v, _h, off, off_speed, _bend = dragged_cell(local, middle, half + 2.0 * UNIT_ROUNDOFF * middle)
    return np.array([off, off_speed])
