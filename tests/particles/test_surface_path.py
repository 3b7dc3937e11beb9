"""Paths against displaced surfaces: quartics, 50 digits, rays, no way between patches, starts on the surface."""

from __future__ import annotations

import os
from functools import cache
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import thud
from tests.oracles.displaced import grid_surface
from tests.oracles.patches import BITS, exact_patch_time, first_patch_crossing, patches_of
from tests.oracles.paths import DIGITS, first_sign_change, new_rows
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles import ParticleSystem
from thud.particles.colliders.surface import Surface
from thud.particles.crossings.surface_path import patch_place_rows, surface_path_rows
from thud.terrain import DisplacedSurface, from_heights

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"

KINDS: dict[str, dict[str, Any]] = {
    "one map": {"side": 4},
    "overhang": {"overhang": 4.0, "apart": True, "side": 4, "quads": (4, 2)},
    "free edges": {"free": True, "side": 8, "quads": (2, 1), "skew": 0.2},
    "quadrilaterals": {"quadrilaterals": True, "overhang": 3.0, "side": 4, "quads": (4, 2)},
    "one sample a quad": {"side": 1, "quads": (4, 3), "cell": 1.5},
    "details": {
        "side": 4, "quads": (2, 1), "details": np.random.default_rng(5).normal(size=(2, 8, 8)) * 0.05, "detail_ratio": 2,
        "materials": [0, 1, -1, 0],
    },
}  # fmt: skip


@cache
def case(kind: str) -> tuple[DisplacedSurface, np.ndarray, np.ndarray]:
    """(surface, corners, parts)."""
    surface = grid_surface(np.random.default_rng(3), **KINDS[kind])
    return surface, *patches_of(surface)


def look(collider: Surface, paths: Any, end: Any = np.inf, index: int = 0, threads: int = 1, **start: Any) -> tuple:
    """(time, hit, normal, status)."""
    rows = new_rows(np.asarray(paths, dtype=float), end, **start)
    status = np.zeros(len(rows[0]), dtype=np.uint8)
    run_rows(surface_path_rows, len(rows[0]), threads, *collider.arrays, index, *rows, status, rows_per_chunk=16)
    return (*rows[3:], status)


def paths_to(goal: np.ndarray, seed: int, *, curved: bool = True, spread: float = 4.0) -> np.ndarray:
    """Paths that are at `goal` after a second."""
    rng = np.random.default_rng(seed)
    paths = np.zeros((len(goal), 9))
    paths[:, :3] = goal + rng.normal(size=goal.shape) * spread
    paths[:, 6:] = rng.normal(size=goal.shape) * (8.0 if curved else 0.0)
    paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
    return paths


def goals(corners: np.ndarray, count: int, seed: int, off: float = 0.3) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return corners[rng.integers(len(corners), size=count), rng.integers(4, size=count)] + rng.normal(size=(count, 3)) * off


def at(paths: np.ndarray, time: np.ndarray) -> np.ndarray:
    t = time[:, None]
    return paths[:, :3] + t * (paths[:, 3:6] + 0.5 * t * paths[:, 6:])


def heights(size: int = 12, seed: int = 1) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(size + 1, size + 1)) * 0.5


@cache
def field(seed: int = 1) -> DisplacedSurface:
    """z = heights over a grid of metres."""
    return from_heights(heights(seed=seed), 1.0, samples=4).surface


@cache
def ground(seed: int = 1) -> np.ndarray:
    """The heights of its samples, indexed [y, x]."""
    corners, _parts = patches_of(field(seed))
    z = np.empty((13, 13))
    for p in corners.reshape(-1, 3):
        z[round(p[1]), round(p[0])] = p[2]
    return z


def height_at(z: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Height of p above the field, bilinear."""
    x, y = np.clip(p[:, 0], 0, z.shape[1] - 1), np.clip(p[:, 1], 0, z.shape[0] - 1)
    i, j = np.minimum(x.astype(int), z.shape[1] - 2), np.minimum(y.astype(int), z.shape[0] - 2)
    a, b = x - i, y - j
    ground = (1 - a) * (1 - b) * z[j, i] + a * (1 - b) * z[j, i + 1] + (1 - a) * b * z[j + 1, i] + a * b * z[j + 1, i + 1]
    return p[:, 2] - ground


@pytest.mark.parametrize("kind", list(KINDS))
def test_first_crossings_are_those_of_quartics(kind: str) -> None:
    surface, corners, parts = case(kind)
    collider = Surface(surface)
    count = 20 if SMALL else 80
    paths = paths_to(goals(corners, count, 1), 2)
    time, hit, normal, status = look(collider, paths, 2.0)
    assert not status.any()
    for k, path in enumerate(paths):
        truth, row = first_patch_crossing(corners, path, 2.0)
        assert (hit[k, 0] == 0) == (row >= 0)
        if row < 0:
            continue
        assert time[k] == pytest.approx(truth, abs=1e-7)
        assert np.linalg.norm(normal[k]) == pytest.approx(1.0)
        if hit[k, 1] != parts[row]:
            # On a border both are right.
            near = np.flatnonzero(parts == hit[k, 1])[0]
            assert np.abs(corners[near][:, None] - corners[row][None]).sum(axis=2).min() < 1e-12
    assert (hit[:, 0] == 0).sum() > count // 3


@pytest.mark.parametrize("placed", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-9, 1e9])
def test_times_are_those_of_50_digits(scale: float, placed: bool) -> None:
    if scale == 1.0:
        surface, corners, parts = case("overhang")
    else:
        grid = grid_surface(np.random.default_rng(3), **KINDS["overhang"])
        surface = DisplacedSurface(
            np.asarray(grid.positions) * scale, np.asarray(grid.directions) * scale, grid.coordinates, grid.primitives,
            grid.quads, grid.displacements,
        )  # fmt: skip
        corners, parts = patches_of(surface)
    pose = thud.Pose(np.array([30.0, -20.0, 10.0]) * scale, np.array([0.5, -0.5, 0.5, 0.5])) if placed else thud.Pose()
    collider = Surface(surface, pose)
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    local = paths_to(goals(corners / scale, 12 if SMALL else 40, 3), 4) * scale
    # The rotation is a permutation of axes: nothing is rounded but the start.
    paths = np.column_stack([local[:, :3] @ r.T + t, local[:, 3:6] @ r.T, local[:, 6:] @ r.T])
    local[:, :3] = (paths[:, :3] - t) @ r
    time, hit, _normal, status = look(collider, paths, 2.0)
    assert not status.any()
    met = np.flatnonzero(hit[:, 0] == 0)
    assert len(met) > len(paths) // 3
    places = collider.map_places(hit[met, 1], at(paths, time)[met])
    worst = 0.0
    with mp.workdps(DIGITS):
        for k, place in zip(met, places):
            part = hit[k, 1]
            quad, y, x = part >> 2 * BITS, (part >> BITS) & (2**BITS - 1), part & (2**BITS - 1)
            s0, t0, _side = np.asarray(surface.quads)[quad]
            row = int(np.flatnonzero(parts == part)[0])
            # The path in the surface's frame, exactly: the pose only permutes axes and shifts.
            exact = [mp.mpf(float(c)) for c in paths[k]]
            shifted = [exact[i] - mp.mpf(float(t[i])) for i in range(3)]
            moved = [sum(mp.mpf(float(r[j, i])) * shifted[j] for j in range(3)) for i in range(3)]
            a, b, truth, slope = _exact(corners[row], moved, local[k], place[0] - s0 - x, place[1] - t0 - y, time[k])
            assert -1e-11 <= a <= 1 + 1e-11
            assert -1e-11 <= b <= 1 + 1e-11
            assert slope > 1e-6
            worst = max(worst, float(abs(truth - mp.mpf(float(time[k])))))
    assert worst <= 1e-15


def _exact(corners: np.ndarray, start: list, path: np.ndarray, a: float, b: float, t: float) -> tuple:
    """`exact_patch_time` with a start in more digits: the corners are moved instead."""
    moved = [[mp.mpf(float(c[i])) - start[i] for i in range(3)] for c in corners]
    return exact_patch_time(moved, np.concatenate([np.zeros(3), path[3:]]), float(a), float(b), float(t))  # type: ignore[arg-type]


@pytest.mark.parametrize("curved", [False, True])
def test_height_fields_against_dense_samples(curved: bool) -> None:
    surface, z = field(), ground()
    collider = Surface(surface)
    rng = np.random.default_rng(7)
    count = 20 if SMALL else 100
    paths = np.zeros((count, 9))
    paths[:, :3] = np.column_stack([rng.uniform(2, 10, size=(count, 2)), rng.uniform(0.5, 3, size=count)])
    goal = np.column_stack([rng.uniform(1, 11, size=(count, 2)), rng.uniform(-1.5, 0.5, size=count)])
    paths[:, 8] = -9.81 if curved else 0.0
    paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
    time, hit, normal, status = look(collider, paths, 1.0)
    assert not status.any()
    for k, path in enumerate(paths):
        truth = first_sign_change(
            lambda t, path=path: height_at(z, path[:3] + t[:, None] * (path[3:6] + 0.5 * t[:, None] * path[6:])),
            1.0,
        )
        if np.isfinite(truth):
            assert hit[k, 0] == 0
            assert time[k] <= truth + 1e-9
        if hit[k, 0] == 0:
            # Samples may miss a pair of crossings.
            p = at(paths[k : k + 1], time[k : k + 1])
            assert abs(height_at(z, p)[0]) < 1e-12
            assert normal[k, 2] > 0.0
    assert (hit[:, 0] == 0).mean() > 0.5


@pytest.mark.parametrize("kind", list(KINDS))
def test_straight_paths_agree_with_rays(kind: str) -> None:
    surface, corners, _parts = case(kind)
    paths = paths_to(goals(corners, 100 if SMALL else 500, 5), 6, curved=False)
    collider = Surface(surface)
    time, hit, normal, status = look(collider, paths)
    ray = thud.raycast(surface, paths[:, :3], paths[:, 3:6])
    met = np.isfinite(ray.distance)
    assert not status.any()
    np.testing.assert_array_equal(hit[:, 0] == 0, met)
    np.testing.assert_allclose(time[met], (ray.distance / np.linalg.norm(paths[:, 3:6], axis=1))[met], atol=1e-12)
    np.testing.assert_allclose(normal[met], ray.normal[met], atol=1e-8)


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("kind", [*KINDS, "flat"])
def test_no_path_slips_between_patches(kind: str, curved: bool) -> None:
    # Through samples and along edges of patches, well inside the sheet: from one side of it to the other.
    if kind == "flat":
        surface = from_heights(np.zeros((9, 9)), 1.0, samples=4).surface
        corners, _parts = patches_of(surface)
    else:
        surface, corners, _parts = case(kind)
    pose = thud.Pose([3.0, 100.0, -7.0], np.array([0.1, 0.7, -0.5, 0.5]) / np.sqrt(1.0))
    collider = Surface(surface, pose)
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(8)
    # Corners that four patches share.
    points, count = np.unique(corners.reshape(-1, 3).round(9), axis=0, return_counts=True)
    inner = {tuple(p) for p in points[count == 4]}
    chosen = [c for c in corners if all(tuple(p.round(9)) in inner for p in c)]
    assert len(chosen) >= 1
    chosen = np.array(chosen)[rng.integers(len(chosen), size=50 if SMALL else 300)]
    weight = rng.choice([0.0, 0.25, 0.5, 0.3], size=(len(chosen), 1))
    goal = (1 - weight) * chosen[:, 0] + weight * chosen[:, 1 + rng.integers(2)]
    normal = np.cross(chosen[:, 1] - chosen[:, 0], chosen[:, 2] - chosen[:, 0])
    normal /= np.linalg.norm(normal, axis=1, keepdims=True)
    way = normal + rng.normal(size=normal.shape) * 0.1
    goal, way, normal = goal @ r.T + t, way @ r.T, normal @ r.T
    paths = np.zeros((len(goal), 9))
    paths[:, 6:] = rng.normal(size=goal.shape) * (0.02 if curved else 0.0)
    # A short way, so that it meets nothing else: by 2e-3 below and above.
    paths[:, :3] = goal - 2e-3 * way
    paths[:, 3:6] = 2e-3 * way - 0.5 * paths[:, 6:]
    paths[:, 3:] *= [1.0, 1.0, 1.0, 0.05, 0.05, 0.05]
    paths[:, 3:6] = goal - paths[:, :3] - 0.5 * paths[:, 6:]
    time, hit, _normal, status = look(collider, paths, 3.0)
    assert not status.any()
    assert (hit[:, 0] == 0).all()
    assert (np.abs(time - 1.0) < 0.5).all()


def test_starts_on_the_surface_and_corner_hits() -> None:
    surface = from_heights(np.zeros((9, 9)), 1.0, samples=4).surface
    pose = thud.Pose([30.0, 100.0, -7.0], np.array([0.1, 0.7, -0.5, 0.5]))
    collider = Surface(surface, pose)
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(9)
    count = 200
    place = rng.uniform(2, 6, size=(count, 2))
    # Some on borders and samples.
    place[::3, 0] = np.round(place[::3, 0])
    place[::6] = np.round(place[::6])
    up = np.column_stack([rng.uniform(-0.3, 0.3, size=(count, 2)), 10.0 ** rng.uniform(-2, 0.4, size=count)])
    paths = np.zeros((count, 9))
    paths[:, :3] = np.column_stack([place, np.zeros(count)]) @ r.T + t
    paths[:, 3:6], paths[:, 6:] = up @ r.T, np.array([0.0, 0.0, -9.81]) @ r.T
    came = (up * [1, 1, -1]) @ r.T
    fall = paths.copy()
    fall[:, :3] -= came * 0.1
    fall[:, 3:6], fall[:, 6:] = came, 0.0
    part = look(collider, fall, 1.0)[1][:, 1]
    assert (part >= 0).all()
    expect = 2.0 * up[:, 2] / 9.81
    last = np.column_stack([np.zeros(count, dtype=int), part])
    for start in ({}, {"came": came, "last": last}, {"came": came, "last": [4, 0]}):
        time, hit, _normal, status = look(collider, paths, 10.0, **start)
        assert not status.any()
        inside = (np.abs(place + expect[:, None] * up[:, :2] - 4.0) < 3.9).all(axis=1)
        assert (hit[inside, 0] == 0).all()
        np.testing.assert_allclose(time[inside], expect[inside], rtol=1e-9, atol=1e-9)
    # It would pass through: an impact at once, but not where it was born or has just been.
    paths[:, 3:6], paths[:, 6:] = came, 0.0
    time, hit, normal, _status = look(collider, paths, 10.0, came=came, last=[4, 0])
    assert (time == 0.0).all()
    np.testing.assert_allclose(np.abs(normal @ r[:, 2]), 1.0, atol=1e-9)
    assert (look(collider, paths, 10.0)[1][:, 0] == -1).all()
    apart = (np.abs(place - np.round(place)) > 0.01).all(axis=1)
    assert (look(collider, paths, 10.0, came=came, last=last)[1][apart, 0] == -1).all()


def test_low_hops_far_from_the_origin() -> None:
    # Hops of half a micrometre where coordinates are a million metres: the start is told from where it comes down.
    surface = from_heights(np.zeros((9, 9)), 1.0, samples=4).surface
    collider = Surface(surface, thud.Pose([3e6, -2e6, 5e2], np.array([0.1, 0.7, -0.5, 0.5])))
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(11)
    place = np.column_stack([rng.uniform(1, 7, size=(100, 2)), np.zeros(100)])
    up = np.column_stack([rng.uniform(-0.3, 0.3, size=(100, 2)), np.full(100, 3e-3)])
    fall = np.zeros((100, 9))
    fall[:, :3], fall[:, 3:6] = (place - up * [1, 1, -1]) @ r.T + t, (up * [1, 1, -1]) @ r.T
    time, hit, _normal, _status = look(collider, fall, 2.0)
    assert (hit[:, 0] == 0).all()
    paths = np.column_stack([at(fall, time), up @ r.T, np.tile(np.array([0.0, 0.0, -9.81]) @ r.T, (100, 1))])
    time, hit, _normal, _status = look(collider, paths, 1.0, came=fall[:, 3:6], last=hit)
    assert (hit[:, 0] == 0).all()
    np.testing.assert_allclose(time, 2.0 * 3e-3 / 9.81, rtol=1e-3)


def test_odd_paths() -> None:
    surface = from_heights(np.zeros((9, 9)), 1.0, samples=4).surface
    collider = Surface(surface)
    odd = np.zeros((7, 9))
    odd[:, :3] = [4.3, 4.4, 0.0]
    odd[1, 3:5] = 1.0, 0.5  # along the sheet
    odd[2, 2] = 1.0  # at rest above it
    odd[3, 2:6] = [1.0, 1.0, 0.0, 0.0]  # along it, above
    odd[4, 2], odd[4, 5], odd[4, 8] = -2.0, 4.0, -4.0  # touches it from below
    odd[5, 6] = 1.0  # along it, faster and faster
    odd[6, :6] = [20.0, 4.0, 3.0, 0.0, 0.0, -1.0]  # beside it
    _time, hit, _normal, status = look(collider, odd, 20.0)
    assert (hit[:, 0] == -1).all()
    assert not status.any()
    odd[4, 5] += 1e-9
    time, hit, _normal, _status = look(collider, odd[4], 20.0)
    assert hit[0, 0] == 0
    assert time[0] == pytest.approx(1.0, abs=1e-4)
    # From rest.
    time, hit, normal, _status = look(collider, [4.3, 4.4, 2.0, 0, 0, 0, 0, 0, -9.0], 20.0)
    assert time[0] == pytest.approx(2.0 / 3.0, abs=1e-15)
    assert normal[0].tolist() == [0.0, 0.0, 1.0]
    assert look(collider, np.zeros((0, 9)))[0].shape == (0,)
    # Earliest, ties.
    path = np.array([4.3, 4.4, 2.0, 0, 0, -1.0, 0, 0, 0])
    for before, index, takes in ((3.0, 4, True), (2.0, 4, False), (2.0, 2, True), (1.0, 2, False)):
        rows = new_rows(path, before)
        rows[4][:] = [3, 7]
        surface_path_rows(0, 1, *collider.arrays, index, *rows, np.zeros(1, dtype=np.uint8))
        assert (rows[4][0, 0] == index) == takes


def test_along_a_straight_line_of_a_twisted_patch() -> None:
    # Each patch holds straight lines: a path along one never leaves the surface. Whatever is said of it, it is said, and soon.
    z = np.array([[0.0, 1.0], [1.0, 0.0]])
    surface = from_heights(np.kron(z, np.ones((1, 1))), 1.0, samples=1).surface
    time, hit, _normal, status = look(Surface(surface), [-1.0, 0.25, -0.25, 1.0, 0.0, 0.5, 0.0, 0.0, 0.0], 10.0)
    assert status[0] == 1 or hit[0, 0] == -1 or time[0] >= 1.0 - 1e-9


def test_grazing_paths() -> None:
    # Thin crossings of a twisted sheet: parabolas that come ever less far through it.
    surface, z = field(), ground()
    collider = Surface(surface)
    x, y = 5.4, 6.3
    top = -height_at(z, np.array([[x, y, 0.0]]))[0]
    for depth in 10.0 ** np.arange(-1, -12, -1.0):
        # Straight up and down again, from below, by as much above.
        path = np.array([x, y, top + depth - 2.0, 0.0, 0.0, 4.0, 0.0, 0.0, -4.0])
        time, hit, _normal, status = look(collider, path, 10.0)
        assert hit[0, 0] == 0
        assert not status.any()
        assert time[0] == pytest.approx(1.0 - np.sqrt(0.5 * depth), abs=1e-4 * np.sqrt(depth) + 1e-9)
        path[2] -= 2.0 * depth
        assert look(collider, path, 10.0)[1][0, 0] == -1


@pytest.mark.parametrize("curved", [False, True])
@pytest.mark.parametrize("rough", [0.0, 1e-9, 1e-3])
def test_flat_crossings_do_not_slip_either(rough: float, curved: bool) -> None:
    # From a hair below an all but flat sheet to a hair above it, across many patches.
    z = np.random.default_rng(2).uniform(-rough, rough, size=(9, 9))
    surface = from_heights(z, 1.0, samples=4).surface
    collider = Surface(surface, thud.Pose([3.0, 100.0, -7.0], np.array([0.1, 0.7, -0.5, 0.5])))
    r, t = collider._rows[:9].reshape(3, 3), collider._rows[9:]
    rng = np.random.default_rng(4)
    count = 50 if SMALL else 500
    height = 2.0 * rough + 10.0 ** rng.uniform(-11, -3, size=count)
    begin = np.column_stack([rng.uniform(2, 6, size=(count, 2)), -height])
    end = np.column_stack([rng.uniform(2, 6, size=(count, 2)), height])
    paths = np.zeros((count, 9))
    if curved:
        paths[:, 6:] = np.column_stack([rng.normal(size=(count, 2)), np.zeros(count)]) @ r.T
    paths[:, :3], paths[:, 3:6] = begin @ r.T + t, (end - begin) @ r.T - 0.5 * paths[:, 6:]
    time, hit, _normal, status = look(collider, paths, 1.0)
    assert not status.any()
    assert (hit[:, 0] == 0).all()
    place = (at(paths, time) - t) @ r
    assert np.abs(place[:, 2]).max() <= 1.001 * rough + 1e-12


def test_map_places() -> None:
    surface, corners, _parts = case("details")
    collider = Surface(surface, thud.Pose([1.0, 2.0, 3.0], [0.5, 0.5, 0.5, 0.5]))
    rows = collider._rows
    local = paths_to(goals(corners, 200, 5), 6, curved=False)
    r = rows[:9].reshape(3, 3)
    paths = np.column_stack([local[:, :3] @ r.T + rows[9:], local[:, 3:6] @ r.T, np.zeros((200, 3))])
    time, hit, _normal, _status = look(collider, paths, 10.0)
    met = hit[:, 0] == 0
    found = collider.map_places(hit[met, 1], at(paths, time)[met])
    from thud.terrain.collision.rays import surface_ray_rows

    distance, normal, quad, place = np.empty(200), np.empty((200, 3)), np.empty(200, dtype=np.int64), np.empty((200, 2))
    origins, directions = (
        np.ascontiguousarray(local[:, :3]),
        local[:, 3:6] / np.linalg.norm(local[:, 3:6], axis=1, keepdims=True),
    )
    still, point = np.array([[1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0]]), np.empty((200, 3))
    surface_ray_rows(0, 200, surface.arrays, origins, directions, still, np.inf, 0, distance, point, normal, quad, place)
    np.testing.assert_allclose(found, place[met], atol=1e-7)
    assert collider.map_places([], np.empty((0, 3))).shape == (0, 2)
    with pytest.raises(InvalidInputError, match="parts: row 1 is no patch"):
        collider.map_places([0, 2**40], [[0, 0, 0], [0, 0, 0]])
    with pytest.raises(InvalidInputError, match="points: expected one a part"):
        collider.map_places([0], [[0, 0, 0], [0, 0, 0]])


def test_threads_and_specialisation() -> None:
    surface, corners, _parts = case("overhang")
    collider, paths = Surface(surface), paths_to(goals(corners, 100, 5), 6)
    one, two = (look(collider, paths, 3.0, threads=n) for n in (1, 2))
    for a, b in zip(one, two):
        assert a.tobytes() == b.tobytes()
    assert len(surface_path_rows.signatures) == 1
    assert len(patch_place_rows.signatures) <= 1


def test_errors_and_box() -> None:
    with pytest.raises(InvalidInputError, match="surface: expected a DisplacedSurface"):
        Surface(thud.Sphere(1.0))  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="pose: expected one pose"):
        Surface(field(), thud.Pose(np.zeros((2, 3))))
    surface, corners, _parts = case("overhang")
    box = Surface(surface, thud.Pose([1.0, 2.0, 3.0])).box()
    assert (corners + [1.0, 2.0, 3.0] >= box[:3]).all()
    assert (corners + [1.0, 2.0, 3.0] <= box[3:]).all()


def test_a_fresh_surface_is_made_ready_before_threads_share_it():
    # Its arrays are made by all threads. Made within a chunk of particles, under the lock of a cached property, they waited for
    # a thread that waited for the lock.
    import threading

    made = thud.terrain.from_heights(np.zeros((9, 9)), 1.0).surface
    system = ParticleSystem(np.tile([4.0, 4.0, 2.0], (5000, 1)), [0.0, 0.0, -1.0], position_spread=1.0)
    found = []
    for ask in (lambda: system.impacts([Surface(made)], 0.0, 5.0), lambda: system.states(5.0, [Surface(made)])):
        worker = threading.Thread(target=lambda ask=ask: found.append(ask()), daemon=True)
        worker.start()
        worker.join(120.0)
        assert not worker.is_alive()
    assert len(found[0]) == 5000
