"""Lengths of displacements: roots of a field along lines from the base ([Yang] 2.2.3)."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.terrain.making.fields import Field, evaluate
from thud.terrain.making.tolerances import TRACE_STEPS, TRACE_TOLERANCE


def trace(field: Field, position: Floats, direction: Floats, reach: float, cell: float) -> Floats:
    """(N,) lengths from positions along directions to the surface; NaN where there is none.

    From a position outside the line goes back into the ground, from one inside it goes out: the surface found is the first
    that the direction leaves. Steps of `cell` / TRACE_STEPS bracket it, so that features thinner than a step may be missed.

    Parameters
    ----------
    field : negative inside the ground; if it has a method `trace` of the same arguments, that is asked
    position, direction : (N, 3)
    reach : how far to look, metres
    cell : metres
    """
    own = getattr(field, "trace", None)
    if own is not None:
        # A field that is a kernel does all of this in one.
        return np.asarray(own(position, direction, reach, cell), dtype=np.float64)
    here = evaluate(field, position)
    per_metre = 1.0 / np.linalg.norm(direction, axis=1)
    sign = np.where(here < 0.0, 1.0, -1.0)
    length = np.where(here == 0.0, 0.0, np.nan)
    near, far = np.zeros(len(here)), np.full(len(here), np.nan)
    f_near, f_far = here.copy(), np.full(len(here), np.nan)
    rows = np.flatnonzero(here != 0.0)
    for k in range(1, int(np.ceil(reach / cell * TRACE_STEPS)) + 1):
        if len(rows) == 0:
            break
        t = sign[rows] * per_metre[rows] * min(k * cell / TRACE_STEPS, reach)
        value = evaluate(field, position[rows] + t[:, None] * direction[rows])
        beyond = value * sign[rows] >= 0.0
        hit, rest = rows[beyond], rows[~beyond]
        far[hit], f_far[hit] = t[beyond], value[beyond]
        near[rest], f_near[rest] = t[~beyond], value[~beyond]
        rows = rest
    found = np.flatnonzero(~np.isnan(far))
    tolerance = TRACE_TOLERANCE * cell * per_metre[found]
    length[found] = chandrupatla(
        field, position[found], direction[found], near[found], far[found], f_near[found], f_far[found], tolerance
    )
    return length


def chandrupatla(
    field: Field, position: Floats, direction: Floats, a: Floats, b: Floats, fa: Floats, fb: Floats, tolerance: Floats
) -> Floats:
    """Roots between a and b, where the field changes its sign: inverse quadratic steps where they are safe, halving elsewhere
    (Chandrupatla 1997). All rows at once; those that are done drop out."""
    best = np.where(np.abs(fa) < np.abs(fb), a, b)
    rows = np.arange(len(a))
    c, fc, part = a.copy(), fa.copy(), np.full(len(a), 0.5)
    for _ in range(60):
        if len(rows) == 0:
            break
        t = a + part * (b - a)
        f = evaluate(field, position[rows] + t[:, None] * direction[rows])
        same = np.sign(f) == np.sign(fa)
        c, fc = np.where(same, a, b), np.where(same, fa, fb)
        b, fb = np.where(same, b, a), np.where(same, fb, fa)
        a, fa = t, f
        smaller = np.abs(fa) < np.abs(fb)
        best[rows] = np.where(smaller, a, b)
        with np.errstate(divide="ignore", invalid="ignore"):
            limit = tolerance / np.abs(b - a)
            xi, phi = (a - b) / (c - b), (fa - fb) / (fc - fb)
            quadratic = (phi * phi < xi) & ((1.0 - phi) ** 2 < 1.0 - xi)
            guess = fa / (fb - fa) * fc / (fb - fc) + (c - a) / (b - a) * fa / (fc - fa) * fb / (fc - fb)
        part = np.where(quadratic & np.isfinite(guess), guess, 0.5)
        part = np.clip(part, limit, 1.0 - limit)
        live = (limit < 0.5) & (np.minimum(np.abs(fa), np.abs(fb)) > 0.0)
        rows, a, b, c = rows[live], a[live], b[live], c[live]
        fa, fb, fc, part, tolerance = fa[live], fb[live], fc[live], part[live], tolerance[live]
    return best
