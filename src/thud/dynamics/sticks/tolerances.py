"""Tolerances and limits of `dynamics/sticks/`, each with its reason."""

from __future__ import annotations

#: Curved shapes are met as facets: so many around the axis. A sphere of 1 m is flatter by at most 1 - cos(pi / 48), 2 mm.
SEGMENTS = 48

#: By how much a point may miss where it is thought to be at the end of a sub-step before its pairs are looked for again: this
#: part of the mean length of the edges, or STRAY times what it missed in the sub-step before. With more there are more pairs
#: to look at, with less they are looked for more often.
DRIFT_PART = 0.03
STRAY = 1.5

#: No margin is greater than this part of the mean length of the edges: all that a point may come near would be more than what
#: is looked for again when it is known where the point is.
MOST_DRIFT = 0.3

#: The same after points were pushed apart or held back, in kept gaps: now it is known where they are.
PUSHED_PART = 0.25

#: The box about a point in which triangles of bodies are known for a step is wider than its way by so many mean lengths of the
#: edges.
AROUND = 0.5

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

#: Parts of the cloth in a search (a count, a power of 2). What is found in each, with bodies and with itself, stands in chunks
#: of its own; members of a team take one after the other.
PARTS = 64

#: Distances of leaves are known up to this many mean lengths of the edges beyond the reach of contacts. With more, calm cloth
#: is passed over for longer, and more pairs are measured when it is not.
WATCHED = 0.4

#: They are known of leaves whose points all missed where they were thought to be by less than this part of the mean length of
#: the edges in the sub-step before. Of others they would be out of date at once.
CALM_PART = 0.03

#: Leaves whose distances a leaf knows (a count); what is in the way of more is looked at each time.
NEAR = 24

#: Elements of a leaf of the tree (a count): fewer make it deeper, more are tested with each other.
LEAF = 8

#: Faces, edges and points of one block (a count), whose box asks the world.
BLOCK = 32

#: The gap that cloth keeps, in least heights of its faces: with more, points of neighbouring faces would push each other.
THICKEST = 0.5

#: A stick whose length misses what it should be by this part of its rest length has not converged.
CONVERGED = 0.01

#: What a number may lose on its way to 32 bits: a little more than half a step of them.
SINGLE = 3e-7
