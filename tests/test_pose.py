"""Poses: every accepted form means the same rigid motion, and what is not one is refused by name and row."""

from __future__ import annotations

import numpy as np
import pytest

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


@pytest.mark.parametrize(
    ("pose", "error", "words"),
    [
        ([0, 0, np.nan, 1, 0, 0, 0], InvalidInputError, ["pose_a", "not finite"]),
        ([[0, 0, 0, 1, 0, 0, 0], [0, 0, 0, 1.1, 0, 0, 0]], InvalidPoseError, ["pose_a", "row 1", "unit quaternion"]),
        (np.zeros((0, 7)), InvalidInputError, ["pose_a", "at least one"]),
        (np.zeros((0, 4, 4)), InvalidInputError, ["pose_a", "at least one"]),
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
