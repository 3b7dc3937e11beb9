"""The only compile decorators of the package, and the registry of kernels.

`@kernel` / `@device` compile with a fast-math subset that keeps NaN and infinity meaningful. `@exact_kernel` /
`@exact_device` use no fast-math at all: with `reassoc` in the call chain the error term of a TwoSum compiles to 0.
Exact code calls only exact devices; a fast kernel may call an exact kernel, and inlines no exact device.

An entry kernel states its signature, so that `thud.warmup()` can compile it without running it and a test can assert
that it has one specialisation:

    @kernel("i8, i8, f8[:,::1], f8[::1]")
    def distance_rows(start, stop, points_in, distance_out): ...

An inner kernel is called by other kernels. It states its signature too, `@kernel(inner="...")`, is compiled once, and stands
in an object of its own to which its callers refer (`pipeline.py`). A bare `@kernel` is a small function that is linked into
its callers, not inlined. A device is inlined; a large one states its signature, `@device(inner="...")`, so that warming up
compiles it by itself first.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import numba
from numba import types
from numba.core import event, sigutils, typing
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import CPUDispatcher

from thud._core import kernel_cache, kernel_key, notice, target
from thud._core.pipeline import COMPILERS, DEVICE, ENTRY, INNER

#: Numba's settings; untyped, since they are made from the environment.
_config: Any = numba.config

FAST_MATH = {"nsz", "arcp", "contract", "afn", "reassoc"}

#: Said, not left out: a function that says nothing is compiled with the options of whatever kernel first calls it.
EXACT_MATH = False

#: Kernels with a stated signature by qualified name, in order of definition: (dispatcher, signature text).
REGISTRY: dict[str, tuple[Any, str]] = {}

#: Named tuples of arrays that signatures may name beside Numba's own types (i8, f8[:,::1], ...), and where their types are.
_TUPLES = {
    "parts": "thud.shapes.packed_type:PARTS",
    "packed": "thud.shapes.packed_type:PACKED",
    "surface": "thud.terrain.surface_type:SURFACE",
    "tile_arrays": "thud.terrain.tiles.tile_type:TILE_ARRAYS",
    "query_object": "thud.terrain.collision.query_types:QUERY_OBJECT",
    "part_query": "thud.terrain.collision.query_types:PART_QUERY",
    "work_space": "thud.terrain.collision.query_types:WORK_SPACE",
    "pair_batch": "thud.pairing.row_types:PAIR_BATCH",
    "distance_fields": "thud.pairing.row_types:DISTANCE_FIELDS",
    "impact_fields": "thud.pairing.row_types:IMPACT_FIELDS",
    "hull_slots": "thud.convex.rows.work_types:HULL_SLOTS",
    "epa_space": "thud.convex.rows.work_types:EPA_SPACE",
    "manifold_space": "thud.convex.rows.work_types:MANIFOLD_SPACE",
    "contact_fields": "thud.convex.rows.work_types:CONTACT_FIELDS",
    "wide_tree": "thud.bvh.wide_type:WIDE_TREE",
    "mesh_edges": "thud.bvh.mesh_edges_type:MESH_EDGES",
    "height_grid": "thud.bvh.height_type:HEIGHT_GRID",
    "box_tree": "thud.mesh.tree_types:BOX_TREE",
    "obb_tree": "thud.mesh.tree_types:OBB_TREE",
    "manifold_rows": "thud.mesh.manifolds.row_types:MANIFOLD_ROWS",
    "mesh_side": "thud.mesh.manifolds.row_types:MESH_SIDE",
    "pair_space": "thud.mesh.manifolds.row_types:PAIR_SPACE",
    "facet_space": "thud.mesh.manifolds.row_types:FACET_SPACE",
    "turning_tree": "thud.mesh.tree_types:TURNING_TREE",
    "walk_space": "thud.mesh.tree_types:WALK_SPACE",
    "tree_fronts": "thud.mesh.tree_types:TREE_FRONTS",
    "front_space": "thud.mesh.tree_types:FRONT_SPACE",
    "part_tree": "thud.mesh.tree_types:PART_TREE",
    "overlap_pair": "thud.mesh.tree_types:OVERLAP_PAIR",
    "search_space": "thud.mesh.tree_types:SEARCH_SPACE",
    "patch_mesh": "thud.mesh.tree_types:PATCH_MESH",
    "patch_space": "thud.mesh.tree_types:PATCH_SPACE",
    "field_object": "thud.heightfield.object_types:FIELD_OBJECT",
    "field_space": "thud.heightfield.object_types:FIELD_SPACE",
    "pair_scene": "thud.world.record_types:PAIR_SCENE",
    "pair_records": "thud.world.record_types:PAIR_RECORDS",
    "contact_columns": "thud.world.record_types:CONTACT_COLUMNS",
    "reaches": "thud.world.record_types:REACHES",
    "point_list": "thud.world.record_types:POINT_LIST",
    "pair_touches": "thud.world.record_types:PAIR_TOUCHES",
    "crowd_bodies": "thud.world.batch.crowd_numba:CROWD_BODIES",
    "crowd_joints": "thud.world.batch.crowd_numba:CROWD_JOINTS",
    "crowd_plan": "thud.world.batch.crowd_numba:CROWD_PLAN",
    "crowd_after": "thud.world.batch.crowd_numba:CROWD_AFTER",
    "plane_trees": "thud.world.plane_types:PLANE_TREES",
    "rigid_state": "thud.dynamics.state_type:RIGID_STATE",
    "solver_bodies": "thud.dynamics.state_type:SOLVER_BODIES",
    "contact_groups": "thud.dynamics.state_type:CONTACT_GROUPS",
    "contact_list": "thud.dynamics.state_type:CONTACT_LIST",
    "point_columns": "thud.dynamics.state_type:POINT_COLUMNS",
    "joint_rows": "thud.dynamics.state_type:JOINT_ROWS",
    "obstacles": "thud.dynamics.characters.tuple_types:OBSTACLES",
    "movers": "thud.dynamics.characters.tuple_types:MOVERS",
    "moved": "thud.dynamics.characters.tuple_types:MOVED",
    "stick_points": "thud.dynamics.sticks.tuple_types:STICK_POINTS",
    "stick_net": "thud.dynamics.sticks.tuple_types:STICK_NET",
    "stick_room": "thud.dynamics.sticks.tuple_types:STICK_ROOM",
    "stick_tree": "thud.dynamics.sticks.tuple_types:STICK_TREE",
    "stick_desk": "thud.dynamics.sticks.tuple_types:STICK_DESK",
    "stick_triangles": "thud.dynamics.sticks.tuple_types:STICK_TRIANGLES",
    "elements": "thud.particles.colliders.element_type:ELEMENTS",
    "path_field": "thud.particles.crossings.path_field:PATH_FIELD",
    "flights": "thud.particles.flight.flight_type:FLIGHTS",
}

target.pin()
notice.register()


def resolve_signature(text: str) -> tuple[Any, ...]:
    """Numba types of a signature text."""
    namespace: dict[str, Any] = {
        key: getattr(types, key) for key in ("i1", "i2", "i4", "i8", "u1", "u4", "u8", "f4", "f8", "b1", "Tuple", "UniTuple")
    }
    namespace["vec3"] = types.UniTuple(types.f8, 3)
    namespace["mat3"] = types.UniTuple(types.f8, 9)
    for name, where in _TUPLES.items():
        if name in text:
            module, _, attribute = where.partition(":")
            namespace[name] = getattr(importlib.import_module(module), attribute)
    return tuple(eval(f"({text},)", {"__builtins__": {}}, namespace))


class _Dispatcher(CPUDispatcher):
    """Numba's, with a shorter way to what is there already, and no garbage collection while it compiles.

    A compilation makes millions of small objects and frees most of them by counting; the collector would look through all of
    the process's objects again and again.

    A function that states its signature has no other: a kernel that calls it with the constant 3 gets that for `i8`, not a
    specialisation of its own.
    """

    #: Text of the only signature, or None.
    stated: str | None = None

    def get_call_template(self, args: Any, kws: Any) -> Any:
        """What a calling kernel is typed with."""
        if self.stated is None:
            return super().get_call_template(args, kws)
        signature, arguments = self._compiler.fold_argument_types(args, kws)
        self.compile(resolve_signature(self.stated))
        name = self.py_func.__name__
        template = typing.make_concrete_template(f"CallTemplate({name})", key=name, signatures=self.nopython_signatures)
        return template, signature, tuple(types.unliteral(argument) for argument in arguments), {}

    def compile(self, sig: Any) -> Any:
        """Load or compile the function for argument types."""
        with global_compiler_lock, _collector_paused():
            arguments, return_type = sigutils.normalize_signature(sig)
            existing = self.overloads.get(tuple(arguments))
            if existing is not None:
                return existing.entry_point
            result = self._cache.load_overload(sig, self.targetctx)
            if result is not None:
                self._cache_hits[sig] += 1
                self.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
                self.add_overload(result)
                return result.entry_point
            self._cache_misses[sig] += 1
            details = {"dispatcher": self, "args": arguments, "return_type": return_type}
            with event.trigger_event("numba:compile", data=details):
                result = self._compiler.compile(arguments, return_type)
                self.add_overload(result)
            self._cache.save_overload(sig, result)
            return result.entry_point


@contextlib.contextmanager
def _collector_paused() -> Iterator[None]:
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


class _CalledFromKernels(_Dispatcher):
    """A device or inner kernel: no wrapper for Python is made of it. Called from Python it is compiled as an entry."""

    def __call__(self, *arguments: Any) -> Any:
        entry = self.__dict__.get("_entry")
        if entry is None:
            options = {name: value for name, value in self.targetoptions.items() if name not in ("forceinline", "_nrt")}
            entry = self.__dict__["_entry"] = _dispatcher(_Dispatcher, self.py_func, ENTRY, options)
        return entry(*arguments)


def _dispatcher(kind_of_dispatcher: type[Any], function: FunctionType, kind: str, options: dict[str, Any]) -> Any:
    dispatcher = kind_of_dispatcher(py_func=function, targetoptions=options, pipeline_class=COMPILERS[kind])
    dispatcher._cache = kernel_cache.KernelCache(function, kind)
    return dispatcher


def _compile_later(function: FunctionType, kind: str, signature: str | None, **options: Any) -> Any:
    if _config.DISABLE_JIT:
        return function
    options = {"nopython": True, "boundscheck": None, "nogil": True, "error_model": "numpy", **options}
    if kind != ENTRY:
        # What is called from kernels counts no references, so that it inlines to plain arithmetic.
        options.setdefault("_nrt", False)
    name = f"{function.__module__}.{function.__qualname__}"
    kernel_key.note_options(function, options)
    dispatcher = _dispatcher(_Dispatcher if kind == ENTRY else _CalledFromKernels, function, kind, options)
    kernel_cache.DISPATCHERS[name] = dispatcher
    if signature is not None:
        dispatcher.stated = signature
        REGISTRY[name] = (dispatcher, signature)
    return dispatcher


def _decorator(argument: Any, inner: str | None, **options: Any) -> Any:
    """Serve `@kernel`, `@kernel("signature")` and `@kernel(inner="signature")`."""
    if callable(argument):
        return _compile_later(argument, DEVICE, None, **options)
    if inner is not None:
        return lambda function: _compile_later(function, INNER, inner, **options)
    return lambda function: _compile_later(function, ENTRY, argument, **options)


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
        return lambda function: _compile_later(function, DEVICE, inner, fastmath=FAST_MATH, forceinline=True)
    return _compile_later(function, DEVICE, None, fastmath=FAST_MATH, forceinline=True)


def view_device(function: Any) -> Any:
    """Compile a helper of entry kernels that returns views of arrays, whose references must be counted."""
    return _compile_later(function, DEVICE, None, fastmath=FAST_MATH, forceinline=True, _nrt=True)


def exact_device(function: Any) -> Any:
    """Compile a helper that is inlined into exact kernels, with no fast-math."""
    return _compile_later(function, DEVICE, None, fastmath=EXACT_MATH, forceinline=True)
