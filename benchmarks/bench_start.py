"""Cold start: what a new user waits for, in empty environments and with empty caches.

From the wheel with kernels inside: built, installed into an empty virtual environment, asked in fresh processes. From the
checkout: with nothing cached, and after everything is. Compilations are counted by Numba's own events.

With THUD_BENCH_BEFORE=<folder of another checkout> its warm-up is measured beside this one's, in turn.
"""

from __future__ import annotations

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.harness import Report, Row

ROOT = Path(__file__).parents[1]

_IMPORT = "import time; t = time.perf_counter(); import thud; print(time.perf_counter() - t)"

#: Each step in the same fresh process; the first one includes the import of thud and Numba.
_STEPS = """
import json, sys, time
rows, begin = [], time.perf_counter()
import numpy as np
import thud
counted = []
def step(name, call):
    global begin
    if rows:
        begin = time.perf_counter()
    call()
    if not counted:
        from numba.core import event
        class Count(event.Listener):
            def on_start(self, event):
                self.count += 1
            def on_end(self, event):
                pass
        counted.append(Count())
        counted[0].count = 0
        event.register("numba:compile", counted[0])
        compiled = sum(bool(d.stats.cache_misses) for d in DISPATCHERS())
    else:
        compiled = counted[0].count - sum(row[2] for row in rows[1:])
    rows.append([name, time.perf_counter() - begin, compiled])
def DISPATCHERS():
    try:
        from thud._core.kernel_cache import DISPATCHERS
        return DISPATCHERS.values()
    except ImportError:
        return []
rng = np.random.default_rng(0)
box, hull = thud.Box([0.5, 0.5, 0.5]), None
def first():
    global hull
    hull = thud.ConvexHull(rng.normal(size=(40, 3)))
    thud.intersects(box, hull)
step("import and intersects of a box and a hull", first)
if sys.argv[1:] != ["one"]:
    away = thud.Pose([3.0, 0, 0])
    corner = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
    mesh = thud.TriangleMesh(corner, [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])
    step("intersects of two hulls", lambda: thud.intersects(hull, hull, None, away))
    step("distance", lambda: thud.distance(box, hull, None, away))
    step("signed distance", lambda: thud.distance(box, hull, signed=True))
    step("contacts", lambda: thud.contacts(box, hull))
    step("cast", lambda: thud.cast(box, hull, None, away, motion_b=[-3.0, 0, 0]))
    step("rays on a hull", lambda: thud.raycast(hull, [0, 0, 5], [[0, 0, -1]]))
    step("contains", lambda: thud.contains(hull, [[0, 0, 0]]))
    step("closest point", lambda: thud.closest_point(hull, [[3, 0, 0]], signed=True))
    step("meshes: intersects", lambda: thud.intersects(mesh, mesh))
    step("meshes: distance", lambda: thud.distance(mesh, mesh, None, away))
    step("meshes: contacts", lambda: thud.contacts(mesh, mesh, None, thud.Pose([0.1, 0, 0])))
    step("meshes: rays", lambda: thud.raycast(mesh, [0.1, 0.1, 5], [[0, 0, -1]]))
    step("meshes: contains", lambda: thud.contains(mesh, [[0.1, 0.1, 0.1]]))
    world = thud.World()
    world.add_many(box, thud.Pose(rng.uniform(0, 3, (50, 3))), velocity=[0, 0, -1])
    step("world: contacts", world.contacts)
    step("world: rays", lambda: world.raycast([[1, 1, 9]], [[0, 0, -1]]))
    step("world: impacts", lambda: world.impacts(0.1))
    x, y = np.meshgrid(np.linspace(0, 6, 33), np.linspace(0, 6, 33), indexing="ij")
    heights, made = np.sin(x) * np.cos(y), []
    step("displaced surface: made of heights", lambda: made.append(thud.terrain.from_heights(heights, 0.5).surface))
    step("displaced surface: intersects", lambda: thud.intersects(made[0], hull, None, thud.Pose([5.0, 5.0, 1.0])))
    step("displaced surface: rays", lambda: thud.raycast(made[0], [5, 5, 9], [[0, 0, -1]]))
    rain = thud.particles.ParticleSystem(position=[0, 0, 9], velocity=[0, 0, -12], acceleration=[0, 0, -9.81], lifetime=1.5,
                                         birth=np.linspace(-1.5, 0, 100), position_spread=[1, 1, 0])
    roof = thud.particles.Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0])
    step("particles: impacts", lambda: rain.impacts([roof], 0.0, 1.0))
    step("image space: interference", lambda: thud.imagespace.interference([mesh, mesh], thud.Pose([[0, 0, 0], [0.2, 0.1, 0]])))
print(json.dumps(rows))
"""


def _run(command: list[str], **environment: str) -> tuple[str, float, float]:
    """(standard output, seconds, seconds of processor time) of a command."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith(("THUD_", "NUMBA_", "PYTHONPATH"))}
    before, begin = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(command, env=kept | environment, capture_output=True, text=True, cwd=tempfile.gettempdir())
    seconds, after = time.perf_counter() - begin, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(f"{' '.join(command[:3])}\n{done.stderr[-3000:]}")
    return done.stdout.strip(), seconds, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


class _Bench:
    def __init__(self, repeats: int) -> None:
        self.report, self.repeats = Report("start"), repeats

    def row(self, where: str, what: str, seconds: float, note: str = "") -> None:
        self.report.rows.append(Row(where, what, "thud", 1, seconds * 1e6, float("nan"), float("nan"), float("nan"), note))
        print(f"  {what:<60} {seconds:8.3f} s  {note}", flush=True)

    def steps(
        self, where: str, python: str, cache: str, *arguments: str, goals: tuple[float, float] | None, **environment: str
    ) -> None:
        """Median over fresh processes of each step's first call; the cache is empty, or as it was left."""
        runs = [
            json.loads(_run([python, "-c", _STEPS, *arguments], THUD_CACHE_DIR=cache, **environment)[0].splitlines()[-1])
            for _ in range(self.repeats if goals else 1)
        ]
        for k, (name, _, compiled) in enumerate(runs[0]):
            seconds = statistics.median(run[k][1] for run in runs)
            goal = "" if goals is None else f"; goal: below {goals[min(k, 1)]} s and 0"
            self.row(where, name, seconds, f"{compiled} compilations{goal}")

    def wheel(self) -> None:
        print("from the wheel, in an empty environment")
        with tempfile.TemporaryDirectory() as folder:
            begin = time.perf_counter()
            subprocess.run(
                [sys.executable, "-m", "tools.build_wheel", "--out", folder], check=True, cwd=ROOT, stderr=subprocess.DEVNULL
            )
            (wheel,) = Path(folder).glob("*.whl")
            self.row("wheel", "built", time.perf_counter() - begin, f"{wheel.stat().st_size / 1e6:.1f} MB; goal: below 30 MB")
            subprocess.run([sys.executable, "-m", "venv", f"{folder}/venv"], check=True)
            python = f"{folder}/venv/bin/python"
            subprocess.run([python, "-m", "pip", "install", "-q", str(wheel)], check=True)
            # Once, so that Python's own files are compiled and read from disk: what is measured is thud.
            _run([python, "-c", "import numba, scipy.spatial, thud; thud.intersects"], THUD_CACHE_DIR=f"{folder}/none")
            self.row(
                "wheel", "import thud", statistics.median(float(_run([python, "-c", _IMPORT])[0]) for _ in range(self.repeats))
            )
            self.steps("wheel", python, f"{folder}/cache", goals=(1.5, 0.5))

    def checkout(self) -> None:
        print("from the checkout")
        source = {"PYTHONPATH": str(ROOT / "src")}
        with tempfile.TemporaryDirectory() as folder:
            first = []
            for k in range(min(self.repeats, 3)):
                out = _run([sys.executable, "-c", _STEPS, "one"], THUD_CACHE_DIR=f"{folder}/{k}", **source)[0]
                first.append(json.loads(out.splitlines()[-1])[0])
            seconds = statistics.median(row[1] for row in first)
            self.row("checkout", "first intersects, nothing cached", seconds, f"{first[0][2]} compilations; goal: below 10 s")
            self.steps("checkout, nothing cached", sys.executable, f"{folder}/cold", goals=None, **source)
            demo = [sys.executable, "-c", "from thud.cli import main; main()", "demo", "--picture", f"{folder}/demo.png"]
            _, seconds, _ = _run(demo, THUD_CACHE_DIR=f"{folder}/demo", **source)
            self.row("checkout", "thud demo, nothing cached", seconds, "goal: below 60 s")

    def warmups(self, rounds: int) -> None:
        other = os.environ.get("THUD_BENCH_BEFORE")
        folders = {"this checkout": ROOT} | ({"the other checkout": Path(other)} if other else {})
        code = "import thud; print(len(thud.warmup(progress=False)))"
        walls: dict[str, list[float]] = {name: [] for name in folders}
        processors: dict[str, list[float]] = {name: [] for name in folders}
        for _ in range(rounds):
            for name, folder in folders.items():
                with tempfile.TemporaryDirectory() as cache:
                    path = str(folder / "src")
                    count, wall, processor = _run([sys.executable, "-c", code], THUD_CACHE_DIR=cache, PYTHONPATH=path)
                walls[name].append(wall)
                processors[name].append(processor)
                self.row(name, f"warmup of all {count} kernels, nothing cached", wall, f"{processor:.0f} s of processor time")
        if other:
            here, there = folders
            wall = statistics.median(a / b for a, b in zip(walls[here], walls[there], strict=True))
            processor = statistics.median(a / b for a, b in zip(processors[here], processors[there], strict=True))
            text = f"{100 * wall:.0f} % of the other's time (goal: 35 %), {100 * processor:.0f} % of its processor time"
            self.report.note("this checkout", "warmup", f"{text} (goal: 60 %)")


def run(size: str) -> None:
    bench = _Bench({"ci": 1, "standard": 7, "full": 15}[size])
    if size != "ci":
        bench.wheel()
    bench.checkout()
    bench.warmups({"ci": 0, "standard": 1, "full": 3}[size])
    bench.report.save()
