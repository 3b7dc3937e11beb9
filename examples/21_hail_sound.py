"""Hail as it sounds: a storm of two seconds on a tin roof as a file, each stone at its exact time."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import soundfile

from thud.particles import ParticleSystem, Rectangle, materials, write_sound
from thud.results import ParticleImpacts

HEIGHT, SPEED, GRAVITY = 8.0, 10.0, 9.81


def run() -> tuple[ParticleImpacts, np.ndarray, int]:
    """Forty stones let go one after the other. Returns their impacts, the samples of the file and its rate."""
    stones = np.column_stack([np.linspace(0.1, 2.9, 40), np.full(40, 1.0), np.full(40, HEIGHT)])
    hail = ParticleSystem(
        stones, [0, 0, -SPEED], acceleration=[0, 0, -GRAVITY], birth=np.linspace(0.0, 0.4, 40), response="bounce", bounces=2
    )  # fmt: skip
    roof = Rectangle([0, 0, 0], [3, 0, 0], [0, 2, 0], restitution=0.3, material=materials.sheet_metal())
    hits = hail.impacts([roof], 0.0, 2.0)
    with tempfile.TemporaryDirectory() as folder:
        written = write_sound(Path(folder) / "hail.wav", hail, [roof], 0.0, 2.0)
        samples, rate = soundfile.read(written.path)
    print(f"{len(hits)} impacts; {len(samples) / rate:.1f} s of sound, peak {np.abs(samples).max():.2f}")
    return hits, samples, rate


def check(results: tuple[ParticleImpacts, np.ndarray, int]) -> None:
    """Silence until the first stone has fallen; then as loud as a file may be, and ringing on."""
    hits, samples, rate = results
    fall = (np.sqrt(SPEED**2 + 2.0 * GRAVITY * HEIGHT) - SPEED) / GRAVITY
    np.testing.assert_allclose(hits.time[hits.bounce == 0], fall + np.linspace(0.0, 0.4, 40), atol=1e-12)
    first = int(np.ceil(fall * rate))
    assert not samples[:first].any()
    assert samples[first : first + 10].any()
    assert len(samples) == 2 * rate
    np.testing.assert_allclose(np.abs(samples).max(), 10.0 ** (-1.0 / 20.0), atol=1e-3)


if __name__ == "__main__":
    check(run())
