"""The integrators by name, and the numbers that kernels know them by."""

from __future__ import annotations

SLIDES, SEMI_IMPLICIT, RK4, IMPLICIT_GYROSCOPIC = range(4)

#: Names of the integrators; see `thud.dynamics.integrators`.
INTEGRATORS = {"slides": SLIDES, "semi_implicit": SEMI_IMPLICIT, "rk4": RK4, "implicit_gyroscopic": IMPLICIT_GYROSCOPIC}
