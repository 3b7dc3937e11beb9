"""`python -m tools.record_heap --boxes 600 --frames 1000 --out FILE.npz`: poses of a calm heap of boxes, frame after frame.

pybullet drops boxes of many sizes on a floor, a plane through the origin, waits until they lie, and goes on: what is recorded is how
a settled heap stirs. The file has `half` (N, 3), half extents in metres, and `poses` (F, N, 7) [x y z qw qx qy qz] in single
precision, 1/120 s apart.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import numpy.typing as npt

Singles = npt.NDArray[np.float32]

#: Seconds of a step, steps until the heap counts as calm, and half extents from and to, metres.
STEP, CALM, LEAST, MOST = 1.0 / 120.0, 1800, 0.15, 0.35


def record(boxes: int, frames: int, seed: int = 0) -> tuple[Singles, Singles]:
    """(half extents (N, 3), poses (F, N, 7))."""
    import pybullet

    client = pybullet.connect(pybullet.DIRECT)
    try:
        return _record(pybullet, client, boxes, frames, np.random.default_rng(seed))
    finally:
        pybullet.disconnect(client)


def _record(bullet, client: int, boxes: int, frames: int, rng: np.random.Generator) -> tuple[Singles, Singles]:  # type: ignore[no-untyped-def]
    here = {"physicsClientId": client}
    bullet.setGravity(0, 0, -9.81, **here)
    bullet.setPhysicsEngineParameter(fixedTimeStep=STEP, numSolverIterations=50, deterministicOverlappingPairs=1, **here)
    floor = bullet.createMultiBody(0, bullet.createCollisionShape(bullet.GEOM_PLANE, **here), **here)
    bullet.changeDynamics(floor, -1, lateralFriction=0.9, **here)
    half = rng.uniform(LEAST, MOST, (boxes, 3)).astype(np.float32)
    side = max(1, round((0.35 * boxes) ** 0.4))
    bodies = []
    for k, size in enumerate(half.tolist()):
        x, y, layer = k % side, k // side % side, k // side**2
        turn = rng.normal(size=4)
        bodies.append(
            bullet.createMultiBody(
                1000.0 * 8.0 * float(np.prod(size)),
                bullet.createCollisionShape(bullet.GEOM_BOX, halfExtents=size, **here),
                basePosition=(rng.uniform(-0.05, 0.05, 3) + 2.2 * MOST * np.array([x, y, layer + 1.0])).tolist(),
                baseOrientation=(turn / np.linalg.norm(turn)).tolist(),
                useMaximalCoordinates=1,
                **here,
            )
        )
        bullet.changeDynamics(bodies[-1], -1, lateralFriction=0.9, linearDamping=0.1, angularDamping=0.1, **here)
    poses = np.empty((frames, boxes, 7), np.float32)
    for frame in range(-CALM, frames):
        bullet.stepSimulation(**here)
        if frame >= 0:
            for k, body in enumerate(bodies):
                at, turn = bullet.getBasePositionAndOrientation(body, **here)
                poses[frame, k, :3], poses[frame, k, 3:] = at, (turn[3], *turn[:3])
    return half, poses


def main() -> None:
    """See the module."""
    parser = argparse.ArgumentParser(prog="python -m tools.record_heap", description=__doc__)
    parser.add_argument("--boxes", type=int, default=600)
    parser.add_argument("--frames", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    half, poses = record(given.boxes, given.frames, given.seed)
    np.savez_compressed(given.out, half=half, poses=poses)
    step = np.linalg.norm(np.diff(poses[:, :, :3], axis=0), axis=2) if given.frames > 1 else np.zeros((1, 1))
    print(f"{given.boxes} boxes, {given.frames} frames; a frame moves a box by {np.median(step):.1e} m, at most {step.max():.1e} m")


if __name__ == "__main__":
    main()
