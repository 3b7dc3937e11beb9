"""The tree over a mesh's triangles: topology only. Bounding volumes are payload arrays beside it (`bounds/`).

Binary, nodes in depth-first order, one triangle a leaf. So a node over n triangles has 2 n - 1 nodes below and with it, its
left child is k + 1, its right child skip[k + 1], and the tree can be walked in one direction without a stack: enter
k + 1 if node k may hold something of interest, else continue at skip[k].
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from thud._core.arrays import Ints
from thud.errors import InvalidInputError


@dataclass(frozen=True, slots=True, eq=False)
class MeshTree:
    """Topology over T triangles: K = 2 T - 1 nodes."""

    skip: Ints
    """(K,) the node after this one's subtree; k + 1 for a leaf."""
    first: Ints
    """(K,) tree position of the first triangle below the node; those below are first .. first + (skip - k) // 2."""
    order: Ints
    """(T,) triangle at each tree position: its row in the mesh's faces."""

    @property
    def levels(self) -> Ints:
        """(K,) depth of each node, the root's being 0."""
        level = np.zeros(len(self.skip), dtype=np.int64)
        for node in np.flatnonzero(self.skip > np.arange(1, len(self.skip) + 1)).tolist():
            level[node + 1] = level[self.skip[node + 1]] = level[node] + 1
        return level


def validate_tree(tree: MeshTree) -> None:
    """Named error unless the arrays are a tree as described above."""
    triangles, nodes = len(tree.order), len(tree.skip)
    if nodes != 2 * triangles - 1 or len(tree.first) != nodes:
        raise InvalidInputError(f"tree: expected {2 * triangles - 1} nodes for {triangles} triangles, got {nodes}")
    if not np.array_equal(np.sort(tree.order), np.arange(triangles)):
        raise InvalidInputError("tree: order is not a permutation of the triangles")
    if tree.skip[0] != nodes or tree.first[0] != 0:
        raise InvalidInputError("tree: the root does not span all nodes")
    node = np.arange(nodes)
    inner = np.flatnonzero(tree.skip != node + 1)
    if (tree.skip <= node).any() or (tree.skip > nodes).any():
        raise InvalidInputError(f"tree: node {int(np.argmax((tree.skip <= node) | (tree.skip > nodes)))} skips out of range")
    left = inner + 1
    right = tree.skip[left]
    wrong = (right >= tree.skip[inner]) | (tree.skip[np.minimum(right, nodes - 1)] != tree.skip[inner])
    if wrong.any():
        raise InvalidInputError(f"tree: the children of node {int(inner[np.argmax(wrong)])} do not fill its subtree")
    half = (tree.skip[left] - left + 1) // 2
    wrong = (tree.first[left] != tree.first[inner]) | (tree.first[right] != tree.first[inner] + half)
    if wrong.any():
        raise InvalidInputError(f"tree: the triangles of node {int(inner[np.argmax(wrong)])} are not those of its children")
