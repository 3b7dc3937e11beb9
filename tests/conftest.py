"""Settings of the test run."""

from __future__ import annotations

import os

from hypothesis import settings

# In CI the examples are the same every time; at a developer's desk they differ, and find more over time.
settings.register_profile("ci", derandomize=True, deadline=None)
settings.register_profile("desk", deadline=None)
settings.load_profile("ci" if os.environ.get("CI") else "desk")
