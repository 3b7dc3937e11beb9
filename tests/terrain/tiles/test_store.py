"""The store: what is written is there, for many readers, across forks, on read-only disks, and after any death of writers."""

from __future__ import annotations

import errno
import os
import pickle
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("lmdb")

import lmdb

import thud
from tests.terrain.tiles.scenes import KINDS, record
from tests.terrain.tiles.stores import SIDE, keys, make, manifest
from thud.errors import (
    ClosedTerrainError,
    DiskFullError,
    ForeignStoreError,
    InvalidInputError,
    MapFullError,
    MissingTileError,
    StoreError,
    StoreInUseError,
)
from thud.terrain import Manifest, TileWriter, verify, write_tiles
from thud.terrain.tiles.environment import environment, named_errors
from thud.terrain.tiles.record import TileKey
from thud.terrain.tiles.snapshot import Snapshot, content_rows, key_bytes, key_from

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def records():
    return {key: make(key) for key in keys()}


@pytest.fixture
def store(tmp_path, records):
    path = tmp_path / "store"
    write_tiles(path, manifest(), records.items())
    return path


def dump(path):
    """All keys and values, by LMDB's own reading."""
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return list(transaction.cursor())


def child(code, *arguments):
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def test_what_was_written_is_there(store, records):
    with thud.Terrain.open(store) as terrain:
        assert len(terrain) == len(records) == SIDE * SIDE
        assert terrain.keys() == [TileKey(i, j) for j in range(SIDE) for i in range(SIDE)]
        assert terrain.manifest.is_complete
        for key, data in records.items():
            tile = terrain.tile(key)
            assert tile.key == (*key, 0)
            assert bytes(terrain._snapshot.record(terrain._snapshot.places[tile.key])) == data
            assert key in terrain
        assert (99, 99) not in terrain
        with pytest.raises(MissingTileError, match="no tile"):
            terrain.tile((99, 99))


def test_arrays_are_the_files_own_memory(store):
    with thud.Terrain.open(store) as terrain:
        tile = terrain.tile((2, 3))
        whole = np.frombuffer(terrain._snapshot._map, np.uint8)
        low, high = whole.ctypes.data, whole.ctypes.data + whole.nbytes
        for name, array in tile.sections.items():
            assert not array.size or low <= array.ctypes.data < high, name
            assert array.ctypes.data % 16 == 0 or not array.size


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind(tmp_path, kind):
    path = tmp_path / kind
    some = {(i, 0): record(kind, (i, 0), seed=i) for i in range(3)}
    done = write_tiles(path, manifest(kind), some.items())
    assert verify(path).content_hash == done.content_hash
    with thud.Terrain.open(path, trusted=False) as terrain:
        for key in some:
            assert terrain.tile(key).kind == kind
            assert terrain.tile(key) is terrain.tile(key)


def test_the_order_of_writing_does_not_matter(tmp_path, store, records):
    other = tmp_path / "other"
    write_tiles(other, manifest(), reversed(list(records.items())))
    assert dump(other) == dump(store)


def test_only_what_is_missing_is_made(tmp_path, store, records):
    made = []

    def maker(key):
        return lambda: (made.append(key), records[key])[1]

    path = tmp_path / "half"
    with TileWriter(path, manifest()) as writer:
        for key in keys()[: SIDE + 2]:
            writer.put(records[key])
    with thud.Terrain.open(path) as terrain:
        assert not terrain.manifest.is_complete
        assert len(terrain) == SIDE + 2
    seen = []
    done = write_tiles(path, manifest(), ((key, maker(key)) for key in keys()), progress=lambda n, key: seen.append((n, key)))
    assert made == keys()[SIDE + 2 :]
    assert seen[-1] == (SIDE * SIDE, (SIDE - 1, SIDE - 1, 0))
    assert dump(path) == dump(store)
    # Once more: nothing is made, and nothing is written.
    before = (path / "data.mdb").read_bytes()
    made.clear()
    assert write_tiles(path, manifest(), ((key, maker(key)) for key in keys())) == done
    assert not made
    assert (path / "data.mdb").read_bytes() == before


def test_a_tile_without_ground_is_left_out(tmp_path, records):
    path = tmp_path / "holes"
    write_tiles(path, manifest(), [((0, 0), records[0, 0]), ((1, 0), lambda: None)])
    with thud.Terrain.open(path) as terrain:
        assert terrain.keys() == [(0, 0, 0)]


def test_another_terrain_is_not_mixed_in(store, records):
    with pytest.raises(InvalidInputError, match="another terrain"):
        write_tiles(store, manifest(side=3), records.items())
    with pytest.raises(InvalidInputError, match="its kind is triangles"):
        write_tiles(store, manifest(), [((0, 0, 1), record("triangles", (0, 0, 1)))])
    with pytest.raises(InvalidInputError, match="grid of tiles"):
        write_tiles(store, manifest(), [((77, 0), record("heights", (77, 0)))])
    with pytest.raises(InvalidInputError, match="another tile"):
        write_tiles(store, manifest(), [((0, 0, 5), records[0, 0])])
    assert verify(store).tiles == SIDE * SIDE


# Closing ------------------------------------------------------------------------------------------------------------------


def test_tiles_end_with_their_terrain(store):
    terrain = thud.Terrain.open(store)
    tile = terrain.tile((1, 1))
    heights, total = tile.sections["heights64"], tile.triangle_count
    assert total > 0
    terrain.close()
    terrain.close()
    for name in ("arrays", "shape", "sections", "sphere", "depth", "triangle_count"):
        with pytest.raises(ClosedTerrainError, match="closed"):
            getattr(tile, name)
    for ask in (tile.triangles, tile.verify, lambda: tile.in_reach([0, 0, 0], 1.0)):
        with pytest.raises(ClosedTerrainError, match="closed"):
            ask()
    for ask in (lambda: terrain.tile((1, 1)), terrain.keys, lambda: terrain.manifest, terrain.refresh, lambda: len(terrain)):
        with pytest.raises(ClosedTerrainError, match="closed"):
            ask()
    assert repr(terrain).endswith("closed)")
    # The memory stays mapped as long as somebody holds it: LMDB would have unmapped it, and reading ended the process.
    assert np.isfinite(heights).any()


def test_one_environment_a_process(store):
    with thud.Terrain.open(store) as one, thud.Terrain.open(Path(store, "..", store.name)) as two:
        assert one._environment is two._environment
        with pytest.raises(StoreInUseError, match="open for reading"):
            TileWriter(store, manifest())
        one.close()
        assert two.tile((0, 0)).triangle_count
    with TileWriter(store, manifest()):
        with pytest.raises(StoreInUseError, match="open for writing"):
            TileWriter(store, manifest())
        with thud.Terrain.open(store) as terrain:
            assert terrain.tile((0, 0)).triangle_count


def test_a_terrain_that_nobody_holds_is_closed(store):
    assert thud.Terrain.open(store).keys()
    with TileWriter(store, manifest()):
        pass


def test_a_terrain_travels_to_other_processes_as_its_path(store):
    with thud.Terrain.open(store, memory=12345) as terrain, pickle.loads(pickle.dumps(terrain)) as other:
        assert (other.keys(), other.memory) == (terrain.keys(), 12345)


def test_a_reader_sees_what_it_opened_until_it_refreshes(tmp_path, records):
    path = tmp_path / "growing"
    with TileWriter(path, manifest()) as writer:
        writer.put(records[0, 0])
        writer.flush()
        with thud.Terrain.open(path) as terrain:
            old = terrain.tile((0, 0))
            assert not terrain.refresh()
            # Many commits: pages of older ones are used again, but none that a reader has.
            for key in keys()[1:]:
                writer.put(records[key])
                writer.flush()
                assert len(terrain) == 1
            writer.put(record("heights", (0, 0), seed=99, rows=13, columns=17))
            writer.flush()
            before = old.sections["heights64"].tobytes()
            assert old.digest == thud.terrain.tiles.tile.Tile(records[0, 0]).digest
            assert terrain.refresh()
            assert len(terrain) == SIDE * SIDE
            assert terrain.tile((0, 0)).digest != old.digest
            assert old.sections["heights64"].tobytes() == before


def test_threads_share_a_terrain(store, records):
    wrong = []
    with thud.Terrain.open(store, memory=20_000) as terrain:
        wanted = {key: terrain.tile(key).triangle_count for key in records}

        def read(seed):
            rng = np.random.default_rng(seed)
            for _ in range(200):
                key = keys()[rng.integers(len(records))]
                if terrain.tile(key).triangle_count != wanted[key]:
                    wrong.append(key)

        threads = [threading.Thread(target=read, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not wrong


# Other processes ----------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_opens_its_own(store, records):
    # Closing in the child what the parent had opened took the parent's row out of the table of readers: a writer then used
    # pages that the parent was reading.
    with thud.Terrain.open(store) as terrain:
        tile = terrain.tile((1, 2))
        heights = tile.sections["heights64"].copy()
        held = tile.sections["heights64"]
        readers = terrain._environment.handle.readers()
        assert str(os.getpid()) in readers
        out, into = os.pipe()
        child_process = os.fork()
        if child_process == 0:
            code = 1
            try:
                try:
                    _ = tile.triangle_count
                except ClosedTerrainError:
                    # What the parent had is still mapped here, and the terrain opens the store anew.
                    same = np.array_equal(held, heights, equal_nan=True)
                    again = np.array_equal(terrain.tile((1, 2)).sections["heights64"], heights, equal_nan=True)
                    ours = str(os.getpid()) in terrain._environment.handle.readers()
                    terrain.close()
                    code = 0 if same and again and ours else 2
            finally:
                os.write(into, bytes([code]))
                os._exit(code)
        os.close(into)
        os.waitpid(child_process, 0)
        assert os.read(out, 1) == b"\0"
        os.close(out)
        assert str(os.getpid()) in terrain._environment.handle.readers()
        assert tile.triangle_count > 0


def test_rows_of_killed_readers_are_cleared(store):
    code = "import sys, time, thud; t = thud.Terrain.open(sys.argv[1]); print('ready', flush=True); time.sleep(60)"
    reader = child(code, store)
    assert reader.stdout.readline() == "ready\n"
    with thud.Terrain.open(store) as terrain:
        assert str(reader.pid) in terrain._environment.handle.readers()
    os.kill(reader.pid, signal.SIGKILL)
    reader.communicate()
    with thud.Terrain.open(store) as terrain:
        assert str(reader.pid) not in terrain._environment.handle.readers()


def test_eight_processes_read_while_one_writes(tmp_path, records):
    path = tmp_path / "busy"
    write_tiles(path, manifest(), [((0, 0), records[0, 0])])
    code = (
        "import sys, time, thud\n"
        "end, seen = time.monotonic() + 60, 1\n"
        "while time.monotonic() < end:\n"
        "    with thud.Terrain.open(sys.argv[1]) as terrain:\n"
        "        for key in terrain.keys():\n"
        "            assert terrain.tile(key).triangle_count > 0\n"
        "        assert len(terrain) >= seen\n"
        "        seen = len(terrain)\n"
        "        if terrain.manifest.is_complete and seen == int(sys.argv[2]):\n"
        "            print('all', terrain.manifest.content_hash)\n"
        "            break\n"
    )
    readers = [child(code, path, SIDE * SIDE) for _ in range(8)]
    with TileWriter(path, manifest()) as writer:
        for key in keys():
            writer.put(records[key])
            writer.flush()
            time.sleep(0.02)
        done = writer.finish()
    for reader in readers:
        out, errors = reader.communicate(timeout=120)
        assert (out, reader.returncode) == (f"all {done.content_hash}\n", 0), errors


def test_a_killed_writer_loses_nothing_that_was_committed(tmp_path, store):
    path = tmp_path / "killed"
    wanted = dict(dump(store))
    rng = np.random.default_rng(4)
    kills, tiles = 0, 0
    reader = None
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    for _ in range(40):
        command = [sys.executable, "-m", "tests.terrain.tiles.stores", str(path), "0.01"]
        writer = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, env=environment)
        committed = []
        # Killed at any moment after some commits, or before the first.
        stop = int(rng.integers(0, 3))
        for line in writer.stdout:
            committed.append(line.split())
            if len(committed) > stop and kills < 12:
                time.sleep(float(rng.uniform(0.0, 0.02)))
                os.kill(writer.pid, signal.SIGKILL)
                kills += 1
                break
        committed += [line.split() for line in writer.stdout]
        writer.wait()
        writer.stdout.close()
        if reader is None:
            reader = thud.Terrain.open(path)
        reader.refresh()
        for row in committed:
            if row[0] != "finished":
                assert (int(row[0]), int(row[1])) in reader
        # All that is there is whole, and the number of tiles never falls.
        assert len(reader) >= tiles
        tiles = len(reader)
        for key, place in reader._snapshot.places.items():
            assert bytes(reader._snapshot.record(place)) == wanted[key_bytes(key)]
        if committed and committed[-1][0] == "finished":
            break
    reader.close()
    assert kills == 12
    assert dump(path) == dump(store)
    assert verify(path).tiles == SIDE * SIDE


# Disks --------------------------------------------------------------------------------------------------------------------


def write_slowly(path, records, **options):
    """A commit a tile."""
    with TileWriter(path, manifest(), **options) as writer:
        for data in records.values():
            writer.put(data)
            writer.flush()


def test_a_full_map_is_named_and_the_build_goes_on(tmp_path, store, records):
    path = tmp_path / "small"
    big = {key: record("heights", key, seed=key[0], rows=120, columns=120) for key in keys()[: 4 * SIDE]}
    with pytest.raises(MapFullError, match="map_size"):
        write_slowly(path, big, map_size=2**20)
    assert verify(path).tiles >= 1
    some = {(0, 5): records[0, 5]}
    write_tiles(path, manifest(), some.items())
    with thud.Terrain.open(path) as terrain:
        assert (0, 5) in terrain


def test_a_full_disk_is_named_and_the_build_goes_on(tmp_path, records):
    path = tmp_path / "full"
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    big = {(i, 0): record("heights", (i, 0), seed=i, rows=120, columns=120) for i in range(4)}
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (700_000, hard))
        with pytest.raises(DiskFullError, match="no room"):
            write_slowly(path, {key: records[key] for key in keys()[SIDE : 2 * SIDE]} | big)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert sorted(os.listdir(path)) == ["data.mdb", "lock.mdb"]
    assert verify(path).tiles >= SIDE
    write_tiles(path, manifest(), big.items())
    assert verify(path).tiles == SIDE + 4


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_disk_that_is_full_before_the_first_page_is_named(tmp_path, code):
    # LMDB says it by text alone; only one of the three was known while a store was being opened.
    with pytest.raises(DiskFullError, match=os.strerror(code)), named_errors(tmp_path):
        raise lmdb.Error(f"{tmp_path}: {os.strerror(code)}")


@pytest.fixture
def read_only(tmp_path):
    """A folder that can be mounted read-only, and how; where nobody may mount, skipped."""
    folder = tmp_path / "disk"
    folder.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(folder)], capture_output=True).returncode:
        pytest.skip("needs the right to mount a disk")
    yield folder, lambda: subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("lock_file", [True, False])
def test_a_read_only_disk(read_only, records, lock_file):
    folder, freeze = read_only
    path = folder / "store"
    done = write_tiles(path, manifest(), records.items())
    if not lock_file:
        (path / "lock.mdb").unlink()
    freeze()
    assert verify(path).content_hash == done.content_hash
    with thud.Terrain.open(path) as terrain:
        assert len(terrain) == SIDE * SIDE
        assert terrain.tile((0, 0)).triangle_count
        assert not terrain.refresh()
    with pytest.raises(StoreError, match="Read-only"):
        write_tiles(path, manifest(), [])


def test_a_lock_file_that_may_not_be_written(store, monkeypatch):
    # As another user's store is; root may write everything, so that LMDB's refusal is made up here.
    opened, options = lmdb.open, []

    def refuse(path, **given):
        options.append(given)
        if given.get("lock", True):
            raise lmdb.Error(f"{path}: Permission denied")
        return opened(path, **given)

    monkeypatch.setattr(lmdb, "open", refuse)
    with thud.Terrain.open(store) as terrain:
        assert terrain.tile((0, 0)).triangle_count
    assert len(options) == 2
    with pytest.raises(PermissionError):
        TileWriter(store, manifest())


# What is no store ---------------------------------------------------------------------------------------------------------


def test_what_is_no_store(tmp_path):
    with pytest.raises(FileNotFoundError, match="no such folder"):
        thud.Terrain.open(tmp_path / "nothing")
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(ForeignStoreError, match="it is a file"):
        TileWriter(tmp_path / "file", manifest())
    with pytest.raises(FileNotFoundError):
        verify(tmp_path / "nothing")
    with pytest.raises(ForeignStoreError, match=r"no file data\.mdb"):
        thud.Terrain.open(tmp_path)
    file = tmp_path / "file"
    file.write_bytes(b"text")
    with pytest.raises(ForeignStoreError, match="a file"):
        thud.Terrain.open(file)
    other = tmp_path / "other"
    with lmdb.open(str(other)) as environment, environment.begin(write=True) as transaction:
        transaction.put(b"something", b"else")
    with pytest.raises(ForeignStoreError, match="key that no store"):
        thud.Terrain.open(other)
    with pytest.raises(ForeignStoreError):
        TileWriter(other, manifest())
    empty = tmp_path / "empty"
    lmdb.open(str(empty)).close()
    with pytest.raises(ForeignStoreError, match="no manifest"):
        thud.Terrain.open(empty)


def test_a_writer_begins_where_one_was_killed_before_its_first_commit(tmp_path, records):
    path = tmp_path / "new"
    path.mkdir()
    (path / "data.mdb").write_bytes(b"")
    assert write_tiles(path, manifest(), records.items()).is_complete


def test_manifests_are_checked():
    whole = manifest()
    assert Manifest.from_json(whole.to_json()) == whole
    for wrong in (
        {"kind": "voxels"}, {"kind": ["heights"]}, {"tile_size": (1e-12, 1, 0)}, {"tile_size": (1, 1, 1e-9)},
        # A grid that nobody can make a list of, and whose tiles have no names in 31 bits.
        {"count": (2**12 + 1, 2**12, 1)}, {"count": (2**31 - 1, 2**31 - 1, 2**31 - 1)},
        {"bounds": (0, 0, 0, -1, 1, 1)}, {"bounds": (0, 0)}, {"tile_size": (0, 1, 1)}, {"count": (0, 1, 1)},
        {"quantum": 0.1}, {"units": "foot"}, {"crs": 5}, {"source": [1]}, {"source": {"a": float("nan")}},
        {"source": {"a": b"x"}}, {"content_hash": "abc"}, {"origin": (np.nan, 0, 0)},
    ):  # fmt: skip
        values = {name: getattr(whole, name) for name in whole.__dataclass_fields__} | wrong
        with pytest.raises(InvalidInputError, match=next(iter(wrong))):
            Manifest(**values)


def test_keys_are_in_order_in_the_database():
    rng = np.random.default_rng(0)
    some = [TileKey(*row) for row in rng.integers(-(2**31), 2**31, (200, 3)).tolist()]
    assert [key_from(key_bytes(key)) for key in some] == some
    by_bytes = sorted(some, key=key_bytes)
    assert by_bytes == sorted(some, key=lambda key: (key.k, key.j, key.i))


def resident(path):
    """Bytes of the store's file that are mapped into this process."""
    name, total, ours = str((path / "data.mdb").resolve()), 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(" ", 1)[0]:
            ours = line.endswith(name)
        elif ours and line.startswith("Rss:"):
            total += 1024 * int(line.split()[1])
    return total


@pytest.mark.skipif(not Path("/proc/self/smaps").exists(), reason="needs /proc")
def test_listing_and_hashing_a_store_keep_no_record_in_memory(tmp_path):
    # Each record that was touched brought its neighbourhood into memory: 2.2 GB at the end of a build of 4,096 tiles.
    path = tmp_path / "store"
    write_tiles(path, manifest(), ((key, record("heights", key, seed=1, rows=180, columns=150)) for key in keys()))
    size = (path / "data.mdb").stat().st_size
    assert size > 8 * 2**20
    found = environment(path, write=False)
    snapshot = Snapshot(found)
    try:
        before = resident(path)
        assert before < size // 8
        assert max(resident(path) for _ in content_rows(snapshot)) < before + size // 8
    finally:
        snapshot.close()
        found.release()


def test_how_a_store_is_opened_is_said(tmp_path):
    with pytest.raises(InvalidInputError, match=r"a store is opened by thud.Terrain.open\(path\), got 'alps'"):
        thud.Terrain("alps")
    with pytest.raises(InvalidInputError, match="path: expected the name of a file or folder, got a ndarray"):
        thud.Terrain.open(np.zeros(3))
    with pytest.raises(InvalidInputError, match="path: expected the name of a file or folder, got a ndarray"):
        thud.terrain.build("alps", np.zeros((3, 3)), spacing=1.0)
