"""Support-plane mappings ([Vogiannou] section 2) of the first levels of a tree.

A support plane E of an object O has all of O on its negative side and at least one point in common with it (Definition
2.1). A support-plane mapping M_O(v) gives, of a set of support planes, the one whose normal is most parallel to v
(Definition 2.2). Two sets:

- vertex-based (VSPM): all support planes. M_O(v) is the plane with normal v through the vertex farthest along v.
- face-based (FSPM): the planes of the faces of O's convex hull. (The paper: "the set of support planes that lie on at least
  one face of O", and "based on the faces of the convex hull". Of a concave object only the hull's faces bound all of it.)

Exact, or discretised (section 4.2) on n x n directions: phi_i = 2 pi (i + 1/2) / n about z and theta_j = pi (j + 1/2) / n from
z, one sample for all directions of its cell. Samples refer to planes, so that planes in common are stored once. Discretised
mappings are fully bounding: the half-spaces' intersection G is bounded. With few samples the faces that they hit may leave G
open; then the face farthest along an open direction is added, until it is closed.

A plane is stored as a point and a normal in float32 (24 bytes), a sample as a row number (4 bytes). The point is the support
vertex, moved outward by 2^-22 of the mesh's extent so that O is on the negative side in spite of rounding; so it may be
outside the bounding volume R by that much, which the culling test allows for.

Flat nodes have no hull: the faces are then the two sides of the plane, and the planes across it through the edges of
their outline; for a node on a line or at a point, the six planes of the box along its principal axes.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Ints
from thud.bounds.tolerances import SPM_ENTRIES, SPM_FLAT, SPM_SHIFT
from thud.errors import InvalidInputError
from thud.gates import Array

KINDS = ("vertex", "face")

#: How the kernels map a direction to a plane; the last two are those of `support_tables.py`.
NONE, TABLE, SCAN_FACES, SCAN_VERTICES, POINTS, OFFSETS = 0, 1, 2, 3, 4, 5

#: Products of normals and points held at once by the build (a count).
_BLOCK = 2**22


@dataclass(frozen=True, eq=False)
class SupportPlanes:
    """Support-plane mappings of S nodes; relative to the mesh's origin."""

    mode: int
    """TABLE (discretised), SCAN_FACES or SCAN_VERTICES (exact), POINTS or OFFSETS (compact); NONE if there are no nodes."""
    resolution: int
    """n of the n x n samples; 0 for an exact mapping."""
    slot: npt.NDArray[np.int32]
    """(K,) which of the S mappings belongs to a node of the tree; -1: none."""
    samples: npt.NDArray[np.int32]
    """(S, n * n) plane of each sample, phi-major."""
    planes: npt.NDArray[np.float32]
    """(P, 6) point and outward normal of each plane."""
    plane_starts: Ints
    """(S + 1,) planes of mapping s: rows plane_starts[s] .. plane_starts[s + 1]."""
    vertices: Array
    """(V, 3) vertices of the nodes' hulls, for SCAN_VERTICES."""
    vertex_starts: Ints
    """(S + 1,) those of mapping s."""
    directions: int = 1
    """How many pairs of planes a pair of nodes is asked for: 1 is the paper's, further ones follow by Chung-Wang steps."""

    def __repr__(self) -> str:
        return f"SupportPlanes({len(self.plane_starts) - 1} nodes, {len(self.planes)} planes, {self.nbytes} bytes)"

    @property
    def nbytes(self) -> int:
        """Memory of samples, planes and vertices."""
        return self.samples.nbytes + self.planes.nbytes + self.vertices.nbytes

    def arrays(self) -> tuple[object, ...]:
        """What kernels take, see `support_plane_map.SPM`."""
        return (
            self.mode, self.resolution, self.slot, self.samples, self.planes, self.plane_starts,
            self.vertices, self.vertex_starts, self.directions,
        )  # fmt: skip


def no_support_planes() -> SupportPlanes:
    """For a mesh without."""
    return SupportPlanes(
        NONE, 0, np.empty(0, np.int32), np.empty((0, 0), np.int32), np.empty((0, 6), np.float32),
        np.zeros(1, np.int64), np.empty((0, 3)), np.zeros(1, np.int64),
    )  # fmt: skip


def sample_directions(n: int) -> Array:
    """(n * n, 3) unit vectors, phi-major: the middles of n x n cells of (phi, theta)."""
    phi, theta = np.meshgrid(2 * np.pi * (np.arange(n) + 0.5) / n, np.pi * (np.arange(n) + 0.5) / n, indexing="ij")
    directions = np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], axis=-1)
    return np.ascontiguousarray(directions.reshape(-1, 3))


def first_levels(skip: Ints, levels: int) -> Ints:
    """Nodes of the first `levels` levels, by level and from left to right."""
    found, level = [], [0]
    for _ in range(levels):
        found += level
        level = [child for k in level if skip[k] != k + 1 for child in (k + 1, int(skip[k + 1]))]
    return np.array(found, dtype=np.int64)


def check_entries(nodes: Ints, samples: int) -> None:
    """Named error for more samples of all nodes than anyone has memory for, before any are made."""
    if len(nodes) * samples**2 > SPM_ENTRIES:
        raise InvalidInputError(
            f"spm_levels, spm_samples: {len(nodes)} nodes of {samples} x {samples} samples; expected at most {SPM_ENTRIES} "
            "in all: take fewer levels or samples"
        )


def support_planes(
    skip: Ints,
    first: Ints,
    corners: Array,
    kind: str,
    levels: int,
    samples: int,
    *,
    exact: bool = False,
    directions: int = 1,
) -> SupportPlanes:
    """Mappings of the nodes on the first `levels` levels of a `MeshTree`; `corners` (T, 9) in tree order.

    Time: a convex hull a node, and samples^2 (or the hull's faces) times the node's vertices.
    """
    if kind not in KINDS:
        raise InvalidInputError(f"kind: expected one of {KINDS}, got {kind!r}")
    nodes = first_levels(skip, levels)
    if len(nodes) == 0:
        return no_support_planes()
    if not exact:
        check_entries(nodes, samples)
    extent = float(np.abs(corners).max())
    wanted = sample_directions(samples)
    slot = np.full(len(skip), -1, dtype=np.int32)
    slot[nodes] = np.arange(len(nodes), dtype=np.int32)
    tables, planes, vertices = [], [], []
    filled = 0
    for node in nodes.tolist():
        points = corners[first[node] : first[node] + (skip[node] - node + 1) // 2].reshape(-1, 3)
        points = np.unique(points, axis=0)
        if exact and kind == "vertex":
            vertices.append(hull_points(points))
            continue
        if kind == "vertex":
            normals, table = wanted, np.arange(len(wanted))
        else:
            normals = hull_normals(points)
            if not exact:
                normals, table = discretised_faces(normals, wanted)
        if not exact:
            tables.append(table + filled)
        planes.append(outward_planes(normals, points, extent))
        filled += len(normals)
    counts = [len(p) for p in planes] or [0] * len(nodes)
    vertex_counts = [len(v) for v in vertices] or [0] * len(nodes)
    mode = TABLE if not exact else (SCAN_FACES if kind == "face" else SCAN_VERTICES)
    return SupportPlanes(
        mode,
        0 if exact else samples,
        slot,
        np.array(tables, dtype=np.int32) if tables else np.empty((0, 0), np.int32),
        np.concatenate(planes) if planes else np.empty((0, 6), np.float32),
        np.cumsum([0, *counts]),
        np.concatenate(vertices) if vertices else np.empty((0, 3)),
        np.cumsum([0, *vertex_counts]),
        directions,
    )


def farthest(normals: Array, points: Array) -> tuple[Ints, Array]:
    """(row of the point farthest along each normal, its n . x): the support mapping s_O."""
    rows, reach = np.empty(len(normals), dtype=np.int64), np.empty(len(normals))
    block = max(1, _BLOCK // len(points))
    for start in range(0, len(normals), block):
        along = normals[start : start + block] @ points.T
        rows[start : start + block] = along.argmax(axis=1)
        reach[start : start + block] = along.max(axis=1)
    return rows, reach


def outward_planes(normals: Array, points: Array, extent: float) -> npt.NDArray[np.float32]:
    """(P, 6) the support planes with these normals, in float32, all points on their negative sides."""
    stored = normals.astype(np.float32)
    n = stored.astype(np.float64)
    rows, reach = farthest(n, points)
    shift = SPM_SHIFT * extent
    planes = np.concatenate([(points[rows] + shift * n).astype(np.float32), stored], axis=1)
    # The shift is four times the rounding; n . x is right to 4 roundoffs.
    offset = (planes[:, :3].astype(np.float64) * n).sum(axis=1)
    assert (offset > reach).all() or extent == 0.0
    return planes


def refitted_planes(mapping: SupportPlanes, skip: Ints, first: Ints, corners: Array) -> SupportPlanes:
    """A discretised mapping (TABLE) for the same tree over other corners: its planes keep their normals and move to where they
    touch. Support planes again, as fully bounding as before; those of faces are no longer the new hull's faces, which takes
    some of their tightness and none of their truth."""
    from thud.bounds.farthest import farthest_of_planes

    assert mapping.mode == TABLE
    nodes = np.flatnonzero(mapping.slot >= 0)
    nodes = nodes[np.argsort(mapping.slot[nodes])]
    stored = mapping.planes[:, 3:]
    n = stored.astype(np.float64)
    rows = farthest_of_planes(skip, first, corners, nodes, mapping.plane_starts, n)
    shift = SPM_SHIFT * float(np.abs(corners).max())
    planes = np.concatenate([(corners.reshape(-1, 3)[rows] + shift * n).astype(np.float32), stored], axis=1)
    return replace(mapping, planes=planes)


def hull_points(points: Array) -> Array:
    """Vertices of the convex hull of the points; all of them if they are flat."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        return points[np.sort(ConvexHull(points).vertices)] if len(points) > 4 else points
    except QhullError:
        return points


def hull_normals(points: Array) -> Array:
    """(F, 3) unit outward normals of the faces of the convex hull; of flat points as the module's docstring says."""
    from scipy.spatial import ConvexHull, QhullError

    center = points.mean(axis=0)
    spread = np.linalg.svd(points - center, full_matrices=len(points) < 3)
    sizes = np.zeros(3)
    sizes[: len(spread.S)] = spread.S
    axes = spread.Vh
    if sizes[1] <= SPM_FLAT * sizes[0]:
        return np.concatenate([axes, -axes])
    if sizes[2] > SPM_FLAT * sizes[0]:
        try:
            # In the principal frame, scaled to its spread: Qhull's tolerances are then small against the thinnest side.
            local = (points - center) @ axes.T
            hull = ConvexHull(local / sizes)
            normals = (hull.equations[:, :3] / sizes) @ axes
            return _distinct(normals / np.linalg.norm(normals, axis=1)[:, None])
        except QhullError:
            pass
    # Flat: the two sides, and across the plane through the edges of the outline.
    flat = ((points - center) @ axes[:2].T) / sizes[:2]
    edges = (ConvexHull(flat).equations[:, :2] / sizes[:2]) @ axes[:2]
    edges /= np.linalg.norm(edges, axis=1)[:, None]
    return _distinct(np.concatenate([axes[2:], -axes[2:], edges]))


def _distinct(normals: Array) -> Array:
    """Without those that are the same in float32 (Qhull cuts a face into triangles); in a fixed order."""
    _, rows = np.unique(normals.astype(np.float32), axis=0, return_index=True)
    return np.ascontiguousarray(normals[rows])


def discretised_faces(normals: Array, directions: Array) -> tuple[Array, Ints]:
    """(normals of the faces that samples map to, row of each sample): section 4.2, made fully bounding."""
    chosen, table = np.unique(farthest(directions, normals)[0], return_inverse=True)
    kept = chosen.tolist()
    while True:
        out = open_direction(normals[kept])
        if out is None:
            break
        face = int(np.argmax(normals @ out))
        if face in kept:
            break
        kept.append(face)
    return normals[kept], table.reshape(-1)


def open_direction(normals: Array) -> Array | None:
    """A direction in which the half-spaces with these normals go to infinity; None if their intersection is bounded.

    It is bounded if and only if 0 is inside the convex hull of the normals.
    """
    from scipy.spatial import ConvexHull, QhullError

    spread = np.linalg.svd(normals, full_matrices=len(normals) < 3)
    if len(spread.S) < 3 or spread.S[2] < SPM_FLAT:
        # All in one plane through 0: open along its normal, which is the same to both sides.
        return spread.Vh[2]
    try:
        hull = ConvexHull(normals)
    except QhullError:
        center = normals.mean(axis=0)
        across = np.linalg.svd(normals - center, full_matrices=True).Vh[2]
        return -across if across @ center > 0 else across
    worst = int(np.argmax(hull.equations[:, 3]))
    # n . x + offset <= 0 for all normals x: with offset >= 0 the direction n leads out.
    return hull.equations[worst, :3] if hull.equations[worst, 3] > -SPM_FLAT else None


def is_fully_bounding(planes: npt.NDArray[np.float32]) -> bool:
    """Whether the negative half-spaces of (P, 6) planes have a bounded intersection."""
    return open_direction(planes[:, 3:].astype(np.float64)) is None


def validate_support_planes(mapping: SupportPlanes, skip: Ints, first: Ints, corners: Array) -> None:
    """Named error unless every plane is a support plane of its node (Definition 2.1) to the stored precision, and every node's
    planes are fully bounding."""
    extent = float(np.abs(corners).max())
    for node in np.flatnonzero(mapping.slot >= 0).tolist():
        s = int(mapping.slot[node])
        planes = mapping.planes[mapping.plane_starts[s] : mapping.plane_starts[s + 1]]
        points = corners[first[node] : first[node] + (skip[node] - node + 1) // 2].reshape(-1, 3)
        p, n = planes[:, :3].astype(np.float64), planes[:, 3:].astype(np.float64)
        _, reach = farthest(n, points)
        gap = (p * n).sum(axis=1) - reach
        if len(planes) and (gap < 0.0).any():
            raise InvalidInputError(f"support planes: plane {int(np.argmin(gap))} of node {node} cuts its triangles")
        if len(planes) and (gap > 4.0 * SPM_SHIFT * extent).any():
            raise InvalidInputError(f"support planes: plane {int(np.argmax(gap))} of node {node} does not touch them")
        if len(planes) and not is_fully_bounding(planes):
            raise InvalidInputError(f"support planes: those of node {node} leave a direction open")
