"""Meshes that change their shape: which overlap, seen in images, and contacts of a world that looks first."""

from __future__ import annotations

import numpy as np

import thud
from thud.imagespace import ImageOptions, Interference, interference


def wobbly(frame: int) -> thud.TriangleMesh:
    """A ball of 320 triangles or so that breathes."""
    k = np.arange(162) + 0.5
    z, phi = 1 - 2 * k / 162, np.pi * (1 + 5**0.5) * k
    ball = np.stack([np.sqrt(1 - z * z) * np.cos(phi), np.sqrt(1 - z * z) * np.sin(phi), z], axis=1)
    hull = thud.ConvexHull(ball).topology
    rest = thud.TriangleMesh(hull.vertices, hull.triangles)
    points = np.asarray(rest.vertices)
    # The same triangles with other vertices: what a frame of an animation gives.
    return rest.deformed(points * (1.0 + 0.3 * np.sin(0.8 * frame) * np.abs(points[:, :1])))


def run() -> tuple[list[Interference], np.ndarray, tuple[int, int]]:
    """Three balls in a row, over some frames; then the last frame in a world."""
    places = thud.Pose([[0.0, 0.0, 0.0], [2.2, 0.0, 0.0], [5.5, 0.0, 0.0]])
    found = []
    for frame in range(3):
        mesh = wobbly(frame)
        seen = interference([mesh, mesh, mesh], places, views=3)
        found.append(seen)
        print(f"frame {frame}: pairs {seen.pairs.tolist()} in {seen.pixels.tolist()} pixels, to {1e3 * seen.offset:.0f} mm")

    world = thud.World(midphase="image", image=ImageOptions(resolution=256, views=3))
    first, second, _ = world.add_many(wobbly(0), places).tolist()
    for handle in (first, second):
        world.set_shape(handle, wobbly(2))
    return found, world.intersecting(), (first, second)


def check(results: tuple[list[Interference], np.ndarray, tuple[int, int]]) -> None:
    """At rest they are 0.2 m apart; stretched by 0.3 m two of them overlap, and the points lie between these."""
    found, pairs, handles = results
    assert found[0].pairs.tolist() == []
    assert found[2].pairs.tolist() == [[0, 1]]
    assert np.all((found[2].points[:, 0] > 0.5) & (found[2].points[:, 0] < 1.7))
    assert pairs.tolist() == [list(handles)]


if __name__ == "__main__":
    check(run())
