"""How fast a row of dominoes falls: ours at 1/60 s, and mujoco at a tenth of that."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import thud
from benchmarks.dynamics_engines import DT
from benchmarks.dynamics_scenes import FRICTION, Floats

_COUNT, _SPACING, _DENSITY = 30, 0.2, 600.0

#: Thickness, width and height.
_SIZE = np.array([0.075, 0.24, 0.48])

#: What the first one is pushed by at its top: metres a second times its mass.
_PUSH = 0.5

#: A domino falls when it leans by this.
_LEANS = np.cos(np.radians(20.0))

#: Those in between which the wave runs evenly.
_EVEN = slice(8, 25)

#: Seconds after which it has stopped on its way.
_LONGEST = 10.0


def _speed(step: Callable[[], tuple[float, Floats]]) -> float:
    """Metres a second, from the time and the cosines of the dominoes' lean after each step."""
    fell, time = np.full(_COUNT, np.nan), 0.0
    while np.isnan(fell).any() and time < _LONGEST:
        time, up = step()
        fell[(up < _LEANS) & np.isnan(fell)] = time
    return (
        float(_SPACING / np.polyfit(np.arange(_COUNT)[_EVEN], fell[_EVEN], 1)[0]) if not np.isnan(fell[_EVEN]).any() else np.nan
    )


def thud_speed(dt: float = DT, substeps: int = 4) -> float:
    """Ours."""
    world = thud.World(threads=1, sleep_after=None)
    world.add(thud.HalfSpace((0, 0, 1)), static=True, friction=FRICTION)
    places = thud.Pose([[_SPACING * k, 0.0, 0.5 * _SIZE[2]] for k in range(_COUNT)])
    row = world.add_many(thud.Box(0.5 * _SIZE), places, friction=FRICTION, density=_DENSITY)
    world.apply_impulse(row[0], (_PUSH * float(world.mass(row[0])[0]), 0.0, 0.0), points=(0.0, 0.0, _SIZE[2]))

    def step() -> tuple[float, Floats]:
        world.step(dt, substeps)
        return world.time, thud.Pose.from_array(world.poses(row)).rotation.reshape(-1, 3, 3)[:, 2, 2]

    return _speed(step)


def mujoco_speed(dt: float = 0.1 * DT) -> float:
    """mujoco with round friction cones and contacts of 5 ms."""
    import mujoco

    half = " ".join(str(0.5 * side) for side in _SIZE)
    geom = f'<geom type="box" size="{half}" density="{_DENSITY}" friction="{FRICTION} 0 0" solref="0.005 1"/>'
    bodies = [f'<body pos="{_SPACING * k} 0 {0.5 * _SIZE[2]}"><freejoint/>{geom}</body>' for k in range(_COUNT)]
    model = mujoco.MjModel.from_xml_string(
        f'<mujoco><option timestep="{dt}" integrator="implicitfast" cone="elliptic" iterations="50"/><worldbody>'
        f'<geom type="plane" size="50 50 1" friction="{FRICTION} 0 0"/>{"".join(bodies)}</worldbody></mujoco>'
    )
    data = mujoco.MjData(model)
    data.qvel[0] = _PUSH
    data.qvel[4] = 0.5 * _SIZE[2] * _PUSH * model.body_mass[1] / model.body_inertia[1, 1]

    def step() -> tuple[float, Floats]:
        mujoco.mj_step(model, data)
        return float(data.time), data.xmat[1:].reshape(-1, 3, 3)[:, 2, 2]

    return _speed(step)
