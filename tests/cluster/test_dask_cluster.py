"""A Dask cluster of real processes gives the records that one process gives, also when workers are killed."""

from __future__ import annotations

import os
import signal
import warnings

import pytest

pytest.importorskip("lmdb")
pytest.importorskip("distributed")
pytest.importorskip("typer")

import distributed
import lmdb
import numpy as np
from typer.testing import CliRunner

from tests.terrain.filling.sources import holed
from thud.cli.app import app
from thud.cluster import Cluster, InsecureClusterWarning
from thud.cluster.dask_cluster import receive
from thud.errors import InvalidInputError, WorkerError
from thud.terrain import build
from thud.terrain.filling.processes import pickled

OPTIONS = {"spacing": 2.0, "tile": 16}


def dump(path):
    with lmdb.open(str(path), readonly=True, lock=False) as environment, environment.begin() as transaction:
        return list(transaction.cursor())


@pytest.fixture(scope="module")
def one(tmp_path_factory):
    path = tmp_path_factory.mktemp("one") / "store"
    return build(holed(), path, progress=False, **OPTIONS), dump(path)


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, host="127.0.0.1", silence_logs=50
    ) as found:
        yield found


def test_a_cluster_gives_the_same_records(cluster, one, tmp_path):
    done = build(holed(), tmp_path / "store", progress=False, runner=Cluster(cluster.scheduler_address), **OPTIONS)
    assert done == one[0]
    assert dump(tmp_path / "store") == one[1]


def test_also_when_a_worker_is_killed(cluster, one, tmp_path):
    pids = [worker.pid for worker in cluster.workers.values()]
    killed = []

    def kill(done, total, key):
        if done == total // 2:
            killed.append(pids[0])
            os.kill(pids[0], signal.SIGKILL)

    done = build(holed(), tmp_path / "store", progress=kill, runner=Cluster(cluster.scheduler_address), **OPTIONS)
    assert killed
    assert done == one[0]
    assert dump(tmp_path / "store") == one[1]


def test_the_command_does_so_too(cluster, one, tmp_path):
    np.save(tmp_path / "a.npy", holed())
    arguments = [
        "terrain",
        "build",
        str(tmp_path / "a.npy"),
        "--spacing",
        "2",
        "--tile",
        "16",
        "--out",
        str(tmp_path / "store"),
    ]
    result = CliRunner().invoke(app, [*arguments, "--cluster", cluster.scheduler_address])
    assert result.exit_code == 0, result.output
    assert one[0].content_hash in result.output
    assert dump(tmp_path / "store") == one[1]


def broken(points):
    raise InvalidInputError("points: not today")


def test_errors_of_the_job_come_back(cluster, tmp_path):
    with pytest.raises(InvalidInputError, match=r"tile \(\d, \d, 0\): points: not today"):
        build(
            broken, tmp_path / "store", lower=[0, 0, 0], upper=[40, 40, 10], cell=2.0, samples=2, tile=8, progress=False,
            runner=Cluster(cluster.scheduler_address),
        )  # fmt: skip


def test_workers_of_another_version_are_refused():
    with pytest.raises(WorkerError, match=r"a worker has thud .*, the client 9\.9"):
        receive("job", pickled(broken), "9.9")


def test_a_cluster_that_is_not_there(tmp_path):
    with pytest.raises(WorkerError, match="does not answer"):
        build(holed(), tmp_path / "store", progress=False, runner=Cluster("tcp://127.0.0.1:9", wait=0.5), **OPTIONS)


@pytest.mark.parametrize(
    ("address", "warned"),
    [
        ("tcp://192.0.2.7:8786", True),
        ("192.0.2.7:8786", True),
        ("scheduler.example:8786", True),
        ("tcp://[2001:db8::1]:8786", True),
        ("tls://192.0.2.7:8786", False),
        ("tcp://127.0.0.1:8786", False),
        ("localhost:8786", False),
        ("tcp://[::1]:8786", False),
    ],
)
def test_an_address_off_this_machine_without_tls_is_warned_of(address, warned):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        Cluster(address)
    assert [one.category for one in said] == [InsecureClusterWarning] * warned


@pytest.mark.parametrize("address", ["", None, "http://127.0.0.1:1", 7])
def test_addresses_that_are_none(address):
    with pytest.raises(InvalidInputError, match="address: expected"):
        Cluster(address)
