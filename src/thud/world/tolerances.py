"""Tolerances and limits of `world/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Limits of saved worlds (counts): what a file that is not to be trusted may make us allocate or walk through. Rows of bodies
#: (a few GB); parts of all compounds together, each as often as it is named; and levels of compounds in compounds, each of
#: which takes a few frames of Python's stack.
SAVED_BODIES = 2**24
SAVED_PARTS = 2**22
SAVED_DEPTH = 32

#: Boxes are widened by half the distance that is asked for, times this: two of them that are just so far apart must overlap,
#: whatever way the sums are rounded.
REACH_SLACK = 1.0 + 1e-12
