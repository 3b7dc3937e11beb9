"""Tolerances and limits of `dynamics/characters/`, each with its reason. Lengths are in units of the ellipsoid's radii: a gap
of 0.001 is 1 mm along an axis whose radius is 1 m."""

from __future__ import annotations

#: The gap that a character keeps from the ground it stands on. In float64 a millionth would do; this much leaves room for what
#: a platform or a pushed body moves by between two looks at it, and cannot be seen.
SKIN = 2e-3

#: The gap that it keeps from all else. Less than that to the ground: a sphere that moves level over flat ground would graze
#: every edge between two triangles if the two were the same.
NEAR = 0.5 * SKIN

#: A character that is closer than this is pushed out at the begin of a move. Half of `NEAR`: what a move ends at is left alone.
INSIDE = 0.25 * SKIN

#: What is no farther away than the gap and this is touched, not approached: ten times what roundoff leaves after a cast.
TOUCHING = 1e-9

#: A motion that approaches what is touched by less than this part of its length runs along it. Roundoff leaves 1e-15; a move
#: of a metre sinks in by at most a tenth of a micrometre, a thousandth of the gap.
APPROACH = 1e-7

#: Most casts of one walk (a count): one a triangle that is run into. What is left of the motion then is dropped, and the status
#: says so.
WALK_CASTS = 16

#: Most casts of one fall, one way with a platform, or one slide of `method="slides"` (a count).
FALL_CASTS = 8

#: Most rounds of pushing out of what a character is in at the begin of a move (a count).
PUSH_ROUNDS = 12

#: How far it is pushed out in one move at most. Deeper overlaps take several moves: in one they would look like a jump.
PUSH_MOST = 0.25

#: Motions shorter than this are none.
SHORTEST = 1e-9

#: A step up must lead on by at least this part of what is left of the motion.
STEP_GAIN = 1e-3

#: Points closer than this are one point of contact: edges of neighbouring triangles.
SAME_POINT = 1e-6

#: A contact whose normal is less than this off level (a sine) has no direction in which a wall would push.
LEVEL = 1e-6

#: A fall that gets no farther than this part of its way is held, and begins anew: by a gutter between two steep slopes. Down a
#: slope of 50 degrees it is 0.58.
HELD = 0.1

#: Hits that are kept of each move (a count); `hits` has the first of them.
HITS = 12

#: A contact this near to the flat end of a cylinder or cone, in its sizes, is at its rim: points of contact with curved parts
#: are known to about a tenth of the gap.
RIM = 1e-3

#: Triangles of one body that there is room for at first (a count): what a character reaches of ground with triangles of its own
#: size, and a box. Bodies with more in reach are gathered twice.
SLAB = 24
