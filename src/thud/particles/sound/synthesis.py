"""The sound of impacts: in one array, in blocks, and in a file.

Every call hears the same thing: each impact strikes the material of its collider (`materials.py`, Eq. 1) at its exact time,
with the strength speed * `strength`. Sample n stands at t0 + n / rate; those whose time, in float64, is before t1 are given.
The sound is mono, as heard beside the thing; what distance or direction do to it can be put into `strength`.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.atomic import replaced_path
from thud.errors import InvalidInputError, MissingExtraError
from thud.gates import as_positive, finite_array
from thud.particles.sound.materials import Material
from thud.particles.sound.tolerances import SOUND_HEADROOM, SOUND_WARM_DECIBELS

if TYPE_CHECKING:
    from thud.particles.sound.modal import Resonators


class SoundingImpacts(Protocol):
    """What is needed of impacts; `ParticleImpacts` has it."""

    @property
    def time(self) -> Any:
        """(N,) seconds."""

    @property
    def collider(self) -> Any:
        """(N,) index of the collider that was hit."""

    @property
    def speed(self) -> Any:
        """(N,) m/s, at least 0."""


class SoundingSystem(Protocol):
    """What is needed of a particle system; `ParticleSystem` has it."""

    def impacts(self, colliders: Any, t0: float, t1: float) -> SoundingImpacts:
        """Every impact in [t0, t1)."""


Strength = Callable[[Any], npt.ArrayLike]

#: Seconds; about where float64 no longer distinguishes samples.
_LATEST = 1e10


class _Arrays(NamedTuple):
    """Impacts given as arrays."""

    time: Floats
    collider: Ints
    speed: Floats


@dataclass(frozen=True)
class WrittenSound:
    """What `write_sound` wrote."""

    path: Path
    rate: int
    """Samples a second."""
    samples: int
    gain: float
    """Factor from the model's amplitude to the file's: the one given, or the one that "auto" found."""
    peak: float
    """Largest magnitude in the file before rounding to its format; full scale is 1."""


@dataclass(frozen=True)
class _Stretch:
    """The samples of [t0, t1), checked."""

    t0: float
    t1: float
    rate: int
    count: int

    @classmethod
    def of(cls, t0: float, t1: float, rate: int) -> _Stretch:
        ends = []
        for value, name in ((t0, "t0"), (t1, "t1")):
            array = finite_array(value, name)
            if array.ndim != 0 or abs(array) > _LATEST:
                raise InvalidInputError(f"{name}: expected one number of seconds, at most {_LATEST:.0e}, got {value!r}")
            ends.append(float(array))
        if ends[1] < ends[0]:
            raise InvalidInputError(f"t1: expected at least t0 = {ends[0]}, got {ends[1]}")
        if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or not 1 <= rate <= 10_000_000:
            raise InvalidInputError(f"rate: expected a whole number of samples a second from 1 to 10,000,000, got {rate!r}")
        rate = int(rate)
        count = math.ceil((Fraction(ends[1]) - Fraction(ends[0])) * rate)
        # In float64, sample 4,800 of 48,000 Hz is heard at 0.1; without rounding, a little before that number.
        while count and _sample_time(ends[0], count - 1, rate) >= ends[1]:
            count -= 1
        return cls(ends[0], ends[1], rate, count)

    def time(self, sample: int) -> float:
        """When a sample is heard; t1 for the one after the last."""
        return self.t1 if sample >= self.count else _sample_time(self.t0, sample, self.rate)


def _sample_time(t0: float, sample: int, rate: int) -> float:
    """t0 + sample / rate, rounded once."""
    return float(Fraction(t0) + Fraction(sample, rate))


class _Listener:
    """Which collider rings which bank of resonators, and impacts on their way there."""

    def __init__(self, materials: list[Material | None], stretch: _Stretch, strength: Any) -> None:
        from thud.particles.sound.modal import Resonators

        banks: dict[Material, int] = {}
        self.bank = np.array([-1 if one is None else banks.setdefault(one, len(banks)) for one in materials], dtype=np.int64)
        self.materials = list(banks)
        self.stretch = stretch
        self.strength = strength
        self.resonators: Resonators = Resonators(self.materials, stretch.rate)
        # exp(-750) is 0 in float64: earlier impacts are not heard at all.
        slowest = min((float(np.min(material.dampings)) for material in self.materials), default=1.0)
        self.earliest = stretch.t0 - min(750.0 / slowest, _LATEST)

    def hear(self, impacts: Any) -> None:
        """Take impacts, not before those of earlier calls, to their resonators."""
        from thud.particles.sound.modal import sample_places

        time, collider, speed = _checked(impacts, len(self.bank))
        strength = speed * _factors(self.strength, impacts, len(time))
        bank = self.bank[collider]
        heard = np.flatnonzero((bank >= 0) & (time < self.stretch.t1) & (time >= self.earliest))
        # One order, whatever the order in which they came: the sum's last bits depend on it.
        heard = heard[np.lexsort((strength[heard], bank[heard], time[heard]))]
        sample, delay = sample_places(time[heard], self.stretch.t0, self.stretch.rate)
        self.resonators.strike(bank[heard], sample, delay, strength[heard])


def render_sound(
    impacts: SoundingImpacts | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    materials: Sequence[Any],
    t0: float,
    t1: float,
    *,
    rate: int = 48000,
    gain: float = 1.0,
    strength: Strength | npt.ArrayLike | None = None,
) -> Floats:
    """The sound of given impacts, as one array.

    Impacts before t0 ring on into the sound; those at or after t1 are not heard.

    Parameters
    ----------
    impacts : an object with `time` (N,) seconds, `collider` (N,) indices and `speed` (N,) m/s, or a tuple of these three; in
        any order
    materials : what index k sounds like: a `Material`, None (silent), or a collider with such a `material`
    t0, t1 : seconds
    rate : samples a second; modes from half of it on are left out
    gain : factor on all samples
    strength : factor on each impact's speed: (N,), or a function of `impacts` that gives it (a texture read at the impacts,
        say)

    Returns
    -------
    (S,) amplitudes; full scale is 1, and nothing is clipped.
    """
    stretch = _Stretch.of(t0, t1, rate)
    factor = _as_gain(gain)
    listener = _Listener(_as_materials(materials), stretch, strength)
    listener.hear(_as_impacts(impacts))
    return listener.resonators.ring(stretch.count) * factor


def sound_blocks(
    system: SoundingSystem,
    colliders: Any,
    t0: float,
    t1: float,
    *,
    rate: int = 48000,
    block_seconds: float = 1.0,
    gain: float = 1.0,
    strength: Strength | None = None,
    warm: float | None = None,
) -> Iterator[Floats]:
    """The sound of a particle system, block by block; only one block's impacts are in memory at a time.

    The samples do not depend on `block_seconds`, to the last bit.

    Parameters
    ----------
    system : has `impacts(colliders, a, b)`, every impact in [a, b)
    colliders : as the system takes them, a list or a `ColliderSet`; each one's `material` is a `Material`, or None (silent)
    t0, t1 : seconds
    rate : samples a second; modes from half of it on are left out
    block_seconds : length of a block
    gain : factor on all samples
    strength : a function of impacts that gives a factor on each one's speed, (N,)
    warm : seconds before t0 from which on impacts are heard to ring; default so many that each earlier one has fallen by
        120 dB; 0 begins in silence

    Returns
    -------
    An iterator of (B,) amplitudes, the last one shorter; full scale is 1, and nothing is clipped.
    """
    stretch = _Stretch.of(t0, t1, rate)
    factor = _as_gain(gain)
    length = as_positive(block_seconds, "block_seconds")
    if strength is not None and not callable(strength):
        raise InvalidInputError(f"strength: expected a function of impacts, got a {type(strength).__name__}")
    listener = _Listener(_materials_of(colliders), stretch, strength)
    if warm is None:
        warm = max((material.ring_time(SOUND_WARM_DECIBELS) for material in listener.materials), default=0.0)
    else:
        warm = as_positive(warm, "warm", zero=True)
    block = max(1, min(round(length * stretch.rate), max(stretch.count, 1)))
    return _blocks(system, colliders, listener, block, float(warm), factor)


def _blocks(
    system: SoundingSystem, colliders: Any, listener: _Listener, block: int, warm: float, gain: float
) -> Iterator[Floats]:
    stretch, resonators = listener.stretch, listener.resonators
    if stretch.count == 0:
        return
    # What rings at t0 goes into the state, a block's length of impacts at a time, or a second's.
    pieces = max(1, math.ceil(warm / max(block / stretch.rate, 1.0)))
    ends = [stretch.t0 - warm * (pieces - k) / pieces for k in range(pieces)] + [stretch.t0] if warm > 0.0 else []
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            listener.hear(system.impacts(colliders, begin, end))
            resonators.ring(0)
    for start in range(0, stretch.count, block):
        stop = min(start + block, stretch.count)
        # An impact within the last sample's interval is first heard in the next block; the resonators keep it until then.
        listener.hear(system.impacts(colliders, stretch.time(start), stretch.time(stop)))
        yield resonators.ring(stop - start) * gain


def write_sound(
    path: str | os.PathLike[str],
    system: SoundingSystem,
    colliders: Any,
    t0: float,
    t1: float,
    *,
    rate: int = 48000,
    gain: float | str = "auto",
    block_seconds: float = 1.0,
    strength: Strength | None = None,
    warm: float | None = None,
    subtype: str | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> WrittenSound:
    """Write the sound of a particle system to a WAV or FLAC file, in blocks.

    The file is there whole or not at all: it is written beside `path` under another name and renamed at the end. Nothing is
    clipped: with gain="auto" the sound is rendered twice, first to find its peak, then to write it with a peak of 1 dB below
    full scale; with a number, a sample beyond full scale is an error (but for subtype="FLOAT", which can hold it). Needs the
    extra `sound`.

    Parameters
    ----------
    path : ends in .wav or .flac
    system, colliders, t0, t1, rate, block_seconds, strength, warm : see `sound_blocks`
    gain : factor on all samples, or "auto"
    subtype : "PCM_24" (default), or, in a .wav, "FLOAT" (32 bits)
    progress : called with (done, total) samples after each block; with gain="auto" both rendered count

    Returns
    -------
    WrittenSound(path, rate, samples, gain, peak)
    """
    try:
        import soundfile
    except ImportError:
        raise MissingExtraError.for_package("soundfile", "sound") from None
    stretch = _Stretch.of(t0, t1, rate)
    if stretch.count == 0:
        raise InvalidInputError(f"t1: expected more than t0 = {stretch.t0}, got {stretch.t1}; a file holds at least one sample")
    kind, subtype = _as_format(path, subtype, stretch)
    factor = None if isinstance(gain, str) and gain == "auto" else _as_gain(gain)

    def blocks(factor: float) -> Iterator[Floats]:
        return sound_blocks(
            system, colliders, t0, t1, rate=rate, block_seconds=block_seconds, gain=factor, strength=strength, warm=warm
        )

    done, total = 0, stretch.count * (2 if factor is None else 1)
    rendered = blocks(1.0 if factor is None else factor)  # also checks the arguments while there is no file yet

    def advance(block: Floats) -> None:
        nonlocal done
        done += len(block)
        if progress is not None:
            progress(done, total)

    # The file's place is taken before the first pass: a folder that cannot be written to is known at once.
    with replaced_path(path) as temporary:
        if factor is None:
            loudest = 0.0
            for block in rendered:
                loudest = max(loudest, _peak(block))
                advance(block)
            factor = 1.0 if loudest == 0.0 else float(np.minimum(SOUND_HEADROOM / loudest, np.finfo(np.float64).max))
            rendered = blocks(factor)
        peak, at = 0.0, 0
        try:
            with soundfile.SoundFile(temporary, "w", stretch.rate, 1, subtype, format=kind) as file:
                for block in rendered:
                    loudest = _peak(block)
                    if loudest > 1.0 and subtype != "FLOAT":
                        when = stretch.time(at + int(np.argmax(np.abs(block))))
                        raise InvalidInputError(
                            f"gain: {factor:.6g} takes the sound to {loudest:.6g} of full scale at {when:.6f} s; expected at "
                            f'most 1: give a gain below {factor / loudest:.3g}, or "auto", or write a .wav with subtype="FLOAT"'
                        )
                    peak = max(peak, loudest)
                    file.write(block)
                    at += len(block)
                    advance(block)
            # A full disk is not always reported when a file is closed.
            written = soundfile.info(temporary).frames
        except soundfile.LibsndfileError as error:
            raise OSError(f"{os.fspath(path)}: it could not be written ({error}); is the disk full?") from error
        if written != stretch.count:
            raise OSError(f"{os.fspath(path)}: {written} of {stretch.count} samples could be written; is the disk full?")
    return WrittenSound(Path(path), stretch.rate, stretch.count, factor, peak)


def _as_format(path: str | os.PathLike[str], subtype: str | None, stretch: _Stretch) -> tuple[str, str]:
    """Format and subtype, as libsndfile names them."""
    kind = Path(path).suffix.lower()
    allowed = {".wav": ("PCM_24", "FLOAT"), ".flac": ("PCM_24",)}
    if kind not in allowed:
        raise InvalidInputError(f"path: expected a name that ends in .wav or .flac, got {os.fspath(path)!r}")
    subtype = allowed[kind][0] if subtype is None else subtype
    if subtype not in allowed[kind]:
        raise InvalidInputError(f"subtype: expected one of {', '.join(allowed[kind])} for {kind}, got {subtype!r}")
    if kind == ".wav" and stretch.count * (3 if subtype == "PCM_24" else 4) > 2**32 - 4096:
        raise InvalidInputError(f"path: a .wav holds 4 GiB, which {stretch.count} samples exceed; write a .flac")
    # What a FLAC frame's header can say.
    if kind == ".flac" and stretch.rate > 65_535 and (stretch.rate % 10 or stretch.rate > 655_350):
        expected = "up to 65,535, or up to 655,350 in tens"
        raise InvalidInputError(f"rate: {stretch.rate} samples a second do not go into a .flac; expected {expected}")
    return kind[1:].upper(), subtype


def _peak(block: Floats) -> float:
    """Largest magnitude."""
    peak = float(np.abs(block).max())
    if not np.isfinite(peak):
        raise InvalidInputError("gain, strength: the sound is not finite; expected gains and speeds that float64 can multiply")
    return peak


def _as_gain(gain: Any) -> float:
    array = finite_array(gain, "gain")
    if array.ndim != 0:
        raise InvalidInputError(f"gain: expected one number, got shape {array.shape}")
    return float(array)


def _as_materials(values: Any) -> list[Material | None]:
    """Materials, None, or colliders that have such."""
    try:
        rows = [getattr(value, "material", value) for value in values]
    except TypeError:
        raise InvalidInputError(f"materials: expected a sequence, got a {type(values).__name__}") from None
    for row, material in enumerate(rows):
        if material is not None and not isinstance(material, Material):
            expected = "a Material, None, or a collider with such a `material`"
            raise InvalidInputError(f"materials: row {row} is a {type(material).__name__}; expected {expected}")
    return rows


def _materials_of(colliders: Any) -> list[Material | None]:
    """Materials of colliders: a set of them, a list, or one. What has no `material`, as plain shapes, is silent."""
    colliders = getattr(colliders, "colliders", colliders)
    if not isinstance(colliders, (list, tuple)):
        colliders = [colliders]
    return _as_materials([getattr(collider, "material", None) for collider in colliders])


def _as_impacts(impacts: Any) -> Any:
    """Impacts, or three arrays as such."""
    if isinstance(impacts, tuple) and not hasattr(impacts, "time"):
        if len(impacts) != 3:
            raise InvalidInputError(f"impacts: expected (time, collider, speed), got a tuple of {len(impacts)}")
        time, collider, speed = impacts
        return _Arrays(finite_array(time, "impacts.time"), _whole(collider), finite_array(speed, "impacts.speed"))
    return impacts


def _whole(collider: Any) -> Ints:
    """Indices of colliders as int64."""
    try:
        array = np.asarray(collider)
    except ValueError as error:
        raise InvalidInputError(f"impacts.collider: expected whole numbers ({error})") from None
    if array.size and not np.issubdtype(array.dtype, np.integer):
        raise InvalidInputError(f"impacts.collider: expected whole numbers, got {array.dtype}")
    return array.astype(np.int64)


def _checked(impacts: Any, colliders: int) -> tuple[Floats, Ints, Floats]:
    """Times, colliders and speeds of impacts, of one length and in range."""
    for name in ("time", "collider", "speed"):
        if not hasattr(impacts, name):
            raise InvalidInputError(f"impacts: a {type(impacts).__name__} has no `{name}`; expected time, collider and speed")
    time, speed = finite_array(impacts.time, "impacts.time"), finite_array(impacts.speed, "impacts.speed")
    collider = _whole(impacts.collider)
    shapes = [array.shape for array in (time, collider, speed)]
    if time.ndim != 1 or len(set(shapes)) > 1:
        raise InvalidInputError(f"impacts: expected time, collider and speed of one shape (N,), got {shapes}")
    wrong = (collider < 0) | (collider >= colliders)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"impacts.collider: row {row} is {collider[row]}; expected an index below {colliders}")
    if (speed < 0.0).any():
        row = int(np.argmax(speed < 0.0))
        raise InvalidInputError(f"impacts.speed: row {row} is {speed[row]}; expected at least 0")
    return time, collider, speed


def _factors(strength: Any, impacts: Any, count: int) -> Floats:
    """One factor an impact."""
    if strength is None:
        return np.ones(count)
    factors = finite_array(strength(impacts) if callable(strength) else strength, "strength")
    if factors.shape != (count,):
        raise InvalidInputError(f"strength: expected one factor for each of {count} impacts, got shape {factors.shape}")
    return factors
