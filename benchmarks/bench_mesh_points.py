"""Rays and points against one mesh: first hits against Embree, closest points and containment against trimesh, libigl and
point-cloud-utils. Everybody has one core."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report, one_core

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: (cells of the terrain along a side, rays, rings of the closed mesh, points, points for trimesh, rounds)
_SIZES = {
    "ci": (60, 20_000, 20, 2_000, 200, 2),
    "standard": (387, 1_000_000, 100, 100_000, 2_000, 7),
    "full": (1000, 4_000_000, 400, 1_000_000, 5_000, 9),
}


def terrain(rng: np.random.Generator, cells: int, size: float = 100.0) -> tuple[Floats, Ints]:
    """A height field of 2 * cells**2 triangles: a sum of sines."""
    x = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    gx, gy = np.meshgrid(x, x, indexing="ij")
    height = np.zeros_like(gx)
    for _ in range(12):
        k = rng.normal(size=2) * 0.3
        height += rng.uniform(0.2, 1.5) * np.sin(k[0] * gx + k[1] * gy + rng.uniform(0, 6))
    row = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = row[:-1, :-1].ravel(), row[1:, :-1].ravel(), row[1:, 1:].ravel(), row[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.stack([gx, gy, height], axis=-1).reshape(-1, 3), faces


def blob(rings: int) -> tuple[Floats, Ints]:
    """A closed bumpy surface of about 4 * rings**2 triangles."""
    segments = 2 * rings
    theta, phi = np.linspace(0, np.pi, rings + 1)[1:-1], np.linspace(0, 2 * np.pi, segments, endpoint=False)
    t, p = (grid.ravel() for grid in np.meshgrid(theta, phi, indexing="ij"))
    radius = 1.0 + 0.2 * np.sin(3 * t) * np.cos(4 * p) + 0.03 * np.sin(17 * t) * np.cos(23 * p)
    ring = np.stack([radius * np.sin(t) * np.cos(p), radius * np.sin(t) * np.sin(p), radius * np.cos(t)], axis=1)
    vertices = np.concatenate([[[0, 0, 1.0]], ring, [[0, 0, -1.0]]])
    k = np.arange(segments)
    after = (k + 1) % segments
    faces = [np.stack([0 * k, 1 + k, 1 + after], axis=1)]
    for r in range(rings - 2):
        a, b = 1 + r * segments + k, 1 + r * segments + after
        faces += [np.stack([a, a + segments, b + segments], axis=1), np.stack([a, b + segments, b], axis=1)]
    last = 1 + (rings - 2) * segments
    faces.append(np.stack([0 * k + len(vertices) - 1, last + after, last + k], axis=1))
    return vertices, np.concatenate(faces)


def _peer(package: str, make: Callable[[], Contestant]) -> list[Contestant]:
    """The contestant, if its package is installed."""
    try:
        return [make()]
    except ImportError:
        print(f"  {package} is not installed")
        return []


def _rays(report: Report, cells: int, count: int, rounds: int) -> None:
    rng = np.random.default_rng(0)
    vertices, faces = terrain(rng, cells)
    mesh = thud.TriangleMesh(vertices, faces)
    origins = np.stack([rng.uniform(-50, 50, count), rng.uniform(-50, 50, count), rng.uniform(8, 20, count)], axis=1)
    directions = rng.normal(size=(count, 3))
    directions[:, 2] = -0.72 * np.abs(directions[:, 2])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    name, query = f"terrain of {len(faces)} triangles", "first hit of incoherent rays"

    def embree() -> Contestant:
        from embreex import rtcore_scene
        from embreex.mesh_construction import TriangleMesh

        scene = rtcore_scene.EmbreeScene()
        TriangleMesh(scene, vertices.astype(np.float32), faces.astype(np.int32))
        o, d = origins.astype(np.float32), directions.astype(np.float32)
        return Contestant("embreex", lambda: scene.run(o, d, output=True), count)

    ours = Contestant("thud, 1 thread", lambda: thud.raycast(mesh, origins, directions, threads=1), count)
    peers = _peer("embreex", embree)
    report.race(name, query, peers[0].name if peers else ours.name, [ours, *peers], rounds)
    hits = thud.raycast(mesh, origins, directions)
    report.note(name, query, f"{(hits.triangle >= 0).mean():.1%} of {count} rays hit")
    for peer in peers:
        theirs = peer.run()
        both = (hits.triangle >= 0) & (theirs["primID"] >= 0)  # type: ignore[index]
        error = np.abs(theirs["tfar"] - hits.distance)[both] / hits.distance[both]  # type: ignore[index]
        same = ((hits.triangle >= 0) == (theirs["primID"] >= 0)).mean()  # type: ignore[index]
        report.note(
            name, query, f"{peer.name}: {same:.4%} alike, of the common hits {(error < 1e-5).mean():.4%} within 1e-5 relative"
        )


def _points(report: Report, rings: int, count: int, few: int, rounds: int) -> None:
    vertices, faces = blob(rings)
    rng = np.random.default_rng(1)
    points = rng.uniform(-1.3, 1.3, (count, 3))
    mesh = thud.TriangleMesh(vertices, faces)
    name = f"closed mesh of {len(faces)} triangles"

    def slow() -> object:
        import trimesh

        return trimesh.Trimesh(vertices, faces, process=False)

    def trimesh_closest() -> Contestant:
        from trimesh.proximity import closest_point

        other = slow()
        return Contestant("trimesh", lambda: closest_point(other, points[:few])[1], few)

    def igl_closest() -> Contestant:
        import igl

        # The tree is built once, as ours is.
        tree = igl.AABB()
        tree.init(vertices, faces)
        return Contestant("libigl", lambda: np.sqrt(tree.squared_distance(vertices, faces, points)[0]), count)

    def pcu_closest() -> Contestant:
        import point_cloud_utils as pcu

        return Contestant("point-cloud-utils", lambda: pcu.closest_points_on_mesh(points, vertices, faces)[0], count)

    ours = Contestant("thud, 1 thread", lambda: thud.closest_point(mesh, points, threads=1).distance, count)
    peers = _peer("trimesh", trimesh_closest) + _peer("libigl", igl_closest) + _peer("point-cloud-utils", pcu_closest)
    report.race(name, "closest point", ours.name, [ours, *peers], rounds)
    mine = thud.closest_point(mesh, points).distance
    for peer in peers:
        theirs = np.asarray(peer.run())
        error = np.abs(theirs - mine[: len(theirs)]).max()
        report.note(name, "closest point", f"{peer.name}: distances differ by up to {error:.1e}")

    def trimesh_contains() -> Contestant:
        other = slow()
        return Contestant("trimesh", lambda: other.contains(points[:few]), few)  # type: ignore[attr-defined]

    def igl_contains() -> Contestant:
        import igl

        # Each call builds its tree anew: for meshes the binding has no other.
        return Contestant("libigl, fast winding number", lambda: igl.fast_winding_number(vertices, faces, points) > 0.5, count)

    def pcu_contains() -> Contestant:
        import point_cloud_utils as pcu

        run = pcu.triangle_soup_fast_winding_number
        return Contestant("point-cloud-utils, fast winding number", lambda: run(vertices, faces, points) > 0.5, count)

    own = [
        Contestant(f"thud, {method}, 1 thread", lambda m=method: thud.contains(mesh, points, method=m, threads=1), count)
        for method in ("ray", "grid", "winding")
    ]
    peers = _peer("trimesh", trimesh_contains) + _peer("libigl", igl_contains) + _peer("point-cloud-utils", pcu_contains)
    report.race(name, "contains", own[0].name, [*own, *peers], rounds)
    inside = thud.contains(mesh, points)
    report.note(name, "contains", f"{inside.mean():.1%} of the points lie inside")
    for peer in [*own[1:], *peers]:
        theirs = np.asarray(peer.run())
        report.note(name, "contains", f"{peer.name}: {int((theirs != inside[: len(theirs)]).sum())} points differ")


def run(size: str) -> None:
    cells, rays, rings, points, few, rounds = _SIZES[size]
    report = Report("mesh_points")
    with one_core():
        _rays(report, cells, rays, rounds)
        _points(report, rings, points, few, rounds)
    report.save()
