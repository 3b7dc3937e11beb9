"""Tolerances and limits of `dynamics/sticks/`, each with its reason."""

from __future__ import annotations

#: Curved shapes are met as facets: so many around the axis. A sphere of 1 m is flatter by at most 1 - cos(pi / 48), 2 mm.
SEGMENTS = 48

#: How far a point may stray from its foreseen way before near pairs are looked for again, in mean lengths of the edges. With
#: more there are more pairs to look at, with less they are looked for more often. And STRAY times what it strayed by in the
#: step before.
MARGIN = 0.1
STRAY = 1.0

#: Pairs that would come within this many thicknesses of the kept gap are solved as contacts: sticks move points after the look.
SLACK = 0.25

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

#: Parts of a search (a count, a power of 2), each with a room of its own for the pairs found in it.
PARTS = 64

#: Elements of a leaf of the tree (a count): fewer make it deeper, more are tested with each other.
LEAF = 4

#: Faces, edges and points of one block (a count), whose box asks the world.
BLOCK = 32

#: The gap that cloth keeps, in least heights of its faces: with more, points of neighbouring faces would push each other.
THICKEST = 0.5

#: A stick whose length misses what it should be by this part of its rest length has not converged.
CONVERGED = 0.01

#: What a number may lose on its way to 32 bits: a little more than half a step of them.
SINGLE = 3e-7

#: Pairs are looked for so far ahead that points stray by this many mean lengths of the edges on average.
WIDEST = 0.2
