"""Answers at the ends of the range: far apart, all but touching, leaning by next to nothing."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import thud

CORNER = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
FACES = [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]
CUBE = thud.ConvexHull([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])


@pytest.mark.parametrize("far", [4e9, 5e9, 1e12, 9e14])
def test_meshes_far_apart(far: float) -> None:
    # Beyond 4e9 the fourth power of a distance is infinite in float32, and so was the distance.
    mesh = thud.TriangleMesh(CORNER, FACES)
    for other in (mesh, thud.Sphere(1.0)):
        found = thud.distance(mesh, other, None, thud.Pose([far, 0, 0]))
        assert found.distance[0] == pytest.approx(far, abs=3.0)
        assert found.point_b[0, 0] == pytest.approx(far, abs=3.0)


def test_large_meshes() -> None:
    # The same made a cast that turns miss, a compound take its farther part, and contacts within a margin vanish.
    mesh, at = thud.TriangleMesh(1e10 * CORNER, FACES), thud.Pose([4e10, 0, 0])
    assert thud.cast(mesh, mesh, None, at, motion_b=[-4e10, 0, 0, 0, 0, 0.5]).time[0] == pytest.approx(0.75, abs=0.05)
    both = thud.Compound([mesh, thud.Sphere(1e10)], thud.Pose([[0, 0, 0], [-2e10, 0, 0]]))
    assert thud.distance(both, thud.Box([1e10] * 3), None, at).distance[0] == pytest.approx(2e10, rel=1e-6)
    assert len(thud.contacts(mesh, mesh, None, at, margin=4e10).row)


@pytest.mark.parametrize("gap", [1e-12, 1e-10, 1e-8])
def test_edges_that_cross_in_their_middle(gap: float) -> None:
    # The closest point lies on a diagonal of the face that the edges span. v came from the diagonal, with a direction off by
    # roundoff over the gap, and the search went round in circles: 3 of 100 pairs were called overlapping, or undecided.
    count, rng, box = 3000, np.random.default_rng(0), thud.Box([1.0, 1, 1])
    turn_a = Rotation.from_euler("x", rng.uniform(5, 85, (count, 1)), degrees=True)
    turn_b = Rotation.from_euler("xz", np.c_[rng.uniform(5, 85, count), rng.uniform(0, 180, count)], degrees=True)
    place = turn_a.apply([0, 1, 1]) + [0, 0, gap] - turn_b.apply([0, -1, -1])
    a, b = thud.Pose.from_scipy((0, 0, 0), turn_a), thud.Pose.from_scipy(place, turn_b)
    for one in (box, CUBE):
        for other in (box, CUBE):
            found = thud.distance(one, other, a, b)
            assert (found.status == thud.Status.SEPARATED).all()
            np.testing.assert_allclose(found.distance, gap, atol=1e-14)
            assert not thud.intersects(one, other, a, b).any()
            assert (thud.distance(one, other, a, b, signed=True).status == thud.Status.SEPARATED).all()
            assert len(thud.contacts(one, other, a, b).row) == 0


def meeting(a: thud.shapes.Shape, b: thud.shapes.Shape, pose_a: thud.Pose, pose_b: thud.Pose) -> int:
    world = thud.World()
    world.add(a, pose_a)
    world.add(b, pose_b)
    assert thud.intersects(a, b, pose_a, pose_b)[0]
    return len(world.intersecting())


def test_a_world_knows_that_a_leaning_plane_has_no_height() -> None:
    # The cosine of 1e-8 is 1: the plane's box ended at its origin's height, and far away bodies sank into it unseen.
    ball, still = thud.Sphere(1.0), thud.Pose()
    assert meeting(thud.HalfSpace([-1e-8, 0, 1]), ball, still, thud.Pose([1e6, 0, 1.005])) == 1
    leaning = thud.Pose.from_rotation_vector([0, 0, 0], [0, -1e-8, 0])
    assert meeting(thud.HalfSpace([0, 0, 1]), ball, leaning, thud.Pose([10, 0, 1 + 5e-8])) == 1
    box = thud.HalfSpace([-1e-8, 0, 1]).bounds()
    assert np.isinf(box.upper).all()
    assert np.isinf(box.lower).all()
    assert thud.HalfSpace([0, 0, 2.0], 3.0).bounds().upper.ravel()[2] == 3.0


def test_a_world_widens_boxes_by_the_coordinates_of_frames() -> None:
    # What counts as touching goes with the distance between origins, which may be large where the bodies' places are not.
    far = thud.ConvexHull(np.asarray(CUBE.points) + [1e6, 0, 0])
    assert meeting(far, thud.Box([1.0, 1, 1]), thud.Pose([-1e6, 0, 0]), thud.Pose([2 + 1e-9, 0, 0])) == 1
    high = thud.HalfSpace([0, 0, 1], 1e6)
    assert meeting(high, thud.Sphere(1.0), thud.Pose([0, 0, -1e6]), thud.Pose([0, 0, 1 + 5e-9])) == 1


def test_normals_of_any_length() -> None:
    # The square of 1e308 is infinite: the normal became 0.
    for length in (1e308, 1e-320, 1.0):
        np.testing.assert_allclose(thud.HalfSpace([length, length, 0]).normal, [np.sqrt(0.5), np.sqrt(0.5), 0], atol=1e-4)
