"""`check`: what collides in a scene.

Boxes of all parts give the near pairs. The triangles in the box that two share say which meet; those that do not are asked
how far they are apart, if that matters. What meets is examined: the triangles that meet, how deep, whether it is the same
part twice. Last, for real clashes, the way out and the common volume, which take most of the time and are bounded.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import check_threads
from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.io.scene.scene import Scene
from thud.queries import distance
from thud.report.clash.candidates import Placed, place
from thud.report.clash.clash import Clash, ClashReport, rank
from thud.report.clash.identity import clash_id, part_keys
from thud.report.clash.measure import Found, body, coincide, examine
from thud.report.clash.meeting import Body
from thud.report.clash.pairs import build, find_pairs, matrices, pair_tasks
from thud.report.clash.robot import LinkPair, link_pairs
from thud.report.clash.rules import Rules, unmatched
from thud.report.clash.tasks import Progress, run_tasks
from thud.report.clash.tolerances import MOST_HALVED, MOST_SEARCHED, MOST_SEARCHED_ALL, ROUNDING, TOUCHING
from thud.report.clash.volumes import Cutter
from thud.report.clash.ways import Way, bounded_way, boxes_parted, shortest_way
from thud.results import Distances

_NAN = float("nan")

#: Kinds of clashes of parts that have something in common, not only touch or are near.
_OVERLAPS = ("hard", "containment", "duplicate")


def check(
    scene: Scene,
    *,
    clearance: float = 0.0,
    tolerance: float | None = None,
    rules: Rules | None = None,
    volumes: bool = True,
    search: str = "auto",
    configurations: int = 0,
    seed: int = 0,
    threads: int | None = None,
    progress: Progress | None = None,
) -> ClashReport:
    """What collides in a scene.

    Parameters
    ----------
    scene : parts in metres, from `thud.io.load_scene` or `Scene.from_parts`
    clearance : metres; parts that are apart by less are clashes of kind "clearance"
    tolerance : metres; parts that overlap by less, or are apart by less, touch. Default a millionth of the scene's diagonal
    rules : which pairs are looked at
    volumes : whether to compute the volume that closed parts share (needs manifold3d)
    search : how the way out is found: "best" in all directions, "quick" along some, a bound; "auto" is the former unless
        meshes are so large, or clashes so many, that it would take minutes
    configurations : of a robot, how many to look at beside the one at rest, uniform within the joints' limits
    seed : of the configurations
    threads : how many to use; default all cores
    progress : called with (what, done, total)

    Returns
    -------
    `ClashReport`, the gravest clash first. The same for any number of threads.
    """
    if not isinstance(scene, Scene):
        raise InvalidInputError(f"scene: expected a thud.io.Scene, got a {type(scene).__name__}")
    clearance = as_positive(clearance, "clearance", zero=True)
    rules = Rules() if rules is None else rules
    if search not in ("auto", "best", "quick"):
        raise InvalidInputError(f"search: expected 'auto', 'best' or 'quick', got {search!r}")
    if isinstance(configurations, bool) or not isinstance(configurations, int) or configurations < 0:
        raise InvalidInputError(f"configurations: expected a whole number of at least 0, got {configurations!r}")
    check_threads(threads)
    if not scene.parts:
        return ClashReport(scene, (), (), tolerance or 0.0, clearance, 0, 0, rules=rules)
    placed = place(scene)
    tolerance = _tolerance(tolerance, placed)
    found = find_pairs(scene, placed, max(clearance, tolerance), rules, threads, progress)
    checker = _Checker(scene, placed, tolerance, clearance, volumes, search, threads, progress)
    checker.notes += unmatched(scene, rules)
    clashes = checker.meeting(found.pairs[found.meets]) + checker.near(found.pairs[~found.meets])
    links: tuple[LinkPair, ...] = ()
    if scene.robot is not None and configurations:
        values = np.concatenate([scene.robot.rest[None], scene.robot.sample(configurations, seed=seed)])
        links = link_pairs(scene, rules, values, threads, progress)
        elsewhere = _elsewhere(checker, links, values, {clash.id for clash in clashes if clash.kind in _OVERLAPS})
        # One row a pair: what touches or is near at rest and overlaps elsewhere is told as what it is there.
        graver = {clash.id for clash in elsewhere if clash.kind in _OVERLAPS}
        clashes = [clash for clash in clashes if clash.id not in graver]
        told = {clash.id for clash in clashes}
        clashes += [clash for clash in elsewhere if clash.id not in told]
    touching = [clash for clash in clashes if clash.kind == "contact"]
    if rules.touching == "clash":
        touching = []
    wanted = [clash for clash in clashes if clash.kind != "contact" or rules.touching == "clash"]
    return ClashReport(
        scene,
        tuple(sorted(wanted, key=rank)),
        tuple(sorted(touching, key=rank)) if rules.touching == "list" else (),
        tolerance,
        clearance,
        len(found.pairs),
        found.ignored,
        links=links,
        notes=tuple(checker.notes),
        rules=rules,
    )


class _Checker:
    """Makes clashes of pairs of parts."""

    def __init__(
        self, scene: Scene, placed: Placed, tolerance: float, clearance: float, volumes: bool, search: str,
        threads: int | None, progress: Progress | None,
    ) -> None:  # fmt: skip
        self.scene, self.placed, self.tolerance, self.clearance = scene, placed, tolerance, clearance
        self.search, self.threads, self.progress = search, threads, progress
        self.keys = part_keys(scene, placed.lower, placed.upper)
        self.mesh_of = np.array([part.mesh for part in scene.parts], dtype=np.int64)
        self.size = np.array([len(np.asarray(mesh.faces)) for mesh in scene.meshes], dtype=np.int64)
        self.notes: list[str] = []
        self.cutter = Cutter() if volumes else None
        if self.cutter is not None and not self.cutter.is_there:
            self.notes.append('volumes of overlap need the package manifold3d: pip install "thud[app]"')
            self.cutter = None

    def meeting(self, pairs: Ints, placed: Placed | None = None, configuration: tuple[float, ...] = ()) -> list[Clash]:
        """Of parts that meet."""
        at = placed or self.placed
        ordered = self._ordered(pairs)
        build(self.scene, np.unique(self.mesh_of[ordered]), "pair_tree", self.threads, self.progress)

        def look(row: int) -> Found:
            a, b = ordered[row]
            boxes = at.lower[a], at.upper[a], at.lower[b], at.upper[b]
            same = self.mesh_of[a] == self.mesh_of[b]
            return examine(self._body(a, at), self._body(b, at), boxes, bool(same), self.tolerance)

        found = run_tasks("clashes", look, range(len(ordered)), self.threads, self.progress)
        unsure = [row for row, one in enumerate(found) if not one.decided]
        if unsure:
            a, b = (self.scene.parts[int(part)].name for part in ordered[unsure[0]])
            many = f"{len(unsure)} contact{'s' if len(unsure) > 1 else ''}"
            self.notes.append(
                f"{many} may be deeper than the tolerance, which {MOST_HALVED:,} points a side do not tell: {a} and {b} first; "
                "a larger tolerance is decided sooner"
            )
        real = [row for row, one in enumerate(found) if one.kind in _OVERLAPS]
        sizes = self.size[self.mesh_of[ordered[real]]].sum(axis=1) if real else np.empty(0, dtype=np.int64)
        thorough = self._thorough(sizes)

        def work(k: int) -> tuple[Way, float]:
            a, b = (self._body(int(row), at) for row in ordered[real[k]])
            return self._way(a, b, found[real[k]], bool(thorough[k]), ordered[real[k]], at), self._volume(a, b)

        weights = [int(size) for size in sizes]
        ways = dict(zip(real, run_tasks("depths", work, range(len(real)), self.threads, self.progress, weights)))
        return [self._clash(ordered[row], one, ways.get(row), configuration) for row, one in enumerate(found)]

    def near(self, pairs: Ints) -> list[Clash]:
        """Of parts that do not meet: closer than the clearance, or touching within the tolerance."""
        reach = max(self.clearance, self.tolerance)
        ordered = self._ordered(pairs)
        build(self.scene, np.unique(self.mesh_of[ordered]), "pair_obbs", self.threads, self.progress)
        tasks = pair_tasks(self.mesh_of, ordered)

        def ask(task: tuple[int, int, Ints]) -> Distances:
            one, other, rows = task
            first, second = self.placed.rows[ordered[rows, 0]], self.placed.rows[ordered[rows, 1]]
            meshes = self.scene.meshes
            return distance(meshes[one], meshes[other], matrices(first), matrices(second), max_distance=reach, threads=1)

        clashes, twins = [], []
        weights = [len(task[2]) for task in tasks]
        for task, answer in zip(tasks, run_tasks("gaps", ask, tasks, self.threads, self.progress, weights)):
            for k in np.flatnonzero(np.isfinite(answer.distance)):
                gap = float(answer.distance[k])
                # No gap at all: they meet, which the test of triangles in the common box can miss by a rounding.
                if gap <= 0.0 or (gap <= self.tolerance and self._coincide(ordered[task[2][k]])):
                    twins.append(int(task[2][k]))
                    continue
                kind = "contact" if gap <= self.tolerance else "clearance"
                if kind == "clearance" and gap >= self.clearance:
                    continue
                ends = np.array([answer.point_a[k], answer.point_b[k]])
                middle = ends.mean(axis=0)
                where = Found(kind, middle, ends, answer.normal[k], _NAN, None)
                clashes.append(self._clash(ordered[task[2][k]], where, None, (), gap))
        # Two flat sheets in one place, but for the tolerance, do not meet.
        return clashes + (self.meeting(ordered[twins]) if twins else [])

    def _ordered(self, pairs: Ints) -> Ints:
        """(M, 2) with the part of the smaller key first: what A and B are does not depend on the order of parts."""
        turned = np.array([self.keys[b] < self.keys[a] for a, b in pairs.tolist()], dtype=bool)
        out = pairs.copy()
        out[turned] = out[turned, ::-1]
        return out

    def _coincide(self, rows: Ints) -> bool:
        at, (a, b) = self.placed, rows
        boxes = at.lower[a], at.upper[a], at.lower[b], at.upper[b]
        return coincide(self._body(a, at), self._body(b, at), boxes, bool(self.mesh_of[a] == self.mesh_of[b]), self.tolerance)

    def _body(self, row: int, at: Placed) -> Body:
        return body(self.scene.meshes[self.mesh_of[row]], at, int(row))

    def _thorough(self, sizes: Ints) -> Bools:
        """(N,) which clashes are searched in all directions; the smallest meshes first, until the work is too much."""
        if self.search != "auto":
            return np.full(len(sizes), self.search == "best")
        order = np.argsort(sizes, kind="stable")
        out = np.zeros(len(sizes), dtype=bool)
        out[order] = (np.cumsum(sizes[order]) <= MOST_SEARCHED_ALL) & (sizes[order] <= MOST_SEARCHED)
        if not out.all():
            self.notes.append(
                f"{(~out).sum()} clashes of large meshes have a depth that is a bound, found along some directions; "
                'search="best" looks in all'
            )
        return out

    def _way(self, a: Body, b: Body, found: Found, thorough: bool, rows: Ints, at: Placed) -> Way:
        boxes = (at.lower[rows[0]], at.upper[rows[0]]), (at.lower[rows[1]], at.upper[rows[1]])
        if found.kind == "duplicate":
            # What is the same in one place is told by that; out of itself a way along some directions will do.
            thorough = False
        if thorough:
            way = shortest_way(a, b)
            # Boxes that are apart part what they hold: no way out need be longer.
            if way.depth <= boxes_parted(*boxes) * (1.0 + 1e-6):
                return way
        return bounded_way(a, b, found.met.normals if found.met is not None else np.empty((0, 3)), *boxes)

    def _volume(self, a: Body, b: Body) -> float:
        return self.cutter.common_volume(a, b) if self.cutter is not None else _NAN

    def _smaller(self, a: int, b: int) -> str:
        size_a, size_b = (float(np.linalg.norm(self.placed.upper[row] - self.placed.lower[row])) for row in (a, b))
        return "a" if size_a < size_b else "b"

    def _clash(
        self, rows: Ints, found: Found, way: tuple[Way, float] | None, configuration: tuple[float, ...], gap: float = 0.0
    ) -> Clash:
        a, b = int(rows[0]), int(rows[1])
        parts = self.scene.parts
        depth, normal, is_bound = 0.0, found.normal, False
        if way is not None:
            depth, normal, is_bound = way[0]
        return Clash(
            clash_id(self.keys[a], self.keys[b]), found.kind, a, b, parts[a].name, parts[b].name, parts[a].guid, parts[b].guid,
            depth, is_bound, found.penetration, gap, normal, found.point, found.points, way[1] if way else _NAN, found.inside,
            self._smaller(a, b), configuration=configuration, curve=found.met.curve() if found.met is not None else
            np.empty((0, 2, 3)),
        )  # fmt: skip


def _elsewhere(checker: _Checker, links: tuple[LinkPair, ...], values: Floats, known: set[str]) -> list[Clash]:
    """Clashes of links that do not overlap at rest, in the first configuration in which they do, or else touch.

    values : (C, J) configurations, rest first
    known : ids of the overlaps at rest
    """
    clashes = []
    robot = checker.scene.robot
    assert robot is not None
    for pair in links:
        shown: list[Clash] = []
        if any(clash_id(checker.keys[a], checker.keys[b]) in known for a, b in np.unique(pair.meetings[:, 1:], axis=0)):
            continue
        for number, a, b in pair.meetings[pair.meetings[:, 0] > 0].tolist():
            at = place(checker.scene, robot.poses(values[number][None])[0])
            configuration = tuple(float(value) for value in values[number])
            found = checker.meeting(np.array([[a, b]], dtype=np.int64), at, configuration)
            if found[0].kind in _OVERLAPS:
                shown = found
                break
            shown = shown or ([] if pair.at_rest else found)
        clashes += shown
    return clashes


def _tolerance(tolerance: float | None, placed: Placed) -> float:
    lower, upper = placed.lower.min(axis=0), placed.upper.max(axis=0)
    least = ROUNDING * float(max(np.abs(lower).max(), np.abs(upper).max()))
    if tolerance is None:
        return max(TOUCHING * float(np.linalg.norm(upper - lower)), least)
    return max(as_positive(tolerance, "tolerance", zero=True), least)
