"""What queries find their way by, planes, tree and bounding maps of a surface, as bytes to be stored and mapped into memory.

Little-endian. First 64 bytes: `MAGIC`, version (u4), number of sections (u4), bytes in all (u8), zeros (u8), a digest of the
surface that the index was made for (16 bytes), a digest of all that follows (16 bytes). Then of each section its offset and its
number of values (u8 each), then the sections, in the order of `SurfaceIndex`, each from a multiple of 64 bytes on.

What a file says is checked before it is believed: a wrong index is a named error, and no walk over one that passed leaves its
arrays or goes on for ever.
"""

from __future__ import annotations

import hashlib
import mmap
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud.errors import FileFormatError
from thud.terrain.bounding.maps import FINEST, level_offsets, quad_offsets
from thud.terrain.surface_arrays import LOWER, SIDE, UPPER, SurfaceArrays

#: What an index may be read from.
IndexBytes = bytes | bytearray | memoryview | mmap.mmap | npt.NDArray[np.uint8]

MAGIC = b"thudindx"
VERSION = 1

#: Sections begin at multiples of so many bytes: a cache line, and enough for any type.
_ALIGNED = 64

#: Most levels of the tree: fewer than the walks' stacks have rows, more than a tree in Morton order has.
_LEVELS = 128


class SurfaceIndex(NamedTuple):
    """Of P primitives and Q quads; the columns are those of `surface_arrays.py`."""

    planes: npt.NDArray[np.float64]
    """(P, 8)"""
    node_boxes: npt.NDArray[np.float32]
    """(2 P - 1, 6)"""
    node_ints: npt.NDArray[np.int32]
    """(2 P - 1, 2)"""
    map_ints: npt.NDArray[np.int64]
    """(Q, 3)"""
    lengths: npt.NDArray[np.float32]
    codes: npt.NDArray[np.uint8]
    flat: npt.NDArray[np.uint8]
    unconverged: npt.NDArray[np.int64]
    """Quads whose bounding lengths hold but may not be the tightest."""
    box: npt.NDArray[np.float64]
    """(6,) lowest and highest corner of the surface."""
    rim: npt.NDArray[np.uint8]
    """(Q,) where the surface ends."""
    face_boxes: npt.NDArray[np.float32]
    """(2 P - 1, 6)"""
    fall: npt.NDArray[np.float64]
    """(P, 2)"""


#: Type and width of the sections' rows.
_SECTIONS = (
    ("<f8", 8), ("<f4", 6), ("<i4", 2), ("<i8", 3), ("<f4", 1), ("u1", 1), ("u1", 1), ("<i8", 1), ("<f8", 1), ("u1", 1),
    ("<f4", 6), ("<f8", 2),
)  # fmt: skip
_TABLE = 64
_HEADER = _TABLE + -(-16 * len(_SECTIONS) // _ALIGNED) * _ALIGNED


def _digest(*arrays: Any) -> bytes:
    found = hashlib.blake2b(digest_size=16)
    for array in arrays:
        found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.digest()


def surface_digest(surface: SurfaceArrays) -> bytes:
    """16 bytes that tell a surface from others: of all that its index depends on."""
    arrays = [np.asarray(value) for value in (*surface[:7], surface.ratio, surface.thickness)]
    sizes = np.array([size for array in arrays for size in array.shape], dtype="<i8")
    return _digest(sizes, *(array for array in arrays if array.size))


def _offsets(counts: list[int]) -> tuple[list[int], int]:
    """Where sections of so many values begin, and the bytes in all."""
    found, end = [], _HEADER
    for (kind, _), count in zip(_SECTIONS, counts, strict=True):
        found.append(end)
        end += -(-count * np.dtype(kind).itemsize // _ALIGNED) * _ALIGNED
    return found, end


def index_to_bytes(index: SurfaceIndex, surface: SurfaceArrays) -> bytes:
    """The index of a surface as bytes."""
    counts = [array.size for array in index]
    offsets, size = _offsets(counts)
    out = np.zeros(size, dtype=np.uint8)
    for array, (kind, _), offset in zip(index, _SECTIONS, offsets, strict=True):
        data = np.ascontiguousarray(array, dtype=kind).reshape(-1).view(np.uint8)
        out[offset : offset + len(data)] = data
    out[_TABLE : _TABLE + 16 * len(counts)] = np.column_stack([offsets, counts]).astype("<u8").reshape(-1).view(np.uint8)
    head = MAGIC + np.array([VERSION, len(counts)], "<u4").tobytes() + np.array([size, 0], "<u8").tobytes()
    head += surface_digest(surface) + _digest(out[_TABLE:])
    out[:_TABLE] = np.frombuffer(head, np.uint8)
    return out.tobytes()


def index_from_bytes(data: IndexBytes, surface: SurfaceArrays) -> SurfaceIndex:
    """The index of a surface, its arrays views of the given bytes (unless those do not begin at a multiple of 8)."""
    raw = _as_bytes(data)
    if len(raw) < _HEADER or raw[:8].tobytes() != MAGIC:
        raise FileFormatError(f"index: {len(raw)} bytes that do not begin as an index of a surface does")
    version, sections = raw[8:16].view("<u4").tolist()
    if version != VERSION:
        raise FileFormatError(f"index: version {version}; this thud reads version {VERSION}. Make it anew: index_bytes()")
    size = int(raw[16:24].view("<u8")[0])
    if sections != len(_SECTIONS) or size != len(raw):
        raise FileFormatError(
            f"index: {sections} sections in {size} bytes; expected {len(_SECTIONS)}, and got {len(raw)} bytes"
        )
    table = raw[_TABLE : _TABLE + 16 * sections].view("<u8").reshape(-1, 2).tolist()
    if raw[32:48].tobytes() != surface_digest(surface):
        raise FileFormatError("index: it was made for another surface")
    counts = [count for _, count in table]
    primitives, sides = len(surface.primitives), surface.quads[:, SIDE].astype(np.int64)
    map_ints, lengths, cells = quad_offsets(sides)
    nodes = 2 * primitives - 1
    wanted = [
        8 * primitives,
        6 * nodes,
        2 * nodes,
        3 * len(sides),
        lengths,
        cells,
        cells,
        counts[7],
        6,
        len(sides),
        6 * nodes,
        2 * primitives,
    ]
    offsets, end = _offsets([min(count, size) for count in counts])
    if counts != wanted or counts[7] > len(sides) or [offset for offset, _ in table] != offsets or end != size:
        raise FileFormatError(f"index: sections of {counts} values, {end} bytes; expected {wanted}, one after the other")
    if raw[48:64].tobytes() != _digest(raw[_TABLE:]):
        raise FileFormatError("index: it is damaged; its digest does not fit its content")
    views = [
        _view(raw[offset : offset + count * np.dtype(kind).itemsize], kind, width)
        for (kind, width), offset, count in zip(_SECTIONS, offsets, counts, strict=True)
    ]
    found = SurfaceIndex(*views)
    check_index(found, map_ints, sides, primitives)
    return found


def _as_bytes(data: IndexBytes) -> npt.NDArray[np.uint8]:
    try:
        raw = np.frombuffer(data, dtype=np.uint8)
    except (TypeError, ValueError, BufferError) as error:
        raise FileFormatError(f"index: expected bytes, got {type(data).__name__} ({error})") from None
    return raw if raw.ctypes.data % 8 == 0 else raw.copy()


def _view(part: npt.NDArray[np.uint8], kind: str, width: int) -> npt.NDArray[Any]:
    """Rows of one type. Kernels have one specialisation, for arrays that may be written; they do not write to these."""
    array = part.view(kind)
    array = (array.reshape(-1, width) if width > 1 else array).astype(np.dtype(kind).newbyteorder("="), copy=False)
    if array.flags.writeable:
        return array
    interface = {**array.__array_interface__, "data": (array.ctypes.data, False)}
    return np.asarray(SimpleNamespace(__array_interface__=interface, keep=array))


def check_index(index: SurfaceIndex, map_ints: npt.NDArray[np.int64], sides: npt.NDArray[np.int64], primitives: int) -> None:
    """Named error for numbers that no index has."""
    for name in ("planes", "node_boxes", "lengths", "box", "face_boxes", "fall"):
        if not np.isfinite(getattr(index, name)).all():
            raise FileFormatError(f"index: {name} has a value that is not finite")
    boxes = np.concatenate([index.node_boxes, index.box[None]])
    if (index.planes[:, LOWER] > index.planes[:, UPPER]).any() or (boxes[:, :3] > boxes[:, 3:]).any():
        raise FileFormatError("index: a lower plane or side of a box lies above the upper one")
    if not np.array_equal(index.map_ints, map_ints):
        raise FileFormatError("index: map_ints are not the offsets of the quads' bounding maps")
    if (index.rim > 15).any():
        raise FileFormatError("index: rim has bits of edges that a quad has not")
    if ((index.unconverged < 0) | (index.unconverged >= len(sides))).any():
        raise FileFormatError(f"index: unconverged names a quad outside 0 .. {len(sides) - 1}")
    _check_tree(index.node_ints[:, 0].astype(np.int64), index.node_ints[:, 1].astype(np.int64), primitives)
    # A level skips at most the levels below it.
    for side in np.unique(sides).tolist():
        rows = np.flatnonzero(sides == side)
        coarsest = size = int(map_ints[rows[0], 2])
        while size >= FINEST:
            begin = map_ints[rows, 1] + level_offsets(side, coarsest, size)[1]
            below = int(np.log2(size // FINEST))
            if (index.flat[begin[:, None] + np.arange((side // size) ** 2)] > below).any():
                raise FileFormatError("index: flat skips more levels than there are")
            size //= 2


def _check_tree(skip: npt.NDArray[np.int64], item: npt.NDArray[np.int64], primitives: int) -> None:
    nodes = np.arange(len(skip))
    if (skip <= nodes).any() or (skip > len(skip)).any() or skip[0] != len(skip):
        raise FileFormatError("index: a node of the tree skips out of range")
    leaf = skip == nodes + 1
    if not np.array_equal(leaf, item >= 0) or not np.array_equal(np.sort(item[leaf]), np.arange(primitives)):
        raise FileFormatError("index: the leaves of the tree are not the primitives, once each")
    inner = nodes[~leaf]
    right = skip[inner + 1]
    if (right >= skip[inner]).any() or (skip[np.minimum(right, len(skip) - 1)] != skip[inner]).any():
        raise FileFormatError("index: the children of a node of the tree do not fill its subtree")
    change = np.bincount(inner + 1, minlength=len(skip) + 1) - np.bincount(skip[inner], minlength=len(skip) + 1)
    if np.cumsum(change).max() > _LEVELS:
        raise FileFormatError(f"index: the tree has more than {_LEVELS} levels")
