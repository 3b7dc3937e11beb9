"""Where a particle that slides may be: so far from the planes and quadrics near it that its side of each is known.

What is near is looked up among all elements, not remembered. A place is asked, never moved: what is lifted off one face of a
corner could lie beyond another, and that may be of a mesh.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.particles.colliders.element import QUADRIC
from thud.particles.colliders.element_arrays import KIND
from thud.particles.crossings.element_rows import FEW_ELEMENTS
from thud.particles.crossings.elements import dot3, gradient, in_bounds, plane_coefficients, quadric_coefficients
from thud.particles.flight.tolerances import CLEAR_DOUBT, CLEAR_REACH, SLIDE_NEAR


@exact_device
def next_near(elements, k, p, reach):
    """(the next element from place k on whose box is within reach of p, the place after it); element -1: none."""
    many = elements.ints.shape[0]
    few = many <= FEW_ELEMENTS
    boxes = elements.boxes if few else elements.node_boxes
    nodes = many if few else elements.skip.shape[0]
    while k < nodes:
        near = True
        for axis in range(3):
            near = near and boxes[k, axis] - reach <= p[axis] <= boxes[k, 3 + axis] + reach
        if few:
            k += 1
            if near:
                return k - 1, k
        elif not near:
            k = elements.skip[k]
        else:
            e = elements.item[k]
            k += 1
            if e >= 0:
                return e, k
    return -1, k


@exact_device
def distance(elements, e, p):
    """(signed distance of p from element e's surface, unit normal, how large it may be by roundoff alone)."""
    none = (0.0, 0.0, 0.0)
    n = gradient(elements.reals, e, elements.ints[e, KIND], p)
    if elements.ints[e, KIND] != QUADRIC:
        c, roundoff = plane_coefficients(elements.reals, e, p, none, none)
        return c[0][0], n, roundoff
    c, roundoff = quadric_coefficients(elements.reals, e, p, none, none)
    size = math.sqrt(dot3(n, n))
    if size == 0.0:
        return math.inf, none, 0.0
    return 0.5 * c[0][0] / size, (n[0] / size, n[1] / size, n[2] / size), 0.5 * roundoff / size


@exact_device
def clearance(elements, p, q, reach, but):
    """How far p is from all that is near, on the side of each that q is on, beyond what is in doubt; at most `reach`.
    but: an element that does not count, -1 for none."""
    least, k = reach, 0
    while True:
        e, k = next_near(elements, k, p, reach)
        if e < 0:
            return least
        if e == but:
            continue
        here, _n, doubt = distance(elements, e, p)
        there = here if p == q else distance(elements, e, q)[0]
        if min(abs(here), abs(there)) < reach and (in_bounds(elements, e, p, 0.0) or in_bounds(elements, e, q, 0.0)):
            least = min(least, math.copysign(1.0, there) * here - CLEAR_DOUBT * doubt)


@exact_kernel(inner="elements, vec3, f8")
def is_clear(elements, q, reach):
    """Whether the side of q is known of all that is within reach."""
    return clearance(elements, q, q, reach, -1) > 0.0


@exact_kernel(inner="elements, vec3, vec3, i8")
def clear_of_others(elements, p, start, e):
    """Whether a particle that has come to element e at p is clear of all others, on the sides of them where it started."""
    far = max(abs(p[0]), abs(p[1]), abs(p[2]))
    return clearance(elements, p, start, CLEAR_REACH * far, e) > SLIDE_NEAR * far
