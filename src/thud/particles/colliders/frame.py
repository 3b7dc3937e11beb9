"""The frame of a collider with a pose: how a path is taken into it without loss."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from thud._core.arrays import Floats
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError
from thud.gates import as_poses
from thud.particles.colliders.tolerances import COLLIDER_BOX_SLACK
from thud.pose import PoseLike

# Columns of a frame: the inverse pose, p -> M p + m, in floats (M row-major, then m) and what the floats leave; the rotation
# out of the frame; a length as large as any coordinate that takes part.
INVERSE, SHIFT, INVERSE_REST, SHIFT_REST, ROTATION, REACH = 0, 9, 12, 21, 24, 33
FRAME = 34


def frame_of(rows: Floats, origin: Floats, lower: Floats, upper: Floats) -> Floats:
    """(FRAME,) of a collider at pose `rows` (12,), its coordinates relative to `origin`; its own box is [lower, upper].

    The inverse is that of the matrix as given, whose rows are of unit length up to roundoff only: to 32 digits, so that a
    path in the frame is the path in the world.
    """
    r = [[Fraction(float(rows[3 * i + j])) for j in range(3)] for i in range(3)]
    t = [Fraction(float(x)) for x in rows[9:]]
    cofactor = [
        [
            r[(j + 1) % 3][(i + 1) % 3] * r[(j + 2) % 3][(i + 2) % 3]
            - r[(j + 1) % 3][(i + 2) % 3] * r[(j + 2) % 3][(i + 1) % 3]
            for j in range(3)
        ]
        for i in range(3)
    ]
    whole = sum((r[0][k] * cofactor[k][0] for k in range(3)), Fraction(0))
    inverse = [[x / whole for x in row] for row in cofactor]
    shift = [-sum((inverse[i][k] * t[k] for k in range(3)), Fraction(0)) - Fraction(float(origin[i])) for i in range(3)]
    frame = np.zeros(FRAME)
    for k, exact in enumerate([x for row in inverse for x in row] + shift):
        high = float(exact)
        frame[k], frame[INVERSE_REST + k] = high, float(exact - Fraction(high))
    frame[ROTATION : ROTATION + 9] = rows[:9]
    corners = np.maximum(np.abs(lower), np.abs(upper))
    frame[REACH] = float(np.abs(rows[9:]).max() + np.abs(origin).max() + corners.max())
    return frame


def one_pose(pose: PoseLike) -> Floats:
    """(12,) of one pose; a collider stands in one place."""
    rows = as_poses(pose, "pose")
    if len(rows) != 1:
        raise InvalidInputError(f"pose: expected one pose, got {len(rows)}; a collider stands in one place")
    if np.abs(rows[0, 9:]).max() > MESH_COORDINATE:
        raise InvalidInputError(f"pose: lies beyond {MESH_COORDINATE:g}, the limit of colliders")
    return rows[0].copy()


def widened(lower: Floats, upper: Floats) -> Floats:
    """(6,) a box moved outward by the roundoff of its making."""
    slack = COLLIDER_BOX_SLACK * np.maximum(np.abs(lower), np.abs(upper)).max()
    return np.concatenate([lower - slack, upper + slack])
