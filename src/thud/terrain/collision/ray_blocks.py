"""Rays against a displaced surface, many of them: boxes of blocks of patches, made once.

The bounding maps are made for shapes: a volume is computed from lengths along eight directions, which costs more than it saves
a ray. For many rays each quad gets a pyramid of boxes, of 2 x 2 patches, then of 2 x 2 of those and so on, in bytes of the
quad's own box: two bytes a sample. The tree over the primitives and the pyramids are walked nearest first; in a block the nine
samples are computed and the patches whose boxes the ray meets are solved as in `rays.py`: both ways have the same answers.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.constants import RAY_BOX_SLACK
from thud.terrain.bounding.planes import corner
from thud.terrain.collision.outline import in_outline, outline
from thud.terrain.collision.patch import load_patch, patch_normal
from thud.terrain.collision.rays import earlier, load_ray, ray_patch
from thud.terrain.collision.tolerances import BLOCK_SLACK, PATCH_RAY_EDGE, RAY_TIE
from thud.terrain.sampling import node_point
from thud.terrain.surface import DisplacedSurface
from thud.terrain.surface_arrays import COUNT, FIRST, MATERIAL, QUAD, SIDE, V3, S, T

_I = np.int64

#: Columns of `quads`: first row of the boxes, patches a side, whether its primitives cover all of it.
FIRST_BOX, PATCHES, WHOLE = 0, 1, 2

#: Rooms for what waits: nodes of the tree, blocks of a pyramid, levels of one, quads that were walked (counts).
_NODES, _BLOCKS, _LEVELS, _WALKED = 256, 64, 16, 4


class RayBlocks(NamedTuple):
    """Pyramids of all quads."""

    quads: Ints
    """(Q, 3)"""
    frames: Floats
    """(Q, 6) lower corner of a quad's box, and a 255th of its sides."""
    boxes: npt.NDArray[np.uint8]
    """(B, 6) lower and upper corners in 255ths: the finest level of a quad first, row by row."""

    @property
    def nbytes(self) -> int:
        """Of all arrays."""
        return self.quads.nbytes + self.frames.nbytes + self.boxes.nbytes


def build_blocks(surface: DisplacedSurface) -> RayBlocks:
    """Of all quads of a surface."""
    arrays = surface.arrays
    side = arrays.quads[:, SIDE].astype(np.int64) * arrays.ratio
    rows = np.array([_rows(int(n)) for n in np.unique(side)])[np.searchsorted(np.unique(side), side)]
    quads = np.zeros((len(side), 3), np.int64)
    quads[:, FIRST_BOX], quads[:, PATCHES] = np.cumsum(rows) - rows, side
    frames, boxes = np.empty((len(side), 6)), np.empty((int(rows.sum()), 6), np.uint8)
    run_rows(block_boxes, len(side), None, arrays, quads, frames, boxes, rows_per_chunk=16)
    return RayBlocks(quads, frames, boxes)


def _rows(patches: int) -> int:
    """Boxes of the pyramid of a quad of so many patches a side."""
    m, total = -(-patches // 2), 0
    while True:
        total += m * m
        if m == 1:
            return total
        m = -(-m // 2)


@exact_device
def covers_all(surface, quad, patches):
    """Whether the primitives of a quad have its whole area."""
    area = _I(0)
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        ax, ay = corner(surface, k, 0, quad)
        bx, by = corner(surface, k, 1, quad)
        cx, cy = corner(surface, k, 2, quad)
        twice = abs((bx - ax) * (cy - ay) - (cx - ax) * (by - ay))
        area += twice if surface.primitives[k, V3] < 0 else 2 * twice
    return area == 2 * patches * patches


@exact_kernel("i8, i8, surface, i8[:,::1], f8[:,::1], u1[:,::1]")
def block_boxes(start, stop, surface, quads, frames_out, boxes_out):
    """Frames and boxes of quads [start, stop)."""
    most = 0
    for quad in range(start, stop):
        most = max(most, quads[quad, PATCHES])
    points = np.empty((most + 1, most + 1, 3))
    for quad in range(start, stop):
        n, row = quads[quad, PATCHES], quads[quad, FIRST_BOX]
        quads[quad, WHOLE] = 1 if covers_all(surface, quad, n) else 0
        for c in range(3):
            frames_out[quad, c], frames_out[quad, 3 + c] = np.inf, -np.inf
        for y in range(n + 1):
            for x in range(n + 1):
                p = node_point(surface, quad, x, y)
                for c in range(3):
                    points[y, x, c] = p[c]
                    frames_out[quad, c] = min(frames_out[quad, c], p[c])
                    frames_out[quad, 3 + c] = max(frames_out[quad, 3 + c], p[c])
        for c in range(3):
            wide = frames_out[quad, 3 + c] - frames_out[quad, c]
            far = max(abs(frames_out[quad, 3 + c]), abs(frames_out[quad, c]))
            frames_out[quad, 3 + c] = max(wide, 1e-12 * far + 1e-300) * (1.0 + BLOCK_SLACK) / 255.0
        m = (n + 1) // 2
        for by in range(m):
            for bx in range(m):
                for c in range(3):
                    low, high = np.inf, -np.inf
                    for y in range(2 * by, min(2 * by + 2, n) + 1):
                        for x in range(2 * bx, min(2 * bx + 2, n) + 1):
                            low, high = min(low, points[y, x, c]), max(high, points[y, x, c])
                    step, origin = frames_out[quad, 3 + c], frames_out[quad, c]
                    boxes_out[row, c] = np.uint8(max(math.floor((low - origin) / step - BLOCK_SLACK), 0.0))
                    boxes_out[row, 3 + c] = np.uint8(min(math.ceil((high - origin) / step + BLOCK_SLACK), 255.0))
                row += 1
        before = quads[quad, FIRST_BOX]
        while m > 1:
            half = (m + 1) // 2
            for by in range(half):
                for bx in range(half):
                    for c in range(3):
                        low, high = np.uint8(255), np.uint8(0)
                        for y in range(2 * by, min(2 * by + 2, m)):
                            for x in range(2 * bx, min(2 * bx + 2, m)):
                                low = min(low, boxes_out[before + y * m + x, c])
                                high = max(high, boxes_out[before + y * m + x, 3 + c])
                        boxes_out[row, c], boxes_out[row, 3 + c] = low, high
                    row += 1
            before, m = before + m * m, half


@exact_device
def inverse(x):
    """1 / x; of 0 a number so large that a ray along a side of a box is in it or far beyond."""
    return 1.0 / x if abs(x) > 1e-300 else math.copysign(1e300, x)


@exact_device
def enter_box(o, inv, lx, ly, lz, ux, uy, uz, farthest):
    """Where a ray enters a box; inf if it does not before `farthest`. Never missed by rounding."""
    x0, x1 = (lx - o[0]) * inv[0], (ux - o[0]) * inv[0]
    y0, y1 = (ly - o[1]) * inv[1], (uy - o[1]) * inv[1]
    z0, z1 = (lz - o[2]) * inv[2], (uz - o[2]) * inv[2]
    enter = max(max(min(x0, x1), min(y0, y1)), max(min(z0, z1), 0.0))
    leave = min(min(max(x0, x1), max(y0, y1)), max(z0, z1)) * RAY_BOX_SLACK
    return enter if enter <= min(leave, RAY_TIE * farthest) else math.inf


@exact_device
def enter_block(o, inv, boxes, row, farthest):
    """`enter_box` of a block, the ray in 255ths of its quad."""
    return enter_box(
        o, inv, np.float64(boxes[row, 0]), np.float64(boxes[row, 1]), np.float64(boxes[row, 2]), np.float64(boxes[row, 3]),
        np.float64(boxes[row, 4]), np.float64(boxes[row, 5]), farthest,
    )  # fmt: skip


@exact_device
def covered(surface, quad, i, j):
    """Whether some primitive of the quad has a part of patch (i, j)."""
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        if in_outline(outline(surface, k), i, j, i + 1, j + 1):
            return True
    return False


@exact_device
def triangle_points(surface, quad, x0, y0, across, up, points_out):
    """The samples of a block that lies in one triangle of its quad, without details: to the bit those of `node_point`, whose
    whole numbers grow from node to node by the same amounts. Returns whether there is such a triangle."""
    gx, gy = x0 + _I(surface.quads[quad, S]), y0 + _I(surface.quads[quad, T])
    for k in range(surface.quads[quad, FIRST], surface.quads[quad, FIRST] + surface.quads[quad, COUNT]):
        if surface.primitives[k, V3] >= 0 or surface.primitives[k, MATERIAL] >= 0:
            return False
        a, b, c = surface.primitives[k, 0], surface.primitives[k, 1], surface.primitives[k, 2]
        s0, t0 = _I(surface.coordinates[a, 0]), _I(surface.coordinates[a, 1])
        s1, t1 = _I(surface.coordinates[b, 0]) - s0, _I(surface.coordinates[b, 1]) - t0
        s2, t2 = _I(surface.coordinates[c, 0]) - s0, _I(surface.coordinates[c, 1]) - t0
        whole = s1 * t2 - s2 * t1
        w1, w2 = (gx - s0) * t2 - s2 * (gy - t0), s1 * (gy - t0) - (gx - s0) * t1
        # At the corners of the block, where they are least.
        least1 = w1 + min(0, across * t2) + min(0, -up * s2)
        least2 = w2 + min(0, -across * t1) + min(0, up * s1)
        most = w1 + w2 + max(0, across * (t2 - t1)) + max(0, up * (s1 - s2))
        if least1 < 0 or least2 < 0 or most > whole:
            continue
        v, lengths = surface.vertices, surface.displacements
        for y in range(up + 1):
            for x in range(across + 1):
                u1, u2 = w1 + x * t2 - y * s2, w2 + y * s1 - x * t1
                l0, l1, l2 = (whole - u1 - u2) / whole, u1 / whole, u2 / whole
                length = np.float64(lengths[gy + y, gx + x])
                for i in range(3):
                    # A sum of zeros may have either sign.
                    p = l0 * v[a, i] + l1 * v[b, i] + l2 * v[c, i] + 0.0
                    q = l0 * v[a, 3 + i] + l1 * v[b, 3 + i] + l2 * v[c, 3 + i] + 0.0
                    points_out[y, x, i] = p + length * q
        return True
    return False


@exact_device
def extent(corners, c):
    """Least and greatest coordinate c of four corners."""
    p, q, r, s = corners[0, c], corners[1, c], corners[2, c], corners[3, c]
    return min(min(p, q), min(r, s)), max(max(p, q), max(r, s))


@exact_kernel(inner="surface, i8, i8, i8, i8, i8, vec3, vec3, vec3, f8, b1, i8, f8[:,:,::1], f8[:,::1], f8[:,::1], f8[::1]")
def ray_leaf(surface, quad, n, whole, bx, by, o, d, inv, best, found, any_hit, points, corners, crossings, place_out):
    """(hit, distance) of a ray and the up to four patches of a block, if before `best`; place_out: quad, x, y, a, b."""
    across, up = min(2, n - 2 * bx), min(2, n - 2 * by)
    if surface.ratio > 1 or not triangle_points(surface, quad, 2 * bx, 2 * by, across, up, points):
        for y in range(up + 1):
            for x in range(across + 1):
                p = node_point(surface, quad, 2 * bx + x, 2 * by + y)
                points[y, x, 0], points[y, x, 1], points[y, x, 2] = p
    for y in range(up):
        for x in range(across):
            for c in range(3):
                corners[0, c], corners[1, c] = points[y, x, c], points[y, x + 1, c]
                corners[2, c], corners[3, c] = points[y + 1, x, c], points[y + 1, x + 1, c]
            lx, ux = extent(corners, 0)
            ly, uy = extent(corners, 1)
            lz, uz = extent(corners, 2)
            # Patches are met a little beyond their borders.
            slack = 4.0 * PATCH_RAY_EDGE * ((ux - lx) + (uy - ly) + (uz - lz))
            if enter_box(o, inv, lx - slack, ly - slack, lz - slack, ux + slack, uy + slack, uz + slack, best) == math.inf:
                continue
            i, j = 2 * bx + x, 2 * by + y
            if whole == 0 and not covered(surface, quad, i, j):
                continue
            hit, distance, u, v = ray_patch(corners, o, d, best, crossings)
            if hit and (not found or distance < best or earlier(quad, i, j, place_out)):
                found, best = True, distance
                place_out[0], place_out[1], place_out[2], place_out[3], place_out[4] = quad, i, j, u, v
                if any_hit:
                    return found, best
    return found, best


@exact_device
def push_nearest(stack, times, depth, begin, level, x, y, time):
    """Put a block on the stack, below those of its siblings that are nearer. Returns the new depth."""
    at = depth
    while at > begin and times[at - 1] < time:
        for c in range(3):
            stack[at, c] = stack[at - 1, c]
        times[at] = times[at - 1]
        at -= 1
    stack[at, 0], stack[at, 1], stack[at, 2], times[at] = level, x, y, time
    return depth + 1


@exact_kernel("i8, i8, surface, f8[:,::1], f8[:,::1], f8, i8, i8[:,::1], f8[:,::1], u1[:,::1], f8[::1], f8[:,::1], i8[::1]")
def block_ray_rows(
    start, stop, surface, origins, directions, reach, any_hit, quads, frames, boxes, distance_out, normal_out, quad_out
):  # fmt: skip
    """First hits in the surface's frame, from either side; normals to the upper side."""
    corners, points, crossings, place = np.empty((4, 3)), np.empty((3, 3, 3)), np.empty((2, 3)), np.zeros(5)
    nodes, node_times = np.empty(_NODES, np.int64), np.empty(_NODES)
    stack, times, levels = np.empty((_BLOCKS, 3), np.int64), np.empty(_BLOCKS), np.empty((_LEVELS, 2), np.int64)
    walked, tree, b6 = np.empty(_WALKED, np.int64), surface.node_ints, surface.node_boxes
    for row in range(start, stop):
        o, d, skip = load_ray(surface, origins, directions, row)
        inv = (inverse(d[0]), inverse(d[1]), inverse(d[2]))
        best, found, turn = reach - skip, False, 0
        walked[:] = -1
        time = enter_box(
            o, inv, np.float64(b6[0, 0]), np.float64(b6[0, 1]), np.float64(b6[0, 2]), np.float64(b6[0, 3]),
            np.float64(b6[0, 4]), np.float64(b6[0, 5]), best,
        )  # fmt: skip
        waiting = 0
        if time < math.inf:
            nodes[0], node_times[0], waiting = 0, time, 1
        while waiting > 0 and not (found and any_hit):
            waiting -= 1
            node = nodes[waiting]
            if node_times[waiting] > RAY_TIE * best:
                continue
            while node >= 0 and tree[node, 1] < 0:
                # The nearer child first; the other waits.
                left = node + 1
                right = _I(tree[left, 0])
                t_left = enter_box(
                    o, inv, np.float64(b6[left, 0]), np.float64(b6[left, 1]), np.float64(b6[left, 2]), np.float64(b6[left, 3]),
                    np.float64(b6[left, 4]), np.float64(b6[left, 5]), best,
                )  # fmt: skip
                t_right = enter_box(
                    o, inv, np.float64(b6[right, 0]), np.float64(b6[right, 1]), np.float64(b6[right, 2]),
                    np.float64(b6[right, 3]), np.float64(b6[right, 4]), np.float64(b6[right, 5]), best,
                )  # fmt: skip
                near, far, t_far = (left, right, t_right) if t_left <= t_right else (right, left, t_left)
                if t_far < math.inf:
                    nodes[waiting], node_times[waiting] = far, t_far
                    waiting += 1
                node = near if min(t_left, t_right) < math.inf else _I(-1)
            if node < 0:
                continue
            quad, known = _I(surface.primitives[tree[node, 1], QUAD]), False
            for k in range(_WALKED):
                known = known or walked[k] == quad
            if known:
                continue
            walked[turn % _WALKED] = quad
            turn += 1
            # The pyramid: rows and sides of its levels, the finest first.
            n, level = quads[quad, PATCHES], 0
            levels[0, 0], levels[0, 1] = quads[quad, FIRST_BOX], (n + 1) // 2
            while levels[level, 1] > 1:
                m = levels[level, 1]
                levels[level + 1, 0], levels[level + 1, 1] = levels[level, 0] + m * m, (m + 1) // 2
                level += 1
            # The ray in 255ths of the quad: the boxes as they are stored.
            own = (
                (o[0] - frames[quad, 0]) / frames[quad, 3], (o[1] - frames[quad, 1]) / frames[quad, 4],
                (o[2] - frames[quad, 2]) / frames[quad, 5],
            )  # fmt: skip
            own_inv = (inv[0] * frames[quad, 3], inv[1] * frames[quad, 4], inv[2] * frames[quad, 5])
            time = enter_block(own, own_inv, boxes, levels[level, 0], best)
            if time == math.inf:
                continue
            stack[0, 0], stack[0, 1], stack[0, 2], times[0], depth = level, 0, 0, time, 1
            while depth > 0:
                depth -= 1
                at, bx, by = stack[depth, 0], stack[depth, 1], stack[depth, 2]
                if times[depth] > RAY_TIE * best:
                    continue
                if at == 0:
                    found, best = ray_leaf(
                        surface, quad, n, quads[quad, WHOLE], bx, by, o, d, inv, best, found, any_hit, points, corners,
                        crossings, place,
                    )  # fmt: skip
                    if found and any_hit:
                        break
                    continue
                base, m, begin = levels[at - 1, 0], levels[at - 1, 1], depth
                for y in range(2 * by, min(2 * by + 2, m)):
                    for x in range(2 * bx, min(2 * bx + 2, m)):
                        time = enter_block(own, own_inv, boxes, base + y * m + x, best)
                        if time < math.inf:
                            depth = push_nearest(stack, times, depth, begin, at - 1, x, y, time)
        distance_out[row], quad_out[row] = math.inf, -1
        for axis in range(3):
            normal_out[row, axis] = 0.0
        if found:
            load_patch(surface, _I(place[0]), _I(place[1]), _I(place[2]), corners)
            normal_out[row, 0], normal_out[row, 1], normal_out[row, 2] = patch_normal(corners, place[3], place[4])
            distance_out[row], quad_out[row] = skip + best, _I(place[0])
