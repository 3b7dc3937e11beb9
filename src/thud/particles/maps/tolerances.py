"""Tolerances and limits of `particles/maps/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Tiles of an atlas of an impact map: coordinates (from 0 to 1) keep this far from the border to the next tile, so that no
#: roundoff puts an impact into it; far below any pixel.
TILE_MARGIN = 1e-12

#: A clip lies across an axis of its quadric when the cosine between its normal and the axis is above this: what rounding of a
#: rotation may take off, and less than would show in the extent.
CLIP_ALONG = 1.0 - 1e-12

#: Faces grow into one chart of a mesh while the cosine between their normals and the first one's is at least this: lengths in
#: the chart are no less than this part of those on the mesh, and a box still has six charts.
CHART_BEND = 0.7

#: Triangles of a chart lie apart when they overlap by no more than this part of the chart: what rounding of a projection may do
#: to neighbours. Places in the unit square are found within as much.
FLAT_OVERLAP = 1e-12

#: Gaps between the charts of a mesh: this part of the side of a square as large as all of them, 2 pixels of 256; of many small
#: charts no more than that part of their mean size, since gaps would take up the square.
ATLAS_GAP = 1.0 / 128.0
CHART_GAP = 0.1

#: A splat goes round an edge, but not through to the back: it leaves out what looks away, with a cosine between the normals
#: below SPLAT_BACK; or, where only points are known, what lies deeper below the plane of the impact than SPLAT_DEPTH of its
#: radius.
SPLAT_BACK = -0.3
SPLAT_DEPTH = 0.8

#: A pixel of a dose map that was hit, but in which no area was found, counts this part of its collider's mean pixel: of 16 x 16
#: points in it none lay on the surface.
LEAST_PIXEL = 1.0 / 256.0

#: Rays into a tetrahedron begin and end this part of their length beyond it; and a mean slope of f below this part of what it
#: is made of has no direction.
PATCH_BEYOND = 1e-9
