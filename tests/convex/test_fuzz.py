"""The seeded fuzz at CI size: 2,400 poses of each pair of kinds for the invariants, 240 for the oracles; two fifths of that for
the same pair the other way round, since swapping is one of the invariants.

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
    swapped = list(KINDS).index(kind_a) > list(KINDS).index(kind_b)
    blocks = max(1, 2 * BLOCKS // 5) if swapped else BLOCKS
    for number in range(blocks):
        run_block(kind_a, kind_b, number, 0, tally)
    assert tally.poses == 200 * blocks
    assert tally.compared == 20 * blocks
    assert not tally.failures, "\n".join(str(failure) for failure in tally.failures[:20])
    # Undecided is allowed, but not as a habit.
    assert sum(tally.unconverged.values()) <= tally.poses // 1000
