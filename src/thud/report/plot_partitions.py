"""How `thud.plot` draws partitions: cells of a BSP tree apart from each other, a layer of a grid, regions as wires."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud.partitions.box_grid import BoxGrid
from thud.partitions.box_octree import BoxOctree
from thud.partitions.mesh_bsp import MeshBsp
from thud.partitions.mesh_grid import MeshGrid

PARTITIONS = (MeshBsp, MeshGrid, BoxOctree, BoxGrid)

#: Most cells that are drawn; a picture shows no more.
_MOST_CELLS = 600

#: Cells of a BSP tree are drawn smaller by this part, so that each is seen.
_APART = 0.12

_GREEN, _ORANGE, _GREY = (0.25, 0.6, 0.35, 0.9), (0.95, 0.6, 0.2, 0.8), (0.6, 0.65, 0.7, 0.08)

#: Corners of the sides of a box whose corner k has the upper x, y, z where bits 0, 1, 2 are set.
_SIDES = np.array([[0, 1, 3, 2], [4, 5, 7, 6], [0, 1, 5, 4], [2, 3, 7, 6], [0, 2, 6, 4], [1, 3, 7, 5]])


def draw_partition(scene: Any, thing: Any, color: Floats) -> None:
    """Into the scene of a plot."""
    if isinstance(thing, MeshBsp):
        _bsp(scene, thing)
    elif isinstance(thing, MeshGrid):
        _grid(scene, thing)
    else:
        regions = thing.leaves() if isinstance(thing, BoxOctree) else thing.regions()
        scene.lines(_edges(regions), color)
        scene.reach(regions.reshape(-1, 3))


def _bsp(scene: Any, bsp: MeshBsp) -> None:
    """The cells of a solid, each shrunk towards its middle; of an open mesh those that its faces bound are all there are."""
    inside = bsp.cell_inside if bsp.cell_inside is not None else np.ones(bsp.cell_count, bool)
    cells = np.flatnonzero(inside)
    cells = cells[np.linspace(0, len(cells) - 1, min(len(cells), _MOST_CELLS)).astype(np.int64)]
    import matplotlib

    colors = matplotlib.colormaps["tab20"](np.arange(20))
    for number, cell in enumerate(cells.tolist()):
        polygons = bsp.cell_polygons(cell)
        if not polygons:
            continue
        middle = np.concatenate(polygons).mean(axis=0)
        shrunk = [middle + (1.0 - _APART) * (polygon - middle) for polygon in polygons]
        _faces(scene, shrunk, (*colors[number % 20][:3], 0.95 if bsp.cell_inside is not None else 0.25))


def _grid(scene: Any, grid: MeshGrid) -> None:
    """The layer of cells in the middle along y: IN green, UNKNOWN orange, OUT a veil."""
    regions, layer = grid.regions(), int(grid.shape[1]) // 2
    inside = np.arange(len(regions)) // int(grid.shape[0]) % int(grid.shape[1]) == layer
    for state, color in ((MeshGrid.IN, _GREEN), (MeshGrid.UNKNOWN, _ORANGE), (MeshGrid.OUT, _GREY)):
        chosen = np.flatnonzero(inside & (grid.state == state))
        corners = _corners(regions[chosen])
        _faces(scene, list(corners[:, _SIDES].reshape(-1, 4, 3)), color)


def _corners(boxes: Floats) -> Floats:
    """(N, 8, 3)"""
    bits = np.array([[k & 1, k >> 1 & 1, k >> 2 & 1] for k in range(8)])
    return np.asarray(boxes[:, None, :3] + bits * (boxes[:, None, 3:] - boxes[:, None, :3]))


def _edges(boxes: Floats) -> Floats:
    """(12 N, 2, 3)"""
    ends = [(a, b) for a in range(8) for b in range(a + 1, 8) if bin(a ^ b).count("1") == 1]
    return np.asarray(_corners(boxes)[:, ends].reshape(-1, 2, 3))


def _faces(scene: Any, polygons: list[Floats], color: tuple[float, ...]) -> None:
    from mpl_toolkits.mplot3d.art3d import Poly3DCollection

    if polygons:
        edge = (*(0.5 * np.array(color[:3])), 0.5 * color[3])
        scene.axes.add_collection3d(Poly3DCollection(polygons, facecolors=[color], edgecolors=[edge], linewidths=0.4))
        scene.reach(np.concatenate(polygons))
