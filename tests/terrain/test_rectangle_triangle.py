"""Rectangles of the map against triangles, touching (Algorithm 9) and overlapping, by brute force in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from thud import geometry
from thud._core.decorators import exact_kernel
from thud.terrain.collision.rectangle_triangle import triangle_overlaps_rectangle


@exact_kernel("i8[:,::1], u1[::1]")
def overlap_rows(rows, out):
    """Overlap of triangles (six numbers) and rectangles (four)."""
    for k in range(rows.shape[0]):
        r = rows[k]
        out[k] = triangle_overlaps_rectangle(r[0], r[1], r[2], r[3], r[4], r[5], r[6], r[7], r[8], r[9])


def answers(rows: np.ndarray) -> np.ndarray:
    """Whether they meet, by Algorithm 9, and whether they overlap."""
    out = np.empty(len(rows), np.uint8)
    overlap_rows(np.ascontiguousarray(rows, dtype=np.int64), out)
    meet = geometry.rectangle_triangle(rows[:, 6:8], rows[:, 8:], rows[:, :6].reshape(-1, 3, 2), method="yang")
    return np.column_stack([meet, out.astype(bool)])


def clipped_area(row: np.ndarray) -> tuple[bool, Fraction]:
    """(whether anything is left, its doubled area) of the triangle, clipped by the rectangle's four sides."""
    polygon = [(Fraction(int(row[2 * k])), Fraction(int(row[2 * k + 1]))) for k in range(3)]
    for axis, limit, sign in ((0, row[6], 1), (0, row[8], -1), (1, row[7], 1), (1, row[9], -1)):
        bound = Fraction(int(limit))
        kept = []
        for k, p in enumerate(polygon):
            q = polygon[(k + 1) % len(polygon)]
            inside, next_inside = sign * (p[axis] - bound) >= 0, sign * (q[axis] - bound) >= 0
            if inside:
                kept.append(p)
            if inside != next_inside:
                s = (bound - p[axis]) / (q[axis] - p[axis])
                kept.append((p[0] + s * (q[0] - p[0]), p[1] + s * (q[1] - p[1])))
        polygon = kept
        if not polygon:
            return False, Fraction(0)
    area = sum(
        polygon[k - 1][0] * polygon[k][1] - polygon[k][0] * polygon[k - 1][1] for k in range(len(polygon))
    )  # fmt: skip
    return True, abs(area)


def test_table_3_1() -> None:
    box = [4, 4, 8, 8]
    cases = {
        "a vertex of the triangle in the rectangle": [5, 5, 20, 4, 20, 9],
        "only edges cross": [0, 5, 12, 5, 6, 7],
        "the triangle in the rectangle": [5, 5, 7, 5, 6, 7],
        "the rectangle in the triangle": [-20, -20, 40, -20, 6, 60],
        "one corner of the rectangle in the triangle": [7, 7, 20, 7, 7, 20],
        "a corner of each in the other": [6, 6, 20, 0, 20, 20],
    }
    found = answers(np.array([triangle + box for triangle in cases.values()]))
    assert found.all()
    apart = [[20, 20, 30, 20, 20, 30], [0, 13, 0, 0, 1, 0], [9, 0, 20, 0, 20, 30], [11, 0, 13, 0, 13, 20], [0, 9, 20, 9, 0, 20]]
    assert not answers(np.array([triangle + box for triangle in apart])).any()
    # Near a corner of the rectangle, with boxes that overlap.
    assert not answers(np.array([[7, 12, 12, 7, 12, 12] + box]))[0, 1]


def test_touching_counts_once() -> None:
    box = [0, 0, 4, 4]
    touching = [[4, 0, 8, 0, 8, 4], [4, 4, 8, 4, 4, 8], [0, 8, 8, 0, 8, 8], [4, -4, 8, 2, 4, 8], [-4, 4, 8, 4, 0, 8]]
    found = answers(np.array([triangle + box for triangle in touching]))
    assert found[:, 0].all()
    assert not found[:, 1].any()


def test_random_triangles_against_exact_clipping() -> None:
    rng = np.random.default_rng(0)
    rows = []
    while len(rows) < 3000:
        size = int(rng.choice([6, 16, 64]))
        t = rng.integers(0, size, 6)
        turn = (t[2] - t[0]) * (t[5] - t[1]) - (t[3] - t[1]) * (t[4] - t[0])
        if turn == 0:
            continue
        if turn < 0:
            t = t[[0, 1, 4, 5, 2, 3]]
        low, side = rng.integers(0, size, 2), rng.integers(1, 9, 2)
        rows.append([*t, *low, *(low + side)])
    table = np.array(rows)
    found = answers(table)
    truth = [clipped_area(row) for row in table]
    np.testing.assert_array_equal(found[:, 0], [left for left, _ in truth])
    np.testing.assert_array_equal(found[:, 1], [area > 0 for _, area in truth])
    assert 200 < found[:, 1].sum() < 2800
    assert (found[:, 0] & ~found[:, 1]).sum() > 20
