"""What a world refuses, by name, and that it is as it was afterwards."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError, ThudError

BALL = thud.Sphere(1.0)
TWO = thud.Pose([[0, 0, 0], [5.0, 0, 0]])


@pytest.mark.parametrize(
    "wrong",
    [
        {"mask": "a"}, {"mask": None}, {"mask": 1.5}, {"mask": 2**65}, {"mask": True}, {"bullet": np.array([1, 0])},
        {"bullet": "no"}, {"static": "no"}, {"static": np.array([1, 0])}, {"layer": 64}, {"layer": np.array([1, 2])},
        {"velocity": [1e31, 0, 0]}, {"angular_velocity": [0, 0, np.nan]}, {"mass": [1.0, 2.0]}, {"pose": TWO},
    ],
    ids=str,
)  # fmt: skip
def test_a_refused_body_leaves_nothing_behind(wrong: dict[str, Any]) -> None:
    # The row was taken before the last arguments were looked at: rays hit the ghost, and the world could not be saved.
    world = thud.World()
    with pytest.raises(ThudError, match=next(iter(wrong))):
        world.add(BALL, **wrong)
    assert len(world) == 0
    assert world.add(BALL) > 0


@pytest.mark.parametrize(
    "wrong",
    [
        {"mass": np.ones((2, 1))}, {"bullet": np.ones((2, 2), bool)}, {"bullet": [1j, 2]}, {"static": ["a", "b"]},
        {"static": [[1], [1, 0]]}, {"names": "ab"}, {"names": 5}, {"layer": [[1], [2]]}, {"mask": None},
        {"velocity": [[1e31, 0, 0]]},
    ],
    ids=str,
)  # fmt: skip
def test_refused_bodies_leave_nothing_behind(wrong: dict[str, Any]) -> None:
    world = thud.World()
    with pytest.raises(ThudError, match=next(iter(wrong))):
        world.add_many(BALL, TWO, **wrong)
    assert len(world) == 0
    thud.World.from_state(world.state())


@pytest.mark.parametrize("wrong", [0, 9, 100, True, -1, None, 4.5, "a", np.array([1, 2])])
def test_points_of_a_patch(wrong: Any) -> None:
    world = thud.World()
    world.add_many(thud.Box([1.0, 1, 1]), thud.Pose([[0, 0, 0], [1.9, 0.1, 0.2]]))
    with pytest.raises(InvalidInputError, match="max_points"):
        world.contacts(max_points=wrong)
    assert len(world.contacts(max_points=np.int64(2)).depth) == 2


def test_motions_beyond_the_limit() -> None:
    # An overflow was called an overlap at the start.
    world = thud.World()
    world.add(BALL, velocity=[1e29, 0, 0])
    world.add(BALL, thud.Pose([5.0, 0, 0]))
    with pytest.raises(InvalidInputError, match="dt times velocity"):
        world.impacts(1e3)
    assert world.impacts(1e-30).time.tolist() == []


def test_one_handle_where_one_is_meant() -> None:
    world = thud.World()
    handles = world.add_many(BALL, TWO)
    for call in (world.name, world.shape, lambda some: world.set_shape(some, thud.Box([1.0, 1, 1]))):
        for wrong in (handles, [], np.ma.array(handles[:1], mask=[True]), [[1], [2, 3]], 1.5, "a"):
            with pytest.raises(ThudError, match="handle"):
                call(wrong)
    assert world.shape(handles[1]) is BALL


@pytest.mark.parametrize(
    "make",
    [
        lambda: thud.World(broadphase=[1]),
        lambda: thud.World(filter=5),
        lambda: thud.World(caches="no"),
        lambda: thud.World(threads=0),
        lambda: thud.World().add_many(5),
        lambda: thud.World().raycast([0, 0, 0], [0, 0, 1], mask="a"),
        lambda: thud.World().raycast([0, 0, 0], [0, 0, 1], max_distance="5"),
        lambda: thud.World().distances(np.array([1.0, 2.0])),
        lambda: thud.Compound(5),
        lambda: thud.Compound(BALL),
        lambda: thud.intersects_pairs(5, [], None),
        lambda: thud.intersects_pairs([BALL, BALL], [[0, 1], [0]], TWO),
        lambda: thud.intersects_pairs([BALL], [], [[1, 2], [3]]),
        lambda: thud.TriangleMesh(np.eye(3), [[0, 1], [1]]),
        lambda: TWO @ thud.Pose(np.zeros((3, 3))),
        lambda: TWO[:, 0],
        lambda: thud.Pose([1e30, 0, 0]) @ thud.Pose([1e30, 0, 0]),
        lambda: thud.distance(BALL, BALL, max_distance=np.array([1.0, 2.0])),
        lambda: thud.distance(BALL, BALL, max_distance="5"),
        lambda: thud.contacts(BALL, BALL, max_points=np.array([1, 2])),
        lambda: thud.TriangleMesh(np.eye(3), np.ma.array([[0, 1, 2]], mask=[[1, 0, 0]])),
        lambda: thud.TriangleMesh(1e-26 * np.eye(3), [[0, 1, 2]]),
        lambda: thud.ConvexHull(1e-31 * np.random.default_rng(0).normal(size=(9, 3))),
        lambda: thud.intersects_pairs([BALL, BALL], np.ma.array([[0, 1]], mask=[[1, 0]]), TWO),
    ],
)
def test_raw_exceptions_have_become_named_ones(make: Any) -> None:
    with pytest.raises(ThudError):
        make()


def test_empty_tables_and_lists_of_poses() -> None:
    shapes, poses = [BALL, BALL], np.tile([0, 0, 0, 1.0, 0, 0, 0], (2, 2, 1))
    none = thud.distance_pairs(shapes, [], poses)
    assert none.distance.shape == (2, 0)
    assert thud.distance_pairs(shapes, np.empty((0, 2), int), poses, axes=none.normal).distance.shape == (2, 0)
    np.testing.assert_array_equal(thud.intersects_pairs(shapes, [[0, 1]], [thud.Pose(), thud.Pose([5.0, 0, 0])]), [False])
    assert thud.intersects(BALL, BALL, None, TWO, threads=np.int64(1)).tolist() == [True, False]
