"""`python -m tests.continuous.elementary --size ci | standard | full`: are the elementary queries never wrong?

Counts, over constructed rows and random ones: contacts missed, times later than the true first contact, rows whose features
are farther apart than the tolerance at the time returned, and contacts reported where the two stay farther apart than that.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass, fields

import numpy as np

import thud
from tests.continuous.elementary_cases import HITS, Cases, displaced, hits, misses, random_rows
from tests.oracles import ccd

TOLERANCE = 1e-6

#: (constructed rows, random rows)
SIZES = {"ci": (5_000, 20_000), "standard": (100_000, 1_000_000), "full": (1_000_000, 10_000_000)}

#: Rows at a time.
BLOCK = 20_000


@dataclass
class Counts:
    """What a run has seen."""

    rows: int = 0
    contacts: int = 0
    missed: int = 0
    late: int = 0
    far: int = 0
    """Contacts at whose time the features are farther apart than tolerance * extent."""
    false: int = 0
    """Of `far`, those without any contact in truth: false positives."""
    unconverged: int = 0
    cells: int = 0
    worst: int = 0
    """Most cells of a row."""
    exact: int = 0
    """Rows that the oracle decided in whole numbers."""
    early: float = 0.0
    """Most by which a time is before the true first contact."""

    def __iadd__(self, other: Counts) -> Counts:
        for field in fields(self):
            mine, theirs = getattr(self, field.name), getattr(other, field.name)
            setattr(self, field.name, max(mine, theirs) if field.name in ("worst", "early") else mine + theirs)
        return self


def query(cases: Cases, face: bool) -> thud.ElementaryImpacts:
    """The library's answer."""
    ask = thud.continuous.vertex_face if face else thud.continuous.edge_edge
    return ask(cases.start, cases.end, tolerance=TOLERANCE)


def distance_at(cases: Cases, face: bool, when: np.ndarray) -> np.ndarray:
    """Distances of the features at given times, in floats."""
    # Relative to a point of the second feature: far from the origin little is lost.
    origin = cases.start[:, 1 if face else 2, None]
    first, last = cases.start - origin, cases.end - origin
    x = (1.0 - when)[:, None, None] * first + when[:, None, None] * last
    # Features of any size: scaled to about 1.
    size = np.maximum(np.abs(x).max(axis=(1, 2)), 1e-300)
    x = x / size[:, None, None]
    if face:
        return thud.geometry.closest_point_triangle(x[:, 0], x[:, 1:]).distance * size
    return thud.geometry.closest_segment_segment(x[:, 0], x[:, 1], x[:, 2], x[:, 3]).distance * size


def extent(cases: Cases) -> np.ndarray:
    """Largest side of the box about all positions."""
    both = np.concatenate([cases.start, cases.end], axis=1)
    return (both.max(axis=1) - both.min(axis=1)).max(axis=1)


def check(cases: Cases, face: bool) -> Counts:
    """Compare one block with the truth, by construction or from the oracle."""
    answer = query(cases, face)
    hit = answer.status != thud.CastStatus.MISS
    unconverged = answer.status == thud.CastStatus.UNCONVERGED
    counts = Counts(rows=len(hit), unconverged=int(unconverged.sum()), cells=int(answer.iterations.sum()))
    counts.worst = int(answer.iterations.max())
    if cases.kind in ("random", "displaced"):
        truth = ccd.first_contacts(cases.start, cases.end, face)
        touches = truth.hit
        late = ccd.late(cases.start, cases.end, face, answer.time, truth)
        counts.exact = int(truth.exact.sum())
        both = touches & hit
        counts.early = float((truth.high[both] - answer.time[both]).max(initial=0.0))
    else:
        touches = ~np.isnan(cases.time)
        late = touches & (answer.time > cases.time)
    counts.contacts = int(touches.sum())
    counts.missed = int((touches & ~hit).sum())
    counts.late = int((late & hit).sum())
    when = np.where(hit & ~unconverged, answer.time, 0.0)
    apart = distance_at(cases, face, when)
    coordinates = np.maximum(np.abs(cases.start).max(axis=(1, 2)), np.abs(cases.end).max(axis=(1, 2)))
    # The distance itself is rounded.
    limit = TOLERANCE * extent(cases) + 1e-15 * coordinates
    far = hit & ~unconverged & (apart > limit)
    counts.far = int(far.sum())
    counts.false = int((hit & ~touches & (far | unconverged)).sum())
    return counts


def blocks(kind: str, count: int, seed: int):
    """Cases of one kind, block by block, vertex-face and edge-edge in turn."""
    number = 0
    while count > 0:
        size = min(BLOCK, count)
        for face, part in ((True, size - size // 2), (False, size // 2)):
            if part == 0:
                continue
            rng = np.random.default_rng([seed, number, face, *kind.encode()])
            if kind == "random":
                yield random_rows(rng, face, part), face
            elif kind == "slab":
                yield misses(rng, face, part), face
            elif kind == "displaced":
                yield displaced(rng, face, part), face
            else:
                yield hits(rng, kind, face, part), face
        number += 1
        count -= size


def kinds(size: str) -> dict[str, int]:
    """Rows by kind; the constructed ones in small blocks, since a block has one range of coordinates."""
    constructed, random = SIZES[size]
    names = (*HITS, "slab", "displaced")
    each = -(-constructed // len(names))
    return {**dict.fromkeys(names, each), "random": random}


def run(size: str, seed: int = 0, *, progress: bool = False) -> dict[str, Counts]:
    """Counts by kind."""
    out = {}
    begin = time.perf_counter()
    for kind, count in kinds(size).items():
        out[kind] = Counts()
        for cases, face in _small(kind, count, seed):
            out[kind] += check(cases, face)
            if progress:
                seconds = time.perf_counter() - begin
                print(f"\r{kind:<11} {out[kind].rows:>9}/{count} {seconds:7.1f} s", end="", file=sys.stderr, flush=True)
        if progress:
            print(file=sys.stderr)
    return out


def _small(kind: str, count: int, seed: int):
    if kind == "random":
        yield from blocks(kind, count, seed)
        return
    part = max(1, -(-count // 8))
    for k in range(8):
        yield from blocks(kind, min(part, count - k * part), seed + 1000 * (k + 1))


def main(arguments: list[str] | None = None) -> None:
    """Command line."""
    parser = argparse.ArgumentParser(prog="python -m tests.continuous.elementary", description=__doc__)
    parser.add_argument("--size", choices=SIZES, default="ci")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args(arguments)
    counts = run(chosen.size, chosen.seed, progress=True)
    names = [field.name for field in fields(Counts) if field.name not in ("cells", "early")]
    print(f"{'':<12}" + "".join(f"{name:>12}" for name in names) + f"{'cells/row':>12}{'early':>12}")
    for kind, c in counts.items():
        row = "".join(f"{getattr(c, name):>12}" for name in names)
        print(f"{kind:<12}{row}{c.cells / c.rows:>12.2f}{c.early:>12.1e}")
    wrong = sum(c.missed + c.late + c.far for c in counts.values())
    random = counts["random"]
    missed, late, false = (sum(getattr(c, name) for c in counts.values()) for name in ("missed", "late", "false"))
    print(
        f"missed {missed}, late {late}; false positives: random {random.false / random.rows:.4%}, others {false - random.false}"
    )
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
