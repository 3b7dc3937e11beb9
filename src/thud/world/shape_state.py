"""Shapes of any kind as a few flat arrays and back, to the last bit.

Every shape, and every shape inside a compound, is a *node*: a kind, a run of `shape_reals` and a run of `shape_ints`. A
compound comes after its parts and names them by their nodes, so that there can be no circle; what was one object stays one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.bvh.mesh_tree import MeshTree, validate_tree
from thud.constants import ROTATION_TOLERANCE, TREE_LEVELS
from thud.errors import InvalidInputError
from thud.pairing.table import SHAPE_REASONS
from thud.pose import Pose
from thud.shapes import (
    Box,
    Capsule,
    Compound,
    Cone,
    ConvexHull,
    Cylinder,
    Ellipsoid,
    HalfSpace,
    HeightField,
    Sphere,
    TriangleMesh,
)
from thud.shapes.shape import Shape, frozen
from thud.terrain.surface import DisplacedSurface
from thud.world.field_state import field_from, field_numbers
from thud.world.surface_state import surface_from, surface_numbers
from thud.world.tolerances import SAVED_DEPTH, SAVED_PARTS

#: Kinds of nodes by their numbers in `shape_kinds`: never renumbered, new ones come last.
KINDS: tuple[type[Shape], ...] = (
    Sphere, Box, Capsule, Cylinder, Cone, Ellipsoid, HalfSpace, ConvexHull, TriangleMesh, Compound, DisplacedSurface,
    HeightField,
)  # fmt: skip

#: What describes the shapes that a few numbers make: name and count of each argument.
_NUMBERS: dict[type[Shape], tuple[tuple[str, int], ...]] = {
    Sphere: (("radius", 1),),
    Box: (("half_extents", 3),),
    Capsule: (("radius", 1), ("half_length", 1)),
    Cylinder: (("radius", 1), ("half_length", 1)),
    Cone: (("radius", 1), ("half_length", 1)),
    Ellipsoid: (("radii", 3),),
    HalfSpace: (("normal", 3), ("offset", 1)),
}

#: Options of a mesh and their types.
_MESH_OPTIONS: dict[str, tuple[type, ...]] = {
    "bounding": (str,),
    "spm": (str, type(None)),
    "spm_levels": (int,),
    "spm_samples": (int,),
    "spm_directions": (int,),
    "build": (str,),
    "kdop_k": (int,),
    "obb_weights": (str,),
}


def check_rigid(rows: Floats, name: str) -> None:
    """Named error unless the (N, 12) pose rows are rigid motions."""
    bad: npt.NDArray[np.bool_] = np.logical_not(np.isfinite(rows).all(axis=1))
    r = np.where(bad[:, None], 0.0, rows)[:, :9].reshape(-1, 3, 3)
    with np.errstate(over="ignore", invalid="ignore"):
        skew = np.abs(np.einsum("nki,nkj->nij", r, r) - np.eye(3)).max(axis=(1, 2))
        bad |= ~(skew <= 2.0 * ROTATION_TOLERANCE) | ~(np.linalg.det(r) > 0.0)
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(f"{name}: row {row} is not a rigid motion; expected finite numbers and right-handed rotations")


class PartLimits:
    """Counts the parts of compounds, node by node: a part named twice at each of many levels would double their number each."""

    def __init__(self) -> None:
        self._parts: list[int] = []
        self._depths: list[int] = []
        self._total = 0

    def single(self) -> None:
        """The next node is no compound."""
        self._parts.append(1)
        self._depths.append(0)

    def compound(self, inside: list[int]) -> None:
        """The next node is a compound of these nodes."""
        self._parts.append(sum(self._parts[node] for node in inside))
        self._depths.append(1 + max(self._depths[node] for node in inside))
        self._total += self._parts[-1]
        if self._depths[-1] > SAVED_DEPTH:
            raise InvalidInputError(f"compounds: nested {self._depths[-1]} deep; expected at most {SAVED_DEPTH}")
        if self._total > SAVED_PARTS:
            raise InvalidInputError(f"compounds: {self._total} parts in all; expected at most {SAVED_PARTS}")


class _Nodes:
    """Nodes as they are written."""

    def __init__(self) -> None:
        self.kinds: list[int] = []
        self.reals: list[Floats] = []
        self.ints: list[Ints] = []
        self.meshes: list[dict[str, Any]] = []
        self.limits = PartLimits()
        self._known: dict[int, int] = {}

    def place(self, shape: Shape, depth: int = 0) -> int:
        """The node of a shape."""
        if id(shape) in self._known:
            return self._known[id(shape)]
        if type(shape) not in KINDS:
            why = SHAPE_REASONS.get(("save", shape.family), f"a shape of the kind {type(shape).__name__} cannot be saved")
            raise InvalidInputError(why)
        if depth > SAVED_DEPTH:
            raise InvalidInputError(f"compounds: nested more than {SAVED_DEPTH} deep; expected fewer levels")
        reals, ints = _WRITERS.get(type(shape), _numbers)(self, shape, depth)
        self.kinds.append(KINDS.index(type(shape)))
        self.reals.append(reals)
        self.ints.append(ints)
        self._known[id(shape)] = len(self.kinds) - 1
        return self._known[id(shape)]


def _compound_numbers(nodes: _Nodes, shape: Compound, depth: int) -> tuple[Floats, Ints]:
    ints = np.array([nodes.place(part, depth + 1) for part in shape.shapes], np.int64)
    nodes.limits.compound(ints.tolist())
    check_rigid(shape.poses.rows, "poses of a compound")
    return shape.poses.rows.ravel(), ints


def _mesh_numbers(nodes: _Nodes, shape: TriangleMesh, _depth: int) -> tuple[Floats, Ints]:
    nodes.limits.single()
    reals, ints = np.ravel(shape.vertices), np.ravel(shape.faces)
    options = {name: getattr(shape, name) for name in _MESH_OPTIONS}
    nodes.meshes.append(options | {"triangles": len(ints) // 3, "refitted": shape.is_refitted})
    if shape.is_refitted:
        # Its tree comes from other vertices; without it, ties between triangles could be decided otherwise.
        ints = np.concatenate([ints, shape.tree.skip, shape.tree.first, shape.tree.order])
    return reals, ints


def _hull_numbers(nodes: _Nodes, shape: ConvexHull, _depth: int) -> tuple[Floats, Ints]:
    nodes.limits.single()
    return np.ravel(shape.points), np.empty(0, np.int64)


def _surface_numbers(nodes: _Nodes, shape: DisplacedSurface, _depth: int) -> tuple[Floats, Ints]:
    nodes.limits.single()
    return surface_numbers(shape)


def _field_numbers(nodes: _Nodes, shape: HeightField, _depth: int) -> tuple[Floats, Ints]:
    nodes.limits.single()
    return field_numbers(shape)


def _numbers(nodes: _Nodes, shape: Shape, _depth: int) -> tuple[Floats, Ints]:
    nodes.limits.single()
    reals = np.concatenate([np.ravel(getattr(shape, name)) for name, _ in _NUMBERS[type(shape)]])
    return reals, np.empty(0, np.int64)


#: How each kind is written; a few numbers for all others.
_WRITERS: dict[type[Shape], Callable[[_Nodes, Any, int], tuple[Floats, Ints]]] = {
    Compound: _compound_numbers,
    TriangleMesh: _mesh_numbers,
    ConvexHull: _hull_numbers,
    DisplacedSurface: _surface_numbers,
    HeightField: _field_numbers,
}


def flatten(shapes: Sequence[Shape | None]) -> dict[str, Any]:
    """Arrays of shapes (`shape_*`), and the options of the meshes among them in the order of their nodes."""
    nodes = _Nodes()
    roots = [-1 if shape is None else nodes.place(shape) for shape in shapes]
    return {
        "shape_roots": np.array(roots, np.int64),
        "shape_kinds": np.array(nodes.kinds, np.int64),
        "shape_real_starts": np.cumsum([0, *map(len, nodes.reals)], dtype=np.int64),
        "shape_int_starts": np.cumsum([0, *map(len, nodes.ints)], dtype=np.int64),
        "shape_reals": np.concatenate([np.empty(0), *nodes.reals]),
        "shape_ints": np.concatenate([np.empty(0, np.int64), *nodes.ints]),
        "meshes": nodes.meshes,
    }


def unflatten(state: Mapping[str, Any]) -> list[Shape | None]:
    """The shapes of `flatten`. Nothing is believed: what is wrong is a named error."""
    kinds, roots = state["shape_kinds"], state["shape_roots"]
    real_starts, int_starts = state["shape_real_starts"], state["shape_int_starts"]
    for name, starts, data in (("real", real_starts, state["shape_reals"]), ("int", int_starts, state["shape_ints"])):
        # Compared, not subtracted: differences of hostile numbers may overflow.
        right = len(starts) == len(kinds) + 1 and starts[0] == 0 and starts[-1] == len(data)
        if not right or (starts[1:] < starts[:-1]).any():
            raise InvalidInputError(f"shape_{name}_starts: expected {len(kinds) + 1} numbers that rise from 0 to {len(data)}")
    if ((kinds < 0) | (kinds >= len(KINDS))).any():
        raise InvalidInputError(f"shape_kinds: expected numbers from 0 to {len(KINDS) - 1}")
    if ((roots < -1) | (roots >= len(kinds))).any():
        raise InvalidInputError(f"shape_roots: expected numbers from -1 to {len(kinds) - 1}")
    if not isinstance(state["meshes"], list) or len(state["meshes"]) != int((kinds == KINDS.index(TriangleMesh)).sum()):
        raise InvalidInputError("meshes: expected a list with one entry for each mesh")
    meshes = iter(state["meshes"])
    nodes: list[Shape] = []
    limits = PartLimits()
    r, k = real_starts.tolist(), int_starts.tolist()
    for node, kind in enumerate(kinds.tolist()):
        reals, ints = state["shape_reals"][r[node] : r[node + 1]], state["shape_ints"][k[node] : k[node + 1]]
        try:
            if KINDS[kind] is Compound:
                if not len(ints) or ((ints < 0) | (ints >= node)).any():
                    raise InvalidInputError(f"the parts of a compound: expected nodes from 0 to {node - 1}, and at least one")
                inside = ints.tolist()
                limits.compound(inside)
                nodes.append(_compound([nodes[part] for part in inside], reals))
            else:
                limits.single()
                if KINDS[kind] is TriangleMesh:
                    nodes.append(_mesh(reals, ints, next(meshes)))
                elif KINDS[kind] is DisplacedSurface:
                    nodes.append(surface_from(reals, ints))
                elif KINDS[kind] is HeightField:
                    nodes.append(field_from(reals, ints))
                else:
                    nodes.append(_convex(KINDS[kind], reals))
        except (InvalidInputError, ArithmeticError) as error:
            raise InvalidInputError(f"shape node {node}: {error}") from None
    return [None if root < 0 else nodes[root] for root in roots.tolist()]


def _points(reals: Floats) -> Floats:
    if len(reals) % 3:
        raise InvalidInputError(f"points: expected three numbers each, got {len(reals)} in all")
    return reals.reshape(-1, 3)


def _convex(kind: type[Shape], reals: Floats) -> Shape:
    if kind is ConvexHull:
        return ConvexHull(_points(reals))
    layout = _NUMBERS[kind]
    if len(reals) != sum(count for _, count in layout):
        raise InvalidInputError(f"a {kind.__name__}: expected {sum(count for _, count in layout)} numbers, got {len(reals)}")
    values: dict[str, Any] = {}
    at = 0
    for name, count in layout:
        values[name] = reals[at : at + count] if count > 1 else float(reals[at])
        at += count
    shape: Any = kind(**values)
    if kind is HalfSpace:
        # Scaled to unit length once more, it could change by a last bit.
        if not np.abs(shape.normal - values["normal"]).max() <= ROTATION_TOLERANCE:
            raise InvalidInputError("normal: expected unit length")
        object.__setattr__(shape, "normal", frozen(values["normal"]))
    return shape


def _mesh(reals: Floats, ints: Ints, options: Any) -> TriangleMesh:
    if isinstance(options, dict):
        # Files from before there were several.
        options = {"spm_directions": 1} | options
    if not isinstance(options, dict) or set(options) != {*_MESH_OPTIONS, "triangles", "refitted"}:
        raise InvalidInputError(f"meshes: expected entries with {', '.join(_MESH_OPTIONS)}, triangles, refitted")
    for name, types in (_MESH_OPTIONS | {"triangles": (int,), "refitted": (bool,)}).items():
        if type(options[name]) not in types:
            raise InvalidInputError(f"{name}: expected {' or '.join(t.__name__ for t in types)}, got {options[name]!r}")
    count, refitted = options["triangles"], options["refitted"]
    if count < 1 or len(ints) != (8 * count - 2 if refitted else 3 * count):
        raise InvalidInputError(f"a mesh of {count} triangles{', refitted' if refitted else ''}: got {len(ints)} whole numbers")
    mesh = TriangleMesh(_points(reals), ints[: 3 * count].reshape(-1, 3), **{name: options[name] for name in _MESH_OPTIONS})
    if refitted:
        skip, first, order = (part.copy() for part in np.split(ints[3 * count :], [2 * count - 1, 4 * count - 2]))
        tree = MeshTree(skip, first, order)
        validate_tree(tree)
        if int(tree.levels.max()) >= TREE_LEVELS:
            raise InvalidInputError(f"tree: expected fewer than {TREE_LEVELS} levels")
        mesh.__dict__.update(tree=tree, is_refitted=True)
    return mesh


def _compound(shapes: list[Shape], reals: Floats) -> Compound:
    if len(reals) != 12 * len(shapes):
        raise InvalidInputError(f"a compound of {len(shapes)} parts: expected {12 * len(shapes)} numbers, got {len(reals)}")
    rows = reals.reshape(-1, 12).copy()
    check_rigid(rows, "poses")
    return Compound(shapes, Pose.from_rows(rows))
