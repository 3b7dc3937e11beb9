"""Signed distance of a point to a convex part, in the part's frame, in closed form (an ellipsoid: one monotone root).

Each device returns (distance, closest surface point, outward unit normal there): distance is negative inside, and
point = closest + distance * normal. Where the closest point is not unique (on an axis, at the centre) one of them is
taken, the same one every time. Hulls are not here: see `closest_point.py`.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud.convex.tolerances import ELLIPSOID_NUDGE, ELLIPSOID_STEP
from thud.shapes.packed import KIND, P0, P1, P2, P3, RADIUS
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HALF_SPACE


@device
def point_ball(p, radius):
    """Ball about the origin."""
    d = math.sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2])
    if d > 0.0:
        n = (p[0] / d, p[1] / d, p[2] / d)
    else:
        n = (1.0, 0.0, 0.0)
    return d - radius, (n[0] * radius, n[1] * radius, n[2] * radius), n


@device
def point_capsule(p, radius, half_length):
    """Capsule along z."""
    z = min(max(p[2], -half_length), half_length)
    d, q, n = point_ball((p[0], p[1], p[2] - z), radius)
    return d, (q[0], q[1], q[2] + z), n


@device
def point_box(p, hx, hy, hz):
    """Box along the axes."""
    x, y, z = min(max(p[0], -hx), hx), min(max(p[1], -hy), hy), min(max(p[2], -hz), hz)
    dx, dy, dz = p[0] - x, p[1] - y, p[2] - z
    d2 = dx * dx + dy * dy + dz * dz
    if d2 > 0.0:
        d = math.sqrt(d2)
        return d, (x, y, z), (dx / d, dy / d, dz / d)
    # Inside: the nearest face.
    gx, gy, gz = hx - abs(x), hy - abs(y), hz - abs(z)
    if gx <= gy and gx <= gz:
        s = math.copysign(1.0, x)
        return -gx, (s * hx, y, z), (s, 0.0, 0.0)
    if gy <= gz:
        s = math.copysign(1.0, y)
        return -gy, (x, s * hy, z), (0.0, s, 0.0)
    s = math.copysign(1.0, z)
    return -gz, (x, y, s * hz), (0.0, 0.0, s)


@device
def turn_out(p, rho):
    """Unit vector from the z axis to p; x where p lies on the axis."""
    if rho > 0.0:
        return p[0] / rho, p[1] / rho
    return 1.0, 0.0


@device
def point_cylinder(p, radius, half_length):
    """Cylinder along z: a rectangle in the half-plane (rho, z)."""
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    ux, uy = turn_out(p, rho)
    z = min(max(p[2], -half_length), half_length)
    near = min(rho, radius)
    dr, dz = rho - near, p[2] - z
    if dr > 0.0 or dz != 0.0:
        d = math.sqrt(dr * dr + dz * dz)
        return d, (ux * near, uy * near, z), (ux * (dr / d), uy * (dr / d), dz / d)
    side, cap = radius - rho, half_length - abs(z)
    if side <= cap:
        return -side, (ux * radius, uy * radius, z), (ux, uy, 0.0)
    s = math.copysign(1.0, z)
    return -cap, (p[0], p[1], s * half_length), (0.0, 0.0, s)


@device
def point_cone(p, radius, half_length):
    """Cone along z, apex up: a right triangle in the half-plane (rho, z)."""
    rho = math.sqrt(p[0] * p[0] + p[1] * p[1])
    ux, uy = turn_out(p, rho)
    # The side runs from the rim (radius, -h) to the apex (0, h); (nr, nz) is its outward normal.
    height = 2.0 * half_length
    slant = math.sqrt(radius * radius + height * height)
    nr, nz = height / slant, radius / slant
    above_side = (rho - radius) * nr + (p[2] + half_length) * nz
    along = ((radius - rho) * radius + (p[2] + half_length) * height) / slant  # from the rim towards the apex
    below_base = -half_length - p[2]
    if above_side <= 0.0 and below_base <= 0.0:
        # Inside: the nearer of side and base.
        if above_side >= below_base:
            return (
                above_side,
                (ux * (rho - above_side * nr), uy * (rho - above_side * nr), p[2] - above_side * nz),
                (ux * nr, uy * nr, nz),
            )
        return below_base, (p[0], p[1], -half_length), (0.0, 0.0, -1.0)
    if 0.0 <= along <= slant and above_side > 0.0:
        return (
            above_side,
            (ux * (rho - above_side * nr), uy * (rho - above_side * nr), p[2] - above_side * nz),
            (ux * nr, uy * nr, nz),
        )
    # Otherwise the closest point is the apex, or lies on the base disc.
    if along > slant and above_side > 0.0:
        qr, qz = 0.0, half_length
    else:
        qr, qz = min(rho, radius), -half_length
    dr, dz = rho - qr, p[2] - qz
    d = math.sqrt(dr * dr + dz * dz)
    if d > 0.0:
        return d, (ux * qr, uy * qr, qz), (ux * (dr / d), uy * (dr / d), dz / d)
    return 0.0, (ux * qr, uy * qr, qz), (ux * nr, uy * nr, nz)


@kernel(inner="vec3, f8, f8, f8")
def point_ellipsoid(p, e0, e1, e2):
    """Ellipsoid along the axes.

    The closest surface point is x_i = e_i^2 p_i / (s + e_i^2) with x on the surface (Eberly). With the smallest
    radius m and u = (s + m^2) / m^2 > 0 the condition is monotone and convex in u, so Newton from the left of the
    root climbs to it and never overshoots. A coordinate that is exactly 0 along the smallest radius is nudged by
    ELLIPSOID_NUDGE radii, which picks one of the two mirrored solutions.
    """
    y0, y1, y2 = abs(p[0]), abs(p[1]), abs(p[2])
    m = min(e0, e1, e2)
    if e0 == m:
        y0 = max(y0, ELLIPSOID_NUDGE * m)
    elif e1 == m:
        y1 = max(y1, ELLIPSOID_NUDGE * m)
    else:
        y2 = max(y2, ELLIPSOID_NUDGE * m)
    r0, r1, r2 = (e0 / m) * (e0 / m), (e1 / m) * (e1 / m), (e2 / m) * (e2 / m)
    c0, c1, c2 = (e0 / m) * (y0 / m), (e1 / m) * (y1 / m), (e2 / m) * (y2 / m)
    # Exactly 0 for the smallest radius: e / m may be off 1 by a roundoff, which near the centre is more than u.
    g0, g1, g2 = (e0 - m) / m * (e0 + m) / m, (e1 - m) / m * (e1 + m) / m, (e2 - m) / m * (e2 + m) / m
    # Each term alone must not exceed 1: a lower bound of the root.
    u = max(c0 - g0, c1 - g1, c2 - g2)
    # From as little as 1e-30 each step makes u half as large again, or better; the root is above 1e-20 then.
    for _ in range(100):
        t0, t1, t2 = c0 / (u + g0), c1 / (u + g1), c2 / (u + g2)
        value = t0 * t0 + t1 * t1 + t2 * t2 - 1.0
        slope = 2.0 * (t0 * t0 / (u + g0) + t1 * t1 / (u + g1) + t2 * t2 / (u + g2))
        step = value / slope
        if not step > ELLIPSOID_STEP * u:
            break
        u += step
    x0, x1, x2 = r0 * y0 / (u + g0), r1 * y1 / (u + g1), r2 * y2 / (u + g2)
    x0, x1, x2 = math.copysign(x0, p[0]), math.copysign(x1, p[1]), math.copysign(x2, p[2])
    n0, n1, n2 = x0 / r0, x1 / r1, x2 / r2
    length = math.sqrt(n0 * n0 + n1 * n1 + n2 * n2)
    n = (n0 / length, n1 / length, n2 / length)
    d = (p[0] - x0) * n[0] + (p[1] - x1) * n[1] + (p[2] - x2) * n[2]
    return d, (x0, x1, x2), n


@kernel(inner="parts, i8, vec3")
def point_part(parts, part, p):
    """Signed distance, closest surface point and outward normal for any kind but HULL. Part's frame."""
    kind, radius = parts.ints[part, KIND], parts.reals[part, RADIUS]
    p0, p1, p2 = parts.reals[part, P0], parts.reals[part, P1], parts.reals[part, P2]
    if kind == BOX:
        return point_box(p, p0, p1, p2)
    if kind == CAPSULE:
        return point_capsule(p, radius, p1)
    if kind == CYLINDER:
        return point_cylinder(p, p0, p1)
    if kind == CONE:
        return point_cone(p, p0, p1)
    if kind == ELLIPSOID:
        return point_ellipsoid(p, p0, p1, p2)
    if kind == HALF_SPACE:
        d = p[0] * p0 + p[1] * p1 + p[2] * p2 - parts.reals[part, P3]
        return d, (p[0] - d * p0, p[1] - d * p1, p[2] - d * p2), (p0, p1, p2)
    return point_ball(p, radius)
