"""Two spheres with compact support-plane mappings: how far apart the objects in them are at least.

The first pair of planes is [Vogiannou]'s (4.1.1), along the line of the centres. A further one is asked for in the direction of
a Chung-Wang step (`convex/chung_wang.py`): with P and Q the points farthest along d of A and along -d of B, d is reflected at
the plane orthogonal to Q - P, so that these two points are apart along it. All in the frame of A's tree; (R, t) is B's in it.
"""

from __future__ import annotations

import math

import numpy as np

from thud._core.decorators import device
from thud.bounds.ball_bound import ball_gap
from thud.bounds.octahedral import octahedral_cell
from thud.bounds.support_plane_map import load_point
from thud.bounds.support_planes import OFFSETS, POINTS
from thud.constants import TINY
from thud.math.pose import rotate, transform, unrotate
from thud.math.vec3 import add_scaled, dot, load3, neg, norm2, sub


@device
def chung_wang_step(d, w):
    """The next direction after d, from A to B; w leads from the point of A farthest along d to that of B farthest along -d.

    Where w leads forward, the two are apart along d and only the planes were too far from it; then w itself is tried.
    """
    w2, along = norm2(w), dot(w, d)
    return add_scaled(d, w, -2.0 * along / max(w2, TINY)) if along < 0.0 else w


@device
def are_compact(spm_a, spm_b):
    """Whether both mappings are of the compact kind, which `sphere_gap` takes."""
    return spm_a[0] >= POINTS and spm_b[0] >= POINTS


@device
def plane_offset(spm, row, n):
    """How far along its own direction n a stored plane is."""
    if spm[0] == OFFSETS:
        return np.float64(spm[4][row, 0])
    return dot(load_point(spm[4], row), n)


@device
def one_gap(c1, r1, spm_a, first_a, c2, r2, spm_b, first_b, r, t, margin, d):
    """The same by one pair of planes, which need not have points."""
    cell_a, cell_b = octahedral_cell(spm_a[1], d), octahedral_cell(spm_b[1], unrotate(r, neg(d)))
    n1, n2_b = load3(spm_a[6], cell_a, 0), load3(spm_b[6], cell_b, 0)
    n2 = rotate(r, n2_b)
    h1, h2 = plane_offset(spm_a, first_a + cell_a, n1), plane_offset(spm_b, first_b + cell_b, n2_b) + dot(n2, t)
    k = dot(n1, n2)
    gap_1 = ball_gap(dot(n1, c1) - h1, dot(n2, c1) - h2, r1, k, margin)
    gap_2 = ball_gap(dot(n2, c2) - h2, dot(n1, c2) - h1, r2, k, margin)
    return max(gap_1, gap_2)


@device
def sphere_gap(c1, r1, spm_a, slot_a, c2, r2, spm_b, slot_b, r, t, margin, enough):
    """Lower bound of the distance of the objects in two spheres, c2 in A's frame; not positive where it is not known. The
    search for it ends where it exceeds `enough`."""
    first_a, first_b = slot_a * spm_a[1] * spm_a[1], slot_b * spm_b[1] * spm_b[1]
    if spm_a[0] == OFFSETS or spm_b[0] == OFFSETS:
        return one_gap(c1, r1, spm_a, first_a, c2, r2, spm_b, first_b, r, t, margin, sub(c2, c1))
    table_a, table_b = (spm_a[1], spm_a[6], spm_a[4]), (spm_b[1], spm_b[6], spm_b[4])
    return points_gap(c1, r1, table_a, first_a, c2, r2, table_b, first_b, max(spm_a[8], spm_b[8]), r, t, margin, enough)


@device
def points_gap(c1, r1, table_a, first_a, c2, r2, table_b, first_b, directions, r, t, margin, enough):
    """The same by tables of points, (n, directions of the cells, points) each, those of the nodes beginning at rows first_a and
    first_b, for up to so many directions."""
    n_a, cells_a, points_a = table_a
    n_b, cells_b, points_b = table_b
    d = sub(c2, c1)
    best = -math.inf
    for _step in range(directions):
        cell_a, cell_b = octahedral_cell(n_a, d), octahedral_cell(n_b, unrotate(r, neg(d)))
        n1, n2 = load3(cells_a, cell_a, 0), rotate(r, load3(cells_b, cell_b, 0))
        p1, p2 = load_point(points_a, first_a + cell_a), transform(r, t, load_point(points_b, first_b + cell_b))
        k = dot(n1, n2)
        gap_1 = ball_gap(dot(n1, sub(c1, p1)), dot(n2, sub(c1, p2)), r1, k, margin)
        gap_2 = ball_gap(dot(n2, sub(c2, p2)), dot(n1, sub(c2, p1)), r2, k, margin)
        best = max(best, max(gap_1, gap_2))
        if best > enough:
            break
        d = chung_wang_step(d, sub(p2, p1))
    return best


@device
def spheres_parted(volumes_a, i, spm_a, volumes_b, j, spm_b, r, t, margin):
    """Whether the compact mappings of nodes i and j show the objects in their spheres to be apart."""
    c1 = np.float64(volumes_a[i, 0]), np.float64(volumes_a[i, 1]), np.float64(volumes_a[i, 2])
    c2 = np.float64(volumes_b[j, 0]), np.float64(volumes_b[j, 1]), np.float64(volumes_b[j, 2])
    slot_a, slot_b = np.int64(spm_a[2][i]), np.int64(spm_b[2][j])
    r1, r2 = np.float64(volumes_a[i, 3]), np.float64(volumes_b[j, 3])
    return sphere_gap(c1, r1, spm_a, slot_a, transform(r, t, c2), r2, spm_b, slot_b, r, t, margin, margin) > margin
