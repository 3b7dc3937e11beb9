"""Figure 3.7: hailstones on outdoor objects, and what is heard of them. 3.6.2."""

from __future__ import annotations

from typing import Any

import numpy as np

from reproductions.knott_particles.drawing import WIDTHS, panels, picture
from reproductions.report import Report
from thud.particles import ColliderSet, impact_map, scenes, sound_blocks
from thud.report.particle_view import view
from thud.report.rain_pictures import draw_stones, map_picture, paint_scene, scene_camera
from thud.report.splat_textures import splat_textures

SECONDS = {"ci": 0.3, "standard": 4.0, "full": 10.0}


def run(size: str, report: Report) -> None:
    """Let it hail on both scenes."""
    report.heading("Figure 3.7: hail on outdoor objects")
    seconds, cells, rows = SECONDS[size], [], []
    for name, title in (("house", "(a) house, gazebo and picnic table"), ("can", "(b) garbage can and picnic table")):
        scene = scenes.SCENES[name]()
        ready, hail = ColliderSet(scene.colliders), scene.hail(200 if size == "ci" else None)
        impacts = hail.impacts(ready, 0.0, seconds)
        for thing in dict.fromkeys(scene.names):
            places = [k for k, other in enumerate(scene.names) if other == thing]
            rows.append((name, thing, int(np.isin(impacts.collider, places).sum())))
        # First order: the velocity on arrival is that at birth, and the path a line.
        states = hail.states(seconds, ready)
        again = hail.states(seconds - 1e-3, ready)
        flying = (states.state == 1) & (again.state == 1) & (states.generation == again.generation)
        bent = np.abs(states.position - again.position - 1e-3 * states.velocity)[flying].max()
        report.compare(
            "The hail is simulated as particles with first-order dynamics, dispensed with when they impact.",
            f"{name}: {hail.count} hailstones, {len(impacts)} impacts in {seconds:g} s, none of them a bounce; paths are "
            f"straight to {bent:.1e} m.",
            bool((impacts.bounce == 0).all()) and bent < 1e-12,
        )
        sound = np.concatenate(list(sound_blocks(hail, ready, 0.0, seconds)))
        whole = np.concatenate(list(sound_blocks(hail, ready, 0.0, seconds, block_seconds=seconds)))
        report.compare(
            "Modal synthesis generates sound whenever a collider is struck by a particle.",
            f"{name}: {len(sound)} samples, the same to the last bit in one block or "
            f"many. `thud rain {name}` writes it to a file.",
            bool(np.abs(sound).max() > 0.0) and np.array_equal(sound, whole),
        )
        textures = splat_textures(impacts, ready, radius=1.7 * scene.stone)
        seen = view(ready, scene_camera(scene, WIDTHS[size]), fine=1 if size == "ci" else 3, sky_rays=1 if size == "ci" else 6)
        cells.append((title, _painter(scene, seen, impacts, states)))
        path = report.out / f"{report.name}_figure_3_7_maps_{name}.png"
        map_picture(scene, textures, impact_map(hail, ready, 0.0, seconds, resolution=64), path)
        report.lines += [f"![figure_3_7_maps_{name}]({path.name})", ""]
    report.table(["scene", "thing", f"impacts in {seconds:g} s"], rows)
    panels(report, "figure_3_7", cells)


def _painter(scene: Any, seen: Any, impacts: Any, states: Any) -> Any:
    def paint(axes: Any) -> None:
        picture(axes, paint_scene(scene, seen, impacts))
        draw_stones(axes, seen, states, scene.stone)

    return paint
