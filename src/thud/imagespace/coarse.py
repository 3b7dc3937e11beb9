"""Level of detail (5.2.2): coarse models that reject pairs before the meshes themselves are looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.imagespace.tolerances import COARSE_ROOM
from thud.shapes.triangle_mesh import TriangleMesh

#: Numbers of planes that a coarse model may have.
COARSE_PLANES = (6, 14, 18, 26)


@lru_cache(maxsize=4)
def _normals(planes: int) -> Floats:
    """(planes, 3) unit normals: of a cube's faces, with its corners (14), its edges (18), or both (26)."""
    grid = np.array([[x, y, z] for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1)], float)
    size = np.abs(grid).sum(axis=1)
    kinds = {6: (1,), 14: (1, 3), 18: (1, 2), 26: (1, 2, 3)}[planes]
    chosen = grid[np.isin(size, kinds)]
    return chosen / np.linalg.norm(chosen, axis=1, keepdims=True)


def coarse_model(mesh: TriangleMesh, planes: int = 14) -> TriangleMesh:
    """A closed convex mesh of few triangles that holds a mesh: what planes around it in some directions leave (a k-DOP).

    Parameters
    ----------
    mesh : any mesh
    planes : 6 (a box, 12 triangles), 14 (with the corners' directions), 18 (with the edges') or 26 (with both)

    Returns
    -------
    TriangleMesh : in the mesh's frame
    """
    from scipy.spatial import HalfspaceIntersection

    from thud.shapes.convex_hull import ConvexHull

    if isinstance(planes, bool) or planes not in COARSE_PLANES:
        raise InvalidInputError(f"planes: expected one of {', '.join(map(str, COARSE_PLANES))}, got {planes!r}")
    points = np.asarray(mesh.vertices)[mesh.topology.used]
    middle = 0.5 * (points.min(axis=0) + points.max(axis=0))
    size = float(np.ptp(points, axis=0).max())
    normals = _normals(int(planes))
    # Wider by a little, so that rounding leaves nothing outside, and a flat mesh has an inside.
    reach = ((points - middle) @ normals.T).max(axis=0) + COARSE_ROOM * size
    # In units of the size, about a point that is inside all planes.
    corners = HalfspaceIntersection(np.column_stack([normals, -reach / size]), np.zeros(3)).intersections
    hull = ConvexHull(corners * size + middle).topology
    return TriangleMesh(hull.vertices, hull.triangles)


def coarse_levels(coarse: Any, meshes: list[TriangleMesh]) -> list[list[TriangleMesh]]:
    """Coarse models by level, the coarsest first, one a mesh in each."""
    if coarse is None:
        return []
    if isinstance(coarse, (int, np.integer)):
        if isinstance(coarse, bool) or coarse not in COARSE_PLANES:
            raise InvalidInputError(
                f"coarse: expected models, or one of {', '.join(map(str, COARSE_PLANES))} planes, got {coarse!r}"
            )
        made: dict[int, TriangleMesh] = {}
        for mesh in meshes:
            made.setdefault(id(mesh), coarse_model(mesh, int(coarse)) if id(mesh) not in made else mesh)
        return [[made[id(mesh)] for mesh in meshes]]
    levels: list[Sequence[TriangleMesh]] = list(coarse)
    if all(isinstance(level, TriangleMesh) for level in levels):
        levels = [levels]  # type: ignore[list-item]
    for number, level in enumerate(levels):
        if not isinstance(level, Sequence) or len(level) != len(meshes):
            got = len(level) if isinstance(level, Sequence) else type(level).__name__
            raise InvalidInputError(f"coarse: level {number}: expected one a mesh ({len(meshes)}), got {got}")
    return [list(level) for level in levels]
