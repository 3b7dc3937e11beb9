"""The pages of an LMDB file, read without LMDB: how long the file must be, and where each value lies in it.

LMDB believes what its file says. It maps the file as long as its meta pages say, so that a file cut short ends the process
with SIGBUS, and follows offsets inside pages unchecked. Here every number is checked before it is used. The layout is that of
LMDB 0.9 (data version 1) on 64-bit little-endian machines:

- page: number (u8), pad (u2), flags (u2), lower and upper end of its free room (u2 each) or, of an overflow page, the pages
  in its run (u4); then of branches and leaves the offsets of the nodes (u2 each);
- node: two halves of the value's size (u2 each), flags (u2), size of the key (u2), key, value. In a branch size and flags are
  the number of a page. A large value is the number of the first page of a run, 16 bytes into which it begins;
- pages 0 and 1 are the two metas, written in turn: magic (u4), version (u4), address (u8), size of the map (u8), two trees of
  48 bytes (free pages, values), last page (u8), transaction (u8). That with the later transaction counts.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

from thud.errors import DamagedStoreError, ForeignStoreError, StoreVersionError, TruncatedStoreError
from thud.terrain.tiles.tolerances import LARGEST_MAP, PAGE_LEVELS

#: Name of the file in the folder of a store.
DATA_FILE = "data.mdb"

_MAGIC, _VERSION = 0xBEEFC0DE, 1
_BRANCH, _LEAF, _OVERFLOW, _META = 1, 2, 4, 8
_BIG_VALUE = 1
_HEADER = 16
_NO_PAGE = 2**64 - 1

#: Page number, pad, flags, lower, upper.
_PAGE = struct.Struct("<QHHHH")
#: Magic, version, address, map size.
_META_HEAD = struct.Struct("<IIQQ")
#: Page size (in the first), flags, depth, branch, leaf and overflow pages, entries, root.
_TREE = struct.Struct("<IHHQQQQQ")
#: Last page, transaction.
_META_END = struct.Struct("<QQ")
_NODE = struct.Struct("<HHHH")
_META_SIZE = _META_HEAD.size + 2 * _TREE.size + _META_END.size

#: Bytes of a range of the file: (offset, size) -> bytes.
Read = Callable[[int, int], bytes]


class Tree(NamedTuple):
    """One of LMDB's trees."""

    depth: int
    entries: int
    root: int


class Meta(NamedTuple):
    """What counts of the two meta pages."""

    page_size: int
    last_page: int
    transaction: int
    free: Tree
    """Pages that are free again, by the transaction that freed them."""
    main: Tree
    """Keys and values."""


class Place(NamedTuple):
    """Where a value lies in the file, bytes."""

    offset: int
    size: int


def read_meta(read: Read, size: int, *, transaction: int | None = None) -> Meta | None:
    """The meta page that counts, checked against the size of the file; of the given transaction, or None if it is gone."""
    first = _one_meta(read(0, _HEADER + _META_SIZE), 0)
    page_size = first[1]
    second = _one_meta(read(page_size, _HEADER + _META_SIZE), 1)
    if second[1] != page_size:
        raise DamagedStoreError(f"its meta pages speak of pages of {page_size} and {second[1]} bytes")
    found = [meta for meta, _ in (first, second) if transaction is None or meta.transaction == transaction]
    if not found:
        return None
    meta = max(found, key=lambda one: one.transaction)
    wanted = (meta.last_page + 1) * page_size
    if wanted > size:
        raise TruncatedStoreError(f"it is {size} bytes long; its meta pages speak of {wanted}")
    return meta


def _one_meta(page: bytes, number: int) -> tuple[Meta, int]:
    if len(page) < _HEADER + _META_SIZE:
        raise TruncatedStoreError("it ends before its meta pages do")
    _, _, flags, _, _ = _PAGE.unpack_from(page)
    magic, version, _, map_size = _META_HEAD.unpack_from(page, _HEADER)
    if magic != _MAGIC or flags & _META == 0:
        raise ForeignStoreError("it does not begin as a file of LMDB does")
    if version != _VERSION:
        raise StoreVersionError(f"version {version} of LMDB's files; this thud reads version {_VERSION}")
    trees = [_TREE.unpack_from(page, _HEADER + _META_HEAD.size + k * _TREE.size) for k in range(2)]
    last_page, transaction = _META_END.unpack_from(page, _HEADER + _META_HEAD.size + 2 * _TREE.size)
    page_size = trees[0][0]
    if not 512 <= page_size <= 65536 or page_size & (page_size - 1):
        raise DamagedStoreError(f"meta page {number}: pages of {page_size} bytes")
    if map_size > LARGEST_MAP or last_page >= LARGEST_MAP // page_size or last_page < 1:
        raise DamagedStoreError(f"meta page {number}: {last_page + 1} pages in a map of {map_size} bytes")
    for _, tree_flags, depth, _, _, _, entries, root in trees:
        # The tree of free pages has whole numbers for keys.
        if depth > PAGE_LEVELS or (root == _NO_PAGE) != (entries == 0) or (root != _NO_PAGE and not 2 <= root <= last_page):
            raise DamagedStoreError(f"meta page {number}: a tree of {depth} levels from page {root} on")
        if tree_flags & ~_META:
            raise ForeignStoreError("it has a database of LMDB with flags that no store of tiles has")
    free, main = (Tree(depth, entries, root) for _, _, depth, _, _, _, entries, root in trees)
    return Meta(page_size, last_page, transaction, free, main), page_size


def values(read: Read, meta: Meta) -> Iterator[tuple[bytes, Place]]:
    """Keys in order and where their values lie."""
    last = b""
    for key, place in _values(read, meta, meta.main):
        if last and key <= last:
            raise DamagedStoreError("the keys of its tree are not in order")
        last = key
        yield key, place


def check_free_pages(read: Read, meta: Meta) -> None:
    """Named error unless the list of free pages, from which a writer takes, is one: whole numbers of pages that are there."""
    for key, place in _values(read, meta, meta.free):
        count = int.from_bytes(read(place.offset, 8), "little") if place.size >= 8 else -1
        if len(key) != 8 or place.size < 8 * (count + 1) or count < 0:
            raise DamagedStoreError("its list of free pages is damaged")
        pages = struct.unpack(f"<{count}Q", read(place.offset + 8, 8 * count))
        if any(not 2 <= page <= meta.last_page for page in pages) or list(pages) != sorted(set(pages), reverse=True):
            raise DamagedStoreError("its list of free pages names some that are not there")


def _values(read: Read, meta: Meta, tree: Tree) -> Iterator[tuple[bytes, Place]]:
    """Keys and where their values lie. Every page is looked at once at most."""
    if tree.root == _NO_PAGE:
        return
    found = 0
    seen: set[int] = set()
    for page, number in _leaves(read, meta, tree.root, tree.depth, seen):
        for offset in _nodes(page, number):
            low, high, flags, key_size = _NODE.unpack_from(page, offset)
            size, begin = low | high << 16, offset + _NODE.size + key_size
            key = page[offset + _NODE.size : begin]
            if flags & ~_BIG_VALUE or begin > meta.page_size:
                raise DamagedStoreError(f"page {number} of its tree: a node with flags {flags} and a key of {key_size} bytes")
            if flags & _BIG_VALUE:
                if begin + 8 > meta.page_size:
                    raise DamagedStoreError(f"page {number} of its tree: a node that leaves it")
                place = _run(read, meta, int.from_bytes(page[begin : begin + 8], "little"), size)
            elif begin + size > meta.page_size:
                raise DamagedStoreError(f"page {number} of its tree: a value that leaves it")
            else:
                place = Place(number * meta.page_size + begin, size)
            found += 1
            yield key, place
    if found != tree.entries:
        raise DamagedStoreError(f"its tree has {found} values; the meta page says {tree.entries}")


def _run(read: Read, meta: Meta, first: int, size: int) -> Place:
    """The value of so many bytes in the run of pages from `first` on."""
    pages = -(-(size + _HEADER) // meta.page_size)
    if not 2 <= first <= meta.last_page or first + pages - 1 > meta.last_page:
        raise DamagedStoreError(f"a value of {size} bytes from page {first} on; the last is {meta.last_page}")
    head = read(first * meta.page_size, _HEADER)
    number, _, flags, _, _ = _PAGE.unpack(head)
    if number != first or flags != _OVERFLOW or int.from_bytes(head[12:16], "little") != pages:
        raise DamagedStoreError(f"page {first} does not begin a run of {pages} pages")
    return Place(first * meta.page_size + _HEADER, size)


def _leaves(read: Read, meta: Meta, number: int, depth: int, seen: set[int]) -> Iterator[tuple[bytes, int]]:
    """Leaf pages below a page, in order."""
    if number in seen or not 2 <= number <= meta.last_page:
        raise DamagedStoreError(f"its tree leads to page {number}, which is taken or not there")
    seen.add(number)
    page = read(number * meta.page_size, meta.page_size)
    own, _, flags, lower, upper = _PAGE.unpack_from(page)
    wanted = _LEAF if depth <= 1 else _BRANCH
    if own != number or flags != wanted or not _HEADER <= lower <= upper <= meta.page_size or lower % 2:
        raise DamagedStoreError(f"page {number} of its tree is none: number {own}, flags {flags}, {lower} to {upper}")
    if depth <= 1:
        yield page, number
        return
    for offset in _nodes(page, number):
        low, high, top, _ = _NODE.unpack_from(page, offset)
        yield from _leaves(read, meta, low | high << 16 | top << 32, depth - 1, seen)


def _nodes(page: bytes, number: int) -> tuple[int, ...]:
    """Offsets of the nodes of a page, each inside it."""
    _, _, _, lower, upper = _PAGE.unpack_from(page)
    count = (lower - _HEADER) // 2
    offsets = struct.unpack_from(f"<{count}H", page, _HEADER)
    if any(not upper <= offset <= len(page) - _NODE.size for offset in offsets):
        raise DamagedStoreError(f"page {number} of its tree: a node outside it")
    return offsets


def file_reader(file: BinaryIO) -> Read:
    """Reads of an open file."""

    def read(offset: int, size: int) -> bytes:
        file.seek(offset)
        return file.read(size)

    return read


def check_file(folder: Path) -> None:
    """Named error unless the file's meta pages are whole and it is as long as they say: else LMDB must not map it."""
    path = folder / DATA_FILE
    if not folder.exists():
        raise FileNotFoundError(f"{folder}: no such folder")
    if not path.is_file():
        what = f"it has no file {DATA_FILE}" if folder.is_dir() else "it is a file; expected a folder"
        raise ForeignStoreError(f"{folder}: no store of tiles: {what}")
    with open(path, "rb") as file:
        try:
            read_meta(file_reader(file), os.fstat(file.fileno()).st_size)
        except (DamagedStoreError, ForeignStoreError, StoreVersionError) as error:
            raise type(error)(f"{path}: {error}") from None
