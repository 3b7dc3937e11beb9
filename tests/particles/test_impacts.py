"""Events: none lost, none doubled, whatever is asked in whatever order; responses; starts on surfaces."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thud
from tests.oracles.particle_steps import flights
from tests.particles.scenes import KINDS, random_collider, random_paths
from thud import particles as p
from thud.particles.tolerances import RESTING_SPEED
from thud.results import ParticleState

FLOOR = p.Plane([0, 0, 0], [0, 0, 1], restitution=0.5)


def scene(seed: int, count: int = 60, colliders: int = 6, response: str = "bounce"):
    rng = np.random.default_rng(seed)
    x, v, a = random_paths(rng, count)
    a[::3] = 0.0
    system = p.ParticleSystem(
        x, v, a, lifetime=rng.uniform(0.5, 2.0, size=count), birth=rng.uniform(0, 1, size=count), response=response, bounces=5,
        seed=seed, position_spread=0.5, velocity_spread=0.5,
    )  # fmt: skip
    return system, [random_collider(rng, int(rng.integers(KINDS))) for _ in range(colliders)]


def same(one, other) -> None:
    for field in dataclasses.fields(one):
        np.testing.assert_array_equal(getattr(one, field.name), getattr(other, field.name), err_msg=field.name)


def joined(pieces):
    first = pieces[0]
    names = [field.name for field in dataclasses.fields(first)]
    return type(first)(*(np.concatenate([getattr(piece, name) for piece in pieces]) for name in names))


@given(st.integers(0, 20), st.lists(st.floats(0.0, 5.0), max_size=6), st.sampled_from(["bounce", "remove"]))
def test_any_partition_gives_the_same_events(seed: int, cuts: list[float], response: str) -> None:
    system, colliders = scene(seed, 20, response=response)
    whole = system.impacts(colliders, 0.0, 5.0)
    # Cuts at the very times of events, too.
    edges = sorted([0.0, *cuts, *whole.time[:: max(1, len(whole) // 3)], 5.0])
    same(whole, joined([system.impacts(colliders, a, b) for a, b in pairwise(edges)]))


def test_the_same_bytes_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(3)
    x, v, a = random_paths(rng, 5000)
    system = p.ParticleSystem(x, v, a, lifetime=1.5, response="bounce", velocity_spread=1.0, rest="stop")
    colliders = [random_collider(rng, kind) for kind in range(KINDS)]
    one = system.impacts(colliders, 0.0, 6.0, threads=1)
    assert len(one) > 5000
    for threads in (2, 3):
        same(one, system.impacts(colliders, 0.0, 6.0, threads=threads))
    same(system.states(4.4, colliders, threads=1), system.states(4.4, colliders, threads=2))


def test_ties_are_ordered_by_particle_whatever_the_threads() -> None:
    """All events at one time: they fall into one slot, which is sorted otherwise."""
    system = p.ParticleSystem(np.tile([0.0, 0, 1.0], (5000, 1)), [0, 0, -1.0], lifetime=2.0, response="bounce", bounces=1)
    one, two = (system.impacts([FLOOR], 0.0, 10.0, threads=threads) for threads in (1, 2))
    same(one, two)
    key = np.lexsort((one.bounce, one.generation, one.particle, one.time))
    np.testing.assert_array_equal(key, np.arange(len(one)))


@pytest.mark.parametrize("seed", range(6))
def test_the_order_of_colliders_does_not_matter(seed: int) -> None:
    system, colliders = scene(seed, colliders=14)
    rng = np.random.default_rng(seed)
    shuffle = rng.permutation(len(colliders))
    one, other = system.impacts(colliders, 0.0, 4.0), system.impacts([colliders[k] for k in shuffle], 0.0, 4.0)
    np.testing.assert_array_equal(one.collider, shuffle[other.collider])
    np.testing.assert_array_equal(one.time, other.time)
    np.testing.assert_array_equal(one.point, other.point)


def test_many_colliders_by_the_tree_are_each_by_itself() -> None:
    rng = np.random.default_rng(0)
    x, v, a = random_paths(rng, 300)
    colliders = [random_collider(rng, int(rng.integers(KINDS))) for _ in range(60)]
    got = p.ParticleSystem(x, v, a, lifetime=2.0).impacts(colliders, 0.0, 2.0)
    best = np.full(300, np.inf)
    for collider in colliders:
        alone = p.ParticleSystem(x, v, a, lifetime=2.0).impacts([collider], 0.0, 2.0)
        best[alone.particle] = np.minimum(best[alone.particle], alone.time)
    want = np.full(300, np.inf)
    want[got.particle] = got.time
    np.testing.assert_array_equal(want, best)


@pytest.mark.parametrize("kind", range(KINDS))
def test_small_steps_find_the_same_events(kind: int) -> None:
    rng = np.random.default_rng(kind + 50)
    colliders = [random_collider(rng, kind), p.Plane([0, 0, -4.0], [0.1, 0, 1.0], restitution=0.7, friction=0.2)]
    x, v, a = random_paths(rng, 6)
    a[:3] = 0.0
    system = p.ParticleSystem(x, v, a, lifetime=2.0, response="bounce", bounces=2, rest="stop")
    got = system.impacts(colliders, 0.0, 2.0)
    elements = [(k, e) for k, c in enumerate(colliders) for e in c.elements()]
    responses = [(c.restitution, c.friction) for c in colliders]
    for row in range(len(x)):
        mine = got.particle == row
        times = got.time[mine]
        want = flights(elements, responses, x[row], v[row], a[row], 2.0, 2, 1e-3)
        # Two crossings within one step are not seen by steps.
        if len(times) != len(want) and len(times) > 1 and np.diff(times).min() < 2e-3:
            continue
        assert [c for _, c in want] == got.collider[mine].tolist()
        np.testing.assert_allclose(times, [t for t, _ in want], rtol=1e-8, atol=1e-8)


def test_bounces_follow_the_formula() -> None:
    g, h = 9.81, 5.0
    system = p.ParticleSystem([0, 0, h], [1.0, 0, 0], [0, 0, -g], lifetime=50.0, response="bounce", bounces=4)
    got = system.impacts([FLOOR], 0.0, 50.0)
    fall, times = np.sqrt(2 * h / g), []
    t, speed = fall, g * fall
    for _ in range(5):
        times.append(t)
        speed *= 0.5
        t += 2 * speed / g
    np.testing.assert_allclose(got.time, times, rtol=1e-13)
    np.testing.assert_allclose(got.point[:, 0], got.time, rtol=1e-13)
    np.testing.assert_allclose(got.velocity[:, 2], [-g * fall * 0.5**k for k in range(5)], rtol=1e-13)
    assert got.bounce.tolist() == [0, 1, 2, 3, 4]
    assert (got.normal == [0, 0, 1]).all()
    # Without friction nothing stops it along the floor.
    slid = system.states(49.0, [FLOOR])
    assert slid.state[0] == ParticleState.SLIDING
    np.testing.assert_allclose(slid.position[0], [49.0, 0, 0], atol=1e-7)
    np.testing.assert_allclose(slid.velocity[0], [1.0, 0, 0], atol=1e-12)
    stops = p.ParticleSystem([0, 0, h], [1.0, 0, 0], [0, 0, -g], 50.0, response="bounce", bounces=4, rest="stop")
    rest = stops.states(49.0, [FLOOR])
    assert rest.state[0] == ParticleState.RESTING
    np.testing.assert_allclose(rest.position[0], [got.time[-1], 0, 0], atol=1e-12)
    assert (rest.velocity == 0.0).all()


def test_friction_is_coulombs() -> None:
    def after(friction: float):
        floor = p.Plane([0, 0, 0], [0, 0, 1], restitution=0.5, friction=friction)
        system = p.ParticleSystem([0, 0, 1.0], [3.0, 0, -1.0], lifetime=10.0, response="bounce")
        return system.states(2.0, [floor]).velocity[0]

    np.testing.assert_allclose(after(0.0), [3.0, 0, 0.5])
    np.testing.assert_allclose(after(0.4), [3.0 - 0.4 * 1.5, 0, 0.5])
    np.testing.assert_allclose(after(5.0), [0.0, 0, 0.5])


def test_a_slow_particle_rests() -> None:
    for e in (0.0, 1e-9):
        floor = p.Plane([0, 0, 0], [0, 0, 1], restitution=e)
        system = p.ParticleSystem([0, 0, 1.0], [0, 0, -1.0], [0, 0, -9.81], lifetime=10.0, response="bounce", bounces=100)
        assert len(system.impacts([floor], 0.0, 10.0)) == 1
    many = p.ParticleSystem([0, 0, 1.0], [0, 0, 0.0], [0, 0, -9.81], lifetime=100.0, response="bounce", bounces=10**6)
    got = many.impacts([FLOOR], 0.0, 100.0)
    assert 0.5 * got.speed[-1] < RESTING_SPEED <= got.speed[-1]
    assert many.states(99.0, [FLOOR]).state[0] == ParticleState.RESTING


def test_energy_is_kept_without_loss_inside_a_ball() -> None:
    ball = p.Quadric.ellipsoid([0, 0, 0], 1.0, restitution=1.0)
    rng = np.random.default_rng(1)
    v = rng.normal(size=(50, 3))
    system = p.ParticleSystem(rng.uniform(-0.4, 0.4, size=(50, 3)), v, lifetime=100.0, response="bounce", bounces=1000)
    got = system.impacts([ball], 0.0, 40.0)
    np.testing.assert_allclose(got.speed, np.linalg.norm(v, axis=1)[got.particle], rtol=1e-11)
    np.testing.assert_allclose(np.linalg.norm(got.point, axis=1), 1.0, rtol=1e-12)
    # No particle ever leaves.
    assert np.linalg.norm(system.states(40.0, [ball]).position, axis=1).max() <= 1.0 + 1e-12
    # Chords of one path in a ball are equally long.
    for row in range(50):
        times = got.time[got.particle == row]
        if len(times) > 3:
            np.testing.assert_allclose(np.diff(times), np.diff(times)[0], rtol=1e-8)


@pytest.mark.parametrize("shape", ["box", "hull", "ball", "capsule", "cylinder"])
def test_nothing_leaves_a_closed_room(shape: str) -> None:
    """Corners and edges, too: particles are aimed at them exactly."""
    room = {
        "box": thud.Box([1, 1, 1]),
        "hull": thud.ConvexHull(np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * 1.0),
        "ball": thud.Sphere(1.0),
        "capsule": thud.Capsule(1.0, 1.0),
        "cylinder": thud.Cylinder(1.0, 1.0),
    }[shape]
    rng = np.random.default_rng(4)
    targets = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z]) * 1.0
    x = rng.choice([-0.5, 0.0, 0.25, 0.5], size=(len(targets), 3)) * 0.5
    v, a = (targets - x) * 4.0, np.zeros_like(x)
    a[::2, 2] = -9.81
    wall = p.Solid(room, restitution=1.0)
    system = p.ParticleSystem(x, v, a, lifetime=100.0, response="bounce", bounces=400)
    for t in (0.5, 3.0, 10.0, 20.0):
        position = system.states(t, [wall]).position
        assert (thud.closest_point(room, position, signed=True).distance < 1e-9).all()


def test_a_corner_is_two_impacts_at_one_time() -> None:
    walls = [p.Plane([1, 0, 0], [1, 0, 0], restitution=1.0), p.Plane([0, 1, 0], [0, 1, 0], restitution=1.0)]
    system = p.ParticleSystem([0, 0, 0], [1.0, 1.0, 0.25], lifetime=10.0, response="bounce")
    got = system.impacts(walls, 0.0, 10.0)
    assert got.time.tolist() == [1.0, 1.0]
    assert got.collider.tolist() == [0, 1]
    np.testing.assert_allclose(system.states(2.0, walls).velocity[0], [-1.0, -1.0, 0.25])


def test_starts_on_the_surface() -> None:
    ball, up = p.Quadric.ellipsoid([0, 0, 0], 1.0), [0.0, 0.0, 1.0]
    # Away from it, or along it: no impact. Into it: the far side.
    assert len(p.ParticleSystem(up, [0, 0, 1.0]).impacts([ball], 0.0, 10.0)) == 0
    assert len(p.ParticleSystem(up, [1.0, 0, 0]).impacts([ball], 0.0, 10.0)) == 0
    assert p.ParticleSystem(up, [0, 0, -1.0]).impacts([ball], 0.0, 10.0).time.tolist() == [2.0]
    assert p.ParticleSystem(up, [0, 0, 1.0], [0, 0, -2.0]).impacts([ball], 0.0, 10.0).time.tolist() == [1.0]
    floor = p.Plane([0, 0, 1], [0, 0, 1])
    assert len(p.ParticleSystem(up, [0, 0, -1.0]).impacts([floor], 0.0, 10.0)) == 0
    assert p.ParticleSystem(up, [0, 0, 1.0], [0, 0, -2.0]).impacts([floor], 0.0, 10.0).time.tolist() == [1.0]


def test_zero_velocity_and_zero_acceleration() -> None:
    ball = p.Quadric.ellipsoid([0, 0, 0], 1.0)
    assert len(p.ParticleSystem([0, 0, 1.0], [0, 0, 0]).impacts([ball, FLOOR], 0.0, 10.0)) == 0
    drop = p.ParticleSystem([0, 0, 3.0], [0, 0, 0], [0, 0, -4.0], lifetime=10.0)
    assert drop.impacts([ball], 0.0, 10.0).time.tolist() == [1.0]
    # An acceleration that is almost nothing: the quartic is almost a quadratic.
    for tiny in (1e-300, 1e-30, 1e-17):
        slow = p.ParticleSystem([0, 0, 3.0], [0, 0, -1.0], [0, 0, -tiny], lifetime=10.0)
        assert slow.impacts([ball], 0.0, 10.0).time.tolist() == [pytest.approx(2.0, rel=1e-15)]


def test_a_path_that_touches_is_no_impact() -> None:
    ball = p.Quadric.ellipsoid([0, 0, 0], 1.0)
    assert len(p.ParticleSystem([-3.0, 0, 1.0], [1.0, 0, 0]).impacts([ball], 0.0, 10.0)) == 0
    below = p.ParticleSystem([-3.0, 0, np.nextafter(1.0, 0.0)], [1.0, 0, 0]).impacts([ball], 0.0, 10.0)
    assert len(below) == 1
    assert below.time[0] == pytest.approx(3.0, abs=1e-7)


def test_holes_let_particles_through() -> None:
    square = np.array([[-1, -1, 0], [1, -1, 0], [1, 1, 0], [-1, 1, 0]]) * 1.0
    window = p.Polygon(square, holes=[0.5 * square])
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.uniform(-1.5, 1.5, size=(2000, 2)), np.ones(2000)])
    hit = np.zeros(2000, bool)
    hit[p.ParticleSystem(x, [0, 0, -1.0]).impacts([window], 0.0, 10.0).particle] = True
    most = np.abs(x[:, :2]).max(axis=1)
    np.testing.assert_array_equal(hit, (most <= 1.0) & (most >= 0.5))


def test_removed_particles_stay_removed_until_rebirth() -> None:
    system = p.ParticleSystem([0, 0, 1.0], [0, 0, -1.0], lifetime=3.0)
    assert system.states(0.5, [FLOOR]).state[0] == ParticleState.FLYING
    gone = system.states(2.0, [FLOOR])
    assert gone.state[0] == ParticleState.REMOVED
    assert gone.bounce[0] == 1
    assert system.states(3.5, [FLOOR]).state[0] == ParticleState.FLYING


def test_states_agree_with_impacts() -> None:
    system, colliders = scene(11, 200)
    got = system.impacts(colliders, 0.0, 3.0)
    for t in (0.7, 1.4, 2.9):
        state = system.states(t, colliders)
        counts = np.zeros(200, int)
        for k in np.flatnonzero(got.time <= t):
            counts[got.particle[k]] += state.generation[got.particle[k]] == got.generation[k]
        np.testing.assert_array_equal(counts, np.where(state.generation >= 0, state.bounce, 0))


@pytest.mark.parametrize("response", ["remove", "bounce"])
@pytest.mark.parametrize("pull", [[0, 0, -9.81], [0.3, -0.2, -9.81], [0, 0, 0], [0, 0, 1]])
def test_paths_without_end_meet_what_long_ones_meet(pull: list[float], response: Any) -> None:
    # Without an end no box culled anything; now a path ends where it leaves all that is finite. What is not is met later.
    rng = np.random.default_rng(4)
    x = np.concatenate([rng.uniform([0, 0, 2], [9, 9, 60], (150, 3)), rng.uniform(-30, 30, (50, 3))])
    v = rng.normal(size=(200, 3)) * rng.choice([0.0, 1.0, 5.0], (200, 3)) - [0, 0, 3]
    small = [p.Quadric.ellipsoid([i + 0.5, j + 0.5, 1], [0.5, 0.4, 0.2]) for i in range(9) for j in range(9)]
    for endless in (
        [],
        [p.Plane([0, 0, -200], [0.1, 0, 1])],
        [p.Plane([0, 0, -40], [0, 0, 1]), p.Plane([40, 0, 0], [-1, 0, 0])],
    ):
        scene = p.ColliderSet(small + endless)
        found = [
            p.ParticleSystem(x, v, pull, lifetime=life, response=response, bounces=2).impacts(scene, 0.0, 90.0)
            for life in (np.inf, 1e4)
        ]
        assert len(found[0]) >= 3
        for name in ("particle", "collider", "bounce"):
            np.testing.assert_array_equal(getattr(found[0], name), getattr(found[1], name))
        np.testing.assert_allclose(found[0].time, found[1].time, rtol=1e-7)
