"""Both rasterisers find the same pairs in random scenes.

    python -m tests.imagespace.agreement --size small | ci | standard | full

Boxes, hulls, tori and bumpy balls, some inside others, at several resolutions, views and layers. Where the two differ, the
pair must have been seen in fewer than 3 pixels, or be shallower than twice the edge offset. Those are listed.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import thud
from tests.oracles.meshes import blob_mesh, box_mesh
from thud.imagespace import interference

SIZES = {"small": 12, "ci": 200, "standard": 1_000, "full": 10_000}


@dataclass
class Tally:
    """What came out."""

    scenes: int = 0
    objects: int = 0
    pairs: int = 0
    pixels: list[int] = field(default_factory=lambda: [0, 0])
    excused: list[str] = field(default_factory=list)
    """Differing pairs of few pixels or little depth."""
    wrong: list[str] = field(default_factory=list)
    """All other differing pairs."""


def torus_mesh(around: int, across: int, thin: float) -> tuple[Any, Any]:
    """A closed torus of radius 1 in the plane z = 0, its tube's radius `thin`."""
    u, v = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.arange(across) * 2 * np.pi / across, indexing="ij")
    r = 1.0 + thin * np.cos(v)
    points = np.stack([r * np.cos(u), r * np.sin(u), thin * np.sin(v)], axis=-1).reshape(-1, 3)
    i, j = (k.ravel() for k in np.meshgrid(np.arange(around), np.arange(across), indexing="ij"))
    right, up = (i + 1) % around, (j + 1) % across
    a, b, c, d = i * across + j, right * across + j, right * across + up, i * across + up
    return points, np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])


def random_mesh(rng: np.random.Generator, size: float) -> thud.TriangleMesh:
    """A box, a hull, a torus or a bumpy ball."""
    kind = rng.integers(4)
    if kind == 0:
        points, faces = box_mesh(tuple(rng.uniform(0.3, 1.0, 3)))
    elif kind == 1:
        hull = thud.ConvexHull(rng.normal(size=(rng.integers(5, 30), 3))).topology
        points, faces = hull.vertices * 0.6, hull.triangles
    elif kind == 2:
        points, faces = torus_mesh(int(rng.integers(5, 14)), int(rng.integers(3, 8)), rng.uniform(0.1, 0.5))
    else:
        points, faces = blob_mesh(int(rng.integers(3, 9)), int(rng.integers(1000)))
    return thud.TriangleMesh(np.asarray(points) * size, faces)


def random_scene(rng: np.random.Generator, most: int = 16) -> tuple[list[thud.TriangleMesh], thud.Pose]:
    """Two to `most` objects; every fifth is small and inside of another, or nearly so."""
    count = int(rng.integers(2, most + 1))
    room = rng.uniform(0.6, 1.3) * count ** (1 / 3)
    at = rng.uniform(-room, room, size=(count, 3))
    size = rng.uniform(0.4, 1.0, count)
    inside = rng.random(count) < 0.2
    inside[0] = False
    at[inside] = at[rng.integers(count, size=int(inside.sum()))] + rng.normal(size=(int(inside.sum()), 3)) * 0.1
    size[inside] = rng.uniform(0.05, 0.3, int(inside.sum()))
    turn = rng.normal(size=(count, 4))
    return [random_mesh(rng, s) for s in size], thud.Pose(at, turn / np.linalg.norm(turn, axis=1, keepdims=True))


def one_scene(seed: int, tally: Tally) -> None:
    """Look at a scene with both rasterisers."""
    rng = np.random.default_rng(seed)
    meshes, poses = random_scene(rng)
    settings: dict[str, Any] = {
        "resolution": [64, 96, 128, (200, 120), 256][rng.integers(5)],
        "views": int(rng.integers(1, 4)),
        "layers": [1, 1, 2, 2, 3, None][rng.integers(6)],
    }
    results = [interference(meshes, poses, backend=backend, **settings) for backend in ("cpu", "gl")]
    seen = [dict(zip(map(tuple, r.pairs.tolist()), r.pixels.tolist())) for r in results]
    tally.scenes, tally.objects = tally.scenes + 1, tally.objects + len(meshes)
    tally.pairs += len(seen[0].keys() | seen[1].keys())
    for k in range(2):
        tally.pixels[k] += sum(seen[k].values())
    for a, b in sorted(seen[0].keys() ^ seen[1].keys()):
        pixels = seen[0].get((a, b), 0) + seen[1].get((a, b), 0)
        place = [thud.Pose.from_rows(poses.rows[k : k + 1]) for k in (a, b)]
        depth = -float(thud.distance(meshes[a], meshes[b], *place, signed=True).distance[0])
        pixel = 2.0 * results[0].offset
        line = f"scene {seed}: {(a, b)} by {'cpu' if (a, b) in seen[0] else 'gl'} alone, {pixels} pixels, {depth:.3g} m deep "
        (tally.excused if pixels < 3 or depth < pixel else tally.wrong).append(line + f"(twice the offset: {pixel:.3g} m)")


def run(scenes: int, first: int = 0, *, progress: bool = False) -> Tally:
    """Scenes of seeds first, first + 1, ..."""
    tally = Tally()
    for seed in range(first, first + scenes):
        one_scene(seed, tally)
        if progress and (seed + 1) % 100 == 0:
            print(f"{seed + 1 - first} scenes, {tally.pairs} pairs, {len(tally.excused)} excused, {len(tally.wrong)} wrong")
    return tally


def main() -> int:
    """Run and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", choices=list(SIZES), default="standard")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    tally = run(SIZES[chosen.size], chosen.seed, progress=True)
    print(*tally.excused, *tally.wrong, sep="\n")
    share = len(tally.excused) / max(tally.pairs, 1)
    print(f"{tally.scenes} scenes, {tally.objects} objects, {tally.pairs} pairs, pixels {tally.pixels}")
    print(f"differing: {len(tally.wrong)} wrong; {len(tally.excused)} excused, {100 * share:.3f} %")
    return int(len(tally.wrong) > 0 or share > 0.005)


if __name__ == "__main__":
    sys.exit(main())
