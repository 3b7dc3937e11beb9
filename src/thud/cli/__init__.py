"""The command line, one file a subcommand. `thud warmup` works with the core alone; the rest needs the `app` extra."""

from __future__ import annotations

import sys


def main() -> None:
    """Entry point of the `thud` command."""
    try:
        import typer  # noqa: F401
    except ModuleNotFoundError:
        if sys.argv[1:] == ["warmup"]:
            from thud.warm import warmup

            warmup()
            return
        from thud.errors import MissingExtraError

        sys.exit(str(MissingExtraError.for_package("typer", "app")))
    from thud.cli.app import app

    app()
