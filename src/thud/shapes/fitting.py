"""Bounding volumes of shapes: boxes and k-DOPs by the extent along directions, the smallest spheres where they are known."""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Floats
from thud.bounds.fit import fit_obb, fit_sphere
from thud.bounds.kdop import directions
from thud.bounds.volumes import Aabb, BoundingSphere, Kdop, Obb, Volume
from thud.errors import InvalidInputError, UnboundedShapeError
from thud.math.frames import frame_of
from thud.pose import PoseLike, as_poses
from thud.shapes.shape import Shape

KINDS = ("aabb", "sphere", "obb", "kdop")

#: Steps towards the farthest of a compound's balls: the radius is then too large by about one part in so many.
_BALL_STEPS = 2000


def fit_shape(shape: Shape, kind: str, pose: PoseLike, k: int, method: str) -> Volume:
    """See `Shape.fit`."""
    if kind not in KINDS:
        raise InvalidInputError(f"kind: expected one of {KINDS}, got {kind!r}")
    if method not in ("pca", "tight"):
        raise InvalidInputError(f'method: expected "pca" or "tight", got {method!r}')
    rows = as_poses(pose, "pose")
    if len(rows) != 1:
        raise InvalidInputError(f"pose: expected one pose, got {len(rows)}")
    if not np.isfinite(shape._bounds(rows)).all():
        raise UnboundedShapeError(f"a {type(shape).__name__} without end has no bounding volume")
    turn, place = rows[0, :9].reshape(3, 3), rows[0, 9:]
    if kind == "aabb":
        lower, upper = shape._bounds(rows)
        return Aabb(lower[0], upper[0])
    if kind == "kdop":
        low, high = extents(shape, directions(k) @ turn)
        moved = directions(k) @ place
        return Kdop(low + moved, high + moved)
    if kind == "sphere":
        found = smallest_sphere_of(shape)
        return BoundingSphere(turn @ found.center + place, found.radius)
    box = _oriented_box(shape, method)
    return Obb(turn @ box.center + place, box.axes @ turn.T, box.half_extents)


def extents(shape: Shape, along: Floats) -> tuple[Floats, Floats]:
    """(D,) least and greatest d . x over the shape, in its own frame: the x sides of its box, turned so that d is along x."""
    lengths = np.linalg.norm(along, axis=1)
    rows = np.zeros((len(along), 12))
    for k, d in enumerate(along / lengths[:, None]):
        rows[k, :9] = frame_of(d).ravel()
    lower, upper = shape._bounds(rows)
    return lower[:, 0] * lengths, upper[:, 0] * lengths


def smallest_sphere_of(shape: Shape) -> BoundingSphere:
    """In the shape's own frame. Of a compound with curved parts: of the balls about its parts, to one part in a thousand."""
    core = shape._core_points()
    if core is not None:
        points, radius = core
        found = fit_sphere(points)
        return BoundingSphere(found.center, found.radius + radius)
    inner = getattr(shape, "shapes", None)
    if inner is None:
        center, radius = shape.bounding_sphere()
        return BoundingSphere(center, np.asarray(radius))
    balls = [smallest_sphere_of(one) for one in inner]
    poses = shape.poses.rows  # type: ignore[attr-defined]
    centers = np.stack([row[:9].reshape(3, 3) @ ball.center + row[9:] for row, ball in zip(poses, balls, strict=True)])
    radii = np.array([float(ball.radius) for ball in balls])
    # Badoiu and Clarkson (2003): a step towards the farthest point, each shorter than the one before.
    middle = centers[radii.argmax()]
    best, least = middle, np.inf
    for step in range(1, _BALL_STEPS):
        away = np.linalg.norm(centers - middle, axis=1)
        far = int((away + radii).argmax())
        if away[far] + radii[far] < least:
            best, least = middle, float(away[far] + radii[far])
        if away[far] == 0.0:
            break
        farthest = centers[far] + (centers[far] - middle) * (radii[far] / away[far])
        middle = middle + (farthest - middle) / (step + 1.0)
    return BoundingSphere(best, np.asarray(least))


def _oriented_box(shape: Shape, method: str) -> Obb:
    """By the corners of a polytope; of a curved shape the box along its own axes, which are its principal ones."""
    core = shape._core_points()
    if core is None:
        lower, upper = (corner[0] for corner in shape._bounds(as_poses(None, "pose")))
        axes = np.eye(3)[np.argsort(lower - upper, kind="stable")]
        axes[2] *= np.linalg.det(axes)
        return Obb(0.5 * (lower + upper), axes, np.abs(axes) @ (0.5 * (upper - lower)))
    box = fit_obb(core[0], method=method)
    return Obb(box.center, box.axes, box.half_extents + core[1])
