"""The upper and the lower pair of triangles of a bilinear patch ([Yang] 3.4.2), whatever way the patch faces.

Four corners p00, p10, p01, p11 span a tetrahedron that holds the patch (3.5), a combination of the corners with weights from
0 to 1. Split along one diagonal, the corners give the two triangles that face up, split along the other those that face down:
by the sign of the volume D = (p10 - p00) x (p01 - p00) . (p11 - p00), where "up" is the side from which the order p00, p10,
p11, p01 turns counter-clockwise. That holds for any four points, not only for those above a plane: of the triangles 00-10-11
and 00-11-01 the fourth corner lies below by D, of 00-10-01 and 10-11-01 it lies above by D.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from thud._core.decorators import exact_device, exact_kernel
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.gates import as_points, broadcast_rows
from thud.geometry.exact_vec3 import cross, dot, load3, sub
from thud.geometry.predicates import orient3d

#: Corners in the order p00, p10, p01, p11. Counter-clockwise triangles along the diagonal 00-11, and along 10-01.
_ALONG_00_11 = ((0, 1, 3), (0, 3, 2))
_ALONG_10_01 = ((0, 1, 2), (1, 3, 2))


@exact_device
def patch_volume(p00, p10, p01, p11):
    """D = (p10 - p00) x (p01 - p00) . (p11 - p00), rounded: > 0 where p11 lies above the triangle p00 p10 p01."""
    return dot(cross(sub(p10, p00), sub(p01, p00)), sub(p11, p00))


@exact_device
def upper_along_00_11(p00, p10, p01, p11, facing):
    """True where 00-11 is the diagonal of the upper pair: exact. `facing`: +1, or -1 where up is the clockwise side.

    On a tie the four corners lie in one plane, and both diagonals are right.
    """
    return orient3d(p00, p10, p01, p11) * facing >= 0.0


@exact_device
def patch_facing(p00, p10, p01, p11, r00, r10, r01, r11):
    """How far the directions r point to the side from which the patch turns counter-clockwise: its sign is the facing."""
    around = cross(sub(p11, p00), sub(p01, p10))
    return dot(around, r00) + dot(around, r10) + dot(around, r01) + dot(around, r11)


@exact_kernel("i8, i8, f8[:,:,::1], f8[:,::1], b1[::1], b1[::1]")
def _diagonal_rows(start, stop, corners_in, up_in, along_out, mirrored_out):
    """Rows of patches: whether the upper diagonal is 00-11, and whether up is the clockwise side."""
    for row in range(start, stop):
        p00 = load3(corners_in[row], 0, 0)
        p10 = load3(corners_in[row], 1, 0)
        p01 = load3(corners_in[row], 2, 0)
        p11 = load3(corners_in[row], 3, 0)
        up = load3(up_in, row, 0)
        mirrored = patch_facing(p00, p10, p01, p11, up, up, up, up) < 0.0
        mirrored_out[row] = mirrored
        along_out[row] = upper_along_00_11(p00, p10, p01, p11, -1.0 if mirrored else 1.0)


@dataclass(frozen=True)
class BoundingTriangles:
    """Upper and lower triangles of N patches, counter-clockwise seen from above."""

    upper: npt.NDArray[np.int64]
    """(N, 2, 3) corners: 0 = p00, 1 = p10, 2 = p01, 3 = p11."""
    lower: npt.NDArray[np.int64]
    """(N, 2, 3) likewise."""


def patch_triangles(
    p00: npt.ArrayLike,
    p10: npt.ArrayLike,
    p01: npt.ArrayLike,
    p11: npt.ArrayLike,
    up: npt.ArrayLike,
    *,
    threads: int | None = None,
) -> BoundingTriangles:
    """Triangles that bound bilinear patches from above and from below ([Yang] 3.4.2).

    Parameters
    ----------
    p00, p10, p01, p11 : (N, 3) or (3,) corners at (u, v) = (0, 0), (1, 0), (0, 1), (1, 1), metres
    up : (N, 3) or (3,) a direction on the side that counts as above: the patch's projection direction, say
    threads : most threads, None for all cores

    Returns
    -------
    BoundingTriangles. Each point of the patch lies in or below the planes of both upper triangles, and in or above those of
    both lower ones. The choice is exact; where four corners lie in one plane either is right.
    """
    rows = [as_points(value, name) for value, name in zip((p00, p10, p01, p11, up), ("p00", "p10", "p01", "p11", "up"))]
    count = broadcast_rows("p00, p10, p01, p11, up", *rows)
    if not np.any(rows[4], axis=1).all():
        raise InvalidInputError(f"up: row {int(np.argmin(np.any(rows[4], axis=1)))} is zero; expected a direction")
    corners = np.ascontiguousarray(np.stack([np.broadcast_to(row, (count, 3)) for row in rows[:4]], axis=1))
    above = np.array(np.broadcast_to(rows[4], (count, 3)))
    along, mirrored = np.empty(count, bool), np.empty(count, bool)
    run_rows(_diagonal_rows, count, threads, corners, above, along, mirrored)
    pair_a, pair_b = np.array(_ALONG_00_11), np.array(_ALONG_10_01)
    upper = np.where(along[:, None, None], pair_a, pair_b)
    lower = np.where(along[:, None, None], pair_b, pair_a)
    turn = np.where(mirrored[:, None, None], [0, 2, 1], [0, 1, 2])
    return BoundingTriangles(np.take_along_axis(upper, turn, 2), np.take_along_axis(lower, turn, 2))
