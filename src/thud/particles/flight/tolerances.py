"""Tolerances and limits of `particles/flight/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Length of a hop of a particle that slides where that has no closed form, s: 5 um high under gravity. Its landing is no impact
#: if it comes with no more than SLIDE_LANDING times the speed of a hop along the normal; or within SLIDE_LATE such times and
#: with less than SLIDE_SOFT of its speed, as in a bend.
SLIDE_TIME = 2e-3
SLIDE_LANDING = 4.0
SLIDE_LATE = 4.0
SLIDE_SOFT = 0.1

#: How far above the surface a particle slides, a part of its largest coordinate, hundreds of thousands of roundoffs: it is
#: moved back along its way, which must not slow it down.
SLIDE_NEAR = 1e-11

#: Where that place is in doubt it is moved back by so many times as much, and so on, by half of the way at most.
SLIDE_FURTHER = 100.0

#: What is nearer than CLEAR_REACH, such a part, is near, and so far beyond an edge a slide ends. A place is clear of what is
#: farther than CLEAR_DOUBT roundoffs; a particle that has moved by less than CLEAR_FAR such reaches is where it was.
CLEAR_REACH = 1e-9
CLEAR_DOUBT = 2.0
CLEAR_FAR = 100.0

#: Planes whose normals have a squared sine below this are parallel, and a corner whose three normals have a smaller volume is
#: none: the roundoff of their line.
SLIDE_PARALLEL = 1e-9

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

#: Hops shorter than this part of SLIDE_TIME take no time, nor those shorter than half of it that are slower than SLIDE_CREEP,
#: m/s, as hops under gravity are; after so many of them (a count) a particle is wedged in, and rests.
SLIDE_STUCK = 0.02
SLIDE_CREEP = 1e-2
SLIDE_STALLS = 64

#: After so many bounces (a count) that took no time a particle may be so near several surfaces that it is not known between
#: which it is: then it bounces no more. A corner of three planes that is met head on has fewer.
SLIDE_BOUNCES = 2

#: Flights of a generation (a count) from which on its state is kept at the end of a query: fewer are soon computed again.
CHECKPOINT_FLIGHTS = 8

#: Checkpoints that a system keeps (a count), and rows of each at most: 300 bytes a row.
CHECKPOINTS = 8
CHECKPOINT_ROWS = 2**20
