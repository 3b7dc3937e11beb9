"""Paths against meshes: 50-digit times, no way between triangles, starts on the surface, odd scales."""

from __future__ import annotations

import os
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh, soup_mesh
from tests.oracles.paths import new_rows, triangle_crossings
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.colliders.mesh import Mesh
from thud.particles.crossings.mesh_path import mesh_rows, plane_rows, tree_depth

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"


def look(collider: Mesh, paths: np.ndarray, end: Any = np.inf, index: int = 0, threads: int = 1, **start: Any) -> tuple:
    """(time, hit, normal)."""
    rows = new_rows(paths, end, **start)
    run_rows(mesh_rows, len(rows[0]), threads, *collider.arrays, index, *rows, rows_per_chunk=16)
    return rows[3:]


def turned_pose(seed: int, far: float = 3.0) -> thud.Pose:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=4)
    return thud.Pose(rng.normal(size=3) * far, q / np.linalg.norm(q))


def paths_at(points: np.ndarray, seed: int, *, curved: bool, flight: float = 1.3, spread: float = 3.0) -> np.ndarray:
    """Paths that are at `points` after about `flight` seconds."""
    rng = np.random.default_rng(seed)
    paths = np.zeros((len(points), 9))
    paths[:, :3] = points + rng.normal(size=points.shape) * spread
    if curved:
        paths[:, 6:] = rng.normal(size=points.shape) * 4.0
    paths[:, 3:6] = (points - paths[:, :3]) / flight - 0.5 * flight * paths[:, 6:]
    return paths


def at(paths: np.ndarray, time: np.ndarray) -> np.ndarray:
    t = time[:, None]
    return paths[:, :3] + t * (paths[:, 3:6] + 0.5 * t * paths[:, 6:])


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("kind", ["blob", "soup", "far", "tiny", "huge"])
def test_times_are_those_of_50_digits(kind: str, curved: bool) -> None:
    scale = {"tiny": 1e-20, "huge": 1e12}.get(kind, 1.0)
    vertices, faces = soup_mesh(60, 3) if kind == "soup" else blob_mesh(6, 4)
    if kind == "far":
        vertices = vertices + [5e3, -2e4, 1e3]
    pose = turned_pose(5)
    collider = Mesh(thud.TriangleMesh(vertices * scale, faces), thud.Pose(pose.position * scale, pose.quaternion))
    rows = collider._rows
    goal = vertices[np.random.default_rng(6).integers(len(vertices), size=10 if SMALL else 24)]
    goal = goal + np.random.default_rng(7).normal(size=goal.shape) * 0.3
    goal = goal @ rows[:9].reshape(3, 3).T + rows[9:] / scale
    paths = paths_at(goal, 8, curved=curved) * scale
    time, hit, normal = look(collider, paths, 3.0)
    hits = 0
    for k, path in enumerate(paths):
        truth = triangle_crossings(vertices * scale, faces, rows, path, 3.0)
        if not truth:
            assert hit[k].tolist() == [-1, -1]
            assert time[k] == 3.0
            continue
        hits += 1
        t, face, slope, inside = truth[0]
        assert inside > 1e-9
        assert slope > 1e-9
        assert abs(time[k] - t) <= 1e-15 * max(float(t), 1.0)
        assert hit[k].tolist() == [0, face]
        p = vertices[faces[face]] @ rows[:9].reshape(3, 3).T
        n = np.cross(p[1] - p[0], p[2] - p[0])
        np.testing.assert_allclose(normal[k], n / np.linalg.norm(n), atol=1e-9)
    assert hits > len(paths) // 4


def test_flat_crossings_keep_their_digits() -> None:
    # A floor far from the origin, met at angles down to 1e-5: plain floats would lose the time to 1e-8 and more.
    floor = thud.TriangleMesh([[-1e3, -1e3, 7.3], [1e3, -1e3, 7.3], [0.0, 2e3, 7.3]], [[0, 1, 2]])
    pose = turned_pose(1, 100.0)
    collider = Mesh(floor, pose)
    r = collider._rows[:9].reshape(3, 3)
    for slope in (1e-1, 1e-3, 1e-5):
        rng = np.random.default_rng(2)
        paths = np.zeros((10, 9))
        paths[:, :3] = rng.uniform(-100, 100, size=(10, 3)) * [1, 1, 0] + [0, 0, 7.3 + 200 * slope]
        paths[:, 3:6] = np.column_stack([rng.uniform(50, 90, size=(10, 2)), np.full(10, -100.0 * slope)])
        paths[:, 6:] = [0.3, -0.2, -slope]
        paths[:, :3] = paths[:, :3] @ r.T + collider._rows[9:]
        paths[:, 3:6], paths[:, 6:] = paths[:, 3:6] @ r.T, paths[:, 6:] @ r.T
        time, _hit, _normal = look(collider, paths, 10.0)
        for k, path in enumerate(paths):
            (truth, *_), *_ = triangle_crossings(floor.vertices, floor.faces, collider._rows, path, 10.0)
            assert abs(time[k] - truth) <= 1e-15 * max(1.0, float(truth))


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("what", ["edges", "vertices"])
def test_no_path_slips_between_triangles(what: str, placed: bool, curved: bool) -> None:
    # From inside a closed mesh to a point outside, through points exactly on edges or vertices (as far as floats allow).
    for seed in range(2 if SMALL else 6):
        rng = np.random.default_rng(seed)
        vertices, faces = blob_mesh(8, seed, 0.3) if seed % 2 else box_mesh((1.0, 0.7, 1.3))
        mesh = thud.TriangleMesh(vertices, faces)
        collider = Mesh(mesh, turned_pose(seed, 30.0) if placed else None)
        rows = collider._rows
        corners = vertices[faces]
        weight = rng.choice([0.0, 0.125, 0.5, 0.3], size=(len(faces), 1)) if what == "edges" else np.zeros((len(faces), 1))
        goal = (1.0 - weight) * corners[:, 0] + weight * corners[:, 1]
        goal = goal @ rows[:9].reshape(3, 3).T + rows[9:]
        paths = np.zeros((len(goal), 9))
        paths[:, :3] = rows[9:] + 0.01 * rng.normal(size=3)
        paths[:, 6:] = rng.normal(size=goal.shape) * (0.5 if curved else 0.0)
        paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
        time, hit, _normal = look(collider, paths, 60.0)
        # It starts inside and ends outside.
        assert (hit[:, 0] == 0).all()
        assert (time <= 1.0 + 1e-12).all()


@pytest.mark.parametrize("curved", [False, True])
def test_grazing_paths_do_not_slip_either(curved: bool) -> None:
    # Within a finely cut floor and a hair below it at the start, above at the end: the crossing is flat, and anywhere.
    side = 9
    grid = np.array([[x, y, 0.0] for y in range(side) for x in range(side)])
    grid[:, :2] += np.random.default_rng(0).uniform(-0.2, 0.2, size=(len(grid), 2))
    faces = [
        f for y in range(side - 1) for x in range(side - 1) for i in [y * side + x]
        for f in ((i, i + 1, i + side), (i + 1, i + side + 1, i + side))
    ]  # fmt: skip
    collider = Mesh(thud.TriangleMesh(grid, np.array(faces)), turned_pose(3, 10.0))
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(4)
    count = 100 if SMALL else 1000
    height = 10.0 ** rng.uniform(-12, -3, size=count)
    begin = np.column_stack([rng.uniform(1, 7, size=(count, 2)), -height])
    # Along the rows of vertices, too.
    end = np.column_stack([rng.uniform(1, 7, size=(count, 2)), height * rng.uniform(0.1, 10, size=count)])
    paths = np.zeros((count, 9))
    paths[:, :3], paths[:, 3:6] = begin @ r.T + t, (end - begin) @ r.T
    if curved:
        a = np.column_stack([rng.normal(size=(count, 2)), np.zeros(count)]) @ r.T
        paths[:, 6:] = a
        paths[:, 3:6] -= 0.5 * a
    time, hit, _normal = look(collider, paths, 1.5)
    assert (hit[:, 0] == 0).all()
    place = (at(paths, time) - t) @ r
    assert np.abs(place[:, 2]).max() < 1e-13


def test_straight_paths_agree_with_rays() -> None:
    mesh = thud.TriangleMesh(*blob_mesh(16, 2))
    collider = Mesh(mesh, turned_pose(2))
    rng = np.random.default_rng(3)
    count = 300 if SMALL else 3000
    origins = collider._rows[9:] + rng.normal(size=(count, 3)) * 2.0
    directions = rng.normal(size=(count, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    truth = thud.raycast(mesh, origins, directions, pose=thud.Pose.from_rows(collider._rows[None]))
    time, hit, normal = look(collider, np.column_stack([origins, directions, np.zeros((count, 3))]))
    met = np.isfinite(truth.distance)
    np.testing.assert_array_equal(hit[:, 0] == 0, met)
    np.testing.assert_allclose(time[met], truth.distance[met], atol=1e-12)
    assert np.isinf(time[~met]).all()
    same = hit[met, 1] == truth.triangle[met]
    assert same.mean() > 0.999
    np.testing.assert_allclose(normal[met][same], truth.normal[met][same], atol=1e-12)


def test_the_tree_loses_nothing() -> None:
    # Each triangle as a mesh of its own: no tree to speak of.
    vertices, faces = soup_mesh(120, 9)
    pose = turned_pose(9)
    collider = Mesh(thud.TriangleMesh(vertices, faces), pose)
    rows = collider._rows
    goal = np.random.default_rng(1).normal(size=(200, 3)) @ rows[:9].reshape(3, 3).T + rows[9:]
    paths = paths_at(goal, 10, curved=True)
    time, hit, _normal = look(collider, paths, 4.0)
    single = np.stack([look(Mesh(thud.TriangleMesh(vertices, f[None]), pose), paths, 4.0)[0] for f in faces])
    np.testing.assert_allclose(time, single.min(axis=0), atol=1e-14)
    met = hit[:, 0] == 0
    assert met.sum() > 50
    np.testing.assert_array_equal(hit[met, 1], single.argmin(axis=0)[met])


FLOOR = thud.TriangleMesh([[-4, -4, 0], [4, -4, 0], [4, 4, 0], [-4, 4, 0]], [[0, 1, 2], [0, 2, 3]])


def test_earliest_wins_and_ties_go_to_the_lower_collider() -> None:
    collider = Mesh(FLOOR)
    path = [1.0, 0.5, 2.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0]
    for before, index, takes in ((3.0, 4, True), (2.0, 4, False), (2.0, 2, True), (1.0, 2, False)):
        rows = new_rows(np.array(path), before)
        rows[4][:] = [3, 7]
        mesh_rows(0, 1, *collider.arrays, index, *rows)
        assert (rows[4][0, 0] == index) == takes
        assert rows[3][0] == (2.0 if takes else before)
    # Without an earlier hit the end itself is out.
    assert look(collider, np.array(path), 2.0)[1][0, 0] == -1
    # On the diagonal, which both triangles share: the lower face.
    assert look(collider, np.array([1.0, 1.0, 2.0, 0, 0, -1, 0, 0, 0]))[1].tolist() == [[0, 0]]


def test_starts_on_the_surface() -> None:
    collider = Mesh(FLOOR, turned_pose(4, 50.0))
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(5)
    count = 200
    paths = np.zeros((count, 9))
    paths[:, :3] = np.column_stack([rng.uniform(-2, 2, size=(count, 2)), np.zeros(count)]) @ r.T + t
    up = np.column_stack([rng.uniform(-0.2, 0.2, size=(count, 2)), 10.0 ** rng.uniform(-3, 0.5, size=count)])
    paths[:, 3:6], paths[:, 6:] = up @ r.T, np.array([0.0, 0.0, -9.81]) @ r.T
    came = (up * [1, 1, -1]) @ r.T
    expect = 2.0 * up[:, 2] / 9.81
    faces = np.where(
        (np.linalg.inv(r) @ (paths[:, :3] - t).T).T[:, 1] < (np.linalg.inv(r) @ (paths[:, :3] - t).T).T[:, 0], 0, 1
    )
    for last in (None, np.column_stack([np.zeros(count, dtype=int), faces])):
        start = {} if last is None else {"came": came, "last": last}
        time, hit, _normal = look(collider, paths, 10.0, **start)
        assert (hit[:, 0] == 0).all()
        np.testing.assert_allclose(time, expect, rtol=1e-9, atol=1e-10)
    # A bounce on the shared edge: neither triangle is met again at once, whichever was said to be left.
    edge = np.linspace(-3, 3, count)
    paths[:, :3] = np.column_stack([edge, edge, np.zeros(count)]) @ r.T + t
    for face in (0, 1):
        time, hit, _normal = look(collider, paths, 10.0, came=came, last=[0, face])
        assert (hit[:, 0] == 0).all()
        np.testing.assert_allclose(time, expect, rtol=1e-9, atol=1e-10)
    # Straight up: never again.
    paths[:, 6:] = 0.0
    assert (look(collider, paths, came=came, last=[0, 0])[1][:, 0] == -1).all()


def test_corner_hits() -> None:
    # A floor and a wall that meet in the y axis: a particle that has just bounced off the floor at their corner still runs
    # into the wall, at once; one that leaves both does not.
    wall = [[0, -4, 0], [0, 4, 0], [0, 4, 4], [0, -4, 4]]
    floor = [[0, -4, 0], [4, -4, 0], [4, 4, 0], [0, 4, 0]]
    mesh = thud.TriangleMesh(np.array(floor + wall, dtype=float), [[0, 1, 2], [0, 2, 3], [4, 5, 6], [4, 6, 7]])
    collider = Mesh(mesh)
    path = np.array([0.0, 0.3, 0.0, -1.0, 0.1, 1.0, 0.0, 0.0, -9.81])
    time, hit, normal = look(collider, path, came=np.array([-1.0, 0.1, -1.0]), last=[0, 1])
    assert time[0] == 0.0
    assert hit[0, 0] == 0
    assert hit[0, 1] >= 2
    assert abs(normal[0, 0]) == 1.0
    # The same when the floor is another collider.
    time, hit, normal = look(collider, path, came=np.array([-1.0, 0.1, -1.0]), last=[1, -1])
    assert time[0] == 0.0
    assert hit[0, 1] >= 2
    # Off the wall as well; it came from where it was before the two.
    path[3] = 1.0
    time, hit, _normal = look(collider, path, came=np.array([-1.0, 0.1, -1.0]), last=[0, hit[0, 1]])
    assert time[0] == pytest.approx(2.0 / 9.81)
    # At birth nothing has come from anywhere.
    path[3] = -1.0
    assert look(collider, path, 0.1)[1][0, 0] == -1


def test_touching_without_crossing_is_no_impact() -> None:
    collider = Mesh(FLOOR)
    # Peak at z = 0 exactly: v^2 / (2 a) = 2 from 2 below.
    path = np.array([0.5, 0.25, -2.0, 0.0, 0.0, 4.0, 0.0, 0.0, -4.0])
    assert look(collider, path)[1][0, 0] == -1
    path[5] += 1e-9
    time, hit, _normal = look(collider, path)
    assert hit[0, 0] == 0
    assert time[0] == pytest.approx(1.0, abs=1e-4)
    # Along the floor, at rest on it, at rest above it.
    for odd in ([0.5, 0, 0, 1, 1, 0, 0, 0, 0], [0.5, 0, 0, 0, 0, 0, 0, 0, 0], [0.5, 0, 1, 0, 0, 0, 0, 0, 0]):
        assert look(collider, np.array(odd, dtype=float))[1][0, 0] == -1
    # From rest: h = 2 - 9 tau^2 / 2.
    time, hit, _normal = look(collider, np.array([0.5, 0.0, 2.0, 0, 0, 0, 0, 0, -9.0]))
    assert time[0] == pytest.approx(2.0 / 3.0, abs=1e-15)


def test_a_mesh_with_flat_triangles() -> None:
    vertices = [[0, 0, 0], [2, 0, 0], [1, 0, 0], [1, 2, 0], [0.3, 0.1, 0.7]]
    # The first one has no area: its corners are on a line.
    mesh = thud.TriangleMesh(np.array(vertices) * (0.1, 0.3, 0.7), [[0, 1, 2], [0, 1, 3], [0, 0, 4]])
    time, hit, _normal = look(Mesh(mesh, turned_pose(8)), np.zeros((1, 9)))
    assert hit[0, 0] == -1
    time, hit, _normal = look(Mesh(mesh), np.array([0.1, 0.1, 1.0, 0, 0, -1, 0, 0, 0]))
    assert hit.tolist() == [[0, 1]]
    assert time[0] == 1.0


def test_any_number_of_threads_gives_the_same_bytes() -> None:
    collider = Mesh(thud.TriangleMesh(*blob_mesh(8, 1)))
    paths = paths_at(np.random.default_rng(0).normal(size=(300, 3)), 1, curved=True)
    one, two = (look(collider, paths, 3.0, threads=n) for n in (1, 2))
    for a, b in zip(one, two):
        assert a.tobytes() == b.tobytes()
    assert look(collider, np.zeros((0, 9)))[0].shape == (0,)


def test_one_specialisation() -> None:
    look(Mesh(FLOOR), np.zeros(9))
    for kernel in (mesh_rows, plane_rows, tree_depth):
        assert len(kernel.signatures) == 1


def test_errors_and_box() -> None:
    with pytest.raises(InvalidInputError, match="mesh: expected a TriangleMesh"):
        Mesh(thud.Sphere(1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="pose: expected one pose"):
        Mesh(FLOOR, thud.Pose(np.zeros((2, 3))))
    with pytest.raises(InvalidInputError, match="restitution: expected a number from 0 to 1"):
        Mesh(FLOOR, restitution=1.5)
    with pytest.raises(InvalidInputError, match="friction"):
        Mesh(FLOOR, friction=-1.0)
    with pytest.raises(InvalidInputError, match="friction"):
        Mesh(FLOOR, friction=np.nan)
    box = Mesh(FLOOR, thud.Pose([1.0, 2.0, 3.0])).box()
    np.testing.assert_allclose(box, [-3, -2, 3, 5, 6, 3], atol=1e-12)
    assert (box[:3] <= [-3, -2, 3]).all()
    assert (box[3:] >= [5, 6, 3]).all()
