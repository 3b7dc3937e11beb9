"""Kernels inside the package: used where they are what would be compiled, and otherwise passed over."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from tests.core.processes import PACKAGE, compiled, python
from thud._core import kernel_cache, shipped, target
from tools.build_wheel import collect

#: The best level that this processor has.
LEVEL = [level.name for level in target.LEVELS if target.fits_host(level)][-1]

#: Loads all kernels of one group, and runs one of them.
_LOAD = """
import numpy as np
from thud._core import decorators
from thud.warm import _registry
for name, (dispatcher, arguments) in _registry({"imagespace"}).items():
    if dispatcher._cache.kind != "device":
        dispatcher.compile(arguments)
"""


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with the kernels of one group inside."""
    folder = tmp_path_factory.mktemp("packed")
    shutil.copytree(PACKAGE, folder / "tree" / "thud", ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    collect(folder / "tree", [LEVEL], folder, ("imagespace",))
    return folder / "tree"


@pytest.fixture
def package(packed: Path, tmp_path: Path) -> Path:
    """One's own copy of it, to do harm to."""
    shutil.copytree(packed, tmp_path / "tree")
    return tmp_path / "tree"


def compilations(package: Path, **environment: str) -> list[str]:
    settings = {"THUD_TARGET": "", "NUMBA_CPU_NAME": "", "NUMBA_CPU_FEATURES": "", "NUMBA_BOUNDSCHECK": "0"} | environment
    return compiled(_LOAD, path=package, THUD_CACHE_DIR=str(package.parent / "cache"), **settings)


def test_nothing_is_compiled(package: Path) -> None:
    assert compilations(package) == []
    assert compilations(package, THUD_TARGET=LEVEL) == []
    # And nothing of it is copied to the user's folder.
    assert not list((package.parent / "cache" / "kernels").glob("*.kernel"))


def test_a_kernel_is_loaded_only_as_the_kind_it_was_compiled_as() -> None:
    # An inner kernel called from Python is an entry of its own. Served from the package as it came, without a wrapper for
    # Python, it crashed; the tests that call inner kernels, run from the wheel, hold it.
    from thud.particles.flight.philox import philox

    function = philox.py_func
    name = f"{function.__module__}.{function.__qualname__}"
    parts = {"code": b"", "descriptor": None, "needs": [], "signature": None, "reload": (), "function": name, "kind": "inner"}
    assert kernel_cache._is_of(parts, function, "inner")
    assert not kernel_cache._is_of(parts, function, "entry")
    assert not kernel_cache._is_of(parts | {"function": name + "_2"}, function, "inner")
    assert not kernel_cache._is_of([parts], function, "inner")


def spoil_a_byte(package: Path) -> None:
    pack = package / "thud" / "_kernels" / f"{LEVEL}.pack"
    data = bytearray(pack.read_bytes())
    for place in range(0, len(data), 500):
        data[place] ^= 1
    pack.write_bytes(data)


def cut_the_pack(package: Path) -> None:
    pack = package / "thud" / "_kernels" / f"{LEVEL}.pack"
    pack.write_bytes(b"")


def lose_the_pack(package: Path) -> None:
    (package / "thud" / "_kernels" / f"{LEVEL}.pack").unlink()


def edit_a_constant(package: Path) -> None:
    path = package / "thud" / "constants.py"
    path.write_text(path.read_text() + "\nONE_MORE = 1\n")


def change_index(**values: object) -> object:
    def change(package: Path) -> None:
        path = package / "thud" / "_kernels" / shipped.INDEX
        path.write_text(json.dumps(json.loads(path.read_text()) | values))

    return change


def rotate_the_rows(package: Path) -> None:
    path = package / "thud" / "_kernels" / shipped.INDEX
    index = json.loads(path.read_text())
    rows = index["levels"][LEVEL]
    # Whole kernels with true digests, under the names of others; their argument types as asked for.
    shifted = dict(zip(rows, [*list(rows.values())[1:], next(iter(rows.values()))]))
    index["levels"][LEVEL] = {name: [*shifted[name][:3], rows[name][3]] for name in rows}
    path.write_text(json.dumps(index))


def break_the_index(package: Path) -> None:
    (package / "thud" / "_kernels" / shipped.INDEX).write_text("{")


@pytest.mark.parametrize(
    "harm",
    [
        spoil_a_byte,
        cut_the_pack,
        lose_the_pack,
        edit_a_constant,
        break_the_index,
        change_index(format=0),
        change_index(environment="another Numba"),
        change_index(levels={}),
        change_index(levels={"a level of tomorrow": {}}),
        change_index(levels=[1]),
        change_index(levels={LEVEL: [1]}),
        change_index(levels={LEVEL: {"thud.imagespace.raster.pass_faces": ["0", 1, "", ""]}}),
        change_index(levels={LEVEL: {"thud.imagespace.raster.pass_faces": [10**30, 1, "", ""]}}),
        rotate_the_rows,
    ],
)
def test_what_is_not_what_would_be_compiled_is_compiled(package: Path, harm) -> None:
    harm(package)
    # Only that it is compiled: one kernel is enough.
    code = (
        "from thud.warm import _registry\n"
        "dispatcher, arguments = _registry({'imagespace'})['thud.imagespace.raster.pass_faces']\n"
        "dispatcher.compile(arguments)"
    )
    settings = {"THUD_TARGET": "", "NUMBA_CPU_NAME": "", "NUMBA_CPU_FEATURES": "", "NUMBA_BOUNDSCHECK": "0"}
    names = compiled(code, path=package, THUD_CACHE_DIR=str(package.parent / "cache"), **settings)
    assert "thud.imagespace.raster.pass_faces" in names


@pytest.mark.parametrize("switch", [{"NUMBA_BOUNDSCHECK": "1"}, {"NUMBA_OPT": "1"}, {"THUD_TARGET": "host"}])
def test_another_way_of_compiling_is_not_served_from_the_package(package: Path, switch: dict[str, str]) -> None:
    code = "from thud._core import shipped; print(shipped.kernels() is None)"
    settings = {"THUD_TARGET": "", "NUMBA_CPU_NAME": "", "NUMBA_CPU_FEATURES": "", "NUMBA_BOUNDSCHECK": "0"} | switch
    assert python(code, path=package, **settings).stdout.strip() == "True"


def test_an_installed_package_with_kernels_uses_them() -> None:
    # In a checkout there are none; from the wheel the whole test suite runs on them.
    found = shipped.kernels()
    if not shipped.FOLDER.exists() or os.environ.get("NUMBA_BOUNDSCHECK") == "1" or os.environ.get("THUD_TARGET") == "host":
        assert found is None
    else:
        assert found is not None
        assert len(found.rows) > 300
