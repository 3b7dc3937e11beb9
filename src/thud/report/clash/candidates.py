"""Boxes about parts, and the pairs of parts that are near enough to be looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.broadphase.choose import pairs as box_pairs
from thud.io.scene.scene import Scene
from thud.pose import PoseLike, as_poses
from thud.report.clash.rules import Rules


class Placed(NamedTuple):
    """Where the parts are."""

    rows: Floats
    """(P, 12) poses."""
    lower: Floats
    """(P, 3) boxes, world frame."""
    upper: Floats


def place(scene: Scene, poses: PoseLike = None) -> Placed:
    """Boxes about all parts, at their own poses or at others."""
    rows = as_poses(scene.poses() if poses is None else poses, "poses")
    count = len(scene.parts)
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    of_mesh: dict[int, list[int]] = {}
    for row, part in enumerate(scene.parts):
        of_mesh.setdefault(part.mesh, []).append(row)
    for mesh, parts in of_mesh.items():
        # One part at a time: a mesh of a million vertices at a thousand poses would not fit into memory.
        for row in parts:
            low, high = scene.meshes[mesh]._bounds(rows[row : row + 1])
            lower[row], upper[row] = low[0], high[0]
    return Placed(rows, lower, upper)


def near_pairs(scene: Scene, placed: Placed, reach: float, rules: Rules, threads: int | None) -> tuple[Ints, int]:
    """(M, 2) pairs of parts whose boxes are no farther apart than `reach` and that no rule leaves out, and how many were left
    out."""
    half = 0.5 * reach
    found = box_pairs(placed.lower - half, placed.upper + half, threads=threads)
    kept = rules.keep(scene, found) if len(found) else np.zeros(0, dtype=bool)
    return found[kept], int(len(found) - kept.sum())
