"""The elementary queries of continuous collision: vertex against face and edge against edge, vertices moving linearly.

Every collision of two triangle meshes whose vertices move linearly begins with one of these. The method is in
`inclusion.py`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.threads import run_rows
from thud.continuous.inclusion import elementary_rows
from thud.continuous.tolerances import INCLUSION_ITERATIONS, INCLUSION_TOLERANCE
from thud.errors import InvalidInputError
from thud.gates import as_positive, broadcast_rows
from thud.geometry._gates import as_stack
from thud.results import ElementaryImpacts

__all__ = ["edge_edge", "vertex_face"]


def vertex_face(
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    tolerance: float = INCLUSION_TOLERANCE,
    max_iterations: int = INCLUSION_ITERATIONS,
    min_separation: float = 0.0,
    threads: int | None = None,
) -> ElementaryImpacts:
    """First contacts of N vertices with N triangles, all of whose vertices move linearly from `start` to `end`.

    No contact is missed, and no time is later than the true first contact's.

    Parameters
    ----------
    start, end : (N, 4, 3) positions in metres, rows vertex, f0, f1, f2; `(4, 3)` is one row, which serves for all rows of
        the other. Magnitudes up to 1e75.
    tolerance : how close counts as contact, relative to the extent of a row, the largest side of the box about its eight
        positions: at the time returned the two are within tolerance * extent (plus `min_separation`) of each other. 0 asks
        for what float64 can tell.
    max_iterations : most cells of (t, u, v) to look at; past it the status is UNCONVERGED and the time a lower bound
    min_separation : metres; a distance of at most this counts as contact
    threads : threads to use, None for all cores

    Returns
    -------
    ElementaryImpacts; time inf where there is no contact, 0 and OVERLAPPING_AT_START where they touch at the start.
    """
    return _query(1, start, end, tolerance, max_iterations, min_separation, threads)


def edge_edge(
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    *,
    tolerance: float = INCLUSION_TOLERANCE,
    max_iterations: int = INCLUSION_ITERATIONS,
    min_separation: float = 0.0,
    threads: int | None = None,
) -> ElementaryImpacts:
    """First contacts of N pairs of edges whose ends move linearly from `start` to `end`, rows a0, a1, b0, b1.

    Everything else is as in `vertex_face`.
    """
    return _query(0, start, end, tolerance, max_iterations, min_separation, threads)


def _query(
    triangle: int,
    start: npt.ArrayLike,
    end: npt.ArrayLike,
    tolerance: float,
    max_iterations: int,
    min_separation: float,
    threads: int | None,
) -> ElementaryImpacts:
    from_rows = as_stack(start, "start", width=3, least=4, exactly=True)
    to_rows = as_stack(end, "end", width=3, least=4, exactly=True)
    count = broadcast_rows("start, end", from_rows, to_rows)
    from_rows, to_rows = _spread(from_rows, count), _spread(to_rows, count)
    reach = as_positive(tolerance, "tolerance", zero=True)
    separation = as_positive(min_separation, "min_separation", zero=True)
    if isinstance(max_iterations, bool) or not isinstance(max_iterations, (int, np.integer)) or max_iterations < 1:
        raise InvalidInputError(f"max_iterations: expected a whole number of at least 1, got {max_iterations!r}")
    out = ElementaryImpacts(np.empty(count), np.empty(count, dtype=np.uint8), np.empty(count, dtype=np.int64))
    limits = (reach, int(max_iterations), separation)
    run_rows(elementary_rows, count, threads, triangle, from_rows, to_rows, *limits, out.time, out.status, out.iterations)
    return out


def _spread(rows: npt.NDArray[np.float64], count: int) -> npt.NDArray[np.float64]:
    return rows if len(rows) == count else np.repeat(rows, count, axis=0)
