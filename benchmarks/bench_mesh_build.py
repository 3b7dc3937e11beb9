"""A mesh from arrays to its first answer, kernels warm: time, cores, bytes a triangle and growth, beside coal's OBBRSS,
python-fcl's BVHModel and embreex's scene.

"First call" is all that a user waits for between having vertices and faces and having the answer: the checks, the trees that
the query needs, the query. Vertices and faces are plain arrays.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.families import Body
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.memory import array_bytes
from benchmarks.peers import coal_mesh, embree_scene, fcl_mesh, installed
from thud._core.threads import core_count

Floats = npt.NDArray[np.float64]

#: (triangles of the large mesh, triangles of the family, rounds, sizes of the growth, most triangles for the peers' growth)
_SIZES: dict[str, tuple[int, int, int, list[int], int]] = {
    "ci": (3_000, 500, 2, [300, 3_000], 3_000),
    "standard": (1_000_000, 70_000, 5, [1_000, 10_000, 100_000, 1_000_000], 1_000_000),
    "full": (1_000_000, 300_000, 5, [1_000, 10_000, 100_000, 1_000_000, 10_000_000], 1_000_000),
}

_BOX = thud.Box([0.3, 0.3, 0.3])
_ORIGINS, _DIRECTIONS = np.array([[3.0, 0.1, 0.2]]), np.array([[-1.0, 0.0, 0.0]])
_POINT = np.array([[0.3, 0.2, 0.1]])


def _ours(body: Body) -> dict[str, Callable[[], Any]]:
    """First answers of a new mesh, by query; each returns the mesh."""
    small = thud.TriangleMesh(*families.ball(2_000, 9))
    at, near = np.array([1.0, 0, 0, 1, 0, 0, 0]), np.array([1.5, 0, 0, 1, 0, 0, 0])
    far = np.array([4.0, 0, 0, 1, 0, 0, 0])
    thud.intersects(small, small), thud.distance(small, small, None, far)

    def first(ask: Callable[[thud.TriangleMesh], object]) -> Callable[[], thud.TriangleMesh]:
        def run() -> thud.TriangleMesh:
            mesh = thud.TriangleMesh(body.vertices, body.faces)
            ask(mesh)
            return mesh

        return run

    found = {
        "intersects a box": first(lambda mesh: thud.intersects(mesh, _BOX, None, at)),
        "intersects a mesh": first(lambda mesh: thud.intersects(mesh, small, None, near)),
        "distance to a mesh": first(lambda mesh: thud.distance(mesh, small, None, far)),
        "raycast": first(lambda mesh: thud.raycast(mesh, _ORIGINS, _DIRECTIONS)),
        "closest point": first(lambda mesh: thud.closest_point(mesh, _POINT)),
    }
    if body.closed:
        found["contains"] = first(lambda mesh: thud.contains(mesh, _POINT))
    return found


def _peers(body: Body) -> dict[str, dict[str, Callable[[], Any]]]:
    """The peers' first answers, by query and engine."""
    found: dict[str, dict[str, Callable[[], Any]]] = {}
    vertices, faces = body.vertices, body.faces
    small_vertices, small_faces = families.ball(2_000, 9)
    if installed("coal"):
        import coal

        box, small, home = coal.Box(0.6, 0.6, 0.6), coal_mesh(small_vertices, small_faces), coal.Transform3s.Identity()

        def collide(other: Any, x: float) -> Any:
            request, result = coal.CollisionRequest(), coal.CollisionResult()
            request.enable_contact = False
            model = coal_mesh(vertices, faces)
            coal.collide(model, home, other, coal.Transform3s(np.eye(3), np.array([x, 0, 0])), request, result)
            return model

        def distance() -> Any:
            request, result = coal.DistanceRequest(), coal.DistanceResult()
            model = coal_mesh(vertices, faces)
            coal.distance(model, home, small, coal.Transform3s(np.eye(3), np.array([4.0, 0, 0])), request, result)
            return model

        found.setdefault("intersects a box", {})["coal OBBRSS"] = lambda: collide(box, 1.0)
        found.setdefault("intersects a mesh", {})["coal OBBRSS"] = lambda: collide(small, 1.5)
        found.setdefault("distance to a mesh", {})["coal OBBRSS"] = distance
    if installed("fcl"):
        import fcl

        small_fcl = fcl.CollisionObject(fcl_mesh(small_vertices, small_faces), fcl.Transform(np.array([1.5, 0, 0])))
        box_fcl = fcl.CollisionObject(fcl.Box(0.6, 0.6, 0.6), fcl.Transform(np.array([1.0, 0, 0])))

        def fcl_collide(other: Any) -> Any:
            one = fcl.CollisionObject(fcl_mesh(vertices, faces))
            fcl.collide(one, other, fcl.CollisionRequest(), fcl.CollisionResult())
            return one

        found.setdefault("intersects a box", {})["python-fcl"] = lambda: fcl_collide(box_fcl)
        found.setdefault("intersects a mesh", {})["python-fcl"] = lambda: fcl_collide(small_fcl)
    if installed("embreex"):

        def rays() -> Any:
            scene = embree_scene(vertices, faces)
            scene.run(_ORIGINS.astype(np.float32), _DIRECTIONS.astype(np.float32))
            return scene

        found.setdefault("raycast", {})["embreex"] = rays
    if installed("igl"):
        import igl

        def closest() -> Any:
            tree = igl.AABB()
            tree.init(vertices, faces)
            tree.squared_distance(vertices, faces, _POINT)
            return tree

        found.setdefault("closest point", {})["libigl"] = closest
    return found


def _on_one_core(run: Callable[[], Any]) -> Callable[[], Any]:
    def alone() -> Any:
        with one_core():
            return run()

    return alone


def _contestants(body: Body, query: str, cores: list[int]) -> list[Contestant]:
    own, peers = _ours(body)[query], _peers(body).get(query, {})
    found = [Contestant("thud, 1 core", _on_one_core(own), 1)]
    if len(cores) > 1:
        found.append(Contestant(f"thud, {cores[-1]} cores", own, 1))
    return found + [Contestant(name, _on_one_core(run), 1) for name, run in peers.items()]


_REFERENCES = {"raycast": "embreex", "closest point": "libigl"}
_QUERIES = ("intersects a box", "intersects a mesh", "distance to a mesh", "raycast", "closest point", "contains")


def _large(report: Report, triangles: int, rounds: int, cores: list[int]) -> None:
    body = Body("ball", *families.ball(triangles, 1), closed=True)
    scene = f"ball of {len(body.faces):,} triangles"
    few = Body("ball", *families.ball(2_000, 1), closed=True)
    for query in _QUERIES:
        for one in _contestants(few, query, cores):
            one.run()  # which warms the kernels: each run here has a mesh of its own, and takes seconds
        contestants = _contestants(body, query, cores)
        reference = _REFERENCES.get(query, "coal OBBRSS")
        report.race(scene, f"first call: {query}", reference, contestants, max(2, rounds // 2), warm=False)
        if len(cores) > 1 and query == "intersects a box":
            report.race(scene, f"first call: {query}, more cores", "thud, 1 core", contestants[:2], rounds, warm=False)


def _bytes(report: Report, triangles: int) -> None:
    """Of the arrays a mesh holds after each of its queries, the user's vertices and faces included."""
    body = Body("ball", *families.ball(triangles, 1), closed=True)
    scene, count = f"ball of {len(body.faces):,} triangles", len(body.faces)
    runs = _ours(body)
    for name, queries in (
        ("booleans", ["intersects a mesh"]),
        ("booleans, distances and rays", ["intersects a mesh", "distance to a mesh", "raycast"]),
        ("all queries", list(runs)),
    ):
        mesh = thud.TriangleMesh(body.vertices, body.faces)
        small = thud.TriangleMesh(*families.ball(2_000, 9))
        asks: dict[str, Callable[[], object]] = {
            "intersects a box": lambda mesh=mesh: thud.intersects(mesh, _BOX),
            "intersects a mesh": lambda mesh=mesh, small=small: thud.intersects(mesh, small),
            "distance to a mesh": lambda mesh=mesh, small=small: thud.distance(mesh, small, None, [4.0, 0, 0, 1, 0, 0, 0]),
            "raycast": lambda mesh=mesh: thud.raycast(mesh, _ORIGINS, _DIRECTIONS),
            "closest point": lambda mesh=mesh: thud.closest_point(mesh, _POINT),
            "contains": lambda mesh=mesh: thud.contains(mesh, _POINT),
        }
        for query in queries:
            asks[query]()
        report.note(scene, "bytes a triangle", f"thud, after {name}: {array_bytes(mesh) / count:.0f}")
    if installed("coal"):
        model = coal_mesh(body.vertices, body.faces)
        report.note(scene, "bytes a triangle", f"coal OBBRSS, by its memUsage: {model.memUsage(False) / count:.0f}")


def _family(report: Report, triangles: int, rounds: int, cores: list[int]) -> None:
    made = families.bodies(triangles)
    for query in _QUERIES:

        def races(query: str = query) -> Iterator[tuple[str, list[Contestant]]]:
            for body in made:
                if body.closed or query != "contains":
                    yield body.name, _contestants(body, query, cores)

        reference = _REFERENCES.get(query, "coal OBBRSS")
        scene = f"family of meshes of {triangles:,} triangles"
        report.family(scene, f"first call: {query}", reference, races(), max(2, rounds // 2))


def _growth(report: Report, sizes: list[int], most: int, rounds: int, cores: list[int]) -> None:
    def make(triangles: int) -> list[Contestant]:
        body = Body("ball", *families.ball(triangles, 1), closed=True)
        found = _contestants(body, "intersects a box", cores)
        return found if triangles <= most else [one for one in found if one.name.startswith("thud")]

    report.growth(
        "ball", "first call: intersects a box", "triangles", "coal OBBRSS", sizes, make, max(2, rounds // 2), warm=False
    )


#: Run in a process of its own, which nothing else has made large.
_ALONE = """
import json, sys, time
import numpy as np
import thud
from benchmarks import families
from benchmarks.memory import peak_megabytes
warm = thud.TriangleMesh(*families.ball(1000, 1))
box = thud.Box([0.3, 0.3, 0.3])
thud.intersects(warm, box)
vertices, faces = families.ball(int(sys.argv[1]), 1)
before, begin = peak_megabytes(), time.perf_counter()
mesh = thud.TriangleMesh(vertices, faces)
thud.intersects(mesh, box, None, [1.0, 0, 0, 1, 0, 0, 0])
print(json.dumps([time.perf_counter() - begin, before, peak_megabytes(), len(faces)]))
"""


def _memory(report: Report, sizes: list[int]) -> None:
    """Most memory a process needs on the way to the first answer."""
    for size in sizes[-2:]:
        done = subprocess.run(
            [sys.executable, "-c", _ALONE, str(size)], check=True, capture_output=True, text=True, cwd=Path(__file__).parents[1]
        )
        seconds, before, after, count = json.loads(done.stdout.splitlines()[-1])
        text = (
            f"first intersects in {seconds:.2f} s; {after:.0f} MB at the peak, {before:.0f} MB before (arrays and all imports)"
        )
        report.note(f"ball of {count:,} triangles", "memory of a process", text)


def run(size: str) -> None:
    triangles, each, rounds, sizes, most = _SIZES[size]
    cores = list(range(1, min(2, core_count()) + 1))
    report = Report("mesh_build")
    _large(report, triangles, rounds, cores)
    _bytes(report, triangles)
    _family(report, each, rounds, cores)
    _growth(report, sizes, most, rounds, cores)
    _memory(report, sizes)
    report.save()
