"""V-Clip (Mirtich 1998): the closest features of two convex polytopes, walked to from those of the last query.

[Yang] 2.8.1. A feature is a vertex, an edge or a face. Its Voronoi region holds the points outside the polytope that
are closer to it than to any other feature. If the closest points of two features each lie in the Voronoi region of
the other feature, they are the closest points of the polytopes; if not, the plane that is violated names the neighbour
that is closer. The walk has five states, by the kinds of the two features: vertex-vertex, vertex-edge, vertex-face,
edge-edge, edge-face. The lower feature is called X here, the higher Y, whichever of A and B they belong to; a step works
in Y's frame. Coherent motion makes the walk a step or two long: hand the features of one query to the next.

Deviations from Mirtich's paper:
- Vertex-vertex, vertex-edge and edge-edge compare the closest points of the two features with the planes instead of
  clipping edges: the same decisions, with the distance at hand for the touch test. They leave through the plane that is
  violated most, X's or Y's, not through the first one found.
- A plane that a point lies on counts as violated where the move leads to a higher feature, and a feature is left for a
  lower one only well past the plane. So parallel faces and edges end in vertex-face, whose direction is a face normal,
  exact at any gap. The two thresholds keep the walk from turning back. Should it come round to a state it has been in
  all the same, it tries to prove each state on the way; then it continues with plain signs; then it gives up.
- A vertex below a face is tested against all faces at once, not only where no edge leads up again.
- Every SEPARATED is proved: no vertex of either polytope lies beyond the two planes through the closest points. Every
  OVERLAPPING has a common point. Where neither is reached GJK answers instead, and the result says so.
"""

from __future__ import annotations

import math

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED, UNCONVERGED
from thud.convex.gjk import center_axis, gjk_distance, part_size, touch_distance
from thud.convex.support import climb, hull_support, load_part
from thud.convex.tolerances import V_CLIP_GAP, V_CLIP_ITERATIONS, V_CLIP_LEAVE, V_CLIP_TIE
from thud.geometry.segment import clamp01, closest_segment_parameters
from thud.math.pose import load_rotation, load_translation, rotate, transform, transpose, unrotate
from thud.math.vec3 import add_scaled, cross, dot, load3, neg, norm, norm2, scale, sub
from thud.pairing.rows import placed_parts
from thud.shapes.packed import (
    EDGE_COUNT,
    EDGE_START,
    FACE_COUNT,
    FACE_START,
    LINK_START,
    LOOP_START,
    VERTEX_COUNT,
    VERTEX_START,
)

# A feature's code is 4 * id + kind, the id within its part. -1 means none.
VERTEX, EDGE, FACE = 0, 1, 2

# Outcomes of one step: continue at the features named; the same, but this may be the end; the end; a common point.
_MOVE, _MAYBE_APART, _APART, _MEET = 0, 1, 2, 3


@device
def load_body(parts, k):
    """Where part k's (vertices, links, planes, edges) start in the packed arrays, the number of its faces, and where their
    loops start."""
    return (
        parts.ints[k, VERTEX_START],
        parts.ints[k, LINK_START],
        parts.ints[k, FACE_START],
        parts.ints[k, EDGE_START],
        parts.ints[k, FACE_COUNT],
        parts.ints[k, LOOP_START],
    )


@device
def corner(parts, i):
    """Column i of the vertices."""
    return parts.vertices[0, i], parts.vertices[1, i], parts.vertices[2, i]


@device
def edge_ends(parts, edges, body, i):
    """Tail and head of edge i, part's frame."""
    k = body[3] + i
    return corner(parts, body[0] + edges[k, 0]), corner(parts, body[0] + edges[k, 1])


@device
def without(e, u):
    """e less its component along u: sheds the rounding that the difference of two points has along their edge."""
    return add_scaled(e, u, -dot(e, u) / norm2(u))


@device
def edge_towards(parts, body, vertex, d, enter):
    """(edge, violation): the edge of `vertex` whose vertex-edge plane the point vertex + d violates the most, or -1.

    A violation is a length times its magnitude; `enter` the least that counts. Part's frame.
    """
    v = corner(parts, body[0] + vertex)
    row = body[1] + vertex
    best, most = -1, enter
    for k in range(parts.link_starts[row], parts.link_starts[row + 1]):
        u = sub(corner(parts, body[0] + parts.links[k, 0]), v)
        along = dot(d, u)
        violation = along * abs(along) / norm2(u)
        if violation > most:
            best, most = parts.links[k, 1], violation
    return best, most


@device
def face_towards(planes, edges, body, edge, u, d, enter):
    """(face, violation): the face beside `edge` (direction u) whose plane is violated by e + d, e on the edge, or -1.

    Of two the one that the point is higher above. Below its plane a face gets no benefit of the doubt. Part's frame.
    """
    k = body[3] + edge
    best, most, highest = -1, enter, -math.inf
    for side in range(2):
        face = edges[k, 2 + side]
        n = load3(planes, body[2] + face, 0)
        # n x u points from the edge into the left face, away from the right one.
        into = dot(d, cross(n, u))
        if side == 1:
            into = -into
        violation = into * abs(into) / norm2(u)
        height = dot(n, d)
        if violation > (enter if height > 0.0 else -enter) and height > highest:
            best, most, highest = face, violation, height
    return best, most


@device
def step_vertex_vertex(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, touch):
    """One step. Returns (outcome, kind and id of X's next feature, of Y's, X's closest point, X's less Y's), Y's frame.

    A step that has no closest points at hand returns a difference of 0.
    """
    parts = packed.parts
    p = transform(pose_xy[0], pose_xy[1], corner(parts, body_x[0] + x))
    e = sub(p, corner(parts, body_y[0] + y))
    if norm2(e) <= touch * touch:
        return _MEET, VERTEX, x, VERTEX, y, p, e
    # The plane violated most, X's or Y's: a tie is taken only where nothing is gained elsewhere.
    edge_x, violation_x = edge_towards(parts, body_x, x, rotate(r_yx, neg(e)), enter)
    edge_y, violation_y = edge_towards(parts, body_y, y, e, enter)
    if edge_y >= 0 and violation_y >= violation_x:
        return _MOVE, VERTEX, x, EDGE, edge_y, p, e
    if edge_x >= 0:
        return _MOVE, EDGE, edge_x, VERTEX, y, p, e
    return _APART, VERTEX, x, VERTEX, y, p, e


@device(inner="packed, UniTuple(i8, 6), UniTuple(i8, 6), i8, i8, Tuple((mat3, vec3)), mat3, f8, f8, f8")
def step_vertex_edge(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, leave, touch):
    """One step. Returns as `step_vertex_vertex`."""
    parts, edges = packed.parts, packed.edges
    p = transform(pose_xy[0], pose_xy[1], corner(parts, body_x[0] + x))
    tail, head = edge_ends(parts, edges, body_y, y)
    u = sub(head, tail)
    u2 = norm2(u)
    along = dot(sub(p, tail), u)
    e = sub(p, add_scaled(tail, u, clamp01(along / u2)))
    if norm2(e) <= touch * touch:
        return _MEET, VERTEX, x, EDGE, y, p, e
    # Past an end of the edge.
    past = along - u2
    if along < 0.0 and along * along > leave * u2:
        return _MOVE, VERTEX, x, VERTEX, edges[body_y[3] + y, 0], p, e
    if past > 0.0 and past * past > leave * u2:
        return _MOVE, VERTEX, x, VERTEX, edges[body_y[3] + y, 1], p, e
    if along > 0.0 and past < 0.0:
        e = without(e, u)
    edge_x, violation_x = edge_towards(parts, body_x, x, rotate(r_yx, neg(e)), enter)
    face_y, violation_y = face_towards(packed.planes, edges, body_y, y, u, e, enter)
    if face_y >= 0 and violation_y >= violation_x:
        return _MOVE, VERTEX, x, FACE, face_y, p, e
    if edge_x >= 0:
        return _MOVE, EDGE, edge_x, EDGE, y, p, e
    return _APART, VERTEX, x, EDGE, y, p, e


@device(inner="packed, UniTuple(i8, 6), UniTuple(i8, 6), i8, i8, Tuple((mat3, vec3)), mat3, f8, f8")
def step_vertex_face(packed, body_x, body_y, x, y, pose_xy, r_yx, leave, touch):
    """One step. Returns as `step_vertex_vertex`."""
    parts, planes, loops = packed.parts, packed.planes, packed.loops
    p = transform(pose_xy[0], pose_xy[1], corner(parts, body_x[0] + x))
    plane = body_y[2] + y
    n = load3(planes, plane, 0)
    first, last = packed.loop_starts[body_y[5] + y], packed.loop_starts[body_y[5] + y + 1]
    # Beside the face: to the nearest of the edges it lies beyond.
    best, nearest = -1, math.inf
    tail, edge = corner(parts, body_y[0] + loops[last - 1, 0]), loops[last - 1, 1]
    for k in range(first, last):
        head = corner(parts, body_y[0] + loops[k, 0])
        u, d = sub(head, tail), sub(p, tail)
        u2 = norm2(u)
        out = dot(d, cross(u, n))
        if out > 0.0 and out * out > leave * u2:
            gap2 = norm2(add_scaled(d, u, -clamp01(dot(d, u) / u2)))
            if gap2 < nearest:
                best, nearest = edge, gap2
        tail, edge = head, loops[k, 1]
    height = dot(n, sub(p, tail))
    e, zero = scale(n, height), (0.0, 0.0, 0.0)
    if best >= 0:
        return _MOVE, VERTEX, x, EDGE, best, p, zero
    if height <= 0.0:
        # Below the face: inside the polytope, or in a local minimum, left for the face it is highest above.
        highest = -math.inf
        for k in range(body_y[2], body_y[2] + body_y[4]):
            h = dot(load3(planes, k, 0), p) - planes[k, 3]
            if h > highest:
                best, highest = k - body_y[2], h
        if highest <= 0.0:
            return _MEET, VERTEX, x, FACE, y, p, zero
        if best != y:
            return _MOVE, VERTEX, x, FACE, best, p, zero
    if abs(height) <= touch:
        return _MEET, VERTEX, x, FACE, y, p, e
    # The edge of X that leads down to the plane the most.
    down = rotate(r_yx, neg(n))
    v = corner(parts, body_x[0] + x)
    row = body_x[1] + x
    best, most = -1, math.sqrt(leave)
    for k in range(packed.parts.link_starts[row], packed.parts.link_starts[row + 1]):
        descent = dot(down, sub(corner(parts, body_x[0] + packed.parts.links[k, 0]), v))
        if descent > most:
            best, most = packed.parts.links[k, 1], descent
    if best >= 0:
        return _MOVE, EDGE, best, FACE, y, p, e
    return _APART, VERTEX, x, FACE, y, p, e


@device(inner="packed, UniTuple(i8, 6), UniTuple(i8, 6), i8, i8, Tuple((mat3, vec3)), mat3, f8, f8, f8, f8")
def step_edge_edge(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, leave, touch, size):
    """One step. Returns as `step_vertex_vertex`."""
    parts, edges, planes = packed.parts, packed.edges, packed.planes
    x0, x1 = edge_ends(parts, edges, body_x, x)
    y0, y1 = edge_ends(parts, edges, body_y, y)
    u_x = sub(x1, x0)
    p0, u, w = transform(pose_xy[0], pose_xy[1], x0), rotate(pose_xy[0], u_x), sub(y1, y0)
    d = sub(p0, y0)
    gap2, s, t = closest_segment_parameters(d, u, w)
    p = add_scaled(p0, u, s)
    e = add_scaled(add_scaled(d, u, s), w, -t)
    if gap2 <= touch * touch:
        return _MEET, EDGE, x, EDGE, y, p, e
    # Past an end of one of the edges.
    past = dot(e, u)
    if (s == 0.0 or s == 1.0) and past * past > leave * norm2(u):
        return _MOVE, VERTEX, edges[body_x[3] + x, 0 if s == 0.0 else 1], EDGE, y, p, e
    past = dot(e, w)
    if (t == 0.0 or t == 1.0) and past * past > leave * norm2(w):
        return _MOVE, EDGE, x, VERTEX, edges[body_y[3] + y, 0 if t == 0.0 else 1], p, e
    # Between the ends the cross product has the direction, exact at any gap; unless the edges are more parallel than close.
    if 0.0 < s < 1.0 and 0.0 < t < 1.0:
        c = cross(u, w)
        c2 = norm2(c)
        if c2 * size * size > gap2 * norm2(u) * norm2(w):
            e = scale(c, dot(d, c) / c2)
    if 0.0 < t < 1.0:
        e = without(e, w)
    if 0.0 < s < 1.0:
        e = without(e, u)
    face_x, violation_x = face_towards(planes, edges, body_x, x, u_x, rotate(r_yx, neg(e)), enter)
    face_y, violation_y = face_towards(planes, edges, body_y, y, w, e, enter)
    if face_y >= 0 and violation_y >= violation_x:
        return _MOVE, EDGE, x, FACE, face_y, p, e
    if face_x >= 0:
        return _MOVE, FACE, face_x, EDGE, y, p, e
    return _APART, EDGE, x, EDGE, y, p, e


@device(inner="packed, UniTuple(i8, 6), UniTuple(i8, 6), i8, i8, Tuple((mat3, vec3)), f8, f8")
def step_edge_face(packed, body_x, body_y, x, y, pose_xy, leave, touch):
    """One step. Returns as `step_vertex_vertex`. Ends here only if the two meet, or are parallel with no vertex between."""
    parts, edges, loops = packed.parts, packed.edges, packed.loops
    x0, x1 = edge_ends(parts, edges, body_x, x)
    p0, u = transform(pose_xy[0], pose_xy[1], x0), rotate(pose_xy[0], sub(x1, x0))
    plane = body_y[2] + y
    n = load3(packed.planes, plane, 0)
    first, last = packed.loop_starts[body_y[5] + y], packed.loop_starts[body_y[5] + y + 1]
    margin, zero = math.sqrt(leave), (0.0, 0.0, 0.0)
    # Clip the edge to the prism over the face: [low, high], and the sides that cut there.
    low, high, low_side, high_side = 0.0, 1.0, -1, -1
    tail, edge = corner(parts, body_y[0] + loops[last - 1, 0]), loops[last - 1, 1]
    for k in range(first, last):
        head = corner(parts, body_y[0] + loops[k, 0])
        w = sub(head, tail)
        out = cross(w, n)
        start, rise = dot(sub(p0, tail), out) - margin * norm(w), dot(u, out)
        if start > 0.0 and start + rise > 0.0:
            low = math.inf
        elif start > 0.0:
            cut = -start / rise
            if cut > low:
                low, low_side = cut, edge
        elif start + rise > 0.0:
            cut = -start / rise
            if cut < high:
                high, high_side = cut, edge
        tail, edge = head, loops[k, 1]
    if low > high:
        # Outside the prism: the closest point of the face is on one of its edges.
        best, nearest = -1, math.inf
        for k in range(first, last):
            head = corner(parts, body_y[0] + loops[k, 0])
            gap2, _s, _t = closest_segment_parameters(sub(p0, tail), u, sub(head, tail))
            if gap2 < nearest:
                best, nearest = edge, gap2
            tail, edge = head, loops[k, 1]
        return _MOVE, EDGE, x, EDGE, best, p0, zero
    h0, slope = dot(n, sub(p0, tail)), dot(n, u)
    h_low, h_high = h0 + low * slope, h0 + high * slope
    if h_low * h_high <= 0.0:
        # The edge goes through the face.
        at = clamp01(-h0 / slope) if slope != 0.0 else low
        return _MEET, EDGE, x, FACE, y, add_scaled(p0, u, at), zero
    # To the end that is nearer to the plane; of two alike to a vertex rather than a side.
    parallel = abs(slope) <= margin
    to_low = low_side < 0 if parallel else (slope > 0.0) == (h_low > 0.0)
    at, h, side = (low, h_low, low_side) if to_low else (high, h_high, high_side)
    p, e = add_scaled(p0, u, at), scale(n, h)
    if abs(h) <= touch:
        return _MEET, EDGE, x, FACE, y, p, e
    if side >= 0:
        return _MAYBE_APART if parallel else _MOVE, EDGE, x, EDGE, side, p, e
    return _MOVE, VERTEX, edges[body_x[3] + x, 0 if to_low else 1], FACE, y, p, e


@device
def valid_feature(parts, k, code):
    """Whether `code` names a feature of part k."""
    if code < 0:
        return False
    kind, i = code & 3, code >> 2
    if kind == VERTEX:
        return i < parts.ints[k, VERTEX_COUNT]
    if kind == EDGE:
        return i < parts.ints[k, EDGE_COUNT]
    return kind == FACE and i < parts.ints[k, FACE_COUNT]


@device
def vertex_of(edges, loop_starts, loops, body, code):
    """A vertex of a feature."""
    kind, i = code & 3, code >> 2
    if kind == VERTEX:
        return i
    if kind == EDGE:
        return edges[body[3] + i, 0]
    return loops[loop_starts[body[5] + i], 0]


@kernel(inner="packed, i8, i8, mat3, vec3, i8, i8")
def v_clip_distance(packed, a, b, r, t, feature_a, feature_b):
    """Distance of polytopes a and b (boxes, hulls) by a walk from the given features (-1: vertices that face each other).

    (r, t) is the pose of B in A's frame. Returns (status, v, point of A, feature of A, of B, steps, fell back): v leads from
    B's closest point to A's, |v| is the distance; all in A's frame. OVERLAPPING includes touching: v is then 0 or below the
    touch distance, and the point belongs to both. After a fallback to GJK the features are -1.
    """
    parts = packed.parts
    body_a, body_b = load_body(parts, a), load_body(parts, b)
    touch = touch_distance(parts, a, b, t)
    size = part_size(parts, a, b) + abs(t[0]) + abs(t[1]) + abs(t[2])
    axis = center_axis(parts, a, b, r, t)
    if not (valid_feature(parts, a, feature_a) and valid_feature(parts, b, feature_b)):
        _kind, start, stop, row, _p0, _p1, _p2 = load_part(parts, a)
        feature_a = 4 * (hull_support(parts, start, stop, row, neg(axis)) - start) + VERTEX
        _kind, start, stop, row, _p0, _p1, _p2 = load_part(parts, b)
        feature_b = 4 * (hull_support(parts, start, stop, row, unrotate(r, axis)) - start) + VERTEX
    if feature_a & 3 == FACE and feature_b & 3 == FACE:
        feature_b = 4 * vertex_of(packed.edges, packed.loop_starts, packed.loops, body_b, feature_b) + VERTEX
    pose_ba = (r, t)
    pose_ab = (transpose(r), neg(unrotate(r, t)))
    enter, leave = -((V_CLIP_TIE * size) ** 2), (V_CLIP_LEAVE * size) ** 2
    v, point = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0)
    # Brent's test for a cycle: a state is kept at steps 1, 2, 4, 8, ... The first cycle turns on the proof of every state,
    # the second turns off the tolerances, the third ends the walk.
    mark_a, mark_b, mark_after, since, rounds = -1, -1, 1, 0, 0
    status, steps = UNCONVERGED, 0
    while steps < V_CLIP_ITERATIONS:
        cycle = feature_a == mark_a and feature_b == mark_b
        if cycle:
            rounds += 1
            if rounds == 2:
                enter, leave = 0.0, 0.0
            elif rounds == 3:
                break
        if cycle or since == mark_after:
            mark_a, mark_b, mark_after, since = feature_a, feature_b, 2 * mark_after, 0
        since += 1
        steps += 1
        # The lower feature is X, the higher Y.
        swapped = feature_a & 3 > feature_b & 3
        if swapped:
            body_x, body_y, fx, fy, pose_xy, r_yx = body_b, body_a, feature_b, feature_a, pose_ba, pose_ab[0]
        else:
            body_x, body_y, fx, fy, pose_xy, r_yx = body_a, body_b, feature_a, feature_b, pose_ab, pose_ba[0]
        x, y, kind_x, kind_y = fx >> 2, fy >> 2, fx & 3, fy & 3
        if kind_y == VERTEX:
            step = step_vertex_vertex(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, touch)
        elif kind_y == EDGE and kind_x == VERTEX:
            step = step_vertex_edge(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, leave, touch)
        elif kind_y == EDGE:
            step = step_edge_edge(packed, body_x, body_y, x, y, pose_xy, r_yx, enter, leave, touch, size)
        elif kind_x == VERTEX:
            step = step_vertex_face(packed, body_x, body_y, x, y, pose_xy, r_yx, leave, touch)
        else:
            step = step_edge_face(packed, body_x, body_y, x, y, pose_xy, leave, touch)
        outcome, kind_x, x, kind_y, y, p, e = step
        fx, fy = 4 * x + kind_x, 4 * y + kind_y
        if swapped:
            feature_a, feature_b = fy, fx
        else:
            feature_a, feature_b = fx, fy
        if outcome == _MOVE and (rounds == 0 or norm2(e) == 0.0):
            continue
        # To A's frame.
        if swapped:
            v, point = neg(e), sub(p, e)
        else:
            v, point = rotate(r, e), transform(r, t, p)
        if outcome == _MEET:
            status = OVERLAPPING
            break
        # The proof: A and B lie beyond the two planes orthogonal to v, `lower` apart. Climbed to from the features, so that
        # a true end costs one look at the neighbours. The rounding of v tilts the planes by touch / |v|.
        i = body_a[0] + vertex_of(packed.edges, packed.loop_starts, packed.loops, body_a, feature_a)
        j = body_b[0] + vertex_of(packed.edges, packed.loop_starts, packed.loops, body_b, feature_b)
        i = climb(parts, body_a[0], body_a[1], i, neg(v))
        j = climb(parts, body_b[0], body_b[1], j, unrotate(r, v))
        length = norm(v)
        lower = dot(v, sub(corner(parts, i), transform(r, t, corner(parts, j)))) / length
        slack = min(touch * (1.0 + size / length), V_CLIP_GAP * size) if outcome == _APART else touch
        proved = lower > 0.0 and length - lower <= slack
        # Faces whose corners are a little out of plane leave more open: the best that the last round finds will do.
        if proved or (rounds == 2 and lower > touch and length - lower <= V_CLIP_GAP * size):
            status = SEPARATED
            break
        if outcome == _APART:
            # An end of the tolerances only, such as small steps down that add up: go on without them.
            if rounds == 2:
                break
            enter, leave, rounds, mark_a = 0.0, 0.0, 2, -1
    if status != UNCONVERGED:
        return status, v, point, feature_a, feature_b, steps, False
    status, v, point, _lower = gjk_distance(parts, a, b, r, t, axis, math.inf)
    return status, v, point, -1, -1, steps, True


@kernel("i8, i8, pair_batch, distance_fields, i8[:,::1], i8[::1]")
def v_clip_rows(start, stop, batch, out, feature_inout, steps_out):
    """`v_clip_distance` of rows start .. stop-1: pairs of single boxes or hulls, poses and results in the world.

    In overlap the distance and the normal are 0 and the two points are one. `feature_inout` starts each row's walk and takes
    its end, `steps_out` how many steps it took.
    """
    for i in range(start, stop):
        a, b, row_a, (r, t) = placed_parts(batch, i)
        rotation_a, translation_a = load_rotation(batch.poses_a, row_a), load_translation(batch.poses_a, row_a)
        status, v, point, fa, fb, steps, _fell_back = v_clip_distance(
            batch.packed, a, b, r, t, feature_inout[i, 0], feature_inout[i, 1]
        )
        distance, normal = 0.0, (0.0, 0.0, 0.0)
        if status != OVERLAPPING:
            distance = norm(v)
            if distance > 0.0:
                normal = scale(rotate(rotation_a, v), -1.0 / distance)
        point_a = transform(rotation_a, translation_a, point)
        out.status[i], out.distance[i] = status, distance
        feature_inout[i, 0], feature_inout[i, 1], steps_out[i] = fa, fb, steps
        for k in range(3):
            out.point_a[i, k] = point_a[k]
            out.point_b[i, k] = point_a[k] + distance * normal[k]
            out.normal[i, k] = normal[k]
