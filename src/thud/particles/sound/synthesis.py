"""The sound of impacts, in one array and in blocks.

Every call hears the same thing: each impact strikes the body of its collider at its exact time, where it lands, by its speed
along the normal (`strikes.py`). Samples are pascals, 1 m from what is struck, or at the ears of a `Listener`.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.particles.sound.contact import Impactor
from thud.particles.sound.inputs import as_gain, as_impacts, as_materials, materials_of, warn_if_silent
from thud.particles.sound.listener import Listener
from thud.particles.sound.stretch import Stretch
from thud.particles.sound.strikes import Strikes
from thud.particles.sound.tolerances import SOUND_SAMPLES


class SoundingImpacts(Protocol):
    """What is needed of impacts; `ParticleImpacts` has it, and `velocity`, `normal`, `point` and `part` too."""

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


def render_sound(
    impacts: SoundingImpacts | tuple[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike],
    materials: Sequence[Any],
    t0: float,
    t1: float,
    *,
    rate: int = 48000,
    gain: float = 1.0,
    strength: Strength | npt.ArrayLike | None = None,
    place: Strength | npt.ArrayLike | None = None,
    impactor: Impactor | None = None,
    listener: Listener | None = None,
    bodies: npt.ArrayLike | None = None,
) -> Floats:
    """The sound of given impacts, as one array.

    Impacts before t0 ring on into the sound; those at or after t1 are not heard.

    Parameters
    ----------
    impacts : an object with `time` (N,) seconds, `collider` (N,) indices and `speed` (N,) m/s, or a tuple of these three; in
        any order. With `velocity` and `normal` (N, 3) the speed along the normal counts; else `speed` is taken as that. With
        `radius` (m) and `mass` (kg), (N,), each impactor has its own.
    materials : what index k sounds like: a `Material`, None (silent), or a collider with such a `material`
    t0, t1 : seconds
    rate : samples a second; modes from half of it on are left out
    gain : factor on all samples
    strength : factor on each impact: (N,), or a function of `impacts` that gives it (a texture read at the impacts, say)
    place : where on its surface each impact lands, (N, 2) from 0 to 1, or a function of `impacts` that gives it; default the
        coordinates of impact maps where `materials` are colliders and impacts have `point` and `part`, else the same spot for
        all
    impactor : what strikes; default a hailstone of 1 cm
    listener : two ears, for which impacts need `point` (N, 3); None: one, 1 m from whatever is struck
    bodies : (C,) numbers of bodies; colliders with one number and one material ring together. Default: each is its own

    Returns
    -------
    (S,) pascals, or (S, 2), left and right, with a listener; nothing is clipped.
    """
    stretch = Stretch.of(t0, t1, rate)
    factor = as_gain(gain)
    sounding = as_materials(materials)
    strikes = Strikes(
        materials, sounding, stretch, strength=strength, place=place, bodies=bodies, impactor=impactor, listener=listener
    )
    _check_room(stretch.count * strikes.resonators.channels, "t1", "take `sound_blocks`, or `write_sound`")
    warn_if_silent(sounding)
    strikes.hear(as_impacts(impacts))
    # A second at a time: what contacts need is not kept for all of them at once.
    starts = range(0, stretch.count, stretch.rate)
    blocks = [strikes.resonators.ring(min(stretch.rate, stretch.count - start)) for start in starts]
    return _channels(np.concatenate([np.zeros((0, strikes.resonators.channels)), *blocks]), listener) * factor


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
    place: Strength | None = None,
    impactor: Impactor | None = None,
    listener: Listener | None = None,
    bodies: npt.ArrayLike | None = None,
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
    strength : a function of impacts that gives a factor on each, (N,)
    warm : seconds before t0 from which on impacts are heard to ring; default so many that each earlier one has fallen by
        120 dB; 0 begins in silence
    place : a function of impacts that gives where they land
    impactor, listener, bodies : see `render_sound`

    Returns
    -------
    An iterator of (B,) pascals, (B, 2) with a listener, the last one shorter; nothing is clipped.
    """
    stretch = Stretch.of(t0, t1, rate)
    factor = as_gain(gain)
    length = as_positive(block_seconds, "block_seconds")
    for name, value in (("strength", strength), ("place", place)):
        if value is not None and not callable(value):
            raise InvalidInputError(f"{name}: expected a function of impacts, got a {type(value).__name__}")
    if not callable(getattr(system, "impacts", None)):
        raise InvalidInputError(f"system: expected a ParticleSystem, or what has its `impacts`, got a {type(system).__name__}")
    sounding = materials_of(colliders)
    single = getattr(colliders, "colliders", colliders)
    strikes = Strikes(
        colliders if isinstance(single, (list, tuple)) else [colliders], sounding, stretch, strength=strength, place=place,
        bodies=bodies, impactor=impactor, listener=listener,
    )  # fmt: skip
    warn_if_silent(sounding)
    # What is not heard at all is not asked for.
    before = strikes.warm if warm is None else min(as_positive(warm, "warm", zero=True), stretch.t0 - strikes.earliest)
    block = max(1, round(min(length * stretch.rate, max(stretch.count, 1))))
    _check_room(block * strikes.resonators.channels, "block_seconds", "take shorter blocks")
    return _blocks(system, colliders, strikes, block, float(before), factor)


def _check_room(samples: int, name: str, instead: str) -> None:
    """Named error for more samples at once than memory has, before any are made."""
    if samples > SOUND_SAMPLES:
        raise InvalidInputError(f"{name}: {samples:.3g} samples in one array; expected at most {SOUND_SAMPLES}: {instead}")


def _blocks(system: SoundingSystem, colliders: Any, strikes: Strikes, block: int, warm: float, gain: float) -> Iterator[Floats]:
    stretch, resonators = strikes.stretch, strikes.resonators
    if stretch.count == 0:
        return
    # What rings at t0 goes into the state, about a second of impacts at a time, whatever the blocks: sums have one order.
    pieces = max(1, math.ceil(warm))
    ends = [stretch.t0 - warm * (pieces - k) / pieces for k in range(pieces)] + [stretch.t0] if warm > 0.0 else []
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            strikes.hear(system.impacts(colliders, begin, end))
            resonators.ring(0)
    for start in range(0, stretch.count, block):
        stop = min(start + block, stretch.count)
        # An impact within the last sample's interval, or still on its way to an ear, is heard in a later block.
        strikes.hear(system.impacts(colliders, stretch.time(start), stretch.time(stop)))
        yield _channels(resonators.ring(stop - start), strikes.listener) * gain


def _channels(samples: Floats, listener: Listener | None) -> Floats:
    return samples[:, 0] if listener is None else samples
