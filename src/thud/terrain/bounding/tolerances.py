"""Tolerances and limits of `terrain/bounding/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Heights of bounding planes are moved outward by this part of the largest coordinate: some sixty roundings of samples, heights
#: and interpolation, each half a unit in the last place.
PLANE_SLACK = 64.0 * 2.0**-53

#: Bounding maps ([Yang] 3.5). A level's lengths are found in rounds: linearise the constraints, solve for the lengths. Two to
#: five rounds suffice; more are allowed where directions are skewed (a count).
BOUND_ROUNDS = 10

#: From this round on the diagonals of the cells stay as they are (a count).
BOUND_FREEZE = 5

#: Most sweeps of Hildreth's method over the constraints of one round (a count), and the change of a length, relative to the
#: reach of its quad, at which it stops: some orders below what would show in 0.5 % of the objective.
BOUND_SWEEPS = 100
BOUND_CHANGE = 1e-5

#: One search alone stops where a sweep, or a round, changes no length by more than this times the reach: volumes are then
#: larger by up to 1 % than at the best lengths.
BOUND_QUICK = 1e-3

#: Two searches from different starts whose objectives differ by less than this part are thought to have found the best.
BOUND_AGREE = 1e-3

#: The rounds end when one changes no length by more than this times the reach.
BOUND_SETTLED = 1e-4

#: Bounding lengths lie outside the exact ones by at least this times the reach of the cell (its range of lengths, and its
#: extent in units of its directions), so that the volume of a flat cell has a thickness that outweighs rounding.
BOUND_THINNEST = 1e-6

#: Most passes that move lengths until all constraints hold (a count): the step doubles with each, from BOUND_THINNEST on.
BOUND_RAISES = 22

#: A cell is EXTREME (3.5.7) when one of its bounding lengths lies outside its own range of lengths by more than this times its
#: reach. Its volume would be much higher than needed: its points take the range of the lengths instead.
BOUND_EXTREME = 0.5

#: Growth of a cell's volume: code 0 is GROWTH_ZERO, which outweighs the rounding of points up to 1e6 cells from the origin;
#: codes 1 to 254 run from GROWTH_LEAST to just above 1 in steps of 3 to 5 % (dimensionless); 255 marks an EXTREME cell.
GROWTH_ZERO = 1e-6
GROWTH_LEAST = 1e-4

#: A sample counts as inside a volume only if it is so by this times the largest coordinate's deviation from the cell's centre,
#: plus the roundoff of its coordinates: hundreds of times what the test's own arithmetic may be off.
GROWTH_SLACK = 1e-13

#: A finer level is skipped below a cell whose volume is at most this times that of its children together, or thinner on
#: average than FLAT_THIN times its width: the tests of four children would cost more than they exclude.
FLAT_VOLUME = 1.25
FLAT_THIN = 1e-3

#: NLopt takes a constraint as met within this (metres over cells of about one), and what misses one by more than MMA_INFEASIBLE
#: of a cell's side is reported as infeasible.
MMA_CONSTRAINT = 1e-9
MMA_INFEASIBLE = 1e-5
