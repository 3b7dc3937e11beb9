"""A crate that sinks into the ground: contact points, depths, and the push that frees it."""

from __future__ import annotations

import numpy as np

import thud


def run() -> tuple[thud.Contacts, thud.Distances]:
    """The crate is tilted by 2 degrees and 1 cm too deep on one side."""
    ground, crate = thud.HalfSpace([0, 0, 1]), thud.Box([0.5, 0.5, 0.5])
    half = np.radians(2.0) / 2.0
    pose = thud.Pose([0, 0, 0.5], [np.cos(half), np.sin(half), 0, 0])
    contacts = thud.contacts(ground, crate, None, pose, margin=0.05)
    deepest = thud.distance(ground, crate, None, pose, signed=True)
    for point, depth in zip(contacts.point, contacts.depth, strict=True):
        print(f"at {np.round(point, 3)}: {depth * 100:+.2f} cm deep")
    return contacts, deepest


def check(results: tuple[thud.Contacts, thud.Distances]) -> None:
    """Four corners within the margin, the deepest as deep as the signed distance says; the push frees the crate."""
    contacts, deepest = results
    assert len(contacts.depth) == 4
    np.testing.assert_allclose(contacts.depth.max(), -deepest.distance[0], atol=1e-12)
    np.testing.assert_allclose(contacts.normal, [[0, 0, 1]] * 4, atol=1e-12)


if __name__ == "__main__":
    check(run())
