"""V-Clip from the features of the last call, through the public queries."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import UnsupportedQueryError

RNG = np.random.default_rng(21)
HULLS = [thud.ConvexHull(RNG.normal(size=(count, 3))) for count in (40, 120)]
BOX = thud.Box([0.7, 0.9, 1.1])
N = 600


def frames(count: int, step: float) -> list[thud.Pose]:
    """Poses that move and turn a little from frame to frame."""
    place = RNG.normal(size=(N, 3)) * 2.5
    q = RNG.normal(size=(N, 4))
    found = []
    for _ in range(count):
        place = place + step * RNG.normal(size=place.shape)
        q = q + step * RNG.normal(size=q.shape)
        found.append(thud.Pose(place, q / np.linalg.norm(q, axis=1, keepdims=True)))
    return found


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("pair", [(HULLS[0], HULLS[1]), (HULLS[1], BOX), (BOX, BOX)])
def test_distances_are_the_same_in_fewer_steps(pair: tuple, signed: bool) -> None:
    kept, steps = thud.PairCache(), []
    for pose in frames(5, 0.01):
        options = {"method": "v_clip", "signed": signed}
        found = thud.distance(*pair, None, pose, cache=kept, **options)
        steps.append(kept.steps)
        plain = thud.distance(*pair, None, pose, **options)
        np.testing.assert_allclose(found.distance, plain.distance, rtol=0, atol=1e-9)
        np.testing.assert_array_equal(found.status, plain.status)
        np.testing.assert_allclose(found.point_b, found.point_a + found.distance[:, None] * found.normal, atol=1e-12)
        np.testing.assert_array_equal(
            thud.intersects(*pair, None, pose, method="v_clip", cache=kept), thud.intersects(*pair, None, pose, method="v_clip")
        )
    # The first walk starts at vertices that face each other.
    assert min(steps) >= N
    assert max(steps[1:]) < 0.8 * steps[0]


def test_rows_that_did_not_move_take_one_step() -> None:
    kept = thud.PairCache()
    pose = frames(1, 0.0)[0]
    apart = thud.distance(HULLS[0], HULLS[1], None, pose).distance > 1e-3
    pose = pose[apart]
    first = thud.distance(HULLS[0], HULLS[1], None, pose, method="v_clip", cache=kept)
    again = thud.distance(HULLS[0], HULLS[1], None, pose, method="v_clip", cache=kept)
    assert kept.steps == len(first.distance)
    np.testing.assert_array_equal(again.distance, first.distance)


def test_other_shapes_and_rows_start_anew() -> None:
    kept = thud.PairCache()
    pose = frames(1, 0.0)[0]
    thud.distance(HULLS[0], HULLS[1], None, pose, method="v_clip", cache=kept)
    cold = kept.steps
    thud.distance(HULLS[0], HULLS[1], None, pose, method="v_clip", cache=kept)
    assert kept.steps < cold
    for a, b, rows in ((BOX, HULLS[1], pose), (HULLS[0], HULLS[1], pose[:300])):
        fresh = thud.PairCache()
        found = thud.distance(a, b, None, rows, method="v_clip", cache=kept)
        plain = thud.distance(a, b, None, rows, method="v_clip", cache=fresh)
        assert kept.steps == fresh.steps
        np.testing.assert_array_equal(found.distance, plain.distance)


def test_same_bytes_for_any_number_of_threads() -> None:
    pose, after = frames(2, 0.01)
    answers = []
    for threads in (1, 2, 3):
        kept = thud.PairCache()
        for where in (pose, after):
            big = thud.Pose(np.tile(where.position, (4, 1)), np.tile(where.quaternion, (4, 1)))
            found = thud.distance(HULLS[0], BOX, None, big, method="v_clip", cache=kept, threads=threads)
        answers.append((found.point_a.tobytes(), found.distance.tobytes(), kept.steps))
    assert answers[0] == answers[1] == answers[2]


def test_who_takes_a_cache() -> None:
    kept = thud.PairCache()
    with pytest.raises(UnsupportedQueryError, match="cache is of no use"):
        thud.distance(HULLS[0], BOX, cache=kept)
    with pytest.raises(UnsupportedQueryError, match="cache is of no use"):
        thud.intersects(HULLS[0], BOX, method="chung_wang", cache=kept)
    with pytest.raises(UnsupportedQueryError, match="v_clip"):
        thud.distance(thud.Sphere(1.0), BOX, method="v_clip", cache=kept)
    mesh = thud.TriangleMesh(HULLS[0].vertices, HULLS[0].topology.triangles)
    with pytest.raises(UnsupportedQueryError, match="v_clip"):
        thud.distance(mesh, BOX, method="v_clip", cache=kept)
