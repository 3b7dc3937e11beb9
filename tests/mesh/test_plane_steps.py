"""Several pairs of planes, and the gap that they prove, against the distance of all triangles."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.bounds.conservative import IDENTITY, mapping_of, poses
from tests.bounds.meshes import blob, soup
from tests.oracles.meshes import placed_corners, surface_distance
from thud.mesh.plane_steps import chung_wang_step, sphere_gap
from thud.mesh.volumes import surfaces_meet, surviving_levels

POSES = 60


def root_gap(a: thud.TriangleMesh, b: thud.TriangleMesh, how: str, directions: int, row: np.ndarray) -> float:
    """`sphere_gap` of the roots; B at a pose row, A at the origin of its tree."""
    r = row[:9].reshape(3, 3)
    t = row[9:] + r @ b.origin - a.origin
    (c1, r1), (c2, r2) = ((m.spheres[0, :3].astype(float), float(m.spheres[0, 3])) for m in (a, b))
    mappings = (mapping_of(m, how, directions, 1, 32).arrays() for m in (a, b))
    first, second = mappings
    return sphere_gap(
        tuple(c1), r1, first, 0, tuple(r @ c2 + t), r2, second, 0, tuple(row[:9]), tuple(t), 1e-13, np.inf
    )  # fmt: skip


@pytest.mark.parametrize("how", ["offsets", "points"])
def test_the_gap_is_never_more_than_the_distance(how: str) -> None:
    shapes = [thud.TriangleMesh(*blob(4, 1, 0.8)), thud.TriangleMesh(*soup(12, 3)), thud.TriangleMesh(*blob(3, 2, 0.2))]
    rng = np.random.default_rng(7)
    rows = poses(POSES, rng)
    rows[:, 9:] *= 1.4
    shares = []
    for k, row in enumerate(rows):
        a, b = shapes[k % 3], shapes[k // 3 % 3]
        distance = surface_distance(placed_corners(a, IDENTITY[0]), placed_corners(b, row))
        gaps = [root_gap(a, b, how, directions, row) for directions in ((1,) if how == "offsets" else (1, 2, 3, 8))]
        assert max(gaps) <= distance + 1e-12
        # More directions never prove less.
        assert (np.diff(gaps) >= 0.0).all()
        if distance > 0.0:
            shares.append(max(gaps) / distance)
    # It is worth something, too.
    assert len(shares) > POSES // 3
    assert np.mean(np.array(shares) > 0.0) > 0.5
    assert max(shares) > 0.7


def test_a_chung_wang_step_leads_to_where_the_two_points_are_apart() -> None:
    rng = np.random.default_rng(1)
    for _ in range(50):
        d, w = rng.normal(size=3), rng.normal(size=3)
        after = np.array(chung_wang_step(tuple(d), tuple(w)))
        assert after @ w == pytest.approx(abs(d @ w) if d @ w < 0.0 else w @ w)
        if d @ w < 0.0:
            assert np.linalg.norm(after) == pytest.approx(np.linalg.norm(d))
    # The two points are one: nothing to be learnt, nothing to be divided by.
    assert chung_wang_step((1.0, 0.0, 0.0), (0.0, 0.0, 0.0)) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("bounding", ["sphere", "aabb", "obb", "kdop"])
def test_further_directions_part_more_and_lose_nothing(bounding: str) -> None:
    a, b = thud.TriangleMesh(*blob(10, 1, 0.8)), thud.TriangleMesh(*blob(10, 2, 0.8))
    rows = poses(600, np.random.default_rng(6))
    truth, _ = surfaces_meet(a, b, IDENTITY, rows, bounding="aabb", mappings=(None, None))
    for how in ("face", "vertex", "points"):
        rejected = []
        for directions in (1, 3):
            pair = mapping_of(a, how, directions, 4, 16), mapping_of(b, how, directions, 4, 16)
            hit, _ = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=pair)
            np.testing.assert_array_equal(hit, truth)
            level, _ = surviving_levels(a, b, IDENTITY, rows, 1, bounding=bounding, mappings=pair)
            assert not (level[truth] < 0).any()
            rejected.append(int((level < 0).sum()))
        assert rejected[1] > rejected[0], how


def test_mappings_of_different_kinds_and_finenesses_go_together() -> None:
    a, b = thud.TriangleMesh(*blob(8, 1, 0.8)), thud.TriangleMesh(*blob(8, 2, 0.8))
    rows = poses(300, np.random.default_rng(8))
    truth, _ = surfaces_meet(a, b, IDENTITY, rows, bounding="aabb", mappings=(None, None))
    for first, second in (
        ("offsets", "points"),
        ("points", "offsets"),
        ("face", "points"),
        ("points", "vertex"),
        ("offsets", "face"),
    ):
        pair = mapping_of(a, first, 1 if first == "offsets" else 3, 4, 8), mapping_of(b, second, 1, 3, 16)
        for bounding in ("sphere", "obb"):
            hit, counters = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=pair, count_tests=True)
            np.testing.assert_array_equal(hit, truth)
            # Planes without points are of use to spheres alone, and only to one another.
            useless = "offsets" in (first, second) and (bounding != "sphere" or "face" in (first, second))
            assert (counters[:, 2].sum() == 0) == useless
