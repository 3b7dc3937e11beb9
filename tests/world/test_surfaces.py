"""Displaced surfaces in a world: each answer is that of the surface and the body by themselves."""

from __future__ import annotations

import io
import json
import zipfile
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.displaced import grid_surface
from tests.world.model import random_pose, some_shapes
from thud.errors import FileFormatError, InvalidInputError, StaleHandleError

#: All but those with a mesh and the half-space.
SHAPES = [some_shapes()[k] for k in (0, 1, 2, 3, 4, 5, 6, 9)]
COUNT = 40


@cache
def ground(seed: int = 0, **options: Any) -> thud.terrain.DisplacedSurface:
    """About 8 x 8 m about the origin."""
    surface = grid_surface(np.random.default_rng(seed), quads=(2, 2), side=4, **options)
    return thud.terrain.DisplacedSurface(
        np.asarray(surface.positions) - [4.0, 4.0, 0.0], surface.directions, surface.coordinates, surface.primitives,
        surface.quads, surface.displacements,
    )  # fmt: skip


def crowd(seed: int, surfaces: list[tuple[thud.terrain.DisplacedSurface, Any]], **options: Any):
    """(world, handles of the surfaces, handles of the bodies, [(shape, pose)]): bodies about the ground."""
    rng = np.random.default_rng(seed)
    world = thud.World(**options)
    world.remove(world.add(thud.Sphere(9.0)))
    # Some bodies come before the surfaces, so that they are both the first and the second of a pair.
    bodies = []
    for k in range(COUNT):
        pose = random_pose(rng, 4.0)
        pose[2] = rng.uniform(-1.0, 2.0)
        bodies.append((SHAPES[k % len(SHAPES)], pose))
    some = [world.add(shape, pose) for shape, pose in bodies[: COUNT // 2]]
    grounds = [world.add(surface, pose) for surface, pose in surfaces]
    some += [world.add(shape, pose) for shape, pose in bodies[COUNT // 2 :]]
    return world, grounds, some, bodies


TILT = thud.Pose((0.5, -0.3, 0.2), (0.96, 0.28, 0.0, 0.0))


@pytest.mark.parametrize("options", [{}, {"midphase": "none"}, {"midphase": "spm"}, {"caches": False}, {"threads": 1}])
def test_bodies_that_meet_the_ground(options: dict) -> None:
    surfaces = [(ground(0), None), (ground(1), TILT)]
    world, grounds, handles, bodies = crowd(1, surfaces, **options)
    rng = np.random.default_rng(2)
    for _ in range(3):
        found = {tuple(pair) for pair in world.intersecting().tolist()}
        some = 0
        for handle, (surface, at) in zip(grounds, surfaces, strict=True):
            for other, (shape, pose) in zip(handles, bodies, strict=True):
                hit = bool(thud.intersects(surface, shape, at, pose)[0])
                some += hit
                order = (handle, other) if world.index(handle) < world.index(other) else (other, handle)
                assert (order in found) == hit
        assert 5 < some < 2 * COUNT - 5
        # Two surfaces never meet.
        assert not {tuple(grounds), tuple(grounds[::-1])} & found
        assert not any({*world.handle_of(pair).tolist()} == set(grounds) for pair in world.pairs())
        bodies = [(shape, pose + np.concatenate([rng.normal(size=3) * 0.05, np.zeros(4)])) for shape, pose in bodies]
        world.set_poses(handles, np.array([pose for _, pose in bodies]))
    # The ground may be moved: all of it away.
    world.set_poses(grounds, thud.Pose((0, 0, -50.0)))
    assert not {*world.intersecting().ravel().tolist()} & set(grounds)


@pytest.mark.parametrize("margin", [0.0, 0.1])
def test_contacts_are_those_of_the_pairs(margin: float) -> None:
    world, (base,), handles, bodies = crowd(3, [(ground(), TILT)])
    found = world.contacts(margin=margin, max_points=4)
    for other, (shape, pose) in zip(handles, bodies, strict=True):
        first = world.index(base) < world.index(other)
        alone = (
            thud.contacts(ground(), shape, TILT, pose, margin=margin, max_points=4)
            if first
            else thud.contacts(shape, ground(), pose, TILT, margin=margin, max_points=4)
        )
        a, b = (base, other) if first else (other, base)
        rows = (found.handle_a == a) & (found.handle_b == b)
        for name in ("point", "normal", "depth", "feature", "patch"):
            np.testing.assert_array_equal(getattr(found, name)[rows], getattr(alone, name))
    assert base in found.handle_a
    assert base in found.handle_b


@pytest.mark.parametrize("signed", [False, True])
def test_distances_are_those_of_the_pairs(signed: bool) -> None:
    world, (base,), handles, bodies = crowd(4, [(ground(), TILT)])
    for reach in (0.0, 0.5, np.inf):
        found = world.distances(reach, signed=signed)
        assert (np.diff(found.distance) >= 0).all()
        for other, (shape, pose) in zip(handles, bodies, strict=True):
            first = world.index(base) < world.index(other)
            pair = (ground(), shape, TILT, pose) if first else (shape, ground(), pose, TILT)
            alone = thud.distance(*pair, signed=signed, max_distance=reach)
            a, b = (base, other) if first else (other, base)
            rows = (found.handle_a == a) & (found.handle_b == b)
            assert rows.sum() == np.isfinite(alone.distance[0])
            if rows.any():
                for name in ("distance", "point_a", "point_b", "normal", "status"):
                    np.testing.assert_array_equal(getattr(found, name)[rows], getattr(alone, name))


def test_impacts_are_those_of_the_pairs() -> None:
    world, (base,), handles, bodies = crowd(5, [(ground(), TILT)])
    rng = np.random.default_rng(6)
    velocity, spin = rng.normal(size=(COUNT, 3)) * 3.0, rng.normal(size=(COUNT, 3)) * (np.arange(COUNT) % 3 == 0)[:, None]
    world.set_velocities(handles, velocity, spin)
    found = world.impacts(0.5)
    hits = 0
    for k, (other, (shape, pose)) in enumerate(zip(handles, bodies, strict=True)):
        first = world.index(base) < world.index(other)
        move = 0.5 * np.concatenate([velocity[k], spin[k]])
        pair = (ground(), shape, TILT, pose, 0.0, move) if first else (shape, ground(), pose, TILT, move, 0.0)
        alone = thud.cast(*pair)
        a, b = (base, other) if first else (other, base)
        rows = (found.handle_a == a) & (found.handle_b == b)
        hits += int(rows.sum())
        assert rows.sum() == (alone.time[0] <= 1.0)
        if rows.any():
            for name in ("time", "point", "normal", "status"):
                np.testing.assert_array_equal(getattr(found, name)[rows], getattr(alone, name))
    assert hits > 10


def test_bullets() -> None:
    world = thud.World()
    base = world.add(ground(), TILT)
    shot = world.add(thud.Sphere(0.01), thud.Pose((0, 0, 20)), velocity=(0, 0, -1000.0), bullet=True)
    buried = world.add(thud.Sphere(0.01), bullet=True)
    down = thud.raycast(ground(), (0, 0, 20), (0, 0, -1), pose=TILT)
    inside = thud.closest_point(ground(), (0, 0, 0), pose=TILT)
    world.set_poses(buried, thud.Pose(inside.point[0] - [0, 0, 1e-3]))
    found = world.impacts(0.1)
    assert found.handle_a.tolist() == [base, base]
    assert found.handle_b.tolist() == [buried, shot]
    assert found.time[0] == 0.0
    assert found.time[1] == pytest.approx(down.distance[0] / 100.0)
    np.testing.assert_allclose(found.point[1], down.point[0])


@pytest.mark.parametrize("any_hit", [False, True])
def test_rays_and_boxes(any_hit: bool) -> None:
    surfaces = [(ground(0), None), (ground(1), TILT)]
    world, grounds, handles, bodies = crowd(7, surfaces)
    rng = np.random.default_rng(8)
    o, d = rng.uniform(-5, 5, (300, 3)), rng.normal(size=(300, 3))
    # In the order of their rows: of equal distances the lowest counts.
    everything = sorted(zip(grounds + handles, surfaces + bodies, strict=True), key=lambda one: world.index(one[0])[0])
    alone = [thud.raycast(shape, o, d, pose=pose, max_distance=9.0) for _, (shape, pose) in everything]
    distance = np.stack([hit.distance for hit in alone])
    best = np.argmin(distance, axis=0)
    found = world.raycast(o, d, max_distance=9.0, any_hit=any_hit)
    np.testing.assert_array_equal(found.handle >= 0, np.isfinite(distance.min(axis=0)))
    assert np.isin(found.handle, grounds).sum() > 20
    if not any_hit:
        # Convex shapes are hit by two kernels here: sums may be ordered in two ways, and differ in the last bit.
        np.testing.assert_allclose(found.distance, distance.min(axis=0), rtol=1e-14, atol=1e-14)
        for i in np.flatnonzero(found.handle >= 0):
            assert found.handle[i] == everything[best[i]][0]
            np.testing.assert_allclose(found.normal[i], alone[best[i]].normal[i], rtol=0, atol=1e-13)
            assert found.triangle[i] == alone[best[i]].triangle[i]
    lower, upper = world.bounds(grounds)
    for k, (surface, pose) in enumerate(surfaces):
        box = surface.bounds(pose)
        assert (lower[k] <= box.lower[0]).all()
        assert (upper[k] >= box.upper[0]).all()
    _, inside = world.in_boxes((-9, -9, -9), (9, 9, 9))
    assert set(grounds) <= set(inside.tolist())


def everything_said(world: thud.World) -> dict[str, bytes]:
    rng = np.random.default_rng(9)
    results = {
        "contacts": world.contacts(margin=0.05), "near": world.distances(0.5), "deep": world.distances(0.1, signed=True),
        "impacts": world.impacts(0.3), "rays": world.raycast(rng.uniform(-5, 5, (60, 3)), rng.normal(size=(60, 3))),
    }  # fmt: skip
    said = {f"{name} {field.name}": getattr(result, field.name) for name, result in results.items() for field in fields(result)}
    return {name: array.tobytes() for name, array in (said | {"meet": world.intersecting()}).items()}


def test_threads_and_caches_do_not_matter() -> None:
    worlds = []
    for options in ({"threads": 1}, {"threads": 2}, {"caches": False}, {"broadphase": "brute"}, {"broadphase": "octree"}):
        world, _, handles, _ = crowd(10, [(ground(0), None), (ground(1), TILT)], **options)
        world.set_velocities(handles, np.random.default_rng(11).normal(size=(COUNT, 3)))
        worlds.append((world, handles))
    for frame in range(2):
        said = [everything_said(world) for world, _ in worlds]
        assert all(one == said[0] for one in said)
        for world, handles in worlds:
            world.set_poses(handles, world.poses(handles) + [0.02 * (frame + 1), 0, 0.01, 0, 0, 0, 0])


def test_a_half_space_that_moves() -> None:
    world = thud.World()
    base, plane = world.add(ground()), world.add(thud.HalfSpace((0, 0, -1), -30.0))
    assert world.intersecting().tolist() == []
    world.set_poses(plane, thud.Pose((0, 0, -30.0)))
    assert world.intersecting().tolist() == [[base, plane]]


def test_handles_of_surfaces() -> None:
    world = thud.World()
    base = world.add(ground(0), name="hill")
    again = world.add(ground(0), thud.Pose((20, 0, 0)))
    ball = world.add(thud.Sphere(0.5), thud.Pose((20, 0, 0)))
    assert world.name(base) == "hill"
    assert world.shape(base) is world.shape(again) is ground(0)
    assert world.intersecting().tolist() == [[again, ball]]
    world.remove(again)
    with pytest.raises(StaleHandleError):
        world.set_poses(again, None)
    assert world.intersecting().tolist() == []
    world.set_poses(base, thud.Pose((20, 0, 0)))
    assert world.intersecting().tolist() == [[base, ball]]
    world.remove(base)
    assert world.intersecting().tolist() == []
    # The row and the shape's index become another's, which is no surface.
    box = world.add(thud.Box((1, 1, 1)), thud.Pose((20, 0, 0)), velocity=(1, 0, 0), mass=1.0)
    assert sorted(world.intersecting()[0].tolist()) == sorted([ball, box])
    assert world.add_many([ground(0), thud.Sphere(1.0)], thud.Pose([(0, 0, 0), (0, 0, 0.0)])).shape == (2,)
    assert len(world.intersecting()) == 2


def test_surfaces_are_static() -> None:
    world = thud.World()
    for options in (
        {"static": False},
        {"mass": 1.0},
        {"velocity": (0, 0, 1)},
        {"angular_velocity": (0, 0, 1)},
        {"bullet": True},
    ):
        name = next(iter(options)).split("_")[-1]
        with pytest.raises(InvalidInputError, match=name):
            world.add(ground(), **options)  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match=f"row 1: .*{name}"):
            world.add_many([thud.Sphere(1.0), ground()], **options)  # type: ignore[arg-type]
    assert len(world) == 0
    base = world.add(ground(), static=True, velocity=(0, 0, 0))
    ball = world.add(thud.Sphere(1.0))
    world.set_velocities([base, ball], np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="row 1 is a DisplacedSurface"):
        world.set_velocities([ball, base], [[1.0, 0, 0], [0, 0, 1]])
    with pytest.raises(InvalidInputError, match="row 0 is a DisplacedSurface"):
        world.set_velocities([base], np.zeros(3), (0, 0, 1))
    with pytest.raises(InvalidInputError, match="static"):
        world.set_shape(ball, ground())
    still = world.add(thud.Sphere(1.0), static=True)
    world.set_shape(still, ground(1))
    assert world.intersecting().tolist() == [[base, ball], [ball, still]]


def test_meshes_and_compounds_of_surfaces() -> None:
    mesh = some_shapes()[7]
    world = thud.World()
    base = world.add(ground(), name="hill", layer=1)
    house = world.add(mesh, static=True)
    far = world.add(mesh, thud.Pose((0, 0, 90.0)))
    assert world.intersecting().tolist() == []
    other = world.add(mesh, mask=~0b10)
    assert world.intersecting().tolist() == [[house, other]]
    world.remove([other, house])
    world.set_poses(far, None)
    assert world.intersecting().tolist() == [[base, far]]
    alone = thud.contacts(ground(), mesh)
    found = world.contacts()
    np.testing.assert_array_equal(found.depth, alone.depth)
    assert world.distances(1.0).distance.tolist() == [0.0]
    assert world.impacts(1.0).time.tolist() == [0.0]
    assert len(world.raycast((0, 0, 9), (0, 0, -1)).handle) == 1
    world.remove([base, far])
    # One that holds a surface stands still too, and answers as its leaves do.
    for inside in (ground(), thud.Compound([ground()])):
        both = thud.Compound([inside, thud.Sphere(1.0)], thud.Pose([[0, 0, 0], [0, 0, 50.0]]))
        with pytest.raises(InvalidInputError, match="static"):
            world.add(both, static=False)
        held, ball = world.add(both), world.add(thud.Sphere(1.0), thud.Pose((0, 0, 51.0)))
        assert [set(pair) for pair in world.intersecting().tolist()] == [{held, ball}]
        world.set_poses(ball, None)
        assert [set(pair) for pair in world.intersecting().tolist()] == [{held, ball}]
        world.remove([held, ball])


# Saving


def rich_world() -> thud.World:
    rng = np.random.default_rng(12)
    detailed = grid_surface(
        rng,
        quads=(2, 1),
        side=4,
        details=rng.normal(size=(2, 3, 5)) * 0.05,
        detail_ratio=2,
        materials=[0, 1, -1, 0],
        thickness=0.7,
    )
    world, _, handles, _ = crowd(13, [(ground(0), None), (detailed, thud.Pose((-4, -4, 1.0))), (ground(0), TILT)])
    world.add(grid_surface(rng, quads=(1, 1), side=1, quadrilaterals=True), thud.Pose((0, 0, 1.0)))
    world.set_velocities(handles, rng.normal(size=(COUNT, 3)))
    world.remove(handles[3])
    return world


@pytest.mark.parametrize("asked", [False, True], ids=["fresh", "asked before"])
def test_a_loaded_world_is_the_same_to_the_last_bit(tmp_path: Path, asked: bool) -> None:
    world = rich_world()
    if asked:
        # Surfaces then have an index, which is saved with them.
        everything_said(world)
    thud.io.save_world(world, tmp_path / "w")
    loaded = thud.io.load_world(tmp_path / "w")
    thud.io.save_world(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "w").read_bytes()
    kept = [
        shape.has_index for shape in map(loaded.shape, loaded.handles()) if isinstance(shape, thud.terrain.DisplacedSurface)
    ]
    had = [shape.has_index for shape in map(world.shape, world.handles()) if isinstance(shape, thud.terrain.DisplacedSurface)]
    assert kept == had
    assert all(had) or not asked
    assert everything_said(loaded) == everything_said(world)


def test_a_saved_index_that_is_wrong_is_refused(tmp_path: Path) -> None:
    world = thud.World()
    surface = grid_surface(np.random.default_rng(14), quads=(1, 1), side=2)
    surface.index_bytes()
    world.add(surface)
    thud.io.save_world(world, tmp_path / "w")
    parts = members((tmp_path / "w").read_bytes())
    ints = array_of(parts, "shape_ints")
    for at in (-1, -20, -60):
        wrong = ints.copy()
        wrong[at] ^= 1 << 9
        (tmp_path / "bad").write_bytes(packed(parts | {"shape_ints.npy": npy(wrong)}))
        with pytest.raises(FileFormatError, match="shape node 0: index: "):
            thud.io.load_world(tmp_path / "bad")


def members(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(parts: dict[str, bytes]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, data in parts.items():
            archive.writestr(name, data)
    return stream.getvalue()


def npy(array: np.ndarray) -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array(stream, array)
    return stream.getvalue()


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """A small surface alone, its numbers first in the file."""
    path = tmp_path_factory.mktemp("saved") / "w"
    world = thud.World()
    rng = np.random.default_rng(14)
    world.add(grid_surface(rng, quads=(1, 1), side=2, details=np.ones((1, 1, 3)), detail_ratio=2, thickness=0.5))
    thud.io.save_world(world, path)
    return members(path.read_bytes())


def array_of(parts: dict[str, bytes], name: str) -> np.ndarray:
    return np.lib.format.read_array(io.BytesIO(parts[f"{name}.npy"]))


def test_hostile_numbers_of_a_surface(tmp_path: Path, saved: dict[str, bytes]) -> None:
    ints, reals = array_of(saved, "shape_ints"), array_of(saved, "shape_reals")
    path = tmp_path / "bad"
    changes: list[tuple[str, np.ndarray]] = []
    for at in range(len(ints)):
        for value in (-1, 2**62, -(2**63), int(ints[at]) + 1, 2**40):
            wrong = ints.copy()
            wrong[at] = value
            changes.append(("shape_ints", wrong))
    for at in range(len(reals)):
        for value in (np.nan, np.inf, 1e300, 0.0, -1.0):
            other = reals.copy()
            other[at] = value
            changes.append(("shape_reals", other))
    refused = []
    for name, array in changes:
        path.write_bytes(packed(saved | {f"{name}.npy": npy(array)}))
        try:
            thud.io.load_world(path)
        except FileFormatError as error:
            refused.append(str(error))
    # What is not refused is another surface: other displacements, other places.
    assert len(refused) > len(changes) // 2
    assert all("shape node 0" in message for message in refused)
    for name, column, value in (("velocity", 0, 1.0), ("rules", 2, 0), ("bullet", None, True), ("mass", None, 1.0)):
        array = array_of(saved, name)
        array[0 if column is None else (0, column)] = value
        path.write_bytes(packed(saved | {f"{name}.npy": npy(array)}))
        with pytest.raises(FileFormatError, match="DisplacedSurface"):
            thud.io.load_world(path)


def test_surfaces_of_any_numbers_that_are_accepted_answer(tmp_path: Path, saved: dict[str, bytes]) -> None:
    # Bits of the maps and reals changed at random: refused, or a world that answers.
    rng = np.random.default_rng(15)
    answered = 0
    for _ in range(60):
        name = ("shape_ints", "shape_reals")[int(rng.integers(2))]
        array = array_of(saved, name)
        at = int(rng.integers(30 if name == "shape_ints" else 0, len(array)))
        array.view(np.int64)[at] ^= np.int64(1) << np.int64(rng.integers(63))
        (tmp_path / "bad").write_bytes(packed(saved | {f"{name}.npy": npy(array)}))
        try:
            world = thud.io.load_world(tmp_path / "bad")
        except FileFormatError:
            continue
        world.add(thud.Sphere(1.0), thud.Pose((2, 2, 0.5)))
        world.contacts()
        world.raycast((2, 2, 50.0), (0, 0, -1))
        answered += 1
    assert answered > 10
    assert json.loads(saved["header.json"])["version"] == 5
