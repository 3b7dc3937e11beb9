"""Tables 4.1 and 4.2: reading pixels against occlusion queries; what early non-interference saves."""

from __future__ import annotations

import numpy as np

from reproductions.knott_image.figures_4_15_and_4_16 import METHODS, RESOLUTIONS
from reproductions.knott_image.renderers import Times, timed
from reproductions.knott_image.scenes import drawing_of, pair
from reproductions.report import Report
from thud.imagespace.algorithms import identify_by_queries, identify_one_by_colour
from thud.imagespace.rasteriser import make_rasteriser

#: Table 4.1, msec: by method and resolution, pixel read, pixel parse and GPU render time.
TABLE_4_1 = {
    ("read pixels", (640, 480)): (6.7, 1.2, 4.0),
    ("read pixels", (256, 256)): (1.5, 0.2, 3.9),
    ("occlusion query", (640, 480)): (0.0, 0.0, 4.0),
    ("occlusion query", (256, 256)): (0.0, 0.0, 3.9),
}
POLYGONS_4_1 = 3614

#: Table 4.2, msec: by polygons, with and without interference.
TABLE_4_2 = {606: (0.92, 0.63), 1076: (1.35, 0.98), 1734: (2.04, 1.48), 2580: (2.94, 2.11)}

_TRIALS = {"ci": 3, "standard": 100, "full": 100}


def run(size: str, backends: list[str], report: Report) -> None:
    """Both tables."""
    trials = _TRIALS[size]
    for backend in backends:
        raster = make_rasteriser(backend, None)
        report.heading(f"Table 4.1, {raster.name}")
        rows = []
        for (method, resolution), paper in TABLE_4_1.items():
            # At most one polygon more or less than the paper's, since models have an even number each.
            found = [
                timed(raster, drawing_of(pair(POLYGONS_4_1, k), resolution, 2.2), METHODS[method]) for k in range(trials + 1)
            ]
            ours = _median(found[1:])
            for part, (value, theirs) in zip(("pixel read", "pixel parse", "render"), zip(ours, paper)):
                rows.append([method, f"{resolution[0]}x{resolution[1]}", part, theirs, value])
                report.row("table 4.1", f"{backend}, {method}, {resolution[0]}x{resolution[1]}", part, POLYGONS_4_1, value)
            if method == "occlusion query":
                report.compare(
                    "With occlusion queries no pixel is read.", f"{ours[0]:.1f} ms of reading and {ours[1]:.1f} ms of parsing.",
                    ours[0] == ours[1] == 0.0,
                )  # fmt: skip
        report.table(["method", "resolution", "time", "paper, ms", "here, ms"], rows)
        report.compare(
            "Reading and scanning pixels dominates.",
            "true of a graphics card of 2003; here the buffers are or come cheaply into main memory, and rendering dominates.",
            None,
        )
        report.heading(f"Table 4.2, {raster.name}: early non-interference")
        rows = []
        saved = []
        for polygons, paper in TABLE_4_2.items():
            both = []
            for gap in (None, 0.2):
                drawings = [drawing_of(pair(polygons, k, gap), RESOLUTIONS[0], 4.0) for k in range(trials + 1)]
                found = [timed(raster, drawing, identify_by_queries) for drawing in drawings]
                if gap is None:
                    # At random, most of them interfere; the others are left out.
                    found = [f for f in found if len(f.answer[0])]
                both.append(found)
            # 4.5.8: in a coarse image an edge may seem to be inside its own object, and then nothing ends early.
            selves = [f for f in both[1] if len(f.answer[0])]
            both[1] = [f for f in both[1] if not len(f.answer[0])]
            hit, miss = both
            times = [1e3 * float(np.median([f.total for f in found[1:] or found])) for found in both]
            saved.append(1.0 - times[1] / times[0])
            rows.append([polygons, *paper, f"{1 - paper[1] / paper[0]:.0%}", *times, f"{saved[-1]:.0%}"])
            for label, value in zip(("interference", "no interference"), times):
                report.row("table 4.2", backend, label, polygons, value)
            drawn = [float(np.mean([f.work.fragments for f in found])) for found in both]
            faces = [sorted({f.work.polygons for f in found}) for found in both]
            report.compare(
                "When nothing interferes, rendering ends after the first passes.",
                f"{polygons} polygons: {faces[1]} polygons processed instead of {faces[0]}, {drawn[1]:.0f} fragments instead "
                f"of {drawn[0]:.0f}; skipped: {miss[0].work.skipped}. In {len(selves)} of {trials + 1} scenes an edge seems "
                "to be inside its own object (4.5.8).",
                bool(hit)
                and len(selves) <= 0.2 * trials
                and all(set(f.answer[0]) == set(f.answer[1]) for f in selves)
                and all(f.work.skipped == ["identify polygons"] for f in miss)
                and all(not f.work.skipped for f in hit)
                and faces[0] == [3 * faces[1][0]]
                and drawn[1] < drawn[0],
            )
        columns = ["polygons", "paper: with", "without", "saved", "here, ms: with", "without", "saved"]
        report.table(columns, rows)
        report.compare("Early non-interference saves about 30 % of the time.", ", ".join(f"{s:.0%}" for s in saved), None)
        # 4.5.2: the same where pixels are to be read, by the largest colour.
        apart = timed(raster, drawing_of(pair(606, 0, 0.2), RESOLUTIONS[0], 4.0), identify_one_by_colour)
        report.compare(
            "If the largest colour is none, no pixel needs to be read (4.5.2).",
            f"skipped: {apart.work.skipped}; {1e3 * apart.read:.1f} ms of reading.",
            apart.work.skipped == ["read colour"] and apart.read == 0.0,
        )
        raster.release()


def _median(found: list[Times]) -> tuple[float, float, float]:
    """Milliseconds: read, parse, render."""
    return tuple(1e3 * float(np.median([getattr(f, name) for f in found])) for name in ("read", "parse", "render"))  # type: ignore[return-value]
