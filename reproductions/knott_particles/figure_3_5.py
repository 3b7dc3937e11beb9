"""Figure 3.5: a collider and its impact map; what a map can tell, 3.4 and 3.5."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproductions.knott_particles.drawing import (
    FLOOR,
    TEAL,
    camera,
    look_at,
    map_panel,
    panels,
    picture,
    stones,
    texture_panel,
)
from reproductions.report import Report
from thud.particles import ColliderSet, ParticleSystem, Plane, Rectangle, impact_coordinates, impact_map
from thud.particles.maps.map_result import COUNT, OFFSET, SPEED
from thud.report.splat_textures import some, splat_textures

PARTICLES = {"ci": 400, "standard": 900, "full": 20000}
#: Metres of the collider, pixels of its map.
SIDES, PIXELS = (2.0, 1.2), (50, 30)
T0, T1 = 1.0, 2.0


def run(size: str, report: Report) -> None:
    """Draw collider and map; check resolution in space and time, look-ahead and blending."""
    report.heading("Figure 3.5: a collider and its impact map")
    board = Rectangle([-1.0, -0.6, 0.5], [SIDES[0], 0, 0], [0, SIDES[1], 0])
    ready = ColliderSet([Plane([0, 0, 0], [0, 0, 1]), board])
    system = ParticleSystem(
        [-0.2, 0.0, 2.4], [0.4, 0.0, -2.0], [0.0, 0.0, -9.81], lifetime=0.9,
        birth=-0.9 * np.random.default_rng(5).random(PARTICLES[size]), seed=5,
        position_spread=[1.7, 1.2, 0.1], velocity_spread=0.6,
    )  # fmt: skip
    impacts = system.impacts(ready, T0, T1)
    mine = some(impacts, impacts.collider == 1)
    (p, q), (m, n) = PIXELS, SIDES
    found = impact_map(system, ready, T0, T1, resolution=PIXELS, encoding="uint8")
    added = impact_map(system, ready, T0, T1, resolution=PIXELS, combine="add")

    report.compare(
        "Each collision is drawn as a single point of the impact map.",
        f"{len(mine)} impacts on the rectangle in {T1 - T0:g} s, {int(added.data[1, ..., COUNT].sum())} in its map, on "
        f"{int((added.data[1, ..., COUNT] > 0).sum())} pixels.",
        int(added.data[1, ..., COUNT].sum()) == len(mine),
    )
    uv = impact_coordinates(impacts, ready)[impacts.collider == 1]
    x, y = np.minimum((uv * PIXELS).astype(int), np.array(PIXELS) - 1).T
    middle = np.asarray(board.origin) + ((x + 0.5) / p)[:, None] * board.edge_u + ((y + 0.5) / q)[:, None] * board.edge_v
    off = np.abs(mine.point - middle).max(axis=0)
    spacing = found.spacing(1)
    report.compare(
        "The spatial resolution of a rectangle of M by N is M/p by N/q.",
        f"{m:g} m by {n:g} m on {p} by {q} pixels: {spacing[0]:g} m by {spacing[1]:g} m; impacts lie at most {off[0]:.4f} m "
        f"and {off[1]:.4f} m from the middle of their pixel.",
        abs(spacing[0] - m / p) < 1e-15
        and abs(spacing[1] - n / q) < 1e-15
        and off[0] <= m / p / 2 + 1e-12
        and off[1] <= n / q / 2 + 1e-12,
    )
    # The latest impact of a pixel is the one that stays.
    latest = {(int(column), int(row)): k for k, (column, row) in enumerate(zip(x, y))}
    rows = np.array(list(latest.values()))
    byte = found.data[1, y[rows], x[rows], OFFSET].astype(float)
    late = (mine.time[rows] - T0) / (T1 - T0) - byte / 256.0
    report.compare(
        "We can calculate to within 8 bits of precision when, between two frames, the collision happened.",
        f"the byte is the 256th of the window in which it happened, for all {len(rows)} pixels: they are "
        f"{late.min():.5f} to {late.max():.5f} of the window after its beginning, below 1/256 = {1 / 256:.5f}.",
        bool((late >= -1e-12).all() and (late < 1.0 / 256.0 + 1e-12).all()),
    )
    report.compare(
        "Several collisions in a pixel: one masks the others, or they are blended additively.",
        f"added speeds sum to {added.data[1, ..., SPEED].sum():.3f} m/s, those of the impacts to {mine.speed.sum():.3f} m/s.",
        abs(float(added.data[1, ..., SPEED].sum(dtype=float)) - mine.speed.sum()) < 1e-5 * mine.speed.sum(),
    )
    latency = 0.25
    ahead = impact_map(system, ready, T0, T1, resolution=PIXELS, encoding="uint8", latency=latency)
    later = impact_map(system, ready, T0 + latency, T1 + latency, resolution=PIXELS, encoding="uint8")
    report.compare(
        "If the time is offset by the latency, events are reported in a more timely fashion.",
        f"the map of [{T0:g}, {T1:g}) with a latency of {latency:g} s is that of [{T0 + latency:g}, {T1 + latency:g}), byte by "
        "byte, and not that of the window itself.",
        np.array_equal(ahead.data, later.data) and not np.array_equal(ahead.data, found.data),
    )
    alone = impact_map(system, ready, T0, T1, layout="particle").decode()
    last = {int(k): row for row, k in enumerate(impacts.particle)}
    expected = impacts.point[[last[int(k)] for k in alone.particle]]
    report.compare(
        "3.5.2: a pixel a particle overcomes many difficulties of spatial resolution.",
        f"{len(alone)} particles with an impact, of {system.count}; places differ by "
        f"{np.abs(alone.point - expected).max():.1e} m.",
        len(alone) == len(last) and float(np.abs(alone.point - expected).max()) < 1e-6,
    )

    seen = look_at(ready, camera(size, [1.4, -3.3, 2.5], [0.0, 0.0, 0.55], 0.86), size)
    textures = splat_textures(impacts, ready, radius=0.028, extent=4.0)

    def scene(axes: Any) -> None:
        picture(axes, seen.paint([FLOOR, TEAL], seen.splats(impacts, radius=0.028), [[0.62, 0.64, 0.68], [0.97, 0.97, 0.95]]))
        stones(axes, seen, system, ready, T1, 0.014)

    panels(
        report,
        "figure_3_5",
        [
            (f"a rectangle, {m:g} m by {n:g} m, after {T1 - T0:g} s", scene),
            ("its splat texture", lambda axes: texture_panel(axes, TEAL.color, textures[1], board)),
            (f"its impact map, {p} by {q} pixels (blue early, red late)", lambda axes: map_panel(axes, found, 1, board)),
        ],
        columns=3,
        widths=(1.0, 0.8, 0.8),
    )
