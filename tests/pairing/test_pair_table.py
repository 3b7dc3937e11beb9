"""Many configurations of many bodies: each row is the bytes of the same pair asked alone."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import thud
from tests.test_empty_batches import MESH, SHAPES

LINKS = [SHAPES[name] for name in ("sphere", "box", "hull", "cone", "parts")]
ALL = [*LINKS, MESH, SHAPES["mixed"]]


def poses_of(rng: np.random.Generator, count: int, bodies: int) -> np.ndarray:
    q = rng.normal(size=(count, bodies, 4))
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return np.concatenate([rng.uniform(-0.9, 0.9, (count, bodies, 3)), q], axis=-1)


@pytest.mark.parametrize("shapes", [LINKS, ALL, [LINKS[2], LINKS[2]]], ids=["convex", "all", "hulls"])
def test_configurations_are_the_rows_of_each(shapes: list[thud.shapes.Shape]) -> None:
    rng = np.random.default_rng(3)
    poses = poses_of(rng, 7, len(shapes))
    pairs = np.array(list(itertools.combinations(range(len(shapes)), 2)))
    table = thud.prepare(shapes, pairs)
    for signed in (False, True):
        found = table.distance(poses, signed=signed)
        public = thud.distance_pairs(shapes, pairs, poses, signed=signed)
        assert found.distance.shape == (7, len(pairs))
        assert found.normal.shape == (7, len(pairs), 3)
        for c in range(7):
            alone = thud.distance_pairs(shapes, pairs, poses[c], signed=signed)
            for name in ("distance", "point_a", "point_b", "normal", "status"):
                np.testing.assert_array_equal(getattr(found, name)[c], getattr(alone, name))
                np.testing.assert_array_equal(getattr(public, name)[c], getattr(alone, name))
    hit, touching = table.intersects(poses), table.contacts(poses, margin=0.05)
    assert touching.status.shape == hit.shape == (7, len(pairs))
    for c in range(7):
        np.testing.assert_array_equal(hit[c], thud.intersects_pairs(shapes, pairs, poses[c]))
        alone = thud.contacts_pairs(shapes, pairs, poses[c], margin=0.05)
        own = touching.row // len(pairs) == c
        np.testing.assert_array_equal(touching.row[own] % len(pairs), alone.row)
        np.testing.assert_array_equal(touching.point[own], alone.point)
        np.testing.assert_array_equal(touching.status[c], alone.status)
        for m, (i, j) in enumerate(pairs):
            single = thud.distance(shapes[i], shapes[j], poses[c, i], poses[c, j])
            assert table.distance(poses).distance[c, m] == single.distance[0]
    assert hit.any()
    assert not hit.all()


def test_forms_of_poses() -> None:
    rng = np.random.default_rng(4)
    poses, pairs = poses_of(rng, 3, len(LINKS)), [[0, 1], [2, 3], [1, 4]]
    matrices = thud.Pose(poses.reshape(-1, 7)[:, :3], poses.reshape(-1, 7)[:, 3:]).matrix.reshape(3, len(LINKS), 4, 4)
    table = thud.prepare(LINKS, pairs)
    expected = table.distance(poses).distance
    np.testing.assert_allclose(table.distance(matrices).distance, expected, atol=1e-12)
    np.testing.assert_allclose(table.distance(matrices.astype(np.float32)).distance, expected, atol=1e-5)
    np.testing.assert_array_equal(table.distance(poses.tolist()).distance, expected)
    np.testing.assert_array_equal(table.distance(poses[0]).distance, expected[0])
    one = thud.Pose(poses[1, :, :3], poses[1, :, 3:])
    np.testing.assert_array_equal(table.distance(one).distance, expected[1])
    assert table.distance(poses[:0]).distance.shape == (0, 3)
    assert table.contacts(poses[:0]).status.shape == (0, 3)
    # Axes of the last time start the search.
    again = table.distance(poses, axes=table.distance(poses).normal)
    np.testing.assert_allclose(again.distance, expected, atol=1e-9)
    clip = thud.prepare([SHAPES["hull"], SHAPES["box"]], [[0, 1]])
    turned = poses_of(rng, 20, 2)
    np.testing.assert_allclose(clip.distance(turned, method="v_clip").distance, clip.distance(turned).distance, atol=1e-9)


def test_contacts_of_many_configurations_come_in_blocks() -> None:
    rng = np.random.default_rng(5)
    shapes, pairs = [SHAPES["box"], SHAPES["box"], SHAPES["sphere"]], np.array([[0, 1], [1, 2]] * 300)
    poses = poses_of(rng, 40, 3)
    found = thud.contacts_pairs(shapes, pairs, poses)
    for c in (0, 27, 39):
        alone = thud.contacts_pairs(shapes, pairs, poses[c])
        own = found.row // len(pairs) == c
        np.testing.assert_array_equal(found.row[own] % len(pairs), alone.row)
        np.testing.assert_array_equal(found.depth[own], alone.depth)


def test_what_is_no_table_is_refused() -> None:
    table, good = thud.prepare(LINKS, [[0, 1]]), poses_of(np.random.default_rng(6), 2, len(LINKS))
    for poses, words in (
        (good[:, :3], ["poses", f"(C, {len(LINKS)}, 7)", "(2, 3, 7)"]),
        (good[0, :3], ["poses", "one pose a shape"]),
        (np.where(np.arange(7) == 6, 3.0, good), ["poses", "configuration 0, shape 0", "unit quaternion"]),
        (np.zeros((2, len(LINKS), 5)), ["poses"]),
    ):
        with pytest.raises(thud.errors.InvalidInputError) as caught:
            table.distance(poses)
        for word in words:
            assert word in str(caught.value)
    for axes in (np.ones((1, 1, 3)), np.ones((2, 2, 3)), np.ones((3, 3))):
        with pytest.raises(thud.errors.InvalidInputError, match="axes: expected"):
            table.distance(good, axes=axes)
        with pytest.raises(thud.errors.InvalidInputError, match="axes: expected"):
            thud.distance_pairs(LINKS, [[0, 1], [1, 2]], good[0], axes=axes)
    with pytest.raises(thud.errors.InvalidInputError, match="pairs"):
        thud.prepare(LINKS, [[0, 9]])
    with pytest.raises(thud.errors.InvalidInputError, match="shapes: row 1"):
        thud.prepare([LINKS[0], 3], [[0, 1]])
    with pytest.raises(thud.errors.UnsupportedQueryError):
        table.distance(good, method="v_clip")
