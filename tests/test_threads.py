"""The same input gives the same bytes for any number of threads, and a cached axis the same answer."""

from __future__ import annotations

import copy
import dataclasses
import pickle

import numpy as np
import pytest

import thud

RNG = np.random.default_rng(5)


def poses(count: int, spread: float) -> thud.Pose:
    q = RNG.normal(size=(count, 4))
    return thud.Pose(RNG.uniform(-spread, spread, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))


HULL = thud.ConvexHull(RNG.normal(size=(50, 3)))
OTHER = thud.ConvexHull(RNG.normal(size=(30, 3)))
CYLINDER = thud.Cylinder(0.6, 0.9)
COMPOUND = thud.Compound([HULL, CYLINDER, thud.Capsule(0.2, 1.0)], poses(3, 2.0))
PAIRS = {"hulls": (HULL, OTHER), "curved": (CYLINDER, thud.Cone(0.7, 0.8)), "compound": (COMPOUND, HULL)}
N = 3000
A, B = poses(N, 2.5), poses(N, 2.5)
MOTION = RNG.normal(size=(N, 3))


def arrays(result: object) -> list[np.ndarray]:
    if isinstance(result, np.ndarray):
        return [result]
    return [getattr(result, field.name) for field in dataclasses.fields(result)]  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("query", ["intersects", "distance", "signed", "contacts", "cast"])
def test_pair_queries(name: str, query: str) -> None:
    a, b = PAIRS[name]
    calls = {
        "intersects": lambda n: thud.intersects(a, b, A, B, threads=n),
        "distance": lambda n: thud.distance(a, b, A, B, threads=n),
        "signed": lambda n: thud.distance(a, b, A, B, signed=True, threads=n),
        "contacts": lambda n: thud.contacts(a, b, A, B, margin=0.01, threads=n),
        "cast": lambda n: thud.cast(a, b, A, B, motion_b=MOTION, threads=n),
    }
    one = arrays(calls[query](1))
    for threads in (2, 3):
        for left, right in zip(one, arrays(calls[query](threads)), strict=True):
            assert left.tobytes() == right.tobytes()


@pytest.mark.parametrize("method", ["chung_wang", "sat", "v_clip"])
def test_other_methods(method: str) -> None:
    one = thud.intersects(HULL, OTHER, A, B, method=method, threads=1)
    np.testing.assert_array_equal(one, thud.intersects(HULL, OTHER, A, B, method=method, threads=3))
    np.testing.assert_array_equal(one, thud.intersects(HULL, OTHER, A, B))


def test_one_shape_queries() -> None:
    points, directions = RNG.normal(size=(N, 3)) * 3, RNG.normal(size=(N, 3))
    for call in (
        lambda n: thud.raycast(COMPOUND, points, directions, threads=n),
        lambda n: thud.contains(COMPOUND, points, threads=n),
        lambda n: thud.closest_point(COMPOUND, points, signed=True, threads=n),
    ):
        for left, right in zip(arrays(call(1)), arrays(call(3)), strict=True):
            assert left.tobytes() == right.tobytes()


def test_a_row_does_not_depend_on_its_neighbours() -> None:
    # Hull pairs are searched several at a time; each must come out as if alone.
    together = thud.distance(HULL, OTHER, A, B, threads=1)
    for row in range(0, N, 97):
        alone = thud.distance(HULL, OTHER, A[row], B[row])
        for left, right in zip(arrays(together), arrays(alone), strict=True):
            assert left[row].tobytes() == right[0].tobytes()


def test_axes_of_an_earlier_answer_give_the_same_answer() -> None:
    first = thud.distance(HULL, OTHER, A, B)
    again = thud.distance(HULL, OTHER, A, B, axes=first.normal)
    np.testing.assert_allclose(again.distance, first.distance, atol=1e-12)
    np.testing.assert_array_equal(again.status, first.status)
    np.testing.assert_array_equal(thud.intersects(HULL, OTHER, A, B, axes=first.normal), first.distance == 0)


def test_prepared_pair_agrees_with_the_batch() -> None:
    for a, b in PAIRS.values():
        pair = thud.prepare(a, b)
        hit, gap = thud.intersects(a, b, A, B), thud.distance(a, b, A, B)
        deep = thud.distance(a, b, A, B, signed=True)
        for row in range(0, N, 151):
            assert pair.intersects(A[row], B[row]) == hit[row]
            single = pair.distance(A[row], B[row])
            np.testing.assert_allclose(single.distance, gap.distance[row], atol=1e-12)
            assert single.status.tolist() == [gap.status[row]]
            np.testing.assert_allclose(single.point_b, single.point_a + single.distance * single.normal, atol=1e-12)
            np.testing.assert_allclose(
                pair.distance(A[row], B[row].matrix, signed=True).distance, deep.distance[row], atol=1e-12
            )
            np.testing.assert_array_equal(pair.contacts(A[row], B[row]).depth, thud.contacts(a, b, A[row], B[row]).depth)


def test_single_distance_is_a_distances_like_any_other() -> None:
    single = thud.prepare(thud.Sphere(1.0), thud.Sphere(2.0)).distance(thud.Pose(), thud.Pose((5.0, 0.0, 0.0)))
    assert isinstance(single, thud.Distances)
    assert (single.distance.shape, single.point_a.shape, single.status.shape) == ((1,), (1, 3), (1,))
    for other in (pickle.loads(pickle.dumps(single)), copy.copy(single), dataclasses.replace(single)):
        for field in dataclasses.fields(thud.Distances):
            np.testing.assert_array_equal(getattr(other, field.name), getattr(single, field.name))
    with pytest.raises(dataclasses.FrozenInstanceError):
        single.distance = np.zeros(1)  # type: ignore[misc]


def test_max_distance() -> None:
    full, near = thud.distance(HULL, OTHER, A, B), thud.distance(HULL, OTHER, A, B, max_distance=0.5)
    inside = full.distance <= 0.5
    np.testing.assert_array_equal(near.distance[inside], full.distance[inside])
    assert np.isinf(near.distance[~inside]).all()
    assert not near.normal[~inside].any()
    assert inside.any()
    assert not inside.all()
