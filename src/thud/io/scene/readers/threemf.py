"""3MF: objects, components and build items, those of the production extension too."""

from __future__ import annotations

import zipfile
from array import array
from typing import Any

import numpy as np

from thud.errors import SceneFileError
from thud.io.scene.readers import zip_guard
from thud.io.scene.readers.raw import RawScene
from thud.io.scene.readers.xml_guard import guarded_parser, parse
from thud.io.scene.units import METRES

_MODEL = "3D/3dmodel.model"


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file; 3MF states its unit (millimetres by default) and has z up."""
    with zip_guard.opened(path, raw.limits, "3MF") as archive:
        models: dict[str, _Model] = {}
        main = _main_part(archive, raw)
        _load(archive, main, models, raw)
        unit = models[main].unit
        if unit not in METRES:
            raise SceneFileError(f"{main}: unit {unit[:40]!r}; expected micron, millimeter, centimeter, inch, foot or meter")
        raw.metres, raw.up = METRES[unit], "z"
        _place(archive, main, models, raw)


def _main_part(archive: zipfile.ZipFile, raw: RawScene) -> str:
    """The part that the package's relations name as its model."""
    found: list[str] = []

    def start(name: str, attributes: dict[str, str]) -> None:
        if name == "Relationship" and attributes.get("Type", "").endswith("/3dmodel"):
            found.append(attributes.get("Target", "").lstrip("/"))

    if any(entry.filename == "_rels/.rels" for entry in archive.infolist()):
        parse(guarded_parser(raw.limits, "_rels/.rels", start), zip_guard.member(archive, "_rels/.rels", "3MF"), "_rels/.rels")
    return found[0] if found and found[0] else _MODEL


class _Model:
    """What one part of the package holds."""

    def __init__(self) -> None:
        self.unit = "millimeter"
        self.objects: dict[str, dict[str, Any]] = {}
        self.items: list[dict[str, str]] = []


def _load(archive: zipfile.ZipFile, part: str, models: dict[str, _Model], raw: RawScene) -> None:
    """Parse a part once."""
    if part in models:
        return
    model = models[part] = _Model()
    current: dict[str, Any] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal current
        if name == "vertex" and current:
            current["vertices"].extend((float(attributes["x"]), float(attributes["y"]), float(attributes["z"])))
        elif name == "triangle" and current:
            current["faces"].extend((int(attributes["v1"]), int(attributes["v2"]), int(attributes["v3"])))
        elif name == "object":
            current = dict(_local(attributes), vertices=array("d"), faces=array("q"), components=[], row=None)
            if current.get("id") is None or current["id"] in model.objects:
                raise SceneFileError(f"{part}: object {current.get('id')!r} is there twice, or has no id")
            model.objects[current["id"]] = current
        elif name == "component" and current:
            current["components"].append(_local(attributes))
        elif name == "item":
            model.items.append(_local(attributes))
        elif name == "model":
            model.unit = attributes.get("unit", "millimeter")

    def end(name: str) -> None:
        nonlocal current
        if name == "object":
            current = {}

    parser = guarded_parser(raw.limits, part, start, end)
    try:
        parse(parser, zip_guard.member(archive, part, "3MF"), part)
    except (KeyError, ValueError, OverflowError) as error:
        if isinstance(error, SceneFileError):
            raise
        raise SceneFileError(f"{part}, line {parser.CurrentLineNumber}: a number is missing or wrong ({error})") from None


def _local(attributes: dict[str, str]) -> dict[str, str]:
    """Attributes by their local names: `path` of the production extension has a namespace."""
    return {name.rpartition(" ")[2]: value for name, value in attributes.items()}


def _place(archive: zipfile.ZipFile, main: str, models: dict[str, _Model], raw: RawScene) -> None:
    """Follow the build items down to the meshes. A stack holds (part, reference, parent, matrix, objects above)."""
    items = models[main].items
    if not items:
        raise SceneFileError(f"{main}: nothing is to be built (no item)")
    stack = [(main, item, -1, np.eye(4), frozenset[tuple[str, str]]()) for item in reversed(items)]
    while stack:
        part, reference, parent, above, line = stack.pop()
        part = reference.get("path", part).lstrip("/") or part
        _load(archive, part, models, raw)
        key = part, reference.get("objectid", "")
        entry = models[part].objects.get(key[1])
        if entry is None:
            raise SceneFileError(f"{part}: refers to object {key[1][:40]!r}, which is not there")
        if key in line:
            raise SceneFileError(f"{part}: object {key[1][:40]!r} is a component of itself")
        matrix = above @ _matrix(reference.get("transform"), part)
        name = reference.get("partnumber") or entry.get("name") or entry.get("partnumber") or f"object {key[1]}"
        if entry.get("type") == "support":
            raw.note("skipped", f"support structure {name!r} is not read")
            continue
        if entry["row"] is None:
            vertices, faces = (
                np.array(entry["vertices"]).reshape(-1, 3),
                np.array(entry["faces"], dtype=np.int64).reshape(-1, 3),
            )
            # One of components alone has no triangles of its own.
            bare = not len(faces) and entry["components"]
            entry["row"] = -1 if bare else raw.add_mesh(vertices, faces, f"{part}, object {key[1]}")
        row = raw.add_node(name, parent, entry["row"], matrix if entry["row"] >= 0 else None)
        stack += [(part, component, row, matrix, line | {key}) for component in reversed(entry["components"])]


def _matrix(text: str | None, part: str) -> np.ndarray:
    """Twelve numbers for row vectors."""
    matrix = np.eye(4)
    if text:
        try:
            numbers = np.array([float(word) for word in text.split()])
        except ValueError:
            numbers = np.empty(0)
        if len(numbers) != 12 or not np.isfinite(numbers).all():
            raise SceneFileError(f"{part}: transform {text[:60]!r}; expected 12 finite numbers")
        matrix[:3] = numbers.reshape(4, 3).T
    return matrix
