"""Whether a vertex is below the surface as the paper tells it: backward projection onto a primitive (2.4.2), and the surface
above or below it. What the ground is as a whole: `column.py`.

The paper compares the projection's length with the length interpolated from the map. The surface itself is made of patches
that are bilinear in the samples, which differs in the second order; so the line along the interpolated direction is
intersected with them.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.collision.patch import surface_length
from thud.terrain.projection.alpha_cubic import cubic_project
from thud.terrain.projection.bilinear_inverse import bilinear_project
from thud.terrain.sampling import interpolate, map_place
from thud.terrain.surface_arrays import NORMAL, OFFSET, QUAD, V3, S, T

_I = np.int64

# Where a point is: over no primitive, above the surface, in the ground.
NOWHERE, ABOVE, BELOW = 0, 1, 2


@exact_device
def vertex(surface, primitive, which, column):
    """Position (column 0) or direction (3) of a primitive's vertex."""
    v = surface.primitives[primitive, which]
    return surface.vertices[v, column], surface.vertices[v, column + 1], surface.vertices[v, column + 2]


@exact_kernel(inner="surface, i8, vec3, f8, f8")
def project(surface, k, p, least, most):
    """(status, u, v, length): a point projected backwards onto a primitive, by lengths within the given range."""
    p0, p1, p2 = vertex(surface, k, 0, 0), vertex(surface, k, 1, 0), vertex(surface, k, 2, 0)
    n0, n1, n2 = vertex(surface, k, 0, 3), vertex(surface, k, 1, 3), vertex(surface, k, 2, 3)
    if surface.primitives[k, V3] < 0:
        return cubic_project(p, p0, p1, p2, n0, n1, n2, least, most)
    p3, n3 = vertex(surface, k, 3, 0), vertex(surface, k, 3, 3)
    return bilinear_project(p, p0, p1, p2, p3, n0, n1, n2, n3, least, most)


@exact_device
def height_over(surface, k, p):
    """Height of a point above the base primitive's plane."""
    nx, ny, nz = surface.planes[k, NORMAL], surface.planes[k, NORMAL + 1], surface.planes[k, NORMAL + 2]
    return nx * p[0] + ny * p[1] + nz * p[2] - surface.planes[k, OFFSET]


@exact_device
def turned_over(surface, k, u, v, length):
    """Whether the primitive, moved along its directions by `length`, shows its back at (u, v): beyond the place where
    directions cross there is neither above nor below."""
    ex, ey, ez = 0.0, 0.0, 0.0
    fx, fy, fz = 0.0, 0.0, 0.0
    four = surface.primitives[k, V3] >= 0
    for i in range(4 if four else 3):
        p, n = vertex(surface, k, i, 0), vertex(surface, k, i, 3)
        x, y, z = p[0] + length * n[0], p[1] + length * n[1], p[2] + length * n[2]
        if four:
            # Derivatives of the bilinear weights.
            a = (v - 1.0) if i == 0 else ((1.0 - v) if i == 1 else (v if i == 2 else -v))
            b = (u - 1.0) if i == 0 else (-u if i == 1 else (u if i == 2 else 1.0 - u))
        else:
            a, b = (-1.0 if i == 0 else (1.0 if i == 1 else 0.0)), (-1.0 if i == 0 else (1.0 if i == 2 else 0.0))
        ex, ey, ez = ex + a * x, ey + a * y, ez + a * z
        fx, fy, fz = fx + b * x, fy + b * y, fz + b * z
    nx, ny, nz = surface.planes[k, NORMAL], surface.planes[k, NORMAL + 1], surface.planes[k, NORMAL + 2]
    return not (ey * fz - ez * fy) * nx + (ez * fx - ex * fz) * ny + (ex * fy - ey * fx) * nz > 0.0


@exact_kernel(inner="surface, i8, vec3, f8, f8, f8, f8[:,::1]")
def compare(surface, k, p, u, v, length, corners):
    """(where, length of the surface, quad, x, y, a, b) for a point whose projection onto primitive k is known."""
    quad = _I(surface.primitives[k, QUAD])
    if surface.primitives[k, V3] < 0:
        l0, l1, l2, l3 = 1.0 - u - v, u, v, 0.0
    else:
        l0, l1, l2, l3 = (1.0 - u) * (1.0 - v), u * (1.0 - v), u * v, (1.0 - u) * v
    base = interpolate(surface, k, l0, l1, l2, l3, 0)
    n = interpolate(surface, k, l0, l1, l2, l3, 3)
    if turned_over(surface, k, u, v, length):
        return NOWHERE, length, quad, _I(0), _I(0), 0.0, 0.0
    s, t = map_place(surface, k, l0, l1, l2, l3)
    s, t = s - surface.ratio * surface.quads[quad, S], t - surface.ratio * surface.quads[quad, T]
    done, top, x, y, a, b = surface_length(surface, quad, s, t, base, n, length, corners)
    if not done:
        # The line runs along the patch: what it means for a point to be below it is open. On the safe side.
        return BELOW, length, quad, x, y, a, b
    if length > top:
        return ABOVE, top, quad, x, y, a, b
    if length < top - surface.thickness:
        return NOWHERE, top, quad, x, y, a, b
    return BELOW, top, quad, x, y, a, b
