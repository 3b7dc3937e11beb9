"""Near pairs of parts, and which of them meet: boxes, then the triangles in the box that two share, then trees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Bools, Floats, Ints, writable
from thud.geometry.contains import point_mesh_rows
from thud.io.scene.scene import Scene
from thud.mesh.local_meet import meet_within
from thud.queries import intersects, triangle_pairs
from thud.report.clash.candidates import Placed, near_pairs
from thud.report.clash.measure import body
from thud.report.clash.rules import Rules
from thud.report.clash.tasks import Progress, run_tasks
from thud.report.clash.tolerances import LOCAL_PAIRS, ROWS_PER_TASK, TRIANGLES_PER_TASK

#: What is found of two parts: nothing, that triangles meet, that one is inside the other, or that trees should be asked. The
#: first two and the last are what `meet_within` returns.
APART, SURFACES, INSIDE, MANY = 0, 1, 2, -1


class Pairs(NamedTuple):
    """Near pairs of parts and whether they meet."""

    placed: Placed
    pairs: Ints
    """(M, 2) rows of parts."""
    meets: Bools
    """(M,) surfaces meet, or one is inside the other."""
    surfaces: Bools
    """(M,) surfaces meet."""
    ignored: int
    """Pairs that rules left out."""


def find_pairs(
    scene: Scene,
    placed: Placed,
    reach: float = 0.0,
    rules: Rules | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
) -> Pairs:
    """Pairs of parts that are within reach, and which of them meet: boxes, then the triangles in the box that both share; by
    trees only where these are many, and for what may be inside another."""
    pairs, ignored = near_pairs(scene, placed, reach, rules or Rules(), threads)
    first, second = pairs[:, 0], pairs[:, 1]
    lower = np.maximum(placed.lower[first], placed.lower[second])
    upper = np.minimum(placed.upper[first], placed.upper[second])
    touch = placed.touch(first, second)
    arrays = [(writable(np.asarray(mesh.vertices)), writable(np.asarray(mesh.faces))) for mesh in scene.meshes]
    of_part = [(*arrays[part.mesh], row) for part, row in zip(scene.parts, placed.rows)]
    found = np.full(len(pairs), APART)

    def look(rows: Ints) -> list[int]:
        answers = []
        for a, b, low, high, gap in zip(first[rows].tolist(), second[rows].tolist(), lower[rows], upper[rows], touch[rows]):
            most = LOCAL_PAIRS * (len(of_part[a][1]) + len(of_part[b][1]))
            answers.append(meet_within(*of_part[a], *of_part[b], low, high, gap, most))
        return answers

    # Boxes that touch by a roundoff have a thin box in common; those that only the reach brings together have none.
    near = np.flatnonzero((upper >= lower - touch[:, None]).all(axis=1))
    lower, upper = np.minimum(lower, upper), np.maximum(lower, upper)
    tasks = np.array_split(near, max(1, len(near) // ROWS_PER_TASK))
    weights = [len(rows) for rows in tasks]
    for rows, answers in zip(tasks, run_tasks("pairs", look, tasks, threads, progress, weights)):
        found[rows] = answers
    _find_inner(scene, placed, pairs, near[found[near] == APART], found, threads, progress)
    meets, surfaces = found != APART, found == SURFACES
    left = np.flatnonzero(found == MANY)
    if len(left):
        mesh_of = np.array([part.mesh for part in scene.parts], dtype=np.int64)
        build(scene, np.unique(mesh_of[pairs[left]]), "pair_tree", threads, progress)

        def ask(task: tuple[int, int, Ints]) -> Bools:
            one, other, rows = task
            first, second = placed.rows[pairs[left[rows], 0]], placed.rows[pairs[left[rows], 1]]
            return intersects(scene.meshes[one], scene.meshes[other], matrices(first), matrices(second), threads=1)

        groups = pair_tasks(mesh_of, pairs[left])
        weights = [len(task[2]) for task in groups]
        for task, answer in zip(groups, run_tasks("pairs by trees", ask, groups, threads, progress, weights)):
            meets[left[task[2]]] = answer
        for row in left[meets[left]]:
            one, other = (body(scene.meshes[mesh_of[k]], placed, int(k)) for k in pairs[row])
            surfaces[row] = len(triangle_pairs(one.mesh, other.mesh, one.pose, other.pose, threads=threads).row) > 0
    return Pairs(placed, pairs, meets, surfaces, ignored)


def _find_inner(
    scene: Scene, placed: Placed, pairs: Ints, rows: Ints, found: Ints, threads: int | None, progress: Progress | None
) -> None:
    """Mark, of pairs whose triangles do not meet, those of which a connected part of one is inside the other: a point of it
    is."""
    parts = np.unique(pairs[rows])
    build(scene, np.unique([scene.parts[row].mesh for row in parts]).astype(np.int64), "component_points", threads, progress)
    points: dict[int, Floats] = {}
    one, many = np.zeros((len(scene.parts), 3)), np.zeros(len(scene.parts), dtype=bool)
    for row in parts.tolist():
        local = scene.meshes[scene.parts[row].mesh].component_points
        points[row] = local @ placed.rows[row, :9].reshape(3, 3).T + placed.rows[row, 9:]
        one[row], many[row] = points[row][0], len(points[row]) > 1
    for outer, inner in ((pairs[rows, 0], pairs[rows, 1]), (pairs[rows, 1], pairs[rows, 0])):
        held = ((one[inner] >= placed.lower[outer]) & (one[inner] <= placed.upper[outer])).all(axis=1)
        for k in np.flatnonzero(held | many[inner]):
            mesh, row = scene.meshes[scene.parts[outer[k]].mesh], placed.rows[outer[k]]
            mine = points[int(inner[k])]
            mine = mine[((mine >= placed.lower[outer[k]]) & (mine <= placed.upper[outer[k]])).all(axis=1)]
            if len(mine) and mesh.is_closed:
                inside = np.empty(len(mine), dtype=np.bool_)
                local = np.ascontiguousarray((mine - row[9:]) @ row[:9].reshape(3, 3))
                arrays = writable(np.asarray(mesh.vertices)), writable(np.asarray(mesh.faces))
                point_mesh_rows(0, len(local), local, *arrays, inside)
                if inside.any():
                    found[rows[k]] = INSIDE


def build(scene: Scene, meshes: Ints, what: str, threads: int | None, progress: Progress | None) -> None:
    """Make trees before they are asked for, one mesh a thread."""
    left = [int(row) for row in meshes if what not in scene.meshes[row].__dict__]
    if left:
        label = {"pair_tree": "trees", "pair_obbs": "boxes of trees", "component_points": "connected parts"}[what]
        sizes = np.array([len(np.asarray(scene.meshes[row].faces)) for row in left], dtype=np.int64)
        # Small meshes together: handing one over to a thread takes as long as a thousand triangles do.
        cuts = np.flatnonzero(np.diff(np.cumsum(sizes) // TRIANGLES_PER_TASK)) + 1
        tasks, weights = np.split(np.array(left), cuts), [int(part.sum()) for part in np.split(sizes, cuts)]

        def make(rows: Ints) -> None:
            for row in rows.tolist():
                getattr(scene.meshes[row], what)

        run_tasks(label, make, tasks, threads, progress, weights)


def pair_tasks(mesh_of: Ints, pairs: Ints) -> list[tuple[int, int, Ints]]:
    """Rows of pairs, grouped by their two meshes, some at a time: (mesh, mesh, rows)."""
    if not len(pairs):
        return []
    meshes = mesh_of[pairs]
    order = np.lexsort((meshes[:, 1], meshes[:, 0]))
    sorted_meshes = meshes[order]
    first = np.flatnonzero(np.concatenate([[True], (sorted_meshes[1:] != sorted_meshes[:-1]).any(axis=1)]))
    tasks = []
    for start, stop in zip(first, [*first[1:], len(order)]):
        for k in range(start, stop, ROWS_PER_TASK):
            rows = order[k : min(k + ROWS_PER_TASK, stop)]
            tasks.append((int(sorted_meshes[start, 0]), int(sorted_meshes[start, 1]), rows))
    return tasks


def matrices(rows: Floats) -> Floats:
    """(N, 4, 4) of (N, 12) poses."""
    out = np.zeros((len(rows), 4, 4))
    out[:, :3, :3], out[:, :3, 3], out[:, 3, 3] = rows[:, :9].reshape(-1, 3, 3), rows[:, 9:], 1.0
    return out
