"""Contacts as `World.step` solves them: what a hook may change, and what came out."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Bools, Floats, Ints, check_finite
from thud._core.columns import Columns, extent
from thud.errors import InvalidInputError


@dataclass(slots=True, eq=False, repr=False)
class StepContacts(Columns):
    """M points of contact in the world's frame, sorted by pairs. A hook may write over what it says may be changed."""

    handle_a: Ints
    handle_b: Ints
    """(M,) the bodies."""
    point: Floats
    """(M, 3) metres."""
    normal: Floats
    """(M, 3) from A to B, unit length; may be changed. Points in a row with one normal are a patch."""
    depth: Floats
    """(M,) metres, negative where the two are apart; may be changed."""
    feature: Ints
    """(M,) the same from step to step while the same features touch."""
    sensor: Bools
    """(M,) of a pair with a sensor: not solved."""
    friction: Floats
    restitution: Floats
    """(M,) coefficients; may be changed. A patch has those of its first point."""
    surface_velocity: Floats
    """(M, 3) of B's surface past A's, m/s; may be changed. A patch has that of its first point."""
    keep: Bools
    """(M,) False: left out; may be changed."""
    impulse: Floats
    """(M, 3) on B over the step, N s. 0 before the step is solved."""

    _unit = "point"

    def _say(self) -> list[str]:
        return extent(self.depth, "deepest", "m", greatest=True)

    @classmethod
    def empty(cls) -> StepContacts:
        """None."""
        whole, real, flag = np.empty(0, np.int64), np.empty((0, 3)), np.empty(0, np.bool_)
        return cls(whole, whole, real, real, np.empty(0), whole, flag, np.empty(0), np.empty(0), real, flag, real)


def check_hooked(contacts: StepContacts, count: int) -> None:
    """The gate behind a hook: the arrays are still what they were."""
    shapes = {
        "normal": (count, 3), "depth": (count,), "friction": (count,), "restitution": (count,), "surface_velocity": (count, 3),
    }  # fmt: skip
    for name, shape in shapes.items():
        array = getattr(contacts, name)
        if not isinstance(array, np.ndarray) or array.shape != shape or array.dtype != np.float64:
            raise InvalidInputError(f"contact_hook: {name} must stay float64 of shape {shape}; write into it")
        check_finite(array, f"contact_hook: {name}")
        setattr(contacts, name, np.ascontiguousarray(array))
    if not isinstance(contacts.keep, np.ndarray) or contacts.keep.shape != (count,) or contacts.keep.dtype != np.bool_:
        raise InvalidInputError(f"contact_hook: keep must stay bool of shape {(count,)}; write into it")
    if (contacts.friction < 0.0).any() or (contacts.restitution < 0.0).any():
        raise InvalidInputError("contact_hook: friction and restitution must be at least 0")
    if count and not np.allclose(np.einsum("ni,ni->n", contacts.normal, contacts.normal), 1.0, atol=1e-6):
        raise InvalidInputError("contact_hook: normal must have unit length")
