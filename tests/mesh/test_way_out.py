"""The search for a way out of an overlap of meshes, against every triangle and many directions tried in NumPy."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh, placed_corners
from tests.oracles.sweeps import clearing_length, crossing_depth
from thud.mesh.depth import clearing_translation, mixed_directions, sphere_directions
from thud.mesh.triangle_sweep import sweep_triangles
from thud.mesh.way_out import nearest_above

SIZE = os.environ.get("THUD_TEST_SIZE", "ci")
CASES, DIRECTIONS, SWEEPS = {"small": (1, 20, 20), "ci": (5, 60, 80), "full": (60, 2_000, 5_000)}[SIZE]

CUBE = thud.TriangleMesh(*box_mesh())


def scene(case: int) -> tuple[thud.TriangleMesh, thud.TriangleMesh, thud.Pose, thud.Pose]:
    """Two blobs of about a hundred triangles that overlap, at any poses."""
    rng = np.random.default_rng(case)
    a, b = (thud.TriangleMesh(*blob_mesh(int(rng.integers(5, 7)), 10 * case + k, rng.uniform(0.2, 0.9))) for k in (1, 2))
    q, way = rng.normal(size=(2, 4)), rng.normal(size=3)
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    home = rng.uniform(-3, 3, 3)
    return a, b, thud.Pose(home, q[0]), thud.Pose(home + rng.uniform(0.0, 1.0) * way / np.linalg.norm(way), q[1])


@pytest.mark.parametrize("case", range(CASES))
def test_no_crossing_is_left_and_no_direction_is_much_shorter(case: int) -> None:
    a, b, at_a, at_b = scene(case)
    found = thud.distance(a, b, at_a, at_b, signed=True)
    if found.distance[0] > 0:
        return
    assert found.status[0] == thud.Status.OVERLAPPING
    depth, normal = -found.distance[0], found.normal[0]
    corners = [placed_corners(mesh, pose.rows[0]) for mesh, pose in ((a, at_a), (b, at_b))]
    assert crossing_depth(corners[0], corners[1] + depth * normal) < 1e-8
    assert not thud.intersects(a, b, at_a, thud.Pose(at_b.position + depth * normal, at_b.quaternion))[0]
    hulls = thud.distance(a.hull, b.hull, at_a, at_b, signed=True)
    assert depth <= -hulls.distance[0] * (1 + 1e-6)
    best = min(clearing_length(*corners, direction) for direction in sphere_directions(DIRECTIONS))
    assert depth <= 1.02 * best
    # Along the way itself nothing shorter clears them for good, and it ends where they touch.
    assert depth <= clearing_length(*corners, normal) + 1e-7
    np.testing.assert_allclose(found.point_b, found.point_a - depth * found.normal, atol=1e-9)


@pytest.mark.parametrize("case", range(CASES))
def test_no_longer_than_the_pattern_search(case: int) -> None:
    # What any two shapes that can be cast are searched by.
    a, b, at_a, at_b = scene(100 + case)
    found = thud.distance(a, b, at_a, at_b, signed=True)
    if found.distance[0] > 0:
        return
    slow = clearing_translation(a, b, at_a.rows, at_b.rows)
    assert -found.distance[0] <= 1.05 * np.linalg.norm(slow.shift)


def test_swept_triangles_touch_when_they_are_said_to() -> None:
    rng = np.random.default_rng(5)
    hits = 0
    for _ in range(SWEEPS):
        p, q = rng.normal(size=(2, 3, 3))
        m = 3.0 * rng.normal(size=3)
        q -= rng.uniform(0.3, 1.0) * m
        if crossing_depth(p[None], q[None]) > 0.0:
            continue
        time, normal, point = sweep_triangles(tuple(map(tuple, p)), tuple(map(tuple, q)), tuple(m), 1.0)
        times = np.linspace(0.0, 1.0, 40)
        crossed = [crossing_depth(p[None], (q + t * m)[None]) > 0.0 for t in times]
        if time > 1.0:
            assert not any(crossed)
            continue
        hits += 1
        assert not any(np.array(crossed)[times < time - 1e-9])
        # A moment later they cross.
        assert crossing_depth(p[None], (q + (time + 1e-6) * m)[None]) > 0.0
        assert np.dot(normal, m) < 0.0
        assert np.linalg.norm(normal) == pytest.approx(1.0)
        moved = q + time * np.asarray(m)
        for triangle in (p, moved):
            closest = thud.geometry.closest_point_triangle(np.array([point]), triangle[None])
            assert closest.distance[0] < 1e-9
    assert hits > SWEEPS // 10


def test_nearest_point_above_planes() -> None:
    rng = np.random.default_rng(6)
    for count in (1, 2, 3, 5, 8):
        for _ in range(6):
            normals = rng.normal(size=(count, 3))
            normals /= np.linalg.norm(normals, axis=1, keepdims=True)
            inner = rng.normal(size=3)
            offsets = normals @ inner - rng.uniform(0.0, 0.5, count)
            planes = np.concatenate([normals, offsets[:, None]], axis=1)
            found, x = nearest_above(np.concatenate([planes, np.zeros((8 - count, 4))]), count, 1e-12)
            assert found
            assert (normals @ x >= offsets - 1e-9).all()
            # No point that lies above all of them is nearer: the nearest one is the same by alternating projections.
            y, corrections = np.zeros(3), np.zeros((count, 3))
            for _ in range(1_000):
                for k in range(count):
                    z = y + corrections[k]
                    y = z + max(0.0, offsets[k] - normals[k] @ z) * normals[k]
                    corrections[k] = z - y
            assert np.linalg.norm(x) <= np.linalg.norm(y) + 1e-3


def test_directions_are_all_there() -> None:
    for count in (96, 256):
        mixed, plain = mixed_directions(count), sphere_directions(count)
        np.testing.assert_array_equal(np.unique(mixed, axis=0), np.unique(plain, axis=0))


def test_batches_and_single_rows_agree() -> None:
    a, b, at_a, at_b = scene(3)
    rng = np.random.default_rng(0)
    places = at_b.position.reshape(3) + 0.3 * rng.normal(size=(6, 3))
    turns = np.repeat(at_b.quaternion.reshape(1, 4), 6, axis=0)
    many = thud.distance(a, b, at_a, thud.Pose(places, turns), signed=True)
    for row in range(6):
        one = thud.distance(a, b, at_a, thud.Pose(places[row], turns[row]), signed=True)
        assert one.distance[0] == many.distance[row]
        np.testing.assert_array_equal(one.normal[0], many.normal[row])


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_scale_and_offset(scale: float) -> None:
    cube = thud.TriangleMesh(scale * np.asarray(CUBE.vertices), CUBE.faces)
    home = np.array([1e3, -2e3, 5e2]) * scale
    found = thud.distance(cube, cube, thud.Pose(home), thud.Pose(home + scale * np.array([1.7, 0.1, 0.2])), signed=True)
    assert found.distance[0] == pytest.approx(-0.3 * scale, rel=1e-6)
    np.testing.assert_allclose(found.normal[0], [1.0, 0.0, 0.0], atol=1e-6)


@pytest.mark.parametrize("shift", [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.3, 0.2, 0.0]])
def test_what_only_touches_is_parted_by_a_small_step(shift: list[float]) -> None:
    # Two triangles in one plane: nothing stops B on its way back to where it was, and where it was is not free.
    triangle = thud.TriangleMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    found = thud.distance(triangle, triangle, None, thud.Pose(shift), signed=True)
    assert found.status[0] == thud.Status.OVERLAPPING
    assert -1e-6 < found.distance[0] <= 0.0
    moved = thud.Pose(np.array(shift) - found.distance[0] * found.normal[0])
    assert not thud.intersects(triangle, triangle, None, moved)[0]
    patches = thud.overlap_patches(triangle, triangle, None, thud.Pose(shift))
    assert len(patches.row) > 0
    assert 0.0 <= patches.depth.max() < 1e-6


def test_a_plane_along_the_way_does_not_lead_far_away() -> None:
    # Two bars of a robot, a corner in the other's side: the touching plane was all but parallel to the way back, and the gap to
    # it was reached 1.6e9 m away.
    a, b = thud.Box([0.05, 0.04, 0.04]), thud.Box([0.5, 0.04, 0.04])
    pose_a = [-0.06473454019299686, 0.03461871866968932, 0.1, 0.19880829450942844, 0, 0, -0.9800383982448098]
    pose_b = [0.4673041580397861, 0.17783932039548117, 0.1, 0.9835162215437964, 0, 0, 0.180819915828467]
    truth = thud.distance(a, b, pose_a, pose_b, signed=True).distance[0]
    found = thud.distance(a.to_mesh(), b.to_mesh(), pose_a, pose_b, signed=True)
    assert found.distance[0] == pytest.approx(truth, rel=1e-3)
    # The same bars at other turns: never deeper than the solids.
    rng = np.random.default_rng(0)
    turn = rng.uniform(-np.pi, np.pi, 20 if SIZE == "small" else 300)
    poses = np.column_stack([0.6 * np.cos(turn), 0.14 * np.sin(turn), 0 * turn, np.cos(turn), 0 * turn, 0 * turn, np.sin(turn)])
    solid = thud.distance(a, b, poses, None, signed=True)
    mesh = thud.distance(a.to_mesh(), b.to_mesh(), poses, None, signed=True)
    assert (mesh.distance >= 1.001 * np.minimum(solid.distance, 0.0) - 1e-6).all()
