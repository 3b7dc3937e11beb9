"""Height field: a regular grid of heights, solid below."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, number_array, read_only, writable
from thud.constants import LARGEST_SIZE, LEAST_SIZE, MESH_COORDINATE
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError, UnsupportedQueryError
from thud.gates import as_size, as_vector, finite_array
from thud.shapes.shape import Part, Shape, frozen
from thud.shapes.tolerances import FIELD_BALL
from thud.shapes.triangle_mesh import TriangleMesh

if TYPE_CHECKING:
    from thud.bvh.height_tree import HeightGrid

#: Types that heights keep; what else fits into one of these exactly is made that.
_KEPT = {np.dtype(kind): np.dtype(kind) for kind in (np.float64, np.float32, np.int16)}
_MADE = {
    np.dtype(np.float16): np.dtype(np.float32),
    np.dtype(np.int8): np.dtype(np.int16),
    np.dtype(np.uint8): np.dtype(np.int16),
}

#: Most samples along a side: places in the tree are packed into one number.
MOST_SIDE = 2**28

#: Samples that are made into float64 at a time where all of them are summed up.
_BLOCK_SAMPLES = 2**18


@dataclass(frozen=True, eq=False)
class HeightField(Shape):
    """Ground over a regular grid: two triangles a cell, solid below.

    Sample [j, i] is the point origin + (i spacing_x, j spacing_y, scale heights[j, i]). Each cell is cut by the diagonal from
    its sample [j, i] to [j + 1, i + 1]: triangle 2 (j columns + i) is the one towards +x, the next number the one towards +y,
    both counter-clockwise seen from above; `columns` is the number of cells along x. A triangle with a hole for a corner is
    not there.

    The ground is all that lies below the triangles: without end, or down to the same triangles moved down by `thickness`. At
    the border and at holes it ends in upright walls.

    Parameters
    ----------
    heights : (H, W) indexed [y, x], at least 2 a side; z up. float64, float32 and int16 are kept as they are; float16 becomes
        float32, int8 and uint8 int16, everything else float64. NaN is a hole,
        and so is a masked entry of floats
    spacing : metres between samples; one number, or two along x and y
    origin : (3,) metres; sample [0, 0] lies at this x and y, height 0 at this z
    thickness : metres, straight down; None: without end. Such ground is static: it has neither volume nor mass
    scale : metres a unit of the heights, positive
    hole : a whole number that stands for a hole; for int16 heights only
    """

    family: ClassVar[str] = "field"

    heights: npt.ArrayLike
    spacing: npt.ArrayLike
    origin: npt.ArrayLike = (0.0, 0.0, 0.0)
    thickness: float | None = None
    scale: float = 1.0
    hole: int | None = None

    def __post_init__(self) -> None:
        heights = _as_heights(self.heights)
        spacing = finite_array(self.spacing, "spacing")
        if spacing.shape not in ((), (1,), (2,)) or (spacing <= 0.0).any():
            raise InvalidInputError(
                f"spacing: expected positive metres between samples, one number or two, got {self.spacing!r}"
            )
        spacing = np.broadcast_to(spacing, (2,))
        for value in spacing.tolist():
            as_size(value, "spacing")
        scale = finite_array(self.scale, "scale")
        if scale.ndim != 0 or not LEAST_SIZE <= scale <= LARGEST_SIZE:
            raise InvalidInputError(f"scale: expected a positive number, metres a unit of the heights, got {self.scale!r}")
        object.__setattr__(self, "heights", heights)
        object.__setattr__(self, "spacing", frozen(spacing))
        object.__setattr__(self, "origin", frozen(as_vector(self.origin, "origin")))
        object.__setattr__(self, "scale", float(scale))
        if self.thickness is not None:
            object.__setattr__(self, "thickness", as_size(self.thickness, "thickness"))
        object.__setattr__(self, "hole", _as_hole(self.hole, heights.dtype))
        self._check()

    def __repr__(self) -> str:
        rows, columns = self._heights.shape
        below = "without end" if self.thickness is None else f"{self.thickness:g} m thick"
        return f"HeightField({rows} x {columns} {self._heights.dtype}, {below})"

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        names = self.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in names}

    @property
    def _heights(self) -> npt.NDArray[Any]:
        return self.heights  # type: ignore[return-value]

    def _check(self) -> None:
        """Named error unless there is ground, within the limits; makes the tree."""
        from thud.bvh.height_tree import BOTTOM, TOP, count_triangles

        grid = self.grid
        low, high = float(grid.numbers[BOTTOM]), float(grid.numbers[TOP])
        if not low <= high or not count_triangles(grid, 1):
            raise InvalidShapeError("heights: no triangle is there; expected three samples of a cell that are no holes")
        if not math.isfinite(low) or not math.isfinite(high):
            j, i = np.argwhere(np.isinf(self._heights))[0].tolist()
            raise InvalidInputError(f"heights: row {j}, column {i} is not finite; expected numbers, or NaN for a hole")
        # The far corner, the highest and the lowest point.
        size = np.array([grid.columns, grid.rows]) * np.asarray(self.spacing)
        ends = np.abs(grid.origin) + [*size, max(abs(low), abs(high))]
        far = max(*ends.tolist(), self.thickness or 0.0)
        if far > MESH_COORDINATE:
            raise InvalidShapeError(
                f"heights: the field reaches to {far:g} m; the limit of meshes and fields is {MESH_COORDINATE:g}"
            )

    @cached_property
    def grid(self) -> HeightGrid:
        """Heights and their tree as kernels read them."""
        from thud.bvh import height_tree as tree

        heights = writable(self._heights)
        rows, columns = heights.shape[0] - 1, heights.shape[1] - 1
        levels = tree.tree_levels(rows, columns)
        hole = int(tree.NO_HOLE) if self.hole is None else self.hole
        nodes = tree.build_nodes(heights, hole, levels)
        low, high = (self.scale * float(value) for value in nodes[-1])
        middle = 0.5 * (low + high) if math.isfinite(low) and math.isfinite(high) and low <= high else 0.0
        kinds = (np.float64, np.float32, np.int16)
        kind = [np.dtype(one) for one in kinds].index(heights.dtype)
        samples: list[Any] = [np.empty((0, 0), one) for one in kinds]
        ranges: list[Any] = [np.empty((0, 2), one) for one in kinds]
        samples[kind], ranges[kind] = heights, nodes
        depth = math.inf if self.thickness is None else self.thickness
        x, y = np.asarray(self.spacing).tolist()
        numbers = np.array([x, y, self.scale, -middle, depth, float(hole), high - middle, low - middle])
        origin = np.asarray(self.origin) + [0.0, 0.0, middle]
        return tree.HeightGrid(*[kind, *samples, *ranges, levels, rows, columns, numbers, origin])

    @cached_property
    def has_holes(self) -> bool:
        """Whether any triangle is not there."""
        from thud.bvh.height_tree import count_triangles

        if self._heights.dtype == np.int16 and self.hole is None:
            return False
        every = 2 * self.grid.rows * self.grid.columns
        return bool(count_triangles(self.grid, every) < every)

    @property
    def nbytes(self) -> int:
        """Bytes of the heights and of the tree over them."""
        grid = self.grid
        nodes = (grid.nodes64, grid.nodes32, grid.nodes16)
        return self._heights.nbytes + sum(array.nbytes for array in nodes) + grid.levels.nbytes

    @property
    def is_ground(self) -> bool:  # type: ignore[override]
        """Whether the ground is without end, and so fixed to the world."""
        return self.thickness is None

    def parts(self) -> list[Part]:
        """A field is not made of a few convex parts."""
        raise UnsupportedQueryError("a HeightField has no list of convex parts; its to_mesh() is a mesh")

    def extremes(self, directions: Floats) -> tuple[Floats, Floats]:
        """The vertex of the triangles lowest along each direction, in the shape's frame: (n . x, (N, 3) vertices)."""
        from thud._core.threads import run_rows
        from thud.bvh.height_tree import lowest_rows

        value, vertex = np.empty(len(directions)), np.empty((len(directions), 3))
        along = np.ascontiguousarray(directions, dtype=np.float64)
        run_rows(lowest_rows, len(directions), None, self.grid, along, value, vertex, rows_per_chunk=8)
        vertex += self.grid.origin
        return np.einsum("ni,ni->n", along, vertex), vertex

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        turn = rows[:, :9].reshape(-1, 3, 3)
        # A world coordinate is a row of the rotation times the point.
        least = self.extremes(turn.reshape(-1, 3))[0].reshape(-1, 3) + rows[:, 9:]
        most = rows[:, 9:] - self.extremes(-turn.reshape(-1, 3))[0].reshape(-1, 3)
        up = turn[:, :, 2]
        depth = math.inf if self.thickness is None else self.thickness
        down = np.where(up == 0.0, 0.0, depth) * np.where(up == 0.0, 0.0, -up)
        return least + np.minimum(down, 0.0), most + np.maximum(down, 0.0)

    @cached_property
    def top_ball(self) -> tuple[Floats, float]:
        """Centre (3,) in the shape's frame and radius of a ball that holds the triangles, metres."""
        along = np.concatenate([np.eye(3), -np.eye(3)])
        values = self.extremes(along)[0]
        lower, upper = values[:3], -values[3:]
        return 0.5 * (lower + upper), 0.5 * float(np.linalg.norm(upper - lower)) * (1.0 + FIELD_BALL)

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the middle of the box; inf without end."""
        center, radius = self.top_ball
        if self.thickness is None:
            return center.copy(), math.inf
        return center - [0.0, 0.0, 0.5 * self.thickness], radius + 0.5 * self.thickness

    # Volume, mass ----------------------------------------------------------------------------------------------------

    def _triangles(self) -> Iterator[Floats]:
        """(K, 3, 3) corners of the triangles that are there in the grid's frame, some rows of cells at a time."""
        step = max(1, _BLOCK_SAMPLES // self._heights.shape[1])
        x, y = np.asarray(self.spacing).tolist()
        for start in range(0, self.grid.rows, step):
            points = self._points(start, min(start + step, self.grid.rows) + 1, x, y)
            a, b, c, d = points[:-1, :-1], points[:-1, 1:], points[1:, :-1], points[1:, 1:]
            corners = np.stack([np.stack([a, b, d], axis=2), np.stack([a, d, c], axis=2)], axis=2).reshape(-1, 3, 3)
            yield corners[~np.isnan(corners[:, :, 2]).any(axis=1)]

    def _points(self, start: int, stop: int, x: float, y: float) -> Floats:
        """(rows, W, 3) samples of rows start .. stop in the grid's frame."""
        raw = self._heights[start:stop]
        points = np.empty((*raw.shape, 3))
        points[..., 0], points[..., 1] = np.arange(raw.shape[1]) * x, (np.arange(start, stop) * y)[:, None]
        points[..., 2] = self.scale * raw.astype(np.float64) - self.grid.origin[2] + self.origin[2]  # type: ignore[index]
        if self.hole is not None:
            points[raw == self.hole, 2] = np.nan
        return points

    @cached_property
    def _moments(self) -> tuple[float, Floats, Floats]:
        """Volume, centroid, and moments of inertia of unit mass: the ground under a triangle is a prism of it."""
        if self.thickness is None:
            raise UnboundedShapeError(
                "a HeightField without a thickness is static ground without end: no volume, centroid or mass"
            )
        depth = self.thickness
        count, first, second = 0, np.zeros(3), np.zeros((3, 3))
        middle = 0.5 * np.array([self.grid.columns, self.grid.rows, 0.0]) * [*np.asarray(self.spacing), 0.0]
        for corners in self._triangles():
            p = corners - middle
            total = p.sum(axis=1)
            count += len(p)
            first += total.sum(axis=0) / 3.0
            # The mean of two linear functions over a triangle: (sum of products + product of sums) / 12.
            second += (np.einsum("tki,tkj->ij", p, p) + np.einsum("ti,tj->ij", total, total)) / 12.0
        mean, square = first / count, second / count
        # Straight down by 0 to depth, evenly.
        down = np.array([0.0, 0.0, 0.5 * depth])
        square -= np.outer(mean, down) + np.outer(down, mean)
        square[2, 2] += depth * depth / 3.0
        mean = mean - down
        square -= np.outer(mean, mean)
        area = 0.5 * count * float(np.prod(np.asarray(self.spacing)))
        return area * depth, mean + middle + self.grid.origin, np.eye(3) * np.trace(square) - square

    @property
    def volume(self) -> float:
        """Of ground with a thickness; infinite without."""
        return math.inf if self.thickness is None else self._moments[0]

    @property
    def centroid(self) -> Floats:
        """Of ground with a thickness."""
        return self._moments[1].copy()

    def inertia(self, mass: float = 1.0) -> Floats:
        """Of ground with a thickness, of uniform density."""
        return self._moments[2] * mass

    # Triangles -------------------------------------------------------------------------------------------------------

    def surface(self) -> tuple[Floats, Ints, Ints]:
        """The triangles that are there: vertices (V, 3) in the shape's frame, faces (T, 3), and the number of each."""
        rows, columns = self._heights.shape
        x, y = np.asarray(self.spacing).tolist()
        points = self._points(0, rows, x, y).reshape(-1, 3) + self.grid.origin
        j, i = np.divmod(np.arange(self.grid.rows * self.grid.columns), self.grid.columns)
        a = j * columns + i
        faces = np.stack([a, a + 1, a + columns + 1, a, a + columns + 1, a + columns], axis=1).reshape(-1, 3)
        numbers = np.flatnonzero(~np.isnan(points[faces, 2]).any(axis=1))
        used, packed = np.unique(faces[numbers], return_inverse=True)
        return points[used], packed.reshape(-1, 3).astype(np.int64), numbers

    def to_mesh(self, resolution: int = 32) -> TriangleMesh:
        """The ground as a mesh: with a thickness closed, the triangles first, then the underside, then the walls; without end
        the triangles alone, which is an open mesh."""
        vertices, faces, _ = self.surface()
        if self.thickness is None:
            return TriangleMesh(vertices, faces)
        count = len(vertices)
        # Edges that one triangle alone has are where the walls stand.
        edges = np.concatenate([faces[:, [0, 1]], faces[:, [1, 2]], faces[:, [2, 0]]])
        code = np.minimum(edges[:, 0], edges[:, 1]) * count + np.maximum(edges[:, 0], edges[:, 1])
        _, first, times = np.unique(code, return_index=True, return_counts=True)
        tail, head = edges[first[times == 1]].T
        walls = [np.stack([tail, tail + count, head + count], axis=1), np.stack([tail, head + count, head], axis=1)]
        below = vertices - [0.0, 0.0, self.thickness]
        return TriangleMesh(np.concatenate([vertices, below]), np.concatenate([faces, faces[:, ::-1] + count, *walls]))

    @cached_property
    def component_points(self) -> Floats:
        """(C, 3) a vertex of each connected part of the ground, in the shape's frame."""
        from thud.shapes.mesh_connectivity import connected_parts

        if not self.has_holes:
            return np.asarray(self.origin)[None] + [0.0, 0.0, self.scale * float(self._heights[0, 0])]
        vertices, faces, _ = self.surface()
        _, chosen = np.unique(connected_parts(faces), return_index=True)
        return vertices[faces[np.sort(chosen), 0]]


def _as_heights(heights: npt.ArrayLike) -> npt.NDArray[Any]:
    if isinstance(heights, np.ma.MaskedArray) and np.ma.is_masked(heights):
        if heights.dtype.kind != "f":
            dtype = heights.dtype
            raise InvalidInputError(
                f"heights: masked {dtype} have no NaN for a hole; use .astype(float), or fill and name `hole`"
            )
        heights = heights.filled(np.nan)
    array = number_array(heights, "heights")
    if array.ndim != 2 or min(array.shape) < 2 or max(array.shape) > MOST_SIDE:
        raise InvalidInputError(
            f"heights: expected an array (H, W), indexed [y, x], of 2 to {MOST_SIDE} a side, got shape {array.shape}"
        )
    kind: Any = _KEPT.get(array.dtype, _MADE.get(array.dtype, np.dtype(np.float64)))
    return read_only(np.array(array, dtype=kind, order="C"))


def _as_hole(hole: Any, kind: np.dtype[Any]) -> int | None:
    if hole is None:
        return None
    if kind != np.dtype(np.int16):
        raise InvalidInputError(f"hole: heights are {kind}, whose holes are NaN; expected None")
    if isinstance(hole, bool) or not isinstance(hole, (int, np.integer)) or not -(2**15) <= hole < 2**15:
        raise InvalidInputError(f"hole: expected a whole number that an int16 can be, got {hole!r}")
    return int(hole)
