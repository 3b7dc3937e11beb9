"""[Knott] chapter 3: closed-form particles, colliders, impact maps. Figures 3.1 to 3.7, and every kind of collider.

`python -m reproductions knott-particles [--size ci|standard|full]`.
"""

from __future__ import annotations

from pathlib import Path

from reproductions.knott_particles import (
    collider_kinds,
    figure_3_3,
    figure_3_4,
    figure_3_5,
    figure_3_6,
    figure_3_7,
    figures_3_1_and_3_2,
)
from reproductions.progress import progress
from reproductions.report import Report

#: What is reproduced, in the paper's order, then what goes beyond it: modules with `run(size, report)`.
SECTIONS = [figures_3_1_and_3_2, figure_3_3, figure_3_4, figure_3_5, figure_3_6, figure_3_7, collider_kinds]


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all sections; returns how many of the paper's statements did not hold."""
    if files:
        raise SystemExit("reproductions knott-particles: --model is not used; all scenes are generated")
    report = Report("knott_particles", f"[Knott] Chapter 3, `--size {size}`", size, out)
    report.say(
        "All pictures are drawn by particles: eye, sun and sky send out particles of first order, and what they hit is seen."
    )
    for section in progress(SECTIONS, len(SECTIONS), "sections"):
        section.run(size, report)
    return report.close()
