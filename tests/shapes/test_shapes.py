"""Shapes say the truth of themselves: bounds, volume, centroid, inertia, topology, packing."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.shapes.packed import KIND, PART_COUNT, SCAN_COUNT, VERTEX_COUNT, VERTEX_START, pack
from thud.shapes.shape import Shape

RNG = np.random.default_rng(0)
HULL_POINTS = RNG.normal(size=(40, 3))


def rotations(count: int) -> np.ndarray:
    q = RNG.normal(size=(count, 4))
    return q / np.linalg.norm(q, axis=1, keepdims=True)


POSES = thud.Pose(RNG.normal(size=(20, 3)), rotations(20))
SHAPES: dict[str, Shape] = {
    "sphere": thud.Sphere(0.7),
    "box": thud.Box([0.5, 1.0, 1.5]),
    "capsule": thud.Capsule(0.4, 0.9),
    "cylinder": thud.Cylinder(0.6, 0.8),
    "slim cone": thud.Cone(0.5, 0.9),
    "flat cone": thud.Cone(1.5, 0.3),
    "ellipsoid": thud.Ellipsoid([0.5, 0.9, 1.3]),
    "hull": thud.ConvexHull(HULL_POINTS + [3, -2, 1]),
}


def samples(shape: Shape, count: int = 400_000) -> np.ndarray:
    """Points of the shape, uniform in volume: those of a grid over its box that it contains."""
    box = shape.bounds()
    side = round(count ** (1 / 3))
    axes = [np.linspace(box.lower[0, k], box.upper[0, k], 2 * side + 1)[1::2] for k in range(3)]
    grid = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    return grid[thud.contains(shape, grid)]


@pytest.mark.parametrize("name", SHAPES)
def test_volume_centroid_inertia_against_a_grid(name: str) -> None:
    shape = SHAPES[name]
    box = shape.bounds()
    points = samples(shape)
    cell = np.prod(box.upper[0] - box.lower[0]) / round(400_000 ** (1 / 3)) ** 3
    np.testing.assert_allclose(shape.volume, len(points) * cell, rtol=0.01)
    size = np.linalg.norm(box.upper - box.lower)
    np.testing.assert_allclose(shape.centroid, points.mean(axis=0), atol=2e-3 * size)
    arms = points - points.mean(axis=0)
    second = arms.T @ arms / len(points)
    np.testing.assert_allclose(shape.inertia(2.0), 2.0 * (np.eye(3) * np.trace(second) - second), atol=4e-3 * size**2)


@pytest.mark.parametrize("name", SHAPES)
def test_bounds_are_tight_and_hold_the_shape(name: str) -> None:
    shape = SHAPES[name]
    box = shape.bounds(POSES)
    # The gap between the shape and a half-space facing it at each side of its box is zero.
    for axis in range(3):
        for sign, corner in ((1.0, box.upper[:, axis]), (-1.0, box.lower[:, axis])):
            normal = np.zeros(3)
            normal[axis] = -sign
            wall = thud.HalfSpace(normal)
            place = np.zeros((len(POSES), 3))
            place[:, axis] = corner
            gap = thud.distance(wall, shape, thud.Pose(place), POSES, signed=True)
            np.testing.assert_allclose(gap.distance, 0.0, atol=1e-12)


@pytest.mark.parametrize("name", SHAPES)
def test_bounding_sphere_holds_the_shape(name: str) -> None:
    shape = SHAPES[name]
    center, radius = shape.bounding_sphere()
    assert np.linalg.norm(samples(shape, 20_000) - center, axis=1).max() <= radius * (1 + 1e-12)
    (part,) = shape.parts()
    assert np.linalg.norm(samples(shape, 20_000) - part.center, axis=1).max() <= part.bounding_radius * (1 + 1e-12)


def test_half_space_bounds() -> None:
    box = thud.HalfSpace([0, 0, 1], 2.0).bounds()
    np.testing.assert_array_equal(box.lower, [[-np.inf] * 3])
    np.testing.assert_array_equal(box.upper, [[np.inf, np.inf, 2.0]])


@pytest.mark.parametrize(
    "points", [HULL_POINTS, thud.Box([1, 2, 3]).topology.vertices, RNG.normal(size=(300, 3))], ids=["40", "box", "300"]
)
def test_hull_topology(points: np.ndarray) -> None:
    hull = thud.ConvexHull(points).topology
    faces, edges, vertices = len(hull.planes), len(hull.edges), len(hull.vertices)
    assert vertices - edges + faces == 2
    # All points below all planes, each loop in its plane and counter-clockwise from outside.
    heights = points @ hull.planes[:, :3].T - hull.planes[:, 3]
    assert heights.max() <= 1e-12
    for face in range(faces):
        loop = hull.loops[hull.loop_starts[face] : hull.loop_starts[face + 1]]
        corners = hull.vertices[loop]
        normal = hull.planes[face, :3]
        np.testing.assert_allclose(corners @ normal, hull.planes[face, 3], atol=1e-12)
        turns = np.cross(np.roll(corners, -1, 0) - corners, np.roll(corners, -2, 0) - np.roll(corners, -1, 0)) @ normal
        assert (turns > 0).all()
        for k, edge in enumerate(hull.loop_edges[hull.loop_starts[face] : hull.loop_starts[face + 1]]):
            ends = {int(loop[k]), int(loop[(k + 1) % len(loop)])}
            assert set(hull.edges[edge].tolist()) == ends
            left = int(hull.edges[edge, 0]) == int(loop[k])
            assert hull.edge_faces[edge, 0 if left else 1] == face
    for vertex in range(vertices):
        for k in range(hull.link_starts[vertex], hull.link_starts[vertex + 1]):
            assert set(hull.edges[hull.link_edges[k]].tolist()) == {vertex, int(hull.links[k])}


def test_a_box_as_hull_has_six_faces() -> None:
    hull = thud.ConvexHull(thud.Box([1, 2, 3]).topology.vertices)
    assert len(hull.topology.planes) == 6
    np.testing.assert_allclose(hull.volume, 48.0)
    np.testing.assert_allclose(hull.inertia(), thud.Box([1, 2, 3]).inertia(), atol=1e-12)


def test_points_inside_a_hull_are_dropped() -> None:
    corners = thud.Box([1, 1, 1]).topology.vertices
    hull = thud.ConvexHull(np.concatenate([corners, RNG.uniform(-0.9, 0.9, (50, 3)), corners]))
    assert len(hull.vertices) == 8


def test_compound_is_the_union_of_its_parts() -> None:
    inner = thud.Compound([thud.Sphere(0.5), thud.Box([0.2, 0.2, 1.0])], thud.Pose([[0, 0, 1], [0, 0, -1]]))
    outer = thud.Compound([inner, thud.Cylinder(0.3, 0.3)], [POSES[0], POSES[1]])
    assert len(outer.parts()) == 3
    np.testing.assert_allclose(outer.volume, inner.volume + thud.Cylinder(0.3, 0.3).volume)
    points = RNG.uniform(-4, 4, (20_000, 3))
    by_hand = thud.contains(thud.Cylinder(0.3, 0.3), points, pose=POSES[1])
    for shape, place in zip(inner.shapes, ([0, 0, 1], [0, 0, -1]), strict=True):
        by_hand |= thud.contains(shape, points, pose=POSES[0] @ thud.Pose(place))
    np.testing.assert_array_equal(thud.contains(outer, points), by_hand)
    assert by_hand.any()
    # The tree has the compound as root, its two children below, and every part's box inside its parents'.
    tree = outer.tree
    assert tree.skip[0] == len(tree.skip)
    assert sorted(tree.item[tree.item >= 0].tolist()) == [0, 1, 2]
    for node in range(len(tree.skip)):
        below = tree.boxes[node : tree.skip[node]]
        assert (below[:, :3] >= tree.boxes[node, :3]).all()
        assert (below[:, 3:] <= tree.boxes[node, 3:]).all()


def test_compound_moments_are_those_of_the_whole() -> None:
    # A box cut in two has the moments of the box.
    half = thud.Box([0.5, 1, 1])
    cut = thud.Compound([half, half], thud.Pose([[-0.5, 0, 0], [0.5, 0, 0]]))
    whole = thud.Box([1, 1, 1])
    np.testing.assert_allclose(cut.inertia(3.0), whole.inertia(3.0), atol=1e-12)
    np.testing.assert_allclose(cut.centroid, 0.0, atol=1e-15)
    center, radius = cut.bounding_sphere()
    assert radius >= np.sqrt(3.0) - 1e-12
    np.testing.assert_allclose(center, 0.0, atol=1e-15)


def test_packing() -> None:
    hull, box = thud.ConvexHull(HULL_POINTS), thud.Box([1, 2, 3])
    packed = pack((hull, box, thud.Compound([hull, hull, box])))
    assert packed.shape_ints[:, PART_COUNT].tolist() == [1, 1, 3]
    assert packed.parts.ints[:, KIND].tolist() == [3, 2, 3, 3, 2]
    # Hulls are stored once, padded with copies of their first vertex, and start on a cache line.
    assert packed.parts.ints[0, VERTEX_START] == packed.parts.ints[2, VERTEX_START] == packed.parts.ints[3, VERTEX_START]
    count, scan = packed.parts.ints[0, [VERTEX_COUNT, SCAN_COUNT]]
    np.testing.assert_array_equal(packed.parts.vertices[:, :count].T, hull.vertices)
    np.testing.assert_array_equal(packed.parts.vertices[:, count:scan], np.repeat(hull.vertices[:1].T, scan - count, axis=1))
    assert packed.parts.vertices.ctypes.data % 64 == 0
    for array in (packed.shape_ints, *packed.parts, *packed[2:]):
        assert array.flags.c_contiguous
        assert array.flags.writeable


def test_equal_radii_make_a_sphere() -> None:
    (part,) = thud.Ellipsoid([2, 2, 2]).parts()
    (sphere,) = thud.Sphere(2.0).parts()
    assert (part.kind, part.radius) == (sphere.kind, sphere.radius)


def test_shapes_are_frozen() -> None:
    with pytest.raises(AttributeError):
        thud.Sphere(1.0).radius = 2.0  # type: ignore[misc]
    with pytest.raises(ValueError, match="read-only"):
        np.asarray(thud.Box([1, 1, 1]).half_extents)[0] = 2.0


def test_what_shapes_say_of_themselves_is_one_short_line() -> None:
    """A hull printed its points, a compound all its shapes."""
    hull = thud.ConvexHull(np.random.default_rng(0).normal(size=(200, 3)))
    many = thud.Compound([hull, thud.Sphere(1.0)] * 500, thud.Pose(np.zeros((1000, 3))))
    assert repr(hull) == f"ConvexHull({len(hull.vertices)} vertices, {len(hull.topology.triangles)} triangles)"
    assert repr(many) == "Compound(1000 shapes: 500 ConvexHull, 500 Sphere)"
    assert "48 m^3, centre [0 0 0] m" in repr(thud.mass_properties(thud.Box((1, 2, 3))))
