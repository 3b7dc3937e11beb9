"""Whether the triangles of two meshes meet, asked once and without trees: only those in the box that both share are looked at.

A tree pays when a mesh is asked again and again. In an assembly each part is near a few others, and shares a small box with
each.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.math.vec3 import add, dot, sub
from thud.mesh.triangle_triangle import triangles_meet

#: What one triangle takes: three corners, lower and upper corner of its box.
_WIDTH = 15


@device
def low_of(x, y, z):
    """The smallest of three."""
    return min(x, min(y, z))


@device
def high_of(x, y, z):
    """The largest of three."""
    return max(x, max(y, z))


@device
def frame_of(row, center):
    """(rows of the rotation, translation relative to `center`) of a pose of 12 numbers."""
    r0, r1, r2 = (row[0], row[1], row[2]), (row[3], row[4], row[5]), (row[6], row[7], row[8])
    return r0, r1, r2, sub((row[9], row[10], row[11]), center)


@kernel
def near_triangles(vertices, faces, row, center, half, found_out):
    """How many triangles have a box that meets the box of half extents `half` about `center`, in the world. They go to
    found_out, as far as it reaches, relative to `center`."""
    r0, r1, r2, t = frame_of(row, center)
    # The box in the mesh's frame: all but a few triangles are told by it, with no corner placed.
    mx, my, mz = (
        -(r0[0] * t[0] + r1[0] * t[1] + r2[0] * t[2]),
        -(r0[1] * t[0] + r1[1] * t[1] + r2[1] * t[2]),
        -(r0[2] * t[0] + r1[2] * t[1] + r2[2] * t[2]),
    )
    hx = (abs(r0[0]) * half[0] + abs(r1[0]) * half[1] + abs(r2[0]) * half[2]) * (1.0 + 1e-9)
    hy = (abs(r0[1]) * half[0] + abs(r1[1]) * half[1] + abs(r2[1]) * half[2]) * (1.0 + 1e-9)
    hz = (abs(r0[2]) * half[0] + abs(r1[2]) * half[1] + abs(r2[2]) * half[2]) * (1.0 + 1e-9)
    count = 0
    for face in range(faces.shape[0]):
        i, j, k = faces[face, 0], faces[face, 1], faces[face, 2]
        ax, bx, cx = vertices[i, 0] - mx, vertices[j, 0] - mx, vertices[k, 0] - mx
        if low_of(ax, bx, cx) > hx or high_of(ax, bx, cx) < -hx:
            continue
        ay, by, cy = vertices[i, 1] - my, vertices[j, 1] - my, vertices[k, 1] - my
        if low_of(ay, by, cy) > hy or high_of(ay, by, cy) < -hy:
            continue
        az, bz, cz = vertices[i, 2] - mz, vertices[j, 2] - mz, vertices[k, 2] - mz
        if low_of(az, bz, cz) > hz or high_of(az, bz, cz) < -hz:
            continue
        a = (vertices[i, 0], vertices[i, 1], vertices[i, 2])
        b = (vertices[j, 0], vertices[j, 1], vertices[j, 2])
        c = (vertices[k, 0], vertices[k, 1], vertices[k, 2])
        a = add((dot(r0, a), dot(r1, a), dot(r2, a)), t)
        b = add((dot(r0, b), dot(r1, b), dot(r2, b)), t)
        c = add((dot(r0, c), dot(r1, c), dot(r2, c)), t)
        apart = False
        for axis in range(3):
            if low_of(a[axis], b[axis], c[axis]) > half[axis] or high_of(a[axis], b[axis], c[axis]) < -half[axis]:
                apart = True
        if apart:
            continue
        if count < found_out.shape[0]:
            for axis in range(3):
                found_out[count, axis], found_out[count, 3 + axis], found_out[count, 6 + axis] = a[axis], b[axis], c[axis]
                found_out[count, 9 + axis] = low_of(a[axis], b[axis], c[axis])
                found_out[count, 12 + axis] = high_of(a[axis], b[axis], c[axis])
        count += 1
    return count


@device
def corner_of(found, row, first):
    """One of the three corners."""
    return (found[row, first], found[row, first + 1], found[row, first + 2])


@kernel("f8[:,::1], i8[:,::1], f8[::1], f8[:,::1], i8[:,::1], f8[::1], f8[::1], f8[::1], f8, i8")
def meet_within(vertices_a, faces_a, row_a, vertices_b, faces_b, row_b, lower, upper, touch, most):
    """1 if triangles of the two meet, 0 if none do, -1 if more than `most` pairs of them would have to be tried.

    lower, upper : the box that both share, world frame; touch : metres at which two count as touching
    """
    center = (0.5 * (lower[0] + upper[0]), 0.5 * (lower[1] + upper[1]), 0.5 * (lower[2] + upper[2]))
    # The box is no better known than its coordinates are.
    far = max(max(abs(lower[0]), abs(upper[0])), max(max(abs(lower[1]), abs(upper[1])), max(abs(lower[2]), abs(upper[2]))))
    slack = 4.0 * touch + 2e-15 * far
    half = (
        0.5 * (upper[0] - lower[0]) + slack,
        0.5 * (upper[1] - lower[1]) + slack,
        0.5 * (upper[2] - lower[2]) + slack,
    )
    none = np.empty((0, _WIDTH))
    count_a = near_triangles(vertices_a, faces_a, row_a, center, half, none)
    if count_a == 0:
        return 0
    count_b = near_triangles(vertices_b, faces_b, row_b, center, half, none)
    if count_b == 0:
        return 0
    if count_a * count_b > most:
        return -1
    near_a, near_b = np.empty((count_a, _WIDTH)), np.empty((count_b, _WIDTH))
    near_triangles(vertices_a, faces_a, row_a, center, half, near_a)
    near_triangles(vertices_b, faces_b, row_b, center, half, near_b)
    gap = 2.0 * touch
    for i in range(count_a):
        x0, y0, z0 = near_a[i, 9] - gap, near_a[i, 10] - gap, near_a[i, 11] - gap
        x1, y1, z1 = near_a[i, 12] + gap, near_a[i, 13] + gap, near_a[i, 14] + gap
        a0, a1, a2 = corner_of(near_a, i, 0), corner_of(near_a, i, 3), corner_of(near_a, i, 6)
        for j in range(count_b):
            if near_b[j, 9] > x1 or near_b[j, 12] < x0 or near_b[j, 10] > y1 or near_b[j, 13] < y0:
                continue
            if near_b[j, 11] > z1 or near_b[j, 14] < z0:
                continue
            if triangles_meet(a0, a1, a2, corner_of(near_b, j, 0), corner_of(near_b, j, 3), corner_of(near_b, j, 6), touch):
                return 1
    return 0


@kernel("f8[:,::1], i8[:,::1], f8[::1], f8[::1], f8[::1]")
def placed_box(vertices, faces, row, lower_out, upper_out):
    """The box, in the world, about the triangles of a mesh at a pose."""
    r0, r1, r2, t = frame_of(row, (0.0, 0.0, 0.0))
    for axis in range(3):
        lower_out[axis], upper_out[axis] = np.inf, -np.inf
    for face in range(faces.shape[0]):
        for side in range(3):
            k = faces[face, side]
            v = (vertices[k, 0], vertices[k, 1], vertices[k, 2])
            p = add((dot(r0, v), dot(r1, v), dot(r2, v)), t)
            for axis in range(3):
                lower_out[axis], upper_out[axis] = min(lower_out[axis], p[axis]), max(upper_out[axis], p[axis])
    return 0
