"""Crowds of concave meshes, frame after frame: those of [Vogiannou] Figure 11, which hardly collide, and one of which most do.
Poses are plain (N, 7) arrays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

import thud
from benchmarks import families
from reproductions.models import models, small_models
from reproductions.vogiannou.figure_11 import Stage
from reproductions.vogiannou.scenes import FRAMES_A_SECOND, PAPER, SECONDS, crowd, unit_radius

Floats = npt.NDArray[np.float64]

#: When the frames of the paper's scenes begin (seconds): the crowd is past the torus, and half of it lies on the plane.
_BEGIN = 4.0


@dataclass
class MeshCrowd:
    """Meshes and their poses, 60 frames a second."""

    name: str
    meshes: list[thud.TriangleMesh]
    """(N,) one each"""
    frames: list[Floats]
    """(N, 7) each"""

    def unrelated(self, seed: int = 1) -> MeshCrowd:
        """The same crowd, in every frame another body at each place: nothing that was kept from a frame is of use."""
        rng = np.random.default_rng(seed)
        return MeshCrowd(
            f"{self.name}, unrelated frames", self.meshes, [frame[rng.permutation(len(frame))] for frame in self.frames]
        )


def paper_crowd(scene: str, count: int, frames: int, small: bool) -> MeshCrowd:
    """The torus or the plane scene."""
    kinds = [unit_radius(thud.TriangleMesh(*mesh)) for mesh in (small_models() if small else models()).values()]
    stage = Stage(crowd(scene, count, len(kinds)), kinds, PAPER[scene] / (SECONDS * FRAMES_A_SECOND) * count / 600)
    found = []
    for k in range(frames):
        stage.move(_BEGIN + k / FRAMES_A_SECOND)
        pose = thud.Pose.from_rows(stage.rows)
        found.append(np.concatenate([pose.position, pose.quaternion], axis=1))
    return MeshCrowd(f"{scene}, {count} meshes", [kinds[k] for k in stage.people.which], found)


def colliding_crowd(count: int, frames: int, small: bool, wanted: float = 0.6, seed: int = 3) -> MeshCrowd:
    """Meshes drawn together until `wanted` of the pairs whose boxes overlap collide; they fly straight, 0.5 m/s."""
    rng = np.random.default_rng(seed)
    kinds = [unit_radius(thud.TriangleMesh(*mesh)) for mesh in (small_models() if small else models()).values()]
    meshes = [kinds[k % len(kinds)] for k in range(count)]
    at, turn = rng.uniform(-1.0, 1.0, (count, 3)), families.unit(rng.normal(size=(count, 4)))
    low, high = 0.05 * count ** (1 / 3), 1.0 * count ** (1 / 3)
    for _ in range(8):
        space = 0.5 * (low + high)
        world = thud.World()
        world.add_many(meshes, np.concatenate([space * at, turn], axis=1))
        share = len(world.intersecting()) / max(1, world.stats.broad_pairs)
        low, high = (space, high) if share > wanted else (low, space)
    way = families.unit(rng.normal(size=(count, 3))) * 0.5 / FRAMES_A_SECOND
    poses = [np.concatenate([low * at + k * way, turn], axis=1) for k in range(frames)]
    return MeshCrowd(f"crowd of {count} meshes, most pairs collide", meshes, poses)
