"""The paper's way to impacts and impact maps: a vertex program on OpenGL, points in a frame buffer. 2.3, 3.2 to 3.5.

A vertex is a generation of a particle, a run of the vertex program one flight of each (`shaders/flight.vert`): its start by the
hash, the earliest crossing with any plane or quadric, the response. Transform feedback hands what it says to the next run, a
stream in and a stream out (2.3.3), until nobody flies. After each run the impacts are drawn as points (`shaders/points.vert`)
into a frame buffer that holds all maps: "last" by a depth test on the time, "add" by blending.

Everything is in doubles, so that the two backends agree to roundoff. OpenGL 4.3 by EGL, no display; any thread may call, the
context lives on one of our own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud._core.gl import GlStage, GlThread
from thud._core.gl_buffers import Belongings, bind_tables, first_number
from thud._core.gl_programs import set_uniforms, shader_source
from thud.errors import InvalidInputError, UnsupportedQueryError
from thud.particles.colliders import element, element_arrays
from thud.particles.colliders.collider_set import ColliderSet
from thud.particles.crossings.tolerances import ROOT_NEAR, SINGULAR_NEAR, SINGULAR_PASS
from thud.particles.maps import element_charts
from thud.particles.maps.parameters import DEFAULT_EXTENT, map_charts
from thud.particles.maps.tolerances import TILE_MARGIN
from thud.particles.tolerances import RESTING_SPEED, START_ROUNDOFF
from thud.results import ParticleImpacts

if TYPE_CHECKING:
    from thud.particles.flight.system import ParticleSystem
    from thud.particles.maps.impact_maps import MapPlan

_Answer = TypeVar("_Answer")

#: Storage buffers that the vertex program reads and writes (a count).
STORAGE_BLOCKS = 13

#: Rows of a run of the vertex program (a count): two buffers of 168 bytes a row take 44 MB.
GL_CHUNK = 2**17

#: Channels of textures that the second colour attachment holds (a count).
GL_TEXTURE_DEPTH = 4

#: What transform feedback writes for a row, as `State` in the shaders.
STATE = np.dtype([
    ("place", "f8", 3), ("velocity", "f8", 3), ("came", "f8", 3), ("normal", "f8", 3), ("arrival", "f8", 3),
    ("age", "f8"), ("time", "f8"), ("uv", "f8", 2), ("element", "i4"), ("bounce", "i4"), ("on", "i4"), ("event", "i4"),
])  # fmt: skip


def _source(name: str) -> str:
    """A shader, with the columns and constants it shares with Python."""
    names: dict[str, int | float | str] = {
        "ELEMENT_INTS": element_arrays.INTS,
        "ELEMENT_REALS": element_arrays.WIDTH,
        "START_ROUNDOFF": START_ROUNDOFF,
        "RESTING_SPEED": RESTING_SPEED,
        "TILE_MARGIN": TILE_MARGIN,
        "ROOT_NEAR": ROOT_NEAR,
        "SINGULAR_NEAR": SINGULAR_NEAR,
        "SINGULAR_PASS": SINGULAR_PASS,
    }
    columns = (
        "KIND",
        "COLLIDER",
        "LOOP",
        "LOOP_END",
        "CLIP",
        "CLIP_END",
        "ORIGIN",
        "NORMAL",
        "DU",
        "DV",
        "SLACK",
        "FLAT_SLACK",
        "SINGULAR",
        "LINE",
    )
    names |= {key: getattr(element_arrays, key) for key in (*columns, "A", "G", "J")}
    names |= {key: getattr(element, key) for key in ("RECTANGLE", "DISC", "POLYGON", "QUADRIC", "TWO_PLANES", "DOUBLE_PLANE")}
    names |= {key: value for key, value in vars(element_charts).items() if key.startswith("CHART_")}
    names |= {"AROUND": element_charts.AROUND, "SHEETS": element_charts.SHEETS}
    return shader_source(Path(__file__).parent / "shaders" / name, names)


class _Stage(GlStage):
    """The OpenGL context and its programs."""

    def __init__(self) -> None:
        super().__init__()
        blocks = self.context.info.get("GL_MAX_VERTEX_SHADER_STORAGE_BLOCKS", 0)
        if blocks < STORAGE_BLOCKS:
            self.context.release()
            raise UnsupportedQueryError(
                f'backend: "gl" needs {STORAGE_BLOCKS} storage buffers in a vertex program, of which this driver has {blocks}; '
                'backend="numba" needs none, and a software driver (Mesa llvmpipe: LIBGL_ALWAYS_SOFTWARE=1) has enough'
            )
        self.programs: dict[str, Any] = {}

    def program(self, name: str, **options: Any) -> Any:
        """A program, compiled once."""
        if name not in self.programs:
            sources = {"vertex_shader": _source(f"{name}.vert")}
            if name == "points":
                sources["fragment_shader"] = _source(f"{name}.frag")
            self.programs[name] = self.context.program(**sources, **options)
        return self.programs[name]


_thread = GlThread("thud-gl", "numba", _Stage)


def _on_stage(function: Callable[[_Stage, Belongings], _Answer]) -> _Answer:
    """Call a function with the stage, on its thread; what it makes there is released after."""

    def call() -> _Answer:
        stage = _thread.stage()
        with Belongings(stage, "colliders, textures", "numba") as made:
            return function(stage, made)

    return _thread.run(call)


class _Flights:
    """The vertex program with its tables on the graphics card."""

    def __init__(self, stage: _Stage, made: Belongings, system: ParticleSystem, colliders: ColliderSet, extent: float) -> None:
        self.stage, self.context, self.made, self.system = stage, stage.context, made, system
        arrays, context = colliders.elements, stage.context
        self.program = stage.program("flight", varyings=["place", "velocity", "came", "normal", "arrival", "clock", "marks"])
        self.tables = {
            4: made.table(arrays.ints.astype(np.int32)),
            5: made.table(arrays.reals),
            6: made.table(arrays.boxes),
            7: made.table(arrays.sides),
            8: made.table(arrays.clips),
            9: made.table(colliders.materials),
            10: made.table(map_charts(colliders, extent).rows),
        }
        self.collider, self.part = arrays.ints[:, element_arrays.COLLIDER], arrays.ints[:, element_arrays.PART]
        seed = int(system._key)
        set_uniforms(
            self.program,
            element_count=len(arrays.ints),
            bounces=min(system._bounces, 2**31 - 2),
            spread_given=int(system._spreads[2, 0]),
            seed=(seed & 0xFFFFFFFF, seed >> 32),
        )
        # A vertex knows its number alone.
        self.array = made.keep(context.vertex_array(self.program, []))
        self.alive = made.table(np.zeros(4, np.uint32))
        # Without a display there is no frame buffer to begin with, and nothing runs without one.
        self.nowhere = made.keep(context.framebuffer([made.keep(context.renderbuffer((1, 1)))]))

    def runs(self, t0: float, t1: float) -> Iterator[tuple[Ints, Ints, int, Any]]:
        """One run after the other: particle and generation of its rows, how many, and the buffer of `STATE`."""
        from thud.particles.flight.generations import living_generations

        system = self.system
        first, count = living_generations(system, t0, t1, None)
        ends = np.cumsum(count)
        total = int(ends[-1])
        size = min(GL_CHUNK, max(total, 1))
        states = [self.made.room(size * STATE.itemsize) for _ in range(2)]
        ids, clocks, starts = (self.made.room(size * width) for width in (16, 16, 72))
        for begin in range(0, total, size):
            row = np.arange(begin, min(begin + size, total))
            particle = np.searchsorted(ends, row, side="right")
            generation = first[particle] + row - (ends[particle] - count[particle])
            birth, life = (_each(values, particle) for values in (system._birth, system._lifetime))
            with np.errstate(invalid="ignore"):
                born = np.where(generation == 0, birth, birth + generation * life)
            word = np.zeros((len(row), 4), np.uint32)
            word[:, 0], word[:, 1], word[:, 2] = particle, generation & 0xFFFFFFFF, generation >> 32
            ids.write(word.tobytes())
            clocks.write(np.column_stack([born, life]).tobytes())
            # Where all particles share a value, so do all rows.
            given = (system._position, system._velocity, system._acceleration)
            values = [a[particle] if len(a) > 1 else a for a in given]
            starts.write(np.concatenate([a.ravel() for a in values]).tobytes())
            set_uniforms(
                self.program,
                starts_at=(0, values[0].size, values[0].size + values[1].size),
                starts_step=tuple(3 if len(a) > 1 else 0 for a in given),
            )
            turn = 0
            while True:
                set_uniforms(self.program, first_round=int(turn == 0))
                bind_tables(self.tables | {0: ids, 1: clocks, 2: starts, 11: states[1 - turn % 2], 12: self.alive})
                self.alive.write(bytes(16))
                self.nowhere.use()
                self.array.transform(states[turn % 2], mode=self.context.POINTS, vertices=len(row))
                yield particle, generation, len(row), states[turn % 2]
                self.context.memory_barrier()
                if first_number(self.alive) == 0:
                    break
                turn += 1


def _each(values: Floats, particle: Ints) -> Floats:
    return values[particle] if len(values) > 1 else np.broadcast_to(values, len(particle))


def _check(system: ParticleSystem, colliders: ColliderSet) -> None:
    if system._drags:
        raise UnsupportedQueryError('system: backend="gl" has no drag; use backend="numba"')
    if system._bounces >= 0 and system._slides and system._acceleration.any():
        raise UnsupportedQueryError(
            'system: backend="gl" lets no particles slide; make the system with rest="stop", or use backend="numba"'
        )
    for place, collider in colliders.others:
        raise UnsupportedQueryError(
            f"colliders: row {place} is a {type(collider).__name__}, which is not made of planes and quadrics; "
            'backend="numba" has it'
        )


def _settings(t0: float, t1: float, spreads: Floats, speeds: tuple[float, float] | None, box: Floats | None) -> Floats:
    """What both vertex programs read: t0, t1, spreads (6), speeds (2), box (6)."""
    rest = [*(speeds or (0.0, 1.0)), *(np.zeros(6) if box is None else box)]
    return np.array([t0, t1, *spreads[:2].ravel(), *rest])


def impacts_gl(system: ParticleSystem, colliders: Any, t0: float, t1: float) -> ParticleImpacts:
    """`ParticleSystem.impacts` by the vertex program and transform feedback: the same to roundoff.

    Parameters are those of `impacts`; colliders are made of planes and quadrics.
    """
    from thud.particles.flight.event_order import in_time_order
    from thud.particles.flight.response import EVENT_INTS, EVENT_REALS, NORMAL, POINT, SPEED, TIME, VELOCITY
    from thud.particles.flight.system import _time as as_time

    begin, end = as_time(t0, "t0"), as_time(t1, "t1")
    system._check_generations(begin, end)
    ready = system.colliders(colliders)
    _check(system, ready)

    def gather(stage: _Stage, made: Belongings) -> list[tuple[Ints, Floats]]:
        parts = []
        flights = _Flights(stage, made, system, ready, DEFAULT_EXTENT)
        flights.tables[3] = flights.made.table(_settings(begin, end, system._spreads, None, None))
        for particle, generation, rows, states in flights.runs(begin, end):
            state = np.frombuffer(states.read(rows * STATE.itemsize), STATE)
            seen = np.flatnonzero(state["event"])
            s = state[seen]
            ints, reals = np.ones((len(s), EVENT_INTS), np.int64), np.empty((len(s), EVENT_REALS))
            place = flights.collider[s["element"]], flights.part[s["element"]]
            ints[:, :5] = np.column_stack([particle[seen], generation[seen], *place, s["bounce"]])
            reals[:, TIME], reals[:, SPEED] = s["time"], np.linalg.norm(s["arrival"], axis=1)
            for at, name in ((POINT, "place"), (NORMAL, "normal"), (VELOCITY, "arrival")):
                reals[:, at : at + 3] = s[name]
            parts.append((ints, reals))
        return parts

    parts = _on_stage(gather)
    ints = np.concatenate([part[0] for part in parts] or [np.empty((0, EVENT_INTS), np.int64)])
    reals = np.concatenate([part[1] for part in parts] or [np.empty((0, EVENT_REALS))])
    return in_time_order(ints, reals, system._mass, system._size, None)


def draw_map(system: ParticleSystem, colliders: ColliderSet, plan: MapPlan) -> tuple[MapPlan, npt.NDArray[Any]]:
    """The data of an impact map; see `impact_maps.impact_map`."""
    from thud.particles.maps.impact_maps import with_speed_range

    system._check_generations(plan.t0, plan.t1)
    _check(system, colliders)
    if plan.depth > GL_TEXTURE_DEPTH:
        raise UnsupportedQueryError(
            f'textures: backend="gl" reads up to {GL_TEXTURE_DEPTH} channels, got {plan.depth}; backend="numba" has any'
        )

    def draw(stage: _Stage, made: Belongings) -> tuple[MapPlan, npt.NDArray[Any]]:
        flights = _Flights(stage, made, system, colliders, plan.extent)
        ranged = plan
        if plan.encoding == "uint8" and plan.speed_range is None:
            # Bytes need the fastest first: all impacts once more.
            flights.tables[3] = flights.made.table(_settings(plan.t0, plan.t1, system._spreads, None, None))
            top = 0.0
            for _particle, _generation, rows, states in flights.runs(plan.t0, plan.t1):
                state = np.frombuffer(states.read(rows * STATE.itemsize), STATE)
                arrival = state["arrival"][state["event"] != 0]
                top = max(top, float(np.linalg.norm(arrival, axis=1).max(initial=0.0)))
            ranged = with_speed_range(plan, np.array([top]))
        flights.tables[3] = flights.made.table(_settings(plan.t0, plan.t1, system._spreads, ranged.speed_range, plan.box))
        return ranged, _Canvas(flights, ranged, system.count, len(colliders)).draw()

    return _on_stage(draw)


class _Canvas:
    """The frame buffer with all maps, or with the pixels of all particles."""

    def __init__(self, flights: _Flights, plan: MapPlan, particles: int, colliders: int) -> None:
        self.flights, self.plan, self.particles, self.colliders = flights, plan, particles, colliders
        context = flights.context
        most = flights.stage.most_pixels
        self.pixels = 1
        if plan.layout == "particle":
            self.pixels = 4 if plan.encoding == "uint8" else 1
            self.across = 1
            wide = min(most, self.pixels * particles)
            self.size = wide, -(-self.pixels * particles // wide)
        else:
            self.across = max(1, min(most // plan.p, colliders))
            self.size = plan.p * self.across, plan.q * max(1, -(-colliders // self.across))
        if max(self.size) > most:
            raise InvalidInputError(
                f"resolution: {colliders} maps of {plan.p} by {plan.q} do not fit in the driver's {most} by {most} pixels; "
                'use fewer, or backend="numba"'
            )
        self.program = flights.stage.program("points")
        set_uniforms(
            self.program,
            resolution=(plan.p, plan.q),
            atlas=self.size,
            maps_a_row=self.across,
            bytes=int(plan.encoding == "uint8"),
            by_particle=int(plan.layout == "particle"),
            texture_depth=plan.depth,
            bilinear=int(plan.filter == "bilinear"),
        )
        self.array = flights.made.keep(context.vertex_array(self.program, []))
        sizes, texels, offset = np.full((max(colliders, 1), 3), -1, np.int32), [np.zeros(1, np.float32)], 1
        for k, texture in enumerate(plan.textures):
            if texture is not None:
                sizes[k] = offset, texture.shape[0], texture.shape[1]
                texels.append(texture.astype(np.float32).ravel())
                offset += texture.size
        self.tables = {13: flights.made.table(np.concatenate(texels)), 14: flights.made.table(sizes)}

    def target(self, attachments: int, depth: bool) -> Any:
        """A frame buffer of its own, all 0."""
        context, keep = self.flights.context, self.flights.made.keep
        dtype = "f1" if self.plan.encoding == "uint8" else "f4"
        colours = [keep(context.texture(self.size, 4, dtype=dtype)) for _ in range(attachments)]
        buffer = keep(context.framebuffer(colours, keep(context.depth_renderbuffer(self.size)) if depth else None))
        buffer.clear(0.0, 0.0, 0.0, 0.0, depth=0.0)
        return buffer

    def draw(self) -> npt.NDArray[Any]:
        """All impacts, then the pixels as an array."""
        plan, flights = self.plan, self.flights
        context = flights.context
        last = plan.combine == "last"
        more = plan.depth > 0 or (plan.layout == "particle" and plan.encoding == "float")
        colours = self.target(2 if more else 1, last)
        counts = self.target(1, False) if last and plan.layout == "surface" else None
        context.point_size = 1.0
        context.blend_func = context.ONE, context.ONE
        context.depth_func = ">="
        for _particle, _generation, rows, states in flights.runs(plan.t0, plan.t1):
            bind_tables(self.tables | {11: states})
            colours.use()
            context.enable_only(context.DEPTH_TEST if last else context.BLEND)
            self.array.render(context.POINTS, vertices=rows, instances=self.pixels)
            if counts is not None:
                counts.use()
                context.enable_only(context.BLEND)
                self.array.render(context.POINTS, vertices=rows, instances=self.pixels)
        read = [self.read(colours, 0)] + ([self.read(colours, 1)] if more else [])
        if plan.layout == "particle":
            flat = [pixels.reshape(-1, 4)[: self.pixels * self.particles] for pixels in read]
            if plan.encoding == "uint8":
                return np.ascontiguousarray(flat[0].reshape(self.particles, 4, 4)[:, :, :3])
            return np.concatenate([flat[0][:, :3], flat[1][:, :3]], axis=1)[:, None, :]
        maps = np.concatenate([self.maps(read[0]), *(self.maps(pixels)[..., : plan.depth] for pixels in read[1:])], axis=-1)
        if counts is not None:
            maps[..., 3] = self.maps(self.read(counts, 0))[..., 3]
        # Where all is added, so is the id; it is known.
        maps[..., 0] = (maps[..., 3] > 0) * np.arange(1, self.colliders + 1).reshape(-1, 1, 1)
        return maps

    def read(self, buffer: Any, attachment: int) -> npt.NDArray[Any]:
        """(height, width, 4) pixels, row 0 at v = 0."""
        dtype = ("f1", np.uint8) if self.plan.encoding == "uint8" else ("f4", np.float32)
        data = buffer.read(components=4, attachment=attachment, dtype=dtype[0], alignment=1)
        return np.frombuffer(data, dtype[1]).reshape(self.size[1], self.size[0], 4)

    def maps(self, pixels: npt.NDArray[Any]) -> npt.NDArray[Any]:
        """(C, q, p, 4) maps from the frame buffer that holds them side by side."""
        p, q = self.plan.p, self.plan.q
        grid = pixels.reshape(-1, q, self.across, p, 4).transpose(0, 2, 1, 3, 4).reshape(-1, q, p, 4)
        return np.ascontiguousarray(grid[: self.colliders])
