"""`Character(method="slides")`: [Slides], "Typical implementation in FPS", line by line."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.characters import clearance, slides_move
from thud._core.arrays import Floats
from thud.dynamics import Character, HitKind
from thud.dynamics.characters.tolerances import FALL_CASTS, NEAR, SKIN

DT = 1.0 / 60.0
RADII = np.array([0.3, 0.4, 0.9])


def stairs(rise: float, count: int = 6, tread: float = 0.4) -> thud.World:
    """Along +x from x = 1 on."""
    world = thud.World()
    world.add(thud.HalfSpace([0, 0, 1]), static=True)
    for k in range(count):
        half = 0.5 * (k + 1) * rise
        world.add(thud.Box((0.5 * tread, 2.0, half)), thud.Pose([1.0 + (k + 0.5) * tread, 0, half]), static=True)
    return world


@pytest.mark.parametrize("seed", range(12))
def test_slides_as_a_naive_one_does(seed: int) -> None:
    # The whole recursion in ellipsoid space, against one that creeps up to its contacts.
    rng = np.random.default_rng(seed)
    triangles = rng.uniform(-2.0, 2.0, (14, 1, 3)) + rng.uniform(-1.2, 1.2, (14, 3, 3))
    triangles = triangles[[clearance(np.zeros(3), RADII, one[None]) > 0.02 for one in triangles]]
    mesh = thud.TriangleMesh(triangles.reshape(-1, 3), np.arange(3 * len(triangles)).reshape(-1, 3))
    world = thud.World(gravity=(0, 0, 0))
    world.add(mesh, static=True)
    for _ in range(4):
        way = rng.normal(size=3) * 0.8
        way[2] *= 0.5
        character = Character(RADII, np.zeros(3), method="slides")
        moved = character.move(world, way, DT)
        expected = slides_move(np.zeros(3), RADII, way, NEAR, triangles, FALL_CASTS)
        np.testing.assert_allclose(moved.position[0], expected, atol=2e-6)


def test_the_sliding_plane_is_not_that_of_the_polygon() -> None:
    # An upright wall that ends at half height: its top edge is met from above; the normal leads from there to the centre.
    world = thud.World(gravity=(0, 0, 0))
    wall = [[1.0, -5.0, -5.0], [1.0, 5.0, -5.0], [1.0, 5.0, 0.0], [1.0, -5.0, 0.0]]
    world.add(thud.TriangleMesh(wall, [[0, 1, 2], [0, 2, 3]]), static=True)
    character = Character((0.5, 0.5, 0.5), (0.0, 0.0, 0.3), method="slides")
    moved = character.move(world, (1.0, 0.0, 0.0), DT)
    radius = 0.5 * (1.0 + NEAR)
    touching = np.array([1.0 - np.sqrt(radius**2 - 0.3**2), 0.0, 0.3])
    n = (touching - [1.0, 0.0, 0.0]) / radius
    np.testing.assert_allclose(moved.hits.normal[0], n, atol=1e-9)
    np.testing.assert_allclose(moved.hits.point[0], [1.0, 0.0, 0.0], atol=1e-9)
    # The velocity projected on it leads up and over; the polygon's own plane would have stopped it.
    rest = np.array([1.0 - touching[0], 0.0, 0.0])
    np.testing.assert_allclose(moved.position[0], touching + rest - (rest @ n) * n, atol=1e-9)
    assert moved.position[0, 2] > 0.3 + 0.15


def climb(world: thud.World, fall: float, *, split: bool) -> Floats:
    """Where 1.5 seconds of walking at stairs lead; the fall of each move as a call of its own, or added to the motion."""
    character = Character((0.3, 0.3, 0.9), (0.5, 0.0, 0.9018), method="slides", gravity=0.0)
    for _ in range(90):
        if split:
            character.move(world, (0.03, 0.0, 0.0), DT)
            character.move(world, (0.0, 0.0, -fall), DT)
        else:
            character.move(world, (0.03, 0.0, -fall), DT)
    return character.position[0]


def test_gravity_as_a_second_call_walks_up_stairs() -> None:
    two_calls, one_call = climb(stairs(0.3), 0.03, split=True), climb(stairs(0.3), 0.03, split=False)
    assert two_calls[0] > 2.4
    assert two_calls[2] > 0.9 + 4 * 0.3
    # "Simply combining the two vectors may result in unable to walk up staircases": not where what is left slides on.
    np.testing.assert_allclose(one_call, two_calls, atol=0.05)
    # Where gravity is stronger than the push up the edge of a stair, neither climbs.
    assert climb(stairs(0.3), 0.1, split=True)[2] < 0.95
    assert climb(stairs(0.3), 0.1, split=False)[2] < 0.95


def test_stands_on_ground_by_the_skin_and_says_so() -> None:
    world = stairs(0.2, 1)
    character = Character((0.3, 0.3, 0.9), (0.0, 0.0, 1.0), method="slides")
    for _ in range(30):
        moved = character.move(world, (0.0, 0.0, 0.0), DT)
    assert moved.grounded[0]
    assert moved.position[0, 2] == pytest.approx(0.9 * (1.0 + SKIN), abs=1e-9)
    assert moved.ground_handle[0] == world.handles()[0]
    np.testing.assert_allclose(moved.ground_normal[0], [0, 0, 1], atol=1e-9)
    assert (moved.hits.kind == HitKind.FALL).all()
    assert character.fall[0] == 0.0


def test_an_acute_corner_reaches_the_limit_and_says_so() -> None:
    # Two walls that meet at a sharp angle: each slide leads into the other wall, ever shorter.
    world = thud.World(gravity=(0, 0, 0))
    for side in (-1.0, 1.0):
        normal = np.array([-np.sin(0.02), -side * np.cos(0.02), 0.0])
        world.add(thud.HalfSpace(normal, float(normal @ [5.0, 0.0, 0.0])), static=True)
    character = Character((0.05, 0.05, 0.05), (0.0, 0.0, 0.0), method="slides")
    moved = character.move(world, (9.0, 0.001, 0.0), DT)
    assert moved.status[0] == thud.dynamics.MoveStatus.LIMITED
    assert moved.position[0, 0] < 5.0
