"""Rays against one shape: closed forms for every convex kind, hulls by their planes, compounds by their tree."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.convex.local_frame import part_to_world
from thud.convex.tolerances import BOX_RAY_SLACK
from thud.geometry.ray_local import (
    ray_box_local,
    ray_capsule_local,
    ray_cone_local,
    ray_cylinder_local,
    ray_ellipsoid_local,
    ray_sphere_local,
    slab_interval,
)
from thud.math.pose import load_rotation, load_translation, rotate, unrotate, untransform
from thud.math.vec3 import dot, load3
from thud.pairing.rows import row_of
from thud.shapes.packed import FACE_COUNT, FACE_START, KIND, NODE_COUNT, NODE_START, P0, P1, P2, P3, PART_START, RADIUS
from thud.shapes.shape import BOX, CAPSULE, CONE, CYLINDER, ELLIPSOID, HALF_SPACE, HULL


@device
def ray_planes(planes, first, count, o, d):
    """Ray against a convex polytope given by its face planes ([Slides]): (t, nx, ny, nz).

    It enters where the last plane it crosses from outside is met, and leaves at the first it crosses from inside.
    """
    near, far, face = -math.inf, math.inf, -1
    for f in range(first, first + count):
        n = (planes[f, 0], planes[f, 1], planes[f, 2])
        height = dot(n, o) - planes[f, 3]
        speed = dot(n, d)
        if speed < 0.0:
            t = -height / speed
            if t > near:
                near, face = t, f
        elif speed > 0.0:
            far = min(far, -height / speed)
        elif height > 0.0:
            return math.inf, 0.0, 0.0, 0.0
    if near > far or far < 0.0:
        return math.inf, 0.0, 0.0, 0.0
    if near <= 0.0 or face < 0:
        return 0.0, 0.0, 0.0, 0.0
    return near, planes[face, 0], planes[face, 1], planes[face, 2]


@device
def ray_half_space(n, offset, o, d):
    """Ray against the solid n.x <= offset: (t, nx, ny, nz)."""
    height, speed = dot(n, o) - offset, dot(n, d)
    if height <= 0.0:
        return 0.0, 0.0, 0.0, 0.0
    if speed >= 0.0:
        return math.inf, 0.0, 0.0, 0.0
    return -height / speed, n[0], n[1], n[2]


@kernel(inner="packed, i8, vec3, vec3")
def ray_part(packed, part, o, d):
    """Ray against a convex part, in its frame; d of unit length: (t, nx, ny, nz), t inf for a miss, 0 from inside."""
    kind = packed.parts.ints[part, KIND]
    radius = packed.parts.reals[part, RADIUS]
    p0, p1, p2 = packed.parts.reals[part, P0], packed.parts.reals[part, P1], packed.parts.reals[part, P2]
    if kind == HULL:
        return ray_planes(packed.planes, packed.parts.ints[part, FACE_START], packed.parts.ints[part, FACE_COUNT], o, d)
    if kind == BOX:
        return ray_box_local(o, d, (p0, p1, p2))
    if kind == CAPSULE:
        return ray_capsule_local(o, d, radius, p1)
    if kind == CYLINDER:
        return ray_cylinder_local(o, d, p0, p1)
    if kind == CONE:
        return ray_cone_local(o, d, p0, p1)
    if kind == ELLIPSOID:
        return ray_ellipsoid_local(o, d, (p0, p1, p2))
    if kind == HALF_SPACE:
        return ray_half_space((p0, p1, p2), packed.parts.reals[part, P3], o, d)
    return ray_sphere_local(o, d, radius)


@device
def ray_reaches_box(packed, node, o, d, reach):
    """Whether the ray meets a node's box before `reach`. The box's frame."""
    near, far = 0.0, reach
    for k in range(3):
        ok = o[0] if k == 0 else (o[1] if k == 1 else o[2])
        dk = d[0] if k == 0 else (d[1] if k == 1 else d[2])
        t0, t1 = slab_interval(ok, dk, packed.node_boxes[node, k], packed.node_boxes[node, 3 + k])
        near, far = max(near, t0), min(far, t1)
    # A hair of slack: the part's own test decides.
    return near <= far + BOX_RAY_SLACK * (abs(far) + abs(near))


@kernel(inner="packed, i8, f8[:,::1], i8, vec3, vec3, f8, i8")
def ray_shape(packed, shape, poses, row, o, d, max_distance, any_hit):
    """First hit (any hit) of a ray, world frame, d of unit length, on a shape at a pose row: (distance, part, normal).

    The distance is inf for a miss or beyond `max_distance`; the part is -1 for a miss or a shape that is no compound.
    """
    best, best_part, normal = math.inf, -1, (0.0, 0.0, 0.0)
    nodes, first = packed.shape_ints[shape, NODE_COUNT], packed.shape_ints[shape, PART_START]
    node = 0
    # The shape's own frame, in which the boxes of its tree are.
    r, t = load_rotation(poses, row), load_translation(poses, row)
    os, ds = untransform(r, t, o), unrotate(r, d)
    while True:
        part = -1
        if nodes == 0:
            if node == 0:
                part = first
            node = 1
        else:
            base = packed.shape_ints[shape, NODE_START]
            while node < nodes and part < 0:
                if ray_reaches_box(packed, base + node, os, ds, min(best, max_distance)):
                    if packed.node_ints[base + node, 1] >= 0:
                        part = first + packed.node_ints[base + node, 1]
                    node += 1
                else:
                    node = packed.node_ints[base + node, 0]
        if part < 0:
            break
        pr, pt = part_to_world(packed, shape, part, poses, row)
        t_hit, nx, ny, nz = ray_part(packed, part, untransform(pr, pt, o), unrotate(pr, d))
        if t_hit < best and t_hit <= max_distance:
            best, best_part, normal = t_hit, part - first, rotate(pr, (nx, ny, nz))
            if any_hit or best == 0.0:
                break
    return best, best_part if nodes > 0 else -1, normal


@device
def write_hit(i, best, part, o, d, normal, distance_out, point_out, normal_out, part_out):
    """A hit, or a miss, to row i of a `RayHits`."""
    distance_out[i], part_out[i] = best, part
    for k in range(3):
        point_out[i, k] = 0.0
    normal_out[i, 0], normal_out[i, 1], normal_out[i, 2] = normal
    if best < math.inf:
        point_out[i, 0], point_out[i, 1], point_out[i, 2] = o[0] + best * d[0], o[1] + best * d[1], o[2] + best * d[2]


@kernel("i8, i8, packed, f8[:,::1], f8[:,::1], f8[:,::1], f8, i8, f8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def raycast_rows(
    start, stop, packed, origins, directions, poses, max_distance, any_hit, distance_out, point_out, normal_out, part_out
):
    """First hit (any hit) of each ray on shape 0; directions of unit length, world frame."""
    zero = np.int64(0)
    for i in range(start, stop):
        o, d = load3(origins, row_of(origins, i), 0), load3(directions, row_of(directions, i), 0)
        best, part, normal = ray_shape(packed, zero, poses, row_of(poses, i), o, d, max_distance, any_hit)
        write_hit(i, best, part, o, d, normal, distance_out, point_out, normal_out, part_out)
