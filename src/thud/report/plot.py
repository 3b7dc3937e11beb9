"""`thud.plot(...)`: shapes, worlds, results and bounding volumes in one matplotlib picture."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud._core.atomic import replaced_path
from thud.bounds.volumes import Aabb, BoundingSphere, Kdop, Obb, Volume
from thud.dynamics.characters.character import Character
from thud.dynamics.sticks.sticks import Sticks
from thud.errors import InvalidInputError, MissingExtraError, UnboundedShapeError
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.maps.drawn import collider_triangles
from thud.particles.maps.map_result import MapImpacts
from thud.pose import Pose, as_poses
from thud.report.plot_partitions import PARTITIONS, draw_partition
from thud.results import (
    ClosestPoints,
    Contacts,
    Distances,
    ImageContacts,
    Impacts,
    Interference,
    ParticleImpacts,
    ParticleStates,
    Piercings,
    RayCrossings,
    RayHits,
    WorldCasts,
    WorldClosestPoints,
    WorldContacts,
    WorldDistances,
    WorldEvents,
    WorldImpacts,
    WorldRayCrossings,
    WorldRayHits,
)
from thud.shapes.ellipsoid import Ellipsoid
from thud.shapes.half_space import HalfSpace
from thud.shapes.shape import Shape
from thud.world.world import World

#: Most triangles of a shape that are drawn: a picture shows no more, and matplotlib sorts them all.
_MOST_TRIANGLES = 20_000

_SUN = np.array([0.4, -0.5, 0.77])

#: The corners of a box that an edge joins.
_EDGES = [(a, b) for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]


class _Scene:
    """What goes into a picture, and how far it reaches."""

    def __init__(self, axes: Any, normals: float | None, resolution: int) -> None:
        import matplotlib

        self.axes, self._given, self._resolution = axes, normals, resolution
        self._colors = matplotlib.colormaps["tab10"](np.arange(10))[:, :3]
        self._turn = 0
        self.lower, self.upper = np.full(3, np.inf), np.full(3, -np.inf)
        self.later: list[Callable[[], None]] = []

    def color(self) -> Floats:
        """The next one."""
        self._turn += 1
        return np.asarray(self._colors[(self._turn - 1) % len(self._colors)])

    def reach(self, points: Floats) -> None:
        """Make room for points."""
        finite = points.reshape(-1, 3)
        finite = finite[np.isfinite(finite).all(axis=1)]
        if len(finite):
            self.lower, self.upper = np.minimum(self.lower, finite.min(axis=0)), np.maximum(self.upper, finite.max(axis=0))

    @property
    def size(self) -> float:
        """Of all that is drawn, metres; 1 of nothing."""
        span = float(np.max(self.upper - self.lower)) if np.isfinite(self.lower).all() else 0.0
        return span if span > 0.0 else 1.0

    @property
    def arrow(self) -> float:
        """How long a normal is drawn, metres."""
        return 0.08 * self.size if self._given is None else self._given

    def shape(self, shape: Shape, poses: Floats, alpha: float) -> None:
        """At each pose, in one colour."""
        color = self.color()
        if isinstance(shape, HalfSpace):
            self.later.append(lambda: self._plane(shape, poses, color))
            return
        try:
            mesh = shape.to_mesh(self._resolution)
        except UnboundedShapeError:
            raise InvalidInputError("plot: a compound with a HalfSpace is unbounded; draw its shapes one by one") from None
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        for pose in Pose.from_rows(poses):
            self.triangles(pose.apply(vertices)[faces], color, alpha)

    def triangles(self, corners: Floats, color: Floats, alpha: float) -> None:
        """(F, 3, 3), shaded."""
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        if len(corners) > _MOST_TRIANGLES:
            corners = corners[np.linspace(0, len(corners) - 1, _MOST_TRIANGLES).astype(np.int64)]
        self.reach(corners)
        across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
        across /= np.maximum(np.linalg.norm(across, axis=1, keepdims=True), 1e-300)
        light = 0.65 + 0.35 * (across @ _SUN)
        colors = np.column_stack([np.clip(light[:, None] * color, 0.0, 1.0), np.full(len(light), alpha)])
        self.axes.add_collection3d(Poly3DCollection(corners, facecolors=colors, edgecolors="none"))

    def _plane(self, shape: HalfSpace, poses: Floats, color: Floats) -> None:
        from mpl_toolkits.mplot3d.art3d import Poly3DCollection

        middle = 0.5 * (self.lower + self.upper) if np.isfinite(self.lower).all() else np.zeros(3)
        for pose in Pose.from_rows(poses):
            n = pose.rotation @ np.asarray(shape.normal)
            foot = middle - (n @ (middle - pose.apply(np.asarray(shape.normal) * shape.offset))) * n
            u = np.cross(n, np.eye(3)[np.abs(n).argmin()])
            u /= np.linalg.norm(u)
            v = np.cross(n, u)
            half = 0.75 * self.size
            corners = np.array([foot + half * (a * u + b * v) for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))])
            self.reach(corners)
            self.axes.add_collection3d(Poly3DCollection([corners], facecolors=[(*color, 0.25)], edgecolors=[(*color, 0.6)]))

    def points(self, points: Floats, normals: Floats | None = None, marker: str = "o") -> None:
        """With normals, if there are any."""
        color = self.color()
        self.reach(points)
        self.axes.scatter(*points.T, color=color, s=14, marker=marker, depthshade=False)
        if normals is not None and len(points):
            self.later.append(lambda: self._arrows(points, normals, color))

    def _arrows(self, points: Floats, normals: Floats, color: Floats) -> None:
        ends = points + self.arrow * normals
        self.reach(ends)
        self.lines(np.stack([points, ends], axis=1), color)

    def lines(self, ends: Floats, color: Floats | None = None) -> None:
        """(N, 2, 3)."""
        from mpl_toolkits.mplot3d.art3d import Line3DCollection

        self.reach(ends)
        self.axes.add_collection3d(Line3DCollection(ends, colors=[self.color() if color is None else color], linewidths=1.2))

    def volume(self, volume: Volume) -> None:
        """As wires."""
        color = self.color()
        for one in [volume] if volume.is_one else [volume[k] for k in range(len(volume))]:
            for ends in _wires(one):
                self.lines(ends, color)


def _wires(volume: Any) -> Iterator[Floats]:
    """(N, 2, 3) edges of one bounding volume."""
    signs = np.array([[x, y, z] for z in (-1.0, 1.0) for y in (-1.0, 1.0) for x in (-1.0, 1.0)])
    if isinstance(volume, BoundingSphere):
        angle = np.linspace(0.0, 2.0 * np.pi, 49)
        circle = np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=1) * float(volume.radius)
        for turn in range(3):
            ring = np.roll(circle, turn, axis=1) + volume.center
            yield np.stack([ring[:-1], ring[1:]], axis=1)
    elif isinstance(volume, Kdop):
        yield _kdop_edges(volume)
    else:
        box: Aabb | Obb = volume
        axes = box.axes if isinstance(box, Obb) else np.eye(3)
        corners = box.center + (signs * box.half_extents) @ axes
        yield np.array([[corners[a], corners[b]] for a, b in _EDGES])


def _kdop_edges(volume: Kdop) -> Floats:
    """The edges of a polytope that is given by half-spaces: its corners by duality, joined where two sides meet."""
    from scipy.spatial import HalfspaceIntersection

    d = volume.directions
    sides = np.concatenate([np.column_stack([d, -volume.high]), np.column_stack([-d, volume.low])])
    inside = _middle(sides)
    if inside is None:
        return _box_edges(volume.aabb)
    corners = np.unique(np.round(HalfspaceIntersection(sides, inside).intersections, 9), axis=0)
    on = np.abs(corners @ sides[:, :3].T + sides[:, 3]) <= 1e-6 * (1.0 + np.abs(sides[:, 3]).max())
    ends = [
        [corners[a], corners[b]]
        for a in range(len(corners))
        for b in range(a + 1, len(corners))
        if np.linalg.matrix_rank(sides[on[a] & on[b], :3]) == 2
    ]
    return np.array(ends).reshape(-1, 2, 3)


def _middle(sides: Floats) -> Floats | None:
    """A point well inside half-spaces, None if they are flat."""
    from scipy.optimize import linprog

    lengths = np.linalg.norm(sides[:, :3], axis=1)
    found = linprog(
        [0, 0, 0, -1], A_ub=np.column_stack([sides[:, :3], lengths]), b_ub=-sides[:, 3], bounds=[(None, None)] * 3 + [(0, None)]
    )
    return found.x[:3] if found.success and found.x[3] > 1e-9 else None


def _box_edges(box: Aabb) -> Floats:
    return next(_wires(box))


def _draw(scene: _Scene, thing: Any, alpha: float) -> None:
    """One argument of `plot`."""
    if isinstance(thing, Shape):
        scene.shape(thing, as_poses(None, "pose"), alpha)
    elif isinstance(thing, World):
        handles = thing.handles()
        for handle, pose in zip(handles.tolist(), thing.poses(), strict=True):
            scene.shape(thing.shape(handle), as_poses(pose, "pose"), alpha)
    elif isinstance(thing, Sticks):
        if len(thing.faces):
            scene.triangles(thing.position[thing.faces], scene.color(), alpha)
        else:
            scene.lines(thing.position[thing.sticks[thing.alive]], None)
    elif isinstance(thing, Character):
        for radii in np.unique(thing.radii, axis=0):
            own = (thing.radii == radii).all(axis=1)
            scene.shape(Ellipsoid(radii), Pose(thing.position[own]).rows, alpha)
    elif isinstance(thing, Volume):
        scene.volume(thing)
    elif isinstance(thing, PARTITIONS):
        draw_partition(scene, thing, scene.color())
    elif isinstance(thing, (Contacts, WorldContacts, ImageContacts, Piercings, WorldEvents, RayCrossings, WorldRayCrossings)):
        scene.points(thing.point, thing.normal)
    elif isinstance(thing, (RayHits, WorldRayHits, ClosestPoints, WorldClosestPoints)):
        hit = np.isfinite(thing.distance)
        scene.points(thing.point[hit], thing.normal[hit] if hasattr(thing, "normal") else None)
    elif isinstance(thing, (Impacts, WorldImpacts, WorldCasts, ParticleImpacts)):
        hit = np.isfinite(thing.time)
        scene.points(thing.point[hit], thing.normal[hit])
    elif isinstance(thing, (Distances, WorldDistances)):
        near = np.isfinite(thing.distance).ravel()
        scene.lines(np.stack([thing.point_a.reshape(-1, 3)[near], thing.point_b.reshape(-1, 3)[near]], axis=1))
    elif isinstance(thing, (Interference, MapImpacts, ParticleStates)):
        scene.points(thing.points if isinstance(thing, Interference) else _places(thing))
    elif isinstance(thing, Collider):
        scene.triangles(collider_triangles(thing), scene.color(), alpha)
    elif isinstance(thing, ColliderSet):
        for collider in thing.colliders:
            _draw(scene, collider, alpha)
    elif isinstance(thing, Pose):
        for k, color in enumerate(np.eye(3) * 0.8):
            tips = thing.rows[:, 9:] + (0.3 * scene.size) * thing.rows[:, [k, 3 + k, 6 + k]]
            scene.lines(np.stack([thing.rows[:, 9:], tips], axis=1), color)
    elif isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[0], Shape):
        scene.shape(thing[0], as_poses(thing[1], "pose"), alpha)
    elif isinstance(thing, tuple) and len(thing) == 2 and isinstance(thing[1], (RayHits, WorldRayHits)):
        _rays(scene, np.asarray(thing[0], dtype=np.float64), thing[1])
    elif isinstance(thing, np.ndarray) and thing.ndim == 2 and thing.shape[1] == 3:
        scene.points(finite_array(thing, "points"))
    else:
        raise InvalidInputError(
            f"plot: cannot draw a {type(thing).__name__}; expected shapes, (shape, pose), worlds, sticks, characters, results, "
            "(origins, hits of rays), bounding volumes, partitions, colliders, poses, or (N, 3) points"
            f"{'; the file to write is file=' + repr(thing) if isinstance(thing, (str, os.PathLike)) else ''}"
        )


def _places(thing: MapImpacts | ParticleStates) -> Floats:
    places = thing.position if isinstance(thing, ParticleStates) else thing.point
    return np.asarray(places[np.isfinite(places).all(axis=1)])


def _rays(scene: _Scene, origins: Floats, hits: RayHits | WorldRayHits) -> None:
    hit = np.isfinite(hits.distance)
    starts = np.broadcast_to(origins, hits.point.shape)[hit]
    scene.lines(np.stack([starts, hits.point[hit]], axis=1))
    scene.points(hits.point[hit], hits.normal[hit])


def _picture_kind(file: str | Path) -> str:
    """What the name's suffix says, known before anything is drawn."""
    from matplotlib.backend_bases import FigureCanvasBase

    kind = Path(file).suffix[1:].lower()
    if kind not in FigureCanvasBase.get_supported_filetypes():
        raise InvalidInputError(f"file: expected a name that ends in .png, .pdf, .svg or .jpg, got {str(file)!r}")
    return kind


def plot(
    *things: Any,
    ax: Any = None,
    file: str | Path | None = None,
    alpha: float = 0.6,
    normals: float | None = None,
    resolution: int = 24,
    view: npt.ArrayLike = (25.0, -60.0),
    title: str = "",
) -> Any:
    """Draw anything: one matplotlib picture in 3D, metres on its axes, the same scale along all three.

    Parameters
    ----------
    things : shapes; (shape, pose) with one pose or many; worlds; results (contacts with their normals, hits of rays, distances
        as lines, impacts); (origins, hits) for rays as lines; bounding volumes of `thud.bounds` as wires; partitions
        (`thud.partitions`); colliders of particles; poses as three axes, x red, y green, z blue; (N, 3) arrays as points
    ax : a 3D axes of matplotlib to draw into; None for a new figure
    file : where to write the picture, by its suffix; None to leave it to the caller
    alpha : how opaque shapes are, 0 to 1
    normals : length of normals, metres; None for a part of the scene
    resolution : sides of circles
    view : elevation and azimuth, degrees
    title : above the picture

    Returns
    -------
    The axes; `matplotlib.pyplot.show()` opens a window.
    """
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise MissingExtraError.for_package("matplotlib", "app") from None
    if not things:
        raise InvalidInputError("plot: expected something to draw")
    kind = None if file is None else _picture_kind(file)
    figure = None
    if ax is None:
        figure = plt.figure(figsize=(7.0, 6.0))
        ax = figure.add_subplot(projection="3d")
    elif not hasattr(ax, "add_collection3d"):
        raise InvalidInputError('ax: expected a 3D axes, as figure.add_subplot(projection="3d") makes it')
    scene = _Scene(ax, normals, resolution)
    # Poses last: they are as long as the scene asks for.
    for thing in sorted(things, key=lambda thing: isinstance(thing, Pose)):
        _draw(scene, thing, alpha)
    for late in scene.later:
        late()
    if np.isfinite(scene.lower).all():
        middle, half = 0.5 * (scene.lower + scene.upper), np.maximum(0.5 * (scene.upper - scene.lower), 0.02 * scene.size)
        ax.set(xlim=(middle - half)[[0]].tolist() + (middle + half)[[0]].tolist())
        ax.set(ylim=(middle - half)[[1]].tolist() + (middle + half)[[1]].tolist())
        ax.set(zlim=(middle - half)[[2]].tolist() + (middle + half)[[2]].tolist())
        ax.set_box_aspect(half)
    elevation, azimuth = np.asarray(view, dtype=np.float64)
    ax.view_init(elevation, azimuth)
    ax.set(xlabel="x, m", ylabel="y, m", zlabel="z, m", title=title)
    if file is not None:
        with replaced_path(file) as temporary:
            ax.figure.savefig(temporary, dpi=130, bbox_inches="tight", format=kind)
        if figure is not None:
            plt.close(figure)
    return ax
