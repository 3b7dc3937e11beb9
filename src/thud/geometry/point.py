"""Is a point inside: devices for spheres and boxes. All are closed sets: a point on the surface is inside."""

from __future__ import annotations

from thud._core.decorators import device
from thud.math.vec3 import norm2, sub


@device
def point_in_sphere(p, center, radius):
    """Whether |p - center| <= radius, by squares ([Slides], with <= for the closed ball)."""
    return norm2(sub(p, center)) <= radius * radius


@device
def point_in_aabb(p, lower, upper):
    """Whether lower <= p <= upper ([Slides])."""
    return lower[0] <= p[0] <= upper[0] and lower[1] <= p[1] <= upper[1] and lower[2] <= p[2] <= upper[2]


@device
def point_in_box(p, half_extents):
    """Whether |p| <= half_extents, p in the box's frame."""
    return abs(p[0]) <= half_extents[0] and abs(p[1]) <= half_extents[1] and abs(p[2]) <= half_extents[2]
