"""What searches write to: one for each thread."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, view_device
from thud.convex.epa import epa_ints, epa_reals
from thud.convex.hull_stream import SLOT_INTS, SLOT_REALS, SLOTS
from thud.convex.tolerances import EPA_FACES, EPA_FACES_FIRST


class HullSlots(NamedTuple):
    """Searches of hull pairs that are under way together (`hull_stream.py`)."""

    reals: Floats
    ints: Ints
    live: npt.NDArray[np.uint64]
    """(SLOTS,) slots, those in use first."""


class EpaSpace(NamedTuple):
    """A polytope of EPA, with room for EPA_FACES_FIRST or EPA_FACES faces."""

    reals: Floats
    ints: Ints


@view_device
def new_hull_slots():
    """Empty."""
    return HullSlots(np.empty(SLOTS * SLOT_REALS), np.empty(SLOTS * SLOT_INTS, np.int64), np.empty(SLOTS, np.uint64))


@view_device
def new_epa_space(faces):
    """With room for so many faces; 0: none."""
    many = np.int64(faces)
    return EpaSpace(np.empty(epa_reals(many) if many > 0 else 0), np.empty(epa_ints(many) if many > 0 else 0, np.int64))


@device
def epa_faces(space):
    """How many faces there is room for."""
    return np.int64(EPA_FACES if space.reals.shape[0] > epa_reals(np.int64(EPA_FACES_FIRST)) else EPA_FACES_FIRST)
