"""Random scenes in images, against an oracle that knows nothing of them: no pair is missed whose common part holds a ball of
the stated size, none is reported that is farther apart than the edges' offset.

`python -m tests.imagespace.never_missed --scenes 10000` looks at 10,000 scenes; the tests at 200. Ten kinds take turns: equal
meshes in one place, equal ones less than a pixel apart, one inside another, touching ones, thin overlaps, concave ones, and
heaps of convex ones. Each scene is looked at three times: plainly, with `precision`, and with `exact`.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thud
from tests.oracles.common_balls import Part, box_overlap, common_ball, solid_distance
from thud.imagespace import interference

SIZES = {"ci": 200, "standard": 10_000, "full": 100_000}

#: What a plain look must find: a ball of this part of the diagonal of the two boxes' overlap.
SHARE = 1.0 / 28.0

#: Rounding of the oracle and of poses, metres.
ROUNDING = 1e-7

KINDS = ("equal", "nearly equal", "nested", "touching", "thin", "concave", "heap", "heap", "equal concave", "nested concave")


@dataclass
class Tally:
    """What was seen."""

    scenes: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    must: Counter[str] = field(default_factory=Counter)
    """Pairs that had to be found, by way of looking."""
    shallow: int = 0
    """Pairs that share something, but less than a plain look must find, and how many it found all the same."""
    shallow_found: int = 0
    missed: int = 0
    reported: int = 0
    false: int = 0
    """Pairs reported though they are farther apart than the offset."""
    cases: list[str] = field(default_factory=list)


@dataclass
class Solid:
    """A mesh in its own frame and convex parts whose union it is."""

    mesh: thud.TriangleMesh
    parts: list[np.ndarray]

    def scaled(self, factor: float) -> Solid:
        return Solid(
            thud.TriangleMesh(np.asarray(self.mesh.vertices) * factor, self.mesh.faces), [factor * p for p in self.parts]
        )


def convex(points: np.ndarray) -> Solid:
    hull = thud.ConvexHull(points).topology
    return Solid(thud.TriangleMesh(hull.vertices, hull.triangles), [np.asarray(hull.vertices)])


def box(half: Any) -> Solid:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    return convex(corners * np.asarray(half))


def random_convex(rng: np.random.Generator) -> Solid:
    """Boxes, slivers, tetrahedra and round ones, about a metre in size."""
    kind = int(rng.integers(4))
    if kind == 0:
        return box(rng.uniform(0.2, 0.8, size=3))
    points = rng.normal(size=(int(rng.choice([4, 8, 40])), 3)) * 0.5
    return convex(points * [1.5, 0.6, 0.3] if kind == 1 else points)


def ring(rng: np.random.Generator) -> Solid:
    """Nine wedges around a hole."""
    around, across = np.meshgrid(np.arange(9) * 2 * np.pi / 9, np.arange(5) * 2 * np.pi / 5, indexing="ij")
    far = 0.5 + rng.uniform(0.1, 0.3) * np.cos(across)
    at = np.stack([far * np.cos(around), far * np.sin(around), rng.uniform(0.1, 0.3) * np.sin(across)], axis=-1)
    k = np.arange(45).reshape(9, 5)
    right, up, both = np.roll(k, -1, 0), np.roll(k, -1, 1), np.roll(k, (-1, -1), (0, 1))
    faces = np.concatenate([np.stack([k, right, both], axis=-1), np.stack([k, both, up], axis=-1)]).reshape(-1, 3)
    wedges = [np.concatenate([at[i], at[(i + 1) % 9]]) for i in range(9)]
    return Solid(thud.TriangleMesh(at.reshape(-1, 3), faces), wedges)


def angle(rng: np.random.Generator) -> Solid:
    """An L: two arms, thick or thin, extruded."""
    a, b, h = rng.uniform(0.6, 1.2), rng.uniform(0.6, 1.2), rng.uniform(0.1, 0.6)
    s, t = rng.uniform(0.1, 0.4, size=2)
    outline = np.array([[0, 0], [a, 0], [a, t], [s, t], [s, b], [0, b]]) - [0.4, 0.4]
    points = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (-0.5 * h, 0.5 * h)])
    flat = [[0, 1, 2], [0, 2, 3], [0, 3, 5], [3, 4, 5]]
    faces = [[c, b_, a_] for a_, b_, c in flat] + [[a_ + 6, b_ + 6, c + 6] for a_, b_, c in flat]
    faces += [t_ for i in range(6) for j in [(i + 1) % 6] for t_ in ([i, j, j + 6], [i, j + 6, i + 6])]
    low, high = points.min(axis=0), points.max(axis=0)
    arms = [_corners(low, [high[0], low[1] + t, high[2]]), _corners(low, [low[0] + s, high[1], high[2]])]
    return Solid(thud.TriangleMesh(points, faces), arms)


def _corners(low: Any, high: Any) -> np.ndarray:
    both = np.array([low, high], float)
    return np.array([[both[i, 0], both[j, 1], both[k, 2]] for i in (0, 1) for j in (0, 1) for k in (0, 1)])


def random_turn(rng: np.random.Generator) -> np.ndarray:
    q = rng.normal(size=4)
    return np.asarray(q / np.linalg.norm(q))


def random_scene(rng: np.random.Generator, kind: str) -> tuple[list[Solid], thud.Pose]:
    """Solids and their poses."""
    concave = "concave" in kind
    one = (ring(rng) if rng.random() < 0.5 else angle(rng)) if concave else random_convex(rng)
    at, turn = rng.uniform(-1.0, 1.0, 3), random_turn(rng)
    if kind.startswith("equal"):
        # Twice or three times in one place; the same turn with the other sign, too.
        count = int(rng.integers(2, 4))
        turns = [turn if k % 2 == 0 else -turn for k in range(count)]
        return [one] * count, thud.Pose(np.tile(at, (count, 1)), turns)
    if kind == "nearly equal":
        away = rng.normal(size=3)
        away *= rng.uniform(0.0, 1.0) * 2.0 * one.mesh.bounding_sphere()[1] / 128 / np.linalg.norm(away)
        return [one] * 2, thud.Pose([at, at + away], [turn, turn])
    if kind.startswith("nested"):
        # Smaller by little or by much, somewhere in a part of the first; sometimes askew.
        small = one.scaled(float(rng.choice([0.999, 0.97, 0.7, 0.2, 0.01])))
        part = one.parts[int(rng.integers(len(one.parts)))]
        inside = part.mean(axis=0) if concave else np.zeros(3)
        place = thud.Pose(at, turn).apply(inside).reshape(3)
        askew = random_turn(rng) if rng.random() < 0.5 else turn
        return [one, small], thud.Pose([at, place], [turn, askew])
    if kind == "touching":
        # Boxes side by side, exactly, on a face, an edge or a corner; and a third across both.
        half = rng.integers(1, 8, size=(2, 3)) / 8.0
        way = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1]])[int(rng.integers(3))]
        at = rng.integers(-8, 8, size=3) / 8.0
        slide = np.where(way == 0, rng.integers(-2, 3, size=3) / 16.0, 0.0)
        third = at + rng.uniform(-1.5, 1.5, 3)
        places = [at, at + way * (half[0] + half[1]) + slide, third]
        return [box(half[0]), box(half[1]), random_convex(rng)], thud.Pose(places, [[1, 0, 0, 0], [1, 0, 0, 0], turn])
    if kind == "thin":
        # Boxes that overlap by 1e-6 to 0.2 m along one axis, turned together.
        half = rng.uniform(0.2, 0.8, size=(2, 3))
        deep = 10.0 ** rng.uniform(-6.0, -0.7)
        local = np.array([half[0, 0] + half[1, 0] - deep, *rng.uniform(-0.3, 0.3, 2)])
        return [box(half[0]), box(half[1])], thud.Pose([at, thud.Pose(at, turn).apply(local).reshape(3)], [turn, turn])
    count = int(rng.integers(2, 4 if concave else 6))
    solids = [(ring(rng) if rng.random() < 0.5 else angle(rng)) if concave else random_convex(rng) for _ in range(count)]
    spread = float(rng.uniform(0.3, 1.2))
    return solids, thud.Pose(rng.uniform(-spread, spread, (count, 3)), [random_turn(rng) for _ in range(count)])


def look(seed: int, tally: Tally, backend: str = "cpu") -> None:
    """One scene, in three ways."""
    rng = np.random.default_rng(seed)
    kind = KINDS[seed % len(KINDS)]
    solids, poses = random_scene(rng, kind)
    meshes, rows = [solid.mesh for solid in solids], poses.rows
    # Tight to about a centimetre, or what a hull a metre in size needs.
    precision = float(rng.uniform(0.02, 0.1))
    ways: dict[str, Any] = {
        "plain": {"views": int(rng.integers(1, 4))},
        "precise": {"precision": precision},
        "exact": {"exact": True},
    }
    found = {way: interference(meshes, poses, resolution=128, backend=backend, **options) for way, options in ways.items()}
    seen = {way: set(map(tuple, got.pairs.tolist())) for way, got in found.items()}
    world = [[Part(p @ row[:9].reshape(3, 3).T + row[9:]) for p in solid.parts] for solid, row in zip(solids, rows)]
    tally.scenes += 1
    tally.kinds[kind] += 1
    tally.reported += len(seen["plain"])
    for a in range(len(solids)):
        for b in range(a + 1, len(solids)):
            ball = common_ball(world[a], world[b])
            least = {"plain": SHARE * box_overlap(world[a], world[b]), "precise": 0.5 * precision, "exact": 0.0}
            if ROUNDING < ball <= least["plain"]:
                tally.shallow += 1
                tally.shallow_found += (a, b) in seen["plain"]
            apart = solid_distance(world[a], world[b]) if ball < ROUNDING else 0.0
            for way in ways:
                if ball > max(least[way], ROUNDING):
                    tally.must[way] += 1
                    if (a, b) not in seen[way]:
                        tally.missed += 1
                        tally.cases.append(f"scene {seed} ({kind}): pair {a}, {b} missed {way}, a ball of {ball:.4g} m")
                elif (a, b) in seen[way] and apart > (found[way].offset if way != "exact" else ROUNDING):
                    tally.false += 1
                    tally.cases.append(f"scene {seed} ({kind}): pair {a}, {b} reported {way} at a distance of {apart:.4g} m")


def run(scenes: int, first: int = 0, backend: str = "cpu") -> Tally:
    """Scenes of seeds [first, first + scenes)."""
    tally = Tally()
    for seed in range(first, first + scenes):
        look(seed, tally, backend)
        if seed % 500 == 499:
            print(f"{seed + 1 - first} / {scenes}, {tally.missed} missed, {tally.false} false", file=sys.stderr, flush=True)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.imagespace.never_missed")
    parser.add_argument("--scenes", type=int, default=None)
    parser.add_argument("--size", choices=tuple(SIZES), default="standard")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    chosen = parser.parse_args()
    tally = run(SIZES[chosen.size] if chosen.scenes is None else chosen.scenes, chosen.first, chosen.backend)
    print(*tally.cases, sep="\n")
    print(tally)
    sys.exit(1 if tally.missed or tally.false else 0)


if __name__ == "__main__":
    main()
