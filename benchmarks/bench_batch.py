"""Many copies of one world: `WorldBatch` beside `mujoco.rollout` and loops over worlds, ours and rapier3d's.

Two scenes, ten boxes in a bin and a walker with six driven hinges, over the number of copies. Steps of 1/60 s of four
sub-steps: mujoco takes four steps, and in a row of its own one; rapier3d has four iterations. Nothing sleeps. First all on one
thread, then ours and mujoco's on one and on two.
"""

from __future__ import annotations

from typing import Any

from benchmarks.batch_scenes import SUBSTEPS, Loop, Ours, RapierLoop, Rollouts
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import installed

#: (copies, copies of the loops at most, steps before the clock starts, steps a run, rounds)
_SIZES = {
    "ci": ((1, 4), 4, 3, 2, 1),
    "standard": ((1, 16, 256, 1024), 256, 60, 10, 5),
    "full": ((1, 4, 16, 64, 256, 1024, 4096), 256, 120, 20, 9),
}

_SCENES = {"boxes": "10 boxes in a bin", "walker": "a walker of 7 bodies and 6 hinges"}

_QUERY = "a step of all copies"


def run(size: str) -> None:
    """Both scenes."""
    sizes, loops, before, steps, rounds = _SIZES[size]
    report = Report("batch")

    def contestant(name: str, made: Any) -> Contestant:
        made.run(before)
        return Contestant(name, lambda: made.run(steps), steps)

    for scene, title in _SCENES.items():

        def one_thread(copies: int, scene: str = scene) -> list[Contestant]:
            found = [contestant("thud", Ours(scene, copies, 1))]
            if copies <= min(loops, 16):
                found.append(contestant("thud, a loop over worlds", Loop(scene, copies, 1)))
            if installed("mujoco"):
                found.append(contestant("mujoco.rollout, 4 steps", Rollouts(scene, copies, 1, SUBSTEPS)))
                found.append(contestant("mujoco.rollout, 1 step", Rollouts(scene, copies, 1, 1)))
            if installed("rapier3d") and copies <= loops:
                found.append(contestant("rapier3d, a loop", RapierLoop(scene, copies)))
            return found

        def two_threads(copies: int, scene: str = scene) -> list[Contestant]:
            found = [contestant(f"thud, {many} threads", Ours(scene, copies, many)) for many in (1, 2)]
            if installed("mujoco"):
                found += [
                    contestant(f"mujoco.rollout, 4 steps, {many} threads", Rollouts(scene, copies, many, SUBSTEPS))
                    for many in (1, 2)
                ]
            return found

        with one_core():
            report.growth(title, _QUERY, "copies", "thud", sizes, one_thread, rounds, warm=False)
        _rates(report, title)
        many = [copies for copies in sizes if copies >= 16] or [max(sizes)]
        for copies in many:
            runs = two_threads(copies)
            report.race(f"{title}, {copies:,} copies", "threads", "thud, 1 threads", runs, rounds, warm=False)
    report.save()


def _rates(report: Report, title: str) -> None:
    """World-steps a second of all rows of a scene."""
    for row in [row for row in report.rows if row.scene == title and row.engine and row.member.isdigit()]:
        rate = int(row.member) / row.microseconds * 1e6
        report.note(title, _QUERY, f"{row.engine}: {rate:,.0f} world-steps a second over {int(row.member):,} copies")
