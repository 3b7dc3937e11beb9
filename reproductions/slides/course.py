"""A course for a character: stairs, a low beam, a slope, a platform that moves, one that turns, hills. And its pictures."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thud
from thud.dynamics import Character
from thud.report.camera import Camera
from thud.report.world_picture import world_picture

Floats = npt.NDArray[np.float64]

DT = 1.0 / 60.0
STANDING, CROUCHING = (0.3, 0.3, 0.9), (0.3, 0.3, 0.6)
SPEED = 2.0
PLATEAU = 2.0 * math.tan(math.radians(40.0))

_COLORS = {"ground": (0.72, 0.74, 0.70), "moving": (0.45, 0.62, 0.80), "character": (0.88, 0.45, 0.30)}


@dataclass(frozen=True)
class Moment:
    """What a picture shows."""

    title: str
    position: Floats
    radii: tuple[float, float, float]
    poses: Floats
    """Of all bodies."""


class Course:
    """The world, and a character that walks it."""

    def __init__(self) -> None:
        world = self.world = thud.World(threads=1)
        self._box((-4, -3, -0.5), (18, 3, 0.0))
        for k in range(8):
            self._box((2 + 0.35 * k, -1.5, 0), (9.6 - 0.35 * k, 1.5, 0.25 * (k + 1)))
        self._box((11, -3, 1.5), (12, 3, 1.9))
        ramp = [(14, -1.5, 0), (16, -1.5, PLATEAU), (16, 1.5, PLATEAU), (14, 1.5, 0), (16, -1.5, 0), (16, 1.5, 0)]
        world.add(thud.ConvexHull(ramp), static=True)
        self._box((16, -1.5, 0), (18, 1.5, PLATEAU))
        self.platform = self._box((18, -1, PLATEAU - 0.2), (20, 1, PLATEAU), kinematic=True)
        self.disc = world.add(
            thud.Cylinder(1.5, 0.1), thud.Pose([25.5, 0, PLATEAU - 0.1]), kinematic=True, angular_velocity=(0, 0, 1.0)
        )
        x, y = np.meshgrid(np.arange(33) * 0.3, np.arange(21) * 0.3)
        hills = 0.5 * np.sin(1.1 * x) * np.cos(0.8 * y) * np.minimum(0.7 * x, 1.0)
        world.add(thud.HeightField(hills, 0.3, (27.0, -3.0, PLATEAU)), static=True)
        self.character = Character(STANDING, (0.0, 0.0, 1.0))
        self.moments: list[Moment] = []
        self.grounded: list[bool] = []

    def _box(self, lower: tuple[float, ...], upper: tuple[float, ...], kinematic: bool = False) -> int:
        low, high = np.array(lower), np.array(upper)
        return self.world.add(
            thud.Box(0.5 * (high - low)), thud.Pose(0.5 * (low + high)), static=not kinematic, kinematic=kinematic
        )

    def go(self, way: tuple[float, float], seconds: float) -> None:
        """Walk at the full speed along a direction, or stand."""
        for _ in range(round(seconds / DT)):
            self.world.step(DT)
            moved = self.character.move(self.world, (way[0] * SPEED * DT, way[1] * SPEED * DT, 0.0), DT)
            self.grounded.append(bool(moved.grounded[0]))

    def note(self, title: str) -> None:
        """A picture of now."""
        radii = tuple(self.character.radii[0].tolist())
        self.moments.append(Moment(title, self.character.position[0].copy(), radii, self.world.poses()))

    def walk(self) -> None:
        """All of it."""
        ahead, still = (1.0, 0.0), (0.0, 0.0)
        self.go(ahead, 1.6)
        self.note("stairs up")
        self.go(ahead, 2.2)
        self.note("stairs down")
        self.go(ahead, 1.3)
        self.note("a low beam stops it")
        assert self.character.resize(self.world, CROUCHING).all()
        self.go(ahead, 0.4)
        self.note("crouching passes below")
        self.go(ahead, 0.6)
        assert not self.character.resize(self.world, STANDING).any()
        self.go(ahead, 0.9)
        assert self.character.resize(self.world, STANDING).all()
        self.go(ahead, 0.7)
        self.note("a slope of 40 degrees")
        self.go(ahead, (19.0 - self.character.position[0, 0]) / SPEED)
        self.world.set_velocities(self.platform, (1.0, 0.0, 0.0))
        self.go(still, 2.0)
        self.note("a platform carries it")
        self.go(still, 2.0)
        self.world.set_velocities(self.platform, (0.0, 0.0, 0.0))
        self.go(ahead, 1.6)
        self.note("onto a disc that turns")
        self.go(still, 1.5)
        self.note("a turn of 1.5 rad later")
        # To the far side of the disc, then on.
        x, y = (np.array([26.6, 0.0]) - self.character.position[0, :2]).tolist()
        self.go((x / math.hypot(x, y), y / math.hypot(x, y)), math.hypot(x, y) / SPEED)
        self.go(ahead, 2.0)
        self.note("over a height field")


def picture(course: Course, moment: Moment, width: int, height: int) -> Floats:
    """(height, width, 3) from 0 to 1."""
    scene, colors = thud.World(threads=1), []
    for handle, pose in zip(course.world.handles().tolist(), moment.poses, strict=True):
        scene.add(course.world.shape(handle), pose, static=True)
        colors.append(_COLORS["moving" if handle in (course.platform, course.disc) else "ground"])
    scene.add(thud.Ellipsoid(moment.radii), thud.Pose(moment.position))
    colors.append(_COLORS["character"])
    eye = moment.position + [-3.6, -6.4, 3.2]
    camera = Camera(eye, moment.position + [0.6, 0.0, -0.2], 0.95, width, height)
    return world_picture(scene, camera, colors)
