"""Colours of constraints."""

from __future__ import annotations

import numpy as np
import pytest

from thud.dynamics.colouring import MARKED, colour_pairs


@pytest.mark.parametrize("hub", [3, MARKED + 20])
def test_no_body_twice_in_a_colour(hub: int) -> None:
    rng = np.random.default_rng(hub)
    count = 200
    moves = np.where(rng.uniform(size=count) < 0.2, 0.0, 1.0)
    moves[0] = 1.0
    # One body with more neighbours than there are marks.
    rows = np.concatenate([rng.integers(0, count, (600, 2)), np.stack([np.zeros(hub, np.int64), 1 + np.arange(hub)], axis=1)])
    rows = np.ascontiguousarray(rows[(rows[:, 0] != rows[:, 1]) & (moves[rows] > 0).any(axis=1)])
    colour = np.empty(len(rows), np.int64)
    colours = colour_pairs(rows, moves, np.empty(count, np.uint64), colour)
    assert colours == colour.max() + 1
    for c in range(colours):
        ends = rows[colour == c].ravel()
        ends = ends[moves[ends] > 0.0]
        assert len(set(ends.tolist())) == len(ends)
