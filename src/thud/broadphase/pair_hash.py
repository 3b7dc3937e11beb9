"""A set of pairs as a hash table in a flat array: open addressing, linear probing, no tombstones."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.broadphase.pair_set import Keys, allowed

#: A free place. No pair has this key.
EMPTY = np.uint64(0xFFFFFFFFFFFFFFFF)

#: Marks a change that takes a pair out of the set; objects have fewer than 2^31 rows.
REMOVE = np.uint64(1 << 63)


@device
def home_of(table, key):
    """The place that a key belongs to."""
    mask = np.uint64(table.shape[0] - 1)
    return ((key * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(24)) & mask


@device
def place_of(table, key):
    """Where the key is, or the free place where it would be put."""
    mask, at = np.uint64(table.shape[0] - 1), home_of(table, key)
    while table[at] != EMPTY and table[at] != key:
        at = (at + np.uint64(1)) & mask
    return at


@device
def take_out(table, at):
    """Free a place, and move up those behind it that had been pushed past it."""
    mask = np.uint64(table.shape[0] - 1)
    hole, at = at, (at + np.uint64(1)) & mask
    while table[at] != EMPTY:
        # It may move to the hole if that lies between its home and its place, around the end of the table.
        if (at - home_of(table, table[at])) & mask >= (at - hole) & mask:
            table[hole] = table[at]
            hole = at
        at = (at + np.uint64(1)) & mask
    table[hole] = EMPTY


@kernel("u8[::1], u8[::1], u8[:,::1]")
def change_pairs(table, changes, rules):
    """Put in the pairs that the rules allow, take out those marked REMOVE. Returns by how much the number has grown.

    The table's length is a power of two, and it never gets full."""
    grown = 0
    for k in range(changes.shape[0]):
        key = changes[k] & ~REMOVE
        at = place_of(table, key)
        if changes[k] != key:
            if table[at] == key:
                take_out(table, at)
                grown -= 1
        elif table[at] == EMPTY and allowed(rules, np.int64(key >> np.uint64(32)), np.int64(key & np.uint64(0xFFFFFFFF))):
            table[at] = key
            grown += 1
    return grown


@kernel("u8[::1], u8[::1]")
def list_pairs(table, out):
    """The pairs in the set, in no order. Returns how many."""
    found = 0
    for k in range(table.shape[0]):
        if table[k] != EMPTY:
            out[found] = table[k]
            found += 1
    return found


class PairHash:
    """A set of pairs that is changed a little from frame to frame."""

    def __init__(self) -> None:
        self._table: Keys = np.full(16, EMPTY, np.uint64)
        self.count = 0

    def clear(self) -> None:
        """Take all out."""
        self._table[:] = EMPTY
        self.count = 0

    def change(self, changes: Keys, rules: Keys) -> None:
        """Put in and take out, in order. The table is kept at most half full."""
        if 2 * (self.count + len(changes)) > len(self._table):
            kept = self.keys()
            self._table = np.full(1 << (4 * (len(kept) + len(changes))).bit_length(), EMPTY, np.uint64)
            change_pairs(self._table, kept, np.empty((0, 3), np.uint64))
        self.count += change_pairs(self._table, changes, rules)

    def keys(self) -> Keys:
        """(count,) keys, in no order."""
        out = np.empty(self.count, np.uint64)
        list_pairs(self._table, out)
        return out
