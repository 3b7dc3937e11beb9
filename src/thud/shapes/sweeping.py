"""What a shape sweeps over a motion: [Slides], "Swept volumes"; as a shape, and as boxes.

A motion is that of `thud.cast`: displacement v, and perhaps a rotation vector w, at constant rates. A point x of the shape goes
along t + s v + exp(s w) R x. In straight motion what a convex shape sweeps is the hull of its two ends. While it turns, it is
held by the hull of K + 1 poses on the way. A point leaves its chord by no more than r (1 - cos(|w| / 2K)), r its way from the
axis; so much is added all around.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.constants import FARTHEST_POSE
from thud.errors import InvalidInputError, UnboundedShapeError
from thud.gates import as_points, finite_array
from thud.pose import Pose, PoseLike, as_poses
from thud.shapes.box import Box
from thud.shapes.capsule import Capsule
from thud.shapes.convex_hull import ConvexHull
from thud.shapes.shape import Bounds, Shape
from thud.shapes.sphere import Sphere

#: Radians between the poses that a turning shape is held by: arcs then leave their chords by 1.2e-3 of their radius.
_TURN = 0.1

#: Most such poses: beyond 100 radians, 16 times around, arcs are longer.
_STEPS = 1000


def sweep(shape: Shape, motion: npt.ArrayLike, pose: PoseLike = None) -> tuple[Shape, Pose]:
    """The volume that a sphere, capsule, box or hull sweeps: a shape, and where it is.

    Parameters
    ----------
    shape : a `Sphere`, for which it is exact under any motion; a `Box` or `ConvexHull`, for which it is exact under a
        displacement and holds all, and little more (arcs of 0.1 radians), under a rotation; a `Capsule`, whose ends are cubes
    motion : (3,) displacement, metres, or (6,) displacement and rotation vector, world frame, as for `thud.cast`
    pose : where it begins
    """
    rows, way, turn = _one_motion(motion, pose)
    turns = bool(turn.any())
    core = shape._core_points() if isinstance(shape, (Sphere, Capsule, Box, ConvexHull)) else None
    if core is None:
        raise InvalidInputError(f"shape: expected a Sphere, Capsule, Box or ConvexHull, got a {type(shape).__name__}")
    points, radius = core
    start = Pose.from_rows(rows, single=True)
    length = float(np.linalg.norm(way))
    if isinstance(shape, Sphere):
        if length == 0.0:
            return shape, start
        return Capsule(shape.radius, 0.5 * length), _along(start.position + 0.5 * way, way)
    steps = _steps(turn)
    poses = start.moved(np.concatenate([way, turn]), np.linspace(0.0, 1.0, steps + 1))
    placed = np.concatenate([pose.apply(points) for pose in poses])
    more = radius + (_sagitta(points, turn, steps) if turns else 0.0)
    if more > 0.0:
        # Grown by a cube that holds the ball of that radius.
        corners = more * np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])
        placed = (placed[:, None] + corners).reshape(-1, 3)
    return ConvexHull(placed), Pose()


def swept_bounds(shape: Shape, motion: npt.ArrayLike, pose: PoseLike = None) -> Bounds:
    """Boxes along the axes that hold all that any shape sweeps: tight under a displacement, and to arcs of 0.1 radians under a
    rotation.

    Parameters
    ----------
    motion : (3,) or (6,), or N of them
    pose : one, or N
    """
    given = finite_array(motion, "motion", limit=FARTHEST_POSE)
    if given.ndim not in (1, 2) or given.shape[-1] not in (3, 6):
        raise InvalidInputError(f"motion: expected shape (3,), (6,), (N, 3) or (N, 6), got {given.shape}")
    moves, rows = given.reshape(-1, given.shape[-1]), as_poses(pose, "pose")
    count = max(len(moves), len(rows)) if len(moves) and len(rows) else 0
    if not {len(moves), len(rows)} <= {1, count}:
        raise InvalidInputError(f"motion, pose: expected one or equal numbers, got {len(moves)} and {len(rows)}")
    lower, upper = np.full((count, 3), np.inf), np.full((count, 3), -np.inf)
    center, radius = shape.bounding_sphere()
    reach = float(np.linalg.norm(center)) + radius
    for k in range(count):
        row, move = rows[min(k, len(rows) - 1)], moves[min(k, len(moves) - 1)]
        turn = move[3:] if len(move) == 6 else np.zeros(3)
        if turn.any() and not np.isfinite(reach):
            raise UnboundedShapeError(f"a {type(shape).__name__} without end sweeps everything when it turns")
        steps = _steps(turn)
        poses = Pose.from_rows(row, single=True).moved(np.concatenate([move[:3], turn]), np.linspace(0.0, 1.0, steps + 1))
        low, high = shape._bounds(poses.rows)
        more = reach * _off_chord(turn, steps)
        lower[k], upper[k] = low.min(axis=0) - more, high.max(axis=0) + more
    return Bounds(lower, upper)


def _one_motion(motion: npt.ArrayLike, pose: PoseLike) -> tuple[Floats, Floats, Floats]:
    rows = as_poses(pose, "pose")
    if len(rows) != 1:
        raise InvalidInputError(f"pose: expected one pose, got {len(rows)}")
    given = finite_array(motion, "motion", limit=FARTHEST_POSE)
    if given.shape not in ((3,), (6,)):
        raise InvalidInputError(f"motion: expected shape (3,) or (6,), got {given.shape}")
    way = as_points(given[:3], "motion")[0]
    return rows, way, given[3:] if len(given) == 6 else np.zeros(3)


def _along(place: Floats, way: Floats) -> Pose:
    """At a place, with z along a way."""
    z = way / np.linalg.norm(way)
    x = np.cross(np.eye(3)[np.abs(z).argmin()], z)
    x /= np.linalg.norm(x)
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = np.stack([x, np.cross(z, x), z], axis=1), place
    return Pose.from_matrix(matrix)


def _steps(turn: Floats) -> int:
    """Into how many arcs a turn is divided."""
    return int(np.clip(np.ceil(np.linalg.norm(turn) / _TURN), 1, _STEPS))


def _off_chord(turn: Floats, steps: int) -> float:
    """How far points leave the chords of their arcs at most, as a part of their way from the axis; an arc that goes all around
    leaves it by the diameter."""
    return 1.0 - float(np.cos(min(0.5 * float(np.linalg.norm(turn)) / steps, np.pi)))


def _sagitta(points: Floats, turn: Floats, steps: int) -> float:
    """How far points leave the chords of their arcs at most."""
    return float(np.linalg.norm(points, axis=1).max()) * _off_chord(turn, steps)
