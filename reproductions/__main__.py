"""`python -m reproductions NAME`: regenerate a paper's tables and figures from a checkout."""

from __future__ import annotations

import argparse
import importlib
import pkgutil
import sys
from pathlib import Path

import reproductions

RESULTS = Path(__file__).parent / "results"


def main(arguments: list[str] | None = None) -> int:
    """Parse, run, and return how many of the paper's statements did not hold."""
    names = sorted(
        m.name.replace("_", "-") for m in pkgutil.iter_modules(reproductions.__path__) if m.ispkg and m.name != "results"
    )
    parser = argparse.ArgumentParser(prog="python -m reproductions", description=reproductions.__doc__)
    parser.add_argument("name", choices=names)
    parser.add_argument(
        "--size",
        choices=("ci", "standard", "full"),
        default="standard",
        help="ci: a smoke test; standard: what the docs quote; full: the paper's size, resumable",
    )
    parser.add_argument(
        "--model", action="append", type=Path, help="an OBJ or PLY file instead of the generated models; repeatable"
    )
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the plots and tables")
    chosen = parser.parse_args(arguments)
    package = chosen.name.replace("-", "_")
    chosen.out.mkdir(parents=True, exist_ok=True)
    return int(importlib.import_module(f"reproductions.{package}").run(chosen.size, chosen.model, chosen.out))


if __name__ == "__main__":
    sys.exit(1 if main() else 0)
