"""Points and sticks: time of a step over the number of points, beside mujoco's flex.

Cloth hangs by a side, or falls on a moving mesh; both ours meet themselves. mujoco's flex has edges as equality constraints, no
contact of the flex with itself, its fastest integrator and solver settings for that, and steps of 2 ms: a step of ours,
1/60 s, is 8 of its. Nobody is held to a number of cores.
"""

from __future__ import annotations

import math
import time
from typing import Any

import numpy as np

import thud
from benchmarks.harness import Contestant, Report
from benchmarks.peers import installed

#: (points a side, steps a run, rounds)
_SIZES = {
    "ci": ((8, 12), 2, 1),
    "standard": ((10, 18, 32, 56, 100), 5, 5),
    "full": ((10, 18, 32, 56, 100, 178), 10, 9),
}

_DT = 1.0 / 60.0

#: Steps before the clock starts: the falling cloth lies on the mesh.
_BEFORE = 25

#: Of the fall of a sheet: name, first step and end.
_PHASES = (("falling", 0, 5), ("landing", 5, 21), ("folding", 21, 44), ("lying", 44, 89))

_FLEX = """
<mujoco>
  <option timestep="0.002" solver="CG" tolerance="1e-6" integrator="implicitfast"/>
  <worldbody>
    <flexcomp name="cloth" type="grid" count="{side} {side} 1" spacing="{apart} {apart} {apart}" pos="0 0 1" radius="0.001"
      dim="2" mass="{mass}">
      <contact selfcollide="none"/>
      <edge equality="true" damping="0.001"/>
      <pin gridrange="0 0 {last} 0"/>
    </flexcomp>
  </worldbody>
</mujoco>
"""


class Hanging:
    """A sheet that hangs by one side."""

    def __init__(self, side: int, steps: int, method: str, itself: bool) -> None:
        options: dict[str, Any] = {"method": method} if method == "slides" else {}
        pose = thud.Pose([0.0, 0.0, 1.0])
        self.cloth = thud.dynamics.cloth(
            (side, side), 1.0 / (side - 1), pose, pinned=np.arange(side), self_collision=itself, **options
        )
        self.steps = steps

    def run(self) -> None:
        for _ in range(self.steps):
            self.cloth.step(None, _DT)


class Falling:
    """A sheet on a ball of 1,500 triangles that moves and turns, and on the ground."""

    def __init__(self, side: int, steps: int, before: int, threads: int | None = None) -> None:
        self.world, self.steps = thud.World(threads=threads), steps
        self.world.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
        ball = thud.to_mesh(thud.Sphere(0.3), segments=40)
        self.world.add(ball, thud.Pose([0, 0, 0.4]), kinematic=True, velocity=(0.2, 0, 0), angular_velocity=(0, 0, 0.5))
        self.cloth = thud.dynamics.cloth(
            (side, side), 1.5 / (side - 1), thud.Pose([0, 0, 0.75]), substeps=4, damping=0.5, threads=threads
        )
        for _ in range(before):
            self.step()

    def step(self) -> float:
        """Processor time of the cloth's part, seconds."""
        self.world.step(_DT)
        begin = time.process_time()
        self.cloth.step(self.world, _DT)
        return time.process_time() - begin

    def run(self) -> None:
        for _ in range(self.steps):
            self.step()


def phases(side: int) -> str:
    """Median processor time of a step of one thread, in the phases of the fall."""
    fall = Falling(side, 0, 1, threads=1)
    spent = [1e3 * fall.step() for _ in range(_PHASES[-1][2])]
    parts = [f"{name} {np.median(spent[first:last]):.0f} ms" for name, first, last in _PHASES]
    return f"{side * side} points, one thread: " + ", ".join(parts)


class Flex:
    """mujoco's cloth, hanging by one side."""

    def __init__(self, side: int, steps: int) -> None:
        import mujoco

        apart = 1.0 / (side - 1)
        text = _FLEX.format(side=side, apart=apart, mass=0.3, last=side - 1)
        self.model = mujoco.MjModel.from_xml_string(text)
        self.data, self.mujoco, self.steps = mujoco.MjData(self.model), mujoco, steps
        self.parts = round(_DT / 0.002)

    def run(self) -> None:
        for _ in range(self.steps * self.parts):
            self.mujoco.mj_step(self.model, self.data)


def run(size: str) -> None:
    sides, steps, rounds = _SIZES[size]
    report = Report("sticks")
    counts = [side * side for side in sides]

    def hanging(count: int) -> list[Contestant]:
        side = math.isqrt(count)
        found = [
            Contestant("thud xpbd", Hanging(side, steps, "xpbd", True).run, steps),
            Contestant("thud xpbd, not itself", Hanging(side, steps, "xpbd", False).run, steps),
            Contestant("thud slides", Hanging(side, steps, "slides", True).run, steps),
        ]
        # mujoco's constraint matrix grows with the square: beyond a few thousand points a step takes minutes.
        if installed("mujoco") and side <= 32:
            found.append(Contestant("mujoco flex", Flex(side, steps).run, steps))
        return found

    def falling(count: int) -> list[Contestant]:
        return [Contestant("thud xpbd", Falling(math.isqrt(count), steps, _BEFORE if count > 144 else 2).run, steps)]

    report.growth("hanging cloth", "a step of 1/60 s", "points", "thud xpbd", counts, hanging, rounds)
    report.growth("cloth on a moving mesh", "a step of 1/60 s", "points", "thud xpbd", counts, falling, rounds)
    report.note("cloth on a moving mesh", "processor time of a step", phases(sides[-1]))
    report.save()
