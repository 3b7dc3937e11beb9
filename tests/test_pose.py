"""Poses: every accepted form means the same rigid motion, and what is not one is refused by name and row."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.spatial.transform import Rotation, Slerp

import thud
from thud.errors import InvalidInputError, InvalidPoseError
from thud.pose import as_poses


def random_pose(rng: np.random.Generator, count: int) -> thud.Pose:
    q = rng.normal(size=(count, 4))
    return thud.Pose(rng.normal(size=(count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))


def test_all_forms_agree() -> None:
    pose = random_pose(np.random.default_rng(0), 50)
    rows = np.concatenate([pose.position, pose.quaternion], axis=1)
    np.testing.assert_allclose(as_poses(rows, "p"), pose.rows, atol=1e-15)
    np.testing.assert_allclose(as_poses(pose.matrix, "p"), pose.rows, atol=1e-15)
    np.testing.assert_allclose(as_poses(rows[0], "p"), pose.rows[:1], atol=1e-15)
    np.testing.assert_allclose(as_poses(pose.matrix[0], "p"), pose.rows[:1], atol=1e-15)
    np.testing.assert_array_equal(as_poses(None, "p"), thud.Pose().rows)
    assert as_poses(pose, "p") is pose.rows


def test_rotation_turns_as_the_quaternion_says() -> None:
    # A quarter turn about z takes x to y.
    pose = thud.Pose([1, 2, 3], [np.sqrt(0.5), 0, 0, np.sqrt(0.5)])
    np.testing.assert_allclose(pose.rotation @ [1, 0, 0], [0, 1, 0], atol=1e-15)
    np.testing.assert_allclose(pose.matrix @ [1, 0, 0, 1], [1, 3, 3, 1], atol=1e-15)


def test_composition_and_inverse() -> None:
    rng = np.random.default_rng(1)
    a, b = random_pose(rng, 20), random_pose(rng, 20)
    np.testing.assert_allclose((a @ b).matrix, a.matrix @ b.matrix, atol=1e-14)
    np.testing.assert_allclose((a @ a.inverse()).matrix, np.tile(np.eye(4), (20, 1, 1)), atol=1e-14)
    np.testing.assert_allclose((a[0] @ b).matrix, a.matrix[0] @ b.matrix, atol=1e-14)


def test_quaternion_comes_back_in_every_branch() -> None:
    # One case for each of the four largest components.
    for q in ([1, 0.1, 0.2, 0.3], [0.1, 1, 0.2, 0.3], [0.1, 0.2, 1, 0.3], [0.1, 0.2, 0.3, 1], [0, 1, 0, 0], [0, 0, 0, 1]):
        unit = np.array(q) / np.linalg.norm(q)
        np.testing.assert_allclose(thud.Pose([0, 0, 0], unit).quaternion, unit, atol=1e-15)


def test_single_precision_input_is_let_in_and_made_exact() -> None:
    q = np.array([0.1, 0.2, 0.3, 0.4]) / np.sqrt(0.3)
    matrix = thud.Pose([0, 0, 0], q).matrix.astype(np.float32)
    rotation = as_poses(matrix, "p")[0, :9].reshape(3, 3)
    np.testing.assert_allclose(rotation @ rotation.T, np.eye(3), atol=1e-15)


def forms(rows: np.ndarray) -> dict[str, np.ndarray]:
    """The same poses in other types and layouts."""
    matrices = as_pose(rows).matrix
    wide = np.zeros((len(rows), 20))
    wide[:, 3:10] = rows
    return {
        "float64": rows,
        "float32": rows.astype(np.float32),
        "columns": np.asfortranarray(rows),
        "slice": wide[:, 3:10],
        "backwards": rows[::-1].copy()[::-1],
        "every other": np.repeat(rows, 2, axis=0)[::2],
        "big endian": rows.astype(">f8"),
        "read-only": read_only(rows),
        "list": rows.tolist(),  # type: ignore[dict-item]
        "matrices": matrices,
        "matrices, float32": matrices.astype(np.float32),
        "matrices, columns": np.asfortranarray(matrices),
        "matrices, transposed twice": np.swapaxes(np.swapaxes(matrices, 1, 2).copy(), 1, 2),
        "matrices, read-only": read_only(matrices),
        "masked, nothing hidden": np.ma.masked_array(rows, mask=False),
    }


def as_pose(rows: np.ndarray) -> thud.Pose:
    return thud.Pose(rows[:, :3], rows[:, 3:])


def read_only(array: np.ndarray) -> np.ndarray:
    copy = array.copy()
    copy.flags.writeable = False
    return copy


@pytest.mark.parametrize("form", list(forms(np.array([[0.0, 0, 0, 1, 0, 0, 0]]))))
@pytest.mark.parametrize("count", [1, 2, 3000])
def test_types_and_layouts(form: str, count: int) -> None:
    pose = random_pose(np.random.default_rng(2), count)
    rows = np.concatenate([pose.position, pose.quaternion], axis=1)
    given = forms(rows)[form]
    found = as_poses(given, "p")
    np.testing.assert_allclose(found, pose.rows, atol=3e-6 if "32" in form else 1e-15, rtol=0)
    turn = found[:, :9].reshape(-1, 3, 3)
    # The nearest rotation to a matrix in single precision is taken to first order (`ROTATION_SINGLE`).
    exact = 1e-13 if form == "matrices, float32" else 2e-15
    np.testing.assert_allclose(turn @ np.swapaxes(turn, 1, 2), np.tile(np.eye(3), (count, 1, 1)), atol=exact)
    assert found.flags.carray
    np.testing.assert_allclose(as_poses(given[0], "p"), found[:1], atol=1e-15)
    # The caller's array is not written to, nor kept.
    np.testing.assert_array_equal(forms(rows)[form], given)
    assert not np.shares_memory(found, np.asarray(given))


def test_the_last_row_of_many_is_looked_at_too() -> None:
    rows = np.tile([0.0, 0, 0, 1, 0, 0, 0], (5000, 1))
    rows[4999, 3] = 1.1
    for given in (rows, rows.astype(np.float32), np.asfortranarray(rows)):
        with pytest.raises(InvalidPoseError, match=r"p: row 4999 has length 1\.1.*unit quaternion wxyz"):
            as_poses(given, "p")
    matrices = np.tile(np.eye(4), (5000, 1, 1))
    matrices[4321, 0, 0] = -1.0
    for given in (matrices, matrices.astype(np.float32), np.asfortranarray(matrices)):
        with pytest.raises(InvalidPoseError, match=r"p: row 4321 is not a rigid motion.*determinant -1"):
            as_poses(given, "p")


@pytest.mark.parametrize("order", ["".join(o) for o in itertools.product("xyz", repeat=3) if o[0] != o[1] != o[2]])
def test_euler_angles_as_scipy_has_them(order: str) -> None:
    rng = np.random.default_rng(5)
    turn = Rotation.random(200, random_state=3)
    pose = thud.Pose.from_scipy(rng.normal(size=(200, 3)), turn)
    for each in (order, order.upper()):
        angles = turn.as_euler(each)
        np.testing.assert_allclose(thud.Pose.from_euler(pose.position, angles, each).rotation, turn.as_matrix(), atol=1e-14)
        np.testing.assert_allclose(pose.euler(each), angles, atol=1e-9)
        degrees = thud.Pose.from_euler((0, 0, 0), np.degrees(angles), each, degrees=True)
        np.testing.assert_allclose(degrees.euler(each, degrees=True), np.degrees(angles), atol=1e-6)
        # Gimbal lock: the angles are not determined, the rotation is.
        locked = rng.uniform(-3.0, 3.0, (100, 3))
        locked[:, 1] = rng.choice([0.0, np.pi] if order[0] == order[2] else [0.5 * np.pi, -0.5 * np.pi], 100)
        there = thud.Pose.from_euler((0, 0, 0), locked, each)
        np.testing.assert_allclose(thud.Pose.from_euler((0, 0, 0), there.euler(each), each).rotation, there.rotation, atol=1e-7)


def test_rotation_vectors_xyzw_and_scipy() -> None:
    rng = np.random.default_rng(6)
    turn, place = Rotation.random(500, random_state=4), rng.normal(size=(500, 3))
    pose = thud.Pose.from_xyzw(place, turn.as_quat())
    np.testing.assert_allclose(pose.rotation, turn.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(pose.to_scipy().as_matrix(), turn.as_matrix(), atol=1e-14)
    np.testing.assert_allclose(np.abs(np.einsum("ij,ij->i", pose.xyzw, turn.as_quat())), 1.0, atol=1e-14)
    assert (pose.xyzw[:, 3] >= 0.0).all()
    vectors = np.concatenate([turn.as_rotvec(), 1e-9 * rng.normal(size=(50, 3)), np.zeros((1, 3)), [[np.pi, 0, 0], [0, 30, 0]]])
    from_vectors = thud.Pose.from_rotation_vector((1, 2, 3), vectors)
    np.testing.assert_allclose(from_vectors.rotation, Rotation.from_rotvec(vectors).as_matrix(), atol=1e-14)
    np.testing.assert_allclose(from_vectors.rotation_vector[:550], vectors[:550], atol=1e-9)
    np.testing.assert_allclose(from_vectors.rotation_vector[500:550], vectors[500:550], rtol=1e-12)
    assert thud.Pose.from_rotation_vector((0, 0, 0), (0, 0, 1)).rotation_vector.shape == (3,)
    assert thud.Pose.from_euler((0, 0, 0), (0, 0, 1)).euler().shape == (3,)
    assert thud.Pose.from_scipy((0, 0, 0), turn[0]).xyzw.shape == (4,)


REFUSED = {
    "masked": np.ma.masked_array(np.tile([0.0, 0, 0, 1, 0, 0, 0], (3, 1)), mask=np.arange(21).reshape(3, 7) == 9),
    "complex": np.array([0, 0, 0, 1, 0, 0, 0j]),
    "objects": np.array([0.0, 0, 0, 1, 0, 0, None], dtype=object),
    "numbers as objects": np.array([0.0, 0, 0, 1, 0, 0, 0], dtype=object),
    "text": np.array(["0", "0", "0", "1", "0", "0", "0"]),
    "ragged": [[0.0, 0, 0, 1, 0, 0, 0], [1.0]],
    "too far": [2e30, 0, 0, 1, 0, 0, 0],
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_is_no_number_is_refused(kind: str) -> None:
    box = thud.Box((1, 1, 1))
    for ask in (
        lambda: thud.intersects(box, box, None, REFUSED[kind]),
        lambda: thud.World().add(box, REFUSED[kind]),
        lambda: thud.prepare(box, box).distance(REFUSED[kind], None),
    ):
        with pytest.raises(InvalidInputError) as caught:
            ask()
        assert "pose" in str(caught.value)
    if kind == "masked":
        with pytest.raises(InvalidInputError, match="row 1 is masked"):
            thud.intersects(box, box, None, REFUSED[kind])
        with pytest.raises(InvalidInputError, match="points: row 1 is masked"):
            thud.contains(box, REFUSED[kind][:, :3].copy())
    if kind == "complex":
        with pytest.raises(InvalidInputError, match="origins: expected numbers, got complex"):
            thud.raycast(box, [0j, 0, 0], [1, 0, 0])


def test_sizes_and_distances_beyond_the_limits_are_refused() -> None:
    for make in (
        lambda: thud.Sphere(1e60),
        lambda: thud.Sphere(1e-60),
        lambda: thud.Box((1, 1, 1e31)),
        lambda: thud.Ellipsoid((1e-31, 1, 1)),
        lambda: thud.Capsule(1, 1e40),
        lambda: thud.ConvexHull([[0, 0, 0], [1e40, 0, 0], [0, 1, 0], [0, 0, 1]]),
        lambda: thud.HalfSpace((0, 0, 1), 1e40),
        lambda: thud.Pose((1e100, 0, 0)),
        lambda: thud.raycast(thud.Sphere(1.0), [1e300, 0, 0], [-1, 0, 0]),
        lambda: thud.contains(thud.Sphere(1.0), [1e80, 0, 0]),
        lambda: thud.cast(thud.Sphere(1.0), thud.Sphere(1.0), None, None, [1e40, 0, 0]),
    ):
        with pytest.raises(InvalidInputError, match=r"1e\+?(30|75)|1e-30"):
            make()
    # Up to them all is well.
    far = thud.distance(thud.Sphere(1e29), thud.Box((1e29, 1e29, 1e29)), None, thud.Pose((9e29, 0, 0)))
    np.testing.assert_allclose(far.distance, 7e29)
    assert thud.intersects(thud.Sphere(1e-29), thud.Box((1e-29, 1e-29, 1e-29)), None, thud.Pose((1.9e-29, 0, 0))).all()
    assert not thud.intersects(thud.Sphere(1e-29), thud.Box((1e-29, 1e-29, 1e-29)), None, thud.Pose((2.1e-29, 0, 0))).any()


def test_a_velocity_is_one_vector() -> None:
    with pytest.raises(InvalidInputError, match=r"velocity: expected shape \(3,\)"):
        thud.World().add(thud.Sphere(1.0), velocity=np.zeros((2, 3)))


@pytest.mark.parametrize(
    ("pose", "error", "words"),
    [
        ([0, 0, np.nan, 1, 0, 0, 0], InvalidInputError, ["pose_a", "not finite"]),
        ([[0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1.1, 0, 0, 0]], InvalidPoseError, ["pose_a", "row 1", "unit quaternion"]),
        (np.zeros((3, 5)), InvalidInputError, ["pose_a", "(N,7)", "(3, 5)"]),
        (np.diag([1.0, 1, -1, 1]), InvalidPoseError, ["pose_a", "row 0", "right-handed"]),
        (np.diag([1.0, 2, 1, 1]), InvalidPoseError, ["pose_a", "row 0", "rigid"]),
        (np.array([np.eye(4), np.eye(4) + np.eye(4)[::-1]]), InvalidPoseError, ["pose_a", "row 1"]),
        ("here", InvalidInputError, ["pose_a", "numbers"]),
    ],
)
def test_what_is_no_pose_is_refused(pose: object, error: type[Exception], words: list[str]) -> None:
    sphere = thud.Sphere(1.0)
    with pytest.raises(error) as caught:
        thud.distance(sphere, sphere, pose, None)
    for word in words:
        assert word in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_points_are_moved_by_one_pose_and_by_many() -> None:
    rng = np.random.default_rng(3)
    many = thud.Pose.from_rotation_vector(rng.normal(size=(4, 3)), rng.normal(size=(4, 3)))
    points, each = rng.normal(size=(5, 3)), rng.normal(size=(4, 5, 3))
    for k, one in enumerate(many):
        by_hand = points @ Rotation.from_matrix(one.rotation).as_matrix().T + one.position
        np.testing.assert_allclose(one.apply(points), by_hand, atol=1e-12)
        np.testing.assert_allclose(one.apply(points[0]), by_hand[0], atol=1e-12)
        np.testing.assert_allclose(one.inverse().apply(one.apply(points)), points, atol=1e-12)
        np.testing.assert_allclose(many.apply(points[:4])[k], one.apply(points[k]), atol=1e-12)
        np.testing.assert_allclose(many.apply(points[0])[k], one.apply(points[0]), atol=1e-12)
        np.testing.assert_allclose(many.apply(each)[k], one.apply(each[k]), atol=1e-12)
    assert thud.Pose().apply(np.empty((0, 3))).shape == (0, 3)
    for wrong in (np.zeros((5, 2)), np.zeros((3, 3)), 1.0, [[np.nan, 0, 0]]):
        with pytest.raises(InvalidInputError, match="points"):
            many.apply(wrong)


def test_a_motion_leads_where_casts_say() -> None:
    # A point of the shape that touches at the time of the hit is on the other shape.
    start = thud.Pose.from_rotation_vector([2.5, 0.0, 0.0], [0.1, 0.2, 0.3])
    motion = np.array([-2.0, 0.1, 0.2, 0.5, 2.0, -0.4])
    box, ball = thud.Box((0.4, 0.2, 0.3)), thud.Sphere(0.5)
    hit = thud.cast(ball, box, None, start, 0.0, motion)
    assert hit.time[0] < 1.0
    there = start.moved(motion, hit.time[0])
    assert abs(thud.distance(ball, box, None, there).distance[0]) < 1e-6
    # As the docs write it: (exp(s w) R, t + s v).
    s = 0.37
    np.testing.assert_allclose(
        start.moved(motion, s).rotation, Rotation.from_rotvec(s * motion[3:]).as_matrix() @ start.rotation, atol=1e-12
    )
    np.testing.assert_allclose(start.moved(motion, s).position, start.position + s * motion[:3], atol=1e-12)
    many = start.moved(motion, [0.0, 0.5, 1.0])
    assert len(many) == 3
    np.testing.assert_allclose(many[2].matrix, start.moved(motion).matrix, atol=1e-12)
    np.testing.assert_allclose(start.moved([1.0, 2.0, 3.0]).position, start.position + [1.0, 2.0, 3.0])
    with pytest.raises(InvalidInputError, match="motion"):
        start.moved(np.zeros(4))
    with pytest.raises(InvalidInputError, match="rows"):
        many.moved(motion, [0.0, 1.0])


def test_between_two_poses() -> None:
    rng = np.random.default_rng(4)
    for _ in range(20):
        a, b = (thud.Pose.from_rotation_vector(rng.normal(size=3), rng.normal(size=3)) for _ in range(2))
        slerp = Slerp([0.0, 1.0], Rotation.from_matrix(np.stack([a.rotation, b.rotation])))
        times = np.array([0.0, 0.25, 0.9, 1.0])
        between = a.interpolate(b, times)
        np.testing.assert_allclose(between.rotation, slerp(times).as_matrix(), atol=1e-9)
        np.testing.assert_allclose(
            between.position, (1 - times)[:, None] * a.position + times[:, None] * b.position, atol=1e-12
        )
        np.testing.assert_allclose(a.interpolate(b, 0.9).matrix, between[2].matrix, atol=1e-12)
    with pytest.raises(InvalidInputError, match="other"):
        a.interpolate(b.matrix, 0.5)


def test_wrong_use_is_named_with_its_remedy() -> None:
    pose, ball = thud.Pose(), thud.Sphere(1.0)
    with pytest.raises(InvalidInputError, match=r"pose\.apply"):
        pose @ np.zeros(3)
    with pytest.raises(InvalidInputError, match="from_scipy"):
        thud.intersects(ball, ball, Rotation.identity())
    with pytest.raises(InvalidPoseError, match="divide"):
        thud.intersects(ball, ball, [0, 0, 0, 2.0, 0, 0, 0])
    wrong = np.tile([0.0, 0, 0, 1, 0, 0, 0], (4, 3, 1))
    wrong[3, 2, 0] = np.nan
    with pytest.raises(InvalidInputError, match="poses: configuration 3, shape 2 is not finite"):
        thud.distance_pairs([ball] * 3, [[0, 1]], wrong)


def test_an_empty_list_has_no_rows() -> None:
    ball, mesh = thud.Sphere(1.0), thud.TriangleMesh(np.eye(3), [[0, 1, 2]])
    assert len(thud.intersects(ball, ball, [])) == 0
    assert len(thud.contains(ball, [])) == 0
    assert len(thud.raycast(mesh, [], [])) == 0
    # Of no configurations too, with shapes that are not packed among them.
    for shapes in ([ball, ball], [ball, mesh, ball]):
        none = np.zeros((0, len(shapes), 7))
        assert thud.distance_pairs(shapes, [[0, 1]], none).distance.shape == (0, 1)
        assert thud.intersects_pairs(shapes, [[0, 1]], none).shape == (0, 1)
        assert thud.contacts_pairs(shapes, [[0, 1]], none).status.shape == (0, 1)
        assert thud.prepare(shapes, [[0, 1]]).distance(none).distance.shape == (0, 1)


def test_rows_of_seven_and_back() -> None:
    pose = thud.Pose.from_euler(np.arange(6.0).reshape(2, 3), [[0.1, 0.2, 0.3], [1.0, -2.0, 0.5]], "xyz")
    rows = pose.to_array()
    assert rows.shape == (2, 7)
    np.testing.assert_array_equal(rows, np.column_stack([pose.position, pose.quaternion]))
    np.testing.assert_array_equal(pose[1].to_array(), rows[1])
    np.testing.assert_allclose(thud.Pose.from_array(rows).matrix, pose.matrix, atol=1e-15)


@pytest.mark.parametrize("left", [np.eye(4), np.zeros((5, 3)), [1.0, 2.0, 3.0]], ids=["matrix", "points", "list"])
def test_an_array_times_a_pose_is_a_named_error(left: object) -> None:
    """NumPy took a pose for a sequence of itself and ran out of dimensions."""
    with pytest.raises(thud.errors.InvalidInputError, match="from_array"):
        left @ thud.Pose([1, 2, 3])  # type: ignore[operator]
