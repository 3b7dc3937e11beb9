"""`python -m tests.bounds.conservative --count 1000000`: does Theorem 3.2 ever reject a pair that intersects?

Random and touching poses of small meshes; every type of volume, mapping and number of directions against a
walk without Theorem 3.2, whose own hits tests/bounds/test_mesh_volumes.py compares with all pairs of triangles.
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np

import thud
from tests.bounds.meshes import blob, soup
from thud.bounds.support_planes import SupportPlanes, support_planes
from thud.bounds.support_tables import support_tables
from thud.gates import as_poses
from thud.mesh.volumes import surfaces_meet

IDENTITY = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]])
BOUNDINGS = ("sphere", "aabb", "obb", "kdop")
MAPPINGS = (("vertex", False), ("face", False), ("vertex", True), ("face", True))
#: Every setting: (volume, how the mapping is made, pairs of planes).
SETTINGS = (
    *((b, f"{kind}{', exact' if exact else ''}", 1) for b in BOUNDINGS for kind, exact in MAPPINGS),
    *((b, kind, 3) for b in BOUNDINGS for kind in ("vertex", "face", "points")),
    *((b, "points", 1) for b in BOUNDINGS),
    ("sphere", "offsets", 1),
    ("sphere", "points", 2),
    ("sphere", "points", 8),
)


def cube() -> tuple[np.ndarray, np.ndarray]:
    vertices = np.array([[x, y, z] for x in (-1.0, 1) for y in (-1.0, 1) for z in (-1.0, 1)])
    quads = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return vertices, np.array([f for a, b, c, d in quads for f in ((a, b, c), (a, c, d))])


def meshes() -> list[thud.TriangleMesh]:
    flat = soup(40, 8)[0] * [1, 1, 0]
    return [
        thud.TriangleMesh(*blob(6, 1, 0.8)),
        thud.TriangleMesh(*blob(5, 2, 0.3), build="slides"),
        thud.TriangleMesh(*soup(30, 3, 0.2), kdop_k=26),
        thud.TriangleMesh(*cube(), kdop_k=14),
        thud.TriangleMesh(flat, np.arange(120).reshape(-1, 3)),
        thud.TriangleMesh(soup(20, 4)[0] * [1.5, 0.05, 0.2], np.arange(60).reshape(-1, 3)),
    ]


def mapping_of(mesh: thud.TriangleMesh, how: str, directions: int, levels: int = 3, samples: int = 8) -> SupportPlanes:
    """One of the mappings that SETTINGS names."""
    tree = mesh.tree.skip, mesh.tree.first, mesh.corners
    if how in ("points", "offsets"):
        return support_tables(*tree, levels, samples, directions, points=how == "points")
    kind, _, exact = how.partition(", ")
    return support_planes(*tree, kind, levels, samples, exact=bool(exact), directions=directions)


def poses(count: int, rng: np.random.Generator) -> np.ndarray:
    """Of B about A: most at random near contact, one in eight by quarter turns and whole steps, so that faces touch."""
    q = rng.normal(size=(count, 4))
    direction = rng.normal(size=(count, 3))
    direction /= np.linalg.norm(direction, axis=1)[:, None]
    position = direction * rng.uniform(0, 2.8, (count, 1))
    lattice = np.arange(count) % 8 == 0
    quarter = np.array([[1, 0, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 0, 0, 1], [0, 1, 1, 0], [0, 0, 0, 1.0]])
    q[lattice] = quarter[rng.integers(0, 6, lattice.sum())]
    position[lattice] = rng.integers(-2, 3, (lattice.sum(), 3))
    q /= np.linalg.norm(q, axis=1)[:, None]
    return as_poses(np.concatenate([position, q], axis=1), "poses")


def drawn_apart(a: thud.TriangleMesh, b: thud.TriangleMesh, rows: np.ndarray) -> np.ndarray:
    """Poses at which the two meet, drawn apart along their offset until they only just do: by bisection to a part in 10^11."""
    near, far = np.ones(len(rows)), np.full(len(rows), 64.0)
    for _ in range(42):
        middle = 0.5 * (near + far)
        tried = rows.copy()
        tried[:, 9:] *= middle[:, None]
        hit, _ = surfaces_meet(a, b, IDENTITY, tried, bounding="aabb", mappings=(None, None))
        near, far = np.where(hit, middle, near), np.where(hit, far, middle)
    drawn = rows.copy()
    drawn[:, 9:] *= near[:, None]
    return drawn


def run(count: int, seed: int = 0, samples: int = 8, progress: bool = False) -> tuple[int, int, int]:
    """(pairs that intersect, pairs rejected by Theorem 3.2 alone at the roots, intersecting pairs that were lost)."""
    rng = np.random.default_rng(seed)
    shapes = meshes()
    maps = {
        (k, how, directions): mapping_of(m, how, directions, 3, samples)
        for k, m in enumerate(shapes)
        for how, directions in {setting[1:] for setting in SETTINGS}
    }
    # At least one block for each pair of meshes.
    block = max(1, min(-(-count // len(shapes) ** 2), 20_000))
    hits = rejected = lost = done = 0
    last = time.monotonic()
    turn = 0
    while done < count:
        n = min(block, count - done)
        rows = poses(n, rng)
        # Every block another pair of meshes, for each setting.
        i, j = turn % len(shapes), (turn // len(shapes) + turn) % len(shapes)
        # One in four only just touches.
        rows[1::4] = drawn_apart(shapes[i], shapes[j], rows[1::4])
        truth, _ = surfaces_meet(shapes[i], shapes[j], IDENTITY, rows, bounding="aabb", mappings=(None, None))
        for bounding, how, directions in SETTINGS:
            pair = maps[i, how, directions], maps[j, how, directions]
            hit, counters = surfaces_meet(
                shapes[i], shapes[j], IDENTITY, rows, bounding=bounding, mappings=pair, count_tests=True
            )
            lost += int((hit != truth).sum())
            rejected += int(((counters[:, 2] == 1) & (counters[:, 0] == 1)).sum())
        hits += int(truth.sum())
        done += n
        turn += 1
        if progress and time.monotonic() - last > 2:
            last = time.monotonic()
            print(f"{done}/{count} pose pairs, {hits} intersect, {rejected} rejected at the roots, {lost} lost", flush=True)
    return hits, rejected, lost


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    hits, rejected, lost = run(arguments.count, arguments.seed, progress=True)
    print(f"{arguments.count} pose pairs: {hits} intersect, {rejected} rejected at the roots, {lost} lost")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
