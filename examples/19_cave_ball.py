"""A ball rolls down a cave: ground that no height map can hold, under `World.step`."""

from __future__ import annotations

import numpy as np

import thud

SLOPE, CAVE, BALL = np.radians(8.0), 4.0, 0.5
ALONG = np.array([np.cos(SLOPE), 0.0, -np.sin(SLOPE)])
ACROSS = np.array([np.sin(SLOPE), 0.0, np.cos(SLOPE)])


def ground(points: np.ndarray) -> np.ndarray:
    """Signed distance, negative in the ground: a plateau with a round tunnel that goes down along x."""
    return np.maximum(points[:, 2] - 14.0, CAVE - np.hypot(points[:, 1], points @ ACROSS))


def run() -> tuple[np.ndarray, np.ndarray, float]:
    """Two seconds. Returns positions (121, 3), the ball's last velocities (2, 3) and the seconds of a step."""
    world = thud.World(gravity=(0, 0, -9.81))
    cave = thud.terrain.from_field(ground, [-32, -16, -16], [32, 16, 20], cell=4.0, samples=16).surface
    world.add(cave, name="cave")  # static by itself
    ball = world.add(thud.Sphere(BALL), thud.Pose(-15.0 * ALONG - (CAVE - BALL) * ACROSS))
    path = [world.poses(ball)[0, :3]]
    for _ in range(120):
        world.step(1 / 60)
        path.append(world.poses(ball)[0, :3])
    print(f"the ball has rolled {np.linalg.norm(path[-1] - path[0]):.3f} m")
    return np.array(path), np.concatenate(world.velocities(ball)), 1 / 60


def check(results: tuple[np.ndarray, np.ndarray, float]) -> None:
    """A ball that rolls without slipping gains 5/7 of what one that slides without friction would."""
    path, (velocity, spin), dt = results
    gain = 5.0 / 7.0 * 9.81 * np.sin(SLOPE)
    time = dt * np.arange(len(path))
    np.testing.assert_allclose((path - path[0]) @ ALONG, 0.5 * gain * time**2, atol=0.04)
    np.testing.assert_allclose(velocity @ ALONG, gain * time[-1], rtol=0.03)
    np.testing.assert_allclose(spin[1] * BALL, velocity @ ALONG, rtol=0.03)
    assert np.abs(path[:, 1]).max() < 0.1  # patches of 0.25 m are flat where the cave is round


if __name__ == "__main__":
    check(run())
