"""The ground below a displaced surface: all backward projections by polynomial roots, the sheet by rays against triangles."""

from __future__ import annotations

import numpy as np

import thud
from tests.oracles.projection import cubic, quadrilateral_solutions
from thud.terrain import DisplacedSurface


def projections(surface: DisplacedSurface, points: np.ndarray) -> tuple[np.ndarray, ...]:
    """(point, primitive, u, v, length) of every backward projection in a primitive, for points between its planes."""
    planes, boxes = surface._bounded
    heights = points @ planes[:, :3].T - planes[:, 3]
    between = (heights >= planes[:, 4]) & (heights <= planes[:, 5])
    between &= ((points[:, None] >= boxes[:, :3]) & (points[:, None] <= boxes[:, 3:])).all(axis=2)
    rows: list[tuple[int, int, float, float, float]] = []
    for i, k in zip(*np.nonzero(between)):
        vertices = surface.primitives[k][surface.primitives[k] >= 0]
        p, n = surface.positions[vertices], surface.directions[vertices]
        low, high = planes[k, 6], planes[k, 7]
        if len(vertices) == 4:
            rows += [(i, k, *found) for found in quadrilateral_solutions(points[i], p, n, low, high, grid=4)]
            continue
        coefficients = cubic(points[i], p, n)
        coefficients[np.abs(coefficients) < 1e-13 * np.abs(coefficients).max()] = 0.0
        for root in np.roots(coefficients):
            length = root.real
            if abs(root.imag) > 1e-7 * (1 + abs(root)) or not low <= length <= high:
                continue
            q = p + length * n
            sides = np.array([q[1] - q[0], q[2] - q[0]])
            gram = sides @ sides.T
            u, v = np.linalg.solve(gram, sides @ (points[i] - q[0]))
            # Beyond the place where directions cross, the primitive shows its back: there is neither above nor below.
            if u >= 0 and v >= 0 and u + v <= 1 and np.cross(*sides) @ planes[k, :3] > 0:
                rows.append((i, k, u, v, length))
    table = np.array(rows).reshape(-1, 5)
    return table[:, 0].astype(int), table[:, 1].astype(int), table[:, 2], table[:, 3], table[:, 4]


def depths_below(surface: DisplacedSurface, sheet: thud.TriangleMesh, points: np.ndarray) -> np.ndarray:
    """How many metres each point is below the surface along its direction, the most over all primitives; negative above; NaN
    where it is over none. `sheet`: the surface, finely tessellated."""
    deep = np.full(len(points), np.nan)
    i, k, u, v, length = projections(surface, points)
    if len(i) == 0:
        return deep
    base = surface.forward(k, u, v)
    size = np.linalg.norm(base.direction, axis=1)
    # Of all crossings of the line with the sheet that which is nearest to this primitive's own surface.
    gap = np.full(len(i), np.inf)
    top = np.full(len(i), np.nan)
    for sign in (1.0, -1.0):
        hits = thud.raycast_all(sheet, base.point, sign * base.direction)
        for row, distance in zip(hits.row, hits.distance):
            if distance < gap[row]:
                gap[row], top[row] = distance, base.length[row] + sign * distance / size[row]
    # At the rim the line may pass beside the sheet, by the second order of the directions' change: its own length stands.
    top = np.where(np.isnan(top), base.length, top)
    limit = np.inf if surface.thickness is None else surface.thickness
    below = np.where(top - length <= limit, (top - length) * size, np.nan)
    for row, value in zip(i, below):
        if not np.isnan(value):
            deep[row] = np.fmax(deep[row], value)
    return deep
