"""Meshes in pairs, against every triangle tried: boolean, triangle pairs, distance; touching, contained, far away."""

from __future__ import annotations

import os

import numpy as np
import pytest

import thud
from tests.oracles.meshes import (
    blob_mesh,
    box_mesh,
    convex_distance,
    meeting_triangles,
    placed_corners,
    soup_mesh,
    surface_distance,
)

RNG = np.random.default_rng(11)
ROWS = 6 if os.environ.get("THUD_TEST_SIZE") == "small" else 25


def poses(count: int, spread: float, seed: int) -> thud.Pose:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return thud.Pose(rng.uniform(-spread, spread, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))


BLOB_A, BLOB_B = thud.TriangleMesh(*blob_mesh(8, 1)), thud.TriangleMesh(*blob_mesh(7, 2, 0.7))
SOUP = thud.TriangleMesh(*soup_mesh(60, 3))
CUBE = thud.TriangleMesh(*box_mesh())
ONE = thud.TriangleMesh([[0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
MESHES = {"blob-blob": (BLOB_A, BLOB_B), "blob-soup": (BLOB_A, SOUP), "soup-cube": (SOUP, CUBE), "one-blob": (ONE, BLOB_A)}


def contained(a: thud.TriangleMesh, b: thud.TriangleMesh, row_a: np.ndarray, row_b: np.ndarray) -> bool:
    """Whether a corner of one, connected mesh lies inside the other, which is closed."""
    for outer, inner, row_o, row_i in ((a, b, row_a, row_b), (b, a, row_b, row_a)):
        if outer.is_closed:
            point = placed_corners(inner, row_i).reshape(-1, 3)
            local = (point - row_o[9:]) @ row_o[:9].reshape(3, 3)
            if thud.geometry.point_in_mesh(local, outer.vertices, outer.faces).any():
                return True
    return False


@pytest.mark.parametrize("name", MESHES)
@pytest.mark.parametrize("spread", [1.0, 2.5])
def test_random_poses(name: str, spread: float) -> None:
    a, b = MESHES[name]
    pa, pb = poses(ROWS, spread, 1), poses(ROWS, spread, 2)
    hit, pairs, gap = thud.intersects(a, b, pa, pb), thud.triangle_pairs(a, b, pa, pb), thud.distance(a, b, pa, pb)
    for row in range(ROWS):
        ca, cb = placed_corners(a, pa.rows[row]), placed_corners(b, pb.rows[row])
        expected = meeting_triangles(ca, cb)
        mine = np.stack([pairs.triangle_a, pairs.triangle_b], axis=1)[pairs.row == row]
        np.testing.assert_array_equal(mine, expected)
        inside = contained(a, b, pa.rows[row], pb.rows[row])
        assert hit[row] == (len(expected) > 0 or inside)
        true = 0.0 if hit[row] else surface_distance(ca, cb)
        assert gap.distance[row] == pytest.approx(true, abs=1e-12)
        assert gap.status[row] == hit[row]
        np.testing.assert_allclose(gap.point_b[row], gap.point_a[row] + true * gap.normal[row], atol=1e-11)
        assert np.linalg.norm(gap.normal[row]) == pytest.approx(0.0 if hit[row] else 1.0)
    np.testing.assert_array_equal(thud.intersects(b, a, pb, pa), hit)
    np.testing.assert_allclose(thud.distance(b, a, pb, pa).distance, gap.distance, atol=1e-12)


def test_touching_cubes() -> None:
    # Faces, edges and corners that kiss exactly, and gaps of one part in 1e9.
    for offset in ([2, 0, 0], [2, 0.5, -1], [2, 2, 0], [2, 2, 2], [0, -2, 0.25]):
        at = thud.Pose(np.array(offset, dtype=float))
        assert thud.intersects(CUBE, CUBE, None, at)
        assert thud.distance(CUBE, CUBE, None, at).distance == 0.0
        away = thud.Pose(np.array(offset, dtype=float) * (1 + 1e-9))
        assert not thud.intersects(CUBE, CUBE, None, away)
        assert 1e-9 < thud.distance(CUBE, CUBE, None, away).distance[0] < 4e-9
    far = np.array([1e6, -1e6, 1e6])
    assert thud.intersects(CUBE, CUBE, thud.Pose(far), thud.Pose(far + [2, 0, 0]))


def test_flat_meshes_in_one_plane() -> None:
    moved = thud.Pose([0.25, 0.25, 0.0])
    pairs = thud.triangle_pairs(ONE, ONE, None, moved)
    assert (pairs.triangle_a.tolist(), pairs.triangle_b.tolist()) == ([0], [0])
    assert not thud.intersects(ONE, ONE, None, thud.Pose([0.6, 0.6, 0.0]))
    assert thud.distance(ONE, ONE, None, thud.Pose([0.0, 0.0, 0.5])).distance == pytest.approx(0.5)


def test_containment_is_contact_for_closed_meshes_only() -> None:
    small = thud.TriangleMesh(0.1 * np.asarray(CUBE.vertices), CUBE.faces)
    surface = thud.TriangleMesh(CUBE.vertices, np.asarray(CUBE.faces)[:-1])
    assert CUBE.is_closed
    assert not surface.is_closed
    for a, b in ((CUBE, small), (small, CUBE)):
        assert thud.intersects(a, b)
        gap = thud.distance(a, b)
        assert (gap.distance[0], gap.status[0]) == (0.0, thud.Status.OVERLAPPING)
        assert len(thud.triangle_pairs(a, b).row) == 0
        assert np.abs(gap.point_a).max() <= 0.1
    assert not thud.intersects(surface, small)
    assert thud.distance(surface, small).distance == pytest.approx(0.9)


def test_one_of_several_parts_inside() -> None:
    # The first part is outside, the second inside: one corner of the mesh is not enough to tell.
    vertices, faces = box_mesh(0.1)
    both = thud.TriangleMesh(np.concatenate([vertices + [5, 0, 0], vertices]), np.concatenate([faces, faces + 8]))
    assert both.component_points.shape == (2, 3)
    assert thud.intersects(CUBE, both)
    assert thud.intersects(both, CUBE)
    assert not thud.intersects(CUBE, both, None, thud.Pose([0.0, 3.0, 0.0]))


SHAPES = {
    "sphere": thud.Sphere(0.3),
    "box": thud.Box((0.2, 0.5, 0.3)),
    "capsule": thud.Capsule(0.2, 0.4),
    "cylinder": thud.Cylinder(0.3, 0.4),
    "cone": thud.Cone(0.4, 0.5),
    "ellipsoid": thud.Ellipsoid((0.2, 0.5, 0.3)),
    "hull": thud.ConvexHull(0.4 * np.random.default_rng(5).normal(size=(30, 3))),
    "half-space": thud.HalfSpace((0.0, 0.6, 0.8), -0.5),
    "compound": thud.Compound([thud.Sphere(0.2), thud.Box((0.1, 0.1, 0.4))], thud.Pose([[0.5, 0, 0], [-0.3, 0, 0]])),
}


@pytest.mark.parametrize("name", SHAPES)
def test_convex_against_mesh(name: str) -> None:
    shape = SHAPES[name]
    rows = max(4, ROWS // 3)
    at, mesh_at = poses(rows, 2.0, 3), poses(rows, 0.5, 4)
    hit, gap = thud.intersects(shape, BLOB_A, at, mesh_at), thud.distance(shape, BLOB_A, at, mesh_at)
    back = thud.distance(BLOB_A, shape, mesh_at, at)
    np.testing.assert_array_equal(thud.intersects(BLOB_A, shape, mesh_at, at), hit)
    for row in range(rows):
        expected = convex_distance(shape, at[row], placed_corners(BLOB_A, mesh_at.rows[row]))
        inside = False
        if name != "half-space":
            local = mesh_at[row].inverse() @ at[row]
            center = shape.centroid if name != "compound" else np.array([0.5, 0.0, 0.0])
            point = local.rotation @ center + local.position
            inside = bool(thud.geometry.point_in_mesh(point, BLOB_A.vertices, BLOB_A.faces)[0])
        if inside:
            expected = 0.0
        assert gap.distance[row] == pytest.approx(expected, abs=2e-6)
        assert hit[row] == (gap.distance[row] == 0.0)
    np.testing.assert_allclose(back.distance, gap.distance, atol=1e-12)
    np.testing.assert_allclose(back.normal, -gap.normal, atol=1e-9)
    np.testing.assert_allclose(gap.point_b, gap.point_a + gap.distance[:, None] * gap.normal, atol=1e-9)


def test_max_distance_and_a_mesh_in_a_compound() -> None:
    at = poses(40, 3.0, 6)
    gap, near = thud.distance(BLOB_A, BLOB_B, None, at), thud.distance(BLOB_A, BLOB_B, None, at, max_distance=0.5)
    inside = gap.distance <= 0.5
    np.testing.assert_array_equal(near.distance[inside], gap.distance[inside])
    assert np.isinf(near.distance[~inside]).all()
    both = thud.Compound([BLOB_A, thud.Sphere(0.5)], thud.Pose([[0, 0, 0], [2.0, 0, 0]]))
    ball = thud.distance(thud.Sphere(0.5), BLOB_B, thud.Pose([2.0, 0, 0]), at)
    joined = thud.distance(both, BLOB_B, None, at)
    np.testing.assert_array_equal(joined.distance, np.minimum(gap.distance, ball.distance))
    np.testing.assert_array_equal(thud.intersects(both, BLOB_B, None, at), joined.distance == 0)


def test_the_same_bytes_for_any_number_of_threads() -> None:
    at = poses(200, 2.0, 7)
    for shape in (BLOB_B, thud.Capsule(0.2, 0.4)):
        one = thud.distance(BLOB_A, shape, None, at, threads=1)
        two = thud.distance(BLOB_A, shape, None, at, threads=2)
        for name in ("distance", "point_a", "point_b", "normal", "status"):
            assert getattr(one, name).tobytes() == getattr(two, name).tobytes()
    pairs = [thud.triangle_pairs(BLOB_A, BLOB_B, None, at, threads=n) for n in (1, 2)]
    assert pairs[0].triangle_a.tobytes() == pairs[1].triangle_a.tobytes()


def test_a_mesh_far_from_its_own_origin() -> None:
    shift = np.array([1e5, -2e5, 3e5])
    moved = thud.TriangleMesh(np.asarray(BLOB_B.vertices) + shift, BLOB_B.faces)
    at = poses(20, 2.0, 8)
    back = thud.Pose(at.position - np.einsum("nij,j->ni", at.rotation, shift), at.quaternion)
    np.testing.assert_allclose(
        thud.distance(BLOB_A, moved, None, back).distance, thud.distance(BLOB_A, BLOB_B, None, at).distance, atol=1e-9
    )


def test_deformed_mesh_answers_like_a_new_one() -> None:
    rng = np.random.default_rng(9)
    vertices = np.asarray(BLOB_B.vertices) * [1.0, 1.4, 0.6] + 0.05 * rng.normal(size=(len(BLOB_B.vertices), 3))
    bent, new = BLOB_B.deformed(vertices), thud.TriangleMesh(vertices, BLOB_B.faces)
    assert bent.tree is BLOB_B.tree
    at = poses(20, 2.0, 10)
    a, b = thud.triangle_pairs(BLOB_A, bent, None, at), thud.triangle_pairs(BLOB_A, new, None, at)
    np.testing.assert_array_equal(a.triangle_b, b.triangle_b)
    np.testing.assert_allclose(thud.distance(BLOB_A, bent, None, at).distance, thud.distance(BLOB_A, new, None, at).distance)


CASTS = {
    "mesh-mesh": (BLOB_A, BLOB_B),
    "mesh-box": (BLOB_A, thud.Box((0.2, 0.5, 0.3))),
    "capsule-mesh": (thud.Capsule(0.2, 0.4), BLOB_B),
    "half-space-mesh": (thud.HalfSpace((0.0, 0.6, 0.8), -2.5), BLOB_B),
    "compound-mesh": (thud.Compound([CUBE, thud.Sphere(0.5)], thud.Pose([[0, 0, 0], [2.0, 0, 0]])), BLOB_B),
}


@pytest.mark.parametrize("name", CASTS)
def test_casts(name: str) -> None:
    a, b = CASTS[name]
    rng = np.random.default_rng(13)
    count = 2 * ROWS
    aim = rng.normal(size=(count, 3))
    aim /= np.linalg.norm(aim, axis=1, keepdims=True)
    q = poses(count, 1.0, 14).quaternion
    start = 5.0 * aim
    move_b, move_a = -8.0 * aim + rng.normal(size=(count, 3)), 0.3 * rng.normal(size=(count, 3))
    found = thud.cast(a, b, None, thud.Pose(start, q), move_a, move_b)
    hit = found.status == thud.CastStatus.HIT
    times = np.linspace(0.0, 1.0, 60)
    for row in range(count):
        at = start[row] + times[:, None] * move_b[row]
        meets = thud.intersects(
            a, b, thud.Pose(times[:, None] * move_a[row]), thud.Pose(at, np.repeat(q[row : row + 1], 60, axis=0))
        )
        first = times[np.argmax(meets)] if meets.any() else np.inf
        assert found.time[row] <= first
        if found.status[row] == thud.CastStatus.MISS:
            assert not meets.any()
    assert hit.sum() > count // 5
    # Just before it they are apart, by what the promise allows; a little later they meet or have parted.
    t = found.time[hit, None]
    before = thud.distance(a, b, thud.Pose(t * move_a[hit]), thud.Pose(start[hit] + t * move_b[hit], q[hit]))
    assert before.distance.max() < 2e-7
    np.testing.assert_allclose(np.linalg.norm(found.normal[hit], axis=1), 1.0)
    assert (np.einsum("ni,ni->n", found.normal[hit], (move_b - move_a)[hit]) < 1e-9).all()
    back = thud.cast(b, a, thud.Pose(start, q), None, move_b, move_a)
    np.testing.assert_array_equal(back.status, found.status)
    np.testing.assert_allclose(back.time[hit], found.time[hit], atol=1e-7)


def test_casts_that_start_inside_or_in_contact() -> None:
    small = thud.TriangleMesh(0.1 * np.asarray(CUBE.vertices), CUBE.faces)
    for other in (small, thud.Sphere(0.1)):
        found = thud.cast(CUBE, other, None, None, 0, (5.0, 0.0, 0.0))
        assert (found.time[0], found.status[0]) == (0.0, thud.CastStatus.OVERLAPPING_AT_START)
    # Coplanar faces that slide past each other in their plane: no volume between them has a sign.
    tile = thud.TriangleMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]])
    found = thud.cast(tile, tile, None, thud.Pose([3.0, 0.0, 0.0]), 0, (-4.0, 0.0, 0.0))
    assert found.time[0] == pytest.approx(0.5, abs=1e-6)
    assert found.time[0] <= 0.5


def test_errors() -> None:
    with pytest.raises(thud.errors.UnsupportedQueryError, match="'v_clip' is of no use to a TriangleMesh"):
        thud.intersects(CUBE, CUBE, method="v_clip")
    with pytest.raises(thud.errors.UnsupportedQueryError, match="triangle_pairs: only a TriangleMesh and a HeightField"):
        thud.triangle_pairs(CUBE, thud.Sphere(1.0))
    with pytest.raises(thud.errors.InvalidInputError, match="pose_b: row 1 is beyond"):
        thud.intersects(CUBE, CUBE, None, thud.Pose([[0.0, 0, 0], [1e16, 0, 0]]))


@pytest.mark.parametrize("reach", [0.0, 1e-9, 0.1])
def test_contact_is_found_whatever_the_reach(reach: float) -> None:
    # A reach of 0 once let no box through, since no squared gap is below 0.
    at = poses(60, 1.5, 15)
    for shape in (BLOB_B, thud.Capsule(0.2, 0.4)):
        hit = thud.intersects(BLOB_A, shape, None, at)
        gap = thud.distance(BLOB_A, shape, None, at, max_distance=reach)
        np.testing.assert_array_equal(gap.distance == 0, hit)


def test_a_cache_changes_no_answer() -> None:
    start, step = poses(40, 1.8, 16), 0.02 * np.random.default_rng(17).normal(size=(40, 3))
    for shape in (BLOB_B, thud.Capsule(0.2, 0.4), thud.Compound([BLOB_B, thud.Sphere(0.3)], thud.Pose([[0, 0, 0], [1, 0, 0]]))):
        cache = thud.PairCache()
        for frame in range(5):
            at = thud.Pose(start.position + frame * step, start.quaternion)
            if shape.family != "convex":
                np.testing.assert_array_equal(
                    thud.intersects(BLOB_A, shape, None, at, cache=cache), thud.intersects(BLOB_A, shape, None, at)
                )
            kept, fresh = thud.distance(BLOB_A, shape, None, at, cache=cache), thud.distance(BLOB_A, shape, None, at)
            for name in ("distance", "point_a", "point_b", "normal", "status"):
                assert getattr(kept, name).tobytes() == getattr(fresh, name).tobytes(), (name, frame)
        # Another number of rows, and another pair: nothing of the old one is used.
        assert len(thud.distance(BLOB_A, shape, None, start[:3], cache=cache).distance) == 3
        np.testing.assert_array_equal(
            thud.intersects(SOUP, CUBE, None, start[:3], cache=cache), thud.intersects(SOUP, CUBE, None, start[:3])
        )


def test_prepared_pairs_and_tables_with_meshes() -> None:
    at = poses(12, 1.8, 18)
    pair = thud.prepare(BLOB_A, thud.Box((0.2, 0.5, 0.3)))
    hit, gap = thud.intersects(pair.a, pair.b, None, at), thud.distance(pair.a, pair.b, None, at)
    for row in range(12):
        assert pair.intersects(None, at[row]) == hit[row]
        assert pair.distance(None, at[row]).distance[0] == pytest.approx(gap.distance[row], abs=1e-12)
    assert len(pair.contacts(None, at[int(np.argmax(hit))]).row) > 0
    shapes = [BLOB_A, thud.Sphere(0.5), BLOB_B, BLOB_A, thud.Box((0.3, 0.3, 0.3))]
    where, table = poses(5, 1.5, 19), [[0, 1], [1, 2], [2, 3], [0, 3], [1, 4], [4, 0]]
    hits = thud.intersects_pairs(shapes, table, where)
    gaps = thud.distance_pairs(shapes, table, where)
    for row, (i, j) in enumerate(table):
        assert hits[row] == thud.intersects(shapes[i], shapes[j], where[i], where[j])[0]
        assert gaps.distance[row] == thud.distance(shapes[i], shapes[j], where[i], where[j]).distance[0]
    depths = thud.distance_pairs(shapes, table, where, signed=True)
    np.testing.assert_array_equal(depths.distance[~hits], gaps.distance[~hits])
    assert (depths.distance[hits] < 0.0).all()
