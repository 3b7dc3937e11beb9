"""Stores filled from arrays, meshes and fields: what is there is what was given, for any number of workers and any number of
deaths."""

from __future__ import annotations

import os
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
from tests.terrain.filling.sources import SHAPE, TILE, cave, hills, holed
from thud.errors import InvalidInputError, WorkerError
from thud.terrain import GridField, build, from_field, verify
from thud.terrain.filling.height_windows import HeightWindows
from thud.terrain.filling.processes import Processes
from thud.terrain.filling.tolerances import AHEAD
from thud.terrain.making.fields import MeshField
from thud.terrain.tiles.record import TileKey

ROOT = Path(__file__).parents[3]

#: How often a build is killed; on demand THUD_KILLS=20 python -m pytest tests/terrain/filling/test_build.py -k killed.
KILLS = int(os.environ.get("THUD_KILLS") or (1 if os.environ.get("THUD_TEST_SIZE") == "small" else 3))

QUANTUM = 2.0**-10


def dump(path):
    """All keys and values, by LMDB's own reading."""
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return list(transaction.cursor())


def quiet(source, path, **options):
    return build(source, path, progress=False, **options)


# --- heights ------------------------------------------------------------------------------------------------------------------


def test_heights_are_what_was_given(tmp_path):
    heights = holed()
    done = quiet(heights, tmp_path / "store", spacing=(2.0, 1.5), tile=TILE)
    assert verify(tmp_path / "store").content_hash == done.content_hash
    seen = np.full(SHAPE, np.nan)
    with thud.Terrain.open(tmp_path / "store") as terrain:
        assert terrain.manifest.count == (7, 5, 1)
        # The south-east corner is all holes.
        assert (6, 4) not in terrain
        assert len(terrain) == 7 * 5 - 4
        for key in sorted(terrain.keys()):
            shape = terrain.tile(key).shape
            part = np.asarray(shape.heights, np.float64)
            row, column = key.j * TILE, key.i * TILE
            np.testing.assert_array_equal(np.asarray(shape.origin), [2.0 * column, 1.5 * row, 0.0])
            before = seen[row : row + part.shape[0], column : column + part.shape[1]]
            # What neighbours share is the same.
            both = ~np.isnan(before) & ~np.isnan(part)
            np.testing.assert_array_equal(before[both], part[both])
            before[~np.isnan(part)] = part[~np.isnan(part)]
    there = ~np.isnan(seen)
    assert (np.isnan(heights) <= ~there).all()
    np.testing.assert_allclose(seen[there], heights[there], atol=0.5 * QUANTUM, rtol=0)
    assert ((seen[there] / QUANTUM) % 1.0 == 0.0).all()


def test_masked_arrays_and_other_types(tmp_path):
    heights = holed()
    masked = np.ma.array(np.nan_to_num(heights, nan=-9999.0), mask=np.isnan(heights))
    one = quiet(heights, tmp_path / "a", spacing=2.0, tile=TILE)
    two = quiet(masked, tmp_path / "b", spacing=2.0, tile=TILE)
    assert one == two
    whole = np.round(hills()).astype(np.int16)
    assert quiet(whole, tmp_path / "c", spacing=2.0, tile=TILE) == quiet(
        whole.astype(np.float32), tmp_path / "d", spacing=2.0, tile=TILE
    )


@pytest.mark.parametrize("kind", ["displaced", "triangles"])
def test_other_kinds_have_the_same_samples(tmp_path, kind):
    heights = holed()
    options = {"samples": 8} if kind == "displaced" else {"error": 0.0}
    quiet(heights, tmp_path / "store", spacing=2.0, tile=TILE, kind=kind, **options)
    found = {}
    with thud.Terrain.open(tmp_path / "store") as terrain:
        for key in sorted(terrain.keys()):
            for x, y, z in terrain.tile(key).triangles().corners.reshape(-1, 3).tolist():
                # Bit for bit, whichever tile it is in.
                assert found.setdefault((x, y), z) == z
    there = ~np.isnan(heights)
    squares = there[:-1, :-1] & there[1:, :-1] & there[:-1, 1:] & there[1:, 1:]
    wide = np.pad(squares, 1)
    corners = wide[:-1, :-1] | wide[1:, :-1] | wide[:-1, 1:] | wide[1:, 1:]
    wanted = {(2.0 * i, 2.0 * j) for j, i in np.argwhere(corners).tolist()}
    # Without any error allowed, samples in the plane of their neighbours alone may be left out; noise leaves few.
    assert found.keys() <= wanted
    assert len(found) == len(wanted) if kind == "displaced" else len(found) > 0.999 * len(wanted)
    for (x, y), z in found.items():
        assert abs(z - heights[int(y / 2), int(x / 2)]) <= 0.5 * QUANTUM


def test_heights_beyond_single_precision(tmp_path):
    heights = 3e6 + hills((20, 20))
    quiet(heights, tmp_path / "store", spacing=1.0, tile=8)
    with thud.Terrain.open(tmp_path / "store") as terrain:
        shape = terrain.tile((1, 1)).shape
        assert shape.heights.dtype == np.float64
        np.testing.assert_allclose(shape.heights, heights[8:17, 8:17], atol=0.5 * QUANTUM, rtol=0)


class Windows:
    """A source that counts what is asked of it."""

    shape, spacing, crs, origin = (3000, 40), (1.0, 1.0), "EPSG:25830", (5e5, 4.7e6, 0.0)

    def __init__(self):
        self.largest = 0

    def read(self, rows, columns):
        self.largest = max(self.largest, (rows[1] - rows[0]) * (columns[1] - columns[0]))
        y, x = np.mgrid[slice(*rows), slice(*columns)]
        return 0.01 * y + np.sin(0.1 * x)

    def describe(self):
        return {"source": "windows"}


def test_sources_are_read_by_windows(tmp_path, monkeypatch):
    monkeypatch.setattr("thud.terrain.filling.height_windows.SCAN_SAMPLES", 4000)
    source = Windows()
    assert isinstance(source, HeightWindows)
    done = quiet(source, tmp_path / "store", tile=16)
    assert source.largest <= 4000
    assert done.crs == "EPSG:25830"
    assert done.origin == (5e5, 4.7e6, 0.0)
    assert done.bounds[2] == pytest.approx(np.sin(3.9), abs=0.01)


# --- going on -----------------------------------------------------------------------------------------------------------------


def test_workers_make_the_same_records(tmp_path):
    one = quiet(holed(), tmp_path / "one", spacing=2.0, tile=TILE)
    two = quiet(holed(), tmp_path / "two", spacing=2.0, tile=TILE, workers=2)
    assert one == two
    assert dump(tmp_path / "one") == dump(tmp_path / "two")


def test_workers_that_are_killed_are_replaced(tmp_path):
    one = quiet(holed(), tmp_path / "one", spacing=2.0, tile=16)
    runner = Processes(2)
    pools = []
    make = runner._pool

    def watched(data):
        pools.append(make(data))
        return pools[-1]

    runner._pool = watched
    killed = []

    def kill(done, total, key):
        if done == 5 and not killed:
            killed.append(next(iter(pools[-1]._processes)))
            os.kill(killed[0], signal.SIGKILL)

    two = build(holed(), tmp_path / "two", spacing=2.0, tile=16, runner=runner, progress=kill)
    assert killed
    assert len(pools) == 2
    assert one == two
    assert dump(tmp_path / "one") == dump(tmp_path / "two")


def number(key, piece):
    time.sleep(0.005)
    return bytes([piece % 251])


def test_workers_are_never_far_ahead_of_the_writer():
    taken, done = [], 0

    def tasks():
        for k in range(40):
            taken.append(k)
            yield TileKey(k, 0), k

    for key, record in Processes(2)(number, tasks()):
        done += 1
        assert record == bytes([key.i % 251])
        assert len(taken) <= done + 2 * AHEAD
    assert done == 40


def die(points):
    os.kill(os.getpid(), signal.SIGKILL)


def test_workers_that_always_die_are_an_error(tmp_path, monkeypatch):
    monkeypatch.setattr("thud.terrain.filling.processes.DEATHS", 1)
    with pytest.raises(WorkerError, match=r"ended 2 times without a tile.*\(0, 0, 0\)"):
        quiet(
            die,
            tmp_path / "store",
            lower=[0, 0, 0],
            upper=[40, 40, 10],
            cell=2.0,
            samples=2,
            tile=8,
            workers=1,
            runner=Processes(1),
        )


def test_only_what_is_missing_is_made(tmp_path):
    heights, made = holed(), []

    class Stop(Exception):
        pass

    def stop(done, total, key):
        made.append(key)
        if done == 7:
            raise Stop

    with pytest.raises(Stop):
        build(heights, tmp_path / "store", spacing=2.0, tile=TILE, progress=stop)
    whole = quiet(heights, tmp_path / "whole", spacing=2.0, tile=TILE)
    with thud.Terrain.open(tmp_path / "store") as terrain:
        assert len(terrain) == 7
        assert not terrain.manifest.is_complete
    again = build(heights, tmp_path / "store", spacing=2.0, tile=TILE, progress=lambda done, total, key: made.append(key))
    assert len(made) == len(set(made)) == 35
    assert again == whole
    assert dump(tmp_path / "store") == dump(tmp_path / "whole")


def test_a_store_of_something_else_is_not_gone_on_with(tmp_path):
    quiet(hills(), tmp_path / "store", spacing=2.0, tile=TILE)
    other = hills()
    other[77, 12] += 1.0
    for heights, options in ((other, {}), (hills(), {"tile": 16}), (hills(), {"leaf": 30}), (hills(), {"spacing": 1.0})):
        with pytest.raises(InvalidInputError, match="holds another terrain"):
            quiet(heights, tmp_path / "store", **{"spacing": 2.0, "tile": TILE} | options)
    with pytest.raises(InvalidInputError, match=r"there is a store in .* already"):
        quiet(hills(), tmp_path / "store", spacing=2.0, tile=TILE, resume=False)


def test_a_build_that_is_killed_goes_on(tmp_path):
    """SIGKILL at some moments, with a reader running: no torn tile, and in the end the same records and content hash."""
    path, done = tmp_path / "store", quiet(holed(), tmp_path / "whole", spacing=2.0, tile=8)
    stop, seen, faults = threading.Event(), [], []

    def read():
        while not stop.is_set():
            try:
                with thud.Terrain.open(path) as terrain:
                    seen.append(len(terrain))
                    for key in terrain.keys()[-3:]:
                        terrain.tile(key).verify()
            except (FileNotFoundError, thud.errors.ForeignStoreError):
                time.sleep(0.01)
            except Exception as error:
                faults.append(error)
                return

    reader = threading.Thread(target=read)
    reader.start()
    rng = np.random.default_rng(5)
    command = [sys.executable, "-m", "tests.terrain.filling.sources", str(path), "heights", "1"]
    deaths = 0
    try:
        for kill in range(KILLS + 1):
            process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            wait = int(rng.integers(1, max(2, 480 // (KILLS + 1))))
            last = ""
            for count, line in enumerate(process.stdout, 1):
                last = line
                if kill < KILLS and count >= wait and "finished" not in line:
                    process.send_signal(signal.SIGKILL)
                    break
            process.stdout.close()
            deaths += process.wait() == -signal.SIGKILL
    finally:
        stop.set()
        reader.join()
    assert not faults
    assert deaths == KILLS
    assert last.split() == ["finished", done.content_hash]
    assert len(seen) > KILLS
    assert dump(path) == dump(tmp_path / "whole")


# --- meshes -------------------------------------------------------------------------------------------------------------------


def mesh():
    shape = thud.HeightField(hills((60, 80)), 2.0).surface()
    # A tower that stands on it, as one mesh.
    tower = thud.to_mesh(thud.Box([3.0, 3.0, 20.0]))
    vertices = np.concatenate([shape[0], np.asarray(tower.vertices) + [63.0, 65.0, 420.0]])
    return thud.TriangleMesh(vertices, np.concatenate([shape[1], np.asarray(tower.faces) + len(shape[0])]))


def test_a_mesh_is_there_triangle_by_triangle(tmp_path):
    given = mesh()
    done = quiet(given, tmp_path / "store", tile=32.0)
    assert done.kind == "triangles"
    assert 0.0 < done.overhang < 8.0
    found = []
    with thud.Terrain.open(tmp_path / "store", trusted=False) as terrain:
        assert len(terrain) == 5 * 4
        for key in sorted(terrain.keys()):
            found.append(terrain.tile(key).triangles().corners)
    found = np.concatenate(found)
    wanted = np.round(np.asarray(given.vertices)[given.faces] / QUANTUM) * QUANTUM
    assert found.shape == wanted.shape

    def ordered(triangles):
        # A triangle may begin at any of its corners.
        turns = np.stack([np.roll(triangles, k, axis=1).reshape(-1, 9) for k in range(3)])
        rows = sorted(min(map(tuple, turns[:, t].tolist())) for t in range(turns.shape[1]))
        return np.array(rows)

    np.testing.assert_array_equal(ordered(found), ordered(wanted))


# --- fields -------------------------------------------------------------------------------------------------------------------


FIELD = {"lower": [-0.3, -0.2, -0.1], "upper": [45.3, 45.2, 6.1], "cell": 1.1, "samples": 2}


def test_a_field_in_tiles_is_the_field_at_once(tmp_path):
    quiet(cave, tmp_path / "store", **FIELD, tile=16)
    whole = from_field(cave, *(FIELD[name] for name in ("lower", "upper", "cell")), samples=2, thickness=1.1).surface
    wanted = {whole.samples(k).point.tobytes() for k in range(len(whole.quads))}
    found = []
    with thud.Terrain.open(tmp_path / "store") as terrain:
        for key in sorted(terrain.keys()):
            shape = terrain.tile(key).shape
            found += [shape.samples(k).point.tobytes() for k in range(len(shape.quads))]
    assert len(found) == len(set(found))
    assert set(found) == wanted


def test_a_field_as_triangles(tmp_path):
    grid = GridField(np.arange(8.0) - 3.2 + np.sin(np.arange(24.0))[:, None, None] + np.zeros((24, 24, 8)), [0, 0, 0], 1.0)
    quiet(grid, tmp_path / "a", samples=2, tile=16, kind="triangles")
    quiet(grid, tmp_path / "b", samples=2, tile=16)
    with thud.Terrain.open(tmp_path / "a") as a, thud.Terrain.open(tmp_path / "b") as b:
        assert a.keys() == b.keys()
        for key in sorted(a.keys()):
            one, two = a.tile(key).triangles().corners, b.tile(key).triangles().corners
            assert one.shape == two.shape
            np.testing.assert_allclose(one.mean(axis=(0, 1)), two.mean(axis=(0, 1)), atol=QUANTUM)


def test_a_mesh_as_a_field(tmp_path):
    given = mesh()
    field = MeshField(given)
    low, high = field.bounds
    options = {"lower": low - 12.0, "upper": high + 12.0, "cell": 8.0, "samples": 4, "tile": 32}
    quiet(
        MeshField(thud.to_mesh(thud.Box([20.0, 20.0, 9.0]))),
        tmp_path / "store",
        **options | {"lower": [-30.0] * 3, "upper": [30.0] * 3},
    )
    with thud.Terrain.open(tmp_path / "store") as terrain:
        points = np.concatenate(
            [terrain.tile(key).shape.quad_samples(np.arange(2)).point.reshape(-1, 3) for key in sorted(terrain.keys())]
        )
        assert np.abs(np.abs(points) - [20.0, 20.0, 9.0]).min(axis=1).max() < 4.0
    with pytest.raises(InvalidInputError, match="holds another terrain"):
        quiet(field, tmp_path / "store", **options)


# --- what is refused ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "options", "match"),
    [
        (hills(), {}, "spacing: needed"),
        (hills(), {"spacing": -1.0}, "spacing: expected positive"),
        (hills(), {"spacing": 2.0, "kind": "voxels"}, "kind: expected one of"),
        (hills(), {"spacing": 2.0, "tile": 0}, "tile: expected a whole number"),
        (hills(), {"spacing": 2.0, "tile": 2.5}, "tile: expected a whole number"),
        (hills(), {"spacing": 2.0, "tile": 20, "kind": "displaced"}, "tile: expected a multiple of samples"),
        (hills(), {"spacing": 2.0, "error": 0.1}, "error: of no use to 'heights'"),
        (hills(), {"spacing": 2.0, "samples": 8}, "samples: of no use to 'heights'"),
        (hills(), {"spacing": 2.0, "kind": "triangles", "thickness": 8.0}, "thickness: of no use to 'triangles'"),
        (hills(), {"spacing": "far"}, "spacing: expected numbers"),
        (hills(), {"spacing": 2.0, "tile": np.nan}, "tile: expected a whole number"),
        (hills(), {"spacing": 2.0, "tile": np.inf}, "tile: expected a whole number"),
        (hills(), {"spacing": 2.0, "cell": 1.0}, "cell: of no use to an array of heights"),
        (hills(), {"spacing": 2.0, "quantum": 0.3}, "quantum: expected a power of two"),
        (hills(), {"spacing": 2.0, "workers": 0}, "workers: expected"),
        (hills(), {"spacing": 2.0, "workers": True}, "workers: expected"),
        (hills(), {"spacing": 1e30}, "it reaches over"),
        (hills()[0], {"spacing": 2.0}, "source: expected heights of shape"),
        (hills().astype(complex), {"spacing": 2.0}, "source: expected heights"),
        (np.full((4, 4), np.nan), {"spacing": 2.0}, "all of them are holes"),
        (np.array([[0.0, 1.0], [np.inf, 2.0]]), {"spacing": 2.0}, "row 1, column 0 is infinite"),
        ("alps.tif", {}, "source: a file is read by thud.io.read_elevation"),
        (cave, {}, "lower, upper, cell: needed"),
        (cave, {**FIELD, "kind": "heights"}, "kind: a field may have overhangs"),
        (cave, {**FIELD, "tile": 3}, "tile: expected a multiple of samples"),
        (mesh(), {}, "tile: needed for a mesh"),
        (mesh(), {"tile": 32.0, "kind": "heights"}, "kind: tiles of a mesh"),
        (mesh(), {"tile": 1e-6}, "tile: 1e-06 m is too small"),
        (7, {}, "spacing: needed"),
        (thud.HeightField(np.zeros((3, 3)), 1.0), {}, "source: a HeightField; give the heights and the spacing="),
        (thud.Box((1, 1, 1)), {}, "source: expected heights, a TriangleMesh, a field or a generated_world, got a Box"),
        (thud.TriangleMesh, {"tile": 4.0}, "source: expected .* got the class TriangleMesh; make one"),
    ],
)  # fmt: skip
def test_what_is_refused(tmp_path, source, options, match):
    with pytest.raises(InvalidInputError, match=match):
        quiet(source, tmp_path / "store", **options)
    assert not (tmp_path / "store").exists()


def test_errors_name_the_tile(tmp_path):
    def broken(points):
        return np.where(points[:, 0] > 30.0, np.nan, points[:, 2] - 3.0)

    with pytest.raises(InvalidInputError, match=r"tile \(\d, \d, 0\): field: nan at point"):
        quiet(broken, tmp_path / "store", **FIELD, tile=16)
    with pytest.raises(InvalidInputError, match="cannot be sent to other processes"):
        quiet(broken, tmp_path / "other", **FIELD, tile=16, workers=2)


def test_progress_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("thud.terrain.filling.progress.PAUSE", -1.0)
    build(hills(), tmp_path / "store", spacing=2.0, tile=TILE)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 34
    assert lines[0].startswith("thud: building store: 1/35 tiles, ")
    assert "samples a second, about" in lines[0]
    assert lines[0].endswith("left")
