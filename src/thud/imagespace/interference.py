"""`interference`: which closed meshes overlap, in images of them.

1. Coarse models first (5.2.2): only objects whose boxes overlap another's are drawn, only where boxes overlap, and of their
   edges only those that reach into another's box. `coarse` models are looked at in the same way before; with `leaves` only
   what is in leaves of a hierarchy that overlap another's.
2. Each view draws all of them at once: edges, then the faces in front of them, layer by layer (`layers`).
3. Pairs that no edge showed are looked at inward, each by itself: equal meshes in one place, meshes inside meshes, edges
   behind edges.
4. With `precision`, pairs that were not found are looked at again, closer, until pixels are small enough.
5. With `exact`, the mesh test has the last word on all pairs whose boxes overlap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.imagespace.candidates import box_pairs, overlap_boxes, pair_keys
from thud.imagespace.coarse import coarse_levels
from thud.imagespace.finder import Finder
from thud.imagespace.leaves import checked_leaves, meeting_leaves
from thud.imagespace.options import checked_options
from thud.imagespace.rasteriser import make_rasteriser
from thud.imagespace.scene import checked_meshes, scene_of, world_boxes
from thud.imagespace.tolerances import PRECISION_PIXELS, VIEW_SPAN
from thud.imagespace.view import box_corners, directions, tight_view
from thud.results import Interference
from thud.shapes.triangle_mesh import TriangleMesh


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
    coarse: Sequence[TriangleMesh] | Sequence[Sequence[TriangleMesh]] | int | None = None,
    leaves: int | None = None,
) -> Interference:
    """All pairs of closed meshes that overlap, containment and equal meshes in one place included; found in images, without
    trees or preprocessing.

    Parameters
    ----------
    meshes : closed meshes, not intersecting themselves; they may have other vertices at every call (`mesh.deformed`)
    poses : one each; None: all at the origin
    resolution : pixels a side, or (width, height). An overlap smaller than a pixel may be missed.
    views : directions of rays, 1 to 9; a pair counts if any sees it. Pairs that no edge shows are looked at inward along
        each of them: a common part is found that holds a ball of a 28th of the diagonal of the two boxes' overlap
    layers : edges behind edges that are looked at (Figure 4.11), one behind the other; None: all of them
    precision : metres; look closer at pairs that were not found until pixels are a quarter of this, with all layers: a common
        part that holds a ball of half this diameter is found
    exact : ask the exact mesh test about all pairs whose boxes overlap (or that `coarse` leaves): those that touch are the
        answer, seen or not
    backend : "cpu" (Numba) or "gl" (OpenGL)
    threads : at most so many; None: all cores
    pairs : (M, 2) only these pairs of objects are asked about and reported; None: all
    coarse : level of detail (5.2.2): closed meshes of fewer triangles around the meshes, one each (`coarse_model`), or several
        such levels, the coarsest first: pairs whose coarse models are not seen to overlap are rejected. What sticks out of
        them is not found there. A number: made by `coarse_model(mesh, number)`.
    leaves : triangles in a leaf of a hierarchy of boxes over each mesh (5.2.2): of edges only those in leaves that overlap a
        leaf of the other mesh are drawn, in views tight around these; None: no hierarchy. Smaller pixels, fewer edges.
    """
    shape, views, most, fine = checked_options(resolution, views, layers, precision, backend)
    checked_leaves(leaves)
    chosen, rows = checked_meshes(meshes, poses)
    boxes = world_boxes(chosen, rows, threads)
    candidates = box_pairs(boxes)
    if pairs is not None:
        asked = pair_keys(pairs, len(chosen))
        candidates = candidates[np.isin(candidates[:, 0] * len(chosen) + candidates[:, 1], asked)]
    before: list[Interference] = []
    for level in coarse_levels(coarse, chosen):
        options: Any = {"resolution": resolution, "views": views, "layers": layers, "precision": precision, "backend": backend}
        before.append(interference(level, poses, **options, exact=exact, threads=threads, pairs=candidates))
        candidates = before[-1].pairs
    if fine is not None:
        _check_precision(fine, boxes, candidates)
    # The scene has the objects that may interfere; they count anew in it.
    objects, numbered = np.unique(candidates, return_inverse=True)
    numbered = numbered.reshape(-1, 2)
    scene = scene_of([chosen[k] for k in objects], rows[objects], boxes[objects], threads)
    raster = make_rasteriser(backend, threads)
    try:
        finder, rays = Finder(scene, raster, threads), directions(views)
        if len(candidates):
            regions = overlap_boxes(boxes, candidates)
            drawn, shown = scene.reaching_edges(numbered, threads), regions
            if leaves is not None:
                drawn, shown = meeting_leaves(drawn, numbered, leaves)
            if len(shown):
                for direction in rays:
                    view = tight_view(box_corners(shown), direction, shape, box_corners(scene.boxes))
                    finder.draw(drawn, np.arange(scene.count), view, most)
            hidden = finder.unseen(numbered)
            finder.look_inward(numbered[hidden], regions[hidden], rays, [chosen[k].topology.part_vertices for k in objects])
            if fine is not None:
                for k in finder.unseen(numbered):
                    finder.look_closer(numbered[k], regions[k], rays, fine)
        result = finder.result(objects)
    finally:
        raster.release()
    if pairs is not None:
        result = result[np.isin(result.pairs[:, 0] * len(chosen) + result.pairs[:, 1], asked)]
    for rough in before:
        # What drawing the coarse models took counts, too.
        result = replace(
            result, views=result.views + rough.views, inward=result.inward + rough.inward,
            passes=result.passes + rough.passes, polygons=result.polygons + rough.polygons,
            fragments=result.fragments + rough.fragments,
        )  # fmt: skip
    return _exactly(result, candidates, chosen, rows, threads) if exact else result


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


def _exactly(
    result: Interference, candidates: Ints, meshes: list[TriangleMesh], rows: Floats, threads: int | None
) -> Interference:
    """The candidates that the exact mesh test confirms; those that were not seen have no points."""
    from thud.mesh.dispatch import intersects

    touch = [
        bool(intersects(meshes[a], meshes[b], rows[a : a + 1], rows[b : b + 1], 1, threads=threads)[0]) for a, b in candidates
    ]
    pairs = candidates[np.array(touch, bool)]
    keys, seen = (p[:, 0] * len(meshes) + p[:, 1] for p in (pairs, result.pairs))
    result = result[np.isin(seen, keys)]
    places = np.flatnonzero(np.isin(keys, seen))
    pixels = np.zeros(len(pairs), np.int64)
    pixels[places] = result.pixels
    return replace(result, pairs=pairs, pixels=pixels, point_pair=places[result.point_pair])
