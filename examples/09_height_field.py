"""Stones on a height field: dropped until they touch, and how deep the last one sank."""

from __future__ import annotations

import numpy as np

import thud


def run() -> tuple[thud.HeightField, thud.Impacts, thud.Distances, thud.Contacts]:
    """Hills in centimetres, two bytes a sample, with a lake for a hole; solid below without end."""
    y, x = np.mgrid[:201, :301] * 0.5
    hills = 400.0 * np.sin(0.08 * x) * np.cos(0.11 * y) + 60.0 * np.sin(0.9 * x + 0.5 * y)
    raster = np.round(hills).astype(np.int16)
    raster[90:110, 140:170] = -32768
    ground = thud.HeightField(raster, spacing=0.5, scale=0.01, hole=-32768)
    print(ground, f"{ground.nbytes / raster.nbytes - 1.0:.0%} on top of the heights for the tree")

    stone = thud.ConvexHull(0.4 * np.random.default_rng(0).normal(size=(30, 3)))
    places = np.random.default_rng(1).uniform([20, 20, 8], [130, 80, 9], (500, 3))
    falls = thud.cast(ground, stone, None, thud.Pose(places), motion_b=[0.0, 0.0, -20.0])
    print(f"{np.isfinite(falls.time).sum()} of 500 stones hit the ground, the others the lake")

    lying = places - [0.0, 0.0, 20.0] * np.where(np.isfinite(falls.time), falls.time, 0.0)[:, None]
    sunk = thud.Pose(lying[:1] - [0.0, 0.0, 0.05])
    deep, contacts = thud.distance(ground, stone, None, sunk, signed=True), thud.contacts(ground, stone, None, sunk)
    print(f"sunk by 5 cm, a stone comes out by {-deep.distance[0]:.4f} m along {deep.normal[0].round(3).tolist()}")
    return ground, falls, deep, contacts


def check(results: tuple[thud.HeightField, thud.Impacts, thud.Distances, thud.Contacts]) -> None:
    """Where a stone lands there is ground; rays down the lake's middle find none; the way out is no longer than the way in."""
    ground, falls, deep, contacts = results
    hit = falls.status == thud.CastStatus.HIT
    assert 400 < hit.sum() < 500
    assert np.abs(thud.closest_point(ground, falls.point[hit]).distance).max() < 1e-5
    assert (falls.normal[hit, 2] > 0.0).all()
    assert np.isinf(thud.raycast(ground, [77.0, 50.0, 9.0], [0.0, 0.0, -1.0]).distance).all()
    assert 0.0 < -deep.distance[0] <= 0.05 + 1e-6
    assert contacts.depth.max() > 0.0


if __name__ == "__main__":
    check(run())
