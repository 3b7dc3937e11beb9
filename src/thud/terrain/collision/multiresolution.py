"""Multiresolution collision detection as the paper has it (Algorithms 10 to 13), and the plain way it is compared with.

Both begin alike: the primitives whose boxes meet the box that the object sweeps, less those whose bounding planes it does
not come between. The plain way projects every vertex of the object backwards onto each of these. The multiresolution way
first tests the convex parts of the object against the coarsest bounding volumes of the primitive, then one level down at a
time, then against the tetrahedra of single patches; only vertices of parts that one of these confirms are projected.

As printed, a later volume that is not met removes a part that an earlier one kept, and a part in the map is skipped though no
tetrahedron confirmed it: collisions are lost. Here a part stays once a finest volume has confirmed it, and is skipped only
then; "remove" means "not confirmed by this volume".

Beyond the paper (`peaks`): a part that is confirmed and has no vertex below the surface may still be pierced by it; it is
tested against the patches themselves. A part that no volume confirms may lie in the ground as a whole: one of its points
decides.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.decorators import device, kernel
from thud.convex.convex_pair import pair_intersects
from thud.convex.gjk import center_axis
from thud.convex.own_parts import own_parts
from thud.errors import InvalidInputError
from thud.gates import as_vector
from thud.math.pose import transform
from thud.pairing.rows import relative_pose
from thud.pose import PoseLike, as_poses
from thud.shapes.packed import KIND, VERTEX_COUNT, Parts
from thud.shapes.shape import BOX, HALF_SPACE, HULL, Shape
from thud.terrain.bounding.volume import EXTREME
from thud.terrain.collision.ground import BELOW, compare, height_over, project, vertex
from thud.terrain.collision.ground_walk import part_in_ground
from thud.terrain.collision.meets import part_place, part_point, vertex_count
from thud.terrain.collision.patch import load_patch
from thud.terrain.collision.query_object import query_object
from thud.terrain.collision.tolerances import PLAIN_VERTICES
from thud.terrain.collision.volumes import box_of, boxes_apart, load_cell, set_points
from thud.terrain.collision.walk import (
    MEET,
    beyond_planes,
    box_beyond_planes,
    heights,
    in_outline,
    moved_box,
    outline,
    part_box,
    walk_part,
)
from thud.terrain.collision.work_space import BEST, NEAR, PartQuery, new_work_space
from thud.terrain.projection.aligned_plane import aligned_project
from thud.terrain.projection.alpha_plane import newton_project
from thud.terrain.projection.alpha_triangle import AMBIGUOUS, INSIDE, UNCONVERGED
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_arrays import LEAST, LOWER, MOST, NORMAL, QUAD, SIDE, STEP, V3

_I = np.int64

PLAIN, MULTIRESOLUTION = 0, 1
CUBIC, ALPHA_PLANE, ALIGNED_PLANE = 0, 1, 2
METHODS = {"plain": PLAIN, "multiresolution": MULTIRESOLUTION}
PROJECTIONS = {"cubic": CUBIC, "alpha_plane": ALPHA_PLANE, "aligned_plane": ALIGNED_PLANE}
SEPARATED = 0

# What is counted: primitives whose box is met and whose planes are, tests against coarsest, finer and finest volumes, backward
# projections onto the surface, walks for peaks, points tested for being in the ground.
BOXES, PLANES, COARSEST, FINER, FINEST, PROJECTED, PEAKS, POINTS = range(8)
COUNTS = 8

# Stages, in order.
EARLY_OUT, COARSEST_LEVEL, FINER_LEVEL, FINEST_LEVEL, SURFACE = range(5)


@dataclass(frozen=True)
class SurfaceCollision:
    """What collided with the surface, and at what cost."""

    parts: npt.NDArray[np.bool_]
    """(P,) which convex parts of the object touch the surface or the ground."""
    counts: dict[str, int]
    """Primitives in the swept box and between the planes; tests of coarsest, finer and finest volumes; backward
    projections; and beyond the paper walks for peaks and points tested for being in the ground."""
    method: str

    @property
    def collides(self) -> bool:
        """Whether any part does."""
        return bool(self.parts.any())


@kernel(inner="surface, i8, vec3, i8, f8[:,::1]")
def vertex_below(surface, k, p, projection, corners):
    """Whether a vertex, projected backwards onto primitive k, is below the surface and in the ground (2.4.2)."""
    least, most = surface.planes[k, LEAST], surface.planes[k, MOST]
    if projection == CUBIC or surface.primitives[k, V3] >= 0:
        status, u, v, length = project(surface, k, p, least, most)
    else:
        p0, p1, p2 = vertex(surface, k, 0, 0), vertex(surface, k, 1, 0), vertex(surface, k, 2, 0)
        n0, n1, n2 = vertex(surface, k, 0, 3), vertex(surface, k, 1, 3), vertex(surface, k, 2, 3)
        if projection == ALPHA_PLANE:
            found = newton_project(p, p0, p1, p2, n0, n1, n2, least, most, most)
            status, u, v, length = found[0], found[1], found[2], found[3]
        else:
            found3 = aligned_project(p, p0, p1, p2, n0, n1, n2, least, most)
            status, u, v, length = found3[0], found3[1], found3[2], found3[3]
    if status == UNCONVERGED and projection == CUBIC:
        return True
    if status != INSIDE and status != AMBIGUOUS:
        return False
    if height_over(surface, k, p) < surface.planes[k, LOWER]:
        return False
    return compare(surface, k, p, u, v, length, corners)[0] == BELOW


@kernel(inner="surface, parts, i8, mat3, vec3, i8, i8, f8[:,::1], i8[::1]")
def part_below(surface, parts, b, r, t, k, projection, corners, counts):
    """Whether any vertex of a part is below the surface of primitive k; of what is curved one of six extreme points."""
    # A half-space has no vertex: whether it meets the surface is left to the patches.
    many = vertex_count(parts, b) if parts.ints[b, KIND] != HALF_SPACE else _I(0)
    for which in range(many):
        counts[PROJECTED] += 1
        if vertex_below(surface, k, transform(r, t, part_point(parts, b, which)), projection, corners):
            return True
    return False


@device
def volume_meets(parts, query, points, count):
    """GJK of a bounding volume and a part."""
    a, b, r, t, _m, _mode = query
    o = set_points(parts, a, points, count)
    at = (t[0] - o[0], t[1] - o[1], t[2] - o[2])
    axis = center_axis(parts, a, b, r, at)
    return pair_intersects(parts, a, b, r, at, axis)[0] != SEPARATED


@kernel(inner="surface, parts, part_query, work_space, i8, i8, i8, i8, i8, i8[::1]")
def one_level_down(surface, parts, query, space, k, step, x, y, stage, counts):
    """Algorithms 11 and 12: whether a finest volume in cell (x, y) of the given step, which the part meets, confirms it."""
    quad, box, points, corners, cells = _I(surface.primitives[k, QUAD]), space.box, space.points, space.corners, space.cells
    ratio = surface.ratio
    shape = outline(surface, k)
    cells[0, 0], cells[0, 1], cells[0, 2] = step, x, y
    depth = 1
    while depth > 0:
        depth -= 1
        step, x, y = cells[depth, 0], cells[depth, 1], cells[depth, 2]
        finer = step // 2
        if finer < 2:
            # Algorithm 12: tetrahedra from the displacement map itself.
            if stage < FINEST_LEVEL:
                continue
            pace = step * ratio
            for j in range(y * pace, (y + 1) * pace):
                for i in range(x * pace, (x + 1) * pace):
                    if not in_outline(shape, i, j, i + 1, j + 1):
                        continue
                    load_patch(surface, quad, i, j, corners)
                    lx, ly, lz, ux, uy, uz = box_of(corners, 4)
                    if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0):
                        continue
                    counts[FINEST] += 1
                    if volume_meets(parts, query, corners, 4):
                        return True
            continue
        for j in range(2):
            for i in range(2):
                cx, cy, pace = 2 * x + i, 2 * y + j, finer * ratio
                if not in_outline(shape, cx * pace, cy * pace, (cx + 1) * pace, (cy + 1) * pace):
                    continue
                code, _flat = load_cell(surface, quad, finer, cx, cy, points)
                if code != EXTREME:
                    lx, ly, lz, ux, uy, uz = box_of(points, 8)
                    if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0):
                        continue
                    counts[FINER] += 1
                    if not volume_meets(parts, query, points, 8):
                        continue
                cells[depth, 0], cells[depth, 1], cells[depth, 2] = finer, cx, cy
                depth += 1
    return False


@kernel(inner="surface, parts, work_space, f8[:,::1], f8[:,::1], i8, u1[::1], i8, i8[::1]")
def coarsest_level(surface, parts, space, places, boxes, k, confirmed, stage, counts):
    """Algorithm 10: the coarsest volumes of a primitive against all parts that are not confirmed yet."""
    a, box, points = _I(boxes.shape[0]), space.box, space.points
    quad = _I(surface.primitives[k, QUAD])
    side, coarsest = _I(surface.quads[quad, SIDE]), surface.map_ints[quad, STEP]
    pace = coarsest * surface.ratio
    shape = outline(surface, k)
    code, lx, ly, lz, ux, uy, uz = np.uint8(EXTREME), 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for y in range(side // coarsest):
        for x in range(side // coarsest):
            if not in_outline(shape, x * pace, y * pace, (x + 1) * pace, (y + 1) * pace):
                continue
            if coarsest > 1:
                code, _flat = load_cell(surface, quad, coarsest, x, y, points)
                lx, ly, lz, ux, uy, uz = box_of(points, 8)
            for b in range(a):
                if confirmed[b]:
                    continue
                for axis in range(6):
                    box[axis] = boxes[b, axis]
                t = (places[b, 9], places[b, 10], places[b, 11])
                query = PartQuery(a, _I(b), load9(places, b), t, (0.0, 0.0, 0.0), _I(MEET))
                if code != EXTREME:
                    if boxes_apart(box, lx, ly, lz, ux, uy, uz, 0.0):
                        continue
                    counts[COARSEST] += 1
                    # The volume is written anew: the levels below use the same points.
                    load_cell(surface, quad, coarsest, x, y, points)
                    if not volume_meets(parts, query, points, 8):
                        continue
                if stage > COARSEST_LEVEL and one_level_down(surface, parts, query, space, k, coarsest, x, y, stage, counts):
                    confirmed[b] = 1


@device
def load9(places, b):
    """Rotation of a part."""
    return (
        places[b, 0], places[b, 1], places[b, 2], places[b, 3], places[b, 4], places[b, 5], places[b, 6], places[b, 7],
        places[b, 8],
    )  # fmt: skip


@kernel("surface, query_object, f8[:,::1], f8[:,::1], f8[::1], i8, i8, i8, i8, u1[::1], i8[::1]")
def collide(
    surface,
    shape,
    pose_s,
    pose_o,
    motion,
    method,
    projection,
    peaks,
    stage,
    hit_out,
    counts_out,
):
    """Algorithm 13, or the plain way. `motion`: what the object has moved by to get here, in the surface's frame: its box
    sweeps over it. `stage`: the last to be done, EARLY_OUT to SURFACE, to tell what each costs. hit_out: parts that collide."""
    parts, part_poses = own_parts(shape.parts), shape.part_poses
    space = new_work_space(_I(1))
    box, corners, result, counter = space.box, space.corners, space.result, space.counter
    a, still = _I(part_poses.shape[0] - 1), (0.0, 0.0, 0.0)
    back = (-motion[0], -motion[1], -motion[2])
    r, t = relative_pose(pose_s, 0, pose_o, 0)
    places, boxes, whole = np.empty((a, 12)), np.empty((a, 6)), np.empty(6)
    for axis in range(3):
        whole[axis], whole[axis + 3] = np.inf, -np.inf
    for b in range(a):
        rb, tb = part_place(part_poses, b, r, t)
        for k in range(9):
            places[b, k] = rb[k]
        places[b, 9], places[b, 10], places[b, 11] = tb
        part_box(parts, b, rb, tb, box)
        for axis in range(3):
            boxes[b, axis], boxes[b, axis + 3] = box[axis], box[axis + 3]
            whole[axis], whole[axis + 3] = min(whole[axis], box[axis]), max(whole[axis + 3], box[axis + 3])
    swept = moved_box(whole, back, 1.0)
    confirmed = np.zeros(a, np.uint8)
    primitives = np.empty(surface.primitives.shape[0], np.int64)
    many = 0
    k = _I(0)
    b6 = surface.node_boxes
    while k < surface.node_ints.shape[0]:
        lx, ly, lz = np.float64(b6[k, 0]), np.float64(b6[k, 1]), np.float64(b6[k, 2])
        if boxes_apart(swept, lx, ly, lz, np.float64(b6[k, 3]), np.float64(b6[k, 4]), np.float64(b6[k, 5]), 0.0):
            k = _I(surface.node_ints[k, 0])
            continue
        item = _I(surface.node_ints[k, 1])
        if item >= 0:
            counts_out[BOXES] += 1
            # Early out (2.6): the swept box against the two planes.
            if not box_beyond_planes(surface, item, swept):
                counts_out[PLANES] += 1
                primitives[many] = item
                many += 1
        k += 1
    if method == MULTIRESOLUTION and stage > EARLY_OUT:
        for i in range(many):
            coarsest_level(surface, parts, space, places, boxes, primitives[i], confirmed, stage, counts_out)
    if stage < SURFACE:
        return
    for b in range(a):
        hit_out[b] = 0
        if method == MULTIRESOLUTION and not confirmed[b]:
            continue
        rb, tb = load9(places, b), (places[b, 9], places[b, 10], places[b, 11])
        for i in range(many):
            item = primitives[i]
            if method == MULTIRESOLUTION:
                n = (surface.planes[item, NORMAL], surface.planes[item, NORMAL + 1], surface.planes[item, NORMAL + 2])
                low, high = heights(parts, b, rb, tb, n)
                if beyond_planes(surface, item, low, high, 0.0, 0.0) or not near_primitive(surface, item, boxes, b):
                    continue
            if part_below(surface, parts, b, rb, tb, item, projection, corners, counts_out):
                hit_out[b] = 1
                if method == MULTIRESOLUTION:
                    break
    if peaks == 0:
        return
    for b in range(a):
        if hit_out[b]:
            continue
        rb, tb = load9(places, b), (places[b, 9], places[b, 10], places[b, 11])
        if method == PLAIN or confirmed[b]:
            for axis in range(6):
                box[axis] = boxes[b, axis]
            counts_out[PEAKS] += 1
            result[BEST], result[NEAR] = 0.0, 0.0
            hits = walk_part(surface, parts, PartQuery(a, b, rb, tb, still, _I(MEET)), space, _I(0))
            if hits > 0:
                hit_out[b] = 1
                continue
        for axis in range(6):
            box[axis] = boxes[b, axis]
        if part_in_ground(surface, parts, PartQuery(a, b, rb, tb, still, _I(MEET)), space):
            hit_out[b] = 1
    counts_out[POINTS] += counter[0]


@device
def near_primitive(surface, k, boxes, b):
    """Whether a part's box meets that about a primitive's vertices moved between its least and greatest length."""
    for axis in range(3):
        low, high = np.inf, -np.inf
        for i in range(4):
            v = surface.primitives[k, i]
            if v >= 0:
                p, n = surface.vertices[v, axis], surface.vertices[v, 3 + axis]
                one, two = p + surface.planes[k, LEAST] * n, p + surface.planes[k, MOST] * n
                low, high = min(low, min(one, two)), max(high, max(one, two))
        if boxes[b, axis] > high or boxes[b, axis + 3] < low:
            return False
    return True


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
) -> SurfaceCollision:
    """Which parts of a shape collide with a surface, by the paper's algorithms, with what they cost.

    Parameters
    ----------
    surface : the surface
    shape : convex, or a compound of convex shapes
    pose, surface_pose : one pose each, world frame
    motion : (3,) what the shape has moved by since the last frame, metres, world frame: the box swept selects the primitives
    method : "plain": every vertex against every primitive; "multiresolution": Algorithms 10 to 13; "auto": plain for shapes of
        few vertices (5.1.1), by measurement
    projection : "cubic", "alpha_plane" or "aligned_plane" (which may be wrong)
    peaks : beyond the paper: find peaks that pierce a part with no vertex below the surface, and parts wholly in the ground
    """
    for name, value, allowed in (
        ("method", method, ("auto", *METHODS)),
        ("projection", projection, tuple(PROJECTIONS)),
    ):
        if value not in allowed:
            raise InvalidInputError(f"{name}: expected one of {allowed}, got {value!r}")
    arrays = query_object(shape)
    if method == "auto":
        method = "plain" if vertices_of(arrays.parts) <= PLAIN_VERTICES else "multiresolution"
    rows_s, rows_o = as_poses(surface_pose, "surface_pose"), as_poses(pose, "pose")
    for name, rows in (("pose", rows_o), ("surface_pose", rows_s)):
        if len(rows) != 1:
            raise InvalidInputError(f"{name}: expected one pose, got {len(rows)}; `thud.intersects` takes many")
    moved = as_vector(motion, "motion") @ rows_s[0, :9].reshape(3, 3)
    hit, counts = np.zeros(len(arrays.part_poses) - 1, dtype=np.uint8), np.zeros(COUNTS, dtype=np.int64)
    collide(
        surface.arrays, arrays, rows_s, rows_o, np.ascontiguousarray(moved),
        METHODS[method], PROJECTIONS[projection], int(peaks), SURFACE, hit, counts,
    )  # fmt: skip
    names = ("boxes", "planes", "coarsest", "finer", "finest", "projected", "peaks", "points")
    return SurfaceCollision(hit.astype(bool), dict(zip(names, counts.tolist())), method)


def vertices_of(parts: Parts) -> int:
    """Vertices of an object's parts, the placeholder left out."""
    own = parts.ints[:-1]
    return int(np.where(own[:, KIND] == HULL, own[:, VERTEX_COUNT], np.where(own[:, KIND] == BOX, 8, 6)).sum())
