"""Invariants that Hypothesis drives: swap A and B, move both rigidly, scale everything."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import thud
from thud.shapes.shape import Shape

SIZE = st.floats(0.05, 5.0)
COORDINATE = st.floats(-4.0, 4.0)


@st.composite
def poses(draw: st.DrawFn) -> thud.Pose:
    q = np.array([draw(st.floats(-1, 1)) for _ in range(4)])
    length = np.linalg.norm(q)
    q = q / length if length > 1e-3 else np.array([1.0, 0, 0, 0])
    return thud.Pose([draw(COORDINATE) for _ in range(3)], q)


@st.composite
def makers(draw: st.DrawFn):  # type: ignore[no-untyped-def]
    """A function of a scale that makes a shape."""
    kind = draw(
        st.sampled_from(["sphere", "box", "capsule", "cylinder", "cone", "ellipsoid", "hull", "half-space", "compound"])
    )
    a, b, c = draw(SIZE), draw(SIZE), draw(SIZE)
    seed = draw(st.integers(0, 10_000))

    def make(scale: float = 1.0) -> Shape:
        rng = np.random.default_rng(seed)
        if kind == "sphere":
            return thud.Sphere(a * scale)
        if kind == "box":
            return thud.Box(np.array([a, b, c]) * scale)
        if kind == "capsule":
            return thud.Capsule(a * scale, b * scale)
        if kind == "cylinder":
            return thud.Cylinder(a * scale, b * scale)
        if kind == "cone":
            return thud.Cone(a * scale, b * scale)
        if kind == "ellipsoid":
            return thud.Ellipsoid(np.array([a, b, c]) * scale)
        if kind == "half-space":
            return thud.HalfSpace(rng.normal(size=3), a * scale)
        points = rng.normal(size=(8 + seed % 60, 3)) * [a, b, c]
        if kind == "hull":
            return thud.ConvexHull(points * scale)
        offsets = rng.normal(size=(2, 3)) * scale
        return thud.Compound([thud.Box(np.array([a, b, c]) * scale), thud.Capsule(c * scale, a * scale)], thud.Pose(offsets))

    return make


def tolerance(a: Shape, b: Shape) -> float:
    size = sum(radius for _, radius in (a.bounding_sphere(), b.bounding_sphere()) if np.isfinite(radius))
    return 2e-6 * max(size, 1.0)


def same(x: float, y: float, limit: float) -> bool:
    return x == y or abs(x - y) <= limit


@settings(max_examples=300, deadline=None)
@given(makers(), makers(), poses(), poses())
def test_swap(make_a, make_b, pose_a: thud.Pose, pose_b: thud.Pose) -> None:  # type: ignore[no-untyped-def]
    a, b = make_a(), make_b()
    limit = tolerance(a, b)
    there = thud.distance(a, b, pose_a, pose_b, signed=True)
    back = thud.distance(b, a, pose_b, pose_a, signed=True)
    assert same(there.distance[0], back.distance[0], limit)
    if abs(there.distance[0]) > limit:
        assert thud.intersects(a, b, pose_a, pose_b)[0] == thud.intersects(b, a, pose_b, pose_a)[0] == (there.distance[0] < 0)


@settings(max_examples=300, deadline=None)
@given(makers(), makers(), poses(), poses(), poses())
def test_rigid_motion(make_a, make_b, pose_a: thud.Pose, pose_b: thud.Pose, motion: thud.Pose) -> None:  # type: ignore[no-untyped-def]
    a, b = make_a(), make_b()
    limit = tolerance(a, b)
    here = thud.distance(a, b, pose_a, pose_b, signed=True)
    there = thud.distance(a, b, motion @ pose_a, motion @ pose_b, signed=True)
    assert same(here.distance[0], there.distance[0], limit)


@settings(max_examples=300, deadline=None)
@given(makers(), makers(), poses(), poses(), st.sampled_from([2.0**-13, 1e-4, 0.3, 7.0, 2.0**13, 1e4]))
def test_scale(make_a, make_b, pose_a: thud.Pose, pose_b: thud.Pose, scale: float) -> None:  # type: ignore[no-untyped-def]
    a, b = make_a(), make_b()
    limit = tolerance(a, b)
    here = thud.distance(a, b, pose_a, pose_b, signed=True)

    def scaled(pose: thud.Pose) -> thud.Pose:
        return thud.Pose(pose.position * scale, pose.quaternion)

    there = thud.distance(make_a(scale), make_b(scale), scaled(pose_a), scaled(pose_b), signed=True)
    assert same(here.distance[0], there.distance[0] / scale, limit)


@settings(max_examples=200, deadline=None)
@given(makers(), makers(), poses(), poses())
def test_the_depth_separates(make_a, make_b, pose_a: thud.Pose, pose_b: thud.Pose) -> None:  # type: ignore[no-untyped-def]
    a, b = make_a(), make_b()
    deep = thud.distance(a, b, pose_a, pose_b, signed=True)
    if isinstance(a, thud.Compound) or isinstance(b, thud.Compound) or not -np.inf < deep.distance[0] < 0:
        return
    moved = thud.Pose(pose_b.position - deep.distance[0] * deep.normal[0], pose_b.quaternion)
    assert abs(thud.distance(a, b, pose_a, moved, signed=True).distance[0]) <= tolerance(a, b)


def test_centres_a_hair_apart_give_no_direction() -> None:
    # The first search direction joins the centres. Here it was (1.5e-242, 0, 0), whose square underflows to 0, so that no
    # support point was found along it and the depth stayed at its starting value of 1e308.
    cone = thud.Cone(1.0, 1.0)
    turned = thud.Pose([0, 0, 0], [0, 0, 1.509174700322861e-242, 1.0])
    deep = thud.distance(cone, cone, None, turned, signed=True)
    np.testing.assert_allclose(deep.distance, thud.distance(cone, cone, signed=True).distance, atol=2.5e-6)
    assert deep.status[0] == thud.Status.OVERLAPPING
    hull = thud.ConvexHull(np.random.default_rng(0).normal(size=(30, 3)))
    near = thud.distance(hull, hull, None, [5, 0, 0, 1, 0, 0, 0])
    again = thud.distance(hull, hull, None, [5, 0, 0, 1, 0, 0, 0], axes=[[1e-200, 0, 0]])
    np.testing.assert_allclose(again.distance, near.distance)
