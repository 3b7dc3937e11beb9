"""Figure 9: culling improvement over the levels that have support-plane mappings.

"The percentage of the tests between non-colliding objects that the proposed algorithm managed to reject, even though the
respective BVs overlapped ... 100 % means that all non-colliding pairs are rejected at the given level of the BVH. The
reference value of the standard BVHs is 0 %." Both trees are opened level by level, and of the non-colliding configurations
whose roots' volumes overlap we count

- those told apart within L levels with mappings on all of them (what 100 % would mean), and by the plain hierarchy;
- the improvement: of those that the plain hierarchy cannot tell apart within L levels, the share that the mappings do. The
  paper's reference of 0 % means this one;
- the tests: of all tests of volumes that overlap, on L levels, the share that Theorem 3.2 ends. By its words the paper may
  have meant that.

The paper averages over its simulations, most of whose pairs are neighbours in a crowd, and does not say how. So there are
two sets of configurations: `close`, in the space of Figure 10, where 60 % collide and the rest nearly do; and `wide`, at any
position at which the roots' spheres may overlap.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import thud
from reproductions.progress import progress
from reproductions.vogiannou.configurations import IDENTITY, colliding, random_poses, space_for
from reproductions.vogiannou.mappings import COMPACT_3, THREE, mapping_of, names_for
from reproductions.vogiannou.mappings import PAPER as KINDS
from reproductions.vogiannou.report import Report
from thud.bounds.support_planes import support_planes
from thud.mesh.volumes import surviving_levels
from thud.pose import Pose

#: Configurations of each set, over all models.
COUNTS = {"ci": 600, "standard": 300_000, "full": 2_000_000}
#: Of these, in each set and model, tests are counted one by one and hulls are looked at.
COUNTED = {"ci": 200, "standard": 10_000, "full": 50_000}
#: Floor of the improvement with 6 levels in the wide set, %, for spheres, AABBs and OBBs; with the 4 levels of ci less.
FLOORS = {"ci": 45.0, "standard": 55.0, "full": 55.0}
LEVELS = {"ci": 4, "standard": 8, "full": 8}
SETS = ("close", "wide")
BOUNDINGS = ("sphere", "aabb", "obb", "kdop")
MAPPINGS = {"DVSPM": ("vertex", False), "DFSPM": ("face", False), "VSPM": ("vertex", True), "FSPM": ("face", True)}
BLOCK = 50_000


@dataclass
class Survivors:
    """What is left of the non-colliding configurations."""

    left: dict[tuple[str, str, str], np.ndarray]
    """By (set, volume, mapping, "plain" or "roots"): how many survive each number of levels."""
    tests: dict[tuple[str, str, str], np.ndarray]
    """(levels, 2) tests of volumes that overlap on each level, and those that Theorem 3.2 ends."""
    stuck: dict[tuple[str, str], list[int]]
    """By (set, model): sphere pairs that 6 levels of DFSPM leave, of these the ones with disjoint hulls, and of these the ones
    that as many levels with three directions part."""


def count_survivors(meshes: dict[str, thud.TriangleMesh], levels: int, count: int, counted: int, report: Report) -> Survivors:
    """Open the trees of all non-colliding configurations."""
    ours = (THREE, COMPACT_3)
    tests = {(s, b, m): np.zeros((levels, 2), np.int64) for s in SETS for b in BOUNDINGS for m in KINDS}
    stuck = {(s, name): [0, 0, 0] for s in SETS for name in meshes}
    left = {(s, b, m): np.zeros(levels, np.int64) for s in SETS for b in BOUNDINGS for m in ("roots", "plain", *MAPPINGS)}
    left |= {(s, b, m): np.zeros(levels, np.int64) for s in SETS for b in BOUNDINGS for m in ours if m in names_for(b)}
    for name, mesh in meshes.items():
        top = mesh.tree.skip, mesh.tree.first, mesh.corners
        maps = {m: support_planes(*top, kind, levels, 32, exact=exact) for m, (kind, exact) in MAPPINGS.items()}
        maps |= {m: mapping_of(mesh, m, levels) for m in ours}
        for chosen in SETS:
            space = space_for(mesh, min(count, 4000)) if chosen == "close" else 2.0 * float(mesh.spheres[0, 3])
            starts = range(0, count, BLOCK)
            hits = 0
            for start in progress(starts, len(starts), f"figure 9, {name}, {chosen}"):
                rows = random_poses(min(BLOCK, count - start), space, 100 + start // BLOCK)
                hit = colliding(mesh, rows)
                hits += int(hit.sum())
                apart = np.ascontiguousarray(rows[~hit])
                for b in BOUNDINGS:
                    plain, _ = surviving_levels(mesh, mesh, IDENTITY, apart, levels, bounding=b, mappings=(None, None))
                    overlap = np.ascontiguousarray(apart[plain >= 0])
                    left[chosen, b, "roots"] += len(overlap)
                    # Level k - 1 still has a pair of nodes: k levels do not tell the objects apart.
                    left[chosen, b, "plain"] += (plain[:, None] >= np.arange(levels)).sum(axis=0)
                    for m, mapping in maps.items():
                        if (chosen, b, m) not in left:
                            continue
                        last, _ = surviving_levels(
                            mesh, mesh, IDENTITY, overlap, levels, bounding=b, mappings=(mapping, mapping)
                        )
                        left[chosen, b, m] += (last[:, None] >= np.arange(levels)).sum(axis=0)
                if start == 0:
                    some = np.ascontiguousarray(apart[:counted])
                    for b in BOUNDINGS:
                        for m in KINDS:
                            pair = (maps[m], maps[m])
                            options = {"bounding": b, "mappings": pair, "count_tests": True}
                            last, found = surviving_levels(mesh, mesh, IDENTITY, some, levels, **options)
                            tests[chosen, b, m] += found.sum(axis=0)
                            if (b, m) == ("sphere", "DFSPM"):
                                at = min(6, levels)
                                rest = np.ascontiguousarray(some[last >= at - 1])
                                meet = thud.intersects(mesh.hull, mesh.hull, None, Pose.from_rows(rest))
                                pair = (maps[COMPACT_3], maps[COMPACT_3])
                                three, _ = surviving_levels(mesh, mesh, IDENTITY, rest, at, bounding=b, mappings=pair)
                                parted = three[~meet] < at - 1
                                stuck[chosen, name] = [len(meet), int((~meet).sum()), int(parted.sum())]
            report.say(f"- {name}, {chosen}: {count} configurations, {100 * hits / count:.1f} % colliding")
    return Survivors(left, tests, stuck)


def run(meshes: dict[str, thud.TriangleMesh], size: str, report: Report) -> None:
    """The table, the plot, the statements."""
    report.heading("Figure 9: culling over levels, % of the non-colliding configurations whose roots' volumes overlap")
    levels = LEVELS[size]
    found = count_survivors(meshes, levels, COUNTS[size] // len(meshes), COUNTED[size], report)
    left = found.left
    apart = {k: 100.0 * (1 - v / np.maximum(left[k[0], k[1], "roots"], 1)) for k, v in left.items() if k[2] != "roots"}
    better = {
        k: 100.0 * (1 - v / np.maximum(left[k[0], k[1], "plain"], 1)) for k, v in left.items() if k[2] not in ("roots", "plain")
    }
    columns = ["set", "volume", "mapping", *range(1, levels + 1)]
    report.say("Told apart within so many levels:")
    report.table(columns, [[*k, *(float(round(y, 1)) for y in v)] for k, v in apart.items()])
    report.say("Improvement: of those that the plain hierarchy does not tell apart within so many levels:")
    report.table(columns, [[*k, *(float(round(y, 1)) for y in v)] for k, v in better.items()])
    ended = {k: 100.0 * v[:, 1].cumsum() / np.maximum(v[:, 0].cumsum(), 1) for k, v in found.tests.items()}
    report.say("Tests: of the tests of volumes that overlap, on so many levels, the share that Theorem 3.2 ends, %:")
    report.table(columns, [[*k, *(float(round(y, 1)) for y in v)] for k, v in ended.items()])
    report.say(
        f"Sphere pairs that {min(6, levels)} levels of DFSPM leave, the share of them whose hulls are disjoint, and the share "
        "of these that as many levels with three directions (compact) part:"
    )
    hulls = [
        [*k, n, float(round(100.0 * m / max(n, 1), 1)), float(round(100.0 * p / max(m, 1), 1))]
        for k, (n, m, p) in found.stuck.items()
    ]
    report.table(["set", "model", "left", "hulls disjoint, %", "parted by three, %"], hulls)
    for chosen, name, _, share, _ in hulls:
        report.row("9", f"{chosen}, {name}", "left by spheres DFSPM, hulls disjoint", min(6, levels), share)
    for k, values in better.items():
        for depth, value in enumerate(values):
            report.row("9", f"{k[0]}, improvement", f"{k[1]} {k[2]}", depth + 1, float(value))
    for k, values in apart.items():
        for depth, value in enumerate(values):
            report.row("9", k[0], f"{k[1]} {k[2]}", depth + 1, float(value))
    _statements(report, apart, better, ended, hulls, levels, FLOORS[size])

    def draw(plt):
        figure, axes = plt.subplots(2, len(BOUNDINGS), figsize=(4 * len(BOUNDINGS), 7.4), sharex=True, sharey=True)
        for row, chosen in enumerate(SETS):
            for ax, b in zip(axes[row], BOUNDINGS):
                ax.plot(range(1, levels + 1), apart[chosen, b, "plain"], "k--", label="plain hierarchy")
                for m, style in zip((*MAPPINGS, THREE, COMPACT_3), ("o-", "s-", "o:", "s:", "^-", "v-")):
                    if (chosen, b, m) not in apart:
                        continue
                    ax.plot(range(1, levels + 1), apart[chosen, b, m], style, label=m, mfc="none")
                ax.set(title=f"{b if b != 'kdop' else 'k-DOP (our addition)'}, {chosen}", ylim=(0, 102))
            axes[row][0].set_ylabel("told apart, %")
        for ax in axes[1]:
            ax.set_xlabel("levels with SPM")
        for ax in axes[1]:
            ax.legend(loc="lower right", fontsize=7)
        return figure

    report.figure("figure_9", draw)


def _span(values) -> str:
    return f"{min(values):.0f} to {max(values):.0f} %"


def _statements(report: Report, apart, better, ended, hulls, levels: int, floor: float) -> None:
    paper = ("sphere", "aabb", "obb")
    at = min(6, levels) - 1
    told = {s: [apart[s, b, m][at] for b in paper for m in MAPPINGS] for s in SETS}
    plain = {s: [apart[s, b, "plain"][at] for b in paper] for s in SETS}
    report.compare(
        "The culling improvement gets very close to 100 % at 5-6 levels.",
        f"with {at + 1} levels the mappings tell apart {_span(told['wide'])} of the wide set (plain hierarchies "
        f"{_span(plain['wide'])}) and {_span(told['close'])} of the close one (plain {_span(plain['close'])}). Of the sphere "
        f"pairs that are left, {_span([row[3] for row in hulls])} have disjoint hulls, by model and set: one direction misses "
        f"them. Three part {_span([row[4] for row in hulls if row[3] > 0.0] or [0.0])} of these. The paper says neither how "
        "its pairs were chosen nor how the two trees are opened against each other.",
        None,
        "differs",
    )
    report.compare(
        f"(Ours) With {at + 1} levels the improvement over the plain hierarchy is at least {floor:.0f} % in the wide set, by "
        "every volume and mapping.",
        f"{_span([better['wide', b, m][at] for b in paper for m in MAPPINGS])}.",
        min(better["wide", b, m][at] for b in paper for m in MAPPINGS) >= floor if report.generated else None,
    )
    report.compare(
        "(By tests in place of configurations) The percentage of the tests that the algorithm managed to reject.",
        "; ".join(f"{s} {_span([ended[s, b, m][at] for b in paper for m in KINDS])}" for s in SETS)
        + f" of the tests of overlapping volumes on the first {at + 1} levels.",
        None,
    )
    one, three = better["wide", "sphere", "DFSPM"], better["wide", "sphere", COMPACT_3]
    report.compare(
        "(Ours) Three directions improve on one at every number of levels.",
        f"spheres, wide, {at + 1} levels: {one[at]:.0f} % with one (DFSPM), {three[at]:.0f} % with three (compact); OBBs "
        f"{better['wide', 'obb', 'DFSPM'][at]:.0f} and {better['wide', 'obb', THREE][at]:.0f} %.",
        bool((three > one).all() and (better["wide", "obb", THREE] > better["wide", "obb", "DFSPM"]).all())
        if report.generated
        else None,
    )
    if levels >= 8:
        keys = [(s, b, m) for s in SETS for b in paper for m in MAPPINGS]
        before = float(np.mean([(apart[k][5] - apart[k][0]) / 5 for k in keys]))
        after = float(np.mean([(apart[k][7] - apart[k][5]) / 2 for k in keys]))
        most = [int(np.argmax(better[k])) + 1 for k in keys]
        report.compare(
            "It reaches a maximum at 5-6 levels, as the volumes of deeper ones hold few faces.",
            f"the improvement over the plain hierarchy is largest at levels {min(most)} to {max(most)}, by set, volume and "
            f"mapping, at 5 or 6 in {sum(k in (5, 6) for k in most)} of {len(most)} cases. The share told apart grows by "
            f"{before:.1f} points a level up to level 6 and by {after:.1f} beyond.",
            None,
            "holds" if all(k in (5, 6) for k in most) else "differs",
        )
        report.compare(
            "(Ours) Beyond level 6 a level adds less than six tenths of what one before it does.",
            f"{after / before:.2f} of it.",
            after < 0.6 * before,
        )
    report.compare(
        "There is significant culling improvement up to this level.",
        f"improvement with {at + 1} levels: "
        + "; ".join(f"{s} {_span([better[s, b, m][at] for b in paper for m in MAPPINGS])}" for s in SETS)
        + ".",
        min(better[s, b, m][at] for s in SETS for b in paper for m in MAPPINGS) > 0.5 * floor,
    )
    gap = max(float(np.abs(apart[s, b, f"D{m}"] - apart[s, b, m]).max()) for s in SETS for b in paper for m in ("VSPM", "FSPM"))
    report.compare(
        "The discretised versions of the SPMs are practically as efficient as the standard implementations.",
        f"they differ by {gap:.1f} points at most.",
        bool(gap < 10.0),
    )
