"""Ids of clashes that stay the same from run to run: made of what the two parts are, not of their order."""

from __future__ import annotations

import hashlib

import numpy as np

from thud._core.arrays import Floats
from thud.io.scene.scene import Scene

#: Characters of an id: among a million clashes two are alike once in 10,000 runs.
_LENGTH = 13

#: Between a name that several parts have and which of them it is: no name from a file has this character, so that the second
#: "bolt" is not the part that the file calls "bolt#2".
_WHICH = "\x1f"

#: Places are compared to this part of the scene's size when parts of one name are put in order.
_PLACE = 1e-6


def part_keys(scene: Scene, lower: Floats, upper: Floats) -> list[str]:
    """One text a part: its global id, else its full name. Of parts that a file gives one and the same name, which one it is
    says the order of their places from the lowest x, y, z on, so that another order in the file changes nothing.

    lower, upper : (P, 3) boxes about the parts
    """
    own = [f"guid:{part.guid}" if part.guid else f"name:{part.given or part.name}" for part in scene.parts]
    alike: dict[str, list[int]] = {}
    for row, key in enumerate(own):
        alike.setdefault(key, []).append(row)
    size = float(np.max(upper - lower)) if len(lower) else 1.0
    grid = _PLACE * (float(np.max(upper.max(axis=0) - lower.min(axis=0))) if len(lower) else size) or 1.0
    for key, rows in alike.items():
        if len(rows) > 1:
            places = np.round(np.concatenate([lower[rows], upper[rows]], axis=1) / grid)
            order = sorted(range(len(rows)), key=lambda k: (*places[k], len(np.asarray(scene.mesh_of(rows[k]).faces))))
            for number, k in enumerate(order):
                own[rows[k]] = f"{key}{_WHICH}{number + 1}"
    return own


def clash_id(key_a: str, key_b: str) -> str:
    """The id of a clash of two parts."""
    one, other = sorted((key_a, key_b))
    text = f"{len(one)}:{one}{other}"
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:_LENGTH]
