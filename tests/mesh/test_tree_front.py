"""Queries of mesh pairs that begin at the front of the last frame: the same bytes as from the root, whatever happened since."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh, soup_mesh, surface_distance
from thud.mesh.tree_front import LOW, OWN, PARENT, SPAN, TRAVELLED

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
ROWS, FRAMES = (8, 6) if SMALL else (40, 16)

BLOB_A, BLOB_B = thud.TriangleMesh(*blob_mesh(14, 1)), thud.TriangleMesh(*blob_mesh(12, 2, 0.7))
SOUP = thud.TriangleMesh(*soup_mesh(80, 3))
CUBE = thud.TriangleMesh(*box_mesh())
ONE = thud.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
PAIRS = {"blobs": (BLOB_A, BLOB_B), "soup-blob": (SOUP, BLOB_B), "cubes": (CUBE, CUBE), "one-blob": (ONE, BLOB_A)}
QUERIES = {"intersects": thud.intersects, "distance": thud.distance, "triangle_pairs": thud.triangle_pairs}


def turned(q: np.ndarray, axis: np.ndarray, angle: float) -> np.ndarray:
    """Quaternions wxyz turned by `angle` about unit axes."""
    w, v = np.cos(angle / 2), axis * np.sin(angle / 2)
    real = w * q[:, 0] - (v * q[:, 1:]).sum(axis=1)
    return np.column_stack([real, w * q[:, 1:] + q[:, :1] * v + np.cross(v, q[:, 1:])])


def motion(step: float, seed: int, spread: float = 2.0, rows: int = ROWS, frames: int = FRAMES) -> list[thud.Pose]:
    """Random walks: each frame a way of `step` and a turn of `step` radians."""
    rng = np.random.default_rng(seed)
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)  # noqa: E731
    position, q = unit(rng.normal(size=(rows, 3))) * rng.uniform(0.5, spread, (rows, 1)), unit(rng.normal(size=(rows, 4)))
    way, axis = unit(rng.normal(size=(rows, 3))), unit(rng.normal(size=(rows, 3)))
    result = []
    for _ in range(frames):
        # Mostly on in the same direction, so that pairs meet and part.
        way = unit(way + 0.4 * rng.normal(size=(rows, 3)) - 0.2 * position)
        position, q = position + step * way, unit(turned(q, axis, step))
        result.append(thud.Pose(position, q))
    return result


def same(kept: Any, fresh: Any) -> None:
    """Equal to the last bit."""
    if isinstance(fresh, np.ndarray):
        assert kept.tobytes() == fresh.tobytes()
        return
    for name in type(fresh).__dataclass_fields__:
        assert np.asarray(getattr(kept, name)).tobytes() == np.asarray(getattr(fresh, name)).tobytes(), name


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("step", [1e-4, 0.01, 0.1, 1.0])
def test_motion_changes_no_answer(query: str, pair: str, step: float) -> None:
    ask, (a, b) = QUERIES[query], PAIRS[pair]
    caches = {threads: thud.PairCache() for threads in (1, 2, 3)}
    met = np.zeros(ROWS, dtype=bool)
    parted = met.copy()
    for pose in motion(step, 5):
        fresh = ask(a, b, None, pose, threads=1)
        for threads, cache in caches.items():
            same(ask(a, b, None, pose, threads=threads, cache=cache), fresh)
        if query == "intersects":
            met, parted = met | fresh, parted | ~fresh
    if query == "intersects" and step == 0.1 and pair == "blobs":
        assert (met & parted).any()  # the motion has transitions both ways
    if query != "triangle_pairs":
        # The fronts are the same too. (Pairs: a row that did not fit its thread's buffer is walked twice.)
        kept = [next(iter(cache._fronts.values())) for cache in caches.values()]
        for other in kept[1:]:
            same(other.length, kept[0].length)


@pytest.mark.parametrize("query", QUERIES)
@pytest.mark.parametrize("capacity", [1, 2, 5, 17])
def test_a_front_that_does_not_fit(query: str, capacity: int) -> None:
    ask, cache = QUERIES[query], thud.PairCache(capacity)
    for pose in motion(0.01, 6, 1.6):
        same(ask(BLOB_A, BLOB_B, None, pose, cache=cache), ask(BLOB_A, BLOB_B, None, pose))
        assert next(iter(cache._fronts.values())).length.max() <= capacity


@pytest.mark.parametrize("query", QUERIES)
def test_jumps_and_both_moving(query: str) -> None:
    # Small steps, then elsewhere, then back: the front is of no use, of use, and out of date by a long way.
    ask, cache = QUERIES[query], thud.PairCache()
    near, far = motion(0.003, 7, 1.8), motion(0.003, 8, 3.0)
    for frame in range(FRAMES):
        pose_a = far[frame] if frame % 5 == 4 else near[0]
        pose_b = near[frame] if frame % 7 != 6 else far[0]
        same(ask(BLOB_A, BLOB_B, pose_a, pose_b, cache=cache), ask(BLOB_A, BLOB_B, pose_a, pose_b))


@pytest.mark.parametrize("query", QUERIES)
def test_other_meshes_and_rows_start_anew(query: str) -> None:
    ask, cache = QUERIES[query], thud.PairCache()
    pose = motion(0.002, 9, 1.5)
    mesh = BLOB_B
    for frame in range(6):
        same(ask(BLOB_A, mesh, None, pose[frame], cache=cache), ask(BLOB_A, mesh, None, pose[frame]))
        if frame == 1:
            # Grown where it stands: what was far is not.
            mesh = mesh.deformed(1.3 * mesh.vertices)
        if frame == 3:
            mesh = SOUP
    same(ask(BLOB_A, mesh, None, pose[0][:3], cache=cache), ask(BLOB_A, mesh, None, pose[0][:3]))
    same(ask(mesh, BLOB_A, None, pose[0][:3], cache=cache), ask(mesh, BLOB_A, None, pose[0][:3]))


def test_a_reach_that_changes() -> None:
    cache = thud.PairCache()
    for frame, pose in enumerate(motion(0.004, 10, 3.0)):
        reach = (np.inf, 0.3, 0.02, 0.0, np.inf)[frame % 5]
        kept = thud.distance(BLOB_A, BLOB_B, None, pose, max_distance=reach, cache=cache)
        same(kept, thud.distance(BLOB_A, BLOB_B, None, pose, max_distance=reach))


def test_ties_go_to_the_same_triangles() -> None:
    # Two cubes face to face: many triangle pairs at exactly the same distance, which changes by exact numbers.
    cache = thud.PairCache()
    for frame in range(12):
        pose = thud.Pose([[2.0 + frame % 4 / 8 + 0.25, y / 4, 0.0] for y in range(-4, 5)])
        same(thud.distance(CUBE, CUBE, None, pose, cache=cache), thud.distance(CUBE, CUBE, None, pose))


def test_compounds_of_meshes() -> None:
    shape = thud.Compound([BLOB_B, thud.Sphere(0.3), CUBE], thud.Pose([[0, 0, 0], [1, 0, 0], [0, 2, 0]]))
    for ask in (thud.intersects, thud.distance):
        cache = thud.PairCache()
        for pose in motion(0.01, 11, 2.5):
            same(ask(BLOB_A, shape, None, pose, cache=cache), ask(BLOB_A, shape, None, pose))


def test_bounds_hold_and_the_tree_is_whole() -> None:
    cache = thud.PairCache()
    for pose in motion(0.002, 12, 2.5, rows=6, frames=8):
        thud.intersects(BLOB_A, BLOB_B, None, pose, cache=cache)
        fronts = next(iter(cache._fronts.values()))
        for row in range(6):
            n = int(fronts.length[row])
            if n <= 0:
                continue
            entries, bounds = fronts.entries[row, :n], fronts.bounds[row, :n]
            assert entries[0, SPAN] == n
            for k in range(n):
                below = slice(k, k + entries[k, SPAN])
                assert bounds[k, LOW] == bounds[below, OWN].min()
                assert (entries[k + 1 : below.stop, PARENT] >= k).all()
            # All triangles are behind the front: its least bound is one of the distance at the pose that is kept beside it.
            kept = fronts.state[row]
            corners_a = BLOB_A.corners.reshape(-1, 3, 3)
            corners_b = BLOB_B.corners.reshape(-1, 3, 3) @ kept[:9].reshape(3, 3).T + kept[9:12]
            assert bounds[0, LOW] - kept[TRAVELLED] <= surface_distance(corners_a, corners_b)


def test_a_still_scene_needs_no_box_test() -> None:
    pose, cache = thud.Pose([[3.5, 0, 0]]), thud.PairCache()
    for _ in range(10):
        thud.intersects(BLOB_A, BLOB_B, None, pose, cache=cache)
    assert cache.box_tests == 0


@pytest.mark.parametrize("front", [-1, 1.5, True, "many"])
def test_errors(front: Any) -> None:
    with pytest.raises(thud.errors.InvalidInputError, match="front: expected a whole number"):
        thud.PairCache(front)
