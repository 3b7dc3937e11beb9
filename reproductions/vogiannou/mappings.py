"""The mappings that the figures compare: the paper's, by its one pair of planes, and ours, reported apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

import thud
from thud.bounds.support_planes import SupportPlanes, support_planes
from thud.bounds.support_tables import support_tables

#: The paper's discretised mappings.
PAPER = {"DVSPM": "vertex", "DFSPM": "face"}
#: Ours: three directions by Chung-Wang steps; and compact tables with the closed form of spheres, for these alone.
THREE, COMPACT_1, COMPACT_3 = "DFSPM, 3 directions", "compact", "compact, 3 directions"
SAMPLES = 32


def mapping_of(mesh: thud.TriangleMesh, name: str, levels: int) -> SupportPlanes | None:
    """A mapping by its name; "none" is None."""
    tree = mesh.tree.skip, mesh.tree.first, mesh.corners
    if name == "none":
        return None
    if name in (COMPACT_1, COMPACT_3):
        return support_tables(*tree, levels, SAMPLES, 1 if name == COMPACT_1 else 3)
    return support_planes(*tree, PAPER.get(name, "face"), levels, SAMPLES, directions=3 if name == THREE else 1)


def by_levels(mesh: thud.TriangleMesh, name: str, depths: list[int]) -> dict[int, SupportPlanes]:
    """One mapping on so many levels each: made once, on the most levels, and left out below."""
    deepest = mapping_of(mesh, name, max(depths))
    assert deepest is not None
    level = mesh.tree.levels
    return {depth: replace(deepest, slot=np.where(level < depth, deepest.slot, np.int32(-1))) for depth in depths}


def names_for(bounding: str) -> list[str]:
    """The mappings that are tried with a type of volume."""
    ours = {"sphere": [COMPACT_1, COMPACT_3], "aabb": [THREE], "obb": [THREE]}
    return [*PAPER, *ours.get(bounding, [])]
