"""Where two surfaces meet, and how deep one goes below the other."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud import geometry
from thud._core.arrays import Floats, Ints
from thud.constants import TINY
from thud.queries import closest_point, raycast, triangle_pairs
from thud.report.clash.tolerances import BELOW_SURFACE, DEEP_INSIDE, MOST_PAIRS, MOST_POINTS, MOST_SAMPLES, MOST_SEGMENTS
from thud.shapes.triangle_mesh import TriangleMesh


class Body(NamedTuple):
    """A mesh at a pose."""

    mesh: TriangleMesh
    row: Floats
    """(1, 12) pose."""

    @property
    def pose(self) -> npt.NDArray[np.float64]:
        """(1, 4, 4)"""
        matrix = np.zeros((1, 4, 4))
        matrix[0, :3, :3], matrix[0, :3, 3], matrix[0, 3, 3] = self.row[0, :9].reshape(3, 3), self.row[0, 9:], 1.0
        return matrix

    def place(self, points: npt.ArrayLike) -> Floats:
        """Points of the mesh's frame in the world."""
        return np.asarray(points) @ self.row[0, :9].reshape(3, 3).T + self.row[0, 9:]

    def corners(self, triangles: Ints) -> Floats:
        """(T, 3, 3) of triangles, world frame."""
        return self.place(np.asarray(self.mesh.vertices)[np.asarray(self.mesh.faces)[triangles]])


class Meeting(NamedTuple):
    """Triangles of two meshes that meet."""

    total: int
    """Of all pairs of triangles."""
    triangle_a: Ints
    """(K,) rows of A's triangles, of pairs spread evenly over all."""
    triangle_b: Ints
    start: Floats
    """(K, 3) ends of what each pair has in common, world frame."""
    end: Floats
    normals: Floats
    """(N, 3) unit normals of A's triangles, from A to B: outward, as those of B turned round."""

    def curve(self) -> Floats:
        """(S, 2, 3) some of the common segments."""
        long = np.flatnonzero((self.start != self.end).any(axis=1))
        some = long[spread(len(long), MOST_SEGMENTS)]
        return np.stack([self.start[some], self.end[some]], axis=1)


def meeting(a: Body, b: Body) -> Meeting:
    """Where the surfaces meet."""
    found = triangle_pairs(a.mesh, b.mesh, a.pose, b.pose, threads=1)
    some = spread(len(found.row), MOST_PAIRS)
    rows_a, rows_b = found.triangle_a[some], found.triangle_b[some]
    if not len(some):
        none = np.empty((0, 3))
        return Meeting(0, rows_a, rows_b, none, none, none)
    corners_a, corners_b = a.corners(rows_a), b.corners(rows_b)
    # Relative to their middle: far from the origin the lengths of triangles are lost in roundoff otherwise.
    middle = corners_a.reshape(-1, 3).mean(axis=0)
    one, other = corners_a - middle, corners_b - middle
    common = geometry.triangle_triangle(one, other)
    start, end = common.start.copy(), common.end.copy()
    # What touches within a roundoff has its closest points.
    rest = ~common.intersects
    if rest.any():
        near = geometry.closest_triangle_triangle(one[rest], other[rest])
        start[rest] = end[rest] = 0.5 * (near.point_a + near.point_b)
    return Meeting(len(found.row), rows_a, rows_b, start + middle, end + middle, normals_between(corners_a, corners_b))


def normals_between(corners_a: Floats, corners_b: Floats) -> Floats:
    """(N, 3) unit normals of A's triangles and those of B's turned round, the largest triangles first."""
    across = np.concatenate(
        [sign * np.cross(c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]) for sign, c in ((1.0, corners_a), (-1.0, corners_b))]
    )
    size = np.linalg.norm(across, axis=1)
    order = np.argsort(-size, kind="stable")
    order = order[size[order] > TINY]
    return across[order] / size[order, None]


def distinct(normals: Floats, most: int, cosine: float = 0.985) -> Floats:
    """Up to `most` of the directions, none close to another."""
    kept: list[Floats] = []
    left = normals
    while len(left) and len(kept) < most:
        kept.append(left[0])
        left = left[left @ left[0] < cosine]
    return np.array(kept).reshape(-1, 3)


def spread(count: int, most: int) -> Ints:
    """Rows of `count`, at most so many, evenly."""
    return np.arange(count) if count <= most else np.linspace(0, count - 1, most).astype(np.int64)


def extent(points: Floats, most: int = MOST_POINTS) -> Floats:
    """(K, 3) of the points those that lie farthest from each other, the one nearest to the middle first."""
    if len(points) <= 1:
        return points
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    first = int(np.argmin(np.linalg.norm(points - middle, axis=1)))
    chosen, gap = [first], np.linalg.norm(points - points[first], axis=1)
    for _ in range(min(most, len(points)) - 1):
        far = int(np.argmax(gap))
        if gap[far] <= 0.0:
            break
        chosen.append(far)
        gap = np.minimum(gap, np.linalg.norm(points - points[far], axis=1))
    return points[chosen]


def penetration(a: Body, b: Body, met: Meeting, lower: Floats, upper: Floats) -> float:
    """The deepest point found of one surface below the other, of two closed meshes; at least 0.

    Looked at are vertices of either in the box that both share, and of each triangle that is crossed the middle of where it
    is: two bars that cross have no vertex inside each other.

    lower, upper : (3,) the box that both share
    """
    deepest = 0.0
    for body, other, triangles in ((a, b, met.triangle_a), (b, a, met.triangle_b)):
        points = [_within(body, lower, upper), _middles(triangles, met.start, met.end)]
        samples = np.concatenate(points)
        if len(samples):
            depth = -closest_point(other.mesh, samples, pose=other.pose, signed=True, threads=1).distance
            deepest = max(deepest, float(depth.max()))
    return deepest


def cut_through(a: Body, b: Body, met: Meeting, tolerance: float) -> bool:
    """Whether one of two closed meshes is so thin that no point of it is deeper in the other than the tolerance, and yet goes
    through it: the middle of its thickness is inside the other. (That of a pin is not inside the part whose hole it fills.)"""
    for body, other, triangles in ((a, b, met.triangle_a), (b, a, met.triangle_b)):
        points, corners = _middles(triangles, met.start, met.end), body.corners(np.unique(triangles))
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        size = np.linalg.norm(across, axis=1)
        # Of each triangle there are two points.
        inward, good = np.tile(-across / np.maximum(size, TINY)[:, None], (2, 1)), np.tile(size > TINY, 2)
        points, inward = points[good], inward[good]
        if not len(points):
            continue
        begin = points + BELOW_SURFACE * tolerance * inward
        hit = raycast(body.mesh, begin, inward, pose=body.pose, max_distance=2.0 * tolerance, threads=1)
        thin = np.isfinite(hit.distance)
        thick = BELOW_SURFACE * tolerance + hit.distance[thin]
        middle = points[thin] + 0.5 * thick[:, None] * inward[thin]
        if len(middle):
            # A ray along a surface that the two share has its middle on both, and in none.
            deep = [-closest_point(one.mesh, middle, pose=one.pose, signed=True, threads=1).distance for one in (body, other)]
            if (np.minimum(*deep) > DEEP_INSIDE * thick).any():
                return True
    return False


def _within(body: Body, lower: Floats, upper: Floats) -> Floats:
    """Vertices in a box, and the middles of triangles with a vertex in it."""
    vertices = body.place(body.mesh.vertices)
    inside = np.asarray(((vertices >= lower) & (vertices <= upper)).all(axis=1))
    rows = np.flatnonzero(inside)
    faces = np.asarray(body.mesh.faces)
    near = np.flatnonzero(inside[faces].any(axis=1)) if len(rows) else np.empty(0, dtype=np.int64)
    some = near[spread(len(near), MOST_SAMPLES // 2)]
    return np.concatenate([vertices[rows[spread(len(rows), MOST_SAMPLES // 2)]], vertices[faces[some]].mean(axis=1)])


def _middles(triangles: Ints, start: Floats, end: Floats) -> Floats:
    """Of each triangle the mean of where it is crossed, and halfway from there to one end: points on it, as it is convex."""
    if not len(triangles):
        return np.empty((0, 3))
    order = np.argsort(triangles, kind="stable")
    ends = np.concatenate([start[order, None], end[order, None]], axis=1).reshape(-1, 3)
    owner = np.repeat(triangles[order], 2)
    first = np.flatnonzero(np.concatenate([[True], owner[1:] != owner[:-1]]))
    mean = np.add.reduceat(ends, first, axis=0) / np.diff(np.append(first, len(owner)))[:, None]
    return np.concatenate([mean, 0.5 * (mean + ends[first])])
