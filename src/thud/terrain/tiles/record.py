"""A tile as bytes: a fixed layout that kernels read in place. docs/terrain_store.md has the table.

Little-endian. First 64 bytes: `MAGIC`, version (u4), kind (u4), key i, j, k (i4 each), number of sections (u4), bytes in all
(u8), zeros (u8), a digest of all else (16 bytes). Then of each section its offset and its number of values (u8 each), then the
sections, in the order of the kind's table, each from the next multiple of 16 bytes on, and zeros up to `LEAST_RECORD`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from thud.errors import DamagedStoreError, InvalidInputError, StoreVersionError
from thud.terrain.tiles.tolerances import LARGEST_RECORD, LEAST_RECORD

MAGIC = b"thudtile"
VERSION = 1

#: Kinds of tiles by number.
TRIANGLES, HEIGHTS, DISPLACED = 1, 2, 3
KINDS = {"triangles": TRIANGLES, "heights": HEIGHTS, "displaced": DISPLACED}
KIND_NAMES = {number: name for name, number in KINDS.items()}

_HEAD = np.dtype(
    [
        ("magic", "S8"),
        ("version", "<u4"),
        ("kind", "<u4"),
        ("key", "<i4", 3),
        ("sections", "<u4"),
        ("size", "<u8"),
        ("zero", "<u8"),
        ("digest", "V16"),
    ]
)
_HEADER = _HEAD.itemsize
_DIGEST = slice(_HEAD.fields["digest"][1], _HEADER)  # type: ignore[index]
_ALIGNED = 16

#: Sections that every kind has first: (name, type, values a row; 0 for a single run).
_TREE = (("origin", "<f8", 0), ("nodes", "<i4", 8))

#: All sections of each kind.
SECTIONS: dict[int, tuple[tuple[str, str, int], ...]] = {
    TRIANGLES: (*_TREE, ("corners", "<f4", 9), ("planes", "<f8", 4), ("faces", "<i4", 3)),
    HEIGHTS: (
        *_TREE,
        ("blocks", "<i4", 5),
        ("sizes", "<i8", 0),
        ("numbers", "<f8", 0),
        ("heights64", "<f8", 0),
        ("heights32", "<f4", 0),
        ("heights16", "<i2", 0),
        ("nodes64", "<f8", 2),
        ("nodes32", "<f4", 2),
        ("nodes16", "<i2", 2),
    ),
    DISPLACED: (
        *_TREE,
        ("blocks", "<i4", 5),
        ("sizes", "<i8", 0),
        ("numbers", "<f8", 0),
        ("vertices", "<f8", 6),
        ("coordinates", "<i4", 2),
        ("primitives", "<i4", 6),
        ("quads", "<i4", 5),
        ("displacements", "<f4", 0),
        ("details", "<f4", 0),
        ("fade", "|u1", 0),
        ("planes", "<f8", 8),
        ("node_boxes", "<f4", 6),
        ("node_ints", "<i4", 2),
        ("map_ints", "<i8", 3),
        ("lengths", "<f4", 0),
        ("codes", "|u1", 0),
        ("flat", "|u1", 0),
        ("unconverged", "<i8", 0),
        ("box", "<f8", 0),
        ("rim", "|u1", 0),
        ("face_boxes", "<f4", 6),
        ("fall", "<f8", 2),
    ),
}


class TileKey(NamedTuple):
    """Place of a tile in the grid of tiles: along x, y and z. A grid of one layer has k = 0."""

    i: int
    j: int
    k: int = 0


#: Keys go from -LIMIT to LIMIT - 1.
_KEY_LIMIT = 2**31


def as_key(key: Any) -> TileKey:
    """The gate of a key: two or three whole numbers."""
    if type(key) is TileKey:
        return key
    try:
        numbers = tuple(int(number) for number in key)
        whole = all(number == given for number, given in zip(numbers, key))
    except (TypeError, ValueError, OverflowError):
        numbers, whole = (), False
    if not whole or len(numbers) not in (2, 3) or not all(-_KEY_LIMIT <= number < _KEY_LIMIT for number in numbers):
        raise InvalidInputError(f"key: expected two or three whole numbers (i, j[, k]) below 2^31, got {key!r}")
    return TileKey(*numbers)


class Record(NamedTuple):
    """A record taken apart: what its head says, and its sections as arrays in the record's own memory."""

    kind: int
    key: TileKey
    digest: bytes
    arrays: dict[str, npt.NDArray[Any]]


def _offsets(kind: int, counts: list[int]) -> tuple[list[int], int]:
    """Where sections of so many values begin, and the bytes in all."""
    table = SECTIONS[kind]
    found, end = [], -(-(_HEADER + 16 * len(table)) // _ALIGNED) * _ALIGNED
    for (_, dtype, _), count in zip(table, counts, strict=True):
        found.append(end)
        end += -(-count * np.dtype(dtype).itemsize // _ALIGNED) * _ALIGNED
    return found, max(end, LEAST_RECORD)


def _digest(raw: npt.NDArray[np.uint8]) -> bytes:
    """Of all but the digest itself."""
    found = hashlib.blake2b(raw[: _DIGEST.start].data, digest_size=16)
    found.update(raw[_HEADER:].data)
    return found.digest()


def pack(kind: int, key: TileKey, arrays: Mapping[str, npt.NDArray[Any]]) -> bytes:
    """A record of these sections. The same arrays give the same bytes."""
    table = SECTIONS[kind]
    flat = [np.ascontiguousarray(arrays[name], dtype=dtype).reshape(-1) for name, dtype, _ in table]
    counts = [array.size for array in flat]
    offsets, size = _offsets(kind, counts)
    if size > LARGEST_RECORD:
        raise InvalidInputError(f"tile {tuple(key)}: {size} bytes; expected at most {LARGEST_RECORD}. Make tiles smaller")
    out = np.zeros(size, np.uint8)
    for array, offset in zip(flat, offsets, strict=True):
        out[offset : offset + array.nbytes] = array.view(np.uint8)
    rows = np.column_stack([offsets, counts]).astype("<u8").reshape(-1).view(np.uint8)
    out[_HEADER : _HEADER + len(rows)] = rows
    head = out[:_HEADER].view(_HEAD)[0]
    head["magic"], head["version"], head["kind"], head["key"] = MAGIC, VERSION, kind, key
    head["sections"], head["size"] = len(table), size
    out[_DIGEST] = np.frombuffer(_digest(out), np.uint8)
    return out.tobytes()


def unpack(data: Any, *, checksum: bool = True, keep: object = None) -> Record:
    """Take a record apart. Its head, offsets, counts and checksum are checked here; what the numbers mean, by `check.py`.

    Parameters
    ----------
    data : bytes or a view of them; without a copy if they begin at a multiple of 8
    checksum : whether to compute it and compare
    keep : what the arrays hold on to as long as they are used, such as the transaction whose memory they are
    """
    raw = np.frombuffer(data, np.uint8)
    if raw.ctypes.data % 8:
        raw = raw.copy()
    if len(raw) < LEAST_RECORD or raw[:8].tobytes() != MAGIC:
        raise DamagedStoreError(f"{len(raw)} bytes that do not begin as a tile does")
    head = raw[:_HEADER].view(_HEAD)[0]
    key, kind = TileKey(*head["key"].tolist()), int(head["kind"])
    if head["version"] != VERSION:
        raise StoreVersionError(f"tile {tuple(key)}: version {head['version']}; this thud reads version {VERSION}")
    table = SECTIONS.get(kind, ())
    if not table or head["sections"] != len(table) or head["size"] != len(raw) or head["zero"] != 0:
        raise DamagedStoreError(
            f"tile {tuple(key)}: kind {kind}, {head['sections']} sections in {head['size']} of {len(raw)} bytes"
        )
    rows = raw[_HEADER : _HEADER + 16 * len(table)].view("<u8").reshape(-1, 2).tolist()
    offsets, size = _offsets(kind, [count for _, count in rows])
    if [offset for offset, _ in rows] != offsets or size != len(raw):
        raise DamagedStoreError(f"tile {tuple(key)}: sections do not lie one after the other inside the record")
    if checksum and raw[_DIGEST].tobytes() != _digest(raw):
        raise DamagedStoreError(f"tile {tuple(key)}: its checksum does not fit its content")
    arrays = {}
    for (name, dtype, width), (offset, count) in zip(table, rows, strict=True):
        if width and count % width:
            raise DamagedStoreError(f"tile {tuple(key)}: {name} has {count} values; expected rows of {width}")
        part = raw[offset : offset + count * np.dtype(dtype).itemsize].view(dtype)
        arrays[name] = kernel_view(part.reshape(-1, width) if width else part, keep)
    return Record(kind, key, raw[_DIGEST].tobytes(), arrays)


def record_key(data: Any) -> TileKey:
    """The key that a record has inside."""
    return TileKey(*np.frombuffer(data, _HEAD, 1)["key"][0].tolist())


def record_digest(data: Any) -> bytes:
    """The digest that a record has inside."""
    return bytes(memoryview(data)[_DIGEST])


def sealed(data: Any) -> bytes:
    """The same record with the digest that fits its bytes."""
    out = np.frombuffer(data, np.uint8).copy()
    out[_DIGEST] = np.frombuffer(_digest(out), np.uint8)
    return out.tobytes()


def kernel_view(array: npt.NDArray[Any], keep: object = None) -> npt.NDArray[Any]:
    """The same memory in the machine's byte order, as kernels take it, and a hold on `keep`.

    Kernels have one specialisation, for arrays that may be written. They do not write to these; whoever does ends the process.
    """
    array = array.astype(array.dtype.newbyteorder("="), copy=False)
    interface = {**array.__array_interface__, "data": (array.ctypes.data, False)}
    return np.asarray(SimpleNamespace(__array_interface__=interface, array=array, keep=keep))
