"""One bilinear patch (3.5): its corners, its normal, where a line meets it."""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.terrain.collision.tolerances import PATCH_NEWTON, PATCH_STEPS
from thud.terrain.sampling import node_point
from thud.terrain.surface_arrays import SIDE


@exact_device
def read_patch(surface, quad, x, y, corners_out):
    """The four samples of patch (x, y) of a quad: p00, p10, p01, p11 (first digit along s)."""
    for k in range(4):
        p = node_point(surface, quad, x + (k & 1), y + (k >> 1))
        corners_out[k, 0], corners_out[k, 1], corners_out[k, 2] = p


@exact_kernel(inner="surface, i8, i8, i8, f8[:,::1]")
def load_patch(surface, quad, x, y, corners_out):
    """`read_patch`, not inlined."""
    read_patch(surface, quad, x, y, corners_out)


@exact_device
def patch_point(corners, a, b):
    """p(a, b), Eq. (3.5)."""
    w00, w10, w01, w11 = (1.0 - a) * (1.0 - b), a * (1.0 - b), (1.0 - a) * b, a * b
    return (
        w00 * corners[0, 0] + w10 * corners[1, 0] + w01 * corners[2, 0] + w11 * corners[3, 0],
        w00 * corners[0, 1] + w10 * corners[1, 1] + w01 * corners[2, 1] + w11 * corners[3, 1],
        w00 * corners[0, 2] + w10 * corners[1, 2] + w01 * corners[2, 2] + w11 * corners[3, 2],
    )


@exact_device
def tangents(corners, a, b):
    """Derivatives along s and t at (a, b)."""
    return (
        (1.0 - b) * (corners[1, 0] - corners[0, 0]) + b * (corners[3, 0] - corners[2, 0]),
        (1.0 - b) * (corners[1, 1] - corners[0, 1]) + b * (corners[3, 1] - corners[2, 1]),
        (1.0 - b) * (corners[1, 2] - corners[0, 2]) + b * (corners[3, 2] - corners[2, 2]),
        (1.0 - a) * (corners[2, 0] - corners[0, 0]) + a * (corners[3, 0] - corners[1, 0]),
        (1.0 - a) * (corners[2, 1] - corners[0, 1]) + a * (corners[3, 1] - corners[1, 1]),
        (1.0 - a) * (corners[2, 2] - corners[0, 2]) + a * (corners[3, 2] - corners[1, 2]),
    )


@exact_device
def patch_normal(corners, a, b):
    """Unit normal to the upper side at (a, b); 0 where the patch has no area."""
    ex, ey, ez, fx, fy, fz = tangents(corners, a, b)
    nx, ny, nz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
    length = math.sqrt(nx * nx + ny * ny + nz * nz)
    if not length > 0.0:
        return 0.0, 0.0, 0.0
    return nx / length, ny / length, nz / length


@exact_device
def patch_size(corners):
    """The longer diagonal."""
    x, y, z = corners[3, 0] - corners[0, 0], corners[3, 1] - corners[0, 1], corners[3, 2] - corners[0, 2]
    u, v, w = corners[2, 0] - corners[1, 0], corners[2, 1] - corners[1, 1], corners[2, 2] - corners[1, 2]
    return math.sqrt(max(x * x + y * y + z * z, u * u + v * v + w * w))


@exact_device
def twist(corners):
    """Length of p11 - p10 - p01 + p00: the patch leaves its bounding triangles by at most a quarter of it."""
    x = corners[3, 0] - corners[1, 0] - corners[2, 0] + corners[0, 0]
    y = corners[3, 1] - corners[1, 1] - corners[2, 1] + corners[0, 1]
    z = corners[3, 2] - corners[1, 2] - corners[2, 2] + corners[0, 2]
    return math.sqrt(x * x + y * y + z * z)


@exact_device
def line_meets_patch(corners, p, n, a, b, length):
    """(converged, a, b, length): where the line p + length n meets the patch, continued beyond its borders; by Newton's
    method from the values given."""
    for _ in range(PATCH_STEPS):
        q = patch_point(corners, a, b)
        rx, ry, rz = q[0] - p[0] - length * n[0], q[1] - p[1] - length * n[1], q[2] - p[2] - length * n[2]
        ex, ey, ez, fx, fy, fz = tangents(corners, a, b)
        # Cramer's rule for e da + f db - n dl = -r.
        mx, my, mz = ey * fz - ez * fy, ez * fx - ex * fz, ex * fy - ey * fx
        whole = mx * n[0] + my * n[1] + mz * n[2]
        if whole == 0.0:
            return False, a, b, length
        step = (mx * rx + my * ry + mz * rz) / whole
        gx, gy, gz = step * n[0] - rx, step * n[1] - ry, step * n[2] - rz
        da = (gx * (fy * n[2] - fz * n[1]) + gy * (fz * n[0] - fx * n[2]) + gz * (fx * n[1] - fy * n[0])) / whole
        db = (gx * (n[1] * ez - n[2] * ey) + gy * (n[2] * ex - n[0] * ez) + gz * (n[0] * ey - n[1] * ex)) / whole
        a, b, length = a + da, b + db, length + step
        if abs(da) + abs(db) <= PATCH_NEWTON:
            return True, a, b, length
        if not abs(a) + abs(b) < 64.0:
            return False, a, b, length
    return False, a, b, length


@exact_kernel(inner="surface, i8, f8, f8, vec3, vec3, f8, f8[:,::1]")
def surface_length(surface, quad, s, t, p, n, length, corners):
    """(converged, length, x, y, a, b): how far along n from p the surface is, and in which patch of the quad: from the patch at
    (s, t) samples of the quad on to its neighbours. Beyond the quad's border its last patches are continued. `corners` is
    work space."""
    most = surface.ratio * surface.quads[quad, SIDE] - 1
    x, y = min(max(math.floor(s), 0), most), min(max(math.floor(t), 0), most)
    for _ in range(4):
        load_patch(surface, quad, x, y, corners)
        # Relative to p: far from the origin the coordinates' roundoff would keep Newton's method from ending.
        for k in range(4):
            for axis in range(3):
                corners[k, axis] -= p[axis]
        done, a, b, found = line_meets_patch(corners, (0.0, 0.0, 0.0), n, s - x, t - y, length)
        if not done:
            return False, length, x, y, s - x, t - y
        to_x = min(max(x + (1 if a > 1.0 else (-1 if a < 0.0 else 0)), 0), most)
        to_y = min(max(y + (1 if b > 1.0 else (-1 if b < 0.0 else 0)), 0), most)
        s, t, length = x + a, y + b, found
        if to_x == x and to_y == y:
            break
        x, y = to_x, to_y
    return True, length, x, y, s - x, t - y
