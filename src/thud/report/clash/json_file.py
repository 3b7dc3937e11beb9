"""A report as JSON. The schema is in docs/clash_check.md; every number is in metres, or cubic metres."""

from __future__ import annotations

import json
import math
import os
from typing import Any

import numpy as np

from thud._core.atomic import replaced
from thud.report.clash.clash import Clash, ClashReport

FORMAT, VERSION = "thud-clashes", 1


def report_data(report: ClashReport) -> dict[str, Any]:
    """What the file holds, as plain lists and dictionaries."""
    scene = report.scene
    return {
        "format": FORMAT,
        "version": VERSION,
        "generator": f"thud {version()}",
        "parts": len(scene.parts),
        "meshes": len(scene.meshes),
        "triangles": scene.triangle_count,
        "units": scene.units,
        "tolerance": report.tolerance,
        "clearance": report.clearance,
        "pairs_tested": report.pairs_tested,
        "pairs_ignored": report.pairs_ignored,
        "clashes": [clash_data(clash) for clash in report.clashes],
        "accepted": [clash_data(clash) for clash in report.known],
        "contacts": [clash_data(clash) for clash in report.contacts],
        "gone": [{"id": key, "a": names[0], "b": names[1]} for key, names in report.gone.items()],
        "links": [
            {
                "a": pair.link_a,
                "b": pair.link_b,
                "verdict": pair.verdict,
                "share": pair.share,
                "at_rest": pair.at_rest,
                "configuration": list(pair.configuration),
            }
            for pair in report.links
        ],
        "notes": [
            *({"part": "", "severity": "check", "text": note} for note in report.notes),
            *({"part": note.part, "severity": note.severity, "text": note.text} for note in scene.notes),
        ],
    }


def version() -> str:
    """Of this package. (Importing its names would import what is above.)"""
    import sys

    return str(sys.modules["thud"].__version__)


def clash_data(clash: Clash) -> dict[str, Any]:
    """One clash."""
    return {
        "id": clash.id,
        "kind": clash.kind,
        "a": {"name": clash.name_a, "guid": clash.guid_a, "part": clash.a},
        "b": {"name": clash.name_b, "guid": clash.guid_b, "part": clash.b},
        "depth": _number(clash.depth),
        "depth_is_bound": clash.depth_is_bound,
        "penetration": _number(clash.penetration),
        "gap": _number(clash.gap),
        "volume": _number(clash.volume),
        "normal": _list(clash.normal),
        "point": _list(clash.point),
        "points": [_list(point) for point in clash.points],
        "inside": clash.inside,
        "status": clash.status,
        "assignee": clash.assignee,
        "note": clash.note,
        "worse": clash.worse,
        "configuration": list(clash.configuration),
        "explanation": clash.explain(),
    }


def write_json(report: ClashReport, path: str | os.PathLike[str]) -> None:
    """Whole or not at all."""
    with replaced(path) as file:
        file.write((json.dumps(report_data(report), indent=1, allow_nan=False) + "\n").encode("ascii"))


def _number(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None


def _list(values: Any) -> list[float]:
    return [float(value) for value in np.asarray(values)]
