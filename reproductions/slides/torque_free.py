"""The simulation algorithm on a body that turns free of torque: energy and angular momentum over many steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.integrate import solve_ivp

from reproductions.report import Report
from thud.dynamics import INTEGRATORS, RigidBodies

Floats = npt.NDArray[np.float64]

STEPS = {"ci": 4000, "standard": 100_000, "full": 1_000_000}
H = 1.0 / 240.0

#: Three different moments; turning mostly about the middle one, where it flips over and over.
INERTIA = np.diag([1.0, 2.0, 2.6])
SPIN = (0.05, 2.0, 0.02)
SAMPLES = 400


class Course(NamedTuple):
    """Of one integrator, at equal times."""

    time: Floats
    energy: Floats
    momentum: Floats
    """(S, 3)"""
    middle: Floats
    """Angular velocity about the middle axis, body frame."""


def course(name: str, steps: int, h: float = H) -> Course:
    """Follow the body."""
    body = RigidBodies(1.0, INERTIA, angular_velocity=SPIN)
    rows = []
    for k in range(SAMPLES + 1):
        if k:
            body.step(h, integrator=name, steps=steps // SAMPLES)
        rows.append((body.time, body.energy()[0], *body.L[0], body.A[0, :, 1] @ body.angular_velocity()[0]))
    table = np.array(rows)
    return Course(table[:, 0], table[:, 1], table[:, 2:5], table[:, 5])


def flips(time: Floats, middle: Floats) -> Floats:
    """Times at which the spin about the middle axis changes sign."""
    at = np.flatnonzero(np.diff(np.sign(middle)))
    return np.asarray(time[at] - middle[at] * (time[at + 1] - time[at]) / (middle[at + 1] - middle[at]))


def run(size: str, report: Report) -> None:
    """The drifts, the plot, the statements."""
    report.heading("Simulation algorithm: a body free of torque")
    steps = STEPS[size]
    report.say(
        "Principal moments 1, 2 and 2.6 kg m^2, turning about the middle axis at 2 rad/s with a little of the others: it flips "
        f"over and over. {steps:,} steps of 1/240 s."
    )
    found = {name: course(name, steps) for name in INTEGRATORS}
    rows = []
    drift, lost = {}, {}
    for name, one in found.items():
        relative = one.energy / one.energy[0] - 1.0
        drift[name] = float(relative[-1])
        lost[name] = float(np.linalg.norm(one.momentum - one.momentum[0], axis=1).max() / np.linalg.norm(one.momentum[0]))
        rows.append([name, f"{relative[-1]:+.2e}", f"{np.abs(relative).max():.2e}", f"{lost[name]:.2e}"])
        report.row("torque free", name, "energy drift", steps, drift[name])
        report.row("torque free", name, "momentum drift", steps, lost[name])
    report.table(["integrator", "energy at the end", "energy, largest change", "angular momentum, largest change"], rows)
    bound = float(np.abs(found["semi_implicit"].energy / found["semi_implicit"].energy[0] - 1.0).max())
    report.compare(
        "The algorithm integrates r, v, A and L by Euler's method.",
        f"L is kept to {lost['slides']:.0e}, energy changes by {100 * drift['slides']:+.2f} % over {steps:,} steps: with L "
        "kept and A off by the second order in each step the spin moves to the axis of the least moment, that of most energy.",
        lost["slides"] < 1e-9,
    )
    report.compare(
        "(beyond the slides) Better integrators: the semi-implicit one keeps momentum, and energy within a bound; Runge and "
        "Kutta's keeps both; the implicit gyroscopic term never gains energy.",
        f"semi-implicit: energy within {bound:.1e}, momentum to {lost['semi_implicit']:.0e}; rk4: {drift['rk4']:+.1e} and "
        f"{lost['rk4']:.0e}; implicit: {100 * drift['implicit_gyroscopic']:+.1f} % energy.",
        abs(drift["rk4"]) < 1e-5 and bound < 1e-3 and float(np.diff(found["implicit_gyroscopic"].energy).max()) <= 1e-12,
    )
    _flips(report)
    report.figure("torque_free", lambda plt: _draw(plt, found))


def _flips(report: Report) -> None:
    """When the body flips, beside Euler's equations solved to 1e-11."""
    time = 40.0
    exact = solve_ivp(
        lambda _t, w: np.linalg.solve(INERTIA, np.cross(INERTIA @ w, w)), (0.0, time), SPIN, method="DOP853", rtol=1e-11,
        atol=1e-12, dense_output=True,
    )  # fmt: skip
    grid = np.linspace(0.0, time, 20_000)
    truth = flips(grid, exact.sol(grid)[1])
    rows = []
    for name in INTEGRATORS:
        one = course(name, round(time / H / SAMPLES) * SAMPLES)
        own = flips(one.time, one.middle)
        many = min(3, len(own), len(truth))
        rows.append([name, *(f"{own[k]:.3f}" for k in range(many))])
    report.say("Seconds at which it flips, the first three:")
    report.table(["integrator", "first", "second", "third"], [["Euler's equations", *(f"{x:.3f}" for x in truth[:3])], *rows])


def _draw(plt: Any, found: dict[str, Course]) -> Any:
    figure, axes = plt.subplots(1, 3, figsize=(17, 4.8))
    for k, (name, one) in enumerate(found.items()):
        axes[0].plot(one.time, one.energy / one.energy[0], color=f"C{k}", label=name)
        off = np.linalg.norm(one.momentum - one.momentum[0], axis=1) / np.linalg.norm(one.momentum[0])
        axes[1].plot(one.time, np.maximum(off, 1e-17), color=f"C{k}", label=name)
        short = course(name, 24 * SAMPLES)
        axes[2].plot(short.time, short.middle, color=f"C{k}", lw=1.0, label=name)
    axes[0].set(xlabel="seconds", ylabel="energy / energy at the begin", title="energy")
    axes[1].set(xlabel="seconds", ylabel="change of L / L", yscale="log", title="angular momentum")
    axes[2].set(xlabel="seconds", ylabel="rad/s", title="spin about the middle axis: flips")
    for ax in axes:
        ax.grid(alpha=0.25)
        ax.legend(fontsize=8)
    return figure
