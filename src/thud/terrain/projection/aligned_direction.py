"""The aligned projection direction method, [Yang] 3.2.1 and 3.2.2: BFGS on the objective (3.1).

f = |r x g|^2 vanishes where the line from P(u, v) to the point has the direction N(u, v). It is minimised over (u, v),
unbounded, by Algorithm 5: BFGS that keeps the inverse S of the Hessian by (3.2), with backtracking. Which minimum it finds
depends on the start: the second solution of Table 4.3, outside the triangle, is found from (0.1, 0.25), not from the centroid.

The paper does not say how its steps shrink nor when it stops, and prints iterates with f of 1e-4 to 1e-6; here a step is halved
until it brings BFGS_DECREASE of the decrease that the gradient promises, and the iteration continues to roundoff.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import exact_device, exact_kernel
from thud.geometry.exact_vec3 import add_scaled, cross, dot, norm2, sub
from thud.terrain.projection.aligned_plane import length_at
from thud.terrain.projection.alpha_triangle import INSIDE, OUTSIDE, UNCONVERGED, belongs, in_own_units, largest
from thud.terrain.projection.rows import SIGNATURE, load_point, load_triangle
from thud.terrain.projection.tolerances import (
    BFGS_DECREASE,
    BFGS_FIRST,
    BFGS_GRADIENT,
    BFGS_HALVINGS,
    BFGS_RESIDUAL,
    BFGS_SOLUTION,
    BFGS_STEPS,
)


@exact_device
def objective(u, v, w, e1, e2, n0, d1, d2):
    """(f, df/du, df/dv) of Eq. (3.1)."""
    r = add_scaled(add_scaled(n0, d1, u), d2, v)
    g = add_scaled(add_scaled(w, e1, -u), e2, -v)
    c = cross(r, g)
    along_u, along_v = sub(cross(d1, g), cross(r, e1)), sub(cross(d2, g), cross(r, e2))
    return norm2(c), 2.0 * dot(c, along_u), 2.0 * dot(c, along_v)


@exact_kernel(inner="vec3, vec3, vec3, vec3, vec3, vec3, vec3, f8, f8, f8, f8")
def bfgs_project(p, p0, p1, p2, n0, n1, n2, lo, hi, u, v):
    """(status, u, v, length, iterations, halvings) from the start (u, v); halvings is the steps of all line searches.

    UNCONVERGED also for a minimum of (3.1) that is no solution.
    """
    reach = max(largest(n0), max(largest(sub(n1, n0)), largest(sub(n2, n0))))
    w, e1, e2, n0, d1, d2, unit, noise = in_own_units(p, p0, p1, p2, n0, n1, n2)
    if unit == 0.0:
        return OUTSIDE, math.inf, math.inf, math.inf, 0, 0
    # S_0 = I for the objective in metres; in own units that is (L D)^2, held within bounds.
    s11 = min(max((unit * reach * reach) ** 2, 1.0 / BFGS_FIRST), BFGS_FIRST)
    s12, s22 = 0.0, s11
    f, fu, fv = objective(u, v, w, e1, e2, n0, d1, d2)
    iterations, halvings = 0, 0
    while iterations < BFGS_STEPS and f > BFGS_RESIDUAL * BFGS_RESIDUAL and max(abs(fu), abs(fv)) > BFGS_GRADIENT:
        # p_k = -S_k grad f
        pu, pv = -(s11 * fu + s12 * fv), -(s12 * fu + s22 * fv)
        descent = fu * pu + fv * pv
        if not descent < 0.0:
            break
        # Backtracking from the full step.
        step, found = 1.0, False
        for _ in range(BFGS_HALVINGS):
            g, gu, gv = objective(u + step * pu, v + step * pv, w, e1, e2, n0, d1, d2)
            if g <= f + BFGS_DECREASE * step * descent and g < f:
                found = True
                break
            step *= 0.5
            halvings += 1
        if not found:
            break
        su, sv, yu, yv = step * pu, step * pv, gu - fu, gv - fv
        u, v, f, fu, fv = u + su, v + sv, g, gu, gv
        iterations += 1
        # Eq. (3.2); where the curvature s.y is not positive S would lose its definiteness, so it is kept.
        sy = su * yu + sv * yv
        if sy > 0.0:
            zu, zv = s11 * yu + s12 * yv, s12 * yu + s22 * yv
            k = (sy + yu * zu + yv * zv) / (sy * sy)
            s11 += k * su * su - 2.0 * zu * su / sy
            s12 += k * su * sv - (zu * sv + su * zv) / sy
            s22 += k * sv * sv - 2.0 * zv * sv / sy
    length = length_at(u, v, w, e1, e2, n0, d1, d2)
    # Zero also where r or g vanishes or is parallel to everything: a solution needs a direction, and a primitive with an area.
    flat = not norm2(cross(add_scaled(e1, d1, length), add_scaled(e2, d2, length))) > 0.0
    if not f <= BFGS_SOLUTION * BFGS_SOLUTION or flat:
        return UNCONVERGED, u, v, length * unit, iterations, halvings
    # No sharper than the objective: what it takes for a solution may be off by as much.
    in_primitive, in_range = belongs(u, v, length, lo / unit, hi / unit, noise + BFGS_SOLUTION, e1, e2, n0, d1, d2)
    return (INSIDE if in_primitive and in_range else OUTSIDE), u, v, length * unit, iterations, halvings


@exact_kernel(SIGNATURE)
def aligned_direction_rows(
    start, stop, points, positions, directions, ranges, starts, u_out, v_out, length_out, iterations_out, status_out
):
    """Each row by `bfgs_project`; `starts`: u and v."""
    for i in range(start, stop):
        p, lo, hi = load_point(points, ranges, i)
        p0, p1, p2 = load_triangle(positions, i)
        n0, n1, n2 = load_triangle(directions, i)
        k = i if starts.shape[0] > 1 else 0
        status, u, v, length, iterations, _halvings = bfgs_project(
            p, p0, p1, p2, n0, n1, n2, lo, hi, starts[k, 0], starts[k, 1]
        )
        u_out[i], v_out[i], length_out[i] = u, v, length
        iterations_out[i], status_out[i] = iterations, np.uint8(status)
