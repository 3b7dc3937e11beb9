"""The two scenes under hail: first order, removed at impact, a steady storm that reaches what it should."""

from __future__ import annotations

import numpy as np
import pytest

from thud.errors import InvalidInputError
from thud.particles import ParticleSystem, scenes
from thud.results import ParticleState


@pytest.mark.parametrize("name", ["house", "can"])
def test_a_steady_storm(name: str) -> None:
    scene = scenes.SCENES[name]()
    hail = scene.hail(400, seed=5)
    impacts = hail.impacts(scene.colliders, 0.0, 3.0)
    # First order, removed at impact.
    assert (impacts.bounce == 0).all()
    assert (hail._acceleration == 0.0).all()
    # Each stone ends on something within its life, or beside the field: as many impacts as births, give or take one each.
    births = 400 * 3.0 / hail._lifetime[0]
    assert abs(len(impacts) - births) < 400
    halves = np.histogram(impacts.time, 3, (0.0, 3.0))[0]
    assert halves.min() > 0.8 * halves.max()
    assert (hail.states(1.0, scene.colliders).state != ParticleState.UNBORN).all()


@pytest.mark.parametrize(
    ("name", "things"), [("house", ["house roof", "gazebo roof", "table top"]), ("can", ["lid", "table top"])]
)
def test_hail_hits_roofs_tables_and_the_can(name: str, things: list[str]) -> None:
    scene = scenes.SCENES[name]()
    impacts = scene.hail(2000).impacts(scene.colliders, 0.0, 2.0)
    hit = {scene.names[k] for k in np.unique(impacts.collider)}
    assert set(things) <= hit
    shown = [thing for thing in scene.things if thing.shown]
    assert set(things) <= {thing.name for thing in shown}
    for thing in shown:
        assert thing.collider.material is not None


def test_nothing_falls_through_the_ground_or_stands_under_a_roof() -> None:
    scene = scenes.house()
    impacts = scene.hail(3000).impacts(scene.colliders, 0.0, 2.0)
    assert impacts.point[:, 2].min() > -0.01
    lawn = impacts.point[impacts.collider == scene.names.index("lawn")]
    inside = (lawn[:, 0] > -7.0) & (lawn[:, 0] < -1.0) & (lawn[:, 1] > -1.2) & (lawn[:, 1] < 3.8)
    assert not inside.any()


@pytest.mark.parametrize("particles", [0, -1, 2.5, True])
def test_a_number_of_stones_that_is_none(particles: object) -> None:
    with pytest.raises(InvalidInputError, match="particles"):
        scenes.can().hail(particles)  # type: ignore[arg-type]


def test_the_seed_decides() -> None:
    scene = scenes.can()
    one, same, other = (scene.hail(50, seed=seed).impacts(scene.colliders, 0.0, 1.0) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.time, same.time)
    assert not np.array_equal(one.time[:20], other.time[:20])
    assert isinstance(scene.hail(), ParticleSystem)
    assert len(scene.hail()) == scene.particles
