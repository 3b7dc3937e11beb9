"""After the slides' end: contact, friction, resting, joints. Strips of frames, drawn by rays."""

from __future__ import annotations

from typing import Any

from reproductions.report import Report
from reproductions.slides.scenes import SCENES
from thud.report.world_picture import world_picture

DT = 1.0 / 60.0

#: Pixels a side of one picture of a strip.
_PIXELS = {"ci": (40, 30), "standard": (400, 300), "full": (800, 600)}


def run(size: str, report: Report) -> None:
    """A strip a scene; every number stays one, and nothing falls through the floor."""
    report.heading("Bodies in contact (`World.step`)")
    width, height = _PIXELS[size]
    frames: dict[str, list[tuple[float, Any]]] = {}
    for name, make in SCENES.items():
        scene = make()
        world, frames[name] = scene.world, []
        colors, camera = scene.colors(), scene.camera(width, height)
        # A smoke test sees the begin.
        for time in scene.times if size != "ci" else (0.1,):
            while world.time < time:
                world.step(DT)
            frames[name].append((time, world_picture(world, camera, colors)))
        low = float(world.poses()[1:, 2].min())
        deepest = float(world.contacts().depth.max(initial=0.0))
        assert low > 0.0, f"{name}: a body lies at {low} m, below the floor"
        report.say(
            f"{name}: after {world.time:.1f} s the lowest centre of {len(world)} bodies is at {low:.2f} m, the deepest contact"
            f" {1e3 * deepest:.2f} mm."
        )

    def draw(plt: Any) -> Any:
        columns = max(len(strip) for strip in frames.values())
        figure, axes = plt.subplots(len(frames), columns, figsize=(3.6 * columns, 2.9 * len(frames)), squeeze=False)
        for row, (name, strip) in zip(axes, frames.items(), strict=True):
            for ax, (time, picture) in zip(row, strip, strict=True):
                ax.imshow(picture)
                ax.set_title(f"{name}, {time:g} s", fontsize=10)
                ax.axis("off")
        return figure

    report.figure("bodies", draw)
