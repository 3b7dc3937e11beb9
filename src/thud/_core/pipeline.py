"""How Numba compiles our three kinds of functions.

An *entry* is called from Python, from arrays to arrays. An *inner* kernel is called by other kernels; it is compiled once, to
an object of its own, and whoever calls it refers to it by symbol. (Numba's own way links the whole intermediate code of what
is called into every caller and optimises it there again.) A *device* is inlined into its callers or linked into them, so it
never becomes machine code by itself.

A symbol ends in the key of its function (`kernel_key.py`), so it means the same code in every process. An entry or inner
kernel that is loaded brings the inner kernels that it refers to: see `kernel_cache.py`.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from numba import _dynfunc, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import CompilerBase, DefaultPassBuilder
from numba.core.compiler_machinery import register_pass
from numba.core.typed_passes import DumpParforDiagnostics, InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import (
    FindLiterallyCalls,
    InlineClosureLikes,
    InlineInlinables,
    LiteralPropagationSubPipelinePass,
    LiteralUnroll,
    MakeFunctionToJitFunction,
    RewriteDynamicRaises,
    WithLifting,
)

from thud._core import kernel_key

ENTRY, INNER, DEVICE = "entry", "inner", "device"

#: Inner kernels by symbol, of all that this process compiled or loaded: (qualified name, argument types).
SYMBOLS: dict[str, tuple[str, tuple[Any, ...]]] = {}


class ObjectLibrary(JITCodeLibrary):
    """Machine code of an entry or inner kernel. Nothing of it is linked into its callers."""

    _shared_module: Any

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None:
            self._shared_module = llvm.parse_assembly(str(self._codegen._create_empty_module(self.name)))
        return self._shared_module


class InlineLibrary(JITCodeLibrary):
    """Intermediate code of a device: made small, then left for its callers to inline and optimise."""

    def _optimize_final_module(self) -> None:
        passes, builder = self._codegen._module_pass_manager(loop_vectorize=False, slp_vectorize=False, opt=0, cost="cheap")
        passes.run(self._final_module, builder)

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True


def declared_symbols(module: Any) -> list[str]:
    """Symbols of inner kernels that a module refers to and does not define."""
    return sorted(function.name for function in module.functions if function.is_declaration and function.name in SYMBOLS)


def defined_symbols(module: Any) -> list[str]:
    """Symbols that a module defines."""
    return sorted(
        value.name for values in (module.functions, module.global_variables) for value in values if not value.is_declaration
    )


def executable(library: Any, descriptor: Any, environment: Any) -> Any:
    """What Numba takes for the compiled function where it is called from kernels only, so has no wrapper for Python."""
    name = descriptor.qualname.split(".")[-1]
    return _dynfunc.make_function(descriptor.lookup_module(), name, "", 0, environment, (library,))


class _Lowering(NativeLowering):
    """From typed to machine code (or intermediate code, for a device), under a symbol that is the same in every process."""

    kind: str

    def run_pass(self, state: Any) -> bool:
        key = kernel_key.function_key(state.func_id.func, self.kind, state.args)
        if key is not None:
            state.func_id.unique_id = key
            state.func_id.unique_name = f"{state.func_id.func_qualname}${key}"
        library_class = InlineLibrary if self.kind == DEVICE else ObjectLibrary
        state.library = library_class(state.targetctx.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        # Whom it calls, as Numba sees it: a test holds that a key covers them.
        calls = {kind.dispatcher.py_func for kind in state.typemap.values() if isinstance(kind, types.Dispatcher)}
        state.library.calls = sorted(f"{function.__module__}.{function.__qualname__}" for function in calls)
        flags = state.flags
        flags.no_cfunc_wrapper = True
        if self.kind == ENTRY:
            super().run_pass(state)
            set_environments(state.library)
            return True
        flags.no_cpython_wrapper = flags.no_compile = True
        super().run_pass(state)
        state.library._ensure_finalized()
        lowered = state["cr"]
        function = executable(state.library, lowered.fndesc, lowered.env)
        state.targetctx.insert_user_function(function, lowered.fndesc, [state.library])
        state["cr"] = lowered._replace(cfunc=function)
        if self.kind == INNER:
            note_symbol(state.func_id.func, state.args, lowered.fndesc)
            set_environments(state.library)
        return True


def note_symbol(function: Any, arguments: Any, descriptor: Any) -> None:
    """Remember under which symbol an inner kernel is found."""
    SYMBOLS[descriptor.mangled_name] = (f"{function.__module__}.{function.__qualname__}", tuple(arguments))


def set_environments(library: Any) -> None:
    """Give the devices inlined into a library their environments: each has its own copy of the pointer."""
    from numba.core.environment import lookup_environment

    for value in library._final_module.global_variables:
        if value.name.startswith("_ZN08NumbaEnv"):
            environment = lookup_environment(value.name)
            if environment is not None and library.codegen._engine.is_symbol_defined(value.name):
                library.codegen.set_env(value.name, environment)


@register_pass(mutates_CFG=True, analysis_only=False)
class _EntryLowering(_Lowering):
    _name, kind = "thud_entry_lowering", ENTRY


@register_pass(mutates_CFG=True, analysis_only=False)
class _InnerLowering(_Lowering):
    _name, kind = "thud_inner_lowering", INNER


@register_pass(mutates_CFG=True, analysis_only=False)
class _DeviceLowering(_Lowering):
    _name, kind = "thud_device_lowering", DEVICE


#: Passes for what our functions do not have: `with`, closures, raises of run-time values, `literal_unroll`, and whole-array
#: expressions, which only entries may use.
_NOT_NEEDED = {
    WithLifting,
    InlineClosureLikes,
    RewriteDynamicRaises,
    MakeFunctionToJitFunction,
    InlineInlinables,
    FindLiterallyCalls,
    LiteralUnroll,
    LiteralPropagationSubPipelinePass,
    InlineOverloads,
    NopythonRewrites,
    DumpParforDiagnostics,
}


def _compiler(lowering: type[_Lowering]) -> type[CompilerBase]:
    class Compiler(CompilerBase):
        def define_pipelines(self) -> list[Any]:
            pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
            passes = [(lowering, text) if step is NativeLowering else (step, text) for step, text in pipeline.passes]
            if lowering.kind != ENTRY:
                passes = [(step, text) for step, text in passes if step not in _NOT_NEEDED]
            pipeline.passes = passes
            pipeline._finalized = False
            pipeline.finalize()
            return [pipeline]

    return Compiler


COMPILERS = {ENTRY: _compiler(_EntryLowering), INNER: _compiler(_InnerLowering), DEVICE: _compiler(_DeviceLowering)}
