"""Walks of two trees restricted to some of their triangles: do they meet, and when do they first touch on a way along a line.

The triangles of a part, and the slots above them, are marked with its number (`mark_part`); part 0 is everything.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import kernel
from thud._core.simd_boxes import boxes_meet8, boxes_sweep8, lowest_bit
from thud.constants import TOUCH
from thud.mesh.box_tree import F, U, box_query, load_slot, load_triangle, pair_frames, pair_size, place_triangle, push_pairs
from thud.mesh.cast import begin_walk, pair_sweep, pass_time, plane_entry
from thud.mesh.mesh_mesh import triangle_pair
from thud.mesh.tolerances import BOUND_ROUNDING, BOX_SLACK, PASS_TOUCH
from thud.mesh.triangle_sweep import sweep_triangles


@kernel(inner="i8[::1], i8[::1], i8[::1], i8, i8, i8, i4[::1]")
def mark_part(face_slot, up, listed, start, stop, part, mark_out):
    """Mark the slots of the faces listed[start:stop] and all above them. face_slot, up: see `SlotLinks`."""
    for k in range(start, stop):
        slot = face_slot[listed[k]]
        while mark_out[slot] != part:
            mark_out[slot] = part
            if slot < 8:
                break
            slot = up[slot >> 3]


@kernel(inner="part_tree, part_tree, i8, mat3, vec3, walk_space, i8[:,::1]")
def parts_meet(a, b, part, r, t, space, found_out):
    """Whether two triangles of the part meet, and which: tree positions in found_out[0]. (R, t) is B's tree in A's frame."""
    stack, metric = space.stack, space.lanes
    size = pair_size(a, b, t)
    touch, slack = TOUCH * size, F(BOX_SLACK * size)
    b_in_a, a_in_b = pair_frames(r, t)
    i, j = U(0), U(0)
    depth = U(0)
    while True:
        down_a, down_b = a.child[i], b.child[j]
        if down_a < 0 and down_b < 0:
            if triangle_pair(a.corners, b.corners, U(-1 - down_a), U(-1 - down_b), r, t, touch):
                found_out[0, 0], found_out[0, 1] = -1 - down_a, -1 - down_b
                return True
        else:
            box_a, box_b = load_slot(a.boxes, i), load_slot(b.boxes, j)
            open_a = down_b < 0 or (down_a >= 0 and box_a[3] + box_a[4] + box_a[5] >= box_b[3] + box_b[4] + box_b[5])
            if open_a:
                meet = boxes_meet8(a.boxes, U(48) * U(down_a), box_query(a_in_b, box_b, slack), metric)
                base = U(8) * U(down_a)
            else:
                meet = boxes_meet8(b.boxes, U(48) * U(down_b), box_query(b_in_a, box_a, slack), metric)
                base = U(8) * U(down_b)
            # On with the child that lies deepest; the others wait.
            best = U(8)
            while meet != 0:
                lane = lowest_bit(meet)
                meet &= meet - np.uint32(1)
                if part != 0 and (a.mark[base + lane] if open_a else b.mark[base + lane]) != part:
                    continue
                if best == U(8):
                    best = lane
                    continue
                wait = lane
                if metric[lane] < metric[best]:
                    best, wait = lane, best
                stack[depth], stack[depth + U(1)] = (base + wait, j) if open_a else (i, base + wait)
                depth += U(2)
            if best != U(8):
                if open_a:
                    i = base + best
                else:
                    j = base + best
                continue
        if depth == 0:
            return False
        depth -= U(2)
        i, j = stack[depth], stack[depth + U(1)]


@kernel(inner="part_tree, part_tree, i8, mat3, vec3, vec3, f8, walk_space, i8[:,::1], i8, i8[:,::1]")
def first_touch(a, b, part, r, t, m, latest, space, known, count, found_out):
    """(time, normal against the motion, point): when and where the part's triangles of B, moving by m, first meet those of A,
    at up to `latest`; time is inf if they do not. Triangles that overlap at the start are not seen.

    known[:count]: tree positions of pairs to look at first. found_out[0]: those of the pair that touches; -1 if it is a known
    one."""
    size = pair_size(a, b, t) + abs(m[0]) + abs(m[1]) + abs(m[2])
    touch = PASS_TOUCH * size
    b_in_a, a_in_b, slow_b, slow_a, slack = pair_sweep(r, t, m, F(BOX_SLACK * size))
    zero = (0.0, 0.0, 0.0)
    best, normal, point = math.inf, zero, zero
    found_out[0, 0], found_out[0, 1] = -1, -1
    for k in range(count):
        p = load_triangle(a.corners, U(known[k, 0]))
        q = place_triangle(r, t, load_triangle(b.corners, U(known[k, 1])))
        if pass_time(p, q, m, touch) <= min(best, latest):
            time, n, x = sweep_triangles(p, q, m, min(best, latest))
            if time < best:
                best, normal, point = time, n, x
    depth = begin_walk(space)
    while depth > U(0):
        limit = min(best, latest)
        depth -= U(1)
        if space.waiting[depth] * (1.0 - BOUND_ROUNDING) > limit:
            continue
        i, j = space.stack[U(2) * depth], space.stack[U(2) * depth + U(1)]
        if part != 0 and (a.mark[i] != part or b.mark[j] != part):
            continue
        down_a, down_b = a.child[i], b.child[j]
        if down_a < 0 and down_b < 0:
            p = load_triangle(a.corners, U(-1 - down_a))
            q = place_triangle(r, t, load_triangle(b.corners, U(-1 - down_b)))
            # Most are still apart then by the plane of one of them, which costs little to see.
            if plane_entry(p, q, m, touch) <= limit and pass_time(p, q, m, touch) <= limit:
                time, n, x = sweep_triangles(p, q, m, limit)
                if time < best:
                    best, normal, point = time, n, x
                    found_out[0, 0], found_out[0, 1] = -1 - down_a, -1 - down_b
            continue
        box_a, box_b = load_slot(a.boxes, i), load_slot(b.boxes, j)
        open_a = down_b < 0 or (down_a >= 0 and box_a[3] + box_a[4] + box_a[5] >= box_b[3] + box_b[4] + box_b[5])
        late = F(limit * (1.0 + BOUND_ROUNDING))
        if open_a:
            query, base = box_query(a_in_b, box_b, slack), U(8) * U(down_a)
            meet = boxes_sweep8(a.boxes, U(48) * U(down_a), query, slow_a, late, space.lanes)
        else:
            query, base = box_query(b_in_a, box_a, slack), U(8) * U(down_b)
            meet = boxes_sweep8(b.boxes, U(48) * U(down_b), query, slow_b, late, space.lanes)
        depth = push_pairs(space, depth, meet, base, i, j, open_a)
    return best, normal, point
