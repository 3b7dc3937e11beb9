"""A saved world is the same world; a damaged or hostile file is a named error, and a killed save leaves the old file."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh
from tests.world.model import random_pose, some_shapes
from thud.errors import FileFormatError, InvalidInputError, StaleHandleError
from thud.world.bodies import Bodies
from thud.world.shape_state import flatten, unflatten
from thud.world.tolerances import SAVED_DEPTH
from thud.world.world_state import ARRAYS, COLUMNS, VALUES

ROOT = Path(__file__).parents[2]


def busy_world(count: int = 60, **options: Any) -> thud.World:
    """Bodies of every kind, some removed, some reshaped, with names, rules and velocities."""
    rng = np.random.default_rng(7)
    shapes = some_shapes()
    mesh = shapes[7]
    assert isinstance(mesh, thud.TriangleMesh)
    vertices = np.asarray(mesh.vertices)
    shapes += [
        mesh.deformed(vertices * [1.0, 1.5, 0.5]),
        thud.TriangleMesh(
            vertices, mesh.faces, bounding="obb", spm="face", spm_levels=2, spm_samples=8, spm_directions=2, obb_weights="area"
        ),
        thud.Compound([shapes[9], mesh, shapes[9]], [thud.Pose((0.1 * k, 0, 0)) for k in range(3)]),
        thud.HalfSpace((0.3, -0.2, 1.0), -1.4),
    ]
    world = thud.World(**options)
    handles = [
        world.add(
            shapes[k % len(shapes)], random_pose(rng, 2.0), name=f"body {k} ä" if k % 3 else None, static=k % 7 == 0,
            mass=1.0 + k if k % 2 else None, layer=k % 3, mask=~0 if k % 5 else 0b101, velocity=rng.normal(size=3),
            angular_velocity=rng.normal(size=3), bullet=k % 11 == 0,
        )
        for k in range(count)
    ]  # fmt: skip
    world.remove(handles[3:20:4])
    world.set_shape(handles[1], thud.Sphere(0.25))
    world.remove(handles[1])
    world.set_poses(handles[2], random_pose(rng, 1.0))
    return world


def answers(world: thud.World) -> dict[str, bytes]:
    """Bytes of all that a world says."""
    out = {"pairs": world.pairs(), "meet": world.intersecting(), "handles": world.handles(), "poses": world.poses()}
    out |= dict(zip(("lower", "upper"), world.bounds(), strict=True))
    down = np.tile([0.1, 0.2, -1.0], (40, 1))
    results = {
        "contacts": world.contacts(),
        "distances": world.distances(0.4),
        "impacts": world.impacts(0.1),
        "rays": world.raycast(np.random.default_rng(8).uniform(-3, 3, (40, 3)), down),
    }
    for name, result in results.items():
        out |= {f"{name} {field.name}": getattr(result, field.name) for field in fields(result)}
    return {name: array.tobytes() for name, array in out.items()} | {
        "names": repr([world.name(handle) for handle in world.handles().tolist()]).encode()
    }


def test_a_loaded_world_is_the_same_to_the_last_bit(tmp_path: Path) -> None:
    world = busy_world()
    path = tmp_path / "world.npz"
    thud.io.save_world(world, path)
    loaded = thud.io.load_world(path)
    wanted = answers(world)
    assert len(world.contacts().depth) > 10
    assert len(world.impacts(0.1).time) > 3
    assert answers(loaded) == wanted
    # Saved again, it is the same file.
    thud.io.save_world(loaded, tmp_path / "again.npz")
    assert (tmp_path / "again.npz").read_bytes() == path.read_bytes()
    # And both go on alike: what is given out next, what is stale.
    alive = world.handles()
    for w in (world, loaded):
        w.remove(alive[[5, 2, 9]])
        with pytest.raises(StaleHandleError, match="removed"):
            w.set_poses(alive[2], None)
    rng = np.random.default_rng(3)
    more, poses = some_shapes()[:6], np.array([random_pose(rng, 1.0) for _ in range(6)])
    np.testing.assert_array_equal(world.add_many(more, poses), loaded.add_many(more, poses))
    for shape in some_shapes():
        assert world.add(shape) == loaded.add(shape)
    assert answers(loaded) == answers(world)


def test_what_one_shape_was_stays_one(tmp_path: Path) -> None:
    world = busy_world()
    thud.io.save_world(world, tmp_path / "w")
    loaded = thud.io.load_world(tmp_path / "w")
    handles = world.handles().tolist()
    before = {(a, b) for a in handles for b in handles if world.shape(a) is world.shape(b)}
    assert before == {(a, b) for a in handles for b in handles if loaded.shape(a) is loaded.shape(b)}
    assert len(before) > len(handles)
    kinds = [type(world.shape(handle)) for handle in handles]
    assert kinds == [type(loaded.shape(handle)) for handle in handles]


def test_meshes_saved_before_there_were_several_directions_have_one() -> None:
    mesh = thud.TriangleMesh(*blob_mesh(3, 1), spm="face", spm_levels=2, spm_samples=8)
    state = flatten([mesh])
    del state["meshes"][0]["spm_directions"]
    (again,) = unflatten(state)
    assert isinstance(again, thud.TriangleMesh)
    assert (again.spm, again.spm_directions) == ("face", 1)


@pytest.mark.parametrize("options", [{"broadphase": "tree", "midphase": "none", "caches": False, "threads": 2}, {}])
def test_options_are_kept_and_the_filter_is_the_callers(tmp_path: Path, options: dict[str, Any]) -> None:
    world = busy_world(20, **options)
    thud.io.save_world(world, tmp_path / "w")
    loaded = thud.io.load_world(tmp_path / "w", filter=lambda a, b: np.zeros(len(a), bool))
    for name in ("broadphase", "midphase", "caches", "threads"):
        assert getattr(loaded, name) == getattr(world, name)
    assert len(world.pairs()) > 0
    assert len(loaded.pairs()) == 0


def test_empty_worlds(tmp_path: Path) -> None:
    world = thud.World()
    for _ in range(2):
        thud.io.save_world(world, tmp_path / "w")
        loaded = thud.io.load_world(tmp_path / "w")
        assert len(loaded) == 0
        assert loaded.pairs().shape == (0, 2)
        handle = world.add(thud.Sphere(1.0))
        assert loaded.add(thud.Sphere(1.0)) == handle
        world.remove(handle)


def test_every_column_of_the_bodies_is_saved_or_made_anew() -> None:
    columns = {name for name, value in vars(Bodies()).items() if isinstance(value, np.ndarray)}
    assert columns == {*COLUMNS, "bounds", "moved", "revision", "slept"}


def test_what_cannot_be_saved_is_an_error_and_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "w"
    thud.io.save_world(busy_world(5), path)
    before = path.read_bytes()

    class Odd(thud.Sphere):
        pass

    deep: Any = thud.Sphere(1.0)
    for _ in range(SAVED_DEPTH + 1):
        deep = thud.Compound([deep])
    for shape, message in ((Odd(1.0), "Odd"), (deep, "deep")):
        world = thud.World()
        world.add(shape)
        with pytest.raises(InvalidInputError, match=message):
            thud.io.save_world(world, path)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["w"]


def test_a_missing_file_and_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        thud.io.load_world(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        thud.io.save_world(thud.World(), tmp_path / "none" / "w")


def test_arguments_in_the_wrong_order_are_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=r"world: expected a thud\.World, got a "):
        thud.io.save_world(tmp_path / "w", thud.World())  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="path: expected the name of a file or folder, got a int"):
        thud.io.load_world(3)  # type: ignore[arg-type]
    assert not (tmp_path / "w").exists()


# Hostile files


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("good") / "w"
    world = busy_world(30)
    free = world.handles()[~world.static() & ~world.kinematic()]
    world.add_joint(thud.dynamics.Hinge((0, 0, 0), (0, 1, 0), motor=thud.dynamics.Motor(speed=1.0)), free[0], free[1])
    world.add_joint(thud.dynamics.Distance((0, 0, 1), (0, 0, 0), limits=(0.0, 2.0)), free[2])
    thud.io.save_world(world, path)
    return path.read_bytes()


def refused(tmp_path: Path, data: bytes, message: str = "bad") -> None:
    (tmp_path / "bad").write_bytes(data)
    with pytest.raises(FileFormatError, match=message) as caught:
        thud.io.load_world(tmp_path / "bad")
    assert isinstance(caught.value, ValueError)
    assert "bad" in str(caught.value)


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes], method: int = zipfile.ZIP_STORED) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array, allow_pickle=True)
    return stream.getvalue()


def test_truncated_files(good: bytes, tmp_path: Path) -> None:
    for length in [0, 1, 22, 100, *np.linspace(200, len(good) - 1, 40).astype(int).tolist()]:
        refused(tmp_path, good[:length])


def test_files_with_one_byte_changed_are_refused_or_the_same(good: bytes, tmp_path: Path) -> None:
    # Sizes, names, data and checksums; a few bytes of a zip (times, versions) mean nothing.
    rng = np.random.default_rng(0)
    (tmp_path / "good").write_bytes(good)
    wanted = thud.io.load_world(tmp_path / "good").state()
    kept = 0
    for at in rng.integers(0, len(good), 400).tolist() + list(range(len(good) - 60, len(good))):
        data = bytearray(good)
        data[at] ^= 1 << int(rng.integers(8))
        (tmp_path / "bad").write_bytes(data)
        try:
            found = thud.io.load_world(tmp_path / "bad").state()
        except FileFormatError:
            continue
        kept += 1
        assert json.dumps([wanted[name] for name in VALUES]) == json.dumps([found[name] for name in VALUES])
        assert all(wanted[name].tobytes() == found[name].tobytes() for name in ARRAYS)
    assert kept < 120


def test_other_files(tmp_path: Path, good: bytes) -> None:
    refused(tmp_path, b"hello", "not a whole file")
    refused(tmp_path, packed({"a": b""}), "header.json")
    refused(tmp_path, packed(members(good), zipfile.ZIP_DEFLATED), "compressed")
    bomb = members(good) | {"poses.npy": npy(np.zeros((2**20, 12)))}
    refused(tmp_path, packed(bomb, zipfile.ZIP_DEFLATED), "compressed")
    refused(tmp_path, packed(members(good) | {"more": b""}), "more")
    less = members(good)
    del less["mass.npy"]
    refused(tmp_path, packed(less), "mass")


def test_members_that_lie_about_their_size(tmp_path: Path, good: bytes) -> None:
    # The central directory says that a member is larger than the file.
    at = good.rindex(b"PK\x01\x02")
    data = bytearray(good)
    data[at + 20 : at + 28] = (2**31).to_bytes(4, "little") * 2
    refused(tmp_path, bytes(data), "bytes")
    # A header of an array promises more than there is.
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (2**40, 12)})
    refused(tmp_path, packed(members(good) | {"poses.npy": stream.getvalue()}), "does not fit")
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": (-1, -12)})
    refused(tmp_path, packed(members(good) | {"poses.npy": stream.getvalue() + bytes(96)}), "poses")


def test_no_pickle_is_read(tmp_path: Path, good: bytes) -> None:
    class Boom:
        def __reduce__(self) -> tuple[Any, ...]:
            return os.mkdir, (str(tmp_path / "boom"),)

    evil = np.empty(1, object)
    evil[0] = Boom()
    refused(tmp_path, packed(members(good) | {"mass.npy": npy(evil)}), "mass")
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize(
    "header", [b"", b"[]", b"{", b"[" * 100_000, b"\xff\xfe", b'{"format": "other"}', b'{"version": 1e999}']
)
def test_headers_that_are_none(tmp_path: Path, good: bytes, header: bytes) -> None:
    refused(tmp_path, packed(members(good) | {"header.json": header}), r"header\.json|not a whole")


def changed_header(**entries: Any) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        parts["header.json"] = json.dumps(json.loads(parts["header.json"]) | entries).encode()

    return change


def changed_mesh(**entries: Any) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        header = json.loads(parts["header.json"])
        header["meshes"][0] |= entries
        parts["header.json"] = json.dumps(header).encode()

    return change


def changed_array(name: str, edit: Callable[[np.ndarray], Any]) -> Callable[[dict[str, bytes]], None]:
    def change(parts: dict[str, bytes]) -> None:
        array = np.lib.format.read_array(io.BytesIO(parts[f"{name}.npy"]))
        result = edit(array)
        parts[f"{name}.npy"] = npy(array if result is None else result)

    return change


def put(index: Any, value: Any) -> Callable[[np.ndarray], None]:
    def edit(array: np.ndarray) -> None:
        array[index] = value

    return edit


OPTIONS = {"broadphase": "auto", "midphase": "auto", "caches": True, "threads": None}
HOSTILE = [
    (changed_header(version=6), "version 6"),
    (changed_header(version=1), "version 1: this thud reads version 5"),
    (changed_header(version=True, names=None), "."),
    (changed_header(version=None), "version"),
    (changed_header(more=1), "more"),
    (changed_header(options=None), "options"),
    (changed_header(options=OPTIONS | {"threads": 0}), "threads"),
    (changed_header(options=OPTIONS | {"threads": "all"}), "threads"),
    (changed_header(options=OPTIONS | {"broadphase": "magic"}), "broadphase"),
    (changed_header(options=OPTIONS | {"midphase": ["auto"]}), "midphase"),
    (changed_header(names=None), "names"),
    (changed_header(names=[[10**9, "far"]]), "names"),
    (changed_header(names=[[-1, "before"]]), "names"),
    (changed_header(names=[[0, 5]]), "names"),
    (changed_header(names=[[0, "a"], [0, "b"]]), "names"),
    (changed_header(meshes=[]), "meshes"),
    (changed_mesh(bounding="cube"), "bounding"),
    (changed_mesh(kdop_k=18.0), "kdop_k"),
    (changed_mesh(triangles=10**12), "triangles"),
    (changed_mesh(triangles=0), "triangles"),
    (changed_mesh(refitted=1), "refitted"),
    (changed_mesh(vertices=1), "meshes"),
    (changed_array("joint_handle", put(0, 1)), "joint_handle"),
    (changed_array("joint_handle", put(1, 7)), "joint_handle"),
    (changed_array("joint_handle", lambda a: a[:1]), "joint_handle"),
    (changed_array("joint_bodies", put((0, 1), -1)), "joint_bodies"),
    (changed_array("joint_bodies", put((0, 0), 10**9)), "joint_bodies"),
    (changed_array("joint_bodies", lambda a: a[:, [0, 0]].copy()), "joint_bodies"),
    (changed_array("joint_kind", put((0, 0), 7)), "joint_kind"),
    (changed_array("joint_kind", put((0, 1), 6)), "joint_kind"),
    (changed_array("joint_frames", put((0, 0), 3.0)), "joint_frames"),
    (changed_array("joint_reals", put((0, 1), np.nan)), "joint_reals"),
    (changed_array("joint_reals", put((0, 4), 9.0)), "joint_reals"),
    (changed_array("joint_impulses", put((0, 0), np.inf)), "joint_impulses"),
    (changed_array("joint_breaks", put((0, 0), -1.0)), "joint_breaks"),
    (changed_array("calm", put(0, -1.0)), "calm"),
    (changed_array("poses", put((0, 0), np.nan)), "poses: row 0"),
    (changed_array("poses", put((0, 10), np.inf)), "poses: row 0"),
    (changed_array("poses", put((0, 0), 1e200)), "poses: row 0"),
    (changed_array("poses", put((0, slice(0, 9)), -np.eye(3).ravel())), "poses: row 0"),
    (changed_array("poses", lambda a: a.astype("<f4")), "poses"),
    (changed_array("poses", lambda a: a.astype(">f8")), "poses"),
    (changed_array("poses", np.asfortranarray), "poses"),
    (changed_array("poses", lambda a: a[:-1]), "poses"),
    (changed_array("poses", lambda a: a[:, :7].copy()), "poses"),
    (changed_array("poses", lambda a: a.ravel()), "poses"),
    (changed_array("alive", lambda a: a.reshape(-1, 1)), "alive"),
    (changed_array("alive", lambda a: a.view(np.uint8)), "alive"),
    (changed_array("alive", lambda a: np.where(a, np.uint8(2), np.uint8(0)).view(bool)), "alive"),
    (changed_array("alive", put(0, False)), "free_rows"),
    (changed_array("velocity", put((0, 0), np.nan)), "velocity"),
    (changed_array("angular_velocity", put((0, 0), np.inf)), "angular_velocity"),
    (changed_array("mass", put(0, -1.0)), "mass"),
    (changed_array("mass", put(0, np.inf)), "mass"),
    (changed_array("shape", put(0, 10**6)), "shape"),
    (changed_array("shape", put(0, -1)), "shape"),
    (changed_array("shape", put(slice(None), 0)), "shape_roots"),
    (changed_array("rules", put((0, 0), 3)), "rules"),
    (changed_array("rules", put((0, 0), 0)), "rules"),
    (changed_array("rules", put((0, 2), 7)), "rules"),
    (changed_array("generation", put(0, 0)), "generation"),
    (changed_array("generation", put(0, 2**40)), "generation"),
    (changed_array("free_rows", put(0, 10**6)), "free_rows"),
    (changed_array("free_rows", lambda a: np.concatenate([a, a])), "free_rows"),
    (changed_array("free_rows", lambda a: a[1:]), "free_rows"),
    (changed_array("free_shapes", lambda a: np.concatenate([a, [0]])), "free_shapes"),
    (changed_array("shape_roots", put(0, 10**6)), "shape_roots"),
    (changed_array("shape_roots", put(0, -2)), "shape_roots"),
    (changed_array("shape_roots", put(0, -1)), "shape_roots"),
    (changed_array("shape_roots", put(1, 0)), "equal"),
    (changed_array("shape_kinds", put(0, 77)), "shape_kinds"),
    (changed_array("shape_kinds", put(0, -1)), "shape_kinds"),
    (changed_array("shape_kinds", put(0, 8)), "meshes"),
    (changed_array("shape_kinds", put(0, 9)), "compound"),
    (changed_array("shape_kinds", lambda a: a[:-1]), "shape_real_starts"),
    (changed_array("shape_real_starts", put(1, 10**15)), "shape_real_starts"),
    (changed_array("shape_real_starts", put(1, -(2**63))), "shape_real_starts"),
    (changed_array("shape_real_starts", put(0, 1)), "shape_real_starts"),
    (changed_array("shape_real_starts", put(1, 2)), "shape node 0"),
    (changed_array("shape_int_starts", lambda a: a[:0]), "shape_int_starts"),
    (changed_array("shape_reals", put(0, -1.0)), "shape node 0"),
    (changed_array("shape_reals", put(slice(None), np.nan)), "shape node"),
    (changed_array("shape_reals", put(slice(None), 1e300)), "shape node"),
    (changed_array("shape_ints", put(0, 10**9)), "shape node"),
    (changed_array("shape_ints", put(slice(None), 2**62)), "shape node"),
    (changed_array("shape_ints", put(-1, -5)), "shape node"),
    (changed_array("shape_ints", put(slice(None), 0)), "shape node"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "message"), HOSTILE, ids=range(len(HOSTILE)))
def test_hostile_values(tmp_path: Path, good: bytes, change: Callable[[dict[str, bytes]], None], message: str) -> None:
    parts = members(good)
    change(parts)
    refused(tmp_path, packed(parts), message)


def test_random_damage_of_the_numbers_is_refused_or_harmless(tmp_path: Path, good: bytes) -> None:
    # Whole archives with right checksums and wrong numbers: refused, or a world that answers.
    rng = np.random.default_rng(2)
    arrays = [name for name in members(good) if name.endswith(".npy")]
    for _ in range(150):
        parts = members(good)
        name = arrays[int(rng.integers(len(arrays)))]
        array = np.lib.format.read_array(io.BytesIO(parts[name]))
        if not array.size:
            continue
        flat = array.reshape(-1)
        at = int(rng.integers(len(flat)))
        if array.dtype == bool:
            flat[at] = not flat[at]
        else:
            flat.view(np.int64)[at] ^= np.int64(1) << np.int64(rng.integers(63))
        (tmp_path / "bad").write_bytes(packed(parts | {name: npy(array)}))
        try:
            world = thud.io.load_world(tmp_path / "bad")
        except FileFormatError:
            continue
        world.intersecting()


def test_a_tree_that_is_none(tmp_path: Path) -> None:
    mesh = some_shapes()[7]
    assert isinstance(mesh, thud.TriangleMesh)
    world = thud.World()
    world.add(mesh.deformed(np.asarray(mesh.vertices) * 2.0))
    thud.io.save_world(world, tmp_path / "w")
    thud.io.load_world(tmp_path / "w")
    parts = members((tmp_path / "w").read_bytes())
    ints = np.lib.format.read_array(io.BytesIO(parts["shape_ints.npy"]))
    for at in range(12, len(ints)):
        for value in (-1, 10**12, int(ints[at]) + 1):
            wrong = ints.copy()
            wrong[at] = value
            refused(tmp_path, packed(parts | {"shape_ints.npy": npy(wrong)}), "tree")


def test_compounds_that_double_at_every_level(tmp_path: Path) -> None:
    # A small file, and 2**30 parts.
    shape: Any = thud.Sphere(1.0)
    world = thud.World()
    shape = thud.Compound([shape, shape])
    world.add(shape)
    thud.io.save_world(world, tmp_path / "w")
    parts = members((tmp_path / "w").read_bytes())
    levels = 30
    pose = [1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0, 0, 0, 0]
    arrays = {
        "shape_roots": np.array([levels]),
        "shape_kinds": np.array([0] + [9] * levels),
        "shape_reals": np.array([1.0, *(pose * 2 * levels)]),
        "shape_ints": np.repeat(np.arange(levels), 2),
        "shape_real_starts": np.concatenate([[0], 1 + 24 * np.arange(levels + 1)]),
        "shape_int_starts": np.concatenate([[0], 2 * np.arange(levels + 1)]),
    }
    refused(tmp_path, packed(parts | {f"{name}.npy": npy(array) for name, array in arrays.items()}), "parts")


# Killed while saving

CHILD = """
import os, signal, sys
import thud
world = thud.io.load_world(sys.argv[1])
if sys.argv[2] == "rename":
    os.replace = lambda *names: os.kill(os.getpid(), signal.SIGKILL)
print("ready", flush=True)
k = 0
while True:
    world.add(thud.Sphere(1.0 + k), name=str(k))
    thud.io.save_world(world, sys.argv[1])
    k += 1
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs SIGKILL")
@pytest.mark.parametrize("moment", ["rename", "any", "any again"])
def test_a_killed_save_leaves_a_whole_file(tmp_path: Path, moment: str) -> None:
    path = tmp_path / "w"
    world = busy_world(40)
    thud.io.save_world(world, path)
    before = path.read_bytes()
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join([str(Path(thud.__file__).parents[1]), os.environ.get("PYTHONPATH", "")])
    }
    child = subprocess.Popen([sys.executable, "-c", CHILD, str(path), moment], stdout=subprocess.PIPE, env=environment)
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"ready"
        if moment != "rename":
            time.sleep(float(np.random.default_rng().uniform(0.05, 0.3)))
            child.kill()
        assert child.wait(60) == -signal.SIGKILL
    finally:
        child.kill()
        child.wait()
        assert child.stdout is not None
        child.stdout.close()
    loaded = thud.io.load_world(path)
    if moment == "rename":
        assert path.read_bytes() == before
        assert len(list(tmp_path.glob(".w.*.tmp"))) == 1
    # A later save works and what was left behind does not disturb it.
    thud.io.save_world(loaded, path)
    assert len(thud.io.load_world(path)) == len(loaded) >= len(world)
