"""The patches of two meshes that overlap: runs of the crossing curve with what of either surface they cut off inside the other.

The triangles that meet are nodes of a graph, and so are the regions that the crossing cuts off: triangles that do not cross,
reached from corners of crossing triangles that lie inside the other solid. (A connected surface stays inside until it crosses.)
Pairs that meet, and triangles that border on a region, are its edges. Its connected parts are the patches. The work is in
proportion to their triangles.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.bvh.edge_table import root_of
from thud.bvh.wide import LEAF, STACK
from thud.math.pose import load_rotation, load_translation, transform, untransform
from thud.math.vec3 import load3
from thud.mesh.contains import parity_in_mesh


@kernel(inner="patch_mesh, patch_space, i8, i8, i8")
def flood(mesh, space, place, label, used):
    """Label the triangles that do not cross and hang together with `place`, and list them from region[used] on. Returns how
    many are listed then."""
    space.waiting[0], waiting = place, 1
    space.place_label[place] = label
    while waiting > 0:
        waiting -= 1
        v = space.waiting[waiting]
        for k in range(mesh.fan_start[v], mesh.fan_start[v + 1]):
            face = mesh.fan_face[k]
            if space.face_label[face] != 0:
                continue
            space.face_label[face] = label
            space.region[used] = face
            used += 1
            for corner in range(3):
                w = mesh.welded[face, corner]
                if space.place_label[w] == 0:
                    space.place_label[w] = label
                    space.waiting[waiting] = w
                    waiting += 1
    return used


@kernel(inner="patch_mesh, patch_space, i8, wide_tree, i8, f8[:,::1], f8[:,::1], i8[::1], f4[::1], f8[::1]")
def cut_off(mesh, space, crossing, wide, closed, pose, other, stack, t_box, t_triangle):
    """(how many regions, how many triangles in them) of what the crossing triangles cut off inside the other mesh, `wide`, if
    it is closed. pose, other: (1, 12) poses of the two."""
    regions, used = 0, 0
    if closed == 0:
        return regions, used
    r, t = load_rotation(pose, 0), load_translation(pose, 0)
    ro, to = load_rotation(other, 0), load_translation(other, 0)
    for k in range(crossing):
        for corner in range(3):
            v = mesh.welded[space.crossing[k], corner]
            if space.inside[v] == 0:
                p = untransform(ro, to, transform(r, t, load3(mesh.vertices, v, 0)))
                space.inside[v] = 2 if parity_in_mesh(p, wide, stack, t_box, t_triangle) else 1
            if space.inside[v] == 2 and space.place_label[v] == 0:
                regions += 1
                used = flood(mesh, space, v, np.int64(regions), np.int64(used))
    return regions, used


@device
def join(parent, i, j):
    """The lower one stands for both."""
    i, j = root_of(parent, i), root_of(parent, j)
    parent[max(i, j)] = min(i, j)


@device
def join_regions(mesh, space, crossing, first, first_region, parent):
    """Crossing triangles hang together with the regions, of at least one triangle, that they border on."""
    for k in range(crossing):
        for corner in range(3):
            label = space.place_label[mesh.welded[space.crossing[k], corner]]
            if label > 0 and has_region(mesh, space, mesh.welded[space.crossing[k], corner]):
                join(parent, first + k, first_region + label - 1)


@device
def has_region(mesh, space, place):
    """Whether one of the triangles about a place is cut off."""
    found = False
    for k in range(mesh.fan_start[place], mesh.fan_start[place + 1]):
        found = found or space.face_label[mesh.fan_face[k]] > 0
    return found


@device
def patch_of(space, face, first, first_region, parent, patch):
    """The patch of a listed triangle."""
    label = space.face_label[face]
    node = first_region + label - 1 if label > 0 else first - label - 1
    return patch[root_of(parent, node)]


@kernel(inner="patch_mesh, patch_space, i8, i8, i8, i8, i4[::1], i8[::1], i8, i8[::1], i8[::1]")
def list_patches(mesh, space, crossing, used, first, first_region, parent, patch, patches, start_out, places_out):
    """Triangles by patch, and the places of each that lie inside the other mesh; start_out and places_out: where those of each
    patch begin. Then the space is as it was before."""
    for p in range(patches + 1):
        start_out[p] = 0
    for k in range(crossing + used):
        face = space.crossing[k] if k < crossing else space.region[k - crossing]
        start_out[patch_of(space, face, first, first_region, parent, patch)] += 1
    total = 0
    for p in range(patches + 1):
        total += start_out[p]
        start_out[p] = total
    for k in range(crossing + used):
        face = space.crossing[k] if k < crossing else space.region[k - crossing]
        p = patch_of(space, face, first, first_region, parent, patch)
        start_out[p] -= 1
        space.listed[start_out[p]] = face
    found = 0
    for p in range(patches):
        places_out[p] = found
        for k in range(start_out[p], start_out[p + 1]):
            for corner in range(3):
                v = mesh.welded[space.listed[k], corner]
                if space.place_label[v] > 0 and space.taken[v] != p + 1:
                    space.taken[v] = p + 1
                    space.places[found] = v
                    found += 1
    places_out[patches] = found
    for k in range(crossing + used):
        face = space.crossing[k] if k < crossing else space.region[k - crossing]
        space.face_label[face] = 0
        for corner in range(3):
            v = mesh.welded[face, corner]
            space.place_label[v], space.inside[v], space.taken[v] = 0, 0, 0


@kernel(
    "patch_mesh, patch_mesh, wide_tree, wide_tree, f8[:,::1], f8[:,::1], i8[:,::1], patch_space, patch_space, i4[::1], "
    "i8[::1], i8[:,::1]"
)
def find_patches(a, b, wide_a, wide_b, pose_a, pose_b, pairs, space_a, space_b, parent, patch, start_out):
    """How many patches there are of two meshes whose triangles pairs[k, 0] and pairs[k, 1] meet, numbered by their first pair.
    start_out: (4, more than patches) where the triangles of A and of B, and their places inside the other, begin. parent and
    patch: room for eight nodes a pair."""
    stack, t_box, t_triangle = np.empty(STACK, np.int64), np.empty(8, np.float32), np.empty(LEAF)
    crossing_a, crossing_b = 0, 0
    for k in range(pairs.shape[0]):
        if space_a.face_label[pairs[k, 0]] == 0:
            space_a.crossing[crossing_a] = pairs[k, 0]
            crossing_a += 1
            space_a.face_label[pairs[k, 0]] = -crossing_a
        if space_b.face_label[pairs[k, 1]] == 0:
            space_b.crossing[crossing_b] = pairs[k, 1]
            crossing_b += 1
            space_b.face_label[pairs[k, 1]] = -crossing_b
    regions_a, used_a = cut_off(a, space_a, np.int64(crossing_a), wide_b, b.closed, pose_a, pose_b, stack, t_box, t_triangle)
    regions_b, used_b = cut_off(b, space_b, np.int64(crossing_b), wide_a, a.closed, pose_b, pose_a, stack, t_box, t_triangle)
    first_b = crossing_a
    first_region_a = crossing_a + crossing_b
    first_region_b = first_region_a + regions_a
    nodes = first_region_b + regions_b
    for k in range(nodes):
        parent[k], patch[k] = k, -1
    for k in range(pairs.shape[0]):
        join(parent, -1 - space_a.face_label[pairs[k, 0]], first_b - 1 - space_b.face_label[pairs[k, 1]])
    join_regions(a, space_a, crossing_a, 0, first_region_a, parent)
    join_regions(b, space_b, crossing_b, first_b, first_region_b, parent)
    patches = 0
    for k in range(crossing_a):
        root = root_of(parent, k)
        if patch[root] < 0:
            patch[root] = patches
            patches += 1
    count = np.int64(patches)
    list_patches(
        a, space_a, np.int64(crossing_a), np.int64(used_a), np.int64(0), np.int64(first_region_a), parent, patch, count,
        start_out[0], start_out[2],
    )  # fmt: skip
    list_patches(
        b, space_b, np.int64(crossing_b), np.int64(used_b), np.int64(first_b), np.int64(first_region_b), parent, patch, count,
        start_out[1], start_out[3],
    )  # fmt: skip
    return patches
