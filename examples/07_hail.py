"""Hail on a tin roof and a dome: impacts in closed form, an impact map, and the sound of it."""

from __future__ import annotations

import numpy as np

from thud.particles import ParticleSystem, Quadric, Rectangle, impact_map, materials, render_sound
from thud.results import ParticleImpacts


def storm() -> tuple[ParticleSystem, list[Rectangle | Quadric]]:
    """2,000 hailstones, each reborn every second, over a roof and a glass dome (metres, z up)."""
    roof = Rectangle([-4, -2, 2], [4, 0, 1], [0, 4, 0], material=materials.sheet_metal())
    dome = Quadric.ellipsoid([2, 0, 0], [1.5, 1.5, 2.0], material=materials.glass())
    hail = ParticleSystem(
        position=[0, 0, 10], velocity=[1, 0, -12], lifetime=1.0, birth=-np.arange(2000) / 2000,
        position_spread=[5, 3, 0], velocity_spread=0.5, seed=1,
    )  # fmt: skip
    return hail, [roof, dome]


def run() -> tuple[ParticleImpacts, np.ndarray, np.ndarray]:
    """A tenth of a second of hail, a year after it began."""
    hail, colliders = storm()
    year = 365.25 * 86400.0
    hits = hail.impacts(colliders, year, year + 0.1)
    print(f"{len(hits)} impacts: {np.bincount(hits.collider).tolist()} on roof and dome")
    print(f"the first: particle {hits.particle[0]} in its life {hits.generation[0]:,}, at {hits.point[0].round(3).tolist()}")
    pixels = impact_map(hail, colliders, year, year + 0.1, resolution=64).data
    sound = render_sound(hits, colliders, year, year + 0.1)
    return hits, pixels, sound


def check(results: tuple[ParticleImpacts, np.ndarray, np.ndarray]) -> None:
    """Impacts lie on their colliders, the map has them all, and the storm is heard."""
    hits, pixels, sound = results
    assert (np.diff(hits.time) >= 0.0).all()
    on_roof, on_dome = hits.point[hits.collider == 0], hits.point[hits.collider == 1]
    assert len(on_roof) > 20
    assert len(on_dome) > 10
    np.testing.assert_allclose(on_roof[:, 2], 3.0 + on_roof[:, 0] / 4.0, atol=1e-6)
    np.testing.assert_allclose((((on_dome - [2, 0, 0]) / [1.5, 1.5, 2.0]) ** 2).sum(axis=1), 1.0, atol=1e-6)
    assert pixels[..., 3].sum() == len(hits)
    assert len(sound) == 4800
    assert np.abs(sound).max() > 0.0
    # Two halves of the time hold the same impacts as the whole.
    hail, colliders = storm()
    begin = 365.25 * 86400.0
    halves = [hail.impacts(colliders, begin, begin + 0.04), hail.impacts(colliders, begin + 0.04, begin + 0.1)]
    np.testing.assert_array_equal(np.concatenate([half.time for half in halves]), hits.time)


if __name__ == "__main__":
    check(run())
