"""A stale kernel is worse than a slow one: after an edit of anything that a kernel's code depends on, its answer is that of the
edited source. The oracle is the same source in an empty cache.

Each case is a module: version A fills a cache, version B runs with it and again in an empty one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.core.processes import PACKAGE

_HEAD = """
import collections, enum, functools, math
import numpy as np
from typing import NamedTuple
from numba import types
from numba.extending import intrinsic
from thud._core.decorators import device, exact_device, exact_kernel, kernel
"""

#: A kernel whose answer is an expression; out[1] is 1e17, out[2] is 1.
_RUN = """
@exact_kernel("f8[::1]")
def run(out):
    out[0] = {}
"""

#: An intrinsic that gives a constant found while it is typed.
_PICK = """
@intrinsic
def pick(context):
    {}
    def codegen(target, builder, signature, arguments):
        return target.get_constant(types.float64, v)
    return types.float64(), codegen
"""


def kernel_of(before: str, expression: str) -> str:
    return _HEAD + before + _RUN.format(expression)


def picked(before: str, statement: str) -> str:
    return _HEAD + before + _PICK.format(statement) + _RUN.format("pick()")


_FACTORY = "def make(k):\n    @exact_device\n    def f(x):\n        return k * x\n    return f\n"
_F = "@exact_device\ndef f(x):\n    return x * 2.0\n"

#: name: (source, text in it, what takes its place)
CASES = {
    "device": (kernel_of(_F, "f(1.0)"), "2.0", "3.0"),
    "device in a tuple": (kernel_of(_F + "T = (f, f)\n", "T[0](1.0)"), "2.0", "3.0"),
    "device as a default": (kernel_of(_F + "@exact_device\ndef g(x, h=f):\n    return h(x)\n", "g(1.0)"), "2.0", "3.0"),
    "factory, swapped": (kernel_of(_FACTORY + "a, b = make(2.0), make(3.0)\n", "a(10.0) - b(1.0)"), "a, b =", "b, a ="),
    "two lambdas": (
        kernel_of("def make(): return (lambda x: x * 2.0), (lambda x: x * 3.0)\na, b = map(exact_device, make())\n",
                  "a(10.0) - b(1.0)"), "a, b", "b, a"),
    "redefined": (kernel_of(_F + "g = f\n@exact_device\ndef f(x):\n    return x * 5.0\n", "g(1.0)"), "g = f\n", "\n"
                  "@exact_device\ndef g(x):\n    return 7.0\n"),
    "fast or exact": (
        kernel_of("@exact_device\ndef f(x, y):\n    return (x + y) - x\n", "f(out[1], out[2])"), "@exact_device", "@device"),
    "one function, two ways": (
        kernel_of("def f(x, y):\n    return (x + y) - x\nfast = device(f)\nexact = exact_device(f)\n", "exact(out[1], out[2])"),
        "exact(out", "fast(out"),
    "fields of a named tuple's instance": (
        kernel_of("class C(NamedTuple):\n    a: float\n    b: float\nCFG = C(1.0, 2.0)\n", "CFG.a"),
        "a: float\n    b: float", "b: float\n    a: float"),
    "named tuple in a tuple": (
        kernel_of("C = collections.namedtuple('C', 'a b')\nT = (C(1.0, 2.0), 3.0)\n", "T[0].a"), "'a b'", "'b a'"),
    "record's fields": (
        kernel_of("R = np.dtype([('a', 'f8'), ('b', 'f8')])\nA = np.zeros(1, R)\nA['b'] = 4.0\n", "A[0]['a'] + 2 * A[0]['b']"),
        "A['b']", "A['a']"),
    "layout of an array": (
        kernel_of("A = np.array([[1.0, 2.0], [3.0, 4.0]])\n", "A.strides[0]"), "4.0]])", "4.0]]).T.copy().T"),
    "slice": (kernel_of("S = slice(0, 2)\n", "float(len(out[S]))"), "2)\n", "1)\n"),
    "sign of a NaN": (kernel_of("N = math.nan\n", "math.copysign(1.0, N)"), "math.nan", "-math.nan"),
    "constant of a module": (kernel_of("np.THUD_TEST = 2.0\n", "np.THUD_TEST"), "2.0", "3.0"),
    "enumeration": (kernel_of("class E(enum.IntEnum):\n    A = 2\n    B = 3\n", "1.0 * np.int64(E.A)"), "A = 2", "A = 5"),
    "intrinsic": (picked("", "v = 2.0"), "2.0", "3.0"),
    "intrinsic's helper": (picked("def helper():\n    return 2.0\n", "v = helper()"), "2.0", "3.0"),
    "helper as a default": (picked("def helper():\n    return 2.0\nH = {'a': helper}\n", "v = H['a']()"), "2.0", "3.0"),
    "import inside": (picked("", "from math import pi as v"), "import pi", "import e"),
    "method of a named tuple": (
        picked("class Q(NamedTuple):\n    x: float\n    def v(self):\n        return self.x * 2.0\nq = Q(1.0)\n", "v = q.v()"),
        "* 2.0", "* 3.0"),
    "bound method": (picked("class Q:\n    def v(self):\n        return 2.0\nm = Q().v\n", "v = m()"), "2.0", "3.0"),
    "order of a dict": (picked("D = {'a': 1.0, 'b': 2.0}\n", "v = next(iter(D.values()))"), "'a': 1.0, 'b': 2.0",
                        "'b': 2.0, 'a': 1.0"),
    "conditional class": (
        picked("OLD = True\nif OLD:\n    class Q:\n        X = 2.0\nelse:\n    class Q:\n        X = 4.0\n", "v = Q.X"),
        "OLD = True", "OLD = False"),
    "attribute set later": (picked("class Q:\n    pass\nQ.X = 2.0\n", "v = Q().X"), "2.0", "3.0"),
    "globals": (picked("V = 2.0\n", "v = globals()['V']"), "2.0", "3.0"),
    "partial": (picked("def h(x):\n    return x\np = functools.partial(h, 2.0)\n", "v = p()"), "2.0", "3.0"),
}  # fmt: skip

_ALL = """
import importlib, json, sys
import numpy as np
answers = {}
for name in json.loads(sys.argv[1]):
    module = importlib.import_module(name)
    out = np.array([0.0, 1e17, 1.0])
    try:
        module.run(out)
        answers[name] = repr(out[0])
    except Exception as error:
        answers[name] = repr(error)[:300]
print(json.dumps(answers))
"""


def answers(folder: Path, cache: Path, *options: str) -> dict[str, str]:
    settings = {"THUD_TARGET": "host"} | os.environ | {"THUD_CACHE_DIR": str(cache)}
    settings["PYTHONPATH"] = os.pathsep.join((str(PACKAGE.parent), str(folder)))
    names = json.dumps([f"case_{k}" for k in range(len(CASES))])
    done = subprocess.run([sys.executable, *options, "-c", _ALL, names], env=settings, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, str]]:
    """Answers of A in an empty cache; of B with what A left; of B in an empty cache; of A once more."""
    folder = tmp_path_factory.mktemp("stale")
    for version in ("a", "b"):
        (folder / version).mkdir()
        for k, (source, before, after) in enumerate(CASES.values()):
            assert before in source
            text = source if version == "a" else source.replace(before, after, 1)
            (folder / version / f"case_{k}.py").write_text(text)
    runs = [("a", "shared"), ("b", "shared"), ("b", "empty"), ("a", "shared")]
    return [answers(folder / version, folder / cache) for version, cache in runs]


@pytest.mark.parametrize("name", CASES)
def test_an_edit_is_never_answered_by_an_old_kernel(found: list[dict[str, str]], name: str) -> None:
    key = f"case_{list(CASES).index(name)}"
    first, edited, oracle, back = (answer[key] for answer in found)
    # It compiles, and the edit matters at all.
    assert "Error" not in first
    assert first != oracle
    assert edited == oracle
    assert back == first


def small(tmp_path: Path, source: str) -> dict[str, str]:
    (tmp_path / "small.py").write_text(_HEAD + source)
    return {"PYTHONPATH": os.pathsep.join((str(PACKAGE.parent), str(tmp_path))), "THUD_CACHE_DIR": str(tmp_path / "cache")}


def run(settings: dict[str, str], code: str, *options: str) -> str:
    everything = {"THUD_TARGET": "host"} | os.environ | settings
    done = subprocess.run([sys.executable, *options, "-c", code], env=everything, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


_ONE = "import numpy as np, small; out = np.array([0.0, 1e17, 1.0]); small.run(out); print(out[0])"


def test_a_large_array_is_no_address_of_a_dead_process(tmp_path: Path) -> None:
    # Numba refers to constant arrays beyond 1 MB by their address; stored, a later process crashed.
    settings = small(tmp_path, "TABLE = np.arange(200_000.0)\n" + _RUN.format("TABLE[100_000 + int(out[2])]"))
    assert [run(settings, _ONE) for _ in range(2)] == ["100001.0"] * 2


def test_assertions_belong_to_their_kind_of_python(tmp_path: Path) -> None:
    settings = small(tmp_path, _RUN.format("2.0 if __debug__ else 3.0"))
    assert [run(settings, _ONE, *options) for options in ((), ("-O",), (), ("-O",))] == ["2.0", "3.0", "2.0", "3.0"]


def test_a_constant_rebound_in_memory_is_not_stored_under_the_file_s_key(tmp_path: Path) -> None:
    settings = small(tmp_path, "V = 2.0\n" + _RUN.format("V"))
    code = "import numpy as np, small; small.run._cache.stored((__import__('numba').f8[::1],)); small.V = 5.0\n" + _ONE
    assert run(settings, code) == "5.0"
    assert run(settings, _ONE) == "2.0"


def test_an_intrinsic_edited_after_its_import_is_not_stored(tmp_path: Path) -> None:
    (tmp_path / "parts.py").write_text(_HEAD + _PICK.format("v = 2.0"))
    settings = small(tmp_path, "from parts import pick\n" + _RUN.format("pick()"))
    path = str(tmp_path / "parts.py")
    edit = f"import pathlib, small; p = pathlib.Path({path!r}); p.write_text(p.read_text().replace('v = 2.0', 'v = 3.0'))\n"
    assert run(settings, edit + _ONE) == "2.0"
    assert run(settings, _ONE) == "3.0"


def test_a_file_in_another_encoding_is_read(tmp_path: Path) -> None:
    settings = small(tmp_path, "")
    (tmp_path / "small.py").write_bytes(b"# coding: latin-1\n# \xe9\n" + (_HEAD + _RUN.format("4.0")).encode())
    assert [run(settings, _ONE) for _ in range(2)] == ["4.0"] * 2
