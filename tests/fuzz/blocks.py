"""Blocks of the fuzz: one pair of shapes at 200 poses, made from (kinds, block number, seed) and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import thud
from tests.fuzz.poses import POSES, cube_symmetries, random_directions, random_rotations, relative_poses
from tests.fuzz.shapes import ASPECTS, KINDS, random_shape, reach_of
from tests.oracles.convex import is_curved
from thud.shapes import Shape

ROWS = 200
EPS = 2.0**-52


@dataclass(frozen=True, eq=False)
class Block:
    """Two shapes and the poses to try them at. Row k has the relative pose kind POSES[k % 10]."""

    kind_a: str
    kind_b: str
    number: int
    seed: int
    a: Shape
    b: Shape
    pose_a: thud.Pose
    pose_b: thud.Pose

    @property
    def size(self) -> float:
        """Metres: what errors are measured by."""
        return reach_of(self.a) + reach_of(self.b)

    @property
    def tolerance(self) -> float:
        """Error allowed, as a fraction of the size."""
        return 1e-6 if is_curved(self.a) or is_curved(self.b) else 1e-9

    @property
    def limit(self) -> np.ndarray:
        """(N,) metres: tol * size + 8 eps |offset|."""
        offset = np.maximum(np.abs(self.pose_a.position).max(axis=1), np.abs(self.pose_b.position).max(axis=1))
        return self.tolerance * self.size + 8 * EPS * offset

    def rows(self, index) -> Block:
        """The same block with some of its poses."""
        return Block(self.kind_a, self.kind_b, self.number, self.seed, self.a, self.b, self.pose_a[index], self.pose_b[index])


def make_block(kind_a: str, kind_b: str, number: int, seed: int = 0) -> Block:
    """Block `number` of an ordered pair of kinds."""
    rng = np.random.default_rng([seed, KINDS.index(kind_a), KINDS.index(kind_b), number])
    scale = 10.0 ** rng.uniform(-4.0, 4.0)
    ratio = 10.0 ** rng.choice([0.0, 0.0, rng.uniform(-1.0, 1.0), rng.uniform(-4.0, 4.0)])
    a = random_shape(kind_a, ASPECTS[number % 4], scale * min(1.0, 1.0 / ratio), rng)
    b = random_shape(kind_b, ASPECTS[number // 4 % 4], scale * min(1.0, ratio), rng)
    if kind_a == kind_b and rng.random() < 0.15:
        b = a
    size = reach_of(a) + reach_of(b) or scale
    rotations, translations = np.empty((ROWS, 3, 3)), np.empty((ROWS, 3))
    for k, kind in enumerate(POSES):
        rows = slice(k, ROWS, len(POSES))
        rotations[rows], translations[rows] = relative_poses(kind, a, b, size, len(range(*rows.indices(ROWS))), rng)
    # Both together somewhere in the world: left where they are, turned, moved a little, moved by 1e6 m.
    turn = np.where(rng.random((ROWS, 1, 1)) < 0.6, random_rotations(ROWS, rng), np.eye(3))
    turn = np.where(rng.random((ROWS, 1, 1)) < 0.1, cube_symmetries()[rng.integers(24, size=ROWS)], turn)
    offset = rng.choice([0.0, 0.0, 10.0 * size, 1e6], ROWS)
    place = random_directions(ROWS, rng) * offset[:, None]
    pose_a = np.concatenate([turn.reshape(ROWS, 9), place], axis=1)
    position_b = np.einsum("nij,nj->ni", turn, translations) + place
    pose_b = np.concatenate([(turn @ rotations).reshape(ROWS, 9), position_b], axis=1)
    return Block(kind_a, kind_b, number, seed, a, b, thud.Pose.from_rows(pose_a), thud.Pose.from_rows(pose_b))
