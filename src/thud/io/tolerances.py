"""Tolerances and limits of `io/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Largest header of a saved world, which holds names and options (bytes).
SAVED_HEADER = 2**28

#: Most pixels of an elevation model (a count): a terabyte of heights; a head that says more is damaged.
MOST_PIXELS = 2**38

#: Files of an elevation model that are open at a time (a count).
OPEN_RASTERS = 64

#: How much pixel sizes of the files of one model may differ, relative, and a thousand times that their places, in pixels: what
#: decimal text in heads leaves.
GRID_ALIGNED = 1e-9

#: Rows run north to south if the other parts of a pixel are below this, relative.
NORTH_UP = 1e-12

#: A pixel is no data if it differs from the stated value by less than this, relative: a roundoff of float32.
STATED_NO_DATA = 2.0**-23

#: Most triangles of an exported piece of terrain (a count): a file of some gigabytes.
MOST_TRIANGLES = 2**27

#: By how much of their length a projection's metres may differ from those on the ground before a raster is projected anew:
#: systems of countries and continents stay below it; Web Mercator is beyond it from 12 degrees of latitude on.
MOST_STRETCH = 0.02
