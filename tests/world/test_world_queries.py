"""Queries of a world against the same queries of its bodies one by one."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.world.model import random_pose, some_shapes
from thud.errors import InvalidInputError, StaleHandleError
from thud.world.bodies import Bodies

SHAPES = some_shapes()


def crowd(count: int, seed: int, space: float = 2.5, **options) -> tuple[thud.World, list[int], list[tuple]]:
    """A world with bodies of every kind."""
    rng = np.random.default_rng(seed)
    world = thud.World(**options)
    bodies = [(SHAPES[k % len(SHAPES)], random_pose(rng, space)) for k in range(count)]
    # Some rows that were free once.
    for _ in range(5):
        world.add(thud.Sphere(9.0))
    world.remove(world.handles())
    handles = [world.add(shape, pose, layer=k % 3) for k, (shape, pose) in enumerate(bodies)]
    return world, handles, bodies


@pytest.mark.parametrize("any_hit", [False, True])
def test_rays_hit_what_single_shapes_say(any_hit: bool) -> None:
    world, handles, bodies = crowd(60, 1)
    rng = np.random.default_rng(2)
    o, d = rng.uniform(-4, 4, (400, 3)), rng.normal(size=(400, 3))
    alone = [thud.raycast(shape, o, d, pose=pose, max_distance=5.0) for shape, pose in bodies]
    distance = np.stack([hit.distance for hit in alone])
    for mask in (~0, 0b101):
        seen = np.array([mask >> (k % 3) & 1 for k in range(60)], dtype=bool)
        expected = np.where(seen[:, None], distance, np.inf)
        found = world.raycast(o, d, max_distance=5.0, any_hit=any_hit, mask=mask)
        best = expected.min(axis=0)
        np.testing.assert_array_equal(found.handle >= 0, np.isfinite(best))
        for i in np.flatnonzero(found.handle >= 0):
            k = handles.index(found.handle[i])
            if not any_hit:
                # Two kernels: sums may be ordered in two ways, and differ in the last bit.
                assert best[i] == expected[k, i]
                np.testing.assert_allclose(found.distance[i], best[i], rtol=1e-14, atol=1e-14)
                np.testing.assert_allclose(found.normal[i], alone[k].normal[i], rtol=0, atol=1e-13)
                np.testing.assert_allclose(found.point[i], alone[k].point[i], rtol=0, atol=1e-13)
                assert found.triangle[i] == alone[k].triangle[i]
            else:
                assert np.isfinite(expected[k, i])


def test_bodies_in_boxes() -> None:
    world, handles, _ = crowd(60, 3)
    rng = np.random.default_rng(4)
    middle, half = rng.uniform(-3, 3, (50, 3)), rng.uniform(0, 1, (50, 3))
    lower, upper = world.bounds(handles)
    box, found = world.in_boxes(middle - half, middle + half)
    expected = [
        (q, handles[k])
        for q in range(50)
        for k in range(60)
        if (lower[k] <= (middle + half)[q]).all() and (upper[k] >= (middle - half)[q]).all()
    ]
    assert list(zip(box.tolist(), found.tolist(), strict=True)) == sorted(expected, key=lambda e: (e[0], e[1] & 0xFFFFFFFF))


@pytest.mark.parametrize("signed", [False, True])
def test_distances_come_closest_first_and_are_those_of_the_pairs(signed: bool) -> None:
    world, handles, bodies = crowd(36 if signed else 60, 5, space=3.0)
    place = {handle: k for k, handle in enumerate(handles)}
    for reach in (0.0, 0.4, 2.0, np.inf):
        found = world.distances(reach, signed=signed)
        # Two half-spaces overlap without end: -inf.
        assert (found.distance[1:] >= found.distance[:-1]).all()
        got = {(place[a], place[b]): k for k, (a, b) in enumerate(zip(found.handle_a, found.handle_b, strict=True))}
        for i in range(len(bodies)):
            for j in range(i + 1, len(bodies)):
                alone = thud.distance(bodies[i][0], bodies[j][0], bodies[i][1], bodies[j][1], signed=signed, max_distance=reach)
                key = (i, j) if (i, j) in got else (j, i)
                assert (key in got) == bool(alone.distance[0] < np.inf), (i, j, reach)
                if key == (i, j) and key in got:
                    assert found.distance[got[key]] == alone.distance[0]
                    np.testing.assert_array_equal(found.point_a[got[key]], alone.point_a[0])
        if reach == 0.4 and signed:
            break


@pytest.mark.parametrize("options", [{}, {"midphase": "none"}, {"midphase": "spm"}, {"caches": False}, {"threads": 1}])
def test_contacts_are_those_of_the_pairs(options: dict) -> None:
    world, handles, bodies = crowd(48, 6, space=2.0, **options)
    rng = np.random.default_rng(7)
    place = {handle: k for k, handle in enumerate(handles)}
    for frame in range(3):
        for margin in (0.0, 0.05):
            found = world.contacts(margin=margin)
            met = set()
            for k, (a, b) in enumerate(zip(found.handle_a, found.handle_b, strict=True)):
                met.add((place[a], place[b]))
                i, j = place[a], place[b]
                alone = thud.contacts(bodies[i][0], bodies[j][0], bodies[i][1], bodies[j][1], margin=margin)
                # The same contact is among those of the pair alone.
                assert (np.abs(alone.point - found.point[k]).max(axis=1) + np.abs(alone.depth - found.depth[k]) == 0).any()
            if margin == 0.0:
                truth = {
                    (i, j)
                    for i in range(48)
                    for j in range(i + 1, 48)
                    if thud.intersects(bodies[i][0], bodies[j][0], bodies[i][1], bodies[j][1])[0]
                }
                # Two half-spaces overlap without end, and have no points.
                endless = {k for k, (shape, _) in enumerate(bodies) if isinstance(shape, thud.HalfSpace)}
                assert {tuple(sorted(pair)) for pair in met} == {pair for pair in truth if not set(pair) <= endless}
                assert {tuple(sorted((place[a], place[b]))) for a, b in world.intersecting().tolist()} == truth
        for k, (shape, pose) in enumerate(bodies):
            bodies[k] = (shape, pose + np.concatenate([rng.normal(size=3) * 0.02, np.zeros(4)]))
        world.set_poses(handles, np.array([pose for _, pose in bodies]))
        assert frame < 3


def test_impacts_are_those_of_the_pairs() -> None:
    world, handles, bodies = crowd(40, 8, space=4.0)
    rng = np.random.default_rng(9)
    velocity = rng.normal(size=(40, 3)) * 3.0
    world.set_velocities(handles, velocity)
    dt = 0.5
    found = world.impacts(dt)
    assert (np.diff(found.time) >= 0).all()
    place = {handle: k for k, handle in enumerate(handles)}
    got = {(place[a], place[b]): k for k, (a, b) in enumerate(zip(found.handle_a, found.handle_b, strict=True))}
    for i in range(40):
        for j in range(40):
            if (i, j) in got or (i < j and (j, i) not in got):
                alone = thud.cast(bodies[i][0], bodies[j][0], bodies[i][1], bodies[j][1], velocity[i] * dt, velocity[j] * dt)
                assert ((i, j) in got) == bool(alone.time[0] <= 1.0), (i, j)
                if (i, j) in got:
                    assert found.time[got[i, j]] == pytest.approx(alone.time[0], abs=1e-12)


def test_the_users_filter_and_the_rules() -> None:
    world = thud.World(filter=lambda a, b: (a & 1) == (b & 1))
    handles = [world.add(thud.Sphere(1.0), name=f"ball {k}") for k in range(4)]
    assert world.pairs().tolist() == [[0, 2], [1, 3]]
    assert world.intersecting().tolist() == [[handles[0], handles[2]], [handles[1], handles[3]]]
    assert world.name(handles[2]) == "ball 2"
    world.filter = lambda a, b: np.zeros(2)
    with pytest.raises(InvalidInputError, match="filter"):
        world.pairs()


def test_a_mesh_inside_another_meets_it_by_every_mid_phase() -> None:
    corners = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], dtype=float)
    faces = np.array(
        [[0, 1, 3], [0, 3, 2], [4, 7, 5], [4, 6, 7], [0, 5, 1], [0, 4, 5],
         [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4], [1, 5, 7], [1, 7, 3]]
    )  # fmt: skip
    for midphase in ("auto", "hull", "spm", "image", "none"):
        world = thud.World(midphase=midphase)
        a = world.add(thud.TriangleMesh(corners, faces))
        b = world.add(thud.TriangleMesh(corners * 0.2, faces), thud.Pose((0.3, 0.2, 0.1)))
        c = world.add(thud.TriangleMesh(corners, faces), thud.Pose((2.5, 0, 0), (0.92387953, 0, 0, 0.38268343)))
        assert world.intersecting().tolist() == [[a, b]]
        world.set_poses(c, thud.Pose((2.2, 0, 0), (0.92387953, 0, 0, 0.38268343)))
        assert world.intersecting().tolist() == [[a, b], [a, c]]
        if midphase in ("hull", "spm", "image"):
            assert world.stats.mid_tested > 0


def test_statistics_of_the_phases() -> None:
    world, handles, _ = crowd(60, 1)
    world.intersecting()
    assert world.stats.query == "intersecting"
    assert world.stats.bodies == 60
    assert world.stats.boxes_updated == 60
    assert world.stats.broad_pairs > world.stats.hits > 0
    assert {"boxes", "broad", "narrow"} <= set(world.stats.seconds)
    world.set_poses(handles[0], None)
    world.intersecting()
    assert world.stats.boxes_updated == 1
    assert world.stats.kept_axes > 0


def test_deformed_meshes() -> None:
    corners = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1.0]])
    mesh = thud.TriangleMesh(corners, np.array([[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]))
    world = thud.World()
    a, b = world.add(mesh), world.add(thud.Sphere(0.3), thud.Pose((1.5, 1.5, 0.0)))
    assert len(world.intersecting()) == 0
    world.set_shape(a, mesh.deformed(corners * 4.0))
    assert world.intersecting().tolist() == [[a, b]]


def test_errors_name_the_argument_and_the_remedy() -> None:
    world = thud.World()
    handle = world.add(thud.Sphere(1.0))
    with pytest.raises(InvalidInputError, match=r"expected a thud shape, got the class Box; make one: Box\(...\)"):
        world.add(thud.Box)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="expected a thud shape"):
        world.add("ball")
    with pytest.raises(InvalidInputError, match="one pose"):
        world.add(thud.Sphere(1.0), np.tile(np.eye(4), (2, 1, 1)))
    with pytest.raises(InvalidInputError, match="layer"):
        world.add(thud.Sphere(1.0), layer=64)
    with pytest.raises(InvalidInputError, match="mass"):
        world.add(thud.Sphere(1.0), mass=-1.0)
    assert len(world) == 1
    with pytest.raises(InvalidInputError, match="poses"):
        world.set_poses([handle], np.tile(np.eye(4), (2, 1, 1)))
    with pytest.raises(StaleHandleError, match="never"):
        world.set_poses([7], None)
    with pytest.raises(StaleHandleError, match="row 1"):
        world.poses([handle, -5])
    with pytest.raises(InvalidInputError, match="handles"):
        world.poses(0.5)
    with pytest.raises(InvalidInputError, match="velocity"):
        world.set_velocities([handle], np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="angular_velocity"):
        world.set_velocities([handle], np.zeros(3), np.zeros((2, 3)))
    with pytest.raises(InvalidInputError, match="broadphase"):
        thud.World("magic")
    for odd in ("magic", ["spm"], np.array(["spm", "hull"]), None):
        with pytest.raises(InvalidInputError, match="midphase"):
            thud.World(midphase=odd)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="image"):
        thud.World(image=thud.imagespace.ImageOptions())
    with pytest.raises(InvalidInputError, match="dt"):
        world.impacts(0.0)
    with pytest.raises(InvalidInputError, match="twice"):
        world.remove([handle, handle])
    world.remove(handle)
    with pytest.raises(StaleHandleError, match="removed"):
        world.remove(handle)
    assert world.contacts().depth.shape == (0,)
    assert world.distances(1.0).distance.shape == (0,)
    assert world.impacts(1.0).time.shape == (0,)
    assert world.raycast((0, 0, 0), (0, 0, 1)).handle.tolist() == [-1]


def test_rows_are_reused_and_generations_told_apart() -> None:
    bodies = Bodies()
    rows = [bodies.take_row() for _ in range(200)]
    first = bodies.handles(np.array(rows))
    bodies.release_rows(np.array([17]))
    assert bodies.take_row() == 17
    again = bodies.handles(np.array([17]))
    assert again[0] != first[17]
    with pytest.raises(StaleHandleError):
        bodies.rows(first[17])
    np.testing.assert_array_equal(bodies.rows(again), [17])
