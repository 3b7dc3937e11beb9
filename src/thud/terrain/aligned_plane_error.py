"""How far the aligned plane (2.4.1) misses, and directions that make it miss less ([Yang] 5.2).

Let m be the unit normal of a triangle, w the weights of its vertices at the true base point, N_i their directions and
a_i = N_i . m. The aligned plane at height h holds the vertices P_i + h N_i / a_i. The query point is
sum w_i P_i + h n / (n . m) with n = sum w_i N_i. Read with the weights w on the aligned plane it is missed by

    e(w) = h [ n / (n . m) - sum w_i N_i / a_i ],

which is zero if all a_i are equal, or if all N_i are parallel. So directions of equal heights above each primitive's plane,
rather than of equal lengths, are what the method needs; neighbours want different ones, hence one problem over the whole mesh.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud.constants import FACING_LEAST
from thud.terrain.directions import primitive_normals, unit
from thud.terrain.surface import DisplacedSurface

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

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
_ITERATIONS = 200


@dataclass(frozen=True)
class AlignedPlaneErrors:
    """Of every sample of a surface of triangles, in each triangle that holds it."""

    uv: Floats
    """(N,) distance of the (u, v) found from the true ones."""
    distance: Floats
    """(N,) distance of the two base points, metres."""


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
    """Directions of vertices that minimise the sum of |e|^2 / area over triangles and places, near the given ones.

    Parameters
    ----------
    positions, directions : (V, 3)
    triangles : (P, 3) vertex rows
    heights : (P,) how far the surface is from the triangle, metres
    cell : metres; heights count as at least a twentieth of it
    """
    from scipy.optimize import minimize

    normal = primitive_normals(positions, triangles)
    area = 0.5 * np.linalg.norm(normal, axis=1)
    normal = unit(normal)
    weight = np.maximum(heights, 0.05 * cell) ** 2 / area / len(_PLACES)
    count = len(positions)
    first, _ = _objective(directions, triangles, normal, weight)
    if first <= 0.0:
        return Optimised(directions, first, first, 0)

    def function(x: Floats) -> tuple[float, Floats]:
        new = x.reshape(-1, 3)
        value, slope = _objective(new, triangles, normal, weight)
        change = new - directions
        return value / first + _NEAR * (change**2).sum() / count, (slope / first + 2.0 * _NEAR * change / count).reshape(-1)

    found = minimize(
        function, directions.reshape(-1), jac=True, method="L-BFGS-B", options={"maxiter": _ITERATIONS, "maxcor": 20}
    )
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
    after, _ = _objective(best, triangles, normal, weight)
    return Optimised(best, first, after, int(found.nit))


def _objective(directions: Floats, triangles: Ints, normal: Floats, weight: Floats) -> tuple[float, Floats]:
    """Weighted sum of |e / h|^2 and its gradient by the directions (V, 3)."""
    N = directions[triangles]
    # Not below what directions must keep: only on the way, never in the end.
    a = np.maximum(np.einsum("ijk,ik->ij", N, normal), 0.5 * FACING_LEAST)
    slope = np.zeros_like(N)
    value = 0.0
    for w in _PLACES:
        n = np.einsum("j,ijk->ik", w, N)
        A = a @ w
        e = n / A[:, None] - np.einsum("ij,ijk->ik", w / a, N)
        value += float(weight @ np.einsum("ik,ik->i", e, e))
        g = 2.0 * weight[:, None] * e
        # Transposed Jacobians of n / A and of N_i / a_i.
        common = g / A[:, None] - normal * (np.einsum("ik,ik->i", n, g) / A**2)[:, None]
        own = g[:, None, :] / a[:, :, None] - normal[:, None, :] * (np.einsum("ijk,ik->ij", N, g) / a**2)[:, :, None]
        slope += w[None, :, None] * (common[:, None, :] - own)
    out = np.empty_like(directions)
    vertex = triangles.reshape(-1)
    for k in range(3):
        out[:, k] = np.bincount(vertex, weights=slope[:, :, k].reshape(-1), minlength=len(directions))
    return value, out


def aligned_plane_errors(surface: DisplacedSurface) -> AlignedPlaneErrors:
    """Error of the aligned-plane backward projection of every sample. Quadrilaterals are passed over."""
    primitives, quads = np.asarray(surface.primitives, dtype=np.int64), np.asarray(surface.quads, dtype=np.int64)
    owner = np.asarray(surface._primitive_quads, dtype=np.int64)
    uv, distance = [np.zeros(0)], [np.zeros(0)]
    for side in np.unique(quads[:, 2]).tolist():
        chosen = np.flatnonzero((quads[owner, 2] == side) & (primitives[:, 3] < 0))
        m = side * surface.detail_ratio + 1
        step = max(1, 2**18 // (m * m))
        for start in range(0, len(chosen), step):
            rows = chosen[start : start + step]
            points = surface.quad_samples(owner[rows]).point.reshape(len(rows), -1, 3)
            true, held = _weights(surface, primitives[rows, :3], quads[owner[rows]], m)
            found = aligned_plane_weights(
                points,
                np.asarray(surface.positions)[primitives[rows, :3]],
                np.asarray(surface.directions)[primitives[rows, :3]],
            )
            change = found - true
            uv.append(np.hypot(change[..., 1], change[..., 2])[held])
            moved = np.einsum("ijk,ikl->ijl", change, np.asarray(surface.positions)[primitives[rows, :3]])
            distance.append(np.linalg.norm(moved, axis=2)[held])
    return AlignedPlaneErrors(np.concatenate(uv), np.concatenate(distance))


def aligned_plane_weights(points: Floats, positions: Floats, directions: Floats) -> Floats:
    """(B, n, 3) weights that the aligned plane finds for points (B, n, 3) over triangles (B, 3, 3)."""
    normal = unit(np.cross(positions[:, 1] - positions[:, 0], positions[:, 2] - positions[:, 0]))
    a = np.einsum("ijk,ik->ij", directions, normal)
    height = np.einsum("ijk,ik->ij", points - positions[:, None, 0], normal)
    lifted = positions[:, None] + height[:, :, None, None] * (directions / a[:, :, None])[:, None]
    p0, p1, p2 = lifted[:, :, 0], lifted[:, :, 1], lifted[:, :, 2]
    whole = np.einsum("ijk,ik->ij", np.cross(p1 - p0, p2 - p0), normal)
    with np.errstate(divide="ignore", invalid="ignore"):
        u = np.einsum("ijk,ik->ij", np.cross(points - p0, p2 - p0), normal) / whole
        v = np.einsum("ijk,ik->ij", np.cross(p1 - p0, points - p0), normal) / whole
    return np.stack([1.0 - u - v, u, v], axis=2)


def _weights(surface: DisplacedSurface, triangles: Ints, quads: Ints, m: int) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """(B, m m, 3) true weights of the nodes of each triangle's quad, and which of them it holds."""
    place = np.asarray(surface.coordinates)[triangles].astype(float) - quads[:, None, :2]
    t, s = np.mgrid[:m, :m].reshape(2, -1) / surface.detail_ratio
    (s0, t0), (s1, t1), (s2, t2) = (place[:, k].T[:, :, None] for k in range(3))
    whole = (s1 - s0) * (t2 - t0) - (s2 - s0) * (t1 - t0)
    u = ((s - s0) * (t2 - t0) - (s2 - s0) * (t - t0)) / whole
    v = ((s1 - s0) * (t - t0) - (s - s0) * (t1 - t0)) / whole
    weights = np.stack([1.0 - u - v, u, v], axis=2)
    return weights, np.asarray((weights >= -1e-12).all(axis=2))
