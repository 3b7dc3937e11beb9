"""Triangles of heights stay within their error bound of every sample, and fit along the borders of tiles."""

from __future__ import annotations

import os

import numpy as np
import pytest

pytest.importorskip("lmdb")

import thud
from tests.oracles.vertical import height_of_triangles
from tests.terrain.filling.sources import hills, holed
from thud.terrain import build
from thud.terrain.filling.triangulate import border_vertices, triangulate

TILE = 32
SMALL = os.environ.get("THUD_TEST_SIZE") == "small"


def triangles(path):
    with thud.Terrain.open(path) as terrain:
        return {key: terrain.tile(key).triangles().corners for key in sorted(terrain.keys())}


@pytest.mark.parametrize("error", [0.05, 0.5, 5.0])
@pytest.mark.parametrize("make", [hills, holed])
def test_no_sample_is_farther_off_than_the_error(tmp_path, error, make):
    heights = make((70, 90))
    build(heights, tmp_path / "store", spacing=2.0, tile=TILE, kind="triangles", error=error, progress=False)
    tiles = triangles(tmp_path / "store")
    every = np.concatenate(list(tiles.values()))
    there = ~np.isnan(heights)
    squares = there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:]
    wide = np.pad(squares, 1)
    covered = wide[:-1, :-1] | wide[1:, :-1] | wide[:-1, 1:] | wide[1:, 1:]
    worst = 0.0
    for j, i in np.argwhere(covered).tolist():
        found = height_of_triangles(every, 2.0 * i, 2.0 * j)
        assert len(found)
        worst = max(worst, float(np.abs(found - heights[j, i]).max()))
    assert worst <= error
    assert len(every) < 2 * squares.sum()
    if error >= 0.5:
        assert worst > 0.3 * error
        assert len(every) < 0.5 * 2 * squares.sum()
    # The plane is covered once.
    area = 0.5 * np.cross(every[:, 1] - every[:, 0], every[:, 2] - every[:, 0])[:, 2]
    assert (area > 0.0).all()
    assert area.sum() == pytest.approx(4.0 * squares.sum())
    # Of a square that is not there nothing is covered.
    for j, i in np.argwhere(~squares).tolist()[:: 7 if SMALL else 1]:
        assert len(height_of_triangles(every, 2.0 * i + 0.9, 2.0 * j + 0.6)) == 0


@pytest.mark.parametrize("make", [hills, holed])
def test_edges_along_borders_are_those_of_the_neighbour(tmp_path, make):
    heights = make((70, 90))
    build(heights, tmp_path / "store", spacing=2.0, tile=TILE, kind="triangles", error=0.7, progress=False)
    tiles = triangles(tmp_path / "store")
    edges = {}
    for key, corners in tiles.items():
        for k in range(3):
            for a, b in zip(corners[:, k].tolist(), corners[:, (k + 1) % 3].tolist()):
                edges.setdefault(frozenset((tuple(a), tuple(b))), []).append(key)
    there = ~np.isnan(heights)
    squares = there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:]
    shared = 0
    for edge, owners in edges.items():
        for axis in (0, 1):
            (line, *other), along = {point[axis] for point in edge}, sorted(int(point[1 - axis] / 2.0) for point in edge)
            at = int(line / 2.0)
            if other or at % TILE or not 0 < at < squares.shape[1 - axis]:
                continue
            # On a border with ground on both sides an edge has a triangle on each, of the two tiles.
            sides = (squares if axis == 0 else squares.T)[along[0] : along[1], at - 1 : at + 1]
            if sides.all():
                assert len(set(owners)) == len(owners) == 2
                shared += 1
    assert shared > 20


def test_a_line_is_the_same_from_both_ends():
    rng = np.random.default_rng(0)
    for _ in range(200):
        line = np.round(np.cumsum(rng.integers(-3, 4, 33)).astype(float))
        fixed = rng.random(33) < 0.05
        there = np.ones(33, bool)
        one = border_vertices(line, fixed, there, 1.5)
        two = border_vertices(line[::-1].copy(), fixed[::-1].copy(), there, 1.5)
        np.testing.assert_array_equal(one, two[::-1])
        at = np.flatnonzero(one)
        assert np.abs(np.interp(np.arange(33), at, line[at]) - line).max() <= 1.5 + 1e-12


def test_a_plane_is_two_triangles():
    y, x = np.mgrid[:17, :17].astype(float)
    places, faces = triangulate(0.25 * x - 0.5 * y, (0, 0, 16, 16), 0.0)
    assert len(places) == 4
    assert len(faces) == 2
