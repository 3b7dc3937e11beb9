"""Shapes, points and rays against all bodies of a world: the same as a loop over the bodies."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

import thud
from tests.pairing.random_draws import ball_faces
from tests.world.model import random_pose, some_shapes
from tests.world.test_surfaces import ground
from thud.errors import InvalidInputError, StaleHandleError, ThudError

#: Bodies of the world, and questions a query.
BODIES, ROWS = 300, 60
MISS, HIT, AT_START = 0, 1, 2

_BASIC = some_shapes()
SHEET = _BASIC[8]
LOOSE = thud.Compound([SHEET, thud.Sphere(0.25)], [thud.Pose((0.4, 0, 0)), thud.Pose((-0.4, 0, 0))])
FIELD = thud.HeightField(0.15 * np.random.default_rng(3).normal(size=(6, 7)), 0.4, (-1.2, -1.0, 0.0), thickness=0.5)
BUMPY = thud.TriangleMesh(*ball_faces(np.random.default_rng(0), 6, 0.3))
#: All but the half-space, which is in everything's way.
SHAPES = [*_BASIC[:-1], LOOSE, FIELD, BUMPY]
PROBES = {
    "sphere": thud.Sphere(0.4), "box": thud.Box((0.2, 0.5, 0.3)), "hull": _BASIC[3], "cone": thud.Cone(0.3, 0.4),
    "parts": _BASIC[9], "mesh": BUMPY, "sheet": SHEET, "mixed": _BASIC[10], "field": FIELD,
}  # fmt: skip


class Scene:
    """A world, and the list of its bodies in the order of their rows."""

    def __init__(self, seed: int, count: int = BODIES, space: float = 6.0, surface: bool = True, plane: bool = True) -> None:
        rng = np.random.default_rng(seed)
        self.world = thud.World()
        self.world.remove(self.world.add_many(thud.Sphere(9.0), np.tile([0.0, 0, 0, 1, 0, 0, 0], (5, 1))))
        # Some sizes of their own, so that many convex shapes are asked at once.
        own = [thud.Box(rng.uniform(0.1, 0.5, 3)) for _ in range(12)] + [
            thud.Capsule(*rng.uniform(0.1, 0.4, 2)) for _ in range(6)
        ]
        some = SHAPES + own
        bodies = [(some[k % len(some)], random_pose(rng, space)) for k in range(count)]
        if surface:
            bodies.append((ground(0), np.array([0.0, 0, -space, 1, 0, 0, 0])))
        if plane:
            bodies.append((thud.HalfSpace((0, 0, 1), -space - 1.0), np.array([0.0, 0, 0, 1, 0, 0, 0])))
        self.layers = rng.integers(0, 3, len(bodies))
        handles = [self.world.add(s, p, layer=int(k)) for (s, p), k in zip(bodies, self.layers, strict=True)]
        order = np.argsort(self.world.index(handles))
        self.handles = np.array(handles)[order]
        self.bodies, self.layers = [bodies[k] for k in order], self.layers[order]

    def seen(self, mask: int, ignored: Any, count: int) -> np.ndarray:
        """(B, N) which bodies each row asks."""
        seen = np.broadcast_to((mask >> self.layers & 1)[:, None] != 0, (len(self.bodies), count)).copy()
        if ignored is not None:
            given = np.asarray(ignored)
            table = np.broadcast_to(
                given.reshape(len(given) if given.ndim else 1, -1), (count, given.size // len(given) if given.ndim else 1)
            )
            seen &= ~(self.handles[:, None, None] == table[None]).any(axis=2)
        return seen


@cache
def scene() -> Scene:
    return Scene(1)


def poses(rng: np.random.Generator, count: int = ROWS, space: float = 7.0) -> np.ndarray:
    return np.stack([random_pose(rng, space) for _ in range(count)])


def limits(rng: np.random.Generator, handles: np.ndarray, count: int) -> list[tuple[int, Any]]:
    """Masks and handles to ignore, in every form."""
    wide = rng.choice(handles, (count, 3))
    wide[rng.random(wide.shape) < 0.4] = -1
    return [(~0, None), (0b101, None), (~0, int(handles[7])), (~0, rng.choice(handles, count)), (0b110, wide), (~0, -1)]


@pytest.mark.parametrize("name", PROBES)
def test_overlaps(name: str) -> None:
    some = Scene(2, surface=name != "field")
    shape, rng = PROBES[name], np.random.default_rng(3)
    where = poses(rng)
    hit = np.array([thud.intersects(shape, body, where, pose) for body, pose in some.bodies])
    total = 0
    for mask, ignored in limits(rng, some.handles, ROWS):
        row, handle = some.world.overlap(shape, where, mask=mask, ignore=ignored)
        expected = np.argwhere((hit & some.seen(mask, ignored, ROWS)).T)
        np.testing.assert_array_equal(row, expected[:, 0])
        np.testing.assert_array_equal(handle, some.handles[expected[:, 1]])
        total += len(row)
    assert total > 10


@pytest.mark.parametrize("turns", [False, True])
@pytest.mark.parametrize("name", PROBES)
def test_casts(name: str, turns: bool) -> None:
    plain = name in ("sphere", "box", "hull", "cone", "parts")
    some = Scene(4, BODIES if plain and not turns else 120, surface=name != "field")
    shape, rng = PROBES[name], np.random.default_rng(5)
    count = ROWS if plain and not turns else 10
    where = poses(rng, count)
    motion = 6.0 * rng.normal(size=(count, 3))
    motion[::9] = 0.0
    if turns:
        motion = np.concatenate([motion, rng.normal(size=(count, 3)) * (rng.random((count, 1)) < 0.7)], axis=1)
    alone = [thud.cast(shape, body, where, pose, motion) for body, pose in some.bodies]
    time = np.array([one.time for one in alone])
    statuses = set()
    for mask, ignored in limits(rng, some.handles, count):
        found = some.world.cast(shape, where, motion, mask=mask, ignore=ignored)
        best = np.where(some.seen(mask, ignored, count), time, np.inf)
        first = best.argmin(axis=0)
        hit = np.isfinite(best.min(axis=0))
        np.testing.assert_array_equal(found.handle, np.where(hit, some.handles[first], -1))
        np.testing.assert_array_equal(found.time, best.min(axis=0))
        for i in np.flatnonzero(hit):
            one = alone[first[i]]
            assert found.status[i] == one.status[i]
            for field in ("point", "normal", "depth"):
                np.testing.assert_allclose(getattr(found, field)[i], getattr(one, field)[i], rtol=0, atol=1e-12)
        assert (found.status[~hit] == MISS).all()
        assert not found.point[~hit].any()
        assert not found.normal[~hit].any()
        assert not found.depth[~hit].any()
        statuses |= set(found.status.tolist())
    assert {HIT, AT_START} <= statuses


def model_closest(shape: Any, points: np.ndarray, pose: Any, signed: bool) -> np.ndarray:
    """Distances by the definition: what has no inside counts without sign."""
    if signed and shape is SHEET:
        return thud.closest_point(shape, points, pose=pose).distance
    if signed and shape is LOOSE:
        places = [thud.Pose(pose[:3], pose[3:]) @ shape.poses[k] for k in range(2)]
        inner = [
            thud.closest_point(part, points, pose=place, signed=part is not SHEET).distance
            for part, place in zip(shape.shapes, places, strict=True)
        ]
        return np.minimum(*inner)
    return thud.closest_point(shape, points, pose=pose, signed=signed).distance


@pytest.mark.parametrize("signed", [False, True])
def test_closest_points(signed: bool) -> None:
    some, rng = scene(), np.random.default_rng(6)
    count = 400
    points = rng.uniform(-8, 8, (count, 3))
    # Some inside of bodies, some on their surfaces, one far away.
    points[:60] = some.world.poses(rng.choice(some.handles[:BODIES], 60))[:, :3] + 0.1 * rng.normal(size=(60, 3))
    points[-1] = [1e3, -2e3, 5e3]
    distance = np.array([model_closest(body, points, pose, signed) for body, pose in some.bodies])
    rows = np.arange(count)
    for k, (mask, ignored) in enumerate(limits(rng, some.handles, count)):
        reach: Any = [np.inf, 0.7, rng.uniform(0, 1.5, count)][k % 3]
        found = some.world.closest(points, max_distance=reach, signed=signed, mask=mask, ignore=ignored)
        asked = np.where(some.seen(mask, ignored, count), distance, np.inf)
        best = asked.min(axis=0)
        hit = best <= np.broadcast_to(reach, count)
        np.testing.assert_array_equal(found.handle >= 0, hit)
        np.testing.assert_allclose(found.distance, np.where(hit, best, np.inf), rtol=1e-13, atol=1e-13)
        who = np.searchsorted(some.world.index(some.handles), some.world.index(found.handle[hit]))
        np.testing.assert_allclose(asked[who, rows[hit]], best[hit], rtol=1e-13, atol=1e-13)
        gap = np.linalg.norm(found.point - points, axis=1)
        np.testing.assert_allclose(gap[hit], np.abs(found.distance[hit]), rtol=1e-9, atol=1e-9)
        assert not found.point[~hit].any()
        if k == 0:
            assert hit.all()
            assert (found.distance < 0).any() == signed
        else:
            assert hit.any()


def test_of_equal_answers_the_lowest_row_counts() -> None:
    world = thud.World()
    handles = world.add_many(thud.Sphere(1.0), thud.Pose([[5.0, 0, 0], [-5.0, 0, 0], [0, 5.0, 0], [5.0, 0, 0]]))
    assert world.closest([0.0, 0, 0]).handle.tolist() == [handles[0]]
    assert world.closest([0.0, 0, 0], ignore=handles[0]).handle.tolist() == [handles[1]]
    assert world.cast(thud.Sphere(0.1), None, [9.0, 0, 0]).handle.tolist() == [handles[0]]
    assert world.cast(thud.Sphere(0.1), None, [9.0, 0, 0], ignore=[[handles[0], -1]]).handle.tolist() == [handles[3]]
    inside = world.cast(thud.Sphere(0.5), thud.Pose([5.9, 0, 0]), [-9.0, 0, 0])
    assert inside.handle.tolist() == [handles[0]]
    assert inside.status.tolist() == [AT_START]
    np.testing.assert_allclose(inside.depth, 0.6, atol=1e-12)
    np.testing.assert_allclose(inside.normal, [[-1.0, 0, 0]], atol=1e-12)
    np.testing.assert_allclose(inside.point, [[5.7, 0, 0]], atol=1e-12)


def test_all_crossings() -> None:
    some, rng = scene(), np.random.default_rng(7)
    count = 200
    o, d = rng.uniform(-8, 8, (count, 3)), rng.normal(size=(count, 3))
    d[::10] *= [0.0, 0.0, 1.0]
    alone = [thud.raycast_all(body, o, d, pose=pose) for body, pose in some.bodies]
    total = 0
    for k, (mask, ignored) in enumerate(limits(rng, some.handles, count)):
        reach: Any = [np.inf, 3.0, rng.uniform(0, 9, count)][k % 3]
        found = some.world.raycast_all(o, d, max_distance=reach, mask=mask, ignore=ignored)
        seen, limit = some.seen(mask, ignored, count), np.broadcast_to(reach, count)
        expected = [
            (row, one.distance[m], b, one.triangle[m], *one.point[m], *one.normal[m])
            for b, one in enumerate(alone)
            for m, row in enumerate(one.row.tolist())
            if seen[b, row] and one.distance[m] <= limit[row]
        ]
        expected.sort(key=lambda e: e[:4])
        table = np.array(expected)
        assert len(found.row) == len(table)
        np.testing.assert_array_equal(found.row, table[:, 0])
        np.testing.assert_allclose(found.distance, table[:, 1], rtol=1e-12, atol=1e-12)
        np.testing.assert_array_equal(found.handle, some.handles[table[:, 2].astype(int)])
        np.testing.assert_array_equal(found.triangle, table[:, 3])
        np.testing.assert_allclose(found.point, table[:, 4:7], rtol=1e-12, atol=1e-11)
        np.testing.assert_allclose(found.normal, table[:, 7:], rtol=0, atol=1e-11)
        total += len(found.row)
    assert total > 500


@pytest.mark.parametrize("any_hit", [False, True])
def test_rays_with_limits_of_their_own(any_hit: bool) -> None:
    some, rng = scene(), np.random.default_rng(8)
    count = 300
    o, d = rng.uniform(-8, 8, (count, 3)), rng.normal(size=(count, 3))
    distance = np.array([thud.raycast(body, o, d, pose=pose).distance for body, pose in some.bodies])
    for mask, ignored in limits(rng, some.handles, count):
        reach = rng.uniform(0, 8, count)
        found = some.world.raycast(o, d, max_distance=reach, any_hit=any_hit, mask=mask, ignore=ignored)
        asked = np.where(some.seen(mask, ignored, count) & (distance <= reach), distance, np.inf)
        hit = np.isfinite(asked.min(axis=0))
        np.testing.assert_array_equal(found.handle >= 0, hit)
        who = np.searchsorted(some.world.index(some.handles), some.world.index(found.handle[hit]))
        np.testing.assert_allclose(found.distance[hit], asked[who, np.flatnonzero(hit)], rtol=1e-13, atol=1e-13)
        if not any_hit:
            np.testing.assert_allclose(found.distance[hit], asked.min(axis=0)[hit], rtol=1e-13, atol=1e-13)
        assert hit.any()


def test_empty_worlds_and_no_rows() -> None:
    for world in (thud.World(), thud.World()):
        ball = thud.Sphere(1.0)
        assert world.cast(ball, None, [[1.0, 0, 0]] * 3).handle.tolist() == [-1] * 3
        assert [x.tolist() for x in world.overlap(ball)] == [[], []]
        assert world.closest([[0.0, 0, 0]] * 2).handle.tolist() == [-1, -1]
        assert len(world.raycast_all([0.0, 0, 0], [1.0, 0, 0]).row) == 0
        world.add(ball, thud.Pose([5.0, 0, 0]))
        none = np.empty((0, 3))
        assert len(world.cast(ball, None, none).handle) == 0
        assert len(world.overlap(ball, np.empty((0, 7)))[0]) == 0
        assert len(world.closest(none).handle) == 0
        assert len(world.raycast_all(none, [1.0, 0, 0]).row) == 0
        assert len(world.raycast(none, [1.0, 0, 0], ignore=[]).handle) == 0


def test_what_is_refused() -> None:
    world = thud.World()
    ball = thud.Sphere(1.0)
    handle, gone = world.add(ball), world.add(ball)
    world.remove(gone)
    for call, text in (
        (lambda: world.cast("ball"), "shape: expected a thud shape"),
        (lambda: world.cast(ball, None, [1.0, 2]), "motions: expected shape"),
        (lambda: world.cast(ball, np.zeros((2, 7)), 0), "poses"),
        (lambda: world.cast(ball, thud.Pose(np.zeros((2, 3))), np.zeros((3, 3))), "poses, motions: expected equal numbers"),
        (lambda: world.cast(ball, mask="a"), "mask"),
        (lambda: world.overlap(None), "shape"),
        (lambda: world.closest([1.0, np.nan, 0]), "points"),
        (lambda: world.closest([[1.0, 0, 0]] * 2, max_distance=[1.0, -1.0]), "max_distance: row 1 is -1"),
        (lambda: world.closest([[1.0, 0, 0]] * 2, max_distance=[1.0] * 3), "points, max_distance: expected equal numbers"),
        (lambda: world.closest([1.0, 0, 0], max_distance=np.nan), "max_distance"),
        (lambda: world.closest([1.0, 0, 0], signed="no"), "signed"),
        (lambda: world.raycast([0.0, 0, 0], [1.0, 0, 0], max_distance=[[1.0]]), "max_distance"),
        (lambda: world.raycast_all([0.0, 0, 0], [0.0, 0, 0]), "directions: row 0 is zero"),
        (lambda: world.overlap(ball, ignore=[handle, handle]), "ignore: expected a handle"),
        (lambda: world.overlap(ball, ignore=1.5), "ignore: expected whole numbers"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            call()
    for query in (
        lambda i: world.overlap(ball, thud.Pose(np.zeros((2, 3))), ignore=i),
        lambda i: world.raycast(np.zeros((2, 3)), [1.0, 0, 0], ignore=i),
        lambda i: world.closest(np.zeros((2, 3)), ignore=i),
        lambda i: world.cast(ball, thud.Pose(np.zeros((2, 3))), ignore=i),
        lambda i: world.raycast_all(np.zeros((2, 3)), [1.0, 0, 0], ignore=i),
    ):
        with pytest.raises(StaleHandleError, match="ignore: row 1 is handle"):
            query([[handle, -1], [-1, gone]])
    with pytest.raises(ThudError):
        thud.World().overlap(ball, ignore=handle)


def test_same_bytes_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(9)
    where, motion, points = poses(rng, 200), 4.0 * rng.normal(size=(200, 3)), rng.uniform(-8, 8, (1500, 3))
    d = rng.normal(size=(1500, 3))
    some = Scene(1, 150)
    answers = []
    for threads in (1, 2, 3):
        some.world.threads = threads
        shape = PROBES["hull"]
        row, handle = some.world.overlap(shape, where)
        results = [some.world.cast(shape, where, motion), some.world.closest(points), some.world.raycast_all(points, d)]
        arrays = [getattr(one, name) for one in results for name in type(one).__slots__]
        answers.append([array.tobytes() for array in (row, handle, *arrays)])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("turns", [False, True])
def test_shapes_without_end(turns: bool) -> None:
    # A plane or ground that comes down on the bodies from above, or lies among them.
    some, rng = Scene(10, 60, surface=False, plane=False), np.random.default_rng(11)
    endless = thud.HeightField(0.3 * rng.normal(size=(5, 5)), 2.0, (-4.0, -4.0, 0.0))
    for shape, turn in ((thud.HalfSpace((0, 0, 1)), [1.0, 0, 0, 0]), (endless, [0.0, 1.0, 0, 0])):
        height = -9.0 if turn[0] else 9.0
        where = np.array([[0.0, 0, height, *turn], [1.0, 2, 0.5, *turn], [0.0, 0, -20.0, 1.0, 0, 0, 0]])
        hit = np.array([thud.intersects(shape, body, where, pose) for body, pose in some.bodies])
        row, handle = some.world.overlap(shape, where)
        expected = np.argwhere(hit.T)
        np.testing.assert_array_equal(row, expected[:, 0])
        np.testing.assert_array_equal(handle, some.handles[expected[:, 1]])
        motion = np.array([[0.3, 0.2, -1.5 * height] + ([0.2, 0.1, 0.0] if turns else [])])
        found = some.world.cast(shape, where[:1], motion)
        time = np.array([thud.cast(shape, body, where[:1], pose, motion).time[0] for body, pose in some.bodies])
        assert 0.0 < time.min() < 1.0
        assert found.time[0] == time.min()
        assert found.handle[0] == some.handles[time.argmin()]
