"""How far impacts lie from the collider that they are on, by formulas that the library does not use for finding them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from thud.particles import (
    Blobs,
    Disc,
    ImplicitPatches,
    Mesh,
    Plane,
    Polygon,
    Quadric,
    Rectangle,
    Skeleton,
    Solid,
    Surface,
    impact_coordinates,
    surface_points,
)
from thud.results import ParticleImpacts

Floats = npt.NDArray[np.float64]


def distances(collider: Any, impacts: ParticleImpacts) -> Floats:
    """(M,) metres from a collider, which all of the impacts are on (place 0)."""
    p = impacts.point
    if isinstance(collider, Plane):
        return np.abs((p - np.asarray(collider.point)) @ np.asarray(collider.normal))
    if isinstance(collider, Disc):
        off = p - np.asarray(collider.center)
        beyond = np.maximum(np.linalg.norm(off, axis=1) - collider.radius, 0.0)
        return np.maximum(np.abs(off @ np.asarray(collider.normal)), beyond)
    if isinstance(collider, (Rectangle, Polygon)):
        corners = (
            np.asarray(collider.vertices)
            if isinstance(collider, Polygon)
            else np.asarray(collider.origin) + np.array([[0, 0, 0], collider.edge_u, collider.edge_v])
        )
        normal = np.cross(corners[1] - corners[0], corners[2] - corners[0])
        return np.abs((p - corners[0]) @ normal) / float(np.linalg.norm(normal))
    if isinstance(collider, Quadric):
        # |f| / |grad f|, Eq. (3.8).
        x = np.column_stack([p - np.asarray(collider.origin), np.ones(len(p))])
        q = np.asarray(collider.matrix)
        return np.abs(np.einsum("mi,ij,mj->m", x, q, x)) / np.linalg.norm(2.0 * x @ q[:, :3], axis=1)
    if isinstance(collider, Solid):
        return np.abs(thud.closest_point(collider.shape, p, pose=collider.pose, signed=True).distance)
    if isinstance(collider, Mesh):
        return thud.closest_point(collider.mesh, p, pose=collider.pose).distance
    if isinstance(collider, (Blobs, Skeleton)):
        step = 1e-6
        slopes = [(collider.value(p + step * axis) - collider.value(p - step * axis)) / (2.0 * step) for axis in np.eye(3)]
        return np.abs(collider.value(p)) / np.linalg.norm(slopes, axis=0)
    if isinstance(collider, ImplicitPatches):
        # Of the polynomial in its own tetrahedron, which goes on beyond it.
        corners = np.asarray(collider.vertices)[np.asarray(collider.tetrahedra)[impacts.part]]
        system = np.concatenate([corners.transpose(0, 2, 1), np.ones((len(p), 1, 4))], axis=1)
        powers, control = collider.control_indices(collider.degree), np.asarray(collider.coefficients)[impacts.part]
        many = np.array([math.factorial(collider.degree) / math.prod(map(math.factorial, power)) for power in powers.tolist()])

        def f(at: Floats) -> Floats:
            w = np.linalg.solve(system, np.concatenate([at, np.ones((len(at), 1))], axis=1)[:, :, None])[:, :, 0]
            return (np.prod(w[:, None, :] ** powers, axis=2) * many * control).sum(axis=1)

        step = 1e-6
        slopes = [(f(p + step * axis) - f(p - step * axis)) / (2.0 * step) for axis in np.eye(3)]
        return np.abs(f(p)) / np.linalg.norm(slopes, axis=0)
    assert isinstance(collider, Surface)
    back = surface_points([collider], 0, impact_coordinates(impacts, [collider]))
    return np.linalg.norm(back - p, axis=1)
