"""Tolerances and limits of `particles/maps/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Tiles of an atlas of an impact map: coordinates (from 0 to 1) keep this far from the border to the next tile, so that no
#: roundoff puts an impact into it; far below any pixel.
TILE_MARGIN = 1e-12

#: Metres a unit of u and v are found by a difference over this part of a texel: short, as they change from texel to texel,
#: and long beside the roundoff of u and v.
TEXEL_STEP = 1e-3

#: A clip lies across an axis of its quadric when the cosine between its normal and the axis is above this: what rounding of a
#: rotation may take off, and less than would show in the extent.
CLIP_ALONG = 1.0 - 1e-12
