"""Things that stand by friction alone: a pyramid, a card house, an arch, and much on little.

`python -m tests.world.standing` lets each stand for a minute and says how far it moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

import thud

DT = 1.0 / 60.0


def _floor(friction: float) -> thud.World:
    world = thud.World(sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1)), static=True, friction=friction)
    return world


def stack() -> tuple[thud.World, np.ndarray]:
    """Ten boxes."""
    world = _floor(0.5)
    return world, world.add_many(thud.Box((0.5, 0.5, 0.5)), thud.Pose([[0, 0, 0.5 + k] for k in range(10)]))


def pyramid(storeys: int = 15) -> tuple[thud.World, np.ndarray]:
    """A wall of boxes, one less in each storey."""
    world = _floor(0.6)
    at = [[c - 0.5 * (storeys - r - 1), 0.0, 0.5 + r] for r in range(storeys) for c in range(storeys - r)]
    return world, world.add_many(thud.Box((0.49, 0.5, 0.5)), thud.Pose(at), friction=0.6)


def card_house(storeys: int = 3) -> tuple[thud.World, np.ndarray]:
    """Cards of 1 m, 2 cm thick, that lean against each other by 25 degrees, with roofs between."""
    world, lean, long, thin = _floor(0.8), math.radians(25.0), 1.0, 0.02
    high, wide = long * math.cos(lean) + thin * math.sin(lean), 2.0 * (long * math.sin(lean) + thin)
    cards = []
    for storey in range(storeys):
        tents, low = storeys - storey, storey * (high + thin)
        for k in range(tents):
            middle = (k - 0.5 * (tents - 1)) * wide
            for side in (-1.0, 1.0):
                x = middle + side * 0.5 * (long * math.sin(lean) + thin * math.cos(lean))
                pose = thud.Pose.from_rotation_vector([x, 0, low + 0.5 * high], [0, -side * lean, 0])
                cards.append(world.add(thud.Box((0.5 * thin, 0.35, 0.5 * long)), pose, friction=0.8, mass=0.02))
        for k in range(tents - 1):
            pose = thud.Pose([(k - 0.5 * (tents - 2)) * wide, 0, low + high + 0.5 * thin])
            cards.append(world.add(thud.Box((0.5 * wide, 0.35, 0.5 * thin)), pose, friction=0.8, mass=0.02))
    return world, np.array(cards)


def arch(stones: int = 21) -> tuple[thud.World, np.ndarray]:
    """Half a ring of wedges, 10 m wide, held by friction and by the floor."""
    world, inner, thick, found = _floor(0.7), 5.0, 1.0, []
    for k in range(stones):
        corners = [
            [r * math.cos(a), y, r * math.sin(a)]
            for r in (inner, inner + thick)
            for a in (math.pi * k / stones, math.pi * (k + 1) / stones)
            for y in (-0.5, 0.5)
        ]
        middle = np.mean(corners, axis=0)
        found.append(world.add(thud.ConvexHull(np.array(corners) - middle), thud.Pose(middle), friction=0.7))
    return world, np.array(found)


SCENES: dict[str, Callable[[], tuple[thud.World, np.ndarray]]] = {
    "stack": stack, "pyramid": pyramid, "card house": card_house, "arch": arch,
}  # fmt: skip


def stand(name: str, seconds: float) -> tuple[float, float, float]:
    """(how far anything moved, the highest point's loss of height, the deepest contact), metres."""
    world, bodies = SCENES[name]()
    before = world.poses(bodies)[:, :3].copy()
    for _ in range(round(seconds / DT)):
        world.step(DT)
    after = world.poses(bodies)[:, :3]
    fallen = float(before[:, 2].max() - after[:, 2].max())
    return float(np.linalg.norm(after - before, axis=1).max()), fallen, float(world.contacts().depth.max())


def main() -> None:
    for name in SCENES:
        moved, fallen, depth = stand(name, 60.0)
        print(f"{name}: moved by {1e3 * moved:.1f} mm in 60 s, lower by {1e3 * fallen:.2f} mm, deepest {1e3 * depth:.2f} mm")


if __name__ == "__main__":
    main()
