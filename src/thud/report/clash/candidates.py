"""Boxes about parts, and the pairs of parts that are near enough to be looked at."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints, writable
from thud.broadphase.choose import pairs as box_pairs
from thud.constants import TOUCH
from thud.io.scene.scene import Scene
from thud.mesh.local_meet import placed_box
from thud.pose import PoseLike, as_poses
from thud.report.clash.rules import Rules


class Placed(NamedTuple):
    """Where the parts are."""

    rows: Floats
    """(P, 12) poses."""
    lower: Floats
    """(P, 3) boxes, world frame."""
    upper: Floats

    def touch(self, a: Ints, b: Ints) -> Floats:
        """(M,) metres at which surfaces of two parts count as touching: some roundings of what their coordinates reach to."""
        size = (self.upper[a] - self.lower[a] + self.upper[b] - self.lower[b]).sum(axis=1)
        offset = np.abs(self.lower[a] + self.upper[a] - self.lower[b] - self.upper[b]).sum(axis=1)
        return np.asarray(TOUCH * 0.5 * (size + offset))


def place(scene: Scene, poses: PoseLike = None) -> Placed:
    """Boxes about all parts, at their own poses or at others."""
    rows = as_poses(scene.poses() if poses is None else poses, "poses")
    count = len(scene.parts)
    lower, upper = np.empty((count, 3)), np.empty((count, 3))
    for row, part in enumerate(scene.parts):
        mesh = scene.meshes[part.mesh]
        placed_box(writable(np.asarray(mesh.vertices)), writable(np.asarray(mesh.faces)), rows[row], lower[row], upper[row])
    return Placed(rows, lower, upper)


def near_pairs(scene: Scene, placed: Placed, reach: float, rules: Rules, threads: int | None) -> tuple[Ints, int]:
    """(M, 2) pairs of parts whose boxes are no farther apart than `reach` and that no rule leaves out, and how many were left
    out."""
    half = 0.5 * reach
    found = box_pairs(placed.lower - half, placed.upper + half, threads=threads)
    kept = rules.keep(scene, found) if len(found) else np.zeros(0, dtype=bool)
    return found[kept], int(len(found) - kept.sum())
