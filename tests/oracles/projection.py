"""Backward projection the slow way: every real root of the cubic by `numpy.roots`, each with a linear solve; quadrilaterals by
Newton's method from a grid of starts."""

from __future__ import annotations

import numpy as np


def forward(u, v, length, positions, directions):
    """P(u, v) + length N(u, v) of one triangle or quadrilateral."""
    if len(positions) == 3:
        weights = np.array([1 - u - v, u, v])
    else:
        weights = np.array([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
    return weights @ positions + length * (weights @ directions)


def objective(alpha, point, positions, directions):
    """(3.4) as printed: the determinant of the alpha triangle's sides and the point."""
    q = positions + alpha * directions
    return float(np.linalg.det([q[1] - q[0], q[2] - q[0], point - q[0]]))


def cubic(point, positions, directions):
    """Coefficients of (3.4), highest power first, from its multilinearity in the three columns."""
    constant = np.array([positions[1] - positions[0], positions[2] - positions[0], point - positions[0]])
    linear = np.array([directions[1] - directions[0], directions[2] - directions[0], -directions[0]])
    coefficients = np.zeros(4)
    for choice in range(8):
        rows = [linear[k] if choice >> k & 1 else constant[k] for k in range(3)]
        coefficients[3 - choice.bit_count()] += np.linalg.det(rows)
    return coefficients


def triangle_solutions(point, positions, directions):
    """[(u, v, length)] of all real roots whose alpha triangle has an area, by length. Roots of size 1, please."""
    coefficients = cubic(point, positions, directions)
    coefficients[np.abs(coefficients) < 1e-13 * np.abs(coefficients).max()] = 0.0
    found = []
    for root in np.roots(coefficients):
        if abs(root.imag) > 1e-7 * (1 + abs(root)):
            continue
        alpha = root.real
        q = positions + alpha * directions
        sides = np.array([q[1] - q[0], q[2] - q[0]]).T
        if np.linalg.cond(sides) > 1e10:
            continue
        (u, v), *_ = np.linalg.lstsq(sides, point - q[0], rcond=None)
        found.append((u, v, alpha))
    return sorted(found, key=lambda row: row[2])


def quadrilateral_solutions(point, positions, directions, low, high, grid=7):
    """[(u, v, length)] found from a grid of starts, each solution once, by length."""
    starts = np.stack(
        np.meshgrid(np.linspace(0, 1, grid), np.linspace(0, 1, grid), np.linspace(low, high, grid), indexing="ij"), axis=-1
    ).reshape(-1, 3)
    x = starts.copy()

    def parts(x):
        u, v, z = x.T
        w = np.stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v], axis=1)
        wu = np.stack([v - 1, 1 - v, v, -v], axis=1)
        wv = np.stack([u - 1, -u, u, 1 - u], axis=1)
        q = positions[None] + z[:, None, None] * directions[None]
        value = np.einsum("ni,nij->nj", w, q) - point
        return value, np.stack([np.einsum("ni,nij->nj", wu, q), np.einsum("ni,nij->nj", wv, q), w @ directions], axis=2)

    with np.errstate(all="ignore"):
        for _ in range(60):
            value, jacobian = parts(x)
            good = np.abs(np.linalg.det(jacobian)) > 1e-12
            step = np.zeros_like(x)
            step[good] = np.linalg.solve(jacobian[good], value[good][:, :, None])[:, :, 0]
            norm = np.abs(step).max(axis=1, keepdims=True)
            x = x - step * np.minimum(1.0, 0.5 / np.maximum(norm, 1e-300))
        value, _ = parts(x)
    scale = 1 + np.abs(positions).max() + np.abs(point).max()
    ok = np.abs(value).max(axis=1) < 1e-10 * scale
    ok &= (x[:, :2] > -1e-9).all(axis=1) & (x[:, :2] < 1 + 1e-9).all(axis=1) & (x[:, 2] > low - 1e-9) & (x[:, 2] < high + 1e-9)
    found: list[tuple[float, float, float]] = []
    for row in x[ok]:
        if all(np.abs(row - other).max() > 1e-6 for other in found):
            found.append(tuple(row))
    return sorted(found, key=lambda row: row[2])
