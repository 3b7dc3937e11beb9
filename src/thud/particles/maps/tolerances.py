"""Tolerances and limits of `particles/maps/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Tiles of an atlas of an impact map: coordinates (from 0 to 1) keep this far from the border to the next tile, so that no
#: roundoff puts an impact into it; far below any pixel.
TILE_MARGIN = 1e-12
