"""Closest distance in the former frame ([Yang] 1.1 and 2.8): how near, and in which direction, the parts that collide in the
predicted frame were to the places of the terrain that they collide with there.

The places are the patches that a part meets in the predicted frame. GJK is asked about the patches, cut into pieces as all
distances are; V-Clip about the tetrahedra of their corners, the paper's finest volumes, which leave a patch by up to a quarter
of its twist. A tetrahedron that is nearly flat is no polytope for V-Clip: GJK answers.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel
from thud._core.status import SEPARATED
from thud._core.threads import check_threads, run_rows
from thud.convex.dispatch import empty_distances
from thud.convex.own_parts import own_parts
from thud.errors import InvalidInputError
from thud.math.pose import load_rotation, load_translation, rotate, transform
from thud.pairing.advance import predicted_rows
from thud.pairing.ask import ask_pair
from thud.pairing.leaves import leaves, placed
from thud.pairing.motions import as_motion
from thud.pairing.rows import distance_fields, relative_pose
from thud.pose import Pose, PoseLike, as_poses
from thud.results import Distances, PartDistances
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.shape import Shape
from thud.terrain.collision import queries
from thud.terrain.collision.meets import part_place
from thud.terrain.collision.patch import load_patch
from thud.terrain.collision.patch_query import DISTANCE, GATHER, patch_query
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.surface_collision import surface_collision
from thud.terrain.collision.tolerances import FLAT_TETRAHEDRON
from thud.terrain.collision.walk import part_box, walk_part
from thud.terrain.collision.work_space import BEST, NEAR, PartQuery, new_work_space
from thud.terrain.surface import DisplacedSurface

_I = np.int64

#: Patches that there is room for at first.
_ROOM = 256


@kernel("surface, query_object, f8[:,::1], f8[:,::1], u1[::1], i8, i8[:,::1]")
def met_patches(surface, shape, pose_s, pose_o, chosen, room, found_out):
    """Patches that the chosen parts meet: part, quad, x, y. Returns how many, which may be more than fit."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(room)
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    r, t = relative_pose(pose_s, 0, pose_o, 0)
    count = _I(0)
    for b in range(a):
        if chosen[b]:
            rb, tb = part_place(part_poses, b, r, t)
            part_box(parts, b, rb, tb, space.box)
            space.result[BEST], space.result[NEAR] = 0.0, 0.0
            before = count
            count = walk_part(surface, parts, PartQuery(a, _I(b), rb, tb, still, _I(GATHER)), space, count)
            for k in range(before, min(count, room)):
                found_out[k, 0] = b
                for c in range(1, 4):
                    found_out[k, c] = space.found[k, c]
    return count


@kernel("i8, i8, surface, query_object, f8[:,::1], f8[:,::1], i8[:,::1], distance_fields")
def patch_distance_rows(start, stop, surface, shape, pose_s, pose_o, patches, out):
    """Distance of each part to its patch, world frame, normal from the surface to the part."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    r, t = relative_pose(pose_s, 0, pose_o, 0)
    world_r, world_t = load_rotation(pose_s, 0), load_translation(pose_s, 0)
    for row in range(start, stop):
        b = patches[row, 0]
        rb, tb = part_place(part_poses, b, r, t)
        load_patch(surface, patches[row, 1], patches[row, 2], patches[row, 3], space.corners)
        query = PartQuery(a, b, rb, tb, still, _I(DISTANCE))
        _hit, status, value, p, n = patch_query(parts, query, space, math.inf)
        p, n = transform(world_r, world_t, p), rotate(world_r, n)
        out.distance[row], out.status[row] = value, status
        for k in range(3):
            out.point_a[row, k], out.normal[row, k], out.point_b[row, k] = p[k], n[k], p[k] + value * n[k]


@kernel("surface, i8[:,::1], f8[:,:,::1]")
def patch_corners(surface, patches, corners_out):
    """Corners of each patch, surface frame."""
    for k in range(patches.shape[0]):
        load_patch(surface, patches[k, 1], patches[k, 2], patches[k, 3], corners_out[k])


def former_distance(
    surface: DisplacedSurface,
    shape: Shape,
    pose: PoseLike = None,
    motion: npt.ArrayLike = 0.0,
    *,
    surface_pose: PoseLike = None,
    method: str = "gjk",
    threads: int | None = None,
) -> PartDistances:
    """For the parts of a shape that collide with a surface in the predicted frame, the closest distance and direction in the
    former one: the constraint that stops them before they penetrate ([Yang] 1.1 and 2.8).

    Parameters
    ----------
    surface : the surface, at rest
    shape : convex, or a compound of convex shapes
    pose : one pose, former frame
    motion : (3,) displacement to the predicted frame, metres, world frame; or (6,) with a rotation vector, as for `thud.cast`
    surface_pose : one pose
    method : "gjk", or "v_clip" for hulls and boxes
    threads : how many to use; default all cores
    """
    if method not in ("gjk", "v_clip"):
        raise InvalidInputError(f"method: expected 'gjk' or 'v_clip', got {method!r}")
    check_threads(threads)
    move = as_motion(motion, "motion")
    rows_s, former = as_poses(surface_pose, "surface_pose"), as_poses(pose, "pose")
    for name, rows in (("pose", former), ("motion", move), ("surface_pose", rows_s)):
        if len(rows) != 1:
            raise InvalidInputError(f"{name}: expected one, got {len(rows)}; `thud.former_distance` takes many")
    predicted = predicted_rows(former, move)
    arrays = query_object(shape)
    hit = surface_collision(surface, shape, Pose.from_rows(predicted), surface_pose=surface_pose).parts
    patches = _patches(surface, arrays, rows_s, predicted, hit)
    found = empty_distances(len(patches))
    run_rows(
        patch_distance_rows, len(patches), threads, surface.arrays, arrays, rows_s, former, patches, distance_fields(found)
    )
    if method == "v_clip":
        _by_v_clip(surface, shape, rows_s, former, patches, found, threads)
    return _nearest(surface, shape, rows_s, former, hit, patches, found, threads)


def _patches(surface: DisplacedSurface, arrays: object, rows_s: Floats, rows_o: Floats, hit: npt.NDArray[np.bool_]) -> Ints:
    """(M, 4) part, quad, x, y; each patch once a part, in order."""
    room = _ROOM
    while True:
        found = np.empty((room, 4), np.int64)
        count = met_patches(surface.arrays, arrays, rows_s, rows_o, hit.astype(np.uint8), room, found)
        if count <= room:
            # A patch on the border of two primitives is met in both.
            return np.ascontiguousarray(np.unique(found[:count], axis=0))
        room = int(count)


def _by_v_clip(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, patches: Ints, out: Distances, threads: int | None
) -> None:
    """Write the distances to the tetrahedra that are not flat."""
    corners = np.empty((len(patches), 4, 3))
    patch_corners(surface.arrays, patches, corners)
    edges = corners[:, 1:] - corners[:, :1]
    size = np.abs(edges).max(axis=(1, 2))
    solid = np.abs(np.linalg.det(edges)) > FLAT_TETRAHEDRON * size**3
    parts = leaves(shape)
    for k in np.flatnonzero(solid):
        part, inner = parts[patches[k, 0]]
        at = placed(rows_o, inner)
        found = ask_pair(
            "distance", ConvexHull(corners[k]), part, rows_s, at, 1, reach=np.inf, threads=threads, method="v_clip"
        )
        out.distance[k], out.status[k] = found.distance[0], found.status[0]
        out.point_a[k], out.point_b[k], out.normal[k] = found.point_a[0], found.point_b[0], found.normal[0]


def _nearest(
    surface: DisplacedSurface, shape: Shape, rows_s: Floats, rows_o: Floats, hit: npt.NDArray[np.bool_], patches: Ints,
    found: Distances, threads: int | None,
) -> PartDistances:  # fmt: skip
    """The nearest patch of each part that collides; of a part in the ground that touches none, of all patches."""
    part = np.flatnonzero(hit)
    many = np.bincount(patches[:, 0], minlength=len(hit))[part]
    out = PartDistances(
        part, np.empty(len(part)), np.empty((len(part), 3)), np.empty((len(part), 3)), np.empty((len(part), 3)),
        np.full(len(part), SEPARATED, np.uint8), many,
    )  # fmt: skip
    ends = np.cumsum(many)
    parts = leaves(shape)
    for k in range(len(part)):
        if many[k]:
            best, row = found, ends[k] - many[k] + int(np.argmin(found.distance[ends[k] - many[k] : ends[k]]))
        else:
            leaf, inner = parts[part[k]]
            at = placed(rows_o, inner)
            best, row = queries.distance(surface, leaf, rows_s, at, 1, threads=threads), 0
        out.distance[k], out.status[k] = best.distance[row], best.status[row]
        out.point_a[k], out.point_b[k], out.normal[k] = best.point_a[row], best.point_b[row], best.normal[row]
    return out
