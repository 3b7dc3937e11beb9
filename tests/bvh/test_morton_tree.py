"""Trees in Morton order: well formed, with boxes that hold what is below, and queries that find all there is."""

from __future__ import annotations

import numpy as np
import pytest

from tests.broadphase.scenes import SCENES, scene
from thud.bvh.morton_tree import boxes_in_tree, build_morton_tree, rays_in_tree
from thud.bvh.radix import sort_with

ABSENT = [np.inf] * 3 + [-np.inf] * 3


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("count", [0, 1, 2, 9, 500])
def test_the_tree_is_well_formed(name: str, count: int) -> None:
    bounds = scene(name, count, 1).bounds
    boxes, skip, item = build_morton_tree(bounds)
    there = np.flatnonzero(bounds[:, 0] <= bounds[:, 3])
    assert len(skip) == max(2 * len(there) - 1, 0)
    np.testing.assert_array_equal(np.sort(item[item >= 0]), there)
    for k in range(len(skip)):
        if item[k] >= 0:
            assert skip[k] == k + 1
            np.testing.assert_array_equal(boxes[k], bounds[item[k]])
        else:
            left, right = k + 1, skip[k + 1]
            assert skip[right] == skip[k] <= len(skip)
            np.testing.assert_array_equal(boxes[k, :3], np.minimum(boxes[left, :3], boxes[right, :3]))
            np.testing.assert_array_equal(boxes[k, 3:], np.maximum(boxes[left, 3:], boxes[right, 3:]))


@pytest.mark.parametrize("name", SCENES)
def test_boxes_in_a_tree(name: str) -> None:
    bounds, queries = scene(name, 400, 2).bounds, np.concatenate([scene(name, 50, 3).bounds, scene("infinite", 20, 4).bounds])
    queries = np.ascontiguousarray(np.concatenate([queries, [ABSENT]]))
    tree = build_morton_tree(bounds)
    places, items = boxes_in_tree(tree, queries, 1)
    there = bounds[:, 0] <= bounds[:, 3]
    for q, query in enumerate(queries):
        meet = (bounds[:, :3] <= query[3:]).all(axis=1) & (query[:3] <= bounds[:, 3:]).all(axis=1) & there
        expected = np.flatnonzero(meet & (query[0] <= query[3]))
        np.testing.assert_array_equal(np.sort(items[places[q] : places[q + 1]]), expected)
    again = boxes_in_tree(tree, np.tile(queries, (30, 1)), 2)
    np.testing.assert_array_equal(again[1], np.tile(items, 30))


def entries(bounds: np.ndarray, o: np.ndarray, d: np.ndarray, reach: float) -> np.ndarray:
    """Where a ray enters each box, by the definition; inf where it does not."""
    with np.errstate(all="ignore"):
        one, other = (bounds[:, :3] - o) / d, (bounds[:, 3:] - o) / d
        near, far = np.minimum(one, other), np.maximum(one, other)
    within = (bounds[:, :3] <= o) & (o <= bounds[:, 3:])
    near[:, d == 0], far[:, d == 0] = np.where(within, -np.inf, np.inf)[:, d == 0], np.where(within, np.inf, -np.inf)[:, d == 0]
    enter, leave = np.maximum(near.max(axis=1), 0.0), np.minimum(far.min(axis=1), reach)
    return np.where((enter <= leave) & (bounds[:, 0] <= bounds[:, 3]), enter, np.inf)


@pytest.mark.parametrize("name", [s for s in SCENES if s not in ("far", "apart")])
def test_rays_in_a_tree(name: str) -> None:
    rng = np.random.default_rng(8)
    bounds = scene(name, 400, 5).bounds
    tree = build_morton_tree(bounds)
    origins, directions = rng.uniform(-3, 10, (120, 3)), rng.normal(size=(120, 3))
    directions[:40, rng.integers(0, 3)] = 0.0
    directions[:10, 0], directions[:10, 1:] = 1.0, 0.0
    origins[:5] = np.round(origins[:5])
    reach = np.where(rng.random(120) < 0.5, np.inf, rng.uniform(0, 6, 120))
    places, items, distance = rays_in_tree(tree, origins, directions, reach, 1)
    for q in range(120):
        expected = entries(bounds, origins[q], directions[q], reach[q])
        found = items[places[q] : places[q + 1]]
        # A box that is only grazed may be found in addition, none may be missing.
        assert np.isin(np.flatnonzero(expected < np.inf), found).all()
        true = expected[found] < np.inf
        assert (~true).sum() <= 1
        np.testing.assert_allclose(distance[places[q] : places[q + 1]][true], expected[found][true], rtol=1e-14)
        assert len(np.unique(found)) == len(found)


def test_a_ray_through_a_corner_is_not_lost_to_rounding() -> None:
    rng = np.random.default_rng(3)
    low = rng.uniform(-1, 1, (2000, 3))
    high = low + rng.uniform(0, 1, (2000, 3))
    origins = low - rng.uniform(0.1, 3, (2000, 1)) * rng.uniform(0.2, 1, (2000, 3))
    for k in range(2000):
        tree = build_morton_tree(np.concatenate([low[k], high[k]])[None])
        # Towards the lower corner, which all three slabs are entered at within rounding.
        places, _, distance = rays_in_tree(tree, origins[k : k + 1], low[k : k + 1] - origins[k : k + 1], np.full(1, np.inf), 1)
        assert places[-1] == 1
        assert abs(distance[0] - 1.0) < 1e-14


@pytest.mark.parametrize("bits", [1, 11, 12, 13, 30, 64])
def test_radix_sort_is_stable(bits: int) -> None:
    rng = np.random.default_rng(bits)
    keys = rng.integers(0, 2**bits - 1, 5000, dtype=np.uint64, endpoint=True)
    keys[::3] = keys[0]
    items = np.arange(5000, dtype=np.int32)
    expected = np.argsort(keys, kind="stable")
    sort_with(keys, items)
    np.testing.assert_array_equal(items, expected)
    assert (np.diff(keys.astype(object)) >= 0).all()
