"""Triangle mesh: a closed one is solid, an open one a surface."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, read_only, whole_array, writable
from thud.bvh.mesh_tree import MeshTree
from thud.constants import MESH_COORDINATE, MESH_LEAST
from thud.errors import InvalidInputError, InvalidShapeError, UnsupportedQueryError
from thud.gates import as_choice, as_count, as_points, check_extent
from thud.shapes.convex_hull import ConvexHull, polyhedron_moments
from thud.shapes.mesh_connectivity import MeshTopology, closed_by_places
from thud.shapes.mesh_problems import MeshProblems, find_problems
from thud.shapes.shape import Part, Shape, box_of_points

if TYPE_CHECKING:
    from thud.bounds.support_planes import SupportPlanes
    from thud.bvh.mesh_edges import MeshEdges
    from thud.bvh.mesh_grid import CellTable
    from thud.bvh.pair_tree import PairTree, SlotLinks
    from thud.bvh.vertex_fans import VertexFans
    from thud.bvh.wide import WideTree

BOUNDINGS = ("aabb", "sphere", "obb", "kdop")
BUILDS = ("sah", "slides")
KDOPS = (6, 14, 18, 26)


@dataclass(frozen=True, eq=False)
class TriangleMesh(Shape):
    """Triangles that share vertices. Closed (every edge has an even number of triangles): a solid; otherwise: a surface.

    Degenerate, duplicate, inverted and non-manifold triangles are accepted, see `problems()` for what they mean.

    Parameters
    ----------
    vertices : (V, 3) metres
    faces : (T, 3) vertex rows, counter-clockwise seen from outside
    bounding : bounding volumes of the tree for pair queries: "aabb" (boxes in the mesh's frame), "sphere", "obb", "kdop"
    spm : support-plane mappings beside them: "face" or "vertex", as in [Vogiannou]; "compact", the fast ones, made for
        bounding="sphere"; or None
    spm_levels, spm_samples : on how many levels of the tree from the root, and how fine: samples x samples directions
    spm_directions : how many pairs of planes two nodes are tested by, 1 to 8: one as in the paper, further ones by Chung-Wang
        steps. Of two meshes the larger number counts
    build : "sah" (surface-area heuristic) or "slides" (halving orthogonal to the longest axis of an OBB)
    kdop_k : faces of the k-DOPs: 6, 14, 18 or 26
    obb_weights : the OBBs' axes are those of the triangles' "vertices" (as on the slides) or of their "area"
    """

    family: ClassVar[str] = "mesh"

    vertices: npt.ArrayLike
    faces: npt.ArrayLike
    bounding: str = "aabb"
    spm: str | None = None
    spm_levels: int = 5
    spm_samples: int = 32
    spm_directions: int = 1
    build: str = "sah"
    kdop_k: int = 18
    obb_weights: str = "vertices"

    def __post_init__(self) -> None:
        vertices = _as_vertices(self.vertices)
        faces = _as_faces(self.faces, len(vertices))
        _check_area(vertices, faces)
        check_extent(vertices, "vertices", MESH_LEAST)
        choices: dict[str, tuple[str | None, ...]] = {
            "bounding": BOUNDINGS,
            "build": BUILDS,
            "spm": (None, "face", "vertex", "compact"),
            "obb_weights": ("vertices", "area"),
        }
        for name, allowed in choices.items():
            object.__setattr__(self, name, as_choice(getattr(self, name), name, allowed))
        for name, least, most in (("spm_levels", 0, 32), ("spm_samples", 4, 1024), ("spm_directions", 1, 8), ("kdop_k", 6, 26)):
            object.__setattr__(self, name, as_count(getattr(self, name), name, least, most))
        if self.kdop_k not in KDOPS:
            raise InvalidInputError(f"kdop_k: expected one of {KDOPS}, got {self.kdop_k!r}")
        object.__setattr__(self, "vertices", vertices)
        object.__setattr__(self, "faces", faces)

    def __repr__(self) -> str:
        kind = "closed" if self.is_closed else "open, unmerged" if self.problems().unmerged else "open"
        return f"TriangleMesh({len(self._vertices)} vertices, {len(self._faces)} triangles, {kind})"

    def __getstate__(self) -> dict[str, Any]:
        """Without what can be made again."""
        names = self.__dataclass_fields__
        return {name: value for name, value in self.__dict__.items() if name in names}

    @property
    def _vertices(self) -> Floats:
        return self.vertices  # type: ignore[return-value]

    @property
    def _faces(self) -> npt.NDArray[np.int64]:
        return self.faces  # type: ignore[return-value]

    @cached_property
    def places(self) -> npt.NDArray[np.int64]:
        """(V,) the first vertex in the same place: files of triangle soup repeat them."""
        from thud.bvh.edge_table import weld

        return weld(self._vertices)

    @cached_property
    def welded(self) -> npt.NDArray[np.int64]:
        """(T, 3) faces by `places`."""
        return np.ascontiguousarray(self.places[self._faces])

    @cached_property
    def fans(self) -> VertexFans:
        """The triangles about each place."""
        from thud.bvh.vertex_fans import vertex_fans

        return vertex_fans(self.welded, len(self._vertices))

    @cached_property
    def slot_links(self) -> SlotLinks:
        """The way up in `pair_tree`."""
        from thud.bvh.pair_tree import slot_links

        return slot_links(self.pair_tree, np.ascontiguousarray(self.tree.order, dtype=np.int64))

    @cached_property
    def _problems(self) -> MeshProblems:
        return find_problems(self._vertices, self._faces, self.places)

    def problems(self) -> MeshProblems:
        """Defects of the mesh: open and non-manifold edges, degenerate triangles, and so on."""
        return self._problems

    @cached_property
    def topology(self) -> MeshTopology:
        """Edges and parts by vertex numbers; `deformed` meshes share it."""
        return MeshTopology(self._faces)

    @cached_property
    def is_closed(self) -> bool:
        """Whether the mesh is a solid: every edge has an even number of triangles."""
        return self.topology.closed or closed_by_places(self._faces, self.places)

    @property
    def is_solid(self) -> bool:  # type: ignore[override]
        """The same: an open mesh is a surface."""
        return self.is_closed

    @cached_property
    def _used_box(self) -> tuple[Floats, Floats]:
        from thud.bounds.aabb import used_box

        return used_box(self._vertices, self._faces)

    @cached_property
    def origin(self) -> Floats:
        """(3,) the middle of the box about the triangles: the tree's volumes and corners are relative to it."""
        return 0.5 * (self._used_box[0] + self._used_box[1])

    @cached_property
    def half_extents(self) -> Floats:
        """(3,) of the box about `origin` that holds the triangles."""
        return np.maximum(self._used_box[1] - self.origin, self.origin - self._used_box[0])

    @cached_property
    def tree(self) -> MeshTree:
        """The hierarchy over the triangles."""
        if self.build == "slides":
            from thud.bounds.aabb import ordered_corners
            from thud.bvh.build_slides import build_slides

            return build_slides(ordered_corners(self._vertices, self._faces, np.arange(len(self._faces)), self.origin))
        from thud.bvh.build_sah import build_sah

        return build_sah(writable(self._vertices), writable(self._faces), self.origin)

    @cached_property
    def corners(self) -> Floats:
        """(T, 9) the three corners of each triangle, in tree order, relative to `origin`."""
        from thud.bounds.aabb import ordered_corners

        return ordered_corners(self._vertices, self._faces, self.tree.order, self.origin)

    @cached_property
    def node_boxes(self) -> Floats:
        """(K, 6) lower and upper corner of each node, relative to `origin`."""
        from thud.bounds.aabb import node_boxes

        return node_boxes(self.tree.skip, self.tree.first, self.corners)

    @cached_property
    def boxes(self) -> npt.NDArray[np.float32]:
        """(K, 6) the same as centre and half extents in float32, rounded outward."""
        from thud.bounds.aabb import outward_boxes

        return outward_boxes(self.node_boxes)

    @cached_property
    def pair_tree(self) -> PairTree:
        """The 8-wide form for walks of two trees."""
        from thud.bounds.aabb import outward_corners
        from thud.bvh.pair_tree import build_pair_tree

        return build_pair_tree(self.tree, outward_corners(self.tree.skip, self.tree.first, self.corners))

    @cached_property
    def pair_obbs(self) -> npt.NDArray[np.float32]:
        """The oriented boxes of the 8-wide form, for distances."""
        from thud.bounds.obb import slot_obbs

        return slot_obbs(self.pair_tree.node, self.tree.skip, self.tree.first, self.corners, self.obb_weights)

    @cached_property
    def spheres(self) -> npt.NDArray[np.float32]:
        """(K, 4) centre and radius of each node's smallest sphere, relative to `origin`, rounded outward."""
        from thud.bounds.sphere import node_spheres

        return node_spheres(self.tree.skip, self.tree.first, self.corners)

    @cached_property
    def obbs(self) -> npt.NDArray[np.float32]:
        """(K, 15) axes, centre and half extents of each node's oriented box, relative to `origin`, rounded outward."""
        from thud.bounds.obb import node_obbs

        return node_obbs(self.tree.skip, self.tree.first, self.corners, self.obb_weights)

    @cached_property
    def kdops(self) -> npt.NDArray[np.float32]:
        """(K, kdop_k) lower, then upper bounds of each node along the k-DOP's directions, relative to `origin`."""
        from thud.bounds.kdop import node_kdops

        return node_kdops(self.tree.skip, self.tree.first, self.corners, self.kdop_k)

    @cached_property
    def component_points(self) -> Floats:
        """(C, 3) a corner of one triangle of each connected part: connected by vertex numbers if the mesh is closed by them,
        else where corners are in one place."""
        if self.topology.closed:
            return self._vertices[self.topology.part_vertices]
        from thud.bvh.edge_table import part_vertices

        return self._vertices[part_vertices(self.places[self._faces], len(self._vertices))]

    @cached_property
    def edges_beyond(self) -> MeshEdges:
        """What lies beyond the edges of each triangle, for contacts."""
        from thud.bvh.mesh_edges import mesh_edges

        return mesh_edges(self.corners, self._faces, self.tree.order, self.places, self.is_closed)

    @cached_property
    def support_planes(self) -> SupportPlanes:
        """The support-plane mappings of the first `spm_levels` levels; none of them if `spm` is None."""
        from thud.bounds.support_planes import no_support_planes, refitted_planes, support_planes
        from thud.bounds.support_tables import support_tables

        tree = self.tree.skip, self.tree.first, self.corners
        if self.spm is None:
            return no_support_planes()
        if self.spm == "compact":
            # Only the closed form of spheres does without points.
            points = self.spm_directions > 1 or self.bounding != "sphere"
            return support_tables(*tree, self.spm_levels, self.spm_samples, self.spm_directions, points=points)
        if self._planes_before is not None:
            return refitted_planes(self._planes_before, *tree)
        return support_planes(*tree, self.spm, self.spm_levels, self.spm_samples, directions=self.spm_directions)

    @cached_property
    def _planes_before(self) -> SupportPlanes | None:
        """Of the mesh that this one is deformed from, where they had been made and are not made as easily again."""
        return None

    @cached_property
    def wide(self) -> WideTree:
        """The 8-wide form of the tree, for rays and points."""
        from thud.bounds.aabb import outward_corners
        from thud.bvh.wide import build_wide

        boxes = outward_corners(self.tree.skip, self.tree.first, self.corners)
        return build_wide(self.tree, boxes, writable(self._vertices), writable(self._faces), self.origin)

    @cached_property
    def winding_moments(self) -> Floats:
        """(K, 18) moments of the area vectors below each node, for winding numbers."""
        from thud.bvh.winding_moments import winding_moments

        return winding_moments(self.tree, self.corners)

    @cached_property
    def grid(self) -> CellTable:
        """Cells marked inside, outside or unknown, for points."""
        from thud.bvh.mesh_grid import build_grid

        return build_grid(self._vertices, self._faces)

    @cached_property
    def hull(self) -> ConvexHull:
        """Convex hull of the triangles; a named error if they are all in one plane."""
        return ConvexHull(self._vertices[self.topology.used])

    def deformed(self, vertices: npt.ArrayLike) -> TriangleMesh:
        """The same triangles with other vertices, and the same tree refitted: cheaper than a new mesh while the motion is
        moderate (the answers are the same in any case).

        Parameters
        ----------
        vertices : (V, 3) as many as the mesh has
        """
        moved = _as_vertices(vertices)
        if len(moved) != len(self._vertices):
            raise InvalidInputError(f"vertices: expected {len(self._vertices)} rows as the mesh has, got {len(moved)}")
        _check_area(moved, self._faces)
        # Faces and options were looked at when this mesh was made.
        mesh = object.__new__(TriangleMesh)
        mesh.__dict__.update({field.name: self.__dict__[field.name] for field in fields(self)})
        mesh.__dict__.update(vertices=moved, topology=self.topology, tree=self.tree, is_refitted=True)
        if self.spm in ("face", "vertex") and self.spm_levels > 0:
            mesh.__dict__["_planes_before"] = self.__dict__.get("support_planes", self._planes_before)
        return mesh

    @cached_property
    def is_refitted(self) -> bool:  # type: ignore[override]
        """Whether the tree is another mesh's, refitted (`deformed`), and so not the one that these vertices would give."""
        return False

    def parts(self) -> list[Part]:
        """A mesh is not made of convex parts."""
        raise UnsupportedQueryError("a TriangleMesh has no convex parts; thud.decompose makes a Compound of such from it")

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        return box_of_points(self._vertices[self.topology.used], rows)

    def to_mesh(self, resolution: int = 32) -> TriangleMesh:
        """Itself."""
        return self

    def _core_points(self) -> tuple[Floats, float]:
        return self._vertices[np.unique(self._faces)], 0.0

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the middle of the box."""
        return self.origin.copy(), self._bounding_radius

    @cached_property
    def _bounding_radius(self) -> float:
        used = self._vertices[self.topology.used]
        return float(np.linalg.norm(used - self.origin, axis=1).max())

    @cached_property
    def _moments(self) -> tuple[float, Floats, Floats]:
        if self.is_closed:
            # A folded sheet is closed and has no volume.
            with np.errstate(divide="ignore", invalid="ignore"):
                volume, centroid, inertia = polyhedron_moments(self._vertices, self._faces)
            if abs(volume) > 0.0:
                return abs(volume), centroid, inertia
        return _shell_moments(self._vertices[self._faces])

    @property
    def volume(self) -> float:
        """Of a solid; 0 for an open mesh."""
        return self._moments[0]

    @property
    def centroid(self) -> Floats:
        """Centre of volume; for an open mesh, of area."""
        return self._moments[1].copy()

    def inertia(self, mass: float = 1.0) -> Floats:
        """Of a solid of uniform density; for an open mesh, of a thin shell."""
        return self._moments[2] * mass


def _as_vertices(vertices: npt.ArrayLike) -> Floats:
    points = as_points(vertices, "vertices", least=1)
    if max(float(points.max()), -float(points.min())) > MESH_COORDINATE:
        row = int(np.argmax(np.abs(points).max(axis=1)))
        raise InvalidShapeError(f"vertices: row {row} has a coordinate beyond {MESH_COORDINATE:g}, the limit of meshes")
    return read_only(np.array(points))


def _check_area(vertices: Floats, faces: npt.NDArray[np.int64]) -> None:
    """A named error if no triangle has an area; the first few nearly always tell."""
    for some in (faces[:64], faces[64:]):
        a, b, c = (vertices[some[:, k]] for k in range(3))
        if np.cross(b - a, c - a).any():
            return
    raise InvalidShapeError("faces: all triangles are degenerate (no area); expected at least one with an area")


def _as_faces(faces: npt.ArrayLike, vertices: int) -> npt.NDArray[np.int64]:
    array = whole_array(faces, "faces")
    if array.ndim != 2 or array.shape[1] != 3:
        raise InvalidInputError(f"faces: expected whole numbers of shape (T, 3), got shape {array.shape}")
    if len(array) == 0:
        raise InvalidShapeError("faces: expected at least one triangle, got none")
    if len(array) >= 2**30:
        raise InvalidShapeError(f"faces: expected fewer than 2**30 triangles, got {len(array)}")
    if array.min() < 0 or array.max() >= vertices:
        row = int(np.argmax(((array < 0) | (array >= vertices)).any(axis=1)))
        raise InvalidShapeError(f"faces: row {row} is {array[row].tolist()}; expected vertex rows from 0 to {vertices - 1}")
    return read_only(np.array(array, dtype=np.int64, order="C"))


def _shell_moments(corners: Floats) -> tuple[float, Floats, Floats]:
    """Volume 0, and centre and inertia per unit mass of a thin shell of (T, 3, 3) triangles."""
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    middle = corners.mean(axis=1)
    centroid = (area[:, None] * middle).sum(axis=0) / area.sum()
    # The integral of x x^T over a triangle is area / 12 (sum_i p_i p_i^T + (sum_i p_i)(sum_i p_i)^T).
    p = corners - centroid
    total = p.sum(axis=1)
    moments = np.einsum("t,tki,tkj->ij", area, p, p) + np.einsum("t,ti,tj->ij", area, total, total)
    moments /= 12.0 * area.sum()
    return 0.0, centroid, np.eye(3) * np.trace(moments) - moments
