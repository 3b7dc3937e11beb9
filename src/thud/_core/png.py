"""PNG files, with what Python brings."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import numpy.typing as npt


def png_bytes(pixels: npt.NDArray[np.uint8]) -> bytes:
    """(height, width, 3) colours, or 4 with how opaque, as a PNG file.

    Each row is stored as its difference from the one above, which packs well.
    """
    height, width, channels = pixels.shape
    rows = np.empty((height, 1 + channels * width), dtype=np.uint8)
    flat = pixels.reshape(height, -1)
    rows[0, 0], rows[1:, 0] = 0, 2
    rows[0, 1:] = flat[0]
    rows[1:, 1:] = flat[1:] - flat[:-1]
    header = struct.pack(">IIBBBBB", width, height, 8, 2 if channels == 3 else 6, 0, 0, 0)
    packed = zlib.compress(rows.tobytes(), 9)
    return b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + _chunk(b"IDAT", packed) + _chunk(b"IEND", b"")


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
