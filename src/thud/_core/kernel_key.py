"""One key a kernel: a hash over all that its machine code depends on, and nothing else.

- The syntax tree (`sources.py`) of the function and of every device, kernel, intrinsic and plain function that it reaches.
- The value of every constant, and the fields of every named tuple and class, that one of these reads.
- Its argument types, its kind and its compile options.
- The versions of Python, Numba, llvmlite and NumPy's ABI, the target processor, and Numba's switches that change code.

An edit of a docstring, a comment or a function that a kernel does not reach leaves its key as it is. A key depends neither
on the order of imports nor on the folder or the times of files. What cannot be described has no key, and is not stored:
a stale kernel is worse than a slow one.
"""

from __future__ import annotations

import builtins
import enum
import functools
import hashlib
import platform
import sys
from collections.abc import Iterable
from pathlib import Path
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any, NamedTuple

import llvmlite
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core.dispatcher import Dispatcher
from numba.extending import _Intrinsic

from thud._core import sources, target

#: Changes whenever stored kernels mean something else.
_FORMAT = 1

#: Hexadecimal digits of a key.
_DIGITS = 32

#: Numba's settings that change the code of a kernel.
_SWITCHES = (
    "BOUNDSCHECK",
    "OPT",
    "LOOP_VECTORIZE",
    "SLP_VECTORIZE",
    "USING_SVML",
    "LLVM_REFPRUNE_PASS",
    "LLVM_REFPRUNE_FLAGS",
    "DEBUGINFO_DEFAULT",
    "DEBUG_NRT",
    "DISABLE_INTEL_SVML",
    "ENABLE_AVX",
)

#: Packages whose code is as their version says.
_VERSIONED = {"numpy", "numba", "llvmlite", "scipy", "math", "builtins", "typing", "collections", "operator", "cmath", "enum"}

#: Compile options of every function that was decorated, as text.
_options: dict[FunctionType, str] = {}


class Unknown(Exception):
    """Something that a key cannot describe."""


class Node(NamedTuple):
    """A function or class that kernels reach."""

    name: str
    """Module and qualified name."""
    digest: str
    """Hash of its own tree and of what its names are bound to."""
    size: int
    """Nodes of its tree."""
    path: str
    """Its source file."""
    reads: dict[str, str]
    """What each of its global names is bound to, as text."""
    reached: tuple[Any, ...]
    """Functions and classes that it reads."""


def note_options(function: FunctionType, options: dict[str, Any]) -> None:
    """Remember how a function is compiled, and what its file is like now."""
    _options[function] = repr(sorted((name, _describe(value)) for name, value in options.items()))
    sources.watch(function.__code__.co_filename)


@functools.cache
def environment_text() -> str:
    """All but the processor that a kernel's code depends on besides our sources."""
    abi = getattr(getattr(np, "_core", None), "_multiarray_umath", None)
    version = getattr(abi, "_get_ndarray_c_version", None)
    config: Any = numba.config
    return repr(
        (
            _FORMAT,
            sys.implementation.name,
            sys.version_info[:2],
            platform.machine(),
            sys.platform,
            numba.__version__,
            llvmlite.__version__,
            hex(version()) if version is not None else np.__version__,
            # Not said and switched off are the same to Numba.
            [(name, str(getattr(config, name, None) or None)) for name in _SWITCHES],
        )
    )


#: How the compiler is set up is part of what it makes.
COMPILER_SOURCE = str(Path(__file__).with_name("pipeline.py"))


@functools.cache
def _compiler_text() -> str:
    file = sources.source_file(COMPILER_SOURCE)
    if file is None:
        raise Unknown(COMPILER_SOURCE)
    return repr([sorted(file.functions.values()), sorted(file.classes.items())])


def function_key(function: FunctionType, kind: str, arguments: Iterable[Any]) -> str | None:
    """Key of a function compiled as `kind` for the argument types; None if something it reaches cannot be described."""
    return _function_key(function, kind, tuple(arguments))


@functools.lru_cache(maxsize=4096)
def _function_key(function: FunctionType, kind: str, arguments: tuple[Any, ...]) -> str | None:
    try:
        nodes, compiler = reach(function), _compiler_text()
    except Unknown:
        return None
    text = repr(
        (
            environment_text(),
            compiler,
            target.target_text(),
            kind,
            f"{function.__module__}.{function.__qualname__}",
            arguments_text(arguments),
            [(node.name, node.digest) for node in nodes],
        )
    )
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def arguments_text(arguments: Iterable[Any]) -> str:
    """Argument types as text that is the same in every process."""
    return ", ".join(_describe(argument) for argument in arguments)


def reach(function: FunctionType) -> list[Node]:
    """All that a function reaches, itself included, sorted by name."""
    found: dict[Any, Node] = {}
    waiting: list[Any] = [function]
    while waiting:
        thing = waiting.pop()
        if thing not in found:
            found[thing] = _node(thing)
            waiting += found[thing].reached
    return sorted(found.values(), key=lambda node: (node.name, node.digest))


@functools.cache
def _node(thing: Any) -> Node:
    if isinstance(thing, FunctionType):
        return _function_node(thing)
    return _class_node(thing)


def _function_node(function: FunctionType) -> Node:
    name, path = _name(function), function.__code__.co_filename
    file = sources.source_file(path)
    outline = None if file is None else file.functions.get(function.__code__.co_firstlineno)
    if outline is None:
        raise Unknown(name)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def value_of(root: str) -> Any:
        if root in cells:
            return cells[root].cell_contents
        return function.__globals__.get(root, getattr(builtins, root, _MISSING))

    reads, reached = _bindings(outline.names, value_of)
    settings = (_options.get(function, "plain"), _describe(function.__defaults__), _describe(function.__kwdefaults__))
    return Node(name, _digest(outline.digest, reads, settings), outline.size, path, reads, reached)


def _class_node(cls: type) -> Node:
    module = sys.modules[cls.__module__]
    path = str(module.__file__)
    file = sources.source_file(path)
    outline = None if file is None else file.classes.get(cls.__qualname__)
    if outline is None:
        raise Unknown(_name(cls))

    def value_of(root: str) -> Any:
        return getattr(module, root, getattr(builtins, root, _MISSING))

    reads, reached = _bindings(outline.names, value_of)
    return Node(_name(cls), _digest(outline.digest, reads, ()), outline.size, path, reads, reached)


_MISSING = object()


def _digest(tree: str, reads: dict[str, str], settings: tuple[str, ...]) -> str:
    return hashlib.sha256(repr((tree, sorted(reads.items()), settings)).encode()).hexdigest()


def _bindings(chains: Iterable[str], value_of: Any) -> tuple[dict[str, str], tuple[Any, ...]]:
    """What dotted names mean, as text, and the functions and classes among their values."""
    reads: dict[str, str] = {}
    reached: dict[Any, None] = {}
    for chain in chains:
        root, *attributes = chain.split(".")
        value = value_of(root)
        if value is _MISSING:
            # A name of the class or function itself, or one that is only looked up when a branch is taken.
            continue
        for attribute in attributes:
            # Attributes of modules, enumerations and classes are constants; those of values belong to the expression.
            if not isinstance(value, (ModuleType, type)) or _is_versioned(value) or not hasattr(value, attribute):
                break
            value = getattr(value, attribute)
        follow = _followed(value)
        if follow is not None:
            reached[follow] = None
        reads[chain] = _describe(value)
    return reads, tuple(reached)


def _followed(value: Any) -> Any:
    """The function or class whose source counts when a kernel reads `value`; None if the value says it all."""
    if isinstance(value, Dispatcher):
        return value.py_func
    if isinstance(value, _Intrinsic):
        return value._defn
    if isinstance(value, FunctionType) and not _is_versioned(value):
        return value
    # Of classes that kernels only name, as named tuples, enumerations and exceptions, the description is enough.
    if isinstance(value, type) and not _is_versioned(value) and not issubclass(value, (tuple, enum.Enum, BaseException)):
        return value
    return None


def _is_versioned(value: Any) -> bool:
    module = value.__name__ if isinstance(value, ModuleType) else getattr(value, "__module__", None) or "builtins"
    return module.split(".")[0] in _VERSIONED


def _name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"


def _describe(value: Any) -> str:
    """Text that is equal for equal values, in every process."""
    if value is None or (isinstance(value, (bool, int, str, bytes, complex)) and not isinstance(value, enum.Enum)):
        return f"{type(value).__name__} {value!r}"
    if isinstance(value, float):
        return f"float {value.hex()}"
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name} = {_describe(value.value)}"
    if isinstance(value, (tuple, list)):
        fields = _name(type(value)) if hasattr(value, "_fields") else type(value).__name__
        return f"{fields}({', '.join(_describe(item) for item in value)})"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(_describe(item) for item in value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(sorted(f'{_describe(key)}: {_describe(item)}' for key, item in value.items()))})"
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    if isinstance(value, np.generic):
        return f"{value.dtype.str} {value.tobytes().hex()}"
    if isinstance(value, np.ndarray) and value.dtype != object:
        return f"{value.dtype.str} {value.shape} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, np.dtype):
        return f"dtype {value.str}"
    if isinstance(value, types.BaseNamedTuple):
        return f"type {value} of {_describe(value.instance_class)}"
    if isinstance(value, types.Type):
        return f"type {value}"
    if isinstance(value, (ir.Type, ir.Constant)):
        return f"{type(value).__name__} {value}"
    if isinstance(value, (Dispatcher, _Intrinsic)):
        return f"{type(value).__name__} {_name(_followed(value))}"
    if isinstance(value, type):
        if hasattr(value, "_fields"):
            return f"named tuple {_name(value)} {value._fields}"
        if issubclass(value, enum.Enum):
            return f"enumeration {_name(value)} {[(member.name, _describe(member.value)) for member in value]}"
        return f"class {_name(value)}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, (FunctionType, BuiltinFunctionType, np.ufunc)):
        return f"function {getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}"
    if _is_versioned(type(value)):
        return f"{_name(type(value))} of its version"
    raise Unknown(f"a {type(value).__name__}")
