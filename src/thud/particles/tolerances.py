"""Tolerances and limits of `particles/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: A particle starts on a surface if it is no farther from it than this times the largest coordinate of its place and of the
#: collider: what the evaluation of its place has lost.
START_ROUNDOFF = 128.0 * UNIT_ROUNDOFF

#: A particle that would leave a collider along its normal more slowly than this, m/s, rests: under gravity
#: its hop would be 50 nm high and take 0.2 ms, and the next one less.
RESTING_SPEED = 1e-3
