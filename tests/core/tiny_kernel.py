"""A kernel for tests of the store."""

from __future__ import annotations

from thud._core.decorators import device, kernel


@device
def twice(x):
    return 2.0 * x


@kernel("f8[::1]")
def rows(out):
    out[0] = twice(1.0)
