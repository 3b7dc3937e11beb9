"""A report as CSV: a row a clash, for spreadsheets."""

from __future__ import annotations

import csv
import io
import math
import os

from thud._core.atomic import replaced
from thud.report.clash.clash import ClashReport
from thud.report.clash.text import cell

COLUMNS = (
    "id", "kind", "part a", "part b", "depth m", "depth is a bound", "penetration m", "gap m", "volume m3", "x m", "y m", "z m",
    "normal x", "normal y", "normal z", "status", "assignee", "note", "guid a", "guid b",
)  # fmt: skip


def write_csv(report: ClashReport, path: str | os.PathLike[str]) -> None:
    """Clashes, then accepted ones, then contacts; UTF-8 with a mark that spreadsheets know. Whole or not at all."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(COLUMNS)
    for clash in (*report.clashes, *report.known, *report.contacts):
        numbers = [_number(value) for value in (clash.penetration, clash.gap, clash.volume, *clash.point, *clash.normal)]
        writer.writerow(
            [
                cell(clash.id), clash.kind, cell(clash.name_a), cell(clash.name_b), _number(clash.depth),
                "yes" if clash.depth_is_bound else "no", *numbers, clash.status, cell(clash.assignee), cell(clash.note),
                cell(clash.guid_a or ""), cell(clash.guid_b or ""),
            ]
        )  # fmt: skip
    with replaced(path) as file:
        file.write(b"\xef\xbb\xbf" + text.getvalue().encode("utf-8", "replace"))


def _number(value: float) -> str:
    return f"{value:.9g}" if math.isfinite(value) else ""
