"""`Pose`: where a shape is, one or many, checked once and kept as the rows that the kernels read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, check_finite, finite_array, number_array
from thud.constants import FARTHEST_POSE, ROTATION_TOLERANCE
from thud.errors import InvalidInputError, InvalidPoseError
from thud.rotations import (
    euler_from_quaternion,
    quaternion_from_euler,
    quaternion_from_rotation,
    quaternion_from_vector,
    vector_from_quaternion,
)

PoseLike = Any
"""A `Pose` or a list of them, None (identity), `(4,4)`, `(N,4,4)`, `(7,)` or `(N,7)` rows [x y z qw qx qy qz]."""

_FLOAT64, _FLOAT32 = np.dtype(np.float64), np.dtype(np.float32)
_IDENTITY = np.array([[1.0, 0, 0, 0, 1.0, 0, 0, 0, 1.0, 0, 0, 0]])

#: Rows of another type or layout that are converted at a time (a count): so few stay in the cache.
_BLOCK = 2048


class Pose:
    """Rigid motion from a shape's frame to the world: x_world = R x + position.

    Other forms: `from_matrix`, `from_xyzw`, `from_rotation_vector`, `from_euler`, `from_scipy`. Each has its way back.

    Parameters
    ----------
    position : (3,) or (N, 3), metres, up to 1e30
    quaternion : (4,) or (N, 4), `wxyz`, unit length within 1e-6 (then normalised)
    """

    __slots__ = ("_rows", "_single")
    _rows: Floats
    _single: bool

    def __init__(self, position: npt.ArrayLike = (0.0, 0.0, 0.0), quaternion: npt.ArrayLike = (1.0, 0.0, 0.0, 0.0)) -> None:
        q = finite_array(quaternion, "quaternion")
        if q.ndim not in (1, 2) or q.shape[-1] != 4:
            raise InvalidInputError(f"quaternion: expected shape (4,) or (N, 4) wxyz, got {q.shape}")
        self._set(position, q, "quaternion")

    def _set(self, position: npt.ArrayLike, q: Floats, name: str) -> None:
        """From a position that is not checked yet and quaternions (4,) or (N, 4), whose argument has the given name."""
        p = finite_array(position, "position", limit=FARTHEST_POSE)
        if p.ndim not in (1, 2) or p.shape[-1] != 3:
            raise InvalidInputError(f"position: expected shape (3,) or (N, 3), got {p.shape}")
        counts = {len(array) for array in (p, q) if array.ndim == 2} - {1}
        if len(counts) > 1:
            raise InvalidInputError(f"position, {name}: expected equal numbers of rows or one, got {p.shape} and {q.shape}")
        values = np.empty((counts.pop() if counts else 1, 7))
        values[:, :3], values[:, 3:] = p, q
        self._rows = _rows_of(values, name)
        self._single = p.ndim == 1 and q.ndim == 1

    @classmethod
    def _from(cls, position: npt.ArrayLike, q: Floats, name: str) -> Pose:
        pose = cls.__new__(cls)
        pose._set(position, q, name)
        return pose

    @classmethod
    def from_rows(cls, rows: Floats, *, single: bool = False) -> Pose:
        """Pose from rows (12,) or (N, 12) (rotation row-major, translation) that are already checked: what `rows` gives. For
        arrays of other forms see `from_array`."""
        array = np.ascontiguousarray(rows, dtype=np.float64)
        if array.ndim not in (1, 2) or array.shape[-1] != 12:
            raise InvalidInputError(f"rows: expected shape (12,) or (N, 12), got {array.shape}; see Pose.from_array for others")
        pose = cls.__new__(cls)
        pose._rows = array.reshape(-1, 12)
        pose._single = single
        return pose

    @classmethod
    def from_array(cls, poses: PoseLike) -> Pose:
        """Pose from whatever a query takes for poses, such as the (N, 7) rows [x y z qw qx qy qz] of `World.poses`.
        Back: `to_array`."""
        if isinstance(poses, Pose):
            return poses
        rows = as_poses(poses, "poses")
        return cls.from_rows(rows, single=len(rows) == 1 and np.ndim(poses) < (3 if np.shape(poses)[-2:] == (4, 4) else 2))

    @classmethod
    def from_matrix(cls, matrix: npt.ArrayLike) -> Pose:
        """Pose from `(4,4)` or `(N,4,4)` homogeneous matrices. Back: `matrix`."""
        array = number_array(matrix, "matrix")
        if array.shape[-2:] != (4, 4) or array.ndim > 3:
            raise InvalidInputError(f"matrix: expected shape (4, 4) or (N, 4, 4), got {array.shape}")
        return cls.from_rows(_rows_of(array, "matrix"), single=array.ndim == 2)

    @classmethod
    def from_xyzw(cls, position: npt.ArrayLike, quaternion: npt.ArrayLike) -> Pose:
        """Pose from quaternions (4,) or (N, 4) with w last, as ROS, Eigen's storage and scipy have them. Back: `xyzw`."""
        q = finite_array(quaternion, "quaternion")
        if q.ndim not in (1, 2) or q.shape[-1] != 4:
            raise InvalidInputError(f"quaternion: expected shape (4,) or (N, 4) xyzw, got {q.shape}")
        return cls._from(position, q[..., [3, 0, 1, 2]], "quaternion")

    @classmethod
    def from_rotation_vector(cls, position: npt.ArrayLike, vector: npt.ArrayLike) -> Pose:
        """Pose from rotation vectors (3,) or (N, 3): unit axis times angle, radians. Back: `rotation_vector`."""
        v = finite_array(vector, "vector")
        if v.ndim not in (1, 2) or v.shape[-1] != 3:
            raise InvalidInputError(f"vector: expected shape (3,) or (N, 3), got {v.shape}")
        q = quaternion_from_vector(v.reshape(-1, 3))
        return cls._from(position, q.reshape(*v.shape[:-1], 4), "vector")

    @classmethod
    def from_euler(cls, position: npt.ArrayLike, angles: npt.ArrayLike, order: str = "xyz", *, degrees: bool = False) -> Pose:
        """Pose from three angles (3,) or (N, 3), radians, about three axes in turn. Back: `euler`.

        `order` is as in scipy: "xyz" are fixed axes (roll, pitch, yaw of URDF), "XYZ" those of the turning body; "ZYX" is yaw,
        pitch, roll.
        """
        given = finite_array(angles, "angles")
        if given.ndim not in (1, 2) or given.shape[-1] != 3:
            raise InvalidInputError(f"angles: expected shape (3,) or (N, 3), got {given.shape}")
        q = quaternion_from_euler((np.radians(given) if degrees else given).reshape(-1, 3), order)
        return cls._from(position, q.reshape(*given.shape[:-1], 4), "angles")

    @classmethod
    def from_scipy(cls, position: npt.ArrayLike, rotation: Any) -> Pose:
        """Pose from a `scipy.spatial.transform.Rotation`, one or many. Back: `to_scipy`."""
        if not hasattr(rotation, "as_quat") or isinstance(rotation, type):
            raise InvalidInputError(f"rotation: expected a scipy Rotation, got a {type(rotation).__name__}")
        return cls.from_xyzw(position, rotation.as_quat())

    @property
    def rows(self) -> Floats:
        """(N, 12) rows: rotation row-major, then translation. Do not write into it."""
        return self._rows

    @property
    def position(self) -> Floats:
        """(3,) or (N, 3), metres."""
        return self._rows[0, 9:].copy() if self._single else self._rows[:, 9:].copy()

    @property
    def rotation(self) -> Floats:
        """(3, 3) or (N, 3, 3)."""
        matrices = self._rows[:, :9].reshape(-1, 3, 3).copy()
        return matrices[0] if self._single else matrices

    @property
    def quaternion(self) -> Floats:
        """(4,) or (N, 4) `wxyz`, w >= 0."""
        quaternions = quaternion_from_rotation(self._rows[:, :9])
        return quaternions[0] if self._single else quaternions

    @property
    def xyzw(self) -> Floats:
        """(4,) or (N, 4) quaternions with w last and >= 0."""
        quaternions = quaternion_from_rotation(self._rows[:, :9])[:, [1, 2, 3, 0]]
        return quaternions[0] if self._single else quaternions

    @property
    def rotation_vector(self) -> Floats:
        """(3,) or (N, 3) unit axis times angle, radians, from 0 to pi."""
        vectors = vector_from_quaternion(quaternion_from_rotation(self._rows[:, :9]))
        return vectors[0] if self._single else vectors

    def euler(self, order: str = "xyz", *, degrees: bool = False) -> Floats:
        """(3,) or (N, 3) angles about the axes of `order`, as `from_euler` takes them. Where only the sum or difference of the
        outer two is determined, one of them is 0."""
        angles = euler_from_quaternion(quaternion_from_rotation(self._rows[:, :9]), order)
        if degrees:
            angles = np.degrees(angles)
        return angles[0] if self._single else angles

    def to_scipy(self) -> Any:
        """The rotation as a `scipy.spatial.transform.Rotation`; the translation is `position`."""
        from scipy.spatial.transform import Rotation

        return Rotation.from_quat(self.xyzw)

    def to_array(self) -> Floats:
        """(7,) or (N, 7) rows [x y z qw qx qy qz], as queries, `World.poses` and `from_array` have them."""
        values = np.concatenate([self._rows[:, 9:], quaternion_from_rotation(self._rows[:, :9])], axis=1)
        return values[0] if self._single else values

    @property
    def matrix(self) -> Floats:
        """(4, 4) or (N, 4, 4) homogeneous matrices."""
        matrices = np.zeros((len(self._rows), 4, 4))
        matrices[:, :3, :3] = self._rows[:, :9].reshape(-1, 3, 3)
        matrices[:, :3, 3] = self._rows[:, 9:]
        matrices[:, 3, 3] = 1.0
        return matrices[0] if self._single else matrices

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[Pose]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Pose:
        if isinstance(index, tuple):
            raise InvalidInputError(f"index: a Pose has one axis, its rows; got {len(index)} indices")
        picked = self._rows[index]
        return Pose.from_rows(picked, single=picked.ndim == 1)

    def __matmul__(self, other: Pose) -> Pose:
        """self after other: (self @ other) x = self(other(x)). One broadcasts against many."""
        if not isinstance(other, Pose):
            raise InvalidInputError(
                f"@: expected a Pose on the right, got a {type(other).__name__}; pose.apply(points) moves points, "
                "thud.Pose.from_array(poses) makes a Pose of an array"
            )
        pair_count(self._rows, other._rows)
        ra, rb = self._rows[:, :9].reshape(-1, 3, 3), other._rows[:, :9].reshape(-1, 3, 3)
        position = (ra @ other._rows[:, 9:, None])[:, :, 0] + self._rows[:, 9:]
        check_finite(position, "position", FARTHEST_POSE)
        rows = np.concatenate([(ra @ rb).reshape(-1, 9), position], axis=1)
        return Pose.from_rows(rows, single=self._single and other._single)

    #: NumPy leaves `array @ pose` to `__rmatmul__`.
    __array_ufunc__ = None

    def __rmatmul__(self, other: Any) -> Pose:
        raise InvalidInputError(
            f"@: expected a Pose on the left, got a {type(other).__name__}; thud.Pose.from_array(poses) makes a Pose of one"
        )

    def inverse(self) -> Pose:
        """The pose that undoes this one."""
        inverse = np.swapaxes(self._rows[:, :9].reshape(-1, 3, 3), 1, 2)
        position = -np.einsum("nij,nj->ni", inverse, self._rows[:, 9:])
        return Pose.from_rows(np.concatenate([inverse.reshape(-1, 9), position], axis=1), single=self._single)

    def apply(self, points: npt.ArrayLike) -> Floats:
        """Points of the shape's frame in the world: R x + position.

        points : (3,) or (M, 3) by one pose; by N poses (3,), one a pose (N, 3), or (N, M, 3)

        Returns (3,), (M, 3), (N, 3) or (N, M, 3). The other way: `pose.inverse().apply(points)`.
        """
        x = finite_array(points, "points", limit=FARTHEST_POSE)
        if x.ndim == 0 or x.ndim > 3 or x.shape[-1] != 3:
            raise InvalidInputError(f"points: expected shape (3,), (M, 3) or (N, M, 3), got {x.shape}")
        rotation, count = self._rows[:, :9].reshape(-1, 3, 3), len(self._rows)
        if self._single:
            return np.asarray(x @ rotation[0].T + self._rows[0, 9:])
        if x.ndim > 1 and len(x) != count:
            raise InvalidInputError(f"points: expected (3,), ({count}, 3) or ({count}, M, 3) for {count} poses, got {x.shape}")
        many = x.reshape(-1, 1, 3) if x.ndim < 3 else x
        moved = np.einsum("nij,nmj->nmi", rotation, np.broadcast_to(many, (count, *many.shape[1:])))
        moved += self._rows[:, None, 9:]
        return moved[:, 0] if x.ndim < 3 else moved

    def moved(self, motion: npt.ArrayLike, time: npt.ArrayLike = 1.0) -> Pose:
        """Where a shape is at `time` of a motion, as casts mean it: at (exp(s w) R, position + s v).

        motion : (3,) displacement v over the step, metres, or (6,) with the rotation vector w, radians, both in the world
            frame; (N, 3) or (N, 6) for N
        time : s, 0 at the begin of the motion, 1 at its end; (N,) for N
        """
        m, s = finite_array(motion, "motion", limit=FARTHEST_POSE), finite_array(time, "time", limit=FARTHEST_POSE)
        if m.ndim not in (1, 2) or m.shape[-1] not in (3, 6):
            raise InvalidInputError(f"motion: expected shape (3,), (6,), (N, 3) or (N, 6), got {m.shape}")
        if s.ndim > 1:
            raise InvalidInputError(f"time: expected a number or (N,), got {s.shape}")
        counts = {len(array) for array in (self._rows, m if m.ndim == 2 else [0], s.ravel())} - {1}
        if len(counts) > 1:
            raise InvalidInputError(f"motion, time: expected one or equal numbers of rows, got {sorted(counts)}")
        way = s.reshape(-1, 1) * m.reshape(-1, m.shape[-1])
        turn = quaternion_from_vector(way[:, 3:]) if m.shape[-1] == 6 else np.array([[1.0, 0.0, 0.0, 0.0]])
        single = self._single and m.ndim == 1 and s.ndim == 0
        return _about(self, Pose(np.zeros(3), turn), way[:, :3], single)

    def interpolate(self, other: Pose, time: npt.ArrayLike) -> Pose:
        """Between this pose (time 0) and another (time 1): positions along a straight line, rotations about one axis at
        constant speed, the shorter way (slerp).

        time : a number, or (N,); outside of 0 to 1 the motion goes on
        """
        if not isinstance(other, Pose):
            raise InvalidInputError(f"other: expected a Pose, got a {type(other).__name__}")
        count = pair_count(self._rows, other._rows)
        ra, rb = self._rows[:, :9].reshape(-1, 3, 3), other._rows[:, :9].reshape(-1, 3, 3)
        between = np.ascontiguousarray((rb @ np.swapaxes(ra, 1, 2)).reshape(-1, 9))
        motion = np.empty((count, 6))
        motion[:, :3] = other._rows[:, 9:] - self._rows[:, 9:]
        motion[:, 3:] = vector_from_quaternion(quaternion_from_rotation(between))
        return self.moved(motion[0] if self._single and other._single else motion, time)

    def __repr__(self) -> str:
        if self._single:
            return f"Pose(position={self.position.tolist()}, quaternion={self.quaternion.tolist()})"
        return f"Pose({len(self)} rows)"


def _about(pose: Pose, turn: Pose, way: Floats, single: bool) -> Pose:
    """A pose turned about its own origin, in the world frame, and moved."""
    count = max(len(pose._rows), len(turn._rows), len(way))
    rows = np.empty((count, 12))
    rotation = turn._rows[:, :9].reshape(-1, 3, 3) @ pose._rows[:, :9].reshape(-1, 3, 3)
    rows[:, :9], rows[:, 9:] = rotation.reshape(-1, 9), pose._rows[:, 9:] + way
    check_finite(rows[:, 9:], "motion", FARTHEST_POSE)
    return Pose.from_rows(rows, single=single)


def is_pose_list(value: Any) -> bool:
    """Whether it is a list of poses, the first of them a `Pose`."""
    return isinstance(value, (list, tuple)) and len(value) > 0 and isinstance(value[0], Pose)


def as_poses(pose: PoseLike, name: str) -> Floats:
    """The gate of every pose argument: (N, 12) contiguous float64 rows, N from 0 on; None is the identity.

    Raises
    ------
    InvalidInputError, InvalidPoseError
        Naming the argument, the row and what was expected.
    """
    if type(pose) is np.ndarray:
        return _rows_of(pose, name)
    if isinstance(pose, Pose):
        return pose._rows
    if pose is None:
        return _IDENTITY.copy()
    if is_pose_list(pose):
        return np.concatenate([as_poses(one, f"{name}: row {row}") for row, one in enumerate(pose)])
    if hasattr(pose, "as_quat"):
        raise InvalidInputError(
            f"{name}: got a {type(pose).__name__}, which has no place; expected thud.Pose.from_scipy(position, rotation)"
        )
    if hasattr(pose, "as_matrix"):
        raise InvalidInputError(f"{name}: got a {type(pose).__name__}; expected a Pose or its matrix, {name}.as_matrix()")
    return _rows_of(number_array(pose, name), name)


def one_pose(pose: PoseLike) -> npt.NDArray[Any] | None:
    """One pose as `pose_row` takes it, not checked yet: (1, 12), (1, 7) or (4, 4). None for all that has to go through the
    gate: many poses, other types and layouts, what is no pose."""
    if type(pose) is np.ndarray:
        if pose.dtype is _FLOAT64 and pose.flags.carray:
            if pose.shape == (7,):
                return pose[None]
            if pose.shape == (4, 4):
                return pose
    elif type(pose) is Pose:
        if len(pose._rows) == 1:
            return pose._rows
    elif pose is None:
        return _IDENTITY
    return None


def _rows_of(array: npt.NDArray[Any], name: str, each: int = 0) -> Floats:
    """Rows of (7,), (N, 7), (4, 4) or (N, 4, 4) numbers of any type and layout. each: that many are of one configuration."""
    shape = array.shape
    kernels = _kernels or _load_kernels()
    one = kernels.get(shape)
    if one is not None:
        rows = np.empty((1, 12))
        values = array if array.dtype is _FLOAT64 and array.flags.carray else number_array(array, name).astype(np.float64, "C")
        wrong = one(values, rows)
    elif shape[1:] in kernels and len(shape) == 1 + len(shape[1:]):
        rows = np.empty((shape[0], 12))
        many, singles, width = kernels[shape[1:], "rows"]
        if array.dtype in (_FLOAT64, _FLOAT32) and array.flags.carray:
            wrong = (many if array.dtype == _FLOAT64 else singles)(array.reshape(shape[0], width), rows)
        else:
            wrong = _in_blocks(many, number_array(array, name), width, rows)
    elif shape == (0,):
        return np.empty((0, 12))
    else:
        number_array(array, name)
        hint = "; for a place alone: thud.Pose(position)" if shape[-1:] == (3,) else ""
        known = "a Pose, (4,4), (N,4,4), (7,) or (N,7) [x y z qw qx qy qz]"
        raise InvalidInputError(f"{name}: expected {known}, got {shape}{hint}")
    if wrong >= 0:
        where = f"{name}: configuration {wrong // each}, shape {wrong % each}" if each else f"{name}: row {wrong}"
        raise _why_not(array.reshape(len(rows), -1)[wrong].astype(np.float64), where)
    return rows


#: By the shape of one pose: the kernel for one. With "rows": those for many in float64 and float32, and the numbers of a row.
_kernels: dict[Any, Any] = {}


def _load_kernels() -> dict[Any, Any]:
    from thud.math import pose_rows

    _kernels[(7,), "rows"] = pose_rows.quaternion_rows, pose_rows.quaternion_rows32, 7
    _kernels[(4, 4), "rows"] = pose_rows.matrix_rows, pose_rows.matrix_rows32, 16
    _kernels[7,], _kernels[4, 4] = pose_rows.one_quaternion, pose_rows.one_matrix
    return _kernels


def _in_blocks(kernel: Any, array: npt.NDArray[Any], width: int, rows_out: Floats) -> int:
    """The first row that is no pose, or -1."""
    block = np.empty((min(len(array), _BLOCK), *array.shape[1:]))
    for start in range(0, len(array), _BLOCK):
        part = array[start : start + _BLOCK]
        np.copyto(block[: len(part)], part, casting="unsafe")
        wrong = kernel(block[: len(part)].reshape(len(part), width), rows_out[start : start + len(part)])
        if wrong >= 0:
            return start + int(wrong)
    return -1


def configuration_rows(poses: npt.NDArray[Any], name: str) -> Floats:
    """The gate of (C, S, 7) or (C, S, 4, 4): (C * S, 12) rows."""
    return _rows_of(poses.reshape(-1, *poses.shape[2:]), name, poses.shape[1])


def _why_not(values: Floats, where: str) -> InvalidInputError:
    """The error for 7 or 16 numbers that are no pose."""
    if not np.isfinite(values).all():
        wrong = values[~np.isfinite(values)][0]
        return InvalidInputError(f"{where} is not finite ({wrong}); expected finite numbers")
    place = values[:3] if len(values) == 7 else values[3:12:4]
    if len(values) == 7:
        length = float(np.sqrt(values[3:] @ values[3:]))
        if abs(length - 1.0) > ROTATION_TOLERANCE:
            return InvalidPoseError(
                f"{where} has length {length:.9g}; expected a unit quaternion wxyz within {ROTATION_TOLERANCE:g} "
                "(divide it by its length)"
            )
    else:
        r, last = values.reshape(4, 4)[:3, :3], values[12:]
        skew = float(np.abs(r.T @ r - np.eye(3)).max())
        determinant = float(np.linalg.det(r))
        if skew > 2 * ROTATION_TOLERANCE or np.abs(last - [0, 0, 0, 1]).max() > ROTATION_TOLERANCE or determinant <= 0:
            return InvalidPoseError(
                f"{where} is not a rigid motion (R^T R off by {skew:.3g}, determinant "
                f"{determinant:.6g}, last row {last.tolist()}); expected a right-handed rotation"
            )
    return InvalidInputError(f"{where} is at {place.tolist()}; expected coordinates of at most {FARTHEST_POSE:g} metres")


def pair_count(rows_a: Floats, rows_b: Floats) -> int:
    """N of two pose batches that broadcast 1 against N."""
    na, nb = len(rows_a), len(rows_b)
    if na != nb and na != 1 and nb != 1:
        raise InvalidInputError(f"pose_a, pose_b: expected equal numbers of rows or one against N, got {na} and {nb}")
    return nb if na == 1 else na
