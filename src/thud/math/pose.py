"""Poses as device functions: a rotation is a 9-tuple, row-major; a pose is a row of 12 floats (rotation, translation)."""

from __future__ import annotations

from thud._core.decorators import device


@device
def load_rotation(poses, row):
    """Rotation of poses[row] (rows of 12 floats) as a 9-tuple, row-major."""
    p = poses[row]
    return p[0], p[1], p[2], p[3], p[4], p[5], p[6], p[7], p[8]


@device
def load_translation(poses, row):
    """Translation of poses[row]."""
    return poses[row, 9], poses[row, 10], poses[row, 11]


@device
def rotate(r, p):
    """R p."""
    return (
        r[0] * p[0] + r[1] * p[1] + r[2] * p[2],
        r[3] * p[0] + r[4] * p[1] + r[5] * p[2],
        r[6] * p[0] + r[7] * p[1] + r[8] * p[2],
    )


@device
def unrotate(r, p):
    """R^T p."""
    return (
        r[0] * p[0] + r[3] * p[1] + r[6] * p[2],
        r[1] * p[0] + r[4] * p[1] + r[7] * p[2],
        r[2] * p[0] + r[5] * p[1] + r[8] * p[2],
    )


@device
def transform(r, t, p):
    """R p + t: a point of the inner frame in the outer one."""
    q = rotate(r, p)
    return q[0] + t[0], q[1] + t[1], q[2] + t[2]


@device
def untransform(r, t, p):
    """R^T (p - t): a point of the outer frame in the inner one."""
    return unrotate(r, (p[0] - t[0], p[1] - t[1], p[2] - t[2]))


@device
def relative_rotation(ra, rb):
    """Ra^T Rb: the rotation of B in A's frame."""
    return (
        ra[0] * rb[0] + ra[3] * rb[3] + ra[6] * rb[6],
        ra[0] * rb[1] + ra[3] * rb[4] + ra[6] * rb[7],
        ra[0] * rb[2] + ra[3] * rb[5] + ra[6] * rb[8],
        ra[1] * rb[0] + ra[4] * rb[3] + ra[7] * rb[6],
        ra[1] * rb[1] + ra[4] * rb[4] + ra[7] * rb[7],
        ra[1] * rb[2] + ra[4] * rb[5] + ra[7] * rb[8],
        ra[2] * rb[0] + ra[5] * rb[3] + ra[8] * rb[6],
        ra[2] * rb[1] + ra[5] * rb[4] + ra[8] * rb[7],
        ra[2] * rb[2] + ra[5] * rb[5] + ra[8] * rb[8],
    )


@device
def compose_rotation(ra, rb):
    """Ra Rb."""
    return (
        ra[0] * rb[0] + ra[1] * rb[3] + ra[2] * rb[6],
        ra[0] * rb[1] + ra[1] * rb[4] + ra[2] * rb[7],
        ra[0] * rb[2] + ra[1] * rb[5] + ra[2] * rb[8],
        ra[3] * rb[0] + ra[4] * rb[3] + ra[5] * rb[6],
        ra[3] * rb[1] + ra[4] * rb[4] + ra[5] * rb[7],
        ra[3] * rb[2] + ra[4] * rb[5] + ra[5] * rb[8],
        ra[6] * rb[0] + ra[7] * rb[3] + ra[8] * rb[6],
        ra[6] * rb[1] + ra[7] * rb[4] + ra[8] * rb[7],
        ra[6] * rb[2] + ra[7] * rb[5] + ra[8] * rb[8],
    )


@device
def transpose(r):
    """R^T, the inverse of a rotation."""
    return r[0], r[3], r[6], r[1], r[4], r[7], r[2], r[5], r[8]
