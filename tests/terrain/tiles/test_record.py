"""Records: the layout, and every number of a hostile one checked before a kernel sees it."""

from __future__ import annotations

import numpy as np
import pytest

from tests.terrain.tiles.scenes import KINDS, record
from thud.errors import DamagedStoreError, FileFormatError, InvalidInputError, StoreVersionError
from thud.terrain.tiles.record import KINDS as NUMBERS
from thud.terrain.tiles.record import SECTIONS, TileKey, as_key, sealed, unpack
from thud.terrain.tiles.tile import Tile

RECORDS = {kind: record(kind, key=(3, -7, 2) if kind == "triangles" else (3, -7)) for kind in KINDS}

#: Where sections of nodes lie, from the record's own table.
CHILDREN, COUNT, OFFSET, NEXT = 4, 5, 6, 7


def place(kind, name):
    """(offset, number of values, type) of a section."""
    names = [row[0] for row in SECTIONS[NUMBERS[kind]]]
    row = names.index(name)
    offset, count = np.frombuffer(RECORDS[kind], "<u8", 2, 64 + 16 * row).tolist()
    return offset, count, np.dtype(SECTIONS[NUMBERS[kind]][row][1])


def changed(kind, name, index, value):
    """A record with one number of a section changed, and a checksum that fits."""
    data = bytearray(RECORDS[kind])
    offset, count, dtype = place(kind, name)
    assert -count <= index < count
    view = np.frombuffer(data, dtype, count, offset)
    view[index] = value
    return sealed(data)


@pytest.mark.parametrize("kind", KINDS)
def test_sections_are_views_of_the_record(kind):
    data = np.frombuffer(RECORDS[kind], np.uint8)
    tile = Tile(data)
    low, high = data.ctypes.data, data.ctypes.data + data.nbytes
    for name, array in tile.sections.items():
        assert array.size == 0 or low <= array.ctypes.data < high, name
        assert not array.flags.writeable
    for array in (tile.arrays.nodes, tile.arrays.links, tile.arrays.corners, tile.arrays.blocks, tile.arrays.grid.heights64):
        assert array.size == 0 or low <= array.ctypes.data < high
    assert np.shares_memory(tile.arrays.nodes, tile.arrays.links)
    if kind != "triangles":
        inside = tile.shape.heights if kind == "heights" else tile.shape.displacements
        assert low <= np.asarray(inside).ctypes.data < high


@pytest.mark.parametrize("kind", KINDS)
def test_key_kind_and_checksum_are_inside(kind):
    found = unpack(RECORDS[kind])
    assert found.key == TileKey(3, -7, 2 if kind == "triangles" else 0)
    assert Tile(RECORDS[kind]).kind == kind
    assert sealed(RECORDS[kind]) == RECORDS[kind]
    with pytest.raises(DamagedStoreError, match="exchanged"):
        Tile(RECORDS[kind], key=TileKey(0, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_any_flipped_bit_is_seen(kind):
    rng = np.random.default_rng(3)
    data = RECORDS[kind]
    places = np.concatenate([np.arange(64 + 16 * 24), rng.integers(0, len(data), 100)])
    for at in places.tolist():
        broken = bytearray(data)
        broken[at] ^= 1 << int(rng.integers(8))
        with pytest.raises(FileFormatError):
            Tile(bytes(broken))


@pytest.mark.parametrize("kind", KINDS)
def test_any_cut_is_seen(kind):
    data = RECORDS[kind]
    for size in (0, 1, 63, 64, 4095, len(data) // 2, len(data) - 16, len(data) - 1):
        with pytest.raises(DamagedStoreError):
            Tile(data[:size])
    with pytest.raises(DamagedStoreError):
        Tile(data + bytes(16))


def test_another_version_is_named():
    data = bytearray(RECORDS["heights"])
    data[8] = 9
    with pytest.raises(StoreVersionError, match="version 9"):
        Tile(sealed(data))


@pytest.mark.parametrize("kind", KINDS)
def test_wrong_offsets_with_right_checksums(kind):
    count = len(SECTIONS[NUMBERS[kind]])
    for row in range(2 * count):
        for value in (0, 2**63, 2**64 - 16, len(RECORDS[kind]), -16):
            data = bytearray(RECORDS[kind])
            table = np.frombuffer(data, "<u8", 2 * count, 64)
            old = int(table[row])
            table[row] = np.uint64((old + value) % 2**64 if value == -16 else value)
            if table[row] == old:
                continue
            with pytest.raises(FileFormatError):
                Tile(sealed(data)).verify()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("column", [CHILDREN, COUNT, OFFSET, NEXT])
def test_wrong_links_with_right_checksums(kind, column):
    rows = place(kind, "nodes")[1] // 8
    rng = np.random.default_rng(column)
    links = Tile(RECORDS[kind]).arrays.links
    for k in (0, 1, 2, rows - 1, *rng.integers(0, rows, 20).tolist()):
        for value in (-1, 0, 1, k, k + 1, k + 2, rows, rows + 1, 2**31 - 1, -(2**31)):
            if links[k, column] == value:
                continue
            with pytest.raises(DamagedStoreError, match="sphere tree"):
                Tile(changed(kind, "nodes", 8 * k + column, value))


@pytest.mark.parametrize("kind", KINDS)
def test_spheres_that_are_none_or_hold_nothing(kind):
    bits = np.array([np.nan, np.inf, -1.0, 0.0], np.float32).view(np.int32).tolist()
    for value in bits:
        with pytest.raises(DamagedStoreError, match="sphere"):
            Tile(changed(kind, "nodes", 3, value))
    small = int(np.array(0.5, np.float32).view(np.int32))
    tile = Tile(changed(kind, "nodes", 3, small))
    with pytest.raises(DamagedStoreError, match="does not hold"):
        tile.verify()


@pytest.mark.parametrize(
    ("kind", "name", "index", "value"),
    [
        ("triangles", "origin", 0, np.nan),
        ("triangles", "corners", 5, np.nan),
        ("triangles", "corners", 5, np.inf),
        ("triangles", "planes", 5, np.inf),
        ("triangles", "planes", 5, 0.75),
        ("triangles", "corners", 5, 1.0),
        ("triangles", "faces", 0, -1),
        ("triangles", "faces", 0, 2**31 - 1),
        ("triangles", "faces", 0, 3),
        ("heights", "sizes", 0, 7),
        ("heights", "sizes", 0, 1),
        ("heights", "sizes", 1, 2**40),
        ("heights", "sizes", 1, -1),
        ("heights", "sizes", 1, 1),
        ("heights", "numbers", 0, 0.0),
        ("heights", "numbers", 0, np.nan),
        ("heights", "numbers", 2, -1.0),
        ("heights", "numbers", 3, np.inf),
        ("heights", "numbers", 6, 0.0),
        ("heights", "heights64", 3, np.inf),
        ("heights", "heights64", 3, 1e9),
        ("heights", "nodes64", 3, 1e9),
        ("heights", "blocks", 0, 1),
        ("heights", "blocks", 1, -1),
        ("heights", "blocks", 3, 2**31 - 1),
        ("heights", "blocks", 4, 0),
        ("displaced", "sizes", 0, 10**9),
        ("displaced", "sizes", 5, 3),
        ("displaced", "numbers", 0, np.nan),
        ("displaced", "vertices", 2, np.nan),
        ("displaced", "vertices", 4, np.inf),
        ("displaced", "coordinates", 2, -1),
        ("displaced", "coordinates", 2, 10**6),
        ("displaced", "primitives", 1, 10**6),
        ("displaced", "primitives", 4, 1),
        ("displaced", "primitives", 5, 4),
        ("displaced", "quads", 2, 64),
        ("displaced", "quads", 3, 1),
        ("displaced", "quads", 4, 1000),
        ("displaced", "displacements", 9, np.nan),
        ("displaced", "displacements", 9, 500.0),
        ("displaced", "fade", 0, 0b1000),
        ("displaced", "planes", 3, np.inf),
        ("displaced", "node_ints", 0, 0),
        ("displaced", "map_ints", 0, 17),
        ("displaced", "flat", 0, 200),
        ("displaced", "blocks", 0, 10**6),
        ("displaced", "blocks", 3, 1),
    ],
)  # fmt: skip
def test_wrong_numbers_with_right_checksums(kind, name, index, value):
    with pytest.raises(DamagedStoreError):
        Tile(changed(kind, name, index, value)).verify()


def test_random_numbers_with_right_checksums_are_an_error_or_an_answer():
    # No kernel leaves its arrays or goes on for ever, whatever passes the checks.
    rng = np.random.default_rng(8)
    passed = 0
    for _ in range(400):
        kind = str(rng.choice(KINDS))
        data = bytearray(RECORDS[kind])
        at = int(rng.integers(16, len(data) - 8) // 4 * 4)
        np.frombuffer(data, "<u4", 1, at)[0] = rng.integers(0, 2**32)
        try:
            tile = Tile(sealed(data))
        except FileFormatError:
            continue
        center, radius = tile.sphere
        found = tile.in_reach(center, min(radius, 1e6))
        assert len(found.number) <= tile.triangle_count
        passed += 1
    assert passed > 50


def test_keys():
    assert as_key((1, 2)) == (1, 2, 0)
    assert as_key(np.array([1, 2, -3])) == (1, 2, -3)
    for wrong in (5, (1,), (1, 2, 3, 4), (1, 2.5), ("a", 1), (2**31, 0), (np.nan, 0)):
        with pytest.raises(InvalidInputError, match="key"):
            as_key(wrong)
