"""Random scenes in images, against the exact answers: no pair deeper than `precision` is missed, none farther apart than the
edges' offset is reported.

`python -m tests.imagespace.never_missed --size standard` looks at 10,000 scenes; the tests at 200. Every tenth is of concave
meshes, the others of convex ones.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field

import numpy as np

import thud
from tests.oracles.meshes import blob_mesh
from thud.imagespace import interference

SIZES = {"ci": 200, "standard": 10_000, "full": 100_000}

PRECISION = 0.1


@dataclass
class Tally:
    """What was seen."""

    scenes: int = 0
    deep: int = 0
    """Pairs deeper than the precision."""
    shallow: int = 0
    """Pairs that overlap by less."""
    missed: int = 0
    shallow_missed: int = 0
    reported: int = 0
    false: int = 0
    """Pairs reported though they are farther apart than the offset."""
    cases: list[str] = field(default_factory=list)


def hull_mesh(hull: thud.ConvexHull) -> thud.TriangleMesh:
    return thud.TriangleMesh(hull.topology.vertices, hull.topology.triangles)


def random_hull(rng: np.random.Generator) -> thud.ConvexHull:
    """Boxes, slivers, tetrahedra and round ones, about a metre in size."""
    kind = int(rng.integers(4))
    if kind == 0:
        corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
        return thud.ConvexHull(corners * rng.uniform(0.2, 0.8, size=3))
    points = rng.normal(size=(int(rng.choice([4, 8, 40])), 3)) * 0.5
    if kind == 1:
        points *= [1.5, 0.6, 0.3]
    return thud.ConvexHull(points)


def random_concave(rng: np.random.Generator) -> thud.TriangleMesh:
    """Bumpy balls and rings, about a metre in size."""
    if rng.random() < 0.5:
        vertices, faces = blob_mesh(int(rng.integers(4, 8)), int(rng.integers(1000)), 0.9)
        return thud.TriangleMesh(0.5 * vertices * rng.uniform(0.5, 1.2, size=3), faces)
    around, across = np.meshgrid(np.arange(9) * 2 * np.pi / 9, np.arange(5) * 2 * np.pi / 5, indexing="ij")
    far = 0.5 + rng.uniform(0.1, 0.3) * np.cos(across)
    ring = np.stack([far * np.cos(around), far * np.sin(around), rng.uniform(0.1, 0.3) * np.sin(across)], axis=-1)
    k = np.arange(45).reshape(9, 5)
    right, up, both = np.roll(k, -1, 0), np.roll(k, -1, 1), np.roll(k, (-1, -1), (0, 1))
    faces = np.concatenate([np.stack([k, right, both], axis=-1), np.stack([k, both, up], axis=-1)]).reshape(-1, 3)
    return thud.TriangleMesh(ring.reshape(-1, 3), faces)


def look(rng: np.random.Generator, tally: Tally, seed: int, backend: str = "cpu") -> None:
    """One scene of two to five objects (two or three, if they are concave)."""
    concave = seed % 10 == 9
    count = int(rng.integers(2, 4 if concave else 6))
    shapes: list[thud.TriangleMesh] | list[thud.ConvexHull] = (
        [random_concave(rng) for _ in range(count)] if concave else [random_hull(rng) for _ in range(count)]
    )
    meshes = [shape if isinstance(shape, thud.TriangleMesh) else hull_mesh(shape) for shape in shapes]
    q = rng.normal(size=(count, 4))
    spread = float(rng.uniform(0.3, 1.2))
    poses = thud.Pose(rng.uniform(-spread, spread, size=(count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))
    got = interference(meshes, poses, resolution=128, views=3, layers=None, precision=PRECISION, backend=backend)
    found = set(map(tuple, got.pairs.tolist()))
    tally.scenes += 1
    tally.reported += len(found)
    for a in range(count):
        for b in range(a + 1, count):
            pose_a, pose_b = thud.Pose.from_rows(poses.rows[a]), thud.Pose.from_rows(poses.rows[b])
            depth = float(thud.distance(shapes[a], shapes[b], pose_a, pose_b, signed=True).distance[0])
            if depth < -PRECISION:
                tally.deep += 1
                if (a, b) not in found:
                    tally.missed += 1
                    tally.cases.append(f"scene {seed}: pair {a}, {b} missed at depth {-depth:.4f}")
            elif depth < 0.0:
                tally.shallow += 1
                tally.shallow_missed += (a, b) not in found
            elif depth > got.offset and (a, b) in found:
                tally.false += 1
                tally.cases.append(f"scene {seed}: pair {a}, {b} reported at distance {depth:.4f} > {got.offset:.4f}")


def run(scenes: int, first: int = 0, backend: str = "cpu") -> Tally:
    """Scenes of seeds [first, first + scenes)."""
    tally = Tally()
    for seed in range(first, first + scenes):
        look(np.random.default_rng(seed), tally, seed, backend)
        if seed % 500 == 499:
            print(f"\r{seed + 1 - first} / {scenes}", end="", file=sys.stderr, flush=True)
    return tally


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.imagespace.never_missed")
    parser.add_argument("--size", choices=tuple(SIZES), default="standard")
    parser.add_argument("--backend", choices=("cpu", "gl"), default="cpu")
    arguments = parser.parse_args()
    tally = run(SIZES[arguments.size], backend=arguments.backend)
    print(tally)
    sys.exit(1 if tally.missed or tally.false else 0)


if __name__ == "__main__":
    main()
