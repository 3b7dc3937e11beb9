"""The sound of impacts, against the sum of damped sines, in blocks and in files."""

from __future__ import annotations

import itertools
import subprocess
import sys
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq

from tests.oracles.modal_sum import contact_seconds, modal_sum
from thud.errors import InvalidInputError, MissingExtraError
from thud.particles import (
    ColliderSet,
    Impactor,
    Listener,
    Material,
    ParticleSystem,
    Rectangle,
    SilentSoundWarning,
    impact_coordinates,
    render_sound,
    sound_blocks,
    write_sound,
)
from thud.particles.sound import materials
from thud.particles.sound.contact import click_factors
from thud.particles.sound.stretch import sample_places

Floats = npt.NDArray[np.float64]
ROOT = Path(__file__).parents[2]

#: Few modes: the oracle sums them one by one.
NAMED = [
    materials.sheet_metal(modes=16),
    materials.tin_can(modes=16),
    materials.wood(modes=15),
    materials.glass(modes=14),
    materials.earth(modes=13),
    materials.lid(0.1, 1e-3, modes=9),
]
GARBAGE_CAN = materials.tin_can(0.25, 0.7, 0.6e-3, modes=20)
HAIL = Impactor()
BELL = Material([440.0, 1187.3], [0.3, 0.5], [0.5, -0.25], "bell")


@dataclass
class Recorded:
    """A system whose impacts are known."""

    time: Floats
    collider: npt.NDArray[np.int64]
    speed: Floats

    def __post_init__(self) -> None:
        self.asked: list[tuple[float, float]] = []

    def impacts(self, colliders: Any, t0: float, t1: float) -> Any:
        self.asked.append((t0, t1))
        rows = (self.time >= t0) & (self.time < t1)
        return SimpleNamespace(time=self.time[rows], collider=self.collider[rows], speed=self.speed[rows])


def storm(seed: int, count: int, begin: float, end: float, colliders: int) -> Recorded:
    rng = np.random.default_rng(seed)
    time = np.sort(rng.uniform(begin, end, count))
    return Recorded(time, rng.integers(0, colliders, count), rng.uniform(0.1, 20.0, count))


def arrays(system: Recorded) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
    return system.time, system.collider, system.speed


def as_colliders(values: list[Any]) -> list[Any]:
    return [SimpleNamespace(material=value) for value in values]


def oracle(
    impacts: Any,
    sounding: list[Material | None],
    t0: float,
    samples: Any,
    *,
    rate: int = 48_000,
    place: Any = None,
    factor: Any = 1.0,
    restitution: float = 0.0,
) -> Floats:
    """The definition, with places on the bodies, contacts by Hertz and the click of each."""
    time, collider, speed = (np.asarray(array) for array in impacts)
    bodies = [None if one is None else one.body(row) for row, one in enumerate(sounding)]
    places = np.full((len(time), 2), np.nan) if place is None else np.asarray(place)
    modulus = [1.0 if one is None else one.modulus for one in sounding]
    lengths = [
        contact_seconds(v, modulus[c], HAIL.radius, HAIL.density, HAIL.modulus) for c, v in zip(collider, speed, strict=True)
    ]
    shapes = []
    for which, at in zip(collider, places, strict=True):
        body = bodies[which]
        if body is None or body.shapes is None:
            shapes.append(np.ones(0 if body is None else len(np.asarray(body.gains))))
        else:
            own = body.shapes.own_coordinates(at[None], np.full(2, np.nan), False)
            shapes.append(body.shapes.values(*own)[0])
    click = click_factors(HAIL, np.maximum(lengths, 4.0 / rate), None, None) if len(time) else None
    impulse = HAIL.mass * (1.0 + restitution) * speed * factor
    return modal_sum(time, collider, impulse, lengths, bodies, t0, rate, samples, shapes, click)


def error_decibels(sound: Floats, exact: Floats, peak: float) -> float:
    """Largest error below the peak."""
    return 20.0 * np.log10(max(np.abs(sound - exact).max(), 1e-300) / peak)


@pytest.mark.parametrize("material", [*NAMED, GARBAGE_CAN, BELL], ids=lambda material: material.name)
@pytest.mark.parametrize("time", [0.0123456789, 1.0 / 3.0])
def test_one_impact_is_the_sum_of_its_modes(material: Material, time: float) -> None:
    sound = render_sound(([time], [0], [3.5]), [material], 0.0, 2.0)
    assert sound.shape == (96_000,)
    assert sound.dtype == np.float64
    assert (sound[: int(np.ceil(time * 48_000))] == 0.0).all()
    samples = [*range(590, 700), *range(15_998, 16_100), *range(1200, 96_000, 997), 95_999]
    exact = oracle(([time], [0], [3.5]), [material], 0.0, samples)
    assert error_decibels(sound[samples], exact, np.abs(sound).max()) < -200.0


def test_a_long_sound_stays_right() -> None:
    # A minute of a mode that hardly decays: the recursion's error grows with the samples; late times need more digits than
    # one float64 has.
    hum = Material([9871.3], [0.02], [1.0])
    t0, time = 3600.1, 3600.7
    sound = render_sound(([time], [0], [1.0]), [hum], t0, t0 + 60.0)
    samples = [*range(28_790, 28_900), *range(0, len(sound), 4801), len(sound) - 1]
    exact = oracle(([time], [0], [1.0]), [hum], t0, samples)
    assert error_decibels(sound[samples], exact, np.abs(sound).max()) < -180.0


def test_many_impacts_on_many_materials_add_up() -> None:
    system = storm(0, 150, 0.0, 0.5, 8)
    colliders = [*NAMED, None, NAMED[1]]
    place = np.random.default_rng(1).random((150, 2))
    sound = render_sound(arrays(system), colliders, 0.0, 0.5, place=place)
    samples = range(0, len(sound), 1201)
    exact = oracle(arrays(system), colliders, 0.0, samples, place=place)
    assert error_decibels(sound[samples], exact, np.abs(sound).max()) < -200.0


@pytest.mark.interpreted
def test_an_impact_on_a_sample_is_heard_there() -> None:
    for rate, n in ((48_000, 480), (44_100, 441), (8, 3)):
        time = n / rate
        sample, delay = sample_places(np.array([time]), 0.0, rate)
        exact = Fraction(time) * rate
        assert sample[0] == -(-exact.numerator // exact.denominator)
        assert delay[0] == pytest.approx(float(int(sample[0]) - exact), rel=1e-15, abs=0.0)


def test_a_contact_that_begins_on_a_sample_is_heard_from_the_next_on() -> None:
    # 3/8 is a binary number: the force begins there, at 0.
    slow = Material([1.0], [0.5], [1.0])
    sound = render_sound(([0.375], [0], [1.0]), [slow], 0.0, 1.0, rate=8)
    np.testing.assert_allclose(sound[:4], 0.0, atol=1e-18)
    exact = oracle(([0.375], [0], [1.0]), [slow], 0.0, range(8), rate=8)
    np.testing.assert_allclose(sound, exact, rtol=1e-12, atol=1e-18)


@given(
    st.floats(-1e6, 1e6), st.floats(-1e4, 1e6), st.sampled_from([1, 7, 8000, 44_100, 48_000, 192_000]), st.integers(0, 2**20)
)
def test_places_between_samples_are_exact(t0: float, after: float, rate: int, n: int) -> None:
    # Also right at a sample's own time, as float64 has it, and next to it.
    at_sample = float(Fraction(t0) + Fraction(n, rate))
    times = np.array([t0 + after, at_sample, np.nextafter(at_sample, -np.inf), np.nextafter(at_sample, np.inf), t0])
    sample, delay = sample_places(times, t0, rate)
    for time, got, late in zip(times.tolist(), sample.tolist(), delay.tolist(), strict=True):
        place = (Fraction(time) - Fraction(t0)) * rate
        first = max(0, -(-place.numerator // place.denominator))
        assert abs(float(Fraction(got) - place) - late) <= 1e-15 * max(1.0, late)
        # Within a roundoff of the product's error a sample may count as just passed.
        assert got == first or abs(float(place - got)) < 1e-15


@pytest.mark.parametrize("t0", [0.0, 0.1, 1234.567])
def test_blocks_of_any_size_give_the_same_bytes(t0: float) -> None:
    # At blocks of one sample, the last: an impact is mostly heard in the block after its own.
    system = storm(1, 900, t0 - 1.5, t0 + 0.1, 6)
    # Slow ones touch for long: over several blocks.
    system.speed[::3] *= 1e-6
    colliders = as_colliders(NAMED)
    whole = np.concatenate(list(sound_blocks(system, colliders, t0, t0 + 0.1, block_seconds=10.0)))
    assert np.abs(whole).max() > 0.01
    for seconds in (0.04, 0.0123, 63 / 48_000, 1 / 48_000):
        blocks = list(sound_blocks(system, colliders, t0, t0 + 0.1, block_seconds=seconds))
        assert len(blocks) == int(np.ceil(len(whole) / round(seconds * 48_000)))
        assert np.concatenate(blocks).tobytes() == whole.tobytes()


def test_the_system_is_asked_for_each_moment_once() -> None:
    system = storm(2, 50, 0.0, 1.0, 1)
    list(sound_blocks(system, as_colliders([BELL]), 0.3, 0.9001, block_seconds=0.25, warm=0.1))
    assert system.asked[0][0] == 0.3 - 0.1
    assert system.asked[-1][1] == 0.9001
    assert all(a[1] == b[0] for a, b in itertools.pairwise(system.asked))


def test_the_order_of_impacts_does_not_matter() -> None:
    system = storm(3, 500, 0.0, 0.1, 5)
    system.time[100:200] = system.time[100]  # many at one moment
    order = np.random.default_rng(4).permutation(500)
    shuffled = (system.time[order], system.collider[order], system.speed[order])
    assert render_sound(arrays(system), NAMED, 0, 0.2).tobytes() == render_sound(shuffled, NAMED, 0, 0.2).tobytes()


def test_what_was_struck_before_rings_on_and_what_comes_after_is_not_heard() -> None:
    system = storm(5, 200, -2.0, 1.5, 5)
    sound = render_sound(arrays(system), NAMED, 0.5, 1.0)
    samples = [*range(40), *range(0, len(sound), 1601)]
    exact = oracle(arrays(system), NAMED, 0.5, samples)
    peak = np.abs(sound).max()
    assert error_decibels(sound[samples], exact, peak) < -200.0
    # By blocks, only what has fallen by 120 dB is missed.
    warm = np.concatenate(list(sound_blocks(system, as_colliders(NAMED), 0.5, 1.0)))
    assert error_decibels(warm, sound, peak) < -100.0
    # Without warming up it begins in silence: the same as if nothing had been before.
    cold = np.concatenate(list(sound_blocks(system, as_colliders(NAMED), 0.5, 1.0, warm=0.0)))
    late = system.time >= 0.5
    alone = render_sound(tuple(array[late] for array in arrays(system)), NAMED, 0.5, 1.0)  # type: ignore[arg-type]
    assert cold.tobytes() == alone.tobytes()
    # An impact at t1 belongs to what follows.
    assert not render_sound(([1.0], [0], [1.0]), NAMED, 0.0, 1.0).any()
    # And one so long ago that nothing is left of it, or that its time is no time.
    assert not render_sound(([-1e9, -1e300], [0, 0], [1.0, 1.0]), NAMED, 0.0, 0.1).any()


def test_one_specialisation() -> None:
    from thud._core.decorators import REGISTRY, resolve_signature

    render_sound(([0.0], [0], [1.0]), NAMED, 0.0, 0.01)
    dispatcher, signature = REGISTRY["thud.particles.sound.modal.ring_block"]
    assert dispatcher.signatures == [resolve_signature(signature)]


def test_modes_from_half_the_rate_on_are_left_out() -> None:
    high = Material([1000.0, 4000.0, 5000.0], [10.0, 10.0, 10.0], [1.0, 1.0, 1.0])
    low = Material([1000.0], [10.0], [1.0])
    one = ([0.01], [0], [1.0])
    assert render_sound(one, [high], 0, 0.1, rate=8000).tobytes() == render_sound(one, [low], 0, 0.1, rate=8000).tobytes()
    # The click of the impactor itself is left.
    assert np.count_nonzero(render_sound(one, [high], 0, 0.1, rate=1000)) <= 4


def test_silence_comes_in_finite_time_and_without_denormals() -> None:
    # exp(-d t) passes through the denormal numbers after 745 / d seconds, where arithmetic is slow.
    dull = Material([100.0], [500.0], [1.0])
    sound = render_sound(([0.0], [0], [1.0]), [dull], 0.0, 2.0)
    assert sound[48_000] == 0.0
    tiny = np.abs(sound[sound != 0.0]).min()
    assert tiny > 1e-200
    # And a strike after it is as loud as the first.
    again = render_sound(([0.0, 1.5], [0, 0], [1.0, 1.0]), [dull], 0.0, 2.0)
    np.testing.assert_allclose(again[72_000:72_100], sound[:100], rtol=1e-9, atol=1e-15)


def test_nothing_gives_silence() -> None:
    none: tuple[Any, Any, Any] = ([], [], [])
    assert render_sound(none, NAMED, 0.0, 0.01).tolist() == [0.0] * 480
    assert render_sound(none, [], 0.0, 0.01).shape == (480,)
    with pytest.warns(SilentSoundWarning, match="none of 1 has a material"):
        assert render_sound(([0.0], [0], [1.0]), [None], 0.0, 0.01).tolist() == [0.0] * 480
    assert not render_sound(([0.0], [0], [0.0]), NAMED, 0.0, 0.01).any()
    assert render_sound(([0.0], [0], [1.0]), NAMED, 5.0, 5.0).shape == (0,)
    system = storm(6, 10, 0.0, 1.0, 1)
    assert list(sound_blocks(system, as_colliders([BELL]), 1.0, 1.0)) == []
    with pytest.warns(SilentSoundWarning, match=r"materials.sheet_metal"):
        assert not np.concatenate(list(sound_blocks(system, as_colliders([None]), 0.0, 1.0))).any()


def test_the_number_of_samples_is_exact() -> None:
    # In float64, 0.1 is a little more than 4,800 samples of 48,000 Hz; sample 4,800 is heard at 0.1 all the same, not before.
    assert Fraction(0.1) * 48_000 > 4800
    for seconds in (0.1, 0.125, 0.7, 1 / 3, 12.3):
        assert len(render_sound(([], [], []), [], 0.0, seconds)) == round(seconds * 48_000)
    assert len(render_sound(([], [], []), [], 0.0, 0.10001)) == 4801


def test_gain_and_strength_scale() -> None:
    system = storm(7, 60, 0.0, 0.2, 5)
    plain = render_sound(arrays(system), NAMED, 0.0, 0.2)
    np.testing.assert_array_equal(render_sound(arrays(system), NAMED, 0.0, 0.2, gain=0.5), 0.5 * plain)
    factors = np.linspace(-1.0, 2.0, 60)
    scaled = render_sound(arrays(system), NAMED, 0.0, 0.2, strength=factors)
    expected = oracle(arrays(system), NAMED, 0.0, range(0, 9600, 331), factor=factors)
    assert error_decibels(scaled[::331], expected, np.abs(scaled).max()) < -200.0
    by_function = render_sound(arrays(system), NAMED, 0.0, 0.2, strength=lambda impacts: 3.0 * impacts.speed**0)
    np.testing.assert_allclose(by_function, 3.0 * plain, rtol=0.0, atol=1e-10)
    blocks = sound_blocks(system, as_colliders(NAMED), 0.0, 0.2, strength=lambda impacts: 3.0 * impacts.speed**0, warm=0.0)
    assert np.concatenate(list(blocks)).tobytes() == by_function.tobytes()


def test_equal_materials_are_one() -> None:
    assert materials.glass() == materials.glass()
    assert hash(materials.glass()) == hash(materials.glass())
    assert materials.glass() != materials.wood()
    assert (materials.glass() == 3) is False
    assert materials.glass(modes=5) != materials.glass(modes=6)
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(materials.glass().gains)[0] = 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([], [], []), "frequencies: expected shape .K,. with at least one mode"),
        (([1.0, 2.0], [1.0], [1.0, 1.0]), "2 frequencies, 1 dampings, 2 gains"),
        (([1.0, -2.0], [1.0, 1.0], [1.0, 1.0]), "frequencies: row 1 is -2.0; expected a positive number of Hz"),
        (([1.0], [0.0], [1.0]), "dampings: row 0 is 0.0"),
        (([1.0], [1.0], [np.nan]), "gains: row 0 is not finite"),
        (([[1.0]], [[1.0]], [[1.0]]), "frequencies: expected shape"),
        (("low", [1.0], [1.0]), "frequencies: expected numbers"),
        (([1.0], [1.0], [1.0], 5), "name: expected a string"),
        (([1.0], [1.0], [1.0], "x", "plate"), "shapes: expected the ModeShapes of a body, or None, got a str"),
    ],
)
def test_a_material_that_cannot_be(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Material(*arguments)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"impacts": ([0.0, np.nan], [0, 0], [1.0, 1.0])}, "impacts.time: row 1 is not finite"),
        ({"impacts": ([0.0], [0], [np.inf])}, "impacts.speed: row 0"),
        ({"impacts": ([0.0], [0], [-1.0])}, "impacts.speed: row 0 is -1.0"),
        ({"impacts": ([0.0], [1], [1.0])}, "impacts.collider: row 0 is 1; expected an index below 1"),
        ({"impacts": ([0.0], [-1], [1.0])}, "impacts.collider: row 0 is -1"),
        ({"impacts": ([0.0], [0.5], [1.0])}, "impacts.collider: expected whole numbers"),
        ({"impacts": ([0.0], [[0], [0, 0]], [1.0])}, "impacts.collider: expected whole numbers"),
        ({"impacts": ([0.0], [0, 0], [1.0])}, "expected time, collider and speed of one shape"),
        ({"impacts": ([0.0], [0])}, "impacts: expected .time, collider, speed."),
        ({"impacts": 3}, "impacts: a int has no `time`"),
        ({"materials": ["tin"]}, "materials: row 0 is a str"),
        ({"materials": 5}, "materials: expected a sequence"),
        ({"t0": np.inf}, "t0: "),
        ({"t0": 1e300}, "t0: expected one number of seconds"),
        ({"t1": -1.0}, "t1: expected at least t0"),
        # Seconds were added to a list until there was no memory left.
        ({"t1": 1e9}, "t1: 4.8e.13 samples in one array; expected at most 1073741824: take `sound_blocks`"),
        ({"rate": 0}, "rate: "),
        ({"rate": 48000.0}, "rate: expected a whole number"),
        ({"gain": np.nan}, "gain: "),
        ({"gain": "loud"}, "gain: expected numbers"),
        ({"strength": [1.0, 2.0]}, "strength: expected one factor for each of 1 impacts"),
        ({"strength": [np.nan]}, "strength: row 0"),
        ({"place": [[0.5, 1.5]]}, "place: expected .N, 2. numbers from 0 to 1"),
        ({"place": [0.5]}, "place: expected .N, 2. numbers from 0 to 1 for 1 impacts"),
        ({"bodies": [0, 1]}, "bodies: expected a whole number"),
        ({"bodies": [-1]}, "bodies: expected a whole number"),
        ({"impactor": "stone"}, "impactor: expected an Impactor"),
        ({"listener": "me"}, "listener: expected a Listener"),
        ({"listener": Listener([0, 0, 0])}, "listener: a ImpactArrays of impacts has no `point`"),
        ({"impacts": SimpleNamespace(time=[0.0], collider=[0], speed=[1.0], radius=[-1.0])}, "impacts.radius: expected"),
    ],
)
def test_hostile_input_is_named(change: dict[str, Any], message: str) -> None:
    arguments: dict[str, Any] = {"impacts": ([0.0], [0], [1.0]), "materials": [BELL], "t0": 0.0, "t1": 0.01}
    with pytest.raises(InvalidInputError, match=message):
        render_sound(**(arguments | change))


def test_blocks_refuse_before_the_first_one() -> None:
    system, colliders = storm(8, 5, 0.0, 1.0, 1), as_colliders([BELL])
    for change, message in (
        ({"block_seconds": 0.0}, "block_seconds: "),
        ({"t1": 1e9, "block_seconds": 1e9}, "block_seconds: 4.8e.13 samples in one array"),
        ({"warm": -1.0}, "warm: "),
        ({"strength": [1.0]}, "strength: expected a function"),
        ({"place": [[0.5, 0.5]]}, "place: expected a function"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            sound_blocks(**({"system": system, "colliders": colliders, "t0": 0.0, "t1": 1.0} | change))  # type: ignore[arg-type]
    for nothing in (None, arrays(system)):
        with pytest.raises(InvalidInputError, match="system: expected a ParticleSystem"):
            sound_blocks(nothing, colliders, 0.0, 1.0)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="materials: row 0 is a str"):
        sound_blocks(system, as_colliders(["tin"]), 0.0, 1.0)


def test_what_is_not_heard_at_all_is_not_asked_for() -> None:
    # A second at a time was asked for, however many there were.
    system, colliders = storm(8, 5, 0.0, 1.0, 1), as_colliders([BELL])
    (whole,) = sound_blocks(system, colliders, 0.5, 1.0, warm=1e10)
    (part,) = sound_blocks(system, colliders, 0.5, 1.0, warm=2.0)
    assert error_decibels(whole, part, float(np.abs(part).max())) < -200.0


def test_ground_without_a_tone() -> None:
    for depth in (1e-9, 1e9):
        with pytest.raises(InvalidInputError, match="depth, shear_speed: of such a layer none of the"):
            materials.earth(depth)


@pytest.mark.parametrize(
    ("name", "subtype", "step"), [("a.wav", None, 2.0**-23), ("a.WAV", "FLOAT", 2.0**-24), ("a.flac", None, 2.0**-23)]
)
def test_a_file_holds_the_sound(tmp_path: Path, name: str, subtype: str | None, step: float) -> None:
    system, colliders = storm(9, 400, -0.5, 1.0, 5), as_colliders(NAMED)
    path = tmp_path / name
    done: list[tuple[int, int]] = []
    written = write_sound(
        path, system, colliders, 0.0, 1.0, rate=44_100, subtype=subtype, block_seconds=0.3, progress=lambda *a: done.append(a)
    )
    samples, rate = soundfile.read(path)
    sound = np.concatenate(list(sound_blocks(system, colliders, 0.0, 1.0, rate=44_100)))
    assert rate == written.rate == 44_100
    assert len(samples) == written.samples == 44_100
    # The peak lies one decibel below full scale, and nothing else is changed.
    assert written.peak == pytest.approx(10.0**-0.05, rel=1e-12)
    assert written.gain == pytest.approx(10.0**-0.05 / np.abs(sound).max(), rel=1e-12)
    assert np.abs(samples - written.gain * sound).max() <= step
    assert done[-1] == (88_200, 88_200)
    assert [pair[0] for pair in done] == sorted(pair[0] for pair in done)
    assert soundfile.info(path).subtype == (subtype or "PCM_24")
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_the_same_file_each_time(tmp_path: Path) -> None:
    system, colliders = storm(10, 100, 0.0, 0.5, 5), as_colliders(NAMED)
    for suffix in ("wav", "flac"):
        for k, seconds in enumerate((1.0, 0.11)):
            write_sound(tmp_path / f"{k}.{suffix}", system, colliders, 0.0, 0.5, block_seconds=seconds)
        assert (tmp_path / f"0.{suffix}").read_bytes() == (tmp_path / f"1.{suffix}").read_bytes()


def test_a_given_gain_is_kept_and_never_clips(tmp_path: Path) -> None:
    system, colliders = storm(11, 100, 0.0, 0.5, 5), as_colliders(NAMED)
    peak = max(np.abs(block).max() for block in sound_blocks(system, colliders, 0.0, 0.5))
    path = tmp_path / "a.wav"
    written = write_sound(path, system, colliders, 0.0, 0.5, gain=0.9 / peak)
    assert written.gain == 0.9 / peak
    assert np.abs(soundfile.read(path)[0]).max() == pytest.approx(0.9, abs=1e-6)
    before = path.read_bytes()
    with pytest.raises(InvalidInputError, match=r"of full scale.*give a gain below 0[.]"):
        write_sound(path, system, colliders, 0.0, 0.5, gain=-1.1 / peak)
    assert path.read_bytes() == before
    written = write_sound(path, system, colliders, 0.0, 0.5, gain=3.0 / peak, subtype="FLOAT")
    assert np.abs(soundfile.read(path)[0]).max() == pytest.approx(3.0, abs=1e-6)
    assert written.peak == pytest.approx(3.0)


@pytest.mark.parametrize("name", ["silent.wav", "silent.flac"])
def test_silence_can_be_written_and_nothing_cannot(tmp_path: Path, name: str) -> None:
    system = storm(12, 10, 0.0, 0.5, 1)
    with pytest.warns(SilentSoundWarning):
        written = write_sound(tmp_path / name, system, as_colliders([None]), 0.0, 0.5)
    assert written.gain == 1.0
    assert written.peak == 0.0
    assert not soundfile.read(tmp_path / name)[0].any()
    with pytest.raises(InvalidInputError, match="t1: expected more than t0"):
        write_sound(tmp_path / name, system, as_colliders([BELL]), 0.5, 0.5)


def test_hail_on_a_roof_is_heard(tmp_path: Path) -> None:
    rng = np.random.default_rng(15)
    position = np.column_stack([rng.uniform(-1.0, 1.0, (200, 2)), rng.uniform(2.0, 4.0, 200)])
    velocity = np.tile([0.0, 0.0, -10.0], (200, 1))
    system = ParticleSystem(position, velocity, [0.0, 0.0, -9.81], lifetime=0.8, birth=rng.uniform(0.0, 0.8, 200), seed=3)
    roof = Rectangle([-1.0, -1.0, 0.0], [2.0, 0.0, 0.2], [0.0, 2.0, 0.0], material=materials.sheet_metal(modes=20))
    bare = Rectangle([-2.0, -2.0, -1.0], [4.0, 0.0, 0.0], [0.0, 4.0, 0.0])
    colliders = [roof, bare]
    impacts = system.impacts(colliders, 0.0, 2.0)
    assert len(impacts.time) > 200
    whole = render_sound(impacts, colliders, 0.0, 2.0)
    # By the speed along the normal, where each lands, in a pan of the roof: 7 by 3 of them lie on its 2.01 m by 2 m.
    along = np.abs((impacts.velocity * impacts.normal).sum(axis=1))
    place = impact_coordinates(impacts, colliders) * [7.0, 3.0] % 1.0
    exact = oracle(
        (impacts.time, impacts.collider, along),
        [roof.material, None],
        0.0,
        range(0, 96_000, 9_601),
        place=place,
        restitution=0.5,
    )
    # Places are taken in steps of a millionth of the surface.
    assert error_decibels(whole[::9_601], exact, np.abs(whole).max()) < -80.0
    # In blocks, from a list or a set, warmed up before the first drop fell.
    for given_colliders in (colliders, ColliderSet(colliders)):
        blocks = list(sound_blocks(system, given_colliders, 0.0, 2.0, block_seconds=0.3))
        assert np.concatenate(blocks).tobytes() == whole.tobytes()
    written = write_sound(tmp_path / "hail.flac", system, colliders, 1.0, 2.0)
    assert np.abs(soundfile.read(tmp_path / "hail.flac")[0]).max() == pytest.approx(written.peak, abs=2.0**-23)


def test_drops_with_drag_are_heard_when_and_as_hard_as_they_land() -> None:
    rng, rate, wind = np.random.default_rng(16), 3.0, np.array([2.0, -1.0, -0.5])
    position = np.column_stack([rng.uniform(-1.0, 1.0, (40, 2)), rng.uniform(1.0, 3.0, 40)])
    velocity = np.array([1.0, 0.0, -6.0])
    floor = Rectangle([-5.0, -5.0, 0.0], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0], material=BELL)
    system = ParticleSystem(
        position, velocity, [0.0, 0.0, -9.81], lifetime=2.0, generations=1, mass=HAIL.mass, drag=rate * HAIL.mass, wind=wind
    )
    # v' = g - rate (v - wind), along z: when each is at the floor, and how fast.
    last = wind[2] - 9.81 / rate

    def fall(t: float, z: float) -> float:
        return float(z + last * t - (velocity[2] - last) * np.expm1(-rate * t) / rate)

    time = np.array([brentq(fall, 0.0, 2.0, args=(z,), xtol=1e-14) for z in position[:, 2]])
    speed = np.abs(last + (velocity[2] - last) * np.exp(-rate * time))
    place = (
        position[:, :2] + wind[:2] * time[:, None] - (velocity - wind)[:2] * np.expm1(-rate * time)[:, None] / rate + 5.0
    ) / 10.0
    impacts = system.impacts([floor], 0.0, 2.0)
    order = np.argsort(time)
    np.testing.assert_allclose(impacts.time, time[order], rtol=0, atol=1e-12)
    whole = render_sound(impacts, [floor], 0.0, 2.0)
    none = np.zeros(len(time), np.int64)
    samples = range(0, 96_000, 4_799)
    exact = oracle((time[order], none, speed[order]), [BELL], 0.0, samples, place=place[order], restitution=0.5)
    assert error_decibels(whole[::4_799], exact, np.abs(whole).max()) < -80.0
    # Without drag it is another sound: they come earlier and harder.
    free = ParticleSystem(position, velocity, [0.0, 0.0, -9.81], lifetime=2.0, generations=1, mass=HAIL.mass)
    bare = render_sound(free.impacts([floor], 0.0, 2.0), [floor], 0.0, 2.0)
    assert error_decibels(bare[::4_799], exact, np.abs(whole).max()) > -20.0
    # In blocks it is the same, byte for byte.
    blocks = list(sound_blocks(system, [floor], 0.0, 2.0, block_seconds=0.27))
    assert np.concatenate(blocks).tobytes() == whole.tobytes()


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("blocks", [1, 3, 5, 8])
@pytest.mark.parametrize("suffix", ["wav", "flac"])
def test_an_interrupted_writer_leaves_no_file(tmp_path: Path, blocks: int, suffix: str) -> None:
    system, colliders = storm(13, 100, 0.0, 0.4, 5), as_colliders(NAMED)
    path = tmp_path / f"a.{suffix}"
    calls = itertools.count(1)

    def stop(done: int, total: int) -> None:
        if next(calls) == blocks:
            raise Interrupted

    with pytest.raises(Interrupted):
        write_sound(path, system, colliders, 0.0, 0.4, block_seconds=0.1, progress=stop)
    assert list(tmp_path.iterdir()) == []
    path.write_bytes(b"what was there")
    calls = itertools.count(1)
    with pytest.raises(Interrupted):
        write_sound(path, system, colliders, 0.0, 0.4, block_seconds=0.1, progress=stop)
    assert path.read_bytes() == b"what was there"


def test_a_killed_writer_leaves_no_file_of_that_name(tmp_path: Path) -> None:
    code = (
        "import os, signal, sys\n"
        "from tests.particles.test_sound import NAMED, as_colliders, storm\n"
        "from thud.particles import write_sound\n"
        "def stop(done, total):\n"
        "    if done > 0.6 * total: os.kill(os.getpid(), signal.SIGKILL)\n"
        "write_sound(sys.argv[1], storm(0, 100, 0, 1, 5), as_colliders(NAMED), 0.0, 1.0, block_seconds=0.1, progress=stop)\n"
    )
    path = tmp_path / "a.flac"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == -9, done.stderr
    assert not path.exists()


def test_files_that_cannot_be(tmp_path: Path) -> None:
    system, colliders = storm(14, 10, 0.0, 0.1, 1), as_colliders([BELL])

    def write(name: str, **change: Any) -> None:
        arguments: dict[str, Any] = {"t0": 0.0, "t1": 0.1}
        write_sound(tmp_path / name, system, colliders, **(arguments | change))

    for name, change, message in (
        ("a.mp3", {}, "path: expected a name that ends in .wav or .flac"),
        ("a", {}, "path: expected a name"),
        ("a.flac", {"subtype": "FLOAT"}, "subtype: expected one of PCM_24 for .flac"),
        ("a.wav", {"t1": 40_000.0}, "path: a .wav holds 4 GiB"),
        ("a.flac", {"rate": 1_000_000}, "rate: 1000000 samples a second do not go into a .flac"),
        ("a.flac", {"rate": 65_537}, "rate: 65537 samples a second"),
        ("a.wav", {"gain": "full"}, "gain: expected numbers"),
        ("a.wav", {"gain": None}, "gain: "),
    ):
        with pytest.raises(InvalidInputError, match=message):
            write(name, **change)
    with pytest.raises(FileNotFoundError):
        write("missing/a.wav")
    assert list(tmp_path.iterdir()) == []
    # Amplitudes beyond float64.
    loud = as_colliders([Material([100.0], [1.0], [1e300])])
    with pytest.raises(InvalidInputError, match="the sound is not finite"):
        write_sound(
            tmp_path / "a.wav", storm(14, 10, 0.0, 0.1, 1), loud, 0.0, 0.1, strength=lambda impacts: impacts.speed * 1e10
        )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["a.wav", "a.flac"])
def test_a_full_disk_is_an_error_and_leaves_no_file(tmp_path: Path, name: str) -> None:
    # A limit of the size of files stands for the disk: writing beyond it fails in the same way.
    pytest.importorskip("resource")
    code = (
        "import resource, signal, sys\n"
        "from tests.particles.test_sound import NAMED, as_colliders, storm\n"
        "from thud.particles import render_sound, write_sound\n"
        "render_sound(([0.0], [0], [1.0]), NAMED, 0.0, 0.1)\n"  # kernels are compiled and cached before
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))\n"
        "try:\n"
        "    write_sound(sys.argv[1], storm(0, 100, 0, 1, 5), as_colliders(NAMED), 0.0, 1.0)\n"
        "except OSError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path / name)], capture_output=True, text=True, cwd=ROOT)
    assert "is the disk full?" in done.stdout, done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_names_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(MissingExtraError, match=r'pip install "thud\[sound\]"'):
        write_sound(tmp_path / "a.wav", storm(0, 1, 0.0, 1.0, 1), as_colliders([BELL]), 0.0, 1.0)
