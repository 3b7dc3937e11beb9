"""Events, sensors and bodies that are switched off, against sets of pairs."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.world.model import random_pose, some_shapes
from thud.errors import InvalidInputError, StaleHandleError

SHAPES = some_shapes()
KINDS = {thud.EventKind.BEGUN, thud.EventKind.KEPT, thud.EventKind.ENDED}

#: Rounds of the random loop, and bodies at a time.
ROUNDS, BODIES = 40, 24


def touching(world: thud.World, poses: dict[int, np.ndarray], on: set[int]) -> set[tuple[int, int]]:
    """Pairs of enabled bodies that touch, each asked by itself."""
    order = sorted(on, key=lambda handle: handle & 0xFFFFFFFF)
    found = set()
    for n, a in enumerate(order):
        for b in order[n + 1 :]:
            alone = thud.contacts(world.shape(a), world.shape(b), poses[a], poses[b])
            if len(alone.row):
                found.add((a, b))
    return found


@pytest.mark.parametrize("margin", [0.0, 0.05])
def test_events_are_the_differences_of_sets(margin: float) -> None:
    rng = np.random.default_rng(11)
    world = thud.World()
    poses: dict[int, np.ndarray] = {}
    on: set[int] = set()
    sensors: set[int] = set()
    before: set[tuple[int, int]] = set()
    assert len(world.events().kind) == 0
    seen = dict.fromkeys(KINDS, 0)
    for turn in range(ROUNDS):
        while len(poses) < BODIES or rng.random() < 0.3:
            pose, sensor = random_pose(rng, 1.4), bool(rng.random() < 0.2)
            handle = world.add(SHAPES[rng.integers(len(SHAPES))], pose, sensor=sensor)
            poses[handle] = pose
            on.add(handle)
            sensors |= {handle} if sensor else set()
        for handle in rng.choice(sorted(poses), 2, replace=False).tolist():
            if rng.random() < 0.5:
                world.remove(handle)
                del poses[handle]
                on.discard(handle)
            else:
                world.set_enabled(handle, handle not in on)
                on ^= {handle}
        for handle in rng.choice(sorted(poses), 3, replace=False).tolist():
            poses[handle] = random_pose(rng, 1.4)
            world.set_poses(handle, poses[handle])
        found = world.contacts(margin=margin)
        now = touching(world, poses, on)
        events = world.events()
        pairs = list(zip(events.handle_a.tolist(), events.handle_b.tolist(), strict=True))
        by_kind = {kind: {pair for pair, k in zip(pairs, events.kind, strict=True) if k == kind} for kind in KINDS}
        assert sum(map(len, by_kind.values())) == len(pairs)
        assert by_kind[thud.EventKind.BEGUN] == now - before, turn
        assert by_kind[thud.EventKind.KEPT] == now & before
        assert by_kind[thud.EventKind.ENDED] == before - now
        rows = events.handle_a % 2**32 * 2**32 + events.handle_b % 2**32
        assert (np.diff(rows) >= 0).all()
        np.testing.assert_array_equal(events.sensor, [bool({a, b} & sensors) for a, b in pairs])
        np.testing.assert_array_equal(found.sensor, [bool({a, b} & sensors) for a, b in found.pairs.tolist()])
        assert set(found.pairs.ravel().tolist()) <= on
        for kind in KINDS:
            seen[kind] += len(by_kind[kind])
        before = now
    assert min(seen.values()) > 10


def test_bodies_within_the_margin_do_not_touch() -> None:
    world = thud.World()
    a, b = world.add_many(thud.Box((1, 1, 1)), thud.Pose([[0, 0, 0], [2.1, 0, 0]]))
    assert len(world.contacts(margin=0.2).pairs) == 1
    assert len(world.events().kind) == 0
    world.set_poses(b, thud.Pose((2.0, 0, 0)))
    world.contacts(margin=0.2)
    events = world.events()
    assert events.kind.tolist() == [thud.EventKind.BEGUN]
    assert (events.handle_a.tolist(), events.handle_b.tolist()) == ([a], [b])
    world.set_poses(b, thud.Pose((2.1, 0, 0)))
    world.contacts(margin=0.2)
    assert world.events().kind.tolist() == [thud.EventKind.ENDED]


def test_how_fast_bodies_approach() -> None:
    world = thud.World()
    ground = world.add(thud.HalfSpace((0, 0, 1)), static=True)
    ball = world.add(
        thud.Sphere(0.5), thud.Pose((1, 2, 0.49)), velocity=(3, 0, -2), angular_velocity=(0, 0, 5), mass=1.0
    )  # fmt: skip
    box = world.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose((9, 0, 0.499)), angular_velocity=(0, 2, 0), mass=1.0)
    found = world.contacts()
    events = world.events()
    assert events.handle_a.tolist() == [ground, ground]
    assert events.handle_b.tolist() == [ball, box]
    np.testing.assert_allclose(events.point[0], (1, 2, -0.005), atol=1e-12)
    np.testing.assert_allclose(events.normal, [(0, 0, 1)] * 2, atol=1e-12)
    assert events.approach_speed[0] == pytest.approx(2.0)
    # The box turns about y: its corners at +x go down, those at -x up.
    assert abs(events.approach_speed[1]) == pytest.approx(1.0)
    assert events.approach_speed[1] == pytest.approx(2.0 * (events.point[1, 0] - 9.0))
    assert found.sensor.tolist() == [False, False]
    # Of a pair that ended: as it was.
    world.remove(ball)
    world.contacts()
    events = world.events()
    assert events.kind.tolist() == [thud.EventKind.ENDED, thud.EventKind.KEPT]
    assert events.handle_b.tolist() == [ball, box]
    assert events.approach_speed[0] == pytest.approx(2.0)
    with pytest.raises(StaleHandleError):
        world.shape(events.handle_b[0])


def test_a_disabled_body_takes_part_in_nothing() -> None:
    world = thud.World()
    handles = world.add_many(thud.Sphere(1.0), thud.Pose([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), velocity=(1.0, 0, 0))
    world.set_velocities(handles[2], (-5.0, 0, 0))
    world.set_enabled(handles[1], False)
    assert world.enabled().tolist() == [True, False, True]
    assert world.enabled(handles[1]).tolist() == [False]
    assert len(world) == 3
    assert world.pairs().tolist() == [[0, 2]]
    assert world.contacts().pairs.tolist() == [[handles[0], handles[2]]]
    assert world.intersecting().tolist() == [[handles[0], handles[2]]]
    assert world.distances().handle_b.tolist() == [handles[2]]
    assert world.distances(1.0).handle_b.tolist() == [handles[2]]
    assert world.impacts(0.1).handle_b.tolist() == [handles[2]]
    assert world.in_boxes((-9, -9, -9), (9, 9, 9))[1].tolist() == [handles[0], handles[2]]
    assert world.raycast((1, 0, 5), (0, 0, -1)).handle.tolist() != [handles[1]]
    world.set_poses(handles[1], thud.Pose((0, 0, 9)))
    assert world.pairs().tolist() == [[0, 2]]
    again = thud.World.from_state(world.state())
    assert again.enabled().tolist() == [True, False, True]
    assert again.pairs().tolist() == [[0, 2]]
    world.set_enabled(handles, [True, True, False])
    assert len(world.pairs()) == 0
    assert world.raycast((0, 0, 20), (0, 0, -1)).handle.tolist() == [handles[1]]
    world.set_enabled(handles, True)
    assert world.enabled().all()
    # A row that is used again begins enabled.
    world.set_enabled(handles[0], False)
    world.remove(handles[0])
    assert world.enabled(world.add(thud.Sphere(1.0))).all()


def test_sensors_are_saved_and_belong_to_their_body() -> None:
    world = thud.World()
    handles = world.add_many(thud.Sphere(1.0), thud.Pose([[0, 0, 0], [1, 0, 0], [2, 0, 0]]), sensor=[True, False, False])
    assert world.contacts().sensor.tolist() == [True, True, False]
    again = thud.World.from_state(world.state())
    assert again.contacts().sensor.tolist() == [True, True, False]
    world.remove(handles[0])
    world.add(thud.Sphere(1.0))
    assert world.contacts().sensor.tolist() == [False, False, False]
    one = world.add(thud.Sphere(1.0), sensor=True)
    found = world.contacts()
    np.testing.assert_array_equal(found.sensor, (found.pairs == one).any(axis=1))


def test_gates() -> None:
    world = thud.World()
    handle = world.add(thud.Sphere(1.0))
    with pytest.raises(InvalidInputError, match="sensor"):
        world.add(thud.Sphere(1.0), sensor=2)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="sensor"):
        world.add_many(thud.Sphere(1.0), sensor=[True, False])
    with pytest.raises(InvalidInputError, match="flags"):
        world.set_enabled(handle, 0.5)
    with pytest.raises(InvalidInputError, match="flags"):
        world.set_enabled(handle, [True, False])
    world.remove(handle)
    for call in (lambda: world.set_enabled(handle, True), lambda: world.enabled(handle)):
        with pytest.raises(StaleHandleError):
            call()
    state = world.state()
    state["enabled"] = state["enabled"].view(np.uint8) + np.uint8(2)
    state["enabled"] = state["enabled"].view(np.bool_)
    with pytest.raises(InvalidInputError, match="enabled"):
        thud.World.from_state(state)
