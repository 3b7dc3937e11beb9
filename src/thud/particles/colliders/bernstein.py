"""Polynomials in Bernstein-Bezier form over a tetrahedron: indices, values, slopes, interpolation, signs.

Control values stand in the order of falling exponents, (d, 0, 0, 0) first: the order of `crossings/tetrahedron_field.py`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import combinations
from math import factorial, prod

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.errors import InvalidInputError

#: How many control values polynomials of degree 1, 2, ... have.
COUNTS = (4, 10, 20, 35, 56)


def degree_of(count: int) -> int:
    """Degree of a polynomial with so many control values; 0: there is none."""
    return COUNTS.index(count) + 1 if count in COUNTS else 0


def checked_degree(degree: int) -> int:
    """A degree, as one that there is."""
    if isinstance(degree, bool) or not isinstance(degree, (int, np.integer)) or not 1 <= degree <= len(COUNTS):
        raise InvalidInputError(f"degree: expected a whole number from 1 to {len(COUNTS)}, got {degree!r}")
    return int(degree)


@cache
def indices(degree: int) -> Ints:
    """(K, 4) exponents of each control value; not to be written to."""
    out = [
        (degree - n, n - m, m - k, k) for n in range(degree + 1) for m in range(n + 1) for k in range(m + 1)
    ]  # fmt: skip
    return np.array(out, dtype=np.int64)


def places(exponents: Ints) -> Ints:
    """(...,) places of control values of (..., 4) exponents."""
    k = exponents[..., 3]
    m = k + exponents[..., 2]
    n = m + exponents[..., 1]
    return np.asarray(n * (n + 1) * (n + 2) // 6 + m * (m + 1) // 2 + k)


def reduced(control: Floats, inner: Floats, degree: int, steps: int) -> Floats:
    """(M, K') control values after `steps` of de Casteljau's algorithm at (M, 4) barycentric coordinates."""
    for left in range(degree - 1, degree - 1 - steps, -1):
        lower = indices(left)
        control = sum(inner[:, i, None] * control[:, places(lower + np.eye(4, dtype=np.int64)[i])] for i in range(4))  # type: ignore[assignment]
    return control


def values(control: Floats, inner: Floats, degree: int) -> Floats:
    """(M,) values of (M, K) control values at (M, 4) barycentric coordinates."""
    return reduced(control, inner, degree, degree)[:, 0]


def mean_slopes(control: Floats, degree: int) -> Floats:
    """(M, 4) means over the tetrahedron of the derivatives by each barycentric coordinate."""
    lower = indices(degree - 1)
    return np.stack([degree * control[:, places(lower + np.eye(4, dtype=np.int64)[i])].mean(axis=1) for i in range(4)], axis=1)


@cache
def interpolation(degree: int) -> Floats:
    """(K, K) from values at control points to control values. Exact before it is rounded, so that those on a face take nothing
    from beyond it."""
    where = indices(degree)
    size = len(where)
    rows = [
        [
            Fraction(factorial(degree) * prod(int(p) ** int(a) for p, a in zip(point, alpha)), degree**degree)
            / prod(factorial(int(a)) for a in alpha)
            for alpha in where
        ]
        + [Fraction(int(i == j)) for j in range(size)]
        for i, point in enumerate(where)
    ]
    for i in range(size):
        pivot = next(r for r in range(i, size) if rows[r][i] != 0)
        rows[i], rows[pivot] = rows[pivot], rows[i]
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for r in range(size):
            if r != i and rows[r][i] != 0:
                factor = rows[r][i]
                rows[r] = [x - factor * y for x, y in zip(rows[r], rows[i])]
    return np.array([[float(x) for x in row[size:]] for row in rows])


@cache
def parts(degree: int) -> list[tuple[Floats, Floats]]:
    """Sixty-four smaller tetrahedra that a tetrahedron is cut into: (4, 4) barycentric coordinates of the corners of each, and
    (K, K) from control values to those of the same polynomial in it."""
    small = [np.eye(4)]
    for _ in range(2):
        finer = []
        for a, b, c, d in small:
            ab, ac, ad, bc, bd, cd = (0.5 * (u + v) for u, v in combinations((a, b, c, d), 2))
            finer += [(a, ab, ac, ad), (b, ab, bc, bd), (c, ac, bc, cd), (d, ad, bd, cd)]
            # The octahedron that is left, about the diagonal from ac to bd.
            finer += [(ac, bd, ab, ad), (ac, bd, ad, cd), (ac, bd, cd, bc), (ac, bd, bc, ab)]
        small = [np.array(corners) for corners in finer]
    each = np.eye(len(indices(degree)))
    out = []
    for corners in small:
        points = indices(degree) / degree @ corners
        at_points = np.stack([values(np.tile(one, (len(points), 1)), points, degree) for one in each], axis=1)
        out.append((corners, interpolation(degree) @ at_points))
    return out


def single_sheeted(control: Floats, degree: int) -> Bools:
    """(T,) whether control values change their sign once at most from layer to layer, away from a vertex or an edge.

    Then so does the polynomial on each line from that vertex to the opposite face, or from that edge to the opposite one."""
    where, out = indices(degree), np.zeros(len(control), bool)
    groups = [(i,) for i in range(4)] + list(combinations(range(4), 2))[:3]
    for group in groups:
        layer = where[:, list(group)].sum(axis=1)
        low = np.stack([control[:, layer == k].min(axis=1) for k in range(degree + 1)], axis=1)
        high = np.stack([control[:, layer == k].max(axis=1) for k in range(degree + 1)], axis=1)
        for least, most in ((low, high), (-high, -low)):
            # Layers below one of mixed signs are all at most 0, those above it at least 0.
            for mixed in range(degree + 1):
                out |= (most[:, :mixed] <= 0.0).all(axis=1) & (least[:, mixed + 1 :] >= 0.0).all(axis=1)
    return out
