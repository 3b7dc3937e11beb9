"""Settings of the test run."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI the examples are the same every time; at a developer's desk they differ, and find more over time.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
# Where kernels are checked for bounds, what counts is that every line runs.
settings.register_profile("small", derandomize=True, deadline=None, max_examples=15)
small = os.environ.get("THUD_TEST_SIZE") == "small"
settings.load_profile("small" if small else "ci" if os.environ.get("CI") else "desk")
