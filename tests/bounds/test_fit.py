"""Volumes fitted to points: against brute force, closed forms, and points that must be inside; two volumes against GJK, which
shares nothing with them."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.spatial.transform import Rotation

import thud
from thud.bounds import Aabb, BoundingSphere, Kdop, Obb, fit_aabb, fit_kdop, fit_obb, fit_sphere, overlap
from thud.errors import InvalidInputError

RNG = np.random.default_rng(5)


def circumsphere(points: np.ndarray) -> tuple[np.ndarray, float] | None:
    """Through all of 1 to 4 points, with its centre in their plane or line: by least squares."""
    first, others = points[0], points[1:] - points[0]
    if not len(others):
        return first, 0.0
    gram = others @ others.T
    if abs(np.linalg.det(gram)) <= 1e-12 * np.prod(np.diag(gram)):
        return None
    center = first + np.linalg.solve(2.0 * gram, np.diag(gram)) @ others
    return center, float(np.linalg.norm(center - first))


def smallest_by_force(points: np.ndarray) -> float:
    """The least radius over the spheres of all subsets of up to four that hold all points."""
    best = np.inf
    for count in range(1, 5):
        for chosen in itertools.combinations(range(len(points)), count):
            found = circumsphere(points[list(chosen)])
            if found is not None and np.linalg.norm(points - found[0], axis=1).max() <= found[1] * (1 + 1e-9) + 1e-12:
                best = min(best, found[1])
    return best


@pytest.mark.parametrize("seed", range(20))
def test_the_sphere_is_the_smallest_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(rng.integers(1, 10), 3)) * rng.choice([1.0, 1e-3, 1e4])
    sphere = fit_sphere(points)
    assert sphere.contains(points).all()
    assert sphere.radius == pytest.approx(smallest_by_force(points), rel=1e-7, abs=1e-12)


@pytest.mark.parametrize(
    ("points", "radius"),
    [
        ([[1.0, 2, 3]], 0.0),
        ([[1.0, 2, 3]] * 5, 0.0),
        ([[0.0, 0, 0], [2, 0, 0], [0.5, 0, 0], [1.5, 0, 0]], 1.0),
        ([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0.7, 0.7, 0]], 1.0),
        ([[x, y, z] for x in (-1.0, 1) for y in (-1, 1) for z in (-1, 1)], np.sqrt(3.0)),
        ([[1e6, 0, 0], [1e6 + 2, 0, 0]], 1.0),
    ],
)
def test_spheres_of_points_that_are_special(points: list, radius: float) -> None:
    sphere = fit_sphere(points)
    assert sphere.radius == pytest.approx(radius, abs=1e-8)
    assert sphere.contains(points).all()


@pytest.mark.parametrize(("scale", "away"), [(1.0, 1e9), (1e-20, 1e-11), (1e-100, 0.0), (1e60, 0.0), (1e-60, 1e-52)])
def test_spheres_far_away_and_of_any_size_are_the_smallest_ones(scale: float, away: float) -> None:
    """The search took in coordinates as they were: rounding far away, and powers that under- or overflow, ended it too early,
    with spheres up to 40 % too wide."""
    rng = np.random.default_rng(4)
    sets = [scale * rng.normal(size=(rng.integers(2, 10), 3)) + away * rng.normal(size=3) for _ in range(60)]
    found = fit_sphere(sets)
    for points, center, radius in zip(sets, found.center, found.radius, strict=True):
        assert BoundingSphere(center, radius).contains(points).all()
        own = (points - points[0]) / scale
        assert radius / scale == pytest.approx(smallest_by_force(own), rel=1e-7, abs=1e-14 * away / scale)


@settings(max_examples=60, deadline=None)
@given(hnp.arrays(np.float64, st.tuples(st.integers(1, 12), st.just(3)), elements=st.floats(-1e3, 1e3, width=32)))
def test_every_volume_holds_its_points(points: np.ndarray) -> None:
    assert fit_aabb(points).contains(points).all()
    assert fit_sphere(points).contains(points).all()
    for method in ("pca", "tight"):
        box = fit_obb(points, method=method)
        assert box.contains(points).all()
        np.testing.assert_allclose(box.axes @ box.axes.T, np.eye(3), atol=1e-9)
        assert np.linalg.det(box.axes) == pytest.approx(1.0)
        assert (np.diff(box.half_extents) <= 1e-9 * box.half_extents[0] + 1e-12).all()
    for k in (6, 14, 18, 26):
        assert fit_kdop(points, k).contains(points).all()


def test_a_turned_box_is_found_again() -> None:
    corners = np.array(list(itertools.product((-3.0, 3.0), (-2.0, 2.0), (-1.0, 1.0))))
    for seed in range(10):
        turn = Rotation.random(random_state=seed).as_matrix()
        points = corners @ turn.T + [5.0, -2.0, 1.0]
        for method in ("pca", "tight"):
            box = fit_obb(points, method=method)
            assert box.volume == pytest.approx(48.0, rel=1e-9)
            np.testing.assert_allclose(box.half_extents, [3.0, 2.0, 1.0], atol=1e-9)
            np.testing.assert_allclose(box.center, [5.0, -2.0, 1.0], atol=1e-9)
            # As a shape where it is: all points touch it, none is outside.
            assert thud.contains(thud.Box(box.half_extents * (1 + 1e-9)), points, pose=box.pose).all()


def test_tight_is_no_larger_and_often_smaller() -> None:
    smaller = 0
    for seed in range(20):
        points = np.random.default_rng(seed).exponential(size=(30, 3)) @ np.random.default_rng(seed + 99).normal(size=(3, 3))
        pca, tight = fit_obb(points).volume, fit_obb(points, method="tight").volume
        assert tight <= pca * (1.0 + 1e-9)
        smaller += tight < 0.95 * pca
    assert smaller > 5


def test_pca_is_that_of_the_covariance_and_area_of_the_surface() -> None:
    points = RNG.normal(size=(50, 3)) * [3.0, 2.0, 1.0]
    axes = np.linalg.svd(points - points.mean(axis=0))[2]
    np.testing.assert_allclose(np.abs(fit_obb(points).axes @ axes.T), np.eye(3), atol=1e-9)
    # With triangles a corner counts as often as it is used.
    faces = np.array([[0, 1, 2], [0, 3, 4], [0, 5, 6], [0, 7, 8], [0, 1, 9]])
    corners = points[faces].reshape(-1, 3)
    spread = sum(np.outer(p - corners.mean(axis=0), p - corners.mean(axis=0)) for p in corners) / 15
    by_hand = np.linalg.eigh(spread)[1].T[::-1]
    found = fit_obb(points, faces=faces).axes
    assert np.abs(np.abs(found @ by_hand.T).max(axis=1) - 1.0).max() < 1e-9
    # A rectangle, cut once and then finely at one end: the surface does not change, the corners do.
    coarse, faces = np.array([[0.0, 0, 0], [4, 0, 0], [4, 2, 0], [0, 2, 0]]), [[0, 1, 2], [0, 2, 3]]
    turn = Rotation.from_rotvec([0.3, 0.2, 0.5]).as_matrix()
    fine = np.concatenate([coarse, [[4.0, 1.0 + 0.01 * k, 0] for k in range(90)]])
    fans = [[0, 1, 4], *([0, k, k + 1] for k in range(4, 93)), [0, 93, 2], [0, 2, 3]]
    for method, same in (("pca_area", True), ("pca", False)):
        a = fit_obb(coarse @ turn.T, faces=faces, method=method)
        b = fit_obb(fine @ turn.T, faces=fans, method=method)
        assert np.allclose(a.half_extents, b.half_extents, atol=1e-9) == same


def test_many_sets_at_once_and_faces() -> None:
    sets = [RNG.normal(size=(n, 3)) for n in (1, 5, 30, 2)]
    stacked = RNG.normal(size=(7, 4, 3))
    for fit in (fit_aabb, fit_sphere, fit_obb, fit_kdop):
        many = fit(sets)
        assert len(many) == 4
        for k, points in enumerate(sets):
            one, own = fit(points), many[k]
            assert own.is_one
            for name in one.__dataclass_fields__:
                np.testing.assert_allclose(getattr(own, name), getattr(one, name), atol=1e-12)
        assert len(fit(stacked)) == 7
        assert len(fit(np.empty((0, 4, 3)))) == 0
        # Of points that no triangle uses nothing is seen.
        loose = np.concatenate([sets[2], [[100.0, 0, 0]]])
        hull = fit(loose, faces=np.arange(30).reshape(10, 3))
        assert not hull.contains([[100.0, 0, 0]])[0]
        for wrong in (np.empty((0, 3)), [[0.0, np.nan, 0]], np.zeros((2, 2)), "abc"):
            with pytest.raises(InvalidInputError, match="points"):
                fit(wrong)
        with pytest.raises(InvalidInputError, match="faces: row 1"):
            fit(sets[1], faces=[[0, 1, 2], [0, 1, 5]])
    with pytest.raises(InvalidInputError, match="method"):
        fit_obb(sets[1], method="best")
    with pytest.raises(InvalidInputError, match="expected one of"):
        fit_kdop(sets[1], 8)


def random_volumes(rng: np.random.Generator, count: int) -> dict[str, tuple[object, list]]:
    """S volumes of each kind, and the shapes that they are."""

    def sets() -> np.ndarray:
        return rng.normal(size=(count, 1, 3)) * 0.9 + rng.normal(size=(count, 8, 3)) * rng.uniform(0.1, 0.8, size=(count, 1, 3))

    aabb, sphere, obb = fit_aabb(sets()), fit_sphere(sets()), fit_obb(sets())
    return {
        "aabb": (aabb, [(thud.Box(h), thud.Pose(c)) for h, c in zip(aabb.half_extents, aabb.center, strict=True)]),
        "sphere": (sphere, [(thud.Sphere(r), thud.Pose(c)) for r, c in zip(sphere.radius, sphere.center, strict=True)]),
        "obb": (obb, [(thud.Box(h), pose) for h, pose in zip(obb.half_extents, obb.pose, strict=True)]),
    }


@pytest.mark.parametrize(("a", "b"), list(itertools.product(("aabb", "sphere", "obb"), repeat=2)))
def test_two_volumes_meet_where_gjk_says(a: str, b: str) -> None:
    rng = np.random.default_rng(11)
    one, other = random_volumes(rng, 150)[a], random_volumes(rng, 150)[b]
    found = overlap(one[0], other[0])
    hits = 0
    for k, ((shape_a, pose_a), (shape_b, pose_b)) in enumerate(zip(one[1], other[1], strict=True)):
        distance = thud.distance(shape_a, shape_b, pose_a, pose_b, signed=True).distance[0]
        if abs(distance) > 1e-7:
            assert found[k] == (distance < 0), (k, distance)
            hits += distance < 0
    assert 20 < hits < 130
    # One against many, and one against one.
    assert overlap(one[0][0], other[0]).shape == (150,)
    assert overlap(one[0][3], other[0][3]) is bool(found[3])
    assert (overlap(other[0], one[0]) == found).all()


@pytest.mark.parametrize("k", [6, 14, 18, 26])
@pytest.mark.parametrize("kind", ["aabb", "sphere", "obb", "same", "other"])
def test_a_kdop_never_separates_what_has_a_point_in_common(k: int, kind: str) -> None:
    rng = np.random.default_rng(k)
    clouds, others = rng.normal(size=(200, 1, 3)) + 0.5 * rng.normal(size=(200, 9, 3)), rng.normal(size=(200, 9, 3)) * 0.5
    fits = {"aabb": fit_aabb, "sphere": fit_sphere, "obb": fit_obb}
    own = fit_kdop(clouds, k)
    volume = (
        fits[kind](others) if kind in fits else fit_kdop(others, k if kind == "same" else {6: 26, 14: 18, 18: 26, 26: 14}[k])
    )
    found, points = overlap(own, volume), rng.normal(size=(4000, 3))
    common = (own.contains(points) & volume.contains(points)).any(axis=1)
    assert common.sum() > 20
    assert found[common].all()
    assert (overlap(volume, own) == found).all()
    assert not found.all()


def test_touching_volumes_meet() -> None:
    box = Aabb(np.zeros(3), np.ones(3))
    assert overlap(box, Aabb(np.array([1.0, 0, 0]), np.array([2.0, 1, 1])))
    assert overlap(BoundingSphere(np.array([2.0, 0.5, 0.5]), np.asarray(1.0)), box)
    turned = Obb(
        np.array([1.0 + np.sqrt(0.5), 0.5, 0.5]), Rotation.from_euler("z", 45, degrees=True).as_matrix(), np.full(3, 0.5)
    )
    assert overlap(turned, box)
    assert overlap(turned, turned)
    assert overlap(Kdop(np.zeros(3), np.ones(3)), box)


def test_wrong_volumes_are_named() -> None:
    box = fit_aabb(RNG.normal(size=(5, 3)))
    with pytest.raises(InvalidInputError, match="a: expected a bounding volume"):
        overlap(thud.Sphere(1.0), box)
    with pytest.raises(InvalidInputError, match="3 and 2"):
        overlap(fit_aabb(RNG.normal(size=(3, 5, 3))), fit_aabb(RNG.normal(size=(2, 5, 3))))
    # A set of one counts as one.
    assert overlap(fit_aabb(RNG.normal(size=(1, 5, 3))), fit_aabb(RNG.normal(size=(2, 5, 3)))).shape == (2,)
    with pytest.raises(TypeError, match="one Aabb"):
        len(box)
    assert "Aabb(lower=" in repr(box)
    assert repr(fit_sphere(RNG.normal(size=(3, 5, 3)))) == "BoundingSphere(3 of them)"


def test_k_dops_of_different_k_use_the_directions_of_both() -> None:
    """Of 14 and 18 half-spaces only the boxes were asked: a point past a corner, or past an edge, was said to be inside."""
    octahedron = np.concatenate([np.eye(3), -np.eye(3)])
    for k, outside in ((14, [0.5, 0.5, 0.5]), (18, [0.7, 0.7, 0.0]), (26, [0.5, 0.5, 0.5])):
        about = fit_kdop(octahedron, k)
        for other in {6, 14, 18, 26} - {k}:
            point = fit_kdop([outside], other)
            assert not overlap(about, point)
            assert not overlap(point, about)
            assert overlap(about, fit_kdop([[0.3, 0.3, 0.3]], other))


def test_volumes_made_by_hand() -> None:
    """Lists were kept as they were given: tests of them ended in errors of NumPy, or of attributes that lists have not."""
    box = Aabb([0, 0, 0], [1, 1, 1])
    assert float(box.volume) == 1.0
    assert overlap(box, BoundingSphere([1.5, 0.5, 0.5], 0.5))
    assert overlap(Obb([0, 0, 0], np.eye(3).tolist(), [1, 1, 1]), Kdop([0, 0, 0], [1, 1, 1]))
    np.testing.assert_array_equal(overlap(Aabb([[0, 0, 0], [5, 5, 5]], [[1, 1, 1], [6, 6, 6]]), box), [True, False])
    with pytest.raises(InvalidInputError, match="upper: expected"):
        Aabb([0, 0, 0], [[1, 1, 1]])
    with pytest.raises(InvalidInputError, match="radius: expected a number"):
        BoundingSphere([0, 0, 0], [1, 2, 3])
    with pytest.raises(InvalidInputError, match=r"lower: expected at most `upper`"):
        Aabb([1, 0, 0], [0, 1, 1])
    with pytest.raises(InvalidInputError, match="radius: expected at least 0"):
        BoundingSphere([0, 0, 0], -1.0)
    with pytest.raises(InvalidInputError, match="low"):
        Kdop([np.nan, 0, 0], [1, 1, 1])
    with pytest.raises(InvalidInputError, match="method"):
        thud.Cone(1.0, 1.0).fit("obb", method="tigth")
    for fit in (fit_aabb, fit_sphere, fit_obb, fit_kdop):
        assert fit(np.array([[1e75, 1e75, 1e75], [-1e75, 0, 0]])).contains([[1e75, 1e75, 1e75]]).all()
