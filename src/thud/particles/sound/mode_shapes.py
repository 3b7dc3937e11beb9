"""Mode shapes: how far each mode moves where it is struck, with its sign.

All closed forms here are products of two functions of one coordinate each, phi_k = a_i(k) b_j(k), largest magnitude about 1:

    plate  sin(m pi x) sin(n pi y)             x, y from 0 to 1 over its sides
    shell  sin(m pi z) cos or sin(n theta)     z from 0 to 1 along, theta around
    disc   R(rho) cos or sin(n theta)          rho from 0 to 1; R of Bessel functions, tabulated
    bar    X(x) and torsion cos(k pi x) (2 y - 1)

A factor is either *waves*, cos and sin of 0, 1, 2, ... times an angle, or a *table* over its coordinate.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from thud._core.arrays import Floats, Ints

Kind = Literal["plate", "shell", "disc", "bar"]

#: Where something is struck that is not known, in its own coordinates: on the node of no low mode.
SOMEWHERE = (0.3137, 0.4142)


@dataclass(frozen=True, eq=False)
class Factor:
    """Functions of one coordinate."""

    columns: Ints
    """(K,) which function each mode has: 2 n for cos(n angle), 2 n + 1 for sin(n angle), or a column of the table."""
    table: Floats | None = None
    """(P, F) values at equal steps of the coordinate from 0 to 1; None for waves."""

    @property
    def width(self) -> int:
        """How many functions."""
        if self.table is not None:
            return int(self.table.shape[1])
        return 2 * (int(self.columns.max(initial=0)) // 2 + 1)

    def fill(self, coordinate: Floats, out: Floats) -> None:
        """Values of the functions at (N,) coordinates, angles of waves or 0 to 1 in a table, into (N, width)."""
        from thud.particles.sound.modal import table_rows, wave_rows

        coordinate = np.ascontiguousarray(coordinate)
        if self.table is None:
            wave_rows(coordinate, out)
        else:
            table_rows(coordinate, self.table, out)

    def values(self, coordinate: Floats) -> Floats:
        """(N, width) values of the functions at (N,) coordinates."""
        out = np.empty((len(coordinate), self.width))
        self.fill(coordinate, out)
        return out


@dataclass(frozen=True, eq=False)
class ModeShapes:
    """The shapes of K modes.

    Parameters
    ----------
    kind : what the coordinates of a strike mean, see the head of this file
    first, second : the two factors
    size : metres along both coordinates of one plate or bar; a larger surface is covered by equal ones
    """

    kind: Kind
    first: Factor
    second: Factor
    size: tuple[float, float]

    def own_coordinates(self, place: Floats, extent: Floats, around: bool) -> tuple[Floats, Floats]:
        """Coordinates of the two factors.

        Parameters
        ----------
        place : (N, 2) where a surface was hit, from 0 to 1 along both of its coordinates; NaN: somewhere
        extent : (2,) metres of the surface along both
        around : whether the first coordinate is the turn around an axis
        """
        known = np.isfinite(place).all(axis=1)
        u, v = (np.where(known, place[:, k], 0.5) for k in (0, 1))
        if self.kind == "bar" and not around and extent[1] > extent[0]:
            u, v, extent = v, u, extent[::-1]
        if self.kind in ("plate", "bar"):
            pieces = [max(1.0, np.round(extent[k] / self.size[k])) if np.isfinite(extent[k]) else 1.0 for k in (0, 1)]
            a, b = u * pieces[0], v * pieces[1]
            # The far edge belongs to the last piece.
            a, b = a - np.minimum(np.floor(a), pieces[0] - 1.0), b - np.minimum(np.floor(b), pieces[1] - 1.0)
        elif self.kind == "disc" and not around:
            x, y = 2.0 * u - 1.0, 2.0 * v - 1.0
            from thud.particles.sound.modal import turn_rows

            b = np.empty(len(x))
            turn_rows(np.ascontiguousarray(x), np.ascontiguousarray(y), b)
            a = np.minimum(np.sqrt(x * x + y * y), 1.0)
        elif self.kind == "disc":
            # A dome: from its rim up to its pole.
            a, b = 1.0 - v, u
        else:
            a, b = v, u
        a, b = np.where(known, a, SOMEWHERE[0]), np.where(known, b, SOMEWHERE[1])
        scale = {"plate": (np.pi, np.pi), "shell": (np.pi, 2.0 * np.pi), "disc": (1.0, 2.0 * np.pi), "bar": (1.0, 1.0)}
        return a * scale[self.kind][0], b * scale[self.kind][1]

    def values(self, a: Floats, b: Floats) -> Floats:
        """(N, K) of each mode at own coordinates."""
        return self.first.values(a)[:, self.first.columns] * self.second.values(b)[:, self.second.columns]
