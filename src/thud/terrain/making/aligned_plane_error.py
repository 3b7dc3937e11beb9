"""How far the aligned plane (2.4.1) misses, and directions that make it miss less ([Yang] 5.2).

Let m be the unit normal of a triangle, w the weights of its vertices at the true base point, N_i their directions and
a_i = N_i . m. The aligned plane at height h holds the vertices P_i + h N_i / a_i. The query point is
sum w_i P_i + h n / (n . m) with n = sum w_i N_i. Read with the weights w on the aligned plane it is missed by

    e(w) = h [ n / (n . m) - sum w_i N_i / a_i ],

which is zero if all a_i are equal, or if all N_i are parallel. So directions of equal heights above each primitive's plane,
rather than of equal lengths, are what the method needs; neighbours want different ones, hence one problem over the whole mesh.

That miss is measured on the aligned plane; the base point is missed by it through the inverse of the map between the two
triangles, I + h (d_1, d_2) (e_1, e_2)^-1 with edges e_i and d_i = N_i / a_i - N_0 / a_0. Over hollow ground directions meet,
and at some height the aligned triangle has no area left: there (u, v) are undefined, beyond it the triangle is turned over.
Equal a_i do not hinder that. So its area counts too, down to the lowest and up to the highest sample of each triangle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.constants import TINY
from thud.terrain.making.directions import primitive_normals, unit
from thud.terrain.making.tolerances import FACING_LEAST, WEIGHT_EDGE
from thud.terrain.surface import DisplacedSurface

# Where in a triangle the error counts: middle, towards the corners, middles of edges. At the vertices it is zero.
_PLACES = np.array(
    [
        [1 / 3, 1 / 3, 1 / 3],
        [2 / 3, 1 / 6, 1 / 6],
        [1 / 6, 2 / 3, 1 / 6],
        [1 / 6, 1 / 6, 2 / 3],
        [1 / 2, 1 / 2, 0],
        [0, 1 / 2, 1 / 2],
        [1 / 2, 0, 1 / 2],
    ]
)
# A change of all directions by 0.1 of their length costs 1 % of the first error.
_NEAR = 1.0
# A miss of this part of the height is good enough: where the first error is less, the rest counts beside this one.
_MISS = 0.01
# Part of its area that an aligned triangle should keep up to the samples: at half of it, a miss on the plane may double.
_AREA = 0.5
# Heights for that, of the samples' own: turned directions meet the surface elsewhere.
_BEYOND = 1.25
# Cosines that directions should keep, where they have them: twice what they must, so that none has to go back in the end.
_FACING = 2.0 * FACING_LEAST
# What areas and cosines that fall short cost, squared, beside changes of directions: areas short by 0.3, cosines by 0.01, as
# much as a change of all directions by their length. Areas that start far below zero count linearly, lest the first steps be
# wild.
_COST_AREA, _COST_FACING = 10.0, 1e4
_ITERATIONS = 200


@dataclass(frozen=True)
class AlignedPlaneErrors:
    """Of every sample of a surface of triangles, in each triangle that holds it."""

    uv: Floats
    """(N,) distance of the (u, v) found from the true ones."""
    distance: Floats
    """(N,) distance of the two base points, metres; inf where the aligned triangle has no area."""
    area: Floats
    """(N,) of the aligned triangle at the sample, as a part of the primitive's; negative where it is turned over."""


@dataclass(frozen=True)
class Optimised:
    """Directions that lessen the error of the aligned plane."""

    directions: Floats
    """(V, 3)"""
    before: float
    """Sum of squared errors, each as a part of its triangle's size, as given."""
    after: float
    """The same for the new directions."""
    iterations: int


def optimised_directions(positions: Floats, directions: Floats, triangles: Ints, heights: Floats, cell: float) -> Optimised:
    """Directions of vertices that minimise the sum of |e|^2 / area over triangles and places, near the given ones, such that
    they face their triangles and aligned triangles keep their area.

    Parameters
    ----------
    positions, directions : (V, 3)
    triangles : (P, 3) vertex rows
    heights : (P, 3) root mean square, lowest and highest height of the surface over the triangle, metres
    cell : metres; heights count as at least a twentieth of it
    """
    from scipy.optimize import minimize

    normal = primitive_normals(positions, triangles)
    area = 0.5 * np.linalg.norm(normal, axis=1)
    normal = unit(normal)
    weight = np.maximum(heights[:, 0], 0.05 * cell) ** 2 / area / len(_PLACES)
    corners = positions[triangles]
    reach = _BEYOND * heights[:, 1:]
    least = np.minimum(np.einsum("ijk,ik->ij", unit(directions)[triangles], normal), _FACING)
    count = len(positions)
    first, _ = _objective(directions, triangles, normal, weight)
    scale = max(first, _MISS**2 * float(weight.sum()))

    def function(x: Floats) -> tuple[float, Floats]:
        new = x.reshape(-1, 3)
        value, slope = _objective(new, triangles, normal, weight)
        short, steep = _shortfall(new, triangles, normal, corners, reach, least)
        change = new - directions
        total = value / scale + (_NEAR * (change**2).sum() + short) / count
        return total, (slope / scale + (2.0 * _NEAR * change + steep) / count).reshape(-1)

    given, _ = function(directions.reshape(-1))
    if given <= 0.0:
        return Optimised(directions, first, first, 0)
    start = _opened(directions, triangles, normal, corners, reach)
    found = minimize(function, start.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS, "maxcor": 20})
    best = found.x.reshape(-1, 3)
    # A vertex whose direction no longer faces all its triangles goes back halfway, if need be several times.
    for _ in range(30):
        cosine = np.einsum("ijk,ik->ij", unit(best)[triangles], normal)
        wrong = np.unique(triangles[cosine < FACING_LEAST])
        if len(wrong) == 0:
            break
        best[wrong] = 0.5 * (best[wrong] + directions[wrong])
    else:
        best[wrong] = directions[wrong]
    # Going back must not have cost more than there was to gain.
    if function(best.reshape(-1))[0] > given:
        return Optimised(directions, first, first, int(found.nit))
    after, _ = _objective(best, triangles, normal, weight)
    return Optimised(best, first, after, int(found.nit))


def _opened(directions: Floats, triangles: Ints, normal: Floats, corners: Floats, reach: Floats) -> Floats:
    """Directions to start from: those at triangles without area somewhere within reach are upright instead.

    Where all three corners meet, area has no slope to go by; beyond that, less of it is the way back.
    """
    least = np.min(_least_areas(directions, triangles, normal, corners, reach)[1], axis=0)
    closed = np.unique(triangles[least <= 0.0])
    upright = unit(_at_vertices(np.repeat(normal[:, None, :], 3, axis=1), triangles, len(directions)))
    start = directions.copy()
    start[closed] = np.linalg.norm(directions[closed], axis=1)[:, None] * upright[closed]
    return start


def _reciprocal(a: Floats) -> tuple[Floats, Floats]:
    """1 / a and its derivative. Below what directions must keep, which is passed only on the way, along the tangent there: so
    that the value still falls towards larger a."""
    least = 0.5 * FACING_LEAST
    safe = np.maximum(a, least)
    return 1.0 / safe + np.minimum(a - least, 0.0) * (-1.0 / least**2), -1.0 / safe**2


def _objective(directions: Floats, triangles: Ints, normal: Floats, weight: Floats) -> tuple[float, Floats]:
    """Weighted sum of |e / h|^2 and its gradient by the directions (V, 3)."""
    N = directions[triangles]
    a = np.einsum("ijk,ik->ij", N, normal)
    over, change = _reciprocal(a)
    slope = np.zeros_like(N)
    value = 0.0
    for w in _PLACES:
        n = np.einsum("j,ijk->ik", w, N)
        over_all, change_all = _reciprocal(a @ w)
        e = n * over_all[:, None] - np.einsum("ij,ijk->ik", w * over, N)
        value += float(weight @ np.einsum("ik,ik->i", e, e))
        g = 2.0 * weight[:, None] * e
        # Transposed Jacobians of n / (n . m) and of N_i / a_i.
        common = g * over_all[:, None] + normal * (np.einsum("ik,ik->i", n, g) * change_all)[:, None]
        own = g[:, None, :] * over[:, :, None] + normal[:, None, :] * (np.einsum("ijk,ik->ij", N, g) * change)[:, :, None]
        slope += w[None, :, None] * (common[:, None, :] - own)
    return value, _at_vertices(slope, triangles, len(directions))


def _shortfall(
    directions: Floats, triangles: Ints, normal: Floats, corners: Floats, reach: Floats, least: Floats
) -> tuple[float, Floats]:
    """What aligned triangles of less than `_AREA` and cosines below `least` (P, 3) cost, and its gradient (V, 3).

    `corners`: (P, 3, 3); `reach`: (P, 2) lowest and highest height. Of all heights from 0 to either, that of least area counts.
    """
    N = directions[triangles]
    a = np.einsum("ijk,ik->ij", N, normal)
    over, change = _reciprocal(a)
    e1, e2, d1, d2 = _edges(N, over, corners)
    whole = np.einsum("ik,ik->i", np.cross(e1, e2), normal)
    value = 0.0
    g = np.zeros_like(N)
    for h, area in zip(*_least_areas(directions, triangles, normal, corners, reach)):
        short = np.maximum(_AREA - area, 0.0)
        # short^2, linear from about _AREA on.
        root = np.sqrt(1.0 + (short / _AREA) ** 2)
        value += 2.0 * _AREA**2 * _COST_AREA * float((root - 1.0).sum())
        pull = (-2.0 * _COST_AREA * short / root * h / whole)[:, None]
        g1 = pull * np.cross(e2 + h[:, None] * d2, normal)
        g2 = pull * np.cross(normal, e1 + h[:, None] * d1)
        g += np.stack([-g1 - g2, g1, g2], axis=1)
    slope = g * over[:, :, None] + normal[:, None, :] * (np.einsum("ijk,ijk->ij", N, g) * change)[:, :, None]
    # A cosine is short where a < least |N|.
    length = np.linalg.norm(N, axis=2)
    short = np.maximum(least * length - a, 0.0)
    value += _COST_FACING * float((short**2).sum())
    outward = (least / np.maximum(length, TINY))[:, :, None] * N - normal[:, None, :]
    slope += 2.0 * _COST_FACING * short[:, :, None] * outward
    return value, _at_vertices(slope, triangles, len(directions))


def _edges(N: Floats, over: Floats, corners: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """Edges e_1, e_2 of triangles and their change with height d_1, d_2."""
    N_over = N * over[:, :, None]
    e1, e2 = corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]
    return e1, e2, N_over[:, 1] - N_over[:, 0], N_over[:, 2] - N_over[:, 0]


def _least_areas(directions: Floats, triangles: Ints, normal: Floats, corners: Floats, reach: Floats) -> tuple[Floats, Floats]:
    """(2, P) heights from 0 to either end of `reach` (P, 2) where aligned triangles have least area, and (2, P) that area, of
    the triangle's."""
    N = directions[triangles]
    over, _ = _reciprocal(np.einsum("ijk,ik->ij", N, normal))
    e1, e2, d1, d2 = _edges(N, over, corners)
    whole = np.einsum("ik,ik->i", np.cross(e1, e2), normal)
    # Area at height h: 1 + linear h + square h^2.
    linear = np.einsum("ik,ik->i", np.cross(e1, d2) + np.cross(d1, e2), normal) / whole
    square = np.einsum("ik,ik->i", np.cross(d1, d2), normal) / whole
    # Where it is least, if it has a least value; else at the end, or at 0, where it is whole.
    lowest = -0.5 * linear / np.where(square > 0.0, square, 1.0)
    end = reach.T
    h = np.where(square > 0.0, np.clip(lowest, np.minimum(end, 0.0), np.maximum(end, 0.0)), end)
    return h, 1.0 + h * (linear + h * square)


def _at_vertices(slope: Floats, triangles: Ints, count: int) -> Floats:
    """(V, 3) sums over the triangles at each vertex of what they hold a corner (P, 3, 3)."""
    vertex = triangles.reshape(-1)
    columns = [np.bincount(vertex, weights=slope[:, :, k].reshape(-1), minlength=count) for k in range(3)]
    return np.stack(columns, axis=1)


def aligned_plane_errors(surface: DisplacedSurface) -> AlignedPlaneErrors:
    """Error of the aligned-plane backward projection of every sample. Quadrilaterals are passed over."""
    uv, distance, area = [np.zeros(0)], [np.zeros(0)], [np.zeros(0)]
    for _, points, positions, directions, true, held in _samples_of_triangles(surface):
        found, part = aligned_plane_weights(points, positions, directions)
        change = found - true
        with np.errstate(invalid="ignore"):
            moved = np.linalg.norm(np.einsum("ijk,ikl->ijl", change, positions), axis=2)
        lost = ~np.isfinite(change).all(axis=2)
        uv.append(np.where(lost, np.inf, np.hypot(change[..., 1], change[..., 2]))[held])
        distance.append(np.where(lost, np.inf, moved)[held])
        area.append(part[held])
    return AlignedPlaneErrors(np.concatenate(uv), np.concatenate(distance), np.concatenate(area))


def sample_heights(surface: DisplacedSurface) -> Floats:
    """(P, 3) root mean square, lowest and highest height of the samples over their triangle, metres; 0 for quadrilaterals."""
    out = np.zeros((len(np.asarray(surface.primitives)), 3))
    for rows, points, positions, _, _, held in _samples_of_triangles(surface):
        normal = unit(np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0]))
        height = np.einsum("ijk,ik->ij", points - positions[:, None, 0], normal)
        out[rows, 0] = np.sqrt(np.mean(height**2, axis=1, where=held))
        out[rows, 1] = np.min(height, axis=1, where=held, initial=np.inf)
        out[rows, 2] = np.max(height, axis=1, where=held, initial=-np.inf)
    return out


def _samples_of_triangles(
    surface: DisplacedSurface,
) -> Iterator[tuple[Ints, Floats, Floats, Floats, Floats, npt.NDArray[np.bool_]]]:
    """Blocks of triangles: their rows, the samples of their quads (B, n, 3), their positions and directions (B, 3, 3), the true
    weights of the samples (B, n, 3), and which of them each triangle holds (B, n)."""
    primitives, quads = np.asarray(surface.primitives, dtype=np.int64), np.asarray(surface.quads, dtype=np.int64)
    owner = np.asarray(surface._primitive_quads, dtype=np.int64)
    positions, directions = np.asarray(surface.positions), np.asarray(surface.directions)
    for side in np.unique(quads[:, 2]).tolist():
        chosen = np.flatnonzero((quads[owner, 2] == side) & (primitives[:, 3] < 0))
        m = side * surface.detail_ratio + 1
        step = max(1, 2**18 // (m * m))
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            corners = primitives[rows, :3]
            points = surface.quad_samples(owner[rows]).point.reshape(len(rows), -1, 3)
            true, held = _weights(surface, corners, quads[owner[rows]], m)
            yield rows, points, positions[corners], directions[corners], true, held


def aligned_plane_weights(points: Floats, positions: Floats, directions: Floats) -> tuple[Floats, Floats]:
    """(B, n, 3) weights that the aligned plane finds for points (B, n, 3) over triangles (B, 3, 3), not finite where the
    aligned triangle has no area; and (B, n) its area, of the triangle's."""
    normal = np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0])
    area = np.linalg.norm(normal, axis=1)
    normal = unit(normal)
    a = np.einsum("ijk,ik->ij", directions, normal)
    height = np.einsum("ijk,ik->ij", points - positions[:, None, 0], normal)
    lifted = positions[:, None] + height[:, :, None, None] * (directions / a[:, :, None])[:, None]
    p0, p1, p2 = lifted[:, :, 0], lifted[:, :, 1], lifted[:, :, 2]
    whole = np.einsum("ijk,ik->ij", np.cross(p1 - p0, p2 - p0), normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ijk,ik->ij", np.cross(points - p0, p2 - p0), normal) / whole
        v = np.einsum("ijk,ik->ij", np.cross(p1 - p0, points - p0), normal) / whole
        weights = np.stack([1.0 - u - v, u, v], axis=2)
    return weights, whole / area[:, None]


def _weights(surface: DisplacedSurface, triangles: Ints, quads: Ints, m: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """(B, m m, 3) true weights of the nodes of each triangle's quad, and which of them it holds."""
    place = np.asarray(surface.coordinates)[triangles].astype(float) - quads[:, None, :2]
    t, s = np.mgrid[:m, :m].reshape(2, -1) / surface.detail_ratio
    (s0, t0), (s1, t1), (s2, t2) = (place[:, k].T[:, :, None] for k in range(3))
    whole = (s1 - s0) * (t2 - t0) - (s2 - s0) * (t1 - t0)
    u = ((s - s0) * (t2 - t0) - (s2 - s0) * (t - t0)) / whole
    v = ((s1 - s0) * (t - t0) - (s - s0) * (t1 - t0)) / whole
    weights = np.stack([1.0 - u - v, u, v], axis=2)
    return weights, np.asarray((weights >= -WEIGHT_EDGE).all(axis=2))
