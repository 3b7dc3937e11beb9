"""Slow, obviously right references for convex shapes and compounds of them, in NumPy and SciPy alone.

A shape is a list of `Part`s: convex cores, rounded by a radius, placed in the shape's frame. The signed distance of two
convex sets is the largest separation that any direction shows,

    d = max over unit n of -(h_A(n) + h_B(-n)),    h(n) = max over the set of n . x,

negative in penetration. How the maximum is found:

* polytopes (boxes, hulls; spheres and capsules as rounded points and segments) apart: all pairs of vertices, edges and
  faces; overlapping: the faces of the hull of the Minkowski difference;
* curved shapes: a sweep of 20,000 directions, refined from its best 32;
* a sphere: the distance of its centre to the other shape; a half-space: the height of the other shape over the plane.

Every direction that is tried gives a lower bound of d, every pair of points an upper one, so no reference is better than
the truth. Nothing here is shared with the package but the public fields of the shapes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from scipy.spatial import ConvexHull as Qhull
from scipy.spatial import QhullError

import thud

SWEEP = 20_000
BEST = 32


@dataclass(frozen=True, eq=False)
class Part:
    """One convex part: a core, rounded by `radius`, at (rotation, position) in its shape's frame."""

    kind: str  # "polytope", "cylinder", "cone", "ellipsoid" or "half_space"
    numbers: np.ndarray  # vertices (V, 3); radius, half length; radii; normal, offset
    radius: float
    rotation: np.ndarray
    position: np.ndarray

    def core_heights(self, d: np.ndarray) -> np.ndarray:
        """max d . x over the core, own frame, for directions (..., 3) of any length."""
        if self.kind == "polytope":
            heights = d @ self.numbers[0]
            for vertex in self.numbers[1:]:
                np.maximum(heights, d @ vertex, out=heights)
            return heights
        if self.kind == "ellipsoid":
            return np.sqrt(((d * self.numbers) ** 2).sum(axis=-1))
        r, h = self.numbers
        rim, z = r * np.hypot(d[..., 0], d[..., 1]), h * d[..., 2]
        if self.kind == "cylinder":
            return rim + np.abs(z)
        return np.maximum(z, rim - z)  # a cone: apex or base

    def heights(self, n: np.ndarray) -> np.ndarray:
        """h(n) in the shape's frame for unit directions (..., 3)."""
        return self.core_heights(n @ self.rotation) + n @ self.position + self.radius

    def support(self, n: np.ndarray) -> np.ndarray:
        """Farthest points of the rounded part along unit directions (..., 3), shape's frame."""
        d = n @ self.rotation
        if self.kind == "polytope":
            points = self.numbers[(d @ self.numbers.T).argmax(axis=-1)]
        elif self.kind == "ellipsoid":
            scaled = d * self.numbers
            points = self.numbers * scaled / np.linalg.norm(scaled, axis=-1, keepdims=True)
        else:
            r, h = self.numbers
            across = np.hypot(d[..., 0], d[..., 1])[..., None]
            rim = r * d[..., :2] / np.where(across > 0, across, 1.0)
            if self.kind == "cylinder":
                points = np.concatenate([rim, np.copysign(h, d[..., 2:])], axis=-1)
            else:
                at_apex = 2 * h * d[..., 2:] >= r * across
                base = np.concatenate([rim, np.full_like(across, -h)], axis=-1)
                points = np.where(at_apex, [0.0, 0.0, h], base)
        return points @ self.rotation.T + self.position + self.radius * n

    @cached_property
    def faces(self) -> tuple[np.ndarray, np.ndarray]:
        """Planes (F, 4) and triangles (F, 3) of a polytope with a volume, own frame."""
        middle, extent = self.numbers.mean(axis=0), np.ptp(self.numbers, axis=0).max()
        hull = Qhull((self.numbers - middle) / extent)
        # Qhull gives the normals; the offset is exact by the vertices.
        normals = hull.equations[:, :3] / np.linalg.norm(hull.equations[:, :3], axis=1, keepdims=True)
        offsets = (normals @ self.numbers.T).max(axis=1)
        return np.column_stack([normals, offsets]), hull.simplices

    @cached_property
    def sharp_normals(self) -> np.ndarray:
        """(K, 3) normals where the support height has a kink, shape's frame: of flat sides, across edges, around the axis.

        The separation has its sharp maxima there; around a circle or an arc they are sampled.
        """
        turn = np.arange(360) * np.pi / 180
        around = np.stack([np.cos(turn), np.sin(turn), np.zeros(360)], axis=1)
        normals = np.zeros((0, 3))
        if self.kind == "cylinder":
            normals = np.concatenate([around, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
        elif self.kind == "cone":
            r, h = self.numbers
            normals = np.concatenate([_unit(2 * h * around + [0.0, 0.0, r]), [[0.0, 0.0, -1.0]]])
        elif self.kind == "polytope" and len(self.numbers) >= 4:
            planes, triangles = self.faces
            normals = planes[:, :3]
            sides = np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1)
            order = np.lexsort(sides.T)
            pairs = np.repeat(np.arange(len(triangles)), 3)[order].reshape(-1, 2)  # the two faces of each edge
            if len(pairs) <= 100:
                share = np.linspace(0.0, 1.0, 17)[1:-1, None, None]
                arcs = (1 - share) * normals[pairs[:, 0]] + share * normals[pairs[:, 1]]
                normals = np.concatenate([normals, _unit(arcs.reshape(-1, 3))])
        return normals @ self.rotation.T

    @cached_property
    def edges(self) -> np.ndarray:
        """(E, 2) vertex ids; a point counts as an edge of length 0."""
        if len(self.numbers) < 3:
            return np.array([[0, len(self.numbers) - 1]])
        triangles = self.faces[1]
        return np.unique(np.sort(triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)

    @cached_property
    def bound(self) -> float:
        """Radius of a ball about `position` that holds the part; inf for a half-space."""
        if self.kind == "half_space":
            return np.inf
        if self.kind == "polytope":
            return float(np.linalg.norm(self.numbers, axis=1).max()) + self.radius
        return float(self.numbers.max()) if self.kind == "ellipsoid" else float(np.hypot(*self.numbers))

    def point_distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of points (N, 3), shape's frame: negative inside."""
        p = (points - self.position) @ self.rotation
        if self.kind == "half_space":
            return p @ self.numbers[:3] - self.numbers[3]
        if self.kind == "polytope":
            return polytope_point_distance(self, p) - self.radius
        if self.kind == "ellipsoid":
            return ellipsoid_point_distance(self.numbers, p)
        r, h = self.numbers
        q = np.stack([np.hypot(p[:, 0], p[:, 1]), p[:, 2]], axis=1)
        if self.kind == "cylinder":
            over = np.stack([q[:, 0] - r, np.abs(q[:, 1]) - h], axis=1)
            return np.linalg.norm(np.maximum(over, 0.0), axis=1) + np.minimum(over.max(axis=1), 0.0)
        # A cone is the triangle (0, h), (r, -h), (0, -h) turned about z; its surface is two sides of it.
        inside = (q[:, 1] >= -h) & (2 * h * q[:, 0] + r * q[:, 1] <= r * h)
        side = segment_point_distance(np.array([r, -h]), np.array([0.0, h]), q)
        base = segment_point_distance(np.array([0.0, -h]), np.array([r, -h]), q)
        return np.minimum(side, base) * np.where(inside, -1.0, 1.0)


@lru_cache(maxsize=64)
def parts_of(shape: thud.shapes.Shape) -> list[Part]:
    """The convex parts of a shape; of a compound all of them, nested ones included."""
    return _placed_parts(shape, np.eye(3), np.zeros(3))


def _placed_parts(shape: thud.shapes.Shape, rotation: np.ndarray, position: np.ndarray) -> list[Part]:
    place = (rotation, position)
    match shape:
        case thud.Compound():
            found = []
            for child, row in zip(shape.shapes, shape.poses.rows, strict=True):
                inner = row[:9].reshape(3, 3)
                found += _placed_parts(child, rotation @ inner, rotation @ row[9:] + position)
            return found
        case thud.Sphere():
            return [Part("polytope", np.zeros((1, 3)), shape.radius, *place)]
        case thud.Capsule():
            ends = np.array([[0.0, 0.0, -shape.half_length], [0.0, 0.0, shape.half_length]])
            return [Part("polytope", ends if shape.half_length > 0 else ends[:1], shape.radius, *place)]
        case thud.Box():
            signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
            return [Part("polytope", signs * shape.half_extents, 0.0, *place)]
        case thud.ConvexHull():
            points = np.asarray(shape.points)
            middle, extent = points.mean(axis=0), np.ptp(points, axis=0).max()
            return [Part("polytope", points[Qhull((points - middle) / extent).vertices], 0.0, *place)]
        case thud.Cylinder():
            return [Part("cylinder", np.array([shape.radius, shape.half_length]), 0.0, *place)]
        case thud.Cone():
            return [Part("cone", np.array([shape.radius, shape.half_length]), 0.0, *place)]
        case thud.Ellipsoid():
            return [Part("ellipsoid", np.asarray(shape.radii), 0.0, *place)]
        case thud.HalfSpace():
            return [Part("half_space", np.append(shape.normal, shape.offset), 0.0, *place)]
    raise TypeError(type(shape).__name__)


def is_curved(shape: thud.shapes.Shape) -> bool:
    """Whether a part has a surface that is neither flat nor a rounded polytope's."""
    return any(part.kind in ("cylinder", "cone", "ellipsoid") for part in parts_of(shape))


def relative_poses(rows_a: np.ndarray, rows_b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(N, 3, 3) rotations and (N, 3) translations of B in A's frame, from pose rows."""
    ra, rb = rows_a[:, :9].reshape(-1, 3, 3), rows_b[:, :9].reshape(-1, 3, 3)
    inverse = np.swapaxes(ra, 1, 2)
    return inverse @ rb, np.einsum("nij,nj->ni", inverse, rows_b[:, 9:] - rows_a[:, 9:])


def signed_distance(
    a: thud.shapes.Shape, b: thud.shapes.Shape, rows_a: np.ndarray, rows_b: np.ndarray, directions: np.ndarray | None = None
) -> np.ndarray:
    """(N,) signed distance of two shapes at pose rows (N, 12): the least over all pairs of parts.

    `directions` (N, 3), world frame, from A to B, are tried beside those of the sweep.
    """
    rotations, translations = relative_poses(rows_a, rows_b)
    extra = None
    if directions is not None:
        extra = np.einsum("nji,nj->ni", rows_a[:, :9].reshape(-1, 3, 3), directions)
    pairs = [(part_a, part_b) for part_a in parts_of(a) for part_b in parts_of(b)]
    # Any direction gives a lower bound: first the pair that may be nearest, then all that may be nearer than that.
    lower = np.array([_lower_bound(*pair, rotations, translations) for pair in pairs])
    best = np.full(len(rows_a), np.inf)
    first = lower.argmin(axis=0)
    for turn in range(2):
        for k, pair in enumerate(pairs):
            rows = np.flatnonzero(first == k if turn == 0 else (first != k) & (lower[k] < best))
            if len(rows):
                tried = None if extra is None else extra[rows]
                found = part_distance(*pair, rotations[rows], translations[rows], tried)
                best[rows] = np.minimum(best[rows], found)
    return best


def _lower_bound(a: Part, b: Part, rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    if "half_space" in (a.kind, b.kind):
        return part_distance(a, b, rotations, translations, None) - 1e-9
    return _Pairs(a, b, rotations, translations).separation(_spiral(8 * BEST)).max(axis=1)


def part_distance(a: Part, b: Part, rotations: np.ndarray, translations: np.ndarray, extra: np.ndarray | None) -> np.ndarray:
    """(N,) signed distance of two parts; (rotations, translations) is B's shape in A's."""
    if a.kind == "half_space":
        return half_space_distance(a, b, rotations, translations)
    if b.kind == "half_space":
        inverse = np.swapaxes(rotations, 1, 2)
        return half_space_distance(b, a, inverse, -np.einsum("nij,nj->ni", inverse, translations))
    if a.kind == "polytope" and len(a.numbers) == 1:
        return (
            b.point_distance(np.einsum("nji,nj->ni", rotations, a.numbers[0] @ a.rotation.T + a.position - translations))
            - a.radius
        )
    if b.kind == "polytope" and len(b.numbers) == 1:
        return a.point_distance(rotations @ (b.numbers[0] @ b.rotation.T + b.position) + translations) - b.radius
    if a.kind == b.kind == "polytope":
        return (
            np.array([polytope_distance(a, b, r, t) for r, t in zip(rotations, translations, strict=True)])
            - a.radius
            - b.radius
        )
    return sweep_distance(a, b, rotations, translations, extra)


# --- half-spaces


def half_space_distance(a: Part, b: Part, rotations: np.ndarray, translations: np.ndarray) -> np.ndarray:
    """Half-space A against any B: how far B's lowest point is above the plane; -inf unless two face each other."""
    normal = a.rotation @ a.numbers[:3]
    offset = a.numbers[3] + normal @ a.position
    inner = np.einsum("nij,i->nj", rotations, normal)  # in B's frame
    if b.kind != "half_space":
        return translations @ normal - b.heights(-inner) - offset
    other = b.rotation @ b.numbers[:3]
    facing = np.abs(inner + other).max(axis=1) < 1e-14
    return np.where(facing, translations @ normal - b.numbers[3] - other @ b.position - offset, -np.inf)


# --- polytopes


def polytope_distance(a: Part, b: Part, rotation: np.ndarray, translation: np.ndarray) -> float:
    """Signed distance of two polytope cores: features apart, Minkowski difference in overlap."""
    va = a.numbers @ a.rotation.T + a.position
    vb = (b.numbers @ b.rotation.T + b.position) @ rotation.T + translation
    if len(va) >= 4 or len(vb) >= 4:
        separation = minkowski_separation(a, b, va, vb, rotation)
        if separation <= 0:
            return separation
    return feature_distance(a, b, va, vb)


def minkowski_separation(a: Part, b: Part, va: np.ndarray, vb: np.ndarray, rotation: np.ndarray) -> float:
    """Largest separation along a face normal of the Minkowski difference A - B; in overlap the negative depth.

    Qhull proposes the normals, the faces of A and B are added, and the separation along each is exact: a normal that
    Qhull has merged away or turned a little can only make it smaller.
    """
    normals = []
    if len(va) >= 4:
        normals.append(a.faces[0][:, :3] @ a.rotation.T)
    if len(vb) >= 4:
        normals.append(-b.faces[0][:, :3] @ b.rotation.T @ rotation.T)
    difference = (va[:, None] - vb[None]).reshape(-1, 3)
    middle, extent = difference.mean(axis=0), np.ptp(difference, axis=0).max()
    try:
        normals.append(Qhull((difference - middle) / extent).equations[:, :3])
    except QhullError:  # a point against a polytope of which Qhull has already given the faces, at worst
        assert min(len(va), len(vb)) == 1
    n = np.concatenate(normals)
    n /= np.linalg.norm(n, axis=1, keepdims=True)
    return float(((n @ vb.T).min(axis=1) - (n @ va.T).max(axis=1)).max())


def feature_distance(a: Part, b: Part, va: np.ndarray, vb: np.ndarray) -> float:
    """Least distance of the features of two polytopes that are apart: vertices and faces, edges and edges."""
    best = edge_distance(va[a.edges], vb[b.edges])
    if len(va) >= 4:
        best = min(best, vertex_face_distance(vb, va[a.faces[1]]).min())
    if len(vb) >= 4:
        best = min(best, vertex_face_distance(va, vb[b.faces[1]]).min())
    return best


def vertex_face_distance(points: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """(P,) least distance of points (P, 3) to those triangles (T, 3, 3) that they lie over; inf where there are none."""
    corner, side = triangles, np.roll(triangles, -1, axis=1) - triangles
    normal = np.cross(side[:, 0], side[:, 1])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    inward = np.cross(normal[:, None], side)
    over = np.ones((len(points), len(triangles)), dtype=bool)
    for k in range(3):
        over &= points @ inward[:, k].T >= np.einsum("ti,ti->t", corner[:, k], inward[:, k])
    distance = np.abs(points @ normal.T - np.einsum("ti,ti->t", corner[:, 0], normal))
    return np.where(over, distance, np.inf).min(axis=1)


def edge_distance(edges_a: np.ndarray, edges_b: np.ndarray) -> float:
    """Least distance of segments (A, 2, 3) and (B, 2, 3)."""
    p, d = edges_a[:, None, 0], edges_a[:, None, 1] - edges_a[:, None, 0]
    q, e = edges_b[None, :, 0], edges_b[None, :, 1] - edges_b[None, :, 0]
    r = p - q
    dd, ee, de = (d * d).sum(-1), (e * e).sum(-1), (d * e).sum(-1)
    dr, er = (d * r).sum(-1), (e * r).sum(-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        # Where the lines are closest (by cross products, which do not cancel), then each end against the other segment.
        across = np.cross(d, e)
        pairs = [((np.cross(e, r) * across).sum(-1) / (across * across).sum(-1), None)]
        pairs += [(np.zeros_like(de), None), (np.ones_like(de), None)]
        pairs += [(-dr / dd, np.zeros_like(de)), ((de - dr) / dd, np.ones_like(de))]
        best = np.inf
        for s, u in pairs:
            s = np.clip(np.nan_to_num(s), 0.0, 1.0)
            u = np.clip(np.nan_to_num((s * de + er) / ee), 0.0, 1.0) if u is None else u
            apart = r + s[..., None] * d - u[..., None] * e
            best = min(best, float(np.sqrt((apart * apart).sum(-1)).min()))
    return best


# --- points


def segment_point_distance(a: np.ndarray, b: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(N,) distance of points to the segment ab, in any dimension."""
    along = b - a
    length2 = along @ along
    s = np.clip((points - a) @ along / length2, 0.0, 1.0) if length2 > 0 else np.zeros(len(points))
    return np.linalg.norm(points - a - s[:, None] * along, axis=1)


def polytope_point_distance(part: Part, points: np.ndarray) -> np.ndarray:
    """Signed distance of points to a polytope core, own frame."""
    vertices = part.numbers
    if len(vertices) < 3:
        return segment_point_distance(vertices[0], vertices[-1], points)
    planes, triangles = part.faces
    distance = (points @ planes[:, :3].T - planes[:, 3]).max(axis=1)
    outside = np.flatnonzero(distance > 0)
    if len(outside) == 0:
        return distance
    found = np.full(len(outside), np.inf)
    for tail, head in part.edges:
        found = np.minimum(found, segment_point_distance(vertices[tail], vertices[head], points[outside]))
    distance[outside] = np.minimum(found, vertex_face_distance(points[outside], vertices[triangles]))
    return distance


def ellipsoid_point_distance(radii: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Signed distance of points to an ellipsoid: the closest surface point is r^2 y / (s + r^2), s by bisection."""
    y, m2 = np.abs(points), radii.min() ** 2
    low, high = np.zeros(len(y)), np.linalg.norm(radii * y, axis=1)  # of s + m2
    spread = radii**2 - m2
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(200):
            middle = 0.5 * (low + high)
            outside = np.nansum((radii * y / (middle[:, None] + spread)) ** 2, axis=1) > 1.0
            low, high = np.where(outside, middle, low), np.where(outside, high, middle)
        x = np.nan_to_num(radii**2 * y / (high[:, None] + spread), posinf=0.0)
    # What is left of the surface equation falls to the smallest radius (matters where y is 0 there).
    k = int(radii.argmin())
    others = np.delete(np.arange(3), k)
    rest = np.maximum(1.0 - ((x[:, others] / radii[others]) ** 2).sum(axis=1), 0.0)
    flat = y[:, k] <= 1e-14 * radii[k]
    x[flat, k] = radii[k] * np.sqrt(rest[flat])
    inside = ((y / radii) ** 2).sum(axis=1) < 1.0
    return np.linalg.norm(y - x, axis=1) * np.where(inside, -1.0, 1.0)


def point_distance(shape: thud.shapes.Shape, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Signed distance of world points (N, 3) to a shape at pose rows (N, 12): the least over its parts."""
    local = np.einsum("nji,nj->ni", rows[:, :9].reshape(-1, 3, 3), points - rows[:, 9:])
    return np.min([part.point_distance(local) for part in parts_of(shape)], axis=0)


def surface_distance(shape: thud.shapes.Shape, rows: np.ndarray, points: np.ndarray) -> np.ndarray:
    """Distance of world points (N, 3) to the nearest surface of a part of a shape at pose rows (N, 12)."""
    local = np.einsum("nji,nj->ni", rows[:, :9].reshape(-1, 3, 3), points - rows[:, 9:])
    return np.min([np.abs(part.point_distance(local)) for part in parts_of(shape)], axis=0)


# --- curved shapes


@lru_cache(maxsize=1)
def sweep_directions() -> tuple[np.ndarray, np.ndarray]:
    """SWEEP unit vectors spread evenly (a Fibonacci spiral), sorted into cells, and where each cell starts."""
    directions, cells = _spiral(SWEEP), _spiral(8 * BEST)
    cell = (directions @ cells.T).argmax(axis=1)
    order = np.argsort(cell, kind="stable")
    return directions[order], np.flatnonzero(np.diff(cell[order], prepend=-1))


def _spiral(count: int) -> np.ndarray:
    k = np.arange(count) + 0.5
    z, turn = 1 - 2 * k / count, np.pi * (1 + 5**0.5) * k
    r = np.sqrt(1 - z * z)
    return np.stack([r * np.cos(turn), r * np.sin(turn), z], axis=1)


class _Pairs:
    """Separation -(h_A(n) + h_B(-n)) and support points of A - B for N relative poses, in A's frame."""

    def __init__(self, a: Part, b: Part, rotations: np.ndarray, translations: np.ndarray) -> None:
        self.a, self.b, self.rotations, self.translations = a, b, rotations, translations

    def separation(self, n: np.ndarray) -> np.ndarray:
        """(N, K) along unit directions (N, K, 3), or (K, 3) for all poses alike."""
        shift = (n @ self.translations[:, :, None])[..., 0]
        return shift - self.a.heights(n) - self.b.heights(-n @ self.rotations)

    def support(self, n: np.ndarray) -> np.ndarray:
        """(N, K, 3) points of A - B farthest along n (N, K, 3)."""
        inner = self.b.support(-n @ self.rotations)
        return self.a.support(n) - inner @ np.swapaxes(self.rotations, 1, 2) - self.translations[:, None]


def sweep_distance(
    a: Part, b: Part, rotations: np.ndarray, translations: np.ndarray, extra: np.ndarray | None = None
) -> np.ndarray:
    """Signed distance of two parts by a sweep of all directions, refined from the best."""
    directions, starts = sweep_directions()
    found = []
    for start in range(0, len(rotations), 20):  # in blocks that stay in the cache
        rows = slice(start, start + 20)
        pairs = _Pairs(a, b, rotations[rows], translations[rows])
        value = pairs.separation(directions)
        # The best direction of each cell, and of those the best 32: they are spread over all local maxima.
        cell_best = np.maximum.reduceat(value, starts, axis=1)
        cells = np.argsort(-cell_best, axis=1)[:, :BEST]
        picked = np.empty(cells.shape, dtype=int)
        ends = np.append(starts[1:], SWEEP)
        for row, row_cells in enumerate(cells):
            picked[row] = [starts[c] + value[row, starts[c] : ends[c]].argmax() for c in row_cells]
        n, value = directions[picked], np.take_along_axis(value, picked, axis=1)
        for kept, rounds, step in ((BEST, 1, 0.03), (8, 3, 0.03), (3, 14, 0.01), (1, 30, 0.01)):
            order = np.argsort(-value, axis=1)[:, :kept]
            n, value = _refine(pairs, np.take_along_axis(n, order[..., None], axis=1), step, rounds)
        best = value.max(axis=1)
        # Sharp maxima are tried as they are.
        for own, n in ((True, a.sharp_normals), (False, -b.sharp_normals)):
            n = np.broadcast_to(n, (len(value), *n.shape)) if own else n @ np.swapaxes(pairs.rotations, 1, 2)
            best = np.maximum(best, pairs.separation(n).max(axis=1, initial=-np.inf))
        if extra is not None:
            best = np.maximum(best, pairs.separation(extra[rows][:, None])[:, 0])
        found.append(best)
    return np.concatenate(found)


_PAIRS_OF_7 = np.array([(i, j) for i in range(7) for j in range(i)])
_TRIPLES_OF_7 = np.array([(i, j, k) for i in range(7) for j in range(i) for k in range(j)])


def _refine(pairs: _Pairs, n: np.ndarray, step: float, rounds: int) -> tuple[np.ndarray, np.ndarray]:
    """Climb from unit directions (N, K, 3) to local maxima of the separation: (directions, values).

    Each round takes the support points of the direction and of six around it. The set A - B is near there what these
    seven points span, so the maximum is near the normal of a triangle of them, or points to an edge or a corner. All
    these directions and the six are tried; where none is better, the next six are closer.
    """
    value = pairs.separation(n)
    size = np.full(value.shape, step)
    for turn in range(rounds):
        least = np.eye(3)[np.abs(n).argmin(axis=-1)]
        u = _unit(np.cross(n, least))
        v = np.cross(n, u)
        angles = turn + np.arange(6) * np.pi / 3
        around = np.cos(angles)[:, None] * u[..., None, :] + np.sin(angles)[:, None] * v[..., None, :]
        around = _unit(n[..., None, :] + size[..., None, None] * around)
        seven = np.concatenate([n[..., None, :], around], axis=-2)
        w = pairs.support(seven.reshape(len(n), -1, 3)).reshape(seven.shape)
        p, q = w[..., _PAIRS_OF_7[:, 0], :], w[..., _PAIRS_OF_7[:, 1], :]
        along = q - p
        with np.errstate(divide="ignore", invalid="ignore"):
            foot = p - (p * along).sum(-1, keepdims=True) / (along * along).sum(-1, keepdims=True) * along
        x, y, z = (w[..., _TRIPLES_OF_7[:, k], :] for k in range(3))
        tries = np.concatenate([around, w, foot, np.cross(y - x, z - x)], axis=-2)
        # All point the way n does; what has no direction becomes n.
        tries *= np.where((tries * n[..., None, :]).sum(-1, keepdims=True) < 0, -1.0, 1.0)
        length = np.linalg.norm(tries, axis=-1, keepdims=True)
        good = np.isfinite(length) & (length > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            tries = np.where(good, tries / length, n[..., None, :])
        values = pairs.separation(tries.reshape(len(n), -1, 3)).reshape(tries.shape[:-1])
        top = values.argmax(axis=-1)[..., None]
        gain = np.take_along_axis(values, top, axis=-1)[..., 0]
        better = gain > value
        n = np.where(better[..., None], np.take_along_axis(tries, top[..., None], axis=-2)[..., 0, :], n)
        value = np.where(better, gain, value)
        size = np.where(better, size, 0.25 * size)
    return n, value


def _unit(vectors: np.ndarray) -> np.ndarray:
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
