"""Hash, generations and states without colliders."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud import particles as p
from thud.particles.flight.philox import philox
from thud.results import ParticleState


@pytest.mark.parametrize(
    ("counter", "key", "want"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, (0xFFFFFFFF,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_known_answers(counter, key, want) -> None:
    """The authors' known answers (Random123, kat_vectors)."""
    assert philox(*(np.uint64(x) for x in counter + key)) == want


def test_closed_form_of_both_orders() -> None:
    rng = np.random.default_rng(0)
    x, v, a = rng.normal(size=(3, 50, 3))
    for t in (0.0, 0.7, 12.0):
        first, second = p.ParticleSystem(x, v).states(t), p.ParticleSystem(x, v, a).states(t)
        np.testing.assert_allclose(first.position, x + v * t, rtol=1e-14, atol=1e-14)
        np.testing.assert_allclose(second.position, x + v * t + 0.5 * a * t * t, rtol=1e-14, atol=1e-13)
        np.testing.assert_allclose(second.velocity, v + a * t, rtol=1e-14, atol=1e-14)
        assert (second.state == ParticleState.FLYING).all()


def test_generations_follow_each_other_and_start_anew() -> None:
    system = p.ParticleSystem(
        np.zeros((100, 3)), [0, 0, -1.0], lifetime=2.0, birth=1.0, seed=5, position_spread=3.0, velocity_spread=0.5
    )
    before, first, again = system.states(0.5), system.states(1.0), system.states(1.0)
    assert (before.state == ParticleState.UNBORN).all()
    assert (before.generation == -1).all()
    np.testing.assert_array_equal(before.position, first.position)
    np.testing.assert_array_equal(first.position, again.position)
    second = system.states(3.0)
    assert (first.generation == 0).all()
    assert (second.generation == 1).all()
    assert (second.age == 0.0).all()
    assert np.abs(second.position - first.position).max() > 1.0
    assert np.abs(second.position).max() <= 3.0
    assert np.abs(second.velocity - [0, 0, -1]).max() <= 0.5
    other = p.ParticleSystem(np.zeros((100, 3)), [0, 0, -1.0], lifetime=2.0, birth=1.0, seed=6, position_spread=3.0)
    assert np.abs(other.states(1.0).position - first.position).max() > 1.0


def test_spreads_fill_their_boxes_evenly() -> None:
    system = p.ParticleSystem(np.zeros((20000, 3)), [0, 0, 0.0], position_spread=[1, 2, 3], velocity_spread=[0, 1, 2], seed=1)
    state = system.states(0.0)
    for values, half in ((state.position, (1, 2, 3)), (state.velocity, (0, 1, 2))):
        for axis in range(3):
            scaled = values[:, axis] / half[axis] if half[axis] else values[:, axis]
            if not half[axis]:
                assert (scaled == 0.0).all()
                continue
            counts = np.histogram(scaled, bins=20, range=(-1, 1))[0]
            assert counts.sum() == 20000
            assert np.abs(counts - 1000).max() < 160  # five standard deviations
    both = np.concatenate([state.position / [1, 2, 3], state.velocity[:, 1:] / [1, 2]], axis=1)
    assert np.abs(np.corrcoef(both.T) - np.eye(5)).max() < 0.04


def test_a_limited_number_of_generations() -> None:
    system = p.ParticleSystem([0, 0, 1.0], [0, 0, -1.0], lifetime=2.0, generations=3)
    floor = [p.Plane([0, 0, 0], [0, 0, 1])]
    assert system.impacts(floor, 0, 100).time.tolist() == [1.0, 3.0, 5.0]
    after = system.states(50.0, floor)
    assert after.state[0] == ParticleState.REMOVED
    assert after.generation[0] == 2


def test_generations_of_awkward_lifetimes_are_counted_once() -> None:
    """0.1 is not a float: k * 0.1 and floor(t / 0.1) disagree now and then."""
    system = p.ParticleSystem([0, 0, 1.0], [0, 0, -20.0], lifetime=0.1)
    floor = [p.Plane([0, 0, 0], [0, 0, 1])]
    got = system.impacts(floor, 0.0, 1000.0)
    assert got.generation.tolist() == list(range(10000))
    for k in range(1, 3000, 7):
        assert system.states(k * 0.1).generation[0] == k


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"position": [[0, 0, np.nan]]}, "position: row 0"),
        ({"velocity": np.zeros((2, 2))}, "velocity: expected shape"),
        ({"lifetime": 0.0}, "lifetime: row 0 is 0.0"),
        ({"lifetime": [1.0, -2.0]}, "lifetime: row 1"),
        ({"birth": np.inf}, "birth: row 0"),
        ({"bounces": -1, "response": "bounce"}, "bounces"),
        ({"response": "stick"}, "response"),
        ({"seed": -1}, "seed"),
        ({"position_spread": -1.0}, "position_spread"),
        ({"acceleration": np.zeros((3, 3)), "position": np.zeros((2, 3))}, "equal numbers of rows"),
        ({"generations": 0}, "generations"),
    ],
)
def test_named_errors(change, message: str) -> None:
    arguments = {"position": [0, 0, 1.0], "velocity": [0, 0, -1.0], **change}
    with pytest.raises(thud.errors.InvalidInputError, match=message):
        p.ParticleSystem(**arguments)


def test_times_must_be_in_order() -> None:
    system = p.ParticleSystem([0, 0, 1.0], [0, 0, -1.0])
    with pytest.raises(thud.errors.InvalidInputError, match="t1"):
        system.impacts([], 1.0, 0.0)
    with pytest.raises(thud.errors.InvalidInputError, match="colliders: row 1"):
        system.impacts([p.Plane([0, 0, 0], [0, 0, 1]), "floor"], 0.0, 1.0)
    assert len(system.impacts([], 0.0, 1.0)) == 0
    assert len(system.impacts([p.Plane([0, 0, 0], [0, 0, 1])], 1.0, 1.0)) == 0
