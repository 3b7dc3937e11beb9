"""[Yang]: displacement-mapped terrain. Tables and figures of chapter 4, the threshold of 5.1.1, and of 5.2 caching, levels and
decomposition.

`python -m reproductions yang [--size ci|standard|full]`.
"""

from __future__ import annotations

from pathlib import Path

from reproductions.report import Report
from reproductions.yang import (
    convex_decomposition,
    example_4_3_1,
    figures_2_6_and_a_3,
    figures_4_11_to_4_13,
    section_5_1_1,
    section_5_2,
    tables_4_1_to_4_3,
    tables_4_4_and_4_5,
)

#: What is reproduced, in the paper's order: modules with `run(size, report)`.
SECTIONS = [
    figures_2_6_and_a_3,
    tables_4_1_to_4_3,
    example_4_3_1,
    figures_4_11_to_4_13,
    tables_4_4_and_4_5,
    section_5_1_1,
    section_5_2,
    convex_decomposition,
]


def run(size: str, files: list[Path] | None, out: Path) -> int:
    """Make all sections; returns how many of the paper's statements did not hold."""
    if files:
        raise SystemExit("reproductions yang: --model is not used; all scenes are generated")
    report = Report("yang", f"[Yang] Chapters 4 and 5, `--size {size}`", size, out)
    for section in SECTIONS:
        section.run(size, report)
    return report.close()
