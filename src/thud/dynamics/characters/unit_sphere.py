"""A character as the unit sphere of its own space: what it first meets on its way, and what it is in.

Space: relative to where the move starts, divided by the radii. In it the ellipsoid is a sphere, and the swept test against a
triangle has a closed form: its plane, inside it, its edges, its vertices ([Slides], moving tests). A curved convex part is cast
against the ellipsoid itself, in metres, and the result taken into that space: a normal n of the ellipsoid belongs to the point
D n / |D n| of the sphere, D = diag(x, y, z).

A gap is kept from everything, so the sphere is a little larger than it. What is touched already is met at once if the motion
approaches it, and never if not: the distance to something convex that does not fall at the begin never falls.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import AT_START, MISS
from thud.continuous.moving_spheres import edge_time
from thud.convex.casts.linear_cast import cast_pair
from thud.convex.convex_pair import pair_signed
from thud.convex.gjk import center_axis
from thud.convex.rows.work_space import epa_faces
from thud.dynamics.characters.tolerances import APPROACH, RIM, SAME_POINT, TOUCHING
from thud.dynamics.characters.types import BODY, FIRST, PART, SOLID, STOP
from thud.geometry.moving_sphere import moving_sphere_sphere
from thud.geometry.triangle import point_triangle_called
from thud.math.pose import load_rotation, load_translation, rotate, untransform
from thud.math.vec3 import add_scaled, cross, dot, load3, norm, sub
from thud.shapes.packed import BOUND, KIND, P0, P1
from thud.shapes.shape import CONE, CYLINDER


@device
def times(a, b):
    """Component by component."""
    return a[0] * b[0], a[1] * b[1], a[2] * b[2]


@device
def over(a, b):
    """Component by component."""
    return a[0] / b[0], a[1] / b[1], a[2] / b[2]


@device
def unit(a):
    """a / |a|; 0 for 0."""
    length = norm(a)
    return (a[0] / length, a[1] / length, a[2] / length) if length > 0.0 else (0.0, 0.0, 0.0)


@device
def set_radii(parts, radii, gap):
    """Part 0 is the character's ellipsoid, larger by the gap."""
    for k in range(3):
        parts.reals[0, P0 + k] = radii[k] * (1.0 + gap)
    parts.reals[0, BOUND] = max(radii[0], max(radii[1], radii[2])) * (1.0 + gap)


@device
def face_time(height, speed, c, m, radius, n, a, b, d):
    """When a sphere about c first touches the inside of the triangle a, b, d with the unit normal n, from outside; inf for
    never."""
    if height < 0.0:
        height, speed = -height, -speed
    if not (speed < 0.0 and height >= radius and height - radius <= -speed):
        return math.inf
    t = (height - radius) / -speed
    at = sub(add_scaled(c, m, t), a)
    e1, e2 = sub(b, a), sub(d, a)
    v, w = dot(cross(at, e2), n), dot(cross(e1, at), n)
    return t if v >= 0.0 and w >= 0.0 and v + w <= dot(cross(e1, e2), n) else math.inf


@kernel
def border_time(c, m, radius, a, b, d):
    """When it first touches an edge or a vertex; inf for never."""
    back = (-m[0], -m[1], -m[2])
    time = min(edge_time(c, m, radius, a, b), min(edge_time(c, m, radius, b, d), edge_time(c, m, radius, d, a)))
    time = min(time, moving_sphere_sphere(sub(a, c), back, radius))
    time = min(time, moving_sphere_sphere(sub(b, c), back, radius))
    return min(time, moving_sphere_sphere(sub(d, c), back, radius))


@kernel(inner="parts, epa_space, i8, f8[:,::1], i8, vec3, f8, vec3, vec3")
def part_hit(parts, space, b, poses, k, radii, gap, c, m):
    """(time, normal to the centre, point) of the first contact with a curved part; inf for none."""
    zero = (0.0, 0.0, 0.0)
    set_radii(parts, radii, gap)
    way, r = times(m, radii), load_rotation(poses, k)
    t = sub(load_translation(poses, k), times(c, radii))
    status, time, _p, n = cast_pair(parts, 0, b, r, t, (-way[0], -way[1], -way[2]), 1.0)
    if status == MISS:
        return math.inf, zero, zero
    if status == AT_START:
        axis = center_axis(parts, 0, b, r, t)
        _status, _d, _p, n = pair_signed(parts, 0, b, r, t, axis, 1e308, epa_faces(space), space.reals, space.ints)
    if time == 0.0 and dot(way, n) <= APPROACH * norm(way):
        return math.inf, zero, zero
    n = unit(times((-n[0], -n[1], -n[2]), radii))
    return time, n, add_scaled(add_scaled(c, m, time), n, -(1.0 + gap))


@device
def load_corners(corners, j):
    """The three corners of triangle j."""
    return load3(corners, j, 0), load3(corners, j, 3), load3(corners, j, 6)


@device
def first_face(obstacles, row, radius, c, m, skip):
    """(time, run, triangle) of the first face that is touched inside, from farther away than touching; inf for none."""
    best, run, triangle = math.inf, np.int64(-1), np.int64(-1)
    for k in range(obstacles.first[row], obstacles.first[row + 1]):
        if obstacles.runs[k, BODY] == skip or obstacles.runs[k, PART] >= 0:
            continue
        for j in range(obstacles.runs[k, FIRST], obstacles.runs[k, STOP]):
            n = load3(obstacles.planes, j, 0)
            height, speed = dot(n, c) - obstacles.planes[j, 3], dot(n, m)
            above = abs(height) - radius
            if TOUCHING < above <= abs(speed) * min(best, 1.0):
                a, b, d = load_corners(obstacles.corners, j)
                time = face_time(height, speed, c, m, radius, n, a, b, d)
                if time < best:
                    best, run, triangle = time, k, np.int64(j)
    return best, run, triangle


@kernel(inner="obstacles, parts, epa_space, i8, vec3, f8, vec3, vec3, i8")
def first_hit(obstacles, parts, space, row, radii, gap, c, m, skip):
    """(time, normal, point, run, triangle) of what the sphere about c, larger by the gap, meets first on its way m.

    The normal points from the point of contact to the centre. Time inf: nothing. Body `skip` is passed.
    """
    radius, length = 1.0 + gap, norm(m)
    touch = radius + TOUCHING
    facing, normal, point = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    if length == 0.0:
        return math.inf, normal, point, np.int64(-1), np.int64(-1)
    # Faces first: they cost least, and what lies behind one need not be looked at.
    best, run, triangle = first_face(obstacles, row, radius, c, m, skip)
    for k in range(obstacles.first[row], obstacles.first[row + 1]):
        if obstacles.runs[k, BODY] == skip:
            continue
        if obstacles.runs[k, PART] >= 0:
            time, n, q = part_hit(parts, space, obstacles.runs[k, PART], obstacles.poses, k, radii, gap, c, m)
            speed = dot(m, n)
            if time < best or (time == 0.0 and best == 0.0 and speed < facing):
                best, facing, normal, point, run, triangle = time, speed, n, q, k, np.int64(-1)
            continue
        for j in range(obstacles.runs[k, FIRST], obstacles.runs[k, STOP]):
            n = load3(obstacles.planes, j, 0)
            height, speed = dot(n, c) - obstacles.planes[j, 3], dot(n, m)
            end = height + speed * min(best, 1.0)
            if min(height, end) > touch or max(height, end) < -touch:
                continue
            a, b, d = load_corners(obstacles.corners, j)
            gap2, q = point_triangle_called(c, a, b, d)
            # It comes nearer by no more than it moves.
            if gap2 > (touch + length * min(best, 1.0)) ** 2:
                continue
            if gap2 <= touch * touch:
                # Touched already.
                n = unit(sub(c, q)) if gap2 > 0.0 else ((-n[0], -n[1], -n[2]) if speed > 0.0 else n)
                speed = dot(m, n)
                if speed < -APPROACH * length and (best > 0.0 or speed < facing):
                    best, facing, normal, point, run, triangle = 0.0, speed, n, q, k, np.int64(j)
            elif best > 0.0 and j != triangle:
                time = border_time(c, m, radius, a, b, d)
                if time < best:
                    best, run, triangle = time, k, np.int64(j)
    if triangle >= 0 and best > 0.0:
        a, b, d = load_corners(obstacles.corners, triangle)
        at = add_scaled(c, m, best)
        _gap2, point = point_triangle_called(at, a, b, d)
        normal = unit(sub(at, point))
    return best, normal, point, run, triangle


@kernel(inner="obstacles, parts, epa_space, i8, vec3, f8, vec3, i8")
def deepest(obstacles, parts, space, row, radii, gap, c, skip):
    """(depth, way out, normal, point, run) of what the sphere about c, larger by the gap, is deepest in; depth 0: nothing.

    The nearest triangle of a body decides: of solid ones also on which side the centre is.
    """
    # All faces that meet at the nearest point are looked at, roundoff or not: behind one of a sharp edge is not inside.
    radius, wide = 1.0 + gap, 1.0 + gap + SAME_POINT
    most, way, normal, point, run = 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), np.int64(-1)
    for k in range(obstacles.first[row], obstacles.first[row + 1]):
        if obstacles.runs[k, BODY] == skip:
            continue
        if obstacles.runs[k, PART] >= 0:
            set_radii(parts, radii, gap)
            r, t = load_rotation(obstacles.poses, k), sub(load_translation(obstacles.poses, k), times(c, radii))
            b = obstacles.runs[k, PART]
            axis = center_axis(parts, 0, b, r, t)
            _status, d, _p, n = pair_signed(parts, 0, b, r, t, axis, 0.0, epa_faces(space), space.reals, space.ints)
            if d < 0.0:
                out = over((d * n[0], d * n[1], d * n[2]), radii)
                if norm(out) > most:
                    n = unit(times((-n[0], -n[1], -n[2]), radii))
                    most, way, normal, point, run = norm(out), out, n, add_scaled(c, n, -radius), k
            continue
        nearest2, height, n, q, off = math.inf, 0.0, (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.0
        for j in range(obstacles.runs[k, FIRST], obstacles.runs[k, STOP]):
            face = load3(obstacles.planes, j, 0)
            h = dot(face, c) - obstacles.planes[j, 3]
            if abs(h) > wide:
                continue
            a, b, d = load_corners(obstacles.corners, j)
            gap2, x = point_triangle_called(c, a, b, d)
            # At an edge the face that is seen most from above says where the outside is.
            if gap2 < nearest2 - SAME_POINT or (gap2 < nearest2 + SAME_POINT and abs(h) > off):
                nearest2, height, n, q, off = min(gap2, nearest2), h, face, x, abs(h)
        if nearest2 > radius * radius:
            continue
        inside = obstacles.runs[k, SOLID] == 1 and height < 0.0
        distance = math.sqrt(nearest2)
        depth = radius + distance if inside else radius - distance
        if depth <= most:
            continue
        if distance > 0.0:
            n = unit(sub(q, c)) if inside else unit(sub(c, q))
        most, way, normal, point, run = depth, (depth * n[0], depth * n[1], depth * n[2]), n, q, k
    return most, way, normal, point, run


@device
def world_normal(n, radii):
    """A normal of the sphere in the world: planes turn with the inverse of the scaling."""
    return unit(over(n, radii))


@device
def face_upright(obstacles, radii, c, j):
    """z of the normal of triangle j in the world, on the side of the centre c."""
    face = load3(obstacles.planes, j, 0)
    n = world_normal(face, radii)
    return n[2] if dot(face, c) >= obstacles.planes[j, 3] else -n[2]


@kernel(inner="obstacles, parts, i8, vec3, vec3, vec3, vec3, i8, i8, f8")
def bears(obstacles, parts, row, radii, c, normal, point, run, triangle, steepest):
    """Whether the surface that the sphere about c touches at a point is no steeper than the limit, a z of its normal.

    At an edge it is the most upright of the faces that meet there and that the centre is above: the tread of a stair, not
    its riser.
    """
    if normal[2] <= 0.0:
        return False
    if triangle < 0:
        return max(world_normal(normal, radii)[2], cap_upright(obstacles, parts, radii, point, run)) >= steepest
    if face_upright(obstacles, radii, c, triangle) >= steepest:
        return True
    for k in range(obstacles.first[row], obstacles.first[row + 1]):
        if obstacles.runs[k, PART] >= 0:
            continue
        for j in range(obstacles.runs[k, FIRST], obstacles.runs[k, STOP]):
            if face_upright(obstacles, radii, c, j) >= steepest:
                a, b, d = load_corners(obstacles.corners, j)
                gap2, _x = point_triangle_called(point, a, b, d)
                if gap2 <= SAME_POINT * SAME_POINT:
                    return True
    return False


@device
def cap_upright(obstacles, parts, radii, point, run):
    """z of the normal of a cylinder's or cone's flat end at whose rim a point lies; -1 for another point or part."""
    b = obstacles.runs[run, PART]
    kind = parts.ints[b, KIND]
    if kind not in (CYLINDER, CONE):
        return -1.0
    r, half = load_rotation(obstacles.poses, run), parts.reals[b, P1]
    p = untransform(r, load_translation(obstacles.poses, run), times(point, radii))
    near = RIM * (half + parts.reals[b, P0])
    if p[2] < -half + near:
        return rotate(r, (0.0, 0.0, -1.0))[2]
    if kind == CYLINDER and p[2] > half - near:
        return rotate(r, (0.0, 0.0, 1.0))[2]
    return -1.0
