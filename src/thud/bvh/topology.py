"""The one tree topology: nodes in depth-first order with skip offsets, walked in one direction without a stack.

Node k's subtree is k .. skip[k] - 1. A walk enters k + 1 if node k may hold something of interest, else continues at
skip[k]. A leaf has skip[k] == k + 1 and an item; an inner node has item -1.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Floats, Ints


@dataclass(frozen=True, slots=True, eq=False)
class Tree:
    """A hierarchy with axis-aligned boxes."""

    boxes: Floats
    """(K, 6) lower and upper corner of each node."""
    skip: Ints
    """(K,) the node after this one's subtree."""
    item: Ints
    """(K,) item of a leaf, -1 for an inner node."""


def build_tree(lower: Floats, upper: Floats, groups: list[list[int]] | None = None) -> Tree:
    """Tree over boxes by halving at the median along the longest axis.

    Parameters
    ----------
    lower, upper : (N, 3) corners; infinite ones are allowed
    groups : items that belong together as one child of the root ([Yang] 2.5.3); default: each item by itself
    """
    items: list[int] = []
    nodes: list[tuple[int, int]] = []  # (item, node after the subtree)

    def grow(members: list[int]) -> None:
        index = len(nodes)
        nodes.append((-1, -1))
        if len(members) == 1:
            nodes[index] = (members[0], index + 1)
            items.append(members[0])
            return
        chosen = np.array(members)
        middle = np.clip(0.5 * (np.clip(lower[chosen], -1e300, 1e300) + np.clip(upper[chosen], -1e300, 1e300)), -1e300, 1e300)
        axis = int(np.argmax(middle.max(axis=0) - middle.min(axis=0)))
        order = chosen[np.argsort(middle[:, axis], kind="stable")].tolist()
        grow(order[: len(order) // 2])
        grow(order[len(order) // 2 :])
        nodes[index] = (-1, len(nodes))

    if groups is None:
        grow(list(range(len(lower))))
    else:
        nodes.append((-1, -1))
        for group in groups:
            grow(group)
        nodes[0] = (-1, len(nodes))
    item = np.array([node[0] for node in nodes], dtype=np.int64)
    skip = np.array([node[1] for node in nodes], dtype=np.int64)
    boxes = np.empty((len(nodes), 6))
    for k in range(len(nodes) - 1, -1, -1):
        if item[k] >= 0:
            boxes[k, :3], boxes[k, 3:] = lower[item[k]], upper[item[k]]
        else:
            children, child = [], k + 1
            while child < skip[k]:
                children.append(child)
                child = int(skip[child])
            boxes[k, :3], boxes[k, 3:] = boxes[children, :3].min(axis=0), boxes[children, 3:].max(axis=0)
    return Tree(boxes, skip, item)
