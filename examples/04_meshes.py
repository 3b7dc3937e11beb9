"""A ring of triangles on a peg: concave stays concave, and a way out of an overlap."""

from __future__ import annotations

import numpy as np

import thud


def ring(radius: float, thickness: float, around: int = 48, across: int = 16) -> thud.TriangleMesh:
    """A torus about z."""
    u, v = np.meshgrid(np.arange(around), np.arange(across), indexing="ij")
    a, b = 2.0 * np.pi * u / around, 2.0 * np.pi * v / across
    reach = radius + thickness * np.cos(b)
    vertices = np.stack([reach * np.cos(a), reach * np.sin(a), thickness * np.sin(b)], axis=-1).reshape(-1, 3)
    here, right = u * across + v, (u + 1) % around * across + v
    up, both = u * across + (v + 1) % across, (u + 1) % around * across + (v + 1) % across
    faces = np.stack([here, right, both, here, both, up], axis=-1).reshape(-1, 3)
    return thud.TriangleMesh(vertices, faces)


def run() -> tuple[thud.Distances, thud.Distances, thud.Contacts]:
    """A peg through the hole does not touch the ring; moved aside it does, and the signed distance says how to part them."""
    torus, peg = ring(1.0, 0.25), thud.Capsule(radius=0.3, half_length=1.0)
    print(torus, torus.problems())
    clear = thud.distance(torus, peg)
    aside = thud.Pose([0.5, 0.0, 0.0])
    deep = thud.distance(torus, peg, None, aside, signed=True)
    contacts = thud.contacts(torus, peg, None, aside)
    print(f"gap in the hole {clear.distance[0]:.4f} m; aside {deep.distance[0]:.4f} m along {deep.normal[0].round(3).tolist()}")
    return clear, deep, contacts


def check(results: tuple[thud.Distances, thud.Distances, thud.Contacts]) -> None:
    """The hole has radius 0.75 and the peg 0.3; at 0.5 it is 0.05 too far out, so back into the hole by that."""
    clear, deep, contacts = results
    np.testing.assert_allclose(clear.distance, 0.45, atol=0.01)
    np.testing.assert_allclose(deep.distance, -0.05, atol=0.01)
    assert deep.normal[0, 0] < -0.9
    assert contacts.depth.max() > 0.04
    assert contacts.status[0] == thud.Status.OVERLAPPING


if __name__ == "__main__":
    check(run())
