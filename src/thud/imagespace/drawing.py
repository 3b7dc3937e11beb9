"""A scene in the pixels of a view."""

from __future__ import annotations

import numpy as np

from thud._core.threads import run_rows
from thud.imagespace.placing import project_rows
from thud.imagespace.rasteriser import Drawing
from thud.imagespace.scene import Scene
from thud.imagespace.view import View


def make_drawing(scene: Scene, view: View, offset: float, threads: int | None = None) -> Drawing:
    """A scene in the pixels of a view, edges moved outward by `offset` metres."""
    points, moved = np.empty_like(scene.vertices), np.empty_like(scene.vertices)
    run_rows(
        project_rows, len(points), threads, scene.vertices, scene.normals, offset, np.ascontiguousarray(view.rotation),
        view.lower, view.pixel, points, moved, rows_per_chunk=8192,
    )  # fmt: skip
    return Drawing(
        view.width, view.height, view.depth, points, moved, scene.triangles, scene.edges, scene.triangle_starts,
        scene.edge_starts,
    )  # fmt: skip
