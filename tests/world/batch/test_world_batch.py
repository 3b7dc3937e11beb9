"""Copies of a batch have the bytes of the world that is stepped alone; arrays in and out; resets; errors."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import thud
from tests.world.batch.scenes import STRIDE, heap, things, walker
from thud.constants import FARTHEST_POSE
from thud.dynamics import Motor
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.world import WorldBatch
from thud.world.batch import world_batch

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"

DT = 1.0 / 60.0

#: Copies, and steps: enough that some copies fall asleep, break joints and turn fast.
COPIES = 3 if SMALL else 5
STEPS = 40 if SMALL else 100

#: Steps of things that are asked for in Python (meshes, height fields): some 10 ms each; short ones, since turning casts
#: against height fields take longer than all else.
FEW, SHORT = 30, 1.0 / 240.0


def same_bytes(a: thud.World, b: thud.World) -> list[str]:
    """What two worlds differ in, to the last bit: their states, events and contacts."""
    one, two = a.state(), b.state()
    wrong = []
    for name, value in one.items():
        if isinstance(value, np.ndarray):
            if value.shape != two[name].shape or value.tobytes() != two[name].tobytes():
                wrong.append(name)
        elif name == "options":
            wrong += [
                f"{key}: {value[key]} {two[name][key]}" for key in value if key != "threads" and value[key] != two[name][key]
            ]
        elif name != "meshes" and value != two[name]:
            wrong.append(name)
    for what in ("events", "step_contacts"):
        mine, others = getattr(a, what)(), getattr(b, what)()
        for name in mine.__dataclass_fields__:
            if getattr(mine, name).tobytes() != getattr(others, name).tobytes():
                wrong.append(f"{what}.{name}")
    return wrong


def scattered(make: Callable[..., thud.World], copies: int, **options: Any) -> tuple[WorldBatch, list[thud.World]]:
    """A batch with bodies that begin elsewhere in each copy, and the same as worlds."""
    rng = np.random.default_rng(5)
    batch = WorldBatch(make(**options), copies)
    poses, (linear, angular) = batch.poses(), batch.velocities()
    worlds = [make(**options) for _ in range(copies)]
    handles = batch.handles()
    free = ~(worlds[0].static(handles) | worlds[0].kinematic(handles))
    poses[:, free, :3] += 0.02 * rng.normal(size=(copies, int(free.sum()), 3))
    linear[:, free] += 0.2 * rng.normal(size=(copies, int(free.sum()), 3))
    angular[:, free] += rng.normal(size=(copies, int(free.sum()), 3))
    # The last copy is the world as it is.
    chosen = np.arange(copies - 1)
    batch.set_poses(poses[:-1], chosen)
    batch.set_velocities(linear[:-1], angular[:-1], chosen)
    for k in chosen.tolist():
        worlds[k].set_poses(handles, poses[k])
        worlds[k].set_velocities(handles, linear[k], angular[k])
    return batch, worlds


def resting(batch: WorldBatch) -> np.ndarray:
    """Copies that the last step left asleep as a whole."""
    return np.concatenate([crowd.resting for crowd in batch._crowds])


def check_same(batch: WorldBatch, worlds: list[thud.World], when: int) -> None:
    for k, world in enumerate(worlds):
        assert not same_bytes(world, batch.world(k)), f"step {when}, copy {k}"


@pytest.mark.parametrize("sleep_after", [None, 0.25])
@pytest.mark.parametrize("make", [heap, things])
def test_copies_have_the_bytes_of_a_world_alone(make, sleep_after):
    batch, worlds = scattered(make, 3 if make is things else COPIES, sleep_after=sleep_after)
    slept = broke = False
    for step in range(FEW if make is things else STEPS):
        batch.step(SHORT if make is things else DT)
        for world in worlds:
            world.step(SHORT if make is things else DT)
        broken = [(k, int(joint)) for k, world in enumerate(worlds) for joint in world.broken]
        assert sorted(map(tuple, batch.broken.tolist())) == broken
        broke |= bool(broken)
        slept |= bool(resting(batch).any())
        if step < 2 or step % 15 == 14:
            check_same(batch, worlds, step)
            for name in ("poses", "asleep"):
                assert np.array_equal(getattr(batch, name)(), np.stack([getattr(world, name)() for world in worlds]))
    if make is things:
        assert broke
    assert sleep_after is None or SMALL or make is things or batch.asleep().any()


def test_walkers_that_are_driven_have_the_bytes_of_a_world_alone():
    batch, worlds = scattered(walker, COPIES)
    joints, rng = batch.joints(), np.random.default_rng(2)
    for step in range(STEPS):
        targets = STRIDE * rng.uniform(-1.0, 1.0, (COPIES, len(joints)))
        push = rng.normal(size=(COPIES, len(batch.handles()), 3)) * (np.arange(len(batch.handles())) == 1)[:, None]
        batch.set_targets(targets)
        batch.apply_force(20.0 * push)
        batch.apply_torque(push)
        if step == 10:
            batch.apply_impulse(push, batch.poses()[:, :, :3] + 0.1)
        batch.step(DT)
        for k, world in enumerate(worlds):
            world.set_targets(joints, targets[k])
            trunk = batch.handles()[1]
            world.apply_force(trunk, 20.0 * push[k, 1])
            world.apply_torque(trunk, push[k, 1])
            if step == 10:
                world.apply_impulse(trunk, push[k, 1], world.poses([trunk])[:, :3] + 0.1)
            world.step(DT)
        if step < 3 or step in (10, 11) or step % 20 == 19:
            check_same(batch, worlds, step)
    assert np.array_equal(batch.joint_values(), np.stack([world.joint_values() for world in worlds]))
    for mine, others in zip(batch.joint_loads(), zip(*(world.joint_loads() for world in worlds), strict=True), strict=True):
        assert np.array_equal(mine, np.stack(others))


@pytest.mark.parametrize("make", [heap, things])
def test_bytes_do_not_depend_on_threads_or_on_the_number_of_copies(make, monkeypatch):
    monkeypatch.setattr(world_batch, "FEWEST", 1)
    found = []
    for threads, copies in ((1, 5), (2, 5), (2, 3)):
        batch, _ = scattered(make, 5)
        if copies == 3:
            some = WorldBatch(make(), 3)
            some.set_poses(batch.poses()[:3])
            some.set_velocities(*(value[:3] for value in batch.velocities()))
            batch = some
        batch.threads = threads
        assert len(batch._crowds) == threads
        for step in range(15):
            batch.step(SHORT if make is things else DT, 3)
            if step == 7:
                # Divided anew on the way.
                batch.threads = 3 - threads
        found.append(batch)
    for other in found[1:]:
        for k in range(3):
            assert not same_bytes(found[0].world(k), other.world(k))


def test_reset_goes_back_to_the_last_bit_and_leaves_the_others():
    world = heap()
    for _ in range(20):
        world.step(DT)
    batch, alone = WorldBatch(world, 4), WorldBatch(world, 4)
    for _ in range(15):
        batch.step(DT)
        alone.step(DT)
    batch.reset([1, 3])
    assert not same_bytes(world, batch.world(1))
    assert not same_bytes(world, batch.world(3))
    assert not same_bytes(alone.world(0), batch.world(0))
    assert np.allclose(batch.time, [35 * DT, 20 * DT, 35 * DT, 20 * DT])
    for _ in range(15):
        batch.step(DT)
    again = alone.world(2)
    for _ in range(15):
        again.step(DT)
    # Copies that were put back do what they did; the others have gone on.
    assert not same_bytes(alone.world(0), batch.world(3))
    assert not same_bytes(again, batch.world(2))
    batch.reset(np.array([True, False, False, False]))
    assert not same_bytes(world, batch.world(0))
    batch.reset()
    assert not same_bytes(world, batch.world(2))


def test_reset_of_a_copy_whose_joint_broke_brings_it_back():
    batch, _ = scattered(things, 2)
    for _ in range(STEPS):
        batch.step(SHORT)
        if np.isnan(batch.joint_values()).any():
            break
    broken = np.flatnonzero(np.isnan(batch.joint_values()).any(axis=1))
    assert len(broken)
    batch.reset(broken)
    assert not np.isnan(batch.joint_values()[broken]).any()
    first = things()
    assert not same_bytes(first, batch.world(int(broken[0])))
    batch.step(SHORT)
    first.step(SHORT)
    assert not same_bytes(first, batch.world(int(broken[0])))


def test_state_and_restore():
    batch, _ = scattered(heap, 4)
    for _ in range(10):
        batch.step(DT)
    kept = batch.state([2, 0])
    drawn = batch.generators[2].random()
    before = [batch.world(2), batch.world(0)]
    for _ in range(5):
        batch.step(DT)
    batch.restore(kept, [1, 2])
    assert not same_bytes(before[0], batch.world(1))
    assert not same_bytes(before[1], batch.world(2))
    assert batch.generators[1].random() == drawn
    with pytest.raises(InvalidInputError, match="as many as the state has, 2, got 4"):
        batch.restore(kept)
    with pytest.raises(InvalidInputError, match="of this batch"):
        WorldBatch(heap(), 2).restore(kept)


def test_worlds_of_copies_go_on_alone():
    batch, _ = scattered(things, 3)
    for _ in range(10):
        batch.step(SHORT)
    world = batch.world(1)
    for _ in range(10):
        batch.step(SHORT)
        world.step(SHORT)
    assert not same_bytes(world, batch.world(1))
    # And the world that the batch was made of is untouched.
    origin = things()
    assert not same_bytes(origin, things())


def test_contacts_and_events_say_whose_they_are():
    batch, worlds = scattered(things, 3)
    for _ in range(25):
        batch.step(SHORT)
        for world in worlds:
            world.step(SHORT)
        events = batch.events()
        for k, world in enumerate(worlds):
            own, mine = world.events(), events.copy == k
            for name in own.__dataclass_fields__:
                assert np.array_equal(getattr(own, name), getattr(events, name)[mine]), name
    found, solved = batch.contacts(), batch.step_contacts()
    assert solved.sensor.any()
    assert found.sensor.any()
    for k in range(3):
        own = worlds[k].contacts()
        for name in ("handle_a", "handle_b", "point", "normal", "depth", "feature", "status"):
            assert np.array_equal(getattr(own, name), getattr(found, name)[found.copy == k]), name
        assert np.array_equal(own.pairs, found.pairs[found.pair_copy == k])
        assert np.array_equal(own.rows, found.rows[found.pair_copy == k])
        assert np.array_equal(worlds[k].step_contacts().impulse, solved.impulse[solved.copy == k])
    # Asking leaves no trace: the copies go on as a batch that was not asked.
    batch.step(SHORT)
    other, _ = scattered(things, 3)
    for _ in range(26):
        other.step(SHORT)
    assert not same_bytes(other.world(2), batch.world(2))


def test_hook_gets_all_copies_and_a_generator_for_each():
    """The hook draws a friction for each point; of a copy the draws are those of a world alone with the copy's seed."""
    seeds = [11, 12, 13]
    batch = WorldBatch(heap(), 3, seeds=seeds)
    shots = np.array([0.0, 1.0, -1.0])

    def hook(contacts, generators):
        for k in range(3):
            mine = contacts.copy == k
            contacts.friction[mine] = generators[k].random(int(mine.sum()))
            contacts.keep[mine] = contacts.handle_a[mine] >= 0

    batch.contact_hook = hook
    linear, angular = batch.velocities()
    linear[:, 10, 0] += shots
    batch.set_velocities(linear, angular)
    for _ in range(25):
        batch.step(DT)
    for k, seed in enumerate(seeds):
        world, rng = heap(), np.random.default_rng(seed)

        def alone(contacts, rng=rng):
            contacts.friction[:] = rng.random(len(contacts.friction))

        world.contact_hook = alone
        world.set_velocities(batch.handles(), linear[k], angular[k])
        for _ in range(25):
            world.step(DT)
        assert not same_bytes(world, batch.world(k))


def test_filter_of_the_world_is_that_of_the_copies():
    def make() -> thud.World:
        world = heap()
        world.filter = lambda a, b: (a + b) % 3 != 0
        return world

    batch, worlds = scattered(make, 3)
    for _ in range(20):
        batch.step(DT)
        for world in worlds:
            world.step(DT)
    check_same(batch, worlds, 20)


def test_masses_and_surfaces_may_differ_from_copy_to_copy():
    batch, worlds = scattered(heap, 3)
    many = len(batch.handles())
    rng = np.random.default_rng(0)
    friction, mass = rng.uniform(0.1, 1.0, (3, many)), rng.uniform(1.0, 5.0, (3, many - 1))
    batch.set_friction(friction)
    batch.set_restitution(0.3)
    batch.set_mass(mass, handles=batch.handles()[1:])
    batch.set_gravity_scale([1.0] * (many - 1) + [0.5])
    for k, world in enumerate(worlds):
        world.set_friction(world.handles(), friction[k])
        world.set_restitution(world.handles(), 0.3)
        world.set_mass(world.handles()[1:], mass[k])
        world.set_gravity_scale(world.handles(), [1.0] * (many - 1) + [0.5])
    for _ in range(15):
        batch.step(DT)
        for world in worlds:
            world.step(DT)
    check_same(batch, worlds, 15)
    assert np.array_equal(batch.friction(), friction)
    assert np.array_equal(batch.mass()[:, 1:], mass)
    assert (batch.restitution() == 0.3).all()


def test_sleepers_wake_as_in_a_world_alone():
    """Gravity turned, a pose changed, a motor set and a body pushed, while copies rest."""

    def make() -> thud.World:
        world = walker(sleep_after=0.05)
        world.set_damping(world.handles(), 20.0, 20.0)
        world.bounce_threshold = 5.0
        return world

    batch, worlds = scattered(make, 3)
    rested = 0
    for step in range(3 * STEPS):
        if step == 2 * STEPS:
            batch.gravity = (0.5, 0.0, -9.81)
            for world in worlds:
                world.gravity = np.array([0.5, 0.0, -9.81])
        if step == STEPS + STEPS // 2:
            batch.wake([1])
            worlds[1].wake()
            batch.set_motor(batch.joints()[0], Motor(speed=1.0, force=5.0), copies=[0])
            worlds[0].set_motor(batch.joints()[0], Motor(speed=1.0, force=5.0))
        batch.step(DT)
        for world in worlds:
            world.step(DT)
        rested += int(resting(batch).sum())
        if step % 10 == 9:
            check_same(batch, worlds, step)
    assert rested or SMALL


def test_a_body_that_leaves_the_limits_is_named():
    batch = WorldBatch(heap(), 3)
    far, handle = FARTHEST_POSE * (1.0 - 1e-12), batch.handles()[4]
    batch.set_poses((far, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0), [1], [handle])
    batch.set_velocities((FARTHEST_POSE * 0.1, 0.0, 0.0), None, [1], [handle])
    world = batch.world(1)
    batch.step(DT)
    world.step(DT)
    assert batch.lost.tolist() == [[1, int(handle)]]
    assert np.array_equal(world.lost, [handle])
    assert not same_bytes(world, batch.world(1))


def test_errors_name_argument_copy_and_remedy():
    batch = WorldBatch(walker(), 3)
    bodies = len(batch.handles())
    for make, text in (
        (lambda: WorldBatch(1, 3), "world: expected a World, got a int"),
        (lambda: WorldBatch(walker(), 0), "copies: expected a whole number of at least 1, got 0"),
        (lambda: WorldBatch(walker(), 2, seeds=[1]), "seeds: expected 2 whole numbers"),
        (lambda: WorldBatch(walker(), 2, seeds=[1, -1]), "seeds: row 1 is -1"),
        (lambda: batch.poses([3]), "copies: row 0 is 3; expected numbers from 0 to 2"),
        (lambda: batch.reset([1, 1]), "copies: the same copy is named twice"),
        (lambda: batch.reset([True, False]), r"copies: expected \(3,\) bools"),
        (lambda: batch.world("a"), "k: expected the number of a copy"),
        (lambda: batch.set_poses(np.zeros((2, bodies, 7))), rf"poses: expected shape \(3, {bodies}, 7\)"),
        (lambda: batch.step(0.0), "dt: expected a positive"),
        (lambda: batch.step(0.01, 0), "substeps: expected a whole number of at least 1"),
        (lambda: batch.apply_force((0.0, 0.0, 1.0)), "force: copy 0, body 0: acts on a static or kinematic body"),
        (lambda: batch.set_targets(np.zeros((3, 5))), r"targets: expected shape \(3, 6\)"),
        (lambda: setattr(batch, "contact_hook", 3), "contact_hook: expected a function"),
    ):
        with pytest.raises(InvalidInputError, match=text):
            make()
    poses = batch.poses()
    poses[2, 3, 0] = np.nan
    with pytest.raises(InvalidInputError, match="poses: copy 2, body 3: is not finite"):
        batch.set_poses(poses)
    poses[2, 3] = (0.0, 0.0, 0.0, 2.0, 0.0, 0.0, 0.0)
    with pytest.raises(InvalidInputError, match="copy 2, body 3"):
        batch.set_poses(poses)
    batch.set_motor(batch.joints()[1], None, copies=[2])
    with pytest.raises(InvalidInputError, match="targets: joint 1 of copy 2 has no motor; name the joints that have one"):
        batch.set_targets(0.1)
    for name in ("add", "remove", "add_joint", "set_layer"):
        with pytest.raises(UnsupportedQueryError, match=f"WorldBatch.{name}: all copies have the bodies, joints and rules"):
            getattr(batch, name)
    with pytest.raises(UnsupportedQueryError, match=r"WorldBatch.raycast: ask a copy: batch.world\(k\)"):
        batch.raycast((0, 0, 0), (0, 0, 1))
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = batch.nothing
    hooked = heap()
    hooked.contact_hook = lambda contacts: None
    with pytest.raises(InvalidInputError, match="world: has a contact_hook"):
        WorldBatch(hooked, 2)


def test_targets_of_a_world():
    world = walker()
    world.set_targets(world.joints(), 0.3)
    with pytest.raises(InvalidInputError, match="targets: expected one or 6 rows, got 2"):
        world.set_targets(world.joints(), [0.1, 0.2])
    world.set_motor(world.joints()[2], None)
    with pytest.raises(InvalidInputError, match="targets: row 2 is of a joint without a motor; set_motor first"):
        world.set_targets(world.joints(), 0.3)
    for _ in range(60):
        world.set_targets(world.joints()[0], 0.3)
        world.step(DT)
    assert abs(world.joint_values()[0] - 0.3) < 0.3


def test_the_documentation_runs():
    text = (Path(__file__).parents[3] / "docs" / "world_batch.md").read_text()
    code = text.split("```python\n")[1].split("```")[0]
    names: dict[str, Any] = {}
    exec(code, names)
    assert names["batch"].joint_values().shape == (64, 1)
    assert 0.0 < names["batch"].time.max() < 0.51


def test_the_switch_interval_is_left_as_it_was(monkeypatch):
    monkeypatch.setattr(world_batch, "FEWEST", 1)
    batch = WorldBatch(heap(), 2, threads=2)
    before = sys.getswitchinterval()
    seen = []
    batch.contact_hook = lambda contacts, generators: seen.append(sys.getswitchinterval())
    batch.step(DT)
    assert max(seen) < before
    assert sys.getswitchinterval() == before
    batch.contact_hook = lambda contacts, generators: 1 / 0
    with pytest.raises(ZeroDivisionError):
        batch.step(DT)
    assert sys.getswitchinterval() == before


def test_results_are_tables_as_those_of_a_world_are() -> None:
    # They printed all of their arrays; to pick some contacts ended in an IndexError, as the copies of pairs were taken for a
    # column of points.
    world = thud.World()
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    world.add_many(thud.Box((0.5, 0.5, 0.5)), thud.Pose([[0, 0, 0.499], [3, 0, 0.499]]), mass=1.0)
    batch = WorldBatch(world, 3)
    batch.step(1 / 60)
    found = batch.contacts()
    assert repr(found).startswith("BatchContacts(24 points of 6 pairs, deepest")
    assert repr(batch.step_contacts()).startswith("BatchStepContacts(24 points")
    assert repr(batch.events()).startswith("BatchEvents(")
    own = found[found.copy == 1]
    assert len(own) == 8
    assert own.pair_copy.tolist() == [1, 1]
    assert own.count.tolist() == [4, 4]
    assert {len(column) for column in found.to_dict().values()} == {24}
    assert found[0].copy == 0


@pytest.mark.parametrize("threads", [1, 2])
def test_one_copy_is_put_over_many(threads: int) -> None:
    # A tree of futures begins at one moment; the state of one copy was refused.
    world = heap()
    world.threads = threads
    batch, _ = scattered(lambda: world, 8)
    assert len(batch._crowds) == threads
    for _ in range(10):
        batch.step(DT)
    assert np.ptp(batch.poses(), axis=0).max() > 0.0
    batch.restore(batch.state([3]))
    drawn = {generator.random() for generator in batch.generators}
    assert len(drawn) == 1
    alone = batch.world(3)
    for _ in range(10):
        batch.step(DT)
        alone.step(DT)
    for k in range(8):
        assert not same_bytes(alone, batch.world(k)), k
    batch.restore(batch.state([3]), [])
