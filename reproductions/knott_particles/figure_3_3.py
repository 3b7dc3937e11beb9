"""Figure 3.3: particles disappear after collisions with a variety of colliders."""

from __future__ import annotations

from typing import Any

import numpy as np

import thud
from reproductions.knott_particles.drawing import (
    COPPER,
    FLOOR,
    OLIVE,
    PLUM,
    SAND,
    SLATE,
    TEAL,
    camera,
    look_at,
    panels,
    picture,
    stones,
)
from reproductions.report import Report
from thud.particles import ColliderSet, Disc, ParticleSystem, Plane, Polygon, Quadric, Rectangle, Solid
from thud.results import ParticleState

PARTICLES = {"ci": 300, "standard": 1400, "full": 10000}


def colliders() -> list[Any]:
    """A floor and six kinds of colliders over it."""
    ring = [[1.15 + r * np.cos(a), 0.55 + r * np.sin(a), 1.0] for r in (0.5,) for a in np.radians(np.arange(0, 360, 60))]
    hole = [[1.15 + 0.25 * np.cos(a), 0.55 + 0.25 * np.sin(a), 1.0] for a in np.radians(np.arange(0, 360, 30))]
    return [
        Plane([0, 0, 0], [0, 0, 1]),
        Rectangle([-2.0, -0.3, 0.6], [0.9, 0, 0.3], [0, 0.9, 0]),
        Disc([-0.4, 0.9, 1.1], [-0.35, -0.3, 1.0], 0.5),
        Polygon(ring, [hole]),
        Quadric.ellipsoid([-0.35, -0.7, 0.7], [0.55, 0.35, 0.3]),
        Quadric.cone([1.75, -0.45, 1.2], 0.55, 0.8),
        Solid(thud.Box([0.3, 0.2, 0.35]), thud.Pose([0.75, -0.75, 0.55], [0.92388, 0.0, 0.0, 0.382683])),
    ]


def run(size: str, report: Report) -> None:
    """Draw the scene, and check who has disappeared."""
    report.heading("Figure 3.3: particles disappear after collisions")
    kinds = colliders()
    ready = ColliderSet(kinds)
    many = PARTICLES[size]
    system = ParticleSystem(
        [-0.3, 0.0, 2.4], [0.5, 0.1, -2.6], lifetime=1.2, birth=-1.2 * np.random.default_rng(3).random(many), seed=3,
        position_spread=[2.4, 1.7, 0.0], velocity_spread=0.15,
    )  # fmt: skip
    impacts = system.impacts(ready, 0.0, 8.0)
    at = 2.0
    states = system.states(at, ready)
    # Gone are those, and those alone, that have hit something in their present life.
    before = system.impacts(ready, at - 1.2, at)
    gone = np.zeros(many, bool)
    gone[before.particle[before.generation == states.generation[before.particle]]] = True
    agree = bool((gone == (states.state == ParticleState.REMOVED)).all())
    report.compare(
        "If a collision has occurred in a particle's current iteration it is eliminated.",
        f"at {at} s {gone.sum()} of {many} particles have hit something in their present life, and "
        f"{(states.state == ParticleState.REMOVED).sum()} are gone: the same ones.",
        agree,
    )
    order = np.random.default_rng(0).permutation(len(kinds))
    other = system.impacts([kinds[k] for k in order], 0.0, 8.0)
    same = np.array_equal(other.time, impacts.time) and np.array_equal(order[other.collider], impacts.collider)
    report.compare(
        "It does not matter which collider is first: only the results of the earliest collision are used.",
        f"{len(impacts)} impacts on {len(kinds)} colliders, the same to the last bit with the colliders in another order.",
        same,
    )
    counts = np.bincount(impacts.collider, minlength=len(kinds))
    names = ("floor", "rectangle", "disc", "polygon with a hole", "ellipsoid", "cone", "box")
    report.table(["collider", "impacts in 8 s"], [(name, int(count)) for name, count in zip(names, counts)])

    extent = 4.0
    seen = look_at(ready, camera(size, [2.2, -4.9, 3.0], [-0.05, 0.05, 0.6], 0.92), size, extent=extent)
    looks = [FLOOR, TEAL, OLIVE, SAND, COPPER, PLUM, SLATE]

    def bare(axes: Any) -> None:
        picture(axes, seen.paint(looks))
        stones(axes, seen, system, ready, at, 0.013)

    def shadows(axes: Any) -> None:
        splats = seen.splats(impacts, radius=0.022)
        picture(axes, seen.paint(looks, splats, [[0.45, 0.47, 0.52]] + [[0.97, 0.97, 0.95]] * 6))

    titles = ("particles in the air: what is hit takes them away", "where they ended; the floor shows what was blocked")
    panels(report, "figure_3_3", list(zip(titles, (bare, shadows))))
