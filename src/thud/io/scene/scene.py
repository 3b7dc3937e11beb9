"""`Scene`: named parts, each a mesh at a pose, with what was assumed and repaired on the way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.errors import InvalidInputError
from thud.io.scene.names import UniqueNames
from thud.io.scene.robot import Robot
from thud.pose import Pose, PoseLike, as_poses
from thud.shapes.triangle_mesh import TriangleMesh

#: What a note may say: something was assumed that the file does not state; something was mended; a defect was left as it is;
#: something in the file is not in the scene.
SEVERITIES = ("assumed", "repaired", "left", "skipped")


@dataclass(frozen=True)
class Part:
    """A mesh at a place, with its name.

    Attributes
    ----------
    name : full path from the root with "/" between levels, unique within the scene
    mesh : row of `Scene.meshes`
    pose : from the mesh's frame to the scene's; rigid, scale and shear are in the mesh
    parent : full path of what it belongs to, or ""
    guid : global id that the file gives it (IFC), or None
    kind : the IFC class, "link" for a part of a robot, or ""
    source : name of the file, or ""
    given : full path as the file has it, which other parts may have too; "" if it is `name`
    """

    name: str
    mesh: int
    pose: Pose
    parent: str = ""
    guid: str | None = None
    kind: str = ""
    source: str = ""
    given: str = ""


@dataclass(frozen=True)
class Note:
    """What was assumed, repaired, left or skipped.

    Attributes
    ----------
    part : its full name, or "" for the file as a whole
    severity : "assumed", "repaired", "left" or "skipped"
    text : one sentence
    """

    part: str
    severity: str
    text: str


@dataclass(frozen=True, eq=False, repr=False)
class Scene:
    """Named parts of one or several files, in metres, z up.

    Attributes
    ----------
    parts : the parts; `Part.mesh` is a row of `meshes`
    meshes : each geometry once, however many parts show it
    units : the unit that was found or assumed, in words
    notes : what was assumed, repaired, left and skipped
    robot : links and joints, where the files have some, else None
    """

    parts: tuple[Part, ...]
    meshes: tuple[TriangleMesh, ...]
    units: str = "metre"
    notes: tuple[Note, ...] = ()
    robot: Robot | None = field(default=None)

    def __post_init__(self) -> None:
        names = set()
        for row, part in enumerate(self.parts):
            if not 0 <= part.mesh < len(self.meshes):
                raise InvalidInputError(
                    f"parts: row {row} ({part.name!r}) has mesh {part.mesh}; expected 0 to {len(self.meshes) - 1}"
                )
            if not part.name or part.name in names:
                raise InvalidInputError(f"parts: row {row} is named {part.name!r}; expected a name that no other part has")
            names.add(part.name)
        if self.robot is not None and self.robot.part_count != len(self.parts):
            raise InvalidInputError(f"robot: made for {self.robot.part_count} parts; expected {len(self.parts)}")

    @classmethod
    def from_parts(
        cls, names: Sequence[str], meshes: Sequence[TriangleMesh], poses: PoseLike = None, *, units: str = "metre"
    ) -> Scene:
        """A scene of one's own geometry.

        Parameters
        ----------
        names : P names; "/" separates levels, names that occur again get "#2", "#3", ...
        meshes : P meshes, metres; the same mesh, or one of the same vertices and faces, is kept once
        poses : P poses or one for all; None is the identity
        """
        if not (len(names) == len(meshes)):
            raise InvalidInputError(f"names, meshes: expected as many names as meshes, got {len(names)} and {len(meshes)}")
        rows = as_poses(poses, "poses")
        if len(rows) not in (1, len(names)):
            raise InvalidInputError(f"poses: expected {len(names)} or one, got {len(rows)}")
        shared, kept = Shared(), UniqueNames()
        parts = []
        for k, (name, mesh) in enumerate(zip(names, meshes)):
            if not isinstance(mesh, TriangleMesh):
                raise InvalidInputError(f"meshes: row {k} is a {type(mesh).__name__}; expected a TriangleMesh (see to_mesh)")
            full = kept.take(str(name) or "part")
            pose = Pose.from_rows(rows[k if len(rows) > 1 else 0], single=True)
            parts.append(Part(full, shared.row(mesh), pose, parent=full.rpartition("/")[0], given=str(name)))
        return cls(tuple(parts), tuple(shared.meshes), units)

    def __len__(self) -> int:
        return len(self.parts)

    def __iter__(self) -> Iterator[Part]:
        return iter(self.parts)

    def __repr__(self) -> str:
        robot = f", a robot with {len(self.robot.joints)} joints" if self.robot is not None else ""
        return (
            f"Scene({len(self.parts)} parts, {len(self.meshes)} meshes, {self.triangle_count} triangles, "
            f"{self.units}, {len(self.notes)} notes{robot})"
        )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Full names in the order of `parts`."""
        return tuple(part.name for part in self.parts)

    @cached_property
    def _rows(self) -> dict[str, int]:
        return {name: row for row, name in enumerate(self.names)}

    def index(self, name: str) -> int:
        """The row of the part of this full name."""
        try:
            return self._rows[name]
        except KeyError:
            raise InvalidInputError(f"name: no part is named {name!r}; see scene.names") from None

    def part(self, name: str) -> Part:
        """The part of this full name."""
        return self.parts[self.index(name)]

    def mesh_of(self, part: Part | int) -> TriangleMesh:
        """The mesh of a part or of a row, in the part's own frame."""
        return self.meshes[(part if isinstance(part, Part) else self.parts[part]).mesh]

    def shapes(self) -> list[TriangleMesh]:
        """One mesh a part, for queries over many shapes."""
        return [self.meshes[part.mesh] for part in self.parts]

    def poses(self) -> Pose:
        """One row a part, in the order of `parts`."""
        if not self.parts:
            return Pose.from_rows(np.empty((0, 12)))
        return Pose.from_rows(np.concatenate([as_poses(part.pose, "pose") for part in self.parts]))

    @cached_property
    def triangle_count(self) -> int:
        """Triangles of all parts; a mesh counts as often as it is shown."""
        return sum(len(np.asarray(self.meshes[part.mesh].faces)) for part in self.parts)

    def bounds(self) -> tuple[Floats, Floats]:
        """Lower and upper corner of the box about all parts, metres."""
        if not self.parts:
            raise InvalidInputError("scene: it has no parts, so no box either")
        boxes = [self.meshes[part.mesh].bounds(part.pose) for part in self.parts]
        return np.min([np.ravel(box.lower) for box in boxes], axis=0), np.max([np.ravel(box.upper) for box in boxes], axis=0)

    def moved(self, pose: Pose) -> Scene:
        """The scene as a whole at another place."""
        parts = tuple(replace(part, pose=pose @ part.pose) for part in self.parts)
        robot = self.robot.moved(pose) if self.robot is not None else None
        return replace(self, parts=parts, robot=robot)

    def joined(self, other: Scene, pose: Pose | None = None) -> Scene:
        """Both scenes, the other one moved by `pose`. Names that both have get "#2", equal meshes are kept once."""
        other = other.moved(pose) if pose is not None else other
        shared = Shared()
        first = [shared.row(mesh) for mesh in self.meshes]
        second = [shared.row(mesh) for mesh in other.meshes]
        names = UniqueNames(self.names)
        renamed = {part.name: names.take(part.name) for part in other.parts}
        parts = [replace(part, mesh=first[part.mesh]) for part in self.parts]
        parts += [replace(part, mesh=second[part.mesh], name=renamed[part.name]) for part in other.parts]
        notes = self.notes + tuple(replace(note, part=renamed.get(note.part, note.part)) for note in other.notes)
        robot = Robot.joined(self.robot, self.poses(), other.robot, other.poses())
        units = self.units if self.units == other.units else f"{self.units}; {other.units}"
        return Scene(tuple(parts), tuple(shared.meshes), units, notes, robot)


class Shared:
    """Meshes, each geometry once."""

    def __init__(self) -> None:
        self.meshes: list[TriangleMesh] = []
        self._by_id: dict[int, int] = {}
        self._by_bytes: dict[Any, list[int]] = {}

    def row(self, mesh: TriangleMesh) -> int:
        """The row of this mesh, or of an equal one that is there."""
        known = self._by_id.get(id(mesh))
        if known is not None:
            return known
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        key = vertices.shape, faces.shape, vertices[:64].tobytes(), mesh.bounding, mesh.spm, mesh.build
        for row in self._by_bytes.setdefault(key, []):
            there = self.meshes[row]
            if np.array_equal(there.vertices, vertices) and np.array_equal(there.faces, faces):
                # Not kept by its id: nothing holds this mesh, and another one may come to lie where it was.
                return row
        self.meshes.append(mesh)
        self._by_bytes[key].append(len(self.meshes) - 1)
        self._by_id[id(mesh)] = len(self.meshes) - 1
        return len(self.meshes) - 1
