"""Mesh: a triangle mesh as a collider of particles."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array
from thud.errors import InvalidInputError
from thud.pairing.families import FIELD, MESH, as_family
from thud.particles.colliders.collider import Collider
from thud.particles.colliders.frame import frame_of, one_pose, widened
from thud.pose import PoseLike
from thud.shapes.triangle_mesh import TriangleMesh


@dataclass(frozen=True, eq=False, repr=False)
class Mesh(Collider):
    """The triangles of a mesh, each two-sided; open or closed.

    Parameters
    ----------
    mesh : TriangleMesh, or a HeightField, which is made into its `to_mesh()`
    pose : one pose of it in the world; None: its own frame is the world's
    texture_coordinates : (V, 2), one a vertex, or (F, 3, 2), one a corner of each face, from 0 to 1: where impact maps and
        textures have its faces. No two may lie over one another there. None: charts of neighbouring faces, made when needed
    restitution, friction, material : see `Collider`

    The part of an impact is the row of the triangle in `mesh.faces`.
    """

    may_doubt: ClassVar[bool] = False

    mesh: TriangleMesh
    pose: PoseLike = None
    texture_coordinates: npt.ArrayLike | None = field(default=None, kw_only=True)
    _texture: Floats | None = field(init=False, repr=False)
    _rows: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if getattr(self.mesh, "family", None) == FIELD:
            object.__setattr__(self, "mesh", self.mesh.to_mesh())
        as_family(self.mesh, "mesh", MESH)
        object.__setattr__(self, "_texture", self._as_texture())
        object.__setattr__(self, "_rows", one_pose(self.pose))
        self.check_response()

    def _as_texture(self) -> Floats | None:
        """(F, 3, 2) texture coordinates of corners."""
        if self.texture_coordinates is None:
            return None
        given = finite_array(self.texture_coordinates, "texture_coordinates")
        vertices, faces = np.shape(self.mesh.vertices), np.asarray(self.mesh.faces)
        if given.shape not in ((vertices[0], 2), (len(faces), 3, 2)):
            raise InvalidInputError(
                f"texture_coordinates: expected ({vertices[0]}, 2), one a vertex, or ({len(faces)}, 3, 2), one a corner of "
                f"each face, got shape {given.shape}"
            )
        outside = ~((given >= 0.0) & (given <= 1.0)).reshape(len(given), -1).all(axis=1)
        if outside.any():
            raise InvalidInputError(
                f"texture_coordinates: row {int(np.argmax(outside))} is not within 0 and 1; scale them, or leave them out"
            )
        return np.array(given[faces] if given.ndim == 2 else given, dtype=np.float64)

    @cached_property
    def arrays(self) -> tuple[Any, ...]:
        """What `mesh_rows` reads, in its order: tree, boxes, corners, planes, frame, depth of the tree."""
        from thud._core.threads import run_rows
        from thud.particles.crossings.mesh_path import plane_rows, tree_depth

        mesh, tree = self.mesh, self.mesh.tree
        vertices, faces = np.array(mesh.vertices, dtype=np.float64), np.array(mesh.faces, dtype=np.int64)
        skip, first, order = (np.array(x, dtype=np.int64) for x in (tree.skip, tree.first, tree.order))
        planes = np.empty((len(order), 8))
        run_rows(plane_rows, len(order), None, vertices, faces, order, np.array(mesh.origin), planes)
        boxes, corners = np.array(mesh.node_boxes), np.array(mesh.corners)
        frame = frame_of(self._rows, mesh.origin, boxes[0, :3], boxes[0, 3:])
        return skip, first, order, boxes, corners, planes, frame, int(tree_depth(skip))

    def box(self) -> Floats:
        """(6,) lower and upper corner in the world, metres."""
        lower, upper = self.mesh._bounds(self._rows[None])
        return widened(lower[0], upper[0])

    def earliest(
        self, rows: int, place: int, paths: Any, came: Any, last: Any, time: Any, hit: Any, normal: Any, status: Any
    ) -> None:
        """Improve the earliest crossing of each of the first rows (see `flights.py`); `place` is the collider's."""
        from thud.particles.crossings.mesh_path import mesh_rows

        mesh_rows(0, rows, *self.arrays, place, paths, came, last, time, hit, normal)
