"""The seeded fuzz at CI size: 4,000 poses of each ordered pair of kinds for the invariants, 400 for the oracles.

docs/fuzz.md says what is checked, how to run a million poses and how to reproduce one row.
"""

from __future__ import annotations

import os

import pytest

from tests.fuzz.run import SIZES, Tally, run_block
from tests.fuzz.shapes import KINDS

#: A tenth of the poses where CI runs the same tests again with bounds checks.
BLOCKS = 2 if os.environ.get("THUD_TEST_SIZE") == "small" else SIZES["ci"]


@pytest.mark.parametrize("kind_b", KINDS)
@pytest.mark.parametrize("kind_a", KINDS)
def test_pair_of_kinds(kind_a: str, kind_b: str) -> None:
    tally = Tally()
    for number in range(BLOCKS):
        run_block(kind_a, kind_b, number, 0, tally)
    assert tally.poses == 200 * BLOCKS
    assert tally.compared == 20 * BLOCKS
    assert not tally.failures, "\n".join(str(failure) for failure in tally.failures[:20])
    # Undecided is allowed, but not as a habit.
    assert sum(tally.unconverged.values()) <= tally.poses // 1000
