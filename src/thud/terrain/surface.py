"""DisplacedSurface: a base mesh, a displacement map, and the surface that the one projects forwards by the other."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints, number_array, read_only
from thud.errors import InvalidInputError, InvalidShapeError, UnsupportedQueryError
from thud.gates import as_directions, as_points, as_positive
from thud.shapes.shape import Part, Shape, box_of_points
from thud.terrain import surface_check as check
from thud.terrain.bounding.tolerances import PLANE_SLACK
from thud.terrain.rim import face_boxes, rim_bits
from thud.terrain.surface_arrays import MATERIAL, QUAD, SIDE, SurfaceArrays
from thud.terrain.tolerances import DETAIL_RATIO

if TYPE_CHECKING:
    from thud.terrain.bounding.maps import BoundingMaps
    from thud.terrain.collision.ray_blocks import RayBlocks
    from thud.terrain.surface_index import IndexBytes, SurfaceIndex


@dataclass(frozen=True)
class Samples:
    """The samples of one quad, indexed [t, s]."""

    position: Floats
    """(m, m, 3) on the base primitives, metres."""
    direction: Floats
    """(m, m, 3) interpolated, not normalised: a length of 1 leads this far."""
    length: Floats
    """(m, m) displacement."""
    point: Floats
    """(m, m, 3) position + length * direction: on the surface."""


@dataclass(frozen=True, eq=False)
class DisplacedSurface(Shape):
    """Terrain with cliffs, overhangs and caves at a few bytes a sample ([Yang] 2.2).

    Triangles (or quadrilaterals) of a coarse base mesh carry at each vertex a projection direction and a place (s, t) in a
    displacement map. Nodes of the map are projected from the base along the interpolated direction, as far as the map says
    times the direction's length; between four neighbouring samples the surface is a bilinear patch. Its upper side, to which
    the directions point, is outside; the ground below it is solid down to the next sheet, and at most to `thickness`.

    Parameters
    ----------
    positions : (V, 3) base vertices, metres
    directions : (V, 3) projection directions; never normalised: their length is the unit of displacement
    coordinates : (V, 2) whole numbers s, t: the sample of the map that belongs to the vertex
    primitives : (P, 3) or (P, 4) vertex rows, counter-clockwise seen from above, in space and in (s, t). A fourth vertex of
        -1 is a triangle; a quadrilateral must be a rectangle along s and t
    quads : (Q, 3) s, t and side of squares of the map; the side is a power of two up to 64. The primitives of a quad tile
        it; none crosses its border. Quads may share borders in the map or lie apart; where they lie in space does not matter
    displacements : (H, W) float32 map, indexed [t, s]
    materials : (P,) which detail map each primitive has; -1 for none
    details : (M, h, w) float32 detail maps, tiled over the map and added to it
    detail_ratio : samples of a detail map to one of the displacement map; a power of two. The whole surface is then sampled as
        densely, so that there is no crack. Details fade out towards edges beyond which the map or the material changes
    thickness : how deep the ground is below the surface, in units of displacement; None: half to all of the longest base edge,
        see `ground_thickness`

    Primitives are put in the order of their quads.
    """

    family: ClassVar[str] = "surface"
    is_ground: ClassVar[bool] = True

    positions: npt.ArrayLike
    directions: npt.ArrayLike
    coordinates: npt.ArrayLike
    primitives: npt.ArrayLike
    quads: npt.ArrayLike
    displacements: npt.ArrayLike
    materials: npt.ArrayLike | None = None
    details: npt.ArrayLike | None = None
    detail_ratio: int = 1
    thickness: float | None = None
    _bare: SurfaceArrays = field(init=False, repr=False)
    """Arrays without planes, tree and bounding maps: enough to sample. The fields above are read-only views of them."""

    def __post_init__(self) -> None:
        positions, directions = as_points(self.positions, "positions", least=1), as_directions(self.directions, "directions")
        coordinates = check.as_whole(self.coordinates, "coordinates", (2,))
        primitives = check.as_whole(self.primitives, "primitives", (3, 4))
        quads = check.as_whole(self.quads, "quads", (3,))
        displacements = check.as_map(self.displacements, "displacements", 2)
        check.check_vertices(positions, directions, coordinates, displacements.shape)
        if primitives.shape[1] == 3:
            primitives = np.column_stack([primitives, np.full(len(primitives), -1)])
        wrong = np.flatnonzero((primitives[:, :3] < 0).any(axis=1) | (primitives >= len(positions)).any(axis=1))
        if len(wrong):
            raise InvalidShapeError(f"primitives: row {wrong[0]} names a vertex outside 0 .. {len(positions) - 1}")
        primitives = np.maximum(primitives, -1)
        check.check_quads(quads, displacements.shape)
        owner = check.quads_of(primitives, coordinates, quads, displacements.shape)
        check.check_primitives(primitives, coordinates, owner, quads)
        check.check_tiling(owner, primitives, coordinates, quads)
        check.check_facing(positions, directions, primitives)
        materials, details = self._check_details(len(primitives))
        if self.thickness is not None:
            object.__setattr__(self, "thickness", as_positive(self.thickness, "thickness"))
        check.check_reach(directions, displacements, details, self.thickness)
        folded = check.folded_primitives(positions, directions, coordinates, primitives, displacements)
        if len(folded):
            raise InvalidShapeError(
                f"directions: those of primitive {folded[0]} cross before they reach the surface, so that it folds over; turn "
                "them apart or make displacements shorter"
            )
        order = np.argsort(owner, kind="stable")
        first = np.searchsorted(owner[order], np.arange(len(quads) + 1))
        self._set(
            SurfaceArrays(
                vertices=np.column_stack([positions, directions]),
                coordinates=coordinates.astype(np.int32),
                primitives=np.column_stack([primitives, owner, materials])[order].astype(np.int32),
                quads=np.column_stack([quads, first[:-1], np.diff(first)]).astype(np.int32),
                displacements=displacements.copy(),
                details=details,
                fade=fade_bits(primitives[order], materials[order]),
                planes=np.zeros((0, 8)),
                node_boxes=np.zeros((0, 6), dtype=np.float32),
                node_ints=np.zeros((0, 2), dtype=np.int32),
                map_ints=np.zeros((0, 3), dtype=np.int64),
                lengths=np.zeros(0, dtype=np.float32),
                codes=np.zeros(0, dtype=np.uint8),
                flat=np.zeros(0, dtype=np.uint8),
                ratio=self.detail_ratio,
                thickness=np.inf,
                rim=np.zeros(0, dtype=np.uint8),
                face_boxes=np.zeros((0, 6), dtype=np.float32),
                fall=np.zeros((0, 2)),
            )
        )

    def _set(self, bare: SurfaceArrays) -> None:
        """The arrays that kernels read, which are held once, and the public fields as views of them."""
        values: dict[str, npt.NDArray[Any]] = {
            "positions": bare.vertices[:, :3],
            "directions": bare.vertices[:, 3:],
            "coordinates": bare.coordinates,
            "primitives": bare.primitives[:, :4],
            "quads": bare.quads[:, :3],
            "displacements": bare.displacements,
            "materials": bare.primitives[:, MATERIAL],
            "details": bare.details,
        }
        for name, value in values.items():
            object.__setattr__(self, name, read_only(value))
        object.__setattr__(self, "_bare", bare)

    def _check_details(self, count: int) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        ratio = self.detail_ratio
        if isinstance(ratio, bool) or not isinstance(ratio, int) or not 1 <= ratio <= DETAIL_RATIO or ratio & (ratio - 1):
            raise InvalidInputError(f"detail_ratio: expected a power of two from 1 to {DETAIL_RATIO}, got {ratio!r}")
        details = np.zeros((0, 1, 1), dtype=np.float32)
        if self.details is not None and np.size(self.details):
            details = check.as_map(self.details, "details", 3).copy()
        if self.materials is None:
            return np.full(count, -1, dtype=np.int32), details
        materials = check.as_whole(number_array(self.materials, "materials").reshape(-1, 1), "materials", (1,))[:, 0]
        if len(materials) != count:
            raise InvalidInputError(f"materials: expected one a primitive ({count}), got {len(materials)}")
        wrong = np.flatnonzero((materials < -1) | (materials >= len(details)))
        if len(wrong):
            raise InvalidInputError(
                f"materials: row {wrong[0]} is {materials[wrong[0]]}; there are {len(details)} detail maps (-1: none)"
            )
        return materials.astype(np.int32), details

    def __repr__(self) -> str:
        return (
            f"DisplacedSurface({len(self.primitives)} primitives, {len(self.quads)} quads, "  # type: ignore[arg-type]
            f"{self.sample_count} samples)"
        )

    def __getstate__(self) -> dict[str, Any]:
        """What it is, and its index if that is made."""
        index = tuple(self._index) if self.has_index else None
        return {"bare": tuple(self._bare), "thickness": self.thickness, "index": index}

    def __setstate__(self, state: dict[str, Any]) -> None:
        bare = SurfaceArrays(*state["bare"])
        object.__setattr__(self, "detail_ratio", bare.ratio)
        object.__setattr__(self, "thickness", state["thickness"])
        self._set(bare)
        if state["index"] is not None:
            from thud.terrain.surface_index import SurfaceIndex

            self.__dict__["_index"] = SurfaceIndex(*state["index"])

    # --- what is made of it -------------------------------------------------------------------------------------------------

    @property
    def _primitive_quads(self) -> npt.NDArray[np.int32]:
        """(P,) the quad in which each primitive lies."""
        return self._bare.primitives[:, QUAD]

    @property
    def has_index(self) -> bool:
        """Whether planes, tree and bounding maps are there; else the first query makes them."""
        return "_index" in self.__dict__

    @cached_property
    def ground_thickness(self) -> float:
        """How deep the ground is, in units of displacement: `thickness`; without one the power of two by which directions, by
        their mean length, lead as far as half to all of the longest base edge."""
        if self.thickness is not None:
            return float(self.thickness)
        unit = float(np.linalg.norm(np.asarray(self.directions), axis=1).mean())
        return float(2.0 ** np.floor(np.log2(self.longest_edge / unit)))

    @cached_property
    def longest_edge(self) -> float:
        """Of the base mesh, metres."""
        positions, primitives = np.asarray(self.positions), np.asarray(self.primitives)
        last = np.where(primitives[:, 3] < 0, primitives[:, 2], primitives[:, 3])
        ring = np.column_stack([primitives[:, :3], last, primitives[:, 0]])
        return float(np.linalg.norm(np.diff(positions[ring], axis=1), axis=2).max())

    @property
    def ways_down(self) -> Floats:
        """(V, 3) from a vertex, moved along its direction, to the end of its column, metres."""
        return np.asarray(-self.ground_thickness * np.asarray(self.directions))

    def _fall(self, planes: Floats) -> Floats:
        """(P, 2) least and greatest rise along each primitive's normal of the ways to the ends of its quad's columns."""
        primitives, owner = np.asarray(self.primitives), self._primitive_quads
        first, count = self._bare.quads[owner, 3], self._bare.quads[owner, 4]
        ways = self.ways_down
        found = np.tile([np.inf, -np.inf], (len(owner), 1))
        for k in range(int(count.max())):
            own = primitives[np.where(k < count, first + k, first)]
            rise = np.einsum("pvi,pi->pv", ways[np.where(own < 0, own[:, :1], own)], planes[:, :3])
            found[:, 0] = np.minimum(found[:, 0], rise.min(axis=1))
            found[:, 1] = np.maximum(found[:, 1], rise.max(axis=1))
        # Rounding must not lose what touches a plane.
        return np.ascontiguousarray(found + np.abs(found) * [-PLANE_SLACK, PLANE_SLACK])

    @cached_property
    def _bounded(self) -> tuple[Floats, Floats]:
        """Planes (P, 8) and boxes (P, 6) of the primitives. The index keeps what is needed of them."""
        from thud._core.threads import run_rows
        from thud.terrain.bounding.planes import bounding_planes_rows

        count = len(self._bare.primitives)
        planes, boxes = np.empty((count, 8)), np.empty((count, 6))
        run_rows(bounding_planes_rows, count, None, self._bare, planes, boxes, rows_per_chunk=16)
        return planes, boxes

    @property
    def bounding_planes(self) -> Floats:
        """(P, 8) unit normal, offset (normal . P0), heights of the lower and the upper bounding plane above the base
        primitive, least and greatest length between them."""
        return read_only(self._index.planes if self.has_index else self._bounded[0])

    @cached_property
    def _index(self) -> SurfaceIndex:
        """Planes, tree and bounding maps, made on first use."""
        from thud.bvh.morton_tree import build_morton_tree
        from thud.terrain.bounding.maps import bounding_maps
        from thud.terrain.surface_index import SurfaceIndex

        def get(rows: Ints) -> tuple[Floats, Floats, Floats]:
            found = self.quad_samples(rows)
            return found.position, found.direction, found.length

        maps = bounding_maps(self._bare.quads[:, SIDE].astype(np.int64), get, ratio=self.detail_ratio)
        planes, boxes = self._bounded
        nodes, skip, item = build_morton_tree(boxes)
        rim = rim_bits(self)
        index = SurfaceIndex(
            planes=planes,
            node_boxes=outward(nodes),
            node_ints=np.column_stack([skip, item]).astype(np.int32),
            map_ints=maps.quads,
            lengths=maps.lengths,
            codes=maps.codes,
            flat=maps.flat,
            unconverged=maps.unconverged,
            box=np.concatenate([boxes[:, :3].min(axis=0), boxes[:, 3:].max(axis=0)]),
            rim=rim,
            face_boxes=outward(face_boxes(self, boxes, skip, item, rim)),
            fall=self._fall(planes),
        )
        self.__dict__.pop("_bounded", None)
        return index

    @property
    def has_ray_blocks(self) -> bool:
        """Whether the boxes for many rays are there; else the query makes them that brings many together."""
        return "ray_blocks" in self.__dict__

    def rays_so_far(self, count: int) -> int:
        """Rays asked of this surface until now, `count` further ones among them."""
        asked = self.__dict__["_rays_asked"] = self.__dict__.get("_rays_asked", 0) + count
        return asked

    @cached_property
    def ray_blocks(self) -> RayBlocks:
        """Boxes of blocks of patches, for many rays."""
        from thud.terrain.collision.ray_blocks import build_blocks

        return build_blocks(self)

    @cached_property
    def arrays(self) -> SurfaceArrays:
        """What kernels read: with planes, tree and bounding maps."""
        index = {name: value for name, value in self._index._asdict().items() if name in SurfaceArrays._fields}
        return self._bare._replace(**index, thickness=self.ground_thickness)

    @property
    def index_basis(self) -> SurfaceArrays:
        """All that the index is made from."""
        return self._bare._replace(thickness=self.ground_thickness)

    def index_bytes(self) -> bytes:
        """Planes, tree and bounding maps as bytes, for `with_index`: made now if they are not there."""
        from thud.terrain.surface_index import index_to_bytes

        return index_to_bytes(self._index, self.index_basis)

    def with_index(self, data: IndexBytes) -> DisplacedSurface:
        """The same surface with its planes, tree and bounding maps from `index_bytes`, which are then not made anew.

        The bytes are used in place, without a copy, if they begin at a multiple of 8: those of a file that is mapped into
        memory do. They are kept as long as the surface, and must not change. Bytes of another surface or version, and damaged
        ones, are a `FileFormatError`.

        Parameters
        ----------
        data : bytes, a memoryview, an `mmap.mmap` or an array of uint8
        """
        from thud.terrain.surface_index import index_from_bytes

        found = copy.copy(self)
        found.__dict__["_index"] = index_from_bytes(data, self.index_basis)
        return found

    # --- queries ------------------------------------------------------------------------------------------------------------

    @property
    def sample_count(self) -> int:
        """Squares between samples, all quads together: each is a bilinear patch."""
        sides = np.asarray(self.quads)[:, 2].astype(np.int64) * self.detail_ratio
        return int((sides**2).sum())

    def samples(self, quad: int) -> Samples:
        """The nodes of one quad."""
        one = self.quad_samples(np.array([quad]))
        return Samples(one.position[0], one.direction[0], one.length[0], one.point[0])

    def quad_samples(self, rows: npt.ArrayLike) -> Samples:
        """The nodes of quads of one side: arrays (B, m, m, ...)."""
        from thud._core.threads import run_rows
        from thud.terrain.sampling import quads_samples_rows

        chosen = np.ascontiguousarray(rows, dtype=np.int64).reshape(-1)
        quads = np.asarray(self.quads)
        if len(chosen) == 0 or chosen.min() < 0 or chosen.max() >= len(quads):
            raise InvalidInputError(f"rows: expected quads from 0 to {len(quads) - 1}")
        sides = quads[chosen, 2]
        if (sides != sides[0]).any():
            raise InvalidInputError("rows: expected quads of one side")
        m = int(sides[0]) * self.detail_ratio + 1
        shape = (len(chosen), m, m)
        found = Samples(np.empty((*shape, 3)), np.empty((*shape, 3)), np.empty(shape), np.empty((*shape, 3)))
        arguments = (self._bare, chosen, found.position, found.direction, found.length, found.point)
        run_rows(quads_samples_rows, len(chosen), None, *arguments, rows_per_chunk=max(1, 4096 // (m * m)))
        return found

    def forward(self, primitive: npt.ArrayLike, u: npt.ArrayLike, v: npt.ArrayLike) -> Samples:
        """Forward projection of places in primitives, Eqs. (2.1) and (2.2): rows (N, ...).

        The length is interpolated between samples. In between them the point may differ from the surface, whose patches are
        bilinear in the samples themselves, by the second order of the directions' change over one sample.

        Parameters
        ----------
        primitive : (N,) rows of `primitives`
        u, v : (N,) of a triangle along P1 - P0 and P2 - P0, of a quadrilateral along P1 - P0 and P3 - P0
        """
        from thud._core.threads import run_rows
        from thud.terrain.sampling import forward_rows

        rows, first, second = np.broadcast_arrays(np.asarray(primitive, dtype=np.int64), u, v)
        rows = np.ascontiguousarray(rows.reshape(-1))
        count = len(rows)
        if count and (rows.min() < 0 or rows.max() >= len(self._bare.primitives)):
            raise InvalidInputError(f"primitive: expected rows from 0 to {len(self._bare.primitives) - 1}")
        places = [np.ascontiguousarray(x, dtype=np.float64).reshape(-1) for x in (first, second)]
        for name, place in zip("uv", places):
            if not np.isfinite(place).all():
                raise InvalidInputError(f"{name}: row {int(np.argmin(np.isfinite(place)))} is not finite")
        position, direction, length = np.empty((count, 3)), np.empty((count, 3)), np.empty(count)
        run_rows(forward_rows, count, None, self._bare, rows, *places, position, direction, length)
        return Samples(position, direction, length, position + length[:, None] * direction)

    def bounding_maps(self) -> BoundingMaps:
        """Multiresolution bounding maps (3.5), made on first use."""
        from thud.terrain.bounding.maps import BoundingMaps

        index, sides = self._index, self._bare.quads[:, SIDE]
        arrays = (index.map_ints, index.lengths, index.codes, index.flat, index.unconverged)
        return BoundingMaps(read_only(sides), self.detail_ratio, *(read_only(array) for array in arrays))

    def to_mesh(self, resolution: int = 32) -> Any:
        """The surface as a `TriangleMesh`: two triangles a patch, by the diagonal that bounds it from above. Vertices in the
        same place are one."""
        from thud.shapes.triangle_mesh import TriangleMesh
        from thud.terrain.tessellate import tessellate

        return TriangleMesh(*tessellate(self))

    @property
    def nbytes(self) -> int:
        """Bytes of all that it holds once a query was asked: base mesh, maps, planes, tree and bounding maps."""
        arrays = (*self.arrays, self._index.unconverged, self._index.box, self._corners)
        blocks = self.ray_blocks.nbytes if self.has_ray_blocks else 0
        return blocks + int(sum(array.nbytes for array in arrays if isinstance(array, np.ndarray)))

    # --- as a shape ---------------------------------------------------------------------------------------------------------

    def parts(self) -> list[Part]:
        """A surface has no convex parts."""
        raise UnsupportedQueryError("a DisplacedSurface has no convex parts; use to_mesh() for queries it does not support")

    @cached_property
    def _corners(self) -> Floats:
        """(8, 3) of the box about surface and ground."""
        if self.has_index:
            box = self._index.box
        else:
            box = np.concatenate([self._bounded[1][:, :3].min(axis=0), self._bounded[1][:, 3:].max(axis=0)])
        ways = self.ways_down
        box = np.concatenate([box[:3] + np.minimum(ways.min(axis=0), 0.0), box[3:] + np.maximum(ways.max(axis=0), 0.0)])
        return np.array([[box[3 * (k >> i & 1) + i] for i in range(3)] for k in range(8)])

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        return box_of_points(self._corners, rows)

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the box, ground included."""
        center = 0.5 * (self._corners[0] + self._corners[7])
        return center, float(np.linalg.norm(self._corners[7] - center))

    @property
    def volume(self) -> float:
        """Not defined."""
        raise UnsupportedQueryError("a DisplacedSurface has no volume: it is static ground")

    @property
    def centroid(self) -> Floats:
        """Not defined."""
        raise UnsupportedQueryError("a DisplacedSurface has no centroid: it is static ground")

    def inertia(self, mass: float = 1.0) -> Floats:
        """Not defined."""
        raise UnsupportedQueryError("a DisplacedSurface has no inertia: it is static ground")


def outward(boxes: Floats) -> npt.NDArray[np.float32]:
    """Boxes (K, 6) in float32 that hold those in float64."""
    found = boxes.astype(np.float32)
    low, high = found[:, :3], found[:, 3:]
    low[...] = np.where(low > boxes[:, :3], np.nextafter(low, np.float32(-np.inf)), low)
    high[...] = np.where(high < boxes[:, 3:], np.nextafter(high, np.float32(np.inf)), high)
    return found


def fade_bits(primitives: Ints, materials: npt.NDArray[np.int32]) -> npt.NDArray[np.uint8]:
    """Edges (bits 0 to 3) and vertices (bits 4 to 7) at which details fade out: where the other side has another material, or
    is no neighbour in the map. Of a triangle edge k is opposite to vertex k; of a quadrilateral it leads from vertex k to the
    next."""
    if (materials < 0).all():
        return np.zeros(len(primitives), dtype=np.uint8)
    four = primitives[:, 3] >= 0
    ends = np.empty((len(primitives), 4, 2), dtype=np.int64)
    for k in range(4):
        tri = primitives[:, [(k + 1) % 3, (k + 2) % 3]] if k < 3 else np.full((len(primitives), 2), -1)
        ends[:, k] = np.where(four[:, None], primitives[:, [k, (k + 1) % 4]], tri)
    rows, edges = np.nonzero(ends[:, :, 0] >= 0)
    key = np.sort(ends[rows, edges], axis=1)
    _unique, group, count = np.unique(key, axis=0, return_inverse=True, return_counts=True)
    group = group.reshape(-1)
    least = np.full(len(count), np.iinfo(np.int64).max)
    most = np.full(len(count), -2)
    np.minimum.at(least, group, materials[rows].astype(np.int64))
    np.maximum.at(most, group, materials[rows].astype(np.int64))
    faded = ((count < 2) | (least != most))[group]
    bits = np.zeros(len(primitives), dtype=np.uint8)
    np.bitwise_or.at(bits, rows[faded], (1 << edges[faded]).astype(np.uint8))
    at_vertex = np.zeros(int(primitives.max()) + 1, dtype=bool)
    at_vertex[ends[rows[faded], edges[faded]].reshape(-1)] = True
    for k in range(4):
        used = primitives[:, k] >= 0
        hit = used & at_vertex[np.maximum(primitives[:, k], 0)]
        bits[hit] |= np.uint8(16 << k)
    bits[materials < 0] = 0
    return bits
