"""Bodies dropped at borders and corners of tiles, and a box that slides across borders, beside the same ground as one shape.

    python -m tests.terrain.tiles.at_borders --size ci | standard

Where a body comes to rest depends on the last bits of its way, on one shape too. So each comparison has a control: the same
bodies dropped on the one shape from 1e-12 m beside; for a mesh on the same mesh with its faces in another order, since of
several contacts that are as good the order tells which are kept; for a displaced surface on one that is turned by half a turn,
since contacts are solved in the order of its patches. Judged are:

- bodies that rest lie where they lie on one shape: to a micrometre in the median, and of those that are a millimetre off
  there are no more than in the control, but for what chance explains;
- none sinks in or falls through;
- a box that slides across borders has the contacts of flat ground at each place of its way, and in a world keeps height,
  direction and speed.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import thud
from tests.terrain.tiles.grounds import CELL, CELLS, hilly, open_terrain, whole_shape
from tests.terrain.tiles.scenes import QUANTUM
from thud.shapes.shape import Shape

KINDS = ("heights", "triangles", "displaced")

#: Metres along a side of a tile.
SIZE = CELLS * CELL

#: Bodies, steps, tiles a side, borders that a box slides across.
SIZES = {"ci": (10, 60, 3, 2), "standard": (1000, 300, 8, 50)}

#: Metres: what lies nearer lies in the same place.
SAME = 1e-3

#: Metres that a control begins beside.
BESIDE = 1e-12


@dataclass
class Fallen:
    """How bodies lie at the end."""

    poses: np.ndarray
    """(N, 7)"""
    still: np.ndarray
    """(N,) whether they rest."""


def places(bodies: int, tiles: int, seed: int) -> np.ndarray:
    """(N, 2) beside borders, a third of them beside corners; one a square of 1.5 m, so that none lies on another."""
    rng = np.random.default_rng(seed)
    draws = 4 * bodies
    lines = SIZE * np.arange(1, tiles)
    xy = rng.choice(lines, (draws, 2)) + rng.normal(size=(draws, 2)) * 0.4
    free = rng.uniform(3.0, tiles * SIZE - 3.0, (draws, 2))
    xy = np.where(rng.integers(0, 3, draws)[:, None] == [[0, 1]], free, xy)
    _, first = np.unique(np.floor(xy / 1.5), axis=0, return_index=True)
    return xy[np.sort(first)][:bodies]


def drop(ground: Shape, starts: np.ndarray, steps: int) -> Fallen:
    """Boxes, balls and cylinders dropped by some decimetres."""
    world = thud.World(gravity=(0, 0, -9.81))
    world.add(ground, static=True)
    shapes = [thud.Box((0.3, 0.25, 0.2)), thud.Sphere(0.3), thud.Cylinder(0.3, 0.2)]
    handles = [world.add(shapes[k % 3], thud.Pose(start), mass=2.0, friction=0.9) for k, start in enumerate(starts)]
    world.set_turning_friction(handles, rolling=0.02)  # so that balls come to rest, too
    for _ in range(steps):
        world.step(1 / 100)
    return Fallen(np.asarray(world.poses(handles)), np.linalg.norm(world.velocities(handles)[0], axis=1) < 0.05)


def control(kind: str, ground: Shape, heights: np.ndarray, starts: np.ndarray, steps: int) -> Fallen:
    """The same ground and bodies, but for last bits and for the order of what the ground is made of."""
    if kind == "heights":
        return drop(ground, starts + [BESIDE, 0.0, 0.0], steps)
    if kind == "triangles":
        order = np.random.default_rng(1).permutation(len(ground.faces))
        return drop(thud.TriangleMesh(ground.vertices, np.asarray(ground.faces)[order]), starts, steps)
    # All turned by half a turn about the vertical, in which the bodies look alike, and back.
    far = CELL * (np.array(heights.shape[::-1]) - 1)
    turned = drop(whole_shape(heights[::-1, ::-1].copy(), kind), np.column_stack([far - starts[:, :2], starts[:, 2]]), steps)
    poses = turned.poses.copy()
    poses[:, :2], poses[:, 4:6] = far - poses[:, :2], -poses[:, 4:6]
    return Fallen(poses, turned.still)


@dataclass
class Rested:
    """What came of bodies at borders."""

    gaps: np.ndarray
    """(N,) metres from where it lies on one shape; of those at rest on both."""
    control: np.ndarray
    """(M,) the same of the control."""
    sunk: int
    """Bodies whose middle is less than 0.1 m above the ground."""

    def apart(self) -> tuple[int, int]:
        """How many lie elsewhere: of the bodies, of the control."""
        return int((self.gaps > SAME).sum()), int((self.control > SAME).sum())

    def holds(self) -> bool:
        """Whether all that is judged is so."""
        own, other = self.apart()
        # Two draws of one share differ by three standard deviations in one of 370 runs.
        return self.sunk == 0 and own <= other + 3.0 * np.sqrt(own + other + 1.0) and float(np.median(self.gaps)) < 1e-6


def rested(path: Path, kind: str, bodies: int, steps: int, tiles: int, seed: int = 0) -> Rested:
    """Drop bodies on tiles, on the same ground as one shape, and on the control."""
    heights = np.round(0.08 * hilly(tiles) / QUANTUM) * QUANTUM
    whole = whole_shape(heights, kind)
    with open_terrain(path, heights, kind) as terrain:
        xy = places(bodies, tiles, seed)
        starts = np.column_stack([xy, terrain.height(xy) + 0.5])
        tiled, one = drop(terrain, starts, steps), drop(whole, starts, steps)
        again = control(kind, whole, heights, starts, steps)
        gaps, other_gaps = (np.abs(other.poses - one.poses)[other.still & one.still].max(axis=1) for other in (tiled, again))
        sunk = tiled.poses[:, 2] < terrain.height(tiled.poses[:, :2]) + 0.1
    return Rested(gaps, other_gaps, int(sunk.sum()))


@dataclass
class Slid:
    """What a box felt that slid across borders."""

    places: int
    """Of its way that were asked for contacts."""
    tilted: float
    """The largest component of a normal that should be upright."""
    depth: float
    """Metres, the largest error of a depth."""
    missing: int
    """Places without contact."""
    height: float
    """Metres, by how much it left its height in a world."""
    speed: float
    """Metres a second, by how much it left its speed."""
    turned: float
    """By how much its quaternion did."""
    arrived: bool
    """Whether it is past the last border."""

    def holds(self) -> bool:
        """Whether no border was felt."""
        exact = self.tilted < 1e-12 and self.depth < 1e-9 and self.missing == 0
        return exact and self.arrived and self.height < 0.01 and self.speed < 1e-3 and self.turned < 1e-3


def slid(path: Path, kind: str, borders: int) -> Slid:
    """Slide a box over flat tiles in a row: place by place, lying straight and turned, then in a world."""
    tiles = borders + 1
    heights = np.zeros((CELLS + 1, tiles * CELLS + 1))
    box = thud.Box((0.5, 0.4, 0.3))
    with open_terrain(path, heights, kind) as terrain:
        x = np.linspace(2.0, tiles * SIZE - 2.0, 40 * tiles)
        at = np.column_stack([x, np.full(len(x), 11.9), np.full(len(x), 0.3 - 1e-4)])
        tilted, depth, missing = 0.0, 0.0, 0
        for angle in (0.0, 0.3):
            turn = (np.cos(angle / 2), 0.0, 0.0, np.sin(angle / 2))
            found = terrain.contacts(box, thud.Pose(at, np.tile(turn, (len(x), 1))), margin=0.01)
            tilted = max(tilted, float(np.abs(found.normal - [0.0, 0.0, 1.0]).max()))
            depth = max(depth, float(np.abs(found.depth - 1e-4).max()))
            missing += len(x) - len(np.unique(found.row))
        world = thud.World(gravity=(0, 0, -9.81))
        world.add(terrain)
        body = world.add(box, thud.Pose((2.0, 11.9, 0.3)), mass=1.0, friction=0.0, velocity=(30.0, 0.0, 0.0))
        for _ in range(int(60 * (tiles * SIZE - 6.0) / 30.0)):
            world.step(1 / 60)
        pose, speed = np.asarray(world.poses([body]))[0], world.velocities([body])[0][0]
    return Slid(
        2 * len(x), tilted, depth, missing, abs(float(pose[2]) - 0.3), float(np.abs(speed - [30.0, 0.0, 0.0]).max()),
        float(np.abs(np.abs(pose[3:]) - [1.0, 0.0, 0.0, 0.0]).max()), bool(pose[0] > (tiles - 1) * SIZE),
    )  # fmt: skip


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="standard")
    parser.add_argument("--kind", choices=KINDS, default=None)
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    bodies, steps, tiles, borders = SIZES[chosen.size]
    wrong = 0
    for kind in KINDS if chosen.kind is None else (chosen.kind,):
        with tempfile.TemporaryDirectory() as folder:
            lie = rested(Path(folder) / "hills", kind, bodies, steps, tiles, chosen.seed)
            box = slid(Path(folder) / "flat", kind, borders)
        print(f"{kind}: {bodies} bodies, {len(lie.gaps)} at rest, {lie.sunk} sunk; metres from where they lie on one shape:")
        for what, gaps, count in zip(("tiles", "control"), (lie.gaps, lie.control), lie.apart(), strict=True):
            median, tenth, worst = np.quantile(gaps, (0.5, 0.9, 1.0))
            print(f"  {what}: median {median:.1e}, nine of ten {tenth:.1e}, worst {worst:.1e}; {count} by more than {SAME:g}")
        print(f"  {borders} borders: {box}", flush=True)
        wrong += (not lie.holds()) + (not box.holds())
    print(wrong, "wrong")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
