"""The house itself: lazy imports, the two README commands, the public names, the compile decorators."""

from __future__ import annotations

import ast
import importlib
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import thud

ROOT = Path(__file__).parents[1]


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, cwd=ROOT)


def test_import_pulls_no_numba_scipy_or_optional_package() -> None:
    code = (
        "import sys, thud, thud.continuous, thud.geometry, thud.pairing.table, thud.particles.sound.synthesis, thud.shapes, "
        "thud.terrain; "
        "print(*sorted(m.split('.')[0] for m in sys.modules))"
    )
    loaded = set(python(code).stdout.split())
    assert "numpy" in loaded
    heavy = {
        "numba",
        "llvmlite",
        "scipy",
        "matplotlib",
        "typer",
        "rich",
        "trimesh",
        "lmdb",
        "rasterio",
        "moderngl",
        "viser",
        "soundfile",
    }
    assert not loaded & heavy


def test_every_public_name_resolves_and_is_listed_once() -> None:
    assert len(set(thud.__all__)) == len(thud.__all__)
    for name in thud.__all__:
        assert getattr(thud, name) is not None
    assert set(thud.__all__) == set(thud._NAMES) | thud._MODULES
    with pytest.raises(AttributeError, match="no attribute 'nonsense'"):
        _ = thud.nonsense


def test_type_checkers_see_the_same_names() -> None:
    tree = ast.parse((ROOT / "src/thud/__init__.py").read_text())
    branch = next(node for node in tree.body if isinstance(node, ast.If))
    names = {alias.name for node in branch.body if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert names == set(thud.__all__)


def test_readme_has_two_commands_and_ci_runs_the_second() -> None:
    commands = re.findall(r"```sh\n(.+?)\n```", (ROOT / "README.md").read_text(), re.S)
    assert commands == ['pip install -e ".[all]" && thud demo', 'pip install -e ".[test]" && python -m pytest']
    ci = (ROOT / ".ci/run").read_text().replace("pip install -q", "pip install")
    assert commands[1] in ci


def test_readme_example_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # It writes a sound file where it runs.
    monkeypatch.chdir(tmp_path)
    (code,) = re.findall(r"```python\n(.+?)\n```", (ROOT / "README.md").read_text(), re.S)
    names: dict[str, object] = {}
    exec(code.replace("1_000_000", "2_000"), names)
    assert names["hit"].shape == (2000,)  # type: ignore[attr-defined]
    np.testing.assert_array_equal(names["hit"], names["gap"].distance == 0)  # type: ignore[attr-defined]
    assert names["inside"].all()  # type: ignore[attr-defined]
    assert len(names["pairs"].distance) == 3  # type: ignore[attr-defined]


def test_architecture_names_files_that_exist() -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    names = re.findall(r"`([\w/]+\.py|[\w/]+/)`", text)
    assert len(names) > 40
    for name in names:
        assert (ROOT / name).exists() or list((ROOT / "src/thud").rglob(name)), name
    # Two screens.
    assert len(text.splitlines()) < 120


@pytest.mark.parametrize(
    "module",
    [
        "",
        "broadphase",
        "cluster",
        "continuous",
        "errors",
        "geometry",
        "imagespace",
        "io",
        "particles",
        "report",
        "shapes",
        "terrain",
    ],
)
def test_dir_shows_public_names_and_nothing_else(module: str) -> None:
    found = importlib.import_module(f"thud.{module}".rstrip("."))
    assert dir(found) == sorted(found.__all__)
    for name in dir(found):
        assert getattr(found, name) is not None


def test_version_is_the_packages() -> None:
    (version,) = re.findall(r'^version = "(.+)"', (ROOT / "pyproject.toml").read_text(), re.M)
    assert thud.__version__ == version


def test_bounds_check_is_honoured_and_has_a_cache_of_its_own(tmp_path: Path) -> None:
    # A warm cache would otherwise serve the unchecked binary: the read below would then return garbage, not raise.
    (tmp_path / "out_of_range.py").write_text(
        "import numpy as np\n"
        "from thud._core.decorators import kernel\n"
        "@kernel('f8[::1], i8')\n"
        "def read(values, index):\n"
        "    return values[index]\n"
        "try:\n"
        "    read(np.zeros(3), 4)\n"
        "    print('read')\n"
        "except IndexError:\n"
        "    print('refused')\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); import out_of_range"
    unchecked = python(code, THUD_CACHE_DIR=str(tmp_path), NUMBA_BOUNDSCHECK="0").stdout.split()
    checked = python(code, THUD_CACHE_DIR=str(tmp_path), NUMBA_BOUNDSCHECK="1").stdout.split()
    assert unchecked == ["read"]
    assert checked == ["refused"]


def test_a_first_call_that_compiles_says_what_and_how_long(tmp_path: Path) -> None:
    code = (
        "import thud; s = thud.Sphere(1.0); thud.contains(s, [0, 0, 0]); thud.contains(s, [0, 0, 0]); "
        "import numba; print(numba.config.CACHE_DIR == '')"
    )
    # Compiled, even where kernels came with the package.
    settings = {"THUD_CACHE_DIR": str(tmp_path), "THUD_TARGET": os.environ.get("THUD_TARGET") or "host"}
    cold = python(code, **settings)
    assert re.fullmatch(r"thud: compiling contains_rows for its first use, about \d+ s \(.*\)\n", cold.stderr)
    assert cold.stdout.strip() == "True"  # other packages' Numba caches are left alone
    warm = python(code, **settings)
    assert warm.stderr == ""


def test_an_unwritable_cache_folder_is_no_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    done = python("import thud; print(thud.contains(thud.Sphere(1.0), [0, 0, 0])[0])", THUD_CACHE_DIR=str(blocked))
    assert done.stdout.strip() == "True"


@pytest.mark.parametrize("decorator", ["kernel", "device", "exact_kernel", "exact_device"])
def test_only_the_four_decorators_compile(decorator: str) -> None:
    from thud._core import decorators

    assert callable(getattr(decorators, decorator))
    for path in (ROOT / "src/thud").rglob("*.py"):
        if path.name != "decorators.py":
            assert not re.search(r"@(numba\.)?(njit|jit|vectorize|guvectorize)\b", path.read_text()), path


def test_kernels_make_64_bits_of_32_by_name() -> None:
    # `float(x)` leaves 32 bits as they are in a compiled function, and only there.
    for path in sorted((ROOT / "src/thud").rglob("*.py")):
        for function in ast.walk(ast.parse(path.read_text())):
            if isinstance(function, ast.FunctionDef) and any(
                word in ast.unparse(decorator) for decorator in function.decorator_list for word in ("kernel", "device")
            ):
                calls = [node.func for node in ast.walk(function) if isinstance(node, ast.Call)]
                assert not any(isinstance(call, ast.Name) and call.id == "float" for call in calls), (path, function.name)


def test_no_fast_kernel_uses_full_fastmath() -> None:
    from thud._core import decorators

    assert {"nnan", "ninf", "fast"}.isdisjoint(decorators.FAST_MATH)
