"""What impacts sound like: no direct current, every octave, by where and how hard they land, each body by itself, in stereo."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.oracles import body_modes
from thud.errors import InvalidInputError
from thud.particles import (
    ColliderSet,
    Disc,
    Impactor,
    Listener,
    Material,
    Mesh,
    ParticleSystem,
    Quadric,
    Rectangle,
    Solid,
    materials,
    render_sound,
    scenes,
    sound_blocks,
    write_sound,
)
from thud.particles.sound.bodies import STEEL, bar_roots, bar_shapes, clamped_roots, disc_shapes
from thud.particles.sound.hearing import a_weighting, choose_modes, third_octaves
from thud.particles.sound.mode_shapes import Factor, ModeShapes
from thud.particles.sound.radiation import SPEED_OF_SOUND, plate_efficiency
from thud.particles.sound.resonators import contact_spectrum
from thud.shapes import Box, TriangleMesh

Floats = npt.NDArray[np.float64]

NAMED = {
    "sheet metal": materials.sheet_metal,
    "glass": materials.glass,
    "tin can": materials.tin_can,
    "garbage can": lambda **more: materials.tin_can(0.25, 0.7, 0.6e-3, **more),
    "lid": materials.lid,
    "wood": materials.wood,
    "earth": materials.earth,
}


def storm(material: Any, seconds: float = 1.0, count: int = 60) -> Floats:
    """Strikes all over one body."""
    rng = np.random.default_rng(7)
    time = rng.uniform(0.0, 0.9 * seconds, count)
    impacts = (time, np.zeros(count, np.int64), rng.uniform(5.0, 15.0, count))
    return render_sound(impacts, [material], 0.0, seconds, place=rng.random((count, 2)))


def octave_energies(sound: Floats, rate: int = 48_000) -> Floats:
    """Energy from 20 to 40 Hz, 40 to 80, ..., 10,240 to 20,480."""
    power = np.abs(np.fft.rfft(sound)) ** 2
    octave = np.floor(np.log2(np.maximum(np.fft.rfftfreq(len(sound), 1.0 / rate), 1e-9) / 20.0)).astype(int)
    return np.array([power[octave == k].sum() for k in range(10)])


def level(sound: Floats) -> float:
    return float(10.0 * np.log10(np.mean(sound**2)))


@pytest.mark.parametrize("name", NAMED)
def test_no_direct_current(name: str) -> None:
    # Gains that were all positive and strikes that were all rising sines left 57 % of the power at 0 Hz.
    sound = storm(NAMED[name]())
    assert 20.0 * np.log10(abs(sound.mean()) / np.sqrt(np.mean(sound**2))) < -60.0
    strike = render_sound(([0.1], [0], [10.0]), [NAMED[name]()], 0.0, 3.0)
    assert 20.0 * np.log10(abs(strike.mean()) / np.sqrt(np.mean(strike**2))) < -60.0


@pytest.mark.parametrize("scene", ["house", "can"])
def test_scenes_have_no_direct_current_and_are_bright(scene: str) -> None:
    where = scenes.SCENES[scene]()
    ready = ColliderSet(where.colliders)
    listener = Listener(where.eye, facing=np.subtract(where.target, where.eye))
    sound = np.concatenate(list(sound_blocks(where.hail(120), ready, 0.0, 0.5, listener=listener, warm=0.3)))
    assert sound.shape == (24_000, 2)
    rms = np.sqrt(np.mean(sound**2, axis=0))
    assert (20.0 * np.log10(np.abs(sound.mean(axis=0)) / rms) < -40.0).all()  # half a second, cut while it rings
    energy = octave_energies(sound.sum(axis=1))
    # Above 2,560 Hz lay 0.06 % of it.
    assert energy[7:].sum() > 0.05 * energy.sum()


@pytest.mark.parametrize("name", NAMED)
def test_energy_in_every_octave_that_has_modes(name: str) -> None:
    material = NAMED[name]()
    sound = storm(material)
    energy = octave_energies(sound)
    frequencies = np.asarray(material.frequencies)
    for k in range(10):
        if ((frequencies >= 20.0 * 2**k * 1.05) & (frequencies < 20.0 * 2 ** (k + 1) / 1.05)).any():
            assert 10.0 * np.log10(energy[k] / energy.sum()) > -60.0, (name, 20 * 2**k)
    # The lowest modes of a garbage can ended at 395 Hz, those of sheet metal at 1,434 Hz.
    assert frequencies.max() > 17_000.0
    # Ground is dull: the contact lasts.
    assert (energy[7:].sum() > 0.02 * energy.sum()) == (name != "earth")


def test_hundreds_of_modes() -> None:
    for make in (materials.sheet_metal, materials.tin_can, materials.lid, NAMED["garbage can"]):
        assert len(np.asarray(make().frequencies)) == 256
    assert len(np.asarray(materials.glass().frequencies)) > 150
    assert len(np.asarray(materials.tin_can(modes=400).frequencies)) == 400
    # Named ones are within what rings: none too short or too long.
    for make in NAMED.values():
        assert 0.01 < make().ring_time() < 5.0


def test_modes_that_are_kept_have_the_energy_of_all() -> None:
    rng = np.random.default_rng(3)
    frequencies, energy = rng.uniform(20.0, 20_000.0, 5000), rng.lognormal(0.0, 2.0, 5000)
    rows, factor = choose_modes(frequencies, energy, 100)
    assert len(rows) == 100
    assert (np.diff(frequencies[rows]) >= 0.0).all()
    bands = third_octaves(frequencies)
    for band in np.unique(bands):
        here = bands[rows] == band
        assert here.any()
        assert (energy[rows] * factor**2)[here].sum() == pytest.approx(energy[bands == band].sum())
        # The loudest of each.
        assert energy[rows][here].max() * 1.3 > (energy * a_weighting(frequencies) ** 2)[bands == band].max() / (
            a_weighting(frequencies[rows][here]).max() ** 2
        )
    everything, ones = choose_modes(frequencies, energy, 9000)
    assert len(everything) == 5000
    np.testing.assert_allclose(ones, 1.0)
    # IEC 61672 at 100 Hz, 1 kHz and 10 kHz.
    np.testing.assert_allclose(20.0 * np.log10(a_weighting(np.array([100.0, 1000.0, 10_000.0]))), [-19.1, 0.0, -2.5], atol=0.06)


def roof_impact(velocity: list[float], point: tuple[float, float] = (0.37, 0.81), **more: Any) -> SimpleNamespace:
    """One impact on a horizontal roof."""
    v = np.array([velocity])
    return SimpleNamespace(
        time=np.array([0.01]), collider=np.array([0]), part=np.array([0]), speed=np.linalg.norm(v, axis=1),
        velocity=v, normal=np.array([[0.0, 0.0, 1.0]]), point=np.array([[*point, 0.0]]), **more,
    )  # fmt: skip


ROOF = Rectangle([0, 0, 0], [3, 0, 0], [0, 2, 0], material=materials.sheet_metal())


def test_a_graze_is_quieter_than_a_hit() -> None:
    hit, graze = (render_sound(roof_impact(v), [ROOF], 0.0, 0.5) for v in ([0, 0, -10.0], [9.95, 0, -1.0]))
    # A tenth of the speed along the normal: 20 dB, and what the longer contact takes.
    assert -26.0 < level(graze) - level(hit) < -19.9
    same = render_sound(roof_impact([0, 0, -1.0]), [ROOF], 0.0, 0.5)
    assert same.tobytes() == graze.tobytes()


def test_a_strike_sounds_by_where_it_lands() -> None:
    at = [
        render_sound(roof_impact([0, 0, -10.0], point), [ROOF], 0.0, 0.5)
        for point in ((0.15, 0.30), (0.05, 0.11), (0.45, 0.30))
    ]
    assert np.abs(at[0] - at[1]).max() > 0.1 * np.abs(at[0]).max()
    # Pans are alike: the middle of the first one and of the second. Places are taken in steps of a millionth.
    assert np.abs(at[0] - at[2]).max() < 1e-3 * np.abs(at[0]).max()

    # Modes of 2 by 1 and 1 by 2 half waves rest in the middle, and have opposite signs on either side of it.
    shapes = ModeShapes("plate", Factor(np.array([5, 3])), Factor(np.array([3, 5])), (0.3, 0.6))
    pan = Rectangle(
        [0, 0, 0], [0.3, 0, 0], [0, 0.6, 0], material=Material([300.0, 470.0], [9.0, 9.0], [0.1, 0.1], shapes=shapes)
    )
    middle, here, there = (
        render_sound(roof_impact([0, 0, -10.0], point), [pan], 0.0, 0.5) for point in ((0.15, 0.3), (0.1, 0.2), (0.2, 0.4))
    )
    ring = slice(500, None)  # after the click
    assert np.abs(middle[ring]).max() < 1e-4 * np.abs(here[ring]).max()
    np.testing.assert_allclose(there[ring], -here[ring], atol=1e-4 * np.abs(here[ring]).max())


def test_mode_shapes_have_signs() -> None:
    for make in (materials.sheet_metal, materials.tin_can, materials.lid, materials.wood):
        shapes = make(modes=60).shapes
        assert shapes is not None
        rng = np.random.default_rng(1)
        values = shapes.values(*shapes.own_coordinates(rng.random((500, 2)), np.full(2, np.nan), False))
        assert values.shape[0] == 500
        assert np.abs(values).max() < 1.2
        assert (values < -0.02).any(axis=0).mean() > 0.95
        assert (values > 0.02).any(axis=0).mean() > 0.95
        # And so a strike here may begin with a push, and there with a pull.
    assert np.abs(np.mean(values)) < 0.1


def test_harder_hits_are_brighter() -> None:
    for material, slow, fast in (
        (materials.wood(), 1.0, 20.0),
        (materials.sheet_metal(), 0.2, 20.0),
        (materials.earth(), 1.0, 20.0),
    ):
        centre = []
        for speed in (slow, fast):
            sound = render_sound(([0.0], [0], [speed]), [material], 0.0, 1.0)
            power, frequency = np.abs(np.fft.rfft(sound)) ** 2, np.fft.rfftfreq(len(sound), 1.0 / 48_000)
            centre.append((power * frequency).sum() / power.sum())
        assert centre[1] > 1.05 * centre[0], material.name
    # A larger stone is duller, a drop duller than a stone, and the softer the body the longer they touch.
    assert Impactor.hail(0.02).contact_time(10.0, 220e9) > 3.0 * Impactor.hail(0.005).contact_time(10.0, 220e9)
    assert Impactor.rain(0.001).contact_time(6.0, 220e9) == pytest.approx(2e-3 / 6.0)
    stone = Impactor()
    assert stone.contact_time(10.0, materials.earth().modulus) > 5.0 * stone.contact_time(10.0, STEEL.modulus)


def test_the_contact_is_that_of_hertz() -> None:
    for ball, body, speed in ((Impactor(), STEEL.modulus, 13.0), (Impactor.steel(), 1e9, 0.5)):
        both = 1.0 / (1.0 / ball.modulus + 1.0 / body)
        slow = body_modes.hertz_contact_time(ball.mass, ball.radius, both, speed)
        assert ball.contact_time(speed, body) == pytest.approx(slow, rel=2e-3)
    # Half an impulse's spectrum is gone at 1 / T.
    assert contact_spectrum(np.array([1e-9, 0.5]))[1] == pytest.approx(0.8488, abs=1e-4)


def test_the_impactor_clicks() -> None:
    # On something that does not ring in the end only its own jolt is left: a push and a pull that cancel.
    mute = Material([100.0], [50.0], [1e-12])
    sounds = [render_sound(([0.01 + x / 48_000], [0], [10.0]), [mute], 0.0, 0.1) for x in (0.0, 0.2, 0.5)]
    for sound in sounds:
        heard = np.flatnonzero(np.abs(sound) > 1e-6 * np.abs(sound).max())
        assert 1 <= len(heard) <= 4
        assert abs(sound.sum()) < 1e-6 * np.abs(sound).max()
        # As loud wherever it falls between two samples.
        assert (sound**2).sum() == pytest.approx((sounds[0] ** 2).sum(), rel=1e-6)
    # A little of it: on sheet metal far less than the body.
    assert 1e-6 < (sound**2).sum() / (render_sound(([0.01], [0], [10.0]), [materials.sheet_metal()], 0.0, 0.5) ** 2).sum() < 0.3


def test_each_body_has_its_own_modes() -> None:
    roofs = [Rectangle([4 * k, 0, 0], [3, 0, 0], [0, 2, 0], material=ROOF.material) for k in range(3)]
    impact = roof_impact([0, 0, -10.0])
    sounds = []
    for k in range(3):
        one = SimpleNamespace(**vars(impact) | {"collider": np.array([k]), "point": impact.point + [4.0 * k, 0, 0]})
        sounds.append(render_sound(one, roofs, 0.0, 0.5))
        # As one body of three colliders they ring alike.
        together = render_sound(one, roofs, 0.0, 0.5, bodies=[5, 5, 5])
        assert (
            np.abs(together - render_sound(impact, [ROOF] * 3, 0.0, 0.5, bodies=[5, 6, 7])).max()
            < 1e-3 * np.abs(together).max()
        )
    for a, b in ((0, 1), (0, 2), (1, 2)):
        spectra = [np.abs(np.fft.rfft(sounds[k] * np.hanning(len(sounds[k])))) for k in (a, b)]
        peaks = [np.argmax(s[50:200]) for s in spectra]
        assert np.corrcoef(sounds[a], sounds[b])[0, 1] < 0.5
        assert peaks[0] != peaks[1] or np.abs(spectra[0] - spectra[1]).max() > 0.1 * spectra[0].max()
    body = [np.asarray(ROOF.material.body(k).frequencies) for k in range(4)]  # type: ignore[union-attr]
    nominal = np.asarray(ROOF.material.frequencies)  # type: ignore[union-attr]
    assert np.abs(np.array(body) / nominal - 1.0).max() < 0.04
    assert all(np.abs(body[0] / other - 1.0).max() > 0.005 for other in body[1:])


def test_impactors_of_their_own_size() -> None:
    plain = render_sound(roof_impact([0, 0, -10.0]), [ROOF], 0.0, 0.5)
    same = render_sound(roof_impact([0, 0, -10.0], radius=np.array([0.005])), [ROOF], 0.0, 0.5)
    np.testing.assert_allclose(same, plain, atol=1e-12 * np.abs(plain).max())
    big = render_sound(roof_impact([0, 0, -10.0], radius=np.array([0.01])), [ROOF], 0.0, 0.5)
    heavy = render_sound(roof_impact([0, 0, -10.0], mass=np.array([8.0 * Impactor().mass])), [ROOF], 0.0, 0.5)
    assert level(big) - level(plain) > 12.0
    assert level(heavy) - level(plain) > 9.0


EAR_TIME = 2.0 * 0.0875 / SPEED_OF_SOUND


def test_a_strike_is_heard_where_it_lands(tmp_path: Any) -> None:
    soundfile = pytest.importorskip("soundfile")
    roof = Rectangle([-10, 4, 0], [20, 0, 0], [0, 4, 0], material=materials.sheet_metal(modes=40))
    # One stone a half second, from left to right.
    x = np.linspace(-9.0, 9.0, 7)
    start = np.column_stack([x, np.full(7, 6.0), 5.0 + 5.0 * np.arange(7)])
    hail = ParticleSystem(start, [0.0, 0.0, -10.0])
    listener = Listener([0.0, 0.0, 1.7])
    written = write_sound(tmp_path / "stereo.wav", hail, [roof], 0.0, 4.0, listener=listener)
    samples, rate = soundfile.read(tmp_path / "stereo.wav")
    assert samples.shape == (written.samples, 2)
    differences = []
    for k in range(7):
        begin = int((0.5 + 0.5 * k) * rate)
        left, right = (np.sqrt(np.mean(samples[begin : begin + rate // 8, ear] ** 2)) for ear in (0, 1))
        differences.append(20.0 * np.log10(right / left))
        far = np.sqrt(x[k] ** 2 + 36.0 + 1.7**2)
        # It arrives after r / c, and at the nearer ear first.
        first = [int(np.argmax(np.abs(samples[begin:, ear]) > 1e-3)) / rate for ear in (0, 1)]
        if k == 0:
            assert min(first) == pytest.approx(far / SPEED_OF_SOUND, abs=6e-4)
            assert first[1] - first[0] == pytest.approx(EAR_TIME * 9.0 / far, abs=6e-5)
    assert (np.diff(differences) > 0.5).all()
    assert differences[0] < -6.0
    assert differences[6] > 6.0
    assert abs(differences[3]) < 1.0


def test_a_listener_hears_distance_and_blocks_do_not_matter() -> None:
    roof = Rectangle([-10, 4, 0], [20, 0, 0], [0, 4, 0], material=materials.sheet_metal(modes=20))
    rng = np.random.default_rng(5)
    start = np.column_stack([rng.uniform(-9, 9, 60), rng.uniform(4.5, 7.5, 60), rng.uniform(1, 9, 60)])
    hail = ParticleSystem(start, [0.0, 0.0, -10.0])
    near, far = Listener([0, 0, 1.7]), Listener([0, -60, 1.7])
    whole = np.concatenate(list(sound_blocks(hail, [roof], 0.0, 1.2, listener=near)))
    for seconds in (0.3, 0.017, 1 / 4800):
        blocks = np.concatenate(list(sound_blocks(hail, [roof], 0.0, 1.2, listener=near, block_seconds=seconds)))
        assert blocks.tobytes() == whole.tobytes()
    given = render_sound(hail.impacts([roof], 0.0, 1.2), [roof], 0.0, 1.2, listener=near)
    assert given.tobytes() == whole.tobytes()
    quiet = np.concatenate(list(sound_blocks(hail, [roof], 0.0, 1.2, listener=far)))
    assert -24.0 < level(quiet) - level(whole) < -10.0
    mono = np.concatenate(list(sound_blocks(hail, [roof], 0.0, 1.2)))
    assert mono.shape == (57_600,)
    np.testing.assert_allclose(Listener([0, 0, 0], [0, 1, 0]).right, [1, 0, 0])
    for bad in ([0, 0, 1], [0, 0, 0]):
        with pytest.raises(InvalidInputError, match="facing: expected a direction other than that of `up`"):
            Listener([0, 0, 0], bad)


def test_every_kind_of_collider_is_struck_somewhere() -> None:
    tin = materials.tin_can(modes=30)
    box = TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0.1]], [[0, 1, 2], [1, 3, 2]])
    kinds = [
        Rectangle([0, 0, 0], [1, 0, 0], [0, 1, 0], material=tin),
        Disc([0.5, 0.5, 0], [0, 0, 1], 0.8, material=materials.lid(0.8, 2e-3, modes=30)),
        Quadric.ellipsoid([0.5, 0.5, -0.5], [1, 1, 0.7], material=materials.lid(modes=30)),
        Quadric.cone([0.5, 0.5, 0.4], 1.2, 1.0, material=materials.sheet_metal(modes=30)),
        Quadric.cylinder([0.5, 0.5, 0.0], 0.6, 0.3, rotation=[np.sqrt(0.5), np.sqrt(0.5), 0, 0], material=tin),
        Solid(Box([0.5, 0.5, 0.1]), material=materials.wood()),
        Mesh(box, material=tin),
    ]
    for collider in kinds:
        sounds = []
        for x, y in ((0.31, 0.22), (0.44, 0.37)):
            drop = ParticleSystem([x, y, 2.0], [0.0, 0.0, -10.0])
            sounds.append(render_sound(drop.impacts([collider], 0.0, 1.0), [collider], 0.0, 1.0))
        assert all(np.abs(sound).max() > 1e-4 for sound in sounds)
        a, b = (sound[np.argmax(sound != 0.0) :][:4000] for sound in sounds)
        assert np.abs(a - b).max() > 0.01 * np.abs(a).max(), type(collider).__name__


# What physics says.


def test_a_plate_has_the_frequencies_of_its_equation() -> None:
    sides, thickness = (0.3, 0.4), 0.7e-3
    found, shapes = body_modes.plate_frequencies(sides, STEEL.plate_speed(thickness), 12)
    material = materials.sheet_metal(sides, thickness, modes=5000)
    closed = np.sort(
        0.5
        * np.pi
        * STEEL.plate_speed(thickness)
        * np.add.outer((np.arange(1, 9) / 0.3) ** 2, (np.arange(1, 9) / 0.4) ** 2).ravel()
    )
    np.testing.assert_allclose(found, closed[:12], rtol=0.01)
    audible = closed[:12][closed[:12] >= 20.0]
    np.testing.assert_allclose(np.asarray(material.frequencies)[: len(audible)], audible, rtol=1e-12)
    # 0.7 mm of steel, 30 by 40 cm: 1 by 1 half waves at 29.16 Hz by hand.
    assert closed[0] == pytest.approx(29.16, abs=0.01)
    # The second shape has its line of rest across the longer side.
    x = np.arange(1, 61) / 61.0
    own = np.outer(np.sin(np.pi * x), np.sin(2.0 * np.pi * x))
    assert abs(np.corrcoef(shapes[:, :, 1].ravel(), own.ravel())[0, 1]) > 0.9999


def test_a_square_plate_and_scales() -> None:
    plate = np.asarray(materials.sheet_metal((0.15, 0.15), modes=5000).frequencies)
    np.testing.assert_allclose(plate[:6] / plate[0], [1.0, 2.5, 2.5, 4.0, 5.0, 5.0], rtol=1e-12)
    # Twice as thick is an octave higher, as is half the size in all directions.
    thick = np.asarray(materials.sheet_metal((0.15, 0.15), 1.4e-3, modes=5000).frequencies)
    np.testing.assert_allclose(thick[:6], 2.0 * plate[:6])
    small, large = materials.tin_can(0.05, 0.2, 0.2e-3, modes=9000), materials.tin_can(0.1, 0.4, 0.4e-3, modes=9000)
    lowest = np.asarray(large.frequencies)[:50]
    np.testing.assert_allclose(np.asarray(small.frequencies)[:50], 2.0 * lowest, rtol=1e-12)


def test_a_disc_has_the_frequencies_of_its_equation() -> None:
    orders, roots = clamped_roots(40.0)
    # Leissa, Table 2.1: B^2 of the clamped disc.
    for n, expected in (
        (0, [10.2158, 39.771, 89.104]),
        (1, [21.26, 60.82, 120.08]),
        (2, [34.88, 84.58, 153.81]),
        (3, [51.04, 111.01]),
    ):
        np.testing.assert_allclose(np.sort(roots[orders == n])[: len(expected)] ** 2, expected, rtol=3e-4)
        ritz = body_modes.clamped_disc_frequencies(0.3, 1.0, n, 4)
        np.testing.assert_allclose(np.sort(roots[orders == n])[:4] ** 2 / (2.0 * np.pi * 0.09), ritz, rtol=1e-6)
    x = np.linspace(0.0, 1.0, 2001)
    shapes = disc_shapes(orders[:30], roots[:30], x)
    np.testing.assert_allclose(shapes[-1], 0.0, atol=1e-12)
    np.testing.assert_allclose((shapes[-1] - shapes[-2]) / (x[1] - x[0]), 0.0, atol=0.5)
    from scipy.special import jv

    np.testing.assert_allclose(np.trapezoid(shapes**2 * x[:, None], x, axis=0), jv(orders[:30], roots[:30]) ** 2, rtol=1e-3)


def test_a_bar_has_the_frequencies_of_its_equation() -> None:
    roots = bar_roots(12)
    np.testing.assert_allclose(roots[:4], [4.730041, 7.853205, 10.995608, 14.137165], rtol=1e-7)
    found, shapes = body_modes.free_bar_frequencies(1.0, 1.0, 12)
    np.testing.assert_allclose(roots**2 / (2.0 * np.pi), found, rtol=1e-4)
    own = bar_shapes(roots, np.linspace(0.0, 1.0, 81))
    np.testing.assert_allclose(own[0], 1.0, rtol=1e-9)
    for k in range(12):
        assert abs(np.corrcoef(own[:, k], shapes[:, k])[0, 1]) > 0.9999
    assert np.isfinite(bar_shapes(bar_roots(400), np.linspace(0.0, 1.0, 11))).all()
    # A free bar's first overtones (Rayleigh): 1, 2.757, 5.404, 8.933.
    frequencies, shape = np.asarray(materials.wood().frequencies), materials.wood().shapes
    bending = frequencies[shape.second.columns == 0]  # type: ignore[union-attr]
    np.testing.assert_allclose(bending[:4] / bending[0], [1.0, 2.7565, 5.4039, 8.9330], rtol=1e-4)


def test_a_can_has_the_frequencies_of_its_equations() -> None:
    # Donnell's simple formula against his three equations, which move along the wall too.
    radius, length, thickness = 0.25, 0.7, 0.6e-3
    speed = np.sqrt(STEEL.young / STEEL.density)
    for m in (1, 2, 5):
        for n in (4, 8, 12, 20, 40):
            along = (m * np.pi * radius / length) ** 2
            bending = thickness**2 / (12.0 * radius**2 * (1.0 - STEEL.poisson**2)) * (along + n * n) ** 2
            closed = speed / (2.0 * np.pi * radius) * np.sqrt((along / (along + n * n)) ** 2 + bending)
            full = body_modes.shell_frequency(radius, length, thickness, m, n, STEEL.young, STEEL.poisson, STEEL.density)
            assert closed == pytest.approx(full, rel=0.06 if n < 8 else 0.02)
    # Both modes of a pair are there, and beat in a body.
    can = materials.tin_can(radius, length, thickness, modes=20_000)
    frequencies = np.asarray(can.frequencies)
    assert (frequencies[::2] == frequencies[1::2]).all()
    split = np.asarray(can.body(0).frequencies)
    assert np.median(np.abs(split[::2] / split[1::2] - 1.0)) > 5e-4


def test_radiation_is_that_of_wallace() -> None:
    sides = (0.3, 0.4)
    for m, n in ((1, 1), (1, 2), (2, 1), (2, 2), (3, 1), (3, 3)):
        for wave in (0.15, 0.5):
            k = wave / max(sides)
            slow = body_modes.radiation_efficiency(sides, m, n, k)
            fast = plate_efficiency(np.array([k * SPEED_OF_SOUND / (2.0 * np.pi)]), np.array([m]), np.array([n]), sides)[0]
            assert fast == pytest.approx(slow, rel=0.08), (m, n, wave)
    # Waves shorter in the air than in the plate: it radiates all.
    high = plate_efficiency(np.array([20_000.0]), np.array([3]), np.array([3]), sides)[0]
    assert high == pytest.approx(1.0, abs=1e-3)


def test_a_mode_rings_with_the_pressure_of_its_volume() -> None:
    # The lowest mode of a plate, by hand: rho / (2 pi r) times the volume acceleration 4 / pi^2 A q'', q'' = w J / (M / 4).
    sides, thickness = (0.3, 0.4), 0.7e-3
    material = materials.sheet_metal(sides, thickness, modes=5000)
    area = 0.12
    by_hand = 1.204 / (2.0 * np.pi) * 4.0 / np.pi**2 * area / (STEEL.density * area * thickness / 4.0)
    assert np.asarray(material.gains)[0] == pytest.approx(by_hand, rel=0.01)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: materials.sheet_metal((0.3,)), "sides: expected two lengths"),  # type: ignore[arg-type]
        (lambda: materials.sheet_metal((0.3, -1.0)), "sides: "),
        (lambda: materials.sheet_metal((300.0, 600.0)), "millions of modes"),
        (lambda: materials.glass((1e-4, 1e-4)), "has no mode from 20 Hz to 20 kHz"),
        (lambda: materials.tin_can(0.0), "radius: "),
        (lambda: materials.lid(modes=0), "modes: expected a whole number"),
        (lambda: materials.wood(loudness=-1.0), "loudness: "),
        (lambda: Impactor(radius=0.0), "radius: "),
        (lambda: Impactor(modulus=-1.0), "modulus: "),
        (lambda: Material([1.0], [1.0], [1.0], spread=0.7), "spread: expected a part below 0.5"),
        (lambda: Material([1.0], [1.0], [1.0], shapes=materials.glass().shapes), "shapes: expected one a mode, 1"),
    ],
)
def test_bodies_that_cannot_be(make: Any, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        make()
