"""Chung-Wang against GJK, V-Clip and the slow reference, on random and degenerate pairs.

Undecided (UNCONVERGED), measured on x86-64 over eight seeds: 1 of 1,500,000, two faces kissing. The tests allow one in a
thousand degenerate pairs, because roundoff differs between machines, and no random one.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import thud
from tests.convex.polytopes import (
    IDENTITY,
    OVERLAPPING,
    SEPARATED,
    UNCONVERGED,
    Pairs,
    cube_symmetries,
    kissing,
    lattice,
    nested,
    prism,
    random_rows,
    scattered,
)
from tests.oracles.convex import signed_distance
from thud._core.decorators import kernel
from thud.convex.chung_wang import chung_wang_intersects, chung_wang_rows
from thud.convex.gjk import center_axis
from thud.convex.v_clip import v_clip_rows
from thud.math.pose import load_rotation, load_translation
from thud.pairing.rows import DistanceFields, PairBatch
from thud.shapes.packed import PART_START


def statuses(pairs):
    """(N,) status of each row."""
    status = np.empty(len(pairs), np.uint8)
    chung_wang_rows(0, len(pairs), PairBatch(pairs.packed, pairs.pairs, pairs.poses_a, pairs.poses_b, 0), status)
    return status


def v_clip_distances(pairs):
    count = len(pairs)
    status, distance, points = np.empty(count, np.uint8), np.empty(count), np.empty((3, count, 3))
    features, steps = np.full((count, 2), -1), np.empty(count, np.int64)
    batch = PairBatch(pairs.packed, pairs.pairs, pairs.poses_a, pairs.poses_b, 0)
    v_clip_rows(0, count, batch, DistanceFields(distance, points[0], points[1], points[2], status), features, steps)
    return status, distance


def assert_same_booleans(pairs, undecided=0.0):
    """Chung-Wang decides the rows, and as V-Clip, whose answers carry proofs; and as GJK where GJK has the digits.

    Gaps of 0.75 to 1.25 touch distances are left out: the roundoff of the gap itself is a tenth of the touch distance.
    """
    status = statuses(pairs)
    assert (status == UNCONVERGED).mean() <= undecided
    other, distance = v_clip_distances(pairs)
    gjk, _distance_status, gjk_distance = pairs.gjk()
    gap = np.maximum(distance, gjk_distance)
    clear = (status != UNCONVERGED) & (other != UNCONVERGED) & (np.abs(gap / pairs.touch - 1.0) > 0.25)
    np.testing.assert_array_equal(status[clear], other[clear])
    sure = clear & (gjk != UNCONVERGED) & ((gap < 0.75 * pairs.touch) | (gap > 1e-9 * pairs.size))
    np.testing.assert_array_equal((status == SEPARATED)[sure], (gjk == SEPARATED)[sure])
    assert sure.mean() > 0.5
    return status


@pytest.mark.parametrize("scale", [1e-4, 1.0, 1e4])
def test_random_pairs(scale):
    pairs = scattered(np.random.default_rng(1), 10_000, scale)
    status = assert_same_booleans(pairs)
    assert 0.3 < (status == SEPARATED).mean() < 0.7


def test_random_pairs_far_from_the_origin():
    rng = np.random.default_rng(2)
    assert_same_booleans(scattered(rng, 5_000).in_world(rng, offset=1e6))


def test_cubes_near_each_of_their_24_symmetries():
    rng = np.random.default_rng(3)
    pairs = cube_symmetries(rng)
    assert_same_booleans(pairs, undecided=1e-3)
    assert_same_booleans(pairs.in_world(rng), undecided=1e-3)


def test_symmetric_solids_on_a_lattice():
    rng = np.random.default_rng(4)
    pairs = lattice(rng, 10_000)
    assert_same_booleans(pairs, undecided=1e-3)
    assert_same_booleans(pairs.in_world(rng), undecided=1e-3)


def test_faces_kissing():
    rng = np.random.default_rng(5)
    pairs = kissing(rng, 8_000)
    assert_same_booleans(pairs, undecided=1e-3)
    assert_same_booleans(pairs.in_world(rng), undecided=1e-3)


def test_one_inside_the_other_and_coincident():
    status = assert_same_booleans(nested(np.random.default_rng(6), 5_000), undecided=1e-3)
    assert (status == OVERLAPPING).mean() > 0.9


def test_against_the_slow_reference():
    pairs = scattered(np.random.default_rng(7), 60)
    status = statuses(pairs)
    for row, (a, b) in enumerate(pairs.pairs):
        distance = signed_distance(
            pairs.shapes[a], pairs.shapes[b], pairs.poses_a[row : row + 1], pairs.poses_b[row : row + 1]
        )[0]
        assert (status[row] == SEPARATED) == (distance > 0)


# --- the axis


@kernel
def axis_rows(count, packed, pairs, poses, axes_in, status_out, axis_out, iterations_out):
    """`chung_wang_intersects` of B at `poses` in A's frame, from axes_in (0: from the centres)."""
    for i in range(count):
        a, b = packed.shape_ints[pairs[i, 0], PART_START], packed.shape_ints[pairs[i, 1], PART_START]
        r, t = load_rotation(poses, i), load_translation(poses, i)
        axis = (axes_in[i, 0], axes_in[i, 1], axes_in[i, 2])
        if axis == (0.0, 0.0, 0.0):
            axis = center_axis(packed.parts, a, b, r, t)
        status_out[i], v, iterations_out[i] = chung_wang_intersects(packed.parts, a, b, r, t, axis)
        for k in range(3):
            axis_out[i, k] = v[k]


def search(pairs, axes):
    status, found, iterations = np.empty(len(pairs), np.uint8), np.empty((len(pairs), 3)), np.empty(len(pairs), np.int64)
    axis_rows(len(pairs), pairs.packed, pairs.pairs, pairs.poses_b, axes, status, found, iterations)
    return status, found, iterations


def local_pairs(rng, count):
    """Scattered pairs with A at the origin."""
    pairs = scattered(rng, count)
    return Pairs(pairs.shapes, pairs.pairs, IDENTITY[None], pairs.poses_b)


def test_the_axis_separates_and_starts_the_next_search():
    pairs = local_pairs(np.random.default_rng(8), 2_000)
    status, axes, iterations = search(pairs, np.zeros((len(pairs), 3)))
    apart = np.flatnonzero(status == SEPARATED)
    assert len(apart) > 500
    for row in apart[:300]:
        a, b = (pairs.shapes[k].topology.vertices for k in pairs.pairs[row])
        b = b @ pairs.poses_b[row, :9].reshape(3, 3).T + pairs.poses_b[row, 9:]
        # From B to A: all of A lies farther along it than all of B.
        assert (a @ axes[row]).min() > (b @ axes[row]).max()
    again, same, repeated = search(pairs, axes)
    np.testing.assert_array_equal(again[apart], SEPARATED)
    np.testing.assert_array_equal(repeated[apart], 1)
    unit = axes[apart] / np.linalg.norm(axes[apart], axis=1, keepdims=True)
    np.testing.assert_allclose(same[apart], unit, atol=1e-15)
    assert iterations.max() < 32


@pytest.mark.parametrize("turn", range(3))
def test_any_first_axis_gives_the_same_answer(turn):
    rng = np.random.default_rng(9)
    pairs = local_pairs(rng, 2_000)
    status, _axes, _iterations = search(pairs, np.zeros((len(pairs), 3)))
    start = [np.eye(3)[turn] + np.zeros((len(pairs), 3)), 1e-9 * rng.normal(size=(len(pairs), 3))][turn % 2]
    np.testing.assert_array_equal(search(pairs, start)[0], status)


# --- the misprint (errata)


def chung_wang_printed(a, b, d, limit, corrected):
    """Algorithm 2 on vertex arrays: the step at which it reports a separating axis, or None after `limit` steps."""
    for step in range(limit):
        p, q = a[(a @ d).argmax()], b[(b @ -d).argmax()]
        if p @ d < (q @ d if corrected else -(q @ d)):
            return step
        n = (q - p) / np.linalg.norm(q - p)
        d = d - 2.0 * (n @ d) * n
    return None


def test_printed_test_misses_shapes_that_are_apart():
    # P.d < -Q.d compares with the mirror image of B: with both shapes on the side that d points to, no axis passes it.
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    a, b, d = square + [4.0, 4.0], square + [6.0, 4.5], np.array([1.0, 0.2])
    assert chung_wang_printed(a, b, d, 1000, corrected=False) is None
    assert chung_wang_printed(a, b, d, 1000, corrected=True) == 0


def test_printed_test_separates_coincident_shapes():
    # On the other side of the origin it passes at once, whatever the shapes.
    square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]]) - 5.0
    d = np.array([1.0, 0.2])
    assert chung_wang_printed(square, square, d, 1000, corrected=False) == 0


def test_corrected_test_has_no_end_on_overlap():
    rng = np.random.default_rng(10)
    a, b = rng.normal(size=(2, 30, 3))
    assert chung_wang_printed(a, b, np.array([1.0, 0.3, 0.2]), 20_000, corrected=True) is None
    # Ours proves the overlap from the points it met.
    assert statuses(Pairs([thud.ConvexHull(a), thud.ConvexHull(b)], (0, 1), IDENTITY[None], IDENTITY[None]))[0] == OVERLAPPING


def test_corrected_test_finds_the_axis_of_random_hulls():
    rng = np.random.default_rng(11)
    found = 0
    for _ in range(100):
        a, b = rng.normal(size=(2, 20, 3))
        b += rng.uniform(2.0, 6.0) * np.array([1.0, 0.0, 0.0])
        step = chung_wang_printed(a, b, b.mean(axis=0) - a.mean(axis=0), 200, corrected=True)
        status = statuses(Pairs([thud.ConvexHull(a), thud.ConvexHull(b)], (0, 1), IDENTITY[None], IDENTITY[None]))[0]
        if step is not None:
            assert status == SEPARATED
            found += 1
    assert found > 20


# --- regressions


def one(shape_a, shape_b, row):
    return statuses(Pairs([shape_a, shape_b], (0, 1), IDENTITY[None], np.array([row])))[0]


@pytest.mark.parametrize("tilt", [1e-12, 1e-10, 1e-8])
def test_corner_to_corner_with_a_tiny_tilt(tilt):
    # The gap is the tilt. The closest point of the last segment lies near its far end: as far end + t * direction it
    # lost its small component, the axis came out exactly along y, and along y the cubes overlap by the tilt.
    box = thud.Box([1, 1, 1])
    assert one(box, box, [1, 0, 0, 0, -1, tilt, 0, -tilt, -1, 2, 2, 2]) == SEPARATED


def test_parallel_faces_a_picometre_apart():
    # A segment of A - B, 4 long, passes the origin at 1e-12: the rounding of its closest point, 1e-16 along the segment,
    # tilts the axis by 1e-4, and every support point was an end of that same segment.
    rows = []
    shape = prism(64, 0.1)
    normal, offset = shape.topology.planes[8, :3], shape.topology.planes[8, 3]
    for shift in np.linspace(-0.1, 0.1, 11):
        for gap in (1e-12, 1e-10, 1e-9):
            rows.append([*np.eye(3).ravel(), *((2 * offset + gap) * normal + [0, 0, shift])])
    status = statuses(Pairs([shape], (0, 0), IDENTITY[None], np.array(rows)))
    np.testing.assert_array_equal(status, SEPARATED)


@pytest.mark.parametrize("tilt", [1e-11, 1e-10, 1e-9, 1e-8])
def test_support_points_on_one_line(tilt):
    # Cubes that touch by half a face: three support points lie on a line through the origin but for the tilt. The volumes of
    # the tetrahedron are below the roundoff of |e||f||g|, yet exact, because the roundoff falls on components that are 0.
    rng = np.random.default_rng(12)
    box = thud.Box([1, 1, 1])
    for _ in range(20):
        axis = rng.normal(size=3)
        row = np.append(thud.Pose([0, 0, 0], [1, *(0.5 * tilt * axis)]).rows[0, :9], [2.0 - 1e-15, 1, 1])
        assert one(box, box, row) != UNCONVERGED


# --- rows and invariants


def test_one_pair_one_pose_and_poses_by_shape():
    rng = np.random.default_rng(13)
    pairs = scattered(rng, 200)
    shapes, count = pairs.packed, len(pairs.shapes)
    # One pair and one pose of A for all rows.
    single, whole = np.empty(200, np.uint8), np.empty(200, np.uint8)
    chung_wang_rows(0, 200, PairBatch(shapes, pairs.pairs[:1].copy(), pairs.poses_a[:1].copy(), pairs.poses_b, 0), single)
    tile = np.tile(pairs.pairs[:1], (200, 1)), np.tile(pairs.poses_a[:1], (200, 1))
    chung_wang_rows(0, 200, PairBatch(shapes, *tile, pairs.poses_b, 0), whole)
    np.testing.assert_array_equal(single, whole)
    # Poses that belong to the shapes.
    poses = random_rows(rng, count, 1.35)
    chung_wang_rows(0, 200, PairBatch(shapes, pairs.pairs, poses, poses, 1), single)
    chung_wang_rows(0, 200, PairBatch(shapes, pairs.pairs, poses[pairs.pairs[:, 0]], poses[pairs.pairs[:, 1]], 0), whole)
    np.testing.assert_array_equal(single, whole)
    # Rows outside start .. stop stay untouched.
    part = np.full(200, 9, np.uint8)
    chung_wang_rows(50, 60, PairBatch(shapes, pairs.pairs, poses, poses, 1), part)
    np.testing.assert_array_equal(part[50:60], whole[50:60])
    assert (np.delete(part, np.s_[50:60]) == 9).all()


@settings(deadline=None, max_examples=60)
@given(st.integers(0, 2**31), st.sampled_from([2.0**-13, 2.0**13]))
def test_swap_move_and_scale_change_nothing(seed, scale):
    rng = np.random.default_rng(seed)
    points = rng.integers(-3, 4, (2, 12, 3)) + rng.normal(size=(2, 12, 3)) * 1e-3
    shapes = [thud.ConvexHull(points[0]), thud.ConvexHull(points[1])]
    rows = random_rows(rng, 20, 5.0)
    pairs = Pairs(shapes, (0, 1), IDENTITY[None], rows)
    status = statuses(pairs)
    np.testing.assert_array_equal(statuses(Pairs(shapes, (1, 0), rows, IDENTITY[None])), status)
    np.testing.assert_array_equal(statuses(pairs.in_world(rng)), status)
    scaled = rows.copy()
    scaled[:, 9:] *= scale
    bigger = [thud.ConvexHull(scale * points[0]), thud.ConvexHull(scale * points[1])]
    np.testing.assert_array_equal(statuses(Pairs(bigger, (0, 1), IDENTITY[None], scaled)), status)
