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
from thud.convex.prepared import _MOST_KEPT, _kept
from thud.errors import InvalidInputError

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


SEVEN = np.concatenate([B[0].position, B[0].quaternion])
FORMS = {
    "seven": SEVEN,
    "matrix": B[0].matrix,
    "list": SEVEN.tolist(),
    "float32": SEVEN.astype(np.float32),
    "strided": np.repeat(SEVEN, 2)[::2],
    "read-only": SEVEN.copy(),
    "other byte order": SEVEN.astype(">f8"),
    "none": None,
}
FORMS["read-only"].flags.writeable = False


@pytest.mark.parametrize("form", FORMS)
def test_a_pose_of_any_form_has_the_bytes_of_a_batch_of_it(form: str) -> None:
    pose, box, hull = FORMS[form], SHAPES["box"], SHAPES["hull"]
    # Two equal rows go the long way.
    many = None if pose is None else np.array([pose, pose])
    twice = np.array([SEVEN, SEVEN])
    for one, two in (((pose, SEVEN), (many, twice)), ((SEVEN, pose), (twice, many))):
        assert thud.intersects(box, hull, *one).tobytes() == thud.intersects(box, hull, *two)[:1].tobytes()
        short, long = thud.distance(box, hull, *one, signed=True), thud.distance(box, hull, *two, signed=True)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            assert getattr(short, name).tobytes() == getattr(long, name)[:1].tobytes(), name
        touch, touches = thud.contacts(box, hull, *one, margin=0.2), thud.contacts(box, hull, *two, margin=0.2)
        own = touches.row == 0
        for name in ("point", "normal", "depth", "feature", "patch"):
            assert getattr(touch, name).tobytes() == getattr(touches, name)[own].tobytes(), name


def no_poses() -> list[np.ndarray]:
    nan, long, mirror, sheared, far = SEVEN.copy(), SEVEN.copy(), np.eye(4), np.eye(4), SEVEN.copy()
    nan[1], long[3:], mirror[0, 0], sheared[3, 0], far[0] = np.nan, 2.0, -1.0, 0.5, 1e40
    return [nan, long, mirror, sheared, far, np.full((4, 4), np.nan), np.zeros(7), np.zeros((4, 4))]


@pytest.mark.parametrize("number", range(len(no_poses())))
def test_what_is_no_pose_is_refused_in_the_gates_own_words(number: int) -> None:
    wrong, box = no_poses()[number], SHAPES["box"]
    for query in (thud.intersects, thud.distance, thud.contacts):
        with pytest.raises(InvalidInputError) as batch:
            query(box, box, None, np.array([SEVEN if wrong.ndim == 1 else B[0].matrix, wrong]))
        for answer, name in ((query, "pose_b"), (getattr(thud.prepare(box, box), query.__name__), "pose_b")):
            with pytest.raises(InvalidInputError) as one:
                answer(box, box, None, wrong) if answer is query else answer(None, wrong)
            assert type(one.value) is type(batch.value)
            assert str(one.value) == str(batch.value).replace("row 1", "row 0")
            assert name in str(one.value)


def test_pairs_are_kept_up_to_a_limit_and_never_mixed_up() -> None:
    # By ids, which a new shape may have from one that is gone: a kept pair keeps its shapes.
    for size in range(1, 1000):
        ball = thud.Sphere(float(size))
        found = thud.distance(ball, ball, None, thud.Pose([3000.0, 0.0, 0.0]))
        assert found.distance[0] == 3000.0 - 2.0 * size
    assert len(_kept) <= _MOST_KEPT


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
