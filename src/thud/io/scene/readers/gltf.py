"""glTF 2.0, as .gltf and .glb: nodes, meshes and accessors; nothing of materials, pictures, skins or animations."""

from __future__ import annotations

import base64
import binascii
import json
import struct
from typing import Any

import numpy as np

from thud.errors import SceneFileError, SceneLimitError
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.references import References

_TYPES = {5120: "i1", 5121: "u1", 5122: "<i2", 5123: "<u2", 5125: "<u4", 5126: "<f4"}
_WIDTHS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT2": 4, "MAT3": 9, "MAT4": 16}

#: Extensions that change where triangles are; a file that requires another one is refused.
_UNDERSTOOD = {"KHR_mesh_quantization", "KHR_texture_transform", "KHR_lights_punctual", "EXT_mesh_gpu_instancing"}
_HARMLESS = ("KHR_materials", "KHR_texture", "EXT_texture", "MSFT_texture", "KHR_animation")


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; glTF has metres and y up."""
    with open(path, "rb") as file:
        data = file.read()
    raw.metres, raw.up = 1.0, "y"
    read_bytes(data, raw, References(path, root, raw.limits))


def read_bytes(data: bytes, raw: RawScene, references: References, parent: int = -1) -> None:
    """Read the bytes of a file of either form."""
    text, blob = _chunks(data) if data[:4] == b"glTF" else (data, None)
    _Reader(_parsed(text, raw), blob, raw, references).scene(parent)


def _chunks(data: bytes) -> tuple[bytes, bytes | None]:
    if len(data) < 20:
        raise SceneFileError(f"GLB: {len(data)} bytes; expected a header of 20")
    _, version, length = struct.unpack_from("<4sII", data)
    if version != 2:
        raise SceneFileError(f"GLB: version {version}; expected 2")
    if length > len(data):
        raise SceneFileError(f"GLB: truncated, {len(data)} of {length} bytes are there")
    at = 12
    chunks: list[tuple[bytes, bytes]] = []
    while at + 8 <= length and len(chunks) < 16:
        size, kind = struct.unpack_from("<I4s", data, at)
        if at + 8 + size > length:
            raise SceneFileError(f"GLB: the chunk at byte {at} has {size} bytes, beyond the end of the file")
        chunks.append((kind, data[at + 8 : at + 8 + size]))
        at += 8 + size
    if not chunks or chunks[0][0] != b"JSON":
        raise SceneFileError("GLB: expected its first chunk to be JSON")
    return chunks[0][1], next((body for kind, body in chunks[1:] if kind == b"BIN\0"), None)


def _parsed(text: bytes, raw: RawScene) -> dict[str, Any]:
    # Brackets in strings count too: that only makes the limit a little stricter.
    depth = most = 0
    for byte in text.translate(None, bytes(set(range(256)) - set(b"[]{}"))):
        depth += 1 if byte in b"[{" else -1
        most = max(most, depth)
    if most > raw.limits.depth:
        raise SceneLimitError(f"glTF: JSON nested deeper than limits.depth = {raw.limits.depth}")
    try:
        tree = json.loads(text.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise SceneFileError(f"glTF: not JSON ({error})") from None
    if not isinstance(tree, dict):
        raise SceneFileError("glTF: expected a JSON object")
    if not str(tree.get("asset", {}).get("version", "2") if isinstance(tree.get("asset"), dict) else "2").startswith("2"):
        raise SceneFileError(f"glTF: version {tree['asset'].get('version')!r}; expected 2")
    for name in tree.get("extensionsRequired", []) or []:
        if name not in _UNDERSTOOD and not str(name).startswith(_HARMLESS):
            raise SceneFileError(f"glTF: it requires the extension {str(name)[:60]!r}, which is not read; export without it")
    return tree


class _Reader:
    """One file's tree, buffers and the meshes made so far."""

    def __init__(self, tree: dict[str, Any], blob: bytes | None, raw: RawScene, references: References) -> None:
        self.tree, self.blob, self.raw, self.references = tree, blob, raw, references
        self._buffers: dict[int, bytes] = {}
        self._meshes: dict[int, int] = {}

    def item(self, kind: str, row: Any, where: str) -> dict[str, Any]:
        """An entry of one of the file's lists."""
        rows = self.tree.get(kind, [])
        if not isinstance(rows, list) or isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(rows):
            have = len(rows) if isinstance(rows, list) else 0
            raise SceneFileError(f"{where}: refers to {kind} {row!r}; there are {have}")
        if not isinstance(rows[row], dict):
            raise SceneFileError(f"{kind} {row}: expected a JSON object")
        return rows[row]

    def whole(self, entry: dict[str, Any], name: str, default: int | None, where: str) -> int:
        """A count or offset."""
        value = entry.get(name, default)
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < 2**53:
            raise SceneFileError(f"{where}: {name} is {value!r}; expected a whole number from 0 on")
        return value

    def scene(self, parent: int) -> None:
        """Walk the nodes of the default scene, or of all roots where there is none."""
        nodes = self.tree.get("nodes", [])
        if not isinstance(nodes, list):
            raise SceneFileError("nodes: expected a JSON list")
        if self.tree.get("scenes"):
            roots = self.item("scenes", self.tree.get("scene", 0), "scene").get("nodes", [])
            if len(self.tree["scenes"]) > 1:
                self.raw.note("skipped", f"{len(self.tree['scenes']) - 1} further scenes of the file are not read")
        else:
            children = {c for n in nodes if isinstance(n, dict) for c in self._children(n, "nodes")}
            roots = [k for k in range(len(nodes)) if k not in children]
        if not nodes and self.tree.get("meshes"):
            self.raw.note("assumed", "the file has meshes but no nodes: each is shown once, at the origin")
            for k in range(len(self.tree["meshes"])):
                self._part(k, f"mesh {k}", parent, np.eye(4))
            return
        if not isinstance(roots, list):
            raise SceneFileError("scene: expected a list of nodes")
        # A stack, not recursion: depth is the limit's matter. (node, row of its parent, matrix of its parent, nodes above it)
        stack: list[tuple[Any, int, np.ndarray, frozenset[Any]]] = [
            (k, parent, np.eye(4), frozenset()) for k in reversed(roots)
        ]
        while stack:
            k, above, matrix, line = stack.pop()
            node = self.item("nodes", k, "scene")
            if k in line:
                raise SceneFileError(f"nodes {k}: it is its own ancestor")
            world = matrix @ self._matrix(node, k)
            name = node.get("name") or f"node {k}"
            if "mesh" in node:
                row = self._part(node["mesh"], name, above, world, node, k)
            else:
                row = self.raw.add_node(name, above)
            stack += [(c, row, world, line | {k}) for c in reversed(self._children(node, f"nodes {k}"))]

    def _children(self, node: dict[str, Any], where: str) -> list[Any]:
        children = node.get("children", [])
        if not isinstance(children, list) or any(isinstance(c, (list, dict)) for c in children):
            raise SceneFileError(f"{where}: children: expected a list of numbers")
        return children

    def _part(
        self, mesh: Any, name: str, parent: int, world: np.ndarray, node: dict[str, Any] | None = None, k: int = -1
    ) -> int:
        """The row of a node with a mesh; with EXT_mesh_gpu_instancing, of a level with one part for each instance."""
        row = self._mesh(mesh, f"nodes {k}")
        instances = self._instances(node, k) if node is not None else None
        if row < 0:
            return self.raw.add_node(name, parent)
        if instances is None:
            return self.raw.add_node(name, parent, row, world)
        level = self.raw.add_node(name, parent)
        for count, matrix in enumerate(instances):
            self.raw.add_node(f"{name} {count + 1}", level, row, world @ matrix)
        return level

    def _instances(self, node: dict[str, Any], k: int) -> list[np.ndarray] | None:
        extensions = node.get("extensions")
        found = extensions.get("EXT_mesh_gpu_instancing") if isinstance(extensions, dict) else None
        attributes = found.get("attributes") if isinstance(found, dict) else None
        if not isinstance(attributes, dict):
            return None
        columns = {}
        for name, width in (("TRANSLATION", 3), ("ROTATION", 4), ("SCALE", 3)):
            if name in attributes:
                columns[name.lower()] = self._accessor(attributes[name], width, f"nodes {k}")
        counts = {len(column) for column in columns.values()}
        if len(counts) != 1:
            raise SceneFileError(f"nodes {k}: instances with {sorted(counts)} entries; expected equal numbers")
        if min(counts) > self.raw.limits.parts:
            raise SceneLimitError(f"nodes {k}: more than limits.parts = {self.raw.limits.parts} instances")
        return [self._matrix({name: column[i] for name, column in columns.items()}, k) for i in range(counts.pop())]

    def _matrix(self, node: dict[str, Any], k: int) -> np.ndarray:
        def numbers(name: str, count: int, default: Any) -> np.ndarray:
            try:
                value = np.asarray(node.get(name, default), dtype=np.float64)
            except (TypeError, ValueError):
                value = np.empty(0)
            if value.shape != (count,) or not np.isfinite(value).all():
                raise SceneFileError(f"nodes {k}: {name}: expected {count} finite numbers")
            return value

        if "matrix" in node:
            return numbers("matrix", 16, None).reshape(4, 4).T
        x, y, z, w = numbers("rotation", 4, (0, 0, 0, 1))
        length = x * x + y * y + z * z + w * w
        if not 0.25 < length < 4.0:
            raise SceneFileError(f"nodes {k}: rotation of length {length**0.5:.3g}; expected a unit quaternion")
        s = 2.0 / length
        turn = np.array(
            [
                [1 - s * (y * y + z * z), s * (x * y - z * w), s * (x * z + y * w)],
                [s * (x * y + z * w), 1 - s * (x * x + z * z), s * (y * z - x * w)],
                [s * (x * z - y * w), s * (y * z + x * w), 1 - s * (x * x + y * y)],
            ]
        )
        matrix = np.eye(4)
        matrix[:3, :3] = turn * numbers("scale", 3, (1, 1, 1))
        matrix[:3, 3] = numbers("translation", 3, (0, 0, 0))
        return matrix

    def _mesh(self, k: Any, where: str) -> int:
        """The row of a mesh: its primitives together; -1 without triangles."""
        entry = self.item("meshes", k, where)
        if k not in self._meshes:
            vertices, faces, count, other = [], [], 0, 0
            primitives = entry.get("primitives", [])
            for p, primitive in enumerate(primitives if isinstance(primitives, list) else []):
                place = f"meshes {k}, primitive {p}"
                if not isinstance(primitive, dict) or not isinstance(primitive.get("attributes"), dict):
                    raise SceneFileError(f"{place}: expected attributes")
                got = self._primitive(primitive, place)
                if got is None:
                    other += 1
                    continue
                vertices.append(got[0])
                faces.append(got[1] + count)
                count += len(got[0])
            if other:
                self.raw.note("skipped", f"meshes {k}: {other} primitives of points or lines are not read")
            if entry.get("weights") or any(isinstance(p, dict) and p.get("targets") for p in primitives):
                self.raw.note("assumed", f"meshes {k}: morph targets are not applied")
            where = f"meshes {k}, {str(entry.get('name', ''))[:80]!r}" if entry.get("name") else f"meshes {k}"
            if faces:
                self._meshes[k] = self.raw.add_mesh(np.concatenate(vertices), np.concatenate(faces), where)
            else:
                self._meshes[k] = self.raw.no_mesh(where)
        return self._meshes[k]

    def _primitive(self, primitive: dict[str, Any], where: str) -> tuple[np.ndarray, np.ndarray] | None:
        mode = primitive.get("mode", 4)
        if mode in (0, 1, 2, 3):
            return None
        if mode not in (4, 5, 6):
            raise SceneFileError(f"{where}: mode {mode!r}; expected 0 to 6")
        extensions = primitive.get("extensions")
        if isinstance(extensions, dict) and "KHR_draco_mesh_compression" in extensions:
            raise SceneFileError(f"{where}: compressed by Draco, which is not read; export without it")
        if "POSITION" not in primitive["attributes"]:
            return None
        points = self._accessor(primitive["attributes"]["POSITION"], 3, where)
        if "indices" in primitive:
            order = self._accessor(primitive["indices"], 1, where)[:, 0]
            if order.dtype.kind == "f":
                raise SceneFileError(f"{where}: indices of type float; expected whole numbers")
            order = order.astype(np.int64)
        else:
            order = np.arange(len(points))
        if mode == 4:
            if len(order) % 3:
                self.raw.note("skipped", f"{where}: {len(order) % 3} indices at the end make no triangle")
            faces = order[: len(order) // 3 * 3].reshape(-1, 3)
        elif len(order) < 3:
            return None
        elif mode == 5:
            faces = np.stack([order[:-2], order[1:-1], order[2:]], axis=1)
            faces[1::2] = faces[1::2, [1, 0, 2]]
        else:
            faces = np.stack([order[1:-1], order[2:], np.full(len(order) - 2, order[0])], axis=1)
        return points.astype(np.float64), faces

    def _accessor(self, k: Any, width: int, where: str) -> np.ndarray:
        """(N, width) numbers of an accessor, sparse ones filled in, normalised ones as fractions."""
        entry = self.item("accessors", k, where)
        place = f"accessors {k}"
        kind = _TYPES.get(entry.get("componentType"))  # type: ignore[arg-type]
        if kind is None or _WIDTHS.get(entry.get("type")) != width:  # type: ignore[arg-type]
            raise SceneFileError(
                f"{place}: type {entry.get('type')!r} of {entry.get('componentType')!r}; expected {width} numbers a row"
            )
        count = self.whole(entry, "count", None, place)
        if count > 3 * max(self.raw.limits.vertices, self.raw.limits.triangles):
            raise SceneLimitError(f"{place}: {count} entries; more than limits.vertices and limits.triangles allow")
        if "bufferView" in entry:
            values = self._view(entry["bufferView"], self.whole(entry, "byteOffset", 0, place), count, width, kind, place)
        else:
            values = np.zeros((count, width), dtype=kind)
        sparse = entry.get("sparse")
        if isinstance(sparse, dict):
            values = self._filled(values, sparse, width, kind, place)
        if entry.get("normalized") and values.dtype.kind in "iu":
            values = np.maximum(values.astype(np.float64) / np.iinfo(values.dtype).max, -1.0)
        return values

    def _filled(self, values: np.ndarray, sparse: dict[str, Any], width: int, kind: str, place: str) -> np.ndarray:
        count = self.whole(sparse, "count", None, place)
        rows, new = sparse.get("indices"), sparse.get("values")
        if not isinstance(rows, dict) or not isinstance(new, dict) or rows.get("componentType") not in (5121, 5123, 5125):
            raise SceneFileError(f"{place}: sparse: expected indices and values")
        at = self._view(
            rows.get("bufferView"), self.whole(rows, "byteOffset", 0, place), count, 1, _TYPES[rows["componentType"]], place
        )[:, 0].astype(np.int64)
        if count and at.max() >= len(values):
            raise SceneFileError(f"{place}: sparse: row {at.max()} of {len(values)}")
        values = values.copy()
        values[at] = self._view(new.get("bufferView"), self.whole(new, "byteOffset", 0, place), count, width, kind, place)
        return values

    def _view(self, k: Any, offset: int, count: int, width: int, kind: str, where: str) -> np.ndarray:
        view = self.item("bufferViews", k, where)
        place = f"bufferViews {k}"
        if isinstance(view.get("extensions"), dict) and "EXT_meshopt_compression" in view["extensions"]:
            raise SceneFileError(f"{place}: compressed by meshopt, which is not read; export without it")
        buffer = self._buffer(view.get("buffer"), place)
        begin, length = self.whole(view, "byteOffset", 0, place), self.whole(view, "byteLength", None, place)
        size = width * np.dtype(kind).itemsize
        stride = self.whole(view, "byteStride", 0, place) or size
        if begin + length > len(buffer):
            raise SceneFileError(f"{place}: ends at byte {begin + length} of a buffer of {len(buffer)}")
        if stride < size or (count and offset + (count - 1) * stride + size > length):
            raise SceneFileError(
                f"{where}: {count} rows of {size} bytes from {offset} do not fit the {length} bytes of {place}"
            )
        if count == 0:
            return np.zeros((0, width), dtype=kind)
        strides = (stride, np.dtype(kind).itemsize)
        return np.ndarray((count, width), dtype=kind, buffer=buffer, offset=begin + offset, strides=strides).copy()

    def _buffer(self, k: Any, where: str) -> bytes:
        entry = self.item("buffers", k, where)
        if k not in self._buffers:
            uri, place = entry.get("uri"), f"buffers {k}"
            if uri is None:
                if self.blob is None or k != 0:
                    raise SceneFileError(f"{place}: it has no uri and the file no binary chunk for it")
                data = self.blob
            elif not isinstance(uri, str):
                raise SceneFileError(f"{place}: uri: expected text")
            elif uri.startswith("data:"):
                head, comma, body = uri.partition(",")
                if not comma or not head.endswith(";base64"):
                    raise SceneFileError(f"{place}: expected base64 in its data address")
                try:
                    data = base64.b64decode(body, validate=True)
                except (binascii.Error, ValueError) as error:
                    raise SceneFileError(f"{place}: not base64 ({error})") from None
            else:
                with open(self.references.inside(uri, place, quoted=True), "rb") as file:
                    data = file.read()
            need = self.whole(entry, "byteLength", 0, place)
            if len(data) < need:
                raise SceneFileError(f"{place}: truncated, {len(data)} of {need} bytes are there")
            self._buffers[k] = data
        return self._buffers[k]
