"""`World.contacts` frame after frame: against all pairs by `thud.contacts`, with and without caches, for any number of
threads."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest

import thud
from tests.world.heap_ids import FARTHEST, PERSIST, check_ids, heap_world
from tests.world.model import random_pose, some_shapes
from thud._core.threads import core_count
from thud.broadphase.choose import METHODS
from thud.world import contact_records
from tools.record_heap import Heap

HEAP = Path(__file__).parent / "data" / "heap_600.npz"

#: Shapes of plain convex parts, of which the kernel takes care itself.
PLAIN = [shape for shape in some_shapes() if shape.family == "convex" and not isinstance(shape, thud.HalfSpace)]
SHAPES = some_shapes()


def heap(frames: int) -> tuple[Heap, np.ndarray]:
    """The heap and the poses of its first frames."""
    found = Heap.load(HEAP)
    return found, found.exact_poses()[:frames]


def same_bytes(a: thud.WorldContacts, b: thud.WorldContacts) -> None:
    for field in fields(a):
        x, y = getattr(a, field.name), getattr(b, field.name)
        assert x.dtype == y.dtype
        assert x.shape == y.shape, field.name
        assert x.tobytes() == y.tobytes(), field.name


def check_layout(world: thud.World, found: thud.WorldContacts) -> None:
    """The pairs and their points say the same."""
    assert (found.count > 0).all()
    np.testing.assert_array_equal(found.start, np.cumsum(found.count) - found.count)
    assert found.count.sum() == len(found.point)
    pair = np.repeat(np.arange(len(found.pairs)), found.count)
    np.testing.assert_array_equal(found.pairs[pair, 0], found.handle_a)
    np.testing.assert_array_equal(found.pairs[pair, 1], found.handle_b)
    np.testing.assert_array_equal(world.handle_of(found.rows), found.pairs)
    keys = found.rows[:, 0] << 32 | found.rows[:, 1]
    assert (np.diff(keys) > 0).all()
    assert (found.rows[:, 0] < found.rows[:, 1]).all()


def check_all_pairs(found: thud.WorldContacts, handles: np.ndarray, shapes: list, poses: np.ndarray, margin: float) -> None:
    """Each pair of bodies has the contacts that it has alone, bit by bit, and those that are apart have none."""
    i, j = np.triu_indices(len(handles), 1)
    alone = thud.contacts_pairs(shapes, np.stack([i, j], axis=1), poses, margin=margin)
    np.testing.assert_array_equal(found.handle_a, handles[i[alone.row]])
    np.testing.assert_array_equal(found.handle_b, handles[j[alone.row]])
    for name in ("point", "normal", "depth", "feature", "patch"):
        np.testing.assert_array_equal(getattr(found, name), getattr(alone, name), err_msg=name)
    np.testing.assert_array_equal(found.status, alone.status[alone.row])


def moved(rng: np.random.Generator, poses: np.ndarray, which: np.ndarray, step: float) -> np.ndarray:
    found = poses.copy()
    found[which, :3] += rng.normal(size=(len(which), 3)) * step
    found[which, 3:] += rng.normal(size=(len(which), 4)) * step
    found[:, 3:] /= np.linalg.norm(found[:, 3:], axis=1, keepdims=True)
    return found


@pytest.mark.parametrize("margin", [0.0, 0.03])
@pytest.mark.parametrize("count", [60, 400])
def test_contacts_are_those_of_all_pairs(count: int, margin: float) -> None:
    # 400 bodies: more than brute force takes, so that pairs of fat boxes are kept from frame to frame.
    rng = np.random.default_rng(3)
    space = 1.1 * count ** (1 / 3)
    shapes = [PLAIN[k % len(PLAIN)] for k in range(count)]
    poses = np.array([random_pose(rng, 0.5 * space) for _ in range(count)])
    world = thud.World()
    handles = world.add_many(shapes, poses)
    kept = 0
    for step in (0.0, 0.01, 0.01, 0.3, 0.001):
        poses = moved(rng, poses, rng.choice(count, count // 2, replace=False), step)
        world.set_poses(handles, poses)
        found = world.contacts(margin=margin)
        check_layout(world, found)
        check_all_pairs(found, handles, shapes, poses, margin)
        assert len(found.pairs) > count // 4
        kept += world.stats.kept_pairs
        assert (found.triangle_a == -1).all()
    assert kept > 0


@pytest.mark.parametrize("method", METHODS)
def test_every_broad_phase_gives_the_same_contacts(method: str) -> None:
    made, frames = heap(4)
    worlds = [heap_world(made, broadphase=name, threads=1) for name in ("auto", method)]
    for frame in frames:
        for world, boxes in worlds:
            world.set_poses(boxes, frame)
        first, second = (world.contacts(margin=0.005) for world, _ in worlds)
        same_bytes(first, second)
        assert len(first.pairs) > 600


@pytest.mark.parametrize("margin", [0.0, 0.01])
def test_same_bytes_without_caches_and_for_any_number_of_threads(margin: float) -> None:
    made, frames = heap(5)
    rng = np.random.default_rng(0)
    options = [{}, {"caches": False}, *({"threads": n} for n in (1, 2, 3)), {"caches": False, "threads": core_count() + 1}]
    worlds = [heap_world(made, **option) for option in options]
    for frame, poses in enumerate(frames):
        # In some frames only a few move, so that some pairs keep their relative pose.
        chosen = np.sort(rng.choice(len(made.half), 40, replace=False)) if frame % 2 else np.arange(len(made.half))
        for world, boxes in worlds:
            world.set_poses(boxes[chosen], poses[chosen])
        answers = [world.contacts(margin=margin) for world, _ in worlds]
        for other in answers[1:]:
            same_bytes(answers[0], other)
        if frame % 2:
            assert worlds[0][0].stats.kept_pairs > worlds[0][0].stats.narrow_tested
        assert worlds[1][0].stats.kept_pairs == 0


def test_mixed_bodies_with_and_without_caches() -> None:
    rng = np.random.default_rng(5)
    count = 60
    shapes = [SHAPES[k % len(SHAPES)] for k in range(count)]
    poses = np.array([random_pose(rng, 1.6) for _ in range(count)])
    worlds = [thud.World(), thud.World(caches=False, threads=1), thud.World(midphase="none", threads=3)]
    for world in worlds:
        handles = world.add_many(shapes, poses)
    kept = 0
    for frame in range(6):
        some = rng.choice(count, 8, replace=False)
        poses = moved(rng, poses, some, 0.05)
        for world in worlds:
            world.set_poses(handles, poses)
            if frame == 3:
                world.set_shape(handles[5], thud.Box((0.2, 0.2, 0.2)))
                world.remove(handles[7])
                assert world.add(thud.Sphere(0.6), poses[7]) != handles[7]
        if frame == 3:
            handles = worlds[0].handles()
        margin = 0.02 if frame > 3 else 0.0
        answers = [world.contacts(margin=margin) for world in worlds]
        check_layout(worlds[0], answers[0])
        same_bytes(answers[0], answers[1])
        same_bytes(answers[0], answers[2])
        kept += worlds[0].stats.kept_pairs
    assert kept > 0


def test_many_pairs_are_looked_at_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(6)
    count = 300
    shapes = [SHAPES[k % (len(SHAPES) - 1)] for k in range(count)]
    poses = np.array([random_pose(rng, 4.0) for _ in range(count)])
    answers = []
    for block in (contact_records.BLOCK, 100):
        monkeypatch.setattr(contact_records, "BLOCK", block)
        world = thud.World()
        handles = world.add_many(shapes, poses)
        place, found = np.random.default_rng(7), []
        for step in (0.0, 0.02, 0.02, 0.02):
            poses_now = moved(place, poses, place.choice(count, 60, replace=False), step)
            world.set_poses(handles, poses_now)
            found.append(world.contacts())
            assert world.stats.broad_pairs > 200
        answers.append(found)
        assert world.stats.kept_pairs > 50
    for first, second in zip(*answers, strict=True):
        same_bytes(first, second)


def test_a_world_in_which_nothing_happened_gives_a_copy() -> None:
    made, frames = heap(1)
    world, boxes = heap_world(made)
    world.set_poses(boxes, frames[0])
    first = world.contacts()
    kept = [getattr(first, field.name).copy() for field in fields(first)]
    # The same poses again are no move, and other queries change nothing.
    world.set_poses(boxes, frames[0])
    world.raycast((0, 0, 9), (0, 0, -1))
    again = world.contacts()
    assert world.stats.narrow_tested == 0
    assert "broad" not in world.stats.seconds
    same_bytes(first, again)
    # What the caller writes into an answer is lost on the next one.
    for answer in (first, again):
        for field in fields(answer):
            getattr(answer, field.name)[...] = 0
    third = world.contacts()
    for before, field in zip(kept, fields(third), strict=True):
        assert before.tobytes() == getattr(third, field.name).tobytes()
    assert (world.events().kind == thud.EventKind.KEPT).all()
    # A change of anything is seen.
    world.set_enabled(boxes[0], False)
    assert len(world.contacts().pairs) < len(third.pairs)
    world.set_enabled(boxes[0], True)
    same_bytes(world.contacts(), third)
    assert len(world.contacts(margin=0.01).point) > len(third.point)
    assert world.contacts(margin=0.01, max_points=2).count.max() == 2
    world.remove(boxes[0])
    assert boxes[0] not in world.contacts().pairs


def test_a_filter_is_asked_every_time() -> None:
    allowed = [True]
    world = thud.World(filter=lambda a, b: np.full(len(a), allowed[0]))
    world.add_many(thud.Box((1, 1, 1)), thud.Pose([[0, 0, 0], [1.5, 0, 0]]))
    assert len(world.contacts().pairs) == 1
    allowed[0] = False
    assert len(world.contacts().pairs) == 0
    assert world.events().kind.tolist() == [thud.EventKind.ENDED]


def test_a_sign_of_zero_is_a_move() -> None:
    # Records whose relative poses were compared by value took over the contacts of a mirrored pose: of two boxes at one place
    # the normal goes by the sign of an offset of zero.
    answers = []
    for caches in (True, False):
        world = thud.World(caches=caches)
        handles = world.add_many(thud.Box((1, 1, 1)), thud.Pose(np.zeros((2, 3))))
        world.contacts()
        world.set_poses(handles[1], thud.Pose((-0.0, 0, 0)))
        answers.append(world.contacts())
    same_bytes(*answers)


def test_columns_follow_their_points() -> None:
    made, frames = heap(4)
    world, boxes = heap_world(made)
    records = world._records
    records.widen(2)
    known: dict[tuple[int, int, int], np.ndarray] = {}
    rng = np.random.default_rng(1)
    carried = 0
    for frame in frames:
        world.set_poses(boxes, frame)
        if len(known) > 0:
            # A body that is replaced takes nothing over from the one before it.
            gone = int(boxes[7])
            world.remove(gone)
            boxes[7] = world.add(thud.Box(made.half[7].astype(float)), frame[7], mass=1.0)
        found = world.contacts(margin=0.01)
        assert records.columns.shape == (len(found.point), 2)
        ids = list(zip(found.handle_a.tolist(), found.handle_b.tolist(), found.feature.tolist(), strict=True))
        assert len(set(ids)) == len(ids)
        for k, key in enumerate(ids):
            np.testing.assert_array_equal(records.columns[k], known.get(key, np.zeros(2)))
            carried += key in known
        records.columns[:] = rng.normal(size=records.columns.shape)
        known = dict(zip(ids, records.columns.copy(), strict=True))
    assert carried > 3000
    records.widen(3)
    assert (records.columns[:, 2] == 0).all()
    np.testing.assert_array_equal(records.columns[:, :2], np.array(list(known.values())))


def test_points_of_compounds_with_equal_features_are_matched_one_by_one() -> None:
    bench = thud.Compound([thud.Box((0.2, 0.2, 0.2))] * 3, thud.Pose([[0, 0, 0], [1, 0, 0], [2, 0, 0]]))
    world = thud.World()
    world.add(thud.Box((5, 5, 0.5)), static=True)
    handle = world.add(bench, thud.Pose((0, 0, 0.69)))
    world.contacts()
    world.set_poses(handle, thud.Pose((0.001, 0, 0.69)))
    assert len(world.contacts().point) == 12
    np.testing.assert_array_equal(world._records.previous(), np.arange(12))


def test_ids_persist_in_a_calm_heap() -> None:
    # The long run: python -m tests.world.heap_ids
    report = check_ids(Heap.load(HEAP))
    assert report.points > 1000 * report.frames
    assert report.share >= PERSIST, report
    assert report.worst <= FARTHEST, report


@pytest.mark.parametrize("offset", [0.0, 1e-4, 0.02, 0.5])
@pytest.mark.parametrize("jitter", [1e-7, 1e-5])
def test_ids_persist_in_a_stack_of_equal_boxes(jitter: float, offset: float) -> None:
    # Names by what clipping came upon changed with every breath: a corner of the box above was now inside of the face below,
    # now outside, where two crossings of sides took its place.
    rng = np.random.default_rng(2)
    world = thud.World()
    world.add(thud.Box((5, 5, 0.5)), thud.Pose((0, 0, -0.5)), static=True)
    rest = np.array([[offset * (k % 2), 0, 0.5 + k - 1e-3 * (k + 1), 1, 0, 0, 0] for k in range(10)])
    boxes, last = world.add_many(thud.Box((0.5, 0.5, 0.5)), rest), None
    for _ in range(30):
        poses = rest.copy()
        poses[:, :3] += jitter * rng.normal(size=(10, 3))
        poses[:, 4:] += jitter * rng.normal(size=(10, 3))
        poses[:, 3:] /= np.linalg.norm(poses[:, 3:], axis=1, keepdims=True)
        world.set_poses(boxes, poses)
        found = world.contacts(margin=0.01)
        assert (found.count == 4).all()
        if last is not None:
            previous = world._records.previous()
            assert (previous >= 0).all()
            assert np.abs(found.point - last.point[previous]).max() < FARTHEST
        last = found
