"""Points at which edges pierce faces, against every edge and every face in rational numbers."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.imagespace.agreement import torus_mesh
from tests.oracles.meshes import blob_mesh, box_mesh
from tests.oracles.rational_piercings import pierced
from thud.errors import InvalidInputError
from thud.imagespace import contacts, interference, piercings
from thud.imagespace.scene import make_scene

BOX = thud.TriangleMesh(*box_mesh((1.0, 0.75, 0.5)))


def check(meshes: list[thud.TriangleMesh], poses: thud.Pose, least: int) -> thud.imagespace.Piercings:
    """All piercings of the first two meshes are those of the oracle, for the vertices as they are in the world."""
    got = piercings(meshes, poses, [[0, 1]])
    scene = make_scene(meshes, poses)
    spans = [slice(*scene.vertex_starts[k : k + 2]) for k in (0, 1)]
    count = 0
    for own, other in ((0, 1), (1, 0)):
        edges = scene.edges[scene.edge_starts[own] : scene.edge_starts[own + 1]] - scene.vertex_starts[own]
        faces = scene.triangles[scene.triangle_starts[other] : scene.triangle_starts[other + 1]] - scene.vertex_starts[other]
        want = pierced(scene.vertices[spans[own]], edges, scene.vertices[spans[other]], faces)
        mine = got[got.edge_object == own]
        keys = [(tuple(row.edge), row.face) for row in mine]
        assert sorted(keys) == sorted((tuple(edges[e]), f) for e, f in want)
        by_edge = {tuple(edge): k for k, edge in enumerate(edges.tolist())}
        for row in mine:
            along, point, entering, proper = want[by_edge[tuple(row.edge)], row.face]
            assert row.face_object == other
            assert (row.entering, row.proper) == (entering, proper)
            np.testing.assert_allclose(row.along, float(along), atol=1e-12)
            np.testing.assert_allclose(row.point, np.array(point, float), atol=1e-14 * np.abs(scene.boxes).max())
            a, b, c = scene.vertices[spans[other]][faces[row.face]]
            normal = np.cross(b - a, c - a)
            np.testing.assert_allclose(row.normal, normal / np.linalg.norm(normal), atol=1e-12)
        count += len(mine)
    assert count == len(got) >= least
    return got


@pytest.mark.parametrize("seed", range(4))
def test_every_piercing_of_a_pair(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shapes = [BOX, thud.TriangleMesh(*blob_mesh(4, seed)), thud.TriangleMesh(*torus_mesh(6, 4, 0.3))]
    turn = rng.normal(size=(2, 4))
    poses = thud.Pose(rng.uniform(-0.4, 0.4, (2, 3)), turn / np.linalg.norm(turn, axis=1, keepdims=True))
    got = check([shapes[seed % 3], shapes[(seed + 1) % 3]], poses, 4)
    assert got.proper.all()
    # Outlines of closed surfaces: what an edge enters it leaves again, or its end is inside.
    assert got.entering.any()
    assert not got.entering.all()


def test_edges_that_touch() -> None:
    """A corner on a face, an edge across an edge, an edge in a plane: signs of exactly 0."""
    # The lower corner of a tetrahedron stands on a box's top.
    tip = np.array([[0.25, 0.125, 0.5], [1, 1, 2], [-1, 1, 2], [0, -1, 2]], float)
    stands = thud.TriangleMesh(tip, [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 3, 2]])
    got = check([BOX, stands], thud.Pose(np.zeros((2, 3))), 3)
    assert not got.proper.any()
    np.testing.assert_array_equal(got.point, np.tile([0.25, 0.125, 0.5], (len(got), 1)))
    # Boxes moved along one axis share planes: edges in a face's plane pierce nothing, those across it touch.
    got = check([BOX, BOX], thud.Pose([[0, 0, 0], [0.5, 0, 0]]), 1)
    assert not got.proper.any()
    # Two edges that cross: all faces at each have a row.
    turned = thud.TriangleMesh(np.asarray(BOX.vertices)[:, [1, 2, 0]] + [1.0, 0.0, 1.5], BOX.faces)
    check([BOX, turned], thud.Pose(np.zeros((2, 3))), 0)


def test_by_hand() -> None:
    """A corner of one cube in another: three edges of each leave through three faces of the other."""
    cube = thud.TriangleMesh(*box_mesh(1.0))
    poses = thud.Pose([[0, 0, 0], [1.5, 1.25, 1.75]])
    got = piercings([cube, cube], poses, interference([cube, cube], poses))
    # Diagonals of the squares are edges, too.
    axis = got[
        (np.abs(np.asarray(cube.vertices)[got.edge[:, 0]] - np.asarray(cube.vertices)[got.edge[:, 1]]) > 0).sum(axis=1) == 1
    ]
    points = {tuple(p) for p in axis.point.tolist()}
    assert points == {(1, 1, 0.75), (1, 0.25, 1), (0.5, 1, 1), (0.5, 0.25, 1), (0.5, 1, 0.75), (1, 0.25, 0.75)}
    assert got.pairs.tolist() == [[0, 1]]
    np.testing.assert_allclose(np.abs(got.normal).max(axis=1), 1.0)
    assert repr(got) == f"Piercings({len(got)} points of 1 pair)"


def test_pairs_and_none() -> None:
    cube = thud.TriangleMesh(*box_mesh(1.0))
    small = thud.TriangleMesh(*box_mesh(0.25))
    poses = thud.Pose([[0, 0, 0], [0.1, 0, 0], [9, 0, 0], [10.7, 0.3, 0.2]])
    meshes = [cube, small, cube, cube]
    got = piercings(meshes, poses)
    # One inside the other has none; the others theirs, by their numbers.
    assert got.pairs.tolist() == [[0, 1], [2, 3]]
    assert len(got.of_pair(0)) == 0
    assert set(got.edge_object.tolist()) == set(got.face_object.tolist()) == {2, 3}
    for threads in (1, 3):
        assert piercings(meshes, poses, got.pairs, threads=threads).point.tobytes() == got.point.tobytes()
    assert len(piercings([], None)) == len(piercings([cube], None)) == len(piercings(meshes, poses, np.empty((0, 2)))) == 0
    with pytest.raises(thud.errors.InvalidInputError, match="expected pairs of two objects"):
        piercings(meshes, poses, [[1, 1]])
    with pytest.raises(thud.errors.InvalidInputError, match="seen: row 0"):
        piercings(meshes, poses, [[1, 7]])


@pytest.mark.parametrize("query", [piercings, contacts, interference])
def test_meshes_that_are_no_sequence_are_named(query) -> None:
    with pytest.raises(InvalidInputError, match="meshes: expected a sequence of closed meshes, got NoneType"):
        query(None)
