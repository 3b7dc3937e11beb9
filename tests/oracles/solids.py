"""Shapes as sets of points, in plain NumPy: what is inside, the nearest point of the surface, points on it and below it.

Nothing here calls a query of thud. Sizes, vertices and faces are read from the shapes; the heights of a surface are those that
it was made from (`ground_from_heights`). Distances are exact up to rounding but for a surface, of which `signed` is a lower
bound of the distance and `foot` a point of the surface that is near, not always the nearest.
"""

from __future__ import annotations

import weakref

import numpy as np
from scipy.spatial import ConvexHull as Qhull

import thud
from thud.terrain import from_heights

#: (heights, spacing, thickness) that surfaces were made from.
_GROUND = weakref.WeakKeyDictionary()


def ground_from_heights(heights, spacing, thickness=None):
    """A displaced surface whose heights the oracle remembers."""
    made = from_heights(heights, spacing, samples=8, thickness=thickness).surface
    # Directions are vertical.
    deep = made.ground_thickness * float(np.asarray(made.directions)[0, 2])
    _GROUND[made] = (np.asarray(heights, dtype=float), float(spacing), deep)
    return made


def rodrigues(vectors):
    """(N, 3, 3) rotations of (N, 3) rotation vectors."""
    vectors = np.atleast_2d(vectors)
    angle = np.linalg.norm(vectors, axis=1)
    x, y, z = (vectors / np.where(angle > 0.0, angle, 1.0)[:, None]).T
    zero = np.zeros_like(x)
    k = np.stack([zero, -z, y, z, zero, -x, -y, x, zero], axis=1).reshape(-1, 3, 3)
    sine, cosine = np.sin(angle)[:, None, None], np.cos(angle)[:, None, None]
    return np.eye(3) + sine * k + (1.0 - cosine) * (k @ k)


def sphere_points(count):
    """(count, 3) unit vectors spread over the sphere."""
    k = np.arange(count) + 0.5
    z, angle = 1.0 - 2.0 * k / count, np.pi * (3.0 - np.sqrt(5.0)) * k
    ring = np.sqrt(1.0 - z * z)
    return np.stack([ring * np.cos(angle), ring * np.sin(angle), z], axis=1)


def cross(a, b):
    """Cross products along the last axis; faster than NumPy's for small arrays."""
    ax, ay, az, bx, by, bz = a[..., 0], a[..., 1], a[..., 2], b[..., 0], b[..., 1], b[..., 2]
    return np.stack([ay * bz - az * by, az * bx - ax * bz, ax * by - ay * bx], axis=-1)


def segment_feet(points, start, end):
    """(P, S, 3) or (P, S, 2) nearest points of S segments to P points."""
    along = end - start
    length = np.maximum((along * along).sum(axis=1), 1e-300)
    u = np.clip(((points[:, None] - start) * along).sum(axis=2) / length, 0.0, 1.0)
    return start + u[:, :, None] * along


def nearest_of(points, feet):
    """(P, ...) of (P, K, ...) feet the nearest."""
    best = ((feet - points[:, None]) ** 2).sum(axis=2).argmin(axis=1)
    return feet[np.arange(len(points)), best], best


class Triangles:
    """(T, 3, 3) triangles, prepared for nearest points."""

    def __init__(self, corners):
        self.corners = corners
        ends = np.roll(corners, -1, axis=1)
        self.along = ends - corners
        self.normal = cross(self.along[:, 0], corners[:, 2] - corners[:, 0])
        self.square = (self.normal * self.normal).sum(axis=1)
        # One without an area has edges alone.
        self.flat = self.square < 1e-20
        inward = cross(self.normal[:, None], self.along)
        self.inward = inward.reshape(-1, 3)
        self.inner = (corners * inward).sum(axis=2).reshape(-1)
        self.edge = self.along.reshape(-1, 3)
        self.length = np.maximum((self.along * self.along).sum(axis=2), 1e-300).reshape(-1)
        self.first = (corners * self.along).sum(axis=2).reshape(-1)

    def feet(self, points):
        """(P, 3) nearest points, and the triangle of each."""
        count = len(self.corners)
        height = (points @ self.normal.T - (self.corners[:, 0] * self.normal).sum(axis=1)) / np.where(
            self.flat, 1.0, self.square
        )
        inside = (points @ self.inward.T >= self.inner).reshape(-1, count, 3).all(axis=2) & ~self.flat
        u = np.clip((points @ self.edge.T - self.first) / self.length, 0.0, 1.0)
        start = self.corners.reshape(-1, 3)
        # |p - start - u edge|^2 by its parts would lose digits: the vectors themselves.
        far = ((points[:, None] - start - u[:, :, None] * self.edge) ** 2).sum(axis=2).reshape(-1, count, 3)
        side = far.argmin(axis=2)
        nearest = np.where(inside, height * height * self.square, far.min(axis=2))
        chosen = nearest.argmin(axis=1)
        row = np.arange(len(points))
        k = 3 * chosen + side[row, chosen]
        feet = start[k] + u[row, k][:, None] * self.edge[k]
        flat = points - height[row, chosen][:, None] * self.normal[chosen]
        return np.where(inside[row, chosen][:, None], flat, feet), chosen


def triangle_feet(points, corners):
    """(P, 3) nearest points of (T, 3, 3) triangles, and the triangle of each."""
    return Triangles(corners).feet(points)


def winding_numbers(points, corners):
    """(P,) how often (T, 3, 3) triangles go round points."""
    u, v, w = (corners[None, :, k] - points[:, None] for k in range(3))
    a, b, c = (np.linalg.norm(x, axis=2) for x in (u, v, w))
    volume = (u * cross(v, w)).sum(axis=2)
    below = a * b * c + (u * v).sum(axis=2) * c + (v * w).sum(axis=2) * a + (w * u).sum(axis=2) * b
    return np.arctan2(volume, below).sum(axis=1) / (2.0 * np.pi)


def triangle_samples(corners, count, rng):
    """(about count, 3) points of (T, 3, 3) triangles: by area, and all corners."""
    area = np.linalg.norm(cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    chosen = rng.choice(len(corners), count, p=area / area.sum())
    weights = rng.dirichlet((1.0, 1.0, 1.0), count)
    return np.concatenate([np.einsum("nk,nki->ni", weights, corners[chosen]), np.unique(corners.reshape(-1, 3), axis=0)])


# Leaves ------------------------------------------------------------------------------------------------------------------


class Leaf:
    """A shape that is no compound, in its own frame."""

    is_convex, is_solid, is_ground, is_bounded = True, True, False, True
    center, radius = np.zeros(3), 1.0

    def inside(self, points):
        """(P,) whether points lie in the solid."""
        raise NotImplementedError

    def foot(self, points):
        """(P, 3) nearest points of the surface."""
        raise NotImplementedError

    def support(self, direction):
        """The farthest extent of a convex shape along (3,) a direction."""
        raise NotImplementedError

    def skin(self, count, rng):
        """(about count, 3) points on the surface."""
        raise NotImplementedError

    def signed(self, points):
        """(P,) distances to the surface, negative inside."""
        gap = np.linalg.norm(points - self.foot(points), axis=1)
        return np.where(self.inside(points), -gap, gap) if self.is_solid else gap

    def surface_gap(self, points):
        """(P,) distances to the surface."""
        return np.abs(self.signed(points))

    def depth(self, points):
        """(P,) how deep points lie inside; -inf outside."""
        deep = np.full(len(points), -np.inf)
        if self.is_solid:
            held = np.flatnonzero(self.inside(points))
            deep[held] = -self.signed(points[held])
        return deep

    def within(self, count, rng):
        """(about count, 3) points inside."""
        scale = rng.uniform(0.0, 1.0, (count, 1))
        return self.center + scale * (self.skin(count, rng)[:count] - self.center)


class Ball(Leaf):
    """A sphere."""

    def __init__(self, radius):
        self.size = self.radius = radius

    def inside(self, points):
        return np.linalg.norm(points, axis=1) <= self.size

    def foot(self, points):
        length = np.linalg.norm(points, axis=1, keepdims=True)
        way = np.where(length > 0.0, points, [0.0, 0.0, 1.0])
        return self.size * way / np.where(length > 0.0, length, 1.0)

    def support(self, direction):
        return self.size * np.linalg.norm(direction)

    def skin(self, count, rng):
        return self.size * sphere_points(count)


class Rod(Leaf):
    """A capsule."""

    def __init__(self, radius, half):
        self.size, self.half, self.radius = radius, half, radius + half

    def _axis(self, points):
        return np.stack([0.0 * points[:, 0], 0.0 * points[:, 0], np.clip(points[:, 2], -self.half, self.half)], axis=1)

    def inside(self, points):
        return np.linalg.norm(points - self._axis(points), axis=1) <= self.size

    def foot(self, points):
        axis = self._axis(points)
        way = points - axis
        length = np.linalg.norm(way, axis=1, keepdims=True)
        return axis + self.size * np.where(length > 0.0, way, [1.0, 0.0, 0.0]) / np.where(length > 0.0, length, 1.0)

    def support(self, direction):
        return self.half * abs(direction[2]) + self.size * np.linalg.norm(direction)

    def skin(self, count, rng):
        way = sphere_points(count)
        ends = self.size * way + np.sign(way[:, 2:]) * [0.0, 0.0, self.half]
        angle, z = rng.uniform(0.0, 2.0 * np.pi, count), rng.uniform(-self.half, self.half, count)
        return np.concatenate([ends, np.stack([self.size * np.cos(angle), self.size * np.sin(angle), z], axis=1)])


class Turned(Leaf):
    """A convex profile turned about the z axis: corners (rho, z) from the axis at the bottom to the axis at the top."""

    def __init__(self, profile):
        self.profile = np.array(profile, dtype=float)
        self.radius = np.linalg.norm(self.profile, axis=1).max()

    def _flat(self, points):
        return np.stack([np.hypot(points[:, 0], points[:, 1]), points[:, 2]], axis=1)

    def inside(self, points):
        flat, held = self._flat(points), np.ones(len(points), dtype=bool)
        for p, q in zip(self.profile[:-1], self.profile[1:]):
            out = np.array([q[1] - p[1], p[0] - q[0]])
            held &= (flat - p) @ out <= 0.0
        return held

    def foot(self, points):
        flat = self._flat(points)
        near, _ = nearest_of(flat, segment_feet(flat, self.profile[:-1], self.profile[1:]))
        far = flat[:, 0] > 0.0
        across = np.where(far[:, None], points[:, :2] / np.where(far, flat[:, 0], 1.0)[:, None], [1.0, 0.0])
        return np.column_stack([near[:, :1] * across, near[:, 1]])

    def support(self, direction):
        return (self.profile @ [np.hypot(direction[0], direction[1]), direction[2]]).max()

    def skin(self, count, rng):
        steps = self.profile[1:] - self.profile[:-1]
        length = np.linalg.norm(steps, axis=1)
        side = rng.choice(len(steps), count, p=length / length.sum())
        flat = np.concatenate(
            [self.profile[side] + rng.uniform(0, 1, (count, 1)) * steps[side], np.repeat(self.profile, 12, axis=0)]
        )
        angle = rng.uniform(0.0, 2.0 * np.pi, len(flat))
        return np.stack([flat[:, 0] * np.cos(angle), flat[:, 0] * np.sin(angle), flat[:, 1]], axis=1)


class Egg(Leaf):
    """An ellipsoid; the nearest point by the root of the secular equation."""

    def __init__(self, radii):
        self.radii = np.array(radii, dtype=float)
        self.radius = self.radii.max()

    def inside(self, points):
        return ((points / self.radii) ** 2).sum(axis=1) <= 1.0

    def foot(self, points):
        # Off the planes of symmetry, where the equation loses its root.
        way = np.where(np.abs(points) < 1e-11, 1e-11, points)
        square = self.radii**2
        low = np.full(len(points), -square.min())
        high = self.radii.max() * np.linalg.norm(way, axis=1)
        for _ in range(64):
            middle = 0.5 * (low + high)
            above = ((self.radii * way / (middle[:, None] + square)) ** 2).sum(axis=1) > 1.0
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        found = square * way / (high[:, None] + square)
        return found / np.sqrt(((found / self.radii) ** 2).sum(axis=1, keepdims=True))

    def support(self, direction):
        return np.linalg.norm(self.radii * direction)

    def skin(self, count, rng):
        return self.radii * sphere_points(count)


class Plane(Leaf):
    """A half-space; its samples lie about the foot of the origin."""

    is_bounded = False

    def __init__(self, normal, offset, reach=3.0):
        self.normal = np.asarray(normal, dtype=float) / np.linalg.norm(normal)
        self.offset, self.reach, self.radius = float(offset), reach, np.inf
        self.center = self.offset * self.normal

    def inside(self, points):
        return points @ self.normal <= self.offset

    def foot(self, points):
        return points - (points @ self.normal - self.offset)[:, None] * self.normal

    def support(self, direction):
        along = direction @ self.normal
        across = np.linalg.norm(direction - along * self.normal)
        return self.offset * along if across < 1e-9 and along > 0.0 else np.inf

    def skin(self, count, rng):
        return self.foot(rng.uniform(-self.reach, self.reach, (count, 3)))

    def within(self, count, rng):
        return self.skin(count, rng) - rng.uniform(0.0, self.reach, (count, 1)) * self.normal


class Faces(Leaf):
    """A box, a hull or a mesh: triangles, wound outward where they are closed."""

    def __init__(self, corners, convex, solid):
        self.corners, self.is_convex, self.is_solid = np.asarray(corners, dtype=float), convex, solid
        flat = self.corners.reshape(-1, 3)
        self.low, self.high = flat.min(axis=0), flat.max(axis=0)
        self.center = flat.mean(axis=0) if convex else 0.5 * (self.low + self.high)
        self.radius = np.linalg.norm(flat - self.center, axis=1).max()
        normal = cross(self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0])
        self.normals = normal / np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        self.offsets = (self.normals * self.corners[:, 0]).sum(axis=1)
        self.triangles = Triangles(self.corners)

    def inside(self, points):
        if self.is_convex:
            return (points @ self.normals.T <= self.offsets).all(axis=1)
        held = ((points >= self.low) & (points <= self.high)).all(axis=1)
        if held.any():
            held[held] = winding_numbers(points[held], self.corners) > 0.5
        return held

    def foot(self, points):
        return self.triangles.feet(points)[0]

    def support(self, direction):
        return (self.corners.reshape(-1, 3) @ direction).max()

    def skin(self, count, rng):
        return triangle_samples(self.corners, count, rng)

    def within(self, count, rng):
        if self.is_convex:
            return super().within(count, rng)
        points = rng.uniform(self.low, self.high, (4 * count, 3))
        return points[self.inside(points)][:count] if self.is_solid else points[:0]

    def crossings(self, start, along):
        """Sorted distances at which a ray crosses triangles, and whether none of them is near an edge."""
        a, edge, other = self.corners[:, 0], self.corners[:, 1] - self.corners[:, 0], self.corners[:, 2] - self.corners[:, 0]
        h = cross(along, other)
        det = (edge * h).sum(axis=1)
        size = np.linalg.norm(cross(edge, other), axis=1)
        steep = np.abs(det) > 1e-7 * np.maximum(size, 1e-12)
        scale = 1.0 / np.where(steep, det, 1.0)
        q = cross(start - a, edge)
        u, v, t = ((start - a) * h).sum(axis=1) * scale, (q @ along) * scale, (other * q).sum(axis=1) * scale
        least = np.minimum(np.minimum(u, v), 1.0 - u - v)
        hit = steep & (least > 0.0) & (t >= 0.0)
        close = steep & (least > -1e-5) & (t > -1e-5) & ((least < 1e-5) | (t < 1e-5))
        flat = (size > 1e-12) & ~steep & (np.abs(start @ self.normals.T - self.offsets) < 1e-3)
        return np.sort(t[hit]), not (close | flat).any()


class Ground(Leaf):
    """Bilinear heights over a rectangle, solid to a given depth; without one nothing below is said to be in or out."""

    is_convex, is_ground = False, True

    def __init__(self, heights, spacing, thickness):
        self.heights, self.spacing, self.thickness = heights, spacing, thickness
        self.extent = spacing * (np.array(heights.shape[::-1]) - 1.0)
        self.center = np.array([*(0.5 * self.extent), 0.5 * (heights.min() + heights.max())])
        self.radius = 0.5 * np.hypot(np.linalg.norm(self.extent), np.ptp(heights))
        steep = np.hypot(np.abs(np.diff(heights, axis=1)).max(), np.abs(np.diff(heights, axis=0)).max()) / spacing
        self.slant = np.sqrt(1.0 + steep**2)
        self.twist = np.abs(heights[1:, 1:] - heights[1:, :-1] - heights[:-1, 1:] + heights[:-1, :-1]).max()

    def height(self, across):
        """Heights at (..., 2) places in the rectangle."""
        place = across / self.spacing
        limit = np.array(self.heights.shape[::-1]) - 2
        cell = np.clip(place.astype(int), 0, limit)
        u, v = place[..., 0] - cell[..., 0], place[..., 1] - cell[..., 1]
        x, y = cell[..., 0], cell[..., 1]
        z = self.heights
        low = (1.0 - u) * z[y, x] + u * z[y, x + 1]
        return (1.0 - v) * low + v * ((1.0 - u) * z[y + 1, x] + u * z[y + 1, x + 1])

    def normal(self, points):
        """(P, 3) unit normals of the surface above points, NaN next to an edge of patches."""
        across, step = points[:, :2], 1e-5 * self.spacing
        slope = [(self.height(across + way) - self.height(across - way)) / (2.0 * step) for way in step * np.eye(2)]
        up = np.stack([-slope[0], -slope[1], np.ones(len(points))], axis=1)
        part = across / self.spacing
        edge = (np.abs(part - np.round(part)) < 1e-3).any(axis=1)
        return np.where(edge[:, None], np.nan, up / np.linalg.norm(up, axis=1, keepdims=True))

    def lift(self, points):
        """How far outside of the rectangle, and how high above the surface there."""
        held = np.clip(points[:, :2], 0.0, self.extent)
        return np.linalg.norm(points[:, :2] - held, axis=1), points[:, 2] - self.height(held)

    def inside(self, points):
        return self.signed(points) < 0.0

    def signed(self, points):
        beyond, lift = self.lift(points)
        border = np.minimum(points[:, :2], self.extent - points[:, :2]).min(axis=1)
        deep = np.maximum(np.maximum(lift, -self.thickness - lift) / self.slant, -border)
        return np.where(beyond > 0.0, beyond, np.where(lift > 0.0, lift / self.slant, deep))

    def surface_gap(self, points):
        """To sheet, bottom and sides."""
        beyond, lift = self.lift(points)
        border = np.abs(np.minimum(points[:, :2], self.extent - points[:, :2]).min(axis=1))
        off = np.maximum(np.maximum(lift, -self.thickness - lift), 0.0) / self.slant
        level = np.minimum(np.abs(lift), np.abs(lift + self.thickness)) / self.slant
        return np.minimum(np.maximum(beyond, level), np.maximum(np.maximum(beyond, border), off))

    def foot(self, points):
        x, y = (np.linspace(0.0, extent, 33) for extent in self.extent)
        across = np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)
        nodes = np.column_stack([across, self.height(across)])
        best = across[((points[:, None] - nodes) ** 2).sum(axis=2).argmin(axis=1)]
        step, window = np.stack(np.meshgrid(*2 * [np.linspace(-1, 1, 7)]), axis=-1).reshape(-1, 2), self.spacing
        for _ in range(12):
            tried = np.clip(best[:, None] + window * step, 0.0, self.extent)
            near = np.concatenate([tried, self.height(tried)[:, :, None]], axis=2)
            chosen = ((points[:, None] - near) ** 2).sum(axis=2).argmin(axis=1)
            best = tried[np.arange(len(points)), chosen]
            window *= 0.4
        return np.column_stack([best, self.height(best)])

    def skin(self, count, rng):
        across = np.concatenate([rng.uniform(0.0, 1.0, (count, 2)), rng.integers(0, 17, (count, 2)) / 16.0]) * self.extent
        return np.column_stack([across, self.height(across)])

    def within(self, count, rng):
        points = self.skin(count, rng)[:count]
        return points - [0.0, 0.0, 1.0] * rng.uniform(0.0, self.thickness, (count, 1))


def hull_corners(points):
    """(T, 3, 3) triangles of the hull of points, wound outward."""
    hull = Qhull(points)
    corners = points[hull.simplices]
    normal = cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    inward = (normal * hull.equations[:, :3]).sum(axis=1) < 0.0
    corners[inward] = corners[inward][:, [0, 2, 1]]
    return corners


def leaf_of(shape):
    """The leaf of a shape that is no compound."""
    if isinstance(shape, thud.Sphere):
        return Ball(shape.radius)
    if isinstance(shape, thud.Capsule):
        return Rod(shape.radius, shape.half_length)
    if isinstance(shape, thud.Cylinder):
        r, h = shape.radius, shape.half_length
        return Turned([(0.0, -h), (r, -h), (r, h), (0.0, h)])
    if isinstance(shape, thud.Cone):
        return Turned([(0.0, -shape.half_length), (shape.radius, -shape.half_length), (0.0, shape.half_length)])
    if isinstance(shape, thud.Ellipsoid):
        return Egg(shape.radii)
    if isinstance(shape, thud.HalfSpace):
        return Plane(shape.normal, shape.offset)
    if isinstance(shape, thud.Box):
        signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
        return Faces(hull_corners(signs * np.asarray(shape.half_extents)), True, True)
    if isinstance(shape, thud.ConvexHull):
        return Faces(hull_corners(np.array(shape.points, dtype=float)), True, True)
    if isinstance(shape, thud.TriangleMesh):
        vertices, faces = np.asarray(shape.vertices), np.asarray(shape.faces)
        return Faces(vertices[faces], False, is_closed(vertices, faces))
    if isinstance(shape, thud.HeightField):
        return Faces(field_triangles(shape), False, True)
    return Ground(*_GROUND[shape])


def is_closed(vertices, faces):
    """Whether every edge has one triangle on either side, vertices in the same place being one."""
    welded = np.unique(vertices, axis=0, return_inverse=True)[1].reshape(-1)[faces]
    welded = welded[(welded != np.roll(welded, 1, axis=1)).all(axis=1)]
    edges = np.concatenate([welded[:, [0, 1]], welded[:, [1, 2]], welded[:, [2, 0]]])
    ways = {tuple(edge) for edge in edges.tolist()}
    return len(ways) == len(edges) and all((b, a) in ways for a, b in ways)


# Shapes ------------------------------------------------------------------------------------------------------------------


class Solid:
    """A shape as the union of leaves at places: (leaf, rotation, translation) each."""

    def __init__(self, leaves):
        self.leaves = leaves

    @property
    def is_solid(self):
        """Whether every leaf has an inside."""
        return all(leaf.is_solid for leaf, _, _ in self.leaves)

    @property
    def has_ground(self):
        """Whether a surface is among the leaves."""
        return any(leaf.is_ground for leaf, _, _ in self.leaves)

    @property
    def twist(self):
        """The largest twist of a surface's patches, metres."""
        return max([leaf.twist for leaf, _, _ in self.leaves if leaf.is_ground], default=0.0)

    @property
    def is_convex(self):
        """Whether it is one convex shape."""
        return len(self.leaves) == 1 and self.leaves[0][0].is_convex

    @property
    def is_bounded(self):
        """Whether no half-space is among the leaves."""
        return all(leaf.is_bounded for leaf, _, _ in self.leaves)

    def placed(self, turn, shift):
        """The same at a pose."""
        return Solid([(leaf, turn @ own, turn @ place + shift) for leaf, own, place in self.leaves])

    def part(self, number):
        """One leaf by itself."""
        return Solid(self.leaves[number : number + 1])

    def _each(self, method, points):
        return [getattr(leaf, method)((points - place) @ own) for leaf, own, place in self.leaves]

    def signed(self, points):
        """(P,) distances, negative inside: of the leaf that a point is nearest to, or deepest in."""
        return np.min(self._each("signed", points), axis=0)

    def surface_gap(self, points):
        """(P,) distances to the nearest surface of a leaf, be it inside another."""
        return np.min(self._each("surface_gap", points), axis=0)

    def depth(self, points):
        """(P,) how deep points lie inside a leaf; -inf outside of all."""
        return np.max(self._each("depth", points), axis=0)

    def foot(self, points):
        """(P, 3) nearest points of the leaves' surfaces."""
        feet = [leaf.foot((points - place) @ own) @ own.T + place for leaf, own, place in self.leaves]
        return nearest_of(points, np.stack(feet, axis=1))[0]

    def project(self, points):
        """(P, 3) points of the set: those that lie in it, else the feet."""
        return np.where((self.signed(points) <= 0.0)[:, None] & (not self.has_ground), points, self.foot(points))

    def skin(self, count, rng):
        """(about count a leaf, 3) points of the leaves' surfaces."""
        return np.concatenate([leaf.skin(count, rng) @ own.T + place for leaf, own, place in self.leaves])

    def within(self, count, rng):
        """(about count a leaf, 3) points inside leaves."""
        return np.concatenate([leaf.within(count, rng) @ own.T + place for leaf, own, place in self.leaves])

    def support(self, direction):
        """The farthest extent along a direction; of convex leaves."""
        return max(leaf.support(direction @ own) + direction @ place for leaf, own, place in self.leaves)

    def bound(self):
        """(center, radius) of a ball that holds the bounded leaves."""
        bounded = [(own @ leaf.center + place, leaf.radius) for leaf, own, place in self.leaves if leaf.is_bounded]
        if not bounded:
            return np.zeros(3), 0.5
        center = np.mean([middle for middle, _ in bounded], axis=0)
        return center, max(np.linalg.norm(middle - center) + radius for middle, radius in bounded)


def field_triangles(shape):
    """(T, 3, 3) triangles of the closed solid of a height field with a thickness, wound outward, in plain loops."""
    heights = np.array(shape.heights, dtype=float)
    if shape.hole is not None:
        heights[np.asarray(shape.heights) == shape.hole] = np.nan
    rows, columns = heights.shape
    points = np.empty((rows, columns, 3))
    for j in range(rows):
        for i in range(columns):
            grown = [i * shape.spacing[0], j * shape.spacing[1], shape.scale * heights[j, i]]
            points[j, i] = np.asarray(shape.origin) + grown
    faces, edges = [], {}
    for j in range(rows - 1):
        for i in range(columns - 1):
            for corners in (((j, i), (j, i + 1), (j + 1, i + 1)), ((j, i), (j + 1, i + 1), (j + 1, i))):
                if not np.isnan([heights[corner] for corner in corners]).any():
                    faces.append(corners)
                    for tail, head in zip(corners, (*corners[1:], corners[0])):
                        edges[tail, head] = edges.get((tail, head), 0) + 1
    down = np.array([0.0, 0.0, shape.thickness])
    found = []
    for a, b, c in faces:
        found += [[points[a], points[b], points[c]], [points[c] - down, points[b] - down, points[a] - down]]
    for tail, head in edges:
        if (head, tail) not in edges:
            a, b = points[tail], points[head]
            found += [[a, a - down, b - down], [a, b - down, b]]
    return np.array(found)


def solid_of(shape):
    """A shape, taken apart."""
    if not isinstance(shape, thud.Compound):
        return Solid([(leaf_of(shape), np.eye(3), np.zeros(3))])
    leaves = []
    for part, matrix in zip(shape.shapes, np.atleast_3d(shape.poses.matrix).reshape(-1, 4, 4)):
        leaves += solid_of(part).placed(matrix[:3, :3], matrix[:3, 3]).leaves
    return Solid(leaves)


# Pairs -------------------------------------------------------------------------------------------------------------------


class Pair:
    """Two shapes with samples of each leaf, in their own frames."""

    def __init__(self, a, b, count=120, seed=0):
        rng = np.random.default_rng(seed)
        self.a, self.b = a, b
        self.samples = [[_leaf_samples(leaf, count, rng) for leaf, _, _ in solid.leaves] for solid in (a, b)]

    def at(self, turn_a, shift_a, turn_b, shift_b):
        """The two at poses."""
        return PlacedPair(self, (turn_a, shift_a), (turn_b, shift_b))


def _leaf_samples(leaf, count, rng):
    """Points of a leaf; of a surface none below it: whether what meets the ground alone counts is another matter."""
    skin = leaf.skin(count, rng)
    return skin if leaf.is_ground else np.concatenate([skin, leaf.within(count // 2, rng)])


class PlacedPair:
    """Two shapes at poses."""

    def __init__(self, pair, pose_a, pose_b):
        self.pair = pair
        self.a, self.b = pair.a.placed(*pose_a), pair.b.placed(*pose_b)
        self.samples = [
            [points @ turn.T + place for points, (_, turn, place) in zip(own, solid.leaves)]
            for own, solid in zip(pair.samples, (self.a, self.b))
        ]

    def deepest_common(self, buried=True):
        """(depth, point): how deep two leaves surely overlap by their samples, and where; -inf if none is known to.

        buried : a leaf below a surface that it does not touch counts
        """
        best, where = -np.inf, np.zeros(3)
        for leaf_a, points_a in zip(self.a.leaves, self.samples[0]):
            for leaf_b, points_b in zip(self.b.leaves, self.samples[1]):
                for points, one, two in ((points_a, leaf_a, leaf_b), (points_b, leaf_b, leaf_a)):
                    deep, point = _in_leaf(points, one[0], *two, buried)
                    if deep > best:
                        best, where = deep, point
        return best, where

    def nearest(self, starts=4, steps=10):
        """(distance, point of A, point of B): an upper bound of the distance, from samples by projecting back and forth."""
        best = (np.inf, np.zeros(3), np.zeros(3))
        all_a, all_b = (np.concatenate(own) for own in self.samples)
        for points, first, second, turned in ((all_a, self.b, self.a, False), (all_b, self.a, self.b, True)):
            gap = np.maximum(first.signed(points), 0.0)
            x = points[np.argsort(gap, kind="stable")[:starts]]
            for _ in range(steps):
                y = first.project(x)
                x = second.project(y)
            far = np.linalg.norm(x - y, axis=1)
            k = int(far.argmin())
            if far[k] < best[0]:
                best = (float(far[k]), *((y[k], x[k]) if turned else (x[k], y[k])))
        return best


def _in_leaf(points, of, leaf, turn, place, buried):
    """(depth, point): how deep the deepest of a leaf's samples lies in another leaf at a pose."""
    local = (points - place) @ turn
    if leaf.is_ground:
        return (-np.inf, points[0]) if of.is_ground else _in_ground(points, local, of, leaf, buried)
    deep = leaf.depth(local)
    k = int(deep.argmax())
    return float(deep[k]), points[k]


def _in_ground(points, local, of, ground, buried):
    """The same for a surface: a convex leaf on both sides of it, or one with a sample in the ground."""
    beyond, lift = ground.lift(local)
    lift = lift / ground.slant
    over = beyond == 0.0
    if not over.any():
        return -np.inf, points[0]
    low, high = np.where(over, lift, np.inf), np.where(over, lift, -np.inf)
    k = int(low.argmin())
    if of.is_convex and low[k] < 0.0 < high.max():
        return float(min(-low[k], high.max())), points[k]
    if buried:
        deep = -ground.signed(local)
        k = int(deep.argmax())
        if deep[k] > 0.0:
            return float(deep[k]), points[k]
    return -np.inf, points[k]
