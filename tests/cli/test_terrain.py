"""`thud terrain info` and `thud terrain verify` on small stores."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")
pytest.importorskip("lmdb")

from typer.testing import CliRunner

from tests.terrain.tiles.stores import keys, make, manifest
from thud.cli.app import app
from thud.terrain import TileWriter, write_tiles


def run(*arguments):
    return CliRunner().invoke(app, ["terrain", *map(str, arguments)], env={"COLUMNS": "160"})


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("cli") / "store"
    return path, write_tiles(path, manifest(), ((key, make(key)) for key in keys()[:7]))


def test_info_says_what_is_there(store):
    path, done = store
    result = run("info", path)
    assert result.exit_code == 0, result.output
    for text in ("heights", "7 of a grid of 6 x 6 x 1", done.content_hash, "quantum", "seed", "nodes", "blocks", "%"):
        assert text in result.output


def test_verify_says_that_all_is_whole(store):
    path, done = store
    result = run("verify", path)
    assert result.exit_code == 0, result.output
    assert "7 tiles" in result.output
    assert done.content_hash in result.output


def test_an_unfinished_store(tmp_path):
    with TileWriter(tmp_path / "new", manifest()) as writer:
        writer.put(make((0, 0)))
    for command in ("info", "verify"):
        result = run(command, tmp_path / "new")
        assert result.exit_code == 0, result.output
        assert "not finished" in result.output


def test_what_is_wrong_is_said_in_one_line(store, tmp_path):
    path, _ = store
    copy = tmp_path / "copy"
    copy.mkdir()
    data = (path / "data.mdb").read_bytes()
    (copy / "data.mdb").write_bytes(data[: len(data) // 2])
    for command in (("info",), ("info", "--no-trusted"), ("verify",)):
        for where in (copy, tmp_path / "nothing", tmp_path):
            result = run(*command, where)
            assert result.exit_code == 1
            assert len(result.output.strip().splitlines()) == 1, result.output
            assert result.output.strip().startswith(f"thud terrain {command[0]}: ")
