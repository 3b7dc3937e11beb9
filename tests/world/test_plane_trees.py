"""The mid phase "spm": it parts only what is apart, solids included, gives the same answers in every setting, and knows when to
rest."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.bounds.meshes import blob, soup
from thud.world.plane_gate import PlaneGate
from thud.world.plane_trees import LEVELS_PART, NO_PLANES, NOT_PARTED, ROOTS_PART, PlaneSet, part_pairs_rows
from thud.world.tolerances import PLANE_FEW, PLANE_REST

BODIES, FRAMES = 60, 4


def shapes() -> list[thud.shapes.Shape]:
    """Closed and concave, open, one inside of which others fit, of two parts, of one triangle; and no mesh."""
    points, faces = blob(7, 1, 0.8)
    inner, inner_faces = blob(4, 2, 0.2)
    shell, shell_faces = blob(9, 3, 0.0)
    two = np.concatenate([0.4 * inner, 0.3 * inner + (2.0, 0.0, 0.0)])
    return [
        thud.TriangleMesh(points, faces),
        thud.TriangleMesh(*soup(25, 4)),
        thud.TriangleMesh(1.6 * shell, shell_faces),
        thud.TriangleMesh(0.25 * inner, inner_faces),
        thud.TriangleMesh(two, np.concatenate([inner_faces, inner_faces + len(inner)])),
        thud.TriangleMesh([[0.0, 0, 0], [1, 0, 0], [0, 1, 0]], [[0, 1, 2]]),
        thud.TriangleMesh(points, faces).deformed(0.9 * points),
        thud.Sphere(0.4),
    ]


def some_poses(count: int, seed: int, space: float = 3.2) -> np.ndarray:
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return np.concatenate([rng.uniform(-space, space, (count, 3)), q / np.linalg.norm(q, axis=1)[:, None]], axis=1)


@pytest.mark.parametrize("reach", [0.0, 0.25])
def test_what_is_parted_is_farther_apart_than_the_reach(reach: float) -> None:
    kinds = shapes()
    trees = PlaneSet().trees(kinds)
    assert trees is not None
    count = 24 * len(kinds)
    which, poses = np.arange(count) % len(kinds), some_poses(count, 1, 1.7)
    rows = thud.Pose(poses[:, :3], poses[:, 3:]).rows
    pairs = np.array([(i, j) for i in range(0, count, 5) for j in range(i + 1, count, 9)])
    found = np.empty(len(pairs), np.uint8)
    below = np.ones(len(pairs), np.uint8)
    part_pairs_rows(0, len(pairs), trees, which, rows, pairs, reach, below, found)
    gap = np.array([thud.distance(kinds[which[i]], kinds[which[j]], poses[i], poses[j]).distance[0] for i, j in pairs.tolist()])
    parted = (found == ROOTS_PART) | (found == LEVELS_PART)
    assert (gap[parted] > reach).all()
    # Others than plain meshes have no planes.
    np.testing.assert_array_equal(found == NO_PLANES, (which[pairs] >= 6).any(axis=1))
    for kind in (ROOTS_PART, LEVELS_PART, NOT_PARTED):
        assert (found == kind).sum() > 4, kind
    # Without the levels below, only the roots part.
    again = np.empty_like(found)
    part_pairs_rows(0, len(pairs), trees, which, rows, pairs, reach, np.zeros_like(below), again)
    np.testing.assert_array_equal(again == ROOTS_PART, found == ROOTS_PART)
    assert not (again == LEVELS_PART).any()


def test_one_inside_the_other_is_never_parted() -> None:
    # The surfaces are far apart, so the levels below the roots part them; a point of each part tells.
    kinds = shapes()
    shell, small, two = kinds[2], kinds[3], kinds[4]
    trees = PlaneSet().trees([shell, small, two])
    assert trees is not None
    places = [((0.0, 0.0, 0.0), 0), ((0.3, -0.2, 0.1), 1), ((0.2, 0.1, 0.0), 2), ((5.0, 0.0, 0.0), 1)]
    rows = thud.Pose(np.array([p for p, _ in places])).rows
    which = np.array([k for _, k in places])
    pairs = np.array([[0, 1], [0, 2], [1, 3], [0, 3]])
    found = np.empty(4, np.uint8)
    part_pairs_rows(0, 4, trees, which, rows, pairs, 0.0, np.ones(4, np.uint8), found)
    assert found.tolist() == [NOT_PARTED, NOT_PARTED, ROOTS_PART, ROOTS_PART]
    # Beside the shell, within its sphere's reach, the small one is found to be outside.
    rows[1, 9:] = (1.95, 0.0, 0.0)
    part_pairs_rows(0, 1, trees, which, rows, pairs, 0.0, np.ones(1, np.uint8), found)
    assert found[0] in (ROOTS_PART, LEVELS_PART)


def test_planes_of_a_mesh_take_what_the_docs_say() -> None:
    points, faces = blob(40, 1, 0.3)
    trees = PlaneSet().trees([thud.TriangleMesh(points, faces, spm="face", spm_levels=1)])
    assert trees is not None
    # All seven levels are full, so that no mesh takes more.
    assert len(trees.child) == 127
    assert 1.5e6 < trees.points.nbytes + trees.spheres.nbytes + trees.child.nbytes < 1.6e6


@pytest.mark.parametrize("options", [{}, {"caches": False}, {"threads": 2}])
def test_worlds_give_the_same_answers(options: dict) -> None:
    kinds = shapes()
    poses = some_poses(BODIES, 2)
    worlds = [thud.World(midphase="none"), thud.World(midphase="hull"), thud.World(midphase="spm", **options)]
    handles = [world.add_many([kinds[k % len(kinds)] for k in range(BODIES)], poses) for world in worlds]
    rng = np.random.default_rng(3)
    hits = 0
    for _ in range(FRAMES):
        plain, hull, planes = worlds
        met = plain.intersecting()
        hits += len(met)
        np.testing.assert_array_equal(hull.intersecting(), met)
        np.testing.assert_array_equal(planes.intersecting(), met)
        assert planes.stats.mid_rejected > 0
        for field in ("handle_a", "handle_b", "point", "depth"):
            np.testing.assert_array_equal(getattr(planes.contacts(), field), getattr(plain.contacts(), field))
        for reach in (0.0, 0.3):
            near, far = hull.distances(reach), planes.distances(reach)
            for field in ("handle_a", "handle_b", "distance", "point_a", "point_b"):
                np.testing.assert_array_equal(getattr(far, field), getattr(near, field))
        poses[:, :3] += 0.15 * rng.normal(size=(BODIES, 3))
        for world, handle in zip(worlds, handles, strict=True):
            world.set_poses(handle, poses)
    assert hits > 40


def test_planes_follow_the_shapes_that_come_and_go() -> None:
    kinds = shapes()
    world, plain = thud.World(midphase="spm"), thud.World(midphase="none")
    for turn in range(3):
        for one in (world, plain):
            one.add_many([kinds[(turn + k) % 5] for k in range(8)], some_poses(8, 10 + turn, 1.5))
            one.remove(one.handle_of(np.array([turn])))
        np.testing.assert_array_equal(world.intersecting(), plain.intersecting())


def test_the_gate_lets_pairs_rest_and_stops_where_nothing_is_gained() -> None:
    pairs = np.array([[0, 1], [0, 2], [1, 2], [3, 4]])
    gate = PlaneGate()
    assert gate.choose(pairs).all()
    gate.learn(np.ones(4, np.uint8), np.array([LEVELS_PART, NOT_PARTED, ROOTS_PART, NO_PLANES], np.uint8))
    # The one that was not parted rests, in whatever row it comes back; then it is tried again.
    moved = np.array([[0, 2], [0, 3], [3, 4]])
    waited = 0
    while not gate.choose(moved)[0]:
        waited += 1
        gate.learn(np.array([0, 1, 1], np.uint8), np.full(3, ROOTS_PART, np.uint8))
    assert PLANE_REST // 2 <= waited < PLANE_REST
    # Many tried in vain: none is tried for a while, not even new ones.
    many = np.stack([np.arange(2 * PLANE_FEW), np.arange(2 * PLANE_FEW) + 1000], axis=1)
    assert gate.choose(many).all()
    gate.learn(np.ones(len(many), np.uint8), np.full(len(many), NOT_PARTED, np.uint8))
    fresh = many + 5000
    tried = [bool(gate.choose(fresh).any()) for _ in range(PLANE_REST + 1)]
    assert tried == [False] * PLANE_REST + [True]


def test_pairs_that_met_are_not_asked_for_their_hulls_again() -> None:
    kinds = shapes()
    for midphase in ("hull", "spm"):
        world = thud.World(midphase=midphase)
        a = world.add(kinds[0])
        b = world.add(kinds[0], thud.Pose((0.3, 0.0, 0.0)))
        for x in (0.3, 0.31, 6.0, 1.9, 0.3):
            world.set_poses(b, thud.Pose((x, 0.0, 0.0)))
            expected = bool(thud.intersects(kinds[0], kinds[0], None, thud.Pose((x, 0.0, 0.0)))[0])
            assert (world.intersecting().tolist() == [[a, b]]) == expected
