"""A character walks a course, and every event of it is asserted: stairs, slopes, corners, ceilings, platforms, all kinds of
ground."""

from __future__ import annotations

import math

import numpy as np
import pytest

import thud
from thud.dynamics import Character, CharacterMoves, HitKind, MoveStatus
from thud.dynamics.characters.tolerances import NEAR, SKIN

DT = 1.0 / 60.0
RADII = (0.3, 0.3, 0.9)
STAND = 0.9 * (1.0 + SKIN)


def flat() -> thud.World:
    world = thud.World()
    world.add(thud.HalfSpace([0, 0, 1]), static=True)
    return world


def box(world: thud.World, lower: tuple[float, ...], upper: tuple[float, ...], **options: object) -> int:
    low, high = np.array(lower), np.array(upper)
    return world.add(thud.Box(0.5 * (high - low)), thud.Pose(0.5 * (low + high)), **({"static": True} | options))  # type: ignore[arg-type]


def walk(character: Character, world: thud.World, velocity: tuple[float, float], seconds: float) -> list[CharacterMoves]:
    motion = (velocity[0] * DT, velocity[1] * DT, 0.0)
    return [character.move(world, motion, DT) for _ in range(round(seconds / DT))]


def standing(world: thud.World, x: float, y: float = 0.0, z: float = STAND, **options: object) -> Character:
    """At rest on ground."""
    character = Character(RADII, (x, y, z + 1e-4), **options)  # type: ignore[arg-type]
    moved = character.move(world, (0, 0, 0), DT)
    for _ in range(10):
        moved = character.move(world, (0, 0, 0), DT)
    assert moved.grounded[0]
    return character


def kinds(moves: list[CharacterMoves]) -> set[int]:
    return {int(kind) for moved in moves for kind in moved.hits.kind}


# Stairs ------------------------------------------------------------------------------------------------------------------


def stairs(rise: float, tread: float = 0.35, count: int = 8) -> thud.World:
    """Up along +x from x = 1 on, a landing of 2 m, and down again."""
    world = flat()
    for k in range(count):
        box(world, (1.0 + k * tread, -2.0, 0.0), (1.0 + 2 * count * tread + 2.0 - k * tread, 2.0, (k + 1) * rise))
    return world


def test_stairs_up_and_down() -> None:
    world = stairs(0.25)
    character = standing(world, 0.0)
    up = walk(character, world, (1.5, 0.0), 3.2)
    # Onto the landing: 8 steps, without leaving the ground, at the full speed.
    assert all(moved.grounded[0] for moved in up)
    assert HitKind.STEP in kinds(up)
    assert character.position[0, 0] == pytest.approx(1.5 * 3.2, abs=1e-6)
    assert character.position[0, 2] == pytest.approx(2.0 + STAND, abs=1e-6)
    heights = np.array([moved.position[0, 2] for moved in up])
    assert (np.diff(heights) > -1e-9).all()
    # Down: it stays on the stairs, with no moment in the air.
    down = walk(character, world, (1.5, 0.0), 4.0)
    assert all(moved.grounded[0] for moved in down)
    assert character.position[0, 2] == pytest.approx(STAND, abs=1e-6)
    assert character.position[0, 0] == pytest.approx(1.5 * 7.2, abs=1e-6)
    assert all((moved.status == MoveStatus.DONE).all() for moved in up + down)


@pytest.mark.parametrize(("height", "climbs"), [(0.05, True), (0.29, True), (0.31, False), (0.5, False), (0.8, False)])
def test_a_step_is_climbed_up_to_its_height(height: float, climbs: bool) -> None:
    # 0.5: the edge is met by the lower half of the ellipsoid; sliding up it would climb.
    world = flat()
    ledge = box(world, (1.0, -2.0, 0.0), (3.0, 2.0, height))
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 0.0), 1.2)
    if climbs:
        assert character.position[0, 0] == pytest.approx(1.8, abs=1e-6)
        assert character.position[0, 2] == pytest.approx(height + STAND, abs=1e-6)
        assert moves[-1].ground_handle[0] == ledge
    else:
        assert character.position[0, 0] < 1.0
        assert character.position[0, 2] == pytest.approx(STAND, abs=1e-4)
        assert moves[-1].hits.handle[0] == ledge
        assert HitKind.STEP not in kinds(moves)


def test_no_step_height_no_step() -> None:
    world = flat()
    box(world, (1.0, -2.0, 0.0), (3.0, 2.0, 0.25))
    character = standing(world, 0.0, step_height=0.0)
    walk(character, world, (1.5, 0.0), 1.2)
    assert character.position[0, 0] < 1.0


def test_a_ledge_higher_than_a_step_is_fallen_from() -> None:
    world = flat()
    box(world, (-2.0, -2.0, 0.0), (1.0, 2.0, 1.0))
    character = standing(world, 0.0, z=1.0 + STAND)
    moves = walk(character, world, (2.0, 0.0), 1.5)
    in_air = [k for k, moved in enumerate(moves) if not moved.grounded[0]]
    assert in_air
    assert in_air == list(range(in_air[0], in_air[-1] + 1))
    # A fall of a metre takes 0.45 s; it begins where the ellipsoid's round side lets go of the edge.
    assert 0.2 < len(in_air) * DT < 0.5
    assert character.position[0, 2] == pytest.approx(STAND, abs=1e-6)


def test_round_stairs() -> None:
    # Cylinders: the rim of a curved part bears, as the edge of a box does.
    world = flat()
    for k in range(4):
        world.add(thud.Cylinder(3.0 - 0.4 * k, 0.1 * (k + 1)), thud.Pose([4.0, 0.0, 0.1 * (k + 1)]), static=True)
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 0.0), 2.0)
    assert character.position[0, 2] == pytest.approx(0.8 + STAND, abs=1e-4)
    assert character.position[0, 0] == pytest.approx(3.0, abs=1e-4)
    assert all(moved.grounded[0] for moved in moves)


# Slopes ------------------------------------------------------------------------------------------------------------------


def ramp(degrees: float, length: float = 6.0) -> thud.World:
    """From x = 1 on, as high as it is."""
    world = flat()
    rise = length * math.tan(math.radians(degrees))
    vertices = [(1, -3, 0), (1 + length, -3, rise), (1 + length, 3, rise), (1, 3, 0)]
    world.add(thud.TriangleMesh(vertices, [[0, 1, 2], [0, 2, 3]]), static=True)
    return world


@pytest.mark.parametrize(("degrees", "walked"), [(10, True), (30, True), (49.5, True), (50.5, False), (60, False), (80, False)])
def test_slopes_at_and_beyond_the_limit(degrees: float, walked: bool) -> None:
    world = ramp(degrees)
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 0.0), 2.0)
    if walked:
        # The level speed is kept, and it rises with the slope.
        assert character.position[0, 0] == pytest.approx(3.0, abs=1e-3)
        slope = math.radians(degrees)
        height = math.sqrt((0.3 * math.sin(slope)) ** 2 + (0.9 * math.cos(slope)) ** 2) * (1.0 + SKIN) / math.cos(slope)
        assert character.position[0, 2] == pytest.approx(2.0 * math.tan(slope) + height, abs=2e-3)
        assert all(moved.grounded[0] for moved in moves)
        assert moves[-1].ground_normal[0, 2] == pytest.approx(math.cos(slope), abs=1e-6)
    else:
        assert character.position[0, 0] < 1.0
        assert character.position[0, 2] == pytest.approx(STAND, abs=2e-3)
        assert any((moved.hits.normal[:, 2] < math.cos(math.radians(50))).any() for moved in moves)


def test_along_a_steep_slope_it_goes_on_level() -> None:
    world = ramp(65)
    character = standing(world, 0.5)
    walk(character, world, (1.0, 1.0), 1.0)
    assert character.position[0, 1] == pytest.approx(1.0, abs=1e-3)
    assert character.position[0, 2] == pytest.approx(STAND, abs=2e-3)


def test_it_rests_on_a_slope_and_slides_down_a_steep_one() -> None:
    for degrees, rests in ((45, True), (60, False)):
        world = ramp(degrees)
        character = Character(RADII, (3.0, 0.0, 2.0 * math.tan(math.radians(degrees)) + 1.2))
        for _ in range(60):
            character.move(world, (0, 0, 0), DT)
        before = character.position.copy()
        moved = character.move(world, (0, 0, 0), DT)
        if rests:
            np.testing.assert_allclose(moved.position, before, atol=1e-9)
            assert moved.grounded[0]
        else:
            assert moved.position[0, 0] < 2.5


def test_downhill_it_stays_on_the_ground() -> None:
    world = ramp(35)
    character = Character(RADII, (4.0, 0.0, 3.2 + STAND))
    walk(character, world, (0.0, 0.0), 0.5)
    moves = walk(character, world, (-3.0, 0.0), 1.2)
    assert all(moved.grounded[0] for moved in moves)
    assert character.position[0, 0] == pytest.approx(0.4, abs=1e-6)
    assert character.position[0, 2] == pytest.approx(STAND, abs=1e-6)


# Corners, creases, ceilings ------------------------------------------------------------------------------------------------


def test_a_wall_is_slid_along_and_a_corner_ends_it() -> None:
    world = flat()
    first = box(world, (1.0, -3.0, 0.0), (1.5, 3.0, 3.0))
    second = box(world, (-3.0, 2.0, 0.0), (3.0, 2.5, 3.0))
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 1.0), 1.0)
    # Along x until the wall, along y as if it were not there.
    assert character.position[0, 0] == pytest.approx(1.0 - 0.3 * (1.0 + NEAR), abs=1e-6)
    assert character.position[0, 1] == pytest.approx(1.0, abs=1e-6)
    assert {int(handle) for moved in moves for handle in moved.hits.handle} == {first}
    moves = walk(character, world, (1.5, 1.0), 1.5)
    corner = [1.0 - 0.3 * (1.0 + NEAR), 2.0 - 0.3 * (1.0 + NEAR)]
    np.testing.assert_allclose(character.position[0, :2], corner, atol=1e-6)
    assert set(moves[-1].hits.handle.tolist()) == {first, second}
    assert moves[-1].status[0] == MoveStatus.DONE


@pytest.mark.parametrize("angle", [0.3, 1.0, 2.0, 2.8])
def test_an_inner_corner_of_any_angle_holds(angle: float) -> None:
    world = flat()
    for side in (-1.0, 1.0):
        normal = np.array([-math.sin(0.5 * angle), -side * math.cos(0.5 * angle), 0.0])
        world.add(thud.HalfSpace(normal, float(normal @ [3.0, 0.0, 0.0])), static=True)
    # Where the walls of a sharp corner leave room.
    character = standing(world, 3.0 - 0.5 / math.sin(0.5 * angle))
    moves = walk(character, world, (2.0, 0.1), 2.0)
    end = 3.0 - 0.3 * (1.0 + NEAR) / math.sin(0.5 * angle)
    np.testing.assert_allclose(character.position[0, :2], [end, 0.0], atol=1e-4)
    np.testing.assert_allclose(moves[-1].position, moves[-2].position, atol=1e-6)


def test_a_crease_between_two_steep_slopes_is_walked_along() -> None:
    # A gutter of two slopes beyond the limit, level along y: it is in both, and moves along the crease alone.
    world = thud.World()
    slope = math.radians(60)
    for side in (-1.0, 1.0):
        world.add(thud.HalfSpace([side * math.sin(slope), 0.0, math.cos(slope)]), static=True)
    character = Character(RADII, (0.1, 0.0, 2.0))
    walk(character, world, (0.0, 0.0), 1.5)
    assert character.position[0, 0] == pytest.approx(0.0, abs=1e-3)
    rest = character.position[0, 2]
    walk(character, world, (0.5, 1.0), 1.0)
    assert character.position[0, 1] == pytest.approx(1.0, abs=2e-2)
    assert character.position[0, 2] == pytest.approx(rest, abs=2e-2)


def test_a_low_ceiling_stops_the_head() -> None:
    world = flat()
    beam = box(world, (1.0, -3.0, 1.5), (4.0, 3.0, 2.0))
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 0.0), 1.0)
    assert character.position[0, 0] < 1.0
    assert character.position[0, 2] == pytest.approx(STAND, abs=1e-6)
    assert moves[-1].hits.handle[0] == beam


def test_crouching_passes_below_it_and_stands_up_behind() -> None:
    world = flat()
    box(world, (1.0, -3.0, 1.5), (2.0, 3.0, 2.0))
    character = standing(world, 0.0)
    assert character.resize(world, (0.3, 0.3, 0.6)).all()
    assert character.position[0, 2] == pytest.approx(0.6 * (1.0 + SKIN), abs=1e-6)
    walk(character, world, (1.5, 0.0), 1.0)
    assert character.position[0, 0] == pytest.approx(1.5, abs=1e-6)
    assert not character.resize(world, RADII).any()
    np.testing.assert_array_equal(character.radii[0], (0.3, 0.3, 0.6))
    walk(character, world, (1.5, 0.0), 1.0)
    assert character.resize(world, RADII).all()
    moved = character.move(world, (0, 0, 0), DT)
    assert moved.grounded[0]
    assert moved.position[0, 2] == pytest.approx(STAND, abs=1e-6)


def test_a_wedge_of_ground_and_ceiling_holds() -> None:
    # A ramp under a level ceiling: it stops where its head touches, and is not pressed through either.
    world = ramp(30)
    world.add(thud.HalfSpace([0, 0, -1], -2.3), static=True)
    character = standing(world, 0.0)
    moves = walk(character, world, (1.5, 0.0), 2.0)
    assert character.position[0, 2] <= 2.3 - 0.9
    assert 1.0 < character.position[0, 0] < 2.0
    np.testing.assert_allclose(moves[-1].position, moves[-2].position, atol=1e-4)
    assert moves[-1].grounded[0]


def test_a_jump_ends_at_the_ceiling() -> None:
    world = flat()
    ceiling = box(world, (-3.0, -3.0, 2.2), (3.0, 3.0, 2.6))
    character = standing(world, 0.0)
    character.jump(4.0)
    moves = walk(character, world, (0.0, 0.0), 1.0)
    tops = [k for k, moved in enumerate(moves) if ceiling in moved.hits.handle]
    assert len(tops) == 1
    assert max(moved.position[0, 2] for moved in moves) == pytest.approx(2.2 - 0.9 * (1.0 + NEAR), abs=1e-6)
    assert moves[-1].grounded[0]


def test_a_jump_is_a_parabola() -> None:
    world = flat()
    character = standing(world, 0.0)
    character.jump(5.0)
    moves = walk(character, world, (2.0, 0.0), 1.2)
    rise = max(moved.position[0, 2] for moved in moves) - STAND
    # Semi-implicit: v (v - g dt) / 2 g.
    assert rise == pytest.approx(5.0 * (5.0 - 9.81 * DT) / (2 * 9.81), abs=2e-3)
    assert moves[-1].grounded[0]
    assert character.position[0, 0] == pytest.approx(2.4, abs=1e-6)
    character.jump(0.0)
    assert character.grounded[0]


# Platforms, bodies -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("velocity", [(1.0, 0.5, 0.0), (0.0, 0.0, 1.0), (0.0, 0.0, -2.0), (0.7, 0.0, 0.7)])
def test_a_moving_platform_carries(velocity: tuple[float, float, float]) -> None:
    world = thud.World()
    platform = box(world, (-1.0, -1.0, 4.8), (1.0, 1.0, 5.0), static=False, kinematic=True, velocity=velocity)
    character = standing(world, 0.2, z=5.0 + STAND)
    start = character.position[0].copy()
    for _ in range(60):
        world.step(DT)
        moved = character.move(world, (0, 0, 0), DT)
        assert moved.grounded[0]
        assert moved.ground_handle[0] == platform
    np.testing.assert_allclose(character.position[0] - start, velocity, atol=1e-6)


def test_a_turning_platform_carries_and_turns() -> None:
    world = thud.World()
    box(world, (-2.0, -2.0, 4.8), (2.0, 2.0, 5.0), static=False, kinematic=True, angular_velocity=(0.0, 0.0, 1.0))
    character = standing(world, 1.0, z=5.0 + STAND)
    turn = 0.0
    for _ in range(60):
        world.step(DT)
        turn += character.move(world, (0, 0, 0), DT).turn[0]
    assert turn == pytest.approx(1.0, abs=1e-6)
    np.testing.assert_allclose(character.position[0, :2], [math.cos(1.0), math.sin(1.0)], atol=1e-6)


def test_a_platform_carries_to_the_wall_and_no_farther() -> None:
    world = thud.World()
    box(world, (-1.0, -1.0, 4.8), (1.0, 1.0, 5.0), static=False, kinematic=True, velocity=(1.0, 0.0, 0.0))
    wall = box(world, (1.0, -3.0, 5.1), (1.2, 3.0, 8.0))
    character = standing(world, 0.5, z=5.0 + STAND)
    for _ in range(45):
        world.step(DT)
        moved = character.move(world, (0, 0, 0), DT)
    assert character.position[0, 0] == pytest.approx(1.0 - 0.3 * (1.0 + NEAR), abs=1e-6)
    assert wall in moved.hits.handle
    assert HitKind.CARRY in moved.hits.kind


def test_a_platform_that_is_removed_is_fallen_from() -> None:
    world = flat()
    platform = box(world, (-1.0, -1.0, 4.8), (1.0, 1.0, 5.0))
    character = standing(world, 0.0, z=5.0 + STAND)
    world.remove(platform)
    moved = character.move(world, (0, 0, 0), DT)
    assert not moved.grounded[0]


def test_a_platform_carries_however_far_it_goes_in_a_move() -> None:
    # Farther than the character reaches.
    world = thud.World()
    platform = box(world, (-1.0, -1.0, 4.8), (1.0, 1.0, 5.0), static=False, kinematic=True)
    character = standing(world, 0.2, z=5.0 + STAND)
    before = character.position[0].copy()
    world.set_poses(platform, thud.Pose([30.0, 0.0, 8.9]))
    moved = character.move(world, (0, 0, 0), DT)
    np.testing.assert_allclose(moved.position[0] - before, [30.0, 0.0, 4.0], atol=1e-6)
    assert moved.ground_handle[0] == platform


def test_a_rolling_ball_pushes_and_is_held_up() -> None:
    world = flat()
    ball = world.add(thud.Sphere(0.5), thud.Pose([-1.5, 0.0, 0.5]), mass=200.0, velocity=(3.0, 0.0, 0.0), friction=0.0)
    character = standing(world, 0.0)
    for _ in range(60):
        world.step(DT)
        character.move(world, (0, 0, 0), DT)
    # Pushed ahead of it, and it is slower by no more than the character's strength: 500 N for what was left of the second.
    speed = world.velocities(ball)[0][0, 0]
    assert character.position[0, 0] > 0.3
    assert character.position[0, 0] > world.poses(ball)[0, 0]
    assert 3.0 - 500.0 / 200.0 <= speed < 3.0


def test_a_moving_wall_pushes() -> None:
    world = flat()
    box(world, (-2.0, -1.0, 0.2), (-0.5, 1.0, 2.0), static=False, kinematic=True, velocity=(1.0, 0.0, 0.0))
    character = standing(world, 0.0)
    for _ in range(60):
        world.step(DT)
        moved = character.move(world, (0, 0, 0), DT)
        assert moved.status[0] == MoveStatus.DONE
    # The wall's face is at 0.5 by now, and the character ahead of it.
    assert character.position[0, 0] == pytest.approx(0.5 + 0.3, abs=2e-3)
    assert HitKind.PUSH in moved.hits.kind


def test_it_pushes_light_bodies_and_not_heavy_ones() -> None:
    for mass, moves in ((20.0, True), (5000.0, False)):
        world = flat()
        crate = world.add(thud.Box((0.4, 0.4, 0.4)), thud.Pose([1.2, 0, 0.4]), mass=mass, friction=0.4)
        character = standing(world, 0.0)
        for _ in range(120):
            character.move(world, (1.0 * DT, 0, 0), DT)
            world.step(DT)
        way = world.poses(crate)[0, 0] - 1.2
        assert (way > 0.5) == moves
        if not moves:
            assert way < 0.05
        # Never through it.
        assert character.position[0, 0] < world.poses(crate)[0, 0] - 0.4


def test_its_weight_tips_a_seesaw() -> None:
    world = flat()
    world.add(thud.Box((0.05, 0.5, 0.25)), thud.Pose([0, 0, 0.25]), static=True)
    board = world.add(thud.Box((2.0, 0.5, 0.05)), thud.Pose([0, 0, 0.551]), mass=20.0)
    character = Character(RADII, (1.0, 0.0, 0.61 + STAND))
    for _ in range(60):
        character.move(world, (0, 0, 0), DT)
        world.step(DT)
    ends = thud.Pose.from_rows(world._bodies.poses[world.index(board)]).rows[0]
    assert ends[6] < -0.05


def test_it_starts_inside_and_is_pushed_out() -> None:
    world = flat()
    box(world, (0.2, -1.0, 0.0), (2.0, 1.0, 3.0))
    ball = world.add(thud.Sphere(0.5), thud.Pose([-0.6, 0.0, 1.0]), static=True)
    character = Character(RADII, [0.0, 0.9, STAND])
    moved = character.move(world, (0, 0, 0), DT)
    assert moved.status[0] == MoveStatus.OVERLAPPING or HitKind.PUSH in moved.hits.kind
    for _ in range(20):
        moved = character.move(world, (0, 0, 0), DT)
    assert moved.status[0] == MoveStatus.DONE
    shape = thud.Ellipsoid(RADII)
    row, _handle = world.overlap(shape, thud.Pose(moved.position))
    assert len(row) == 0
    assert ball not in moved.hits.handle


@pytest.mark.parametrize("seed", range(20))
def test_touching_a_sharp_edge_is_not_being_inside(seed: int) -> None:
    # The centre is behind one of the two faces of a thin wedge, whose edge it touches: that face alone says nothing.
    rng = np.random.default_rng(seed)
    world = thud.World(gravity=(0, 0, 0))
    tilt = rng.uniform(0.0, 0.6)
    turn = thud.Pose([0, 0, 0], [math.cos(tilt / 2), 0.0, math.sin(tilt / 2), 0.0]).rows[0, :9].reshape(3, 3)
    wedge = np.array([[0, -2, 0], [0, 2, 0], [3, -2, 0.4], [3, 2, 0.4], [3, -2, -0.4], [3, 2, -0.4]]) @ turn.T
    world.add(thud.ConvexHull(wedge), static=True)
    radii = rng.uniform(0.2, 0.5, 3)
    character = Character(radii, (-1.0, 0.0, rng.uniform(-0.8, 0.8) * radii[2]), slope=0.01)
    for _ in range(30):
        moved = character.move(world, (0.1, 0.01, 0.0), DT)
        assert HitKind.PUSH not in moved.hits.kind
        assert moved.status[0] == MoveStatus.DONE
    assert character.position[0, 0] < 0.0


# Ground of all kinds -----------------------------------------------------------------------------------------------------


def hills(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.asarray(0.8 * np.sin(0.7 * x) * np.cos(0.5 * y))


@pytest.mark.parametrize("kind", ["mesh", "field", "thick field", "surface"])
def test_walks_over_hills_of_any_kind(kind: str) -> None:
    n, spacing = 48, 0.25
    x, y = np.meshgrid(np.arange(n + 1) * spacing, np.arange(n + 1) * spacing)
    heights = hills(x, y)
    if kind == "surface":
        from thud.terrain import from_heights

        ground: thud.Shape = from_heights(heights, spacing, samples=4).surface
    else:
        field = thud.HeightField(heights, spacing, thickness=1.0 if kind == "thick field" else None)
        ground = field.to_mesh() if kind == "mesh" else field
    world = thud.World()
    world.add(ground, static=True)
    character = Character(RADII, (2.0, 2.0, hills(np.array(2.0), np.array(2.0)) + 1.3))
    walk(character, world, (0.0, 0.0), 1.0)
    moves = walk(character, world, (2.0, 1.6), 4.0)
    assert all(moved.grounded[0] for moved in moves)
    np.testing.assert_allclose(character.position[0, :2], [10.0, 8.4], atol=1e-6)
    for moved in moves:
        px, py, pz = moved.position[0]
        assert 0.0 < pz - hills(px, py) - 0.85 < 0.2
    assert all(moved.status[0] == MoveStatus.DONE for moved in moves)


def test_a_seam_between_triangles_is_not_felt() -> None:
    # Flat ground of uneven triangles: no hit but the ground's, no change of height, the exact way.
    rng = np.random.default_rng(5)
    n = 20
    x, y = np.meshgrid(np.arange(n + 1) * 0.5, np.arange(n + 1) * 0.5)
    points = np.stack([x, y, np.zeros_like(x)], axis=-1)
    points[1:-1, 1:-1, :2] += rng.uniform(-0.2, 0.2, (n - 1, n - 1, 2))
    a = (np.arange(n)[:, None] * (n + 1) + np.arange(n)).ravel()
    faces = np.concatenate([np.stack([a, a + 1, a + n + 2], 1), np.stack([a, a + n + 2, a + n + 1], 1)])
    world = thud.World()
    world.add(thud.TriangleMesh(points.reshape(-1, 3), faces), static=True)
    character = standing(world, 1.0, 1.0)
    for velocity in ((2.0, 1.3), (0.0, 2.0), (1.0, -0.1)):
        start = character.position[0].copy()
        moves = walk(character, world, velocity, 1.0)
        np.testing.assert_allclose(character.position[0, :2] - start[:2], velocity, atol=1e-9)
        assert all(len(moved.hits.row) == 0 and moved.grounded[0] for moved in moves)
        np.testing.assert_allclose([moved.position[0, 2] for moved in moves], STAND, atol=1e-7)


def test_the_border_of_a_field_is_a_wall() -> None:
    world = thud.World()
    world.add(thud.HeightField(np.full((9, 9), 2.0), 1.0), static=True)
    box(world, (-10.0, -10.0, -0.5), (20.0, 20.0, 0.0))
    character = standing(world, -2.0, 4.0)
    moves = walk(character, world, (2.0, 0.0), 2.0)
    assert character.position[0, 0] == pytest.approx(-0.3 * (1.0 + NEAR), abs=1e-6)
    assert moves[-1].hits.normal[0, 0] == pytest.approx(-1.0, abs=1e-6)


def test_under_the_overhang_of_a_displaced_surface() -> None:
    # Ground that rolls up into a wave: floor, then wall, then a roof above the character.
    from tests.oracles.displaced import grid_surface

    surface = grid_surface(
        np.random.default_rng(3), quads=(8, 4), side=4, cell=1.5, overhang=3.4, height=0.0, bend=0.0, skew=0.0
    )
    world = thud.World()
    world.add(surface, static=True)
    sheet = surface.to_mesh()
    floor = thud.raycast(sheet, [0.6, 3.0, 1.5], [[0, 0, -1]]).point[0]
    character = Character((0.3, 0.3, 0.6), floor + [0, 0, 0.75])
    walk(character, world, (0.0, 0.0), 0.5)
    moves = walk(character, world, (1.5, 0.3), 3.0)
    # The roof is above it: a ray up meets the sheet.
    above = thud.raycast(sheet, character.position, [[0, 0, 1]])
    assert np.isfinite(above.distance[0])
    assert moves[-1].hits.kind.size
    distance = thud.distance(thud.Ellipsoid((0.3, 0.3, 0.6)), sheet, thud.Pose([moved.position[0] for moved in moves]))
    assert (distance.distance > 0.0).all()
    # The slope at which it is stopped is beyond the limit.
    assert moves[-1].hits.normal[0, 2] < math.cos(math.radians(50)) + 1e-6


# Many at once ------------------------------------------------------------------------------------------------------------


def test_many_at_once_are_as_one_by_one() -> None:
    world = stairs(0.25)
    rng = np.random.default_rng(0)
    count = 40
    position = np.column_stack([rng.uniform(-1, 8, count), rng.uniform(-1.5, 1.5, count), rng.uniform(3.2, 4.0, count)])
    motion = np.column_stack([rng.uniform(-2, 2, (count, 2)) * DT, np.zeros(count)])
    together = Character(RADII, position)
    alone = [Character(RADII, one) for one in position]
    for _ in range(60):
        moved = together.move(world, motion, DT)
        for k in range(count):
            one = alone[k].move(world, motion[k], DT)
            np.testing.assert_array_equal(one.position[0], moved.position[k])
            assert one.grounded[0] == moved.grounded[k]
            np.testing.assert_array_equal(one.hits.point, moved.hits.point[moved.hits.row == k])


def test_the_same_bytes_from_any_number_of_threads() -> None:
    rng = np.random.default_rng(3)
    position = np.column_stack([rng.uniform(-1, 8, 400), rng.uniform(-1.5, 1.5, 400), rng.uniform(3.2, 4.0, 400)])
    motion = np.column_stack([rng.uniform(-2, 2, (400, 2)) * DT, np.zeros(400)])
    found = []
    for threads in (1, 3):
        world = stairs(0.25)
        world.threads = threads
        character = Character(RADII, position)
        for _ in range(40):
            moved = character.move(world, motion, DT)
        found.append((moved.position.tobytes(), moved.hits.point.tobytes(), moved.hits.handle.tobytes()))
    assert found[0] == found[1]


def test_nobody_moves_nowhere() -> None:
    character = Character(RADII, np.empty((0, 3)))
    moved = character.move(flat(), np.zeros((0, 3)), DT)
    assert moved.position.shape == (0, 3)
    assert moved.hits.point.shape == (0, 3)
    assert character.resize(flat(), RADII).shape == (0,)


def test_layers_sensors_and_ignored_bodies_are_passed() -> None:
    world = flat()
    box(world, (1.0, -1.0, 0.0), (1.2, 1.0, 2.0), layer=3)
    world.add(thud.Box((0.1, 1, 1)), thud.Pose([2.0, 0, 1.0]), static=True, sensor=True)
    third = box(world, (3.0, -1.0, 0.0), (3.2, 1.0, 2.0))
    character = standing(world, 0.0, mask=~(1 << 3), ignore=third)
    walk(character, world, (2.0, 0.0), 2.0)
    assert character.position[0, 0] == pytest.approx(4.0, abs=1e-6)


def test_near_bodies_are_those_in_boxes() -> None:
    world = flat()
    rng = np.random.default_rng(0)
    world.add_many(thud.Box((0.2, 0.2, 0.2)), thud.Pose(rng.uniform(-3, 3, (200, 3))), layer=np.arange(200) % 3)
    middle = rng.uniform(-3, 3, (50, 3))
    near = world.near(np.concatenate([middle - 0.4, middle + 0.4], axis=1), 0b101)
    row, handle = world.in_boxes(middle - 0.4, middle + 0.4)
    keep = world.layer(handle) != 1
    np.testing.assert_array_equal(near.row, row[keep])
    np.testing.assert_array_equal(near.handles[near.body], handle[keep])
    assert near.free.sum() == len(near.handles) - 1


def test_gates_name_argument_and_remedy() -> None:
    world = flat()
    wrong = {
        "radii: row 0": {"radii": (0.3, 0.0, 0.9)},
        "radii: expected": {"radii": np.ones((3, 3))},
        "position: ": {"position": (0, 0, np.nan)},
        "step_height: ": {"step_height": -0.1},
        "slope: .*see math.radians": {"slope": 50.0},
        "method: expected one of walk, slides": {"method": "fly"},
        "mass: ": {"mass": 0.0},
        "strength: ": {"strength": -1.0},
        "gravity: ": {"gravity": (0, 0, -9.81)},
        "mask: ": {"mask": 1.5},
        "ignore: ": {"ignore": [1, 2, 3]},
    }
    for message, options in wrong.items():
        with pytest.raises(thud.errors.InvalidInputError, match=message):
            Character(**({"radii": RADII, "position": (0, 0, 1)} | options))  # type: ignore[arg-type]
    character = Character(RADII, (0, 0, 1))
    with pytest.raises(thud.errors.InvalidInputError, match="motion: expected 1 row, got"):
        character.move(world, np.zeros((2, 3)), DT)
    with pytest.raises(thud.errors.InvalidInputError, match="world: expected a thud"):
        character.move([], np.zeros(3), DT)  # type: ignore[arg-type]
    with pytest.raises(thud.errors.InvalidInputError, match="dt: "):
        character.move(world, np.zeros(3), 0.0)
    with pytest.raises(thud.errors.InvalidInputError, match="speed: expected one number"):
        character.jump([1.0, 2.0])
    with pytest.raises(thud.errors.InvalidInputError, match="position: expected 1 row, got"):
        character.place(np.zeros((2, 3)))


def test_an_empty_world_is_fallen_through() -> None:
    character = Character(RADII, (0, 0, 1))
    moved = character.move(thud.World(), (0.1, 0, 0), DT)
    np.testing.assert_allclose(moved.position[0], [0.1, 0.0, 1.0 - 9.81 * DT * DT])
    assert moved.ground_handle[0] == -1
    character.place((1.0, 2.0, 3.0))
    np.testing.assert_array_equal(character.position[0], (1.0, 2.0, 3.0))
    assert character.fall[0] == 0.0
