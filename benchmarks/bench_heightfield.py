"""Ground over a regular grid: our height field beside our mesh of the same ground, coal's height field, coal's mesh where its
height field has no answer (distance), and Embree for rays. Build, bytes, boolean, distance, rays. Everybody has one core. The
meshes are open surfaces: what lies below them does not touch."""

from __future__ import annotations

import gc
import os
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report, one_core

Floats = npt.NDArray[np.float64]

#: (samples a side with the peers, samples a side of ours alone, poses of ours, poses of the peers, rays, rounds)
_SIZES: dict[str, tuple[tuple[int, ...], tuple[int, ...], int, int, int, int]] = {
    "ci": ((33,), (), 500, 50, 2_000, 2),
    "standard": ((129, 513, 1025), (4097,), 20_000, 500, 500_000, 5),
    "full": ((129, 513, 1025, 2049), (4097, 8193), 50_000, 2_000, 2_000_000, 9),
}

#: Metres a side of the ground, whatever its samples.
_SIDE = 64.0


def heights(samples: int) -> npt.NDArray[np.float32]:
    """Hills of all sizes: 9.6 m from the lowest to the highest place, a slope of 0.7 in the mean."""
    rng = np.random.default_rng(0)
    y, x = np.mgrid[:samples, :samples] / (samples - 1.0)
    z = np.zeros((samples, samples))
    for octave in range(1, 9):
        for _ in range(3):
            k = rng.normal(size=2) * 3.0 * 2.0**octave
            z += 4.0 * 2.0**-octave * np.sin(k[0] * x + k[1] * y + rng.uniform(0.0, 6.0))
    return z.astype(np.float32)


def make_field(z: npt.NDArray[Any], **options: Any) -> thud.HeightField:
    """Ours, about the origin."""
    return thud.HeightField(z, _SIDE / (z.shape[0] - 1), (-0.5 * _SIDE, -0.5 * _SIDE, 0.0), **options)


def _resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _array_bytes(thing: Any, seen: set[int] | None = None) -> int:
    """Bytes of all arrays that a shape holds, those that queries made included."""
    seen = set() if seen is None else seen
    if id(thing) in seen:
        return 0
    seen.add(id(thing))
    if isinstance(thing, np.ndarray):
        return thing.nbytes if thing.base is None else _array_bytes(thing.base, seen)
    if isinstance(thing, tuple | list):
        return sum(_array_bytes(part, seen) for part in thing)
    return sum(_array_bytes(part, seen) for part in getattr(thing, "__dict__", {}).values())


class _Coal:
    """coal's height field with one of its trees, and its mesh."""

    def __init__(self, z: npt.NDArray[Any], poses: Floats) -> None:
        import coal

        self.coal = coal
        # Rows from the far side on, the least height below all.
        self.z, self.floor = np.asfortranarray(np.flipud(z).astype(np.float64)), float(z.min()) - 10.0
        self.home = coal.Transform3s.Identity()
        self.at = [coal.Transform3s(coal.Quaternion(*row[3:]), row[:3]) for row in poses]

    def field(self, tree: str) -> Any:
        """A height field."""
        return getattr(self.coal, f"HeightField{tree}")(_SIDE, _SIDE, self.z, self.floor)

    def mesh(self, vertices: Floats, faces: npt.NDArray[np.int64]) -> Any:
        """A mesh."""
        model, points, triangles = self.coal.BVHModelOBBRSS(), self.coal.StdVec_Vec3s(), self.coal.StdVec_Triangle()
        for vertex in vertices:
            points.append(vertex)
        for i, j, k in faces.tolist():
            triangles.append(self.coal.Triangle(i, j, k))
        model.beginModel(len(faces), len(vertices))
        model.addSubModel(points, triangles)
        model.endModel()
        return model

    def shape(self, shape: Any) -> Any:
        """A sphere or a box."""
        if isinstance(shape, thud.Sphere):
            return self.coal.Sphere(shape.radius)
        return self.coal.Box(*(2.0 * np.asarray(shape.half_extents)).tolist())

    def boolean(self, ground: Any, shape: Any) -> npt.NDArray[np.bool_]:
        """Without contacts."""
        request, hits = self.coal.CollisionRequest(), []
        request.enable_contact, request.num_max_contacts = False, 1
        result = self.coal.CollisionResult()
        for at in self.at:
            result.clear()
            hits.append(self.coal.collide(ground, self.home, shape, at, request, result) > 0)
        return np.array(hits)

    def distance(self, ground: Any, shape: Any) -> Floats:
        """Unsigned."""
        request, result, found = self.coal.DistanceRequest(), self.coal.DistanceResult(), []
        request.enable_signed_distance = False
        for at in self.at:
            result.clear()
            found.append(self.coal.distance(ground, self.home, shape, at, request, result))
        return np.array(found)


def _build(report: Report, z: npt.NDArray[np.float32], mesh: bool, peers: bool, rounds: int) -> None:
    name, query = f"{z.shape[0]} x {z.shape[0]} samples", "build"
    ours = Contestant("thud field float32", lambda: make_field(z).grid, 1)
    rivals = [ours]
    if mesh:
        vertices, faces, _ = make_field(z).surface()

        def built() -> object:
            # What the first boolean and the first distance of a convex shape make.
            made = thud.TriangleMesh(vertices, faces)
            return made.pair_tree, made.pair_obbs

        rivals.append(Contestant("thud mesh", built, 1))
    coal = None
    if peers:
        coal = _Coal(z, np.empty((0, 7)))
        for tree in ("OBBRSS", "AABB"):
            rivals.append(Contestant(f"coal field {tree}", lambda tree=tree: coal.field(tree), 1))  # type: ignore[misc]
    report.race(name, query, ours.name, rivals, max(2, rounds // 2))
    sizes = {}
    for kind in (np.float64, np.float32, np.int16):
        field = make_field((z / 1e-3).astype(kind), scale=1e-3) if kind is np.int16 else make_field(z.astype(kind))
        sizes[f"thud field {np.dtype(kind)}"] = field.nbytes
    if mesh:
        made = thud.TriangleMesh(vertices, faces)
        _ = made.pair_tree, made.pair_obbs, made.wide
        sizes["thud mesh, with trees for pairs and rays"] = _array_bytes(made)
    if coal is not None:
        for tree in ("OBBRSS", "AABB"):
            gc.collect()
            before = _resident()
            kept = coal.field(tree)
            sizes[f"coal field {tree} (process growth)"] = _resident() - before
            del kept
    for who, size in sizes.items():
        report.note(name, "bytes", f"{who}: {size / 1e6:.3f} MB, {size / z.size:.2f} a sample")


def _queries(
    report: Report, z: npt.NDArray[np.float32], mesh: thud.TriangleMesh | None, count: int, few: int, rounds: int
) -> None:
    """Spheres and boxes of about a metre, touching the ground or up to a metre above it."""
    name, field, rng = f"{z.shape[0]} x {z.shape[0]} samples", make_field(z), np.random.default_rng(1)
    across = rng.uniform(-0.45 * _SIDE, 0.45 * _SIDE, (count, 2))
    top = thud.raycast(field, np.column_stack([across, np.full(count, 50.0)]), [0.0, 0.0, -1.0]).point[:, 2]
    turns = rng.normal(size=(count, 4))
    turns /= np.linalg.norm(turns, axis=1)[:, None]
    poses = np.column_stack([across, top + rng.uniform(0.0, 1.5, count), turns])
    few = min(few, count)
    coal = ground = model = None
    if mesh is not None:
        try:
            coal = _Coal(z, poses[:few])
            ground = {tree: coal.field(tree) for tree in ("OBBRSS", "AABB")}
            model = coal.mesh(np.asarray(mesh.vertices), np.asarray(mesh.faces))
        except ImportError:
            print("  coal is not installed")
    for shape in (thud.Sphere(0.5), thud.Box((0.5, 0.4, 0.3))):
        scene = f"{name}, {type(shape).__name__.lower()}"
        ours = Contestant("thud field", lambda s=shape: thud.intersects(field, s, None, poses, threads=1), count)  # type: ignore[misc]
        rivals = [ours]
        if mesh is not None:
            rivals.append(Contestant("thud mesh", lambda s=shape: thud.intersects(mesh, s, None, poses, threads=1), count))  # type: ignore[misc]
        if coal is not None and ground is not None:
            solid = coal.shape(shape)
            for tree, one in ground.items():
                rivals.append(
                    Contestant(f"coal field {tree}", lambda g=one, s=solid: coal.boolean(g, s), few)  # type: ignore[misc]
                )
        reference = rivals[-1].name if coal is not None else ours.name
        report.race(scene, "boolean", reference, rivals, rounds)
        hits = thud.intersects(field, shape, None, poses)
        report.note(scene, "boolean", f"{hits.mean():.1%} of {count} meet the ground")
        if coal is not None and ground is not None:
            other = sum(int((coal.boolean(one, coal.shape(shape)) != hits[:few]).sum()) for one in ground.values())
            report.note(scene, "boolean", f"coal field: {other} of {2 * few} answers differ")
        ours = Contestant("thud field", lambda s=shape: thud.distance(field, s, None, poses, threads=1), count)  # type: ignore[misc]
        rivals = [ours]
        if mesh is not None:
            rivals.append(Contestant("thud mesh", lambda s=shape: thud.distance(mesh, s, None, poses, threads=1), count))  # type: ignore[misc]
        if coal is not None and model is not None:
            solid = coal.shape(shape)
            rivals.append(Contestant("coal mesh OBBRSS", lambda s=solid: coal.distance(model, s), few))  # type: ignore[misc]
        report.race(scene, "distance", rivals[-1].name, rivals, rounds)
        gap = thud.distance(field, shape, None, poses).distance
        apart = gap > 0.0
        if mesh is not None:
            off = np.abs(thud.distance(mesh, shape, None, poses).distance - gap)[apart].max()
            report.note(scene, "distance", f"thud mesh: distances differ by up to {off:.1e} where they are apart")
        if coal is not None and model is not None:
            theirs = coal.distance(model, coal.shape(shape))
            off = np.abs(theirs - gap[:few])[apart[:few]].max()
            report.note(scene, "distance", f"coal mesh: by up to {off:.1e}; coal has no distance of its height field")


def _rays(report: Report, z: npt.NDArray[np.float32], mesh: thud.TriangleMesh | None, count: int, rounds: int) -> None:
    name, query, field, rng = f"{z.shape[0]} x {z.shape[0]} samples", "rays", make_field(z), np.random.default_rng(2)
    origins = np.column_stack([rng.uniform(-0.5 * _SIDE, 0.5 * _SIDE, (count, 2)), rng.uniform(5.0, 15.0, count)])
    directions = rng.normal(size=(count, 3))
    directions[:, 2] = -0.72 * np.abs(directions[:, 2])
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    rivals = [Contestant("thud field", lambda: thud.raycast(field, origins, directions, threads=1), count)]
    scene: Any = None
    if mesh is not None:
        rivals.append(Contestant("thud mesh", lambda: thud.raycast(mesh, origins, directions, threads=1), count))
        try:
            from embreex import rtcore_scene
            from embreex.mesh_construction import TriangleMesh

            scene = rtcore_scene.EmbreeScene()
            TriangleMesh(scene, np.asarray(mesh.vertices, np.float32), np.asarray(mesh.faces, np.int32))
            o, d = origins.astype(np.float32), directions.astype(np.float32)
            rivals.append(Contestant("embreex", lambda: scene.run(o, d, output=True), count))
        except ImportError:
            print("  embreex is not installed")
    report.race(name, query, rivals[-1].name, rivals, rounds)
    hits = thud.raycast(field, origins, directions)
    seen = hits.normal[:, 2] > 1e-6
    report.note(name, query, f"{np.isfinite(hits.distance).mean():.1%} of {count} rays hit")
    if scene is not None:
        theirs = scene.run(o, d, output=True)
        struck = theirs["primID"] >= 0
        both = struck & seen
        error = np.abs(theirs["tfar"][both] - hits.distance[both]) / hits.distance[both]
        # Walls at the border are the field's alone.
        alike = (struck == seen)[seen | struck].mean()
        report.note(
            name, query, f"embreex: {alike:.4%} of hits on triangles alike, {(error < 1e-5).mean():.4%} within 1e-5 relative"
        )


def run(size: str = "standard") -> Report:
    """Run it and write the CSV."""
    with_peers, alone, count, few, rays, rounds = _SIZES[size]
    report = Report("heightfield")
    with one_core():
        for samples in (*with_peers, *alone):
            z = heights(samples)
            both = samples in with_peers
            try:
                import coal  # noqa: F401

                peers = both
            except ImportError:
                peers = False
            _build(report, z, both, peers, rounds)
            mesh = thud.TriangleMesh(*make_field(z).surface()[:2]) if both else None
            _queries(report, z, mesh, count, few, rounds)
            _rays(report, z, mesh, rays, rounds)
    report.save()
    return report
