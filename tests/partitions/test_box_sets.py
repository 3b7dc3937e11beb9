"""Octree and grid of boxes against all pairs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import thud
from thud.errors import InvalidInputError
from thud.partitions import BoxGrid, BoxOctree


def boxes(rng: np.random.Generator, count: int, kind: str = "spread") -> np.ndarray:
    """Of several sizes; "lattice": unit boxes that touch at faces, edges and corners."""
    if kind == "lattice":
        low = rng.integers(0, 4, (count, 3)).astype(float)
        return np.column_stack([low, low + 1.0])
    low = rng.uniform(-5, 5, (count, 3))
    return np.column_stack([low, low + rng.uniform(0, 1, (count, 3)) * rng.choice([0.1, 1.0, 4.0], (count, 1))])


def all_pairs(bounds: np.ndarray) -> list[tuple[int, int]]:
    """By two loops."""
    found = []
    for i in range(len(bounds)):
        for j in range(i + 1, len(bounds)):
            if all(bounds[i, c] <= bounds[j, 3 + c] and bounds[j, c] <= bounds[i, 3 + c] for c in range(3)):
                found.append((i, j))
    return found


@pytest.mark.parametrize("make", [BoxOctree, BoxGrid])
@pytest.mark.parametrize("kind", ["spread", "lattice"])
def test_pairs_and_boxes_are_all_found(make: Any, kind: str) -> None:
    rng = np.random.default_rng(0)
    bounds = boxes(rng, 150, kind)
    held = make(bounds[:, :3], bounds[:, 3:])
    assert [tuple(pair) for pair in held.pairs().tolist()] == all_pairs(bounds)
    for box in boxes(rng, 30, kind):
        meet = (bounds[:, :3] <= box[3:]).all(axis=1) & (box[:3] <= bounds[:, 3:]).all(axis=1)
        np.testing.assert_array_equal(held.overlapping(box[:3], box[3:]), np.flatnonzero(meet))


@given(seed=st.integers(0, 10**6), count=st.integers(1, 40), most=st.integers(1, 5), depth=st.integers(1, 6))
def test_octrees_of_any_depth(seed: int, count: int, most: int, depth: int) -> None:
    bounds = boxes(np.random.default_rng(seed), count, "lattice" if seed % 2 else "spread")
    tree = BoxOctree(bounds[:, :3], bounds[:, 3:], most=most, depth=depth)
    assert [tuple(pair) for pair in tree.pairs().tolist()] == all_pairs(bounds)
    assert tree.level.max() <= depth
    # The leaves fill the root.
    sides = tree.leaves()[:, 3:] - tree.leaves()[:, :3]
    assert sides.prod(axis=1).sum() == pytest.approx(float((tree.regions[0, 3:] - tree.regions[0, :3]).prod()))


def test_boxes_in_one_place_end() -> None:
    low = np.zeros((20, 3))
    assert len(BoxOctree(low, low).regions) == 1
    assert len(BoxOctree(low, low).pairs()) == len(BoxGrid(low, low).pairs()) == 190


def test_no_box_at_the_border_is_left_out_by_rounding() -> None:
    # The root was its middle and half its side, rounded: boxes that end at its border were in no region.
    rng = np.random.default_rng(5)
    for _ in range(300):
        low = rng.integers(0, 9, (4, 3)) * 0.1
        high = low + rng.integers(0, 4, (4, 3)) * 0.1
        bounds = np.concatenate([low, high], axis=1)
        tree = BoxOctree(low, high, most=1)
        assert [tuple(pair) for pair in tree.pairs().tolist()] == all_pairs(bounds)
        for k in range(4):
            assert k in tree.overlapping(low[k], high[k])


def test_the_boxes_of_a_world() -> None:
    world = thud.World()
    world.add_many(thud.Box((0.5, 0.5, 0.5)), thud.Pose(np.random.default_rng(1).uniform(0, 6, (60, 3))))
    expected = world.pairs().tolist()
    assert BoxOctree(*world.bounds()).pairs().tolist() == expected
    assert BoxGrid(*world.bounds()).pairs().tolist() == expected


def test_errors() -> None:
    for make in (BoxOctree, BoxGrid):
        with pytest.raises(InvalidInputError, match="row 0"):
            make([[0, 0, 0]], [[-1, 1, 1]])
        with pytest.raises(InvalidInputError, match="at least one"):
            make(np.empty((0, 3)), np.empty((0, 3)))
        with pytest.raises(InvalidInputError, match="finite"):
            make([[0, 0, 0]], [[1, np.nan, 1]])
        with pytest.raises(InvalidInputError, match="as many rows"):
            make(np.zeros((2, 3)), np.ones((3, 3)))
        with pytest.raises(InvalidInputError, match="one box"):
            make([0, 0, 0], [1, 1, 1]).overlapping(np.zeros((2, 3)), np.ones((2, 3)))
    with pytest.raises(InvalidInputError, match="depth"):
        BoxOctree([0, 0, 0], [1, 1, 1], depth=0)
    with pytest.raises(InvalidInputError, match="cells"):
        BoxGrid([0, 0, 0], [1000, 1000, 1000], cell=0.1)
    for cell in (1e-7, 1e-10, 1e-300):
        with pytest.raises(InvalidInputError, match="cell"):
            BoxGrid([[0, 0, 0], [5, 5, 5]], [[1, 1, 1], [6, 6, 6]], cell=cell)


def test_boxes_without_end_are_named_with_the_remedy() -> None:
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    crate = world.add(thud.Box((1, 1, 1)))
    for made in (BoxOctree, BoxGrid):
        with pytest.raises(InvalidInputError, match=r"row 0 is a box without end.*world.bounds\(handles\)"):
            made(*world.bounds())
        assert len(made(*world.bounds([crate])).pairs()) == 0


def test_grids_do_not_hold_their_lists_once_a_cell() -> None:
    """The owners were sorted anew for each cell, and each cell's list kept all of its sorting: 125,000 cells took 100 GB."""
    rng = np.random.default_rng(6)
    low = np.concatenate([rng.uniform(-500, 500, (100, 3)), [[-500.0] * 3]])
    high = np.concatenate([low[:-1] + 0.1, [[500.0] * 3]])
    grid = BoxGrid(low, high)
    assert len(grid.cells) > 100_000
    assert grid._members[0].base is grid._members[-1].base
    assert grid.pairs().tolist() == [[k, 100] for k in range(100)]


@pytest.mark.parametrize("count", [300, 5000])
def test_a_large_box_among_small_ones_has_cells_that_are_large_enough(count: int) -> None:
    """Twice the mean of the longest sides was refused with an error that asked for a larger cell."""
    rng = np.random.default_rng(7)
    low = np.concatenate([rng.uniform(-500, 500, (count, 3)), [[-500.0] * 3]])
    high = np.concatenate([low[:-1] + 0.1, [[500.0] * 3]])
    assert [count - 1, count] in BoxGrid(low, high).pairs().tolist()


def test_octrees_do_not_divide_what_stays_together() -> None:
    """Boxes one about the other from a corner on were divided down to the last level: 900,000 regions for 200 boxes."""
    high = np.abs(np.random.default_rng(8).normal(size=(200, 3)))
    tree = BoxOctree(np.zeros((200, 3)), high)
    assert len(tree.regions) < 1000
    assert len(tree.pairs()) == 199 * 100
    small = np.random.default_rng(9).uniform(0, 10, (1000, 3))
    around = np.tile([[0.0, 0, 0, 10, 10, 10]], (20, 1))
    assert len(BoxOctree(*np.hsplit(np.concatenate([np.column_stack([small, small]), around]), 2)).regions) > 50
