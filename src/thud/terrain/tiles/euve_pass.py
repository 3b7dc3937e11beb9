"""Collision as [EUVE] has it: one pass over the trees, in which each hit changes the future position (3.2 to 3.4).

Kept as it is printed, with what it lets through: see `docs/terrain_flight.md`.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.math.vec3 import add_scaled, cross, dot, load3, norm, scale, sub
from thud.terrain.tiles.sphere_walk import leaf_in_reach, node_in_reach
from thud.terrain.tiles.tile_arrays import CHILDREN, NEXT


@device
def inside_triangle(x, a, b, c, n):
    """Whether a point of the triangle's plane lies in the triangle."""
    return (
        dot(cross(sub(b, a), sub(x, a)), n) >= 0.0
        and dot(cross(sub(c, b), sub(x, b)), n) >= 0.0
        and dot(cross(sub(a, c), sub(x, c)), n) >= 0.0
    )


@device
def swept_face(p, v, radius, a, b, c, n, d):
    """The swept test (3.3): time in [0, 1] at which the sphere meets the plane from its front, if the point of the plane that
    it meets lies in the triangle; inf for none. Edges and vertices are left out, as in the paper (4.4)."""
    height, approach = dot(n, p) + d, dot(n, v)
    if not approach < 0.0 or height < 0.0:
        return math.inf
    t = max((radius - height) / approach, 0.0)
    if t > 1.0:
        return math.inf
    center = add_scaled(p, v, t)
    point = add_scaled(center, n, -(dot(n, center) + d))
    return t if inside_triangle(point, a, b, c, n) else math.inf


@kernel("tile_arrays, f8[::1], f8[::1], f8, i8[::1], f8[:,::1], f8[:,::1], i8[::1]")
def euve_tile(tile, position, future, radius, number, corners, planes, visited_out):
    """Walk one tree with the sphere about current and future position (Figure 1), and slide at every triangle hit. Changes
    `future`; returns how many were hit, or minus the rows that a leaf needs."""
    o = tile.origin
    p = (position[0] - o[0], position[1] - o[1], position[2] - o[2])
    f = (future[0] - o[0], future[1] - o[1], future[2] - o[2])
    patch = np.empty((4, 3))
    hits = np.int64(0)
    k, count = np.int64(0), np.int64(tile.links.shape[0])
    while k < count:
        middle, reach = scale((p[0] + f[0], p[1] + f[1], p[2] + f[2]), 0.5), 0.5 * norm(sub(f, p)) + radius
        visited_out[0] += 1
        if not node_in_reach(tile, k, middle, reach):
            k = np.int64(tile.links[k, NEXT])
            continue
        if tile.links[k, CHILDREN] > 0:
            k += 1
            continue
        visited_out[1] += 1
        found = leaf_in_reach(tile, k, middle, reach, patch, 0, number, corners, planes)
        if found > number.shape[0]:
            return -found
        for row in range(found):
            n, d = load3(planes, row, 0), planes[row, 3]
            a, b, c = load3(corners, row, 0), load3(corners, row, 3), load3(corners, row, 6)
            if swept_face(p, sub(f, p), radius, a, b, c, n, d) <= 1.0:
                # Figure 5: the future position is moved out along the normal until the sphere touches the plane.
                f = add_scaled(f, n, radius - (dot(n, f) + d))
                hits += 1
        k = np.int64(tile.links[k, NEXT])
    for axis in range(3):
        future[axis] = f[axis] + o[axis]
    return hits
