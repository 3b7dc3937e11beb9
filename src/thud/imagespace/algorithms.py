"""Algorithms 1 to 5 of [Knott], on either rasteriser, with the misprints put right (docs/imagespace.md).

All of them begin with the edges (pass 1) and count the faces in front of them (passes 2 and 3). After that the stencil of
a pixel is the number of objects that hold its edge.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Ints
from thud.imagespace.rasteriser import Rasteriser


def _count_all(raster: Rasteriser, objects: int) -> None:
    """Passes 1 to 3."""
    raster.draw_edges()
    raster.count_faces(0, objects, front=1, back=-1)


def detect_interference(raster: Rasteriser, objects: int) -> bool:
    """Algorithm 1: is any edge inside any object?"""
    _count_all(raster, objects)
    return bool((raster.read_stencil() > 0).any())


def identify_one(raster: Rasteriser, objects: int) -> Ints:
    """Algorithm 2: edges inside some object, by stencil and colour of each pixel; sorted, each once."""
    _count_all(raster, objects)
    owner, _ = raster.read_edges()
    return np.unique(owner[(raster.read_stencil() > 0) & (owner >= 0)])


def identify_one_by_colour(raster: Rasteriser, objects: int) -> Ints:
    """Algorithm 3: the same without reading the stencil; edges are drawn once more where it is positive."""
    _count_all(raster, objects)
    raster.identify_edges(reset=False)
    if raster.maximum_colour() < 0:
        # 4.5.2: nothing was drawn, so that no pixel needs to be read.
        raster.work.skipped.append("read colour")
        return np.empty(0, np.int64)
    edge, _ = raster.read_colour()
    return np.unique(edge[edge >= 0])


def identify_both(raster: Rasteriser, objects: int) -> Ints:
    """Algorithm 4: (P, 2) an edge and an object that holds it, for each pixel where an edge is held; of several objects
    the last drawn. Sorted, each once. `Rasteriser.contained` gives all of them."""
    _count_all(raster, objects)
    raster.identify_edges(reset=True)
    for number in range(objects):
        raster.count_faces(number, number + 1, front=1, back=-1)
        raster.identify_polygons(number)
    edge, holder = raster.read_colour()
    both = (edge >= 0) & (holder >= 0)
    return np.unique(np.column_stack([edge[both], holder[both]]), axis=0)


def identify_by_queries(raster: Rasteriser, objects: int) -> tuple[Ints, Ints]:
    """Algorithm 5: objects with an edge inside another, and objects that hold an edge, by occlusion queries alone; no pixel is
    read. Which belong together it does not tell. Ends after pass 4 when nothing interferes."""
    _count_all(raster, objects)
    penetrating = np.flatnonzero(raster.identify_edges(reset=True, query=True))
    if not len(penetrating):
        raster.work.skipped.append("identify polygons")
        return penetrating, penetrating
    held = []
    for number in range(objects):
        raster.count_faces(number, number + 1, front=1, back=-1)
        if raster.identify_polygons(number, query=True):
            held.append(number)
    return penetrating, np.array(held, np.int64)
