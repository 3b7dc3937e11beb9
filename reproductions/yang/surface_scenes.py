"""Scenes of [Yang] 4.4: ships and small things that move over a generated terrain; each frame measured."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

import thud
from reproductions.terrains import CAVE_DOMAIN, cave_field
from reproductions.warship import box, prism, rod, warship
from thud.pairing.leaves import leaves
from thud.pose import as_poses
from thud.terrain import DisplacedSurface, from_field
from thud.terrain.collision.counts import COUNTS, LAST, SURFACE
from thud.terrain.collision.query_object import QueryObject, query_object
from thud.terrain.collision.surface_collision import as_way, collide, vertices_of

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

#: How deep objects dig into the ground, metres: a ship, and what is small.
SHIP_DEPTH, SMALL_DEPTH = 0.4, 0.1

#: Side of a cell, metres, and samples a side: few large primitives or many small ones, the same samples a metre.
SPARSE, DENSE = (12.0, 16), (3.0, 4)


@dataclass(frozen=True)
class Mover:
    """An object and where it is in each frame."""

    name: str
    shape: thud.Shape
    arrays: QueryObject
    poses: Floats
    """(F, 12)."""
    motions: Floats
    """(F, 3) what it has moved by since the frame before, metres."""
    first: int = 0
    """The frame from which on it is there."""

    @property
    def vertices(self) -> int:
        """Of all its parts."""
        return vertices_of(self.arrays.parts)

    @property
    def parts(self) -> int:
        """Convex parts."""
        return len(self.arrays.part_poses) - 1


@dataclass(frozen=True)
class Scene:
    """A surface and what moves over it."""

    figure: str
    name: str
    surface: DisplacedSurface
    movers: tuple[Mover, ...]


class Way(NamedTuple):
    """How to test."""

    method: str
    projection: str
    peaks: bool
    stage: int = SURFACE
    """Where to stop, see `collide`."""
    any_part: bool = False
    """End with the first part that collides."""
    cached: bool = False
    """Know what decided in the frame before."""


@dataclass(frozen=True)
class Measured:
    """What one way of testing took and found: seconds (frames, movers), counts (frames, movers, COUNTS) and which parts."""

    seconds: Floats
    counts: Ints
    hits: list[list[Bools]]


def terrain(density: tuple[float, int]) -> DisplacedSurface:
    """Hills with a cliff, an arch and a tunnel, its bounding maps and tree made."""
    surface = from_field(cave_field(0), *CAVE_DOMAIN, density[0], samples=density[1]).surface
    assert surface.arrays is not None
    return surface


def lower(shape: thud.Shape, surface: DisplacedSurface, rows: Floats, depth: float) -> None:
    """Set z of the poses (N, 7) so that the shape, let down from above, is `depth` metres in the ground."""
    fall = 90.0
    rows[:, 2] = 60.0
    rows[:, 2] -= fall * thud.cast(shape, surface, rows, None, (0.0, 0.0, -fall)).time + depth


def mover(
    name: str,
    shape: thud.Compound,
    surface: DisplacedSurface,
    line: tuple[tuple[float, float], tuple[float, float]],
    frames: int,
    depth: float,
    first: int = 0,
) -> Mover:
    """`shape` along a straight line, bow ahead, lowered in each frame from above until it is `depth` in the ground."""
    start, end = np.array(line)
    heading = np.arctan2(*(end - start)[::-1])
    rows = np.zeros((frames, 7))
    rows[:, :2] = start + np.linspace(0.0, 1.0, frames)[:, None] * (end - start)
    rows[:, 3], rows[:, 6] = np.cos(heading / 2), np.sin(heading / 2)
    lower(shape, surface, rows, depth)
    steps = np.diff(rows[:, :3], axis=0)
    return Mover(name, shape, query_object(shape), as_poses(rows, "rows"), np.vstack([steps[:1], steps]), first)


def motorcycle() -> thud.Compound:
    """With its rider: about 2 m long, wheels down, along +x."""
    wheels = [rod((x, -0.08, 0.33), (x, 0.08, 0.33), 0.33, 12) for x in (-0.7, 0.7)]
    body = [box((0.0, 0.0, 0.35), (0.9, 0.3, 0.45), 0.2), box((0.2, 0.0, 0.8), (0.55, 0.34, 0.22), 0.3)]
    fork = [rod((0.7, 0.0, 0.33), (0.45, 0.0, 1.05), 0.05, 6), box((0.42, 0.0, 1.05), (0.06, 0.75, 0.06))]
    rider = [box((-0.2, 0.0, 0.85), (0.3, 0.42, 0.6), 0.15), rod((-0.12, 0.0, 1.48), (-0.12, 0.0, 1.75), 0.13, 8, 0.7)]
    return thud.Compound(wheels + body + fork + rider)


def character() -> thud.Compound:
    """One who walks: two legs, a trunk, a head."""
    legs = [box((0.0, y, 0.0), (0.16, 0.14, 0.85)) for y in (-0.1, 0.1)]
    return thud.Compound([*legs, box((0.0, 0.0, 0.85), (0.24, 0.44, 0.6), -0.1), rod((0, 0, 1.47), (0, 0, 1.78), 0.11, 8)])


def cruise_ship() -> thud.Compound:
    """40 m long, six decks, boats along them."""
    hull = []
    for k in range(8):
        a, b = -20.0 + 5.0 * k, -15.0 + 5.0 * k
        wide = [4.0 * np.sin(0.5 * np.pi * np.clip((20.3 - x) / 14.0, 0.02, 1.0)) for x in (a, b)]
        ends = [
            np.array([[x, s * w * half, z] for s in (-1, 1) for w, z in ((0.3, -2.0), (0.85, -1.0), (1.0, 3.0))])
            for x, half in zip((a, b), wide)
        ]
        hull.append(prism(*ends))
    decks = [box((-2.0 - k, 0.0, 3.0 + 1.5 * k), (30.0 - 3.0 * k, 7.0 - 0.4 * k, 1.4), 0.02) for k in range(6)]
    boats = [box((x, s * 3.8, 4.2), (2.6, 0.9, 0.8), -0.2) for x in np.linspace(-14.0, 8.0, 7) for s in (-1.0, 1.0)]
    return thud.Compound([*hull, *decks, *boats, rod((-10.0, 0.0, 12.0), (-11.0, 0.0, 15.5), 1.3, 16, 0.8)])


def scenes(frames: int) -> list[Scene]:
    """Figure 4.14, A.4, A.5 and A.6."""
    sparse, dense = terrain(SPARSE), terrain(DENSE)
    ship, lines = warship(), (((34.0, 7.0), (62.0, 9.0)), ((34.0, 49.0), (64.0, 51.0)))
    bike, ways = motorcycle(), (((8.0, 20.0), (88.0, 8.0)), ((84.0, 12.0), (10.0, 52.0)), ((50.0, 6.0), (58.0, 54.0)))
    small = [mover(f"motorcycle {k + 1}", bike, sparse, way, frames, SMALL_DEPTH) for k, way in enumerate(ways)]
    small.append(mover("character", character(), sparse, ((52.0, 40.0), (60.0, 46.0)), frames, SMALL_DEPTH))
    cruise = mover("cruise ship", cruise_ship(), sparse, ((30.0, 48.0), (66.0, 52.0)), frames, SHIP_DEPTH, frames // 4)
    one, two = (mover(f"warship {k + 1}", ship, sparse, line, frames, SHIP_DEPTH) for k, line in enumerate(lines))
    third = mover("warship 1", ship, dense, lines[0], frames, SHIP_DEPTH)
    return [
        Scene("4.14", "small objects, then a cruise ship too", sparse, (*small, cruise)),
        Scene("A.4", "one warship, sparse primitives", sparse, (one,)),
        Scene("A.5", "two warships, sparse primitives", sparse, (one, two)),
        Scene("A.6", "one warship, dense primitives", dense, (third,)),
    ]


def measure(scene: Scene, ways: Sequence[Way], repeats: int) -> list[Measured]:
    """All frames of a scene in each of the ways, best time of some runs. The ways take turns, so that a slow moment of the
    machine does not fall on one of them; what is fast runs three times a turn."""
    frames, many = len(scene.movers[0].poses), len(scene.movers)
    found = [Measured(np.zeros((frames, many)), np.zeros((frames, many, COUNTS), np.int64), []) for _ in ways]
    still = as_poses(None, "surface")
    codes = [as_way(way.method, way.projection, way.peaks, way.stage, way.any_part) for way in ways]
    known = [[np.full((mover.parts, LAST), -1) for mover in scene.movers] for _ in ways]
    for frame in range(frames):
        for one in found:
            one.hits.append([np.zeros(mover.parts, np.bool_) for mover in scene.movers])
        for k, mover in enumerate(scene.movers):
            if frame < mover.first:
                continue
            place = (scene.surface.arrays, mover.arrays, still, mover.poses[frame : frame + 1], mover.motions[frame])
            best, after = np.full(len(ways), np.inf), [known[w][k] for w in range(len(ways))]
            for _ in range(repeats):
                for w, way in enumerate(ways):
                    for _ in range(1 if way.method == "every_vertex" or repeats == 1 else 3):
                        hit, counts = np.zeros(mover.parts, np.uint8), np.zeros(COUNTS, np.int64)
                        last = known[w][k].copy() if way.cached else np.full((mover.parts, LAST), -1)
                        begin = time.perf_counter()
                        collide(*place, codes[w], last, hit, counts)
                        best[w] = min(best[w], time.perf_counter() - begin)
                    found[w].counts[frame, k], found[w].hits[frame][k] = counts, hit.astype(np.bool_)
                    after[w] = last
            for w in range(len(ways)):
                known[w][k] = after[w]
            for one, seconds in zip(found, best):
                one.seconds[frame, k] = seconds
    return found


def differing(scene: Scene, plain: Measured, multiresolution: Measured) -> tuple[int, int]:
    """Parts in frames that one method finds and the other does not: those that touch the surface, and those that do not. The
    second are false alarms of the plain way: where the directions of a primitive cross within its lengths, it takes points
    above the ground for points below."""
    touching, off = 0, 0
    for frame, (one, two) in enumerate(zip(plain.hits, multiresolution.hits)):
        for mover, found, other in zip(scene.movers, one, two):
            for part in np.flatnonzero(found != other):
                at = thud.Pose.from_rows(mover.poses[frame : frame + 1])
                at = at @ thud.Pose.from_rows(mover.arrays.part_poses[part : part + 1])
                gap = thud.distance(leaves(mover.shape)[part][0], scene.surface, at).distance[0]
                touching, off = touching + int(gap <= 0.0 or other[part]), off + int(gap > 0.0 and found[part])
    return touching, off
