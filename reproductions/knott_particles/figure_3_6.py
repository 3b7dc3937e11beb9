"""Figure 3.6: a table with splat textures to indicate collisions."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproductions.knott_particles.drawing import FLOOR, camera, look_at, map_panel, panels, picture, stones
from reproductions.report import Report
from thud.particles import ColliderSet, ParticleSystem, Plane, impact_map, texture_at
from thud.particles.scenes import picnic_table
from thud.report.particle_view import Look
from thud.report.splat_textures import splat_textures

PARTICLES = {"ci": 100, "standard": 350, "full": 3000}
SECONDS = 2.0
PAINT = [[0.60, 0.62, 0.66], [0.85, 0.12, 0.16], [0.13, 0.33, 0.75], [0.13, 0.33, 0.75], [0.90, 0.62, 0.10]]


def run(size: str, report: Report) -> None:
    """Throw paint at a table."""
    report.heading('Figure 3.6: a table with "splat" textures')
    things = picnic_table([0.0, 0.0, 0.0], 20.0)
    kinds = [Plane([0, 0, 0], [0, 0, 1]), *(thing.collider for thing in things)]
    ready = ColliderSet(kinds)
    many = PARTICLES[size]
    system = ParticleSystem(
        [0.0, 0.0, 2.2], [0.0, 0.3, -1.0], [0.0, 0.0, -9.81], lifetime=0.8, birth=-0.8 * np.random.default_rng(6).random(many),
        seed=6, position_spread=[1.2, 1.1, 0.0], velocity_spread=0.7,
    )  # fmt: skip
    impacts = system.impacts(ready, 0.0, SECONDS)
    textures = splat_textures(impacts, ready, radius=0.035, extent=4.0)
    covered = texture_at(impacts, ready, dict(enumerate(textures)), extent=4.0)[:, 0]
    report.compare(
        '"Splat" textures are rendered at the impact points on colliders.',
        f"{len(impacts)} impacts, {int((impacts.collider == 1).sum())} on the top of the table: the texture is painted at "
        f"every one of them (least coverage {covered.min():.2f}).",
        bool((covered > 0.5).all()),
    )
    found = impact_map(system, ready, 0.0, SECONDS, resolution=(64, 27))
    seen = look_at(ready, camera(size, [1.5, -2.4, 1.9], [0.0, 0.02, 0.42], 0.90), size)

    def scene(axes: Any) -> None:
        looks = [FLOOR, *(Look(thing.color, thing.stripes) for thing in things)]
        picture(axes, seen.paint(looks, seen.splats(impacts, radius=0.035), PAINT))
        stones(axes, seen, system, ready, SECONDS, 0.014)

    panels(
        report,
        "figure_3_6",
        [("paint on a table", scene), ("impact map of its top", lambda axes: map_panel(axes, found, 1, kinds[1]))],
        widths=(1.0, 0.8),
    )
