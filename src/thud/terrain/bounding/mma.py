"""Bounding lengths by the method of moving asymptotes ([Yang] 3.5.3, 3.5.4): the reference for `batch.py`.

NLopt's LD_MMA on the problem of one quad, from the lengths l + 5 (upper) or l - 5 (lower), in no range (3.5.7).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import MissingExtraError
from thud.terrain.bounding.batch import CONVERGED, INFEASIBLE, UNCONVERGED
from thud.terrain.bounding.problem import BoundingProblem
from thud.terrain.bounding.tolerances import MMA_CONSTRAINT, MMA_INFEASIBLE

#: Where the search starts: this far outside of the exact lengths (Algorithm 8; units of the directions).
START_OFFSET = 5.0


@dataclass(frozen=True)
class MmaLengths:
    """Lengths that MMA found for one quad at one level."""

    lengths: npt.NDArray[np.float64]
    """(n + 1, n + 1), indexed [t, s]."""
    objective: float
    """Sum of (x - l)^2."""
    violation: float
    """Largest distance in metres by which a node lies outside a plane; 0 where all hold."""
    evaluations: int
    status: int
    """CONVERGED, UNCONVERGED (a limit was met) or INFEASIBLE (constraints do not hold to 1e-5 of the cell)."""


def _nlopt() -> Any:
    try:
        import nlopt
    except ImportError as error:
        raise MissingExtraError.for_package("nlopt", "terrain") from error
    return nlopt


def mma_lengths(
    problem: BoundingProblem,
    *,
    tolerance: float = 1e-7,
    dual_tolerance: float = 1e-10,
    iterations: int = 2000,
    time_limit: float = 10.0,
) -> MmaLengths:
    """Solve one bounding problem with NLopt's LD_MMA.

    Parameters
    ----------
    problem : one quad at one level, upper or lower
    tolerance : relative change of the lengths at which it ends
    dual_tolerance : relative change at which the dual of each approximation ends. NLopt's own 1e-14 takes most of the time and
        often all of it; from 1e-8 on constraints are missed by 1e-5 of the cell
    iterations, time_limit : most evaluations, and seconds, after which it ends UNCONVERGED
    """
    nlopt = _nlopt()
    exact = problem.start.ravel()
    # Constraints are volumes: in units of a cell's own they are of the order of lengths.
    corners = problem.p[:: problem.step, :: problem.step]
    scale = float(np.linalg.norm(corners[1, 1] - corners[0, 0]) * np.linalg.norm(corners[1, 0] - corners[0, 1])) or 1.0

    def objective(x: Any, gradient: Any) -> float:
        if gradient.size:
            gradient[:] = 2.0 * (x - exact)
        return float(((x - exact) ** 2).sum())

    def constraints(result: Any, x: Any, gradient: Any) -> None:
        if gradient.size:
            gradient[:] = problem.jacobian(x) / scale
        result[:] = problem.constraints(x)[0] / scale

    search = nlopt.opt(nlopt.LD_MMA, exact.size)
    search.set_min_objective(objective)
    search.add_inequality_mconstraint(constraints, np.full(problem.count, MMA_CONSTRAINT))
    search.set_xtol_rel(tolerance)
    search.set_maxeval(iterations)
    search.set_maxtime(time_limit)
    search.set_param("dual_ftol_rel", dual_tolerance)
    sign = 1.0 if problem.upper else -1.0
    try:
        x = search.optimize(exact + sign * START_OFFSET)
        ended = search.last_optimize_result()
    except nlopt.RoundoffLimited:
        # NLopt keeps no point then; that is a limit met.
        x, ended = exact + sign * START_OFFSET, nlopt.MAXEVAL_REACHED
    # Volumes over areas of the cell: metres.
    violation = max(float(problem.constraints(x)[0].max()) / scale, 0.0)
    status = (
        CONVERGED if ended in (nlopt.SUCCESS, nlopt.XTOL_REACHED, nlopt.FTOL_REACHED, nlopt.STOPVAL_REACHED) else UNCONVERGED
    )
    if violation > MMA_INFEASIBLE * scale**0.5:
        status = INFEASIBLE
    return MmaLengths(x.reshape(problem.start.shape), problem.objective(x), violation, search.get_numevals(), status)
