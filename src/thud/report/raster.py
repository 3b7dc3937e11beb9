"""Triangles into a picture: the nearest one in each pixel."""

from __future__ import annotations

import math

from thud._core.decorators import kernel


@kernel("i8, i8, f8[:,::1], i8[:,::1], i8, i8, i8, i8, f4[::1], i4[::1], i8[::1]")
def draw_triangles(start, stop, points, faces, owner, first_face, width, height, near_out, owner_out, face_out):
    """Draw rows [start, stop) of `faces`.

    points : (V, 3) pixels to the right and down, and 1 / distance along the view, which is linear on a triangle in the
        picture; not above 0 behind the eye. Triangles with such a corner are left out
    near_out : (height * width) the largest 1 / distance so far; owner_out, face_out : whose, and which row of `faces`, counted
        from `first_face`
    """
    for row in range(start, stop):
        i, j, k = faces[row, 0], faces[row, 1], faces[row, 2]
        za, zb, zc = points[i, 2], points[j, 2], points[k, 2]
        if za <= 0.0 or zb <= 0.0 or zc <= 0.0:
            continue
        ax, ay, bx, by, cx, cy = points[i, 0], points[i, 1], points[j, 0], points[j, 1], points[k, 0], points[k, 1]
        left, right = min(ax, min(bx, cx)), max(ax, max(bx, cx))
        top, bottom = min(ay, min(by, cy)), max(ay, max(by, cy))
        if right < 0.0 or left > width or bottom < 0.0 or top > height:
            continue
        area = (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)
        if area == 0.0:
            continue
        scale = 1.0 / area
        first, last = max(0, math.ceil(left - 0.5)), min(width - 1, math.floor(right - 0.5))
        upper, lower = max(0, math.ceil(top - 0.5)), min(height - 1, math.floor(bottom - 0.5))
        for y in range(upper, lower + 1):
            py = y + 0.5
            for x in range(first, last + 1):
                px = x + 0.5
                u = ((cx - bx) * (py - by) - (cy - by) * (px - bx)) * scale
                v = ((ax - cx) * (py - cy) - (ay - cy) * (px - cx)) * scale
                w = 1.0 - u - v
                if u >= 0.0 and v >= 0.0 and w >= 0.0:
                    near = u * za + v * zb + w * zc
                    pixel = y * width + x
                    # Of two in one place the first, whatever the roundoff.
                    if near > 1.000002 * near_out[pixel]:
                        near_out[pixel] = near
                        owner_out[pixel] = owner
                        face_out[pixel] = first_face + row
    return 0
