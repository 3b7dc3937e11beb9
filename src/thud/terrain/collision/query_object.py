"""What meets a surface, as kernels read it: convex parts of a shape or triangles of a mesh, and one more whose points are
written over with those of a bounding volume or patch."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.constants import BODY_BOX
from thud.pairing.families import MESH
from thud.shapes.hull_topology import HullTopology
from thud.shapes.mesh_connectivity import connected_parts
from thud.shapes.packed import BOUND, CENTER, SCAN_COUNT, VERTEX_COUNT, VERTEX_START, Parts, aligned, pack_now
from thud.shapes.shape import HULL, IDENTITY, Part, Shape
from thud.shapes.sphere import Sphere
from thud.shapes.triangle_mesh import TriangleMesh


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
    """Convex parts of a shape, the last being the placeholder, and the tree over them, which a shape of one part has not."""

    parts: Parts
    part_poses: Floats
    """(P, 12) of the parts in the shape's frame."""
    node_boxes: Floats
    node_ints: Ints
    group: Ints
    """(P - 1,) the first of the parts that each is joined with: parts that overlap, triangles that share vertices."""
    heads: Ints
    """The first part of each group."""


@lru_cache(maxsize=64)
def query_object(shape: Shape) -> QueryObject:
    """Of a convex shape, a compound of such, or a mesh, whose triangles are its parts."""
    return _triangles(shape) if shape.family == MESH else _parts(shape)  # type: ignore[arg-type]


def _parts(shape: Shape) -> QueryObject:
    packed = pack_now((shape, PlaceholderVolume()))
    poses = np.ascontiguousarray(packed.part_poses)
    group = np.zeros(len(poses) - 1, dtype=np.int64)
    if len(group) > 1:
        from thud.terrain.collision.part_groups import group_parts

        group_parts(packed.parts, poses, group)
    return QueryObject(packed.parts, poses, packed.node_boxes, packed.node_ints, group, np.unique(group))


def _triangles(mesh: TriangleMesh) -> QueryObject:
    """Triangle k in the order of the mesh's tree is part k."""
    corners = mesh.corners.reshape(-1, 3, 3) + mesh.origin
    count = len(corners)
    last = pack_now((PlaceholderVolume(),)).parts
    scan = int(last.ints[0, SCAN_COUNT])
    ints = np.repeat(last.ints, count + 1, axis=0)
    ints[:, VERTEX_START] = scan * np.arange(count + 1)
    ints[:count, VERTEX_COUNT] = 3
    reals = np.repeat(last.reals, count + 1, axis=0)
    center = corners.mean(axis=1)
    reals[:count, CENTER : CENTER + 3] = center
    reals[:count, BOUND] = np.linalg.norm(corners - center[:, None], axis=2).max(axis=1)
    # Each padded with copies of its first vertex.
    vertices = np.repeat(corners[:, :1], scan, axis=1)
    vertices[:, :3] = corners
    columns = np.concatenate([vertices.reshape(-1, 3).T, last.vertices], axis=1)
    boxes = mesh.node_boxes + np.tile(mesh.origin, 2)
    blur = BODY_BOX * np.abs(boxes).max()
    boxes += np.repeat([-blur, blur], 3)
    node = np.arange(len(mesh.tree.skip))
    leaf = np.where(mesh.tree.skip == node + 1, mesh.tree.first, -1)
    nodes = np.stack([mesh.tree.skip, leaf], axis=1)
    poses = np.repeat(IDENTITY[None], count + 1, axis=0)
    parts = Parts(ints, reals, aligned(columns), last.link_starts, last.links)
    label = connected_parts(mesh.places[np.asarray(mesh.faces)])[mesh.tree.order]
    first = np.unique(label, return_index=True)[1].astype(np.int64)
    return QueryObject(parts, poses, boxes, nodes, np.ascontiguousarray(first[label]), np.sort(first))
