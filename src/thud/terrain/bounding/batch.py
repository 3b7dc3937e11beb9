"""Bounding lengths of many quads at once: successive linearisation with Hildreth's dual coordinate ascent.

Each round linearises the constraints of `problem.py` at the current lengths, a x <= c with three non-zeros a row, and
finds the lengths nearest to the exact ones under them. Its dual has one multiplier a row, at least 0, with x = l - a^T
multipliers; Hildreth's method maximises over one of them at a time (C. Hildreth, A quadratic programming procedure, 1957).
Then lengths are moved outward until every constraint holds with the float32 that is stored (3.5.6).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.constants import FLOAT32_STEP, FLOAT32_TINY
from thud.errors import InvalidInputError
from thud.terrain.bounding.problem import (
    ALONG_00_11,
    ALONG_10_01,
    BY_RULE,
    constraint_rows,
    quad_facing,
    quad_reach,
    splits_along_00_11,
)
from thud.terrain.bounding.tolerances import (
    BOUND_AGREE,
    BOUND_CHANGE,
    BOUND_FREEZE,
    BOUND_RAISES,
    BOUND_ROUNDS,
    BOUND_SETTLED,
    BOUND_SWEEPS,
    BOUND_THINNEST,
)

#: Status of a quad's upper or lower lengths.
CONVERGED, UNCONVERGED, INFEASIBLE = 0, 1, 2

#: Most searches for the lengths of a quad (see `_start_offset`).
ATTEMPTS = 5

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


@exact_kernel
def quad_span(l):
    """The range of the lengths of a quad."""
    lowest, highest = np.inf, -np.inf
    for t in range(l.shape[0]):
        for s in range(l.shape[1]):
            lowest, highest = min(lowest, l[t, s]), max(highest, l[t, s])
    return highest - lowest


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


@exact_kernel(inner="i8, f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8")
def push_back(rows, q, gradient, column, x, before, amount):
    """Move lengths along the gradients of the constraints they violate, to `amount` on the right side of each; returns whether
    none was violated. q and gradient are those at `before`."""
    holds = True
    for row in range(rows):
        i, j, k = column[row, 0], column[row, 1], column[row, 2]
        g0, g1, g2 = gradient[row, 0], gradient[row, 1], gradient[row, 2]
        if q[row] > 0.0:
            holds = False
        value = q[row] + g0 * (x[i] - before[i]) + g1 * (x[j] - before[j]) + g2 * (x[k] - before[k])
        size2 = g0 * g0 + g1 * g1 + g2 * g2
        if value > 0.0 and size2 > 0.0:
            move = value / size2 + amount / np.sqrt(size2)
            x[i] -= move * g0
            x[j] -= move * g1
            x[k] -= move * g2
    return holds


_LENGTHS = "f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8[::1], f8, f8, i8, f8, i1[:,::1], "


@exact_kernel(inner=_LENGTHS + "f8[::1], f8[:,::1], i4[:,::1], f8[::1]")
def make_feasible(p, r, l, x, flat, facing, sign, step, reach, diagonal, q, gradient, column, before):
    """Move lengths outward to float32 (3.5.6), then on until every constraint holds as computed in float64; returns
    whether all do.

    `sign`: +1 for upper lengths, -1 for lower. `flat` is x as one row; `diagonal` and the rest are work space.
    """
    amount = BOUND_THINNEST * reach
    for i in range(len(flat)):
        flat[i] = outward32(flat[i] + sign * amount, sign)
    diagonal[:, :] = BY_RULE
    for _ in range(BOUND_RAISES):
        constraint_rows(p, r, l, x, facing, step, diagonal, q, gradient, column)
        for i in range(len(flat)):
            before[i] = flat[i]
        if push_back(len(q), q, gradient, column, flat, before, amount):
            return True
        for i in range(len(flat)):
            flat[i] = np.float32(flat[i])
        amount *= 2.0
    return False


_QUAD = "f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[::1], f8, i8, f8, i1[:,::1], "
_WORK = "f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], i8[::1], f8[::1]"


@exact_kernel(inner=_QUAD + _WORK)
def successive_rounds(p, r, l, exact, x, flat, facing, step, reach, diagonal, q, a, column, bound, multiplier, active, before):
    """Improve the lengths x round by round; returns (rounds, whether the last one changed nothing).

    `flat` is x as one row; `diagonal` those of the first round, by the facing rule afterwards. The others are work space.
    """
    rows = len(q)
    for row in range(rows):
        multiplier[row] = 0.0
    for done in range(BOUND_ROUNDS):
        constraint_rows(p, r, l, x, facing, step, diagonal, q, a, column)
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
        # By the rule; where rounds go to and fro between two diagonals, both are about as good: keep what there is.
        if done + 1 < BOUND_FREEZE:
            diagonal[:, :] = BY_RULE
        elif done + 1 == BOUND_FREEZE:
            for ct in range(diagonal.shape[0]):
                for cs in range(diagonal.shape[1]):
                    along = splits_along_00_11(p, r, x, ct, cs, step, facing)
                    diagonal[ct, cs] = ALONG_00_11 if along else ALONG_10_01
    return BOUND_ROUNDS, False


@exact_kernel(inner="f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8[::1], f8, i8, f8, i1[:,::1], " + _WORK)
def diagonals_apart(p, r, l, exact, apart, facing, step, reach, diagonal, q, a, column, bound, multiplier, active, cost):
    """Each cell's better diagonal if it had its corners for itself: a start near the best of all combinations.

    Linearised at the exact lengths. `apart` (4 a cell) and the others are work space.
    """
    rows, cells = len(q), diagonal.shape[0]
    nodes = rows // (cells * cells)
    for choice in (ALONG_00_11, ALONG_10_01):
        diagonal[:, :] = choice
        constraint_rows(p, r, l, exact, facing, step, diagonal, q, a, column)
        for cell in range(cells * cells):
            ct, cs = cell // cells, cell % cells
            first = ct * (cells + 1) + cs
            for k in range(4):
                apart[4 * cell + k] = exact[ct + (k >> 1), cs + (k & 1)]
            for row in range(cell * nodes, (cell + 1) * nodes):
                multiplier[row] = 0.0
                for i in range(3):
                    corner = column[row, i] - first
                    column[row, i] = 4 * cell + (corner if corner < 2 else corner - cells + 1)
        linearise(rows, q, a, column, apart, bound)
        hildreth(rows, a, column, bound, multiplier, apart, active, BOUND_CHANGE * reach)
        for cell in range(cells * cells):
            total = 0.0
            for k in range(4):
                total += (apart[4 * cell + k] - exact[cell // cells + (k >> 1), cell % cells + (k & 1)]) ** 2
            if choice == ALONG_00_11:
                cost[cell] = total
            else:
                diagonal[cell // cells, cell % cells] = ALONG_00_11 if cost[cell] < total else ALONG_10_01


@exact_device
def _start_offset(attempt):
    """How far outside of the exact lengths a search starts, in ranges of lengths.

    Diagonals, and skewed directions, make more than one local optimum. The first search starts from the exact lengths with the
    diagonals that each cell likes best, the second outside of all, the third from the exact lengths with the diagonals of the
    rule, the others from elsewhere while none was found.
    """
    if attempt == 1:
        return 1.0
    if attempt == 3:
        return 2.0
    if attempt == 4:
        return 0.5
    return 0.0


@exact_kernel("i8, i8, f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], i8, f4[:,:,::1], f4[:,:,::1], u1[:,::1], i8[:,::1]")
def solve_rows(start, stop, p_in, r_in, l_in, step, upper_out, lower_out, status_out, rounds_out):
    """Bounding lengths of quads [start, stop) of one size at one level."""
    points = upper_out.shape[1]
    rows = 2 * (points - 1) * (points - 1) * (step + 1) * (step + 1)
    q, bound, multiplier = np.empty(rows), np.empty(rows), np.empty(rows)
    a, column, active = np.empty((rows, 3)), np.empty((rows, 3), np.int32), np.empty(rows, np.int64)
    exact, x, before = np.empty((points, points)), np.empty((points, points)), np.empty(points * points)
    exact_flat, x_flat, apart = exact.reshape(-1), x.reshape(-1), np.empty(4 * (points - 1) * (points - 1))
    diagonal = np.empty((points - 1, points - 1), np.int8)
    for quad in range(start, stop):
        p, r, l = p_in[quad], r_in[quad], l_in[quad]
        facing, reach = quad_facing(p, r), quad_reach(p, r, l, step)
        for t in range(points):
            for s in range(points):
                exact[t, s] = l[t * step, s * step]
        span = quad_span(l)
        for side in range(2):
            sign = 1.0 - 2.0 * side
            up = facing * sign
            least, first, second = np.inf, np.inf, np.inf
            status_out[quad, side] = INFEASIBLE
            rounds_out[quad, side] = 0
            for attempt in range(ATTEMPTS):
                # Two that agree are enough, and any once three were made.
                agree = abs(first - second) < BOUND_AGREE * first
                if least < np.inf and (attempt > 2 or (attempt == 2 and agree)):
                    break
                diagonal[:, :] = BY_RULE
                if attempt == 0:
                    diagonals_apart(
                        p, r, l, exact, apart, up, step, reach, diagonal, q, a, column, bound, multiplier, active, before
                    )
                offset = sign * span * _start_offset(attempt)
                for i in range(len(x_flat)):
                    x_flat[i] = exact_flat[i] + offset
                done, settled = successive_rounds(
                    p, r, l, exact_flat, x, x_flat, up, step, reach, diagonal, q, a, column, bound, multiplier, active, before
                )
                rounds_out[quad, side] += done
                feasible = make_feasible(p, r, l, x, x_flat, up, sign, step, reach, diagonal, q, a, column, before)
                objective = 0.0
                for i in range(len(x_flat)):
                    objective += (x_flat[i] - exact_flat[i]) ** 2
                if (feasible and objective < least) or attempt == 0:
                    for t in range(points):
                        for s in range(points):
                            if side == 0:
                                upper_out[quad, t, s] = x[t, s]
                            else:
                                lower_out[quad, t, s] = x[t, s]
                    status_out[quad, side] = INFEASIBLE if not feasible else (CONVERGED if settled else UNCONVERGED)
                    least = objective if feasible else np.inf
                first, second = (objective, second) if attempt == 0 else (first, objective)


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
