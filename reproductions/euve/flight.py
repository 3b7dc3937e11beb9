"""A flight through the world: a pilot who steers into walls, ground and ceilings, and what each frame cost."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from reproductions.euve.world import CEILING, FlightWorld
from thud.geometry import frustum_planes

Floats = npt.NDArray[np.float64]

#: Frames a second, metres a second, and the camera's radius and near plane, metres.
RATE, SPEED, RADIUS, NEAR = 230, 300.0, 2.0, 1.0


@dataclass
class Flight:
    """What happened in each frame."""

    position: Floats
    motion: Floats
    hits: npt.NDArray[np.int64]
    seconds: Floats
    """Spent in `slide`."""
    stalled: npt.NDArray[np.bool_]
    """Whether a tile was waited for."""
    wall: float = 0.0
    """Seconds of the whole flight."""
    resident: list[int] = field(default_factory=list)
    """Bytes of the store's pages in memory, looked up now and then."""
    late: int = 0
    """Frames that ended after their time."""


class Pilot:
    """Looks ahead along the canyon and weaves: into its walls, the ground, the caves' ceilings, the roofs of buildings."""

    def __init__(self, world: FlightWorld) -> None:
        self.world, self.frame, self.stuck, self.best = world, 0, 0, 0.0

    def start(self) -> Floats:
        """Where the flight begins."""
        x = np.array([30.0])
        y = self.world.middle(x)
        return np.array([30.0, y[0], self.world.floor(x, y)[0] + 12.0])

    def motion(self, position: Floats) -> Floats:
        """Of the next frame."""
        world, t = self.world, self.frame / RATE
        self.frame += 1
        self.stuck = 0 if position[0] > self.best + 0.05 else self.stuck + 1
        self.best = max(self.best, float(position[0]))
        x = np.array([position[0] + 60.0])
        deep = float(world.is_deep(x)[0])
        side = world.half_width(x)[0]
        y = world.middle(x) + (2.2 * side if deep > 0.5 else 60.0) * np.sin(2.0 * np.pi * t / 2.6)
        rise = (0.3 + 0.9 * np.sin(2.0 * np.pi * t / 1.7)) * CEILING if deep > 0.5 else -9.0 * np.sin(2.0 * np.pi * t / 3.1)
        z = float(world.floor(x, y)[0]) + rise
        if self.stuck > RATE // 8:
            # Up and over what is in the way.
            z = float(position[2]) + 80.0
        way = np.array([x[0], y[0], z]) - position
        return way * (SPEED / RATE / np.linalg.norm(way))


def drop_cache(path: Path) -> None:
    """Let the system forget the store's pages, as far as a process may ask for it."""
    descriptor = os.open(path / "data.mdb", os.O_RDONLY)
    try:
        os.fsync(descriptor)
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(descriptor)


def resident_bytes(path: Path) -> int:
    """Bytes of the store's file that this process has in memory."""
    name, total, ours = str((path / "data.mdb").resolve()), 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = line.endswith(name)
        elif ours and line.startswith("Rss:"):
            total += 1024 * int(line.split()[1])
    return total


def fly(
    terrain: thud.Terrain, world: FlightWorld, frames: int, *, method: str = "slide", paced: bool = False, look: bool = True,
    collide: bool = True, watch: int = 0,
) -> Flight:  # fmt: skip
    """Fly so many frames.

    Parameters
    ----------
    method : of `Terrain.slide`
    paced : whether each frame takes its 1 / 230 s, as with a picture to draw; else one follows the other at once
    look : tell the terrain what is in view
    collide : False for the same flight without collisions
    watch : look up resident pages every so many frames; 0 for never
    """
    pilot = Pilot(world)
    position = pilot.start()
    out = Flight(
        np.empty((frames, 3)), np.empty((frames, 3)), np.zeros(frames, np.int64), np.zeros(frames), np.zeros(frames, bool)
    )  # fmt: skip
    begin = due = time.perf_counter()
    for frame in range(frames):
        motion = pilot.motion(position)
        if look and frame % 23 == 0:
            terrain.look(frustum_planes(position, motion, (0.0, 0.0, 1.0), (1.2, 0.8), NEAR, 3000.0))
        if collide:
            before, start = terrain.stats.stalls, time.perf_counter()
            moved = terrain.slide(position, motion, RADIUS, near=NEAR, method=method)
            out.seconds[frame] = time.perf_counter() - start
            out.stalled[frame] = terrain.stats.stalls > before
            position, out.hits[frame] = moved.position[0], moved.hits[0]
        else:
            position = position + motion
        out.position[frame], out.motion[frame] = position, motion
        if watch and frame % watch == 0:
            out.resident.append(resident_bytes(terrain.folder))
        if paced:
            due += 1.0 / RATE
            left = due - time.perf_counter()
            if left > 0.0:
                time.sleep(left)
            else:
                out.late += 1
                due = time.perf_counter()
    out.wall = time.perf_counter() - begin
    return out


def nearest_approach(terrain: thud.Terrain, flight: Flight) -> float:
    """Least distance of the camera's centre from any triangle at the end of a frame, metres; at most its diameter."""
    best = 2.0 * RADIUS
    for where in flight.position:
        for tile in terrain.tiles_near(where - best, where + best):
            corners = tile.in_reach(where, best).corners
            if len(corners):
                best = min(best, float(_point_triangles(where, corners).min()))
    return best


def _point_triangles(p: Floats, corners: Floats) -> Floats:
    """Distances of a point and (T, 3, 3) triangles."""
    return np.asarray(thud.geometry.closest_point_triangle(p, corners).distance)


def percentiles(flight: Flight) -> dict[str, Any]:
    """Milliseconds a frame spent in collision."""
    ms = 1e3 * flight.seconds
    found = {f"p{share:g}": float(np.percentile(ms, share)) for share in (50, 99, 99.9)}
    worst = int(np.argmax(ms))
    return found | {"worst": float(ms[worst]), "worst frame waited for a tile": bool(flight.stalled[worst])}
