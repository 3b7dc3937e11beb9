"""`World.step` beside rapier3d, pybullet and mujoco: heaps, a wall, rag dolls. One thread, equal step and friction.

Nothing sleeps. Each engine lets its own copy of a scene settle, then goes on. One race has all at their defaults. Another has
each at the first setting of its ladder that keeps the mean penetration at rest below 1 mm; it starts from the settled scene, or
from its begin if the defaults burst it or let it fall. Penetrations of all engines are those that `World.contacts` finds at
their poses. Engines without moving concave meshes get their convex parts, which are exact.

Then ours on two threads, ours asleep, steps over the number of boxes, and how fast dominoes fall."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import thud
from benchmarks.dynamics_dominoes import mujoco_speed, thud_speed
from benchmarks.dynamics_engines import DT, Engine, Setting, Thud, engines
from benchmarks.dynamics_scenes import SCENES, Floats, Scene
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import installed


@dataclass
class _Size:
    boxes: list[int]
    """Heaps for the growth; `judged` of them also run the ladders."""
    judged: list[int]
    others: dict[str, int]
    settle: int
    """Steps of a scene before it counts as settled."""
    calm: int
    """Steps after a change of the setting."""
    steps: int
    """In a round, of 600 bodies; fewer of more."""
    rounds: int


_SIZES = {
    "ci": _Size([8, 16], [8], {"hulls": 6, "capsules": 6, "rings": 3, "wall": 8, "dolls": 2}, 10, 3, 2, 1),
    "standard": _Size(
        [100, 250, 600, 4_000], [600, 4_000],
        {"hulls": 600, "capsules": 600, "rings": 60, "wall": 1_000, "dolls": 100}, 300, 120, 30, 3,
    ),
    "full": _Size(
        [100, 250, 600, 1_500, 4_000, 10_000], [600, 4_000],
        {"hulls": 600, "capsules": 600, "rings": 200, "wall": 1_000, "dolls": 100}, 600, 240, 60, 7,
    ),
}  # fmt: skip

#: Mean penetration at rest that the second race allows, metres.
_ALLOWED = 0.001

_DEFAULTS, _CHEAPEST = "a step, defaults", "a step, mean penetration below 1 mm"

_REFERENCE = "rapier3d"

#: Steps that a heap is given to fall asleep.
_DOZE = 1_200


def run(size: str) -> None:
    """All scenes."""
    plan, report = _SIZES[size], Report("dynamics")
    heaps: dict[int, Thud] = {}
    rungs: dict[str, int] = {}
    with one_core():
        for count in plan.boxes:
            heaps[count] = _scene(report, plan, SCENES["boxes"](count), rungs if count in plan.judged else None)
        for name, count in plan.others.items():
            _scene(report, plan, SCENES[name](count), {})
        _growth(report, plan.boxes)
        _asleep(report, plan, heaps[plan.judged[0]])
        _dominoes(report)
    _threads(report, plan, heaps[plan.judged[-1]])
    report.save()


def _scene(report: Report, plan: _Size, scene: Scene, rungs: dict[str, int] | None) -> Thud:
    """Both races of a scene, the second with `rungs` only: where each engine's ladder begins, and where it ended. Returns ours,
    settled."""
    print(f"\n{scene.name}: {plan.settle} steps to settle", flush=True)
    made = [engine(scene) for engine in engines()]
    for engine in made:
        engine.steps(plan.settle)
    sound = [engine for engine in made if not engine.wrecked()]
    _race(report, plan, scene, _DEFAULTS, sound)
    for engine in made:
        text = _judged(engine, scene) if engine in sound else "left out, the scene bursts"
        report.note(scene.name, _DEFAULTS, f"{engine.name}, {_words(engine.setting)}: {text}")
    if rungs is not None:
        good = [found for engine in made if (found := _cheapest(report, plan, scene, engine, rungs)) is not None]
        _race(report, plan, scene, _CHEAPEST, good)
        made += [engine for engine in good if engine not in made]
    for engine in made:
        engine.close()
    ours = made[0]
    assert isinstance(ours, Thud)
    return ours


def _cheapest(report: Report, plan: _Size, scene: Scene, start: Engine, rungs: dict[str, int]) -> Engine | None:
    """The first of an engine's ladder that rests as shallow as asked, and stands if it should."""
    burst = start.wrecked() or scene.fell(start.poses())
    for rung in range(rungs.get(start.name, 0), len(start.ladder)):
        setting = start.ladder[rung]
        if setting == start.setting:
            made = start
        else:
            made = type(start)(scene, setting) if burst else start.again(setting)
            made.steps(plan.settle if burst else plan.calm)
        poses = made.poses()
        if not made.wrecked() and not scene.fell(poses) and _mean(scene.penetrations(poses)) < _ALLOWED:
            rungs[start.name] = rung
            report.note(scene.name, _CHEAPEST, f"{start.name}, {_words(setting)}: {_judged(made, scene)}")
            return made
        if made is not start:
            made.close()
    rungs[start.name] = len(start.ladder)
    report.note(scene.name, _CHEAPEST, f"{start.name}: left out, none of its settings rests so")
    return None


def _race(report: Report, plan: _Size, scene: Scene, query: str, found: list[Engine]) -> None:
    steps = min(plan.steps, max(5, plan.steps * 600 // len(scene.poses)))
    runs = [Contestant(engine.name, lambda engine=engine: engine.steps(steps), steps) for engine in found]  # type: ignore[misc]
    names = [engine.name for engine in found]
    report.race(scene.name, query, _REFERENCE if _REFERENCE in names else "thud", runs, plan.rounds, warm=False)


def _words(setting: Setting) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.items())


def _mean(depths: Floats) -> float:
    return float(depths.mean()) if len(depths) else 0.0


def _judged(engine: Engine, scene: Scene) -> str:
    """How deep and how still a scene rests; how far joints gape, and bricks have moved."""
    poses = engine.poses()
    depths = scene.penetrations(poses)
    mean, largest = 1e3 * _mean(depths), 1e3 * depths.max(initial=0.0)
    text = f"penetration mean {mean:.2f} mm, largest {largest:.2f} mm at {len(depths):,} points"
    if scene.joints:
        gaps = scene.gaps(poses)
        text += f"; joints gape by {1e3 * gaps.mean():.2f} mm, at most {1e3 * gaps.max():.2f} mm"
    if scene.stands:
        text += f"; moved by at most {1e3 * scene.moved(poses):.1f} mm{', it fell' if scene.fell(poses) else ''}"
    engine.step()
    speed = np.linalg.norm(engine.poses()[:, :3] - poses[:, :3], axis=1) / DT
    return f"{text}; moves by {1e3 * speed.mean():.1f} mm/s"


def _growth(report: Report, counts: list[int]) -> None:
    """Times of the heaps of boxes, as one plot."""
    times: dict[str, list[tuple[int, float]]] = {}
    for count in counts:
        name = SCENES["boxes"](count).name
        for row in report.rows:
            if (row.scene, row.query) == (name, _DEFAULTS) and row.engine:
                times.setdefault(row.engine, []).append((count, row.microseconds * 1e-6))
    report.slopes("heaps of boxes", _DEFAULTS, "boxes", times)


def _copy(ours: Thud) -> thud.World:
    return thud.World.from_state(ours.world.state())


def _stepping(name: str, world: thud.World, steps: int) -> Contestant:
    def run() -> None:
        for _ in range(steps):
            world.step(DT)

    return Contestant(name, run, steps)


def _asleep(report: Report, plan: _Size, ours: Thud) -> None:
    """A heap that sleeps beside one that may not."""
    world = _copy(ours)
    world.sleep_after = thud.World().sleep_after
    walls, count = len(ours.scene.walls), 0
    while count < min(_DOZE, 4 * plan.settle) and not world.asleep()[walls:].all():
        world.step(DT)
        count += 1
    found = [_stepping("thud, awake", _copy(ours), plan.steps), _stepping("thud, asleep", world, plan.steps)]
    query = "a step, asleep"
    report.race(ours.scene.name, query, "thud, awake", found, plan.rounds)
    report.note(ours.scene.name, query, f"{world.asleep()[walls:].mean():.1%} of the bodies sleep after {count} steps")


def _threads(report: Report, plan: _Size, ours: Thud) -> None:
    """One thread and two."""
    found = []
    for count in (1, 2):
        world = _copy(ours)
        world.threads = count
        found.append(_stepping(f"thud, threads={count}", world, max(2, plan.steps // 3)))
    report.race(ours.scene.name, "a step, by threads", "thud, threads=1", found, plan.rounds)


def _dominoes(report: Report) -> None:
    """Speeds of a row."""
    scene, query = "30 dominoes", "speed of the wave"
    print(f"\n{scene}: {query}")
    ours = thud_speed()
    report.note(scene, query, f"thud at 1/60 s: {ours:.3f} m/s")
    if installed("mujoco"):
        other = mujoco_speed()
        report.note(scene, query, f"mujoco at 1/600 s: {other:.3f} m/s; ours is {ours / other - 1.0:+.1%} of it away")
