"""Kernels of impact maps: coordinates by charts, impacts into pixels."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.maps.element_charts import (
    AROUND,
    CHART_CLOSED,
    CHART_KIND,
    CHART_ORIGIN,
    CHART_TILE,
    CHART_U,
    CHART_V,
    CHART_W,
    SHEETS,
)
from thud.particles.maps.tolerances import TILE_MARGIN


@exact_device
def chart_axis(charts, row, at, d):
    """U . d + u0 of a chart."""
    return charts[row, at] * d[0] + charts[row, at + 1] * d[1] + charts[row, at + 2] * d[2] + charts[row, at + 3]


@exact_kernel("i8, i8, f8[:,::1], i8[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1]")
def chart_rows(start, stop, charts, first, collider, part, point, uv_out):
    """(u, v) of impacts by `element_charts.py`. first: the row of each collider's first chart, -1: it has none here. NaN
    beyond the window of what has no end."""
    for k in range(start, stop):
        row = first[collider[k]]
        if row < 0:
            continue
        row += part[k]
        d = (
            point[k, 0] - charts[row, CHART_ORIGIN],
            point[k, 1] - charts[row, CHART_ORIGIN + 1],
            point[k, 2] - charts[row, CHART_ORIGIN + 2],
        )
        a, b = chart_axis(charts, row, CHART_U, d), chart_axis(charts, row, CHART_V, d)
        c, kind = chart_axis(charts, row, CHART_W, d), charts[row, CHART_KIND]
        u, v = a, b
        if kind == AROUND:
            u, v = math.atan2(b, a) / (2.0 * math.pi), c
            if u < 0.0:
                u += 1.0
        if charts[row, CHART_CLOSED] != 0.0:
            # A bounded collider has coordinates everywhere, roundoff aside.
            u, v = min(max(u, 0.0), 1.0), min(max(v, 0.0), 1.0)
        elif not (0.0 <= u <= 1.0 and 0.0 <= v <= 1.0):
            uv_out[k, 0], uv_out[k, 1] = math.nan, math.nan
            continue
        if kind == SHEETS:
            # The lower sheet keeps to its half.
            u = 0.5 + 0.5 * u if c > 0.0 else min(0.5 * u, 0.5 - TILE_MARGIN)
        side = charts[row, CHART_TILE + 2]
        if side < 1.0:
            u, v = min(u, 1.0 - TILE_MARGIN), min(v, 1.0 - TILE_MARGIN)
        uv_out[k, 0], uv_out[k, 1] = (u + charts[row, CHART_TILE]) * side, (v + charts[row, CHART_TILE + 1]) * side


@exact_kernel("i8[::1], f8[:,::1], f8[:,::1], i8, i8, f4[:,::1], f8[:,::1]")
def draw_rows(collider, uv, values, p, q, pixels_out, sums_out):
    """Impacts, in the order of time, into pixels (C q p, 4 + K): id, offset, speed, count, textures. values: (M, 2 + K). Where
    sums_out has rows, values are summed there instead."""
    add = sums_out.shape[0] > 0
    for k in range(collider.shape[0]):
        u, v = uv[k, 0], uv[k, 1]
        if math.isnan(u):
            continue
        x, y = min(np.int64(u * p), p - 1), min(np.int64(v * q), q - 1)
        pixel = (collider[k] * q + y) * p + x
        pixels_out[pixel, 0] = collider[k] + 1
        pixels_out[pixel, 3] += 1.0
        for j in range(values.shape[1]):
            if add:
                sums_out[pixel, j] += values[k, j]
            else:
                pixels_out[pixel, j + 1 if j < 2 else j + 2] = values[k, j]
