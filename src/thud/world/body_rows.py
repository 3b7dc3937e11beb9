"""Handles to rows, and poses to the table of bodies, in one pass each."""

from __future__ import annotations

from thud._core.decorators import kernel

#: A handle is generation * 2^32 + row.
ROW_BITS = 32
ROW_MASK = 2**ROW_BITS - 1


@kernel("i8[::1], b1[::1], i8[::1], i8, i8[::1]")
def find_rows(handles, alive, generation, used, rows_out):
    """Rows of handles; returns the first that names no living body, or -1."""
    for k in range(handles.shape[0]):
        handle = handles[k]
        row = handle & ROW_MASK
        if handle < 0 or row >= used or not alive[row] or generation[row] != handle >> ROW_BITS:
            return k
        rows_out[k] = row
    return -1


@kernel("i8[::1], f8[:,::1], f8[:,::1], b1[::1]")
def put_poses(rows, poses, poses_out, moved_out):
    """One pose for all rows, or one for each; each row is marked as moved."""
    many = poses.shape[0] != 1
    for k in range(rows.shape[0]):
        row, source = rows[k], k if many else 0
        for c in range(12):
            poses_out[row, c] = poses[source, c]
        moved_out[row] = True
