"""Random questions to all queries: right by the oracle, or refused by name."""

from __future__ import annotations

import pytest

from tests.pairing.random_queries import run_draws

BLOCK = 50


@pytest.mark.parametrize("first", range(0, 500, BLOCK))
def test_random_questions_are_answered_rightly_or_refused_by_name(first):
    failures = run_draws(0, first, BLOCK)
    assert not failures, "\n".join(text for _, text in failures)
