"""A path over a cell of time: a parabola; with drag, but for what it is off.

    p(m + s) = x + g + v s + (1 + c) h s^2 + d,   p'(m + s) = v + 2 (1 + c') h s + d',   |s| <= w,

c and c' no larger than `bend`, d and d' than `off` and `off_speed` along each axis. Without drag d is roundoff. Short cells are
expanded about their middle (`drag_time.py`). Over long ones the path is a line with its last velocity, and what is left of the
exponential is in d.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device
from thud.constants import UNIT_ROUNDOFF
from thud.particles.crossings.drag_time import cell_bend, phi_psi
from thud.particles.crossings.path_columns import DRAG, SIZE, A, V
from thud.particles.crossings.tolerances import DRAG_SERIES


@exact_device
def dragged_cell(local, m, w):
    """(g, v, h, off, off_speed, bend) of the cell m +- w; outward rounded."""
    rate = local[DRAG]
    fast = abs(local[V]) + abs(local[V + 1]) + abs(local[V + 2])
    pull = abs(local[A]) + abs(local[A + 1]) + abs(local[A + 2])
    if rate * w <= DRAG_SERIES:
        slow, twice = phi_psi(rate, m)
        g = (m * local[V] + twice * local[A], m * local[V + 1] + twice * local[A + 1], m * local[V + 2] + twice * local[A + 2])
        v = (local[V] + slow * local[A], local[V + 1] + slow * local[A + 1], local[V + 2] + slow * local[A + 2])
        half = 0.5 * math.exp(-rate * m)
        h = (half * local[A], half * local[A + 1], half * local[A + 2])
        off = 16.0 * UNIT_ROUNDOFF * (local[SIZE] + abs(m) * fast + twice * pull)
        # Roundoff of the acceleration is a factor, as the bend is.
        bend = cell_bend(rate, w) + 16.0 * UNIT_ROUNDOFF * (1.0 + rate * abs(m)) if w > 0.0 else 0.0
        return g, v, h, off, 16.0 * UNIT_ROUNDOFF * (fast + abs(slow) * pull), bend
    # The roundoff that widens a cell may be long: no cell begins before the path.
    early, late = math.exp(-rate * max(m - w, 0.0)), math.exp(-rate * (m + w))
    left, spread = 0.5 * (early + late), 0.5 * (early - late)
    one = 1.0 / rate
    v = (local[V] + one * local[A], local[V + 1] + one * local[A + 1], local[V + 2] + one * local[A + 2])
    back = one * one * (1.0 - left)
    g = (m * v[0] - back * local[A], m * v[1] - back * local[A + 1], m * v[2] - back * local[A + 2])
    noise = 16.0 * UNIT_ROUNDOFF
    off = one * one * pull * spread * (1.0 + noise) + noise * (local[SIZE] + m * (fast + one * pull) + one * one * pull)
    off_speed = one * pull * early * (1.0 + noise) + noise * (fast + one * pull)
    return g, v, (0.0, 0.0, 0.0), off, off_speed, 0.0


@exact_device
def path_cell(local, m, w):
    """(g, v, h, off, off_speed, bend) of the cell m +- w of any path; outward rounded."""
    if local[DRAG] != 0.0:
        return dragged_cell(local, m, w)
    fast = abs(local[V]) + abs(local[V + 1]) + abs(local[V + 2])
    pull = abs(local[A]) + abs(local[A + 1]) + abs(local[A + 2])
    h = (0.5 * local[A], 0.5 * local[A + 1], 0.5 * local[A + 2])
    g = (m * (local[V] + m * h[0]), m * (local[V + 1] + m * h[1]), m * (local[V + 2] + m * h[2]))
    v = (local[V] + m * local[A], local[V + 1] + m * local[A + 1], local[V + 2] + m * local[A + 2])
    off = 8.0 * UNIT_ROUNDOFF * (local[SIZE] + m * (fast + m * pull))
    return g, v, h, off, 4.0 * UNIT_ROUNDOFF * (fast + m * pull), 0.0
