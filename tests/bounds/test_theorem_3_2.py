"""Theorem 3.2 case by case, against a linear program; what the paper leaves open; and never against an intersecting pair."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import linprog

from thud.bounds.kdop import directions
from thud.bounds.theorem_3_2 import aabb_rejects, kdop_rejects, obb_rejects, sphere_rejects

MARGIN, SLACK = 1e-12, 1e-9


def vec(*v: float) -> tuple[float, ...]:
    return tuple(float(x) for x in np.ravel(v))


def unit(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v)


def least_height(a: np.ndarray, b: np.ndarray, planes: list[tuple[np.ndarray, np.ndarray]]) -> float:
    """min over {a x <= b} of the largest n . (x - p): positive if no point of the volume is behind all planes."""
    rows = np.vstack([np.column_stack([a, np.zeros(len(a))])] + [np.append(n, -1.0) for _, n in planes])
    bounds = np.concatenate([b, [n @ p for p, n in planes]])
    result = linprog([0, 0, 0, 1], rows, bounds, bounds=[(None, None)] * 4)
    assert result.status == 0
    return float(result.fun)


def random_case(rng: np.random.Generator, support):
    """A support plane of something in R, its point in R, and another plane near R."""
    n_own = unit(rng.normal(size=3))
    inner = rng.uniform(-1, 1, 3) * 0.7
    p_own = support(inner)
    n_other = unit(-n_own + rng.normal(size=3) * rng.choice([0.0, 1e-9, 1e-4, 0.3, 1.0]))
    p_other = p_own + rng.normal(size=3) * rng.choice([0.02, 0.2, 0.6])
    return p_own, n_own, p_other, n_other


def check(rejected: bool, height: float, counts: dict[str, int]) -> None:
    """Sound always; complete but for the margins."""
    if rejected:
        assert height > 0.0
        counts["rejected"] += 1
    else:
        assert height < 1e-5
        counts["kept"] += 1


def test_box_rejects_exactly_what_has_no_point_behind_both_planes() -> None:
    rng = np.random.default_rng(1)
    counts = {"rejected": 0, "kept": 0}
    for _ in range(1500):
        h = 10.0 ** rng.uniform(-1.5, 0.3, 3)
        c = rng.normal(size=3)
        p, n, q, m = random_case(rng, lambda inner, c=c, h=h: c + inner * h)
        rejected = aabb_rejects(vec(c), vec(h), vec(p), vec(n), vec(q), vec(m), SLACK, MARGIN)
        a, b = np.vstack([np.eye(3), -np.eye(3)]), np.concatenate([c + h, h - c])
        check(rejected, least_height(a, b, [(p, n), (q, m)]), counts)
        # The same, turned.
        r = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        turned = obb_rejects(vec(r.T), vec(r @ c), vec(h), vec(r @ p), vec(r @ n), vec(r @ q), vec(r @ m), SLACK, MARGIN)
        if turned != rejected:
            assert abs(least_height(a, b, [(p, n), (q, m)])) < 1e-5
    assert min(counts.values()) > 300


def test_sphere_rejects_exactly_what_has_no_point_behind_both_planes() -> None:
    rng = np.random.default_rng(2)
    counts = {"rejected": 0, "kept": 0}
    share = np.linspace(0, 1, 20001)
    for _ in range(1500):
        radius, c = float(10.0 ** rng.uniform(-1, 0.3)), rng.normal(size=3)
        p, n, q, m = random_case(rng, lambda inner, c=c, radius=radius: c + inner * radius / np.sqrt(3))
        rejected = sphere_rejects(vec(c), radius, vec(p), vec(n), vec(q), vec(m), SLACK, MARGIN)
        # By duality: the best combination of the two planes as one.
        mixed = share[:, None] * n + (1 - share)[:, None] * m
        heights = share * (n @ (c - p)) + (1 - share) * (m @ (c - q)) - radius * np.linalg.norm(mixed, axis=1)
        check(rejected, heights.max(), counts)
    assert min(counts.values()) > 300


@pytest.mark.parametrize("k", [6, 14, 18, 26])
def test_kdop_rejects_only_what_has_no_point_behind_both_planes(k: int) -> None:
    rng = np.random.default_rng(3)
    rejections = 0
    signed = np.concatenate([directions(k), -directions(k)])
    for _ in range(400):
        points = rng.normal(size=(12, 3)) * 10.0 ** rng.uniform(-1, 0.3, 3)
        along = points @ directions(k).T
        row = np.concatenate([along.min(axis=0) - 1e-6, along.max(axis=0) + 1e-6]).astype(np.float32)[None]
        p, n, q, m = random_case(rng, lambda inner, points=points: points[0])
        rejected = kdop_rejects(directions(k), row, 0, vec(p), vec(n), vec(q), vec(m), SLACK, MARGIN)
        upper = np.concatenate([row[0, k // 2 :], -row[0, : k // 2]]).astype(float)
        height = least_height(signed, upper, [(p, n), (q, m)])
        if rejected:
            assert height > 0.0
            rejections += 1
        elif k == 6:
            assert height < 1e-5
    assert rejections > 60


BOX = (vec(0, 0, 0), vec(1, 1, 1))


def both(p: tuple, n: tuple, q: tuple, m: tuple) -> tuple[bool, bool]:
    """The unit box, and the sphere in it."""
    n, m = vec(unit(np.array(n, float))), vec(unit(np.array(m, float)))
    p, q = vec(*p), vec(*q)
    return aabb_rejects(*BOX, p, n, q, m, SLACK, MARGIN), sphere_rejects(vec(0, 0, 0), 1.0, p, n, q, m, SLACK, MARGIN)


def test_eq_1_other_plane_crosses_the_volume() -> None:
    # Own plane x = 0 with the object left of it; the other object is right of x = 0.5. l does not exist near R.
    assert both((0, 0, 0), (1, 0, 0), (0.5, 0, 0), (-1, 0.1, 0)) == (True, True)
    # The other object left of x = 0.5 too: both half-spaces share points of R.
    assert both((0, 0, 0), (1, 0, 0), (0.5, 0, 0), (1, 0.1, 0)) == (False, False)
    # The other object right of x = -0.5: a slab of R is behind both.
    assert both((0, 0, 0), (1, 0, 0), (-0.5, 0, 0), (-1, 0.1, 0)) == (False, False)


def test_eq_2_volume_before_the_other_plane() -> None:
    assert both((0, 0, 0), (1, 0, 0), (0, 0, 3), (0, 0, 1)) == (False, False)
    assert both((0, 0, 0), (1, 0, 0), (0, 0, -3), (0, 0, 1)) == (True, True)


def test_l_through_the_volume_is_never_rejected() -> None:
    # A narrow wedge behind both planes, with its edge l at y = 0.9 inside R.
    assert both((0, 0.9, 0), (1, 0.05, 0), (0, 0.9, 0), (-1, 0.05, 0)) == (False, False)
    # The same wedge with its edge at y = -1.5, below R.
    assert both((-0.075, 0, 0), (1, 0.05, 0), (0.075, 0, 0), (-1, 0.05, 0)) == (True, True)


def test_parallel_planes_have_no_line_and_the_inequalities_decide() -> None:
    # Opposite normals: the separating-axis test (3.1).
    assert both((0.2, 0, 0), (1, 0, 0), (0.3, 0, 0), (-1, 0, 0)) == (True, True)
    assert both((0.2, 0, 0), (1, 0, 0), (0.1, 0, 0), (-1, 0, 0)) == (False, False)
    # Equal normals: the half-spaces contain each other.
    assert both((0.2, 0, 0), (1, 0, 0), (0.3, 0, 0), (1, 0, 0)) == (False, False)
    assert both((0.3, 0, 0), (1, 0, 0), (0.2, 0, 0), (1, 0, 0)) == (False, False)
    # The same plane from both sides: they touch, and touching is intersecting.
    assert both((0.2, 0, 0), (1, 0, 0), (0.2, 0, 0), (-1, 0, 0)) == (False, False)
    assert both((0.2, 0, 0), (1, 0, 0), (0.2, 0, 0), (1, 0, 0)) == (False, False)


def test_touching_is_not_rejected() -> None:
    # R touches the other plane from before it: (2) needs a gap.
    assert both((0, 0, 0), (1, 0, 0), (0, 0, -1), (0, 0, 1)) == (False, False)
    # p_own on the other plane.
    assert both((0.5, 0, 0), (1, 0, 0), (0.5, 0, 0), (-1, 0.2, 0)) == (False, False)
    # q on the own plane: with q the deepest corner behind the other plane, on x = 1.
    assert not both((1, 0, 0), (1, 0, 0), (1, 0, 0), (-1, 0, 0))[0]
    # l along an edge of the box.
    assert not both((0, 1, 0), (0, 1, 0), (1, 1, 0), (-1, 0.0, 0))[0]
