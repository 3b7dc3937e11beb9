"""Sound files: whole or not at all, never clipped."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud._core.atomic import replaced_path
from thud.errors import InvalidInputError, MissingExtraError
from thud.gates import as_path
from thud.particles.sound.contact import Impactor
from thud.particles.sound.inputs import as_gain
from thud.particles.sound.listener import Listener
from thud.particles.sound.stretch import Stretch
from thud.particles.sound.synthesis import SoundingSystem, Strength, sound_blocks
from thud.particles.sound.tolerances import SOUND_HEADROOM


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
    place: Strength | None = None,
    impactor: Impactor | None = None,
    listener: Listener | None = None,
    bodies: npt.ArrayLike | None = None,
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
    system, colliders, t0, t1, rate, block_seconds, strength, warm, place, impactor, listener, bodies : see `sound_blocks`;
    with a
        listener the file is stereo
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
    stretch = Stretch.of(t0, t1, rate)
    if stretch.count == 0:
        raise InvalidInputError(f"t1: expected more than t0 = {stretch.t0}, got {stretch.t1}; a file holds at least one sample")
    channels = 1 if listener is None else 2
    kind, subtype = _as_format(path, subtype, stretch, channels)
    factor = None if isinstance(gain, str) and gain == "auto" else as_gain(gain)

    def blocks(factor: float) -> Iterator[Floats]:
        return sound_blocks(
            system, colliders, t0, t1, rate=rate, block_seconds=block_seconds, gain=factor, strength=strength, warm=warm,
            place=place, impactor=impactor, listener=listener, bodies=bodies,
        )  # fmt: skip

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
            with soundfile.SoundFile(temporary, "w", stretch.rate, channels, subtype, format=kind) as file:
                for block in rendered:
                    loudest = _peak(block)
                    if loudest > 1.0 and subtype != "FLOAT":
                        when = stretch.time(at + int(np.argmax(np.abs(block))) // channels)
                        raise InvalidInputError(
                            f"gain: {factor:.6g} takes the sound to {loudest:.6g} of full scale at {when:.6f} s; expected at "
                            f"most 1: give a gain below {abs(factor / loudest):.3g}, "
                            'or "auto", or write a .wav with subtype="FLOAT"'
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


def _as_format(path: str | os.PathLike[str], subtype: str | None, stretch: Stretch, channels: int) -> tuple[str, str]:
    """Format and subtype, as libsndfile names them."""
    kind = as_path(path, "path").suffix.lower()
    allowed = {".wav": ("PCM_24", "FLOAT"), ".flac": ("PCM_24",)}
    if kind not in allowed:
        raise InvalidInputError(f"path: expected a name that ends in .wav or .flac, got {os.fspath(path)!r}")
    subtype = allowed[kind][0] if subtype is None else subtype
    if subtype not in allowed[kind]:
        raise InvalidInputError(f"subtype: expected one of {', '.join(allowed[kind])} for {kind}, got {subtype!r}")
    if kind == ".wav" and stretch.count * channels * (3 if subtype == "PCM_24" else 4) > 2**32 - 4096:
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
