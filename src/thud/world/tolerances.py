"""Tolerances and limits of `world/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Limits of saved worlds (counts): what a file that is not to be trusted may make us allocate or walk through. Rows of bodies
#: (a few GB); parts of all compounds together, each as often as it is named; and levels of compounds in compounds, each of
#: which takes a few frames of Python's stack.
SAVED_BODIES = 2**24
SAVED_PARTS = 2**22
SAVED_DEPTH = 32

#: Boxes of moving shapes are wider by this part of their own and of the largest body's longest edge. A cast counts what is
#: within 1e-7 of the sizes as contact, and its time may be that much before the boxes touch.
CAST_ROOM = 1e-6

#: Moments of inertia may be off by this part of the largest: from symmetry, and the largest principal one from the sum of the
#: other two, which it is for a flat body. They are often written down with fewer digits than float64 has.
INERTIA_ROUNDING = 1e-6

#: Boxes are widened by half the distance that is asked for, times this: two of them that are just so far apart must overlap,
#: whatever way the sums are rounded.
REACH_SLACK = 1.0 + 1e-12

#: In a step contacts follow their bodies while these have moved by less than this part of the smaller one's size (half the
#: diagonal of its box) and turned by less than this (radians) since they were found. Points that were left out, being no
#: deeper, may be so much deeper by then: a fifth of a millimetre for a box of half a metre.
FOLLOW_DISTANCE = 5e-4
FOLLOW_TURN = 1e-3

#: The mid phase "spm": levels of the trees that have planes, cells of their tables along each side, and how many pairs of
#: planes two nodes are tested by, at the roots and below them (counts). More of each parts more pairs, and costs more of those
#: that are not parted; measured on the scenes of `benchmarks/bench_world.py`.
PLANE_LEVELS = 7
PLANE_CELLS = 32
PLANE_DIRECTIONS = 4
PLANE_DIRECTIONS_BELOW = 2

#: Its gate (`plane_gate.py`): most frames for which a pair that was not parted is left alone; the share of the tried pairs that
#: must be parted for the next frame to try any, since one tried in vain costs a third of asking its triangles; and below how
#: many pairs that share says nothing.
PLANE_REST = 16
PLANE_SHARE = 0.3
PLANE_FEW = 32
