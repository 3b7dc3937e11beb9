"""Many bodies at once are the same as one by one."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.world.model import random_pose, some_shapes
from thud.errors import InvalidInputError


def filled(many: bool) -> thud.World:
    rng = np.random.default_rng(5)
    world = thud.World(threads=1)
    shapes = some_shapes()
    for _ in range(3):
        count = 40
        kinds = [shapes[k] for k in rng.integers(0, len(shapes), count)]
        kinds[:4] = [thud.Box((0.2, 0.3, 0.4)) for _ in range(4)]
        poses = np.array([random_pose(rng, 2.0) for _ in range(count)])
        options = {
            "names": [None if k % 2 else f"b{k}" for k in range(count)],
            "static": rng.random(count) < 0.3,
            "mass": rng.uniform(1.0, 2.0, count),
            "layer": rng.integers(0, 3, count),
            "mask": np.array([~0, 0b101, 2**63 - 1])[rng.integers(0, 3, count)],
            "velocity": rng.normal(size=(count, 3)),
            "angular_velocity": rng.normal(size=(count, 3)),
            "bullet": rng.random(count) < 0.1,
        }
        if many:
            handles = world.add_many(kinds, poses, **options)
        else:
            single = [{name.replace("names", "name"): value[k] for name, value in options.items()} for k in range(count)]
            handles = np.array([world.add(kinds[k], poses[k], **single[k]) for k in range(count)])
        gone = rng.permutation(count)[:15]
        if many:
            world.remove(handles[gone])
        else:
            for handle in handles[gone]:
                world.remove(handle)
    return world


def test_the_same_world() -> None:
    one, many = filled(False).state(), filled(True).state()
    for name, value in one.items():
        if name.startswith("shape") or name == "free_shapes":
            continue  # which index a shape has depends on the order in which shapes went
        assert value.tobytes() == many[name].tobytes() if isinstance(value, np.ndarray) else value == many[name], name
    a, b = filled(False), filled(True)
    np.testing.assert_array_equal(a.intersecting(), b.intersecting())
    np.testing.assert_array_equal(a.contacts().point, b.contacts().point)


def test_one_for_all() -> None:
    world = thud.World()
    poses = thud.Pose(np.arange(15.0).reshape(5, 3))
    handles = world.add_many(thud.Sphere(1.0), poses, mass=2.0, velocity=(1, 0, 0), mask=~0, static=False)
    assert len(handles) == len(world) == 5
    np.testing.assert_array_equal(world.poses(handles)[:, :3], np.arange(15.0).reshape(5, 3))
    assert len(world.add_many([thud.Sphere(1.0), thud.Box((1, 1, 1))])) == 2


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (([], None), {}, "shapes"),
        (([thud.Sphere(1.0)] * 3, np.tile([0, 0, 0, 1.0, 0, 0, 0], (2, 1))), {}, "3 and 2"),
        (([thud.Sphere(1.0), "ball"],), {}, "str"),
        (([thud.Sphere(1.0)] * 2,), {"mass": [1.0, -1.0]}, "mass: row 1"),
        (([thud.Sphere(1.0)] * 2,), {"mass": [1.0, np.nan]}, "mass"),
        (([thud.Sphere(1.0)] * 2,), {"mass": [1.0, 1.0, 1.0]}, "mass"),
        (([thud.Sphere(1.0)] * 2,), {"layer": [0, 64]}, "layer"),
        (([thud.Sphere(1.0)] * 2,), {"layer": [0, 1, 2]}, "layer"),
        (([thud.Sphere(1.0)] * 2,), {"mask": 1.5}, "mask"),
        (([thud.Sphere(1.0)] * 2,), {"names": ["a"]}, "names"),
        (([thud.Sphere(1.0)] * 2,), {"velocity": np.zeros((3, 3))}, "velocity"),
        (([thud.Sphere(1.0)] * 2,), {"bullet": [True] * 3}, "bullet"),
    ],
    ids=range(12),
)
def test_what_is_wrong_is_named_and_changes_nothing(arguments: tuple, options: dict, message: str) -> None:
    world = thud.World()
    before = world.state()
    with pytest.raises(InvalidInputError, match=message):
        world.add_many(*arguments, **options)
    after = world.state()
    assert all(np.array_equal(before[name], after[name]) for name in before)
