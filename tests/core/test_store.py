"""The folder of kernels: only the user's own is trusted, what is damaged is made again, what is old goes."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.core.processes import PACKAGE, compiled, python
from thud._core.store import Store, size_limit, untrusted
from thud.errors import InvalidInputError

_FOLDER = "from thud._core import store; print(store.user_store().folder, store.user_store().private)"
#: A kernel that compiles in no time, beside the tests: what holds for it holds for all.
_QUERY = (
    "import numpy as np; from tests.core import tiny_kernel; out = np.zeros(1); tiny_kernel.rows(out); print(out[0] == 2.0)"
)
_KEY = (
    "from tests.core import tiny_kernel; from thud._core import kernel_key, decorators\n"
    "dispatcher, text = decorators.REGISTRY['tests.core.tiny_kernel.rows']\n"
    "key = kernel_key.function_key(dispatcher.py_func, 'entry', decorators.resolve_signature(text))\n"
)


def folder_used(cache: Path) -> tuple[Path, bool, str]:
    done = python(_FOLDER, THUD_CACHE_DIR=str(cache))
    assert done.returncode == 0, done.stderr
    path, private = done.stdout.rsplit(maxsplit=1)
    return Path(path), private == "True", done.stderr


def test_the_folder_is_made_for_the_user_alone(tmp_path: Path) -> None:
    folder, private, said = folder_used(tmp_path / "new")
    assert folder == tmp_path / "new" / "kernels"
    assert not private
    assert said == ""
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700


def plant(folder: Path, target: Path) -> None:
    """A trap: whoever loads an entry from the folder runs it."""
    target.mkdir(mode=0o700)
    entry = "import pathlib; pathlib.Path({!r}).write_text('run')".format(str(folder / "was_run"))
    code = (
        "import pickle, sys, hashlib, pathlib\n"
        "class Trap:\n"
        f"    def __reduce__(self): return exec, ({entry!r},)\n"
        "from thud._core.store import Store\n"
        + _KEY
        + f"assert Store(pathlib.Path({str(target)!r})).save(key + '.kernel', pickle.dumps(Trap()))"
    )
    done = python(code)
    assert done.returncode == 0, done.stderr


def test_the_trap_of_these_tests_works_where_it_is_trusted(tmp_path: Path) -> None:
    plant(tmp_path, tmp_path / "kernels")
    python(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    assert (tmp_path / "was_run").exists()


def others_can_write(folder: Path) -> None:
    (folder / "kernels").chmod(0o777)


def the_group_can_write(folder: Path) -> None:
    (folder / "kernels").chmod(0o770)


def it_is_a_link(folder: Path) -> None:
    (folder / "kernels").rename(folder / "elsewhere")
    (folder / "kernels").symlink_to(folder / "elsewhere")


def it_is_another_users(folder: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can give a folder away")
    os.chown(folder / "kernels", 12345, -1)


@pytest.mark.parametrize("make_hostile", [others_can_write, the_group_can_write, it_is_a_link, it_is_another_users])
def test_nothing_is_loaded_from_a_folder_that_is_not_the_users_alone(tmp_path: Path, make_hostile) -> None:
    plant(tmp_path, tmp_path / "kernels")
    make_hostile(tmp_path)
    done = python(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    assert done.stdout.strip() == "True"
    assert not (tmp_path / "was_run").exists()
    assert "kernels are kept for this process only" in done.stderr
    _, private, _ = folder_used(tmp_path)
    assert private


def test_nothing_is_loaded_from_an_entry_that_others_can_write_or_that_is_a_link(tmp_path: Path) -> None:
    plant(tmp_path, tmp_path / "kernels")
    (entry,) = (tmp_path / "kernels").glob("*.kernel")
    entry.chmod(0o666)
    python(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    assert not (tmp_path / "was_run").exists()
    entry.unlink()
    plant(tmp_path, tmp_path / "other")
    entry.symlink_to(tmp_path / "other" / entry.name)
    python(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    assert not (tmp_path / "was_run").exists()


def test_another_users_folder_is_told_by_its_owner() -> None:
    own = os.stat_result((0o40700, 0, 0, 1, os.geteuid(), 0, 0, 0, 0, 0))
    foreign = os.stat_result((0o40700, 0, 0, 1, os.geteuid() + 1, 0, 0, 0, 0, 0))
    assert untrusted(own) is None
    assert untrusted(foreign) == "belongs to another user"


def test_a_private_folder_goes_with_its_process(tmp_path: Path) -> None:
    (tmp_path / "kernels").write_text("a file, not a folder")
    folder, private, said = folder_used(tmp_path)
    assert private
    assert "is not a folder" in said
    assert not folder.exists()


def test_a_home_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "home").write_text("")
    done = python(_QUERY, HOME=str(tmp_path / "home"), XDG_CACHE_HOME="", THUD_CACHE_DIR="")
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("damage", ["cut", "flipped", "emptied", "no pickle"])
def test_a_damaged_entry_is_compiled_again_with_one_line(tmp_path: Path, damage: str) -> None:
    compiled(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    entry = tmp_path / "kernels" / (python(_KEY + "print(key)").stdout.strip() + ".kernel")
    data = bytearray(entry.read_bytes())
    if damage == "no pickle":
        Store(entry.parent).save(entry.name, b"nonsense")
    else:
        data[len(data) // 2] ^= 1
        entry.write_bytes({"cut": data[: len(data) // 2], "flipped": data, "emptied": b""}[damage])
    done = python(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    assert done.stdout.strip() == "True"
    assert done.stderr.count("is damaged and is made again") == 1
    assert compiled(_QUERY, THUD_CACHE_DIR=str(tmp_path)) == []


def test_the_least_recently_used_entries_go_first(tmp_path: Path) -> None:
    store = Store(tmp_path, limit=10_000)
    for k in range(8):
        store.save(f"{k}.kernel", bytes(1000))
        os.utime(tmp_path / f"{k}.kernel", (1e9 + k, 1e9 + k))
    # The oldest is used again.
    assert store.load("0.kernel") == bytes(1000)
    for k in range(8, 11):
        store.save(f"{k}.kernel", bytes(1000))
    assert store.size() <= 10_000
    left = set(store.names())
    assert "0.kernel" in left
    assert "10.kernel" in left
    assert "1.kernel" not in left


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left, fresh = tmp_path / ".a.kernel.0011.tmp", tmp_path / ".b.kernel.0022.tmp"
    left.write_bytes(b"half")
    fresh.write_bytes(b"half")
    os.utime(left, (time.time() - 7200, time.time() - 7200))
    Store(tmp_path).save("c.kernel", b"whole")
    assert not left.exists()
    assert fresh.exists()
    assert Store(tmp_path).names() == ["c.kernel"]


def test_many_processes_write_one_entry(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from thud._core.store import Store\n"
        "store, content = Store(Path(sys.argv[1])), bytes([int(sys.argv[2])]) * 200_000\n"
        "for _ in range(60):\n"
        "    assert store.save('x.kernel', content)\n"
        "    found = store.load('x.kernel')\n"
        "    assert found is not None and len(set(found)) == 1 and len(found) == 200_000\n"
    )
    settings = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    running = [
        subprocess.Popen([sys.executable, "-c", code, str(tmp_path), str(k)], env=settings, stderr=subprocess.PIPE)
        for k in range(4)
    ]
    for process in running:
        _, said = process.communicate()
        assert process.returncode == 0, said
        assert said == b""


@pytest.mark.parametrize(
    ("text", "size"), [("500MB", 5 * 10**8), ("2 GiB", 2**31), ("1000", 1000), ("", 10**9), ("1.5kb", 1500)]
)
def test_the_limit_is_read(monkeypatch: pytest.MonkeyPatch, text: str, size: int) -> None:
    monkeypatch.setenv("THUD_CACHE_SIZE", text)
    assert size_limit() == size


def test_an_entry_that_is_a_folder_is_none(tmp_path: Path) -> None:
    (tmp_path / "a.kernel").mkdir()
    assert Store(tmp_path).load("a.kernel") is None


@pytest.mark.parametrize("content", [b"{}", b"[1, 2]", b"nonsense", b"[{}, {}, {}]"])
def test_outlines_that_are_none_are_made_again(tmp_path: Path, content: bytes) -> None:
    compiled(_QUERY, THUD_CACHE_DIR=str(tmp_path))
    store = Store(tmp_path / "kernels")
    for name in store.names():
        if name.endswith(".outline"):
            store.save(name, content)
    assert compiled(_QUERY, THUD_CACHE_DIR=str(tmp_path)) == []


@pytest.mark.parametrize("text", ["9" * 400, "much", "-1", "5 parsecs", "1e9x"])
def test_a_limit_that_makes_no_sense_is_named(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("THUD_CACHE_SIZE", text)
    with pytest.raises(InvalidInputError, match="THUD_CACHE_SIZE: expected"):
        size_limit()
