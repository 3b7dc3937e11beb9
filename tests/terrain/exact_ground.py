"""Queries of rough, folded, tunnelled and quadrilateral surfaces against the ground by brute force.

    python -m tests.terrain.exact_ground --size ci | standard

The oracle (`tests/oracles/bilinear_ground.py`) is written from the docs' sentence on what ground is, and shares nothing else
with the code: least distance of a shape from all columns, for shapes whose distance function is known. Judged are:

- whether they meet: none missed, none invented;
- distances, and for spheres and capsules the normals;
- contacts: both points on their surfaces, the sign of the deepest, the deepest depth and normal of a sphere whose centre is
  outside.

All to TOLERANCE of a patch's size. What lies within it of touching is counted, not judged.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from functools import cache

import numpy as np

import thud
from tests.oracles.bilinear_ground import (
    Columns,
    border_columns,
    columns_of,
    local,
    nearest_ground,
    nearest_skin,
    points_in_ground,
    shape_distance,
)
from tests.oracles.displaced import grid_surface
from thud.pose import as_poses
from thud.terrain import DisplacedSurface, from_field, from_heights

SIZES = {"small": 80, "ci": 160, "standard": 20_000}

#: In units of the largest patch's diagonal.
TOLERANCE = 1e-6

#: Metres.
MARGIN = 0.1


def rough(seed: int, **options) -> DisplacedSurface:
    """Heights of 0.3 m of noise, one a metre."""
    return from_heights(0.3 * np.random.default_rng(seed).normal(size=(13, 13)), 1.0, samples=4, **options).surface


def tunnel(points: np.ndarray) -> np.ndarray:
    """A hill with a tunnel through it."""
    x, y, z = points.T
    hill = 3.0 * np.exp(-(x**2 + y**2) / 12)
    return np.maximum(0.7 * (z - hill), 1.0 - np.hypot(y, z - 0.6))


def roof(points: np.ndarray) -> np.ndarray:
    """A slab of 1.5 m over a floor 2 m below it."""
    x, y, z = points.T
    slab = np.maximum(np.maximum(np.abs(z - 2.75) - 0.75, np.abs(x) - 3.0), np.abs(y) - 2.6)
    return np.minimum(slab, z + 0.2 * np.sin(x))


def cliff() -> DisplacedSurface:
    """A step of 6 m over 1 m, rough, and twisted at its sides, whose faces are sharp quadrilaterals."""
    heights = np.where(np.arange(7) > 2, 6.0, 0.0) + 0.5 * np.random.default_rng(2).normal(size=(6, 7))
    return from_heights(heights, 1.0, samples=2, thickness=3.0).surface


@cache
def surfaces() -> dict[str, DisplacedSurface]:
    """Ten of them."""

    def grid(seed: int, **options) -> DisplacedSurface:
        return grid_surface(np.random.default_rng(seed), **options)

    return {
        "steep": cliff(),
        "rough": rough(0),
        "thin and rough": rough(1, thickness=0.4),
        "flat": from_heights(np.zeros((9, 9)), 1.0, samples=4, thickness=0.5).surface,
        "groove": from_heights(np.tile(np.abs(np.arange(9) - 4.3), (9, 1)), 1.0, samples=4).surface,
        "folded": grid(3, overhang=4.0, apart=True, side=4, quads=(4, 2), skew=0.15, bend=0.15),
        "quadrilaterals": grid(4, quadrilaterals=True, overhang=3.0, side=4, quads=(4, 2), skew=0.15, bend=0.15),
        "tunnelled": from_field(tunnel, [-5, -5, -2], [5, 5, 4], cell=1.0, samples=2).surface,
        # The columns of the tunnel's roof end above the hill.
        "tunnelled and thick": from_field(tunnel, [-5, -5, -2], [5, 5, 4], cell=1.0, samples=2, thickness=2.0).surface,
        "roofed": from_field(roof, [-4.5, -4.5, -1.5], [4.5, 4.5, 4.5], cell=1.0, samples=2, thickness=None).surface,
    }


@cache
def truth_of(name: str) -> tuple[Columns, Columns]:
    """Columns and those at the border."""
    columns = columns_of(surfaces()[name], surfaces()[name].ground_thickness)
    return columns, border_columns(columns)


@dataclass
class Tally:
    """What came out."""

    poses: int = 0
    hits: int = 0
    buried: int = 0
    within: int = 0
    nearer: int = 0
    contacts: int = 0
    wrong: list = field(default_factory=list)
    worst: dict = field(default_factory=dict)

    def judge(self, what: str, value: float, limit: float, where) -> None:
        """Note a figure that must not exceed its limit."""
        self.worst[what] = max(self.worst.get(what, 0.0), float(value))
        if not value <= limit:
            self.wrong.append((what, float(value), limit, where))


def random_shape(rng: np.random.Generator):
    """Of 0.2 to 1 m."""
    size = rng.uniform(0.15, 0.6)
    kind = rng.integers(4)
    if kind == 0:
        return thud.Sphere(size)
    if kind == 1:
        return thud.Box(size * rng.uniform(0.4, 1.4, 3))
    if kind == 2:
        return thud.Capsule(0.5 * size, size)
    return thud.Cylinder(size, 0.7 * size)


def run(count: int, seed: int = 0, *, with_contacts: bool = True, progress: bool = False) -> Tally:
    """Try `count` poses, over all surfaces alike."""
    rng, tally = np.random.default_rng(seed), Tally()
    # Two shapes a surface in CI.
    batch, told = (10 if count <= SIZES["ci"] else 20), 0
    names = list(surfaces())
    while tally.poses < count:
        name = names[(tally.poses // batch) % len(names)]
        one_batch(rng, name, min(batch, count - tally.poses), tally, with_contacts)
        if progress and len(tally.wrong) > told:
            print(*tally.wrong[told:], sep="\n", file=sys.stderr, flush=True)
            told = len(tally.wrong)
        if progress and tally.poses % 800 == 0:
            print(
                tally.poses, tally.hits, tally.buried, tally.within, len(tally.wrong), tally.worst, file=sys.stderr, flush=True
            )
    return tally


def one_batch(rng: np.random.Generator, name: str, count: int, tally: Tally, with_contacts: bool) -> None:
    """Some poses of one shape near one surface."""
    surface, (columns, borders) = surfaces()[name], truth_of(name)
    shape = random_shape(rng)
    every = columns.corners.reshape(-1, 3)
    picked = rng.integers(len(every), size=count)
    # Around the sheet, and down the columns.
    down = rng.uniform(0.0, 1.3, count) * (rng.random(count) < 0.25)
    at = every[picked] - (down * columns.thickness)[:, None] * columns.directions.reshape(-1, 3)[picked]
    up = rng.uniform(0.0, 1.0, count) * (rng.random(count) < 0.5)
    at = (
        at
        + up[:, None]
        * columns.directions.reshape(-1, 3)[picked]
        / np.linalg.norm(columns.directions.reshape(-1, 3)[picked], axis=1)[:, None]
    )
    at = at + rng.normal(size=(count, 3)) * rng.choice([0.1, 0.4, 1.0], (count, 1))
    quaternion = rng.normal(size=(count, 4))
    poses = np.column_stack([at, quaternion / np.linalg.norm(quaternion, axis=1, keepdims=True)])
    rows = as_poses(poses, "poses")
    room = TOLERANCE * columns.size
    truth, point, _patch, place = nearest_ground(columns, shape, rows)
    sheet = nearest_ground(columns, shape, rows, sheet_only=True)[0]
    met = thud.intersects(surface, shape, None, poses)
    found = thud.distance(surface, shape, None, poses)
    for k in np.flatnonzero((found.distance > 0) & (found.distance < truth - room)):
        # Two places of one quarter of a patch may be nearest, of which the oracle follows one. A ground point that is nearer
        # than its own proves it.
        witness = found.point_a[k : k + 1]
        off = shape_distance(shape, local(witness[:, None], rows[k : k + 1]))[0, 0] - found.distance[k]
        if abs(off) <= room and points_in_ground(columns, witness)[0] <= room:
            truth[k], point[k] = found.distance[k], witness[0]
            tally.nearer += 1
    sure = np.abs(truth) > room
    tally.poses += count
    tally.hits += int((truth < -room).sum())
    tally.buried += int(((truth < -room) & (sheet > room)).sum())
    tally.within += int((~sure).sum())
    for k in range(count):
        where = (name, shape, poses[k].tolist(), float(truth[k]), place[k].tolist())
        if sure[k]:
            tally.judge("meets" if truth[k] < 0 else "invented", float(met[k] != (truth[k] < 0)), 0.0, where)
            overlapping = found.status[k] == thud.results.Status.OVERLAPPING
            tally.judge("status", float(overlapping != (truth[k] < 0)), 0.0, where)
        if truth[k] > room and found.distance[k] > 0:
            tally.judge("distance", abs(found.distance[k] - truth[k]), room, where)
            if truth[k] > 0.05 and isinstance(shape, thud.Sphere):
                n = rows[k, 9:] - point[k]
                n /= np.linalg.norm(n)
                # Another place may be as near.
                again = float(np.linalg.norm(rows[k, 9:] - found.point_a[k])) - shape.radius
                off = np.linalg.norm(n - found.normal[k]) if np.linalg.norm(point[k] - found.point_a[k]) < 0.05 else 0.0
                tally.judge("normal", off, 1e-4, where)
                tally.judge("witness", abs(again - truth[k]), room, where)
    if with_contacts:
        judge_contacts(surface, columns, borders, shape, poses, rows, truth, sheet, tally, name)


def judge_contacts(surface, columns, borders, shape, poses, rows, truth, sheet, tally: Tally, name: str) -> None:
    """Points on their surfaces, signs, and the depth of a sphere."""
    room = TOLERANCE * columns.size
    touch = thud.contacts(surface, shape, None, poses, margin=MARGIN)
    tally.contacts += len(touch.depth)
    half = 0.5 * touch.depth[:, None] * touch.normal
    on_ground = nearest_skin(columns, borders, touch.point + half)
    on_shape = np.abs(shape_distance(shape, local((touch.point - half)[:, None], rows[touch.row])[:, 0]))
    for k in range(len(touch.depth)):
        row = touch.row[k]
        where = (name, shape, poses[row].tolist(), float(truth[row]), float(touch.depth[k]))
        tally.judge("contact on ground", on_ground[k], 2.0 * room, where)
        tally.judge("contact on shape", on_shape[k], 2.0 * room, where)
    for row in range(len(poses)):
        own = touch.depth[touch.row == row]
        where = (name, shape, poses[row].tolist(), float(truth[row]), own.tolist())
        if truth[row] > room:
            tally.judge("sign", max(float(own.max(initial=-1.0)), 0.0), 0.0, where)
            if truth[row] < MARGIN - room:
                tally.judge("contact within the margin", abs(own.max(initial=-9.0) + truth[row]), room, where)
            if truth[row] > MARGIN + room:
                tally.judge("contact beyond the margin", float(len(own)), 0.0, where)
        elif truth[row] < -room:
            tally.judge("overlap without contact", float(not (own > -room).any()), 0.0, where)


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="standard")
    parser.add_argument("--count", type=int, default=None)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--no-contacts", action="store_true")
    chosen = parser.parse_args()
    count = chosen.count or SIZES[chosen.size]
    tally = run(count, chosen.seed, with_contacts=not chosen.no_contacts, progress=True)
    for line in tally.wrong[:20]:
        print(line)
    print(
        tally.poses,
        "poses",
        tally.hits,
        "hits",
        tally.buried,
        "buried",
        tally.within,
        "within",
        tally.contacts,
        "contacts",
        tally.nearer,
        "nearer than the oracle",
    )
    print(len(tally.wrong), "wrong; worst:", tally.worst)
    return int(len(tally.wrong) > 0)


if __name__ == "__main__":
    sys.exit(main())
