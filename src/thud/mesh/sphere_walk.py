"""Two sphere trees walked at once, with or without support-plane mappings: the tuned walk that `volumes.py` takes for spheres.

A pair of nodes whose spheres meet, and that no planes part, is opened: the children of the larger one are tested against the
other, and the walk goes on with the one whose sphere lies deeper in it, so that objects that meet are soon found to.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.constants import SPM_SLACK, TOUCH
from thud.math.pose import transform
from thud.math.vec3 import norm2, sub
from thud.mesh.box_tree import load_triangle, place_triangle
from thud.mesh.plane_steps import are_compact, spheres_parted
from thud.mesh.tolerances import SPM_MARGIN
from thud.mesh.triangle_triangle import triangles_meet
from thud.mesh.volume_tests import SPHERE, TREE, theorem_3_2

U = np.uint64


@device
def sphere_of(spheres, k):
    """(centre, radius) of a node; `spheres` flat."""
    o = U(4) * k
    center = np.float64(spheres[o]), np.float64(spheres[o + U(1)]), np.float64(spheres[o + U(2)])
    return center, np.float64(spheres[o + U(3)])


@device
def root_spheres_meet(tree_a, tree_b, r, t, touch):
    """Whether the spheres of the roots meet: most pairs of a crowd end here."""
    a, b = tree_a[4], tree_b[4]
    d = sub(
        transform(r, t, (np.float64(b[0, 0]), np.float64(b[0, 1]), np.float64(b[0, 2]))),
        (np.float64(a[0, 0]), np.float64(a[0, 1]), np.float64(a[0, 2])),
    )
    reach = np.float64(a[0, 3]) + np.float64(b[0, 3]) + touch
    return norm2(d) <= reach * reach


@kernel(inner=f"{TREE}, {TREE}, mat3, vec3, f8, i8, u8[::1], i8, i8[:,::1], i8, i8[:,::1]")
def walk_spheres(tree_a, tree_b, r, t, scale, all_pairs, stack, filled, pairs_out, row, counters_out):
    """As `volumes.walk_volumes`, for trees whose root spheres meet."""
    skip_a, first_a, corners_a, volumes_a, axes_a, spm_a = tree_a[0], tree_a[1], tree_a[2], tree_a[4], tree_a[5], tree_a[7]
    skip_b, first_b, corners_b, volumes_b, axes_b, spm_b = tree_b[0], tree_b[1], tree_b[2], tree_b[4], tree_b[5], tree_b[7]
    spheres_a, spheres_b = volumes_a.reshape(-1), volumes_b.reshape(-1)
    touch, margin, slack = TOUCH * scale, SPM_MARGIN * scale, SPM_SLACK * (tree_a[6] + tree_b[6])
    mapped, compact = spm_a[0] != 0 and spm_b[0] != 0, are_compact(spm_a, spm_b)
    slots_a, slots_b = spm_a[2], spm_b[2]
    found, volume_tests, spm_tests, spm_rejections, triangle_tests = 0, 1, 0, 0, 0
    i, j = U(0), U(0)
    depth = U(0)
    going = True
    if mapped:
        spm_tests = 1
        if compact:
            parted = spheres_parted(volumes_a, i, spm_a, volumes_b, j, spm_b, r, t, margin)
        else:
            parted = theorem_3_2(SPHERE, volumes_a, i, axes_a, spm_a, volumes_b, j, axes_b, spm_b, r, t, slack, margin)
        if parted:
            spm_rejections, going = 1, False
    while going:
        leaf_a, leaf_b = U(skip_a[i]) == i + U(1), U(skip_b[j]) == j + U(1)
        left = 0
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
        else:
            c1, r1 = sphere_of(spheres_a, i)
            c2, r2 = sphere_of(spheres_b, j)
            open_a = leaf_b or (not leaf_a and r1 >= r2)
            # The children of the larger, each with the other, which stays: its centre, then the children's in its place.
            at = transform(r, t, c2) if open_a else c1
            reach = (r2 if open_a else r1) + touch
            parent, skip = (i, U(skip_a[i + U(1)])) if open_a else (j, U(skip_b[j + U(1)]))
            near, deepest = U(0), 0.0
            volume_tests += 2
            for side in range(2):
                child = parent + U(1) if side == 0 else skip
                c, rc = sphere_of(spheres_a, child) if open_a else sphere_of(spheres_b, child)
                x = c if open_a else transform(r, t, c)
                wide = reach + rc
                gap = norm2(sub(x, at)) - wide * wide
                if gap > 0.0:
                    continue
                k, m = (child, j) if open_a else (i, child)
                if mapped and slots_a[k] >= 0 and slots_b[m] >= 0:
                    spm_tests += 1
                    if compact:
                        parted = spheres_parted(volumes_a, k, spm_a, volumes_b, m, spm_b, r, t, margin)
                    else:
                        parted = theorem_3_2(
                            SPHERE, volumes_a, k, axes_a, spm_a, volumes_b, m, axes_b, spm_b, r, t, slack, margin
                        )
                    if parted:
                        spm_rejections += 1
                        continue
                if left == 1:
                    # The deeper one is next, the other one waits.
                    wait = child
                    if gap < deepest:
                        wait, near = near, child
                    stack[depth], stack[depth + U(1)] = (wait, j) if open_a else (i, wait)
                    depth += U(2)
                else:
                    near, deepest = child, gap
                left += 1
            if left > 0:
                if open_a:
                    i = near
                else:
                    j = near
        if left == 0:
            if depth == 0:
                break
            depth -= U(2)
            i, j = stack[depth], stack[depth + U(1)]
    if row < counters_out.shape[0]:
        counters_out[row, 0], counters_out[row, 1] = volume_tests, spm_tests
        counters_out[row, 2], counters_out[row, 3] = spm_rejections, triangle_tests
    return found
