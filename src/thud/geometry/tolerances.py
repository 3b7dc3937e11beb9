"""Tolerances and limits of `geometry/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

from thud.constants import UNIT_ROUNDOFF

#: Below the smallest normal number a reciprocal overflows. A component of a unit direction this small is parallel.
RAY_PARALLEL = 2.2250738585072014e-308

#: A hit this close to a cone's axis, times the coordinates it is computed from, is the apex: the direction from the axis is
#: roundoff there.
APEX = 8.0 * UNIT_ROUNDOFF

#: A determinant above this part of its terms' magnitudes has lost at most four of its sixteen digits. Below it, the
#: precise variants sum exactly.
PRECISE = 1e-4

#: Segments whose directions have sin^2(angle) below this are solved by the careful route. At 1e-4 the plain formulas
#: have lost four of sixteen digits of the parameters, and none of the distance, which depends on them in second order.
NEARLY_PARALLEL = 1e-4

#: Triangles with |ab x ac|^2 below this times the fourth power of their longest edge also have their edges tried: the
#: direction of a needle's normal is uncertain, its edges are not.
NEEDLE = 1e-6

#: Squared gaps above this part of the squared size are no piercing blurred by roundoff: no need to look closer.
PIERCING = 1e-8

#: Rays that one picture of a camera is made of at most (a count): 48 bytes each, three times that while they are made.
MOST_PIXELS = 2**26
