"""What a world keeps of each body beside its shape and pose: getters and setters for N handles, named as `add` names them.

A getter takes some handles, or None for all bodies in the order of `handles()`. A setter takes N handles and one value for all
or N.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from thud._core.arrays import Bools, Floats, Ints
from thud.broadphase.boxes import LAYER, MASK, STATIC, as_rules
from thud.gates import as_flags
from thud.shapes.mass_properties import own_moments
from thud.world.bodies import Bodies
from thud.world.body_gates import (
    GROUND,
    as_centers,
    as_frictions,
    as_inertias,
    as_masses,
    as_restitutions,
    as_velocities,
    each,
    refuse_rows,
)
from thud.world.shape_set import ShapeSet


class BodyColumns:
    """The part of `World` that is about columns of the table of bodies."""

    _bodies: Bodies
    _shapes: ShapeSet
    _rules: npt.NDArray[np.uint64] | None

    def _rows(self, handles: npt.ArrayLike | None) -> Ints:
        return self._bodies.living() if handles is None else self._bodies.rows(handles)

    def _disturb(self, rows: Ints) -> None:
        """Bodies change, or go: what sleeps on them wakes."""
        from thud.world.sleeping import wake_rows

        world: Any = self
        if self._bodies.asleep.any():
            wake_rows(world, rows)

    def _is_ground(self, rows: Ints) -> Bools:
        return self._shapes.is_ground[self._bodies.shape[rows]]

    # Who meets whom

    def static(self, handles: npt.ArrayLike | None = None) -> Bools:
        """(N,) whether bodies are static."""
        return self._bodies.rules[self._rows(handles), STATIC] != 0

    def set_static(self, handles: npt.ArrayLike, static: npt.ArrayLike) -> None:
        """Make bodies static, or let them go. Ground stays static, and no body is both static and kinematic."""
        rows = self._bodies.rows(handles)
        flags = each(as_flags(static, "static"), len(rows), "static")
        refuse_rows(self._is_ground(rows) & ~flags, "static", f"{GROUND}; expected True")
        refuse_rows(self._bodies.kinematic[rows] & flags, "static", "is kinematic; set_kinematic(handles, False) first")
        self._bodies.rules[rows, STATIC] = flags
        self._rules = None
        self._disturb(rows)

    def layer(self, handles: npt.ArrayLike | None = None) -> Ints:
        """(N,) layers, 0 to 63."""
        bits = self._bodies.rules[self._rows(handles), LAYER]
        return np.log2(bits.astype(np.float64)).astype(np.int64)

    def set_layer(self, handles: npt.ArrayLike, layer: npt.ArrayLike) -> None:
        """Put bodies on layers, 0 to 63."""
        rows = self._bodies.rows(handles)
        self._bodies.rules[rows, LAYER] = as_rules(len(rows), None, each(layer, len(rows), "layer"), None)[:, LAYER]
        self._rules = None
        self._disturb(rows)

    def mask(self, handles: npt.ArrayLike | None = None) -> Ints:
        """(N,) bits of the layers that bodies meet; -1 for all."""
        return self._bodies.rules[self._rows(handles), MASK].view(np.int64)

    def set_mask(self, handles: npt.ArrayLike, mask: npt.ArrayLike) -> None:
        """Say by bits which layers bodies meet."""
        rows = self._bodies.rows(handles)
        self._bodies.rules[rows, MASK] = as_rules(len(rows), None, None, each(mask, len(rows), "mask"))[:, MASK]
        self._rules = None
        self._disturb(rows)

    # Motion

    def sensor(self, handles: npt.ArrayLike | None = None) -> Bools:
        """(N,) whether bodies report contacts and never respond."""
        return self._bodies.sensor[self._rows(handles)]

    def set_sensor(self, handles: npt.ArrayLike, sensor: npt.ArrayLike) -> None:
        """Make bodies sensors, or ordinary ones again."""
        rows = self._bodies.rows(handles)
        self._bodies.sensor[rows] = each(as_flags(sensor, "sensor"), len(rows), "sensor")
        self._disturb(rows)

    def kinematic(self, handles: npt.ArrayLike | None = None) -> Bools:
        """(N,) whether bodies move by their velocities whatever pushes them."""
        return self._bodies.kinematic[self._rows(handles)]

    def set_kinematic(self, handles: npt.ArrayLike, kinematic: npt.ArrayLike) -> None:
        """Make bodies kinematic, or let them go. A static body is none."""
        rows = self._bodies.rows(handles)
        flags = each(as_flags(kinematic, "kinematic"), len(rows), "kinematic")
        refuse_rows(self._is_ground(rows) & flags, "kinematic", f"{GROUND}; expected False")
        static = self._bodies.rules[rows, STATIC] != 0
        refuse_rows(static & flags, "kinematic", "is static; set_static(handles, False) first")
        self._bodies.kinematic[rows] = flags
        self._disturb(rows)

    def velocities(self, handles: npt.ArrayLike | None = None) -> tuple[Floats, Floats]:
        """(N, 3) m/s and (N, 3) rad/s, world frame."""
        rows = self._rows(handles)
        return self._bodies.velocity[rows], self._bodies.angular_velocity[rows]

    def set_velocities(
        self, handles: npt.ArrayLike, velocity: npt.ArrayLike, angular_velocity: npt.ArrayLike | None = None
    ) -> None:
        """What `impacts` moves bodies by: (3,) or (N, 3) m/s, and rad/s unless None, world frame."""
        rows = self._bodies.rows(handles)
        linear = each(as_velocities(velocity, "velocity"), len(rows), "velocity", 2)
        angular = None
        if angular_velocity is not None:
            angular = each(as_velocities(angular_velocity, "angular_velocity"), len(rows), "angular_velocity", 2)
        ground = self._is_ground(rows)
        refuse_rows(ground & linear.any(axis=1), "velocity", f"{GROUND}; expected 0")
        if angular is not None:
            refuse_rows(ground & angular.any(axis=1), "angular_velocity", f"{GROUND}; expected 0")
            self._bodies.angular_velocity[rows] = angular
        self._bodies.velocity[rows] = linear

    # Mass

    def mass(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N,) kg; NaN where none was given."""
        return self._bodies.mass[self._rows(handles)]

    def set_mass(self, handles: npt.ArrayLike, mass: npt.ArrayLike | None) -> None:
        """Give bodies other masses, kg, or none at all by None.

        The moments of inertia change with them, as if the density did. A body that had no mass gets the centre and the moments
        of its shape.
        """
        rows = self._bodies.rows(handles)
        bodies = self._bodies
        self._disturb(rows)
        if mass is None:
            bodies.mass[rows] = bodies.inertia[rows] = np.nan
            return
        fresh = as_masses(mass, len(rows))
        refuse_rows(self._is_ground(rows), "mass", f"{GROUND} and has no mass; expected None")
        had = np.isfinite(bodies.mass[rows]) & np.isfinite(bodies.inertia[rows, 0, 0])
        factor = np.where(had, fresh / np.where(had, bodies.mass[rows], 1.0), 1.0)
        bodies.inertia[rows] *= factor[:, None, None]
        bodies.mass[rows] = fresh
        new = rows[~had]
        for index in np.unique(bodies.shape[new]).tolist():
            center, unit = own_moments(self._shapes.shape(index))
            own = new[bodies.shape[new] == index]
            bodies.inertia[own] = unit * bodies.mass[own, None, None]
            unknown = own[~np.isfinite(bodies.center_of_mass[own]).all(axis=1)]
            bodies.center_of_mass[unknown] = center

    def inertia(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N, 3, 3) moments of inertia about the centres of mass, body axes, kg m^2; NaN where none is known."""
        return self._bodies.inertia[self._rows(handles)]

    def set_inertia(self, handles: npt.ArrayLike, inertia: npt.ArrayLike) -> None:
        """Give bodies moments of inertia about their centres of mass, kg m^2: (N, 3, 3), or (N, 3) along the body's axes; one
        row for all has the shape (1, 3, 3) or (3,). They must have a mass."""
        rows = self._bodies.rows(handles)
        fresh = as_inertias(inertia, len(rows))
        refuse_rows(self._is_ground(rows), "inertia", f"{GROUND} and has no mass")
        refuse_rows(np.isnan(self._bodies.mass[rows]), "inertia", "has no mass; set_mass(handles, mass) first")
        self._bodies.inertia[rows] = fresh

    def center_of_mass(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N, 3) centres of mass in the bodies' frames, metres; NaN where none is known."""
        return self._bodies.center_of_mass[self._rows(handles)]

    def set_center_of_mass(self, handles: npt.ArrayLike, center_of_mass: npt.ArrayLike) -> None:
        """Move the centres of mass, (3,) or (N, 3) in the bodies' frames, metres. The moments of inertia stay: they are about
        the centre, wherever it is."""
        rows = self._bodies.rows(handles)
        fresh = as_centers(center_of_mass, len(rows))
        refuse_rows(self._is_ground(rows), "center_of_mass", f"{GROUND} and has no mass")
        self._bodies.center_of_mass[rows] = fresh
        self._disturb(rows)

    # Surfaces

    def friction(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N,) coefficients of friction."""
        return self._bodies.friction[self._rows(handles)]

    def set_friction(self, handles: npt.ArrayLike, friction: npt.ArrayLike) -> None:
        """Give bodies other coefficients of friction, 0 or more."""
        rows = self._bodies.rows(handles)
        self._bodies.friction[rows] = as_frictions(friction, len(rows))
        self._disturb(rows)

    def restitution(self, handles: npt.ArrayLike | None = None) -> Floats:
        """(N,) coefficients of restitution."""
        return self._bodies.restitution[self._rows(handles)]

    def set_restitution(self, handles: npt.ArrayLike, restitution: npt.ArrayLike) -> None:
        """Give bodies other coefficients of restitution, 0 to 1."""
        rows = self._bodies.rows(handles)
        self._bodies.restitution[rows] = as_restitutions(restitution, len(rows))
