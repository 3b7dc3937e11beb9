from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from thud.errors import InvalidInputError
from thud.terrain.bounding.triangles import patch_triangles


def volume(a, b, c, d) -> Fraction:
    """((b - a) x (c - a)) . (d - a) of points with exact coordinates."""
    (ux, uy, uz), (vx, vy, vz), (wx, wy, wz) = ([x - y for x, y in zip(p, a)] for p in (b, c, d))
    return ux * (vy * wz - vz * wy) - uy * (vx * wz - vz * wx) + uz * (vx * wy - vy * wx)


def exact(points: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(float(x)) for x in point] for point in points]


def turned(rng: np.random.Generator, points: np.ndarray, up: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    turn[:, 0] *= np.sign(np.linalg.det(turn))
    return points @ turn.T, up @ turn.T


def check(corners: np.ndarray, up: np.ndarray) -> None:
    result = patch_triangles(*corners, up)
    p = exact(corners)
    for u, v in ((0, 0), (1, 0), (0, 1), (1, 1), (0.5, 0.5), (0.25, 0.5), (0.75, 0.125)):
        u, v = Fraction(u), Fraction(v)
        weights = (1 - u) * (1 - v), u * (1 - v), (1 - u) * v, u * v
        patch = [sum(w * point[i] for w, point in zip(weights, p)) for i in range(3)]
        for i, j, k in result.upper[0]:
            assert volume(p[i], p[j], p[k], patch) <= 0
        for i, j, k in result.lower[0]:
            assert volume(p[i], p[j], p[k], patch) >= 0


@pytest.mark.parametrize("seed", range(40))
def test_upper_and_lower_triangles_bound_the_patch_whatever_it_faces(seed: int) -> None:
    rng = np.random.default_rng(seed)
    corners = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]) + rng.normal(size=(4, 3)) * 0.2
    up = np.array([0.0, 0, 1])
    if seed % 3 == 0:
        corners = corners[[0, 2, 1, 3]]
    corners, up = turned(rng, corners, up)
    check(corners, up)
    above = patch_triangles(*corners, up)
    normals = np.cross(corners[above.upper[0, :, 1]] - corners[above.upper[0, :, 0]],
                       corners[above.upper[0, :, 2]] - corners[above.upper[0, :, 0]])  # fmt: skip
    assert (normals @ up).sum() > 0  # counter-clockwise seen from above
    below = patch_triangles(*corners, -up)
    assert {frozenset(t) for t in above.upper[0].tolist()} == {frozenset(t) for t in below.lower[0].tolist()}


def test_patches_in_one_plane_or_folded_are_bounded_too() -> None:
    flat = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]])
    check(flat, np.array([0.0, 0, 1]))
    check(flat + [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 0, 3]], np.array([0.0, 0, 1]))
    check(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [-1, -1, 0.5]]), np.array([0.0, 0, 1]))
    check(np.zeros((4, 3)), np.array([0.0, 0, 1]))


def test_case_of_the_paper() -> None:
    # 3.4.2 names its corners (v, u): p01 lies along x. Facing up, 00-11 is the edge of the upper pair.
    result = patch_triangles([0, 0, 1], [1, 0, 1], [0, 1, 0.5], [1, 1, 4], [0, 0, 1])
    assert {frozenset(t) for t in result.upper[0].tolist()} == {frozenset({0, 1, 3}), frozenset({0, 3, 2})}
    result = patch_triangles([0, 0, 1], [1, 0, 1], [0, 1, 0.5], [1, 1, 4], [0, 0, -1])
    assert {frozenset(t) for t in result.upper[0].tolist()} == {frozenset({0, 1, 2}), frozenset({1, 3, 2})}


def test_a_direction_of_zero_is_named() -> None:
    with pytest.raises(InvalidInputError, match="up: row 1 is zero"):
        patch_triangles([0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0], [[0, 0, 1], [0, 0, 0]])
