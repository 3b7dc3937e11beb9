"""The default method: a character that walks.

Positions are those of the sphere (`unit_sphere.py`); the response is in the world, where up is +z. In a move, in this order:

carried   by as much as the body that it stands on has moved and turned since
pushed    out of what it is in: bodies that moved into it
walk      level. On ground the way follows its slope, at the same level speed. Walls, slopes beyond the limit and
          ceilings stop what goes into them, as upright walls do: nothing is climbed by running into it. From ground a
          wall is tried as a step: up, on, down, onto a surface that is no steeper than the limit and no higher than a step
fall      by gravity and by its speed; up against ceilings. Who stood on ground and finds some within a step below stays on it
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.convex.own_parts import own_parts
from thud.convex.rows.work_space import new_epa_space
from thud.convex.tolerances import EPA_FACES_FIRST
from thud.dynamics.characters.hits import begin_row, end_row, note_ground, note_hit, worse
from thud.dynamics.characters.tolerances import (
    APPROACH,
    FALL_CASTS,
    HELD,
    INSIDE,
    LEVEL,
    NEAR,
    PUSH_MOST,
    PUSH_ROUNDS,
    SHORTEST,
    SKIN,
    STEP_GAIN,
    WALK_CASTS,
)
from thud.dynamics.characters.types import (
    CARRY,
    DT,
    FALL,
    GRAVITY,
    LIMITED,
    OVERLAPPING,
    PUSH,
    STEEPEST,
    STEP,
    STEP_HEIGHT,
    WALK,
)
from thud.dynamics.characters.unit_sphere import bears, deepest, first_hit, over, world_normal
from thud.math.vec3 import add, add_scaled, cross, dot, load3, norm, scale

#: Planes that a motion is held back by at most (a count); further ones stop it.
_PLANES = 8


@device
def admits(planes, count, m):
    """Whether a motion goes into none of the planes."""
    least = -APPROACH * norm(m)
    fits = True
    for k in range(count):
        fits &= dot(m, load3(planes, k, 0)) >= least
    return fits


@device
def keep_longer(planes, count, m, best):
    """m, if it goes into no plane and is longer than the best so far."""
    return m if norm(m) > norm(best) and admits(planes, count, m) else best


@kernel
def held_back(planes, count, m):
    """The motion closest to m that goes into none of the planes: m, m along one of them, m along the crease of two, or 0."""
    if admits(planes, count, m):
        return m
    best = (0.0, 0.0, 0.0)
    for i in range(count):
        n = load3(planes, i, 0)
        best = keep_longer(planes, count, add_scaled(m, n, -dot(m, n)), best)
    if norm(best) > 0.0:
        return best
    for i in range(count):
        for j in range(i):
            e = cross(load3(planes, i, 0), load3(planes, j, 0))
            length = norm(e)
            if length > LEVEL:
                e = (e[0] / length, e[1] / length, e[2] / length)
                best = keep_longer(planes, count, scale(e, dot(m, e)), best)
    return best


@device
def put_plane(planes, count, n):
    """One more plane; returns how many there are."""
    if count < _PLANES:
        planes[count, 0], planes[count, 1], planes[count, 2] = n
        return count + 1
    return count


@kernel(inner="obstacles, parts, epa_space, f8[:,::1], movers, moved, i8, vec3, f8, vec3, vec3, i8, i8, f8")
def glide(obstacles, parts, space, planes, movers, moved, row, radii, gap, c, way, skip, what, steepest):
    """The centre after a way, metres, along whatever is in it. Falling, a surface no steeper than the limit ends it."""
    # What is left of the whole way is held back by all that was met: the way along one wall says nothing about the next.
    count, wish = 0, way
    for _ in range(FALL_CASTS):
        m = over(way, radii)
        if norm(m) <= SHORTEST:
            return c
        time, n, q, run, triangle = first_hit(obstacles, parts, space, row, radii, gap, c, m, skip)
        if not time <= 1.0:
            return add(c, m)
        c = add_scaled(c, m, time)
        note_hit(obstacles, movers, moved, row, radii, n, q, run, what)
        if what == FALL and bears(obstacles, parts, row, radii, c, n, q, run, triangle, steepest):
            note_ground(obstacles, movers, moved, row, radii, n, q, run)
            return c
        if count >= _PLANES:
            break
        count = put_plane(planes, count, world_normal(n, radii))
        wish = scale(wish, 1.0 - time)
        way = held_back(planes, count, wish)
    worse(moved, row, LIMITED)
    return c


@kernel(inner="obstacles, parts, epa_space, movers, moved, i8, vec3, vec3")
def pushed_out(obstacles, parts, space, movers, moved, row, radii, c):
    """The centre out of what it is in, if the way is not too long."""
    done = 0.0
    for _ in range(PUSH_ROUNDS):
        depth, way, n, q, run = deepest(obstacles, parts, space, row, radii, NEAR, c, -1)
        if depth <= NEAR - INSIDE:
            return c
        note_hit(obstacles, movers, moved, row, radii, n, q, run, PUSH)
        part = min(1.0, (PUSH_MOST - done) / depth)
        c = add_scaled(c, way, part)
        done += part * depth
        if part < 1.0:
            break
    depth, _way, _n, _q, _run = deepest(obstacles, parts, space, row, radii, 0.0, c, -1)
    if depth > 0.0:
        worse(moved, row, OVERLAPPING)
    return c


@kernel(inner="obstacles, parts, epa_space, i8, vec3, vec3, f8, f8, f8, f8")
def step_up(obstacles, parts, space, row, radii, c, x, y, height, steepest):
    """(part of the way (x, y) that was made, centre, normal, point, run) of a step; 0 for none."""
    zero = (0.0, 0.0, 0.0)
    feet = (c[2] - 1.0 - SKIN) * radii[2]
    rise = (0.0, 0.0, height / radii[2])
    time, _n, _q, _run, _triangle = first_hit(obstacles, parts, space, row, radii, NEAR, c, rise, -1)
    up = rise[2] * min(time, 1.0)
    raised = (c[0], c[1], c[2] + up)
    on = (x / radii[0], y / radii[1], 0.0)
    time, _n, _q, _run, _triangle = first_hit(obstacles, parts, space, row, radii, NEAR, raised, on, -1)
    made = min(time, 1.0)
    if made < STEP_GAIN or up <= SHORTEST:
        return 0.0, c, zero, zero, np.int64(-1)
    ahead = add_scaled(raised, on, made)
    down = (0.0, 0.0, -up)
    time, n, q, run, triangle = first_hit(obstacles, parts, space, row, radii, SKIN, ahead, down, -1)
    if not time <= 1.0 or q[2] * radii[2] > feet + height:
        return 0.0, c, zero, zero, np.int64(-1)
    landed = add_scaled(ahead, down, time)
    if not bears(obstacles, parts, row, radii, landed, n, q, run, triangle, steepest):
        return 0.0, c, zero, zero, np.int64(-1)
    return made, landed, n, q, run


@device
def rise_of(slopes, count, x, y):
    """How far a level way (x, y) rises along the ground that it is on: the highest of the planes that were met."""
    most = -math.inf
    for k in range(count):
        most = max(most, -(x * slopes[k, 0] + y * slopes[k, 1]) / slopes[k, 2])
    return most if count > 0 else 0.0


@kernel
def along_walls(walls, count, x, y):
    """The level way closest to (x, y) that goes into none of the upright walls."""
    best_x, best_y = 0.0, 0.0
    for k in range(-1, count):
        u, v = x, y
        if k >= 0:
            into = x * walls[k, 0] + y * walls[k, 1]
            u, v = x - into * walls[k, 0], y - into * walls[k, 1]
        least, fits = -APPROACH * math.sqrt(u * u + v * v), True
        for i in range(count):
            fits &= u * walls[i, 0] + v * walls[i, 1] >= least
        if fits and u * u + v * v > best_x * best_x + best_y * best_y:
            best_x, best_y = u, v
    return best_x, best_y


@kernel(inner="obstacles, parts, epa_space, f8[:,::1], f8[:,::1], movers, moved, f8[::1], i8, vec3, vec3, f8, f8")
def walk(obstacles, parts, space, slopes, walls, movers, moved, rules, row, radii, c, x, y):
    """The centre after a level way (x, y), metres."""
    steepest = rules[STEEPEST]
    slope_count, wall_count, wish_x, wish_y = 0, 0, x, y
    on_ground = movers.grounded[row] == 1
    if on_ground and movers.ground_normal[row, 2] >= steepest:
        slope_count = put_plane(slopes, 0, load3(movers.ground_normal, row, 0))
    for _ in range(WALK_CASTS):
        if math.sqrt(x * x + y * y) <= SHORTEST * radii[0]:
            return c
        way = (x, y, rise_of(slopes, slope_count, x, y))
        m = over(way, radii)
        time, n, q, run, _triangle = first_hit(obstacles, parts, space, row, radii, NEAR, c, m, -1)
        if not time <= 1.0:
            return add(c, m)
        c = add_scaled(c, m, time)
        x, y, wish_x, wish_y = x * (1.0 - time), y * (1.0 - time), wish_x * (1.0 - time), wish_y * (1.0 - time)
        face = world_normal(n, radii)
        if face[2] >= steepest:
            # Ground: the way follows it.
            note_hit(obstacles, movers, moved, row, radii, n, q, run, WALK)
            slope_count = put_plane(slopes, slope_count, face)
            on_ground = True
            continue
        if on_ground and rules[STEP_HEIGHT] > 0.0:
            made, landed, step_n, step_q, step_run = step_up(
                obstacles, parts, space, row, radii, c, x, y, rules[STEP_HEIGHT], steepest
            )
            if made > 0.0:
                note_hit(obstacles, movers, moved, row, radii, step_n, step_q, step_run, STEP)
                c, wall_count, slope_count = landed, 0, 0
                wish_x, wish_y = wish_x * (1.0 - made), wish_y * (1.0 - made)
                x, y = wish_x, wish_y
                continue
        note_hit(obstacles, movers, moved, row, radii, n, q, run, WALK)
        across = math.sqrt(face[0] * face[0] + face[1] * face[1])
        if across < LEVEL:
            # A ceiling over ground that rises.
            return c
        wall_count = put_plane(walls, wall_count, (face[0] / across, face[1] / across, 0.0))
        x, y = along_walls(walls, wall_count, wish_x, wish_y)
        rise = rise_of(slopes, slope_count, x, y)
        if x * face[0] + y * face[1] + rise * face[2] < -APPROACH * math.sqrt(x * x + y * y + rise * rise):
            if face[2] < 0.0:
                # A wedge of ground and ceiling.
                return c
            # Down into a steep slope: level instead.
            slope_count = 0
    worse(moved, row, LIMITED)
    return c


@kernel(inner="obstacles, parts, epa_space, f8[:,::1], movers, moved, f8[::1], i8, vec3, vec3, f8")
def fall_down(obstacles, parts, space, planes, movers, moved, rules, row, radii, c, drop):
    """The centre after it falls by up to `drop` metres, and as far as a step to ground that it stood on."""
    steepest = rules[STEEPEST]
    stays = movers.grounded[row] == 1 and movers.fall[row] <= 0.0
    if stays:
        down = (0.0, 0.0, -max(drop, rules[STEP_HEIGHT]) / radii[2])
        time, n, q, run, triangle = first_hit(obstacles, parts, space, row, radii, SKIN, c, down, -1)
        if time <= 1.0:
            landed = add_scaled(c, down, time)
            if bears(obstacles, parts, row, radii, landed, n, q, run, triangle, steepest):
                note_ground(obstacles, movers, moved, row, radii, n, q, run)
                return lifted(landed, n, q)
    return glide(obstacles, parts, space, planes, movers, moved, row, radii, SKIN, c, (0.0, 0.0, -drop), -1, FALL, steepest)


@device
def lifted(c, n, q):
    """The centre up to the gap from the point that it stands on, if it is nearer; by less than the gap to what is above."""
    height = n[0] * (c[0] - q[0]) + n[1] * (c[1] - q[1]) + n[2] * (c[2] - q[2])
    lack = 1.0 + SKIN - height
    return (c[0], c[1], c[2] + min(lack / n[2], 0.5 * NEAR)) if lack > 0.0 else c


@kernel("i8, i8, obstacles, parts, movers, f8[::1], moved")
def walk_rows(start, stop, obstacles, parts, movers, rules, moved):
    """One move of each character."""
    parts, space = own_parts(parts), new_epa_space(np.int64(EPA_FACES_FIRST))
    planes, walls = np.empty((_PLANES, 3)), np.empty((_PLANES, 3))
    dt = rules[DT]
    for row in range(start, stop):
        begin_row(moved, row)
        radii, c = load3(movers.radii, row, 0), (0.0, 0.0, 0.0)
        carry, motion = load3(movers.carry, row, 0), load3(movers.motion, row, 0)
        if norm(carry) > 0.0:
            skip = movers.carrier[row]
            c = glide(obstacles, parts, space, planes, movers, moved, row, radii, NEAR, c, carry, skip, CARRY, 2.0)
        c = pushed_out(obstacles, parts, space, movers, moved, row, radii, c)
        c = walk(obstacles, parts, space, planes, walls, movers, moved, rules, row, radii, c, motion[0], motion[1])
        fall = movers.fall[row] + dt * rules[GRAVITY]
        drop = -(dt * fall + motion[2])
        before = c[2]
        if drop >= 0.0:
            c = fall_down(obstacles, parts, space, planes, movers, moved, rules, row, radii, c, drop)
            # Down a slope of angle a it speeds up by g sin a, as it should: by the sine of the speed that it would fall with.
            if moved.grounded[row] or (before - c[2]) * radii[2] < HELD * drop:
                fall = 0.0
        else:
            hits, way = moved.hit_count[row], (0.0, 0.0, -drop)
            c = glide(obstacles, parts, space, planes, movers, moved, row, radii, NEAR, c, way, -1, FALL, 2.0)
            if moved.hit_count[row] > hits:
                fall = 0.0
        end_row(movers, moved, row, radii, c, fall)


@kernel("i8, i8, obstacles, parts, f8[:,::1], u1[::1]")
def room_rows(start, stop, obstacles, parts, radii, free_out):
    """Whether each character is in nothing where it is."""
    parts, space = own_parts(parts), new_epa_space(np.int64(EPA_FACES_FIRST))
    for row in range(start, stop):
        own = load3(radii, row, 0)
        depth, _way, _n, _q, _run = deepest(obstacles, parts, space, row, own, INSIDE, (0.0, 0.0, 0.0), -1)
        free_out[row] = depth <= 0.0
