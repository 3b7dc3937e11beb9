"""Adding, removing and moving bodies in any order keeps a world right: a state machine against a list of bodies."""

from __future__ import annotations

from dataclasses import fields

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

import thud
from tests.oracles.boxes import overlapping_pairs
from tests.world.model import Body, Model, random_pose, some_shapes
from thud.broadphase.choose import METHODS
from thud.errors import StaleHandleError

SHAPES = some_shapes()


class WorldMachine(RuleBasedStateMachine):
    """Two worlds, with and without caches, and the model."""

    handles = Bundle("handles")
    method = "auto"

    def __init__(self) -> None:
        super().__init__()
        self.world = thud.World(self.method)
        self.plain = thud.World("brute", "none", caches=False, threads=1)
        self.model = Model()
        self.gone: list[int] = []
        self.fresh = False
        self.touched: set[tuple[int, int]] = set()

    @rule(target=handles, kind=st.integers(0, len(SHAPES) - 1), seed=st.integers(0, 2**30), layer=st.integers(0, 2),
          mask=st.sampled_from([~0, 0b101, 0b11]), static=st.booleans())  # fmt: skip
    def add(self, kind: int, seed: int, layer: int, mask: int, static: bool) -> int:
        pose = random_pose(np.random.default_rng(seed), 1.5)
        options = {"layer": layer, "mask": mask, "static": static}
        handle = self.world.add(SHAPES[kind], pose, **options)
        assert self.plain.add(SHAPES[kind], pose, **options) == handle
        assert handle not in self.model.bodies
        assert handle not in self.gone
        self.model.bodies[handle] = Body(SHAPES[kind], pose, layer, mask, static)
        self.fresh = True
        return handle

    @rule(handle=consumes(handles))
    def remove(self, handle: int) -> None:
        self.world.remove(handle)
        self.plain.remove(handle)
        del self.model.bodies[handle]
        self.gone.append(handle)
        self.fresh = True

    @rule(handle=handles, seed=st.integers(0, 2**30), step=st.sampled_from([0.001, 0.05, 2.0]))
    def move(self, handle: int, seed: int, step: float) -> None:
        rng = np.random.default_rng(seed)
        pose = self.model.bodies[handle].pose.copy()
        pose[:3] += rng.normal(size=3) * step
        turned = pose[3:] + rng.normal(size=4) * step * 0.3
        pose[3:] = turned / np.linalg.norm(turned)
        for world in (self.world, self.plain):
            world.set_poses([handle], pose)
        self.model.bodies[handle].pose = pose
        self.fresh = True

    @rule(handle=handles, kind=st.integers(0, len(SHAPES) - 1))
    def reshape(self, handle: int, kind: int) -> None:
        for world in (self.world, self.plain):
            world.set_shape(handle, SHAPES[kind])
        self.model.bodies[handle].shape = SHAPES[kind]
        self.fresh = True

    @precondition(lambda self: self.gone)
    @rule(data=st.data())
    def stale_handles_are_refused(self, data: st.DataObject) -> None:
        with pytest.raises(StaleHandleError, match="removed"):
            self.world.set_poses(data.draw(st.sampled_from(self.gone)), None)

    @invariant()
    def agrees(self) -> None:
        if not self.fresh:
            return
        self.fresh = False
        assert len(self.world) == len(self.model.bodies)
        assert sorted(self.world.handles().tolist()) == sorted(self.model.bodies)
        found = self.world.intersecting()
        assert [tuple(pair) for pair in found.tolist()] == self.model.intersecting()
        np.testing.assert_array_equal(found, self.plain.intersecting())
        pairs = self.world.pairs()
        np.testing.assert_array_equal(pairs, self.plain.pairs())
        handles = self.world.handles()
        lower, upper = self.world.bounds(handles)
        wanted = overlapping_pairs(np.concatenate([lower, upper], axis=1), np.empty((0, 3), np.uint64))
        allowed = set(self.model.allowed())
        expected = [pair for pair in map(tuple, handles[wanted].tolist()) if pair in allowed]
        assert [tuple(pair) for pair in self.world.handle_of(pairs).tolist()] == expected
        touching, alone = self.world.contacts(), self.plain.contacts()
        for field in fields(touching):
            assert getattr(touching, field.name).tobytes() == getattr(alone, field.name).tobytes(), field.name
        # Two half-spaces overlap without end, and have no points.
        endless = {handle for handle, body in self.model.bodies.items() if isinstance(body.shape, thud.HalfSpace)}
        expected = [pair for pair in found.tolist() if not set(pair) <= endless]
        assert touching.pairs.tolist() == expected
        events = self.world.events()
        now = {tuple(pair) for pair in expected}
        for kind, pairs in ((0, now - self.touched), (1, now & self.touched), (2, self.touched - now)):
            which = events.kind == kind
            assert set(zip(events.handle_a[which].tolist(), events.handle_b[which].tolist(), strict=True)) == pairs
        self.touched = now


@pytest.mark.parametrize("method", METHODS)
def test_a_world_is_its_model(method: str) -> None:
    from hypothesis.stateful import run_state_machine_as_test

    class Machine(WorldMachine):
        pass

    Machine.method = method
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=6, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True
        ),
    )
