"""Points and sticks: a rope, cloth on a moving ball, a rag doll of sticks beside one of joints. Strips of frames."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import thud
from reproductions.report import Report
from reproductions.slides.scenes import staircase_doll
from thud.dynamics import Sticks, cloth, rag_doll, rope
from thud.report.camera import Camera
from thud.report.world_picture import world_picture

DT = 1.0 / 60.0

#: Pixels a side of one picture of a strip; points a side of the cloth.
_PIXELS = {"ci": (40, 30), "standard": (400, 300), "full": (800, 600)}
_SIDE = {"ci": 8, "standard": 40, "full": 100}

_GROUND = (0.72, 0.74, 0.70)
_COLORS = np.array([(0.88, 0.45, 0.30), (0.45, 0.62, 0.80), (0.93, 0.75, 0.35), (0.50, 0.70, 0.50)])


def _shown(world: thud.World, net: Sticks) -> tuple[thud.World, Any]:
    """A world of the bodies and the net, as a mesh, or as capsules along its sticks; and colours."""
    shown, colors = thud.World(threads=1), []
    for handle in world.handles().tolist():
        shown.add(world.shape(handle), world.poses(handle)[0], static=bool(world.static([handle])[0]) or None)
        colors.append(_GROUND if world.static([handle])[0] else _COLORS[1])
    if len(net.faces):
        shown.add(thud.TriangleMesh(net.position, net.faces))
        colors.append(_COLORS[0])
    else:
        for a, b in net.position[net.sticks[net.collide & net.alive]]:
            way = b - a
            length = float(np.linalg.norm(way))
            turn = np.cross([0.0, 0.0, 1.0], way / length)
            angle = np.arctan2(np.linalg.norm(turn), way[2] / length)
            axis = turn / max(float(np.linalg.norm(turn)), 1e-12)
            pose = thud.Pose.from_rotation_vector(0.5 * (a + b), angle * axis)
            shown.add(thud.Capsule(0.5 * net.thickness, 0.5 * length), pose)
            colors.append(_COLORS[0])
    return shown, np.array(colors)


def _hanging(_side: int) -> tuple[thud.World, Sticks, Camera | None, tuple[float, ...]]:
    world = thud.World(threads=1)
    world.add(thud.Box((5, 5, 0.1)), thud.Pose([0, 0, -0.1]), static=True)
    line = rope((-0.7, 0, 1.3), (0.7, 0, 1.3), 30, length=2.4, radius=0.011, pinned=[0, 29], damping=0.3, substeps=16)
    return world, line, None, (0.1, 0.3, 0.6, 3.0)


def _falling(side: int) -> tuple[thud.World, Sticks, Camera | None, tuple[float, ...]]:
    world = thud.World(threads=1)
    world.add(thud.Box((5, 5, 0.1)), thud.Pose([0, 0, -0.1]), static=True)
    ball = thud.to_mesh(thud.Sphere(0.35), segments=32)
    world.add(ball, thud.Pose([-0.15, 0, 0.45]), kinematic=True, velocity=(0.25, 0, 0), angular_velocity=(0, 0, 0.5))
    wall = thud.TriangleMesh([[0.55, -0.5, 0], [0.55, 0.5, 0], [0.55, 0.5, 0.5], [0.55, -0.5, 0.5]], [[0, 1, 2], [0, 2, 3]])
    world.add(wall, static=True)
    return world, cloth((side, side), 1.6 / (side - 1), thud.Pose([0, 0, 0.95]), damping=0.3), None, (0.1, 0.35, 0.7, 1.4)


def _dolls(_side: int) -> tuple[thud.World, Sticks, Camera | None, tuple[float, ...]]:
    world = staircase_doll(np.array([-0.9, -2.0, 4.3]))
    doll = rag_doll(thud.Pose([0.9, -2.0, 3.3]), velocity=(0, 2.0, 0))
    return world, doll, Camera((7.0, 6.5, 4.0), (0.0, 0.2, 1.2), 0.9, 1, 1), (0.1, 0.6, 1.2, 3.0)


_SCENES: dict[str, Callable[[int], tuple[thud.World, Sticks, Camera | None, tuple[float, ...]]]] = {
    "rope": _hanging, "cloth": _falling, "rag dolls": _dolls,
}  # fmt: skip


def run(size: str, report: Report) -> None:
    """A strip a scene; nothing falls through the floor, and no pair passes another."""
    report.heading("Points and sticks (`thud.dynamics.Sticks`)")
    width, height = _PIXELS[size]
    frames: dict[str, list[tuple[float, Any]]] = {}
    for name, make in _SCENES.items():
        world, net, view, times = make(_SIDE[size])
        eye, target = ((2.2, -2.6, 1.7), (0.0, 0.0, 0.5)) if view is None else (view.eye, view.target)
        camera = Camera(eye, target, 0.9, width, height)
        frames[name], crossed, worst = [], 0, 0.0
        for time in times if size != "ci" else (0.1,):
            while world.time < time:
                world.step(DT)
                told = net.step(world, DT)
                crossed, worst = crossed + told.crossed, max(worst, told.error)
            frames[name].append((time, world_picture(*_shown_by(world, net, camera))))
        low = float(net.position[:, 2].min())
        assert low > 0.0, f"{name}: a point lies at {low} m, below the floor"
        report.say(
            f"{name}: {len(net)} points, {len(net.sticks)} sticks; after {world.time:.1f} s the lowest point is at {low:.3f} m,"
            f" sticks miss their lengths by {told.error:.1%} at most and {told.mean_error:.2%} on average (at worst"
            f" {worst:.0%}), {crossed} pairs passed each other."
        )

    def draw(plt: Any) -> Any:
        columns = max(len(strip) for strip in frames.values())
        figure, axes = plt.subplots(len(frames), columns, figsize=(3.6 * columns, 2.9 * len(frames)), squeeze=False)
        for row, (name, strip) in zip(axes, frames.items(), strict=True):
            for ax, (time, picture) in zip(row, strip, strict=False):
                ax.imshow(picture)
                ax.set_title(f"{name}, {time:g} s", fontsize=10)
                ax.axis("off")
        return figure

    report.figure("sticks", draw)


def _shown_by(world: thud.World, net: Sticks, camera: Camera) -> tuple[thud.World, Camera, Any]:
    shown, colors = _shown(world, net)
    return shown, camera, colors
