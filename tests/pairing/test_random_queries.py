"""Random questions to all queries: right by the oracle, or refused by name."""

from __future__ import annotations

import os

import numpy as np
import pytest

from tests.oracles.solids import solid_of
from tests.pairing.random_draws import FAMILIES, draw_shape
from tests.pairing.random_queries import run_draws

BLOCK = 50

#: A fifth where CI runs the same tests again, from the wheel and with bounds checks.
DRAWS = 100 if os.environ.get("THUD_TEST_SIZE") == "small" else 500


@pytest.mark.parametrize("first", range(0, DRAWS, BLOCK))
def test_random_questions_are_answered_rightly_or_refused_by_name(first):
    failures = run_draws(0, first, BLOCK)
    assert not failures, "\n".join(text for _, text in failures)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_oracle_agrees_with_itself(family):
    """Samples lie on the surface or inside, feet on the surface, and no sample is nearer than the foot."""
    rng = np.random.default_rng(3)
    for _ in range(15):
        solid = solid_of(draw_shape(rng, family))
        skin, within, points = solid.skin(60, rng), solid.within(30, rng), rng.uniform(-1.5, 1.5, (20, 3))
        assert solid.surface_gap(skin).max() < 1e-9
        assert solid.signed(within).max(initial=-1.0) < 1e-9
        feet = solid.foot(points)
        assert solid.surface_gap(feet).max() < 1e-9
        nearest = np.linalg.norm(points[:, None] - skin, axis=2).min(axis=1)
        assert (np.linalg.norm(points - feet, axis=1) <= nearest + 1e-9).all()
