"""Boxes that are easy, hard and odd for a broad phase."""

from __future__ import annotations

import numpy as np

from thud.broadphase.boxes import ALL, FARTHEST, Boxes

NO_RULES = np.empty((0, 3), np.uint64)


def boxes_of(centers: np.ndarray, halves: np.ndarray, rules: np.ndarray = NO_RULES) -> Boxes:
    bounds = np.concatenate([centers - halves, centers + halves], axis=1)
    return Boxes(np.clip(bounds, -FARTHEST, FARTHEST), rules)


def random_rules(rng: np.random.Generator, count: int) -> np.ndarray:
    rules = np.empty((count, 3), np.uint64)
    rules[:, 0] = np.uint64(1) << rng.integers(0, 64, count).astype(np.uint64)
    rules[:, 1] = rng.integers(0, 2**63, count).astype(np.uint64) | np.uint64(1 << 63)
    rules[: count // 2, 1] = ALL
    rules[:, 2] = rng.random(count) < 0.4
    return rules


def scene(name: str, count: int, seed: int) -> Boxes:
    """A scene by name, see `SCENES`."""
    rng = np.random.default_rng(seed)
    space = max(count, 1) ** (1 / 3)
    centers, halves = rng.uniform(0, space, (count, 3)), rng.uniform(0.2, 0.5, (count, 3))
    if name == "sizes":
        halves *= 10.0 ** rng.uniform(-3, 1, (count, 1))
    elif name == "absent and infinite":
        halves[::5] = np.inf
    elif name == "infinite":
        halves[::17, rng.integers(0, 3)] = np.inf
        halves[5:6] = np.inf
    elif name == "touching":
        centers, halves = np.round(centers), np.full((count, 3), 0.5)
    elif name == "flat":
        centers[:, 2] = 0.0
        halves[:, 2] = 0.0
    elif name == "line":
        centers[:, 1:] = 0.0
        centers[:, 0] *= 30.0
    elif name == "points":
        centers, halves = np.round(centers), np.zeros((count, 3))
    elif name == "one place":
        centers[:] = 3.0
    elif name == "far":
        centers += 1e9
    elif name == "apart":
        centers *= 10.0 ** rng.uniform(0, 12, (count, 1))
    elif name == "long":
        halves[np.arange(count), rng.integers(0, 3, count)] *= 20.0
    found = boxes_of(centers, halves, random_rules(rng, count) if name == "rules" else NO_RULES)
    if name == "infinite":
        # Some end on one side only.
        found.bounds[1::19, 3] = FARTHEST
    if name in ("absent", "infinite", "absent and infinite"):
        found.bounds[rng.random(count) < 0.3] = [np.inf] * 3 + [-np.inf] * 3
    return found


SCENES = (
    "even", "sizes", "infinite", "touching", "flat", "line", "points", "one place", "far", "apart", "long", "rules", "absent",
    "absent and infinite",
)  # fmt: skip
