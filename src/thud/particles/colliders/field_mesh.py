"""Closed meshes of implicit surfaces, by surface nets: for image space, which draws meshes, and for drawing."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError, NoSurfaceError
from thud.shapes.triangle_mesh import TriangleMesh

#: Most cells (a count) along the longest side: 512 would be 135 million nodes.
_MOST_CELLS = 384


def field_mesh(inward: Callable[[Floats], Floats], box: Floats, resolution: int) -> TriangleMesh:
    """The surface inward(p) = 0, negative within, in a box that it does not reach, as a closed mesh.

    Cells are 1 / resolution of the box's longest side. A vertex is the mean of where its cell's edges cross the surface, off it
    by about cell^2 / (4 radius of curvature). Sheets in one cell stay apart; what is thinner than a cell may be missing.
    """
    from thud.terrain.making.surface_nets import surface_nets

    if isinstance(resolution, bool) or not isinstance(resolution, (int, np.integer)) or not 4 <= resolution <= _MOST_CELLS:
        raise InvalidInputError(f"resolution: expected a whole number of cells from 4 to {_MOST_CELLS}, got {resolution!r}")
    lower, upper = box[:3], box[3:]
    cell = float((upper - lower).max()) / int(resolution)
    # The net ends a cell before the border: two on each side are outside of all.
    shape = np.ceil((upper - lower) / cell).astype(np.int64) + 4
    try:
        net = surface_nets(inward, lower - 2.0 * cell, shape, cell, np.zeros(3, np.int64))
    except NoSurfaceError:
        raise NoSurfaceError(
            "resolution: the field changes its sign in no cell; there is no surface (see `threshold`), or it is thinner"
        ) from None
    a, b, c, d = (net.positions[net.quads[:, k]] for k in range(4))
    # Along the shorter diagonal.
    first = ((a - c) ** 2).sum(axis=1) <= ((b - d) ** 2).sum(axis=1)
    q = np.where(first[:, None], net.quads, np.roll(net.quads, -1, axis=1))
    return TriangleMesh(net.positions, np.concatenate([q[:, [0, 1, 2]], q[:, [0, 2, 3]]]))
