"""The ground of a displaced surface by brute force, from one sentence of `docs/surface_collision.md` and plain arrays.

The sentence: a point is ground if it lies on a column x(a, b, l) = q(a, b) - l n(a, b), 0 <= l <= thickness, and no sheet
crosses that column between the point and its own sheet point q(a, b).

Samples q and directions n of the nodes are made here, from base vertices and map. How far a shape is from the ground is the
least of its own distance function, in closed form, over all columns: grids of 5 x 5 x 5 places that close in on the best
one. There is no skin, no walk, no projection and no triangle.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import minimize

import thud

#: A sheet crosses a column this part of its length below its top at the earliest: nearer it is the column's own sheet.
OWN_SHEET = 1e-7


@dataclass
class Columns:
    """Bilinear patches (K, 4, 3): corners and directions in the order 00, 10, 01, 11, and how long the columns are."""

    corners: np.ndarray
    directions: np.ndarray
    thickness: float
    known: dict = field(default_factory=dict)
    """What `near` has told of each patch."""

    def near(self, k: int) -> tuple[bool, np.ndarray]:
        """(whether any sheet crosses columns of a patch, which then end early; patches near its columns, by their boxes)."""
        if k not in self.known:
            among = _near(self, k)
            self.known[k] = (_is_cut(self, k, among), among)
        return self.known[k]

    def cuts(self, rows: np.ndarray) -> np.ndarray:
        """Which of some patches have columns that end early."""
        return np.array([self.near(int(k))[0] for k in rows], dtype=bool)

    @property
    def size(self) -> float:
        """Largest diagonal of a patch: the unit of tolerances."""
        return float(np.linalg.norm(self.corners[:, 3] - self.corners[:, 0], axis=1).max())


def nodes_of(surface, quad: int) -> tuple[np.ndarray, np.ndarray]:
    """(m, m, 3) samples and directions of a quad, [t, s]."""
    s0, t0, side = (int(x) for x in np.asarray(surface.quads)[quad])
    t, s = np.mgrid[: side + 1, : side + 1]
    place = np.stack([s + s0, t + t0], axis=-1).astype(float).reshape(-1, 2)
    base, way = np.full((len(place), 3), np.nan), np.full((len(place), 3), np.nan)
    uv = np.asarray(surface.coordinates, float)
    for row in np.asarray(surface.primitives):
        p, n, c = (np.asarray(x)[row[row >= 0]] for x in (surface.positions, surface.directions, uv))
        if (c.min(axis=0) < [s0, t0]).any() or (c.max(axis=0) > [s0 + side, t0 + side]).any():
            continue
        if len(c) == 3:
            second = np.linalg.solve(np.stack([c[1] - c[0], c[2] - c[0]], axis=1), (place - c[0]).T).T
            weights = np.column_stack([1.0 - second.sum(axis=1), second])
        else:
            e, f = c[1] - c[0], c[3] - c[0]
            u, v = (place - c[0]) @ e / (e @ e), (place - c[0]) @ f / (f @ f)
            weights = np.column_stack([(1 - u) * (1 - v), u * (1 - v), u * v, (1 - u) * v])
            weights[(np.minimum(u, v) < -1e-9) | (np.maximum(u, v) > 1 + 1e-9)] = -1.0
        held = (weights >= -1e-9).all(axis=1)
        base[held], way[held] = weights[held] @ p, weights[held] @ n
    assert np.isfinite(base).all()
    length = np.asarray(surface.displacements)[t0 : t0 + side + 1, s0 : s0 + side + 1].astype(float).reshape(-1, 1)
    shape = (side + 1, side + 1, 3)
    return (base + length * way).reshape(shape), way.reshape(shape)


def columns_of(surface, thickness: float, *, as_sampled: bool = False) -> Columns:
    """All columns of a surface; `thickness` in units of displacement.

    as_sampled : take the nodes from the surface, which has details
    """
    corners, directions = [], []
    for quad in range(len(surface.quads)):
        own = surface.samples(quad) if as_sampled else None
        for nodes, out in zip((own.point, own.direction) if own else nodes_of(surface, quad), (corners, directions)):
            four = [nodes[:-1, :-1], nodes[:-1, 1:], nodes[1:, :-1], nodes[1:, 1:]]
            out.append(np.stack([x.reshape(-1, 3) for x in four], axis=1))
    return Columns(np.concatenate(corners), np.concatenate(directions), thickness)


def _near(columns: Columns, k: int) -> np.ndarray:
    both = np.concatenate([columns.corners[k], columns.corners[k] - columns.thickness * columns.directions[k]])
    low, high = columns.corners.min(axis=1), columns.corners.max(axis=1)
    return np.flatnonzero(((low <= both.max(axis=0)) & (high >= both.min(axis=0))).all(axis=1))


def _is_cut(columns: Columns, k: int, among: np.ndarray) -> bool:
    # Neighbours are near all columns of a patch; only crossings count. Some columns of the patch, its borders included.
    u, v = (x.reshape(-1) for x in np.meshgrid(np.linspace(0, 1, 9), np.linspace(0, 1, 9)))
    rows = np.full(len(u), k)
    return bool((cut_lengths(columns, rows, u, v, among) < columns.thickness).any())


def mix(corners: np.ndarray, a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(..., 4, 3) at (...): bilinear."""
    a, b = a[..., None], b[..., None]
    low = (1 - a) * corners[..., 0, :] + a * corners[..., 1, :]
    return (1 - b) * low + b * ((1 - a) * corners[..., 2, :] + a * corners[..., 3, :])


def cut_lengths(columns: Columns, rows: np.ndarray, a: np.ndarray, b: np.ndarray, among: np.ndarray) -> np.ndarray:
    """(N,) length at which a sheet first crosses each column, the thickness if none does."""
    q, n = mix(columns.corners[rows], a, b), mix(columns.directions[rows], a, b)
    best = np.full(len(rows), columns.thickness)
    c = columns.corners[among]
    p, e, f = c[:, 0], c[:, 1] - c[:, 0], c[:, 2] - c[:, 0]
    g = c[:, 3] - c[:, 2] - e
    for start in range(0, len(rows), 256):
        some = slice(start, start + 256)
        best[some] = np.minimum(best[some], _crossings(q[some], -n[some], p, e, f, g, OWN_SHEET * columns.thickness))
    return best


def _crossings(o: np.ndarray, d: np.ndarray, p, e, f, g, least: float) -> np.ndarray:
    """(N,) least l > least at which o + l d is p + u e + v f + u v g of any patch; inf.

    Both sides in the plane across d: a quadratic in u, for each of the two vectors that span it v follows.
    """
    helper = np.where(np.abs(d[:, :1]) < 0.9 * np.linalg.norm(d, axis=1, keepdims=True), [[1.0, 0, 0]], [[0, 1.0, 0]])
    x = np.cross(d, helper)
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.cross(d, x)
    y /= np.linalg.norm(y, axis=1, keepdims=True)
    (px, py), (ex, ey), (fx, fy), (gx, gy) = ((w @ x.T, w @ y.T) for w in (p, e, f, g))
    px, py = px - (o * x).sum(axis=1), py - (o * y).sum(axis=1)
    # (px + u ex) (fy + u gy) = (py + u ey) (fx + u gx)
    c0, c1, c2 = px * fy - py * fx, px * gy + ex * fy - py * gx - ey * fx, ex * gy - ey * gx
    best = np.full(len(o), np.inf)
    scale = np.abs(c0) + np.abs(c1) + np.abs(c2) + 1e-300
    with np.errstate(all="ignore"):
        under = np.sqrt(c1 * c1 - 4 * c0 * c2)
        half = -0.5 * (c1 + np.copysign(under, c1))
        for u in (np.where(np.abs(c2) > 1e-14 * scale, half / c2, np.nan), np.where(half != 0, c0 / half, 0.0)):
            wx, wy = fx + u * gx, fy + u * gy
            v = -((px + u * ex) * wx + (py + u * ey) * wy) / (wx * wx + wy * wy)
            point = p[:, None] + u[..., None] * e[:, None] + v[..., None] * f[:, None] + (u * v)[..., None] * g[:, None]
            length = ((point - o) * d).sum(axis=-1) / (d * d).sum(axis=1)
            good = (u >= -1e-9) & (u <= 1 + 1e-9) & (v >= -1e-9) & (v <= 1 + 1e-9) & (length > least)
            best = np.minimum(best, np.where(good, length, np.inf).min(axis=0))
    return best


# Shapes, by their distance from points


def shape_distance(shape, points: np.ndarray) -> np.ndarray:
    """Signed distance of points (..., 3), in the shape's frame: negative inside."""
    if isinstance(shape, thud.Sphere):
        return np.linalg.norm(points, axis=-1) - shape.radius
    if isinstance(shape, thud.Capsule):
        off = points.copy()
        off[..., 2] -= np.clip(points[..., 2], -shape.half_length, shape.half_length)
        return np.linalg.norm(off, axis=-1) - shape.radius
    if isinstance(shape, thud.Box):
        off = np.abs(points) - np.asarray(shape.half_extents)
    else:
        assert isinstance(shape, thud.Cylinder)
        across = np.linalg.norm(points[..., :2], axis=-1) - shape.radius
        off = np.stack([across, np.abs(points[..., 2]) - shape.half_length], axis=-1)
    return np.linalg.norm(np.maximum(off, 0.0), axis=-1) + np.minimum(off.max(axis=-1), 0.0)


def local(points: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Points (N, ..., 3) in the frames of pose rows (N, 12)."""
    turn = rows[:, :9].reshape(-1, 3, 3)
    shift = rows[:, 9:].reshape((-1,) + (1,) * (points.ndim - 2) + (3,))
    return np.einsum("n...j,njk->n...k", points - shift, turn)


def nearest_ground(columns: Columns, shape, rows: np.ndarray, *, sheet_only: bool = False, reach: float = np.inf):
    """(distance (N,), point (N, 3), patch (N,), place (N, 3) as a, b, l): the least signed distance of the shape from ground
    points; inf beyond `reach`, in metres.

    sheet_only : the ground's surface alone, l = 0
    """
    count = len(rows)
    radius = float(shape.bounding_sphere()[1])
    thickness = 0.0 if sheet_only else columns.thickness
    ends = columns.corners - thickness * columns.directions
    low = np.minimum(columns.corners, ends).min(axis=1)
    high = np.maximum(columns.corners, ends).max(axis=1)
    best, where = np.full(count, np.inf), np.full((count, 3), np.nan)
    patch, place = np.full(count, -1), np.zeros((count, 3))
    center = rows[:, 9:]
    orders = []
    for n in range(count):
        gap = np.linalg.norm(np.maximum(np.maximum(low - center[n], center[n] - high), 0.0), axis=1) - radius
        order = np.argsort(gap, kind="stable")
        order = order[gap[order] <= reach]
        orders.append((order, gap[order]))
    at, live = 0, [n for n in range(count) if len(orders[n][0])]
    while live:
        # The next patches of all rows at once, as far as they may be nearer.
        some = [orders[n][0][at : at + 24][orders[n][1][at : at + 24] <= best[n]] for n in live]
        owner, chosen = np.repeat(live, [len(x) for x in some]), np.concatenate(some)
        value, spot = _close_in(columns, chosen, owner, shape, rows, thickness)
        for n in live:
            own = np.flatnonzero(owner == n)
            if len(own) == 0:
                continue
            least = value[own].min()
            for k in own[np.argsort(value[own], kind="stable")[:6]]:
                if 0.0 < value[k] < min(best[n], least) + 0.05 and not (thickness > 0.0 and columns.near(int(chosen[k]))[0]):
                    value[k], spot[k] = _polished(columns, chosen[k], shape, rows[n : n + 1], thickness, value[k], spot[k])
            k = own[value[own].argmin()]
            if value[k] < best[n]:
                best[n], patch[n], place[n] = value[k], chosen[k], spot[k]
        at += 24
        live = [n for n in live if at < len(orders[n][0]) and orders[n][1][at] <= best[n]]
    known = patch >= 0
    q = mix(columns.corners[patch[known]], place[known, 0], place[known, 1])
    w = mix(columns.directions[patch[known]], place[known, 0], place[known, 1])
    where[known] = q - place[known, 2:] * w
    return best, where, patch, place


def _close_in(
    columns: Columns, chosen: np.ndarray, owner: np.ndarray, shape, rows: np.ndarray, thickness: float
) -> tuple[np.ndarray, np.ndarray]:
    """Least distance and place (a, b, l) for each of some patches, quarter by quarter, of the rows that they are asked for."""
    step = np.linspace(-1.0, 1.0, 5)
    grid = np.stack(np.meshgrid(step, step, step if thickness > 0.0 else np.zeros(1), indexing="ij"), axis=-1).reshape(-1, 3)
    quarter = np.array([[0.25, 0.25], [0.75, 0.25], [0.25, 0.75], [0.75, 0.75]])
    who = np.repeat(np.arange(len(chosen)), 4)
    middle = np.column_stack([np.tile(quarter, (len(chosen), 1)), np.full(len(who), 0.5 if thickness > 0.0 else 0.0)])
    half = np.array([0.25, 0.25, 0.5])
    value, longest = np.full(len(who), np.inf), np.full(len(who), thickness)
    # A distance function grows no faster than the way: half of what parts two places of the first grid.
    corners, ways = columns.corners[chosen], thickness * columns.directions[chosen]
    sides = np.linalg.norm(corners[:, [1, 3, 2]] - corners[:, [0, 1, 0]], axis=2).max(axis=1)
    across = 2.0 * (sides + 2.0 * thickness * np.ptp(columns.directions[chosen], axis=1).max(axis=1))
    down = np.linalg.norm(ways, axis=2).max(axis=1)
    reach = 0.25 * (half[0] * across + half[2] * down)
    live, row = np.arange(len(who)), owner[who]
    early = columns.cuts(chosen)[who] if thickness > 0.0 else np.zeros(len(who), bool)
    for turn in range(56):
        at, cut = chosen[who[live]], early[live]
        tried = np.clip(middle[live, None] + half * grid, 0.0, 1.0)
        a, b = tried[..., 0], tried[..., 1]
        length = np.full(a.shape, thickness)
        if cut.any():
            # Of patches that lie together, which have the same others near them.
            for n in np.unique(row[live[cut]]):
                own = np.flatnonzero(cut & (row[live] == n))
                among = np.unique(np.concatenate([columns.near(int(k))[1] for k in np.unique(at[own])]))
                many = np.repeat(at[own], a.shape[1])
                length[own] = cut_lengths(columns, many, a[own].ravel(), b[own].ravel(), among).reshape(-1, a.shape[1])
        x = mix(columns.corners[at][:, None], a, b)
        x = x - (tried[..., 2] * length)[..., None] * mix(columns.directions[at][:, None], a, b)
        far = shape_distance(shape, local(x, rows[row[live]]))
        best = far.argmin(axis=1)
        pick = np.arange(len(live)), best
        better = far[pick] < value[live]
        gain = live[better]
        value[gain] = far[pick][better]
        middle[gain], longest[gain] = tried[pick][better], length[pick][better]
        least = np.full(len(rows), np.inf)
        np.minimum.at(least, row, value)
        if turn == 0:
            live = live[value[live] <= least[row[live]] + reach[who[live]]]
            half = 0.5 * half
        else:
            # What later turns can gain is the sum of their ways, 0.72 / 0.28 of this one's.
            later = 0.72 / 0.28 * (half[0] * across + half[2] * down)
            live = live[value[live] <= least[row[live]] + later[who[live]]]
            half = 0.72 * half
    first = np.lexsort((value, who))
    first = first[np.unique(who[first], return_index=True)[1]]
    spot = middle[first].copy()
    spot[:, 2] *= longest[first]
    return value[first], spot


def _polished(columns: Columns, k: int, shape, row: np.ndarray, thickness: float, value: float, spot: np.ndarray):
    """(distance, place) of one patch from where the grids ended: between the edges of a box and a patch they stop too soon. The
    square of a distance is smooth."""
    unit = np.array([1.0, 1.0, thickness])
    corners, directions = columns.corners[k], columns.directions[k]
    small = 1.5e-8

    def square(x: np.ndarray) -> tuple[float, np.ndarray]:
        # With its slopes, by differences that stay within the bounds.
        step = np.where(x + small > 1.0, -small, small)
        tried = np.concatenate([x[None], x + np.diag(step)])
        a, b = tried[:, 0], tried[:, 1]
        at = mix(corners, a, b) - (tried[:, 2] * thickness)[:, None] * mix(directions, a, b)
        far = np.maximum(shape_distance(shape, local(at[None], row))[0], 0.0) ** 2
        return float(far[0]), (far[1:] - far[0]) / step

    start = np.array([*spot[:2], spot[2] / thickness if thickness > 0.0 else 0.0])
    ends = [(0.0, 1.0), (0.0, 1.0), (0.0, 1.0 if thickness > 0.0 else 0.0)]
    options = {"ftol": 1e-16, "gtol": 1e-12, "maxiter": 60}
    found = minimize(square, start, jac=True, method="L-BFGS-B", bounds=ends, options=options)
    far = float(np.sqrt(found.fun))
    return (far, found.x * unit) if far < value else (value, spot)


def nearest_skin(columns: Columns, borders: Columns, points: np.ndarray, reach: float = 1e-2) -> np.ndarray:
    """(N,) distance of points from the nearest of sheet, ends of the columns, and columns at the border; inf beyond `reach`."""
    point = thud.Sphere(1e-30)
    rows = np.concatenate([np.tile(np.eye(3).ravel(), (len(points), 1)), points], axis=1)
    best = nearest_ground(columns, point, rows, sheet_only=True, reach=reach)[0]
    bottom = Columns(columns.corners - columns.thickness * columns.directions, columns.directions, 0.0)
    best = np.minimum(best, nearest_ground(bottom, point, rows, sheet_only=True, reach=reach)[0])
    if len(borders.corners):
        best = np.minimum(best, nearest_ground(borders, point, rows, sheet_only=True, reach=reach)[0])
    return best


def border_columns(columns: Columns) -> Columns:
    """The columns over edges that only one patch has, as patches of their own: along the edge, and down."""
    seen: dict[bytes, list[tuple[int, int, int]]] = {}
    for i, j in ((0, 1), (1, 3), (3, 2), (2, 0)):
        for k, (c, d) in enumerate(zip(columns.corners, columns.directions)):
            ends = sorted([np.concatenate([c[i], d[i]]).round(9).tobytes(), np.concatenate([c[j], d[j]]).round(9).tobytes()])
            seen.setdefault(ends[0] + ends[1], []).append((k, i, j))
    out, flat = [], []
    for rows in seen.values():
        if len(rows) == 1:
            k, i, j = rows[0]
            c, d = columns.corners[k], columns.directions[k]
            out.append([c[i], c[j], c[i] - columns.thickness * d[i], c[j] - columns.thickness * d[j]])
            flat.append(d)
    return Columns(np.array(out).reshape(-1, 4, 3), np.array(flat).reshape(-1, 4, 3), 0.0)


def points_in_ground(columns: Columns, points: np.ndarray) -> np.ndarray:
    """(N,) distance of points from the ground: 0 inside."""
    rows = np.concatenate([np.tile(np.eye(3).ravel(), (len(points), 1)), points], axis=1)
    return np.maximum(nearest_ground(columns, thud.Sphere(1e-30), rows)[0], 0.0)


def skin_mesh(columns: Columns, split: int) -> thud.TriangleMesh:
    """Sheet, ends of the columns, and columns at the border, each patch split into split x split squares of two triangles."""
    border = border_columns(columns).corners
    every = np.concatenate([columns.corners, columns.corners - columns.thickness * columns.directions, border])
    u, v = np.meshgrid(*2 * [np.linspace(0, 1, split + 1)])
    points = mix(every[:, None, None], u[None], v[None])
    index = np.arange(points[..., 0].size).reshape(points.shape[:3])
    i, j, k, m = (x.ravel() for x in (index[:, :-1, :-1], index[:, :-1, 1:], index[:, 1:, :-1], index[:, 1:, 1:]))
    return thud.TriangleMesh(points.reshape(-1, 3), np.concatenate([np.stack([i, j, m], axis=1), np.stack([i, m, k], axis=1)]))
