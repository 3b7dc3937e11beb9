"""Rows of the backward projections: row i of an array, or its only one."""

from __future__ import annotations

from thud._core.decorators import exact_device

#: What every row kernel of a method takes: rows; points, positions, directions, length ranges and starts; the results.
SIGNATURE = "i8, i8, f8[:,::1], f8[:,:,::1], f8[:,:,::1], f8[:,::1], f8[:,::1], f8[::1], f8[::1], f8[::1], i8[::1], u1[::1]"


@exact_device
def load_point(points, ranges, i):
    """(point, lo, hi) of row i."""
    k = i if points.shape[0] > 1 else 0
    j = i if ranges.shape[0] > 1 else 0
    return (points[k, 0], points[k, 1], points[k, 2]), ranges[j, 0], ranges[j, 1]


@exact_device
def load_corner(corners, i, c):
    """Corner c of row i."""
    k = i if corners.shape[0] > 1 else 0
    return corners[k, c, 0], corners[k, c, 1], corners[k, c, 2]


@exact_device
def load_triangle(corners, i):
    """The three corners of row i."""
    return load_corner(corners, i, 0), load_corner(corners, i, 1), load_corner(corners, i, 2)


@exact_device
def load_quadrilateral(corners, i):
    """The four corners of row i."""
    return load_corner(corners, i, 0), load_corner(corners, i, 1), load_corner(corners, i, 2), load_corner(corners, i, 3)
