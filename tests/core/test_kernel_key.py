"""Keys of kernels: the oracle is Numba itself, which knows what a kernel is compiled from."""

from __future__ import annotations

import builtins
import functools
import importlib
import json
import pickle
import shutil
from pathlib import Path

import pytest
from numba.core import compiler, ir
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic

import thud
from tests.core.processes import PACKAGE, compiled, python
from thud._core import decorators, kernel_key, store
from thud.warm import kernel_modules


@functools.cache
def registry() -> dict[str, tuple[object, str]]:
    for module in kernel_modules():
        importlib.import_module(module)
    return {name: row for name, row in decorators.REGISTRY.items() if name.startswith("thud.")}


def keys() -> dict[str, str | None]:
    found = {}
    for name, (dispatcher, signature) in registry().items():
        cache = dispatcher._cache  # type: ignore[attr-defined]
        found[name] = kernel_key.function_key(cache.function, cache.kind, decorators.resolve_signature(signature))
    return found


def test_every_kernel_has_a_key_of_its_own() -> None:
    found = keys()
    assert None not in found.values()
    assert len(set(found.values())) == len(found) > 300


def test_modules_with_kernels_are_found_without_a_list() -> None:
    names = set(kernel_modules())
    # `world` was once forgotten in a list.
    assert {"thud.world.body_boxes", "thud.convex.gjk", "thud.terrain.collision.ground"} <= names
    assert not any(name.startswith("thud._core") for name in names)


def test_all_that_numba_reads_lies_within_the_key() -> None:
    # Numba's own front end lists every global and closure variable of a function with its value.
    functions = {}
    for dispatcher, _ in registry().values():
        for node in kernel_key.reach(dispatcher.py_func):  # type: ignore[attr-defined]
            functions[node.name] = node
    checked = 0
    for name, node in functions.items():
        module, _, qualified = name.rpartition(".")
        value = getattr(importlib.import_module(module), qualified, None)
        if not isinstance(value, Dispatcher):
            continue
        for block in compiler.run_frontend(value.py_func).blocks.values():
            for assignment in block.find_insts(ir.Assign):
                source = assignment.value
                if not isinstance(source, (ir.Global, ir.FreeVar)) or hasattr(builtins, source.name):
                    continue
                chains = [chain for chain in node.reads if chain.split(".")[0] == source.name]
                assert chains, f"{name} reads {source.name}"
                if isinstance(source.value, Dispatcher):
                    assert source.value.py_func in node.reached, f"{name} calls {source.name}"
                elif isinstance(source.value, _Intrinsic):
                    assert source.value._defn in node.reached, f"{name} calls {source.name}"
                elif source.name in node.reads:
                    assert node.reads[source.name] == kernel_key._describe(source.value), f"{name}: {source.name}"
                checked += 1
    assert checked > 1000


def test_whom_a_kernel_calls_lies_within_its_key() -> None:
    # What was compiled says whom it calls, as type inference saw it; closed under calling, that is all that was compiled.
    thud.warmup(progress=False)
    calls: dict[str, set[str]] = {}
    for entry in store.user_store().names():
        content = store.user_store().load(entry) if entry.endswith(".kernel") else None
        if content is not None:
            try:
                parts = pickle.loads(content)
            except (ModuleNotFoundError, AttributeError):
                continue  # of another checkout, which has other types
            calls.setdefault(parts["function"], set()).update(parts["calls"])
    seen = 0
    for name, (dispatcher, _) in registry().items():
        reached = {node.name for node in kernel_key.reach(dispatcher.py_func)}  # type: ignore[attr-defined]
        waiting, called = [name], set()
        while waiting:
            for callee in calls.get(waiting.pop(), ()):
                if callee.startswith("thud.") and callee not in called:
                    called.add(callee)
                    waiting.append(callee)
        assert called <= reached, name
        seen += len(called)
    assert seen > 1000


def test_compile_events_of_a_query_lie_within_its_keys(tmp_path: Path) -> None:
    code = "import thud; thud.contains(thud.Sphere(1.0), [0, 0, 0])"
    names = compiled(code, THUD_CACHE_DIR=str(tmp_path))
    reached = {node.name for node in kernel_key.reach(registry()["thud.convex.rows.closest_point.contains_rows"][0].py_func)}  # type: ignore[attr-defined]
    assert names
    assert set(names) <= reached


_MODULE = '''
from thud._core.decorators import device, kernel
from {package}.constants import SCALE, UNUSED

@device
def twice(x):
    """Doubled."""
    return 2.0 * x

@device
def other(x):
    return 3.0 * x

@kernel(inner="f8")
def scaled(x):
    return SCALE * twice(x)

@kernel("f8[::1], f8[::1]")
def rows(values, out):
    for i in range(len(values)):
        out[i] = scaled(values[i])

@kernel("f8[::1], f8[::1]")
def other_rows(values, out):
    for i in range(len(values)):
        out[i] = other(values[i])
'''

_KEYS = """
import importlib, json
from thud._core import decorators, kernel_key
{before}
importlib.import_module("{package}.kernels")
names = ("scaled", "rows", "other_rows")
found = {{}}
for name in names:
    dispatcher, signature = decorators.REGISTRY["{package}.kernels." + name]
    cache = dispatcher._cache
    found[name] = kernel_key.function_key(cache.function, cache.kind, decorators.resolve_signature(signature))
print(json.dumps(found))
"""


def make(folder: Path, edit: tuple[str, str] | None = None, constants: str = "SCALE = 4.0\nUNUSED = 1\n") -> Path:
    package = folder / "small"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text("")
    (package / "constants.py").write_text(constants)
    text = _MODULE.format(package="small")
    if edit is not None:
        assert edit[0] in text
        text = text.replace(*edit)
    (package / "kernels.py").write_text(text)
    return folder


def keys_of(folder: Path, before: str = "", **environment: str) -> dict[str, str]:
    done = python(
        f"import sys; sys.path.insert(0, {str(folder)!r})" + _KEYS.format(package="small", before=before), **environment
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_keys_do_not_depend_on_folder_times_or_order_of_imports(tmp_path: Path) -> None:
    first = keys_of(make(tmp_path / "a"))
    second = keys_of(make(tmp_path / "b" / "deeper"), before="import thud.convex.gjk, thud.bvh.build_sah")
    assert first == second
    assert None not in first.values()


@pytest.mark.parametrize(
    ("edit", "constants", "changed"),
    [
        (('"""Doubled."""', '"""Two times."""'), None, set()),
        (("@device\ndef other", "# A comment.\n\n\n@device\ndef other"), None, set()),
        (None, "SCALE = 4.0\nUNUSED = 2\n", set()),
        (None, "SCALE = 4.5\nUNUSED = 1\n", {"scaled", "rows"}),
        (("return 2.0", "return 2.5"), None, {"scaled", "rows"}),
        (("return 3.0", "return 3.5"), None, {"other_rows"}),
        (("@device\ndef twice", "from thud._core.decorators import exact_device\n@exact_device\ndef twice"), None,
         {"scaled", "rows"}),
        (("out[i] = other(values[i])", "out[i] = other(-values[i])"), None, {"other_rows"}),
        (('@kernel("f8[::1], f8[::1]")\ndef other_rows', '@kernel("f4[::1], f8[::1]")\ndef other_rows'), None, {"other_rows"}),
    ],
)  # fmt: skip
def test_a_change_changes_the_keys_of_what_depends_on_it_and_no_other(
    tmp_path: Path, edit: tuple[str, str] | None, constants: str | None, changed: set[str]
) -> None:
    before = keys_of(make(tmp_path / "before"))
    after = keys_of(make(tmp_path / "after", edit, constants or "SCALE = 4.0\nUNUSED = 1\n"))
    assert {name for name in before if before[name] != after[name]} == changed


@pytest.mark.parametrize(
    "switch",
    [
        {"NUMBA_BOUNDSCHECK": "1"},
        {"NUMBA_OPT": "1"},
        {"NUMBA_LOOP_VECTORIZE": "0"},
        {"NUMBA_SLP_VECTORIZE": "1"},
        {"NUMBA_CPU_NAME": "x86-64-v2", "NUMBA_CPU_FEATURES": "+sse2", "THUD_TARGET": ""},
    ],
)
def test_what_changes_the_code_from_outside_changes_every_key(tmp_path: Path, switch: dict[str, str]) -> None:
    make(tmp_path)
    plain = {"NUMBA_BOUNDSCHECK": "0"}
    before, after = keys_of(tmp_path, **plain), keys_of(tmp_path, **(plain | switch))
    assert not set(before.values()) & set(after.values())


def copied_package(folder: Path) -> Path:
    shutil.copytree(PACKAGE, folder / "thud", ignore=shutil.ignore_patterns("__pycache__", "_kernels"))
    return folder


def replace(path: Path, before: str, after: str) -> None:
    text = path.read_text()
    assert before in text, path
    path.write_text(text.replace(before, after, 1))


_QUERIES = """
import numpy as np, thud
box, hull = thud.Box([1, 1, 1]), thud.ConvexHull(np.random.default_rng(0).normal(size=(20, 3)))
thud.intersects(box, hull)
thud.distance(box, hull, signed=True)
"""


def test_edited_docstrings_compile_nothing_and_a_constant_only_what_reaches_it(tmp_path: Path) -> None:
    folder = copied_package(tmp_path)
    compiled(_QUERIES, path=folder)
    assert compiled(_QUERIES, path=folder) == []
    for name in ("queries.py", "convex/gjk.py", "constants.py"):
        replace(folder / "thud" / name, '"""', '"""Something else is said here, and\nin more lines.\n\n')
    assert compiled(_QUERIES, path=folder) == []
    replace(folder / "thud" / "convex" / "gjk.py", "\n\n\n", "\n\n\n# A comment.\n\n\n")
    assert compiled(_QUERIES, path=folder) == []
    # A constant of EPA: only what reaches it is compiled again.
    tolerances = folder / "thud" / "convex" / "tolerances.py"
    text = tolerances.read_text()
    (line,) = [line for line in text.splitlines() if line.startswith("EPA_COPLANAR")]
    replace(tolerances, line, line.replace(" = ", " = 1.5 * "))
    again = compiled(_QUERIES, path=folder)
    assert "thud.convex.epa.epa_depth" in again
    readers = {name for name, dispatcher in dispatchers().items() if "EPA_COPLANAR" in reads(dispatcher)}
    assert readers
    for name in again:
        assert readers & reach_names(name), name
    assert "thud.convex.rows.intersects.intersects_rows" not in again


def dispatchers() -> dict[str, object]:
    from thud._core import kernel_cache

    registry()
    return {name: row for name, row in kernel_cache.DISPATCHERS.items() if name.startswith("thud.")}


def reads(dispatcher: object) -> set[str]:
    return set(kernel_key._node(dispatcher.py_func).reads)  # type: ignore[attr-defined]


def reach_names(name: str) -> set[str]:
    return {node.name for node in kernel_key.reach(dispatchers()[name].py_func)}  # type: ignore[attr-defined]


def test_a_file_changed_after_its_import_is_neither_stored_nor_loaded(tmp_path: Path) -> None:
    make(tmp_path)
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, small.kernels as k, pathlib\n"
        "path = pathlib.Path(k.__file__); path.write_text(path.read_text().replace('2.0', '7.0'))\n"
        "out = np.empty(1); k.rows(np.ones(1), out); print(out[0])"
    )
    cache = str(tmp_path / "cache")
    assert python(code, THUD_CACHE_DIR=cache).stdout.strip() == "8.0"
    # The next process reads the file as it is now, and must not find the old code under its key.
    code = (
        f"import sys; sys.path.insert(0, {str(tmp_path)!r})\n"
        "import numpy as np, small.kernels as k\nout = np.empty(1); k.rows(np.ones(1), out); print(out[0])"
    )
    assert python(code, THUD_CACHE_DIR=cache).stdout.strip() == "28.0"
