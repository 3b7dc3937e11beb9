"""Does any part of a compound meet a displaced surface: down both trees at once.

The primitives that the box of the compound comes near are listed. Of the list of a node each child keeps what its own box comes
near, so that few are left to ask of a part.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING, SEPARATED
from thud.math.pose import compose_rotation, load_rotation, load_translation, transform
from thud.terrain.collision.ground_walk import beside_oriented, face_near_box, face_node, node_middle, walk_ground
from thud.terrain.collision.patch_query import MEET
from thud.terrain.collision.volumes import boxes_apart
from thud.terrain.collision.walk import box_beyond_planes, part_box, placed_node, sheet_node, walk_leaves
from thud.terrain.collision.work_space import BEST, STATUS, PartQuery

_I = np.int64

# Which faces of the ground are asked: the sheet, or bottom and sides.
SHEET_ALONE, OTHER_FACES = 0, 1

# Columns of a level of the lists: where it begins and ends, and the node of the compound's tree that is beyond it.
_FIRST, _END, _BEYOND = 0, 1, 2


@device
def near_node(surface, k, faces, r, c, h, box):
    """Whether a box with axes r, middle c and half sizes h, and `box` about it, comes near the sheet, or bottom and sides, of
    the primitives below node k of the surface's tree."""
    lx, ly, lz, ux, uy, uz = sheet_node(surface, k) if faces == SHEET_ALONE else face_node(surface, k)
    if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0) or beside_oriented(r, c, h, lx, ly, lz, ux, uy, uz):
        return False
    item = _I(surface.node_ints[k, 1])
    if item < 0:
        return True
    return not box_beyond_planes(surface, item, box) if faces == SHEET_ALONE else face_near_box(surface, item, r, c, h)


@device
def list_leaves(surface, faces, r, c, h, box, lists):
    """How many leaves of the surface's tree come near a box, and which; more than there is room for: not all."""
    k, many = _I(0), _I(0)
    while k < surface.node_ints.shape[0] and many < lists.shape[0]:
        if not near_node(surface, k, faces, r, c, h, box):
            k = _I(surface.node_ints[k, 0])
            continue
        if surface.node_ints[k, 1] >= 0:
            lists[many] = k
            many += 1
        k += 1
    return many


@kernel(inner="surface, parts, query_object, mat3, vec3, i8, work_space, i8[::1], i8[:,::1]")
def compound_meets(surface, parts, shape, r, t, faces, space, lists, levels):
    """(status of a compound at (r, t) and the sheet, or bottom and sides; whether all was asked): not if it has no tree, no box
    to speak of, or if too much is near. space.found has the patch that was met."""
    node_boxes, node_ints, box, result = shape.node_boxes, shape.node_ints, space.box, space.result
    a, status, level = _I(shape.part_poses.shape[0] - 1), _I(SEPARATED), 0
    k = _I(0)
    while k < node_ints.shape[0]:
        if not placed_node(node_boxes, k, r, t, 0.0, box):
            return status, False
        c = node_middle(node_boxes, k)
        h, c = (node_boxes[k, 3] - c[0], node_boxes[k, 4] - c[1], node_boxes[k, 5] - c[2]), transform(r, t, c)
        if k == 0:
            first, end = _I(0), list_leaves(surface, faces, r, c, h, box, lists)
        else:
            while levels[level, _BEYOND] <= k:
                level -= 1
            first = end = levels[level, _END]
            for i in range(levels[level, _FIRST], levels[level, _END]):
                if end < lists.shape[0] and near_node(surface, lists[i], faces, r, c, h, box):
                    lists[end] = lists[i]
                    end += 1
            level += 1
        if end == lists.shape[0] or level == levels.shape[0]:
            return status, False
        levels[level, _FIRST], levels[level, _END], levels[level, _BEYOND] = first, end, node_ints[k, 0]
        b = node_ints[k, 1]
        k = node_ints[k, 0] if end == first else k + 1
        if b < 0 or end == first:
            continue
        rp, tp = load_rotation(shape.part_poses, b), load_translation(shape.part_poses, b)
        query = PartQuery(a, b, compose_rotation(r, rp), transform(r, t, tp), (0.0, 0.0, 0.0), _I(MEET))
        part_box(parts, b, query.r, query.t, box)
        result[BEST] = 0.0
        if faces == SHEET_ALONE:
            hits = walk_leaves(surface, parts, query, space, lists, first, end)
        else:
            hits = walk_ground(surface, parts, query, space, _I(0))
            result[STATUS] = OVERLAPPING
        if hits > 0:
            status = max(status, _I(result[STATUS])) if result[STATUS] != OVERLAPPING else _I(OVERLAPPING)
            if status == OVERLAPPING:
                return status, True
    return status, node_ints.shape[0] > 0
