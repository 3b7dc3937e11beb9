"""Mass, centre and moments of inertia against points on a grid, closed forms, and rigid motions."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import thud
from tests.pairing.random_draws import ball_faces, box_faces, ring_faces
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError

RNG = np.random.default_rng(3)

#: Points a side of the oracle's grid.
GRID = 90


def turned(count: int = 1) -> thud.Pose:
    return thud.Pose(RNG.uniform(-1.0, 1.0, (count, 3)), Rotation.random(count, random_state=5).as_quat()[:, [3, 0, 1, 2]])


BALL = thud.TriangleMesh(*ball_faces(RNG, 8, 0.3))
RING = thud.TriangleMesh(*ring_faces(RNG))
FIELD = thud.HeightField(0.2 * RNG.normal(size=(5, 6)), 0.3, (-0.7, -0.6, 0.0), thickness=0.8)
SHAPES = {
    "sphere": thud.Sphere(0.7),
    "box": thud.Box([0.3, 0.5, 0.8]),
    "capsule": thud.Capsule(0.3, 0.6),
    "cylinder": thud.Cylinder(0.5, 0.6),
    "cone": thud.Cone(0.6, 0.7),
    "ellipsoid": thud.Ellipsoid([0.3, 0.5, 0.9]),
    "hull": thud.ConvexHull(0.5 * RNG.normal(size=(30, 3)) + [0.3, 0.0, -0.2]),
    "ball": BALL,
    "ring": RING,
    "inward": thud.TriangleMesh(np.asarray(BALL.vertices), np.asarray(BALL.faces)[:, ::-1]),
    "field": FIELD,
    "parts": thud.Compound([thud.Box([0.2, 0.3, 0.2]), thud.Sphere(0.3)], thud.Pose([[-0.6, 0, 0.1], [0.5, 0.2, 0]])),
    "mixed": thud.Compound([RING, thud.Cone(0.2, 0.3)], [thud.Pose([0.0, 0.0, 0.5]), thud.Pose([0.0, 0.0, -0.6])]),
}


def by_grid(shape: thud.shapes.Shape) -> tuple[float, np.ndarray, np.ndarray]:
    """Volume, centre and moments of unit mass, from the points that lie inside, one at random in each cell of a grid."""
    box = shape.bounds()
    lower, upper = box.lower[0], box.upper[0]
    step = (upper - lower) / GRID
    axes = [lower[k] + step[k] * (np.arange(GRID) + 0.5) for k in range(3)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, 3)
    points += np.random.default_rng(4).uniform(-0.5, 0.5, points.shape) * step
    inside = points[thud.contains(shape, points)]
    center = inside.mean(axis=0)
    arm = inside - center
    second = arm.T @ arm / len(inside)
    return len(inside) * float(np.prod(step)), center, np.eye(3) * np.trace(second) - second


@pytest.mark.parametrize("name", SHAPES)
def test_against_points_on_a_grid(name: str) -> None:
    shape = SHAPES[name]
    volume, center, unit = by_grid(shape)
    found = thud.mass_properties(shape, 250.0)
    size = shape.bounding_sphere()[1]
    assert found.volume == pytest.approx(volume, rel=5e-3)
    assert found.mass == pytest.approx(250.0 * found.volume, rel=1e-15)
    np.testing.assert_allclose(found.center_of_mass, center, atol=3e-3 * size)
    np.testing.assert_allclose(found.inertia / found.mass, unit, atol=5e-3 * size**2)
    np.testing.assert_array_equal(found.inertia, found.inertia.T)
    assert (np.linalg.eigvalsh(found.inertia) > 0.0).all()


@pytest.mark.parametrize("name", SHAPES)
def test_moved_and_turned(name: str) -> None:
    shape, pose = SHAPES[name], turned()
    own, moved = thud.mass_properties(shape), thud.mass_properties(thud.Compound([shape], pose))
    rotation = pose.matrix.reshape(4, 4)[:3, :3]
    assert moved.volume == pytest.approx(own.volume, rel=1e-14)
    np.testing.assert_allclose(
        moved.center_of_mass, rotation @ own.center_of_mass + pose.matrix.reshape(4, 4)[:3, 3], atol=1e-12
    )
    np.testing.assert_allclose(moved.inertia, rotation @ own.inertia @ rotation.T, atol=1e-12 * own.mass)


def test_closed_forms() -> None:
    ball = thud.mass_properties(thud.Sphere(2.0), 3.0)
    assert ball.mass == pytest.approx(32.0 * np.pi)
    np.testing.assert_allclose(ball.inertia, np.eye(3) * 0.4 * ball.mass * 4.0)
    bar = thud.mass_properties(thud.Box([1.0, 2.0, 3.0]), 0.5)
    np.testing.assert_allclose(np.diag(bar.inertia), bar.mass / 3.0 * np.array([13.0, 10.0, 5.0]))
    # A cone's centre is a quarter of its height above the base.
    np.testing.assert_allclose(thud.mass_properties(thud.Cone(1.0, 2.0)).center_of_mass, [0, 0, -1.0], atol=1e-15)
    # A mesh of a box, however far away.
    vertices, faces = box_faces(np.array([1.0, 2.0, 3.0]))
    for place in ([0.0, 0, 0], [1e4, -1e4, 5e3]):
        mesh = thud.mass_properties(thud.TriangleMesh(vertices + place, faces), 0.5)
        assert mesh.volume == pytest.approx(48.0, rel=1e-12)
        np.testing.assert_allclose(mesh.center_of_mass, place, atol=1e-9)
        np.testing.assert_allclose(mesh.inertia, bar.inertia, atol=1e-7)


def test_a_solid_cut_in_two_is_the_sum() -> None:
    half = thud.Box([0.5, 1.0, 1.0])
    cut = thud.Compound(
        [half, thud.TriangleMesh(*box_faces(np.array([0.5, 1.0, 1.0])))], thud.Pose([[-0.5, 0, 0], [0.5, 0, 0]])
    )
    whole, two = thud.mass_properties(thud.Box([1.0, 1.0, 1.0])), thud.mass_properties(cut)
    assert two.mass == pytest.approx(whole.mass)
    np.testing.assert_allclose(two.center_of_mass, 0.0, atol=1e-15)
    np.testing.assert_allclose(two.inertia, whole.inertia, atol=1e-9)


def test_what_has_no_mass() -> None:
    vertices, faces = box_faces(1.0)
    flipped = faces.copy()
    flipped[0] = flipped[0, ::-1]
    sheet = [[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2], [0, 2, 1]]
    for shape, error, text in (
        (thud.TriangleMesh(vertices, faces[1:]), InvalidShapeError, "shape: a mesh with 3 open edges is a surface"),
        (thud.TriangleMesh(vertices, flipped), InvalidShapeError, "edges the triangles of this mesh face different ways"),
        (thud.TriangleMesh(*sheet), InvalidShapeError, "encloses no volume"),
        (thud.HalfSpace([0.0, 0, 1]), UnboundedShapeError, "shape: a HalfSpace has no end"),
        (thud.HeightField(np.zeros((3, 3)), 1.0), UnboundedShapeError, "shape: a HeightField has no end"),
        (thud.Compound([thud.Sphere(1.0), thud.HalfSpace([0.0, 0, 1])]), UnboundedShapeError, "shape: part 1: a HalfSpace"),
        ("box", InvalidInputError, "shape: expected a thud shape"),
    ):
        with pytest.raises(error, match=text):
            thud.mass_properties(shape)  # type: ignore[arg-type]
    for wrong in (0.0, -1.0, np.nan, [1.0, 2.0], "a"):
        with pytest.raises(InvalidInputError, match="density"):
            thud.mass_properties(thud.Sphere(1.0), wrong)  # type: ignore[arg-type]
