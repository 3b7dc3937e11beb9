"""The bodies near N boxes, with what a character needs to know of them: one look, not seven gates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Floats
from thud.broadphase.boxes import STATIC
from thud.bvh.morton_tree import boxes_in_tree
from thud.dynamics.characters.obstacles import NearBodies
from thud.world.shape_queries import seen_bodies

if TYPE_CHECKING:
    from thud.world.world import World


def near_bodies(world: World, boxes: Floats, mask: int) -> NearBodies:
    """Those whose boxes overlap (N, 6) boxes, on layers of the mask, but sensors."""
    if not len(world):
        none = np.empty(0, np.int64)
        return NearBodies(none, none, none, np.empty((0, 12)), [], np.empty(0, np.bool_))
    bodies = world._bodies
    places, items = boxes_in_tree(world._body_tree().arrays, boxes, world.threads)
    count = np.diff(places)
    row = np.repeat(np.arange(len(boxes)), count)
    rows, body = np.unique(items, return_inverse=True)
    rules = bodies.rules[rows]
    seen = seen_bodies(rules, mask) & ~bodies.sensor[rows]
    if not seen.all():
        keep = seen[body]
        row, body = row[keep], body[keep]
    if count.max(initial=0) > 1:
        order = np.lexsort([body, row])
        row, body = row[order], body[order]
    shapes = [world._shapes.shape(index) for index in bodies.shape[rows].tolist()]
    free = (rules[:, STATIC] == 0) & ~bodies.kinematic[rows]
    return NearBodies(row, body, bodies.handles(rows), bodies.poses[rows], shapes, free)
