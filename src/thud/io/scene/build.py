"""From what a reader found to a `Scene`: metres, z up, rigid poses, each geometry once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.constants import MESH_COORDINATE
from thud.errors import InvalidInputError, SceneFileError
from thud.io.scene.child import Found
from thud.io.scene.names import UniqueNames, path_name
from thud.io.scene.repair import Repaired, repair_mesh
from thud.io.scene.robot_found import robot_of
from thud.io.scene.scene import Note, Part, Scene, Shared
from thud.io.scene.self_crossing import self_crossings
from thud.io.scene.tolerances import CROSSING_ALL, CROSSING_MOST, STRETCH_DIGITS
from thud.io.scene.units import metres_of, turn_of, words_for
from thud.pose import Pose
from thud.shapes.triangle_mesh import TriangleMesh


def build_scene(
    found: Found,
    source: str,
    units: Any,
    up: str | None,
    *,
    repair: bool,
    prefix: str,
    stem: str = "",
    crossings: bool | None = None,
    progress: Callable[[float], None] | None = None,
) -> Scene:
    """The scene of one file.

    source : the file's name
    units, up : override what the file says, or None
    prefix : a level above all others, or ""
    stem : the same before it was made unique
    crossings : whether to look for triangles that cross; None: in small meshes, up to a number of triangles in all
    """
    notes: list[Note] = []
    metres, words = _unit(found, units, notes)
    axis = up or found.up
    names, given = _paths(found, prefix), _given(found, stem)
    parts, rows, shared = [], [], Shared()
    repaired: dict[int, Repaired] = {}
    stretched: dict[Any, int | str] = {}
    shown: dict[int, list[str]] = {}
    turn = turn_of(axis)
    for row, (name, matrix) in enumerate(_shown(found, names)):
        node = found.nodes[name[0]]
        full, parent = name[1], names[node["parent"]] if node["parent"] >= 0 else prefix
        # A robot's links are turned and moved as a whole, by its base.
        linear = metres * matrix[:3, :3] if found.robot else metres * turn @ matrix[:3, :3]
        place = metres * matrix[:3, 3] if found.robot else metres * turn @ matrix[:3, 3]
        shown.setdefault(node["mesh"], []).append(full)
        if node["mesh"] not in repaired:
            try:
                repaired[node["mesh"]] = repair_mesh(*found.meshes[node["mesh"]], repair=repair)
            except SceneFileError as error:
                raise SceneFileError(f"{full}: {error}") from None
            if progress is not None:
                progress(0.5 + 0.3 * len(repaired) / len(found.meshes))
        mesh = repaired[node["mesh"]]
        if mesh.empty:
            notes.append(Note(full, "skipped", "no triangle has an area: not in the scene"))
            continue
        rotation, stretch = rigid_part(linear)
        key = node["mesh"], stretch.tobytes()
        if key not in stretched:
            made = _stretched(mesh, stretch)
            stretched[key] = shared.row(made) if isinstance(made, TriangleMesh) else made
            if np.linalg.matrix_rank(stretch) < 3:
                notes.append(Note(full, "left", "its transform makes it flat"))
        row_of_mesh = stretched[key]
        if isinstance(row_of_mesh, str):
            notes.append(Note(full, "skipped", f"not in the scene: {row_of_mesh}"))
            continue
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = rotation, place
        parts.append(Part(full, row_of_mesh, _pose(pose, full), parent, node["guid"], node["kind"], source, given[name[0]]))
        rows.append(row)
    _find_crossings(repaired, crossings, notes)
    for k, mesh in repaired.items():
        first, more = shown[k][0], len(shown[k]) - 1
        suffix = f" (and {more} more parts of the same geometry)" if more else ""
        notes += [Note(first, severity, text + suffix) for severity, text in mesh.notes]
    notes += [Note(names[n] if 0 <= n < len(names) else "", s, t) for n, s, t in found.notes]
    robot = None
    if found.robot:
        robot = robot_of(found.robot, rows, [part.pose for part in parts], metres, turn)
        placed = Pose.from_array(robot.poses(robot.rest)[0])
        parts = [replace(part, pose=placed[k]) for k, part in enumerate(parts)]
    return Scene(tuple(parts), tuple(shared.meshes), words, tuple(notes), robot)


def _find_crossings(repaired: dict[int, Repaired], wanted: bool | None, notes: list[Note]) -> None:
    """Tell of triangles that cross, where they are looked for."""
    if wanted is False:
        return
    left, missed = CROSSING_ALL, 0
    for mesh in repaired.values():
        if mesh.empty:
            continue
        if wanted is None and len(mesh.faces) > min(left, CROSSING_MOST):
            missed += 1
            continue
        left -= len(mesh.faces)
        count = self_crossings(mesh.vertices, mesh.faces)
        if count is None:
            mesh.notes.append(("left", "a heap of triangles in one place: not looked for crossings among them"))
        elif count:
            mesh.notes.append(
                ("left", f"{count} pairs of its triangles cross: the inside is decided by the parity of crossings")
            )
    if missed:
        notes.append(
            Note("", "left", f"{missed} large meshes were not looked through for triangles that cross (crossings=True)")
        )


def _unit(found: Found, units: Any, notes: list[Note]) -> tuple[float, str]:
    if units is not None:
        metres = metres_of(units)
        # What a library has turned to metres already is turned back first.
        return metres / found.stated if found.stated else metres, f"{words_for(metres)} (as told)"
    if found.metres is not None:
        return found.metres, f"{words_for(found.stated or found.metres)} (from the file)"
    notes.append(Note("", "assumed", "the file states no unit: its numbers are taken as metres, units= says otherwise"))
    return 1.0, "metre (assumed)"


def _paths(found: Found, prefix: str) -> list[str]:
    """Full and unique names of all nodes, levels too."""
    unique = UniqueNames([prefix] if prefix else [])
    names: list[str] = []
    for node in found.nodes:
        above = names[node["parent"]] if node["parent"] >= 0 else prefix
        names.append(unique.take(path_name(above, node["name"])))
    return names


def _given(found: Found, stem: str) -> list[str]:
    """Full names of all nodes as the file has them: not unique, and the same in any order."""
    names: list[str] = []
    for node in found.nodes:
        names.append(path_name(names[node["parent"]] if node["parent"] >= 0 else stem, node["name"]))
    return names


def _shown(found: Found, names: list[str]) -> list[tuple[tuple[int, str], Floats]]:
    """((node, full name), matrix) of the nodes that have a mesh."""
    rows = [k for k, node in enumerate(found.nodes) if node["mesh"] >= 0]
    return [((k, names[k]), matrix) for k, matrix in zip(rows, found.matrices)]


def rigid_part(linear: Floats) -> tuple[Floats, Floats]:
    """A = R S: the rotation R nearest to A, and the stretch S, symmetric, which is negative where A mirrors.

    S is rounded, so that instances that differ in rotation alone have the same; a uniform scale is exactly one.
    """
    if np.array_equal(linear, np.eye(3)):
        return np.eye(3), np.eye(3)
    u, s, vt = np.linalg.svd(linear)
    sign = 1.0 if np.linalg.det(u @ vt) > 0.0 else -1.0
    rotation = sign * (u @ vt)
    size = float(s.max())
    if size == 0.0:
        return np.eye(3), np.zeros((3, 3))
    step = 10.0 ** (np.floor(np.log10(size)) - STRETCH_DIGITS)
    stretch = np.round(sign * (vt.T * s) @ vt / step) * step
    # Through text, which is the nearest number of so many digits: steps are not exact.
    stretch = np.array([[float(f"{value:.{STRETCH_DIGITS}g}") for value in row] for row in stretch])
    return rotation, stretch + 0.0


def _stretched(mesh: Repaired, stretch: Floats) -> TriangleMesh | str:
    """The mesh with its stretch, or why there is none. Mirrored ones are turned outside out again."""
    vertices = mesh.vertices if np.array_equal(stretch, np.eye(3)) else mesh.vertices @ stretch.T
    if not np.abs(vertices).max() < MESH_COORDINATE:
        raise SceneFileError(f"a mesh has coordinates beyond {MESH_COORDINATE:g} metres; see units=")
    faces = mesh.faces if np.linalg.det(stretch) >= 0.0 else mesh.faces[:, ::-1]
    try:
        return TriangleMesh(vertices, faces)
    except InvalidInputError as error:
        return str(error)


def _pose(matrix: Floats, name: str) -> Pose:
    try:
        return Pose.from_matrix(matrix)
    except ValueError as error:
        raise SceneFileError(f"{name}: its transform cannot be used ({error})") from None
