"""Which triangles of a field's surface and of a mesh meet. The underside and the walls of the ground have no numbers and take
no part."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import kernel
from thud._core.threads import run_rows
from thud.bvh.height_tree import BOTTOM, SPACING_X, SPACING_Y, TOP, is_there, node_code, node_index, node_of, node_range, sample
from thud.constants import TOUCH
from thud.heightfield.cells import block_cells, cell_range, child_range, level_range, start_level
from thud.heightfield.objects import field_object, new_field_space
from thud.heightfield.prism import box_reach, heights_of, triangle_box, triangle_points, widened
from thud.heightfield.queries import ROWS
from thud.heightfield.rows import is_filled, slot_box
from thud.heightfield.tolerances import FIELD_ROOM
from thud.heightfield.walk import box_may_meet
from thud.mesh.box_tree import U, load_triangle, place_triangle, tree_pose
from thud.mesh.triangle_triangle import triangles_meet
from thud.pairing.rows import row_of
from thud.results import TrianglePairs
from thud.shapes.height_field import HeightField
from thud.shapes.triangle_mesh import TriangleMesh


@kernel(inner="height_grid, box_tree, i8, mat3, vec3, i8[::1], i8, i8, i8[:,::1]")
def sheet_triangles(grid, tree, position, r, t, stack, row, found, pairs_out):
    """The triangles of the field that one of a mesh meets go to pairs_out as (row, triangle, position), from `found` on as far
    as it reaches. Returns how many there are then."""
    box = triangle_box(tree.corners, U(position), r, t)
    size = box_reach(box) + abs(t[0]) + abs(t[1]) + abs(t[2])
    size += grid.numbers[SPACING_X] + grid.numbers[SPACING_Y] + grid.numbers[TOP] - grid.numbers[BOTTOM]
    touch = TOUCH * size
    box = widened(box, FIELD_ROOM * size)
    cells = cell_range(grid, box)
    if cells[0] > cells[1]:
        return found
    p, q, s = place_triangle(r, t, load_triangle(tree.corners, U(position)))
    level = start_level(grid, cells)
    i0, i1, j0, j1 = level_range(cells, level)
    depth = 0
    for j in range(j0, j1 + 1):
        for i in range(i0, i1 + 1):
            stack[depth] = node_code(level, j, i)
            depth += 1
    while depth > 0:
        depth -= 1
        level, j, i = node_of(stack[depth])
        low, high = node_range(grid, node_index(grid, level, j, i))
        if high < box[4] or low > box[5]:
            continue
        if level > 0:
            i0, i1, j0, j1 = child_range(cells, level, j, i)
            for y in range(j0, j1 + 1):
                for x in range(i0, i1 + 1):
                    stack[depth] = node_code(level - 1, y, x)
                    depth += 1
            continue
        i0, i1, j0, j1 = block_cells(grid, cells, j, i)
        for y in range(j0, j1 + 1):
            for x in range(i0, i1 + 1):
                corners = sample(grid, y, x), sample(grid, y, x + 1), sample(grid, y + 1, x), sample(grid, y + 1, x + 1)
                for k in range(2):
                    if not is_there(corners, k):
                        continue
                    low, high = heights_of(corners, k)
                    if high < box[4] or low > box[5]:
                        continue
                    a, b, c = triangle_points(grid, corners, y, x, k)
                    if triangles_meet(a, b, c, p, q, s, touch):
                        if found < pairs_out.shape[0]:
                            pairs_out[found, 0], pairs_out[found, 2] = row, position
                            pairs_out[found, 1] = 2 * (y * grid.columns + x) + k
                        found += 1
    return found


@kernel("i8, i8, height_grid, box_tree, f8[:,::1], f8[:,::1], i8[:,::1]")
def field_pairs_block(start, stop, grid, tree, poses_f, poses_m, pairs_out):
    """Pairs that meet, as (row, triangle of the field, tree position of the mesh), of rows from `start` on as far as they fit.

    Returns (the row to continue from, pairs written, the pairs that row needs if it did not fit).
    """
    space, used = new_field_space(), np.int64(0)
    for row in range(start, stop):
        r, t = tree_pose(poses_f, row_of(poses_f, row), poses_m, row_of(poses_m, row), grid.origin, tree.origin)
        found = used
        space.slots[0], depth = U(0), U(1)
        while depth > U(0):
            depth -= U(1)
            down = tree.child[space.slots[depth]]
            if down < 0:
                found = sheet_triangles(grid, tree, -1 - down, r, t, space.stack, row, found, pairs_out)
                continue
            for lane in range(8):
                child = U(8) * U(down) + U(lane)
                if is_filled(tree, child) and box_may_meet(grid, slot_box(tree, child, r, t)):
                    space.slots[depth] = child
                    depth += U(1)
        if found > pairs_out.shape[0]:
            return row, used, found - used
        used = found
    return stop, used, 0


def _found(field: HeightField, mesh: TriangleMesh, rows_f: Floats, rows_m: Floats, count: int, threads: int | None) -> Ints:
    """(M, 3) row, triangle of the field, triangle of the mesh, in no order."""
    arrays, chunks = (field.grid, field_object(mesh).tree, rows_f, rows_m), {}

    def collect(start: int, stop: int) -> None:
        """Rows start .. stop; the buffer grows until a row fits in."""
        buffer, parts, row = np.empty((1024, 3), dtype=np.int64), [np.empty((0, 3), dtype=np.int64)], start
        while row < stop:
            row, used, wanted = field_pairs_block(row, stop, *arrays, buffer)
            parts.append(buffer[:used].copy())
            if wanted > len(buffer):
                buffer = np.empty((2 * wanted, 3), dtype=np.int64)
        chunks[start] = np.concatenate(parts)

    run_rows(collect, count, threads, rows_per_chunk=ROWS)
    found = np.concatenate([np.empty((0, 3), dtype=np.int64), *(chunks[start] for start in sorted(chunks))])
    found[:, 2] = mesh.tree.order[found[:, 2]]
    return found


def _sorted(row: Ints, triangle_a: Ints, triangle_b: Ints) -> TrianglePairs:
    order = np.lexsort((triangle_b, triangle_a, row))
    return TrianglePairs(row[order], triangle_a[order], triangle_b[order])


def triangle_pairs(
    field: HeightField, mesh: TriangleMesh, rows_f: Floats, rows_m: Floats, count: int, *, threads: int | None
) -> TrianglePairs:
    """All pairs of triangles that meet, those of the field by their numbers."""
    return _sorted(*_found(field, mesh, rows_f, rows_m, count, threads).T)


def mesh_triangle_pairs(
    mesh: TriangleMesh, field: HeightField, rows_m: Floats, rows_f: Floats, count: int, *, threads: int | None
) -> TrianglePairs:
    """The same, the mesh being A."""
    row, on_field, on_mesh = _found(field, mesh, rows_f, rows_m, count, threads).T
    return _sorted(row, on_mesh, on_field)


def fields_triangle_pairs(
    a: HeightField, b: HeightField, rows_a: Floats, rows_b: Floats, count: int, *, threads: int | None
) -> TrianglePairs:
    """Of two fields: B's surface as a mesh."""
    vertices, faces, numbers = b.surface()
    row, on_a, on_b = _found(a, TriangleMesh(vertices, faces), rows_a, rows_b, count, threads).T
    return _sorted(row, on_a, numbers[on_b])
