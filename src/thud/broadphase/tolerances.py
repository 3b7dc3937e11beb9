"""Tolerances and limits of `broadphase/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: A cell of the broad phase's grid is this times the largest object, and cells are numbered up to BROAD_CELLS either way: a
#: place over the cell's edge is then right to 2^-26, so that objects that overlap never lie two cells apart. Dimensionless.
BROAD_CELL = 1.0 + 1e-6
BROAD_CELLS = float(2**26)

#: A new cell is wider than the largest object needs by this factor: an object that moves changes its extent in the last bits,
#: and one that turns a little by more, and whatever is larger than a cell is tested against all. Dimensionless.
BROAD_ROOM = 1.01
