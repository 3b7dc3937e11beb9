"""`python -m tests.world.heap_ids`: do contacts keep their ids in a calm heap of boxes over 1,000 frames?

The poses are recorded from pybullet (`python -m tools.record_heap`), or read from a file (`--file`). An id that is there in two
frames in a row must not have moved by more than a hundredth of the smaller body's size, and of the ids of pairs that still have
contacts 99 of 100 must be there again. Left out are the pairs of bodies that are not calm: one or two still roll off now and
then."""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import thud
from tools.record_heap import Heap, record

#: Contacts are looked at up to this far apart, metres: about what solvers do, and ten times how deep the boxes sink in.
MARGIN = 0.01

#: Farthest that an id may move in a frame, in sizes of the smaller body, and the share of ids that must persist.
FARTHEST, PERSIST = 0.01, 0.99

#: A body is calm if no point of it moves by more than this in a frame, in its sizes: 20 cm a second at 240 frames.
CALM = 2e-3


@dataclass
class IdReport:
    frames: int = 0
    points: int = 0
    restless: int = 0
    """Points of pairs that are left out."""
    before: int = 0
    """Ids of pairs that still have contacts a frame later."""
    persist: int = 0
    """How many of them are still there."""
    jumps: int = 0
    """Ids that moved farther than they may."""
    worst: float = 0.0
    """The farthest move of an id, in sizes."""

    @property
    def share(self) -> float:
        return self.persist / max(self.before, 1)

    def __str__(self) -> str:
        return (
            f"{self.frames} frames, {self.points / max(self.frames, 1):.0f} points a frame: {self.share:.3%} of the ids "
            f"persist; {self.jumps} jump, the farthest move is {self.worst:.2%} of the size; {self.restless} points of bodies "
            f"that are not calm left out"
        )


def heap_world(heap: Heap, **options) -> tuple[thud.World, np.ndarray]:
    """The boxes in their bin, and the boxes' handles."""
    world = thud.World(**options)
    for plane in heap.planes.astype(float):
        world.add(thud.HalfSpace(plane[:3], plane[3]), static=True)
    return world, world.add_many([thud.Box(size) for size in heap.half.astype(float)], mass=1.0)


def check_ids(heap: Heap, margin: float = MARGIN) -> IdReport:
    """Frame after frame."""
    world, boxes = heap_world(heap)
    size = np.concatenate([np.full(len(heap.planes), np.inf), 2.0 * heap.half.max(axis=1)])
    report, last = IdReport(), None
    frames = heap.exact_poses()
    for frame, before in zip(frames, [frames[0], *frames[:-1]], strict=True):
        # No corner is farther from the middle than its size, and a quaternion changes by half the angle.
        turned = 2.0 * np.linalg.norm(frame[:, 3:] - before[:, 3:], axis=1)
        moves = np.linalg.norm(frame[:, :3] - before[:, :3], axis=1) + turned * size[len(heap.planes) :]
        calm = np.concatenate([np.full(len(heap.planes), True), moves <= CALM * size[len(heap.planes) :]])
        world.set_poses(boxes, frame)
        found = world.contacts(margin=margin)
        previous = world._records.previous()
        if last is not None:
            pair = np.repeat(np.arange(len(found.pairs)), found.count)
            at_rest = calm[found.rows].all(axis=1)[pair]
            report.restless += int((~at_rest).sum())
            same = (previous >= 0) & at_rest
            assert (last.feature[previous[same]] == found.feature[same]).all()
            pair = pair[same]
            moved = np.linalg.norm(found.point[same] - last.point[previous[same]], axis=1)
            moved /= size[found.rows[pair]].min(axis=1)
            still = np.isin(last.rows[:, 0] << 32 | last.rows[:, 1], found.rows[:, 0] << 32 | found.rows[:, 1])
            still &= calm[last.rows].all(axis=1)
            report.before += int(last.count[still].sum())
            report.persist += int(same.sum())
            report.jumps += int((moved > FARTHEST).sum())
            report.worst = max(report.worst, float(moved.max(initial=0.0)))
        report.frames += 1
        report.points += len(found.point)
        last = found
    return report


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.world.heap_ids", description=__doc__)
    parser.add_argument("--file", type=Path, help="of tools.record_heap; default: recorded now")
    parser.add_argument("--boxes", type=int, default=600)
    parser.add_argument("--frames", type=int, default=1000)
    given = parser.parse_args()
    heap = record(given.boxes, given.frames) if given.file is None else Heap.load(given.file)
    report = check_ids(heap)
    print(report)
    raise SystemExit(0 if report.jumps == 0 and report.share >= PERSIST else 1)


if __name__ == "__main__":
    main()
