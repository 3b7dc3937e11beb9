"""Looks at a scene, at edges and inward, and keeps what it sees."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.imagespace.drawing import make_drawing
from thud.imagespace.inward import PairViews, chord_counts, chord_points, held_vertices, pair_views
from thud.imagespace.rasteriser import Rasteriser
from thud.imagespace.scene import Scene
from thud.imagespace.tolerances import ALL_LAYERS, CLOSE_PIXELS, EDGE_OFFSET, INWARD_PIXELS, PRECISION_PIXELS
from thud.imagespace.view import View, box_corners, tight_view
from thud.results import Interference


class Finder:
    """Looks at a scene and keeps what it sees; pairs count as in the scene."""

    def __init__(self, scene: Scene, raster: Rasteriser, threads: int | None) -> None:
        self.scene, self.raster, self.threads = scene, raster, threads
        self.seen: set[tuple[int, int]] = set()
        self.views, self.inward, self.offset = 0, 0, 0.0
        # Rows: lower object, higher object, object of the edge, its two vertices; -1 for what no edge shows.
        self._rows: list[Ints] = [np.empty((0, 5), np.int64)]
        self._points: list[Floats] = [np.empty((0, 3))]
        # Whether a pixel shows it.
        self._shown: list[Ints] = [np.empty(0, np.int64)]
        self._selves: set[int] = set()
        self._open: set[int] = set()

    def draw(self, scene: Scene, objects: Ints, view: View, layers: int) -> None:
        """All layers of one view of the scene of these objects."""
        offset = EDGE_OFFSET * view.pixel
        self.views, self.offset = self.views + 1, max(self.offset, offset + view.pixel)
        raster = self.raster
        raster.load(make_drawing(scene, view, offset, self.threads))
        edge_objects = np.repeat(np.arange(scene.count), np.diff(scene.edge_starts))
        for layer in range(layers):
            if not raster.draw_edges(behind=layer > 0):
                break
            pixel, holder, count = raster.contained()
            if not len(pixel):
                continue
            edge, depth = (buffer.ravel()[pixel] for buffer in raster.read_edges())
            owner = edge_objects[edge]
            self._open.update(objects[np.unique(holder[count < 0])].tolist())
            self._selves.update(objects[np.unique(owner[(owner == holder) & (count > 0)])].tolist())
            other = (owner != holder) & (count > 0)
            pixel, edge, depth, owner, holder = pixel[other], edge[other], depth[other], owner[other], holder[other]
            vertices = scene.edges[edge] - scene.vertex_starts[owner][:, None]
            at = np.column_stack([pixel % view.width + 0.5, pixel // view.width + 0.5, depth])
            self._keep(objects[owner], objects[holder], objects[owner], vertices, view.unproject(at))

    def look_inward(self, pairs: Ints, regions: Floats, rays: Floats, parts: Sequence[Ints]) -> None:
        """Look at (M, 2) pairs by themselves, where their boxes overlap, for chords that both objects share, along each of the
        rays until they are seen; then for vertices of one in the other. `parts`: a vertex of each connected part."""
        boxes = self.scene.boxes
        around = np.concatenate(
            [
                np.minimum(boxes[pairs[:, 0], :3], boxes[pairs[:, 1], :3]),
                np.maximum(boxes[pairs[:, 0], 3:], boxes[pairs[:, 1], 3:]),
            ],
            axis=1,
        )
        for direction in rays:
            if not len(pairs):
                return
            views = pair_views(regions, around, direction, INWARD_PIXELS)
            found = self._keep_chords(pairs, views) > 0
            pairs, regions, around = pairs[~found], regions[~found], around[~found]
        if len(pairs):
            vertex = held_vertices(self.scene, pairs, parts, self.threads)
            pairs, vertex = pairs[vertex >= 0], vertex[vertex >= 0]
            nobody = np.full(len(pairs), -1)
            no_edge = np.full((len(pairs), 2), -1)
            self._keep(pairs[:, 0], pairs[:, 1], nobody, no_edge, self.scene.vertices[vertex], shown=0)

    def _keep_chords(self, pairs: Ints, views: PairViews) -> Ints:
        """Keep what shares chords; in how many pixels each."""
        count, covered = chord_counts(self.scene, pairs, views, self.threads)
        work, sizes = self.raster.work, np.diff(self.scene.triangle_starts)
        self.inward += len(pairs)
        work.polygons, work.fragments = work.polygons + int(sizes[pairs].sum()), work.fragments + covered
        found = np.flatnonzero(count)
        rows, points = chord_points(self.scene, pairs[found], views.only(found), self.threads)
        both = pairs[found][rows]
        self._keep(both[:, 0], both[:, 1], np.full(len(both), -1), np.full((len(both), 2), -1), points)
        return count

    def look_closer(self, pair: Ints, region: Floats, rays: Floats, precision: float) -> None:
        """Look at one pair, where their boxes overlap, with pixels of a quarter of `precision`, until it is seen: at chords,
        then at all layers of edges."""
        pixel = precision / PRECISION_PIXELS
        scene = self.scene.only(pair).reaching_edges(np.array([[0, 1]]), self.threads)
        for direction in rays:
            whole = tight_view(box_corners(region[None]), direction, (CLOSE_PIXELS, CLOSE_PIXELS), box_corners(scene.boxes))
            cut = whole.cut(pixel, CLOSE_PIXELS)
            for view in cut:
                if self._keep_chords(pair[None], PairViews.of([view]))[0]:
                    return
            for view in cut:
                self.draw(scene, pair, view, ALL_LAYERS)
                if tuple(pair.tolist()) in self.seen:
                    return

    def unseen(self, pairs: Ints) -> Ints:
        """Rows of the pairs that were not seen yet."""
        return np.array([k for k, pair in enumerate(pairs.tolist()) if tuple(pair) not in self.seen], np.int64)

    def _keep(self, a: Ints, b: Ints, owner: Ints, vertices: Ints, points: Floats, shown: int = 1) -> None:
        self._rows.append(np.column_stack([np.minimum(a, b), np.maximum(a, b), owner, vertices]))
        self._points.append(points)
        self._shown.append(np.full(len(points), shown))
        keys = np.unique(self._rows[-1][:, 0] * self.scene.count + self._rows[-1][:, 1])
        self.seen.update(zip((keys // self.scene.count).tolist(), (keys % self.scene.count).tolist()))

    def result(self, numbers: Ints) -> Interference:
        """What was seen; `numbers` of the scene's objects, ascending."""
        rows, points, shown = np.concatenate(self._rows), np.concatenate(self._points), np.concatenate(self._shown)
        count = max(self.scene.count, 1)
        keys, row = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True)
        pixels = np.bincount(row.reshape(-1), shown, len(keys)).astype(np.int64)
        pairs = numbers[np.column_stack([keys // count, keys % count])]
        order = np.argsort(row.reshape(-1), kind="stable")
        work, owner = self.raster.work, rows[order, 2]
        return Interference(
            pairs, pixels, points[order], row.reshape(-1)[order].astype(np.int64),
            np.where(owner >= 0, numbers[np.maximum(owner, 0)], -1) if len(numbers) else owner, rows[order, 3:].copy(),
            numbers[sorted(self._selves)], numbers[sorted(self._open)], self.offset, self.views, self.inward, work.passes,
            work.polygons, work.fragments, self.raster.name,
        )  # fmt: skip
