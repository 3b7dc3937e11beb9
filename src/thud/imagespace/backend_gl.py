"""The rasteriser on OpenGL: depth, stencil and occlusion queries of the driver, as in the paper.

Buffers: depth (32-bit floats, 0 to 1 over the depth of the view) with a stencil of 8 bits; colours as 32-bit integers: the
nearest edge of a pixel, the identified edge, the object that holds it. The stencil counts from 128 and wraps, so that
negative counts are seen; it is right for up to 127 faces of a kind in excess.

- Edges are drawn by a compute shader, so that they cover the same pixels as those of `raster.py`, and of edges at one depth
  the first wins: drivers have rules of their own for lines.
- Vertices are rounded to 1/256 of a pixel before, so that drivers with so many subpixel bits cover the same pixels.
- Pixels without an edge have depth 0: nothing is in front of them, so faces count nowhere else.
- Front and back faces count in one pass, with an operation each (two-sided stencil).
- Faces nearer than the view count at depth 0 (clamped).
- 4.5.2's maximum colour: `glMinmax` is no more; a compute shader reduces the image to one integer.
- Depth resolves 1/2^24 of the view's depth, and coordinates are 32-bit floats. Where that does not do, in views about
  200,000 times as deep as a pixel is wide or closer still, the other rasteriser draws instead (`too_deep`).

Work.fragments: pixels that faces and edges cover in the view, those of faces by occlusion queries without any test. They are
the same each time something is drawn, so they are counted once a drawing, when somebody looks at `work`, and multiplied.
`contained` leaves out triangles that are behind all edges beforehand; of it, only pixels in front of their edge count.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.gl_buffers import Belongings, bind_tables, first_number
from thud._core.gl_programs import set_uniforms
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.imagespace.backend_cpu import CpuRasteriser
from thud.imagespace.gl_canvas import ZERO, Canvas
from thud.imagespace.gl_limits import too_deep
from thud.imagespace.gl_stage import Stage, thread
from thud.imagespace.raster import SUBPIXEL
from thud.imagespace.rasteriser import Drawing, Work

#: Largest coordinate, parts of a pixel: integers of 32 bits have room for differences.
MOST_PARTS = 2**30 - 1

#: Bits of depth and number where no edge is: above all of them.
FAR = 2**31 - 1

#: Findings that there is room for at first (a count).
ROOM = 2**14

#: Weights of objects have so many bits, so that two of them do not reach into the count above.
_WEIGHT_BITS = 23

#: Edges or triangles in a group of the compute shaders, as they say.
_GROUP = 64

#: Groups in a dispatch, at most: what OpenGL grants.
_MOST_GROUPS = 65_535


_Method = TypeVar("_Method", bound=Callable[..., Any])


def _unless_too_deep(method: _Method) -> _Method:
    """A method that the rasteriser in Numba has where the drawing is too deep for OpenGL."""

    @functools.wraps(method)
    def call(self: GlRasteriser, *arguments: Any, **options: Any) -> Any:
        if self._instead is not None:
            return getattr(self._instead, method.__name__)(*arguments, **options)
        return method(self, *arguments, **options)

    return call  # type: ignore[return-value]


class GlRasteriser:
    """See `Rasteriser`."""

    def __init__(self) -> None:
        self._work = Work()
        self._instead: CpuRasteriser | None = None
        self._canvas: Canvas | None = None
        self._stage: Stage = thread.run(thread.stage)
        self._made = Belongings(self._stage, "meshes", "cpu")
        self.name = self._stage.name
        self._forget()

    def load(self, drawing: Drawing) -> None:
        """Take a drawing and clear all buffers."""
        self._instead = None
        if too_deep(drawing):
            thread.run(self._release)
            self._instead = CpuRasteriser()
            self._instead.work = self._work
            self._instead.load(drawing)
        else:
            thread.run(lambda: self._load(drawing))

    @_unless_too_deep
    def draw_edges(self, *, behind: bool = False) -> int:
        """Pass 1."""
        return thread.run(lambda: self._draw_edges(behind))

    @_unless_too_deep
    def count_faces(self, first: int, last: int, *, front: int, back: int) -> None:
        """Passes 2 and 3."""
        thread.run(lambda: self._count_faces(first, last, front, back))

    @_unless_too_deep
    def identify_edges(self, *, reset: bool, query: bool = False) -> Ints:
        """Pass 4. Several edges may share the depth of a pixel (at a vertex they share): the one that wrote it passes. So the
        pixels that have an edge are drawn, not the edges, and the shader counts for each object what a query would."""
        return thread.run(lambda: self._identify_edges(reset, query))

    @_unless_too_deep
    def identify_polygons(self, number: int, *, query: bool = False) -> int:
        """Pass 7."""
        return thread.run(lambda: self._identify_polygons(number, query))

    @_unless_too_deep
    def contained(self) -> tuple[Ints, Ints, Ints]:
        """Passes 5 to 7 for every object, all at once.

        Each object has a weight: 2^24 and a number of 23 bits of its own, at random. A front face in front of a pixel's edge
        adds it to the pixel's sum, a back face takes it off. Where the sum is 0 no object holds the edge, and where it is one
        object's weight, that one does: two weights are more than one, so that this is certain for counts of 0 and more.
        Where counts cancel, as 1 and -1 of a mesh that is not closed do, weights do not; those of three and more objects in
        one pixel, some negative, may by chance (10^-5 with 100 objects).

        Only triangles that may be in front of an edge are drawn; if there are none, or if all sums are 0, this ends there.
        Else, where several objects hold an edge, or one more than once, they are drawn once more and written down.
        """
        return thread.run(self._contained)

    @_unless_too_deep
    def read_stencil(self) -> npt.NDArray[np.int32]:
        """(height, width)"""
        gl = self._stage.gl
        read = thread.run(lambda: self._drawn().read("owner", gl.GL_STENCIL_INDEX, gl.GL_UNSIGNED_BYTE, np.uint8))
        return read.astype(np.int32) - ZERO

    @_unless_too_deep
    def read_colour(self) -> tuple[Ints, Ints]:
        """(height, width) identified edges and the objects that hold them."""
        return self._integers("edge"), self._integers("holder")

    @_unless_too_deep
    def read_edges(self) -> tuple[Ints, Floats]:
        """(height, width) nearest edges and their depths."""
        gl = self._stage.gl
        owner = self._integers("owner")
        depth = thread.run(lambda: self._drawn().read("owner", gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT, np.float32))
        return owner, np.where(owner >= 0, depth * self._drawing.depth, np.inf)

    @_unless_too_deep
    def maximum_colour(self) -> int:
        """Largest number of an identified edge."""
        return thread.run(self._maximum_colour)

    @property
    def work(self) -> Work:
        """What was done so far; looking at it asks how many pixels were covered."""
        thread.run(self._count_fragments)
        return self._work

    @work.setter
    def work(self, work: Work) -> None:
        thread.run(self._count_fragments)
        self._work = work
        if self._instead is not None:
            self._instead.work = work

    def release(self) -> None:
        """Give back what was taken; `load` takes it again."""
        self._instead = None
        thread.run(self._release)

    # On the thread of the context, from here on.

    def _drawn(self) -> Canvas:
        if self._canvas is None:
            raise InvalidInputError("rasteriser: nothing is loaded; call load(drawing) first")
        self._stage.set_size(self._canvas.size)
        return self._canvas

    def _load(self, drawing: Drawing) -> None:
        stage = self._stage
        if max(drawing.width, drawing.height) > stage.most_pixels:
            raise InvalidInputError(
                f"resolution: {drawing.width} x {drawing.height} pixels, but this driver has {stage.most_pixels} a side; "
                'use fewer, or backend="cpu"'
            )
        self._count_fragments()
        size = drawing.width, drawing.height
        if self._canvas is None or self._canvas.size != size:
            self._release()
            self._canvas = Canvas(stage, *size)
        self._drawing, canvas = drawing, self._canvas
        self._forget()
        made = self._made
        made.release()
        parts = SUBPIXEL
        ends = np.empty((len(drawing.points), 4), np.int32)
        ends[:, :2] = _snapped(drawing.edge_points)
        ends[:, 2:] = (drawing.edge_points[:, 2:] / drawing.depth).view(np.int32)
        corners = np.empty((len(drawing.points), 3), np.float32)
        corners[:, :2] = _snapped(drawing.points) / parts
        corners[:, 2] = drawing.points[:, 2] / drawing.depth
        self._ends, self._edges = made.table(ends), made.table(drawing.edges.astype(np.int32))
        vertices, indices = made.table(corners), made.table(drawing.triangles.astype(np.uint32))
        self._corners, self._triangles = vertices, indices
        kept = self._kept, self._kept_numbers = made.room(12 * len(drawing.triangles)), made.room(4 * len(drawing.triangles))
        self._edge_fragments = made.table(np.zeros(1, np.uint32))
        self._found = made.table(np.zeros(max(2 + 2 * ROOM, drawing.count), np.uint32))
        self._starts = made.table(drawing.edge_starts.astype(np.int32))
        # Sorted, so that an object is found by its weight.
        self._weights = (1 << 24) + np.sort(_random_weights(drawing.count))
        self._triangle_weights = made.table(np.repeat(self._weights, np.diff(drawing.triangle_starts)).astype(np.int32))
        self._faces = {
            name: made.keep(stage.context.vertex_array(stage.programs[name], [(vertices, "3f", "point")], index))
            for name, index in (("count", indices), ("identify", indices), ("weigh", kept[0]), ("collect", kept[0]))
        }
        stage.set_size(size)
        for canvas.layer in (1, 0):
            canvas.clear("owner", "edge", "holder", depth=True)

    def _draw_edges(self, behind: bool) -> int:
        gl, canvas, drawing = self._stage.gl, self._drawn(), self._drawing
        canvas.layer = 1 - canvas.layer
        canvas.clear("nearest", "first", value=FAR)
        canvas.clear("edge", "holder", "owner", depth=True)
        last = 1 - canvas.layer
        canvas.bind(last_owner=canvas.owners[last], last_depth=canvas.depths[last])
        # The nearest depth of each pixel first, then the first of the edges that have it.
        for turn in (0, 1):
            self._run_edges(turn, behind)
        canvas.use("owner")
        canvas.masks(colour=True, depth=True)
        canvas.bind(nearest=canvas.nearest, first=canvas.first)
        self._test_depth(gl.GL_ALWAYS)
        (seen,) = self._queried([lambda: self._stage.screens["settle"].render(vertices=3)])
        self._done()
        self._work.passes, self._work.edges = self._work.passes + 1, self._work.edges + len(drawing.edges)
        self._edge_draws += 1
        return seen

    def _run_edges(self, turn: int, behind: bool) -> None:
        """All edges through their shader."""
        program, canvas, edges = self._stage.programs["edges"], self._drawn(), len(self._drawing.edges)
        canvas.bind_images()
        bind_tables({0: self._ends, 1: self._edges, 2: self._edge_fragments})
        self._set("edges", turn=turn, behind=int(behind), last_edge=edges)
        for first in range(0, edges, _GROUP * _MOST_GROUPS):
            self._set("edges", first_edge=first)
            program.run(min(-(-(edges - first) // _GROUP), _MOST_GROUPS))
        self._stage.context.memory_barrier()

    def _cull(self) -> int:
        """Keep the triangles that may be in front of an edge; how many they are."""
        program, canvas, triangles = self._stage.programs["cull"], self._drawn(), len(self._drawing.triangles)
        canvas.bind(edge_depth=canvas.depths[canvas.layer])
        self._found.write(bytes(8))
        bind_tables({0: self._corners, 1: self._triangles, 2: self._found, 4: self._kept, 5: self._kept_numbers})
        self._set("cull", end=triangles)
        for first in range(0, triangles, _GROUP * _MOST_GROUPS):
            self._set("cull", begin=first)
            program.run(min(-(-(triangles - first) // _GROUP), _MOST_GROUPS))
        self._stage.context.memory_barrier()
        return first_number(self._found)

    def _count_faces(self, first: int, last: int, front: int, back: int) -> None:
        canvas = self._drawn()
        canvas.use("holder")
        canvas.masks(colour=False, depth=False)
        self._count_range(first, last, front, back)
        self._done()
        polygons = int(self._drawing.triangle_starts[last] - self._drawing.triangle_starts[first])
        self._work.passes, self._work.polygons = self._work.passes + 1, self._work.polygons + polygons
        self._face_draws[first:last] += 1

    def _count_range(self, first: int, last: int, front: int, back: int) -> None:
        """Two-sided counting, in one pass unless more than 1 is to be added."""
        gl = self._stage.gl
        self._test_depth(gl.GL_LESS)
        gl.glEnable(gl.GL_STENCIL_TEST)
        gl.glStencilFunc(gl.GL_ALWAYS, 0, 0xFF)
        for turn in range(max(abs(front), abs(back))):
            for side, add in ((gl.GL_FRONT, front), (gl.GL_BACK, back)):
                step = gl.GL_KEEP if turn >= abs(add) else gl.GL_INCR_WRAP if add > 0 else gl.GL_DECR_WRAP
                gl.glStencilOpSeparate(side, gl.GL_KEEP, gl.GL_KEEP, step)
            self._draw_faces("count", first, last)

    def _identify_edges(self, reset: bool, query: bool) -> Ints:
        gl, canvas, drawing = self._stage.gl, self._drawn(), self._drawing
        canvas.use("edge")
        canvas.masks(colour=not query, depth=False)
        canvas.bind(owner=canvas.owners[canvas.layer])
        gl.glEnable(gl.GL_STENCIL_TEST)
        gl.glStencilFunc(gl.GL_LESS, ZERO, 0xFF)
        gl.glStencilOp(gl.GL_KEEP, gl.GL_KEEP, gl.GL_REPLACE if reset else gl.GL_KEEP)
        self._set("identify_edges", objects=drawing.count, query=int(query))
        if query:
            self._found.write(bytes(4 * drawing.count))
        bind_tables({2: self._found, 3: self._starts})
        self._stage.screens["identify_edges"].render(vertices=3)
        self._done()
        self._work.passes, self._work.edges = self._work.passes + 1, self._work.edges + len(drawing.edges)
        if not query or not drawing.count:
            return np.empty(0, np.int64)
        self._stage.context.memory_barrier()
        return np.frombuffer(self._found.read(4 * drawing.count), np.uint32).astype(np.int64)

    def _identify_polygons(self, number: int, query: bool) -> int:
        gl, canvas = self._stage.gl, self._drawn()
        canvas.use("holder")
        canvas.masks(colour=not query, depth=False)
        self._test_depth(gl.GL_LESS)
        gl.glEnable(gl.GL_STENCIL_TEST)
        gl.glStencilFunc(gl.GL_LESS, ZERO, 0xFF)
        gl.glStencilOp(gl.GL_KEEP, gl.GL_KEEP, gl.GL_REPLACE)
        self._set("identify", number=number)
        (passed,) = self._queried([lambda: self._draw_faces("identify", number, number + 1)])
        self._done()
        polygons = int(self._drawing.triangle_starts[number + 1] - self._drawing.triangle_starts[number])
        self._work.passes, self._work.polygons = self._work.passes + 1, self._work.polygons + polygons
        self._face_draws[number] += 1
        return passed

    def _contained(self) -> tuple[Ints, Ints, Ints]:
        gl, canvas, drawing = self._stage.gl, self._drawn(), self._drawing
        work = self._work
        work.passes, work.polygons = work.passes + 1, work.polygons + len(drawing.triangles)
        kept = self._cull()
        if not kept:
            work.skipped.append("weigh")
            return tuple(np.empty(0, np.int64) for _ in range(3))  # type: ignore[return-value]
        canvas.clear("nearest", value=0)
        canvas.use("holder")
        canvas.masks(colour=False, depth=False)
        canvas.bind_images()
        bind_tables({3: self._triangle_weights})
        self._test_depth(gl.GL_LESS)
        (fragments,) = self._queried([lambda: self._draw_kept("weigh", kept)])
        self._stage.context.memory_barrier()
        work.fragments += fragments
        sums = canvas.read("nearest", gl.GL_RED_INTEGER, gl.GL_INT, np.int32)
        pixel = np.flatnonzero(sums)
        weight = sums.ravel()[pixel]
        holder = np.searchsorted(self._weights, weight)
        sure = holder < drawing.count
        sure[sure] = self._weights[holder[sure]] == weight[sure]
        rows = np.column_stack([pixel, holder, np.ones(len(pixel), np.int64)])[sure]
        if sure.all():
            # Nobody holds an edge, or one object each.
            work.skipped.append("collect")
        else:
            sums.ravel()[pixel[sure]] = 0
            rows = np.concatenate([rows, self._collect(sums, kept)])
            rows = rows[np.lexsort((rows[:, 1], rows[:, 0]))]
        self._done()
        return rows[:, 0].copy(), rows[:, 1].copy(), rows[:, 2].copy()

    def _collect(self, pixels: npt.NDArray[np.int32], kept: int) -> Ints:
        """Pixel, object and count where pixels are not 0, by the faces that were kept."""
        gl, canvas = self._stage.gl, self._drawn()
        canvas.write(canvas.nearest, pixels)
        canvas.use("holder")
        canvas.masks(colour=False, depth=False)
        canvas.bind(sums=canvas.nearest)
        # The stencil is 1 there.
        self._test_depth(gl.GL_ALWAYS)
        gl.glEnable(gl.GL_STENCIL_TEST)
        gl.glStencilFunc(gl.GL_ALWAYS, ZERO + 1, 0xFF)
        gl.glStencilOp(gl.GL_KEEP, gl.GL_KEEP, gl.GL_REPLACE)
        self._stage.screens["mask"].render(vertices=3)
        self._test_depth(gl.GL_LESS)
        gl.glStencilFunc(gl.GL_EQUAL, ZERO + 1, 0xFF)
        gl.glStencilOp(gl.GL_KEEP, gl.GL_KEEP, gl.GL_KEEP)
        gl.glEnable(gl.GL_SCISSOR_TEST)
        try:
            return self._collect_bands(kept)
        finally:
            gl.glDisable(gl.GL_SCISSOR_TEST)
            gl.glClearBufferiv(gl.GL_STENCIL, 0, np.array([ZERO], np.int32))
            self._done()

    def _collect_bands(self, kept: int) -> Ints:
        """All rows of pixels at once, if the driver's buffers have room for what is found; else in bands of rows."""
        gl, drawing, work = self._stage.gl, self._drawing, self._work
        object_of = np.repeat(np.arange(drawing.count), np.diff(drawing.triangle_starts))
        out, bands = [], [(0, drawing.height)]
        while bands:
            low, high = bands.pop()
            gl.glScissor(0, low, drawing.width, high - low)
            self._found.write(bytes(8))
            bind_tables({2: self._found, 5: self._kept_numbers})
            self._draw_kept("collect", kept)
            self._stage.context.memory_barrier()
            many = first_number(self._found)
            work.passes, work.polygons, work.fragments = work.passes + 1, work.polygons + kept, work.fragments + many
            wanted = 8 * (many + many // 4 + 1)
            if many <= self._found.size // 8 - 1:
                found = np.frombuffer(self._found.read(8 + 8 * many), np.int32).reshape(-1, 2)[1:].astype(np.int64)
                sign = np.where(found[:, 1] >= 0, 1, -1)
                holder = object_of[np.where(sign > 0, found[:, 1], ~found[:, 1])]
                keys, row = np.unique(found[:, 0] * drawing.count + holder, return_inverse=True)
                counts = np.bincount(row.reshape(-1), sign, len(keys)).astype(np.int64)
                rows = np.column_stack([keys // drawing.count, keys % drawing.count, counts])
                out.append(rows[counts != 0])
            elif wanted <= self._stage.most_bytes:
                self._found.orphan(wanted)
                bands.append((low, high))
            elif high - low > 1:
                middle = (low + high) // 2
                bands += [(low, middle), (middle, high)]
            else:
                raise UnsupportedQueryError(
                    f"resolution: {many} faces in a row of pixels are more than the driver's buffers hold; use less, or "
                    'backend="cpu"'
                )
        return np.concatenate(out)

    def _maximum_colour(self) -> int:
        canvas = self._drawn()
        canvas.bind(colours=canvas.edge)
        self._found.write(np.int32(-1).tobytes())
        bind_tables({2: self._found})
        width, height = canvas.size
        self._stage.maximum.run(-(-width // 16), -(-height // 16))
        self._stage.context.memory_barrier()
        return first_number(self._found, np.int32)

    def _count_fragments(self) -> None:
        """What was drawn since the last time: of faces by queries without tests; per object only if some were drawn more
        often."""
        if self._canvas is None:
            return
        if self._edge_draws:
            self._work.fragments += first_number(self._edge_fragments)
            self._edge_fragments.write(bytes(4))
        if self._face_draws.any():
            canvas, times = self._drawn(), self._face_draws
            canvas.use("holder")
            canvas.masks(colour=False, depth=False)
            self._done()
            cuts = np.concatenate([[0], np.flatnonzero(np.diff(times)) + 1, [self._drawing.count]])
            spans = [(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist()) if a < b and times[a]]
            covered = self._queried([lambda a=a, b=b: self._draw_faces("count", a, b) for a, b in spans])
            self._work.fragments += sum(int(times[a]) * count for (a, _), count in zip(spans, covered))
        self._forget()

    def _forget(self) -> None:
        count = 0 if self._canvas is None else self._drawing.count
        self._edge_draws, self._face_draws = 0, np.zeros(count, np.int64)

    def _draw_faces(self, program: str, first: int, last: int) -> None:
        """Objects [first, last)."""
        begin, end = (int(self._drawing.triangle_starts[k]) for k in (first, last))
        if begin < end:
            self._faces[program].render(self._stage.context.TRIANGLES, vertices=3 * (end - begin), first=3 * begin)

    def _draw_kept(self, program: str, kept: int) -> None:
        """Triangles that were kept."""
        self._faces[program].render(self._stage.context.TRIANGLES, vertices=3 * kept)

    def _queried(self, draws: list[Any]) -> list[int]:
        """An occlusion query each: how many samples passed."""
        gl = self._stage.gl
        if not draws:
            return []
        queries = self._stage.query_names(len(draws))
        for query, draw in zip(queries, draws):
            gl.glBeginQuery(gl.GL_SAMPLES_PASSED, query)
            draw()
            gl.glEndQuery(gl.GL_SAMPLES_PASSED)
        return [int(np.ravel(gl.glGetQueryObjectuiv(query, gl.GL_QUERY_RESULT))[0]) for query in queries]

    def _set(self, program: str, **values: int) -> None:
        set_uniforms(self._stage.programs[program], **values)

    def _test_depth(self, function: Any) -> None:
        gl = self._stage.gl
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(function)

    def _done(self) -> None:
        """No tests."""
        gl = self._stage.gl
        gl.glDisable(gl.GL_STENCIL_TEST)
        gl.glDisable(gl.GL_DEPTH_TEST)

    def _integers(self, name: str) -> Ints:
        gl = self._stage.gl
        read = thread.run(lambda: self._drawn().read(name, gl.GL_RED_INTEGER, gl.GL_INT, np.int32))
        return read.astype(np.int64)

    def _release(self) -> None:
        self._count_fragments()
        self._made.release()
        if self._canvas is not None:
            self._canvas.release()
            self._canvas = None


def _snapped(points: Floats) -> Floats:
    """Pixel coordinates in parts, whole numbers, as `raster.snap_rows`."""
    parts = points[:, :2] * SUBPIXEL
    parts += 0.5
    np.floor(parts, out=parts)
    return np.clip(parts, -MOST_PARTS, MOST_PARTS, out=parts)


def _random_weights(count: int) -> Ints:
    """Different numbers of 23 bits."""
    return np.random.default_rng(0).choice(1 << _WEIGHT_BITS, count, replace=False).astype(np.int64)
