"""What lies beyond the edges of a mesh's triangles: which triangle, and by how much the surface bends there.

Edge k of a triangle leads from its corner k to the next. Triangles are in the order of the tree.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.bvh.sort_range import sort_numbers
from thud.math.vec3 import cross, dot, norm2, sub

#: How much a surface bends, in radians, at an edge without a second triangle: any normal may lean over it.
OPEN = math.pi


class MeshEdges(NamedTuple):
    """Edges of the triangles of a mesh, by tree position."""

    bend: npt.NDArray[np.float32]
    """(T, 3) radians, positive where the surface is convex; pi where it ends or branches."""
    beyond: npt.NDArray[np.int32]
    """(T, 3) tree position of the triangle beyond, -1 for none."""
    side: npt.NDArray[np.int32]
    """(T, 3) number of the edge, the same from both sides."""
    corner: npt.NDArray[np.int32]
    """(T, 3) vertex, the first in its place."""
    face: Ints
    """(T,) face row."""
    turned: Ints
    """(1,) 1 if the triangles of a closed mesh face inward."""


def mesh_edges(corners: Floats, faces: Ints, order: Ints, places: Ints, closed: bool) -> MeshEdges:
    """Of triangles by their corners (T, 9) in the order of the tree, their vertices and where those are."""
    corner = np.ascontiguousarray(places[faces[order]], dtype=np.int32)
    count = len(order)
    bend, beyond = np.full((count, 3), OPEN, dtype=np.float32), np.full((count, 3), -1, dtype=np.int32)
    side = np.empty((count, 3), dtype=np.int32)
    starts, halves = np.zeros(len(places) + 1, dtype=np.int64), np.empty(3 * count, dtype=np.int64)
    volume = find_beyond(corners, corner, starts, halves, bend, beyond, side)
    turned = np.array([int(closed and volume < 0.0)], dtype=np.int64)
    return MeshEdges(bend, beyond, side, corner, np.array(order, dtype=np.int64), turned)


@device
def corner_of(corners, t, k):
    """Corner k of triangle t."""
    return corners[t, 3 * k], corners[t, 3 * k + 1], corners[t, 3 * k + 2]


@device
def area_of(corners, t):
    """Area vector of triangle t."""
    a = corner_of(corners, t, 0)
    return cross(sub(corner_of(corners, t, 1), a), sub(corner_of(corners, t, 2), a))


@device
def bend_between(p, apex, n, m):
    """Radians by which a surface bends at an edge through p between triangles with area vectors n and m, the second of which
    has its third corner at `apex`; positive where it is convex."""
    c = cross(n, m)
    angle = math.atan2(math.sqrt(norm2(c)), dot(n, m))
    return -angle if dot(n, sub(apex, p)) > 0.0 else angle


@kernel("f8[:,::1], i4[:,::1], i8[::1], i8[::1], f4[:,::1], i4[:,::1], i4[:,::1]")
def find_beyond(corners, corner, starts, halves, bend_out, beyond_out, side_out):
    """Six times the volume that the triangles enclose; fills the arrays of `MeshEdges`.

    starts: zeros; halves: work space. A half edge is 3 t + k; those with the same lower vertex are sorted by the upper one.
    """
    count = np.int64(corner.shape[0])
    volume, wide = 0.0, 3 * count
    for t in range(count):
        volume += dot(corner_of(corners, t, 0), cross(corner_of(corners, t, 1), corner_of(corners, t, 2)))
        for k in range(3):
            starts[min(corner[t, k], corner[t, (k + 1) % 3]) + 1] += 1
    for v in range(starts.shape[0] - 1):
        starts[v + 1] += starts[v]
    for t in range(count):
        for k in range(3):
            tail, head = np.int64(corner[t, k]), np.int64(corner[t, (k + 1) % 3])
            low = min(tail, head)
            halves[starts[low]] = max(tail, head) * wide + 3 * t + k
            starts[low] += 1
    # Counting moved each start to the end of its vertex's edges.
    begin = np.int64(0)
    for v in range(starts.shape[0] - 1):
        end = starts[v]
        sort_numbers(halves, begin, end)
        i = begin
        while i < end:
            upper, first = halves[i] // wide, halves[i] % wide
            stop = i
            while stop < end and halves[stop] // wide == upper:
                half = halves[stop] % wide
                side_out[half // 3, half % 3] = np.int32(first)
                stop += 1
            second = halves[stop - 1] % wide
            t, k, s, m = first // 3, first % 3, second // 3, second % 3
            # Two triangles that pass the edge in opposite directions.
            if stop - i == 2 and upper != v and corner[t, k] == corner[s, (m + 1) % 3]:
                p, n, other = corner_of(corners, t, k), area_of(corners, t), area_of(corners, s)
                bend = np.float32(bend_between(p, corner_of(corners, s, (m + 2) % 3), n, other))
                bend_out[t, k], bend_out[s, m] = bend, bend
                beyond_out[t, k], beyond_out[s, m] = np.int32(s), np.int32(t)
            i = stop
        begin = end
    return volume
