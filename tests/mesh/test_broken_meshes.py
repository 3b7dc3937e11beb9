"""Every mesh query on meshes with every kind of defect, against every triangle tried.

Where a query needs a closed mesh, it must say so by a named error; what a defect means is in docs/meshes.md.
THUD_TEST_SIZE=full tries more poses, points and rays of each.
"""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

import thud
from tests.oracles.broken_meshes import BROKEN
from tests.oracles.mesh_points import ray_table, winding_number
from tests.oracles.meshes import Floats, blob_mesh, box_mesh, convex_distance, meeting_triangles, placed_corners
from thud import geometry
from thud.errors import InvalidShapeError, UnsupportedQueryError

SIZE = os.environ.get("THUD_TEST_SIZE", "ci")
POSES, POINTS = {"small": (2, 40), "ci": (4, 150), "full": (20, 1500)}[SIZE]

#: Sizes and places: all queries must answer alike at any scale, and far from the origin as well as floats let them.
FRAMES = {"plain": (1.0, 0.0), "tiny": (1e-6, 0.0), "huge": (1e6, 0.0), "far": (1.0, 1e6)}

#: What counts as touching, relative to the coordinates, and what two roundings of a pose may add.
CLOSE = 1e-13


#: Meshes with triangles thinner than a millionth of their length.
NEEDLES = ("slivers", "collinear", "many kinds")


def broken(name: str, frame: str = "plain") -> thud.TriangleMesh:
    scale, shift = FRAMES[frame]
    vertices, faces = BROKEN[name](np.random.default_rng(list(BROKEN).index(name)))
    return thud.TriangleMesh((vertices + shift) * scale, faces)


def partners(frame: str) -> dict[str, thud.TriangleMesh]:
    scale, shift = FRAMES[frame]
    plain = {"blob": blob_mesh(4, 20), "box": box_mesh(0.4), "triangle": BROKEN["one triangle"](np.random.default_rng(0))}
    return {name: thud.TriangleMesh((v + shift) * scale, f) for name, (v, f) in plain.items()}


def corners_of(mesh: thud.TriangleMesh) -> Floats:
    return np.asarray(mesh.vertices)[np.asarray(mesh.faces)]


def rotations(rng: np.random.Generator, count: int) -> Floats:
    q = rng.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


def pair_poses(rng: np.random.Generator, a: thud.TriangleMesh, b: thud.TriangleMesh, frame: str) -> thud.Pose:
    """Poses of B: as it is, shifted until corners, edges or faces touch exactly, and at random."""
    scale, shift = FRAMES[frame]
    middle = np.full(3, shift * scale)
    ca, cb = corners_of(a), corners_of(b)
    shifts = [np.zeros(3)]
    for k in range(3):
        i, j = rng.integers(len(ca)), rng.integers(len(cb))
        # Corner on corner, corner on the middle of an edge, middle on middle.
        on = (ca[i, 0], 0.5 * (ca[i, 0] + ca[i, 1]), ca[i].mean(axis=0))[k]
        shifts.append(on - (cb[j, 0] if k < 2 else cb[j].mean(axis=0)))
    shifts += [np.array([2.0, 0, 0]) * scale, np.array([2.0, 2.0, 2.0]) * scale, np.array([0.0, 0.0, 1e-9]) * scale]
    still = thud.Pose(np.array(shifts))
    q = rotations(rng, POSES)
    turned = thud.Pose(np.zeros(3), q)
    where = rng.uniform(-1.5, 1.5, (POSES, 3)) * scale + middle - np.einsum("nij,j->ni", turned.rotation, middle)
    return thud.Pose(np.concatenate([still.position, where]), np.concatenate([np.tile([1.0, 0, 0, 0], (len(shifts), 1)), q]))


def inside_closed(a: thud.TriangleMesh, b: thud.TriangleMesh, row_b: Floats) -> bool:
    """Whether a corner of one lies in the other, which is closed; A is at home."""
    rotation, position = row_b[:9].reshape(3, 3), row_b[9:]
    found = False
    if a.is_closed:
        found |= bool(geometry.point_in_mesh(placed_corners(b, row_b).reshape(-1, 3), a.vertices, a.faces).any())
    if b.is_closed:
        local = (corners_of(a).reshape(-1, 3) - position) @ rotation
        found |= bool(geometry.point_in_mesh(local, b.vertices, b.faces).any())
    return found


def blur(name: str, frame: str, size: float) -> float:
    """By how much a crossing may be missed: not at all, but for places far away and slivers without a short edge, whose normal
    no one knows."""
    if name in NEEDLES:
        return 1e-9 * size
    return 8 * np.spacing(size) if frame == "far" else 0.0


def surely_meeting(a: Floats, b: Floats, blur: float) -> np.ndarray:
    """(M, 2) pairs of triangles that meet exactly, and go on to when B is moved by `blur` any way."""
    pairs = meeting_triangles(a, b)
    if blur > 0.0:
        for way in itertools.product((-blur, 0.0, blur), repeat=3):
            pairs = pairs[geometry.triangle_triangle(a[pairs[:, 0]], b[pairs[:, 1]] + way).intersects] if len(pairs) else pairs
    return pairs


def all_finite(*arrays: np.ndarray) -> bool:
    return all(np.isfinite(array).all() for array in arrays)


def closest_of(points: Floats, corners: Floats) -> Floats:
    """(N,) distance of points from the nearest of all triangles."""
    return np.stack([geometry.closest_point_triangle(p, corners).distance.min() for p in points])


# Pairs of meshes ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("frame", FRAMES)
def test_pairs_of_meshes(name: str, frame: str) -> None:
    rng = np.random.default_rng(1)
    a = broken(name, frame)
    others = {**partners(frame), "itself": a}
    for b in others.values():
        at = pair_poses(rng, a, b, frame)
        hit, gap = thud.intersects(a, b, None, at), thud.distance(a, b, None, at)
        pairs = thud.triangle_pairs(a, b, None, at)
        assert all_finite(gap.distance, gap.point_a, gap.point_b, gap.normal)
        np.testing.assert_array_equal(gap.status, hit)
        for row in range(len(at)):
            ca, cb = corners_of(a), placed_corners(b, at.rows[row])
            size = max(np.abs(ca).max(), np.abs(cb).max(), np.abs(at.rows[row, 9:]).max())
            i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(ca)), np.arange(len(cb)), indexing="ij"))
            every = geometry.closest_triangle_triangle(ca[i], cb[j]).distance.reshape(len(ca), len(cb))
            mine = np.zeros((len(ca), len(cb)), dtype=bool)
            chosen = pairs.row == row
            mine[pairs.triangle_a[chosen], pairs.triangle_b[chosen]] = True
            # All that meet exactly, and beyond these only what is apart by less than counts as touching.
            exact = surely_meeting(ca, cb, blur(name, frame, size))
            assert mine[exact[:, 0], exact[:, 1]].all(), (row, "missed")
            assert (every[mine] <= CLOSE * size).all(), (row, "too many")
            inside = inside_closed(a, b, at.rows[row])
            assert hit[row] == (mine.any() or inside), row
            true = 0.0 if hit[row] else every.min()
            assert gap.distance[row] == pytest.approx(true, abs=CLOSE * size), row
            assert (gap.distance[row] == 0.0) == hit[row]
            np.testing.assert_allclose(
                gap.point_b[row], gap.point_a[row] + gap.distance[row] * gap.normal[row], atol=10 * CLOSE * size
            )
            if mine.any() or not hit[row]:
                for point, corners in ((gap.point_a[row], ca), (gap.point_b[row], cb)):
                    assert closest_of(point[None], corners)[0] <= CLOSE * size
        # Swapped, by prepared pairs, with a cache, and with another tree.
        np.testing.assert_array_equal(thud.intersects(b, a, at, None), hit)
        cache, prepared = thud.PairCache(), thud.prepare(a, b)
        for _ in range(2):
            np.testing.assert_array_equal(thud.intersects(a, b, None, at, cache=cache), hit)
            np.testing.assert_array_equal(thud.distance(a, b, None, at, cache=cache).distance, gap.distance)
        for row in range(0, len(at), 3):
            assert prepared.intersects(None, at[row]) == hit[row]
            assert prepared.distance(None, at[row]).distance[0] == gap.distance[row]
        bent = thud.TriangleMesh(a.vertices, a.faces, build="slides").deformed(a.vertices)
        again = thud.triangle_pairs(bent, b, None, at)
        np.testing.assert_array_equal(again.triangle_a, pairs.triangle_a)
        np.testing.assert_array_equal(again.triangle_b, pairs.triangle_b)


VOLUMES = [{"bounding": kind} for kind in ("sphere", "obb", "kdop")] + [
    {"bounding": kind, "spm": spm, "spm_levels": 3, "spm_samples": 8, "spm_directions": directions}
    for kind, (spm, directions) in [
        *itertools.product(("sphere", "aabb", "obb", "kdop"), (("face", 1), ("vertex", 1))),
        ("sphere", ("compact", 1)), ("sphere", ("compact", 3)), ("obb", ("compact", 3)),
    ]
]  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_the_same_pairs_for_every_bounding_volume(name: str) -> None:
    for frame in FRAMES if SIZE == "full" else ("plain", "far"):
        rng = np.random.default_rng(2)
        a, b = broken(name, frame), partners(frame)["blob"]
        at = pair_poses(rng, a, b, frame)
        expected, hit = thud.triangle_pairs(a, b, None, at), thud.intersects(a, b, None, at)
        for volumes in VOLUMES:
            va, vb = thud.TriangleMesh(a.vertices, a.faces, **volumes), thud.TriangleMesh(b.vertices, b.faces, **volumes)
            found = thud.triangle_pairs(va, vb, None, at)
            for field in ("row", "triangle_a", "triangle_b"):
                np.testing.assert_array_equal(getattr(found, field), getattr(expected, field), err_msg=str(volumes))
            np.testing.assert_array_equal(thud.intersects(va, vb, None, at), hit, err_msg=str(volumes))


@pytest.mark.parametrize("name", BROKEN)
def test_casts(name: str) -> None:
    rng = np.random.default_rng(3)
    for frame in FRAMES:
        scale, shift = FRAMES[frame]
        a, others = broken(name, frame), partners(frame)
        for b in (others["blob"], others["triangle"]):
            q = rotations(rng, POSES)
            aim = rng.normal(size=(POSES, 3))
            aim /= np.linalg.norm(aim, axis=1, keepdims=True)
            middle = np.full(3, shift * scale)
            start = 5.0 * scale * aim + middle - np.einsum("nij,j->ni", thud.Pose(np.zeros(3), q).rotation, middle)
            move = -8.0 * scale * aim
            found = thud.cast(a, b, None, thud.Pose(start, q), 0, move)
            assert all_finite(found.point, found.normal)
            assert not np.isnan(found.time).any()
            assert (found.status != thud.CastStatus.UNCONVERGED).all()
            times = np.linspace(0.0, 1.0, 40)
            for row in range(POSES):
                at = thud.Pose(start[row] + times[:, None] * move[row], np.repeat(q[row : row + 1], 40, axis=0))
                meets = thud.intersects(a, b, None, at)
                assert found.time[row] <= (times[np.argmax(meets)] if meets.any() else np.inf)
                if found.status[row] == thud.CastStatus.HIT:
                    there = thud.Pose(start[row] + found.time[row] * move[row], q[row])
                    assert thud.distance(a, b, None, there).distance[0] < 2e-7 * scale + CLOSE * shift


@pytest.mark.parametrize("name", BROKEN)
def test_depth_and_contacts(name: str) -> None:
    rng = np.random.default_rng(4)
    for frame in FRAMES:
        scale, shift = FRAMES[frame]
        a, others = broken(name, frame), partners(frame)
        for b in (others["box"], others["triangle"], thud.Sphere(0.3 * scale), thud.Box(np.array([0.2, 0.3, 0.1]) * scale)):
            mesh = isinstance(b, thud.TriangleMesh)
            q = rotations(rng, 2 if SIZE != "full" else 8)
            middle = np.full(3, shift * scale)
            turned = np.einsum("nij,j->ni", thud.Pose(np.zeros(3), q).rotation, middle) if mesh else 0.0
            at = thud.Pose(rng.uniform(-1.0, 1.0, (len(q), 3)) * scale + middle - turned, q)
            if mesh:
                at = thud.Pose(np.concatenate([[np.zeros(3)], at.position]), np.concatenate([[[1.0, 0, 0, 0]], q]))
            hit, found = thud.intersects(a, b, None, at), thud.distance(a, b, None, at, signed=True)
            assert all_finite(found.distance, found.point_a, found.point_b, found.normal)
            np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0)
            np.testing.assert_array_equal(found.distance <= 0, hit)
            np.testing.assert_array_equal(found.distance[~hit], thud.distance(a, b, None, at).distance[~hit])
            # The promised way out leads out.
            away = (
                at.position[hit]
                - (found.distance[hit] * (1 + 1e-9) - 1e-9 * scale - 1e-14 * shift)[:, None] * found.normal[hit]
            )
            assert not hit.any() or not thud.intersects(a, b, None, thud.Pose(away, at.quaternion[hit])).any()
            for margin in (0.0, 0.1 * scale):
                touched = thud.contacts(a, b, None, at, margin=margin)
                assert all_finite(touched.point, touched.normal, touched.depth)
                np.testing.assert_allclose(np.linalg.norm(touched.normal, axis=1), 1.0)
                assert (touched.depth >= -margin * (1 + 1e-9) - CLOSE * shift).all()
                np.testing.assert_array_equal(touched.status == thud.Status.OVERLAPPING, hit)
                # Every overlap has a contact, and without a margin nothing else has.
                assert set(np.flatnonzero(hit)) <= set(touched.row)
                if margin == 0.0:
                    assert set(touched.row) <= set(np.flatnonzero(hit))


# A mesh and a convex shape --------------------------------------------------------------------------------------------

SHAPES = {
    "sphere": lambda s: thud.Sphere(0.3 * s),
    "box": lambda s: thud.Box(np.array([0.2, 0.5, 0.3]) * s),
    "capsule": lambda s: thud.Capsule(0.2 * s, 0.4 * s),
    "cylinder": lambda s: thud.Cylinder(0.3 * s, 0.4 * s),
    "cone": lambda s: thud.Cone(0.4 * s, 0.5 * s),
    "ellipsoid": lambda s: thud.Ellipsoid(np.array([0.2, 0.5, 0.3]) * s),
    "hull": lambda s: thud.ConvexHull(0.4 * s * np.random.default_rng(5).normal(size=(12, 3))),
    "half-space": lambda s: thud.HalfSpace((0.0, 0.6, 0.8), -0.5 * s),
}


@pytest.mark.parametrize("name", BROKEN)
def test_convex_shapes(name: str) -> None:
    rng = np.random.default_rng(5)
    count = 2 if SIZE != "full" else 20
    for frame in FRAMES if SIZE == "full" else ("plain", "tiny", "far"):
        scale, shift = FRAMES[frame]
        mesh = broken(name, frame)
        corners = corners_of(mesh)
        for kind, make in SHAPES.items():
            shape = make(scale)
            at = thud.Pose(rng.uniform(-1.5, 1.5, (count, 3)) * scale + shift * scale, rotations(rng, count))
            hit, gap = thud.intersects(shape, mesh, at, None), thud.distance(shape, mesh, at, None)
            assert all_finite(gap.distance, gap.point_a, gap.point_b, gap.normal)
            np.testing.assert_array_equal(thud.intersects(mesh, shape, None, at), hit)
            np.testing.assert_array_equal(gap.distance == 0.0, hit)
            for row in range(count):
                expected = convex_distance(shape, at[row], corners, 1e-7 * scale)
                if mesh.is_closed and kind != "half-space":
                    center = at[row].rotation @ shape.centroid + at[row].position
                    if geometry.point_in_mesh(center, mesh.vertices, mesh.faces)[0]:
                        expected = 0.0
                assert gap.distance[row] == pytest.approx(expected, abs=2e-6 * scale + 1e-9 * shift), (kind, row)
            move = rng.normal(size=(count, 3)) * 3.0 * scale
            found = thud.cast(shape, mesh, at, None, move, 0)
            assert all_finite(found.point, found.normal)
            times = np.linspace(0.0, 1.0, 20)
            for row in range(count):
                way = thud.Pose(
                    at.position[row] + times[:, None] * move[row], np.repeat(at.quaternion[row : row + 1], 20, axis=0)
                )
                meets = thud.intersects(shape, mesh, way, None)
                assert found.time[row] <= (times[np.argmax(meets)] if meets.any() else np.inf), (kind, row)
                assert (found.time[row] == 0.0) >= hit[row]


# Rays and points ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("frame", FRAMES)
def test_rays(name: str, frame: str) -> None:
    rng = np.random.default_rng(6)
    scale, shift = FRAMES[frame]
    mesh = broken(name, frame)
    corners = corners_of(mesh)
    # At random, through corners and edges, and along the axes from corners.
    o = rng.uniform(-2.0, 2.0, (POINTS, 3)) * scale + shift * scale
    d = rng.normal(size=(POINTS, 3))
    some = rng.integers(len(corners), size=POINTS // 3)
    d[: len(some)] = corners[some, 0] - o[: len(some)]
    d[len(some) : 2 * len(some)] = 0.5 * (corners[some, 0] + corners[some, 1]) - o[len(some) : 2 * len(some)]
    d[-POINTS // 6 :] = np.eye(3)[rng.integers(3, size=len(d[-POINTS // 6 :]))]
    o[-POINTS // 12 :] = corners[rng.integers(len(corners), size=len(o[-POINTS // 12 :])), 0]
    keep = (np.abs(d) > 0).any(axis=1)
    o, d = o[keep], d[keep]
    size = np.abs(corners).max() + np.abs(o).max()
    hits, table = thud.raycast(mesh, o, d), ray_table(o, d, mesh.vertices, mesh.faces)
    expected = table.min(axis=1)
    missed = np.isinf(expected)
    np.testing.assert_array_equal(np.isinf(hits.distance), missed)
    np.testing.assert_array_equal(hits.triangle < 0, missed)
    assert all_finite(hits.point, hits.normal)
    # Where a ray meets a needle is known along it as well as the needle is wide (docs/mesh_queries.md).
    tolerance = (1e-9 if name not in NEEDLES else 1e-5) * scale + CLOSE * size
    off = np.abs(hits.distance[~missed] - expected[~missed])
    assert (off <= tolerance).all(), (off.max(), tolerance)
    some_hit = thud.raycast(mesh, o, d, any_hit=True)
    np.testing.assert_array_equal(some_hit.triangle < 0, missed)
    rows = np.flatnonzero(~missed)
    np.testing.assert_allclose(some_hit.distance[rows], table[rows, some_hit.triangle[rows]], atol=tolerance)
    ours, table = thud.raycast_all(mesh, o, d), ray_table(o, d, mesh.vertices, mesh.faces, crossing=True)
    assert all_finite(ours.distance, ours.point, ours.normal)
    crossed = np.full(table.shape, np.inf)
    crossed[ours.row, ours.triangle] = ours.distance
    np.testing.assert_array_equal(np.isinf(crossed), np.isinf(table))
    np.testing.assert_allclose(crossed, table, atol=tolerance)
    assert (np.diff(ours.row) >= 0).all()
    assert (np.diff(ours.distance)[np.diff(ours.row) == 0] >= 0).all()
    near = thud.raycast(mesh, o, d, max_distance=scale)
    np.testing.assert_array_equal(near.triangle >= 0, hits.distance <= scale)


@pytest.mark.parametrize("name", BROKEN)
@pytest.mark.parametrize("frame", FRAMES)
def test_points(name: str, frame: str) -> None:
    rng = np.random.default_rng(7)
    scale, shift = FRAMES[frame]
    mesh = broken(name, frame)
    corners = corners_of(mesh)
    points = np.concatenate(
        [rng.uniform(-2.0, 2.0, (POINTS, 3)) * scale + shift * scale, corners[:20].reshape(-1, 3), corners[:20].mean(axis=1)]
    )
    size = np.abs(corners).max() + np.abs(points).max()
    found, true = thud.closest_point(mesh, points), closest_of(points, corners)
    assert all_finite(found.distance, found.point)
    np.testing.assert_allclose(found.distance, true, rtol=1e-12, atol=CLOSE * size)
    np.testing.assert_allclose(np.linalg.norm(found.point - points, axis=1), true, rtol=1e-12, atol=CLOSE * size)
    on = geometry.closest_point_triangle(found.point, corners[found.triangle]).distance
    assert on.max() <= CLOSE * size
    clear = true > 1e-9 * scale + CLOSE * size
    number = winding_number(points, np.asarray(mesh.vertices), np.asarray(mesh.faces))
    sure = clear & (np.abs(number - 0.5) > 5e-3)
    np.testing.assert_array_equal(thud.contains(mesh, points, method="winding")[sure], (number > 0.5)[sure])
    if not mesh.is_closed:
        for method in ("ray", "grid", "parts"):
            with pytest.raises(UnsupportedQueryError, match="closed mesh"):
                thud.contains(mesh, points, method=method)
        with pytest.raises(UnsupportedQueryError, match="closed mesh"):
            thud.closest_point(mesh, points, signed=True)
        return
    inside = geometry.point_in_mesh(points, mesh.vertices, mesh.faces)
    np.testing.assert_array_equal(thud.contains(mesh, points), inside)
    np.testing.assert_array_equal(thud.contains(mesh, points, method="grid"), inside)
    signed = thud.closest_point(mesh, points, signed=True)
    np.testing.assert_array_equal(np.abs(signed.distance), found.distance)
    np.testing.assert_array_equal((signed.distance < 0)[found.distance > 0], inside[found.distance > 0])


@pytest.mark.parametrize("name", BROKEN)
def test_the_mesh_itself(name: str) -> None:
    for frame in FRAMES:
        mesh = broken(name, frame)
        assert isinstance(str(mesh.problems()), str)
        assert all_finite(mesh.centroid, mesh.inertia(2.0), np.array(mesh.volume))
        assert np.linalg.eigvalsh(mesh.inertia(2.0)).min() >= -1e-9 * np.abs(mesh.inertia(2.0)).max()
        box = mesh.bounds()
        lower, upper = box.lower, box.upper
        assert (lower <= corners_of(mesh).min(axis=(0, 1))).all()
        assert (upper >= corners_of(mesh).max(axis=(0, 1))).all()
        try:
            assert len(mesh.hull.vertices) >= 4
        except InvalidShapeError:
            assert name in ("one triangle", "coplanar", "folded")


# What these tests found -----------------------------------------------------------------------------------------------


def test_the_distance_of_needles_is_not_too_small() -> None:
    # The foot of a corner on a needle's face was taken along a normal lost in the roundoff of the long edges: copies of slivers
    # 1.46e-10 apart were given as 8.7e-11 apart.
    a = broken("slivers")
    at = thud.Pose([0.0, 0.0, 1e-9])
    ca, cb = corners_of(a), placed_corners(a, at.rows[0])
    i, j = (grid.ravel() for grid in np.meshgrid(np.arange(len(ca)), np.arange(len(cb)), indexing="ij"))
    true = geometry.closest_triangle_triangle(ca[i], cb[j]).distance.min()
    assert thud.distance(a, a, None, at).distance[0] == pytest.approx(true, rel=1e-6)


def test_needles_that_cross_meet() -> None:
    # A needle 8e-9 wide that a sliver passes through: by the normal of its two long edges the place of piercing was off by more
    # than its width, and the two were given as 1e-10 apart.
    needle = [
        [0.044174, 0.28234185, 0.87821411],
        [0.15992468, -0.63352983, 1.31777302],
        [0.044174, 0.28234185, 0.87821411 - 8e-9],
    ]
    middle = np.mean(needle, axis=0)
    way = np.array([0.74, 0.39, 0.6])
    sliver = [middle - way, middle + way, middle + 0.5 * way + [0.0, 0.0, 1e-14]]
    a, b = thud.TriangleMesh(needle, [[0, 1, 2]]), thud.TriangleMesh(sliver, [[0, 1, 2]])
    assert geometry.triangle_triangle(needle, sliver).intersects.all()
    assert len(thud.triangle_pairs(a, b).row) == 1
    gap = thud.distance(a, b)
    assert gap.distance[0] == 0.0
    assert closest_of(gap.point_a, np.array([sliver]))[0] < 1e-13


def test_the_normal_of_a_gap_below_the_roundoff_of_the_place() -> None:
    # At 1e6 m two points 5e-11 apart are one; the normal was the difference of the two, 0 / 0.
    a = thud.TriangleMesh(np.array([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]]), [[0, 1, 2]])
    far = np.array([1e6, 1e6, 1e6])
    gap = thud.distance(a, thud.TriangleMesh(np.asarray(a.vertices) + [0, 0, 2e-11], a.faces), thud.Pose(far), thud.Pose(far))
    assert gap.distance[0] == pytest.approx(2e-11)
    np.testing.assert_allclose(np.abs(gap.normal), [[0.0, 0.0, 1.0]], atol=1e-12)


def test_a_cache_keeps_a_gap_of_a_few_roundoffs() -> None:
    # The bound from the last frame came from another formula for the same distance, and the walk's own result lay above it by a
    # roundoff: nothing was found, and the distance was inf.
    a, b = broken("partly inverted", "far"), partners("far")["box"]
    at = pair_poses(np.random.default_rng(1), a, b, "far")
    for shift in np.random.default_rng(8).normal(size=(20, 3)) * 1e-10:
        moved, cache = thud.Pose(at.position + shift, at.quaternion), thud.PairCache()
        first = thud.distance(a, b, None, moved, cache=cache)
        np.testing.assert_array_equal(thud.distance(a, b, None, moved, cache=cache).distance, first.distance)


def test_numbers_of_poses_that_do_not_fit_are_a_named_error() -> None:
    box, none = thud.TriangleMesh(*box_mesh()), thud.Pose(np.empty((0, 3)), np.empty((0, 4)))
    for query in (thud.intersects, thud.distance, thud.triangle_pairs, thud.contacts, thud.cast):
        with pytest.raises(thud.errors.InvalidInputError, match="expected equal numbers of rows"):
            query(box, box, thud.Pose(np.zeros((2, 3))), none)
    with pytest.raises(thud.errors.InvalidInputError, match="equal numbers of rows"):
        thud.Pose(np.zeros((3, 3)), np.tile([1.0, 0, 0, 0], (2, 1)))


def test_unmerged_triangles_are_said_to_be_so() -> None:
    box = thud.to_mesh(thud.Box((1, 1, 1)))
    corners = np.asarray(box.vertices)[np.asarray(box.faces)].reshape(-1, 3)
    faces = np.arange(len(corners)).reshape(-1, 3)
    # Equal corners count as one.
    assert thud.TriangleMesh(corners, faces).is_closed
    rounded = corners + 1e-7 * np.random.default_rng(0).normal(size=corners.shape)
    told = thud.TriangleMesh(rounded, faces).problems()
    assert told.unmerged
    assert "Merge" in str(told)
    assert not thud.TriangleMesh(box.vertices, np.asarray(box.faces)[1:]).problems().unmerged
