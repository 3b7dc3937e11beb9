"""No collision with a displaced surface is missed, and no alarm is raised without one.

    python -m tests.terrain.never_a_miss --size ci | standard | full

Each bilinear patch is split 8 x 8; the triangles leave it by at most h = |twist| / 256. Random compounds in random poses over
surfaces with overhangs are tried against them:

- a part that is more than h deep in the sheet (shrunk by h it still touches it) must be reported;
- a part reported must be within h of the sheet, or in the ground: within h of its bottom or sides, or with its centre inside by
  the oracle of `tests/oracles/bilinear_ground.py`;
- a part with its centre in the ground must be reported.

What lies within h is counted, not judged.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass

import numpy as np

import thud
from tests.oracles.bilinear_ground import Columns, columns_of, points_in_ground, skin_mesh
from tests.oracles.displaced import grid_surface
from thud.terrain import DisplacedSurface, surface_collision
from thud.terrain.tessellate import tessellate

SIZES = {"small": 200, "ci": 3_000, "standard": 100_000, "full": 1_000_000}

#: Poses tried with one compound on one surface, and how many of those away from the sheet are judged: the oracle of the
#: ground is slow.
BATCH = 125
GROUND_TRIES = 6


@dataclass
class Tally:
    """What came out."""

    poses: int = 0
    hits: int = 0
    buried: int = 0
    within: int = 0
    missed: int = 0
    false_alarms: int = 0
    by_paper: int = 0
    paper_differs: int = 0


def surfaces(rng: np.random.Generator) -> DisplacedSurface:
    """One of several kinds, most of them with overhangs."""
    kinds: list[dict] = [
        {"overhang": 4.0, "apart": True, "side": 8, "quads": (4, 2)},
        {"overhang": 3.0, "apart": True, "side": 16, "height": 1.0},
        {"overhang": 5.0, "free": True, "side": 8, "quads": (5, 2), "skew": 0.2},
        {"quadrilaterals": True, "overhang": 3.5, "side": 8, "quads": (4, 2)},
        {"side": 4, "quads": (5, 4), "height": 0.8},
        {"side": 8, "skew": 0.5, "height": 0.6},
        {"side": 1, "quads": (8, 6), "cell": 1.0},
        {"side": 2, "quads": (6, 4), "cell": 2.0, "thickness": 0.8},
        {"side": 8, "apart": True, "overhang": 3.0, "thickness": 0.5},
        {
            "side": 4, "quads": (3, 2), "apart": True, "details": rng.normal(size=(1, 8, 8)) * 0.05, "detail_ratio": 2,
            "materials": np.zeros(12, int), "overhang": 3.0,
        },
    ]  # fmt: skip
    for _ in range(100):
        try:
            return grid_surface(rng, **kinds[rng.integers(len(kinds))])
        except thud.ThudError:
            # A direction that skew and bend have turned to the back of a primitive.
            continue
    raise AssertionError("no surface")


def shrunk(part: thud.shapes.shape.Shape, h: float) -> thud.shapes.shape.Shape | None:
    """A shape all of which is more than h inside the part; None if there is none."""
    if isinstance(part, thud.Sphere):
        return thud.Sphere(part.radius - h) if part.radius > h else None
    if isinstance(part, thud.Box):
        half = np.asarray(part.half_extents) - h
        return thud.Box(half) if (half > 0).all() else None
    if isinstance(part, thud.Capsule):
        return thud.Capsule(part.radius - h, part.half_length) if part.radius > h else None
    if isinstance(part, thud.Cylinder):
        return thud.Cylinder(part.radius - h, part.half_length - h) if min(part.radius, part.half_length) > h else None
    assert isinstance(part, thud.ConvexHull)
    center = part.centroid
    planes = part.parts()[0].hull.planes
    inner = float((planes[:, 3] - planes[:, :3] @ center).min())
    scale = 1.0 - 1.001 * h / inner
    return thud.ConvexHull(center + scale * (np.asarray(part.points) - center)) if scale > 0.05 else None


def random_part(rng: np.random.Generator) -> thud.shapes.shape.Shape:
    """Of 0.1 to 1 m."""
    size = rng.uniform(0.1, 0.6)
    kind = rng.integers(5)
    if kind == 0:
        return thud.Sphere(size)
    if kind == 1:
        return thud.Box(size * rng.uniform(0.3, 1.5, 3))
    if kind == 2:
        return thud.Capsule(0.5 * size, size)
    if kind == 3:
        return thud.Cylinder(size, 0.6 * size)
    return thud.ConvexHull(rng.normal(size=(12, 3)) * size)


def run(count: int, seed: int = 0, progress: bool = False) -> Tally:
    """Try `count` poses."""
    rng = np.random.default_rng(seed)
    tally = Tally()
    while tally.poses < count:
        surface = surfaces(rng)
        sheet = thud.TriangleMesh(*tessellate(surface, split=8))
        columns = columns_of(surface, surface.ground_thickness, as_sampled=True)
        skin = skin_mesh(columns, 8)
        points = np.concatenate([surface.samples(q).point.reshape(-1, 3) for q in range(len(surface.quads))])
        h = largest_deviation(surface)
        for _ in range(4):
            one_batch(rng, surface, (sheet, skin, columns), points, h, min(BATCH, count - tally.poses), tally)
            if tally.poses >= count:
                break
        if progress:
            print(tally, file=sys.stderr, flush=True)
    return tally


def largest_deviation(surface: DisplacedSurface) -> float:
    """h: a quarter of the twist, divided by 8^2."""
    most = 0.0
    for quad in range(len(surface.quads)):
        p = surface.samples(quad).point
        twist = p[1:, 1:] - p[1:, :-1] - p[:-1, 1:] + p[:-1, :-1]
        most = max(most, float(np.linalg.norm(twist, axis=-1).max()))
    return most / 4.0 / 64.0


def one_batch(rng, surface, truth: tuple[thud.TriangleMesh, thud.TriangleMesh, Columns], points, h, count, tally) -> None:
    """Some poses of one compound, near the surface."""
    sheet, skin, columns = truth
    parts = [random_part(rng) for _ in range(rng.integers(1, 5))]
    inner = np.column_stack([rng.normal(size=(len(parts), 3)) * 0.6, rng.normal(size=(len(parts), 4))])
    inner[:, 3:] /= np.linalg.norm(inner[:, 3:], axis=1, keepdims=True)
    shape = thud.Compound(parts, inner)
    poses = np.column_stack([points[rng.integers(len(points), size=count)], rng.normal(size=(count, 4))])
    poses[:, :3] += rng.normal(size=(count, 3)) * rng.choice([0.05, 0.3, 1.0, 2.0], (count, 1))
    poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
    said = thud.intersects(surface, shape, None, poses)
    must, may = np.zeros(count, bool), np.zeros(count, bool)
    placed = []
    for part, pose in zip(parts, inner):
        rows = (thud.Pose.from_rows(thud.pose.as_poses(poses, "p")) @ thud.Pose.from_rows(thud.pose.as_poses(pose, "p"))).rows
        placed.append(rows)
        at = thud.Pose.from_rows(rows)
        may |= thud.distance(sheet, part, None, at, max_distance=10 * h).distance <= 1.0001 * h + 1e-9
        small = shrunk(part, 1.0001 * h + 1e-9)
        if small is not None:
            must |= thud.intersects(sheet, small, None, at)
    # What the ground holds, where the sheet does not decide.
    unsettled = np.flatnonzero(~must & ~may)
    judged = np.ones(count, bool)
    judged[unsettled[GROUND_TRIES:]] = False
    unsettled = unsettled[:GROUND_TRIES]
    for part, rows in zip(parts, placed):
        if len(unsettled) == 0:
            continue
        at = thud.Pose.from_rows(rows[unsettled])
        may[unsettled] |= thud.distance(skin, part, None, at, max_distance=10 * h).distance <= 1.0001 * h + 1e-9
        center = part.parts()[0].center
        inside = points_in_ground(columns, np.einsum("nij,j->ni", rows[unsettled, :9].reshape(-1, 3, 3), center) + at.position)
        must[unsettled] |= inside < 1e-9
        may[unsettled] |= inside < 1e-7
        tally.buried += int((inside < 1e-9).sum())
    tally.poses += count
    tally.hits += int(said.sum())
    tally.missed += int((must & ~said & judged).sum())
    tally.false_alarms += int((said & ~may & judged).sum())
    tally.within += int((may & ~must).sum())
    # The paper's algorithms, with what is beyond them, agree with the walk.
    for row in rng.choice(count, min(count, 4), replace=False):
        for method in ("plain", "multiresolution", "auto"):
            tally.by_paper += 1
            tally.paper_differs += int(surface_collision(surface, shape, poses[row], method=method).collides != said[row])


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="standard")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tally = run(SIZES[chosen.size], chosen.seed, progress=True)
    print(tally)
    return int(tally.missed + tally.false_alarms + tally.paper_differs > 0)


if __name__ == "__main__":
    sys.exit(main())
