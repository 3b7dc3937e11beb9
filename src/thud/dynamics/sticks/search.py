"""Pairs that may come near each other in a sub-step: a point and a face, or two edges, whose corridors meet."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel, view_device
from thud._core.simd_boxes import lowest_bit
from thud._core.simd_corridors import LANES, ROW, corridor_meets, corridors_meet, join_corridors
from thud.dynamics.sticks.contacts import kept_gap, most_stray, put_contact
from thud.dynamics.sticks.corridors import nearer
from thud.dynamics.sticks.planes import gap_along, pair_plane, ways_apart
from thud.dynamics.sticks.tolerances import FLOOR, LEAF, NEAR, PARTS, SINGLE, SLACK
from thud.dynamics.sticks.types import EDGES, FACE, IS_FACE, OWN_EDGE, OWN_GAP, Desk
from thud.math.vec3 import load3

#: Levels of two trees that wait (a count): three more pairs a level than are taken.
_STACK = 192

#: Most faces of a leaf, and edges or points that it looks after.
_FACES, _OWN = 2 * LEAF, 6 * LEAF

#: Pairs of two leaves that wait to be looked at (a count).
_TODO = _OWN * _OWN + 2 * _OWN * _FACES


@view_device
def new_desk():
    """Of one member."""
    return Desk(np.empty((_STACK, 2), np.int64), np.empty((_TODO, 5), np.int32), np.empty((3, ROW), np.float32))


@device
def note(todo, many, a, b, c, d, kind):
    """One more pair to look at; returns how many there are."""
    todo[many, 0], todo[many, 1], todo[many, 2], todo[many, 3], todo[many, 4] = a, b, c, d, kind
    return many + 1


@device
def judge(points, room, rules, triangles, chunk, first, todo, many, body):
    """Of pairs whose corridors meet, those that may pass the least gap are kept; if it is the `first` look of a sub-step those
    that would come within reach are contacts. Returns the least distance."""
    x, y = points.x, points.base
    gap = kept_gap(rules, body)
    reach = gap * (1.0 + SLACK)
    nearest = np.inf
    kept, contacts, size = room.pair_count[chunk], room.contact_count[chunk], room.pair_kind.shape[1]
    for t in range(many):
        i, j, k, m, kind = todo[t, 0], todo[t, 1], todo[t, 2], todo[t, 3], todo[t, 4]
        x0, x1, x2, x3 = load3(x, i, 0), load3(x, j, 0), load3(x, k, 0), load3(x, m, 0)
        distance, n, w0, w1, w2, w3 = pair_plane(kind, x0, x1, x2, x3)
        nearest = min(nearest, distance)
        if distance == 0.0:
            continue
        y0, y1, y2, y3 = load3(y, i, 0), load3(y, j, 0), load3(y, k, 0), load3(y, m, 0)
        apart = gap_along(kind, n, y0, y1, y2, y3)
        if apart - most_stray(points.margin, kind, i, j, k, m) < FLOOR * gap:
            if kept < size:
                row = room.pair_points[chunk, kept]
                row[0], row[1], row[2], row[3] = i, j, k, m
                room.pair_kind[chunk, kept], room.pair_body[chunk, kept] = kind, body
                room.pair_slack[chunk, kept] = np.float32(apart - SINGLE * abs(apart))
            kept += 1
        if first and apart < reach and not ways_apart(kind, x0, x1, x2, x3, y0, y1, y2, y3, reach):
            contacts = put_contact(
                points, room, rules, triangles, chunk, contacts, i, j, k, m, body, distance, n, w0, w1, w2, w3
            )
    room.pair_count[chunk], room.contact_count[chunk] = kept, contacts
    return nearest


@device
def known_place(tree, a, b):
    """Where leaf `a` has what it knows of leaf `b`, or can have it: a place that is out of date; -1 for none."""
    free, now = -1, tree.now[0]
    for k in range(NEAR):
        fresh = tree.when[a, k] >= now - 1
        if fresh and tree.other[a, k] == b:
            return k
        if not fresh:
            free = k
    return free


@device
def known_apart(tree, a, b, place):
    """How far apart two leaves are at the begin of the sub-step at least, but for what is joined; 0 if that is not known."""
    if place < 0 or tree.other[a, place] != b or tree.when[a, place] < tree.now[0] - 1:
        return 0.0
    if tree.when[a, place] < tree.now[0]:
        left = np.float64(tree.apart[a, place]) - nearer(tree.moved, a, b)
        tree.apart[a, place], tree.when[a, place] = np.float32(left - SINGLE * abs(left)), tree.now[0]
    return np.float64(tree.apart[a, place])


@device
def know_apart(tree, a, b, place, apart):
    """Remember that."""
    if place >= 0:
        tree.other[a, place], tree.when[a, place] = b, tree.now[0]
        tree.apart[a, place] = np.float32(apart - SINGLE * abs(apart))


@device
def points_with_faces(points, tree, first, leaf, other, todo, many):
    """Pairs of a leaf's points and another leaf's faces whose corridors meet."""
    leaves = tree.nodes.shape[0] // 2
    for faces in range(tree.first_face[other] // LANES, tree.first_face[other + 1] // LANES):
        if corridor_meets(tree.nodes, leaves + leaf, tree.face_blocks, faces) == 0:
            continue
        for block in range(tree.first_point[leaf] // LANES, tree.first_point[leaf + 1] // LANES):
            some = corridor_meets(tree.nodes, leaves + other, tree.point_blocks, block)
            while some != 0:
                p = tree.points[LANES * block + np.int64(lowest_bit(some))]
                some &= some - np.uint32(1)
                more = corridor_meets(points.rows, p, tree.face_blocks, faces)
                while more != 0:
                    f = LANES * faces + np.int64(lowest_bit(more))
                    more &= more - np.uint32(1)
                    a, b, c = tree.faces[f, 0], tree.faces[f, 1], tree.faces[f, 2]
                    if ((p != a) & (p != b) & (p != c)) and (first or points.dirty[p] | tree.dirty_faces[f] == 1):
                        many = note(todo, many, p, a, b, c, FACE)
    return many


@device
def edges_with_edges(tree, first, leaf, other, todo, many):
    """Pairs of edges of two leaves whose corridors meet; of the same leaf each with those after it."""
    leaves = tree.nodes.shape[0] // 2
    for others in range(tree.first_edge[other] // LANES, tree.first_edge[other + 1] // LANES):
        if corridor_meets(tree.nodes, leaves + leaf, tree.edge_blocks, others) == 0:
            continue
        for block in range(tree.first_edge[leaf] // LANES, tree.first_edge[leaf + 1] // LANES):
            some = corridor_meets(tree.nodes, leaves + other, tree.edge_blocks, block)
            while some != 0:
                e = LANES * block + np.int64(lowest_bit(some))
                some &= some - np.uint32(1)
                a, b = tree.edges[e, 0], tree.edges[e, 1]
                more = corridor_meets(tree.edge_rows, e, tree.edge_blocks, others)
                while more != 0:
                    f = LANES * others + np.int64(lowest_bit(more))
                    more &= more - np.uint32(1)
                    c, d = tree.edges[f, 0], tree.edges[f, 1]
                    joined = (a == c) | (a == d) | (b == c) | (b == d) | ((leaf == other) & (f <= e))
                    if not joined and (first or tree.dirty_edges[e] | tree.dirty_edges[f] == 1):
                        many = note(todo, many, a, b, c, d, EDGES)
    return many


@kernel(inner="stick_points, stick_tree, stick_room, stick_desk, f8[::1], stick_triangles, i8, i8, b1")
def look_within(points, tree, room, desk, rules, triangles, chunk, part, first):
    """Pairs of cloth with itself: node PARTS + part with itself and those after it. If it is not the `first` look of a
    sub-step: where a point of the two is dirty."""
    leaves = tree.nodes.shape[0] // 2
    stack, todo = desk.stack, desk.todo
    reach, least = (1.0 + SLACK) * rules[OWN_GAP], FLOOR * rules[OWN_GAP]
    nodes, dirty = tree.nodes, tree.dirty_nodes
    for other in range(part, PARTS):
        stack[0, 0], stack[0, 1] = PARTS + part, PARTS + other
        depth = 1
        while depth > 0:
            depth -= 1
            a, b = stack[depth, 0], stack[depth, 1]
            if not (first or dirty[a] | dirty[b] == 1) or not corridors_meet(nodes, a, nodes, b):
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
            place, apart = -1, 0.0
            watch = np.float64(tree.watch[a - leaves]) + np.float64(tree.watch[b - leaves])
            if watch > 0.0:
                place = known_place(tree, a - leaves, b - leaves)
                apart = known_apart(tree, a - leaves, b - leaves, place)
            if apart > 0.0:
                apart -= nearer(tree.move, a - leaves, b - leaves)
                stray = np.float64(tree.stray[a - leaves]) + np.float64(tree.stray[b - leaves])
                if apart > max(reach if first else 0.0, least + stray):
                    continue
            many = 0
            many = points_with_faces(points, tree, first, a - leaves, b - leaves, todo, many)
            if a != b:
                many = points_with_faces(points, tree, first, b - leaves, a - leaves, todo, many)
            many = edges_with_edges(tree, first, a - leaves, b - leaves, todo, many)
            nearest = judge(points, room, rules, triangles, chunk, first, todo, many, np.int32(-1))
            if first:
                know_apart(tree, a - leaves, b - leaves, place, min(nearest, reach + watch))


@kernel(inner="stick_points, stick_tree, stick_room, stick_desk, f8[::1], stick_triangles, i8, i8, b1")
def look_at_bodies(points, tree, room, desk, rules, triangles, chunk, part, first):
    """Pairs with triangles of bodies, of what is below node PARTS + part."""
    leaves, total = tree.nodes.shape[0] // 2, triangles.body.shape[0]
    corner = points.x.shape[0] - 3 * total
    stack, todo, rows = desk.stack, desk.todo, desk.rows
    for t in range(total):
        if not corridors_meet(triangles.rows, t, tree.nodes, PARTS + part):
            continue
        a, b, c = np.int32(corner + 3 * t), np.int32(corner + 3 * t + 1), np.int32(corner + 3 * t + 2)
        owns = triangles.owns[t]
        for k in range(3):
            join_corridors(points.rows, a + k, points.rows, a + (k + 1) % 3, rows, k)
        stack[0, 0] = PARTS + part
        depth = 1
        while depth > 0:
            depth -= 1
            node = stack[depth, 0]
            if not (first or tree.dirty_nodes[node] == 1) or not corridors_meet(triangles.rows, t, tree.nodes, node):
                continue
            if node < leaves:
                stack[depth, 0], stack[depth + 1, 0] = 2 * node, 2 * node + 1
                depth += 2
                continue
            leaf, many = node - leaves, 0
            for block in range(tree.first_point[leaf] // LANES, tree.first_point[leaf + 1] // LANES):
                some = corridor_meets(triangles.rows, t, tree.point_blocks, block)
                while some != 0:
                    p = tree.points[LANES * block + np.int64(lowest_bit(some))]
                    some &= some - np.uint32(1)
                    if first or points.dirty[p] == 1:
                        many = note(todo, many, p, a, b, c, FACE)
            for k in range(3):
                if (owns >> k) & 1 == 0:
                    continue
                for block in range(tree.first_face[leaf] // LANES, tree.first_face[leaf + 1] // LANES):
                    some = corridor_meets(points.rows, a + k, tree.face_blocks, block)
                    while some != 0:
                        f = LANES * block + np.int64(lowest_bit(some))
                        some &= some - np.uint32(1)
                        if first or tree.dirty_faces[f] == 1:
                            x, y, z = tree.faces[f, 0], tree.faces[f, 1], tree.faces[f, 2]
                            many = note(todo, many, np.int32(a + k), x, y, z, FACE)
            for k in range(3):
                if (owns >> (OWN_EDGE + k)) & 1 == 0:
                    continue
                for block in range(tree.first_edge[leaf] // LANES, tree.first_edge[leaf + 1] // LANES):
                    some = corridor_meets(rows, k, tree.edge_blocks, block)
                    while some != 0:
                        e = LANES * block + np.int64(lowest_bit(some))
                        some &= some - np.uint32(1)
                        if first or tree.dirty_edges[e] == 1:
                            p, q = np.int32(a + k), np.int32(a + (k + 1) % 3)
                            many = note(todo, many, tree.edges[e, 0], tree.edges[e, 1], p, q, EDGES)
            judge(points, room, rules, triangles, chunk, first, todo, many, triangles.body[t])


@device
def same_point(corners, i, j):
    """Whether corners i and j, three of each triangle (T, 9), are in one place."""
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
