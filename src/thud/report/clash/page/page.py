"""The HTML file: table, pictures and a 3D view, in one file that asks nobody for anything."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Mapping
from importlib import resources
from typing import Any

import numpy as np

from thud._core.arrays import Floats
from thud._core.atomic import replaced
from thud.errors import InvalidInputError
from thud.report.clash.candidates import Placed, place
from thud.report.clash.clash import Clash, ClashReport, length, volume
from thud.report.clash.json_file import clash_data
from thud.report.clash.page.geometry import packed_meshes
from thud.report.clash.text import plain
from thud.report.clash.view import FIELD, clash_view, scene_view

#: Bytes of the file, unless another limit is given: what mail and browsers take.
MOST_BYTES = 25 * 10**6

#: Rows of the table (a count); further clashes are in the other files.
MOST_ROWS = 5000

#: Parts of the limit that pictures, and all but the geometry, may take.
_PICTURES, _GEOMETRY_LEAST = 0.4, 200_000

#: Segments of a crossing that the 3D view draws (a count).
_SEGMENTS = 120


def write_page(
    report: ClashReport,
    path: str | os.PathLike[str],
    pictures: Mapping[str, bytes] | None = None,
    *,
    title: str = "Clash check",
    group: str = "auto",
    most_bytes: int = MOST_BYTES,
) -> int:
    """Write the file, whole or not at all, and return its size in bytes.

    pictures : PNG files by the ids of clashes
    most_bytes : the largest size of the file; meshes are made coarser, and pictures left out, until it fits
    """
    if most_bytes < 10**6:
        raise InvalidInputError(f"most_bytes: expected at least 1,000,000, got {most_bytes}")
    text = page_text(report, pictures or {}, title, group, most_bytes)
    with replaced(path) as file:
        file.write(text)
    return len(text)


def page_text(report: ClashReport, pictures: Mapping[str, bytes], title: str, group: str, most_bytes: int) -> bytes:
    """The file."""
    rows = report.clashes[:MOST_ROWS]
    data = _data(report, rows, _fitting(rows, pictures, int(_PICTURES * most_bytes)), title, group)
    shell = len(_page(title, data))
    if shell + _GEOMETRY_LEAST > most_bytes:
        # So many clashes that some must go; all of them are in the other files.
        sizes = np.cumsum([len(_text(row)) + 1 for row in data["clashes"]])
        fixed = shell - int(sizes[-1])
        count = max(1, int(np.searchsorted(sizes, most_bytes - _GEOMETRY_LEAST - fixed, side="right")))
        rows, data["clashes"] = rows[:count], data["clashes"][:count]
        data["rows_left_out"] = len(report.clashes) - count
        shell = len(_page(title, data))
    room = most_bytes - shell - 1000
    used = {row for clash in rows for row in (clash.a, clash.b)}
    for _ in range(6):
        data["meshes"], data["coarser"] = packed_meshes(report.scene, used, max(room, 1))
        found = _page(title, data)
        if len(found) <= most_bytes:
            return found
        room = int(0.6 * room)
    # Parts of their own kind in the thousands: the table and the pictures are what is left.
    data["meshes"], data["parts"], data["coarser"] = [], [], -1
    return _page(title, data)


def _fitting(rows: tuple[Clash, ...], pictures: Mapping[str, bytes], room: int) -> dict[str, bytes]:
    """Pictures of the gravest clashes, as many as fit."""
    kept: dict[str, bytes] = {}
    for clash in rows:
        if clash.id in pictures:
            room -= 4 * len(pictures[clash.id]) // 3 + 40
            if room < 0:
                break
            kept[clash.id] = pictures[clash.id]
    return kept


def _data(
    report: ClashReport, rows: tuple[Clash, ...], pictures: Mapping[str, bytes], title: str, group: str
) -> dict[str, Any]:
    scene = report.scene
    at = place(scene) if scene.parts else None
    origin = 0.5 * (at.lower.min(axis=0) + at.upper.max(axis=0)) if at is not None else np.zeros(3)
    groups = report.groups(group)
    number = {clash.id: k for k, one in enumerate(groups) for clash in one.clashes}
    named = sorted({row for clash in rows for row in (clash.a, clash.b)})
    kinds = {clash.kind for clash in report.clashes}
    whole = scene_view(at.lower, at.upper) if at is not None else None
    return {
        "title": plain(title),
        "summary": plain(report.summary()),
        "facts": _facts(report),
        "kinds": {kind: sum(clash.kind == kind for clash in report.clashes) for kind in sorted(kinds)},
        "rows_left_out": len(report.clashes) - len(rows),
        "field": FIELD,
        "parts": [[part.mesh, *_matrix(at.rows[row], origin)] for row, part in enumerate(scene.parts)] if at is not None else
        [], "above": plain(report.above),
        "names": {row: plain(scene.parts[row].name) for row in named},
        "whole": _camera(whole.eye, whole.target, whole.up, origin) if whole is not None else None,
        "groups": [{"title": plain(one.title), "count": len(one)} for one in groups],
        "clashes": [_clash(report, clash, at, origin, number[clash.id], pictures.get(clash.id)) for clash in rows],
        "links": [
            {
                "a": plain(pair.link_a), "b": plain(pair.link_b), "verdict": pair.verdict, "share": pair.share_text,
                "configuration": [round(value, 4) for value in pair.configuration],
            }
            for pair in report.links
        ],
        "notes": [plain(note) for note in report.notes]
        + [plain(f"{note.severity}: {note.part + ': ' if note.part else ''}{note.text}") for note in scene.notes[:500]],
        "contacts": [[plain(one.name_a), plain(one.name_b)] for one in report.contacts[:2000]],
        "contact_count": len(report.contacts),
        "meshes": [],
        "coarser": 0,
    }  # fmt: skip


def _facts(report: ClashReport) -> list[tuple[str, str]]:
    scene = report.scene
    facts = [
        ("parts", f"{len(scene.parts):,}"),
        ("triangles", f"{scene.triangle_count:,}"),
        ("pairs tested", f"{report.pairs_tested:,}"),
        ("tolerance", length(report.tolerance)),
        ("clearance", length(report.clearance)),
        ("contacts", f"{len(report.contacts):,}"),
    ]
    if report.known:
        facts.append(("accepted", f"{len(report.known):,}"))
    if report.gone:
        facts.append(("gone", f"{len(report.gone):,}"))
    return facts


def _clash(
    report: ClashReport, clash: Clash, at: Placed | None, origin: Floats, group: int, image: bytes | None
) -> dict[str, Any]:
    here = place(report.scene, report.poses(clash)) if clash.configuration else at
    assert here is not None
    view = clash_view(clash, here.lower, here.upper)
    row = clash_data(clash)
    curve = clash.curve[np.linspace(0, len(clash.curve) - 1, min(len(clash.curve), _SEGMENTS)).astype(np.int64)]
    keep = ("id", "kind", "depth", "gap", "volume", "penetration", "status", "worse", "inside")
    return {name: row[name] for name in keep} | {
        "a": clash.a,
        "b": clash.b,
        "assignee": plain(clash.assignee),
        "note": plain(clash.note),
        "text": plain(clash.explain()),
        "measure": clash.measure,
        "volume_text": volume(clash.volume) if np.isfinite(clash.volume) else "",
        "guids": [plain(clash.guid_a or ""), plain(clash.guid_b or "")],
        "point": [round(float(value), 9) for value in clash.point],
        "normal": [round(float(value), 6) for value in clash.normal],
        "marks": _numbers(np.concatenate([clash.point[None], clash.points]) - origin),
        "curve": _numbers(curve - origin),
        "camera": _camera(view.eye, view.target, view.up, origin),
        "group": group,
        "poses": [_matrix(one, origin) for one in here.rows] if clash.configuration else None,
        "configuration": [round(value, 5) for value in clash.configuration],
        "picture": base64.b64encode(image).decode("ascii") if image is not None else "",
    }


def _matrix(row: Floats, origin: Floats) -> list[float]:
    """Twelve numbers: the rotation by rows, then the place relative to the origin, which float32 holds."""
    return [_short(value) for value in row[:9]] + [_short(value) for value in row[9:] - origin]


def _camera(eye: Floats, target: Floats, up: Floats, origin: Floats) -> list[float]:
    return [_short(value) for value in np.concatenate([eye - origin, target - origin, up])]


def _numbers(points: Floats) -> list[float]:
    return [_short(value) for value in np.ravel(points)]


def _short(value: float) -> float:
    """Seven digits, as float32 has."""
    return float(f"{value:.7g}")


def _text(data: Any) -> str:
    """JSON in a script element, which only "<" could end, or begin a comment in."""
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c")


def _page(title: str, data: dict[str, Any]) -> bytes:
    """The template with style, program and data. The program is allowed by its hash, and nothing may be fetched."""
    folder = resources.files("thud.report.clash.page")
    template, style, program = ((folder / name).read_text(encoding="utf-8") for name in ("page.html", "page.css", "page.js"))
    digest = base64.b64encode(hashlib.sha256(program.encode("utf-8")).digest()).decode("ascii")
    text = _text(data)
    values = {"TITLE": html.escape(plain(title)), "HASH": digest, "STYLE": style, "PROGRAM": program, "DATA": text}
    # In one go: a title that looks like a mark stays a title.
    return re.sub("@([A-Z]+)@", lambda mark: values[mark[1]], template).encode("utf-8", "replace")
