"""A system of particles: initial conditions that say everything, and what follows from them at any time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, finite_array, float_array
from thud.errors import InvalidInputError
from thud.gates import as_points, kind_of
from thud.particles.colliders.collider_set import ColliderSet, as_set
from thud.particles.tolerances import LARGEST, MOST_GENERATIONS, MOST_RATE
from thud.results import ParticleImpacts, ParticleStates

if TYPE_CHECKING:
    from thud.particles.flight.checkpoints import Checkpoint

#: Most particles: the hash counts them with 32 bits.
MOST_PARTICLES = 2**32 - 1


def as_system(value: Any) -> ParticleSystem:
    """The gate of particle systems."""
    if not isinstance(value, ParticleSystem):
        raise InvalidInputError(f"system: expected a ParticleSystem, got {kind_of(value)}")
    return value


class ParticleSystem:
    """Particles in closed form: x0 + v0 t (+ a t^2 / 2), or with linear drag, reborn when their life ends.

    Everything is fixed when it is made; queries at any time, in any order, have the same answers. Asked in the order of time
    each costs what happens in it alone: a system keeps where its flights were at the ends of the last queries.

    Parameters
    ----------
    position : (N, 3) or (3,) start, metres
    velocity : (N, 3) or (3,) m/s
    acceleration : (N, 3) or (3,) m/s^2; None: first order
    lifetime : (N,) or a number, seconds, or inf: a generation lives so long and is then followed by the next one
    birth : (N,) or a number, seconds: when the first generation is born
    generations : how many each particle has; None: without end
    response : "remove" at the first impact, or "bounce"
    bounces : how often a particle bounces in a generation; the impact after that takes away all of its speed along the normal
    rest : what particles do that no longer bounce: "slide" along what they lie on, as acceleration and friction have it (and
        without acceleration rest), or "stop" there until their life ends
    seed : of the spreads
    position_spread, velocity_spread : a number or (3,): each generation starts within +- this of `position` and
        `velocity`, by a hash of seed, particle and generation
    mass : (N,) or a number, kg, of which impacts have energy and momentum; None: not stated, they are NaN
    drag : (N,) or a number, kg/s, at least 0: the air pulls with drag (wind - velocity), newtons; needs a `mass`. A small ball
        in still air has 6 pi viscosity radius (Stokes; 3.4e-4 kg/s per metre in air). Flights are then x + v t + a psi(t), see
        docs/particles.md
    wind : (N, 3) or (3,) m/s: velocity of the air; of no effect without drag
    size : (N,) or a number, metres: a particle's own radius. A column of impacts, which sound reads; paths are those of
        centres, and impacts happen where the centre meets the collider
    """

    def __init__(
        self,
        position: npt.ArrayLike,
        velocity: npt.ArrayLike,
        acceleration: npt.ArrayLike | None = None,
        lifetime: npt.ArrayLike = np.inf,
        birth: npt.ArrayLike = 0.0,
        response: Literal["remove", "bounce"] = "remove",
        bounces: int = 3,
        seed: int = 0,
        position_spread: npt.ArrayLike = 0.0,
        velocity_spread: npt.ArrayLike = 0.0,
        *,
        generations: int | None = None,
        rest: Literal["slide", "stop"] = "slide",
        mass: npt.ArrayLike | None = None,
        drag: npt.ArrayLike = 0.0,
        wind: npt.ArrayLike = (0.0, 0.0, 0.0),
        size: npt.ArrayLike = 0.0,
    ) -> None:
        self._position, self._velocity = (
            as_points(position, "position", least=1, limit=LARGEST),
            as_points(velocity, "velocity", limit=LARGEST),
        )
        self._acceleration = as_points((0.0, 0.0, 0.0) if acceleration is None else acceleration, "acceleration", limit=LARGEST)
        self._lifetime, self._birth = _times(lifetime, "lifetime"), _times(birth, "birth")
        self._mass = np.array([np.nan]) if mass is None else _each(mass, "mass", least=1.0 / LARGEST)
        self._drag, self._size = _each(drag, "drag", least=0.0), _each(size, "size", least=0.0)
        self._wind = as_points(wind, "wind", limit=LARGEST)
        given = {
            "position": self._position, "velocity": self._velocity, "acceleration": self._acceleration,
            "lifetime": self._lifetime, "birth": self._birth, "mass": self._mass,
            "drag": self._drag, "wind": self._wind, "size": self._size,
        }  # fmt: skip
        counts = {len(a) for a in given.values()} - {1}
        if len(counts) > 1:
            raise InvalidInputError(
                f"{', '.join(given)}: expected equal numbers of rows or one, got {[len(a) for a in given.values()]}"
            )
        self.count = counts.pop() if counts else 1
        if self.count > MOST_PARTICLES:
            raise InvalidInputError(f"position: expected at most {MOST_PARTICLES} rows, got {self.count}")
        if not (self._lifetime > 0.0).all():
            row = int(np.argmin(self._lifetime > 0.0))
            raise InvalidInputError(f"lifetime: row {row} is {self._lifetime[row]}; expected more than 0")
        if response not in ("remove", "bounce"):
            raise InvalidInputError(f'response: expected "remove" or "bounce", got {response!r}')
        self._rate, self._pull = self._motion()
        self._drags = bool(self._rate.any())
        """Whether any particle has drag."""
        most = _whole(bounces, "bounces", 0)
        self._bounces = -1 if response == "remove" else most
        self._generations = 2**62 if generations is None else _whole(generations, "generations", 1)
        self._key = np.uint64(_whole(seed, "seed", 0, 2**64 - 1))
        self._spreads = np.zeros((3, 3))
        for row, (name, value) in enumerate((("position_spread", position_spread), ("velocity_spread", velocity_spread))):
            array = finite_array(value, name, limit=LARGEST)
            if array.shape not in ((), (3,)) or (array < 0.0).any():
                raise InvalidInputError(f"{name}: expected a number or (3,), none below 0, got {value!r}")
            self._spreads[row] = array
        self._spreads[2, 0] = float((self._spreads[:2] > 0.0).any())
        if rest not in ("slide", "stop"):
            raise InvalidInputError(f'rest: expected "slide" or "stop", got {rest!r}')
        self._slides = int(rest == "slide")
        if self._bounces >= 0:
            # What later queries go on from must not change under it.
            self._position, self._velocity = self._position.copy(), self._velocity.copy()
            self._acceleration = self._acceleration.copy()
            if not self._drags:
                self._pull = self._acceleration
        self._ready: tuple[tuple[Any, ...], ColliderSet] | None = None
        self._checkpoints: tuple[Checkpoint, ...] = ()

    def _motion(self) -> tuple[Floats, Floats]:
        """(1 or N,) rate of drag, 1/s, and (1 or N, 3) acceleration, m/s^2, with what the wind adds to it."""
        if not self._drag.any():
            return np.zeros(1), self._acceleration
        if np.isnan(self._mass).any():
            raise InvalidInputError("mass: needed with drag, kg: particles slow down by drag / mass")
        rate = self._drag / self._mass
        fast = rate > MOST_RATE
        if fast.any():
            row = int(np.argmax(fast))
            raise InvalidInputError(
                f"drag: row {row} takes on the wind's velocity within {1.0 / rate[row]:g} s (mass / drag); expected at least "
                f"{1.0 / MOST_RATE:g} s: give such particles the wind's velocity and no drag"
            )
        pull = np.ascontiguousarray(self._acceleration + rate[:, None] * self._wind)
        return rate, pull

    def __repr__(self) -> str:
        return f"ParticleSystem({self.count} particles)"

    def __len__(self) -> int:
        return self.count

    def colliders(self, colliders: Any) -> ColliderSet:
        """The colliders made ready; those of the last query are kept."""
        if isinstance(colliders, ColliderSet):
            return colliders
        key = tuple(colliders) if isinstance(colliders, (list, tuple)) else (colliders,)
        kept = self._ready
        if kept is None or len(kept[0]) != len(key) or any(a is not b for a, b in zip(kept[0], key)):
            kept = self._ready = (key, as_set(list(key)))
        return kept[1]

    def impacts(self, colliders: Any, t0: float, t1: float, *, threads: int | None = None) -> ParticleImpacts:
        """Every impact at a time in [t0, t1), in time order.

        Any partition of an interval gives the same impacts, none lost and none doubled.

        Parameters
        ----------
        colliders : a list of colliders (shapes, meshes and displaced surfaces among them), or a `ColliderSet`
        t0, t1 : seconds
        threads : at most so many; None: all cores
        """
        from thud.particles.flight.flights import gather_events

        begin, end = _time(t0, "t0"), _time(t1, "t1")
        if end < begin:
            raise InvalidInputError(f"t1: expected at least t0 = {begin}, got {end}")
        self._check_generations(begin, end)
        return gather_events(self, self.colliders(colliders), begin, end, threads)

    def _check_generations(self, *times: float) -> None:
        """Refuse times until which a particle has had more generations than floats tell apart."""
        for t in times:
            with np.errstate(over="ignore"):
                lived = (t - self._birth) / self._lifetime
            many = (lived > MOST_GENERATIONS) & (self._generations > MOST_GENERATIONS)
            # Or they follow each other within the last bit of the time.
            short = self._lifetime < np.spacing(np.maximum(np.abs(self._birth), abs(t)))
            wrong = many | (short & (lived >= 0.0) & (lived <= MOST_GENERATIONS))
            if wrong.any():
                row = int(np.argmax(wrong))
                lifetime = self._lifetime[row if len(self._lifetime) > 1 else 0]
                raise InvalidInputError(
                    f"lifetime: row {row} is {lifetime:g} s; at {t:g} s floats do not tell its generations apart, of which "
                    "there may be 2**53: let particles live longer, be born later, or give `generations`"
                )

    def states(self, t: float, colliders: Any = (), *, threads: int | None = None) -> ParticleStates:
        """All particles at time t (seconds), with their impacts on the colliders up to then.

        Parameters are those of `impacts`.
        """
        from thud.particles.flight.flights import states_at

        at = _time(t, "t")
        self._check_generations(at)
        position, velocity, state, age = states_at(self, self.colliders(colliders), at, threads)
        return ParticleStates(position, velocity, state[:, 0].astype(np.uint8), state[:, 1].copy(), age, state[:, 2].copy())


def _each(value: npt.ArrayLike, name: str, *, least: float) -> Floats:
    """(1,) or (N,) numbers from `least` on; a copy."""
    array = np.array(finite_array(value, name, limit=LARGEST), ndmin=1)
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(f"{name}: expected a number or (N,), got shape {np.shape(value)}")
    if (array < least).any():
        row = int(np.argmax(array < least))
        raise InvalidInputError(f"{name}: row {row} is {array[row]:g}; expected at least {least:g}")
    return array


def _times(value: npt.ArrayLike, name: str) -> Floats:
    array = np.array(float_array(value, name), ndmin=1)
    if array.ndim != 1 or len(array) == 0:
        raise InvalidInputError(f"{name}: expected a number or (N,), got shape {np.shape(value)}")
    bad = np.isnan(array) | (np.isinf(array) & (name != "lifetime"))
    if bad.any():
        row = int(np.argmax(bad))
        raise InvalidInputError(f"{name}: row {row} is {array[row]}; expected finite seconds")
    far = (np.abs(array) > LARGEST) & np.isfinite(array)
    if far.any():
        row = int(np.argmax(far))
        raise InvalidInputError(f"{name}: row {row} is beyond the limit ({array[row]:g} s); expected at most {LARGEST:g}")
    return array


def _time(value: float, name: str) -> float:
    array = finite_array(value, name, limit=LARGEST)
    if array.ndim != 0:
        raise InvalidInputError(f"{name}: expected a number of seconds, got shape {array.shape}")
    return float(array)


def _whole(value: int, name: str, least: int, most: int = 2**62) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not least <= int(value) <= most:
        raise InvalidInputError(f"{name}: expected a whole number of at least {least}, got {value!r}")
    return int(value)
