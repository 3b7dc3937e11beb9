"""The small interface that both rasterisers offer, and what they are given: the passes of [Knott] 4.4 and 4.5.

Buffers, one value a pixel: depth of the nearest edge, the edge's number (its colour; -1 where there is none), the stencil,
and a second colour: the object that holds the edge. Front faces count +1 and back faces -1 in every pass, wrapping (see
the errata in docs/imagespace.md).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError


@dataclass(frozen=True, eq=False)
class Drawing:
    """A scene in pixels, ready to be drawn."""

    width: int
    height: int
    depth: float
    """Depth of the view, metres: edges nearer than 0 or farther than this are not seen; faces nearer than 0 count."""
    points: Floats
    """(V, 3) vertices: pixels and depth."""
    edge_points: Floats
    """(V, 3) vertices moved outward along their normals, for edges (4.3.3)."""
    triangles: Ints
    """(T, 3)"""
    edges: Ints
    """(E, 2)"""
    triangle_starts: Ints
    """(N + 1,)"""
    edge_starts: Ints
    """(N + 1,)"""

    @property
    def count(self) -> int:
        """How many objects there are."""
        return len(self.edge_starts) - 1


@dataclass
class Work:
    """What was done so far."""

    passes: int = 0
    """Draw calls over all objects, or one of them."""
    polygons: int = 0
    edges: int = 0
    fragments: int = 0
    """Pixels that triangles and edges covered; those that failed a test, too."""
    skipped: list[str] = field(default_factory=list)
    """Passes that an early answer saved."""


class Rasteriser(Protocol):
    """Draws; one drawing at a time."""

    name: str
    """Of the renderer."""
    work: Work

    def load(self, drawing: Drawing) -> None:
        """Take a drawing and clear all buffers."""

    def draw_edges(self, *, behind: bool = False) -> int:
        """Pass 1: clear; the nearest edge of each pixel writes depth and colour. `behind`: only edges behind those drawn last
        (the next layer). Returns how many pixels have an edge."""

    def count_faces(self, first: int, last: int, *, front: int, back: int) -> None:
        """Passes 2 and 3 of objects [first, last): where a face is in front of a pixel's edge, add to the stencil."""

    def identify_edges(self, *, reset: bool, query: bool = False) -> Ints:
        """Pass 4: edges are drawn again, where their depth is that of the buffer and the stencil is positive. They write their
        colour into the colour buffer; `reset` sets the stencil to 0. With `query` nothing is written, and an occlusion query
        an object tells how many pixels passed; else an empty array."""

    def identify_polygons(self, number: int, *, query: bool = False) -> int:
        """Pass 7: an object's faces are drawn where the stencil is at least 1, write the object into the second colour and set
        the stencil to 0. Returns how many pixels that were (an occlusion query)."""

    def contained(self) -> tuple[Ints, Ints, Ints]:
        """Passes 5 to 7 for every object: pixel, object and count of all that hold a pixel's edge, sorted by pixel and
        object."""

    def read_stencil(self) -> npt.NDArray[np.int32]:
        """(height, width)"""

    def read_colour(self) -> tuple[Ints, Ints]:
        """(height, width) number of the identified edge, -1 where there is none; and of the object that holds it."""

    def read_edges(self) -> tuple[Ints, Floats]:
        """(height, width) number and depth of the nearest edge; -1 and inf where there is none."""

    def maximum_colour(self) -> int:
        """Largest number of an identified edge, -1 if there is none: 4.5.2's query."""

    def release(self) -> None:
        """Give back what was taken."""


def make_rasteriser(backend: str, threads: int | None) -> Rasteriser:
    """The rasteriser of a backend's name."""
    if backend == "cpu":
        from thud.imagespace.backend_cpu import CpuRasteriser

        return CpuRasteriser(threads)
    if backend == "gl":
        from thud.imagespace.backend_gl import GlRasteriser

        return GlRasteriser()
    raise InvalidInputError(f'backend: expected "cpu" or "gl", got {backend!r}')
