"""Particles with mass: energy, momentum and angle of impacts."""

from __future__ import annotations

import numpy as np
import pytest

from thud.errors import InvalidInputError
from thud.particles import Impactor, ParticleSystem, Plane, Rectangle, materials, render_sound

FLOOR = Plane([0, 0, 0], [0, 0, 1])


def test_energy_momentum_and_angle_of_a_fall() -> None:
    mass = np.array([2.0, 0.5])
    system = ParticleSystem([[0, 0, 5.0], [1, 0, 5.0]], [[3.0, 0, 0], [0, 0, -1.0]], [0, 0, -10.0], mass=mass)
    found = system.impacts([FLOOR], 0.0, 10.0)
    for row in range(2):
        i = found.particle[row]
        down = np.sqrt(2 * 10.0 * 5.0 + (1.0 if i == 1 else 0.0))
        v = np.array([3.0 if i == 0 else 0.0, 0.0, -down])
        assert found.mass[row] == mass[i]
        assert found.energy[row] == pytest.approx(0.5 * mass[i] * v @ v, rel=1e-13)
        np.testing.assert_allclose(found.momentum[row], mass[i] * v, rtol=1e-13, atol=1e-13)
        assert found.normal_momentum[row] == pytest.approx(mass[i] * down, rel=1e-13)
        assert found.angle[row] == pytest.approx(np.arctan2(abs(v[0]), down), abs=1e-13)


def test_derived_columns_are_in_rows_and_tables() -> None:
    found = ParticleSystem([[0, 0, 1.0]] * 3, [0, 0, -1.0], mass=2.0).impacts([FLOOR], 0.0, 10.0)
    assert found[1].energy == pytest.approx(1.0)
    assert found[1:].normal_momentum == pytest.approx([2.0, 2.0])
    table = found.to_dict()
    assert {"energy", "momentum_x", "momentum_z", "normal_momentum", "angle", "mass"} <= set(table)
    np.testing.assert_allclose(table["momentum_z"], -2.0)


@pytest.mark.parametrize("mass", [0.0, -1.0, np.nan, np.inf, "a", [[1.0]], [1.0, 2.0]])
def test_masses_that_are_none(mass: object) -> None:
    with pytest.raises(InvalidInputError, match="mass"):
        ParticleSystem([[0, 0, 1.0]] * 3, [0, 0, -1.0], mass=mass)  # type: ignore[arg-type]


def test_without_a_mass_there_is_no_energy() -> None:
    found = ParticleSystem([[0, 0, 1.0]] * 3, [0, 0, -1.0]).impacts([FLOOR], 0.0, 10.0)
    assert np.isnan(found.mass).all()
    assert np.isnan(found.energy).all()
    assert np.isfinite(found.angle).all()


def test_a_mass_is_heard_where_it_is_stated() -> None:
    # With 1 kg for all that had none, hail sounded like bricks.
    roof = Rectangle([-1, -1, 0], [2, 0, 0], [0, 2, 0], material=materials.sheet_metal())

    def loudest(**more: float) -> float:
        found = ParticleSystem([0.3, 0.2, 1.0], [0, 0, -9.0], **more).impacts([roof], 0.0, 0.3)
        return float(np.abs(render_sound(found, [roof], 0.0, 0.3)).max())

    assert loudest() == pytest.approx(loudest(mass=Impactor().mass), rel=1e-12)
    assert loudest(mass=8.0 * Impactor().mass) > 3.0 * loudest()
