"""Compiled functions from process to process, behind Numba's interface of a cache.

What is stored of an entry or inner kernel is its machine code, its symbols and the inner kernels it refers to; of a device
its intermediate code. Loading one loads the inner kernels it needs, and makes sure that their symbols are the ones it means.
"""

from __future__ import annotations

import importlib
import pickle
from types import FunctionType
from typing import Any

import llvmlite.binding as llvm
from numba.core import sigutils
from numba.core.caching import _Cache
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from thud._core import kernel_key, shipped, store
from thud._core.pipeline import (
    DEVICE,
    ENTRY,
    INNER,
    InlineLibrary,
    ObjectLibrary,
    declared_symbols,
    defined_symbols,
    executable,
    note_symbol,
)
from thud._core.pipeline import SYMBOLS as _SYMBOLS

#: Every decorated function's dispatcher by module and qualified name.
DISPATCHERS: dict[str, Any] = {}


class KernelCache(_Cache):
    """Where one dispatcher finds what was compiled before."""

    def __init__(self, function: FunctionType, kind: str) -> None:
        self.function, self.kind = function, kind
        self._enabled = True

    @property
    def cache_path(self) -> str:
        """The folder of the entries."""
        return str(store.user_store().folder)

    def enable(self) -> None:
        """Load and store again."""
        self._enabled = True

    def disable(self) -> None:
        """Neither load nor store."""
        self._enabled = False

    def flush(self) -> None:
        """Nothing to write back: an entry is whole when it is stored."""

    def load_overload(self, sig: Any, target_context: Any) -> CompileResult | None:
        """The compiled function for a signature; None if it must be compiled."""
        if not self._enabled:
            return None
        target_context.refresh()
        arguments, _ = sigutils.normalize_signature(sig)
        if self.kind != DEVICE:
            content = shipped.find(self.function, arguments)
            parts: Any = None if content is None else pickle.loads(content)
            result = (
                _rebuild(self.function, self.kind, parts, target_context) if _is_of(parts, self.function, self.kind) else None
            )
            if result is not None:
                return result
        key = kernel_key.function_key(self.function, self.kind, arguments)
        if key is None:
            return None
        name = key + ".kernel"
        content = store.user_store().load(name)
        if content is None:
            return None
        try:
            parts = pickle.loads(content)
            if not _is_of(parts, self.function, self.kind):
                raise ValueError
        except Exception:  # whatever a damaged or foreign pickle may raise
            store.user_store().discard(name)
            return None
        return _rebuild(self.function, self.kind, parts, target_context)

    def stored(self, arguments: tuple[Any, ...]) -> int | None:
        """Bytes of what is stored for the argument types; None if it would be compiled."""
        if self.kind != DEVICE:
            content = shipped.find(self.function, arguments)
            if content is not None:
                return len(content)
        key = kernel_key.function_key(self.function, self.kind, arguments)
        return None if key is None else store.user_store().size_of(key + ".kernel")

    def save_overload(self, sig: Any, data: CompileResult) -> None:
        """Store a compiled function."""
        if not self._enabled:
            return
        key = kernel_key.function_key(self.function, self.kind, data.signature.args)
        # A symbol without the key came about while the source could not be read. Dynamic globals are addresses of this process.
        if key is None or key not in data.fndesc.mangled_name or data.library.has_dynamic_globals:
            return
        if not kernel_key.still_holds(self.function):
            return
        store.user_store().save(key + ".kernel", dumps(reduced(data, self.kind)))


def _is_of(parts: Any, function: FunctionType, kind: str) -> bool:
    """Whether what was stored is a kernel, this one, and of this kind: an inner kernel that is called from Python is compiled
    as an entry, since as an inner one it has no wrapper."""
    if not isinstance(parts, dict) or not {"code", "descriptor", "needs", "signature", "reload"} <= set(parts):
        return False
    return (parts.get("function"), parts.get("kind")) == (f"{function.__module__}.{function.__qualname__}", kind)


def reduced(result: CompileResult, kind: str) -> dict[str, Any]:
    """What to store of a compiled function."""
    library, descriptor = result.library, result.fndesc
    # Of no use once compiled, and not always to be pickled.
    descriptor.typemap = descriptor.calltypes = None
    module = library._final_module
    return {
        "name": library.name,
        "kind": kind,
        "function": f"{descriptor.modname}.{descriptor.qualname}",
        "calls": library.calls,
        "code": library._get_module_for_linking().as_bitcode() if kind == DEVICE else library._get_compiled_object(),
        "defined": defined_symbols(module),
        "needs": [(symbol, *_SYMBOLS[symbol]) for symbol in declared_symbols(module)],
        "descriptor": descriptor,
        "environment": result.environment,
        "environments": result._find_referenced_environments(),
        "signature": result.signature,
        "reload": result.reload_init,
    }


def _rebuild(function: FunctionType, kind: str, parts: dict[str, Any], target_context: Any) -> CompileResult | None:
    """The compiled function from what was stored; None if an inner kernel that it needs is not the one it means."""
    for symbol, name, arguments in parts["needs"]:
        if symbol not in _SYMBOLS and not _bring(symbol, name, arguments):
            return None
    for initialise in parts["reload"]:
        initialise()
    codegen, descriptor, environment = target_context.codegen(), parts["descriptor"], parts["environment"]
    if kind == DEVICE:
        library = InlineLibrary(codegen, parts["name"])
        library._final_module = library._shared_module = llvm.parse_bitcode(parts["code"])
        library._finalized = True
    else:
        library = ObjectLibrary(codegen, parts["name"])
        library.enable_object_caching()
        library._set_compiled_object(parts["code"])
        library._finalize_final_module()
        codegen._engine._defined_symbols.update(parts["defined"])
    if kind == ENTRY:
        entry_point = target_context.get_executable(library, descriptor, environment)
    else:
        entry_point = executable(library, descriptor, environment)
    if kind == INNER:
        note_symbol(function, parts["signature"].args, descriptor)
    if kind != DEVICE:
        for referenced in parts["environments"]:
            codegen.set_env(referenced.env_name, referenced)
    return CompileResult(
        target_context=target_context,
        typing_context=target_context.typing_context,
        library=library,
        environment=environment,
        entry_point=entry_point,
        fndesc=descriptor,
        type_annotation="",
        signature=parts["signature"],
        objectmode=False,
        lifted=(),
        typing_error=None,
        call_helper=None,
        metadata=None,
        reload_init=parts["reload"],
        referenced_envs=parts["environments"],
    )


def _bring(symbol: str, name: str, arguments: tuple[Any, ...]) -> bool:
    """Load or compile an inner kernel; whether it has the symbol that is asked for."""
    dispatcher = find_dispatcher(name)
    if dispatcher is None:
        return False
    dispatcher.compile(arguments)
    return symbol in _SYMBOLS


def find_dispatcher(name: str) -> Any:
    """Dispatcher of a decorated function by module and qualified name; None if there is none."""
    if name not in DISPATCHERS:
        module = name.rsplit(".", 1)[0]
        try:
            importlib.import_module(module)
        except ImportError:
            return None
    return DISPATCHERS.get(name)
