"""Dynamic tree of boxes ([Yang] 2.5.3): fat leaves, put in anew one by one when their boxes leave them.

Every leaf is a fat box, larger than the box in it by what that is expected to move (`coherent.py`). Pairs of fat boxes are kept
from frame to frame; only the leaves whose boxes left them are taken out, put in again and asked for their pairs anew. A leaf is
put in where it adds the least surface (Goldsmith and Salmon 1987; as in Box2D, greedily from the root down), and on the way
back up a node and its nephew change places where that makes a surface smaller (Kopta et al. 2012, "Fast, effective BVH updates
for animated scenes").

When many have left at once, it is cheaper to build all anew, in Morton order, and to find all pairs by one walk; while
everything moves too fast for fat boxes to pay, that is done every frame, without fat.

Nodes: the leaf of box i is node i, inner nodes come behind. `links` has parent, left and right; -1 is none, and the parent of a
leaf that is not in the tree is OUT.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.broadphase.boxes import Boxes
from thud.broadphase.coherent import LEAST_FAT, LIFE, MOST_FAT, Coherent, fatten_box, keep_pairs
from thud.broadphase.leaf_walk import LEAF, collect_leaf_pairs
from thud.broadphase.pair_set import PairCollector, allowed, boxes_overlap, sorted_pairs
from thud.bvh.morton_tree import build_morton_tree, morton_order, split_codes

PARENT, LEFT, RIGHT = 0, 1, 2
OUT = -2

#: Boxes that are put in anew one by one: at most this part of all. Each takes about as long as ten in a bulk build.
_FEW_OF = 0.03

#: When they are this many times those of the frames before, halved each frame, they are the first of all that move: all begins
#: anew.
_GROWTH = 2.5

#: Surfaces are those of boxes cut off here, so that those of infinite boxes can be compared. Metres.
_FAR = 1e100


class MortonPairs:
    """All pairs by a tree in Morton order that is built anew each time."""

    def __init__(self) -> None:
        self._collector = PairCollector()

    def pairs(self, boxes: Boxes, *, threads: int | None = None) -> Ints:
        """(M, 2) overlapping pairs, sorted."""
        codes, items, small = morton_order(boxes.bounds)
        level, first, count = (np.empty(2 * len(items), np.int32) for _ in range(3))
        nodes = split_codes(codes, small, LEAF, level, first, count)
        found = collect_leaf_pairs(self._collector, boxes, items, (level[:nodes], first[:nodes], count[:nodes]), threads)
        return sorted_pairs(found, len(boxes.bounds))


@device
def cut_off(x):
    """x within +-_FAR."""
    return min(max(x, -_FAR), _FAR)


@device
def joint_surface(boxes, a, b):
    """Half the surface of the box around nodes a and b."""
    x = cut_off(max(boxes[a, 3], boxes[b, 3])) - cut_off(min(boxes[a, 0], boxes[b, 0]))
    y = cut_off(max(boxes[a, 4], boxes[b, 4])) - cut_off(min(boxes[a, 1], boxes[b, 1]))
    z = cut_off(max(boxes[a, 5], boxes[b, 5])) - cut_off(min(boxes[a, 2], boxes[b, 2]))
    return x * y + y * z + z * x


@device
def join_children(boxes, links, k):
    """Box of an inner node from its children's. Returns whether it has changed."""
    a, b = links[k, LEFT], links[k, RIGHT]
    changed = False
    for c in range(3):
        low, high = min(boxes[a, c], boxes[b, c]), max(boxes[a, c + 3], boxes[b, c + 3])
        changed = changed or low != boxes[k, c] or high != boxes[k, c + 3]
        boxes[k, c], boxes[k, c + 3] = low, high
    return changed


@device
def exchange(boxes, links, k, side, other_side):
    """Put child `side` of k in the place of child `other_side` of its sibling, and that one in its place."""
    child, sibling = links[k, side], links[k, LEFT + RIGHT - side]
    nephew = links[sibling, other_side]
    links[k, side], links[sibling, other_side] = nephew, child
    links[nephew, PARENT], links[child, PARENT] = k, sibling
    join_children(boxes, links, sibling)


@device
def rotate(boxes, links, k):
    """Let a child of k and its nephew change places where that makes the sibling's surface smaller; the best of the four."""
    best, best_side, best_other = 0.0, -1, -1
    for side in range(LEFT, RIGHT + 1):
        child, sibling = links[k, side], links[k, LEFT + RIGHT - side]
        if links[sibling, LEFT] < 0:
            continue
        surface = joint_surface(boxes, sibling, sibling)
        for other in range(LEFT, RIGHT + 1):
            gain = surface - joint_surface(boxes, child, links[sibling, LEFT + RIGHT - other])
            if gain > best:
                best, best_side, best_other = gain, side, other
    if best_side >= 0:
        exchange(boxes, links, k, best_side, best_other)


@device
def take_leaf(boxes, links, state, free, i):
    """Take leaf i out; its sibling takes the place of their parent, which becomes free."""
    parent = links[i, PARENT]
    links[i, PARENT] = OUT
    if parent < 0:
        state[0] = -1
        return
    sibling = links[parent, LEFT] if links[parent, RIGHT] == i else links[parent, RIGHT]
    above = links[parent, PARENT]
    links[sibling, PARENT] = above
    free[state[1]] = parent
    state[1] += 1
    if above < 0:
        state[0] = sibling
        return
    links[above, LEFT if links[above, LEFT] == parent else RIGHT] = sibling
    while above >= 0 and join_children(boxes, links, above):
        above = links[above, PARENT]


@device
def cheapest_sibling(boxes, links, root, i):
    """The node beside which leaf i adds the least surface, as far as a descent that never turns back finds it."""
    node, best_node, depth = np.int64(root), np.int64(root), 0
    leaf_surface = joint_surface(boxes, i, i)
    surface, joint, inherited, best = joint_surface(boxes, node, node), joint_surface(boxes, node, i), 0.0, np.inf
    while True:
        # A parent for this node and the leaf, and what all nodes above grow by.
        if joint + inherited <= best:
            best, best_node = joint + inherited, node
        if links[node, LEFT] < 0:
            return best_node
        inherited += joint - surface
        left, right = np.int64(links[node, LEFT]), np.int64(links[node, RIGHT])
        joint_left, joint_right = joint_surface(boxes, left, i), joint_surface(boxes, right, i)
        left_surface, right_surface = joint_surface(boxes, left, left), joint_surface(boxes, right, right)
        # The least it can cost on either side: below a larger child, the new parent is no smaller than the leaf.
        least_left = inherited + joint_left + (min(leaf_surface - left_surface, 0.0) if links[left, LEFT] >= 0 else 0.0)
        least_right = inherited + joint_right + (min(leaf_surface - right_surface, 0.0) if links[right, LEFT] >= 0 else 0.0)
        if best < least_left and best < least_right:
            return best_node
        # Of equals, now the one, now the other: boxes in one place would make a list of the tree.
        if least_left < least_right or (least_left == least_right and (i >> (depth & 31)) & 1 == 0):
            node, joint, surface = left, joint_left, left_surface
        else:
            node, joint, surface = right, joint_right, right_surface
        depth += 1


@device
def put_leaf(boxes, links, state, free, i):
    """Put leaf i, whose box is in place, into the tree."""
    root = state[0]
    if root < 0:
        state[0], links[i, PARENT] = i, -1
        return
    sibling = cheapest_sibling(boxes, links, root, i)
    state[1] -= 1
    node, above = np.int64(free[state[1]]), links[sibling, PARENT]
    links[node, PARENT], links[node, LEFT], links[node, RIGHT] = above, sibling, i
    links[sibling, PARENT], links[i, PARENT] = node, node
    if above < 0:
        state[0] = node
    else:
        links[above, LEFT if links[above, LEFT] == sibling else RIGHT] = node
    while node >= 0:
        join_children(boxes, links, node)
        rotate(boxes, links, node)
        node = np.int64(links[node, PARENT])


@kernel("f8[:,::1], i8[::1], i8[::1], i8, f8[:,::1], i4[:,::1], i8[::1], i4[::1]")
def link_tree(node_boxes, skip, item, count, boxes_out, links_out, state_out, free_out):
    """The tree of `build_morton_tree` in links, over `count` boxes whose leaves are in boxes_out already. state_out: root,
    number of free inner nodes; free_out: those nodes."""
    nodes = skip.shape[0]
    name, inner = np.empty(nodes, np.int32), count
    for i in range(count):
        links_out[i, PARENT], links_out[i, LEFT], links_out[i, RIGHT] = OUT, -1, -1
    for k in range(nodes):
        name[k] = item[k]
        if item[k] < 0:
            name[k] = inner
            inner += 1
    if nodes > 0:
        links_out[name[0], PARENT] = -1
    for k in range(nodes):
        if item[k] >= 0:
            continue
        me, left, right = name[k], name[k + 1], name[skip[k + 1]]
        links_out[me, LEFT], links_out[me, RIGHT] = left, right
        links_out[left, PARENT], links_out[right, PARENT] = me, me
        for c in range(6):
            boxes_out[me, c] = node_boxes[k, c]
    state_out[0], state_out[1] = name[0] if nodes > 0 else -1, 0
    # From the last down: the next one that is taken is the first free one.
    for k in range(boxes_out.shape[0] - 1, inner - 1, -1):
        free_out[state_out[1]] = k
        state_out[1] += 1


@kernel("i8[::1], f8[:,::1], f8[:,::1], f8, f8, f8, f8[:,::1], f8[:,::1], i4[:,::1], i8[::1], i4[::1]")
def move_leaves(escaped, bounds, before, life, least, most, fat, boxes, links, state, free):
    """New fat boxes for those that escaped, and new places in the tree."""
    for k in range(escaped.shape[0]):
        i = escaped[k]
        if links[i, PARENT] != OUT:
            take_leaf(boxes, links, state, free, i)
        fatten_box(bounds, before, i, life, least, most, fat)
        for c in range(6):
            boxes[i, c] = fat[i, c]
        if fat[i, 0] <= fat[i, 3]:
            put_leaf(boxes, links, state, free, i)


@kernel("i8, i8, i8[::1], u1[::1], f8[:,::1], i4[:,::1], i8, u8[:,::1], u8[::1]")
def moved_pairs_rows(start, stop, escaped, is_escaped, boxes, links, root, rules, out):
    """Pairs of the fat boxes that escaped with all others; two that escaped once. Returns how many."""
    stack = np.empty(boxes.shape[0] + 2, np.int32)
    found = 0
    for k in range(start, stop):
        i = escaped[k]
        if links[i, PARENT] == OUT:
            continue
        stack[0] = root
        depth = 1
        while depth > 0:
            depth -= 1
            node = np.int64(stack[depth])
            if not boxes_overlap(boxes, i, node):
                continue
            if links[node, LEFT] >= 0:
                stack[depth], stack[depth + 1] = links[node, LEFT], links[node, RIGHT]
                depth += 2
            elif node != i and not (is_escaped[node] == 1 and node < i) and allowed(rules, i, node):
                if found < out.shape[0]:
                    out[found] = (np.uint64(min(i, node)) << np.uint64(32)) | np.uint64(max(i, node))
                found += 1
    return found


class DynamicTree(Coherent):
    """A dynamic tree of fat boxes. Best where sizes differ widely, or where some move and most rest."""

    def __init__(self) -> None:
        super().__init__(MortonPairs())
        self._moved = PairCollector()
        self._linked: Floats | None = None
        self._boxes: Floats = np.empty((0, 6))
        self._links: npt.NDArray[np.int32] = np.empty((0, 3), np.int32)
        self._state, self._free = np.empty(2, np.int64), np.empty(0, np.int32)

    def _few(self, count: int) -> int:
        """How many of `count` boxes may be put in anew one by one."""
        return min(self._few_fast(count), max(super()._few(count), int(_GROWTH * self._escapes)))

    def _few_fast(self, count: int) -> int:
        """How many of `count` boxes may be so fast that they will be put in anew time and again."""
        return 8 + int(_FEW_OF * count)

    def _link(self, fat: Floats) -> None:
        """The tree of the fat boxes, if it is not there yet: it is made when boxes escape, and used until all begins anew."""
        if self._linked is fat:
            return
        count = len(fat)
        self._boxes, self._links = np.empty((2 * count, 6)), np.empty((2 * count, 3), np.int32)
        self._boxes[:count] = fat
        self._free = np.empty(count + 1, np.int32)
        link_tree(*build_morton_tree(fat), count, self._boxes, self._links, self._state, self._free)
        self._linked = fat

    def _put_anew(self, boxes: Boxes, before: Floats, escaped: Ints, threads: int | None) -> None:
        """New fat boxes and leaves for some, and their pairs."""
        fat = self._fat
        assert fat is not None
        if self._linked is not fat and len(escaped) <= super()._few(len(fat)):
            # So few that a scan of all is cheaper than making the tree.
            super()._put_anew(boxes, before, escaped, threads)
            return
        self._link(fat)
        move_leaves(
            escaped, boxes.bounds, before, LIFE, LEAST_FAT, MOST_FAT, fat,
            self._boxes, self._links, self._state, self._free,
        )  # fmt: skip
        mark = np.zeros(len(fat), np.uint8)
        mark[escaped] = 1
        kept = np.empty(len(self._candidates), np.uint64)
        kept = kept[: keep_pairs(self._candidates, mark, kept)]
        found = self._moved.collect(
            moved_pairs_rows, len(escaped), threads, escaped, mark, self._boxes, self._links, int(self._state[0]),
            self._rules, rows_per_chunk=64,
        )  # fmt: skip
        self._candidates = sorted_pairs([kept, *found], len(fat))
