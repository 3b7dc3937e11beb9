"""Moments of inertia: of point masses, of shapes, and in the world's frame by similarity transform ([Slides]).

The slides have the inertia of point masses as a sum of m r~ r~ on one page, without the minus sign that the page before
derives: I = sum -m r~ r~. Without it every moment would be negative.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.dynamics.tolerances import INERTIA_SLACK
from thud.errors import InvalidInputError
from thud.gates import as_points, finite_array
from thud.shapes.mass_properties import mass_properties
from thud.shapes.shape import Shape


class Inertia(NamedTuple):
    """Of one rigid body."""

    mass: float
    """kg"""
    center_of_mass: Floats
    """(3,) metres, in the frame that points or shape are given in."""
    inertia: Floats
    """(3, 3) about the centre of mass, kg m^2."""


def inertia_of_points(masses: npt.ArrayLike, points: npt.ArrayLike) -> Inertia:
    """Mass, centre of mass and inertia of connected point masses: I = sum -m r~ r~, r from the centre of mass.

    Points that all lie on one line, or at one place, have no inverse inertia; `RigidBodies` refuses them.

    Parameters
    ----------
    masses : (P,) kg, positive
    points : (P, 3) metres, any frame
    """
    at = as_points(points, "points", least=1)
    m = np.atleast_1d(finite_array(masses, "masses"))
    if m.shape != (len(at),):
        raise InvalidInputError(f"masses: expected one a point, ({len(at)},), got {m.shape}")
    if not (m > 0.0).all():
        raise InvalidInputError(
            f"masses: row {int(np.argmin(m > 0.0))} is {m[np.argmin(m > 0.0)]:g}; expected positive numbers"
        )
    mass = float(m.sum())
    center = m @ at / mass
    r = at - center
    # -r~ r~ = |r|^2 1 - r r^T.
    inertia = (m * np.einsum("pi,pi->p", r, r)).sum() * np.eye(3) - np.einsum("p,pi,pj->ij", m, r, r)
    return Inertia(mass, center, 0.5 * (inertia + inertia.T))


def inertia_of_shape(shape: Shape, density: float = 1000.0) -> Inertia:
    """Mass, centre of mass and inertia of a solid of uniform density, as `thud.mass_properties` has them.

    Parameters
    ----------
    shape : any solid that has a volume
    density : kg / m^3
    """
    found = mass_properties(shape, density)
    return Inertia(found.mass, found.center_of_mass, found.inertia)


def world_inertia(inertia: npt.ArrayLike, rotation: npt.ArrayLike) -> Floats:
    """I in the world's frame by similarity transform, A I A^T; of an inverse inertia likewise.

    Parameters
    ----------
    inertia : (3, 3) or (N, 3, 3), body frame
    rotation : (3, 3) or (N, 3, 3) from the body's frame to the world's
    """
    body, turn = finite_array(inertia, "inertia"), finite_array(rotation, "rotation")
    for array, name in ((body, "inertia"), (turn, "rotation")):
        if array.shape[-2:] != (3, 3) or array.ndim > 3:
            raise InvalidInputError(f"{name}: expected shape (3, 3) or (N, 3, 3), got {array.shape}")
    return turn @ body @ np.swapaxes(turn, -1, -2)


def principal_axes(inertia: Floats) -> tuple[Floats, Floats]:
    """(N, 9) rotations from the principal axes' frames to the bodies', (N, 3) moments, ascending, of (N, 3, 3) inertias."""
    moments, axes = np.linalg.eigh(inertia)
    # Right-handed.
    axes[:, :, 2] *= np.linalg.det(axes)[:, None]
    return np.ascontiguousarray(axes.reshape(-1, 9)), np.ascontiguousarray(moments)


def check_inertia(inertia: Floats, name: str) -> None:
    """Named error unless each of (N, 3, 3) is symmetric, positive, and that of some distribution of mass: no principal moment
    above the sum of the two others."""
    scale = np.abs(inertia).max(axis=(1, 2))
    skewed = np.abs(inertia - np.swapaxes(inertia, 1, 2)).max(axis=(1, 2)) > INERTIA_SLACK * scale
    if skewed.any():
        raise InvalidInputError(f"{name}: row {int(np.argmax(skewed))} is not symmetric; expected moments of inertia")
    moments = np.linalg.eigvalsh(inertia)
    flat = ~(moments[:, 0] > INERTIA_SLACK * scale)
    if flat.any():
        row = int(np.argmax(flat))
        raise InvalidInputError(
            f"{name}: row {row} has a principal moment of {moments[row, 0]:g} kg m^2; expected three positive ones (points on "
            "a line have none about it)"
        )
    beyond = moments[:, 2] > (moments[:, 0] + moments[:, 1]) + INERTIA_SLACK * scale
    if beyond.any():
        row = int(np.argmax(beyond))
        raise InvalidInputError(
            f"{name}: row {row} has principal moments {', '.join(f'{x:g}' for x in moments[row])}; no body has one above the "
            "sum of the two others"
        )
