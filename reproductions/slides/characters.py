"""The character of "Typical implementation in FPS": what the slides say of it, and a walk with the default method."""

from __future__ import annotations

from typing import Any

import numpy as np

import thud
from reproductions.report import Report
from reproductions.slides.course import Course, picture
from thud.dynamics import Character

DT = 1.0 / 60.0

#: Pixels a side of one picture of the strip.
_PIXELS = {"ci": (60, 45), "standard": (360, 270), "full": (720, 540)}


def _stairs(rise: float) -> thud.World:
    world = thud.World()
    world.add(thud.HalfSpace([0, 0, 1]), static=True)
    for k in range(6):
        half = 0.5 * (k + 1) * rise
        world.add(thud.Box((0.2, 2.0, half)), thud.Pose([1.2 + 0.4 * k, 0, half]), static=True)
    return world


def climbed(rise: float, fall: float, two_calls: bool) -> float:
    """Metres of height after 1.5 s of walking at 1.8 m/s, each move with a fall of its own."""
    world = _stairs(rise)
    character = Character((0.3, 0.3, 0.9), (0.5, 0.0, 0.9018), method="slides", gravity=0.0)
    for _ in range(90):
        if two_calls:
            character.move(world, (0.03, 0.0, 0.0), DT)
            character.move(world, (0.0, 0.0, -fall), DT)
        else:
            character.move(world, (0.03, 0.0, -fall), DT)
    return float(character.position[0, 2]) - 0.9


def over_the_edge() -> float:
    """Metres by which a sphere rises that runs into the upper edge of an upright wall below its centre."""
    world = thud.World(gravity=(0, 0, 0))
    wall = [[1.0, -5.0, -5.0], [1.0, 5.0, -5.0], [1.0, 5.0, 0.0], [1.0, -5.0, 0.0]]
    world.add(thud.TriangleMesh(wall, [[0, 1, 2], [0, 2, 3]]), static=True)
    character = Character((0.5, 0.5, 0.5), (0.0, 0.0, 0.3), method="slides")
    return float(character.move(world, (1.0, 0.0, 0.0), DT).position[0, 2]) - 0.3


def run(size: str, report: Report) -> None:
    """Statements, a table, the strip."""
    report.heading('The player as an ellipsoid ("Typical implementation in FPS")')
    rise = over_the_edge()
    report.compare(
        "Sliding plane may not be same as the colliding polygon.",
        f"a sphere that meets the upper edge of an upright wall rises by {rise:.3f} m; along the polygon's plane it would not",
        rise > 0.1,
    )
    falls = (0.01, 0.03, 0.05, 0.1)
    rows = []
    for stair in (0.2, 0.3):
        for calls in (2, 1):
            found = [climbed(stair, fall, calls == 2) for fall in falls]
            rows.append([f"{stair:g} m", "two calls" if calls == 2 else "one call", *(f"{x:.2f}" for x in found)])
            for fall, value in zip(falls, found, strict=True):
                report.row("stairs", f"{stair:g}", f"{calls} calls", fall, value)
    report.say("Metres climbed in 1.5 s, by height of a stair and fall in each move of 3 cm.")
    report.table(["stair", "gravity", *(f"{fall:g} m" for fall in falls)], rows)
    two, one = climbed(0.3, 0.03, True), climbed(0.3, 0.03, False)
    report.compare(
        "Simply combining the two vectors may result in unable to walk up staircases.",
        f"two calls climb {two:.2f} m, one call {one:.2f} m: with up to 8 slides a call, the ground takes the downward part of "
        "the sum. Both fail alike where gravity is the stronger one",
        None,
        "no difference",
    )
    report.heading("A course, with the default method")
    course = Course()
    course.walk()
    end = float(course.character.position[0, 0])
    held = sum(not grounded for grounded in course.grounded[30:])
    report.compare(
        "stairs, a beam, a slope, platforms and hills are walked",
        f"{len(course.grounded)} moves, {held} of them in the air after the start; it ends at x = {end:.2f} m",
        held == 0 and end > 29.0,
    )
    width, height = _PIXELS[size]

    def draw(plt: Any) -> Any:
        figure, axes = plt.subplots(3, 3, figsize=(12, 9.6))
        for ax, moment in zip(axes.ravel(), course.moments, strict=True):
            ax.imshow(np.asarray(picture(course, moment, width, height)))
            ax.set_title(moment.title, fontsize=10)
            ax.axis("off")
        return figure

    report.figure("characters", draw)
