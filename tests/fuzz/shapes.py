"""Random shapes of every kind and aspect ratio, and their scaled copies."""

from __future__ import annotations

import numpy as np

import thud
from tests.fuzz.poses import cube_symmetries, random_rotations
from thud.shapes import Shape

KINDS = ("Sphere", "Box", "Capsule", "Cylinder", "Cone", "Ellipsoid", "HalfSpace", "ConvexHull", "Compound")
ASPECTS = ("cube", "slab", "needle", "mixed")


def random_extents(aspect: str, rng: np.random.Generator) -> np.ndarray:
    """Half extents with the largest 1; the odd one of a slab or needle is z."""
    thin = 10.0 ** rng.choice([-1.0, -2.0, -3.0])
    if aspect == "cube":
        return np.ones(3)
    if aspect == "slab":
        return np.array([1.0, 1.0, thin])
    if aspect == "needle":
        return np.array([thin, thin, 1.0])
    extents = 10.0 ** rng.uniform(-2.0, 0.0, 3)
    return extents / extents.max()


def random_shape(kind: str, aspect: str, scale: float, rng: np.random.Generator) -> Shape:
    """A shape of about the size `scale`."""
    extents = random_extents(aspect, rng) * scale
    match kind:
        case "Sphere":
            return thud.Sphere(extents[2])
        case "Box":
            return thud.Box(rng.permutation(extents))
        case "Capsule":
            return thud.Capsule(extents[0], extents[2] * (rng.random() > 0.1))
        case "Cylinder":
            return thud.Cylinder(extents[0], extents[2])
        case "Cone":
            return thud.Cone(extents[0], extents[2])
        case "Ellipsoid":
            # Three equal radii are a sphere; take that seldom.
            return thud.Ellipsoid(rng.permutation(extents) * ([1.0, 1.0, 1.0] if rng.random() < 0.1 else [1.0, 0.9, 0.8]))
        case "HalfSpace":
            normal = rng.choice([-1.0, 1.0]) * np.eye(3)[rng.integers(3)] if rng.random() < 0.5 else rng.normal(size=3)
            return thud.HalfSpace(normal, rng.choice([0.0, 1.0, -0.3]) * scale)
        case "ConvexHull":
            return thud.ConvexHull(_hull_points(rng) * rng.permutation(extents) + rng.choice([0.0, 0.0, 0.5]) * scale)
        case "Compound":
            return _compound(scale, rng, depth=rng.integers(2))
    raise ValueError(kind)


def _hull_points(rng: np.random.Generator) -> np.ndarray:
    """Points in [-1, 1]^3: generic, with coplanar faces, with the fewest corners, or with many."""
    on_sphere = rng.normal(size=(120, 3))
    on_sphere /= np.linalg.norm(on_sphere, axis=1, keepdims=True)
    corners = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
    sides = rng.integers(3, 13)
    turn = np.arange(sides) * 2 * np.pi / sides
    polygon = np.stack([np.cos(turn), np.sin(turn), np.ones(sides)], axis=1)
    match rng.choice(["few", "few", "some", "many", "box", "octahedron", "prism", "pyramid", "grid"]):
        case "few":
            return on_sphere[: rng.integers(4, 9)]
        case "some":
            return on_sphere[: rng.integers(9, 25)]
        case "many":  # above 64 vertices the hull is climbed along its edges
            return on_sphere[: rng.integers(70, 120)]
        case "box":
            return corners
        case "octahedron":
            return np.concatenate([np.eye(3), -np.eye(3)])
        case "prism":
            return np.concatenate([polygon, polygon * [1.0, 1.0, -1.0]])
        case "pyramid":
            return np.concatenate([polygon * [1.0, 1.0, -1.0], [[0.0, 0.0, 1.0]]])
    line = np.linspace(-1.0, 1.0, 3)  # points on faces and edges that are no corners
    return np.stack(np.meshgrid(line, line, line), axis=-1).reshape(-1, 3)


def _compound(scale: float, rng: np.random.Generator, depth: int) -> thud.Compound:
    """Two to four shapes about the origin, one of them a compound again while `depth` lasts; seldom a half-space."""
    children: list[Shape] = []
    for _ in range(rng.integers(2, 4 if depth else 5)):
        kind = rng.choice([kind for kind in KINDS if kind not in ("HalfSpace", "Compound")])
        children.append(random_shape(kind, rng.choice(ASPECTS), scale * rng.uniform(0.2, 0.7), rng))
    if depth:
        children.append(_compound(0.5 * scale, rng, depth - 1))
    elif rng.random() < 0.1:
        children.append(thud.HalfSpace(rng.normal(size=3), -scale))
    rotations = random_rotations(len(children), rng)
    aligned = rng.random(len(children)) < 0.3
    rotations[aligned] = cube_symmetries()[rng.integers(24, size=aligned.sum())]
    poses = np.zeros((len(children), 4, 4))
    poses[:, :3, :3], poses[:, 3, 3] = rotations, 1.0
    poses[:, :3, 3] = rng.uniform(-1.0, 1.0, (len(children), 3)) * scale
    return thud.Compound(children, poses)


def scaled(shape: Shape, factor: float) -> Shape:
    """The shape with all lengths multiplied."""
    match shape:
        case thud.Sphere():
            return thud.Sphere(shape.radius * factor)
        case thud.Box():
            return thud.Box(shape.half_extents * factor)
        case thud.Ellipsoid():
            return thud.Ellipsoid(shape.radii * factor)
        case thud.HalfSpace():
            return thud.HalfSpace(shape.normal, shape.offset * factor)
        case thud.ConvexHull():
            return thud.ConvexHull(shape.points * factor)
        case thud.Compound():
            matrices = shape.poses.matrix
            matrices[:, :3, 3] *= factor
            return thud.Compound([scaled(child, factor) for child in shape.shapes], matrices)
    return type(shape)(shape.radius * factor, shape.half_length * factor)


def reach_of(shape: Shape) -> float:
    """Radius of a ball about the shape's own origin that holds it; of a half-space the distance of its plane."""
    if isinstance(shape, thud.HalfSpace):
        return abs(shape.offset)
    if isinstance(shape, thud.Compound):
        positions = np.linalg.norm(shape.poses.position, axis=1)
        return float(max(p + reach_of(child) for p, child in zip(positions, shape.shapes, strict=True)))
    center, radius = shape.bounding_sphere()
    return float(np.linalg.norm(center)) + radius
