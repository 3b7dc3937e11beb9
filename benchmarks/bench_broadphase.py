"""Many moving boxes: the pairs whose boxes overlap, frame after frame, by each broad phase and by the peers' managers.

All boxes move every frame. Moving them is not timed: what is timed is what an engine does from there to the list of pairs
(update of its structure, collection of pairs). Since some frames cost more than others, times are means over blocks of frames.
"""

from __future__ import annotations

import itertools
import statistics
import time
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.harness import Contestant, Report, Row
from thud._core.threads import core_count
from thud.broadphase import as_boxes
from thud.broadphase.choose import METHODS, broad_phase

Floats = npt.NDArray[np.float64]

#: (numbers of boxes, frames a block, blocks, numbers of boxes for the slope)
_SIZES: dict[str, tuple[list[int], int, int, list[int]]] = {
    "ci": ([300], 3, 2, [200, 400]),
    "standard": ([1_000, 10_000, 100_000], 20, 5, [1_000, 2_500, 6_300, 16_000, 40_000, 100_000]),
    "full": ([1_000, 10_000, 100_000], 60, 9, [1_000, 2_500, 6_300, 16_000, 40_000, 100_000]),
}

#: Displacement a frame as a fraction of a box's edge.
_SPEEDS = {"slow, 0.3 % of an edge a frame": 0.003, "1 %": 0.01, "fast, 10 %": 0.1}

#: Most boxes for those whose time grows with their square, or that call back into Python for each pair. (coal's array tree
#: ends the process with a segmentation fault when 10,000 objects are registered, coal 3.0.3.)
_MOST = {
    "brute": 10_000,
    "coal SaP": 10_000,
    "coal DynamicAABBTreeArray": 1_000,
    "python-fcl (Python callback)": 10_000,
    "rtree": 10_000,
    "sap": 100_000,
}


class Boxes:
    """Boxes of edges 0.4 to 1 in a cube that grows with their number, one a cubic metre; they fly straight and bounce back."""

    def __init__(self, count: int, speed: float, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.space = count ** (1 / 3)
        self.centers, self.halves = rng.uniform(0, self.space, (count, 3)), rng.uniform(0.2, 0.5, (count, 3))
        way = rng.normal(size=(count, 3))
        self.velocity = way / np.linalg.norm(way, axis=1, keepdims=True) * speed * rng.uniform(0.5, 1.5, (count, 1)) * 0.7

    def move(self) -> None:
        """One frame on."""
        self.centers = self.centers + self.velocity
        out = (self.centers < 0) | (self.centers > self.space)
        self.velocity[out] *= -1


class Ours:
    """One of our broad phases."""

    def __init__(self, method: str, threads: int, boxes: Boxes) -> None:
        self.name = f"thud {method}, {threads} thread{'s' * (threads > 1)}"
        self.phase, self.threads = broad_phase(method), threads

    def move(self, boxes: Boxes) -> None:
        self.boxes = as_boxes(boxes.centers - boxes.halves, boxes.centers + boxes.halves)

    def pairs(self) -> Any:
        return self.phase.pairs(self.boxes, threads=self.threads)


class Coal:
    """A manager of coal with its own collecting callback, all in C++."""

    def __init__(self, name: str, manager: str, boxes: Boxes) -> None:
        import coal

        self.name, self.coal = name, coal
        self.objects = [coal.CollisionObject(coal.Box(*(2.0 * h))) for h in boxes.halves]
        for o, center in zip(self.objects, boxes.centers, strict=True):
            o.setTranslation(center)
            o.computeAABB()
        self.manager = getattr(coal, manager)()
        for o in self.objects:
            self.manager.registerObject(o)
        self.manager.setup()
        self.callback = coal.CollisionCallBackCollect(40 * len(self.objects))

    def move(self, boxes: Boxes) -> None:
        for o, center in zip(self.objects, boxes.centers, strict=True):
            o.setTranslation(center)
            o.computeAABB()

    def pairs(self) -> Any:
        self.manager.update()
        self.callback.init()
        self.manager.collide(self.callback)
        return self.callback.numCollisionPairs()


class Fcl:
    """python-fcl's dynamic tree; it calls back into Python for each pair."""

    name = "python-fcl (Python callback)"

    def __init__(self, boxes: Boxes) -> None:
        import fcl

        self.fcl = fcl
        self.objects = [
            fcl.CollisionObject(fcl.Box(*(2.0 * h)), fcl.Transform(c)) for c, h in zip(boxes.centers, boxes.halves, strict=True)
        ]
        self.manager = fcl.DynamicAABBTreeCollisionManager()
        self.manager.registerObjects(self.objects)
        self.manager.setup()

    def move(self, boxes: Boxes) -> None:
        for o, center in zip(self.objects, boxes.centers, strict=True):
            o.setTranslation(center)

    def pairs(self) -> Any:
        found: list[int] = []

        def collect(a: Any, b: Any, data: Any) -> bool:
            found.append(0)
            return False

        self.manager.update()
        self.manager.collide(None, collect)
        return len(found)


class Rtree:
    """rtree (libspatialindex), packed anew each frame, all boxes asked in one call."""

    name = "rtree"

    def __init__(self, boxes: Boxes) -> None:
        import rtree

        self.rtree = rtree
        self.options = rtree.index.Property(dimension=3)

    def move(self, boxes: Boxes) -> None:
        self.lower, self.upper = boxes.centers - boxes.halves, boxes.centers + boxes.halves

    def pairs(self) -> Any:
        ids = np.arange(len(self.lower))
        index = self.rtree.index.Index((ids, self.lower, self.upper), properties=self.options)
        found, counts = index.intersection_v(self.lower, self.upper)
        row = np.repeat(ids, np.asarray(counts).astype(np.int64))
        return int((row < np.asarray(found)).sum())


_COAL = {
    "coal DynamicAABBTree": "DynamicAABBTreeCollisionManager",
    "coal DynamicAABBTreeArray": "DynamicAABBTreeArrayCollisionManager",
    "coal SaP": "SaPCollisionManager",
}


def _contestants(boxes: Boxes, lanes: list[int]) -> list[Any]:
    count = len(boxes.centers)
    found: list[Any] = []
    for method in METHODS:
        if count <= _MOST.get(method, count):
            found += [Ours(method, n, boxes) for n in (lanes if method in ("auto", "grid") else lanes[:1])]
    peers: list[tuple[str, Any]] = [(name, lambda name=name: Coal(name, _COAL[name], boxes)) for name in _COAL]
    peers += [(Fcl.name, lambda: Fcl(boxes)), (Rtree.name, lambda: Rtree(boxes))]
    for name, make in peers:
        if count > _MOST.get(name, count):
            continue
        try:
            found.append(make())
        except ImportError:
            print(f"{name} is not installed: left out")
    return found


def _race(report: Report, scene: str, boxes: Boxes, contestants: list[Any], frames: int, blocks: int) -> dict[str, float]:
    """Time everyone; returns the mean milliseconds a frame."""
    seconds: dict[str, list[float]] = {c.name: [] for c in contestants}
    rng = np.random.default_rng(0)
    agreed: dict[str, int] = {c.name: 0 for c in contestants}
    for block in range(-1, blocks):
        used = dict.fromkeys(seconds, 0.0)
        for _ in range(frames):
            boxes.move()
            counts: dict[str, int] = {}
            # In another order each frame: what came before decides what is left in the processor's caches.
            for c in rng.permutation(np.array(contestants, dtype=object)):
                c.move(boxes)
                begin = time.perf_counter()
                found = c.pairs()
                used[c.name] += time.perf_counter() - begin
                counts[c.name] = found if isinstance(found, int) else len(found)
            for name, number in counts.items():
                agreed[name] += number == counts[contestants[0].name]
        if block >= 0:  # the first one warms up
            for name, time_used in used.items():
                seconds[name].append(time_used / frames)
    print(f"\n{scene}")
    peers = [c.name for c in contestants if not c.name.startswith("thud")]
    median = {name: statistics.median(values) for name, values in seconds.items()}
    coal = min((n for n in peers if n.startswith("coal")), key=lambda n: median[n], default=contestants[0].name)
    for c in contestants:
        ratios = sorted(r / t for r, t in zip(seconds[coal], seconds[c.name], strict=True))
        quartiles = statistics.quantiles(ratios, n=4)
        row = Row(
            scene, "pairs a frame", c.name, 1, median[c.name] * 1e6, statistics.median(ratios), quartiles[0], quartiles[2],
            f"same number of pairs in {agreed[c.name]} of {(blocks + 1) * frames} frames", reference=coal,
        )  # fmt: skip
        report.rows.append(row)
        print(f"  {c.name:<32} {median[c.name] * 1e3:9.3f} ms   {row.speedup:7.2f}x {coal}   {row.note}")
    return median


def run(size: str) -> None:
    """The race at each number of boxes and speed; then the growth of the time with the number at constant density."""
    numbers, frames, blocks, slope_numbers = _SIZES[size]
    lanes = [1] if core_count() == 1 else [1, 2]
    report = Report("broadphase")
    for count in numbers:
        for label, speed in _SPEEDS.items():
            boxes = Boxes(count, speed)
            # (coal takes seconds a frame for very many fast boxes.)
            slow = count > 10_000 and speed > 0.05
            many = max(2, frames // 5) if slow else frames
            _race(report, f"{count} boxes, {label}", boxes, _contestants(boxes, lanes), many, blocks)
    _growth(report, slope_numbers, frames, blocks)
    report.save()


def _growth(report: Report, numbers: list[int], frames: int, rounds: int) -> None:
    """Of the time of a frame by `auto` with the number of boxes, at constant density; boxes of each frame are made before."""
    for label, speed in _SPEEDS.items():

        def make(count: int, speed: float = speed) -> list[Contestant]:
            boxes, ready = Boxes(count, speed), []
            for _ in range(frames):
                boxes.move()
                ready.append(as_boxes(boxes.centers - boxes.halves, boxes.centers + boxes.halves))
            phase, ways = broad_phase("auto"), itertools.cycle([ready, ready[::-1]])  # to and fro: no jump between rounds

            def run() -> None:
                for one in next(ways):
                    phase.pairs(one, threads=1)

            return [Contestant("thud auto, 1 thread", run, frames)]

        report.growth(f"boxes, {label}", "pairs a frame", "boxes", "", numbers, make, rounds)
