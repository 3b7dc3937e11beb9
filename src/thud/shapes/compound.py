"""Compound: several shapes as one rigid body."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from thud._core.arrays import Floats
from thud.bvh.topology import Tree, build_tree
from thud.errors import InvalidInputError, InvalidShapeError, UnboundedShapeError
from thud.gates import kind_of
from thud.pose import Pose, PoseLike, as_poses
from thud.shapes.shape import Part, Shape


@dataclass(frozen=True, eq=False)
class Compound(Shape):
    """Union of shapes, each at its own pose; shapes may be compounds again.

    Its tree keeps the hierarchy as [Yang] 2.5.3 does: the compound is the root, each sub-object a child with all its
    own parts below it. Parts may overlap; volume, centroid and inertia then count the overlap twice.

    Parameters
    ----------
    shapes : sequence of shapes, at least one
    poses : one pose a shape (default: identity), anything a pose argument takes
    """

    shapes: Sequence[Shape]
    poses: PoseLike = None

    def __post_init__(self) -> None:
        if isinstance(self.shapes, Shape) or not isinstance(self.shapes, Iterable):
            raise InvalidInputError(f"shapes: expected a list of thud shapes, got a {type(self.shapes).__name__}")
        shapes = tuple(self.shapes)
        if not shapes:
            raise InvalidShapeError("shapes: expected at least one shape, got none")
        for row, shape in enumerate(shapes):
            if not isinstance(shape, Shape):
                raise InvalidInputError(f"shapes: row {row}: expected a thud shape, got {kind_of(shape)}")
        rows = as_poses(self.poses, "poses")
        if len(rows) == 1 and len(shapes) > 1 and self.poses is None:
            rows = np.repeat(rows, len(shapes), axis=0)
        if len(rows) != len(shapes):
            raise InvalidInputError(f"poses: expected one pose a shape ({len(shapes)}), got {len(rows)}")
        object.__setattr__(self, "shapes", shapes)
        object.__setattr__(self, "poses", Pose.from_rows(rows))

    def __repr__(self) -> str:
        kinds = Counter(type(shape).__name__ for shape in self.shapes)
        return f"Compound({len(self.shapes)} shapes: {', '.join(f'{count} {kind}' for kind, count in sorted(kinds.items()))})"

    @cached_property
    def family(self) -> str:  # type: ignore[override]
        """Convex parts alone, or something else among them."""
        return "parts" if all(shape.family in ("convex", "parts") for shape in self.shapes) else "mixed"

    @cached_property
    def is_solid(self) -> bool:  # type: ignore[override]
        """Whether any of its shapes is."""
        return any(shape.is_solid for shape in self.shapes)

    @cached_property
    def is_ground(self) -> bool:  # type: ignore[override]
        """Whether any of its shapes is fixed to the world."""
        return any(shape.is_ground for shape in self.shapes)

    @cached_property
    def _flat(self) -> tuple[list[Part], list[list[int]]]:
        """All convex parts in the compound's frame, and which of them each child holds."""
        parts: list[Part] = []
        groups: list[list[int]] = []
        for k, shape in enumerate(self.shapes):
            inner = shape.parts()
            groups.append(list(range(len(parts), len(parts) + len(inner))))
            outer = Pose.from_rows(self.poses.rows[k])
            parts += [replace(part, pose=(outer @ Pose.from_rows(part.pose)).rows[0]) for part in inner]
        return parts, groups

    def parts(self) -> list[Part]:
        """Convex parts of all shapes, nested ones included, in order."""
        return self._flat[0]

    @cached_property
    def tree(self) -> Tree:
        """Boxes over the parts, in the compound's frame."""
        lower, upper = self._part_bounds(as_poses(None, "pose"))
        return build_tree(lower[:, 0], upper[:, 0], self._flat[1])

    def _part_bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        """(parts, N, 3) corners."""
        lower: list[Floats] = []
        upper: list[Floats] = []
        for k, shape in enumerate(self.shapes):
            placed = (Pose.from_rows(rows) @ Pose.from_rows(self.poses.rows[k])).rows
            if isinstance(shape, Compound):
                inner = shape._part_bounds(placed)
                lower.extend(inner[0])
                upper.extend(inner[1])
            else:
                box = shape._bounds(placed)
                lower.append(box[0])
                upper.append(box[1])
        return np.array(lower), np.array(upper)

    def _bounds(self, rows: Floats) -> tuple[Floats, Floats]:
        lower, upper = self._part_bounds(rows)
        return lower.min(axis=0), upper.max(axis=0)

    def _core_points(self) -> tuple[Floats, float] | None:
        cores = [shape._core_points() for shape in self.shapes]
        known = [core for core in cores if core is not None]
        if len(known) < len(cores) or len({radius for _points, radius in known}) > 1:
            return None
        placed = [pose.apply(points) for pose, (points, _radius) in zip(self.poses, known, strict=True)]
        return np.concatenate(placed), known[0][1]

    def bounding_sphere(self) -> tuple[Floats, float]:
        """About the centre of the box; inf with a half-space."""
        lower, upper = self._bounds(as_poses(None, "pose"))
        if not (np.isfinite(lower).all() and np.isfinite(upper).all()):
            return np.zeros(3), np.inf
        center = 0.5 * (lower[0] + upper[0])
        radius = 0.0
        for k, shape in enumerate(self.shapes):
            inner, inner_radius = shape.bounding_sphere()
            pose = self.poses.rows[k]
            placed = pose[:9].reshape(3, 3) @ inner + pose[9:]
            radius = max(radius, float(np.linalg.norm(placed - center)) + inner_radius)
        return center, radius

    @property
    def volume(self) -> float:
        """Sum of the parts' volumes."""
        return float(sum(shape.volume for shape in self.shapes))

    @property
    def centroid(self) -> Floats:
        """Volume-weighted mean of the parts' centroids."""
        if not np.isfinite(self.volume):
            raise UnboundedShapeError("a Compound with a HalfSpace has no centroid: it is unbounded")
        total = np.zeros(3)
        for k, shape in enumerate(self.shapes):
            pose = self.poses.rows[k]
            total += shape.volume * (pose[:9].reshape(3, 3) @ shape.centroid + pose[9:])
        return total / self.volume

    def inertia(self, mass: float = 1.0) -> Floats:
        """Parallel-axis sum over the parts."""
        center, volume = self.centroid, self.volume
        total = np.zeros((3, 3))
        for k, shape in enumerate(self.shapes):
            rotation, position = self.poses.rows[k, :9].reshape(3, 3), self.poses.rows[k, 9:]
            part_mass = mass * shape.volume / volume
            arm = rotation @ shape.centroid + position - center
            total += rotation @ shape.inertia(part_mass) @ rotation.T
            total += part_mass * (np.eye(3) * (arm @ arm) - np.outer(arm, arm))
        return total
