"""What a reproduction prints, checks and writes: the paper's statements beside ours, tables and plots."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path
from typing import Any


class Report:
    """Lines of a markdown file, rows of a CSV, and the statements that did not hold."""

    def __init__(self, name: str, title: str, size: str, out: Path) -> None:
        self.name, self.size, self.out = name, size, out
        self.failed: list[str] = []
        self.rows: list[tuple[str, str, str, float, float]] = []
        self.lines = [f"# {title}", ""]

    def say(self, text: str) -> None:
        """One line, to the screen and the file."""
        print(text, flush=True)
        self.lines += [text, ""]

    def heading(self, text: str) -> None:
        """A section."""
        self.say(f"## {text}")

    def row(self, figure: str, model: str, series: str, x: float, y: float) -> None:
        """One point of a plot, to the CSV."""
        self.rows.append((figure, model, series, x, y))

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """A markdown table."""
        cells = [[f"{c:.4g}" if isinstance(c, float) else str(c) for c in row] for row in rows]
        widths = [max(len(str(row[k])) for row in [columns, *cells]) for k in range(len(columns))]
        lines = ["| " + " | ".join(str(c).ljust(w) for c, w in zip(row, widths)) + " |" for row in [columns, *cells]]
        lines.insert(1, "|" + "|".join("-" * (w + 2) for w in widths) + "|")
        print("\n".join(lines), flush=True)
        self.lines += [*lines, ""]

    def compare(self, paper: str, ours: str, holds: bool | None, word: str = "reported") -> None:
        """The paper's statement and what was found. holds: None for times and the like, which are not asserted."""
        verdict = word if holds is None else ("holds" if holds else "DOES NOT HOLD")
        self.say(f"- Paper: {paper}\n  Here ({verdict}): {ours}")
        # What NumPy compared is no `False` by identity.
        if holds is not None and not holds:
            self.failed.append(paper)

    def figure(self, name: str, draw: Any) -> None:
        """Plot to PNG; `draw` takes pyplot and returns the figure."""
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt

        figure = draw(plt)
        figure.tight_layout()
        figure.savefig(self.out / f"{self.name}_{name}.png", dpi=110)
        plt.close(figure)
        self.lines += [f"![{name}]({self.name}_{name}.png)", ""]

    def close(self) -> int:
        """Write the files."""
        (self.out / f"{self.name}.md").write_text("\n".join(self.lines).rstrip() + "\n")
        with (self.out / f"{self.name}.csv").open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["figure", "model", "series", "x", "y"])
            writer.writerows((*row[:4], f"{row[4]:.6g}") for row in self.rows)
        print(f"{len(self.failed)} statements do not hold; tables and plots in {self.out}")
        return len(self.failed)
