"""When does a falling cone land, and what does a ray from above see?"""

from __future__ import annotations

import numpy as np

import thud


def run() -> tuple[thud.Impacts, thud.RayHits]:
    """A cone falls 3 m towards a table of five boxes; rays look down on the table."""
    leg = thud.Box([0.05, 0.05, 0.35])
    top = thud.Box([0.6, 0.4, 0.03])
    corners = [[x, y, 0.35] for x in (-0.5, 0.5) for y in (-0.3, 0.3)]
    table = thud.Compound([top, leg, leg, leg, leg], thud.Pose([[0, 0, 0.73], *corners]))
    cone = thud.Cone(radius=0.1, half_length=0.15)
    impact = thud.cast(table, cone, None, thud.Pose([0.2, 0.1, 3.0]), motion_b=[0, 0, -3.0])
    rays = thud.raycast(table, [[0, 0, 5], [0.59, 0.39, 5], [0.7, 0, 5]], [0, 0, -1])
    print(
        f"lands after {impact.time[0]:.6f} of its way, normal {impact.normal[0].tolist()}; rays hit at {rays.distance.tolist()}"
    )
    return impact, rays


def check(results: tuple[thud.Impacts, thud.RayHits]) -> None:
    """The base of the cone reaches the table top at 0.76 m after falling 2.09 of 3 m; the third ray misses."""
    impact, rays = results
    assert impact.status[0] == thud.CastStatus.HIT
    assert impact.time[0] <= 2.09 / 3.0 + 1e-12
    np.testing.assert_allclose(impact.time[0], 2.09 / 3.0, atol=1e-6)
    np.testing.assert_allclose(rays.distance, [4.24, 4.24, np.inf], atol=1e-12)


if __name__ == "__main__":
    check(run())
