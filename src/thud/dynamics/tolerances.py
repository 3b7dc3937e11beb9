"""Tolerances and limits of `dynamics/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Below this angle (radians) a rotation is made of the series of sine and cosine: the next terms are below roundoff.
SMALL_ANGLE = 1e-4

#: Newton steps of the implicit gyroscopic term (a count). From the angular velocity of the step before, one is Catto's; the
#: others bring it to roundoff for steps of up to half a radian. It ends earlier where a step changes less than GYRO_CHANGE of
#: the angular velocity.
GYRO_STEPS = 8
GYRO_CHANGE = 1e-14

#: Rounds of the iteration for the nearest rotation (a count): its error is squared in each, and a step of one radian begins at
#: 0.5.
NEAREST_ROUNDS = 6

#: An inertia matrix is taken as symmetric and positive if it is to within this part of its largest entry; the triangle
#: inequality of its principal moments may be violated by as much.
INERTIA_SLACK = 1e-9
