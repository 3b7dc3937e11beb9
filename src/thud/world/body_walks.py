"""Walks of the tree over the bodies' boxes: for boxes that move, and for points that look for what is near.

Each lists candidates, and with each a bound of its answer from below: the time at which a moving box enters the body's, the
distance of the body's box. So a search that begins with the lowest bounds can stop early.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.constants import RAY_BOX_SLACK
from thud.math.vec3 import load3
from thud.world.rays import BodyTree, is_ignored

#: Nodes that wait in a walk: one a level, 63 of bits and 32 of halving equal codes, and their siblings.
_STACK = 256


@device
def moving_entry(queries, motions, q, boxes, k):
    """When, as a fraction of its motion, box q enters box k; 0 from inside, inf if it does not within the motion."""
    near, far = 0.0, 1.0
    for axis in range(3):
        low, high = boxes[k, axis] - queries[q, axis + 3], boxes[k, axis + 3] - queries[q, axis]
        d = motions[q, axis]
        if d == 0.0:
            if low > 0.0 or high < 0.0:
                return np.inf
        else:
            t0, t1 = low / d, high / d
            near = max(near, min(t0, t1))
            far = min(far, max(t0, t1) * RAY_BOX_SLACK)
    return near if near <= far else np.inf


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1]")
def moving_boxes_rows(start, stop, queries, motions, boxes, skip, item, places, item_out, entry_out):
    """Items whose boxes each moving box enters, in the tree's order, and when.

    They are written to item_out[places[q]:]. Where item_out is empty they are counted, into places[q + 1].
    """
    counting = item_out.shape[0] == 0
    for q in range(start, stop):
        at = 0 if counting else places[q]
        k = 0
        while k < skip.shape[0]:
            entry = moving_entry(queries, motions, q, boxes, k)
            if entry == np.inf:
                k = skip[k]
                continue
            if item[k] >= 0:
                if not counting:
                    item_out[at], entry_out[at] = item[k], entry
                at += 1
            k += 1
        if counting:
            places[q + 1] = at


@device
def box_gap(boxes, k, p, signed):
    """Distance of a point from box k; inside 0, or with `signed` minus the distance to its surface."""
    x = max(boxes[k, 0] - p[0], p[0] - boxes[k, 3])
    y = max(boxes[k, 1] - p[1], p[1] - boxes[k, 4])
    z = max(boxes[k, 2] - p[2], p[2] - boxes[k, 5])
    most = max(x, max(y, z))
    if most <= 0.0:
        return most if signed else 0.0
    x, y, z = max(x, 0.0), max(y, 0.0), max(z, 0.0)
    return math.sqrt(x * x + y * y + z * z)


@kernel("i8, i8, f8[:,::1], f8[::1], b1[::1], i8[:,::1], i8, f8[:,::1], i8[::1], i8[::1], i8[::1]")
def nearest_box_rows(start, stop, points, reach, seen, ignored, signed, boxes, skip, item, body_out):
    """The body whose box has the least `box_gap` within each point's reach, -1 for none."""
    stack, gaps = np.empty(_STACK, np.int64), np.empty(_STACK)
    for i in range(start, stop):
        p, best, body = load3(points, i, 0), reach[i], np.int64(-1)
        stack[0], gaps[0] = 0, -np.inf
        depth = 1 if skip.shape[0] > 0 else 0
        while depth > 0:
            depth -= 1
            k, gap = stack[depth], gaps[depth]
            if gap > best or (gap == best and body >= 0):
                continue
            j = item[k]
            if j >= 0:
                gap = box_gap(boxes, k, p, signed != 0)
                if gap <= best and seen[j] and not is_ignored(ignored, i, j):
                    best, body = gap, j
                continue
            # The nearer child is looked at first.
            near, other = k + 1, skip[k + 1]
            gap_near, gap_other = box_gap(boxes, near, p, signed != 0), box_gap(boxes, other, p, signed != 0)
            if gap_other < gap_near:
                near, other, gap_near, gap_other = other, near, gap_other, gap_near
            stack[depth], gaps[depth] = other, gap_other
            stack[depth + 1], gaps[depth + 1] = near, gap_near
            depth += 2
        body_out[i] = body


@kernel("i8, i8, f8[:,::1], f8[::1], i8, f8[:,::1], i8[::1], i8[::1], i8[::1], i8[::1], f8[::1]")
def near_boxes_rows(start, stop, points, reach, signed, boxes, skip, item, places, item_out, gap_out):
    """Items whose boxes are within reach of each point, and their `box_gap`. Count or fill as `moving_boxes_rows` does."""
    counting = item_out.shape[0] == 0
    for q in range(start, stop):
        at = 0 if counting else places[q]
        p = load3(points, q, 0)
        k = 0
        while k < skip.shape[0]:
            gap = box_gap(boxes, k, p, signed != 0)
            if gap > reach[q]:
                k = skip[k]
                continue
            if item[k] >= 0:
                if not counting:
                    item_out[at], gap_out[at] = item[k], gap
                at += 1
            k += 1
        if counting:
            places[q + 1] = at


def _listed(rows_kernel: Any, count: int, threads: int | None, *arguments: Any) -> tuple[Ints, Ints, Floats]:
    """Count, then fill: (M,) rows, (M,) bodies, (M,) bounds."""
    places = np.zeros(count + 1, np.int64)
    run_rows(rows_kernel, count, threads, *arguments, places, np.empty(0, np.int64), np.empty(0))
    np.cumsum(places, out=places)
    items, bounds = np.empty(int(places[-1]), np.int64), np.empty(int(places[-1]))
    if len(items):
        run_rows(rows_kernel, count, threads, *arguments, places, items, bounds)
    return np.repeat(np.arange(count), np.diff(places)), items, bounds


def bodies_on_the_way(tree: BodyTree, boxes: Floats, motions: Floats, threads: int | None) -> tuple[Ints, Ints, Floats]:
    """Bodies whose boxes each of (N, 6) boxes enters on its way, (N, 3): (M,) rows, (M,) bodies, (M,) when."""
    return _listed(moving_boxes_rows, len(boxes), threads, boxes, motions, *tree.arrays)


def bodies_near(tree: BodyTree, points: Floats, reach: Floats, signed: bool, threads: int | None) -> tuple[Ints, Ints, Floats]:
    """Bodies whose boxes are within reach of each point: (M,) rows, (M,) bodies, (M,) how far away the boxes are."""
    return _listed(near_boxes_rows, len(points), threads, points, reach, int(signed), *tree.arrays)


def body_of_nearest_box(
    tree: BodyTree, points: Floats, reach: Floats, seen: Bools, ignored: Ints, signed: bool, threads: int | None
) -> Ints:
    """(N,) the body whose box is nearest to each point, -1 if none is within reach."""
    found = np.empty(len(points), np.int64)
    run_rows(nearest_box_rows, len(points), threads, points, reach, seen, ignored, int(signed), *tree.arrays, found)
    return found
