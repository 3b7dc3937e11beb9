"""Casts that begin in touch with rough ground, or slide along it at a gap of about nothing: the same answer with a rotation as
without, in few steps."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import thud
from thud.pairing import advance
from thud.terrain.collision import queries as surface_queries

HEIGHTS = np.random.default_rng(0).normal(size=(17, 17))
SHAPES = {
    "ball": thud.Sphere(0.5),
    "box": thud.Box((0.5, 0.4, 0.3)),
    "capsule": thud.Capsule(0.2, 0.6),
    "balls": thud.Compound([thud.Sphere(0.3), thud.Sphere(0.2)], [thud.Pose([0.4, 0, 0]), thud.Pose([-0.4, 0.1, 0])]),
}
GROUNDS = ("field", "mesh", "surface")


def ground_of(kind: str, heights: np.ndarray = HEIGHTS) -> thud.shapes.Shape:
    if kind == "surface":
        return thud.terrain.from_heights(heights, 2.0, samples=16, thickness=20.0).surface
    field = thud.HeightField(heights, 2.0)
    return field.to_mesh() if kind == "mesh" else field


def in_touch(ground: thud.shapes.Shape, shape: thud.shapes.Shape, count: int) -> tuple[thud.Pose, np.ndarray]:
    """Poses at which a cast down has stopped, and the normals there."""
    rng = np.random.default_rng(1)
    at = np.column_stack([rng.uniform(8.0, 24.0, (count, 2)), np.full(count, 6.0)])
    turn = rng.normal(size=(count, 4))
    quaternion = turn / np.linalg.norm(turn, axis=1, keepdims=True)
    down = np.array([0.0, 0, -12.0])
    found = thud.cast(ground, shape, None, thud.Pose(at, quaternion), motion_b=down)
    assert (found.status == thud.CastStatus.HIT).all()
    return thud.Pose(at + found.time[:, None] * down, quaternion), found.normal


@pytest.mark.parametrize("turning_ground", [False, True])
@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", GROUNDS)
def test_a_start_in_touch_is_a_contact_with_a_rotation_if_it_is_one_without(kind: str, name: str, turning_ground: bool) -> None:
    # Casts by steps of the distance took every start in touch for a hit at 0, whatever way the motion led.
    ground, shape = ground_of(kind), SHAPES[name]
    count = 40
    poses, normal = in_touch(ground, shape, count)
    rng = np.random.default_rng(2)
    # Answers of a surface are off by a few ten-millionths of its patches: nearer is an overlap.
    for gap in (1e-5,) if kind == "surface" else (0.0, 1e-9, 1e-6):
        start = thud.Pose(poses.position + gap * normal, poses.quaternion)
        way = 0.1 * rng.normal(size=(count, 3))
        along = np.einsum("ni,ni->n", way, normal)
        # Neither along the face nor nearly so: what rounding decides is not asked.
        way += (np.where(along > 0.0, 0.05, -0.05))[:, None] * normal
        straight = thud.cast(ground, shape, None, start, motion_b=way)
        # So small a rotation moves no point by what counts.
        small = np.concatenate([way, np.full((count, 3), 1e-12)], axis=1)
        if turning_ground:
            about = np.concatenate([-way, np.full((count, 3), 1e-12)], axis=1)
            turned = thud.cast(ground, shape, None, start, about, 0)
        else:
            turned = thud.cast(ground, shape, None, start, motion_b=small)
        np.testing.assert_array_equal(turned.status, straight.status)
        assert (straight.status[along > 0.0] == thud.CastStatus.MISS).sum() > count // 5
        hit = straight.status == thud.CastStatus.HIT
        np.testing.assert_allclose(turned.time[hit], straight.time[hit], atol=1e-4)


@pytest.mark.parametrize("gap", [1e-8, 1e-5])
@pytest.mark.parametrize("kind", GROUNDS)
def test_what_slides_along_a_slope_and_turns_does_not_advance_by_its_gap(
    kind: str, gap: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The distance over the speed, a hundred-millionth of the way a step: thousands of distances, and no answer then.
    y, x = np.mgrid[:17, :17] * 2.0
    ground = ground_of(kind, 0.5 * x - 0.25 * y)
    up = np.array([-0.5, 0.25, 1.0]) / np.linalg.norm([-0.5, 0.25, 1.0])
    axis = np.cross([0.0, 0, 1], up)
    sine = np.linalg.norm(axis)
    half = 0.5 * np.arcsin(sine)
    quaternion = np.array([np.cos(half), *(np.sin(half) / sine * axis)])
    foot = np.array([9.0, 15.0, 0.5 * 9.0 - 0.25 * 15.0])
    asked = _counted(monkeypatch)
    # Half its height above the ground: the box has half sizes.
    high = thud.distance(ground, thud.Box((0.5, 0.4, 0.3)), None, thud.Pose(foot + 2.0 * up, quaternion)).distance[0]
    start = thud.Pose(foot + (2.0 - high + gap) * up, quaternion)
    along = np.cross(up, [0.3, 1.0, 0.0])
    for turn in (0.4 * up, -2.0 * up):
        motion = np.concatenate([4.0 * along / np.linalg.norm(along), turn])
        found = thud.cast(ground, thud.Box((0.5, 0.4, 0.3)), None, start, motion_b=motion)
        assert found.status[0] == thud.CastStatus.MISS
        # Down a little, it meets the slope at once.
        found = thud.cast(ground, thud.Box((0.5, 0.4, 0.3)), None, start, motion_b=motion - np.array([0.0, 0, 1e-3, 0, 0, 0]))
        assert found.status[0] == thud.CastStatus.HIT
        assert found.time[0] == pytest.approx(gap / (1e-3 * up[2]), abs=1e-3)
    assert asked[0] <= 4


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How often distances from fields and surfaces are asked for, for casts."""
    from thud.heightfield import turning

    asked = [0]

    def counting(function: Callable[..., object]) -> Callable[..., object]:
        def count(*given: object, **options: object) -> object:
            asked[0] += 1
            return function(*given, **options)

        return count

    monkeypatch.setattr(turning, "distance", counting(turning.distance))
    monkeypatch.setattr(surface_queries, "distance_and_rest", counting(surface_queries.distance_and_rest))
    return asked


@pytest.mark.parametrize("name", ["ball", "box", "capsule"])
@pytest.mark.parametrize("kind", ["field", "surface"])
def test_a_step_over_rough_ground_takes_few_distances(kind: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    # Fast bodies in touch with the ground were cast by thousands of steps of the distance: a step took a second.
    asked = _counted(monkeypatch)
    world = thud.World(gravity=(0, 0, -9.81))
    ground = ground_of(kind)
    world.add(ground, static=True)
    xy = np.random.default_rng(3).uniform(8.0, 24.0, (8, 2))
    height = thud.raycast(ground, np.column_stack([xy, np.full(8, 20.0)]), [0.0, 0, -1]).point[:, 2]
    poses = thud.Pose(np.column_stack([xy, height + 1.0]))
    world.add_many(SHAPES[name], poses, velocity=(12.0, 2.0, 0), angular_velocity=(3.0, 15.0, 0))
    most = 0
    for _ in range(40):
        before = asked[0]
        world.step(1.0 / 60.0)
        most = max(most, asked[0] - before)
    # Contacts of surfaces ask for some.
    assert most <= 16


def test_a_ball_turns_in_itself() -> None:
    # It was cast as if all its points turned about its middle.
    ground, ball = ground_of("field"), SHAPES["ball"]
    poses, normal = in_touch(ground, ball, 20)
    start = thud.Pose(poses.position + 0.3 * normal)
    way = np.random.default_rng(4).normal(size=(20, 3))
    straight = thud.cast(ground, ball, None, start, motion_b=way)
    turned = thud.cast(ground, ball, None, start, motion_b=np.concatenate([way, 9.0 * way], axis=1))
    np.testing.assert_array_equal(turned.time, straight.time)
    np.testing.assert_array_equal(turned.point, straight.point)
    # One beside the origin of its shape does turn.
    aside = thud.Compound([ball], [thud.Pose([1.0, 0, 0])])
    assert (
        thud.cast(ground, aside, None, start, motion_b=np.concatenate([way, 9.0 * way], axis=1)).time != straight.time
    ).any()


def test_steps_of_the_distance_end_where_two_part_slowly() -> None:
    """A number that does not grow with how near they are."""
    looks = [0]

    def distance(place_a: np.ndarray, place_b: np.ndarray, count: int) -> thud.Distances:
        looks[0] += 1
        ball, floor = thud.Sphere(0.5), thud.HalfSpace([0, 0, 1])
        return thud.distance(floor, ball, thud.Pose.from_rows(place_a), thud.Pose.from_rows(place_b))

    row = np.concatenate([np.eye(3).reshape(-1), np.zeros(3)])[None]
    at = row.copy()
    at[0, 11] = 0.5 + 1e-9
    motion = np.array([[1.0, 0, 0.1, 0, 0, 0]])
    found = advance.advance(
        distance, row, at, np.zeros((1, 6)), motion, row[0], row[0], 1, reach_a=np.inf, reach_b=0.0,
        gap=lambda rows: np.full(len(rows), 1e-7), steps=4096,
    )  # fmt: skip
    assert found.status[0] == thud.CastStatus.MISS
    assert looks[0] < 300
