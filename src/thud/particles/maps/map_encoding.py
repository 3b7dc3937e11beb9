"""Numbers in the channels of impact maps: float32 as they are, or 8 bits a channel. 3.4.3, 3.5.1, 3.5.2."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats
from thud.particles.colliders.collider_set import ColliderSet, HasElements

Bytes = npt.NDArray[np.uint8]

#: Colliders that 8 bits distinguish; 0 means no impact.
MOST_IDS = 255

#: Parts of a side of the box that three channels of 8 bits distinguish.
PLACES = 2**24


def time_offsets(time: Floats, t0: float, t1: float) -> Floats:
    """Offsets in [0, 1) of times in [t0, t1); below 1 as float32 too."""
    offset = (np.asarray(time) - t0) / (t1 - t0)
    return np.clip(offset, 0.0, float(np.nextafter(np.float32(1.0), np.float32(0.0))))


def time_bytes(offset: Floats) -> Bytes:
    """Which of 256 equal parts of the interval."""
    return np.floor(np.asarray(offset, dtype=float) * 256.0).astype(np.uint8)


def time_from_bytes(value: npt.NDArray[np.uint8]) -> Floats:
    """The middle of that part, as an offset."""
    return (value.astype(float) + 0.5) / 256.0


def speed_bytes(speed: Floats, speed_range: tuple[float, float]) -> Bytes:
    """The nearest of 256 speeds from the slowest to the fastest; beyond them the end."""
    low, high = speed_range
    return np.floor(np.clip((np.asarray(speed) - low) / (high - low), 0.0, 1.0) * 255.0 + 0.5).astype(np.uint8)


def speed_from_bytes(value: npt.NDArray[np.uint8], speed_range: tuple[float, float]) -> Floats:
    """That speed, m/s."""
    return speed_range[0] + value.astype(float) / 255.0 * (speed_range[1] - speed_range[0])


def place_bytes(point: Floats, box: Floats) -> Bytes:
    """(M, 3, 3) x, y and z of (M, 3) points, each one of 2**24 equal parts of the box's side, highest byte first."""
    size = box[3:] - box[:3]
    part = np.clip((point - box[:3]) / np.where(size > 0.0, size, 1.0), 0.0, 1.0)
    whole = np.minimum(np.floor(part * PLACES), PLACES - 1).astype(np.int64)
    return np.stack([whole >> 16, (whole >> 8) & 255, whole & 255], axis=-1).astype(np.uint8)


def place_from_bytes(value: Bytes, box: Floats) -> Floats:
    """(M, 3) the middles of those parts."""
    whole = (value.astype(np.int64) * np.array([65536, 256, 1])).sum(axis=-1)
    return box[:3] + (whole + 0.5) / PLACES * (box[3:] - box[:3])


def scene_box(colliders: ColliderSet, extent: float) -> Floats:
    """(6,) box of all colliders; what has no end counts up to 1.5 extents (a window's diagonal) from its own point, metres."""
    boxes = []
    for collider in colliders.colliders:
        if isinstance(collider, HasElements):
            for element in collider.elements():
                low, high = element.box[:3], element.box[3:]
                boxes.append(
                    np.concatenate([
                        np.where(np.isfinite(low), low, np.minimum(element.origin, high) - 1.5 * extent),
                        np.where(np.isfinite(high), high, np.maximum(element.origin, low) + 1.5 * extent),
                    ])
                )  # fmt: skip
        else:
            boxes.append(np.asarray(collider.box()))  # type: ignore[attr-defined]
    if not boxes:
        return np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    every = np.array(boxes)
    return np.concatenate([every[:, :3].min(axis=0), every[:, 3:].max(axis=0)])
