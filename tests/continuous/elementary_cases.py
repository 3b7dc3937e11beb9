"""Rows for the elementary queries: constructed ones whose truth is known, and random ones.

The constructed rows have whole coordinates times a power of two, and touch at a time k / 2^m and barycentric coordinates
j / 2^q, so that nothing is rounded: the features touch at that time, and first touch then or earlier. The misses keep the two
features on different sides of a slab of known thickness.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

#: Times are multiples of 2^-TIME_BITS, barycentric coordinates of 2^-BARY_BITS.
TIME_BITS, BARY_BITS = 6, 4

#: Three whole vectors at right angles, each of length 3.
FRAME = np.array([[1, 2, 2], [2, 1, -2], [2, -2, 1]])

HITS = ("generic", "border", "ends", "tangent", "parallel", "coplanar", "collinear", "degenerate", "still")


@dataclass
class Cases:
    """(N, 4, 3) positions. Hits touch at `time`; misses stay at least `gap` apart; NaN where that is not known."""

    kind: str
    start: np.ndarray
    end: np.ndarray
    time: np.ndarray
    gap: np.ndarray


def _whole(rng, size, reach):
    return rng.integers(-reach, reach + 1, size)


def _place(rng, kind, at_time, speed, k, gap, plain):
    """From positions and speeds (per 2^-TIME_BITS) at time k / 2^TIME_BITS to floats, scaled and shifted exactly."""
    start = at_time - k[:, None, None] * speed
    end = at_time + (2**TIME_BITS - k)[:, None, None] * speed
    if plain:
        both = np.concatenate([start, end], axis=1)
        size = 2.0 ** -np.ceil(np.log2(np.maximum(np.abs(both).max(axis=(1, 2)), 1)))[:, None, None]
        return Cases(kind, start * size, end * size, k / 2.0**TIME_BITS, gap)
    shift = np.where(rng.random(len(k)) < 0.25, 2**30, 0)[:, None, None] * _whole(rng, (len(k), 1, 3), 3)
    scale = 2.0 ** rng.integers(-40, 21, len(k))
    placed = [(x + shift).astype(np.float64) * scale[:, None, None] for x in (start, end)]
    return Cases(kind, *placed, k / 2.0**TIME_BITS, gap * scale)


def hits(rng: np.random.Generator, kind: str, face: bool, count: int, *, plain: bool = False) -> Cases:
    """Rows that touch, of any size and anywhere; with `plain`, of size about 1 at the origin."""
    one, most = 2**BARY_BITS, 2**TIME_BITS
    k = rng.integers(1, most, count)
    if kind == "ends":
        k = np.where(rng.random(count) < 0.5, 0, most)
    # Barycentric coordinates, inside unless the border is asked for.
    if face:
        a = rng.integers(1, one - 1, count)
        b = rng.integers(1, one - a)
    else:
        a, b = rng.integers(1, one, (2, count))
    if kind in ("border", "ends", "coplanar", "collinear", "degenerate"):
        choice = rng.integers(0, 7, count)
        a = np.where(choice == 0, 0, a)
        b = np.where(choice == 1, 0, b)
        b = np.where(choice == 2, one - a if face else one, b)
        a, b = np.where(choice == 3, 0, a), np.where(choice == 3, 0, b)
        a, b = np.where(choice == 4, one, a), np.where(choice == 4, 0, b)
        a, b = np.where(choice == 5, 0, a), np.where(choice == 5, one, b)
    a, b = a[:, None], b[:, None]

    reach = rng.choice([3, 40, 1000])
    base, e, g = _whole(rng, (3, count, 3), reach)
    v0, ve, vg, vd = _whole(rng, (4, count, 3), reach // 2)
    if kind == "coplanar" or kind == "collinear":
        # Everything in the plane, or on the line, of two whole vectors.
        first, second = _whole(rng, (2, count, 3), 5)
        m, n = _whole(rng, (2, 7, count, 1), reach)
        if kind == "collinear":
            n = 0 * n
        base, e, g, v0, ve, vg, vd = (m[i] * first + n[i] * second for i in range(7))
    if kind == "parallel":
        g = e * rng.choice([-2, -1, 1, 2, 3], (count, 1))
        turns = rng.random((count, 1)) < 0.3
        ve, vg = np.where(turns, ve, 0), np.where(turns, vg, 0)
    if kind == "degenerate":
        choice = rng.integers(0, 4, (count, 1))
        e, ve = np.where(choice == 0, 0, e), np.where(choice == 0, 0, ve)
        g, vg = np.where(choice == 1, 0, g), np.where(choice == 1, 0, vg)
        g, vg = np.where(choice == 2, 2 * e, g), np.where(choice == 2, 2 * ve, vg)
        e, g, ve, vg = (np.where(choice == 3, 0, x) for x in (e, g, ve, vg))
    if kind == "still":
        v0, ve, vg, vd = 0 * v0, 0 * ve, 0 * vg, 0 * vd
    if kind == "tangent":
        # The contact's two points move apart within the common plane: the coplanarity has a double root.
        alpha, beta = _whole(rng, (2, count, 1), 2)
        vd = alpha * e + beta * g
    x, v = np.empty((2, count, 4, 3), dtype=np.int64)
    if face:
        # f0, f1 = f0 + one e, f2 = f0 + one g; the vertex is f0 + a e + b g, and moves with that point but for vd.
        x[:, 1], x[:, 2], x[:, 3], x[:, 0] = base, base + one * e, base + one * g, base + a * e + b * g
        v[:, 1], v[:, 2], v[:, 3] = v0, v0 + one * ve, v0 + one * vg
        v[:, 0] = v0 + a * ve + b * vg + vd
    else:
        x[:, 0], x[:, 1] = base, base + one * e
        x[:, 2] = base + a * e - b * g
        x[:, 3] = x[:, 2] + one * g
        v[:, 0], v[:, 1] = v0, v0 + one * ve
        v[:, 2] = v0 + a * ve - b * vg + vd
        v[:, 3] = v[:, 2] + one * vg
    return _place(rng, kind, x, v, k, np.full(count, np.nan), plain)


def misses(rng: np.random.Generator, face: bool, count: int) -> Cases:
    """Rows that stay a known gap apart: one feature above a slab, the other below it, often along it."""
    first = [0] if face else [0, 1]
    coordinates = _whole(rng, (2, count, 4, 3), 2 ** rng.integers(4, 24))
    thick = 2 ** rng.integers(0, 12, count)
    along = np.abs(coordinates[..., 0]) * (rng.random((2, count, 4)) < 0.4)
    coordinates[..., 0] = -along
    coordinates[:, :, first, 0] = thick[:, None] + along[:, :, first]
    frame = FRAME[rng.permuted(np.tile(np.arange(3), (count, 1)), axis=1)] * rng.choice([-1, 1], (count, 1, 3))
    points = np.einsum("tnpk,nkc->tnpc", coordinates, frame)
    scale = 2.0 ** rng.integers(-40, 21, count)
    placed = points.astype(np.float64) * scale[:, None, None]
    return Cases("slab", placed[0], placed[1], np.full(count, np.nan), 3.0 * thick * scale)


def displaced(rng: np.random.Generator, face: bool, count: int) -> Cases:
    """Tangential and bordering contacts, one feature moved by a little: nobody knows; the oracle decides."""
    made = [hits(rng, kind, face, n) for kind, n in (("tangent", count - count // 2), ("border", count // 2))]
    start, end = np.concatenate([m.start for m in made]), np.concatenate([m.end for m in made])
    extent = np.abs(end - start).max(axis=(1, 2))
    unit = 2.0 ** (np.floor(np.log2(np.maximum(extent, 1e-300))) - rng.integers(4, 30, count))
    move = unit[:, None, None] * _whole(rng, (count, 1, 3), 2)
    which = [0] if face else [0, 1]
    start[:, which] += move
    end[:, which] += move
    return Cases("displaced", start, end, np.full(count, np.nan), np.full(count, np.nan))


def random_rows(rng: np.random.Generator, face: bool, count: int, *, plain: bool = False) -> Cases:
    """A third anywhere in a box; a third with short motions; a third about a contact, half of which just miss.

    One row in ten is far from the origin, unless `plain`.
    """
    start, end = rng.uniform(-1.0, 1.0, (2, count, 4, 3))
    family = np.arange(count) % 3
    end = np.where((family == 1)[:, None, None], start + 0.3 * end, end)
    t, u, v = rng.random((3, count, 1))
    if face:
        u, v = np.where(u + v > 1.0, 1.0 - u, u), np.where(u + v > 1.0, 1.0 - v, v)
    # Somewhat outside as well.
    u, v = 1.2 * u - 0.1, 1.2 * v - 0.1
    at = start + t[:, :, None] * (end - start)
    if face:
        gap = at[:, 0] - at[:, 1] - u * (at[:, 2] - at[:, 1]) - v * (at[:, 3] - at[:, 1])
        moved = [0]
    else:
        gap = at[:, 0] + u * (at[:, 1] - at[:, 0]) - at[:, 2] - v * (at[:, 3] - at[:, 2])
        moved = [0, 1]
    shift = np.where((family == 2)[:, None], gap, 0.0)[:, None, :]
    start[:, moved] -= shift
    end[:, moved] -= shift
    if plain:
        return Cases("random", start, end, np.full(count, np.nan), np.full(count, np.nan))
    far = np.where(rng.random(count) < 0.1, 1000.0, 0.0)[:, None, None]
    return Cases("random", start + far, end + far, np.full(count, np.nan), np.full(count, np.nan))
