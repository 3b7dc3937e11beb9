"""The two scenes of [Vogiannou] 5.2, live: bodies of 17,000 faces that fall on a plane, and past a torus. One thread and two.

Three concave models in turn (`reproductions/models.py`), nothing sleeps, 60 steps a second of the world. Steps a second of
ours, for each second of the fall: no peer steps concave meshes of this size."""

from __future__ import annotations

import time

import numpy as np

import thud
from benchmarks.harness import Report
from reproductions import models
from reproductions.vogiannou.scenes import crowd, static_object, unit_radius

DT = 1.0 / 60.0

#: (bodies, seconds of the world, vertices of a body as a part of the models')
_SIZES = {"ci": (6, 0.1, 0.02), "standard": (600, 6.0, 1.0), "full": (600, 14.0, 1.0)}

#: Heights above the static object at the begin, in radii of a body.
_START = {"plane": 1.2, "torus": 4.0}


def falling(scene: str, count: int, part: float, threads: int) -> thud.World:
    """Bodies on a lattice, each turning its own way."""
    makers = (
        models.tentacles(round(8650 * part)), models.bumpy(round(8750 * part)), models.knot(max(12, round(390 * part))),
    )  # fmt: skip
    shapes = [unit_radius(thud.TriangleMesh(*made)) for made in makers]
    bodies = crowd(scene, count, len(shapes))
    world = thud.World(threads=threads, sleep_after=None)
    world.add(static_object(scene), static=True)
    poses = np.concatenate([bodies.lattice * 2.1, bodies.turn], axis=1)
    poses[:, 2] += _START[scene]
    world.add_many([shapes[k] for k in bodies.which], poses, angular_velocity=bodies.spin)
    return world


def run(size: str) -> None:
    """Both scenes."""
    count, seconds, part = _SIZES[size]
    report = Report("falling")
    for scene in ("plane", "torus"):
        for threads in (1, 2):
            world = falling(scene, count, part, threads)
            name, query = f"{count} bodies, {scene}", f"steps a second, threads={threads}"
            print(f"\n{name}: {query}")
            world.step(DT)
            rates = []
            while world.time < seconds:
                begin, first = time.perf_counter(), world.time
                while world.time < min(first + 1.0, seconds):
                    world.step(DT)
                rates.append(round((world.time - first) / DT) / (time.perf_counter() - begin))
            words = ", ".join(f"{rate:.1f}" for rate in rates)
            report.note(name, query, f"{words} in each second of the fall; {len(world.contacts().depth)} contacts at the end")
    report.save()
