"""Collision detection with a displaced surface as the paper has it (Algorithm 13), and the plain ways it is compared with.

All begin alike: the primitives whose boxes meet the box that the object sweeps, less those whose bounding planes it does not
come between.

- "every_vertex" projects every vertex of the object backwards onto each of these, as 3.6 and 5.1 describe the old method.
- "plain" has all the culling of chapter 2: each part of the object goes down the tree of the primitives' boxes (2.5.3), its box
  is compared with the planes, and only vertices between them are projected (2.6), until one is below.
- "multiresolution" comes between the two: a part whose box passed is tested against bounding volumes (`multiresolution.py`),
  and only the vertices of those that a finest one confirms are projected.
- "auto" chooses part by part (5.1.1, 5.2): volumes are asked for parts of many vertices.

Beyond the paper (`peaks`): a part with no vertex below the surface may still be pierced by it; it is tested against the patches
themselves, and "auto" asks these alone. A part that touches none may lie in the ground as a whole.

From frame to frame (5.2) a cache keeps for each part the patch that confirmed it and the vertex that was below; they are asked
first. The answers are the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.decorators import device, kernel
from thud._core.status import OVERLAPPING
from thud.convex.own_parts import own_parts
from thud.errors import InvalidInputError
from thud.gates import as_flag, as_vector
from thud.math.pose import transform
from thud.pairing.pair_cache import PairCache
from thud.pairing.rows import relative_pose
from thud.pose import PoseLike, as_poses
from thud.shapes.packed import KIND, VERTEX_COUNT, Parts
from thud.shapes.shape import BOX, HULL, Shape
from thud.terrain.collision.counts import (
    AUTO,
    BOXES,
    COUNT_NAMES,
    COUNTS,
    EARLY_OUT,
    EVERY_VERTEX,
    FIRST_PART,
    LAST,
    LAST_PRIMITIVE,
    LAST_QUAD,
    LAST_VERTEX,
    METHOD,
    METHODS,
    MULTIRESOLUTION,
    PAIRS,
    PAIRS_BEYOND,
    PEAKS,
    PLANES,
    POINTS,
    PROJECTED,
    PROJECTION,
    PROJECTIONS,
    STAGE,
    SURFACE,
    WITH_PEAKS,
)
from thud.terrain.collision.ground_walk import part_in_ground
from thud.terrain.collision.meets import part_place, part_point
from thud.terrain.collision.multiresolution import coarsest_level, patch_confirms
from thud.terrain.collision.patch import load_patch
from thud.terrain.collision.patch_query import MEET, patch_query
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.tolerances import PLAIN_VERTICES
from thud.terrain.collision.vertices_below import (
    between_planes,
    every_vertex_below,
    own_vertices,
    vertex_below,
    vertices_below,
)
from thud.terrain.collision.volumes import boxes_apart
from thud.terrain.collision.walk import box_beyond_planes, moved_box, part_box, walk_part
from thud.terrain.collision.work_space import BEST, NEAR, PartQuery, new_work_space
from thud.terrain.surface import DisplacedSurface

_I = np.int64


@dataclass(frozen=True)
class SurfaceCollision:
    """What collided with the surface, and at what cost."""

    parts: npt.NDArray[np.bool_]
    """(P,) which convex parts of the object touch the surface or the ground."""
    counts: dict[str, int]
    """Primitives in the swept box and between the planes; pairs of a part and a primitive whose boxes meet, and those of them
    that the planes reject; vertices that the planes reject; pairs of a part and a volume that their boxes reject; tests of
    coarsest, finer and finest volumes; backward projections; and beyond the paper walks for peaks and points tested for being
    in the ground."""
    method: str

    @property
    def collides(self) -> bool:
        """Whether any part does."""
        return bool(self.parts.any())


@kernel(inner="surface, UniTuple(f8, 6), i8[::1], i8, i8, i8[::1]")
def primitives_near(surface, box, near_out, met, beyond, counts):
    """Primitives whose box meets the given one and whose planes it comes between. counts[met], counts[beyond]: how many boxes
    meet, and how many of them the planes reject. Returns how many are left."""
    many, k, b6 = _I(0), _I(0), surface.node_boxes
    while k < surface.node_ints.shape[0]:
        lx, ly, lz = np.float64(b6[k, 0]), np.float64(b6[k, 1]), np.float64(b6[k, 2])
        if boxes_apart(box, lx, ly, lz, np.float64(b6[k, 3]), np.float64(b6[k, 4]), np.float64(b6[k, 5]), 0.0):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        if item >= 0:
            counts[met] += 1
            if box_beyond_planes(surface, item, box):
                counts[beyond] += 1
            else:
                near_out[many] = item
                many += 1
        k += 1
    return many


@device
def buried(surface, parts, query, space, counts):
    """Whether a part that touches no patch of the sheet meets the ground: its bottom, its sides or its inside."""
    before = space.counter[0]
    inside = part_in_ground(surface, parts, query, space)
    counts[POINTS] += space.counter[0] - before
    return inside


@device
def was_below(surface, parts, b, r, t, near, many, last, projection, space, counts):
    """Whether the vertex that was below the surface in the last frame still is, of a primitive that is still near."""
    k, which = last[LAST_PRIMITIVE], last[LAST_VERTEX]
    if which < 0 or which >= own_vertices(parts, b):
        return False
    for i in range(many):
        if near[i] == k:
            p = transform(r, t, part_point(parts, b, which))
            if not between_planes(surface, k, p):
                return False
            counts[PROJECTED] += 1
            return vertex_below(surface, k, p, projection, space)
    return False


@kernel(inner="surface, parts, part_query, work_space, i8[::1], i8, i8[::1], i8[::1], i8[::1]")
def part_collides(surface, parts, query, space, near, many, way, last, counts):
    """Whether a part collides with one of the primitives near it, by its vertices. `last`: what is known of the last frame,
    then of this one."""
    b, r, t, projection = query.b, query.r, query.t, way[PROJECTION]
    volumes = way[METHOD] == MULTIRESOLUTION or (way[METHOD] == AUTO and own_vertices(parts, b) > PLAIN_VERTICES)
    if volumes:
        confirmed = False
        if 0 <= last[LAST_QUAD] < surface.quads.shape[0] and way[STAGE] == SURFACE:
            confirmed = patch_confirms(surface, parts, query, space, last[0], last[1], last[2], counts)
        if not confirmed:
            last[LAST_QUAD] = -1
            for i in range(many):
                if coarsest_level(surface, parts, query, space, near[i], way[STAGE], last, counts):
                    confirmed = True
                    break
        if not confirmed:
            # It touches nothing. By the paper's algorithms it is free; "auto" also finds what the plain way would: all of it
            # below the surface.
            return way[METHOD] == AUTO and buried(surface, parts, query, space, counts)
    if way[STAGE] < SURFACE:
        return False
    if was_below(surface, parts, b, r, t, near, many, last, projection, space, counts):
        return True
    last[LAST_PRIMITIVE] = -1
    for i in range(many):
        which = vertices_below(surface, parts, b, r, t, near[i], projection, space, counts)
        if which >= 0:
            last[LAST_PRIMITIVE], last[LAST_VERTEX] = near[i], which
            return True
    return False


@device
def pierced(surface, parts, query, space, last, counts):
    """Beyond the paper: whether a part touches a patch of the sheet. `last`: the patch to ask first."""
    counts[PEAKS] += 1
    result = space.result
    if 0 <= last[LAST_QUAD] < surface.quads.shape[0]:
        load_patch(surface, last[0], last[1], last[2], space.corners)
        hit, outcome, _value, _p, _n = patch_query(parts, query, space, 0.0)
        if hit and outcome == OVERLAPPING:
            return True
    result[BEST], result[NEAR] = 0.0, 0.0
    if walk_part(surface, parts, query, space, _I(0)) > 0:
        last[0], last[1], last[2] = space.found[0, 1], space.found[0, 2], space.found[0, 3]
        return True
    return False


@kernel("surface, query_object, f8[:,::1], f8[:,::1], f8[::1], i8[::1], i8[:,::1], u1[::1], i8[::1]")
def collide(surface, shape, pose_s, pose_o, motion, way, last_inout, hit_out, counts_out):
    """Algorithm 13, or a plain way. `motion`: what the object has moved by to get here, in the surface's frame: its box sweeps
    over it. `way`: columns in `counts.py`. last_inout: (P, LAST) of each part. hit_out: parts that collide."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, still = space.box, (0.0, 0.0, 0.0)
    a = _I(part_poses.shape[0] - 1)
    r, t = relative_pose(pose_s, 0, pose_o, 0)
    boxes, whole = np.empty((a, 6)), np.empty(6)
    for axis in range(3):
        whole[axis], whole[axis + 3] = np.inf, -np.inf
    for b in range(a):
        hit_out[b] = 0
        rb, tb = part_place(part_poses, b, r, t)
        part_box(parts, b, rb, tb, box)
        for axis in range(3):
            boxes[b, axis], boxes[b, axis + 3] = box[axis], box[axis + 3]
            whole[axis], whole[axis + 3] = min(whole[axis], box[axis]), max(whole[axis + 3], box[axis + 3])
    # Broad phase and early out (2.5, 2.6): the swept box against the primitives' boxes and planes.
    swept = moved_box(whole, (-motion[0], -motion[1], -motion[2]), 1.0)
    primitives = np.empty(surface.primitives.shape[0], np.int64)
    many = primitives_near(surface, swept, primitives, BOXES, PLANES, counts_out)
    counts_out[PLANES] = many
    if way[STAGE] == EARLY_OUT or (many == 0 and not way[WITH_PEAKS]):
        return
    near = np.empty(surface.primitives.shape[0], np.int64)
    for b in range(a):
        rb, tb = part_place(part_poses, b, r, t)
        query = PartQuery(a, _I(b), rb, tb, still, _I(MEET))
        for axis in range(6):
            box[axis] = boxes[b, axis]
        if way[METHOD] == EVERY_VERTEX:
            for i in range(many):
                if every_vertex_below(surface, parts, b, rb, tb, primitives[i], way[PROJECTION], space, counts_out):
                    hit_out[b] = 1
        few = primitives_near(surface, (box[0], box[1], box[2], box[3], box[4], box[5]), near, PAIRS, PAIRS_BEYOND, counts_out)
        if few > 0 and way[METHOD] != EVERY_VERTEX and not (way[METHOD] == AUTO and way[WITH_PEAKS]):
            if part_collides(surface, parts, query, space, near, few, way, last_inout[b], counts_out):
                hit_out[b] = 1
        if way[WITH_PEAKS] and not hit_out[b] and way[STAGE] == SURFACE:
            if (few > 0 and pierced(surface, parts, query, space, last_inout[b], counts_out)) or buried(
                surface, parts, query, space, counts_out
            ):
                hit_out[b] = 1
        if hit_out[b] and way[FIRST_PART]:
            return


def surface_collision(
    surface: DisplacedSurface,
    shape: Shape,
    pose: PoseLike = None,
    *,
    motion: npt.ArrayLike = (0.0, 0.0, 0.0),
    surface_pose: PoseLike = None,
    method: str = "auto",
    projection: str = "cubic",
    peaks: bool = True,
    any_part: bool = False,
    cache: PairCache | None = None,
) -> SurfaceCollision:
    """Which parts of a shape collide with a surface, by the paper's algorithms, with what they cost.

    Parameters
    ----------
    surface : the surface
    shape : convex, or a compound of convex shapes
    pose, surface_pose : one pose each, world frame
    motion : (3,) what the shape has moved by since the last frame, metres, world frame: the box swept selects the primitives
    method : "every_vertex": each against each primitive near the shape (3.6, 5.1); "plain": parts by their boxes, vertices
        between the bounding planes (2.5, 2.6); "multiresolution": Algorithms 10 to 13; "auto": part by part what is likely to
        cost least (5.1.1), with peaks the patches at once
    projection : "cubic", "alpha_plane" or "aligned_plane" (which may be wrong)
    peaks : beyond the paper: find peaks that pierce a part with no vertex below the surface, and parts wholly in the ground
    any_part : end with the first part that collides; the others are then False
    cache : `thud.PairCache` that was given to this call in the last frame: patches and vertices that decided then are asked
        first (5.2), the answers are the same
    """
    for name, value, allowed in (
        ("method", method, tuple(METHODS)),
        ("projection", projection, tuple(PROJECTIONS)),
    ):
        if value not in allowed:
            raise InvalidInputError(f"{name}: expected one of {allowed}, got {value!r}")
    if cache is not None and not isinstance(cache, PairCache):
        raise InvalidInputError(f"cache: expected a thud.PairCache, got a {type(cache).__name__}")
    peaks, any_part = as_flag(peaks, "peaks"), as_flag(any_part, "any_part")
    arrays = query_object(shape)
    rows_s, rows_o = as_poses(surface_pose, "surface_pose"), as_poses(pose, "pose")
    for name, rows in (("pose", rows_o), ("surface_pose", rows_s)):
        if len(rows) != 1:
            raise InvalidInputError(f"{name}: expected one pose, got {len(rows)}; `thud.intersects` takes many")
    moved = as_vector(motion, "motion") @ rows_s[0, :9].reshape(3, 3)
    hit, counts = np.zeros(len(arrays.part_poses) - 1, dtype=np.uint8), np.zeros(COUNTS, dtype=np.int64)
    if cache is None:
        last = np.full((len(hit), LAST), -1)
    else:
        cache.start(surface, shape)
        last = cache.found(("surface_collision", method, projection), len(hit), LAST)
    way = as_way(method, projection, peaks, SURFACE, any_part)
    collide(surface.arrays, arrays, rows_s, rows_o, np.ascontiguousarray(moved), way, last, hit, counts)
    return SurfaceCollision(hit.astype(bool), dict(zip(COUNT_NAMES, counts.tolist())), method)


def as_way(method: str, projection: str, peaks: bool, stage: int, any_part: bool) -> npt.NDArray[np.int64]:
    """What `collide` is told."""
    return np.array([METHODS[method], PROJECTIONS[projection], peaks, stage, any_part], dtype=np.int64)


def vertices_of(parts: Parts) -> int:
    """Vertices of an object's parts, the placeholder left out."""
    own = parts.ints[:-1]
    return int(np.where(own[:, KIND] == HULL, own[:, VERTEX_COUNT], np.where(own[:, KIND] == BOX, 8, 6)).sum())
