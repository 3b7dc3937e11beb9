"""Tolerances and limits of `pairing/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Most radians that a shape may turn in a cast: its angle is then right to 1e-10.
TURN_LARGEST = 1e6

#: Points of a contact patch that are closer to each other than this part of the patch are one: they say the same.
SPREAD_LEAST = 1e-6

#: A caller's normal whose square is below this is none: normals have length 1, or 0 where there was none.
AXIS_LEAST = 1e-12

#: In casts by steps of the distance, two in touch part if their nearest points move away from each other at more than this part
#: of the largest speed of any point: slower, the steps out of touch would be too many.
PARTING = 1.0 / 16.0
