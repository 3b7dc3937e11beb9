"""Casts that start in an overlap: normal, depth and point are those of the signed distance, for every family."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import thud
from tests.pairing.random_draws import ball_faces, ring_faces
from tests.world.test_surfaces import ground
from thud.errors import UnsupportedQueryError
from thud.pairing.plans import UNSUPPORTED, pair_plan
from thud.pairing.start_depth import put_depths

MISS, HIT, AT_START = 0, 1, 2
RNG = np.random.default_rng(11)
BALL = thud.TriangleMesh(*ball_faces(RNG, 5, 0.3))
SHEET = thud.TriangleMesh([[-0.6, -0.5, 0], [0.7, -0.4, 0.1], [0.0, 0.8, 0.0]], [[0, 1, 2]])
SHAPES: dict[str, Any] = {
    "box": thud.Box([0.3, 0.5, 0.4]),
    "hull": thud.ConvexHull(0.5 * RNG.normal(size=(20, 3))),
    "cylinder": thud.Cylinder(0.4, 0.5),
    "plane": thud.HalfSpace([0.1, 0.2, 1.0], 0.1),
    "parts": thud.Compound([thud.Sphere(0.4), thud.Box([0.2, 0.2, 0.5])], thud.Pose([[0.3, 0, 0], [-0.3, 0, 0.1]])),
    "ball": BALL,
    "ring": thud.TriangleMesh(*ring_faces(RNG)),
    "sheet": SHEET,
    "mixed": thud.Compound([BALL, thud.Sphere(0.3)], thud.Pose([[0.4, 0, 0], [-0.5, 0, 0]])),
    "field": thud.HeightField(0.1 * RNG.normal(size=(5, 5)), 0.4, (-0.8, -0.8, 0.0), thickness=0.6),
    "ground": thud.HeightField(0.1 * RNG.normal(size=(5, 5)), 0.4, (-0.8, -0.8, 0.0)),
    "surface": ground(0),
}
CONVEX = ("box", "hull", "cylinder", "parts")


def some_poses(rng: np.random.Generator, count: int, spread: float) -> np.ndarray:
    turns = Rotation.random(count, random_state=int(rng.integers(2**31))).as_quat()[:, [3, 0, 1, 2]]
    return np.concatenate([rng.uniform(-spread, spread, (count, 3)), turns], axis=1)


def supported(a: str, b: str) -> bool:
    families = SHAPES[a].family, SHAPES[b].family
    return pair_plan("cast", *families).way != UNSUPPORTED and not (a == b == "ground")


PAIRS = [(a, b) for a in SHAPES for b in SHAPES if supported(a, b)]


def ask(a: str, b: str, pose_a: Any, pose_b: Any, motion: Any) -> thud.Impacts:
    return thud.cast(SHAPES[a], SHAPES[b], pose_a, pose_b, motion)


@pytest.mark.parametrize(("a", "b"), PAIRS)
def test_as_the_signed_distance_says(a: str, b: str) -> None:
    rng = np.random.default_rng([12, list(SHAPES).index(a), list(SHAPES).index(b)])
    count = 40 if a in CONVEX and b in CONVEX else 4
    pose_a, pose_b = some_poses(rng, count, 0.4), some_poses(rng, count, 0.4)
    motion = rng.normal(size=(count, 3))
    found = ask(a, b, pose_a, pose_b, motion)
    begun = found.status == AT_START
    if a != "sheet" and b != "sheet":
        assert begun.any()
    signed = thud.distance(SHAPES[a], SHAPES[b], pose_a, pose_b, signed=True)
    known = begun & signed.normal.any(axis=1)
    assert found.time[begun].tolist() == [0.0] * int(begun.sum())
    assert (found.depth[~begun] == 0.0).all()
    assert np.isnan(found.depth[begun & ~known]).all()
    np.testing.assert_array_equal(found.depth[known], np.maximum(-signed.distance[known], 0.0))
    np.testing.assert_array_equal(found.normal[known], signed.normal[known])
    np.testing.assert_allclose(np.linalg.norm(found.normal[known], axis=1), 1.0, atol=1e-12)
    bounded = known & np.isfinite(signed.distance)
    middle = 0.5 * (signed.point_a + signed.point_b)
    np.testing.assert_array_equal(found.point[bounded], middle[bounded])
    # Rotation changes nothing about the start.
    turning = np.concatenate([motion, rng.normal(size=(count, 3))], axis=1)
    same = ask(a, b, pose_a, pose_b, turning)
    both = begun & (same.status == AT_START)
    assert both.sum() >= known.sum() - 1
    for name in ("depth", "normal", "time"):
        np.testing.assert_array_equal(getattr(same, name)[both & known], getattr(found, name)[both & known])


@pytest.mark.parametrize(("a", "b"), [(a, b) for a in (*CONVEX, "plane") for b in CONVEX])
def test_swapped_and_moved(a: str, b: str) -> None:
    rng = np.random.default_rng(13)
    pose_a, pose_b = some_poses(rng, 60, 0.5), some_poses(rng, 60, 0.5)
    found = ask(a, b, pose_a, pose_b, [1.0, 0, 0])
    other = ask(b, a, pose_b, pose_a, [1.0, 0, 0])
    begun = found.status == AT_START
    np.testing.assert_array_equal(other.status == AT_START, begun)
    np.testing.assert_allclose(other.depth[begun], found.depth[begun], rtol=1e-6, atol=1e-6)
    shift = thud.Pose(*np.split(some_poses(rng, 1, 3.0)[0], [3]))
    turn = shift.matrix.reshape(4, 4)[:3, :3]
    moved = ask(
        a, b, shift @ thud.Pose(pose_a[:, :3], pose_a[:, 3:]), shift @ thud.Pose(pose_b[:, :3], pose_b[:, 3:]), [1.0, 0, 0]
    )
    np.testing.assert_allclose(moved.depth[begun], found.depth[begun], rtol=1e-6, atol=1e-6)
    # Of several ways that are as short, any may be given.
    clear = begun & (np.einsum("ni,ni->n", other.normal, -found.normal) > 0.99)
    assert clear.sum() > 0.9 * begun.sum()
    agree = np.einsum("ni,ni->n", moved.normal[begun], found.normal[begun] @ turn.T) > 0.99
    assert agree.mean() > 0.9
    assert begun.sum() > 10


def test_the_way_out_is_one() -> None:
    rng = np.random.default_rng(14)
    for a, b in (("box", "hull"), ("cylinder", "box"), ("parts", "hull"), ("ball", "box"), ("field", "hull")):
        pose_a, pose_b = some_poses(rng, 12, 0.3), some_poses(rng, 12, 0.3)
        found = ask(a, b, pose_a, pose_b, [0.0, 0, 1])
        rows = np.flatnonzero((found.status == AT_START) & (found.depth > 0))
        away = pose_b[rows].copy()
        away[:, :3] += (found.depth[rows] * (1.0 + 1e-6) + 1e-6)[:, None] * found.normal[rows]
        if a != "parts":
            assert not thud.intersects(SHAPES[a], SHAPES[b], pose_a[rows], away).any()
        assert len(rows) > 3


def test_impacts_of_worlds_have_depths_too() -> None:
    world = thud.World()
    a = world.add(SHAPES["box"], velocity=[0.0, 0, 1])
    b = world.add(SHAPES["hull"], thud.Pose([0.1, 0.0, 0.3]))
    c = world.add(BALL, thud.Pose([3.0, 0.0, 0.0]))
    d = world.add(SHAPES["box"], thud.Pose([3.3, 0.0, 0.3]))
    found = world.impacts(1.0)
    for x, y in ((a, b), (c, d)):
        k = int(np.flatnonzero((found.handle_a == x) & (found.handle_b == y))[0])
        one = thud.distance(world.shape(x), world.shape(y), world.poses(x), world.poses(y), signed=True)
        assert found.status[k] == AT_START
        assert found.depth[k] == -one.distance[0]
        np.testing.assert_array_equal(found.normal[k], one.normal[0])
    # A bullet inside goes out to the nearest point of the surface.
    world = thud.World()
    world.add(thud.Box([1.0, 1.0, 1.0]))
    world.add(thud.Sphere(0.1), thud.Pose([0.75, 0.1, 0]), bullet=True, velocity=[1.0, 0, 0])
    found = world.impacts(1.0)
    np.testing.assert_allclose(found.depth, 0.25, atol=1e-14)
    np.testing.assert_allclose(found.normal, [[1.0, 0, 0]], atol=1e-14)
    np.testing.assert_allclose(found.point, [[0.875, 0.1, 0]], atol=1e-14)


def test_without_a_signed_distance() -> None:
    found = ask("box", "hull", None, thud.Pose([0.1, 0.0, 0.2]), [1.0, 0, 0])
    point = found.point.copy()

    def none(_rows: np.ndarray) -> thud.Distances:
        raise UnsupportedQueryError("distance: there is none")

    put_depths(found, np.array([0]), none)
    assert np.isnan(found.depth).all()
    assert not found.normal.any()
    np.testing.assert_array_equal(found.point, point)
