"""Tolerances and limits of `io/`, each with its reason. What several folders share is in `constants.py`."""

from __future__ import annotations

#: Largest header of a saved world, which holds names and options (bytes).
SAVED_HEADER = 2**28
