"""The 8-wide tree: every triangle once, every box around what is below it, whatever the size and place of the mesh."""

from __future__ import annotations

import numpy as np
import pytest

import thud
from tests.oracles.mesh_points import bumpy_sphere, soup
from thud.bvh.wide import BLOCK_STRIDE, LEAF, NODE_STRIDE, REFERENCES, ROWS, WIDTH, WideTree


def walk(wide: WideTree, node: int = 0) -> list[tuple[list[int], np.ndarray]]:
    """(nodes on the way, face rows) of every leaf; checks the boxes on the way up."""
    leaves = []
    base = NODE_STRIDE * node
    boxes = wide.nodes[base : base + 6 * WIDTH].reshape(6, WIDTH).astype(np.float64)
    for lane, reference in enumerate(wide.references[base + REFERENCES : base + REFERENCES + WIDTH].tolist()):
        if reference == 0:
            assert (boxes[:3, lane] > boxes[3:, lane]).all()
            continue
        if reference > 0:
            below = walk(wide, reference)
        else:
            rows = wide.rows[BLOCK_STRIDE * ~reference + ROWS :][:LEAF]
            below = [([], rows[rows >= 0])]
            corners = wide.blocks[BLOCK_STRIDE * ~reference :][:ROWS].reshape(9, LEAF).T
            assert np.isnan(corners[rows < 0]).all()
            assert not np.isnan(corners[rows >= 0]).any()
        leaves += [([node, lane, *path], rows) for path, rows in below]
    return leaves


@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 8, 9, 33, 1000])
@pytest.mark.parametrize(("scale", "shift"), [(1.0, 0.0), (1e-12, 0.0), (1e14, 0.0), (1e-3, 1e6)])
def test_every_triangle_once_within_all_its_boxes(count: int, scale: float, shift: float) -> None:
    vertices, faces = soup(np.random.default_rng(count), count)
    mesh = thud.TriangleMesh(vertices * scale + shift, faces)
    wide = mesh.wide
    leaves = walk(wide)
    assert sorted(np.concatenate([rows for _, rows in leaves]).tolist()) == list(range(count))
    for path, rows in leaves:
        corners = (np.asarray(mesh.vertices)[np.asarray(mesh.faces)[rows]] - wide.frame[:3]).reshape(-1, 3) / wide.frame[3]
        assert np.abs(corners).max() <= 1.0
        for node, lane in zip(path[::2], path[1::2], strict=True):
            box = wide.nodes[NODE_STRIDE * node :][: 6 * WIDTH].reshape(6, WIDTH)[:, lane].astype(np.float64)
            assert (corners >= box[:3]).all()
            assert (corners <= box[3:]).all()


def test_leaves_and_nodes_are_well_filled() -> None:
    wide = thud.TriangleMesh(*bumpy_sphere(40, 80)).wide
    leaves, nodes = len(wide.blocks) // BLOCK_STRIDE, len(wide.nodes) // NODE_STRIDE
    triangles = int((wide.rows.reshape(-1, BLOCK_STRIDE)[:, ROWS:] >= 0).sum())
    assert triangles > 2.5 * leaves
    assert leaves + nodes - 1 > 5 * nodes


def test_memory_begins_at_a_cache_line() -> None:
    # The SIMD loads assume it.
    for seed in range(5):
        wide = thud.TriangleMesh(*soup(np.random.default_rng(seed), 7 + seed)).wide
        assert wide.nodes.ctypes.data % 64 == 0
        assert wide.blocks.ctypes.data % 64 == 0
