"""One pair at one pose goes a shorter way from Python to the kernels. Its answer has the bytes of the same row of a batch."""

from __future__ import annotations

import copy
import dataclasses
import gc
import itertools
import pickle
import weakref

import numpy as np
import pytest

import thud

RNG = np.random.default_rng(1)
SHAPES = {
    "sphere": thud.Sphere(0.5),
    "box": thud.Box((0.3, 0.4, 0.5)),
    "hull": thud.ConvexHull(RNG.normal(size=(30, 3)) * 0.4),
    "large hull": thud.ConvexHull(RNG.normal(size=(400, 3)) * 0.3),
    "cone": thud.Cone(0.5, 0.6),
    "capsule": thud.Capsule(0.2, 0.4),
    "cylinder": thud.Cylinder(0.4, 0.3),
    "ellipsoid": thud.Ellipsoid((0.3, 0.4, 0.6)),
    "plane": thud.HalfSpace((0.0, 0.6, 0.8), -0.3),
}
COUNT = 12


def poses() -> thud.Pose:
    return thud.Pose.from_rotation_vector(RNG.uniform(-0.8, 0.8, (COUNT, 3)), RNG.normal(size=(COUNT, 3)))


A, B = poses(), poses()


def same_bytes(one: object, many: object, row: int) -> None:
    for field in dataclasses.fields(many):  # type: ignore[arg-type]
        x, y = getattr(one, field.name), getattr(many, field.name)
        y = y[many.row == row] - (row if field.name == "row" else 0) if hasattr(many, "row") and len(y) != COUNT else y[[row]]
        assert x.dtype == y.dtype
        assert x.shape == y.shape
        assert x.tobytes() == y.tobytes(), field.name


@pytest.mark.parametrize(("a", "b"), list(itertools.product(SHAPES, SHAPES)))
def test_one_call_has_the_bytes_of_a_batch(a: str, b: str) -> None:
    shape_a, shape_b = SHAPES[a], SHAPES[b]
    pair = thud.prepare(shape_a, shape_b)
    hit = thud.intersects(shape_a, shape_b, A, B)
    apart, deep = thud.distance(shape_a, shape_b, A, B), thud.distance(shape_a, shape_b, A, B, signed=True)
    few = thud.contacts(shape_a, shape_b, A, B, margin=0.1, max_points=3)
    # As many contacts as rows would hide which are meant.
    touching = thud.contacts(shape_a, shape_b, A, B, margin=0.1)
    for row in range(COUNT):
        at, seven = (A[row], B[row]), np.concatenate([B[row].position, B[row].quaternion])
        assert thud.intersects(shape_a, shape_b, *at).tobytes() == hit[[row]].tobytes()
        same_bytes(thud.distance(shape_a, shape_b, *at), apart, row)
        same_bytes(thud.distance(shape_a, shape_b, *at, signed=True), deep, row)
        assert pair.intersects(*at).tobytes() == hit[[row]].tobytes()
        same_bytes(pair.distance(*at), apart, row)
        same_bytes(pair.distance(*at, signed=True), deep, row)
        for found, whole in (
            (thud.contacts(shape_a, shape_b, *at, margin=0.1), touching),
            (thud.contacts(shape_a, shape_b, *at, margin=0.1, max_points=3), few),
            (pair.contacts(*at, margin=0.1), touching),
        ):
            own = whole.row == row
            for name in ("point", "normal", "depth", "feature", "patch"):
                assert getattr(found, name).tobytes() == getattr(whole, name)[own].tobytes(), name
            assert found.status.tobytes() == whole.status[[row]].tobytes()
            assert (found.row == 0).all()
        np.testing.assert_allclose(thud.distance(shape_a, shape_b, A[row], seven).distance, apart.distance[[row]], atol=1e-9)


def test_answers_of_one_row_are_answers_like_others() -> None:
    one, many = thud.contacts(SHAPES["box"], SHAPES["box"]), thud.distance(SHAPES["box"], SHAPES["cone"], None, B[0])
    for answer, kind in ((one, thud.Contacts), (many, thud.Distances)):
        assert isinstance(answer, kind)
        for other in (
            pickle.loads(pickle.dumps(answer)),
            copy.copy(answer),
            copy.deepcopy(answer),
            dataclasses.replace(answer),
        ):
            assert type(other) is kind
            for field in dataclasses.fields(kind):
                np.testing.assert_array_equal(getattr(other, field.name), getattr(answer, field.name))
        with pytest.raises(dataclasses.FrozenInstanceError):
            answer.status = None  # type: ignore[misc]


def test_each_answer_is_its_own() -> None:
    first = thud.intersects(SHAPES["box"], SHAPES["box"])
    first[0] = False
    assert thud.intersects(SHAPES["box"], SHAPES["box"])[0]
    apart = thud.distance(SHAPES["box"], SHAPES["cone"], None, B[0])
    kept = apart.point_a.copy()
    apart.point_a[:] = 0.0
    np.testing.assert_array_equal(thud.distance(SHAPES["box"], SHAPES["cone"], None, B[0]).point_a, kept)


def test_a_query_does_not_keep_a_mesh() -> None:
    # The cache of plain pairs remembered that a mesh is none, and with that the mesh and all its trees.
    mesh = thud.TriangleMesh(np.eye(3), [[0, 1, 2]])
    gone = weakref.ref(mesh)
    thud.intersects(mesh, mesh)
    thud.distance(mesh, mesh, None, thud.Pose([9.0, 0, 0]))
    del mesh
    gc.collect()
    assert gone() is None
