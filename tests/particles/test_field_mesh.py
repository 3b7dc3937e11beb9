"""Implicit surfaces as closed meshes, and in images."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from thud.errors import InvalidInputError, NoSurfaceError
from thud.particles import Blobs, Skeleton


def test_a_ball_is_a_closed_sphere_about_its_surface() -> None:
    ball = Blobs([[1.0, 2.0, 3.0]], [2.0], threshold=0.3)
    radius = 2.0 * np.sqrt(1.0 - 0.3 ** (1.0 / 3.0))
    mesh = ball.to_mesh(40)
    assert mesh.is_closed
    far = np.linalg.norm(mesh.vertices - [1.0, 2.0, 3.0], axis=1)
    assert np.abs(far - radius).max() < 0.1**2 / radius
    assert mesh.volume == pytest.approx(4.0 / 3.0 * np.pi * radius**3, rel=0.01)


def test_a_hollow_is_meshed_from_its_inside() -> None:
    # Negative strength and threshold: outside of the ball f is above the threshold.
    mesh = Blobs([[0.0, 0, 0]], [1.0], [-1.0], threshold=-0.5).to_mesh(32)
    assert mesh.is_closed
    assert mesh.volume > 0.0


def test_skeletons_and_blobs_are_seen_to_overlap() -> None:
    bone = Skeleton([[[-2.0, 0, 0], [2.0, 0, 0]], [[0, -1.0, 0], [0, 1.0, 0.5]]], 0.8)
    blob = Blobs([[0, 0, 0], [0.5, 0, 0]], [0.9, 0.7])
    meshes = [bone.to_mesh(), blob.to_mesh()]
    assert all(mesh.is_closed for mesh in meshes)
    assert np.abs(bone.value(meshes[0].vertices)).max() < 0.05
    # Along x it lies in the bone; 0.6 m above it is apart, as values tell.
    assert bone.value([[1.2, 0.0, 0.2]])[0] > 0.0
    assert blob.value([[0.0, 0.0, 0.2]])[0] > 0.0
    for shift, meets in (([1.2, 0, 0], True), ([1.2, 0, 0.5], True), ([0, 0, 1.6], False), ([4.0, 0, 0], False)):
        seen = thud.imagespace.interference(meshes, [thud.Pose(), thud.Pose(shift)])
        assert len(seen.pairs) == int(meets), shift


def test_what_has_no_surface_is_told() -> None:
    with pytest.raises(NoSurfaceError, match="threshold"):
        Blobs([[0.0, 0, 0]], [1.0], threshold=2.0).to_mesh()
    with pytest.raises(InvalidInputError, match="resolution"):
        Blobs([[0.0, 0, 0]], [1.0]).to_mesh(2)
