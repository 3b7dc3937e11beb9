"""Tolerances and limits of `terrain/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Details of a displaced surface are back to their full height at 1 / DETAIL_FADE of the way across a primitive from an edge or
#: vertex where they fade out. Dimensionless.
DETAIL_FADE = 4.0

#: Longest side of a quad of a displacement map (samples of the map).
QUAD_SIDE = 64

#: Most samples a side of a square of the map that detail maps may add (a count).
DETAIL_RATIO = 16

#: A direction of a displaced surface must leave its primitives by more than this sine: along them lengths say nothing.
FACING_FLAT = 1e-9
