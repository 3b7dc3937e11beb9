"""Broad phases by their names, and the rule that picks one."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud.broadphase.boxes import STATIC, Boxes, as_boxes
from thud.broadphase.brute import Brute
from thud.broadphase.bsp import Bsp
from thud.broadphase.coherent import BroadPhase, Coherent
from thud.broadphase.dynamic_tree import DynamicTree
from thud.broadphase.grid import Grid, cell_crowd
from thud.broadphase.octree import Octree
from thud.broadphase.sweep_and_prune import SweepAndPrune
from thud.errors import InvalidInputError

__all__ = ["METHODS", "BroadPhase", "broad_phase", "pairs"]


class Auto:
    """Picks by measured rules, of which the first that holds counts:

    1. up to BRUTE boxes: brute force;
    2. at least STATIC_SHARE of them static: the BSP tree over those;
    3. more than CROWD boxes a cell of the grid, which must be as large as all but a few of them: sizes differ too much for a
       grid, so the dynamic tree;
    4. else the grid.

    All but the first are coherent from frame to frame (`coherent.py`). The choice is made at first, when the number of boxes
    has changed by a quarter, and every PERIOD frames.
    """

    #: Boxes up to which all pairs are tested: the crossing with the grid on boxes of similar size.
    BRUTE = 256

    #: Part of the boxes that is static from which on planes pay: the crossing with the grid where the others move fast.
    STATIC_SHARE = 0.7

    #: Boxes a cell at which the grid takes as long as the tree.
    CROWD = 32.0

    #: Frames that a choice holds.
    PERIOD = 64

    def __init__(self) -> None:
        self._phases: dict[str, BroadPhase] = {}
        self._name = ""
        self._count = self._age = 0

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        count = len(boxes.bounds)
        if not self._name or self._age >= self.PERIOD or abs(count - self._count) > self._count // 4:
            self._name, self._count, self._age = self.choose(boxes), count, 0
        self._age += 1
        if self._name not in self._phases:
            self._phases[self._name] = self._make(self._name)
        return self._phases[self._name].pairs(boxes, threads=threads)

    def choose(self, boxes: Boxes) -> str:
        """The name of the broad phase for these boxes."""
        count = len(boxes.bounds)
        if count <= self.BRUTE:
            return "brute"
        if len(boxes.rules) and np.count_nonzero(boxes.rules[:, STATIC]) >= self.STATIC_SHARE * count:
            return "bsp"
        return "tree" if cell_crowd(boxes.bounds) > self.CROWD else "grid"

    @staticmethod
    def _make(name: str) -> BroadPhase:
        if name == "brute":
            return Brute()
        return DynamicTree() if name == "tree" else Coherent(Bsp() if name == "bsp" else Grid())


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
    if not isinstance(method, str) or method not in METHODS:
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
