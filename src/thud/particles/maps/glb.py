"""Textured triangles as a GLB file (glTF 2.0), with what Python brings."""

from __future__ import annotations

import json
import struct
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.png import png_bytes


class TexturedMesh(NamedTuple):
    """A mesh and its picture."""

    name: str
    points: Floats
    """(V, 3) metres, z up."""
    uv: Floats
    """(V, 2) from 0 to 1, v = 0 at the picture's first row."""
    faces: Ints
    """(F, 3)."""
    image: npt.NDArray[np.uint8]
    """(height, width, 4) red, green, blue, opacity."""


def glb_bytes(meshes: list[TexturedMesh]) -> bytes:
    """A GLB file: a node a mesh, its picture embedded as PNG. Nodes turn z up into glTF's y up."""
    blob, views, accessors = bytearray(), [], []

    def view(data: bytes, **rest: Any) -> int:
        blob.extend(bytes(-len(blob) % 4))
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data), **rest})
        blob.extend(data)
        return len(views) - 1

    def accessor(array: npt.NDArray[Any], kind: str, component: int, target: int, **rest: Any) -> int:
        accessors.append({
            "bufferView": view(array.tobytes(), target=target), "componentType": component, "count": array.size // (1 if
            kind == "SCALAR" else array.shape[1]), "type": kind, **rest,
        })  # fmt: skip
        return len(accessors) - 1

    document: dict[str, Any] = {key: [] for key in ("nodes", "meshes", "materials", "textures", "images")}
    half = float(np.sqrt(0.5))
    for k, mesh in enumerate(meshes):
        points = mesh.points.astype(np.float32)
        place = accessor(points, "VEC3", 5126, 34962, min=points.min(axis=0).tolist(), max=points.max(axis=0).tolist())
        texture = accessor(mesh.uv.astype(np.float32), "VEC2", 5126, 34962)
        faces = accessor(mesh.faces.astype(np.uint32).ravel(), "SCALAR", 5125, 34963)
        document["images"].append({"bufferView": view(png_bytes(mesh.image)), "mimeType": "image/png"})
        document["textures"].append({"source": k, "sampler": 0})
        document["materials"].append({
            "name": mesh.name, "doubleSided": True, "alphaMode": "MASK",
            "pbrMetallicRoughness": {"baseColorTexture": {"index": k}, "metallicFactor": 0.0, "roughnessFactor": 1.0},
        })  # fmt: skip
        primitive = {"attributes": {"POSITION": place, "TEXCOORD_0": texture}, "indices": faces, "material": k}
        document["meshes"].append({"name": mesh.name, "primitives": [primitive]})
        document["nodes"].append({"name": mesh.name, "mesh": k, "rotation": [-half, 0.0, 0.0, half]})
    blob.extend(bytes(-len(blob) % 4))
    document |= {
        "asset": {"version": "2.0", "generator": "thud"}, "scene": 0, "scenes": [{"nodes": list(range(len(meshes)))}],
        "samplers": [{"magFilter": 9728, "minFilter": 9728, "wrapS": 33071, "wrapT": 33071}],
        "buffers": [{"byteLength": len(blob)}], "bufferViews": views, "accessors": accessors,
    }  # fmt: skip
    text = json.dumps(document).encode()
    text += b" " * (-len(text) % 4)
    chunks = struct.pack("<II", len(text), 0x4E4F534A) + text + struct.pack("<II", len(blob), 0x004E4942) + bytes(blob)
    return struct.pack("<III", 0x46546C67, 2, 12 + len(chunks)) + chunks
