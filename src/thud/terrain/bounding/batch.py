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

from thud._core.arrays import Floats, writable
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.constants import FLOAT32_STEP, FLOAT32_TINY
from thud.errors import InvalidInputError
from thud.terrain.bounding.problem import (
    ALONG_00_11,
    ALONG_10_01,
    BY_RULE,
    constraint_rows,
    project_nodes,
    quad_facing,
    quad_reach,
    splits_along_00_11,
)
from thud.terrain.bounding.tolerances import (
    BOUND_AGREE,
    BOUND_CHANGE,
    BOUND_FREEZE,
    BOUND_QUICK,
    BOUND_RAISES,
    BOUND_ROUNDS,
    BOUND_SETTLED,
    BOUND_SWEEPS,
    BOUND_THINNEST,
)

#: Status of a quad's upper or lower lengths.
CONVERGED, UNCONVERGED, INFEASIBLE = 0, 1, 2

#: Most searches for the lengths of a quad (see `_start_offset`), and as many as are made if two of them do not agree.
ATTEMPTS = 5
THOROUGH = 3

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


@exact_kernel(inner="i8, i8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8[::1], i8[::1], f8")
def hildreth(count, chosen, a, column, bound, multiplier, x, active, change):
    """Lengths x nearest to those given by multipliers 0, under a x <= bound with the chosen rows, of length 1 (or 0: not used).

    `multiplier` and x agree at the start (x = l - a^T multiplier). Ends when a sweep over all chosen rows moves x by less than
    `change`; returns whether it did.
    """
    sweeps = 0
    while sweeps < BOUND_SWEEPS:
        moved = 0.0
        binding = 0
        for i in range(count):
            row = chosen[i]
            moved = max(moved, _ascend(row, a, column, bound, multiplier, x))
            if multiplier[row] > 0.0:
                active[binding] = row
                binding += 1
        if moved < change:
            return True
        sweeps += 1
        # Few rows bind: settle those first.
        for _ in range(_SWEEPS_BETWEEN):
            moved = 0.0
            for i in range(binding):
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


@exact_kernel(inner="i8, i8[::1], f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1]")
def linearise(count, chosen, q, a, column, x, bound):
    """Turn Q + g (x' - x) <= 0 into a x' <= bound with rows a = g / |g|; a row without gradient binds nothing."""
    for i in range(count):
        row = chosen[i]
        size = np.sqrt(a[row, 0] * a[row, 0] + a[row, 1] * a[row, 1] + a[row, 2] * a[row, 2])
        if size == 0.0:
            bound[row] = np.inf
            continue
        a[row, 0] /= size
        a[row, 1] /= size
        a[row, 2] /= size
        bound[row] = a[row, 0] * x[column[row, 0]] + a[row, 1] * x[column[row, 1]] + a[row, 2] * x[column[row, 2]]
        bound[row] -= q[row] / size


@exact_kernel(inner="i8, i8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8[::1]")
def from_multipliers(count, chosen, a, column, multiplier, exact, x):
    """x = l - a^T multiplier."""
    for i in range(len(x)):
        x[i] = exact[i]
    for i in range(count):
        row = chosen[i]
        if multiplier[row] > 0.0:
            x[column[row, 0]] -= multiplier[row] * a[row, 0]
            x[column[row, 1]] -= multiplier[row] * a[row, 1]
            x[column[row, 2]] -= multiplier[row] * a[row, 2]


@exact_kernel(inner="i8, i8[::1], f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], f8")
def push_back(count, chosen, q, gradient, column, x, before, amount):
    """Move lengths along the gradients of the constraints they violate, the chosen ones, to `amount` on the right side of each.
    q and gradient are those at `before`."""
    for n in range(count):
        row = chosen[n]
        i, j, k = column[row, 0], column[row, 1], column[row, 2]
        g0, g1, g2 = gradient[row, 0], gradient[row, 1], gradient[row, 2]
        value = q[row] + g0 * (x[i] - before[i]) + g1 * (x[j] - before[j]) + g2 * (x[k] - before[k])
        size2 = g0 * g0 + g1 * g1 + g2 * g2
        if value > 0.0 and size2 > 0.0:
            move = value / size2 + amount / np.sqrt(size2)
            x[i] -= move * g0
            x[j] -= move * g1
            x[k] -= move * g2


_QUAD = "f8[:,:,::1], f8[:,:,::1], f8[:,:,::1], "
_WORK = "i1[:,::1], f8[::1], f8[:,::1], i4[:,::1], f8[::1], f8[::1], i8[::1], i8[::1], f8[::1]"


@exact_kernel(inner=_QUAD + "f8[:,::1], f8[::1], f8, f8, i8, f8, " + _WORK)
def make_feasible(
    p, r, points, x, flat, facing, sign, step, reach, diagonal, q, gradient, column, bound, multiplier, chosen, active, before
):
    """Move lengths outward to float32 (3.5.6), then on until every constraint holds as computed in float64; returns
    whether all do.

    `sign`: +1 for upper lengths, -1 for lower. `flat` is x as one row; `diagonal` and the rest are work space.
    """
    amount = BOUND_THINNEST * reach
    for i in range(len(flat)):
        flat[i] = outward32(flat[i] + sign * amount, sign)
    diagonal[:, :] = BY_RULE
    for row in range(len(q)):
        multiplier[row] = 0.0
    for _ in range(BOUND_RAISES):
        count = constraint_rows(p, r, points, x, facing, step, diagonal, 0.0, multiplier, q, gradient, column, chosen)
        if count == 0:
            return True
        for i in range(len(flat)):
            before[i] = flat[i]
        push_back(count, chosen, q, gradient, column, flat, before, amount)
        for i in range(len(flat)):
            flat[i] = np.float32(flat[i])
        amount *= 2.0
    return False


@exact_kernel(inner=_QUAD + "f8[::1], f8[:,::1], f8[::1], f8, i8, f8, f8, " + _WORK)
def successive_rounds(
    p,
    r,
    points,
    exact,
    x,
    flat,
    facing,
    step,
    change,
    settled,
    diagonal,
    q,
    a,
    column,
    bound,
    multiplier,
    chosen,
    active,
    before,
):
    """Improve the lengths x round by round; returns (rounds, whether the last one changed no length by more than `settled`).

    A round takes in the constraints that are violated, or were when they got their multiplier, and ends when a sweep over them
    changes no length by more than `change`. `flat` is x as one row;
    `diagonal` those of the first round, by the facing rule afterwards. The others are work space.
    """
    for row in range(len(q)):
        multiplier[row] = 0.0
    for done in range(BOUND_ROUNDS):
        count = constraint_rows(p, r, points, x, facing, step, diagonal, 0.0, multiplier, q, a, column, chosen)
        linearise(count, chosen, q, a, column, flat, bound)
        for i in range(len(flat)):
            before[i] = flat[i]
        from_multipliers(count, chosen, a, column, multiplier, exact, flat)
        hildreth(count, chosen, a, column, bound, multiplier, flat, active, change)
        moved = 0.0
        for i in range(len(flat)):
            moved = max(moved, abs(flat[i] - before[i]))
        if moved < settled:
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


@exact_kernel(inner=_QUAD + "f8[:,::1], f8[::1], f8, i8, f8, " + _WORK)
def diagonals_apart(
    p, r, points, exact, apart, facing, step, reach, diagonal, q, a, column, bound, multiplier, chosen, active, cost
):
    """Each cell's better diagonal if it had its corners for itself: a start near the best of all combinations.

    Linearised at the exact lengths. `apart` (4 a cell) and the others are work space.
    """
    rows, cells = len(q), diagonal.shape[0]
    nodes = rows // (cells * cells)
    for choice in (ALONG_00_11, ALONG_10_01):
        diagonal[:, :] = choice
        for row in range(rows):
            multiplier[row] = 0.0
        count = constraint_rows(p, r, points, exact, facing, step, diagonal, 0.0, multiplier, q, a, column, chosen)
        for cell in range(cells * cells):
            for k in range(4):
                apart[4 * cell + k] = exact[cell // cells + (k >> 1), cell % cells + (k & 1)]
        for n in range(count):
            row = chosen[n]
            cell = row // nodes
            first = cell // cells * (cells + 1) + cell % cells
            for i in range(3):
                corner = column[row, i] - first
                column[row, i] = 4 * cell + (corner if corner < 2 else corner - cells + 1)
        linearise(count, chosen, q, a, column, apart, bound)
        hildreth(count, chosen, a, column, bound, multiplier, apart, active, BOUND_CHANGE * reach)
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
    diagonals that each cell likes best (if it is the only one, with those of the rule), the second outside of all, the third
    from the exact lengths with the diagonals of the rule, the others from elsewhere while none was found.
    """
    if attempt == 1:
        return 1.0
    if attempt == 3:
        return 2.0
    if attempt == 4:
        return 0.5
    return 0.0


@exact_kernel("i8, i8, f8[:,:,:,::1], f8[:,:,:,::1], f8[:,:,::1], i8, i8, f4[:,:,::1], f4[:,:,::1], u1[:,::1], i8[:,::1]")
def solve_rows(start, stop, p_in, r_in, l_in, step, attempts, upper_out, lower_out, status_out, rounds_out):
    """Bounding lengths of quads [start, stop) of one size at one level, by up to so many searches each."""
    count = upper_out.shape[1]
    rows = 2 * (count - 1) * (count - 1) * (step + 1) * (step + 1)
    q, bound, multiplier = np.empty(rows), np.empty(rows), np.empty(rows)
    a, column = np.empty((rows, 3)), np.empty((rows, 3), np.int32)
    chosen, active = np.empty(rows, np.int64), np.empty(rows, np.int64)
    exact, x, before = np.empty((count, count)), np.empty((count, count)), np.empty(count * count)
    exact_flat, x_flat, apart = exact.reshape(-1), x.reshape(-1), np.empty(4 * (count - 1) * (count - 1))
    diagonal, points = np.empty((count - 1, count - 1), np.int8), np.empty(p_in.shape[1:])
    for quad in range(start, stop):
        p, r, l = p_in[quad], r_in[quad], l_in[quad]
        facing, reach = quad_facing(p, r), quad_reach(p, r, l, step)
        project_nodes(p, r, l, points)
        for t in range(count):
            for s in range(count):
                exact[t, s] = l[t * step, s * step]
        span = quad_span(l)
        change = (BOUND_CHANGE if attempts > 1 else BOUND_QUICK) * reach
        settle = (BOUND_SETTLED if attempts > 1 else BOUND_QUICK) * reach
        for side in range(2):
            sign = 1.0 - 2.0 * side
            up = facing * sign
            least, first, second = np.inf, np.inf, np.inf
            status_out[quad, side] = INFEASIBLE
            rounds_out[quad, side] = 0
            for attempt in range(ATTEMPTS):
                # Two that agree are enough, and any once there were as many as were asked for.
                agree = abs(first - second) < BOUND_AGREE * first
                if least < np.inf and (attempt >= attempts or (attempt == 2 and agree)):
                    break
                diagonal[:, :] = BY_RULE
                if attempt == 0 and attempts > 1:
                    diagonals_apart(
                        p, r, points, exact, apart, up, step, reach,
                        diagonal, q, a, column, bound, multiplier, chosen, active, before,
                    )  # fmt: skip
                offset = sign * span * _start_offset(attempt)
                for i in range(len(x_flat)):
                    x_flat[i] = exact_flat[i] + offset
                done, settled = successive_rounds(
                    p, r, points, exact_flat, x, x_flat, up, step, change, settle,
                    diagonal, q, a, column, bound, multiplier, chosen, active, before,
                )  # fmt: skip
                rounds_out[quad, side] += done
                feasible = make_feasible(
                    p, r, points, x, x_flat, up, sign, step, reach,
                    diagonal, q, a, column, bound, multiplier, chosen, active, before,
                )  # fmt: skip
                objective = 0.0
                for i in range(len(x_flat)):
                    objective += (x_flat[i] - exact_flat[i]) ** 2
                if (feasible and objective < least) or attempt == 0:
                    for t in range(count):
                        for s in range(count):
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


def quad_arrays(p: npt.ArrayLike, r: npt.ArrayLike, l: npt.ArrayLike, step: int) -> tuple[Floats, Floats, Floats]:
    """The samples of equal-sized quads as kernels take them: (B, m, m, 3), (B, m, m, 3), (B, m, m)."""
    arrays = [writable(np.ascontiguousarray(value, dtype=np.float64)) for value in (p, r, l)]
    count, nodes = arrays[2].shape[0], arrays[2].shape[-1]
    if arrays[2].shape != (count, nodes, nodes) or any(a.shape != (count, nodes, nodes, 3) for a in arrays[:2]):
        raise InvalidInputError(f"p, r, l: expected (B, m, m, 3), (B, m, m, 3), (B, m, m), got {[a.shape for a in arrays]}")
    for array, name in zip(arrays, ("p", "r", "l")):
        finite = np.isfinite(array).reshape(count, -1).all(axis=1)
        if not finite.all():
            raise InvalidInputError(f"{name}: quad {int(np.argmin(finite))} has a value that is not finite")
    if step < 1 or nodes < 2 or (nodes - 1) % step:
        raise InvalidInputError(f"step: expected a divisor of {nodes - 1}, got {step}")
    return arrays[0], arrays[1], arrays[2]


def bounding_lengths(
    p: npt.ArrayLike,
    r: npt.ArrayLike,
    l: npt.ArrayLike,
    step: int,
    *,
    attempts: int = THOROUGH,
    threads: int | None = None,
) -> BoundingLengths:
    """Upper and lower bounding lengths of equal-sized quads with a bounding point every `step` nodes.

    Parameters
    ----------
    p, r : (B, m, m, 3) base positions (m) and directions of the nodes, indexed [t, s]
    l : (B, m, m) lengths in units of the directions
    step : nodes from one bounding point to the next; divides m - 1
    attempts : searches from different starts, of which the best counts; up to 5 where none finds lengths. 1 is quick: volumes
        are larger by up to 1 % in all
    threads : most threads, None for all cores

    Returns
    -------
    BoundingLengths: the least sum of squared distances to the exact lengths such that each node of a cell lies below both
    planes of the cell's upper pair of triangles and above both of its lower pair.
    """
    return solve_quads(*quad_arrays(p, r, l, step), step, attempts, threads)


def solve_quads(p: Floats, r: Floats, l: Floats, step: int, attempts: int, threads: int | None) -> BoundingLengths:
    """`bounding_lengths` of arrays that were checked."""
    count, points = len(l), (l.shape[-1] - 1) // step + 1
    upper, lower = np.empty((count, points, points), np.float32), np.empty((count, points, points), np.float32)
    status, rounds = np.empty((count, 2), np.uint8), np.empty((count, 2), np.int64)
    run_rows(solve_rows, count, threads, p, r, l, step, attempts, upper, lower, status, rounds, rows_per_chunk=4)
    return BoundingLengths(upper, lower, status, rounds)
