"""Fresh Python processes, and the compilations in them counted."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import thud

ROOT = Path(__file__).parents[2]

#: The package that is tested: this checkout's, or an installed one.
PACKAGE = Path(thud.__file__).parent

_COUNT = """
import atexit, json, sys
from numba.core import event

class _Compilations(event.Listener):
    def __init__(self):
        self.names = []
    def on_start(self, event):
        function = event.data["dispatcher"].py_func
        self.names.append(f"{function.__module__}.{function.__qualname__}")
    def on_end(self, event):
        pass

compilations = _Compilations()
event.register("numba:compile", compilations)
"""


def python(code: str, *, path: Path | None = None, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh process, with `path` (default: where the tested package is) first on Python's path."""
    # What pins the processor stays, as the test run itself may be pinned; else kernels are compiled, even where some came
    # with the package.
    settings = {"THUD_TARGET": "host"} | os.environ | {"PYTHONPATH": str(path or PACKAGE.parent)} | environment
    return subprocess.run([sys.executable, "-c", code], env=settings, capture_output=True, text=True, cwd=ROOT)


def compiled(code: str, *, path: Path | None = None, **environment: str) -> list[str]:
    """Functions of thud that a fresh process compiles while it runs the code, in order."""
    report = "\nprint('\\n' + json.dumps(compilations.names))"
    done = python(_COUNT + code + report, path=path, **environment)
    assert done.returncode == 0, done.stderr
    return [name for name in json.loads(done.stdout.splitlines()[-1]) if not name.startswith("numba.")]
