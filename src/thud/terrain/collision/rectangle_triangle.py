"""Whether a rectangle of the map and a primitive's triangle overlap, in whole numbers.

3.6.1 asks whether they meet, by Algorithm 9, and counts touching: that is `intersected_tri_rect` of `geometry/`. Walks need
less: a cell that only touches a primitive's triangle holds nothing of its surface that the cell beside it has not.
"""

from __future__ import annotations

from thud._core.decorators import exact_device


@exact_device
def turn(ax, ay, bx, by, px, py):
    """Twice the area of a, b, p: positive if p is to the left of ab."""
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax)


@exact_device
def triangle_overlaps_rectangle(ax, ay, bx, by, cx, cy, x0, y0, x1, y1):
    """Whether they share an area, by the separating axes of both. The triangle runs counter-clockwise; the rectangle is
    [x0, x1] x [y0, y1]."""
    if max(ax, max(bx, cx)) <= x0 or min(ax, min(bx, cx)) >= x1 or max(ay, max(by, cy)) <= y0 or min(ay, min(by, cy)) >= y1:
        return False
    return (
        farthest(ax, ay, bx, by, x0, y0, x1, y1) > 0
        and farthest(bx, by, cx, cy, x0, y0, x1, y1) > 0
        and farthest(cx, cy, ax, ay, x0, y0, x1, y1) > 0
    )


@exact_device
def farthest(ax, ay, bx, by, x0, y0, x1, y1):
    """`turn` of the rectangle's corner that is farthest to the left of ab."""
    return turn(ax, ay, bx, by, x0 if by > ay else x1, y1 if bx > ax else y0)
