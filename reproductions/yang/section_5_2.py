"""Section 5.2: where the volumes gain over the planes and where they do not; caching between frames, levels that adapt."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

import thud
from reproductions.report import Report
from reproductions.warship import warship
from reproductions.yang.section_5_1_1 import hull
from reproductions.yang.surface_scenes import DENSE, SPARSE, Mover, Scene, Way, lower, measure, motorcycle, mover, terrain
from thud.pose import as_poses
from thud.terrain.collision.counts import COARSEST, FINER, FINEST, PROJECTED
from thud.terrain.collision.query_object import query_object

FRAMES = {"ci": 6, "standard": 60, "full": 363}
REPEATS = {"ci": 1, "standard": 2, "full": 5}

#: What is compared, cubic projection; "first" ends with the first part that collides.
WAYS = {
    "plain (2.6)": Way("plain", "cubic", False),
    "multiresolution": Way("multiresolution", "cubic", False),
    "cached": Way("multiresolution", "cubic", False, cached=True),
    "auto": Way("auto", "cubic", False),
    "plain, first": Way("plain", "cubic", False, any_part=True),
    "multiresolution, first": Way("multiresolution", "cubic", False, any_part=True),
    "plain, peaks": Way("plain", "cubic", True),
    "multiresolution, peaks": Way("multiresolution", "cubic", True),
    "auto, peaks": Way("auto", "cubic", True),
    "auto, peaks, first": Way("auto", "cubic", True, any_part=True),
}


def herd(surface: thud.terrain.DisplacedSurface, frames: int, many: int) -> tuple[Mover, ...]:
    """Motorcycles all over the terrain."""
    rng = np.random.default_rng(5)
    ends = rng.uniform(8.0, 88.0, (many, 2, 2))
    ends[:, 1] = np.clip(ends[:, 0] + rng.uniform(-6.0, 6.0, (many, 2)), 8.0, 88.0)
    bike = motorcycle()
    return tuple(
        mover(f"motorcycle {k}", bike, surface, (tuple(a), tuple(b)), frames, 0.1) for k, (a, b) in enumerate(ends.tolist())
    )


def rock(surface: thud.terrain.DisplacedSurface, frames: int, vertices: int, across: float, depth: float) -> tuple[Mover, ...]:
    """A round body of so many vertices that slides over the ground; depth below 0: above it."""
    shape = hull(vertices, across, np.random.default_rng(vertices))
    rows = np.zeros((frames, 7))
    rows[:, :2] = np.linspace((20.0, 12.0), (76.0, 80.0), frames)
    rows[:, 3] = 1.0
    lower(shape, surface, rows, depth)
    steps = np.diff(rows[:, :3], axis=0)
    name = f"rock of {vertices} vertices"
    return (Mover(name, shape, query_object(shape), as_poses(rows, "rows"), np.vstack([steps[:1], steps])),)


def beach_heights() -> np.ndarray:
    """(129, 129) a plane that rises by 1 in 20, with dunes at one end."""
    x, y = np.meshgrid(np.arange(129) * 0.75, np.arange(129) * 0.75)
    return 0.05 * y + np.where(y > 60.0, 0.8 * np.sin(0.3 * x) * np.sin(0.05 * (y - 60.0)), 0.0)


def made_scenes(frames: int, size: str) -> list[Scene]:
    """Ships that dig in 0.4, 2 and 4 m, many small bodies, and single bodies of many vertices, in the ground and above it."""
    sparse, dense, ship = terrain(SPARSE), terrain(DENSE), warship()
    line = ((34.0, 7.0), (62.0, 9.0))
    found = [
        Scene(
            "5.2", f"warship {depth} m deep, {name} primitives", surface, (mover("ship", ship, surface, line, frames, depth),)
        )
        for depth in (0.4, 2.0, 4.0)
        for name, surface in (("sparse", sparse), ("dense", dense))
    ]
    many = 4 if size == "ci" else 40
    found += [
        Scene("5.2", f"{many} motorcycles, {name} primitives", surface, herd(surface, frames, many))
        for name, surface in (("sparse", sparse), ("dense", dense))
    ]
    beach = thud.terrain.from_heights(beach_heights(), 0.75, samples=16, thickness=4.0).surface
    assert beach.arrays is not None
    found.append(Scene("5.2", "warship 0.4 m deep, a flat beach", beach, (mover("ship", ship, beach, line, frames, 0.4),)))
    found.append(Scene("5.2", "rock of 6 m, 250 vertices, on the beach", beach, rock(beach, frames, 250, 6.0, 0.3)))
    for vertices in (60, 250, 1000):
        for depth, word in ((0.3, "0.3 m deep"), (-0.3, "0.3 m above")):
            name = f"rock of 6 m, {vertices} vertices, {word}, sparse primitives"
            found.append(Scene("5.2", name, sparse, rock(sparse, frames, vertices, 6.0, depth)))
    return found


def unskipped(scene: Scene) -> Scene:
    """The same with every level tested."""
    arrays = scene.surface.arrays
    return replace(scene, surface=_Arrays(arrays._replace(flat=np.zeros_like(arrays.flat))))  # type: ignore[arg-type]


class _Arrays:
    """Stands for a surface where only its arrays are read."""

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays


def run(size: str, report: Report) -> None:
    """All ways over all scenes."""
    report.heading("Section 5.2: where volumes pay, caching, levels that adapt")
    frames, repeats = FRAMES[size], REPEATS[size]
    report.say(
        f"{frames} frames a scene, cubic projection, medians over the frames of all objects together, best of {repeats}. "
        "Without peaks a part collides if a vertex of it is below the surface, as in the paper. With peaks every contact is "
        "found. First: the call ends with the first part that collides. Cached: what decided in the last frame is asked first."
    )
    rows, counted, same = [], [], True
    gains: dict[str, tuple[float, float]] = {}
    for scene in made_scenes(frames, size):
        found = dict(zip(WAYS, measure(scene, list(WAYS.values()), repeats), strict=True))
        levels = measure(unskipped(scene), [WAYS["multiresolution"]], repeats)[0]
        times = {name: 1e6 * one.seconds.sum(axis=1) for name, one in found.items()}
        rows.append([scene.name, *(f"{np.median(value):.1f}" for value in times.values())])
        plain, multi = times["plain (2.6)"], times["multiresolution"]
        gains[scene.name] = (float(np.median(plain / multi)), float(np.median(plain / times["auto"])))
        volumes = [
            float(np.median(one.counts[:, :, (COARSEST, FINER, FINEST)].sum(axis=(1, 2))))
            for one in (found["multiresolution"], levels, found["cached"])
        ]
        projected = [
            float(np.median(found[name].counts[:, :, PROJECTED].sum(axis=1)))
            for name in ("plain (2.6)", "multiresolution", "cached")
        ]
        counted.append([scene.name, *(f"{x:.0f}" for x in (*volumes, *projected)), f"{gains[scene.name][0]:.2f}",
                        f"{np.median(multi / times['cached']):.2f}", f"{gains[scene.name][1]:.2f}"])  # fmt: skip
        for name, value in times.items():
            report.row("5.2", scene.name, f"{name}, us", 0, float(np.median(value)))
        for one, other in (("multiresolution", "cached"), ("plain, peaks", "auto, peaks")):
            for a, b in zip(found[one].hits, found[other].hits, strict=True):
                same = same and all(np.array_equal(x, y) for x, y in zip(a, b, strict=True))
    report.say("Microseconds a frame:")
    report.table(["scene", *WAYS], rows)
    report.say("Tests of volumes and projections a frame, and ratios of times frame by frame:")
    columns = ["scene", "volumes", "without skipped levels", "cached", "projections: plain", "multiresolution", "cached"]
    report.table([*columns, "plain / multiresolution", "multiresolution / cached", "plain / auto"], counted)
    report.compare(
        "(beyond the paper) A cache changes no answer, nor does the way where every contact is looked for.",
        "none changed." if same else "some.",
        same,
    )
    better = [name for name, gain in gains.items() if gain[0] > 1.05]
    report.compare(
        "The multiresolution method is much faster (4.4).",
        f"than the plain way with 2.6's test it is by more than 5 % in {len(better)} of {len(gains)} scenes: "
        + ("; ".join(f"{name} ({gains[name][0]:.1f}x)" for name in better) or "none")
        + ". The worst of the others has "
        + f"{min(gain[0] for gain in gains.values()):.2f}x. `auto` against plain: {min(g[1] for g in gains.values()):.2f}x to "
        + f"{max(g[1] for g in gains.values()):.1f}x.",
        None,
    )
