"""Queries of displaced surfaces against their tessellation, closed forms and the oracle of the ground.

The tessellation splits each patch 8 x 8; its triangles leave the patch by at most h = |twist| / 256, by which answers may
differ. What is exact is judged by `exact_ground.py`.
"""

from __future__ import annotations

import os
import pickle
from dataclasses import fields
from functools import cache
from typing import Any

import numpy as np
import pytest

import thud
from tests.oracles.bilinear_ground import Columns, border_columns, columns_of, nearest_skin, points_in_ground, skin_mesh
from tests.oracles.displaced import grid_surface
from tests.oracles.motion import pose_at
from tests.terrain.exact_ground import surfaces, tunnel
from tests.terrain.never_a_miss import largest_deviation
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.pose import as_poses
from thud.results import CastStatus, Status
from thud.terrain import DisplacedSurface, from_field, from_heights, surface_collision
from thud.terrain.collision.tolerances import BLOCK_RAYS
from thud.terrain.tessellate import tessellate

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
    "thick": {"side": 4, "quads": (2, 2), "thickness": 0.6},
}  # fmt: skip


@cache
def case(kind: str) -> tuple[DisplacedSurface, thud.TriangleMesh, float, np.ndarray]:
    """(surface, tessellated sheet, h, samples)."""
    surface = grid_surface(np.random.default_rng(3), **KINDS[kind])
    points = np.concatenate([surface.samples(q).point.reshape(-1, 3) for q in range(len(surface.quads))])
    return surface, thud.TriangleMesh(*tessellate(surface, split=8)), largest_deviation(surface), points


@cache
def columns_at(kind: str) -> Columns:
    """The ground."""
    surface = case(kind)[0]
    return columns_of(surface, surface.ground_thickness, as_sampled=True)


@cache
def skin_at(kind: str) -> thud.TriangleMesh:
    """Sheet, bottom and sides of the ground."""
    return skin_mesh(columns_at(kind), 8)


SHAPES = {
    "sphere": thud.Sphere(0.5), "box": thud.Box((0.3, 0.5, 0.2)), "capsule": thud.Capsule(0.2, 0.4),
    "cylinder": thud.Cylinder(0.3, 0.4), "cone": thud.Cone(0.4, 0.4), "ellipsoid": thud.Ellipsoid((0.2, 0.3, 0.5)),
    "hull": thud.ConvexHull(np.random.default_rng(6).normal(size=(15, 3)) * 0.3),
    "compound": thud.Compound(
        [
            thud.Sphere(0.3),
            thud.Compound([thud.Box((0.1, 0.4, 0.2)), thud.Capsule(0.1, 0.3)], thud.Pose([(0.4, 0, 0), (0, 0.3, 0.5)])),
        ],
        thud.Pose([(0, 0, 0.4), (0.1, -0.2, 0)]),
    ),
}  # fmt: skip


def poses_near(points: np.ndarray, count: int, seed: int, spread: float = 1.0) -> np.ndarray:
    """(N, 7) about samples of the surface."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    place = points[rng.integers(len(points), size=count)] + rng.normal(size=(count, 3)) * spread
    return np.column_stack([place, q / np.linalg.norm(q, axis=1, keepdims=True)])


def flat(size: int = 8, thickness: float = 3.0) -> DisplacedSurface:
    """z = 0 from 0 to `size`, each way, metre by metre."""
    return from_heights(np.zeros((size + 1, size + 1)), 1.0, samples=4, thickness=thickness).surface


# Distances


@pytest.mark.parametrize("kind", list(KINDS))
@pytest.mark.parametrize("name", list(SHAPES))
def test_distances_are_those_of_the_ground(kind: str, name: str) -> None:
    surface, _sheet, h, points = case(kind)
    skin = skin_at(kind)
    shape, poses = SHAPES[name], poses_near(points, 8 if SMALL else 40, 1, 1.5)
    found, truth = thud.distance(surface, shape, None, poses), thud.distance(skin, shape, None, poses)
    apart = found.status == Status.SEPARATED
    assert apart.any()
    np.testing.assert_allclose(found.distance[apart], truth.distance[apart], atol=2.0 * h + 1e-7, rtol=0)
    assert (found.distance[~apart] == 0.0).all()
    np.testing.assert_array_equal(thud.intersects(surface, shape, None, poses), ~apart)
    # Witness points: on the sheet, on the shape, as far from each other as the distance, along the normal.
    span = found.point_b - found.point_a
    np.testing.assert_allclose(np.linalg.norm(span, axis=1), found.distance, atol=1e-9)
    np.testing.assert_allclose(span, found.distance[:, None] * found.normal, atol=1e-9)
    near = thud.closest_point(skin, found.point_a[apart])
    assert near.distance.max() <= 2.0 * h + 1e-7
    rows = as_poses(poses, "p")[apart]
    on = thud.closest_point(shape, found.point_b[apart], pose=thud.Pose.from_rows(rows))
    assert np.abs(on.distance).max() <= 1e-6
    # A limit changes nothing below it.
    middle = np.sort(found.distance[apart])[apart.sum() // 2 :][:2]
    limit = float(middle.mean())
    near_only = thud.distance(surface, shape, None, poses, max_distance=limit)
    beyond = found.distance > limit
    assert np.isinf(near_only.distance[beyond]).all()
    assert not near_only.point_a[beyond].any()
    np.testing.assert_allclose(near_only.distance[~beyond], found.distance[~beyond], atol=1e-9)


def directions_all_around(count: int) -> np.ndarray:
    """(N, 3) units, evenly spread."""
    k = np.arange(count) + 0.5
    polar, turn = np.arccos(1 - 2 * k / count), np.pi * (1 + 5**0.5) * k
    return np.stack([np.cos(turn) * np.sin(polar), np.sin(turn) * np.sin(polar), np.cos(polar)], axis=1)


def shortest_of(surface: DisplacedSurface, shape: Any, pose: np.ndarray, limit: float, count: int) -> float:
    """The shortest way out, up to `limit`, along any of `count` directions: cast back from its end. inf: none."""
    poses, way = np.repeat(pose[None], count, axis=0), limit * directions_all_around(count)
    poses[:, :3] += way
    free = np.flatnonzero(~thud.intersects(surface, shape, None, poses))
    if len(free) == 0:
        return np.inf
    back = thud.cast(surface, shape, None, poses[free], 0.0, -way[free])
    return float(limit * (1.0 - np.minimum(back.time, 1.0).max()))


@pytest.mark.parametrize("kind", ["one map", "overhang", "thick", "groove"])
def test_signed_distance_is_a_separation(kind: str) -> None:
    # Moved out by the deepest contact alone, a sphere in a groove is in the other wall.
    if kind == "groove":
        surface = from_heights(np.tile(np.abs(np.arange(9) - 4.3), (9, 1)), 1.0, samples=4).surface
        points = np.column_stack([np.full(9, 4.3), np.arange(9.0), np.zeros(9)])[2:-2]
    else:
        surface, _sheet, _h, points = case(kind)
    poses = poses_near(points, 6 if SMALL else 12, 2, 0.3)
    for shape in (SHAPES["sphere"], SHAPES["box"], SHAPES["compound"]):
        found = thud.distance(surface, shape, None, poses, signed=True)
        plain = thud.distance(surface, shape, None, poses)
        apart = plain.status == Status.SEPARATED
        np.testing.assert_array_equal(found.distance[apart], plain.distance[apart])
        deep = np.flatnonzero(found.status == Status.OVERLAPPING)
        assert len(deep) >= 2
        assert (found.status != Status.UNCONVERGED).mean() > 0.8
        moved = poses[deep].copy()
        moved[:, :3] -= found.distance[deep, None] * found.normal[deep]
        assert not thud.intersects(surface, shape, None, moved).any()
        for row in deep[:4]:
            best = shortest_of(surface, shape, poses[row], -1.001 * found.distance[row], 200 if SMALL else 2000)
            assert -found.distance[row] <= 1.05 * best
        span = found.point_b - found.point_a
        np.testing.assert_allclose(span[deep], found.distance[deep, None] * found.normal[deep], atol=1e-9)
        # The points touch at the end of the way.
        rows = as_poses(poses[deep], "p")
        on = thud.closest_point(shape, found.point_b[deep], pose=thud.Pose.from_rows(rows))
        assert np.abs(on.distance).max() <= 2e-4


def tunnelled_hill(points: np.ndarray) -> np.ndarray:
    """14 m high, with a tunnel of 4 m radius."""
    x, y, z = points.T
    return np.maximum(0.8 * (z - 14 * np.exp(-(x**2 + y**2) / 200)), 4 - np.hypot(y, z - 3))


@cache
def tunnelled() -> DisplacedSurface:
    return from_field(tunnelled_hill, [-32, -32, -8], [32, 32, 20], cell=4.0, samples=2, thickness=6.0).surface


def test_gaps_in_the_ground_at_a_sharp_lip_are_few() -> None:
    # By its definition there is none below a column that leaves the ground beside the lip; nowhere else.
    points = np.random.default_rng(0).uniform([-24, -24, -3], [24, 24, 15], (2_000 if SMALL else 20_000, 3))
    points = points[tunnelled_hill(points) < -0.35]
    open_ones = points[~thud.contains(tunnelled(), points)]
    gaps = open_ones[thud.closest_point(tunnelled(), open_ones).distance < 4.0]
    assert len(gaps) <= 3e-3 * len(points)
    # The tunnel, of radius 4 about z = 3, comes out of the hill at x = +-11.
    x, y, z = gaps.T
    assert (np.abs(np.abs(x) - 11.0) < 2.0).all()
    assert (np.abs(np.hypot(y, z - 3.0) - 4.7) < 1.3).all()


def test_the_way_out_leads_through_another_sheet_where_that_is_shorter() -> None:
    # No contact tells of the tunnel, or of the air below the ground, that is nearer than the hill's side: twice as long. The
    # last two see it as a narrow place, which 48 directions all around miss: 15 and 11 % too long.
    surface = tunnelled()
    places = [
        [3.018, -4.846, 7.59],
        [0.565, 11.15, 2.001],
        [-11.249, 8.601, 0.245],
        [14.707, 8.802, -0.409],
        [6.839, 5.188, 6.224],
    ]
    at = np.array(places)
    poses = np.column_stack([at, np.tile([1.0, 0, 0, 0], (len(at), 1))])
    ball = thud.Sphere(0.7)
    found = thud.distance(surface, ball, None, poses, signed=True)
    assert (found.status == Status.OVERLAPPING).all()
    for row in range(len(at)):
        best = shortest_of(surface, ball, poses[row], -1.001 * found.distance[row], 500 if SMALL else 2000)
        assert -found.distance[row] <= 1.05 * best


@pytest.mark.parametrize(
    ("kind", "shape", "row"),
    [
        ("tunnelled", thud.Sphere(0.4), [1.798408, -1.888821, 0.788282, 0.462448, 0.865169, 0.132449, -0.141712]),
        ("hill", thud.Box((0.3, 0.5, 0.2)), [-8.728435, -4.63788, 6.733588, 0.247469, -0.194426, 0.836674, -0.448258]),
        ("hill", thud.Capsule(0.15, 0.4), [-7.915081, 1.328752, 7.632694, 0.907971, 0.17208, -0.2462, 0.292167]),
    ],
)
def test_free_places_are_found_near_and_far(kind: str, shape, row: list) -> None:
    # The tunnel is free at five to nine tenths of the way that contacts tell, and not beyond: 48 directions at 0.6 of it and
    # 1,500 at 0.95 missed it. And of several free places the first was taken, not the nearest.
    pose = np.array(row)
    pose[3:] /= np.linalg.norm(pose[3:])
    surface = tunnelled() if kind == "hill" else surfaces()[kind]
    found = thud.distance(surface, shape, None, pose[None], signed=True)
    assert found.status[0] == Status.OVERLAPPING
    for part in (0.5, 0.8, 0.95):
        assert -found.distance[0] <= 1.05 * shortest_of(surface, shape, pose, -part * found.distance[0], 500 if SMALL else 2000)


def test_a_way_out_is_found_where_contacts_lead_from_one_into_the_next() -> None:
    # A ball that the tunnel is too narrow for: twelve rounds of contacts ended in the ground, UNCONVERGED.
    surface = from_field(tunnel, [-6, -6, -2.5], [6, 6, 5], cell=1.0, samples=2, thickness=3.0).surface
    ball, poses = thud.Sphere(1.2), np.tile([0.0, 0, 0, 1, 0, 0, 0], (2, 1))
    poses[:, :3] = [[3.111305, 0.149190, -0.575951], [1.920573, 3.184421, -1.223038]]
    found = thud.distance(surface, ball, None, poses, signed=True)
    assert (found.status == Status.OVERLAPPING).all()
    moved = poses.copy()
    moved[:, :3] -= found.distance[:, None] * found.normal
    assert not thud.intersects(surface, ball, None, moved).any()
    for row in range(len(poses)):
        best = shortest_of(surface, ball, poses[row], -1.001 * found.distance[row], 500 if SMALL else 2000)
        assert -found.distance[row] <= 1.05 * best


# Rays


@pytest.mark.parametrize("kind", list(KINDS))
def test_many_rays_have_boxes_of_their_own_and_the_same_bytes(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    surface, _sheet, _h, points = case(kind)
    rng = np.random.default_rng(9)
    count = 100 if SMALL else 600
    target = points[rng.integers(len(points), size=count)] + rng.normal(size=(count, 3)) * rng.choice([0.0, 0.3], (count, 1))
    o = target + rng.normal(size=(count, 3)) * 4.0
    # Along the axes through the samples themselves: edges that patches share, rays in the sides of boxes.
    o[: count // 3] = target[: count // 3] + 3.0 * np.eye(3)[rng.integers(3, size=count // 3)]
    d = target - o
    monkeypatch.setattr("thud.terrain.collision.queries.BLOCK_RAYS", np.inf)
    surface.__dict__.pop("ray_blocks", None)
    few = thud.raycast(surface, o, d)
    assert not surface.has_ray_blocks
    monkeypatch.setattr("thud.terrain.collision.queries.BLOCK_RAYS", 0.0)
    size = surface.nbytes
    many = thud.raycast(surface, o, d)
    assert surface.nbytes == size + surface.ray_blocks.nbytes
    for name in ("distance", "point", "normal", "triangle"):
        assert getattr(few, name).tobytes() == getattr(many, name).tobytes(), name
    assert np.isfinite(few.distance).mean() > 0.2
    seen = thud.raycast(surface, o, d, any_hit=True)
    np.testing.assert_array_equal(np.isfinite(seen.distance), np.isfinite(few.distance))
    near = thud.raycast(surface, o, d, max_distance=3.0)
    np.testing.assert_array_equal(np.isfinite(near.distance), few.distance <= 3.0)
    surface.__dict__.pop("ray_blocks")


def test_rays_of_many_calls_are_many() -> None:
    # Boxes were made for a call of many rays alone: a thousand rays a frame went without for ever, at ten times the time a ray.
    surface = from_heights(np.zeros((65, 65)), 1.0, samples=16).surface
    few = int(BLOCK_RAYS * surface.sample_count) // 2
    o, d = np.tile([3.3, 4.4, 9.0], (few, 1)), np.tile([0.1, 0.0, -1.0], (few, 1))
    first = thud.raycast(surface, o, d)
    thud.raycast(surface, o, d)
    assert not surface.has_ray_blocks
    third = thud.raycast(surface, o[:3], d[:3])
    assert surface.has_ray_blocks
    assert third.point.tobytes() == first.point[:3].tobytes()
    # What is copied or stored starts anew.
    assert not pickle.loads(pickle.dumps(surface)).has_ray_blocks


@pytest.mark.parametrize("scale", [1e-5, 1.0, 1e5])
def test_few_and_many_rays_agree_at_any_scale(scale: float, monkeypatch: pytest.MonkeyPatch) -> None:
    # The boxes of blocks are tested in float32 and bytes. Rays from afar, along the axes, in the sides of boxes and at the very
    # border, where a patch is met 1e-9 of its size beyond it: there the walk by volumes once missed what the other found.
    rng = np.random.default_rng(3)
    rough = 0.4 * rng.normal(size=(29, 29))
    cliff = np.where(np.arange(33) > 11, 30.0, 0.0) + 0.01 * rng.normal(size=(33, 33))
    for heights, samples in ((np.zeros((33, 33)), 16), (rough, 4), (cliff, 16)):
        surface = from_heights(scale * heights, scale, samples=samples).surface
        low, high = np.ravel(surface.bounds().lower), np.ravel(surface.bounds().upper)
        count = 150 if SMALL else 1500
        target = rng.uniform(low, high, (count, 3))
        snapped = rng.random(count) < 0.4
        target[snapped, :2] = low[:2] + scale * np.round((target[snapped, :2] - low[:2]) / scale)
        d = rng.normal(size=(count, 3))
        straight = rng.random(count) < 0.4
        d[straight] = np.eye(3)[rng.integers(3, size=straight.sum())] * rng.choice([-1.0, 1.0], (straight.sum(), 1))
        d[~straight, rng.integers(3)] *= rng.choice([0.0, 1.0], (~straight).sum())
        o = target - d * rng.choice([0.01, 1.0, 1e3, 1e7], (count, 1)) * np.linalg.norm(high - low)
        pose = thud.Pose(scale * rng.normal(size=3), [0.5, 0.5, 0.5, 0.5]) if samples == 4 else None
        monkeypatch.setattr("thud.terrain.collision.queries.BLOCK_RAYS", np.inf)
        few = thud.raycast(surface, o, d, pose=pose)
        monkeypatch.setattr("thud.terrain.collision.queries.BLOCK_RAYS", 0.0)
        many = thud.raycast(surface, o, d, pose=pose)
        for name in ("distance", "point", "normal", "triangle"):
            assert getattr(few, name).tobytes() == getattr(many, name).tobytes(), name
        assert np.isfinite(few.distance).mean() > (0.05 if pose else 0.3)


@pytest.mark.parametrize("kind", list(KINDS))
def test_rays_hit_the_sheet(kind: str) -> None:
    surface, sheet, h, points = case(kind)
    rng = np.random.default_rng(8)
    count = 60 if SMALL else 400
    target = points[rng.integers(len(points), size=count)] + rng.normal(size=(count, 3)) * 0.3
    o = target + rng.normal(size=(count, 3)) * 4.0
    d = target - o
    found, truth = thud.raycast(surface, o, d), thud.raycast(sheet, o, d)
    along = d / np.linalg.norm(d, axis=1, keepdims=True)
    hit = np.isfinite(found.distance)
    assert hit.sum() > count // 4
    np.testing.assert_allclose(found.point[hit], (o + found.distance[:, None] * along)[hit], atol=1e-9)
    assert thud.closest_point(sheet, found.point[hit]).distance.max() <= 2.0 * h + 1e-9
    assert ((found.triangle >= 0) == hit).all()
    # Where the sheet is hit at no small angle, both hit, in the same place.
    cosine = np.abs(np.einsum("ni,ni->n", truth.normal, along))
    steep = np.isfinite(truth.distance) & (cosine > 0.3) & hit
    # None is missed: borders of patches are straight, so the triangles end where the sheet does.
    assert not (np.isfinite(truth.distance) & (cosine > 0.3) & ~hit).any()
    gap = np.abs(found.distance[steep] - truth.distance[steep])
    assert (gap > 8.0 * h + 1e-7).sum() <= count // 100
    normals = np.einsum("ni,ni->n", found.normal, truth.normal)[steep]
    assert np.median(normals) > 0.99
    np.testing.assert_allclose(np.linalg.norm(found.normal[hit], axis=1), 1.0, atol=1e-12)
    # Limits and any hit.
    limit = float(np.median(found.distance[hit]))
    near = thud.raycast(surface, o, d, max_distance=limit)
    np.testing.assert_array_equal(near.distance, np.where(found.distance <= limit, found.distance, np.inf))
    anyhow = thud.raycast(surface, o, d, any_hit=True)
    np.testing.assert_array_equal(np.isfinite(anyhow.distance), hit)
    # Moved together with the surface, each ray hits in the same place.
    pose = thud.Pose((3, -2, 7), (0.5, 0.5, -0.5, 0.5))
    turn, shift = pose.rows[0, :9].reshape(3, 3), pose.rows[0, 9:]
    moved = thud.raycast(surface, o @ turn.T + shift, d @ turn.T, pose=pose)
    np.testing.assert_allclose(moved.distance, found.distance, rtol=1e-9)
    np.testing.assert_allclose(moved.normal, found.normal @ turn.T, atol=1e-6)


def test_rays_and_one_patch_by_the_closed_form() -> None:
    z = np.array([[0.0, 1.0], [0.5, -0.75]])
    surface = from_heights(z, 1.0, samples=1).surface
    rng = np.random.default_rng(9)
    o, d = rng.uniform(-1, 2, (500, 3)), rng.normal(size=(500, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    found = thud.raycast(surface, o, d)
    a, b, c, e = z[0, 0], z[0, 1] - z[0, 0], z[1, 0] - z[0, 0], z[1, 1] - z[0, 1] - z[1, 0] + z[0, 0]
    for row in range(len(o)):
        # z = a + b x + c y + e x y along the ray.
        (x, y, w), (p, q, r) = o[row], d[row]
        roots = np.roots([e * p * q, b * p + c * q + e * (x * q + y * p) - r, a + b * x + c * y + e * x * y - w])
        times = [
            t for t in roots[np.abs(roots.imag) < 1e-9].real
            if t >= 0 and -1e-9 <= x + t * p <= 1 + 1e-9 and -1e-9 <= y + t * q <= 1 + 1e-9
        ]  # fmt: skip
        assert found.distance[row] == pytest.approx(min(times, default=np.inf), rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("kind", list(KINDS))
def test_no_ray_slips_through_nodes_edges_and_borders(kind: str) -> None:
    surface, *_ = case(kind)
    rng = np.random.default_rng(10)
    for quad in range(len(surface.quads)):
        p = surface.samples(quad).point
        normal = np.cross(p[1:-1, 2:] - p[1:-1, :-2], p[2:, 1:-1] - p[:-2, 1:-1]) if p.shape[0] > 2 else None
        across, up = 0.5 * (p[:, 1:] + p[:, :-1]), 0.5 * (p[1:] + p[:-1])
        targets = [p.reshape(-1, 3), across.reshape(-1, 3), up.reshape(-1, 3)]
        if normal is not None:
            targets.append(p[1:-1, 1:-1].reshape(-1, 3))
        # Straight down the projection direction, and off by a little: patches face it.
        directions = surface.samples(quad).direction
        mean = directions.reshape(-1, 3).mean(axis=0)
        for target in targets:
            d = -mean + rng.normal(size=target.shape) * 0.02
            inner = target[1:-1] if len(target) > 2 else target
            hits = thud.raycast(surface, target - 3.0 * d, d)
            length = 3.0 * np.linalg.norm(d, axis=1)
            inside = np.isfinite(hits.distance) & (hits.distance <= length + 1e-6)
            assert inside.mean() > 0.85, (quad, len(inner))
            # Those that miss lie on the outer border, where the sheet ends.
            missed = target[~inside]
            if len(missed):
                border = border_points(surface)
                gap = np.linalg.norm(missed[:, None] - border[None], axis=2).min(axis=1)
                assert gap.max() < 1e-9


def border_points(surface: DisplacedSurface) -> np.ndarray:
    """Samples and middles of edges that only one quad has."""
    seen: dict[bytes, int] = {}
    where: dict[bytes, np.ndarray] = {}
    for quad in range(len(surface.quads)):
        p = surface.samples(quad).point
        for line in (p[0], p[-1], p[:, 0], p[:, -1]):
            ends = np.sort(np.stack([line[1:], line[:-1]]), axis=0)
            for k in range(len(line) - 1):
                key = ends[:, k].tobytes()
                seen[key] = seen.get(key, 0) + 1
                where[key] = np.array([line[k], line[k + 1], 0.5 * (line[k] + line[k + 1])])
    return np.concatenate([where[key] for key, many in seen.items() if many == 1])


# Casts


@pytest.mark.parametrize("kind", ["one map", "overhang", "details", "thick"])
@pytest.mark.parametrize("turning", [False, True])
def test_nothing_touches_before_the_time_of_a_cast(kind: str, turning: bool) -> None:
    surface, _sheet, h, points = case(kind)
    rng = np.random.default_rng(11)
    count = 6 if SMALL else 24
    for shape in (SHAPES["sphere"], SHAPES["box"], SHAPES["compound"]):
        poses = poses_near(points, count, 12, 1.5)
        motion = np.concatenate([rng.normal(size=(count, 3)) * 2.0, rng.normal(size=(count, 3)) * turning], axis=1)
        found = thud.cast(surface, shape, None, poses, 0.0, motion)
        rows = as_poses(poses, "p")
        assert (found.status != CastStatus.UNCONVERGED).all()
        start = thud.intersects(surface, shape, None, poses)
        np.testing.assert_array_equal(found.status == CastStatus.OVERLAPPING_AT_START, start)
        assert (found.time[start] == 0.0).all()
        end = np.minimum(found.time, 1.0)
        for part in np.linspace(0.0, 1.0 - 1e-4, 9):
            at = pose_at(rows, motion, part * end)
            assert not thud.intersects(surface, shape, None, at)[~start].any()
        hit = found.status == CastStatus.HIT
        assert hit.any() or SMALL
        if not hit.any():
            continue
        at = pose_at(rows[hit], motion[hit], found.time[hit])
        there = thud.distance(surface, shape, None, at)
        size = 20.0 if turning else 1.0
        assert there.distance.max() <= 1e-6 * size
        # One that turns may also be found in the ground, having come through its bottom or its sides: with normal 0.
        length = np.linalg.norm(found.normal[hit], axis=1)
        above = length > 0.5
        assert above.all() or turning
        assert (there.status[~above] == Status.OVERLAPPING).all()
        np.testing.assert_allclose(length[above], 1.0, atol=1e-6)
        if above.any():
            assert thud.closest_point(skin_at(kind), found.point[hit][above]).distance.max() <= 2.0 * h + 1e-5
        # The skin's own cast, where it is met at no small angle.
        truth = thud.cast(skin_at(kind), shape, None, poses, 0.0, motion)
        if not turning:
            speed = -np.einsum("ni,ni->n", truth.normal, motion[:, :3])
            steep = hit & (truth.status == CastStatus.HIT) & (speed > 0.5)
            assert (np.abs(found.time[steep] - truth.time[steep]) * speed[steep] <= 8.0 * h + 1e-6).all()


def test_a_swept_sphere_meets_planes_when_it_should() -> None:
    slope = 0.5 * np.arange(9.0)
    surface = from_heights(np.tile(slope, (9, 1)), 1.0, samples=4).surface
    n = np.array([-0.5, 0.0, 1.0]) / np.sqrt(1.25)
    rng = np.random.default_rng(13)
    start = np.column_stack([rng.uniform(3, 5, (50, 2)), rng.uniform(4, 6, 50)])
    move = np.column_stack([rng.uniform(-1, 1, (50, 2)), rng.uniform(-6, -4, 50)])
    radius = 0.3
    found = thud.cast(surface, thud.Sphere(radius), None, np.column_stack([start, np.tile([1.0, 0, 0, 0], (50, 1))]), 0.0, move)
    time = (radius - start @ n) / (move @ n)
    hit = time <= 1.0
    np.testing.assert_allclose(found.time[hit], time[hit], atol=1e-6)
    assert (found.status[~hit] == CastStatus.MISS).all()
    np.testing.assert_allclose(found.normal[hit], np.tile(n, (hit.sum(), 1)), atol=1e-6)
    # The surface may be what moves; and no rotation is no rotation.
    other = thud.cast(thud.Sphere(radius), surface, thud.Pose(start), None, 0.0, -move)
    np.testing.assert_allclose(other.time, found.time, atol=1e-9)
    np.testing.assert_allclose(other.normal[hit], -found.normal[hit], atol=1e-9)
    still = np.concatenate([move, np.zeros((50, 3))], axis=1)
    again = thud.cast(surface, thud.Sphere(radius), None, thud.Pose(start), 0.0, still)
    assert again.time.tobytes() == found.time.tobytes()


# Contacts


def test_a_box_sunk_into_a_plane() -> None:
    surface, box = flat(), thud.Box((1.0, 1.5, 0.5))
    for most in (1, 4, 8):
        found = thud.contacts(surface, box, None, thud.Pose((4.2, 3.9, 0.4)), max_points=most)
        assert 1 <= len(found.depth) <= most
        np.testing.assert_allclose(found.depth, 0.1, atol=1e-6)
        np.testing.assert_allclose(found.normal, np.tile([0, 0, 1.0], (len(found.depth), 1)), atol=1e-9)
        np.testing.assert_allclose(found.point[:, 2], -0.05, atol=1e-6)
        assert found.status.tolist() == [Status.OVERLAPPING]
    # The points spread over the face, so that it can rest on them.
    span = np.ptp(found.point, axis=0)
    assert span[0] > 1.0
    assert span[1] > 1.5
    assert len(np.unique(found.feature)) == len(found.feature)
    swapped = thud.contacts(box, surface, thud.Pose((4.2, 3.9, 0.4)), None, max_points=8)
    np.testing.assert_allclose(swapped.normal, -found.normal)
    np.testing.assert_allclose(swapped.point, found.point)
    np.testing.assert_allclose(swapped.depth, found.depth)
    # Just above it: no contact, but for a margin.
    assert len(thud.contacts(surface, box, None, thud.Pose((4.2, 3.9, 0.52))).depth) == 0
    near = thud.contacts(surface, box, None, thud.Pose((4.2, 3.9, 0.52)), margin=0.05)
    np.testing.assert_allclose(near.depth, -0.02, atol=1e-6)
    assert len(near.depth) >= 4
    assert near.status.tolist() == [Status.SEPARATED]


def test_a_sphere_in_a_groove_gets_both_walls() -> None:
    surface = from_heights(np.tile(np.abs(np.arange(-4.0, 5.0)), (9, 1)), 1.0, samples=4).surface
    found = thud.contacts(surface, thud.Sphere(1.0), None, thud.Pose((4.0, 4.1, 1.3)))
    for side in (-1.0, 1.0):
        wall = np.abs(found.normal - np.array([side, 0, 1.0]) / np.sqrt(2.0)).max(axis=1) < 1e-6
        assert wall.any()
        np.testing.assert_allclose(found.depth[wall].max(), 1.0 - 1.3 / np.sqrt(2.0), atol=1e-6)


def test_a_large_box_on_the_steep_side_of_a_small_bump_goes_up() -> None:
    z = np.zeros((33, 33))
    z[16, 16] = 0.3
    surface = from_heights(z, 0.25, samples=8, thickness=2.0).surface
    found = thud.contacts(surface, thud.Box((1.5, 1.5, 0.5)), None, thud.Pose((4.1, 4.0, 0.7)))
    assert found.depth.max() == pytest.approx(0.1, abs=0.02)
    assert found.depth.max() >= 0.09
    assert found.normal[np.argmax(found.depth), 2] > 0.7


def test_a_part_in_the_ground_has_a_contact() -> None:
    surface = flat(thickness=3.0)
    pair = thud.Compound([thud.Sphere(0.2), thud.Box((0.1, 0.1, 0.1))], thud.Pose([(0, 0, -1.0), (0, 0, 1.0)]))
    found = thud.contacts(surface, pair, None, thud.Pose((4.3, 3.4, -0.2)))
    assert len(found.depth) == 1
    assert found.depth[0] == pytest.approx(1.4, abs=1e-6)
    np.testing.assert_allclose(found.normal[0], (0, 0, 1), atol=1e-9)
    assert thud.intersects(surface, pair, None, thud.Pose((4.3, 3.4, -0.2)))[0]
    # Below the ground there is none.
    assert not thud.intersects(surface, thud.Sphere(0.2), None, thud.Pose((4.3, 3.4, -3.5)))[0]


@pytest.mark.parametrize("name", ["sphere", "box", "hull", "capsule", "cylinder"])
def test_moved_out_by_its_deepest_contact_a_shape_is_free(name: str) -> None:
    surface = grid_surface(np.random.default_rng(4), quads=(3, 3), side=8, bend=0.1, skew=0.05, height=0.3, rough=0.0)
    inner = np.concatenate([surface.samples(q).point[1:-1, 1:-1].reshape(-1, 3) for q in (4,)])
    poses = poses_near(inner, 20 if SMALL else 60, 14, 0.05)
    poses[:, 2] += 0.25
    shape = SHAPES[name]
    for _ in range(4):
        touch = thud.contacts(surface, shape, None, poses)
        if not len(touch.depth):
            break
        order = np.lexsort((-touch.depth, touch.row))
        first = order[np.unique(touch.row[order], return_index=True)[1]]
        before = touch.depth[first]
        poses[touch.row[first], :3] += (before[:, None] * 1.001) * touch.normal[first]
    after = thud.contacts(surface, shape, None, poses)
    # One step clears what it touches; a few steps clear what it came to touch by them.
    assert after.depth.max(initial=0.0) < 0.02


def test_margins_of_contacts_are_distances() -> None:
    surface, _sheet, _h, points = case("one map")
    poses = poses_near(points, 80, 15, 0.8)
    shape = SHAPES["sphere"]
    apart = thud.distance(surface, shape, None, poses)
    found = thud.contacts(surface, shape, None, poses, margin=0.2)
    near = (apart.status == Status.SEPARATED) & (apart.distance < 0.19)
    assert near.sum() > 3
    for row in np.flatnonzero(near):
        # Measured to the tetrahedron of the whole patch, three in ten of these came out as overlapping.
        assert found.depth[found.row == row].max() == pytest.approx(-apart.distance[row], abs=1e-6)
    far = (apart.status == Status.SEPARATED) & (apart.distance > 0.2 + 1e-6)
    assert not np.isin(found.row, np.flatnonzero(far)).any()


# Points


@pytest.mark.parametrize("kind", list(KINDS))
def test_points_of_the_ground(kind: str) -> None:
    surface, sheet, h, points = case(kind)
    rng = np.random.default_rng(16)
    count = 20 if SMALL else 40
    where = points[rng.integers(len(points), size=count)] + rng.normal(size=(count, 3)) * 0.5
    columns = columns_at(kind)
    off = points_in_ground(columns, where)
    clear = nearest_skin(columns, border_columns(columns), where) > 1e-6
    inside = thud.contains(surface, where)
    np.testing.assert_array_equal(inside[clear], (off < 1e-7)[clear])
    assert 0 < inside.sum() < count
    found = thud.closest_point(surface, where, signed=True)
    truth = thud.closest_point(sheet, where)
    np.testing.assert_allclose(np.abs(found.distance), truth.distance, atol=2.0 * h + 1e-9)
    np.testing.assert_array_equal(found.distance < 0.0, inside & (found.distance != 0.0))
    np.testing.assert_allclose(np.linalg.norm(found.point - where, axis=1), np.abs(found.distance), atol=1e-9)
    pose = thud.Pose((1, 2, 3), (0.5, -0.5, 0.5, 0.5))
    turn, shift = pose.rows[0, :9].reshape(3, 3), pose.rows[0, 9:]
    moved = thud.closest_point(surface, where @ turn.T + shift, pose=pose, signed=True)
    np.testing.assert_allclose(np.abs(moved.distance), np.abs(found.distance), atol=1e-9)
    np.testing.assert_array_equal(thud.contains(surface, where @ turn.T + shift, pose=pose)[clear], inside[clear])


# Invariance


def everything(surface: DisplacedSurface, shape: Any, pose_s: Any, poses: Any, motion: np.ndarray, **options: Any) -> dict:
    results = {
        "meet": thud.intersects(surface, shape, pose_s, poses, **options),
        "distance": thud.distance(surface, shape, pose_s, poses, **options),
        "signed": thud.distance(surface, shape, pose_s, poses, signed=True, **options),
        "contacts": thud.contacts(surface, shape, pose_s, poses, margin=0.1, **options),
        "cast": thud.cast(surface, shape, pose_s, poses, 0.0, motion, **options),
    }
    out = {}
    for name, result in results.items():
        if isinstance(result, np.ndarray):
            out[name] = result
        else:
            out |= {f"{name} {field.name}": getattr(result, field.name) for field in fields(result)}
    return out


def test_threads_do_not_matter() -> None:
    # Two chunks of rows and a little more.
    surface, _sheet, _h, points = case("overhang")
    poses, motion = poses_near(points, 72, 17), np.random.default_rng(18).normal(size=(72, 3))
    for shape in (SHAPES["cone"], SHAPES["compound"]):
        one = everything(surface, shape, None, poses, motion, threads=1)
        two = everything(surface, shape, None, poses, motion, threads=2)
        assert all(one[name].tobytes() == two[name].tobytes() for name in one)
    rng = np.random.default_rng(19)
    o, d = rng.normal(size=(200, 3)) * 8, rng.normal(size=(200, 3))
    for query in (thud.raycast(surface, o, d, threads=1), thud.closest_point(surface, o, threads=1)):
        again = (thud.raycast if hasattr(query, "normal") else thud.closest_point)(
            surface, o, *([d] if hasattr(query, "normal") else []), threads=2
        )
        for field in fields(query):
            assert getattr(query, field.name).tobytes() == getattr(again, field.name).tobytes()


def test_both_moved_together_answer_the_same() -> None:
    surface, _sheet, _h, points = case("one map")
    poses, motion = poses_near(points, 60, 20), np.random.default_rng(21).normal(size=(60, 3))
    before = everything(surface, SHAPES["box"], None, poses, motion)
    for shift in (30.0, 1e6):
        pose = thud.Pose((shift, -shift, 0.5 * shift), (0.5, 0.5, 0.5, -0.5))
        turn, at = pose.rows[0, :9].reshape(3, 3), pose.rows[0, 9:]
        rows = (pose @ thud.Pose.from_rows(as_poses(poses, "p"))).rows
        after = everything(surface, SHAPES["box"], pose, thud.Pose.from_rows(rows), motion @ turn.T)
        size = 1e-7 if shift < 100 else 1e-5
        clear = ~((before["distance distance"] > 0) & (before["distance distance"] < size))
        np.testing.assert_array_equal(after["meet"][clear], before["meet"][clear])
        np.testing.assert_allclose(after["distance distance"][clear], before["distance distance"][clear], atol=size)
        far = (before["distance status"] == Status.SEPARATED) & (before["distance distance"] > 1e-2)
        np.testing.assert_allclose(after["distance point_b"][far], (before["distance point_b"] @ turn.T + at)[far], atol=0.1)
        np.testing.assert_allclose(
            np.minimum(after["cast time"], 2.0)[clear], np.minimum(before["cast time"], 2.0)[clear], atol=1e-3
        )
        np.testing.assert_allclose(after["signed distance"][clear], before["signed distance"][clear], atol=1e-3)


def test_a_surface_far_from_its_origin() -> None:
    near = case("one map")[0]
    far = DisplacedSurface(
        np.asarray(near.positions) + 1e6, near.directions, near.coordinates, near.primitives, near.quads, near.displacements
    )
    poses = poses_near(case("one map")[3], 60, 22)
    moved = poses + np.concatenate([np.full(3, 1e6), np.zeros(4)])
    a, b = thud.distance(near, SHAPES["hull"], None, poses), thud.distance(far, SHAPES["hull"], None, moved)
    np.testing.assert_allclose(a.distance, b.distance, atol=1e-6)
    np.testing.assert_array_equal(a.status, b.status)
    o = poses[:, :3] + [0, 0, 5.0]
    hits, others = thud.raycast(near, o, (0, 0, -1)), thud.raycast(far, o + 1e6, (0, 0, -1))
    np.testing.assert_allclose(hits.distance, others.distance, atol=1e-6)


def test_a_cache_gives_the_same_answers_over_frames() -> None:
    surface, _sheet, _h, points = case("overhang")
    poses, kept = poses_near(points, 60, 23), thud.PairCache()
    rng = np.random.default_rng(24)
    for frame in range(8):
        for shape in (SHAPES["compound"],):
            found = thud.intersects(surface, shape, None, poses, cache=kept)
            np.testing.assert_array_equal(found, thud.intersects(surface, shape, None, poses))
            assert 0 < found.sum() < len(found), frame
        poses[:, :3] += rng.normal(size=(60, 3)) * 0.1
    # Another shape, or another number of rows, and it starts anew.
    for other in (poses, poses[:7]):
        found = thud.intersects(surface, SHAPES["cone"], None, other, cache=kept)
        np.testing.assert_array_equal(found, thud.intersects(surface, SHAPES["cone"], None, other))


# Errors and other partners


def test_what_has_no_common_query_with_a_surface() -> None:
    surface, *_ = case("one map")
    for query in (thud.intersects, thud.distance, thud.contacts, thud.cast):
        with pytest.raises(UnsupportedQueryError, match="two DisplacedSurfaces"):
            query(surface, surface)
        with pytest.raises(InvalidInputError, match="pose_b"):
            query(surface, thud.Sphere(1.0), None, np.zeros((2, 4)))
        with pytest.raises(InvalidInputError, match="expected a thud shape"):
            query(surface, "ball")
        with pytest.raises(UnsupportedQueryError, match="two DisplacedSurfaces"):
            query(thud.Compound([surface]), surface)
    with pytest.raises(InvalidInputError, match="pose_a, pose_b"):
        thud.intersects(surface, thud.Sphere(1.0), thud.Pose(np.zeros((2, 3))), thud.Pose(np.zeros((3, 3))))
    for name in ("chung_wang", "v_clip"):
        with pytest.raises(UnsupportedQueryError, match=name):
            thud.intersects(surface, thud.Box((1, 1, 1)), method=name)
    with pytest.raises(UnsupportedQueryError):
        thud.contains(surface, (0, 0, 0), method="winding")
    with pytest.raises(UnsupportedQueryError, match="no volume"):
        _ = surface.volume
    for method in ("method", "projection"):
        with pytest.raises(InvalidInputError, match=method):
            surface_collision(surface, thud.Sphere(1.0), **{method: "magic"})


def test_half_spaces() -> None:
    surface, _sheet, h, points = case("one map")
    rng = np.random.default_rng(25)
    for _ in range(10):
        n = rng.normal(size=3)
        n /= np.linalg.norm(n)
        # Samples and the ends of their columns are the extreme points of the ground.
        columns = columns_at("one map")
        ends = columns.corners - columns.thickness * columns.directions
        low = float(min((points @ n).min(), (ends @ n).min()))
        for gap in (0.3, -0.2):
            plane = thud.HalfSpace(n, low - gap)
            assert thud.intersects(surface, plane)[0] == (gap < 0)
            found = thud.distance(surface, plane)
            assert found.distance[0] == pytest.approx(max(gap, 0.0), abs=2.0 * h + 1e-6)
        for turn in ([], [0.0, 0.0, 1e-9]):
            once = thud.cast(surface, thud.HalfSpace(n, low - 0.5), None, None, 0.0, [*n, *turn])
            assert once.time[0] == pytest.approx(0.5, abs=2.0 * h + 1e-4)
        moved = thud.cast(surface, thud.HalfSpace(n, low - 0.5), None, None, 0.0, n)
        assert moved.time[0] == pytest.approx(0.5, abs=2.0 * h + 1e-6)


# The paper's algorithms


@pytest.mark.parametrize("kind", list(KINDS))
def test_all_ways_find_the_same_parts(kind: str) -> None:
    surface, _sheet, _h, points = case(kind)
    rng = np.random.default_rng(26)
    parts = [SHAPES[name] for name in ("sphere", "box", "hull", "cylinder", "capsule")]
    inner = poses_near(np.zeros((1, 3)), len(parts), 27, 0.8)
    shape = thud.Compound(parts, inner)
    fewer = 0
    for pose in poses_near(points, 5 if SMALL else 20, 28, 0.8):
        motion = rng.normal(size=3) * 0.1
        every, plain, multi, auto = (
            surface_collision(surface, shape, pose, motion=motion, method=method)
            for method in ("every_vertex", "plain", "multiresolution", "auto")
        )
        assert auto.counts["projected"] == 0
        assert multi.counts["projected"] <= plain.counts["projected"] <= every.counts["projected"]
        fewer += multi.counts["projected"] < every.counts["projected"]
        for one in (plain, multi, auto):
            assert one.counts["boxes"] == every.counts["boxes"] >= one.counts["planes"] == every.counts["planes"]
        rows = as_poses(pose, "p")
        for k, part in enumerate(parts):
            at = thud.Pose.from_rows(rows) @ thud.Pose.from_rows(as_poses(inner[k], "p"))
            meets = bool(thud.intersects(surface, part, None, at)[0])
            assert every.parts[k] == plain.parts[k] == multi.parts[k] == auto.parts[k] == meets
        first = surface_collision(surface, shape, pose, any_part=True)
        assert first.collides == auto.collides
        assert first.parts.sum() <= 1
        single = surface_collision(surface, parts[0], thud.Pose.from_rows(rows), surface_pose=None)
        assert single.parts.shape == (1,)
        # By vertices alone "auto" may not differ from the way it has chosen.
        alone = [surface_collision(surface, shape, pose, method=way, peaks=False).parts for way in ("plain", "auto")]
        np.testing.assert_array_equal(*alone)
    assert fewer > 0


@pytest.mark.parametrize("method", ["plain", "multiresolution", "auto"])
@pytest.mark.parametrize("peaks", [False, True])
def test_a_cache_changes_no_answer(method: str, peaks: bool) -> None:
    # What decided in the last frame may lie elsewhere in this one: jumps, and frames in which nothing is met.
    surface, _sheet, _h, points = case("one map")
    parts = [SHAPES[name] for name in ("sphere", "box", "hull")]
    shape = thud.Compound(parts, poses_near(np.zeros((1, 3)), len(parts), 31, 0.5))
    cache, rng, saved = thud.PairCache(), np.random.default_rng(32), 0
    at = np.array(points[len(points) // 2])
    for frame in range(20 if SMALL else 60):
        at = points[rng.integers(len(points))].copy() if frame % 15 == 0 else at + rng.normal(size=3) * 0.02
        pose = thud.Pose(at + (0.0, 0.0, 5.0 if frame % 11 == 10 else 0.0))
        known = surface_collision(surface, shape, pose, method=method, peaks=peaks, cache=cache)
        fresh = surface_collision(surface, shape, pose, method=method, peaks=peaks)
        np.testing.assert_array_equal(known.parts, fresh.parts)
        tests = [sum(x.counts[k] for k in ("coarsest", "finer", "finest", "projected")) for x in (known, fresh)]
        saved += tests[1] - tests[0]
    assert saved > 0 or (method == "auto" and peaks)


def test_planes_reject_vertices() -> None:
    # 2.6: of a tall part over flat land only the lowest vertices come between the planes.
    z = 0.1 * np.random.default_rng(33).normal(size=(17, 17))
    surface = from_heights(z, 1.0, samples=8, thickness=2.0).surface
    tower, pose = thud.Box((0.5, 0.5, 5.0)), thud.Pose((8.0, 8.0, 5.2))
    every = surface_collision(surface, tower, pose, method="every_vertex", peaks=False)
    plain = surface_collision(surface, tower, pose, method="plain", peaks=False)
    assert plain.collides == every.collides
    assert plain.counts["vertices_beyond"] >= 4
    assert plain.counts["projected"] < every.counts["projected"]


def test_no_part_is_lost_to_a_later_volume() -> None:
    # As printed, the last volume that a part does not meet removes it (Algorithms 10 to 12), and a part that was met by a
    # coarse volume is not looked at again. One small part in each patch meets one volume of each level only, and all others
    # come before or after it: by the printed form all but those of the last volumes would be lost.
    surface = grid_surface(np.random.default_rng(29), quads=(2, 2), side=16, height=0.4, rough=0.05)
    centers = []
    for quad in range(4):
        p = surface.samples(quad).point
        centers.append(0.25 * (p[1:, 1:] + p[1:, :-1] + p[:-1, 1:] + p[:-1, :-1]).reshape(-1, 3))
    places = np.concatenate(centers)[:: 9 if SMALL else 1]
    shape = thud.Compound([thud.Box((0.02, 0.02, 0.02))] * len(places), thud.Pose(places))
    for peaks in (False, True):
        found = surface_collision(surface, shape, method="multiresolution", peaks=peaks)
        assert found.parts.all()
    assert found.counts["projected"] < 0.1 * surface_collision(surface, shape, method="every_vertex").counts["projected"]


def test_a_peak_pierces_a_face_without_a_vertex_below() -> None:
    z = np.zeros((9, 9))
    z[4, 4] = 0.6
    surface = from_heights(z, 1.0, samples=8, thickness=2.0).surface
    plate, pose = thud.Box((1.8, 1.8, 0.05)), thud.Pose((4.1, 4.1, 0.4))
    assert thud.intersects(surface, plate, None, pose)[0]
    for method in ("every_vertex", "plain", "multiresolution", "auto"):
        assert surface_collision(surface, plate, pose, method=method).collides
        assert not surface_collision(surface, plate, pose, method=method, peaks=False).collides


def test_which_way_is_chosen_by_the_part() -> None:
    # "auto" asks volumes for parts of many vertices.
    surface = case("one map")[0]
    few = surface_collision(surface, thud.Box((1, 1, 1)), peaks=False)
    assert few.counts["coarsest"] + few.counts["finer"] + few.counts["finest"] + few.counts["volumes_apart"] == 0
    points = np.random.default_rng(30).normal(size=(200, 3))
    ball = thud.ConvexHull(points / np.linalg.norm(points, axis=1, keepdims=True))
    many = surface_collision(surface, ball, peaks=False)
    assert many.counts["coarsest"] + many.counts["finer"] + many.counts["finest"] > 0
    for projection in ("alpha_plane", "cubic"):
        found = surface_collision(surface, ball, method="multiresolution", projection=projection)
        np.testing.assert_array_equal(found.parts, surface_collision(surface, ball, method="plain").parts)
