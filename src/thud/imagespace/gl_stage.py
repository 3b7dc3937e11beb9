"""The stage of the rasteriser on OpenGL: one context on a thread of its own, its programs and its queries. All rasterisers
share it."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np

from thud._core.gl import INSTALL, GlStage, GlThread
from thud._core.gl_programs import set_uniforms, shader_source
from thud.errors import MissingExtraError
from thud.imagespace.raster import SHIFT, SUBPIXEL

#: Programs and the files of their vertex and fragment shaders.
_PROGRAMS = {
    "settle": ("screen.vert", "settle.frag"),
    "identify_edges": ("screen.vert", "identify_edges.frag"),
    "count": ("faces.vert", "count.frag"),
    "identify": ("faces.vert", "identify.frag"),
    "weigh": ("faces.vert", "weigh.frag"),
    "mask": ("screen.vert", "mask.frag"),
    "collect": ("faces.vert", "collect.frag"),
}

#: Units of textures.
UNITS = {"owner": 0, "last_owner": 1, "last_depth": 2, "colours": 3, "nearest": 4, "first": 5, "sums": 6, "edge_depth": 7}


def _source(name: str) -> str:
    """A shader, with the constants it shares with Python."""
    names: dict[str, int | float | str] = {"SUBPIXEL_BITS": SHIFT, "SUBPIXEL_INT": SUBPIXEL, "SUBPIXEL": f"{SUBPIXEL}.0"}
    return shader_source(Path(__file__).parent / "shaders" / name, names)


class Stage(GlStage):
    """The OpenGL context, its programs and what all rasterisers share."""

    def __init__(self) -> None:
        super().__init__()
        try:
            self.gl: Any = importlib.import_module("OpenGL.GL")
            # As it is in C: PyOpenGL's own knows no pixels of depth with stencil.
            self.raw: Any = importlib.import_module("OpenGL.raw.GL.VERSION.GL_1_1")
        except ModuleNotFoundError as error:
            raise MissingExtraError.for_package("PyOpenGL", "gpu") from error
        except Exception as error:  # PyOpenGL raises what it meets where there is no libGL
            raise MissingExtraError(f"{INSTALL} ({error})") from error
        self.programs = {
            name: self.context.program(vertex_shader=_source(vertex), fragment_shader=_source(fragment))
            for name, (vertex, fragment) in _PROGRAMS.items()
        }
        self.maximum = self.context.compute_shader(_source("maximum.comp"))
        for name in ("edges", "cull"):
            self.programs[name] = self.context.compute_shader(_source(f"{name}.comp"))
        for program in (*self.programs.values(), self.maximum):
            set_uniforms(program, **UNITS)
        self.screens = {
            name: self.context.vertex_array(self.programs[name], []) for name in ("settle", "identify_edges", "mask")
        }
        gl = self.gl
        gl.glPixelStorei(gl.GL_PACK_ALIGNMENT, 1)
        gl.glEnable(gl.GL_DEPTH_CLAMP)
        self.size = (0, 0)
        self._queries: list[int] = []

    def query_names(self, count: int) -> list[int]:
        """So many occlusion queries. They are never deleted: llvmpipe 22 writes to deleted ones after large draws."""
        missing = count - len(self._queries)
        if missing > 0:
            self._queries += np.atleast_1d(self.gl.glGenQueries(missing)).tolist()
        return self._queries[:count]

    def set_size(self, size: tuple[int, int]) -> None:
        """Programs draw on so many pixels. All rasterisers share them, so each says so before it draws."""
        if size != self.size:
            self.size = size
            for program in self.programs.values():
                set_uniforms(program, size=size)


thread = GlThread("thud-gl-image", "cpu", Stage)
