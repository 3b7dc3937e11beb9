"""`thud.picture(...)`: a clash as a picture, the two parts in colour and the rest as glass."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints, writable
from thud._core.atomic import replaced
from thud._core.png import png_bytes
from thud.errors import InvalidInputError
from thud.io.scene.scene import Scene
from thud.report.clash.candidates import Placed, place
from thud.report.clash.clash import Clash, ClashReport
from thud.report.clash.view import FIELD, View, clash_view, scene_view
from thud.report.decimate import decimated
from thud.report.raster import draw_triangles

#: Colours of A and B, of other parts, and of where they meet, 0 to 1: blue and orange, which differ for the colour-blind too.
COLOR_A, COLOR_B, COLOR_REST, COLOR_MARK = (0.16, 0.42, 0.82), (0.96, 0.58, 0.12), (0.62, 0.66, 0.7), (0.85, 0.04, 0.16)

#: How much of what is hidden shines through, 0 to 1; of what is inside something, the second number.
THROUGH = (0.18, 0.45)

#: Triangles of a part in colour, and of all others together (counts): more than pixels show.
_FINE_TRIANGLES, _REST_TRIANGLES = 200_000, 400_000

#: Subpixels a side.
_FINE = 2

_PAPER = (0.972, 0.976, 0.984)

_LIGHT = np.array([0.35, -0.45, 0.82])


def picture(
    report: ClashReport | Scene,
    clash: Clash | str | None = None,
    *,
    file: str | os.PathLike[str] | None = None,
    width: int = 640,
    height: int = 480,
) -> npt.NDArray[np.uint8]:
    """A clash as a picture: A blue, B orange, where they meet red, the rest as glass.

    Parameters
    ----------
    report : what `thud.report.check` returned, or a scene
    clash : one of its clashes, or its id; None: all of the scene, with every part that has a clash in orange
    file : PNG file to write; None: none
    width, height : pixels

    Returns
    -------
    (height, width, 3) uint8
    """
    for name, value in (("width", width), ("height", height)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= 8192:
            raise InvalidInputError(f"{name}: expected 1 to 8192 pixels, got {value!r}")
    if isinstance(report, Scene):
        if clash is not None:
            raise InvalidInputError("clash: expected None with a scene; a report has clashes")
        painter, chosen = Painter(report), None
        pixels = painter.whole((), int(width), int(height))
    elif isinstance(report, ClashReport):
        painter = Painter(report.scene)
        chosen = report.clash(clash) if isinstance(clash, str) else clash
        if chosen is None:
            rows = sorted({row for one in report.clashes for row in (one.a, one.b)})
            pixels = painter.whole(rows, int(width), int(height))
        else:
            at = place(report.scene, report.poses(chosen)) if chosen.configuration else painter.placed
            pixels = painter.clash(chosen, int(width), int(height), at)
    else:
        raise InvalidInputError(f"report: expected a ClashReport or a Scene, got a {type(report).__name__}")
    if file is not None:
        with replaced(Path(file)) as out:
            out.write(png_bytes(pixels))
    return pixels


class Painter:
    """Draws a scene again and again; coarser meshes for the parts that are not looked at are made once."""

    def __init__(self, scene: Scene) -> None:
        self.scene = scene
        self._coarse: dict[int, tuple[Floats, Ints]] = {}

    @cached_property
    def placed(self) -> Placed:
        """Where the parts stand."""
        return place(self.scene)

    @cached_property
    def _each(self) -> int:
        """Triangles that a part which is not looked at may have."""
        return max(60, _REST_TRIANGLES // max(len(self.scene.parts), 1))

    def clash(self, clash: Clash, width: int, height: int, placed: Placed | None = None) -> npt.NDArray[np.uint8]:
        """A picture of one clash."""
        at = placed or self.placed
        view = clash_view(clash, at.lower, at.upper)
        canvas = _Canvas(view, width, height)
        first, second, rest = canvas.layer(), canvas.layer(), canvas.layer()
        for layer, row in ((first, clash.a), (second, clash.b)):
            canvas.draw(layer, row, *self._mesh(row, _FINE_TRIANGLES), at.rows[row])
        for row in range(len(self.scene.parts)):
            if row not in (clash.a, clash.b) and canvas.sees(at.lower[row], at.upper[row]):
                canvas.draw(rest, row, *self._mesh(row, self._each), at.rows[row])
        image = canvas.background()
        image = canvas.glass(image, rest, 0.33)
        image = canvas.pair(image, first, second, THROUGH[clash.kind == "containment"])
        nearest = np.maximum(first.near, second.near)
        image = canvas.glass(image, rest, 0.14, (rest.near > nearest) & (nearest > 0.0))
        canvas.lines(image, clash.curve, COLOR_MARK, 1.3)
        canvas.dots(image, clash.points, 0.003)
        canvas.dots(image, clash.point[None], 0.008)
        return canvas.finish(image)

    def whole(self, rows: Sequence[int], width: int, height: int) -> npt.NDArray[np.uint8]:
        """All parts, some of them in colour."""
        at = self.placed
        canvas = _Canvas(scene_view(at.lower, at.upper), width, height)
        marked, rest, nothing = canvas.layer(), canvas.layer(), canvas.layer()
        chosen = set(rows)
        for row in range(len(self.scene.parts)):
            canvas.draw(marked if row in chosen else rest, row, *self._mesh(row, 4 * self._each), at.rows[row])
        image = canvas.glass(canvas.background(), rest, 0.45 if chosen else 1.0)
        image = canvas.pair(image, nothing, marked, 0.0)
        return canvas.finish(canvas.glass(image, rest, 0.22, (rest.near > marked.near) & (marked.near > 0.0)))

    def _mesh(self, row: int, most: int) -> tuple[Floats, Ints]:
        mesh = self.scene.meshes[self.scene.parts[row].mesh]
        vertices, faces = np.asarray(mesh.vertices), np.asarray(mesh.faces)
        if len(faces) <= most:
            return vertices, faces
        key = (self.scene.parts[row].mesh << 32) + most
        if key not in self._coarse:
            self._coarse[key] = decimated(vertices, faces, most)
        return self._coarse[key]


class _Layer:
    """The nearest surface in each subpixel: 1 / distance, whose, and which triangle."""

    def __init__(self, count: int) -> None:
        self.near = np.zeros(count, dtype=np.float32)
        self.owner = np.full(count, -1, dtype=np.int32)
        self.face = np.full(count, -1, dtype=np.int64)
        self.normals: list[npt.NDArray[np.float32]] = []
        self.faces = 0

    @cached_property
    def seen(self) -> Bools:
        """Where there is something. Asked when all is drawn."""
        return self.near > 0.0

    @cached_property
    def normal(self) -> npt.NDArray[np.float32]:
        """(subpixels, 3) towards the eye; 0 where there is nothing."""
        return np.concatenate([*self.normals, np.zeros((1, 3), dtype=np.float32)])[self.face]


class _Canvas:
    """Subpixels of a picture."""

    def __init__(self, view: View, width: int, height: int) -> None:
        self.view, self.width, self.height = view, width * _FINE, height * _FINE
        self._right = np.cross(view.direction, view.up)
        # The ball about the target fills the shorter side.
        short = min(self.width, self.height)
        self._focal = 0.5 * short / np.tan(np.radians(0.5 * FIELD))
        self._near = 0.02 * float(np.linalg.norm(view.target - view.eye))

    def layer(self) -> _Layer:
        """An empty one."""
        return _Layer(self.width * self.height)

    def project(self, points: Floats) -> Floats:
        """(N, 3) subpixels to the right and down, and 1 / distance; 0 too near to the eye or behind it."""
        way = points - self.view.eye
        depth = way @ self.view.direction
        inverse = np.where(depth > self._near, 1.0 / np.maximum(depth, self._near), 0.0)
        x = 0.5 * self.width + self._focal * inverse * (way @ self._right)
        y = 0.5 * self.height - self._focal * inverse * (way @ self.view.up)
        return np.ascontiguousarray(np.stack([x, y, inverse], axis=1))

    def sees(self, lower: Floats, upper: Floats) -> bool:
        """Whether a box may be in the picture."""
        middle, radius = 0.5 * (lower + upper), 0.5 * float(np.linalg.norm(upper - lower))
        way = middle - self.view.eye
        depth = float(way @ self.view.direction)
        if depth < -radius:
            return False
        side = float(np.hypot(way @ self._right, way @ self.view.up))
        slope = np.hypot(self.width, self.height) / (2.0 * self._focal)
        return side - radius * (1.0 + slope) <= slope * max(depth, 0.0)

    def draw(self, layer: _Layer, owner: int, vertices: Floats, faces: Ints, row: Floats) -> None:
        """A mesh at a pose."""
        points = vertices @ row[:9].reshape(3, 3).T + row[9:]
        points, drawn = self._clipped(points, writable(np.ascontiguousarray(faces)))
        arguments = (self.project(points), drawn, owner, layer.faces, self.width, self.height)
        draw_triangles(0, len(drawn), *arguments, layer.near, layer.owner, layer.face)
        corner = points[drawn]
        normal = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
        normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-300)
        # Both sides are seen.
        normal *= np.where(np.einsum("ni,ni->n", normal, corner[:, 0] - self.view.eye) > 0.0, -1.0, 1.0)[:, None]
        layer.normals.append(normal.astype(np.float32))
        layer.faces += len(drawn)

    def _clipped(self, points: Floats, faces: Ints) -> tuple[Floats, Ints]:
        """Triangles that reach behind the eye, cut at the nearest distance; those all behind it are gone."""
        depth = (points - self.view.eye) @ self.view.direction - 1.001 * self._near
        ahead = (depth > 0.0)[faces]
        count = ahead.sum(axis=1)
        if (count == 3).all():
            return points, faces
        kept, more, start = [faces[count == 3]], [points], len(points)
        for many in (1, 2):
            # The corner that is alone on its side comes first; the order of the three stays.
            cut = faces[count == many]
            alone = (ahead[count == many] == (many == 1)).argmax(axis=1)
            cut = np.take_along_axis(cut, (alone[:, None] + np.arange(3)) % 3, axis=1)
            if not len(cut):
                continue
            ends = []
            for k in (1, 2):
                share = depth[cut[:, 0]] / (depth[cut[:, 0]] - depth[cut[:, k]])
                more.append(points[cut[:, 0]] + share[:, None] * (points[cut[:, k]] - points[cut[:, 0]]))
                ends.append(start + np.arange(len(cut)))
                start += len(cut)
            if many == 1:
                kept.append(np.stack([cut[:, 0], ends[0], ends[1]], axis=1))
            else:
                kept += [np.stack([ends[0], cut[:, 1], cut[:, 2]], axis=1), np.stack([ends[0], cut[:, 2], ends[1]], axis=1)]
        return np.concatenate(more), np.ascontiguousarray(np.concatenate(kept))

    def light(self, layer: _Layer) -> npt.NDArray[np.float32]:
        """(subpixels, 1) how bright the surface is."""
        sun = (0.28 * _LIGHT / np.linalg.norm(_LIGHT)).astype(np.float32)
        ahead = (-0.3 * self.view.direction).astype(np.float32)
        return (np.float32(0.5) + np.maximum(layer.normal @ sun, 0.0) + layer.normal @ ahead)[:, None]

    def background(self) -> npt.NDArray[np.float32]:
        """(subpixels, 3) nearly white."""
        return np.full((self.height * self.width, 3), _PAPER, dtype=np.float32)

    def glass(
        self, image: npt.NDArray[np.float32], layer: _Layer, alpha: float, where: Bools | None = None
    ) -> npt.NDArray[np.float32]:
        """A layer as if of glass."""
        seen = layer.seen if where is None else where
        if seen.any():
            color = np.array(COLOR_REST, dtype=np.float32) * self.light(layer)[seen]
            image[seen] += np.float32(alpha) * (color - image[seen])
            image[self._edges(layer, 0.75) & seen] *= np.float32(1.0 - 0.45 * alpha)
        return image

    def pair(self, image: npt.NDArray[np.float32], first: _Layer, second: _Layer, through: float) -> npt.NDArray[np.float32]:
        """A and B; where one hides the other, that shines through."""
        shades = []
        for layer, color in ((first, COLOR_A), (second, COLOR_B)):
            shade = np.array(color, dtype=np.float32) * self.light(layer)
            shade[self._edges(layer, 0.9)] *= np.float32(0.55)
            shades.append(shade)
            image[layer.seen] = shade[layer.seen]
        both = first.seen & second.seen
        ahead = (first.near >= second.near)[both, None]
        front, behind = np.where(ahead, shades[0][both], shades[1][both]), np.where(ahead, shades[1][both], shades[0][both])
        image[both] = front + np.float32(through) * (behind - front)
        return image

    def _edges(self, layer: _Layer, cosine: float) -> Bools:
        """Where the part, or the direction of its surface, changes from one subpixel to the next."""
        owner = layer.owner.reshape(self.height, self.width)
        normal = layer.normal.reshape(self.height, self.width, 3)
        edge = np.zeros((self.height, self.width), dtype=bool)
        face = layer.face.reshape(self.height, self.width)
        for here, ahead in (
            ((slice(None, -1),), (slice(1, None),)),
            ((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
        ):
            change = owner[here] != owner[ahead]
            # Only where the triangle changes can the direction do.
            rows = np.nonzero((face[here] != face[ahead]) & ~change)
            change[rows] = np.einsum("ni,ni->n", normal[here][rows], normal[ahead][rows]) < cosine
            edge[here] |= change
            edge[ahead] |= change
        return (edge & (owner >= 0)).ravel()

    def lines(self, image: npt.NDArray[np.float32], segments: Floats, color: Sequence[float], thick: float) -> None:
        """Segments (N, 2, 3) over everything."""
        if not len(segments):
            return
        ends = self.project(segments.reshape(-1, 3)).reshape(-1, 2, 3)
        ends = ends[(ends[:, :, 2] > 0.0).all(axis=1)]
        # A point every subpixel; what reaches far beyond the picture ends there.
        span = np.minimum(np.abs(ends[:, 1, :2] - ends[:, 0, :2]).max(axis=1, initial=0.0), 2.0 * self.width)
        counts = span.astype(np.int64) + 2
        row = np.repeat(np.arange(len(ends)), counts)
        step = (np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)) / np.repeat(counts - 1, counts)
        self._disc(image, ends[row, 0, :2] + step[:, None] * (ends[row, 1, :2] - ends[row, 0, :2]), 0.5 * thick * _FINE, color)

    def dots(self, image: npt.NDArray[np.float32], points: Floats, size: float) -> None:
        """Points over everything, red in a white ring; `size` is their radius as a part of the picture's shorter side."""
        if not len(points):
            return
        where = self.project(points)
        where = where[where[:, 2] > 0.0][:, :2]
        radius = size * min(self.width, self.height)
        self._disc(image, where, radius + 1.2 * _FINE, (1.0, 1.0, 1.0))
        self._disc(image, where, radius, COLOR_MARK)

    def _disc(self, image: npt.NDArray[np.float32], centers: Floats, radius: float, color: Sequence[float]) -> None:
        reach = int(np.ceil(radius))
        step = np.arange(-reach, reach + 1)
        dy, dx = np.meshgrid(step, step, indexing="ij")
        inside = dx * dx + dy * dy <= radius * radius + 0.25
        x = np.floor(centers[:, :1]).astype(np.int64) + dx[inside]
        y = np.floor(centers[:, 1:]).astype(np.int64) + dy[inside]
        good = (x >= 0) & (x < self.width) & (y >= 0) & (y < self.height)
        image[(y * self.width + x)[good]] = color

    def finish(self, image: npt.NDArray[np.float32]) -> npt.NDArray[np.uint8]:
        """(height, width, 3), in steps of four: a picture of half the bytes."""
        fine = np.clip(image, 0.0, 1.0).reshape(self.height // _FINE, _FINE, self.width // _FINE, _FINE, 3).mean(axis=(1, 3))
        return np.minimum(np.round(fine * 63.75) * 4.0, 255.0).astype(np.uint8)
