"""The report of [Vogiannou]."""

from __future__ import annotations

from pathlib import Path

from reproductions import report


class Report(report.Report):
    """Says whether the models were generated."""

    def __init__(self, size: str, out: Path, generated: bool) -> None:
        self.generated = generated
        source = "generated models" if generated else "given models"
        super().__init__("vogiannou", f"[Vogiannou] Figures 7 to 11, `--size {size}`, {source}", size, out)
