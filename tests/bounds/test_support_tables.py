"""Compact mappings: every plane has its node behind it and touches it, sizes are as promised, deformed meshes keep up."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.bounds.conservative import IDENTITY, poses
from tests.bounds.meshes import blob, odd_mesh, odd_meshes
from thud.bounds.farthest import farthest_of_planes
from thud.bounds.octahedral import octahedral_directions
from thud.bounds.support_planes import OFFSETS, POINTS, SupportPlanes, first_levels, validate_support_planes
from thud.bounds.support_tables import support_tables
from thud.errors import InvalidInputError
from thud.mesh.volumes import surfaces_meet

DEFORMED = 60


def tables(mesh: thud.TriangleMesh, levels: int = 3, samples: int = 8, directions: int = 1, **options: bool) -> SupportPlanes:
    return support_tables(mesh.tree.skip, mesh.tree.first, mesh.corners, levels, samples, directions, **options)


def check_planes(mesh: thud.TriangleMesh, mapping: SupportPlanes) -> None:
    """Definition 2.1 for every cell of every node, by all of its corners."""
    n, extent = octahedral_directions(mapping.resolution), float(np.abs(mesh.corners).max())
    for node in np.flatnonzero(mapping.slot >= 0).tolist():
        slot, count = int(mapping.slot[node]), (int(mesh.tree.skip[node]) - node + 1) // 2
        points = mesh.corners[mesh.tree.first[node] : mesh.tree.first[node] + count].reshape(-1, 3)
        planes = mapping.planes[slot * len(n) : (slot + 1) * len(n)].astype(np.float64)
        offset = planes[:, 0] if mapping.mode == OFFSETS else (planes * n).sum(axis=1)
        gap = offset - (points @ n.T).max(axis=0)
        assert (gap > 0.0).all()
        assert (gap < 2.0**-20 * extent).all()
        if mapping.mode == POINTS:
            # Each is a corner, but for the way outward.
            assert np.abs(planes[:, None] - points[None]).max(axis=2).min(axis=1).max() < 2.0**-20 * extent


@pytest.mark.parametrize("name", odd_meshes())
@pytest.mark.parametrize("points", [False, True])
def test_every_plane_supports_its_node(name: str, points: bool) -> None:
    mesh = odd_mesh(name)
    mapping = tables(mesh, points=points)
    assert mapping.mode == (POINTS if points else OFFSETS)
    assert (mapping.slot >= 0).sum() == len(first_levels(mesh.tree.skip, 3))
    check_planes(mesh, mapping)


def test_four_and_twelve_kibibytes_a_node() -> None:
    vertices, faces = blob(8, 5)
    for directions, most in ((1, 4096), (3, 12288)):
        mesh = thud.TriangleMesh(vertices, faces, bounding="sphere", spm="compact", spm_levels=4, spm_directions=directions)
        mapping = mesh.support_planes
        assert mapping.planes.nbytes == most * int((mapping.slot >= 0).sum())
        # The cells' directions are one array for all.
        assert mapping.vertices is octahedral_directions(32)
    # Other volumes than spheres need the points in any case.
    assert thud.TriangleMesh(vertices, faces, bounding="obb", spm="compact").support_planes.mode == POINTS


@pytest.mark.parametrize("spm", ["face", "vertex", "compact"])
@pytest.mark.parametrize("directions", [1, 3])
def test_a_deformed_mesh_has_planes_that_hold_it(spm: str, directions: int) -> None:
    vertices, faces = blob(8, 5, 0.6)
    mesh = thud.TriangleMesh(
        vertices, faces, bounding="sphere", spm=spm, spm_levels=4, spm_samples=8, spm_directions=directions
    )
    before = mesh.support_planes
    rng = np.random.default_rng(3)
    rows = poses(DEFORMED, rng)
    for turn in range(3):
        bent = mesh.deformed(
            vertices * (1.0 + 0.3 * np.sin(3.0 * vertices[:, ::-1] + turn)) + 0.02 * rng.normal(size=vertices.shape)
        )
        after = bent.support_planes
        if spm == "compact":
            check_planes(bent, after)
        else:
            validate_support_planes(after, bent.tree.skip, bent.tree.first, bent.corners)
            # The normals stay, so no hull was made.
            np.testing.assert_array_equal(after.planes[:, 3:], before.planes[:, 3:])
            assert after.samples is before.samples
        assert after.directions == directions
        truth, _ = surfaces_meet(bent, bent, IDENTITY, rows, bounding="aabb", mappings=(None, None))
        hit, counters = surfaces_meet(bent, bent, IDENTITY, rows, count_tests=True)
        np.testing.assert_array_equal(hit, truth)
        assert counters[:, 2].sum() > 0
        # Of a mesh that is deformed again without having been asked, the last planes that were made serve.
        mesh = bent if turn == 0 else bent.deformed(vertices)


def test_planes_of_a_mesh_that_was_never_asked_are_made_when_it_is() -> None:
    vertices, faces = blob(8, 5)
    bent = thud.TriangleMesh(vertices, faces, spm="face", spm_levels=2, spm_samples=8).deformed(1.5 * vertices)
    validate_support_planes(bent.support_planes, bent.tree.skip, bent.tree.first, bent.corners)


@pytest.mark.parametrize("spm", ["face", "vertex", "compact"])
def test_tables_beyond_all_memory_are_refused(spm: str) -> None:
    # They were begun: tens of GB of 511 nodes of 1,024 x 1,024 samples.
    mesh = thud.TriangleMesh(*blob(16, 5), spm=spm, spm_levels=9, spm_samples=1024)
    with pytest.raises(InvalidInputError, match=r"spm_levels, spm_samples: \d+ nodes of 1024 x 1024 samples.*take fewer"):
        _ = mesh.support_planes


def test_the_farthest_corners_are_the_farthest() -> None:
    mesh = odd_mesh("soup")
    rng = np.random.default_rng(4)
    nodes, starts, normals = first_levels(mesh.tree.skip, 2), np.array([0, 5, 5, 12]), rng.normal(size=(12, 3))
    rows = farthest_of_planes(mesh.tree.skip, mesh.tree.first, mesh.corners, nodes, starts, normals)
    corners = mesh.corners.reshape(-1, 3)
    for s, node in enumerate(nodes.tolist()):
        first = 3 * int(mesh.tree.first[node])
        below = corners[first : first + 3 * ((int(mesh.tree.skip[node]) - node + 1) // 2)]
        for p in range(starts[s], starts[s + 1]):
            assert corners[rows[p]] @ normals[p] == pytest.approx((below @ normals[p]).max())
            assert first <= rows[p] < first + len(below)
