"""Rays against solids in the solid's own frame: devices for kernels that have moved the ray there already.

Every device takes the ray's origin (3-tuple, metres) and its unit direction (3-tuple), then the sizes of the solid,
and returns (t, nx, ny, nz): the distance along the ray in metres and the outward unit normal at the hit. A miss is
t = inf with normal 0; an origin inside the closed solid is t = 0 with normal 0.

The solids are convex, so each is an intersection (the capsule: a union) of simple pieces that the ray crosses in one
interval. Intersecting intervals leaves no cracks where two pieces of the surface meet: a ray through the rim of a
cylinder cannot slip between side and cap.

For the quadrics the discriminant is not the textbook's b^2 - a c, which cancels when the origin is far away, but
a r^2 - m^2 with the moment m = o x d, that is the ray's distance of closest approach: its error is that of the
rounded direction, about 1e-16 * |o|.

Rays against planes, boxes and spheres: [Slides]; the interval view: Kay and Kajiya 1986, Ericson 2005 (5.3).
"""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.geometry.tolerances import APEX, RAY_PARALLEL
from thud.math.vec3 import add_scaled, cross, dot, norm, norm2


@device
def quadratic_interval(a, b, c, discriminant):
    """Both roots, in order, of a t^2 + 2 b t + c, a > 0, given discriminant = b^2 - a c >= 0 as computed without cancelling."""
    root = math.sqrt(discriminant)
    # Add numbers of one sign, and get the other root from the product of the two, c / a.
    if b <= 0.0:
        q = root - b
        far = q / a
        near = c / q if q > 0.0 else 0.0
        near = min(near, far)
    else:
        q = -b - root
        near = q / a
        far = max(c / q, near)
    return near, far


@device
def slab_interval(o, d, lower, upper):
    """Where lower <= o + t d <= upper, one coordinate: (near, far), or (inf, -inf) where it never is."""
    if abs(d) < RAY_PARALLEL:
        if lower <= o <= upper:
            return -math.inf, math.inf
        return math.inf, -math.inf
    t0 = (lower - o) / d
    t1 = (upper - o) / d
    return min(t0, t1), max(t0, t1)


@device
def sphere_interval(o, d, radius):
    """Where |o + t d| <= radius, d of unit length: (near, far), or (inf, -inf) where it never is."""
    moment = norm(cross(o, d))
    gap = (radius - moment) * (radius + moment)
    if not gap >= 0.0:
        return math.inf, -math.inf
    distance = norm(o)
    return quadratic_interval(1.0, dot(o, d), (distance - radius) * (distance + radius), gap)


@device
def tube_interval(o, d, radius):
    """Where the ray is inside the infinite cylinder of `radius` around z: (near, far), or (inf, -inf)."""
    a = d[0] * d[0] + d[1] * d[1]
    distance = math.sqrt(o[0] * o[0] + o[1] * o[1])
    if a < RAY_PARALLEL:
        if distance <= radius:
            return -math.inf, math.inf
        return math.inf, -math.inf
    moment = abs(o[0] * d[1] - o[1] * d[0])
    reach = radius * math.sqrt(a)
    gap = (reach - moment) * (reach + moment)
    if not gap >= 0.0:
        return math.inf, -math.inf
    return quadratic_interval(a, o[0] * d[0] + o[1] * d[1], (distance - radius) * (distance + radius), gap)


@device
def ray_sphere_local(o, d, radius):
    """Ray against the sphere around the origin: (t, nx, ny, nz)."""
    if norm2(o) <= radius * radius:
        return 0.0, 0.0, 0.0, 0.0
    near, far = sphere_interval(o, d, radius)
    if not (far >= 0.0 and near < math.inf):
        return math.inf, 0.0, 0.0, 0.0
    t = max(near, 0.0)
    hit = add_scaled(o, d, t)
    length = norm(hit)
    if length == 0.0:
        return t, -d[0], -d[1], -d[2]
    return t, hit[0] / length, hit[1] / length, hit[2] / length


@device
def ray_aabb(o, d, lower, upper):
    """Ray against the box lower <= x <= upper (3-tuples): (t, nx, ny, nz)."""
    if lower[0] <= o[0] <= upper[0] and lower[1] <= o[1] <= upper[1] and lower[2] <= o[2] <= upper[2]:
        return 0.0, 0.0, 0.0, 0.0
    near_x, far_x = slab_interval(o[0], d[0], lower[0], upper[0])
    near_y, far_y = slab_interval(o[1], d[1], lower[1], upper[1])
    near_z, far_z = slab_interval(o[2], d[2], lower[2], upper[2])
    near = max(near_x, max(near_y, near_z))
    far = min(far_x, min(far_y, far_z))
    if not (far >= 0.0 and near <= far and near < math.inf):
        return math.inf, 0.0, 0.0, 0.0
    # The slab entered last is the face that is hit; its normal opposes the ray.
    t = max(near, 0.0)
    if near_x == near:
        return t, -math.copysign(1.0, d[0]), 0.0, 0.0
    if near_y == near:
        return t, 0.0, -math.copysign(1.0, d[1]), 0.0
    return t, 0.0, 0.0, -math.copysign(1.0, d[2])


@device
def ray_box_local(o, d, half_extents):
    """Ray against the box |x| <= half_extents (3-tuple): (t, nx, ny, nz)."""
    return ray_aabb(o, d, (-half_extents[0], -half_extents[1], -half_extents[2]), half_extents)


@device
def ray_capsule_local(o, d, radius, half_length):
    """Ray against the capsule of `radius` around the z segment [-half_length, half_length]: (t, nx, ny, nz)."""
    # Inside: within radius of the nearest point of the segment.
    beyond = o[2] - min(max(o[2], -half_length), half_length)
    if o[0] * o[0] + o[1] * o[1] + beyond * beyond <= radius * radius:
        return 0.0, 0.0, 0.0, 0.0
    # The tube holds the whole capsule. In it, the capsule is the union of a cylinder and two balls.
    side_near, side_far = tube_interval(o, d, radius)
    if not side_far >= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    slab_near, slab_far = slab_interval(o[2], d[2], -half_length, half_length)
    near, far = max(side_near, slab_near), min(side_far, slab_far)
    t = math.inf
    if far >= 0.0 and near <= far:
        t = max(near, 0.0)
    for end in (-half_length, half_length):
        near, far = sphere_interval((o[0], o[1], o[2] - end), d, radius)
        if far >= 0.0:
            t = min(t, max(near, 0.0))
    if not t < math.inf:
        return math.inf, 0.0, 0.0, 0.0
    # The normal points away from the nearest point of the segment.
    hit = add_scaled(o, d, t)
    out = (hit[0], hit[1], hit[2] - min(max(hit[2], -half_length), half_length))
    length = norm(out)
    if length == 0.0:
        return t, -d[0], -d[1], -d[2]
    return t, out[0] / length, out[1] / length, out[2] / length


@device
def ray_cylinder_local(o, d, radius, half_length):
    """Ray against the cylinder of `radius` around z, |z| <= half_length: (t, nx, ny, nz)."""
    if o[0] * o[0] + o[1] * o[1] <= radius * radius and abs(o[2]) <= half_length:
        return 0.0, 0.0, 0.0, 0.0
    side_near, side_far = tube_interval(o, d, radius)
    slab_near, slab_far = slab_interval(o[2], d[2], -half_length, half_length)
    near, far = max(side_near, slab_near), min(side_far, slab_far)
    if not (far >= 0.0 and near <= far and near < math.inf):
        return math.inf, 0.0, 0.0, 0.0
    t = max(near, 0.0)
    # What is entered last is what is hit: the side, or a cap whose normal opposes the ray.
    if side_near >= slab_near:
        x, y = o[0] + t * d[0], o[1] + t * d[1]
        length = math.sqrt(x * x + y * y)
        if length > 0.0:
            return t, x / length, y / length, 0.0
    return t, 0.0, 0.0, -math.copysign(1.0, d[2])


@device
def _nappe_interval(o, d, slope, half_length):
    """Where the ray is in the infinite cone below the apex (0, 0, half_length): hypot(x, y) <= slope * w, w = half_length - z.

    Gives an interval that may reach into the mirrored cone above the apex as far as the slab w >= 0 cuts it off.
    """
    w, dw = half_length - o[2], -d[2]
    # f(t) = |xy|^2 - slope^2 w^2 = a t^2 + 2 b t + c
    flat2 = d[0] * d[0] + d[1] * d[1]
    flat = math.sqrt(flat2)
    a = (flat - slope * abs(dw)) * (flat + slope * abs(dw))
    b = o[0] * d[0] + o[1] * d[1] - slope * slope * w * dw
    distance = math.sqrt(o[0] * o[0] + o[1] * o[1])
    c = (distance - slope * w) * (distance + slope * w)
    # b^2 - a c in terms of the moment about the apex, m = (x, y, w) x (dx, dy, dw): slope^2 (mx^2 + my^2) - mz^2.
    mx, my, mz = o[1] * dw - w * d[1], w * d[0] - o[0] * dw, o[0] * d[1] - o[1] * d[0]
    tilt = slope * math.sqrt(mx * mx + my * my)
    gap = (tilt - abs(mz)) * (tilt + abs(mz))
    if a >= RAY_PARALLEL:
        # Flatter than the side: f <= 0 between the roots.
        if not gap >= 0.0:
            return math.inf, -math.inf
        return quadratic_interval(a, b, c, gap)
    if a <= -RAY_PARALLEL:
        # Steeper: f <= 0 outside the roots, below the apex on the side towards which w grows.
        near, far = quadratic_interval(-a, -b, -c, max(gap, 0.0))
        return (far, math.inf) if dw > 0.0 else (-math.inf, near)
    # As steep as the side: f is linear, and constantly 0 on the side itself.
    if b < 0.0:
        return -0.5 * c / b, math.inf
    if b > 0.0:
        return -math.inf, -0.5 * c / b
    return -math.inf, math.inf


@device
def ray_cone_local(o, d, radius, half_length):
    """Ray against the cone with apex (0, 0, half_length) and base disc of `radius` at z = -half_length: (t, nx, ny, nz)."""
    slope = 0.5 * radius / half_length
    w = half_length - o[2]
    if abs(o[2]) <= half_length and o[0] * o[0] + o[1] * o[1] <= (slope * w) * (slope * w):
        return 0.0, 0.0, 0.0, 0.0
    side_near, side_far = _nappe_interval(o, d, slope, half_length)
    slab_near, slab_far = slab_interval(o[2], d[2], -half_length, half_length)
    near, far = max(side_near, slab_near), min(side_far, slab_far)
    if not (far >= 0.0 and near <= far and near < math.inf):
        return math.inf, 0.0, 0.0, 0.0
    t = max(near, 0.0)
    if side_near >= slab_near or d[2] < 0.0:
        # The side's normal leans upwards by the slope.
        x, y = o[0] + t * d[0], o[1] + t * d[1]
        length = math.sqrt(x * x + y * y)
        if length <= APEX * (abs(o[0]) + abs(o[1]) + t * (abs(d[0]) + abs(d[1]))):
            # At the apex it is the axis; for a ray that comes from below, that of the side it comes from.
            x, y, length = -d[0], -d[1], math.sqrt(d[0] * d[0] + d[1] * d[1])
            if d[2] <= 0.0 or length == 0.0:
                return t, 0.0, 0.0, 1.0
        lean = 1.0 / math.sqrt(1.0 + slope * slope)
        return t, x / length * lean, y / length * lean, slope * lean
    return t, 0.0, 0.0, -1.0


@device
def ray_ellipsoid_local(o, d, radii):
    """Ray against the ellipsoid of the three `radii` along x, y, z: (t, nx, ny, nz)."""
    # Divided by the radii the ellipsoid is the unit sphere, the parameter t stays, and the direction loses its length.
    p = (o[0] / radii[0], o[1] / radii[1], o[2] / radii[2])
    e = (d[0] / radii[0], d[1] / radii[1], d[2] / radii[2])
    distance = norm(p)
    if distance <= 1.0:
        return 0.0, 0.0, 0.0, 0.0
    speed, moment = norm(e), norm(cross(p, e))
    gap = (speed - moment) * (speed + moment)
    if not gap >= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    near, far = quadratic_interval(speed * speed, dot(p, e), (distance - 1.0) * (distance + 1.0), gap)
    if not (far >= 0.0 and near < math.inf):
        return math.inf, 0.0, 0.0, 0.0
    t = max(near, 0.0)
    # The gradient of |x / radii|^2 is the normal.
    hit = add_scaled(p, e, t)
    out = (hit[0] / radii[0], hit[1] / radii[1], hit[2] / radii[2])
    length = norm(out)
    return t, out[0] / length, out[1] / length, out[2] / length
