"""How pair queries and casts end, as plain numbers for kernels; `results.Status` and `CastStatus` are their public names."""

from __future__ import annotations

SEPARATED, OVERLAPPING, UNCONVERGED = 0, 1, 2
MISS, HIT, AT_START, CAST_UNCONVERGED = 0, 1, 2, 3
