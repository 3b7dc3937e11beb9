"""The worked example of [Yang] 2.7.4: a Minkowski difference, and the three cases of Figures 2.16 and 2.17.

The plane figures are extruded to prisms, z from -1 to 1, which changes neither their distance nor whether they meet.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull as Qhull

import thud
from tests.convex.polytopes import OVERLAPPING, SEPARATED

K_A = np.array([[4.0, 11.0], [4.0, 5.0], [9.0, 9.0]])
K_B = np.array([[5.0, 7.0], [12.0, 7.0], [10.0, 2.0], [7.0, 3.0]])

#: As printed, under the label K_A + K_B.
PRINTED = [(-1, -4), (-8, 4), (-6, 9), (-3, 8), (-1, -2), (-8, -2), (-6, 3), (-3, 2), (4, 2), (-3, 2), (-1, 7), (2, 6)]

#: K_A where its corner (9, 9) comes to lie on the corner (5, 7) of K_B, with nothing else in common; and 3 further away.
TOUCHING = np.array([-4.0, -2.0])
APART = TOUCHING - [3.0, 0.0]


def difference(a, b):
    return (a[:, None] - b[None]).reshape(-1, 2)


def prism(polygon):
    return thud.ConvexHull([[x, y, z] for z in (-1.0, 1.0) for x, y in polygon])


def distance_to_origin(points):
    """Signed distance of the origin to the hull of plane points by its edges: the largest where the nearest is an edge."""
    hull = Qhull(points)
    return hull.equations[:, 2].max()


def test_minkowski_difference_with_its_misprint_corrected():
    # (4, 11) - (5, 7) is (-1, 4), printed (-1, -4); the set is the difference, not the sum that it is labelled as.
    ours = difference(K_A, K_B)
    np.testing.assert_array_equal(ours[0], [-1, 4])
    np.testing.assert_array_equal(ours[1:], PRINTED[1:])
    assert tuple(ours[0]) != PRINTED[0]
    total = (K_A[:, None] + K_B[None]).reshape(-1, 2)
    assert not np.isin(total, ours).all()


def test_the_misprint_changes_the_figure():
    # Figure 2.16 draws a hexagon; with the printed point its lower boundary would reach y = -4.
    right, wrong = Qhull(difference(K_A, K_B)), Qhull(np.array(PRINTED))
    assert right.points[right.vertices, 1].min() == -2
    assert wrong.points[wrong.vertices, 1].min() == -4
    assert right.volume != pytest.approx(wrong.volume)


@pytest.mark.parametrize(("move", "sign"), [((0.0, 0.0), -1), (TOUCHING, 0), (APART, 1)])
def test_origin_inside_on_and_outside_the_difference(move, sign):
    signed = distance_to_origin(difference(K_A + move, K_B))
    assert np.sign(np.round(signed, 12)) == sign


@pytest.mark.parametrize("method", ["gjk", "chung_wang", "sat", "v_clip"])
@pytest.mark.parametrize(("move", "meets"), [((0.0, 0.0), True), (TOUCHING, True), (APART, False)])
def test_prisms_meet_as_the_figures_say(method, move, meets):
    a, b = prism(K_A), prism(K_B)
    assert thud.intersects(a, b, thud.Pose([*move, 0.0]), thud.Pose(), method=method)[0] == meets
    assert thud.intersects(b, a, thud.Pose(), thud.Pose([*move, 0.0]), method=method)[0] == meets


@pytest.mark.parametrize("method", ["gjk", "v_clip"])
def test_closest_distance_is_that_of_the_difference_to_the_origin(method):
    a, b = prism(K_A), prism(K_B)
    # 2.17b: the corners (2, 7) and (5, 7) are closest, and in the difference (-3, 0) is.
    apart = thud.distance(a, b, thud.Pose([*APART, 0.0]), thud.Pose(), method=method)
    assert apart.status[0] == SEPARATED
    assert apart.distance[0] == pytest.approx(3.0)
    np.testing.assert_allclose(apart.normal[0], [1, 0, 0], atol=1e-15)
    np.testing.assert_allclose(apart.point_a[0, :2], [2, 7])
    np.testing.assert_allclose(apart.point_b[0, :2], [5, 7])
    assert np.linalg.norm(difference(K_A + APART, K_B), axis=1).min() == 3.0
    # 2.17a: on the boundary, the distance is 0.
    touching = thud.distance(a, b, thud.Pose([*TOUCHING, 0.0]), thud.Pose(), method=method)
    assert touching.status[0] == OVERLAPPING
    assert touching.distance[0] == 0.0
    np.testing.assert_allclose(touching.point_a[0, :2], [5, 7], atol=1e-13)
