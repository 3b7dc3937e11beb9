"""Closest distance in the former frame of what collides in the predicted one, against brute force."""

from __future__ import annotations

import os

import numpy as np
import pytest
from scipy.optimize import least_squares

import thud
from tests.oracles import convex
from tests.oracles.displaced import grid_surface
from tests.oracles.motion import pose_at
from tests.oracles.patches import patches_of
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.pose import as_poses
from thud.results import Status
from thud.terrain import former_distance, from_heights

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"
ROWS = 40 if SMALL else 200

BALL = np.random.default_rng(1).normal(size=(20, 3))
SHAPES = {
    "box": thud.Box((0.4, 0.3, 0.5)), "hull": thud.ConvexHull(0.6 * BALL / np.linalg.norm(BALL, axis=1, keepdims=True)),
    "capsule": thud.Capsule(0.2, 0.5), "sphere": thud.Sphere(0.5),
    "compound": thud.Compound([thud.Sphere(0.3), thud.Box((0.2, 0.2, 0.2))], thud.Pose([(-0.4, 0, 0), (0.4, 0, 0)])),
}  # fmt: skip


def draw(seed: int, width: int) -> tuple[np.ndarray, np.ndarray]:
    """(N, 7) poses about the origin and motions (N, width) towards it."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(ROWS, 4))
    place = rng.normal(size=(ROWS, 3))
    place *= rng.uniform(1.2, 2.5, (ROWS, 1)) / np.linalg.norm(place, axis=1, keepdims=True)
    motion = np.zeros((ROWS, width))
    motion[:, :3] = -rng.uniform(0.2, 1.2, (ROWS, 1)) * place
    if width == 6:
        motion[:, 3:] = rng.normal(size=(ROWS, 3))
    return np.column_stack([place, q / np.linalg.norm(q, axis=1, keepdims=True)]), motion


@pytest.mark.parametrize("width", [3, 6])
@pytest.mark.parametrize(("a", "b"), [("box", "hull"), ("hull", "compound"), ("capsule", "box"), ("sphere", "capsule")])
def test_convex_pairs(a: str, b: str, width: int) -> None:
    poses, motion = draw(hash((len(a), len(b), width)) % 1000, width)
    found = thud.former_distance(SHAPES[a], SHAPES[b], None, poses, 0.0, motion)
    still, former = np.broadcast_to(as_poses(None, "p"), (ROWS, 12)), as_poses(poses, "p")
    whole = np.zeros((ROWS, 6))
    whole[:, :width] = motion
    predicted = pose_at(former, whole, np.ones(ROWS)).rows
    at_end = convex.signed_distance(SHAPES[a], SHAPES[b], still, predicted)
    truth = convex.signed_distance(SHAPES[a], SHAPES[b], still, former)
    sure = np.abs(at_end) > 1e-6
    assert sure.sum() > 0.9 * ROWS
    np.testing.assert_array_equal(found.collides[sure], at_end[sure] < 0.0)
    hit = found.collides & sure
    assert 0.1 * ROWS < hit.sum() < 0.95 * ROWS
    np.testing.assert_allclose(found.distance[hit], np.maximum(truth[hit], 0.0), atol=1e-6)
    apart = hit & (found.distance > 0.0)
    np.testing.assert_allclose(
        found.point_b[apart], found.point_a[apart] + found.distance[apart, None] * found.normal[apart], atol=1e-9
    )
    free = ~found.collides
    assert np.isinf(found.distance[free]).all()
    assert not found.normal[free].any()
    assert not found.point_a[free].any()
    assert (found.status[free] == Status.SEPARATED).all()


def test_v_clip_gives_the_same() -> None:
    poses, motion = draw(7, 6)
    by = [thud.former_distance(SHAPES["box"], SHAPES["hull"], None, poses, 0.0, motion, method=m) for m in ("gjk", "v_clip")]
    np.testing.assert_array_equal(by[0].collides, by[1].collides)
    hit = by[0].collides
    np.testing.assert_allclose(by[0].distance[hit], by[1].distance[hit], atol=1e-9)
    with pytest.raises(UnsupportedQueryError, match="v_clip"):
        thud.former_distance(SHAPES["sphere"], SHAPES["hull"], method="v_clip")


def test_both_move_and_one_row_serves_many() -> None:
    # A ball of 0.5 m at 3 m, both approach by 1.2 m: they end 0.4 m deep, and were 2 m apart.
    ball = SHAPES["sphere"]
    found = thud.former_distance(ball, ball, None, thud.Pose((3.0, 0, 0)), [[1.2, 0, 0], [0.5, 0, 0]], (-1.2, 0, 0))
    np.testing.assert_array_equal(found.collides, [True, False])
    assert found.distance[0] == pytest.approx(2.0)
    np.testing.assert_allclose(found.normal[0], (1, 0, 0), atol=1e-12)
    assert len(thud.former_distance(ball, ball, thud.Pose(np.empty((0, 3)))).distance) == 0
    meshed = thud.former_distance(thud.to_mesh(ball), ball, None, thud.Pose((3.0, 0, 0)), 0.0, (-2.4, 0, 0))
    assert meshed.collides[0]
    assert meshed.distance[0] == pytest.approx(2.0, abs=0.02)
    # Already in overlap in the former frame.
    deep = thud.former_distance(ball, ball, None, thud.Pose((0.5, 0, 0)), 0.0, (0.1, 0, 0))
    assert deep.collides[0]
    assert deep.distance[0] == 0.0
    assert deep.status[0] == Status.OVERLAPPING


def patch_distance(corners: np.ndarray, p: np.ndarray) -> float:
    """Distance of a point to a bilinear patch: the best of a grid, then least squares within the square."""
    p00, p10, p01, p11 = corners

    def place(uv: np.ndarray) -> np.ndarray:
        u, v = uv
        return (1 - u) * (1 - v) * p00 + u * (1 - v) * p10 + (1 - u) * v * p01 + u * v * p11 - p

    grid = [(u, v) for u in np.linspace(0, 1, 5) for v in np.linspace(0, 1, 5)]
    start = min(grid, key=lambda uv: float(np.linalg.norm(place(np.array(uv)))))
    found = least_squares(place, np.clip(start, 1e-6, 1 - 1e-6), bounds=(0.0, 1.0), xtol=1e-14, ftol=1e-14, gtol=1e-14)
    return float(np.linalg.norm(found.fun))


def test_terrain_against_every_patch() -> None:
    surface = grid_surface(np.random.default_rng(3), side=4)
    corners, _parts = patches_of(surface)
    twist = np.linalg.norm(corners[:, 0] - corners[:, 1] - corners[:, 2] + corners[:, 3], axis=1)
    h = float(twist.max()) / 128
    rng = np.random.default_rng(4)
    radii = (0.3, 0.5, 0.2)
    spots = np.array([(0.0, 0, 0), (0.9, 0.1, 0.3), (-0.5, 0.7, 0.8)])
    shape = thud.Compound([thud.Sphere(r) for r in radii], thud.Pose(spots))
    top = corners[:, 0, 2].max()
    met = 0
    for _ in range(4 if SMALL else 12):
        over = corners[rng.integers(len(corners)), 0]
        pose, motion = over + (0.0, 0.0, rng.uniform(0.6, 1.5)), np.array([0.2, -0.1, -rng.uniform(0.4, 1.4)])
        found = former_distance(surface, shape, thud.Pose(pose), motion)
        for k, radius in enumerate(radii):
            before, after = pose + spots[k], pose + spots[k] + motion
            near = [c for c in corners if np.linalg.norm(c.mean(axis=0) - after) < radius + 1.5 * np.ptp(c, axis=0).max()]
            ends = np.array([patch_distance(c, after) for c in near]) - radius
            rows = np.flatnonzero(found.part == k)
            if len(near) == 0 or np.abs(ends).min() < 2 * h + 1e-6 or not (ends < 0).any():
                continue
            # Patches that are met for sure, and those that may be.
            sure, maybe = (
                [max(patch_distance(c, before) - radius, 0.0) for c, end in zip(near, ends, strict=True) if end < limit]
                for limit in (-2 * h - 1e-6, 2 * h + 1e-6)
            )
            assert len(rows) == 1
            met += 1
            assert min(maybe) - 2 * h - 1e-6 <= found.distance[rows[0]] <= min(sure) + 2 * h + 1e-6
            assert len(sure) <= found.patches[rows[0]] <= len(maybe)
    assert met >= (2 if SMALL else 8)
    assert len(former_distance(surface, shape, thud.Pose((0, 0, top + 50.0)), (0.0, 0, -1.0)).part) == 0


def test_terrain_by_v_clip_and_in_the_ground() -> None:
    z = 0.2 * np.random.default_rng(8).normal(size=(9, 9))
    surface = from_heights(z, 1.0, samples=8, thickness=3.0).surface
    box = thud.Box((0.6, 0.4, 0.3))
    pose, motion = thud.Pose((4.1, 3.9, 1.6)), (0.05, 0.0, -1.2)
    by = [former_distance(surface, box, pose, motion, method=method) for method in ("gjk", "v_clip")]
    assert len(by[0].part) == 1
    assert by[0].patches[0] == by[1].patches[0] > 0
    # A tetrahedron leaves its patch by a quarter of its twist: at most 0.2 here times a few deviations.
    assert by[1].distance[0] <= by[0].distance[0] + 1e-9
    assert by[1].distance[0] == pytest.approx(by[0].distance[0], abs=0.3)
    # A flat sheet: the tetrahedra are flat, GJK answers, and the distance is the height.
    land = from_heights(np.zeros((9, 9)), 1.0, samples=8, thickness=3.0).surface
    for method in ("gjk", "v_clip"):
        found = former_distance(land, box, thud.Pose((4.1, 3.9, 1.0)), (0.0, 0.0, -0.9), method=method)
        assert found.distance[0] == pytest.approx(0.7, abs=1e-9)
        np.testing.assert_allclose(found.normal[0], (0, 0, 1), atol=1e-9)
    # It turns into the ground: lying it is 0.3 m above, upright 0.1 m deep.
    lying = thud.Pose((4.0, 4.0, 0.4), [0.5**0.5, 0, 0.5**0.5, 0])
    turned = former_distance(land, thud.Box((0.1, 0.1, 0.5)), lying, (0, 0, 0, 0, np.pi / 2, 0))
    assert turned.distance[0] == pytest.approx(0.3, abs=1e-9)
    for bad in ({"method": "magic"}, {"motion": np.zeros((2, 3))}, {"pose": thud.Pose(np.zeros((2, 3)))}):
        with pytest.raises(InvalidInputError, match=next(iter(bad))):
            former_distance(land, box, **bad)
