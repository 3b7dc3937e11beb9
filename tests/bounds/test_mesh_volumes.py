"""Mesh against mesh by every type of volume: the hits and pairs of brute force, with and without Theorem 3.2."""

from __future__ import annotations

import itertools
import os

import numpy as np
import pytest

import thud
from tests.bounds import conservative
from tests.bounds.conservative import IDENTITY, MAPPINGS, cube
from tests.bounds.meshes import blob, odd_meshes, soup
from thud.bounds.support_planes import support_planes
from thud.gates import as_poses
from thud.mesh.volumes import surface_pairs, surfaces_meet, surviving_levels

BOUNDINGS = ("sphere", "aabb", "obb", "kdop")
SMALL = os.environ.get("THUD_TEST_SIZE") == "small"


def mapped(mesh: thud.TriangleMesh, kind: str, exact: bool = False, levels: int = 4, samples: int = 8):
    return support_planes(mesh.tree.skip, mesh.tree.first, mesh.corners, kind, levels, samples, exact=exact)


def brute_pairs(a: thud.TriangleMesh, b: thud.TriangleMesh, row: np.ndarray) -> set[tuple[int, int]]:
    """All pairs of triangles whose exact intersection is not empty."""
    r, t = row[:9].reshape(3, 3), row[9:]
    first, second = a.vertices[a.faces], b.vertices[b.faces] @ r.T + t
    i, j = (x.ravel() for x in np.meshgrid(np.arange(len(first)), np.arange(len(second)), indexing="ij"))
    meets = thud.geometry.triangle_triangle(first[i], second[j]).intersects
    return set(zip(i[meets].tolist(), j[meets].tolist()))


def test_pairs_are_those_of_brute_force_for_every_volume() -> None:
    a, b = thud.TriangleMesh(*soup(25, 1)), thud.TriangleMesh(*blob(4, 2), kdop_k=26, build="slides")
    rng = np.random.default_rng(3)
    rows = conservative.poses(24, rng)[np.arange(24) % 8 != 0]
    expected = [brute_pairs(a, b, row) for row in rows]
    assert sum(bool(pairs) for pairs in expected) > 5
    for bounding in BOUNDINGS:
        if bounding == "aabb":
            # The same boxes, tested as boxes of one frame.
            hit, _ = surfaces_meet(a, b, IDENTITY, rows, bounding="aligned", mappings=(mapped(a, "face"), mapped(b, "face")))
            np.testing.assert_array_equal(hit, [bool(pairs) for pairs in expected])
        compact = [("points", 3)] + ([("offsets", 1)] if bounding == "sphere" else [])
        for mapping in (None, *MAPPINGS, *compact):
            made = conservative.mapping_of if mapping in compact else mapped
            mappings = (None, None) if mapping is None else (made(a, *mapping), made(b, *mapping))
            row, face_a, face_b = surface_pairs(a, b, IDENTITY, rows, bounding=bounding, mappings=mappings)
            for k, pairs in enumerate(expected):
                assert set(zip(face_a[row == k].tolist(), face_b[row == k].tolist())) == pairs, (bounding, mapping, k)
            hit, _ = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=mappings)
            np.testing.assert_array_equal(hit, [bool(pairs) for pairs in expected])


@pytest.mark.parametrize("bounding", BOUNDINGS)
def test_touching_cubes_meet_and_a_gap_parts_them(bounding: str) -> None:
    mesh = thud.TriangleMesh(*cube())
    steps = np.array(list(itertools.product((-2.0, -1.0, 0.0, 1.0, 2.0), repeat=3)))
    for kind, exact in MAPPINGS:
        mappings = mapped(mesh, kind, exact), mapped(mesh, kind, exact)
        rows = as_poses(np.column_stack([steps, np.tile([1.0, 0, 0, 0], (len(steps), 1))]), "rows")
        assert surfaces_meet(mesh, mesh, IDENTITY, rows, bounding=bounding, mappings=mappings)[0].all()
        outer = np.abs(steps).max(axis=1) == 2
        apart = rows.copy()
        apart[:, 9:] *= 1 + 1e-9
        hit = surfaces_meet(mesh, mesh, IDENTITY, apart, bounding=bounding, mappings=mappings)[0]
        np.testing.assert_array_equal(hit, ~outer)


@pytest.mark.parametrize("name", odd_meshes())
def test_odd_meshes_have_the_same_pairs_for_every_volume(name: str) -> None:
    vertices, faces = odd_meshes()[name]
    a, b = thud.TriangleMesh(vertices, faces), thud.TriangleMesh(vertices, faces, kdop_k=26, build="slides")
    scale = float(np.abs(a.corners).max())
    rows = conservative.poses(16, np.random.default_rng(5))
    # B about A's middle, in units of the mesh.
    rows[:, 9:] = rows[:, 9:] * scale * 0.5 + a.origin - np.einsum("nij,j->ni", rows[:, :9].reshape(-1, 3, 3), a.origin)
    rows[0] = IDENTITY[0]
    reference = None
    for bounding in BOUNDINGS:
        for mapping in (None, ("vertex", False), ("face", False)):
            mappings = (None, None) if mapping is None else (mapped(a, *mapping), mapped(b, *mapping))
            pairs = surface_pairs(a, b, IDENTITY, rows, bounding=bounding, mappings=mappings)
            reference = pairs if reference is None else reference
            for x, y in zip(pairs, reference):
                np.testing.assert_array_equal(x, y)
    assert reference is not None
    assert (reference[0] == 0).any()


def test_common_centres_and_a_volume_inside_the_other() -> None:
    # d = 0 for spheres and OBBs; for AABBs the intersection is the inner box, whose own direction is 0.
    outer = thud.TriangleMesh(*blob(6, 1, 0.0))
    inner = thud.TriangleMesh(0.3 * np.asarray(outer.vertices), outer.faces)
    rows = as_poses(np.array([[0, 0, 0, 1.0, 0, 0, 0], [0.2, 0, 0, 1, 0, 0, 0], [0.75, 0, 0, 1, 0, 0, 0]]), "rows")
    for bounding in BOUNDINGS:
        for kind, exact in MAPPINGS:
            for a, b in ((outer, inner), (inner, outer)):
                mappings = mapped(a, kind, exact), mapped(b, kind, exact)
                hit = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=mappings)[0]
                np.testing.assert_array_equal(hit, [False, False, True])


def test_theorem_3_2_never_rejects_an_intersecting_pair() -> None:
    # 10,000 pose pairs for each of 35 settings in CI; a million by `python -m tests.bounds.conservative`.
    hits, rejected, lost = conservative.run(2_000 if SMALL else 10_000)
    assert lost == 0
    assert hits > (500 if SMALL else 2_500)
    assert rejected > (500 if SMALL else 2_500)


def test_theorem_3_2_saves_tests_and_levels() -> None:
    a, b = thud.TriangleMesh(*blob(14, 1, 0.8)), thud.TriangleMesh(*blob(14, 2, 0.8))
    rows = conservative.poses(400, np.random.default_rng(6))
    for bounding in BOUNDINGS:
        mappings = mapped(a, "face", samples=32), mapped(b, "face", samples=32)
        plain_hit, plain = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=(None, None), count_tests=True)
        hit, counters = surfaces_meet(a, b, IDENTITY, rows, bounding=bounding, mappings=mappings, count_tests=True)
        np.testing.assert_array_equal(hit, plain_hit)
        assert (plain[:, 1:3] == 0).all()
        assert counters[:, 0].sum() < plain[:, 0].sum()
        assert (counters[:, 2] <= counters[:, 1]).all()
        # Level by level: an intersecting pair survives to the last level, and the theorem never lets one live longer.
        without, _ = surviving_levels(a, b, IDENTITY, rows, 4, bounding=bounding, mappings=(None, None))
        with_spm, tests = surviving_levels(a, b, IDENTITY, rows, 4, bounding=bounding, mappings=mappings, count_tests=True)
        quick, _ = surviving_levels(a, b, IDENTITY, rows, 4, bounding=bounding, mappings=mappings)
        assert (without[hit] == 3).all()
        assert (with_spm[hit] == 3).all()
        assert (with_spm <= without).all()
        assert (with_spm < without).any()
        np.testing.assert_array_equal(quick, with_spm)
        assert (tests[:, :, 1] <= tests[:, :, 0]).all()


@pytest.mark.parametrize("options", [{"spm": "vertex"}, {"spm": "compact", "spm_directions": 3, "bounding": "sphere"}])
def test_same_answers_for_any_number_of_threads(options: dict[str, object]) -> None:
    a = thud.TriangleMesh(*blob(6, 1), spm_samples=8, **options)
    rows = conservative.poses(200, np.random.default_rng(7))
    one = surfaces_meet(a, a, IDENTITY, rows, threads=1, count_tests=True)
    two = surfaces_meet(a, a, IDENTITY, rows, threads=2, count_tests=True)
    for x, y in zip(one, two):
        np.testing.assert_array_equal(x, y)
    assert one[1][:, 1].sum() > 0


def test_public_queries_go_by_the_volumes_of_the_meshes() -> None:
    vertices, faces = blob(6, 1)
    inside = 0.2 * vertices
    q = np.random.default_rng(8).normal(size=(60, 7))
    q[:, 3:] /= np.linalg.norm(q[:, 3:], axis=1)[:, None]
    q[:, :3] *= 0.9
    plain, small = thud.TriangleMesh(vertices, faces), thud.TriangleMesh(inside, faces)
    hit, contained = thud.intersects(plain, plain, None, q), thud.intersects(plain, small, None, q)
    pairs = thud.triangle_pairs(plain, plain, None, q)
    assert 5 < hit.sum() < 60
    for bounding in BOUNDINGS:
        for spm, directions in ((None, 1), ("vertex", 1), ("face", 3), ("compact", 1), ("compact", 3)):
            options = {"spm": spm, "spm_levels": 3, "spm_samples": 8, "spm_directions": directions}
            mesh = thud.TriangleMesh(vertices, faces, bounding=bounding, **options)
            for a, b in ((mesh, mesh), (plain, mesh), (mesh, plain)):
                np.testing.assert_array_equal(thud.intersects(a, b, None, q), hit)
            # A closed mesh is solid, whatever its volumes.
            np.testing.assert_array_equal(thud.intersects(mesh, small, None, q), contained)
            found = thud.triangle_pairs(mesh, mesh, None, q)
            for field in ("row", "triangle_a", "triangle_b"):
                np.testing.assert_array_equal(getattr(found, field), getattr(pairs, field))
