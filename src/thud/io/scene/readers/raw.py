"""`RawScene`: what a reader has found, still in the file's units and axes, and how it is handed over."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from thud.errors import SceneFileError, SceneLimitError
from thud.io.scene.limits import SceneLimits
from thud.io.scene.text import printable


class RawScene:
    """Nodes in a tree, some with a mesh, and meshes as arrays. Adding to it checks the limits, so that a small file that
    asks for much is stopped early."""

    def __init__(self, limits: SceneLimits) -> None:
        self.limits = limits
        self.nodes: list[dict[str, Any]] = []
        self.matrices: list[np.ndarray] = []
        self.vertices: list[np.ndarray] = []
        self.faces: list[np.ndarray] = []
        self.notes: list[tuple[int, str, str]] = []
        self.metres: float | None = None  # metres of one unit of the file, None where it does not say
        self.stated: float | None = None  # the file's own unit, where a library has turned it to another already
        self.up = "z"
        self.robot: dict[str, Any] | None = None
        self._depth: list[int] = []
        self._vertices = self._triangles = self._parts = 0

    def add_mesh(self, vertices: Any, faces: Any, where: str) -> int:
        """The row of a new mesh: (V, 3) and (T, 3) in the file's units. -1, and a note, if it has no triangles."""
        v = np.ascontiguousarray(np.asarray(vertices, dtype=np.float64).reshape(-1, 3))
        f = np.asarray(faces).reshape(-1, 3)
        if len(f) == 0:
            return self.no_mesh(where)
        if f.dtype.kind not in "iu":
            raise SceneFileError(f"{where}: vertex numbers of type {f.dtype}; expected whole numbers")
        low, high = int(f.min()), int(f.max())
        if low < 0 or high >= len(v):
            row = int(np.argmax(((f < 0) | (f >= len(v))).any(axis=1)))
            raise SceneFileError(f"{where}: triangle {row} names vertex {f[row].tolist()}; there are {len(v)}")
        if not np.isfinite(v).all():
            used = np.unique(f)
            wrong = used[~np.isfinite(v[used]).all(axis=1)]
            if len(wrong):
                raise SceneFileError(f"{where}: vertex {int(wrong[0])} is {v[wrong[0]].tolist()}; expected finite numbers")
            v = np.where(np.isfinite(v), v, 0.0)
        self._vertices += len(v)
        if self._vertices > self.limits.vertices:
            raise SceneLimitError(f"{where}: more than limits.vertices = {self.limits.vertices} vertices")
        self.vertices.append(v)
        self.faces.append(np.ascontiguousarray(f, dtype=np.int64))
        return len(self.faces) - 1

    def no_mesh(self, where: str) -> int:
        """-1, for a mesh without triangles, which is told: its part will not be in the scene."""
        self.note("skipped", f"{where}: no triangles, so it is not in the scene")
        return -1

    def add_node(
        self,
        name: Any,
        parent: int = -1,
        mesh: int = -1,
        matrix: Any = None,
        guid: str | None = None,
        kind: str = "",
    ) -> int:
        """The row of a new node; `matrix` (4, 4) takes the mesh's frame to the file's world."""
        depth = self._depth[parent] + 1 if parent >= 0 else 1
        if depth > self.limits.depth:
            raise SceneLimitError(f"hierarchy: more than limits.depth = {self.limits.depth} levels at {str(name)[:80]!r}")
        if len(self.nodes) >= 4 * self.limits.parts:
            raise SceneLimitError(f"hierarchy: more than 4 x limits.parts = {4 * self.limits.parts} nodes")
        row = {"name": printable(name, self.limits.name_length), "parent": int(parent), "mesh": int(mesh)}
        if guid:
            row["guid"] = printable(guid, 64)
        if kind:
            row["kind"] = printable(kind, 64)
        if mesh >= 0:
            m = np.eye(4) if matrix is None else np.asarray(matrix, dtype=np.float64).reshape(4, 4)
            if not np.isfinite(m).all():
                raise SceneFileError(f"node {row['name']!r}: its transform is not finite")
            self._parts += 1
            self._triangles += len(self.faces[mesh])
            if self._parts > self.limits.parts:
                raise SceneLimitError(f"more than limits.parts = {self.limits.parts} parts")
            if self._triangles > self.limits.triangles:
                raise SceneLimitError(f"more than limits.triangles = {self.limits.triangles} triangles, shared meshes counted")
            self.matrices.append(m)
        self.nodes.append(row)
        self._depth.append(depth)
        return len(self.nodes) - 1

    def note(self, severity: str, text: str, node: int = -1) -> None:
        """Something to tell; only the first thousand are kept."""
        if len(self.notes) < 1000:
            self.notes.append((int(node), severity, printable(text, 400)))

    def write(self, folder: str) -> None:
        """Arrays as .npy files without pickles, all else as JSON."""
        arrays = {
            "vertices": np.concatenate(self.vertices) if self.vertices else np.empty((0, 3)),
            "faces": np.concatenate(self.faces) if self.faces else np.empty((0, 3), dtype=np.int64),
            "matrices": np.array(self.matrices, dtype=np.float64).reshape(-1, 16),
        }
        for name, array in arrays.items():
            np.save(os.path.join(folder, f"{name}.npy"), array, allow_pickle=False)
        header = {
            "nodes": self.nodes,
            "notes": self.notes,
            "counts": [(len(v), len(f)) for v, f in zip(self.vertices, self.faces)],
            "metres": self.metres,
            "stated": self.stated,
            "up": self.up,
            "robot": self.robot,
        }
        with open(os.path.join(folder, "scene.json"), "w", encoding="utf-8") as file:
            json.dump(header, file)
