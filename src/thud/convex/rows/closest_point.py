"""Points against one shape: whether inside, and the closest point of its surface."""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING
from thud.constants import NO_LIMIT, TOUCH
from thud.convex.gjk import center_axis, gjk_distance
from thud.convex.local_frame import part_to_world
from thud.convex.point_distance import point_part
from thud.convex.shape_pair import next_part, shape_ball
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.math.vec3 import load3
from thud.pairing.rows import row_of
from thud.shapes.packed import BOUND, CENTER, FACE_COUNT, FACE_START, KIND, NODE_COUNT, P3, PART_START
from thud.shapes.shape import HULL


@device
def highest_plane(planes, first, count, p):
    """(height, face) of the face plane that p lies highest above: negative inside a hull."""
    best, face = -math.inf, first
    for f in range(first, first + count):
        height = planes[f, 0] * p[0] + planes[f, 1] * p[1] + planes[f, 2] * p[2] - planes[f, 3]
        if height > best:
            best, face = height, f
    return best, face


@kernel(inner="packed, i8, i8, vec3")
def closest_on_part(packed, part, point, p):
    """Signed distance and closest surface point of a part to p, in its frame: (distance, closest point).

    `point` is the row of a part that is a single point (a sphere of radius 0), for GJK against a hull from outside.
    """
    if packed.parts.ints[part, KIND] != HULL:
        d, q, _n = point_part(packed.parts, part, p)
        return d, q
    height, face = highest_plane(packed.planes, packed.parts.ints[part, FACE_START], packed.parts.ints[part, FACE_COUNT], p)
    foot = (
        p[0] - height * packed.planes[face, 0],
        p[1] - height * packed.planes[face, 1],
        p[2] - height * packed.planes[face, 2],
    )
    if height <= 0.0:
        return height, foot
    identity = (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0)
    axis = center_axis(packed.parts, part, point, identity, p)
    status, v, q, _lower = gjk_distance(
        packed.parts,
        part,
        point,
        identity,
        p,
        axis,
        NO_LIMIT,
    )
    if status == OVERLAPPING:
        return height, foot
    return math.sqrt(v[0] * v[0] + v[1] * v[1] + v[2] * v[2]), q


@device
def contact_slack(packed, part, p):
    """Distance by which a point may be outside by roundoff and still count as on the surface. Part's frame."""
    bound = packed.parts.reals[part, BOUND]
    if not bound < math.inf:
        bound = abs(packed.parts.reals[part, P3])
    c = (
        abs(packed.parts.reals[part, CENTER])
        + abs(packed.parts.reals[part, CENTER + 1])
        + abs(packed.parts.reals[part, CENTER + 2])
    )
    return TOUCH * (bound + c + abs(p[0]) + abs(p[1]) + abs(p[2]))


@device
def part_contains(packed, part, p):
    """Whether p lies in the closed part. Part's frame."""
    if packed.parts.ints[part, KIND] == HULL:
        d, _face = highest_plane(packed.planes, packed.parts.ints[part, FACE_START], packed.parts.ints[part, FACE_COUNT], p)
    else:
        d, _q, _n = point_part(packed.parts, part, p)
    return d <= contact_slack(packed, part, p)


@device
def tree_slack(packed, shape, p):
    """Slack for the boxes of the shape's tree, at least that of any part near p. Shape's frame."""
    _c, radius = shape_ball(packed, shape)
    return 4.0 * TOUCH * (abs(p[0]) + abs(p[1]) + abs(p[2]) + (radius if radius < math.inf else 0.0))


@kernel("i8, i8, packed, f8[:,::1], f8[:,::1], b1[::1]")
def contains_rows(start, stop, packed, points, poses, inside_out):
    """Whether each point lies in shape 0."""
    for i in range(start, stop):
        p, row = load3(points, row_of(points, i), 0), row_of(poses, i)
        p_shape = untransform(load_rotation(poses, row), load_translation(poses, row), p)
        slack = tree_slack(packed, 0, p_shape)
        inside, node = False, 0
        while not inside:
            part, node = next_part(packed, 0, node, p_shape, slack, 0.0)
            if part < 0:
                break
            r, t = part_to_world(packed, 0, part, poses, row)
            inside = part_contains(packed, part, untransform(r, t, p))
        inside_out[i] = inside


@kernel("i8, i8, packed, i8[::1], f8[:,::1], f8[:,::1], i8, f8[::1], f8[:,::1], i8[::1]")
def closest_rows(start, stop, packed, shapes, points, poses, signed, distance_out, point_out, part_out):
    """Closest surface point of each row's shape, or of the only one, to each point; the last shape is a single point (see
    `closest_on_part`)."""
    point_row = packed.shape_ints[packed.shape_ints.shape[0] - 1, PART_START]
    for i in range(start, stop):
        shape = shapes[row_of(shapes, i)]
        first = packed.shape_ints[shape, PART_START]
        p, row = load3(points, row_of(points, i), 0), row_of(poses, i)
        p_shape = untransform(load_rotation(poses, row), load_translation(poses, row), p)
        slack = tree_slack(packed, shape, p_shape)
        best, closest, found, node = math.inf, (0.0, 0.0, 0.0), -1, 0
        while True:
            part, node = next_part(packed, shape, node, p_shape, slack, best)
            if part < 0:
                break
            r, t = part_to_world(packed, shape, part, poses, row)
            d, q = closest_on_part(packed, part, point_row, untransform(r, t, p))
            if d < best:
                best, closest, found = d, transform(r, t, q), part - first
        distance_out[i] = best if signed else abs(best)
        point_out[i, 0], point_out[i, 1], point_out[i, 2] = closest
        part_out[i] = found if packed.shape_ints[shape, NODE_COUNT] > 0 else -1
