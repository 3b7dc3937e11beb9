"""The distance of two triangles apart, as the leaves of the trees measure it, against all of its parts one by one."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tests.oracles.point_triangle import point_triangles
from thud._core.decorators import kernel
from thud.mesh.triangle_distance import triangle_gap

DRAWS = 4000


@kernel("f8[:,:,::1], f8[:,:,::1], f8[::1], f8[:,::1]")
def _gaps(a, b, best2, out):
    for k in range(a.shape[0]):
        gap2, x, y = triangle_gap(
            (a[k, 0, 0], a[k, 0, 1], a[k, 0, 2]), (a[k, 1, 0], a[k, 1, 1], a[k, 1, 2]), (a[k, 2, 0], a[k, 2, 1], a[k, 2, 2]),
            (b[k, 0, 0], b[k, 0, 1], b[k, 0, 2]), (b[k, 1, 0], b[k, 1, 1], b[k, 1, 2]), (b[k, 2, 0], b[k, 2, 1], b[k, 2, 2]),
            best2[k],
        )  # fmt: skip
        out[k, 0] = gap2
        for c in range(3):
            out[k, 1 + c], out[k, 4 + c] = x[c], y[c]


def _segment_gap(p, d, q, e):
    """Distance of two segments: inside both, or from an end."""
    r, best = q - p, math.inf
    found = np.linalg.lstsq(np.stack([d, -e], axis=1), r, rcond=None)[0]
    candidates = [found]
    for s in (0.0, 1.0):
        candidates.append(np.array([s, (s * d - r) @ e / (e @ e)]))
        candidates.append(np.array([(r + s * e) @ d / (d @ d), s]))
    for s, t in candidates:
        s, t = min(max(s, 0.0), 1.0), min(max(t, 0.0), 1.0)
        best = min(best, np.linalg.norm(r + t * e - s * d))
    return best


def _slow(a, b):
    """Nine pairs of edges, six corners."""
    best = min(
        _segment_gap(a[i], a[(i + 1) % 3] - a[i], b[k], b[(k + 1) % 3] - b[k]) for i in range(3) for k in range(3)
    )  # fmt: skip
    for p, q in ((a, b), (b, a)):
        best = min(best, min(float(np.min(point_triangles(corner, q[None])[0])) for corner in p))
    return best


def _drawn(kind, rng, count):
    """Pairs of triangles of a kind, B moved away along z so that they do not meet."""
    a, b = rng.normal(size=(count, 3, 3)), rng.normal(size=(count, 3, 3))
    if kind == "parallel edges":
        b[:, 1] = b[:, 0] + (a[:, 1] - a[:, 0]) * rng.uniform(0.2, 2.0, (count, 1))
    elif kind == "one plane each":
        a[:, :, 2], b[:, :, 2] = 0.0, 0.0
    elif kind == "needles":
        b[:, 2] = b[:, 0] + 0.3 * (b[:, 1] - b[:, 0]) + 1e-9 * rng.normal(size=(count, 3))
    elif kind == "of a grid":
        a, b = np.round(2.0 * a), np.round(2.0 * b)
        whole = (np.linalg.norm(np.cross(a[:, 1] - a[:, 0], a[:, 2] - a[:, 0]), axis=1) > 0) & (
            np.linalg.norm(np.cross(b[:, 1] - b[:, 0], b[:, 2] - b[:, 0]), axis=1) > 0
        )
        a, b = a[whole], b[whole]
    lift = a[:, :, 2].max(axis=1) - b[:, :, 2].min(axis=1) + rng.choice([1e-3, 0.5, 3.0], len(a))
    b[:, :, 2] += lift[:, None]
    return np.ascontiguousarray(a), np.ascontiguousarray(b)


@pytest.mark.parametrize("kind", ["any", "parallel edges", "one plane each", "needles", "of a grid"])
def test_the_nearest_of_edges_and_corners_is_found(kind):
    a, b = _drawn(kind, np.random.default_rng(5), DRAWS // 10)
    out, endless = np.empty((len(a), 7)), np.full(len(a), math.inf)
    _gaps(a, b, endless, out)
    truth = np.array([_slow(x, y) for x, y in zip(a, b, strict=True)])
    size = np.abs(a).max(axis=(1, 2)) + np.abs(b).max(axis=(1, 2))
    assert (np.abs(np.sqrt(out[:, 0]) - truth) <= 1e-9 * size).all()
    assert np.allclose(np.linalg.norm(out[:, 1:4] - out[:, 4:7], axis=1), np.sqrt(out[:, 0]), atol=1e-12, rtol=1e-9)


@pytest.mark.parametrize("kind", ["any", "parallel edges", "needles", "of a grid"])
def test_what_is_no_nearer_than_the_best_so_far_leaves_it(kind):
    # Lanes choose and numbers decide: compared with itself, or with the next number, a pair gives the same bits, so that which
    # of two pairs is nearer does not depend on the order in which a walk meets them.
    a, b = _drawn(kind, np.random.default_rng(6), DRAWS)
    out, again = np.empty((len(a), 7)), np.empty((len(a), 7))
    _gaps(a, b, np.full(len(a), math.inf), out)
    _gaps(a, b, out[:, 0].copy(), again)
    assert (again[:, 0] == out[:, 0]).all()
    assert (again[:, 1:4] == a[:, 0]).all()
    assert (again[:, 4:7] == b[:, 0]).all()
    _gaps(a, b, np.nextafter(out[:, 0], math.inf), again)
    assert (again == out).all()
