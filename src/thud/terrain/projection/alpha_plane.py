"""The alpha plane method, [Yang] 3.2.3: Newton's method on (3.4).

It finds one root, and which one depends on where it starts. From 0 the case of Table 4.3 ends at the wrong one; from the upper
end of the lengths a surface can have, all three tables come out. `alpha_cubic.py` finds every root.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_kernel
from thud.terrain.projection.alpha_triangle import INSIDE, OUTSIDE, UNCONVERGED, alpha_cubic, belongs, foot, in_own_units
from thud.terrain.projection.rows import SIGNATURE, load_point, load_triangle
from thud.terrain.projection.tolerances import PROJECTION_NEWTON_STEP, PROJECTION_NEWTON_STEPS


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8, f8")
def newton_project(p, p0, p1, p2, n0, n1, n2, lo, hi, start):
    """(status, u, v, length, iterations) from the length `start`; from the upper end `hi` if that is not a number, and from as
    many directions as the primitive is long if `hi` is infinite. UNCONVERGED also where the alpha triangle collapses."""
    w, e1, e2, n0, d1, d2, unit, noise = in_own_units(p, p0, p1, p2, n0, n1, n2)
    if unit == 0.0:
        return OUTSIDE, math.inf, math.inf, math.inf, 0
    c0, c1, c2, c3 = alpha_cubic(w, e1, e2, n0, d1, d2)
    alpha = start / unit
    if math.isnan(start):
        alpha = hi / unit if hi < math.inf else 1.0
    iterations, converged = 0, False
    while iterations < PROJECTION_NEWTON_STEPS and not converged:
        f = ((c3 * alpha + c2) * alpha + c1) * alpha + c0
        slope = (3.0 * c3 * alpha + 2.0 * c2) * alpha + c1
        if f == 0.0:
            converged = True
        elif slope == 0.0:
            break
        else:
            step = f / slope
            alpha -= step
            iterations += 1
            converged = abs(step) <= PROJECTION_NEWTON_STEP * (1.0 + abs(alpha))
    kind, u, v, at = foot(alpha, w, e1, e2, n0, d1, d2)
    if not converged or kind != 1:
        return UNCONVERGED, u, v, at * unit, iterations
    in_primitive, in_range = belongs(u, v, at, lo / unit, hi / unit, noise, e1, e2, n0, d1, d2)
    return (INSIDE if in_primitive and in_range else OUTSIDE), u, v, at * unit, iterations


@exact_kernel(SIGNATURE)
def alpha_plane_rows(
    start, stop, points, positions, directions, ranges, starts, u_out, v_out, length_out, iterations_out, status_out
):
    """Each row by `newton_project`; `starts`: a length, or NaN for the default."""
    for i in range(start, stop):
        p, lo, hi = load_point(points, ranges, i)
        p0, p1, p2 = load_triangle(positions, i)
        n0, n1, n2 = load_triangle(directions, i)
        begin = starts[i if starts.shape[0] > 1 else 0, 0]
        status, u, v, length, iterations = newton_project(p, p0, p1, p2, n0, n1, n2, lo, hi, begin)
        u_out[i], v_out[i], length_out[i] = u, v, length
        iterations_out[i], status_out[i] = iterations, np.uint8(status)
