"""Extent, normals, depth and ids of contacts, where the truth is known by construction."""

from __future__ import annotations

import os

import pytest

from tests.fuzz.ground_contacts import pairs, run

#: Cases of each pair of kinds.
CASES = 6 if os.environ.get("THUD_TEST_SIZE") == "small" else 25


@pytest.mark.parametrize(("kind", "ground"), pairs())
def test_shapes_on_ground(kind, ground):
    assert not run(kind, ground, CASES, seed=2)
