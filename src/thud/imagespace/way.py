"""How far one object must be moved along the rays of a view until no ray is inside both: a way out, in an image.

Each ray is inside A in some pieces and inside B in others. B moved by t overlaps A on that ray for t between (a piece of A
begins - a piece of B ends) and (the piece of A ends - the piece of B begins). The way is the least t that is in none of these,
over all pieces and rays. Of convex objects that is the largest (A is left - B is entered) of all rays.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_kernel
from thud.imagespace.chords import (
    ENTERS_A,
    ENTERS_B,
    LEAVES_A,
    LEAVES_B,
    cross_triangles,
    pixels_of_both,
    project_vertices,
    sort_crossings,
)  # fmt: skip


@exact_kernel
def blocked_ways(first, last, pixel, depths, kinds, faces, at, times_out, ends_out, which_out):
    """From a ray's sorted crossings: when B, moved along the ray, overlaps A, piece by piece, written from `at` on; (where A is
    left, where B is entered), and (pixel, triangle of A, triangle of B). Returns how many there are then."""
    in_a, start_a = 0, 0.0
    for k in range(first, last):
        if kinds[k] == ENTERS_A:
            in_a += 1
            if in_a == 1:
                start_a = depths[k]
        elif kinds[k] == LEAVES_A:
            in_a -= 1
            if in_a != 0:
                continue
            in_b, start_b, face_b = 0, 0.0, -1
            for m in range(first, last):
                if kinds[m] == ENTERS_B:
                    in_b += 1
                    if in_b == 1:
                        start_b, face_b = depths[m], faces[m]
                elif kinds[m] == LEAVES_B:
                    in_b -= 1
                    if in_b == 0:
                        times_out[at, 0], times_out[at, 1] = start_a - depths[m], depths[k] - start_b
                        ends_out[at, 0], ends_out[at, 1] = depths[k], start_b
                        which_out[at, 0], which_out[at, 1], which_out[at, 2] = pixel, faces[k], face_b
                        at += 1
    return at


@exact_kernel
def first_free(count, times, begin):
    """(the least t >= begin in none of the open intervals `times`, the interval that ends there or -1)."""
    reach, last = begin, -1
    while True:
        best = reach
        for k in range(count):
            if times[k, 0] < reach and times[k, 1] > best:
                best, last = times[k, 1], k
        if best == reach:
            return reach, last
        reach = best


@exact_kernel(
    "i8, i8, i8[:,::1], f8[:,::1], i8[::1], i8[:,::1], i8[::1], f8[:,:,::1], f8[:,::1], f8[::1], i8, i8, f8[::1], f8[:,::1], "
    "i8[:,::1], i8[::1]"
)
def way_rows(
    start, stop, pairs, vertices, vertex_starts, triangles, triangle_starts, rotations, lowers, pixels, width, height,
    way_inout, ends_out, which_out, work_out,
):  # fmt: skip
    """Ways along the rays of pairs [start, stop), each pair in a view of its own, not less than those that are there. Where one
    grows: depths at which A is left and B entered on the ray that ends it; its pixel and triangles. which_out[row, 0] is -1
    where none does."""
    size = width * height
    count_a, count_b, places = np.empty(size, np.int64), np.empty(size, np.int64), np.empty(size, np.int64)
    no_depths, no_kinds, no_faces = np.empty(0), np.empty(0, np.int8), np.empty(0, np.int64)
    for row in range(start, stop):
        a, b = pairs[row, 0], pairs[row, 1]
        first_a, last_a, first_b, last_b = vertex_starts[a], vertex_starts[a + 1], vertex_starts[b], vertex_starts[b + 1]
        many, at_b = last_a - first_a + last_b - first_b, last_a - first_a
        fixed, place = np.empty((many, 2), np.int64), np.empty((many, 3))
        project_vertices(row, first_a, last_a, vertices, rotations, lowers, pixels, 0, fixed, place)
        project_vertices(row, first_b, last_b, vertices, rotations, lowers, pixels, at_b, fixed, place)
        count_a[:], count_b[:] = 0, 0
        ta, tb, end_a, end_b = triangle_starts[a], triangle_starts[b], triangle_starts[a + 1], triangle_starts[b + 1]
        up_a, up_b = -first_a, at_b - first_b
        work = cross_triangles(
            ta, end_a, up_a, triangles, fixed, place, ENTERS_A, width, height, 0, count_a, no_depths, no_kinds, no_faces
        )  # fmt: skip
        work += cross_triangles(
            tb, end_b, up_b, triangles, fixed, place, ENTERS_B, width, height, 0, count_b, no_depths, no_kinds, no_faces
        )  # fmt: skip
        total, ways = pixels_of_both(count_a, count_b, places), 0
        for k in range(size):
            if places[k] >= 0:
                ways += count_a[k] * count_b[k]
        depths, kinds, faces = np.empty(total), np.empty(total, np.int8), np.empty(total, np.int64)
        if total > 0:
            cross_triangles(
                ta, end_a, up_a, triangles, fixed, place, ENTERS_A, width, height, 1, places, depths, kinds, faces
            )  # fmt: skip
            cross_triangles(
                tb, end_b, up_b, triangles, fixed, place, ENTERS_B, width, height, 1, places, depths, kinds, faces
            )  # fmt: skip
        times, ends, which = np.empty((ways, 2)), np.empty((ways, 2)), np.empty((ways, 3), np.int64)
        at = 0
        for k in range(size):
            if places[k] >= 0:
                first = places[k] - count_a[k] - count_b[k]
                sort_crossings(first, places[k], depths, kinds, faces)
                at = blocked_ways(first, places[k], k, depths, kinds, faces, at, times, ends, which)
        way_inout[row], last = first_free(at, times, way_inout[row])
        which_out[row, 0], work_out[row] = -1, work
        if last >= 0:
            for k in range(3):
                which_out[row, k] = which[last, k]
            ends_out[row, 0], ends_out[row, 1] = ends[last, 0], ends[last, 1]
