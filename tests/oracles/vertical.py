"""What lies straight above and below a place, by looking at every triangle."""

from __future__ import annotations

import numpy as np


def height_of_triangles(corners, x, y):
    """Heights of all triangles (T, 3, 3) over or under (x, y), their borders included."""
    a, b, c = corners[:, 0], corners[:, 1], corners[:, 2]
    area = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) - (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    u = ((b[:, 0] - x) * (c[:, 1] - y) - (b[:, 1] - y) * (c[:, 0] - x)) / area
    v = ((c[:, 0] - x) * (a[:, 1] - y) - (c[:, 1] - y) * (a[:, 0] - x)) / area
    w = 1.0 - u - v
    rows = np.flatnonzero((np.abs(area) > 0.0) & (np.minimum(np.minimum(u, v), w) >= -1e-9))
    return u[rows] * a[rows, 2] + v[rows] * b[rows, 2] + w[rows] * c[rows, 2]
