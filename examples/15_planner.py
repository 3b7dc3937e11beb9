"""A planner's question: which of ten thousand configurations of an arm are free of its table and of itself?"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import thud

ARM = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.2 0.2 0.1"/></geometry></collision></link>
  <link name="upper"><collision><origin xyz="0.3 0 0"/><geometry><box size="0.6 0.05 0.05"/></geometry></collision></link>
  <link name="fore"><collision><origin xyz="0.2 0 0"/><geometry><box size="0.4 0.04 0.04"/></geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><origin xyz="0 0 0.3"/><axis xyz="0 1 0"/>
    <limit lower="-1.5" upper="1.5" effort="1" velocity="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="fore"/><origin xyz="0.6 0 0"/><axis xyz="0 1 0"/>
    <limit lower="-2.5" upper="2.5" effort="1" velocity="1"/></joint>
</robot>"""
TABLE_TOP = -0.1


def run() -> tuple[np.ndarray, np.ndarray]:
    """Poses of all links by the robot's joints, one call for all pairs. Returns the joint angles and (10000, 3) answers."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "arm.urdf").write_text(ARM)
        scene = thud.io.load_scene(Path(folder) / "arm.urdf")
    assert scene.robot is not None
    angles = scene.robot.sample(10_000, seed=15)
    table = thud.HalfSpace((0, 0, 1), TABLE_TOP)
    stays = np.broadcast_to([0.0, 0, 0, 1, 0, 0, 0], (len(angles), 1, 7))
    # Pairs of rows: base and forearm, upper arm and table, forearm and table. Links at a joint always meet: left out.
    checker = thud.prepare([*scene.shapes(), table], [[0, 2], [1, 3], [2, 3]])
    collides = checker.intersects(np.concatenate([scene.robot.poses(angles), stays], axis=1))
    free = int((~collides.any(axis=1)).sum())
    print(f"{free:,} of {len(angles):,} configurations are free; by pair {collides.sum(axis=0).tolist()} collide")
    return angles, collides


def check(results: tuple[np.ndarray, np.ndarray]) -> None:
    """A link is in the table where its lowest corner is, which has a formula."""
    angles, collides = results
    shoulder, both = angles[:, 0], angles.sum(axis=1)

    def lowest(height: np.ndarray, turn: np.ndarray, length: float, half: float) -> np.ndarray:
        return height - np.maximum(length * np.sin(turn), 0.0) - half * np.cos(turn) * np.sign(np.cos(turn))

    elbow = 0.3 - 0.6 * np.sin(shoulder)
    for pair, low in ((1, lowest(np.full(len(angles), 0.3), shoulder, 0.6, 0.025)), (2, lowest(elbow, both, 0.4, 0.02))):
        clear = np.abs(low - TABLE_TOP) > 1e-6
        np.testing.assert_array_equal(collides[clear, pair], low[clear] < TABLE_TOP)
    assert 0 < collides[:, 0].sum() < 500


if __name__ == "__main__":
    check(run())
