"""The mid phase "image": pairs of closed meshes that are seen to overlap in images of all of them at once.

It is not a proof: an overlap smaller than a pixel that no edge shows may be missed, and then the pair counts as apart. Pairs
that no edge shows are looked at inward, each in a small image of its own, so that equal meshes in one place, nearly so, or
one inside the other are kept. What it is for are meshes that change their shape every frame, whose trees are made or refitted
only where needed.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud.imagespace.interference import interference
from thud.imagespace.options import ImageOptions
from thud.pairing.families import MESH
from thud.pose import Pose
from thud.shapes.shape import Shape


def is_drawable(shape: Shape) -> bool:
    """Whether images tell what is inside the shape: a mesh, closed by vertex numbers (deformed ones share them) or places."""
    return shape.family == MESH and shape.is_solid


def seen_pairs(shapes: Mapping[int, Shape], poses: Floats, pairs: Ints, options: ImageOptions, threads: int | None) -> Bools:
    """(M,) which pairs of closed meshes are seen to overlap; pairs (M, 2) of bodies: their shapes,
    and rows of the (N, 12) poses."""
    bodies, rows = np.unique(pairs, return_inverse=True)
    rows = rows.reshape(-1, 2)
    found = interference(
        [shapes[k] for k in bodies.tolist()],  # type: ignore[misc]
        Pose.from_rows(poses[bodies]),
        resolution=options.resolution,
        views=options.views,
        layers=options.layers,
        precision=options.precision,
        backend=options.backend,
        threads=threads,
        pairs=rows,
    ).pairs
    keys = rows.min(axis=1) * len(bodies) + rows.max(axis=1)
    return np.isin(keys, found[:, 0] * len(bodies) + found[:, 1])
