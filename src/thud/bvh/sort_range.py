"""Sorting a run of whole numbers in place, and finding one of them, in kernels."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel


@device
def sift_down(values, start, root, count):
    """Let a number sink to its place in the heap at `start`."""
    while True:
        child = 2 * root + 1
        if child >= count:
            return
        if child + 1 < count and values[start + child] < values[start + child + 1]:
            child += 1
        if values[start + root] >= values[start + child]:
            return
        values[start + root], values[start + child] = values[start + child], values[start + root]
        root = child


@kernel(inner="i8[::1], i8, i8")
def sort_numbers(values, start, stop):
    """Sort values[start:stop]: few by insertion, many by a heap."""
    count = stop - start
    if count <= 24:
        for i in range(start + 1, stop):
            value, j = values[i], i
            while j > start and values[j - 1] > value:
                values[j] = values[j - 1]
                j -= 1
            values[j] = value
        return
    for root in range(count // 2 - 1, -1, -1):
        sift_down(values, start, root, count)
    for last in range(count - 1, 0, -1):
        values[start], values[start + last] = values[start + last], values[start]
        sift_down(values, start, 0, last)


@device
def find_key(keys, count, key):
    """Place of a key among sorted ones, -1 if it is not there."""
    low, high = np.int64(0), np.int64(count)
    while low < high:
        middle = (low + high) >> 1
        if keys[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < count and keys[low] == key else np.int64(-1)
