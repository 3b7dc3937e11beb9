"""Subcommands that live in a checkout of the repository: `thud bench`, `thud reproduce`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import typer

PASS_THROUGH = {"allow_extra_args": True, "ignore_unknown_options": True}


def _checkout(folder: str) -> Path:
    """The root of the checkout this package is installed from, if it has `folder`."""
    root = Path(__file__).parents[3]
    if not (root / folder / "__main__.py").is_file():
        typer.echo(f"this command runs from a checkout of the repository, which has the folder {folder}/", err=True)
        raise typer.Exit(2)
    return root


def bench(context: typer.Context) -> None:
    """Run a benchmark beside its peers, e.g. `thud bench convex`; needs a checkout and the `bench` extra."""
    root = _checkout("benchmarks")
    raise typer.Exit(subprocess.call([sys.executable, "-m", "benchmarks", *context.args], cwd=root))


def reproduce(context: typer.Context) -> None:
    """Regenerate a paper's tables and figures, e.g. `thud reproduce vogiannou`; needs a checkout and the `app` extra."""
    root = _checkout("reproductions")
    raise typer.Exit(subprocess.call([sys.executable, "-m", "reproductions", *context.args], cwd=root))
