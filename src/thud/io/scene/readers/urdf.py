"""URDF by yourdfpy: links, joints and the meshes that they name, in the folder only."""

from __future__ import annotations

import io
import os
import re
from typing import Any

import numpy as np

from thud.errors import MissingExtraError, SceneFileError, SceneReferenceError
from thud.io.scene.readers import primitives
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.references import References
from thud.io.scene.readers.xml_guard import check_xml

_KINDS = {"revolute": "revolute", "continuous": "continuous", "prismatic": "prismatic", "fixed": "fixed"}


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a robot; URDF has metres and z up."""
    check_xml(path, raw.limits, "URDF")
    with open(path, "rb") as file:
        data = file.read()
    if re.search(rb"<\s*xacro:|\$\{|\$\(", data):
        raise SceneFileError("URDF: it is xacro, a program that makes URDF; run it first: xacro robot.xacro > robot.urdf")
    import yourdfpy

    loaded = yourdfpy.URDF.load(io.BytesIO(data), build_scene_graph=False, load_meshes=False)
    robot = loaded.robot
    raw.metres, raw.up = 1.0, "z"
    if not robot.links:
        raise SceneFileError("URDF: it has no links")
    links = _ordered(robot)
    reader = _Links(path, root, raw, options["urdf_geometry"])
    parts: list[int] = []
    by_name = {link.name: link for link in robot.links}
    top = raw.add_node(robot.name or "robot")
    for k, name in enumerate(links):
        parts += [k] * reader.link(by_name[name], top)
    joints = [_joint(joint, raw) for joint in robot.joints]
    _check_mimics(joints)
    order = {name: k for k, name in enumerate(links)}
    joints.sort(key=lambda joint: order[joint["child"]])
    raw.robot = {"name": str(robot.name or "robot"), "links": links, "joints": joints, "parts": parts}


def _ordered(robot: Any) -> list[str]:
    """Links, each after its parent."""
    names = [link.name for link in robot.links]
    if len(set(names)) != len(names) or any(not name for name in names):
        raise SceneFileError("URDF: two links have one name, or one has none")
    parents: dict[str, str] = {}
    for joint in robot.joints:
        for end in (joint.parent, joint.child):
            if end not in names:
                raise SceneFileError(f"URDF: joint {joint.name!r} names the link {end!r}, which is not there")
        if joint.child in parents:
            raise SceneFileError(f"URDF: link {joint.child!r} has two parents")
        parents[joint.child] = joint.parent
    children: dict[str, list[str]] = {}
    for child, parent in parents.items():
        children.setdefault(parent, []).append(child)
    order, stack = [], [name for name in reversed(names) if name not in parents]
    while stack:
        name = stack.pop()
        order.append(name)
        stack += reversed(children.get(name, []))
    if len(order) != len(names):
        lost = sorted(set(names) - set(order))[:3]
        raise SceneFileError(f"URDF: links {lost} hang in a circle")
    return order


def _joint(joint: Any, raw: RawScene) -> dict[str, Any]:
    kind = _KINDS.get(joint.type)
    if kind is None:
        raw.note("assumed", f"joint {joint.name!r} of type {joint.type!r} is held fixed")
        kind = "fixed"
    axis = np.array([1.0, 0.0, 0.0] if joint.axis is None else joint.axis, dtype=np.float64).reshape(3)
    length = float(np.linalg.norm(axis))
    if kind != "fixed" and not 0.0 < length < np.inf:
        raise SceneFileError(f"URDF: joint {joint.name!r} has the axis {axis.tolist()}; expected a direction")
    lower, upper = (-np.pi, np.pi) if kind == "continuous" else (0.0, 0.0)
    limit = joint.limit
    if kind in ("revolute", "prismatic"):
        if limit is None or (limit.lower is None and limit.upper is None):
            raw.note("assumed", f"joint {joint.name!r} states no limits: taken as 0 to 0")
        else:
            lower, upper = float(limit.lower or 0.0), float(limit.upper or 0.0)
    if lower > upper:
        raw.note("assumed", f"joint {joint.name!r}: its limits {lower:g} to {upper:g} are exchanged")
        lower, upper = upper, lower
    origin = np.eye(4) if joint.origin is None else np.asarray(joint.origin, dtype=np.float64)
    if not np.isfinite(origin).all() or not np.isfinite([lower, upper]).all():
        raise SceneFileError(f"URDF: joint {joint.name!r} has numbers that are not finite")
    mimic = joint.mimic if kind != "fixed" else None
    return {
        "name": str(joint.name),
        "kind": kind,
        "parent": joint.parent,
        "child": joint.child,
        "origin": origin.ravel().tolist(),
        "axis": (axis / length).tolist() if kind != "fixed" else [1.0, 0.0, 0.0],
        "lower": lower,
        "upper": upper,
        "mimic": str(mimic.joint or "") if mimic is not None else "",
        "mimic_factor": float(mimic.multiplier if mimic is not None and mimic.multiplier is not None else 1.0),
        "mimic_offset": float(mimic.offset if mimic is not None and mimic.offset is not None else 0.0),
    }


def _check_mimics(joints: list[dict[str, Any]]) -> None:
    by_name = {joint["name"]: joint for joint in joints}
    if len(by_name) != len(joints):
        raise SceneFileError("URDF: two joints have one name")
    for joint in joints:
        seen, at = set(), joint
        while at["mimic"]:
            if at["name"] in seen or at["mimic"] not in by_name:
                raise SceneFileError(f"URDF: joint {joint['name']!r} follows itself, or a joint that is not there")
            seen.add(at["name"])
            at = by_name[at["mimic"]]


class _Links:
    """Adds the geometry of links; each mesh file is read once."""

    def __init__(self, path: str, root: str, raw: RawScene, wanted: str) -> None:
        self.references = References(path, root, raw.limits)
        self.raw, self.wanted = raw, wanted
        self._files: dict[str, list[tuple[str, int, np.ndarray]]] = {}
        self._round = False

    def link(self, link: Any, top: int) -> int:
        """How many parts a link has become. They are in its own frame."""
        collisions, visuals = list(link.collisions or []), list(link.visuals or [])
        chosen, kind = (collisions if self.wanted == "collision" else visuals), self.wanted
        if not chosen and (collisions or visuals):
            chosen = collisions or visuals
            kind = "visual" if self.wanted == "collision" else "collision"
            self.raw.note("assumed", f"link {link.name!r} has no {self.wanted} geometry: its {kind} geometry is taken")
        shapes: list[tuple[str, int, np.ndarray]] = []
        for k, shape in enumerate(chosen):
            origin = np.eye(4) if shape.origin is None else np.asarray(shape.origin, dtype=np.float64)
            for name, mesh, matrix in self._geometry(shape.geometry, f"link {link.name!r}, {kind} {k}"):
                shapes.append((shape.name or name, mesh, origin @ matrix))
        if len(shapes) == 1:
            self.raw.add_node(link.name, top, shapes[0][1], shapes[0][2], kind="link")
        else:
            level = self.raw.add_node(link.name, top)
            for name, mesh, matrix in shapes:
                self.raw.add_node(name, level, mesh, matrix, kind="link")
        return len(shapes)

    def _geometry(self, geometry: Any, where: str) -> list[tuple[str, int, np.ndarray]]:
        if geometry is None:
            raise SceneFileError(f"URDF: {where}: it has no geometry")
        if geometry.mesh is not None:
            scale = (
                np.ones(3) if geometry.mesh.scale is None else np.ones(3) * np.asarray(geometry.mesh.scale, dtype=np.float64)
            )
            stretch = np.diag([*scale, 1.0])
            return [(name, mesh, stretch @ matrix) for name, mesh, matrix in self._file(geometry.mesh.filename, where)]
        if geometry.box is not None:
            return self._simple("box", np.ravel(geometry.box.size), where)
        if geometry.sphere is not None:
            return self._simple("sphere", np.ravel(geometry.sphere.radius), where)
        if geometry.cylinder is not None:
            return self._simple("cylinder", np.ravel([geometry.cylinder.radius, geometry.cylinder.length]), where)
        raise SceneFileError(f"URDF: {where}: geometry of a kind that is not read")

    def _simple(self, kind: str, sizes: Any, where: str) -> list[tuple[str, int, np.ndarray]]:
        numbers = [float(value) for value in sizes]
        count = {"box": 3, "sphere": 1, "cylinder": 2}[kind]
        if len(numbers) != count or not all(0.0 < value < 1e12 for value in numbers):
            raise SceneFileError(f"URDF: {where}: a {kind} of sizes {numbers}; expected {count} positive numbers")
        if kind != "box" and not self._round:
            self._round = True
            self.raw.note("assumed", f"round shapes are triangles with {primitives.SIDES} sides")
        key = f"\0{kind} {numbers}"
        if key not in self._files:
            made = primitives.box((numbers[0], numbers[1], numbers[2])) if kind == "box" else None
            made = made or (primitives.sphere(numbers[0]) if kind == "sphere" else primitives.cylinder(numbers[0], numbers[1]))
            self._files[key] = [(kind, self.raw.add_mesh(*made, where), np.eye(4))]
        return self._files[key]

    def _file(self, name: Any, where: str) -> list[tuple[str, int, np.ndarray]]:
        """(name, mesh, matrix) of each part of a mesh file."""
        full = self._resolved(str(name or ""), f"URDF: {where}")
        if full not in self._files:
            inner = RawScene(self.raw.limits)
            ending = os.path.splitext(full)[1].lower().lstrip(".")
            self._read_inner(full, ending, inner, where)
            rows = {k: self.raw.add_mesh(v, f, where) for k, (v, f) in enumerate(zip(inner.vertices, inner.faces))}
            shown = [node for node in inner.nodes if node["mesh"] >= 0]
            stem = os.path.splitext(os.path.basename(full))[0]
            self._files[full] = [
                (node["name"] if len(shown) > 1 else stem, rows[node["mesh"]], matrix)
                for node, matrix in zip(shown, inner.matrices)
            ]
        return self._files[full]

    def _read_inner(self, full: str, ending: str, inner: RawScene, where: str) -> None:
        folder = self.references.root
        if ending == "dae":
            try:
                import collada  # noqa: F401
            except ImportError:
                raise MissingExtraError.for_package("pycollada", "app") from None
            from thud.io.scene.readers import collada as reader

            reader.read_into(full, inner, -1, np.eye(4))
        elif ending == "obj":
            from thud.io.scene.readers import obj

            obj.read(full, inner, folder, {})
        elif ending in ("stl", "ply"):
            from thud.io.scene.readers import meshes

            meshes.read(full, inner, folder, {})
        elif ending in ("glb", "gltf"):
            from thud.io.scene.readers import gltf

            # As the readers of robots do: the numbers as they are, without turning y up.
            gltf.read(full, inner, folder, {})
        else:
            raise SceneFileError(f"URDF: {where}: a mesh of the kind {ending!r}; expected stl, dae, obj, ply, glb or gltf")

    def _resolved(self, name: str, where: str) -> str:
        if not name.startswith(("package://", "model://", "file://")):
            return self.references.inside(name, where)
        scheme, _, rest = name.partition("://")
        if scheme == "file":
            return self.references.inside(rest, where)
        package, _, inner = rest.partition("/")
        # The package's folder is the root, one that holds the file, or one in the root.
        at, tries = self.references.base, []
        while at.startswith(self.references.root):
            if os.path.basename(at) == package:
                tries.append(os.path.join(at, inner))
            tries.append(os.path.join(at, package, inner))
            if at == os.path.dirname(at):
                break
            at = os.path.dirname(at)
        tries.append(os.path.join(self.references.root, inner))
        there = next((path for path in tries if os.path.isfile(path)), None)
        if there is None:
            raise SceneReferenceError(
                f"{where}: refers to {name[:100]!r}, which is not in {self.references.root}; root= names the package's folder"
            )
        return self.references.inside(there, where)
