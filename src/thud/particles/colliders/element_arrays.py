"""Elementary colliders as flat arrays: what kernels see of them, and the tree over their boxes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.particles.colliders.element import QUADRIC, Element

# Columns of `ints`. PART: number of the element within its collider.
KIND, COLLIDER, PART, LOOP, LOOP_END, CLIP, CLIP_END, SINGULAR = range(8)
INTS = 8

# Columns of `reals`: origin (3); planar: unit normal (3), du (3), dv (3); quadric: A (6), g (3), J; then the bounds' slack,
# metres, the coordinates' (no unit); the line of singular points (3).
ORIGIN, NORMAL, DU, DV, SLACK, FLAT_SLACK, LINE = 0, 3, 6, 9, 13, 14, 15
A, G, J = 3, 9, 12
WIDTH = 18


class ElementArrays(NamedTuple):
    """E elements. `ElementArrays` in a kernel's signature is `elements`."""

    ints: Ints
    """(E, 8)"""
    reals: Floats
    """(E, 18)"""
    sides: Floats
    """(S, 4) sides of all polygons: s, t of both ends."""
    clips: Floats
    """(C, 4) half-spaces."""
    boxes: Floats
    """(E, 6)"""
    node_boxes: Floats
    """(K, 6) nodes of the tree, depth first."""
    skip: Ints
    """(K,) where a node's subtree ends."""
    item: Ints
    """(K,) the element of a leaf, -1 inside."""
    common: Floats
    """(6,) box of all elements whose own is finite."""


def pack_elements(groups: Sequence[tuple[int, Sequence[Element]]]) -> ElementArrays:
    """Arrays of the elements of colliders, given as (collider, its elements)."""
    from thud.bvh.morton_tree import build_morton_tree
    from thud.constants import TINY
    from thud.particles.colliders.tolerances import BOUNDS_SLACK, ELEMENT_BOX_SLACK

    flat = [(collider, part, element) for collider, elements in groups for part, element in enumerate(elements)]
    ints, reals = np.zeros((len(flat), INTS), np.int64), np.zeros((len(flat), WIDTH))
    boxes = np.empty((len(flat), 6))
    sides: list[Floats] = [np.empty((0, 4))]
    clips: list[Floats] = [np.empty((0, 4))]
    side_count = clip_count = 0
    for row, (collider, part, element) in enumerate(flat):
        loops = [np.concatenate([loop, np.roll(loop, -1, axis=0)], axis=1) for loop in element.loops]
        sides += loops
        clips.append(element.clip)
        many = sum(len(loop) for loop in loops)
        ints[row, : CLIP_END + 1] = (
            element.kind, collider, part, side_count, side_count + many, clip_count, clip_count + len(element.clip)
        )  # fmt: skip
        ints[row, SINGULAR] = element.singular
        side_count, clip_count = side_count + many, clip_count + len(element.clip)
        reals[row, :3] = element.origin
        reals[row, 3 : 3 + len(element.numbers)] = element.numbers
        reals[row, LINE : LINE + 3] = element.line
        far = float(np.abs(element.origin).max())
        reals[row, SLACK] = BOUNDS_SLACK * (element.size + far)
        if element.kind != QUADRIC:
            # As a length it means the same in any (s, t).
            most = max(float(np.linalg.norm(element.numbers[3:6])), float(np.linalg.norm(element.numbers[6:9])))
            reals[row, FLAT_SLACK] = reals[row, SLACK] * most
        grow = ELEMENT_BOX_SLACK * (element.size + far)
        boxes[row] = element.box + np.array([-grow, -grow, -grow, grow, grow, grow])
    all_clips = np.concatenate(clips)
    # Normals of unit length, so that slack is a length.
    all_clips /= np.maximum(np.linalg.norm(all_clips[:, :3], axis=1, keepdims=True), TINY)
    if len(flat):
        node_boxes, skip, item = build_morton_tree(boxes)
    else:
        node_boxes, skip, item = np.empty((0, 6)), np.empty(0, np.int64), np.empty(0, np.int64)
    return ElementArrays(
        ints, reals, np.concatenate(sides), np.ascontiguousarray(all_clips), boxes,
        np.ascontiguousarray(node_boxes), np.ascontiguousarray(skip, np.int64), np.ascontiguousarray(item, np.int64),
        _common_box(boxes),
    )  # fmt: skip


def _common_box(boxes: Floats) -> Floats:
    """(6,) of all finite boxes, wider by roundoff; an empty one, from 1 to -1, if there are none."""
    finite = boxes[np.isfinite(boxes).all(axis=1)]
    if not len(finite):
        return np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])
    low, high = finite[:, :3].min(axis=0), finite[:, 3:].max(axis=0)
    room = 1e-9 * np.maximum(np.abs(low), np.abs(high))
    return np.concatenate([low - room, high + room])
