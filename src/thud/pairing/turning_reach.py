"""How far from its origin a shape has points that turning moves."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.pairing.families import CONVEX
from thud.pairing.leaves import leaves, placed
from thud.shapes.shape import IDENTITY, Shape


def turning_reach(shape: Shape, inner: Floats = IDENTITY) -> float:
    """Metres from the origin of the frame in which the shape stands at a (12,) pose; 0 for a ball about that origin.

    A rounded shape is its core with a ball about each point of it. The balls turn in themselves: what moves is the core.
    """
    return max(_leaf_reach(leaf, placed(inner[None], pose)[0]) for leaf, pose in leaves(shape))


def _leaf_reach(leaf: Shape, pose: Floats) -> float:
    center, radius = leaf.bounding_sphere()
    if leaf.family == CONVEX:
        (part,) = leaf.parts()
        # A ball that holds the rounded core holds the core with so much to spare.
        center, radius = part.center, part.bounding_radius - part.radius
    return float(np.linalg.norm(pose[:9].reshape(3, 3) @ center + pose[9:])) + radius
