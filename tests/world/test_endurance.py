"""Forty frames of 2,000 bodies; 1,000 frames of 100,000: `python -m tests.world.endurance --size standard`."""

from __future__ import annotations

import os

import pytest

from tests.world.endurance import run

METHODS = ["auto"] if os.environ.get("THUD_TEST_SIZE") == "small" else ["auto", "sap", "grid", "tree", "octree", "bsp"]


@pytest.mark.parametrize("method", METHODS)
def test_memory_is_flat_and_threads_agree(method: str) -> None:
    done = run("ci", method)
    done.check()
    assert done.pairs > 10_000
    assert done.meeting > 1_000
