"""Figure 3.4: collision response: a path that bounces, and a scene."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from reproductions.knott_particles.drawing import (
    COPPER,
    FLOOR,
    TEAL,
    camera,
    draw_path,
    draw_points,
    flight,
    look_at,
    panels,
    per_particle,
    picture,
)
from reproductions.report import Report
from thud.particles import ColliderSet, ParticleSystem, Plane, Quadric, Rectangle
from thud.results import ParticleImpacts, ParticleState

DOWN = np.array([0.0, 0.0, -9.81])
PARTICLES = {"ci": 40, "standard": 260, "full": 2000}
BOUNCES, LIFE = 3, 6.0
#: Seconds over which particles are let go.
BIRTHS = 2.4


def shower(many: int, bounces: int) -> ParticleSystem:
    """Particles that are let go over the slope."""
    return ParticleSystem(
        np.broadcast_to([-1.4, 0.0, 2.6], (many, 3)), [0.2, 0.0, 0.0], DOWN, lifetime=LIFE, response="bounce", bounces=bounces,
        rest="stop",
        birth=BIRTHS * np.random.default_rng(2).random(many), seed=2, generations=1,
        position_spread=[0.45, 0.6, 0.2], velocity_spread=[0.5, 0.35, 0.3],
    )  # fmt: skip


def after(impacts: ParticleImpacts, row: int, restitution: float, friction: float) -> np.ndarray:
    """Velocity after an impact, by the definition of restitution and Coulomb's law."""
    v, n = impacts.velocity[row], impacts.normal[row]
    approach = float(v @ n)
    along = v - approach * n
    speed = float(np.linalg.norm(along))
    keep = max(0.0, 1.0 + friction * (1.0 + restitution) * approach / speed) if speed > 0.0 else 1.0
    return keep * along - restitution * approach * n


def showy(impacts: ParticleImpacts, many: int) -> int:
    """A particle that hits all colliders and stays near them."""
    best, chosen = -np.inf, 0
    for particle in range(many):
        rows = per_particle(impacts, particle)
        score = len(set(impacts.collider[rows])) - 0.4 * float(np.abs(impacts.point[rows]).max(initial=0.0))
        if len(rows) == BOUNCES + 1 and score > best:
            best, chosen = score, particle
    return chosen


def run(size: str, report: Report) -> None:
    """Draw paths, and follow them by hand from impact to impact."""
    report.heading("Figure 3.4: particles exhibiting collision response")
    floor = Plane([0, 0, 0], [0, 0, 1], restitution=0.6, friction=0.1)
    slope = Rectangle([-2.0, -0.8, 1.25], [1.3, 0, -0.55], [0, 1.6, 0], restitution=0.55)
    hump = Quadric.ellipsoid([0.75, 0.0, 0.0], [0.55, 0.8, 0.45], restitution=0.6)
    kinds = [floor, slope, hump]
    ready = ColliderSet(kinds)
    many = PARTICLES[size]
    system = shower(many, BOUNCES)
    impacts = system.impacts(ready, 0.0, BIRTHS + LIFE)
    ends = system.states(LIFE, ready)

    # From impact to impact in closed form.
    worst = 0.0
    for particle in range(many):
        rows = per_particle(impacts, particle)
        for row, following in itertools.pairwise(rows):
            c = kinds[impacts.collider[row]]
            landed = flight(
                impacts.point[row], after(impacts, row, c.restitution, c.friction), DOWN,
                np.array([impacts.time[following] - impacts.time[row]]),
            )[0]  # fmt: skip
            worst = max(worst, float(np.abs(landed - impacts.point[following]).max()))
    per = np.bincount(impacts.particle, minlength=many)
    report.compare(
        "There are enough instruction slots to compute three bounces.",
        f"with bounces=3 no particle has more than {per.max()} impacts: three bounces, and the one at which it comes to rest; "
        f"{(ends.state == ParticleState.RESTING).sum()} of {many} rest in the end.",
        per.max() <= BOUNCES + 1 and bool((ends.state[per == BOUNCES + 1] == ParticleState.RESTING).all()),
    )
    more = shower(many, 1000).impacts(ready, 0.0, BIRTHS + LIFE)
    report.compare(
        "The limit could be overcome by hardware that loops.",
        f"with bounces=1000: {len(more)} impacts, up to {int(more.bounce.max())} bounces, until they are slower than 1 mm/s.",
        int(more.bounce.max()) > BOUNCES,
    )
    report.compare(
        "After a bounce the motion is recomputed with updated parameters.",
        f"each of {len(impacts)} impacts is where restitution, friction and Eq. (3.4) by hand lead from the one before, "
        f"to {worst:.1e} m.",
        worst < 1e-9,
    )

    seen = look_at(ready, camera(size, [1.6, -5.6, 2.7], [0.15, 0.0, 0.8], 0.92), size)
    looks = [FLOOR, TEAL, COPPER]
    chosen = showy(impacts, many)

    def path(axes: Any) -> None:
        picture(axes, seen.paint(looks))
        rows = per_particle(impacts, chosen)
        times = np.linspace(float(impacts.time[rows[0]]) - 0.55, float(impacts.time[rows[-1]]), 400)
        points = np.array([system.states(float(t), ready).position[chosen] for t in times])
        draw_path(axes, seen, points, "crimson")
        draw_points(axes, seen, points[::20], "white", size=3.5)
        draw_points(axes, seen, impacts.point[rows], "gold", size=12, marker="*")

    def scene(axes: Any) -> None:
        picture(axes, seen.paint(looks))
        trail = np.array([system.states(float(t), ready).position for t in np.linspace(BIRTHS - 0.08, BIRTHS, 8)])
        for particle in range(many):
            draw_path(axes, seen, trail[:, particle], "midnightblue", width=0.7, hidden=False)
        draw_points(axes, seen, trail[-1], "white", size=3.0)

    panels(
        report,
        "figure_3_4",
        [("(a) a path: stars are impacts", path), (f"(b) {many:,} particles, 0.08 s of their motion", scene)],
    )
