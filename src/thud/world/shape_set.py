"""The shapes of a world: each kept once, packed as they come, for the kernels.

A convex shape (or a compound of such) is packed as it is. One with a mesh in it is packed as its cover, a convex hull: that
gives its box, and the mid phase; the narrow phase takes the mesh itself.
"""

from __future__ import annotations

from collections.abc import Hashable

import numpy as np
import numpy.typing as npt

from thud.bounds.support_planes import SupportPlanes, support_planes
from thud.continuous.mesh_depth import cover
from thud.errors import InvalidInputError
from thud.narrowphase.mesh_dispatch import has_mesh
from thud.shapes.compound import Compound
from thud.shapes.packed import Packed, joined, pack_now
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh

Ints = npt.NDArray[np.int64]


class ShapeSet:
    """Shapes by index. An index stays until its shape's last user is gone; then, after the next `tidy`, it may be another's."""

    def __init__(self) -> None:
        self.shapes: list[Shape | None] = []
        self.users: list[int] = []
        self._number: dict[Hashable, int] = {}
        self._free: list[int] = []
        self._packed: Packed | None = None
        self._rows = np.empty(0, np.int64)
        self._pending: list[int] = []
        self._garbage = 0
        self._planes: dict[int, tuple[TriangleMesh, SupportPlanes]] = {}
        self.is_mesh = np.empty(0, np.bool_)
        """(S,) whether the shape has a mesh in it."""

    def add(self, shape: Shape) -> int:
        """Index of the shape; equal simple shapes share one."""
        key = _key(shape)
        found = self._number.get(key)
        if found is not None:
            self.users[found] += 1
            return found
        if self._free:
            index = self._free.pop()
            self.shapes[index], self.users[index] = shape, 1
        else:
            index = len(self.shapes)
            self.shapes.append(shape)
            self.users.append(1)
            if index >= len(self.is_mesh):
                self.is_mesh = np.concatenate([self.is_mesh, np.zeros(max(16, index), np.bool_)])
                self._rows = np.concatenate([self._rows, np.full(max(16, index), -1)])
        self._number[key] = index
        self.is_mesh[index] = has_mesh(shape)
        self._pending.append(index)
        return index

    def release(self, index: int) -> None:
        """One user less."""
        self.users[index] -= 1
        if self.users[index] == 0:
            shape = self.shapes[index]
            assert shape is not None
            del self._number[_key(shape)]
            self._planes.pop(id(shape), None)
            self.shapes[index] = None
            self._free.append(index)
            if index in self._pending:
                self._pending.remove(index)
            else:
                self._garbage += 1

    def shape(self, index: int) -> Shape:
        """The shape of an index in use."""
        shape = self.shapes[index]
        assert shape is not None
        return shape

    def root_planes(self, mesh: TriangleMesh) -> SupportPlanes:
        """A face-based mapping of the root of a mesh's tree, made when it is first asked for."""
        kept = self._planes.get(id(mesh))
        if kept is None or kept[0] is not mesh:
            kept = mesh, support_planes(mesh.tree.skip, mesh.tree.first, mesh.corners, "face", 1, mesh.spm_samples)
            self._planes[id(mesh)] = kept
        return kept[1]

    def packed(self) -> tuple[Packed | None, Ints]:
        """(arrays of all shapes, row in them of each index); None where there is no shape."""
        if self._garbage > 64 and 2 * self._garbage > len(self.shapes) - len(self._free):
            # More is left of shapes that are gone than of those that are here.
            self._packed, self._garbage = None, 0
            self._pending = [k for k, shape in enumerate(self.shapes) if shape is not None]
        if self._pending:
            covers = [self.shape(k) if not self.is_mesh[k] else cover(self.shape(k)) for k in self._pending]
            fresh = pack_now(tuple(covers))
            first = 0 if self._packed is None else len(self._packed.shape_ints)
            self._packed = fresh if self._packed is None else joined(self._packed, fresh)
            self._rows[self._pending] = first + np.arange(len(covers))
            self._pending = []
        return self._packed, self._rows


def _key(shape: Shape) -> Hashable:
    """What makes two shapes the same: the kind and numbers of a simple convex shape, else the object itself."""
    if not isinstance(shape, Shape):
        raise InvalidInputError(f"shape: expected a thud shape, got a {type(shape).__name__}")
    if isinstance(shape, (TriangleMesh, Compound)):
        return id(shape)
    (part,) = shape.parts()
    return (
        id(shape)
        if part.hull is not None and type(shape).__name__ != "Box"
        else (type(shape), part.kind, part.parameters, part.radius)
    )
