"""What the single broad phases promise beyond the pairs: coherence, well-formed trees, planes that are kept, the choice."""

from __future__ import annotations

import numpy as np
import pytest

from tests.broadphase.scenes import SCENES, boxes_of, scene
from tests.oracles.boxes import overlapping_pairs
from thud.broadphase import bsp, dynamic_tree, sweep_and_prune
from thud.broadphase.boxes import FARTHEST, as_boxes, as_rules
from thud.broadphase.bsp import Bsp
from thud.broadphase.choose import Auto
from thud.broadphase.dynamic_tree import LEFT, OUT, PARENT, RIGHT, DynamicTree
from thud.broadphase.pair_hash import REMOVE, PairHash
from thud.broadphase.sweep_and_prune import SweepAndPrune

NO_RULES = np.empty((0, 3), np.uint64)
ABSENT = [np.inf] * 3 + [-np.inf] * 3


def test_the_pair_set_is_a_set() -> None:
    rng = np.random.default_rng(2)
    pairs, model = PairHash(), set()
    for _ in range(60):
        keys = (rng.integers(0, 30, 200).astype(np.uint64) << np.uint64(32)) | rng.integers(0, 30, 200).astype(np.uint64)
        removed = rng.random(200) < 0.55
        pairs.change(np.where(removed, keys | REMOVE, keys), NO_RULES)
        for key, gone in zip(keys.tolist(), removed.tolist()):
            (model.discard if gone else model.add)(key)
        assert pairs.count == len(model)
        assert set(pairs.keys().tolist()) == model
    pairs.clear()
    assert len(pairs.keys()) == 0


def test_sweep_and_prune_sweeps_once_and_then_swaps(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    centers, halves = rng.uniform(0, 10, (800, 3)), rng.uniform(0.2, 0.5, (800, 3))
    monkeypatch.setattr(sweep_and_prune, "_SWAPS", 10)
    phase, sweeps = SweepAndPrune(), []
    sweep = SweepAndPrune._sweep
    monkeypatch.setattr(SweepAndPrune, "_sweep", lambda self, *rest: sweeps.append(1) or sweep(self, *rest))
    for frame in range(40):
        centers += rng.normal(size=centers.shape) * 0.002
        if frame == 20:
            # A jump of all: one more sweep, and on with swaps.
            centers = rng.permutation(centers)
        boxes = boxes_of(centers, halves)
        # Absent and infinite ones come and go: their markers share the ends of the lists.
        if frame % 3 == 0:
            boxes.bounds[frame % 4], boxes.bounds[4 + frame % 5] = ABSENT, [-FARTHEST] * 3 + [FARTHEST] * 3
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules))
    assert len(sweeps) == 2


def test_sweep_and_prune_gives_up_on_swaps_while_all_moves_fast(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(1)
    halves = rng.uniform(0.2, 0.5, (600, 3))
    phase, sorts = SweepAndPrune(), []
    sort = sweep_and_prune.run_rows
    monkeypatch.setattr(sweep_and_prune, "run_rows", lambda *rest, **more: sorts.append(1) or sort(*rest, **more))
    for _ in range(40):
        boxes = boxes_of(rng.uniform(0, 9, (600, 3)), halves)
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules))
    assert len(sorts) <= 6


def test_zeros_of_either_sign_touch() -> None:
    phase = SweepAndPrune()
    for shift in (1.0, 0.0, 0.5, 0.0):
        lower = np.array([[-1.0, -1.0, -1.0], [0.0 + shift, 0.0, 0.0], [-0.0, -0.0, -0.0]])
        boxes = as_boxes(lower, np.array([[-0.0, -0.0, -0.0], [1 + shift, 1.0, 1.0], [1.0, 1.0, 1.0]]))
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules))


@pytest.mark.parametrize("strips", [1, 7])
def test_strips_report_each_pair_once(strips: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep_and_prune, "_STRIP", 600.0 / strips)
    monkeypatch.setattr(sweep_and_prune, "_STRIP_WIDTH", 1e-3)
    for name in SCENES:
        boxes = scene(name, 600, 6)
        np.testing.assert_array_equal(SweepAndPrune().pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules))


def check_tree(tree: DynamicTree) -> None:
    """Links fit both ways, boxes are those of the children, and every box that is there is in the tree once."""
    fat, links, boxes = tree._fat, tree._links, tree._boxes
    assert fat is not None
    root, seen = int(tree._state[0]), []
    stack = [root] if root >= 0 else []
    if root >= 0:
        assert links[root, PARENT] == -1
    while stack:
        node = stack.pop()
        seen.append(node)
        left, right = links[node, LEFT], links[node, RIGHT]
        if left < 0:
            assert node < len(fat)
            np.testing.assert_array_equal(boxes[node], fat[node])
            continue
        assert links[left, PARENT] == links[right, PARENT] == node
        np.testing.assert_array_equal(boxes[node, :3], np.minimum(boxes[left, :3], boxes[right, :3]))
        np.testing.assert_array_equal(boxes[node, 3:], np.maximum(boxes[left, 3:], boxes[right, 3:]))
        stack += [left, right]
    there = np.flatnonzero(fat[:, 0] <= fat[:, 3])
    np.testing.assert_array_equal(np.sort([node for node in seen if node < len(fat)]), there)
    assert len(seen) == len(set(seen)) == max(2 * len(there) - 1, 0)
    assert len(seen) + tree._state[1] == len(there) + len(fat)
    assert (links[: len(fat), PARENT][fat[:, 0] > fat[:, 3]] == OUT).all()


def test_the_dynamic_tree_stays_a_tree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(7)
    count = 400
    monkeypatch.setattr(dynamic_tree, "_FEW_OF", 0.5)
    monkeypatch.setattr(dynamic_tree, "_GROWTH", 100.0)
    monkeypatch.setattr("thud.broadphase.coherent.FEW", 0)
    centers, halves = rng.uniform(0, 8, (count, 3)), rng.uniform(0.1, 0.5, (count, 3))
    phase, checked = DynamicTree(), 0
    absent = np.zeros(count, bool)
    for frame in range(60):
        some = rng.integers(0, count, 60)
        centers[some] += rng.normal(size=(60, 3)) * 0.5
        if frame % 4 == 0:
            absent[rng.integers(0, count, 10)] ^= True
        boxes = boxes_of(centers, halves)
        boxes.bounds[absent] = ABSENT
        if frame % 7 > 3:
            boxes.bounds[5] = [-FARTHEST, 0.0, -FARTHEST, FARTHEST, 1.0, FARTHEST]
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules), err_msg=f"{frame}")
        if phase._linked is phase._fat and phase._fat is not None:
            check_tree(phase)
            checked += 1
    assert checked > 40


def test_boxes_in_one_place_make_no_list_of_the_tree() -> None:
    count = 512
    boxes = np.zeros((2 * count, 6))
    boxes[:count, 3:] = 1.0
    links, state, free = np.full((2 * count, 3), -1, np.int32), np.array([-1, 0]), np.empty(count + 1, np.int32)
    links[:, PARENT] = OUT
    for node in range(2 * count - 1, count - 1, -1):
        free[state[1]] = node
        state[1] += 1
    fat = boxes[:count].copy()
    dynamic_tree.move_leaves(np.arange(count), fat.copy(), fat.copy(), 0.0, 0.0, 0.0, fat, boxes, links, state, free)
    depth = []
    for leaf in range(count):
        node, steps = leaf, 0
        while (node := links[node, PARENT]) >= 0:
            steps += 1
        depth.append(steps)
    assert max(depth) <= 40


def test_planes_are_kept_until_the_static_boxes_change(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(5)
    count = 700
    centers, halves = rng.uniform(0, 10, (count, 3)), rng.uniform(0.2, 0.5, (count, 3))
    static = rng.random(count) < 0.8
    rules = as_rules(count, static, None, None)
    phase, chosen = Bsp(), []
    choose = bsp.choose_planes
    monkeypatch.setattr(bsp, "choose_planes", lambda *rest: chosen.append(1) or choose(*rest))
    for frame in range(20):
        centers[~static] += rng.normal(size=((~static).sum(), 3)) * 0.1
        if frame == 10:
            centers[np.flatnonzero(static)[0]] += 0.1
        boxes = boxes_of(centers, halves, rules)
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, rules))
    assert len(chosen) == 2


def test_moving_boxes_that_crowd_the_leaves_get_planes_of_their_own() -> None:
    rng = np.random.default_rng(6)
    count = 1500
    centers, halves = rng.uniform(0, 12, (count, 3)), rng.uniform(0.2, 0.5, (count, 3))
    rules = as_rules(count, np.arange(count) < 3, None, None)
    phase = Bsp()
    boxes = boxes_of(centers, halves, rules)
    np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, rules))
    assert len(phase._regions) > 50


def test_the_choice() -> None:
    rng = np.random.default_rng(9)
    centers, halves = rng.uniform(0, 14, (3000, 3)), np.full((3000, 3), 0.35)
    auto = Auto()
    assert auto.choose(boxes_of(centers[:100], halves[:100])) == "brute"
    assert auto.choose(boxes_of(centers, halves)) == "grid"
    assert auto.choose(boxes_of(centers, halves, as_rules(3000, np.arange(3000) % 10 > 0, None, None))) == "bsp"
    flat = centers * [30.0, 30.0, 0.0]
    assert auto.choose(boxes_of(flat, halves)) == "grid"
    halves[:300] *= 12.0
    assert auto.choose(boxes_of(centers, halves)) == "tree"
    assert auto.choose(boxes_of(np.full((300, 3), np.inf), np.zeros((300, 3)))) == "grid"


def test_the_choice_changes_with_the_boxes() -> None:
    rng = np.random.default_rng(10)
    auto = Auto()
    auto.PERIOD = 3
    for count, large, share in [(2000, 0, 0.0), (2000, 200, 0.0), (2000, 0, 0.9), (100, 0, 0.0), (1000, 300, 0.5), (0, 0, 0.0)]:
        centers, halves = rng.uniform(0, 12, (count, 3)), np.full((count, 3), 0.35)
        halves[:large] *= 8.0
        rules = as_rules(count, rng.random(count) < share, None, None)
        for _ in range(4):
            centers += rng.normal(size=centers.shape) * 0.01
            boxes = boxes_of(centers, halves, rules)
            np.testing.assert_array_equal(auto.pairs(boxes), overlapping_pairs(boxes.bounds, rules).reshape(-1, 2))
