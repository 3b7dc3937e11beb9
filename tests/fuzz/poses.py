"""Relative poses that are hard: touching, kissing, coincident, contained, all but symmetric. Each by a seeded generator."""

from __future__ import annotations

from functools import lru_cache
from itertools import permutations, product

import numpy as np

from tests.oracles.convex import Part, parts_of

POSES = ("deep", "near", "far", "touching", "kissing", "coincident", "inside", "tilted", "tilted_kissing", "tilted_touching")

#: How far from exact touch, in units of the pair's size.
HAIRS = np.array([0.0, 0.0, 0.0, 1e-15, -1e-15, 1e-13, -1e-13, 1e-12, -1e-12, 1e-9, -1e-9, 1e-6, -1e-6])


@lru_cache(maxsize=1)
def cube_symmetries() -> np.ndarray:
    """(24, 3, 3) rotations that map a cube onto itself."""
    found = []
    for order in permutations(range(3)):
        for signs in product((1.0, -1.0), repeat=3):
            matrix = np.zeros((3, 3))
            matrix[range(3), order] = signs
            if np.linalg.det(matrix) > 0:
                found.append(matrix)
    return np.array(found)


def rotations_from_quaternions(q: np.ndarray) -> np.ndarray:
    """(N, 3, 3) of quaternions wxyz of any length."""
    w, x, y, z = (q / np.linalg.norm(q, axis=1, keepdims=True)).T
    return np.stack(
        [
            np.stack([1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)], axis=1),
            np.stack([2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)], axis=1),
            np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)], axis=1),
        ],
        axis=1,
    )


def random_rotations(count: int, rng: np.random.Generator) -> np.ndarray:
    """(N, 3, 3) uniform rotations."""
    return rotations_from_quaternions(rng.normal(size=(count, 4)))


def random_directions(count: int, rng: np.random.Generator) -> np.ndarray:
    """(N, 3) unit vectors."""
    vectors = rng.normal(size=(count, 3))
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def tilts(count: int, rng: np.random.Generator) -> np.ndarray:
    """(N, 3, 3) rotations by 1e-15 to 0.785 rad about a random axis or one of the coordinate axes."""
    axis = random_directions(count, rng)
    straight = rng.random(count) < 0.5
    axis[straight] = np.eye(3)[rng.integers(3, size=straight.sum())]
    half = 0.5 * 10.0 ** rng.uniform(-15.0, np.log10(0.785), count)
    return rotations_from_quaternions(np.column_stack([np.cos(half), np.sin(half)[:, None] * axis]))


def height(parts: list[Part], n: np.ndarray) -> np.ndarray:
    """(N,) support height of a shape along unit directions (N, 3); of a half-space across its normal, 0."""
    heights = [part.numbers[3] + 0.0 * n[:, 0] if part.kind == "half_space" else part.heights(n) for part in parts]
    return np.max(heights, axis=0)


def relative_poses(kind: str, a, b, size: float, count: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """(N, 3, 3) rotations and (N, 3) translations of B in A's frame. `size` is a length of the pair."""
    parts_a, parts_b = parts_of(a), parts_of(b)
    rotations = random_rotations(count, rng)
    symmetric = cube_symmetries()[rng.integers(24, size=count)]
    direction = random_directions(count, rng)
    if kind == "deep":
        return rotations, direction * rng.uniform(0.0, 0.5, (count, 1)) * size
    if kind == "near":
        return rotations, direction * rng.uniform(0.5, 1.2, (count, 1)) * size
    if kind == "far":
        return rotations, direction * 10.0 ** rng.uniform(0.3, 4.0, (count, 1)) * size
    if kind == "touching":
        return rotations, _touching(parts_a, parts_b, rotations, size, rng)
    if kind == "kissing":
        return symmetric, _kissing(parts_a, parts_b, symmetric, size, rng)
    if kind == "coincident":
        rotations = np.where(rng.random((count, 1, 1)) < 0.3, rotations, symmetric)
        return np.where(rng.random((count, 1, 1)) < 0.5, rotations, tilts(count, rng) @ symmetric), np.zeros((count, 3))
    if kind == "inside":
        rotations = np.where(rng.random((count, 1, 1)) < 0.5, rotations, symmetric)
        return rotations, direction * 10.0 ** rng.uniform(-17.0, -1.0, (count, 1)) * size
    rotations = tilts(count, rng) @ symmetric
    if kind == "tilted_kissing":
        return rotations, _kissing(parts_a, parts_b, symmetric, size, rng)
    if kind == "tilted_touching":
        return rotations, _touching(parts_a, parts_b, rotations, size, rng)
    return rotations, direction * rng.uniform(0.0, 1.0, (count, 1)) * size


def _touching(
    parts_a: list[Part], parts_b: list[Part], rotations: np.ndarray, size: float, rng: np.random.Generator
) -> np.ndarray:
    """Translations that bring the support points of two parts together, or a hair off."""
    count = len(rotations)
    n = random_directions(count, rng)
    straight = rng.random(count) < 0.4
    n[straight] = np.eye(3)[rng.integers(3, size=straight.sum())] * rng.choice([-1.0, 1.0], (straight.sum(), 1))
    pick_a, pick_b = rng.integers(len(parts_a), size=count), rng.integers(len(parts_b), size=count)
    translations = np.empty((count, 3))
    for k in range(count):
        part_a, part_b, rotation = parts_a[pick_a[k]], parts_b[pick_b[k]], rotations[k]
        if part_a.kind == "half_space":
            n[k] = part_a.rotation @ part_a.numbers[:3]
        elif part_b.kind == "half_space":
            n[k] = -rotation @ part_b.rotation @ part_b.numbers[:3]
        translations[k] = _farthest(part_a, n[k]) - rotation @ _farthest(part_b, -n[k] @ rotation)
    return translations + n * (rng.choice(HAIRS, count) * size)[:, None]


def _farthest(part: Part, n: np.ndarray) -> np.ndarray:
    """Support point; of a half-space the foot of its plane."""
    if part.kind == "half_space":
        return part.rotation @ part.numbers[:3] * part.numbers[3] + part.position
    return part.support(n)


def _kissing(
    parts_a: list[Part], parts_b: list[Part], rotations: np.ndarray, size: float, rng: np.random.Generator
) -> np.ndarray:
    """Translations along a coordinate axis that bring flat sides together, aligned, shifted, or edge to edge."""
    count = len(rotations)
    axis, sign = rng.integers(3, size=count), rng.choice([-1.0, 1.0], count)
    n = np.eye(3)[axis] * sign[:, None]
    inner = np.einsum("nji,nj->ni", rotations, n)
    gap = height(parts_a, n) + height(parts_b, -inner)
    translations = n * (gap + rng.choice(HAIRS, count) * size)[:, None]
    # Across: not at all, by any amount, or so that the sides touch as well.
    for shift in (1, 2):
        m = np.eye(3)[(axis + shift) % 3]
        edge = height(parts_a, m) + height(parts_b, -np.einsum("nji,nj->ni", rotations, m))
        amount = np.choose(rng.integers(3, size=count), [np.zeros(count), rng.uniform(-1.0, 1.0, count) * edge, edge])
        translations += m * amount[:, None]
    return translations
