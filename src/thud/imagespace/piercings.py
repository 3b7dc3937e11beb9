"""`piercings`: the exact points at which edges of one mesh pierce faces of another, of pairs that images show (5.2.2)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.imagespace.candidates import pair_keys
from thud.imagespace.interference import interference
from thud.imagespace.piercing import MISSES, PIERCES, piercing_rows
from thud.imagespace.scene import Scene, checked_meshes, scene_of, world_boxes
from thud.results import Interference, Piercings
from thud.shapes.triangle_mesh import TriangleMesh


def piercings(
    meshes: Sequence[TriangleMesh], poses: Any = None, seen: Interference | Any = None, *, threads: int | None = None
) -> Piercings:
    """All points at which an edge of one object pierces a face of the other, of pairs that images show to interfere (5.2.2).

    Every edge of a pair is asked, seen or not, by exact predicates on the vertices as they are in the world: none is missed,
    none is made up. A pair one of which is inside the other, or equal meshes in one place, have none.

    Parameters
    ----------
    meshes : closed meshes
    poses : one each; None: all at the origin
    seen : what `interference` returned for the same meshes and poses, or (M, 2) pairs of objects; None: looked at here
    threads : at most so many; None: all cores
    """
    chosen, rows = checked_meshes(meshes, poses)
    if seen is None:
        seen = interference(chosen, poses, views=3, threads=threads)
    pairs = checked_pairs(seen, len(chosen))
    objects, numbered = np.unique(pairs, return_inverse=True)
    numbered = numbered.reshape(-1, 2)
    boxes = world_boxes([chosen[k] for k in objects], rows[objects], threads)
    scene = scene_of([chosen[k] for k in objects], rows[objects], boxes, threads)
    return scene_piercings(scene, numbered, objects, pairs, threads)


def checked_pairs(seen: Any, count: int) -> Ints:
    """(M, 2) pairs of what was seen, the lower object first, sorted, each once."""
    if isinstance(seen, Interference):
        seen = seen.pairs
    keys = np.unique(pair_keys(np.empty((0, 2), np.int64) if np.size(seen) == 0 else seen, count, "seen"))
    pairs = np.column_stack([keys // max(count, 1), keys % max(count, 1)])
    same = pairs[:, 0] == pairs[:, 1]
    if same.any():
        raise InvalidInputError(f"seen: expected pairs of two objects, got {pairs[np.argmax(same)].tolist()}")
    return pairs


def scene_piercings(scene: Scene, numbered: Ints, objects: Ints, pairs: Ints, threads: int | None) -> Piercings:
    """Of `numbered` pairs of the scene, which are `pairs` of the caller's objects."""
    edge, face, row = _near(scene, numbered, threads)
    many = len(edge)
    how, entering, along = np.empty(many, np.int8), np.empty(many, np.bool_), np.empty(many)
    point, normal = np.empty((many, 3)), np.empty((many, 3))
    arrays = (edge, face, scene.vertices, scene.edges, scene.triangles, how, entering, along, point, normal)
    run_rows(piercing_rows, many, threads, *arrays, rows_per_chunk=1024)
    met = how != MISSES
    edge, face, row = edge[met], face[met], row[met]
    edge_owner = np.searchsorted(scene.edge_starts, edge, side="right") - 1
    face_owner = np.searchsorted(scene.triangle_starts, face, side="right") - 1
    order = np.lexsort((face, edge, row))
    return Piercings(
        row[order], objects[edge_owner][order],
        (scene.edges[edge] - scene.vertex_starts[edge_owner][:, None])[order], objects[face_owner][order],
        (face - scene.triangle_starts[face_owner])[order], point[met][order], normal[met][order], along[met][order],
        entering[met][order], (how[met] == PIERCES)[order], pairs,
    )  # fmt: skip


def _near(scene: Scene, pairs: Ints, threads: int | None) -> tuple[Ints, Ints, Ints]:
    """Edges, faces and rows of `pairs` whose boxes overlap: only edges and faces that reach into the other's box."""
    from thud.bvh.morton_tree import boxes_in_tree, build_morton_tree

    found: list[tuple[Ints, Ints, Ints]] = [(np.empty(0, np.int64),) * 3]
    edges, faces = scene.vertices[scene.edges], scene.vertices[scene.triangles]
    edge_boxes, face_boxes = (np.concatenate([c.min(axis=1), c.max(axis=1)], axis=1) for c in (edges, faces))
    for row, pair in enumerate(pairs.tolist()):
        for own, other in (pair, pair[::-1]):
            some = _reaching(edge_boxes, scene.edge_starts, own, scene.boxes[other])
            hit = _reaching(face_boxes, scene.triangle_starts, other, scene.boxes[own])
            if not len(some) or not len(hit):
                continue
            places, items = boxes_in_tree(build_morton_tree(face_boxes[hit]), np.ascontiguousarray(edge_boxes[some]), threads)
            edge = np.repeat(some, np.diff(places))
            found.append((edge, hit[items], np.full(len(edge), row)))
    edges_found, faces_found, rows_found = (np.concatenate(column) for column in zip(*found))
    return edges_found, faces_found, rows_found


def _reaching(boxes: Floats, starts: Ints, number: int, other: Floats) -> Ints:
    """Rows of an object's boxes that overlap another box."""
    own = boxes[starts[number] : starts[number + 1]]
    reaches = (own[:, :3] <= other[3:]).all(axis=1) & (own[:, 3:] >= other[:3]).all(axis=1)
    return np.asarray(np.flatnonzero(reaches) + starts[number])
