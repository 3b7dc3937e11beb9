"""Scenes of closed meshes at random, in a view that does not change with them."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

import thud
from reproductions.models import bumpy, knot
from thud.imagespace.drawing import make_drawing
from thud.imagespace.rasteriser import Drawing
from thud.imagespace.scene import Scene, make_scene
from thud.imagespace.tolerances import EDGE_OFFSET
from thud.imagespace.view import box_corners, directions, tight_view

#: Half a side of the region that is seen, metres.
REGION = 5.0


@lru_cache(maxsize=1)
def box() -> thud.TriangleMesh:
    """The paper's box of twelve triangles, 1 m a side."""
    corners = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.5, 0.5) for z in (-0.5, 0.5)])
    topology = thud.ConvexHull(corners).topology
    return thud.TriangleMesh(topology.vertices, topology.triangles)


@lru_cache(maxsize=32)
def figure(vertices: int) -> thud.TriangleMesh:
    """The same concave shape at a level of detail: 2 vertices - 4 triangles."""
    return thud.TriangleMesh(*bumpy(vertices))


@lru_cache(maxsize=4)
def loop(along: int, around: int) -> thud.TriangleMesh:
    """A knotted tube."""
    return thud.TriangleMesh(*knot(along, around))


def poses(count: int, spread: float, seed: int) -> thud.Pose:
    """Anywhere within a cube, turned in any way."""
    rng = np.random.default_rng(seed)
    q = rng.normal(size=(count, 4))
    return thud.Pose(rng.uniform(-spread, spread, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True))


def crowd(count: int, seed: int) -> Scene:
    """Boxes at random."""
    return make_scene([box()] * count, poses(count, REGION - 1.0, seed))


def pair(polygons: int, seed: int, gap: float | None = None) -> Scene:
    """Two of the figures with so many polygons in all; at random, or apart by `gap` metres beyond their sizes."""
    both = (polygons + 8) // 2
    meshes = [figure(both // 2), figure(both - both // 2)]
    at = poses(2, 0.5 if gap is None else 0.0, seed)
    if gap is not None:
        reach = sum(mesh.bounding_sphere()[1] for mesh in meshes) + gap
        at = thud.Pose(at.position + np.array([[-0.5, 0.0, 0.0], [0.5, 0.0, 0.0]]) * reach, at.quaternion)
    return make_scene(meshes, at)


def drawing_of(scene: Scene, resolution: tuple[int, int], region: float = REGION) -> Drawing:
    """The scene seen along the first direction; the region is the same whatever is in it."""
    bounds = np.array([[-region] * 3 + [region] * 3])
    view = tight_view(box_corners(bounds), directions(1)[0], resolution, np.concatenate([scene.vertices, box_corners(bounds)]))
    return make_drawing(scene, view, EDGE_OFFSET * view.pixel)
