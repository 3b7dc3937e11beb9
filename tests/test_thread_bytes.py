"""The same bytes for 1, 2 and 3 threads: every query of every ordered pair of families, and of every family alone.

Rows are handed to threads in chunks. What is hard, or ends at a limit, stands in the first and the last row of a chunk: deep
overlaps, which take a large polytope, exact contact, and ellipsoids that are almost flat.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import thud
from tests.pairing.random_draws import ball_faces
from tests.terrain.tiles.stores import height_tiles
from tests.world.test_surfaces import ground
from thud.pairing.families import FAMILIES, PACKED
from thud.pairing.plans import UNSUPPORTED, pair_plan

RNG = np.random.default_rng(31)
FLAT = thud.Ellipsoid([0.7, 0.5, 1e-4])
MESH = thud.TriangleMesh(*ball_faces(RNG, 4, 0.3))
FIELD = thud.HeightField(0.1 * RNG.normal(size=(5, 5)), 0.5, (-1.0, -1.0, 0.0), thickness=0.5)
STORE = TemporaryDirectory()
SHAPES: dict[str, Any] = {
    "convex": thud.ConvexHull(0.6 * RNG.normal(size=(40, 3))),
    "parts": thud.Compound([thud.Capsule(0.2, 0.4), FLAT], thud.Pose([[0.4, 0, 0], [-0.3, 0, 0.1]])),
    "mesh": MESH,
    "field": FIELD,
    "surface": ground(0),
    "mixed": thud.Compound([MESH, thud.Box([0.3, 0.2, 0.2])], thud.Pose([[0.5, 0, 0], [-0.5, 0, 0]])),
    "terrain": height_tiles(Path(STORE.name) / "terrain", 0.1 * RNG.normal(size=(9, 9))),
}
#: Fewest rows of a chunk, by the family that has the most to say about it.
CHUNKS = {"convex": 512, "parts": 512, "mesh": 8, "mixed": 8, "field": 64, "surface": 32, "terrain": 8}
#: Convex pairs of their own: searches that end in many ways.
CONVEX = {
    "boxes": (thud.Box([0.3, 0.5, 0.7]), thud.Box([0.4, 0.4, 0.4])),
    "flat": (FLAT, thud.Ellipsoid([1e-4, 0.6, 0.6])),
    "cone": (thud.Cone(0.4, 0.6), thud.Cylinder(0.5, 0.3)),
    "balls": (thud.ConvexHull(Rotation.random(900, random_state=1).apply([0.7, 0, 0])), FLAT),
}
#: Pairs whose depth is a search of its own for each row.
SEARCHED = frozenset({"mesh", "mixed"})


def arrays(result: Any) -> list[np.ndarray]:
    if isinstance(result, np.ndarray):
        return [result]
    return [getattr(result, field.name) for field in dataclasses.fields(result)]


def same_for_any_number(call: Callable[[int], Any]) -> None:
    one = arrays(call(1))
    for threads in (2, 3):
        for left, right in zip(one, arrays(call(threads)), strict=True):
            assert left.dtype == right.dtype
            assert left.tobytes() == right.tobytes()


def scattered(count: int, near: float, far: float) -> np.ndarray:
    """(N, 7) poses in a shell about the origin."""
    way = RNG.normal(size=(count, 3))
    way *= RNG.uniform(near, far, (count, 1)) / np.linalg.norm(way, axis=1, keepdims=True)
    return np.concatenate([way, Rotation.random(count, random_state=2).as_quat()[:, [3, 0, 1, 2]]], axis=1)


def placed(
    a: Any, b: Any, chunk: int, spread: tuple[float, float], deep: int, gap: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """Poses of A and B for two chunks and a little more; `deep` of the rows at their borders overlap deeply, the others touch,
    or are a gap apart."""
    count = 2 * chunk + 8
    poses_a, poses_b = scattered(count, 0.0, 0.3), scattered(count, *spread)
    poses_a[:, 2] -= 0.2
    hard = np.array([chunk - 1, chunk, 0, count - 1, 2 * chunk - 1, 2 * chunk])
    poses_b[hard, :3] = poses_a[hard, :3] + [0.01, 0.02, 0.3]
    touching = hard[deep:]
    poses_b[touching, :3] += [0.3, 0.2, 4.0]
    found = thud.distance(a, b, poses_a[touching], poses_b[touching])
    poses_b[touching, :3] -= (found.distance - gap)[:, None] * found.normal
    return poses_a, poses_b


def lift(a: Any, b: Any, poses: tuple[np.ndarray, np.ndarray], chunk: int, deep: int) -> None:
    """Rows that overlap, but for the `deep` first of the hard ones, are moved up until they do not."""
    kept = np.zeros(len(poses[0]), bool)
    kept[[chunk - 1, chunk, 0][:deep]] = True
    upper = poses[0] if b.family == "surface" else poses[1]
    while (meets := thud.intersects(a, b, *poses) & ~kept).any():
        upper[meets, 2] += 0.5


def pair_calls(a: Any, b: Any, poses: tuple[np.ndarray, np.ndarray], motion: np.ndarray) -> dict[str, Callable[[int], Any]]:
    turning = np.concatenate([motion, 0.5 * motion[:, ::-1]], axis=1)
    return {
        "intersects": lambda n: thud.intersects(a, b, *poses, threads=n),
        "distance": lambda n: thud.distance(a, b, *poses, threads=n),
        "signed_distance": lambda n: thud.distance(a, b, *poses, signed=True, threads=n),
        "contacts": lambda n: thud.contacts(a, b, *poses, margin=0.05, threads=n),
        "cast": lambda n: thud.cast(a, b, *poses, motion_b=motion, threads=n),
        "turning_cast": lambda n: thud.cast(a, b, *poses, motion_b=turning, threads=n),
        "triangle_pairs": lambda n: thud.triangle_pairs(a, b, *poses, threads=n),
    }


#: All ordered pairs that the table answers: two kinds of ground are not compared.
ANSWERED = [(a, b) for a in FAMILIES for b in FAMILIES if pair_plan("intersects", a, b).way != UNSUPPORTED]


@pytest.mark.parametrize(("first", "second"), ANSWERED)
def test_pairs_of_families(first: str, second: str) -> None:
    a, b = SHAPES[first], SHAPES[second]
    both = {first, second}
    packed = both <= PACKED
    chunk = max(CHUNKS[family] for family in (both if packed else both - PACKED))
    searched = bool(both & SEARCHED)
    spread = (0.2, 2.0) if packed else (1.8, 3.0)
    poses = placed(a, b, chunk, spread, 1, 1e-6) if searched else placed(a, b, chunk, spread, 3)
    towards = poses[0][:, :3] - poses[1][:, :3]
    calls = pair_calls(a, b, poses, 1.5 * towards + 0.2 * RNG.normal(size=towards.shape))
    if searched:
        # One search for a depth is enough: all else is apart, and casts start so.
        lift(a, b, poses, chunk, 1)
        apart = placed(a, b, chunk, spread, 0, 1e-6)
        lift(a, b, apart, chunk, 0)
        moving = pair_calls(a, b, apart, 1.5 * (apart[0][:, :3] - apart[1][:, :3]))
        calls |= {query: moving[query] for query in ("cast", "turning_cast")}
    for query, call in calls.items():
        if pair_plan(query, first, second).way != UNSUPPORTED:
            same_for_any_number(call)


@pytest.mark.parametrize("name", CONVEX)
def test_hard_convex_pairs(name: str) -> None:
    a, b = CONVEX[name]
    poses = placed(a, b, 512, (0.1, 1.5), 3)
    calls = pair_calls(a, b, poses, RNG.normal(size=(len(poses[0]), 3)))
    for query in ("intersects", "distance", "signed_distance", "contacts", "cast", "turning_cast"):
        same_for_any_number(calls[query])


@pytest.mark.parametrize("family", FAMILIES)
def test_single_shapes(family: str) -> None:
    shape = SHAPES[family]
    count = 1100
    points, directions = RNG.normal(size=(count, 3)) * 1.5, RNG.normal(size=(count, 3))
    # On the surface, and along an axis, at the borders of chunks.
    hard = [0, 31, 32, 63, 64, 255, 256, 511, 512, 1023, 1024, count - 1]
    points[hard] = thud.closest_point(shape, points[hard]).point
    directions[hard] = np.tile(np.eye(3), (4, 1))
    pose = scattered(count, 0.0, 0.2)
    for call in (
        lambda n: thud.raycast(shape, points, directions, pose=pose, threads=n),
        lambda n: thud.raycast(shape, points, directions, any_hit=True, max_distance=2.0, threads=n),
        lambda n: thud.raycast_all(shape, points, directions, pose=pose, threads=n),
        lambda n: thud.contains(shape, points, pose=pose, threads=n),
        lambda n: thud.closest_point(shape, points, pose=pose, threads=n),
        lambda n: thud.closest_point(shape, points, signed=True, threads=n),
    ):
        same_for_any_number(call)
