"""V-Clip (Mirtich 1998): the closest features of two convex polytopes, walked to from those of the last query.

[Yang] 2.8.1. A feature is a vertex, an edge or a face. Its Voronoi region holds the points outside the polytope that
are closer to it than to any other feature. If the closest points of two features each lie in the Voronoi region of
the other feature, they are the closest points of the polytopes; if not, the plane that is violated names the neighbour
that is closer. The walk has five states, by the kinds of the two features: vertex-vertex, vertex-edge, vertex-face,
edge-edge, edge-face. The lower feature is called X here, the higher Y, whichever of A and B they belong to; a step works
in Y's frame. Coherent motion makes the walk a step or two long: hand the features of one query to the next.

Deviations from Mirtich's paper:
- Vertex-vertex, vertex-edge and edge-edge compare the closest points of the two features with the planes instead of
  clipping edges: the same decisions, with the distance at hand for the touch test.
- A plane that a point lies on counts as violated where the move leads to a higher feature, and a feature is left for a
  lower one only well past the plane. So parallel faces and edges end in vertex-face, whose direction is a face normal,
  exact at any gap. The two thresholds keep the walk from turning back; should it still come round to a state it has
  been in, it goes on with plain signs, and a second time it gives up.
- A vertex below a face is tested against all faces at once, not only where no edge leads up again.
- Every SEPARATED is proved: no vertex of either polytope may lie beyond the two planes through the closest points. Every
  OVERLAPPING has a common point. Where neither is reached the walk says UNCONVERGED and `v_clip_distance` asks GJK.
"""

from __future__ import annotations

import math

from thud._jit import device, kernel
from thud.constants import V_CLIP_GAP, V_CLIP_ITERATIONS, V_CLIP_LEAVE, V_CLIP_TIE
from thud.geometry.segment import clamp01, closest_segment_parameters
from thud.math.pose import load_rotation, load_translation, relative_rotation, rotate, transform, transpose, unrotate
from thud.math.vec3 import add, add_scaled, cross, dot, load3, neg, norm, norm2, scale, sub
from thud.narrowphase import packed_type  # noqa: F401  (signatures say `packed`)
from thud.narrowphase.gjk import (
    OVERLAPPING,
    SEPARATED,
    UNCONVERGED,
    center_axis,
    gjk_distance,
    part_size,
    touch_distance,
)
from thud.narrowphase.support import climb, hull_support, load_part
from thud.shapes.packed import (
    EDGE_COUNT,
    EDGE_START,
    FACE_COUNT,
    FACE_START,
    LINK_START,
    PART_START,
    VERTEX_COUNT,
    VERTEX_START,
)

# A feature's code is 4 * id + kind, the id within its part. -1 means none.
VERTEX, EDGE, FACE = 0, 1, 2

# Outcomes of one step: go on to the features named; go on unless this is the end; the end; a common point.
_MOVE, _MAYBE_APART, _APART, _MEET = 0, 1, 2, 3


@device
def vertex_code(i):
    """Code of vertex i."""
    return 4 * i + VERTEX


@device
def edge_code(i):
    """Code of edge i."""
    return 4 * i + EDGE


@device
def face_code(i):
    """Code of face i."""
    return 4 * i + FACE


@device
def load_body(ints, k):
    """Where part k's (first vertex, links, first face, number of faces, first edge) lie in the packed arrays."""
    return ints[k, VERTEX_START], ints[k, LINK_START], ints[k, FACE_START], ints[k, FACE_COUNT], ints[k, EDGE_START]


@device
def corner(packed, body, i):
    """Vertex i of a part, its own frame."""
    k = body[0] + i
    return packed.vertices[0, k], packed.vertices[1, k], packed.vertices[2, k]


@device
def edge_ends(packed, body, i):
    """Tail and head of edge i, part's frame."""
    k = body[4] + i
    return corner(packed, body, packed.edges[k, 0]), corner(packed, body, packed.edges[k, 1])


@device
def signed_square(x):
    """x |x|: orders like x, and compares with squared lengths."""
    return x * abs(x)


@device
def without(e, u):
    """e less its component along u: sheds the rounding that the difference of two points has along their edge."""
    return add_scaled(e, u, -dot(e, u) / norm2(u))


@device
def edge_towards(packed, body, vertex, d, enter):
    """Edge of `vertex` whose vertex-edge plane the point vertex + d violates the most, or -1. Part's frame.

    `enter`: signed square of the length by which the plane must be violated.
    """
    v = corner(packed, body, vertex)
    row = body[1] + vertex
    best, most = -1, enter
    for k in range(packed.link_starts[row], packed.link_starts[row + 1]):
        u = sub(corner(packed, body, packed.links[k, 0]), v)
        value = signed_square(dot(d, u)) / norm2(u)
        if value > most:
            best, most = packed.links[k, 1], value
    return best


@device
def face_towards(packed, body, edge, u, d, enter):
    """Face beside `edge` (direction u) whose face-edge plane the point e + d, e on the edge, violates, or -1. Part's frame.

    Where both do the one that the point is higher above. Below its plane, a face gets no benefit of the doubt.
    """
    k = body[4] + edge
    u2 = norm2(u)
    best, highest = -1, -math.inf
    for side in range(2):
        face = packed.edges[k, 2 + side]
        n = load3(packed.planes, body[2] + face, 0)
        # n x u points from the edge into the left face, and away from the right one.
        value = signed_square(dot(d, cross(n, u))) / u2
        if side == 1:
            value = -value
        height = dot(n, d)
        if value > (enter if height > 0.0 else abs(enter)) and height > highest:
            best, highest = face, height
    return best


@device
def step_vertex_vertex(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, touch):
    """One step from two vertices. Returns (outcome, feature of X, of Y, X's point, X's point - Y's point), Y's frame."""
    p = transform(r_xy, t_xy, corner(packed, body_x, x))
    e = sub(p, corner(packed, body_y, y))
    if norm2(e) <= touch * touch:
        return _MEET, vertex_code(x), vertex_code(y), p, e
    edge = edge_towards(packed, body_y, y, e, enter)
    if edge >= 0:
        return _MOVE, vertex_code(x), edge_code(edge), p, e
    edge = edge_towards(packed, body_x, x, rotate(r_yx, neg(e)), enter)
    if edge >= 0:
        return _MOVE, edge_code(edge), vertex_code(y), p, e
    return _APART, vertex_code(x), vertex_code(y), p, e


@device
def step_vertex_edge(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch):
    """One step from a vertex and an edge. Returns as `step_vertex_vertex`."""
    p = transform(r_xy, t_xy, corner(packed, body_x, x))
    tail, head = edge_ends(packed, body_y, y)
    u = sub(head, tail)
    u2 = norm2(u)
    along = dot(sub(p, tail), u)
    e = sub(p, add_scaled(tail, u, clamp01(along / u2)))
    if norm2(e) <= touch * touch:
        return _MEET, vertex_code(x), edge_code(y), p, e
    # Past an end of the edge.
    if along < 0.0 and along * along > leave * u2:
        return _MOVE, vertex_code(x), vertex_code(packed.edges[body_y[4] + y, 0]), p, e
    past = along - u2
    if past > 0.0 and past * past > leave * u2:
        return _MOVE, vertex_code(x), vertex_code(packed.edges[body_y[4] + y, 1]), p, e
    if 0.0 < along < u2:
        e = without(e, u)
    face = face_towards(packed, body_y, y, u, e, enter)
    if face >= 0:
        return _MOVE, vertex_code(x), face_code(face), p, e
    edge = edge_towards(packed, body_x, x, rotate(r_yx, neg(e)), enter)
    if edge >= 0:
        return _MOVE, edge_code(edge), edge_code(y), p, e
    return _APART, vertex_code(x), edge_code(y), p, e


@device
def step_vertex_face(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch):
    """One step from a vertex and a face. Returns as `step_vertex_vertex`."""
    p = transform(r_xy, t_xy, corner(packed, body_x, x))
    plane = body_y[2] + y
    n = load3(packed.planes, plane, 0)
    first, last = packed.loop_starts[plane], packed.loop_starts[plane + 1]
    # Beside the face: to the nearest of the edges it lies beyond.
    best, nearest = -1, math.inf
    tail = corner(packed, body_y, packed.loops[last - 1, 0])
    for k in range(first, last):
        head = corner(packed, body_y, packed.loops[k, 0])
        u = sub(head, tail)
        u2 = norm2(u)
        d = sub(p, tail)
        if signed_square(dot(d, cross(u, n))) > leave * u2:
            gap2 = norm2(add_scaled(d, u, -clamp01(dot(d, u) / u2)))
            if gap2 < nearest:
                best, nearest = packed.loops[k - 1 if k > first else last - 1, 1], gap2
        tail = head
    height = dot(n, sub(p, tail))
    e = scale(n, height)
    zero = (0.0, 0.0, 0.0)
    if best >= 0:
        return _MOVE, vertex_code(x), edge_code(best), p, zero
    if height <= 0.0:
        # Below the face: inside the polytope, or in a local minimum, left for the face it is highest above.
        best, highest = 0, -math.inf
        for k in range(body_y[2], body_y[2] + body_y[3]):
            h = dot(load3(packed.planes, k, 0), p) - packed.planes[k, 3]
            if h > highest:
                best, highest = k - body_y[2], h
        if highest <= 0.0:
            return _MEET, vertex_code(x), face_code(y), p, zero
        if best != y:
            return _MOVE, vertex_code(x), face_code(best), p, zero
    if abs(height) <= touch:
        return _MEET, vertex_code(x), face_code(y), p, e
    # An edge of X that leads down to the face.
    down = rotate(r_yx, neg(n))
    v = corner(packed, body_x, x)
    row = body_x[1] + x
    best, most = -1, math.sqrt(leave)
    for k in range(packed.link_starts[row], packed.link_starts[row + 1]):
        descent = dot(down, sub(corner(packed, body_x, packed.links[k, 0]), v))
        if descent > most:
            best, most = packed.links[k, 1], descent
    if best >= 0:
        return _MOVE, edge_code(best), face_code(y), p, e
    return _APART, vertex_code(x), face_code(y), p, e


@device
def step_edge_edge(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch, size):
    """One step from two edges. Returns as `step_vertex_vertex`."""
    x0, x1 = edge_ends(packed, body_x, x)
    y0, y1 = edge_ends(packed, body_y, y)
    u_own = sub(x1, x0)
    p0 = transform(r_xy, t_xy, x0)
    u, w = rotate(r_xy, u_own), sub(y1, y0)
    d = sub(p0, y0)
    gap2, s, t = closest_segment_parameters(d, u, w)
    p = add_scaled(p0, u, s)
    e = add_scaled(add_scaled(d, u, s), w, -t)
    if gap2 <= touch * touch:
        return _MEET, edge_code(x), edge_code(y), p, e
    # Past an end of one of the edges.
    past_x = dot(e, u)
    if (s == 0.0 or s == 1.0) and past_x * past_x > leave * norm2(u):
        return _MOVE, vertex_code(packed.edges[body_x[4] + x, 0 if s == 0.0 else 1]), edge_code(y), p, e
    past_y = dot(e, w)
    if (t == 0.0 or t == 1.0) and past_y * past_y > leave * norm2(w):
        return _MOVE, edge_code(x), vertex_code(packed.edges[body_y[4] + y, 0 if t == 0.0 else 1]), p, e
    # Between the ends the direction is that of the cross product, which is exact at any gap unless the edges are parallel.
    if 0.0 < s < 1.0 and 0.0 < t < 1.0:
        c = cross(u, w)
        c2 = norm2(c)
        if c2 * size * size > gap2 * norm2(u) * norm2(w):
            e = scale(c, dot(d, c) / c2)
    if 0.0 < t < 1.0:
        e = without(e, w)
    if 0.0 < s < 1.0:
        e = without(e, u)
    face = face_towards(packed, body_y, y, w, e, enter)
    if face >= 0:
        return _MOVE, edge_code(x), face_code(face), p, e
    face = face_towards(packed, body_x, x, u_own, rotate(r_yx, neg(e)), enter)
    if face >= 0:
        return _MOVE, face_code(face), edge_code(y), p, e
    return _APART, edge_code(x), edge_code(y), p, e


@device
def step_edge_face(packed, body_x, body_y, x, y, r_xy, t_xy, leave, touch):
    """One step from an edge and a face: never the last one unless they meet. Returns as `step_vertex_vertex`."""
    x0, x1 = edge_ends(packed, body_x, x)
    p0 = transform(r_xy, t_xy, x0)
    u = rotate(r_xy, sub(x1, x0))
    plane = body_y[2] + y
    n = load3(packed.planes, plane, 0)
    first, last = packed.loop_starts[plane], packed.loop_starts[plane + 1]
    margin = math.sqrt(leave)
    # Clip the edge to the prism over the face: [low, high], and the sides that cut there.
    low, high, low_side, high_side, excluded = 0.0, 1.0, -1, -1, False
    tail = corner(packed, body_y, packed.loops[last - 1, 0])
    for k in range(first, last):
        head = corner(packed, body_y, packed.loops[k, 0])
        side = packed.loops[k - 1 if k > first else last - 1, 1]
        w = sub(head, tail)
        out = cross(w, n)
        start = dot(sub(p0, tail), out) - margin * norm(w)
        rise = dot(u, out)
        end = start + rise
        if start > 0.0 and end > 0.0:
            excluded = True
        elif start > 0.0:
            cut = -start / rise
            if cut > low:
                low, low_side = cut, side
        elif end > 0.0:
            cut = -start / rise
            if cut < high:
                high, high_side = cut, side
        tail = head
    h0 = dot(n, sub(p0, tail))
    slope = dot(n, u)
    if excluded or low > high:
        # Outside the prism the closest point of the face is on one of its edges.
        best, nearest = -1, math.inf
        tail = corner(packed, body_y, packed.loops[last - 1, 0])
        for k in range(first, last):
            head = corner(packed, body_y, packed.loops[k, 0])
            gap2, _s, _t = closest_segment_parameters(sub(p0, tail), u, sub(head, tail))
            if gap2 < nearest:
                best, nearest = packed.loops[k - 1 if k > first else last - 1, 1], gap2
            tail = head
        return _MOVE, edge_code(x), edge_code(best), p0, (0.0, 0.0, 0.0)
    h_low, h_high = h0 + low * slope, h0 + high * slope
    if h_low * h_high <= 0.0:
        # The edge goes through the face.
        at = clamp01(-h0 / slope) if slope != 0.0 else low
        return _MEET, edge_code(x), face_code(y), add_scaled(p0, u, at), (0.0, 0.0, 0.0)
    # To the end that is nearer to the plane; of two alike to a vertex rather than a side.
    parallel = abs(slope) <= margin
    to_low = low_side < 0 if parallel else (slope > 0.0) == (h_low > 0.0)
    at, h, side = (low, h_low, low_side) if to_low else (high, h_high, high_side)
    p = add_scaled(p0, u, at)
    e = scale(n, h)
    if abs(h) <= touch:
        return _MEET, edge_code(x), face_code(y), p, e
    if side >= 0:
        return _MAYBE_APART if parallel else _MOVE, edge_code(x), edge_code(side), p, e
    return _MOVE, vertex_code(packed.edges[body_x[4] + x, 0 if to_low else 1]), face_code(y), p, e


@device
def valid_feature(ints, k, code):
    """Whether `code` names a feature of part k."""
    if code < 0:
        return False
    kind, i = code & 3, code >> 2
    if kind == VERTEX:
        return i < ints[k, VERTEX_COUNT]
    if kind == EDGE:
        return i < ints[k, EDGE_COUNT]
    return kind == FACE and i < ints[k, FACE_COUNT]


@device
def vertex_of(packed, body, code):
    """A vertex of a feature."""
    kind, i = code & 3, code >> 2
    if kind == VERTEX:
        return i
    if kind == EDGE:
        return packed.edges[body[4] + i, 0]
    return packed.loops[packed.loop_starts[body[2] + i], 0]


@device
def lower_bound(packed, body_a, body_b, r, t, feature_a, feature_b, v):
    """Distance of the two planes orthogonal to v that touch A and B: a lower bound. Climbs from the two features."""
    down_a, up_b = neg(v), unrotate(r, v)
    i = climb(
        packed.vertices,
        packed.link_starts,
        packed.links,
        body_a[0],
        body_a[1],
        body_a[0] + vertex_of(packed, body_a, feature_a),
        down_a,
    )
    j = climb(
        packed.vertices, packed.link_starts, packed.links, body_b[0], body_b[1], body_b[0] + vertex_of(packed, body_b, feature_b), up_b
    )
    pa = (packed.vertices[0, i], packed.vertices[1, i], packed.vertices[2, i])
    pb = transform(r, t, (packed.vertices[0, j], packed.vertices[1, j], packed.vertices[2, j]))
    return dot(v, sub(pa, pb)) / norm(v)


@kernel
def v_clip_walk(packed, a, b, r, t, feature_a, feature_b):
    """Closest features of polytopes a and b (boxes, hulls), from the given ones (-1: vertices that face each other).

    (r, t) is the pose of B in A's frame. Returns (status, v, point of A, feature of A, of B, steps): v, from B's closest
    point to A's, and the point in A's frame. OVERLAPPING includes touching; v is then 0 or below the touch distance and the
    point belongs to both. UNCONVERGED: the walk went round in circles, or its end could not be proved.
    """
    ints, reals = packed.part_ints, packed.part_reals
    body_a, body_b = load_body(ints, a), load_body(ints, b)
    touch = touch_distance(reals, a, b, t)
    size = part_size(reals, a, b) + abs(t[0]) + abs(t[1]) + abs(t[2])
    r_ab = transpose(r)
    t_ab = neg(unrotate(r, t))
    if not (valid_feature(ints, a, feature_a) and valid_feature(ints, b, feature_b)):
        axis = center_axis(reals, a, b, r, t)
        _kind, start, stop, row, _p0, _p1, _p2 = load_part(ints, reals, a)
        i = hull_support(packed.vertices, packed.link_starts, packed.links, start, stop, row, neg(axis))
        feature_a = vertex_code(i - start)
        _kind, start, stop, row, _p0, _p1, _p2 = load_part(ints, reals, b)
        i = hull_support(packed.vertices, packed.link_starts, packed.links, start, stop, row, unrotate(r, axis))
        feature_b = vertex_code(i - start)
    if feature_a & 3 == FACE and feature_b & 3 == FACE:
        feature_b = vertex_code(vertex_of(packed, body_b, feature_b))
    zero = (0.0, 0.0, 0.0)
    enter = -((V_CLIP_TIE * size) ** 2)
    leave = (V_CLIP_LEAVE * size) ** 2
    # Brent's test for a cycle: keep the state at steps 1, 2, 4, 8, ...
    mark_a, mark_b, mark_step = -1, -1, 1
    since, rounds = 0, 0
    for i in range(V_CLIP_ITERATIONS):
        if feature_a == mark_a and feature_b == mark_b:
            rounds += 1
            if rounds == 2:
                enter, leave = 0.0, 0.0
            elif rounds == 3:
                return UNCONVERGED, zero, zero, feature_a, feature_b, i
            mark_a, mark_b, mark_step, since = feature_a, feature_b, 2, 0
        if since == mark_step:
            mark_a, mark_b = feature_a, feature_b
            mark_step, since = 2 * mark_step, 0
        since += 1
        # The lower feature is X, the higher Y.
        swapped = feature_a & 3 > feature_b & 3
        if swapped:
            body_x, body_y, fx, fy = body_b, body_a, feature_b, feature_a
            r_xy, t_xy, r_yx = r, t, r_ab
        else:
            body_x, body_y, fx, fy = body_a, body_b, feature_a, feature_b
            r_xy, t_xy, r_yx = r_ab, t_ab, r
        x, y, kind_x, kind_y = fx >> 2, fy >> 2, fx & 3, fy & 3
        if kind_y == VERTEX:
            outcome, fx, fy, p, e = step_vertex_vertex(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, touch)
        elif kind_y == EDGE and kind_x == VERTEX:
            outcome, fx, fy, p, e = step_vertex_edge(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch)
        elif kind_y == EDGE:
            outcome, fx, fy, p, e = step_edge_edge(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch, size)
        elif kind_x == VERTEX:
            outcome, fx, fy, p, e = step_vertex_face(packed, body_x, body_y, x, y, r_xy, t_xy, r_yx, enter, leave, touch)
        else:
            outcome, fx, fy, p, e = step_edge_face(packed, body_x, body_y, x, y, r_xy, t_xy, leave, touch)
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
            return OVERLAPPING, v, point, feature_a, feature_b, i + 1
        length = norm(v)
        lower = lower_bound(packed, body_a, body_b, r, t, feature_a, feature_b, v)
        slack = min(touch * (1.0 + size / length), V_CLIP_GAP * size) if outcome == _APART else touch
        proved = lower > 0.0 and length - lower <= slack
        if proved or outcome == _APART:
            return SEPARATED if proved else UNCONVERGED, v, point, feature_a, feature_b, i + 1
    return UNCONVERGED, zero, zero, feature_a, feature_b, V_CLIP_ITERATIONS


@kernel
def v_clip_distance(packed, a, b, r, t, feature_a, feature_b):
    """`v_clip_walk`, with GJK where the walk does not end. Returns (status, v, point of A, features of A, of B, steps, fell back).

    After a fallback the features are -1, and in overlap the point is one of A alone.
    """
    status, v, point, fa, fb, steps = v_clip_walk(packed, a, b, r, t, feature_a, feature_b)
    if status != UNCONVERGED:
        return status, v, point, fa, fb, steps, False
    status, v, point, _lower = gjk_distance(
        packed.part_ints,
        packed.part_reals,
        packed.vertices,
        packed.link_starts,
        packed.links,
        a,
        b,
        r,
        t,
        center_axis(packed.part_reals, a, b, r, t),
        math.inf,
    )
    return status, v, point, -1, -1, steps, True


@kernel("i8, i8, packed, i8[:,::1], f8[:,::1], f8[:,::1], i8, u1[::1], f8[::1], f8[:,::1], f8[:,::1], f8[:,::1], i8[:,::1]")
def v_clip_rows(
    start,
    stop,
    packed,
    pairs_in,
    poses_a_in,
    poses_b_in,
    by_shape,
    status_out,
    distance_out,
    point_a_out,
    point_b_out,
    normal_out,
    feature_inout,
):
    """`v_clip_distance` of rows start .. stop-1: pairs of single boxes or hulls, poses and results in the world.

    One pair or one pose serves all rows; `by_shape`: poses belong to the shapes of the pair instead of to the row. In overlap
    the distance and the normal are 0 and the two points are one. `feature_inout` starts each row's walk and takes its end.
    """
    for i in range(start, stop):
        pair = i if pairs_in.shape[0] > 1 else 0
        shape_a, shape_b = pairs_in[pair, 0], pairs_in[pair, 1]
        row_a = shape_a if by_shape else (i if poses_a_in.shape[0] > 1 else 0)
        row_b = shape_b if by_shape else (i if poses_b_in.shape[0] > 1 else 0)
        a, b = packed.shape_ints[shape_a, PART_START], packed.shape_ints[shape_b, PART_START]
        rotation_a, translation_a = load_rotation(poses_a_in, row_a), load_translation(poses_a_in, row_a)
        r = relative_rotation(rotation_a, load_rotation(poses_b_in, row_b))
        t = unrotate(rotation_a, sub(load_translation(poses_b_in, row_b), translation_a))
        status, v, point, fa, fb, _steps, _fell_back = v_clip_distance(
            packed, a, b, r, t, feature_inout[i, 0], feature_inout[i, 1]
        )
        distance, normal = 0.0, (0.0, 0.0, 0.0)
        if status != OVERLAPPING:
            distance = norm(v)
            if distance > 0.0:
                normal = scale(rotate(rotation_a, v), -1.0 / distance)
        point_a = add(rotate(rotation_a, point), translation_a)
        status_out[i], distance_out[i] = status, distance
        feature_inout[i, 0], feature_inout[i, 1] = fa, fb
        for k in range(3):
            point_a_out[i, k] = point_a[k]
            point_b_out[i, k] = point_a[k] + distance * normal[k]
            normal_out[i, k] = normal[k]
