"""`thud rain house`, `thud rain can`: hail on a scene, to look at and to listen to."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer


class SceneName(StrEnum):
    """The scenes of Figure 3.7."""

    house = "house"
    can = "can"


class SoundFormat(StrEnum):
    """Sound files."""

    wav = "wav"
    flac = "flac"


def rain(
    scene: Annotated[SceneName, typer.Argument(help="House, gazebo and picnic table; or garbage can and table.")],
    seconds: Annotated[float, typer.Option(help="How long it hails.", min=0.01, max=86_400.0)] = 5.0,
    particles: Annotated[
        int | None, typer.Option(help="Hailstones in the air; default: the scene's own number.", min=1)
    ] = None,
    seed: Annotated[int, typer.Option(help="Of where and when hailstones are born.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="Folder of pictures and sound.")] = Path("thud-rain"),
    size: Annotated[int, typer.Option(help="Width of the pictures, pixels.", min=16, max=8192)] = 800,
    resolution: Annotated[int, typer.Option(help="Pixels a side of the impact maps.", min=1, max=4096)] = 64,
    pictures: Annotated[int, typer.Option(help="How many pictures, at equal intervals; the last one at the end.", min=0)] = 2,
    sound: Annotated[bool, typer.Option(help="Write the sound file (needs the extra `sound`).")] = True,
    sound_format: Annotated[SoundFormat, typer.Option("--format", help="Of the sound file.")] = SoundFormat.wav,
) -> None:
    """Let it hail: pictures with splats, impact maps and the sound of it."""
    from thud.errors import ThudError

    try:
        _rain(scene.value, seconds, particles, seed, out, size, resolution, pictures, sound, sound_format.value)
    except (ThudError, OSError) as error:
        typer.echo(f"thud rain: {error}", err=True)
        raise typer.Exit(1) from error


def _rain(
    name: str, seconds: float, particles: int | None, seed: int, out: Path, size: int, resolution: int, pictures: int,
    sound: bool, sound_format: str,
) -> None:  # fmt: skip
    import numpy as np
    from rich.console import Console

    from thud.errors import MissingExtraError
    from thud.particles import ColliderSet, Listener, impact_map, scenes, write_sound
    from thud.report.particle_view import view
    from thud.report.rain_pictures import SPLAT, map_picture, scene_camera, storm_picture
    from thud.report.splat_textures import some, splat_textures

    for package, extra, needed in (("matplotlib", "app", True), ("soundfile", "sound", sound)):
        if needed:
            try:
                __import__(package)
            except (ImportError, OSError):
                raise MissingExtraError.for_package(package, extra) from None
    out.mkdir(parents=True, exist_ok=True)
    console = Console(stderr=True)
    scene = scenes.SCENES[name]()
    colliders, hail = ColliderSet(scene.colliders), scene.hail(particles, seed=seed)
    times: dict[str, float] = {}

    def step(label: str, work: Callable[[Callable[[int, int], None]], Any]) -> Any:
        begin = time.perf_counter()
        done = work(_progress(console, label))
        times[label] = time.perf_counter() - begin
        return done

    impacts = step("impacts", lambda _: hail.impacts(colliders, 0.0, seconds))
    files: list[Path] = []
    if pictures:
        seen = step("light and shadows", lambda report: view(colliders, scene_camera(scene, size), progress=report))

        def draw(report: Callable[[int, int], None]) -> None:
            for k in range(pictures):
                at = seconds * (k + 1) / pictures
                so_far = some(impacts, slice(0, int(np.searchsorted(impacts.time, at))))
                files.append(out / f"{name}_{k + 1}.png")
                storm_picture(scene, seen, so_far, hail.states(at, colliders), files[-1])
                report(k + 1, pictures)
            found = impact_map(hail, colliders, 0.0, seconds, resolution=resolution)
            textures = splat_textures(impacts, colliders, radius=SPLAT * scene.stone)
            files.append(out / f"{name}_maps.png")
            map_picture(scene, textures, found, files[-1])

        step("pictures", draw)
    if sound:
        files.append(out / f"{name}.{sound_format}")

        eye = np.array(scene.eye)
        ears = Listener(eye, facing=np.array(scene.target) - eye)
        step(
            "sound",
            lambda report: write_sound(files[-1], hail, colliders, 0.0, seconds, listener=ears, progress=report),
        )
    _print(scene, impacts, seconds, hail.count, times, files)


def _progress(console: Any, label: str) -> Callable[[int, int], None]:
    """Says how far it is, every two seconds."""
    begin = last = time.monotonic()

    def report(done: int, total: int) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last > 2.0 and done < total:
            last = now
            rest = (now - begin) / max(done, 1) * (total - done)
            console.print(f"{label}: {done / total:.0%}, about {rest:.0f} s left", style="dim")

    return report


def _print(scene: Any, impacts: Any, seconds: float, count: int, times: dict[str, float], files: list[Path]) -> None:
    """A table of impacts, times, and what was written."""
    import numpy as np
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{len(impacts):,} impacts of {count:,} hailstones in {seconds:g} s")
    for column in ("thing", "sounds like"):
        table.add_column(column)
    for column in ("impacts", "a second", "mean speed, m/s"):
        table.add_column(column, justify="right")
    for name in dict.fromkeys(scene.names):
        places = [k for k, other in enumerate(scene.names) if other == name]
        here = np.isin(impacts.collider, places)
        material = scene.things[places[0]].collider.material
        speed = f"{impacts.speed[here].mean():.1f}" if here.any() else "-"
        heard = material.name if material is not None else "silent"
        table.add_row(name, heard, f"{here.sum():,}", f"{here.sum() / seconds:,.1f}", speed)
    console = Console()
    console.print(table)
    console.print(", ".join(f"{label} {spent:.1f} s" for label, spent in times.items()))
    for path in files:
        typer.echo(f"wrote {path}")
