"""Radix sort of numbers that carry indices along: stable, a few passes, no comparisons."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.decorators import kernel

#: Most bits of one pass: 4096 counters stay in the fastest cache.
_DIGIT = 12


@kernel("u8[::1], i4[::1], u8[::1], i4[::1]")
def radix_sort(keys, items, keys_work, items_work):
    """Sort `keys` ascending, in place, and `items` with them; equal keys keep their order. Bits that all keys share cost
    nothing. The others are work space of the same length."""
    count = keys.shape[0]
    varying = np.uint64(0)
    for k in range(count):
        varying |= keys[k] ^ keys[0]
    low, high = 0, 0
    for bit in range(64):
        if (varying >> np.uint64(bit)) & np.uint64(1) != 0:
            if high == 0:
                low = bit
            high = bit + 1
    if high == 0:
        return
    passes = -(-(high - low) // _DIGIT)
    width = -(-(high - low) // passes)
    mask = np.uint64((1 << width) - 1)
    starts = np.empty((1 << width) + 1, np.int64)
    source, target, source_items, target_items = keys, keys_work, items, items_work
    for turn in range(passes):
        shift = np.uint64(low + turn * width)
        starts[:] = 0
        for k in range(count):
            starts[np.int64((source[k] >> shift) & mask) + 1] += 1
        for digit in range(1 << width):
            starts[digit + 1] += starts[digit]
        for k in range(count):
            digit = np.int64((source[k] >> shift) & mask)
            at = starts[digit]
            starts[digit] = at + 1
            target[at], target_items[at] = source[k], source_items[k]
        source, target = target, source
        source_items, target_items = target_items, source_items
    if passes % 2 == 1:
        for k in range(count):
            keys[k], items[k] = keys_work[k], items_work[k]


def sort_with(keys: npt.NDArray[np.uint64], items: npt.NDArray[np.int32]) -> None:
    """Sort `keys` in place, and `items` with them."""
    radix_sort(keys, items, np.empty_like(keys), np.empty_like(items))
