"""Tables 4.4 and 4.5, Figures 4.14 and A.4 to A.6: every vertex, the plain and the multiresolution way, frame by frame.

The paper calls the old method "original" and describes it twice: 2.6 projects the vertices between the bounding planes, 3.6 and
5.1 speak of every vertex. Both stand beside the multiresolution way, which gets the same culling by boxes and planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reproductions.report import Report
from reproductions.yang.surface_scenes import Floats, Measured, Scene, Way, differing, measure, scenes
from thud.terrain.collision.counts import (
    BOXES,
    COARSEST,
    FINER,
    FINEST,
    FINEST_LEVEL,
    METHODS,
    PAIRS,
    PAIRS_BEYOND,
    PLANES,
    PROJECTED,
    VERTICES_BEYOND,
    VOLUMES_APART,
)
from thud.terrain.collision.tolerances import PLAIN_VERTICES

FRAMES = {"ci": 24, "standard": 121, "full": 363}
REPEATS = {"ci": 1, "standard": 2, "full": 9}
NAMES = {"alpha_plane": "alpha plane", "cubic": "cubic (ours)"}
LABELS = {"every_vertex": "every vertex", "plain": "plain (2.6)", "multiresolution": "multiresolution", "auto": "auto (ours)"}

#: The paper's rows: plain calls and ms; then calls and ms of coarsest, finer, finest and surface; ms in all.
PAPER = {
    "4.14": ("4.4", (97, 2.103), ((40, 0.812), (24, 0.018), (12, 0.007), (15, 0.24)), 1.077),
    "A.6": ("4.5", (869, 9.742), ((62, 0.236), (18, 0.028), (9, 0.006), (11, 0.472)), 0.742),
}


@dataclass(frozen=True)
class Outcome:
    """A scene measured: by projection, method and peaks; and milliseconds (F,) of each level by projection."""

    scene: Scene
    runs: dict[tuple[str, str, bool], Measured]
    levels: dict[str, dict[str, Floats]]

    def counts(self, method: str, what: int, projection: str = "cubic") -> Floats:
        """(F,) of all objects together, as in the paper: without peaks."""
        return self.runs[projection, method, False].counts[:, :, what].sum(axis=1).astype(float)

    def milliseconds(self, method: str, projection: str, peaks: bool = False) -> Floats:
        """(F,) of all objects together."""
        return 1e3 * self.runs[projection, method, peaks].seconds.sum(axis=1)

    def median_frame(self) -> int:
        """The first frame in which projections of every vertex are the median."""
        plain = self.counts("every_vertex", PROJECTED)
        return int(np.argmin(np.abs(plain - np.percentile(plain, 50, method="lower"))))


def outcome(scene: Scene, repeats: int) -> Outcome:
    """All ways of one scene."""
    whole = [Way(method, name, peaks) for name in NAMES for method in METHODS for peaks in (False, True)]
    stopped = [Way("multiresolution", "cubic", False, stage) for stage in range(FINEST_LEVEL + 1)]
    found = measure(scene, whole + stopped, repeats)
    runs = {(way.projection, way.method, way.peaks): one for way, one in zip(whole, found)}
    upto = found[len(whole) :]
    levels = {name: level_times(upto, runs[name, "multiresolution", False]) for name in NAMES}
    return Outcome(scene, runs, levels)


def level_times(upto: list[Measured], whole: Measured) -> dict[str, Floats]:
    """Milliseconds (F,) of each level. A run that stops at a level confirms no part, and so goes on testing what the whole run
    skips: a level has the time a test takes there, times the tests of the whole run."""
    t0, t1, t2, t3 = (x.seconds.sum(axis=1) for x in upto)
    total = whole.seconds.sum(axis=1)

    def share(what: int, stopped: Measured) -> Floats:
        tests = whole.counts[:, :, what].sum(axis=1), stopped.counts[:, :, what].sum(axis=1)
        return np.where(tests[1] > 0, tests[0] / np.maximum(tests[1], 1), 1.0)

    volumes = np.maximum(np.minimum(t3, total) - t0, 0.0)
    coarsest = np.minimum(np.maximum(t1 - t0, 0.0) * share(COARSEST, upto[1]), volumes)
    finer = np.minimum(np.maximum(t2 - t1, 0.0) * share(FINER, upto[2]), volumes - coarsest)
    times = {"early out": t0, "coarsest": coarsest, "finer": finer, "finest": volumes - coarsest - finer}
    times["surface"] = np.maximum(total - t0 - volumes, 0.0)
    return {name: 1e3 * value for name, value in times.items()}


def run(size: str, report: Report) -> None:
    """The scenes, the tables, the plots, the statements."""
    report.heading("Tables 4.4 and 4.5, Figures 4.14 and A.4 to A.6: multiresolution collision detection")
    frames, repeats = FRAMES[size], REPEATS[size]
    made = scenes(frames)
    report.say(
        f"{frames} frames a scene, times are the best of {repeats} in each, one thread. The ground is a generated terrain "
        "of 96 by 96 m with a cliff, an arch and a tunnel, in primitives of 12 m with 16 samples a side (sparse) or of 3 m "
        "with 4 (dense). Objects move along straight lines, lowered in each frame until they dig 0.4 m into the ground (small "
        "ones 0.1 m). The paper describes its original method twice. `every_vertex` projects each vertex onto each primitive "
        "that passes swept box and bounding planes, as 3.6 and 5.1 have it. `plain` has all of chapter 2: each part of the "
        "object goes down the tree of the primitives' boxes (2.5.3), its box is compared with the bounding planes, and only "
        "vertices between them are projected (2.6). The multiresolution way has the same before and after its volumes."
    )
    report.table(["figure", "scene", "primitives", "objects", "convex parts", "vertices"], [
        [s.figure, s.name, np.shape(s.surface.primitives)[0], len(s.movers), sum(m.parts for m in s.movers),
         sum(m.vertices for m in s.movers)]
        for s in made
    ])  # fmt: skip
    found = {scene.figure: outcome(scene, repeats) for scene in made}
    for figure in PAPER:
        _table(report, found[figure])
    _overview(report, found)
    _statements(report, found)
    report.figure("figures_4_14_and_a_4_to_a_6", lambda plt: _draw(plt, found))
    report.say("Lines of single levels are running medians of 9 frames; a violet line that leaves the plot is below 1 us.")
    for figure, one in found.items():
        for method in METHODS:
            for projection in NAMES:
                report.row(
                    figure, projection, f"{method} ms, median", 0, float(np.median(one.milliseconds(method, projection)))
                )
            report.row(figure, "cubic", f"{method} projections, median", 0, float(np.median(one.counts(method, PROJECTED))))


def _table(report: Report, one: Outcome) -> None:
    """Table 4.4 or 4.5: one frame."""
    name, plain, levels, total = PAPER[one.scene.figure]
    frame = one.median_frame()
    report.say(
        f"Table {name}: frame {frame} of Figure {one.scene.figure}, the median by projections of every vertex. Early out is "
        "the search for primitives and the call itself."
    )
    columns = ["", "every vertex", "plain (2.6)", "early out", "coarsest", "finer", "finest", "surface", "in all"]
    rows = [
        ["paper: calls", plain[0], "", "", *(level[0] for level in levels), ""],
        ["paper: ms", plain[1], "", "", *(level[1] for level in levels), total],
    ]
    for projection, label in NAMES.items():
        of = {method: one.runs[projection, method, False].counts[frame].sum(axis=0) for method in METHODS}
        tests = [str(of["multiresolution"][what]) for what in (COARSEST, FINER, FINEST, PROJECTED)]
        old = [str(of[method][PROJECTED]) for method in ("every_vertex", "plain")]
        rows.append([f"{label}: calls", *old, str(of["plain"][PLANES]), *tests, ""])
        parts = [f"{value[frame]:.3f}" for value in one.levels[projection].values()]
        times = [f"{one.milliseconds(method, projection)[frame]:.3f}" for method in ("every_vertex", "plain")]
        rows.append([f"{label}: ms", *times, *parts, f"{one.milliseconds('multiresolution', projection)[frame]:.3f}"])
    report.table(columns, rows)
    report.say("Every pair that was looked at in that frame, and what rejected it (cubic):")
    rows = []
    for method in ("plain", "multiresolution"):
        counts = one.runs["cubic", method, False].counts[frame].sum(axis=0)
        rows.append([LABELS[method], *(str(counts[k]) for k in (PAIRS, PAIRS_BEYOND, VERTICES_BEYOND, VOLUMES_APART)),
                     str(counts[COARSEST] + counts[FINER] + counts[FINEST]), str(counts[PROJECTED])])  # fmt: skip
    report.table(
        ["", "part and primitive, boxes meet", "rejected by planes", "vertices rejected by planes",
         "part and volume, rejected by boxes", "volumes asked by GJK", "projections"], rows,
    )  # fmt: skip


def _overview(report: Report, found: dict[str, Outcome]) -> None:
    """All scenes, medians over the frames."""
    report.say("Medians over the frames:")
    rows = []
    for figure, one in found.items():
        counts = [
            *(np.median(one.counts("plain", what)) for what in (BOXES, PLANES)),
            *(np.median(one.counts(method, PROJECTED)) for method in ("every_vertex", "plain")),
            *(np.median(one.counts("multiresolution", what)) for what in (COARSEST, FINER, FINEST, PROJECTED)),
        ]
        rows.append(
            [figure, *(f"{value:.0f}" for value in counts), *(f"{_fall(one, m):.1f}x" for m in ("every_vertex", "plain"))]
        )
    columns = ["figure", "in swept box", "between planes", "projections: every vertex", "plain (2.6)"]
    columns += ["multiresolution: coarsest", "finer", "finest", "projections", "fewer than every vertex", "fewer than plain"]
    report.table(columns, rows)
    report.say("Milliseconds, medians over the frames; ratios to the multiresolution way frame by frame:")
    rows = []
    for figure, one in found.items():
        for projection, label in NAMES.items():
            cells = []
            for peaks in (False, True):
                times = {method: one.milliseconds(method, projection, peaks) for method in METHODS}
                cells += [f"{np.median(value):.3f}" for value in times.values()]
                for method in ("every_vertex", "plain"):
                    cells.append(f"{np.median(times[method] / times['multiresolution']):.2f}")
            hits = [
                sum(int(hit.sum()) for frame in one.runs[projection, "multiresolution", peaks].hits for hit in frame)
                for peaks in (False, True)
            ]
            rows.append([figure, label, *cells, str(hits[0]), str(hits[1] - hits[0])])
    each = [*LABELS.values(), "every vertex / multiresolution", "plain / multiresolution"]
    columns = ["figure", "projection", *each, *(f"with peaks: {name}" for name in each)]
    report.table([*columns, "parts found by vertices", "more by peaks"], rows)


def _fall(one: Outcome, method: str) -> float:
    """How many times fewer backward projections the multiresolution way has, all frames together."""
    return float(one.counts(method, PROJECTED).sum() / max(1.0, one.counts("multiresolution", PROJECTED).sum()))


def differences(one: Outcome) -> tuple[int, int, int]:
    """Parts in frames on which a method differs from the multiresolution way, both projections: touching the surface, by
    vertices and with peaks; and off it."""
    found = {
        (projection, peaks, method): differing(
            one.scene, *(one.runs[projection, way, peaks] for way in (method, "multiresolution"))
        )
        for projection in NAMES
        for peaks in (False, True)
        for method in METHODS
    }
    touching = [sum(value[0] for key, value in found.items() if key[1] == peaks) for peaks in (False, True)]
    return touching[0], touching[1], sum(value[1] for value in found.values())


def _statements(report: Report, found: dict[str, Outcome]) -> None:
    lost = {figure: differences(one) for figure, one in found.items()}
    report.compare(
        "(beyond the paper) All methods find the same parts in every frame: by their vertices, and with peaks.",
        f"{sum(x[0] for x in lost.values())} and {sum(x[1] for x in lost.values())} differ among parts that touch the surface, "
        f"all scenes and both projections. The plain ways alone find {sum(x[2] for x in lost.values())} that do not touch it, "
        "at primitives whose directions cross within their lengths.",
        all(x[0] == 0 and x[1] == 0 for x in lost.values()),
    )
    dense, small = found["A.6"], found["4.14"]
    fewer = dense.counts("every_vertex", PROJECTED) / np.maximum(dense.counts("multiresolution", PROJECTED), 1)
    report.compare(
        "Table 4.5, warship among dense primitives: 869 calls become 11.",
        f"{_fall(dense, 'every_vertex'):.0f} times fewer backward projections than of every vertex over all frames, and at "
        f"least {fewer.min():.0f} in each; {_fall(dense, 'plain'):.2f} times fewer than with 2.6's test of vertices: the "
        "planes do most of what the volumes do.",
        _fall(dense, "every_vertex") >= 869 / 11,
    )
    report.compare(
        "Table 4.4, scene with small objects: 97 calls become 15.",
        f"{_fall(small, 'every_vertex'):.0f} times fewer than of every vertex over all frames, "
        f"{_fall(small, 'plain'):.2f} times fewer than with 2.6's test.",
        _fall(small, "every_vertex") >= 97 / 15,
    )
    ratio = {
        (name, method): np.median(dense.milliseconds(method, name) / dense.milliseconds("multiresolution", name))
        for name in NAMES
        for method in ("every_vertex", "plain")
    }
    report.compare(
        "Table 4.5: the time using multiresolution detection is 1/13 of the one using the old method.",
        f"1/{ratio['alpha_plane', 'every_vertex']:.0f} of the time of every vertex with the alpha plane, "
        f"1/{ratio['cubic', 'every_vertex']:.0f} with the cubic. Of the plain way with 2.6's test it is "
        f"1/{ratio['alpha_plane', 'plain']:.2f} and 1/{ratio['cubic', 'plain']:.2f}: in this scene the volumes gain little or "
        "nothing over the planes. Where they do: Section 5.2 below.",
        None,
    )
    _small_objects(report, small)


def _small_objects(report: Report, small: Outcome) -> None:
    """The exception of Figure 4.14's beginning, object by object."""
    rows = []
    for k, mover in enumerate(small.scene.movers):
        cells = []
        for projection in NAMES:
            every, plain, multi = (
                1e6 * small.runs[projection, method, False].seconds[mover.first :, k]
                for method in ("every_vertex", "plain", "multiresolution")
            )
            cells += [f"{np.median(x):.0f}" for x in (every, plain, multi)] + [f"{np.median(plain / multi):.2f}"]
        rows.append([mover.name, mover.parts, mover.vertices, *cells])
    report.say(f"Figure 4.14 object by object; the cruise ship is there from frame {small.scene.movers[-1].first} on:")
    each = ["every vertex us", "plain us", "multiresolution us", "plain / multiresolution"]
    columns = ["object", "parts", "vertices", *(f"{label}: {name}" for label in NAMES.values() for name in each)]
    report.table(columns, rows)
    first = small.scene.movers[-1].first
    ratio = {name: small.milliseconds("plain", name) / small.milliseconds("multiresolution", name) for name in NAMES}
    before, after = ({name: np.median(x[part]) for name, x in ratio.items()} for part in (slice(first), slice(first, None)))
    report.compare(
        "Where there are only small objects the multiresolution method is slower (5.1.1).",
        f"plain (2.6) over multiresolution before the ship is there {before['alpha_plane']:.2f} with the alpha plane and "
        f"{before['cubic']:.2f} with the cubic; after it {after['alpha_plane']:.2f} and {after['cubic']:.2f}. "
        f'`method="auto"` asks volumes for a part with more than {PLAIN_VERTICES} vertices.',
        None,
    )


def running_median(values: Floats, width: int = 9) -> Floats:
    """Of `width` frames: times of levels are differences of short runs, and noisy."""
    padded = np.pad(values, width // 2, mode="edge")
    return np.median(np.lib.stride_tricks.sliding_window_view(padded, width), axis=1)


def _draw(plt: Any, found: dict[str, Outcome]) -> Any:
    """A row a figure: times with either projection in the paper's colours (levels as running medians), and counts."""
    figure, axes = plt.subplots(len(found), 3, figsize=(17, 3.6 * len(found)), sharex=True)
    for row, (name, one) in zip(axes, found.items()):
        for ax, projection in zip(row, NAMES):
            levels = {name: running_median(value) for name, value in one.levels[projection].items()}
            ax.plot(one.milliseconds("every_vertex", projection), color="red", label="every vertex")
            ax.plot(one.milliseconds("plain", projection), color="tab:blue", lw=0.9, label="plain (2.6)")
            ax.plot(levels["coarsest"], color="green", label="coarsest volumes")
            ax.plot(levels["finer"] + levels["finest"], color="violet", lw=0.9, label="finer and finest volumes")
            ax.plot(levels["surface"], color="gold", label="final surface")
            ax.plot(one.milliseconds("multiresolution", projection), color="0.3", lw=0.8, ls="--", label="multiresolution, all")
            ax.set(yscale="log", ylabel="ms", title=f"Figure {name}: {one.scene.name}; {NAMES[projection]}")
            ax.set_ylim(bottom=1e-3)
        ax = row[2]
        ax.plot(one.counts("every_vertex", PROJECTED), color="red", label="projections of every vertex")
        ax.plot(one.counts("plain", PROJECTED), color="tab:blue", lw=0.9, label="plain projections (2.6)")
        for what, color, label in ((COARSEST, "green", "coarsest tests"), (FINER, "violet", "finer tests")):
            ax.plot(one.counts("multiresolution", what), color=color, label=label)
        ax.plot(one.counts("multiresolution", FINEST), color="purple", lw=0.8, label="finest tests")
        ax.plot(one.counts("multiresolution", PROJECTED), color="gold", label="projections left")
        ax.set(yscale="symlog", ylabel="number", title=f"Figure {name}: counts")
        for ax in row:
            ax.grid(alpha=0.25)
    for ax in axes[-1]:
        ax.set_xlabel("frame")
    axes[0, 0].legend(fontsize=8)
    axes[0, 2].legend(fontsize=8)
    return figure
