"""No rows in, no rows out: a masked batch may be empty, whatever the shapes and whichever argument it is."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

import thud
from thud.terrain import from_heights

CORNERS = np.array([[x, y, z] for x in (-0.6, 0.6) for y in (-0.7, 0.7) for z in (-0.5, 0.5)])
SIDES = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4]]
MESH = thud.TriangleMesh(CORNERS, [*SIDES, [1, 5, 7], [1, 7, 3]])
GROUND = from_heights(np.zeros((5, 5)), 0.5).surface
SHAPES = {
    "sphere": thud.Sphere(0.5),
    "box": thud.Box((0.3, 0.4, 0.5)),
    "hull": thud.ConvexHull(CORNERS),
    "cone": thud.Cone(0.5, 0.6),
    "plane": thud.HalfSpace((0.0, 0.0, 1.0), -2.0),
    "parts": thud.Compound([thud.Sphere(0.4), thud.Box((0.2, 0.2, 0.2))], thud.Pose([[0.0, 0, 0], [1.0, 0, 0]])),
    "mixed": thud.Compound([MESH, thud.Sphere(0.4)], thud.Pose([[0.0, 0, 0], [1.0, 0, 0]])),
    "mesh": MESH,
    "ground": GROUND,
    "field": thud.HeightField(np.zeros((5, 5)), 0.5, (-1.0, -1.0, 0.0), thickness=0.5),
    "endless": thud.HeightField(np.zeros((5, 5), np.float32), 0.5, (-1.0, -1.0, 0.0)),
}
NO_POSES = {
    "rows of 7": np.empty((0, 7)),
    "matrices": np.empty((0, 4, 4), np.float32),
    "pose": thud.Pose(np.empty((0, 3)), np.empty((0, 4))),
    "picked": thud.Pose(np.zeros((3, 3)))[np.zeros(3, bool)],
}
NO_POINTS = np.empty((0, 3))


def rows_of(answer: object) -> set[int]:
    """Lengths of all arrays of an answer."""
    if isinstance(answer, np.ndarray):
        return {len(answer)}
    return {len(getattr(answer, field.name)) for field in dataclasses.fields(answer)}  # type: ignore[arg-type]


def pair_queries() -> dict[str, object]:
    return {
        "intersects": thud.intersects,
        "distance": thud.distance,
        "signed": lambda *given: thud.distance(*given, signed=True),
        "contacts": thud.contacts,
        "cast": lambda *given: thud.cast(*given, motion_b=(1.0, 0.0, 0.0)),
        "turning cast": lambda *given: thud.cast(*given, motion_b=(1.0, 0.0, 0.0, 0.1, 0.2, 0.3)),
        "triangle pairs": thud.triangle_pairs,
    }


@pytest.mark.parametrize("query", list(pair_queries()))
@pytest.mark.parametrize(("a", "b"), list(itertools.product(SHAPES, SHAPES)))
def test_pairs(query: str, a: str, b: str) -> None:
    ask = pair_queries()[query]
    try:
        ask(SHAPES[a], SHAPES[b], None, thud.Pose([0.3, 0.2, 0.1]))  # type: ignore[operator]
    except thud.errors.ThudError as error:
        # What is refused for one row is refused for none.
        with pytest.raises(type(error)):
            ask(SHAPES[a], SHAPES[b], None, np.empty((0, 7)))  # type: ignore[operator]
        return
    for none in NO_POSES.values():
        assert rows_of(ask(SHAPES[a], SHAPES[b], None, none)) == {0}  # type: ignore[operator]
        assert rows_of(ask(SHAPES[a], SHAPES[b], none, none)) == {0}  # type: ignore[operator]
        assert rows_of(ask(SHAPES[a], SHAPES[b], none, None)) == {0}  # type: ignore[operator]


@pytest.mark.parametrize("name", SHAPES)
def test_points_and_rays(name: str) -> None:
    shape, along = SHAPES[name], [0.0, 0.6, 0.8]
    for none in NO_POSES.values():
        assert rows_of(thud.raycast(shape, [0.0, 0, 0], along, pose=none)) == {0}
        assert rows_of(thud.raycast_all(shape, [0.0, 0, 0], along, pose=none)) == {0}
        assert rows_of(thud.closest_point(shape, [0.0, 0, 0], pose=none)) == {0}
        assert rows_of(thud.contains(shape, [0.0, 0, 0], pose=none)) == {0}
    assert rows_of(thud.raycast(shape, NO_POINTS, along)) == {0}
    assert rows_of(thud.raycast(shape, [0.0, 0, 0], NO_POINTS)) == {0}
    assert rows_of(thud.raycast_all(shape, NO_POINTS, NO_POINTS)) == {0}
    assert rows_of(thud.closest_point(shape, NO_POINTS)) == {0}
    assert rows_of(thud.contains(shape, NO_POINTS)) == {0}
    assert len(shape.bounds(np.empty((0, 7))).lower) == 0


def test_options_with_no_rows() -> None:
    box, mesh = SHAPES["box"], MESH
    none = np.empty((0, 7))
    assert rows_of(thud.distance(box, box, None, none, axes=NO_POINTS)) == {0}
    assert rows_of(thud.distance(box, box, None, none, method="v_clip")) == {0}
    assert rows_of(thud.intersects(box, box, None, none, method="chung_wang")) == {0}
    cache = thud.PairCache()
    for _ in range(2):
        assert rows_of(thud.distance(mesh, mesh, None, none, cache=cache)) == {0}
        assert rows_of(thud.intersects(mesh, mesh, None, none, cache=cache)) == {0}
    for method in ("ray", "grid", "winding"):
        assert rows_of(thud.contains(mesh, NO_POINTS, method=method)) == {0}
    assert rows_of(thud.cast(box, box, None, None, NO_POINTS, 0.0)) == {0}
    assert rows_of(thud.cast(box, mesh, None, None, np.empty((0, 6)), 0.0)) == {0}


def test_pairs_of_a_list() -> None:
    shapes = list(SHAPES.values())
    poses, pairs = np.tile([0.0, 0, 0, 1, 0, 0, 0], (len(shapes), 1)), np.empty((0, 2), np.int64)
    assert rows_of(thud.intersects_pairs(shapes, pairs, poses)) == {0}
    assert rows_of(thud.distance_pairs(shapes, pairs, poses)) == {0}
    assert rows_of(thud.contacts_pairs(shapes, pairs, poses)) == {0}


def test_worlds() -> None:
    world = thud.World()
    assert len(world.add_many(thud.Box((1, 1, 1)), np.empty((0, 7)))) == 0
    assert len(world.pairs()) == 0
    assert rows_of(world.raycast(NO_POINTS, NO_POINTS)) == {0}
    world.add(thud.Sphere(1.0))
    assert rows_of(world.raycast(NO_POINTS, [1.0, 0, 0])) == {0}
    world.set_poses([], np.empty((0, 7)))
    world.remove([])


def test_an_empty_shape_is_an_error() -> None:
    for make in (
        lambda: thud.ConvexHull(NO_POINTS),
        lambda: thud.TriangleMesh(NO_POINTS, np.empty((0, 3), np.int64)),
        lambda: thud.Compound([]),
    ):
        with pytest.raises(thud.errors.ThudError):
            make()
    with pytest.raises(thud.errors.InvalidInputError, match="one pose, got 0"):
        thud.prepare(SHAPES["box"], SHAPES["box"]).intersects(None, np.empty((0, 7)))
    with pytest.raises(thud.errors.InvalidInputError, match="one pose, got 2"):
        thud.prepare(SHAPES["box"], MESH).distance(None, thud.Pose(np.zeros((2, 3))))
