"""Points in a mesh: exact ray parity through the 8-wide tree, the generalised winding number, or a grid of cells."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from thud._core.decorators import device, exact_kernel, kernel
from thud._core.simd import ray_box8, ray_triangle4, trailing_zeros
from thud._core.threads import run_rows
from thud.bvh.mesh_grid import point_in_grid
from thud.bvh.point_order import spatial_order
from thud.bvh.wide import BLOCK_STRIDE, LEAF, NODE_STRIDE, REFERENCES, STACK
from thud.errors import UnsupportedQueryError
from thud.gates import Array
from thud.geometry.exact_vec3 import load3
from thud.geometry.mesh import parity_along_x
from thud.math.pose import load_rotation, load_translation, untransform
from thud.math.vec3 import cross, dot, norm, sub
from thud.mesh.raycast import box_limit, box_ray, corner, into_frame, row_of, triangle_ray
from thud.mesh.tolerances import WINDING_ERROR, WINDING_NODE_ERROR, WINDING_STEP
from thud.shapes.packed import as_packed
from thud.shapes.triangle_mesh import TriangleMesh

METHODS = ("ray", "winding", "grid", "parts")

#: Points from which on sorting them pays (a count).
_SORTED = 1_000


def contains(
    mesh: TriangleMesh, points: Array, poses: Array, count: int, *, threads: int | None, method: str = "ray"
) -> npt.NDArray[np.bool_]:
    """Whether `count` points lie in the mesh; points and poses have one row or as many."""
    if method != "winding" and not mesh.is_closed:
        raise UnsupportedQueryError(
            f"contains: method {method!r} needs a closed mesh, and this one is open ({mesh.problems()}); use method='winding'"
        )
    inside = np.empty(count, dtype=np.bool_)
    if method == "parts":
        from thud.convex.rows.closest_point import contains_rows
        from thud.shapes.decompose import decompose

        # Kept on disk by content, so that only the first call of all decomposes.
        packed = as_packed((decompose(mesh),), "shape")
        run_rows(contains_rows, count, threads, packed, points, poses, inside)
    elif method == "ray":
        wide = mesh.wide
        run_rows(parity_rows, count, threads, wide, points, poses, inside)
    elif method == "winding":
        arrays = (mesh.tree.skip, mesh.tree.first, mesh.corners, mesh.winding_moments, mesh.origin)
        if len(poses) == 1 and len(points) > _SORTED:
            order, found = spatial_order(points), inside.copy()
            run_rows(winding_rows, count, threads, *arrays, points[order], poses, found)
            inside[order] = found
        else:
            run_rows(winding_rows, count, threads, *arrays, points, poses, inside)
    else:
        grid = mesh.grid
        run_rows(grid_rows, count, threads, *grid.arrays, points, poses, inside)
    return inside


@exact_kernel(inner="vec3, wide_tree, i8[::1], f4[::1], f8[::1]")
def parity_in_mesh(p, wide, stack, t_box, t_triangle):
    """Whether p lies in or on the closed mesh: as `point_in_mesh` decides it, for the triangles near the ray alone."""
    nodes, references, blocks, frame = wide.nodes, wide.references, wide.blocks, wide.frame
    d = (1.0, 0.0, 0.0)
    (nx, ny, nz), (ix, iy, iz), near, far, skipped, slack = box_ray(p, d, frame)
    (kx, ky, kz), (ox, oy, oz), (sx, sy, sz), edge, plane, _length = triangle_ray(p, d, frame)
    limit = box_limit(math.inf, skipped, slack, frame[3])
    inside = False
    stack[0], depth = 0, 1
    while depth > 0:
        depth -= 1
        reference = stack[depth]
        if reference >= 0:
            base = reference * NODE_STRIDE
            mask = ray_box8(
                nodes, base, nx, ny, nz, ix, iy, iz, near[0], near[1], near[2], far[0], far[1], far[2], limit, t_box
            )
            while mask != 0:
                stack[depth] = references[base + REFERENCES + trailing_zeros(mask)]
                mask &= mask - np.uint32(1)
                depth += 1
            continue
        base = ~reference * BLOCK_STRIDE
        hits = ray_triangle4(blocks, base, kx, ky, kz, ox, oy, oz, sx, sy, sz, edge, plane, math.inf, t_triangle)
        while hits != 0:
            lane = trailing_zeros(hits)
            hits &= hits - np.uint32(1)
            if lane < LEAF:
                inside = not inside
                continue
            at = base + lane - LEAF
            found = parity_along_x(p, corner(blocks, at, 0), corner(blocks, at, 1), corner(blocks, at, 2))
            if found == 2:
                return True
            if found == 1:
                inside = not inside
    return inside


@exact_kernel("i8, i8, wide_tree, f8[:,::1], f8[:,::1], b1[::1]")
def parity_rows(start, stop, wide, points, poses, inside_out):
    """Whether each point lies in the closed mesh; world frame."""
    stack, t_box, t_triangle = np.empty(STACK, np.int64), np.empty(8, np.float32), np.empty(LEAF)
    for i in range(start, stop):
        p = into_frame(poses, row_of(poses, i), load3(points, row_of(points, i), 0), True)
        inside_out[i] = parity_in_mesh(p, wide, stack, t_box, t_triangle)


@device
def solid_angle(a, b, c):
    """Half the solid angle of a triangle seen from the origin, positive from behind (van Oosterom and Strackee 1983)."""
    la, lb, lc = norm(a), norm(b), norm(c)
    below = la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb
    return math.atan2(dot(a, cross(b, c)), below)


@kernel(inner="vec3, i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8")
def winding_number(p, skip, first, corners, moments, share):
    """(winding number of the mesh about p, most that it may be off); p relative to the mesh's origin.

    Barill et al. 2018, "Fast winding numbers for soups and clouds": nodes far away by their moments, triangles nearby by their
    solid angle. A node is far where its part is off by no more than `share`.

    The bound: an area vector n at c + h adds n . grad 1 / |c + h - p| to 4 pi w, and 1 / |c + h - p| is the sum over l of
    |h|^l P_l / d^(l + 1), d = |c - p|. |h|^l P_l is a homogeneous polynomial of h, at most |h|^l, so its gradient is at most
    l |h|^(l - 1) (Kellogg 1928). The moments hold l = 1 and 2. With q = |h| / d the others add up to

        sum over l > 2 of l q^(l - 1) / d^2 = q^2 (3 - 2 q) / (d (1 - q))^2,

    where (3 - 2 q) / (1 - q)^2 grows with q, so that its value at the node's radius bounds all of the node:
    (3 d - 2 r) / (d^3 (d - r)^2) times the integral of |h|^2 over the area.
    """
    total, error, k = 0.0, 0.0, 0
    scaled = 4.0 * math.pi * share
    while k < skip.shape[0]:
        if skip[k] == k + 1:
            t = first[k]
            a = (corners[t, 0] - p[0], corners[t, 1] - p[1], corners[t, 2] - p[2])
            b = (corners[t, 3] - p[0], corners[t, 4] - p[1], corners[t, 5] - p[2])
            c = (corners[t, 6] - p[0], corners[t, 7] - p[1], corners[t, 8] - p[2])
            total += solid_angle(a, b, c) / (2.0 * math.pi)
            k += 1
            continue
        x, y, z = moments[k, 0] - p[0], moments[k, 1] - p[1], moments[k, 2] - p[2]
        d2 = x * x + y * y + z * z
        d = math.sqrt(d2)
        away = d - moments[k, 3]
        if away <= 0.0:
            k += 1
            continue
        above, below = moments[k, 17] * (d + 2.0 * away), d2 * d * away * away
        if not above < scaled * below:
            k += 1
            continue
        error += above / below
        # Dipole: sum n . x / |x|^3, and its first derivative with sum n (x_i - c)^T.
        inverse2 = 1.0 / d2
        inverse3 = inverse2 / d
        value = moments[k, 4] * x + moments[k, 5] * y + moments[k, 6] * z
        trace = moments[k, 7] + moments[k, 11] + moments[k, 15]
        mx = moments[k, 7] * x + moments[k, 8] * y + moments[k, 9] * z
        my = moments[k, 10] * x + moments[k, 11] * y + moments[k, 12] * z
        mz = moments[k, 13] * x + moments[k, 14] * y + moments[k, 15] * z
        value += trace - 3.0 * inverse2 * (x * mx + y * my + z * mz)
        total += value * inverse3 / (4.0 * math.pi)
        k = skip[k]
    return total, error / (4.0 * math.pi)


@kernel("i8, i8, i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[::1], f8[:,::1], f8[:,::1], b1[::1]")
def winding_rows(start, stop, skip, first, corners, moments, origin, points, poses, inside_out):
    """Whether each point's winding number is above one half; world frame.

    All nodes may err by the same, which gives the least work for a sum of errors. Where the sum leaves the side of one half
    open they may err by less, until it is decided or the number is known to WINDING_ERROR.
    """
    for i in range(start, stop):
        row = row_of(poses, i)
        world = (points[row_of(points, i), 0], points[row_of(points, i), 1], points[row_of(points, i), 2])
        p = sub(untransform(load_rotation(poses, row), load_translation(poses, row), world), (origin[0], origin[1], origin[2]))
        share = WINDING_NODE_ERROR
        number, error = winding_number(p, skip, first, corners, moments, share)
        while error > WINDING_ERROR and abs(number - 0.5) <= error:
            share *= WINDING_STEP
            number, error = winding_number(p, skip, first, corners, moments, share)
        inside_out[i] = number > 0.5


@exact_kernel("i8, i8, i8[::1], f8[::1], u1[::1], i8[::1], i8[::1], f8[:,::1], f8[:,::1], f8[:,::1], b1[::1]")
def grid_rows(start, stop, shape, frame, state, begin, listed, triangles, points, poses, inside_out):
    """Whether each point lies in the closed mesh, by its grid; world frame."""
    seen = np.full(triangles.shape[0], -1, np.int64)
    for i in range(start, stop):
        p = into_frame(poses, row_of(poses, i), load3(points, row_of(points, i), 0), True)
        inside_out[i] = point_in_grid(p, shape, frame, state, begin, listed, triangles, seen, i)
