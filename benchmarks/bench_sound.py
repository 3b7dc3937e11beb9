"""The sound of a storm: 2,000 impacts a second all over 4 bodies of 256 modes at 48 kHz, beside SciPy's `lfilter` on the same
resonators and real time; with one ear and two; minutes of it in little memory. One thread."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.signal import lfilter

from benchmarks.harness import Contestant, Report, one_core
from benchmarks.memory import peak_megabytes
from thud.particles import Listener, Material, render_sound, sound_blocks
from thud.particles.sound import materials

Floats = npt.NDArray[np.float64]

RATE = 48_000
BODIES = [materials.sheet_metal(), materials.tin_can(), materials.lid(), materials.tin_can(0.25, 0.7, 0.6e-3)]
PER_SECOND = 2_000

#: (seconds of the storm, rounds, seconds of the long one)
_SIZES = {"ci": (1, 1, 3), "standard": (8, 3, 300), "full": (20, 9, 3_600)}


class Storm:
    """Impacts that are made when asked for: those of second k come from the seed k."""

    def __init__(self, begin: int, end: int) -> None:
        self.begin, self.end = begin, end

    def impacts(self, colliders: Any, t0: float, t1: float) -> SimpleNamespace:
        """In [t0, t1), in time order."""
        seconds = [self._second(k) for k in range(max(self.begin, int(np.floor(t0))), min(self.end, int(np.ceil(t1))))]
        empty = (np.zeros(0), np.zeros(0, np.int64), np.zeros(0), np.zeros((0, 2)))
        at, collider, speed, place = (np.concatenate(parts) for parts in zip(empty, *seconds, strict=True))
        inside = (at >= t0) & (at < t1)
        at, collider, speed, place = at[inside], collider[inside], speed[inside], place[inside]
        # On 20 m by 20 m of ground.
        point = np.column_stack([20.0 * place - 10.0, np.zeros(len(at))])
        return SimpleNamespace(time=at, collider=collider, speed=speed, place=place, point=point)

    @staticmethod
    def _second(k: int) -> tuple[Floats, npt.NDArray[np.int64], Floats, Floats]:
        rng = np.random.default_rng(k)
        at = k + np.sort(rng.uniform(0.0, 1.0, PER_SECOND))
        where = rng.random((PER_SECOND, 2))
        return at, rng.integers(0, len(BODIES), PER_SECOND), rng.uniform(5.0, 20.0, PER_SECOND), where


def filtered(impacts: SimpleNamespace, sounding: list[Material], count: int) -> Floats:
    """The same resonators by `scipy.signal.lfilter`: a complex one-pole filter a mode, struck by impulses, without contacts."""
    out = np.zeros(count)
    place = impacts.time * RATE
    sample = np.ceil(place).astype(np.int64)
    for k, material in enumerate(sounding):
        rows = (impacts.collider == k) & (sample < count)
        late, strength = sample[rows] - place[rows], impacts.speed[rows]
        shapes = material.shapes
        if shapes is None:
            weights = np.ones((int(rows.sum()), len(np.asarray(material.gains))))
        else:
            weights = shapes.values(*shapes.own_coordinates(impacts.place[rows], np.full(2, np.nan), False))
        frequencies = 2.0 * np.pi * np.asarray(material.frequencies)
        rates = (-np.asarray(material.dampings) + 1j * frequencies) / RATE
        for mode, (rate, gain) in enumerate(zip(rates, np.asarray(material.gains) * frequencies, strict=True)):
            struck = gain * strength * weights[:, mode] * np.exp(rate * late)
            x = np.bincount(sample[rows], struck.real, count) + 1j * np.bincount(sample[rows], struck.imag, count)
            out -= lfilter([1.0], [1.0, -np.exp(rate)], x).imag
    return out


def _growth(report: Report, most: int, rounds: int) -> None:
    """With the length of the storm."""

    def make(seconds: int) -> list[Contestant]:
        impacts = Storm(0, seconds).impacts([], 0.0, float(seconds))
        return [
            Contestant("scipy.signal.lfilter", lambda: filtered(impacts, BODIES, seconds * RATE), 1),
            Contestant("thud, given impacts", lambda: render(impacts, seconds), 1),
        ]

    sizes = [1, 2] if most == 1 else [1, 3, 10]
    report.growth("storm", "sound", "seconds of sound", "scipy.signal.lfilter", sizes, make, max(2, rounds // 4))


def render(impacts: SimpleNamespace, seconds: float) -> Floats:
    """One ear, with places."""
    return render_sound(impacts, BODIES, 0.0, float(seconds), place=lambda hit: hit.place)


def run(size: str) -> None:
    seconds, rounds, long = _SIZES[size]
    report = Report("sound")
    modes = {len(np.asarray(body.frequencies)) for body in BODIES}
    scene = f"{PER_SECOND} impacts a second, 4 bodies of {'/'.join(map(str, sorted(modes)))} modes, {RATE} Hz"
    colliders = [SimpleNamespace(material=body) for body in BODIES]
    storm = Storm(0, seconds)
    impacts = storm.impacts(colliders, 0.0, float(seconds))
    ears = Listener([0.0, 0.0, 2.0])

    def in_blocks(listener: Listener | None = None) -> None:
        for _ in sound_blocks(storm, colliders, 0.0, float(seconds), warm=0.0, place=lambda hit: hit.place, listener=listener):
            pass

    with one_core():
        contestants = [
            Contestant("scipy.signal.lfilter", lambda: filtered(impacts, BODIES, seconds * RATE), seconds),
            Contestant("thud, given impacts", lambda: render(impacts, seconds), seconds),
            Contestant("thud, blocks and their storm", in_blocks, seconds),
            Contestant("thud, two ears", lambda: in_blocks(ears), seconds),
        ]
        report.race(scene, "a second of sound", "scipy.signal.lfilter", contestants, rounds)
        for row in list(report.rows):
            report.note(scene, "times faster than real time", f"{row.engine}: {1e6 / row.microseconds:.0f}x real time")

        _growth(report, seconds, rounds)

        before, begin, count = peak_megabytes(), time.perf_counter(), 0
        for block in sound_blocks(Storm(0, long), colliders, 0.0, float(long), place=lambda hit: hit.place):
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
