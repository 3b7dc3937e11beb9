"""`thud terrain fly`: a camera that slides along the ground, what its frames took, and a picture of its path."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer

from thud.cli.terrain import Folder, app, errors, png_file

Point = tuple[float, float]


@app.command("fly")
def fly(
    path: Folder,
    start: Annotated[Point | None, typer.Option(help="x y where it begins, metres; default: near the lower corner.")] = None,
    end: Annotated[Point | None, typer.Option(help="x y where it ends; default: near the upper corner.")] = None,
    speed: Annotated[float, typer.Option(help="Metres a second.", min=1e-3, max=1e5)] = 300.0,
    rate: Annotated[float, typer.Option(help="Frames a second of the flight.", min=1e-2, max=1e5)] = 230.0,
    seconds: Annotated[float, typer.Option(help="Of the flight, at most.", min=1e-3, max=86_400.0)] = 60.0,
    radius: Annotated[float, typer.Option(help="Of the camera, metres.", min=1e-6)] = 2.0,
    out: Annotated[Path | None, typer.Option(help="PNG of the path; none is drawn without.")] = None,
) -> None:
    """Fly low over the terrain, from one place to another. The camera sinks until it meets the ground, slides along it, and
    climbs where it would stand still."""
    with errors("fly"):
        _fly(path, start, end, speed, rate, seconds, radius, png_file(out) if out is not None else None)


def _fly(
    path: Path,
    start: Point | None,
    end: Point | None,
    speed: float,
    rate: float,
    seconds: float,
    radius: float,
    out: Path | None,
) -> None:
    import numpy as np

    from thud.terrain.tiles.terrain import Terrain

    with Terrain.open(path) as terrain:
        positions, hits, times = flight(terrain, start, end, speed, rate, seconds, radius)
        total = float(np.linalg.norm(np.diff(positions, axis=0), axis=1).sum())
        met = float((hits > 0).mean())
        typer.echo(f"{len(hits):,} frames, {total:,.0f} m, {met:.0%} of them with a hit")
        p50, p99, worst = (1e3 * float(np.quantile(times, q)) for q in (0.5, 0.99, 1.0))
        typer.echo(f"collision a frame: p50 {p50:.3f} ms, p99 {p99:.3f} ms, worst {worst:.3f} ms")
        typer.echo(f"{len(hits) / max(times.sum(), 1e-12):,.0f} frames a second with nothing else to do")
        if out is not None:
            from thud.report.relief import flight_picture

            flight_picture(terrain, out, positions, hits, times, radius)
            typer.echo(f"wrote {out}")


def flight(
    terrain: Any, start: Point | None, end: Point | None, speed: float, rate: float, seconds: float, radius: float
) -> tuple[Any, Any, Any]:
    """Positions (F + 1, 3), hits (F,) and seconds (F,) of a flight."""
    import numpy as np

    x0, y0, z0, x1, y1, z1 = terrain.manifest.bounds
    first = np.array(start if start is not None else (x0 + 0.1 * (x1 - x0), y0 + 0.1 * (y1 - y0)))
    last = np.array(end if end is not None else (x0 + 0.9 * (x1 - x0), y0 + 0.9 * (y1 - y0)))
    where = np.array([*first, z1 + 2.0 * radius])
    # Down to the ground, a hundredth of the heights at a time.
    for _ in range(200):
        moved = terrain.slide(where, [0.0, 0.0, -max((z1 - z0) / 100.0, radius)], radius)
        where = moved.position[0].copy()
        if moved.hits[0] or where[2] < z0 - 2.0 * radius:
            break
    step = speed / rate
    positions, hits, times = [where.copy()], [], []
    climb = 0
    for _ in range(max(1, int(seconds * rate))):
        way = last - where[:2]
        left = float(np.linalg.norm(way))
        if left < step:
            break
        ahead = way / left
        motion = np.array([*(ahead * step), step if climb else -0.5 * step])
        begin = time.perf_counter()
        moved = terrain.slide(where, motion, radius)
        times.append(time.perf_counter() - begin)
        after = moved.position[0].copy()
        hits.append(int(moved.hits[0]))
        # It stands before a wall: up, for some frames.
        climb = 20 if float((after - where)[:2] @ ahead) < 0.2 * step else max(climb - 1, 0)
        where = after
        positions.append(after)
    return np.array(positions), np.array(hits, np.int64), np.array(times)
