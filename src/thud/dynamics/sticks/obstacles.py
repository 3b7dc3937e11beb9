"""All of a world that is in reach of cloth: triangles, where they were a step ago and where they are."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol
from weakref import WeakKeyDictionary

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.dynamics.characters.obstacles import NearBodies
from thud.dynamics.characters.reach import grid_in_reach, half_space_in_reach
from thud.dynamics.characters.solids import solids_of
from thud.dynamics.sticks.reach import block_boxes, corners_before, grid_near, mesh_near, plane_near
from thud.dynamics.sticks.search import own_features
from thud.dynamics.sticks.tolerances import BLOCK, SEGMENTS
from thud.dynamics.sticks.types import IS_FACE, Bytes, Int32
from thud.gates import as_poses
from thud.mesh.trees import box_tree
from thud.pairing.leaves import placed
from thud.shapes.shape import IDENTITY, Shape
from thud.shapes.triangle_mesh import TriangleMesh
from thud.shapes.triangles import convex_triangles


class CollisionQueries(Protocol):
    """What sticks ask of a world; `World` has it, and says what each does."""

    gravity: Floats
    threads: int | None

    def near(self, boxes: Floats, mask: int) -> NearBodies: ...  # noqa: D102
    def handles(self) -> Ints: ...  # noqa: D102
    def poses(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def bounds(self, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]: ...  # noqa: D102
    def friction(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def mass(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def center_of_mass(self, handles: npt.ArrayLike | None = None) -> Floats: ...  # noqa: D102
    def apply_impulse(  # noqa: D102
        self, handles: npt.ArrayLike, impulse: npt.ArrayLike, points: npt.ArrayLike | None = None
    ) -> None: ...


class Piece(NamedTuple):
    """One leaf of a shape."""

    pose: Floats
    kernel: Any
    data: Any
    triangles: int


class Obstacles(NamedTuple):
    """Triangles of B bodies."""

    before: Floats
    after: Floats
    """(T, 9) corners at the begin and at the end of the step, world frame."""
    body: Int32
    owns: Bytes
    """(T,), (T,) place of the body; which points and edges a triangle looks after, as in `Triangles`."""
    handles: Ints
    free: Bools
    friction: Floats
    poses: Floats
    """(B,), (B,), (B,), (B, 12)"""


_MADE: WeakKeyDictionary[Shape, tuple[Piece, ...]] = WeakKeyDictionary()


def pieces_of(shape: Shape) -> tuple[Piece, ...]:
    """What a shape is made of, found once; curved parts as facets."""
    found = _MADE.get(shape)
    if found is None:
        found = tuple(_piece(solid) for solid in solids_of(shape))
        _MADE[shape] = found
    return found


def _piece(solid: Any) -> Piece:
    if solid.kernel is half_space_in_reach:
        return Piece(solid.pose, plane_near, solid.data, 0)
    if solid.kernel is grid_in_reach:
        return Piece(solid.pose, grid_near, solid.data, 2 * solid.data.rows * solid.data.columns)
    tree = solid.data
    if solid.kernel is None:
        tree = box_tree(TriangleMesh(*convex_triangles(solid.data, SEGMENTS)))
    return Piece(solid.pose, mesh_near, tree, len(tree.corners) // 9)


class PoseMemory:
    """Where the bodies of a world were when sticks last looked."""

    def __init__(self) -> None:
        self._handles: Ints = np.empty(0, np.int64)
        self._poses: Floats = np.empty((0, 12))

    def look(self, world: CollisionQueries) -> tuple[Ints, Floats, Floats]:
        """Handles in order, and poses (N, 12) before and now; a body that is new was where it is."""
        handles = world.handles()
        now = as_poses(world.poses(), "poses") if len(handles) else np.empty((0, 12))
        order = np.argsort(handles)
        handles, now = handles[order], now[order]
        if np.array_equal(handles, self._handles):
            before = self._poses
        else:
            before = now.copy()
            if len(self._handles):
                at = np.minimum(np.searchsorted(self._handles, handles), len(self._handles) - 1)
                known = self._handles[at] == handles
                before[known] = self._poses[at[known]]
        self._handles, self._poses = handles, now
        return handles, before, now

    def state(self) -> tuple[Ints, Floats]:
        """As arrays."""
        return self._handles, self._poses

    def restore(self, handles: Ints, poses: Floats) -> None:
        """From arrays."""
        self._handles, self._poses = handles, poses


def travels(world: CollisionQueries, handles: Ints, before: Floats, now: Floats, within: Floats) -> float:
    """How far any body has moved at most, metres, of those that may have come near a box (6,)."""
    moved = np.flatnonzero((before != now).any(axis=1))
    if not len(moved):
        return 0.0
    lower, upper = world.bounds(handles[moved])
    # The farthest corner of the box about the body, from its origin; what turns, turns about that.
    origin = now[moved, 9:]
    far = np.linalg.norm(np.maximum(np.abs(lower - origin), np.abs(upper - origin)), axis=1)
    turn = np.linalg.norm(now[moved, :9] - before[moved, :9], axis=1) / np.sqrt(2.0)
    way = np.linalg.norm(now[moved, 9:] - before[moved, 9:], axis=1) + np.where(turn > 0.0, turn * far, 0.0)
    near = ((lower - way[:, None] <= within[3:]) & (upper + way[:, None] >= within[:3])).all(axis=1)
    return float(way[near & np.isfinite(way)].max(initial=0.0))


class Gatherer:
    """Finds triangles; keeps its memory from step to step."""

    def __init__(self) -> None:
        self._corners = np.empty((1024, 9))

    def gather(
        self, world: CollisionQueries, low: Floats, high: Floats, items: Int32, reach: float, mask: int, ignore: Ints,
        seen: tuple[Ints, Floats, Floats],
    ) -> Obstacles:  # fmt: skip
        """What is in reach of items (I, 3) of points in boxes (N, 3), which are made larger by how far bodies may push points.
        `seen`: as `PoseMemory.look` says."""
        handles, before, now = seen
        blocks = -(-len(items) // BLOCK)
        rooms = np.empty((blocks, 6))
        run_rows(block_boxes, blocks, world.threads, low, high, items, reach, BLOCK, rooms)
        within = np.concatenate([rooms[:, :3].min(axis=0), rooms[:, 3:].max(axis=0)])
        way = travels(world, handles, before, now, within)
        low -= way
        high += way
        # A triangle that is that far away now may have been near.
        rooms[:, :3] -= 2.0 * way
        rooms[:, 3:] += 2.0 * way
        near = world.near(rooms, mask)
        row, body = near.row, near.body
        if len(ignore):
            keep = ~np.isin(near.handles, ignore)[body] if len(body) else np.empty(0, np.bool_)
            row, body = row[keep], body[keep]
        order = np.argsort(body, kind="stable")
        row, body = row[order], body[order]
        firsts = np.searchsorted(body, np.arange(len(near.handles) + 1))
        found, ends, planes = 0, [], []
        for b, shape in enumerate(near.shapes):
            chosen = np.ascontiguousarray(row[firsts[b] : firsts[b + 1]])
            if len(chosen):
                for piece in pieces_of(shape):
                    begin, found = found, self._piece(piece, near.poses[b : b + 1], rooms, chosen, found)
                    if piece.kernel is plane_near:
                        planes.append(slice(begin, found))
            ends.append(found)
        bodies = np.repeat(np.arange(len(ends), dtype=np.int32), np.diff([0, *ends])).astype(np.int32)
        after = self._corners[:found]
        # Compared with what was read in the same way: poses that went through quaternions.
        places = np.searchsorted(handles, near.handles)
        old = np.ascontiguousarray(before[places])
        moves = (old != now[places]).any(axis=1).astype(np.uint8)
        was = np.empty((found, 9))
        run_rows(corners_before, found, world.threads, after, bodies, old, near.poses, moves, was)
        owns: Bytes = np.empty(found, np.uint8)
        own_features(after, bodies, np.empty(1 << int(8 * found).bit_length(), np.int32), owns)
        for plane in planes:
            # What is on one side of a plane with its points is so with its edges.
            owns[plane] = IS_FACE
        friction = world.friction(near.handles) if len(near.handles) else np.empty(0)
        return Obstacles(was, after, bodies, owns, near.handles, near.free, friction, near.poses)

    def _piece(self, piece: Piece, pose: Floats, rooms: Floats, chosen: Ints, found: int) -> int:
        where = pose if piece.pose is IDENTITY else placed(pose, piece.pose)
        while True:
            seen = np.zeros(piece.triangles, np.uint8)
            count = int(piece.kernel(piece.data, where, rooms, chosen, seen, self._corners, found))
            if count <= len(self._corners):
                return count
            more = np.empty((count + count // 2, 9))
            more[:found] = self._corners[:found]
            self._corners = more
