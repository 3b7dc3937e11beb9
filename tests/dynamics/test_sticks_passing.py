"""Cloth passes neither itself nor a sheet: all ways between steps by an oracle; the search for pairs by brute force."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import thud
from tests.conftest import small
from tests.dynamics.sticks_family import DT, KINDS, case, passed
from tests.oracles.sticks import feature_distances, passed_between
from thud._core.arrays import Floats, Ints
from thud.dynamics import Sticks, cloth
from thud.dynamics.sticks.tolerances import SLACK


@pytest.mark.skipif(small, reason="folds need their points")
@pytest.mark.parametrize("kind", KINDS)
def test_no_way_between_steps_goes_through_anything(kind: str) -> None:
    total, contacts, _held = passed(kind, 1)
    assert total == 0
    assert contacts > 5


@pytest.mark.skipif(small, reason="folds need their points")
def test_the_oracle_sees_ways_that_do() -> None:
    assert passed("fold", 1, itself=False)[0] > 10


def test_the_oracle_finds_one_crossing() -> None:
    # A point through a face, an edge through an edge, and the same beside them.
    face, point = np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), np.array([[0.2, 0.2, 1.0], [0.2, 0.3, 2.0], [0.3, 0.2, 2.0]])
    faces = np.array([[0, 1, 2], [3, 4, 5]])
    before = np.concatenate([face, point])
    assert passed_between(before, before - [0, 0, 1.5] * (np.arange(6) > 2)[:, None], faces) == 1
    assert passed_between(before, before - [0, 0, 0.9] * (np.arange(6) > 2)[:, None], faces) == 0
    aside = before + [2.0, 0, 0] * (np.arange(6) > 2)[:, None]
    assert passed_between(aside, aside - [0, 0, 1.5] * (np.arange(6) > 2)[:, None], faces) == 0
    across = np.array([[-1.0, 0, 0], [1, 0, 0], [0, 0, -9], [0, -1, 1], [0, 1, 1], [0, 0, 9]])
    assert passed_between(across, across - [0, 0, 1.5] * (np.arange(6) > 2)[:, None], faces) == 1


def _folded(side: int, rng: np.random.Generator) -> tuple[Floats, Ints]:
    """Points and faces of a sheet that is laid in folds over each other, up to 4 cm apart."""
    flat = cloth((side, side), 0.1)
    v, u = np.divmod(np.arange(side * side), side)
    x = 0.1 * np.abs((u + 3) % 6 - 3)
    where = np.stack([x, 0.1 * v, 0.007 * u], axis=1) + 0.003 * rng.normal(size=(side * side, 3))
    return where, flat.faces


def _contacts(net: Sticks) -> Counter[tuple[int, ...]]:
    """Points of the contacts of the last sub-step."""
    room = net._near.room
    found = [room.contact_points[c, : room.contact_count[c]] for c in range(len(room.contact_count))]
    return Counter(tuple(sorted(row)) for row in np.concatenate(found).tolist())


@pytest.mark.parametrize("seed", [0, 1])
def test_the_search_finds_what_brute_force_finds(seed: int) -> None:
    # A sheet that stands still: contacts are all pairs of what shares no point, nearer than the reach.
    where, faces = _folded(8 if small else 16, np.random.default_rng(seed))
    sides = np.unique(np.sort(faces[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2), axis=1), axis=0)
    sheet = Sticks(where, sides, faces=faces, thickness=0.02, gravity=(0, 0, 0), substeps=3, threads=2)
    distance, points = feature_distances(where, faces)
    reach = (1.0 + SLACK) * sheet.thickness
    assert np.abs(distance - reach).min() > 1e-9
    near = Counter(tuple(sorted(four)) for four in points[distance < reach].tolist())
    assert sum(near.values()) > 100
    # The second time distances of leaves are known.
    for _ in range(2):
        sheet.step(None, 1e-12)
        assert np.abs(sheet.position - where).max() < 1e-10
        assert _contacts(sheet) == near


@pytest.mark.skipif(small, reason="folds need their points")
def test_what_is_known_of_distances_changes_nothing() -> None:
    # Distances of leaves were forgotten with `from_state`: a sheet that folds goes on to the same bytes without them.
    sheet = case("fold", 2).sheet
    world = thud.World(threads=1)
    world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
    skipped = 0
    for k in range(60):
        again = Sticks.from_state(sheet.state())
        told = sheet.step(world, DT)
        if k % 3 == 0:
            again.step(world, DT)
            assert sheet.position.tobytes() == again.position.tobytes()
            tree = sheet._near.tree(sheet._elements, sheet.position)
            skipped += int((tree.when == tree.now[0] - 1).sum())
    assert told.contacts > 5
    assert skipped > 100
