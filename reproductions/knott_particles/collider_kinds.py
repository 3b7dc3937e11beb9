"""Every kind of collider with its particles, its splat texture and its impact map."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from reproductions.knott_particles.drawing import (
    COPPER,
    FLOOR,
    OLIVE,
    PLUM,
    SAND,
    SLATE,
    TEAL,
    camera,
    look_at,
    map_panel,
    panels,
    picture,
    stones,
    texture_panel,
)
from reproductions.knott_particles.residuals import distances
from reproductions.progress import progress
from reproductions.report import Report
from thud.particles import (
    Blobs,
    ColliderSet,
    Disc,
    ImplicitPatches,
    Mesh,
    ParticleSystem,
    Plane,
    Polygon,
    Quadric,
    Rectangle,
    Skeleton,
    Solid,
    Surface,
    impact_coordinates,
    impact_map,
)
from thud.particles.maps.map_result import COUNT
from thud.report.particle_view import Look
from thud.report.splat_textures import some, splat_textures

PARTICLES = {"ci": 300, "standard": 1200, "full": 10000}
SECONDS, EXTENT = 2.0, 2.0
#: Impacts lie on their colliders to so many metres.
ON_IT = 1e-9


@dataclass(frozen=True)
class Kind:
    """A collider to be shown."""

    name: str
    collider: Any
    look: Look
    floor: bool = True
    """Whether there is a floor under it."""


def _polygon() -> Polygon:
    def loop(radii: Any, corners: int, at: tuple[float, float], start: float) -> npt.NDArray[np.float64]:
        a = np.radians(start + np.arange(corners) * 360.0 / corners)
        x, y = at[0] + radii * np.cos(a), at[1] + radii * np.sin(a)
        # In a plane that leans towards the viewer.
        return np.column_stack([x, 0.9 * y, 0.7 + np.sqrt(1.0 - 0.9**2) * y])

    star = loop(np.where(np.arange(10) % 2 == 0, 1.1, 0.7), 10, (0.0, 0.0), 18.0)
    return Polygon(star, [loop(0.25, 4, (-0.3, 0.1), 20.0), loop(0.2, 24, (0.35, 0.0), 0.0)])


def _torus() -> Mesh:
    around, tube = 24, 12
    a, b = np.meshgrid(np.arange(around) * 2 * np.pi / around, np.arange(tube) * 2 * np.pi / tube, indexing="ij")
    r = 0.75 + 0.3 * np.cos(b)
    vertices = np.stack([r * np.cos(a), r * np.sin(a), 0.3 * np.sin(b)], axis=-1).reshape(-1, 3)
    i, j = np.meshgrid(np.arange(around), np.arange(tube), indexing="ij")
    at = [(((i + di) % around) * tube + (j + dj) % tube).ravel() for di, dj in ((0, 0), (1, 0), (1, 1), (0, 1))]
    faces = np.concatenate([np.column_stack([at[0], at[1], at[2]]), np.column_stack([at[0], at[2], at[3]])])
    tilt = [np.cos(0.2), np.sin(0.2), 0.0, 0.0]
    return Mesh(thud.TriangleMesh(vertices, faces), thud.Pose([0, 0, 0.75], tilt))


def _solid() -> Solid:
    rng = np.random.default_rng(4)
    stone = rng.normal(size=(24, 3))
    stone *= 0.36 / np.linalg.norm(stone, axis=1, keepdims=True)
    lying = [np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0]
    shapes = [thud.Box([0.4, 0.35, 0.3]), thud.Capsule(0.2, 0.4), thud.Cone(0.35, 0.4), thud.ConvexHull(stone)]
    poses = [
        thud.Pose([-0.75, 0.35, 0.3]), thud.Pose([0.35, -0.7, 0.2], lying), thud.Pose([0.75, 0.5, 0.4]),
        thud.Pose([-0.7, -0.6, 0.34]),
    ]  # fmt: skip
    return Solid(thud.Compound(shapes, poses))


def _terrain(size: str) -> Surface:
    def ground(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Rolling land and an arch: what no height map can hold."""
        x, y, z = points.T
        land = z - 0.35 - 0.18 * np.sin(2.2 * x) * np.cos(2.6 * y)
        arch = np.hypot(np.hypot(y, z - 0.35) - 0.62, x) - 0.17
        return np.minimum(0.8 * land, arch)

    cell = 0.5 if size == "ci" else 0.25
    made = thud.terrain.from_field(ground, [-1.5, -1.5, -0.5], [1.5, 1.5, 1.5], cell=cell, samples=4 if size == "ci" else 8)
    return Surface(made.surface)


def kinds(size: str) -> list[Kind]:
    """One of each."""
    return [
        Kind("plane", Plane([0, 0, 0.3], [0.25, -0.15, 1.0]), TEAL, floor=False),
        Kind("rectangle", Rectangle([-1.0, -0.7, 0.4], [1.8, 0, 0.4], [0.3, 1.4, 0]), TEAL),
        Kind("disc", Disc([0, 0, 0.7], [-0.3, -0.35, 1.0], 0.95), OLIVE),
        Kind("polygon with holes", _polygon(), SAND),
        Kind("ellipsoid", Quadric.ellipsoid([0, 0, 0.7], [1.0, 0.7, 0.5]), COPPER),
        Kind("paraboloid", Quadric.paraboloid([0, 0, 0.15], [0.85, 0.85], 1.0), PLUM),
        Kind("saddle", Quadric.paraboloid([0, 0, 0.7], [1.2, 1.2], 0.6, hyperbolic=True, clip=_square(0.95)), TEAL),
        Kind("hyperboloid of one sheet", Quadric.hyperboloid([0, 0, 0.8], [0.45, 0.45, 0.5], 1, 0.78), SLATE),
        Kind("hyperboloid of two sheets", Quadric.hyperboloid([0, 0, 0.8], [0.34, 0.34, 0.25], 2, 0.75), PLUM),
        Kind("cylinder", Quadric.cylinder([0, 0, 0.55], [0.5, 0.5], 1.0, rotation=[np.sqrt(0.5), 0, np.sqrt(0.5), 0]), OLIVE),
        Kind("cone", Quadric.cone([0, 0, 1.35], 0.65, 1.3), COPPER),
        Kind("solid", _solid(), SAND),
        Kind("mesh", _torus(), SLATE),
        Kind("blobs", Blobs([[-0.45, 0.0, 0.6], [0.4, 0.15, 0.75], [0.1, -0.5, 0.5]], [0.95, 0.85, 0.7]), OLIVE),
        Kind("skeleton", Skeleton(_figure(), [0.55, 0.55, 0.45, 0.45, 0.45]), COPPER),
        Kind("implicit surface patches", _patches(), TEAL),
        Kind("displaced terrain", _terrain(size), SAND, floor=False),
    ]


def _patches() -> ImplicitPatches:
    """Two balls that have just met (Cassini's oval in space), a quartic, cut into tetrahedra."""

    def field(points: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        x, y, z = ((points - [0.0, 0.0, 0.62]) / 0.85).T
        lemon = (x * x + y * y + z * z + 0.72) ** 2 - 4.0 * 0.72 * x * x - 0.62
        return np.asarray(lemon - 0.5 * y * z)

    return ImplicitPatches.from_field(field, [-1.2, -0.6, 0.0], [1.2, 0.6, 1.2], 0.6, degree=4)


def _figure() -> npt.NDArray[np.float64]:
    """A body with legs and a neck, of segments."""
    a, b = [-0.6, 0.0, 0.75], [0.5, 0.1, 0.75]
    feet = [[-0.8, -0.35, 0.1], [-0.75, 0.4, 0.1], [0.75, -0.3, 0.1]]
    return np.array([[a, b], [b, [0.85, 0.2, 1.3]], [a, feet[0]], [a, feet[1]], [b, feet[2]]])


def _square(half: float) -> list[list[float]]:
    """Half-spaces |x|, |y| <= half."""
    return [[1, 0, 0, half], [-1, 0, 0, half], [0, 1, 0, half], [0, -1, 0, half]]


def shower(many: int, order: int) -> ParticleSystem:
    """Particles of first or second order from above."""
    return ParticleSystem(
        [-0.3, 0.1, 2.7], [0.6, -0.2, -3.0], [0.0, 0.0, -9.81] if order == 2 else None, lifetime=1.0,
        birth=-1.0 * np.random.default_rng(9).random(many), seed=9, position_spread=[1.5, 1.4, 0.1], velocity_spread=0.4,
    )  # fmt: skip


def run(size: str, report: Report) -> None:
    """A picture of each kind, and how exactly its impacts lie on it."""
    report.heading("Every kind of collider: particles, splat texture, impact map")
    where = camera(size, [2.1, -3.4, 2.6], [0.0, -0.05, 0.5], 0.86)
    chosen, rows = kinds(size), []
    for kind in progress(chosen, len(chosen), "kinds of colliders"):
        ready = ColliderSet([kind.collider, *([Plane([0, 0, 0], [0, 0, 1])] if kind.floor else [])])
        worst, counts = [], []
        for order in (1, 2):
            system = shower(PARTICLES[size], order)
            impacts = system.impacts(ready, 0.0, SECONDS)
            mine = some(impacts, impacts.collider == 0)
            off = distances(kind.collider, mine)
            worst.append(float(np.max(off)))
            seen_by_map = ~np.isnan(impact_coordinates(mine, ready, extent=EXTENT)[:, 0])
            found = impact_map(system, ready, 0.0, SECONDS, resolution=48, combine="add", extent=EXTENT)
            counts.append((len(mine), int(seen_by_map.sum()), int(found.data[0, ..., COUNT].sum())))
        rows.append((kind.name, counts[0][0], worst[0], counts[1][0], worst[1], counts[1][2]))
        _draw(kind, size, report, system, ready, impacts, where)
        holds = max(worst) <= ON_IT and all(inside == in_map for _, inside, in_map in counts) and min(counts)[0] > 0
        if not holds:
            report.failed.append(f"impacts lie on a {kind.name}, and its map has them all")
    report.table(["kind", "impacts, 1st order", "off by, m", "impacts, 2nd order", "off by, m", "in the map"], rows)
    report.compare(
        "Colliders are implicit surfaces f(p) = 0, first-order particles hit second-order surfaces, second-order ones planes.",
        f"both orders hit {len(rows)} kinds; impacts lie on their colliders to "
        f"{max(max(row[2], row[4]) for row in rows):.1e} m, and maps hold as many as have coordinates.",
        not any(failed.startswith("impacts lie on a") for failed in report.failed),
    )


def _draw(kind: Kind, size: str, report: Report, system: ParticleSystem, ready: ColliderSet, impacts: Any, where: Any) -> None:
    seen = look_at(ready, where, size, extent=EXTENT)
    textures = splat_textures(impacts, ready, radius=0.03, extent=EXTENT)
    found = impact_map(system, ready, 0.0, SECONDS, resolution=48, extent=EXTENT)

    def scene(axes: Any) -> None:
        inks = [[0.97, 0.97, 0.95], [0.62, 0.64, 0.68]][: len(ready)]
        picture(axes, seen.paint([kind.look, FLOOR][: len(ready)], seen.splats(impacts, radius=0.03), inks))
        stones(axes, seen, system, ready, SECONDS, 0.013)

    panels(
        report,
        f"kind_{kind.name.replace(' ', '_')}",
        [
            (kind.name, scene),
            ("splat texture", lambda axes: texture_panel(axes, kind.look.color, textures[0], kind.collider)),
            ("impact map (blue early, red late)", lambda axes: map_panel(axes, found, 0, kind.collider)),
        ],
        columns=3,
        widths=(1.0, 0.72, 0.72),
        scale=0.75,
    )
