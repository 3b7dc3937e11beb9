"""The contacts of one row of a convex part on facets: directions, patches, and where they are written to."""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device, kernel
from thud.math.vec3 import dot
from thud.mesh.manifolds.convex_facets import lowest_of, nearest_point, over_facet, patch_points, settle_facets
from thud.mesh.manifolds.directions import direction
from thud.mesh.manifolds.facets import DIRECTION, WAY_OUT, facet_normal
from thud.mesh.manifolds.rows import put_contacts
from thud.mesh.manifolds.spread import HOW_DEEP
from thud.mesh.manifolds.tolerances import ALIKE, DEEPER, EDGE_ON, LOOK_AGAIN


@device
def is_over_any(facets, many, n, q):
    """Whether q is above or below one of the facets that face n, seen along n."""
    over = False
    for k in range(many):
        over |= dot(n, facet_normal(facets, k)) > EDGE_ON and over_facet(facets, k, n, q)
    return over


@kernel(inner="packed, i8, f8, f8, f8, f8, i8, mat3, vec3, i8, facet_space, manifold_rows")
def convex_contacts(packed, many, reach, look, size, margin, limit, r, t, row, space, out):
    """(status as far as it is known, greatest depth or -inf, or what that were if the facets that show it had no end; whether a
    wider look may show more) of part 0 on the first `many` facets, whose frame is at (R, t) in the world. look: a way out that
    is short in any case; 0 at first."""
    status, directions = settle_facets(
        packed, space.facets, space.ints, many, reach, look, size, space.directions, space.epa, space.polygons, space.points
    )
    filled, patch, deepest, where = np.int64(0), np.int64(0), -math.inf, np.int64(-1)
    for d in range(directions):
        points = patch_points(
            packed, space.facets, space.ints, many, reach, size, space.directions, np.int64(d), space.polygons, space.points,
            limit,
        )  # fmt: skip
        for k in range(points):
            if space.points[k, HOW_DEEP] > deepest:
                deepest, where = space.points[k, HOW_DEEP], np.int64(d)
        if points > 0:
            filled = put_contacts(out, row, filled, space, d, points, patch, r, t, margin, space.ints, False)
            patch += 1
    if deepest < 0.0:
        points = nearest_point(packed, space.facets, space.ints, many, deepest, space.directions, space.points, size)
        if points > 0:
            deepest = space.points[0, HOW_DEEP]
        filled = put_contacts(out, row, filled, space, 0, points, patch, r, t, margin, space.ints, False)
    out.counts[row] = filled
    beside = False
    if deepest > 0.0:
        # What goes in through a facet may be deepest below its neighbour, which it does not meet.
        n, shown = direction(space.directions, where), deepest
        for k in range(many):
            if space.ints[k, DIRECTION] == where and dot(n, facet_normal(space.facets, k)) >= ALIKE:
                deepest = max(deepest, space.facets[k, WAY_OUT])
        beside = deepest > shown + DEEPER * size and not is_over_any(space.facets, many, n, lowest_of(packed, n))
    # What lies above the part along its way out, beside it, shows in a wider look.
    more = look == 0.0 and (beside or deepest > LOOK_AGAIN * size)
    return status, deepest, more
