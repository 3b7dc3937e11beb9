"""Volumes of shapes, and what shapes sweep: by points of theirs at many times, and by closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.bounds import overlap
from thud.errors import InvalidInputError, UnboundedShapeError
from thud.shapes import sweep, swept_bounds

RNG = np.random.default_rng(8)
SHAPES = {
    "sphere": thud.Sphere(0.7),
    "box": thud.Box((0.3, 0.9, 0.5)),
    "capsule": thud.Capsule(0.3, 0.8),
    "cylinder": thud.Cylinder(0.4, 0.9),
    "cone": thud.Cone(0.5, 0.8),
    "flat cone": thud.Cone(2.0, 0.3),
    "ellipsoid": thud.Ellipsoid((0.3, 0.9, 0.6)),
    "hull": thud.ConvexHull(RNG.normal(size=(20, 3))),
    "mesh": thud.to_mesh(thud.Box((0.2, 0.5, 1.0))),
    "compound": thud.Compound([thud.Box((0.5, 0.2, 0.1)), thud.Box((0.1, 0.1, 1.0))], [thud.Pose([1.0, 0, 0]), thud.Pose()]),
    "mixed compound": thud.Compound([thud.Sphere(0.5), thud.Cone(0.3, 0.9)], [thud.Pose([1.0, 0, 0]), thud.Pose([0, 0, 1.0])]),
    "field": thud.HeightField(RNG.normal(size=(5, 6)), 0.5, thickness=1.0),
}
POSE = thud.Pose.from_rotation_vector([1.0, -2.0, 0.5], [0.4, 1.1, -0.3])


def points_of(shape: thud.shapes.Shape) -> np.ndarray:
    """On the shape or just inside, its own frame: corners of a mesh of it, drawn onto the surface from inside."""
    mesh = thud.to_mesh(shape, segments=48) if not isinstance(shape, (thud.TriangleMesh, thud.HeightField)) else shape
    mesh = mesh.to_mesh() if isinstance(mesh, thud.HeightField) else mesh
    return np.asarray(mesh.vertices)


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize("kind", ["aabb", "sphere", "obb", "kdop"])
def test_a_volume_holds_its_shape_and_is_no_larger_than_it_must(name: str, kind: str) -> None:
    shape = SHAPES[name]
    volume, points = shape.fit(kind, POSE), POSE.apply(points_of(shape))
    # to_mesh puts vertices on the surface up to rounding.
    inside = volume.contains(points + 1e-9 * (np.asarray(volume_center(volume)) - points))
    assert inside.all()
    if kind == "aabb":
        own = shape.bounds(POSE)
        np.testing.assert_array_equal(volume.lower, own.lower[0])
        np.testing.assert_array_equal(volume.upper, own.upper[0])
    if kind == "kdop":
        # Each side is touched, to what the mesh leaves out of curves.
        along = points @ volume.directions.T
        assert (volume.high - along.max(axis=0)).max() < 0.02
        assert (along.min(axis=0) - volume.low).max() < 0.02
    if kind == "sphere" and name != "mixed compound":
        assert np.linalg.norm(points - volume.center, axis=1).max() > volume.radius * 0.99 or name == "field"
    if kind == "obb" and name != "field":
        along = (points - volume.center) @ volume.axes.T
        assert (volume.half_extents - np.abs(along).max(axis=0)).max() < 0.02


def volume_center(volume: object) -> np.ndarray:
    return volume.aabb.center if hasattr(volume, "aabb") else volume.center  # type: ignore[attr-defined]


def test_spheres_by_closed_forms() -> None:
    assert SHAPES["box"].fit("sphere").radius == pytest.approx(np.sqrt(0.3**2 + 0.9**2 + 0.5**2))
    assert SHAPES["capsule"].fit("sphere").radius == pytest.approx(1.1)
    assert SHAPES["flat cone"].fit("sphere").radius == pytest.approx(2.0)
    # Hulls took the ball about their centroid, and meshes that about their box.
    hull = SHAPES["hull"]
    assert hull.fit("sphere").radius < 0.999 * hull.bounding_sphere()[1]
    two = thud.Compound([thud.Sphere(0.5), thud.Ellipsoid((0.2, 0.2, 0.2))], [thud.Pose([-1.0, 0, 0]), thud.Pose([1.0, 0, 0])])
    assert two.fit("sphere").radius == pytest.approx(0.5 * (1.5 + 1.2), rel=2e-3)


def test_volumes_of_shapes_are_tested_against_each_other() -> None:
    assert overlap(SHAPES["box"].fit("obb", POSE), SHAPES["sphere"].fit("sphere", POSE))
    assert not overlap(SHAPES["box"].fit("obb", POSE), SHAPES["sphere"].fit("kdop"))


def test_what_has_no_volume_is_named() -> None:
    with pytest.raises(UnboundedShapeError):
        thud.HalfSpace((0, 0, 1), 0.0).fit("sphere")
    with pytest.raises(InvalidInputError, match="kind"):
        SHAPES["box"].fit("ball")
    with pytest.raises(InvalidInputError, match="one pose"):
        SHAPES["box"].fit("aabb", np.tile([0.0, 0, 0, 1, 0, 0, 0], (2, 1)))


MOTIONS = {
    "still": np.zeros(3),
    "straight": np.array([2.0, -1.0, 0.5]),
    "turning": np.array([0.0, 0, 0, 0.5, 2.0, -1.0]),
    "both": np.array([1.0, 2.0, -0.5, 3.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", ["sphere", "box", "capsule", "hull"])
def test_the_swept_shape_holds_the_shape_at_all_times(name: str, motion: str) -> None:
    shape, points = SHAPES[name], points_of(SHAPES[name])
    volume, place = sweep(shape, MOTIONS[motion], POSE)
    for time in RNG.uniform(0.0, 1.0, 25):
        at = POSE.moved(MOTIONS[motion], time).apply(points)
        away = thud.closest_point(volume, at, pose=place, signed=True).distance
        assert away.max() <= 1e-9
    if name != "capsule" and motion in ("still", "straight"):
        # Exact: every corner of it is on the way.
        if name == "sphere":
            assert volume.volume == pytest.approx(np.pi * 0.49 * np.linalg.norm(MOTIONS[motion]) + 4 / 3 * np.pi * 0.343)
        else:
            ends = np.concatenate([POSE.apply(points), POSE.moved(MOTIONS[motion]).apply(points)])
            assert volume.volume == pytest.approx(thud.ConvexHull(ends).volume, rel=1e-9)


@pytest.mark.parametrize("motion", MOTIONS)
@pytest.mark.parametrize("name", SHAPES)
def test_swept_boxes_hold_the_shape_at_all_times(name: str, motion: str) -> None:
    shape = SHAPES[name]
    box = swept_bounds(shape, MOTIONS[motion], POSE)
    times = np.linspace(0.0, 1.0, 201)
    own = shape.bounds(POSE.moved(MOTIONS[motion], times))
    assert (box.lower[0] <= own.lower.min(axis=0) + 1e-12).all()
    assert (box.upper[0] >= own.upper.max(axis=0) - 1e-12).all()
    assert (own.lower.min(axis=0) - box.lower[0]).max() < 0.02
    if motion in ("still", "straight"):
        np.testing.assert_allclose(box.upper[0], own.upper.max(axis=0), atol=1e-12)
    world = thud.World()
    handle = world.add(shape, POSE, velocity=MOTIONS[motion][:3], angular_velocity=(*MOTIONS[motion], 0, 0, 0)[3:6])
    lower, upper = world.bounds(swept=1.0)
    assert (lower[0] <= own.lower.min(axis=0) + 1e-6).all()
    assert (upper[0] >= own.upper.max(axis=0) - 1e-6).all()
    np.testing.assert_array_equal(world.bounds([handle])[0], world.bounds()[0])


def test_wrong_motions_are_named() -> None:
    with pytest.raises(InvalidInputError, match="motion"):
        sweep(SHAPES["box"], [1.0, 2.0])
    with pytest.raises(InvalidInputError, match="shape: expected"):
        sweep(SHAPES["mesh"], [1.0, 2.0, 0.0])
    with pytest.raises(UnboundedShapeError):
        swept_bounds(thud.HalfSpace((0, 0, 1), 0.0), [0.0, 0, 0, 1, 0, 0])
    with pytest.raises(InvalidInputError, match="swept"):
        thud.World().bounds(swept=-1.0)


def test_a_shape_that_turns_many_times_over() -> None:
    """Poses were laid a tenth of a radian apart however far it turned: a turn of 1e4 took minutes, of 1e9 all memory."""
    box = thud.Box((1.0, 0.5, 0.2))
    for angle in (300.0, 1e4, 1e9):
        motion = [1.0, 0, 0, 0, 0, angle]
        swept, (volume, pose) = thud.shapes.swept_bounds(box, motion), thud.shapes.sweep(box, motion)
        way = np.linspace(0.0, 1.0, 5000)
        corners = np.array([[x, y, z] for x in (-1.0, 1) for y in (-0.5, 0.5) for z in (-0.2, 0.2)])
        points = np.concatenate([one.apply(corners) for one in thud.Pose().moved(motion, way)])
        assert (points >= swept.lower[0]).all()
        assert (points <= swept.upper[0]).all()
        assert thud.contains(volume, points, pose=pose).all()
    with pytest.raises(InvalidInputError, match="motion: row 3 is beyond the limit"):
        thud.Pose().moved([0, 0, 0, 1e300, 0, 0])
