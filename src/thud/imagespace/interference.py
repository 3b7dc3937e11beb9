"""`interference`: which closed meshes overlap, in images of them.

1. Coarse models first (5.2.2): only objects whose boxes overlap another's are drawn, only where boxes overlap, and of their
   edges only those that reach into another's box. `coarse` models are looked at in the same way before.
2. Each view draws all of them at once: edges, then the faces in front of them, layer by layer (`layers`).
3. With `precision`, pairs that were not found are looked at again, closer, until pixels are small enough.
4. With `exact`, the mesh test has the last word on what was found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.threads import run_rows
from thud.errors import InvalidInputError
from thud.gates import as_positive
from thud.imagespace.placing import project_rows
from thud.imagespace.rasteriser import Drawing, Rasteriser
from thud.imagespace.scene import Scene, checked_meshes, scene_of, world_boxes
from thud.imagespace.tolerances import EDGE_OFFSET, PRECISION_PIXELS, VIEW_SPAN
from thud.imagespace.view import MOST_VIEWS, View, box_corners, directions, tight_view
from thud.results import Interference
from thud.shapes.triangle_mesh import TriangleMesh

#: Layers that are drawn when all are asked for, at most (a count).
ALL_LAYERS = 1_000

#: Largest side of an image, pixels: 8,192 x 8,192 takes 2 GB.
MOST_PIXELS = 8_192

#: Largest side of a close view, pixels; a region that needs more is cut into several.
CLOSE_PIXELS = 1_024

BACKENDS = ("cpu", "gl")


def interference(
    meshes: Sequence[TriangleMesh],
    poses: Any = None,
    *,
    resolution: int | tuple[int, int] = 512,
    views: int = 1,
    layers: int | None = 1,
    precision: float | None = None,
    exact: bool = False,
    backend: str = "cpu",
    threads: int | None = None,
    pairs: Any = None,
    coarse: Sequence[TriangleMesh] | None = None,
) -> Interference:
    """All pairs of closed meshes that overlap, containment included; found in images, without trees or preprocessing.

    Parameters
    ----------
    meshes : closed meshes, not intersecting themselves; they may have other vertices at every call (`mesh.deformed`)
    poses : one each; None: all at the origin
    resolution : pixels a side, or (width, height). What is smaller than a pixel may be missed.
    views : directions of rays, 1 to 9; a pair counts if any sees it
    layers : edges behind edges that are looked at (Figure 4.11), one behind the other; None: all of them
    precision : metres; look closer at pairs that were not found until pixels are a quarter of this, with all layers
    exact : ask the exact mesh test about the pairs that were found, and drop those that do not touch
    backend : "cpu" (Numba) or "gl" (OpenGL)
    threads : at most so many; None: all cores
    pairs : (M, 2) only these pairs of objects are asked about and reported; None: all
    coarse : closed meshes of fewer triangles around the meshes, one each: pairs whose coarse models are not seen to overlap are
        rejected (5.2.2). What sticks out of them is not found there.
    """
    shape, views, most, fine = checked_options(resolution, views, layers, precision, backend)
    chosen, rows = checked_meshes(meshes, poses)
    boxes = world_boxes(chosen, rows, threads)
    candidates = box_pairs(boxes)
    if pairs is not None:
        asked = _pair_keys(pairs, len(chosen))
        candidates = candidates[np.isin(candidates[:, 0] * len(chosen) + candidates[:, 1], asked)]
    if coarse is not None:
        if len(coarse) != len(chosen):
            raise InvalidInputError(f"coarse: expected one a mesh ({len(chosen)}), got {len(coarse)}")
        options: Any = {"resolution": resolution, "views": views, "layers": layers, "precision": precision, "backend": backend}
        rough = interference(coarse, poses, **options, threads=threads, pairs=candidates)
        candidates = rough.pairs
    if fine is not None:
        _check_precision(fine, boxes, candidates)
    # The scene has the objects that may interfere; they count anew in it.
    objects, numbered = np.unique(candidates, return_inverse=True)
    numbered = numbered.reshape(-1, 2)
    scene = scene_of([chosen[k] for k in objects], rows[objects], boxes[objects], threads)
    raster = make_rasteriser(backend, threads)
    try:
        finder = _Finder(scene, raster, threads)
        if len(candidates):
            regions = overlap_boxes(boxes, candidates)
            drawn = scene.reaching_edges(numbered, threads)
            for direction in directions(views):
                view = tight_view(box_corners(regions), direction, shape, box_corners(scene.boxes))
                finder.draw(drawn, np.arange(scene.count), view, most)
            if fine is not None:
                for pair, region in zip(numbered, regions):
                    if tuple(pair) not in finder.seen:
                        _look_closer(finder, pair, region, directions(views), fine)
        result = finder.result(objects)
    finally:
        raster.release()
    if pairs is not None:
        result = _only(result, np.isin(result.pairs[:, 0] * len(chosen) + result.pairs[:, 1], asked))
    if coarse is not None:
        # What drawing the coarse models took counts, too.
        result = replace(
            result, views=result.views + rough.views, passes=result.passes + rough.passes,
            polygons=result.polygons + rough.polygons, fragments=result.fragments + rough.fragments,
        )  # fmt: skip
    return _exactly(result, chosen, rows, threads) if exact else result


class _Finder:
    """Looks at a scene and keeps what it sees."""

    def __init__(self, scene: Scene, raster: Rasteriser, threads: int | None) -> None:
        self.scene, self.raster, self.threads = scene, raster, threads
        self.seen: set[tuple[int, int]] = set()
        self.views, self.offset = 0, 0.0
        # Rows: lower object, higher object, object of the edge, its two vertices.
        self._rows: list[Ints] = [np.empty((0, 5), np.int64)]
        self._points: list[Floats] = [np.empty((0, 3))]
        self._selves: set[int] = set()
        self._open: set[int] = set()

    def draw(self, scene: Scene, objects: Ints, view: View, layers: int, *, inward: bool = False) -> None:
        """All layers of one view of the scene of these objects. `inward`: edges are drawn inside of their objects, where those
        of meshes in the same place are inside each other, and every edge inside its own."""
        offset = (-EDGE_OFFSET if inward else EDGE_OFFSET) * view.pixel
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
            own = (owner == holder) & (count > 0) & (not inward)
            self._selves.update(objects[np.unique(owner[own])].tolist())
            other = (owner != holder) & (count > 0)
            self._keep(scene, objects, view, pixel[other], edge[other], depth[other], owner[other], holder[other])

    def _keep(
        self, scene: Scene, objects: Ints, view: View, pixel: Ints, edge: Ints, depth: Floats, owner: Ints, holder: Ints
    ) -> None:
        vertices = scene.edges[edge] - scene.vertex_starts[owner][:, None]
        a, b = objects[owner], objects[holder]
        self._rows.append(np.column_stack([np.minimum(a, b), np.maximum(a, b), a, vertices]))
        at = np.column_stack([pixel % view.width + 0.5, pixel // view.width + 0.5, depth])
        self._points.append(view.unproject(at))
        keys = np.unique(self._rows[-1][:, 0] * self.scene.count + self._rows[-1][:, 1])
        self.seen.update(zip((keys // self.scene.count).tolist(), (keys % self.scene.count).tolist()))

    def result(self, numbers: Ints) -> Interference:
        """What was seen; `numbers` of the scene's objects, ascending."""
        rows, points = np.concatenate(self._rows), np.concatenate(self._points)
        count = max(self.scene.count, 1)
        keys, row, pixels = np.unique(rows[:, 0] * count + rows[:, 1], return_inverse=True, return_counts=True)
        pairs = numbers[np.column_stack([keys // count, keys % count])]
        order = np.argsort(row.reshape(-1), kind="stable")
        work = self.raster.work
        return Interference(
            pairs, pixels.astype(np.int64), points[order], row.reshape(-1)[order].astype(np.int64), numbers[rows[order, 2]],
            rows[order, 3:].copy(), numbers[sorted(self._selves)], numbers[sorted(self._open)],
            self.offset, self.views, work.passes, work.polygons, work.fragments, self.raster.name,
        )  # fmt: skip


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


def _look_closer(finder: _Finder, pair: Ints, region: Floats, rays: Floats, precision: float) -> None:
    """Look at one pair, where their boxes overlap, with pixels of a quarter of `precision`, until it is seen."""
    pixel = precision / PRECISION_PIXELS
    scene = finder.scene.only(pair).reaching_edges(np.array([[0, 1]]), finder.threads)
    for direction in rays:
        whole = tight_view(box_corners(region[None]), direction, (CLOSE_PIXELS, CLOSE_PIXELS), box_corners(scene.boxes))
        for view in whole.cut(pixel, CLOSE_PIXELS):
            for inward in (False, True):
                finder.draw(scene, pair, view, ALL_LAYERS, inward=inward)
                if tuple(pair.tolist()) in finder.seen:
                    return


def _check_precision(precision: float, boxes: Floats, pairs: Ints) -> None:
    """A named error if pixels would be too small for two objects together."""
    a, b = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    across = np.linalg.norm(np.maximum(a[:, 3:], b[:, 3:]) - np.minimum(a[:, :3], b[:, :3]), axis=1)
    least = across.max(initial=0.0) * PRECISION_PIXELS / VIEW_SPAN
    if precision < least:
        k = int(np.argmax(across))
        raise InvalidInputError(
            f"precision: objects {pairs[k, 0]} and {pairs[k, 1]} are {across[k]:g} m across; expected at least {least:.2g}, "
            f"got {precision:g}"
        )


def make_rasteriser(backend: str, threads: int | None) -> Rasteriser:
    """The rasteriser of a backend's name."""
    if backend == "cpu":
        from thud.imagespace.backend_cpu import CpuRasteriser

        return CpuRasteriser(threads)
    if backend == "gl":
        from thud.imagespace.backend_gl import GlRasteriser

        return GlRasteriser()
    raise InvalidInputError(f'backend: expected "cpu" or "gl", got {backend!r}')


def box_pairs(boxes: Floats) -> Ints:
    """(M, 2) pairs of boxes that overlap, the lower first, sorted."""
    from thud.bvh.morton_tree import boxes_in_tree, build_morton_tree

    if len(boxes) < 2:
        return np.empty((0, 2), np.int64)
    places, second = boxes_in_tree(build_morton_tree(boxes), boxes)
    first = np.repeat(np.arange(len(boxes)), np.diff(places))
    pairs = np.column_stack([first, second])[first < second]
    return pairs[np.lexsort((pairs[:, 1], pairs[:, 0]))]


def overlap_boxes(boxes: Floats, pairs: Ints) -> Floats:
    """(M, 6) boxes that both boxes of a pair hold."""
    a, b = boxes[pairs[:, 0]], boxes[pairs[:, 1]]
    return np.concatenate([np.maximum(a[:, :3], b[:, :3]), np.minimum(a[:, 3:], b[:, 3:])], axis=1)


def _exactly(result: Interference, meshes: list[TriangleMesh], rows: Floats, threads: int | None) -> Interference:
    """Only the pairs that the exact mesh test confirms."""
    from thud.mesh.dispatch import intersects

    kept = np.zeros(len(result.pairs), bool)
    for k, (a, b) in enumerate(result.pairs):
        kept[k] = intersects(meshes[a], meshes[b], rows[a : a + 1], rows[b : b + 1], 1, threads=threads)[0]
    return _only(result, kept)


def _only(result: Interference, kept: npt.NDArray[np.bool_]) -> Interference:
    """Some of the pairs, and their points."""
    points = kept[result.point_pair]
    renumber = np.cumsum(kept) - 1
    return replace(
        result, pairs=result.pairs[kept], pixels=result.pixels[kept], points=result.points[points],
        point_pair=renumber[result.point_pair[points]], edge_object=result.edge_object[points], edge=result.edge[points],
    )  # fmt: skip


def _pair_keys(pairs: Any, count: int) -> Ints:
    """The pairs as numbers, the lower object first."""
    rows = np.asarray(pairs)
    if rows.ndim != 2 or rows.shape[1] != 2 or (rows.size and rows.dtype.kind not in "iu"):
        raise InvalidInputError(f"pairs: expected (M, 2) whole numbers, got {rows.dtype} of shape {rows.shape}")
    wrong = ((rows < 0) | (rows >= count)).any(axis=1)
    if wrong.any():
        row = int(np.argmax(wrong))
        raise InvalidInputError(f"pairs: row {row} is {rows[row].tolist()}; expected numbers from 0 to {count - 1}")
    rows = rows.astype(np.int64)
    return rows.min(axis=1) * count + rows.max(axis=1)


def checked_options(
    resolution: int | tuple[int, int], views: int, layers: int | None, precision: float | None, backend: str
) -> tuple[tuple[int, int], int, int, float | None]:
    """(width, height), views, layers and precision, looked at; a named error if one is wrong."""
    if backend not in BACKENDS:
        raise InvalidInputError(f"backend: expected {' or '.join(map(repr, BACKENDS))}, got {backend!r}")
    return (
        _resolution(resolution),
        _whole(views, "views", 1, MOST_VIEWS),
        ALL_LAYERS if layers is None else _whole(layers, "layers", 1, ALL_LAYERS),
        None if precision is None else as_positive(precision, "precision"),
    )


def _resolution(value: int | tuple[int, int]) -> tuple[int, int]:
    both = (value, value) if isinstance(value, (int, np.integer)) and not isinstance(value, bool) else value
    if not isinstance(both, (tuple, list)) or len(both) != 2:
        raise InvalidInputError(f"resolution: expected pixels a side or (width, height), got {value!r}")
    return _whole(both[0], "resolution", 16, MOST_PIXELS), _whole(both[1], "resolution", 16, MOST_PIXELS)


def _whole(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= int(value) <= most:
        raise InvalidInputError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
    return int(value)
