"""Meshes to test with, and slow, obviously right answers about them."""

from __future__ import annotations

import numpy as np

from thud.geometry.mesh import ray_crossing, ray_triangle_exact
from thud.mesh.raycast import unit


def soup(rng, count, size=0.3):
    """`count` triangles anywhere in a cube."""
    centers = rng.uniform(-1, 1, (count, 1, 3))
    corners = centers + rng.normal(scale=size, size=(count, 3, 3))
    return corners.reshape(-1, 3), np.arange(3 * count).reshape(-1, 3)


def bumpy_sphere(rings, segments, bumps=0.2):
    """A closed surface about the origin that is not convex; wound outward."""
    theta = np.linspace(0, np.pi, rings + 1)[1:-1]
    phi = np.linspace(0, 2 * np.pi, segments, endpoint=False)
    t, p = (grid.ravel() for grid in np.meshgrid(theta, phi, indexing="ij"))
    radius = 1.0 + bumps * np.sin(3 * t) * np.cos(4 * p)
    ring = np.stack([radius * np.sin(t) * np.cos(p), radius * np.sin(t) * np.sin(p), radius * np.cos(t)], axis=1)
    vertices = np.concatenate([[[0, 0, 1.0]], ring, [[0, 0, -1.0]]])
    faces = []
    for k in range(segments):
        after = (k + 1) % segments
        faces.append((0, 1 + k, 1 + after))
        for r in range(rings - 2):
            a, b = 1 + r * segments + k, 1 + r * segments + after
            faces += [(a, a + segments, b + segments), (a, b + segments, b)]
        last = 1 + (rings - 2) * segments
        faces.append((len(vertices) - 1, last + after, last + k))
    return vertices, np.array(faces)


def terrain(rng, cells, size=100.0):
    """A height field of 2 * cells**2 triangles: a sum of sines."""
    x = np.linspace(-0.5 * size, 0.5 * size, cells + 1)
    gx, gy = np.meshgrid(x, x, indexing="ij")
    height = np.zeros_like(gx)
    for _ in range(12):
        k = rng.normal(size=2) * 30.0 / size
        height += size / 100.0 * rng.uniform(0.2, 1.5) * np.sin(k[0] * gx + k[1] * gy + rng.uniform(0, 6))
    row = np.arange((cells + 1) ** 2).reshape(cells + 1, cells + 1)
    a, b, c, d = row[:-1, :-1].ravel(), row[1:, :-1].ravel(), row[1:, 1:].ravel(), row[:-1, 1:].ravel()
    faces = np.concatenate([np.stack([a, b, c], axis=1), np.stack([a, c, d], axis=1)])
    return np.stack([gx, gy, height], axis=-1).reshape(-1, 3), faces


def winding_number(points, vertices, faces):
    """Generalised winding number by the solid angle of every triangle (van Oosterom and Strackee 1983)."""
    total = np.zeros(len(points))
    for a, b, c in vertices[faces]:
        u, v, w = a - points, b - points, c - points
        lengths = [np.linalg.norm(x, axis=1) for x in (u, v, w)]
        volume = np.einsum("ij,ij->i", u, np.cross(v, w))
        dots = [np.einsum("ij,ij->i", x, y) for x, y in ((u, v), (v, w), (w, u))]
        below = lengths[0] * lengths[1] * lengths[2] + dots[0] * lengths[2] + dots[1] * lengths[0] + dots[2] * lengths[1]
        total += 2.0 * np.arctan2(volume, below)
    return total / (4.0 * np.pi)


def ray_table(origins, directions, vertices, faces, crossing=False):
    """(N, T) exact distance along each ray to each triangle, inf for a miss; with `crossing` an edge belongs to one of its
    triangles only. Directions are made unit vectors as `thud.raycast` does: the last bit decides what a ray through a corner
    meets."""
    decide = ray_crossing if crossing else ray_triangle_exact
    triangles = [tuple(tuple(p) for p in corners) for corners in np.asarray(vertices)[np.asarray(faces)].tolist()]
    table = np.empty((len(origins), len(faces)))
    for i, (o, d) in enumerate(zip(origins.tolist(), directions.tolist(), strict=True)):
        along = unit(tuple(d))
        table[i] = [decide(tuple(o), along, *corners) for corners in triangles]
    return table
