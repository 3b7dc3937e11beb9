"""Two spheres in uniform motion: a device."""

from __future__ import annotations

import math

from thud._core.decorators import device
from thud.math.vec3 import cross, dot, norm, norm2


@device
def moving_sphere_sphere(offset, motion, radius):
    """Time in [0, 1] at which |offset + t * motion| first is at most `radius`, the sum of the radii; inf for never.

    `offset` and `motion` are B's relative to A: pos_b - pos_a at t = 0 and its change until t = 1. [Slides] give the
    inequality (offset . motion)^2 > (|offset|^2 - radius^2) |motion|^2 alone: it also holds for spheres that part and for
    contacts outside the step, so those are excluded first and last. Touching counts.
    """
    if norm2(offset) <= radius * radius:
        return 0.0
    approach = -dot(offset, motion)
    if not approach > 0.0:
        return math.inf
    # The inequality in its form without cancellation: the distance of closest approach times |motion| is |offset x motion|.
    reach, moment = radius * norm(motion), norm(cross(offset, motion))
    gap = (reach - moment) * (reach + moment)
    if not gap >= 0.0:
        return math.inf
    distance = norm(offset)
    t = (distance - radius) * (distance + radius) / (approach + math.sqrt(gap))
    return t if t <= 1.0 else math.inf
