"""Directions by cells of an octahedron: each cell is found by its own direction, and none is far from what falls to it."""

from __future__ import annotations

import numpy as np
import pytest

from thud.bounds.octahedral import octahedral_cell, octahedral_directions


@pytest.mark.parametrize("n", [4, 7, 32])
def test_each_cell_is_found_by_its_direction(n: int) -> None:
    directions = octahedral_directions(n)
    np.testing.assert_allclose(np.linalg.norm(directions, axis=1), 1.0, rtol=1e-15)
    assert [octahedral_cell(n, tuple(3.0 * v)) for v in directions] == list(range(n * n))


def test_what_falls_to_a_cell_is_close_to_its_direction() -> None:
    v = np.random.default_rng(1).normal(size=(4000, 3))
    v /= np.linalg.norm(v, axis=1)[:, None]
    cells = octahedral_directions(32)
    found = np.array([octahedral_cell(32, tuple(row)) for row in v])
    angles = np.arccos(np.clip(np.einsum("ij,ij->i", v, cells[found]), -1.0, 1.0))
    assert angles.max() < 0.131
    # Nor does any other cell lie much closer.
    best = np.arccos(np.clip((v @ cells.T).max(axis=1), -1.0, 1.0))
    assert (angles - best).max() < 0.06


def test_ends_of_the_range_and_what_is_no_direction() -> None:
    odd = [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0), (1.0, 0.0, 0.0), (-1.0, -0.0, 0.0), (0.0, 1.0, -0.0), (0.0, -1.0, -1e-300)]
    for v in [*odd, (0.0, 0.0, 0.0), (np.nan,) * 3, (np.inf, 1.0, 0.0), (1e-310, 0.0, 0.0), (1e200, -1e200, -1e200)]:
        assert 0 <= octahedral_cell(32, v) < 1024, v
