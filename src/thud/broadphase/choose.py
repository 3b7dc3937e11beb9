"""Broad phases by their names, and the rule that picks one."""

from __future__ import annotations

import numpy.typing as npt

from thud.broadphase.boxes import Boxes, Ints, as_boxes
from thud.broadphase.brute import Brute
from thud.broadphase.bsp import Bsp
from thud.broadphase.coherent import BroadPhase, Coherent
from thud.broadphase.dynamic_tree import DynamicTree
from thud.broadphase.grid import Grid
from thud.broadphase.octree import Octree
from thud.broadphase.sweep_and_prune import SweepAndPrune
from thud.errors import InvalidInputError

__all__ = ["METHODS", "BroadPhase", "broad_phase", "pairs"]


class Auto:
    """Picks by measured rules (`python -m benchmarks world`): brute force for a handful, else the grid, both coherent."""

    #: Boxes up to which all pairs are tested: the crossing of the two on boxes of similar size.
    BRUTE = 256

    def __init__(self) -> None:
        self._few, self._many = Brute(), Coherent(Grid())

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        return (self._few if len(boxes.bounds) <= self.BRUTE else self._many).pairs(boxes, threads=threads)


METHODS: dict[str, type[BroadPhase]] = {
    "auto": Auto,
    "brute": Brute,
    "sap": SweepAndPrune,
    "grid": Grid,
    "tree": DynamicTree,
    "octree": Octree,
    "bsp": Bsp,
}


def broad_phase(method: str = "auto") -> BroadPhase:
    """A broad phase of its own, for frame after frame: `phase.pairs(as_boxes(lower, upper))`."""
    if method not in METHODS:
        raise InvalidInputError(f"broadphase: expected one of {', '.join(METHODS)}, got {method!r}")
    return METHODS[method]()


def pairs(
    lower: npt.ArrayLike,
    upper: npt.ArrayLike,
    *,
    method: str = "auto",
    static: npt.ArrayLike | None = None,
    layer: npt.ArrayLike | None = None,
    mask: npt.ArrayLike | None = None,
    threads: int | None = None,
) -> Ints:
    """(M, 2) all pairs of boxes that overlap, touching included, sorted; each as (smaller, larger) index.

    Parameters
    ----------
    lower, upper : (N, 3) corners, metres; infinite ones are allowed
    method : "auto", "brute", "sap", "grid", "tree", "octree" or "bsp": the same pairs, at different speeds
    static : (N,) bool; two static ones never meet
    layer : (N,) layers 0 to 63
    mask : (N,) bits of the layers that each one meets; both must agree
    threads : how many to use; default all cores
    """
    return broad_phase(method).pairs(as_boxes(lower, upper, static=static, layer=layer, mask=mask), threads=threads)
