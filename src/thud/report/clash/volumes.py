"""Volume of what two closed meshes have in common, by manifold3d."""

from __future__ import annotations

from threading import Lock
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.report.clash.meeting import Body
from thud.report.clash.tolerances import LEAST_VOLUME, MOST_CUT
from thud.shapes.triangle_mesh import TriangleMesh


class Cutter:
    """Meshes as manifold3d has them, each made once."""

    def __init__(self) -> None:
        try:
            import manifold3d
        except ImportError:
            self._library: Any = None
        else:
            self._library = manifold3d
        self._made: dict[int, Any] = {}
        self._lock = Lock()

    @property
    def is_there(self) -> bool:
        """Whether manifold3d is installed."""
        return self._library is not None

    def common_volume(self, a: Body, b: Body) -> float:
        """Cubic metres; NaN where a mesh is no oriented solid, too large, or the package is not there."""
        count = len(np.asarray(a.mesh.faces)) + len(np.asarray(b.mesh.faces))
        if not self.is_there or count > MOST_CUT or not (a.mesh.is_closed and b.mesh.is_closed):
            return np.nan
        one, other = self._solid(a.mesh), self._solid(b.mesh)
        if one is None or other is None:
            return np.nan
        # B in A's frame, so that coordinates stay small wherever the two are.
        turn_a, turn_b = a.row[0, :9].reshape(3, 3), b.row[0, :9].reshape(3, 3)
        matrix = np.empty((3, 4))
        matrix[:, :3] = turn_a.T @ turn_b
        # Each solid is about the middle of its own mesh.
        matrix[:, 3] = turn_a.T @ (b.place(b.mesh.origin) - a.place(a.mesh.origin))
        common = one ^ other.transform(matrix)
        found = float(common.volume())
        return found if found > LEAST_VOLUME * min(one.volume(), other.volume()) else 0.0

    def _solid(self, mesh: TriangleMesh) -> Any:
        with self._lock:
            if id(mesh) not in self._made:
                # The mesh is kept beside, so that its id is not given to another.
                self._made[id(mesh)] = (self._make(mesh), mesh)
            return self._made[id(mesh)][0]

    def _make(self, mesh: TriangleMesh) -> Any:
        library = self._library
        faces = mesh.welded
        vertices: Floats = np.ascontiguousarray(np.asarray(mesh.vertices) - mesh.origin)
        used, rows = np.unique(faces, return_inverse=True)
        rows = rows.reshape(faces.shape)
        # Triangles without an area have two corners in one place, once those are welded.
        rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])]
        corner = vertices[used][rows]
        if float(np.einsum("ni,ni->", corner[:, 0], np.cross(corner[:, 1], corner[:, 2]))) < 0.0:
            rows = rows[:, ::-1]
        given = library.Mesh64(
            vert_properties=np.ascontiguousarray(vertices[used]), tri_verts=np.ascontiguousarray(rows, dtype=np.uint64)
        )
        solid = library.Manifold(given)
        return solid if solid.status() == library.Error.NoError and not solid.is_empty() else None
