"""The picture of docs/world_batch.md: crawlers of a batch beside each other, at five times. `python -m tools.batch_strip`"""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

import thud
from thud.report.camera import Camera
from thud.report.world_picture import world_picture
from thud.world import WorldBatch

PLACE = Path(__file__).parents[1] / "docs" / "world_batch.png"

#: Copies that are drawn, metres between them, pixels of a picture, and its times in seconds.
COPIES, APART, PIXELS, TIMES = 9, 1.3, (360, 300), (0.0, 0.5, 1.0, 1.5, 2.5)


def main() -> None:
    """Step the batch, draw all copies in one world for each picture."""
    from PIL import Image

    example = importlib.import_module("examples.11_many_worlds")
    rng = np.random.default_rng(7)
    gaits = rng.uniform([[0.0], [0.0], [-0.3]], [[0.6], [1.0], [0.3]], (COPIES, 3, 8))
    world = example.crawler()
    batch = WorldBatch(world, COPIES)
    camera = Camera((3.2, -4.2, 3.2), (0.15, 0.1, 0.2), 0.85, *PIXELS)
    hues = 0.35 + 0.6 * rng.random((COPIES, 3))
    pictures, step = [], 0
    for time in TIMES:
        while step * example.DT < time:
            batch.set_targets(example.angles(gaits, step * example.DT))
            batch.step(example.DT)
            step += 1
        shown = thud.World()
        shown.add(thud.HalfSpace((0, 0, 1), 0.0), static=True)
        colors = [(0.75, 0.75, 0.7)]
        for k, poses in enumerate(batch.poses()):
            for handle, pose in zip(batch.handles()[1:], poses[1:], strict=True):
                placed = pose + [APART * (k // 3 - 1), APART * (k % 3 - 1), 0, 0, 0, 0, 0]
                shown.add(world.shape(int(handle)), thud.Pose.from_array(placed), static=True)
                colors.append(tuple(hues[k]))
        pictures.append(world_picture(shown, camera, colors))
    strip = (255 * np.concatenate(pictures, axis=1)).astype(np.uint8)
    Image.fromarray(strip).quantize(128).save(PLACE, optimize=True)
    print(PLACE, strip.shape)


if __name__ == "__main__":
    main()
