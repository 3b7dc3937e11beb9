"""[Knott] chapter 4: interference in image space. Figures 4.13 to 4.16, Tables 4.1 and 4.2, recall and precision.

`python -m reproductions knott-image [--size ci|standard|full]`.
"""

from __future__ import annotations

from pathlib import Path

from reproductions.knott_image import figures_4_13_and_4_14, figures_4_15_and_4_16, recall_and_precision, tables_4_1_and_4_2
from reproductions.knott_image.renderers import available
from reproductions.report import Report

#: What is reproduced, in the paper's order: modules with `run(size, backends, report)`.
SECTIONS = [figures_4_13_and_4_14, figures_4_15_and_4_16, tables_4_1_and_4_2, recall_and_precision]


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all sections; returns how many of the paper's statements did not hold."""
    if files:
        raise SystemExit("reproductions knott-image: --model is not used; all scenes are generated")
    report = Report("knott_image", f"[Knott] Chapter 4, `--size {size}`", size, out)
    backends = available(report)
    for section in SECTIONS:
        section.run(size, backends, report)
    return report.close()
