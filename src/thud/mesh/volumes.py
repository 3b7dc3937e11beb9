"""Mesh against mesh by any type of bounding volume, with support-plane mappings on the first levels ([Vogiannou]).

Both trees are walked at once: of a pair of nodes whose volumes meet and that Theorem 3.2 does not reject, the larger is
opened. Leaves are compared by the same triangle test as everywhere, so that hits and pairs are the same for every type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud._core.threads import run_rows
from thud.bounds.kdop import cones, directions
from thud.bounds.support_planes import SupportPlanes, no_support_planes
from thud.constants import SPM_SLACK, TOUCH, TREE_LEVELS
from thud.mesh.box_tree import load_triangle, place_triangle, tree_pose
from thud.mesh.plane_steps import are_compact, spheres_parted
from thud.mesh.sphere_walk import root_spheres_meet, walk_spheres
from thud.mesh.tolerances import SPM_MARGIN
from thud.mesh.triangle_triangle import triangles_meet
from thud.mesh.volume_tests import (
    AABB,
    ALIGNED,
    KDOP,
    OBB,
    SPHERE,
    TREE,
    align_kdops,
    theorem_3_2,
    volume_size,
    volumes_meet,
)

if TYPE_CHECKING:
    from thud.shapes.triangle_mesh import TriangleMesh


#: "aligned": the boxes of "aabb", tested as boxes of one frame; for comparison.
_KINDS = {"sphere": SPHERE, "aabb": AABB, "obb": OBB, "kdop": KDOP, "aligned": ALIGNED}
_VOLUMES = {"sphere": "spheres", "aabb": "boxes", "obb": "obbs", "kdop": "kdops", "aligned": "boxes"}

#: Columns of the counters: volume tests, Theorem 3.2 tests, its rejections, triangle tests.
COUNTERS = ("volume_tests", "spm_tests", "spm_rejections", "triangle_tests")

#: Most pairs that wait: one a level of both trees.
STACK = 2 * TREE_LEVELS + 2

#: What the kernels take beside the two trees: B's cones of k-DOP directions and their matrices.
_ALIGN = "i8[:,::1], f8[:,::1]"


def tree_arrays(mesh: TriangleMesh, bounding: str, mapping: SupportPlanes | None = None) -> tuple[Any, ...]:
    """What kernels take of a mesh (`volume_tests.TREE`), with the volumes of one type and perhaps a mapping."""
    return (
        mesh.tree.skip, mesh.tree.first, mesh.corners.reshape(-1), mesh.origin, getattr(mesh, _VOLUMES[bounding]),
        directions(mesh.kdop_k), float(mesh.boxes[0, 3:].sum(dtype=np.float64)), (mapping or no_support_planes()).arrays(),
    )  # fmt: skip


@device
def pair_scale(tree_a, tree_b, t):
    """What the coordinates of the two meshes reach to, in A's tree frame: as `box_tree.pair_size`, for the same hits."""
    return tree_a[6] + tree_b[6] + abs(t[0]) + abs(t[1]) + abs(t[2])


@device
def has_mapping(spm, node):
    """Whether the node is on one of the levels with support-plane mappings."""
    return spm[0] != 0 and spm[2][node] >= 0


@kernel(inner=f"i8, {TREE}, {TREE}, i8[:,::1], f8[:,::1], mat3, vec3, i8, i8[:,::1], i8, i8[:,::1], i8, i8[:,::1]")
def walk_volumes(test, tree_a, tree_b, triples, weights, r, t, all_pairs, stack, filled, pairs_out, row, counters_out):
    """Number of triangle pairs that meet; at most 1 unless `all_pairs`. (R, t) is B's tree in the frame of A's. Spheres have a
    walk of their own, `sphere_walk.py`.

    Pairs of tree positions go to pairs_out from row `filled` on, as far as it reaches.
    """
    skip_a, first_a, corners_a, volumes_a, axes_a, spm_a = tree_a[0], tree_a[1], tree_a[2], tree_a[4], tree_a[5], tree_a[7]
    skip_b, first_b, corners_b, volumes_b, axes_b, spm_b = tree_b[0], tree_b[1], tree_b[2], tree_b[4], tree_b[5], tree_b[7]
    kind = AABB if test == ALIGNED else test
    scale = pair_scale(tree_a, tree_b, t)
    touch, margin, slack = TOUCH * scale, SPM_MARGIN * scale, SPM_SLACK * (tree_a[6] + tree_b[6])
    found, volume_tests, spm_tests, spm_rejections, triangle_tests = 0, 0, 0, 0, 0
    stack[0, 0], stack[0, 1] = 0, 0
    depth = 1
    while depth > 0:
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
        volume_tests += 1
        if not volumes_meet(test, volumes_a, i, volumes_b, j, triples, weights, r, t, touch):
            continue
        if has_mapping(spm_a, i) and has_mapping(spm_b, j):
            spm_tests += 1
            if theorem_3_2(kind, volumes_a, i, axes_a, spm_a, volumes_b, j, axes_b, spm_b, r, t, slack, margin):
                spm_rejections += 1
                continue
        leaf_a, leaf_b = skip_a[i] == i + 1, skip_b[j] == j + 1
        if leaf_a and leaf_b:
            triangle_tests += 1
            a0, a1, a2 = load_triangle(corners_a, first_a[i])
            b0, b1, b2 = place_triangle(r, t, load_triangle(corners_b, first_b[j]))
            if triangles_meet(a0, a1, a2, b0, b1, b2, touch):
                if filled + found < pairs_out.shape[0]:
                    pairs_out[filled + found, 0], pairs_out[filled + found, 1] = first_a[i], first_b[j]
                found += 1
                if all_pairs == 0:
                    break
        elif leaf_b or (not leaf_a and volume_size(kind, volumes_a, i) >= volume_size(kind, volumes_b, j)):
            stack[depth, 0], stack[depth, 1] = skip_a[i + 1], j
            stack[depth + 1, 0], stack[depth + 1, 1] = i + 1, j
            depth += 2
        else:
            stack[depth, 0], stack[depth, 1] = i, skip_b[j + 1]
            stack[depth + 1, 0], stack[depth + 1, 1] = i, j + 1
            depth += 2
    if row < counters_out.shape[0]:
        counters_out[row, 0], counters_out[row, 1] = volume_tests, spm_tests
        counters_out[row, 2], counters_out[row, 3] = spm_rejections, triangle_tests
    return found


@device
def meet_spheres(tree_a, tree_b, r, t, all_pairs, waiting, filled, pairs_out, row, counters_out):
    """As `walk_volumes` for spheres; nothing is called where the roots are apart."""
    scale = pair_scale(tree_a, tree_b, t)
    if root_spheres_meet(tree_a, tree_b, r, t, TOUCH * scale):
        return walk_spheres(tree_a, tree_b, r, t, scale, all_pairs, waiting, filled, pairs_out, row, counters_out)
    if row < counters_out.shape[0]:
        counters_out[row, 0] = 1
    return np.int64(0)


@kernel(f"i8, i8, i8, {TREE}, {TREE}, {_ALIGN}, f8[:,::1], f8[:,::1], u1[::1], i8[:,::1]")
def volume_intersects_rows(start, stop, kind, tree_a, tree_b, cones_b, matrices_b, poses_a, poses_b, hit_out, counters_out):
    """Whether the surfaces meet, for each row of poses; counters_out (N, 4), or (0, 4) for none."""
    half = tree_a[5].shape[0]
    stack, waiting, none = np.empty((STACK, 2), np.int64), np.empty(2 * STACK, np.uint64), np.empty((0, 2), np.int64)
    triples, weights = np.empty((half, 3), np.int64), np.empty((half, 4))
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, tree_a[3], tree_b[3])
        zero = np.int64(0)
        if kind == SPHERE:
            hit_out[row] = meet_spheres(tree_a, tree_b, r, t, zero, waiting, zero, none, row, counters_out)
            continue
        if kind == KDOP:
            align_kdops(tree_a[5], cones_b, matrices_b, r, t, triples, weights)
        hit_out[row] = walk_volumes(kind, tree_a, tree_b, triples, weights, r, t, zero, stack, zero, none, row, counters_out)


@kernel(f"i8, i8, i8, {TREE}, {TREE}, {_ALIGN}, f8[:,::1], f8[:,::1], i8[::1], i8[::1], i8[:,::1]")
def volume_pairs_rows(start, stop, kind, tree_a, tree_b, cones_b, matrices_b, poses_a, poses_b, starts, counts_out, pairs_out):
    """Number of triangle pairs of each row, and the pairs of tree positions from row starts[row] of pairs_out on; starts and
    pairs_out of length 0 only count."""
    half = tree_a[5].shape[0]
    stack, waiting, none = np.empty((STACK, 2), np.int64), np.empty(2 * STACK, np.uint64), np.empty((0, 4), np.int64)
    triples, weights = np.empty((half, 3), np.int64), np.empty((half, 4))
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, tree_a[3], tree_b[3])
        if kind == KDOP:
            align_kdops(tree_a[5], cones_b, matrices_b, r, t, triples, weights)
        filled = starts[row] if starts.shape[0] > 0 else np.int64(0)
        one = np.int64(1)
        if kind == SPHERE:
            counts_out[row] = meet_spheres(tree_a, tree_b, r, t, one, waiting, filled, pairs_out, row, none)
            continue
        counts_out[row] = walk_volumes(kind, tree_a, tree_b, triples, weights, r, t, one, stack, filled, pairs_out, row, none)


@kernel(inner=f"i8, {TREE}, {TREE}, i8[:,::1], f8[:,::1], mat3, vec3, i8, i8, i8[:,::1], i8, i8[:,:,::1]")
def walk_levels(test, tree_a, tree_b, triples, weights, r, t, levels, use_spm, stack, row, tests_out):
    """Deepest of the first `levels` levels at which a pair of nodes survives, -1 for none: both trees opened at once, level
    by level. Column 0 of tests_out[row, level] gets the pairs whose volumes meet, column 1 those that Theorem 3.2 rejects."""
    skip_a, volumes_a, axes_a, spm_a = tree_a[0], tree_a[4], tree_a[5], tree_a[7]
    skip_b, volumes_b, axes_b, spm_b = tree_b[0], tree_b[4], tree_b[5], tree_b[7]
    kind = AABB if test == ALIGNED else test
    scale = pair_scale(tree_a, tree_b, t)
    touch, margin, slack = TOUCH * scale, SPM_MARGIN * scale, SPM_SLACK * (tree_a[6] + tree_b[6])
    compact = kind == SPHERE and are_compact(spm_a, spm_b)
    deepest = -1
    stack[0, 0], stack[0, 1], stack[0, 2] = 0, 0, 0
    depth = 1
    while depth > 0:
        depth -= 1
        i, j, level = stack[depth, 0], stack[depth, 1], stack[depth, 2]
        if not volumes_meet(test, volumes_a, i, volumes_b, j, triples, weights, r, t, touch):
            continue
        count = row < tests_out.shape[0]
        if count:
            tests_out[row, level, 0] += 1
        if use_spm and has_mapping(spm_a, i) and has_mapping(spm_b, j):
            if compact:
                parted = spheres_parted(volumes_a, i, spm_a, volumes_b, j, spm_b, r, t, margin)
            else:
                parted = theorem_3_2(kind, volumes_a, i, axes_a, spm_a, volumes_b, j, axes_b, spm_b, r, t, slack, margin)
            if parted:
                if count:
                    tests_out[row, level, 1] += 1
                continue
        deepest = max(deepest, level)
        if level + 1 == levels:
            # As deep as can be; go on only to count.
            if count:
                continue
            return deepest
        # A leaf stays while the other tree goes on.
        leaf_a, leaf_b = skip_a[i] == i + 1, skip_b[j] == j + 1
        for side_a in range(1 if leaf_a else 2):
            for side_b in range(1 if leaf_b else 2):
                stack[depth, 0] = i if leaf_a else (i + 1 if side_a == 0 else skip_a[i + 1])
                stack[depth, 1] = j if leaf_b else (j + 1 if side_b == 0 else skip_b[j + 1])
                stack[depth, 2] = level + 1
                depth += 1
    return deepest


@kernel(f"i8, i8, i8, {TREE}, {TREE}, {_ALIGN}, f8[:,::1], f8[:,::1], i8, i8, i8[::1], i8[:,:,::1]")
def volume_levels_rows(
    start, stop, kind, tree_a, tree_b, cones_b, matrices_b, poses_a, poses_b, levels, use_spm, level_out, tests_out
):
    """How far down the trees some pair of nodes survives, for each row of poses (see `walk_levels`); tests_out (0, 0, 2): not
    counted, which may stop early."""
    half = tree_a[5].shape[0]
    stack = np.empty((4 * (levels + 1), 3), np.int64)
    triples, weights = np.empty((half, 3), np.int64), np.empty((half, 4))
    for row in range(start, stop):
        row_a, row_b = min(row, poses_a.shape[0] - 1), min(row, poses_b.shape[0] - 1)
        r, t = tree_pose(poses_a, row_a, poses_b, row_b, tree_a[3], tree_b[3])
        if kind == KDOP:
            align_kdops(tree_a[5], cones_b, matrices_b, r, t, triples, weights)
        level_out[row] = walk_levels(kind, tree_a, tree_b, triples, weights, r, t, levels, use_spm, stack, row, tests_out)


def _arguments(
    a: TriangleMesh, b: TriangleMesh, bounding: str, mappings: tuple[SupportPlanes | None, SupportPlanes | None] | None
) -> tuple[Any, ...]:
    """What all row kernels take first; `mappings` None: the meshes' own, where both have one."""
    if mappings is None:
        both = a.spm is not None and b.spm is not None
        mappings = (a.support_planes, b.support_planes) if both else (None, None)
    triples, matrices = cones(b.kdop_k)
    return _KINDS[bounding], tree_arrays(a, bounding, mappings[0]), tree_arrays(b, bounding, mappings[1]), triples, matrices


Mappings = tuple[SupportPlanes | None, SupportPlanes | None]


def surfaces_meet(
    a: TriangleMesh,
    b: TriangleMesh,
    rows_a: Floats,
    rows_b: Floats,
    *,
    bounding: str | None = None,
    mappings: Mappings | None = None,
    count_tests: bool = False,
    threads: int | None = None,
) -> tuple[npt.NDArray[np.bool_], Ints]:
    """(N,) whether the two surfaces meet at each row of poses (12 floats), and (N, 4) `COUNTERS` if asked for.

    bounding : type of volume; None: A's own
    mappings : support-plane mappings of A and B; None: their own, where both have one
    """
    count = max(len(rows_a), len(rows_b)) if len(rows_a) and len(rows_b) else 0
    hit, counters = np.empty(count, np.uint8), np.zeros((count if count_tests else 0, 4), np.int64)
    arguments = _arguments(a, b, bounding or a.bounding, mappings)
    run_rows(volume_intersects_rows, count, threads, *arguments, rows_a, rows_b, hit, counters, rows_per_chunk=16)
    return hit.astype(np.bool_), counters


def surface_pairs(
    a: TriangleMesh,
    b: TriangleMesh,
    rows_a: Floats,
    rows_b: Floats,
    *,
    bounding: str | None = None,
    mappings: Mappings | None = None,
    threads: int | None = None,
) -> tuple[Ints, Ints, Ints]:
    """(row, triangle of A, triangle of B) of all triangle pairs that meet, sorted; arguments as `surfaces_meet`."""
    count = max(len(rows_a), len(rows_b)) if len(rows_a) and len(rows_b) else 0
    arguments = _arguments(a, b, bounding or a.bounding, mappings)
    counts, none = np.empty(count, np.int64), np.empty(0, np.int64)
    empty = np.empty((0, 2), np.int64)
    run_rows(volume_pairs_rows, count, threads, *arguments, rows_a, rows_b, none, counts, empty, rows_per_chunk=16)
    starts = np.concatenate([[0], np.cumsum(counts)])
    pairs = np.empty((int(starts[-1]), 2), np.int64)
    run_rows(
        volume_pairs_rows, count, threads, *arguments, rows_a, rows_b, starts[:-1].copy(), counts, pairs, rows_per_chunk=16
    )
    row = np.repeat(np.arange(count), counts)
    face_a, face_b = a.tree.order[pairs[:, 0]], b.tree.order[pairs[:, 1]]
    order = np.lexsort([face_b, face_a, row])
    return row[order], face_a[order], face_b[order]


def surviving_levels(
    a: TriangleMesh,
    b: TriangleMesh,
    rows_a: Floats,
    rows_b: Floats,
    levels: int,
    *,
    bounding: str | None = None,
    mappings: Mappings | None = None,
    count_tests: bool = False,
    threads: int | None = None,
) -> tuple[Ints, Ints]:
    """How far both trees, opened level by level, still have a pair of nodes that may meet: (N,) the deepest level, from -1 (the
    roots are apart) to levels - 1. And, if asked for, (N, levels, 2) how many pairs of nodes met on each level, and how many
    of them Theorem 3.2 rejected. Arguments as `surfaces_meet`.
    """
    count = max(len(rows_a), len(rows_b)) if len(rows_a) and len(rows_b) else 0
    level, tests = np.empty(count, np.int64), np.zeros((count if count_tests else 0, levels, 2), np.int64)
    arguments = _arguments(a, b, bounding or a.bounding, mappings)
    use = int(mappings is None or mappings[0] is not None)
    run_rows(volume_levels_rows, count, threads, *arguments, rows_a, rows_b, levels, use, level, tests, rows_per_chunk=16)
    return level, tests
