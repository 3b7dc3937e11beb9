"""Random characters in random worlds, on demand: `python -m tests.dynamics.characters --moves 10000`.

A world is a closed cell, divided by thin walls that reach from side to side, with bodies of all kinds strewn in and hills for a
floor. After each move a character must be clear of everything, by brute force over all triangles and over points of its own
surface, and on the same side of every wall as before: there is no way round.
"""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field

import numpy as np
from scipy.spatial import ConvexHull

import thud
from tests.oracles.characters import clearance
from thud._core.arrays import Floats
from thud.dynamics import Character, MoveStatus

DT = 1.0 / 60.0
HALF = 3.0
THIN = 0.002


@dataclass
class Scene:
    """A world, and what it is made of as the checks see it."""

    world: thud.World
    triangles: list[Floats] = field(default_factory=list)
    """(T, 3, 3) of all that has flat faces."""
    solids: list[Floats] = field(default_factory=list)
    """(F, 4) outward planes of each box and hull."""
    planes: list[tuple[Floats, float]] = field(default_factory=list)
    """Of the thin walls: normal and offset."""
    curved: list[tuple[thud.Shape, Floats, Floats]] = field(default_factory=list)
    """Spheres and capsules: shape, position, axis."""
    heights: Floats | None = None

    def add(self, shape: thud.Shape, position: Floats, quaternion: Floats) -> None:
        """A static body."""
        pose = thud.Pose(position, quaternion)
        self.world.add(shape, pose, static=True)
        turn = pose.rows[0, :9].reshape(3, 3)
        if isinstance(shape, (thud.Sphere, thud.Capsule)):
            self.curved.append((shape, position, turn[:, 2]))
            return
        vertices, faces = _triangles(shape)
        placed = vertices @ turn.T + position
        self.triangles.append(placed[faces])
        if not isinstance(shape, thud.TriangleMesh):
            self.solids.append(ConvexHull(placed).equations)


def _triangles(shape: thud.Shape) -> tuple[Floats, np.ndarray]:
    if isinstance(shape, thud.Box):
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)]) * np.asarray(shape.half_extents)
        return _hull_faces(corners)
    if isinstance(shape, thud.ConvexHull):
        return _hull_faces(np.asarray(shape.points))
    assert isinstance(shape, thud.TriangleMesh)
    return np.asarray(shape.vertices), np.asarray(shape.faces)


def _hull_faces(points: Floats) -> tuple[Floats, np.ndarray]:
    return points, ConvexHull(points).simplices


def _turn(rng: np.random.Generator) -> Floats:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def scene(rng: np.random.Generator) -> Scene:
    """At random."""
    found = Scene(thud.World())
    level = np.array([1.0, 0.0, 0.0, 0.0])
    for axis in range(3):
        for sign in (-1.0, 1.0):
            half, at, normal = np.full(3, HALF + 0.1), np.zeros(3), np.zeros(3)
            half[axis], at[axis], normal[axis] = THIN, sign * (HALF + THIN), sign
            found.add(thud.Box(half), at, level)
            found.planes.append((normal, HALF))
    for _ in range(int(rng.integers(0, 3))):
        # A thin wall through the whole cell: a box, a hull or two triangles.
        q = _turn(rng)
        at = rng.uniform(-1.0, 1.0, 3)
        normal = thud.Pose(at, q).rows[0, :9].reshape(3, 3)[:, 2]
        kind = int(rng.integers(3))
        if kind == 0:
            wall: thud.Shape = thud.Box((12.0, 12.0, THIN))
        elif kind == 1:
            wall = thud.ConvexHull([[12 * x, 12 * y, THIN * z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        else:
            wall = thud.TriangleMesh([[-12, -12, 0], [12, -12, 0], [12, 12, 0], [-12, 12, 0]], [[0, 1, 2], [0, 2, 3]])
        found.add(wall, at, q)
        found.planes.append((normal, float(normal @ at)))
    for _ in range(int(rng.integers(0, 10))):
        size, kind = rng.uniform(0.05, 0.8, 3), int(rng.integers(5))
        cloud = rng.normal(size=(14, 3)) * size
        made: list[thud.Shape] = [
            thud.Box(size), thud.Sphere(size[0]), thud.Capsule(size[0], size[1]), thud.ConvexHull(cloud),
            thud.TriangleMesh((rng.uniform(-1.5, 1.5, (5, 1, 3)) + rng.normal(size=(5, 3, 3)) * 0.5).reshape(-1, 3),
                              np.arange(15).reshape(-1, 3)),
        ]  # fmt: skip
        found.add(made[kind], rng.uniform(-HALF, HALF, 3), _turn(rng))
    if rng.random() < 0.6:
        n, spacing = 12, 2.0 * (HALF + 0.5) / 12
        heights = -2.0 + np.cumsum(rng.normal(size=(n + 1, n + 1)) * 0.15, axis=int(rng.integers(2)))
        ground = thud.HeightField(heights, spacing, (-HALF - 0.5, -HALF - 0.5, 0.0))
        vertices, faces, _ = ground.surface()
        found.triangles.append(vertices[faces])
        found.world.add(ground if rng.random() < 0.5 else thud.TriangleMesh(vertices, faces), static=True)
        found.heights = vertices[faces]
    return found


def _ball_points(count: int) -> Floats:
    """Spread over the unit sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, math.pi * (1.0 + math.sqrt(5.0)) * k
    rho = np.sqrt(1.0 - z * z)
    return np.stack([rho * np.cos(angle), rho * np.sin(angle), z], axis=1)


_BALL = _ball_points(3000)


def gap(found: Scene, center: Floats, radii: Floats) -> float:
    """How clear an ellipsoid is of everything, in its radii; negative inside."""
    if any((planes[:, :3] @ center + planes[:, 3] < 0.0).all() for planes in found.solids):
        return -1.0
    least = clearance(center, radii, np.concatenate(found.triangles))
    points = center + _BALL * radii
    for shape, at, axis in found.curved:
        half = shape.half_length if isinstance(shape, thud.Capsule) else 0.0
        foot = at + np.clip((points - at) @ axis, -half, half)[:, None] * axis
        # A body inside the ellipsoid touches none of its points.
        inner = at + np.clip((center - at) @ axis, -half, half) * axis
        swallowed = float(np.linalg.norm((inner - center) / radii)) < 1.0
        own = float((np.linalg.norm(points - foot, axis=1) - shape.radius).min()) / radii.min()  # type: ignore[attr-defined]
        least = min(least, -1.0 if swallowed else own)
    return least


def above(found: Scene, center: Floats) -> bool:
    """Whether the ground is below a point, or not there."""
    if found.heights is None:
        return True
    a, b, c = (found.heights[:, k] for k in range(3))
    e, f, p = (b - a)[:, :2], (c - a)[:, :2], center[:2] - a[:, :2]
    det = e[:, 0] * f[:, 1] - e[:, 1] * f[:, 0]
    u, v = (p[:, 0] * f[:, 1] - p[:, 1] * f[:, 0]) / det, (e[:, 0] * p[:, 1] - e[:, 1] * p[:, 0]) / det
    under = np.flatnonzero((u >= 0) & (v >= 0) & (u + v <= 1))
    if not len(under):
        return False
    k = under[0]
    return bool(center[2] > a[k, 2] + u[k] * (b - a)[k, 2] + v[k] * (c - a)[k, 2])


def problems(moves: int, seed: int) -> tuple[list[str], dict[str, int]]:
    """What went wrong, and counts of what happened."""
    rng = np.random.default_rng(seed)
    found: list[str] = []
    seen = {"moves": 0, "hits": 0, "grounded": 0, "steps": 0, "limited": 0}
    while seen["moves"] < moves:
        place = scene(rng)
        wanted = min(20, moves - seen["moves"])
        radii = rng.uniform(0.1, 0.45, (wanted, 3))
        starts = np.empty((wanted, 3))
        for k in range(wanted):
            starts[k] = rng.uniform(-HALF, HALF, 3)
            for _ in range(50):
                if gap(place, starts[k], radii[k]) > 0.02 and above(place, starts[k]):
                    break
                starts[k] = rng.uniform(-HALF, HALF, 3)
                radii[k] *= 0.95
            else:
                radii[k] = 0.01
        method = "walk" if rng.random() < 0.8 else "slides"
        character = Character(radii, starts, method=method, step_height=float(rng.uniform(0.0, 0.5)))
        # Most fall to the ground first, by up to 4 m in a move.
        character.fall[:] = np.where(rng.random(wanted) < 0.7, -rng.uniform(10.0, 240.0, wanted), 0.0)
        for _ in range(25):
            if seen["moves"] >= moves:
                break
            before = character.position.copy()
            fits = np.array([gap(place, before[k], radii[k]) > 0.0 and above(place, before[k]) for k in range(wanted)])
            motion = rng.normal(size=(wanted, 3)) * 10.0 ** rng.uniform(-2.0, 0.5, (wanted, 1))
            motion[:, 2] *= np.where(rng.random(wanted) < 0.2, 0.3, 0.0)
            if rng.random() < 0.1:
                character.jump(rng.uniform(0.0, 8.0))
            moved = character.move(place.world, motion, DT)
            seen["moves"] += wanted
            seen["hits"] += len(moved.hits.row)
            seen["grounded"] += int(moved.grounded.sum())
            seen["steps"] += int((moved.hits.kind == 1).sum())
            seen["limited"] += int((moved.status == MoveStatus.LIMITED).sum())
            for k in np.flatnonzero(fits).tolist():
                said = f"seed {seed}, move {seen['moves']}, character {k} of {method}: "
                clear = gap(place, moved.position[k], radii[k])
                if clear < 0.0:
                    found.append(said + f"ends {clear:.2e} inside")
                if not above(place, moved.position[k]):
                    found.append(said + "ends below the ground")
                for normal, offset in place.planes:
                    if (before[k] @ normal > offset) != (moved.position[k] @ normal > offset):
                        found.append(said + f"passes the wall {normal.round(3).tolist()}")
    return found, seen


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moves", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    wrong, counts = problems(options.moves, options.seed)
    print(counts, *wrong[:20], f"{len(wrong)} problems", sep="\n")
    raise SystemExit(bool(wrong))
