"""Planes A x + B y + C z + D = 0 with unit normals (A, B, C): devices on a 4-tuple (A, B, C, D)."""

from __future__ import annotations

import math

from thud._core.decorators import device


@device
def signed_distance_plane(p, plane):
    """Distance of p from the plane in metres, positive on the side of the normal ([Slides])."""
    return plane[0] * p[0] + plane[1] * p[1] + plane[2] * p[2] + plane[3]


@device
def ray_plane(o, d, plane):
    """Distance along the unit direction d to the plane, from either side, t = -(n . o + D) / (n . d) ([Slides]); or inf.

    A ray in the plane starts on it: 0. A ray parallel to it misses.
    """
    height = signed_distance_plane(o, plane)
    if height == 0.0:
        return 0.0
    slope = plane[0] * d[0] + plane[1] * d[1] + plane[2] * d[2]
    if height > 0.0:
        height, slope = -height, -slope
    if not slope > 0.0:
        return math.inf
    return -height / slope


@device
def load_plane(planes, m, k):
    """planes[m, k] as a 4-tuple."""
    return planes[m, k, 0], planes[m, k, 1], planes[m, k, 2], planes[m, k, 3]


@device
def sphere_in_frustum(center, radius, planes, m):
    """Whether the sphere is not wholly behind any plane of planes[m]; the normals point into the frustum ([Slides])."""
    for k in range(planes.shape[1]):  # noqa: SIM110
        if signed_distance_plane(center, load_plane(planes, m, k)) < -radius:
            return False
    return True


@device
def box_in_frustum(lower, upper, planes, m):
    """Whether the box is not wholly behind any plane of planes[m], by its corner farthest along the normal; the normals point
    into the frustum."""
    for k in range(planes.shape[1]):
        plane = load_plane(planes, m, k)
        corner = (
            upper[0] if plane[0] > 0.0 else lower[0], upper[1] if plane[1] > 0.0 else lower[1],
            upper[2] if plane[2] > 0.0 else lower[2],
        )  # fmt: skip
        if signed_distance_plane(corner, plane) < 0.0:
            return False
    return True


@device
def point_in_convex(p, planes, m):
    """Whether p lies behind or on all planes of planes[m]; the normals point outwards."""
    for k in range(planes.shape[1]):  # noqa: SIM110
        if signed_distance_plane(p, load_plane(planes, m, k)) > 0.0:
            return False
    return True


@device
def ray_convex(o, d, planes, m):
    """(t, face): distance along the unit direction d to the convex solid behind all planes of planes[m]; (inf, -1) for a miss.

    (0, -1) for an origin inside. The ray is cut by one plane after the other (Cyrus and Beck 1978).
    """
    near, far, face = 0.0, math.inf, -1
    for k in range(planes.shape[1]):
        plane = load_plane(planes, m, k)
        height = signed_distance_plane(o, plane)
        slope = plane[0] * d[0] + plane[1] * d[1] + plane[2] * d[2]
        if slope < 0.0:
            # Enters here, unless the origin is behind the plane already.
            if height > 0.0:
                t = -height / slope
                if t > near or face < 0:
                    near, face = t, k
        elif height > 0.0:
            return math.inf, -1
        elif slope > 0.0:
            far = min(far, -height / slope)
        if near > far:
            return math.inf, -1
    if near == math.inf:
        return math.inf, -1
    return near, face
