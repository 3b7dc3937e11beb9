"""`BoxOctree`: an octree of boxes that one can hold and walk ([Slides], "Octree in Collision Detection").

A region that overlaps more than a few boxes is divided into eight, down to a depth. To check for pairs the tree is descended,
and only regions that hold more than one box are looked at. The slides' drawback holds: it is made anew when boxes move. The
broad phase of `World` (`broadphase="octree"`) is a loose octree, in which each box is in one region.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.partitions.box_sets import as_box, as_boxes, boxes_meet, pairs_within
from thud.partitions.numbers import as_number
from thud.partitions.tolerances import OCTREE_GROWTH


class BoxOctree:
    """Regions of N boxes.

    Attributes
    ----------
    regions : (R, 6) lower and upper corners, metres; 0 is the root, a region's children follow each other
    children : (R,) the first of a region's eight children, -1 of a leaf
    level : (R,) 0 of the root
    """

    def __init__(self, lower: npt.ArrayLike, upper: npt.ArrayLike, *, most: int = 8, depth: int = 8) -> None:
        """
        Parameters
        ----------
        lower, upper : (N, 3) corners, metres, such as `world.bounds()` gives
        most : boxes that a region may hold undivided
        depth : most levels below the root
        """
        self.bounds = as_boxes(lower, upper)
        for value, name in ((most, "most"), (depth, "depth")):
            if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
                raise InvalidInputError(f"{name}: expected a whole number of at least 1, got {value!r}")
        low, high = self.bounds[:, :3].min(axis=0), self.bounds[:, 3:].max(axis=0)
        side = float((high - low).max())
        # From the lower corner on: rounding must leave no box out.
        regions = [np.concatenate([low, np.maximum(low + side, high)])]
        members: list[Ints] = [np.arange(len(self.bounds))]
        children, level = [-1], [0]
        corner = np.array([[i & 1, i >> 1 & 1, i >> 2 & 1] for i in range(8)], dtype=np.float64)
        at = 0
        while at < len(regions):
            inside = members[at]
            if len(inside) > most and level[at] < depth and side > 0.0:
                half = 0.5 * (regions[at][3:] - regions[at][:3])
                eight = np.column_stack([regions[at][:3] + corner * half, regions[at][:3] + (corner + 1.0) * half])
                # The borders of the children are those of the parent, to the bit.
                eight[:, 3:] = np.where(corner == 1.0, regions[at][3:], eight[:, 3:])
                held = boxes_meet(eight[:, None], self.bounds[inside][None])
                # Boxes that are in most of the eight stay so below: where as many pairs are left, dividing brings nothing.
                if (held.sum(axis=1) ** 2).sum() <= OCTREE_GROWTH * len(inside) ** 2:
                    children[at] = len(regions)
                    for k in range(8):
                        regions.append(eight[k])
                        members.append(inside[held[k]])
                        children.append(-1)
                        level.append(level[at] + 1)
                    members[at] = inside[:0]
            at += 1
        self.regions, self.children = np.array(regions), np.array(children, np.int64)
        self.level = np.array(level, np.int64)
        self._members = members

    def __repr__(self) -> str:
        leaves = int((self.children < 0).sum())
        return (
            f"BoxOctree({len(self.bounds)} boxes, {len(self.regions)} regions, {leaves} leaves, {int(self.level.max())} levels)"
        )

    def members(self, region: int) -> Ints:
        """The boxes that a leaf overlaps; none for a region that is divided."""
        return self._members[as_number(region, "region", len(self.regions))].copy()

    def pairs(self) -> Ints:
        """(M, 2) pairs of boxes that overlap, touching included, the lower first, sorted."""
        return pairs_within(self.bounds, [own for own in self._members if len(own) > 1])

    def overlapping(self, lower: npt.ArrayLike, upper: npt.ArrayLike) -> Ints:
        """Boxes that overlap the box between two corners, (3,) each, sorted: regions that it does not meet are not entered."""
        asked = as_box(lower, upper)
        found, todo = [np.empty(0, np.int64)], [0]
        while todo:
            region = todo.pop()
            if not boxes_meet(self.regions[region], asked[0]):
                continue
            if self.children[region] >= 0:
                todo += range(int(self.children[region]), int(self.children[region]) + 8)
            else:
                own = self._members[region]
                found.append(own[boxes_meet(self.bounds[own], asked)])
        return np.unique(np.concatenate(found))

    def leaves(self) -> Floats:
        """(L, 6) regions that are not divided."""
        return np.asarray(self.regions[self.children < 0])
