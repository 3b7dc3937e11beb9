"""Displaced surfaces: building them; a warship over terrain against the same surface as triangles, in coal and in our own mesh
code; contacts of bodies that lie in hills, likewise; bytes a sample held; backward projections a second; bounding maps against
MMA. One thread."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import peers
from benchmarks.asking import decades
from benchmarks.bounding_maps_race import bounding_maps_race
from benchmarks.families import as_pose, pose_rows, terrain, unit
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.memory import array_bytes
from benchmarks.peers import installed
from reproductions.terrains import CAVE_DOMAIN, cave_field
from reproductions.warship import warship
from thud.terrain import DisplacedSurface, GridField, backward_project, from_field, from_heights

Floats = npt.NDArray[np.float64]

#: (cell of the base mesh, poses, rounds, points to project, quads of the race with MMA, time limit of MMA in seconds)
_SIZES = {
    "ci": (12.0, 10, 1, 2_000, 1, 0.5),
    "standard": (4.0, 200, 7, 200_000, 12, 20.0),
    "full": (2.0, 2_000, 7, 2_000_000, 100, 60.0),
}


def _poses(surface: DisplacedSurface, ship: thud.Compound, count: int) -> Floats:
    """Over the terrain at any heading, lowered until it touches, then half a metre up or down: about half collide."""
    rng = np.random.default_rng(0)
    yaw = rng.uniform(0.0, 2.0 * np.pi, count)
    place = np.column_stack([rng.uniform(25.0, 70.0, (count, 2)), np.full(count, 80.0)])
    quaternion = np.column_stack([np.cos(yaw / 2), np.zeros((count, 2)), np.sin(yaw / 2)])
    poses = np.column_stack([place, quaternion])
    fall = thud.cast(surface, ship, None, poses, 0.0, (0.0, 0.0, -100.0))
    poses[:, 2] += -100.0 * np.minimum(fall.time, 1.0) + rng.uniform(-0.5, 0.5, count)
    return poses


def _ship_triangles(ship: thud.Compound) -> tuple[Floats, npt.NDArray[np.int64]]:
    """All parts' triangles as one mesh."""
    vertices, faces, count = [], [], 0
    for part in ship.parts():
        hull = part.hull
        assert hull is not None
        vertices.append(hull.vertices @ part.pose[:9].reshape(3, 3).T + part.pose[9:])
        faces.append(hull.triangles + count)
        count += len(hull.vertices)
    return np.concatenate(vertices), np.concatenate(faces)


class Coal:
    """coal with the terrain as a mesh of OBBRSS, and the ship in three forms."""

    def __init__(self, terrain: tuple[Floats, Any], ship: thud.Compound, poses: Floats) -> None:
        import coal

        self.coal = coal
        self.terrain = self._mesh(*terrain)
        self.ship = self._mesh(*_ship_triangles(ship))
        self.parts = [self._convex(part) for part in ship.parts()]
        rows = thud.pose.as_poses(poses, "poses")
        self.places = [coal.Transform3s(row[:9].reshape(3, 3), row[9:]) for row in rows]
        self.backs = [coal.Transform3s(row[:9].reshape(3, 3).T, -row[:9].reshape(3, 3).T @ row[9:]) for row in rows]
        self.none = coal.Transform3s.Identity()
        self.manager = coal.DynamicAABBTreeCollisionManager()
        self.objects = [coal.CollisionObject(part, self.none) for part in self.parts]
        for one in self.objects:
            one.computeAABB()
            self.manager.registerObject(one)
        self.manager.setup()
        self.ground = coal.CollisionObject(self.terrain, self.none)

    def _mesh(self, vertices: Floats, faces: Any) -> Any:
        coal = self.coal
        model, points, triangles = coal.BVHModelOBBRSS(), coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in np.asarray(vertices):
            points.append(vertex)
        for i, j, k in np.asarray(faces).tolist():
            triangles.append(coal.Triangle(i, j, k))
        model.beginModel(len(triangles), len(points))
        model.addSubModel(points, triangles)
        model.endModel()
        return model

    def _convex(self, part: Any) -> Any:
        coal = self.coal
        points, triangles = coal.StdVec_Vec3s(), coal.StdVec_Triangle()
        for vertex in part.hull.vertices @ part.pose[:9].reshape(3, 3).T + part.pose[9:]:
            points.append(vertex)
        for i, j, k in part.hull.triangles.tolist():
            triangles.append(coal.Triangle(i, j, k))
        return coal.Convex(points, triangles)

    def as_mesh(self) -> npt.NDArray[np.bool_]:
        """The ship as one mesh."""
        coal, out = self.coal, []
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        request.enable_contact = False
        for place in self.places:
            result.clear()
            coal.collide(self.ship, place, self.terrain, self.none, request, result)
            out.append(result.isCollision())
        return np.array(out)

    def by_parts(self) -> npt.NDArray[np.bool_]:
        """Part by part, until one collides."""
        coal, out = self.coal, []
        request, result = coal.CollisionRequest(), coal.CollisionResult()
        request.enable_contact = False
        for place in self.places:
            hit = False
            for part in self.parts:
                result.clear()
                coal.collide(part, place, self.terrain, self.none, request, result)
                if result.isCollision():
                    hit = True
                    break
            out.append(hit)
        return np.array(out)

    def by_manager(self) -> npt.NDArray[np.bool_]:
        """The parts in a tree that stays, the terrain moves: one call a pose."""
        coal, out = self.coal, []
        callback = coal.CollisionCallBackDefault()
        callback.data.request.enable_contact = False
        for back in self.backs:
            callback.data.result.clear()
            callback.data.done = False
            self.ground.setTransform(back)
            self.ground.computeAABB()
            self.manager.collide(self.ground, callback)
            out.append(callback.data.result.isCollision())
        return np.array(out)


def _mountains(side: int) -> Floats:
    """Heights whose spectrum falls as that of land does; slopes of 0.3 on average at a spacing of 1."""
    frequency = np.fft.fftfreq(side)[:, None] ** 2 + np.fft.fftfreq(side)[None] ** 2
    frequency[0, 0] = np.inf
    noise = np.fft.fft2(np.random.default_rng(3).normal(size=(side, side)))
    z = np.fft.ifft2(noise * frequency**-0.95).real
    return np.asarray(0.3 * z / np.abs(np.diff(z)).mean())


def _building(report: Report, side: int, cell: float, samples: int, rounds: int) -> None:
    """From arrays or fields to a surface with its index: time a sample, and bytes a sample that is held."""
    lower, upper = (np.array(corner, dtype=float) for corner in CAVE_DOMAIN)
    step = cell / 8.0
    axes = [np.arange(a, b + 0.5 * step, step) for a, b in zip(lower, upper)]
    nodes = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    cave = cave_field()
    grid = GridField(cave(nodes.reshape(-1, 3)).reshape(nodes.shape[:3]), lower, step)
    heights, noise = _mountains(side), np.random.default_rng(4).normal(size=(side, side))
    sources = {
        "from heights, mountains": lambda: from_heights(heights, 1.0),
        "from heights, white noise": lambda: from_heights(noise, 1.0),
        "from a field, array of cave terrain": lambda: from_field(grid, *CAVE_DOMAIN, cell, samples=samples),
        "from a field, callable cave terrain": lambda: from_field(cave, *CAVE_DOMAIN, cell, samples=samples),
    }
    for scene, make in sources.items():
        surface = make().surface
        count, data = surface.sample_count, surface.index_bytes()
        fields = (surface.positions, surface.directions, surface.coordinates, surface.primitives, surface.quads)
        racers = [
            Contestant("thud, surface and index", lambda make=make: make().surface.index_bytes(), count),  # type: ignore[misc]
            Contestant("thud, surface alone", make, count),
            Contestant(
                "thud, surface of arrays, stored index",
                lambda s=surface, f=fields, d=data: DisplacedSurface(*f, s.displacements).with_index(d),  # type: ignore[misc]
                count,
            ),
        ]
        report.race(f"{scene}, {count} samples", "building, a sample", racers[0].name, racers, rounds)
        surface.nbytes  # noqa: B018
        held = array_bytes(surface)
        report.note(
            f"{scene}, {count} samples",
            "bytes a sample",
            f"held {held / count:.2f}, reported {surface.nbytes / count:.2f}, of which the index {len(data) / count:.2f}",
        )


def _warship(report: Report, surface: DisplacedSurface, poses: int, rounds: int) -> None:
    ship = warship()
    rows = _poses(surface, ship, poses)
    mesh = surface.to_mesh()
    arguments, at = (surface, ship, None, rows), as_pose(rows)
    ours = thud.intersects(*arguments, threads=1)
    as_mesh = thud.intersects(mesh, ship, None, rows, threads=1)
    racers = [
        Contestant("thud, displaced", lambda: thud.intersects(*arguments, threads=1), poses),
        Contestant("thud, displaced, Pose", lambda: thud.intersects(surface, ship, None, at, threads=1), poses),
        Contestant("thud, displaced, single calls", lambda: [thud.intersects(surface, ship, None, row) for row in rows], poses),
        Contestant("thud, mesh", lambda: thud.intersects(mesh, ship, None, rows, threads=1), poses),
    ]
    reference = "thud, mesh"
    lines = [f"{int(ours.sum())} of {poses} collide; our mesh code differs in {int((ours != as_mesh).sum())}"]
    try:
        coal = Coal((mesh.vertices, mesh.faces), ship, rows)
    except ImportError:
        lines.append("coal is not installed")
    else:
        ways = {"coal, ship as a mesh": coal.as_mesh, "coal, by parts": coal.by_parts, "coal, tree of parts": coal.by_manager}
        for name, way in ways.items():
            lines.append(f"{name} differs in {int((way() != ours).sum())}")
            racers.append(Contestant(name, way, poses))
        reference = "coal, ship as a mesh"
    scene = f"warship, {surface.sample_count} patches, {len(mesh.faces)} triangles"
    report.race(scene, "intersects", reference, racers, rounds)
    for line in lines:
        report.note(scene, "intersects", line)
    samples = surface.sample_count
    own, other = array_bytes(surface) / samples, array_bytes(mesh) / samples
    report.note(scene, "bytes a sample", f"displaced {own:.1f}, our mesh with its trees {other:.0f}: {other / own:.0f}x")
    # Of coal: vertices and triangles of three 8-byte numbers, 2 T - 1 nodes of an OBB, an RSS and three integers.
    nodes = (9 + 3 + 3) * 8 + (9 + 3 + 2 + 1) * 8 + 12
    coal_bytes = (24 * len(mesh.vertices) + 24 * len(mesh.faces) + nodes * (2 * len(mesh.faces) - 1)) / samples
    report.note(scene, "bytes a sample", f"coal's mesh of OBBRSS, by its fields, {coal_bytes:.0f}: {coal_bytes / own:.0f}x")


def _bodies(seed: int = 5) -> dict[str, thud.Shape]:
    """Three each of spheres, boxes, capsules and hulls of 30 to 60 vertices, of about a metre, long and short."""
    rng = np.random.default_rng(seed)
    found: dict[str, thud.Shape] = {}
    for number in range(3):
        x, y, z = rng.uniform(0.2, 1.0, 3)
        found[f"sphere {number}"] = thud.Sphere(x)
        found[f"box {number}"] = thud.Box([x, y, z])
        found[f"capsule {number}"] = thud.Capsule(0.5 * x, y)
        found[f"hull {number}"] = thud.ConvexHull(unit(rng.normal(size=(int(rng.integers(30, 61)), 3))) * [x, y, z])
    return found


def _contacts(report: Report, side: int, poses: int, few: int, rounds: int) -> None:
    """Bodies at any rotation that lie in hills, 5 mm deep; coal, with the hills' triangles as OBBRSS, at the first poses, with
    all its points: one of each triangle that a body meets."""
    x = np.linspace(0.0, 12.0, side)
    surface = from_heights(2.0 * np.sin(x)[:, None] * np.cos(1.3 * x), spacing=60.0 / (side - 1)).surface
    mesh, rng = surface.to_mesh(), np.random.default_rng(6)
    members, lines = [], []
    for name, body in _bodies().items():
        rows = np.column_stack([rng.uniform(5, 55, (poses, 2)), np.full(poses, 10.0), unit(rng.normal(size=(poses, 4)))])
        rows[:, 2] -= 20.0 * thud.cast(surface, body, None, rows, 0.0, (0.0, 0.0, -20.0)).time + 0.005

        def ask(ground: Any, body: thud.Shape = body, rows: Floats = rows) -> thud.Contacts:
            return thud.contacts(ground, body, None, rows, threads=1)

        racers = [
            Contestant("thud, displaced", lambda ask=ask: ask(surface), poses),  # type: ignore[misc]
            Contestant("thud, mesh", lambda ask=ask: ask(mesh), poses),  # type: ignore[misc]
        ]
        own, as_mesh = ask(surface), ask(mesh)
        counted = [len(own.row) / poses, len(as_mesh.row) / poses, float("nan")]
        if installed("coal"):
            pairs = np.stack([np.zeros(few, dtype=np.int64), np.arange(1, few + 1)], axis=1)
            placed = pose_rows(np.concatenate([[[0.0, 0, 0, 1, 0, 0, 0]], rows[:few]]))
            coal = peers.Coal([mesh, *[body] * few], pairs, placed)
            racers.append(Contestant("coal, mesh", coal.contacts, few))
            counted[2] = float(coal.contacts().mean())
        members.append((name, racers))
        bare = poses - len(np.unique(own.row))
        deep = [float(np.max(found.depth, initial=0.0)) for found in (own, as_mesh)]
        lines.append(
            f"{name}: points a pose {counted[0]:.2f} displaced, {counted[1]:.2f} mesh, {counted[2]:.1f} coal; "
            f"deepest {deep[0]:.4f} and {deep[1]:.4f} m; {bare} of {poses} poses without any"
        )
    scene, query = f"bodies sunk in hills of {side} x {side} samples, {len(mesh.faces)} triangles", "contacts, (N, 7)"
    report.family(scene, query, "coal, mesh" if installed("coal") else "thud, mesh", members, rounds)
    for line in lines:
        report.note(scene, query, line)


def _projections(report: Report, surface: DisplacedSurface, count: int, rounds: int) -> None:
    rng = np.random.default_rng(1)
    planes = surface.bounding_planes
    rows = rng.integers(len(planes), size=count)
    uv = rng.dirichlet(np.ones(3), count)
    vertices = np.asarray(surface.primitives)[rows, :3]
    positions, directions = np.asarray(surface.positions)[vertices], np.asarray(surface.directions)[vertices]
    length = rng.uniform(planes[rows, 6], planes[rows, 7])
    points = np.einsum("nk,nkj->nj", uv, positions) + length[:, None] * np.einsum("nk,nkj->nj", uv, directions)
    lengths = (float(planes[:, 6].min()), float(planes[:, 7].max()))

    def project(method: str) -> Any:
        return backward_project(points, positions, directions, method=method, length_range=lengths, threads=1)

    methods = ("cubic", "alpha_plane", "aligned_plane", "aligned_direction")
    racers = [Contestant(method, lambda method=method: project(method), count) for method in methods]  # type: ignore[misc]
    report.race("terrain", "backward projection", "alpha_plane", racers, rounds)
    for method in methods:
        found = project(method)
        off = np.hypot(found.u - uv[:, 1], found.v - uv[:, 2])
        right = float((off < 1e-6).mean())
        report.note("terrain", "backward projection", f"{method}: {100 * right:.2f} % within 1e-6 of the place it came from")


def _growth(report: Report, most: int, rounds: int) -> None:
    """With the number of samples of a square of hills: a hull near the ground, at 100 poses."""
    rng = np.random.default_rng(2)
    hull = thud.ConvexHull(rng.normal(size=(40, 3)))

    def make(samples: int) -> list[Contestant]:
        side = round(np.sqrt(samples))
        x = np.linspace(0.0, 12.0, side)
        surface = from_heights(2.0 * np.sin(x)[:, None] * np.cos(1.3 * x), spacing=60.0 / (side - 1)).surface
        mesh = surface.to_mesh()
        poses = np.column_stack([rng.uniform(5, 55, (100, 2)), rng.uniform(-1, 6, 100), unit(rng.normal(size=(100, 4)))])
        found = [
            Contestant("thud, displaced", lambda: thud.intersects(surface, hull, None, poses, threads=1), 1),
            Contestant("thud, mesh", lambda: thud.intersects(mesh, hull, None, poses, threads=1), 1),
        ]
        if installed("coal"):
            shapes, pairs = [mesh, *[hull] * 100], np.stack([np.zeros(100, dtype=np.int64), np.arange(1, 101)], axis=1)
            home = np.array([[0.0, 0, 0, 1, 0, 0, 0]])
            coal = peers.Coal(shapes, pairs, pose_rows(np.concatenate([home, poses])))
            found.append(Contestant("coal, mesh", coal.boolean, 1))
        return found

    x = np.linspace(0.0, 12.0, most)
    heights = 2.0 * np.sin(x)[:, None] * np.cos(1.3 * x)
    vertices, faces = terrain(2 * most**2, 1)
    at = np.array([20.0, 20.0, 1.0, 1.0, 0.0, 0.0, 0.0])
    firsts = [
        Contestant("thud, displaced", lambda: thud.intersects(from_heights(heights, 60.0 / most).surface, hull, None, at), 1),
        Contestant("thud, mesh", lambda: thud.intersects(thud.TriangleMesh(vertices, faces), hull, None, at), 1),
    ]
    if installed("coal"):
        firsts.append(Contestant("coal, mesh", lambda: peers.coal_mesh(vertices, faces), 1))
    scene, query = f"hills of {most} x {most} samples", "first call: surface made of arrays, intersects a hull"
    report.race(scene, query, firsts[-1].name, firsts, 2)
    sizes = decades(most**2 // 100 if most > 100 else most**2 // 10, most**2)
    report.growth("100 poses of a hull over hills", "intersects", "samples", "coal, mesh", sizes, make, max(2, rounds // 2))


def _rays(report: Report, ground: str, surface: DisplacedSurface, count: int, rounds: int) -> None:
    """First hits of rays beside those with the surface's own triangles: down, of a camera, any way."""
    mesh, rng, box = surface.to_mesh(), np.random.default_rng(7), surface.bounds()
    low, high = np.asarray(box.lower).ravel(), np.asarray(box.upper).ravel()
    middle, size = 0.5 * (low + high), high - low
    down = np.column_stack([rng.uniform(low[:2], high[:2], (count, 2)), np.full(count, high[2] + 5.0)])
    side = int(np.sqrt(count))
    eye = middle + size * [0.0, -0.7, 0.6]
    camera = thud.geometry.camera_rays(eye, middle - eye, [0, 0, 1], 0.9, side, side)
    start, aim = rng.uniform(low, high + [0, 0, size[2]], (count, 3)), rng.uniform(low, high, (count, 3))
    families = {
        "down": (down, np.tile([0.0, 0.0, -1.0], (count, 1))), "camera": camera, "any way": (start, aim - start),
    }  # fmt: skip
    members = []
    for name, (origins, directions) in families.items():
        racers = [
            Contestant("thud, displaced", lambda o=origins, d=directions: thud.raycast(surface, o, d, threads=1), len(origins)),  # type: ignore[misc]
            Contestant("thud, mesh", lambda o=origins, d=directions: thud.raycast(mesh, o, d, threads=1), len(origins)),  # type: ignore[misc]
        ]
        members.append((name, racers))
    report.family(f"rays on {ground}", "first hits", "thud, mesh", members, rounds)
    report.note(f"rays on {ground}", "bytes a sample for rays", f"{surface.ray_blocks.nbytes / surface.sample_count:.2f}")


def run(size: str = "standard") -> None:
    """The whole benchmark."""
    cell, poses, rounds, points, quads, limit = _SIZES[size]
    report = Report("displaced")
    made = from_field(cave_field(), *CAVE_DOMAIN, cell, samples=16 if size != "ci" else 8)
    print(made.report)
    with one_core():
        _building(report, 65 if size == "ci" else 513, cell, 8 if size == "ci" else 16, max(1, rounds // 2))
        _warship(report, made.surface, poses, rounds)
        _contacts(report, *((60, 20, 5, 1) if size == "ci" else (520, 1_000, 100, rounds)))
        side, count = (33, 400) if size == "ci" else (513, 20_000)
        x, y = np.meshgrid(np.arange(float(side)), np.arange(float(side)))
        noise = 0.3 * np.random.default_rng(4).normal(size=(side, side))
        hills = 10.0 * np.sin(0.05 * x) * np.cos(0.04 * y)
        _rays(report, "hills", from_heights(hills, 1.0, samples=16).surface, count, rounds)
        _rays(report, "rough ground", from_heights(noise, 1.0, samples=16).surface, count, rounds)
        _rays(report, "a cave", made.surface, count, rounds)
        _projections(report, made.surface, points, rounds)
        for side, step in ((8, 8), (16, 8), (8, 4), (16, 4)):
            if size == "ci" and (side, step) != (8, 8):
                continue
            found = bounding_maps_race(quads, side, step, time_limit=limit)
            worst = f"{found.ratios.max():.4f}" if len(found.ratios) else "none"
            report.note(
                f"bounding maps, side {side}, every {step}",
                "batched against MMA",
                f"{found.batched_seconds * 1e3:.3g} ms a quad, MMA {found.mma_seconds * 1e3:.4g} ms: {found.speedup:.0f}x; "
                f"MMA converged in {found.mma_converged} of {2 * found.count}; largest objective over MMA's {worst}; "
                f"infeasible {found.batched_infeasible} of {40 * found.count}",
            )
        _growth(report, 60 if size == "ci" else 520, rounds)
    report.save()
