"""What every collider has: how particles bounce off it, and the material that is heard. World frame, two-sided."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from thud._core.arrays import finite_array
from thud.errors import InvalidInputError
from thud.particles.tolerances import LARGEST

if TYPE_CHECKING:
    from thud.particles.sound.materials import Material


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Collider:
    """A surface that particles hit from either side.

    Parameters
    ----------
    restitution : from 0 to 1; speed along the normal after an impact over that before
    friction : at least 0; Coulomb's: an impact reduces the tangential speed by up to friction (1 + restitution) times the speed
        of approach
    material : what is heard when a particle hits; None is silent
    """

    may_doubt: ClassVar[bool] = True
    """Whether its kernel may leave a crossing in doubt; those that never do are asked first."""

    restitution: float = 0.5
    friction: float = 0.0
    material: Material | None = None

    def __repr__(self) -> str:
        """One line: what it is, then how it responds; of large arrays their shapes."""
        response = {field.name for field in fields(Collider)}
        shown = [field.name for field in sorted(fields(self), key=lambda field: field.name in response) if field.repr]
        said = [(name, getattr(self, name)) for name in shown]
        return f"{type(self).__name__}({', '.join(f'{name}={_say(value)}' for name, value in said if value is not None)})"

    def check_response(self) -> None:
        """Check restitution and friction; called by each collider when it is made."""
        for name in ("restitution", "friction"):
            value = finite_array(getattr(self, name), name, limit=LARGEST)
            if value.ndim != 0 or value < 0.0 or (name == "restitution" and value > 1.0):
                expected = "a number from 0 to 1" if name == "restitution" else "a number of at least 0"
                raise InvalidInputError(f"{name}: expected {expected}, got {getattr(self, name)!r}")
            object.__setattr__(self, name, float(value))
        if self.material is not None:
            from thud.particles.sound.materials import Material

            if not isinstance(self.material, Material):
                raise InvalidInputError(
                    f"material: expected a Material or None, got {self.material!r}; thud.particles.materials has makers of "
                    "named ones, such as sheet_metal()"
                )


def _say(value: Any) -> str:
    if isinstance(value, tuple):
        return f"({', '.join(map(_say, value))})"
    if not isinstance(value, np.ndarray):
        return f"{value:g}" if isinstance(value, float) else repr(value)
    if value.size > 16:
        return f"<{' x '.join(map(str, value.shape))} numbers>"
    return str([float(f"{x:.6g}") for x in value]) if value.ndim == 1 else f"[{', '.join(map(_say, value))}]"
