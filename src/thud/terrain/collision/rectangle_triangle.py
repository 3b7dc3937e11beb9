"""Whether a rectangle of the map and a primitive's triangle meet (3.6.1, Algorithm 9), in whole numbers.

Most cases are decided by a vertex of the one inside the other, before edges are compared; Table 3.1 lists them. Touching
counts. (The paper's table calls type 2, in which only edges cross, and type 6 what the algorithm finds last and first.)
"""

from __future__ import annotations

from thud._core.decorators import exact_device


@exact_device
def turn(ax, ay, bx, by, px, py):
    """Twice the area of a, b, p: positive if p is to the left of ab."""
    return (bx - ax) * (py - ay) - (by - ay) * (px - ax)


@exact_device
def in_triangle(px, py, ax, ay, bx, by, cx, cy):
    """Whether the counter-clockwise triangle abc holds p."""
    return turn(ax, ay, bx, by, px, py) >= 0 and turn(bx, by, cx, cy, px, py) >= 0 and turn(cx, cy, ax, ay, px, py) >= 0


@exact_device
def edge_crosses(ax, ay, bx, by, x0, y0, x1, y1):
    """Whether segment ab meets the border of the rectangle: its line does not leave all four corners on one side, nor do the
    rectangle's sides leave both ends on one."""
    if max(ax, bx) < x0 or min(ax, bx) > x1 or max(ay, by) < y0 or min(ay, by) > y1:
        return False
    a, b = turn(ax, ay, bx, by, x0, y0), turn(ax, ay, bx, by, x1, y0)
    c, d = turn(ax, ay, bx, by, x0, y1), turn(ax, ay, bx, by, x1, y1)
    return not ((a > 0 and b > 0 and c > 0 and d > 0) or (a < 0 and b < 0 and c < 0 and d < 0))


@exact_device
def triangle_meets_rectangle(ax, ay, bx, by, cx, cy, x0, y0, x1, y1):
    """Algorithm 9. The triangle runs counter-clockwise; the rectangle is [x0, x1] x [y0, y1]."""
    if in_triangle(x0, y0, ax, ay, bx, by, cx, cy) or in_triangle(x1, y0, ax, ay, bx, by, cx, cy):
        return True
    if in_triangle(x0, y1, ax, ay, bx, by, cx, cy) or in_triangle(x1, y1, ax, ay, bx, by, cx, cy):
        return True
    if (x0 <= ax <= x1 and y0 <= ay <= y1) or (x0 <= bx <= x1 and y0 <= by <= y1) or (x0 <= cx <= x1 and y0 <= cy <= y1):
        return True
    return (
        edge_crosses(ax, ay, bx, by, x0, y0, x1, y1)
        or edge_crosses(bx, by, cx, cy, x0, y0, x1, y1)
        or edge_crosses(cx, cy, ax, ay, x0, y0, x1, y1)
    )


@exact_device
def triangle_overlaps_rectangle(ax, ay, bx, by, cx, cy, x0, y0, x1, y1):
    """The same, without those that only touch: by the separating axes of both. A primitive's surface needs no cell that only
    touches its triangle; the cell beside it holds what they share."""
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
