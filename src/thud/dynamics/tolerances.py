"""Tolerances and limits of `dynamics/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Below this angle (radians) a rotation is made of the series of sine and cosine: the next terms are below roundoff.
SMALL_ANGLE = 1e-4

#: A body that turns farther than this in a sub-step (radians) is turned in parts, up to so many: the energy of a torque-free
#: body then stays within 0.1 % (it swings by the square of the angle).
TURN_ANGLE = 0.05
TURN_PARTS = 63

#: Newton steps of the implicit gyroscopic term (a count). From the angular velocity of the step before, one is Catto's; the
#: others bring it to roundoff for steps of up to half a radian. It ends earlier where a step changes less than GYRO_CHANGE of
#: the angular velocity.
GYRO_STEPS = 8
GYRO_CHANGE = 1e-14

#: Rounds of the iteration for the nearest rotation (a count): its error is squared in each, and a step of one radian begins at
#: 0.5.
NEAREST_ROUNDS = 6

#: A contact pushes a penetration out like a spring of so many cycles a sub-step: at 240 sub-steps a second 30 cycles a second,
#: as in Box2D v3. With twice as many a stack of ten boxes rocks for ever: impulses reach all of it only after several
#: sub-steps, and what comes late drives it. A column of boxes is a beam of such springs, and buckles under its own weight: by
#: Euler's formula one of boxes as wide as high beyond 15 of them at 30 cycles a second, beyond 24 at 60. Between a moving body
#: and one that is not moved it is twice as stiff. The damping ratio is far above 1: what was pushed out does not come back.
#: Box2D v3 has 10.
CONTACT_CYCLES = 0.125
CONTACT_DAMPING = 10.0

#: A spring gives way under a load that stays. So the spring of a contact starts from its usual load, a mean over so many
#: seconds: stacks come to rest at the slop, whatever they weigh. With two thirds as many a stack of ten boxes at 4 sub-steps is
#: not calm. Where the load falls, the mean falls so many times as fast: that of an impact would push for seconds, and heaps
#: creep.
USUAL_SECONDS = 3.0
USUAL_FALL = 8.0

#: Penetration that is left alone, in sizes of the smallest moving body: contacts rest in it, instead of coming and going.
SLOP_SIZE = 1e-4

#: Bodies are pushed apart no faster than this (m/s), so that a deep overlap at the start does not fling them. Box2D's.
PUSH_SPEED = 3.0

#: Impacts slower than this (m/s) do not bounce, so that what rests does not tremble: falls of 5 cm. `World` takes another.
BOUNCE_THRESHOLD = 1.0

#: Contacts of a body are looked for as far as it goes in a step, but no farther than this part of its size (half the diagonal
#: of its box): within it bodies are stopped where they would meet.
MARGIN_SIZE = 1.0

#: And at least so far, in sizes of the body (the least side of its box): points of contact that part by less are kept, with
#: their impulses.
MARGIN_LEAST = 0.005

#: An inertia matrix is taken as symmetric and positive if it is to within this part of its largest entry; the triangle
#: inequality of its principal moments may be violated by as much.
INERTIA_SLACK = 1e-9

#: A joint's equation that leaves less than this part of its own response follows from the others, and is left to them.
PIVOT = 1e-9

#: Below this length (metres), or sine, a direction is no direction: any is taken.
SHORTEST = 1e-12

#: Patches of contact from which on a step is worth a team of threads: below, waiting for each other costs more than it brings.
TEAM_WORK = 400

#: The part of a joint's error that a sub-step takes out (a ratio). One pass does not reach the ends of a chain, and what it
#: moves too far the next one moves back.
DRIFT = 0.2

#: A pair that moves by less than this part of its thickness in a step does not pass through: it is pushed out where it came in.
FAST = 0.5

#: A body that is stopped at an impact stays away from it by this part of its size, so that the two are not in contact yet and
#: the next cast still sees the impact.
IMPACT_GAP = 1e-3

#: Bodies that touch, one of which is made of triangles or patches, are lifted off each other before their motions are cast: by
#: this part of the smaller one's size, which is more than `IMPACT_GAP`, and by the height of the arcs of their turns, both
#: together by the second part at most, since what they go into each other by less is not seen. But not where a normal of what
#: they touch with has less than this cosine with the lift.
LIFT = 4e-3
MOST_LIFT = 0.025
LEAST_LIFT_COSINE = 0.1

#: Rounds in which bodies are stopped by those that were stopped before them (a count); then all that is left stops together.
IMPACT_ROUNDS = 8

#: Joints look ahead while their bodies turn by less than this in a sub-step (radians). Beyond, one step of Newton's method
#: may lead farther away, and drive the bodies.
AHEAD = 0.25

#: While a body with contacts turns farther than this in a step (radians), the step is taken in parts, up to so many, and
#: contacts are found for each: they hold for the way a body is turned when they are found. Beyond a radian or so a contact
#: pushes where nothing is, and drives the body.
PART_ANGLE = 0.5
PARTS = 8

#: A step may leave this times the energy that bodies can have, and as much as they have at this speed (m/s) beyond: impacts of
#: several points at once are solved to a percent, and pushes out of an overlap are no motion that lasts.
ENERGY_GAIN = 1.01
ENERGY_SPEED = 0.5

#: Rounds in which bodies in contact that were driven into each other are taken back (a count): enough for a row of as many.
HOLD_ROUNDS = 32

#: A body whose surface moves no faster than this (m/s) is calm, and may fall asleep. Box2D's.
SLEEP_SPEED = 0.05
