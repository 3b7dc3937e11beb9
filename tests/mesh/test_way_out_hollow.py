"""What is inside a hollow and cuts into its wall has a short way back, and a long one out through the wall."""

from __future__ import annotations

import numpy as np
import pytest

import thud


def hollow_box(outer: float, inner: float) -> thud.TriangleMesh:
    """A cube with a cubic hollow; half extents."""
    shell, hole = thud.Box((outer,) * 3).to_mesh(), thud.Box((inner,) * 3).to_mesh()
    vertices = np.concatenate([shell.vertices, hole.vertices])
    return thud.TriangleMesh(vertices, np.concatenate([shell.faces, np.asarray(hole.faces)[:, ::-1] + len(shell.vertices)]))


def tube(inner: float, outer: float, half_length: float, sides: int = 48) -> thud.TriangleMesh:
    """About z, with open ends."""
    turn = 2.0 * np.pi * np.arange(sides) / sides
    rings = [
        np.column_stack([radius * np.cos(turn), radius * np.sin(turn), np.full(sides, z)])
        for radius, z in ((inner, -half_length), (outer, -half_length), (outer, half_length), (inner, half_length))
    ]
    k, faces = np.arange(sides), []
    for ring in range(4):
        a, b = ring * sides + k, ring * sides + (k + 1) % sides
        c, d = (ring + 1) % 4 * sides + k, (ring + 1) % 4 * sides + (k + 1) % sides
        faces += [np.column_stack([a, b, d]), np.column_stack([a, d, c])]
    return thud.TriangleMesh(np.concatenate(rings), np.concatenate(faces))


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_box_in_a_hollow_goes_back_off_the_wall(size: float) -> None:
    hollow, offset = hollow_box(1.5 * size, size), np.array([0.505, 0.52, 0.55, 0.7]) * size
    poses = thud.Pose(np.column_stack([offset, 0.0 * offset, 0.1 * offset]))
    content = thud.Box((0.5 * size,) * 3)
    for shape in (content, content.to_mesh()):
        found = thud.distance(hollow, shape, None, poses, signed=True)
        assert (found.status == thud.Status.OVERLAPPING).all()
        np.testing.assert_allclose(found.distance, 0.5 * size - offset, rtol=1e-3)
        np.testing.assert_allclose(found.normal[:, 0], -1.0, atol=1e-4)
        back = thud.distance(shape, hollow, poses, None, signed=True)
        np.testing.assert_allclose(back.distance, 0.5 * size - offset, rtol=1e-3)


def test_a_shaft_that_cuts_into_its_bearing_goes_back_to_the_middle() -> None:
    bearing, shaft = tube(1.0, 1.5, 0.5), tube(0.5, 0.9, 4.0)
    offset = np.array([0.105, 0.12, 0.15, 0.2])
    found = thud.distance(bearing, shaft, None, thud.Pose(np.column_stack([offset, 0.0 * offset, 0.0 * offset])), signed=True)
    # Both have a corner at +x, where they touch first when the two axes are 0.1 apart.
    np.testing.assert_allclose(found.distance, 0.1 - offset, rtol=1e-3)
    np.testing.assert_allclose(found.normal[:, 0], -1.0, atol=1e-3)
    moved = thud.Pose(np.column_stack([offset, 0.0 * offset, 0.0 * offset]) - 1.0001 * found.distance[:, None] * found.normal)
    assert not thud.intersects(bearing, shaft, None, moved).any()
