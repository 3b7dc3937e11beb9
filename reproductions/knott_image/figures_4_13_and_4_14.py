"""Figures 4.13 and 4.14: entangled knots, their edges and the enhanced stencil; many objects, those that interfere in red."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

import thud
from reproductions.knott_image.scenes import box, figure, loop, poses
from reproductions.report import Report
from reproductions.yang.render import Camera, render
from thud.imagespace import interference
from thud.imagespace.algorithms import detect_interference
from thud.imagespace.drawing import make_drawing
from thud.imagespace.rasteriser import make_rasteriser
from thud.imagespace.scene import make_scene
from thud.imagespace.tolerances import EDGE_OFFSET
from thud.imagespace.view import box_corners, directions, tight_view

Floats = npt.NDArray[np.float64]

#: Colours of the knots.
_COLOURS = np.array([[0.85, 0.2, 0.15], [0.1, 0.45, 0.8], [0.1, 0.6, 0.25], [0.75, 0.5, 0.0]])


def run(size: str, backends: list[str], report: Report) -> None:
    """Both figures, by each backend the counts, by the first the pictures."""
    report.heading("Figure 4.13: non-convex objects in interference")
    knots = [loop(40, 7) if size == "ci" else loop(110, 13)] * 4
    places = thud.Pose(
        np.array([[0, 0, 0], [0.75, 0.1, 0.3], [0.2, 0.8, -0.35], [-0.6, 0.35, 0.2]]), poses(4, 1.0, 2).quaternion
    )
    scene = make_scene(knots, places)
    width, height = (320, 240) if size == "ci" else (900, 675)
    view = tight_view(box_corners(scene.boxes), directions(2)[1], (width, height), scene.vertices)
    found = {}
    for backend in backends:
        raster = make_rasteriser(backend, None)
        raster.load(make_drawing(scene, view, EDGE_OFFSET * view.pixel))
        hit = detect_interference(raster, scene.count)
        stencil, (edge, _) = raster.read_stencil(), raster.read_edges()
        found[backend] = (hit, stencil, edge)
        inside = np.unique(_objects(scene.edge_starts, edge)[(stencil > 0) & (edge >= 0)])
        report.say(
            f"{raster.name}: {int((edge >= 0).sum())} pixels of edges, {int((stencil > 0).sum())} of them inside others."
        )
        report.compare(
            "The objects are entangled and interfere; edges inside others are marked in the stencil buffer.",
            f"edges of {len(inside)} of {scene.count} knots ({len(np.asarray(knots[0].faces))} triangles each) are inside "
            f"others; the largest count is {int(stencil.max())}.",
            bool(hit and len(inside) == scene.count and stencil.min() >= 0),
        )
        raster.release()
    _, stencil, edge = found[backends[0]]
    owner = _objects(scene.edge_starts, edge)
    report.figure("figure_4_13", lambda plt: _draw_knots(plt, owner, stencil, edge >= 0))

    report.heading("Figure 4.14: many objects")
    count = 24 if size == "ci" else 90
    detail = 60 if size == "ci" else 400
    kinds = [box(), figure(detail), loop(24, 6) if size == "ci" else loop(70, 9)]
    meshes = [kinds[k % 3] for k in range(count)]
    spread = 4.6 * (count / 60) ** (1 / 3)
    places = poses(count, spread, 7)
    exact = _exact_pairs(meshes, places)
    found: dict[tuple[str, int | None], set[tuple[int, int]]] = {}
    for backend in backends:
        # All layers on the default backend; one on each, since peeling all takes a software renderer minutes.
        for layers in (None, 1) if backend == "cpu" else (1,):
            seen = interference(meshes, places, resolution=512, views=3, layers=layers, backend=backend)
            pairs = found[backend, layers] = set(map(tuple, seen.pairs.tolist()))
            apart = max((_apart(meshes, places, pair) for pair in pairs - exact), default=0.0)
            # Pairs that one layer hides are looked at inward, each by itself: those that hold a ball of their boxes' 28th.
            report.compare(
                "Objects that are engaged in interference are highlighted.",
                f"{seen.renderer}, {'all layers' if layers is None else 'one layer'}: {len(np.unique(seen.pairs))} of {count} "
                f"objects in {len(pairs)} pairs; the exact mesh test finds {len(exact)}, of which {len(exact - pairs)} were "
                f"not seen, and {len(pairs - exact)} were seen that are up to {1e3 * apart:.0f} mm apart (2 pixels: "
                f"{1e3 * seen.offset:.0f} mm).",
                len(exact - pairs) <= (0 if layers is None else 0.02 * len(exact)) and apart <= seen.offset,
            )
    if len(backends) > 1:
        one, other = (found[backend, 1] for backend in backends[:2])
        report.compare(
            "Both rasterisers highlight the same objects.",
            f"{len(one & other)} pairs by both, {len(one ^ other)} by one of them alone",
            len(one ^ other) <= 0.01 * len(one | other),
        )
    red = np.unique(interference(meshes, places, resolution=512, views=3, layers=None, backend=backends[0]).pairs)
    report.figure("figure_4_14", lambda plt: _draw_crowd(plt, meshes, places, red, 240 if size == "ci" else 900))


def _objects(starts: npt.NDArray[np.int64], edge: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Object of each edge; that of no edge is not to be used."""
    return np.searchsorted(starts, np.maximum(edge, 0), side="right") - 1


def _apart(meshes: list[thud.TriangleMesh], places: thud.Pose, pair: tuple[int, int]) -> float:
    """Distance of a pair, metres."""
    a, b = pair
    return float(thud.distance(meshes[a], meshes[b], *(thud.Pose.from_rows(places.rows[k]) for k in pair)).distance[0])


def _exact_pairs(meshes: list[thud.TriangleMesh], places: thud.Pose) -> set[tuple[int, int]]:
    world = thud.World()
    handles = [world.add(mesh, thud.Pose.from_rows(row[None])) for mesh, row in zip(meshes, places.rows)]
    assert len(handles) == len(meshes)
    rows = [np.sort(world.index(pair)) for pair in world.intersecting()]
    return {(int(a), int(b)) for a, b in rows}


def _draw_knots(plt: Any, owner: Any, stencil: Any, drawn: Any) -> Any:
    figure, axes = plt.subplots(2, 1, figsize=(9, 13.2))
    edges = np.ones((*owner.shape, 3))
    edges[drawn] = _COLOURS[owner[drawn]]
    # Enhanced: each pixel inside another object grows to three by three, over pale edges.
    marked = np.ones_like(edges)
    marked[drawn] = 0.85
    for dy in (-1, 0, 1):
        for dx in (-1, 0, 1):
            held = np.roll(drawn & (stencil > 0), (dy, dx), axis=(0, 1))
            marked[held] = np.roll(_COLOURS[owner], (dy, dx), axis=(0, 1))[held]
    for ax, picture, title in zip(axes, (edges, marked), ("(a) edges", "(b) the stencil, enhanced: edges inside other knots")):
        ax.imshow(picture, origin="lower", interpolation="nearest")
        ax.set(title=f"Figure 4.13 {title}", xticks=[], yticks=[])
    return figure


def _draw_crowd(plt: Any, meshes: list[thud.TriangleMesh], places: thud.Pose, red: Any, columns: int) -> Any:
    triangles, colours = [], []
    for k, (mesh, row) in enumerate(zip(meshes, places.rows)):
        points = np.asarray(mesh.vertices) @ row[:9].reshape(3, 3).T + row[9:]
        triangles.append(points[np.asarray(mesh.faces)])
        colour = [0.85, 0.12, 0.1] if k in red else [0.6, 0.68, 0.78]
        colours.append(np.tile(colour, (len(triangles[-1]), 1)))
    corners = np.concatenate(triangles)
    camera = Camera.around(corners.reshape(-1, 3), (25.0, -60.0))
    picture = render(corners, np.concatenate(colours), camera, columns=columns)
    figure, ax = plt.subplots(figsize=(9, 9 * picture.shape[0] / picture.shape[1]))
    ax.imshow(picture)
    ax.set(title="Figure 4.14: objects in interference are red", xticks=[], yticks=[])
    return figure
