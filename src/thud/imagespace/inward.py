"""Looking inward: pairs that no edge shows, by the chords their objects share, and by vertices that are held exactly.

Edges are drawn a pixel outside of their objects, so that two equal meshes less than that apart have no edge inside each other,
and an edge behind others may not be seen at all. So each pair that was not seen gets a small image of its own, tight around the
overlap of the two boxes, however small that is beside the scene. A common part that holds a ball of one and a half of its
pixels is found; one vertex of each connected part, and a few more, find what lies inside another object however thin it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.constants import TINY
from thud.imagespace.chords import chord_rows, held_rows
from thud.imagespace.scene import Scene
from thud.imagespace.tolerances import HELD_VERTICES, VIEW_MARGIN, VIEW_PIXEL, VIEW_SPAN
from thud.imagespace.view import View, box_corners, camera

#: Images whose maps are held at once (a count): 48 x 48 pixels of 32 bytes each.
_MAPS = 64


@dataclass(frozen=True, eq=False)
class PairViews:
    """One view of each pair, all of one size."""

    rotations: Floats
    """(M, 3, 3)"""
    lowers: Floats
    """(M, 3)"""
    pixels: Floats
    """(M,) sides of pixels, metres."""
    width: int
    height: int

    def only(self, rows: Ints | Bools) -> PairViews:
        """Some of them."""
        return PairViews(self.rotations[rows], self.lowers[rows], self.pixels[rows], self.width, self.height)

    def unproject(self, row: int, pixel: Ints, depth: Floats) -> Floats:
        """(P, 3) world points of numbers and depths of a row's pixels."""
        view = View(self.rotations[row], self.lowers[row], float(self.pixels[row]), self.width, self.height, 0.0)
        return view.unproject(np.column_stack([pixel % self.width + 0.5, pixel // self.width + 0.5, depth]))

    @classmethod
    def of(cls, views: Sequence[View]) -> PairViews:
        """Views of one size."""
        return cls(
            np.array([view.rotation for view in views]), np.array([view.lower for view in views]),
            np.array([view.pixel for view in views]), views[0].width, views[0].height,
        )  # fmt: skip


def pair_views(regions: Floats, around: Floats, direction: Floats, side: int) -> PairViews:
    """Views along a direction, tight around (M, 6) regions; `around`: (M, 6) boxes of all that is drawn in each."""
    rotation = camera(direction)
    turned = (box_corners(regions) @ rotation.T).reshape(-1, 8, 3)
    lower, upper = turned.min(axis=1), turned.max(axis=1)
    span = np.ptp((box_corners(around) @ rotation.T).reshape(-1, 8, 3), axis=1).max(axis=1)
    pixels = (upper - lower)[:, :2].max(axis=1) / (side - 2 * VIEW_MARGIN)
    least = np.maximum(span / VIEW_SPAN, VIEW_PIXEL * np.abs(turned).max(axis=(1, 2)))
    pixels = np.maximum(np.maximum(pixels, least), TINY)
    corners = 0.5 * (lower + upper)
    corners[:, :2] -= 0.5 * side * pixels[:, None]
    rotations = np.tile(rotation, (len(regions), 1, 1))
    return PairViews(rotations, corners, pixels, side, side)


@dataclass(frozen=True, eq=False)
class ChordMaps:
    """What the pixels of views of pairs show; a pixel that shows no shared chord has length 0."""

    length: Floats
    """(M, pixels) of the longest shared chord, metres."""
    middle: Floats
    """(M, pixels) its middle, depth."""
    leave: Floats
    """(M, pixels) depth at which the ray leaves A, for the piece of A from which B must be moved farthest along the ray."""
    enter: Floats
    """(M, pixels) depth at which it enters B there."""
    faces: Ints
    """(M, pixels, 2) triangles of the scene where A is left and B entered; -1: none."""


def chord_counts(scene: Scene, pairs: Ints, views: PairViews, threads: int | None) -> tuple[Ints, int]:
    """(M,) pixels in which both objects of a pair share a chord; and how many pixels were covered in all."""
    count, work = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    _run(scene, pairs, views, threads, None, count, work, np.empty((0, 0, 4)), np.empty((0, 0, 2), np.int64))
    return count, int(work.sum())


def chord_maps(scene: Scene, pairs: Ints, views: PairViews, threads: int | None, ranges: Floats | None = None) -> ChordMaps:
    """What each pixel of each pair's view shows, between the depths `ranges` (M, 2); None: at any depth."""
    count, work = np.zeros(len(pairs), np.int64), np.zeros(len(pairs), np.int64)
    size = views.width * views.height
    maps, faces = np.empty((len(pairs), size, 4)), np.empty((len(pairs), size, 2), np.int64)
    _run(scene, pairs, views, threads, ranges, count, work, maps, faces)
    return ChordMaps(maps[..., 0], maps[..., 1], maps[..., 2], maps[..., 3], faces)


def _run(
    scene: Scene, pairs: Ints, views: PairViews, threads: int | None, ranges: Floats | None, count: Ints, work: Ints,
    maps: Floats, faces: Ints,
) -> None:  # fmt: skip
    if ranges is None:
        ranges = np.tile([-np.inf, np.inf], (len(pairs), 1))
    run_rows(
        chord_rows, len(pairs), threads, np.ascontiguousarray(pairs), scene.vertices, scene.vertex_starts, scene.triangles,
        scene.triangle_starts, views.rotations, views.lowers, views.pixels, ranges, views.width, views.height, count, work,
        maps, faces, rows_per_chunk=1,
    )  # fmt: skip


def chord_points(scene: Scene, pairs: Ints, views: PairViews, threads: int | None) -> tuple[Ints, Floats]:
    """(P,) row of `pairs` and (P, 3) middle of the chord, world frame, of each pixel in which a pair shares one."""
    rows, points = [np.empty(0, np.int64)], [np.empty((0, 3))]
    for first in range(0, len(pairs), _MAPS):
        some = np.arange(first, min(first + _MAPS, len(pairs)))
        seen = chord_maps(scene, pairs[some], views.only(some), threads)
        for row, length, middle in zip(some, seen.length, seen.middle):
            pixel = np.flatnonzero(length > 0.0)
            rows.append(np.full(len(pixel), row))
            points.append(views.unproject(int(row), pixel, middle[pixel]))
    return np.concatenate(rows), np.concatenate(points)


def held_vertices(scene: Scene, pairs: Ints, parts: Sequence[Ints], threads: int | None) -> Ints:
    """(M,) a vertex of one object of each pair that lies in or on the other, exactly; -1 if none of those tried does.
    `parts`: a vertex of each connected part of each object."""
    chosen, starts = [np.empty(0, np.int64)], [0]
    for k in range(scene.count):
        first, last = int(scene.triangle_starts[k]), int(scene.triangle_starts[k + 1])
        spread = np.linspace(first, last - 1, min(HELD_VERTICES, last - first)).astype(np.int64)
        chosen.append(np.concatenate([parts[k] + scene.vertex_starts[k], scene.triangles[spread, 0]]))
        starts.append(starts[-1] + len(chosen[-1]))
    found = np.empty(len(pairs), np.int64)
    run_rows(
        held_rows, len(pairs), threads, np.ascontiguousarray(pairs), scene.vertices, scene.triangles, scene.triangle_starts,
        scene.boxes, np.concatenate(chosen), np.array(starts, np.int64), found, rows_per_chunk=1,
    )  # fmt: skip
    return found
