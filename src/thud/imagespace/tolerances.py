"""Tolerances and limits of `imagespace/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Pixels that a view leaves free at each border of what it shows (a count): edges are drawn outside of their objects.
VIEW_MARGIN = 3

#: Most pixels from one end of what is drawn to the other (a count), seen or not: twice a triangle's area, in units of
#: 1 / 256 pixel, must fit 63 bits with room to spare.
VIEW_SPAN = 2**21

#: How far outside of its object an edge is drawn, pixels. The point of an edge that a pixel shows lies up to half a pixel
#: beside its centre, where faces are sampled: with less, an edge may seem to be inside its own object. Together, what is
#: reported lies within 2 pixels.
EDGE_OFFSET = 1.0

#: Pixels in a wanted precision (a count), when a view goes closer: of what lies that deep, some edge shows in several.
PRECISION_PIXELS = 4.0

#: A pixel is no smaller than this part of the largest coordinate, of which rounding takes 1e-16: a place is right to some 1e-4
#: of a pixel.
VIEW_PIXEL = 1e-12
