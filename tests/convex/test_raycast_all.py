"""All crossings of rays with convex shapes and compounds: against closed forms, the first hit, and inside or outside."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.meshes import blob_mesh
from thud.errors import InvalidInputError

SHAPES = {
    "sphere": thud.Sphere(0.9),
    "box": thud.Box((0.5, 0.9, 0.7)),
    "capsule": thud.Capsule(0.4, 0.6),
    "cylinder": thud.Cylinder(0.6, 0.7),
    "cone": thud.Cone(0.8, 0.7),
    "ellipsoid": thud.Ellipsoid((0.4, 0.9, 0.7)),
    "hull": thud.ConvexHull(np.random.default_rng(5).normal(size=(30, 3))),
    "half-space": thud.HalfSpace((0.0, 0.6, 0.8), 0.1),
    "one part": thud.Compound([thud.Box((0.5, 0.9, 0.7))], thud.Pose([0.3, 0.0, 0.0])),
}


def rays(count: int, seed: int) -> tuple[np.ndarray, np.ndarray, thud.Pose]:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    pose = thud.Pose(rng.uniform(-0.3, 0.3, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))
    d = rng.normal(size=(count, 3))
    return rng.uniform(-1.5, 1.5, (count, 3)), d / np.linalg.norm(d, axis=1, keepdims=True), pose


@pytest.mark.parametrize("name", SHAPES)
def test_a_convex_shape_is_entered_once_and_left_once(name: str) -> None:
    shape = SHAPES[name]
    o, d, pose = rays(600, 1)
    found, first, inside = (
        thud.raycast_all(shape, o, d, pose=pose), thud.raycast(shape, o, d, pose=pose), thud.contains(shape, o, pose=pose),
    )  # fmt: skip
    counts = np.bincount(found.row, minlength=600)
    hit = np.isfinite(first.distance)
    expected = np.where(inside, 1, np.where(hit, 2, 0))
    if name == "half-space":
        normal = np.einsum("nij,j->ni", pose.rotation, np.asarray(shape.normal))
        expected = np.where(inside, np.einsum("ni,ni->n", normal, d) > 0, hit).astype(int)
    np.testing.assert_array_equal(counts, expected)
    assert set(found.triangle.tolist()) <= ({-1} if name != "one part" else {0})
    # The first crossing from outside is the first hit.
    start = np.searchsorted(found.row, np.flatnonzero(hit & ~inside))
    # (Two kernels, which may contract sums differently: equal up to roundoff.)
    np.testing.assert_allclose(found.distance[start], first.distance[hit & ~inside], rtol=0, atol=1e-13)
    np.testing.assert_allclose(found.normal[start], first.normal[hit & ~inside], rtol=0, atol=1e-7)
    # All on the surface; the ray is inside between entry and exit, and nowhere else.
    np.testing.assert_allclose(found.point, o[found.row] + found.distance[:, None] * d[found.row], atol=1e-15)
    near = thud.closest_point(shape, found.point, pose=pose[found.row])
    assert near.distance.max() < 1e-6
    np.testing.assert_allclose(np.linalg.norm(found.normal, axis=1), 1.0)
    along = np.einsum("ni,ni->n", found.normal, d[found.row])
    entering = np.zeros(len(found.row), dtype=bool)
    entering[start] = True
    assert (along[entering] <= 0).all()
    assert (along[~entering] >= 0).all()
    for sign in (-1.0, 1.0):
        beside = found.point + sign * 1e-5 * d[found.row]
        clear = np.abs(along) > 0.05
        np.testing.assert_array_equal(
            thud.contains(shape, beside, pose=pose[found.row])[clear], (entering == (sign > 0))[clear]
        )
    # The sign of the normal that a small step outward leaves the shape by.
    assert not thud.contains(shape, found.point + 1e-5 * found.normal, pose=pose[found.row]).any()
    short = thud.raycast_all(shape, o, d, pose=pose, max_distance=0.8)
    np.testing.assert_array_equal(short.distance, found.distance[found.distance <= 0.8])
    one, three = (thud.raycast_all(shape, o, d, pose=pose, threads=n) for n in (1, 3))
    for field in ("row", "distance", "point", "normal", "triangle"):
        assert getattr(one, field).tobytes() == getattr(three, field).tobytes()


def test_closed_forms() -> None:
    ball = thud.raycast_all(thud.Sphere(2.0), [-5.0, 0, 0], [3.0, 0, 0])
    np.testing.assert_allclose(ball.distance, [3.0, 7.0], rtol=1e-15)
    np.testing.assert_allclose(ball.normal, [[-1.0, 0, 0], [1.0, 0, 0]], atol=1e-15)
    # A chord at height h has half length sqrt(r^2 - h^2), from near and from very far.
    for far in (3.0, 1e6):
        chord = thud.raycast_all(thud.Sphere(1.0), [-far, 0.6, 0], [1.0, 0, 0])
        np.testing.assert_allclose(chord.distance, [far - 0.8, far + 0.8], rtol=4e-15)
    box = thud.raycast_all(thud.Box((1.0, 2.0, 3.0)), [0.0, 0, 0], np.concatenate([np.eye(3), -np.eye(3)]))
    np.testing.assert_allclose(box.distance, [1.0, 2.0, 3.0, 1.0, 2.0, 3.0], rtol=1e-15)
    np.testing.assert_array_equal(box.normal, np.concatenate([np.eye(3), -np.eye(3)]))
    half = thud.raycast_all(
        thud.HalfSpace((0.0, 0.0, 1.0), 1.0), [[0.0, 0, 3], [0, 0, 0], [0, 0, 0]], [[0.0, 0, -1], [0, 0, 1], [0, 0, -1]]
    )
    assert half.row.tolist() == [0, 1]
    np.testing.assert_array_equal(half.distance, [2.0, 1.0])
    np.testing.assert_array_equal(half.normal, [[0.0, 0, 1]] * 2)


def test_on_the_surface_and_along_it() -> None:
    cube = thud.Box((1.0, 1.0, 1.0))
    # From the surface: inward one exit across, outward one at 0.
    found = thud.raycast_all(cube, [-1.0, 0, 0], [[1.0, 0, 0], [-1.0, 0, 0]])
    assert found.row.tolist() == [0, 1]
    np.testing.assert_allclose(found.distance, [2.0, 0.0], atol=1e-15)
    # Within a face, along an edge, through a corner: as many in as out.
    grazing = thud.raycast_all(
        cube, [[-3.0, 0, 1], [-3.0, 1, 1], [-2.0, 2, 1], [-2.0, 0, 3]], [[1.0, 0, 0], [1.0, 0, 0], [1.0, 1, 0], [1.0, 0, -1]]
    )
    assert (np.bincount(grazing.row, minlength=4) % 2 == 0).all()
    np.testing.assert_allclose(grazing.distance[grazing.row == 0], [2.0, 4.0])
    tangent = thud.raycast_all(thud.Sphere(1.0), [-3.0, 1.0, 0], [1.0, 0, 0])
    assert len(tangent.row) in (0, 2)
    assert np.isfinite(tangent.normal).all()


def test_compounds_answer_for_each_part() -> None:
    o, d, pose = rays(300, 2)
    mesh = thud.TriangleMesh(*blob_mesh(6, 3))
    parts, where = (
        [thud.Sphere(0.5), thud.Box((0.3, 0.6, 0.2)), thud.Cone(0.5, 0.5)],
        thud.Pose([[0.2, 0, 0], [0, 0.3, 0], [0, 0, 0.9]]),
    )
    for shapes in (parts, [mesh, *parts[1:]]):
        found = thud.raycast_all(thud.Compound(shapes, where), o, d, pose=pose, max_distance=2.0)
        rows, distances, numbers = [], [], []
        for number, shape in enumerate(shapes):
            alone = thud.raycast_all(shape, o, d, pose=pose @ where[number], max_distance=2.0)
            rows.append(alone.row), distances.append(alone.distance), numbers.append(np.full(len(alone.row), number))
        row, distance, number = np.concatenate(rows), np.concatenate(distances), np.concatenate(numbers)
        order = np.lexsort((number, distance, row))
        np.testing.assert_array_equal(found.row, row[order])
        np.testing.assert_array_equal(found.triangle, number[order])
        np.testing.assert_allclose(found.distance, distance[order], atol=1e-12)


def test_many_parts_through_the_tree() -> None:
    # A row of 40 balls: a ray along it enters and leaves each.
    balls = thud.Compound([thud.Sphere(0.4)] * 40, thud.Pose(np.stack([np.arange(40.0), np.zeros(40), np.zeros(40)], axis=1)))
    found = thud.raycast_all(balls, [-2.0, 0, 0], [1.0, 0, 0])
    np.testing.assert_array_equal(found.triangle, np.repeat(np.arange(40), 2))
    np.testing.assert_allclose(found.distance, (np.arange(40.0)[:, None] + [1.6, 2.4]).ravel(), atol=1e-12)


def test_errors() -> None:
    with pytest.raises(InvalidInputError, match="shape"):
        thud.raycast_all("ball", [0, 0, 0], [1, 0, 0])
    with pytest.raises(InvalidInputError, match="directions: row 0 is zero"):
        thud.raycast_all(thud.Sphere(1.0), [0, 0, 0], [0, 0, 0])
