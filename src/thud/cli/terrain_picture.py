"""`thud terrain picture`: a shaded relief."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from thud.cli.terrain import Folder, app, errors, png_file


@app.command("picture")
def picture(
    path: Folder,
    out: Annotated[Path, typer.Option(help="The PNG file.")] = Path("terrain.png"),
    size: Annotated[int, typer.Option(help="Pixels of the longer side.", min=16, max=16384)] = 1200,
    bounds: Annotated[
        tuple[float, float, float, float] | None, typer.Option(help="x0 y0 x1 y1 of the part that is shown, metres.")
    ] = None,
) -> None:
    """The terrain from above, coloured by height, lit from the north-west."""
    with errors("picture"):
        from thud.report.relief import relief_picture
        from thud.terrain.tiles.terrain import Terrain

        with Terrain.open(path) as terrain:
            columns, rows = relief_picture(terrain, png_file(out), size=size, bounds=bounds)
        typer.echo(f"wrote {out}, {columns} x {rows} pixels")
