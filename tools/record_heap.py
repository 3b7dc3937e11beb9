"""`python -m tools.record_heap --boxes 600 --frames 1000 --out FILE.npz`: poses of a calm heap of boxes, frame after frame.

pybullet drops boxes of many sizes into a bin, waits until they lie, and goes on: what is recorded is how a settled heap stirs.
The file has `half` (N, 3), half extents in metres, `poses` (F, N, 7) [x y z qw qx qy qz] in single precision, 1/240 s apart,
and `planes` (5, 4), normal and offset of the half-spaces that are floor and walls."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]

#: Seconds of a step, steps until the heap counts as calm, and half extents from and to, metres.
STEP, CALM, LEAST, MOST = 1.0 / 240.0, 3600, 0.15, 0.35


@dataclass
class Heap:
    """What is recorded, see the module."""

    half: Singles
    poses: Singles
    planes: Singles

    @classmethod
    def load(cls, path: Path) -> Heap:
        """Of a file."""
        with np.load(path) as file:
            return cls(file["half"], file["poses"], file["planes"])

    def exact_poses(self) -> npt.NDArray[np.float64]:
        """(F, N, 7) in double precision, quaternions of length 1."""
        found = self.poses.astype(float)
        found[..., 3:] /= np.linalg.norm(found[..., 3:], axis=-1, keepdims=True)
        return found


def record(boxes: int, frames: int, seed: int = 0, calm: int = CALM) -> Heap:
    """A heap of so many boxes over so many frames, after so many steps."""
    import pybullet

    client = pybullet.connect(pybullet.DIRECT)
    try:
        return _record(pybullet, client, boxes, frames, calm, np.random.default_rng(seed))
    finally:
        pybullet.disconnect(client)


def _record(bullet: Any, client: int, boxes: int, frames: int, calm: int, rng: np.random.Generator) -> Heap:
    here = {"physicsClientId": client}
    bullet.setGravity(0, 0, -9.81, **here)
    # Many steps of the solver, and little that pushes overlaps apart: else a heap never lies still.
    soft = {"erp": 0.05, "contactERP": 0.05, "frictionERP": 0.05}
    bullet.setPhysicsEngineParameter(
        fixedTimeStep=STEP, numSolverIterations=100, deterministicOverlappingPairs=1, **soft, **here
    )
    # About half as deep as it is wide, once they lie.
    across = max(2, round(boxes ** (1 / 3)))
    cell = 2.2 * MOST
    reach = 0.5 * cell * across
    planes = np.array([[0, 0, 1, 0], [1, 0, 0, -reach], [-1, 0, 0, -reach], [0, 1, 0, -reach], [0, -1, 0, -reach]], np.float32)
    for normal in planes[:, :3].tolist():
        made = bullet.createCollisionShape(bullet.GEOM_PLANE, planeNormal=normal, **here)
        at = [-reach * x for x in normal[:2]]
        plane = bullet.createMultiBody(0, made, basePosition=[*at, 0.0], **here)
        bullet.changeDynamics(plane, -1, lateralFriction=0.9, **here)
    half = rng.uniform(LEAST, MOST, (boxes, 3)).astype(np.float32)
    bodies = []
    for k, size in enumerate(half.tolist()):
        place = np.array([k % across, k // across % across, k // across**2]) + (0.5, 0.5, 1.0)
        turn = rng.normal(size=4) * (1.0, 0.1, 0.1, 1.0)
        bodies.append(
            bullet.createMultiBody(
                1000.0 * 8.0 * float(np.prod(size)),
                bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=size, **here),
                basePosition=(cell * place - (reach, reach, 0.0)).tolist(),
                baseOrientation=np.roll(turn / np.linalg.norm(turn), -1).tolist(),
                useMaximalCoordinates=1,
                **here,
            )
        )
        bullet.changeDynamics(bodies[-1], -1, lateralFriction=0.9, linearDamping=0.6, angularDamping=0.6, **here)
    poses = np.empty((frames, boxes, 7), np.float32)
    for frame in range(-calm, frames):
        bullet.stepSimulation(**here)
        if frame >= 0:
            for k, body in enumerate(bodies):
                at, turn = bullet.getBasePositionAndOrientation(body, **here)
                poses[frame, k, :3], poses[frame, k, 3:] = at, (turn[3], *turn[:3])
    return Heap(half, poses, planes)


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tools.record_heap", description=__doc__)
    parser.add_argument("--boxes", type=int, default=600)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    heap = record(given.boxes, given.frames, given.seed)
    poses = heap.poses
    np.savez_compressed(given.out, half=heap.half, poses=poses, planes=heap.planes)
    step = np.linalg.norm(np.diff(poses[:, :, :3], axis=0), axis=2) if given.frames > 1 else np.zeros((1, 1))
    print(
        f"{given.boxes} boxes, {given.frames} frames: one moves by {np.median(step):.1e} m a frame, at most {step.max():.1e} m"
    )


if __name__ == "__main__":
    main()
