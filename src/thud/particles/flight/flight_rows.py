"""Flights as rows of arrays: what kernels of particles read and write."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints

# Columns of `row`. MODE: how the particle moves; STALL: contacts one after the other that took no time; SIDE: row of the
# plane that the particle slides on or has bounced off, -1 for what is none.
PARTICLE, GENERATION, IMPACTS, MODE, FLIGHTS, STALL, SIDE = range(7)
ROW = 7

# Columns of `clock`: birth of its generation, age at the start of the flight, lifetime, longest time of this flight.
BIRTH, AGE, LIFE, UNTIL = range(4)

# Modes: through the air; along a plane in closed form; in hops along any other collider; it has come to rest, or is gone.
FREE, SLIDE, HOP, RESTED, GONE = range(5)


class FlightRows(NamedTuple):
    """R flights. `FlightRows` in a kernel's signature is `flights`."""

    row: Ints
    """(R, 7) particle, generation, impacts so far, mode, flights so far, contacts that took no time, the plane just left."""
    clock: Floats
    """(R, 4) birth of the generation, age at the start of the flight, lifetime, longest time of the flight, seconds."""
    paths: Floats
    """(R, 10) x, v, a at the start of the flight, world frame; rate of drag, 1/s (`crossings/drag_time.py`)."""
    came: Floats
    """(R, 3) velocity of arrival at x, 0 at birth and along a surface."""
    last: Ints
    """(R, 2) collider and part just left, -1 at birth. Of a part that the particle slides on: -2 - part."""
    time: Floats
    """(R,) longest time to look at, then that of the earliest crossing."""
    hit: Ints
    """(R, 2) its collider and part, or -1."""
    normal: Floats
    """(R, 3)"""
    status: npt.NDArray[np.uint8]
    """(R,) 1 where a search ended at its limit."""
    slope: Floats
    """(R, 6) unit normal of what the particle slides on or has bounced off, then that of what it met before it and that faces
    another way; 0 where there is none."""


def new_rows(size: int) -> FlightRows:
    """Room for so many."""
    return FlightRows(
        np.zeros((size, ROW), np.int64), np.empty((size, 4)), np.empty((size, 10)), np.empty((size, 3)),
        np.empty((size, 2), np.int64), np.empty(size), np.empty((size, 2), np.int64), np.empty((size, 3)),
        np.empty(size, np.uint8), np.zeros((size, 6)),
    )  # fmt: skip


def rows_of(flights: FlightRows, rows: Any) -> FlightRows:
    """A copy of some rows."""
    columns: list[Any] = [column[rows].copy() for column in flights]
    return FlightRows(*columns)


def put_rows(flights: FlightRows, rows: Ints, values: FlightRows) -> None:
    """Write rows."""
    into: Any
    for into, column in zip(flights, values):
        into[rows] = column
