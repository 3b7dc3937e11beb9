"""Many bodies for many frames, with random adds, removes and moves: memory stays flat, and one and two threads agree.

    python -m tests.world.endurance --size ci | standard | full

Each frame takes a part of the bodies out and puts as many in, moves all others a little, and asks two worlds, one with one
thread and one with two, for `pairs` and `intersecting`. A running hash over the bytes of both answers must be the same.

Memory is the process's resident set, read after each frame. The number of bodies is constant, so after the first frames nothing
should grow: the most of the last fifth may exceed the most of the second fifth by GROWTH of it. That leaves room for the heap's
fragments, for arrays as long as the number of pairs, which varies by about a per cent, and for what is left of shapes that are
gone (the packed arrays are tidied when half of them is). A leak of one answer a frame (16 bytes a pair, at `standard` about
1 MB a frame) would exceed it many times over. At `ci` a frame is too small to show against the interpreter and the compiler, so
there the memory that Python and NumPy have handed out (`tracemalloc`) is measured too.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import sys
import time
import tracemalloc
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

import thud

#: Bodies, frames, and the part of the bodies that goes and comes each frame, by size. At `ci` more of them, so that the packed
#: shapes are tidied several times.
SIZES = {"ci": (2_000, 40, 0.1), "standard": (100_000, 1_000, 0.01), "full": (100_000, 10_000, 0.01)}

#: Allowed growth of the resident set, as a part of it.
GROWTH = 0.05

#: Allowed growth of what Python and NumPy have handed out, in bytes a body. One array of boxes kept each frame (48 bytes a
#: body) would come to 1,150 between the frames compared; the shapes of their own, whose number varies, take some ten.
TRACED = 128


def resident() -> int:
    """Bytes of this process in memory; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * 4096
    except OSError:
        return 0


@dataclass
class Run:
    """What a run has measured."""

    bodies: int
    frames: int
    hashes: tuple[str, str] = ("", "")
    memory: list[int] = field(default_factory=list)
    traced: list[int] = field(default_factory=list)
    pairs: int = 0
    meeting: int = 0
    seconds: dict[str, float] = field(default_factory=dict)

    def most(self, fifth: int) -> int:
        """The largest resident set in a fifth of the frames, from 0."""
        count = max(1, self.frames // 5)
        return max(self.memory[fifth * count : (fifth + 1) * count])

    def check(self) -> None:
        """Same answers; flat memory."""
        assert self.hashes[0] == self.hashes[1], "one and two threads differ"
        early, late = self.most(1), self.most(4)
        assert late <= (1.0 + GROWTH) * early, f"memory grew from {early / 1e6:.1f} to {late / 1e6:.1f} MB"
        if self.traced:
            early, late = (max(self.traced[k * self.frames // 5 : (k + 1) * self.frames // 5]) for k in (1, 4))
            assert late <= early + TRACED * self.bodies, f"objects grew from {early} to {late} bytes"


class Crowd:
    """Poses and handles of the bodies of some worlds, which are treated alike."""

    def __init__(self, worlds: list[thud.World], count: int, churn: float, seed: int) -> None:
        self.worlds, self.churn, self.rng = worlds, churn, np.random.default_rng(seed)
        self.side = (8.0 * count) ** (1.0 / 3.0)
        hulls = [thud.ConvexHull(self.rng.normal(size=(20, 3)) * 0.4) for _ in range(8)]
        self.shapes = [thud.Box((0.3, 0.4, 0.5)), thud.Sphere(0.5), thud.Capsule(0.2, 0.4), thud.Cylinder(0.3, 0.4), *hulls]
        self.poses = self.fresh_poses(count)
        self.handles = self.put_in(self.poses)

    def fresh_poses(self, count: int) -> np.ndarray:
        """(count, 7) anywhere."""
        q = self.rng.normal(size=(count, 4))
        return np.concatenate(
            [self.rng.uniform(0.0, self.side, (count, 3)), q / np.linalg.norm(q, axis=1, keepdims=True)], axis=1
        )

    def put_in(self, poses: np.ndarray) -> np.ndarray:
        """Handles of new bodies: one in eight with a shape of its own, one in 16 static, on one of four layers."""
        count = len(poses)
        kinds = self.rng.integers(0, len(self.shapes), count).tolist()
        shapes: list[thud.shapes.shape.Shape] = [self.shapes[kind] for kind in kinds]
        for k in range(0, count, 8):
            shapes[k] = thud.Box(self.rng.uniform(0.2, 0.5, 3))
        options = {
            "static": self.rng.integers(0, 16, count) == 0,
            "layer": self.rng.integers(0, 4, count),
            "mask": self.rng.choice(np.array([-1, 0b0111, 0b1110]), count),
        }
        handles = [world.add_many(shapes, poses, **options) for world in self.worlds]
        for other in handles[1:]:
            np.testing.assert_array_equal(other, handles[0])
        return handles[0]

    def frame(self) -> None:
        """Some go, some come, the others move."""
        count = len(self.handles)
        gone = self.rng.choice(count, max(1, int(self.churn * count)), replace=False)
        for world in self.worlds:
            world.remove(self.handles[gone])
        self.poses[gone] = self.fresh_poses(len(gone))
        self.handles[gone] = self.put_in(self.poses[gone])
        self.poses[:, :3] += self.rng.normal(scale=0.02, size=(count, 3))
        turned = self.poses[:, 3:] + self.rng.normal(scale=0.01, size=(count, 4))
        self.poses[:, 3:] = turned / np.linalg.norm(turned, axis=1, keepdims=True)
        for world in self.worlds:
            world.set_poses(self.handles, self.poses)


def run(size: str, broadphase: str = "auto", *, frames: int | None = None, progress: bool = False) -> Run:
    """One run; `check()` says whether it is right."""
    count, planned, churn = SIZES[size]
    frames = frames or planned
    worlds = [thud.World(broadphase, threads=threads) for threads in (1, 2)]
    digests = [hashlib.blake2b(), hashlib.blake2b()]
    crowd = Crowd(worlds, count, churn, seed=4)
    out = Run(count, frames)
    trace = size == "ci"
    if trace:
        # What is there already is not looked through each time.
        gc.freeze()
        tracemalloc.start()
    begin = time.perf_counter()
    for k in range(frames):
        moment = time.perf_counter()
        if k:
            crowd.frame()
        out.seconds["change"] = out.seconds.get("change", 0.0) + time.perf_counter() - moment
        for world, digest in zip(worlds, digests, strict=True):
            for query in (world.pairs, world.intersecting):
                moment = time.perf_counter()
                answer = query()
                digest.update(answer.tobytes())
                name = f"{query.__name__}, threads={world.threads}"
                out.seconds[name] = out.seconds.get(name, 0.0) + time.perf_counter() - moment
                if query == world.pairs:
                    out.pairs += len(answer)
                else:
                    out.meeting += len(answer)
        if trace:
            gc.collect()
            out.traced.append(tracemalloc.get_traced_memory()[0])
        out.memory.append(resident())
        if progress and (k + 1) % max(1, frames // 20) == 0:
            spent = time.perf_counter() - begin
            print(f"frame {k + 1}: {spent:.0f} s, {out.memory[-1] / 1e6:.1f} MB", file=sys.stderr, flush=True)
    if trace:
        tracemalloc.stop()
        gc.unfreeze()
    out.hashes = (digests[0].hexdigest(), digests[1].hexdigest())
    return out


def main() -> None:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", choices=SIZES, default="ci")
    parser.add_argument("--broadphase", default="auto")
    parser.add_argument("--frames", type=int, help="other than the size says")
    arguments = parser.parse_args()
    done = run(arguments.size, arguments.broadphase, frames=arguments.frames, progress=True)
    print(f"{done.bodies} bodies, {done.frames} frames, {done.pairs} pairs and {done.meeting} meetings in two worlds")
    print("milliseconds a frame:", ", ".join(f"{name} {1e3 * s / done.frames:.1f}" for name, s in done.seconds.items()))
    early, late = done.most(1) / 1e6, done.most(4) / 1e6
    print(f"memory: at most {early:.1f} MB in the second fifth of the frames, {late:.1f} MB in the last")
    print(f"hashes: {done.hashes[0][:16]} {done.hashes[1][:16]}")
    done.check()
    print("same answers for 1 and 2 threads, memory flat")


if __name__ == "__main__":
    main()
