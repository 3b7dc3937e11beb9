"""Figures 3.1 and 3.2: a path of second order through a plane, lines through a quadric, and a scene of it."""

from __future__ import annotations

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
    picture,
    stones,
)
from reproductions.report import Report
from thud.particles import ColliderSet, ParticleSystem, Plane, Quadric, Rectangle

DOWN = np.array([0.0, 0.0, -9.81])
PARTICLES = {"ci": 60, "standard": 900, "full": 5000}


def run(size: str, report: Report) -> None:
    """Draw the paths, and compare their impacts with the quadratic formula."""
    report.heading("Figures 3.1 and 3.2: motion that intersects a planar and a quadric collider")
    floor = Plane([0, 0, 0], [0, 0, 1])

    # 3.1: second order against a plane, Eq. (3.6), a quadratic.
    board = Rectangle([-0.9, -0.7, 0.55], [1.7, 0, 0.25], [0, 1.4, 0])
    start, velocity = np.array([-1.7, 0.0, 1.0]), np.array([1.9, 0.0, 3.2])
    first = ParticleSystem(start, velocity, DOWN, lifetime=3.0, generations=1)
    hit = first.impacts([board], 0.0, 3.0)
    n = np.cross(board.edge_u, board.edge_v)
    roots = np.roots([0.5 * n @ DOWN, n @ velocity, n @ (start - np.asarray(board.origin))])
    expected = roots[roots > 0.0].min()
    report.compare(
        "(3.6) The collision time with a plane is a root of a quadratic equation.",
        f"one impact, at {hit.time[0]:.9f} s; the quadratic formula gives {expected:.9f} s.",
        len(hit) == 1 and abs(hit.time[0] - expected) < 1e-12,
    )

    # 3.2 (a): first order against a quadric, Eq. (3.9), a quadratic again; the earlier root is the impact.
    ball = Quadric.ellipsoid([0.0, 0.0, 0.85], [0.9, 0.6, 0.5])
    starts = np.array([[-1.6, -0.3, 2.1], [-1.9, -0.2, 1.1], [-1.8, -0.3, 0.35]])
    lines = np.array([[1.9, 0.1, -1.2], [2.4, 0.05, -0.05], [2.3, 0.1, 0.55]])
    straight = ParticleSystem(starts, lines, lifetime=2.0, generations=1)
    struck = straight.impacts([ball], 0.0, 2.0)
    q, worst, leaving = np.asarray(ball.matrix), 0.0, {}
    for particle, time in zip(struck.particle, struck.time):
        x = np.append(starts[particle] - np.asarray(ball.origin), 1.0)
        v = np.append(lines[particle], 0.0)
        both = np.sort(np.roots([v @ q @ v, 2.0 * v @ q @ x, x @ q @ x]).real)
        worst, leaving[int(particle)] = max(worst, abs(both[0] - time)), both[1]
    report.compare(
        "(3.9) The collision time of a first-order particle with a quadric is a root of a quadratic equation.",
        f"{len(struck)} paths through an ellipsoid: the earlier roots are the impacts, to {worst:.1e} s.",
        len(struck) == 3 and worst < 1e-12,
    )

    # 3.2 (b): a scene.
    rng = np.random.default_rng(1)
    many = PARTICLES[size]
    system = ParticleSystem(
        [-0.6, 0.0, 2.6], [1.1, 0.2, -4.0], lifetime=0.8, birth=-0.8 * rng.random(many), seed=1,
        position_spread=[1.6, 1.2, 0.0], velocity_spread=0.2,
    )  # fmt: skip
    where = camera(size, [1.7, -3.8, 2.3], [-0.1, 0.0, 0.8], 0.86)
    boards, balls = ColliderSet([floor, board]), ColliderSet([floor, ball])
    seen_board, seen_ball = look_at(boards, where, size), look_at(balls, where, size)
    impacts = system.impacts(balls, 0.0, 2.0)

    def planar(axes: Any) -> None:
        picture(axes, seen_board.paint([FLOOR, TEAL]))
        t = hit.time[0]
        draw_path(axes, seen_board, flight(start, velocity, DOWN, np.linspace(0, t, 80)), "crimson", hidden=False)
        draw_path(axes, seen_board, flight(start, velocity, DOWN, np.linspace(t, 1.18 * t, 40)), "crimson", style=":")
        draw_points(axes, seen_board, flight(start, velocity, DOWN, np.linspace(0, t, 9)), "white", size=4)
        draw_points(axes, seen_board, hit.point, "gold", size=12, marker="*")

    def quadric(axes: Any) -> None:
        picture(axes, seen_ball.paint([FLOOR, COPPER]))
        for k, time in zip(struck.particle, struck.time):
            draw_path(axes, seen_ball, flight(starts[k], lines[k], [0, 0, 0], np.linspace(0, time, 60)), "navy", hidden=False)
            beyond = np.linspace(time, leaving[int(k)] + 0.25, 60)
            draw_path(axes, seen_ball, flight(starts[k], lines[k], [0, 0, 0], beyond), "navy", style=":")
        draw_points(axes, seen_ball, struck.point, "gold", size=12, marker="*")

    def scene(axes: Any) -> None:
        splats = seen_ball.splats(impacts, radius=0.03)
        picture(axes, seen_ball.paint([FLOOR, COPPER], splats, [[0.6, 0.62, 0.66], [0.97, 0.95, 0.9]]))
        stones(axes, seen_ball, system, balls, 2.0, 0.016)

    panels(
        report,
        "figures_3_1_and_3_2",
        [
            ("3.1: a parabola meets a plane; dotted: without it", planar),
            ("3.2 (a): lines meet a quadric; dotted: the later root", quadric),
            (f"3.2 (b): {many:,} particles on a quadric", scene),
        ],
        columns=3,
    )
