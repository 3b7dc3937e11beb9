"""Tolerances and limits of `continuous/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Inclusion tests of continuous collision: F = D + u E + v G at a corner of a cell, and its product with a direction y, are off
#: by less than this times the sum over axes of |y| (|D| + |E| + |G|), the largest magnitudes over the motion. In units of
#: roundoff: 1 for the difference of two vertices, 3 for its linear interpolation in t, 3 for the dot product with y, 1 for the
#: product with u or v, 2 for the two sums, and 5 for the bound by the triangle beyond a corner (its size 2, a product, a sum
#: of at most twice the magnitude): 15, with second-order terms below 16. 24 leaves room for the sums that make up the bound.
INCLUSION_ROUNDOFF = 24.0 * UNIT_ROUNDOFF

#: Added to each such bound (metres) and to each upper end of a cell (dimensionless): what underflow may have taken, some
#: hundred times the least normal number.
INCLUSION_UNDERFLOW = 1e-305

#: A cell that may hold a contact counts as one when the box of F over it is narrower than this * tolerance * extent along each
#: axis. The time may be earlier than that of such a cell by a step in which F moves by as much again, so that at the time
#: returned the two are within 2 sqrt(3) of it, 0.87 * tolerance * extent, of each other.
INCLUSION_WIDTH = 0.25

#: That width is at least this many times the roundoff of F: narrower boxes cannot be distinguished.
INCLUSION_FLOOR = 4.0

#: A cell that shrank to less than this fraction, measured by how far F moves over it, is looked at again; else it is halved.
INCLUSION_GAIN = 0.6

#: Two directions, scaled to largest magnitude 1, count as parallel, and three as flat, when the squared length of their cross
#: product or the triple product is below this: then other directions separate better. Any choice is valid.
INCLUSION_FLAT = 1e-8

#: Cells of one search (a count) after which a cell is also taken if the features are that near at its start, whatever u and v.
#: Generic contacts are found with fewer, and then to many more digits than asked for.
INCLUSION_EASY = 24

#: Most cells that wait (a count; 0.8 MB of work space). Each halving adds one; contacts of everything with everything, as of
#: edges that slide along each other, come to some hundred. If they do not suffice, that is a limit reached.
INCLUSION_CELLS = 16384

#: Defaults of the elementary queries: tolerance relative to the largest side of the box about all positions of a row, and most
#: cells that are looked at. A generic contact takes about ten; a long grazing one some thousand.
INCLUSION_TOLERANCE = 1e-6
INCLUSION_ITERATIONS = 1_000_000

#: Quotients of two rounded numbers, and sums in [0, 1], are moved outward by these: several times their error.
OUTWARD = 8.0 * UNIT_ROUNDOFF
SUM_OUTWARD = 4.0 * UNIT_ROUNDOFF
