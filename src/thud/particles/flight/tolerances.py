"""Tolerances and limits of `particles/flight/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Length of a hop of a particle that slides where that has no closed form, s: 5 um high under gravity. Its landing is no impact
#: if it comes with no more than SLIDE_LANDING times the speed of a hop along the normal; or within SLIDE_LATE such times and
#: with less than SLIDE_SOFT of its speed, as in a bend.
SLIDE_TIME = 2e-3
SLIDE_LANDING = 4.0
SLIDE_LATE = 4.0
SLIDE_SOFT = 0.1

#: How far above the surface a particle slides, a part of its largest coordinate: thousands of its roundoffs.
SLIDE_HEIGHT = 1e-9

#: Nor is it moved off a surface that faces it: their normals have a cosine below minus this, a wedge of 2.6 degrees.
SLIDE_OPPOSED = 0.999

#: Two surfaces whose normals have a cosine below this may be the sides of a wedge; above it they are taken for one.
SLIDE_WEDGE = 0.5

#: Where a surface bends towards a particle, a hop leaves it with this part of the particle's speed at most: well below
#: SLIDE_SOFT, with which it may land.
SLIDE_STEEPEST = 0.05

#: Least speed with which a hop leaves the surface, m/s: above roundoff of places within a kilometre.
SLIDE_LIFT = 1e-6

#: Friction acts along a straight line when the sine between velocity and slope is below this: roundoff of a projection.
SLIDE_STRAIGHT = 1e-9

#: A slide has stopped when this part of its speed is left: roundoff of the time of the stop.
SLIDE_STOPPED = 1e-9

#: Hops shorter than this part of SLIDE_TIME take no time; after so many of them (a count) a particle is wedged in, and rests.
SLIDE_STUCK = 0.02
SLIDE_STALLS = 64

#: Flights of a generation (a count) from which on its state is kept at the end of a query: fewer are soon computed again.
CHECKPOINT_FLIGHTS = 8

#: Checkpoints that a system keeps (a count), and rows of each at most: 300 bytes a row.
CHECKPOINTS = 8
CHECKPOINT_ROWS = 2**20
