"""`thud terrain info`, `thud terrain verify`: what a store of tiles holds, and whether it is whole."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(name="terrain", help="Terrain larger than memory: stores of tiles.", no_args_is_help=True)

Folder = Annotated[Path, typer.Argument(help="The folder of the terrain.")]


@contextlib.contextmanager
def errors(command: str) -> Iterator[None]:
    """What is wrong, in one line, and the code 1."""
    from thud.errors import ThudError

    try:
        yield
    except (ThudError, OSError) as error:
        typer.echo(f"thud terrain {command}: {error}", err=True)
        raise typer.Exit(1) from error


def png_file(path: Path) -> Path:
    """A picture's name; named error unless it ends in .png."""
    from thud.errors import InvalidInputError

    if path.suffix.lower() != ".png":
        raise InvalidInputError(f"--out: expected a name that ends in .png, got {path.name!r}")
    return path


@app.command("info")
def info(
    path: Folder,
    trusted: Annotated[bool, typer.Option(help="Off for a store of unknown origin: it is verified first.")] = True,
) -> None:
    """What is there: the manifest, how many tiles, their bytes by section, and what their sphere trees are like."""
    with errors("info"):
        _info(path, trusted)


def _info(path: Path, trusted: bool) -> None:
    from collections import Counter

    from rich.console import Console
    from rich.table import Table

    from thud.terrain.tiles.terrain import Terrain

    with Terrain.open(path, memory=0, trusted=trusted) as terrain:
        manifest, keys = terrain.manifest, terrain.keys()
        x0, y0, z0, x1, y1, z1 = manifest.bounds
        grid = " x ".join(str(count) for count in manifest.count)
        rows = [
            ("kind", manifest.kind),
            ("bounds", f"{x0:g} to {x1:g}, {y0:g} to {y1:g}, {z0:g} to {z1:g} {manifest.units}s"),
            ("tiles", f"{len(keys):,} of a grid of {grid}, {manifest.tile_size[0]:g} x {manifest.tile_size[1]:g} m each"),
            ("coordinates", f"{manifest.crs or 'none'}, origin {', '.join(f'{x:.15g}' for x in manifest.origin)}"),
            ("quantum", f"{manifest.quantum:g} m"),
            ("content hash", manifest.content_hash or "none: the build is not finished"),
            ("file", f"{terrain.nbytes:,} bytes in use"),
        ]
        rows += [(name, str(value)) for name, value in manifest.source.items()]
        # A few tiles, evenly spread, stand for all.
        chosen = keys[:: max(1, len(keys) // 64)]
        sections, triangles, nodes, deepest = Counter[str](), 0, 0, 0
        for key in chosen:
            tile = terrain.tile(key)
            sections.update(tile.nbytes)
            triangles, nodes = triangles + tile.triangle_count, nodes + len(tile.arrays.links)
            deepest = max(deepest, tile.depth)
        table = Table(title=str(path), show_header=False)
        for name, value in rows:
            table.add_row(name, value)
        console = Console()
        console.print(table)
        if chosen:
            share = Table(title=f"{len(chosen)} tiles looked at: {triangles:,} triangles, {nodes:,} spheres, {deepest} levels")
            for name in ("section", "bytes", "a triangle", "share"):
                share.add_column(name, justify="left" if name == "section" else "right")
            total = max(sum(sections.values()), 1)
            for name, size in sections.most_common():
                if size:
                    share.add_row(name, f"{size:,}", f"{size / max(triangles, 1):.1f}", f"{size / total:.1%}")
            console.print(share)


@app.command("verify")
def verify(path: Folder) -> None:
    """Walk everything, in a process of its own: pages, manifest, checksums, offsets, bounds, content hash."""
    with errors("verify"):
        _verify(path)


def _verify(path: Path) -> None:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from thud.terrain.tiles import verify as verifying

    begin = time.perf_counter()
    columns = (TextColumn("verifying"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("", total=None)
        found = verifying.verify(path, progress=lambda done, every: bar.update(task, completed=done, total=every))
    seconds = time.perf_counter() - begin
    typer.echo(f"{found.tiles:,} tiles, {found.triangles:,} triangles, {found.bytes:,} bytes: all whole ({seconds:.1f} s)")
    typer.echo(f"content hash {found.content_hash}" if found.content_hash else "the build is not finished: no content hash")
