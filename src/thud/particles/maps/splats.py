"""Discs painted into the textures of planes, where coordinates are linear. See `splat_points.py` for what is curved."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_kernel

# Columns of a splat's numbers: u, v, radius (metres; 0: the texel alone), the metric of the coordinates (uu, uv, vv: square
# metres a unit).
U, V, RADIUS, UU, UV, VV = range(6)


@exact_kernel("i8[::1], f8[:,::1], f4[:,:,::1]")
def splat_rows(collider, numbers, out):
    """Paint each disc, with an edge one texel soft; where discs overlap the larger coverage stays."""
    q, p = out.shape[1], out.shape[2]
    for k in range(collider.shape[0]):
        c, u, v, radius = collider[k], numbers[k, U], numbers[k, V], numbers[k, RADIUS]
        uu, uv, vv = numbers[k, UU], numbers[k, UV], numbers[k, VV]
        x, y = min(np.int64(u * p), p - 1), min(np.int64(v * q), q - 1)
        out[c, y, x] = 1.0
        det = uu * vv - uv * uv
        if radius <= 0.0 or det <= 0.0:
            continue
        # A texel's size here, and the box of the ellipse that the disc is in (u, v).
        texel = math.sqrt(math.sqrt(det) / (p * q))
        far = radius + 0.5 * texel
        wide, high = far * math.sqrt(vv / det), far * math.sqrt(uu / det)
        x0, x1 = np.int64(max(math.floor((u - wide) * p), 0.0)), np.int64(min(math.floor((u + wide) * p), p - 1.0))
        y0, y1 = np.int64(max(math.floor((v - high) * q), 0.0)), np.int64(min(math.floor((v + high) * q), q - 1.0))
        for j in range(y0, y1 + 1):
            dv = (j + 0.5) / q - v
            for i in range(x0, x1 + 1):
                du = (i + 0.5) / p - u
                distance = math.sqrt(max(0.0, uu * du * du + 2.0 * uv * du * dv + vv * dv * dv))
                cover = min(1.0, (radius - distance) / texel + 0.5)
                if cover > out[c, j, i]:
                    out[c, j, i] = cover
