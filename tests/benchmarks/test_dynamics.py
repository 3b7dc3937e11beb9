"""Scenes and engines of the benchmark of rigid bodies are what they say. No time is asserted."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import thud
from benchmarks import bench_dynamics, harness
from benchmarks.dynamics_engines import DT, Bullet, Engine, Mujoco, Rapier, Thud
from benchmarks.dynamics_scenes import SCENES
from benchmarks.results_file import read

ENGINES: list[type[Engine]] = [Thud, Rapier, Bullet, Mujoco]


@pytest.fixture(params=ENGINES, ids=lambda engine: engine.name)
def engine(request: pytest.FixtureRequest) -> type[Engine]:
    found: type[Engine] = request.param
    if found is not Thud:
        pytest.importorskip(found.name)
    return found


@pytest.mark.parametrize("name", SCENES)
def test_scene_begins_without_overlap(name: str) -> None:
    scene = SCENES[name](12)
    assert scene.penetrations(scene.poses).max(initial=0.0) < 1e-12
    assert scene.gaps(scene.poses).max(initial=0.0) < 1e-12
    centers = [thud.mass_properties(shape, 1.0).center_of_mass for shape in scene.shapes]
    np.testing.assert_allclose(centers, 0.0, atol=1e-12)


def test_parts_of_a_ring_fill_it() -> None:
    scene = SCENES["rings"](1)
    parts = sum(thud.mass_properties(thud.ConvexHull(part), 1.0).mass for part in scene.parts[0])
    assert parts == pytest.approx(thud.mass_properties(scene.shapes[0], 1.0).mass, rel=1e-12)


def test_judge_sees_how_deep_bodies_are() -> None:
    scene = SCENES["wall"](2)
    poses = scene.poses.copy()
    poses[:, 2] -= [0.003, 0.01]
    depths = np.sort(scene.penetrations(poses))
    np.testing.assert_allclose(depths[[0, -1]], [0.003, 0.007], atol=1e-9)


@pytest.mark.parametrize("name", SCENES)
def test_engine_holds_the_scene(engine: type[Engine], name: str) -> None:
    """Bodies are where the scene says and fall as far as they should; joints hold; a copy goes on from there."""
    # Two layers: the last body falls freely.
    scene = SCENES[name](8)
    made = engine(scene)
    np.testing.assert_allclose(made.poses()[:, :3], scene.poses[:, :3], atol=1e-5)
    turns = np.abs((made.poses()[:, 3:] * scene.poses[:, 3:]).sum(axis=1))
    np.testing.assert_allclose(turns, 1.0, atol=1e-5)
    made.steps(4)
    fallen = scene.poses[-1, 2] - made.poses()[-1, 2]
    if not scene.stands:
        # Of the schemes of integration: g t^2 / 2 within half a step.
        assert 0.5 * 9.81 * (3.5 * DT) ** 2 < fallen < 0.5 * 9.81 * (5.0 * DT) ** 2
    assert scene.gaps(made.poses()).max(initial=0.0) < 0.01
    other = made.again(made.ladder[-1])
    np.testing.assert_allclose(other.poses()[:, :3], made.poses()[:, :3], atol=1e-5)
    before = other.poses()[-1, 2]
    other.steps(2)
    assert scene.stands or other.poses()[-1, 2] < before
    assert not other.wrecked()
    for one in (made, other):
        one.close()


def test_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(harness, "RESULTS", tmp_path)
    monkeypatch.setattr(bench_dynamics, "engines", lambda: [Thud])
    bench_dynamics.run("ci")
    rows, _ = read((tmp_path / "dynamics.csv").read_text())
    assert {row.engine for row in rows} >= {"thud", "thud, asleep", "thud, threads=2"}
    assert any(row.note.startswith("thud at 1/60 s") for row in rows)
