"""Rays and points from the world into the frame of a convex part."""

from __future__ import annotations

from thud._core.decorators import device
from thud.math.pose import compose_rotation, load_rotation, load_translation, transform
from thud.shapes.packed import NODE_COUNT


@device
def part_to_world(packed, shape, part, poses, row):
    """Rotation and translation of a part in the world, its shape being at poses[row]."""
    r, t = load_rotation(poses, row), load_translation(poses, row)
    if packed.shape_ints[shape, NODE_COUNT] == 0:
        return r, t
    pr, pt = load_rotation(packed.part_poses, part), load_translation(packed.part_poses, part)
    return compose_rotation(r, pr), transform(r, t, pt)
