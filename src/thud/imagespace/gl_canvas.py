"""The frame buffers that the rasteriser on OpenGL draws into: depth with stencil, and colours of 32-bit integers."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud.errors import UnsupportedQueryError
from thud.imagespace.gl_stage import UNITS, Stage

#: What the stencil holds where nothing was counted.
ZERO = 128


class Canvas:
    """Frame buffers of one size. Two layers of edges: the one that is drawn and the last."""

    def __init__(self, stage: Stage, width: int, height: int) -> None:
        self.gl, self.raw, self.size = stage.gl, stage.raw, (width, height)
        gl = self.gl
        self.owners = [self._texture(gl.GL_R32I) for _ in range(2)]
        self.depths = [self._texture(gl.GL_DEPTH32F_STENCIL8) for _ in range(2)]
        self.edge, self.holder = self._texture(gl.GL_R32I), self._texture(gl.GL_R32I)
        # While edges are drawn: bits of the nearest one's depth, and its number. Then the first has sums of weights.
        self.nearest, self.first = self._texture(gl.GL_R32I), self._texture(gl.GL_R32I)
        # By layer: pass 1 writes owners, pass 4 identified edges, pass 7 holders.
        self.frames = {
            (name, k): self._frame(colour, self.depths[k])
            for k in range(2)
            for name, colour in (("owner", self.owners[k]), ("edge", self.edge), ("holder", self.holder))
        }
        for name, colour in (("nearest", self.nearest), ("first", self.first)):
            self.frames[name, 0] = self.frames[name, 1] = self._frame(colour, None)
        # PyOpenGL does not reach glBindImageTexture everywhere; moderngl does.
        self.images = [stage.context.external_texture(name, self.size, 1, 0, "i4") for name in (self.nearest, self.first)]
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

    def _frame(self, colour: int, depth: int | None) -> int:
        gl = self.gl
        name = int(gl.glGenFramebuffers(1))
        gl.glBindFramebuffer(gl.GL_FRAMEBUFFER, name)
        gl.glFramebufferTexture2D(gl.GL_FRAMEBUFFER, gl.GL_COLOR_ATTACHMENT0, gl.GL_TEXTURE_2D, colour, 0)
        if depth is not None:
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
            gl.glActiveTexture(gl.GL_TEXTURE0 + UNITS[sampler])
            gl.glBindTexture(gl.GL_TEXTURE_2D, name)

    def bind_images(self) -> None:
        """The nearest edges and the first of them to units 0 and 1 of images."""
        for unit, image in enumerate(self.images):
            image.bind_to_image(unit)

    def clear(self, *colours: str, depth: bool = False, value: int = -1) -> None:
        """Colours to -1; depth to 0, where nothing is in front, and the stencil to 0."""
        gl = self.gl
        self.masks(colour=True, depth=True)
        for name in colours:
            self.use(name)
            gl.glClearBufferiv(gl.GL_COLOR, 0, np.full(4, value, np.int32))
        if depth:
            gl.glClearBufferfi(gl.GL_DEPTH_STENCIL, 0, 0.0, ZERO)

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

    def write(self, texture: int, pixels: npt.NDArray[np.int32]) -> None:
        """All pixels of a texture."""
        gl = self.gl
        self.bind(sums=texture)
        gl.glTexSubImage2D(gl.GL_TEXTURE_2D, 0, 0, 0, *self.size, gl.GL_RED_INTEGER, gl.GL_INT, pixels)

    def release(self) -> None:
        """Give it back."""
        frames = np.array(list(self.frames.values()), np.uint32)
        textures = np.array([*self.owners, *self.depths, self.edge, self.holder, self.nearest, self.first], np.uint32)
        self.gl.glDeleteFramebuffers(len(frames), frames)
        self.gl.glDeleteTextures(len(textures), textures)
