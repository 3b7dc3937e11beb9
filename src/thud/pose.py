"""`Pose`: where a shape is, one or many, checked once and kept as the rows that the kernels read."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud.constants import ROTATION_TOLERANCE
from thud.errors import InvalidInputError, InvalidPoseError

PoseLike = Any
"""A `Pose`, None (identity), `(4,4)`, `(N,4,4)`, `(7,)` or `(N,7)` rows [x y z qw qx qy qz]."""


class Pose:
    """Rigid motion from a shape's frame to the world: x_world = R x + position.

    Parameters
    ----------
    position : (3,) or (N, 3), metres
    quaternion : (4,) or (N, 4), `wxyz`, unit length within 1e-6 (then normalised)
    """

    __slots__ = ("_rows", "_single")
    _rows: npt.NDArray[np.float64]
    _single: bool

    def __init__(self, position: npt.ArrayLike = (0.0, 0.0, 0.0), quaternion: npt.ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        p = finite_array(position, "position")
        q = finite_array(quaternion, "quaternion")
        if p.ndim not in (1, 2) or p.shape[-1] != 3:
            raise InvalidInputError(f"position: expected shape (3,) or (N, 3), got {p.shape}")
        if q.ndim not in (1, 2) or q.shape[-1] != 4:
            raise InvalidInputError(f"quaternion: expected shape (4,) or (N, 4) wxyz, got {q.shape}")
        counts = {np.atleast_2d(p).shape[0], np.atleast_2d(q).shape[0]} - {1}
        if len(counts) > 1:
            raise InvalidInputError(f"position, quaternion: expected equal numbers of rows or one, got {p.shape} and {q.shape}")
        count = counts.pop() if counts else 1
        rows = np.empty((count, 12))
        rows[:, :9] = rotation_from_quaternion(np.atleast_2d(q), "quaternion")
        rows[:, 9:] = np.atleast_2d(p)
        self._rows = rows
        self._single = p.ndim == 1 and q.ndim == 1

    @classmethod
    def from_rows(cls, rows: npt.NDArray[np.float64], *, single: bool = False) -> Pose:
        """Pose from rows of 12 floats (rotation row-major, translation) that are already checked."""
        pose = cls.__new__(cls)
        pose._rows = np.ascontiguousarray(rows, dtype=np.float64).reshape(-1, 12)
        pose._single = single
        return pose

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Pose:
        """Pose from `(4,4)` or `(N,4,4)` homogeneous matrices."""
        single = np.ndim(np.asarray(matrix)) == 2
        return cls.from_rows(as_poses(matrix, "matrix"), single=single)

    @property
    def rows(self) -> npt.NDArray[np.float64]:
        """(N, 12) rows: rotation row-major, then translation. Do not write into it."""
        return self._rows

    @property
    def position(self) -> npt.NDArray[np.float64]:
        """(3,) or (N, 3), metres."""
        return self._rows[0, 9:].copy() if self._single else self._rows[:, 9:].copy()

    @property
    def rotation(self) -> npt.NDArray[np.float64]:
        """(3, 3) or (N, 3, 3)."""
        matrices = self._rows[:, :9].reshape(-1, 3, 3).copy()
        return matrices[0] if self._single else matrices

    @property
    def quaternion(self) -> npt.NDArray[np.float64]:
        """(4,) or (N, 4) `wxyz`, w >= 0."""
        quaternions = quaternion_from_rotation(self._rows[:, :9])
        return quaternions[0] if self._single else quaternions

    @property
    def matrix(self) -> npt.NDArray[np.float64]:
        """(4, 4) or (N, 4, 4) homogeneous matrices."""
        matrices = np.zeros((len(self._rows), 4, 4))
        matrices[:, :3, :3] = self._rows[:, :9].reshape(-1, 3, 3)
        matrices[:, :3, 3] = self._rows[:, 9:]
        matrices[:, 3, 3] = 1.0
        return matrices[0] if self._single else matrices

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: Any) -> Pose:
        picked = self._rows[index]
        return Pose.from_rows(picked, single=picked.ndim == 1)

    def __matmul__(self, other: Pose) -> Pose:
        """self after other: (self @ other) x = self(other(x)). One broadcasts against many."""
        ra, rb = self._rows[:, :9].reshape(-1, 3, 3), other._rows[:, :9].reshape(-1, 3, 3)
        position = (ra @ other._rows[:, 9:, None])[:, :, 0] + self._rows[:, 9:]
        rows = np.concatenate([(ra @ rb).reshape(-1, 9), position], axis=1)
        return Pose.from_rows(rows, single=self._single and other._single)

    def inverse(self) -> Pose:
        """The pose that undoes this one."""
        inverse = np.swapaxes(self._rows[:, :9].reshape(-1, 3, 3), 1, 2)
        position = -np.einsum("nij,nj->ni", inverse, self._rows[:, 9:])
        return Pose.from_rows(np.concatenate([inverse.reshape(-1, 9), position], axis=1), single=self._single)

    def __repr__(self) -> str:
        if self._single:
            return f"Pose(position={self.position.tolist()}, quaternion={self.quaternion.tolist()})"
        return f"Pose({len(self)} rows)"


def finite_array(value: npt.ArrayLike, name: str) -> npt.NDArray[np.float64]:
    """`value` as a float64 array without NaN or infinity."""
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(f"{name}: expected numbers, got {type(value).__name__} ({error})") from None
    # A sum is finite unless a member is not (or it overflows): one cheap pass in the usual case.
    with np.errstate(over="ignore", invalid="ignore"):
        finite = bool(np.isfinite(array.sum()))
    if not finite and not np.isfinite(array).all():
        row = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"row {row[0]}" if array.ndim else "the value"
        raise InvalidInputError(f"{name}: {where} is not finite ({array[row]}); expected finite numbers")
    return array


def rotation_from_quaternion(q: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    """(N, 9) rotations of (N, 4) unit quaternions `wxyz`."""
    length = np.sqrt(np.einsum("ij,ij->i", q, q))
    wrong = np.abs(length - 1.0) > ROTATION_TOLERANCE
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidPoseError(
            f"{name}: row {row} has length {length[row]:.9g}; expected a unit quaternion wxyz within {ROTATION_TOLERANCE:g}"
        )
    w, x, y, z = (q / length[:, None]).T
    rows = np.empty((len(q), 9))
    rows[:, 0] = 1 - 2 * (y * y + z * z)
    rows[:, 1] = 2 * (x * y - w * z)
    rows[:, 2] = 2 * (x * z + w * y)
    rows[:, 3] = 2 * (x * y + w * z)
    rows[:, 4] = 1 - 2 * (x * x + z * z)
    rows[:, 5] = 2 * (y * z - w * x)
    rows[:, 6] = 2 * (x * z - w * y)
    rows[:, 7] = 2 * (y * z + w * x)
    rows[:, 8] = 1 - 2 * (x * x + y * y)
    return rows


def quaternion_from_rotation(r: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(N, 4) unit quaternions `wxyz`, w >= 0, of (N, 9) rotations, from the largest of the four squares (Shepperd)."""
    m = r.reshape(-1, 3, 3)
    xx, yy, zz = m[:, 0, 0], m[:, 1, 1], m[:, 2, 2]
    squares = np.stack([xx + yy + zz, xx - yy - zz, yy - xx - zz, zz - xx - yy], axis=1)
    largest = squares.argmax(axis=1)
    # The symmetric 4x4 matrix 4 q q^T - I + ... ; the row of the largest diagonal is a multiple of q.
    k = np.empty((len(m), 4, 4))
    k[:, 0, 0], k[:, 1, 1], k[:, 2, 2], k[:, 3, 3] = (squares + 1.0).T
    k[:, 0, 1] = k[:, 1, 0] = m[:, 2, 1] - m[:, 1, 2]
    k[:, 0, 2] = k[:, 2, 0] = m[:, 0, 2] - m[:, 2, 0]
    k[:, 0, 3] = k[:, 3, 0] = m[:, 1, 0] - m[:, 0, 1]
    k[:, 1, 2] = k[:, 2, 1] = m[:, 1, 0] + m[:, 0, 1]
    k[:, 1, 3] = k[:, 3, 1] = m[:, 2, 0] + m[:, 0, 2]
    k[:, 2, 3] = k[:, 3, 2] = m[:, 2, 1] + m[:, 1, 2]
    q = k[np.arange(len(m)), largest]
    q /= np.linalg.norm(q, axis=1, keepdims=True)
    return np.where(q[:, :1] < 0, -q, q)


def as_poses(pose: PoseLike, name: str) -> npt.NDArray[np.float64]:
    """The gate of every pose argument: (N, 12) contiguous float64 rows; None is the identity.

    Raises
    ------
    InvalidInputError, InvalidPoseError
        Naming the argument, the row and what was expected.
    """
    if isinstance(pose, Pose):
        if len(pose._rows) == 0:
            raise InvalidInputError(f"{name}: expected at least one row, got none")
        return pose._rows
    if pose is None:
        return np.array([[1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0, 0, 0, 0]])
    array = finite_array(pose, name)
    if array.shape in ((4, 4), (7,)):
        array = array[None]
    if array.ndim == 3 and array.shape[1:] == (4, 4):
        return _rows_from_matrices(array, name)
    if array.ndim == 2 and array.shape[1] == 7:
        if len(array) == 0:
            raise InvalidInputError(f"{name}: expected at least one row, got none")
        rows = np.empty((len(array), 12))
        rows[:, :9] = rotation_from_quaternion(array[:, 3:], name)
        rows[:, 9:] = array[:, :3]
        return rows
    raise InvalidInputError(f"{name}: expected a Pose, (4,4), (N,4,4), (7,) or (N,7) [x y z qw qx qy qz], got {array.shape}")


def _rows_from_matrices(matrices: npt.NDArray[np.float64], name: str) -> npt.NDArray[np.float64]:
    if len(matrices) == 0:
        raise InvalidInputError(f"{name}: expected at least one matrix, got none")
    r = matrices[:, :3, :3]
    skew = np.abs(np.einsum("nki,nkj->nij", r, r) - np.eye(3)).max(axis=(1, 2))
    bottom = np.abs(matrices[:, 3] - [0, 0, 0, 1]).max(axis=1)
    wrong = (skew > 2 * ROTATION_TOLERANCE) | (bottom > ROTATION_TOLERANCE) | (np.linalg.det(r) < 0)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidPoseError(
            f"{name}: row {row} is not a rigid motion (R^T R off by {skew[row]:.3g}, determinant "
            f"{np.linalg.det(r[row]):.6g}, last row {matrices[row, 3].tolist()}); expected a right-handed rotation"
        )
    rows = np.empty((len(matrices), 12))
    # Already orthogonal to the last bits: keep the caller's numbers. Otherwise go through a unit quaternion.
    rough = skew > 1e-14
    rows[:, :9] = r.reshape(-1, 9)
    if rough.any():
        rows[rough, :9] = rotation_from_quaternion(quaternion_from_rotation(rows[rough, :9]), name)
    rows[:, 9:] = matrices[:, :3, 3]
    return rows


def pair_count(rows_a: npt.NDArray[np.float64], rows_b: npt.NDArray[np.float64]) -> int:
    """N of two pose batches that broadcast 1 against N."""
    na, nb = len(rows_a), len(rows_b)
    if na != nb and na != 1 and nb != 1:
        raise InvalidInputError(f"pose_a, pose_b: expected equal numbers of rows or one against N, got {na} and {nb}")
    return max(na, nb)
