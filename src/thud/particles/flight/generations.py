"""Which generations of particles a window has."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from thud._core.arrays import Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.particles.flight.motion import generation_rows
from thud.particles.tolerances import MOST_WINDOW_GENERATIONS

if TYPE_CHECKING:
    from thud.particles.flight.system import ParticleSystem


def living_generations(
    system: ParticleSystem, t0: float, t1: float, threads: int | None, *, alike: bool = False
) -> tuple[Ints, Ints]:
    """The first generation of each particle that lives in [t0, t1), and how many do; with `alike` one row for all where all
    have the same birth and lifetime."""
    rows = 1 if alike and len(system._birth) == len(system._lifetime) == 1 else system.count
    first, count = np.empty(rows, np.int64), np.empty(rows, np.int64)
    run_rows(generation_rows, rows, threads, system._birth, system._lifetime, t0, t1, system._generations, first, count)
    lives = float(count.sum(dtype=np.float64)) * (system.count // rows)
    if lives > MOST_WINDOW_GENERATIONS:
        raise InvalidInputError(
            f"lifetime: {lives:.3g} generations live in [{t0:g}, {t1:g}) s; expected at most {MOST_WINDOW_GENERATIONS}: ask "
            "for shorter windows, or let particles live longer"
        )
    return first, count
