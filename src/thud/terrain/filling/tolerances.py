"""Tolerances and limits of `terrain/filling/`, each with its reason."""

from __future__ import annotations

#: Samples along a side of a tile, unless told otherwise (a count): a tile of heights is then 0.4 MB, of a displaced surface 1
#: MB.
TILE_SAMPLES = 256

#: Metres of which heights are whole multiples, unless told otherwise: a millimetre, so that float32 has them up to 16 km.
QUANTUM = 2.0**-10

#: Samples of a source that are looked through at once (a count): 32 MB.
SCAN_SAMPLES = 2**22

#: Tiles that each worker may be ahead of the writer (a count): what is being made, and one that waits.
AHEAD = 2

#: How often workers may die without a tile being finished in between before the build gives up (a count).
DEATHS = 3

#: Cells that a tile of a field may reach beyond its place: a quad goes round a grid edge that the tile owns, its vertices lie
#: in the four cells about it, and displacements go one cell out.
FIELD_OVERHANG = 3.0

#: Seconds between plain lines of progress, and before the first.
PAUSE = 2.0

#: Tolerance of a traced length of the generated world, of a cell: 0.3 mm, a tenth of its finest detail's step.
WORLD_TRACE = 1e-6

#: Most steps of the search for such a length (a count): halving alone needs 20.
WORLD_STEPS = 60
