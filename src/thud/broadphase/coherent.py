"""Temporal coherence for any broad phase: pairs of fattened boxes serve until a box leaves its fat one.

Objects tend to be near where they were a frame ago ([Slides], strategies). Each box is fattened by what it is expected to move
in the next frames; the pairs of fat boxes are the candidates, found by another broad phase. A frame then costs one look at each
box and one at each candidate. Boxes that leave their fat ones are put in anew one by one if they are few, else all begin anew.
Where boxes move too fast for that to pay, every frame begins anew, without fat.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.broadphase.boxes import STATIC, Boxes
from thud.broadphase.brute import columns, load_box
from thud.broadphase.pair_set import Keys, PairCollector, boxes_overlap, keep_allowed, scan_run

#: Frames that a box is to stay in its fat one.
LIFE = 10.0

#: The same for few boxes. Up to so many lie in the processor's caches, where a look at a candidate costs a tenth, so that more
#: of them are worth fewer beginnings.
FEW_LIFE, FEW_BOXES = 30.0, 4096

#: Fat on each side as a fraction of the box's longest edge: least and most. Twice 0.15 makes 2.2 times the volume.
LEAST_FAT, MOST_FAT = 0.01, 0.15

#: Boxes that are put in anew one by one, each by a scan of all: at most this many, and this fraction.
FEW, FEW_OF = 8, 1.0 / 2000.0

#: A set of candidates that serves fewer frames than this does not pay; then so many frames go without fat.
SHORT_LIFE, PAUSE = 4, 16


class BroadPhase(Protocol):
    """Boxes in, sorted pairs out; it may keep what it likes from frame to frame."""

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs that the rules allow, sorted."""
        ...


@device
def is_inside(bounds, fat, i):
    """Whether box i lies in its fat one."""
    return (
        bounds[i, 0] >= fat[i, 0] and bounds[i, 1] >= fat[i, 1] and bounds[i, 2] >= fat[i, 2]
        and bounds[i, 3] <= fat[i, 3] and bounds[i, 4] <= fat[i, 4] and bounds[i, 5] <= fat[i, 5]
    )  # fmt: skip


@kernel("f8[:,::1], f8[:,::1], i8[::1]")
def find_escaped(bounds, fat, escaped_out):
    """How many boxes left their fat ones, and which, as far as escaped_out reaches."""
    found = 0
    for i in range(bounds.shape[0]):
        if not is_inside(bounds, fat, i):
            if found < escaped_out.shape[0]:
                escaped_out[found] = i
            found += 1
    return found


@device
def fatten_box(bounds, before, i, life, least, most, fat_out):
    """Fat box i, see `fatten`. Returns whether the box is so fast that it will be out of it within SHORT_LIFE frames."""
    moved, longest = 0.0, 0.0
    for c in range(6):
        moved = max(moved, abs(bounds[i, c] - before[i, c]))
    for c in range(3):
        longest = max(longest, bounds[i, c + 3] - bounds[i, c])
    # Infinite boxes and those that are not there stay as they are.
    fat = min(max(life * moved, least * longest), most * longest) if 0.0 <= longest < 1e300 and moved < 1e300 else 0.0
    for c in range(3):
        fat_out[i, c], fat_out[i, c + 3] = bounds[i, c] - fat, bounds[i, c + 3] + fat
    return SHORT_LIFE * moved > fat


@kernel("i8, i8, f8[:,::1], f8[:,::1], f8, f8, f8, f8[:,::1]")
def fatten(start, stop, bounds, before, life, least, most, fat_out):
    """Fat boxes: `life` times the last frame's displacement on every side, within limits that go with the box's size.

    Returns how many are so fast that they will be out of it within SHORT_LIFE frames.
    """
    fast = 0
    for i in range(start, stop):
        fast += np.int64(fatten_box(bounds, before, i, life, least, most, fat_out))
    return fast


@kernel("i8, i8, f8[:,::1], i8[:,::1], u8[::1]")
def overlapping_rows(start, stop, bounds, candidates, out):
    """The candidates whose boxes overlap, in order. Returns how many."""
    found = 0
    for k in range(start, stop):
        i, j = candidates[k, 0], candidates[k, 1]
        if boxes_overlap(bounds, i, j):
            if found < out.shape[0]:
                out[found] = (np.uint64(i) << np.uint64(32)) | np.uint64(j)
            found += 1
    return found


@kernel("u8[::1], i8, i8[:,::1]")
def unpack_pairs(keys, first, pairs_out):
    """Keys to rows of pairs_out from `first` on."""
    for k in range(keys.shape[0]):
        pairs_out[first + k, 0] = np.int64(keys[k] >> np.uint64(32))
        pairs_out[first + k, 1] = np.int64(keys[k] & np.uint64(0xFFFFFFFF))


@kernel("i8[:,::1], u1[::1], u8[::1]")
def keep_pairs(candidates, escaped, out):
    """The candidates neither of whose objects escaped. Returns how many."""
    found = 0
    for k in range(candidates.shape[0]):
        if escaped[candidates[k, 0]] == 0 and escaped[candidates[k, 1]] == 0:
            out[found] = (np.uint64(candidates[k, 0]) << np.uint64(32)) | np.uint64(candidates[k, 1])
            found += 1
    return found


@kernel("i8[:,::1], u1[::1], i8[::1], i8, f8[:,::1], i4[::1], u8[:,::1], u8[::1], i8[:,::1]")
def renew_pairs(candidates, is_escaped, escaped, many, fat_columns, order, rules, new, pairs_out):
    """Candidates after `many` boxes were put in anew: those of others as they were, and the pairs of the escaped ones' fat
    boxes with all, two escaped ones once; sorted. Returns how many; negative, the room that `new` or pairs_out needs,
    where it is short."""
    found, room = 0, new.shape[0] - 8
    for k in range(many):
        i = escaped[k]
        before = found
        found = scan_run(fat_columns, order, 0, fat_columns.shape[1] - 8, load_box(fat_columns, i), i, new, found)
        if found > room:
            continue
        # Drop i itself, and escaped ones that were looked at before.
        at = before
        for m in range(before, found):
            a, b = np.int64(new[m] >> np.uint64(32)), np.int64(new[m] & np.uint64(0xFFFFFFFF))
            other = b if a == i else a
            if other != i and not (is_escaped[other] == 1 and other < i):
                new[at] = new[m]
                at += 1
        found = at
    if found > room:
        return -found
    found = keep_allowed(rules, new, found)
    if pairs_out.shape[0] < candidates.shape[0] + found:
        return -(candidates.shape[0] + found)
    # Few of them: by insertion.
    for k in range(1, found):
        key, m = new[k], k
        while m > 0 and new[m - 1] > key:
            new[m] = new[m - 1]
            m -= 1
        new[m] = key
    at, m = 0, 0
    for k in range(candidates.shape[0]):
        i, j = candidates[k, 0], candidates[k, 1]
        if is_escaped[i] == 1 or is_escaped[j] == 1:
            continue
        key = (np.uint64(i) << np.uint64(32)) | np.uint64(j)
        while m < found and new[m] < key:
            pairs_out[at, 0], pairs_out[at, 1] = np.int64(new[m] >> np.uint64(32)), np.int64(new[m] & np.uint64(0xFFFFFFFF))
            at, m = at + 1, m + 1
        pairs_out[at, 0], pairs_out[at, 1] = i, j
        at += 1
    while m < found:
        pairs_out[at, 0], pairs_out[at, 1] = np.int64(new[m] >> np.uint64(32)), np.int64(new[m] & np.uint64(0xFFFFFFFF))
        at, m = at + 1, m + 1
    return at


@kernel("f8[:,::1], i8[::1], i8, f8, f8[:,::1], f8[:,::1], u1[::1]")
def fatten_escaped(bounds, escaped, many, fat_part, fat_out, columns_out, mark_out):
    """New fat boxes of the escaped ones, in both layouts, and a mark on each."""
    for k in range(many):
        i = escaped[k]
        fatten_box(bounds, bounds, i, 1.0, fat_part, fat_part, fat_out)
        for c in range(6):
            columns_out[c, i] = fat_out[i, c]
        mark_out[i] = 1


class Coherent:
    """Another broad phase, asked only when its last answer no longer serves. The pairs are the same."""

    def __init__(self, inner: BroadPhase) -> None:
        self.inner = inner
        self._collector = PairCollector()
        self._before: Floats | None = None
        self._fat: Floats | None = None
        self._columns: Floats = np.empty((6, 8))
        self._rules: npt.NDArray[np.uint64] = np.empty((0, 3), np.uint64)
        self._candidates: Ints = np.empty((0, 2), np.int64)
        self._order: npt.NDArray[np.int32] = np.empty(0, np.int32)
        self._lived = self._pause = self._escapes = 0

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        before, self._before = self._before, boxes.bounds
        if before is None or len(before) != len(boxes.bounds):
            self._fat = None
            return self.inner.pairs(boxes, threads=threads)
        if self._pause > 0:
            self._pause -= 1
            return self.inner.pairs(boxes, threads=threads)
        if not self._serve(boxes, before, threads) and not self._start(boxes, before, threads):
            return self.inner.pairs(boxes, threads=threads)
        self._lived += 1
        found = self._collector.collect(
            overlapping_rows, len(self._candidates), threads, boxes.bounds, self._candidates, rows_per_chunk=8192
        )
        return _unpacked(found)

    def _serve(self, boxes: Boxes, before: Floats, threads: int | None) -> bool:
        """Whether the candidates hold for these boxes, perhaps after a few were put in anew."""
        if self._fat is None or len(self._fat) != len(boxes.bounds):
            return False
        if self._rules is not boxes.rules and not np.array_equal(self._rules, boxes.rules):
            return False
        self._rules = boxes.rules
        escaped = np.empty(self._few(len(self._fat)), np.int64)
        count = find_escaped(boxes.bounds, self._fat, escaped)
        self._escapes = max(count, self._escapes // 2)
        if count > len(escaped):
            return False
        if count:
            self._put_anew(boxes, before, escaped[:count], threads)
        return True

    def _few(self, count: int) -> int:
        """How many of `count` boxes may be put in anew one by one."""
        return FEW + int(FEW_OF * count)

    def _few_fast(self, count: int) -> int:
        """How many of `count` boxes may be so fast that they will be put in anew time and again."""
        return self._few(count)

    def _put_anew(self, boxes: Boxes, before: Floats, escaped: Ints, threads: int | None) -> None:
        """New fat boxes for a few, and their pairs."""
        fat = self._fat
        assert fat is not None
        mark = np.zeros(len(fat), np.uint8)
        fatten_escaped(boxes.bounds, escaped, len(escaped), MOST_FAT, fat, self._columns, mark)
        if len(self._order) != len(fat) + 8:
            self._order = np.arange(len(fat) + 8, dtype=np.int32)
        new = np.empty(64 * len(escaped) + 8, np.uint64)
        pairs = np.empty((len(self._candidates) + len(new), 2), np.int64)
        while True:
            arguments = (self._candidates, mark, escaped, len(escaped), self._columns, self._order, self._rules)
            count = renew_pairs(*arguments, new, pairs)
            if count >= 0:
                break
            new = np.empty(max(len(new), -2 * count + 8), np.uint64)
            pairs = np.empty((len(self._candidates) + len(new), 2), np.int64)
        self._candidates = pairs[:count]

    def _start(self, boxes: Boxes, before: Floats, threads: int | None) -> bool:
        """New candidates; False if they would not live long enough to pay, or the last ones did not."""
        short = self._fat is not None and self._lived < SHORT_LIFE and self._escapes > self._few_fast(len(boxes.bounds))
        self._fat = None
        fat = np.empty_like(boxes.bounds)
        life = FEW_LIFE if len(fat) <= FEW_BOXES else LIFE
        fast = fatten(0, len(fat), boxes.bounds, before, life, LEAST_FAT, MOST_FAT, fat)
        if len(boxes.rules):
            # What is static needs no fat, and a broad phase that keeps what it knows of static boxes sees the same ones.
            static = boxes.rules[:, STATIC] != 0
            fat[static] = boxes.bounds[static]
        if short or fast > self._few_fast(len(fat)):
            self._pause = PAUSE
            return False
        self._fat, self._columns, self._rules, self._lived = fat, columns(fat), boxes.rules, 0
        self._candidates = self.inner.pairs(Boxes(fat, boxes.rules), threads=threads)
        return True


def _unpacked(found: list[Keys]) -> Ints:
    """(M, 2) pairs of keys that are sorted already."""
    pairs = np.empty((sum(len(keys) for keys in found), 2), np.int64)
    first = 0
    for keys in found:
        unpack_pairs(keys, first, pairs)
        first += len(keys)
    return pairs
