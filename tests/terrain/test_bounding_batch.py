"""The bounding problem and its two solvers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from tests.terrain.bounding_surfaces import KINDS, batch, quad
from thud.errors import InvalidInputError, MissingExtraError
from thud.terrain.bounding.batch import CONVERGED, INFEASIBLE, bounding_lengths, solve_rows
from thud.terrain.bounding.mma import mma_lengths
from thud.terrain.bounding.problem import BoundingProblem

#: A sheet that folds onto itself, where no lengths may meet all planes.
FOLDED = ("overhang",)


@pytest.mark.parametrize("kind", ["waves", "skewed", "overhang", "mirrored"])
@pytest.mark.parametrize("upper", [True, False])
def test_gradients_are_those_of_finite_differences(kind: str, upper: bool) -> None:
    problem = BoundingProblem(*quad(kind, 9, 3), 4, upper=upper)
    x = problem.start + (1.0 if upper else -1.0)
    jacobian = problem.jacobian(x.ravel())
    for i in range(x.size):
        # Q is affine in each length, so that any step gives its derivative, as long as no diagonal changes.
        ahead, behind = x.ravel().copy(), x.ravel().copy()
        ahead[i] += 1e-4
        behind[i] -= 1e-4
        slope = (problem.constraints(ahead)[0].copy() - problem.constraints(behind)[0]) / 2e-4
        np.testing.assert_allclose(jacobian[:, i], slope, atol=1e-8 * np.abs(jacobian).max())


def test_constraints_are_signed_distances_times_areas() -> None:
    p, r, l = quad("plane", 5, 0)
    for upper in (True, False):
        problem = BoundingProblem(p, r, l, 4, upper=upper)
        outward = 1.0 if upper else -1.0
        assert (problem.constraints(problem.start + 3.0 * outward)[0] < 0).all()
        assert (problem.constraints(problem.start - 3.0 * outward)[0] > 0).all()
    mirrored = BoundingProblem(np.swapaxes(p, 0, 1), np.swapaxes(r, 0, 1), l.T, 4)
    assert (mirrored.constraints(mirrored.start + 3.0)[0] < 0).all()


@pytest.mark.parametrize(("nodes", "step"), [(3, 2), (9, 8), (9, 4), (17, 8), (17, 4), (17, 2), (33, 16)])
def test_lengths_are_feasible(nodes: int, step: int) -> None:
    p, r, l = batch(KINDS, nodes, 2)
    result = bounding_lengths(p, r, l, step)
    for i in range(len(p)):
        for side, lengths in enumerate((result.upper[i], result.lower[i])):
            if result.status[i, side] == INFEASIBLE:
                assert KINDS[i // 2] in FOLDED
                continue
            problem = BoundingProblem(p[i], r[i], l[i], step, upper=side == 0)
            assert (problem.constraints(lengths.astype(float))[0] <= 0.0).all(), KINDS[i // 2]


@pytest.mark.parametrize(("nodes", "step"), [(3, 2), (9, 8), (5, 2)])
def test_lengths_are_those_of_mma(nodes: int, step: int) -> None:
    pytest.importorskip("nlopt")
    kinds = ("waves", "skewed")
    p, r, l = batch(kinds, nodes)
    result = bounding_lengths(p, r, l, step)
    compared = 0
    for i in range(len(p)):
        for upper in (True, False):
            problem = BoundingProblem(p[i], r[i], l[i], step, upper=upper)
            found = mma_lengths(problem, tolerance=1e-6, iterations=400, time_limit=60.0)
            if found.status != CONVERGED:
                continue
            ours = problem.objective((result.upper if upper else result.lower)[i].astype(float))
            assert ours <= 1.005 * found.objective + 1e-6
            compared += 1
    assert compared >= 3


def test_mma_that_meets_a_limit_says_so() -> None:
    pytest.importorskip("nlopt")
    problem = BoundingProblem(*quad("noise", 9, 0), 4)
    assert mma_lengths(problem, iterations=2).status != CONVERGED


def test_a_missing_nlopt_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "nlopt", None)
    with pytest.raises(MissingExtraError, match=r"nlopt.*thud\[terrain\]"):
        mma_lengths(BoundingProblem(*quad("flat", 3, 0), 2))


def test_a_plane_is_met_and_a_peak_is_under_the_roof() -> None:
    # Nine nodes on a level base, a peak of 1 in the middle: by symmetry two corners along one diagonal rise to 1.
    s, t = np.meshgrid(np.arange(3.0), np.arange(3.0))
    p = np.stack([s, t, np.zeros_like(s)], axis=-1)
    r = np.zeros_like(p) + [0, 0, 1.0]
    l = np.where((s == 1) & (t == 1), 1.0, 0.0)
    result = bounding_lengths(p[None], r[None], l[None], 2)
    assert (result.status == CONVERGED).all()
    # The ridge over one diagonal carries the peak: both of its ends at 1, the others at 0.
    np.testing.assert_allclose(np.sort(result.upper[0].ravel()), [0, 0, 1, 1], atol=1e-4)
    np.testing.assert_allclose(result.lower[0], 0, atol=1e-4)
    assert (result.lower[0] < 0).all()
    assert (result.upper[0] > 0).all()


def test_bytes_do_not_depend_on_threads_or_company() -> None:
    p, r, l = batch(KINDS, 9, 2)
    one, three = bounding_lengths(p, r, l, 4, threads=1), bounding_lengths(p, r, l, 4, threads=3)
    assert one.upper.tobytes() == three.upper.tobytes()
    assert one.lower.tobytes() == three.lower.tobytes()
    alone = bounding_lengths(p[5:6], r[5:6], l[5:6], 4)
    assert alone.upper.tobytes() == one.upper[5:6].tobytes()
    assert len(solve_rows.signatures) == 1


def test_hostile_input_is_named_or_answered() -> None:
    p, r, l = batch(("waves", "noise"), 5)
    with pytest.raises(InvalidInputError, match="step: expected a divisor of 4"):
        bounding_lengths(p, r, l, 3)
    with pytest.raises(InvalidInputError, match="expected \\(B, m, m, 3\\)"):
        bounding_lengths(p, r[:, :4], l, 2)
    broken = l.copy()
    broken[1, 2, 2] = np.nan
    with pytest.raises(InvalidInputError, match="l: quad 1 "):
        bounding_lengths(p, r, broken, 2)
    for base, along in ((p * 0, r), (p, r * 0), (p * 0, r * 0)):
        result = bounding_lengths(base, along, l, 2)
        assert np.isfinite(result.upper).all()
        assert np.isfinite(result.lower).all()
