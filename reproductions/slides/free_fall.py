"""A ball in free fall: y = g t^2 / 2 beside the time steps that a game needs."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproductions.report import Report
from thud.dynamics import INTEGRATORS, RigidBodies

G, TIME = 9.81, 2.0
STEPS = (0.1, 1 / 30, 0.01)


def fallen(name: str, h: float) -> float:
    """Metres after TIME seconds."""
    ball = RigidBodies(1.0, np.eye(3))
    ball.step(h, gravity=(0.0, 0.0, -G), integrator=name, steps=round(TIME / h))
    return -float(ball.r[0, 2])


def run(size: str, report: Report) -> None:
    """The table, the plot, the statements. The size makes no difference."""
    report.heading("Free fall: y' = y + v t, v' = v + g t beside y = g t^2 / 2")
    truth = 0.5 * G * TIME**2
    found = {(name, h): fallen(name, h) for name in INTEGRATORS for h in STEPS}
    rows = [[name, *(f"{found[name, h]:.4f}" for h in STEPS)] for name in INTEGRATORS]
    report.say(f"Metres after {TIME:g} s; the formula gives {truth:.4f}.")
    report.table(["integrator", *(f"h = {h:.4g} s" for h in STEPS)], rows)
    for (name, h), value in found.items():
        report.row("free fall", name, "metres", h, value)
    lag = [truth - found["slides", h] for h in STEPS]
    report.compare(
        "The rewritten form needs no reference to the initial time.",
        "the slides' step falls behind the formula by g h t / 2: " + ", ".join(f"{x:.4f}" for x in lag) + " m; with the new "
        "velocity, as the semi-implicit step has it, it is ahead by as much; Runge and Kutta's is exact.",
        bool(np.allclose(lag, [0.5 * G * h * TIME for h in STEPS], rtol=1e-9))
        and all(abs(found["rk4", h] - truth) < 1e-9 for h in STEPS),
    )
    report.figure("free_fall", _draw)


def _draw(plt: Any) -> Any:
    figure, ax = plt.subplots(figsize=(7, 4.5))
    time = np.linspace(0.0, TIME, 200)
    ax.plot(time, -0.5 * G * time**2, color="0.2", label="g t^2 / 2")
    for k, name in enumerate(("slides", "semi_implicit", "rk4")):
        ball, path = RigidBodies(1.0, np.eye(3)), [0.0]
        for _ in range(20):
            ball.step(0.1, gravity=(0.0, 0.0, -G), integrator=name)
            path.append(float(ball.r[0, 2]))
        ax.plot(0.1 * np.arange(21), path, color=f"C{k}", marker="osx"[k], ms=4, ls="", label=f"{name}, h = 0.1 s")
    ax.set(xlabel="seconds", ylabel="metres", title="free fall")
    ax.legend()
    ax.grid(alpha=0.25)
    return figure
