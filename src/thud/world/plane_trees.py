"""The mid phase "spm": pairs of meshes parted by the first levels of their trees with support planes, in one batch.

Spheres, and compact mappings of points (`bounds/support_tables.py`), of the first PLANE_LEVELS levels of all meshes of a world
stand in a row, so that one kernel takes pairs of any two. The roots alone take 0.1 us, and part nearly all pairs whose hulls
are apart. Of the rest, as far as `plane_gate.py` finds it worth trying, both trees are opened as `mesh/sphere_walk.py` does, up
to the first pair of nodes on the last level that nothing parts: such pairs mostly meet.

At the roots the planes hold the solids; further down only the surfaces. There a mesh may still lie inside the other. Of each
connected part one point is looked at: if none is in the other mesh's root, as far as its sphere and one plane tell, nothing is.

The gap of two planes is a lower bound of the distance, so the same kernel tells which pairs are farther apart than a reach.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.decorators import device, kernel
from thud.bounds.octahedral import octahedral_cell, octahedral_directions
from thud.bounds.support_plane_map import load_point
from thud.bounds.support_planes import first_levels
from thud.bounds.support_tables import support_tables
from thud.constants import TOUCH
from thud.math.pose import transform, untransform
from thud.math.vec3 import dot, load3, norm2, sub
from thud.mesh.box_tree import tree_pose
from thud.mesh.plane_steps import points_gap
from thud.mesh.tolerances import SPM_MARGIN
from thud.pairing.families import MESH
from thud.shapes.shape import Shape
from thud.shapes.triangle_mesh import TriangleMesh
from thud.world.tolerances import PLANE_CELLS, PLANE_DIRECTIONS, PLANE_DIRECTIONS_BELOW, PLANE_LEVELS

Singles = npt.NDArray[np.float32]

#: What is known of a pair: nothing, as one is no mesh with planes; apart, by the roots; apart, by the levels below; not so by
#: what was tried.
NO_PLANES, ROOTS_PART, LEVELS_PART, NOT_PARTED = range(4)

#: Pairs of nodes that wait: one a level of both trees.
_STACK = 2 * PLANE_LEVELS + 2


class PlaneTrees(NamedTuple):
    """First levels of meshes, for kernels; coordinates relative to the mesh's `origin`."""

    root: Ints
    """(S,) node of a shape's root; -1: none, the shape is no mesh or changes its form."""
    origin: Floats
    """(S, 3) of the mesh."""
    extent: Floats
    """(S,) sum of the half extents of the mesh's box."""
    child: Ints
    """(K, 2) the node's children; -1: none, or none with planes."""
    spheres: Singles
    """(K, 4)"""
    cells: Floats
    """(D, 3) directions that all points refer to."""
    points: Singles
    """(K * D, 3) farthest point of each node along each."""
    inside_start: Ints
    """(S + 1,) first of a shape's `inside`."""
    inside: Floats
    """(C, 3) a point of each connected part."""
    solid: npt.NDArray[np.uint8]
    """(S,) whether the mesh is closed, so that others may be inside."""


class _Top(NamedTuple):
    """What is kept of one mesh."""

    mesh: TriangleMesh
    child: Ints
    spheres: Singles
    points: Singles


def top_of(mesh: TriangleMesh) -> _Top:
    """The first levels of one mesh."""
    tree = mesh.tree
    nodes = first_levels(tree.skip, PLANE_LEVELS)
    mapping = support_tables(tree.skip, tree.first, mesh.corners, PLANE_LEVELS, PLANE_CELLS, PLANE_DIRECTIONS, points=True)
    leaf = tree.skip[nodes] == nodes + 1
    left = np.minimum(nodes + 1, len(tree.skip) - 1)
    slots = np.stack([mapping.slot[left], mapping.slot[np.minimum(tree.skip[left], len(tree.skip) - 1)]], axis=1)
    return _Top(mesh, np.where(leaf[:, None], -1, slots.astype(np.int64)), mesh.spheres[nodes], mapping.planes)


class PlaneSet:
    """`PlaneTrees` of a world's shapes, made as they come."""

    def __init__(self) -> None:
        self._tops: dict[int, _Top] = {}
        self._key: tuple[int, ...] = ()
        self._trees: PlaneTrees | None = None

    def trees(self, shapes: list[Shape | None]) -> PlaneTrees | None:
        """Of the shapes by their indices; None if no two meshes are among them that could be parted."""
        # A mesh that changes its form at every frame would cost more than it saves.
        meshes = [s if s is not None and s.family == MESH and not s.is_refitted else None for s in shapes]
        key = tuple(0 if mesh is None else id(mesh) for mesh in meshes)
        if key != self._key:
            known = self._tops
            # Kept together with its mesh, an id is nobody else's.
            self._tops = {id(m): known[id(m)] if id(m) in known else top_of(m) for m in meshes if m is not None}  # type: ignore[arg-type]
            self._trees = self._packed(meshes) if self._tops else None  # type: ignore[arg-type]
            self._key = key
        return self._trees

    def _packed(self, meshes: list[TriangleMesh | None]) -> PlaneTrees:
        cells = octahedral_directions(PLANE_CELLS)
        root, at = np.full(len(meshes), -1), 0
        origin, extent, solid = np.zeros((len(meshes), 3)), np.zeros(len(meshes)), np.zeros(len(meshes), np.uint8)
        inside, tops, children = [np.empty((0, 3)) for _ in meshes], [], []
        for index, mesh in enumerate(meshes):
            if mesh is None:
                continue
            top = self._tops[id(mesh)]
            root[index], origin[index] = at, mesh.origin
            extent[index], solid[index] = float(mesh.boxes[0, 3:].sum(dtype=np.float64)), mesh.is_closed
            inside[index] = mesh.component_points - mesh.origin
            children.append(np.where(top.child < 0, -1, top.child + at))
            tops.append(top)
            at += len(top.child)
        return PlaneTrees(
            root, origin, extent, np.concatenate(children), np.concatenate([top.spheres for top in tops]), cells,
            np.concatenate([top.points for top in tops]), np.cumsum([0, *map(len, inside)]),
            np.ascontiguousarray(np.concatenate(inside)), solid,
        )  # fmt: skip


@device
def sphere_of(trees, k):
    """(centre, radius) of a node."""
    return load_point(trees.spheres, k), np.float64(trees.spheres[k, 3])


@device
def nodes_parted(trees, i, j, c1, r1, c2, r2, directions, r, t, beyond):
    """Whether nodes i and j are shown to be farther apart than beyond[0] (spheres) or beyond[1] (planes), which is wider by a
    margin, beyond[2]; c2 in A's frame."""
    reach = r1 + r2 + beyond[0]
    if norm2(sub(c2, c1)) > reach * reach:
        return True
    margin = beyond[2]
    count = trees.cells.shape[0]
    table = (np.int64(PLANE_CELLS), trees.cells, trees.points)
    return points_gap(c1, r1, table, i * count, c2, r2, table, j * count, directions, r, t, margin, beyond[1]) > beyond[1]


@device
def outside(trees, root, p, margin):
    """Whether a point, in the mesh's tree frame, is outside of its root, by its sphere or by one plane."""
    c, radius = sphere_of(trees, root)
    d = sub(p, c)
    if norm2(d) > (radius + margin) * (radius + margin):
        return True
    cell = octahedral_cell(np.int64(PLANE_CELLS), d)
    far = load_point(trees.points, root * trees.cells.shape[0] + cell)
    return dot(load3(trees.cells, cell, 0), sub(p, far)) > margin


@device
def none_inside(trees, s, s_other, r, t, forth, margin):
    """Whether no point of shape s, one a connected part, is inside shape s_other; (R, t) leads from s to the other if `forth`,
    else back."""
    if trees.solid[s_other] == 0:
        return True
    for k in range(trees.inside_start[s], trees.inside_start[s + 1]):
        p = load3(trees.inside, k, 0)
        p = transform(r, t, p) if forth else untransform(r, t, p)
        if not outside(trees, trees.root[s_other], p, margin):
            return False
    return True


@device
def beyond_reach(trees, a, b, t, reach):
    """(what spheres must be apart by, what planes must, the margin) for solids to be farther apart than `reach`."""
    scale = trees.extent[a] + trees.extent[b] + abs(t[0]) + abs(t[1]) + abs(t[2])
    touch, margin = TOUCH * scale, SPM_MARGIN * scale
    return reach + touch, reach + margin, margin


@device
def roots_parted(trees, a, b, r, t, reach):
    """Whether the roots of shapes a and b, and so the solids, are shown to be farther apart than `reach`; (R, t) is b's tree in
    a's."""
    i, j = trees.root[a], trees.root[b]
    c1, r1 = sphere_of(trees, i)
    c2, r2 = sphere_of(trees, j)
    return nodes_parted(
        trees, i, j, c1, r1, transform(r, t, c2), r2, PLANE_DIRECTIONS, r, t, beyond_reach(trees, a, b, t, reach)
    )


@device
def levels_parted(trees, a, b, r, t, reach, stack):
    """The same by the levels below, for roots that are not."""
    beyond = beyond_reach(trees, a, b, t, reach)
    i, j = trees.root[a], trees.root[b]
    depth = 0
    while True:
        down_a, down_b = trees.child[i, 0] >= 0, trees.child[j, 0] >= 0
        if not down_a and not down_b:
            return False
        c1, r1 = sphere_of(trees, i)
        c2, r2 = sphere_of(trees, j)
        c2 = transform(r, t, c2)
        open_a = not down_b or (down_a and r1 >= r2)
        left, near, deepest = 0, i, 0.0
        for side in range(2):
            child = trees.child[i, side] if open_a else trees.child[j, side]
            c, rc = sphere_of(trees, child)
            k, m = (child, j) if open_a else (i, child)
            if open_a:
                parted = nodes_parted(trees, k, m, c, rc, c2, r2, PLANE_DIRECTIONS_BELOW, r, t, beyond)
                apart2 = norm2(sub(c2, c))
            else:
                c = transform(r, t, c)
                parted = nodes_parted(trees, k, m, c1, r1, c, rc, PLANE_DIRECTIONS_BELOW, r, t, beyond)
                apart2 = norm2(sub(c, c1))
            if parted:
                continue
            wide = rc + (r2 if open_a else r1)
            gap = apart2 - wide * wide
            if left == 1:
                wait = child
                if gap < deepest:
                    wait, near = near, child
                stack[depth, 0], stack[depth, 1] = (wait, j) if open_a else (i, wait)
                depth += 1
            else:
                near, deepest = child, gap
            left += 1
        if left > 0:
            i, j = (near, j) if open_a else (i, near)
            continue
        if depth == 0:
            break
        depth -= 1
        i, j = stack[depth, 0], stack[depth, 1]
    # The surfaces are apart.
    return none_inside(trees, b, a, r, t, True, beyond[2]) and none_inside(trees, a, b, r, t, False, beyond[2])


@kernel("i8, i8, plane_trees, i8[::1], f8[:,::1], i8[:,::1], f8, u1[::1], u1[::1]")
def part_pairs_rows(start, stop, trees, shape, poses, pairs, reach, below, found_out):
    """Whether support planes show pairs of bodies to be farther apart than `reach` (NO_PLANES, ...); the levels below the roots
    are tried where `below` says."""
    stack = np.empty((_STACK, 2), np.int64)
    for k in range(start, stop):
        i, j = pairs[k, 0], pairs[k, 1]
        a, b = shape[i], shape[j]
        found_out[k] = NO_PLANES
        if trees.root[a] >= 0 and trees.root[b] >= 0:
            r, t = tree_pose(poses, i, poses, j, trees.origin[a], trees.origin[b])
            if roots_parted(trees, a, b, r, t, reach):
                found_out[k] = ROOTS_PART
            elif below[k] != 0 and levels_parted(trees, a, b, r, t, reach, stack):
                found_out[k] = LEVELS_PART
            else:
                found_out[k] = NOT_PARTED
