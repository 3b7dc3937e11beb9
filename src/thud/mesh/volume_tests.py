"""Do the volumes of two nodes meet, by type; and Theorem 3.2 on the pair. All in the frame of A's tree; (R, t) is B's in it.

Rows of the volumes are as `bounds/` lays them out. Everything is conservative: what is closer than `touch` meets.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import device, kernel
from thud.bounds.support_plane_map import SPM, support_plane
from thud.bounds.support_planes import OFFSETS
from thud.bounds.theorem_3_2 import aabb_rejects, kdop_rejects, obb_rejects, sphere_rejects
from thud.constants import NO_LIMIT
from thud.math.pose import rotate, transform, unrotate, untransform
from thud.math.vec3 import dot, neg, norm2, sub
from thud.mesh.plane_steps import chung_wang_step
from thud.mesh.tolerances import OBB_BLUR

#: Types of volumes. ALIGNED are AABBs tested as boxes of one frame, B's refitted into A's, by three axes.
SPHERE, AABB, OBB, KDOP, ALIGNED = 0, 1, 2, 3, 4

#: A tree with its volumes, for kernels: skip, first, corners (flat), origin, volumes, k-DOP directions, extent
#: (sum of the root box's half extents), SPM.
TREE = f"Tuple((i8[::1], i8[::1], f8[::1], f8[::1], f4[:,::1], f8[:,::1], f8, {SPM}))"


@device
def load3f(volumes, k, column):
    """Three numbers of a row, in float64."""
    return np.float64(volumes[k, column]), np.float64(volumes[k, column + 1]), np.float64(volumes[k, column + 2])


@device
def volume_size(kind, volumes, k):
    """A measure of a node's extent, to choose which of two nodes to open."""
    if kind == SPHERE:
        return np.float64(volumes[k, 3])
    if kind == AABB:
        return np.float64(volumes[k, 3]) + np.float64(volumes[k, 4]) + np.float64(volumes[k, 5])
    if kind == OBB:
        return np.float64(volumes[k, 12]) + np.float64(volumes[k, 13]) + np.float64(volumes[k, 14])
    half = volumes.shape[1] // 2
    x, y, z = volumes[k, half] - volumes[k, 0], volumes[k, half + 1] - volumes[k, 1], volumes[k, half + 2] - volumes[k, 2]
    return np.float64(x) + np.float64(y) + np.float64(z)


@device
def kdop_box(volumes, k):
    """(centre, half extents) of the box of a k-DOP."""
    half = volumes.shape[1] // 2
    low, high = load3f(volumes, k, 0), load3f(volumes, k, half)
    return (
        (0.5 * (low[0] + high[0]), 0.5 * (low[1] + high[1]), 0.5 * (low[2] + high[2])),
        (0.5 * (high[0] - low[0]), 0.5 * (high[1] - low[1]), 0.5 * (high[2] - low[2])),
    )


@device
def boxes_meet(a, b, r, t, touch):
    """The 15-axis test: half extents a, b; (R, t) is the second box in the first one's frame."""
    q = (abs(r[0]), abs(r[1]), abs(r[2]), abs(r[3]), abs(r[4]), abs(r[5]), abs(r[6]), abs(r[7]), abs(r[8]))
    # Faces of the first, of the second.
    if abs(t[0]) > a[0] + b[0] * q[0] + b[1] * q[1] + b[2] * q[2] + touch:
        return False
    if abs(t[1]) > a[1] + b[0] * q[3] + b[1] * q[4] + b[2] * q[5] + touch:
        return False
    if abs(t[2]) > a[2] + b[0] * q[6] + b[1] * q[7] + b[2] * q[8] + touch:
        return False
    if abs(t[0] * r[0] + t[1] * r[3] + t[2] * r[6]) > b[0] + a[0] * q[0] + a[1] * q[3] + a[2] * q[6] + touch:
        return False
    if abs(t[0] * r[1] + t[1] * r[4] + t[2] * r[7]) > b[1] + a[0] * q[1] + a[1] * q[4] + a[2] * q[7] + touch:
        return False
    if abs(t[0] * r[2] + t[1] * r[5] + t[2] * r[8]) > b[2] + a[0] * q[2] + a[1] * q[5] + a[2] * q[8] + touch:
        return False
    # Edges: first x, y, z of the first box with each of the second. The axes are shorter than 1, so `touch` is ample.
    if abs(t[2] * r[3] - t[1] * r[6]) > a[1] * q[6] + a[2] * q[3] + b[1] * q[2] + b[2] * q[1] + touch:
        return False
    if abs(t[2] * r[4] - t[1] * r[7]) > a[1] * q[7] + a[2] * q[4] + b[0] * q[2] + b[2] * q[0] + touch:
        return False
    if abs(t[2] * r[5] - t[1] * r[8]) > a[1] * q[8] + a[2] * q[5] + b[0] * q[1] + b[1] * q[0] + touch:
        return False
    if abs(t[0] * r[6] - t[2] * r[0]) > a[0] * q[6] + a[2] * q[0] + b[1] * q[5] + b[2] * q[4] + touch:
        return False
    if abs(t[0] * r[7] - t[2] * r[1]) > a[0] * q[7] + a[2] * q[1] + b[0] * q[5] + b[2] * q[3] + touch:
        return False
    if abs(t[0] * r[8] - t[2] * r[2]) > a[0] * q[8] + a[2] * q[2] + b[0] * q[4] + b[1] * q[3] + touch:
        return False
    if abs(t[1] * r[0] - t[0] * r[3]) > a[0] * q[3] + a[1] * q[0] + b[1] * q[8] + b[2] * q[7] + touch:
        return False
    if abs(t[1] * r[1] - t[0] * r[4]) > a[0] * q[4] + a[1] * q[1] + b[0] * q[8] + b[2] * q[6] + touch:
        return False
    return abs(t[1] * r[2] - t[0] * r[5]) <= a[0] * q[5] + a[1] * q[2] + b[0] * q[7] + b[1] * q[6] + touch


@device
def load9f(volumes, k):
    """Nine numbers of a row, in float64."""
    return (
        np.float64(volumes[k, 0]), np.float64(volumes[k, 1]), np.float64(volumes[k, 2]), np.float64(volumes[k, 3]),
        np.float64(volumes[k, 4]), np.float64(volumes[k, 5]), np.float64(volumes[k, 6]), np.float64(volumes[k, 7]),
        np.float64(volumes[k, 8]),
    )  # fmt: skip


@kernel(inner="f4[:,::1], i8, f4[:,::1], i8, mat3, vec3, f8")
def obbs_meet(volumes_a, i, volumes_b, j, r, t, touch):
    """Two oriented boxes: B's axes and centre along A's axes, then the 15-axis test."""
    u, v = load9f(volumes_a, i), load9f(volumes_b, j)
    a, b = load3f(volumes_a, i, 12), load3f(volumes_b, j, 12)
    d = rotate(u, sub(transform(r, t, load3f(volumes_b, j, 9)), load3f(volumes_a, i, 9)))
    x = rotate(u, rotate(r, (v[0], v[1], v[2])))
    y = rotate(u, rotate(r, (v[3], v[4], v[5])))
    z = rotate(u, rotate(r, (v[6], v[7], v[8])))
    # Axes are orthonormal to float32 only.
    blur = touch + OBB_BLUR * (a[0] + a[1] + a[2] + b[0] + b[1] + b[2])
    return boxes_meet(a, b, (x[0], y[0], z[0], x[1], y[1], z[1], x[2], y[2], z[2]), d, blur)


@kernel(inner="f8[:,::1], i8[:,::1], f8[:,::1], mat3, vec3, i8[:,::1], f8[:,::1]")
def align_kdops(axes_a, cones_b, matrices_b, r, t, triples_out, weights_out):
    """How B's k-DOPs are turned to A's directions (Zachmann 1998), once a pose: each direction of A, seen from B, is a sum of
    three of B's with weights >= 0, so the same sum of B's bounds is a bound. weights_out also gets t along the direction."""
    for i in range(axes_a.shape[0]):
        a = (axes_a[i, 0], axes_a[i, 1], axes_a[i, 2])
        v = unrotate(r, a)
        best, cone, weights = -NO_LIMIT, 0, (0.0, 0.0, 0.0)
        for k in range(cones_b.shape[0]):
            m = (
                matrices_b[k, 0] * v[0] + matrices_b[k, 1] * v[1] + matrices_b[k, 2] * v[2],
                matrices_b[k, 3] * v[0] + matrices_b[k, 4] * v[1] + matrices_b[k, 5] * v[2],
                matrices_b[k, 6] * v[0] + matrices_b[k, 7] * v[1] + matrices_b[k, 8] * v[2],
            )
            least = min(m[0], min(m[1], m[2]))
            if least > best:
                best, cone, weights = least, k, m
        for c in range(3):
            triples_out[i, c], weights_out[i, c] = cones_b[cone, c], max(weights[c], 0.0)
        weights_out[i, 3] = dot(a, t)


@device
def kdop_upper(volumes, k, direction):
    """Bound of x along one of the k signed directions."""
    half = volumes.shape[1] // 2
    return np.float64(volumes[k, half + direction]) if direction < half else -np.float64(volumes[k, direction - half])


@kernel(inner="f4[:,::1], i8, f4[:,::1], i8, i8[:,::1], f8[:,::1], f8")
def kdops_meet(volumes_a, i, volumes_b, j, triples, weights, touch):
    """Two k-DOPs along A's directions, which have lengths up to sqrt(3)."""
    half_a, half_b = volumes_a.shape[1] // 2, volumes_b.shape[1] // 2
    for d in range(half_a):
        upper, lower = weights[d, 3], weights[d, 3]
        for c in range(3):
            k = triples[d, c]
            upper += weights[d, c] * kdop_upper(volumes_b, j, k)
            lower -= weights[d, c] * kdop_upper(volumes_b, j, k + half_b if k < half_b else k - half_b)
        if upper < np.float64(volumes_a[i, d]) - 8.0 * touch or lower > np.float64(volumes_a[i, half_a + d]) + 8.0 * touch:
            return False
    return True


@device
def volumes_meet(kind, volumes_a, i, volumes_b, j, triples, weights, r, t, touch):
    """Whether the volumes of nodes i of A and j of B meet."""
    if kind == SPHERE:
        d = sub(transform(r, t, load3f(volumes_b, j, 0)), load3f(volumes_a, i, 0))
        reach = np.float64(volumes_a[i, 3]) + np.float64(volumes_b[j, 3]) + touch
        return norm2(d) <= reach * reach
    if kind == AABB:
        d = sub(transform(r, t, load3f(volumes_b, j, 0)), load3f(volumes_a, i, 0))
        return boxes_meet(load3f(volumes_a, i, 3), load3f(volumes_b, j, 3), r, d, touch)
    if kind == OBB:
        return obbs_meet(volumes_a, i, volumes_b, j, r, t, touch)
    if kind == ALIGNED:
        d = sub(transform(r, t, load3f(volumes_b, j, 0)), load3f(volumes_a, i, 0))
        a, b = load3f(volumes_a, i, 3), load3f(volumes_b, j, 3)
        return (
            abs(d[0]) <= a[0] + abs(r[0]) * b[0] + abs(r[1]) * b[1] + abs(r[2]) * b[2] + touch
            and abs(d[1]) <= a[1] + abs(r[3]) * b[0] + abs(r[4]) * b[1] + abs(r[5]) * b[2] + touch
            and abs(d[2]) <= a[2] + abs(r[6]) * b[0] + abs(r[7]) * b[1] + abs(r[8]) * b[2] + touch
        )
    return kdops_meet(volumes_a, i, volumes_b, j, triples, weights, touch)


@device
def middle(low_a, high_a, low_b, high_b):
    """Middle of the common part of two intervals."""
    return 0.5 * (max(low_a, low_b) + min(high_a, high_b))


@device
def plane_directions(kind, volumes_a, i, volumes_b, j, r, t):
    """(v_1, v_2), both in A's frame: which support planes to ask for."""
    if kind == AABB:
        # 4.1.2: from the boxes' centres to the centre of their intersection A. B's box is refitted into A's frame by |R|.
        c1, h1 = load3f(volumes_a, i, 0), load3f(volumes_a, i, 3)
        c2, h = transform(r, t, load3f(volumes_b, j, 0)), load3f(volumes_b, j, 3)
        h2 = (
            abs(r[0]) * h[0] + abs(r[1]) * h[1] + abs(r[2]) * h[2],
            abs(r[3]) * h[0] + abs(r[4]) * h[1] + abs(r[5]) * h[2],
            abs(r[6]) * h[0] + abs(r[7]) * h[1] + abs(r[8]) * h[2],
        )
        c = (
            middle(c1[0] - h1[0], c1[0] + h1[0], c2[0] - h2[0], c2[0] + h2[0]),
            middle(c1[1] - h1[1], c1[1] + h1[1], c2[1] - h2[1], c2[1] + h2[1]),
            middle(c1[2] - h1[2], c1[2] + h1[2], c2[2] - h2[2], c2[2] + h2[2]),
        )
        v1, v2 = sub(c, c1), sub(c, c2)
        # A box inside the other is the intersection itself, and its own direction 0.
        if norm2(v1) == 0.0:
            v1 = (-v2[0], -v2[1], -v2[2])
        if norm2(v2) == 0.0:
            v2 = (-v1[0], -v1[1], -v1[2])
        return v1, v2
    # 4.1.1, 4.1.3: along d = c_2 - c_1.
    if kind == SPHERE:
        c1, c2 = load3f(volumes_a, i, 0), load3f(volumes_b, j, 0)
    elif kind == OBB:
        c1, c2 = load3f(volumes_a, i, 9), load3f(volumes_b, j, 9)
    else:
        c1, c2 = kdop_box(volumes_a, i)[0], kdop_box(volumes_b, j)[0]
    d = sub(transform(r, t, c2), c1)
    return d, (-d[0], -d[1], -d[2])


@device
def planes_reject(kind, volumes_a, i, axes_a, p1, n1, volumes_b, j, axes_b, p2_b, n2_b, r, t, slack, margin):
    """Both cases of Theorem 3.2 for one pair of planes, A's and B's each in the own frame."""
    p2, n2 = transform(r, t, p2_b), rotate(r, n2_b)
    if kind == SPHERE:
        c1, c2 = load3f(volumes_a, i, 0), transform(r, t, load3f(volumes_b, j, 0))
        return sphere_rejects(c1, np.float64(volumes_a[i, 3]), p1, n1, p2, n2, slack, margin) or sphere_rejects(
            c2, np.float64(volumes_b[j, 3]), p2, n2, p1, n1, slack, margin
        )
    # Case (1) in A's frame, then case (2) in B's.
    if kind == AABB:
        if aabb_rejects(load3f(volumes_a, i, 0), load3f(volumes_a, i, 3), p1, n1, p2, n2, slack, margin):
            return True
    elif kind == OBB:
        c1, h1 = load3f(volumes_a, i, 9), load3f(volumes_a, i, 12)
        if obb_rejects(load9f(volumes_a, i), c1, h1, p1, n1, p2, n2, slack, margin):
            return True
    elif kdop_rejects(axes_a, volumes_a, i, p1, n1, p2, n2, slack, margin):
        return True
    p1_b, n1_b = untransform(r, t, p1), unrotate(r, n1)
    if kind == AABB:
        return aabb_rejects(load3f(volumes_b, j, 0), load3f(volumes_b, j, 3), p2_b, n2_b, p1_b, n1_b, slack, margin)
    if kind == OBB:
        c2, h2 = load3f(volumes_b, j, 9), load3f(volumes_b, j, 12)
        return obb_rejects(load9f(volumes_b, j), c2, h2, p2_b, n2_b, p1_b, n1_b, slack, margin)
    return kdop_rejects(axes_b, volumes_b, j, p2_b, n2_b, p1_b, n1_b, slack, margin)


@device
def theorem_3_2(kind, volumes_a, i, axes_a, spm_a, volumes_b, j, axes_b, spm_b, r, t, slack, margin):
    """Whether Theorem 3.2 shows the objects below nodes i of A and j of B to be apart. Both nodes have mappings."""
    slot_a, slot_b = np.int64(spm_a[2][i]), np.int64(spm_b[2][j])
    # Without points on the planes there is no way from one to q.
    if spm_a[0] == OFFSETS or spm_b[0] == OFFSETS:
        return False
    v1, v2 = plane_directions(kind, volumes_a, i, volumes_b, j, r, t)
    for _step in range(max(spm_a[8], spm_b[8])):
        if not (norm2(v1) > 0.0 and norm2(v2) > 0.0):
            return False
        # E_1 = M_O1(v_1), E_2 = M_O2(v_2).
        p1, n1 = support_plane(spm_a, slot_a, v1)
        p2, n2 = support_plane(spm_b, slot_b, unrotate(r, v2))
        if planes_reject(kind, volumes_a, i, axes_a, p1, n1, volumes_b, j, axes_b, p2, n2, r, t, slack, margin):
            return True
        v1 = chung_wang_step(sub(v1, v2), sub(transform(r, t, p2), p1))
        v2 = neg(v1)
    return False
