"""[Slides]: the character of first-person games; the simulator of the physics part beside better integrators; bodies in
contact; points and sticks.

`python -m reproductions slides [--size ci|standard|full]`.
"""

from __future__ import annotations

from pathlib import Path

from reproductions.report import Report
from reproductions.slides import bodies, characters, free_fall, inertia, sticks, torque_free

#: What is reproduced, in the order of the slides: modules with `run(size, report)`.
SECTIONS = [characters, free_fall, inertia, torque_free, bodies, sticks]


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all sections; returns how many of the slides' statements did not hold."""
    if files:
        raise SystemExit("reproductions slides: --model is not used; all bodies are generated")
    report = Report("slides", f"[Slides] Physics, `--size {size}`", size, out)
    for section in SECTIONS:
        section.run(size, report)
    return report.close()
