"""The sound of a storm: 2,000 impacts a second on 4 materials of 16 modes at 48 kHz, beside SciPy's `lfilter` on the same
resonators and real time; its distance from the formula; an hour of it in little memory. One thread."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from benchmarks.harness import Contestant, Report, one_core
from benchmarks.memory import peak_megabytes
from thud.particles import Material, render_sound, sound_blocks
from thud.particles.sound import materials

Floats = npt.NDArray[np.float64]

RATE = 48_000
MATERIALS = [materials.sheet_metal(), materials.tin_can(), materials.wood(), materials.glass()]
PER_SECOND = 2_000

#: (seconds of the storm, rounds, seconds of the long one)
_SIZES = {"ci": (1, 1, 5), "standard": (20, 9, 3_600), "full": (60, 9, 36_000)}


class Storm:
    """Impacts that are made when asked for: those of second k come from the seed k."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end

    def impacts(self, colliders: Any, t0: float, t1: float) -> SimpleNamespace:
        """In [t0, t1), in time order."""
        seconds = [self._second(k) for k in range(max(self.begin, int(np.floor(t0))), min(self.end, int(np.ceil(t1))))]
        empty = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0))
        at, collider, speed = (np.concatenate(parts) for parts in zip(empty, *seconds, strict=True))
        inside = (at >= t0) & (at < t1)
        return SimpleNamespace(time=at[inside], collider=collider[inside], speed=speed[inside])

    @staticmethod
    def _second(k: int) -> tuple[Floats, npt.NDArray[np.int64], Floats]:
        rng = np.random.default_rng(k)
        at = k + np.sort(rng.uniform(0.0, 1.0, PER_SECOND))
        return at, rng.integers(0, len(MATERIALS), PER_SECOND), rng.uniform(5.0, 20.0, PER_SECOND)


def filtered(impacts: SimpleNamespace, sounding: list[Material], count: int) -> Floats:
    """The same resonators by `scipy.signal.lfilter`: a complex one-pole filter a mode, struck with the right phase."""
    out = np.zeros(count)
    place = impacts.time * RATE
    sample = np.ceil(place).astype(np.int64)
    for k, material in enumerate(sounding):
        rows = (impacts.collider == k) & (sample < count)
        late, strength = sample[rows] - place[rows], impacts.speed[rows]
        rates = (-np.asarray(material.dampings) + 2j * np.pi * np.asarray(material.frequencies)) / RATE
        for rate, gain in zip(rates, np.asarray(material.gains), strict=True):
            struck = gain * strength * np.exp(rate * late)
            x = np.bincount(sample[rows], struck.real, count) + 1j * np.bincount(sample[rows], struck.imag, count)
            out += lfilter([1.0], [1.0, -np.exp(rate)], x).imag
    return out


def closed_form(impacts: SimpleNamespace, sounding: list[Material], samples: npt.NDArray[np.int64]) -> Floats:
    """The formula itself, at some samples."""
    out = np.zeros(len(samples))
    for row, n in enumerate(samples):
        tau = n / RATE - impacts.time
        for k, material in enumerate(sounding):
            past = tau[(tau >= 0.0) & (impacts.collider == k)][:, None]
            strength = impacts.speed[(tau >= 0.0) & (impacts.collider == k)][:, None]
            waves = np.exp(-np.asarray(material.dampings) * past) * np.sin(
                2.0 * np.pi * np.asarray(material.frequencies) * past
            )
            out[row] += (strength * np.asarray(material.gains) * waves).sum()
    return out


def _growth(report: Report, most: int, rounds: int) -> None:
    """With the length of the storm."""

    def make(seconds: int) -> list[Contestant]:
        impacts = Storm(0, seconds).impacts([], 0.0, float(seconds))
        return [
            Contestant("scipy.signal.lfilter", lambda: filtered(impacts, MATERIALS, seconds * RATE), 1),
            Contestant("thud, given impacts", lambda: render_sound(impacts, MATERIALS, 0.0, float(seconds)), 1),
        ]

    sizes = [1, 2] if most == 1 else [1, 3, 10, 30, 100]
    report.growth("storm", "sound", "seconds of sound", "scipy.signal.lfilter", sizes, make, max(2, rounds // 4))


def run(size: str) -> None:
    seconds, rounds, long = _SIZES[size]
    report = Report("sound")
    scene = f"{PER_SECOND} impacts a second, 4 materials of 16 modes, {RATE} Hz"
    colliders = [SimpleNamespace(material=material) for material in MATERIALS]
    storm = Storm(0, seconds)
    impacts = storm.impacts(colliders, 0.0, float(seconds))

    def in_blocks() -> None:
        for _ in sound_blocks(storm, colliders, 0.0, float(seconds), warm=0.0):
            pass

    with one_core():
        contestants = [
            Contestant("scipy.signal.lfilter", lambda: filtered(impacts, MATERIALS, seconds * RATE), seconds),
            Contestant("thud, given impacts", lambda: render_sound(impacts, MATERIALS, 0.0, float(seconds)), seconds),
            Contestant("thud, blocks and their storm", in_blocks, seconds),
        ]
        report.race(scene, "a second of sound", "scipy.signal.lfilter", contestants, rounds)
        for row in list(report.rows):
            report.note(scene, "times faster than real time", f"{row.engine}: {1e6 / row.microseconds:.0f}x real time")

        sound = render_sound(impacts, MATERIALS, 0.0, float(seconds))
        samples = np.linspace(0, len(sound) - 1, 50).astype(np.int64)
        error = np.abs(sound[samples] - closed_form(impacts, MATERIALS, samples)).max() / np.abs(sound).max()
        report.note(scene, "error", f"{20.0 * np.log10(error):.0f} dB of the peak, against the formula in float64")

        _growth(report, seconds, rounds)

        before, begin, count = peak_megabytes(), time.perf_counter(), 0
        for block in sound_blocks(Storm(0, long), colliders, 0.0, float(long)):
            count += len(block)
        took = time.perf_counter() - begin
        more = max(0.0, peak_megabytes() - before)
        report.note(
            scene, f"{long} seconds in blocks",
            f"{count * 8 / 1e6:.0f} MB of samples in {took:.1f} s, {long / took:.0f}x real time, {more:.0f} MB more memory",
        )  # fmt: skip
    report.save()


if __name__ == "__main__":
    run("standard")
