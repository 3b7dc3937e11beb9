"""What walks over a surface are asked and what they write to."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from thud._core.arrays import Floats, Ints
from thud._core.decorators import view_device

Vec3 = tuple[float, float, float]
Mat3 = tuple[float, float, float, float, float, float, float, float, float]

# Rows of the stacks: cells that wait (four a level, all coarsest ones of a quad of 64), nodes of the tree that do, and quarters
# of a twisted patch.
CELL_STACK, NODE_STACK, PIECE_STACK = 128, 192, 48

# Fields of the result: best distance or time, its status, point of the surface (3), normal from it to the part (3); 1 if the
# part came between the planes of any primitive; the axis (3) that last separated it from a cell; 1 if a
# distance that did not converge may have been nearer; where in the patch (a, b); which face of the
# ground it is (`column.py`).
BEST, STATUS, POINT, AWAY, NEAR, AXIS, UNSURE, PLACE, FACE = 0, 1, 2, 5, 8, 9, 12, 13, 15
RESULT = 16

# Fields of the motion of a part that turns, in a window of time: 1 if it does; its mover (`convex/casts/turning.py`: rotation
# (9), place (3), axis (3), angle); where its shape is (3), and moves to (3), over the whole step; begin and end of the window;
# the part's own radius, which is larger while volumes are asked.
TURNS, MOVER_R, MOVER_P, MOVER_U, MOVER_W, SHAPE_AT, SHAPE_MOVE, BEGIN, END, OWN_RADIUS = 0, 1, 10, 13, 16, 17, 20, 23, 24, 25
TURN = 26


class PartQuery(NamedTuple):
    """One convex part against the surface, in the surface's frame."""

    a: int
    """The placeholder, over which patches and volumes are written."""
    b: int
    """The part."""
    r: Mat3
    t: Vec3
    """Where the part is."""
    m: Vec3
    """Where it moves to; 0 unless mode is CAST."""
    mode: int
    """MEET, GATHER, CAST, DISTANCE or NEARBY (`walk.py`)."""


class WorkSpace(NamedTuple):
    """The arrays that a walk writes. Each thread has its own."""

    box: Floats
    """(6,) box of the part."""
    corners: Floats
    """(4, 3) of a patch."""
    pieces: Floats
    """Stack of the pieces of a patch: x, y, side, distance or time."""
    points: Floats
    """(8, 3) of a bounding volume."""
    cells: Ints
    """Stack of cells: step, x, y; in `multiresolution.py` also levels to skip."""
    nodes: Ints
    """Stack of nodes of the surface's tree."""
    result: Floats
    """(RESULT,) fields as above."""
    found: Ints
    """(room, 4) patches found: part (GATHER: which face of the ground), quad, x, y."""
    counter: Ints
    """(1,) points tested for being in the ground."""
    above: Floats
    """(4, 3) the sheet above the corners of a patch that is a face of the ground."""
    tops: Floats
    """(4, 3) upper ends of the columns of a patch."""
    ends: Floats
    """(4, 3) their lower ends."""
    ray_corners: Floats
    """For the ray up a column: (4, 3)."""
    ray_points: Floats
    """(8, 3)"""
    ray_cells: Ints
    """A stack of cells of its own."""
    ray_crossings: Floats
    """(2, 3)"""
    ray_place: Floats
    """(5,)"""
    turn: Floats
    """(TURN,) of a part that turns, fields as above."""


@view_device
def new_work_space(room):
    """With room for so many patches found."""
    return WorkSpace(
        np.empty(6),
        np.empty((4, 3)),
        np.empty((PIECE_STACK, 4)),
        np.empty((8, 3)),
        np.empty((CELL_STACK, 4), np.int64),
        np.empty(NODE_STACK, np.int64),
        np.zeros(RESULT),
        np.empty((room, 4), np.int64),
        np.zeros(1, np.int64),
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((4, 3)),
        np.empty((8, 3)),
        np.empty((CELL_STACK, 3), np.int64),
        np.empty((2, 3)),
        np.empty(5),
        np.zeros(TURN),
    )
