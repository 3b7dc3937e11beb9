"""What two parts that meet, or are near, do to each other: kind, depth, points, volume."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats
from thud.queries import closest_point, contains, distance
from thud.report.clash.candidates import Placed
from thud.report.clash.deepest import deepest_point
from thud.report.clash.meeting import Body, Meeting, cut_through, extent, meeting, penetration, spread
from thud.report.clash.roundness import is_convex, thickness
from thud.report.clash.tolerances import BEYOND, MOST_SAMPLES, ROUNDING, SAME, TOUCHING
from thud.report.clash.ways import freeing, hulls_way, shortest_way

_NAN = float("nan")


class Found(NamedTuple):
    """What is known of two parts before the way out and the volume are."""

    kind: str
    point: Floats
    points: Floats
    normal: Floats
    penetration: float
    met: Meeting | None
    inside: str = ""
    decided: bool = True
    """Whether a contact is known to be no deeper than the tolerance."""


def examine(a: Body, b: Body, boxes: tuple[Floats, Floats, Floats, Floats], same_mesh: bool, tolerance: float) -> Found:
    """Two parts that meet.

    boxes : lower and upper corner of A, then of B, world frame
    """
    lower_a, upper_a, lower_b, upper_b = boxes
    lower, upper = np.maximum(lower_a, lower_b), np.minimum(upper_a, upper_b)
    middle = 0.5 * (lower + upper)
    if coincide(a, b, boxes, same_mesh, tolerance):
        return Found("duplicate", middle, np.array([lower, upper]), np.zeros(3), _NAN, None)
    met = meeting(a, b)
    if met.total == 0:
        inside = _inner(a, b)
        if not inside:
            # Apart by so little that one test calls it touching and the other does not.
            near = distance(a.mesh, b.mesh, a.pose, b.pose, threads=1)
            ends = np.array([near.point_a[0], near.point_b[0]])
            return Found("contact", ends.mean(axis=0), ends, near.normal[0], _NAN, met)
        inner = a if inside == "a" else b
        points = extent(inner.place(np.asarray(inner.mesh.vertices)[np.unique(np.asarray(inner.mesh.faces))]))
        low, high = (lower_a, upper_a) if inside == "a" else (lower_b, upper_b)
        return Found("containment", 0.5 * (low + high), points, np.zeros(3), _NAN, met, inside)
    ends = np.concatenate([met.start, met.end])
    points, where = extent(ends), 0.5 * (ends.min(axis=0) + ends.max(axis=0))
    decided = True
    deep, closed = _NAN, a.mesh.is_closed and b.mesh.is_closed
    if closed:
        deep = penetration(a, b, met, lower, upper)
        if deep > tolerance:
            return Found("hard", where, points, np.zeros(3), deep, met)
    normal = freeing(a, b, met, tolerance * (1.0 + BEYOND))
    if normal is None and closed and is_convex(a.mesh) and is_convex(b.mesh):
        # Nothing fits into a convex part: the way out alone decides.
        depth, normal, _ = hulls_way(a, b)
        if depth > tolerance:
            return Found("hard", where, points, np.zeros(3), deep, met)
    elif normal is None and closed:
        # A pin that fills its hole touches it all around, and no short way leads out: it is no clash unless a point is deep.
        depth, decided = deepest_point(a, b, lower, upper, tolerance)
        deep = max(deep, depth)
        if deep > tolerance or cut_through(a, b, met, tolerance):
            return Found("hard", where, points, np.zeros(3), deep, met)
    elif normal is None:
        # Surfaces without an inside that cannot be parted by the tolerance cross.
        depth, normal, _ = shortest_way(a, b)
        if not depth <= tolerance:
            return Found("hard", where, points, np.zeros(3), deep, met)
    # Of a pin in its hole no normal is better than another.
    return Found("contact", where, points, np.zeros(3) if normal is None else normal, deep, met, decided=decided)


def body(mesh: object, placed: Placed, row: int) -> Body:
    """A part as it stands."""
    return Body(mesh, placed.rows[row : row + 1])  # type: ignore[arg-type]


def coincide(a: Body, b: Body, boxes: tuple[Floats, Floats, Floats, Floats], same_mesh: bool, tolerance: float) -> bool:
    """Whether two surfaces are the same within the tolerance: every vertex of either lies on the other, and their areas are
    equal, so that a sheet with a window is not one without. Parts that are not much larger than the tolerance are the same
    only within a part of their thickness: side by side they are not."""
    lower_a, upper_a, lower_b, upper_b = boxes
    if max(np.abs(lower_a - lower_b).max(), np.abs(upper_a - upper_b).max()) > tolerance:
        return False
    for mesh, low, high in ((a.mesh, lower_a, upper_a), (b.mesh, lower_b, upper_b)):
        tolerance = min(tolerance, max(SAME * thickness(mesh), TOUCHING * float(np.linalg.norm(high - low))))
    if max(np.abs(lower_a - lower_b).max(), np.abs(upper_a - upper_b).max()) > tolerance:
        return False
    if same_mesh and np.abs(a.row - b.row).max() == 0.0:
        return True
    for one, other in ((a, b), (b, a)):
        faces, vertices = np.asarray(one.mesh.faces), np.asarray(one.mesh.vertices)
        # The middles too: of two boxes with common corners one may have its faces caved in.
        some = faces[spread(len(faces), MOST_SAMPLES)]
        points = one.place(np.concatenate([vertices[some[:, 0]], vertices[some].mean(axis=1)]))
        if (closest_point(other.mesh, points, pose=other.pose, threads=1).distance > tolerance).any():
            return False
    (area_a, edges_a), (area_b, edges_b) = _area(a), _area(b)
    # Corners that are off by the tolerance change the area by no more than that along all edges.
    return abs(area_a - area_b) <= tolerance * max(edges_a, edges_b) + ROUNDING * max(area_a, area_b)


def _area(body: Body) -> tuple[float, float]:
    """The area of a mesh and the length of its triangles' sides; triangles that are there twice count once."""
    corner = np.asarray(body.mesh.vertices)[np.unique(np.sort(body.mesh.welded, axis=1), axis=0)]
    sides = np.roll(corner, -1, axis=1) - corner
    area = 0.5 * np.linalg.norm(np.cross(sides[:, 0], sides[:, 1]), axis=1).sum()
    return float(area), float(np.linalg.norm(sides, axis=2).sum())


def _inner(a: Body, b: Body) -> str:
    """Which of two, whose surfaces do not meet, is inside the other; "" for neither."""
    for name, outer, inner in (("b", a, b), ("a", b, a)):
        # One connected part may be inside and another outside.
        points = inner.place(inner.mesh.component_points)
        if outer.mesh.is_closed and contains(outer.mesh, points, pose=outer.pose, threads=1).any():
            return name
    return ""
