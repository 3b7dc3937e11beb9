"""The rules of the BCF 2.1 schemas (markup.xsd, visinfo.xsd, version.xsd of buildingSMART), as far as files of clashes have
them: what follows what, what must be there, and how values look."""

from __future__ import annotations

import re
from xml.etree import ElementTree as ET

GUID = r"[a-f0-9]{8}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{4}-[a-f0-9]{12}"
IFC_GUID = r"[0-9A-Za-z_$]{22}"
TIME = r"-?\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)?"
NUMBER = r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
BOOLEAN = "true|false|0|1"
TEXT = r"[^\x00-\x08\x0b\x0c\x0e-\x1f]*"

#: Of each element: children in their order with least and most, attributes with pattern and whether they must be, and its text.
#: A name with a path stands for that place.
XYZ = ([("X", 1, 1), ("Y", 1, 1), ("Z", 1, 1)], {}, None)
MANY = 10**9
RULES = {
    "Markup": ([("Header", 0, 1), ("Topic", 1, 1), ("Comment", 0, MANY), ("Viewpoints", 0, MANY)], {}, None),
    "Header": ([("File", 1, MANY)], {}, None),
    "File": (
        [("Filename", 0, 1), ("Date", 0, 1), ("Reference", 0, 1)],
        {"IfcProject": (IFC_GUID, False), "IfcSpatialStructureElement": (IFC_GUID, False), "isExternal": (BOOLEAN, False)},
        None,
    ),
    "Topic": (
        [
            ("ReferenceLink", 0, MANY), ("Title", 1, 1), ("Priority", 0, 1), ("Index", 0, 1), ("Labels", 0, MANY),
            ("CreationDate", 1, 1), ("CreationAuthor", 1, 1), ("ModifiedDate", 0, 1), ("ModifiedAuthor", 0, 1),
            ("DueDate", 0, 1),
            ("AssignedTo", 0, 1), ("Stage", 0, 1), ("Description", 0, 1), ("BimSnippet", 0, 1), ("DocumentReference", 0, MANY),
            ("RelatedTopic", 0, MANY),
        ],
        {"Guid": (GUID, True), "TopicType": (TEXT, False), "TopicStatus": (TEXT, False)},
        None,
    ),
    "Markup/Comment": (
        [
            ("Date", 1, 1), ("Author", 1, 1), ("Comment", 1, 1), ("Viewpoint", 0, 1), ("ModifiedDate", 0, 1),
            ("ModifiedAuthor", 0, 1),
        ],
        {"Guid": (GUID, True)},
        None,
    ),
    "Comment/Viewpoint": ([], {"Guid": (GUID, True)}, None),
    "Viewpoints": ([("Viewpoint", 0, 1), ("Snapshot", 0, 1), ("Index", 0, 1)], {"Guid": (GUID, True)}, None),
    "VisualizationInfo": (
        [
            ("Components", 0, 1), ("OrthogonalCamera", 0, 1), ("PerspectiveCamera", 0, 1), ("Lines", 0, 1),
            ("ClippingPlanes", 0, 1), ("Bitmap", 0, MANY),
        ],
        {"Guid": (GUID, True)},
        None,
    ),
    "Components": ([("ViewSetupHints", 0, 1), ("Selection", 0, 1), ("Visibility", 1, 1), ("Coloring", 0, 1)], {}, None),
    "Selection": ([("Component", 1, MANY)], {}, None),
    "Component": ([("OriginatingSystem", 0, 1), ("AuthoringToolId", 0, 1)], {"IfcGuid": (IFC_GUID, False)}, None),
    "Visibility": ([("Exceptions", 0, 1)], {"DefaultVisibility": (BOOLEAN, False)}, None),
    "Coloring": ([("Color", 1, MANY)], {}, None),
    "Color": ([("Component", 1, MANY)], {"Color": ("[0-9A-F]{6}([0-9A-F]{2})?", False)}, None),
    "PerspectiveCamera": (
        [("CameraViewPoint", 1, 1), ("CameraDirection", 1, 1), ("CameraUpVector", 1, 1), ("FieldOfView", 1, 1)], {}, None,
    ),
    "CameraViewPoint": XYZ, "CameraDirection": XYZ, "CameraUpVector": XYZ,
    "Version": ([("DetailedVersion", 0, 1)], {"VersionId": (r"2\.1", True)}, None),
    **{name: ([], {}, TIME) for name in ("CreationDate", "ModifiedDate", "DueDate", "Date")},
    **{name: ([], {}, NUMBER) for name in ("X", "Y", "Z", "FieldOfView")},
    "Index": ([], {}, r"[+-]?\d+"),
    **{
        name: ([], {}, TEXT)
        for name in (
            "Filename", "Reference", "Title", "Priority", "Labels", "CreationAuthor", "AssignedTo", "Description", "Author",
            "Comment/Comment", "Viewpoints/Viewpoint", "Snapshot", "DetailedVersion",
        )
    },
}  # fmt: skip


def faults(root: ET.Element) -> list[str]:
    """What of a document breaks a rule."""
    return _faults(root, "", root.tag)


def _faults(element: ET.Element, above: str, where: str) -> list[str]:
    rule = RULES.get(f"{above}/{element.tag}") or RULES.get(element.tag)
    if rule is None:
        return [f"{where}: no such element"]
    children, attributes, text = rule
    found = []
    for name, value in element.attrib.items():
        if name not in attributes or not re.fullmatch(attributes[name][0], value):
            found.append(f"{where}: {name}={value!r}")
    found += [f"{where}: no {name}" for name, (_, must) in attributes.items() if must and name not in element.attrib]
    if text is not None and not re.fullmatch(text, element.text or ""):
        found.append(f"{where}: text {element.text!r}")
    if text is None and (element.text or "").strip():
        found.append(f"{where}: has text")
    order = [name for name, _, _ in children]
    places = [order.index(child.tag) if child.tag in order else -1 for child in element]
    if -1 in places or places != sorted(places):
        found.append(f"{where}: children {[child.tag for child in element]}")
    for name, least, most in children:
        if not least <= sum(child.tag == name for child in element) <= most:
            found.append(f"{where}: {sum(child.tag == name for child in element)} of {name}")
    if element.tag == "FieldOfView" and not 45.0 <= float(element.text or 0) <= 60.0:
        found.append(f"{where}: {element.text} degrees")
    for child in element:
        found += _faults(child, element.tag, f"{where}/{child.tag}")
    return found
