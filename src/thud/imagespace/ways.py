"""Ways out of an overlap, measured in images: along directions, closer and closer, and on to shorter ones.

The directions along which B can leave A form the surface of the difference of the two objects. A ray from its middle, the
direction, meets it in a face; moving along that face's normal instead is shorter, and its normal is known from the faces and
edges that meet where the way ends. So each step goes to that normal, measures there, and never takes a longer way.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from thud._core.arrays import Bools, Floats, Ints
from thud._core.threads import run_rows
from thud.constants import TINY
from thud.imagespace.inward import PairViews
from thud.imagespace.scene import Scene
from thud.imagespace.tolerances import (
    VIEW_MARGIN,
    VIEW_PIXEL,
    VIEW_SPAN,
    WAY_BORDER,
    WAY_CONE,
    WAY_CORNERS,
    WAY_GAIN,
    WAY_LOOKS,
    WAY_NEAR,
    WAY_PIXELS,
    WAY_STEPS,
    WAY_WINDOW,
    WAY_ZOOMS,
)
from thud.imagespace.view import camera
from thud.imagespace.way import way_rows


@dataclass(eq=False)
class Ways:
    """Ways of R rows, each of a pair along a direction."""

    pairs: Ints
    """(R, 2)"""
    direction: Floats
    """(R, 3) unit, from A to B."""
    length: Floats
    """(R,) metres; 0 if no ray is inside both."""
    point_a: Floats
    """(R, 3) where A's surface is on the ray that ends the way."""
    point_b: Floats
    """(R, 3) where B's is."""
    faces: Ints
    """(R, 2) triangles of the scene there."""
    pixel: Floats
    """(R,) side of the pixels in the end, metres."""

    def put(self, rows: Ints, other: Ways) -> None:
        """Take over some rows."""
        for name in ("direction", "length", "point_a", "point_b", "faces", "pixel"):
            getattr(self, name)[rows] = getattr(other, name)

    def only(self, rows: Ints | Bools) -> Ways:
        """Some of them."""
        return Ways(
            self.pairs[rows].copy(), self.direction[rows].copy(), self.length[rows].copy(), self.point_a[rows].copy(),
            self.point_b[rows].copy(), self.faces[rows].copy(), self.pixel[rows].copy(),
        )  # fmt: skip


def shadow_views(scene: Scene, pairs: Ints, directions: Floats, side: int) -> tuple[PairViews, Floats]:
    """Views along directions, tight around where the shadows of both objects overlap; and the least side of a pixel of each."""
    rotations = np.array([camera(direction) for direction in directions]).reshape(-1, 3, 3)
    lowers, pixels, least = np.empty((len(pairs), 3)), np.empty(len(pairs)), np.empty(len(pairs))
    for row, (pair, rotation) in enumerate(zip(pairs.tolist(), rotations)):
        low, high = np.empty((2, 3)), np.empty((2, 3))
        for k, number in enumerate(pair):
            turned = scene.vertices[scene.vertex_starts[number] : scene.vertex_starts[number + 1]] @ rotation.T
            low[k], high[k] = turned.min(axis=0), turned.max(axis=0)
        inner, outer = low.max(axis=0), high.min(axis=0)
        span, far = (high.max(axis=0) - low.min(axis=0)).max(), max(np.abs(low).max(), np.abs(high).max())
        least[row] = max(span / VIEW_SPAN, VIEW_PIXEL * far, TINY)
        pixels[row] = max((outer - inner)[:2].max() / (side - 2 * VIEW_MARGIN), least[row])
        lowers[row] = 0.5 * (inner + outer)
        lowers[row, :2] -= 0.5 * side * pixels[row]
        lowers[row, 2] = low[:, 2].min()
    return PairViews(rotations, lowers, pixels, side, side), least


def measure(scene: Scene, pairs: Ints, directions: Floats, threads: int | None) -> Ways:
    """Ways along directions: one image each, then closer ones around where it ends."""
    count = len(pairs)
    views, least = shadow_views(scene, pairs, directions, WAY_PIXELS)
    ways = Ways(
        pairs, directions.copy(), np.zeros(count), np.zeros((count, 3)), np.zeros((count, 3)),
        np.full((count, 2), -1, np.int64), views.pixels.copy(),
    )  # fmt: skip
    look_closer(scene, ways, views, least, 0, threads)
    return ways


def look_closer(scene: Scene, ways: Ways, views: PairViews, least: Floats, first: int, threads: int | None) -> None:
    """Look at ways in views, then in closer ones around where they end, and take over what is longer. `first`: which of the
    looks the first is; after look 0 a way that does not grow is looked at closer where it is, too."""
    side, pairs, count = views.width, ways.pairs, len(ways.pairs)
    zooms = np.zeros(count, np.int64)
    active = np.arange(count)
    for look in range(first, WAY_LOOKS):
        some = views.only(active)
        length, ends, which = ways.length[active], np.zeros((len(active), 2)), np.empty((len(active), 3), np.int64)
        work = np.empty(len(active), np.int64)
        run_rows(
            way_rows, len(active), threads, np.ascontiguousarray(pairs[active]), scene.vertices, scene.vertex_starts,
            scene.triangles, scene.triangle_starts, some.rotations, some.lowers, some.pixels, side, side, length, ends, which,
            work, rows_per_chunk=1,
        )  # fmt: skip
        going = []
        for k, row in enumerate(active.tolist()):
            middle = np.array([0.5 * side, 0.5 * side])
            pixel, border = views.pixels[row], False
            if which[k, 0] >= 0:
                place = np.array([which[k, 0]])
                ways.length[row], ways.faces[row] = length[k], which[k, 1:]
                ways.point_a[row] = some.unproject(k, place, ends[k, :1])[0]
                ways.point_b[row] = some.unproject(k, place, ends[k, 1:])[0]
                middle = np.array([which[k, 0] % side + 0.5, which[k, 0] // side + 0.5])
                border = look > 0 and bool((np.abs(middle - 0.5 * side) > 0.5 * side - WAY_BORDER).any())
            elif look == 0:
                continue
            ways.pixel[row] = pixel
            finer = pixel if border else max(pixel * WAY_WINDOW / side, least[row])
            if not border and (zooms[row] == WAY_ZOOMS or finer >= pixel):
                continue
            zooms[row] += not border
            views.lowers[row, :2] += middle * pixel - 0.5 * side * finer
            views.pixels[row] = finer
            going.append(row)
        active = np.array(going, np.int64)
        if not len(active):
            break


def look_at_corners(scene: Scene, ways: Ways, rows: Ints, threads: int | None) -> Bools:
    """Rays through corners that reach farther along a way than where it ends: what no pixel's centre fell on may be deeper, in
    a tip thinner than a pixel. Ways grow in place; whether each of the rows did, by more than the error of an image."""
    owner, corners = [], []
    for k, row in enumerate(rows.tolist()):
        for number, sign, end in ((0, 1.0, ways.point_a[row]), (1, -1.0, ways.point_b[row])):
            own = int(ways.pairs[row, number])
            vertices = scene.vertices[scene.vertex_starts[own] : scene.vertex_starts[own + 1]]
            beyond = sign * ((vertices - end) @ ways.direction[row])
            some = np.argsort(-beyond, kind="stable")[:WAY_CORNERS]
            some = some[beyond[some] > 0.0]
            owner += [k] * len(some)
            corners += list(vertices[some])
    if not owner:
        return np.zeros(len(rows), bool)
    tried = ways.only(rows[np.array(owner)])
    views, least = shadow_views(scene, tried.pairs, tried.direction, WAY_PIXELS)
    for k, corner in enumerate(corners):
        # The corner is the centre of the pixel in the middle.
        views.pixels[k] = max(tried.pixel[k], least[k])
        views.lowers[k, :2] = (views.rotations[k] @ corner)[:2] - (WAY_PIXELS // 2 + 0.5) * views.pixels[k]
    look_closer(scene, tried, views, views.pixels, WAY_LOOKS - 1, threads)
    grown = np.zeros(len(rows), bool)
    for k in np.argsort(tried.length, kind="stable").tolist():
        row = int(rows[owner[k]])
        if tried.length[k] > ways.length[row]:
            grown[owner[k]] |= tried.length[k] > (1.0 + WAY_GAIN) * ways.length[row]
            ways.put(np.array([row]), tried.only(np.array([k])))
    return grown


def shorten(scene: Scene, ways: Ways, threads: int | None) -> Ways:
    """From each way on to shorter ones, until none is found; in place."""
    normals = face_normals(scene)
    active = np.flatnonzero(ways.length > 0.0)
    for _ in range(WAY_STEPS):
        rows, tries = [], []
        for row in active.tolist():
            for normal in next_normals(scene, normals, ways, row):
                rows.append(row)
                tries.append(normal)
        if not rows:
            break
        tried = measure(scene, ways.pairs[rows], np.array(tries), threads)
        better = []
        for row in np.unique(rows).tolist():
            own = np.flatnonzero((np.array(rows) == row) & (tried.length > 0.0))
            if not len(own):
                continue
            best = own[np.argmin(tried.length[own])]
            if tried.length[best] < (1.0 - WAY_GAIN) * ways.length[row]:
                ways.put(np.array([row]), tried.only(np.array([best])))
                better.append(row)
        active = np.array(better, np.int64)
    return ways


def face_normals(scene: Scene) -> Floats:
    """(T, 3) unit normals out of the objects; 0 for a triangle without area."""
    a, b, c = (scene.vertices[scene.triangles[:, k]] for k in range(3))
    normal = np.cross(b - a, c - a)
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(np.divide(normal, length, out=np.zeros_like(normal), where=length > 0.0))


def next_normals(scene: Scene, normals: Floats, ways: Ways, row: int) -> list[Floats]:
    """Normals along which a way may be shorter: of the faces that end it, or across two edges that do. Those that all faces
    there allow come alone."""
    direction, sides = ways.direction[row], []
    for k, (point, sign) in enumerate(((ways.point_a[row], 1.0), (ways.point_b[row], -1.0))):
        near = near_faces(scene, normals, int(ways.pairs[row, k]), point, WAY_NEAR * float(ways.pixel[row]))
        around = sign * normals[np.append(near, ways.faces[row, k])]
        sides.append(np.unique(np.where(np.abs(around) < 1e-12, 0.0, around).round(9), axis=0))
    ends = [normals[ways.faces[row, 0]], -normals[ways.faces[row, 1]]]
    flat = [n for n in (*sides[0], *sides[1]) if n @ direction > 0.0]
    allowed = [n / np.linalg.norm(n) for n in flat if all(_in_cone(side, n) for side in sides)]
    if not allowed:
        edges = [[_unit(np.cross(m, n)) for m, n in combinations(side[:6], 2)] for side in sides]
        across = [_unit(np.cross(e, f)) for e in edges[0] for f in edges[1]]
        across = [n if n @ direction > 0.0 else -n for n in across if n.any()]
        allowed = [n for n in across if all(_in_cone(side, n) for side in sides)]
    # Where faces there do not agree, as at a hollow, the two that end the way are tried.
    chosen = [min(allowed, key=lambda n: float(n @ direction))] if allowed else [n for n in ends if n @ direction > 0.0]
    return [n for n in chosen if n @ direction < 1.0 - 1e-15]


def near_faces(scene: Scene, normals: Floats, number: int, point: Floats, reach: float) -> Ints:
    """Triangles of an object that a point is about this near to."""
    first, last = int(scene.triangle_starts[number]), int(scene.triangle_starts[number + 1])
    corners, normal = scene.vertices[scene.triangles[first:last]], normals[first:last]
    near = np.abs(((point - corners[:, 0]) * normal).sum(axis=1)) <= reach
    for k in range(3):
        side = corners[:, (k + 1) % 3] - corners[:, k]
        inward = np.cross(normal, side)
        near &= ((point - corners[:, k]) * inward).sum(axis=1) >= -reach * np.linalg.norm(side, axis=1)
    return np.asarray(np.flatnonzero(near) + first)


def _unit(v: Floats) -> Floats:
    length = float(np.linalg.norm(v))
    return v / length if length > 1e-9 else np.zeros(3)


def _in_cone(normals: Floats, n: Floats) -> bool:
    """Whether n is a sum of some of the normals, none of them taken negative."""
    from scipy.optimize import nnls

    return float(nnls(normals.T, n)[1]) <= WAY_CONE
