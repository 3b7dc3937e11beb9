"""The optimisation problem of one quad's bounding lengths at one level ([Yang] 3.5.4).

Variables are the lengths x at the bounding points, every `step` nodes in both directions. The objective is the sum of
(x_i - l_i)^2 (3.19). Each four neighbouring bounding points span a cell; for each node j of it and for both triangles P0 P1 P2
of its upper pair there is a constraint

    Q_j = (P1 - P0) x (P2 - P0) . (P_j - P0) <= 0                                                         (3.20), (3.21)

which has the gradient (3.22) with respect to the three lengths of the triangle. P = p + r l.

Both planes are demanded of all nodes of the cell, not each plane of the nodes in its (s, t) half: a node lies in the convex
hull of the eight bounding points only if it lies below every facet, whichever half of the map it comes from. (Where all
directions are parallel the two are the same.) The diagonal is that of the facing rule at the current lengths. Where it
changes the four points lie in one plane, so Q_j has a kink there and no jump.

The lower problem is the upper one upside down: `facing` with the other sign.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device, exact_kernel
from thud.errors import InvalidInputError
from thud.geometry.exact_vec3 import add_scaled, cross, dot, load3, norm2, sub
from thud.terrain.bounding.triangles import patch_facing, patch_volume

Array = npt.NDArray[np.float64]

#: Which diagonal splits the upper pair of a cell.
BY_RULE, ALONG_00_11, ALONG_10_01 = -1, 0, 1


@exact_device
def triangle_corner(along, facing, triangle, i):
    """Corner i = 0, 1, 2 of triangle 0 or 1 of the upper pair: 0 = p00, 1 = p10, 2 = p01, 3 = p11; normal upward.

    `along`: whether the pair is split along 00-11.
    """
    if facing < 0.0 and i > 0:
        i = 3 - i
    if i == 0:
        return 0 if along or triangle == 0 else 1
    if i == 1:
        return 1 if triangle == 0 else 3
    if triangle == 0:
        return 3 if along else 2
    return 2


@exact_device
def node_point(p, r, t, s, length):
    """The forward projected point p + r l of a node (2.2)."""
    return add_scaled(load3(p[t], s, 0), load3(r[t], s, 0), length)


@exact_device
def corner_point(p, r, x, ct, cs, step, k):
    """The bounding point at corner k of the cell (ct, cs)."""
    t, s = ct + (k >> 1), cs + (k & 1)
    return node_point(p, r, t * step, s * step, x[t, s])


@exact_device
def splits_along_00_11(p, r, x, ct, cs, step, facing):
    """Whether the upper pair of the cell's bounding points at lengths x is split along 00-11 (3.4.2)."""
    p00 = corner_point(p, r, x, ct, cs, step, 0)
    p10 = corner_point(p, r, x, ct, cs, step, 1)
    p01 = corner_point(p, r, x, ct, cs, step, 2)
    p11 = corner_point(p, r, x, ct, cs, step, 3)
    return patch_volume(p00, p10, p01, p11) * facing >= 0.0


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1]")
def quad_facing(p, r):
    """+1 where the directions of a quad point to the side from which s and t turn counter-clockwise, else -1."""
    total = 0.0
    for t in range(p.shape[0] - 1):
        for s in range(p.shape[1] - 1):
            total += patch_facing(
                load3(p[t], s, 0), load3(p[t], s + 1, 0), load3(p[t + 1], s, 0), load3(p[t + 1], s + 1, 0),
                load3(r[t], s, 0), load3(r[t], s + 1, 0), load3(r[t + 1], s, 0), load3(r[t + 1], s + 1, 0),
            )  # fmt: skip
    return -1.0 if total < 0.0 else 1.0


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], i8")
def quad_reach(p, r, l, step):
    """The length to which tolerances of a quad's level are relative: its range of lengths, and the diagonal of its largest
    cell in units of its longest direction. 1 where both are 0."""
    lowest, highest, longest, widest = np.inf, -np.inf, 0.0, 0.0
    side = p.shape[0] - 1
    for t in range(side + 1):
        for s in range(side + 1):
            lowest, highest = min(lowest, l[t, s]), max(highest, l[t, s])
            longest = max(longest, norm2(load3(r[t], s, 0)))
    for t in range(0, side, step):
        for s in range(0, side, step):
            one = sub(load3(p[t + step], s + step, 0), load3(p[t], s, 0))
            two = sub(load3(p[t + step], s, 0), load3(p[t], s + step, 0))
            widest = max(widest, norm2(one), norm2(two))
    reach = highest - lowest
    if longest > 0.0:
        reach += np.sqrt(widest / longest)
    return reach if reach > 0.0 else 1.0


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,:,::1]")
def project_nodes(p, r, l, points_out):
    """All samples p + r l of a quad."""
    for t in range(l.shape[0]):
        for s in range(l.shape[1]):
            points_out[t, s, 0], points_out[t, s, 1], points_out[t, s, 2] = node_point(p, r, t, s, l[t, s])


_ROWS = "f8[::1], f8[::1], f8[:,::1], i4[:,::1], i8[::1]"


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8, i8, i1[:,::1], f8, " + _ROWS)
def constraint_rows(p, r, points, x, facing, step, diagonal, least, multiplier, q_out, gradient_out, column_out, chosen_out):
    """Constraints of a quad at lengths x: Q_j (3.21) of all; of those above `least` (0: violated) or with a multiplier also the
    gradient (3.22) and the variables it belongs to. Returns how many those are; chosen_out: which.

    Rows run over cells (t, then s), the two triangles, and the nodes of the cell (t, then s). `points`: the quad's samples.
    `diagonal` of a cell: BY_RULE, or ALONG_00_11 or ALONG_10_01 whatever the rule says.
    """
    cells = x.shape[0] - 1
    row, count = 0, 0
    for ct in range(cells):
        for cs in range(cells):
            along = diagonal[ct, cs] == ALONG_00_11
            if diagonal[ct, cs] == BY_RULE:
                along = splits_along_00_11(p, r, x, ct, cs, step, facing)
            for triangle in range(2):
                k0 = triangle_corner(along, facing, triangle, 0)
                k1 = triangle_corner(along, facing, triangle, 1)
                k2 = triangle_corner(along, facing, triangle, 2)
                t0, s0, t1, s1, t2, s2 = (
                    ct + (k0 >> 1),
                    cs + (k0 & 1),
                    ct + (k1 >> 1),
                    cs + (k1 & 1),
                    ct + (k2 >> 1),
                    cs + (k2 & 1),
                )
                p0 = node_point(p, r, t0 * step, s0 * step, x[t0, s0])
                r0 = load3(r[t0 * step], s0 * step, 0)
                r1 = load3(r[t1 * step], s1 * step, 0)
                r2 = load3(r[t2 * step], s2 * step, 0)
                e1 = sub(node_point(p, r, t1 * step, s1 * step, x[t1, s1]), p0)
                e2 = sub(node_point(p, r, t2 * step, s2 * step, x[t2, s2]), p0)
                # Q is affine in each of the four points: what multiplies P_j - P0 is the same for all nodes. (3.22)
                normal = cross(e1, e2)
                g1, g2 = cross(r1, e2), cross(e1, r2)
                g0 = add_scaled(cross(e2, r0), cross(r0, e1), 1.0)
                own = -dot(normal, r0)
                for t in range(ct * step, (ct + 1) * step + 1):
                    for s in range(cs * step, (cs + 1) * step + 1):
                        v = sub(load3(points[t], s, 0), p0)
                        q = dot(normal, v)
                        q_out[row] = q
                        if q > least or multiplier[row] > 0.0:
                            gradient_out[row, 0] = dot(g0, v) + own
                            gradient_out[row, 1] = dot(g1, v)
                            gradient_out[row, 2] = dot(g2, v)
                            column_out[row, 0] = t0 * (cells + 1) + s0
                            column_out[row, 1] = t1 * (cells + 1) + s1
                            column_out[row, 2] = t2 * (cells + 1) + s2
                            chosen_out[count] = row
                            count += 1
                        row += 1
    return count


@exact_kernel("f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8, i8, f8[::1], f8[:,::1], i4[:,::1]")
def _constraints(p, r, l, x, facing, step, q_out, gradient_out, column_out):
    """`constraint_rows` by the facing rule, for callers in Python."""
    diagonal = np.full((x.shape[0] - 1, x.shape[1] - 1), BY_RULE, np.int8)
    points, chosen = np.empty(p.shape), np.empty(q_out.shape[0], np.int64)
    project_nodes(p, r, l, points)
    constraint_rows(p, r, points, x, facing, step, diagonal, -np.inf, q_out, q_out, gradient_out, column_out, chosen)


@exact_kernel("f8[:,:,::1], f8[:,:,::1]")
def _facing(p, r):
    """`quad_facing` for callers in Python."""
    return quad_facing(p, r)


class BoundingProblem:
    """Objective and constraints of one quad at one level, upper or lower.

    Parameters
    ----------
    p, r : (m, m, 3) base positions (m) and directions of the nodes, indexed [t, s]
    l : (m, m) lengths in units of the directions
    step : nodes from one bounding point to the next; divides m - 1
    upper : whether the lengths bound from above
    """

    def __init__(self, p: npt.ArrayLike, r: npt.ArrayLike, l: npt.ArrayLike, step: int, *, upper: bool = True) -> None:
        self.p, self.r, self.l = (np.array(value, dtype=np.float64, order="C") for value in (p, r, l))
        nodes = self.l.shape[0]
        if self.l.shape != (nodes, nodes) or self.p.shape != (nodes, nodes, 3) or self.r.shape != (nodes, nodes, 3):
            raise InvalidInputError(
                f"p, r, l: expected (m, m, 3), (m, m, 3), (m, m), got {self.p.shape}, {self.r.shape}, {self.l.shape}"
            )
        if step < 1 or nodes < 2 or (nodes - 1) % step:
            raise InvalidInputError(f"step: expected a divisor of {nodes - 1}, got {step}")
        self.step = step
        self.upper = upper
        self.facing = _facing(self.p, self.r) * (1.0 if upper else -1.0)
        cells = (nodes - 1) // step
        #: Exact lengths at the bounding points, (cells + 1, cells + 1).
        self.start = np.ascontiguousarray(self.l[::step, ::step])
        self.count = 2 * cells * cells * (step + 1) ** 2
        self._rows = np.empty(self.count), np.empty((self.count, 3)), np.empty((self.count, 3), np.int32)

    def objective(self, x: Array) -> float:
        """Sum of (x_i - l_i)^2 (3.19)."""
        return float(((np.reshape(x, self.start.shape) - self.start) ** 2).sum())

    def constraints(self, x: Array) -> tuple[Array, Array, npt.NDArray[np.int32]]:
        """Q (R,), its three derivatives (R, 3) and the variables they belong to (R, 3); the next call overwrites them."""
        _constraints(self.p, self.r, self.l, np.array(x, float).reshape(self.start.shape), self.facing, self.step, *self._rows)
        return self._rows

    def jacobian(self, x: Array) -> Array:
        """(R, N) derivatives of all constraints with respect to all variables."""
        _, gradient, column = self.constraints(x)
        dense = np.zeros((self.count, self.start.size))
        np.put_along_axis(dense, column.astype(np.int64), gradient, 1)
        return dense
