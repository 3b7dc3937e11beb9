"""Gives each worker of a Dask cluster the job, also those that come later."""

from __future__ import annotations

from typing import Any

from distributed import WorkerPlugin

from thud.cluster.dask_cluster import receive, release


class JobPlugin(WorkerPlugin):
    """A job by name, of a client with some version of thud."""

    def __init__(self, name: str, data: bytes, version: str) -> None:
        self.name, self.data, self.version = name, data, version

    def setup(self, worker: Any) -> None:
        """When a worker comes."""
        receive(self.name, self.data, self.version)

    def teardown(self, worker: Any) -> None:
        """When the job is over."""
        release(self.name)
