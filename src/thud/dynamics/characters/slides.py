"""`method="slides"`: the character of [Slides], "Typical implementation in FPS".

The player is an ellipsoid; all is computed in the space in which it is a sphere. The sphere is swept; where it collides it
slides along the sliding plane, which goes through the point of contact and whose normal points from there to the sphere's
centre, not along that of the polygon. What is left of the velocity is projected on the plane, and the same done again, up to a
limit. Player and gravity are two such calls: one with the sum of the two "may result in unable to walk up staircases".
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel
from thud.convex.own_parts import own_parts
from thud.convex.rows.work_space import new_epa_space
from thud.convex.tolerances import EPA_FACES_FIRST
from thud.dynamics.characters.hits import begin_row, end_row, note_ground, note_hit, worse
from thud.dynamics.characters.tolerances import FALL_CASTS, HELD, NEAR, SHORTEST, SKIN
from thud.dynamics.characters.types import DT, FALL, GRAVITY, LIMITED, STEEPEST, WALK
from thud.dynamics.characters.unit_sphere import first_hit, over, world_normal
from thud.math.vec3 import add_scaled, dot, load3, norm, scale


@kernel(inner="obstacles, parts, epa_space, movers, moved, i8, vec3, f8, vec3, vec3, i8, f8")
def slide(obstacles, parts, space, movers, moved, row, radii, gap, c, m, what, steepest):
    """The centre after the motion m from c. A hit on a surface that is no steeper than the limit is ground."""
    for _ in range(FALL_CASTS):
        if norm(m) <= SHORTEST:
            return c
        time, n, q, run, _triangle = first_hit(obstacles, parts, space, row, radii, gap, c, m, -1)
        if not time <= 1.0:
            return add_scaled(c, m, 1.0)
        c = add_scaled(c, m, time)
        note_hit(obstacles, movers, moved, row, radii, n, q, run, what)
        if what == FALL and world_normal(n, radii)[2] >= steepest:
            note_ground(obstacles, movers, moved, row, radii, n, q, run)
        # The sliding plane has the normal n: what is left of the way, without its part along n.
        m = scale(m, 1.0 - time)
        m = add_scaled(m, n, -dot(m, n))
    worse(moved, row, LIMITED)
    return c


@kernel("i8, i8, obstacles, parts, movers, f8[::1], moved")
def slide_rows(start, stop, obstacles, parts, movers, rules, moved):
    """One move of each character."""
    parts, space = own_parts(parts), new_epa_space(np.int64(EPA_FACES_FIRST))
    dt = rules[DT]
    for row in range(start, stop):
        begin_row(moved, row)
        radii, zero = load3(movers.radii, row, 0), (0.0, 0.0, 0.0)
        motion = over(load3(movers.motion, row, 0), radii)
        c = slide(obstacles, parts, space, movers, moved, row, radii, NEAR, zero, motion, WALK, rules[STEEPEST])
        fall = movers.fall[row] + dt * rules[GRAVITY]
        way = over((0.0, 0.0, dt * fall), radii)
        before = c[2]
        c = slide(obstacles, parts, space, movers, moved, row, radii, SKIN, c, way, FALL, rules[STEEPEST])
        if moved.grounded[row] or abs(c[2] - before) < HELD * abs(way[2]):
            fall = 0.0
        end_row(movers, moved, row, radii, c, fall)
