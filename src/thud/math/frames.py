"""Frames from directions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def frame_of(d: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """(3, 3) a rotation whose first row is the unit vector d."""
    other = np.eye(3)[np.abs(d).argmin()]
    second = np.cross(other, d)
    second /= np.linalg.norm(second)
    return np.stack([d, second, np.cross(d, second)])
