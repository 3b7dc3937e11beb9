"""Tolerances and limits of `cluster/`, each with its reason."""

from __future__ import annotations

#: How long to wait for a scheduler, and for its first worker (seconds): workers of a cluster that was just started import for
#: some.
CLUSTER_SECONDS = 30.0
