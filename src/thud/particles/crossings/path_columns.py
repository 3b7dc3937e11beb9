"""Columns of a path's row `local`, the path in a collider's frame.

Place, velocity, acceleration; the rest of the three; velocity of arrival; the largest coordinate of the path's start and of the
collider; the slack of boxes; up to three times at which a coordinate turns and, with drag, one from which on it is straight,
then the end; the rate of drag.
"""

from __future__ import annotations

X, V, A, REST, CAME, SIZE, SLACK, TURNS, DRAG = 0, 3, 6, 9, 18, 21, 22, 23, 28
LOCAL = 29

# The rate of drag in a row of `paths` (`flight_rows.py`).
PATH_DRAG = 9
