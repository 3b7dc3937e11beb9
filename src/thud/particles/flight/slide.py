"""Sliding: what a particle does that no longer bounces but is pressed onto a collider.

On a plane, without friction or straight along its slope, a slide is a parabola within the plane, with drag a path of that kind,
in closed form: until it comes to the edge, to a stop, or to another collider. Elsewhere (quadrics, meshes, blobs, terrain;
with friction across the slope) it is stepped: hops of SLIDE_TIME with the whole of the acceleration, each begun with just the
speed off the surface that brings it back after that time: by the acceleration, and where the surface bends towards the
particle by what its normal has turned in the hop before. A hop's landing takes as much off the tangential speed as Coulomb's
friction does in that time, for the speed along the normal of its start and that of its end, and a surface that falls away
faster than the particle is left. A hop is press SLIDE_TIME^2 / 8 high, 5 um under gravity; its direction is that of the tangent
where it begins, so that on a curved surface it is off by SLIDE_TIME times what the direction turns in a second.

In a wedge of two planes it slides along their line, in closed form again, with the friction of both. Where one of the two is
no plane it hops off both, so fast that the hop takes SLIDE_TIME. Where it begins, see `clearance.py`.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.element import DISC, POLYGON, QUADRIC, RECTANGLE
from thud.particles.colliders.element_arrays import CLIP, CLIP_END, DU, DV, FLAT_SLACK, KIND, LOOP, LOOP_END, ORIGIN, SLACK
from thud.particles.crossings.drag_plane import dragged_plane_roots
from thud.particles.crossings.drag_time import psi, when_phi
from thud.particles.crossings.elements import dot3, real3
from thud.particles.crossings.roots import crossings
from thud.particles.flight.tolerances import SLIDE_STRAIGHT, SLIDE_TIME


@exact_device
def leaves_zero(m0, m1, m2):
    """The first time from 0 on at which a margin m0 + m1 t + m2 t^2 becomes negative; inf if it never does."""
    if m0 <= 0.0:
        # On the bound, or beside it by roundoff: does it go out?
        if m1 < 0.0 or (m1 == 0.0 and m2 < 0.0):
            return 0.0
        if m2 >= 0.0:
            return math.inf
        return -m1 / m2
    if m2 == 0.0:
        return -m0 / m1 if m1 < 0.0 else math.inf
    under = m1 * m1 - 4.0 * m2 * m0
    if under <= 0.0:
        return math.inf
    q = -0.5 * (m1 + math.copysign(math.sqrt(under), m1))
    one, other = q / m2, (m0 / q if q != 0.0 else math.inf)
    low, high = min(one, other), max(one, other)
    return low if low > 0.0 else (high if high > 0.0 else math.inf)


@exact_device
def side_time(sides, k, s, t):
    """When a path within a polygon's plane, s and t its coordinates as quadratics of the time, passes over side k; inf."""
    s0, t0, ds, dt = sides[k, 0], sides[k, 1], sides[k, 2] - sides[k, 0], sides[k, 3] - sides[k, 1]
    length2 = ds * ds + dt * dt
    if length2 == 0.0:
        return math.inf
    c0 = ds * (t[0] - t0) - dt * (s[0] - s0)
    c1, c2 = ds * t[1] - dt * s[1], ds * t[2] - dt * s[2]
    side = 1.0 if c0 > 0.0 else -1.0
    at = leaves_zero(side * c0, side * c1, side * c2)
    if not at < math.inf:
        return math.inf
    along = (s[0] + at * (s[1] + at * s[2]) - s0) * ds + (t[0] + at * (t[1] + at * t[2]) - t0) * dt
    return at if 0.0 <= along <= length2 else math.inf


@exact_kernel(inner="elements, i8, vec3, vec3, vec3")
def edge_time(elements, e, x, v, a):
    """When a path within the plane of element e, from x in its bounds on, leaves them; inf if it never does."""
    ints, reals, clips = elements.ints, elements.reals, elements.clips
    kind = ints[e, KIND]
    best = math.inf
    if RECTANGLE <= kind <= POLYGON:
        o, du, dv = real3(reals, e, ORIGIN), real3(reals, e, DU), real3(reals, e, DV)
        d = (x[0] - o[0], x[1] - o[1], x[2] - o[2])
        s, t = (dot3(du, d), dot3(du, v), 0.5 * dot3(du, a)), (dot3(dv, d), dot3(dv, v), 0.5 * dot3(dv, a))
        slack = reals[e, FLAT_SLACK]
        if kind == RECTANGLE:
            best = min(leaves_zero(s[0] + slack, s[1], s[2]), leaves_zero(1.0 + slack - s[0], -s[1], -s[2]))
            best = min(best, leaves_zero(t[0] + slack, t[1], t[2]), leaves_zero(1.0 + slack - t[0], -t[1], -t[2]))
        elif kind == DISC:
            out = s[0] * s[1] + t[0] * t[1]
            inside = 1.0 + slack - s[0] * s[0] - t[0] * t[0]
            if inside <= 0.0:
                best = 0.0 if out > 0.0 else math.inf
            else:
                c = (
                    (-inside, 0.0),
                    (2.0 * out, 0.0),
                    (s[1] * s[1] + t[1] * t[1] + 2.0 * (s[0] * s[2] + t[0] * t[2]), 0.0),
                    (2.0 * (s[1] * s[2] + t[1] * t[2]), 0.0),
                    (s[2] * s[2] + t[2] * t[2], 0.0),
                )
                _count, roots = crossings(c, math.inf)
                best = roots[0]
        else:
            for k in range(ints[e, LOOP], ints[e, LOOP_END]):
                best = min(best, side_time(elements.sides, k, s, t))
    for k in range(ints[e, CLIP], ints[e, CLIP_END]):
        n = (clips[k, 0], clips[k, 1], clips[k, 2])
        best = min(best, leaves_zero(clips[k, 3] + reals[e, SLACK] - dot3(n, x), -dot3(n, v), -0.5 * dot3(n, a)))
    return best


@exact_device
def dragged_leaves_zero(rate, m0, m1, m2):
    """`leaves_zero` of m0 + m1 t + m2 psi(t), a path with drag."""
    if m0 <= 0.0:
        if m1 < 0.0 or (m1 == 0.0 and m2 < 0.0):
            return 0.0
        m0 = 0.0
    one, _other = dragged_plane_roots(rate, (m0, 0.0), (m1, 0.0), (m2, 0.0), math.inf)
    # From within it goes out at the first root; from the bound inward, at the only one there is.
    return one


@exact_device
def dragged_side_time(sides, k, s, t, rate):
    """`side_time` of a path with drag: s and t as x, v and a along the axes."""
    s0, t0, ds, dt = sides[k, 0], sides[k, 1], sides[k, 2] - sides[k, 0], sides[k, 3] - sides[k, 1]
    length2 = ds * ds + dt * dt
    if length2 == 0.0:
        return math.inf
    c0 = ds * (t[0] - t0) - dt * (s[0] - s0)
    c1, c2 = ds * t[1] - dt * s[1], ds * t[2] - dt * s[2]
    side = 1.0 if c0 > 0.0 else -1.0
    at = dragged_leaves_zero(rate, side * c0, side * c1, side * c2)
    if not at < math.inf:
        return math.inf
    twice = psi(rate, at)
    along = (s[0] + at * s[1] + twice * s[2] - s0) * ds + (t[0] + at * t[1] + twice * t[2] - t0) * dt
    return at if 0.0 <= along <= length2 else math.inf


@exact_kernel(inner="elements, i8, vec3, vec3, vec3, f8")
def dragged_edge_time(elements, e, x, v, pull, rate):
    """`edge_time` of a path with drag; pull: the acceleration but for the drag's part of v. Of a disc a time before: until then
    it cannot have come to the edge, by its speed; 0 where that is no longer than a hop."""
    ints, reals, clips = elements.ints, elements.reals, elements.clips
    kind, a = ints[e, KIND], (pull[0] - rate * v[0], pull[1] - rate * v[1], pull[2] - rate * v[2])
    best = math.inf
    if RECTANGLE <= kind <= POLYGON:
        o, du, dv = real3(reals, e, ORIGIN), real3(reals, e, DU), real3(reals, e, DV)
        d = (x[0] - o[0], x[1] - o[1], x[2] - o[2])
        s, t = (dot3(du, d), dot3(du, v), dot3(du, a)), (dot3(dv, d), dot3(dv, v), dot3(dv, a))
        slack = reals[e, FLAT_SLACK]
        if kind == RECTANGLE:
            best = min(
                dragged_leaves_zero(rate, s[0] + slack, s[1], s[2]),
                dragged_leaves_zero(rate, 1.0 + slack - s[0], -s[1], -s[2]),
                dragged_leaves_zero(rate, t[0] + slack, t[1], t[2]),
                dragged_leaves_zero(rate, 1.0 + slack - t[0], -t[1], -t[2]),
            )
        elif kind == DISC:
            # The velocity is between that of the start and the last one.
            last = (s[1] + s[2] / rate, t[1] + t[2] / rate)
            speed = max(math.sqrt(s[1] * s[1] + t[1] * t[1]), math.sqrt(last[0] * last[0] + last[1] * last[1]))
            room = 1.0 - math.sqrt(s[0] * s[0] + t[0] * t[0])
            if room <= speed * SLIDE_TIME:
                return 0.0
            best = room / speed if speed > 0.0 else math.inf
        else:
            for k in range(ints[e, LOOP], ints[e, LOOP_END]):
                best = min(best, dragged_side_time(elements.sides, k, s, t, rate))
    for k in range(ints[e, CLIP], ints[e, CLIP_END]):
        n = (clips[k, 0], clips[k, 1], clips[k, 2])
        at = dragged_leaves_zero(rate, clips[k, 3] + reals[e, SLACK] - dot3(n, x), -dot3(n, v), -dot3(n, a))
        best = min(best, at)
    return best


@exact_device
def dragged_stop(v, pull, rate):
    """When a straight slide with velocity v and pull, friction in it and drag not, comes to a stop; inf if it does not."""
    speed = math.sqrt(dot3(v, v))
    if speed == 0.0:
        return math.inf
    along = dot3(pull, v) / speed
    # speed + (along - rate speed) phi(t) = 0; without pull it never ends.
    return when_phi(rate, speed / (rate * speed - along)) if along < 0.0 else math.inf


@exact_device
def is_plane(elements, e):
    """Whether a slide on element e, or on none (-1), is in closed form."""
    return e >= 0 and elements.ints[e, KIND] != QUADRIC


@exact_device
def slide_acceleration(v, pull, grip):
    """(moves, straight, acceleration, stops) of a slide with velocity v: pull along the surface, friction `grip` against the
    motion. straight: its acceleration is constant; stops: until this time, when it comes to a stop; then it may start again."""
    none = (0.0, 0.0, 0.0)
    speed, steep = math.sqrt(dot3(v, v)), math.sqrt(dot3(pull, pull))
    if speed == 0.0:
        if steep <= grip:
            return False, True, none, math.inf
        part = 1.0 - grip / steep
        return True, True, (pull[0] * part, pull[1] * part, pull[2] * part), math.inf
    if grip == 0.0:
        return True, True, pull, math.inf
    cross = (v[1] * pull[2] - v[2] * pull[1], v[2] * pull[0] - v[0] * pull[2], v[0] * pull[1] - v[1] * pull[0])
    straight = math.sqrt(dot3(cross, cross)) <= SLIDE_STRAIGHT * speed * steep
    part = grip / speed
    a = (pull[0] - part * v[0], pull[1] - part * v[1], pull[2] - part * v[2])
    along = dot3(a, v) / speed
    return True, straight, a, (speed / -along if along < 0.0 else math.inf)
