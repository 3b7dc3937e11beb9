"""Compact support-plane mappings: vertex-based, on the cells of an octahedron (`octahedral.py`), without normals.

The cells' directions are the same for all nodes, so a node stores of each cell only the point of the object farthest along its
direction (12 bytes), from which a further direction can be found by a Chung-Wang step, or only how far that is (4 bytes). With
32 x 32 cells that is 12 or 4 KiB a node, where the paper's table has 28. Points, and so planes, are moved outward as those of
`support_planes.py`.

A cell's farthest point of a node is the farther one of its children's, so only the deepest nodes read their triangles. That is
cheap enough to do it again when the mesh is deformed: about 0.02 s for 17,000 triangles and eight levels, and as good as new.
"""

from __future__ import annotations

import numpy as np

from thud._core.arrays import Ints
from thud.bounds.farthest import farthest_corners
from thud.bounds.octahedral import octahedral_directions
from thud.bounds.support_planes import OFFSETS, POINTS, SupportPlanes, check_entries, first_levels, no_support_planes
from thud.bounds.tolerances import SPM_SHIFT
from thud.gates import Array


def support_tables(
    skip: Ints, first: Ints, corners: Array, levels: int, samples: int, directions: int = 1, *, points: bool | None = None
) -> SupportPlanes:
    """Tables of the nodes on the first `levels` levels of a `MeshTree`; `corners` (T, 9) in tree order.

    directions : how many pairs of planes a pair of nodes is asked for
    points : whether to store points or, for one direction, only offsets; None: points where there are more directions
    """
    nodes = first_levels(skip, levels)
    if len(nodes) == 0:
        return no_support_planes()
    check_entries(nodes, samples)
    points = directions > 1 if points is None else points
    cells = octahedral_directions(samples)
    slot = np.full(len(skip), -1, dtype=np.int32)
    slot[nodes] = np.arange(len(nodes), dtype=np.int32)
    count = len(nodes) * len(cells)
    rows = farthest_corners(skip, first, corners, nodes, slot, cells)
    reach = corners.reshape(-1, 3)[rows.reshape(-1)]
    shift = SPM_SHIFT * float(np.abs(corners).max())
    normals = np.broadcast_to(cells, (len(nodes), *cells.shape)).reshape(-1, 3)
    if points:
        planes = (reach + shift * normals).astype(np.float32)
    else:
        planes = (np.einsum("ij,ij->i", reach, normals) + shift).astype(np.float32)[:, None]
    return SupportPlanes(
        POINTS if points else OFFSETS, samples, slot, np.empty((0, 0), np.int32), planes,
        np.arange(0, count + 1, len(cells)), cells, np.zeros(1, np.int64), directions,
    )  # fmt: skip
