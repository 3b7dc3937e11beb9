"""Vertex-face and edge-edge in motion: nothing missed, nothing late, whatever the input."""

from __future__ import annotations

import os
from fractions import Fraction

import numpy as np
import pytest

import thud
from tests.continuous import elementary
from tests.continuous.elementary_cases import HITS, hits, misses, random_rows
from tests.oracles import ccd
from thud import CastStatus
from thud.continuous import edge_edge, vertex_face

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"

TRIANGLE = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]])
QUERIES = pytest.mark.parametrize(
    ("query", "face"), [(vertex_face, True), (edge_edge, False)], ids=["vertex_face", "edge_edge"]
)


def fall(x: float, y: float, high: float = 1.0, low: float = -1.0) -> tuple[np.ndarray, np.ndarray]:
    """A vertex that falls onto a triangle at rest."""
    return np.vstack([[[x, y, high]], TRIANGLE]), np.vstack([[[x, y, low]], TRIANGLE])


def test_constructed_and_random_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    if SMALL:
        monkeypatch.setitem(elementary.SIZES, "ci", (500, 1_000))
    counts = elementary.run("ci")
    for kind, c in counts.items():
        assert (c.missed, c.late, c.far, c.unconverged) == (0, 0, 0, 0), kind
    assert counts["random"].false <= 0.01 * counts["random"].rows
    assert counts["random"].contacts > 0.1 * counts["random"].rows
    assert counts["slab"].false == 0
    assert min(counts["displaced"].contacts, counts["displaced"].rows - counts["displaced"].contacts) > 0


def test_a_vertex_falls_onto_a_triangle() -> None:
    start, end = fall(0.25, 0.25)
    answer = vertex_face(start, end)
    assert answer.time.shape == (1,)
    assert 0.5 - 1e-6 < answer.time[0] <= 0.5
    assert answer.status[0] == CastStatus.HIT
    assert answer.hit[0]
    missed = vertex_face(*fall(0.75, 0.5))
    assert (missed.time[0], missed.status[0], missed.hit[0]) == (np.inf, CastStatus.MISS, False)


@pytest.mark.parametrize(("x", "y"), [(0, 0), (1, 0), (0, 1), (0.5, 0), (0, 0.5), (0.5, 0.5)])
def test_corners_and_edges_belong_to_the_triangle(x: float, y: float) -> None:
    answer = vertex_face(*fall(x, y))
    assert 0.5 - 1e-6 < answer.time[0] <= 0.5
    for beside in (-1e-5, 1e-5):
        outside = x + beside < 0 or y + beside < 0 or x + y + 2 * beside > 1
        assert vertex_face(*fall(x + beside, y + beside)).hit[0] == (not outside)


def test_touching_at_the_start_and_only_at_the_end() -> None:
    at_start = vertex_face(*fall(0.25, 0.25, high=0.0, low=1.0))
    assert (at_start.time[0], at_start.status[0]) == (0.0, CastStatus.OVERLAPPING_AT_START)
    at_end = vertex_face(*fall(0.25, 0.25, high=1.0, low=0.0))
    assert 1.0 - 1e-6 < at_end.time[0] <= 1.0
    short = vertex_face(*fall(0.25, 0.25, high=1.0, low=1e-5))
    assert not short.hit[0]


def test_edges_cross() -> None:
    start = np.array([[-1.0, 0, 1], [1, 0, 1], [0, -1, 0], [0, 1, 0]])
    end = start.copy()
    end[:2, 2] = -3.0
    answer = edge_edge(start, end)
    assert 0.25 - 1e-6 < answer.time[0] <= 0.25
    end[:2, 1] = 6.0  # they pass beside each other: at time 1/4, y = 1.5
    assert not edge_edge(start, end).hit[0]


@QUERIES
def test_nothing_moves(query, face: bool) -> None:
    rng = np.random.default_rng(0)
    apart = rng.uniform(-1, 1, (200, 4, 3))
    answer = query(apart, apart)
    truth = ccd.first_contacts(apart, apart, face)
    np.testing.assert_array_equal(answer.hit, truth.hit)
    same = np.zeros((4, 3)) + [1.0, 2.0, 3.0]
    answer = query(same, same)
    assert (answer.time[0], answer.status[0]) == (0.0, CastStatus.OVERLAPPING_AT_START)
    # Points that all meet in one place.
    spread = same + rng.uniform(-1, 1, (4, 3))
    assert query(spread, same).hit[0]


@QUERIES
def test_time_is_that_of_the_first_of_two_contacts(query, face: bool) -> None:
    rng = np.random.default_rng(5)
    rows = random_rows(rng, face, 3000)
    forward = query(rows.start, rows.end)
    truth = ccd.first_contacts(rows.start, rows.end, face)
    backward = query(rows.end, rows.start)
    np.testing.assert_array_equal(forward.hit, backward.hit)
    both = truth.hit & forward.hit
    assert both.sum() > 300
    # Reversed, the first contact is the last one: never before the first.
    assert (1.0 - backward.time[both] >= forward.time[both] - 1e-12).all()
    assert (truth.low[both] - forward.time[both] < 1e-3).all()


@QUERIES
def test_a_power_of_two_changes_no_bit_of_the_time(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(1), face, 2000)
    expected = query(rows.start, rows.end)
    for scale in (2.0**-200, 2.0**-20, 2.0**200):
        scaled = query(rows.start * scale, rows.end * scale)
        np.testing.assert_array_equal(scaled.time, expected.time)
        np.testing.assert_array_equal(scaled.iterations, expected.iterations)


@QUERIES
def test_threads_change_no_byte(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(2), face, 5000)
    one, two = (query(rows.start, rows.end, threads=threads) for threads in (1, 2))
    for name in ("time", "status", "iterations"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


@QUERIES
def test_a_limit_reached_counts_as_a_hit(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(3), face, 2000)
    full = query(rows.start, rows.end)
    for limit in (1, 2, 5):
        cut = query(rows.start, rows.end, max_iterations=limit)
        assert (cut.iterations <= limit).all()
        assert (cut.hit | ~full.hit).all()
        assert (cut.time <= full.time).all()
        undone = cut.status == CastStatus.UNCONVERGED
        assert undone.any()
        assert np.isfinite(cut.time[undone]).all()
        same = ~undone
        np.testing.assert_array_equal(cut.time[same], full.time[same])


@QUERIES
@pytest.mark.parametrize("tolerance", [0.0, 1e-12, 1e-9, 1e-3, 0.1])
def test_tolerance(query, face: bool, tolerance: float) -> None:
    rng = np.random.default_rng(4)
    for cases in (*(hits(rng, kind, face, 60) for kind in HITS), random_rows(rng, face, 300)):
        answer = query(cases.start, cases.end, tolerance=tolerance, max_iterations=20_000)
        done = answer.hit & (answer.status != CastStatus.UNCONVERGED)
        assert done.sum() >= (0.99 if tolerance > 1e-8 else 0.7) * answer.hit.sum(), cases.kind
        if cases.kind != "random":
            assert (answer.time <= cases.time).all()
        apart = elementary.distance_at(cases, face, np.where(done, answer.time, 0.0))
        size = np.maximum(np.abs(cases.start).max(axis=(1, 2)), np.abs(cases.end).max(axis=(1, 2)))
        assert (apart <= tolerance * elementary.extent(cases) + 1e-12 * size)[done].all()


@QUERIES
def test_min_separation(query, face: bool) -> None:
    # A slab of known thickness keeps them apart: nearer than that they never come, at it they may.
    cases = misses(np.random.default_rng(6), face, 400)
    half = query(cases.start, cases.end, min_separation=0.0)
    assert not half.hit.any()
    for row in range(40):
        gap = cases.gap[row]
        pair = cases.start[row], cases.end[row]
        extent = elementary.extent(cases)[row]
        if gap > 4e-6 * extent:
            assert not query(*pair, min_separation=gap * 0.9 - 2e-6 * extent).hit[0]
    rows = random_rows(np.random.default_rng(7), face, 600)
    for separation in (1e-3, 0.05, 0.3):
        answer = query(rows.start, rows.end, min_separation=separation)
        assert (answer.status != CastStatus.UNCONVERGED).all()
        # Never late: dense samples before the time returned are all farther apart.
        until = np.where(answer.hit, answer.time, 1.0)
        for part in np.linspace(0.0, 1.0, 40, endpoint=False):
            apart = elementary.distance_at(rows, face, part * until)
            assert (apart > separation - 1e-12)[until > 0].all()
        at_hit = elementary.distance_at(rows, face, np.where(answer.hit, answer.time, 0.0))
        assert (at_hit <= separation + 1e-6 * elementary.extent(rows) + 1e-12)[answer.hit].all()


def test_min_separation_of_a_falling_vertex() -> None:
    answer = vertex_face(*fall(0.25, 0.25), min_separation=0.5)
    assert 0.25 - 1e-5 < answer.time[0] <= 0.25
    beside = vertex_face(*fall(-0.3, -0.4), min_separation=0.5)  # comes within 0.5 of the corner, at height 0 only
    assert 0.499 < beside.time[0] <= 0.5
    assert not vertex_face(*fall(-0.3, -0.41), min_separation=0.5).hit[0]


@QUERIES
def test_one_row_serves_for_all(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(8), face, 50)
    many = query(rows.start[0], rows.end)
    each = query(np.repeat(rows.start[:1], 50, axis=0), rows.end)
    np.testing.assert_array_equal(many.time, each.time)


@QUERIES
def test_odd_layouts_are_taken(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(9), face, 50)
    start = rows.start.astype(np.float32)
    expected = query(start.astype(np.float64), rows.end)
    frozen = np.asfortranarray(rows.end)
    frozen.flags.writeable = False
    np.testing.assert_array_equal(query(start, frozen).time, expected.time)
    np.testing.assert_array_equal(query(start.tolist(), rows.end.tolist()).time, expected.time)


def test_errors_name_argument_and_row() -> None:
    good = np.zeros((5, 4, 3))
    for value in (np.nan, np.inf):
        bad = good.copy()
        bad[3, 1, 2] = value
        with pytest.raises(thud.errors.InvalidInputError, match="end: row 3 is not finite"):
            vertex_face(good, bad)
        with pytest.raises(thud.errors.InvalidInputError, match="start: row 3 is not finite"):
            edge_edge(bad, good)
    with pytest.raises(thud.errors.InvalidInputError, match="start: row 2 is out of range"):
        edge_edge(np.where(np.arange(5)[:, None, None] == 2, 1e80, good), good)
    for shape in ((4,), (3, 3), (5, 3, 3), (0, 4, 3), (5, 4, 2)):
        with pytest.raises(thud.errors.InvalidInputError, match="start: expected shape"):
            vertex_face(np.zeros(shape), good)
    with pytest.raises(thud.errors.InvalidInputError, match="start, end: expected equal numbers"):
        vertex_face(good, good[:3])
    with pytest.raises(thud.errors.InvalidInputError, match="tolerance"):
        vertex_face(good, good, tolerance=-1e-6)
    with pytest.raises(thud.errors.InvalidInputError, match="min_separation"):
        vertex_face(good, good, min_separation=np.nan)
    for limit in (0, 1.5, True, "many"):
        with pytest.raises(thud.errors.InvalidInputError, match="max_iterations"):
            vertex_face(good, good, max_iterations=limit)


@QUERIES
def test_largest_and_smallest_numbers(query, face: bool) -> None:
    rows = random_rows(np.random.default_rng(10), face, 300)
    expected = query(rows.start, rows.end)
    for scale in (1e74, 1e-290, 1e-306):
        answer = query(rows.start * scale / 2000, rows.end * scale / 2000)
        # Near the least numbers everything touches; nothing is ever missed.
        assert (answer.hit | ~expected.hit).all()
        assert not np.isnan(answer.time).any()
    tiny = query(rows.start * 5e-324, rows.end * 5e-324)
    assert tiny.hit[expected.hit].all()


@QUERIES
def test_oracle_agrees_with_construction_and_with_itself(query, face: bool) -> None:
    rng = np.random.default_rng(11)
    for kind in HITS:
        cases = hits(rng, kind, face, 12)
        for i in range(12):
            root = ccd.exact_first(cases.start[i], cases.end[i], face)
            assert root is not None, kind
            root.refine(Fraction(1, 2**60))
            assert root.low <= Fraction(float(cases.time[i])), kind
            # The library is held to the exact first contact, which may be earlier than the one constructed.
            time = query(cases.start[i], cases.end[i]).time[0]
            assert root.not_before(Fraction(float(time))), kind
    cases = misses(rng, face, 20)
    assert not ccd.first_contacts(cases.start, cases.end, face).hit.any()
    rows = random_rows(rng, face, 60)
    truth = ccd.first_contacts(rows.start, rows.end, face)
    for i in range(60):
        root = ccd.exact_first(rows.start[i], rows.end[i], face)
        assert (root is not None) == truth.hit[i]
        if root is not None:
            root.refine(Fraction(1, 2**60))
            assert Fraction(float(truth.low[i])) <= root.high
            assert root.low <= Fraction(float(truth.high[i]))


@pytest.mark.interpreted
def test_interpreted_kernels_agree() -> None:
    for query, face in ((vertex_face, True), (edge_edge, False)):
        rows = random_rows(np.random.default_rng(12), face, 20)
        truth = ccd.first_contacts(rows.start, rows.end, face)
        np.testing.assert_array_equal(query(rows.start, rows.end).hit, truth.hit)
