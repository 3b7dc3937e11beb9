"""The same jobs on a Dask cluster: more than one machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thud.cluster.dask_cluster import Cluster as Cluster
    from thud.cluster.dask_cluster import InsecureClusterWarning as InsecureClusterWarning

__all__ = ["Cluster", "InsecureClusterWarning"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        from thud.cluster import dask_cluster

        return getattr(dask_cluster, name)
    raise AttributeError(f"module 'thud.cluster' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
