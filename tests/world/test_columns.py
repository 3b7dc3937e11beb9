"""Columns of bodies: what is set is what is read, what cannot be is refused, and saving keeps it all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import thud
from tests.pairing.random_draws import ball_faces, box_faces
from thud.errors import InvalidInputError, InvalidShapeError, StaleHandleError, ThudError, UnboundedShapeError

BALL, BOX = thud.Sphere(0.5), thud.Box([0.2, 0.3, 0.4])
MESH = thud.TriangleMesh(*ball_faces(np.random.default_rng(0), 5, 0.3))
GROUND = thud.HeightField(np.zeros((4, 4)), 1.0)
COLUMNS = (
    "static", "kinematic", "mass", "inertia", "center_of_mass", "friction", "restitution", "layer", "mask", "velocities",
)  # fmt: skip


def values(world: thud.World, handles: Any = None) -> dict[str, Any]:
    found = {name: getattr(world, name)(handles) for name in COLUMNS}
    return found | dict(zip(("velocity", "angular_velocity"), found.pop("velocities"), strict=True))


def test_defaults() -> None:
    world = thud.World()
    found = values(world, world.add(BALL))
    assert [found[name].tolist() for name in ("static", "kinematic", "friction", "restitution", "layer", "mask")] == [
        [False], [False], [0.5], [0.0], [0], [-1],
    ]  # fmt: skip
    assert found["inertia"].shape == (1, 3, 3)
    for name in ("mass", "inertia", "center_of_mass"):
        assert np.isnan(found[name]).all()
    assert not found["velocity"].any()
    assert not found["angular_velocity"].any()


def test_many_are_the_same_as_one_by_one() -> None:
    rng = np.random.default_rng(1)
    shapes = [BALL, BOX, MESH, thud.Cone(0.3, 0.4)]
    given = {
        "kinematic": np.array([True, False, False, True]), "friction": rng.uniform(0, 1, 4),
        "restitution": rng.uniform(0, 1, 4), "density": rng.uniform(100, 1000, 4), "layer": np.arange(4),
        "mask": np.array([1, 2, 4, -1]),
        "velocity": rng.normal(size=(4, 3)), "angular_velocity": rng.normal(size=(4, 3)),
    }  # fmt: skip
    other = {"inertia": rng.uniform(1, 1.5, (4, 3)), "center_of_mass": rng.normal(size=(4, 3))}
    for more in ({}, other):
        many, single = thud.World(), thud.World()
        # Rows that were something else before.
        for world in (many, single):
            world.remove(world.add_many(BALL, np.tile([0.0, 0, 0, 1, 0, 0, 0], (4, 1)), mass=3.0, friction=0.9, kinematic=True))
        many.add_many(shapes, np.tile([0.0, 0, 0, 1, 0, 0, 0], (4, 1)), **given, **more)
        for k, shape in enumerate(shapes):
            single.add(shape, **{name: value[k] for name, value in (given | more).items()})
        # Rows are given out from the last one freed.
        order = np.argsort(single.index(single.handles()))
        for name, column in values(many).items():
            np.testing.assert_array_equal(column, values(single)[name][order], err_msg=name)
        by_hand = [thud.mass_properties(shape, density) for shape, density in zip(shapes, given["density"], strict=True)]
        for k, handle in enumerate(many.handles()[np.argsort(many.layer())]):
            assert many.mass(handle)[0] == pytest.approx(by_hand[k].mass)
            if not more:
                np.testing.assert_allclose(many.inertia(handle)[0], by_hand[k].inertia, rtol=1e-12, atol=1e-12)
                np.testing.assert_array_equal(many.center_of_mass(handle)[0], by_hand[k].center_of_mass)
            else:
                np.testing.assert_array_equal(many.inertia(handle)[0], np.diag(more["inertia"][k]))
                np.testing.assert_array_equal(many.center_of_mass(handle)[0], more["center_of_mass"][k])


def test_setters_and_getters() -> None:
    rng = np.random.default_rng(2)
    world = thud.World()
    handles = world.add_many(BOX, thud.Pose(rng.uniform(-5, 5, (20, 3))), mass=2.0)
    some = handles[rng.permutation(20)[:7]]
    before = values(world)
    a = rng.normal(size=(7, 3, 3))
    fresh = {
        "static": rng.random(7) < 0.5, "mass": rng.uniform(1, 2, 7), "inertia": np.eye(3) + 0.01 * (a + np.swapaxes(a, 1, 2)),
        "center_of_mass": rng.normal(size=(7, 3)), "friction": rng.uniform(0, 3, 7), "restitution": rng.uniform(0, 1, 7),
        "layer": rng.integers(0, 64, 7), "mask": rng.integers(-(2**63), 2**63, 7),
    }  # fmt: skip
    for name, value in fresh.items():
        getattr(world, f"set_{name}")(some, value)
        np.testing.assert_array_equal(getattr(world, name)(some), value)
    world.set_velocities(some, fresh["center_of_mass"], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(world.velocities(some)[0], fresh["center_of_mass"])
    np.testing.assert_array_equal(world.velocities(some)[1], np.tile([1.0, 2.0, 3.0], (7, 1)))
    # The others are as they were.
    others = ~np.isin(world.handles(), some)
    for name, column in values(world).items():
        np.testing.assert_array_equal(column[others], before[name][others], err_msg=name)
    # Getters hand out copies.
    world.mass()[:] = 0.0
    world.mask()[:] = 0
    np.testing.assert_array_equal(world.mass(some), fresh["mass"])
    # One for all.
    world.set_static(some, False)
    world.set_kinematic(some, True)
    world.set_friction(some, 0.25)
    world.set_inertia(some, [1.0, 1.0, 1.5])
    assert world.kinematic(some).all()
    assert (world.friction(some) == 0.25).all()
    np.testing.assert_array_equal(world.inertia(some), np.tile(np.diag([1.0, 1.0, 1.5]), (7, 1, 1)))
    world.set_mask(some[0], 2**64 - 1)
    assert world.mask(some[0]).tolist() == [-1]


def test_masses_take_the_inertia_along() -> None:
    world = thud.World()
    handles = world.add_many([BOX, MESH, BALL], np.tile([0.0, 0, 0, 1, 0, 0, 0], (3, 1)))
    world.set_mass(handles, [1.0, 2.0, 3.0])
    for k, shape in enumerate((BOX, MESH, BALL)):
        np.testing.assert_allclose(world.inertia(handles[k])[0], shape.inertia(k + 1.0))
        np.testing.assert_array_equal(world.center_of_mass(handles[k])[0], shape.centroid)
    world.set_mass(handles, 5.0)
    np.testing.assert_allclose(world.inertia(handles[1])[0], MESH.inertia(5.0))
    world.set_mass(handles[0], None)
    assert np.isnan(world.mass(handles[0])).all()
    assert np.isnan(world.inertia(handles[0])).all()
    world.set_center_of_mass(handles[0], [1.0, 0, 0])
    world.set_mass(handles[0], 2.0)
    np.testing.assert_array_equal(world.center_of_mass(handles[0]), [[1.0, 0, 0]])
    # A half-space has no moments, an open mesh those of a shell.
    plane = world.add(thud.HalfSpace([0.0, 0, 1]), mass=4.0)
    assert np.isnan(world.inertia(plane)).all()
    sheet = thud.TriangleMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    np.testing.assert_array_equal(world.inertia(world.add(sheet, mass=2.0))[0], sheet.inertia(2.0))


def test_rules_change_who_meets() -> None:
    world = thud.World()
    a, b = world.add_many(BALL, thud.Pose([[0.0, 0, 0], [0.6, 0, 0]])).tolist()
    assert len(world.pairs()) == 1
    world.set_static([a, b], True)
    assert len(world.pairs()) == 0
    world.set_static(b, False)
    assert len(world.pairs()) == 1
    world.set_layer(b, 3)
    world.set_mask(a, ~0b1000)
    assert len(world.pairs()) == 0
    assert world.raycast([0.6, 0, 5], [0, 0, -1], mask=0b1000).handle.tolist() == [b]
    world.set_mask(a, ~0)
    assert len(world.intersecting()) == 1


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"friction": -0.1}, "friction: row 0 is negative"),
        ({"friction": np.nan}, "friction"),
        ({"restitution": 1.1}, "restitution: row 0 is not between 0 and 1"),
        ({"density": 0.0}, "density: row 0 is not positive"),
        ({"density": 10.0, "mass": 1.0}, "mass, density: expected one of the two"),
        ({"inertia": [1.0, 1, 1]}, "inertia: expected it together with mass or density"),
        ({"mass": 1.0, "inertia": [1.0, 1, 3]}, "inertia: row 0 has a principal moment above the sum"),
        ({"mass": 1.0, "inertia": [1.0, 1, 0]}, "inertia: row 0 is not positive definite"),
        ({"mass": 1.0, "inertia": [[1.0, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "inertia: row 0 is not symmetric"),
        ({"mass": 1.0, "inertia": np.ones((2, 3))}, "inertia: expected"),
        ({"mass": 1.0, "inertia": "a"}, "inertia"),
        ({"center_of_mass": [1.0, 2]}, "center_of_mass: expected shape"),
        ({"center_of_mass": [np.inf, 0, 0]}, "center_of_mass: row 0 is not finite"),
        ({"kinematic": True, "static": True}, "kinematic: row 0 is static too"),
        ({"kinematic": "no"}, "kinematic"),
    ],
    ids=str,
)
def test_what_a_body_cannot_be(wrong: dict[str, Any], text: str) -> None:
    world = thud.World()
    with pytest.raises(InvalidInputError, match=text):
        world.add(BALL, **wrong)
    assert len(world) == 0
    world.add(BALL)
    assert np.isnan(world.mass()).all()


def test_what_ground_cannot_be() -> None:
    world = thud.World()
    sheet = thud.TriangleMesh(*(lambda v, f: (v, f[1:]))(*box_faces(1.0)))
    for wrong in ({"density": 5.0}, {"kinematic": True}, {"center_of_mass": [0.0, 0, 0]}, {"mass": 1.0}):
        for add in (lambda w=wrong: world.add(GROUND, **w), lambda w=wrong: world.add_many([BALL, GROUND], None, **w)):
            with pytest.raises(InvalidInputError, match=next(iter(wrong))):
                add()
    with pytest.raises(InvalidShapeError, match="open edges"):
        world.add(sheet, density=1.0)
    with pytest.raises(InvalidShapeError, match="density: row 1: shape: a mesh with 3 open edges"):
        world.add_many([BALL, sheet], None, density=1.0)
    with pytest.raises(UnboundedShapeError, match="HalfSpace"):
        world.add(thud.HalfSpace([0.0, 0, 1]), density=1.0)
    assert len(world) == 0
    ground, ball = world.add(GROUND, friction=0.9, restitution=0.2), world.add(BALL)
    both = [ball, ground]
    for call, text in (
        (lambda: world.set_static(both, False), "static: row 1 is a DisplacedSurface, a Terrain or a HeightField"),
        (lambda: world.set_kinematic(both, True), "kinematic: row 1"),
        (lambda: world.set_mass(both, 1.0), "mass: row 1"),
        (lambda: world.set_inertia(both, [1.0, 1, 1]), "inertia: row 1"),
        (lambda: world.set_center_of_mass(both, [1.0, 1, 1]), "center_of_mass: row 1"),
        (lambda: world.set_velocities(both, [1.0, 0, 0]), "velocity: row 1"),
        (lambda: world.set_velocities(both, [0.0, 0, 0], [1.0, 0, 0]), "angular_velocity: row 1"),
        (lambda: world.set_inertia(ball, [1.0, 1, 1]), "inertia: row 0 has no mass"),
        (lambda: world.set_friction(both, [1.0, 2, 3]), "friction: expected one or 2 rows, got 3"),
        (lambda: world.set_friction(both, [1.0, -2]), "friction: row 1 is negative"),
        (lambda: world.set_layer(both, 64), "layer"),
        (lambda: world.set_mask(both, 1.5), "mask"),
        (lambda: world.set_static(both, "a"), "static"),
        (lambda: world.set_mass(ball, [[1.0]]), "mass"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            call()
    assert world.friction(ground).tolist() == [0.9]
    world.set_static(ball, True)
    with pytest.raises(InvalidInputError, match=r"kinematic: row 0 is static; set_static"):
        world.set_kinematic(ball, True)
    world.set_static(ball, False)
    world.set_kinematic(ball, True)
    with pytest.raises(InvalidInputError, match=r"static: row 0 is kinematic; set_kinematic"):
        world.set_static(ball, True)
    world.remove(ball)
    for name in COLUMNS:
        with pytest.raises(StaleHandleError):
            getattr(world, name)(ball)


def test_saving_keeps_the_columns() -> None:
    rng = np.random.default_rng(4)
    world = thud.World()
    handles = world.add_many(
        [BALL, BOX, MESH] * 5, np.tile([0.0, 0, 0, 1, 0, 0, 0], (15, 1)), density=rng.uniform(1, 9, 15),
        friction=rng.uniform(0, 1, 15), restitution=rng.uniform(0, 1, 15), kinematic=rng.random(15) < 0.5,
        layer=rng.integers(0, 64, 15), mask=rng.integers(-(2**63), 2**63, 15),
    )  # fmt: skip
    world.add(GROUND, friction=0.1)
    world.set_center_of_mass(handles[::2], rng.normal(size=(8, 3)))
    world.set_mass(handles[3], None)
    world.remove(handles[4:6])
    state = world.state()
    again = thud.World.from_state(state)
    for name, column in values(world).items():
        assert column.tobytes() == values(again)[name].tobytes(), name
    for name, wrong in (
        ("inertia", np.inf), ("inertia", -1.0), ("friction", -1.0), ("friction", np.nan), ("restitution", 2.0),
        ("center_of_mass", np.inf),
    ):  # fmt: skip
        bad = {key: value.copy() if isinstance(value, np.ndarray) else value for key, value in state.items()}
        bad[name][0] = wrong
        with pytest.raises(ThudError, match=name):
            thud.World.from_state(bad)
    for name in ("inertia", "friction", "kinematic"):
        with pytest.raises(ThudError, match=name):
            thud.World.from_state({key: value for key, value in state.items() if key != name})
    bad = dict(state) | {"kinematic": np.ones_like(state["kinematic"])}
    with pytest.raises(ThudError, match="kinematic"):
        thud.World.from_state(bad)
