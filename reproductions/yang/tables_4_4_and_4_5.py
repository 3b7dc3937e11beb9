"""Tables 4.4 and 4.5, Figures 4.14 and A.4 to A.6: the plain and the multiresolution way, frame by frame."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from reproductions.report import Report
from reproductions.yang.surface_scenes import Floats, Measured, Scene, Way, differing, measure, scenes
from thud.terrain.collision.multiresolution import BOXES, COARSEST, FINER, FINEST, FINEST_LEVEL, METHODS, PLANES, PROJECTED
from thud.terrain.collision.tolerances import PLAIN_VERTICES

FRAMES = {"ci": 24, "standard": 363, "full": 363}
REPEATS = {"ci": 1, "standard": 3, "full": 9}
NAMES = {"alpha_plane": "alpha plane", "cubic": "cubic (ours)"}

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
        """The first frame whose plain projections are the median."""
        plain = self.counts("plain", PROJECTED)
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
        "ones 0.1 m). The plain way projects each vertex onto each primitive that passes swept box and bounding planes."
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
        for projection in NAMES:
            report.row(figure, projection, "plain ms, median", 0, float(np.median(one.milliseconds("plain", projection))))
            whole = float(np.median(one.milliseconds("multiresolution", projection)))
            report.row(figure, projection, "multiresolution ms, median", 0, whole)
        report.row(figure, "cubic", "plain projections, median", 0, float(np.median(one.counts("plain", PROJECTED))))
        whole = float(np.median(one.counts("multiresolution", PROJECTED)))
        report.row(figure, "cubic", "multiresolution projections, median", 0, whole)


def _table(report: Report, one: Outcome) -> None:
    """Table 4.4 or 4.5: one frame."""
    name, plain, levels, total = PAPER[one.scene.figure]
    frame = one.median_frame()
    report.say(
        f"Table {name}: frame {frame} of Figure {one.scene.figure}, the median by the plain way's projections. Early out is "
        "the search for primitives and the call itself."
    )
    columns = ["", "plain", "early out", "coarsest", "finer", "finest", "surface", "in all"]
    rows = [
        ["paper: calls", plain[0], "", *(level[0] for level in levels), ""],
        ["paper: ms", plain[1], "", *(level[1] for level in levels), total],
    ]
    for projection, label in NAMES.items():
        of = {method: one.runs[projection, method, False].counts[frame].sum(axis=0) for method in ("plain", "multiresolution")}
        tests = [str(of["multiresolution"][what]) for what in (COARSEST, FINER, FINEST, PROJECTED)]
        rows.append([f"{label}: calls", str(of["plain"][PROJECTED]), str(of["plain"][PLANES]), *tests, ""])
        parts = [f"{value[frame]:.3f}" for value in one.levels[projection].values()]
        whole = one.milliseconds("multiresolution", projection)[frame]
        rows.append([f"{label}: ms", f"{one.milliseconds('plain', projection)[frame]:.3f}", *parts, f"{whole:.3f}"])
    report.table(columns, rows)


def _overview(report: Report, found: dict[str, Outcome]) -> None:
    """All scenes, medians over the frames."""
    report.say("Medians over the frames, ratios frame by frame:")
    rows = []
    for figure, one in found.items():
        counts = [
            *(np.median(one.counts("plain", what)) for what in (BOXES, PLANES, PROJECTED)),
            *(np.median(one.counts("multiresolution", what)) for what in (COARSEST, FINER, FINEST, PROJECTED)),
        ]
        rows.append([figure, *(f"{value:.0f}" for value in counts), f"{_fall(one):.0f}x"])
    columns = ["figure", "in swept box", "between planes", "plain projections", "coarsest", "finer", "finest", "projections"]
    report.table([*columns, "fewer"], rows)
    rows = []
    for figure, one in found.items():
        for projection, label in NAMES.items():
            cells = []
            for peaks in (False, True):
                plain, multi = (
                    one.milliseconds("plain", projection, peaks),
                    one.milliseconds("multiresolution", projection, peaks),
                )
                cells += [f"{np.median(plain):.2f}", f"{np.median(multi):.3f}", f"{np.median(plain / multi):.1f}x"]
            hits = [
                sum(int(hit.sum()) for frame in one.runs[projection, "multiresolution", peaks].hits for hit in frame)
                for peaks in (False, True)
            ]
            rows.append([figure, label, *cells, str(hits[0]), str(hits[1] - hits[0])])
    columns = ["figure", "projection", "plain ms", "multiresolution ms", "ratio"]
    columns += ["with peaks: plain ms", "multiresolution ms", "ratio", "parts found by vertices", "more by peaks"]
    report.table(columns, rows)


def _fall(one: Outcome) -> float:
    """How many times fewer backward projections, all frames together."""
    return float(one.counts("plain", PROJECTED).sum() / max(1.0, one.counts("multiresolution", PROJECTED).sum()))


def differences(one: Outcome) -> tuple[int, int, int]:
    """Parts in frames on which the methods differ, both projections: touching the surface, by vertices and with peaks; and off
    it."""
    found = {
        (projection, peaks): differing(one.scene, *(one.runs[projection, way, peaks] for way in ("plain", "multiresolution")))
        for projection in NAMES
        for peaks in (False, True)
    }
    touching = [sum(found[name, peaks][0] for name in NAMES) for peaks in (False, True)]
    return touching[0], touching[1], sum(x[1] for x in found.values())


def _statements(report: Report, found: dict[str, Outcome]) -> None:
    lost = {figure: differences(one) for figure, one in found.items()}
    report.compare(
        "(beyond the paper) Both methods find the same parts in every frame: by their vertices, and with peaks.",
        f"{sum(x[0] for x in lost.values())} and {sum(x[1] for x in lost.values())} differ among parts that touch the surface, "
        f"all scenes and both projections. The plain way alone finds {sum(x[2] for x in lost.values())} that do not touch it, "
        "at primitives whose directions cross within their lengths.",
        all(x[0] == 0 and x[1] == 0 for x in lost.values()),
    )
    dense, small = found["A.6"], found["4.14"]
    report.compare(
        "Table 4.5, warship among dense primitives: 869 calls become 11. (Our goal: at least 50 times fewer.)",
        f"{_fall(dense):.0f} times fewer backward projections over all frames, and at least "
        f"{(dense.counts('plain', PROJECTED) / np.maximum(dense.counts('multiresolution', PROJECTED), 1)).min():.0f} in each.",
        _fall(dense) >= 50.0,
    )
    report.compare(
        "Table 4.4, scene with small objects: 97 calls become 15.",
        f"{_fall(small):.0f} times fewer over all frames.",
        _fall(small) >= 97 / 15,
    )
    ratio = {name: np.median(dense.milliseconds("plain", name) / dense.milliseconds("multiresolution", name)) for name in NAMES}
    report.compare(
        "Table 4.5: the time using multiresolution detection is 1/13 of the one using the old method.",
        f"1/{ratio['alpha_plane']:.0f} with the alpha plane (our goal: 1/13), 1/{ratio['cubic']:.0f} with the cubic, which is "
        "itself faster (our goal: 1/3).",
        None,
    )
    _small_objects(report, small)


def _small_objects(report: Report, small: Outcome) -> None:
    """The exception of Figure 4.14's beginning, object by object."""
    rows = []
    for k, mover in enumerate(small.scene.movers):
        cells = []
        for projection in NAMES:
            plain, multi = (
                1e6 * small.runs[projection, method, False].seconds[mover.first :, k] for method in ("plain", "multiresolution")
            )
            cells += [f"{np.median(plain):.0f}", f"{np.median(multi):.0f}", f"{np.median(plain / multi):.2f}"]
        rows.append([mover.name, mover.parts, mover.vertices, *cells])
    report.say(f"Figure 4.14 object by object; the cruise ship is there from frame {small.scene.movers[-1].first} on:")
    columns = ["object", "parts", "vertices", "alpha plane: plain us", "multiresolution us", "ratio"]
    report.table([*columns, "cubic: plain us", "multiresolution us", "ratio"], rows)
    first = small.scene.movers[-1].first
    before = {
        name: np.median((small.milliseconds("plain", name) / small.milliseconds("multiresolution", name))[:first])
        for name in NAMES
    }
    after = {
        name: np.median((small.milliseconds("plain", name) / small.milliseconds("multiresolution", name))[first:])
        for name in NAMES
    }
    report.compare(
        "Where there are only small objects the multiresolution method is slower (5.1.1).",
        f"plain over multiresolution before the ship is there {before['alpha_plane']:.2f} with the alpha plane and "
        f"{before['cubic']:.2f} with the cubic; after it {after['alpha_plane']:.1f} and {after['cubic']:.1f}. "
        f'`method="auto"` takes the plain way up to {PLAIN_VERTICES} vertices.',
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
            ax.plot(one.milliseconds("plain", projection), color="red", label="plain")
            ax.plot(levels["coarsest"], color="green", label="coarsest volumes")
            ax.plot(levels["finer"] + levels["finest"], color="violet", lw=0.9, label="finer and finest volumes")
            ax.plot(levels["surface"], color="gold", label="final surface")
            ax.plot(one.milliseconds("multiresolution", projection), color="0.3", lw=0.8, ls="--", label="multiresolution, all")
            ax.set(yscale="log", ylabel="ms", title=f"Figure {name}: {one.scene.name}; {NAMES[projection]}")
            ax.set_ylim(bottom=1e-3)
        ax = row[2]
        ax.plot(one.counts("plain", PROJECTED), color="red", label="plain projections")
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
