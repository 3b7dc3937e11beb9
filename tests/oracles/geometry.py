"""Slow and obviously right references for `thud.geometry`: rational arithmetic, bisection, proofs of optimality."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np

# --- rational arithmetic -------------------------------------------------------------------------------------------


def rational(point):
    """A point as exact fractions."""
    return [Fraction(float(x)) for x in point]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def dot(a, b):
    return sum(x * y for x, y in zip(a, b))


def cross(a, b):
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def sign(x):
    return int(x > 0) - int(x < 0)


def orient2d(a, b, c):
    a, b, c = rational(a), rational(b), rational(c)
    return (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])


def orient3d(a, b, c, d):
    a, b, c, d = (rational(p) for p in (a, b, c, d))
    return dot(cross(sub(b, a), sub(c, a)), sub(d, a))


def solve(matrix, right):
    """One solution of a rational linear system with independent columns; None if there is none or columns depend."""
    rows = [list(r) + [x] for r, x in zip(matrix, right)]
    columns, at = len(matrix[0]), 0
    for c in range(columns):
        pivot = next((r for r in range(at, len(rows)) if rows[r][c] != 0), None)
        if pivot is None:
            return None
        rows[at], rows[pivot] = rows[pivot], rows[at]
        rows[at] = [x / rows[at][c] for x in rows[at]]
        for r in range(len(rows)):
            if r != at and rows[r][c] != 0:
                rows[r] = [x - rows[r][c] * y for x, y in zip(rows[r], rows[at])]
        at += 1
    if any(r[-1] != 0 for r in rows[at:]):
        return None
    return [rows[c][-1] for c in range(columns)]


def hulls_intersect(points_a, points_b):
    """Whether the convex hulls of two small point sets meet, exactly.

    They do if sum l_i a_i = sum m_j b_j with weights >= 0 that sum to 1 on each side; if so, then with weights whose
    columns are independent (Caratheodory), so all such sets of columns are tried.
    """
    points_a, points_b = [rational(p) for p in points_a], [rational(p) for p in points_b]
    one, zero = Fraction(1), Fraction(0)  # not whole numbers, whose quotients are floats
    columns = [[*p, one, zero] for p in points_a] + [[-x for x in p] + [zero, one] for p in points_b]
    right = [Fraction(0)] * len(points_a[0]) + [Fraction(1), Fraction(1)]
    for size in range(2, len(right) + 1):
        for chosen in combinations(range(len(columns)), size):
            weights = solve([[columns[c][r] for c in chosen] for r in range(len(right))], right)
            if weights is not None and all(w >= 0 for w in weights):
                return True
    return False


def hull_distance(points_a, points_b):
    """Distance of two simplices (or degenerate ones), to the last digit: over all pairs of faces, the closest points of
    their affine hulls count if they lie in the faces."""
    points_a, points_b = [rational(p) for p in points_a], [rational(p) for p in points_b]
    best = None
    for face_a in faces(points_a):
        for face_b in faces(points_b):
            origin = sub(face_a[0], face_b[0])
            edges = [sub(p, face_a[0]) for p in face_a[1:]] + [sub(face_b[0], p) for p in face_b[1:]]
            # origin + sum t_i edge_i orthogonal to all edges.
            t = solve([[dot(e, f) for f in edges] for e in edges], [-dot(e, origin) for e in edges]) if edges else []
            if t is None:
                continue
            t_a, t_b = t[: len(face_a) - 1], t[len(face_a) - 1 :]
            if any(x < 0 for x in t) or sum(t_a) > 1 or sum(t_b) > 1:
                continue
            gap = [o + sum(x * e[k] for x, e in zip(t, edges)) for k, o in enumerate(origin)]
            best = dot(gap, gap) if best is None else min(best, dot(gap, gap))
    return sqrt_fraction(best)


def faces(points):
    """All faces of a simplex, as lists of its corners."""
    return [list(chosen) for size in range(1, len(points) + 1) for chosen in combinations(points, size)]


def sqrt_fraction(x):
    """Square root of a fraction as a float, without over- or underflow of the fraction's parts."""
    if x == 0:
        return 0.0
    shift = (x.numerator.bit_length() - x.denominator.bit_length()) // 2
    return float(np.ldexp(np.sqrt(float(x / Fraction(4) ** shift)), shift))


# --- polygons and solids -------------------------------------------------------------------------------------------


def point_on_segment_2d(p, a, b):
    return orient2d(a, b, p) == 0 and min(a[0], b[0]) <= p[0] <= max(a[0], b[0]) and min(a[1], b[1]) <= p[1] <= max(a[1], b[1])


def point_in_polygon(p, polygon):
    """On the boundary, or an odd number of crossings by a ray in a direction that meets no vertex."""
    edges = [(polygon[k], polygon[(k + 1) % len(polygon)]) for k in range(len(polygon))]
    if any(point_on_segment_2d(p, a, b) for a, b in edges):
        return True
    p = rational(p)
    corners = [rational(q) for q in polygon]
    for k in range(1, 1000):
        d = [Fraction(1), Fraction(k, 997)]
        if all(d[0] * (q[1] - p[1]) != d[1] * (q[0] - p[0]) for q in corners):
            break
    odd = False
    for a, b in edges:
        a, b = sub(rational(a), p), sub(rational(b), p)
        side_a, side_b = d[0] * a[1] - d[1] * a[0], d[0] * b[1] - d[1] * b[0]
        if (side_a > 0) != (side_b > 0):
            s = side_a / (side_a - side_b)
            odd ^= dot(d, [x + s * (y - x) for x, y in zip(a, b)]) > 0
    return bool(odd)


def voxel_mesh(cells, rng):
    """Closed mesh (vertices, faces) of a union of unit cubes at integer cells; boundary squares cut along random diagonals."""
    cells = {tuple(c) for c in cells}
    index, corners, faces = {}, [], []

    def vertex(p):
        if p not in index:
            index[p] = len(corners)
            corners.append(p)
        return index[p]

    for cell in sorted(cells):
        for axis in range(3):
            for side in (0, 1):
                beside = list(cell)
                beside[axis] += 2 * side - 1
                if tuple(beside) in cells:
                    continue
                u, v = (axis + 1) % 3, (axis + 2) % 3
                square = []
                for du, dv in ((0, 0), (1, 0), (1, 1), (0, 1)) if side else ((0, 0), (0, 1), (1, 1), (1, 0)):
                    p = list(cell)
                    p[axis] += side
                    p[u] += du
                    p[v] += dv
                    square.append(vertex(tuple(p)))
                k = int(rng.integers(2))
                a, b, c, d = square[k:] + square[:k]
                faces += [[a, b, c], [a, c, d]]
    return np.array(corners, dtype=np.float64), np.array(faces, dtype=np.int64)


def point_in_voxels(p, cells):
    return any(all(c <= x <= c + 1 for c, x in zip(cell, p)) for cell in cells)


def ray_voxels(origin, direction, cells):
    """Parameter at which a ray first meets a union of closed unit cubes, as a fraction; None for a miss."""
    o, d = rational(origin), rational(direction)
    best = None
    for cell in cells:
        near, far = Fraction(0), None
        for k in range(3):
            if d[k] == 0:
                if not cell[k] <= o[k] <= cell[k] + 1:
                    far = Fraction(-1)
                continue
            t = sorted([(cell[k] - o[k]) / d[k], (cell[k] + 1 - o[k]) / d[k]])
            near, far = max(near, t[0]), t[1] if far is None else min(far, t[1])
        if near <= far and (best is None or near < best):
            best = near
    return best


# --- rays against convex solids ------------------------------------------------------------------------------------

Long = np.longdouble


def gauge(solid, size, x):
    """A convex function of points (N, 3) that is <= 0 in the solid, in its own frame."""
    x = np.asarray(x, dtype=Long)
    size = np.asarray(size, dtype=Long)
    round_ = np.sqrt(x[:, 0] ** 2 + x[:, 1] ** 2)
    if solid == "sphere":
        return np.sqrt((x**2).sum(axis=1)) - size[:, 0]
    if solid == "box":
        return (np.abs(x) - size).max(axis=1)
    if solid == "capsule":
        beyond = x[:, 2] - np.clip(x[:, 2], -size[:, 1], size[:, 1])
        return np.sqrt(round_**2 + beyond**2) - size[:, 0]
    if solid == "cylinder":
        return np.maximum(round_ - size[:, 0], np.abs(x[:, 2]) - size[:, 1])
    if solid == "cone":
        slope = size[:, 0] / (2 * size[:, 1])
        return np.maximum(round_ - slope * (size[:, 1] - x[:, 2]), -x[:, 2] - size[:, 1])
    if solid == "ellipsoid":
        return np.sqrt(((x / size) ** 2).sum(axis=1)) - 1
    raise ValueError(solid)


def ray_solid(solid, size, origins, directions):
    """(distance, gauge's least value along the ray) by search, in extended precision.

    The gauge is convex along a ray, so its least value is found by cutting thirds, and the first zero before it by halves.
    """
    o, d = np.asarray(origins, dtype=Long), np.asarray(directions, dtype=Long)

    def value(t):
        return gauge(solid, size, o + t[:, None] * d)

    reach = np.sqrt((o**2).sum(axis=1)) + 4 * np.asarray(size, dtype=Long).sum(axis=1)
    low, high = np.zeros(len(o), dtype=Long), reach
    for _ in range(200):
        left, right = low + (high - low) / 3, high - (high - low) / 3
        lower = value(left) <= value(right)
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    inside = (low + high) / 2
    least = np.minimum(value(inside), value(np.zeros(len(o), dtype=Long)))
    low, high = np.zeros(len(o), dtype=Long), inside.copy()
    for _ in range(120):
        middle = (low + high) / 2
        out = value(middle) > 0
        low, high = np.where(out, middle, low), np.where(out, high, middle)
    distance = np.where(value(np.zeros(len(o), dtype=Long)) <= 0, 0, high)
    return np.where(least <= 0, distance, np.inf).astype(np.float64), least.astype(np.float64)


# --- proofs of optimality ------------------------------------------------------------------------------------------


def box_corners(centers, half_extents, rotations):
    """(N, 8, 3) corners of boxes."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    local = signs[None] * np.asarray(half_extents)[:, None, :]
    return np.asarray(centers)[:, None, :] + np.einsum("nij,nkj->nki", rotations, local)


def distance_defect(result, corners_a, corners_b):
    """(N,) by how much a claimed distance > 0 may be too large: its value minus the gap that the direction between the two
    points proves, n . b - n . a >= gap for all corners. Duality: no other pair of points can be closer than the gap."""
    between = result.point_b - result.point_a
    length = np.linalg.norm(between, axis=1)
    n = between / np.where(length > 0, length, 1)[:, None]
    # Relative to a point of the pair, so that an offset costs no digits.
    a, b = corners_a - result.point_a[:, None], corners_b - result.point_a[:, None]
    gap = np.einsum("nki,ni->nk", b, n).min(axis=1) - np.einsum("nki,ni->nk", a, n).max(axis=1)
    return result.distance - gap


def outside_simplex(points, corners):
    """(N,) distance of points from simplices with corners (N, K, 3), K 1 to 3, by least squares on all faces."""
    best = np.full(len(points), np.inf)
    count = corners.shape[1]
    for size in range(1, count + 1):
        for chosen in combinations(range(count), size):
            c = corners[:, list(chosen)]
            edges = np.swapaxes(c[:, 1:] - c[:, :1], 1, 2)
            right = points - c[:, 0]
            weights = np.linalg.pinv(edges) @ right[:, :, None] if size > 1 else np.zeros((len(points), 0, 1))
            gap = np.linalg.norm(right - (edges @ weights)[:, :, 0], axis=1)
            valid = (weights[:, :, 0] >= 0).all(axis=1) & (weights[:, :, 0].sum(axis=1) <= 1)
            best = np.where(valid & (gap < best), gap, best)
    return best


def outside_box(points, centers, half_extents, rotations):
    """(N,) distance of points from boxes."""
    local = np.einsum("nji,nj->ni", rotations, points - centers)
    return np.linalg.norm(np.maximum(np.abs(local) - half_extents, 0), axis=1)


def random_rotations(rng, count):
    """(count, 3, 3) uniform rotations."""
    q = rng.normal(size=(count, 4))
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1),
        ],
        axis=1,
    )
