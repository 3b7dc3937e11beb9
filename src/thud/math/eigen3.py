"""Eigenvectors of a symmetric 3 x 3 matrix by Jacobi rotations (Golub and Van Loan, 8.5), on scalars.

`np.linalg.eigh` inside a kernel allocates and costs some 10 us; this takes 0.3 us and needs no library.
"""

from __future__ import annotations

import math

from thud._core.decorators import exact_device, exact_kernel
from thud.constants import JACOBI_SWEEPS


@exact_device
def _rotation(app, aqq, apq):
    """(c, s) that makes the element (p, q) zero; the smaller of the two angles."""
    if apq == 0.0:
        return 1.0, 0.0
    tau = (aqq - app) / (2.0 * apq)
    # sqrt(1 + tau^2) may overflow to inf; then t = 0, which is right to roundoff.
    root = math.sqrt(1.0 + tau * tau)
    t = 1.0 / (tau + root) if tau >= 0.0 else 1.0 / (tau - root)
    c = 1.0 / math.sqrt(1.0 + t * t)
    return c, t * c


@exact_kernel(inner="f8, f8, f8, f8, f8, f8")
def eigenvectors(xx, yy, zz, xy, xz, yz):
    """(rotation, eigenvalues): rows of the 9-tuple are unit eigenvectors, right-handed, by descending eigenvalue.

    The zero matrix, and one that is not finite, give the coordinate axes.
    """
    size = abs(xx) + abs(yy) + abs(zz) + abs(xy) + abs(xz) + abs(yz)
    if not 0.0 < size < 1e300:
        return (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0), (xx, yy, zz)
    xx, yy, zz, xy, xz, yz = xx / size, yy / size, zz / size, xy / size, xz / size, yz / size
    u, v, w = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)
    for _ in range(JACOBI_SWEEPS):
        if xy * xy + xz * xz + yz * yz < 1e-36:
            break
        c, s = _rotation(xx, yy, xy)
        xx, yy = c * c * xx - 2.0 * c * s * xy + s * s * yy, s * s * xx + 2.0 * c * s * xy + c * c * yy
        xy, xz, yz = 0.0, c * xz - s * yz, s * xz + c * yz
        u, v = _turn(u, v, c, s)
        c, s = _rotation(xx, zz, xz)
        xx, zz = c * c * xx - 2.0 * c * s * xz + s * s * zz, s * s * xx + 2.0 * c * s * xz + c * c * zz
        xz, xy, yz = 0.0, c * xy - s * yz, s * xy + c * yz
        u, w = _turn(u, w, c, s)
        c, s = _rotation(yy, zz, yz)
        yy, zz = c * c * yy - 2.0 * c * s * yz + s * s * zz, s * s * yy + 2.0 * c * s * yz + c * c * zz
        yz, xy, xz = 0.0, c * xy - s * xz, s * xy + c * xz
        v, w = _turn(v, w, c, s)
    # Largest first; the third axis closes a right-handed frame.
    if yy > xx:
        xx, yy, u, v = yy, xx, v, u
    if zz > xx:
        xx, zz, u, w = zz, xx, w, u
    if zz > yy:
        yy, zz, v, w = zz, yy, w, v
    w = (u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0])
    return (u[0], u[1], u[2], v[0], v[1], v[2], w[0], w[1], w[2]), (xx * size, yy * size, zz * size)


@exact_device
def _turn(u, v, c, s):
    """The two columns after the rotation by (c, s)."""
    return (
        (c * u[0] - s * v[0], c * u[1] - s * v[1], c * u[2] - s * v[2]),
        (s * u[0] + c * v[0], s * u[1] + c * v[1], s * u[2] + c * v[2]),
    )
