"""Tiles made by the workers of a Dask cluster. They hand records back; this process alone writes.

Each worker, also one that comes later, is given the job once, by a plugin. A tile that was with a worker that died is given to
another. Dask carries pickles: whoever can reach its ports can run anything. So an address off this machine without TLS is
warned of.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import socket
import warnings
from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any

from thud.cluster.tolerances import CLUSTER_SECONDS
from thud.errors import InvalidInputError, MissingExtraError, WorkerError
from thud.terrain.filling.plan import Job
from thud.terrain.filling.processes import pickled
from thud.terrain.filling.tolerances import AHEAD, DEATHS
from thud.terrain.tiles.record import TileKey

#: Jobs of this process when it is a worker, by name.
_jobs: dict[str, Job] = {}


class InsecureClusterWarning(UserWarning):
    """A cluster off this machine is spoken to without TLS."""


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise MissingExtraError.for_package("distributed", "cluster") from None
    return distributed


def work(name: str, key: TileKey, piece: Any) -> bytes | None:
    """In a worker: the record of a tile."""
    return _jobs[name](TileKey(*key), piece)


def receive(name: str, data: bytes, version: str) -> None:
    """In a worker: a job comes in. One core a task: Dask runs as many tasks as it has been given threads."""
    import pickle

    import thud
    from thud._core.threads import limit_cores

    if thud.__version__ != version:
        raise WorkerError(f"cluster: a worker has thud {thud.__version__}, the client {version}")
    limit_cores(1)
    _jobs[name] = pickle.loads(data)


def release(name: str) -> None:
    """In a worker: a job is over."""
    _jobs.pop(name, None)


class Cluster:
    """A runner for `thud.terrain.build(..., runner=Cluster(address))`.

    Parameters
    ----------
    address : of the scheduler: "tcp://host:8786", "tls://host:8786", or "host:8786"
    ca, certificate, key : files of TLS; needed for a "tls://" address unless Dask's own settings name them
    wait : seconds to wait for the scheduler and for a first worker
    """

    def __init__(
        self,
        address: str,
        *,
        ca: str | os.PathLike[str] | None = None,
        certificate: str | os.PathLike[str] | None = None,
        key: str | os.PathLike[str] | None = None,
        wait: float = CLUSTER_SECONDS,
    ) -> None:
        if not isinstance(address, str) or not address.strip():
            raise InvalidInputError(f"address: expected that of a Dask scheduler, such as 'tcp://host:8786', got {address!r}")
        scheme, _, rest = address.strip().rpartition("://")
        self.address, self.wait = address.strip(), wait
        if scheme not in ("", "tcp", "tls"):
            raise InvalidInputError(f"address: expected tcp:// or tls://, got {address!r}")
        self._files = {"tls_ca_file": ca, "tls_client_cert": certificate, "tls_client_key": key}
        if scheme != "tls" and not is_local(_host(rest)):
            warnings.warn(
                f"{address} is off this machine and is spoken to without TLS. Dask carries pickles: whoever reaches its ports "
                f"can "
                "run anything on every machine of the cluster. Use a tls:// address, or a network that you trust",
                InsecureClusterWarning,
                stacklevel=2,
            )

    def _client(self) -> Any:
        distributed = _distributed()
        files = {name: os.fspath(file) for name, file in self._files.items() if file is not None}
        security = distributed.Security(require_encryption=True, **files) if files else None
        try:
            client = distributed.Client(self.address, security=security, timeout=self.wait, set_as_default=False)
        except (OSError, TimeoutError, ValueError, TypeError) as error:
            raise WorkerError(f"cluster: the scheduler at {self.address} does not answer ({error})") from None
        try:
            client.wait_for_workers(1, timeout=self.wait)
        except TimeoutError:
            client.close()
            raise WorkerError(f"cluster: {self.address} has no workers; none came within {self.wait:g} s") from None
        return client

    def __call__(self, job: Job, tasks: Iterable[tuple[TileKey, Any]]) -> Iterator[tuple[TileKey, bytes | None]]:
        """Keys and records in the order in which they are done. At most AHEAD tiles a thread are on their way."""
        distributed = _distributed()
        data = pickled(job)
        name = "thud-" + hashlib.blake2b(data, digest_size=12).hexdigest()
        client = self._client()
        try:
            client.register_plugin(_plugin(name, data), name=name)
            yield from self._run(distributed, client, name, iter(tasks))
        finally:
            # The cluster may be gone; what matters is said by then.
            with contextlib.suppress(Exception):
                client.unregister_worker_plugin(name)
            client.close()

    def _run(
        self, distributed: Any, client: Any, name: str, waiting: Iterator[tuple[TileKey, Any]]
    ) -> Iterator[tuple[TileKey, bytes | None]]:
        lost = (distributed.KilledWorker, distributed.client.FuturesCancelledError, distributed.comm.CommClosedError)
        running: dict[Any, tuple[TileKey, Any, int]] = {}
        done = distributed.as_completed(loop=client.loop)

        def submit(key: TileKey, piece: Any, deaths: int) -> None:
            future = client.submit(work, name, tuple(key), piece, pure=False, key=f"{name}-{tuple(key)}-{deaths}-{id(running)}")
            running[future] = (key, piece, deaths)
            done.add(future)

        while True:
            threads = max(1, sum(client.nthreads().values()))
            while len(running) < AHEAD * threads:
                task = next(waiting, None)
                if task is None:
                    break
                submit(*task, 0)
            if not running:
                return
            future = next(done)
            key, piece, deaths = running.pop(future)
            try:
                record = future.result()
            except lost as error:
                if deaths >= DEATHS:
                    raise WorkerError(f"cluster: workers died {deaths + 1} times at tile {tuple(key)} ({error})") from None
                submit(key, piece, deaths + 1)
                continue
            yield key, record
            future.release()


def _plugin(name: str, data: bytes) -> Any:
    """What gives each worker the job; imported late, for it is made of Dask's class."""
    import thud
    from thud.cluster.job_plugin import JobPlugin

    return JobPlugin(name, data, thud.__version__)


def _host(rest: str) -> str:
    """Of "host:port" or "[::1]:port"."""
    if rest.startswith("["):
        return rest[1:].partition("]")[0]
    return rest.rpartition(":")[0] or rest


def is_local(host: str) -> bool:
    """Whether a host is this machine."""
    names = {"localhost", socket.gethostname().lower()}
    if host.lower() in names:
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
