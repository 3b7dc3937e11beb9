"""The shapes of a world: each kept once, packed as they come, for the kernels.

A convex shape (or a compound of such) is packed as it is. One with a mesh in it, or a displaced surface, is packed as its
cover, a convex hull: that gives its box, and the mid phase; the narrow phase takes the shape itself. The covers of meshes
that change at every frame are boxes, which cost next to nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.pairing.families import PACKED, as_shape
from thud.pairing.plans import resolve, shape_plan
from thud.pairing.turning_reach import turning_reach
from thud.shapes import Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Sphere
from thud.shapes.inner_radius import inner_radius
from thud.shapes.packed import Packed, joined, pack_now
from thud.shapes.shape import Shape
from thud.world.plane_trees import PlaneSet

#: Shapes that a few numbers describe.
_SIMPLE = frozenset({Box, Capsule, Cone, Cylinder, Ellipsoid, HalfSpace, Sphere})


class ShapeSet:
    """Shapes by index. An index stays until its shape's last user is gone; then it may become another's."""

    def __init__(self, covers: str = "auto") -> None:
        self._covers = covers
        self.shapes: list[Shape | None] = []
        self.users: list[int] = []
        self._number: dict[Hashable, int] = {}
        self._keys: list[Hashable] = []
        self._free: list[int] = []
        self._packed: Packed | None = None
        self._rows = np.empty(0, np.int64)
        # Those not packed yet, in the order they came; a dict, so that one is found and taken out at once.
        self._pending: dict[int, None] = {}
        self._garbage = 0
        self.planes = PlaneSet()
        """Support planes of the meshes among them, for the mid phase "spm"."""
        self.is_covered = np.empty(0, np.bool_)
        """(S,) whether kernels have a cover of the shape, not the shape itself: of meshes and displaced surfaces."""
        self.is_ground = np.empty(0, np.bool_)
        self._inner = np.empty(0)
        self._turning = np.empty(0)
        """(S,) whether the shape is, or holds, a displaced surface."""

    def add(self, shape: Shape, users: int = 1) -> int:
        """Index of the shape; equal simple shapes share one."""
        key = shape_key(shape)
        found = self._number.get(key)
        if found is not None:
            self.users[found] += users
            return found
        if self._free:
            index = self._free.pop()
        else:
            index = len(self.shapes)
            self._extend(index + 1)
        self._put(index, shape, key, users)
        return index

    def add_many(self, shapes: Sequence[Shape], count: int) -> Ints:
        """(count,) indices of so many shapes, or of one so many times."""
        if len(shapes) == 1:
            return np.full(count, self.add(shapes[0], count))
        # One object is looked up once. All are looked at before the first is put in.
        different = {id(shape): shape for shape in shapes}
        keys = {number: shape_key(shape) for number, shape in different.items()}
        users: Counter[Hashable] = Counter(keys[id(shape)] for shape in shapes)
        fresh = {key: different[number] for number, key in reversed(keys.items()) if key not in self._number}
        fresh = dict(reversed(fresh.items()))
        for key, more in users.items():
            if key in self._number:
                self.users[self._number[key]] += more
        reused = [self._free.pop() for _ in range(min(len(self._free), len(fresh)))]
        first = len(self.shapes)
        self._extend(first + len(fresh) - len(reused))
        for index, (key, shape) in zip([*reused, *range(first, len(self.shapes))], fresh.items(), strict=True):
            self._put(index, shape, key, users[key])
        number_of = self._number
        return np.fromiter((number_of[keys[id(shape)]] for shape in shapes), np.int64, len(shapes))

    def _extend(self, count: int) -> None:
        """Room for indices below `count`, in no use yet."""
        more = count - len(self.shapes)
        self.shapes += [None] * more
        self.users += [0] * more
        self._keys += [None] * more
        if count > len(self.is_covered):
            room = max(16, count)
            self.is_covered = np.concatenate([self.is_covered, np.zeros(room, np.bool_)])
            self.is_ground = np.concatenate([self.is_ground, np.zeros(room, np.bool_)])
            self._inner = np.concatenate([self._inner, np.full(room, np.nan)])
            self._turning = np.concatenate([self._turning, np.full(room, np.nan)])
            self._rows = np.concatenate([self._rows, np.full(room, -1)])

    def _put(self, index: int, shape: Shape, key: Hashable, users: int) -> None:
        self.shapes[index], self.users[index], self._keys[index] = shape, users, key
        self._number[key] = index
        self._inner[index] = self._turning[index] = np.nan
        if shape.family not in PACKED:
            self.is_covered[index], self.is_ground[index] = True, shape.is_ground
        self._pending[index] = None

    def inner_radii(self) -> Floats:
        """(S,) how thick the shapes are, by their indices (`inner_radius`)."""
        return self._measured(self._inner, inner_radius)

    def turning_reaches(self) -> Floats:
        """(S,) how far from their origins the shapes have points that turning moves, by their indices (`turning_reach`)."""
        return self._measured(self._turning, turning_reach)

    def _measured(self, known: Floats, measure: Callable[[Shape], float]) -> Floats:
        for index in np.flatnonzero(np.isnan(known)).tolist():
            shape = self.shapes[index] if index < len(self.shapes) else None
            if shape is not None:
                known[index] = measure(shape)
        return known

    def restore(self, shapes: Sequence[Shape | None], users: Sequence[int], free: Sequence[int]) -> None:
        """Into an empty set, the shapes of another by their indices; `free` are the indices of None, the next one last."""
        self._extend(len(shapes))
        for index, shape in enumerate(shapes):
            if shape is None:
                continue
            key = shape_key(shape)
            if key in self._number:
                raise InvalidInputError(f"shapes: {index} and {self._number[key]} are equal; expected each once")
            self._put(index, shape, key, users[index])
        self._free = list(free)

    def free_indices(self) -> list[int]:
        """Indices without a shape, the next one to be given out last."""
        return list(self._free)

    def release(self, index: int, users: int = 1) -> None:
        """So many users less."""
        self.users[index] -= users
        if self.users[index] == 0:
            del self._number[self._keys[index]]
            self.is_covered[index] = self.is_ground[index] = False
            self.shapes[index] = self._keys[index] = None
            self._free.append(index)
            if index in self._pending:
                del self._pending[index]
            else:
                self._garbage += 1

    def shape(self, index: int) -> Shape:
        """The shape of an index in use."""
        shape = self.shapes[index]
        assert shape is not None
        return shape

    def _cover(self, shape: Shape) -> Shape:
        """A convex shape that holds the shape."""
        entry = shape_plan("cover", shape.family).entry
        assert entry is not None
        return resolve(entry.function)(shape, self._covers)

    def packed(self) -> tuple[Packed | None, Ints]:
        """(arrays of all shapes, row in them of each index); None where there is no shape."""
        if self._garbage > 64 and 2 * self._garbage > len(self.shapes) - len(self._free):
            # More is left of shapes that are gone than of those that are here.
            self._packed, self._garbage = None, 0
            self._pending = {k: None for k, shape in enumerate(self.shapes) if shape is not None}
        if self._pending:
            covers = [self._cover(self.shape(k)) if self.is_covered[k] else self.shape(k) for k in self._pending]
            fresh = pack_now(tuple(covers))
            first = 0 if self._packed is None else len(self._packed.shape_ints)
            self._packed = fresh if self._packed is None else joined(self._packed, fresh)
            self._rows[list(self._pending)] = first + np.arange(len(covers))
            self._pending = {}
        return self._packed, self._rows


def shape_key(shape: Shape) -> Hashable:
    """What makes two shapes the same: the kind and numbers of a simple convex shape, else the object itself."""
    if type(shape) is Box:
        return shape.half_extents.tobytes()  # type: ignore[union-attr]
    if type(shape) in _SIMPLE:
        values = (getattr(shape, name) for name in shape.__dataclass_fields__)  # type: ignore[attr-defined]
        return type(shape), *(tuple(value.tolist()) if isinstance(value, np.ndarray) else value for value in values)
    return id(as_shape(shape, "shape"))
