"""One key a kernel: a hash over all that its machine code depends on, and nothing else.

- The syntax tree (`sources.py`) of the function and of every device, kernel, intrinsic and plain function that it reaches.
- The value of every constant, and the fields of every named tuple and class, that one of these reads.
- Its argument types, its kind and its compile options.
- The versions of Python, Numba, llvmlite and NumPy's ABI, the target processor, and Numba's switches that change code.

An edit of a docstring, a comment or a function that a kernel does not reach leaves its key as it is. A key depends neither
on the order of imports nor on the folder or the times of files. What cannot be described has no key, and is not stored:
a stale kernel is worse than a slow one. That holds for functions whose code in memory is not that of their file, for objects
other than numbers, texts, arrays, types and containers of these, and for constants that were rebound after a key was made.
"""

from __future__ import annotations

import builtins
import enum
import functools
import hashlib
import platform
import struct
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
_FORMAT = 3

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

#: Names through which a function may read anything.
_OPAQUE = {"globals", "locals", "vars", "eval", "exec", "__import__"}

#: Compile options of every function that was decorated, as text; None for one that was decorated in two ways.
_options: dict[FunctionType, str | None] = {}


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
    reads: dict[str, str]
    """What each of its global names is bound to, as text."""
    reached: tuple[Any, ...]
    """Functions and classes that it reads."""


def note_options(function: FunctionType, options: dict[str, Any]) -> None:
    """Remember how a function is compiled."""
    text = repr(sorted((name, _describe(value)) for name, value in options.items()))
    _options[function] = text if _options.get(function, text) == text else None


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
            sys.flags.optimize,
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
    outline = sources.class_outline(COMPILER_SOURCE, sources.WHOLE)
    if outline is None:
        raise Unknown(COMPILER_SOURCE)
    return outline.digest


def function_key(function: FunctionType, kind: str, arguments: Iterable[Any]) -> str | None:
    """Key of a function compiled as `kind` for the argument types; None if something it reaches cannot be described."""
    return _function_key(function, kind, tuple(arguments))


@functools.lru_cache(maxsize=4096)
def _function_key(function: FunctionType, kind: str, arguments: tuple[Any, ...]) -> str | None:
    try:
        nodes, compiler, types_text = reach(function), _compiler_text(), arguments_text(arguments)
    except Unknown:
        return None
    text = repr(
        (
            environment_text(),
            compiler,
            target.target_text(),
            kind,
            f"{function.__module__}.{function.__qualname__}",
            types_text,
            [(node.name, node.digest) for node in nodes],
        )
    )
    return hashlib.sha256(text.encode()).hexdigest()[:_DIGITS]


def still_holds(function: FunctionType) -> bool:
    """Whether the key that was made is still true: no constant that the function reaches has another value by now."""
    try:
        return all(_make_node(thing) == node for thing, node in _reach(function).items())
    except Unknown:
        return False


def arguments_text(arguments: Iterable[Any]) -> str:
    """Argument types as text that is the same in every process."""
    return ", ".join(_describe(argument) for argument in arguments)


def reach(function: FunctionType) -> list[Node]:
    """All that a function reaches, itself included, sorted by name."""
    return sorted(_reach(function).values(), key=lambda node: (node.name, node.digest))


def _reach(function: FunctionType) -> dict[Any, Node]:
    found: dict[Any, Node] = {}
    waiting: list[Any] = [function]
    while waiting:
        thing = waiting.pop()
        if thing not in found:
            found[thing] = _node(thing)
            waiting += found[thing].reached
    return found


@functools.cache
def _node(thing: Any) -> Node:
    return _make_node(thing)


def _make_node(thing: Any) -> Node:
    if isinstance(thing, FunctionType):
        return _function_node(thing)
    return _class_node(thing)


def _function_node(function: FunctionType) -> Node:
    name = _name(function)
    outline = sources.function_outline(function)
    if outline is None or any(package.split(".")[0] not in _VERSIONED for package in outline.imports):
        raise Unknown(name)
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or ()))

    def value_of(root: str) -> Any:
        if root in cells:
            return cells[root].cell_contents
        return function.__globals__.get(root, getattr(builtins, root, _MISSING))

    reads, reached = _bindings(outline.names, value_of)
    defaults = (function.__defaults__, function.__kwdefaults__)
    settings = (_settings(function), _describe(defaults), _describe(function.__dict__))
    return Node(name, _digest(outline.digest, reads, settings), outline.size, reads, (*reached, *_followed(defaults)))


def _settings(function: FunctionType) -> str:
    options = _options.get(function, "plain")
    if options is None:
        raise Unknown(f"{_name(function)}, which is compiled in two ways")
    return options


def _class_node(cls: type) -> Node:
    module = sys.modules[cls.__module__]
    path = str(module.__file__)
    if "<locals>" in cls.__qualname__:
        raise Unknown(f"{_name(cls)}, which is made inside a function")
    outline = sources.class_outline(path, cls.__qualname__)
    if outline is None and "_fields" in vars(cls) and cls.__bases__ == (tuple,):
        # `namedtuple(...)` called as a function: its fields say it all.
        return Node(_name(cls), _digest(_describe(cls), {}, ()), 1, {}, ())
    if outline is None:
        raise Unknown(_name(cls))

    def value_of(root: str) -> Any:
        return getattr(module, root, getattr(builtins, root, _MISSING))

    reads, reached = _bindings(outline.names, value_of)
    # Attributes that were set or changed after the class was made.
    plain = [(name, _describe(value)) for name, value in sorted(vars(cls).items()) if isinstance(value, (int, float, complex))]
    return Node(_name(cls), _digest(outline.digest, reads, (repr(plain),)), outline.size, reads, reached)


_MISSING = object()


def _digest(tree: str, reads: dict[str, str], settings: tuple[str, ...]) -> str:
    return hashlib.sha256(repr((tree, sorted(reads.items()), settings)).encode()).hexdigest()


def _bindings(chains: Iterable[str], value_of: Any) -> tuple[dict[str, str], tuple[Any, ...]]:
    """What dotted names mean, as text, and the functions and classes among their values."""
    reads: dict[str, str] = {}
    reached: dict[Any, None] = {}
    for chain in chains:
        root, *attributes = chain.split(".")
        if root in _OPAQUE:
            raise Unknown(root)
        value = value_of(root)
        if value is _MISSING:
            # A name of the class or function itself, or one that is only looked up when a branch is taken.
            continue
        for attribute in attributes:
            # Attributes of modules, enumerations and classes are constants; those of values belong to the expression.
            if not isinstance(value, (ModuleType, type)) or not hasattr(value, attribute):
                break
            value = getattr(value, attribute)
        reached.update(dict.fromkeys(_followed(value)))
        reads[chain] = _describe(value)
    return reads, tuple(reached)


def _followed(value: Any) -> list[Any]:
    """The functions and classes whose source counts when a kernel reads `value`; none if the value says it all."""
    if isinstance(value, (tuple, list, set, frozenset)):
        of_class = _followed(type(value)) if hasattr(value, "_fields") else []
        return [*of_class, *(found for item in value for found in _followed(item))]
    if isinstance(value, dict):
        return [found for pair in value.items() for item in pair for found in _followed(item)]
    if isinstance(value, (Dispatcher, _Intrinsic)):
        return [_definition(value)]
    if isinstance(value, (FunctionType, type)) and not _is_versioned(value):
        return [value]
    if isinstance(value, enum.Enum):
        return _followed(type(value))
    return []


def _definition(value: Any) -> FunctionType:
    """The Python function of a dispatcher or an intrinsic."""
    if isinstance(value, _Intrinsic):
        return value._defn
    function = getattr(value._cache, "function", None)
    if function is None or function not in _options:
        raise Unknown(f"{value.py_func.__name__}, which is compiled by another decorator than ours")
    return function


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
        # By bits: a NaN has a sign, too.
        return f"float {struct.pack('>d', value).hex()}"
    if isinstance(value, enum.Enum):
        return f"{_name(type(value))}.{value.name} = {_describe(value.value)}"
    if isinstance(value, (tuple, list)):
        if type(value) not in (tuple, list) and not hasattr(value, "_fields"):
            raise Unknown(f"a {type(value).__name__}")
        fields = _describe(type(value)) if hasattr(value, "_fields") else type(value).__name__
        return f"{fields}({', '.join(_describe(item) for item in value)})"
    if isinstance(value, (set, frozenset)):
        return f"{type(value).__name__}({', '.join(sorted(_describe(item) for item in value))})"
    if isinstance(value, dict):
        return f"dict({', '.join(f'{_describe(key)}: {_describe(item)}' for key, item in value.items())})"
    if isinstance(value, (slice, range)):
        return repr(value)
    return _describe_object(value)


def _describe_object(value: Any) -> str:
    if isinstance(value, np.generic) and not value.dtype.hasobject:
        return f"{_describe(value.dtype)} {value.tobytes().hex()}"
    if type(value) is np.ndarray and not value.dtype.hasobject:
        layout = (value.shape, value.strides, value.flags.writeable)
        return f"{_describe(value.dtype)} {layout} {hashlib.sha256(value.tobytes()).hexdigest()}"
    if isinstance(value, np.dtype):
        return f"dtype {value.str if value.names is None else value.descr} {value.isalignedstruct}"
    if isinstance(value, types.BaseTuple):
        fields = f" of {_describe(value.instance_class)}" if isinstance(value, types.BaseNamedTuple) else ""
        return f"{type(value).__name__}({', '.join(_describe(item) for item in value.types)}){fields}"
    if isinstance(value, types.Type):
        if " at 0x" in str(value):
            raise Unknown(f"the type {value}")
        return f"type {value}"
    if isinstance(value, ir.IdentifiedStructType):
        raise Unknown(f"the type {value}")
    if value is ir.Undefined:
        return "undefined"
    if isinstance(value, (ir.Type, ir.Constant)):
        return f"{type(value).__name__} {value}"
    if isinstance(value, _Intrinsic):
        return f"intrinsic {_identity(value._defn)} {value._prefer_literal} {_describe(value._ctor_kwargs)}"
    if isinstance(value, Dispatcher):
        return f"{type(value).__name__} {_identity(_definition(value))}"
    if isinstance(value, type):
        if hasattr(value, "_fields"):
            return f"named tuple {_name(value)} {value._fields}"
        if issubclass(value, enum.Enum):
            return f"enumeration {_name(value)} {[(member.name, _describe(member.value)) for member in value]}"
        return f"class {_name(value)}"
    if isinstance(value, ModuleType):
        return f"module {value.__name__}"
    if isinstance(value, FunctionType) and not _is_versioned(value):
        return f"function {_identity(value)}"
    bound = getattr(value, "__self__", None)
    if isinstance(value, (FunctionType, BuiltinFunctionType, np.ufunc, type(np.zeros_like))) and (
        bound is None or isinstance(bound, ModuleType)
    ):
        return f"function {getattr(value, '__module__', None)}.{getattr(value, '__qualname__', value.__name__)}"
    if type(value).__module__ == "typing":
        # Of no meaning to a compiler.
        return f"{_name(type(value))} {getattr(value, '__name__', '')}"
    raise Unknown(f"a {type(value).__name__}")


def _identity(function: FunctionType, outer: tuple[FunctionType, ...] = ()) -> str:
    """Which function a name is bound to: of several made by one factory, the one with these values in its closure."""
    outline = sources.function_outline(function)
    if outline is None:
        raise Unknown(_name(function))
    if function in outer:
        return _name(function)
    inner = []
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:
            raise Unknown(f"{_name(function)}, whose closure is not filled") from None
        functions = [thing for thing in _followed(value) if isinstance(thing, FunctionType)]
        inner.append([_identity(thing, (*outer, function)) for thing in functions] or _describe(value))
    return f"{_name(function)} {outline.digest} {_settings(function)} {inner}"
