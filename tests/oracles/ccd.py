"""Slow, obviously right answers to the elementary queries of continuous collision.

Two features touch only while their four points lie in one plane: at a root of the cubic c(t) = det(D, E, G), with
F = D + u E + v G as in `thud.continuous.inclusion`. `first_contacts` decides rows in interval arithmetic on floats, all rows
at once; what stays undecided goes to `exact_first`, in whole numbers: roots isolated by Sturm sequences, signs of other
polynomials at these roots decided by greatest common divisors. No step of it is shared with the library.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

# ---------------------------------------------------------------------------------------------- intervals of floats


class Interval:
    """Arrays of intervals; every operation is widened by more than its rounding error."""

    def __init__(self, low, high=None):
        self.low = low
        self.high = low if high is None else high

    @staticmethod
    def outward(low, high):
        return Interval(low - (np.abs(low) * 2.0**-52 + 1e-300), high + (np.abs(high) * 2.0**-52 + 1e-300))

    def __add__(self, other):
        return Interval.outward(self.low + other.low, self.high + other.high)

    def __sub__(self, other):
        return Interval.outward(self.low - other.high, self.high - other.low)

    def __neg__(self):
        return Interval(-self.high, -self.low)

    def __mul__(self, other):
        a, b = self.low * other.low, self.low * other.high
        c, d = self.high * other.low, self.high * other.high
        return Interval.outward(np.minimum(np.minimum(a, b), np.minimum(c, d)), np.maximum(np.maximum(a, b), np.maximum(c, d)))

    def __getitem__(self, rows):
        return Interval(self.low[rows], self.high[rows])

    @property
    def sign(self):
        """1, -1, or 0 where it is not known."""
        return (self.low > 0).astype(np.int8) - (self.high < 0).astype(np.int8)


def _cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _dot(a, b):
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def _det(a, b, c):
    return _dot(_cross(b, c), a)


def _differences(x, face):
    """D, E, G, each a list of three coordinates, of (N, 4, 3) positions; `x[j][k]` is coordinate k of point j."""
    pairs = ((0, 1), (1, 2), (1, 3)) if face else ((0, 2), (1, 0), (2, 3))
    return [[x[i][k] - x[j][k] for k in range(3)] for i, j in pairs]


def _at(first, last, t):
    """Vectors that go from `first` to `last`, at the intervals of times t."""
    one = Interval(np.ones(len(t.low)))
    return [[(one - t) * a + t * b for a, b in zip(p, q)] for p, q in zip(first, last)]


def _bernstein(first, last):
    """Bernstein coefficients of det(D, E, G), times 1, 3, 3, 1, for vectors that go from `first` to `last`."""
    (d0, e0, g0), (d1, e1, g1) = first, last
    return [
        _det(d0, e0, g0),
        _det(d1, e0, g0) + _det(d0, e1, g0) + _det(d0, e0, g1),
        _det(d0, e1, g1) + _det(d1, e0, g1) + _det(d1, e1, g0),
        _det(d1, e1, g1),
    ]


def _rows(vectors, rows):
    return [[x[rows] for x in vector] for vector in vectors]


@dataclass
class Truth:
    """First contacts of N rows: `hit`, and for hits an interval [low, high] of times that holds the first one."""

    hit: np.ndarray
    low: np.ndarray
    high: np.ndarray
    exact: np.ndarray
    """Rows that rational arithmetic had to decide."""


_UNKNOWN, _OUTSIDE, _INSIDE = 0, 1, 2


def first_contacts(start, end, face):
    """Truth of (N, 4, 3) positions: `face` for vertex-face rows, else edge-edge."""
    count = len(start)
    points0 = [[Interval(np.ascontiguousarray(start[:, j, k])) for k in range(3)] for j in range(4)]
    points1 = [[Interval(np.ascontiguousarray(end[:, j, k])) for k in range(3)] for j in range(4)]
    first, last = _differences(points0, face), _differences(points1, face)
    undecided = np.zeros(count, dtype=bool)
    roots: list[tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]] = []

    row, t0, t1 = np.arange(count), np.zeros(count), np.ones(count)
    for _ in range(24):
        if len(row) == 0:
            break
        mine0, mine1 = _rows(first, row), _rows(last, row)
        b = _bernstein(_at(mine0, mine1, Interval(t0)), _at(mine0, mine1, Interval(t1)))
        signs = np.array([x.sign for x in b])
        # b0, b1 / 3, b2 / 3, b3 are the coefficients: their differences are those of the derivative.
        three = Interval(np.full(len(row), 3.0))
        slopes = np.array([(b[1] - three * b[0]).sign, (b[2] - b[1]).sign, (three * b[3] - b[2]).sign])
        none = np.abs(signs.sum(axis=0)) == 4
        one = ~none & (np.abs(slopes.sum(axis=0)) == 3) & (signs[0] * signs[3] == -1)
        if one.any():
            roots.append(_isolated(mine0, mine1, row, t0, t1, signs[0], one, face))
        split = ~none & ~one
        # Many pieces, none of them decided: a cubic that is 0, or nearly so.
        crowded = np.bincount(row[split], minlength=count) > 8
        undecided |= crowded
        split &= ~crowded[row]
        row, t0, t1 = row[split], t0[split], t1[split]
        middle = 0.5 * (t0 + t1)
        row, t0, t1 = np.concatenate([row, row]), np.concatenate([t0, middle]), np.concatenate([middle, t1])
    undecided[row] = True

    hit, low, high = np.zeros(count, dtype=bool), np.full(count, np.inf), np.full(count, np.inf)
    if roots:
        rows, lows, highs, states = (np.concatenate(parts) for parts in zip(*roots))
        order = np.lexsort((lows, rows))
        for k in order:
            i = rows[k]
            if hit[i] or undecided[i]:
                continue
            if states[k] == _UNKNOWN:
                undecided[i] = True
            elif states[k] == _INSIDE:
                hit[i], low[i], high[i] = True, lows[k], highs[k]
    for i in np.flatnonzero(undecided):
        root = exact_first(start[i], end[i], face)
        hit[i] = root is not None
        if root is not None:
            root.refine(Fraction(1, 2**60))
            low[i], high[i] = _float_below(root.low), -_float_below(-root.high)
        else:
            low[i] = high[i] = np.inf
    return Truth(hit, low, high, undecided)


def _isolated(mine0, mine1, row, t0, t1, sign0, one, face):
    """Rows with one simple root in [t0, t1]: an interval about it, and whether the features touch there."""
    chosen = np.flatnonzero(one)
    a0, a1 = _rows(mine0, chosen), _rows(mine1, chosen)
    low, high, sign = t0[chosen].copy(), t1[chosen].copy(), sign0[chosen]
    # A root of the cubic in plain floats; then certain signs on both sides of it.
    x, y = t0[chosen].copy(), t1[chosen].copy()
    plain0 = [[Interval(p.low) for p in vector] for vector in a0]
    plain1 = [[Interval(p.low) for p in vector] for vector in a1]
    coefficients = np.array([0.5 * (b.low + b.high) for b in _bernstein(plain0, plain1)])
    for _ in range(52):
        middle = 0.5 * (x + y)
        m = 1.0 - middle
        b = coefficients
        value = ((b[0] * m + b[1] * middle) * m + b[2] * middle * middle) * m + b[3] * middle**3
        below = np.sign(value) == sign
        x, y = np.where(below, middle, x), np.where(below, y, middle)
    for exponent in (-30, -38, -44):
        left, right = np.maximum(low, x - 2.0**exponent), np.minimum(high, x + 2.0**exponent)
        at_left, at_right = _at(a0, a1, Interval(left)), _at(a0, a1, Interval(right))
        low = np.where(_det(*at_left).sign == sign, left, low)
        high = np.where(_det(*at_right).sign == -sign, right, high)
    d, e, g = _at(a0, a1, Interval(low, high))
    n = _cross(e, g)
    nn = _dot(n, n)
    u, v = -_dot(_cross(d, g), n), _dot(_cross(d, e), n)
    needed = [u, v, nn - u - v] if face else [u, v, nn - u, nn - v]
    signs = np.array([x.sign for x in needed])
    state = np.full(len(chosen), _UNKNOWN)
    known = nn.sign == 1
    state[known & (signs == -1).any(axis=0)] = _OUTSIDE
    state[known & (signs == 1).all(axis=0)] = _INSIDE
    return row[chosen], low, high, state


def _float_below(x: Fraction) -> float:
    value = float(x)
    return value if Fraction(value) <= x else math.nextafter(value, -math.inf)


# --------------------------------------------------------------------------------------- polynomials of whole numbers
# Lists of coefficients, lowest first, without trailing zeros; [] is 0.


def _trim(p):
    p = list(p)
    while p and p[-1] == 0:
        p.pop()
    return p


class Poly:
    """A polynomial with whole coefficients."""

    def __init__(self, coefficients):
        self.c = _trim(coefficients)

    def __add__(self, other):
        a, b = self.c, other.c
        size = max(len(a), len(b))
        return Poly([(a[i] if i < len(a) else 0) + (b[i] if i < len(b) else 0) for i in range(size)])

    def __neg__(self):
        return Poly([-x for x in self.c])

    def __sub__(self, other):
        return self + (-other)

    def __mul__(self, other):
        if not self.c or not other.c:
            return Poly([])
        out = [0] * (len(self.c) + len(other.c) - 1)
        for i, x in enumerate(self.c):
            for j, y in enumerate(other.c):
                out[i + j] += x * y
        return Poly(out)

    def sign(self, t: Fraction) -> int:
        """Sign at a rational number."""
        value, power = 0, 1
        for k, x in enumerate(reversed(self.c)):
            value = value * t.numerator + x * power if k else x
            power *= t.denominator
        return (value > 0) - (value < 0)

    def derivative(self):
        return Poly([k * x for k, x in enumerate(self.c)][1:])

    def primitive(self):
        """Divided by the positive greatest common divisor of its coefficients."""
        g = math.gcd(*self.c) if self.c else 1
        return Poly([x // g for x in self.c])

    def remainder(self, other):
        """A positive multiple of the remainder of self / other."""
        r = list(self.c)
        lead = other.c[-1]
        while len(r) >= len(other.c):
            top, shift = r[-1], len(r) - len(other.c)
            r = [x * abs(lead) for x in r]
            factor = top if lead > 0 else -top
            for i, x in enumerate(other.c):
                r[i + shift] -= factor * x
            r = _trim(r[:-1])
        return Poly(r).primitive()


def _gcd(p: Poly, q: Poly) -> Poly:
    while q.c:
        p, q = q, p.remainder(q)
    return p.primitive()


def _quotient(p: Poly, q: Poly) -> Poly:
    """p / q up to a positive factor, where q divides p."""
    r = [Fraction(x) for x in p.c]
    out = [Fraction(0)] * (len(p.c) - len(q.c) + 1)
    for shift in range(len(out) - 1, -1, -1):
        out[shift] = r[shift + len(q.c) - 1] / q.c[-1]
        for i, x in enumerate(q.c):
            r[shift + i] -= out[shift] * x
    scale = math.lcm(*(x.denominator for x in out))
    return Poly([int(x * scale) for x in out]).primitive()


def _sturm(p: Poly) -> list[Poly]:
    chain = [p, p.derivative()]
    while chain[-1].c:
        chain.append(-chain[-2].remainder(chain[-1]))
    return chain[:-1]


def _changes(chain, t) -> int:
    signs = [s for s in (p.sign(t) for p in chain) if s]
    return sum(a != b for a, b in itertools.pairwise(signs))


class Root:
    """One root of a square-free polynomial in [low, high]: low == high, or different signs at the two ends."""

    def __init__(self, poly: Poly, low: Fraction, high: Fraction):
        self.poly, self.low, self.high = poly, low, high

    def halve(self) -> None:
        if self.low == self.high:
            return
        middle = (self.low + self.high) / 2
        sign = self.poly.sign(middle)
        if sign == 0:
            self.low = self.high = middle
        elif sign == self.poly.sign(self.low):
            self.low = middle
        else:
            self.high = middle

    def refine(self, width: Fraction) -> None:
        while self.high - self.low > width:
            self.halve()

    def sign(self, q: Poly) -> int:
        """Sign of another polynomial at this root."""
        if not q.c:
            return 0
        if self.low == self.high:
            return q.sign(self.low)
        common = _gcd(self.poly, q)
        if len(common.c) > 1 and common.sign(self.low) * common.sign(self.high) < 0:
            return 0
        square_free = _quotient(q, _gcd(q, q.derivative())) if len(q.c) > 1 else q
        chain = _sturm(square_free)
        while True:
            if self.low == self.high:
                return q.sign(self.low)
            if q.sign(self.low) and _changes(chain, self.low) == _changes(chain, self.high) and q.sign(self.high):
                return q.sign(self.low)
            self.halve()

    def not_before(self, t: Fraction) -> bool:
        """Whether the root is at t or later."""
        if t <= self.low:
            return True
        if t > self.high:
            return False
        if self.low == self.high:
            return t <= self.low
        return self.poly.sign(t) in (0, self.poly.sign(self.low))


def roots_of(p: Poly) -> list[Root]:
    """Roots in [0, 1] of a polynomial that is not 0, ascending."""
    if len(p.c) <= 1:
        return []
    p = _quotient(p, _gcd(p, p.derivative()))
    chain = _sturm(p)
    out = []

    def look(low, high):
        """Roots strictly between low and high, neither of which is one."""
        number = _changes(chain, low) - _changes(chain, high)
        if number == 0:
            return
        if number == 1 and p.sign(low) * p.sign(high) < 0:
            out.append(Root(p, low, high))
            return
        middle = (low + high) / 2
        if p.sign(middle) == 0:
            out.append(Root(p, middle, middle))
            gap = (high - low) / 4
            while _changes(chain, middle - gap) - _changes(chain, middle + gap) != 1 or not (
                p.sign(middle - gap) and p.sign(middle + gap)
            ):
                gap /= 2
            look(low, middle - gap)
            look(middle + gap, high)
            return
        look(low, middle)
        look(middle, high)

    zero, one = Fraction(0), Fraction(1)
    left, right, gap = zero, one, Fraction(1, 2)
    for end in (zero, one):
        if p.sign(end) == 0:
            out.append(Root(p, end, end))
            gap = Fraction(1, 2)
            while (
                p.sign(end - gap) == 0 or p.sign(end + gap) == 0 or _changes(chain, end - gap) - _changes(chain, end + gap) != 1
            ):
                gap /= 2
            if end == zero:
                left = gap
            else:
                right = one - gap
    if left < right:
        look(left, right)
    return sorted(out, key=lambda root: root.low + root.high)


def late(start, end, face, time, truth: Truth) -> np.ndarray:
    """(N,) whether a time is later than the true first contact of a row that has one."""
    out = truth.hit & (time > truth.high)
    between = np.flatnonzero(truth.hit & (time > truth.low) & (time <= truth.high))
    for i in between:
        t = Fraction(float(time[i]))
        if truth.exact[i]:
            root = exact_first(start[i], end[i], face)
            assert root is not None
            out[i] = not root.not_before(t)
        else:
            # One simple root between low and high: before it, the sign is that at low.
            d, e, g = _differences(_paths(start[i], end[i]), face)
            coplanar = _det(d, e, g)
            out[i] = coplanar.sign(t) not in (0, coplanar.sign(Fraction(float(truth.low[i]))))
    return out


def _paths(start, end):
    """Coordinates of the points as polynomials of time, all of them times a common whole number."""
    exact = [[[Fraction(float(x)) for x in point] for point in points] for points in (start, end)]
    scale = math.lcm(*(x.denominator for points in exact for point in points for x in point))
    at0, at1 = ([[int(x * scale) for x in point] for point in points] for points in exact)
    return [[Poly([a, b - a]) for a, b in zip(p, q)] for p, q in zip(at0, at1)]


def exact_first(start, end, face) -> Root | None:
    """First contact of one row of (4, 3) positions, without any rounding."""
    x = _paths(start, end)
    d, e, g = _differences(x, face)
    n = _cross(e, g)
    nn, coplanar = _dot(n, n), _dot(n, d)
    u, v = -_dot(_cross(d, g), n), _dot(_cross(d, e), n)
    needed = [u, v, nn - u - v] if face else [u, v, nn - u, nn - v]
    # Without an area the features are segments or points: a point of one lies on a segment of the other.
    triples = [(0, 1, 2), (0, 2, 3), (0, 3, 1)] if face else [(0, 2, 3), (1, 2, 3), (2, 0, 1), (3, 0, 1)]
    segments = []
    for i, j, k in triples:
        to_a, to_b = ([x[j][m] - x[i][m] for m in range(3)], [x[k][m] - x[i][m] for m in range(3)])
        segments.append((_cross(to_a, to_b), _dot(to_a, to_b)))

    def touch(root: Root) -> bool:
        if root.sign(coplanar) != 0:
            return False
        if root.sign(nn) > 0:
            return all(root.sign(p) >= 0 for p in needed)
        return any(root.sign(along) <= 0 and all(root.sign(p) == 0 for p in line) for line, along in segments)

    if coplanar.c:
        candidates = roots_of(coplanar)
    else:
        # Between roots of what decides, nothing changes; what touches is closed, so it begins at one of them or at 0.
        polys = [nn, *needed, *(p for line, along in segments for p in (*line, along))]
        seen = {tuple(p.primitive().c) for p in polys if len(p.c) > 1}
        candidates = [Root(Poly([0, 1]), Fraction(0), Fraction(0))] + [r for c in sorted(seen) for r in roots_of(Poly(c))]
        for root in candidates:
            root.refine(Fraction(1, 2**70))
        candidates.sort(key=lambda root: root.low + root.high)
    for root in candidates:
        if touch(root):
            return root
    return None
