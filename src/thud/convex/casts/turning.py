"""Frames that move and turn, and how fast the points of a part can move in them.

A mover is a part of a shape in motion: (R, p, u, w). The shape turns with the constant rate w (radians over the step) about
the unit vector u through the origin of its frame, which moves along a straight line; R is the part's rotation at time 0 and
p the part's origin relative to the shape's, both in world axes. At time s they are exp(s w u) R and exp(s w u) p, computed
from time 0 each time, so that nothing drifts. Positions are relative to the shape's origin throughout.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.convex.tolerances import TURN_LEAST
from thud.math.pose import compose_rotation, rotate, unrotate
from thud.math.vec3 import cross, dot, norm, sub
from thud.shapes.packed import KIND, P0, P1, P2, VERTEX_COUNT, VERTEX_START
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HULL

#: The type of a mover, as signatures state it.
MOVER = "Tuple((mat3, vec3, vec3, f8))"


@device
def turn_rate(w):
    """(unit axis, angle) of a rotation vector; angle 0 where it is too short to have an axis."""
    largest = max(abs(w[0]), max(abs(w[1]), abs(w[2])))
    if not largest > TURN_LEAST:
        return (0.0, 0.0, 1.0), 0.0
    x, y, z = w[0] / largest, w[1] / largest, w[2] / largest
    length = math.sqrt(x * x + y * y + z * z)
    return (x / length, y / length, z / length), largest * length


@device
def turn(u, angle):
    """Rotation by an angle about the unit vector u (Rodrigues)."""
    s, c, half = math.sin(angle), math.cos(angle), math.sin(0.5 * angle)
    k = 2.0 * half * half
    x, y, z = u
    return (
        c + k * x * x, k * x * y - s * z, k * x * z + s * y,
        k * x * y + s * z, c + k * y * y, k * y * z - s * x,
        k * x * z - s * y, k * y * z + s * x, c + k * z * z,
    )  # fmt: skip


@device
def make_mover(r, u, w, part_r, part_t):
    """Mover of a part at (part_r, part_t) in a shape of rotation r."""
    return compose_rotation(r, part_r), rotate(r, part_t), u, w


@device
def place(mover, s):
    """(rotation, origin) of a mover at time s."""
    r, p, u, w = mover
    if w == 0.0:
        return r, p
    e = turn(u, s * w)
    return compose_rotation(e, r), rotate(e, p)


@device
def shift(d, v, s):
    """d + s v."""
    return d[0] + s * v[0], d[1] + s * v[1], d[2] + s * v[2]


@device
def longer(x, o, u, across, far):
    """(across, far), made larger to hold the point x: distances from the axis u through o, and from o."""
    d = sub(x, o)
    return max(across, norm(cross(d, u))), max(far, norm(d))


@kernel(inner="parts, i8, " + MOVER)
def core_reach(parts, k, mover):
    """(across, far): how far the core of part k reaches from the axis of the shape's rotation, and from the shape's origin.

    Both are convex functions of the point, so extreme points suffice; round rims are bounded by centre and radius. Neither
    changes while the shape turns.
    """
    r, p, u, _w = mover
    kind = parts.ints[k, KIND]
    o = unrotate(r, p)
    o = (-o[0], -o[1], -o[2])
    u = unrotate(r, u)
    p0, p1, p2 = parts.reals[k, P0], parts.reals[k, P1], parts.reals[k, P2]
    across, far = 0.0, 0.0
    if kind == HULL:
        start = parts.ints[k, VERTEX_START]
        for i in range(start, start + parts.ints[k, VERTEX_COUNT]):
            across, far = longer((parts.vertices[0, i], parts.vertices[1, i], parts.vertices[2, i]), o, u, across, far)
    elif kind == BOX:
        for i in range(8):
            x = p0 if i & 1 else -p0
            y = p1 if i & 2 else -p1
            z = p2 if i & 4 else -p2
            across, far = longer((x, y, z), o, u, across, far)
    elif kind == CAPSULE:
        across, far = longer((0.0, 0.0, p1), o, u, across, far)
        across, far = longer((0.0, 0.0, -p1), o, u, across, far)
    elif kind in (CYLINDER, CONE):
        across, far = longer((0.0, 0.0, -p1), o, u, across, far)
        if kind == CYLINDER:
            across, far = longer((0.0, 0.0, p1), o, u, across, far)
        across, far = across + p0, far + p0
        if kind == CONE:
            across, far = longer((0.0, 0.0, p1), o, u, across, far)
    else:
        across, far = longer((0.0, 0.0, 0.0), o, u, across, far)
        if kind == ELLIPSOID:
            across, far = across + max(p0, max(p1, p2)), far + max(p0, max(p1, p2))
    return across, far


@device
def spin(parts, k, mover):
    """(|part of the rate across the symmetry axis|, |part along it|) for a solid of revolution about an axis through the
    shape's origin; (inf, inf) for other parts."""
    r, p, u, w = mover
    kind = parts.ints[k, KIND]
    round_ = kind in (CYLINDER, CONE) or (kind == ELLIPSOID and parts.reals[k, P0] == parts.reals[k, P1])
    if not (round_ and p[0] == 0.0 and p[1] == 0.0 and p[2] == 0.0):
        return math.inf, math.inf
    z = (r[2], r[5], r[8])
    return w * norm(cross(u, z)), w * abs(dot(u, z))


@device
def motion_bounds(n, mover, across, far, tilt, roll):
    """(speed, curvature): bounds of |first| and of the second derivative of the support of a part's core along n, by its
    rotation alone.

    A point at x turns as exp(s w u) x: the derivatives of n.x are at most w |u x n| and w^2 |u x n| times its distance from
    the axis. A solid of revolution is also the set of points that turn back about its own axis z as it turns: for w u =
    tilt + roll z they are at most tilt and tilt (w + roll) times its distance from the origin, 0 for one that rolls in place.
    """
    _r, _p, u, w = mover
    if w == 0.0:
        return 0.0, 0.0
    sine = norm(cross(u, n))
    speed, curvature = w * sine * across, w * w * sine * across
    if tilt < math.inf:
        speed, curvature = min(speed, tilt * far), min(curvature, tilt * (w + roll) * far)
    return speed, curvature


@device
def clear_step(f0, f1, h, curvature):
    """How much of a step h is proved free of contact, from the separations f0 > 0 and f1 at its two ends.

    The separation f along a fixed direction is a least value over pairs of points, each of which has a second derivative of
    at most c = `curvature`; so f(s) - c s^2 / 2 is a least value of concave functions, itself concave, and nowhere on the
    step below the chord through its ends:

        f(x h) >= f0 + (f1 - f0) x - q x (1 - x),   q = c h^2 / 2,   0 <= x <= 1.

    The step is free up to the first zero of the right side.
    """
    q = 0.5 * curvature * h * h
    b = f1 - f0 - q
    square = b * b - 4.0 * q * f0
    if b >= 0.0 or square < 0.0:
        return h
    return min(2.0 * f0 / (math.sqrt(square) - b), 1.0) * h


@device
def step_guess(f, rate, curvature, remaining):
    """A step worth asking about: where f + rate h vanishes, but no longer than what curvature allows to be proved."""
    h = remaining
    if rate < 0.0:
        h = min(h, -f / rate)
    if curvature > 0.0:
        h = min(h, max(math.sqrt(8.0 * f / curvature), 2.0 * rate / curvature))
    return h
