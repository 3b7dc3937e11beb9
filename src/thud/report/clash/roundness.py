"""Whether a part is convex, and how thick it is."""

from __future__ import annotations

import numpy as np

from thud.errors import ThudError
from thud.report.clash.tolerances import HULL_LEAVES_OUT, TOUCHING
from thud.shapes.triangle_mesh import TriangleMesh


def is_convex(mesh: TriangleMesh) -> bool:
    """Whether a closed mesh is its own convex hull, but for roundings of its corners.

    Every corner is in the hull's surface, it has no hole through it (by Euler's formula), and no more volume is missing than
    corners that are off could cut out.
    """
    if not mesh.is_closed:
        return False
    faces = mesh.welded
    edges = np.unique(np.sort(np.concatenate([faces[:, :2], faces[:, 1:], faces[:, ::2]]), axis=1), axis=0)
    if len(np.unique(faces)) - len(edges) + len(faces) != 2:
        return False
    try:
        hull = mesh.hull
        if mesh.volume < (1.0 - HULL_LEAVES_OUT) * hull.volume:
            return False
    except ThudError:
        # Flat.
        return False
    corners = hull.topology.vertices[hull.topology.triangles]
    across = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    size = np.linalg.norm(across, axis=1)
    normals = across[size > 0.0] / size[size > 0.0, None]
    reach = np.einsum("ij,ij->i", normals, corners[size > 0.0, 0])
    points = np.asarray(mesh.vertices)[np.unique(faces)]
    off = TOUCHING * float(np.linalg.norm(np.ptp(points, axis=0)))
    # Corners of the hull lie in it; the others are few, or many that lie in planes or on a fine surface.
    inner = points[~_rows_in(points, hull.topology.vertices)]
    rows = max(1, 2**22 // max(len(normals), 1))
    return all((_gap(inner[k : k + rows], normals, reach) <= off).all() for k in range(0, len(inner), rows))


def thickness(mesh: TriangleMesh) -> float:
    """Twice the volume by the area, metres: that of a sheet, a third of a cube's side; 10 % of the size for an open mesh."""
    points = np.asarray(mesh.vertices)[np.asarray(mesh.faces)]
    if not mesh.is_closed:
        return 0.1 * float(np.linalg.norm(np.ptp(points.reshape(-1, 3), axis=0)))
    area = 0.5 * float(np.linalg.norm(np.cross(points[:, 1] - points[:, 0], points[:, 2] - points[:, 0]), axis=1).sum())
    return 2.0 * abs(mesh.volume) / area if area > 0.0 else 0.0


def _gap(points: np.ndarray, normals: np.ndarray, reach: np.ndarray) -> np.ndarray:
    """(N,) how far below the nearest of the planes each point is."""
    return np.asarray((reach - points @ normals.T).min(axis=1))


def _rows_in(points: np.ndarray, others: np.ndarray) -> np.ndarray:
    """(N,) whether each point is one of the others, bit by bit."""
    there = {row.tobytes() for row in np.ascontiguousarray(others)}
    return np.array([row.tobytes() in there for row in np.ascontiguousarray(points)], dtype=bool)
