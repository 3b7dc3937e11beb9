"""Smooth noise from whole numbers: a function of the place and a seed alone, with the same bits wherever and in whatever
company it is asked. Gradient noise (Perlin 1985) with his later fifth-degree blend (2002), gradients by a hash of the lattice
point."""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel

_A, _B, _C = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F), np.uint64(0x165667B19E3779F9)
_M1, _M2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S16, _S32 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(16), np.uint64(32)
_S29, _S40, _LOW, _LOW16 = np.uint64(29), np.uint64(40), np.uint64(0xFFFFFF), np.uint64(0xFFFF)
_UNIT = 2.0 / 0xFFFFFF
_S21, _S42, _LOW21 = np.uint64(21), np.uint64(42), np.uint64(0x1FFFFF)
_UNIT21 = 2.0 / 0x1FFFFF


@exact_device
def hash3(i, j, k, salt):
    """64 bits of a lattice point (SplitMix64's last steps)."""
    h = np.uint64(i) * _A ^ np.uint64(j) * _B ^ np.uint64(k) * _C ^ np.uint64(salt) * _M2
    h = (h ^ (h >> _S30)) * _M1
    h = (h ^ (h >> _S27)) * _M2
    return h ^ (h >> _S31)


@exact_device
def uniform(bits, part):
    """Number from 0 to 1 from the 16 bits `part` (0 to 3) of a hash."""
    return np.float64(np.int64((bits >> (_S16 * np.uint64(part))) & _LOW16)) / 65535.0


@exact_device
def _blend(t):
    return t * t * t * (t * (t * 6.0 - 15.0) + 10.0)


@exact_device
def _slope2(h, x, y):
    """Gradient of the lattice point whose sum of multiples is h, times the way from it."""
    h = (h ^ (h >> _S32)) * _M1
    h = (h ^ (h >> _S29)) * _M2
    gx = np.float64(np.int64(h >> _S40)) * _UNIT - 1.0
    gy = np.float64(np.int64((h >> _S16) & _LOW)) * _UNIT - 1.0
    return gx * x + gy * y


@exact_kernel
def noise2(x, y, salt):
    """From -1 to 1, 0 at lattice points; one unit between them."""
    fx, fy = np.floor(x), np.floor(y)
    h = np.uint64(np.int64(fx)) * _A + np.uint64(np.int64(fy)) * _B + np.uint64(salt) * _C
    x, y = x - fx, y - fy
    a, b = _slope2(h, x, y), _slope2(h + _A, x - 1.0, y)
    c, d = _slope2(h + _B, x, y - 1.0), _slope2(h + _A + _B, x - 1.0, y - 1.0)
    u, v = _blend(x), _blend(y)
    low, high = a + u * (b - a), c + u * (d - c)
    return low + v * (high - low)


@exact_device
def _slope3(i, j, k, salt, x, y, z):
    h = hash3(i, j, k, salt)
    gx = np.float64(np.int64(h & _LOW21)) * _UNIT21 - 1.0
    gy = np.float64(np.int64((h >> _S21) & _LOW21)) * _UNIT21 - 1.0
    gz = np.float64(np.int64((h >> _S42) & _LOW21)) * _UNIT21 - 1.0
    return gx * x + gy * y + gz * z


@exact_kernel
def noise3(x, y, z, salt):
    """The same of space, from -1.5 to 1.5."""
    fx, fy, fz = np.floor(x), np.floor(y), np.floor(z)
    i, j, k = np.int64(fx), np.int64(fy), np.int64(fz)
    x, y, z = x - fx, y - fy, z - fz
    u, v, w = _blend(x), _blend(y), _blend(z)
    a, b = _slope3(i, j, k, salt, x, y, z), _slope3(i + 1, j, k, salt, x - 1.0, y, z)
    c, d = _slope3(i, j + 1, k, salt, x, y - 1.0, z), _slope3(i + 1, j + 1, k, salt, x - 1.0, y - 1.0, z)
    low, high = a + u * (b - a), c + u * (d - c)
    below = low + v * (high - low)
    z1 = z - 1.0
    a, b = _slope3(i, j, k + 1, salt, x, y, z1), _slope3(i + 1, j, k + 1, salt, x - 1.0, y, z1)
    c, d = _slope3(i, j + 1, k + 1, salt, x, y - 1.0, z1), _slope3(i + 1, j + 1, k + 1, salt, x - 1.0, y - 1.0, z1)
    low, high = a + u * (b - a), c + u * (d - c)
    above = low + v * (high - low)
    return below + w * (above - below)
