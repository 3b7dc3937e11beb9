"""Results as tables: read in one line, counted, picked, gone through, handed to pandas."""

from __future__ import annotations

import dataclasses
import inspect
from enum import IntEnum

import numpy as np
import pytest

import thud
import thud.results
from thud._core.columns import Columns

BOX = thud.Box((1.0, 1.0, 1.0))
POSES = np.array([[1.9, 0, 0, 1, 0, 0, 0], [0, 0, 3.0, 1, 0, 0, 0], [0, 1.95, 0, 1, 0, 0, 0]])


def a_world() -> thud.World:
    world = thud.World()
    for x in (0.0, 1.9, 3.7, 9.0):
        world.add(BOX, thud.Pose([x, 0.0, 0.0]))
    return world


def results() -> dict[str, Columns]:
    world, mesh = a_world(), thud.TriangleMesh(np.eye(3), [[0, 1, 2]])
    up, points = [[0.1, 0.2, -5.0], [50.0, 0.0, 0.0]], [[3.0, 0.0, 0.0], [0.0, 0.5, 0.0]]
    motions = [[0.0, 0.0, 1.0], [0.0, 0.0, 1.0]]
    world.contacts()
    hail = thud.particles.ParticleSystem([[0.0, 0.0, 5.0], [3.0, 0.0, 6.0]], [0.0, 0.0, -1.0], mass=[1.0, 2.0])
    floor = thud.particles.Rectangle([-5.0, -5.0, 0.0], [10.0, 0.0, 0.0], [0.0, 10.0, 0.0])
    row, beside = [BOX.to_mesh()] * 3, thud.Pose([[0.0, 0.0, 0.0], [1.5, 0.1, 0.2], [3.0, 0.3, 0.1]])
    seen = thud.imagespace.interference(row, beside, resolution=64)
    return {
        "distances": thud.distance(BOX, BOX, None, POSES, signed=True),
        "one distance": thud.distance(BOX, BOX, None, POSES[0]),
        "configurations": thud.distance_pairs([BOX, BOX], [[0, 1]], np.stack([POSES, POSES], axis=1)),
        "contacts": thud.contacts(BOX, BOX, None, POSES),
        "one contact": thud.contacts(BOX, BOX, None, POSES[0]),
        "contacts of configurations": thud.contacts_pairs(
            [BOX, BOX], [[0, 1]], np.stack([0 * POSES + POSES[1], POSES], axis=1)
        ),
        "no contacts": thud.contacts(BOX, BOX, None, np.empty((0, 7))),
        "former": thud.former_distance(BOX, BOX, None, POSES, 0.0, [-1.5, 0.0, 0.0]),
        "impacts": thud.cast(BOX, BOX, None, POSES, 0.0, [0.0, 0.0, -2.0]),
        "rays": thud.raycast(BOX, up, motions),
        "crossings": thud.raycast_all(BOX, up, motions),
        "points": thud.closest_point(BOX, points),
        "triangles": thud.triangle_pairs(mesh, mesh),
        "world contacts": world.contacts(),
        "world events": world.events(),
        "world distances": world.distances(4.0),
        "world impacts": world.impacts(1.0),
        "world rays": world.raycast(up, motions),
        "world crossings": world.raycast_all(up, motions),
        "world casts": world.cast(BOX, POSES, [0.0, 0.0, -5.0]),
        "world points": world.closest(points),
        "particle impacts": hail.impacts([floor], 0.0, 9.0),
        "particle states": hail.states(5.5, [floor]),
        "map": thud.particles.impact_map(hail, [floor], 0.0, 9.0, resolution=8).decode(),
        "images": seen,
        "image contacts": thud.imagespace.contacts(row, beside, seen),
        "piercings": thud.imagespace.piercings(row, beside, seen),
    }


@pytest.fixture(scope="module")
def found() -> dict[str, Columns]:
    return results()


NAMES = [
    "configurations",
    "contacts",
    "contacts of configurations",
    "crossings",
    "distances",
    "former",
    "image contacts",
    "images",
    "impacts",
    "map",
    "no contacts",
    "one contact",
    "one distance",
    "particle impacts",
    "particle states",
    "piercings",
    "points",
    "rays",
    "triangles",
    "world casts",
    "world contacts",
    "world crossings",
    "world distances",
    "world events",
    "world impacts",
    "world points",
    "world rays",
]


def test_all_of_them_are_looked_at(found: dict[str, Columns]) -> None:
    assert sorted(found) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_a_result_reads_in_one_line(found: dict[str, Columns], name: str) -> None:
    said = repr(found[name])
    assert "\n" not in said
    assert len(said) < 140
    public = ("thud.results", "thud.particles.maps.map_result")
    kind = next(base for base in type(found[name]).__mro__ if base.__module__ in public)
    assert said.startswith(kind.__name__ + "(")


def test_what_a_reader_wants_to_know_is_said(found: dict[str, Columns]) -> None:
    assert repr(found["contacts"]) == "Contacts(8 points of 3 rows, deepest 0.1 m, 1 separated, 2 overlapping)"
    assert repr(found["one distance"]) == "Distances(1 row, nearest 0 m, 1 overlapping)"
    assert repr(found["distances"]) == "Distances(3 rows, nearest -0.1 m, 1 separated, 2 overlapping)"
    assert repr(found["no contacts"]) == "Contacts(0 points of 0 rows)"
    assert repr(found["rays"]) == "RayHits(2 rays, 1 hit, nearest 4 m)"
    assert repr(found["world contacts"]) == "WorldContacts(8 points of 2 pairs, deepest 0.2 m, 2 overlapping)"
    assert repr(found["configurations"]).startswith("Distances(3 x 1 rows")
    assert "begun" in repr(found["world events"]) or "kept" in repr(found["world events"])


@pytest.mark.parametrize("name", NAMES)
def test_rows_are_counted_gone_through_and_picked(found: dict[str, Columns], name: str) -> None:
    result = found[name]
    rows = list(result)
    assert len(rows) == len(result)
    beside = dict(result._beside)
    columns = [field.name for field in dataclasses.fields(result) if field.name not in beside]
    for k, row in enumerate(rows):
        for column in columns:
            np.testing.assert_array_equal(getattr(row, column), getattr(result, column)[k])
    if len(result):
        np.testing.assert_array_equal(getattr(result[-1], columns[0]), getattr(result, columns[0])[-1])
        if result._derived:
            # A column made from others was made from rows -1 to 0, of which there are none.
            assert repr(result[-1]) == repr(rows[-1])
    every = np.ones(len(result), bool)
    for picked in (result[:], result[every], result[np.arange(len(result))], result[list(range(len(result)))]):
        assert isinstance(picked, Columns)
        for field in dataclasses.fields(result):
            np.testing.assert_array_equal(getattr(picked, field.name), getattr(result, field.name))
    assert len(result[:0]) == 0
    with pytest.raises(IndexError, match="row"):
        result[len(result)]
    with pytest.raises(TypeError, match="whole number"):
        result["depth"]
    # Two indices were taken for a list of two rows.
    with pytest.raises(TypeError, match="rows have one axis, got 2 indices"):
        result[0, 0]


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_equal_length_with_words(found: dict[str, Columns], name: str) -> None:
    result, table = found[name], found[name].to_dict()
    count = int(np.prod(result._shape()))
    assert table
    for column in table.values():
        assert column.shape == (count,)
    for column, words in result._words:
        assert set(table[column].tolist()) <= {word.name.lower() for word in words}
    if hasattr(result, "point"):
        np.testing.assert_array_equal(table["point_y"], result.point[..., 1].ravel())


def test_a_row_has_words_and_numbers(found: dict[str, Columns]) -> None:
    row = found["contacts"][0]
    assert isinstance(row.status, IntEnum)
    assert row.status is thud.Status.OVERLAPPING
    assert isinstance(row.depth, float)
    assert "OVERLAPPING" in repr(row)
    # The status of a point is that of its row of poses, in configurations too: those of the second alone touch.
    for point in found["contacts of configurations"]:
        assert point.status is thud.Status.OVERLAPPING


def test_points_of_one_row_and_pairs_of_picked_points(found: dict[str, Columns]) -> None:
    contacts = found["contacts"]
    assert (contacts.of_row(2).row == 2).all()
    assert len(contacts.of_row(2)) == 4
    assert len(contacts.of_row(1)) == 0
    whole = found["world contacts"]
    deep = whole[whole.depth > 0.15]
    assert len(deep) == 4
    assert deep.pairs.tolist() == whole.pairs[1:].tolist()
    assert (deep.start.tolist(), deep.count.tolist()) == ([0], [4])
    for k, pair in enumerate(whole[::2].pairs):
        own = whole[::2][whole[::2].start[k] : whole[::2].start[k] + whole[::2].count[k]]
        assert set(own.handle_a.tolist()) == {pair[0]}
        assert set(own.handle_b.tolist()) == {pair[1]}


def test_points_of_picked_pairs_of_images(found: dict[str, Columns]) -> None:
    seen = found["images"]
    assert seen.pairs.tolist() == [[0, 1], [1, 2]]
    turned = seen[[1, 0]]
    assert turned.pairs.tolist() == [[1, 2], [0, 1]]
    for k in (0, 1):
        np.testing.assert_array_equal(turned.of_pair(k), seen.of_pair(1 - k))
        assert len(seen[[k]].points) == len(seen.of_pair(k)) == np.count_nonzero(seen.point_pair == k) > 0
    assert len(turned.edge) == len(seen.edge)
    assert len(seen[seen.pixels < 0].points) == 0


def test_every_result_is_a_table() -> None:
    for name, kind in inspect.getmembers(thud.results, dataclasses.is_dataclass):
        assert issubclass(kind, Columns), name
