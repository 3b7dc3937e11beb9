"""Bounding lengths of many quads at once: successive linearisation with Hildreth's dual coordinate ascent.

Each round linearises the constraints of `bounding_problem` at the current lengths, a x <= c with three non-zeros a row, and
finds the lengths nearest to the exact ones under them. Its dual has one multiplier a row, at least 0, with x = l - a^T
multipliers; Hildreth's method maximises over one of them at a time (C. Hildreth, A quadratic programming procedure, 1957).
Then lengths are raised until every constraint holds with the float32 that is stored (3.5.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._jit import exact_device, exact_kernel
from thud._threads import run_rows
from thud.constants import (
    BOUND_CHANGE,
    BOUND_RAISES,
    BOUND_ROUNDS,
    BOUND_SETTLED,
    BOUND_SWEEPS,
    BOUND_THINNEST,
    FLOAT32_STEP,
    FLOAT32_TINY,
)
from thud.errors import InvalidInputError
from thud.geometry.exact_vec3 import cross, dot, sub
from thud.terrain.bounding_problem import (
    constraint_rows,
    corner_point,
    node_point,
    quad_facing,
    quad_reach,
    splits_along_00_11,
    triangle_corner,
)

#: Status of a quad's upper or lower lengths.
CONVERGED, UNCONVERGED, INFEASIBLE = 0, 1, 2

#: Sweeps over the rows that bind before all rows are looked at again.
_SWEEPS_BETWEEN = 16


@exact_device
def outward32(x, sign):
    """A float32 at or beyond x in the direction of `sign`."""
    y = np.float32(x)
    if (np.float64(y) - x) * sign < 0.0:
        y = np.float32(x + sign * (abs(x) * FLOAT32_STEP + FLOAT32_TINY))
    return y


@exact_device
def _ascend(row, a, column, bound, multiplier, x):
    """The best multiplier of one row, all others kept (Hildreth); returns how far x moved."""
    i, j, k = column[row, 0], column[row, 1], column[row, 2]
    step = a[row, 0] * x[i] + a[row, 1] * x[j] + a[row, 2] * x[k] - bound[row]
    step = max(step, -multiplier[row])
    multiplier[row] += step
    x[i] -= step * a[row, 0]
    x[j] -= step * a[row, 1]
    x[k] -= step * a[row, 2]
    return abs(step)


@exact_kernel(inner="i8, f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8[::1], i8[::1], f8")
def hildreth(rows, a, column, bound, multiplier, x, active, change):
    """Lengths x nearest to those given by multipliers 0, under a x <= bound with rows of length 1 (or 0: not used).

    `multiplier` and x agree at the start (x = l - a^T multiplier). Ends when a sweep over all rows moves x by less than
    `change`; returns whether it did.
    """
    sweeps = 0
    while sweeps < BOUND_SWEEPS:
        moved = 0.0
        count = 0
        for row in range(rows):
            moved = max(moved, _ascend(row, a, column, bound, multiplier, x))
            if multiplier[row] > 0.0:
                active[count] = row
                count += 1
        if moved < change:
            return True
        sweeps += 1
        # Few rows bind: settle those first.
        for _ in range(_SWEEPS_BETWEEN):
            moved = 0.0
            for i in range(count):
                moved = max(moved, _ascend(active[i], a, column, bound, multiplier, x))
            sweeps += 1
            if moved < change:
                break
    return False


@exact_kernel(inner="i8, f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1]")
def linearise(rows, q, a, column, x, bound):
    """Turn Q + g (x' - x) <= 0 into a x' <= bound with rows a = g / |g|; a row without gradient binds nothing."""
    for row in range(rows):
        size = np.sqrt(a[row, 0] * a[row, 0] + a[row, 1] * a[row, 1] + a[row, 2] * a[row, 2])
        if size == 0.0:
            bound[row] = np.inf
            continue
        a[row, 0] /= size
        a[row, 1] /= size
        a[row, 2] /= size
        i, j, k = column[row, 0], column[row, 1], column[row, 2]
        bound[row] = a[row, 0] * x[i] + a[row, 1] * x[j] + a[row, 2] * x[k] - q[row] / size


@exact_kernel(inner="i8, f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8[::1]")
def from_multipliers(rows, a, column, multiplier, exact, x):
    """x = l - a^T multiplier."""
    for i in range(len(x)):
        x[i] = exact[i]
    for row in range(rows):
        if multiplier[row] > 0.0:
            x[column[row, 0]] -= multiplier[row] * a[row, 0]
            x[column[row, 1]] -= multiplier[row] * a[row, 1]
            x[column[row, 2]] -= multiplier[row] * a[row, 2]


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], i8, i8, f8, i8")
def cell_holds(p, r, l, x, ct, cs, facing, step):
    """Whether all nodes of a cell lie below both planes of its upper pair, computed in float64."""
    along = splits_along_00_11(p, r, x, ct, cs, step, facing)
    for triangle in range(2):
        p0 = corner_point(p, r, x, ct, cs, step, triangle_corner(along, facing, triangle, 0))
        p1 = corner_point(p, r, x, ct, cs, step, triangle_corner(along, facing, triangle, 1))
        p2 = corner_point(p, r, x, ct, cs, step, triangle_corner(along, facing, triangle, 2))
        normal = cross(sub(p1, p0), sub(p2, p0))
        for t in range(ct * step, (ct + 1) * step + 1):
            for s in range(cs * step, (cs + 1) * step + 1):
                if dot(normal, sub(node_point(p, r, t, s, l[t, s]), p0)) > 0.0:
                    return False
    return True


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], b1[:,::1], f8, f8, i8, f8")
def raise_until_feasible(p, r, l, x, raised, facing, sign, step, reach):
    """Move lengths outward to float32, and those of cells that do not hold their nodes further; returns whether all do.

    `sign`: +1 for upper lengths, -1 for lower. `raised` is work space.
    """
    points = x.shape[0]
    for t in range(points):
        for s in range(points):
            x[t, s] = outward32(x[t, s] + sign * BOUND_THINNEST * reach, sign)
    amount = BOUND_THINNEST * reach
    for _ in range(BOUND_RAISES):
        raised[:, :] = False
        holds = True
        for ct in range(points - 1):
            for cs in range(points - 1):
                if not cell_holds(p, r, l, x, ct, cs, facing, step):
                    holds = False
                    raised[ct, cs] = raised[ct, cs + 1] = raised[ct + 1, cs] = raised[ct + 1, cs + 1] = True
        if holds:
            return True
        for t in range(points):
            for s in range(points):
                if raised[t, s]:
                    x[t, s] = outward32(x[t, s] + sign * amount, sign)
        amount *= 2.0
    return False


_ROUNDS = "f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[::1], f8, i8, f8, f8[::1], f8[:,::1], i4[:,::1], "


@exact_kernel(inner=_ROUNDS + "f8[::1], f8[::1], i8[::1], f8[::1]")
def successive_rounds(p, r, l, exact, x, flat, facing, step, reach, q, a, column, bound, multiplier, active, before):
    """Improve the lengths x round by round; returns (rounds, whether the last one changed nothing).

    `flat` is x as one row, the others are work space.
    """
    rows = len(q)
    for row in range(rows):
        multiplier[row] = 0.0
    for done in range(BOUND_ROUNDS):
        constraint_rows(p, r, l, x, facing, step, q, a, column)
        linearise(rows, q, a, column, flat, bound)
        for i in range(len(flat)):
            before[i] = flat[i]
        from_multipliers(rows, a, column, multiplier, exact, flat)
        hildreth(rows, a, column, bound, multiplier, flat, active, BOUND_CHANGE * reach)
        moved = 0.0
        for i in range(len(flat)):
            moved = max(moved, abs(flat[i] - before[i]))
        if moved < BOUND_SETTLED * reach:
            return done + 1, True
    return BOUND_ROUNDS, False


@exact_kernel("i8, i8, f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], i8, f4[:,:,::1], f4[:,:,::1], u1[:,::1], i8[:,::1]")
def solve_rows(start, stop, p_in, r_in, l_in, step, upper_out, lower_out, status_out, rounds_out):
    """Bounding lengths of quads [start, stop) of one size at one level."""
    points = upper_out.shape[1]
    rows = 2 * (points - 1) * (points - 1) * (step + 1) * (step + 1)
    q, bound, multiplier = np.empty(rows), np.empty(rows), np.empty(rows)
    a, column, active = np.empty((rows, 3)), np.empty((rows, 3), np.int32), np.empty(rows, np.int64)
    exact, x, before = np.empty((points, points)), np.empty((points, points)), np.empty(points * points)
    exact_flat, x_flat = exact.reshape(-1), x.reshape(-1)
    raised = np.empty((points, points), np.bool_)
    for quad in range(start, stop):
        p, r, l = p_in[quad], r_in[quad], l_in[quad]
        facing, reach = quad_facing(p, r), quad_reach(p, r, l, step)
        for t in range(points):
            for s in range(points):
                exact[t, s] = l[t * step, s * step]
        span = np.max(l) - np.min(l)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            out = upper_out[quad] if side == 0 else lower_out[quad]
            least, status_out[quad, side], rounds_out[quad, side] = np.inf, INFEASIBLE, 0
            # With skewed directions there is more than one local optimum: start from the exact lengths and from outside of all,
            # and from further outside while none was found.
            for attempt in range(4):
                if attempt > 1 and least < np.inf:
                    break
                x[:, :] = exact + sign * span * (attempt * attempt)
                done, settled = successive_rounds(
                    p, r, l, exact_flat, x, x_flat, facing * sign, step, reach, q, a, column, bound, multiplier, active, before
                )
                rounds_out[quad, side] += done
                feasible = raise_until_feasible(p, r, l, x, raised, facing * sign, sign, step, reach)
                objective = np.sum((x - exact) ** 2)
                if (feasible and objective < least) or (attempt == 0):
                    out[:, :] = x
                    status_out[quad, side] = (CONVERGED if settled else UNCONVERGED) if feasible else INFEASIBLE
                    least = objective if feasible else np.inf


@dataclass(frozen=True)
class BoundingLengths:
    """Bounding lengths of B quads at one level."""

    upper: npt.NDArray[np.float32]
    """(B, n + 1, n + 1) lengths at the bounding points, indexed [t, s], in units of the directions."""
    lower: npt.NDArray[np.float32]
    """(B, n + 1, n + 1) likewise."""
    status: npt.NDArray[np.uint8]
    """(B, 2) upper and lower: CONVERGED, UNCONVERGED (all constraints hold, the lengths may not be the best) or INFEASIBLE."""
    rounds: npt.NDArray[np.int64]
    """(B, 2) linearisations made."""


def quad_arrays(p: npt.ArrayLike, r: npt.ArrayLike, l: npt.ArrayLike, step: int) -> tuple[npt.NDArray[np.float64], ...]:
    """The samples of equal-sized quads as kernels take them: (B, m, m, 3), (B, m, m, 3), (B, m, m)."""
    arrays = tuple(np.array(value, dtype=np.float64, order="C") for value in (p, r, l))
    count, nodes = arrays[2].shape[0], arrays[2].shape[-1]
    if arrays[2].shape != (count, nodes, nodes) or any(a.shape != (count, nodes, nodes, 3) for a in arrays[:2]):
        raise InvalidInputError(f"p, r, l: expected (B, m, m, 3), (B, m, m, 3), (B, m, m), got {[a.shape for a in arrays]}")
    for array, name in zip(arrays, ("p", "r", "l")):
        finite = np.isfinite(array).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise InvalidInputError(f"{name}: quad {int(np.argmin(finite))} has a value that is not finite")
    if step < 1 or nodes < 2 or (nodes - 1) % step:
        raise InvalidInputError(f"step: expected a divisor of {nodes - 1}, got {step}")
    return arrays


def bounding_lengths(
    p: npt.ArrayLike,
    r: npt.ArrayLike,
    l: npt.ArrayLike,
    step: int,
    *,
    threads: int | None = None,
) -> BoundingLengths:
    """Upper and lower bounding lengths of equal-sized quads with a bounding point every `step` nodes.

    Parameters
    ----------
    p, r : (B, m, m, 3) base positions (m) and directions of the nodes, indexed [t, s]
    l : (B, m, m) lengths in units of the directions
    step : nodes from one bounding point to the next; divides m - 1
    threads : most threads, None for all cores

    Returns
    -------
    BoundingLengths: the least sum of squared distances to the exact lengths such that each node of a cell lies below both
    planes of the cell's upper pair of triangles and above both of its lower pair.
    """
    samples = quad_arrays(p, r, l, step)
    count, points = len(samples[2]), (samples[2].shape[-1] - 1) // step + 1
    upper, lower = np.empty((count, points, points), np.float32), np.empty((count, points, points), np.float32)
    status, rounds = np.empty((count, 2), np.uint8), np.empty((count, 2), np.int64)
    run_rows(solve_rows, count, threads, *samples, step, upper, lower, status, rounds, rows_per_chunk=1)
    return BoundingLengths(upper, lower, status, rounds)
