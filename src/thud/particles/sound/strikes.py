"""From impacts to contacts: which body rings, where it is struck, how hard and how long, and when each ear hears it."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Floats, Ints
from thud.errors import InvalidInputError
from thud.gates import finite_array
from thud.particles.sound.contact import Impactor, click_factors, contact_times, impactor_columns
from thud.particles.sound.inputs import checked, factors
from thud.particles.sound.listener import Listener
from thud.particles.sound.materials import Material
from thud.particles.sound.place import Surfaces
from thud.particles.sound.radiation import SPEED_OF_SOUND
from thud.particles.sound.stretch import LATEST, Stretch, sample_places
from thud.particles.sound.tolerances import (
    SOUND_LONGEST_CONTACT,
    SOUND_SHORTEST_CLICK,
    SOUND_WARM_DECIBELS,
    SOUND_WARM_DISTANCE,
)


class Strikes:
    """The bodies of some colliders, and impacts on their way to them.

    Parameters
    ----------
    colliders : as the caller has them, for the places of impacts
    materials : of each collider; None is silent
    """

    def __init__(
        self, colliders: Any, materials: list[Material | None], stretch: Stretch, *, strength: Any, place: Any, bodies: Any,
        impactor: Any, listener: Any,
    ) -> None:  # fmt: skip
        from thud.particles.sound.resonators import Resonators

        if impactor is not None and not isinstance(impactor, Impactor):
            raise InvalidInputError(f"impactor: expected an Impactor or None, got a {type(impactor).__name__}")
        if listener is not None and not isinstance(listener, Listener):
            raise InvalidInputError(f"listener: expected a Listener or None, got a {type(listener).__name__}")
        self.impactor, self.listener = impactor or Impactor(), listener
        numbers = _as_bodies(bodies, len(materials))
        made: dict[tuple[Material, int], int] = {}
        self.body = np.full(len(materials), -1, np.int64)
        for row, material in enumerate(materials):
            if material is not None:
                # Bodies that do not differ are one: their resonances are the same, and sound adds up.
                key = (material, int(numbers[row]) if material.spread > 0.0 else 0)
                self.body[row] = made.setdefault(key, len(made))
        self.bodies = [material.body(number) for material, number in made]
        self.modulus = np.array([1.0 if material is None else material.modulus for material in materials])
        rows = list(getattr(colliders, "colliders", colliders)) if materials else []
        self.bounce = np.array([1.0 + float(getattr(row, "restitution", 0.0)) for row in rows])
        self.surfaces = Surfaces(colliders if materials else [])
        self.stretch, self.strength, self.place = stretch, strength, place
        self.resonators: Resonators = Resonators(self.bodies, stretch.rate, 1 if listener is None else 2)
        # exp(-750) is 0 in float64: earlier ones are not heard at all.
        slowest = min((float(np.min(body.dampings)) for body in self.bodies), default=1.0)
        self.earliest = stretch.t0 - min(750.0 / slowest + SOUND_LONGEST_CONTACT, LATEST)

    @property
    def warm(self) -> float:
        """Seconds after which an impact is no longer heard, in fact."""
        if not self.bodies:
            return 0.0
        travel = 0.0 if self.listener is None else SOUND_WARM_DISTANCE / SPEED_OF_SOUND
        return max(body.ring_time(SOUND_WARM_DECIBELS) for body in self.bodies) + SOUND_LONGEST_CONTACT + travel

    def hear(self, impacts: Any) -> None:
        """Take impacts, none of them heard before the resonators' next sample, to the bodies."""
        from thud.particles.sound.resonators import Clicks, Contacts

        time, collider, speed = checked(impacts, len(self.body))
        radius, mass = impactor_columns(impacts, len(time))
        factor = factors(self.strength, impacts, len(time))
        place = self._places(impacts, collider)
        speed = _along_normal(impacts, speed)
        heard = np.flatnonzero((self.body[collider] >= 0) & (time < self.stretch.t1) & (speed > 0.0))
        time, collider, speed, factor, place = time[heard], collider[heard], speed[heard], factor[heard], place[heard]
        if radius is not None:
            radius = radius[heard]
            # A larger one of the same stuff is heavier.
            mass = 4.0 / 3.0 * np.pi * radius * radius * radius * self.impactor.density if mass is None else mass[heard]
        elif mass is not None:
            mass = mass[heard]
        body, rate = self.body[collider], self.stretch.rate
        seconds = contact_times(self.impactor, speed, self.modulus[collider], radius, mass)
        length = seconds * rate
        drawn = np.maximum(length, SOUND_SHORTEST_CLICK)
        click = click_factors(self.impactor, drawn / rate, radius, mass) * 2.0 * np.pi * (rate / drawn) * (rate / drawn)
        impulse = (self.impactor.mass if mass is None else mass) * self.bounce[collider] * speed * factor
        own = self._own_places(collider, body, place)
        if self.listener is None:
            ears = [(np.zeros(len(time)), np.ones(len(time)))]
        else:
            if not hasattr(impacts, "point"):
                raise InvalidInputError(
                    f"listener: a {type(impacts).__name__} of impacts has no `point`; expected impacts with the places of hits"
                )
            ears = self.listener.ears(finite_array(impacts.point, "impacts.point")[heard])
        for channel, (late, left) in enumerate(ears):
            arrival = time + late
            rows = np.flatnonzero((arrival < self.stretch.t1) & (arrival >= self.earliest))
            sample, delay = sample_places(arrival[rows], self.stretch.t0, rate)
            found = Contacts(
                body[rows], sample, delay, length[rows], (impulse * left)[rows], own[rows], np.zeros(len(rows), np.bool_)
            )  # fmt: skip
            clicks = Clicks(sample, delay, drawn[rows], (click * impulse * left)[rows])
            self.resonators.strike(found, clicks, channel)

    def _places(self, impacts: Any, collider: Ints) -> Floats:
        """(N, 2) of impacts on their colliders, from 0 to 1."""
        if self.place is None:
            return self.surfaces.places(impacts, collider)
        given = self.place(impacts) if callable(self.place) else self.place
        array = finite_array(given, "place")
        if array.shape != (len(collider), 2) or not ((array >= 0.0) & (array <= 1.0)).all():
            raise InvalidInputError(
                f"place: expected (N, 2) numbers from 0 to 1 for {len(collider)} impacts, got shape {array.shape}"
            )
        return array

    def _own_places(self, collider: Ints, body: Ints, place: Floats) -> Floats:
        """(N, 2) own coordinates of the mode shapes."""
        own = np.zeros((len(collider), 2))
        for k in np.unique(collider):
            rows = np.flatnonzero(collider == k)
            shapes = self.bodies[body[rows[0]]].shapes
            if shapes is not None:
                a, b = shapes.own_coordinates(place[rows], self.surfaces.extent[k], bool(self.surfaces.around[k]))
                own[rows, 0], own[rows, 1] = a, b
        return own


def _along_normal(impacts: Any, speed: Floats) -> Floats:
    """Speed along the normal where impacts say it; else the speed that they have."""
    velocity, normal = getattr(impacts, "velocity", None), getattr(impacts, "normal", None)
    if velocity is None or normal is None:
        return speed
    v, n = finite_array(velocity, "impacts.velocity"), finite_array(normal, "impacts.normal")
    if v.shape != (len(speed), 3) or n.shape != v.shape:
        raise InvalidInputError(
            f"impacts: expected velocity and normal of shape ({len(speed)}, 3), got {v.shape} and {n.shape}"
        )
    return np.abs(v[:, 0] * n[:, 0] + v[:, 1] * n[:, 1] + v[:, 2] * n[:, 2])


def _as_bodies(bodies: npt.ArrayLike | None, count: int) -> Ints:
    if bodies is None:
        return np.arange(count)
    array = np.asarray(bodies)
    if array.shape != (count,) or not np.issubdtype(array.dtype, np.integer) or (array < 0).any():
        raise InvalidInputError(f"bodies: expected a whole number of at least 0 for each of {count} colliders, got {bodies!r}")
    return array.astype(np.int64)
