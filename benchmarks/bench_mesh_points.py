"""Rays and points against one mesh: first hits beside Embree, closest points and containment beside trimesh, libigl and
point-cloud-utils. Everybody has one core.

Families: rays on terrain and on closed and open bodies, from outside, from inside, along the surface, past the body and from a
camera; points about all bodies. Single rays and points; growth with the number of triangles and of rays. (First calls:
`bench_mesh_build`.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from benchmarks.asking import decades, repeated
from benchmarks.families import Body, Rays
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import embree_scene

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: (triangles of the large terrain, its rays, triangles of the family, its rays and points, points for trimesh, rounds, most
#: triangles and rays of the growth)
_SIZES = {
    "ci": (7_200, 20_000, 500, 500, 50, 2, 5_000, 500),
    "standard": (299_538, 1_000_000, 70_000, 100_000, 500, 7, 1_000_000, 1_000_000),
    "full": (2_000_000, 4_000_000, 300_000, 500_000, 5_000, 9, 3_000_000, 10_000_000),
}


def _peer(package: str, make: Callable[[], Contestant]) -> list[Contestant]:
    """The contestant, if its package is installed."""
    try:
        return [make()]
    except ImportError:
        print(f"  {package} is not installed")
        return []


# Rays -----------------------------------------------------------------------------------------------------------------------


def _embree(rays: Rays, query: str = "INTERSECT") -> Contestant:
    """The scene built, rays in its own type: nothing but rays is timed."""
    scene = embree_scene(rays.body.vertices, rays.body.faces)
    o, d = rays.origins.astype(np.float32), rays.directions.astype(np.float32)
    if query == "INTERSECT":
        return Contestant("embreex", lambda: scene.run(o, d, output=True), len(o))
    return Contestant("embreex", lambda: scene.run(o, d, query=query), len(o))


def _race_rays(rays: Rays, mesh: thud.TriangleMesh, any_hit: bool = False) -> list[Contestant]:
    origins, directions = rays.origins, rays.directions
    single = origins.astype(np.float32), directions.astype(np.float32)
    count = len(origins)
    ours = [
        Contestant("thud, float64", lambda: thud.raycast(mesh, origins, directions, any_hit=any_hit, threads=1), count),
        Contestant("thud, float32", lambda: thud.raycast(mesh, *single, any_hit=any_hit, threads=1), count),
    ]
    return ours + _peer("embreex", lambda: _embree(rays, "OCCLUDED" if any_hit else "INTERSECT"))


def _alike(rays: Rays, mesh: thud.TriangleMesh, contestants: list[Contestant]) -> str:
    """Hit rate, and what embreex says to the same rays."""
    hits = thud.raycast(mesh, rays.origins, rays.directions)
    text = f"{rays.name}: {(hits.triangle >= 0).mean():.1%} of {len(rays.origins)} rays hit"
    for peer in contestants:
        if peer.name == "embreex":
            theirs = peer.run()
            both = (hits.triangle >= 0) & (theirs["primID"] >= 0)  # type: ignore[index]
            error = np.abs(theirs["tfar"] - hits.distance)[both] / hits.distance[both]  # type: ignore[index]
            same = ((hits.triangle >= 0) == (theirs["primID"] >= 0)).mean()  # type: ignore[index]
            text += f"; embreex: {same:.4%} alike, of the common hits {(error < 1e-5).mean():.4%} within 1e-5 relative"
    return text


def _large_terrain(report: Report, triangles: int, count: int, rounds: int) -> None:
    body = Body("terrain", *families.terrain(triangles, 0), closed=False)
    rays = Rays("terrain", body, *families.rays_over_terrain(np.random.default_rng(0), body, count))
    mesh = body.mesh()
    contestants = _race_rays(rays, mesh)
    name, query = f"terrain of {len(body.faces)} triangles", "first hit of incoherent rays"
    report.race(name, query, contestants[-1].name, contestants, rounds)
    report.note(name, query, _alike(rays, mesh, contestants))


def _family_of_rays(report: Report, triangles: int, count: int, rounds: int) -> None:
    members = families.rays(triangles, count)
    meshes = {rays.body.name: rays.body.mesh() for rays in members}
    scene = f"family of rays on meshes of {triangles:,} triangles"

    def races(any_hit: bool) -> Iterator[tuple[str, list[Contestant]]]:
        for rays in members:
            contestants = _race_rays(rays, meshes[rays.body.name], any_hit)
            if not any_hit:
                report.note(scene, "first hit", _alike(rays, meshes[rays.body.name], contestants))
            yield rays.name, contestants

    report.family(scene, "first hit", "embreex", races(False), rounds)
    report.family(scene, "any hit", "embreex", races(True), rounds)

    def singles() -> Iterator[tuple[str, list[Contestant]]]:
        for rays in members:
            mesh, calls = meshes[rays.body.name], list(zip(rays.origins[:200], rays.directions[:200], strict=True))

            def ours(mesh: thud.TriangleMesh = mesh, calls: list[tuple[Floats, Floats]] = calls) -> None:
                for o, d in calls:
                    thud.raycast(mesh, o, d)

            def embree(rays: Rays = rays, calls: list[tuple[Floats, Floats]] = calls) -> Contestant:
                scene = embree_scene(rays.body.vertices, rays.body.faces)
                rows = [(o[None].astype(np.float32), d[None].astype(np.float32)) for o, d in calls]

                def run() -> None:
                    for o, d in rows:
                        scene.run(o, d, output=True)

                return Contestant("embreex", run, len(rows))

            yield rays.name, [Contestant("thud, (3,)", ours, len(calls)), *_peer("embreex", embree)]

    report.family(scene, "first hit, single calls", "embreex", singles(), rounds)


def _growth_of_rays(report: Report, most_triangles: int, most_rays: int, rounds: int) -> None:
    rng = np.random.default_rng(5)

    def by_triangles(triangles: int) -> list[Contestant]:
        body = Body("ball", *families.ball(triangles, 1), closed=True)
        rays = Rays("ball", body, *families.rays_from_outside(rng, body, 20_000))
        return [Contestant(c.name, c.run, 1) for c in _race_rays(rays, body.mesh())]

    sizes = decades(most_triangles // 1000 if most_triangles > 10_000 else most_triangles // 10, most_triangles)
    report.growth("20,000 rays on a ball, from outside", "first hit", "triangles", "embreex", sizes, by_triangles, rounds)
    ball = Body("ball", *families.ball(min(70_000, most_triangles), 1), closed=True)
    mesh, whole = ball.mesh(), Rays("ball", ball, *families.rays_from_outside(rng, ball, most_rays))

    def by_rays(count: int) -> list[Contestant]:
        part = Rays("ball", ball, whole.origins[:count], whole.directions[:count])
        times = max(1, 1000 // count)
        return [Contestant(c.name, repeated(c.run, times), times) for c in _race_rays(part, mesh)]

    report.growth(
        f"a ball of {len(ball.faces):,} triangles", "first hit", "rays", "embreex", decades(1, most_rays), by_rays, rounds
    )


# Points ---------------------------------------------------------------------------------------------------------------------


def _closest(body: Body, mesh: thud.TriangleMesh, points: Floats, few: int) -> list[Contestant]:
    vertices, faces, count = body.vertices, body.faces, len(points)

    def by_trimesh() -> Contestant:
        import trimesh
        from trimesh.proximity import closest_point

        other = trimesh.Trimesh(vertices, faces, process=False)
        return Contestant("trimesh", lambda: closest_point(other, points[:few])[1], few)

    def by_igl() -> Contestant:
        import igl

        # The tree is built once, as ours is.
        tree = igl.AABB()
        tree.init(vertices, faces)
        return Contestant("libigl", lambda: np.sqrt(tree.squared_distance(vertices, faces, points)[0]), count)

    def by_pcu() -> Contestant:
        import point_cloud_utils as pcu

        return Contestant("point-cloud-utils", lambda: pcu.closest_points_on_mesh(points, vertices, faces)[0], count)

    ours = Contestant("thud, 1 thread", lambda: thud.closest_point(mesh, points, threads=1).distance, count)
    return [ours, *_peer("trimesh", by_trimesh), *_peer("libigl", by_igl), *_peer("point-cloud-utils", by_pcu)]


_WINDING = "point-cloud-utils, fast winding number"


def _contains(body: Body, mesh: thud.TriangleMesh, points: Floats, few: int) -> list[Contestant]:
    vertices, faces, count = body.vertices, body.faces, len(points)

    def by_trimesh() -> Contestant:
        import trimesh

        other = trimesh.Trimesh(vertices, faces, process=False)
        return Contestant("trimesh", lambda: other.contains(points[:few]), few)

    def by_igl() -> Contestant:
        import igl

        # Each call builds its tree anew: for meshes the binding has no other.
        return Contestant("libigl, fast winding number", lambda: igl.fast_winding_number(vertices, faces, points) > 0.5, count)

    def by_pcu() -> Contestant:
        import point_cloud_utils as pcu

        run = pcu.triangle_soup_fast_winding_number
        return Contestant(_WINDING, lambda: run(vertices, faces, points) > 0.5, count)

    own = [
        Contestant(f"thud, {method}, 1 thread", lambda m=method: thud.contains(mesh, points, method=m, threads=1), count)
        for method in ("ray", "grid", "winding")
    ]
    return [*own, *_peer("trimesh", by_trimesh), *_peer("libigl", by_igl), *_peer("point-cloud-utils", by_pcu)]


def _family_of_points(report: Report, triangles: int, count: int, few: int, rounds: int) -> None:
    bodies = families.bodies(triangles)
    meshes = {body.name: body.mesh() for body in bodies}
    points = {body.name: families.points_about(body, count, k) for k, body in enumerate(bodies)}
    scene = f"family of points about meshes of {triangles:,} triangles"

    def closest() -> Iterator[tuple[str, list[Contestant]]]:
        for body in bodies:
            contestants = _closest(body, meshes[body.name], points[body.name], few)
            yield body.name, contestants
            mine = np.asarray(contestants[0].run())
            for peer in contestants[1:]:
                theirs = np.asarray(peer.run())
                error = np.abs(theirs - mine[: len(theirs)]).max()
                report.note(scene, "closest point", f"{body.name}, {peer.name}: distances differ by up to {error:.1e}")

    report.family(scene, "closest point", "libigl", closest(), max(2, rounds // 2))

    def contains() -> Iterator[tuple[str, list[Contestant]]]:
        for body in bodies:
            if not body.closed:
                continue
            contestants = _contains(body, meshes[body.name], points[body.name], few)
            yield body.name, contestants
            inside = np.asarray(contestants[0].run())
            report.note(scene, "contains", f"{body.name}: {inside.mean():.1%} of the points lie inside")
            for peer in contestants[1:]:
                theirs = np.asarray(peer.run())
                differ = int((theirs != inside[: len(theirs)]).sum())
                report.note(scene, "contains", f"{body.name}, {peer.name}: {differ} points differ")

    report.family(scene, "contains", _WINDING, contains(), max(2, rounds // 2))

    def singles() -> Iterator[tuple[str, list[Contestant]]]:
        for body in bodies:
            mesh, rows = meshes[body.name], list(points[body.name][:200])

            def ours(mesh: thud.TriangleMesh = mesh, rows: list[Floats] = rows) -> None:
                for point in rows:
                    thud.closest_point(mesh, point)

            def by_igl(body: Body = body, rows: list[Floats] = rows) -> Contestant:
                import igl

                tree = igl.AABB()
                tree.init(body.vertices, body.faces)
                single = [point[None].copy() for point in rows]

                def run() -> None:
                    for point in single:
                        tree.squared_distance(body.vertices, body.faces, point)

                return Contestant("libigl", run, len(rows))

            yield body.name, [Contestant("thud, (3,)", ours, len(rows)), *_peer("libigl", by_igl)]

    report.family(scene, "closest point, single calls", "libigl", singles(), max(2, rounds // 2))


def _growth_of_points(report: Report, most: int, rounds: int) -> None:
    def make(triangles: int) -> list[Contestant]:
        body = Body("ball", *families.ball(triangles, 1), closed=True)
        points = families.points_about(body, 10_000, 3)
        mesh = body.mesh()
        found = [c for c in _closest(body, mesh, points, 10) if c.name in ("thud, 1 thread", "libigl")]
        return [Contestant(c.name, c.run, 1) for c in found]

    sizes = decades(most // 1000 if most > 10_000 else most // 10, most)
    report.growth("10,000 points about a ball", "closest point", "triangles", "libigl", sizes, make, rounds)


def run(size: str) -> None:
    triangles, rays, each, count, few, rounds, most_triangles, most_rays = _SIZES[size]
    report = Report("mesh_points")
    with one_core():
        _large_terrain(report, triangles, rays, rounds)
        _family_of_rays(report, each, count, rounds)
        _growth_of_rays(report, most_triangles, most_rays, max(2, rounds // 2))
        _family_of_points(report, each, count // 4, few, rounds)
        _growth_of_points(report, most_triangles, max(2, rounds // 2))
    report.save()
