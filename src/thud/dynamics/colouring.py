"""Colours of constraints: of one colour no two move the same body, so that they are solved side by side, in lanes and on
threads, to the same bytes in any order."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import kernel

#: Colours that bodies are marked with, as bits; constraints beyond, of bodies that touch more than so many others, are solved
#: one after the other.
MARKED = 63


@kernel(inner="i8[:,::1], i8, f8[::1], u8[::1], i8[::1]")
def colour_rows(rows, count, moves, marks, colour_out):
    """The lowest colour that neither body has yet, of the first `count` pairs in order; returns the number of colours. `moves`
    (N,): positive for bodies that are moved; `marks` (N,): room."""
    for k in range(moves.shape[0]):
        marks[k] = np.uint64(0)
    beyond, most = np.int64(0), np.int64(0)
    for k in range(count):
        a, b = rows[k, 0], rows[k, 1]
        seen = np.uint64(0)
        if moves[a] > 0.0:
            seen |= marks[a]
        if moves[b] > 0.0:
            seen |= marks[b]
        colour = np.int64(0)
        while colour < MARKED and (seen >> np.uint64(colour)) & np.uint64(1):
            colour += 1
        if colour == MARKED:
            colour = MARKED + beyond
            beyond += 1
        else:
            bit = np.uint64(1) << np.uint64(colour)
            marks[a] |= bit
            marks[b] |= bit
        colour_out[k] = colour
        most = max(most, colour + 1)
    return most


@kernel("i8[:,::1], f8[::1], u8[::1], i8[::1]")
def colour_pairs(rows, moves, marks, colour_out):
    """`colour_rows` of all pairs."""
    return colour_rows(rows, rows.shape[0], moves, marks, colour_out)


@kernel(inner="i8, i8[::1], i8[::1], i8, i8, i8[::1], i8[::1], i8[::1]")
def order_by_colour(many, colour, weight, colours, weights, count, order_out, starts_out):
    """Order of the first `many` by colour, within it by `weight` from large to small (below `weights`), then by place.
    `starts_out` (colours + 1,): first place of each colour. `count` (colours * weights + 1,): room."""
    for c in range(colours * weights + 1):
        count[c] = 0
    for k in range(many):
        count[colour[k] * weights + weights - 1 - weight[k] + 1] += 1
    for c in range(colours * weights):
        count[c + 1] += count[c]
    for c in range(colours + 1):
        starts_out[c] = count[c * weights]
    for k in range(many):
        key = colour[k] * weights + weights - 1 - weight[k]
        order_out[count[key]] = k
        count[key] += 1


@kernel("i8[::1], i8[::1], i8, i8, i8[::1], i8[::1], i8[::1]")
def sort_colours(colour, weight, colours, weights, count, order_out, starts_out):
    """`order_by_colour` of all."""
    order_by_colour(colour.shape[0], colour, weight, colours, weights, count, order_out, starts_out)
