"""Tolerances and limits of `terrain/projection/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Backward projection works in units of the primitive's own size, where all numbers are of the order of 1. Dimensionless:
#: the edge of the primitive, in u and v, and the ends of the length range are closed and this wide, plus the roundoff of the
#: coordinates times what the projection makes of it, up to PROJECTION_EDGE_MOST.
PROJECTION_EDGE = 1e-12
PROJECTION_EDGE_MOST = 1e-6

#: Lengths up to this many sizes are searched as they are, longer ones by their reciprocal; those beyond 1 / PROJECTION_FAR
#: count as infinite.
PROJECTION_NEAR = 4.0
PROJECTION_FAR = 1e-13

#: A root is bracketed until a step is below this fraction of its interval, a root that is alone in it until below the second;
#: Newton's method on (u, v, length) continues from there. Within at most this many steps (a count; halving alone takes 50).
PROJECTION_BRACKET = 1e-9
PROJECTION_ALONE = 1e-5
PROJECTION_STEPS = 100

#: The alpha triangle collapses where its area is below this fraction of the product of its sides' terms: a root there comes
#: with an error of a few roundoffs of the length, and the area vanishes with it.
PROJECTION_COLLAPSE = 1e-13

#: Newton's steps end when the point is reproduced to this (some roundoffs); an answer that does not reproduce it to the
#: second is none.
PROJECTION_POLISH = 16.0 * UNIT_ROUNDOFF
PROJECTION_RESIDUAL = 1e-10

#: Two lengths closer than this are one solution: roundoff splits a double root by the square root of itself, times a few.
PROJECTION_DISTINCT = 1e-6

#: Most steps of the paper's Newton method (a count), and the relative step at which it has converged. It takes three to ten.
PROJECTION_NEWTON_STEPS = 50
PROJECTION_NEWTON_STEP = 1e-12

#: The paper's BFGS: most iterations, most halvings of a step in the line search (counts), the part of the expected decrease
#: that a step must bring, and the largest first step over the gradient (the least is its reciprocal).
BFGS_STEPS = 200
BFGS_HALVINGS = 80
BFGS_DECREASE = 1e-4
BFGS_FIRST = 2.0**40

#: It ends where the direction passes the point within the first of these (in units of the sizes) or where the gradient is below
#: the second; what is then not within the third is a minimum that is no solution.
BFGS_RESIDUAL = 1e-13
BFGS_GRADIENT = 1e-14
BFGS_SOLUTION = 1e-9

#: Cells of (u, v, length) that the inverse of a quadrilateral looks at, at most, and the halvings of one before Newton's method
#: has the last word (counts). A generic point in a short range takes one cell; folds some hundred.
BILINEAR_CELLS = 4096
BILINEAR_HALVINGS = 30

#: Near a fold of the bilinear map its determinant, squared, is below this part of the product of the columns' squares. The
#: cell is halved there.
BILINEAR_FOLD = 1e-16

#: A zero may lie outside of a cell by this (in half sides) and count for it; a step ends the search below BILINEAR_CLOSE, from
#: where Newton's method converges.
BILINEAR_EDGE = 1e-6
BILINEAR_CLOSE = 1e-2
