"""The separating-axis test against V-Clip, GJK and the slow reference, on random and degenerate pairs."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.convex.polytopes import (
    OVERLAPPING,
    SEPARATED,
    UNCONVERGED,
    Pairs,
    cube_symmetries,
    kissing,
    lattice,
    nested,
    scattered,
)
from tests.oracles.convex import signed_distance
from thud.convex.sat import sat_rows
from thud.pairing.rows import PairBatch


def statuses(pairs: Pairs) -> np.ndarray:
    """(N,) status of each row."""
    status = np.empty(len(pairs), np.uint8)
    sat_rows(0, len(pairs), PairBatch(pairs.packed, pairs.pairs, pairs.poses_a, pairs.poses_b, 0), status)
    return status


def assert_same_booleans(pairs: Pairs) -> np.ndarray:
    """As GJK has them. The axes of polytopes that are corner to corner show less of their gap than there is: gaps between the
    touch distance and some digits more are left out."""
    status = statuses(pairs)
    gjk, _status, gap = pairs.gjk()
    sure = (gjk != UNCONVERGED) & ((gap < 0.75 * pairs.touch) | (gap > 1e-9 * pairs.size))
    np.testing.assert_array_equal((status == SEPARATED)[sure], (gjk == SEPARATED)[sure])
    assert sure.mean() > 0.5
    assert (status != UNCONVERGED).all()
    return status


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_random_pairs(scale: float) -> None:
    status = assert_same_booleans(scattered(np.random.default_rng(1), 10_000, scale))
    assert 0.3 < (status == SEPARATED).mean() < 0.7


def test_random_pairs_far_from_the_origin() -> None:
    rng = np.random.default_rng(2)
    assert_same_booleans(scattered(rng, 5_000).in_world(rng, offset=1e6))


def test_degenerate_pairs() -> None:
    rng = np.random.default_rng(3)
    for pairs in (cube_symmetries(rng), lattice(rng, 10_000), kissing(rng, 8_000)):
        assert_same_booleans(pairs)
        assert_same_booleans(pairs.in_world(rng))
    status = assert_same_booleans(nested(rng, 5_000))
    assert (status == OVERLAPPING).mean() > 0.9


def test_against_the_slow_reference() -> None:
    pairs = scattered(np.random.default_rng(7), 60)
    status = statuses(pairs)
    for row, (a, b) in enumerate(pairs.pairs):
        poses = pairs.poses_a[row : row + 1], pairs.poses_b[row : row + 1]
        assert (status[row] == SEPARATED) == (signed_distance(pairs.shapes[a], pairs.shapes[b], *poses)[0] > 0)


def test_only_edges_separate() -> None:
    # Two wedges crossed edge over edge: no face has the other in front of it.
    roof = thud.ConvexHull([[-1, -1, -1], [1, -1, -1], [1, 1, -1], [-1, 1, -1], [-1, 0, 0], [1, 0, 0]])
    # Turned about x by half a turn, then about z by a quarter: its ridge lies along y, downward.
    over = thud.Pose([0, 0, 0.05], [0.0, np.sqrt(0.5), np.sqrt(0.5), 0.0])
    assert not thud.intersects(roof, roof, None, over, method="sat")[0]
    assert thud.intersects(roof, roof, None, thud.Pose([0, 0, -0.05], over.quaternion), method="sat")[0]
    assert thud.intersects(roof, roof, None, thud.Pose([0, 0, 0.0], over.quaternion), method="sat")[0]
    assert thud.distance(roof, roof, None, over).distance[0] == pytest.approx(0.05)


def test_errors() -> None:
    with pytest.raises(thud.errors.UnsupportedQueryError, match="sat"):
        thud.intersects(thud.Sphere(1.0), thud.Box((1, 1, 1)), method="sat")
    with pytest.raises(thud.errors.UnsupportedQueryError, match="sat"):
        thud.distance(thud.Box((1, 1, 1)), thud.Box((1, 1, 1)), method="sat")
