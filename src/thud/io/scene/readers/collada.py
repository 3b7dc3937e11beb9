"""COLLADA (.dae) by pycollada: nodes and triangles; nothing of materials, skins or animations."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud.errors import SceneFileError
from thud.io.scene.readers.polygons import triangulated
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.xml_guard import check_xml


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file with its unit and up axis."""
    document = _document(path, raw)
    info = document.assetInfo
    raw.metres = float(info.unitmeter) if info is not None and info.unitmeter else 1.0
    raw.up = str(getattr(info, "upaxis", None) or "Y_UP")[0].lower()
    _walk(document, raw, -1, np.eye(4))


def read_into(path: str, raw: RawScene, parent: int, matrix: np.ndarray) -> None:
    """Read a file as geometry of another one: in metres; its up axis is left as it is, as robots' readers do."""
    document = _document(path, raw)
    unit = float(getattr(document.assetInfo, "unitmeter", None) or 1.0)
    _walk(document, raw, parent, matrix @ np.diag([unit, unit, unit, 1.0]))


def _document(path: str, raw: RawScene) -> Any:
    check_xml(path, raw.limits, "COLLADA")
    import collada

    def nothing(name: str) -> bytes:
        raise SceneFileError(f"COLLADA: refers to {str(name)[:100]!r}; other files are not read")

    with open(path, "rb") as file:
        # Broken materials and pictures do not matter here.
        document = collada.Collada(file, ignore=[collada.common.DaeError], aux_file_loader=nothing)
    if document.scene is None:
        raise SceneFileError("COLLADA: it shows no scene")
    wrong = [error for error in document.errors if "geometr" in str(error).lower() or "primitive" in str(error).lower()]
    for error in wrong[:20]:
        raw.note("skipped", f"COLLADA: {error}")
    return document


def _walk(document: Any, raw: RawScene, parent: int, matrix: np.ndarray) -> None:
    """A stack of (node, row of its parent, matrix of its parent, nodes above it)."""
    from collada import scene

    meshes: dict[int, int] = {}
    stack = [(node, parent, matrix, frozenset[int]()) for node in reversed(document.scene.nodes)]
    while stack:
        node, above, world, line = stack.pop()
        if isinstance(node, scene.NodeNode):
            node = node.node
        if isinstance(node, scene.Node):
            if id(node) in line:
                raise SceneFileError(f"COLLADA: node {str(node.id)[:60]!r} is its own ancestor")
            name = node.xmlnode.get("name") or node.id or "node"
            here = world @ np.asarray(node.matrix, dtype=np.float64)
            shapes = [child for child in node.children if isinstance(child, scene.GeometryNode)]
            rest = [child for child in node.children if isinstance(child, (scene.Node, scene.NodeNode))]
            skins = [child for child in node.children if isinstance(child, scene.ControllerNode)]
            if skins:
                raw.note("skipped", f"COLLADA: {len(skins)} skinned meshes of node {name!r} are not read")
            rows = [_mesh(shape.geometry, raw, meshes) for shape in shapes]
            if len(rows) == 1:
                row = raw.add_node(name, above, rows[0], here)
            else:
                row = raw.add_node(name, above)
                for shape, mesh in zip(shapes, rows):
                    raw.add_node(shape.geometry.name or shape.geometry.id, row, mesh, here)
            stack += [(child, row, here, line | {id(node)}) for child in reversed(rest)]
        elif isinstance(node, scene.GeometryNode):
            raw.add_node(node.geometry.name or node.geometry.id, above, _mesh(node.geometry, raw, meshes), world)


def _mesh(geometry: Any, raw: RawScene, meshes: dict[int, int]) -> int:
    """The row of a geometry, its sets of triangles and polygons together."""
    from collada import polylist, triangleset

    if id(geometry) not in meshes:
        vertices, faces, count = [], [], 0
        for primitive in geometry.primitives:
            if isinstance(primitive, polylist.Polylist) and primitive.vertex is not None:
                vertices.append(np.asarray(primitive.vertex, dtype=np.float64))
                corners = np.asarray(primitive.vertex_index, dtype=np.int64).ravel()
                sides = np.asarray(primitive.vcounts, dtype=np.int64)
                if sides.sum() != len(corners) or (
                    len(corners) and not 0 <= corners.min() <= corners.max() < len(vertices[-1])
                ):
                    raise SceneFileError(
                        f"COLLADA: geometry {str(geometry.id)[:60]!r}: polygons of vertices that are not there"
                    )
                faces.append(triangulated(vertices[-1], sides, corners) + count)
                count += len(vertices[-1])
                continue
            if not isinstance(primitive, triangleset.TriangleSet) or primitive.vertex is None:
                raw.note("skipped", f"COLLADA: lines or points of {geometry.id!r} are not read")
                continue
            if len(primitive.vertex_index) == 0:
                continue
            vertices.append(np.asarray(primitive.vertex, dtype=np.float64))
            faces.append(np.asarray(primitive.vertex_index, dtype=np.int64) + count)
            count += len(primitive.vertex)
        where = f"geometry {str(geometry.id)[:60]!r}"
        made = raw.add_mesh(np.concatenate(vertices), np.concatenate(faces), where) if faces else raw.no_mesh(where)
        meshes[id(geometry)] = made
    return meshes[id(geometry)]
