"""Faults that random questions found; each test says how they came about."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.pairing.random_draws import mesh_of
from thud.errors import InvalidInputError, UnboundedShapeError, UnsupportedQueryError
from thud.pairing.ask import ask_cast
from thud.terrain import from_heights


@pytest.fixture(scope="module")
def cube() -> thud.TriangleMesh:
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    sides = [(0, 1, 3, 2), (4, 6, 7, 5), (0, 4, 5, 1), (2, 3, 7, 6), (0, 2, 6, 4), (1, 5, 7, 3)]
    return thud.TriangleMesh(corners, [face for a, b, c, d in sides for face in ((a, b, c), (a, c, d))])


@pytest.fixture(scope="module")
def ground() -> thud.terrain.DisplacedSurface:
    return from_heights(np.zeros((17, 17)), 0.25, thickness=1.0).surface


def test_the_witness_of_a_depth_lies_on_the_shape(cube):
    # The cast back from the hulls' depth touched at once and gained nothing: the point stayed the placeholder, A's origin.
    cylinder, at = thud.Cylinder(0.3, 0.4), (thud.Pose((1, 2, 3.0)), thud.Pose((1.05, 2.02, 3.8)))
    found = thud.distance(cylinder, cube, *at, signed=True)
    assert found.distance[0] == pytest.approx(-0.1, abs=1e-6)
    assert found.point_a[0, 2] == pytest.approx(3.4, abs=1e-6)
    assert found.point_b[0, 2] == pytest.approx(3.3, abs=1e-6)


def test_the_common_point_with_the_ground_is_in_the_ground(ground):
    # A vertex decided that the part is in the ground; what was reported was its centre, here below the bottom.
    box, at = thud.Box((0.1, 0.1, 0.8)), thud.Pose((2, 2, -1.2))
    found = thud.distance(ground, box, None, at)
    assert found.status[0] == thud.Status.OVERLAPPING
    # The cast itself; its answer has the point midway between the two surfaces.
    rows, still = thud.Pose().rows, np.zeros((1, 3))
    begun = ask_cast(ground, box, rows, at.rows, still, still, 1, None, depths=False)
    for point in (found.point_a, begun.point):
        assert thud.contains(ground, point).tolist() == [True]
        assert thud.contains(box, point, pose=at).tolist() == [True]


def test_a_half_space_in_a_compound_has_a_depth(cube):
    # Its cover was a ball of infinite radius.
    floor = thud.HalfSpace((0, 0, 1.0))
    for a, b in (
        (thud.Compound([thud.Sphere(0.5), floor]), cube),
        (thud.Compound([cube, floor]), thud.Sphere(0.5)),
        (cube, thud.Compound([thud.Sphere(0.5), floor])),
    ):
        found = thud.distance(a, b, signed=True)
        assert found.distance[0] == pytest.approx(-1.0, abs=1e-6)
        moved = thud.Pose(-1.0001 * found.distance[:, None] * found.normal)
        assert not thud.intersects(a, b, None, moved)[0]
    tilted = thud.Compound([cube, floor, thud.HalfSpace((1.0, 0, 0))])
    found = thud.distance(tilted, thud.Sphere(0.5), signed=True)
    assert not thud.intersects(tilted, thud.Sphere(0.5), None, thud.Pose(-1.0001 * found.distance[:, None] * found.normal))[0]
    with pytest.raises(UnboundedShapeError, match="both are or hold a HalfSpace"):
        thud.distance(floor, thud.Compound([cube, floor]), signed=True)
    with pytest.raises(UnboundedShapeError, match="face each other"):
        thud.distance(thud.Compound([cube, floor, thud.HalfSpace((0, 0, -1.0))]), thud.Sphere(0.5), signed=True)


def test_a_turning_row_does_not_know_the_others(ground):
    # The gap at which an advance ends was made from the largest coordinate of all rows.
    times = [
        thud.cast(
            ground,
            thud.Sphere(0.3),
            thud.Pose([[0, 0, 0], [far, 0, 0]]),
            thud.Pose([[2, 2, 1.0], [far + 2, 2, 1.0]]),
            0.0,
            [0, 0, -1, 0.1, 0, 0],
        ).time[0]
        for far in (0.0, 1e12, 1e14)
    ]
    assert len(set(times)) == 1


def test_what_is_refused_does_not_depend_on_the_poses(ground):
    # Leaves that met were asked before the two surfaces that have no answer.
    for shapes in ([thud.Sphere(1.0), ground], [ground, thud.Sphere(1.0)]):
        both = thud.Compound(shapes)
        for at in (None, thud.Pose((90, 90, 90))):
            with pytest.raises(UnsupportedQueryError, match="two DisplacedSurfaces"):
                thud.intersects(both, both, None, at)


def test_threads_and_methods_are_checked_whatever_there_is_to_do(cube):
    # Threads were looked at by the first loop over rows, and methods for the first pair.
    box, two, none = thud.Box((1, 1, 1)), thud.Pose(np.zeros((2, 3))), np.zeros((0, 2), int)
    with pytest.raises(InvalidInputError, match="threads"):
        thud.raycast(cube, [0, 0, 5.0], [0, 0, -1.0], threads="2")  # type: ignore[arg-type]
    for call in (thud.intersects_pairs, thud.distance_pairs, thud.contacts_pairs):
        with pytest.raises(InvalidInputError, match="threads"):
            call([box, box], none, two, threads=0)
    for method in (None, "GJK"):
        with pytest.raises(UnsupportedQueryError, match="does not exist"):
            thud.distance_pairs([box, box], none, two, method=method)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedQueryError, match="does not exist"):
            thud.intersects(box, box, method=method)  # type: ignore[arg-type]


def test_a_row_after_a_hard_one_has_the_bytes_of_a_row_alone():
    # After one UNCONVERGED row the larger scratch of EPA stayed for the rest of the chunk.
    rng = np.random.default_rng(3)
    shapes = thud.Cylinder(0.5, 0.5), thud.Cylinder(0.5, 0.5)
    turns = rng.normal(size=(60, 4))
    turns[0] = [1.0, 0.0, 0.0, 0.0]
    at = thud.Pose(
        rng.uniform(-0.2, 0.2, (60, 3)) * (np.arange(60) > 0)[:, None], turns / np.linalg.norm(turns, axis=1)[:, None]
    )
    together, points = thud.distance(*shapes, None, at, signed=True, threads=1), thud.contacts(*shapes, None, at, threads=1)
    for row in range(60):
        alone = thud.distance(*shapes, None, at[row : row + 1], signed=True)
        assert together.distance[row] == alone.distance[0]
        assert together.point_a[row].tobytes() == alone.point_a[0].tobytes()
        alone_points = thud.contacts(*shapes, None, at[row : row + 1])
        assert points.point[points.row == row].tobytes() == alone_points.point.tobytes()


def test_every_shape_is_drawn(cube, ground):
    # Triangles of curved shapes lie on them: closed, and a little smaller.
    for shape in (
        thud.Sphere(1.0), thud.Ellipsoid((1, 2, 3)), thud.Capsule(0.5, 1.0), thud.Cylinder(0.5, 1.0), thud.Cone(0.5, 1.0),
        thud.Box((1, 2, 3)), thud.ConvexHull(np.random.default_rng(1).normal(size=(20, 3))), cube,
    ):  # fmt: skip
        mesh = thud.to_mesh(shape, segments=64)
        assert mesh.is_closed
        assert not mesh.problems().inverted
        assert 0.98 * shape.volume <= mesh.volume <= shape.volume * (1.0 + 1e-9)
    assert not thud.to_mesh(ground).is_closed
    both = thud.Compound([thud.Sphere(1.0), thud.Compound([cube], thud.Pose((5, 0, 0)))])
    assert thud.to_mesh(both, segments=64).volume == pytest.approx(both.volume, rel=0.02)
    with pytest.raises(UnboundedShapeError):
        thud.to_mesh(thud.HalfSpace((0, 0, 1.0)))
    with pytest.raises(InvalidInputError, match="segments"):
        thud.to_mesh(cube, segments=3)


def test_a_ray_never_enters_a_cone_along_its_normal() -> None:
    # At the apex the azimuth of the hit is roundoff; the side's normal there may have pointed along the ray.
    cone, rng = thud.Cone(0.4, 0.6), np.random.default_rng(2)
    angle, rise = rng.uniform(0.0, 2.0 * np.pi, 2000), rng.uniform(-1.0, 2.9, 2000)
    along = np.stack([np.cos(angle), np.sin(angle), rise], axis=1)
    along /= np.linalg.norm(along, axis=1, keepdims=True)
    pose = thud.Pose.from_rotation_vector(rng.normal(size=(2000, 3)), rng.normal(size=(2000, 3)))
    origin = (np.array([0.0, 0.0, 0.6]) - 2.0 * along)[:, None] @ np.swapaxes(pose.rotation, 1, 2)
    directions = (along[:, None] @ np.swapaxes(pose.rotation, 1, 2))[:, 0]
    hits = thud.raycast(cone, origin[:, 0] + pose.position, directions, pose=pose)
    hit = np.isfinite(hits.distance)
    assert hit.sum() > 500
    assert (np.einsum("ij,ij->i", hits.normal, directions)[hit] <= 1e-9).all()
    np.testing.assert_allclose(np.linalg.norm(hits.normal[hit], axis=1), 1.0, atol=1e-12)


def test_a_touch_far_from_the_origin_has_a_point_of_both() -> None:
    # Touching to roundoff, four thousand kilometres out: the cast back from the way out missed, and its point, 0, was taken.
    parts = [thud.Ellipsoid([0.6694785110166769, 0.6202094959238073, 0.4660782485313629]), thud.Box([0.5, 0.5, 0.5])]
    places = [
        [-0.46236930588177483, 0.46562644012171805, 0.20272150093928565],
        [-0.6103992978395614, -0.28454087761228825, -0.5886596952003192],
    ]
    turn = [
        [2.5679696211600711e-02, -8.8392182891479443e-01, -4.6692906695814579e-01, -2.8735004003172494e06],
        [9.0798029891450327e-01, 2.1603407532929519e-01, -3.5902793077941120e-01, -2.0429445676497230e06],
        [4.1822521443070498e-01, -4.1474266559463246e-01, 8.0813129586091992e-01, 2.9071292453748016e06],
        [0.0, 0.0, 0.0, 1.0],
    ]
    at = np.array([-2873498.4601125326, -2042944.7268854976, 2907128.06181477, 0.7071067811865476, 0, 0, 0.7071067811865476])
    found = thud.distance(thud.Compound(parts, thud.Pose(places)), mesh_of(20), turn, at, signed=True)
    assert abs(found.distance[0]) < 1e-6
    assert np.linalg.norm(found.point_a[0] - np.array(turn)[:3, 3]) < 2.0
    assert np.linalg.norm(found.point_b[0] - at[:3]) < 1.0
