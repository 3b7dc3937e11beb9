"""Tolerances and limits of `dynamics/sticks/`, each with its reason."""

from __future__ import annotations

#: Curved shapes are met as facets: so many around the axis. A sphere of 1 m is flatter by at most 1 - cos(pi / 48), 2 mm.
SEGMENTS = 48

#: How far a point may stray from its foreseen way before near pairs are looked for again, in mean lengths of the edges. With
#: more there are more pairs to look at, with less they are looked for more often.
MARGIN = 0.2

#: Pairs that would come within this many thicknesses of the kept gap are solved as contacts: sticks move points after the look.
SLACK = 0.5

#: Part of the kept gap that no pair falls below in a sub-step, whatever pushes; one that is closer already may halve its gap.
#: It is what keeps two surfaces on their sides when more is asked of them than the solver can give.
FLOOR = 0.05

#: Points that are too close are pushed apart no faster than this many kept gaps a second: a deep overlap at the start must not
#: fling them.
RECOVERY = 30.0

#: Rounds of pushing apart what would pass, then of holding it back (counts). What is left then stays where it was.
PUSH_ROUNDS = 4
HOLD_ROUNDS = 8
ALL_ROUNDS = 40

#: A round of holding back leaves this part of a point's way; after HOLD_ROUNDS nothing of it.
HOLD = 0.5

#: Pairs of a chunk (a count): members of a team take whole chunks, and what each finds stands in its chunk's own room.
CHUNK = 512

#: Parts of the table of cells, each with a room of its own for the pairs found in it (a count).
PARTS = 64

#: Side of a cell of the grid in mean sizes of the boxes in it: smaller ones take more entries, larger ones more tests.
CELL = 2.0

#: Most entries of the grid an item (a count): beyond, cells are made larger.
ENTRIES = 24

#: Faces, edges and points of one block (a count), whose box asks the world.
BLOCK = 32

#: The gap that cloth keeps, in least heights of its faces: with more, points of neighbouring faces would push each other.
THICKEST = 0.5

#: A stick whose length misses what it should be by this part of its rest length has not converged.
CONVERGED = 0.01
