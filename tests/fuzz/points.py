"""What must hold for points and rays against one shape."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import thud
from tests.fuzz.blocks import EPS, Block
from tests.fuzz.invariants import Failure, failures
from tests.fuzz.poses import random_directions
from tests.fuzz.shapes import reach_of
from tests.oracles import convex


def random_points(block: Block, rng: np.random.Generator) -> np.ndarray:
    """World points about A: on its surface (a hair off some of them), inside and outside, its origin."""
    count, size = len(block.pose_a), reach_of(block.a) or block.size
    parts = convex.parts_of(block.a)
    local = random_directions(count, rng) * (10.0 ** rng.uniform(-3.0, 1.0, (count, 1))) * size
    for row in range(0, count, 3):
        part = parts[rng.integers(len(parts))]
        n = np.eye(3)[rng.integers(3)] if row % 2 else random_directions(1, rng)[0]
        if part.kind == "half_space":
            n = part.rotation @ part.numbers[:3]
            local[row] += (part.numbers[3] + n @ part.position - n @ local[row]) * n
        else:
            local[row] = part.support(n)
        local[row] += n * rng.choice([0.0, 0.0, 1e-12, -1e-12, 1e-6, -1e-6, -0.1]) * size
    local[1::20] = 0.0
    rows = block.pose_a.rows
    return np.einsum("nij,nj->ni", rows[:, :9].reshape(-1, 3, 3), local) + rows[:, 9:]


def point_limit(block: Block, points: np.ndarray) -> np.ndarray:
    """tol * size + 8 eps |offset|, the offset that of pose and point."""
    offset = np.maximum(np.abs(block.pose_a.position).max(axis=1), np.abs(points).max(axis=1))
    return block.tolerance * reach_of(block.a) + 8 * EPS * offset


def check_points(block: Block) -> Iterator[Failure]:
    """`contains` and `closest_point` against the oracle."""
    points = random_points(block, np.random.default_rng([block.seed, block.number, 8]))
    limit = point_limit(block, points)
    truth = convex.point_distance(block.a, block.pose_a.rows, points)
    inside = thud.contains(block.a, points, pose=block.pose_a, threads=1)
    # A point counts as on the surface within 64 roundoffs.
    clear = np.abs(truth) > limit + 32 * EPS * (np.abs(points).max(axis=1) + np.abs(block.pose_a.position).max(axis=1))
    yield from failures(block, "contains", (inside != (truth <= 0)) & clear, 0)
    signed = thud.closest_point(block.a, points, pose=block.pose_a, signed=True, threads=1)
    unsigned = thud.closest_point(block.a, points, pose=block.pose_a, threads=1)
    yield from failures(block, "closest point: finite", ~np.isfinite(signed.point).all(axis=1), 0)
    yield from failures(block, "closest point: distance", np.abs(signed.distance - truth), limit)
    yield from failures(block, "closest point: unsigned", np.abs(unsigned.distance - np.abs(signed.distance)), 0)
    span = np.linalg.norm(points - signed.point, axis=1)
    yield from failures(block, "closest point: spans the distance", np.abs(span - np.abs(signed.distance)), limit)
    away = convex.surface_distance(block.a, block.pose_a.rows, signed.point)
    yield from failures(block, "closest point: on the surface", np.abs(away), limit)


def check_rays(block: Block) -> Iterator[Failure]:
    """A hit lies on the surface and nothing of the shape before it; a miss never enters the shape."""
    rng = np.random.default_rng([block.seed, block.number, 9])
    count, size = len(block.pose_a), reach_of(block.a) or block.size
    origins = block.pose_a.position + random_directions(count, rng) * 10.0 ** rng.uniform(-2.0, 2.0, (count, 1)) * size
    targets = random_points(block, rng)
    directions = targets - origins
    far = np.linalg.norm(directions, axis=1)
    directions[far == 0] = [0.0, 0.0, 1.0]
    straight = rng.random(count) < 0.3
    directions[straight] = np.eye(3)[rng.integers(3, size=straight.sum())] * rng.choice([-1.0, 1.0], (straight.sum(), 1))
    unit = directions / np.linalg.norm(directions, axis=1, keepdims=True)
    hits = thud.raycast(block.a, origins, directions, pose=block.pose_a, threads=1)
    length = 4.0 * (np.linalg.norm(origins - block.pose_a.position, axis=1) + size)
    limit = point_limit(block, origins) + 8 * EPS * length

    hit = np.isfinite(hits.distance)
    finite = np.isfinite(hits.point).all(axis=1) & np.isfinite(hits.normal).all(axis=1) & ~np.isnan(hits.distance)
    yield from failures(block, "ray: finite", ~finite, 0)
    start = convex.point_distance(block.a, block.pose_a.rows, origins)
    clear = np.abs(start) > limit
    yield from failures(block, "ray: origin inside", ((hits.distance == 0) != (start <= 0)) & clear, 0)
    outside = hit & (hits.distance > 0)
    span = hits.point - origins - np.where(hit, hits.distance, 0.0)[:, None] * unit
    yield from failures(block, "ray: point along the ray", np.where(outside, np.abs(span).max(axis=1), 0.0), limit)
    on_surface = np.abs(convex.point_distance(block.a, block.pose_a.rows, hits.point))
    yield from failures(block, "ray: on the surface", np.where(outside, on_surface, 0.0), limit)
    norm = np.linalg.norm(hits.normal, axis=1)
    yield from failures(block, "ray: unit normal", np.where(outside, np.abs(norm - 1.0), norm), 1e-14)
    yield from failures(block, "ray: normal at the hit", np.where(outside, above_plane(block, hits), 0.0), limit)
    # What the ray passes before the hit, or at all, is not inside: at even steps and where it is closest to each part.
    last = np.where(hit, hits.distance, length)
    for time in [*np.linspace(0.0, 1.0, 9)[:, None] * last, *nearest_times(block, origins, unit, last)]:
        inside = -convex.point_distance(block.a, block.pose_a.rows, origins + time[:, None] * unit)
        yield from failures(block, "ray: passes through", np.where(hits.distance > 0, inside, 0.0), limit)


def above_plane(block: Block, hits: thud.RayHits) -> np.ndarray:
    """How far the part that was hit rises above the plane through the hit and across the normal: not at all."""
    rows, parts = block.pose_a.rows, convex.parts_of(block.a)
    inverse = np.swapaxes(rows[:, :9].reshape(-1, 3, 3), 1, 2)
    p = np.einsum("nij,nj->ni", inverse, hits.point - rows[:, 9:])
    n = np.einsum("nij,nj->ni", inverse, hits.normal)
    rise = np.zeros(len(rows))
    for k, part in enumerate(parts):
        ours = (hits.triangle == k) | (len(parts) == 1)
        if part.kind == "half_space":
            turned = np.abs(n[ours] - part.rotation @ part.numbers[:3]).max(axis=1, initial=0.0)
            rise[ours] = np.where(turned < 1e-14, 0.0, np.inf)
        else:
            rise[ours] = part.heights(n[ours]) - np.einsum("ni,ni->n", n[ours], p[ours])
    return np.abs(rise)


def nearest_times(block: Block, origins: np.ndarray, unit: np.ndarray, last: np.ndarray) -> Iterator[np.ndarray]:
    """For each part of A where on [0, last] the ray is closest to it: the distance is convex, so thirds will do."""
    rows = block.pose_a.rows
    inverse = np.swapaxes(rows[:, :9].reshape(-1, 3, 3), 1, 2)
    o = np.einsum("nij,nj->ni", inverse, origins - rows[:, 9:])
    d = np.einsum("nij,nj->ni", inverse, unit)
    for part in convex.parts_of(block.a):
        low, high = np.zeros(len(last)), last.copy()
        for _ in range(40):
            left, right = low + (high - low) / 3, high - (high - low) / 3
            nearer = part.point_distance(o + left[:, None] * d) < part.point_distance(o + right[:, None] * d)
            low, high = np.where(nearer, low, left), np.where(nearer, right, high)
        yield 0.5 * (low + high)
