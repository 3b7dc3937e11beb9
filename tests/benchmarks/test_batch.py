"""The benchmark of batches: its engines do the same scene."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import bench_batch, harness
from benchmarks.batch_scenes import TRUNK_HEIGHT, Loop, Ours, RapierLoop, Rollouts


def test_walkers_of_all_engines_weigh_and_stand_alike() -> None:
    pytest.importorskip("mujoco")
    pytest.importorskip("rapier3d")
    ours, rollouts = Ours("walker", 2, 1), Rollouts("walker", 2, 1, 4)
    mass = ours.batch.world(0)
    mass.step(1e-6)
    assert rollouts.model.body_mass.sum() == pytest.approx(float(np.nansum(mass.mass())), rel=1e-3)
    peer = RapierLoop("walker", 2)
    for engine in (ours, rollouts, peer):
        engine.run(12)
    heights = [ours.poses()[:, 1, 2], rollouts.state[:, 3], _trunks(peer)]
    # They begin to fall in the same way.
    for found in heights:
        assert np.abs(found - heights[0]).max() < 0.03
        assert (found < TRUNK_HEIGHT + 0.02).all()


def _trunks(peer: RapierLoop) -> np.ndarray:
    pairs = zip(peer.worlds, peer.trunks, strict=True)
    return np.array([world.rigid_bodies[trunk].position.translation.z for world, trunk in pairs])


def test_a_loop_is_the_batch() -> None:
    ours, loop = Ours("boxes", 2, 1), Loop("boxes", 2, 1)
    ours.run(3)
    loop.run(3)
    assert np.array_equal(ours.poses(), np.stack([world.poses() for world in loop.worlds]))


def test_the_smallest_size_runs(monkeypatch, tmp_path) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    bench_batch.run("ci")
    assert (tmp_path / "batch.csv").is_file()
    assert len(list(tmp_path.glob("*.png"))) == 2
