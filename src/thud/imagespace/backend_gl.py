"""The rasteriser on OpenGL: depth, stencil and occlusion queries of the driver, as in the paper.

Buffers: depth (32-bit floats, 0 to 1 over the depth of the view) with a stencil of 8 bits; colours as 32-bit integers: the
nearest edge of a pixel, the identified edge, the object that holds it. The stencil counts from 128 and wraps, so that
negative counts are seen; it is right for up to 127 faces of a kind in excess.

- Edges are lines, their ends points; what depth they have in a pixel the fragment shader says, by the rules of `raster.py`.
  Which pixels a line covers is the driver's rule: the pixels whose diamond it leaves; here and there it is a neighbour of
  that of the other rasteriser.
- Vertices are rounded to 1/256 of a pixel before, so that drivers with so many subpixel bits cover the same pixels.
- After pass 1 pixels without an edge get depth 0: nothing is in front of them, so faces count nowhere else.
- Front and back faces count in one pass, with an operation each (two-sided stencil).
- Faces nearer than the view count at depth 0 (clamped).
- 4.5.2's maximum colour: `glMinmax` is no more; a compute shader reduces the image to one integer.
- Depth resolves 1/2^24 of the view's depth: edges must be drawn farther outside than that.

Work.fragments: samples that faces and edges cover in the view, by occlusion queries without any test. They are the same each
time something is drawn, so they are queried once a drawing, when somebody looks at `work`, and multiplied.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from thud._gl import INSTALL, GlThread, make_context
from thud.errors import InvalidInputError, MissingExtraError, UnsupportedQueryError
from thud.imagespace.rasteriser import Drawing, Work

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

#: Parts of a pixel to which vertices are rounded, as in `raster.py`; a power of two.
SUBPIXEL_BITS = 8

#: Largest coordinate, parts of a pixel: integers of 32 bits have room for differences.
MOST_PARTS = 2**30 - 1

#: What the stencil holds where nothing was counted.
ZERO = 128

#: Findings that there is room for at first (a count).
ROOM = 2**14

#: Programs and the files of their vertex and fragment shaders.
_PROGRAMS = {
    "edges": ("edges.vert", "edges.frag"),
    "count": ("faces.vert", "count.frag"),
    "identify": ("faces.vert", "identify.frag"),
    "collect": ("faces.vert", "collect.frag"),
    "mask": ("screen.vert", "mask.frag"),
}

#: Units of textures.
_UNITS = {"owner": 0, "last_owner": 1, "last_depth": 2, "colours": 3}


def _source(name: str) -> str:
    """A shader, with the constants it shares with Python."""
    parts = 1 << SUBPIXEL_BITS
    constants = f"#define SUBPIXEL_BITS {SUBPIXEL_BITS}\n#define SUBPIXEL_INT {parts}\n#define SUBPIXEL {parts}.0"
    return f"#version 430 core\n{constants}\n#line 1\n" + (Path(__file__).parent / "shaders" / name).read_text()


class _Stage:
    """The OpenGL context, its programs and what all rasterisers share."""

    def __init__(self) -> None:
        self.context = make_context()
        try:
            self.gl: Any = importlib.import_module("OpenGL.GL")
            # As it is in C: PyOpenGL's own knows no pixels of depth with stencil.
            self.raw: Any = importlib.import_module("OpenGL.raw.GL.VERSION.GL_1_1")
        except ModuleNotFoundError as error:
            raise MissingExtraError.for_package("PyOpenGL", "gpu") from error
        except Exception as error:  # PyOpenGL raises what it meets where there is no libGL
            raise MissingExtraError(f"{INSTALL} ({error})") from error
        self.name = str(self.context.info["GL_RENDERER"])
        self.most_pixels = min(self.context.info["GL_MAX_TEXTURE_SIZE"], *self.context.info["GL_MAX_VIEWPORT_DIMS"])
        self.most_bytes = int(self.context.info["GL_MAX_SHADER_STORAGE_BLOCK_SIZE"])
        self.programs = {
            name: self.context.program(vertex_shader=_source(vertex), fragment_shader=_source(fragment))
            for name, (vertex, fragment) in _PROGRAMS.items()
        }
        self.maximum = self.context.compute_shader(_source("maximum.comp"))
        for program in (*self.programs.values(), self.maximum):
            for sampler, unit in _UNITS.items():
                if sampler in program:
                    program[sampler].value = unit
        self.screen = self.context.vertex_array(self.programs["mask"], [])
        self.lines = self.context.vertex_array(self.programs["edges"], [])
        gl = self.gl
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glEnable(gl.GL_DEPTH_CLAMP)
        self.context.point_size = 1.0
        self.size = (0, 0)

    def set_size(self, size: tuple[int, int]) -> None:
        """Programs draw on so many pixels. All rasterisers share them, so each says so before it draws."""
        if size != self.size:
            self.size = size
            for program in self.programs.values():
                if "size" in program:
                    program["size"].value = size


_thread = GlThread("thud-gl-image", "cpu")
_stage: _Stage | None = None


def _make_stage() -> _Stage:
    global _stage
    if _stage is None:
        _stage = _Stage()
    return _stage


class _Canvas:
    """Frame buffers of one size. Two layers of edges: the one that is drawn and the last."""

    def __init__(self, stage: _Stage, width: int, height: int) -> None:
        self.gl, self.raw, self.size = stage.gl, stage.raw, (width, height)
        gl = self.gl
        self.owners = [self._texture(gl.GL_R32I) for _ in range(2)]
        self.depths = [self._texture(gl.GL_DEPTH32F_STENCIL8) for _ in range(2)]
        self.edge, self.holder = self._texture(gl.GL_R32I), self._texture(gl.GL_R32I)
        # By layer: pass 1 writes owners, pass 4 identified edges, pass 7 holders.
        self.frames = {
            (name, k): self._frame(colour, self.depths[k])
            for k in range(2)
            for name, colour in (("owner", self.owners[k]), ("edge", self.edge), ("holder", self.holder))
        }
        self.layer = 0

    def _texture(self, kind: Any) -> int:
        gl = self.gl
        name = int(gl.glGenTextures(1))
        gl.glActiveTexture(gl.GL_TEXTURE0)
        gl.glBindTexture(gl.GL_TEXTURE_2D, name)
        depth = gl.GL_DEPTH_STENCIL, gl.GL_FLOAT_32_UNSIGNED_INT_24_8_REV
        layout = depth if kind == gl.GL_DEPTH32F_STENCIL8 else (gl.GL_RED_INTEGER, gl.GL_INT)
        self.raw.glTexImage2D(gl.GL_TEXTURE_2D, 0, kind, *self.size, 0, *layout, None)
        for parameter in (gl.GL_TEXTURE_MIN_FILTER, gl.GL_TEXTURE_MAG_FILTER):
            gl.glTexParameteri(gl.GL_TEXTURE_2D, parameter, gl.GL_NEAREST)
        return name

    def _frame(self, colour: int, depth: int) -> int:
        gl = self.gl
        name = int(gl.glGenFramebuffers(1))
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, name)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, colour, 0)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, gl.GL_DEPTH_STENCIL_ATTACHMENT, gl.GL_TEXTURE_2D, depth, 0)
        state = gl.glCheckFramebufferStatus(gl.GL_FRAMEBUFFER)
        if state != gl.GL_FRAMEBUFFER_COMPLETE:
            raise UnsupportedQueryError(f'backend: this driver refuses our frame buffer ({state}); use backend="cpu"')
        return name

    def use(self, name: str) -> None:
        """Draw into a frame buffer of this layer."""
        gl = self.gl
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, self.frames[name, self.layer])
        gl.glViewport(0, 0, *self.size)

    def bind(self, **textures: int) -> None:
        """Textures to samplers."""
        gl = self.gl
        for sampler, name in textures.items():
            gl.glActiveTexture(gl.GL_TEXTURE0 + _UNITS[sampler])
            gl.glBindTexture(gl.GL_TEXTURE_2D, name)

    def clear(self, *colours: str, depth: bool = False) -> None:
        """Colours to -1; depth to the far plane and the stencil to 0."""
        gl = self.gl
        self.masks(colour=True, depth=True)
        for name in colours:
            self.use(name)
            gl.glClearBufferiv(gl.GL_COLOR, 0, np.full(4, -1, np.int32))
        if depth:
            gl.glClearBufferfi(gl.GL_DEPTH_STENCIL, 0, 1.0, ZERO)

    def masks(self, *, colour: bool, depth: bool) -> None:
        """What is written."""
        self.gl.glColorMask(colour, colour, colour, colour)
        self.gl.glDepthMask(depth)

    def read(self, name: str, what: Any, kind: Any, dtype: Any) -> npt.NDArray[Any]:
        """(height, width) pixels of a frame buffer."""
        gl = self.gl
        self.use(name)
        pixels = np.empty(self.size[::-1], dtype)
        gl.glReadPixels(0, 0, *self.size, what, kind, pixels)
        return pixels

    def release(self) -> None:
        """Give it back."""
        frames = np.array(list(self.frames.values()), np.uint32)
        textures = np.array([*self.owners, *self.depths, self.edge, self.holder], np.uint32)
        self.gl.glDeleteFramebuffers(len(frames), frames)
        self.gl.glDeleteTextures(len(textures), textures)


class GlRasteriser:
    """See `Rasteriser`."""

    def __init__(self) -> None:
        self._work = Work()
        self._canvas: _Canvas | None = None
        self._buffers: list[Any] = []
        self._stage: _Stage = _thread.run(_make_stage)
        self.name = self._stage.name
        self._forget()

    def load(self, drawing: Drawing) -> None:
        """Take a drawing and clear all buffers."""
        _thread.run(lambda: self._load(drawing))

    def draw_edges(self, *, behind: bool = False) -> int:
        """Pass 1."""
        return _thread.run(lambda: self._draw_edges(behind))

    def count_faces(self, first: int, last: int, *, front: int, back: int) -> None:
        """Passes 2 and 3."""
        _thread.run(lambda: self._count_faces(first, last, front, back))

    def identify_edges(self, *, reset: bool, query: bool = False) -> Ints:
        """Pass 4. Several edges may share the depth of a pixel (at a vertex they share): the one that wrote it passes."""
        return _thread.run(lambda: self._identify_edges(reset, query))

    def identify_polygons(self, number: int, *, query: bool = False) -> int:
        """Pass 7."""
        return _thread.run(lambda: self._identify_polygons(number, query))

    def contained(self) -> tuple[Ints, Ints, Ints]:
        """Passes 5 to 7 for every object, two-sided.

        Where the count of a pixel is positive, at least so many front faces are in front of its edge, and likewise with back
        faces where it is negative. So an object's faces are drawn again: front faces where the stencil is above 0 take 1
        off, back faces where it is below add 1, and each time the pixel is written down. In the end the stencil is 0
        again, and what was written down adds up to the counts.
        """
        return _thread.run(self._contained)

    def read_stencil(self) -> npt.NDArray[np.int32]:
        """(height, width)"""
        gl = self._stage.gl
        read = _thread.run(lambda: self._drawn().read("owner", gl.GL_STENCIL_INDEX, gl.GL_UNSIGNED_BYTE, np.uint8))
        return read.astype(np.int32) - ZERO

    def read_colour(self) -> tuple[Ints, Ints]:
        """(height, width) identified edges and the objects that hold them."""
        return self._integers("edge"), self._integers("holder")

    def read_edges(self) -> tuple[Ints, Floats]:
        """(height, width) nearest edges and their depths."""
        gl = self._stage.gl
        owner = self._integers("owner")
        depth = _thread.run(lambda: self._drawn().read("owner", gl.GL_DEPTH_COMPONENT, gl.GL_FLOAT, np.float32))
        return owner, np.where(owner >= 0, depth * self._drawing.depth, np.inf)

    def maximum_colour(self) -> int:
        """Largest number of an identified edge."""
        return _thread.run(self._maximum_colour)

    @property
    def work(self) -> Work:
        """What was done so far; looking at it asks how many pixels were covered."""
        _thread.run(self._count_fragments)
        return self._work

    @work.setter
    def work(self, work: Work) -> None:
        _thread.run(self._count_fragments)
        self._work = work

    def release(self) -> None:
        """Give back what was taken; `load` takes it again."""
        _thread.run(self._release)

    # On the thread of the context, from here on.

    def _drawn(self) -> _Canvas:
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
            self._canvas = _Canvas(stage, *size)
        self._drawing, canvas = drawing, self._canvas
        self._forget()
        for buffer in self._buffers:
            buffer.release()
        self._buffers = []
        parts = 1 << SUBPIXEL_BITS
        ends = np.zeros((len(drawing.points), 4), np.int32)
        ends[:, :2] = _snapped(drawing.edge_points)
        ends[:, 2] = (drawing.edge_points[:, 2] / drawing.depth).astype(np.float32).view(np.int32)
        corners = np.empty((len(drawing.points), 3), np.float32)
        corners[:, :2] = _snapped(drawing.points) / parts
        corners[:, 2] = drawing.points[:, 2] / drawing.depth
        self._ends, self._edges = self._buffer(ends), self._buffer(drawing.edges.astype(np.int32))
        vertices, indices = self._buffer(corners), self._buffer(drawing.triangles.astype(np.uint32))
        self._found = self._buffer(np.zeros(2 + 2 * ROOM, np.uint32))
        self._faces = {
            name: self._keep(stage.context.vertex_array(stage.programs[name], [(vertices, "3f", "point")], indices))
            for name in ("count", "identify", "collect")
        }
        stage.set_size(size)
        for canvas.layer in (1, 0):
            canvas.clear("owner", "edge", "holder", depth=True)

    def _draw_edges(self, behind: bool) -> int:
        gl, canvas, drawing = self._stage.gl, self._drawn(), self._drawing
        canvas.layer = 1 - canvas.layer
        canvas.clear("edge", "holder", "owner", depth=True)
        last = 1 - canvas.layer
        canvas.bind(last_owner=canvas.owners[last], last_depth=canvas.depths[last])
        canvas.use("owner")
        canvas.masks(colour=True, depth=True)
        self._test_depth(gl.GL_LESS)
        self._set("edges", behind=int(behind), identify=0)
        self._draw_lines(0, drawing.count)
        # Pixels without an edge.
        canvas.use("edge")
        canvas.masks(colour=False, depth=True)
        canvas.bind(owner=canvas.owners[canvas.layer])
        self._test_depth(gl.GL_ALWAYS)
        (empty,) = self._queried([lambda: self._stage.screen.render(vertices=3)])
        self._done()
        self._work.passes, self._work.edges = self._work.passes + 1, self._work.edges + len(drawing.edges)
        self._edge_draws += 1
        return drawing.width * drawing.height - empty

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
        self._test_depth(gl.GL_EQUAL)
        gl.glEnable(gl.GL_STENCIL_TEST)
        gl.glStencilFunc(gl.GL_LESS, ZERO, 0xFF)
        gl.glStencilOp(gl.GL_KEEP, gl.GL_KEEP, gl.GL_REPLACE if reset else gl.GL_KEEP)
        self._set("edges", behind=0, identify=1)
        counts = np.empty(0, np.int64)
        if query:
            draws = [lambda k=k: self._draw_lines(k, k + 1) for k in range(drawing.count)]
            counts = np.array(self._queried(draws), np.int64)
        else:
            self._draw_lines(0, drawing.count)
        self._done()
        self._work.passes, self._work.edges = self._work.passes + 1, self._work.edges + len(drawing.edges)
        self._edge_draws += 1
        return counts

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
        canvas.use("holder")
        canvas.masks(colour=False, depth=False)
        number = self._stage.programs["collect"]["number"]
        while True:
            self._found.write(bytes(8))
            self._found.bind_to_storage_buffer(2)
            for k in range(drawing.count):
                self._count_range(k, k + 1, 1, -1)
                gl.glStencilFuncSeparate(gl.GL_FRONT, gl.GL_LESS, ZERO, 0xFF)
                gl.glStencilFuncSeparate(gl.GL_BACK, gl.GL_GREATER, ZERO, 0xFF)
                gl.glStencilOpSeparate(gl.GL_FRONT, gl.GL_KEEP, gl.GL_KEEP, gl.GL_DECR)
                gl.glStencilOpSeparate(gl.GL_BACK, gl.GL_KEEP, gl.GL_KEEP, gl.GL_INCR)
                number.value = k
                self._draw_faces("collect", k, k + 1)
            self._work.passes, self._work.polygons = self._work.passes + 2, self._work.polygons + 2 * len(drawing.triangles)
            self._face_draws += 2
            self._stage.context.memory_barrier()
            many = int(np.frombuffer(self._found.read(4), np.uint32)[0])
            if many <= self._found.size // 8 - 1:
                break
            if 8 * (2 * many + 1) > self._stage.most_bytes:
                raise UnsupportedQueryError(
                    f'resolution: {many} findings are more than the driver\'s buffers hold; use less, or backend="cpu"'
                )
            self._found.orphan(8 * (2 * many + 1))
        self._done()
        rows = np.frombuffer(self._found.read(8 + 8 * many), np.int32).reshape(-1, 2)[1:].astype(np.int64)
        sign = np.where(rows[:, 1] >= 0, 1, -1)
        keys = rows[:, 0] * max(drawing.count, 1) + np.where(sign > 0, rows[:, 1], ~rows[:, 1])
        unique, row = np.unique(keys, return_inverse=True)
        counts = np.bincount(row.reshape(-1), sign, len(unique)).astype(np.int64)
        return unique // max(drawing.count, 1), unique % max(drawing.count, 1), counts

    def _maximum_colour(self) -> int:
        canvas = self._drawn()
        canvas.bind(colours=canvas.edge)
        self._found.write(np.int32(-1).tobytes())
        self._found.bind_to_storage_buffer(2)
        width, height = canvas.size
        self._stage.maximum.run(-(-width // 16), -(-height // 16))
        self._stage.context.memory_barrier()
        return int(np.frombuffer(self._found.read(4), np.int32)[0])

    def _count_fragments(self) -> None:
        """What was drawn since the last time, by queries without tests; per object only if some were drawn more often."""
        if self._canvas is None or not (self._edge_draws or self._face_draws.any()):
            return
        canvas, drawing, times = self._drawn(), self._drawing, self._face_draws
        canvas.use("holder")
        canvas.masks(colour=False, depth=False)
        self._done()
        cuts = np.concatenate([[0], np.flatnonzero(np.diff(times)) + 1, [drawing.count]])
        spans = [(a, b) for a, b in zip(cuts[:-1].tolist(), cuts[1:].tolist()) if a < b and times[a]]
        covered = self._queried([lambda a=a, b=b: self._draw_faces("count", a, b) for a, b in spans])
        fragments = sum(int(times[a]) * count for (a, _), count in zip(spans, covered))
        if self._edge_draws:
            self._set("edges", behind=0, identify=0)
            (count,) = self._queried([lambda: self._draw_lines(0, drawing.count)])
            fragments += self._edge_draws * count
        self._work.fragments += fragments
        self._forget()

    def _forget(self) -> None:
        count = 0 if self._canvas is None else self._drawing.count
        self._edge_draws, self._face_draws = 0, np.zeros(count, np.int64)

    def _draw_faces(self, program: str, first: int, last: int) -> None:
        """Objects [first, last)."""
        begin, end = (int(self._drawing.triangle_starts[k]) for k in (first, last))
        if begin < end:
            self._faces[program].render(self._stage.context.TRIANGLES, vertices=3 * (end - begin), first=3 * begin)

    def _draw_lines(self, first: int, last: int) -> None:
        """Edges of objects [first, last), then their ends."""
        begin, end = (int(self._drawing.edge_starts[k]) for k in (first, last))
        if begin < end:
            context, lines = self._stage.context, self._stage.lines
            self._ends.bind_to_storage_buffer(0)
            self._edges.bind_to_storage_buffer(1)
            for ends, mode in enumerate((context.LINES, context.POINTS)):
                self._set("edges", ends=ends)
                lines.render(mode, vertices=2 * (end - begin), first=2 * begin)

    def _queried(self, draws: list[Any]) -> list[int]:
        """An occlusion query each: how many samples passed."""
        gl = self._stage.gl
        if not draws:
            return []
        queries = np.atleast_1d(gl.glGenQueries(len(draws)))
        for query, draw in zip(queries, draws):
            gl.glBeginQuery(gl.GL_SAMPLES_PASSED, query)
            draw()
            gl.glEndQuery(gl.GL_SAMPLES_PASSED)
        passed = [int(np.ravel(gl.glGetQueryObjectuiv(query, gl.GL_QUERY_RESULT))[0]) for query in queries]
        gl.glDeleteQueries(len(queries), queries)
        return passed

    def _set(self, program: str, **values: int) -> None:
        for name, value in values.items():
            self._stage.programs[program][name].value = value

    def _test_depth(self, function: Any) -> None:
        gl = self._stage.gl
        gl.glEnable(gl.GL_DEPTH_TEST)
        gl.glDepthFunc(function)

    def _done(self) -> None:
        """No tests."""
        gl = self._stage.gl
        gl.glDisable(gl.GL_STENCIL_TEST)
        gl.glDisable(gl.GL_DEPTH_TEST)

    def _keep(self, thing: Any) -> Any:
        self._buffers.append(thing)
        return thing

    def _buffer(self, values: npt.NDArray[Any]) -> Any:
        """A buffer of numbers; never empty, which OpenGL does not have."""
        data = np.ascontiguousarray(values).tobytes()
        if len(data) > self._stage.most_bytes:
            raise UnsupportedQueryError(
                f"meshes: a table of {len(data)} bytes is more than the driver's {self._stage.most_bytes}; "
                'backend="cpu" has it'
            )
        return self._keep(self._stage.context.buffer(data or bytes(64)))

    def _integers(self, name: str) -> Ints:
        gl = self._stage.gl
        read = _thread.run(lambda: self._drawn().read(name, gl.GL_RED_INTEGER, gl.GL_INT, np.int32))
        return read.astype(np.int64)

    def _release(self) -> None:
        self._count_fragments()
        for buffer in self._buffers:
            buffer.release()
        self._buffers = []
        if self._canvas is not None:
            self._canvas.release()
            self._canvas = None


def _snapped(points: Floats) -> Ints:
    """Pixel coordinates in parts, as `raster.snap_rows`."""
    parts = np.floor(points[:, :2] * (1 << SUBPIXEL_BITS) + 0.5)
    return np.clip(parts, -MOST_PARTS, MOST_PARTS).astype(np.int64)
