"""The only compile decorators of the package, their on-disk cache and their registry.

`@kernel` / `@device` compile with a fast-math subset that keeps NaN and infinity meaningful. `@exact_kernel` /
`@exact_device` use no fast-math at all: with `reassoc` in the call chain the error term of a TwoSum compiles to 0.
Exact code calls only exact devices; a fast kernel may call an exact kernel, and inlines no exact device.

An entry kernel states its signature, so that `thud.warmup()` can compile it without running it and a test can assert
that it has one specialisation:

    @kernel("i8, i8, f8[:,::1], f8[::1]")
    def distance_rows(start, stop, points_in, distance_out): ...

A bare `@kernel` is a function that other kernels call and that is not inlined (to keep compile times down). A large one
also states its signature, `@kernel(inner="...")`, so that warming up compiles it by itself, with progress, before the
entries that need it.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib
import os
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numba
from numba import types
from numba.core import event

#: Numba's settings; untyped, since they are made from the environment.
_config: Any = numba.config

FAST_MATH = {"nsz", "arcp", "contract", "afn", "reassoc"}

#: Said, not left out: a function that says nothing is compiled with the options of whatever kernel first calls it.
EXACT_MATH = False

#: Folders whose files hold no kernel; an edit there leaves the compiled kernels valid.
_NOT_KERNELS = {"cli", "viewer", "report", "io", "cluster"}

#: Entry kernels by qualified name, in order of definition: (dispatcher, signature text).
REGISTRY: dict[str, tuple[Any, str]] = {}

#: Names that signatures may use beside Numba's own (i8, f8[:,::1], ...), and the modules whose NUMBA_TYPE they mean.
_TYPE_MODULES = {
    "packed": "thud.narrowphase.packed_type",
    "surface": "thud.terrain.surface_type",
    "elements": "thud.particles.element_type",
}


def resolve_signature(text: str) -> tuple[Any, ...]:
    """Numba types of a signature text."""
    namespace: dict[str, Any] = {
        key: getattr(types, key) for key in ("i1", "i4", "i8", "u1", "u4", "u8", "f4", "f8", "b1", "Tuple", "UniTuple")
    }
    namespace["vec3"] = types.UniTuple(types.f8, 3)
    namespace["mat3"] = types.UniTuple(types.f8, 9)
    # The arrays that GJK and EPA read: part_ints, part_reals, vertices, link_starts, links.
    i2, f2 = types.i8[:, ::1], types.f8[:, ::1]
    namespace["hulls"] = (i2, f2, f2, types.i8[::1], i2)
    for name, module in _TYPE_MODULES.items():
        if name in text:
            namespace[name] = importlib.import_module(module).NUMBA_TYPE
    return tuple(eval(f"({text},)", {"__builtins__": {}}, namespace))


def source_key() -> str:
    """Hash of all kernel sources, Numba's version and its bounds-check switch: the name of the cache folder.

    Numba's own cache looks only at the file of the kernel itself, so it would serve a stale binary after an edit of a
    device in another file, and an unchecked one under NUMBA_BOUNDSCHECK=1.
    """
    digest = hashlib.sha256(f"{numba.__version__} {_config.BOUNDSCHECK}".encode())
    package = Path(__file__).parent
    for path in sorted(package.rglob("*.py")):
        relative = path.relative_to(package)
        if relative.parts[0] not in _NOT_KERNELS:
            digest.update(str(relative).encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def cache_directory() -> Path:
    """Folder of the compiled kernels: THUD_CACHE_DIR, else the user's cache folder, else a temporary one."""
    chosen = os.environ.get("THUD_CACHE_DIR")
    base = Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thud"
    folder = base / "kernels" / source_key()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not os.access(folder, os.W_OK):
            raise PermissionError(folder)
    except OSError:
        folder = Path(tempfile.gettempdir()) / f"thud-{os.getuid() if hasattr(os, 'getuid') else 0}" / source_key()
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder


_CACHE_DIRECTORY = str(cache_directory())


@contextlib.contextmanager
def _numba_cache() -> Iterator[None]:
    """Point Numba's cache at our folder while one function is decorated; other packages keep theirs."""
    before = _config.CACHE_DIR
    _config.CACHE_DIR = _CACHE_DIRECTORY
    try:
        yield
    finally:
        _config.CACHE_DIR = before


def _compile_later(function: Callable[..., Any], signature: str | None, **options: Any) -> Any:
    with _numba_cache():
        dispatcher = numba.njit(cache=True, nogil=True, error_model="numpy", **options)(function)
    if signature is not None:
        REGISTRY[f"{function.__module__}.{function.__qualname__}"] = (dispatcher, signature)
    return dispatcher


def _decorator(argument: Any, inner: str | None, **options: Any) -> Any:
    """Serve `@kernel`, `@kernel("signature")` and `@kernel(inner="signature")`."""
    if callable(argument):
        return _compile_later(argument, None, _nrt=False, **options)
    if inner is not None:
        return lambda function: _compile_later(function, inner, _nrt=False, **options)
    return lambda function: _compile_later(function, argument, **options)


def kernel(argument: Any = None, *, inner: str | None = None) -> Any:
    """Compile a function with the fast-math subset. See the module's docstring."""
    return _decorator(argument, inner, fastmath=FAST_MATH)


def exact_kernel(argument: Any = None, *, inner: str | None = None) -> Any:
    """Compile a function with no fast-math: for inclusion tests, predicates, outward rounding and roots."""
    return _decorator(argument, inner, fastmath=EXACT_MATH)


def device(function: Any = None, *, inner: str | None = None) -> Any:
    """Compile a helper that is inlined into its kernels, with the fast-math subset. It makes and returns no arrays.

    A large one states its signature as an inner kernel does, to be compiled by itself first and then inlined.
    """
    if function is None:
        return lambda function: _compile_later(function, inner, fastmath=FAST_MATH, forceinline=True, _nrt=False)
    return _compile_later(function, None, fastmath=FAST_MATH, forceinline=True, _nrt=False)


def view_device(function: Callable[..., Any]) -> Any:
    """Compile a helper of entry kernels that returns views of arrays, whose references must be counted."""
    return _compile_later(function, None, fastmath=FAST_MATH, forceinline=True)


def exact_device(function: Callable[..., Any]) -> Any:
    """Compile a helper that is inlined into exact kernels, with no fast-math."""
    return _compile_later(function, None, fastmath=EXACT_MATH, forceinline=True, _nrt=False)


class _CompileNotice(event.Listener):
    """Says on stderr, once a process, that a first call compiles; `thud.warmup()` shows its own progress."""

    def __init__(self) -> None:
        self.silent = False

    def on_start(self, event: Any) -> None:
        function = event.data["dispatcher"].py_func
        if self.silent or not str(function.__module__).startswith("thud."):
            return
        self.silent = True
        print("thud: compiling kernels for their first use (`thud warmup` compiles all of them at once)", file=sys.stderr)

    def on_end(self, event: Any) -> None:
        """Nothing to say."""


compile_notice = _CompileNotice()
event.register("numba:compile", compile_notice)
