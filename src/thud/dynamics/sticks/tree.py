"""Pairs that may come near each other, by a tree of elements: kernels.

Each point stays within a margin of a way, straight from where it is to where it is thought to be after some sub-steps. So an
element stays in a corridor, a box that moves (12 numbers: lower and upper corner at the begin, then at the end). Two groups of
points whose boxes are apart along the same axis, on the same side, at the begin and at the end do not meet: along that axis
both ends of either box move straight, or better. So cloth that falls, or is carried, costs as much as cloth that lies still.

The tree is a heap: node k has the children 2k and 2k + 1, and each leaf the same number of elements, give or take one.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.dynamics.sticks.planes import pair_plane
from thud.dynamics.sticks.tolerances import LEAF, SINGLE
from thud.dynamics.sticks.types import EDGES, FACE, IS_FACE, OWN_EDGE
from thud.math.vec3 import load3, norm, sub

SQRT3 = math.sqrt(3.0)

#: Levels of two trees that wait (a count): three more pairs a level than are taken.
_STACK = 128

#: Pairs of one element with a leaf that wait to be looked at (a count): with each of its elements 6 points and 9 edges.
_TODO = 15 * 4 * LEAF


@kernel("i8, i8, stick_points, f8, f8, f8[::1], f8[::1], f8[::1]")
def foresee(start, stop, points, time, part, margin, pull, stops):
    """Ways of points in the next `time` seconds, a part of what is left of the step. margin: (N,); stops: (N,) 0 or more for
    points that bodies may stop on their way, or push by as much, metres; else -1. What nothing pushes goes where it must."""
    own = points.velocity.shape[0]
    for i in range(start, stop):
        free = i < own and points.give[i] > 0.0
        length2 = 0.0
        for axis in range(3):
            a = points.x[i, axis]
            way = part * (points.after[i, axis] - a)
            if free:
                way = time * (points.velocity[i, axis] + 0.5 * time * pull[axis])
            points.ref[i, axis], points.way[i, axis] = a, way
            length2 += way * way
        m = margin[i] if free else 0.0
        if free and stops[i] >= 0.0:
            m += math.sqrt(length2) + stops[i]
        points.margin[i], points.stray[i] = m, np.float32(0.0)


@device
def join_boxes(boxes, i, j, out, at):
    """The corridor of two."""
    for axis in range(3):
        out[at, axis] = min(boxes[i, axis], boxes[j, axis])
        out[at, 3 + axis] = max(boxes[i, 3 + axis], boxes[j, 3 + axis])
        out[at, 6 + axis] = min(boxes[i, 6 + axis], boxes[j, 6 + axis])
        out[at, 9 + axis] = max(boxes[i, 9 + axis], boxes[j, 9 + axis])


@device
def corridor(points, i, j, k, reach, out, at):
    """The corridor of three points, wider by a reach."""
    ref, way = points.ref, points.way
    m = max(points.margin[i], max(points.margin[j], points.margin[k])) + reach
    for axis in range(3):
        a, b, c = ref[i, axis], ref[j, axis], ref[k, axis]
        out[at, axis], out[at, 3 + axis] = min(a, min(b, c)) - m, max(a, max(b, c)) + m
        a, b, c = a + way[i, axis], b + way[j, axis], c + way[k, axis]
        out[at, 6 + axis], out[at, 9 + axis] = min(a, min(b, c)) - m, max(a, max(b, c)) + m


@device
def meet(a, i, b, j):
    """Whether two corridors may meet."""
    for axis in range(3):
        if a[i, axis] > b[j, 3 + axis] and a[i, 6 + axis] > b[j, 9 + axis]:
            return False
        if b[j, axis] > a[i, 3 + axis] and b[j, 6 + axis] > a[i, 9 + axis]:
            return False
    return True


@kernel("i8, i8, stick_points, i4[:,::1], f8, f8[:,::1]")
def element_boxes(start, stop, points, elements, reach, boxes_out):
    """Corridors of elements (E, 3), wider by a reach."""
    for e in range(start, stop):
        corridor(points, elements[e, 0], elements[e, 1], elements[e, 2], reach, boxes_out, e)


@kernel("i8, i8, f8[:,::1], f8[:,::1]")
def leaf_boxes(start, stop, boxes, nodes_out):
    """Corridors of the leaves [start, stop) of a heap of nodes (2 L, 12)."""
    leaves, count = nodes_out.shape[0] // 2, boxes.shape[0]
    for leaf in range(start, stop):
        at = leaves + leaf
        for c in range(3):
            nodes_out[at, c], nodes_out[at, 6 + c] = np.inf, np.inf
            nodes_out[at, 3 + c], nodes_out[at, 9 + c] = -np.inf, -np.inf
        for e in range(count * leaf // leaves, count * (leaf + 1) // leaves):
            for c in range(3):
                nodes_out[at, c] = min(nodes_out[at, c], boxes[e, c])
                nodes_out[at, 3 + c] = max(nodes_out[at, 3 + c], boxes[e, 3 + c])
                nodes_out[at, 6 + c] = min(nodes_out[at, 6 + c], boxes[e, 6 + c])
                nodes_out[at, 9 + c] = max(nodes_out[at, 9 + c], boxes[e, 9 + c])


@kernel("f8[:,::1]")
def upper_boxes(nodes_out):
    """Corridors of all other nodes."""
    for k in range(nodes_out.shape[0] // 2 - 1, 0, -1):
        join_boxes(nodes_out, 2 * k, 2 * k + 1, nodes_out, k)


@device
def edge_of(elements, e, k):
    """The two points of edge k of an element."""
    return elements[e, k], elements[e, (k + 1) % 3]


@device
def parted(points, a, b, c, d, reach):
    """Whether the ways of edges ab and cd are apart along an axis by more than a reach and their margins."""
    ref, way = points.ref, points.way
    m = max(points.margin[a], points.margin[b]) + max(points.margin[c], points.margin[d]) + reach
    for axis in range(3):
        p, q, r, s = ref[a, axis], ref[b, axis], ref[c, axis], ref[d, axis]
        e, f, g, h = p + way[a, axis], q + way[b, axis], r + way[c, axis], s + way[d, axis]
        if min(p, q) - max(r, s) > m and min(e, f) - max(g, h) > m:
            return True
        if min(r, s) - max(p, q) > m and min(g, h) - max(e, f) > m:
            return True
    return False


@device
def point_parted(points, p, boxes, j, reach):
    """Whether the way of a point is apart from a corridor along an axis by more than a reach."""
    m = points.margin[p] + reach
    for axis in range(3):
        a = points.ref[p, axis]
        b = a + points.way[p, axis]
        if a - m > boxes[j, 3 + axis] and b - m > boxes[j, 9 + axis]:
            return True
        if boxes[j, axis] > a + m and boxes[j, 6 + axis] > b + m:
            return True
    return False


@device
def apart_in_way(points, a, b):
    """How differently two points go."""
    return norm(sub(load3(points.way, a, 0), load3(points.way, b, 0)))


@device
def put_pair(points, reach, out, part, found, a, b, c, d, kind, body):
    """One more pair of a part, if it may come within a reach and if there is room; returns how many there are.

    The two start at a distance, and come nearer by no more than their points go differently, and stray."""
    ref, margin = points.ref, points.margin
    distance, _n, _w0, _w1, _w2, _w3 = pair_plane(kind, load3(ref, a, 0), load3(ref, b, 0), load3(ref, c, 0), load3(ref, d, 0))
    if kind == FACE:
        most = max(apart_in_way(points, a, b), max(apart_in_way(points, a, c), apart_in_way(points, a, d)))
        stray = margin[a] + max(margin[b], max(margin[c], margin[d]))
    else:
        most = max(
            max(apart_in_way(points, a, c), apart_in_way(points, a, d)),
            max(apart_in_way(points, b, c), apart_in_way(points, b, d)),
        )
        stray = max(margin[a], margin[b]) + max(margin[c], margin[d])
    slack = distance - most
    # A margin along each axis is up to sqrt(3) of it.
    if slack > reach + SQRT3 * stray:
        return found
    if found < out.points.shape[1]:
        row = out.points[part, found]
        row[0], row[1], row[2], row[3] = a, b, c, d
        out.kind[part, found], out.body[part, found] = kind, body
        out.slack[part, found] = np.float32(slack - SINGLE * abs(slack))
    return found + 1


@device
def note(todo, many, a, b, c, d, kind):
    """One more pair to look at; returns how many there are."""
    todo[many, 0], todo[many, 1], todo[many, 2], todo[many, 3], todo[many, 4] = a, b, c, d, kind
    return many + 1


@device
def points_of_one(points, tree, i, j, reach, todo, many):
    """Points that element i owns with the face j."""
    owns = tree.owns[i]
    if tree.owns[j] & IS_FACE == 0 or owns & 7 == 0:
        return many
    a, b, c = tree.elements[j, 0], tree.elements[j, 1], tree.elements[j, 2]
    for k in range(3):
        p = tree.elements[i, k]
        if (owns >> k) & 1 and p != a and p != b and p != c and not point_parted(points, p, tree.boxes, j, 0.5 * reach):
            many = note(todo, many, p, a, b, c, FACE)
    return many


@device
def element_pairs(points, tree, i, j, reach, todo, many):
    """Pairs of two elements: points of one with the other face, edges with edges."""
    many = points_of_one(points, tree, i, j, reach, todo, many)
    many = points_of_one(points, tree, j, i, reach, todo, many)
    mine, other = tree.owns[i] >> OWN_EDGE, tree.owns[j] >> OWN_EDGE
    if mine & 7 == 0 or other & 7 == 0:
        return many
    for k in range(3):
        if not (mine >> k) & 1:
            continue
        a, b = edge_of(tree.elements, i, k)
        for m in range(3):
            if not (other >> m) & 1:
                continue
            c, d = edge_of(tree.elements, j, m)
            if a != c and a != d and b != c and b != d and not parted(points, a, b, c, d, reach):
                many = note(todo, many, a, b, c, d, EDGES)
    return many


@kernel("i8, i8, stick_points, stick_tree, f8, i8, stick_found")
def pairs_within(start, stop, points, tree, reach, parts, out):
    """Pairs of cloth with itself. Part p of `parts`, a power of 2: node parts + p with itself and those after it."""
    leaves, count = tree.nodes.shape[0] // 2, tree.elements.shape[0]
    stack, todo = np.empty((_STACK, 2), np.int64), np.empty((_TODO, 5), np.int32)
    for part in range(start, stop):
        found = 0
        for other in range(part, parts):
            stack[0, 0], stack[0, 1] = parts + part, parts + other
            depth = 1
            while depth > 0:
                depth -= 1
                a, b = stack[depth, 0], stack[depth, 1]
                if a != b and not meet(tree.nodes, a, tree.nodes, b):
                    continue
                if a < leaves:
                    stack[depth, 0], stack[depth, 1] = 2 * a, 2 * b
                    stack[depth + 1, 0], stack[depth + 1, 1] = 2 * a + 1, 2 * b + 1
                    stack[depth + 2, 0], stack[depth + 2, 1] = 2 * a, 2 * b + 1
                    depth += 3
                    if a != b:
                        stack[depth, 0], stack[depth, 1] = 2 * a + 1, 2 * b
                        depth += 1
                    continue
                a, b = a - leaves, b - leaves
                for i in range(count * a // leaves, count * (a + 1) // leaves):
                    first = i + 1 if a == b else count * b // leaves
                    many = 0
                    for j in range(first, count * (b + 1) // leaves):
                        if meet(tree.boxes, i, tree.boxes, j):
                            many = element_pairs(points, tree, i, j, reach, todo, many)
                    for k in range(many):
                        found = put_pair(
                            points, reach, out, part, found, todo[k, 0], todo[k, 1], todo[k, 2], todo[k, 3], todo[k, 4],
                            np.int32(-1),
                        )  # fmt: skip
        out.total[part] = found


@kernel("i8, i8, stick_points, stick_tree, f8, i8, i4[::1], u1[::1], stick_found")
def pairs_with_bodies(start, stop, points, tree, reach, parts, bodies, owns, out):
    """Pairs of cloth with triangles of bodies, whose corners follow the points; a part of the triangles each. owns: (T,) which
    of its points and edges a triangle looks after, as in `Tree.owns`."""
    leaves, count = tree.nodes.shape[0] // 2, tree.elements.shape[0]
    stack, todo = np.empty(_STACK, np.int64), np.empty((_TODO, 5), np.int32)
    triangle = np.empty((1, 12))
    first, total = points.x.shape[0] - 3 * bodies.shape[0], bodies.shape[0]
    for part in range(start, stop):
        found = 0
        for t in range(total * part // parts, total * (part + 1) // parts):
            body = bodies[t]
            a, b, c = np.int32(first + 3 * t), np.int32(first + 3 * t + 1), np.int32(first + 3 * t + 2)
            corridor(points, a, b, c, reach, triangle, 0)
            stack[0] = 1
            depth = 1
            while depth > 0:
                depth -= 1
                node = stack[depth]
                if not meet(tree.nodes, node, triangle, 0):
                    continue
                if node < leaves:
                    stack[depth], stack[depth + 1] = 2 * node, 2 * node + 1
                    depth += 2
                    continue
                leaf = node - leaves
                for e in range(count * leaf // leaves, count * (leaf + 1) // leaves):
                    if not meet(tree.boxes, e, triangle, 0):
                        continue
                    many, owned = 0, tree.owns[e]
                    for k in range(3):
                        p = tree.elements[e, k]
                        if (owned >> k) & 1 and not point_parted(points, p, triangle, 0, 0.0):
                            many = note(todo, many, p, a, b, c, FACE)
                    if owned & IS_FACE:
                        x, y, z = tree.elements[e, 0], tree.elements[e, 1], tree.elements[e, 2]
                        for k in range(3):
                            p = np.int32(a + k)
                            if (owns[t] >> k) & 1 and not point_parted(points, p, tree.boxes, e, reach):
                                many = note(todo, many, p, x, y, z, FACE)
                    for k in range(3):
                        if not (owned >> (OWN_EDGE + k)) & 1:
                            continue
                        x, y = edge_of(tree.elements, e, k)
                        for m in range(3):
                            p, q = np.int32(a + m), np.int32(a + (m + 1) % 3)
                            if (owns[t] >> (OWN_EDGE + m)) & 1 and not parted(points, x, y, p, q, reach):
                                many = note(todo, many, x, y, p, q, EDGES)
                    for k in range(many):
                        found = put_pair(
                            points, reach, out, part, found, todo[k, 0], todo[k, 1], todo[k, 2], todo[k, 3], todo[k, 4], body
                        )
        out.total[part] = found


@kernel("stick_found, stick_pairs, i8")
def gather_pairs(found, pairs, at):
    """The parts' pairs one after the other, from place `at` on."""
    for part in range(found.total.shape[0]):
        for k in range(found.total[part]):
            for c in range(4):
                pairs.points[at, c] = found.points[part, k, c]
            pairs.kind[at], pairs.body[at], pairs.slack[at] = found.kind[part, k], found.body[part, k], found.slack[part, k]
            at += 1


@kernel("stick_points, stick_pairs, f8[::1]")
def mark_points(points, pairs, stops_out):
    """How far the bodies move that points of cloth (N,) are in a pair with; -1 for those that are in none."""
    stops_out[:] = -1.0
    own = stops_out.shape[0]
    for p in range(pairs.kind.shape[0]):
        most = 0.0
        for c in range(4):
            q = pairs.points[p, c]
            if q >= own:
                most = max(most, norm(load3(points.way, q, 0)))
        for c in range(4):
            q = pairs.points[p, c]
            if q < own:
                stops_out[q] = max(stops_out[q], most)


@device
def same_point(corners, i, j):
    """Whether two corners are the same, to the bit."""
    a, b = i // 3, j // 3
    p, q = 3 * (i % 3), 3 * (j % 3)
    return (
        corners[a, p] == corners[b, q] and corners[a, p + 1] == corners[b, q + 1] and corners[a, p + 2] == corners[b, q + 2]
    )  # fmt: skip


@device
def corner_hash(corners, i):
    """A number of a corner's place."""
    t, k = i // 3, 3 * (i % 3)
    x, y, z = corners[t, k], corners[t, k + 1], corners[t, k + 2]
    return np.int64(np.floor((x * 12.9898 + y * 78.233 + z * 37.719) * 1048576.0)) & np.int64(0x3FFFFFFFFFFF)


@kernel("f8[:,::1], i4[::1], i4[::1], u1[::1]")
def own_features(corners, bodies, table, owns_out):
    """Which points and edges each triangle (T, 9) looks after: those that no earlier one of the same body has. table: room, a
    power of 2, for more than 6 T entries."""
    count, size = bodies.shape[0], table.shape[0]
    for kind in range(2):
        table[:] = -1
        for t in range(count):
            if kind == 0:
                owns_out[t] = IS_FACE
            for k in range(3):
                i = 3 * t + k
                j = 3 * t + (k + 1) % 3
                key = corner_hash(corners, i)
                if kind == 1:
                    key += corner_hash(corners, j)
                at = (key * np.int64(40503)) & (size - 1)
                known = False
                while table[at] >= 0:
                    p = table[at]
                    q = 3 * (p // 3) + (p % 3 + 1) % 3
                    if bodies[p // 3] == bodies[t]:
                        if kind == 0:
                            known = same_point(corners, i, p)
                        else:
                            known = (same_point(corners, i, p) and same_point(corners, j, q)) or (
                                same_point(corners, i, q) and same_point(corners, j, p)
                            )
                    if known:
                        break
                    at = (at + 1) & (size - 1)
                if not known:
                    table[at] = i
                    owns_out[t] |= np.uint8(1 << (k if kind == 0 else OWN_EDGE + k))
