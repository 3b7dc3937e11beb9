"""Assemblies with clashes that are known because they were put there."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

import thud
from thud.io.scene.scene import Scene

SIDE, STEP = 0.1, 0.3

#: What is planted in the 200 parts: how far, metres.
DEPTHS = (0.004, 0.008, 0.012, 0.016, 0.020, 0.024)
GAPS = (0.001, 0.002, 0.003)
CLEARANCE = 0.005


class Planted(NamedTuple):
    """A scene, and what a check of it finds: kind and names, in order, with depth or gap."""

    scene: Scene
    clashes: dict[tuple[str, str, str], float]


def planted(count: int = 200) -> Planted:
    """Boxes, rods and balls on a grid, far from each other, and twelve more: six overlap one of them, two are copies in one
    place, one is inside another, three are closer than the clearance."""
    box = thud.Box([0.5 * SIDE] * 3).to_mesh()
    kinds = [box, thud.Cylinder(0.4 * SIDE, 0.5 * SIDE).to_mesh(24), thud.Sphere(0.5 * SIDE).to_mesh(16)]
    small = thud.Box([0.1 * SIDE] * 3).to_mesh()
    names, meshes, places = [], [], []
    rows = count - 12
    for k in range(rows):
        # A box in every third place, for what is planted.
        names.append(f"rig/rack {k // 40}/{('box', 'rod', 'ball')[k % 3]}.{k:03d}")
        meshes.append(kinds[k % 3])
        places.append([STEP * (k % 8), STEP * (k // 8 % 8), STEP * (k // 64)])
    clashes: dict[tuple[str, str, str], float] = {}
    boxes = [k for k in range(rows) if k % 3 == 0]

    def plant(kind: str, number: int, name: str, mesh: thud.TriangleMesh, shift: list[float], measure: float) -> None:
        host = boxes[number * (len(boxes) // 12)]
        names.append(name)
        meshes.append(mesh)
        places.append([a + b for a, b in zip(places[host], shift)])
        one, other = sorted((names[host], name))
        clashes[kind, one, other] = measure

    for k, depth in enumerate(DEPTHS):
        # Off by something else along the other axes, so that the way out is the one meant.
        plant("hard", k, f"rig/planted/overlap.{k}", box, [0.01, 0.013, SIDE - depth], depth)
    for k in range(2):
        plant("duplicate", 6 + k, f"rig/planted/copy.{k}", box, [0.0, 0.0, 0.0], 0.0)
    plant("containment", 8, "rig/planted/inside", small, [0.01, 0.0, 0.0], 0.0)
    for k, gap in enumerate(GAPS):
        plant("clearance", 9 + k, f"rig/planted/close.{k}", small, [0.003, 0.002, 0.6 * SIDE + gap], gap)
    return Planted(Scene.from_parts(names, meshes, thud.Pose(np.array(places))), clashes)


def two(a: thud.TriangleMesh, b: thud.TriangleMesh, at: object = None) -> Scene:
    """Two parts, the second at a place."""
    pose = thud.Pose() if at is None else at if isinstance(at, thud.Pose) else thud.Pose(at)
    rows = np.concatenate([thud.Pose().matrix[None], pose.matrix[None]])
    return Scene.from_parts(["a", "b"], [a, b], rows)


def surfaces_meet(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether any of the (T, 3, 3) triangles of A meets any of B, in general position: an edge of one passes through the
    other."""
    return _edges_pass(a, b) or _edges_pass(b, a)


def _edges_pass(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether an edge of A passes through a triangle of B (Moeller and Trumbore 1997), each with each."""
    start = a.reshape(-1, 3)[:, None]
    way = np.roll(a, -1, axis=1).reshape(-1, 3)[:, None] - start
    u_edge, v_edge = b[None, :, 1] - b[None, :, 0], b[None, :, 2] - b[None, :, 0]
    across = np.cross(np.broadcast_to(way, (len(start), len(b), 3)), v_edge)
    det = (u_edge * across).sum(-1)
    off = start - b[None, :, 0]
    with np.errstate(divide="ignore", invalid="ignore"):
        u = (off * across).sum(-1) / det
        turned = np.cross(off, np.broadcast_to(u_edge, off.shape))
        v = (way * turned).sum(-1) / det
        t = (v_edge * turned).sum(-1) / det
        return bool(((u >= 0) & (v >= 0) & (u + v <= 1) & (t >= 0) & (t <= 1)).any())
