"""The BSP tree of a set of triangles: cells cut in two until none holds a piece of a triangle. A kernel.

An auto-partition: a node's plane is that of one of its cell's triangles, chosen so that it cuts few others and divides them
evenly. Cells with many triangles are cut elsewhere first: across their longest side, or by a wall that stands on an edge of a
triangle, which parts the triangles around a vertex without cutting any. Triangles that cross a plane are cut into pieces; those
that lie in it stay with the node.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.partitions.tolerances import BSP_CUT, BSP_FEW, BSP_SHARE, BSP_TRIED

#: Columns of counts: nodes, pieces that stay with nodes, cells.
NODES, HELD, CELLS = 0, 1, 2


class BuiltTree(NamedTuple):
    """What the kernel writes."""

    face: Ints
    """(M,) the triangle whose plane cuts the node's cell; -1 if it is none's."""
    planes: Floats
    """(M, 9) three corners in the plane; in front is where their winding shows."""
    children: Ints
    """(M, 2) front and back: a node, or -1 - cell."""
    held_node: Ints
    held_face: Ints
    held: Floats
    """(P,), (P,), (P, 9): pieces in the nodes' planes, node by node in the order of making."""
    cells: Ints
    """(C, 2) node and side that a cell hangs below."""
    probes: Floats
    """(C, 4) middle of the piece that bounds a cell, and its inner radius; 0 where no piece does."""


def build_tree(corners: Floats, normals: Floats, heights: Floats, thin: float, few: int = BSP_FEW) -> BuiltTree:
    """Of triangles (K, 9) with unit normals and their planes' offsets; pieces thinner than `thin` are dropped."""
    room = 4 * len(corners) + 64
    while True:
        ints = [np.empty(room, np.int64), np.empty((room, 2), np.int64), np.empty(room, np.int64), np.empty(room, np.int64)]
        face, children, held_node, held_face = ints
        planes, held, probes = np.empty((room, 9)), np.empty((room, 9)), np.empty((room, 4))
        cells, counts = np.empty((room, 2), np.int64), np.zeros(3, np.int64)
        work, stack = np.empty((3, room, 9)), np.empty((room, 4), np.int64)
        names = np.empty((3, room), np.int64)
        done = cut_cells(
            corners, normals, heights, thin, few, work, names, stack, face, planes, children, held_node, held_face, held, cells,
            probes, counts,
        )  # fmt: skip
        if done:
            m, p, c = counts.tolist()
            return BuiltTree(
                face[:m].copy(), planes[:m].copy(), children[:m].copy(), held_node[:p].copy(), held_face[:p].copy(),
                held[:p].copy(), cells[:c].copy(), probes[:c].copy(),
            )  # fmt: skip
        room *= 2


@device
def corner_height(pieces, k, c, nx, ny, nz, h):
    """Of corner c of piece k above a plane."""
    return nx * pieces[k, 3 * c] + ny * pieces[k, 3 * c + 1] + nz * pieces[k, 3 * c + 2] - h


@device
def sides_of(pieces, k, nx, ny, nz, h, thin):
    """(reaches the front, reaches the back) of a piece, by more than `thin`."""
    a, b, c = (
        corner_height(pieces, k, 0, nx, ny, nz, h), corner_height(pieces, k, 1, nx, ny, nz, h),
        corner_height(pieces, k, 2, nx, ny, nz, h),
    )  # fmt: skip
    return max(a, max(b, c)) > thin, min(a, min(b, c)) < -thin


@device
def inner_radius(pieces, k):
    """Of the circle inside a piece."""
    ax, ay, az = pieces[k, 0], pieces[k, 1], pieces[k, 2]
    ux, uy, uz = pieces[k, 3] - ax, pieces[k, 4] - ay, pieces[k, 5] - az
    vx, vy, vz = pieces[k, 6] - ax, pieces[k, 7] - ay, pieces[k, 8] - az
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    wx, wy, wz = vx - ux, vy - uy, vz - uz
    around = math.sqrt(ux * ux + uy * uy + uz * uz) + math.sqrt(vx * vx + vy * vy + vz * vz)
    around += math.sqrt(wx * wx + wy * wy + wz * wz)
    return math.sqrt(nx * nx + ny * ny + nz * nz) / around if around > 0.0 else 0.0


@device
def clip_piece(pieces, k, nx, ny, nz, h, sign, thin, out, at):
    """Write the part of piece k at sign * height >= 0 as one or two triangles from row `at` on. Returns how many are thicker
    than `thin`."""
    px, py, pz, count = (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 0
    for c in range(3):
        d = (c + 1) % 3
        hp, hq = sign * corner_height(pieces, k, c, nx, ny, nz, h), sign * corner_height(pieces, k, d, nx, ny, nz, h)
        if hp >= 0.0:
            px, py, pz = pushed(px, pieces[k, 3 * c]), pushed(py, pieces[k, 3 * c + 1]), pushed(pz, pieces[k, 3 * c + 2])
            count += 1
        if (hp > 0.0 and hq < 0.0) or (hp < 0.0 and hq > 0.0):
            s = hp / (hp - hq)
            px = pushed(px, pieces[k, 3 * c] + s * (pieces[k, 3 * d] - pieces[k, 3 * c]))
            py = pushed(py, pieces[k, 3 * c + 1] + s * (pieces[k, 3 * d + 1] - pieces[k, 3 * c + 1]))
            pz = pushed(pz, pieces[k, 3 * c + 2] + s * (pieces[k, 3 * d + 2] - pieces[k, 3 * c + 2]))
            count += 1
    # The last corner came in at the end: of three the tuple's first place is empty.
    first, kept = 4 - count, 0
    for t in range(count - 2):
        row = at + kept
        for c in range(3):
            i = first + (0 if c == 0 else t + c)
            out[row, 3 * c], out[row, 3 * c + 1], out[row, 3 * c + 2] = px[i], py[i], pz[i]
        if inner_radius(out, row) > thin:
            kept += 1
    return kept


@device
def pushed(x, value):
    """Four numbers with one more at the end; the first goes."""
    return x[1], x[2], x[3], value


@device
def plane_cost(pieces, start, stop, nx, ny, nz, h, thin, share):
    """What a plane costs; inf if more than a share of the pieces is on one side, or if it cuts so many that the sides' pieces
    to the power of 3/2 add up to more than those of the cell. What overlaps itself would be cut without end otherwise."""
    front, back, cut = 0.0, 0.0, 0.0
    for j in range(start, stop):
        up, down = sides_of(pieces, j, nx, ny, nz, h, thin)
        front += 1.0 if up else 0.0
        back += 1.0 if down else 0.0
        cut += 1.0 if up and down else 0.0
    if share < np.inf:
        # A triangle that is cut makes three.
        f, b, whole = front + 0.5 * cut, back + 0.5 * cut, 1.0 * (stop - start)
        if max(front, back) > share * whole or f * math.sqrt(f) + b * math.sqrt(b) > whole * math.sqrt(whole):
            return np.inf
    return BSP_CUT * cut + abs(front - back)


@device
def choose_face(pieces, names, start, stop, normals, heights, thin):
    """The piece whose plane cuts few of the others and divides them evenly."""
    many, best, chosen = stop - start, np.inf, start
    tried = min(many, BSP_TRIED)
    for s in range(tried):
        k = start + (many - 1) * s // max(tried - 1, 1)
        f = names[k]
        cost = plane_cost(pieces, start, stop, normals[f, 0], normals[f, 1], normals[f, 2], heights[f], thin, np.inf)
        if cost < best:
            best, chosen = cost, k
    return chosen


@device
def plane_through(c):
    """Unit normal and offset of the plane of three corners, nine numbers."""
    ux, uy, uz = c[3] - c[0], c[4] - c[1], c[5] - c[2]
    vx, vy, vz = c[6] - c[0], c[7] - c[1], c[8] - c[2]
    nx, ny, nz = uy * vz - uz * vy, uz * vx - ux * vz, ux * vy - uy * vx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if not length > 0.0:
        return 0.0, 0.0, 0.0, 0.0
    nx, ny, nz = nx / length, ny / length, nz / length
    return nx, ny, nz, nx * c[0] + ny * c[1] + nz * c[2]


@device
def axis_plane(pieces, start, stop):
    """Three corners across the longest side of the pieces' middles, at their mean."""
    axis, place, widest = 0, 0.0, -1.0
    for c in range(3):
        low, high, total = np.inf, -np.inf, 0.0
        for k in range(start, stop):
            x = (pieces[k, c] + pieces[k, 3 + c] + pieces[k, 6 + c]) / 3.0
            low, high, total = min(low, x), max(high, x), total + x
        if high - low > widest:
            widest, axis, place = high - low, c, total / (stop - start)
    # The second and third corner go along the next two axes: the normal is the axis. All have the same coordinate along it.
    x, y, z = pieces[start, 0], pieces[start, 1], pieces[start, 2]
    if axis == 0:
        return place, y, z, place, y + 1.0 + abs(y), z, place, y, z + 1.0 + abs(z)
    if axis == 1:
        return x, place, z, x, place, z + 1.0 + abs(z), x + 1.0 + abs(x), place, z
    return x, y, place, x + 1.0 + abs(x), y, place, x, y + 1.0 + abs(y), place


@device
def wall_plane(pieces, k, e, nx, ny, nz):
    """Three corners of the plane that stands on edge e of piece k along its normal."""
    f = (e + 1) % 3
    ax, ay, az = pieces[k, 3 * e], pieces[k, 3 * e + 1], pieces[k, 3 * e + 2]
    bx, by, bz = pieces[k, 3 * f], pieces[k, 3 * f + 1], pieces[k, 3 * f + 2]
    up = math.sqrt((bx - ax) ** 2 + (by - ay) ** 2 + (bz - az) ** 2)
    return ax, ay, az, bx, by, bz, ax + up * nx, ay + up * ny, az + up * nz


@device
def copy_piece(source, names, k, out, out_names, at):
    """Row k to row `at`."""
    for c in range(9):
        out[at, c] = source[k, c]
    out_names[at] = names[k]


@kernel(
    "f8[:,::1], f8[:,::1], f8[::1], f8, i8, f8[:,:,::1], i8[:,::1], i8[:,::1], i8[::1], f8[:,::1], i8[:,::1], i8[::1], i8[::1],"
    " f8[:,::1], i8[:,::1], f8[:,::1], i8[::1]"
)
def cut_cells(
    corners, normals, heights, thin, few, work, work_names, stack, face_out, planes_out, children_out, held_node_out,
    held_face_out, held_out, cells_out, probes_out, counts,
):  # fmt: skip
    """See `build_tree`. Returns False where the room does not do."""
    room = face_out.shape[0]
    pieces, names = work[0], work_names[0]
    front, front_names, back, back_names = work[1], work_names[1], work[2], work_names[2]
    for k in range(corners.shape[0]):
        for c in range(9):
            pieces[k, c] = corners[k, c]
        names[k] = k
    # (node above, side of it, first piece, end): the pieces of what waits lie one after the other, the next at the end.
    stack[0, 0], stack[0, 1], stack[0, 2], stack[0, 3] = -1, 0, 0, corners.shape[0]
    depth, nodes, held, cells = 1, 0, 0, 0
    while depth > 0:
        depth -= 1
        above, side, start, stop = stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3]
        if nodes + 1 >= room or cells + 2 >= room or depth + 2 >= room:
            return False
        chosen, best = -1, np.inf
        cut = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        if stop - start > few:
            cut = axis_plane(pieces, start, stop)
            nx, ny, nz, h = plane_through(cut)
            best = plane_cost(pieces, start, stop, nx, ny, nz, h, thin, BSP_SHARE)
            for s in range(BSP_TRIED):
                k = start + (stop - start - 1) * s // (BSP_TRIED - 1)
                f = names[k]
                for e in range(3):
                    wall = wall_plane(pieces, k, e, normals[f, 0], normals[f, 1], normals[f, 2])
                    nx, ny, nz, h = plane_through(wall)
                    cost = plane_cost(pieces, start, stop, nx, ny, nz, h, thin, BSP_SHARE)
                    if cost < best:
                        best, cut = cost, wall
            nx, ny, nz, h = plane_through(cut)
            # A triangle that lies in this plane gives it its own.
            if best < np.inf:
                for k in range(start, stop):
                    up, down = sides_of(pieces, k, nx, ny, nz, h, thin)
                    if not up and not down:
                        chosen = k
                        break
        if best == np.inf:
            chosen = choose_face(pieces, names, start, stop, normals, heights, thin)
        node = nodes
        nodes += 1
        if chosen >= 0:
            f = names[chosen]
            nx, ny, nz, h = normals[f, 0], normals[f, 1], normals[f, 2], heights[f]
            for c in range(9):
                planes_out[node, c] = corners[f, c]
        else:
            for c in range(9):
                planes_out[node, c] = cut[c]
        face_out[node] = names[chosen] if chosen >= 0 else -1
        if above >= 0:
            children_out[above, side] = node
        many_front, many_back = 0, 0
        for k in range(start, stop):
            up, down = sides_of(pieces, k, nx, ny, nz, h, thin)
            if many_front + 2 >= room or many_back + 2 >= room or held >= room:
                return False
            if k == chosen or (not up and not down):
                copy_piece(pieces, names, k, held_out, held_face_out, held)
                held_node_out[held] = node
                held += 1
            elif up and down:
                new = clip_piece(pieces, k, nx, ny, nz, h, 1.0, thin, front, many_front)
                for j in range(new):
                    front_names[many_front + j] = names[k]
                many_front += new
                new = clip_piece(pieces, k, nx, ny, nz, h, -1.0, thin, back, many_back)
                for j in range(new):
                    back_names[many_back + j] = names[k]
                many_back += new
            elif up:
                copy_piece(pieces, names, k, front, front_names, many_front)
                many_front += 1
            else:
                copy_piece(pieces, names, k, back, back_names, many_back)
                many_back += 1
        # The piece that bounds a cell which is done.
        mx, my, mz, radius = 0.0, 0.0, 0.0, 0.0
        if chosen >= 0:
            mx = (pieces[chosen, 0] + pieces[chosen, 3] + pieces[chosen, 6]) / 3.0
            my = (pieces[chosen, 1] + pieces[chosen, 4] + pieces[chosen, 7]) / 3.0
            mz = (pieces[chosen, 2] + pieces[chosen, 5] + pieces[chosen, 8]) / 3.0
            radius = inner_radius(pieces, chosen)
        if start + many_front + many_back >= room:
            return False
        for k in range(many_back):
            copy_piece(back, back_names, k, pieces, names, start + k)
        for k in range(many_front):
            copy_piece(front, front_names, k, pieces, names, start + many_back + k)
        for way in range(2):
            # Behind first, so that what is in front lies at the end and comes next.
            s = 1 - way
            first = start if s == 1 else start + many_back
            many = many_back if s == 1 else many_front
            if many > 0:
                stack[depth, 0], stack[depth, 1], stack[depth, 2], stack[depth, 3] = node, s, first, first + many
                depth += 1
            else:
                children_out[node, s] = -1 - cells
                cells_out[cells, 0], cells_out[cells, 1] = node, s
                probes_out[cells, 0], probes_out[cells, 1], probes_out[cells, 2] = mx, my, mz
                probes_out[cells, 3] = radius
                cells += 1
    counts[NODES], counts[HELD], counts[CELLS] = nodes, held, cells
    return True
