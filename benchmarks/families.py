"""Seeded families of workloads: shapes of many sizes and aspect ratios, closed and open meshes, placements with stated hit
rates, rays from outside and inside.

The same seed gives the same family. A benchmark that looks good on one workload and bad on its neighbours shows it: the table
has the median and the worst of the family.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

import thud
from thud.shapes.shape import Shape

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


# Poses --------------------------------------------------------------------------------------------------------------------


def unit(rows: Floats) -> Floats:
    """Rows of length 1."""
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def random_poses(rng: np.random.Generator, count: int, spread: float = 0.0) -> Floats:
    """(N, 7) at any rotation in a cube of half side `spread`."""
    return np.concatenate([rng.uniform(-1.0, 1.0, (count, 3)) * spread, unit(rng.normal(size=(count, 4)))], axis=1)


def matrices(poses: Floats) -> Floats:
    """(..., 7) as (..., 4, 4)."""
    rows = thud.Pose(poses.reshape(-1, 7)[:, :3], poses.reshape(-1, 7)[:, 3:]).matrix
    return np.ascontiguousarray(rows.reshape(*poses.shape[:-1], 4, 4))


def as_pose(poses: Floats) -> thud.Pose:
    """(7,) or (N, 7) as a `Pose`."""
    return thud.Pose(poses[..., :3], poses[..., 3:])


def pose_rows(poses: Floats) -> Floats:
    """(N, 7) as rows of 12: rotation, then place; what peers' transforms are made of."""
    return np.array(as_pose(poses.reshape(-1, 7)).rows)


#: The forms in which poses come: what a user has at hand, and our own class.
FORMS: dict[str, Callable[[Floats], object]] = {"(N, 7)": lambda poses: poses, "(N, 4, 4)": matrices, "Pose": as_pose}

#: The same for one pose.
SINGLE_FORMS: dict[str, Callable[[Floats], object]] = {"(7,)": lambda poses: poses, "(4, 4)": matrices, "Pose": as_pose}


# Pairs of shapes ----------------------------------------------------------------------------------------------------------


@dataclass
class Pairs:
    """K pairs of shapes, each at n pairs of poses."""

    name: str
    partners: list[tuple[Shape, Shape]]
    a: Floats
    b: Floats
    """(K, n, 7)"""

    @property
    def count(self) -> int:
        """All rows."""
        return self.a.shape[0] * self.a.shape[1]

    def first(self, rows: int) -> Pairs:
        """The first rows of each pair, `rows` of them in all."""
        each = max(1, min(self.a.shape[1], rows // len(self.partners)))
        return replace(self, a=self.a[:, :each], b=self.b[:, :each])

    def scene(self) -> tuple[list[Shape], Ints, Floats]:
        """The same as S = 2 K n bodies at (S, 7) poses and (K n, 2) pairs of them, in the same order."""
        bodies = [shape for pair in self.partners for _ in range(self.a.shape[1]) for shape in pair]
        poses = np.stack([self.a, self.b], axis=2).reshape(-1, 7)
        return bodies, np.arange(len(bodies)).reshape(-1, 2), poses


def touching_distance(a: Shape, b: Shape, way: Floats, turn_a: Floats, turn_b: Floats, farthest: float) -> Floats:
    """How far along `way` B is from A where it lets go; A is at the origin. By bisection: the way of a concave shape may cross
    its surface more than once, then one of these places."""
    low, high = np.zeros(len(way)), np.full(len(way), farthest)
    home = np.concatenate([np.zeros_like(way), turn_a], axis=1)
    for _ in range(24):
        middle = 0.5 * (low + high)
        hit = thud.intersects(a, b, home, np.concatenate([way * middle[:, None], turn_b], axis=1))
        low, high = np.where(hit, middle, low), np.where(hit, high, middle)
    return high


def radius(shape: Shape) -> float:
    """Of a sphere about its origin that holds it."""
    center, around = shape.bounding_sphere()
    return float(np.linalg.norm(center) + around)


def place(name: str, partners: list[tuple[Shape, Shape]], rows: int, hit_rate: float, seed: int) -> Pairs:
    """About `rows` pairs of poses of which the given part meets: B is put along a random way, before or beyond the place where
    it lets go of A, by up to a half of that distance; then both are moved to some place."""
    rng = np.random.default_rng(seed)
    each = max(1, rows // len(partners))
    a, b = np.empty((len(partners), each, 7)), np.empty((len(partners), each, 7))
    for k, (one, other) in enumerate(partners):
        way, turn_a, turn_b = (
            unit(rng.normal(size=(each, 3))),
            unit(rng.normal(size=(each, 4))),
            unit(rng.normal(size=(each, 4))),
        )
        far = touching_distance(one, other, way, turn_a, turn_b, 1.01 * (radius(one) + radius(other)))
        hits = rng.permutation(each) < round(hit_rate * each)
        factor = np.where(hits, rng.uniform(0.5, 0.999, each), rng.uniform(1.001, 1.5, each))
        home = rng.uniform(-2.0, 2.0, (each, 3))
        a[k] = np.concatenate([home, turn_a], axis=1)
        b[k] = np.concatenate([home + way * (far * factor)[:, None], turn_b], axis=1)
    return Pairs(name, partners, a, b)


def hull(rng: np.random.Generator, vertices: int, axes: npt.ArrayLike = (1.0, 1.0, 1.0)) -> thud.ConvexHull:
    """Points on an ellipsoid: all of them are corners of the hull."""
    return thud.ConvexHull(unit(rng.normal(size=(vertices, 3))) * axes)


def medium_hull(rng: np.random.Generator) -> thud.ConvexHull:
    """Of 30 to 60 vertices, axes up to 1 : 3."""
    return hull(rng, int(rng.integers(30, 61)), rng.uniform(0.5, 1.5, 3))


def hulls(rows: int, *, kinds: int = 20, seed: int = 0) -> list[Pairs]:
    """Pairs of hulls by number of vertices, aspect ratio, size and hit rate."""
    rng = np.random.default_rng(seed)
    makers: dict[str, tuple[float, Callable[[], tuple[Shape, Shape]]]] = {
        "30-60 vertices, 50 % hit": (0.5, lambda: (medium_hull(rng), medium_hull(rng))),
        "30-60 vertices, 5 % hit": (0.05, lambda: (medium_hull(rng), medium_hull(rng))),
        "30-60 vertices, 95 % hit": (0.95, lambda: (medium_hull(rng), medium_hull(rng))),
        "8 vertices, 50 % hit": (0.5, lambda: (hull(rng, 8), hull(rng, 8))),
        "200 vertices, 50 % hit": (0.5, lambda: (hull(rng, 200), hull(rng, 200))),
        "1,000 vertices, 50 % hit": (0.5, lambda: (hull(rng, 1000), hull(rng, 1000))),
        "plates 1 : 20, 50 % hit": (0.5, lambda: (hull(rng, 40, (1, 1, 0.05)), hull(rng, 40, (1, 1, 0.05)))),
        "needles 20 : 1, 50 % hit": (0.5, lambda: (hull(rng, 40, (1, 0.05, 0.05)), hull(rng, 40, (1, 0.05, 0.05)))),
        "sizes 1 : 30, 50 % hit": (0.5, lambda: (medium_hull(rng), hull(rng, 40, (0.03, 0.03, 0.03)))),
    }
    return [
        place(name, [make() for _ in range(kinds)], rows, rate, seed + k)
        for k, (name, (rate, make)) in enumerate(makers.items())
    ]


def primitive(rng: np.random.Generator, kind: str) -> Shape:
    """A shape of some kind, of size about 1."""
    r, h = rng.uniform(0.3, 0.9, 2)
    makers: dict[str, Callable[[], Shape]] = {
        "sphere": lambda: thud.Sphere(r),
        "box": lambda: thud.Box(rng.uniform(0.3, 1.2, 3)),
        "plank": lambda: thud.Box(rng.permutation([1.5, 0.3, 0.05])),
        "capsule": lambda: thud.Capsule(0.6 * r, h),
        "cylinder": lambda: thud.Cylinder(r, h),
        "cone": lambda: thud.Cone(r, h),
        "ellipsoid": lambda: thud.Ellipsoid(rng.uniform(0.3, 1.2, 3)),
        "hull": lambda: medium_hull(rng),
    }
    return makers[kind]()


#: Kinds that meet, and how many of them do.
_PRIMITIVES = (
    ("sphere", "sphere", 0.5), ("box", "box", 0.5), ("box", "box", 0.05), ("plank", "plank", 0.5), ("capsule", "capsule", 0.5),
    ("capsule", "box", 0.5), ("sphere", "box", 0.5), ("cylinder", "cylinder", 0.5), ("cone", "box", 0.5),
    ("ellipsoid", "ellipsoid", 0.5), ("hull", "box", 0.5), ("hull", "capsule", 0.5),
)  # fmt: skip


def primitives(rows: int, *, kinds: int = 20, seed: int = 100) -> list[Pairs]:
    """Pairs of spheres, boxes and the other shapes with a formula, also against hulls."""
    rng = np.random.default_rng(seed)
    return [
        place(
            f"{a}-{b}, {100 * rate:.0f} % hit",
            [(primitive(rng, a), primitive(rng, b)) for _ in range(kinds)],
            rows,
            rate,
            seed + k,
        )
        for k, (a, b, rate) in enumerate(_PRIMITIVES)
    ]


# Meshes -------------------------------------------------------------------------------------------------------------------


@dataclass
class Body:
    """A mesh as arrays."""

    name: str
    vertices: Floats
    faces: Ints
    closed: bool

    def mesh(self) -> thud.TriangleMesh:
        """A new one, nothing built yet."""
        return thud.TriangleMesh(self.vertices, self.faces)


def _grid_faces(rows: int, columns: int, wrap_rows: bool, wrap_columns: bool) -> Ints:
    """Two triangles a cell of a grid of vertices, counted row by row."""
    i, j = np.arange(rows if wrap_rows else rows - 1), np.arange(columns if wrap_columns else columns - 1)
    down, right = (i + 1) % rows * columns, (j + 1) % columns
    a, b = (i * columns)[:, None] + j, (i * columns)[:, None] + right
    c, d = down[:, None] + j, down[:, None] + right
    cells = np.stack([np.stack([a, c, d], axis=-1), np.stack([a, d, b], axis=-1)], axis=2)
    return cells.reshape(-1, 3)


def _waves(rng: np.random.Generator, points: Floats, count: int, pitch: float) -> Floats:
    """A sum of sine waves in space, about 1 high."""
    total = np.zeros(len(points))
    for _ in range(count):  # one by one: meshes of ten million triangles fit
        total += np.sin(points @ (pitch * rng.normal(size=3)) + rng.uniform(0.0, 6.0))
    return total / np.sqrt(count)


def ball(triangles: int, seed: int, *, bumps: float = 0.3, noise: float = 0.0, uneven: float = 1.0) -> tuple[Floats, Ints]:
    """A closed ball of radius about 1 with bumps; `noise` moves each vertex, `uneven` crowds triangles at one pole."""
    rng = np.random.default_rng(seed)
    rings = max(3, round(np.sqrt(triangles / 4)))
    around = 2 * rings
    theta = np.pi * (np.arange(1, rings) / rings) ** uneven
    phi = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False)
    t, p = (grid.ravel() for grid in np.meshgrid(theta, phi, indexing="ij"))
    ring = np.stack([np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)], axis=1)
    points = np.concatenate([[[0.0, 0.0, 1.0]], ring, [[0.0, 0.0, -1.0]]])
    size = 1.0 + bumps * _waves(rng, points, 6, 2.0) + noise * rng.normal(size=len(points))
    k, last = np.arange(around), 1 + (rings - 2) * around
    after = (k + 1) % around
    top, bottom = np.stack([0 * k, 1 + k, 1 + after], axis=1), np.stack([0 * k + last + around, last + after, last + k], axis=1)
    faces = np.concatenate([top, 1 + _grid_faces(rings - 1, around, False, True), bottom])
    return points * np.maximum(size, 0.2)[:, None], faces


def blob(rings: int, seed: int) -> thud.TriangleMesh:
    """A closed, bumpy, concave ball of 4 rings (rings - 1) triangles and radius about 1."""
    rng = np.random.default_rng(seed)
    around = 2 * rings
    phi, theta = np.linspace(0.0, 2.0 * np.pi, around, endpoint=False), np.linspace(0.0, np.pi, rings + 1)[1:-1]
    ring = [[np.sin(t) * np.cos(p), np.sin(t) * np.sin(p), np.cos(t)] for t in theta for p in phi]
    unit = np.array([[0.0, 0.0, 1.0], *ring, [0.0, 0.0, -1.0]])
    radius = 1.0 + 0.3 * np.sin(unit @ (2.0 * rng.normal(size=(6, 3))).T + rng.uniform(0.0, 6.0, 6)).sum(axis=1)
    faces = [[0, 1 + j, 1 + (j + 1) % around] for j in range(around)]
    for i in range(rings - 2):
        for j in range(around):
            a, b = 1 + i * around + j, 1 + i * around + (j + 1) % around
            faces += [[a, a + around, b], [b, a + around, b + around]]
    last, first = len(unit) - 1, 1 + (rings - 2) * around
    faces += [[last, first + (j + 1) % around, first + j] for j in range(around)]
    return thud.TriangleMesh(unit * np.maximum(radius, 0.2)[:, None], np.array(faces))


def ring(triangles: int, seed: int) -> tuple[Floats, Ints]:
    """A closed torus with bumps."""
    rng = np.random.default_rng(seed)
    rows = max(4, round(np.sqrt(triangles / 6)))
    u, v = np.meshgrid(
        np.linspace(0, 2 * np.pi, 3 * rows, endpoint=False), np.linspace(0, 2 * np.pi, rows, endpoint=False), indexing="ij"
    )
    tube = 0.35 + 0.08 * np.sin(rng.integers(3, 7) * u) * np.cos(rng.integers(2, 5) * v)
    across = 1.0 + tube * np.cos(v)
    points = np.stack([across * np.cos(u), across * np.sin(u), tube * np.sin(v)], axis=-1).reshape(-1, 3)
    return points, _grid_faces(3 * rows, rows, True, True)


def tube(triangles: int, seed: int) -> tuple[Floats, Ints]:
    """A pipe without ends, bent."""
    rows = max(3, round(np.sqrt(triangles / 6)))
    z, u = np.meshgrid(np.linspace(-1.5, 1.5, 3 * rows + 1), np.linspace(0, 2 * np.pi, rows, endpoint=False), indexing="ij")
    bend = 0.3 * np.sin(2.0 * z + seed)
    points = np.stack([bend + 0.4 * np.cos(u), 0.4 * np.sin(u), z], axis=-1).reshape(-1, 3)
    return points, _grid_faces(3 * rows + 1, rows, False, True)


def terrain(triangles: int, seed: int, *, side: float = 100.0, height: float = 1.0) -> tuple[Floats, Ints]:
    """Hills on a square grid."""
    rng = np.random.default_rng(seed)
    cells = max(2, round(np.sqrt(triangles / 2)))
    x = np.linspace(-0.5 * side, 0.5 * side, cells + 1)
    gx, gy = (grid.ravel() for grid in np.meshgrid(x, x, indexing="ij"))
    z = np.zeros_like(gx)
    for _ in range(12):
        k = rng.normal(size=2) * 30.0 / side
        z += height * rng.uniform(0.2, 1.5) * np.sin(k[0] * gx + k[1] * gy + rng.uniform(0, 6))
    return np.stack([gx, gy, z], axis=-1), _grid_faces(cells + 1, cells + 1, False, False)


def bodies(triangles: int, *, seed: int = 0) -> list[Body]:
    """Meshes of about so many triangles and radius 1: smooth, rough, flat, long, with a hole, unevenly meshed; open ones."""

    def scaled(made: tuple[Floats, Ints], factors: npt.ArrayLike) -> tuple[Floats, Ints]:
        return made[0] * np.asarray(factors, dtype=float), made[1]

    made: dict[str, tuple[tuple[Floats, Ints], bool]] = {
        "bumpy ball": (ball(triangles, seed + 1), True),
        "rough ball": (ball(triangles, seed + 2, noise=0.03), True),
        "uneven ball": (ball(triangles, seed + 3, uneven=3.0), True),
        "plate 1 : 20": (scaled(ball(triangles, seed + 4, bumps=0.1), (1, 1, 0.05)), True),
        "rod 20 : 1": (scaled(ball(triangles, seed + 5, bumps=0.1), (1, 0.05, 0.05)), True),
        "ring": (ring(triangles, seed + 6), True),
        "open pipe": (tube(triangles, seed + 7), False),
        "open hills": (terrain(triangles, seed + 8, side=2.0, height=0.06), False),
    }
    return [Body(name, vertices, faces, closed) for name, ((vertices, faces), closed) in made.items()]


def mesh_pairs(triangles: int, rows: int, *, seed: int = 0) -> list[Pairs]:
    """Each body against the next one, half of the poses meeting; the first two also at other hit rates and sizes."""
    meshes = {body.name: body.mesh() for body in bodies(triangles, seed=seed)}
    names = list(meshes)
    made = [(f"{a}, {b}, 50 % hit", meshes[a], meshes[b], 0.5) for a, b in zip(names, names[1:] + names[:1], strict=True)]
    one, other = meshes["bumpy ball"], meshes["rough ball"]
    small = thud.TriangleMesh(0.1 * np.asarray(other.vertices), other.faces)
    made += [
        ("balls, 5 % hit", one, other, 0.05),
        ("balls, 95 % hit", one, other, 0.95),
        ("balls, sizes 10 : 1, 50 % hit", one, small, 0.5),
    ]
    return [place(name, [(a, b)], rows, rate, seed + k) for k, (name, a, b, rate) in enumerate(made)]


# Rays ---------------------------------------------------------------------------------------------------------------------


@dataclass
class Rays:
    """A body and rays."""

    name: str
    body: Body
    origins: Floats
    directions: Floats


def rays_from_outside(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """From a sphere of three radii, each to a point near some vertex."""
    middle, size = _extent(body)
    origins = middle + 3.0 * size * unit(rng.normal(size=(count, 3)))
    aims = body.vertices[rng.integers(0, len(body.vertices), count)] + 0.02 * size * rng.normal(size=(count, 3))
    return origins, unit(aims - origins)


def rays_past(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """From outside to anywhere in a ball of twice the radius: most miss."""
    middle, size = _extent(body)
    origins = middle + 3.0 * size * unit(rng.normal(size=(count, 3)))
    aims = middle + 2.0 * size * unit(rng.normal(size=(count, 3))) * rng.uniform(0, 1, (count, 1)) ** (1 / 3)
    return origins, unit(aims - origins)


def rays_grazing(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """Along the surface: through points just above it, at right angles to the way from the middle."""
    middle, size = _extent(body)
    near = body.vertices[rng.integers(0, len(body.vertices), count)]
    out = unit(near - middle + 1e-9)
    along = unit(np.cross(out, rng.normal(size=(count, 3))))
    return near + 0.01 * size * out - 3.0 * size * along, along


def rays_from_inside(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """From points of the body to anywhere."""
    mesh = body.mesh()
    middle, size = _extent(body)
    found: list[Floats] = []
    while sum(map(len, found)) < count:
        near = body.vertices[rng.integers(0, len(body.vertices), count)]
        points = near + rng.uniform(0, 1, (count, 1)) * (middle - near) + 0.02 * size * rng.normal(size=(count, 3))
        found.append(points[thud.contains(mesh, points)])
    return np.concatenate(found)[:count], unit(rng.normal(size=(count, 3)))


def rays_of_camera(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """Coherent: a picture of the body, row by row."""
    middle, size = _extent(body)
    side = max(2, round(np.sqrt(count)))
    eye = middle + 3.0 * size * unit(rng.normal(size=3))
    front = unit(middle - eye)
    right = unit(np.cross(front, [0.3, 0.5, 0.8]))
    up = np.cross(right, front)
    x, y = (grid.ravel() for grid in np.meshgrid(*[np.linspace(-0.25, 0.25, side)] * 2, indexing="ij"))
    return np.tile(eye, (side * side, 1)), unit(front + x[:, None] * right + y[:, None] * up)


def rays_over_terrain(rng: np.random.Generator, body: Body, count: int) -> tuple[Floats, Floats]:
    """From a layer above, downwards at any angle; about half leave at the sides."""
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    side = (high - low)[0]
    origins = np.column_stack([rng.uniform(low[:2], high[:2], (count, 2)), high[2] + side * rng.uniform(0.0, 0.12, count)])
    directions = rng.normal(size=(count, 3))
    directions[:, 2] = -0.72 * np.abs(directions[:, 2])
    return origins, unit(directions)


def _extent(body: Body) -> tuple[Floats, float]:
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    return 0.5 * (low + high), 0.5 * float(np.linalg.norm(high - low))


def rays(triangles: int, count: int, *, seed: int = 0) -> list[Rays]:
    """Terrain, and bodies from outside, from inside, along the surface, past them, and from a camera."""
    rng = np.random.default_rng(seed)
    made = {body.name: body for body in bodies(triangles, seed=seed)}
    hills = Body("terrain", *terrain(triangles, seed), closed=False)
    wide = Body("terrain of 4 times as many", *terrain(4 * triangles, seed + 1), closed=False)
    found = [Rays(f"{body.name}, from above", body, *rays_over_terrain(rng, body, count)) for body in (hills, wide)]
    found += [Rays(f"{body.name}, from outside", body, *rays_from_outside(rng, body, count)) for body in made.values()]
    for name in ("bumpy ball", "ring"):
        found.append(Rays(f"{name}, from inside", made[name], *rays_from_inside(rng, made[name], count)))
    for name in ("bumpy ball", "rough ball"):
        found.append(Rays(f"{name}, grazing", made[name], *rays_grazing(rng, made[name], count)))
    found.append(Rays("bumpy ball, most miss", made["bumpy ball"], *rays_past(rng, made["bumpy ball"], count)))
    for name in ("bumpy ball", "ring"):
        found.append(Rays(f"{name}, camera", made[name], *rays_of_camera(rng, made[name], count)))
    return found


def points_about(body: Body, count: int, seed: int) -> Floats:
    """(N, 3) in the body's box, half as large again; half of them near the surface."""
    rng = np.random.default_rng(seed)
    middle, size = _extent(body)
    low, high = body.vertices.min(axis=0), body.vertices.max(axis=0)
    anywhere = middle + 0.75 * (high - low) * rng.uniform(-1, 1, (count - count // 2, 3))
    near = body.vertices[rng.integers(0, len(body.vertices), count // 2)] + 0.05 * size * rng.normal(size=(count // 2, 3))
    return rng.permutation(np.concatenate([anywhere, near]))
