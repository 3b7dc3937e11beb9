"""Handles to rows, and poses to the table of bodies, in one pass each."""

from __future__ import annotations

from thud._core.decorators import device, kernel

#: A handle is generation * 2^32 + row.
ROW_BITS = 32
ROW_MASK = 2**ROW_BITS - 1

#: Columns of `Bodies.revision`.
SHAPE, POSE = 0, 1


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


@device
def rows_key(pairs, q):
    """Order of pair q of handles: by their rows."""
    return ((pairs[q, 0] & ROW_MASK) << 32) | (pairs[q, 1] & ROW_MASK)


@kernel("i8[::1], i8[:,::1], i8[:,::1], b1[::1], i8[:,::1]")
def put_poses(rows, bits, bits_out, moved_out, revision_out):
    """One pose for all rows, or one for each; poses are the bits of their 12 numbers. Each row whose pose is another now is
    marked as moved, and its revision of poses counted on."""
    many = bits.shape[0] != 1
    for k in range(rows.shape[0]):
        row, source = rows[k], k if many else 0
        changed = False
        for c in range(12):
            changed = changed or bits_out[row, c] != bits[source, c]
            bits_out[row, c] = bits[source, c]
        if changed:
            moved_out[row] = True
            revision_out[row, POSE] += 1
