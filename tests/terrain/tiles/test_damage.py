"""Damaged stores: each a named error or the right answer, and never the end of the process that asks."""

from __future__ import annotations

import json
import shutil
import signal
import struct
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("lmdb")

import lmdb

import thud
from tests.terrain.tiles.scenes import record
from tests.terrain.tiles.stores import SIDE, keys, make, manifest
from thud.errors import (
    DamagedStoreError,
    FileFormatError,
    ForeignStoreError,
    InvalidInputError,
    StoreVersionError,
    ThudError,
    TruncatedStoreError,
)
from thud.terrain import TileWriter, triangle_record, verify, write_tiles
from thud.terrain.tiles import verify as verifying
from thud.terrain.tiles.lmdb_pages import Place, _values, file_reader, read_meta, values
from thud.terrain.tiles.record import DISPLACED, HEIGHTS, SECTIONS, TRIANGLES, TileKey, sealed
from thud.terrain.tiles.snapshot import MANIFEST_KEY, key_bytes
from thud.terrain.tiles.tile import Tile

COUNT = 200


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A store with a tree of two levels: many tiles, so that pages of the tree are damaged too."""
    path = tmp_path_factory.mktemp("damage") / "whole"
    small = {key: make(key) for key in keys()}
    write_tiles(path, manifest(), small.items())
    return path


@pytest.fixture(scope="module")
def answers(whole):
    with thud.Terrain.open(whole) as terrain:
        return {key: terrain.tile(key).triangles().corners.tobytes() for key in terrain.keys()}  # noqa: SIM118


def copied(whole, tmp_path):
    path = tmp_path / "copy"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    shutil.copy(whole / "data.mdb", path / "data.mdb")
    return path


def rewritten(whole, tmp_path, change):
    """A copy whose values LMDB itself has changed: the database is whole, what it holds is not."""
    path = copied(whole, tmp_path)
    with lmdb.open(str(path), map_size=2**30) as environment, environment.begin(write=True) as transaction:
        change(transaction)
    return path


def ask_everything(path, answers):
    """Read all tiles of a store; (named errors, right answers). Anything else is a failure."""
    named = right = 0
    try:
        terrain = thud.Terrain.open(path)
    except FileFormatError:
        return 1, 0
    with terrain:
        for key in answers:
            try:
                assert terrain.tile(key).triangles().corners.tobytes() == answers[key]
                right += 1
            except (FileFormatError, KeyError):
                named += 1
    return named, right


def test_flipped_bits(whole, answers, tmp_path):
    # In this very process: damage in LMDB's own pages never reaches LMDB.
    rng = np.random.default_rng(1)
    data = (whole / "data.mdb").read_bytes()
    with thud.Terrain.open(whole) as terrain:
        tree = sorted({place.offset // 4096 for place in terrain._snapshot.places.values()})
    # The two metas and the pages of the tree as often as all the rest.
    others = sorted(set(range(len(data) // 4096)) - {page + k for page in tree for k in range(6)})
    refused = 0
    for n in range(COUNT):
        path = copied(whole, tmp_path)
        broken = bytearray(data)
        page = int(rng.choice(others)) if n % 2 else int(rng.integers(0, len(data) // 4096))
        at = 4096 * page + int(rng.integers(0, 200 if n % 4 == 1 else 4096))
        broken[at] ^= 1 << int(rng.integers(8))
        (path / "data.mdb").write_bytes(broken)
        named, _ = ask_everything(path, answers)
        refused += named > 0
    assert refused > COUNT // 8


def test_a_flipped_bit_of_a_tile_leaves_the_others(whole, answers, tmp_path):
    path = copied(whole, tmp_path)
    with thud.Terrain.open(whole) as terrain:
        place = terrain._snapshot.places[TileKey(2, 2)]
    data = bytearray((path / "data.mdb").read_bytes())
    data[place.offset + 3000] ^= 4
    (path / "data.mdb").write_bytes(data)
    assert ask_everything(path, answers) == (1, SIDE * SIDE - 1)
    with thud.Terrain.open(path) as terrain, pytest.raises(DamagedStoreError, match=r"copy: tile \(2, 2, 0\): its checksum"):
        terrain.tile((2, 2))
    with pytest.raises(DamagedStoreError, match="checksum"):
        verify(path)


@pytest.mark.parametrize("part", [0.0, 0.001, 0.1, 0.5, 0.9, 0.999])
def test_a_cut_file_is_named_before_it_is_mapped(whole, tmp_path, part):
    # LMDB maps as much as its meta pages say: reading beyond the end of the file is SIGBUS.
    path = copied(whole, tmp_path)
    data = (path / "data.mdb").read_bytes()
    (path / "data.mdb").write_bytes(data[: int(part * len(data))])
    with pytest.raises(TruncatedStoreError, match=r"data\.mdb"):
        thud.Terrain.open(path)
    with pytest.raises(TruncatedStoreError):
        verify(path)
    if part:
        with pytest.raises(TruncatedStoreError):
            TileWriter(path, manifest())


def test_lmdb_alone_dies_of_a_cut_file(whole, tmp_path):
    # What the check of the meta pages is for: without it the process ends.
    path = copied(whole, tmp_path)
    data = (path / "data.mdb").read_bytes()
    (path / "data.mdb").write_bytes(data[: len(data) // 2])
    code = (
        f"import lmdb\nt = lmdb.open({str(path)!r}, readonly=True, lock=False).begin()\n"
        "for key, value in t.cursor(): value.count(b'x')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert done.returncode == -signal.SIGBUS


def test_a_longer_file_is_the_same_store(whole, answers, tmp_path):
    path = copied(whole, tmp_path)
    with open(path / "data.mdb", "ab") as file:
        file.write(b"\xff" * 10_000)
    assert ask_everything(path, answers) == (0, SIDE * SIDE)


def test_exchanged_tiles(whole, tmp_path):
    one, two = key_bytes(TileKey(0, 0)), key_bytes(TileKey(1, 0))

    def exchange(transaction):
        a, b = transaction.get(one), transaction.get(two)
        transaction.put(one, b)
        transaction.put(two, a)

    path = rewritten(whole, tmp_path, exchange)
    with thud.Terrain.open(path) as terrain, pytest.raises(DamagedStoreError, match="exchanged"):
        terrain.tile((0, 0))
    with pytest.raises(DamagedStoreError, match="exchanged"):
        verify(path)


def test_a_missing_or_other_tile_is_seen_by_the_content_hash(whole, tmp_path):
    path = rewritten(whole, tmp_path, lambda transaction: transaction.delete(key_bytes(TileKey(3, 3))))
    with pytest.raises(DamagedStoreError, match="content hash"):
        verify(path)
    other = record("heights", (3, 3), seed=1234)
    path = rewritten(whole, tmp_path, lambda transaction: transaction.put(key_bytes(TileKey(3, 3)), other))
    with pytest.raises(DamagedStoreError, match="content hash"):
        verify(path)


def test_wrong_offsets_under_right_checksums(whole, answers, tmp_path):
    rng = np.random.default_rng(6)
    key = key_bytes(TileKey(1, 1))
    with thud.Terrain.open(whole) as terrain:
        data = bytes(terrain._snapshot.record(terrain._snapshot.places[TileKey(1, 1)]))
    for _ in range(COUNT // 4):
        broken = bytearray(data)
        at = int(rng.integers(64, 240) // 8 * 8) if rng.random() < 0.5 else int(rng.integers(272, 900) // 4 * 4)
        struct.pack_into("<I", broken, at, int(rng.choice([0, 1, 2**31 - 1, 2**32 - 1, rng.integers(2**32)])))
        path = rewritten(whole, tmp_path, lambda transaction, broken=broken: transaction.put(key, sealed(broken)))
        with thud.Terrain.open(path) as terrain:
            try:
                tile = terrain.tile((1, 1))
                tile.verify()
            except DamagedStoreError:
                continue
            assert tile.triangles().corners.tobytes() == answers[1, 1, 0]


@pytest.mark.parametrize(
    ("old", "new", "error"),
    [
        (b'"version":1', b'"version":2', StoreVersionError),
        (b'"format":"thud terrain"', b'"format":"other"', ForeignStoreError),
        (b'"kind":"heights"', b'"kind":"voxels"', DamagedStoreError),
        (b'"kind":"heights"', b'"kind":"triangles"', DamagedStoreError),
        (b'"units"', b'"unit"', DamagedStoreError),
        (b'"count":[6', b'"count":[3', DamagedStoreError),
        (b'"count":[6', b'"count":[1e999', DamagedStoreError),
        (b"}", b"", DamagedStoreError),
        (b'"source":{', b'"source":' + b"[" * 100_000 + b"{", DamagedStoreError),
    ],
)
def test_wrong_manifests(whole, tmp_path, old, new, error):
    def change(transaction):
        text = transaction.get(MANIFEST_KEY)
        assert old in text
        transaction.put(MANIFEST_KEY, text.replace(old, new))

    path = rewritten(whole, tmp_path, change)
    with pytest.raises(error):
        verifying.verify_here(path, lambda done, every: None)


def test_another_version_of_lmdb(whole, tmp_path):
    path = copied(whole, tmp_path)
    data = bytearray((path / "data.mdb").read_bytes())
    data[20] = data[4096 + 20] = 2
    (path / "data.mdb").write_bytes(data)
    with pytest.raises(StoreVersionError, match="version 2 of LMDB"):
        thud.Terrain.open(path)


def test_a_process_that_dies_is_a_named_error(whole, monkeypatch):
    # Whatever a store does to the process that reads it.
    code = "import os, signal; os.kill(os.getpid(), signal.SIGBUS)"
    start = subprocess.Popen

    def dying(command, **options):
        return start([command[0], "-c", code], **options)

    monkeypatch.setattr(subprocess, "Popen", dying)
    with pytest.raises(DamagedStoreError, match="SIGBUS"):
        verify(whole)
    code = "raise SystemExit(3)"
    with pytest.raises(ThudError, match="code 3"):
        verify(whole)


def test_values_lie_where_lmdb_has_them(whole):
    # Our reading of the pages beside LMDB's, value by value.
    with thud.Terrain.open(whole) as terrain:
        places = terrain._snapshot.places
        found = {key_bytes(key): bytes(terrain._snapshot.record(place)) for key, place in places.items()}
        assert all(isinstance(place, Place) for place in places.values())
    with lmdb.open(str(whole), readonly=True, lock=False) as environment, environment.begin() as transaction:
        wanted = dict(transaction.cursor())
    del wanted[MANIFEST_KEY]
    assert found == wanted


def test_the_list_of_free_pages_is_checked_before_a_writer_takes_from_it(whole, tmp_path):
    path = copied(whole, tmp_path)
    with TileWriter(path, manifest()) as writer:
        for key in keys()[:9]:
            writer.put(record("heights", key, seed=5))
            writer.flush()
    data = (path / "data.mdb").read_bytes()
    with open(path / "data.mdb", "rb") as file:
        read = file_reader(file)
        meta = read_meta(read, len(data))
        assert meta.free.entries > 0
        places = [place for _, place in _values(read, meta, meta.free)]
    with TileWriter(path, manifest()) as writer:
        assert len(writer.keys) == SIDE * SIDE
    for place, value in ((places[0], 2**40), (places[-1], meta.last_page + 1), (places[0], 0)):
        broken = bytearray(data)
        struct.pack_into("<Q", broken, place.offset + 8, value)
        (path / "data.mdb").write_bytes(broken)
        with pytest.raises(DamagedStoreError, match="free pages"):
            TileWriter(path, manifest())
        # Readers have no use for it.
        thud.Terrain.open(path).close()


def test_a_tree_of_several_levels(tmp_path):
    # Thousands of keys; values small enough to lie in the leaves themselves.
    rng = np.random.default_rng(2)
    wanted = {rng.bytes(int(rng.integers(1, 200))): rng.bytes(int(rng.choice([0, 10, 900, 3000, 9000]))) for _ in range(3000)}
    with lmdb.open(str(tmp_path), map_size=2**28) as environment:
        for part in range(3):
            with environment.begin(write=True) as transaction:
                for key, value in list(wanted.items())[part::3]:
                    transaction.put(key, value)
        assert environment.stat()["depth"] >= 3
    with open(tmp_path / "data.mdb", "rb") as file:
        read = file_reader(file)
        meta = read_meta(read, (tmp_path / "data.mdb").stat().st_size)
        found = {key: read(*place) for key, place in values(read, meta)}
    assert list(found) == sorted(wanted)
    assert found == wanted


def with_section(data, kind, name, change):
    """A record in which one section was changed, with a checksum that fits."""
    row = [section for section, _, _ in SECTIONS[kind]].index(name)
    broken = bytearray(data)
    offset, count = struct.unpack_from("<QQ", broken, 64 + 16 * row)
    change(np.frombuffer(broken, SECTIONS[kind][row][1], count, offset))
    return sealed(broken)


@pytest.mark.parametrize("name", ["planes", "node_boxes", "face_boxes", "fall", "rim", "box"])
def test_wrong_bounds_of_a_displaced_tile_are_found_by_verify(name):
    # Numbers that fit together, of another surface: queries passed by what was there, and verify by the numbers.
    data = record("displaced", (0, 0), seed=3, rows=9, columns=9)
    Tile(data).verify()

    def change(values):
        if name == "rim":
            values[0] ^= 1
        elif name == "box":
            values[5] += 1.0
        elif name == "planes":
            values.reshape(-1, 8)[0, 4:6] -= 1.0
        elif name == "fall":
            values[0] += 1.0
        else:
            values.reshape(-1, 6)[-1, [2, 5]] -= 1.0

    broken = Tile(with_section(data, DISPLACED, name, change))
    with pytest.raises(DamagedStoreError, match=name):
        broken.verify()


@pytest.mark.parametrize("change", ["upper", "lower", "narrow", "none"])
def test_bounding_maps_that_do_not_hold_the_surface_are_found_by_verify(change):
    # With the right checksum queries culled what was there, also of stores that were said to be of unknown origin.
    data = record("displaced", (0, 0), seed=3, rows=9, columns=9)

    def lengths(values):
        if change == "upper":
            values[: len(values) // 2] -= 0.3
        elif change == "lower":
            values[len(values) // 2 :] += 0.3
        elif change == "narrow":
            # Lengths that meet, in all quads alike.
            values[:] = values.mean()

    broken = Tile(with_section(data, DISPLACED, "lengths", lengths))
    if change == "none":
        broken.verify()
    else:
        with pytest.raises(DamagedStoreError, match="bounding maps, quad"):
            broken.verify()


def test_a_tile_beyond_the_bounds_is_found_by_verify(whole, tmp_path):
    # Queries said so, verify did not.
    data = record("heights", (1, 1), seed=32, rows=13, columns=17)

    def lift(values):
        values[2] += 1000.0

    key, raised = key_bytes(TileKey(1, 1)), with_section(data, HEIGHTS, "origin", lift)

    def change(transaction):
        transaction.put(key, raised)
        text = json.loads(transaction.get(MANIFEST_KEY))
        transaction.put(MANIFEST_KEY, json.dumps(text | {"content_hash": None}).encode())

    path = rewritten(whole, tmp_path, change)
    with pytest.raises(DamagedStoreError, match="beyond the manifest's bounds"):
        verifying.verify_here(path, lambda done, every: None)
    with thud.Terrain.open(path) as terrain, pytest.raises(DamagedStoreError, match="beyond the manifest's bounds"):
        terrain.tile_shape(terrain.ground(TileKey(1, 1)))


def test_triangles_without_area_are_no_ground(tmp_path):
    # A small triangle alone in its tile lost its area when its corners were rounded to the quantum: the tile was written, and
    # every query that came near it failed.
    vertices = [[0, 0, 0], [64, 0, 0], [64, 64, 0], [0, 64, 0], [100, 10, 5], [100.0002, 10, 5], [100, 10.0002, 5]]
    mesh = thud.TriangleMesh(vertices, [[0, 1, 2], [0, 2, 3], [4, 5, 6]])
    thud.terrain.build(mesh, tmp_path / "small", tile=16.0, progress=False)
    verify(tmp_path / "small")
    with thud.Terrain.open(tmp_path / "small") as terrain:
        assert len(terrain) == 2
        np.testing.assert_allclose(terrain.height([[10.0, 9.0], [100.0, 10.0]]), [0.0, np.nan])
        np.testing.assert_allclose(terrain.closest_point([[100.0, 10.0, 0.0]]).distance, 36.0)
    flat = [[0.0, 0.0, 0.0], [1e-5, 0.0, 0.0], [0.0, 1e-5, 0.0]]
    with pytest.raises(InvalidInputError, match="area"):
        triangle_record((0, 0), flat, [[0, 1, 2]], quantum=2.0**-10)
    # And written by somebody else.
    data = triangle_record((0, 0), np.array(flat) * 1e6, [[0, 1, 2]], quantum=2.0**-10)

    def shrink(values):
        values[...] = 0.0

    empty = Tile(with_section(with_section(data, TRIANGLES, "corners", shrink), TRIANGLES, "planes", shrink))
    with pytest.raises(DamagedStoreError, match="area"):
        empty.verify()
    with pytest.raises(DamagedStoreError, match="area"):
        _ = empty.shape
