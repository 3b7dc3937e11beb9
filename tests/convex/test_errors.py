"""Bad input: a named error that says which argument, which row and what was expected, before any kernel runs."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError, InvalidShapeError, ThudError, UnboundedShapeError, UnsupportedQueryError

S, B = thud.Sphere(1.0), thud.Box([1, 1, 1])
H = thud.ConvexHull(np.random.default_rng(0).normal(size=(20, 3)))
TWO, THREE = np.tile(np.eye(4), (2, 1, 1)), np.tile(np.eye(4), (3, 1, 1))
PAIRS = thud.distance_pairs
NAN_ROW = [[0.0, 0, 0], [0, np.nan, 0]]

CASES: list[tuple[Callable[[], object], type[Exception], list[str]]] = [
    # Shapes
    (lambda: thud.Sphere(0.0), InvalidInputError, ["radius", "positive"]),
    (lambda: thud.Sphere(np.nan), InvalidInputError, ["radius", "finite"]),
    (lambda: thud.Sphere("big"), InvalidInputError, ["radius", "numbers"]),  # type: ignore[arg-type]
    (lambda: thud.Sphere([1, 2]), InvalidInputError, ["radius"]),  # type: ignore[arg-type]
    (lambda: thud.Box([1, 0, 1]), InvalidInputError, ["half_extents", "positive"]),
    (lambda: thud.Box([1, 1]), InvalidInputError, ["half_extents", "(3,)"]),
    (lambda: thud.Capsule(1.0, -1.0), InvalidInputError, ["half_length"]),
    (lambda: thud.Cylinder(1.0, 0.0), InvalidInputError, ["half_length"]),
    (lambda: thud.Cone(np.inf, 1.0), InvalidInputError, ["radius", "finite"]),
    (lambda: thud.Ellipsoid([1, 1, -1]), InvalidInputError, ["radii", "positive"]),
    (lambda: thud.HalfSpace([0, 0, 0]), InvalidInputError, ["normal", "zero"]),
    (lambda: thud.HalfSpace([0, 0, 1], [1, 2]), InvalidInputError, ["offset"]),  # type: ignore[arg-type]
    (lambda: thud.HalfSpace([0, 0, 1]).centroid, UnboundedShapeError, ["HalfSpace", "centroid"]),
    (lambda: thud.HalfSpace([0, 0, 1]).inertia(), UnboundedShapeError, ["HalfSpace", "inertia"]),
    (lambda: thud.ConvexHull(np.zeros((3, 3))), InvalidShapeError, ["points", "at least 4"]),
    (lambda: thud.ConvexHull(np.zeros((5, 3))), InvalidShapeError, ["points", "coincide"]),
    (lambda: thud.ConvexHull([[0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]]), InvalidShapeError, ["points", "volume"]),
    (lambda: thud.ConvexHull(NAN_ROW), InvalidInputError, ["points", "row 1"]),
    (lambda: thud.Compound([]), InvalidShapeError, ["shapes", "at least one"]),
    (lambda: thud.Compound([S, "x"]), InvalidInputError, ["shapes", "row 1", "str"]),  # type: ignore[list-item]
    (lambda: thud.Compound([S, S], np.eye(4)), InvalidInputError, ["poses", "one pose a shape (2)"]),
    (lambda: thud.Compound([S, thud.HalfSpace([0, 0, 1])]).centroid, UnboundedShapeError, ["Compound", "centroid"]),
    # Queries
    (lambda: thud.distance(S, "x"), InvalidInputError, ["b:", "thud shape", "str"]),  # type: ignore[arg-type]
    (lambda: thud.distance(S, S, TWO, THREE), InvalidInputError, ["pose_a, pose_b", "2", "3"]),
    (lambda: thud.distance(S, S, max_distance=-1), InvalidInputError, ["max_distance"]),
    (lambda: thud.distance(S, S, max_distance=np.nan), InvalidInputError, ["max_distance"]),
    (lambda: thud.distance(S, S, axes=[[0, 0, 1]] * 2), InvalidInputError, ["axes", "1"]),
    (lambda: thud.distance(S, S, threads=0), InvalidInputError, ["threads", "at least 1"]),
    (lambda: thud.distance(H, B, method="chung_wang"), UnsupportedQueryError, ["distance", "chung_wang", "gjk, v_clip"]),
    (lambda: thud.distance(H, S, method="v_clip"), UnsupportedQueryError, ["v_clip", "Sphere", "gjk"]),
    (lambda: thud.intersects(H, H, method="epa"), UnsupportedQueryError, ["intersects", "epa", "chung_wang"]),
    (lambda: thud.intersects(H, thud.Compound([B]), method="v_clip"), UnsupportedQueryError, ["Compound"]),
    (lambda: thud.contacts(S, S, margin=-1.0), InvalidInputError, ["margin"]),
    (lambda: thud.contacts(S, S, max_points=9), InvalidInputError, ["max_points", "1 to 8"]),
    (lambda: thud.cast(S, S, motion_a=NAN_ROW), InvalidInputError, ["motion_a", "row 1"]),
    (lambda: thud.cast(S, S, motion_b=[0, 0, 1, 0]), InvalidInputError, ["motion_b", "(N, 6)", "(4,)"]),
    (lambda: thud.cast(S, S, motion_b=np.zeros((1, 2, 6))), InvalidInputError, ["motion_b", "(1, 2, 6)"]),
    (lambda: thud.cast(S, S, motion_b=[0, 0, 1, 0, np.nan, 1]), InvalidInputError, ["motion_b", "nan"]),
    (lambda: thud.cast(S, S, motion_a=[0, 0, 1, 0, 0, 1e7]), InvalidInputError, ["motion_a", "row 0", "radians"]),
    (lambda: thud.cast(S, S, motion_a=np.ones((2, 3)), motion_b=np.ones((3, 3))), InvalidInputError, ["motion_a", "motion_b"]),
    (lambda: thud.raycast(S, NAN_ROW, [0, 0, 1]), InvalidInputError, ["origins", "row 1"]),
    (lambda: thud.raycast(S, [0, 0, 0], [[0, 0, 1], [0, 0, 0]]), InvalidInputError, ["directions", "row 1", "zero"]),
    (lambda: thud.raycast(S, np.ones((2, 3)), np.ones((3, 3))), InvalidInputError, ["origins", "directions"]),
    (lambda: thud.contains(S, np.ones((2, 2))), InvalidInputError, ["points", "(N, 3)"]),
    (lambda: thud.contains(S, np.ones((0, 2))), InvalidInputError, ["points", "(N, 3)"]),
    (lambda: thud.closest_point(S, NAN_ROW), InvalidInputError, ["points", "row 1"]),
    (lambda: thud.closest_point("x", [0, 0, 0]), InvalidInputError, ["shape", "str"]),  # type: ignore[arg-type]
    # "no" is a yes to Python.
    (lambda: thud.distance(S, S, signed="no"), InvalidInputError, ["signed", "str"]),  # type: ignore[arg-type]
    (lambda: thud.closest_point(S, [0, 0, 0], signed="no"), InvalidInputError, ["signed", "str"]),  # type: ignore[arg-type]
    (lambda: thud.prepare(S, S).distance(None, None, signed=3), InvalidInputError, ["signed", "True or False"]),  # type: ignore[arg-type]
    (lambda: PAIRS([S, S], [[0, 1]], np.zeros(3), signed="no"), InvalidInputError, ["signed", "str"]),  # type: ignore[arg-type]
    (lambda: thud.World().distances(signed="no"), InvalidInputError, ["signed", "str"]),  # type: ignore[arg-type]
    (lambda: thud.prepare(S, 3), InvalidInputError, ["b", "expected a thud shape", "int"]),  # type: ignore[arg-type]
    # Pairs
    (lambda: PAIRS([], [[0, 0]], np.eye(4)), InvalidInputError, ["shapes", "at least one"]),
    (lambda: PAIRS([S], [[0, 1]], np.eye(4)), InvalidInputError, ["pairs", "row 0", "0 to 0"]),
    (lambda: PAIRS([S], [[0, -1]], np.eye(4)), InvalidInputError, ["pairs", "row 0"]),
    (lambda: PAIRS([S], [[0.0, 0.0]], np.eye(4)), InvalidInputError, ["pairs", "whole numbers"]),
    (lambda: PAIRS([S, S], [[0, 1]], np.eye(4)), InvalidInputError, ["poses", "one pose a shape (2)"]),
]  # fmt: skip


@pytest.mark.parametrize(("call", "error", "words"), CASES, ids=[str(k) for k in range(len(CASES))])
def test_bad_input_is_named(call: Callable[[], object], error: type[Exception], words: list[str]) -> None:
    with pytest.raises(error) as caught:
        call()
    assert isinstance(caught.value, ThudError)
    for word in words:
        assert word in str(caught.value)


def test_no_pairs_is_no_error() -> None:
    empty = PAIRS([S], np.empty((0, 2), dtype=int), np.eye(4))
    assert empty.distance.shape == (0,)


def test_two_half_spaces() -> None:
    up, down = thud.HalfSpace([0, 0, 1]), thud.HalfSpace([0, 0, -1])
    deep = thud.distance(up, thud.HalfSpace([0, 1, 1]), signed=True)
    assert deep.distance[0] == -np.inf
    assert deep.status[0] == thud.Status.OVERLAPPING
    assert np.isfinite(deep.point_a).all()
    assert np.isfinite(deep.point_b).all()
    apart = thud.distance(up, down, None, [0, 0, 2, 1, 0, 0, 0], signed=True)
    np.testing.assert_allclose(apart.distance, 2.0)
    facing = thud.distance(up, down, None, [0, 0, -2, 1, 0, 0, 0], signed=True)
    np.testing.assert_allclose(facing.distance, -2.0)
    assert len(thud.contacts(up, thud.HalfSpace([0, 1, 1])).depth) == 0
    assert thud.HalfSpace([0, 0, 1]).volume == np.inf
