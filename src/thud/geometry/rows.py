"""How kernels broadcast one row against many."""

from __future__ import annotations

from thud._core.decorators import device, exact_device


@device
def row(i, array):
    """Row i of an array with many rows, or the one row it has."""
    return i if array.shape[0] > 1 else 0


@exact_device
def exact_row(i, array):
    """`row` for exact kernels."""
    return i if array.shape[0] > 1 else 0
