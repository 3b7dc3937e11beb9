"""IFC by ifcopenshell: elements with openings cut, storeys and buildings as levels, GUIDs kept."""

from __future__ import annotations

from typing import Any

import numpy as np

from thud.errors import SceneFileError
from thud.io.scene.readers.raw import RawScene

#: What has a shape but is nothing built. Openings are cut from what they are in.
_NEVER = ("IfcOpeningElement", "IfcAnnotation", "IfcGrid", "IfcVirtualElement")
_SPACES = ("IfcSpace", "IfcSpatialZone")


def read(path: str, raw: RawScene, root: str, options: dict[str, Any]) -> None:
    """Read a file with its unit; shapes come in metres, with z up."""
    import ifcopenshell
    import ifcopenshell.geom
    import ifcopenshell.util.unit

    with open(path, "rb") as file:
        file.seek(0, 2)
        file.seek(max(0, file.tell() - 4096))
        if b"END-ISO-10303-21" not in file.read():
            raise SceneFileError("IFC: truncated, its last line END-ISO-10303-21; is not there")
    try:
        model = ifcopenshell.open(path)
    except Exception as error:
        # The place is in its log alone.
        said = [line for line in str(ifcopenshell.get_log()).splitlines() if line.strip()]
        raise SceneFileError(f"IFC: {error}" + (f" ({said[0][:300]})" if said else "")) from None
    if not str(model.schema).startswith("IFC"):
        raise SceneFileError(f"IFC: schema {model.schema!r}; expected IFC2X3, IFC4 or IFC4X3")
    projects = model.by_type("IfcProject")
    if projects:
        raw.stated = float(ifcopenshell.util.unit.calculate_unit_scale(model))
    raw.metres, raw.up = 1.0, "z"
    settings = ifcopenshell.geom.settings()
    skip = [name for name in (_NEVER if options["include_spaces"] else _NEVER + _SPACES) if _known(model, name)]
    left_out = 0 if options["include_spaces"] else sum(_count(model, name) for name in _SPACES)
    if left_out:
        raw.note("skipped", f"{left_out} spaces are left out; include_spaces=True takes them")
    shapes = ifcopenshell.geom.iterator(settings, model, 1, exclude=skip)
    levels: dict[int, int] = {}
    meshes: dict[Any, int] = {}
    if not shapes.initialize():
        raise SceneFileError("IFC: no element has a shape that can be made")
    done = set()
    while True:
        shape = shapes.get()
        element = model.by_id(shape.id)
        key = shape.geometry.id
        if key not in meshes:
            where = f"#{shape.id} ({shape.type})"
            faces = np.asarray(shape.geometry.faces, dtype=np.int64)
            meshes[key] = raw.add_mesh(np.asarray(shape.geometry.verts, dtype=np.float64), faces, where)
        matrix = np.asarray(shape.transformation.matrix, dtype=np.float64).reshape(4, 4).T
        above = _level(_above(element), levels, raw, frozenset({shape.id}))
        raw.add_node(shape.name or shape.type, above, meshes[key], matrix, guid=shape.guid, kind=shape.type)
        done.add(shape.id)
        if not shapes.next():
            break
    _lost(model, skip, done, raw)


def _known(model: Any, name: str) -> bool:
    try:
        model.by_type(name)
    except RuntimeError:
        return False
    return True


def _count(model: Any, name: str) -> int:
    return len(model.by_type(name)) if _known(model, name) else 0


def _above(element: Any) -> Any:
    """What an element is part of, or is in; None for the project."""
    for relation, side in (
        ("Decomposes", "RelatingObject"),
        ("ContainedInStructure", "RelatingStructure"),
        ("FillsVoids", "RelatingOpeningElement"),
        ("Nests", "RelatingObject"),
    ):
        for link in getattr(element, relation, None) or ():
            found = getattr(link, side, None)
            if found is None:
                continue
            if relation == "FillsVoids":
                # A door belongs where its wall belongs.
                walls = getattr(found, "VoidsElements", None) or ()
                found = walls[0].RelatingBuildingElement if walls else None
                found = _above(found) if found is not None and found != element else None
            if found is not None:
                return found
    return None


def _level(element: Any, levels: dict[int, int], raw: RawScene, line: frozenset[int]) -> int:
    """The row of a level, made when it is first needed; -1 for none."""
    if element is None:
        return -1
    number = element.id()
    if number in line:
        raise SceneFileError(f"IFC: #{number} is part of itself")
    if number not in levels:
        if len(line) > raw.limits.depth:
            raise SceneFileError(f"IFC: #{number} lies deeper than limits.depth = {raw.limits.depth}")
        above = _level(_above(element), levels, raw, line | {number})
        levels[number] = raw.add_node(getattr(element, "Name", None) or element.is_a(), above)
    return levels[number]


def _lost(model: Any, skip: list[str], done: set[int], raw: RawScene) -> None:
    """Elements that have a shape in the file and none here."""
    left_out = {element.id() for name in skip for element in model.by_type(name)}
    lost = [
        element
        for element in model.by_type("IfcProduct")
        if getattr(element, "Representation", None) and element.id() not in done and element.id() not in left_out
    ]
    for element in lost[:20]:
        raw.note("skipped", f"#{element.id()} ({element.is_a()}, {element.GlobalId}): no triangles could be made of its shape")
    if len(lost) > 20:
        raw.note("skipped", f"{len(lost) - 20} further elements without triangles")
