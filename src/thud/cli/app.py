"""The `thud` command: collects the subcommands."""

from __future__ import annotations

import typer

from thud.cli import check, checkout, demo, rain, terrain, terrain_build, terrain_fly, terrain_picture, warmup

app = typer.Typer(name="thud", help="What touches what, where, how deep and when.", no_args_is_help=True, add_completion=False)
app.command("check")(check.check)
app.command("demo")(demo.demo)
app.command("rain")(rain.rain)
# Each of its files adds a command.
assert terrain_build.app is terrain_fly.app is terrain_picture.app is terrain.app
app.add_typer(terrain.app)
app.command("warmup")(warmup.warmup)
app.command("bench", context_settings=checkout.PASS_THROUGH)(checkout.bench)
app.command("reproduce", context_settings=checkout.PASS_THROUGH)(checkout.reproduce)


@app.command("version")
def version() -> None:
    """Print the version."""
    import thud

    typer.echo(thud.__version__)
