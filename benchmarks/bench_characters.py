"""Characters on a terrain mesh and among boxes, beside rapier3d's character controller. Everybody has one core.

rapier3d's controller moves one shape a call, a capsule as high and as wide as our ellipsoid; steps, slopes and sticking to the
ground are set alike. The loop over its characters is Python's, as it is for its users: `seconds a move` has that in it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from benchmarks.harness import Contestant, Report, one_core
from benchmarks.peers import installed

Floats = npt.NDArray[np.float64]

#: (cells a side of the terrain, characters, moves a run, rounds)
_SIZES = {"ci": (40, 50, 2, 1), "standard": (224, 1_000, 10, 9), "full": (1_000, 10_000, 10, 9)}

_DT = 1.0 / 60.0
_SPACING = 0.5
_RADII = (0.3, 0.3, 0.9)
_SPEED = 3.0
_STEP, _SLOPE = 0.3, math.radians(50.0)


def _hills(x: Floats, y: Floats) -> Floats:
    return np.asarray(1.5 * np.sin(0.3 * x) * np.cos(0.23 * y) + 0.3 * np.sin(1.1 * x + 0.7 * y))


def _terrain(cells: int) -> thud.TriangleMesh:
    at = np.arange(cells + 1) * _SPACING
    x, y = np.meshgrid(at, at)
    a = (np.arange(cells)[:, None] * (cells + 1) + np.arange(cells)).ravel()
    b = a + cells + 1
    faces = np.concatenate([np.stack([a, a + 1, b + 1], axis=1), np.stack([a, b + 1, b], axis=1)])
    return thud.TriangleMesh(np.stack([x, y, _hills(x, y)], axis=-1).reshape(-1, 3), faces)


def _boxes(rng: np.random.Generator, cells: int) -> tuple[Floats, Floats]:
    """Half extents (K, 3) and centres (K, 3): kerbs to step on and blocks to walk round, one to 16 square metres."""
    side = cells * _SPACING
    count = int(side * side / 16.0)
    half = np.tile([0.5, 0.5, 0.1], (count, 1))
    half[::2, 2] = 1.0
    where = rng.uniform(0.0, side, (count, 2))
    return half, np.column_stack([where, _hills(*where.T) + 0.05])


class Thud:
    """Walks to and fro: as many moves forth as back, so that each run starts on the same ground."""

    def __init__(self, world: thud.World, position: Floats, motion: Floats, moves: int, method: str) -> None:
        self.world, self.motion, self.moves = world, motion, moves
        self.character = thud.dynamics.Character(_RADII, position, step_height=_STEP, slope=_SLOPE, method=method)
        for _ in range(40):
            self.character.move(world, (0, 0, 0), _DT)

    def run(self) -> None:
        for _ in range(self.moves):
            self.character.move(self.world, self.motion, _DT)
        self.motion = -self.motion


class ThudAlone(Thud):
    """One character a call."""

    def __init__(self, world: thud.World, position: Floats, motion: Floats, moves: int) -> None:
        super().__init__(world, position, motion, moves, "walk")
        self.each = [thud.dynamics.Character(_RADII, one, step_height=_STEP, slope=_SLOPE) for one in self.character.position]

    def run(self) -> None:
        for _ in range(self.moves):
            for character, motion in zip(self.each, self.motion, strict=True):
                character.move(self.world, motion, _DT)
        self.motion = -self.motion


class Rapier:
    """Its `KinematicCharacterController`. Gravity is the caller's: a fall that begins anew on the ground."""

    def __init__(
        self, mesh: thud.TriangleMesh, boxes: tuple[Floats, Floats] | None, start: Floats, motion: Floats, moves: int
    ) -> None:
        import rapier3d as rapier

        self.rapier, self.motion, self.moves = rapier, motion, moves
        self.world = rapier.PhysicsWorld(gravity=(0.0, 0.0, -9.81))
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        self.world.add_collider(rapier.Collider.trimesh(vertices, faces.astype(np.uint32)))
        for half, at in zip(*boxes, strict=True) if boxes is not None else ():
            self.world.add_collider(rapier.Collider.cuboid(*half.tolist()).translation(tuple(at.tolist())))
        self.world.step()
        self.shape = rapier.SharedShape.capsule_z(_RADII[2] - _RADII[0], _RADII[0])
        self.controller = rapier.KinematicCharacterController(
            up=(0.0, 0.0, 1.0), offset=0.01, max_slope_climb_angle=_SLOPE, min_slope_slide_angle=_SLOPE, snap_to_ground=_STEP,
            autostep=rapier.CharacterAutostep(
                max_height=rapier.CharacterLength.absolute(_STEP), min_width=rapier.CharacterLength.absolute(0.1)
            ),
        )  # fmt: skip
        self.position, self.fall = start.copy(), np.zeros(len(start))
        self.grounded = np.zeros(len(start), np.bool_)
        for _ in range(40):
            self._move(np.zeros_like(motion))

    def _move(self, motion: Floats) -> None:
        rapier, queries, move = self.rapier, self.world.query_pipeline, self.controller.move_shape
        for k in range(len(motion)):
            fall = self.fall[k] - 9.81 * _DT
            way = (motion[k, 0], motion[k, 1], fall * _DT)
            place = rapier.Isometry3(tuple(self.position[k]), rapier.Rotation3.identity())
            done = move(_DT, None, None, queries, self.shape, place, way)
            went = done.translation
            self.position[k, 0] += went.x
            self.position[k, 1] += went.y
            self.position[k, 2] += went.z
            self.grounded[k] = done.grounded
            self.fall[k] = 0.0 if done.grounded else fall

    def run(self) -> None:
        for _ in range(self.moves):
            self._move(self.motion)
        self.motion = -self.motion


def _race(report: Report, scene: str, cells: int, count: int, moves: int, rounds: int, boxed: bool) -> None:
    rng = np.random.default_rng(0)
    mesh, side = _terrain(cells), cells * _SPACING
    world = thud.World(threads=1)
    world.add(mesh, static=True)
    boxes = _boxes(rng, cells) if boxed else None
    if boxes is not None:
        world.add_many([thud.Box(half) for half in boxes[0]], thud.Pose(boxes[1]), static=True)
    where = rng.uniform(0.1 * side, 0.9 * side, (count, 2))
    start = np.column_stack([where, _hills(*where.T) + (3.5 if boxed else 1.5)])
    angle = rng.uniform(0.0, 2.0 * math.pi, count)
    motion = _SPEED * _DT * np.column_stack([np.cos(angle), np.sin(angle), np.zeros(count)])
    few = min(count, 100)
    walk = Thud(world, start, motion, moves, "walk")
    slides = Thud(world, start, motion, moves, "slides")
    alone = ThudAlone(world, start[:few], motion[:few], moves)
    racers = [
        Contestant("thud, 1 thread, all at once", walk.run, count * moves),
        Contestant("thud, 1 thread, method slides", slides.run, count * moves),
        Contestant("thud, 1 thread, one at a time", alone.run, few * moves),
    ]
    peer: Any = None
    if installed("rapier3d"):
        peer = Rapier(mesh, boxes, start[:few], motion[:few], moves)
        racers.append(Contestant("rapier3d, one at a time", peer.run, few * moves))
    report.race(scene, "move", "rapier3d, one at a time" if peer else racers[0].name, racers, rounds)
    said = f"on the ground: thud {walk.character.grounded.mean():.1%}"
    report.note(scene, "move", said + (f", rapier3d {peer.grounded.mean():.1%}" if peer else ""))


def run(size: str) -> None:
    cells, count, moves, rounds = _SIZES[size]
    report = Report("characters")
    with one_core():
        triangles = f"terrain mesh of {2 * cells * cells:,} triangles"
        _race(report, f"{count:,} characters, {triangles}", cells, count, moves, rounds, boxed=False)
        _race(report, f"{count:,} characters, {triangles}, boxes on it", cells, count, moves, rounds, boxed=True)
    report.save()
