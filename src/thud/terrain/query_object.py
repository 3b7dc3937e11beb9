"""What meets a surface, as kernels read it: the convex parts of a shape, and one more whose points are written over with
those of a bounding volume or patch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud.errors import UnsupportedQueryError
from thud.shapes.hull_topology import HullTopology
from thud.shapes.packed import pack_now
from thud.shapes.shape import HULL, Floats, Part, Shape
from thud.shapes.sphere import Sphere
from thud.shapes.triangle_mesh import TriangleMesh

Ints = npt.NDArray[np.int64]


class PlaceholderVolume(Sphere):
    """A hull of eight vertices, to be written over. GJK reads its vertices alone."""

    def __init__(self) -> None:
        """A shape by name only: all that is asked of it is its part."""

    def parts(self) -> list[Part]:
        """One polytope; its faces and edges are not used."""
        none = np.zeros(0, dtype=np.int64)
        corners = np.array([[x, y, z] for x in (0.0, 1) for y in (0.0, 1) for z in (0.0, 1)])
        starts = np.zeros(1, dtype=np.int64)
        topology = HullTopology(
            vertices=corners,
            triangles=np.zeros((0, 3), dtype=np.int64),
            planes=np.zeros((0, 4)),
            loop_starts=starts,
            loops=none,
            loop_edges=none,
            edges=np.zeros((0, 2), dtype=np.int64),
            edge_faces=np.zeros((0, 2), dtype=np.int64),
            link_starts=np.zeros(9, dtype=np.int64),
            links=none,
            link_edges=none,
        )
        return [Part(HULL, (), 0.0, corners.mean(axis=0), 1.0, topology)]


class QueryObject(NamedTuple):
    """Arrays of GJK; the last part is the placeholder. `poses`: (P, 12) of the parts in the shape's frame; then the tree
    over the parts, which a shape of one part has not."""

    ints: Ints
    reals: Floats
    vertices: Floats
    link_starts: Ints
    links: Ints
    poses: Floats
    node_boxes: Floats
    node_ints: Ints


@lru_cache(maxsize=64)
def query_object(shape: Shape) -> QueryObject:
    """Of a convex shape or a compound of them."""
    if any(isinstance(leaf, TriangleMesh) for leaf in leaves(shape)):
        raise UnsupportedQueryError(
            "a DisplacedSurface meets convex shapes and compounds of them; give `thud.decompose(mesh)` instead of a mesh, "
            "or the surface's `to_mesh()`"
        )
    packed = pack_now((shape, PlaceholderVolume()))
    poses = np.ascontiguousarray(packed.part_poses)
    arrays = (packed.part_ints, packed.part_reals, packed.vertices, packed.link_starts, packed.links)
    return QueryObject(*arrays, poses, packed.node_boxes, packed.node_ints)


def leaves(shape: Shape) -> list[Shape]:
    """The shapes in a compound, at any depth; a shape itself."""
    inner = getattr(shape, "shapes", None)
    return [shape] if inner is None else [leaf for one in inner for leaf in leaves(one)]
