"""A small assembly with known clashes, made by code: a pump on its base plate."""

from __future__ import annotations

import json
import os
import struct
from typing import Any

import numpy as np

from thud._core.atomic import replaced
from thud.io.scene.scene import Scene
from thud.shapes.triangle_mesh import TriangleMesh

#: What a check with a clearance of 1 mm finds: kind, the two parts, and depth or gap in metres. A round of n corners has flat
#: sides, which are nearer by the cosine of half a step.
EXPECTED = (
    ("hard", "pump unit/bolts/bolt.1", "pump unit/frame/base plate", 0.010),
    ("hard", "pump unit/bolts/bolt.2", "pump unit/frame/base plate", 0.010),
    ("hard", "pump unit/bolts/bolt.3", "pump unit/frame/base plate", 0.010),
    ("hard", "pump unit/bolts/bolt.4", "pump unit/frame/base plate", 0.010),
    ("hard", "pump unit/piping/cable tray", "pump unit/piping/outlet pipe", 0.004),
    ("containment", "pump unit/motor/body", "pump unit/spares/washer", None),
    ("duplicate", "pump unit/sensors/probe", "pump unit/sensors/probe copy", None),
    ("clearance", "pump unit/drive/coupling", "pump unit/drive/shaft", 0.0005),
)

#: Corners of a round.
_ROUND = 48


#: How the text in a GLB file of ours begins.
_BEGIN = b'{"asset": {"version": "2.0", "generator": "thud"}'


def assembly() -> Scene:
    """The scene: 18 parts, of which four bolts, two feet and two probes share a mesh each."""
    bolt = _lathe([(0.0, -0.010), (0.004, -0.010), (0.004, 0.0), (0.008, 0.0), (0.008, 0.006), (0.0, 0.006)])
    foot, probe = _box(0.02, 0.06, 0.03), _lathe([(0.0, 0.0), (0.006, 0.0), (0.006, 0.03), (0.0, 0.03)])
    lying = (np.sqrt(0.5), 0.0, np.sqrt(0.5), 0.0)
    upright = (1.0, 0.0, 0.0, 0.0)
    plate, tray = _box(0.44, 0.20, 0.02), _box(0.02, 0.16, 0.02)
    motor, casing = _rod(0.05, 0.16), _rod(0.055, 0.06)
    shaft, coupling = _rod(0.012, 0.10), _tube(0.0125, 0.024, 0.04)
    pipe, flange = _tube(0.012, 0.016, 0.14), _tube(0.016, 0.03, 0.008)
    washer, stem = _tube(0.005, 0.012, 0.002), _rod(0.008, 0.05)
    parts = [
        ("frame/base plate", plate, (0.0, 0.0, -0.01), upright),
        *((f"frame/foot.{k + 1}", foot, (x, y, 0.015), upright) for k, (x, y) in enumerate(_FEET)),
        *((f"bolts/bolt.{k + 1}", bolt, (x, y, 0.0), upright) for k, (x, y) in enumerate(_HOLES)),
        # Lying on its feet: a flat side of its round is below.
        ("motor/body", motor, (-0.10, 0.0, 0.03 + 0.05 * np.cos(np.pi / _ROUND)), lying),
        ("drive/shaft", shaft, (0.03, 0.0, 0.08), lying),
        ("drive/coupling", coupling, (0.02, 0.0, 0.08), lying),
        ("pump/casing", casing, (0.11, 0.0, 0.08), lying),
        ("pump/stem", stem, (0.165, 0.0, 0.08), lying),
        ("piping/outlet pipe", pipe, (0.11, 0.0, 0.21), upright),
        ("piping/flange", flange, (0.11, 0.0, 0.20), upright),
        # The pipe's flat side is at 16 mm times the cosine: 4 mm of the tray are in it.
        ("piping/cable tray", tray, (0.11 + 0.016 * np.cos(np.pi / _ROUND) + 0.01 - 0.004, 0.0, 0.25), upright),
        ("sensors/probe", probe, (-0.10, 0.08, 0.0), upright),
        ("sensors/probe copy", probe, (-0.10, 0.08, 0.0), upright),
        ("spares/washer", washer, (-0.08, 0.01, 0.07), upright),
    ]
    poses = np.array([[*position, *quaternion] for _, _, position, quaternion in parts], dtype=np.float64)
    return Scene.from_parts([f"pump unit/{name}" for name, *_ in parts], [mesh for _, mesh, *_ in parts], poses)


_FEET = ((-0.15, 0.0), (-0.05, 0.0))
_HOLES = ((-0.20, -0.08), (-0.20, 0.08), (0.20, -0.08), (0.20, 0.08))


def is_assembly(path: str | os.PathLike[str]) -> bool:
    """Whether a file is one that `write_assembly` wrote, by how it begins: others must not be overwritten by a sample."""
    with open(path, "rb") as file:
        return file.read(20 + len(_BEGIN)).endswith(_BEGIN)


def write_assembly(path: str | os.PathLike[str], scene: Scene | None = None) -> None:
    """The assembly, or another scene, as a GLB file: y up as that format has it, a node for each level of names. Whole or not
    at all."""
    scene = assembly() if scene is None else scene
    # z up to y up.
    half = float(np.sqrt(0.5))
    turned = {"rotation": [-half, 0.0, 0.0, half]}
    nodes: list[dict[str, Any]] = [{"children": []}]
    rows = {"": 0}
    for part in scene.parts:
        above = ""
        *levels, own = part.name.split("/")
        for depth, level in enumerate(levels):
            name = "/".join(levels[: depth + 1])
            if name not in rows:
                rows[name] = _child(nodes, rows[above], {"name": level, "children": []} | ({} if above else turned))
            above = name
        matrix = [float(value) for value in part.pose.matrix.T.ravel()]
        if not above and not levels:
            # One that has no level above it has one of its own kind, which is turned.
            above = f"\0{own}"
            rows[above] = _child(nodes, 0, {"name": own, "children": []} | turned)
        _child(nodes, rows[above], {"name": own, "mesh": part.mesh, "matrix": matrix})
    data, views, accessors, meshes = b"", [], [], []
    for number, mesh in enumerate(scene.meshes):
        vertices = np.asarray(mesh.vertices, dtype="<f4")
        for array, kind, code in ((vertices, "VEC3", 5126), (np.asarray(mesh.faces, dtype="<u4").ravel(), "SCALAR", 5125)):
            views.append({"buffer": 0, "byteOffset": len(data), "byteLength": array.nbytes})
            accessors.append({"bufferView": len(views) - 1, "componentType": code, "count": len(array), "type": kind})
            data += array.tobytes()
        accessors[-2] |= {"min": vertices.min(axis=0).tolist(), "max": vertices.max(axis=0).tolist()}
        parts = [{"attributes": {"POSITION": len(accessors) - 2}, "indices": len(accessors) - 1}]
        meshes.append({"name": f"mesh {number}", "primitives": parts})
    text = json.dumps(
        {
            "asset": {"version": "2.0", "generator": "thud"}, "scene": 0, "scenes": [{"nodes": [row - 1 for row in
            nodes[0]["children"]]}], "nodes": [{name: [k - 1 for k in value] if name == "children" else value for name, value
            in node.items()} for node in nodes[1:]], "meshes": meshes, "accessors": accessors, "bufferViews": views,
            "buffers": [{"byteLength": len(data)}],
        }
    ).encode("ascii")  # fmt: skip
    text += b" " * (-len(text) % 4)
    head = struct.pack("<4sII", b"glTF", 2, 28 + len(text) + len(data))
    with replaced(path) as file:
        file.write(head + struct.pack("<I4s", len(text), b"JSON") + text + struct.pack("<I4s", len(data), b"BIN\0") + data)


def _child(nodes: list[dict[str, Any]], above: int, node: dict[str, Any]) -> int:
    """The row of a new node below another."""
    nodes.append(node)
    nodes[above]["children"].append(len(nodes) - 1)
    return len(nodes) - 1


def _box(x: float, y: float, z: float) -> TriangleMesh:
    from thud.shapes.box import Box

    return Box([0.5 * x, 0.5 * y, 0.5 * z]).to_mesh()


def _rod(radius: float, length: float) -> TriangleMesh:
    return _lathe([(0.0, -0.5 * length), (radius, -0.5 * length), (radius, 0.5 * length), (0.0, 0.5 * length)])


def _tube(inner: float, outer: float, length: float) -> TriangleMesh:
    h = 0.5 * length
    return _lathe([(inner, -h), (outer, -h), (outer, h), (inner, h), (inner, -h)])


def _lathe(profile: list[tuple[float, float]]) -> TriangleMesh:
    """A profile of (radius, height), counter-clockwise, turned about z. It begins and ends on the axis, or where it began."""
    angle = 2.0 * np.pi * (np.arange(_ROUND) + 0.5) / _ROUND
    rings, vertices, count = [], [], 0
    closed = profile[0] == profile[-1]
    for radius, height in profile[:-1] if closed else profile:
        if radius == 0.0:
            rings.append(np.full(_ROUND, count))
            vertices.append(np.array([[0.0, 0.0, height]]))
        else:
            rings.append(count + np.arange(_ROUND))
            vertices.append(np.stack([radius * np.cos(angle), radius * np.sin(angle), np.full(_ROUND, height)], axis=1))
        count += len(vertices[-1])
    faces = []
    for low, high in zip(rings, [*rings[1:], rings[0]] if closed else rings[1:]):
        here, there = np.roll(low, -1), np.roll(high, -1)
        faces += [np.stack([low, here, there], axis=1), np.stack([low, there, high], axis=1)]
    rows = np.concatenate(faces)
    rows = rows[(rows[:, 0] != rows[:, 1]) & (rows[:, 1] != rows[:, 2]) & (rows[:, 2] != rows[:, 0])]
    return TriangleMesh(np.concatenate(vertices), rows)
