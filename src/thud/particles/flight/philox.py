"""Numbers by hash of a counter: Philox4x32-10 (Salmon et al. 2011, "Parallel random numbers: as easy as 1, 2, 3").

The same key and counter give the same numbers, in any order, on any machine and in any backend; nothing is stepped.
"""

from __future__ import annotations

import numpy as np

from thud._core.decorators import exact_device, exact_kernel

_M0, _M1 = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_W0, _W1 = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _32 = np.uint64(0xFFFFFFFF), np.uint64(32)

#: Rounds of the hash; seven pass all known tests, ten leave room.
ROUNDS = 10


@exact_kernel(inner="u8, u8, u8, u8, u8, u8")
def philox(c0, c1, c2, c3, k0, k1):
    """Four numbers of 32 bits from a counter of four and a key of two."""
    for _ in range(ROUNDS):
        p0, p1 = _M0 * c0, _M1 * c2
        c0, c1, c2, c3 = (p1 >> _32) ^ c1 ^ k0, p1 & _LOW, (p0 >> _32) ^ c3 ^ k1, p0 & _LOW
        k0, k1 = (k0 + _W0) & _LOW, (k1 + _W1) & _LOW
    return c0, c1, c2, c3


@exact_device
def spread(word):
    """From 32 bits to the middle of one of 2**32 equal parts of [-1, 1]."""
    return (np.float64(word) + 0.5) * 2.0**-31 - 1.0
