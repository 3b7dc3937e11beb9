"""Height fields of many kinds, and the same ground as a closed mesh, made here in plain loops."""

from __future__ import annotations

import numpy as np

import thud
from tests.oracles.solids import field_triangles

#: Kinds of ground.
KINDS = ("rough", "smooth", "flat", "plateaus", "cliffs", "holes", "islands", "two by two", "narrow", "far", "float32", "int16")


def make(kind: str, seed: int = 0, thickness: float | None = 0.4) -> thud.HeightField:
    """A field of a kind."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    rows, columns = (int(n) for n in rng.integers(6, 24, 2))
    spacing, origin, options = rng.uniform(0.2, 0.6, 2), rng.uniform(-2.0, 2.0, 3), {}
    heights = 0.3 * rng.normal(size=(rows, columns))
    if kind == "smooth":
        y, x = np.mgrid[:rows, :columns]
        heights = 0.6 * np.sin(0.4 * x + rng.uniform(0, 6)) * np.cos(0.3 * y)
    elif kind == "flat":
        heights = np.full((rows, columns), 0.7)
    elif kind == "plateaus":
        heights = np.round(2.0 * heights) / 2.0
    elif kind == "cliffs":
        heights = np.where(rng.random((rows, columns)) < 0.5, 0.0, 3.0) + 0.05 * heights
    elif kind == "holes":
        heights[rng.random(heights.shape) < 0.15] = np.nan
        heights[:2, :2] = 0.0
    elif kind == "islands":
        heights[rng.random(heights.shape) < 0.5] = np.nan
        heights[:2, :2] = 0.0
    elif kind == "two by two":
        heights = 0.3 * rng.normal(size=(2, 2))
    elif kind == "narrow":
        heights = 0.3 * rng.normal(size=(2, 37))
    elif kind == "far":
        origin = np.array([1e5, -2e5, 3e4])
    elif kind == "float32":
        heights = heights.astype(np.float32)
    elif kind == "int16":
        heights = np.round(1000.0 * heights).astype(np.int16)
        options = {"scale": 1e-3, "hole": int(heights[rows // 2, columns // 2])}
    return thud.HeightField(heights, spacing, origin, thickness, **options)


def mesh_of(field: thud.HeightField, thickness: float | None = None) -> thud.TriangleMesh:
    """The same ground as a closed mesh; `thickness` in place of the field's own, for ground without end."""
    if thickness is not None:
        field = thud.HeightField(field.heights, field.spacing, field.origin, thickness, field.scale, field.hole)
    corners = field_triangles(field)
    vertices, faces = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
    return thud.TriangleMesh(vertices, faces.reshape(-1, 3))


def others() -> dict[str, thud.shapes.Shape]:
    """What fields are compared with: every convex kind but the half-space, a mesh, a compound, a compound with a mesh."""
    rng = np.random.default_rng(5)
    mesh = thud.to_mesh(thud.Ellipsoid((0.3, 0.5, 0.25)), segments=8)
    two = thud.Pose([[0.0, 0.0, 0.0], [0.4, 0.1, 0.2]], [[1.0, 0, 0, 0], [0.8, 0.6, 0, 0]])
    return {
        "sphere": thud.Sphere(0.3),
        "box": thud.Box((0.3, 0.4, 0.2)),
        "capsule": thud.Capsule(0.15, 0.4),
        "cylinder": thud.Cylinder(0.3, 0.3),
        "cone": thud.Cone(0.3, 0.4),
        "ellipsoid": thud.Ellipsoid((0.2, 0.4, 0.3)),
        "hull": thud.ConvexHull(0.35 * rng.normal(size=(30, 3))),
        "mesh": mesh,
        "open mesh": thud.TriangleMesh(mesh.vertices, np.asarray(mesh.faces)[: len(np.asarray(mesh.faces)) // 2]),
        "parts": thud.Compound([thud.Sphere(0.2), thud.Box((0.1, 0.3, 0.2))], two),
        "mixed": thud.Compound([mesh, thud.Cone(0.3, 0.4)], two),
    }


def poses_about(field: thud.HeightField, count: int, seed: int = 0, below: float = 0.6, above: float = 1.2) -> thud.Pose:
    """Random poses about the surface of a field."""
    rng = np.random.default_rng(seed)
    box = thud.HeightField(field.heights, field.spacing, field.origin, 1e-3, field.scale, field.hole).bounds()
    lower, upper = box.lower[0] - [0.6, 0.6, below], box.upper[0] + [0.6, 0.6, above]
    turns = rng.normal(size=(count, 4))
    return thud.Pose(rng.uniform(lower, upper, (count, 3)), turns / np.linalg.norm(turns, axis=1)[:, None])


#: Where the fields stand in the world.
PLACE = thud.Pose([0.3, -0.2, 0.5], [0.8, 0.0, 0.36, 0.48])
