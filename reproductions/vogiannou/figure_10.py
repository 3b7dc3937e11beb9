"""Figure 10: time of a test of two objects over the levels that have support-plane mappings.

All settings run in turn on the same blocks of configurations, so that a disturbance hits all of them; a block's mean
processor time, on one thread, is one observation, and the standard error is theirs. Counts (tests of volumes, of Theorem
3.2) are exact.
"""

from __future__ import annotations

import csv
import time
from pathlib import Path

import numpy as np

import thud
from reproductions.progress import progress
from reproductions.vogiannou.configurations import IDENTITY, random_poses, space_for
from reproductions.vogiannou.mappings import COMPACT_1, COMPACT_3, by_levels, mapping_of, names_for
from reproductions.vogiannou.mappings import PAPER as KINDS
from reproductions.vogiannou.report import Report
from thud.mesh.volumes import surfaces_meet, surviving_levels

#: Configurations a setting over all models, and a block.
COUNTS = {"ci": (240, 40), "standard": (60_000, 1_000), "full": (2_000_000, 10_000)}
#: The paper's caption has 12 levels, its plots 6.
LEVELS = {"ci": (1, 2), "standard": (1, 2, 3, 4, 5, 6, 8, 10, 12), "full": (1, 2, 3, 4, 5, 6, 8, 10, 12)}
#: "aligned" are AABBs tested as boxes of one frame, B's refitted into A's, which the paper may have meant.
BOUNDINGS = ("sphere", "aabb", "aligned", "obb", "kdop")
#: Configurations a model whose plain time is taken by class.
CLASSED = {"ci": 80, "standard": 4_000, "full": 20_000}
#: Each block is run so often, and the shortest time counts: others on the machine only ever make it longer.
REPEATS = 3


def run(meshes: dict[str, thud.TriangleMesh], size: str, report: Report) -> None:
    """The table, the plot, the statements."""
    report.heading("Figure 10: two objects, 60 % colliding, microseconds a test over SPM levels")
    total, block = COUNTS[size]
    levels = (0, *LEVELS[size])
    deepest = 6 if 6 in levels else levels[-1]
    settings = [(b, "none", 0) for b in BOUNDINGS]
    settings += [(b, m, depth) for b in BOUNDINGS for m in names_for(b) for depth in levels[1:]]
    partial = report.out / "vogiannou_figure_10_partial.csv" if size == "full" else None
    seconds, counters = _measure(meshes, settings, total // len(meshes), block, partial)
    # Every model has the same number of blocks. The models differ, so each one's blocks are compared with each other only.
    by_model = {s: np.reshape(seconds[s], (len(meshes), -1)) * 1e6 for s in settings}
    mean = {s: float(by_model[s].mean()) for s in settings}
    error = {s: _standard_error(by_model[s]) / mean[s] for s in settings}
    rows = []
    for b in BOUNDINGS:
        for m in names_for(b):
            keys = [(b, "none", 0)] + [(b, m, depth) for depth in levels[1:]]
            rows.append([b, m, "us", *(round(mean[k], 2) for k in keys)])
            rows.append([b, m, "std. error, %", *(round(100 * error[k], 2) for k in keys)])
            rows.append([b, m, "volume tests", *(round(float(counters[k][0]), 1) for k in keys)])
            rows.append([b, m, "3.2 tests", *(round(float(counters[k][1]), 1) for k in keys)])
            rows.append([b, m, "3.2 rejects", *(round(float(counters[k][2]), 1) for k in keys)])
            for k in keys:
                report.row("10", "all", f"{b} {m} us", k[2], mean[k])
                report.row("10", "all", f"{b} {m} volume tests", k[2], float(counters[k][0]))
    report.table(["volume", "mapping", "per configuration", *levels], rows)
    stuck = _by_class(meshes, CLASSED[size], deepest, report)
    _statements(report, mean, error, counters, levels, deepest, stuck)

    def draw(plt):
        figure, axes = plt.subplots(2, 3, figsize=(15, 8), sharex=True)
        columns = [[(b, m) for b in BOUNDINGS] for m in KINDS] + [[(b, m) for b in BOUNDINGS for m in names_for(b)[2:]]]
        for column, (title, lines) in enumerate(zip((*KINDS, "ours"), columns)):
            for b, m in lines:
                keys = [(b, "none", 0)] + [(b, m, depth) for depth in levels[1:]]
                bars, label = [2 * error[k] * mean[k] for k in keys], b if m in KINDS else f"{b}, {m}"
                axes[0][column].errorbar(levels, [mean[k] for k in keys], bars, fmt="o-", label=label, capsize=2)
                axes[1][column].plot(levels, [counters[k][0] for k in keys], "o-", label=label)
            axes[0][column].set(title=title, ylabel="us a configuration", ylim=(0, None))
            axes[1][column].set(xlabel="levels with SPM", ylabel="volume tests", ylim=(0, None))
            axes[0][column].legend(fontsize=8)
        return figure

    report.figure("figure_10", draw)


def _standard_error(times: np.ndarray) -> float:
    """Of the mean over (models, blocks)."""
    of_models = times.std(axis=1, ddof=1) / np.sqrt(times.shape[1])
    return float(np.sqrt((of_models**2).sum()) / len(times))


def _by_class(meshes, count: int, deepest: int, report: Report) -> float:
    """Tells what share of the plain spheres' time goes to each class of configurations, over all models: by what became of them
    with so many levels of DFSPM. Returns that of those that collide or that no level told apart."""
    below = "apart at level 2" if deepest == 2 else f"apart at levels 2 to {deepest}"
    classes = ("apart by spheres", "apart at the root", below, f"not told apart by {deepest} levels", "colliding")
    used, number = dict.fromkeys(classes, 0.0), dict.fromkeys(classes, 0)
    for mesh in meshes.values():
        rows = random_poses(count, space_for(mesh, min(count, 4000)), 5)
        hit, _ = surfaces_meet(mesh, mesh, IDENTITY, rows, bounding="sphere", mappings=(None, None))
        mapping = mapping_of(mesh, "DFSPM", deepest)
        plain, _ = surviving_levels(mesh, mesh, IDENTITY, rows, 1, bounding="sphere", mappings=(None, None))
        root, _ = surviving_levels(mesh, mesh, IDENTITY, rows, 1, bounding="sphere", mappings=(mapping, mapping))
        last, _ = surviving_levels(mesh, mesh, IDENTITY, rows, deepest, bounding="sphere", mappings=(mapping, mapping))
        which = np.select([hit, plain < 0, root < 0, last < deepest - 1], [4, 0, 1, 2], 3)
        for k, name in enumerate(classes):
            some = np.ascontiguousarray(rows[which == k])
            number[name] += len(some)
            times = []
            for _ in range(REPEATS if len(some) else 0):
                begin = time.thread_time()
                surfaces_meet(mesh, mesh, IDENTITY, some, bounding="sphere", mappings=(None, None), threads=1)
                times.append(time.thread_time() - begin)
            used[name] += min(times, default=0.0)
    total = sum(used.values())
    report.say("Where the plain spheres' time goes:")
    columns = ["class", "configurations, %", "time, %", "us each"]
    report.table(columns, [
        [name, 100.0 * number[name] / sum(number.values()), 100.0 * used[name] / total, 1e6 * used[name] / max(number[name], 1)]
        for name in classes
    ])  # fmt: skip
    for k, name in enumerate(classes):
        report.row("10", "all", f"plain spheres, share of time: {name}", k, used[name] / total)
    return (used[classes[3]] + used[classes[4]]) / total


def _measure(meshes, settings, count: int, block: int, partial: Path | None):
    """(seconds a configuration of each block, mean counters) of each setting; `partial`: kept there and gone on from."""
    seconds: dict[tuple, list[float]] = {s: [] for s in settings}
    sums = {s: np.zeros(4) for s in settings}
    done: dict[tuple[str, int], list[list[str]]] = {}
    if partial is not None and partial.exists():
        with partial.open() as file:
            for row in csv.reader(file):
                done.setdefault((row[0], int(row[1])), []).append(row[2:])
    blocks = max(1, count // block)
    for name, mesh in meshes.items():
        wanted = [k for k in range(blocks) if len(done.get((name, k), ())) < len(settings)]
        maps, space = {}, 0.0
        if wanted:
            space = space_for(mesh, min(count, 4000))
            for m in sorted({m for _, m, _ in settings} - {"none"}):
                depths = sorted({depth for _, other, depth in settings if other == m})
                maps |= {(m, depth): mapping for depth, mapping in by_levels(mesh, m, depths).items()}
            maps["none", 0] = None
        for k in progress(range(blocks), blocks, f"figure 10, {name}"):
            if k not in wanted:
                for b, m, depth, s, *c in done[name, k][: len(settings)]:
                    seconds[b, m, int(depth)].append(float(s))
                    sums[b, m, int(depth)] += np.array(c, dtype=float)
                continue
            rows = random_poses(block, space, 10_000 + k)
            records = []
            # Each block starts with another setting, so that nobody always follows the same neighbour; and a setting's
            # repeats lie far apart, so that one disturbance does not hit them all.
            shift = k % len(settings)
            order = settings[shift:] + settings[:shift]
            used = dict.fromkeys(settings, np.inf)
            counted: dict[tuple, np.ndarray] = {}
            truth = None
            for repeat in range(REPEATS):
                for b, m, depth in order:
                    pair = (maps[m, depth], maps[m, depth])
                    options = {"bounding": b, "mappings": pair, "threads": 1}
                    if k == 0 and repeat == 0:
                        surfaces_meet(mesh, mesh, IDENTITY, rows[:20], **options)
                    begin = time.thread_time()
                    hit, tests = surfaces_meet(mesh, mesh, IDENTITY, rows, count_tests=True, **options)
                    used[b, m, depth] = min(used[b, m, depth], (time.thread_time() - begin) / block)
                    truth = hit if truth is None else truth
                    assert (hit == truth).all(), (name, b, m, depth)
                    counted[b, m, depth] = tests.mean(axis=0)
            for s in order:
                seconds[s].append(used[s])
                sums[s] += counted[s]
                records.append([name, k, *s, used[s], *counted[s]])
            if partial is not None:
                with partial.open("a", newline="") as file:
                    csv.writer(file).writerows(records)
    return seconds, {s: sums[s] / max(len(seconds[s]), 1) for s in settings}


def _statements(report: Report, mean, error, counters, levels, deepest: int, stuck: float) -> None:
    gains, faster, prices = [], [], []
    free = {b: float(counters[b, "none", 0][0] / counters[b, "DFSPM", deepest][0]) for b in BOUNDINGS}
    for b in BOUNDINGS:
        base = mean[b, "none", 0]
        best = min(((m, d) for m in KINDS for d in levels[1:]), key=lambda k: mean[b, k[0], k[1]])
        gains.append(f"{b} {base:.1f} -> {mean[b, *best]:.1f} us ({best[0]}, {best[1]} levels)")
        # Beyond twice the standard error of the difference.
        noise = np.hypot(error[b, "none", 0] * base, error[b, *best] * mean[b, *best])
        if mean[b, *best] < base - 2.0 * noise:
            faster.append(b)
        # Time is (volume tests) x unit + (3.2 tests) x price, the triangle tests' time spread over the volume tests.
        unit = base / counters[b, "none", 0][0]
        deep = b, "DFSPM", deepest
        prices.append((mean[deep] - counters[deep][0] * unit) / counters[deep][1] / unit)
    report.compare(
        "Support planes lower the time of a test of two objects for spheres, AABBs and OBBs.",
        "plain -> best: " + "; ".join(gains) + f". Faster beyond the noise: {', '.join(faster) or 'none'}. There is little to "
        f"gain: {100 * stuck:.0f} % of the plain spheres' time goes to configurations that collide or that {deepest} levels do "
        "not tell apart. These gain too, since nodes below them are parted; in all, the volume tests that are left say what "
        f"{deepest} levels of DFSPM would gain if they cost nothing: "
        + ", ".join(f"{b} {free[b]:.2f}x" for b in BOUNDINGS)
        + f". Ours cost as much as {min(prices):.1f} to {max(prices):.1f} volume tests each.",
        None,
        "holds" if {"sphere", "aabb", "obb"} <= set(faster) else "differs",
    )
    saved = {b: 100 * (1 - counters[b, "DFSPM", deepest][0] / counters[b, "none", 0][0]) for b in BOUNDINGS}
    report.compare(
        "The total number of BV-BV tests is reduced by the mappings.",
        f"with {deepest} levels of DFSPM fewer volume tests, %: " + ", ".join(f"{b} {v:.1f}" for b, v in saved.items()) + ".",
        min(saved[b] for b in ("sphere", "aabb", "obb")) > (10.0 if deepest == 6 else 1.0),
    )
    report.compare(
        "(Ours) Compact mappings and the closed form of spheres, on the same levels.",
        f"with {deepest} levels {mean['sphere', 'none', 0]:.1f} us plain, {mean['sphere', 'DFSPM', deepest]:.1f} with DFSPM, "
        f"{mean['sphere', COMPACT_1, deepest]:.1f} with compact offsets, {mean['sphere', COMPACT_3, deepest]:.1f} with points "
        "and three directions.",
        None,
    )
    if report.generated and deepest == 6:
        faster_by = 100.0 * (1.0 - mean["sphere", COMPACT_1, deepest] / mean["sphere", "DFSPM", deepest])
        report.compare(
            "(Ours) Compact offsets make spheres with 6 levels at least 10 % faster than DFSPM does.",
            f"{faster_by:.1f} %.",
            None,
            "holds" if faster_by >= 10.0 else "differs",
        )
    worst = max(error.values())
    report.compare(
        "(Ours) The standard error of each mean is to be below 2 %.",
        f"largest {100 * worst:.2f} %{'' if worst < 0.02 else '; run again on a quieter machine'}.",
        None,
    )
