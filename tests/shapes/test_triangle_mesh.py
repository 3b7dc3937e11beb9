"""TriangleMesh itself: what it refuses, what it reports, its moments, its tree."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh, box_mesh, soup_mesh
from thud.bvh.mesh_tree import MeshTree, validate_tree
from thud.errors import InvalidInputError, InvalidShapeError

VERTICES, FACES = box_mesh((1.0, 2.0, 3.0))


@pytest.mark.parametrize(
    ("vertices", "faces", "words"),
    [
        (VERTICES, np.zeros((0, 3), dtype=int), ["faces", "at least one"]),
        (VERTICES, [[0, 1, 8]], ["faces", "row 0", "0 to 7"]),
        (VERTICES, [[0, 1, 2], [0, -1, 2]], ["faces", "row 1", "-1"]),
        (VERTICES, [[0.0, 1.0, 2.0]], ["faces", "whole numbers"]),
        (VERTICES, [[0, 1, 2, 3]], ["faces", "(T, 3)"]),
        (np.where(np.arange(24).reshape(8, 3) == 4, np.nan, VERTICES), FACES, ["vertices", "row 1"]),
        (VERTICES * 1e16, FACES, ["vertices", "row", "limit"]),
        (VERTICES, [[0, 1, 1], [2, 2, 2]], ["faces", "degenerate"]),
        ([[0.0, 0, 0], [1, 1, 1], [2, 2, 2]], [[0, 1, 2]], ["faces", "degenerate"]),
    ],
)
def test_refused(vertices: object, faces: object, words: list[str]) -> None:
    with pytest.raises(InvalidInputError) as caught:
        thud.TriangleMesh(vertices, faces)  # type: ignore[arg-type]
    assert all(word in str(caught.value) for word in words), str(caught.value)


@pytest.mark.parametrize(
    "option",
    [
        {"bounding": "ball"}, {"spm": "edge"}, {"build": "fast"}, {"spm_levels": -1}, {"spm_directions": 0}, {"spm_levels": 99},
        {"spm_samples": 1}, {"spm_levels": True}, {"spm_samples": 8.0}, {"kdop_k": 8}, {"spm": True}, {"bounding": None},
        # An array compares by its entries, and 18.0 is equal to 18 but no size of an array.
        {"bounding": np.array(["aabb", "obb"])}, {"spm": np.array(["face", "vertex"])}, {"kdop_k": np.array([6, 14])},
        {"kdop_k": 18.0},
    ],
)  # fmt: skip
def test_refused_options(option: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match=next(iter(option))):
        thud.TriangleMesh(VERTICES, FACES, **option)  # type: ignore[arg-type]


def test_options_may_be_numpy_s_numbers_and_words() -> None:
    # They were refused as no whole numbers, by a message that named a whole number in the range.
    mesh = thud.TriangleMesh(
        VERTICES, FACES, bounding=np.str_("sphere"), spm="compact", spm_levels=np.int64(2), spm_samples=np.uint8(4),
        kdop_k=np.int32(14),
    )  # fmt: skip
    assert [type(value) for value in (mesh.bounding, mesh.spm_levels, mesh.spm_samples, mesh.kdop_k)] == [str, int, int, int]
    assert mesh.support_planes.resolution == 4
    assert mesh.kdops.shape[1] == 14


def test_problems() -> None:
    clean = thud.TriangleMesh(VERTICES, FACES)
    assert str(clean.problems()) == "no problems"
    assert clean.is_closed
    opened = thud.TriangleMesh(VERTICES, FACES[1:]).problems()
    assert (len(opened.open_edges), opened.closed) == (3, False)
    inverted = thud.TriangleMesh(VERTICES, FACES[:, ::-1])
    assert inverted.problems().inverted
    assert inverted.volume == pytest.approx(48.0)
    assert thud.intersects(inverted, thud.Sphere(0.1))
    flipped = thud.TriangleMesh(VERTICES, np.concatenate([FACES[:1, ::-1], FACES[1:]])).problems()
    assert (len(flipped.flipped_edges), flipped.closed) == (3, True)
    doubled = thud.TriangleMesh(VERTICES, np.concatenate([FACES, FACES[:1]])).problems()
    assert doubled.duplicate.tolist() == [12]
    assert len(doubled.nonmanifold_edges) == 3
    flat = thud.TriangleMesh(VERTICES, np.concatenate([FACES, [[0, 0, 1], [0, 1, 0]]])).problems()
    assert flat.degenerate.tolist() == [12, 13]
    assert flat.closed
    assert "degenerate" in str(flat)
    unused = thud.TriangleMesh(np.concatenate([VERTICES, [[9.0, 9, 9]]]), FACES)
    assert unused.problems().unused_vertices.tolist() == [8]
    assert unused.bounds().upper.tolist() == [[1.0, 2.0, 3.0]]


def test_triangle_soup_with_repeated_vertices_is_closed() -> None:
    soup = thud.TriangleMesh(VERTICES[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3))
    assert soup.is_closed
    assert len(soup.component_points) == 1


def test_moments() -> None:
    mesh, box = thud.TriangleMesh(VERTICES + [1.0, 2.0, 3.0], FACES), thud.Box((1.0, 2.0, 3.0))
    assert mesh.volume == pytest.approx(box.volume)
    np.testing.assert_allclose(mesh.centroid, [1.0, 2.0, 3.0])
    np.testing.assert_allclose(mesh.inertia(2.0), box.inertia(2.0), atol=1e-12)
    plate = thud.TriangleMesh([[-1.0, -2, 0], [1, -2, 0], [1, 2, 0], [-1, 2, 0]], [[0, 1, 2], [0, 2, 3]])
    assert plate.volume == 0.0
    np.testing.assert_allclose(plate.centroid, 0.0, atol=1e-15)
    np.testing.assert_allclose(plate.inertia(12.0), np.diag([16.0, 4.0, 20.0]), atol=1e-12)
    center, radius = mesh.bounding_sphere()
    assert radius == pytest.approx(np.sqrt(14.0))
    np.testing.assert_allclose(center, [1.0, 2.0, 3.0])


def test_immutable_and_picklable() -> None:
    mesh = thud.TriangleMesh(VERTICES, FACES)
    with pytest.raises(ValueError, match="read-only"):
        mesh.vertices[0, 0] = 5.0  # type: ignore[index]
    assert mesh.tree is mesh.tree
    copy = pickle.loads(pickle.dumps(mesh))
    np.testing.assert_array_equal(copy.vertices, mesh.vertices)
    assert "tree" not in copy.__dict__
    assert "12 triangles, closed" in repr(copy)


@pytest.mark.parametrize("build", ["sah", "slides"])
def test_tree(build: str) -> None:
    coincident = np.repeat([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], 1, axis=0), np.zeros((50, 3), dtype=int) + [0, 1, 2]
    geometric = np.concatenate([2.0 ** -np.arange(60)[:, None, None] * np.eye(3)]).reshape(-1, 3)
    cases = [
        blob_mesh(12, 1),
        soup_mesh(1, 2),
        soup_mesh(2, 3),
        soup_mesh(500, 4),
        coincident,
        (geometric, np.arange(180).reshape(-1, 3)),
    ]
    for vertices, faces in cases:
        mesh = thud.TriangleMesh(vertices, faces, build=build)
        validate_tree(mesh.tree)
        assert mesh.tree.levels.max() < 80
        # Each box holds its triangles, also in float32.
        boxes, wide = mesh.node_boxes, mesh.boxes.astype(np.float64)
        for node in range(len(boxes)):
            first = mesh.tree.first[node]
            inside = mesh.corners[first : first + (mesh.tree.skip[node] - node + 1) // 2].reshape(-1, 3)
            np.testing.assert_array_equal(inside.min(axis=0), boxes[node, :3])
            np.testing.assert_array_equal(inside.max(axis=0), boxes[node, 3:])
        assert (wide[:, :3] - wide[:, 3:] <= boxes[:, :3]).all()
        assert (wide[:, :3] + wide[:, 3:] >= boxes[:, 3:]).all()


def test_the_same_tree_for_any_number_of_threads() -> None:
    from thud.bvh.build_sah import build_sah

    rng = np.random.default_rng(5)
    vertices = np.repeat(rng.uniform(size=(30_000, 3)), 3, axis=0) + 0.01 * rng.uniform(size=(90_000, 3))
    faces, middle = np.arange(90_000).reshape(-1, 3), np.full(3, 0.5)
    one, two = build_sah(vertices, faces, middle, 1), build_sah(vertices, faces, middle, 2)
    validate_tree(one)
    for name in ("skip", "first", "order"):
        assert getattr(one, name).tobytes() == getattr(two, name).tobytes()


def test_validate_tree_sees_what_is_wrong() -> None:
    tree = thud.TriangleMesh(*soup_mesh(8, 6)).tree
    for name, at, value in (("skip", 0, 3), ("first", 1, 5), ("order", 0, 7), ("skip", 2, 2)):
        arrays = {field: getattr(tree, field).copy() for field in ("skip", "first", "order")}
        arrays[name][at] = value if arrays[name][at] != value else value - 1
        with pytest.raises(InvalidInputError, match="tree"):
            validate_tree(MeshTree(**arrays))


def test_hull_of_a_flat_mesh_is_a_named_error() -> None:
    flat = thud.TriangleMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0], [1, 1, 0]], [[0, 1, 2], [1, 3, 2]])
    with pytest.raises(InvalidShapeError):
        _ = flat.hull


def test_closed_by_numbers_is_closed_wherever_the_vertices_are() -> None:
    # Vertices that fall together, triangles that lose their area, parts that meet: never open.
    rng = np.random.default_rng(4)
    vertices, faces = blob_mesh(8, seed=5)
    two = np.concatenate([faces, faces + len(vertices)])
    mesh = thud.TriangleMesh(np.concatenate([vertices, vertices + 3.0]), two)
    assert mesh.topology.closed
    for _ in range(20):
        places = np.round(rng.normal(size=(2 * len(vertices), 3)) * rng.integers(1, 4))
        bent = mesh.deformed(places)
        assert bent.is_closed
        assert bent.problems().closed
        assert bent.topology is mesh.topology
        assert len(bent.component_points) == 2
    with pytest.raises(InvalidShapeError, match="degenerate"):
        mesh.deformed(np.zeros_like(places))
    with pytest.raises(InvalidShapeError, match=r"row 3 .*limit"):
        mesh.deformed(np.where(np.arange(len(places))[:, None] == 3, 1e16, places))
    # Open by numbers, closed by places.
    soup = thud.TriangleMesh(vertices[faces].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3))
    assert not soup.topology.closed
    assert soup.is_closed


def test_triangles_that_were_not_merged_are_said_to_be_so() -> None:
    """Corners that a file rounded differ: no two triangles share an edge, and the mesh is open."""
    box = thud.to_mesh(thud.Box((1, 1, 1)))
    corners = box.vertices[box.faces].reshape(-1, 3)
    faces = np.arange(len(corners)).reshape(-1, 3)
    assert repr(thud.TriangleMesh(corners, faces)) == "TriangleMesh(36 vertices, 12 triangles, closed)"
    rounded = corners * (1.0 + 1e-7 * np.random.default_rng(0).normal(size=(len(corners), 1)))
    mesh = thud.TriangleMesh(rounded, faces)
    assert repr(mesh) == "TriangleMesh(36 vertices, 12 triangles, open, unmerged)"
    with pytest.raises(thud.errors.UnsupportedQueryError, match="unmerged"):
        thud.contains(mesh, [[0, 0, 0]])
    with pytest.raises(thud.errors.UnsupportedQueryError, match="unmerged"):
        thud.closest_point(mesh, [[0, 0, 0]], signed=True)
