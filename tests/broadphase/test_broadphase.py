"""Every broad phase gives the pairs of the definition, frame after frame, for any number of threads."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.broadphase.scenes import SCENES, boxes_of, random_rules, scene
from tests.oracles.boxes import overlapping_pairs
from thud.broadphase.boxes import Boxes
from thud.broadphase.choose import METHODS, Auto, broad_phase
from thud.broadphase.coherent import Coherent
from thud.broadphase.grid import Grid
from thud.errors import InvalidInputError


@pytest.mark.parametrize("name", SCENES)
@pytest.mark.parametrize("method", METHODS)
def test_pairs_are_those_of_the_definition(method: str, name: str) -> None:
    phase = broad_phase(method)
    # The same object for all: numbers that grow, shrink and vanish must not confuse it.
    for seed, count in enumerate([300, 300, 0, 1, 2, 9, 600, 7]):
        boxes = scene(name, count, seed)
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules).reshape(-1, 2))


@pytest.mark.parametrize("speed", [0.0, 0.002, 0.02, 0.3, 5.0])
@pytest.mark.parametrize("method", METHODS)
def test_pairs_of_moving_boxes(method: str, speed: float) -> None:
    rng = np.random.default_rng(4)
    count = 500
    centers, halves = rng.uniform(0, 8, (count, 3)), rng.uniform(0.1, 0.5, (count, 3))
    halves[:3] *= 10.0
    velocity = rng.normal(size=(count, 3)) * speed
    rules = random_rules(rng, count)
    phase = broad_phase(method)
    for frame in range(40):
        centers += velocity
        if frame in (12, 13, 30):
            # Some jump, some vanish and come back, the rules change.
            centers[rng.integers(0, count, 40)] = rng.uniform(0, 8, (40, 3))
            rules = random_rules(rng, count)
        boxes = boxes_of(centers, halves, rules)
        boxes.bounds[rng.integers(0, count, 3)] = [np.inf] * 3 + [-np.inf] * 3
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, rules), err_msg=f"frame {frame}")


@pytest.mark.parametrize("method", METHODS)
def test_the_same_pairs_for_any_number_of_threads(method: str) -> None:
    boxes = scene("rules", 4000, 3)
    one = broad_phase(method).pairs(boxes, threads=1)
    assert len(one) > 500
    for threads in (2, 3):
        np.testing.assert_array_equal(broad_phase(method).pairs(boxes, threads=threads), one)


def test_candidates_serve_several_frames_and_few_escapes_are_mended() -> None:
    rng = np.random.default_rng(0)
    centers, halves = rng.uniform(0, 10, (1000, 3)), np.full((1000, 3), 0.4)

    class Counting(Grid):
        calls = 0

        def pairs(self, boxes: Boxes, *, threads: int | None = None) -> np.ndarray:
            Counting.calls += 1
            return super().pairs(boxes, threads=threads)

    phase = Coherent(Counting())
    for _ in range(30):
        centers += rng.normal(size=centers.shape) * 0.001
        centers[7] += 0.3
        boxes = boxes_of(centers, halves)
        np.testing.assert_array_equal(phase.pairs(boxes), overlapping_pairs(boxes.bounds, boxes.rules))
    assert Counting.calls <= 6


def test_the_call_for_arrays() -> None:
    lower = np.array([[0.0, 0, 0], [1, 0, 0], [5, 5, 5], [0.5, 0.5, 0.5]])
    found = thud.broadphase.pairs(lower, lower + 1.0)
    assert found.tolist() == [[0, 1], [0, 3], [1, 3]]
    assert thud.broadphase.pairs(lower, lower + 1.0, static=[True, True, True, False]).tolist() == [[0, 3], [1, 3]]
    assert thud.broadphase.pairs(lower, lower + 1.0, layer=[0, 1, 0, 2], mask=[~0, ~0, ~0, 0b1]).tolist() == [[0, 1], [0, 3]]
    assert thud.broadphase.pairs(np.empty((0, 3)), np.empty((0, 3))).shape == (0, 2)


def test_errors_name_what_is_wrong() -> None:
    box = np.zeros((3, 3))
    with pytest.raises(InvalidInputError, match="row 1"):
        thud.broadphase.pairs([[0, 0, 0], [2, 0, 0]], [[1, 1, 1], [1, 1, 1]])
    with pytest.raises(InvalidInputError, match="row 2"):
        thud.broadphase.pairs([[0, 0, 0]] * 2 + [[np.nan, 0, 0]], [[1, 1, 1]] * 3)
    with pytest.raises(InvalidInputError, match="shapes"):
        thud.broadphase.pairs(box, np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="layer"):
        thud.broadphase.pairs(box, box, layer=64)
    with pytest.raises(InvalidInputError, match="one of"):
        thud.broadphase.pairs(box, box, method="magic")
    assert isinstance(broad_phase(), Auto)
