"""Casts that start in an overlap: which way is out, and how far."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from thud._core.arrays import Ints
from thud.errors import UnboundedShapeError, UnsupportedQueryError
from thud.results import CastStatus, Distances


def overlapping_rows(out: Any) -> Ints:
    """Rows of an `Impacts`, or of a result with such fields, that overlap at the start."""
    return np.flatnonzero(out.status == CastStatus.OVERLAPPING_AT_START)


def put_depths(out: Any, rows: Ints, signed: Callable[[Ints], Distances]) -> None:
    """Normal, depth and the point midway of rows that overlap at the start, from their signed distances.

    Where two shapes have no signed distance the normal is 0 and the depth NaN, and the point stays. So it is too where the
    signed distance knows no way out.
    """
    if len(rows) == 0:
        return
    try:
        found = signed(rows)
    except (UnsupportedQueryError, UnboundedShapeError):
        out.normal[rows], out.depth[rows] = 0.0, np.nan
        return
    out.normal[rows] = found.normal
    known = found.normal.any(axis=1)
    out.depth[rows] = np.where(known, np.maximum(0.0 - found.distance, 0.0), np.nan)
    bounded = known & np.isfinite(found.distance)
    out.point[rows[bounded]] = 0.5 * (found.point_a[bounded] + found.point_b[bounded])
