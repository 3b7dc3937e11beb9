"""A rigid body as a collection of point masses: its inertia beside that of the solid, and the minus sign of the slides."""

from __future__ import annotations

import numpy as np

import thud
from reproductions.report import Report
from thud.dynamics import inertia_of_points, inertia_of_shape, world_inertia

SIDES = {"ci": (2, 8), "standard": (2, 4, 8, 16, 32), "full": (2, 4, 8, 16, 32, 64)}


def run(size: str, report: Report) -> None:
    """A box of more and more point masses, and the similarity transform."""
    report.heading("Moment of inertia: point masses, solids, similarity transform")
    half = np.array([0.5, 1.0, 2.0])
    solid = inertia_of_shape(thud.Box(half))
    rows, errors = [], []
    for side in SIDES[size]:
        line = (np.arange(side) + 0.5) / side * 2.0 - 1.0
        points = np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3) * half
        found = inertia_of_points(np.full(len(points), solid.mass / len(points)), points)
        errors.append(float(np.abs(found.inertia - solid.inertia).max() / solid.inertia.max()))
        rows.append([f"{side**3}", *(f"{x:.2f}" for x in np.diag(found.inertia)), f"{errors[-1]:.2e}"])
        report.row("inertia", "box", "relative error", side, errors[-1])
    rows.append(["solid", *(f"{x:.2f}" for x in np.diag(solid.inertia)), ""])
    report.table(["point masses", "I_xx", "I_yy", "I_zz, kg m^2", "off by"], rows)
    report.compare(
        "A rigid body is modelled as a collection of point masses.",
        f"their inertia comes to that of the solid as 1 / n^2 in masses a side: {errors[-1]:.1e} at {SIDES[size][-1]}.",
        bool(np.allclose(np.array(errors) * np.array(SIDES[size]) ** 2, errors[0] * SIDES[size][0] ** 2, rtol=1e-6)),
    )
    turn = np.array([[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]])
    apart = np.abs(np.linalg.inv(world_inertia(solid.inertia, turn)) - world_inertia(np.linalg.inv(solid.inertia), turn)).max()
    report.compare(
        "The body's inverse inertia is computed once, and turned into the world's frame by similarity transform, A I^-1 A^t.",
        f"it is the inverse of the turned inertia to {apart * solid.inertia.max():.0e} of itself. (The sum on that page lacks "
        "the minus sign of the page before: I = sum -m r~ r~.)",
        bool(apart * solid.inertia.max() < 1e-12),
    )
