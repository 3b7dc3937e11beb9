"""Contacts that follow their bodies in a step: beside those of a fresh world, and in worlds that are saved."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.meshes import box_mesh
from thud.errors import InvalidInputError

BOX = thud.Box((0.5, 0.4, 0.3))


def stack(shapes: list[thud.Shape], height: float) -> tuple[thud.World, np.ndarray]:
    """One on the other, a little turned, on flat ground."""
    world = thud.World(sleep_after=None, threads=1)
    world.add(thud.HalfSpace((0.0, 0.0, 1.0)), static=True)
    rows = []
    for k, shape in enumerate(shapes):
        pose = thud.Pose.from_rotation_vector((0.02 * k, 0.0, height * (k + 0.5)), (0.0, 0.0, 0.1 * k))
        rows.append(world.add(shape, pose))
    return world, np.array(rows)


STACKS = {
    "boxes": ([BOX] * 4, 0.6),
    "meshes": ([thud.TriangleMesh(*box_mesh(0.3))] * 3, 0.6),
    "compounds": ([thud.Compound([BOX])] * 3, 0.6),
}


@pytest.mark.parametrize("name", STACKS)
def test_calm_pairs_are_not_found_anew(name: str) -> None:
    world, _ = stack(*STACKS[name])
    # Four boxes sway for as many seconds.
    for _ in range(300):
        world.step(1 / 60)
    tested = 0
    for _ in range(30):
        world.step(1 / 60)
        tested += world.stats.narrow_tested
        assert world.stats.kept_pairs >= len(STACKS[name][0])
    assert tested <= 5


@pytest.mark.parametrize("name", STACKS)
def test_followed_contacts_are_those_of_a_fresh_world(name: str) -> None:
    """While the stack is pushed slowly: to the square of what it moved by since they were found."""
    world, handles = stack(*STACKS[name])
    for _ in range(60):
        world.step(1 / 60)
    followed = 0
    for _ in range(40):
        world.set_velocities(handles[-1:], [[2e-3, 1e-3, 0.0]], [[0.0, 0.0, 4e-3]])
        poses = world.poses(handles)
        world.step(1 / 60)
        followed += world.stats.kept_pairs
        found = world.step_contacts()
        fresh = thud.World(threads=1)
        fresh.add(thud.HalfSpace((0.0, 0.0, 1.0)), static=True)
        for shape, row in zip(STACKS[name][0], poses, strict=True):
            fresh.add(shape, row)
        exact = fresh.contacts(margin=0.02)
        assert len(found.depth)
        for k in range(len(found.depth)):
            pair = (exact.handle_a & 0xFFFFFFFF == found.handle_a[k] & 0xFFFFFFFF) & (
                exact.handle_b & 0xFFFFFFFF == found.handle_b[k] & 0xFFFFFFFF
            )
            assert pair.any()
            # Two flat sides: the depth is linear over the patch.
            plane = np.column_stack([exact.point[pair, :2], np.ones(pair.sum())])
            there = np.append(found.point[k, :2], 1.0) @ np.linalg.lstsq(plane, exact.depth[pair], rcond=None)[0]
            assert abs(there - found.depth[k]) < 5e-7
            assert exact.normal[pair][0] @ found.normal[k] > 1.0 - 1e-6
            mid = np.append(found.point[k, :2], 1.0) @ np.linalg.lstsq(plane, exact.point[pair, 2], rcond=None)[0]
            assert abs(mid - found.point[k, 2]) < 5e-7
    assert followed > 0


def test_contacts_after_a_step_are_exact() -> None:
    """What a step follows is no answer to who asks for contacts."""
    world, _ = stack(*STACKS["boxes"])
    for _ in range(100):
        world.step(1 / 60)
    assert world.stats.kept_pairs
    state = world.state()
    state["options"]["caches"] = False
    fresh = thud.World.from_state(state)
    for margin in (0.0, 0.01):
        mine, theirs = world.contacts(margin=margin), fresh.contacts(margin=margin)
        for name in ("point", "normal", "depth", "feature"):
            np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name))


@pytest.mark.parametrize("name", STACKS)
def test_a_saved_world_follows_on(name: str) -> None:
    world, handles = stack(*STACKS[name])
    for _ in range(90):
        world.step(1 / 60)
    world.set_velocities(handles[-1:], [[1e-3, 0.0, 0.0]], [[0.0, 0.0, 1e-3]])
    again = thud.World.from_state(world.state())
    for _ in range(20):
        world.step(1 / 60)
        again.step(1 / 60)
        assert world.stats.kept_pairs == again.stats.kept_pairs
        assert world.poses().tobytes() == again.poses().tobytes()
    # Saving changes nothing, and a state of the restored world is the same again.
    assert world.state()["record_frames"].tobytes() == again.state()["record_frames"].tobytes()


def _put(name: str, change: object) -> object:
    def apply(state: dict[str, np.ndarray]) -> None:
        array = state[name].copy()
        change(array)  # type: ignore[operator]
        state[name] = array

    return apply


HOSTILE = {
    "a row that is not there": _put("record_rows", lambda a: a.__setitem__((0, 1), 10**6)),
    "a negative row": _put("record_rows", lambda a: a.__setitem__((0, 0), -1)),
    "one body twice": _put("record_rows", lambda a: a.__setitem__((0, 0), a[0, 1])),
    "not sorted": _put("record_rows", lambda a: a.__setitem__(slice(None), a[::-1].copy())),
    "more points than there is room for": _put("record_counts", lambda a: a.__setitem__(0, 5)),
    "no points": _put("record_counts", lambda a: a.__setitem__(0, 0)),
    "found elsewhere": _put("record_elsewhere", lambda a: a.__setitem__(0, True)),
    "no number": _put("record_frames", lambda a: a.__setitem__((0, 3), np.nan)),
    "no rotation": _put("record_frames", lambda a: a.__setitem__((0, 3), 2.0)),
    "a negative margin": _put("record_frames", lambda a: a.__setitem__((0, -1), -1.0)),
    "a status that is none": _put("record_status", lambda a: a.__setitem__(0, 9)),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_records_are_refused(what: str) -> None:
    world, _ = stack(*STACKS["boxes"])
    for _ in range(30):
        world.step(1 / 60)
    state = world.state()
    assert len(state["record_rows"]) == 4
    HOSTILE[what](state)  # type: ignore[operator]
    with pytest.raises(InvalidInputError, match="record_"):
        thud.World.from_state(state)
