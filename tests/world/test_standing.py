"""What stands by friction stands, and what falls falls as fast as it should."""

from __future__ import annotations

import math
import os

import mujoco
import numpy as np
import pytest

import thud
from tests.world.standing import DT, SCENES, stand

SMALL = os.environ.get("THUD_TEST_SIZE") == "small"

#: How far what stands may move, metres: the pyramid closes gaps of 2 cm between its boxes.
MOVED = {"stack": 0.005, "pyramid": 0.15, "card house": 0.02, "arch": 0.02}


@pytest.mark.parametrize("name", list(SCENES))
def test_it_stands(name: str) -> None:
    moved, fallen, depth = stand(name, 10.0 if SMALL else 15.0)
    assert moved < MOVED[name]
    assert fallen < 0.01
    assert depth < 0.003


def test_a_card_house_on_ice_falls() -> None:
    world, cards = SCENES["card house"]()
    world.set_friction(world.handles(), 0.05)
    for _ in range(300):
        world.step(DT)
    assert world.poses(cards)[:, 2].max() < 2.0


COUNT, HIGH, WIDE, THICK, APART = 24, 0.48, 0.24, 0.075, 0.2
LEAN = math.cos(math.radians(20.0))


def domino_speed(times: np.ndarray) -> float:
    """m/s, by a line through the times at which dominoes in the middle of the row lean by 20 degrees."""
    chosen = np.arange(8, COUNT - 4)
    return APART / float(np.polyfit(chosen, times[chosen], 1)[0])


def test_dominoes_fall_as_fast_as_in_mujoco_at_a_tenth_of_the_step() -> None:
    world = thud.World(sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1)), static=True, friction=0.5)
    at = [[APART * k, 0, 0.5 * HIGH] for k in range(COUNT)]
    row = world.add_many(thud.Box((0.5 * THICK, 0.5 * WIDE, 0.5 * HIGH)), thud.Pose(at), friction=0.5, density=600.0)
    mass = float(world.mass(row[0])[0])
    world.apply_impulse(row[0], (0.5 * mass, 0, 0), points=(0, 0, HIGH))
    ours = np.full(COUNT, np.nan)
    while np.isnan(ours).any() and world.time < 5.0:
        world.step(DT)
        up = thud.Pose.from_array(world.poses(row)).rotation.reshape(-1, 3, 3)[:, 2, 2]
        ours[(up < LEAN) & np.isnan(ours)] = world.time
    geom = '<geom type="box" size="{} {} {}" density="600" friction="0.5 0 0" solref="0.005 1"/>'
    body = f'<body pos="{{}} 0 {{}}"><freejoint/>{geom}</body>'
    bodies = "".join(body.format(APART * k, 0.5 * HIGH, 0.5 * THICK, 0.5 * WIDE, 0.5 * HIGH) for k in range(COUNT))
    option = f'<option timestep="{0.1 * DT}" integrator="implicitfast" cone="elliptic"/>'
    floor = '<geom type="plane" size="50 50 1" friction="0.5 0 0"/>'
    model = mujoco.MjModel.from_xml_string(f"<mujoco>{option}<worldbody>{floor}{bodies}</worldbody></mujoco>")
    data = mujoco.MjData(model)
    data.qvel[:3] = (0.5, 0, 0)
    data.qvel[3:6] = np.cross([0, 0, 0.5 * HIGH], [0.5 * mass, 0, 0]) / model.body_inertia[1]
    theirs = np.full(COUNT, np.nan)
    while np.isnan(theirs).any() and data.time < 5.0:
        mujoco.mj_step(model, data)
        up = data.xmat[1:].reshape(-1, 3, 3)[:, 2, 2]
        theirs[(up < LEAN) & np.isnan(theirs)] = data.time
    assert domino_speed(ours) == pytest.approx(domino_speed(theirs), rel=0.1)


@pytest.mark.parametrize("ratio", [100.0, 1000.0])
def test_much_on_little_sinks_by_less_than_a_twentieth(ratio: float) -> None:
    world = thud.World(sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1)), static=True)
    small = world.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose([0, 0, 0.5]), mass=1.0)
    large = world.add(thud.Box((0.5, 0.5, 0.5)), thud.Pose([0, 0, 1.5]), mass=ratio)
    for _ in range(round((2.0 if SMALL else 20.0) / DT)):
        world.step(DT, substeps=16)
        z = world.poses([small, large])[:, 2]
        assert z[1] - z[0] > 0.95
        assert z[0] > 0.45
