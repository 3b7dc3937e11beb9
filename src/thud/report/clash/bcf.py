"""A report as BCF 2.1, the format in which building modellers exchange issues: a topic a clash, with viewpoint and snapshot."""

from __future__ import annotations

import os
import re
import uuid
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import numpy as np

from thud._core.atomic import replaced
from thud.report.clash.candidates import place
from thud.report.clash.clash import Clash, ClashReport
from thud.report.clash.text import plain, xml
from thud.report.clash.view import FIELD, View, clash_view

#: Ids of topics are made from those of clashes within this name space, so that the next file has the same.
_SPACE = uuid.UUID("6f1d3c0e-4a1b-5c57-9d0f-3b7a4a2f9c11")

_IFC_GUID = re.compile(r"[0-3][0-9A-Za-z_$]{21}")

_STATUS = {"new": "Open", "open": "Open", "accepted": "Closed", "resolved": "Closed"}
_PRIORITY = {"hard": "Critical", "containment": "Major", "duplicate": "Major", "clearance": "Normal", "contact": "Minor"}

#: Colours of the two parts, as in the pictures.
_BLUE, _ORANGE = "FF296BD1", "FFF5941F"


def write_bcf(
    report: ClashReport,
    path: str | os.PathLike[str],
    pictures: Mapping[str, bytes] | None = None,
    *,
    author: str = "thud check",
    date: datetime | None = None,
) -> None:
    """A topic for each clash, accepted ones closed. Whole or not at all.

    pictures : PNG files by the ids of clashes; a topic without one has no snapshot
    date : of creation; now, if None
    """
    when = (date or datetime.now(UTC)).astimezone(UTC).replace(microsecond=0)
    stamp = when.strftime("%Y-%m-%dT%H:%M:%SZ")
    placed = place(report.scene) if report.scene.parts else None
    with replaced(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:

        def put(name: str, data: bytes) -> None:
            # Archives of the same report at the same time are the same.
            archive.writestr(zipfile.ZipInfo(name, when.timetuple()[:6]), data, zipfile.ZIP_DEFLATED)

        version = ET.Element("Version", VersionId="2.1")
        ET.SubElement(version, "DetailedVersion").text = "2.1"
        put("bcf.version", _bytes(version))
        for number, clash in enumerate((*report.clashes, *report.known), start=1):
            topic, viewpoint = topic_guid(clash.id), str(uuid.uuid5(_SPACE, f"view {clash.id}"))
            at = place(report.scene, report.poses(clash)) if clash.configuration else placed
            assert at is not None
            image = (pictures or {}).get(clash.id)
            put(
                f"{topic}/markup.bcf",
                _bytes(_markup(report, clash, number, topic, viewpoint, stamp, author, image is not None)),
            )
            put(f"{topic}/viewpoint.bcfv", _bytes(_view(clash, clash_view(clash, at.lower, at.upper), viewpoint)))
            if image is not None:
                put(f"{topic}/snapshot.png", image)


def topic_guid(identity: str) -> str:
    """The id of a clash's topic."""
    return str(uuid.uuid5(_SPACE, f"topic {identity}"))


def _markup(
    report: ClashReport, clash: Clash, number: int, topic: str, viewpoint: str, stamp: str, author: str, snapshot: bool
) -> ET.Element:
    root = ET.Element("Markup")
    sources = sorted({report.scene.parts[row].source for row in (clash.a, clash.b)} - {""})
    if sources:
        header = ET.SubElement(root, "Header")
        for source in sources:
            file = ET.SubElement(header, "File", isExternal="true")
            _say(file, "Filename", source)
    entry = ET.SubElement(root, "Topic", Guid=topic, TopicType="Clash", TopicStatus=_STATUS[clash.status])
    _say(entry, "Title", f"{clash.kind}: {clash.name_a} and {clash.name_b}")
    _say(entry, "Priority", _PRIORITY[clash.kind])
    _say(entry, "Index", str(number))
    _say(entry, "Labels", clash.kind)
    _say(entry, "CreationDate", stamp)
    _say(entry, "CreationAuthor", author)
    if clash.assignee:
        _say(entry, "AssignedTo", clash.assignee)
    _say(entry, "Description", f"{clash.explain()} [{clash.id}]")
    if clash.note:
        comment = ET.SubElement(root, "Comment", Guid=str(uuid.uuid5(_SPACE, f"note {clash.id}")))
        _say(comment, "Date", stamp)
        _say(comment, "Author", clash.assignee or author)
        _say(comment, "Comment", clash.note)
        ET.SubElement(comment, "Viewpoint", Guid=viewpoint)
    views = ET.SubElement(root, "Viewpoints", Guid=viewpoint)
    _say(views, "Viewpoint", "viewpoint.bcfv")
    if snapshot:
        _say(views, "Snapshot", "snapshot.png")
    return root


def _view(clash: Clash, view: View, guid: str) -> ET.Element:
    root = ET.Element("VisualizationInfo", Guid=guid)
    parts = [(clash.guid_a, _BLUE), (clash.guid_b, _ORANGE)]
    known = [(own, color) for own, color in parts if own is not None and _IFC_GUID.fullmatch(own)]
    components = ET.SubElement(root, "Components")
    if known:
        selection = ET.SubElement(components, "Selection")
        for own, _color in known:
            ET.SubElement(selection, "Component", IfcGuid=own)
    ET.SubElement(components, "Visibility", DefaultVisibility="true")
    if known:
        coloring = ET.SubElement(components, "Coloring")
        for own, color in known:
            ET.SubElement(ET.SubElement(coloring, "Color", Color=color), "Component", IfcGuid=own)
    camera = ET.SubElement(root, "PerspectiveCamera")
    for name, values in (("CameraViewPoint", view.eye), ("CameraDirection", view.direction), ("CameraUpVector", view.up)):
        element = ET.SubElement(camera, name)
        for axis, value in zip("XYZ", np.asarray(values)):
            ET.SubElement(element, axis).text = repr(float(value))
    ET.SubElement(camera, "FieldOfView").text = repr(FIELD)
    return root


def _say(parent: ET.Element, name: str, text: str) -> None:
    ET.SubElement(parent, name).text = xml(plain(text))


def _bytes(root: ET.Element) -> bytes:
    return bytes(ET.tostring(root, encoding="utf-8", xml_declaration=True))
