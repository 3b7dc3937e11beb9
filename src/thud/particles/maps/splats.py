"""Discs painted into textures."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_kernel

# Columns of a splat's numbers: u, v, radius (metres), the metric of the coordinates (uu, uv, vv: square metres a unit), side of
# the tile, 1 where u goes around.
U, V, RADIUS, UU, UV, VV, TILE, AROUND = range(8)


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
        tile = numbers[k, TILE]
        most = math.floor(1.0 / tile + 0.5) - 1.0
        left, low = min(math.floor(u / tile), most) * tile, min(math.floor(v / tile), most) * tile
        around = numbers[k, AROUND] != 0.0
        if around:
            wide = min(wide, 0.5)
            x0, x1 = np.int64(math.floor((u - wide) * p)), np.int64(math.floor((u + wide) * p))
        else:
            x0 = np.int64(max(math.floor((u - wide) * p), math.floor(left * p)))
            x1 = np.int64(min(math.floor((u + wide) * p), math.ceil((left + tile) * p) - 1.0, p - 1.0))
        y0 = np.int64(max(math.floor((v - high) * q), math.floor(low * q)))
        y1 = np.int64(min(math.floor((v + high) * q), math.ceil((low + tile) * q) - 1.0, q - 1.0))
        for j in range(y0, y1 + 1):
            dv = (j + 0.5) / q - v
            for i in range(x0, x1 + 1):
                du = (i + 0.5) / p - u
                distance = math.sqrt(max(0.0, uu * du * du + 2.0 * uv * du * dv + vv * dv * dv))
                cover = min(1.0, (radius - distance) / texel + 0.5)
                at = i % p if around else i
                if cover > out[c, j, at]:
                    out[c, j, at] = cover
